"""The gland of a breast: a cone behind the nipple, islands, a segment or a web, indented by fat lobules of 5
to 20 mm."""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from fovnet.phantom.anatomy.layers import Layer, Paints, paint
from fovnet.phantom.anatomy.pectoral import Front
from fovnet.phantom.geometry.solids import Bools, Filling, Floats, tube
from fovnet.phantom.person.breast_shapes import Shaped, bust, shaped
from fovnet.phantom.person.traits import Person

Wave = tuple[float, ...]
"""Wave numbers along x, y, z in 1 / mm, and a phase."""

KINDS: tuple[tuple[str, float, float, float, float, float], ...] = (
    # name, how often, weights of the cone, of patches, of lobules of fat, of streaks
    ("cone", 0.35, 1.3, 0.12, 0.35, 0.15),
    ("islands", 0.15, 0.3, 0.5, 0.3, 0.15),
    ("part", 0.2, 1.0, 0.3, 0.3, 0.15),
    ("web", 0.1, 0.4, 0.12, 0.9, 0.05),
    ("streaks", 0.2, 0.7, 0.15, 0.25, 0.5),
)
"""The kinds of gland."""

# smoothing of a lobule's level, which keeps the walls between lobules from becoming too thin
ROUND = 0.35
KEPT_OUT = 3.0  # weight by which gland is less likely next to the skin and to the muscle


@dataclass(frozen=True)
class Gland(Filling):
    """Where `field` is at least `least`: a cone towards the nipple, patches of 4 to 8 cm, round lobules of
    fat cut out of both, and streaks that converge at the nipple.

    region   the breast under its skin
    chest    the muscle behind it, from which the gland keeps `behind_mm`
    weights  of those four                     aside  (2,) offset of the cone's base, shares of half width and
        half height
    open     width of the cone's base          under  share of the radius beyond which subcutaneous fat begins
    patches, lobules  their waves, which are summed
    streaks  mm between streaks half way to the nipple
    """

    region: Shaped
    chest: Front
    behind_mm: float
    weights: tuple[float, ...]
    aside: tuple[float, float]
    open: float
    under: float
    patches: tuple[Wave, ...]
    lobules: tuple[Wave, ...]
    streaks: float
    least: float = 0.0

    @property
    def box(self) -> NDArray[np.float64]:
        low, high = self.region.box
        return np.array([(low[0], self.region.base[1] - 25.0, low[2]), high])

    def field(self, x: Floats, y: Floats, z: Floats) -> Floats:
        """How likely a point is gland; smooth, and lowest next to skin and muscle."""
        u, t, w = self.region.within(x, y, z)
        back = np.clip(1 - t, 0, 1)
        off = np.sqrt(np.square(u - self.aside[0] * back) + np.square(w - self.aside[1] * back))
        cone = -off / (self.open * back + np.float32(0.22))
        web = np.asarray(
            sum(wave_of(x, y, z, wave) * wave_of(y, z, x, wave) for wave in self.lobules)
        )
        lobules = -np.sqrt(np.square(web) + np.float32(ROUND**2))
        patches = sum(wave_of(x, y, z, wave) for wave in self.patches)
        out = np.sqrt(np.maximum(self.region.level(u, t, w), 0))
        skin = np.clip((out - self.under) / (1 - self.under), 0, 1.2)
        muscle = np.clip(1 - (y - self.chest.at_mm(x, z)) / self.behind_mm, 0, 1.2)
        a, b, c, d = (np.float32(weight) for weight in self.weights)
        likely = a * cone + b * patches + c * lobules + d * self._streaked(u, t, w, web)
        return np.asarray(likely - KEPT_OUT * (skin * skin + muscle))

    def _streaked(self, u: Floats, t: Floats, w: Floats, winding: Floats) -> Floats:
        """Waves across the direction of the nipple, three times as long along it, distorted by another level
        (`winding`)."""
        ahead = np.float32(0.75) / np.maximum(np.float32(1.25) - t, np.float32(0.3))
        k = np.float32(2 * np.pi / self.streaks)
        along = k / 3 * self.region.length * t
        X = k * self.region.half[0] * u * ahead + winding
        Y = k * self.region.half[1] * w * ahead - np.float32(0.8) * winding
        return np.asarray(np.sin(X + np.sin(along)) + np.sin(Y + np.float32(0.5) * X - along))

    def inside(self, x: Floats, y: Floats, z: Floats) -> Bools:
        return (self.field(x, y, z) >= self.least) & self.region.inside(x, y, z)

    def filling(self, share: float) -> Gland:
        """The gland with the threshold `least` at which it fills that share of the breast in front of the
        muscle."""
        low, high = self.box
        lattice = np.meshgrid(
            *(np.linspace(a, b, n) for a, b, n in zip(low, high, (29, 25, 29), strict=True)),
            indexing="ij",
        )
        x, y, z = (axis.ravel().astype(np.float32) for axis in lattice)
        held = self.region.inside(x, y, z) & (y > self.chest.at_mm(x, z))
        return replace(
            self, least=float(np.quantile(self.field(x[held], y[held], z[held]), 1 - share))
        )


