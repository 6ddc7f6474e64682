"""Many independent runs, one process or several."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import Any, TypeVar

from fovnet.machine.parallel import process_pool

Task = TypeVar("Task")
Result = TypeVar("Result")
Progress = Callable[[int, int], None]


def run_each(
    work: Callable[[Task], Result],
    tasks: Sequence[Task],
    processes: int = 1,
    progress: Progress | None = None,
) -> Iterator[Result]:
    """The result of every task, in their order whatever the number of processes; `work` is a
    module-level function."""
    if processes <= 1:
        yield from _report_results(map(work, tasks), len(tasks), progress)
        return
    with process_pool(processes) as pool:
        yield from _report_results(pool.map(work, tasks), len(tasks), progress)


def run_alone(work: Callable[..., Result], *arguments: Any) -> Result:
    """The result of a call in a process of its own, whose memory is then measured apart."""
    with process_pool(1) as pool:
        return pool.submit(work, *arguments).result()


def _report_results(
    results: Iterator[Result], task_count: int, progress: Progress | None
) -> Iterator[Result]:
    """The results, each reported to `progress` as (done, total)."""
    for done_count, result in enumerate(results, start=1):
        if progress:
            progress(done_count, task_count)
        yield result
