"""Slice measures of volumes without double labels are scikit-learn's; intervals follow the stated rules."""

from dataclasses import replace

import numpy as np
import pytest
from scipy import stats
from scipy.stats import binomtest
from sklearn.metrics import (
    balanced_accuracy_score,
    brier_score_loss,
    confusion_matrix,
    f1_score,
    log_loss,
    multilabel_confusion_matrix,
    precision_recall_fscore_support,
    roc_auc_score,
)

from fovnet.evaluate.calibration import LEAST_PROBABILITY
from fovnet.evaluate.evaluation import evaluate
from fovnet.evaluate.measures import Resampling
from fovnet.maths.intervals import cluster_weights
from fovnet.maths.smoothing import temper
from fovnet.regions import DEFAULT

CLASSES = DEFAULT.classes


@pytest.fixture(scope="module")
def cases(planted):
    """Whole bodies whose slices carry one class each."""
    rng = np.random.default_rng(5)
    return [
        planted.whole_body(
            rng, f"b{number}", subject_id=f"p{number * 3 // 4}", shift=2, flicker=0.2
        )
        for number in range(8)
    ]


@pytest.fixture(scope="module")
def evaluation(cases):
    return evaluate(cases, DEFAULT, bootstrap=100, seed=1)


def flat(cases, stage):
    truth = np.concatenate([case.truth.argmax(1) for case in cases])
    field = "decided_labels" if stage == "decided" else f"{stage}_probabilities"
    return truth, np.concatenate([getattr(case, field).argmax(1) for case in cases])


@pytest.mark.parametrize("stage", ["raw", "smoothed", "decided"])
class TestEachStage:
    def test_confusion_matrix(self, cases, evaluation, stage):
        assert (
            evaluation.confusions[stage]
            == confusion_matrix(*flat(cases, stage), labels=range(len(CLASSES)))
        ).all()

    def test_sensitivity_ppv_and_f1_of_every_class(self, cases, evaluation, stage):
        theirs = precision_recall_fscore_support(
            *flat(cases, stage), labels=range(len(CLASSES)), zero_division=np.nan
        )
        for name, column in (("ppv", 0), ("sensitivity", 1), ("f1", 2)):
            for index, region in enumerate(CLASSES):
                ours = evaluation.everything.find(name, stage, region).value
                assert (ours is None and np.isnan(theirs[column][index])) or ours == pytest.approx(
                    theirs[column][index]
                )

    def test_specificity_of_every_class(self, cases, evaluation, stage):
        tables = multilabel_confusion_matrix(*flat(cases, stage), labels=range(len(CLASSES)))
        for region, ((negative, false), _) in zip(CLASSES, tables, strict=True):
            ours = evaluation.everything.find("specificity", stage, region)
            assert (ours.numerator, ours.denominator) == (negative, negative + false)

    @pytest.mark.filterwarnings("ignore:y_pred contains classes not in y_true")
    def test_balanced_accuracy_and_error(self, cases, evaluation, stage):
        truth, predicted = flat(cases, stage)
        assert evaluation.everything.find("balanced_accuracy", stage).value == pytest.approx(
            balanced_accuracy_score(truth, predicted)
        )
        error = evaluation.everything.find("slice_error", stage)
        assert error.numerator == (truth != predicted).sum() and error.denominator == len(truth)
        assert error.low < error.value < error.high


def test_confidence_stated_of_a_class_is_the_mean_over_the_slices_called_it(cases, evaluation):
    predicted, sure = (
        flat(cases, "decided")[1],
        np.concatenate([case.slice_confidence for case in cases]),
    )
    for index, region in enumerate(CLASSES):
        ours = evaluation.everything.find("stated_confidence", "decided", region)
        assert ours.denominator == (predicted == index).sum()
        assert ours.value is None or ours.value == pytest.approx(sure[predicted == index].mean())
        assert ours.value is None or ours.low is None or ours.low <= ours.value <= ours.high <= 1.0


