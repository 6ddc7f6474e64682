"""Inner structure of the knee: what a field of view of 15 cm shows beside bones and muscle.

Around the joint there is hardly any muscle: tendons and thin bellies lie in fat.  In mm of the right leg as
written, the joint at z = 474.
"""

from __future__ import annotations

from functools import partial

import numpy as np

from fovnet.phantom.anatomy.layers import (
    Layer,
    Paints,
    beside,
    bone,
    detail,
    details,
    on_side,
    paint,
    paints,
)
from fovnet.phantom.anatomy.limbs import line, oval
from fovnet.phantom.geometry.bundles import Outline
from fovnet.phantom.geometry.solids import Loft, Point, Side
from fovnet.phantom.geometry.tissue_structure import Sheets
from fovnet.phantom.person.traits import Person

BELLIES: tuple[tuple[tuple[Point, ...], tuple[float, ...]], ...] = (
    # vastus medialis, the lowest belly of the thigh
    (((66, 30, 610), (62, 20, 555), (66, 24, 520)), (23, 18, 7)),
    (((134, 22, 610), (132, 16, 565), (124, 24, 538)), (22, 14, 5)),  # vastus lateralis
    (((80, -34, 610), (73, -37, 530), (68, -32, 476)), (22, 19, 9)),  # semimembranosus
    (((124, -36, 610), (131, -33, 530), (133, -28, 468)), (20, 16, 7)),  # biceps
    (((54, -8, 610), (52, -20, 520), (60, -12, 440)), (9, 7, 4)),  # sartorius
    # gastrocnemius, medial head
    (((78, -34, 526), (75, -46, 488), (73, -44, 440), (73, -42, 405)), (9, 16, 22, 25)),
    # gastrocnemius, lateral head
    (((119, -34, 520), (121, -44, 484), (121, -42, 440), (120, -42, 405)), (8, 14, 20, 23)),
    (((112, -32, 464), (90, -34, 440), (84, -26, 410)), (6, 11, 13)),  # popliteus
    (((122, 10, 450), (124, 14, 420), (122, 14, 400)), (5, 12, 16)),  # tibialis anterior
)
"""Muscle bellies around the knee: points and radii."""

CORDS: tuple[tuple[tuple[Point, ...], float, str], ...] = (
    (
        ((75, -46, 610), (72, -44, 520), (64, -24, 455), (76, 12, 425)),
        3.0,
        "tendon",
    ),  # semitendinosus
    (((64, -30, 560), (58, -32, 500), (60, -8, 440)), 2.2, "tendon"),  # gracilis
    # medial collateral ligament
    (((55.5, -4, 507), (56.5, -4, 480), (60, -2, 440)), 2.0, "tendon"),
    # lateral collateral ligament
    (((141, -8, 500), (140, -16, 474), (133, -23, 446)), 2.2, "tendon"),
    # iliotibial tract
    (((140, 6, 540), (141, 8, 490), (126, 22, 452)), 2.0, "tendon"),
    # medial retinaculum
    (((76, 40, 512), (60, 20, 506), (55, 0, 504)), 1.4, "tendon"),
    # lateral retinaculum
    (((120, 40, 512), (136, 20, 506), (141, 0, 504)), 1.4, "tendon"),
    (
        ((106, -44, 600), (101, -46, 520), (98, -44, 470), (98, -34, 430)),
        3.2,
        "spinal cord",
    ),  # tibial nerve
    (((118, -42, 560), (134, -36, 490), (141, -26, 440)), 2.2, "spinal cord"),  # peroneal nerve
    # great saphenous vein
    (((48, -26, 600), (46, -32, 510), (48, -30, 420)), 2.4, "venous blood"),
)
"""Tendons, ligaments, nerves and the vein under the skin: points, radius, tissue."""


TIBIA = (
    (398.0, 96.0, 7.0, 18.0, 19.0, 19.0, 17.0),
    (420.0, 97.0, 2.0, 27.0, 27.0, 28.0, 19.0),
    (432.0, 98.0, -2.0, 33.0, 33.0, 33.0, 21.0),
    (446.0, 98.0, -6.0, 37.0, 37.0, 32.0, 24.0),
    (458.0, 98.0, -8.0, 39.0, 39.0, 28.0, 28.0),
    (469.0, 98.0, -8.0, 38.5, 38.5, 26.0, 28.0),
)
"""The head of the tibia: z, middle x and y, reaches outwards, inwards, to the front (the tuberosity at z =
435) and to the back."""

