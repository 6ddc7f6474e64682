"""Series on their way from an archive: several at a time, those that failed again later, and never
more on the disk than is allowed."""

from __future__ import annotations

import shutil
import time
from collections import deque
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import FIRST_COMPLETED, Future, ThreadPoolExecutor, wait
from dataclasses import dataclass, field
from heapq import heappop, heappush
from pathlib import Path

from fovnet.archive.faults import ArchiveError
from fovnet.archive.worklist import WorklistRow
from fovnet.watch.figures import Figures
from fovnet.watch.log import Log, write_nothing

RETRY_PAUSES_S = 5.0, 30.0, 120.0, 600.0
"""After each failure of a series, or of the whole archive, until the next attempt."""
FETCHES_AHEAD = 4  # times the jobs: begun or waiting for a job


@dataclass(frozen=True)
class FetchedSeries:
    """A series that has arrived in a folder; or None and the fault, where it has not."""

    row: WorklistRow
    folder: Path | None
    fault: ArchiveError | None = None


@dataclass
class _Attempt:
    """A series to fetch, how often it failed, and when it was begun, once it was."""

    row: WorklistRow
    failure_count: int = 0
    begun_s: float = 0.0


@dataclass
class FetchQueue:
    """The series of a worklist.

    fetch       fills a folder with the images of a series
    folder_of   where the images of a series go
    keep_bytes  that lie on the disk at most, by the estimates of the worklist until a series is
                there; a larger one comes alone
    trouble     why nothing is asked for at present; "" where series are
    """

    fetch: Callable[[WorklistRow, Path], None]
    folder_of: Callable[[WorklistRow], Path]
    keep_bytes: float
    jobs: int = 2
    pauses_s: Sequence[float] = RETRY_PAUSES_S
    figures: Figures = field(default_factory=Figures)
    log: Log = write_nothing
    trouble: str = ""
    _ready: deque[_Attempt] = field(default_factory=deque)
    _later: list[tuple[float, int, _Attempt]] = field(default_factory=list)
    """A heap of when a series may be tried again, and what keeps the order of equals."""
    _put_off_count: int = 0
    _running: dict[Future[int], _Attempt] = field(default_factory=dict)
    _bytes_on_disk: int = 0
    _outages: int = 0
    _open_s: float = 0.0

    def run(self, rows: Sequence[WorklistRow]) -> Iterator[FetchedSeries]:
        """The series in the order of their arrival, those that failed for good among them.  The
        images of each are removed when the next is asked for.  Raises ArchiveError where the whole
        archive cannot be asked."""
        self._ready = deque(_Attempt(row) for row in rows)
        executor = ThreadPoolExecutor(self.jobs)
        try:
            while self._ready or self._later or self._running:
                self._begin_fetches(executor)
                for future in self._wait():
                    series = self._settle(future)
                    if series is None:
                        continue
                    size = 0
                    if series.folder is not None:
                        size = future.result()
                    yield series
                    if series.folder is not None:
                        shutil.rmtree(series.folder)
                    self._bytes_on_disk -= size
                    self._begin_fetches(executor)
        finally:
            executor.shutdown(cancel_futures=True)

    def count_by_state(self) -> dict[str, int]:
        """Series not yet given out: waiting, being fetched, put off after a failure."""
        return {
            "waiting": len(self._ready),
            "fetching": len(self._running),
            "put_off": len(self._later),
        }

    def oldest_waiting_s(self) -> float:
        """Seconds since the series was begun that is longest on its way; 0.0 where none is."""
        now_s = time.monotonic()
        put_off_attempts = [attempt for _, _, attempt in list(self._later)]
        begun_attempts = [*list(self._running.values()), *put_off_attempts]
        return now_s - min((attempt.begun_s for attempt in begun_attempts), default=now_s)

    def _begin_fetches(self, executor: ThreadPoolExecutor) -> None:
        """Begins what may be begun: the first series that is ready, and whose images have room."""
        now_s = time.monotonic()
        while self._later and self._later[0][0] <= now_s:
            self._ready.append(heappop(self._later)[-1])
        while self._ready and self._has_job() and self._open_s <= now_s:
            size = self._ready[0].row.byte_count
            if self._bytes_on_disk and self._bytes_on_disk + size > self.keep_bytes:
                return
            attempt = self._ready.popleft()
            attempt.begun_s = attempt.begun_s or now_s
            self._bytes_on_disk += size
            self._running[executor.submit(self._fetch, attempt.row)] = attempt

    def _has_job(self) -> bool:
        return len(self._running) < FETCHES_AHEAD * self.jobs

    def _fetch(self, row: WorklistRow) -> int:
        """Fetches a series; its bytes on the disk."""
        folder = self.folder_of(row)
        start_s = time.monotonic()
        self.fetch(row, folder)
        self.figures.time("fetch", time.monotonic() - start_s)
        sizes = [path.stat().st_size for path in folder.iterdir()]
        self.figures.count("instances", len(sizes))
        self.figures.count("bytes", sum(sizes))
        self.figures.count("series")
        return sum(sizes)

    def _wait(self) -> set[Future[int]]:
        """Waits for a fetch to end, or until a series is ready."""
        if self._running:
            timeout_s = None
            if (self._later or self._ready) and self._has_job():
                timeout_s = max(0.05, self._seconds_until_ready())
            return wait(self._running, timeout_s, FIRST_COMPLETED).done
        time.sleep(max(0.0, self._seconds_until_ready()))
        return set()

    def _seconds_until_ready(self) -> float:
        """Until a series may be tried, of those that are put off where none is ready."""
        first_s = self._open_s
        if not self._ready:
            first_s = max(first_s, self._later[0][0])
        return first_s - time.monotonic()

    def _settle(self, future: Future[int]) -> FetchedSeries | None:
        """A series whose fetch has ended; None where it is tried again."""
        attempt = self._running.pop(future)
        self._bytes_on_disk -= attempt.row.byte_count
        try:
            size = future.result()
        except ArchiveError as fault:
            return self._put_off(attempt, fault)
        self._outages = 0
        self.trouble = ""
        self._bytes_on_disk += size
        return FetchedSeries(attempt.row, self.folder_of(attempt.row))

    def _put_off(self, attempt: _Attempt, fault: ArchiveError) -> FetchedSeries | None:
        """Puts a series off that failed; it is told where it failed as often as there are pauses, and
        once more.  Raises the fault of an archive that cannot be asked any more."""
        if fault.stops_all:
            self._pause_all(fault)
            self._ready.append(attempt)
            return None
        if attempt.failure_count == len(self.pauses_s):
            return FetchedSeries(attempt.row, None, fault)
        ready_s = time.monotonic() + self.pauses_s[attempt.failure_count]
        attempt.failure_count += 1
        self.figures.count("retries")
        key = self.folder_of(attempt.row).name
        self.log("series-put-off", f"series {key}: {fault}", series=key, code=fault.code)
        self._put_off_count += 1
        heappush(self._later, (ready_s, self._put_off_count, attempt))
        return None

    def _pause_all(self, fault: ArchiveError) -> None:
        """Asks for nothing for a while; raises the fault where that did not help, or cannot."""
        if fault.code != "archive-unreachable" or self._outages == len(self.pauses_s):
            raise fault
        now_s = time.monotonic()
        if now_s >= self._open_s:  # not for each of the fetches that broke off together
            self._open_s = now_s + self.pauses_s[self._outages]
            self._outages += 1
            self.figures.count("retries")
            self.trouble = fault.sentence
            self.log("archive-failed", fault.sentence, code=fault.code)
