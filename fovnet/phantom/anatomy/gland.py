"""The gland of a breast: a cone behind the nipple, islands, a segment or a web, indented by fat
lobules of 5 to 20 mm."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from fovnet.phantom.anatomy.layers import Layer, Paints, paint
from fovnet.phantom.anatomy.pectoral import PectoralFront
from fovnet.phantom.geometry.solids import Bools, Filling, Floats, tube
from fovnet.phantom.person.breast_shapes import BreastShape, breast_shape, draw_bust
from fovnet.phantom.person.streams import Stream
from fovnet.phantom.person.traits import Person


class Wave(NamedTuple):
    """A sine wave: its wave numbers along x, y and z in radians / mm, and its phase in radians."""

    number_x: float
    number_y: float
    number_z: float
    phase: float


class GlandWeights(NamedTuple):
    """How much each part of a gland counts in its level: the cone towards the nipple, patches,
    lobules of fat, and streaks."""

    cone: float
    patches: float
    lobules: float
    streaks: float


class GlandKind(NamedTuple):
    """A kind of gland, the share of women who have it, and its weights."""

    name: str
    share: float
    weights: GlandWeights


GLAND_KINDS = (  # a "part" fills one segment of the breast, a "web" surrounds lobules of fat
    GlandKind("cone", 0.35, GlandWeights(1.3, 0.12, 0.35, 0.15)),
    GlandKind("islands", 0.15, GlandWeights(0.3, 0.5, 0.3, 0.15)),
    GlandKind("part", 0.2, GlandWeights(1.0, 0.3, 0.3, 0.15)),
    GlandKind("web", 0.1, GlandWeights(0.4, 0.12, 0.9, 0.05)),
    GlandKind("streaks", 0.2, GlandWeights(0.7, 0.15, 0.25, 0.5)),
)

# smoothing of a lobule's level, which keeps the walls between lobules from becoming too thin
LOBULE_SMOOTHING = 0.35
LATTICE_SHAPE = (29, 25, 29)  # points in which the share of gland is counted
BORDER_WEIGHT = 3.0  # weight by which gland is less likely next to the skin and to the muscle


@dataclass(frozen=True)
class GlandShape(Filling):
    """The gland of one breast: where its level is at least `least_level`.

    region          the breast under its skin
    pectoral_front  the muscle behind it
    fat_behind_mm   distance that the gland keeps from the muscle
    weights         of cone, patches, lobules and streaks
    base_offset     (2,) of the cone's base, shares of half width and half height
    base_radius     of the cone's base, as a share of the breast's
    fat_start       share of the radius beyond which subcutaneous fat begins
    patch_waves     their sum makes patches of gland of 4 to 8 cm
    lobule_waves    their sum makes round lobules of fat, cut out of the gland
    streaks_mm      distance of streaks half way to the nipple, where they converge
    least_level     of the gland; outside it is fat
    """

    region: BreastShape
    pectoral_front: PectoralFront
    fat_behind_mm: float
    weights: GlandWeights
    base_offset: tuple[float, float]
    base_radius: float
    fat_start: float
    patch_waves: tuple[Wave, ...]
    lobule_waves: tuple[Wave, ...]
    streaks_mm: float
    least_level: float = 0.0

    @property
    def box(self) -> NDArray[np.float64]:
        low_corner, high_corner = self.region.box
        return np.array([(low_corner[0], self.region.base[1] - 25.0, low_corner[2]), high_corner])

    def gland_level(self, x: Floats, y: Floats, z: Floats) -> Floats:
        """How likely points x, y, z are gland, without a unit; smooth, and lowest next to skin and
        muscle."""
        u, t, w = self.region.to_shares(x, y, z)  # shares of half width, length and half height
        web_level = np.asarray(
            sum(wave_value(x, y, z, wave) * wave_value(y, z, x, wave) for wave in self.lobule_waves)
        )
        lobule_level = -np.sqrt(np.square(web_level) + np.float32(LOBULE_SMOOTHING**2))
        patch_level = sum(wave_value(x, y, z, wave) for wave in self.patch_waves)
        cone_weight, patch_weight, lobule_weight, streak_weight = (
            np.float32(weight) for weight in self.weights
        )
        inner_level = (
            cone_weight * self._cone_level(u, t, w)
            + patch_weight * patch_level
            + lobule_weight * lobule_level
            + streak_weight * self._streak_level(u, t, w, web_level)
        )
        radius_share = np.sqrt(np.maximum(self.region.level(u, t, w), 0))
        skin_nearness = np.clip((radius_share - self.fat_start) / (1 - self.fat_start), 0, 1.2)
        ahead_of_muscle_mm = y - self.pectoral_front.front_mm(x, z)
        muscle_nearness = np.clip(1 - ahead_of_muscle_mm / self.fat_behind_mm, 0, 1.2)
        border_level = skin_nearness * skin_nearness + muscle_nearness
        return np.asarray(inner_level - BORDER_WEIGHT * border_level)

    def _cone_level(self, u: Floats, t: Floats, w: Floats) -> Floats:
        """0 on the axis of the cone and lower away from it, at shares of the breast's half width (u),
        length (t) and half height (w)."""
        depth_share = np.clip(1 - t, 0, 1)
        base_x, base_z = self.base_offset
        axis_distance = np.sqrt(
            np.square(u - base_x * depth_share) + np.square(w - base_z * depth_share)
        )
        return np.asarray(-axis_distance / (self.base_radius * depth_share + np.float32(0.22)))

    def _streak_level(self, u: Floats, t: Floats, w: Floats, winding: Floats) -> Floats:
        """Waves across the direction of the nipple, three times as long along it, bent by another
        level (`winding`), at shares of the breast's half width (u), length (t), half height (w)."""
        convergence = np.float32(0.75) / np.maximum(np.float32(1.25) - t, np.float32(0.3))
        wave_number = np.float32(2 * np.pi / self.streaks_mm)
        half_width_mm, half_height_mm = self.region.half_size_mm
        length_angle = wave_number / 3 * self.region.length_mm * t
        width_angle = wave_number * half_width_mm * u * convergence + winding
        height_angle = wave_number * half_height_mm * w * convergence - np.float32(0.8) * winding
        return np.asarray(
            np.sin(width_angle + np.sin(length_angle))
            + np.sin(height_angle + np.float32(0.5) * width_angle - length_angle)
        )

    def contains(self, x: Floats, y: Floats, z: Floats) -> Bools:
        """True (the broadcast shape of x, y, z) where the level reaches `least_level` within the
        region."""
        return (self.gland_level(x, y, z) >= self.least_level) & self.region.contains(x, y, z)

    def fill_share(self, share: float) -> GlandShape:
        """The gland with the `least_level` at which it fills that share of the breast in front of
        the muscle."""
        low_corner, high_corner = self.box
        axes_mm = (
            np.linspace(axis_low, axis_high, point_count)
            for axis_low, axis_high, point_count in zip(
                low_corner, high_corner, LATTICE_SHAPE, strict=True
            )
        )
        lattice = np.meshgrid(*axes_mm, indexing="ij")
        x, y, z = (coordinates.ravel().astype(np.float32) for coordinates in lattice)
        is_in_breast = self.region.contains(x, y, z) & (y > self.pectoral_front.front_mm(x, z))
        levels = self.gland_level(x[is_in_breast], y[is_in_breast], z[is_in_breast])
        return replace(self, least_level=float(np.quantile(levels, 1 - share)))


