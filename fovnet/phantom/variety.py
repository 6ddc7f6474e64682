"""From a plain acquisition to one that an archive holds, feature by feature.

Every feature has a generator of its own, so that leaving one out changes nothing in the others; each change returns the plan itself where
the dice leave it alone.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import replace

import numpy as np
from nibabel.orientations import inv_ornt_aff
from numpy.typing import NDArray

from fovnet.phantom.artefacts import draw_flaws
from fovnet.phantom.body import Landmarks
from fovnet.phantom.contrasts import freely
from fovnet.phantom.echo_planar import EchoPlanar
from fovnet.phantom.families import small_family
from fovnet.phantom.headers import as_picture, draw_turn, region_alone
from fovnet.phantom.heart import long_axis, toward_the_right
from fovnet.phantom.masks import BRAIN, draw_finish, stripped
from fovnet.phantom.person import Person
from fovnet.phantom.protocols import Plan, label_voxels, plan
from fovnet.phantom.raster import Grid
from fovnet.phantom.scanner import Coil
from fovnet.phantom.sequence import Sequence
from fovnet.volume.orient import closest_axes

SMALL_SHARE = 0.62      # of a person's volumes but the first, which covers several regions
CAREFUL_SHARE = 0.25    # of all volumes
TRUE_HEADERS = 0.9      # of tilted volumes; the others claim to lie along the scanner's axes
SHORT_AXIS = "heart, short axis"
ALONE = "brain alone"           # always without its skull
SHORT_AXIS_SHARE = 0.45         # of the hearts along their own axes
DIFFUSION_PLANAR = 0.8          # of diffusion images; the others are read line by line, or in turns
FUNCTIONAL_SHARE = 1 / 8        # of heads: the commonest study of brains in public collections
FUNCTIONAL = Sequence("echo planar", "gradient echo", 2000, 30, flip_deg=77, fat="suppressed")
LONG_AXIS = "heart, long axis"
LONG_AXIS_SHARE = 0.15          # of the hearts along their own axes: four chambers or two, in few slices
HEART_SEQUENCES: tuple[tuple[Sequence, float], ...] = (
    (Sequence("cine, balanced", "balanced cine", 3.2, 1.6, flip_deg=45, fat="cancelling"), 0.5),
    (Sequence("cine, spoiled", "inflow", 15, 1.5, flip_deg=18), 0.15),      # blood 1, fat 0.57, muscle 0.2
    (Sequence("late enhancement", "inversion gradient echo", 700, 2.0, ti=240, contrast=True), 0.12),
)
"""What hearts along their own axes are scanned with, and how often; the others as any heart.  Free contrasts leave about half."""
PICTURE_SHARE = 0.75            # of hearts under a turned header: pictures in the order of their columns, whose first is the heart's right
TURNED_SHARE = 1 / 6            # of volumes that show one region alone
TURNED_SHORT_AXES = 0.65        # archives of hearts keep them as stacks of pictures
STANDING_WAVE_SHARE = 0.25
"""Of heads, those that are brightest in their middle, as standing waves make them at 3 T and above; how many is a guess."""
UNSUPPRESSED_SHARE = 0.4        # of volumes with suppressed fat: away from brain and knee it seldom succeeds everywhere
ARRAY_MM = 260.0                # least width and depth of a field that arrays on the skin receive: that of a trunk
OF_THE_CHEST = 0.5
"""Least share of a field about a heart or breast that is chest: both reach below the liver's dome, and what is shown is still the chest."""


def varied(plain: Plan, person: Person, marks: Landmarks, key: tuple[int, int, int], without: frozenset[str] = frozenset()) -> Plan:
    """The plan of volume `key` (collection seed, subject, number of the volume) with every feature that is not left out.

    One volume of four is as a careful site makes it, of however small a field of view.
    """
    acquired = plain
    careful = np.random.default_rng([*key, 6]).random() < CAREFUL_SHARE
    for number, (name, change) in enumerate(CHANGES.items()):
        if name not in without and not (careful and number):
            acquired = change(acquired, person, marks, key[2], np.random.default_rng([*key, 5, number]))
    return acquired


