"""Brain structures of 1 to 10 mm: midbrain and cisterns, deep nuclei, septum, chiasm, choroid plexus,
arteries and sinuses.

Sizes in mm after Haines (2012), *Neuroanatomy: An Atlas*, and Rhoton (2002), Neurosurgery 51 (4 suppl): the
midbrain is about 34 wide with its peduncles, the basilar and middle cerebral arteries 3 to 4 in diameter, the
superior sagittal sinus 6 to 10.
"""

from __future__ import annotations

import numpy as np

from fovnet.phantom.anatomy.brain import LOBES, WATER, Folia, Speckled, Vault, traits
from fovnet.phantom.anatomy.layers import Paints, both_sides, detail, details
from fovnet.phantom.geometry.solids import Ellipsoid, Point, tube
from fovnet.phantom.person.traits import Person

MATTER = ("grey matter", "white matter")
ABOUT = (*MATTER, WATER, "cortical bone", "red marrow")  # what a vessel may replace

Points = tuple[Point, ...]

ARTERIES: tuple[tuple[Points, tuple[float, ...]], ...] = (
    # carotid, its siphon
    (
        ((13, -2, 1618), (14, 10, 1623), (12, 18, 1629), (10, 10, 1635), (13, 8, 1645)),
        (2.4, 2.4, 2.3, 2.1, 1.9),
    ),
    (
        (
            (13, 8, 1645),
            (23, 13, 1648),
            (34, 9, 1650),
            (40, 1, 1657),
            (38, -10, 1664),
            (42, -24, 1672),
        ),
        (1.6, 1.5, 1.4, 1.1, 0.9, 0.8),
    ),
    (
        (
            (13, 8, 1645),
            (5, 17, 1649),
            (1.6, 26, 1655),
            (1.4, 38, 1670),
            (1.2, 33, 1688),
            (1, 8, 1697),
        ),
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

BASILAR: tuple[Points, tuple[float, ...]] = (
    ((0, -2, 1611), (1.5, 1, 1624), (1, 2, 1637)),
    (1.9, 1.8, 1.6),
)


def parts(person: Person, inner: Vault) -> Paints:
    """All of them, in the order in which they are painted over a plain brain; `inner` is the inside of the
    skull."""
    own = traits(person)
    yield from _middle(own.ventricle)
    yield from _between(own.ventricle)
    yield from _cerebellum(own.phase)
    yield from _stem()
    yield from _cisterns(person)
    yield from _plexus(own.ventricle)
    yield from _arteries(person)
    yield from _sinuses(inner)


def _middle(ventricle: float) -> Paints:
    """Nuclei without speckles in their middles, frontal horns beside a septum of 2 mm, a slit-like third
    ventricle."""
    yield from _nuclei(ventricle)
    septum = Ellipsoid((0.0, 6.0, 1680.0), (0.9, 26.0, 12.0))
    third = Ellipsoid((0.0, -8.0, 1662.0), (0.6 + 1.2 * ventricle, 14.0, 12.0))
    yield detail(septum, "white matter", ("grey matter", WATER))
    yield detail(third, WATER, MATTER)


@both_sides
def _nuclei(ventricle: float) -> Paints:
    for centre, semi, turn, share, over in (
        ((10.0, -17.0, 1671.0), (9.0, 15.0, 9.5), 22.0, 0.8, MATTER),  # thalamus
        ((27.0, 4.0, 1668.0), (6.0, 17.5, 13.0), 14.0, 1.0, MATTER),  # putamen
        # head of the caudate
        ((14.0, 19.0, 1673.0), (5.5, 10.0, 11.0), -8.0, 1.0, MATTER),
        ((20.0, 2.0, 1642.0), (8.0, 8.5, 8.0), 0.0, 1.0, MATTER[1:]),  # amygdala
        # hypothalamus, accumbens
        ((8.0, 8.0, 1656.0), (8.0, 8.0, 5.0), 0.0, 0.9, MATTER[1:]),
    ):
        base = Ellipsoid(centre, semi, (0.0, 0.0, turn))
        yield detail(Speckled(base, share), "grey matter", over)
    semi = (2.2 + 1.1 * ventricle, 23.0, 3.0 + 2.2 * ventricle)
    horn = Ellipsoid((5.0 + ventricle, 8.0, 1681.0), semi, (-12.0, 0.0, 0.0))
    yield detail(horn, WATER, MATTER)


def _between(ventricle: float) -> Paints:
    """Below the callosum, between the hemispheres: ventricles up to a septum of 2 mm, fornix, CSF behind the
    thalami.

    Without them this is a single island of white matter.
    """
    yield from _bodies(ventricle)
    yield detail(Ellipsoid((0.0, 4.0, 1681.0), (0.9, 26.0, 8.0)), "white matter", WATER)
    behind = Ellipsoid((0.0, -39.0, 1664.0), (7.0, 5.0, 9.0), (-20.0, 0.0, 0.0))
    before = Ellipsoid((0.0, 20.0, 1661.0), (6.0, 9.0, 7.0))  # below the genu of the callosum
    above = Ellipsoid((0.0, -15.0, 1669.0), (3.0, 9.0, 7.5))
    yield detail(behind, WATER, MATTER)
    yield from details((before, above), "grey matter", "white matter")
    yield from _fornix()


@both_sides
def _bodies(ventricle: float) -> Paints:
    low, tall = 1680.5 - 0.5 * ventricle, 3.2 + 0.9 * ventricle
    body = Ellipsoid(
        (4.2 + ventricle, -7.0, low + 1.0), (3.6 + ventricle, 25.0, tall), (8.0, 0.0, 0.0)
    )
    yield detail(body, WATER, MATTER)


@both_sides
def _fornix() -> Paints:
    way = ((14, -38, 1676), (3, -26, 1682), (1.5, -8, 1678), (1.5, 6, 1672), (2, 9, 1660))
    yield detail(tube(way, [1.4, 1.8, 1.8, 1.7, 1.3], step_mm=8), "white matter", WATER)


def _cerebellum(phase: float) -> Paints:
    """Folia with a cortex of 1.1 mm, so that it looks nearly uniform, the part beside the pons, and the
    tonsils behind the medulla."""
    yield detail(Folia(LOBES, 1.1, phase), "white matter", "grey matter")
    yield from _beside_the_pons()
    core = Speckled(Ellipsoid((21.0, -44.0, 1618.0), (13.0, 17.0, 9.0)), 0.4)
    yield from details((core, core.mirror()), "grey matter", "white matter")


@both_sides
def _beside_the_pons() -> Paints:
    front = Ellipsoid((27.0, -31.0, 1619.0), (15.0, 9.0, 10.0), (0.0, 0.0, 30.0))
    tonsil = Ellipsoid((7.5, -39.0, 1604.0), (7.5, 11.0, 9.5))
    yield detail(front, "grey matter", (WATER, "white matter", "cortical bone"))
    yield detail(Speckled(front.shrunk(2.0), 0.5), "white matter", "grey matter")
    yield detail(Speckled(tonsil, 1.0), "grey matter", WATER)
    yield detail(Speckled(tonsil.shrunk(2.0), 0.5), "white matter", "grey matter")


def _stem() -> Paints:
    """A midbrain 34 mm wide with its peduncles in front, in a sheath of CSF that separates it from the
    temporal lobes."""
    midbrain = Ellipsoid((0.0, -21.0, 1646.0), (16.0, 12.0, 11.0))
    sheath = Ellipsoid((0.0, -22.0, 1645.0), (20.5, 17.0, 12.5))
    between = Ellipsoid((0.0, -7.5, 1642.0), (4.0, 6.0, 8.0))
    yield detail(sheath, WATER, MATTER)
    yield detail(midbrain, "white matter")
    yield detail(between, WATER, MATTER)
    yield from _peduncle()
    # Nuclei and crossing fibres: where white matter is bright, the brainstem is darker than that above it.
    crossing = (
        ((0, -13, 1627), (15.0, 11.0, 12.0)),
        ((0, -21, 1604), (7.0, 7.0, 14.0)),
        ((0, -22, 1646), (14.0, 11.0, 9.0)),
    )
    mixed = (Speckled(Ellipsoid(centre, semi), 0.35) for centre, semi in crossing)
    yield from details(mixed, "grey matter", "white matter")
    aqueduct = Ellipsoid((0.0, -28.0, 1646.0), (1.1, 1.3, 13.0))
    yield detail(aqueduct, WATER, MATTER)


@both_sides
def _peduncle() -> Paints:
    peduncle = tube([(9, -13, 1640), (12, -11, 1652), (17, -9, 1664)], [6.0, 6.0, 5.0])
    nigra = Ellipsoid((8.0, -16.0, 1646.0), (6.0, 1.6, 5.0), (0.0, 0.0, 35.0))
    yield detail(peduncle, "white matter", WATER)
    yield detail(nigra, "grey matter", "white matter")


def _cisterns(person: Person) -> Paints:
    """The suprasellar cistern (a star) with the chiasm, the stems of the lateral fissures, and the
    quadrigeminal cistern behind the midbrain."""
    wide = person.generator(57).uniform(0.75, 1.2) * (1 + 0.004 * max(person.age - 25, 0))
    star = (
        Ellipsoid((0.0, 5.0, 1644.0), (11.0 * wide, 9.0, 8.0)),
        tube([(0, 10, 1645), (0, 26, 1646)], [4.0 * wide, 1.2 * wide]),
        Ellipsoid((0.0, -38.0, 1652.0), (12.0 * wide, 5.0 * wide, 7.0)),
    )
    yield from details(star, WATER, (*MATTER, "cortical bone"))
    yield from _fissure(wide)
    yield detail(Ellipsoid((0.0, -36.0, 1656.0), (3.0, 4.0, 2.6)), "gland", WATER)


@both_sides
def _fissure(wide: float) -> Paints:
    """The stem of a lateral fissure, and the optic nerve and tract."""
    line = [(9, 9, 1647), (20, 15, 1649), (30, 13, 1651), (38, 8, 1654)]
    yield detail(tube(line, [4.0 * wide, 2.6 * wide, 2.0, 1.6]), WATER, MATTER)
    nerve = tube([(15, 34, 1640), (9, 20, 1642), (1, 7, 1645), (9, -2, 1648), (16, -10, 1652)], 1.9)
    yield detail(nerve, "white matter", (WATER, "cortical bone"))


@both_sides
def _plexus(ventricle: float) -> Paints:
    """Choroid plexus, which takes up contrast agent, in the trigones and along the floors of the bodies."""
    line = [(5, -4, 1677), (12, -22, 1682), (20, -36, 1677), (23, -42, 1671), (27, -34, 1656)]
    radii = [0.9, 1.3, 2.4 * ventricle**0.5, 2.6 * ventricle**0.5, 1.2]
    yield detail(tube(line, radii), "mucosa", WATER)


def _arteries(person: Person) -> Paints:
    """The circle of Willis with its supply and branches; the lines vary by some millimetres between
    people."""
    rng = person.generator(58)
    size = rng.uniform(0.85, 1.25)
    for line, radii in (BASILAR, *ARTERIES):
        for side in (1,) if line is BASILAR[0] else (1, -1):
            points = np.array(line, dtype=float) * (side, 1, 1)
            points[1:-1] += rng.normal(0, 1.2, points[1:-1].shape)
            vessel = tube(points, size * np.asarray(radii), step_mm=6)
            yield detail(vessel, "arterial blood", ABOUT)


def _sinuses(inner: Vault) -> Paints:
    """Venous sinuses along the inside of the skull: superior sagittal, transverse and sigmoid on both sides,
    and the straight sinus."""
    angles = np.deg2rad(np.arange(35, 196, 10))
    over = [
        _on_vault(inner, (0.0, -5 + 80 * np.cos(t), 1666 + 70 * np.sin(t)), 1.0) for t in angles
    ]
    yield detail(tube(over, np.linspace(1.6, 4.2, len(over))), "venous blood", ABOUT)
    yield from _transverse(inner, over[-1])
    straight = tube(
        [(0, -30, 1671), (0, -43, 1666), (0, -50, 1661), over[-1]], [1.2, 1.8, 2.2, 2.8]
    )
    yield detail(straight, "venous blood", ABOUT)


@both_sides
def _transverse(inner: Vault, start: Point) -> Paints:
    around = [
        _on_vault(inner, at, 1.5) for at in ((28, -80, 1642), (50, -55, 1640), (58, -36, 1636))
    ]
    sinus = tube([start, *around, (48, -30, 1618), (34, -22, 1602)], [3.5, 3.6, 3.6, 3.8, 3.8, 3.8])
    yield detail(sinus, "venous blood", (WATER, "cortical bone", "mixed marrow"))


def _on_vault(inner: Vault, at: Point, within_mm: float) -> Point:
    """The point of the inside of the skull in that direction, `within_mm` nearer to its middle."""
    ray = np.asarray(at) - inner.centre
    # the level is not exactly quadratic: a few steps bring the point onto the surface
    for _ in range(4):
        x, y, z = (np.array([value], dtype=np.float32) for value in ray + inner.centre)
        ray /= np.sqrt(float(inner.level(x, y, z)[0]))
    return tuple((inner.centre + ray * (1 - within_mm / np.linalg.norm(ray))).tolist())
