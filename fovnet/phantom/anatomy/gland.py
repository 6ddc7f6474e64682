"""The gland of a breast: a cone behind the nipple, islands, a segment or a web, indented by fat
lobules of 5 to 20 mm."""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from fovnet.phantom.anatomy.layers import Layer, Paints, paint
from fovnet.phantom.anatomy.pectoral import PectoralFront
from fovnet.phantom.geometry.solids import Bools, Filling, Floats, tube
from fovnet.phantom.person.breast_shapes import BreastShape, breast_shape, bust
from fovnet.phantom.person.traits import Person

Wave = tuple[float, ...]
"""Wave numbers along x, y, z in 1 / mm, and a phase."""

GLAND_KINDS: tuple[tuple[str, float, float, float, float, float], ...] = (
    # name, how often, weights of the cone, of patches, of lobules of fat, of streaks
    ("cone", 0.35, 1.3, 0.12, 0.35, 0.15),
    ("islands", 0.15, 0.3, 0.5, 0.3, 0.15),
    ("part", 0.2, 1.0, 0.3, 0.3, 0.15),
    ("web", 0.1, 0.4, 0.12, 0.9, 0.05),
    ("streaks", 0.2, 0.7, 0.15, 0.25, 0.5),
)
"""The kinds of gland."""

# smoothing of a lobule's level, which keeps the walls between lobules from becoming too thin
LOBULE_SMOOTHING = 0.35
BORDER_WEIGHT = 3.0  # weight by which gland is less likely next to the skin and to the muscle


@dataclass(frozen=True)
class GlandShape(Filling):
    """Where `field` is at least `threshold`: a cone towards the nipple, patches of 4 to 8 cm, round
    lobules of fat cut out of both, and streaks that converge at the nipple.

    region       the breast under its skin
    chest        the muscle behind it, from which the gland keeps `behind_mm`
    weights      of those four
    base_offset  (2,) of the cone's base, shares of half width and half height
    cone_width   of the cone's base
    fat_begins   share of the radius beyond which subcutaneous fat begins
    patches      waves, which are summed
    lobules      waves, which are summed
    streaks_mm   between streaks half way to the nipple
    threshold    of `field`
    """

    region: BreastShape
    chest: PectoralFront
    behind_mm: float
    weights: tuple[float, ...]
    base_offset: tuple[float, float]
    cone_width: float
    fat_begins: float
    patches: tuple[Wave, ...]
    lobules: tuple[Wave, ...]
    streaks_mm: float
    threshold: float = 0.0

    @property
    def box(self) -> NDArray[np.float64]:
        low_corner, high_corner = self.region.box
        return np.array([(low_corner[0], self.region.base[1] - 25.0, low_corner[2]), high_corner])

    def field(self, x: Floats, y: Floats, z: Floats) -> Floats:
        """How likely a point is gland; smooth, and lowest next to skin and muscle."""
        u, t, w = self.region.to_shares(x, y, z)
        depth_share = np.clip(1 - t, 0, 1)
        axis_distance = np.sqrt(
            np.square(u - self.base_offset[0] * depth_share)
            + np.square(w - self.base_offset[1] * depth_share)
        )
        cone_level = -axis_distance / (self.cone_width * depth_share + np.float32(0.22))
        web_level = np.asarray(
            sum(wave_value(x, y, z, wave) * wave_value(y, z, x, wave) for wave in self.lobules)
        )
        lobule_level = -np.sqrt(np.square(web_level) + np.float32(LOBULE_SMOOTHING**2))
        patch_level = sum(wave_value(x, y, z, wave) for wave in self.patches)
        radius_share = np.sqrt(np.maximum(self.region.level(u, t, w), 0))
        skin_nearness = np.clip((radius_share - self.fat_begins) / (1 - self.fat_begins), 0, 1.2)
        muscle_nearness = np.clip(1 - (y - self.chest.front_mm(x, z)) / self.behind_mm, 0, 1.2)
        cone_weight, patch_weight, lobule_weight, streak_weight = (
            np.float32(weight) for weight in self.weights
        )
        gland_level = (
            cone_weight * cone_level
            + patch_weight * patch_level
            + lobule_weight * lobule_level
            + streak_weight * self._streak_level(u, t, w, web_level)
        )
        return np.asarray(
            gland_level - BORDER_WEIGHT * (skin_nearness * skin_nearness + muscle_nearness)
        )

    def _streak_level(self, u: Floats, t: Floats, w: Floats, winding: Floats) -> Floats:
        """Waves across the direction of the nipple, three times as long along it, distorted by
        another level (`winding`)."""
        convergence = np.float32(0.75) / np.maximum(np.float32(1.25) - t, np.float32(0.3))
        wave_number = np.float32(2 * np.pi / self.streaks_mm)
        length_angle = wave_number / 3 * self.region.length_mm * t
        width_angle = wave_number * self.region.half_size_mm[0] * u * convergence + winding
        height_angle = (
            wave_number * self.region.half_size_mm[1] * w * convergence - np.float32(0.8) * winding
        )
        return np.asarray(
            np.sin(width_angle + np.sin(length_angle))
            + np.sin(height_angle + np.float32(0.5) * width_angle - length_angle)
        )

    def contains(self, x: Floats, y: Floats, z: Floats) -> Bools:
        """True (the broadcast shape of x, y, z) where `field` reaches the threshold within the
        region."""
        return (self.field(x, y, z) >= self.threshold) & self.region.contains(x, y, z)

    def fill_share(self, share: float) -> GlandShape:
        """The gland with the `threshold` at which it fills that share of the breast in
        front of the muscle."""
        low_corner, high_corner = self.box
        lattice_points = np.meshgrid(
            *(
                np.linspace(axis_low, axis_high, point_count)
                for axis_low, axis_high, point_count in zip(
                    low_corner, high_corner, (29, 25, 29), strict=True
                )
            ),
            indexing="ij",
        )
        x, y, z = (coordinates.ravel().astype(np.float32) for coordinates in lattice_points)
        is_in_breast = self.region.contains(x, y, z) & (y > self.chest.front_mm(x, z))
        levels = self.field(x[is_in_breast], y[is_in_breast], z[is_in_breast])
        return replace(self, threshold=float(np.quantile(levels, 1 - share)))


