"""Localisers: quick overview scans from which the other fields of view are planned.

Stacks of thick slices with a large field of view, in a second or less each, received by any coil on
the body, without bias correction. Sources: Haase (1990), Magn Reson Med 13:77 (turbo FLASH); Kiefer
et al. (1994), Proc SMR 433 (HASTE); McRobbie et al., *MRI from Picture to Proton* (2017), chapters
7 and 13 (folding, single shots).
"""

from __future__ import annotations

from dataclasses import replace
from typing import NamedTuple

import numpy as np

from fovnet.phantom.acquisition.coils import draw_skin_coil, draw_surface_coil
from fovnet.phantom.acquisition.field_kinds import ScanRequest, draw_field_kind, field_kinds_of
from fovnet.phantom.acquisition.protocols import Plan, draw_plan
from fovnet.phantom.acquisition.regrid import cut_axis, regrid, replace_axes
from fovnet.phantom.geometry.raster import Grid
from fovnet.phantom.scanner.artefacts import SLICE_AXIS_BY_PLANE, Flaws, motion_start_share
from fovnet.phantom.scanner.scan import Coil
from fovnet.phantom.scanner.sequence import PulseSequence

LOCALISER_SHARE = 0.13
"""Of the three volumes in four that are not of a careful site: one in ten in all."""
LEAST_SNR = 8.0  # a localiser that does not show the outline is repeated

LOCALISER_FIELDS = field_kinds_of("localiser")
"""Fields of view of localisers; most are wider than the body."""

LOCALISER_FIELD_NAMES = tuple(field_kind.name for field_kind in LOCALISER_FIELDS)

HEAD_LOCALISER_NAME = LOCALISER_FIELD_NAMES[0]

# shares of localisers by kind of sequence; the rest are gradient echoes
TURBO_FLASH_SHARE = 0.5
SINGLE_SHOT_SHARE = 0.2
BALANCED_SHARE = 0.18


def to_localiser(usual_plan: Plan, request: ScanRequest, rng: np.random.Generator) -> Plan:
    """In one of eight a localiser with another field of view, else the plan as it is; a first
    volume still covers several regions."""
    if rng.random() > LOCALISER_SHARE:
        return usual_plan
    must_be_long = request.volume_number == 0
    possible_kinds = [
        field_kind for field_kind in LOCALISER_FIELDS if field_kind.is_long == must_be_long
    ]
    field_kind = draw_field_kind(possible_kinds, rng)
    plan = draw_plan(request.person, request.marks, field_kind, usual_plan.site, rng)
    plan = regrid(plan, draw_stack_grid(plan, rng))
    sequence, is_single_shot = draw_quick_sequence(rng)
    flaws = _draw_flaws(plan, is_single_shot, rng)
    flaws = replace(flaws, motion_start_share=motion_start_share(request.person.is_placed_exactly))
    coil = _draw_coil(request, plan, rng)
    snr = rng.uniform(10, 45)
    return replace(plan, sequence=sequence).with_acquisition(coil=coil, snr=snr, flaws=flaws)


def is_localiser(plan: Plan) -> bool:
    """Whether a plan was made by `to_localiser`."""
    return plan.field_kind.name in LOCALISER_FIELD_NAMES


