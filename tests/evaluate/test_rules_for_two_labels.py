"""A slice may truly show spine and one chain region; one answer is right when it is among them."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis.strategies import integers

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
