"""Cross-sections of limbs are closed and lie in their boxes."""

from __future__ import annotations

import numpy as np
import pytest

from fovnet.phantom.geometry.bundles import Outline


def test_an_outline_is_closed_and_lies_in_its_box() -> None:
    shape = Outline(
        ((0.0, 0.0, 0.0, 50.0, 40.0, 60.0, 30.0), (20.0, 0.0, 0.0, 50.0, 40.0, 60.0, 30.0)),
        (0.0, 0.2),
    )
    x, y = np.meshgrid(np.arange(-120, 121.0), np.arange(-120, 121.0), indexing="ij")
    inside = shape.contains(
        x.astype(np.float32), y.astype(np.float32), np.full((1, 1), 10, np.float32)
    )
    low, high = shape.box
    assert not np.any(inside & ((x < low[0]) | (x > high[0]) | (y < low[1]) | (y > high[1])))
    assert inside.sum() == pytest.approx(np.pi * 45 * 45, rel=0.1)
