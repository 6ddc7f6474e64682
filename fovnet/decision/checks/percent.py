"""A share below its bar, in percent that never reads as if it were the bar."""

from __future__ import annotations

import math


def percents_below_bar(share: float, bar: float, digits: int = 0) -> tuple[str, str]:
    """A share below a bar, and the bar, each as text in percent with so many decimals.

    If both would read the same, they get one more decimal where needed, the share rounded down and
    the bar up: 69.9% and 70%.
    """
    share_percent = f"{share:.{digits}%}"
    bar_percent = f"{bar:.{digits}%}"
    if share_percent != bar_percent:
        return share_percent, bar_percent
    rounding_scale = 10 ** (digits + 3)
    if round(bar, digits + 2) != bar:
        bar_percent = f"{math.ceil(round(rounding_scale * bar, 6)) / rounding_scale:.{digits + 1}%}"
    return f"{math.floor(rounding_scale * share) / rounding_scale:.{digits + 1}%}", bar_percent
