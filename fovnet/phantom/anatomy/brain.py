"""The brain: folded cortex over white matter, ventricles, deep nuclei, cerebellum with folia,
brainstem, and the CSF around them.

Sulci are the zero lines of random waves on the brain's surface, cut straight down towards the
middle of each hemisphere; the distance from the nearest of them, from the surface and from the
great fissures determines CSF, grey or white matter.  In mm of the written head.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import lru_cache
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from fovnet.phantom.anatomy.layers import (
    Layer,
    Paints,
    on_both_sides,
    paint,
    paint_detail,
    paint_details,
)
from fovnet.phantom.geometry.solids import Bools, Ellipsoid, Floats, Point, Solid, Union, tube
from fovnet.phantom.person.streams import Stream
from fovnet.phantom.person.traits import Person

MeshTable = NDArray[np.float32]

HEMISPHERE_MIDDLE_MM = (25.0, -8.0, 1668.0)  # of the right hemisphere: sulci point towards it
HEMISPHERE_HALF_AXES_MM = (40.0, 80.0, 64.0)  # from there to the surface
# the aim of sulci, the point they point towards, shifts along y with them by this share, at most so far
AIM_SHIFT_SHARE = 0.6
MOST_AIM_SHIFT_MM = 34.0
CSF = "cerebrospinal fluid"
TABLE_CELL_COUNT = 288  # of a table of directions along each axis: about 1 mm of the surface
FLOOR_STEP_MM = 0.5
FLOOR_START_Y_MM = -110
"""Spacing and first y of the table of the hemispheres' lower surface."""


@dataclass(frozen=True)
class Vault(Solid):
    """The inside or outside of a skull: a superellipsoid with flattened sides, widest behind its
    middle.

    half_axes_mm     (3,) along x, y, z
    centre           (3,) mm
    narrowing_share  how much narrower it is in front than at its widest, without a unit
    """

    half_axes_mm: Point
    centre: Point = (0.0, -5.0, 1666.0)
    narrowing_share: float = 0.11

    @property
    def box(self) -> NDArray[np.float64]:
        centre = np.asarray(self.centre)
        half_axes = np.asarray(self.half_axes_mm)
        return np.stack([centre - half_axes, centre + half_axes])

    def level(self, x: Floats, y: Floats, z: Floats) -> Floats:
        """Level without a unit at points x, y, z in mm: 0 at the centre, 1 on the surface."""
        scale_x, scale_y, scale_z = (np.float32(1 / half_axis) for half_axis in self.half_axes_mm)
        share_y = (y - np.float32(self.centre[1])) * scale_y
        share_z = (z - np.float32(self.centre[2])) * scale_z
        anterior_share = share_y + np.float32(0.3)
        # Below the brow the skull is narrowed by the temporal fossae, which hold the muscle beside
        # the orbits.
        below_brow_share = ((1656 - z) * np.float32(1 / 24)).clip(0, 1)
        narrowing = np.float32(self.narrowing_share) * (
            1 + np.float32(1.3) * below_brow_share * (anterior_share > 0)
        )
        share_x = x * scale_x / (1 - narrowing * anterior_share * anterior_share)
        square_x = share_x * share_x
        square_y = share_y * share_y
        square_z = share_z * share_z
        ellipsoid_level = square_x + square_y + square_z
        box_level = square_x * square_x + square_y * square_y + square_z * square_z
        return np.asarray(0.72 * ellipsoid_level + 0.28 * box_level)

    def contains(self, x: Floats, y: Floats, z: Floats) -> Bools:
        return self.level(x, y, z) <= 1.0

    def shrink(self, mm: float) -> Vault:
        return replace(self, half_axes_mm=tuple(half_axis - mm for half_axis in self.half_axes_mm))


def _smooth_step(values: Floats, start: float, end: float) -> Floats:
    """0 before `start`, 1 past `end`, smooth between them; `start` may exceed `end`."""
    share = ((values - start) / (end - start)).clip(0.0, 1.0)
    return np.asarray(share * share * (3 - 2 * share))


@dataclass(frozen=True)
class SkullBase:
    """The skull base in three levels, mm: orbital gyri over the orbits, straight gyri lower between
    them, temporal poles lowest.

    temporal_pole_mm   height of the temporal lobes' lowest point
    pole_front_mm      y of the front of the poles
    straight_gyrus_mm  height of the straight gyri (gyri recti)
    orbital_roof_mm    height of the orbital roofs above these
    """

    temporal_pole_mm: float
    pole_front_mm: float
    straight_gyrus_mm: float
    orbital_roof_mm: float

    def height(self, x: Floats, y: Floats) -> Floats:
        """Height in mm of the hemispheres' lower surface at x (mm from the midline, not negative) and
        y, the broadcast shape of both."""
        roof_above_gyri_mm = (
            self.orbital_roof_mm * np.exp(-(((x - 29) / 15) ** 2)) * _smooth_step(y, 26, 56)
        )
        frontal_floor_mm = (
            self.straight_gyrus_mm
            + roof_above_gyri_mm
            + 0.12 * np.maximum(x - 40, 0)
            + 0.02 * np.maximum(y - 60, 0) ** 2
        )
        floor_mm = _add_tentorium(frontal_floor_mm, x, y)
        temporal_lobe_radius = np.hypot(
            (x - 37) / np.where(x < 37, 22, 33), np.maximum(y + 5, 0) / (self.pole_front_mm + 8)
        )
        # The floor of the temporal lobes rises backwards over the petrous bones: the lowest slices
        # show two islands.
        temporal_fossa_mm = (
            self.temporal_pole_mm
            + 0.014 * (x - 37) ** 2
            + 0.3 * np.maximum(-y, 0)
            + 0.1 * np.maximum(y - 10, 0)
        )
        fossa_share = _smooth_step(temporal_lobe_radius, 1.06, 0.7) * _smooth_step(y, -66, -26)
        return (1 - fossa_share) * floor_mm + fossa_share * temporal_fossa_mm


