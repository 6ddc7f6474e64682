"""Poll directions: an orthogonal basis whose columns and negatives reach every direction."""

import numpy as np
import pytest

from fovnet.maths.poll import SIZES, directions, reflection


@pytest.mark.parametrize("n", [1, 2, 3, 7])
def test_the_basis_is_orthogonal_and_its_two_signs_span_positively(n):
    rng = np.random.default_rng(n)
    for _ in range(20):
        basis = reflection(rng.standard_normal(n))
        assert np.abs(basis @ basis.T - np.eye(n)).max() < 1e-12
        found = directions(basis, rng)
        assert found.shape == (2 * n, n) and np.allclose(np.abs(found).max(axis=1), 1.0)
        unit = found / np.linalg.norm(found, axis=1, keepdims=True)
        anywhere = rng.standard_normal((1000, n))
        anywhere /= np.linalg.norm(anywhere, axis=1, keepdims=True)
        # one of them descends
        assert ((unit @ anywhere.T).min(axis=0) <= -1.0 / np.sqrt(n) + 1e-9).all()


def test_the_frame_shrinks_to_a_hundredth():
    assert list(SIZES) == sorted(SIZES, reverse=True) and SIZES[-1] == 0.01
