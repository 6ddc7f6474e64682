"""Many jobs on many processes, with the results in the order of the jobs and a crashed process counted as one job's fault."""

from __future__ import annotations

import multiprocessing
from collections import deque
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import Future, ProcessPoolExecutor
from concurrent.futures.process import BrokenProcessPool
from itertools import islice
from typing import TypeVar

Job = TypeVar("Job")
Result = TypeVar("Result")

READ_AHEAD = 4      # jobs under way per worker: enough to keep all busy behind one slow volume


def in_order(
    work: Callable[[Job], Result], jobs: Iterable[Job], workers: int, crashed: Callable[[Job], Result]
) -> Iterator[Result]:
    """work(job) for each job, in the order of the jobs whatever `workers` is; with one worker, in this process.

    A process that dies (memory, a fault in a C library) takes its pool with it: the jobs under way are then tried again one
    by one, each in a process of its own, and the one that kills its process again is answered by `crashed(job)`.
    """
    if workers <= 1:
        yield from map(work, jobs)
        return
    remaining = iter(jobs)
    while True:
        waiting: deque[tuple[Job, Future[Result]]] = deque()
        with _pool(workers) as pool:
            try:
                while True:
                    for job in islice(remaining, READ_AHEAD * workers - len(waiting)):
                        waiting.append((job, _submitted(pool, work, job)))
                    if not waiting:
                        return
                    yield waiting[0][1].result()
                    waiting.popleft()
            except BrokenProcessPool:
                pass                            # the pool is gone; whoever was waiting is tried alone
        for job, _ in waiting:
            yield _alone(work, job, crashed)


def _submitted(pool: ProcessPoolExecutor, work: Callable[[Job], Result], job: Job) -> Future[Result]:
    """The job's future; already failed where the pool broke before, so that no job falls between two pools."""
    try:
        return pool.submit(work, job)
    except BrokenProcessPool as fault:
        failed: Future[Result] = Future()
        failed.set_exception(fault)
        return failed


def _alone(work: Callable[[Job], Result], job: Job, crashed: Callable[[Job], Result]) -> Result:
    with _pool(1) as pool:
        try:
            return pool.submit(work, job).result()
        except BrokenProcessPool:
            return crashed(job)


def _pool(workers: int) -> ProcessPoolExecutor:
    # spawn: a forked child inherits the locks of this process's threads, and may wait for one for ever
    return ProcessPoolExecutor(workers, mp_context=multiprocessing.get_context("spawn"))
