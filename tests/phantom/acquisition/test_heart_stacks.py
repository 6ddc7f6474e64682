"""Stacks of a heart lie across its long axis or along it."""

from __future__ import annotations

import numpy as np
import pytest

from fovnet.phantom.acquisition.field_kinds import FieldEnd, FieldKind
from fovnet.phantom.acquisition.heart_stacks import to_long_axis, to_short_axis
from fovnet.phantom.acquisition.protocols import SITES, draw_plan
from fovnet.phantom.anatomy.body import label_volume, landmarks
from fovnet.phantom.anatomy.heart import left_ventricle_axis_mm
from fovnet.phantom.geometry.raster import Grid
from fovnet.phantom.person.traits import sample_person
from fovnet.phantom.scanner.tissues import TISSUES

PERSON = sample_person((4, 2))
MARKS = landmarks(PERSON)


@pytest.mark.parametrize("seed", range(3))
def test_short_axis_slices_are_cut_across_the_line_from_apex_to_base(seed: int) -> None:
    field_kind = FieldKind(
        "heart",
        FieldEnd("liver_dome", -20, 0),
        FieldEnd("liver_dome", 100, 120),
        (200, 240),
        (180, 220),
        "a",
    )
    stack = to_short_axis(
        draw_plan(PERSON, MARKS, field_kind, SITES[0], np.random.default_rng(seed)),
        PERSON,
        np.random.default_rng(seed),
    )
    spacing = np.linalg.norm(stack.grid.vox_to_ras[:3, :3], axis=0)
    # mm along the grid's axes
    along = (
        np.diff(left_ventricle_axis_mm(PERSON), axis=0)[0] @ stack.grid.vox_to_ras[:3, :3]
    ) / spacing
    through = int(spacing.argmax())
    assert (
        abs(along[through]) > 0.93 * np.linalg.norm(along) and 8 <= stack.grid.shape[through] <= 14
    )
    x, y, z = (np.float32([value]) for value in left_ventricle_axis_mm(PERSON).mean(axis=0))
    middle = Grid(
        (1, 1, 1), np.block([[np.eye(3), np.array([x, y, z])], [np.zeros((1, 3)), np.ones((1, 1))]])
    )
    assert TISSUES[int(label_volume(PERSON, middle).labels[0, 0, 0])].name == "arterial blood"


def test_a_long_axis_lies_in_the_slices_of_its_stack_and_the_head_is_up() -> None:
    field_kind = FieldKind(
        "heart",
        FieldEnd("liver_dome", -20, 0),
        FieldEnd("liver_dome", 100, 120),
        (200, 240),
        (180, 220),
        "a",
    )
    for seed in range(4):
        stack = to_long_axis(
            draw_plan(PERSON, MARKS, field_kind, SITES[0], np.random.default_rng(seed)),
            PERSON,
            np.random.default_rng(seed),
        )
        axes = stack.grid.vox_to_ras[:3, :3] / np.linalg.norm(stack.grid.vox_to_ras[:3, :3], axis=0)
        along = np.diff(left_ventricle_axis_mm(PERSON), axis=0)[0]
        through = int(np.linalg.norm(stack.grid.vox_to_ras[:3, :3], axis=0).argmax())
        assert abs(along @ axes[:, through]) < 0.35 * np.linalg.norm(along) and np.linalg.det(
            axes
        ) == pytest.approx(1)
        assert 3 <= stack.grid.shape[through] <= 8
