"""The iliac wings: thin blades, S-shaped in every axial slice, with iliacus inside and the gluteal muscles
outside.

Lengths in mm of the written anatomy.  Sizes: Standring (ed., 2016), Gray's Anatomy, 41st ed.: the crests are
28 cm apart, the anterior spines 24, the posterior ones 9; seen from above the crest is an S, convex outwards
in front and inwards behind.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from fovnet.phantom.anatomy.layers import Layer, Paints, bone, paint, seam
from fovnet.phantom.geometry.solids import Bools, Floats, Solid, Stack
from fovnet.phantom.person.traits import Person


@dataclass(frozen=True)
class Blade(Stack):
    """An upright plate, S-shaped in every axial slice from a posterior to an anterior end, bent outwards in
    front by `bow`.

    table    rows (z, posterior x and y, anterior x and y, thickness, bow), mm, z ascending, x of the right
             side
    side     1 on the right, -1 on the left          out_mm  offset perpendicular to the plate, negative
        inwards
    grown    added to the thickness, mm              ends    where along the plate it begins and ends, 0
        behind to 1 in front
    """

    side: int
    out_mm: float = 0.0
    grown: float = 0.0
    ends: tuple[float, float] = (0.0, 1.0)
    sparse = True

    def parts(self) -> Iterator[Solid]:
        """Pieces two rows high: flared shapes then have small boxes."""
        for at in range(0, len(self.table) - 1, 2):
            yield replace(self, table=self.table[at : at + 3])

    @property
    def box(self) -> NDArray[np.float64]:
        rows = self.profile.astype(float)
        far = (
            abs(self.out_mm)
            + float(np.abs(rows[:, 5]).max() + rows[:, 4].max())
            + max(self.grown, 0.0)
        )
        across, deep = self.side * rows[:, (0, 2)], rows[:, (1, 3)]
        low = across.min() - far, deep.min() - far, self.table[0][0]
        return np.array([low, (across.max() + far, deep.max() + far, self.table[-1][0])])

    def inside(self, x: Floats, y: Floats, z: Floats) -> Bools:
        hx, hy, fx, fy, thick, bow = self.at(z)
        long_ = np.hypot(fx - hx, fy - hy)
        ex, ey = (fx - hx) / long_, (fy - hy) / long_
        dx, dy = np.float32(self.side) * x - hx, y - hy
        v = (dx * ex + dy * ey) / long_
        apart = np.clip(4 * v * (1 - v), 0, 1)  # 0 at both ends, 1 half way
        off = dx * ey - dy * ex - bow * apart * (np.float32(3.2) * v - np.float32(0.6))
        rounded = np.clip(3 * apart, 0, 1)
        half = (thick * (1 - np.float32(0.35) * apart) + np.float32(self.grown)) * rounded / 2
        low, high = self.ends
        inside = (np.abs(off - np.float32(self.out_mm)) <= half) & (v >= low) & (v <= high)
        return inside & self.beside(z)

    def mirror(self) -> Blade:
        return replace(self, side=-self.side)

    def shrunk(self, mm: float) -> Blade:
        """The plate thinner by twice `mm`, and shorter by `mm` above and below."""
        bottom, *between, top = self.table
        rows = ((bottom[0] + mm, *bottom[1:]), *between, (top[0] - mm, *top[1:]))
        return replace(self, table=rows, grown=self.grown - 2 * mm)


WING = (
    # z, hind x, y, front x, y, thickness, bow
    (938.0, 76.0, -34.0, 104.0, 36.0, 24.0, 3.0),
    (955.0, 72.0, -48.0, 112.0, 46.0, 18.0, 4.0),
    (972.0, 66.0, -72.0, 120.0, 55.0, 14.0, 5.0),
    (988.0, 56.0, -90.0, 125.0, 60.0, 12.5, 6.0),
    (1002.0, 52.0, -96.0, 128.0, 60.0, 12.0, 7.0),
    (1018.0, 60.0, -94.0, 131.0, 52.0, 12.0, 8.0),
    (1034.0, 80.0, -82.0, 134.0, 38.0, 12.5, 8.0),
    (1048.0, 99.0, -64.0, 133.0, 20.0, 14.0, 6.0),
    (1060.0, 114.0, -40.0, 129.0, -6.0, 14.0, 2.0),
)
LOW_MM, TOP_MM = 988.0, 1060.0
"""Heights between which a blade is longer or shorter where a crest is higher or lower."""


def wing_table(person: Person) -> tuple[tuple[float, ...], ...]:
    """The rows of this person's blades: wider in women; flare, bend and thickness vary."""
    rng, wide = person.generator(920), 1.05 if person.female else 1.0
    flare, bent, thick = rng.uniform(-6, 6), rng.uniform(0.3, 1.5), rng.uniform(0.8, 1.2)
    rows = []
    for z, hx, hy, fx, fy, mm, bow in WING:
        out = flare * (z - 938.0) / 122.0
        higher = person.borders.crest_mm * float(np.interp(z, (LOW_MM, TOP_MM), (0.0, 1.0)))
        rows.append(
            (z + higher, (hx + out) * wide, hy, (fx + out) * wide, fy, mm * thick, bow * bent)
        )
    return tuple(rows)


def wing(person: Person, muscular: Solid, marrow: str) -> Paints:
    """The right blade; iliacus on its inner face, the two smaller gluteal muscles on the outer, and outside
    them fat, within `muscular`.

    At the crest 5 mm of muscle cover the blade, 4 cm lower 3 cm; iliacus is 1 to 2 cm thick below and begins
    1 cm below the crest.
    """
    table, written = wing_table(person), [row[0] for row in WING]
    thin, brawn = 0.8 + 0.05 * person.fat_mm, person.brawn * person.build.hips

    def beside(
        out_mm: float, low: float, high: float, thick: float, ends: tuple[float, float]
    ) -> Blade:
        rows = [row for row, z in zip(table, written, strict=True) if low <= z <= high]
        return Blade(tuple((*row[:5], thick, row[6]) for row in rows), 1, out_mm, 0.0, ends)

    depths = 2 * brawn * np.interp(written, (938, 1000, 1048, 1060), (17.0, 14.0, 6.0, 0.5))
    iliacus = tuple((*row[:5], mm, row[6]) for row, mm in zip(table, depths.tolist(), strict=True))
    yield paint(Blade(iliacus, 1, -4.0, 0.0, (0.18, 1.0)), "muscle", Layer.CAVITY)
    for out_mm, low in ((13.0 * brawn, 938.0), (29.0 * brawn, 972.0)):
        yield seam(beside(out_mm, low, 1034.0, 2.2 * thin, (0.1, 0.95)))
    fat = 10.0 + 0.5 * min(person.fat_mm, 40.0)
    hull = beside(12.0 + fat / 2, 1034.0, 1060.0, fat, (0.08, 0.9))
    yield paint(hull & muscular, "fat", Layer.MUSCLE, over="muscle")
    yield from bone(Blade(table, 1), 1.2, marrow)
