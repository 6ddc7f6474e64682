"""Grids cut anew and turned begin, end and lie where they should."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from fovnet.phantom.acquisition.regrid import cut_axis, reorder_to_canonical
from fovnet.phantom.geometry.raster import Grid


@given(st.integers(0, 2), st.floats(0, 30), st.integers(2, 9), st.floats(1, 9))
def test_recutting_begins_and_ends_where_it_should(
    axis: int, first_mm: float, slices: int, spacing_mm: float
) -> None:
    affine = np.diag([2.0, 3.0, 4.0, 1.0])
    affine[:3, 3] = 7, -5, 11
    cut = cut_axis(Grid((20, 20, 20), affine), axis, first_mm, slices, spacing_mm)
    edges = [
        (cut.vox_to_ras @ np.insert(np.full(3, 0.0) + np.eye(3)[axis] * at, 3, 1))[axis]
        for at in (-0.5, slices - 0.5)
    ]
    begin = (affine @ np.insert(np.eye(3)[axis] * -0.5, 3, 1))[axis] + first_mm
    assert (
        edges == pytest.approx([begin, begin + slices * spacing_mm]) and cut.shape[axis] == slices
    )


def test_canonical_grids_keep_their_corners() -> None:
    grid = Grid(
        (3, 5, 7), np.array([[0, 2.0, 0, 1], [0, 0, -3.0, 2], [4.0, 0, 0, 3], [0, 0, 0, 1]])
    )
    turned = reorder_to_canonical(grid)
    assert turned.shape == (5, 7, 3)
    ends = [
        {
            tuple(
                np.round(
                    oriented.vox_to_ras
                    @ [
                        i * (oriented.shape[0] - 1),
                        j * (oriented.shape[1] - 1),
                        k * (oriented.shape[2] - 1),
                        1,
                    ],
                    6,
                )
            )
            for i in (0, 1)
            for j in (0, 1)
            for k in (0, 1)
        }
        for oriented in (grid, turned)
    ]
    assert ends[0] == ends[1]