def _small_field(plain: Plan, person: Person, marks: Landmarks, at: int, rng: np.random.Generator) -> Plan:
    """A field of view of one organ or of any place instead; hearts mostly, others now and then, along their own axes."""
    if at == 0 or rng.random() > SMALL_SHARE:
        return plain
    family = small_family(person, marks, rng)
    acquired = plan(person, marks, family, plain.site, rng)
    chance, most = (0.7, 60.0) if family.name.startswith("heart") else (0.12, 35.0)
    dice = rng.random()
    if family.name.startswith("heart") and dice < chance * (SHORT_AXIS_SHARE + LONG_AXIS_SHARE):
        return (_short_axis if dice < chance * SHORT_AXIS_SHARE else _long_axis)(acquired, person, rng)
    return _tilted(acquired, most, rng) if dice < chance else acquired


def _tilted(acquired: Plan, most_deg: float, rng: np.random.Generator) -> Plan:
    """The same field of view turned about two axes, by 8° to `most_deg` each."""
    grid = acquired.grid
    turn = np.eye(3)
    for axis in rng.permutation(3)[:2].tolist():
        angle = np.deg2rad(rng.uniform(8, most_deg) * rng.choice([-1, 1]))
        a, b = [other for other in range(3) if other != axis]
        step = np.eye(3)
        step[[a, a, b, b], [a, b, a, b]] = np.cos(angle), -np.sin(angle), np.sin(angle), np.cos(angle)
        turn = step @ turn
    turned = canonical(_about_its_middle(grid, turn @ grid.vox_to_ras[:3, :3]))
    return replace(_regridded(acquired, turned), tilted=True, truthful=bool(rng.random() < TRUE_HEADERS))


def _short_axis(acquired: Plan, person: Person, rng: np.random.Generator) -> Plan:
    """A stack across the heart's long axis, from about the apex to the base or beyond, in one of the sizes that hearts are kept in.

    A left ventricle is some 9 cm long: 8 to 14 slices of 6 to 10 mm hold it, or leave a little of it out.
    """
    apex, base = long_axis(person)
    through = _planned((base - apex) / np.linalg.norm(base - apex), rng)
    thick = rng.uniform(6.0, 10.0)
    slices = int(np.clip(round(rng.uniform(70, 125) / thick), 8, 14))
    middle = (apex + base) / 2 + through * rng.uniform(-5, 15)
    return _own_axes(acquired, SHORT_AXIS, middle, through, (thick, slices), rng)


def _long_axis(acquired: Plan, person: Person, rng: np.random.Generator) -> Plan:
    """A few slices along the heart's long axis: through both ventricles and both atria, or through the left ones from top to bottom."""
    apex, base = long_axis(person)
    along, right = (base - apex) / np.linalg.norm(base - apex), toward_the_right(person)
    up = np.cross(right, along)
    through = _planned(up / np.linalg.norm(up) if rng.random() < 0.6 else right, rng)
    middle = apex + (base - apex) * rng.uniform(0.6, 1.1)
    return _own_axes(acquired, LONG_AXIS, middle, through, (rng.uniform(5.0, 8.0), int(rng.integers(3, 9))), rng)


def _planned(direction: NDArray[np.float64], rng: np.random.Generator) -> NDArray[np.float64]:
    """The direction as planned by eye: about 6° beside it, of length 1."""
    beside = direction + rng.normal(0, 0.07, 3)
    return np.asarray(beside / np.linalg.norm(beside))


def _heart_field_mm(rng: np.random.Generator) -> float:
    """Width of a picture of the heart: cropped about the left ventricle, zoomed, or all of the chest as it was scanned."""
    return float(rng.uniform(*((100, 170), (170, 260), (260, 400))[int(rng.choice(3, p=[0.45, 0.25, 0.3]))]))


