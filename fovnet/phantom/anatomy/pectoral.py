"""The front of the chest under a breast: a pectoral muscle of uneven thickness, from which the
gland keeps a distance."""

from __future__ import annotations

from dataclasses import dataclass
from functools import reduce

import numpy as np

from fovnet.phantom.anatomy.layers import Layer, Paints, paint
from fovnet.phantom.geometry.solids import Bools, Filling, Floats, Loft, Point
from fovnet.phantom.geometry.tissue_structure import Box
from fovnet.phantom.person.streams import Stream
from fovnet.phantom.person.traits import Person

MUSCLE_X_RANGE_MM = (16.0, 150.0)  # from the edge of the sternum to the axilla
MUSCLE_Z_RANGE_MM = (1245.0, 1420.0)  # from the sixth rib to the clavicle
PLAIN_MUSCLE_MM = 9.0  # thickness of the muscle over the ribs without additions


@dataclass(frozen=True)
class PectoralFront:
    """The front of the pectoral muscle, which is PLAIN_MUSCLE_MM plus `addition_mm` thick.

    trunk             the trunk under its fat
    constant_mm       added everywhere
    slope_mm          added laterally and above, subtracted medially and below
    wave_height_mm    of the unevenness
    waves             (n, 3) of the unevenness: wave numbers along x and z in radians / mm, phase
    """

    trunk: Loft
    constant_mm: float
    slope_mm: float
    wave_height_mm: float
    waves: tuple[Point, ...]

    def plain_front_mm(self, x: Floats, z: Floats) -> Floats:
        """y of the front of the plain trunk at x and z in mm; 40 mm farther back beside the trunk."""
        centre_x, centre_y, half_width_mm, front_mm, _ = self.trunk.columns_at(z)
        squareness = np.float32(max(self.trunk.squareness, 1e-3))
        lateral_square = np.square((x - centre_x) / np.maximum(half_width_mm, np.float32(1)))
        # With u and v shares of half width and front reach, s the squareness and f(t) = (1 - s) t + s t²,
        # the surface is at f(u²) + f(v²) = 1, solved for v².
        level_of_front = (
            1 - (1 - squareness) * lateral_square - squareness * lateral_square * lateral_square
        )
        discriminant_root = np.sqrt(
            np.maximum((1 - squareness) ** 2 + 4 * squareness * level_of_front, 0)
        )
        front_share = np.sqrt(
            np.maximum(discriminant_root - (1 - squareness), 0) / (2 * squareness)
        )
        ahead_of_centre_mm = front_mm * front_share
        return np.asarray(centre_y + ahead_of_centre_mm - np.where(level_of_front < 0, 40, 0))

    def addition_mm(self, x: Floats, z: Floats) -> Floats:
        """The thickness of the muscle minus PLAIN_MUSCLE_MM at x and z, mm; 0 at its edges."""
        lateral_mm = np.abs(x)
        nearest_mm, farthest_mm = MUSCLE_X_RANGE_MM
        low_z, high_z = MUSCLE_Z_RANGE_MM
        lateral_share = (lateral_mm - nearest_mm) / (farthest_mm - nearest_mm)
        height_share = (z - low_z) / (high_z - low_z)
        # from 0 at the sternum, the axilla, below and above to 1 in the middle of the muscle
        edge_ramps = (
            6 * lateral_share,
            5 * (1 - lateral_share),
            6 * height_share,
            5 * (1 - height_share),
        )
        edge_fade = reduce(np.multiply, (np.clip(ramp, 0, 1) for ramp in edge_ramps))
        wave_sum = sum(
            np.sin(
                np.float32(wave_number_x) * lateral_mm
                + np.float32(wave_number_z) * z
                + np.float32(phase)
            )
            for wave_number_x, wave_number_z, phase in self.waves
        )
        thickness_mm = (
            self.constant_mm
            + self.slope_mm * (lateral_share + height_share - 1)
            + self.wave_height_mm / len(self.waves) * wave_sum
        )
        return np.asarray(edge_fade * np.clip(thickness_mm, -4, 11), dtype=np.float32)

    def front_mm(self, x: Floats, z: Floats) -> Floats:
        """y of the front of the pectoral muscle at x and z in mm."""
        return self.plain_front_mm(x, z) + self.addition_mm(x, z)


@dataclass(frozen=True)
class PectoralRelief(Filling):
    """The difference between the uneven muscle and the trunk's plain one: where it is thicker, or
    if `is_hollow`, where it is thinner."""

    pectoral_front: PectoralFront
    is_hollow: bool

    def contains(self, x: Floats, y: Floats, z: Floats) -> Bools:
        """True (the broadcast shape of x, y, z) between the plain and the uneven front of the
        muscle."""
        plain_mm = self.pectoral_front.plain_front_mm(x, z)
        addition_mm = self.pectoral_front.addition_mm(x, z)
        if self.is_hollow:
            is_between = (y <= plain_mm) & (y > plain_mm + addition_mm)
        else:
            is_between = (y > plain_mm) & (y <= plain_mm + addition_mm)
        return is_between & self.region.contains(x, y, z)


def draw_pectoral_front(person: Person, trunk: Loft) -> PectoralFront:
    """The front of this woman's pectoral muscles, 5 to 20 mm thick, thinner below and medially;
    `trunk` is the trunk under its fat."""
    rng = person.generator(Stream.PECTORAL_FRONT)
    constant_mm, slope_mm, wave_height_mm = rng.uniform((-3.0, 0.0, 0.5), (5.0, 7.0, 3.0)).tolist()
    waves = [(*rng.normal(0, 2 * np.pi / 70, 2).tolist(), rng.uniform(0, 6.3)) for _ in range(3)]
    return PectoralFront(
        trunk, constant_mm * person.muscle_factor, slope_mm, wave_height_mm, tuple(waves)
    )


def paint_pectoral_muscles(pectoral_front: PectoralFront) -> Paints:
    """The pectoral muscles of both sides: muscle where they are thicker than the trunk's plain one,
    and fat where they are thinner; skin is not changed."""
    nearest_mm, farthest_mm = MUSCLE_X_RANGE_MM
    low_z, high_z = MUSCLE_Z_RANGE_MM
    for left_x, right_x in ((nearest_mm, farthest_mm), (-farthest_mm, -nearest_mm)):
        region = Box((left_x, 20.0, low_z), (right_x, 150.0, high_z))
        bulges = PectoralRelief(region, pectoral_front, is_hollow=False)
        hollows = PectoralRelief(region, pectoral_front, is_hollow=True)
        yield paint(bulges, "muscle", Layer.SEAM, replaced_tissues="fat")
        yield paint(hollows, "fat", Layer.SEAM, replaced_tissues="muscle")
