"""The costs of a whole space, for display: how many rows fit, what they cost, and how long the
configured search will take."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from fovnet.errors import SearchError
from fovnet.net.cost.columns import columns_of_space
from fovnet.net.cost.predicted import Cost, Device, Floats, Limits, Work, price
from fovnet.search.space import Space

COST_QUANTILES = (0.0, 0.25, 0.5, 0.75, 1.0)
COST_COLUMNS = ("weights", "forward_mflop", "memory_mb", "seconds", "fits")


@dataclass(frozen=True, eq=False)
class Prices:
    """Every row of a space priced, each (M,): cost, peak bytes of training, seconds of a whole
    trial."""

    space: Space
    cost: Cost
    memory: Floats
    seconds: Floats
    limits: Limits

    @cached_property
    def small(self) -> NDArray[np.bool_]:
        """(M,) whether each row is within the limit of bytes."""
        return np.asarray(self.memory <= self.limits.bytes)

    @cached_property
    def short(self) -> NDArray[np.bool_]:
        """(M,) whether each row is within the limit of seconds."""
        return np.asarray(self.seconds <= (self.limits.seconds or np.inf))

    @property
    def fits(self) -> NDArray[np.bool_]:
        """(M,) whether each row is within both limits."""
        return self.small & self.short

    def refuse_where_nothing_fits(self) -> None:
        """Raise SearchError ("no-feasible-row") with the limits and the least cost unless some row
        fits."""
        if self.fits.any():
            return
        gigabytes = self.limits.bytes / 1e9
        seconds_limit = self.limits.seconds
        sentences = [
            f"none of the {len(self.memory):,} configurations can be trained within the limits"
        ]
        if not self.small.any():
            sentences.append(
                f"search.memory_limit_gb is {gigabytes:g}, the smallest needs "
                f"{self.memory.min() / 1e9:.3g}"
            )
        if not self.short.any():
            sentences.append(
                f"search.seconds_limit is {seconds_limit:g}, the fastest is predicted to take "
                f"{self.seconds.min():.3g}"
            )
        if self.small.any() and self.short.any():
            sentences.append(
                f"{self.small.sum():,} need no more than search.memory_limit_gb {gigabytes:g} and "
                f"{self.short.sum():,} take no longer than search.seconds_limit {seconds_limit:g}, but "
                "none does both; within the memory the fastest takes "
                f"{self.seconds[self.small].min():.3g} s"
            )
        raise SearchError(
            "no-feasible-row",
            "; ".join(sentences) + ".  Raise a limit, or search smaller networks.",
        )


def prices(
    space: Space,
    *,
    classes: int,
    head: str,
    averaged: bool = False,
    work: Work,
    device: Device,
    limits: Limits,
    inputs: Sequence[str] = ("slice",),
    side: int = 128,
) -> Prices:
    """The rows of a space, priced on a device."""
    rows = columns_of_space(space, classes=classes, head=head, inputs=inputs, side=side)
    cost, memory, seconds = price(rows, work, device, averaged=averaged)
    return Prices(space, cost, memory, seconds, limits)


def table(priced: Prices) -> tuple[list[str], Iterator[dict[str, Any]]]:
    """Columns and rows of a TSV: one line per row of the space, with its axes and its cost."""
    axis_names = [axis.name for axis in priced.space.axes]
    return ["row", *axis_names, *COST_COLUMNS], (
        {
            "row": row,
            **{
                name: _level_in_words(level)
                for name, level in priced.space.configuration(row).items()
            },
            **_cost_by_column(priced, row),
        }
        for row in range(len(priced.space))
    )


def is_table(columns: Sequence[str]) -> bool:
    """Whether a table with these columns is one of prices, of any space."""
    return list(columns[:1]) == ["row"] and tuple(columns[-len(COST_COLUMNS) :]) == COST_COLUMNS


def quantiles(priced: Prices) -> dict[str, Sequence[float]]:
    """Minimum, quartiles and maximum of the costs of the rows that fit; by name and unit."""
    values_by_name = {
        "seconds": priced.seconds,
        "memory, MB": priced.memory / 1e6,
        "weights, millions": priced.cost.weights / 1e6,
        "forward operations a slice, millions": priced.cost.forward_flop / 1e6,
    }
    return {
        name: [float(value) for value in np.quantile(cost_values[priced.fits], COST_QUANTILES)]
        for name, cost_values in values_by_name.items()
    }


def search_seconds(priced: Prices, trials: int, workers: int) -> float:
    """Seconds of a search whose trials are a random sample of the rows that fit; one that prefers
    large networks takes longer."""
    return float(priced.seconds[priced.fits].mean()) * min(trials, int(priced.fits.sum())) / workers


def _cost_by_column(priced: Prices, row: int) -> dict[str, Any]:
    """The cost of a row by the columns of COST_COLUMNS."""
    costs_of_row = (
        int(priced.cost.weights[row]),
        float(priced.cost.forward_flop[row]) / 1e6,
        float(priced.memory[row]) / 1e6,
        float(priced.seconds[row]),
        "yes" if priced.fits[row] else "no",
    )
    return dict(zip(COST_COLUMNS, costs_of_row, strict=True))


def _level_in_words(level: Any) -> Any:
    """A level as the configuration writes it, with all digits, so that it can be copied from the
    table."""
    if isinstance(level, bool):
        return "yes" if level else "no"
    return str(level)
