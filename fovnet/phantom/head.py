"""Head and neck: scalp, skull, brain with folded cortex, eyes, airways and sinuses, jaw, tongue, larynx, glands."""

from __future__ import annotations

import numpy as np

from fovnet.phantom.layers import Layer, bone, paint
from fovnet.phantom.person import Person
from fovnet.phantom.raster import Paint
from fovnet.phantom.solids import Ellipsoid, Folded, Loft, Side, Without, mirrored, tube

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
BRAIN = (0.0, -8.0, 1670.0)
VERTEX_MM = 1750.0


def head(person: Person) -> list[Paint]:
    """Everything above the neck, and the throat."""
    return _shell() + _skull() + _brain(person) + _eyes() + _air(person) + _jaw(person) + _throat(person)


def _shell() -> list[Paint]:
    rows = []
    for z, a, front, back in FACE:
        cy = (front - back) / 2
        rows.append((z, 0.0, cy, a, front - cy, front - cy))
    skin = Loft(tuple(rows), square=0.15)
    nose = tube([(0, 88, 1646), (0, 108, 1616), (0, 98, 1598)], [8, 12, 11])
    made = [paint(skin, "skin", Layer.SKIN), paint(skin.shrunk(2.0), "fat", Layer.FAT), paint(skin.shrunk(5.5), "muscle", Layer.MUSCLE)]
    made += [paint(nose, "skin", Layer.SKIN), paint(nose.shrunk(2.0), "cartilage", Layer.FAT)]
    for side in (1, -1):
        ear = Ellipsoid((side * 82.0, -10.0, 1634.0), (5.0, 15.0, 27.0), (0.0, 0.0, -24.0 * side))
        made += [paint(ear, "skin", Layer.SKIN), paint(ear.shrunk(1.8), "cartilage", Layer.FAT)]
        made.append(paint(Ellipsoid((side * 50.0, 60.0, 1588.0), (14.0, 16.0, 20.0)), "fat", Layer.SEAM))  # cheek
        made.append(paint(Ellipsoid((side * 56.0, 26.0, 1578.0), (8.0, 18.0, 32.0)), "muscle", Layer.SEAM))  # masseter
        made.append(paint(Ellipsoid((side * 59.0, -2.0, 1578.0), (10.0, 17.0, 24.0)), "gland", Layer.SEAM))  # parotid
        made.append(paint(Ellipsoid((side * 69.0, 18.0, 1645.0), (4.5, 26.0, 28.0)), "muscle", Layer.SEAM))  # temporal
    return made


def _skull() -> list[Paint]:
    vault = Ellipsoid((0.0, -5.0, 1666.0), (71.0, 92.0, 78.0), square=0.12)
    made = bone(vault, 1.8)
    made.append(paint(vault.shrunk(5.2), "cortical bone", Layer.MARROW))
    made.append(paint(vault.shrunk(7.0) & Side((0.0, 0.12, -1.0), -1633.0), "cerebrospinal fluid", Layer.MARROW))
    base = Ellipsoid((0.0, 36.0, 1604.0), (52.0, 50.0, 15.0), (14.0, 0.0, 0.0))
    made.append(paint(base & Side((0.0, -1.0, 0.0), 12.0), "cortical bone", Layer.MARROW))
    made.append(paint(Ellipsoid((0.0, 2.0, 1605.0), (11.0, 20.0, 17.0), (30.0, 0.0, 0.0)), "red marrow", Layer.DETAIL))  # clivus
    for side in (1, -1):
        mastoid = Ellipsoid((side * 56.0, -22.0, 1606.0), (15.0, 22.0, 22.0))
        made += [paint(mastoid, "cortical bone", Layer.MARROW), paint(mastoid.shrunk(6.0), "gas", Layer.DETAIL)]
        petrous = tube([(side * 54, -18, 1616), (side * 18, 4, 1618)], [12.0, 8.0])
        made.append(paint(petrous, "cortical bone", Layer.MARROW))
    return made


def _brain(person: Person) -> list[Paint]:
    """Hemispheres with cortex and white matter, ventricles, basal ganglia, cerebellum, stem; older brains leave more water."""
    rng = person.generator(51)
    shrink = 0.03 * (person.age - 20)
    x, y, z = BRAIN
    whole = Ellipsoid((x, y, z), (63.0, 83.0, 67.0), square=0.12).shrunk(shrink)
    phases = rng.uniform(0, 6.28, 3)
    phase = (float(phases[0]), float(phases[1]), float(phases[2]))
    above = Side((0.0, 0.12, -1.0), -1637.0)
    made: list[Paint] = []
    lobes = [(whole, above)] + [
        (Ellipsoid((side * 38.0, 6.0, 1630.0), (22.0, 38.0, 21.0)).shrunk(shrink), Side((0.0, 0.0, 1.0), 1642.0)) for side in (1, -1)
    ]
    for lobe, cut in lobes:
        cortex = Folded(lobe, 1.0, 0.0, 0.17 + 0.002 * (person.age - 20), 0.52, 26.0, phase)
        white = Folded(lobe, 0.36, 0.40, 0.0, 1.0, 26.0, phase)
        made += [paint(cortex & cut, "grey matter", Layer.DETAIL), paint(white & cut, "white matter", Layer.DETAIL)]
    for wide, tissue in ((4.5 + 0.04 * shrink, "grey matter"), (1.3 + 0.04 * shrink, "cerebrospinal fluid")):  # between the hemispheres
        gap = Ellipsoid((x, y, z + 10), (wide, 84.0, 56.0)) - Ellipsoid((x, y - 6, z - 2), (10.0, 44.0, 30.0))
        made.append(paint(gap & above, tissue, Layer.DETAIL, ("grey matter", "white matter")))
    return made + _deep(float(rng.uniform(0.8, 1.1) + 0.012 * (person.age - 40)), z) + _hind(z)


