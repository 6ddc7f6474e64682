"""The acquisition of a kind of field of view: planes, spacings, sequences, coils and storage.

This is a standard acquisition of a careful site; `variety` derives less usual ones from it.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from fovnet.phantom.acquisition.field_kinds import LEG_MASS_FIELD, FieldEnd, FieldKind
from fovnet.phantom.anatomy.body import Landmarks
from fovnet.phantom.finish.headers import HeaderTurn
from fovnet.phantom.finish.masks import Processing
from fovnet.phantom.geometry.edge_bend import EdgeBend
from fovnet.phantom.geometry.raster import Grid
from fovnet.phantom.person.traits import Person
from fovnet.phantom.scanner.artefacts import PLANES
from fovnet.phantom.scanner.scan import Acquisition, Coil
from fovnet.phantom.scanner.sequence import PulseSequence

LABEL_VOXEL_MM = 2.6  # size limit of label voxels; a thicker voxel is the mean of several
MOST_LABELS = 5_000_000  # most label voxels of a volume: about a second on one core
LONGEST_STATION_MM = 450.0  # a longer field is scanned in stations
NO_FALL_MM = 1e6  # for `Coil.half_signal_mm`: the signal does not fall along z
USUAL_AXIS_ORDERS = {
    "axial": (0, 1, 2),
    "coronal": (0, 2, 1),
    "sagittal": (2, 0, 1),
    "isotropic": (2, 0, 1),
}
"""For each plane the stored axis that each canonical axis usually becomes."""


# fmt: off
SEQUENCES: tuple[PulseSequence, ...] = (
    PulseSequence("T1 spin echo", "spin echo", 550, 12),
    PulseSequence("T2 spin echo", "spin echo", 4500, 95),
    PulseSequence("T2 spin echo, fat suppressed", "spin echo", 4500, 85, fat_mode="suppressed"),
    PulseSequence("PD spin echo", "spin echo", 3200, 28),
    PulseSequence("STIR", "inversion recovery", 5000, 55, ti_ms=165),
    PulseSequence("T1 gradient echo", "gradient echo", 150, 4.6, flip_deg=65),
    PulseSequence("T1 gradient echo, opposed phase", "gradient echo", 150, 2.3, flip_deg=65,
             fat_mode="opposed phase"),
    PulseSequence("T1 gradient echo, fat suppressed", "gradient echo", 5, 2.2, flip_deg=12,
             fat_mode="suppressed"),
    PulseSequence("T1 gradient echo, contrast, fat suppressed", "gradient echo", 5, 2.2, flip_deg=12,
             fat_mode="suppressed", has_contrast_agent=True),
    PulseSequence("Dixon water", "gradient echo", 7, 2.4, flip_deg=10, fat_mode="water only"),
    PulseSequence("Dixon fat", "gradient echo", 7, 2.4, flip_deg=10, fat_mode="fat only"),
    PulseSequence("T2* gradient echo", "gradient echo", 500, 15, flip_deg=25),
    PulseSequence("balanced", "balanced", 4, 2, flip_deg=55),
)
# fmt: on
"""The sequences; every acquisition varies their times by up to 15 %."""

HEAD_SEQUENCES: tuple[PulseSequence, ...] = (
    *SEQUENCES[:5],
    PulseSequence("FLAIR", "inversion recovery", 9000, 110, ti_ms=2500),
    PulseSequence("T1 inversion recovery", "inversion recovery", 2300, 4, ti_ms=900),
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
    processing      of the image afterwards
    is_tilted       whether the slices are far from the scanner's planes
    header_is_true  whether the header states the true orientation
    header_turn     the axes claimed by a header of plain voxel sizes; () for a header that states
                    the true axes
    edge_bend       of what lies far beside the middle, if gradients bend it
    """

    field_kind: FieldKind
    site: Site
    plane: str
    grid: Grid
    isocentre_mm: NDArray[np.float64]
    sequence: PulseSequence
    acquisition: Acquisition
    stored_axes: NDArray[np.int64]
    processing: Processing = Processing()  # noqa: RUF009  (frozen)
    is_tilted: bool = False
    header_is_true: bool = True
    header_turn: HeaderTurn = ()
    edge_bend: EdgeBend | None = None

    def with_acquisition(self, **changes: Any) -> Plan:
        """The plan with other fields of its `acquisition`."""
        return replace(self, acquisition=replace(self.acquisition, **changes))