def _add_tentorium(frontal_floor_mm: Floats, x: Floats, y: Floats) -> Floats:
    """Heights in mm of a floor that passes backwards into the tentorium over the cerebellum, at x
    (not negative) and y."""
    tentorium_mm = 1648 - 0.24 * np.maximum(-y - 32, 0) - 0.24 * x
    tentorium_share = _smooth_step(y, -18, -36)
    return (1 - tentorium_share) * frontal_floor_mm + tentorium_share * tentorium_mm


def _plain_floor_mm(x: Floats, y: Floats) -> Floats:
    """Heights in mm of the lower surface of plain hemispheres at x (not negative) and y: orbital
    roofs in front, temporal fossae beside them, the tentorium behind."""
    frontal_floor_mm = 1644 + (8 + 4 * _smooth_step(x, 4, 16)) * _smooth_step(y, 26, 46)
    floor_mm = _add_tentorium(frontal_floor_mm, x, y)
    temporal_lobe_radius = np.hypot((x - 37) / np.where(x < 37, 24, 33), np.maximum(y + 5, 0) / 47)
    fossa_share = _smooth_step(temporal_lobe_radius, 1.06, 0.7) * _smooth_step(y, -66, -26)
    temporal_fossa_mm = 1610 + 0.012 * (x - 36) ** 2 + 0.08 * np.abs(y - 4)
    return (1 - fossa_share) * floor_mm + fossa_share * temporal_fossa_mm


@lru_cache(maxsize=3)
def _tabulate_hemisphere_floor(skull_base: SkullBase | None) -> tuple[MeshTable, MeshTable]:
    """Two tables (i, j) over x and y: the height in mm of the hemispheres' lower surface, and the
    cosine of its slope.

    Rows are x from 0 on, columns y from FLOOR_START_Y_MM on, FLOOR_STEP_MM apart.  Without a skull
    base the floor is a plain one.
    """
    x = np.arange(0, 90, FLOOR_STEP_MM)[:, None]
    y = np.arange(FLOOR_START_Y_MM, 100, FLOOR_STEP_MM)[None, :]
    floor_mm = _plain_floor_mm(x, y) if skull_base is None else skull_base.height(x, y)
    slope = np.hypot(*np.gradient(floor_mm, FLOOR_STEP_MM))
    slope_cosine = 1 / np.hypot(1, slope)
    return floor_mm.astype(np.float32), slope_cosine.astype(np.float32)


@dataclass(frozen=True)
class Hemispheres(Solid):
    """Points deeper than `least_depth_mm` below the smooth surface of both hemispheres: the hull
    over the gyri, or the CSF around it.

    vault           limits the hemispheres above and at the sides
    half_gap_mm     half the width of the fissure between them
    least_depth_mm  negative for a hull outside the surface
    skull_base      limits them below; None for a plain one
    """

    vault: Vault
    half_gap_mm: float = 0.6
    least_depth_mm: float = 0.0
    skull_base: SkullBase | None = None
    is_costly = True  # the bone that may be replaced is a fraction of the box

    @property
    def box(self) -> NDArray[np.float64]:
        return self.vault.shrink(min(self.least_depth_mm, 0.0)).box

    def depth(self, x: Floats, y: Floats, z: Floats) -> Floats:
        """Distance in mm from the vault or the floor, whichever is nearer, at points x, y, z; negative
        outside."""
        floor_mm, slope_cosine = _tabulate_hemisphere_floor(self.skull_base)
        x_index = (
            (np.abs(x) * (1 / FLOOR_STEP_MM) + 0.5).astype(np.intp).clip(0, floor_mm.shape[0] - 1)
        )
        y_index = (
            ((y - FLOOR_START_Y_MM) * (1 / FLOOR_STEP_MM) + 0.5)
            .astype(np.intp)
            .clip(0, floor_mm.shape[1] - 1)
        )
        above_floor_mm = (z - floor_mm[x_index, y_index]) * slope_cosine[x_index, y_index]
        radius_share = np.sqrt(self.vault.level(x, y, z))
        below_vault_mm = (1 - radius_share) * np.float32(self.vault.half_axes_mm[0] + 8)
        return np.asarray(np.minimum(above_floor_mm, below_vault_mm))

    def fissure_depths(self, x: Floats, y: Floats, z: Floats) -> tuple[Floats, Floats]:
        """Two distances in mm at points x, y, z: from the interhemispheric fissure, which ends above
        the corpus callosum, and below that end (negative above it)."""
        y_share = (y + 4) * np.float32(1 / 41)
        z_share = (z - 1668) * np.float32(1 / 26)
        below_fissure_mm = (1 - np.sqrt(y_share * y_share + z_share * z_share)) * 30
        waver_mm = np.float32(0.9) * np.sin(y * np.float32(0.11)) * np.sin(z * np.float32(0.07))
        beside_fissure_mm = np.abs(x + waver_mm) - np.float32(self.half_gap_mm)
        return np.maximum(beside_fissure_mm, below_fissure_mm), below_fissure_mm

    def contains(self, x: Floats, y: Floats, z: Floats) -> Bools:
        return self.depth(x, y, z) >= self.least_depth_mm

    def mirror(self) -> Hemispheres:
        return self

    def shrink(self, mm: float) -> Hemispheres:
        return replace(self, least_depth_mm=self.least_depth_mm + mm)


