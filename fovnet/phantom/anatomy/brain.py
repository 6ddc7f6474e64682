"""The brain: folded cortex over white matter, ventricles, deep nuclei, cerebellum with folia, brainstem, and
the CSF around them.

Sulci are the zero lines of random waves on the brain's surface, cut straight down towards the middle of each
hemisphere; the distance from the nearest of them, from the surface and from the great fissures determines
CSF, grey or white matter.  In mm of the written head.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import lru_cache

import numpy as np
from numpy.typing import NDArray

from fovnet.phantom.anatomy.layers import Layer, Paints, both_sides, detail, details, paint
from fovnet.phantom.geometry.solids import Bools, Ellipsoid, Floats, Point, Solid, Union, tube
from fovnet.phantom.person.traits import Person

Table = NDArray[np.float32]

MIDDLE = (25.0, -8.0, 1668.0)  # of the right hemisphere: sulci point towards it
REACH = (40.0, 80.0, 64.0)  # from there to the surface
FOLLOWS, AHEAD_MM = (
    0.6,
    34.0,
)  # the point that sulci point towards follows them along y, at most that far
WATER = "cerebrospinal fluid"
CELLS = 288  # of a table of directions along each axis: about 1 mm of the surface
FLOOR_STEP_MM = 0.5


@dataclass(frozen=True)
class Vault(Solid):
    """The inside or outside of a skull: a superellipsoid with flattened sides, `semi` (3,) mm, widest behind
    its middle."""

    semi: Point
    centre: Point = (0.0, -5.0, 1666.0)
    narrow: float = 0.11

    @property
    def box(self) -> NDArray[np.float64]:
        centre, half = np.asarray(self.centre), np.asarray(self.semi)
        return np.stack([centre - half, centre + half])

    def level(self, x: Floats, y: Floats, z: Floats) -> Floats:
        """Level without a unit: 0 at the centre, 1 on the surface."""
        a, b, c = (np.float32(1 / semi) for semi in self.semi)
        v, w = (y - np.float32(self.centre[1])) * b, (z - np.float32(self.centre[2])) * c
        behind = v + np.float32(0.3)
        # Below the brow the skull is narrowed by the temporal fossae, which hold the muscle beside the
        # orbits.
        low = np.float32(self.narrow) * (
            1 + np.float32(1.3) * ((1656 - z) * np.float32(1 / 24)).clip(0, 1) * (behind > 0)
        )
        u = x * a / (1 - low * behind * behind)
        u, v, w = u * u, v * v, w * w
        return np.asarray(0.72 * (u + v + w) + 0.28 * (u * u + v * v + w * w))

    def inside(self, x: Floats, y: Floats, z: Floats) -> Bools:
        return self.level(x, y, z) <= 1.0

    def shrunk(self, mm: float) -> Vault:
        return replace(self, semi=tuple(semi - mm for semi in self.semi))


def _ramp(values: Floats, start: float, end: float) -> Floats:
    """0 before `start`, 1 past `end`, smooth between them; `start` may exceed `end`."""
    t = ((values - start) / (end - start)).clip(0.0, 1.0)
    return np.asarray(t * t * (3 - 2 * t))


@dataclass(frozen=True)
class Base:
    """The skull base in three levels, mm: orbital gyri over the orbits, straight gyri lower between them,
    temporal poles lowest.

    pole    height of the temporal lobes' lowest point       ahead   y of the front of the poles
    rectus  height of the straight gyri                      roof    height of the orbital roofs above these
    """

    pole: float
    ahead: float
    rectus: float
    roof: float

    def height(self, x: Floats, y: Floats) -> Floats:
        """Height in mm of the hemispheres' lower surface at |x| and y."""
        dome = self.roof * np.exp(-(((x - 29) / 15) ** 2)) * _ramp(y, 26, 56)
        front = (
            self.rectus + dome + 0.12 * np.maximum(x - 40, 0) + 0.02 * np.maximum(y - 60, 0) ** 2
        )
        height = _over_the_tent(front, x, y)
        rounded = np.hypot(
            (x - 37) / np.where(x < 37, 22, 33), np.maximum(y + 5, 0) / (self.ahead + 8)
        )
        # The floor of the temporal lobes rises backwards over the petrous bones: the lowest slices show two
        # islands.
        fossa = (
            self.pole
            + 0.014 * (x - 37) ** 2
            + 0.3 * np.maximum(-y, 0)
            + 0.1 * np.maximum(y - 10, 0)
        )
        lobe = _ramp(rounded, 1.06, 0.7) * _ramp(y, -66, -26)
        return (1 - lobe) * height + lobe * fossa


