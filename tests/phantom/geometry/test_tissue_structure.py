"""Sheets and walls within a tissue are as thick as specified."""

from __future__ import annotations

import numpy as np
import pytest

from fovnet.phantom.geometry.tissue_structure import Box, Sheets, Walls


def test_sheets_fill_the_stated_share_of_space() -> None:
    points = np.random.default_rng(0).uniform(-100, 100, (3, 50_000)).astype(np.float32)
    everywhere = Box((-100.0,) * 3, (100.0,) * 3)
    shares = [
        Sheets(everywhere, (30.0, 26.0, 90.0), thick, (0.0, 1.0, 2.0)).contains(*points).mean()
        for thick in (0.05, 0.1, 0.2)
    ]
    assert shares[1] == pytest.approx(0.07, abs=0.015)
    assert shares[0] * 2 == pytest.approx(shares[1], rel=0.15) and shares[2] == pytest.approx(
        2 * shares[1], rel=0.15
    )


def test_the_wall_between_two_bundles_is_as_thick_as_stated() -> None:
    """Two lines 20 mm apart: of a strip between them, as long as they are apart, the wall takes its thickness
    over 20 mm."""
    walls = Walls(
        (((-10.0, 0.0, -200.0), (-10.0, 0.0, 200.0)), ((10.0, 0.0, -200.0), (10.0, 0.0, 200.0))),
        2.0,
    )
    points = (
        np.random.default_rng(0)
        .uniform((-10, -4, -200), (10, 4, 200), (50_000, 3))
        .astype(np.float32)
        .T
    )
    assert walls.contains(*points).mean() == pytest.approx(2.0 / 20, rel=0.25)
