"""The front of the chest under a breast: a pectoral muscle of uneven thickness, from which the gland keeps a
distance."""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np

from fovnet.phantom.anatomy.layers import Layer, paint
from fovnet.phantom.geometry.raster import Paint
from fovnet.phantom.geometry.solids import Bools, Filling, Floats, Loft, Solid
from fovnet.phantom.geometry.tissue_structure import Box
from fovnet.phantom.person.traits import Person

BESIDE_MM = (16.0, 150.0)       # from the sternum's edge to the armpit
HEIGHTS_MM = (1245.0, 1420.0)   # from the sixth rib to the collar bone
PLAIN_MM = 9.0                  # thickness of the muscle over the ribs without additions


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
    waves: tuple[tuple[float, float, float], ...]

    def plain_mm(self, x: Floats, z: Floats) -> Floats:
        """y of the front of the trunk's muscle; 40 mm farther back beside the trunk."""
        at = np.clip(np.rint(z - self.muscle.table[0][0]), 0, len(self.muscle.profile) - 1).astype(np.intp)
        cx, cy, a, front = (self.muscle.profile[:, column][at] for column in range(4))
        square = np.float32(max(self.muscle.square, 1e-3))
        across = np.square((x - cx) / np.maximum(a, np.float32(1)))
        # of (1 - s) v² + s v⁴, solved for v²
        left = 1 - (1 - square) * across - square * across * across
        root = np.sqrt(np.maximum((1 - square) ** 2 + 4 * square * left, 0))
        return np.asarray(
            cy
            + front * np.sqrt(np.maximum(root - (1 - square), 0) / (2 * square))
            - np.where(left < 0, 40, 0)
        )

    def added_mm(self, x: Floats, z: Floats) -> Floats:
        """The thickness of the muscle minus PLAIN_MM; 0 at its edges."""
        beside, (near, far), (low, high) = np.abs(x), BESIDE_MM, HEIGHTS_MM
        out, up = (beside - near) / (far - near), (z - low) / (high - low)
        fade = (
            np.clip(6 * out, 0, 1)
            * np.clip(5 * (1 - out), 0, 1)
            * np.clip(6 * up, 0, 1)
            * np.clip(5 * (1 - up), 0, 1)
        )
        wavy = sum(
            np.sin(np.float32(kx) * beside + np.float32(kz) * z + np.float32(phase))
            for kx, kz, phase in self.waves
        )
        added = self.more_mm + self.sloped_mm * (out + up - 1) + self.wavy_mm / len(self.waves) * wavy
        return np.asarray(fade * np.clip(added, -4, 11), dtype=np.float32)

    def at_mm(self, x: Floats, z: Floats) -> Floats:
        """y of the muscle's front."""
        return np.asarray(self.plain_mm(x, z) + self.added_mm(x, z))


@dataclass(frozen=True)
class Relief(Filling):
    """The difference between the uneven muscle and the trunk's plain one: where it is thicker, or if
    `hollow`, where it is thinner."""

    front: Front
    region: Box
    hollow: bool

    def inside(self, x: Floats, y: Floats, z: Floats) -> Bools:
        plain, added = self.front.plain_mm(x, z), self.front.added_mm(x, z)
        between = (y <= plain) & (y > plain + added) if self.hollow else (y > plain) & (y <= plain + added)
        return np.asarray(between & self.region.inside(x, y, z))

    def shrunk(self, mm: float) -> Solid:
        return replace(self, region=self.region.shrunk(mm))


def front(person: Person, muscle: Loft) -> Front:
    """The front of this woman's chest: pectoral muscles of 5 to 20 mm, thinner below and medially."""
    rng = person.generator(7310)
    more, sloped, wavy = rng.uniform((-3.0, 0.0, 0.5), (5.0, 7.0, 3.0)).tolist()
    waves = [(*rng.normal(0, 2 * np.pi / 70, 2).tolist(), float(rng.uniform(0, 6.3))) for _ in range(3)]
    return Front(muscle, more * person.brawn, sloped, wavy, tuple((a, b, c) for a, b, c in waves))


def pectoral(chest: Front) -> list[Paint]:
    """Muscle where it is thicker than the trunk's plain one, and fat where it is thinner; skin is not
    changed."""
    made: list[Paint] = []
    (near, far), (low, high) = BESIDE_MM, HEIGHTS_MM
    for ends in ((near, far), (-far, -near)):
        region = Box((ends[0], 20.0, low), (ends[1], 150.0, high))
        made.append(paint(Relief(chest, region, False), "muscle", Layer.SEAM, over=("fat",)))
        made.append(paint(Relief(chest, region, True), "fat", Layer.SEAM, over=("muscle",)))
    return made
