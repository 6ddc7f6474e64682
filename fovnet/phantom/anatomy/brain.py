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
from fovnet.phantom.person.traits import Person

MeshTable = NDArray[np.float32]

HEMISPHERE_MIDDLE_MM = (25.0, -8.0, 1668.0)  # of the right hemisphere: sulci point towards it
HEMISPHERE_REACH_MM = (40.0, 80.0, 64.0)  # from there to the surface
# the point that sulci point towards follows them along y by this share, at most so far
FOLLOWING_SHARE = 0.6
MOST_FOLLOWING_MM = 34.0
CSF = "cerebrospinal fluid"
TABLE_CELL_COUNT = 288  # of a table of directions along each axis: about 1 mm of the surface
FLOOR_STEP_MM = 0.5


@dataclass(frozen=True)
class Vault(Solid):
    """The inside or outside of a skull: a superellipsoid with flattened sides, `semi` (3,) mm,
    widest behind its middle."""

    semi: Point
    centre: Point = (0.0, -5.0, 1666.0)
    narrow: float = 0.11

    @property
    def box(self) -> NDArray[np.float64]:
        centre = np.asarray(self.centre)
        half_axes = np.asarray(self.semi)
        return np.stack([centre - half_axes, centre + half_axes])

    def level(self, x: Floats, y: Floats, z: Floats) -> Floats:
        """Level without a unit: 0 at the centre, 1 on the surface."""
        scale_x, scale_y, scale_z = (np.float32(1 / half_axis) for half_axis in self.semi)
        share_y = (y - np.float32(self.centre[1])) * scale_y
        share_z = (z - np.float32(self.centre[2])) * scale_z
        posterior_share = share_y + np.float32(0.3)
        # Below the brow the skull is narrowed by the temporal fossae, which hold the muscle beside
        # the orbits.
        narrowing = np.float32(self.narrow) * (
            1
            + np.float32(1.3) * ((1656 - z) * np.float32(1 / 24)).clip(0, 1) * (posterior_share > 0)
        )
        share_x = x * scale_x / (1 - narrowing * posterior_share * posterior_share)
        share_x = share_x * share_x
        share_y = share_y * share_y
        share_z = share_z * share_z
        return np.asarray(
            0.72 * (share_x + share_y + share_z)
            + 0.28 * (share_x * share_x + share_y * share_y + share_z * share_z)
        )

    def inside(self, x: Floats, y: Floats, z: Floats) -> Bools:
        return self.level(x, y, z) <= 1.0

    def shrunk(self, mm: float) -> Vault:
        return replace(self, semi=tuple(half_axis - mm for half_axis in self.semi))


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
        """Height in mm of the hemispheres' lower surface at |x| and y."""
        orbital_roof_mm = (
            self.orbital_roof_mm * np.exp(-(((x - 29) / 15) ** 2)) * _smooth_step(y, 26, 56)
        )
        frontal_floor_mm = (
            self.straight_gyrus_mm
            + orbital_roof_mm
            + 0.12 * np.maximum(x - 40, 0)
            + 0.02 * np.maximum(y - 60, 0) ** 2
        )
        height_mm = _add_tentorium(frontal_floor_mm, x, y)
        lobe_radius = np.hypot(
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
        lobe_share = _smooth_step(lobe_radius, 1.06, 0.7) * _smooth_step(y, -66, -26)
        return (1 - lobe_share) * height_mm + lobe_share * temporal_fossa_mm


def _add_tentorium(frontal_floor_mm: Floats, x: Floats, y: Floats) -> Floats:
    """The floor at `frontal_floor_mm`, and behind it the tentorium over the cerebellum."""
    tentorium_mm = 1648 - 0.24 * np.maximum(-y - 32, 0) - 0.24 * x
    tentorium_share = _smooth_step(y, -18, -36)
    return (1 - tentorium_share) * frontal_floor_mm + tentorium_share * tentorium_mm


@lru_cache(maxsize=3)
def _tabulate_hemisphere_floor(skull_base: SkullBase | None) -> tuple[MeshTable, MeshTable]:
    """(i, j) height in mm of the hemispheres' lower surface at |x| and y on a mesh of
    FLOOR_STEP_MM, and the cosine of its slope.

    Orbital roofs in front, temporal fossae beside them, the tentorium behind.
    """
    x = np.arange(0, 90, FLOOR_STEP_MM)[:, None]
    y = np.arange(-110, 100, FLOOR_STEP_MM)[None, :]
    if skull_base is None:
        height_mm = _add_tentorium(
            1644 + (8 + 4 * _smooth_step(x, 4, 16)) * _smooth_step(y, 26, 46), x, y
        )
        lobe_radius = np.hypot((x - 37) / np.where(x < 37, 24, 33), np.maximum(y + 5, 0) / 47)
        lobe_share = _smooth_step(lobe_radius, 1.06, 0.7) * _smooth_step(y, -66, -26)
        height_mm = (1 - lobe_share) * height_mm + lobe_share * (
            1610 + 0.012 * (x - 36) ** 2 + 0.08 * np.abs(y - 4)
        )
    else:
        height_mm = skull_base.height(x, y)
    slope = np.hypot(*np.gradient(height_mm, FLOOR_STEP_MM))
    return height_mm.astype(np.float32), (1 / np.hypot(1, slope)).astype(np.float32)


@dataclass(frozen=True)
class Hemispheres(Solid):
    """Points deeper than `least_depth_mm` below the smooth surface of both hemispheres: the hull
    over the gyri, or the CSF around it."""

    vault: Vault
    half_gap_mm: float = 0.6  # half the width of the fissure between the hemispheres
    least_depth_mm: float = 0.0
    floor: SkullBase | None = None  # None: a plain one
    sparse = True  # the bone that may be replaced is a fraction of the box

    @property
    def box(self) -> NDArray[np.float64]:
        return self.vault.shrunk(min(self.least_depth_mm, 0.0)).box

    def depth(self, x: Floats, y: Floats, z: Floats) -> Floats:
        """Depth below the outer surface and above the floor, mm; negative outside."""
        floor_mm, cosine = _tabulate_hemisphere_floor(self.floor)
        x_index = (
            (np.abs(x) * (1 / FLOOR_STEP_MM) + 0.5).astype(np.intp).clip(0, floor_mm.shape[0] - 1)
        )
        y_index = (
            ((y + 110) * (1 / FLOOR_STEP_MM) + 0.5).astype(np.intp).clip(0, floor_mm.shape[1] - 1)
        )
        height_mm = (z - floor_mm[x_index, y_index]) * cosine[x_index, y_index]
        level = self.vault.level(x, y, z)
        return np.asarray(
            np.minimum(height_mm, (1 - np.sqrt(level)) * np.float32(self.vault.semi[0] + 8))
        )

    def fissure_depths(self, x: Floats, y: Floats, z: Floats) -> tuple[Floats, Floats]:
        """Distance in mm from the interhemispheric fissure, which ends above the corpus callosum,
        and depth into the middle below that."""
        y_share = (y + 4) * np.float32(1 / 41)
        z_share = (z - 1668) * np.float32(1 / 26)
        depth_below_mm = (1 - np.sqrt(y_share * y_share + z_share * z_share)) * 30
        waver_mm = np.float32(0.9) * np.sin(y * np.float32(0.11)) * np.sin(z * np.float32(0.07))
        return np.maximum(
            np.abs(x + waver_mm) - np.float32(self.half_gap_mm), depth_below_mm
        ), depth_below_mm

    def inside(self, x: Floats, y: Floats, z: Floats) -> Bools:
        return self.depth(x, y, z) >= self.least_depth_mm

    def mirror(self) -> Hemispheres:
        return self

    def shrunk(self, mm: float) -> Hemispheres:
        return replace(self, least_depth_mm=self.least_depth_mm + mm)


@dataclass(frozen=True)
class Cortex(Solid):
    """Points deeper than `least_depth_mm` below the folded surface: 0 is grey and white matter, the
    cortex's thickness is white matter alone.

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
    sparse = True  # each point looks up its nearest sulcus

    @property
    def box(self) -> NDArray[np.float64]:
        return self.hull.box

    def inside(self, x: Floats, y: Floats, z: Floats) -> Bools:
        """True (the broadcast shape of x, y, z) at points deeper than `least_depth_mm` below the
        folds."""
        depth_mm = self.hull.depth(x, y, z)
        fissure_mm, callosum_mm = self.hull.fissure_depths(x, y, z)
        depth_mm = np.minimum(depth_mm, fissure_mm)
        if self.bend_phases:
            x, y, z = bend_points(x, y, z, self.bend_phases)
        surface_distance_mm, sulcus_depth_mm, shrinkage = self._sulci(x, y, z)
        crown_share = (1 - surface_distance_mm * np.float32(1 / 3.5)).clip(0, 1) * (
            callosum_mm < -9
        )
        # gyri are rounded towards their sulci
        depth_mm = depth_mm - np.float32(1.6) * crown_share * crown_share
        below_sulcus_mm = np.maximum(depth_mm - sulcus_depth_mm, 0) + np.maximum(
            callosum_mm + 9 - np.float32(0.5) * np.maximum(np.abs(x) - 16, 0), 0
        )
        sulcus_distance_mm = np.sqrt(
            (surface_distance_mm * shrinkage) ** 2 + below_sulcus_mm * below_sulcus_mm
        )
        sulcus_distance_mm -= np.float32(self.sulcus_half_width_mm) * (
            1.25 - 0.9 * (depth_mm / sulcus_depth_mm).clip(0, 1)
        )
        pial_depth_mm = np.minimum(
            np.minimum(depth_mm, sulcus_distance_mm),
            _lateral_fissure_mm(x, y, z) - np.float32(0.7 + self.sulcus_half_width_mm),
        )
        return np.asarray(pial_depth_mm >= self.least_depth_mm)

    def _sulci(self, x: Floats, y: Floats, z: Floats) -> tuple[Floats, Floats, Floats]:
        """Distance in mm to the nearest sulcus at the surface, the depth of sulci there, and the
        factor by which distances shrink at this point."""
        middle_x, middle_y, middle_z = HEMISPHERE_MIDDLE_MM
        reach_x, reach_y, reach_z = HEMISPHERE_REACH_MM
        direction_x = (np.abs(x) - middle_x) * np.float32(1 / reach_x)
        y_mm = y - np.float32(middle_y)
        followed_mm = (np.float32(FOLLOWING_SHARE) * y_mm).clip(
            -MOST_FOLLOWING_MM, MOST_FOLLOWING_MM
        )
        direction_y = (y_mm - followed_mm) * np.float32(1 / (reach_y - MOST_FOLLOWING_MM))
        direction_z = (z - np.float32(middle_z)) * np.float32(1 / reach_z)
        cells_per_unit = np.float32(TABLE_CELL_COUNT / 2 - 0.51) / (
            np.abs(direction_x) + np.abs(direction_y) + np.abs(direction_z) + np.float32(1e-6)
        )
        cell_row = (direction_x * cells_per_unit + np.float32(TABLE_CELL_COUNT / 2)).astype(np.intp)
        cell_column = (direction_y * cells_per_unit + np.float32(TABLE_CELL_COUNT / 2)).astype(
            np.intp
        )
        cell_index = (
            (2 * (x > 0) + (direction_z > 0)) * TABLE_CELL_COUNT + cell_row
        ) * TABLE_CELL_COUNT + cell_column
        distance_mm, depth_mm = (table.ravel()[cell_index] for table in _tabulate_sulci(self.seed))
        shrinkage = np.sqrt(
            direction_x * direction_x + direction_y * direction_y + direction_z * direction_z
        ).clip(0.3, 1.0)
        return distance_mm, depth_mm + np.float32(self.added_sulcus_depth_mm), shrinkage

    def shrunk(self, mm: float) -> Cortex:
        return replace(self, least_depth_mm=self.least_depth_mm + mm)


# mm: wavelength and amplitude of the bends of sulci, up to 25° each
SULCUS_BENDS = ((43.0, 3.6), (21.0, 1.3))


def bend_points(
    x: Floats, y: Floats, z: Floats, phases: tuple[float, ...]
) -> tuple[Floats, Floats, Floats]:
    """The points displaced by waves of SULCUS_BENDS, different in each hemisphere, without lateral
    displacement at the fissure."""
    side = np.sign(x)
    lateral_mm = np.abs(x)
    phase_x, phase_y, phase_z, ripple_phase = (np.float32(phase) for phase in phases)
    (long_wave_number, long_mm), (short_wave_number, short_mm) = (
        (np.float32(2 * np.pi / wavelength_mm), np.float32(amplitude_mm))
        for wavelength_mm, amplitude_mm in SULCUS_BENDS
    )
    shift_x = (
        long_mm
        * np.sin(long_wave_number * (np.float32(0.8) * y - np.float32(0.6) * z) + (phase_x + side))
        * (lateral_mm * np.float32(1 / 8)).clip(0, 1)
    )
    shift_y = long_mm * np.sin(
        long_wave_number * np.float32(0.7) * (z + lateral_mm) + (phase_y + side)
    )
    shift_z = long_mm * np.sin(
        long_wave_number * (np.float32(0.6) * lateral_mm + np.float32(0.8) * y) + (phase_z - side)
    )
    ripple = short_mm * np.sin(
        short_wave_number * (np.float32(0.8) * lateral_mm + np.float32(0.4) * (y + z))
        + (ripple_phase + side)
    )
    return x + shift_x, y + shift_y + ripple, z + shift_z - ripple


@lru_cache(maxsize=2)
def _tabulate_sulci(seed: tuple[int, ...]) -> tuple[MeshTable, MeshTable]:
    """(4, CELLS, CELLS) mm along the surface to the nearest sulcus, and the depth of sulci there;
    left and right, below and above.

    The distance is |g| / |grad g| of a sum g of waves of one length, whose nodal lines wind like
    sulci. Depths and the waves below are drawn from one stream, as a seed is padded with zeros;
    other numbers would make other brains.
    """
    rng = np.random.default_rng(seed)
    cell_centres = (
        np.arange(TABLE_CELL_COUNT, dtype=np.float32) + 0.5 - TABLE_CELL_COUNT / 2
    ) / np.float32(TABLE_CELL_COUNT / 2)
    direction_x, direction_y = np.meshgrid(cell_centres, cell_centres, indexing="ij")
    direction_z = np.float32(1) - np.abs(direction_x) - np.abs(direction_y)
    is_valid = direction_z > -0.03
    distance_mm = np.full((4, TABLE_CELL_COUNT, TABLE_CELL_COUNT), 9, np.float32)
    depth_mm = np.full((4, TABLE_CELL_COUNT, TABLE_CELL_COUNT), 12, np.float32)
    for quarter_index in range(4):
        directions = np.stack(
            [
                direction_x[is_valid],
                direction_y[is_valid],
                (1 if quarter_index % 2 else -1) * direction_z[is_valid],
            ],
            axis=1,
        )
        directions /= np.linalg.norm(directions, axis=1, keepdims=True)
        wave_rng = np.random.default_rng([*seed, quarter_index // 2])
        raw_vectors = wave_rng.normal(size=(12, 3))
        wave_phases = wave_rng.uniform(0, 2 * np.pi, 12)
        wave_vectors = (
            raw_vectors
            / np.linalg.norm(raw_vectors, axis=1, keepdims=True)
            * (2 * np.pi / wave_rng.uniform(17, 22, (12, 1)))
        )
        wave_vectors = wave_vectors.astype(np.float32)
        wave_phases = wave_phases.astype(np.float32)
        points = directions * np.asarray(HEMISPHERE_REACH_MM, np.float32)
        normals = directions / np.asarray(HEMISPHERE_REACH_MM, np.float32)
        # undoes what `_sulci` does to y
        y_mm = np.abs(directions[:, 1]) * (HEMISPHERE_REACH_MM[1] - MOST_FOLLOWING_MM)
        points[:, 1] = np.sign(directions[:, 1]) * np.minimum(
            y_mm / (1 - FOLLOWING_SHARE), y_mm + MOST_FOLLOWING_MM
        )
        normals /= np.linalg.norm(normals, axis=1, keepdims=True)
        angles = points @ wave_vectors.T + wave_phases
        wave_sum = np.sin(angles).sum(axis=1)
        gradient = np.cos(angles) @ wave_vectors
        gradient -= (gradient * normals).sum(axis=1, keepdims=True) * normals
        distance_mm[quarter_index][is_valid] = (
            np.abs(wave_sum) / (np.linalg.norm(gradient, axis=1) + 0.12)
        ).clip(0, 9)
        slow_waves = np.sin(points @ (np.float32(0.45) * wave_vectors[:5].T) + wave_phases[:5]).sum(
            axis=1
        )
        depth_mm[quarter_index][is_valid] = (13.5 + 3.5 * slow_waves + rng.uniform(-1, 1)).clip(
            7, 21
        )
    return distance_mm, depth_mm


def _lateral_fissure_mm(x: Floats, y: Floats, z: Floats) -> Floats:
    """Distance in mm from the lateral fissure: a slit from the side, rising backwards, and the gap
    lateral to the insula at its end."""
    lateral_mm = np.abs(x)
    rise_mm = (
        z
        - (1641 + np.float32(0.42) * (28 - y))
        - np.float32(0.4) * (lateral_mm - 45)
        + np.float32(1.5) * np.sin(lateral_mm * np.float32(0.35))
    )
    end_mm = np.maximum(np.maximum(-38 - y, y - 36), 0)
    insula_mm = (
        np.float32(39)
        - np.float32(0.006) * (y - 4) ** 2
        + np.float32(0.6) * np.sin(y * np.float32(0.6))
    )
    slit_mm = np.sqrt(
        (0.92 * rise_mm) ** 2 + end_mm * end_mm + np.maximum(insula_mm - lateral_mm, 0) ** 2
    )
    insula_end_mm = np.maximum(np.maximum(-20 - y, y - 27), 0)
    gap_mm = np.sqrt(
        (lateral_mm - insula_mm) ** 2
        + insula_end_mm * insula_end_mm
        + np.maximum(np.maximum(rise_mm - 15, -7 - rise_mm), 0) ** 2
    )
    return np.asarray(np.minimum(slit_mm, gap_mm))


@dataclass(frozen=True)
class Folia(Solid):
    """Points deeper than `least_depth_mm` below the folia of a cerebellum: a fan of clefts about a
    transverse line."""

    lobes: tuple[Ellipsoid, ...]
    least_depth_mm: float
    phase_mm: float
    axis: tuple[float, float] = (-33.0, 1617.0)  # y and z of that line
    sparse = True  # angles are expensive

    @property
    def box(self) -> NDArray[np.float64]:
        return Union(self.lobes).box

    def inside(self, x: Floats, y: Floats, z: Floats) -> Bools:
        """True (the broadcast shape of x, y, z) at points deeper than `least_depth_mm` below the
        folia."""
        depth_mm = np.max(
            [(1 - np.sqrt(lobe.level(x, y, z))) * min(lobe.semi[1:]) for lobe in self.lobes], axis=0
        )
        behind_mm = self.axis[0] - y - np.float32(0.007) * x * x + np.float32(0.05) * np.abs(x)
        up_mm = z - self.axis[1] + np.float32(0.006) * x * x
        radius_mm = np.hypot(behind_mm, up_mm)
        angle_mm = (
            34 * np.arctan2(up_mm, behind_mm)
            + 1.2 * np.sin(0.13 * x + self.phase_mm)
            + 1.5 * np.sin(0.31 * radius_mm)
        )
        pial_depth_mm = depth_mm
        # (spacing, depth and half width of the clefts): between folia, between lobules, and the few
        # large fissures
        for spacing_mm, cleft_depth_mm, cleft_half_width_mm in (
            (4.4, 4.5, 0.25),
            (11.0, 11.0, 0.4),
            (29.0, 15.0, 0.5),
        ):
            cleft_mm = (
                np.abs((angle_mm + self.phase_mm) / spacing_mm % 1 - 0.5)
                * spacing_mm
                * (radius_mm * np.float32(1 / 34)).clip(0.3, 1)
            )
            pial_depth_mm = np.minimum(
                pial_depth_mm,
                np.hypot(cleft_mm, np.maximum(depth_mm - cleft_depth_mm, 0)) - cleft_half_width_mm,
            )
        return np.asarray((pial_depth_mm >= self.least_depth_mm) & (depth_mm > 0))

    def shrunk(self, mm: float) -> Folia:
        return replace(self, least_depth_mm=self.least_depth_mm + mm)


@dataclass(frozen=True)
class Speckled(Solid):
    """Random points of an ellipsoid, `share` of them inside and fewer towards its edge: a mix of
    two tissues."""

    base: Ellipsoid
    share: float

    @property
    def box(self) -> NDArray[np.float64]:
        return self.base.shrunk(-1.5).box

    def inside(self, x: Floats, y: Floats, z: Floats) -> Bools:
        """True (the broadcast shape of x, y, z) at a random share of the points, fewer at the
        edge."""
        level = self.base.level(x, y, z)
        pseudo_random = np.sin(
            x * np.float32(12.99) + y * np.float32(78.23) + z * np.float32(37.72)
        ) * np.float32(4375.85)
        return np.asarray(
            pseudo_random - np.floor(pseudo_random) < self.share * (3.2 * (1.12 - level)).clip(0, 1)
        )

    def mirror(self) -> Speckled:
        return Speckled(self.base.mirror(), self.share)


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
    """Those of a person; older brains have more CSF."""
    rng = person.generator(51)
    years_past_25 = max(person.age - 25, 0.0)
    csf_over_gyri_mm = rng.uniform(1.0, 1.8) + 0.03 * years_past_25 * rng.uniform(0.4, 1.4)
    sulcus_half_width_mm = rng.uniform(0.3, 0.5) + 0.010 * years_past_25 * rng.uniform(0.4, 1.5)
    enlargement = rng.uniform(1.3, 2.0) if person.age > 60 and rng.random() < 0.3 else 1.0
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
    """Everything within the inner surface of a skull; older brains have more CSF.
    `with_small_parts`: with those of 1 to 10 mm."""
    traits = draw_brain_traits(person)
    floor_of_skull = draw_skull_base(person) if with_small_parts else None
    sulci = _draw_sulcus_traits(person) if with_small_parts else SulcusTraits()
    hull = Hemispheres(
        inner_skull.shrunk(traits.csf_over_gyri_mm),
        0.5 + 0.4 * traits.sulcus_half_width_mm,
        floor=floor_of_skull,
    )
    posterior_fossa = Ellipsoid((0.0, -52.0, 1622.0), (52.0, 36.0, 26.0)) & inner_skull
    cortex = Cortex(
        hull,
        0.0,
        traits.sulcus_half_width_mm + sulci.added_half_width_mm,
        (*person.seed, 53),
        sulci.added_depth_mm,
        sulci.bend_phases,
    )
    skull_tissues = ("cortical bone", "red marrow", "mixed marrow")
    yield paint(
        hull.shrunk(-traits.csf_over_gyri_mm), CSF, Layer.MARROW, replaced_tissues=skull_tissues
    )
    yield paint(posterior_fossa, CSF, Layer.MARROW, replaced_tissues="cortical bone")
    yield paint_detail(cortex, "grey matter", replaced_tissues=CSF)
    yield paint_detail(
        cortex.shrunk(traits.cortex_mm), "white matter", replaced_tissues="grey matter"
    )
    yield from _paint_corpus_callosum()
    yield from _paint_deep_nuclei()
    yield from _paint_lateral_ventricle(traits.ventricle_size)
    third_ventricle = Ellipsoid(
        (0.0, -10.0, 1667.0), (0.7 + 1.1 * traits.ventricle_size, 14.0, 9.0)
    )
    yield paint_detail(third_ventricle, CSF, replaced_tissues=("grey matter", "white matter"))
    yield from _paint_cerebellum_and_brainstem(traits.folia_phase_mm)


def _draw_sulcus_traits(person: Person) -> SulcusTraits:
    """Those of a person: wider and deeper by any amount, and bent."""
    width_share, added_depth_mm = person.generator(59).uniform((0.0, 2.0), (1.0, 7.0)).tolist()
    return SulcusTraits(
        0.1 + 0.5 * width_share * width_share,
        added_depth_mm,
        tuple(person.generator(592).uniform(0, 2 * np.pi, 4).tolist()),
    )


def draw_skull_base(person: Person) -> SkullBase:
    """This person's skull base; the straight gyri lie about 2 cm above the lowest point of the
    temporal lobes."""
    return SkullBase(
        *person.generator(56).uniform((1612, 28, 1632, 8), (1622, 38, 1641, 15)).tolist()
    )


def _paint_corpus_callosum() -> Paints:
    """The corpus callosum, four strands side by side."""
    radii = [3, 5, 3.2, 2.8, 3, 5]
    for offset in (-9.0, -3.0, 3.0, 9.0):
        arch_points = ((30, 1664), (33, 1674), (24, 1687), (0, 1692), (-26, 1688), (-41, 1678))
        strand = tube([(offset, y, z + 0.25 * abs(offset)) for y, z in arch_points], radii)
        yield paint_detail(strand, "white matter", replaced_tissues=("grey matter", CSF))


@on_both_sides
def _paint_deep_nuclei() -> Paints:
    """Thalamus, putamen, pallidum and caudate around the internal capsule, hippocampus beside the
    temporal horn."""
    nuclei = (
        ((9.5, -17.0, 1672.0), (8.0, 15.0, 9.0), 22.0, 0.6),  # thalamus
        ((27.0, 5.0, 1670.0), (4.8, 16.5, 11.0), 14.0, 0.85),  # putamen
        ((20.0, 0.0, 1668.0), (4.0, 9.0, 7.0), 28.0, 0.35),  # pallidum
        ((12.5, 22.0, 1675.0), (5.0, 9.5, 9.5), -8.0, 0.9),  # head of the caudate
    )
    speckled = (
        Speckled(Ellipsoid(centre, half_axes, (0.0, 0.0, turn_deg)), cell_share)
        for centre, half_axes, turn_deg, cell_share in nuclei
    )
    caudate_tail = tube([(14, 14, 1683), (17, -6, 1688), (20, -24, 1685)], [4.0, 2.6, 1.8])
    hippocampus = tube([(22, 4, 1636), (26, -12, 1638), (25, -30, 1646)], [6.0, 4.5, 3.5])
    yield from paint_details(
        (*speckled, caudate_tail, hippocampus), "grey matter", replaced_tissues="white matter"
    )


@on_both_sides
def _paint_lateral_ventricle(ventricle_size: float) -> Paints:
    """Frontal horns, bodies, trigones with occipital and temporal horns, of that size: 1 on
    average."""
    size_root = ventricle_size**0.5
    horns = (
        # frontal horn
        (
            (7.5 + 1.5 * ventricle_size, 21.0, 1680.0),
            (2.2 * ventricle_size + 0.6, 14.0 * size_root, 8.0 * size_root),
            -22.0,
            18.0,
        ),
        # body
        (
            (9.0 + 1.5 * ventricle_size, -6.0, 1687.0),
            (4.0 * ventricle_size + 1.0, 25.0, 3.2 * ventricle_size + 0.8),
            12.0,
            20.0,
        ),
        # trigone
        (
            (22.0, -40.0, 1677.0),
            (3.6 * ventricle_size + 1.0, 10.0 * size_root, 8.5 * size_root),
            24.0,
            0.0,
        ),
        # occipital horn
        (
            (24.0, -56.0, 1673.0),
            (1.9 * ventricle_size, 13.0 * size_root, 4.5 * size_root),
            4.0,
            0.0,
        ),
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
        [radius * ventricle_size for radius in (3.6, 4.5, 4.5, 2.4, 1.6, 1.2)],
    )
    solids = (
        *(
            Ellipsoid(centre, half_axes, (0.0, roll_deg, turn_deg))
            for centre, half_axes, turn_deg, roll_deg in horns
        ),
        temporal_horn,
    )
    yield from paint_details(solids, CSF, replaced_tissues=("grey matter", "white matter"))


CEREBELLAR_LOBES = (
    Ellipsoid((25.0, -56.0, 1616.0), (27.0, 27.0, 22.0), (10.0, 0.0, 14.0)),
    Ellipsoid((-25.0, -56.0, 1616.0), (27.0, 27.0, 22.0), (10.0, 0.0, -14.0)),
    Ellipsoid((0.0, -54.0, 1623.0), (13.0, 25.0, 24.0)),
)
"""The cerebellum: both hemispheres and the vermis."""


def _paint_cerebellum_and_brainstem(folia_phase_mm: float) -> Paints:
    """Cerebellum with vermis and white core, midbrain, pons and medulla in their cisterns, fourth
    ventricle, pituitary."""
    yield from paint_details((lobe.shrunk(-1.8) for lobe in CEREBELLAR_LOBES), CSF)
    cistern = tube(
        [(0, -22, 1650), (0, -8, 1638), (0, -6, 1626), (0, -14, 1608), (0, -26, 1588)],
        [15, 15, 15, 14, 12],
    )
    yield paint_detail(
        cistern, CSF, replaced_tissues=("cortical bone", "red marrow", "muscle", "fat")
    )
    folia = Folia(CEREBELLAR_LOBES, 0.0, folia_phase_mm)
    yield paint_detail(folia, "grey matter", replaced_tissues=CSF)
    yield paint_detail(folia.shrunk(1.9), "white matter", replaced_tissues="grey matter")
    yield from _paint_peduncles()
    brainstem = tube(
        [(0, -22, 1650), (0, -19, 1642), (0, -20, 1612), (0, -22, 1600), (0, -31, 1582)],
        [9.5, 9.0, 8.0, 7.0, 5.8],
    )
    pons = Ellipsoid((0.0, -13.0, 1627.0), (16.0, 11.5, 13.0), (-10.0, 0.0, 0.0))
    yield from paint_details((brainstem, pons), "white matter")
    csf_spaces = (
        Ellipsoid((0.0, -33.0, 1620.0), (6.5, 4.0, 11.0)),
        Ellipsoid((0.0, -29.5, 1643.0), (1.2, 1.2, 12.0)),
        Ellipsoid((0.0, 6.0, 1640.0), (12.0, 9.0, 5.0)),
    )
    yield from paint_details(csf_spaces, CSF)
    yield paint_detail(Ellipsoid((0.0, 7.0, 1628.0), (6.5, 5.5, 4.0)), "gland")


@on_both_sides
def _paint_peduncles() -> Paints:
    """The middle peduncle of the cerebellum and the cerebral peduncle of one side."""
    cerebellar_peduncle = tube([(9, -15, 1626), (18, -27, 1622), (22, -44, 1617)], [8, 8.5, 9])
    cerebral_peduncle = tube([(5, -15, 1646), (11, -8, 1656), (17, -8, 1664)], [7.0, 6.5, 5.0])
    yield from paint_details((cerebellar_peduncle, cerebral_peduncle), "white matter")