FEMUR = (
    (494.0, 98.0, -6.0, 37.0, 22.0, 19.0),
    (505.0, 98.0, -5.0, 40.5, 26.0, 24.0),
    (516.0, 98.0, -4.0, 40.5, 27.0, 25.0),
    (530.0, 98.0, -3.0, 37.0, 24.0, 22.0),
    (546.0, 98.5, -2.0, 30.0, 21.0, 20.0),
    (564.0, 99.5, -1.0, 23.0, 18.0, 18.0),
    (590.0, 102.0, 1.0, 17.5, 16.0, 16.0),
)
"""The metaphysis above both condyles, which protrude only behind it: z, middle x and y, half width, front,
back.

The condyles are 8 cm wide together, as the epicondyles are.  Source: Terzidis et al. (2012), Anat Res Int
2012:679658.
"""


def knees(person: Person) -> Paints:
    """Both knees: fat with muscle bellies and tendons, trochlea and notch of the femur, patella, menisci,
    cruciate ligaments, joint fluid."""
    for side in (1, -1):
        yield from _around(person, side)
        yield from on_side(_bones(person), side)
        # reaches outwards and inwards are nearly the same: those of the left are not exchanged
        head = tuple((z, side * x, *others) for z, x, *others in _rows(person, TIBIA))
        yield from bone(Outline(head), 1.5, "yellow marrow")
        yield from on_side(_worn(person, side), side)
        for part in (_menisci, _crossing, _front):
            yield from on_side(part(person), side)


def _around(person: Person, side: int) -> Paints:
    """Fat instead of muscle around the joint, then the bellies and tendons that cross it; from 8 cm above it
    muscles touch one another again."""
    stout, below = 1 + 0.8 * (person.brawn - 1), Side((0.0, 0.0, 1.0), 560.0)
    sleeve = oval(person, (98, 0, 482), (62, 66, 76))
    rng = person.generator(945)
    inside = ("muscle", "intermuscular fat", "fat")
    yield paint(sleeve if side > 0 else sleeve.mirror(), "fat", Layer.SEAM, over=inside[:2])
    for points, radii in BELLIES:
        right = line(person, points, [radius * stout for radius in radii])
        belly = right if side > 0 else right.mirror()
        yield paint(beside(belly, 1.5, rng) & below, "intermuscular fat", Layer.SEAM, inside)
        yield paint(belly & below, "muscle", Layer.SEAM, inside)
    cords = (
        paint(line(person, points, radius), tissue, Layer.VESSEL)
        for points, radius, tissue in CORDS
    )
    yield from on_side(cords, side)


def _rows(person: Person, table: tuple[tuple[float, ...], ...]) -> tuple[tuple[float, ...], ...]:
    """Rows (z, x, y, reaches) of a cross-section, with the leg's lateral offset."""
    return tuple((z, x + person.turned_out_mm(z), y, *reaches) for z, x, y, *reaches in table)


def _bones(person: Person) -> Paints:
    """The metaphysis of the femur, the trochlea with its groove, the intercondylar notch, cartilage on the
    joint surfaces."""
    at = partial(oval, person)
    yield from bone(Loft(_rows(person, FEMUR), square=0.35), 1.5, "yellow marrow")
    cartilage_mm = 2.6 - max(0.0, 0.03 * (person.age - 50))  # some is lost with age
    for inner, reach in (
        (-17, 20.0),
        (17, 24.0),
    ):  # the lateral lip of the groove is the higher one
        lip = at((98 + inner, reach - 18, 512), (18, 17, 18))
        yield paint(lip.shrunk(-max(cartilage_mm, 0.6)), "cartilage", Layer.BONE)
        yield from bone(lip, 1.3, "yellow marrow")
    shafts = (
        line(person, ((103, 1, 590), (99, -3, 530)), (11.0, 27.0)),
        line(person, ((98, -4, 436), (95.5, 7, 395)), (29.0, 15.0)),
    )
    yield from paints(shafts, "yellow marrow", Layer.MARROW, over="cortical bone")
    notch = at((98, -32, 490), (9.5, 26, 17), (-14, 0, 0))
    yield paint(notch.shrunk(-1.4), "cortical bone", Layer.MARROW, over="yellow marrow")
    yield detail(notch, "fat", over=("cortical bone", "yellow marrow", "cartilage"))
    # growth plate or its scar: a thin dark line across the marrow
    growing = "red marrow" if person.age > 20 else "cartilage"
    for z, deep in ((533.0, 24.0), (437.0, 22.0)):
        scar = at((98, -4, z), (32.0, deep, 5.0)) - at((98, -4, z - 1.6), (32.0, deep, 5.0))
        yield detail(scar, growing, over="yellow marrow")


