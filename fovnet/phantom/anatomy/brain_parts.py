"""Brain structures of 1 to 10 mm: midbrain and cisterns, deep nuclei, septum, chiasm, choroid plexus,
arteries and sinuses.

Sizes in mm after Haines (2012), *Neuroanatomy: An Atlas*, and Rhoton (2002), Neurosurgery 51 (4 suppl): the
midbrain is about 34 wide with its peduncles, the basilar and middle cerebral arteries 3 to 4 in diameter, the
superior sagittal sinus 6 to 10.
"""

from __future__ import annotations

import numpy as np

from fovnet.phantom.anatomy.brain import LOBES, Folia, Speckled, Vault, traits
from fovnet.phantom.anatomy.layers import Layer, on_both_sides, paint
from fovnet.phantom.geometry.raster import Paint
from fovnet.phantom.geometry.solids import Ellipsoid, mirrored, tube
from fovnet.phantom.person.traits import Person

MATTER = ("grey matter", "white matter")
WATER = ("cerebrospinal fluid",)
ABOUT = (*MATTER, *WATER, "cortical bone", "red marrow")        # what a vessel may replace

Points = tuple[tuple[float, float, float], ...]

ARTERIES: tuple[tuple[Points, tuple[float, ...]], ...] = (
    # carotid, its siphon
    (
        ((13, -2, 1618), (14, 10, 1623), (12, 18, 1629), (10, 10, 1635), (13, 8, 1645)),
        (2.4, 2.4, 2.3, 2.1, 1.9),
    ),
    (
        ((13, 8, 1645), (23, 13, 1648), (34, 9, 1650), (40, 1, 1657), (38, -10, 1664), (42, -24, 1672)),
        (1.6, 1.5, 1.4, 1.1, 0.9, 0.8),
    ),
    (
        ((13, 8, 1645), (5, 17, 1649), (1.6, 26, 1655), (1.4, 38, 1670), (1.2, 33, 1688), (1, 8, 1697)),
        (1.3, 1.2, 1.1, 1.1, 0.9, 0.8),
    ),
    # posterior cerebral
    (
        ((1, 2, 1637), (9, -4, 1641), (18, -18, 1646), (15, -36, 1652), (9, -58, 1654)),
        (1.3, 1.3, 1.1, 1.0, 0.8),
    ),
    # communicating
    (((13, 8, 1645), (12, -2, 1641), (9, -4, 1641)), (0.8, 0.8, 0.8)),
    # vertebral
    (((9, -12, 1592), (5, -6, 1602), (0.5, -2, 1611)), (1.7, 1.6, 1.5)),
)
"""Of the right side: lines and radii, mm, from the skull base outwards."""

BASILAR: tuple[Points, tuple[float, ...]] = (((0, -2, 1611), (1.5, 1, 1624), (1, 2, 1637)), (1.9, 1.8, 1.6))


def parts(person: Person, inner: Vault) -> list[Paint]:
    """All of them, in the order in which they are painted over a plain brain; `inner` is the inside of the
    skull."""
    ventricle, phase = traits(person).ventricle, traits(person).phase
    inside = _middle(ventricle) + _between(ventricle) + _cerebellum(phase) + _stem() + _cisterns(person)
    return inside + _plexus(ventricle) + _arteries(person) + _sinuses(inner)