def wave_value(x: Floats, y: Floats, z: Floats, wave: Wave) -> Floats:
    """The wave, from -1 to 1, at those points in mm."""
    wave_number_x, wave_number_y, wave_number_z, phase = (np.float32(term) for term in wave)
    return np.asarray(np.sin(wave_number_x * x + wave_number_y * y + wave_number_z * z + phase))


def draw_waves(rng: np.random.Generator, count: int, wavelength_mm: float) -> tuple[Wave, ...]:
    """Waves of about that length in any direction."""
    waves = []
    for _ in range(count):
        wave_direction = rng.normal(size=3)
        wave_number = (
            2
            * np.pi
            / (wavelength_mm * rng.uniform(0.75, 1.35))
            * wave_direction
            / np.linalg.norm(wave_direction)
        )
        waves.append((*wave_number.tolist(), rng.uniform(0, 2 * np.pi)))
    return tuple(waves)


def draw_gland(person: Person, side: int, pectoral_front: PectoralFront) -> GlandShape:
    """The gland of one breast of a woman with breasts `of_a_kind`, with her share of gland."""
    rng = person.generator(7320)
    side_rng = person.generator(7321 + (side > 0))
    breast = breast_shape(person, side)
    bust_shape = bust(person)
    kind_shares = [kind_share for _, kind_share, *_ in GLAND_KINDS]
    kind_name, _, *kind_weights = GLAND_KINDS[rng.choice(len(GLAND_KINDS), p=kind_shares)]
    cone_weight, patch_weight, lobule_weight, streak_weight = (
        np.array(kind_weights) * rng.uniform(0.75, 1.3, 4)
    ).tolist()
    lateral_share, height_share, cone_width, fat_begins, lobule_mm = rng.uniform(
        (-0.1, -0.1, 0.5, 0.55, 22.0), (0.25, 0.25, 0.9, 0.85, 60.0)
    ).tolist()
    if kind_name == "part":  # most often upper outer
        part_angle = rng.normal(0.8, 1.2)
        distance_share = rng.uniform(0.4, 0.7)
        lateral_share = distance_share * float(np.cos(part_angle))
        height_share = distance_share * float(np.sin(part_angle))
        cone_width = 0.6 * cone_width
    fat_begins += (1 - fat_begins) * 0.8 * bust_shape.gland_share
    unfilled_gland = GlandShape(
        breast.shrink(1.0),
        pectoral_front,
        bust_shape.fat_behind_mm,
        (cone_weight, patch_weight / 2, lobule_weight, streak_weight / 2),
        (side * lateral_share, height_share),
        cone_width,
        fat_begins,
        draw_waves(side_rng, 3, rng.uniform(50, 95)),
        draw_waves(side_rng, 3, lobule_mm),
        rng.uniform(10, 24),
    )
    return unfilled_gland.fill_share(bust_shape.gland_share)


def paint_gland_strands(person: Person, side: int) -> Paints:
    """Ligaments and ducts: winding strands from behind the nipple to the skin and the chest, 1.2 to
    3 mm thick, 8 to 55 of them."""
    rng = person.generator(7323 + (side > 0))
    breast = breast_shape(person, side)
    strand_count = person.generator(7325).integers(8, 56)
    thickness_factor = person.generator(7326).uniform(0.6, 1.3)
    for angle in (rng.uniform(0, 6.3) + np.arange(strand_count) * 2.4).tolist():
        first_share, last_share, reach = rng.uniform(
            (0.45, -0.02, 0.3), (0.85, 0.35, 0.95)
        ).tolist()
        strand_points = []
        for strand_share in np.linspace(0, 1, 5).tolist():
            length_share = first_share + strand_share * (last_share - first_share)
            bent_angle = angle + 0.5 * rng.normal() * strand_share
            strand_points.append(
                breast.point_around_axis(
                    length_share,
                    (0.06 + reach * strand_share) * breast.radius_share(length_share),
                    bent_angle,
                )
            )
        strand = tube(strand_points, np.linspace(1.2, 0.6, 5) * thickness_factor)
        yield paint(strand & breast, "gland", Layer.CAVITY, replaced_tissues="fat")


def paint_glands(person: Person, pectoral_front: PectoralFront) -> Paints:
    """Both glands of a woman with breasts `of_a_kind`."""
    for side in (1, -1):
        yield paint(
            draw_gland(person, side, pectoral_front), "gland", Layer.CAVITY, replaced_tissues="fat"
        )
