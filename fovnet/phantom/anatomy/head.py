"""Head and neck: scalp, skull, brain with folded cortex, eyes, airways and sinuses, jaw, tongue, larynx,
glands."""

from __future__ import annotations

import numpy as np

from fovnet.phantom.anatomy import brain_parts, face
from fovnet.phantom.anatomy.brain import Hemispheres, Vault, brain, skull_base, traits
from fovnet.phantom.anatomy.layers import Layer, bone, paint
from fovnet.phantom.anatomy.trunk import column_y
from fovnet.phantom.geometry.raster import Paint
from fovnet.phantom.geometry.solids import Ellipsoid, Loft, Side, Without, mirrored, tube
from fovnet.phantom.person.traits import Person

# z, half width, front, back of the scalp's surface
FACE = (
    (1516.0, 24.0, 84.0, -46.0),
    (1524.0, 36.0, 90.0, -20.0),
    (1538.0, 50.0, 93.0, 10.0),
    (1560.0, 59.0, 94.0, 40.0),
    (1585.0, 66.0, 95.0, 74.0),
    (1612.0, 71.0, 96.0, 92.0),
    (1640.0, 75.0, 93.0, 101.0),
    (1668.0, 77.0, 95.0, 105.0),
    (1692.0, 76.0, 92.0, 102.0),
    (1712.0, 70.0, 82.0, 93.0),
    (1728.0, 59.0, 66.0, 78.0),
    (1740.0, 44.0, 47.0, 58.0),
    (1746.5, 27.0, 28.0, 38.0),
    (1750.0, 12.0, 12.0, 18.0),
)
CHIN = (
    (1498.0, 9.0, 48.0, -36.0), (1506.0, 22.0, 64.0, -30.0), (1514.0, 30.0, 79.0, -30.0),
    (1524.0, 38.0, 89.5, -20.0),
)
"""The first rows of a face that slopes from the throat to the chin; they replace two rows of FACE that end in
a step."""

VAULT = (71.0, 92.0, 78.0)     # outer half axes of the skull, mm
VERTEX_MM = 1750.0
NAPE = (
    ((26.0, -36.0), (28.0, 4.0), 22.0),        # trapezius
    ((28.0, -27.5), (17.0, 6.0), 26.0),        # splenius
    ((11.5, -31.0), (10.0, 7.5), 10.0),        # semispinalis of the head
    ((13.0, -19.0), (9.5, 6.0), 30.0),         # semispinalis of the neck and multifidus
    ((28.0, -17.0), (10.0, 6.5), 24.0),        # longissimus
    ((42.0, -13.0), (9.5, 13.0), 16.0),        # levator of the shoulder blade
    ((32.0, 4.0), (11.0, 11.0), 30.0),         # middle and posterior scalenes
    ((20.0, 14.0), (7.0, 7.0), 0.0),           # anterior scalene
    ((8.0, 16.5), (8.5, 4.2), 8.0),            # long muscle of the neck
    ((11.0, 60.0), (12.0, 3.6), -12.0),        # straps before the larynx
)
"""x, y from the middle of the vertebrae and half axes, mm, and rotation, degrees, of the muscles of the right
side at mid-neck."""


def head(person: Person, fine: bool = False) -> list[Paint]:
    """Everything above the neck, and the throat; `fine`: the brain with its parts of 1 to 10 mm, and muscles
    of face and nape."""
    plain = _shell(fine) + _skull(person, fine) + _eyes() + _air(person) + _jaw(fine) + _throat(person)
    return plain + (face.nape(person) + face.flesh(person) + face.conchae() if fine else [])