def draw_plan(
    person: Person, marks: Landmarks, field_kind: FieldKind, site: Site, rng: np.random.Generator
) -> Plan:
    """One acquisition of that kind of field at that site, all else drawn at random."""
    plane_letter = str(rng.choice(list(field_kind.plane_letters)))
    plane = next(plane for plane in PLANES if plane.startswith(plane_letter))
    low_corner, high_corner = draw_corners(person, marks, field_kind, rng)
    size_mm = high_corner - low_corner
    spacing_mm = _draw_spacing(field_kind, plane, site, size_mm, rng)
    shape = np.maximum(np.rint(size_mm / spacing_mm), 4).astype(int)
    middle_mm = (low_corner + high_corner) / 2
    grid = grid_about(middle_mm, _draw_tilt(site, size_mm, rng) * spacing_mm, shape)
    field_strength_tesla = float(rng.choice(site.field_strengths))
    isocentre_mm = np.round(middle_mm + rng.normal(0, (5, 5, 15)), 1)
    sequence = _draw_sequence(field_kind, rng)
    acquisition = Acquisition(
        field_strength_tesla=field_strength_tesla,
        labels_per_voxel=choose_label_voxels(spacing_mm, grid.shape),
        snr=site.snr * rng.lognormal(0, 0.35),
        coil=_draw_coil(field_kind, low_corner - isocentre_mm, high_corner - isocentre_mm, rng),
    )
    return Plan(
        field_kind=field_kind,
        site=site,
        plane=plane,
        grid=grid,
        isocentre_mm=isocentre_mm,
        sequence=sequence,
        acquisition=acquisition,
        stored_axes=_draw_storage(plane, rng),
    )


def grid_about(middle_mm: NDArray[np.float64], axes: NDArray[np.float64], shape: ArrayLike) -> Grid:
    """The grid of `shape` (3,) voxels about a point (3,), its axes (3, 3) in mm per voxel, one a
    column."""
    affine = np.eye(4)
    affine[:3, :3] = axes
    affine[:3, 3] = middle_mm - affine[:3, :3] @ ((np.asarray(shape) - 1) / 2)
    size_i, size_j, size_k = np.asarray(shape).tolist()
    return Grid((size_i, size_j, size_k), affine)


