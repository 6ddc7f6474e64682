"""A share's interval holds the truth, however alike the slices of a person are."""

from __future__ import annotations

import numpy as np
import pytest

from fovnet.bench.shares import PersonTally, share_of
from fovnet.maths.intervals import wilson_interval


def test_intervals_hold_the_truth_in_most_studies_though_slices_of_a_person_are_alike() -> None:
    """30 people of 25 slices each, correlated by 0.3 within one: counted as 750 independent slices they would
    hold it in about half."""
    rng, held_count, naive_count, study_count, truth = np.random.default_rng(0), 0, 0, 150, 0.2
    for _ in range(study_count):
        shares = rng.beta(truth * 7 / 3, (1 - truth) * 7 / 3, 30)  # of correlation 1 / (1 + 7/3)
        row = share_of(
            "x", {str(who): (int(rng.binomial(25, share)), 25) for who, share in enumerate(shares)}
        )
        held_count += row["low"] <= truth <= row["high"]
        low, high = wilson_interval(row["count"], row["of"])
        naive_count += low <= truth <= high
    assert held_count / study_count >= 0.9 and naive_count / study_count < 0.65


def test_a_share_is_that_of_all_that_was_counted_and_none_of_nothing_has_none() -> None:
    tally = PersonTally()
    tally.add("seen", "anna", True)
    tally.add("seen", "anna", 2, 5)
    tally.add("seen", "bert", False)
    row = tally.share("seen")
    assert (row["count"], row["of"], row["share"]) == (3, 7, pytest.approx(3 / 7)) and row[
        "low"
    ] < 3 / 7 < row["high"]
    nobody = tally.share("never")
    assert (nobody["of"], nobody["share"], nobody["low"]) == (0, None, None)


def test_of_people_without_a_single_case_the_interval_is_that_of_as_many_trials() -> None:
    """Nothing seen in ten people of a hundred slices is not nothing seen in a thousand."""
    row = share_of("x", {str(who): (0, 100) for who in range(10)})
    assert (row["low"], row["high"]) == pytest.approx(wilson_interval(0, 10))
