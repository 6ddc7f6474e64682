"""Scales of charts: logarithmic where values differ much, time in a readable unit."""

from __future__ import annotations

from typing import Any

import numpy as np
from matplotlib.ticker import FuncFormatter, LogLocator, NullFormatter


def wide_scale(
    axis: Any, axis_letter: str, drawn_values: np.ndarray[Any, Any], largest_ratio: float = 20.0
) -> None:
    """A logarithmic scale with plain numbers, if the values are positive and their ratio exceeds
    `largest_ratio`."""
    if drawn_values.min() <= 0 or drawn_values.max() / drawn_values.min() <= largest_ratio:
        axis.ticklabel_format(axis=axis_letter, useOffset=False)
        return
    getattr(axis, f"set_{axis_letter}scale")("log")
    tick_axis = getattr(axis, f"{axis_letter}axis")
    tick_axis.set_major_locator(
        LogLocator(
            subs=(1.0, 2.0, 5.0) if drawn_values.max() / drawn_values.min() < 500 else (1.0,)
        )
    )
    tick_axis.set_major_formatter(
        FuncFormatter(lambda value, _: f"{value:g}".replace("-", "\N{MINUS SIGN}"))
    )
    tick_axis.set_minor_formatter(NullFormatter())


def unit_of_time(seconds: float) -> tuple[float, str]:
    """(seconds of a unit, its name): the unit in which a time this long is readable."""
    if seconds < 300:
        return 1.0, "seconds"
    if seconds < 3 * 3600:
        return 60.0, "minutes"
    return 3600.0, "hours"
