"""Several computations at once, each by one thread.

Two threads within an operation wait for each other at every layer: on two cores with eight other
busy processes a volume took 6.7 s, and 1.1 s with one thread.  Threads with computations of their
own wait once, at the end.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from typing import TypeVar

import torch
from torch import Tensor

from fovnet.machine.cores import cores

Job = TypeVar("Job")
Result = TypeVar("Result")

FEWEST_ROWS_PER_PART = 9
"""Rows of a part: ONNX Runtime is as fast per image as with 32, torch loses a tenth; threads wait
little for the last part."""


def run_side_by_side(
    run_job: Callable[[Job], Result], jobs: Sequence[Job], most_threads: int
) -> list[Result]:
    """The result of each job, in their order, by as many threads as there are `cores`, at most
    `most_threads`; in each, torch uses one thread.

    The threads end with the call, so that a process forked between two calls is not left waiting
    for threads that it does not have.
    """
    threads_before = torch.get_num_threads()
    worker_count = max(1, min(cores(), len(jobs), most_threads))
    try:
        with ThreadPoolExecutor(
            worker_count, initializer=torch.set_num_threads, initargs=(1,)
        ) as executor:
            return list(executor.map(run_job, jobs))
    finally:
        # the number is each thread's own, but a new thread begins with the one last set anywhere
        torch.set_num_threads(threads_before)


def split_rows(rows: Tensor) -> Sequence[Tensor]:
    """n rows in parts of FEWEST_ROWS_PER_PART or a few more, an even number of parts; all in one
    part of fewer than twice as many. The parts depend on n alone, not on the number of threads, as
    the last bit of an output may depend on the size of its part."""
    return torch.tensor_split(rows, max(1, len(rows) // (2 * FEWEST_ROWS_PER_PART) * 2))