def _own_axes(
    acquired: Plan, name: str, middle: NDArray[np.float64], through: NDArray[np.float64], cuts: tuple[float, int], rng: np.random.Generator
) -> Plan:
    """A stack of `cuts` (mm, slices) about `middle`, whose pictures have the head on top, give or take what the planning turns them.

    The scanner keeps a double oblique picture as near to upright as it can; one in four was turned on, along the septum.
    """
    up = np.array([0.0, 0.0, 1.0]) - through * through[2]
    if np.linalg.norm(up) < 0.5:        # nearly axial: the front is on top
        up = np.array([0.0, 1.0, 0.0]) - through * through[1]
    up /= np.linalg.norm(up)
    turn = np.deg2rad(rng.normal(0, 12) if rng.random() < 0.75 else rng.uniform(-60, 60))
    up = up * np.cos(turn) + np.cross(through, up) * np.sin(turn)
    wide, (thick, slices) = _heart_field_mm(rng), cuts
    fine, tall = max(wide / 256, rng.uniform(1.2, 2.0)), wide * (rng.uniform(0.75, 1.0) if wide > 170 else 1.0)
    shape = (round(wide / fine), round(tall / fine), slices)
    affine = np.eye(4)
    affine[:3, :3] = np.column_stack([np.cross(up, through) * fine, up * fine, through * thick])
    inwards = -middle * (1.0, 1.0, 0.0) * rng.uniform(0.0, 0.8) * np.clip((wide - 170) / 200, 0, 1)    # whole chests are planned as such
    centre = middle + inwards - through * (inwards @ through) + rng.normal(0, 6, 3)
    affine[:3, 3] = centre - affine[:3, :3] @ ((np.asarray(shape) - 1) / 2)
    stack = _regridded(acquired, canonical(Grid(shape, affine)))
    plane = ("sagittal", "coronal", "axial")[int(np.abs(through).argmax())]
    family = replace(acquired.family, name=name)
    sequence = _heart_sequence(acquired.sequence, rng)
    return replace(stack, family=family, plane=plane, sequence=sequence, tilted=True, truthful=bool(rng.random() < TRUE_HEADERS))


def _heart_sequence(other: Sequence, rng: np.random.Generator) -> Sequence:
    """One of HEART_SEQUENCES, its times 15 % about what is written, or the other."""
    dice = rng.random()
    for sequence, share in HEART_SEQUENCES:
        dice -= share
        if dice < 0:
            return replace(sequence, tr=sequence.tr * rng.uniform(0.85, 1.15), ti=sequence.ti * rng.uniform(0.85, 1.15))
    return other


def canonical(grid: Grid) -> Grid:
    """The grid with its axes in the closest RAS order, covering the same voxels."""
    order = closest_axes(grid.vox_to_ras)
    affine = grid.vox_to_ras @ inv_ornt_aff(order, grid.shape)  # type: ignore[no-untyped-call]
    shape = [0, 0, 0]
    for axis, (becomes, _) in enumerate(order.tolist()):
        shape[int(becomes)] = grid.shape[axis]
    return Grid((shape[0], shape[1], shape[2]), np.asarray(affine))


def _about_its_middle(grid: Grid, axes: NDArray[np.float64]) -> Grid:
    """The grid with other axes (3, 3), mm a voxel, its middle where it was."""
    half = (np.asarray(grid.shape) - 1) / 2
    affine = np.eye(4)
    affine[:3, :3] = axes
    affine[:3, 3] = grid.vox_to_ras[:3, :3] @ half + grid.vox_to_ras[:3, 3] - axes @ half
    return Grid(grid.shape, affine)


def recut(grid: Grid, axis: int, first_mm: float, slices: int, spacing_mm: float) -> Grid:
    """The grid with `slices` voxels of `spacing_mm` along an axis, the first beginning `first_mm` behind the edge."""
    old_mm = float(np.linalg.norm(grid.vox_to_ras[:3, axis]))
    affine = grid.vox_to_ras.copy()
    affine[:3, 3] += affine[:3, axis] * ((first_mm + spacing_mm / 2) / old_mm - 0.5)
    affine[:3, axis] *= spacing_mm / old_mm
    shape = list(grid.shape)
    shape[axis] = slices
    return Grid((shape[0], shape[1], shape[2]), affine)