def _deep(wide: float, z: float) -> list[Paint]:
    made = []
    for side in (1, -1):
        thalamus, lentiform, caudate = ((12, -14, 6), (8, 15, 9)), ((26, 8, 4), (7, 17, 11)), ((13, 14, 14), (6, 12, 7))
        for (dx, dy, dz), semi in (thalamus, lentiform, caudate):
            made.append(paint(Ellipsoid((side * dx, dy - 4.0, z + dz - 4.0), semi), "grey matter", Layer.DETAIL))
        horn = tube(
            [
                (side * 9, 30, z + 8),
                (side * 10, 8, z + 20),
                (side * 13, -22, z + 20),
                (side * 22, -44, z + 8),
                (side * 26, -34, z - 10),
                (side * 30, -8, z - 18),
            ],
            [w * wide for w in (4.5, 6.0, 6.0, 7.0, 4.0, 2.5)],
        )
        made.append(paint(horn, "cerebrospinal fluid", Layer.DETAIL))
    made.append(paint(Ellipsoid((0.0, -10.0, z), (2.6 * wide, 13.0, 9.0)), "cerebrospinal fluid", Layer.DETAIL))
    return made


def _hind(z: float) -> list[Paint]:
    lobes = Ellipsoid((0.0, -56.0, z - 53), (50.0, 31.0, 24.0))
    leaves = Folded(lobes, 1.0, 0.0, 0.30, 0.35, 13.0, (0.3, 1.1, 2.0))
    made = [paint(lobes.shrunk(-2.0), "cerebrospinal fluid", Layer.DETAIL), paint(leaves, "grey matter", Layer.DETAIL)]
    made.append(paint(Ellipsoid((0.0, -52.0, z - 52), (34.0, 17.0, 11.0)), "white matter", Layer.DETAIL))
    stem = tube([(0, -18, z - 24), (0, -14, z - 42), (0, -20, z - 62), (0, -32, z - 84)], [9.0, 13.0, 8.5, 6.0])
    around = tube([(0, -8, z - 44), (0, -16, z - 62), (0, -32, z - 84)], [15.0, 13.0, 9.0])
    made += [paint(around, "cerebrospinal fluid", Layer.DETAIL), paint(stem, "white matter", Layer.DETAIL)]
    made.append(paint(Ellipsoid((0.0, -31.0, z - 46), (7.0, 4.5, 11.0)), "cerebrospinal fluid", Layer.DETAIL))
    return [*made, paint(Ellipsoid((0.0, 7.0, z - 42), (6.5, 5.5, 4.0)), "gland", Layer.DETAIL)]  # pituitary


def _eyes() -> list[Paint]:
    made = []
    for side in (1, -1):
        orbit = Ellipsoid((side * 31.0, 66.0, 1637.0), (19.0, 25.0, 18.0), (0.0, 0.0, -18.0 * side))
        globe = Ellipsoid((side * 32.0, 77.0, 1637.0), (12.3, 12.3, 12.3))
        made += [paint(orbit.shrunk(-2.0), "cortical bone", Layer.BONE), paint(orbit, "fat", Layer.DETAIL)]
        for dx, dz in ((9, 0), (-9, 0), (0, 9), (0, -9)):
            made.append(paint(tube([(side * (32 + dx), 74, 1637 + dz), (side * 22, 46, 1637)], [1.8, 2.0]), "muscle", Layer.DETAIL))
        made.append(paint(tube([(side * 31, 66, 1637), (side * 19, 42, 1637)], 2.4), "white matter", Layer.DETAIL))
        made += [paint(globe.shrunk(-1.2), "muscle", Layer.DETAIL), paint(globe, "vitreous", Layer.DETAIL)]
        made.append(paint(Ellipsoid((side * 32.0, 86.0, 1637.0), (4.5, 2.4, 4.5)), "cartilage", Layer.DETAIL))
    return made


