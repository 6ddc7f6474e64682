"""Many independent runs, one process or several."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ProcessPoolExecutor
from multiprocessing import get_context
from typing import TypeVar

Task = TypeVar("Task")
Result = TypeVar("Result")
Progress = Callable[[int, int], None]


def each(
    work: Callable[[Task], Result], tasks: Sequence[Task], processes: int = 1,
    progress: Progress | None = None,
) -> Iterator[Result]:
    """The result of every task, in their order whatever the number of processes; `work` is a module-level
    function."""
    if processes <= 1:
        yield from _reported(map(work, tasks), len(tasks), progress)
        return
    with ProcessPoolExecutor(processes, mp_context=get_context("spawn")) as pool:
        yield from _reported(pool.map(work, tasks), len(tasks), progress)


def _reported(results: Iterator[Result], total: int, progress: Progress | None) -> Iterator[Result]:
    """The results, each reported to `progress` as (done, total)."""
    for done, result in enumerate(results, start=1):
        if progress:
            progress(done, total)
        yield result
