"""Inner structure of the lesser pelvis: what a field of view of 18 cm about the prostate or the uterus shows.

The pelvic floor, the muscles on the walls, fat on both sides of them, and the zones of the organs.
"""

from __future__ import annotations

from functools import partial

import numpy as np

from fovnet.phantom.anatomy import belly, limbs
from fovnet.phantom.anatomy.layers import (
    Layer,
    Paints,
    beside,
    both_sides,
    covered,
    detail,
    on_side,
    paint,
    paints,
    seam,
)
from fovnet.phantom.geometry.solids import Ellipsoid, Loft, Tube, tube
from fovnet.phantom.geometry.tissue_structure import Sheets
from fovnet.phantom.person.traits import Person


def parts(person: Person) -> Paints:
    """Walls and floor, anal canal, then prostate and seminal vesicles or uterus, vagina and ovaries, as the
    person has them."""
    for part in (_walls, _floor, _perineum, _groins, _seat, _bladder):
        yield from part(person)
    yield from _womanly(person) if person.female else _manly(person)


@both_sides
def _walls(person: Person) -> Paints:
    """Obturator internus on the inner wall, piriformis behind, gluteal muscles separated from those in front,
    sciatic nerve."""
    muscles = (
        tube([(50, -34, 900), (78, -58, 905), (118, -40, 908)], [10.0, 8.0, 5.0], step_mm=18),
        tube([(36, 30, 868), (64, 6, 872), (104, -26, 888)], [12.0, 14.0, 8.0], step_mm=18),
        tube([(28, -58, 968), (70, -56, 946), (116, -32, 922)], [11.0, 13.0, 6.0], step_mm=18),
    )
    yield from map(seam, (one.shrunk(-1.2) for one in muscles))
    yield from paints(muscles, "muscle", Layer.SEAM)
    inner = Ellipsoid((52.0, -2.0, 903.0), (11.5 * person.brawn, 42.0, 34.0), (0.0, 8.0, -14.0))
    yield paint(inner, "muscle", Layer.ORGAN)
    plane = Ellipsoid(
        (74.0, -66.0, 905.0), (40.0, 5.0 + 0.1 * person.fat_mm, 42.0), (0.0, 0.0, 24.0)
    )
    yield seam(plane)
    sciatic = tube([(52, -66, 945), (74, -62, 890), (84, -44, 830)], 5.0)
    yield paint(sciatic, "spinal cord", Layer.SEAM)


FUNNEL = (
    # z, centre x, y, half width, front, back: the outer face of levator ani, next to the anal canal below and
    # the wall above
    (848.0, 0.0, -54.0, 15.0, 14.0, 16.0),
    (858.0, 0.0, -46.0, 18.0, 40.0, 22.0),
    (872.0, 0.0, -38.0, 26.0, 62.0, 28.0),
    (888.0, 0.0, -32.0, 33.0, 66.0, 33.0),
    (905.0, 0.0, -30.0, 43.0, 64.0, 36.0),
    (916.0, 0.0, -30.0, 49.0, 62.0, 36.0),
)


def _floor(person: Person) -> Paints:
    """Levator ani: a thin funnel, open in front; below it the fat of the ischioanal fossae, and the anal
    canal through it."""
    between = ("muscle", "intermuscular fat")
    outer, inner = (
        Ellipsoid((0.0, -6.0, 868.0), semi) for semi in ((50.0, 52.0, 18.0), (48.0, 50.0, 17.0))
    )
    yield paint(outer, "fat", Layer.SEAM, over=between)
    yield paint(inner, "fat", Layer.ORGAN, over=("muscle", "visceral fat"))
    yield from _fossae(person)
    funnel = Loft(FUNNEL)
    sling = (funnel - funnel.shrunk(3.2 * person.brawn)) - Ellipsoid(
        (0.0, 44.0, 880.0), (13.0, 40.0, 60.0)
    )
    yield paint(funnel, "visceral fat", Layer.ORGAN, over=("fat", "muscle"))
    yield paint(sling, "muscle", Layer.ORGAN)
    canal = tube(
        [(0, -47, 884), (0, -52, 864), (0, -62, 836), (0, -68, 822)], [14.0, 14.5, 13.0, 11.0]
    )
    yield paint(canal, "muscle", Layer.CONTENT)
    yield paint(canal.shrunk(7.5), "mucosa", Layer.CONTENT)
    yield paint(canal.shrunk(11.5), "gas", Layer.CONTENT)
    fascia = Ellipsoid((0.0, -44.0, 934.0), (36.0, 27.0, 48.0))
    yield paint(fascia - fascia.shrunk(0.9), "tendon", Layer.ORGAN, over="visceral fat")
    cleft = Ellipsoid((0.0, -112.0, 880.0), (2.5, 34.0, 60.0))
    yield detail(cleft, "fat", over=between)


