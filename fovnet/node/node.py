"""A DICOM node at work: instances in, answers, reports out, until it is stopped; then it goes on
where it was."""

from __future__ import annotations

import os
import time
from collections import Counter, deque
from collections.abc import Callable
from contextlib import suppress
from http.server import ThreadingHTTPServer
from pathlib import Path
from threading import Event, Thread
from typing import TypeVar

from fovnet.errors import ConfigError
from fovnet.machine.ports import refusal_of_port
from fovnet.machine.supervisor import tell_supervisor, watchdog_pause_s
from fovnet.node.answering import Answering
from fovnet.node.courier import Courier, give_up_old_reports
from fovnet.node.door import Door
from fovnet.node.inbox import Inbox, find_unanswered_series
from fovnet.node.metrics import node_metrics
from fovnet.node.outbox import Outbox
from fovnet.node.page import node_subject, page_answer
from fovnet.node.places import DELIVERED, STATES, Places, remove_uncovered_thumbnails, split_name
from fovnet.node.settings import NodeSettings
from fovnet.unforeseen import log_of
from fovnet.watch.audit import AUDIT_NAME, Audit
from fovnet.watch.drift import count_kinds, describe_drift, read_accepted
from fovnet.watch.figures import Figures
from fovnet.watch.log import Log
from fovnet.watch.metrics import metrics_answer
from fovnet.watch.serving import health_answer, serve

Listener = TypeVar("Listener")
GRACE_AFTER_STOP_S = 10.0  # for associations to end when the node is stopped
PAUSE_BETWEEN_LOOKS_S = 0.2  # between looks for series at rest, and for reports to send
PAUSE_BETWEEN_SWEEPS_S = 60.0  # between looks for what has been kept long enough
PAUSE_BEFORE_RETRY_S = 30.0  # before a step that failed is tried again
NO_ARCHIVE = "no archive is given (--to)"


