"""Breasts: cones and domes under their skin, hanging or lying, and the gland within, in strands towards the
nipple."""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np

from fovnet.phantom.anatomy import axilla, gland
from fovnet.phantom.anatomy.layers import Layer, Paints, covered, paint
from fovnet.phantom.anatomy.pectoral import front, pectoral
from fovnet.phantom.geometry.dome import Dome
from fovnet.phantom.geometry.solids import Bools, Ellipsoid, Filling, Floats, Loft, Point, tube
from fovnet.phantom.person.breast_shapes import bust, of_a_kind, shaped
from fovnet.phantom.person.traits import Person

LONGEST_MM = 160.0
"""From chest wall to nipple, of a slender breast; a coil has no room for more."""

HANGS_MM = 1345.0
"""Height of the middle of a hanging breast, at the fourth rib: it is displaced cranially, and its lower edge
is above the liver's dome."""


@dataclass(frozen=True)
class Strands(Filling):
    """Sheets within a dome that converge at its nipple, thicker towards its middle until they merge.

    thin  thickness of the sheets everywhere (0.1 fills about 7 %)    mass  added to it in the middle of the
        gland
    fine  factor by which they are finer than sheets 4 cm apart    ragged  how far the sheets wind and fray, 0
        for smooth ones
    """

    region: Dome
    thin: float
    mass: float
    phase: Point
    fine: float = 1.0
    ragged: float = 0.0

    def inside(self, x: Floats, y: Floats, z: Floats) -> Bools:
        u, t, w = self.region.within(x, y, z)
        ahead = np.float32(1) / np.maximum(np.float32(1.25) - t, np.float32(0.25))
        f, frayed = np.float32(self.fine), np.float32(self.ragged)
        X = f * 9 * u * ahead + self.phase[0] + np.sin(5 * t + 3 * w + self.phase[1])
        Y = f * 9 * w * ahead + self.phase[1] + np.sin(4 * t + 4 * u)
        Z = f * 8 * t + self.phase[2] + np.sin(3 * u - 4 * w)
        if self.ragged:
            wound = [
                frayed * np.sin(np.float32(per) * other)
                for per, other in ((2.7, Y + 0.4), (2.9, Z + 0.7), (3.1, X))
            ]
            X, Y, Z = X + wound[0], Y + wound[1], Z + wound[2]
        g = np.abs(np.sin(X) * np.cos(Y) + np.sin(Y) * np.cos(Z) + np.sin(Z) * np.cos(X))
        middle = np.clip(1 - 2.2 * (u * u + w * w) - 2.6 * np.square(t - np.float32(0.5)), 0, 1)
        if self.ragged:
            middle *= np.clip(
                1 + frayed * np.sin(np.float32(1.3) * X) * np.sin(np.float32(1.7) * Y + Z), 0, 2
            )
        return np.asarray((g <= self.thin + self.mass * middle) & self.region.inside(x, y, z))


def breast(person: Person, side: int) -> Dome:
    """One breast under its skin: prone long and round or pointed, supine flat and to the side."""
    if of_a_kind(person):
        return shaped(person, side)
    rng = person.generator(71)
    size = float(np.clip(rng.lognormal(0.05, 0.3) + 0.012 * (person.fat_mm - 15), 0.45, 2.3))
    power, point, low = rng.uniform((1.5, 0.85, 0.0), (3.0, 1.35, 1.0)).tolist()
    size = 0.25 if person.age < 12 else size * person.generator(72 + (side > 0)).uniform(0.93, 1.07)
    wide, x, front = size**0.38, side * 86.0, 84 + 0.5 * person.fat_mm
    if person.prone:
        half, lean = (56 * wide, 60 * wide), (side * 4.0, -14.0 * low)
        plain = Dome((x, front, HANGS_MM), half, 42 + 56 * size, lean, power, point)
        return _hung(plain, person.generator(74))
    half, lean = (60 * wide, 60 * wide), (side * 14 * size, -24.0 * low * size)
    return Dome((x, front, 1308.0), half, 16 + 34 * size, lean, 2.0, 0.5 + 0.5 * point)


def _hung(plain: Dome, rng: np.random.Generator) -> Dome:
    """The shape of a breast hanging into a coil: three in ten a column with a round end, four in ten a dome
    as broad as its side of the chest, others pears and cones, half of these and of the columns flattened by
    plates.

    What it loses in width it gains in length, up to LONGEST_MM, and in height.  Both breasts of a woman have
    the same parameters. A dome is 12 to 18 cm across and half to once as long as its radius: in axial slices
    a half moon, at whose ends skin meets chest.
    """
    kind, plates = rng.random(2)
    slender, flat, blunt, flare = rng.uniform(
        (0.72, 0.62, 3.0, -0.25), (1.15, 0.9, 6.0, 0.5)
    ).tolist()
    if kind > 0.6:
        across, long, point = rng.uniform((1.1, 0.55, 0.75), (1.4, 1.05, 1.1)).tolist()
        half = (
            float(np.clip(plain.half[0] * across, 55, 92)),
            float(np.clip(plain.half[1] * across, 55, 88)),
        )
        return replace(
            plain,
            half=half,
            length=max(0.8 * plain.length, half[0] * long),
            point=point,
            flare=abs(flare),
        )
    if kind < 0.3:
        plain = replace(plain, power=blunt, point=1.0)
        slender, flare = slender * 0.92, abs(flare) + 0.1
    across = slender * (flat if plates < 0.5 else 1.0)
    half = plain.half[0] * across, plain.half[1] * 1.12 / (flat**0.4 if plates < 0.5 else 1.0)
    return replace(
        plain,
        half=half,
        length=max(plain.length, min(plain.length / slender**0.8, LONGEST_MM)),
        flare=flare,
    )