def _shell(fine: bool) -> list[Paint]:
    rows = []
    for z, a, front, back in (*CHIN, *FACE[2:]) if fine else FACE:
        cy = (front - back) / 2
        rows.append((z, 0.0, cy, a, front - cy, front - cy))
    skin = Loft(tuple(rows), square=0.22)
    nose = tube([(0, 88, 1646), (0, 108, 1616), (0, 98, 1598)], [8, 12, 11])
    made = [
        paint(skin, "skin", Layer.SKIN), paint(skin.shrunk(2.0), "fat", Layer.FAT),
        paint(skin.shrunk(5.5), "muscle", Layer.MUSCLE),
    ]
    made += (
        face.nose()
        if fine
        else [paint(nose, "skin", Layer.SKIN), paint(nose.shrunk(2.0), "cartilage", Layer.FAT)]
    )
    for side in (1, -1):
        ear = Ellipsoid((side * 82.0, -10.0, 1634.0), (5.0, 15.0, 27.0), (0.0, 0.0, -24.0 * side))
        made += [paint(ear, "skin", Layer.SKIN), paint(ear.shrunk(1.8), "cartilage", Layer.FAT)]
        # cheek
        made.append(
            paint(Ellipsoid((side * 50.0, 60.0, 1588.0), (14.0, 16.0, 20.0)), "fat", Layer.SEAM, ("muscle",))
        )
        # masseter
        made.append(paint(Ellipsoid((side * 56.0, 26.0, 1578.0), (8.0, 18.0, 32.0)), "muscle", Layer.SEAM))
        # parotid
        made.append(
            paint(
                Ellipsoid((side * 59.0, -2.0, 1578.0), (10.0, 17.0, 24.0)), "gland", Layer.SEAM, ("muscle",)
            )
        )
        for at, semi in (
            ((21, 22, 1578), (3.5, 13, 24)), ((41, 36, 1582), (5, 14, 20)), ((38, 10, 1574), (2.5, 20, 26)),
        ):
            made.append(
                paint(
                    Ellipsoid(mirrored(at, side), semi, (0.0, 0.0, side * 16.0)), "fat", Layer.SEAM,
                    ("muscle",),
                )
            )
        # temporal
        made.append(paint(Ellipsoid((side * 69.0, 18.0, 1645.0), (4.5, 26.0, 28.0)), "muscle", Layer.SEAM))
    return made


def _skull(person: Person, fine: bool) -> list[Paint]:
    """A vault of two tables with diploe between them, a base of dense bone, and the brain within."""
    thick = float(person.generator(54).uniform(4.6, 7.2))
    vault, inner = Vault(VAULT), Vault(VAULT).shrunk(thick)
    # hardly any diploe at the temples
    thin = Vault((VAULT[0] - thick / 2 - 0.6, VAULT[1] - thick + 1.6, VAULT[2] - thick + 1.6))
    made = bone(vault, 1.6, "red marrow" if person.age < 25 else "mixed marrow")
    made.append(paint(thin, "cortical bone", Layer.MARROW))
    base = Ellipsoid((0.0, 34.0, 1608.0), (36.0, 46.0, 11.0), (14.0, 0.0, 0.0))
    front = Side((0.0, -1.0, 0.0), 12.0)
    made += [
        paint(base & front, "cortical bone", Layer.MARROW),
        paint(base.shrunk(3.0) & front, "red marrow", Layer.MARROW),
    ]
    # clivus
    made.append(
        paint(Ellipsoid((0.0, 2.0, 1605.0), (11.0, 20.0, 17.0), (30.0, 0.0, 0.0)), "red marrow", Layer.DETAIL)
    )
    for side in (1, -1):
        mastoid = Ellipsoid((side * 56.0, -22.0, 1606.0), (15.0, 22.0, 22.0))
        made += [
            paint(mastoid, "cortical bone", Layer.MARROW),
            paint(mastoid.shrunk(6.0), "gas", Layer.DETAIL),
        ]
        petrous = tube([(side * 54, -18, 1616), (side * 18, 4, 1618)], [12.0, 8.0])
        made.append(paint(petrous, "cortical bone", Layer.MARROW))
        # of the sphenoid
        wing = Ellipsoid((side * 38.0, 48.0, 1630.0), (15.0, 3.5, 17.0), (0.0, 0.0, -24.0 * side))
        made.append(paint(wing, "red marrow", Layer.MARROW, ("cortical bone",)))
    if not fine:
        return made + brain(person, inner)
    below = face.under_the_brain(
        person, Hemispheres(inner.shrunk(traits(person).rim), base=skull_base(person))
    )
    return made + below + brain(person, inner, fine) + brain_parts.parts(person, inner)


