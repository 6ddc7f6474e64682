"""Inner structure of tissues: muscle with septa and streaks of fat, fat with fasciae and vessels, a breast
with strands of gland.

All of it is painted last and only on the voxels of one tissue, so that it follows the shape of that tissue.
"""

from __future__ import annotations

import numpy as np

from fovnet.phantom.anatomy import breast, thorax
from fovnet.phantom.anatomy.layers import Layer, paint
from fovnet.phantom.anatomy.trunk import column_y, muscular_trunk
from fovnet.phantom.geometry.raster import Paint
from fovnet.phantom.geometry.solids import Ellipsoid, mirrored
from fovnet.phantom.geometry.tissue_structure import Box, Line, Sheets, Shells, Walls
from fovnet.phantom.person.traits import Person

Muscles = tuple[tuple[int, int], ...]

NECK: Muscles = (
    (44, 12), (28, 26), (40, -18), (12, -44), (28, -42), (16, -60), (40, -48), (54, -34), (12, 6), (26, 4),
)
CHEST: Muscles = (
    (100, 60), (50, 84), (120, 10), (140, -30), (120, -60), (80, -84), (40, -90), (90, -55), (60, -70),
    (150, 20),
)
BUTTOCK: Muscles = (
    (78, -96), (112, -40), (112, -8), (118, 26), (96, 56), (64, 62), (62, -70), (126, 44), (40, 40),
    (92, -66),
)
"""x, y in mm of muscles of the right side, from the body's middle; the walls lie half way between them."""


def structure(person: Person, fine: bool = False) -> list[Paint]:
    """The inner structure of this person's muscle, fat and breasts; with `fine` shoulders have their own
    muscles instead of septa."""
    rng = person.generator(66)
    made = _septa(person, rng, fine) + _streaks(person, rng) + _fat(person, rng)
    made += thorax.pectorals(person) + _flank(person)
    return made + (breast.inner(person, rng) if person.female else [])


def _septa(person: Person, rng: np.random.Generator, fine: bool) -> list[Paint]:
    """Walls of fat between the muscles of buttocks, chest and neck, at positions that vary between people."""
    made: list[Paint] = []
    thick = 0.5 + 3.5 * person.marbling + 0.015 * person.fat_mm
    top = 1330.0 if fine else 1430.0

    def walls(lines: list[Line], mm: float) -> None:
        made.append(paint(Walls(tuple(lines), mm), "intermuscular fat", Layer.DETAIL, over=("muscle",)))

    for side in (1, -1):
        for muscles, low, high, share in (
            (BUTTOCK, 852.0, 1030.0, 1.0), (CHEST, 1180.0, top, 0.8), (NECK, 1432.0, 1532.0, 0.8),
        ):
            straight: list[Line] = []
            for x, y in muscles:
                (ax, ay), (bx, by) = (
                    rng.normal(0, 4 if high < 1500 else 2.5, (2, 2)) + np.array([x, y])
                ).tolist()
                straight.append((mirrored((ax, ay, low), side), mirrored((bx, by, high), side)))
            walls(straight, share * thick)
    return made


def _flank(person: Person) -> list[Paint]:
    """Fat between the three flat muscles of the abdominal wall, and the tendinous lines beside the straight
    muscles and in the midline.

    The external oblique is 6 to 8 mm thick, the internal 8 to 10, the transverse 3 to 5.  Source: Rankin,
    Stokes & Newham (2006), Muscle Nerve 34:320, table 2.
    """
    wall, thick = muscular_trunk(person), 0.6 + 3.0 * person.marbling + 0.02 * person.fat_mm
    brawn = person.brawn * person.build.wall
    made: list[Paint] = []
    for low, high in ((-260.0, -62.0), (62.0, 260.0)):
        seams = Shells(
            wall, Box((low, -62.0, 1020.0), (high, 200.0, 1185.0)), (7.0 * brawn, 15.0 * brawn), thick
        )
        made.append(paint(seams, "intermuscular fat", Layer.DETAIL, over=("muscle",)))
    y = 100.0 + person.belly_mm
    lines = tuple(((x, y, 960.0), (x, y, 1230.0)) for x in (-92.0, -30.0, 30.0, 92.0))
    return [*made, paint(Walls(lines, 2.5 + thick), "tendon", Layer.DETAIL, over=("muscle",))]


def _streaks(person: Person, rng: np.random.Generator) -> list[Paint]:
    """Streaks of fat along the muscles: few in young and lean people, a third of the muscle in the old; more
    in back and buttocks."""
    everywhere = Box((-420.0, -300.0, 60.0), (420.0, 300.0, 1600.0))
    back = Box((-90.0, -150.0, 850.0), (90.0, -45.0, 1300.0))
    made = []
    for place, wavelengths, share in (
        (everywhere, (31.0, 27.0, 130.0), 0.5),
        (back, (17.0, 15.0, 80.0), 1.1),
    ):
        streaks = Sheets(place, wavelengths, share * person.marbling, _phase(rng))
        if streaks.thick > 0.025:  # thinner ones are invisible at the same cost
            made.append(paint(streaks, "intermuscular fat", Layer.DETAIL, over=("muscle",)))
    return made


def _fat(person: Person, rng: np.random.Generator) -> list[Paint]:
    """Fasciae under the skin, and vessels and folds of peritoneum between the organs."""
    outer = Box((-420.0, -320.0, 60.0), (420.0, 320.0, 1500.0))
    inner = Box((-190.0, -120.0, 850.0), (190.0, 220.0, 1260.0))
    made = [
        paint(Sheets(outer, (38.0, 38.0, 52.0), 0.03, _phase(rng)), "tendon", Layer.DETAIL, over=("fat",))
    ]
    made.append(
        paint(
            Sheets(inner, (27.0, 25.0, 31.0), 0.08, _phase(rng)), "bowel wall", Layer.DETAIL,
            over=("visceral fat",),
        )
    )
    for z in np.arange(1010.0, 1150.0, 24.0):  # fascia between the two layers of fat on the back
        at = (0.0, column_y(float(z)) - 64.0 - 0.5 * person.fat_mm, float(z))
        made.append(paint(Ellipsoid(at, (80.0, 0.8, 12.0)), "tendon", Layer.DETAIL, over=("fat",)))
    return made


def _phase(rng: np.random.Generator) -> tuple[float, float, float]:
    a, b, c = rng.uniform(0, 2 * np.pi, 3).tolist()
    return a, b, c
