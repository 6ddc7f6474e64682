"""Simulated studies: their true values are those documented, and the intervals hold them as often as
stated."""

from __future__ import annotations

import os
from pathlib import Path

import numpy as np
import pytest

from fovnet.maths.intervals import cluster_weights
from fovnet.records import read_tsv
from interval_coverage import (
    Coverage,
    Study,
    app,
    coverage,
    intervals_of,
    simulate_study,
    true_values,
)
from tests.typed_words import output_of

TAIL = "95th percentile"


@pytest.fixture(scope="module")
def large() -> Study:
    return simulate_study(np.random.default_rng(0), 30_000, 0.2)


def test_the_true_values_are_what_a_very_large_study_shows(large: Study) -> None:
    slices, wrong, again = (
        counts.sum(axis=0) for counts in (large.slices, large.wrong, large.wrong_in_second)
    )
    higher = np.random.default_rng(1).permutation(large.score[large.positive])[:8000]
    lower = np.random.default_rng(2).permutation(large.score[~large.positive])[:8000]
    seen = {
        "slice error": wrong.sum() / slices.sum(),
        "sensitivity of a class half the bodies show": 1 - wrong[-1] / slices[-1],
        "balanced accuracy": 1 - (wrong / slices).mean(),
        "difference of two runs": (again - wrong).sum() / slices.sum(),
        "difference of two runs, few bodies differ": large.few_differences.mean(),
        "median border error, mm": np.median(np.abs(large.border_mm)),
        "95th percentile of the border error, mm": np.quantile(np.abs(large.border_mm), 0.95),
        "area under the curve": (higher[:, None] > lower).mean(),
    }
    assert seen == pytest.approx(true_values(), rel=0.02, abs=0.005)


def test_slices_of_one_body_are_as_alike_as_was_asked_for(large: Study) -> None:
    """The variance of a body's rate of errors beyond the binomial is correlation · p (1 - p)."""
    slices, wrong = large.slices[:, 0], large.wrong[:, 0]
    share = wrong / slices
    p = 0.05
    extra = share.var() - (p * (1 - p) * (1 - 0.2) / slices).mean()
    assert extra / (p * (1 - p)) == pytest.approx(0.2, abs=0.03)


def test_runs_that_differ_in_slices_differ_as_surely_as_single_slices_would() -> None:
    """Against a list of every slice, whose standard error is that of a mean; gains and losses of one body do
    not cancel."""
    study = simulate_study(np.random.default_rng(4), 200, 0.01)
    change, moved, slices = (
        int(counts.sum())
        for counts in (study.wrong_in_second - study.wrong, study.moved, study.slices)
    )
    each = np.zeros(slices)
    each[: (moved + change) // 2], each[(moved + change) // 2 : moved] = 1, -1
    half = 1.96 * each.std() / np.sqrt(slices)
    low, high = intervals_of(study, cluster_weights(200, 50, 1))["difference of two runs"][
        "every slice a body"
    ]
    assert (low, high) == pytest.approx((each.mean() - half, each.mean() + half), rel=1e-4)
    assert (study.moved >= np.abs(study.wrong_in_second - study.wrong)).all() and (
        study.moved <= study.slices
    ).all()


def used(rows: list[Coverage]) -> list[Coverage]:
    return [row for row in rows if row.used]


def test_intervals_hold_what_they_promise_and_counting_slices_does_not() -> None:
    """150 studies of 30 bodies: of 95 % to be held, chance leaves 89 to 99 %; slice by slice about half
    are."""
    rows = list(coverage([30], studies=150, correlation=0.2, repeats=400, seed=2))
    assert len(used(rows)) == len(true_values())
    for row in used(rows):
        if not row.statistic.startswith(TAIL):
            assert 0.89 <= row.share <= 0.995 and row.undefined == 0, row
    naive = [
        row
        for row in rows
        if row.method == "every slice a body" and not row.statistic.endswith("few bodies differ")
    ]
    assert len(naive) == 3 and all(row.share < 0.75 for row in naive)


def test_a_worst_case_has_the_interval_that_holds_it_or_none() -> None:
    """A resample shows no error beyond the largest seen: its percentiles end below the truth in one study of
    seven."""
    tail_rows = [
        row
        for row in coverage([20, 100], studies=150, correlation=0.2, repeats=200, seed=3)
        if row.statistic.startswith(TAIL)
    ]
    rows = {(row.subjects, row.method): row for row in tail_rows}
    assert rows[20, "widened percentile"].share < 0.91
    few, many = rows[20, "order statistics"], rows[100, "order statistics"]
    assert (
        few.undefined > 100
        and many.undefined < 15
        and many.held / (many.studies - many.undefined) >= 0.89
    )


def test_of_two_runs_that_differ_in_few_bodies_the_bootstrap_t_names_a_winner_too_often() -> None:
    """Under the null each interval leaves out 0 in 5 % of studies at most: that one in about 12 % of studies
    of 50 bodies."""
    coverages = coverage([50], studies=150, correlation=0.2, repeats=300, seed=5)
    rows = {row.method: row for row in coverages if row.statistic.endswith("few bodies differ")}
    assert rows["wider of both"].share >= 0.93 > rows["bootstrap-t"].share


def test_a_simulation_is_its_seed() -> None:
    first, again, other = (
        list(coverage([10], studies=20, correlation=0.1, repeats=100, seed=seed))
        for seed in (1, 1, 2)
    )
    assert first == again and first != other


@pytest.mark.skipif(
    "FOVNET_COVERAGE" not in os.environ,
    reason="a thousand studies of each size take two minutes; set FOVNET_COVERAGE",
)
@pytest.mark.parametrize("correlation", [0.05, 0.2])
def test_of_a_thousand_studies_93_to_97_in_a_hundred_are_held(correlation: float) -> None:
    """With 20 to 100 bodies; exceptions: an area under the curve with 20, at 92 to 93 %, and differences,
    held by more."""
    for row in used(
        list(
            coverage([20, 30, 50, 100], studies=1000, correlation=correlation, repeats=1000, seed=1)
        )
    ):
        if row.statistic.startswith(TAIL):
            assert row.held >= 0.89 * (row.studies - row.undefined), row
            continue
        least = 0.91 if (row.statistic, row.subjects) == ("area under the curve", 20) else 0.93
        assert least <= row.share <= (0.995 if row.statistic.startswith("difference") else 0.97), (
            row
        )


def test_the_command_tells_how_often_the_truth_is_held(tmp_path: Path) -> None:
    few = ("--studies", "30", "--subjects", "12", "--bootstrap", "200")
    output = output_of(app, "--out", tmp_path / "held.tsv", *few)
    rows = read_tsv(tmp_path / "held.tsv")
    assert {"bootstrap-t", "BCa", "percentile", "every slice a body"} <= {
        row["method"] for row in rows
    }
    assert all(int(row["studies"]) == 30 for row in rows) and "slice error" in output
