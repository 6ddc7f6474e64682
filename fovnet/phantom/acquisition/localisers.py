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
from fovnet.phantom.acquisition.families import ScanRequest, draw_family, families_of
from fovnet.phantom.acquisition.protocols import Plan, draw_plan
from fovnet.phantom.acquisition.regrid import cut_axis, regrid, with_axes
from fovnet.phantom.geometry.raster import Grid
from fovnet.phantom.scanner.artefacts import SLICE_AXIS_BY_PLANE, Flaws
from fovnet.phantom.scanner.scan import Coil
from fovnet.phantom.scanner.sequence import Sequence

LOCALISER_SHARE = 0.13
"""Of the three volumes in four that are not of a careful site: one in ten in all."""
LEAST_SNR = 8.0  # a localiser that does not show the outline is repeated

LOCALISER_FAMILIES = families_of("localiser")
"""Fields of view of localisers; most are wider than the body."""

LOCALISER_NAMES = tuple(family.name for family in LOCALISER_FAMILIES)

# shares of localisers by kind of sequence; the rest are gradient echoes
TURBO_FLASH_SHARE = 0.5
SINGLE_SHOT_SHARE = 0.2
BALANCED_SHARE = 0.18


def to_localiser(usual_plan: Plan, request: ScanRequest, rng: np.random.Generator) -> Plan:
    """In one of eight a localiser with another field of view, else the plan as it is; a first
    volume still covers several regions."""
    if rng.random() > LOCALISER_SHARE:
        return usual_plan
    localiser_families = [
        family for family in LOCALISER_FAMILIES if family.is_long == (request.number == 0)
    ]
    family = draw_family(localiser_families, rng)
    plan = draw_plan(request.person, request.marks, family, usual_plan.site, rng)
    plan = regrid(plan, stack_grid(plan, rng))
    sequence, is_single_shot = draw_quick_sequence(rng)
    flaws = replace(
        _draw_flaws(plan, is_single_shot, rng), motion_start=0.5 if request.person.placed else 0.0
    )
    coil = _draw_coil(request, plan, rng)
    snr = rng.uniform(10, 45)
    return replace(plan, sequence=sequence).with_acquisition(coil=coil, snr=snr, flaws=flaws)


def is_localiser(plan: Plan) -> bool:
    """Whether a plan was made by `to_localiser`."""
    return plan.family.name in LOCALISER_NAMES


def stack_grid(plan: Plan, rng: np.random.Generator) -> Grid:
    """The field without tilt, in slices of 5 to 10 mm and pixels of 1.6 to 4 mm: 20 to 60 axial
    slices, fewer in the other planes.

    One in four coronal and sagittal stacks, half of those of heads, has 3 to 7 slices near the
    middle, 6 to 20 mm apart; of axial ones, one in seven.
    """
    slice_axis = SLICE_AXIS_BY_PLANE.get(plan.plane, 0)
    pixel_mm = round(rng.uniform(1.6, 4.0), 2)
    grid = with_axes(plan.grid, np.diag(plan.grid.spacing_mm))
    size_mm = np.asarray(grid.shape) * np.diag(grid.vox_to_ras)[:3]
    for axis in range(3):
        if axis != slice_axis:
            grid = cut_axis(grid, axis, 0.0, max(8, int(size_mm[axis] / pixel_mm)), pixel_mm)
    is_of_head = plan.family.name == LOCALISER_NAMES[0]
    is_axial = slice_axis == 2
    few_slices_share = 0.15
    if not is_axial:
        few_slices_share = 0.5 if is_of_head else 0.25
    has_few_slices = rng.random() < few_slices_share
    spacing_mm = rng.uniform(6, 20) if has_few_slices else rng.uniform(5, 10)
    most_slice_count = max(3, int(size_mm[slice_axis] / spacing_mm))
    slice_count_range = (20, 61) if is_axial else (10, 41)
    if has_few_slices:
        slice_count_range = (3, 8)
    slice_count = min(int(rng.integers(*slice_count_range)), most_slice_count)
    free_mm = size_mm[slice_axis] - slice_count * spacing_mm
    start_share = rng.uniform(0, 1) if is_axial else rng.uniform(0.4, 0.6)
    return cut_axis(
        grid, slice_axis, max(free_mm, 0.0) * start_share, slice_count, round(spacing_mm, 2)
    )


class QuickSequence(NamedTuple):
    """The sequence of a localiser, and whether it reads all lines of a slice after one excitation
    (single shot)."""

    sequence: Sequence
    is_single_shot: bool = False


