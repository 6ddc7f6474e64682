"""Inner structure of the heart: papillary muscles, trabeculae, valves, outflow, coronary vessels in their
fat, pericardium."""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from fovnet.phantom.anatomy.layers import Layer, Paints, detail, details, paint, paints
from fovnet.phantom.anatomy.thorax import chamber, ventricles
from fovnet.phantom.geometry.solids import Ellipsoid, Point, Side, Solid, tube
from fovnet.phantom.geometry.tissue_structure import Sheets
from fovnet.phantom.person.traits import Person


def parts(person: Person) -> Paints:
    """The structures in and on the ventricles and atria of this person."""
    of = build(person)
    for part in (_around, _right, _left, _atria):
        yield from part(person, of)
    yield from _coronaries(person, of.outer)


def long_axis(person: Person) -> NDArray[np.float64]:
    """(2, 3) mm of the person: the apex of the left ventricle, and the middle of its base."""
    left = build(person).outer
    return _in_the_person(person, np.array([_at(left, -1.0, 0.0, 0.0), _at(left, 0.85, 0.0, 0.0)]))


def toward_the_right(person: Person) -> NDArray[np.float64]:
    """(3,) unit vector, in the person: from the left ventricle to the right one, perpendicular to the long
    axis."""
    left = build(person).outer
    places = ((-1.0, 0.0, 0.0), (0.85, 0.0, 0.0), (0.0, 0.0, 0.0), (0.0, 1.0, 0.0))
    wanted = np.array([_at(left, *place) for place in places])
    apex, base, middle, right = _in_the_person(person, wanted)
    along = (base - apex) / np.linalg.norm(base - apex)
    across = (right - middle) - along * ((right - middle) @ along)
    return np.asarray(across / np.linalg.norm(across))


def _in_the_person(person: Person, wanted: NDArray[np.float64]) -> NDArray[np.float64]:
    """(n, 3) mm of the person for points (n, 3) of the written anatomy, by fixed-point iteration."""
    places = wanted.copy()
    for _ in range(12):  # bends are gentle: each step leaves less than half of the error
        x, y, z = (places[:, axis].astype(np.float32) for axis in range(3))
        places += wanted - np.stack(person.morph.to_anatomy(x, y, z), axis=1)
    return places


def _at(of: Ellipsoid, base: float, right: float, up: float) -> Point:
    """A point in the ventricle's own axes, in shares of its semi-axes: towards the base, the right ventricle,
    and up."""
    return tuple((of.centre + of.axes @ (np.asarray(of.semi) * (base, right, up))).tolist())


def _around_at(of: Ellipsoid, base: float, turn: float, out: float) -> Point:
    """The same for a direction around the long axis, radians from the right ventricle."""
    return _at(of, base, out * float(np.cos(turn)), out * float(np.sin(turn)))


@dataclass(frozen=True)
class Build:
    """The shape of a person's ventricles, and their phase in the cardiac cycle.

    outer  the left ventricle with its wall       cavity  the space in it        wide  right ventricle
        relative to the usual one
    """

    outer: Ellipsoid
    cavity: Ellipsoid
    wide: float

    @property
    def grow(self) -> float:
        """The size of the heart relative to the written one."""
        return self.outer.semi[1] / USUAL_SEMI_MM[1]


BASE = 0.8
"""Basal end of the left ventricle, in shares of its semi-axis from its middle: at the valves, where it is
still nearly at its widest."""


def ventricle(inner: Ellipsoid, outer: Ellipsoid, beyond_mm: float = 0.0) -> Solid:
    """An ellipsoid in or around the left ventricle as a bullet: elongated towards the base and cut off
    `beyond_mm` beyond BASE.

    A ventricle is widest in its basal third; if it narrowed there, it would be surrounded by fat and atria
    where it really touches the lung.
    """
    a, b, c = inner.semi
    drawn = replace(inner, centre=_at(inner, 0.22, 0.0, 0.0), semi=(1.22 * a, b, c))
    along = outer.axes[:, 0]
    end = float(along @ np.asarray(outer.centre)) + BASE * outer.semi[0] + beyond_mm
    return drawn & Side(tuple(along.tolist()), end)


USUAL_SEMI_MM = (45.0, 32.0, 33.0)  # of the left ventricle in `thorax`

