"""Borders between regions: where they lie, how far off they are predicted, which are missed and which
invented."""

from dataclasses import replace
from itertools import permutations

import numpy as np
import pytest
from hypothesis import given
from hypothesis.strategies import integers, lists

from fovnet.evaluate.borders import Border, _pair_heights, borders_of
from fovnet.evaluate.cases import DecidedBorder
from fovnet.evaluate.evaluation import evaluate
from fovnet.evaluate.groups import REGION_BORDERS
from fovnet.regions import DEFAULT


def test_a_border_predicted_two_slices_too_high_is_off_by_two_spacings(planted):
    case = planted.case(
        ["legs"] * 5 + ["pelvis"] * 5, ["legs"] * 7 + ["pelvis"] * 3, spacing_mm=4.0
    )
    (border,) = borders_of(case, DEFAULT)
    assert (border.kind, border.true_mm, border.predicted_mm, border.error_mm) == (
        "legs|pelvis",
        18.0,
        26.0,
        8.0,
    )


def test_a_border_lies_where_slices_meet_also_where_they_are_not_equally_high(planted):
    """The last cut of a stack stands for what is left over: its lower edge is not halfway to its middle."""
    case = replace(
        planted.case(["legs", "legs", "pelvis"], spacing_mm=6.0),
        z_mm=np.array([0.0, 6.0, 14.0]),
        edges_mm=np.array([-3.0, 3.0, 9.0, 19.0]),
    )
    (border,) = borders_of(case, DEFAULT)
    assert border.true_mm == border.predicted_mm == 9.0
    (halfway,) = borders_of(replace(case, edges_mm=None), DEFAULT)
    assert halfway.true_mm == 10.0


def test_a_region_never_predicted_leaves_missed_and_invented_borders(planted):
    case = planted.case(["legs", "pelvis", "abdomen"], ["legs", "legs", "abdomen"])
    found = {
        border.kind: (border.true_mm, border.predicted_mm) for border in borders_of(case, DEFAULT)
    }
    assert found == {
        "legs|pelvis": (2.5, None),
        "pelvis|abdomen": (7.5, None),
        "legs|abdomen": (None, 7.5),
    }


def test_the_end_of_the_body_is_a_border_of_its_own_kind(planted):
    (border,) = borders_of(
        planted.case(["head", "head", "none"], ["head", "none", "none"]), DEFAULT
    )
    assert border.is_end and border.error_mm == -5.0


def test_a_spine_volume_without_chain_labels_judges_no_border(planted):
    case = planted.case(["spine"] * 4, ["spine+abdomen"] * 2 + ["spine+chest"] * 2)
    assert borders_of(case, DEFAULT) == ()


def test_a_spine_volume_with_chain_labels_does(planted):
    case = planted.case(
        ["spine+abdomen"] * 3 + ["spine+chest"], ["spine+abdomen"] * 2 + ["spine+chest"] * 2
    )
    assert [border.error_mm for border in borders_of(case, DEFAULT)] == [-5.0]


@given(true=lists(integers(0, 100), max_size=4), predicted=lists(integers(0, 100), max_size=4))
def test_pairing_has_the_least_total_distance_of_all_pairings(true, predicted):
    pairs = _pair_heights(
        [float(height) for height in true], [float(height) for height in predicted]
    )
    matched = [(one, other) for one, other in pairs if one is not None and other is not None]
    short, long = sorted((true, predicted), key=len)
    best = min(
        sum(abs(a - b) for a, b in zip(short, order, strict=True))
        for order in permutations(long, len(short))
    )
    assert sum(abs(one - other) for one, other in matched) == best and len(matched) == len(short)
    assert sorted(one for one, _ in pairs if one is not None) == sorted(true)
    assert sorted(other for _, other in pairs if other is not None) == sorted(predicted)


def test_medians_percentiles_and_shares_are_those_of_the_list_of_errors(planted):
    shifts = [0, 1, -1, 2, 3, -4]
    cases = [
        planted.case(
            ["legs"] * 10 + ["pelvis"] * 10,
            ["legs"] * (10 + shift) + ["pelvis"] * (10 - shift),
            volume_id=f"v{shift}",
        )
        for shift in shifts
    ]
    cases.append(planted.case(["legs"] * 5 + ["pelvis"] * 5, ["legs"] * 10, volume_id="missed"))
    whole = evaluate(cases, DEFAULT, bootstrap=100, seed=0).everything
    errors = 5.0 * np.array(shifts)
    for name, value in (
        ("border_signed_median_mm", np.median(errors)),
        ("border_abs_median_mm", np.median(abs(errors))),
        ("border_abs_p95_mm", np.quantile(abs(errors), 0.95)),
        ("border_abs_mean_mm", np.abs(errors).mean()),
    ):
        assert whole.find(name, "decided", "regions").value == pytest.approx(value)
    within, missed = (
        whole.find(name, "decided", "legs|pelvis")
        for name in ("border_within_10_mm", "border_missed")
    )
    # 0, 5, -5 and 10 mm; the missed one is not within
    assert (within.numerator, within.denominator) == (4, 7)
    assert (missed.numerator, missed.denominator) == (1, 7)
    assert whole.find("border_invented", "decided", "regions").numerator == 0


