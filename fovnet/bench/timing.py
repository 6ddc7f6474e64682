"""Seconds by the clock, of several ways in turn: other load on the machine then affects them
alike."""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping
from typing import Any

import numpy as np
from numpy.typing import NDArray


def seconds_of(work: Callable[..., Any], *arguments: Any) -> float:
    """The seconds that a call takes."""
    start_s = time.perf_counter()
    work(*arguments)
    return time.perf_counter() - start_s


def time_in_turn(
    clock_by_name: Mapping[str, Callable[[], float]], repeats: int
) -> dict[str, NDArray[np.float64]]:
    """{name: seconds (repeats,)}: all clocks are called one after another, `repeats` times.

    A clock does something, and returns the seconds that this took.
    """
    seconds_by_turn = [[clock() for clock in clock_by_name.values()] for _ in range(repeats)]
    return dict(zip(clock_by_name, np.array(seconds_by_turn).T, strict=True))