@dataclass(frozen=True)
class Cortex(Solid):
    """Points deeper than `least_depth_mm` below the folded surface of the hemispheres.

    With a depth of 0 it is grey and white matter, with the cortex's thickness white matter alone.

    hull                   the smooth surface over the gyri
    sulcus_half_width_mm   at the mouth of a sulcus
    seed                   of the person's folds
    added_sulcus_depth_mm  added to the depth of every sulcus
    bend_phases            of the waves that bend sulci on their way down, () for straight ones
    """

    hull: Hemispheres
    least_depth_mm: float
    sulcus_half_width_mm: float
    seed: tuple[int, ...]
    added_sulcus_depth_mm: float = 0.0
    bend_phases: tuple[float, ...] = ()
    is_costly = True  # each point looks up its nearest sulcus

    @property
    def box(self) -> NDArray[np.float64]:
        return self.hull.box

    def contains(self, x: Floats, y: Floats, z: Floats) -> Bools:
        """True (the broadcast shape of x, y, z) at points deeper than `least_depth_mm` below the
        folds."""
        depth_mm = self.hull.depth(x, y, z)
        fissure_distance_mm, below_fissure_mm = self.hull.fissure_depths(x, y, z)
        depth_mm = np.minimum(depth_mm, fissure_distance_mm)
        if self.bend_phases:
            x, y, z = bend_points(x, y, z, self.bend_phases)
        surface_distance_mm, sulcus_depth_mm, shrinkage = self._nearest_sulcus(x, y, z)
        # gyri are rounded towards their sulci
        sulcus_nearness = (1 - surface_distance_mm * np.float32(1 / 3.5)).clip(0, 1) * (
            below_fissure_mm < -9
        )
        depth_mm = depth_mm - np.float32(1.6) * sulcus_nearness * sulcus_nearness
        # no sulcus reaches the middle of the brain
        central_mm = np.maximum(
            below_fissure_mm + 9 - np.float32(0.5) * np.maximum(np.abs(x) - 16, 0), 0
        )
        below_sulcus_mm = np.maximum(depth_mm - sulcus_depth_mm, 0) + central_mm
        sulcus_distance_mm = np.sqrt(
            (surface_distance_mm * shrinkage) ** 2 + below_sulcus_mm * below_sulcus_mm
        )
        # a sulcus narrows towards its bottom
        relative_width = 1.25 - 0.9 * (depth_mm / sulcus_depth_mm).clip(0, 1)
        sulcus_distance_mm -= np.float32(self.sulcus_half_width_mm) * relative_width
        lateral_fissure_mm = _lateral_fissure_mm(x, y, z) - np.float32(
            0.7 + self.sulcus_half_width_mm
        )
        pial_depth_mm = np.minimum(np.minimum(depth_mm, sulcus_distance_mm), lateral_fissure_mm)
        return np.asarray(pial_depth_mm >= self.least_depth_mm)

    def _nearest_sulcus(self, x: Floats, y: Floats, z: Floats) -> tuple[Floats, Floats, Floats]:
        """For points x, y, z, seen from the middle of their hemisphere: the distance in mm along the
        surface to the nearest sulcus, the depth of sulci there in mm, and the factor by which
        distances shrink from the surface to the point."""
        middle_x, middle_y, middle_z = HEMISPHERE_MIDDLE_MM
        half_axis_x, half_axis_y, half_axis_z = HEMISPHERE_HALF_AXES_MM
        direction_x = (np.abs(x) - middle_x) * np.float32(1 / half_axis_x)
        offset_y = y - np.float32(middle_y)
        aim_shift_mm = (np.float32(AIM_SHIFT_SHARE) * offset_y).clip(
            -MOST_AIM_SHIFT_MM, MOST_AIM_SHIFT_MM
        )
        direction_y = (offset_y - aim_shift_mm) * np.float32(1 / (half_axis_y - MOST_AIM_SHIFT_MM))
        direction_z = (z - np.float32(middle_z)) * np.float32(1 / half_axis_z)
        # a direction (x, y, z) with |x| + |y| + |z| = 1 is a cell (x, y) of one of four tables
        cells_per_unit = np.float32(TABLE_CELL_COUNT / 2 - 0.51) / (
            np.abs(direction_x) + np.abs(direction_y) + np.abs(direction_z) + np.float32(1e-6)
        )
        middle_cell = np.float32(TABLE_CELL_COUNT / 2)
        cell_row = (direction_x * cells_per_unit + middle_cell).astype(np.intp)
        cell_column = (direction_y * cells_per_unit + middle_cell).astype(np.intp)
        table_index = 2 * (x > 0) + (direction_z > 0)
        cell_index = (table_index * TABLE_CELL_COUNT + cell_row) * TABLE_CELL_COUNT + cell_column
        distance_mm, depth_mm = (table.ravel()[cell_index] for table in _tabulate_sulci(self.seed))
        shrinkage = np.sqrt(
            direction_x * direction_x + direction_y * direction_y + direction_z * direction_z
        ).clip(0.3, 1.0)
        return distance_mm, depth_mm + np.float32(self.added_sulcus_depth_mm), shrinkage

    def shrink(self, mm: float) -> Cortex:
        return replace(self, least_depth_mm=self.least_depth_mm + mm)