@both_sides
def _fossae(person: Person) -> Paints:
    fossa = Ellipsoid((33.0, -50.0, 862.0), (24.0, 33.0, 36.0), (18.0, 0.0, 12.0))
    yield paint(fossa, "fat", Layer.SEAM, over=("muscle", "intermuscular fat"))
    rim = Ellipsoid((48.0, -2.0, 874.0), (6.0 * person.brawn, 34.0, 22.0), (0.0, 26.0, -22.0))
    # the lower edge of obturator internus
    yield paint(rim, "muscle", Layer.ORGAN, over=("fat", "visceral fat"))


def _perineum(person: Person) -> Paints:
    """Below the floor, between the thighs: a wedge of fat, the crura on the pubic rami, in the midline the
    bulb with the urethra."""
    small = 0.6 if person.age < 15 else 1.0
    wedge = Ellipsoid((0.0, 4.0, 842.0), (11.0 + 0.2 * person.fat_mm, 74.0, 25.0))
    yield paint(wedge, "fat", Layer.SEAM, over=("muscle", "intermuscular fat"))
    yield from _crura((3.5 if person.female else 7.5) * small)
    if person.female:
        yield from _bulbs()
        return
    line = [(0, -18, 847), (0, -6, 845), (0, 14, 845), (0, 36, 851)]
    bulb = tube(line, np.array([7.5, 10.5, 9.5, 7.5]) * small, step_mm=12)
    yield from _in_tunica(bulb, 3.5, 1.0)
    passage = tube([(0, -8, 874), (0, -4, 858), (0, 2, 848)], 6.5 * small)
    yield paint(passage, "muscle", Layer.VESSEL)
    yield paint(passage.shrunk(4.0), "mucosa", Layer.VESSEL)
    yield from _shaft(small)


def _in_tunica(bulb: Tube, muscle_mm: float, tunica_mm: float) -> Paints:
    yield paint(bulb.shrunk(-muscle_mm), "muscle", Layer.ORGAN)
    yield paint(bulb.shrunk(-tunica_mm), "tendon", Layer.CONTENT)
    yield paint(bulb, "gonad", Layer.CONTENT)


@both_sides
def _crura(thick: float) -> Paints:
    crus = tube([(43, -30, 844), (27, 6, 853), (9, 36, 862)], [0.75 * thick, thick, 0.9 * thick])
    yield from _in_tunica(crus, 3.0, 1.2)
    yield paint(tube([(4, -32, 850), (46, -38, 846)], 3.2), "muscle", Layer.ORGAN)


@both_sides
def _bulbs() -> Paints:
    bulb = tube([(9, -8, 846), (9, 12, 846), (4, 26, 850)], [5.0, 4.5, 2.5])
    yield paint(bulb.shrunk(-2.0), "muscle", Layer.ORGAN)
    yield paint(bulb, "gonad", Layer.CONTENT)


