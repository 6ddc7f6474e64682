"""Coils hear what lies next to them."""

from __future__ import annotations

import numpy as np

from fovnet.phantom.acquisition.coils import _draw_arrays
from fovnet.phantom.scanner.scan import compute_sensitivity


def test_arrays_of_small_elements_leave_what_is_deep_darker_than_the_skin() -> None:
    """A loop is half as sensitive one radius away: the middle of a trunk 24 cm deep, 10 cm from both arrays,
    at a fifth to two thirds."""
    for seed in range(8):
        coil = _draw_arrays(
            np.array([-200.0, -150, -150]), np.array([200.0, 150, 150]), np.random.default_rng(seed)
        )
        affine = np.diag([8.0, 6.0, 8.0, 1.0])
        affine[:3, 3] = -200, -150, -150
        profile = compute_sensitivity((51, 51, 38), affine, coil)
        assert (
            profile[15:36, 24:27, 12:26].mean()
            < 0.66 * profile[15:36, :, 12:26].mean(axis=(0, 2)).max()
        )