SULCUS_BENDS = ((43.0, 3.6), (21.0, 1.3))
"""Wavelength and amplitude, mm, of the bends of sulci, of up to 25° each."""


def bend_points(
    x: Floats, y: Floats, z: Floats, phases: tuple[float, ...]
) -> tuple[Floats, Floats, Floats]:
    """Points x, y, z in mm displaced by waves of SULCUS_BENDS, different in each hemisphere, without
    lateral displacement at the fissure between them.

    `phases` are four: of the long wave along x, y and z, and of the short one.
    """
    hemisphere_sign = np.sign(x)
    lateral_mm = np.abs(x)
    phase_x, phase_y, phase_z, ripple_phase = (np.float32(phase) for phase in phases)
    (long_wave_number, long_mm), (short_wave_number, short_mm) = (
        (np.float32(2 * np.pi / wavelength_mm), np.float32(amplitude_mm))
        for wavelength_mm, amplitude_mm in SULCUS_BENDS
    )
    shift_x = (
        long_mm
        * np.sin(
            long_wave_number * (np.float32(0.8) * y - np.float32(0.6) * z)
            + (phase_x + hemisphere_sign)
        )
        * (lateral_mm * np.float32(1 / 8)).clip(0, 1)
    )
    shift_y = long_mm * np.sin(
        long_wave_number * np.float32(0.7) * (z + lateral_mm) + (phase_y + hemisphere_sign)
    )
    shift_z = long_mm * np.sin(
        long_wave_number * (np.float32(0.6) * lateral_mm + np.float32(0.8) * y)
        + (phase_z - hemisphere_sign)
    )
    ripple = short_mm * np.sin(
        short_wave_number * (np.float32(0.8) * lateral_mm + np.float32(0.4) * (y + z))
        + (ripple_phase + hemisphere_sign)
    )
    return x + shift_x, y + shift_y + ripple, z + shift_z - ripple


def _draw_sulcus_waves(
    seed: tuple[int, ...], hemisphere_index: int
) -> tuple[NDArray[np.float32], NDArray[np.float32]]:
    """Twelve waves of 17 to 22 mm in any direction: their vectors (12, 3) in radians / mm, and their
    phases (12,).  The hemispheres are 0 on the left and 1 on the right."""
    rng = np.random.default_rng([*seed, hemisphere_index])
    raw_vectors = rng.normal(size=(12, 3))
    phases = rng.uniform(0, 2 * np.pi, 12)
    wave_numbers = 2 * np.pi / rng.uniform(17, 22, (12, 1))
    wave_vectors = raw_vectors / np.linalg.norm(raw_vectors, axis=1, keepdims=True) * wave_numbers
    return wave_vectors.astype(np.float32), phases.astype(np.float32)


def _hemisphere_surface(
    directions: NDArray[np.float32],
) -> tuple[NDArray[np.float32], NDArray[np.float32]]:
    """The points (n, 3) of a hemisphere's surface in unit directions (n, 3), mm from its middle, and
    the unit normals (n, 3) there."""
    half_axes_mm = np.asarray(HEMISPHERE_HALF_AXES_MM, np.float32)
    points = directions * half_axes_mm
    normals = directions / half_axes_mm
    # undoes what `Cortex._nearest_sulcus` does to y
    aim_distance_mm = np.abs(directions[:, 1]) * (HEMISPHERE_HALF_AXES_MM[1] - MOST_AIM_SHIFT_MM)
    points[:, 1] = np.sign(directions[:, 1]) * np.minimum(
        aim_distance_mm / (1 - AIM_SHIFT_SHARE), aim_distance_mm + MOST_AIM_SHIFT_MM
    )
    normals /= np.linalg.norm(normals, axis=1, keepdims=True)
    return points, normals


