"""The acquisition of a family of fields of view: planes, spacings, sequences, coils and storage.

This is a standard acquisition of a careful site; `variety` derives less usual ones from it.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from fovnet.phantom.acquisition.families import LEG_MASS, Family
from fovnet.phantom.anatomy.body import Landmarks
from fovnet.phantom.finish.headers import Turn
from fovnet.phantom.finish.masks import Finish
from fovnet.phantom.geometry.raster import Grid
from fovnet.phantom.person.traits import Person
from fovnet.phantom.scanner.artefacts import PLANES
from fovnet.phantom.scanner.scan import Acquisition, Coil
from fovnet.phantom.scanner.sequence import Sequence

FINE_MM = 2.6  # size limit of label voxels; a thicker voxel is the mean of several
MOST_LABELS = 5_000_000  # most label voxels of a volume: about a second on one core


SEQUENCES: tuple[Sequence, ...] = (
    Sequence("T1 spin echo", "spin echo", 550, 12),
    Sequence("T2 spin echo", "spin echo", 4500, 95),
    Sequence("T2 spin echo, fat suppressed", "spin echo", 4500, 85, fat="suppressed"),
    Sequence("PD spin echo", "spin echo", 3200, 28),
    Sequence("STIR", "inversion recovery", 5000, 55, ti=165),
    Sequence("T1 gradient echo", "gradient echo", 150, 4.6, flip_deg=65),
    Sequence(
        "T1 gradient echo, opposed phase",
        "gradient echo",
        150,
        2.3,
        flip_deg=65,
        fat="opposed phase",
    ),
    Sequence(
        "T1 gradient echo, fat suppressed", "gradient echo", 5, 2.2, flip_deg=12, fat="suppressed"
    ),
    Sequence(
        "T1 gradient echo, contrast, fat suppressed",
        "gradient echo",
        5,
        2.2,
        flip_deg=12,
        fat="suppressed",
        contrast=True,
    ),
    Sequence("Dixon water", "gradient echo", 7, 2.4, flip_deg=10, fat="water only"),
    Sequence("Dixon fat", "gradient echo", 7, 2.4, flip_deg=10, fat="fat only"),
    Sequence("T2* gradient echo", "gradient echo", 500, 15, flip_deg=25),
    Sequence("balanced", "balanced", 4, 2, flip_deg=55),
)
"""The sequences; every acquisition varies their times by up to 15 %."""

HEAD_SEQUENCES: tuple[Sequence, ...] = (
    *SEQUENCES[:5],
    Sequence("FLAIR", "inversion recovery", 9000, 110, ti=2500),
    Sequence("T1 inversion recovery", "inversion recovery", 2300, 4, ti=900),
)

BREAST_SEQUENCES = tuple(SEQUENCES[at] for at in (7, 8, 7, 8, 8, 2, 4, 9, 5, 1))
"""For breasts: eight in ten with suppressed fat, half of all quick gradient echoes of a dynamic series."""

MASS_SEQUENCES = tuple(SEQUENCES[at] for at in (2, 2, 4, 4, 0, 8, 1))
"""For masses in a leg: half with bright water and dark fat, in which little of the leg beside the mass is
visible."""


@dataclass(frozen=True)
class Site:
    """A simulated site: its name, its scanner, and what its images tend to be like."""

    name: str
    manufacturer: str
    field_strengths: tuple[float, ...]
    snr: float
    thicker: float
    oblique: float


SITES: tuple[Site, ...] = (
    Site("site-a", "Simulated One", (1.5,), 32.0, 1.15, 0.15),
    Site("site-b", "Simulated Two", (1.5, 3.0), 45.0, 1.0, 0.3),
    Site("site-c", "Simulated Three", (3.0,), 55.0, 0.9, 0.25),
)


@dataclass(frozen=True)
class Plan:
    """Everything that defines one acquisition.

    grid         of the acquired voxels, axes near RAS+, in mm of the person (z from the soles)
    isocentre_mm (3,) the point of the person at the scanner's origin
    stored_axes  (3, 2) for each canonical axis the stored axis it becomes and its direction, nibabel's
                 orientation array
    finish       processing of the image afterwards
    tilted       whether the slices are far from the scanner's planes;  truthful  whether the header states
        the true orientation
    turn         the axes claimed by a header of plain voxel sizes; () for a header that states the true axes
    """

    family: Family
    site: Site
    plane: str
    grid: Grid
    isocentre_mm: NDArray[np.float64]
    sequence: Sequence
    acquisition: Acquisition
    stored_axes: NDArray[np.int64]
    finish: Finish = Finish()  # noqa: RUF009  (frozen)
    tilted: bool = False
    truthful: bool = True
    turn: Turn = ()

    def received(self, **changes: Any) -> Plan:
        """The plan with other fields of its `acquisition`."""
        return replace(self, acquisition=replace(self.acquisition, **changes))


def plan(
    person: Person, marks: Landmarks, family: Family, site: Site, rng: np.random.Generator
) -> Plan:
    """One acquisition of that family at that site, all else drawn at random."""
    letter = str(rng.choice(list(family.planes)))
    plane = next(plane for plane in PLANES if plane.startswith(letter))
    low, high = _field(person, marks, family, rng)
    spacing = _spacing(family, plane, site, high - low, rng)
    shape = np.maximum(np.rint((high - low) / spacing), 4).astype(int)
    centre = (low + high) / 2
    grid = grid_about(centre, _tilt(site, high - low, rng) * spacing, shape)
    field_strength = float(rng.choice(site.field_strengths))
    isocentre = np.round(centre + rng.normal(0, (5, 5, 15)), 1)
    return Plan(
        family,
        site,
        plane,
        grid,
        isocentre,
        _sequence(family, rng),
        Acquisition(
            field_strength,
            label_voxels(spacing, grid.shape),
            site.snr * rng.lognormal(0, 0.35),
            _coil(family, low - isocentre, high - isocentre, rng),
        ),
        _storage(plane, rng),
    )


def grid_about(middle_mm: NDArray[np.float64], axes: NDArray[np.float64], shape: ArrayLike) -> Grid:
    """So many voxels about a point, with axes (3, 3) in mm per voxel."""
    affine = np.eye(4)
    affine[:3, :3] = axes
    affine[:3, 3] = middle_mm - affine[:3, :3] @ ((np.asarray(shape) - 1) / 2)
    i, j, k = np.asarray(shape).tolist()
    return Grid((i, j, k), affine)


def _field(
    person: Person, marks: Landmarks, family: Family, rng: np.random.Generator
) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Lowest and highest corner of the field of view, mm of the person."""
    (lower, *low), (upper, *high) = family.low, family.high
    z0 = getattr(marks, lower) + rng.uniform(low[0], low[1])
    z1 = getattr(marks, upper) + rng.uniform(high[0], high[1])
    trunk = (
        2
        * (172 + 1.4 * person.fat_mm + person.figure.wider_mm(person.fat_mm))
        * person.morph.trunk_at_most[0]
    )
    belly = 2.6 * person.fat_mm + max(person.belly_mm, 0) + person.figure.deeper_mm(person.fat_mm)
    depth = (225 + belly) * person.morph.trunk_at_most[1] + 25
    # with, without, or with half an arm
    wide = rng.uniform(*family.wide) if family.wide[1] else trunk + rng.uniform(-15, 160)
    deep = rng.uniform(*family.deep) if family.deep[1] else depth + rng.uniform(0, 60)
    x = rng.uniform(*family.offset_x) * float(
        rng.choice([-1, 1]) if family.offset_x[0] > 0 and family.either_side else 1
    )
    y = rng.uniform(*family.offset_y) if family.offset_y[0] else rng.uniform(-6, 6)
    # without an offset the field follows bent legs
    if person.morph.lift_mm and not family.offset_y[0]:
        ahead = person.morph.ahead_mm(z0, z1)
        y, deep = y + sum(ahead) / 2, deep + (0.0 if family.deep[1] else ahead[1] - ahead[0])
    x, y = (x + rng.uniform(-6, 6)) * person.morph.trunk[0], y * person.morph.trunk[1]
    return np.array([x - wide / 2, y - deep / 2, z0]), np.array([x + wide / 2, y + deep / 2, z1])