def _over_the_tent(front: Floats, x: Floats, y: Floats) -> Floats:
    """The floor `front` mm, and behind it the tentorium over the cerebellum."""
    tent = 1648 - 0.24 * np.maximum(-y - 32, 0) - 0.24 * x
    behind = _ramp(y, -18, -36)
    return (1 - behind) * front + behind * tent


@lru_cache(maxsize=3)
def _floor(base: Base | None) -> tuple[Table, Table]:
    """(i, j) height in mm of the hemispheres' lower surface at |x| and y on a mesh of FLOOR_STEP_MM, and the
    cosine of its slope.

    Orbital roofs in front, temporal fossae beside them, the tentorium behind.
    """
    x, y = np.arange(0, 90, FLOOR_STEP_MM)[:, None], np.arange(-110, 100, FLOOR_STEP_MM)[None, :]
    if base is None:
        height = _over_the_tent(1644 + (8 + 4 * _ramp(x, 4, 16)) * _ramp(y, 26, 46), x, y)
        rounded = np.hypot((x - 37) / np.where(x < 37, 24, 33), np.maximum(y + 5, 0) / 47)
        lobe = _ramp(rounded, 1.06, 0.7) * _ramp(y, -66, -26)
        height = (1 - lobe) * height + lobe * (1610 + 0.012 * (x - 36) ** 2 + 0.08 * np.abs(y - 4))
    else:
        height = base.height(x, y)
    slope = np.hypot(*np.gradient(height, FLOOR_STEP_MM))
    return height.astype(np.float32), (1 / np.hypot(1, slope)).astype(np.float32)


@dataclass(frozen=True)
class Hemispheres(Solid):
    """Points deeper than `mm` below the smooth surface of both hemispheres: the hull over the gyri, or the
    CSF around it."""

    vault: Vault
    gap: float = 0.6  # half the width of the fissure between the hemispheres
    mm: float = 0.0
    base: Base | None = None  # None: a plain one
    sparse = True  # the bone that may be replaced is a fraction of the box

    @property
    def box(self) -> NDArray[np.float64]:
        return self.vault.shrunk(min(self.mm, 0.0)).box

    def depth(self, x: Floats, y: Floats, z: Floats) -> Floats:
        """Depth below the outer surface and above the floor, mm; negative outside."""
        rows, cosine = _floor(self.base)
        i = (np.abs(x) * (1 / FLOOR_STEP_MM) + 0.5).astype(np.intp).clip(0, rows.shape[0] - 1)
        j = ((y + 110) * (1 / FLOOR_STEP_MM) + 0.5).astype(np.intp).clip(0, rows.shape[1] - 1)
        above = (z - rows[i, j]) * cosine[i, j]
        level = self.vault.level(x, y, z)
        return np.asarray(
            np.minimum(above, (1 - np.sqrt(level)) * np.float32(self.vault.semi[0] + 8))
        )

    def parted(self, x: Floats, y: Floats, z: Floats) -> tuple[Floats, Floats]:
        """Distance in mm from the interhemispheric fissure, which ends above the corpus callosum, and depth
        into the middle below that."""
        v, w = (y + 4) * np.float32(1 / 41), (z - 1668) * np.float32(1 / 26)
        below = (1 - np.sqrt(v * v + w * w)) * 30
        waver = np.float32(0.9) * np.sin(y * np.float32(0.11)) * np.sin(z * np.float32(0.07))
        return np.maximum(np.abs(x + waver) - np.float32(self.gap), below), below

    def inside(self, x: Floats, y: Floats, z: Floats) -> Bools:
        return self.depth(x, y, z) >= self.mm

    def mirror(self) -> Hemispheres:
        return self

    def shrunk(self, mm: float) -> Hemispheres:
        return replace(self, mm=self.mm + mm)