@lru_cache(maxsize=2)
def _tabulate_sulci(seed: tuple[int, ...]) -> tuple[MeshTable, MeshTable]:
    """Two tables (4, TABLE_CELL_COUNT, TABLE_CELL_COUNT) over directions: mm along the surface to
    the nearest sulcus, and the depth of sulci there in mm.

    The four are lower left, upper left, lower right, upper right; their cells are x and y of a
    direction with |x| + |y| + |z| = 1.  The distance is |g| / |grad g| of a sum g of waves of one
    length, whose nodal lines wind like sulci.  Depths and the waves of the left are drawn from one
    stream, as a seed is padded with zeros; other numbers would make other brains.
    """
    depth_rng = np.random.default_rng(seed)
    half_cells = TABLE_CELL_COUNT / 2
    cell_indices = np.arange(TABLE_CELL_COUNT, dtype=np.float32)
    cell_centres = (cell_indices + 0.5 - half_cells) / np.float32(half_cells)
    direction_x, direction_y = np.meshgrid(cell_centres, cell_centres, indexing="ij")
    direction_z = np.float32(1) - np.abs(direction_x) - np.abs(direction_y)
    is_direction = direction_z > -0.03
    horizontal_directions = (direction_x[is_direction], direction_y[is_direction])
    distance_mm = np.full((4, TABLE_CELL_COUNT, TABLE_CELL_COUNT), 9, np.float32)
    depth_mm = np.full((4, TABLE_CELL_COUNT, TABLE_CELL_COUNT), 12, np.float32)
    for table_index, (hemisphere_index, z_sign) in enumerate(((0, -1), (0, 1), (1, -1), (1, 1))):
        directions = np.stack([*horizontal_directions, z_sign * direction_z[is_direction]], axis=1)
        directions /= np.linalg.norm(directions, axis=1, keepdims=True)
        points, normals = _hemisphere_surface(directions)
        wave_vectors, phases = _draw_sulcus_waves(seed, hemisphere_index)
        angles = points @ wave_vectors.T + phases
        wave_sum = np.sin(angles).sum(axis=1)
        gradient = np.cos(angles) @ wave_vectors
        gradient -= (gradient * normals).sum(axis=1, keepdims=True) * normals
        distances = np.abs(wave_sum) / (np.linalg.norm(gradient, axis=1) + 0.12)
        distance_mm[table_index][is_direction] = distances.clip(0, 9)
        slow_angles = points @ (np.float32(0.45) * wave_vectors[:5].T) + phases[:5]
        slow_waves = np.sin(slow_angles).sum(axis=1)
        depths = 13.5 + 3.5 * slow_waves + depth_rng.uniform(-1, 1)
        depth_mm[table_index][is_direction] = depths.clip(7, 21)
    return distance_mm, depth_mm


def _lateral_fissure_mm(x: Floats, y: Floats, z: Floats) -> Floats:
    """Distance in mm from the lateral fissure (of Sylvius) at points x, y, z: a slit from the side,
    rising backwards, and the gap lateral to the insula at its end."""
    lateral_mm = np.abs(x)
    above_slit_mm = (
        z
        - (1641 + np.float32(0.42) * (28 - y))
        - np.float32(0.4) * (lateral_mm - 45)
        + np.float32(1.5) * np.sin(lateral_mm * np.float32(0.35))
    )
    past_slit_end_mm = np.maximum(np.maximum(-38 - y, y - 36), 0)
    insula_x = (
        np.float32(39)
        - np.float32(0.006) * (y - 4) ** 2
        + np.float32(0.6) * np.sin(y * np.float32(0.6))
    )
    slit_mm = np.sqrt(
        (0.92 * above_slit_mm) ** 2
        + past_slit_end_mm * past_slit_end_mm
        + np.maximum(insula_x - lateral_mm, 0) ** 2
    )
    past_insula_end_mm = np.maximum(np.maximum(-20 - y, y - 27), 0)
    gap_mm = np.sqrt(
        (lateral_mm - insula_x) ** 2
        + past_insula_end_mm * past_insula_end_mm
        + np.maximum(np.maximum(above_slit_mm - 15, -7 - above_slit_mm), 0) ** 2
    )
    return np.asarray(np.minimum(slit_mm, gap_mm))