def _worn(person: Person, side: int) -> Paints:
    """Signs of age in the knee: red marrow above it, osteophytes at the joint margins, marrow oedema under
    damaged cartilage; of the right side with the traits of the given one.

    Red marrow stays in the femur's metaphysis until 25, and in patches in many adults, women mostly;
    osteophytes grow to a few mm from 45 on. Source: Vogler & Murphy (1988), Radiology 168:679; Altman & Gold
    (2007), Osteoarthritis Cartilage 15:A1.
    """
    at, rng = partial(oval, person), person.generator(611 + (side > 0))
    dice, phase, size = (
        rng.random(2),
        tuple(rng.uniform(0, 2 * np.pi, 3).tolist()),
        rng.uniform(4, 13),
    )
    red = float(np.clip(1.3 - 0.03 * person.age + 0.25 * person.female, 0.0, 0.9))
    if dice[0] < red:
        metaphysis = at((102, 2, 585), (40, 36, 55))
        patches = Sheets(metaphysis, (34.0, 31.0, 43.0), 0.3 + 0.4 * red, phase)
        yield detail(patches, "mixed marrow", over="yellow marrow")
    lips = float(np.clip(0.13 * (person.age - 45) * dice[1], 0.0, 5.0))
    if lips > 1.0:
        for tip in (
            (59, -8, 466),
            (137, -8, 466),
            (57, -6, 489),
            (139, -6, 489),
            (98, 23, 466),
            (98, 42, 533),
            (98, 40, 492),
        ):
            lip = at(tip, (2 + lips, 2 + 1.5 * lips, 1.5 + 0.6 * lips))
            yield from bone(lip, 0.9, "yellow marrow")
    if dice[1] > 0.88:
        where = (76.0 if phase[0] > 2 else 121.0, -8.0, 462.0 if phase[1] > 3 else 490.0)
        spot = at(where, (size, 1.3 * size, 0.8 * size))
        yield detail(spot, "tumour", over="yellow marrow")


def _menisci(person: Person) -> Paints:
    """The menisci, dark C-shaped wedges on cartilage between condyles and plateau, and the intercondylar
    eminence."""
    at = partial(oval, person)
    for x, a, b, opens in ((75.0, 18.5, 24.0, 1.0), (121.0, 18.0, 20.0, -1.0)):
        hole = at((x + 3 * opens, -8, 475), (a - 8, b - 9, 6.0)) | at(
            (x, -8, 479), (a - 1, b - 1, 7.0)
        )
        gap = at((x + 22 * opens, -8, 474), (14, 7, 8))  # open towards the middle
        ring = at((x, -8, 473.5), (a, b, 3.6), square=0.9) - hole - gap
        yield paint(at((x, -7, 473.0), (19.5, 26, 4.2), square=0.5), "cartilage", Layer.BONE)
        yield detail(ring, "tendon", over=("cartilage", "fat", "tendon", "muscle"))
    yield from bone(at((98, -8, 471), (7, 9, 7)), 1.2, "yellow marrow")


def _crossing(person: Person) -> Paints:
    """The anterior and the posterior cruciate ligament."""
    front = line(person, ((107, -26, 497), (101, -8, 480), (96, 8, 470)), 3.6)
    back = line(person, ((91, -6, 494), (95, -22, 482), (98, -35, 466)), 4.6)
    return details((front, back), "tendon")


def _front(person: Person) -> Paints:
    """Patella with its cartilage, the tendons above and below it, Hoffa's fat pad, joint fluid."""
    at = partial(oval, person)
    fluid = person.generator(61).uniform(0.4, 1.6) + 0.02 * max(person.age - 50, 0)
    pouch = at((98, 32, 548), (22, 1.2 * fluid + 0.8, 24)) | at(
        (98, 26, 512), (26, 1.2 + fluid, 16)
    )
    yield paint(at((98, 30, 478), (25, 15, 20)), "fat", Layer.SEAM)
    yield paint(pouch, "joint fluid", Layer.CONTENT)
    yield paint(at((98, 37, 512), (21, 9.5, 18)), "cartilage", Layer.BONE)
    yield from bone(at((98, 42, 512), (22, 10, 21), square=0.25), 1.6, "yellow marrow")
    yield paint(at((98, 44.5, 470), (14, 3.2, 32), (8, 0, 0)), "tendon", Layer.BONE)
    yield paint(at((98, 42, 560), (19, 4.0, 36), (-4, 0, 0)), "tendon", Layer.BONE)
    beside_condyles = (at((x, 6, 502), (1.0 + 0.9 * fluid, 16, 14)) for x in (62, 134))
    yield from paints(beside_condyles, "joint fluid", Layer.CONTENT)
    slit = at((98, -8, 475.2), (36, 24, 0.3 + 0.15 * fluid))
    yield detail(slit, "joint fluid", over="cartilage")