@dataclass(frozen=True)
class Cortex(Solid):
    """Points deeper than `mm` below the folded surface: 0 is grey and white matter, the cortex's thickness is
    white matter alone.

    wide_mm    half the width of a sulcus at its mouth      seed  of the person's folds
    deeper_mm  added to the depth of every sulcus
    wind       phases of the waves that bend sulci on their way down, () for straight ones
    """

    hull: Hemispheres
    mm: float
    wide_mm: float
    seed: tuple[int, ...]
    deeper_mm: float = 0.0
    wind: tuple[float, ...] = ()
    sparse = True  # each point looks up its nearest sulcus

    @property
    def box(self) -> NDArray[np.float64]:
        return self.hull.box

    def inside(self, x: Floats, y: Floats, z: Floats) -> Bools:
        depth = self.hull.depth(x, y, z)
        parted, middle = self.hull.parted(x, y, z)
        depth = np.minimum(depth, parted)
        if self.wind:
            x, y, z = _wound(x, y, z, self.wind)
        sideways, deep, size = self._sulci(x, y, z)
        crown = (1 - sideways * np.float32(1 / 3.5)).clip(0, 1) * (middle < -9)
        depth = depth - np.float32(1.6) * crown * crown  # gyri are rounded towards their sulci
        beyond = np.maximum(depth - deep, 0) + np.maximum(
            middle + 9 - np.float32(0.5) * np.maximum(np.abs(x) - 16, 0), 0
        )
        from_sulcus = np.sqrt((sideways * size) ** 2 + beyond * beyond)
        from_sulcus -= np.float32(self.wide_mm) * (1.25 - 0.9 * (depth / deep).clip(0, 1))
        pial = np.minimum(
            np.minimum(depth, from_sulcus), _sylvian(x, y, z) - np.float32(0.7 + self.wide_mm)
        )
        return np.asarray(pial >= self.mm)

    def _sulci(self, x: Floats, y: Floats, z: Floats) -> tuple[Floats, Floats, Floats]:
        """Distance in mm to the nearest sulcus at the surface, the depth of sulci there, and the factor by
        which distances shrink at this point."""
        p: list[Floats] = [(np.abs(x) - MIDDLE[0]) * np.float32(1 / REACH[0])]
        along = y - np.float32(MIDDLE[1])
        p.append(
            (along - (np.float32(FOLLOWS) * along).clip(-AHEAD_MM, AHEAD_MM))
            * np.float32(1 / (REACH[1] - AHEAD_MM))
        )
        p.append((z - np.float32(MIDDLE[2])) * np.float32(1 / REACH[2]))
        half = np.float32(CELLS / 2 - 0.51) / (
            np.abs(p[0]) + np.abs(p[1]) + np.abs(p[2]) + np.float32(1e-6)
        )
        i, j = ((value * half + np.float32(CELLS / 2)).astype(np.intp) for value in p[:2])
        at = ((2 * (x > 0) + (p[2] > 0)) * CELLS + i) * CELLS + j
        near, deep = (table.ravel()[at] for table in _folds(self.seed))
        return (
            near,
            deep + np.float32(self.deeper_mm),
            np.sqrt(p[0] * p[0] + p[1] * p[1] + p[2] * p[2]).clip(0.3, 1.0),
        )

    def shrunk(self, mm: float) -> Cortex:
        return replace(self, mm=self.mm + mm)


WINDING = (
    (43.0, 3.6),
    (21.0, 1.3),
)  # mm: wavelength and amplitude of the bends of sulci, up to 25° each