def _middle(ventricle: float) -> list[Paint]:
    """Nuclei without speckles in their middles, frontal horns beside a septum of 2 mm, a slit-like third
    ventricle."""
    def one(side: int) -> list[Paint]:
        made = []
        rows = (
            ((10.0, -17.0, 1671.0), (9.0, 15.0, 9.5), 22.0, 0.8, MATTER),                     # thalamus
            ((27.0, 4.0, 1668.0), (6.0, 17.5, 13.0), 14.0, 1.0, MATTER),                      # putamen
            # head of the caudate
            ((14.0, 19.0, 1673.0), (5.5, 10.0, 11.0), -8.0, 1.0, MATTER),
            ((20.0, 2.0, 1642.0), (8.0, 8.5, 8.0), 0.0, 1.0, ("white matter",)),             # amygdala
            # hypothalamus, accumbens
            ((8.0, 8.0, 1656.0), (8.0, 8.0, 5.0), 0.0, 0.9, ("white matter",)),
        )
        for centre, semi, turn, share, over in rows:
            base = Ellipsoid(mirrored(centre, side), semi, (0.0, 0.0, side * turn))
            made.append(paint(Speckled(base, share), "grey matter", Layer.DETAIL, over))
        semi = (2.2 + 1.1 * ventricle, 23.0, 3.0 + 2.2 * ventricle)
        horn = Ellipsoid(mirrored((5.0 + ventricle, 8.0, 1681.0), side), semi, (-12.0, 0.0, 0.0))
        return [*made, paint(horn, "cerebrospinal fluid", Layer.DETAIL, MATTER)]

    septum = Ellipsoid((0.0, 6.0, 1680.0), (0.9, 26.0, 12.0))
    third = Ellipsoid((0.0, -8.0, 1662.0), (0.6 + 1.2 * ventricle, 14.0, 12.0))
    return [
        *on_both_sides(one), paint(septum, "white matter", Layer.DETAIL, ("grey matter", *WATER)),
        paint(third, "cerebrospinal fluid", Layer.DETAIL, MATTER),
    ]


def _between(ventricle: float) -> list[Paint]:
    """Below the callosum, between the hemispheres: ventricles up to a septum of 2 mm, fornix, CSF behind the
    thalami.

    Without them this is a single island of white matter.
    """
    low, tall = 1680.5 - 0.5 * ventricle, 3.2 + 0.9 * ventricle
    made = []
    for side in (1, -1):
        body = Ellipsoid(
            (side * (4.2 + ventricle), -7.0, low + 1.0), (3.6 + ventricle, 25.0, tall), (8.0, 0.0, 0.0)
        )
        made.append(paint(body, "cerebrospinal fluid", Layer.DETAIL, MATTER))
    made.append(paint(Ellipsoid((0.0, 4.0, 1681.0), (0.9, 26.0, 8.0)), "white matter", Layer.DETAIL, WATER))
    behind = Ellipsoid((0.0, -39.0, 1664.0), (7.0, 5.0, 9.0), (-20.0, 0.0, 0.0))
    before = Ellipsoid((0.0, 20.0, 1661.0), (6.0, 9.0, 7.0))        # below the genu of the callosum
    made += [
        paint(behind, "cerebrospinal fluid", Layer.DETAIL, MATTER),
        paint(before, "grey matter", Layer.DETAIL, ("white matter",)),
    ]
    made.append(
        paint(
            Ellipsoid((0.0, -15.0, 1669.0), (3.0, 9.0, 7.5)), "grey matter", Layer.DETAIL, ("white matter",)
        )
    )
    for side in (1, -1):
        line = (
            (side * 14, -38, 1676), (side * 3, -26, 1682), (side * 1.5, -8, 1678), (side * 1.5, 6, 1672),
            (side * 2, 9, 1660),
        )
        made.append(
            paint(tube(line, [1.4, 1.8, 1.8, 1.7, 1.3], step_mm=8), "white matter", Layer.DETAIL, WATER)
        )
    return made