@pytest.mark.parametrize("stage", ["raw", "smoothed"])
def test_areas_under_the_curve_of_every_class(cases, evaluation, stage):
    truth = np.concatenate([case.truth for case in cases])
    scores = np.concatenate([getattr(case, f"{stage}_probabilities") for case in cases])
    for index, region in enumerate(CLASSES):
        ours = evaluation.everything.find("auroc", stage, region)
        if truth[:, index].any():
            assert ours.value == pytest.approx(roc_auc_score(truth[:, index], scores[:, index]))
            assert ours.denominator == truth[:, index].sum() and ours.low <= ours.value <= ours.high
        else:
            assert ours.value is None and ours.low is None


def test_a_slice_of_two_classes_is_a_positive_of_both_areas(planted):
    """Two slices of spine and chest against a head: scikit-learn on the columns of labels, as one against the
    rest."""
    case = planted.case(
        ["spine+chest", "spine+chest", "head", "chest"], raw=["spine", "chest", "head", "head"]
    )
    whole = evaluate([case], DEFAULT, bootstrap=20, seed=0).everything
    for region in ("spine", "chest", "head"):
        index = CLASSES.index(region)
        assert whole.find("auroc", "raw", region).value == pytest.approx(
            roc_auc_score(case.truth[:, index], case.raw_probabilities[:, index])
        )


@pytest.mark.parametrize("stage", ["raw", "calibrated", "smoothed"])
def test_negative_log_likelihood_before_and_after(cases, stage):
    calibrated = [
        replace(case, calibrated_probabilities=temper(case.raw_probabilities, 1.4))
        for case in cases
    ]
    whole = evaluate(calibrated, DEFAULT, bootstrap=20, seed=0)
    truth = np.concatenate([case.truth.argmax(1) for case in calibrated])
    p = np.clip(
        np.concatenate([getattr(case, f"{stage}_probabilities") for case in calibrated]),
        LEAST_PROBABILITY,
        None,
    )
    theirs = log_loss(truth, p / p.sum(1, keepdims=True), labels=range(len(CLASSES)))
    assert whole.everything.find("log_loss_nats", stage).value == pytest.approx(theirs, rel=1e-4)
    assert set(whole.reliability) == {"raw", "calibrated", "smoothed", "decided"}
    assert all(totals[:, 0].sum() == len(truth) for totals in whole.reliability.values())


def test_planted_miscalibration_is_found_and_mended(planted):
    """Answers right three times in five at a stated 0.95: the error is 0.35 before, and none at the
    temperature that undoes it."""
    predicted = ["head"] * 6 + ["chest"] * 4
    raw = planted.probabilities(planted.labels(predicted), 0.95)
    mended = planted.probabilities(planted.labels(predicted), 0.6)
    cases = [
        replace(
            planted.case(["head"] * 10, predicted, volume_id=f"v{number}"),
            raw_probabilities=raw,
            calibrated_probabilities=mended,
        )
        for number in range(4)
    ]
    whole = evaluate(cases, DEFAULT, bootstrap=50, seed=0).everything
    errors = [
        whole.find("expected_calibration_error", stage).value for stage in ("raw", "calibrated")
    ]
    assert errors == pytest.approx([0.35, 0.0])


def test_the_error_of_slices_of_one_class_leaves_out_those_of_two(planted):
    """Spine beside chest, each at one half, is right by design; the others are right four times in five at a
    stated 0.8."""
    both = planted.case(["spine+chest"] * 10, raw=["spine+chest"] * 10, volume_id="both")
    plain = planted.case(["head"] * 10, ["head"] * 8 + ["chest"] * 2, volume_id="plain")
    whole = evaluate([both, plain], DEFAULT, bootstrap=50, seed=0).everything
    one, every = (
        whole.find(f"expected_calibration_error{name}", "raw") for name in ("_one_class", "")
    )
    assert (one.value, one.denominator) == (pytest.approx(0.0, abs=1e-9), 10)
    # half of the slices: confidence 0.4, always right
    assert (every.value, every.denominator) == (pytest.approx(0.3), 20)