def draw_stack_grid(plan: Plan, rng: np.random.Generator) -> Grid:
    """The field without tilt, in slices of 5 to 10 mm and pixels of 1.6 to 4 mm: 20 to 60 axial
    slices, fewer in the other planes.

    One in four coronal and sagittal stacks, half of those of heads, has 3 to 7 slices near the
    middle, 6 to 20 mm apart; of axial ones, one in seven.
    """
    slice_axis = SLICE_AXIS_BY_PLANE.get(plan.plane, 0)
    pixel_mm = round(rng.uniform(1.6, 4.0), 2)
    grid = replace_axes(plan.grid, np.diag(plan.grid.spacing_mm))
    size_mm = np.asarray(grid.shape) * np.diag(grid.vox_to_ras)[:3]
    for axis in range(3):
        if axis != slice_axis:
            pixel_count = max(8, int(size_mm[axis] / pixel_mm))
            grid = cut_axis(grid, axis, 0.0, pixel_count, pixel_mm)
    is_axial = slice_axis == 2
    few_slices_share = 0.25
    start_share_range = (0.4, 0.6)
    count_range = (10, 41)
    if is_axial:
        few_slices_share = 0.15
        start_share_range = (0.0, 1.0)
        count_range = (20, 61)
    elif plan.field_kind.name == HEAD_LOCALISER_NAME:
        few_slices_share = 0.5
    spacing_range_mm = (5.0, 10.0)
    if rng.random() < few_slices_share:
        spacing_range_mm = (6.0, 20.0)
        count_range = (3, 8)
    spacing_mm = rng.uniform(*spacing_range_mm)
    most_slices = max(3, int(size_mm[slice_axis] / spacing_mm))
    slice_count = min(int(rng.integers(*count_range)), most_slices)
    free_mm = max(size_mm[slice_axis] - slice_count * spacing_mm, 0.0)
    start_mm = free_mm * rng.uniform(*start_share_range)
    return cut_axis(grid, slice_axis, start_mm, slice_count, round(spacing_mm, 2))


class QuickSequence(NamedTuple):
    """The sequence of a localiser, and whether it reads all lines of a slice after one excitation
    (single shot)."""

    sequence: PulseSequence
    is_single_shot: bool = False


def draw_quick_sequence(rng: np.random.Generator) -> QuickSequence:
    """The sequence of a localiser.

    Turbo FLASH: half with inversion, half with saturation preparation, 6 in 10 of the latter so
    late that contrast is flat.  At TE of 1.1 ms (3 T) and 2.3 ms (1.5 T) fat and water are in
    opposed phase, and every border between them is black.
    """
    kind_dice = rng.random()
    te_ms = rng.uniform(1, 2.3)
    fat_mode = "in phase"
    if rng.random() < 0.35:
        fat_mode = "cancelling"
    elif rng.random() < 0.1:
        fat_mode = "suppressed"
    flip_deg = rng.uniform(8, 15)
    if kind_dice < TURBO_FLASH_SHARE:
        return QuickSequence(_draw_turbo_flash(te_ms, flip_deg, fat_mode, rng))
    if kind_dice < TURBO_FLASH_SHARE + SINGLE_SHOT_SHARE:
        return QuickSequence(_draw_single_shot(rng), is_single_shot=True)
    if kind_dice < TURBO_FLASH_SHARE + SINGLE_SHOT_SHARE + BALANCED_SHARE:
        name = "localiser, balanced"
        kind = "balanced"
        tr_ms = rng.uniform(3, 5)
        te_ms = tr_ms / 2
        flip_deg = rng.uniform(40, 75)
    else:
        name = "localiser, gradient echo"
        kind = "gradient echo"
        tr_ms = rng.uniform(3, 12)
        flip_deg = rng.uniform(8, 30)
    return QuickSequence(
        PulseSequence(name, kind, tr_ms, te_ms, flip_deg=flip_deg, fat_mode=fat_mode)
    )


def _draw_single_shot(rng: np.random.Generator) -> PulseSequence:
    """A train of spin echoes that reads a slice after one excitation."""
    fat_mode = "in phase"
    if rng.random() < 0.15:
        fat_mode = "suppressed"
    te_ms = rng.uniform(60, 120)
    return PulseSequence(
        "localiser, single-shot spin echo", "spin echo", 10000, te_ms, fat_mode=fat_mode
    )