def _shaft(small: float) -> Paints:
    """The two corpora cavernosa side by side in the dark tunica albuginea, the corpus spongiosum below
    them."""
    way = (
        (0.0, 36.0, 860.0),
        (0.0, 66.0, 876.0),
        (0.0, 88.0, 870.0),
        (0.0, 110.0, 850.0),
        (3.0, 116.0, 816.0),
    )
    where = ("gonad", "fat", "muscle")
    yield paint(tube(way, 10.5 * small), "tendon", Layer.VESSEL, over=where)
    for x, below, radius in ((-5.0, -1.5, 4.6), (5.0, -1.5, 4.6), (0.0, 5.5, 4.0)):
        # The underside faces backwards where the shaft hangs down.
        body = [(x + a, y - 0.7 * below, z - 0.7 * below) for a, y, z in way]
        yield paint(tube(body, radius * small), "gonad", Layer.VESSEL, over=("tendon", *where))


def _bladder(person: Person) -> Paints:
    """The neck of the bladder extends downwards; the wall is thin when full, thick when empty or with outlet
    obstruction (older men)."""
    whole, full, _ = belly.bladder(person)
    pressing = 0.0 if person.female else max(0.0, person.age - 50) * 0.08
    wall = float(np.clip(7.5 - 5.0 * full + pressing * person.generator(75).uniform(), 1.8, 8.0))
    neck = tube([(0.0, 4.0, 908.0), (whole.centre[0], 22.0, 918.0 + 12 * full)], [8.0, 22.0 * full])
    yield paint(neck, "muscle", Layer.CONTENT, over="visceral fat")
    yield paint(whole, "muscle", Layer.CONTENT, over="urine")
    yield paint(whole.shrunk(wall) | neck.shrunk(wall), "urine", Layer.CONTENT, over="muscle")


def _groins(person: Person) -> Paints:
    """The femoral vessels in fat between pectineus, iliopsoas and sartorius; lymph nodes beside them."""
    rng, fat = person.generator(63), person.generator(946)
    groove = Ellipsoid((76.0, 60.0, 890.0), (17.0, 15.0, 44.0), (0.0, 8.0, 0.0))
    comb = tube([(36, 50, 908), (70, 30, 880), (108, -2, 850)], [9.0, 11.0, 8.0], step_mm=18)
    tailor = tube([(122, 66, 985), (112, 72, 920), (84, 64, 840)], [7.0, 8.0, 8.0], step_mm=24)
    lash = tube([(130, 44, 985), (136, 46, 920), (124, 40, 850)], [14.0, 15.0, 8.0], step_mm=24)
    straight = tube([(100, 52, 960), (106, 56, 900), (102, 56, 830)], [6.0, 13.0, 16.0], step_mm=24)
    for side in (1, -1):
        grooves = paints([groove], "fat", Layer.SEAM, over=("muscle", "intermuscular fat"))
        yield from on_side(grooves, side)
        for right in (comb, tailor, lash, straight):
            muscle = right if side > 0 else right.mirror()
            crescent = beside(muscle, 1.8, fat)
            yield paint(crescent, "intermuscular fat", Layer.SEAM, over=("muscle", "fat"))
            yield paint(muscle, "muscle", Layer.SEAM)
        for z in rng.uniform(870, 930, 3).tolist():
            node = Ellipsoid((side * rng.uniform(64, 84), 72.0, z), (4.0, 3.0, 6.0))
            yield paint(node, "spleen", Layer.VESSEL, over="fat")


@both_sides
def _seat(person: Person) -> Paints:
    """The lower end of gluteus maximus, which continues laterally and down to the femur 6 cm below the
    ischium; the hamstring tendon.

    The gluteal fold is 2 to 5 cm below the ischium, so the uppermost slices of a thigh still show buttock.
    """
    low, flat = person.generator(947).uniform(764, 790), partial(limbs.pressed, person)
    stout, pressed_mm = 0.4 + 0.6 * person.brawn, 3.5 + 0.3 * person.fat_mm
    way = limbs.placed(person, ((66, -74, 880), (88, -62, 836), (108, -52, 800), (128, -28, low)))
    belly = tube(way, [r * stout for r in (26.0, 24.0, 16.0, 6.0)], step_mm=20)
    sleeve, within = (
        belly.shrunk(-(0.8 + 0.04 * person.fat_mm)),
        ("muscle", "intermuscular fat", "fat"),
    )
    yield from covered(belly, 0.9 * person.fat_mm, flat)
    yield seam(flat(sleeve, pressed_mm))
    yield paint(flat(belly, pressed_mm), "muscle", Layer.SEAM, within)
    cord = limbs.line(person, ((64, -58, 848), (78, -52, 815), (88, -50, 770)), [8.0, 5.5, 3.0])
    yield paint(cord, "tendon", Layer.VESSEL, within)