def _cerebellum(phase: float) -> list[Paint]:
    """Folia with a cortex of 1.1 mm, so that it looks nearly uniform, the part beside the pons, and the
    tonsils behind the medulla."""
    made = [paint(Folia(LOBES, 1.1, phase), "white matter", Layer.DETAIL, ("grey matter",))]
    for side in (1, -1):
        front = Ellipsoid(mirrored((27.0, -31.0, 1619.0), side), (15.0, 9.0, 10.0), (0.0, 0.0, side * 30.0))
        made.append(paint(front, "grey matter", Layer.DETAIL, (*WATER, "white matter", "cortical bone")))
        made.append(paint(Speckled(front.shrunk(2.0), 0.5), "white matter", Layer.DETAIL, ("grey matter",)))
        tonsil = Ellipsoid(mirrored((7.5, -39.0, 1604.0), side), (7.5, 11.0, 9.5))
        made.append(paint(Speckled(tonsil, 1.0), "grey matter", Layer.DETAIL, WATER))
        made.append(paint(Speckled(tonsil.shrunk(2.0), 0.5), "white matter", Layer.DETAIL, ("grey matter",)))
    core = [
        Speckled(Ellipsoid(mirrored((21.0, -44.0, 1618.0), side), (13.0, 17.0, 9.0)), 0.4) for side in (1, -1)
    ]
    return [*made, *(paint(solid, "grey matter", Layer.DETAIL, ("white matter",)) for solid in core)]


def _stem() -> list[Paint]:
    """A midbrain 34 mm wide with its peduncles in front, in a sheath of CSF that separates it from the
    temporal lobes."""
    midbrain = Ellipsoid((0.0, -21.0, 1646.0), (16.0, 12.0, 11.0))
    sheath = Ellipsoid((0.0, -22.0, 1645.0), (20.5, 17.0, 12.5))
    between = Ellipsoid((0.0, -7.5, 1642.0), (4.0, 6.0, 8.0))
    made = [
        paint(sheath, "cerebrospinal fluid", Layer.DETAIL, MATTER),
        paint(midbrain, "white matter", Layer.DETAIL),
    ]
    made.append(paint(between, "cerebrospinal fluid", Layer.DETAIL, MATTER))
    for side in (1, -1):
        peduncle = tube(
            [mirrored(p, side) for p in ((9, -13, 1640), (12, -11, 1652), (17, -9, 1664))], [6.0, 6.0, 5.0]
        )
        made.append(paint(peduncle, "white matter", Layer.DETAIL, WATER))
        nigra = Ellipsoid(mirrored((8.0, -16.0, 1646.0), side), (6.0, 1.6, 5.0), (0.0, 0.0, side * 35.0))
        made.append(paint(nigra, "grey matter", Layer.DETAIL, ("white matter",)))
    aqueduct = Ellipsoid((0.0, -28.0, 1646.0), (1.1, 1.3, 13.0))
    # Nuclei and crossing fibres: where white matter is bright, the brainstem is darker than that above it.
    for centre, semi in (
        ((0, -13, 1627), (15.0, 11.0, 12.0)), ((0, -21, 1604), (7.0, 7.0, 14.0)),
        ((0, -22, 1646), (14.0, 11.0, 9.0)),
    ):
        made.append(
            paint(Speckled(Ellipsoid(centre, semi), 0.35), "grey matter", Layer.DETAIL, ("white matter",))
        )
    return [*made, paint(aqueduct, "cerebrospinal fluid", Layer.DETAIL, MATTER)]


def _cisterns(person: Person) -> list[Paint]:
    """The suprasellar cistern (a star) with the chiasm, the stems of the lateral fissures, and the
    quadrigeminal cistern behind the midbrain."""
    wide = float(person.generator(57).uniform(0.75, 1.2)) * (1 + 0.004 * max(person.age - 25, 0))
    star = [
        Ellipsoid((0.0, 5.0, 1644.0), (11.0 * wide, 9.0, 8.0)),
        tube([(0, 10, 1645), (0, 26, 1646)], [4.0 * wide, 1.2 * wide]),
        Ellipsoid((0.0, -38.0, 1652.0), (12.0 * wide, 5.0 * wide, 7.0)),
    ]
    made = [paint(solid, "cerebrospinal fluid", Layer.DETAIL, (*MATTER, "cortical bone")) for solid in star]
    for side in (1, -1):
        line = [mirrored(p, side) for p in ((9, 9, 1647), (20, 15, 1649), (30, 13, 1651), (38, 8, 1654))]
        stem = tube(line, [4.0 * wide, 2.6 * wide, 2.0, 1.6])
        made.append(paint(stem, "cerebrospinal fluid", Layer.DETAIL, MATTER))
        nerve = tube(
            [
                mirrored(p, side)
                for p in ((15, 34, 1640), (9, 20, 1642), (1, 7, 1645), (9, -2, 1648), (16, -10, 1652))
            ],
            1.9,
        )
        made.append(paint(nerve, "white matter", Layer.DETAIL, (*WATER, "cortical bone")))
    pineal = Ellipsoid((0.0, -36.0, 1656.0), (3.0, 4.0, 2.6))
    return [*made, paint(pineal, "gland", Layer.DETAIL, WATER)]