def _thin_slab(plain: Plan, person: Person, marks: Landmarks, at: int, rng: np.random.Generator) -> Plan:
    """Fewer slices, wider apart, or coarser voxels; coronal and sagittal stacks a few centimetres deep show strips of the body."""
    through = slice_axis(plain)
    grid, dice = plain.grid, rng.random()
    step = float(np.linalg.norm(grid.vox_to_ras[:3, through]))
    whole = grid.shape[through] * step
    if dice < 0.07:
        spacing, slices = float(rng.uniform(9, 20)), int(rng.integers(3, 8))
    elif dice < 0.17:
        spacing = float(np.clip(step * rng.uniform(1.3, 2.5), 4, 12))
        slices = max(3, int(whole / spacing))
    elif dice < 0.23:
        return _regridded(plain, _coarse(grid, float(rng.uniform(4.5, 6.5))))
    elif plain.plane == "axial" and dice < 0.38:
        spacing, slices = step, int(rng.integers(3, 13))
    elif plain.plane in ("coronal", "sagittal") and dice < 0.54:
        spacing = step
        slices = max(3, round(float(rng.uniform(25, 100)) / step))
    else:
        return plain
    slices = min(slices, max(3, int(whole / spacing)))
    free = max(whole - slices * spacing, 0.0)
    share = rng.uniform(0, 1) if plain.plane == "axial" else rng.uniform(0.15, 0.85)
    return _regridded(plain, recut(grid, through, free * share, slices, round(spacing, 2)))


def slice_axis(acquired: Plan) -> int:
    """The axis across the slices: the coarsest, or where all are alike the one of the plane."""
    named = {"axial": 2, "coronal": 1}.get(acquired.plane, 0)
    spacing = np.linalg.norm(acquired.grid.vox_to_ras[:3, :3], axis=0)
    return named if spacing[named] >= spacing.max() * 0.99 else int(spacing.argmax())


def _coarse(grid: Grid, spacing_mm: float) -> Grid:
    """The grid with voxels of at least that size."""
    for axis in range(3):
        old_mm = float(np.linalg.norm(grid.vox_to_ras[:3, axis]))
        if old_mm < spacing_mm:
            grid = recut(grid, axis, 0.0, max(4, round(grid.shape[axis] * old_mm / spacing_mm)), spacing_mm)
    return grid


def _regridded(plain: Plan, grid: Grid) -> Plan:
    spacing = np.linalg.norm(grid.vox_to_ras[:3, :3], axis=0)
    return replace(plain, grid=grid, acquisition=replace(plain.acquisition, average=label_voxels(spacing, grid.shape)))


def _free_contrast(plain: Plan, person: Person, marks: Landmarks, at: int, rng: np.random.Generator) -> Plan:
    sequence, contrast = freely(plain.sequence, rng, _of_head(plain))
    return replace(plain, sequence=sequence, acquisition=replace(plain.acquisition, contrast=contrast))


def _coil_fall_off(plain: Plan, person: Person, marks: Landmarks, at: int, rng: np.random.Generator) -> Plan:
    coil = fallen_off(plain.acquisition.coil, plain.grid, np.asarray(plain.isocentre_mm), rng)
    if _of_head(plain) and rng.random() < STANDING_WAVE_SHARE:
        coil = _bright_within(coil, plain, rng)
    return replace(plain, acquisition=replace(plain.acquisition, coil=coil))


def _bright_within(coil: Coil, plain: Plan, rng: np.random.Generator) -> Coil:
    """A head whose middle is the brightest, the scalp a half to four fifths of that."""
    i, j, k = ((size - 1) / 2 for size in plain.grid.shape)
    middle = plain.grid.vox_to_ras[:3] @ (i, j, k, 1.0) - plain.isocentre_mm + rng.normal(0, 12, 3)
    centre = (float(middle[0]), float(middle[1]), float(middle[2]))
    return replace(coil, centres_mm=(centre,), reach_mm=float(rng.uniform(70, 120)), depth=float(rng.uniform(0.5, 0.95)))