def draw_corners(
    person: Person, marks: Landmarks, field_kind: FieldKind, rng: np.random.Generator
) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Lowest and highest corner (3,) of a field of view of that kind, mm of the person."""
    low_z = _draw_end(field_kind.lower_end, marks, rng)
    high_z = _draw_end(field_kind.upper_end, marks, rng)
    width_mm = _draw_width(person, field_kind, rng)
    depth_mm = _draw_depth(person, field_kind, rng)
    middle_x = rng.uniform(*field_kind.offset_x_range_mm)
    if field_kind.is_of_one_side and field_kind.is_on_either_side:
        middle_x *= float(rng.choice([-1, 1]))
    middle_y_range = (-6.0, 6.0)
    if field_kind.is_offset_in_depth:
        middle_y_range = field_kind.offset_y_range_mm
    middle_y = rng.uniform(*middle_y_range)
    # without an offset the field follows bent legs
    if person.morph.knee_lift_mm and not field_kind.is_offset_in_depth:
        least_lift_mm, most_lift_mm = person.morph.forward_lift_range_mm(low_z, high_z)
        middle_y += (least_lift_mm + most_lift_mm) / 2
        if field_kind.is_as_deep_as_person:
            depth_mm += most_lift_mm - least_lift_mm
    width_factor, depth_factor = person.morph.trunk_factors
    middle_x = (middle_x + rng.uniform(-6, 6)) * width_factor
    middle_y *= depth_factor
    low_corner = np.array([middle_x - width_mm / 2, middle_y - depth_mm / 2, low_z])
    high_corner = np.array([middle_x + width_mm / 2, middle_y + depth_mm / 2, high_z])
    return low_corner, high_corner


def _draw_end(end: FieldEnd, marks: Landmarks, rng: np.random.Generator) -> float:
    """The height of an end of a field of view, mm of the person."""
    landmark_mm: float = getattr(marks, end.landmark)
    return landmark_mm + end.draw_mm(rng)


def _draw_width(person: Person, field_kind: FieldKind, rng: np.random.Generator) -> float:
    """The width of a field, mm; of one as wide as the person, with, without, or with half an
    arm."""
    if not field_kind.is_as_wide_as_person:
        return rng.uniform(*field_kind.width_range_mm)
    half_trunk_mm = 172 + 1.4 * person.fat_mm + person.figure.extra_width_mm(person.fat_mm)
    width_factor, _ = person.morph.largest_trunk_factors
    return 2 * half_trunk_mm * width_factor + rng.uniform(-15, 160)


def _draw_depth(person: Person, field_kind: FieldKind, rng: np.random.Generator) -> float:
    """The depth of a field, mm; one as deep as the person ends up to 6 cm beyond the skin."""
    if not field_kind.is_as_deep_as_person:
        return rng.uniform(*field_kind.depth_range_mm)
    belly_mm = (
        2.6 * person.fat_mm + max(person.belly_mm, 0) + person.figure.extra_depth_mm(person.fat_mm)
    )
    _, depth_factor = person.morph.largest_trunk_factors
    return (225 + belly_mm) * depth_factor + 25 + rng.uniform(0, 60)


def _draw_spacing(
    field_kind: FieldKind,
    plane: str,
    site: Site,
    size_mm: NDArray[np.float64],
    rng: np.random.Generator,
) -> NDArray[np.float64]:
    """(3,) mm between voxels along x, y, z: fine for small fields, coarse for whole bodies."""
    pixel_mm = float(np.clip(np.sort(size_mm)[1] / rng.uniform(110, 170), 1.0, 3.0))
    length_mm = float(size_mm[2])
    if length_mm > 900:
        pixel_mm = rng.uniform(3.0, 4.0)
    elif length_mm > 450 and plane != "axial":
        pixel_mm = rng.uniform(2.4, 3.0)
    thickness_mm = float(np.clip(rng.uniform(3.0, 8.0) * site.thickness_factor, 3.0, 10.0))
    if field_kind.side_region:
        thickness_mm = rng.uniform(3.0, 5.0)
    elif field_kind.shows_breasts:
        thickness_mm = rng.uniform(1.6, 4.0)
    if plane == "axial":
        if length_mm > 500:
            thickness_mm *= 1.3
        spacing_mm = [pixel_mm, pixel_mm, float(np.clip(thickness_mm, 3.0, 10.0))]
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


def choose_label_voxels(
    spacing_mm: NDArray[np.float64], shape: tuple[int, int, int]
) -> tuple[int, int, int]:
    """(3,) label voxels along each axis of a voxel, for a grid of that spacing (3,) and shape:
    smaller than LABEL_VOXEL_MM as far as MOST_LABELS allows, the thickest axis first."""
    factors = np.ones(3, dtype=int)
    while True:
        label_mm = spacing_mm / factors
        thickest_axis = int(label_mm.argmax())
        finer_factors = factors + (np.arange(3) == thickest_axis)
        is_fine = label_mm[thickest_axis] <= LABEL_VOXEL_MM
        if is_fine or np.prod(np.asarray(shape) * finer_factors) > MOST_LABELS:
            factor_i, factor_j, factor_k = factors.tolist()
            return factor_i, factor_j, factor_k
        factors = finer_factors


def _draw_sequence(field_kind: FieldKind, rng: np.random.Generator) -> PulseSequence:
    """A sequence suitable for the kind of field, its times varied by up to 15 %."""
    suitable_sequences = _suitable_sequences(field_kind)
    sequence = suitable_sequences[rng.integers(len(suitable_sequences))]
    tr_factor, te_factor = rng.uniform(0.85, 1.15, 2)
    # an inversion time nulls a tissue, so it varies less
    ti_factor = rng.uniform(0.95, 1.05)
    return replace(
        sequence,
        tr_ms=sequence.tr_ms * tr_factor,
        te_ms=sequence.te_ms * te_factor,
        ti_ms=sequence.ti_ms * ti_factor,
    )


def _suitable_sequences(field_kind: FieldKind) -> tuple[PulseSequence, ...]:
    """The sequences a kind of field is scanned with."""
    if field_kind.name == LEG_MASS_FIELD:
        return MASS_SEQUENCES
    if field_kind.shows_breasts:
        return BREAST_SEQUENCES
    if field_kind.upper_end.landmark == "vertex" and not field_kind.is_long:
        return HEAD_SEQUENCES
    return SEQUENCES


def _draw_coil(
    field_kind: FieldKind,
    low_mm: NDArray[np.float64],
    high_mm: NDArray[np.float64],
    rng: np.random.Generator,
) -> Coil:
    """The coil for a field between two corners (3,) in mm of the scanner: elements behind the back
    for a spine, at the breasts, or around the body; a long field of view is scanned in stations, so
    without fall along z."""
    middle_x, middle_y, _ = ((low_mm + high_mm) / 2).tolist()
    half_signal_mm = NO_FALL_MM
    if high_mm[2] - low_mm[2] <= LONGEST_STATION_MM:
        half_signal_mm = rng.uniform(230, 330)
    element_heights = np.arange(low_mm[2], high_mm[2] + 1, 90.0)
    if field_kind.side_region:
        back_y = float(low_mm[1]) - 25.0
        element_centres = [(middle_x, back_y, float(z)) for z in element_heights]
        return Coil(
            centres_mm=element_centres,
            reach_mm=110.0,
            element_share=rng.uniform(0.7, 1.0),
            half_signal_mm=half_signal_mm,
        )
    if field_kind.shows_breasts:
        return _draw_breast_coil(low_mm, high_mm, half_signal_mm, rng)
    # right, left, front and back, as shares of width and depth
    column_places = [(0.55, 0.0), (-0.55, 0.0), (0.0, 0.6), (0.0, -0.6)]
    width_mm, depth_mm, _ = (high_mm - low_mm).tolist()
    element_centres = [
        (middle_x + share_x * width_mm, middle_y + share_y * depth_mm, float(z))
        for share_x, share_y in column_places
        for z in element_heights[::2]
    ]
    off_columns = int(rng.integers(0, 3))  # in halves: with elements off, one side is darker
    active_centres = element_centres[off_columns * len(element_heights[::2]) // 2 :]
    return Coil(
        centres_mm=active_centres,
        reach_mm=rng.uniform(120, 260),
        element_share=rng.uniform(0.0, 0.9),
        half_signal_mm=half_signal_mm,
    )


def _draw_breast_coil(
    low_mm: NDArray[np.float64],
    high_mm: NDArray[np.float64],
    half_signal_mm: float,
    rng: np.random.Generator,
) -> Coil:
    """Elements on both sides of each breast, in the front third of the field; the skin is bright,
    the depth of the chest nearly dark."""
    middle_x, _, middle_z = ((low_mm + high_mm) / 2).tolist()
    width_mm, depth_mm, _ = (high_mm - low_mm).tolist()
    side_shares = [-0.45, -0.08, 0.08, 0.45]
    if width_mm < 200:
        side_shares = [-0.5, 0.5]
    y = float(low_mm[1] + rng.uniform(0.6, 0.85) * depth_mm)
    element_centres = [
        (middle_x + side_share * width_mm, y, middle_z + z_offset)
        for side_share in side_shares
        for z_offset in (-45.0, 45.0)
    ]
    return Coil(
        centres_mm=element_centres,
        reach_mm=rng.uniform(45, 110),
        element_share=rng.uniform(0.85, 1.0),
        half_signal_mm=half_signal_mm,
    )


RAS_AXES = np.array([[0, 1], [1, 1], [2, 1]])
"""The stored axes of a volume that is stored along RAS axes."""


def draw_stored_axes(rng: np.random.Generator) -> NDArray[np.int64]:
    """(3, 2) stored axes in any order and direction."""
    return np.stack([rng.permutation(3), rng.choice([-1, 1], 3)], axis=1)


def _draw_storage(plane: str, rng: np.random.Generator) -> NDArray[np.int64]:
    """(3, 2) axis order and directions of the stored volume: half in the usual order of the plane,
    half in any; directions are random."""
    axis_order = np.array(USUAL_AXIS_ORDERS[plane])
    if rng.random() >= 0.5:
        axis_order = rng.permutation(3)
    return np.stack([axis_order, rng.choice([-1, 1], 3)], axis=1).astype(np.int64)
