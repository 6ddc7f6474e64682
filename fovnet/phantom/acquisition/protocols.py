"""The acquisition of a family of fields of view: planes, spacings, sequences, coils and storage.

This is a standard acquisition of a careful site; `variety` derives less usual ones from it.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from fovnet.phantom.acquisition.families import LEG_MASS_FIELD, Family
from fovnet.phantom.anatomy.body import Landmarks
from fovnet.phantom.finish.headers import Turn
from fovnet.phantom.finish.masks import Finish
from fovnet.phantom.geometry.raster import Grid
from fovnet.phantom.person.traits import Person
from fovnet.phantom.scanner.artefacts import PLANES
from fovnet.phantom.scanner.scan import Acquisition, Coil
from fovnet.phantom.scanner.sequence import Sequence

LABEL_VOXEL_MM = 2.6  # size limit of label voxels; a thicker voxel is the mean of several
MOST_LABELS = 5_000_000  # most label voxels of a volume: about a second on one core


# fmt: off
SEQUENCES: tuple[Sequence, ...] = (
    Sequence("T1 spin echo", "spin echo", 550, 12),
    Sequence("T2 spin echo", "spin echo", 4500, 95),
    Sequence("T2 spin echo, fat suppressed", "spin echo", 4500, 85, fat="suppressed"),
    Sequence("PD spin echo", "spin echo", 3200, 28),
    Sequence("STIR", "inversion recovery", 5000, 55, ti=165),
    Sequence("T1 gradient echo", "gradient echo", 150, 4.6, flip_deg=65),
    Sequence("T1 gradient echo, opposed phase", "gradient echo", 150, 2.3, flip_deg=65,
             fat="opposed phase"),
    Sequence("T1 gradient echo, fat suppressed", "gradient echo", 5, 2.2, flip_deg=12,
             fat="suppressed"),
    Sequence("T1 gradient echo, contrast, fat suppressed", "gradient echo", 5, 2.2, flip_deg=12,
             fat="suppressed", contrast=True),
    Sequence("Dixon water", "gradient echo", 7, 2.4, flip_deg=10, fat="water only"),
    Sequence("Dixon fat", "gradient echo", 7, 2.4, flip_deg=10, fat="fat only"),
    Sequence("T2* gradient echo", "gradient echo", 500, 15, flip_deg=25),
    Sequence("balanced", "balanced", 4, 2, flip_deg=55),
)
# fmt: on
"""The sequences; every acquisition varies their times by up to 15 %."""

HEAD_SEQUENCES: tuple[Sequence, ...] = (
    *SEQUENCES[:5],
    Sequence("FLAIR", "inversion recovery", 9000, 110, ti=2500),
    Sequence("T1 inversion recovery", "inversion recovery", 2300, 4, ti=900),
)

BREAST_SEQUENCES = tuple(SEQUENCES[number] for number in (7, 8, 7, 8, 8, 2, 4, 9, 5, 1))
"""For breasts: eight in ten with suppressed fat, half of all quick gradient echoes of a dynamic
series."""

MASS_SEQUENCES = tuple(SEQUENCES[number] for number in (2, 2, 4, 4, 0, 8, 1))
"""For masses in a leg: half with bright water and dark fat, in which little of the leg beside the
mass is visible."""


@dataclass(frozen=True)
class Site:
    """A simulated site: its name, its scanner, and what its images tend to be like.

    snr               as in `Acquisition`, on average
    thickness_factor  of its slices, relative to the usual
    oblique_share     of its volumes
    """

    name: str
    manufacturer: str
    field_strengths: tuple[float, ...]
    snr: float
    thickness_factor: float
    oblique_share: float


SITES: tuple[Site, ...] = (
    Site("site-a", "Simulated One", (1.5,), 32.0, 1.15, 0.15),
    Site("site-b", "Simulated Two", (1.5, 3.0), 45.0, 1.0, 0.3),
    Site("site-c", "Simulated Three", (3.0,), 55.0, 0.9, 0.25),
)


@dataclass(frozen=True)
class Plan:
    """Everything that defines one acquisition.

    grid            of the acquired voxels, axes near RAS+, in mm of the person (z from the soles)
    isocentre_mm    (3,) the point of the person at the scanner's origin
    stored_axes     (3, 2) for each canonical axis the stored axis it becomes and its direction,
                    nibabel's orientation array
    finish          processing of the image afterwards
    is_tilted       whether the slices are far from the scanner's planes
    header_is_true  whether the header states the true orientation
    turn            the axes claimed by a header of plain voxel sizes; () for a header that states
                    the true axes
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
    is_tilted: bool = False
    header_is_true: bool = True
    turn: Turn = ()

    def with_acquisition(self, **changes: Any) -> Plan:
        """The plan with other fields of its `acquisition`."""
        return replace(self, acquisition=replace(self.acquisition, **changes))