def _plexus(ventricle: float) -> list[Paint]:
    """Choroid plexus, which takes up contrast agent, in the trigones and along the floors of the bodies."""
    def one(side: int) -> list[Paint]:
        line = [
            mirrored(p, side)
            for p in ((5, -4, 1677), (12, -22, 1682), (20, -36, 1677), (23, -42, 1671), (27, -34, 1656))
        ]
        return [
            paint(
                tube(line, [0.9, 1.3, 2.4 * ventricle**0.5, 2.6 * ventricle**0.5, 1.2]), "mucosa",
                Layer.DETAIL, WATER,
            )
        ]

    return on_both_sides(one)


def _arteries(person: Person) -> list[Paint]:
    """The circle of Willis with its supply and branches; the lines vary by some millimetres between
    people."""
    rng = person.generator(58)
    size = float(rng.uniform(0.85, 1.25))

    def vessel(line: Points, radii: tuple[float, ...], side: int) -> Paint:
        points = np.array([mirrored(point, side) for point in line])
        points[1:-1] += rng.normal(0, 1.2, points[1:-1].shape)
        return paint(tube(points, size * np.asarray(radii), step_mm=6), "arterial blood", Layer.DETAIL, ABOUT)

    return [vessel(*BASILAR, 1), *(vessel(line, radii, side) for line, radii in ARTERIES for side in (1, -1))]


def _sinuses(inner: Vault) -> list[Paint]:
    """Venous sinuses along the inside of the skull: superior sagittal, transverse and sigmoid on both sides,
    and the straight sinus."""
    def on_vault(x: float, y: float, z: float, within: float) -> tuple[float, float, float]:
        ray = np.array([x, y, z]) - inner.centre
        # the level is not exactly quadratic: a few steps bring the point onto the surface
        for _ in range(4):
            u, v, w = (np.array([value], dtype=np.float32) for value in ray + inner.centre)
            ray /= np.sqrt(float(inner.level(u, v, w)[0]))
        a, b, c = (inner.centre + ray * (1 - within / np.linalg.norm(ray))).tolist()
        return a, b, c

    angles = np.deg2rad(np.arange(35, 196, 10))
    over = [on_vault(0.0, -5 + 80 * float(np.cos(t)), 1666 + 70 * float(np.sin(t)), 1.0) for t in angles]
    made = [paint(tube(over, np.linspace(1.6, 4.2, len(over))), "venous blood", Layer.DETAIL, ABOUT)]
    straight = tube([(0, -30, 1671), (0, -43, 1666), (0, -50, 1661), over[-1]], [1.2, 1.8, 2.2, 2.8])
    for side in (1, -1):
        around = [
            over[-1],
            *(
                on_vault(side * x, y, z, 1.5)
                for x, y, z in ((28, -80, 1642), (50, -55, 1640), (58, -36, 1636))
            ),
        ]
        down = [*around, (side * 48.0, -30.0, 1618.0), (side * 34.0, -22.0, 1602.0)]
        sinus = tube(down, [3.5, 3.6, 3.6, 3.8, 3.8, 3.8])
        made.append(paint(sinus, "venous blood", Layer.DETAIL, (*WATER, "cortical bone", "mixed marrow")))
    return [*made, paint(straight, "venous blood", Layer.DETAIL, ABOUT)]