@dataclass(frozen=True)
class Folia(Solid):
    """Points deeper than `least_depth_mm` below the folia of a cerebellum: a fan of clefts about a
    transverse line.

    lobes         both hemispheres and the vermis, without clefts
    phase_mm      displacement of the clefts
    fan_axis_mm   y and z of the transverse line
    """

    lobes: tuple[Ellipsoid, ...]
    least_depth_mm: float
    phase_mm: float
    fan_axis_mm: tuple[float, float] = (-33.0, 1617.0)
    is_costly = True  # angles are expensive

    @property
    def box(self) -> NDArray[np.float64]:
        return Union(self.lobes).box

    def contains(self, x: Floats, y: Floats, z: Floats) -> Bools:
        """True (the broadcast shape of x, y, z) at points deeper than `least_depth_mm` below the
        folia."""
        lobe_depths_mm = [
            (1 - np.sqrt(lobe.level(x, y, z))) * min(lobe.half_axes_mm[1:]) for lobe in self.lobes
        ]
        depth_mm = np.max(lobe_depths_mm, axis=0)
        behind_mm = (
            self.fan_axis_mm[0] - y - np.float32(0.007) * x * x + np.float32(0.05) * np.abs(x)
        )
        above_mm = z - self.fan_axis_mm[1] + np.float32(0.006) * x * x
        radius_mm = np.hypot(behind_mm, above_mm)
        arc_mm = (
            34 * np.arctan2(above_mm, behind_mm)
            + 1.2 * np.sin(0.13 * x + self.phase_mm)
            + 1.5 * np.sin(0.31 * radius_mm)
        )
        pial_depth_mm = depth_mm
        # clefts between folia, between lobules, and the few large fissures
        for spacing_mm, cleft_depth_mm, cleft_half_width_mm in (
            (4.4, 4.5, 0.25),
            (11.0, 11.0, 0.4),
            (29.0, 15.0, 0.5),
        ):
            cleft_distance_mm = (
                np.abs((arc_mm + self.phase_mm) / spacing_mm % 1 - 0.5)
                * spacing_mm
                * (radius_mm * np.float32(1 / 34)).clip(0.3, 1)
            )
            below_cleft_mm = np.maximum(depth_mm - cleft_depth_mm, 0)
            cleft_wall_mm = np.hypot(cleft_distance_mm, below_cleft_mm) - cleft_half_width_mm
            pial_depth_mm = np.minimum(pial_depth_mm, cleft_wall_mm)
        return np.asarray((pial_depth_mm >= self.least_depth_mm) & (depth_mm > 0))

    def shrink(self, mm: float) -> Folia:
        return replace(self, least_depth_mm=self.least_depth_mm + mm)


@dataclass(frozen=True)
class Speckled(Solid):
    """Random points of an ellipsoid, `point_share` of them in its middle and fewer towards its edge:
    painted over another tissue they make a mix of two."""

    ellipsoid: Ellipsoid
    point_share: float

    @property
    def box(self) -> NDArray[np.float64]:
        return self.ellipsoid.shrink(-1.5).box

    def contains(self, x: Floats, y: Floats, z: Floats) -> Bools:
        """True (the broadcast shape of x, y, z) at a random share of the points, fewer at the
        edge."""
        level = self.ellipsoid.level(x, y, z)
        pseudo_random = np.sin(
            x * np.float32(12.99) + y * np.float32(78.23) + z * np.float32(37.72)
        ) * np.float32(4375.85)
        share_here = self.point_share * (3.2 * (1.12 - level)).clip(0, 1)
        return np.asarray(pseudo_random - np.floor(pseudo_random) < share_here)

    def mirror(self) -> Speckled:
        return Speckled(self.ellipsoid.mirror(), point_share=self.point_share)


@dataclass(frozen=True)
class BrainTraits:
    """What varies between brains.

    csf_over_gyri_mm      thickness of the CSF over the gyri
    sulcus_half_width_mm  at the mouth of a sulcus
    ventricle_size        1 on average
    cortex_mm             thickness of the cortex
    folia_phase_mm        displacement of the folia of the cerebellum
    """

    csf_over_gyri_mm: float
    sulcus_half_width_mm: float
    ventricle_size: float
    cortex_mm: float
    folia_phase_mm: float


def draw_brain_traits(person: Person) -> BrainTraits:
    """The traits of this person's brain: the same at every call; older brains have more CSF."""
    rng = person.generator(Stream.BRAIN)
    years_past_25 = max(person.age - 25, 0.0)
    csf_over_gyri_mm = rng.uniform(1.0, 1.8) + 0.03 * years_past_25 * rng.uniform(0.4, 1.4)
    sulcus_half_width_mm = rng.uniform(0.3, 0.5) + 0.010 * years_past_25 * rng.uniform(0.4, 1.5)
    enlargement = 1.0
    if person.age > 60 and rng.random() < 0.3:
        enlargement = rng.uniform(1.3, 2.0)
    ventricle_size = rng.uniform(0.6, 1.2) * (1 + 0.012 * years_past_25) * enlargement
    cortex_mm = rng.uniform(2.7, 3.4)
    return BrainTraits(
        csf_over_gyri_mm, sulcus_half_width_mm, ventricle_size, cortex_mm, rng.uniform(0, 6)
    )


class SulcusTraits(NamedTuple):
    """What is added to the sulci of one person.

    added_half_width_mm  to half their width; wide sulci are rarer
    added_depth_mm       to their depth
    bend_phases          of their bends, () for straight ones
    """

    added_half_width_mm: float = 0.0
    added_depth_mm: float = 0.0
    bend_phases: tuple[float, ...] = ()