def wave_value(x: Floats, y: Floats, z: Floats, wave: Wave) -> Floats:
    """The wave, from -1 to 1, at points x, y, z in mm."""
    number_x, number_y, number_z, phase = (np.float32(term) for term in wave)
    return np.asarray(np.sin(number_x * x + number_y * y + number_z * z + phase))


def draw_waves(rng: np.random.Generator, count: int, wavelength_mm: float) -> tuple[Wave, ...]:
    """Waves of about that length in random directions."""
    waves = []
    for _ in range(count):
        direction = rng.normal(size=3)
        wave_number = 2 * np.pi / (wavelength_mm * rng.uniform(0.75, 1.35))
        number_x, number_y, number_z = (
            wave_number * direction / np.linalg.norm(direction)
        ).tolist()
        waves.append(Wave(number_x, number_y, number_z, phase=rng.uniform(0, 2 * np.pi)))
    return tuple(waves)


def draw_gland(person: Person, side: int, pectoral_front: PectoralFront) -> GlandShape:
    """The gland of one breast of a woman with individually shaped breasts, with her share of
    gland."""
    rng = person.generator(Stream.GLAND)
    side_rng = person.side_generator(Stream.LEFT_GLAND, side)
    breasts = draw_bust(person)
    kind = GLAND_KINDS[rng.choice(len(GLAND_KINDS), p=[kind.share for kind in GLAND_KINDS])]
    varied_weights = GlandWeights(*(np.array(kind.weights) * rng.uniform(0.75, 1.3, 4)).tolist())
    lateral_share, height_share, base_radius, fat_start, lobule_mm = rng.uniform(
        (-0.1, -0.1, 0.5, 0.55, 22.0), (0.25, 0.25, 0.9, 0.85, 60.0)
    ).tolist()
    if kind.name == "part":  # most often upper outer
        part_angle_rad = rng.normal(0.8, 1.2)
        distance_share = rng.uniform(0.4, 0.7)
        lateral_share = distance_share * float(np.cos(part_angle_rad))
        height_share = distance_share * float(np.sin(part_angle_rad))
        base_radius = 0.6 * base_radius
    fat_start += (1 - fat_start) * 0.8 * breasts.gland_share
    unfilled_gland = GlandShape(
        breast_shape(person, side).shrink(1.0),
        pectoral_front,
        breasts.fat_behind_mm,
        varied_weights._replace(
            patches=varied_weights.patches / 2, streaks=varied_weights.streaks / 2
        ),
        base_offset=(side * lateral_share, height_share),
        base_radius=base_radius,
        fat_start=fat_start,
        patch_waves=draw_waves(side_rng, 3, rng.uniform(50, 95)),
        lobule_waves=draw_waves(side_rng, 3, lobule_mm),
        streaks_mm=rng.uniform(10, 24),
    )
    return unfilled_gland.fill_share(breasts.gland_share)


