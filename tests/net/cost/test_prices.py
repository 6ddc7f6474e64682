"""The costs of a whole space, as they are shown to a person."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from fovnet.config.files import load_settings
from fovnet.net.cost.predicted import DeviceSpeed, Limits, Work
from fovnet.net.cost.prices import (
    cost_quantiles,
    predict_prices,
    predict_search_seconds,
    price_table,
)
from fovnet.net.family.axes import order_axes
from fovnet.search.space import Axis, Space

LEVELS = {
    "blocks": [4, 5],
    "convolutions": [1],
    "log2_filters": [2, 3, 4],
    "kernel": [3],
    "separable": [False, True],
    "log10_learning_rate": [-5, -2],
    "log2_batch": [3, 6],
}
HOW = {
    "classes": 7,
    "head": "gap",
    "work": Work(4000, 500, 4),
    "speed": DeviceSpeed(65.0, 34.0, 350.0),
}


@pytest.mark.parametrize("share", [None, 0.5])
def test_the_quantiles_are_those_of_the_rows_that_fit(share: float | None) -> None:
    """Half of the rows fit into the memory, and half of them, or all, keep the time."""
    free = predict_prices(Space.of(LEVELS), limits=Limits(1e12, None), **HOW)
    most, seconds = (
        float(np.median(free.memory_bytes)),
        None if share is None else float(np.quantile(free.trial_seconds, share)),
    )
    priced = predict_prices(Space.of(LEVELS), limits=Limits(most, seconds), **HOW)
    kept = (priced.memory_bytes <= most) & (priced.trial_seconds <= (seconds or np.inf))
    np.testing.assert_array_equal(priced.fits_limits, kept)
    assert 0 < kept.sum() < len(kept)
    assert cost_quantiles(priced)["seconds"][0] == priced.trial_seconds[kept].min()
    assert cost_quantiles(priced)["memory, MB"][-1] == pytest.approx(
        priced.memory_bytes[kept].max() / 1e6
    )


def test_a_search_of_everything_takes_the_sum_of_everything() -> None:
    priced = predict_prices(Space.of(LEVELS), limits=Limits(1e12, None), **HOW)
    assert predict_search_seconds(priced, 10_000, 1) == pytest.approx(priced.trial_seconds.sum())
    assert predict_search_seconds(priced, 10, 2) == pytest.approx(5 * priced.trial_seconds.mean())


def test_the_table_has_every_row_with_its_levels_as_they_are_written() -> None:
    priced = predict_prices(Space.of(LEVELS), limits=Limits(60e6, 30.0), **HOW)
    header, lines = price_table(priced)
    rows = list(lines)
    assert header[:2] == ["row", "blocks"] and set(rows[0]) == set(header)
    assert [row["row"] for row in rows] == list(range(len(priced.space)))
    assert {row["separable"] for row in rows} == {"yes", "no"} and rows[0][
        "log10_learning_rate"
    ] == "-5"
    assert sum(row["fits"] == "yes" for row in rows) == priced.fits_limits.sum()


@pytest.mark.parametrize("name", ["compact", "compact-gpu"])
def test_ten_of_the_compact_networks_stay_below_15_mb_at_two_bytes_a_weight(name: str) -> None:
    """The largest that the configuration lets be trained; its start is one of them."""
    settings = load_settings(Path(__file__).parents[3] / "configs" / f"{name}.yaml")
    training, search = settings.training, settings.search
    space = Space(
        order_axes([Axis.of(axis, levels) for axis, levels in search.model_dump()["space"].items()])
    )
    priced = predict_prices(
        space,
        classes=7,
        head=training.head,
        inputs=training.inputs,
        keeps_average=training.averaging > 0,
        work=Work(training.slices_per_epoch, training.validation_slices, training.epochs),
        speed=DeviceSpeed(**search.speed.model_dump()),
        limits=Limits(search.memory_limit_gb * 1e9, search.seconds_limit),
    )
    assert settings.ensemble.members == 10
    assert 10 * 2 * priced.cost.weight_count[priced.fits_limits].max() < 15e6
    assert priced.fits_limits[space.row_of(search.start)] and priced.fits_limits.mean() > 0.5
