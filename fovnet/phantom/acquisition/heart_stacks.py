"""Stacks along the heart's own axes, as in cardiac examinations and their archives."""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from fovnet.phantom.acquisition.fitting import draw_shift_inwards
from fovnet.phantom.acquisition.protocols import Plan, grid_about
from fovnet.phantom.acquisition.regrid import PLANE_BY_AXIS, regrid, reorder_to_canonical
from fovnet.phantom.anatomy.heart import direction_to_right_ventricle, left_ventricle_axis_mm
from fovnet.phantom.finish.headers import TRUE_HEADER_SHARE
from fovnet.phantom.person.traits import Person
from fovnet.phantom.scanner.sequence import PulseSequence

SHORT_AXIS = "heart, short axis"
LONG_AXIS = "heart, long axis"
FOUR_CHAMBER_SHARE = 0.6  # of long-axis stacks; the others have two-chamber views
# fmt: off
HEART_SEQUENCES: tuple[tuple[PulseSequence, float], ...] = (
    (PulseSequence("cine, balanced", "balanced cine", 3.2, 1.6, flip_deg=45, fat_mode="cancelling"), 0.7),
    # blood 1, fat 0.57, muscle 0.2
    (PulseSequence("cine, spoiled", "inflow", 15, 1.5, flip_deg=18), 0.1),
    (PulseSequence("late enhancement", "inversion gradient echo", 700, 2.0, ti_ms=240, has_contrast_agent=True),
     0.08),
)
# fmt: on
"""Sequences for stacks along the heart's own axes, and shares; the rest keep theirs.  Free
contrasts leave three in four unchanged."""


@dataclass(frozen=True)
class HeartStack:
    """A stack of slices along an axis of the heart.

    middle_mm     (3,) of the person
    slice_normal  (3,) of unit length
    thickness_mm  of each slice, without gaps
    slice_count   slices in all
    """

    middle_mm: NDArray[np.float64]
    slice_normal: NDArray[np.float64]
    thickness_mm: float
    slice_count: int


def to_short_axis(plan: Plan, person: Person, rng: np.random.Generator) -> Plan:
    """A short-axis stack, from about the apex to the base or beyond.

    A left ventricle is about 9 cm long: 8 to 14 slices of 6 to 10 mm cover it, or nearly all of it.
    """
    apex_mm, base_mm = left_ventricle_axis_mm(person)
    slice_normal = _plan_by_eye((base_mm - apex_mm) / np.linalg.norm(base_mm - apex_mm), rng)
    thickness_mm = rng.uniform(6.0, 10.0)
    slice_count = int(np.clip(round(rng.uniform(70, 125) / thickness_mm), 8, 14))
    stack = HeartStack(
        middle_mm=(apex_mm + base_mm) / 2 + slice_normal * rng.uniform(-5, 15),
        slice_normal=slice_normal,
        thickness_mm=thickness_mm,
        slice_count=slice_count,
    )
    return _acquire_stack(plan, SHORT_AXIS, stack, rng)


def to_long_axis(plan: Plan, person: Person, rng: np.random.Generator) -> Plan:
    """A few slices along the heart's long axis: four-chamber views, or two-chamber views of the
    left side."""
    apex_mm, base_mm = left_ventricle_axis_mm(person)
    long_axis_direction = (base_mm - apex_mm) / np.linalg.norm(base_mm - apex_mm)
    normal_direction = direction_to_right_ventricle(person)
    if rng.random() < FOUR_CHAMBER_SHARE:
        up_direction = np.cross(normal_direction, long_axis_direction)
        normal_direction = up_direction / np.linalg.norm(up_direction)
    stack = HeartStack(
        slice_normal=_plan_by_eye(normal_direction, rng),
        middle_mm=apex_mm + (base_mm - apex_mm) * rng.uniform(0.6, 1.1),
        thickness_mm=rng.uniform(5.0, 8.0),
        slice_count=int(rng.integers(3, 9)),
    )
    return _acquire_stack(plan, LONG_AXIS, stack, rng)


