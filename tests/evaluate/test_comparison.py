"""Two runs on the same volumes: differences with paired intervals, and what is no comparison."""

from dataclasses import replace

import numpy as np
import pytest

from fovnet.errors import CollectionError
from fovnet.evaluate.comparison import compare_evaluations, find_better_run, write_comparison
from fovnet.evaluate.evaluation import evaluate
from fovnet.evaluate.paired import COUNTS_BY_MEASURE, HIGHER_IS_BETTER, Difference
from fovnet.evaluate.writing import write_evaluation
from fovnet.records import read_json, read_tsv
from fovnet.regions import DEFAULT


def written(cases, folder):
    write_evaluation(folder, evaluate(cases, DEFAULT, bootstrap=50, seed=0))
    return folder


@pytest.fixture(scope="module")
def runs(planted, tmp_path_factory):
    """Twelve subjects, hard ones and easy ones; the second run errs in one slice less of every volume but
    one, where in two more."""
    folder = tmp_path_factory.mktemp("runs")
    rng = np.random.default_rng(0)
    first, second = [], []
    for number in range(24):
        wrong = int(rng.integers(3, 14))
        for run, errs in ((first, wrong), (second, wrong + (2 if number == 5 else -1))):
            predicted = ["chest"] * (10 + errs) + ["head"] * (30 - errs)
            run.append(
                planted.case(
                    ["chest"] * 10 + ["head"] * 30,
                    predicted,
                    volume_id=f"v{number:02d}",
                    subject_id=f"p{number // 2}",
                )
            )
    return written(first, folder / "first" / "evaluation"), written(second, folder / "second")


@pytest.fixture(scope="module")
def found(runs):
    return compare_evaluations(runs[0].parent, runs[1], bootstrap=500, seed=3)


def by_name(found):
    return {(one.measure, one.stage): one for one in found.differences}


def test_differences_are_those_of_the_two_evaluations(found, runs):
    stored = [read_json(folder / "evaluation.json")["groups"][0]["measures"] for folder in runs]
    for one in found.differences:
        first, second = (
            next(
                m["value"]
                for m in measures
                if (m["name"], m["stage"]) == (one.measure, one.stage)
                and m["region"] in ("", "regions")
            )
            for measures in stored
        )
        assert (one.first, one.second, one.difference) == pytest.approx(
            (first, second, second - first)
        )
        assert one.low is None or one.low <= one.difference <= one.high
    assert {"slice_error", "span_f1", "exact_set", "border_abs_median_mm"} <= {
        one.measure for one in found.differences
    }


def test_borders_too_low_are_as_far_off_as_those_too_high_and_who_shows_none_does_not_count(
    planted, tmp_path
):
    """Seven people: three show one region alone, and of one the border is missed.  Either run has the figures
    of its own evaluation."""
    folders = []
    for run, offs in (("first", (-3, -1, 3, 9)), ("second", (-4, -2, 2, 9))):
        cases = [
            planted.case(
                ["chest"] * 9 + ["head"] * 9,
                ["chest"] * (9 + off) + ["head"] * (9 - off),
                volume_id=f"b{number}",
            )
            for number, off in enumerate(offs)
        ]
        cases += [
            planted.case(["head"] * 9, ["head"] * 8 + ["none"], volume_id=f"h{number}")
            for number in range(3)
        ]
        folders.append(written(cases, tmp_path / run))
    compared = by_name(compare_evaluations(*folders, bootstrap=100))
    stored = [read_json(folder / "evaluation.json")["groups"][0]["measures"] for folder in folders]
    for name in (
        "border_within_10_mm",
        "border_missed",
        "border_abs_mean_mm",
        "border_abs_median_mm",
    ):
        ours, theirs = (
            next(one for one in run if (one["name"], one["region"]) == (name, "regions"))
            for run in stored
        )
        one = compared[name, "decided"]
        assert (one.first, one.second, one.subjects) == pytest.approx(
            (ours["value"], theirs["value"], ours["subjects"])
        )
        assert one.subjects <= 4 and one.low is None
    assert (
        compared["border_within_10_mm", "decided"].first,
        compared["border_missed", "decided"].first,
    ) == (
        0.25,
        0.25,
    )
    assert compared["slice_error", "decided"].subjects == 7


def test_a_volume_that_is_hard_for_both_widens_nothing(found, runs):
    """The second is surely better, though the intervals of the two overlap for the most part."""
    error = by_name(found)["slice_error", "decided"]
    assert (
        error.high < 0
        and find_better_run(error) == "second"
        and (found.better, found.worse) == (23, 1)
    )
    stored = [read_json(folder / "evaluation.json")["groups"][0]["measures"] for folder in runs]
    alone = [
        next(one for one in measures if (one["name"], one["stage"]) == ("slice_error", "decided"))
        for measures in stored
    ]
    assert alone[1]["high"] > alone[0]["low"] and error.high - error.low < 0.25 * (
        alone[0]["high"] - alone[0]["low"]
    )


