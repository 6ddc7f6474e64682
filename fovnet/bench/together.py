"""Many independent runs, one process or several."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ProcessPoolExecutor
from multiprocessing import get_context
from typing import TypeVar

Task = TypeVar("Task")
Result = TypeVar("Result")
Progress = Callable[[int, int], None]


def each(work: Callable[[Task], Result], tasks: Sequence[Task], processes: int = 1, progress: Progress | None = None) -> Iterator[Result]:
    """What comes of every task, in their order whatever the number of processes; `work` is a function of a module."""
    if processes <= 1:
        yield from _told(map(work, tasks), len(tasks), progress)
        return
    with ProcessPoolExecutor(processes, mp_context=get_context("spawn")) as pool:
        yield from _told(pool.map(work, tasks), len(tasks), progress)


def _told(results: Iterator[Result], total: int, progress: Progress | None) -> Iterator[Result]:
    for done, result in enumerate(results, start=1):
        if progress:
            progress(done, total)
        yield result