class Node:
    """A node over one folder.  `run` returns when it was stopped.

    log      takes an event, without patient data
    stopped  set by another thread to stop the node
    """

    def __init__(
        self,
        places: Places,
        answering: Answering,
        settings: NodeSettings,
        log: Log,
    ) -> None:
        self.settings = settings
        self.places = places
        self.log = log
        self.stopped = Event()
        self.figures = Figures()
        self.audit = Audit(places.folder / AUDIT_NAME)
        self._answering = answering
        self._inbox = Inbox(places, settings.rest_s, settings.longest_s)
        self._waiting_folders = deque(find_unanswered_series(places))
        self._waiting_since = {
            series_folder.name: series_folder.stat().st_mtime
            for series_folder in self._waiting_folders
        }
        self._outbox = Outbox(places, settings.clock, settings.pauses)
        self._courier: Courier | None = None
        on_commitment = None
        if settings.peer is not None:
            self._courier = Courier(
                outbox=self._outbox,
                peer=settings.peer,
                own_title=settings.title,
                tls_context=settings.tls_out,
                timeout_s=settings.limits.idle_s,
                log=log,
                figures=self.figures,
                audit=self.audit,
            )
            on_commitment = self._courier.on_commitment
        self._door = Door(
            self._inbox,
            self.figures,
            settings.limits,
            settings.callers,
            log,
            on_commitment,
            self.audit,
        )
        if not answering.faces:
            remove_uncovered_thumbnails(places)
        self._trouble_by_step: dict[str, str] = {}
        self._last_sweep_s = -PAUSE_BETWEEN_SWEEPS_S

    def run(self) -> None:
        """Works until `stopped` is set, then ends what is under way.

        Raises ConfigError "node-port" if a port is taken.
        """
        settings = self.settings
        _open_port(
            settings.port,
            lambda: self._door.open(settings.title, settings.host, settings.port, settings.tls_in),
        )
        try:
            page_server = self._open_page()
        except ConfigError:
            self._door.close()
            raise
        self._log_start(page_server)
        step_by_name = {"answers": self._answer_next, "delivery": self._deliver_reports}
        threads = [
            Thread(target=self._repeat_step, args=(step_name, step), name=step_name)
            for step_name, step in step_by_name.items()
        ]
        for thread in threads:
            thread.start()
        tell_supervisor("READY=1")
        while not self.stopped.wait(watchdog_pause_s()):
            # a step that has ended for good is a node that answers nothing: it is to be started again
            if all(thread.is_alive() for thread in threads):
                tell_supervisor("WATCHDOG=1")
        tell_supervisor("STOPPING=1")
        self.log("stopping", "stopping")
        self._close_door()
        for thread in threads:
            thread.join()
        if page_server:
            page_server.shutdown()
            page_server.server_close()
        self.log("stopped", "stopped; the same command goes on from here")

    def _open_page(self) -> ThreadingHTTPServer | None:
        """The server of the page, at work; None without a port for it.

        Raises ConfigError "node-port" if that is taken.
        """
        port = self.settings.page_port
        if port is None:
            return None
        with suppress(OSError):  # told of, and tried again, by the first step
            self._answering.table.mend()
        tally = self._answering.table.tally
        subject = node_subject(self.settings.title, self.places)
        answer_by_path = {
            "/": lambda: page_answer(subject, self.status(), tally),
            "/health": lambda: health_answer(self.status()),
            "/metrics": metrics_answer(
                lambda: node_metrics(
                    self.status(), self.figures, tally, read_accepted(self.places.folder)
                )
            ),
        }
        return _open_port(port, lambda: serve(port, answer_by_path))

    def _log_start(self, page_server: ThreadingHTTPServer | None) -> None:
        """Logs where the node listens, and that its reports go nowhere where that is so."""
        page_address = ""
        if page_server is not None:
            page_address = f"; page http://127.0.0.1:{page_server.server_address[1]}/"
        waiting_in_words = f"{len(self._waiting_folders)} series wait for answers"
        self.log(
            "started",
            f"{self.settings.title} listens on port {self.port}{page_address}; {waiting_in_words}",
            port=self.port,
            waiting=len(self._waiting_folders),
        )
        if self._courier is None:
            age_limit_in_words = f"{self.settings.pauses.give_up_s / 3600:g} h (--give-up)"
            self.log(
                "no-archive",
                f"{NO_ARCHIVE}: reports are not sent, and removed after {age_limit_in_words}",
            )

    def _close_door(self) -> None:
        """Lets nobody in any more; who is in has GRACE_AFTER_STOP_S to end."""
        self._door.close()
        deadline_s = time.monotonic() + GRACE_AFTER_STOP_S
        while self._door.association_count and time.monotonic() < deadline_s:
            time.sleep(PAUSE_BETWEEN_LOOKS_S)
        self._door.abort()

    @property
    def port(self) -> int:
        """Where it listens for instances; 0 before."""
        return self._door.port

    def status(self) -> dict[str, object]:
        """{figure: number} of the page: what is on the disk and counts since the start; and
        `trouble`, what is wrong in words, "" if nothing is."""
        free_bytes = self.places.free_bytes()
        troubles = list(self._trouble_by_step.values())
        if self._inbox.waits_for_room or free_bytes <= self.settings.limits.reserve_bytes:
            troubles.append("the disk is nearly full: instances are refused, and series wait")
        troubles += [self._door.trouble, self.audit.trouble]
        if self._courier:
            troubles.append(self._courier.trouble)
        tally = self._answering.table.tally
        accepted_shares = read_accepted(self.places.folder)
        return {
            "trouble": "; ".join(filter(None, troubles)),
            "drift": describe_drift(count_kinds(tally.recent()), accepted_shares),
            "associations": self._door.association_count,
            "series_arriving": len(self._inbox.arrivals),
            "series_waiting": len(self._waiting_folders),
            "oldest_waiting_s": self._oldest_waiting_s(),
            "series_answered": tally.series_count,
            **{f"reports_{state}": _count_reports(self.places.reports(state)) for state in STATES},
            "free_bytes": free_bytes,
            **self.figures.now(),
        }

    def _oldest_waiting_s(self) -> float:
        """Seconds for which the series has waited that came to rest first, of those without an
        answer; 0.0 without any."""
        now = time.time()
        return max(0.0, now - min(list(self._waiting_since.values()), default=now))

    def _repeat_step(self, step_name: str, step: Callable[[], float]) -> None:
        """Takes a step again and again, each so many seconds after the last; one that fails is told
        of on the page and in the log, and tried again."""
        while not self.stopped.is_set():
            try:
                pause_s = step()
                self._trouble_by_step.pop(step_name, None)
            except Exception as fault:
                pause_s = PAUSE_BEFORE_RETRY_S
                fault_in_words = getattr(fault, "strerror", None)
                if not fault_in_words:
                    fault_in_words = f"{type(fault).__name__}, see {log_of(fault)}"
                self._trouble_by_step[step_name] = f"{step_name}: {fault_in_words}; tried again"
                self.log("step-failed", self._trouble_by_step[step_name], step=step_name)
            self.stopped.wait(pause_s)

    def _answer_next(self) -> float:
        """Answers one series at rest, if any waits; the seconds until the next step."""
        self._answering.table.mend()
        self._take_series_at_rest()
        self._remove_expired()
        if not self._waiting_folders:
            return PAUSE_BETWEEN_LOOKS_S
        series_folder = self._waiting_folders[0]
        self._waiting_folders.rotate(-1)  # last, should it fail
        start_s = time.monotonic()
        answers = self._answering.answer(series_folder)
        answer_s = time.monotonic() - start_s
        self._waiting_folders.remove(series_folder)
        waiting_s = time.time() - answer_s - self._waiting_since.pop(series_folder.name)
        self.figures.time("waiting", max(0.0, waiting_s))
        self.figures.time("answer", answer_s)
        for answer in answers:
            if answer.status == "refused":
                self.figures.count("refused")
            else:
                self.figures.count("answered")
        self.figures.count("without_report", sum(bool(answer.unreported) for answer in answers))
        count_by_status = Counter(
            " ".join(filter(None, (answer.status, answer.code, answer.unreported)))
            for answer in answers
        )
        statuses_in_words = ", ".join(
            f"{answer_count} {status}" for status, answer_count in count_by_status.items()
        )
        self.log(
            "series-answered",
            f"series {series_folder.name}: {statuses_in_words}; {answer_s:.1f} s",
            series=series_folder.name,
            answers=[answer.status for answer in answers],
            codes=[answer.code for answer in answers],
            seconds=round(answer_s, 3),
        )
        return 0.0

    def _take_series_at_rest(self) -> None:
        """Takes the series at rest out of the inbox, to wait for their answers; not those whose
        earlier version still waits."""
        waiting_keys = {
            split_name(series_folder.name)[0] for series_folder in self._waiting_folders
        }
        for series_key in self._inbox.keys_at_rest():
            if series_key in waiting_keys:
                continue
            arrival_s = time.monotonic() - self._inbox.arrivals[series_key].first_s
            if (series_folder := self._inbox.take(series_key)) is not None:
                self._waiting_folders.append(series_folder)
                self._waiting_since[series_folder.name] = time.time()
                self.figures.count("series")
                self.figures.time("arrival", arrival_s)
            elif series_key not in self._inbox.arrivals:
                self.figures.count("unchanged")

    def _deliver_reports(self) -> float:
        """Delivers what is due; the seconds until the next step."""
        if self._courier and self._courier.deliver_due_reports():
            return 0.0
        return PAUSE_BETWEEN_LOOKS_S

    def _remove_expired(self) -> None:
        """Removes series that were answered, with thumbnails, and reports that were delivered, `keep_h` hours ago;
        where there is no archive, reports that are to be given up."""
        if time.monotonic() - self._last_sweep_s < PAUSE_BETWEEN_SWEEPS_S:
            return
        self._last_sweep_s = time.monotonic()
        if self._courier is None:
            give_up_old_reports(self._outbox, NO_ARCHIVE, self.log, self.figures)
        expiry_time = time.time() - 3600 * self.settings.keep_h
        for series_folder in set(self.places.series.iterdir()).difference(self._waiting_folders):
            record_path = self.places.answer_record_path(split_name(series_folder.name)[0])
            if self.stopped.is_set():
                return
            if record_path.exists() and record_path.stat().st_mtime < expiry_time:
                self.places.remove(series_folder)
        for path in [*self.places.reports(DELIVERED).iterdir(), *self.places.thumbnails.iterdir()]:
            if path.stat().st_mtime < expiry_time:
                path.unlink()


def _count_reports(folder: Path) -> int:
    """Reports in a folder, by their names: `Path.glob` takes 25 ms for 10,000, and this 4."""
    with os.scandir(folder) as entries:
        return sum(entry.name.endswith(".dcm") for entry in entries)


def _open_port(port: int, open_listener: Callable[[], Listener]) -> Listener:
    try:
        return open_listener()
    except OSError as fault:
        raise ConfigError("node-port", refusal_of_port(fault, port)) from fault