def test_brier_score_of_the_smoothed_probabilities(cases, evaluation):
    truth = np.concatenate([case.truth.argmax(1) for case in cases])
    smoothed = np.concatenate([case.smoothed_probabilities for case in cases])
    theirs = brier_score_loss(truth, smoothed, labels=range(len(CLASSES)), scale_by_half=False)
    assert evaluation.everything.find("brier", "smoothed").value == pytest.approx(theirs)


def test_presence_of_regions_in_volumes(planted):
    cases = [
        planted.case(["legs", "pelvis"], ["legs", "pelvis"], volume_id="a"),
        planted.case(["legs", "pelvis"], ["legs", "legs"], volume_id="b"),
        planted.case(["head", "head"], ["head", "chest"], volume_id="c"),
        planted.case(["none", "none"], ["none", "head"], volume_id="d"),
    ]
    whole = evaluate(cases, DEFAULT, bootstrap=50, seed=0).everything
    true = np.stack([case.truth[:, :-1].any(0) for case in cases])
    predicted = np.stack([case.decided_labels[:, :-1].any(0) for case in cases])
    theirs = f1_score(true, predicted, average="weighted", zero_division=0.0)
    assert whole.find("presence_f1_weighted", "decided").value == pytest.approx(theirs)
    for index, region in enumerate(CLASSES[:-1]):
        ours = whole.find("presence_f1", "decided", region)
        if ours.value is not None:
            assert ours.value == pytest.approx(f1_score(true[:, index], predicted[:, index]))
    assert (
        whole.find("exact_set", "decided").numerator,
        whole.find("exact_set", "decided").denominator,
    ) == (
        1,
        4,
    )


