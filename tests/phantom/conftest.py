"""Grids in a simulated body."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pytest

from fovnet.phantom.geometry.raster import Grid
from fovnet.phantom.person.traits import sample_person

Point = tuple[float, float, float]


@pytest.fixture(scope="session")
def around() -> Callable[[Point, Point, float], Grid]:
    """The grid along the body's axes from one corner to the other, mm, with voxels of that size."""

    def grid(low: Point, high: Point, spacing_mm: float) -> Grid:
        i, j, k = np.rint(np.subtract(high, low) / spacing_mm).astype(int).tolist()
        affine = np.diag([spacing_mm] * 3 + [1.0])
        affine[:3, 3] = low
        return Grid((i, j, k), affine)

    return grid


@pytest.fixture
def head_grid(around: Callable[[Point, Point, float], Grid]) -> Grid:
    """Voxels of 5 mm about the head of the person of seed (4, 2), from the first thoracic vertebra up."""
    bottom = sample_person((4, 2)).morph.height_mm(1455.0)
    return around((-100, -140, bottom), (100, 120, bottom + 330), 5.0)