def _spacing(
    family: Family, plane: str, site: Site, size_mm: NDArray[np.float64], rng: np.random.Generator
) -> NDArray[np.float64]:
    """(3,) mm between voxels along x, y, z: fine for small fields, coarse for whole bodies."""
    fine = float(np.clip(np.sort(size_mm)[1] / rng.uniform(110, 170), 1.0, 3.0))
    along = float(size_mm[2])
    if along > 900:
        fine = rng.uniform(3.0, 4.0)
    elif along > 450 and plane != "axial":
        fine = rng.uniform(2.4, 3.0)
    thick = float(np.clip(rng.uniform(3.0, 8.0) * site.thicker, 3.0, 10.0))
    if family.side_region:
        thick = rng.uniform(3.0, 5.0)
    elif family.hanging:
        thick = rng.uniform(1.6, 4.0)
    if plane == "axial":
        spacing = [fine, fine, float(np.clip(thick * (1.3 if along > 500 else 1.0), 3.0, 10.0))]
    elif plane == "coronal":
        spacing = [fine, thick, fine]
    elif plane == "sagittal":
        spacing = [thick, fine, fine]
    else:
        spacing = [max(fine, 1.3)] * 3
    return np.round(spacing, 2)


def _tilt(
    site: Site, size_mm: NDArray[np.float64], rng: np.random.Generator
) -> NDArray[np.float64]:
    """(3, 3) rotation of the scan planes: none, or up to 8° about each of x and z for fields shorter than
    half a metre."""
    if rng.random() > site.oblique or size_mm[2] > 500:
        return np.eye(3)
    a, b = np.deg2rad(np.clip(rng.normal(0, (4, 2.5)), -8, 8))
    about_x = np.array([[1, 0, 0], [0, np.cos(a), -np.sin(a)], [0, np.sin(a), np.cos(a)]])
    about_z = np.array([[np.cos(b), -np.sin(b), 0], [np.sin(b), np.cos(b), 0], [0, 0, 1]])
    return np.asarray(about_x @ about_z)


