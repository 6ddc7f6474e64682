"""The warp of the scores: order kept, giants tamed."""

import numpy as np
from hypothesis import example, given, settings
from hypothesis.extra.numpy import arrays
from hypothesis.strategies import floats, integers

from fovnet.maths.warping import half_ranked

SCORES = arrays(np.float64, integers(1, 30), elements=floats(-1e6, 1e6).map(lambda value: round(value, 3)))


@given(SCORES)
@example(np.full(3, 1.754))         # their mean is 1.7539999999999998
@settings(deadline=None)
def test_the_order_is_kept_and_ties_stay_ties(y):
    warped = half_ranked(y).values
    order = np.argsort(y, kind="stable")
    assert (np.diff(warped[order]) >= -1e-9).all()
    assert np.isfinite(warped).all() and abs(warped.mean()) < 1e-6
    assert all(warped[i] == warped[j] for i in range(len(y)) for j in range(i) if y[i] == y[j])


def test_a_giant_among_the_bad_changes_nothing():
    y = np.array([0.2, 0.25, 0.3, 0.4, 0.9])
    np.testing.assert_array_equal(half_ranked(y).values, half_ranked(np.where(y == 0.9, 1e300, y)).values)


def test_the_better_half_keeps_its_distances():
    warped = half_ranked(np.array([0.0, 1.0, 3.0, 50.0, 70.0])).values
    assert np.isclose((warped[2] - warped[1]) / (warped[1] - warped[0]), 2.0)
