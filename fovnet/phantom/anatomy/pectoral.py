"""The front of the chest under a breast: a pectoral muscle of uneven thickness, from which the gland keeps a
distance."""

from __future__ import annotations

from dataclasses import dataclass
from functools import reduce

import numpy as np

from fovnet.phantom.anatomy.layers import Layer, Paints, paint
from fovnet.phantom.geometry.solids import Bools, Filling, Floats, Loft, Point
from fovnet.phantom.geometry.tissue_structure import Box
from fovnet.phantom.person.traits import Person

BESIDE_MM = (16.0, 150.0)  # from the sternum's edge to the armpit
HEIGHTS_MM = (1245.0, 1420.0)  # from the sixth rib to the collar bone
PLAIN_MM = 9.0  # thickness of the muscle over the ribs without additions


@dataclass(frozen=True)
class Front:
    """Front surface of the pectoral muscle, whose thickness is PLAIN_MM plus `added_mm`.

    muscle  the trunk under its fat      more_mm  added everywhere       sloped_mm  added laterally and above,
        subtracted medially and below
    waves   (n, 3) wave numbers along x and z in 1 / mm, and phases, of unevenness of `wavy_mm`
    """

    muscle: Loft
    more_mm: float
    sloped_mm: float
    wavy_mm: float
    waves: tuple[Point, ...]

    def plain_mm(self, x: Floats, z: Floats) -> Floats:
        """y of the front of the trunk's muscle; 40 mm farther back beside the trunk."""
        cx, cy, a, front, _ = self.muscle.at(z)
        square = np.float32(max(self.muscle.square, 1e-3))
        across = np.square((x - cx) / np.maximum(a, np.float32(1)))
        # of (1 - s) v² + s v⁴, solved for v²
        left = 1 - (1 - square) * across - square * across * across
        root = np.sqrt(np.maximum((1 - square) ** 2 + 4 * square * left, 0))
        ahead = front * np.sqrt(np.maximum(root - (1 - square), 0) / (2 * square))
        return np.asarray(cy + ahead - np.where(left < 0, 40, 0))

    def added_mm(self, x: Floats, z: Floats) -> Floats:
        """The thickness of the muscle minus PLAIN_MM; 0 at its edges."""
        beside, (near, far), (low, high) = np.abs(x), BESIDE_MM, HEIGHTS_MM
        out, up = (beside - near) / (far - near), (z - low) / (high - low)
        edges = (6 * out, 5 * (1 - out), 6 * up, 5 * (1 - up))
        fade = reduce(np.multiply, (np.clip(edge, 0, 1) for edge in edges))
        wavy = sum(
            np.sin(np.float32(kx) * beside + np.float32(kz) * z + np.float32(phase))
            for kx, kz, phase in self.waves
        )
        added = (
            self.more_mm + self.sloped_mm * (out + up - 1) + self.wavy_mm / len(self.waves) * wavy
        )
        return np.asarray(fade * np.clip(added, -4, 11), dtype=np.float32)

    def at_mm(self, x: Floats, z: Floats) -> Floats:
        """y of the muscle's front."""
        return self.plain_mm(x, z) + self.added_mm(x, z)


@dataclass(frozen=True)
class Relief(Filling):
    """The difference between the uneven muscle and the trunk's plain one: where it is thicker, or if
    `hollow`, where it is thinner."""

    front: Front
    hollow: bool

    def inside(self, x: Floats, y: Floats, z: Floats) -> Bools:
        plain, added = self.front.plain_mm(x, z), self.front.added_mm(x, z)
        between = (
            (y <= plain) & (y > plain + added)
            if self.hollow
            else (y > plain) & (y <= plain + added)
        )
        return between & self.region.inside(x, y, z)


def front(person: Person, muscle: Loft) -> Front:
    """The front of this woman's chest: pectoral muscles of 5 to 20 mm, thinner below and medially."""
    rng = person.generator(7310)
    more, sloped, wavy = rng.uniform((-3.0, 0.0, 0.5), (5.0, 7.0, 3.0)).tolist()
    waves = [(*rng.normal(0, 2 * np.pi / 70, 2).tolist(), rng.uniform(0, 6.3)) for _ in range(3)]
    return Front(muscle, more * person.brawn, sloped, wavy, tuple(waves))


def pectoral(chest: Front) -> Paints:
    """Muscle where it is thicker than the trunk's plain one, and fat where it is thinner; skin is not
    changed."""
    (near, far), (low, high) = BESIDE_MM, HEIGHTS_MM
    for left, right in ((near, far), (-far, -near)):
        region = Box((left, 20.0, low), (right, 150.0, high))
        yield paint(Relief(region, chest, False), "muscle", Layer.SEAM, over="fat")
        yield paint(Relief(region, chest, True), "fat", Layer.SEAM, over="muscle")
