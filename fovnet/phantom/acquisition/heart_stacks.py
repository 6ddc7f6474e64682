"""Stacks along the heart's own axes, as in cardiac examinations and their archives."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
from numpy.typing import NDArray

from fovnet.phantom.acquisition.protocols import Plan, grid_about
from fovnet.phantom.acquisition.regrid import PLANE_BY_AXIS, regrid, to_canonical
from fovnet.phantom.anatomy.heart import direction_to_right_ventricle, left_ventricle_axis_mm
from fovnet.phantom.finish.headers import TRUE_HEADER_SHARE
from fovnet.phantom.person.traits import Person
from fovnet.phantom.scanner.sequence import Sequence

SHORT_AXIS = "heart, short axis"
LONG_AXIS = "heart, long axis"
# fmt: off
HEART_SEQUENCES: tuple[tuple[Sequence, float], ...] = (
    (Sequence("cine, balanced", "balanced cine", 3.2, 1.6, flip_deg=45, fat="cancelling"), 0.7),
    # blood 1, fat 0.57, muscle 0.2
    (Sequence("cine, spoiled", "inflow", 15, 1.5, flip_deg=18), 0.1),
    (Sequence("late enhancement", "inversion gradient echo", 700, 2.0, ti=240, contrast=True),
     0.08),
)
# fmt: on
"""Sequences for stacks along the heart's own axes, and shares; the rest keep theirs.  Free
contrasts leave three in four unchanged."""


def to_short_axis(plan: Plan, person: Person, rng: np.random.Generator) -> Plan:
    """A short-axis stack, from about the apex to the base or beyond.

    A left ventricle is about 9 cm long: 8 to 14 slices of 6 to 10 mm cover it, or nearly all of it.
    """
    apex_mm, base_mm = left_ventricle_axis_mm(person)
    slice_normal = _plan_by_eye((base_mm - apex_mm) / np.linalg.norm(base_mm - apex_mm), rng)
    thickness_mm = rng.uniform(6.0, 10.0)
    slice_count = int(np.clip(round(rng.uniform(70, 125) / thickness_mm), 8, 14))
    middle_mm = (apex_mm + base_mm) / 2 + slice_normal * rng.uniform(-5, 15)
    return _stack_along(plan, SHORT_AXIS, middle_mm, slice_normal, (thickness_mm, slice_count), rng)


def to_long_axis(plan: Plan, person: Person, rng: np.random.Generator) -> Plan:
    """A few slices along the heart's long axis: four-chamber views, or two-chamber views of the
    left side."""
    apex_mm, base_mm = left_ventricle_axis_mm(person)
    long_axis_direction = (base_mm - apex_mm) / np.linalg.norm(base_mm - apex_mm)
    right_direction = direction_to_right_ventricle(person)
    up_direction = np.cross(right_direction, long_axis_direction)
    slice_normal = _plan_by_eye(
        up_direction / np.linalg.norm(up_direction) if rng.random() < 0.6 else right_direction, rng
    )
    middle_mm = apex_mm + (base_mm - apex_mm) * rng.uniform(0.6, 1.1)
    return _stack_along(
        plan,
        LONG_AXIS,
        middle_mm,
        slice_normal,
        (rng.uniform(5.0, 8.0), int(rng.integers(3, 9))),
        rng,
    )


def _stack_along(
    plan: Plan,
    family_name: str,
    middle_mm: NDArray[np.float64],
    slice_normal: NDArray[np.float64],
    thickness_and_count: tuple[float, int],
    rng: np.random.Generator,
) -> Plan:
    """A stack of `thickness_and_count` (mm, slices) about `middle_mm`, its images with the head on
    top, apart from an in-plane rotation.

    The scanner keeps a double-oblique image as near to upright as it can; one in four is rotated
    further, along the septum.
    """
    up_direction = np.array([0.0, 0.0, 1.0]) - slice_normal * slice_normal[2]
    if np.linalg.norm(up_direction) < 0.5:  # nearly axial: anterior on top
        up_direction = np.array([0.0, 1.0, 0.0]) - slice_normal * slice_normal[1]
    up_direction /= np.linalg.norm(up_direction)
    turn_angle = np.deg2rad(rng.normal(0, 12) if rng.random() < 0.75 else rng.uniform(-60, 60))
    up_direction = up_direction * np.cos(turn_angle) + np.cross(
        slice_normal, up_direction
    ) * np.sin(turn_angle)
    width_mm = _draw_field_mm(rng)
    thickness_mm, slice_count = thickness_and_count
    pixel_mm = max(width_mm / 256, rng.uniform(1.2, 2.0))
    height_mm = width_mm * (rng.uniform(0.75, 1.0) if width_mm > 170 else 1.0)
    grid_axes = np.column_stack(
        [
            np.cross(up_direction, slice_normal) * pixel_mm,
            up_direction * pixel_mm,
            slice_normal * thickness_mm,
        ]
    )
    # large fields move to the chest
    inwards_mm = (
        -middle_mm * (1.0, 1.0, 0.0) * rng.uniform(0.0, 0.8) * np.clip((width_mm - 170) / 200, 0, 1)
    )
    centre_mm = (
        middle_mm + inwards_mm - slice_normal * (inwards_mm @ slice_normal) + rng.normal(0, 6, 3)
    )
    stack_grid = grid_about(
        centre_mm, grid_axes, (round(width_mm / pixel_mm), round(height_mm / pixel_mm), slice_count)
    )
    return replace(
        regrid(plan, to_canonical(stack_grid)),
        family=replace(plan.family, name=family_name),
        plane=PLANE_BY_AXIS[np.abs(slice_normal).argmax()],
        sequence=_draw_sequence(plan.sequence, rng),
        is_tilted=True,
        header_is_true=rng.random() < TRUE_HEADER_SHARE,
    )


def _plan_by_eye(direction: NDArray[np.float64], rng: np.random.Generator) -> NDArray[np.float64]:
    """The direction as planned by eye: about 6° off, of unit length."""
    tilted_direction = direction + rng.normal(0, 0.07, 3)
    return tilted_direction / np.linalg.norm(tilted_direction)


def _draw_field_mm(rng: np.random.Generator) -> float:
    """Field of view of a heart image: cropped to the left ventricle, zoomed, or the whole chest as
    scanned."""
    return rng.uniform(*((100, 170), (170, 260), (260, 400))[rng.choice(3, p=[0.45, 0.25, 0.3])])


def _draw_sequence(usual_sequence: Sequence, rng: np.random.Generator) -> Sequence:
    """One of HEART_SEQUENCES with TR and TI varied by 15 %, or the other."""
    sequence_dice = rng.random()
    for sequence, share in HEART_SEQUENCES:
        sequence_dice -= share
        if sequence_dice < 0:
            return replace(
                sequence,
                tr=sequence.tr * rng.uniform(0.85, 1.15),
                ti=sequence.ti * rng.uniform(0.85, 1.15),
            )
    return usual_sequence
