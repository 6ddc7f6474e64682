"""Scales of charts: logarithmic where values differ much, time in a readable unit."""

from __future__ import annotations

from typing import Any

import numpy as np
from matplotlib.ticker import FuncFormatter, LogLocator, NullFormatter

LEAST_RATIO_OF_POWERS = 500.0
"""From this ratio of the values on, powers of ten alone are labelled."""


def scale_axis(
    axis: Any, axis_letter: str, drawn_values: np.ndarray[Any, Any], largest_ratio: float = 20.0
) -> None:
    """Makes the x or y axis logarithmic with plain numbers, if the values are positive and their
    ratio exceeds `largest_ratio`; otherwise it stays linear, without an offset."""
    lowest = drawn_values.min()
    highest = drawn_values.max()
    if lowest <= 0 or highest / lowest <= largest_ratio:
        axis.ticklabel_format(axis=axis_letter, useOffset=False)
        return
    labelled_multiples: tuple[float, ...] = (1.0,)
    if highest / lowest < LEAST_RATIO_OF_POWERS:
        labelled_multiples = (1.0, 2.0, 5.0)
    getattr(axis, f"set_{axis_letter}scale")("log")
    tick_axis = getattr(axis, f"{axis_letter}axis")
    tick_axis.set_major_locator(LogLocator(subs=labelled_multiples))
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