def outside(person: Person, muscle: Loft) -> Paints:
    """Skin and fat of both breasts, with their gland: a plain one unless they are `of_a_kind`; `muscle` is
    the trunk under its fat."""
    if of_a_kind(person):
        yield from _of_a_kind(person, muscle)
        return
    for side in (1, -1):
        whole = breast(person, side)
        yield from covered(whole, 0.0)
        yield paint(gland_of(whole), "gland", Layer.SEAM, over="fat")


def _of_a_kind(person: Person, muscle: Loft) -> Paints:
    """Skin, fat, gland, pectoral muscles and axillae of a woman with breasts `of_a_kind`."""
    for side in (1, -1):
        whole = shaped(person, side)
        yield paint(whole.shrunk(-bust(person).skin_mm), "skin", Layer.SKIN)
        yield paint(whole, "fat", Layer.FAT)
    chest = front(person, muscle)
    yield from pectoral(chest)
    yield from axilla.armpits(person)
    yield from gland.glands(person, chest)


def gland_of(whole: Dome) -> Ellipsoid:
    """The region of the gland of a breast."""
    semi = (0.5 * whole.half[0], 0.36 * whole.length, 0.5 * whole.half[1])
    return Ellipsoid(whole.within_mm(0.5), semi)


def inner(person: Person, rng: np.random.Generator) -> Paints:
    """From nearly all fat to nearly all gland; ligaments, veins, nipple and thickened skin around it; an
    implant if there is one."""
    if of_a_kind(person):
        yield from _inner_of_a_kind(person)
        return
    dense = float(np.clip(rng.beta(1.4, 1.8) + 0.006 * (45 - person.age), 0.02, 1.0))
    fine, ragged = person.generator(79).uniform((0.9, 0.0), (1.8, 1.1)).tolist()
    # a fatty breast has few strands
    thin = 0.03 + 0.16 * dense if person.prone else 0.07 + 0.12 * dense
    for side in (1, -1):
        whole = breast(person, side)
        phase = tuple(rng.uniform(0, 2 * np.pi, 3).tolist())
        strands = Strands(whole.shrunk(3.0), thin, 0.2 + 1.9 * dense, phase, fine, ragged)
        yield paint(gland_of(whole), "fat", Layer.SEAM, over="gland")
        yield paint(strands, "gland", Layer.CAVITY, over="fat")
        yield from _nipple(whole)
        yield from _veins(whole, rng)
        if "natural breasts" in person.missing and person.age > 20:
            semi = (0.72 * whole.half[0], 0.42 * whole.length, 0.72 * whole.half[1])
            bag = Ellipsoid(whole.within_mm(0.3), semi)
            yield paint(bag, "tendon", Layer.ORGAN, ("fat", "gland"))
            yield paint(bag.shrunk(1.2), "silicone", Layer.ORGAN, "tendon")


def _inner_of_a_kind(person: Person) -> Paints:
    for side in (1, -1):
        whole = shaped(person, side)
        yield from gland.strands(person, side)
        yield from _nipple(whole)
        yield from _veins(whole, person.generator(7327 + (side > 0)))


def _nipple(whole: Dome) -> Paints:
    """A nipple protruding by 6 mm; the skin around it is twice as thick, and ducts converge behind it."""
    x, y, z = whole.tip
    areola = Ellipsoid((x, y, z), (17.0, 4.0, 17.0)) & whole
    ducts = tube([(x, y, z), whole.within_mm(0.72)], [3.0, 6.0]) & whole
    yield paint(Ellipsoid((x, y + 1.5, z), (5.0, 6.0, 5.0)), "skin", Layer.SKIN)
    yield paint(areola, "skin", Layer.CAVITY, over="fat")
    yield paint(ducts, "gland", Layer.CAVITY, over="fat")


def _veins(whole: Dome, rng: np.random.Generator) -> Paints:
    """Four vessels between skin and gland, from the base towards the nipple."""
    way = ((-0.1, 0.8, 0.0), (0.25, 0.76, 0.3), (0.5, 0.6, 0.2), (0.75, 0.35, 0.5))
    for turn in (rng.uniform(0, 2 * np.pi) + np.arange(4) * 1.6).tolist():
        line = [whole.around_mm(t, r, turn + bend) for t, r, bend in way]
        yield paint(
            tube(line, [1.8, 1.6, 1.3, 0.9]), "venous blood", Layer.CAVITY, over=("fat", "gland")
        )