def test_the_interval_of_a_median_lies_on_the_side_of_its_difference(planted, tmp_path):
    folders = []
    for run, offs in (
        ("first", [4 + n % 5 for n in range(12)]),
        ("second", [1 + n % 3 for n in range(12)]),
    ):
        cases = [
            planted.case(
                ["chest"] * 9 + ["head"] * 9,
                ["chest"] * (9 + off) + ["head"] * (9 - off),
                volume_id=f"b{number:02}",
            )
            for number, off in enumerate(offs)
        ]
        folders.append(written(cases, tmp_path / run))
    median = by_name(compare_evaluations(*folders, bootstrap=200))[
        "border_abs_median_mm", "decided"
    ]
    assert (
        median.low <= median.difference <= median.high < 0 and find_better_run(median) == "second"
    )


def test_the_other_way_round_everything_changes_its_sign(found, runs):
    turned = by_name(compare_evaluations(runs[1], runs[0].parent, bootstrap=500, seed=3))
    for key, one in by_name(found).items():
        assert turned[key].difference == pytest.approx(-one.difference)
        if one.low is not None:
            assert (turned[key].low, turned[key].high) == pytest.approx((-one.high, -one.low))


def test_a_run_beside_itself_differs_in_nothing(runs):
    assert {
        one.interval for one in compare_evaluations(runs[0], runs[0], bootstrap=100).differences
    } == {"no volume differs"}


def test_tables_hold_it_all(found, tmp_path):
    write_comparison(tmp_path, found)
    rows = read_tsv(tmp_path / "comparison.tsv")
    assert (
        len(rows)
        == len(found.differences)
        == len(read_json(tmp_path / "comparison.json")["differences"])
    )
    assert (
        next(
            row["better"]
            for row in rows
            if (row["measure"], row["stage"]) == ("slice_error", "decided")
        )
        == "second"
    )


class TestWhatIsNoComparison:
    @pytest.fixture
    def base(self, planted):
        return [
            planted.case(
                ["chest", "chest", "head"], volume_id=f"v{number}", subject_id=f"p{number}"
            )
            for number in range(3)
        ]

    def refused(self, base, others, tmp_path):
        with pytest.raises(CollectionError) as stop:
            compare_evaluations(written(base, tmp_path / "a"), written(others, tmp_path / "b"))
        return stop.value.code

    def test_other_volumes(self, base, planted, tmp_path):
        assert self.refused(base, base[:2], tmp_path) == "compare-volumes"
        assert (
            self.refused(
                base,
                [*base[:2], planted.refused("v2", "v2.nii: empty.", subject_id="p2")],
                tmp_path,
            )
            == "compare-volumes"
        )

    def test_another_truth_of_one_volume(self, base, planted, tmp_path):
        moved = planted.case(["chest", "head", "head"], volume_id="v2", subject_id="p2")
        assert self.refused(base, [*base[:2], moved], tmp_path) == "compare-truth"

    def test_the_same_labels_at_other_heights(self, base, tmp_path):
        lifted = replace(base[2], z_mm=base[2].z_mm + 0.5)
        assert self.refused(base, [*base[:2], lifted], tmp_path) == "compare-truth"

    def test_a_spine_beside_the_same_chest_in_another_slice(self, planted, tmp_path):
        """The same regions, as many slices, and no border of the chain moved."""
        low, high = ["spine+chest", "chest"], ["chest", "spine+chest"]
        here, there = (
            [planted.case(truth, volume_id="v", subject_id="p")] for truth in (low, high)
        )
        assert self.refused(here, there, tmp_path) == "compare-truth"

    def test_volumes_of_other_subjects(self, base, tmp_path):
        assert (
            self.refused(base, [*base[:2], replace(base[2], subject_id="p0")], tmp_path)
            == "compare-subjects"
        )

    def test_no_evaluation_at_all(self, base, tmp_path):
        with pytest.raises(CollectionError, match="compare-missing"):
            compare_evaluations(written(base, tmp_path / "a"), tmp_path / "nowhere")


@pytest.mark.parametrize(("measure", "stage"), COUNTS_BY_MEASURE)
def test_more_of_what_is_good_and_less_of_what_is_bad_is_better(measure, stage):
    """Errors and misses are good where they are few, agreement where there is much of it."""
    good = measure in ("span_f1", "exact_set", "border_within_10_mm")
    more = Difference(
        measure, stage, 0.5, 0.7, 0.2, 0.1, 0.3, "", 9, measure not in HIGHER_IS_BETTER
    )
    less = replace(more, second=0.3, difference=-0.2, low=-0.3, high=-0.1)
    assert (find_better_run(more), find_better_run(less)) == (
        ("second", "first") if good else ("first", "second")
    )
    assert (
        find_better_run(replace(more, low=-0.1))
        == find_better_run(replace(less, high=0.1))
        == find_better_run(replace(more, low=None, high=None))
        == ""
    )
    # 0 is not left out
    assert find_better_run(replace(more, low=0.0)) == find_better_run(replace(less, high=0.0)) == ""
