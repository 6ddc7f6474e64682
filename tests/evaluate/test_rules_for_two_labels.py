"""A slice may truly show spine and one chain region; one answer is right when it is among them."""

from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis.strategies import integers

from fovnet.evaluate.answers import shown
from fovnet.evaluate.evaluation import evaluate
from fovnet.evaluate.slices import confusion, far_apart, foremost, said_classes, true_rows
from fovnet.regions import DEFAULT

CLASSES = DEFAULT.classes


def index(name):
    return CLASSES.index(name)


def test_a_decided_protocol_speaks_before_the_chain_and_the_chain_before_none(planted):
    case = planted.case(["spine+chest", "chest", "none"])
    assert [CLASSES[column] for column in said_classes(case, "decided", DEFAULT)] == ["spine", "chest", "none"]


@pytest.mark.parametrize(("said", "row"), [("spine", "spine"), ("chest", "chest"), ("legs", "spine"), ("none", "spine")])
def test_row_is_the_said_class_where_true_else_the_protocol(planted, said, row):
    truth = planted.labels(["spine+chest"])
    assert true_rows(truth, np.array([index(said)]), DEFAULT)[0] == index(row)


@given(seed=integers(0, 9999))
@settings(deadline=None, max_examples=50)
def test_diagonal_counts_exactly_the_slices_whose_said_class_is_true(seed):
    rng = np.random.default_rng(seed)
    truth = np.zeros((30, len(CLASSES)), dtype=bool)
    truth[np.arange(30), rng.integers(0, len(CLASSES), 30)] = True
    truth[(rng.random(30) < 0.3) & ~truth[:, -1], index("spine")] = True
    said = rng.integers(0, len(CLASSES), 30)
    matrix = confusion(true_rows(truth, said, DEFAULT), said, len(CLASSES))
    assert matrix.sum() == 30 and np.trace(matrix) == truth[np.arange(30), said].sum()


def test_foremost_without_any_label_is_none():
    assert foremost(np.zeros((1, len(CLASSES)), dtype=bool), DEFAULT)[0] == len(CLASSES) - 1


def test_regions_that_do_not_touch_are_those_two_rungs_or_more_apart():
    far = far_apart(DEFAULT)
    pairs = {(CLASSES[row], CLASSES[column]) for row, column in zip(*np.nonzero(far), strict=True)}
    assert ("pelvis", "head") in pairs and ("legs", "abdomen") in pairs
    assert not any("none" in pair or "spine" in pair for pair in pairs)
    assert not {("legs", "pelvis"), ("chest", "abdomen"), ("head", "head")} & pairs
    assert len(pairs) == 12                                   # 5 chain regions: 20 ordered pairs, 8 of them neighbours


def test_where_no_slice_is_dark_the_error_without_the_dark_ones_is_the_error(planted):
    """A spine invented before a true chest is wrong in every table, though the chest was said too."""
    cases = [planted.case(["chest"] * 10, ["spine+chest"] * 5 + ["chest"] * 5, volume_id=f"v{number}") for number in range(8)]
    cases = [replace(case, empty=np.zeros(10, dtype=bool)) for case in cases]
    told = evaluate(cases, DEFAULT, bootstrap=20, seed=1)
    errors = [told.everything.find(name, "decided") for name in ("slice_error", "slice_error_not_dark")]
    assert [(one.numerator, one.denominator) for one in errors] == [(40, 80)] * 2
    assert [row["right"] for row in shown(cases, DEFAULT)] == [10 - row.wrong for row in told.volumes] == [5] * 8