def fallen_off(coil: Coil, grid: Grid, isocentre_mm: NDArray[np.float64], rng: np.random.Generator) -> Coil:
    """One element close to one side of the grid in three of ten volumes, a smooth uncorrected field in four of ten; else the coil.

    Of large fields one in seven is heard by arrays of small elements next to the skin.
    """
    dice = rng.random(2)
    corners = np.array([[i, j, k] for i in (0, 1) for j in (0, 1) for k in (0, 1)]) * (np.asarray(grid.shape) - 1)
    places = corners @ grid.vox_to_ras[:3, :3].T + grid.vox_to_ras[:3, 3] - isocentre_mm
    low, high = places.min(axis=0), places.max(axis=0)
    if dice[0] < 0.3:
        middle, half = (low + high) / 2, (high - low) / 2
        side, sign = int(rng.choice([0, 1, 1])), float(rng.choice([-1, 1]))
        middle[side] += sign * (min(half[side], 220.0) + rng.uniform(-30, 20))
        middle[2] += rng.uniform(-0.3, 0.3) * min(half[2], 150.0)
        coil = Coil(((float(middle[0]), float(middle[1]), float(middle[2])),), float(rng.uniform(45, 130)), float(rng.uniform(0.85, 1.0)))
    elif dice[0] > 0.85 and min(high[0] - low[0], high[1] - low[1]) > ARRAY_MM:
        coil = _arrays(low, high, rng)
    elif dice[0] < 0.4 and high[2] - low[2] < 700:
        coil = replace(coil, fall_mm=float(rng.uniform(110, 230)))
    if dice[1] < 0.4:
        coil = replace(coil, bias=float(rng.uniform(0.08, 0.4)))
    return coil


def _arrays(low: NDArray[np.float64], high: NDArray[np.float64], rng: np.random.Generator) -> Coil:
    """Small elements in the table and in a mat on the body, side by side; skin and fat next to them are white, and what lies deep is grey.

    Elements of 4 to 10 cm are heard to about their radius; one mat of three is left out, and single elements hear twice the noise.
    """
    size, (back, front) = high - low, rng.uniform(10, 55, 2)        # the skin lies 12 to 45 mm within the field
    rows = [low[1] + back, high[1] - front][slice(*((0, 2), (0, 1), (1, 2))[int(rng.choice(3, p=[0.7, 0.2, 0.1]))])]
    step, middle = rng.uniform(80, 140), (low + high) / 2
    across = np.arange(-1.5, 2) * step * min(1.0, size[0] / (4 * step)) + rng.normal(0, 12)
    along = np.arange(middle[2] - min(size[2] / 2, 220.0), middle[2] + min(size[2] / 2, 220.0) + 1, step)
    places = [(float(middle[0] + x), float(y), float(z)) for y in rows for x in across for z in along]
    heard = tuple(place for place in places if rng.random() < 0.85) or tuple(places)
    return Coil(heard, float(rng.uniform(20, 50)), float(rng.uniform(0.85, 0.98)), float(rng.uniform(180, 330)))


def _artefacts(plain: Plan, person: Person, marks: Landmarks, at: int, rng: np.random.Generator) -> Plan:
    """Flaws of the image; noise from a fifth to five times the site's; folding where the field of view is narrow."""
    flaws = draw_flaws(plain.plane, rng)
    snr, dice = plain.acquisition.snr, rng.random(2)
    if dice[0] < 0.35:
        snr *= float(np.exp(rng.uniform(-1.8, 0.9)))
    grid = plain.grid
    if dice[1] < 0.12 and flaws.phase < 2 and not plain.tilted:
        margin = max(1, round(grid.shape[flaws.phase] * float(rng.uniform(0.06, 0.25))))
        step = float(np.linalg.norm(grid.vox_to_ras[:3, flaws.phase]))
        grid = recut(grid, flaws.phase, -margin * step, grid.shape[flaws.phase] + 2 * margin, step)
        flaws = replace(flaws, folded=margin)
    if rng.random() < UNSUPPRESSED_SHARE:
        flaws = replace(flaws, unsuppressed=float(rng.uniform(0.05, 0.45)))
    return _echo_planar(replace(plain, grid=grid, acquisition=replace(plain.acquisition, snr=snr, flaws=flaws)), rng)