def _wound(
    x: Floats, y: Floats, z: Floats, phases: tuple[float, ...]
) -> tuple[Floats, Floats, Floats]:
    """The points displaced by waves of WINDING, different in each hemisphere, without lateral displacement at
    the fissure."""
    side, wide = np.sign(x), np.abs(x)
    a, b, c, d = (np.float32(phase) for phase in phases)
    (k, far), (fine, near) = (
        (np.float32(2 * np.pi / length), np.float32(size)) for length, size in WINDING
    )
    out = (
        far
        * np.sin(k * (np.float32(0.8) * y - np.float32(0.6) * z) + (a + side))
        * (wide * np.float32(1 / 8)).clip(0, 1)
    )
    ahead = far * np.sin(k * np.float32(0.7) * (z + wide) + (b + side))
    up = far * np.sin(k * (np.float32(0.6) * wide + np.float32(0.8) * y) + (c - side))
    ripple = near * np.sin(fine * (np.float32(0.8) * wide + np.float32(0.4) * (y + z)) + (d + side))
    return x + out, y + ahead + ripple, z + up - ripple


@lru_cache(maxsize=2)
def _folds(seed: tuple[int, ...]) -> tuple[Table, Table]:
    """(4, CELLS, CELLS) mm along the surface to the nearest sulcus, and the depth of sulci there; left and
    right, below and above.

    The distance is |g| / |grad g| of a sum g of waves of one length, whose nodal lines wind like sulci.
    Depths and the waves below are drawn from one stream, as a seed is padded with zeros; other numbers would
    make other brains.
    """
    rng = np.random.default_rng(seed)
    axis = (np.arange(CELLS, dtype=np.float32) + 0.5 - CELLS / 2) / np.float32(CELLS / 2)
    u, v = np.meshgrid(axis, axis, indexing="ij")
    w = np.float32(1) - np.abs(u) - np.abs(v)
    valid = w > -0.03
    near, deep = (
        np.full((4, CELLS, CELLS), 9, np.float32),
        np.full((4, CELLS, CELLS), 12, np.float32),
    )
    for at in range(4):
        ray = np.stack([u[valid], v[valid], (1 if at % 2 else -1) * w[valid]], axis=1)
        ray /= np.linalg.norm(ray, axis=1, keepdims=True)
        waves = np.random.default_rng([*seed, at // 2])
        size, turn = waves.normal(size=(12, 3)), waves.uniform(0, 2 * np.pi, 12)
        k = (
            size
            / np.linalg.norm(size, axis=1, keepdims=True)
            * (2 * np.pi / waves.uniform(17, 22, (12, 1)))
        )
        k, turn = k.astype(np.float32), turn.astype(np.float32)
        place, across = ray * np.asarray(REACH, np.float32), ray / np.asarray(REACH, np.float32)
        left = np.abs(ray[:, 1]) * (REACH[1] - AHEAD_MM)  # undoes what `_sulci` does to y
        place[:, 1] = np.sign(ray[:, 1]) * np.minimum(left / (1 - FOLLOWS), left + AHEAD_MM)
        across /= np.linalg.norm(across, axis=1, keepdims=True)
        angle = place @ k.T + turn
        g, slope = np.sin(angle).sum(axis=1), np.cos(angle) @ k
        slope -= (slope * across).sum(axis=1, keepdims=True) * across
        near[at][valid] = (np.abs(g) / (np.linalg.norm(slope, axis=1) + 0.12)).clip(0, 9)
        slow = np.sin(place @ (np.float32(0.45) * k[:5].T) + turn[:5]).sum(axis=1)
        deep[at][valid] = (13.5 + 3.5 * slow + rng.uniform(-1, 1)).clip(7, 21)
    return near, deep


def _sylvian(x: Floats, y: Floats, z: Floats) -> Floats:
    """Distance in mm from the lateral fissure: a slit from the side, rising backwards, and the gap lateral to
    the insula at its end."""
    wide = np.abs(x)
    rise = (
        z
        - (1641 + np.float32(0.42) * (28 - y))
        - np.float32(0.4) * (wide - 45)
        + np.float32(1.5) * np.sin(wide * np.float32(0.35))
    )
    ends = np.maximum(np.maximum(-38 - y, y - 36), 0)
    insula = (
        np.float32(39)
        - np.float32(0.006) * (y - 4) ** 2
        + np.float32(0.6) * np.sin(y * np.float32(0.6))
    )
    slit = np.sqrt((0.92 * rise) ** 2 + ends * ends + np.maximum(insula - wide, 0) ** 2)
    short = np.maximum(np.maximum(-20 - y, y - 27), 0)
    gap = np.sqrt(
        (wide - insula) ** 2 + short * short + np.maximum(np.maximum(rise - 15, -7 - rise), 0) ** 2
    )
    return np.asarray(np.minimum(slit, gap))


@dataclass(frozen=True)
class Folia(Solid):
    """Points deeper than `mm` below the folia of a cerebellum: a fan of clefts about a transverse line."""

    lobes: tuple[Ellipsoid, ...]
    mm: float
    phase: float
    axis: tuple[float, float] = (-33.0, 1617.0)  # y and z of that line
    sparse = True  # angles are expensive

    @property
    def box(self) -> NDArray[np.float64]:
        return Union(self.lobes).box

    def inside(self, x: Floats, y: Floats, z: Floats) -> Bools:
        depth = np.max(
            [(1 - np.sqrt(lobe.level(x, y, z))) * min(lobe.semi[1:]) for lobe in self.lobes], axis=0
        )
        back = self.axis[0] - y - np.float32(0.007) * x * x + np.float32(0.05) * np.abs(x)
        up = z - self.axis[1] + np.float32(0.006) * x * x
        out = np.hypot(back, up)
        along = (
            34 * np.arctan2(up, back)
            + 1.2 * np.sin(0.13 * x + self.phase)
            + 1.5 * np.sin(0.31 * out)
        )
        pial = depth
        # (spacing, depth and half width of the clefts): between folia, between lobules, and the few large
        # fissures
        for spacing, deep, wide in ((4.4, 4.5, 0.25), (11.0, 11.0, 0.4), (29.0, 15.0, 0.5)):
            cleft = (
                np.abs((along + self.phase) / spacing % 1 - 0.5)
                * spacing
                * (out * np.float32(1 / 34)).clip(0.3, 1)
            )
            pial = np.minimum(pial, np.hypot(cleft, np.maximum(depth - deep, 0)) - wide)
        return np.asarray((pial >= self.mm) & (depth > 0))

    def shrunk(self, mm: float) -> Folia:
        return replace(self, mm=self.mm + mm)


@dataclass(frozen=True)
class Speckled(Solid):
    """Random points of an ellipsoid, `share` of them inside and fewer towards its edge: a mix of two
    tissues."""

    base: Ellipsoid
    share: float

    @property
    def box(self) -> NDArray[np.float64]:
        return self.base.shrunk(-1.5).box

    def inside(self, x: Floats, y: Floats, z: Floats) -> Bools:
        level = self.base.level(x, y, z)
        dice = np.sin(
            x * np.float32(12.99) + y * np.float32(78.23) + z * np.float32(37.72)
        ) * np.float32(4375.85)
        return np.asarray(dice - np.floor(dice) < self.share * (3.2 * (1.12 - level)).clip(0, 1))

    def mirror(self) -> Speckled:
        return Speckled(self.base.mirror(), self.share)


@dataclass(frozen=True)
class Traits:
    """What varies between brains: mm of CSF over the gyri, half width of sulci, size of the ventricles (1 on
    average), cortex in mm.

    phase  of the folia, mm
    """

    rim: float
    wide: float
    ventricle: float
    thick: float
    phase: float


def traits(person: Person) -> Traits:
    """Those of a person; older brains have more CSF."""
    rng = person.generator(51)
    aged = max(person.age - 25, 0.0)
    rim = rng.uniform(1.0, 1.8) + 0.03 * aged * rng.uniform(0.4, 1.4)
    wide = rng.uniform(0.3, 0.5) + 0.010 * aged * rng.uniform(0.4, 1.5)
    large = rng.uniform(1.3, 2.0) if person.age > 60 and rng.random() < 0.3 else 1.0
    ventricle = rng.uniform(0.6, 1.2) * (1 + 0.012 * aged) * large
    return Traits(rim, wide, ventricle, rng.uniform(2.7, 3.4), rng.uniform(0, 6))


def brain(person: Person, inner: Vault, fine: bool = False) -> Paints:
    """Everything within the inner surface of a skull; older brains have more CSF.  `fine`: with its parts of
    1 to 10 mm."""
    own = traits(person)
    base, wider, deeper, wind = (
        (skull_base(person), *_sulci_of(person)) if fine else (None, 0.0, 0.0, ())
    )
    hull = Hemispheres(inner.shrunk(own.rim), 0.5 + 0.4 * own.wide, base=base)
    fossa = Ellipsoid((0.0, -52.0, 1622.0), (52.0, 36.0, 26.0)) & inner
    cortex = Cortex(hull, 0.0, own.wide + wider, (*person.seed, 53), deeper, wind)
    skull = ("cortical bone", "red marrow", "mixed marrow")
    yield paint(hull.shrunk(-own.rim), WATER, Layer.MARROW, skull)
    yield paint(fossa, WATER, Layer.MARROW, "cortical bone")
    yield detail(cortex, "grey matter", WATER)
    yield detail(cortex.shrunk(own.thick), "white matter", "grey matter")
    yield from _callosum()
    yield from _nuclei()
    yield from _ventricles(own.ventricle)
    third = Ellipsoid((0.0, -10.0, 1667.0), (0.7 + 1.1 * own.ventricle, 14.0, 9.0))
    yield detail(third, WATER, ("grey matter", "white matter"))
    yield from _hind(own.phase)


def _sulci_of(person: Person) -> tuple[float, float, tuple[float, ...]]:
    """What is added to the half width and to the depth of sulci, mm, and the phases of their bends; wide
    sulci are rarer."""
    share, deeper = person.generator(59).uniform((0.0, 2.0), (1.0, 7.0)).tolist()
    return (
        0.1 + 0.5 * share * share,
        deeper,
        tuple(person.generator(592).uniform(0, 2 * np.pi, 4).tolist()),
    )


def skull_base(person: Person) -> Base:
    """This person's skull base; the straight gyri lie about 2 cm above the lowest point of the temporal
    lobes."""
    return Base(*person.generator(56).uniform((1612, 28, 1632, 8), (1622, 38, 1641, 15)).tolist())


def _callosum() -> Paints:
    radii = [3, 5, 3.2, 2.8, 3, 5]
    for dx in (-9.0, -3.0, 3.0, 9.0):
        arch = ((30, 1664), (33, 1674), (24, 1687), (0, 1692), (-26, 1688), (-41, 1678))
        shifted = tube([(dx, y, z + 0.25 * abs(dx)) for y, z in arch], radii)
        yield detail(shifted, "white matter", ("grey matter", WATER))


@both_sides
def _nuclei() -> Paints:
    """Thalamus, putamen, pallidum and caudate around the internal capsule, hippocampus beside the temporal
    horn."""
    rows = (
        ((9.5, -17.0, 1672.0), (8.0, 15.0, 9.0), 22.0, 0.6),  # thalamus
        ((27.0, 5.0, 1670.0), (4.8, 16.5, 11.0), 14.0, 0.85),  # putamen
        ((20.0, 0.0, 1668.0), (4.0, 9.0, 7.0), 28.0, 0.35),  # pallidum
        ((12.5, 22.0, 1675.0), (5.0, 9.5, 9.5), -8.0, 0.9),  # head of the caudate
    )
    mixed = (
        Speckled(Ellipsoid(at, semi, (0.0, 0.0, turn)), share) for at, semi, turn, share in rows
    )
    tail = tube([(14, 14, 1683), (17, -6, 1688), (20, -24, 1685)], [4.0, 2.6, 1.8])
    hippocampus = tube([(22, 4, 1636), (26, -12, 1638), (25, -30, 1646)], [6.0, 4.5, 3.5])
    yield from details((*mixed, tail, hippocampus), "grey matter", "white matter")


@both_sides
def _ventricles(wide: float) -> Paints:
    """Frontal horns, bodies, trigones with occipital and temporal horns; `wide` is 1 on average."""
    root = wide**0.5
    horns = (
        # frontal horn
        (
            (7.5 + 1.5 * wide, 21.0, 1680.0),
            (2.2 * wide + 0.6, 14.0 * root, 8.0 * root),
            -22.0,
            18.0,
        ),
        # body
        ((9.0 + 1.5 * wide, -6.0, 1687.0), (4.0 * wide + 1.0, 25.0, 3.2 * wide + 0.8), 12.0, 20.0),
        # trigone
        ((22.0, -40.0, 1677.0), (3.6 * wide + 1.0, 10.0 * root, 8.5 * root), 24.0, 0.0),
        # occipital horn
        ((24.0, -56.0, 1673.0), (1.9 * wide, 13.0 * root, 4.5 * root), 4.0, 0.0),
    )
    link = tube(
        [
            (13, -24, 1688),
            (19, -36, 1684),
            (23, -42, 1676),
            (27, -34, 1655),
            (30, -14, 1644),
            (30, 0, 1640),
        ],
        [w * wide for w in (3.6, 4.5, 4.5, 2.4, 1.6, 1.2)],
    )
    solids = (*(Ellipsoid(at, semi, (0.0, roll, turn)) for at, semi, turn, roll in horns), link)
    yield from details(solids, WATER, ("grey matter", "white matter"))


LOBES = (
    Ellipsoid((25.0, -56.0, 1616.0), (27.0, 27.0, 22.0), (10.0, 0.0, 14.0)),
    Ellipsoid((-25.0, -56.0, 1616.0), (27.0, 27.0, 22.0), (10.0, 0.0, -14.0)),
    Ellipsoid((0.0, -54.0, 1623.0), (13.0, 25.0, 24.0)),
)
"""The cerebellum: both hemispheres and the vermis."""


def _hind(phase: float) -> Paints:
    """Cerebellum with vermis and white core, midbrain, pons and medulla in their cisterns, fourth ventricle,
    pituitary."""
    yield from details((lobe.shrunk(-1.8) for lobe in LOBES), WATER)
    around = tube(
        [(0, -22, 1650), (0, -8, 1638), (0, -6, 1626), (0, -14, 1608), (0, -26, 1588)],
        [15, 15, 15, 14, 12],
    )
    yield detail(around, WATER, ("cortical bone", "red marrow", "muscle", "fat"))
    leaves = Folia(LOBES, 0.0, phase)
    yield detail(leaves, "grey matter", WATER)
    yield detail(leaves.shrunk(1.9), "white matter", "grey matter")
    yield from _peduncles()
    stem = tube(
        [(0, -22, 1650), (0, -19, 1642), (0, -20, 1612), (0, -22, 1600), (0, -31, 1582)],
        [9.5, 9.0, 8.0, 7.0, 5.8],
    )
    pons = Ellipsoid((0.0, -13.0, 1627.0), (16.0, 11.5, 13.0), (-10.0, 0.0, 0.0))
    yield from details((stem, pons), "white matter")
    water = (
        Ellipsoid((0.0, -33.0, 1620.0), (6.5, 4.0, 11.0)),
        Ellipsoid((0.0, -29.5, 1643.0), (1.2, 1.2, 12.0)),
        Ellipsoid((0.0, 6.0, 1640.0), (12.0, 9.0, 5.0)),
    )
    yield from details(water, WATER)
    yield detail(Ellipsoid((0.0, 7.0, 1628.0), (6.5, 5.5, 4.0)), "gland")


@both_sides
def _peduncles() -> Paints:
    to_the_cerebellum = tube([(9, -15, 1626), (18, -27, 1622), (22, -44, 1617)], [8, 8.5, 9])
    to_the_cerebrum = tube([(5, -15, 1646), (11, -8, 1656), (17, -8, 1664)], [7.0, 6.5, 5.0])
    yield from details((to_the_cerebellum, to_the_cerebrum), "white matter")