class TestIntervals:
    """The 90 % interval that a decision gives each border, held against the true height."""

    def whole(self, planted, ends):
        """Four volumes whose border is truly at 22.5 mm and predicted at 27.5, with these intervals."""
        cases = []
        for number, (low, high) in enumerate(ends):
            case = planted.case(
                ["legs"] * 5 + ["pelvis"] * 5, ["legs"] * 6 + ["pelvis"] * 4, volume_id=f"v{number}"
            )
            cases.append(
                replace(case, decided_borders=(DecidedBorder("legs", "pelvis", 27.5, low, high),))
            )
        return evaluate(cases, DEFAULT, bootstrap=50, seed=0).everything

    def test_they_are_counted_where_they_hold_the_true_height(self, planted):
        held = self.whole(planted, [(20, 30), (22.5, 30), (23, 33), (0, 50)]).find(
            "border_interval_holds", "decided", "regions"
        )
        assert (held.numerator, held.denominator) == (3, 4)

    @pytest.mark.parametrize(
        ("true", "low", "high"), [(0.3, 0.1 + 0.2, 1.0), (0.1 + 0.2, 0.0, 0.3)]
    )
    def test_one_that_ends_at_the_true_height_holds_it_whatever_the_last_digit(
        self, true, low, high
    ):
        """A tenth and two tenths are a little more than three, as floats go."""
        assert Border("v1", "legs", "pelvis", true, 0.5, low, high).is_in_interval

    def test_their_median_width_is_a_measure(self, planted):
        width = self.whole(planted, [(20, 30), (22.5, 30), (23, 33), (0, 50)]).find(
            "border_interval_median_mm", "decided", "legs|pelvis"
        )
        assert width.value == 10.0 and width.denominator == 4

    def test_without_any_there_is_no_measure(self, planted):
        whole = evaluate(
            [planted.case(["legs", "pelvis"])], DEFAULT, bootstrap=20, seed=0
        ).everything
        assert whole.find("border_interval_holds", "decided", "regions") is None

    def test_a_missed_or_an_invented_border_has_none_to_be_judged(self, planted):
        case = planted.case(["legs", "pelvis", "abdomen"], ["legs", "legs", "abdomen"])
        case = replace(case, decided_borders=(DecidedBorder("legs", "abdomen", 7.5, 0.0, 20.0),))
        assert [border.is_in_interval for border in borders_of(case, DEFAULT)] == [None] * 3

    def test_an_edge_that_the_decision_calls_no_border_has_none_and_not_the_next_ones(
        self, planted
    ):
        """A chest is labelled in two stretches; the decision sees a signal void there, and gives an interval
        to its lower end alone."""
        case = planted.case(["none"] * 10 + ["chest"] * 20 + ["none"] * 6 + ["chest"] * 24)
        case = replace(case, decided_borders=(DecidedBorder("none", "chest", 47.5, 38.5, 54.2),))
        begins = [border for border in borders_of(case, DEFAULT) if border.below == "none"]
        assert [(border.predicted_mm, border.is_in_interval) for border in begins] == [
            (47.5, True),
            (177.5, None),
        ]


def test_where_a_spine_without_chain_labels_begins_nothing_of_the_chain_ends(planted):
    """Below it the chain is not labelled: the chest may have gone on, as predicted."""
    case = planted.case(["chest"] * 3 + ["spine"] * 3, ["chest"] * 6)
    assert borders_of(case, DEFAULT) == ()


def test_a_border_ten_millimetres_off_agrees_and_one_a_slice_further_does_not(planted):
    truth = ["legs"] * 6 + ["pelvis"] * 6
    cases = [
        planted.case(truth, ["legs"] * (6 + off) + ["pelvis"] * (6 - off), volume_id=f"v{off}")
        for off in (2, -2, 3)
    ]
    near = evaluate(cases, DEFAULT, bootstrap=50, seed=0).everything.find(
        "border_within_10_mm", "decided", "legs|pelvis"
    )
    assert (near.numerator, near.denominator) == (2, 3)


def test_invented_borders_are_a_share_of_those_predicted(planted):
    """Two predicted, one of them true: half of them are invented, though there is but one to find."""
    cases = [
        planted.case(
            ["legs", "pelvis", "pelvis"], ["legs", "pelvis", "abdomen"], volume_id=f"v{number}"
        )
        for number in range(5)
    ]
    invented = evaluate(cases, DEFAULT, bootstrap=50, seed=0).everything.find(
        "border_invented", "decided", REGION_BORDERS
    )
    assert (invented.numerator, invented.denominator) == (5, 10)
