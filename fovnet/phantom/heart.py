"""The heart from within: papillary muscles, trabeculae, valves, outflow, the coronary vessels in their fat, the pericardium."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from fovnet.phantom.grain import Sheets
from fovnet.phantom.layers import Layer, paint
from fovnet.phantom.person import Person
from fovnet.phantom.raster import Paint
from fovnet.phantom.solids import Ellipsoid, tube
from fovnet.phantom.thorax import chamber, ventricles

Point = tuple[float, float, float]


def parts(person: Person) -> list[Paint]:
    """What lies in and on the ventricles and atria, drawn for this person."""
    left, right = ventricles(person)
    return _left(person, left) + _right(person, right) + _atria(person) + _coronaries(person, left)


def long_axis(person: Person) -> NDArray[np.float64]:
    """(2, 3) mm of the person: the apex of the left ventricle, and the middle of its base."""
    left = ventricles(person)[0]
    wanted = np.array([_at(left, -1.0, 0.0, 0.0), _at(left, 0.85, 0.0, 0.0)])
    places = wanted.copy()
    for _ in range(12):  # bends are gentle: each step leaves less than half of what was wrong
        x, y, z = (places[:, axis].astype(np.float32) for axis in range(3))
        places += wanted - np.stack(person.morph.to_anatomy(x, y, z), axis=1)
    return places


def _at(of: Ellipsoid, base: float, right: float, up: float) -> Point:
    """A point in the ventricle's own axes, in shares of its semi-axes: towards the base, the right ventricle, and up."""
    x, y, z = np.asarray(of.centre) + of.axes @ (np.asarray(of.semi) * (base, right, up))
    return float(x), float(y), float(z)


def _left(person: Person, left: Ellipsoid) -> list[Paint]:
    """Two papillary muscles and the ridges of the inner wall, in a wall whose thickness and contraction differ between people."""
    rng = person.generator(64)
    thick, squeezed = rng.uniform(6.5, 10.0), rng.uniform() ** 2  # mostly near the end of filling, when series are taken
    cavity = left.shrunk(float(thick + 6.0 * squeezed) if person.age > 15 else 6.5)
    made = [paint(left, "myocardium", Layer.VESSEL), paint(cavity, "arterial blood", Layer.VESSEL)]
    base = Ellipsoid(_at(left, 0.85, 0.0, 0.0), (14.0, 17.0, 17.0), left.turn_deg)
    made.append(paint(base, "arterial blood", Layer.VESSEL))
    phase = (float(rng.uniform(0, 6)), float(rng.uniform(0, 6)), 1.0)
    ridges = Sheets(cavity - cavity.shrunk(5.0), (26.0, 9.0, 9.0), 0.5, phase)
    made.append(paint(ridges, "myocardium", Layer.DETAIL, over=("arterial blood",)))
    for up in (0.62, -0.62):
        root, tip = _at(cavity, -0.7, -0.2, 0.85 * up), _at(cavity, 0.3, -0.2, up)
        made.append(paint(tube([root, tip], [5.5, 4.0]), "myocardium", Layer.DETAIL, over=("arterial blood",)))
    leaf = Ellipsoid(_at(left, 0.72, 0.0, 0.0), (1.2, 15.0, 15.0), left.turn_deg) - Ellipsoid(_at(left, 0.72, 0.0, 0.0), (6.0, 5.0, 10.0))
    return [*made, paint(leaf, "tendon", Layer.DETAIL, over=("arterial blood",))]


def _right(person: Person, right: Ellipsoid) -> list[Paint]:
    """Coarse trabeculae, the moderator band, and the outflow that leads to the pulmonary trunk."""
    a, b = person.generator(74).uniform(0, 6, 2).tolist()
    ridges = Sheets(right - right.shrunk(8.0), (27.0, 15.0, 18.0), 0.24, (a, b, 0.5))
    made = [paint(ridges, "myocardium", Layer.DETAIL, over=("venous blood",))]
    band = tube([_at(right, -0.4, -0.5, -0.2), _at(right, -0.2, 0.7, 0.1)], 2.5)
    made.append(paint(band, "myocardium", Layer.DETAIL, over=("venous blood",)))
    outflow = tube([_at(right, 0.1, 0.2, 0.5), (-20.0, 44.0, 1326.0), (-17.0, 34.0, 1340.0)], [16.0, 15.0, 13.0], step_mm=12)
    return [paint(outflow.shrunk(-2.5), "myocardium", Layer.CONTENT), paint(outflow, "venous blood", Layer.VESSEL), *made]


def _atria(person: Person) -> list[Paint]:
    """The left auricle, the pulmonary veins, the root of the aorta between the atria."""
    ear = chamber(person, (-14, -8, 28), (13, 18, 12), turned=False)
    made = [paint(ear.shrunk(-2.0), "myocardium", Layer.CONTENT), paint(ear, "arterial blood", Layer.VESSEL)]
    x, y, z = chamber(person, (22, -28, 12), (32, 20, 26), turned=False).centre
    for side in (1, -1):
        for up in (10.0, -10.0):
            vein = tube([(x + 22.0 * side, y - 6, z + up), (x + 48.0 * side, y - 22, z + 1.6 * up)], [7.0, 5.0])
            made.append(paint(vein, "arterial blood", Layer.VESSEL))
    root = tube([chamber(person, (18, 2, 11), (1, 1, 1)).centre, (-4, 8, 1325), (6, 20, 1362)], [14.0, 16.0, 15.0], step_mm=12)
    return [*made, paint(root.shrunk(-1.8), "myocardium", Layer.VESSEL), paint(root, "arterial blood", Layer.VESSEL)]


def _coronaries(person: Person, left: Ellipsoid) -> list[Paint]:
    """The grooves between the chambers are filled with fat, in which the coronary vessels run; a thin dark pericardium around all."""
    fat = 1.5 + 0.10 * person.fat_mm + 0.04 * max(person.age - 30, 0)
    made: list[Paint] = []
    for up, out in ((0.85, 0.55), (-0.85, 0.5)):  # between the ventricles, above and below
        groove = [_at(left, share, out, up) for share in (0.7, 0.2, -0.4)]
        made.append(paint(tube(groove, [fat + 2.5, fat + 1.5, fat]), "visceral fat", Layer.VESSEL, over=("myocardium",)))
        made.append(paint(tube(groove, [2.0, 1.7, 1.2]), "arterial blood", Layer.DETAIL))
    ring = [_at(left, 0.78, 1.05 * float(np.cos(t)), 1.05 * float(np.sin(t))) for t in np.linspace(0, 2 * np.pi, 13)]
    made.append(paint(tube(ring, fat + 1.0), "visceral fat", Layer.VESSEL, over=("myocardium",)))
    made.append(paint(tube(ring, 1.8), "venous blood", Layer.DETAIL, over=("visceral fat",)))
    sac = chamber(person, (0, 0, 0), (64, 44, 42))
    return [*made, paint(sac.shrunk(-1.0) - sac, "tendon", Layer.DETAIL, over=("visceral fat",))]
