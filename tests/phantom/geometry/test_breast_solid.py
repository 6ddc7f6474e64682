"""The solid of a breast against its nipple and its box."""

from __future__ import annotations

import numpy as np
import pytest

from fovnet.phantom.geometry.breast_solid import BEHIND_MM, BreastSolid


def test_a_dome_ends_at_its_nipple_and_within_its_box() -> None:
    dome = BreastSolid((80.0, 90.0, 1300.0), (50.0, 60.0), 100.0, (5.0, -20.0), 1.5, 1.2)
    points = (
        np.random.default_rng(0)
        .uniform((0, 20, 1200), (160, 210, 1400), (40_000, 3))
        .astype(np.float32)
    )
    held = points[dome.contains(*points.T)]
    assert np.all(held >= dome.box[0]) and np.all(held <= dome.box[1])
    assert held[:, 1].max() == pytest.approx(dome.nipple[1], abs=6) and held[
        :, 1
    ].min() == pytest.approx(90 - BEHIND_MM, abs=6)
    assert held[held[:, 1] > 160].mean(axis=0)[2] < held[held[:, 1] < 110].mean(axis=0)[2] - 5
