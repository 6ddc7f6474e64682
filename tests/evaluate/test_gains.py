"""What is gained is counted by hand on planted errors."""

from __future__ import annotations

from types import ModuleType

import pytest

from fovnet.evaluate.gains import SLICES_WRONG, Gain, gain_rows, measure_gains
from fovnet.evaluate.tallies import Tally, count_case
from fovnet.regions import DEFAULT

TRUTH = ["legs"] * 4 + ["pelvis"] * 6


def tallies(planted: ModuleType, legs: list[int]) -> list[Tally]:
    """A volume a subject, of which so many slices of pelvis are called legs."""
    return [
        count_case(
            planted.case(
                TRUTH, ["legs"] * (4 + wrong) + ["pelvis"] * (6 - wrong), volume_id=f"v{number}"
            ),
            DEFAULT,
        )
        for number, wrong in enumerate(legs)
    ]


def found(
    planted: ModuleType, before: list[int], after: list[int]
) -> dict[tuple[str, str, str], Gain]:
    kinds = ["axial" if number % 2 else "coronal" for number in range(len(before))]
    made = measure_gains(
        tallies(planted, before), tallies(planted, after), DEFAULT, seed=1, kinds=kinds
    )
    return {(one.measure, one.region, one.kind): one for one in made}


def test_slices_wrong_are_those_counted_by_hand_in_all_by_region_and_by_kind(
    planted: ModuleType,
) -> None:
    changed = found(planted, [2, 2, 0, 1, 1, 3], [1, 0, 0, 1, 0, 0])
    every, pelvis, legs, axial = (
        changed[SLICES_WRONG, region, kind]
        for region, kind in (("", ""), ("pelvis", ""), ("legs", ""), ("", "axial"))
    )
    assert every.difference.first == pytest.approx(9 / 60)
    assert every.difference.second == pytest.approx(2 / 60) and every.of_after == 60
    assert pelvis.difference.difference == pytest.approx(-7 / 36) and pelvis.of_before == 36
    assert legs.difference.difference == 0 and legs.difference.low is None
    assert axial.difference.first == pytest.approx(6 / 30) and axial.of_before == 30


def test_the_interval_leaves_out_nothing_gained_where_every_subject_gained(
    planted: ModuleType,
) -> None:
    one = found(planted, [2, 3, 4, 3, 2, 5], [1, 1, 2, 2, 0, 2])[SLICES_WRONG, "", ""].difference
    assert one.low is not None and one.high is not None
    assert one.low < one.difference < one.high < 0 and one.subjects == 6


def test_networks_that_answer_the_same_have_gained_nothing(planted: ModuleType) -> None:
    changed = found(planted, [1, 2, 0, 0, 1], [1, 2, 0, 0, 1])
    assert all(
        one.difference.difference == 0 and one.difference.low is None for one in changed.values()
    )
    row, *_ = gain_rows("users", list(changed.values()))
    assert row["on"] == "users" and row["before"] == row["after"] == pytest.approx(4 / 50)
