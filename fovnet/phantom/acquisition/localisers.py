"""Localisers: quick overview scans from which the other fields of view are planned.

Stacks of thick slices with a large field of view, in a second or less each, received by any coil on the body,
without bias correction. Sources: Haase (1990), Magn Reson Med 13:77 (turbo FLASH); Kiefer et al. (1994), Proc
SMR 433 (HASTE); McRobbie et al., *MRI from Picture to Proton* (2017), chapters 7 and 13 (folding, single
shots).
"""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from fovnet.phantom.acquisition.coils import at_the_skin, fallen_off
from fovnet.phantom.acquisition.families import Family, one_of
from fovnet.phantom.acquisition.protocols import Plan, plan
from fovnet.phantom.acquisition.regrid import about_its_middle, recut, regridded
from fovnet.phantom.anatomy.body import Landmarks
from fovnet.phantom.geometry.raster import Grid
from fovnet.phantom.person.traits import Person
from fovnet.phantom.scanner.artefacts import ACROSS, Flaws
from fovnet.phantom.scanner.scan import Coil
from fovnet.phantom.scanner.sequence import Sequence

SHARE = 0.13  # of the three volumes in four that are not of a careful site: one in ten in all
LEAST_SNR = 8.0  # a localiser that does not show the outline is repeated

LOCALISERS: tuple[Family, ...] = (
    Family(
        "localiser, head",
        ("chin", -90, 50),
        ("vertex", 5, 110),
        (230, 360),
        (240, 360),
        "aaccsss",
        2.4,
        offset_y=(-15, 10),
    ),
    Family(
        "localiser, head and neck",
        ("lung_apex", -80, 20),
        ("vertex", -10, 80),
        (300, 450),
        (250, 350),
        "acss",
        1.0,
    ),
    Family(
        "localiser, chest",
        ("liver_dome", -110, 0),
        ("lung_apex", -20, 80),
        (350, 500),
        (270, 450),
        "aacs",
        1.5,
    ),
    Family(
        "localiser, abdomen",
        ("iliac_crest", -60, 20),
        ("liver_dome", -10, 110),
        (350, 500),
        (270, 450),
        "aaccs",
        1.5,
    ),
    Family(
        "localiser, pelvis",
        ("ischium", -140, 10),
        ("iliac_crest", -20, 90),
        (350, 500),
        (270, 450),
        "aaacs",
        2.8,
    ),
    Family(
        "localiser, knees",
        ("knee", -230, -90),
        ("knee", 90, 230),
        (340, 480),
        (220, 400),
        "aac",
        1.0,
    ),
    Family(
        "localiser, one knee",
        ("knee", -180, -90),
        ("knee", 90, 180),
        (200, 320),
        (220, 350),
        "acss",
        1.0,
        offset_x=(70, 110),
    ),
    Family(
        "localiser, thighs",
        ("knee", 40, 160),
        ("ischium", -60, 60),
        (350, 500),
        (270, 450),
        "aac",
        0.6,
    ),
    Family(
        "localiser, feet",
        ("sole", -80, -20),
        ("ankle", 60, 300),
        (300, 450),
        (250, 400),
        "acs",
        0.4,
    ),
    Family(
        "localiser, trunk",
        ("ischium", -120, 20),
        ("lung_apex", -40, 80),
        (380, 500),
        (280, 450),
        "accs",
        1.5,
        long=True,
    ),
    Family(
        "localiser, abdomen and pelvis",
        ("ischium", -100, 0),
        ("liver_dome", 0, 80),
        (350, 500),
        (270, 450),
        "aacs",
        1.5,
        long=True,
    ),
    Family(
        "localiser, chest and abdomen",
        ("iliac_crest", -60, 20),
        ("lung_apex", -20, 60),
        (350, 500),
        (270, 450),
        "aacs",
        long=True,
    ),
    Family(
        "localiser, pelvis and thighs",
        ("knee", 60, 250),
        ("iliac_crest", -10, 60),
        (380, 500),
        (280, 450),
        "aac",
        0.8,
        long=True,
    ),
)
"""Fields of view of localisers; most are wider than the body."""

NAMES = tuple(family.name for family in LOCALISERS)

# shares of localisers by kind of sequence; the rest are gradient echoes
TURBO_FLASH, SINGLE_SHOT, BALANCED = 0.5, 0.2, 0.18


def localiser(
    plain: Plan, person: Person, marks: Landmarks, at: int, rng: np.random.Generator
) -> Plan:
    """In one of eight a localiser with another field of view, else the plan as it is; a first volume still
    covers several regions."""
    if rng.random() > SHARE:
        return plain
    family = one_of([family for family in LOCALISERS if family.long == (at == 0)], rng)
    acquired = plan(person, marks, family, plain.site, rng)
    acquired = regridded(acquired, stacked(acquired, rng))
    sequence, single_shot = quick(rng)
    flaws = replace(_flaws(acquired, single_shot, rng), begun=0.5 if person.placed else 0.0)
    coil, snr = _coil(person, acquired, rng), rng.uniform(10, 45)
    return replace(acquired, sequence=sequence).received(coil=coil, snr=snr, flaws=flaws)


def is_localiser(acquired: Plan) -> bool:
    """Whether a plan was made by `localiser`."""
    return acquired.family.name in NAMES