def _acquire_stack(
    plan: Plan, field_name: str, stack: HeartStack, rng: np.random.Generator
) -> Plan:
    """The plan for the stack, as a field of view of that name, with a sequence for hearts."""
    upright_direction = _draw_upright_direction(stack.slice_normal, rng)
    width_mm = _draw_image_width(rng)
    pixel_mm = max(width_mm / 256, rng.uniform(1.2, 2.0))
    height_mm = width_mm
    if width_mm > 170:
        height_mm *= rng.uniform(0.75, 1.0)
    grid_axes = np.column_stack(
        [
            np.cross(upright_direction, stack.slice_normal) * pixel_mm,
            upright_direction * pixel_mm,
            stack.slice_normal * stack.thickness_mm,
        ]
    )
    # large fields move to the middle of the chest, within their plane
    inwards_mm = draw_shift_inwards(stack.middle_mm, width_mm, rng)
    across_mm = stack.slice_normal * (inwards_mm @ stack.slice_normal)
    centre_mm = stack.middle_mm + inwards_mm - across_mm + rng.normal(0, 6, 3)
    shape = (round(width_mm / pixel_mm), round(height_mm / pixel_mm), stack.slice_count)
    stack_grid = grid_about(centre_mm, grid_axes, shape)
    return replace(
        regrid(plan, reorder_to_canonical(stack_grid)),
        field_kind=replace(plan.field_kind, name=field_name),
        plane=PLANE_BY_AXIS[np.abs(stack.slice_normal).argmax()],
        sequence=_draw_sequence(plan.sequence, rng),
        is_tilted=True,
        header_is_true=rng.random() < TRUE_HEADER_SHARE,
    )


def _draw_upright_direction(
    slice_normal: NDArray[np.float64], rng: np.random.Generator
) -> NDArray[np.float64]:
    """(3,) the direction to the top of the images, of unit length: the head, apart from an in-plane
    rotation.

    The scanner keeps a double-oblique image as near to upright as it can; one in four is rotated
    further, along the septum.
    """
    up_direction = np.array([0.0, 0.0, 1.0]) - slice_normal * slice_normal[2]
    if np.linalg.norm(up_direction) < 0.5:  # nearly axial: anterior on top
        up_direction = np.array([0.0, 1.0, 0.0]) - slice_normal * slice_normal[1]
    up_direction /= np.linalg.norm(up_direction)
    turn_angle = np.deg2rad(_draw_turn_deg(rng))
    side_direction = np.cross(slice_normal, up_direction)
    return np.asarray(up_direction * np.cos(turn_angle) + side_direction * np.sin(turn_angle))


def _draw_turn_deg(rng: np.random.Generator) -> float:
    """An in-plane rotation, degrees: little, or in one of four much."""
    if rng.random() < 0.75:
        return rng.normal(0, 12)
    return rng.uniform(-60, 60)


def _plan_by_eye(direction: NDArray[np.float64], rng: np.random.Generator) -> NDArray[np.float64]:
    """The direction as planned by eye: about 6° off, of unit length."""
    tilted_direction = direction + rng.normal(0, 0.07, 3)
    return tilted_direction / np.linalg.norm(tilted_direction)


def _draw_image_width(rng: np.random.Generator) -> float:
    """Width of a heart image, mm: cropped to the left ventricle, zoomed, or the whole chest as
    scanned."""
    size_ranges_mm = ((100, 170), (170, 260), (260, 400))
    return rng.uniform(*size_ranges_mm[rng.choice(3, p=[0.45, 0.25, 0.3])])


def _draw_sequence(usual_sequence: PulseSequence, rng: np.random.Generator) -> PulseSequence:
    """One of HEART_SEQUENCES with TR and TI varied by 15 %, or the other."""
    sequence_dice = rng.random()
    for sequence, share in HEART_SEQUENCES:
        sequence_dice -= share
        if sequence_dice < 0:
            return replace(
                sequence,
                tr_ms=sequence.tr_ms * rng.uniform(0.85, 1.15),
                ti_ms=sequence.ti_ms * rng.uniform(0.85, 1.15),
            )
    return usual_sequence
