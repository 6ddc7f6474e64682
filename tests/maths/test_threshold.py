"""A hidden limit: the curve only falls, and finds the limit that made the outcomes."""

import numpy as np
from hypothesis import given, settings
from hypothesis.strategies import booleans, floats, lists, tuples

from fovnet.maths.threshold import chance_to_fit

ALL = np.linspace(0.0, 6.0, 400)


@given(lists(tuples(floats(0.0, 6.0), booleans()), max_size=12))
@settings(max_examples=60)
def test_the_chance_never_rises_with_the_estimate_whatever_happened(outcomes):
    tried, fits = (
        np.array([at for at, _ in outcomes]),
        np.array([fit for _, fit in outcomes], dtype=bool),
    )
    chance = chance_to_fit(ALL, tried, fits)
    assert (np.diff(chance) <= 1e-12).all() and ((chance > 0) & (chance <= 1)).all()


def test_before_anything_was_tried_the_limit_is_as_likely_above_all_as_anywhere_between_them():
    """P(fits) then falls from one to a half along a straight line, over a range so wide that no estimate's
    error matters."""
    at = np.linspace(0.0, 40.0, 200)
    chance = chance_to_fit(at, np.zeros(0), np.zeros(0, dtype=bool))
    np.testing.assert_allclose(chance[5:-5], 1.0 - 0.5 * at[5:-5] / 40.0, atol=0.01)


def test_a_success_raises_and_a_failure_lowers_the_chance_beside_it():
    none = chance_to_fit(ALL, np.zeros(0), np.zeros(0, dtype=bool))
    good, bad = (chance_to_fit(ALL, np.array([3.0]), np.array([fits])) for fits in (True, False))
    assert (good >= none - 1e-9).all() and (bad <= none + 1e-9).all()
    assert bad[300] < 0.1 < 0.9 < good[100]


def test_forty_noisy_outcomes_find_the_limit_to_a_tenth():
    rng = np.random.default_rng(3)
    tried = rng.uniform(1.0, 6.0, 40)
    fits = tried + 0.1 * rng.standard_normal(40) < 4.0
    chance = chance_to_fit(ALL, tried, fits)
    assert abs(ALL[np.argmin(np.abs(chance - 0.5))] - 4.0) < 0.1
    assert chance[ALL < 3.5].min() > 0.95 and chance[ALL > 4.5].max() < 0.05


def test_outcomes_that_contradict_each_other_leave_doubt():
    chance = chance_to_fit(ALL, np.array([2.0, 4.0]), np.array([False, True]))
    assert 0.05 < chance[200] < 0.95