def _echo_planar(plain: Plan, rng: np.random.Generator) -> Plan:
    """Most diffusion images, and of heads one of eight, as in a functional study: read after one excitation, in voxels of 2 to 4 mm."""
    diffusion = plain.sequence.b > 0 or plain.sequence.kind == "diffusion coefficient"
    functional = not diffusion and _of_head(plain)
    if rng.random() > (DIFFUSION_PLANAR if diffusion else FUNCTIONAL_SHARE if functional else 0.0):
        return plain
    acquisition, sequence = plain.acquisition, plain.sequence
    if functional:
        sequence = replace(FUNCTIONAL, te=float(rng.uniform(22, 45)), tr=float(rng.uniform(700, 3000)))
    flaws = replace(acquisition.flaws, ghost=(float(rng.uniform(0, 0.08)), 2))        # every other line is read backwards
    planar = EchoPlanar(flaws.phase, flaws.through, float(rng.uniform(18, 80) * rng.choice([-1, 1])), sequence.te if functional else 0.0)
    coarse = _regridded(plain, _coarse(plain.grid, float(rng.uniform(1.8, 4.0)))) if not flaws.folded else plain
    return replace(coarse, sequence=sequence, acquisition=replace(coarse.acquisition, flaws=flaws, planar=planar))


def _of_head(plain: Plan) -> bool:
    """Whether the field of view is of a head without the neck, or of a brain."""
    return plain.family.high[0] == "vertex" and plain.family.low[0] == "chin"


def _masks(plain: Plan, person: Person, marks: Landmarks, at: int, rng: np.random.Generator) -> Plan:
    finish = draw_finish(_of_head(plain), plain.grid.shape, rng)
    if plain.family.name == ALONE and finish.hides != BRAIN:
        finish = stripped(finish, rng)
    return replace(plain, finish=replace(finish, hides="") if plain.acquisition.flaws.folded else finish)


def _turned_header(plain: Plan, person: Person, marks: Landmarks, at: int, rng: np.random.Generator) -> Plan:
    """A header of plain voxel sizes, where one region of the chain is all there is to see, along whichever axis it is cut."""
    own_axes = plain.family.name in (SHORT_AXIS, LONG_AXIS)
    share = TURNED_SHORT_AXES if own_axes else TURNED_SHARE
    least = OF_THE_CHEST if plain.family.name.startswith(("heart", "breast")) else 1.0
    dice, isotropic_axis = rng.random(), int(rng.integers(3))
    if dice > share or plain.family.protocol or region_alone(plain.grid, marks, least) is None:
        return plain
    spacing = np.linalg.norm(plain.grid.vox_to_ras[:3, :3], axis=0)
    through = isotropic_axis if spacing.max() < 1.05 * spacing.min() else slice_axis(plain)
    turn = draw_turn(through, rng)
    if own_axes and rng.random() < PICTURE_SHARE:
        turn = as_picture(through, rng)
    return replace(plain, turn=turn, stored_axes=np.column_stack([np.arange(3), np.ones(3)]).astype(np.int64))


Change = Callable[[Plan, Person, Landmarks, int, np.random.Generator], Plan]
CHANGES: Mapping[str, Change] = {
    "small fields": _small_field,
    "thin slabs": _thin_slab,
    "free contrasts": _free_contrast,
    "coil fall-off": _coil_fall_off,
    "artefacts": _artefacts,
    "masks": _masks,
    "turned headers": _turned_header,
}
"""What each of `features.SCANNING` does to a plan, in the order in which it is done."""