def paint_brain(person: Person, inner_skull: Vault, with_small_parts: bool = False) -> Paints:
    """Everything within the inner surface of a skull.

    With `with_small_parts` the hemispheres have this person's skull base below them, and their
    sulci are wider, deeper and bent.
    """
    traits = draw_brain_traits(person)
    person_base = None
    sulci = SulcusTraits()
    if with_small_parts:
        person_base = draw_skull_base(person)
        sulci = _draw_sulcus_traits(person)
    hull = Hemispheres(
        inner_skull.shrink(traits.csf_over_gyri_mm),
        half_gap_mm=0.5 + 0.4 * traits.sulcus_half_width_mm,
        skull_base=person_base,
    )
    posterior_fossa = Ellipsoid((0.0, -52.0, 1622.0), (52.0, 36.0, 26.0)) & inner_skull
    cortex = Cortex(
        hull,
        least_depth_mm=0.0,
        sulcus_half_width_mm=traits.sulcus_half_width_mm + sulci.added_half_width_mm,
        seed=(*person.seed, 53),
        added_sulcus_depth_mm=sulci.added_depth_mm,
        bend_phases=sulci.bend_phases,
    )
    skull_tissues = ("cortical bone", "red marrow", "mixed marrow")
    csf_space = hull.shrink(-traits.csf_over_gyri_mm)
    yield paint(csf_space, CSF, Layer.MARROW, replaced_tissues=skull_tissues)
    yield paint(posterior_fossa, CSF, Layer.MARROW, replaced_tissues="cortical bone")
    yield paint_detail(cortex, "grey matter", replaced_tissues=CSF)
    white_matter = cortex.shrink(traits.cortex_mm)
    yield paint_detail(white_matter, "white matter", replaced_tissues="grey matter")
    yield from _paint_corpus_callosum()
    yield from _paint_deep_nuclei()
    yield from _paint_lateral_ventricle(traits.ventricle_size)
    third_ventricle = Ellipsoid(
        (0.0, -10.0, 1667.0), (0.7 + 1.1 * traits.ventricle_size, 14.0, 9.0)
    )
    yield paint_detail(third_ventricle, CSF, replaced_tissues=("grey matter", "white matter"))
    yield from _paint_cerebellum_and_brainstem(traits.folia_phase_mm)


def _draw_sulcus_traits(person: Person) -> SulcusTraits:
    """What is added to the sulci of this person: they are wider and deeper by any amount, and
    bent."""
    width_share, added_depth_mm = (
        person.generator(Stream.SULCI).uniform((0.0, 2.0), (1.0, 7.0)).tolist()
    )
    return SulcusTraits(
        0.1 + 0.5 * width_share * width_share,
        added_depth_mm,
        tuple(person.generator(Stream.SULCUS_BENDS).uniform(0, 2 * np.pi, 4).tolist()),
    )


def draw_skull_base(person: Person) -> SkullBase:
    """This person's skull base; the straight gyri lie about 2 cm above the lowest point of the
    temporal lobes."""
    temporal_pole_mm, pole_front_mm, straight_gyrus_mm, orbital_roof_mm = (
        person.generator(Stream.SKULL_BASE)
        .uniform((1612, 28, 1632, 8), (1622, 38, 1641, 15))
        .tolist()
    )
    return SkullBase(temporal_pole_mm, pole_front_mm, straight_gyrus_mm, orbital_roof_mm)


def _paint_corpus_callosum() -> Paints:
    """The corpus callosum, four strands side by side."""
    arch_points = ((30, 1664), (33, 1674), (24, 1687), (0, 1692), (-26, 1688), (-41, 1678))
    arch_radii = [3, 5, 3.2, 2.8, 3, 5]
    for x in (-9.0, -3.0, 3.0, 9.0):
        strand = tube([(x, y, z + 0.25 * abs(x)) for y, z in arch_points], arch_radii)
        yield paint_detail(strand, "white matter", replaced_tissues=("grey matter", CSF))


@on_both_sides
def _paint_deep_nuclei() -> Paints:
    """On the right: thalamus, putamen, globus pallidus and caudate nucleus around the internal
    capsule, hippocampus beside the temporal horn."""
    nuclei = (  # middle, half axes, rotation in degrees, share of cell bodies among fibres
        ((9.5, -17.0, 1672.0), (8.0, 15.0, 9.0), 22.0, 0.6),  # thalamus
        ((27.0, 5.0, 1670.0), (4.8, 16.5, 11.0), 14.0, 0.85),  # putamen
        ((20.0, 0.0, 1668.0), (4.0, 9.0, 7.0), 28.0, 0.35),  # globus pallidus
        ((12.5, 22.0, 1675.0), (5.0, 9.5, 9.5), -8.0, 0.9),  # head of the caudate nucleus
    )
    speckled_nuclei = (
        Speckled(Ellipsoid(centre, half_axes, (0.0, 0.0, turn_deg)), point_share=cell_share)
        for centre, half_axes, turn_deg, cell_share in nuclei
    )
    caudate_tail = tube([(14, 14, 1683), (17, -6, 1688), (20, -24, 1685)], [4.0, 2.6, 1.8])
    hippocampus = tube([(22, 4, 1636), (26, -12, 1638), (25, -30, 1646)], [6.0, 4.5, 3.5])
    yield from paint_details(
        (*speckled_nuclei, caudate_tail, hippocampus),
        "grey matter",
        replaced_tissues="white matter",
    )