def _eyes() -> list[Paint]:
    made = []
    for side in (1, -1):
        orbit = tube([(side * 33, 74, 1637), (side * 28, 58, 1637), (side * 17, 40, 1637)], [18.5, 16.0, 5.0])
        globe = Ellipsoid((side * 32.0, 74.0, 1637.0), (12.3, 12.3, 12.3))
        made.append(paint(orbit.shrunk(-2.0), "cortical bone", Layer.BONE, ("muscle",)))
        made.append(
            paint(orbit, "fat", Layer.DETAIL, ("muscle", "cortical bone", "red marrow", "mixed marrow"))
        )
        for dx, dz in ((9, 0), (-9, 0), (0, 9), (0, -9)):
            made.append(
                paint(
                    tube([(side * (32 + dx), 74, 1637 + dz), (side * 22, 46, 1637)], [1.8, 2.0]), "muscle",
                    Layer.DETAIL,
                )
            )
        made.append(
            paint(tube([(side * 31, 66, 1637), (side * 19, 42, 1637)], 2.4), "white matter", Layer.DETAIL)
        )
        made += [paint(globe.shrunk(-1.2), "muscle", Layer.DETAIL), paint(globe, "vitreous", Layer.DETAIL)]
        made.append(paint(Ellipsoid((side * 32.0, 83.0, 1637.0), (4.5, 2.4, 4.5)), "cartilage", Layer.DETAIL))
    return made


def _air(person: Person) -> list[Paint]:
    """Nasal cavity with turbinates and septum, paranasal sinuses of differing size, pharynx."""
    rng = person.generator(52)
    nose = Ellipsoid((0.0, 60.0, 1612.0), (16.0, 36.0, 21.0))
    made = [paint(nose.shrunk(-2.5), "mucosa", Layer.DETAIL), paint(nose, "gas", Layer.DETAIL)]
    made.append(paint(Ellipsoid((0.0, 60.0, 1612.0), (1.6, 36.0, 21.0)), "cartilage", Layer.DETAIL))
    for side in (1, -1):
        for dz in (-10, 3):
            made.append(
                paint(Ellipsoid((side * 9.0, 56.0, 1612.0 + dz), (4.6, 24.0, 4.4)), "mucosa", Layer.DETAIL)
            )
        antrum = Ellipsoid((side * 31.0, 62.0, 1604.0), (13 * rng.uniform(0.8, 1.1), 15.0, 16.0))
        made += [
            paint(antrum.shrunk(-2.2), "cortical bone", Layer.DETAIL),
            paint(antrum.shrunk(-0.8), "mucosa", Layer.DETAIL),
            paint(antrum, "gas", Layer.DETAIL),
        ]
        frontal = Ellipsoid(
            (side * 12.0, 82.0, 1666.0), (9 * rng.uniform(0.5, 1.3), 5.0, 11 * rng.uniform(0.5, 1.2))
        )
        made.append(paint(frontal, "gas", Layer.DETAIL))
    sphenoid = Ellipsoid((0.0, 24.0, 1620.0), (13.0, 11.0, 8.0))
    made += [
        paint(sphenoid.shrunk(-1.8), "cortical bone", Layer.DETAIL),
        paint(sphenoid, "gas", Layer.DETAIL),
    ]
    pharynx = tube(
        [(0, 26, 1606), (0, 14, 1590), (0, 9, 1565), (0, 10, 1535), (0, 16, 1515), (0, 22, 1500)],
        [9.0, 9.0, 6.5, 8.0, 6.5, 7.5],
    )
    return [*made, paint(pharynx.shrunk(-3.0), "mucosa", Layer.DETAIL), paint(pharynx, "gas", Layer.DETAIL)]