KINDS = {
    "usual": (0.58, (0.92, 1.06), (5.5, 9.5)),
    "squeezed": (0.2, (0.88, 1.0), (10.0, 15.0)),
    "dilated": (0.1, (1.06, 1.22), (5.0, 8.0)),
    "thick": (0.07, (0.98, 1.1), (12.0, 18.0)),
    "septum": (0.05, (0.96, 1.06), (10.0, 15.0)),
}
"""How often, relative size and thickness of the wall, mm."""


def build(person: Person) -> Build:
    """Three hearts in five are usual, the others dilated, hypertrophic, with a thick septum, or contracted.

    Source of walls (5 to 12 mm in diastole) and cavities (41 to 62 mm): Kawel-Boehm et al. (2020), J
    Cardiovasc Magn Reson 22:87; dilated and hypertrophic hearts beyond them: Elliott et al. (2008), Eur Heart
    J 29:270 (walls from 15 mm).
    """
    rng, left = person.generator(641), ventricles(person)[0]
    kind = rng.choice(list(KINDS), p=[share for share, *_ in KINDS.values()])
    _, large, wall = KINDS[kind]
    semi = left.semi * (rng.uniform(*large) * rng.uniform(0.96, 1.04, 3))
    # more horizontal above a large belly
    roll, rise, swing = rng.normal(0, 1, 3) * (7, 5, 5) + (0, 0, 0.25 * (person.fat_mm - 14))
    turn = np.add(left.turn_deg, (roll, rise, -np.clip(swing, -12, 12)))
    outer = replace(left, semi=tuple(semi), turn_deg=tuple(turn.tolist()))
    thick = rng.uniform(*wall)
    aside = (0.3 * thick if kind == "septum" else rng.uniform(-0.1, 0.2) * thick) / semi[1]
    cavity = replace(outer, centre=_at(outer, 0.0, -aside, 0.0)).shrunk(thick)
    return Build(outer, cavity, rng.uniform(0.85, 1.25))


def _left(person: Person, of: Build) -> Paints:
    """Two papillary muscles of several heads and the trabeculae of the inner wall, in a wall whose thickness
    varies between people."""
    rng, left, cavity = person.generator(64), of.outer, of.cavity
    yield paint(ventricle(left, left), "myocardium", Layer.VESSEL)
    yield paint(ventricle(cavity, left, 1.0), "arterial blood", Layer.VESSEL)
    semi = (14.0, 0.55 * left.semi[1], 0.55 * left.semi[2])
    base = Ellipsoid(_at(left, 0.85, 0.0, 0.0), semi, left.turn_deg)
    yield paint(base, "arterial blood", Layer.VESSEL)
    rough = 0.6 * left.semi[0]  # the inner wall is smooth in its basal third
    shell = ventricle(cavity, left, -rough) - ventricle(cavity.shrunk(4.0), left, -rough)
    ridges = Sheets(shell, (26.0, 11.0, 11.0), 0.35, (rng.uniform(0, 6), rng.uniform(0, 6), 1.0))
    yield detail(ridges, "myocardium", over="arterial blood")
    yield from _columns(cavity, person.generator(901))
    for clock in (125.0, 235.0):  # degrees from the septum: both are on the free wall
        yield from _papillary(cavity, np.deg2rad(clock + rng.normal(0, 9)), rng)
    valve = _at(left, 0.72, 0.0, 0.0)
    leaf = Ellipsoid(valve, (1.2, 15.0, 15.0), left.turn_deg) - Ellipsoid(valve, (6.0, 5.0, 10.0))
    yield detail(leaf, "tendon", over="arterial blood")


def _columns(cavity: Ellipsoid, rng: np.random.Generator) -> Paints:
    """Trabeculae carneae: 6 to 13 ridges 3 to 5 mm wide along the wall from near the apex, most of them to
    the middle of the cavity."""
    for _ in range(rng.integers(6, 14)):
        turn, top = rng.uniform(0, 2 * np.pi), rng.uniform(-0.2, 0.5)
        line = []
        for share in np.linspace(-0.85, top, 4):
            turn += rng.normal(0, 0.08)
            line.append(_around_at(cavity, share, turn, 0.93 * float(np.sqrt(1 - share**2))))
        wide = rng.uniform(1.5, 2.5)
        ridge = tube(line, [wide, wide, wide, 0.6 * wide])
        yield detail(ridge, "myocardium", over="arterial blood")