def draw_plan(
    person: Person, marks: Landmarks, family: Family, site: Site, rng: np.random.Generator
) -> Plan:
    """One acquisition of that family at that site, all else drawn at random."""
    plane_letter = str(rng.choice(list(family.planes)))
    plane = next(plane for plane in PLANES if plane.startswith(plane_letter))
    low_corner, high_corner = draw_corners(person, marks, family, rng)
    size_mm = high_corner - low_corner
    spacing_mm = _draw_spacing(family, plane, site, size_mm, rng)
    shape = np.maximum(np.rint(size_mm / spacing_mm), 4).astype(int)
    middle_mm = (low_corner + high_corner) / 2
    grid = grid_about(middle_mm, _draw_tilt(site, size_mm, rng) * spacing_mm, shape)
    field_strength = float(rng.choice(site.field_strengths))
    isocentre_mm = np.round(middle_mm + rng.normal(0, (5, 5, 15)), 1)
    sequence = _draw_sequence(family, rng)
    acquisition = Acquisition(
        field_strength,
        label_voxels(spacing_mm, grid.shape),
        site.snr * rng.lognormal(0, 0.35),
        _draw_coil(family, low_corner - isocentre_mm, high_corner - isocentre_mm, rng),
    )
    return Plan(
        family=family,
        site=site,
        plane=plane,
        grid=grid,
        isocentre_mm=isocentre_mm,
        sequence=sequence,
        acquisition=acquisition,
        stored_axes=_draw_storage(plane, rng),
    )


def grid_about(middle_mm: NDArray[np.float64], axes: NDArray[np.float64], shape: ArrayLike) -> Grid:
    """So many voxels about a point, with axes (3, 3) in mm per voxel."""
    affine = np.eye(4)
    affine[:3, :3] = axes
    affine[:3, 3] = middle_mm - affine[:3, :3] @ ((np.asarray(shape) - 1) / 2)
    size_i, size_j, size_k = np.asarray(shape).tolist()
    return Grid((size_i, size_j, size_k), affine)