@on_both_sides
def _paint_lateral_ventricle(ventricle_size: float) -> Paints:
    """The right lateral ventricle, of that size (1 on average): frontal horn, body, trigone,
    occipital and temporal horn."""
    size_root = ventricle_size**0.5
    frontal_horn = Ellipsoid(
        (7.5 + 1.5 * ventricle_size, 21.0, 1680.0),
        (2.2 * ventricle_size + 0.6, 14.0 * size_root, 8.0 * size_root),
        (0.0, 18.0, -22.0),
    )
    body_of_ventricle = Ellipsoid(
        (9.0 + 1.5 * ventricle_size, -6.0, 1687.0),
        (4.0 * ventricle_size + 1.0, 25.0, 3.2 * ventricle_size + 0.8),
        (0.0, 20.0, 12.0),
    )
    trigone = Ellipsoid(
        (22.0, -40.0, 1677.0),
        (3.6 * ventricle_size + 1.0, 10.0 * size_root, 8.5 * size_root),
        (0.0, 0.0, 24.0),
    )
    occipital_horn = Ellipsoid(
        (24.0, -56.0, 1673.0),
        (1.9 * ventricle_size, 13.0 * size_root, 4.5 * size_root),
        (0.0, 0.0, 4.0),
    )
    temporal_horn = tube(
        [
            (13, -24, 1688),
            (19, -36, 1684),
            (23, -42, 1676),
            (27, -34, 1655),
            (30, -14, 1644),
            (30, 0, 1640),
        ],
        [radius_mm * ventricle_size for radius_mm in (3.6, 4.5, 4.5, 2.4, 1.6, 1.2)],
    )
    spaces = (frontal_horn, body_of_ventricle, trigone, occipital_horn, temporal_horn)
    yield from paint_details(spaces, CSF, replaced_tissues=("grey matter", "white matter"))


CEREBELLAR_LOBES = (
    Ellipsoid((25.0, -56.0, 1616.0), (27.0, 27.0, 22.0), (10.0, 0.0, 14.0)),
    Ellipsoid((-25.0, -56.0, 1616.0), (27.0, 27.0, 22.0), (10.0, 0.0, -14.0)),
    Ellipsoid((0.0, -54.0, 1623.0), (13.0, 25.0, 24.0)),
)
"""The cerebellum: both hemispheres and the vermis."""


def _paint_cerebellum_and_brainstem(folia_phase_mm: float) -> Paints:
    """Cerebellum with vermis and white core, midbrain, pons and medulla in their cisterns, fourth
    ventricle, pituitary."""
    yield from paint_details((lobe.shrink(-1.8) for lobe in CEREBELLAR_LOBES), CSF)
    brainstem_cistern = tube(
        [(0, -22, 1650), (0, -8, 1638), (0, -6, 1626), (0, -14, 1608), (0, -26, 1588)],
        [15, 15, 15, 14, 12],
    )
    yield paint_detail(
        brainstem_cistern, CSF, replaced_tissues=("cortical bone", "red marrow", "muscle", "fat")
    )
    folia = Folia(CEREBELLAR_LOBES, 0.0, folia_phase_mm)
    yield paint_detail(folia, "grey matter", replaced_tissues=CSF)
    yield paint_detail(folia.shrink(1.9), "white matter", replaced_tissues="grey matter")
    yield from _paint_peduncles()
    brainstem = tube(
        [(0, -22, 1650), (0, -19, 1642), (0, -20, 1612), (0, -22, 1600), (0, -31, 1582)],
        [9.5, 9.0, 8.0, 7.0, 5.8],
    )
    pons = Ellipsoid((0.0, -13.0, 1627.0), (16.0, 11.5, 13.0), (-10.0, 0.0, 0.0))
    yield from paint_details((brainstem, pons), "white matter")
    fourth_ventricle = Ellipsoid((0.0, -33.0, 1620.0), (6.5, 4.0, 11.0))
    aqueduct = Ellipsoid((0.0, -29.5, 1643.0), (1.2, 1.2, 12.0))
    suprasellar_cistern = Ellipsoid((0.0, 6.0, 1640.0), (12.0, 9.0, 5.0))
    yield from paint_details((fourth_ventricle, aqueduct, suprasellar_cistern), CSF)
    pituitary_gland = Ellipsoid((0.0, 7.0, 1628.0), (6.5, 5.5, 4.0))
    yield paint_detail(pituitary_gland, "gland")


@on_both_sides
def _paint_peduncles() -> Paints:
    """The right middle cerebellar peduncle and the right cerebral peduncle."""
    cerebellar_peduncle = tube([(9, -15, 1626), (18, -27, 1622), (22, -44, 1617)], [8, 8.5, 9])
    cerebral_peduncle = tube([(5, -15, 1646), (11, -8, 1656), (17, -8, 1664)], [7.0, 6.5, 5.0])
    yield from paint_details((cerebellar_peduncle, cerebral_peduncle), "white matter")