def _papillary(cavity: Ellipsoid, at: float, rng: np.random.Generator) -> Paints:
    """A papillary muscle at that angle (radians from the septum): one to three heads side by side, from near
    the apex to the middle."""
    for _ in range(rng.integers(1, 4)):
        angle, out = at + rng.normal(0, 0.17), rng.uniform(0.58, 0.76)
        root = _around_at(cavity, -0.65, angle, 0.72)
        tip = _around_at(cavity, rng.uniform(0.1, 0.4), angle, out)
        muscle = tube([root, tip], [rng.uniform(3.5, 5.5), rng.uniform(2.0, 3.5)])
        yield detail(muscle, "myocardium", over="arterial blood")


def right_room(of: Build, beyond_mm: float = 0.0) -> Solid:
    """The cavity of the right ventricle, wrapped around the left one: flat at the diaphragm and the sternum,
    wide at the base, thin at the apex.

    `beyond_mm` moves its surface outwards.  The left ventricle is painted over it later.
    """
    left, grow = of.outer, of.grow
    semi = tuple(grow * mm + beyond_mm for mm in (46.0, 36.0 * of.wide, 41.0))
    room: Solid = Ellipsoid(_at(left, 0.14, 0.9, -0.18), semi, left.turn_deg, square=0.1)
    for normal, away in (((0.0, 0.2, -0.98), 32.0), ((-0.36, 0.84, 0.4), 48.0 * of.wide**0.7)):
        n = left.axes @ (np.asarray(normal) / np.linalg.norm(normal))
        end = float(n @ np.asarray(left.centre)) + grow * away + beyond_mm
        room = room & Side(tuple(n.tolist()), end)
    return room


def _right(person: Person, of: Build) -> Paints:
    """The right ventricle with a thin wall under fat, coarse trabeculae, the moderator band, and the outflow
    tract to the pulmonary trunk."""
    plain, room = ventricles(person)[1], right_room(of)
    beside, where = plain.shrunk(-3.5) - room, ("myocardium", "visceral fat", "lung", "liver")
    yield paint(beside, "visceral fat", Layer.VESSEL, over=("venous blood", "myocardium"))
    yield paint(right_room(of, 2.5), "myocardium", Layer.CONTENT)
    yield paint(room, "venous blood", Layer.VESSEL, over=where)
    phase = (*person.generator(74).uniform(0, 6, 2).tolist(), 0.5)
    ridges = Sheets(room - right_room(of, -7.0), (27.0, 15.0, 18.0), 0.24, phase)
    band = tube([_at(of.outer, -0.4, 0.95, -0.2), _at(of.outer, -0.25, 1.5, -0.35)], 2.5)
    yield from details((ridges, band), "myocardium", over="venous blood")
    yield from _bundles(person, of, room)
    way = [_at(of.outer, 0.3, 1.0, 0.5), (-20.0, 44.0, 1326.0), (-17.0, 34.0, 1340.0)]
    outflow = tube(way, [16.0, 15.0, 13.0], step_mm=12)
    yield paint(outflow.shrunk(-2.5), "myocardium", Layer.CONTENT)
    yield paint(outflow, "venous blood", Layer.VESSEL)


def _bundles(person: Person, of: Build, room: Solid) -> Paints:
    """4 to 9 coarse bundles 3 to 7 mm thick from the septum or the floor of the right ventricle to its free
    wall, most near the apex.

    One of them represents the anterior papillary muscle of the tricuspid valve.
    """
    rng = person.generator(903)
    for _ in range(rng.integers(4, 10)):
        share, up = rng.uniform(-0.65, 0.2), rng.uniform(-0.9, 0.4)
        end = share + rng.normal(0.25, 0.2), rng.uniform(1.3, 2.0), up + rng.normal(0, 0.4)
        radii = [rng.uniform(1.5, 3.5), rng.uniform(1.5, 2.5)]
        bundle = tube([_at(of.outer, share, 0.95, up), _at(of.outer, *end)], radii)
        yield detail(bundle & room, "myocardium", over="venous blood")


