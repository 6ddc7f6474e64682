"""Fields measured on the body: they end about its skin, and pictures of one organ have any size."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from numpy.typing import NDArray

from fovnet.phantom.acquisition.field_kinds import SMALL_FIELDS, USUAL_FIELDS, FieldKind
from fovnet.phantom.acquisition.fitting import (
    AIR_RANGE_MM,
    IMAGE_SIZE_RANGE_MM,
    SKIN_MARGIN_RANGE_MM,
    STEP_MM,
    fit_to_body,
    resize_field,
    trace_contour,
)
from fovnet.phantom.acquisition.heart_stacks import to_short_axis
from fovnet.phantom.acquisition.protocols import MOST_LABELS, SITES, Plan, draw_plan
from fovnet.phantom.acquisition.regrid import find_slice_axis
from fovnet.phantom.anatomy.body import landmarks
from fovnet.phantom.anatomy.heart import left_ventricle_axis_mm
from fovnet.phantom.geometry.raster import Grid
from fovnet.phantom.person.traits import sample_person

PERSON = sample_person((4, 2))
MARKS = landmarks(PERSON)
STRAIGHT = replace(SITES[0], oblique_share=0.0)
NAMED = {field_kind.name: field_kind for field_kind in (*USUAL_FIELDS, *SMALL_FIELDS)}


def planned(field_kind: FieldKind, number: int) -> Plan:
    return draw_plan(PERSON, MARKS, field_kind, STRAIGHT, np.random.default_rng(number))


def ends_mm(grid: Grid, axis: int) -> tuple[float, float]:
    """Where a field ends along an axis through its middle, mm of the person."""
    shape = np.asarray(grid.shape)
    middle = grid.vox_to_ras[axis, :3] @ ((shape - 1) / 2) + grid.vox_to_ras[axis, 3]
    half = np.linalg.norm(grid.vox_to_ras[:3, axis]) * shape[axis] / 2
    return float(middle - half), float(middle + half)


@pytest.mark.parametrize("name", ["abdomen", "pelvis", "thighs", "whole body"])
def test_a_fitted_field_ends_about_the_skin_or_far_beside_it_on_one_side(name: str) -> None:
    """Slices lie at the heights where they did, voxels are as large, and beside the body there is no more air
    than stated."""
    body, near = trace_contour(PERSON), max(SKIN_MARGIN_RANGE_MM) + 6 + STEP_MM + 3
    beside = 0
    for number in range(30):
        before = planned(NAMED[name], number)
        after = fit_to_body(before, PERSON, np.random.default_rng(number))
        moved = [axis for axis in (0, 1) if ends_mm(before.grid, axis) != ends_mm(after.grid, axis)]
        assert moved and ends_mm(before.grid, 2) == pytest.approx(ends_mm(after.grid, 2))
        assert np.allclose(
            *(np.linalg.norm(plan.grid.vox_to_ras[:3, :3], axis=0) for plan in (before, after))
        )
        for axis in moved:
            low, high = ends_mm(after.grid, axis)
            step = float(np.linalg.norm(after.grid.vox_to_ras[:3, axis]))
            out = np.min(
                [np.abs(body.low_xy_mm[:, axis] - low), np.abs(body.high_xy_mm[:, axis] - high)],
                axis=1,
            )
            assert out.min() <= near + step and out.max() <= near + step + max(AIR_RANGE_MM)
            beside += out.max() > near + step
    assert 2 <= beside <= 18


def test_a_field_above_the_head_fits_nothing() -> None:
    empty = planned(NAMED["beyond the head"], 1)
    assert fit_to_body(empty, PERSON, np.random.default_rng(1)) is empty


def middle(grid: Grid) -> NDArray[np.float64]:
    return np.asarray(
        grid.vox_to_ras[:3, :3] @ ((np.asarray(grid.shape) - 1) / 2) + grid.vox_to_ras[:3, 3]
    )


@pytest.mark.parametrize(
    "name",
    ["heart, close", "prostate", "prostate, sagittal", "knee, close", "head, any", "neck, close"],
)
def test_pictures_of_an_organ_have_any_size_and_as_many_pixels_and_what_they_are_about_is_in_them(
    name: str,
) -> None:
    sizes = []
    for number in range(20):
        before = planned(NAMED[name], number)
        after = resize_field(before, np.random.default_rng(number))
        through = 2 if before.plane == "isotropic" else find_slice_axis(before)
        spacing = [np.linalg.norm(plan.grid.vox_to_ras[:3, :3], axis=0) for plan in (before, after)]
        assert after.grid.shape == before.grid.shape and spacing[1][through] == pytest.approx(
            spacing[0][through]
        )
        assert (after.isocentre_mm, after.is_tilted, after.header_is_true) == (
            before.isocentre_mm,
            before.is_tilted,
            before.header_is_true,
        )
        assert np.prod(np.asarray(after.grid.shape) * after.acquisition.labels_per_voxel) <= max(
            MOST_LABELS, np.prod(after.grid.shape)
        )
        at = np.linalg.inv(after.grid.vox_to_ras) @ [*middle(before.grid), 1.0]
        assert np.all(np.abs((at[:3] + 0.5) / after.grid.shape - 0.5) < 0.35)
        sizes.append(
            max((spacing[1] * after.grid.shape)[axis] for axis in range(3) if axis != through)
        )
    assert (
        IMAGE_SIZE_RANGE_MM[0] - 1 < min(sizes) < 130
        and 300 < max(sizes) < IMAGE_SIZE_RANGE_MM[1] + 1
    )


def test_size_is_the_same_whatever_the_organ() -> None:
    sizes = []
    for name in ("heart, close", "prostate", "knee"):
        field_kind = NAMED[name]
        grid = resize_field(planned(field_kind, 3), np.random.default_rng(5)).grid
        across = np.linalg.norm(grid.vox_to_ras[:3, :3], axis=0) * grid.shape
        sizes.append(float(np.min(np.abs(across[:, None] - sizes[0]))) if sizes else across)
    assert max(sizes[1:]) < 0.01


@pytest.mark.parametrize("number", range(6))
def test_a_stack_across_the_heart_holds_its_axis_whatever_its_size(number: int) -> None:
    rng = np.random.default_rng(number)
    stack = resize_field(to_short_axis(planned(NAMED["heart, close"], number), PERSON, rng), rng)
    heart = left_ventricle_axis_mm(PERSON).mean(axis=0)
    at = np.linalg.inv(stack.grid.vox_to_ras) @ [*heart, 1.0]
    assert (
        stack.is_tilted
        and np.all(at[:3] > -0.5)
        and np.all(at[:3] < np.asarray(stack.grid.shape) - 0.5)
    )