def draw_corners(
    person: Person, marks: Landmarks, family: Family, rng: np.random.Generator
) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Lowest and highest corner (3,) of the field of view, mm of the person."""
    lower_end = family.lower_end
    upper_end = family.upper_end
    low_z = getattr(marks, lower_end.landmark) + rng.uniform(lower_end.least_mm, lower_end.most_mm)
    high_z = getattr(marks, upper_end.landmark) + rng.uniform(upper_end.least_mm, upper_end.most_mm)
    width_mm = _draw_width(person, family, rng)
    depth_mm = _draw_depth(person, family, rng)
    middle_x = rng.uniform(*family.offset_x_mm)
    if family.offset_x_mm[0] > 0 and family.mirrored:
        middle_x *= float(rng.choice([-1, 1]))
    middle_y = rng.uniform(*family.offset_y_mm) if family.offset_y_mm[0] else rng.uniform(-6, 6)
    # without an offset the field follows bent legs
    if person.morph.lift_mm and not family.offset_y_mm[0]:
        ahead_mm = person.morph.ahead_mm(low_z, high_z)
        middle_y += sum(ahead_mm) / 2
        if not family.depth_mm[1]:
            depth_mm += ahead_mm[1] - ahead_mm[0]
    middle_x = (middle_x + rng.uniform(-6, 6)) * person.morph.trunk[0]
    middle_y *= person.morph.trunk[1]
    low_corner = np.array([middle_x - width_mm / 2, middle_y - depth_mm / 2, low_z])
    return low_corner, np.array([middle_x + width_mm / 2, middle_y + depth_mm / 2, high_z])


def _draw_width(person: Person, family: Family, rng: np.random.Generator) -> float:
    """The width of a field, mm; of one as wide as the person, with, without, or with half an
    arm."""
    if family.width_mm[1]:
        return rng.uniform(*family.width_mm)
    half_trunk_mm = 172 + 1.4 * person.fat_mm + person.figure.wider_mm(person.fat_mm)
    return 2 * half_trunk_mm * person.morph.trunk_at_most[0] + rng.uniform(-15, 160)


def _draw_depth(person: Person, family: Family, rng: np.random.Generator) -> float:
    """The depth of a field, mm."""
    if family.depth_mm[1]:
        return rng.uniform(*family.depth_mm)
    belly_mm = (
        2.6 * person.fat_mm + max(person.belly_mm, 0) + person.figure.deeper_mm(person.fat_mm)
    )
    return (225 + belly_mm) * person.morph.trunk_at_most[1] + 25 + rng.uniform(0, 60)


def _draw_spacing(
    family: Family, plane: str, site: Site, size_mm: NDArray[np.float64], rng: np.random.Generator
) -> NDArray[np.float64]:
    """(3,) mm between voxels along x, y, z: fine for small fields, coarse for whole bodies."""
    pixel_mm = float(np.clip(np.sort(size_mm)[1] / rng.uniform(110, 170), 1.0, 3.0))
    length_mm = float(size_mm[2])
    if length_mm > 900:
        pixel_mm = rng.uniform(3.0, 4.0)
    elif length_mm > 450 and plane != "axial":
        pixel_mm = rng.uniform(2.4, 3.0)
    thickness_mm = float(np.clip(rng.uniform(3.0, 8.0) * site.thickness_factor, 3.0, 10.0))
    if family.side_region:
        thickness_mm = rng.uniform(3.0, 5.0)
    elif family.shows_breasts:
        thickness_mm = rng.uniform(1.6, 4.0)
    if plane == "axial":
        thickness_factor = 1.3 if length_mm > 500 else 1.0
        spacing_mm = [
            pixel_mm,
            pixel_mm,
            float(np.clip(thickness_mm * thickness_factor, 3.0, 10.0)),
        ]
    elif plane == "coronal":
        spacing_mm = [pixel_mm, thickness_mm, pixel_mm]
    elif plane == "sagittal":
        spacing_mm = [thickness_mm, pixel_mm, pixel_mm]
    else:
        spacing_mm = [max(pixel_mm, 1.3)] * 3
    return np.round(spacing_mm, 2)


def _draw_tilt(
    site: Site, size_mm: NDArray[np.float64], rng: np.random.Generator
) -> NDArray[np.float64]:
    """(3, 3) rotation of the scan planes: none, or up to 8° about each of x and z for fields
    shorter than half a metre."""
    if rng.random() > site.oblique_share or size_mm[2] > 500:
        return np.eye(3)
    angle_x, angle_z = np.deg2rad(np.clip(rng.normal(0, (4, 2.5)), -8, 8))
    rotation_x = np.array(
        [[1, 0, 0], [0, np.cos(angle_x), -np.sin(angle_x)], [0, np.sin(angle_x), np.cos(angle_x)]]
    )
    rotation_z = np.array(
        [[np.cos(angle_z), -np.sin(angle_z), 0], [np.sin(angle_z), np.cos(angle_z), 0], [0, 0, 1]]
    )
    return np.asarray(rotation_x @ rotation_z)


def label_voxels(spacing: NDArray[np.float64], shape: tuple[int, int, int]) -> tuple[int, int, int]:
    """(3,) label voxels per voxel: smaller than LABEL_VOXEL_MM as far as MOST_LABELS allows, the
    thickest axis first."""
    factors = np.ones(3, dtype=int)
    while True:
        size_mm = spacing / factors
        axis = int(size_mm.argmax())
        finer_factors = factors + (np.arange(3) == axis)
        if (
            size_mm[axis] <= LABEL_VOXEL_MM
            or np.prod(np.asarray(shape) * finer_factors) > MOST_LABELS
        ):
            factor_i, factor_j, factor_k = factors.tolist()
            return factor_i, factor_j, factor_k
        factors = finer_factors


def _draw_sequence(family: Family, rng: np.random.Generator) -> Sequence:
    """A sequence suitable for the family, its times varied by up to 15 %."""
    suitable_sequences = _family_sequences(family)
    sequence = suitable_sequences[rng.integers(len(suitable_sequences))]
    time_factors = rng.uniform(0.85, 1.15, 2)
    # an inversion time nulls a tissue, so it varies less
    inversion_factor = rng.uniform(0.95, 1.05)
    return replace(
        sequence,
        tr=sequence.tr * time_factors[0],
        te=sequence.te * time_factors[1],
        ti=sequence.ti * inversion_factor,
    )


def _family_sequences(family: Family) -> tuple[Sequence, ...]:
    """The sequences a family is scanned with."""
    if family.name == LEG_MASS_FIELD:
        return MASS_SEQUENCES
    if family.shows_breasts:
        return BREAST_SEQUENCES
    is_of_head = family.upper_end.landmark == "vertex" and not family.is_long
    return HEAD_SEQUENCES if is_of_head else SEQUENCES


def _draw_coil(
    family: Family,
    low_mm: NDArray[np.float64],
    high_mm: NDArray[np.float64],
    rng: np.random.Generator,
) -> Coil:
    """Elements behind the back for a spine, otherwise around the body; a long field of view is
    scanned in stations, so without fall along z."""
    middle_mm = (low_mm + high_mm) / 2
    fall_mm = 1e6 if high_mm[2] - low_mm[2] > 450 else rng.uniform(230, 330)
    element_heights = np.arange(low_mm[2], high_mm[2] + 1, 90.0)
    if family.side_region:
        element_centres = [
            (float(middle_mm[0]), float(low_mm[1]) - 25.0, float(z)) for z in element_heights
        ]
        return Coil(element_centres, 110.0, rng.uniform(0.7, 1.0), fall_mm)
    if family.shows_breasts:
        return _draw_breast_coil(low_mm, high_mm, fall_mm, rng)
    side_shares = [(0.55, 0.0), (-0.55, 0.0), (0.0, 0.6), (0.0, -0.6)]
    size_mm = high_mm - low_mm
    element_centres = [
        (
            float(middle_mm[0] + share_x * size_mm[0]),
            float(middle_mm[1] + share_y * size_mm[1]),
            float(z),
        )
        for share_x, share_y in side_shares
        for z in element_heights[::2]
    ]
    first_active = int(rng.integers(0, 3))  # with elements off, one side is darker
    active_centres = element_centres[first_active * len(element_heights[::2]) // 2 :]
    return Coil(active_centres, rng.uniform(120, 260), rng.uniform(0.0, 0.9), fall_mm)


def _draw_breast_coil(
    low_mm: NDArray[np.float64],
    high_mm: NDArray[np.float64],
    fall_mm: float,
    rng: np.random.Generator,
) -> Coil:
    """Elements on both sides of each breast, in the front third of the field; the skin is bright,
    the depth of the chest nearly dark."""
    middle_mm = (low_mm + high_mm) / 2
    size_mm = high_mm - low_mm
    side_shares = (-0.5, 0.5) if size_mm[0] < 200 else (-0.45, -0.08, 0.08, 0.45)
    y = float(low_mm[1] + rng.uniform(0.6, 0.85) * size_mm[1])
    element_centres = [
        (float(middle_mm[0] + side_share * size_mm[0]), y, float(z))
        for side_share in side_shares
        for z in middle_mm[2] + np.array([-45.0, 45.0])
    ]
    return Coil(element_centres, rng.uniform(45, 110), rng.uniform(0.85, 1.0), fall_mm)


RAS_AXES = np.array([[0, 1], [1, 1], [2, 1]])
"""The stored axes of a volume that is stored along RAS axes."""


def draw_stored_axes(rng: np.random.Generator) -> NDArray[np.int64]:
    """(3, 2) stored axes in any order and direction."""
    return np.stack([rng.permutation(3), rng.choice([-1, 1], 3)], axis=1)


def _draw_storage(plane: str, rng: np.random.Generator) -> NDArray[np.int64]:
    """(3, 2) axis order and directions of the stored volume: half in the usual order of the plane,
    half in any; directions are random."""
    usual_order = {
        "axial": (0, 1, 2),
        "coronal": (0, 2, 1),
        "sagittal": (2, 0, 1),
        "isotropic": (2, 0, 1),
    }[plane]
    axis_order = np.array(usual_order) if rng.random() < 0.5 else rng.permutation(3)
    return np.stack([axis_order, rng.choice([-1, 1], 3)], axis=1).astype(np.int64)
