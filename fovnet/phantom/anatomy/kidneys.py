"""Kidneys with natural variation: in length and height, a few ptotic, a few atrophic, one pair in eighty a
horseshoe kidney.

Sizes: Emamian et al. (1993), AJR 160:83: 11 cm long, 9 to 13 in nine of ten, the left a little longer; the
lower pole is at L3, 1 to 5 cm above the iliac crest.  Horseshoe kidneys occur in one of 400 people; here more
often, as they change the image much.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np

from fovnet.phantom.anatomy.layers import Layer, Paints, paint, paints
from fovnet.phantom.anatomy.trunk import CREST_MM, column_y
from fovnet.phantom.geometry.solids import Ellipsoid, tube
from fovnet.phantom.person.traits import Person

PTOTIC, SHRUNKEN, HORSESHOE = 0.08, 0.05, 0.0125
"""Shares of kidneys that are 2 to 7 cm too low, of those that are half to three quarters as long, and of
pairs that are fused."""

LOWEST_MM = CREST_MM + 12.0
"""Lowest middle of a kidney."""

BELOW_DOME_MM = 25.0  # least distance of an upper pole from the top of the liver
# highest middle of a fused kidney: the inferior mesenteric artery holds its isthmus down
FUSED_MM = 1122.0


@dataclass(frozen=True)
class Kidney:
    """One kidney: height of its middle, mm beside the trunk's middle, size (1: 11 cm long) and width of the
    sinus (1: usual)."""

    z: float
    x: float
    size: float
    sinus: float


def pair(person: Person, top: float) -> tuple[Kidney, Kidney, bool]:
    """The right and the left kidney of a person whose liver dome is at `top` mm, and whether they are one
    horseshoe."""
    rng = person.generator(921)
    low, long_, fused = (
        rng.normal(6, 11),
        float(np.exp(rng.normal(0, 0.07))),
        rng.random() < HORSESHOE,
    )
    wide = 0.75 + 0.005 * person.age + 0.008 * max(person.belly_mm, 0.0)
    made = []
    for side in (1, -1):
        uneven, sunk, shrunken = rng.normal(0, 6), rng.random() < PTOTIC, rng.random() < SHRUNKEN
        by, out = rng.uniform(), rng.normal(0, 4)
        size = long_ * float(np.exp(rng.normal(0, 0.05))) * (0.5 + 0.25 * by if shrunken else 1.0)
        z = top - (134 if side > 0 else 122) + 0.4 * person.lowered_mm
        z = z - low - uneven - (20 + 50 * by if sunk else 0.0)
        x = 60.0 if fused else 70.0 + float(np.clip(out, -8, 8)) + 0.15 * max(person.belly_mm, 0.0)
        z = min(z + person.organs.kidneys_mm, max(z, top - BELOW_DOME_MM - 55.0 * size))
        z = max(min(z, FUSED_MM) if fused else z, LOWEST_MM)
        made.append(Kidney(z, x, float(np.clip(size, 0.5, 1.2)), wide * rng.uniform(0.7, 1.3)))
    return made[0], made[1], fused


def kidneys(person: Person, top: float, fat_mm: float) -> Paints:
    """The kidneys that the person has, in their fat; the isthmus of a horseshoe crosses in front of the
    aorta."""
    right, left, fused = pair(person, top)
    for side, name, kidney in ((1, "right kidney", right), (-1, "left kidney", left)):
        if name not in person.missing:
            yield from _kidney(side, kidney, fat_mm, fused)
    if fused and not {"right kidney", "left kidney"} & person.missing:
        ends = [
            (side * 50.0, column_y(k.z) + 16.0, k.z - 36.0 * k.size)
            for side, k in ((1, right), (-1, left))
        ]
        z = min(right.z, left.z) - 42.0
        bridge = tube(
            [ends[0], (0.0, column_y(z) + 52.0, z), ends[1]], [15.0, 10.0, 15.0], step_mm=12
        )
        yield paint(bridge, "kidney cortex", Layer.CONTENT)


def _kidney(side: int, of: Kidney, fat_mm: float, fused: bool) -> Paints:
    """One kidney: fat, most of it behind and below; pyramids around the fatty sinus, which opens medially."""
    thin, size, z = min(8.0, fat_mm), of.size, of.z
    y = column_y(z) + 2 + 0.35 * (fat_mm - thin)
    lean = 12.0 if fused else -12.0  # lower poles diverge, those of a horseshoe converge
    turn = (-12.0, lean * side, 28.0 * side)
    capsule = Ellipsoid((side * of.x, y, z), (29 * size, 25 * size, 55 * size), turn)
    behind = replace(capsule, centre=(side * (of.x - 2), y - 0.45 * fat_mm, z - 0.35 * fat_mm))
    yield paint(capsule.shrunk(-thin), "visceral fat", Layer.CAVITY)
    yield paint(behind.shrunk(-0.7 * fat_mm), "visceral fat", Layer.ORGAN, over=("liver", "spleen"))
    yield paint(capsule, "kidney cortex", Layer.CONTENT)
    in_kidney = ("kidney cortex", "kidney medulla")
    for up in (-0.6, -0.2, 0.2, 0.6):
        for across, ahead in ((0.62, 0.0), (0.1, 0.62), (0.1, -0.62)):
            narrow = (1 - up * up) ** 0.5
            out = np.array([side * across * narrow * 29, ahead * narrow * 25, up * 55]) * size
            at = np.asarray(capsule.centre) + capsule.axes @ out
            pyramid = Ellipsoid(tuple(at.tolist()), (5.5 * size, 5.0 * size, 7.0 * size))
            yield paint(pyramid, "kidney medulla", Layer.CONTENT, over=in_kidney)
    inwards = -side * 6.0 * size * capsule.axes[:, 0]
    centre = np.asarray(capsule.centre) + inwards
    sinus = Ellipsoid(
        tuple(centre.tolist()), (10 * size * of.sinus, 8 * size * of.sinus, 27 * size), turn
    )
    lip = tube([centre, centre + 4.5 * inwards], [7.0 * size * of.sinus, 9.0 * size * of.sinus])
    yield from paints((sinus, lip), "visceral fat", Layer.VESSEL, over=in_kidney)
    yield paint(sinus.shrunk(7.0 * size * of.sinus), "urine", Layer.VESSEL)
    # it leaves the aorta above the bifurcation however low the kidney is
    aorta = max(z, 1130.0)
    way = [(side * 12, column_y(aorta) + 32, aorta + 8), (side * 36, y + 18, z + 4), tuple(centre)]
    yield paint(tube(way, [4.0, 4.0, 2.0]), "venous blood", Layer.CONTENT)
    way = [tuple(centre + 3 * inwards), (side * 46, y + 14, z - 50), (side * 40, y + 26, z - 75)]
    yield paint(tube(way, [4.0, 2.5, 2.0]), "urine", Layer.CONTENT, over="visceral fat")