def _draw_turbo_flash(
    te_ms: float, flip_deg: float, fat_mode: str, rng: np.random.Generator
) -> PulseSequence:
    """A train of gradient echoes after an inversion or a saturation."""
    flip_count = int(rng.integers(48, 129))
    flip_ms = rng.uniform(2, 5)
    kind = str(rng.choice(["magnetisation prepared", "saturation prepared"]))
    ti_range_ms = (300, 1200)
    if kind == "saturation prepared" and rng.random() < 0.6:
        ti_range_ms = (1200, 3500)
    half_train_ms = flip_count * flip_ms / 2
    ti_ms = max(rng.uniform(*ti_range_ms), half_train_ms + 5)
    tr_ms = ti_ms + half_train_ms + rng.uniform(100, 1500)
    return PulseSequence(
        "localiser, turbo FLASH",
        kind,
        tr_ms,
        te_ms,
        ti_ms,
        flip_deg,
        fat_mode,
        flip_train=(flip_count, flip_ms),
    )


def _draw_flaws(plan: Plan, is_single_shot: bool, rng: np.random.Generator) -> Flaws:
    """Three in ten fold over, left to right or front to back; single shots are blurred along the
    phase axis; in one of five gradients fail in the corners, where signal piles up."""
    slice_axis = SLICE_AXIS_BY_PLANE.get(plan.plane, 0)
    phase_axis = 0
    if slice_axis == 0 or (slice_axis == 2 and rng.random() < 0.4):
        phase_axis = 1
    flaws = Flaws(phase_axis, slice_axis)
    wraps_around = rng.random() < 0.3 and plan.grid.shape[phase_axis] > 24
    if rng.random() < 0.2:
        # only corners are lost: a scan without the middle of a side is repeated
        extent_mm = np.multiply(plan.grid.shape, plan.grid.spacing_mm)
        least_radius = 1.04 * float(extent_mm.max() / np.linalg.norm(extent_mm))
        flaws = replace(flaws, gradient_radius=max(rng.uniform(0.72, 0.97), least_radius))
    if wraps_around:
        folded_voxels = round(plan.grid.shape[phase_axis] * rng.uniform(0.05, 0.2))
        flaws = replace(flaws, folded_voxels=max(1, folded_voxels))
    if is_single_shot:
        flaws = replace(flaws, motion_voxels=rng.uniform(1.0, 2.2))
    if is_single_shot or rng.random() < 0.3:
        flaws = replace(flaws, acquired_shares=(rng.uniform(0.5, 0.85), 1.0))
    return flaws


def _draw_coil(request: ScanRequest, plan: Plan, rng: np.random.Generator) -> Coil:
    """In two of three, elements on the skin; else the body coil, uniform except along z, or any
    surface coil."""
    coil_dice = rng.random()
    if coil_dice < 0.68:
        coil = draw_skin_coil(request.person, plan.grid, plan.isocentre_mm, request.left_out, rng)
    elif coil_dice < 0.84:
        coil = Coil(half_signal_mm=rng.uniform(200, 300))
    else:
        coil = draw_surface_coil(plan.acquisition.coil, plan.grid, plan.isocentre_mm, rng)
    if rng.random() < 0.3:
        coil = replace(coil, bias_spread=rng.uniform(0.05, 0.3))
    return coil


def combine_flaws(flaws: Flaws, localiser_flaws: Flaws) -> Flaws:
    """`flaws` drawn for any image, combined with those a localiser has already (`localiser_flaws`):
    its axes, folding, blur and gradient fall-off."""
    acquired_shares = flaws.acquired_shares
    if localiser_flaws.acquired_shares[0] < 1:
        acquired_shares = localiser_flaws.acquired_shares
    return replace(
        flaws,
        phase_axis=localiser_flaws.phase_axis,
        slice_axis=localiser_flaws.slice_axis,
        folded_voxels=localiser_flaws.folded_voxels,
        motion_voxels=localiser_flaws.motion_voxels or flaws.motion_voxels,
        acquired_shares=acquired_shares,
        gradient_radius=localiser_flaws.gradient_radius,
    )