def _manly(person: Person) -> Paints:
    """Prostate with a bright peripheral zone behind a nodular transition zone, its capsule and venous plexus,
    and the seminal vesicles."""
    if "prostate" in person.missing:
        yield paint(Ellipsoid((0.0, 10.0, 890.0), (26.0, 22.0, 22.0)), "visceral fat", Layer.VESSEL)
        return
    rng = person.generator(62)
    grown = 1.0 + max(0.0, person.age - 40) * 0.007 * rng.uniform(0.0, 2.0)
    small = 0.45 if person.age < 15 else 1.0
    a, b, c = 24.0 * grown**0.5 * small, 17.5 * grown**0.7 * small, 18.0 * grown**0.8 * small
    y, z = -31.0 + b, 872.0 + c
    gland = Ellipsoid((0.0, y, z), (a, b, c), square=0.15)
    inner = Ellipsoid((0.0, y + 0.24 * b, z + 0.1 * c), (0.68 * a, 0.66 * b, 0.8 * c))
    plexus = Ellipsoid((0.0, y + b + 9, z), (24.0, 13.0, 20.0))
    veins = Sheets(plexus, (17.0, 15.0, 23.0), 0.75, (person.generator(76).uniform(0, 6), 1.0, 0.0))
    yield paint(veins, "venous blood", Layer.CONTENT, over="visceral fat")
    yield paint(gland.shrunk(-1.3), "muscle", Layer.VESSEL)
    yield paint(gland, "peripheral zone", Layer.VESSEL)
    yield paint(inner.shrunk(-1.0), "muscle", Layer.VESSEL)
    yield paint(inner, "prostate", Layer.VESSEL)
    for _ in range(int(3 + 9 * (grown - 1))):
        spot = np.array([0.0, y + 0.2 * b, z]) + rng.uniform(-0.5, 0.5, 3) * (a, 0.7 * b, c)
        tissue = rng.choice(["peripheral zone", "muscle", "prostate"])
        knot = Ellipsoid(tuple(spot.tolist()), (rng.uniform(3, 7),) * 3)
        yield paint(knot.shrunk(-0.8), "muscle", Layer.VESSEL, "prostate")
        yield paint(knot, tissue, Layer.VESSEL, ("prostate", "muscle"))
    front = Ellipsoid((0.0, y + 0.85 * b, z + 2), (0.5 * a, 0.3 * b, 0.8 * c))
    yield paint(front, "muscle", Layer.VESSEL)
    urethra = tube([(0, y + 2, z + c), (0, y - 1, z), (0, y + 6, z - c)], 2.2)
    yield paint(urethra, "peripheral zone", Layer.VESSEL)
    for side in (1, -1):
        yield from on_side(_beside_the_prostate(gland, rng), side)


