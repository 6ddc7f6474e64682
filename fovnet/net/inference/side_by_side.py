"""Several computations at once, each by one thread.

Two threads within an operation wait for each other at every layer: on two cores with eight other
busy processes a volume took 6.7 s, and 1.1 s with one thread.  Threads with computations of their
own wait once, at the end.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from typing import TypeVar

import numpy as np

from fovnet.machine.cores import cores

Job = TypeVar("Job")
Result = TypeVar("Result")

FEWEST_ROWS_PER_PART = 9
"""Rows of a part: ONNX Runtime is as fast per image as with 32, torch loses a tenth; threads wait
little for the last part."""


def run_side_by_side(
    function: Callable[[Job], Result],
    arguments: Sequence[Job],
    most_threads: int,
    begin_thread: Callable[[], None] | None = None,
) -> list[Result]:
    """The results for all arguments, in their order, by as many threads as there are `cores`, at
    most `most_threads`; each calls `begin_thread` first.

    The threads end with the call, so that a process forked between two calls is not left waiting
    for threads that it does not have.
    """
    worker_count = max(1, min(cores(), len(arguments), most_threads))
    with ThreadPoolExecutor(worker_count, initializer=begin_thread) as executor:
        return list(executor.map(function, arguments))


def split_rows(row_count: int) -> list[slice]:
    """The parts of so many rows: of FEWEST_ROWS_PER_PART or a few more, an even number of them; all
    in one where there are fewer than two parts. The parts depend on the number alone, not on that of
    threads, as the last bit of an output may depend on the size of its part."""
    part_count = max(1, row_count // (2 * FEWEST_ROWS_PER_PART) * 2)
    parts = np.array_split(np.arange(row_count), part_count)
    return [slice(int(part[0]), int(part[-1]) + 1) for part in parts]