class TestTheRuleOfIntervals:
    def test_one_volume_a_subject_is_an_independent_count(self, planted):
        cases = [
            planted.case(["head"], ["head" if number else "chest"], volume_id=f"v{number}")
            for number in range(9)
        ]
        exact = evaluate(cases, DEFAULT, bootstrap=50, seed=0).everything.find(
            "exact_set", "decided"
        )
        theirs = binomtest(8, 9).proportion_ci(method="wilson")
        assert exact.interval == "wilson" and (exact.low, exact.high) == pytest.approx(
            (theirs.low, theirs.high)
        )

    def test_a_perfect_rate_claims_no_more_than_its_subjects_can_bear(self, planted):
        cases = [planted.case(["head"] * 50, volume_id=f"v{number}") for number in range(5)]
        error = evaluate(cases, DEFAULT, bootstrap=50, seed=0).everything.find(
            "slice_error", "decided"
        )
        theirs = binomtest(0, 5).proportion_ci(method="wilson")
        assert error.interval == "wilson over subjects" and error.high == pytest.approx(theirs.high)

    def test_one_subject_has_values_and_no_intervals(self, planted):
        cases = [
            planted.case(["legs", "pelvis"], ["legs", "legs"], volume_id=name, subject_id="one")
            for name in "ab"
        ]
        measures = evaluate(cases, DEFAULT, bootstrap=50, seed=0).everything.measures
        assert all(
            one.low is None and one.high is None and one.interval == "not estimable"
            for one in measures
        )
        assert any(one.value is not None for one in measures)

    def test_slices_of_one_subject_travel_together(self, planted):
        """Ten subjects, half of them all wrong: the interval is that of ten coins, however many slices each
        has."""
        ends = []
        for slices in (2, 40):
            predicted = [["head" if number % 2 else "chest"] * slices for number in range(10)]
            cases = [
                planted.case(["head"] * slices, one, volume_id=f"v{number}")
                for number, one in enumerate(predicted)
            ]
            error = evaluate(cases, DEFAULT, bootstrap=2000, seed=0).everything.find(
                "slice_error", "decided"
            )
            assert error.interval == "bootstrap-t"
            ends.append((error.low, error.high))
        assert ends[0] == pytest.approx(ends[1]) and ends[0][0] == pytest.approx(
            1 - ends[0][1], abs=0.02
        )
        theirs = binomtest(5, 10).proportion_ci(method="exact")
        assert ends[0] == pytest.approx((theirs.low, theirs.high), abs=0.08)

    def test_subjects_that_err_alike_have_the_interval_of_so_many_coins(self, planted):
        """Ten subjects with one of five slices wrong each: ten observations, not fifty."""
        predicted = ["head"] * 4 + ["chest"]
        cases = [
            planted.case(["head"] * 5, predicted, volume_id=f"v{number}") for number in range(10)
        ]
        error = evaluate(cases, DEFAULT, bootstrap=50, seed=0).everything.find(
            "slice_error", "decided"
        )
        theirs = binomtest(2, 10).proportion_ci(method="wilson")
        assert error.interval == "wilson over subjects" and (
            error.low,
            error.high,
        ) == pytest.approx((theirs.low, theirs.high))

    @pytest.mark.parametrize("people", [2, 4, 5])
    def test_of_fewer_than_five_people_no_resample_is_believed(self, planted, people):
        """One, two, ... of ten slices wrong: four people have 35 different resamples."""
        cases = [
            planted.case(
                ["head"] * 10, ["chest"] * number + ["head"] * (10 - number), volume_id=f"v{number}"
            )
            for number in range(1, people + 1)
        ]
        error = evaluate(cases, DEFAULT, bootstrap=50, seed=0).everything.find(
            "slice_error", "decided"
        )
        assert (error.interval, error.low is None) == (
            ("bootstrap-t", False) if people == 5 else ("not estimable", True)
        )

    @pytest.mark.parametrize("subjects", [6, 20])
    def test_percentiles_of_few_subjects_are_students(self, subjects):
        """Hesterberg (2015): at the level whose normal quantile is Student's, larger by the root of n / (n -
        1)."""
        values, own = np.random.default_rng(0).normal(size=subjects), np.arange(subjects)
        draws = Resampling([f"s{number:02}" for number in own], repeats=400, seed=3)
        wide = np.sqrt(subjects / (subjects - 1)) * stats.t.ppf(0.975, subjects - 1)
        shares = stats.norm.cdf([-wide, wide])
        often = cluster_weights(subjects, 400, 3).astype(int)
        medians = [np.median(np.repeat(values, counts)) for counts in often]
        found = draws.measure_quantile("some_median_mm", values, own, 0.5)
        assert (found.low, found.high) == pytest.approx(np.quantile(medians, shares))
        shown = np.clip(0.5 + values / 10, 0.01, 0.99)
        weighed = draws.measure_share(
            "some_share", lambda weights: weights @ shown / weights.sum(axis=1)
        )
        assert (weighed.low, weighed.high) == pytest.approx(
            np.quantile(often @ shown / subjects, shares)
        )


def test_twenty_bodies_give_a_wide_interval_of_the_worst_in_twenty():
    """Woodruff (1952): where the limit lies beyond the sample there is none; of 400 bodies there is one, of
    ranks and not of resamples."""
    values = np.random.default_rng(0).exponential(size=400)
    for people, how in ((20, "not estimable"), (400, "order statistics")):
        draws = Resampling([f"s{number:03}" for number in range(people)], repeats=200, seed=3)
        found = draws.measure_quantile("some_p95_mm", values[:people], np.arange(people), 0.95)
        assert (found.interval, found.low is None) == (how, people == 20)
        assert found.low is None or found.low < found.value < found.high


def test_where_all_borders_are_equally_far_off_their_median_is_no_surer_for_it():
    draws = Resampling([f"s{number}" for number in range(9)], repeats=200, seed=3)
    found = draws.measure_quantile("some_median_mm", np.full(9, 5.0), np.arange(9), 0.5)
    assert (found.value, found.low, found.high, found.interval) == (
        5.0,
        None,
        None,
        "not estimable",
    )


def test_the_order_of_cases_changes_nothing(cases):
    assert (
        evaluate(cases, DEFAULT, bootstrap=50, seed=1).groups
        == evaluate(cases[::-1], DEFAULT, bootstrap=50, seed=1).groups
    )