def _around(person: Person, of: Build) -> Paints:
    """The diaphragm below the heart at any depth of breath, fat in front, and the pericardium around the
    epicardial fat.

    All fat is thicker in obese and old people: 1 to 7 mm on the right ventricle, on the left one 0 to 5 mm.
    """
    stored = float(np.clip(0.25 + 0.03 * person.fat_mm + 0.006 * (person.age - 40), 0.1, 1.6))
    much = stored * person.generator(642).uniform(0.7, 1.2)
    right = (1.5 + 3.0 * much) * person.generator(905).uniform(0.35, 1.1)
    left, grow = of.outer, of.grow
    below = tuple(grow * mm for mm in (60.0, 52.0, 34.0))
    before = tuple(grow * mm for mm in (28.0 + 10.0 * much, 22.0 + 12.0 * much, 32.0))
    floor = Ellipsoid(_at(left, -0.05, 0.6, -1.5), below, left.turn_deg)
    front = Ellipsoid(_at(left, -0.55, 1.1, -0.3), before, left.turn_deg)
    yield paint(floor, "muscle", Layer.CAVITY, over="lung")
    yield paint(front, "visceral fat", Layer.CAVITY, over=("lung", "muscle"))
    over = ("lung", "muscle", "liver", "visceral fat", "tendon")
    for tissue, out in (("tendon", 1.2), ("visceral fat", 0.0)):
        beside = ventricle(_over_the_left(person, left, 3.0 * much).shrunk(-out), left, 4.0 + out)
        yield from paints((beside, right_room(of, 2.5 + right + out)), tissue, Layer.ORGAN, over)


def _over_the_left(person: Person, left: Ellipsoid, fat_mm: float) -> Ellipsoid:
    """The left ventricle and its epicardial fat: `fat_mm` at its grooves, mostly less on the free wall, which
    touches the lung.

    On the free wall of four hearts in five it is 0 to a third of that (Rabkin (2007), Obes Rev 8:253: fat
    lies in the grooves, on the free wall of the right ventricle, and over all of the heart only in large
    amounts).
    """
    rng = person.generator(902)
    free = 0.5 + fat_mm * (rng.uniform(0.0, 0.33) if rng.random() < 0.8 else rng.uniform(0.33, 1.0))
    a, b, c = left.semi
    beside = (fat_mm + 0.5 - free) / 2
    semi = (a + free, b + free + beside, c + (fat_mm + free) / 2)
    return replace(left, centre=_at(left, 0.0, beside / b, 0.0), semi=semi)


def _atria(person: Person, of: Build) -> Paints:
    """The left auricle, the pulmonary veins, and the aortic root between the atria."""
    ear = chamber(person, (-14, -8, 28), (13, 18, 12), turned=False)
    yield paint(ear.shrunk(-2.0), "myocardium", Layer.CONTENT)
    yield paint(ear - of.outer, "arterial blood", Layer.VESSEL)
    x, y, z = chamber(person, (22, -28, 12), (32, 20, 26), turned=False).centre
    for side in (1, -1):
        for up in (10.0, -10.0):
            way = [(x + 22.0 * side, y - 6, z + up), (x + 48.0 * side, y - 22, z + 1.6 * up)]
            yield paint(tube(way, [7.0, 5.0]), "arterial blood", Layer.VESSEL)
    start = chamber(person, (18, 2, 11), (1, 1, 1)).centre
    root = tube([start, (-4, 8, 1325), (6, 20, 1362)], [14.0, 16.0, 15.0], step_mm=12)
    yield paint(root.shrunk(-1.8), "myocardium", Layer.VESSEL)
    yield paint(root, "arterial blood", Layer.VESSEL)


def _coronaries(person: Person, left: Ellipsoid) -> Paints:
    """The grooves between the chambers, filled with fat in which the coronary vessels run."""
    fat = 1.5 + 0.10 * person.fat_mm + 0.04 * max(person.age - 30, 0)
    for up, out in ((0.85, 0.55), (-0.85, 0.5)):  # between the ventricles, above and below
        groove = [_at(left, share, out, up) for share in (0.7, 0.2, -0.4)]
        around = tube(groove, [fat + 2.5, fat + 1.5, fat])
        yield paint(around, "visceral fat", Layer.VESSEL, over="myocardium")
        yield detail(tube(groove, [2.0, 1.7, 1.2]), "arterial blood")
    ring = [_around_at(left, 0.78, turn, 1.05) for turn in np.linspace(0, 2 * np.pi, 13)]
    yield paint(tube(ring, fat + 1.0), "visceral fat", Layer.VESSEL, over="myocardium")
    yield detail(tube(ring, 1.8), "venous blood", over="visceral fat")