def draw_quick_sequence(rng: np.random.Generator) -> QuickSequence:
    """The sequence of a localiser.

    Turbo FLASH: half with inversion, half with saturation preparation, 6 in 10 of the latter so
    late that contrast is flat.  At TE of 1.1 ms (3 T) and 2.3 ms (1.5 T) fat and water are in
    opposed phase, and every border between them is black.
    """
    kind_dice = rng.random()
    te = rng.uniform(1, 2.3)
    fat = "in phase"
    if rng.random() < 0.35:
        fat = "cancelling"
    elif rng.random() < 0.1:
        fat = "suppressed"
    flip_deg = rng.uniform(8, 15)
    if kind_dice < TURBO_FLASH_SHARE:
        return QuickSequence(_draw_turbo_flash(te, flip_deg, fat, rng))
    if kind_dice < TURBO_FLASH_SHARE + SINGLE_SHOT_SHARE:
        fat = "suppressed" if rng.random() < 0.15 else "in phase"
        te = rng.uniform(60, 120)
        name = "localiser, single-shot spin echo"
        return QuickSequence(Sequence(name, "spin echo", 10000, te, fat=fat), True)
    if kind_dice < TURBO_FLASH_SHARE + SINGLE_SHOT_SHARE + BALANCED_SHARE:
        tr = rng.uniform(3, 5)
        flip_deg = rng.uniform(40, 75)
        return QuickSequence(
            Sequence("localiser, balanced", "balanced", tr, tr / 2, flip_deg=flip_deg, fat=fat)
        )
    tr = rng.uniform(3, 12)
    flip_deg = rng.uniform(8, 30)
    name = "localiser, gradient echo"
    return QuickSequence(Sequence(name, "gradient echo", tr, te, flip_deg=flip_deg, fat=fat))


def _draw_turbo_flash(te: float, flip_deg: float, fat: str, rng: np.random.Generator) -> Sequence:
    """A train of gradient echoes after an inversion or a saturation."""
    flip_count = int(rng.integers(48, 129))
    flip_ms = rng.uniform(2, 5)
    kind = str(rng.choice(["magnetisation prepared", "saturation prepared"]))
    is_late = kind == "saturation prepared" and rng.random() < 0.6
    ti = max(
        rng.uniform(1200, 3500) if is_late else rng.uniform(300, 1200), flip_count * flip_ms / 2 + 5
    )
    tr = ti + flip_count * flip_ms / 2 + rng.uniform(100, 1500)
    return Sequence(
        "localiser, turbo FLASH", kind, tr, te, ti, flip_deg, fat, train=(flip_count, flip_ms)
    )


def _draw_flaws(plan: Plan, is_single_shot: bool, rng: np.random.Generator) -> Flaws:
    """Three in ten fold over, left to right or front to back; single shots are blurred along the
    phase axis; in one of five gradients fail in the corners, where signal piles up."""
    slice_axis = SLICE_AXIS_BY_PLANE.get(plan.plane, 0)
    phase_axis = 1 if slice_axis == 0 or (slice_axis == 2 and rng.random() < 0.4) else 0
    wraps_around = rng.random() < 0.3 and plan.grid.shape[phase_axis] > 24
    extent_mm = np.multiply(plan.grid.shape, plan.grid.spacing_mm)
    # only corners are lost: a scan without the middle of a side is repeated
    least_radius = 1.04 * float(extent_mm.max() / np.linalg.norm(extent_mm))
    gradient_radius = max(rng.uniform(0.72, 0.97), least_radius) if rng.random() < 0.2 else 0.0
    folded_count = 0
    if wraps_around:
        folded_count = max(1, round(plan.grid.shape[phase_axis] * rng.uniform(0.05, 0.2)))
    motion_voxels = rng.uniform(1.0, 2.2) if is_single_shot else 0.0
    kept_share = 1.0
    if is_single_shot or rng.random() < 0.3:
        kept_share = rng.uniform(0.5, 0.85)
    return Flaws(
        phase_axis,
        slice_axis,
        folded=folded_count,
        motion=motion_voxels,
        acquired_share=(kept_share, 1.0),
        ball=gradient_radius,
    )


def _draw_coil(request: ScanRequest, plan: Plan, rng: np.random.Generator) -> Coil:
    """In two of three, elements on the skin; else the body coil, uniform except along z, or any
    surface coil."""
    coil_dice = rng.random()
    if coil_dice < 0.68:
        coil = draw_skin_coil(request.person, plan.grid, plan.isocentre_mm, request.without, rng)
    elif coil_dice < 0.84:
        coil = Coil(fall_mm=rng.uniform(200, 300))
    else:
        coil = draw_surface_coil(plan.acquisition.coil, plan.grid, plan.isocentre_mm, rng)
    return replace(coil, bias=rng.uniform(0.05, 0.3)) if rng.random() < 0.3 else coil


def combine_flaws(flaws: Flaws, localiser_flaws: Flaws) -> Flaws:
    """`flaws` drawn for any image, combined with those a localiser has already (`localiser_flaws`):
    its axes, folding, blur and gradient fall-off."""
    is_blurred = localiser_flaws.acquired_share[0] < 1
    return replace(
        flaws,
        phase=localiser_flaws.phase,
        through=localiser_flaws.through,
        folded=localiser_flaws.folded,
        motion=localiser_flaws.motion or flaws.motion,
        acquired_share=(localiser_flaws if is_blurred else flaws).acquired_share,
        ball=localiser_flaws.ball,
    )