def _beside_the_prostate(gland: Ellipsoid, rng: np.random.Generator) -> Paints:
    """The neurovascular bundle, the seminal vesicle, and the spermatic cord."""
    (_, y, z), (a, b, c) = gland.centre, gland.semi
    bundles = (
        Ellipsoid((0.85 * a + 4, y - 0.6 * b, z + dz), (3.0, 2.4, 3.6)) for dz in (-8.0, 0.0, 8.0)
    )
    yield from paints(bundles, "venous blood", Layer.VESSEL)
    horn = Ellipsoid((22.0, y - 8.0, z + c + 9.0), (22.0, 6.5, 8.0), (0.0, -16.0, -18.0))
    folds = Sheets(horn, (15.0, 15.0, 15.0), 0.35, (rng.uniform(0, 6), 1.0, 2.0))
    yield paint(horn, "muscle", Layer.VESSEL)
    yield paint(horn.shrunk(1.0), "gonad", Layer.VESSEL)
    yield paint(folds, "muscle", Layer.VESSEL, over="gonad")
    cord = tube([(18, 84, 850), (28, 82, 885), (52, 74, 920)], [8.0, 7.0, 6.0])
    yield paint(cord, "muscle", Layer.SEAM, "fat")
    yield paint(cord.shrunk(1.6), "fat", Layer.SEAM, "muscle")
    yield paint(cord.shrunk(4.5), "venous blood", Layer.VESSEL, over="fat")


def _womanly(person: Person) -> Paints:
    """Junctional zone and fibroids of the uterus, the vagina between urethra and rectum, follicles in the
    ovaries."""
    urethra = [(0, 20, 894), (0, 22, 872), (0, 26, 856)]
    yield paint(tube(urethra, [6.5, 6.0, 5.0]), "muscle", Layer.VESSEL)
    yield paint(tube(urethra, 2.6), "peripheral zone", Layer.VESSEL)
    for tissue, more in (("muscle", 1.8), ("mucosa", 0.0)):
        for x, wide in ((-9.0, 7.0), (0.0, 9.0), (9.0, 7.0)):  # flat, an H in the axial plane
            sheath = Ellipsoid((x, -10.0 - 0.3 * abs(x), 884.0), (wide + more, 4.0 + more, 32.0))
            yield paint(sheath, tissue, Layer.VESSEL)
    if "uterus" in person.missing:
        gone = Ellipsoid((0.0, -10.0, 958.0), (40.0, 34.0, 42.0))
        yield paint(gone, "visceral fat", Layer.VESSEL, over=("myometrium", "endometrium"))
        return
    yield from _within_the_womb(person)
    rng = person.generator(62)
    for _ in range(rng.integers(0, 4) if person.age > 35 else 0):
        size = rng.uniform(5, 20)
        at = tuple(rng.uniform((-24, -26, 940), (24, 8, 980)).tolist())
        fibroid = Ellipsoid(at, (size, 0.9 * size, size))
        yield paint(fibroid, "muscle", Layer.VESSEL, over=("myometrium", "visceral fat"))
    for side in (1, -1) if person.age < 52 else ():
        for _ in range(5):
            dx, dy, dz = rng.uniform(-1, 1, 3) * (10.0, 6.0, 12.0)
            follicle = Ellipsoid(
                (side * 46.0 + dx, -8.0 + dy, 962.0 + dz), (rng.uniform(2, 5),) * 3
            )
            yield paint(follicle, "urine", Layer.VESSEL, over="gonad")


def _within_the_womb(person: Person) -> Paints:
    """The dark junctional zone around the endometrium, which thins with age, and the dark ring around the
    cervical canal."""
    *_, rng = belly.bladder(person)  # the womb's numbers come after the bladder's
    size, lean = rng.uniform(0.8, 1.15), rng.uniform(-8, 12)
    thin = 1.5 if person.age > 52 or person.age < 13 else person.generator(77).uniform(2.5, 5.5)
    lining = Ellipsoid((lean / 2, -8.0, 960.0), (11 * size, thin, 20 * size), (-38.0, lean, 0.0))
    neck = tube([(0, -18, 936), (0, -22, 916), (0, -16, 892)], [7.5, 8.0, 7.5])
    yield paint(lining.shrunk(-3.5), "muscle", Layer.VESSEL, over=("myometrium", "endometrium"))
    yield paint(lining, "endometrium", Layer.VESSEL)
    yield paint(neck.shrunk(-3.5), "myometrium", Layer.VESSEL)
    yield paint(neck, "muscle", Layer.VESSEL)
    yield paint(neck.shrunk(5.0), "mucosa", Layer.VESSEL)
