"""Headers that turn call any slices axial, and the truth turns with them."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from fovnet.phantom.acquisition.field_kinds import FieldEnd, FieldKind
from fovnet.phantom.acquisition.protocols import SITES, draw_plan
from fovnet.phantom.anatomy.body import landmarks
from fovnet.phantom.collection import acquire_volume
from fovnet.phantom.finish.headers import (
    draw_picture_turn,
    draw_turn,
    find_only_region,
    to_claimed_axes,
)
from fovnet.phantom.finish.masks import Processing
from fovnet.phantom.geometry.raster import Grid
from fovnet.phantom.person.traits import sample_person
from fovnet.regions import NINE

PERSON = sample_person((4, 2))
MARKS = landmarks(PERSON)


@pytest.mark.parametrize("axis", range(3))
def test_a_turned_header_calls_slices_across_any_axis_axial_and_those_that_show_the_head_are_the_head(
    axis: int, head_grid: Grid
) -> None:
    base = draw_plan(
        PERSON,
        MARKS,
        FieldKind(
            "head",
            FieldEnd("lung_apex", 0, 0),
            FieldEnd("vertex", 20, 20),
            (200, 200),
            (260, 260),
            "a",
        ),
        SITES[0],
        np.random.default_rng(0),
    )
    finish = Processing(border_voxels=(3, 5))
    acquired = replace(
        base,
        grid=head_grid,
        acquisition=replace(base.acquisition, labels_per_voxel=(1, 1, 1)),
        processing=finish,
    )
    turn = draw_turn(axis, np.random.default_rng(axis))
    true = acquire_volume(PERSON, acquired, np.random.default_rng(0))[0]
    volume, rows = acquire_volume(
        PERSON, replace(acquired, header_turn=turn), np.random.default_rng(0)
    )
    np.testing.assert_array_equal(volume.voxels, to_claimed_axes(true.voxels, turn))
    assert turn[axis][0] == 2 and [row["region"] for row in rows] == ["head"]
    part_rows = acquire_volume(
        PERSON,
        replace(acquired, header_turn=turn),
        np.random.default_rng(0),
        chain=NINE.chain,
    )[1]
    assert part_rows == rows
    np.testing.assert_allclose(volume.vox_to_ras[:3, :3], 5 * np.eye(3))
    np.testing.assert_allclose(
        volume.vox_to_ras[:3, :3] @ (np.array(volume.voxels.shape) - 1) / 2,
        -volume.vox_to_ras[:3, 3],
    )
    # of 25 mm²: 400 mm²
    bright = np.flatnonzero((volume.voxels > 150).sum(axis=(0, 1)) >= 16)
    assert (
        abs(rows[0]["first_slice"] - bright[0]) <= 2
        and abs(rows[0]["last_slice"] - bright[-1]) <= 2
    )


def test_only_a_field_of_one_region_is_alone_and_air_above_the_head_is_no_other(
    head_grid: Grid,
) -> None:
    # half a voxel, and a little
    head_grid.vox_to_ras[2, 3] += 3
    # legs, pelvis, abdomen, chest, head
    assert find_only_region(head_grid, MARKS.borders_mm, 1.0) == 4
    lower = head_grid.vox_to_ras.copy()
    lower[2, 3] -= 60
    assert (
        find_only_region(Grid(head_grid.shape, lower), MARKS.borders_mm, 1.0) is None
        and find_only_region(Grid(head_grid.shape, lower), MARKS.borders_mm, 0.5) == 4
    )
    lower[2, 3] = MARKS.vertex + 20
    assert find_only_region(Grid(head_grid.shape, lower), MARKS.borders_mm, 0.5) is None


def test_a_picture_keeps_its_columns_mirrored_whichever_way_slices_run() -> None:
    turns = {draw_picture_turn(1, np.random.default_rng(seed)) for seed in range(40)}
    assert {turn[0] for turn in turns} == {(0, -1)} and {turn[2] for turn in turns} == {
        (1, 1),
        (1, -1),
    }
    assert {turn[1] for turn in turns} == {(2, 1), (2, -1)}
