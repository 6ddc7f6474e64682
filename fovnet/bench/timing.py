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


def in_turn(
    clocks: Mapping[str, Callable[[], float]], repeats: int
) -> dict[str, NDArray[np.float64]]:
    """What each clock says (repeats,), one after another and again."""
    seconds_by_turn = [[clock() for clock in clocks.values()] for _ in range(repeats)]
    return dict(zip(clocks, np.array(seconds_by_turn).T, strict=True))
