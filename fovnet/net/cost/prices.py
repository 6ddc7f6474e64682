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
from fovnet.net.cost.predicted import Cost, DeviceSpeed, Floats, Limits, Work, price_rows
from fovnet.search.space import Space
from fovnet.words import yes_or_no

COST_QUANTILES = (0.0, 0.25, 0.5, 0.75, 1.0)
COST_COLUMNS = ("weights", "forward_mflop", "memory_mb", "seconds", "fits")


@dataclass(frozen=True, eq=False)
class Prices:
    """Every one of the M rows of a space priced.

    memory_bytes   (M,) peak of a training
    trial_seconds  (M,) of a whole trial
    limits         within which a row must be
    """

    space: Space
    cost: Cost
    memory_bytes: Floats
    trial_seconds: Floats
    limits: Limits

    @cached_property
    def fits_memory(self) -> NDArray[np.bool_]:
        """(M,) whether each row is within the limit of bytes."""
        return np.asarray(self.memory_bytes <= self.limits.memory_bytes)

    @cached_property
    def fits_seconds(self) -> NDArray[np.bool_]:
        """(M,) whether each row is within the limit of seconds."""
        return np.asarray(self.trial_seconds <= (self.limits.trial_seconds or np.inf))

    @property
    def fits_limits(self) -> NDArray[np.bool_]:
        """(M,) whether each row is within both limits."""
        return self.fits_memory & self.fits_seconds

    def refuse_where_nothing_fits(self) -> None:
        """Raise SearchError ("no-feasible-row") with the limits and the least cost unless some row
        fits."""
        if self.fits_limits.any():
            return
        gigabytes = self.limits.memory_bytes / 1e9
        seconds_limit = self.limits.trial_seconds
        sentences = [
            f"none of the {len(self.memory_bytes):,} configurations can be trained within the limits"
        ]
        if not self.fits_memory.any():
            sentences.append(
                f"search.memory_limit_gb is {gigabytes:g}, the smallest needs "
                f"{self.memory_bytes.min() / 1e9:.3g}"
            )
        if not self.fits_seconds.any():
            sentences.append(
                f"search.seconds_limit is {seconds_limit:g}, the fastest is predicted to take "
                f"{self.trial_seconds.min():.3g}"
            )
        if self.fits_memory.any() and self.fits_seconds.any():
            sentences.append(
                f"{self.fits_memory.sum():,} need no more than search.memory_limit_gb {gigabytes:g} and "
                f"{self.fits_seconds.sum():,} take no longer than search.seconds_limit {seconds_limit:g}, but "
                "none does both; within the memory the fastest takes "
                f"{self.trial_seconds[self.fits_memory].min():.3g} s"
            )
        raise SearchError(
            "no-feasible-row",
            "; ".join(sentences) + ".  Raise a limit, or search smaller networks.",
        )


def predict_prices(
    space: Space,
    *,
    classes: int,
    head: str,
    keeps_average: bool = False,
    work: Work,
    speed: DeviceSpeed,
    limits: Limits,
    inputs: Sequence[str] = ("slice",),
    side: int = 128,
) -> Prices:
    """The rows of a space, priced on a device."""
    rows = columns_of_space(space, classes=classes, head=head, inputs=inputs, side=side)
    cost, memory, seconds = price_rows(rows, work, speed, keeps_average=keeps_average)
    return Prices(space, cost, memory, seconds, limits)


def price_table(prices: Prices) -> tuple[list[str], Iterator[dict[str, Any]]]:
    """Columns and rows of a TSV: one line per row of the space, with its axes and its cost."""
    axis_names = [axis.name for axis in prices.space.axes]
    return ["row", *axis_names, *COST_COLUMNS], (
        {
            "row": row,
            **{
                name: _level_in_words(level)
                for name, level in prices.space.configuration(row).items()
            },
            **_cost_by_column(prices, row),
        }
        for row in range(len(prices.space))
    )


def is_price_table(columns: Sequence[str]) -> bool:
    """Whether a table with these columns is one of prices, of any space."""
    return list(columns[:1]) == ["row"] and tuple(columns[-len(COST_COLUMNS) :]) == COST_COLUMNS


def cost_quantiles(prices: Prices) -> dict[str, Sequence[float]]:
    """Minimum, quartiles and maximum of the costs of the rows that fit; by name and unit."""
    values_by_name = {
        "seconds": prices.trial_seconds,
        "memory, MB": prices.memory_bytes / 1e6,
        "weights, millions": prices.cost.weight_count / 1e6,
        "forward operations a slice, millions": prices.cost.forward_flop / 1e6,
    }
    return {
        name: [
            float(value) for value in np.quantile(cost_values[prices.fits_limits], COST_QUANTILES)
        ]
        for name, cost_values in values_by_name.items()
    }


def predict_search_seconds(prices: Prices, trial_count: int, worker_count: int) -> float:
    """Seconds of a search whose trials are a random sample of the rows that fit; one that prefers
    large networks takes longer."""
    return (
        float(prices.trial_seconds[prices.fits_limits].mean())
        * min(trial_count, int(prices.fits_limits.sum()))
        / worker_count
    )


def _cost_by_column(prices: Prices, row: int) -> dict[str, Any]:
    """The cost of a row by the columns of COST_COLUMNS."""
    costs_of_row = (
        int(prices.cost.weight_count[row]),
        float(prices.cost.forward_flop[row]) / 1e6,
        float(prices.memory_bytes[row]) / 1e6,
        float(prices.trial_seconds[row]),
        yes_or_no(prices.fits_limits[row]),
    )
    return dict(zip(COST_COLUMNS, costs_of_row, strict=True))


def _level_in_words(level: Any) -> Any:
    """A level as the configuration writes it, with all digits, so that it can be copied from the
    table."""
    if isinstance(level, bool):
        return yes_or_no(level)
    return str(level)