def stacked(acquired: Plan, rng: np.random.Generator) -> Grid:
    """The field without tilt, in slices of 5 to 10 mm and pixels of 1.6 to 4 mm: 20 to 60 axial slices, fewer
    in the other planes.

    One in four coronal and sagittal stacks, half of those of heads, has 3 to 7 slices near the middle, 6 to
    20 mm apart; of axial ones, one in seven.
    """
    through = ACROSS.get(acquired.plane, 0)
    fine = round(rng.uniform(1.6, 4.0), 2)
    grid = about_its_middle(acquired.grid, np.diag(acquired.grid.spacing_mm))
    size = np.asarray(grid.shape) * np.diag(grid.vox_to_ras)[:3]
    for axis in range(3):
        if axis != through:
            grid = recut(grid, axis, 0.0, max(8, int(size[axis] / fine)), fine)
    head = acquired.family.name == NAMES[0]
    few = rng.random() < (0.5 if head and through < 2 else 0.25 if through < 2 else 0.15)
    spacing = rng.uniform(6, 20) if few else rng.uniform(5, 10)
    most = max(3, int(size[through] / spacing))
    usual = (3, 8) if few else (20, 61) if through == 2 else (10, 41)
    slices = min(int(rng.integers(*usual)), most)
    free = size[through] - slices * spacing
    share = rng.uniform(0, 1) if through == 2 else rng.uniform(0.4, 0.6)
    return recut(grid, through, max(free, 0.0) * share, slices, round(spacing, 2))


def quick(rng: np.random.Generator) -> tuple[Sequence, bool]:
    """The sequence of a localiser, and whether it reads all lines of a slice after one excitation (single
    shot).

    Turbo FLASH: half with inversion, half with saturation preparation, 6 in 10 of the latter so late that
    contrast is flat.  At TE of 1.1 ms (3 T) and 2.3 ms (1.5 T) fat and water are in opposed phase, and every
    border between them is black.
    """
    dice, te = rng.random(), rng.uniform(1, 2.3)
    against = (
        "cancelling" if rng.random() < 0.35 else "suppressed" if rng.random() < 0.1 else "in phase"
    )
    flip = rng.uniform(8, 15)
    if dice < TURBO_FLASH:
        flips, flip_ms = int(rng.integers(48, 129)), rng.uniform(2, 5)
        kind = str(rng.choice(["magnetisation prepared", "saturation prepared"]))
        late = kind == "saturation prepared" and rng.random() < 0.6
        ti = max(
            rng.uniform(1200, 3500) if late else rng.uniform(300, 1200), flips * flip_ms / 2 + 5
        )
        tr = ti + flips * flip_ms / 2 + rng.uniform(100, 1500)
        return Sequence(
            "localiser, turbo FLASH", kind, tr, te, ti, flip, against, train=(flips, flip_ms)
        ), False
    if dice < TURBO_FLASH + SINGLE_SHOT:
        fat = "suppressed" if rng.random() < 0.15 else "in phase"
        return Sequence(
            "localiser, single-shot spin echo", "spin echo", 10000, rng.uniform(60, 120), fat=fat
        ), True
    if dice < TURBO_FLASH + SINGLE_SHOT + BALANCED:
        tr = rng.uniform(3, 5)
        return Sequence(
            "localiser, balanced", "balanced", tr, tr / 2, flip_deg=rng.uniform(40, 75), fat=against
        ), False
    return Sequence(
        "localiser, gradient echo",
        "gradient echo",
        rng.uniform(3, 12),
        te,
        flip_deg=rng.uniform(8, 30),
        fat=against,
    ), False


def _flaws(acquired: Plan, single_shot: bool, rng: np.random.Generator) -> Flaws:
    """Three in ten fold over, left to right or front to back; single shots are blurred along the phase axis;
    in one of five gradients fail in the corners, where signal piles up."""
    through = ACROSS.get(acquired.plane, 0)
    phase = 1 if through == 0 or (through == 2 and rng.random() < 0.4) else 0
    folds = rng.random() < 0.3 and acquired.grid.shape[phase] > 24
    half = np.multiply(acquired.grid.shape, acquired.grid.spacing_mm)
    # only corners are lost: a scan without the middle of a side is repeated
    middles = 1.04 * float(half.max() / np.linalg.norm(half))
    ball = max(rng.uniform(0.72, 0.97), middles) if rng.random() < 0.2 else 0.0
    return Flaws(
        phase,
        through,
        folded=max(1, round(acquired.grid.shape[phase] * rng.uniform(0.05, 0.2))) if folds else 0,
        motion=rng.uniform(1.0, 2.2) if single_shot else 0.0,
        kept=(rng.uniform(0.5, 0.85), 1.0) if single_shot or rng.random() < 0.3 else (1.0, 1.0),
        ball=ball,
    )


def _coil(person: Person, acquired: Plan, rng: np.random.Generator) -> Coil:
    """In two of three, elements on the skin; else the body coil, uniform except along z, or any surface
    coil."""
    dice = rng.random()
    if dice < 0.68:
        coil = at_the_skin(person, acquired.grid, acquired.isocentre_mm, rng)
    elif dice < 0.84:
        coil = Coil(fall_mm=rng.uniform(200, 300))
    else:
        coil = fallen_off(acquired.acquisition.coil, acquired.grid, acquired.isocentre_mm, rng)
    return replace(coil, bias=rng.uniform(0.05, 0.3)) if rng.random() < 0.3 else coil


def with_own(flaws: Flaws, own: Flaws) -> Flaws:
    """`flaws` drawn for any image, combined with those a localiser has already (`own`): its axes, folding,
    blur and gradient fall-off."""
    return replace(
        flaws,
        phase=own.phase,
        through=own.through,
        folded=own.folded,
        motion=own.motion or flaws.motion,
        kept=own.kept if own.kept[0] < 1 else flaws.kept,
        ball=own.ball,
    )
