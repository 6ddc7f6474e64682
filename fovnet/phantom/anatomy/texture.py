"""Inner structure of tissues: muscle with septa and streaks of fat, fat with fasciae and vessels, a breast
with strands of gland.

All of it is painted last and only on the voxels of one tissue, so that it follows the shape of that tissue.
"""

from __future__ import annotations

import numpy as np

from fovnet.phantom.anatomy import breast, thorax
from fovnet.phantom.anatomy.layers import Paints, detail, details
from fovnet.phantom.anatomy.trunk import column_y, muscular_trunk
from fovnet.phantom.geometry.solids import Ellipsoid, Point, mirrored
from fovnet.phantom.geometry.tissue_structure import Box, Sheets, Shells, Walls
from fovnet.phantom.person.traits import Person

Muscles = tuple[tuple[int, int], ...]

NECK: Muscles = (
    (44, 12),
    (28, 26),
    (40, -18),
    (12, -44),
    (28, -42),
    (16, -60),
    (40, -48),
    (54, -34),
    (12, 6),
    (26, 4),
)
CHEST: Muscles = (
    (100, 60),
    (50, 84),
    (120, 10),
    (140, -30),
    (120, -60),
    (80, -84),
    (40, -90),
    (90, -55),
    (60, -70),
    (150, 20),
)
BUTTOCK: Muscles = (
    (78, -96),
    (112, -40),
    (112, -8),
    (118, 26),
    (96, 56),
    (64, 62),
    (62, -70),
    (126, 44),
    (40, 40),
    (92, -66),
)
"""x, y in mm of muscles of the right side, from the body's middle; the walls lie half way between them."""


def structure(person: Person, fine: bool = False) -> Paints:
    """The inner structure of this person's muscle, fat and breasts; with `fine` shoulders have their own
    muscles instead of septa."""
    rng = person.generator(66)
    yield from _septa(person, rng, fine)
    yield from _streaks(person, rng)
    yield from _fat(person, rng)
    yield from thorax.pectorals(person)
    yield from _flank(person)
    if person.female:
        yield from breast.inner(person, rng)


def _septa(person: Person, rng: np.random.Generator, fine: bool) -> Paints:
    """Walls of fat between the muscles of buttocks, chest and neck, at positions that vary between people."""
    thick = 0.5 + 3.5 * person.marbling + 0.015 * person.fat_mm
    top = 1330.0 if fine else 1430.0
    for side in (1, -1):
        for muscles, low, high, share in (
            (BUTTOCK, 852.0, 1030.0, 1.0),
            (CHEST, 1180.0, top, 0.8),
            (NECK, 1432.0, 1532.0, 0.8),
        ):
            lines = []
            for muscle in muscles:
                (ax, ay), (bx, by) = (
                    rng.normal(0, 4 if high < 1500 else 2.5, (2, 2)) + muscle
                ).tolist()
                lines.append((mirrored((ax, ay, low), side), mirrored((bx, by, high), side)))
            walls = Walls(tuple(lines), share * thick)
            yield detail(walls, "intermuscular fat", over="muscle")


def _flank(person: Person) -> Paints:
    """Fat between the three flat muscles of the abdominal wall, and the tendinous lines beside the straight
    muscles and in the midline.

    The external oblique is 6 to 8 mm thick, the internal 8 to 10, the transverse 3 to 5.  Source: Rankin,
    Stokes & Newham (2006), Muscle Nerve 34:320, table 2.
    """
    wall, thick = muscular_trunk(person), 0.6 + 3.0 * person.marbling + 0.02 * person.fat_mm
    brawn = person.brawn * person.build.wall
    for low, high in ((-260.0, -62.0), (62.0, 260.0)):
        place = Box((low, -62.0, 1020.0), (high, 200.0, 1185.0))
        seams = Shells(place, wall, (7.0 * brawn, 15.0 * brawn), thick)
        yield detail(seams, "intermuscular fat", over="muscle")
    y = 100.0 + person.belly_mm
    lines = tuple(((x, y, 960.0), (x, y, 1230.0)) for x in (-92.0, -30.0, 30.0, 92.0))
    yield detail(Walls(lines, 2.5 + thick), "tendon", over="muscle")


def _streaks(person: Person, rng: np.random.Generator) -> Paints:
    """Streaks of fat along the muscles: few in young and lean people, a third of the muscle in the old; more
    in back and buttocks."""
    everywhere = Box((-420.0, -300.0, 60.0), (420.0, 300.0, 1600.0))
    back = Box((-90.0, -150.0, 850.0), (90.0, -45.0, 1300.0))
    for place, wavelengths, share in (
        (everywhere, (31.0, 27.0, 130.0), 0.5),
        (back, (17.0, 15.0, 80.0), 1.1),
    ):
        streaks = Sheets(place, wavelengths, share * person.marbling, _phase(rng))
        if streaks.thick > 0.025:  # thinner ones are invisible at the same cost
            yield detail(streaks, "intermuscular fat", over="muscle")


def _fat(person: Person, rng: np.random.Generator) -> Paints:
    """Fasciae under the skin, and vessels and folds of peritoneum between the organs."""
    outer = Box((-420.0, -320.0, 60.0), (420.0, 320.0, 1500.0))
    inner = Box((-190.0, -120.0, 850.0), (190.0, 220.0, 1260.0))
    fasciae = Sheets(outer, (38.0, 38.0, 52.0), 0.03, _phase(rng))
    folds = Sheets(inner, (27.0, 25.0, 31.0), 0.08, _phase(rng))
    yield detail(fasciae, "tendon", over="fat")
    yield detail(folds, "bowel wall", over="visceral fat")
    # fascia between the two layers of fat on the back
    between = (
        Ellipsoid((0.0, column_y(z) - 64.0 - 0.5 * person.fat_mm, z), (80.0, 0.8, 12.0))
        for z in np.arange(1010.0, 1150.0, 24.0).tolist()
    )
    yield from details(between, "tendon", over="fat")


def _phase(rng: np.random.Generator) -> Point:
    return tuple(rng.uniform(0, 2 * np.pi, 3).tolist())
