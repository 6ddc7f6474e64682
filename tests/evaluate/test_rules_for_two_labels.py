"""A slice may truly show spine and one chain region; one answer is right when it is among them."""

from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis.strategies import integers

from fovnet.evaluate.answers import volume_outcomes
from fovnet.evaluate.cases import Case
from fovnet.evaluate.evaluation import evaluate
from fovnet.evaluate.slices import (
    are_far_apart,
    confusion_matrix,
    confusion_rows,
    foremost_class,
    has_false_label,
    predicted_classes,
)
from fovnet.evaluate.tallies import count_case
from fovnet.regions import DEFAULT, Region, Vocabulary

CLASSES = DEFAULT.classes


def index(name):
    return CLASSES.index(name)


def test_a_decided_protocol_speaks_before_the_chain_and_the_chain_before_none(planted):
    case = planted.case(["spine+chest", "chest", "none"])
    assert [CLASSES[column] for column in predicted_classes(case, "decided", DEFAULT)] == [
        "spine",
        "chest",
        "none",
    ]


@pytest.mark.parametrize(
    ("predicted", "row"),
    [("spine", "spine"), ("chest", "chest"), ("legs", "spine"), ("none", "spine")],
)
def test_row_is_the_predicted_class_where_true_else_the_protocol(planted, predicted, row):
    truth = planted.labels(["spine+chest"])
    assert confusion_rows(truth, np.array([index(predicted)]), DEFAULT)[0] == index(row)


@given(seed=integers(0, 9999))
@settings(max_examples=50)
def test_diagonal_counts_exactly_the_slices_whose_predicted_class_is_true(seed):
    rng = np.random.default_rng(seed)
    truth = np.zeros((30, len(CLASSES)), dtype=bool)
    truth[np.arange(30), rng.integers(0, len(CLASSES), 30)] = True
    truth[(rng.random(30) < 0.3) & ~truth[:, -1], index("spine")] = True
    predicted = rng.integers(0, len(CLASSES), 30)
    matrix = confusion_matrix(confusion_rows(truth, predicted, DEFAULT), predicted, len(CLASSES))
    assert matrix.sum() == 30 and np.trace(matrix) == truth[np.arange(30), predicted].sum()


def test_foremost_without_any_label_is_none():
    assert foremost_class(np.zeros((1, len(CLASSES)), dtype=bool), DEFAULT)[0] == len(CLASSES) - 1


def test_regions_that_do_not_touch_are_those_two_rungs_or_more_apart():
    every = np.eye(len(CLASSES), dtype=bool)
    pairs = {
        (true, predicted)
        for true, row in zip(CLASSES, every, strict=True)
        for predicted, far in zip(
            CLASSES, are_far_apart(np.tile(row, (len(CLASSES), 1)), every, DEFAULT), strict=True
        )
        if far
    }
    assert ("pelvis", "head") in pairs and ("legs", "abdomen") in pairs
    assert not any("none" in pair or "spine" in pair for pair in pairs)
    assert not {("legs", "pelvis"), ("chest", "abdomen"), ("head", "head")} & pairs
    # 5 chain regions: 20 ordered pairs, 8 of them neighbours
    assert len(pairs) == 12


def test_a_pelvis_called_head_beside_a_spine_that_is_there_counts_as_far_and_as_untrue(planted):
    """Of the confusion matrix that slice is a right spine: two volumes of 480 hid so."""
    expected = {
        ("spine+pelvis", "spine+head"): (0, 1, 1),
        ("spine+pelvis", "spine+abdomen"): (0, 0, 1),
        ("spine+pelvis", "spine"): (0, 0, 0),
        ("spine+pelvis", "pelvis"): (0, 0, 0),
        ("spine", "spine+head"): (0, 0, 0),
        ("spine", "head"): (1, 0, 1),
        ("pelvis", "head"): (1, 1, 1),
        ("pelvis", "spine+pelvis"): (1, 0, 1),
        ("none", "head"): (1, 0, 1),
        ("head", "none"): (1, 0, 1),
    }
    for (true, predicted), counts in expected.items():
        whole = evaluate(
            [planted.case([true] * 4, [predicted] * 4)], DEFAULT, bootstrap=20, seed=1
        ).everything
        names = ("slice_error", "far_confusion_slices", "slice_error_any_label")
        counted = [whole.find(name, "decided").numerator for name in names]
        assert counted == [4 * count for count in counts], (true, predicted)


@given(seed=integers(0, 9999))
@settings(max_examples=50)
def test_any_label_finds_all_that_one_label_finds_wrong(seed):
    rng = np.random.default_rng(seed)
    truth, predicted = rng.random((2, 40, len(CLASSES))) < 0.25
    for labels in (truth, predicted):
        labels[:, 1:-2] &= ~labels[:, :1]  # one chain region at most
        labels[:, 2:-2] &= ~labels[:, 1:2]
        labels[:, 3:-2] &= ~labels[:, 2:3]
        labels[:, 4:-2] &= ~labels[:, 3:4]
        labels[:, -1] = ~labels[:, :-1].any(axis=1)
    one = ~truth[np.arange(40), foremost_class(predicted, DEFAULT)]
    assert not (one & ~has_false_label(truth, predicted, DEFAULT)).any()
    assert (has_false_label(truth, predicted, DEFAULT) == one)[
        ~(truth & predicted).any(axis=1) | (predicted.sum(axis=1) == 1)
    ].all()


def test_where_no_slice_is_dark_the_error_without_the_dark_ones_is_the_error(planted):
    """A spine invented before a true chest is wrong in every table, though the chest was predicted too."""
    cases = [
        planted.case(["chest"] * 10, ["spine+chest"] * 5 + ["chest"] * 5, volume_id=f"v{number}")
        for number in range(8)
    ]
    cases = [replace(case, is_dark=np.zeros(10, dtype=bool)) for case in cases]
    evaluation = evaluate(cases, DEFAULT, bootstrap=20, seed=1)
    errors = [
        evaluation.everything.find(name, "decided")
        for name in ("slice_error", "slice_error_not_dark")
    ]
    assert [(one.numerator, one.denominator) for one in errors] == [(40, 80)] * 2
    assert (
        [row["right"] for row in volume_outcomes(cases, DEFAULT)]
        == [10 - row.wrong for row in evaluation.volumes]
        == [5] * 8
    )


@pytest.mark.parametrize(
    ("predicted", "exact"),
    [("hand", True), ("hand low", True), ("hand foot", False), ("low", False)],
)
def test_of_labels_beside_a_lone_protocol_those_of_the_chain_do_not_count_as_wrong(
    predicted, exact
):
    """Labelled as a hand and nothing else: a foot is untrue, the chain is not labelled."""
    two = Vocabulary(
        (
            Region("low", 0, "#111111"),
            Region("high", 1, "#222222"),
            Region("hand", None, "#333333"),
            Region("foot", None, "#444444"),
        )
    )
    truth, decided = (
        np.tile([name in names.split() for name in two.classes], (3, 1))
        for names in ("hand", predicted)
    )
    p = decided / decided.sum(axis=1, keepdims=True)
    case = Case(
        "v", "p", "", "ok", "", {}, np.arange(3.0), truth, p, p, decided, np.ones(3), (), None, 0.0
    )
    assert count_case(case, two).is_set_exact == exact
