"""Spans are right where they overlap the true ones by half of what both cover."""

from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given
from hypothesis.strategies import integers, lists, sampled_from

from fovnet.evaluate.overlaps import count_spans
from fovnet.regions import DEFAULT


def looped(case):
    """By sets of slices, for evenly spaced ones: every pair of runs of every region."""

    def runs(column):
        found = np.split(
            np.flatnonzero(column), np.flatnonzero(np.diff(np.flatnonzero(column)) > 1) + 1
        )
        return [set(one.tolist()) for one in found if len(one)]

    right = true = predicted = 0
    for region in range(len(DEFAULT.classes) - 1):
        ours, theirs = runs(case.decided_labels[:, region]), runs(case.truth[:, region])
        true, predicted = true + len(theirs), predicted + len(ours)
        right += sum(
            any(len(one & other) / len(one | other) >= 0.5 for other in theirs) for one in ours
        )
    return right, true, predicted


NAMES = sampled_from(["legs", "pelvis", "head", "none"])


@given(truth=lists(NAMES, min_size=2, max_size=14), seed=integers(0, 99))
def test_counts_are_those_of_a_loop_over_sets_of_slices(planted, truth, seed):
    rng = np.random.default_rng(seed)
    predicted = [
        truth[max(0, min(len(truth) - 1, at + int(rng.integers(-1, 2))))]
        for at in range(len(truth))
    ]
    case = planted.case(truth, predicted)
    assert count_spans(case, DEFAULT) == looped(case)


def test_millimetres_count_and_not_slices(planted):
    """Two slices of three either way: the upper two reach over 60 of 150 mm, the lower two over 140."""
    z_mm = np.array([0.0, 90.0, 100.0])
    upper, lower = (
        replace(planted.case(["head"] * 3, names), z_mm=z_mm)
        for names in (["none", "head", "head"], ["head", "head", "none"])
    )
    assert count_spans(upper, DEFAULT) == (0, 1, 1)
    assert count_spans(lower, DEFAULT) == (1, 1, 1)


@pytest.mark.parametrize("predicted", [["spine"] * 4, ["spine+abdomen"] * 4])
def test_chain_regions_beside_an_unlabelled_chain_are_neither_right_nor_wrong(planted, predicted):
    assert count_spans(planted.case(["spine"] * 4, predicted), DEFAULT) == (1, 1, 1)