def label_voxels(spacing: NDArray[np.float64], shape: tuple[int, int, int]) -> tuple[int, int, int]:
    """(3,) label voxels per voxel: smaller than FINE_MM as far as MOST_LABELS allows, the thickest axis
    first."""
    factors = np.ones(3, dtype=int)
    while True:
        size = spacing / factors
        axis = int(size.argmax())
        grown = factors + (np.arange(3) == axis)
        if size[axis] <= FINE_MM or np.prod(np.asarray(shape) * grown) > MOST_LABELS:
            a, b, c = factors.tolist()
            return a, b, c
        factors = grown


def _sequence(family: Family, rng: np.random.Generator) -> Sequence:
    """A sequence suitable for the family, its times varied by up to 15 %."""
    pool = _sequences(family)
    sequence = pool[rng.integers(len(pool))]
    move = rng.uniform(0.85, 1.15, 2)
    null = rng.uniform(0.95, 1.05)  # an inversion time nulls a tissue, so it varies less
    return replace(
        sequence, tr=sequence.tr * move[0], te=sequence.te * move[1], ti=sequence.ti * null
    )


def _sequences(family: Family) -> tuple[Sequence, ...]:
    """The sequences a family is scanned with."""
    if family.name == LEG_MASS:
        return MASS_SEQUENCES
    if family.hanging:
        return BREAST_SEQUENCES
    return HEAD_SEQUENCES if family.high[0] == "vertex" and not family.long else SEQUENCES


def _coil(
    family: Family, low: NDArray[np.float64], high: NDArray[np.float64], rng: np.random.Generator
) -> Coil:
    """Elements behind the back for a spine, otherwise around the body; a long field of view is scanned in
    stations, so without fall along z."""
    middle = (low + high) / 2
    fall = 1e6 if high[2] - low[2] > 450 else rng.uniform(230, 330)
    heights = np.arange(low[2], high[2] + 1, 90.0)
    if family.side_region:
        places = [(float(middle[0]), float(low[1]) - 25.0, float(z)) for z in heights]
        return Coil(places, 110.0, rng.uniform(0.7, 1.0), fall)
    if family.hanging:
        return _breast_coil(low, high, fall, rng)
    around = [(0.55, 0.0), (-0.55, 0.0), (0.0, 0.6), (0.0, -0.6)]
    size = high - low
    places = [
        (float(middle[0] + a * size[0]), float(middle[1] + b * size[1]), float(z))
        for a, b in around
        for z in heights[::2]
    ]
    first = int(rng.integers(0, 3))  # with elements off, one side is darker
    kept = places[first * len(heights[::2]) // 2 :]
    return Coil(kept, rng.uniform(120, 260), rng.uniform(0.0, 0.9), fall)


def _breast_coil(
    low: NDArray[np.float64], high: NDArray[np.float64], fall_mm: float, rng: np.random.Generator
) -> Coil:
    """Elements on both sides of each breast, in the front third of the field; the skin is bright, the depth
    of the chest nearly dark."""
    middle, size = (low + high) / 2, high - low
    beside = (-0.5, 0.5) if size[0] < 200 else (-0.45, -0.08, 0.08, 0.45)
    y = float(low[1] + rng.uniform(0.6, 0.85) * size[1])
    places = [
        (float(middle[0] + a * size[0]), y, float(z))
        for a in beside
        for z in middle[2] + np.array([-45.0, 45.0])
    ]
    return Coil(places, rng.uniform(45, 110), rng.uniform(0.85, 1.0), fall_mm)


AS_THEY_ARE = np.array([[0, 1], [1, 1], [2, 1]])
"""The stored axes of a volume that is stored along RAS axes."""


def any_axes(rng: np.random.Generator) -> NDArray[np.int64]:
    """(3, 2) stored axes in any order and direction."""
    return np.stack([rng.permutation(3), rng.choice([-1, 1], 3)], axis=1)


def _storage(plane: str, rng: np.random.Generator) -> NDArray[np.int64]:
    """(3, 2) axis order and directions of the stored volume: half in the usual order of the plane, half in
    any; directions are random."""
    usual = {
        "axial": (0, 1, 2),
        "coronal": (0, 2, 1),
        "sagittal": (2, 0, 1),
        "isotropic": (2, 0, 1),
    }[plane]
    order = np.array(usual) if rng.random() < 0.5 else rng.permutation(3)
    return np.stack([order, rng.choice([-1, 1], 3)], axis=1).astype(np.int64)