def paint_gland_strands(person: Person, side: int) -> Paints:
    """Ligaments and ducts of one breast: 8 to 55 winding strands from behind the nipple to the skin
    and the chest, 1.2 to 3 mm thick."""
    rng = person.side_generator(Stream.LEFT_GLAND_STRANDS, side)
    breast = breast_shape(person, side)
    strand_count = person.generator(Stream.GLAND_STRAND_COUNT).integers(8, 56)
    thickness_factor = person.generator(Stream.GLAND_STRAND_THICKNESS).uniform(0.6, 1.3)
    strand_angles = rng.uniform(0, 6.3) + np.arange(strand_count) * 2.4
    for angle_rad in strand_angles.tolist():
        start_length, end_length, reach_share = rng.uniform(
            (0.45, -0.02, 0.3), (0.85, 0.35, 0.95)
        ).tolist()  # the first two in shares of the breast's length
        strand_points = []
        for strand_share in np.linspace(0, 1, 5).tolist():
            length_share = start_length + strand_share * (end_length - start_length)
            bent_angle_rad = angle_rad + 0.5 * rng.normal() * strand_share
            radius_share = (0.06 + reach_share * strand_share) * breast.radius_share(length_share)
            strand_points.append(
                breast.point_around_axis(length_share, radius_share, bent_angle_rad)
            )
        strand = tube(strand_points, np.linspace(1.2, 0.6, 5) * thickness_factor)
        yield paint(strand & breast, "gland", Layer.CAVITY, replaced_tissues="fat")


def paint_glands(person: Person, pectoral_front: PectoralFront) -> Paints:
    """Both glands of a woman with individually shaped breasts."""
    for side in (1, -1):
        yield paint(
            draw_gland(person, side, pectoral_front), "gland", Layer.CAVITY, replaced_tissues="fat"
        )
