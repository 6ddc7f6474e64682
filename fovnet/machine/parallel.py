"""Jobs in several processes, with results in the order of the jobs; a crashed process costs one job
its result.

The jobs under way are limited in number and in their estimated bytes.
"""

from __future__ import annotations

import logging
import multiprocessing
import os
import signal
import threading
import time
from collections import deque
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import Future, ProcessPoolExecutor
from concurrent.futures.process import BrokenProcessPool
from contextlib import contextmanager
from typing import Generic, TypeVar

from fovnet.errors import ConfigError

Job = TypeVar("Job")
Result = TypeVar("Result")

READ_AHEAD = 4  # jobs under way per worker: enough to keep all busy while one slow volume is read


def run_in_order(
    work: Callable[[Job], Result],
    jobs: Iterable[Job],
    workers: int,
    result_of_crash: Callable[[Job], Result],
    *,
    size: Callable[[Job], int] | None = None,
    budget: int = 0,
) -> Iterator[Result]:
    """work(job) for each job, in the order of the jobs whatever `workers` is; with one worker, in
    this process.

    Jobs under way (submitted, result not yet yielded) are at most READ_AHEAD per worker; with
    `size`, also at most so many that the sum of their sizes is within `budget`, except that one job
    is always allowed, however large.

    A process that dies (memory, a crash in a C library) breaks its pool: the jobs under way are
    then repeated one by one, each in a new process, and for a job that kills its process again the
    result is `result_of_crash(job)`. Raises ConfigError "processes-none" if no process can be
    started at all: that is no job's fault.
    """
    if workers <= 1:
        yield from map(work, jobs)
        return
    job_admission = Admission(iter(jobs), READ_AHEAD * workers, size, budget)
    _refuse_to_begin_without_processes()
    while True:
        jobs_under_way: deque[tuple[Job, Future[Result]]] = deque()
        try:
            with process_pool(workers) as pool:
                while True:
                    for job in job_admission.admit():
                        jobs_under_way.append((job, _submit_job(pool, work, job)))
                    if not jobs_under_way:
                        return
                    _, future = jobs_under_way[0]
                    result = future.result()
                    jobs_under_way.popleft()
                    job_admission.leave()
                    yield result
        except BrokenProcessPool:
            pass  # the pool is broken; the waiting jobs are repeated one by one
        for job, _ in jobs_under_way:
            result = _run_in_own_process(work, job, result_of_crash)
            job_admission.leave()
            yield result


class Admission(Generic[Job]):
    """Admits jobs in their order, within the limits of number and size.

    >>> door = Admission(iter([3, 4, 9, 1]), most_jobs=3, size_of=lambda job: job, size_budget=8)
    >>> list(door.admit())                   # 3 + 4 fit, 9 more would not
    [3, 4]
    >>> door.leave(), list(door.admit())     # 4 + 9 do not fit
    (None, [])
    >>> door.leave(), list(door.admit())     # too large for the budget, and alone
    (None, [9])
    """

    def __init__(
        self,
        jobs: Iterator[Job],
        most_jobs: int,
        size_of: Callable[[Job], int] | None,
        size_budget: int,
    ) -> None:
        self._jobs = jobs
        self._most_jobs = most_jobs
        self._size_of = size_of or (lambda job: 0)
        self._size_budget = size_budget
        self._admitted_sizes: deque[int] = deque()  # of the jobs under way
        self._waiting: tuple[Job, int] | None = None  # a job that found no room yet, and its size

    def admit(self) -> Iterator[Job]:
        """The jobs that may be started now."""
        while len(self._admitted_sizes) < self._most_jobs:
            if self._waiting is None:
                next_job = next(self._jobs, None)
                if next_job is None:
                    return
                self._waiting = next_job, self._size_of(next_job)
            job, job_size = self._waiting
            if self._admitted_sizes and sum(self._admitted_sizes) + job_size > self._size_budget:
                return
            self._waiting = None
            self._admitted_sizes.append(job_size)
            yield job

    def leave(self) -> None:
        """Removes the earliest admitted job: its result has been taken."""
        self._admitted_sizes.popleft()


def _refuse_to_begin_without_processes() -> None:
    """Raises ConfigError if no process can be started; takes 0.1 s.  One cause: each process
    imports the main script again, and a script without a `__main__` guard starts its work there."""
    try:
        with process_pool(1) as pool:
            pool.submit(int).result()
    except BrokenProcessPool:
        raise ConfigError(
            "processes-none",
            "no process could be started to read ahead; a script that uses more than one must start its work "
            'under `if __name__ == "__main__":`, or use one (jobs=1)',
        ) from None


def _submit_job(
    pool: ProcessPoolExecutor, work: Callable[[Job], Result], job: Job
) -> Future[Result]:
    """The job's future; an already failed one if the pool is broken, so that no job is lost between
    two pools."""
    try:
        return pool.submit(work, job)
    except BrokenProcessPool as fault:
        future: Future[Result] = Future()
        future.set_exception(fault)
        return future


def _run_in_own_process(
    work: Callable[[Job], Result], job: Job, result_of_crash: Callable[[Job], Result]
) -> Result:
    """work(job) in a process of its own; `result_of_crash(job)` if that dies."""
    with process_pool(1) as pool:
        try:
            return pool.submit(work, job).result()
        except BrokenProcessPool:
            return result_of_crash(job)


@contextmanager
def process_pool(workers: int) -> Iterator[ProcessPoolExecutor]:
    """A pool of processes that do not outlive the block, nor this process, however it ends.

    If the block is left early, jobs not yet started are cancelled and those under way end; by
    Ctrl-C they are ended at once, as what they write is whole or not there.
    """
    # spawn: a forked child inherits the locks of this process's threads, and may deadlock
    pool = ProcessPoolExecutor(
        workers,
        mp_context=multiprocessing.get_context("spawn"),
        initializer=_begin_worker,
        initargs=(os.getpid(), logging.root.manager.disable),
    )
    other_processes = set(multiprocessing.active_children())
    try:
        yield pool
    except KeyboardInterrupt:
        for process in set(multiprocessing.active_children()) - other_processes:
            process.terminate()
        raise
    finally:
        pool.shutdown(cancel_futures=True)


def _begin_worker(parent: int, silent_level: int) -> None:
    """Initialises a worker.

    It ends with `parent`, and logs as little (nothing up to `silent_level`).  It ignores Ctrl-C,
    which a terminal sends to all processes: each would print a traceback.
    """
    logging.disable(silent_level)
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    end_with(parent)


def end_with(parent: int) -> None:
    """Ends this process within a second after its parent, of process id `parent`, so that none is
    left if the parent is killed."""

    def watch_parent() -> None:
        while os.getppid() == parent:
            time.sleep(0.5)
        os._exit(1)

    threading.Thread(target=watch_parent, daemon=True, name="parent-watch").start()