def wave_of(x: Floats, y: Floats, z: Floats, wave: Wave) -> Floats:
    """The wave, from -1 to 1, at those points in mm."""
    a, b, c, phase = (np.float32(number) for number in wave)
    return np.asarray(np.sin(a * x + b * y + c * z + phase))


def waves_of(rng: np.random.Generator, many: int, wavelength_mm: float) -> tuple[Wave, ...]:
    """Waves of about that length in any direction."""
    made = []
    for _ in range(many):
        way = rng.normal(size=3)
        k = 2 * np.pi / (wavelength_mm * rng.uniform(0.75, 1.35)) * way / np.linalg.norm(way)
        made.append((*k.tolist(), rng.uniform(0, 2 * np.pi)))
    return tuple(made)


def gland(person: Person, side: int, chest: Front) -> Gland:
    """The gland of one breast of a woman with breasts `of_a_kind`, with her share of gland."""
    rng, own = person.generator(7320), person.generator(7321 + (side > 0))
    whole, both = shaped(person, side), bust(person)
    name, _, *weights = KINDS[rng.choice(len(KINDS), p=[kind[1] for kind in KINDS])]
    a, b, c, d = (np.array(weights) * rng.uniform(0.75, 1.3, 4)).tolist()
    out, up, wide, under, lobule = rng.uniform(
        (-0.1, -0.1, 0.5, 0.55, 22.0), (0.25, 0.25, 0.9, 0.85, 60.0)
    ).tolist()
    if name == "part":  # most often upper outer
        turn, far = rng.normal(0.8, 1.2), rng.uniform(0.4, 0.7)
        out, up, wide = far * float(np.cos(turn)), far * float(np.sin(turn)), 0.6 * wide
    under += (1 - under) * 0.8 * both.gland_share
    made = Gland(
        whole.shrunk(1.0),
        chest,
        both.behind_mm,
        (a, b / 2, c, d / 2),
        (side * out, up),
        wide,
        under,
        waves_of(own, 3, rng.uniform(50, 95)),
        waves_of(own, 3, lobule),
        rng.uniform(10, 24),
    )
    return made.filling(both.gland_share)


def strands(person: Person, side: int) -> Paints:
    """Ligaments and ducts: winding strands from behind the nipple to the skin and the chest, 1.2 to 3 mm
    thick, 8 to 55 of them."""
    rng, whole = person.generator(7323 + (side > 0)), shaped(person, side)
    many, thick = person.generator(7325).integers(8, 56), person.generator(7326).uniform(0.6, 1.3)
    for turn in (rng.uniform(0, 6.3) + np.arange(many) * 2.4).tolist():
        first, last, reach = rng.uniform((0.45, -0.02, 0.3), (0.85, 0.35, 0.95)).tolist()
        points = []
        for at in np.linspace(0, 1, 5).tolist():
            t = first + at * (last - first)
            bend = turn + 0.5 * rng.normal() * at
            points.append(whole.around_mm(t, (0.06 + reach * at) * whole.radius(t), bend))
        line = tube(points, np.linspace(1.2, 0.6, 5) * thick)
        yield paint(line & whole, "gland", Layer.CAVITY, over="fat")


def glands(person: Person, chest: Front) -> Paints:
    """Both glands of a woman with breasts `of_a_kind`."""
    for side in (1, -1):
        yield paint(gland(person, side, chest), "gland", Layer.CAVITY, over="fat")