def _jaw(fine: bool) -> list[Paint]:
    half: list[tuple[float, float, float]] = [
        (48, 4, 1596), (48, 14, 1560), (44, 38, 1543), (30, 70, 1536), (14, 84, 1533), (0, 87, 1533),
    ]
    if fine:        # a chin under 8 mm of flesh
        half = [(x, y - 0.12 * max(y - 25, 0), z) for x, y, z in half]
    arch = half + [(-x, y, z) for x, y, z in half[-2::-1]]
    made = bone(tube(arch, [5, 7, 8, 8, 8.5, 9, 8.5, 8, 8, 7, 5]), 2.4)
    for z in (1551, 1563):
        teeth = [
            (float(38 * np.sin(t)), float(44 + 40 * np.cos(t)), float(z)) for t in np.linspace(-1.5, 1.5, 11)
        ]
        made.append(paint(tube(teeth, 4.2), "cortical bone", Layer.MARROW))
    palate = Ellipsoid((0.0, 54.0, 1583.0), (30.0, 34.0, 5.0))
    made += bone(palate, 1.6)
    tongue = Ellipsoid((0.0, 44.0, 1556.0), (24.0, 34.0, 21.0), (14.0, 0.0, 0.0))
    made += [paint(tongue.shrunk(-1.5), "mucosa", Layer.CAVITY), paint(tongue, "muscle", Layer.ORGAN)]
    made.append(paint(Ellipsoid((0.0, 40.0, 1536.0), (13.0, 26.0, 7.0)), "fat", Layer.ORGAN))
    for side in (1, -1):
        made.append(paint(Ellipsoid((side * 32.0, 30.0, 1532.0), (9.0, 16.0, 11.0)), "gland", Layer.ORGAN))
    return made


def _nape(person: Person) -> list[Paint]:
    """Muscles in layers around the cervical spine, from the trapezius inwards, separated by fat."""
    rng, stout = person.generator(55), 1 + 0.7 * (person.brawn - 1)
    lean = float(np.degrees(np.arctan2(column_y(1480.0) - column_y(1560.0), 80.0)))
    made = [
        paint(
            Ellipsoid((0.0, -20.0, 1502.0), (60.0, 58.0, 66.0), square=0.2), "intermuscular fat", Layer.SEAM,
            ("muscle",),
        )
    ]
    for side in (1, -1):
        for (x, y), (a, b), turn in NAPE:
            dx, dy = rng.normal(0.0, 0.8, 2)
            centre = (side * (x + float(dx)), column_y(1510.0) + y + float(dy), 1508.0)
            belly = Ellipsoid(
                centre, (a * stout, b * stout, 90.0), (lean, 0.0, side * (turn + float(rng.normal(0.0, 4.0))))
            )
            made.append(paint(belly, "muscle", Layer.SEAM, ("intermuscular fat",)))
    return made


def _throat(person: Person) -> list[Paint]:
    """Neck muscles with fat between them, larynx, thyroid, and the atlas with the dens."""
    flesh = ("muscle", "intermuscular fat")
    made = _nape(person)
    for side in (1, -1):
        strap = tube(
            [mirrored(p, side) for p in ((54, -24, 1600), (46, -2, 1540), (32, 26, 1480), (16, 36, 1440))],
            [8, 10, 9, 6], step_mm=25,
        )
        made += [
            paint(strap.shrunk(-2.0), "intermuscular fat", Layer.SEAM, flesh),
            paint(strap, "muscle", Layer.SEAM, flesh),
        ]
        made.append(paint(Ellipsoid((side * 17.0, 22.0, 1478.0), (9.0, 10.0, 24.0)), "gland", Layer.CONTENT))
        made += bone(tube([(side * 8, -8, 1590), (side * 30, -26, 1590), (side * 14, -46, 1588)], 6.0), 1.4)
    voice = Without(
        Ellipsoid((0.0, 24.0, 1507.0), (18.0, 19.0, 22.0)), Ellipsoid((0.0, 20.0, 1507.0), (14.0, 15.0, 26.0))
    )
    dens = bone(Ellipsoid((0.0, -18.0, 1584.0), (5.5, 5.5, 14.0)), 1.2)
    return [*made, paint(voice, "cartilage", Layer.CONTENT), *dens]