def _air(person: Person) -> list[Paint]:
    """Nasal cavity with turbinates and septum, paranasal sinuses of differing size, pharynx."""
    rng = person.generator(52)
    nose = Ellipsoid((0.0, 60.0, 1612.0), (16.0, 36.0, 21.0))
    made = [paint(nose.shrunk(-2.5), "mucosa", Layer.DETAIL), paint(nose, "gas", Layer.DETAIL)]
    made.append(paint(Ellipsoid((0.0, 60.0, 1612.0), (1.6, 36.0, 21.0)), "cartilage", Layer.DETAIL))
    for side in (1, -1):
        for dz in (-10, 3):
            made.append(paint(Ellipsoid((side * 9.0, 56.0, 1612.0 + dz), (4.6, 24.0, 4.4)), "mucosa", Layer.DETAIL))
        antrum = Ellipsoid((side * 31.0, 62.0, 1604.0), (13 * rng.uniform(0.8, 1.1), 15.0, 16.0))
        made += [
            paint(antrum.shrunk(-2.2), "cortical bone", Layer.DETAIL),
            paint(antrum.shrunk(-0.8), "mucosa", Layer.DETAIL),
            paint(antrum, "gas", Layer.DETAIL),
        ]
        frontal = Ellipsoid((side * 12.0, 82.0, 1666.0), (9 * rng.uniform(0.5, 1.3), 5.0, 11 * rng.uniform(0.5, 1.2)))
        made.append(paint(frontal, "gas", Layer.DETAIL))
    sphenoid = Ellipsoid((0.0, 24.0, 1620.0), (13.0, 11.0, 8.0))
    made += [paint(sphenoid.shrunk(-1.8), "cortical bone", Layer.DETAIL), paint(sphenoid, "gas", Layer.DETAIL)]
    pharynx = tube(
        [(0, 26, 1606), (0, 14, 1590), (0, 9, 1565), (0, 10, 1535), (0, 16, 1515), (0, 22, 1500)], [9.0, 9.0, 6.5, 8.0, 6.5, 7.5]
    )
    return [*made, paint(pharynx.shrunk(-3.0), "mucosa", Layer.DETAIL), paint(pharynx, "gas", Layer.DETAIL)]


def _jaw(person: Person) -> list[Paint]:
    half = [(48, 4, 1596), (48, 14, 1560), (44, 38, 1543), (30, 70, 1536), (14, 84, 1533), (0, 87, 1533)]
    arch = half + [(-x, y, z) for x, y, z in half[-2::-1]]
    made = bone(tube(arch, [5, 7, 8, 8, 8.5, 9, 8.5, 8, 8, 7, 5]), 2.4)
    for z in (1551, 1563):
        teeth = [(float(38 * np.sin(t)), float(44 + 40 * np.cos(t)), float(z)) for t in np.linspace(-1.5, 1.5, 11)]
        made.append(paint(tube(teeth, 4.2), "cortical bone", Layer.MARROW))
    palate = Ellipsoid((0.0, 54.0, 1583.0), (30.0, 34.0, 5.0))
    made += bone(palate, 1.6)
    tongue = Ellipsoid((0.0, 44.0, 1556.0), (24.0, 34.0, 21.0), (14.0, 0.0, 0.0))
    made += [paint(tongue.shrunk(-1.5), "mucosa", Layer.CAVITY), paint(tongue, "muscle", Layer.ORGAN)]
    made.append(paint(Ellipsoid((0.0, 40.0, 1536.0), (13.0, 26.0, 7.0)), "fat", Layer.ORGAN))
    for side in (1, -1):
        made.append(paint(Ellipsoid((side * 32.0, 30.0, 1532.0), (9.0, 16.0, 11.0)), "gland", Layer.ORGAN))
    return made


def _throat(person: Person) -> list[Paint]:
    """Neck muscles with fat between them, larynx, thyroid, and the first two vertebrae's ring."""
    made = []
    for side in (1, -1):
        strap = tube(
            [mirrored(p, side) for p in ((54, -24, 1600), (46, -2, 1540), (32, 26, 1480), (16, 36, 1440))], [8, 10, 9, 6], step_mm=25
        )
        made += [paint(strap.shrunk(-2.0), "intermuscular fat", Layer.SEAM, over=("muscle",)), paint(strap, "muscle", Layer.SEAM)]
        nape = tube(
            [mirrored(p, side) for p in ((24, -62, 1595), (24, -52, 1540), (28, -56, 1480), (34, -66, 1440))], [13, 14, 15, 13], step_mm=25
        )
        made += [paint(nape.shrunk(-1.8), "intermuscular fat", Layer.SEAM, over=("muscle",)), paint(nape, "muscle", Layer.SEAM)]
        made.append(paint(Ellipsoid((side * 42.0, -14.0, 1500.0), (4.5, 13.0, 42.0)), "intermuscular fat", Layer.SEAM))
        made.append(paint(Ellipsoid((side * 17.0, 22.0, 1478.0), (9.0, 10.0, 24.0)), "gland", Layer.CONTENT))
        made += bone(tube([(side * 8, -8, 1590), (side * 30, -26, 1590), (side * 14, -46, 1588)], 6.0), 1.4)
    voice = Without(Ellipsoid((0.0, 24.0, 1507.0), (18.0, 19.0, 22.0)), Ellipsoid((0.0, 20.0, 1507.0), (14.0, 15.0, 26.0)))
    dens = bone(Ellipsoid((0.0, -18.0, 1584.0), (5.5, 5.5, 14.0)), 1.2)
    return [*made, paint(voice, "cartilage", Layer.CONTENT), *dens]
