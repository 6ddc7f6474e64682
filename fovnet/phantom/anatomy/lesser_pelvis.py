"""Inner structure of the lesser pelvis: what a field of view of 18 cm about the prostate or the uterus shows.

The pelvic floor, the muscles on the walls, fat on both sides of them, and the zones of the organs.
"""

from __future__ import annotations

import numpy as np

from fovnet.phantom.anatomy import limbs
from fovnet.phantom.anatomy.layers import Layer, beside, paint
from fovnet.phantom.geometry.raster import Paint
from fovnet.phantom.geometry.solids import Ellipsoid, Loft, mirrored, tube
from fovnet.phantom.geometry.tissue_structure import Sheets
from fovnet.phantom.person.traits import Person


def parts(person: Person) -> list[Paint]:
    """Walls and floor, anal canal, then prostate and seminal vesicles or uterus, vagina and ovaries, as the
    person has them."""
    rng = person.generator(62)
    organs = _womanly(person, rng) if person.female else _manly(person, rng)
    return (
        _walls(person)
        + _floor(person)
        + _perineum(person)
        + _groins(person)
        + _seat(person)
        + _bladder(person)
        + organs
    )


def _walls(person: Person) -> list[Paint]:
    """Obturator internus on the inner wall, piriformis behind, gluteal muscles separated from those in front,
    sciatic nerve."""
    thick = 11.5 * person.brawn
    made: list[Paint] = []
    for side in (1, -1):
        inner = Ellipsoid((side * 52.0, -2.0, 903.0), (thick, 42.0, 34.0), (0.0, 8.0 * side, -14.0 * side))
        round_the_bone = tube(
            [mirrored(p, side) for p in ((50, -34, 900), (78, -58, 905), (118, -40, 908))], [10.0, 8.0, 5.0],
            step_mm=18,
        )
        outer = tube(
            [mirrored(p, side) for p in ((36, 30, 868), (64, 6, 872), (104, -26, 888))], [12.0, 14.0, 8.0],
            step_mm=18,
        )
        pear = tube(
            [mirrored(p, side) for p in ((28, -58, 968), (70, -56, 946), (116, -32, 922))], [11.0, 13.0, 6.0],
            step_mm=18,
        )
        made += [
            paint(muscle.shrunk(-1.2), "intermuscular fat", Layer.SEAM, over=("muscle",))
            for muscle in (round_the_bone, outer, pear)
        ]
        made += [paint(muscle, "muscle", Layer.SEAM) for muscle in (round_the_bone, outer, pear)]
        made.append(paint(inner, "muscle", Layer.ORGAN))
        plane = Ellipsoid(
            (side * 74.0, -66.0, 905.0), (40.0, 5.0 + 0.1 * person.fat_mm, 42.0), (0.0, 0.0, 24.0 * side)
        )
        made.append(paint(plane, "intermuscular fat", Layer.SEAM, over=("muscle",)))
        sciatic = tube([mirrored(p, side) for p in ((52, -66, 945), (74, -62, 890), (84, -44, 830))], 5.0)
        made.append(paint(sciatic, "spinal cord", Layer.SEAM))
    return made


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


def _floor(person: Person) -> list[Paint]:
    """Levator ani: a thin funnel, open in front; below it the fat of the ischioanal fossae, and the anal
    canal through it."""
    between = ("muscle", "intermuscular fat")
    made = [paint(Ellipsoid((0.0, -6.0, 868.0), (50.0, 52.0, 18.0)), "fat", Layer.SEAM, over=between)]
    made.append(
        paint(
            Ellipsoid((0.0, -6.0, 868.0), (48.0, 50.0, 17.0)), "fat", Layer.ORGAN,
            over=("muscle", "visceral fat"),
        )
    )
    for side in (1, -1):
        fossa = Ellipsoid((side * 33.0, -50.0, 862.0), (24.0, 33.0, 36.0), (18.0, 0.0, 12.0 * side))
        made.append(paint(fossa, "fat", Layer.SEAM, over=between))
        rim = Ellipsoid(
            (side * 48.0, -2.0, 874.0), (6.0 * person.brawn, 34.0, 22.0), (0.0, 26.0 * side, -22.0 * side)
        )
        # the lower edge of obturator internus
        made.append(paint(rim, "muscle", Layer.ORGAN, over=("fat", "visceral fat")))
    funnel = Loft(FUNNEL)
    sling = (funnel - funnel.shrunk(3.2 * person.brawn)) - Ellipsoid((0.0, 44.0, 880.0), (13.0, 40.0, 60.0))
    made += [
        paint(funnel, "visceral fat", Layer.ORGAN, over=("fat", "muscle")),
        paint(sling, "muscle", Layer.ORGAN),
    ]
    canal = tube([(0, -47, 884), (0, -52, 864), (0, -62, 836), (0, -68, 822)], [14.0, 14.5, 13.0, 11.0])
    made += [paint(canal, "muscle", Layer.CONTENT), paint(canal.shrunk(7.5), "mucosa", Layer.CONTENT)]
    made.append(paint(canal.shrunk(11.5), "gas", Layer.CONTENT))
    fascia = Ellipsoid((0.0, -44.0, 934.0), (36.0, 27.0, 48.0))
    made.append(paint(fascia - fascia.shrunk(0.9), "tendon", Layer.ORGAN, over=("visceral fat",)))
    cleft = Ellipsoid((0.0, -112.0, 880.0), (2.5, 34.0, 60.0))
    return [*made, paint(cleft, "fat", Layer.DETAIL, over=between)]


def _perineum(person: Person) -> list[Paint]:
    """Below the floor, between the thighs: a wedge of fat, the crura on the pubic rami, in the midline the
    bulb with the urethra."""
    male, small = not person.female, 0.6 if person.age < 15 else 1.0
    wide = 11.0 + 0.2 * person.fat_mm
    wedge = Ellipsoid((0.0, 4.0, 842.0), (wide, 74.0, 25.0))
    made = [paint(wedge, "fat", Layer.SEAM, over=("muscle", "intermuscular fat"))]
    thick = (7.5 if male else 3.5) * small
    for side in (1, -1):
        crus = tube(
            [mirrored(p, side) for p in ((43, -30, 844), (27, 6, 853), (9, 36, 862))],
            [0.75 * thick, thick, 0.9 * thick],
        )
        made += [
            paint(crus.shrunk(-3.0), "muscle", Layer.ORGAN),
            paint(crus.shrunk(-1.2), "tendon", Layer.CONTENT),
        ]
        made.append(paint(crus, "gonad", Layer.CONTENT))
        made.append(
            paint(
                tube([mirrored(p, side) for p in ((4, -32, 850), (46, -38, 846))], 3.2), "muscle", Layer.ORGAN
            )
        )
    if not male:
        for side in (1, -1):
            bulb = tube(
                [mirrored(p, side) for p in ((9, -8, 846), (9, 12, 846), (4, 26, 850))], [5.0, 4.5, 2.5]
            )
            made += [paint(bulb.shrunk(-2.0), "muscle", Layer.ORGAN), paint(bulb, "gonad", Layer.CONTENT)]
        return made
    line, radii = (
        [(0, -18, 847), (0, -6, 845), (0, 14, 845), (0, 36, 851)],
        np.array([7.5, 10.5, 9.5, 7.5]) * small,
    )
    bulb = tube(line, radii, step_mm=12)
    made += [
        paint(bulb.shrunk(-3.5), "muscle", Layer.ORGAN),
        paint(bulb.shrunk(-1.0), "tendon", Layer.CONTENT),
    ]
    made.append(paint(bulb, "gonad", Layer.CONTENT))
    passage = tube([(0, -8, 874), (0, -4, 858), (0, 2, 848)], 6.5 * small)
    made += [paint(passage, "muscle", Layer.VESSEL), paint(passage.shrunk(4.0), "mucosa", Layer.VESSEL)]
    return made + _shaft(small)


def _shaft(small: float) -> list[Paint]:
    """The two corpora cavernosa side by side in the dark tunica albuginea, the corpus spongiosum below
    them."""
    way = (
        (0.0, 36.0, 860.0), (0.0, 66.0, 876.0), (0.0, 88.0, 870.0), (0.0, 110.0, 850.0), (3.0, 116.0, 816.0),
    )
    where = ("gonad", "fat", "muscle")
    made = [paint(tube(way, 10.5 * small), "tendon", Layer.VESSEL, over=where)]
    for x, below, radius in ((-5.0, -1.5, 4.6), (5.0, -1.5, 4.6), (0.0, 5.5, 4.0)):
        # The underside faces backwards where the shaft hangs down.
        body = [(x + a, y - 0.7 * below, z - 0.7 * below) for a, y, z in way]
        made.append(paint(tube(body, radius * small), "gonad", Layer.VESSEL, over=("tendon", *where)))
    return made


def _bladder(person: Person) -> list[Paint]:
    """The neck of the bladder extends downwards; the wall is thin when full, thick when empty or with outlet
    obstruction (older men)."""
    rng = person.generator(35)                     # the draws of belly.pelvic_organs
    full, x = float(rng.uniform(0.65, 1.25)), float(rng.normal(0, 4))
    pressing = 0.0 if person.female else max(0.0, person.age - 50) * 0.08
    wall = float(np.clip(7.5 - 5.0 * full + pressing * person.generator(75).uniform(), 1.8, 8.0))
    bladder = Ellipsoid((x, 26.0, 918.0 + 22 * full), (38 * full, 30 * full, 27 * full), square=0.2)
    neck = tube([(0.0, 4.0, 908.0), (x, 22.0, 918.0 + 12 * full)], [8.0, 22.0 * full])
    within = bladder.shrunk(wall) | neck.shrunk(wall)
    return [
        paint(neck, "muscle", Layer.CONTENT, over=("visceral fat",)),
        paint(bladder, "muscle", Layer.CONTENT, over=("urine",)),
        paint(within, "urine", Layer.CONTENT, over=("muscle",)),
    ]


def _groins(person: Person) -> list[Paint]:
    """The femoral vessels in fat between pectineus, iliopsoas and sartorius; lymph nodes beside them."""
    rng, fat = person.generator(63), person.generator(946)
    made: list[Paint] = []
    for side in (1, -1):
        groove = Ellipsoid((side * 76.0, 60.0, 890.0), (17.0, 15.0, 44.0), (0.0, 8.0 * side, 0.0))
        made.append(paint(groove, "fat", Layer.SEAM, over=("muscle", "intermuscular fat")))
        comb = tube(
            [mirrored(p, side) for p in ((36, 50, 908), (70, 30, 880), (108, -2, 850))], [9.0, 11.0, 8.0],
            step_mm=18,
        )
        tailor = tube(
            [mirrored(p, side) for p in ((122, 66, 985), (112, 72, 920), (84, 64, 840))], [7.0, 8.0, 8.0],
            step_mm=24,
        )
        lash = tube(
            [mirrored(p, side) for p in ((130, 44, 985), (136, 46, 920), (124, 40, 850))], [14.0, 15.0, 8.0],
            step_mm=24,
        )
        straight = tube(
            [mirrored(p, side) for p in ((100, 52, 960), (106, 56, 900), (102, 56, 830))], [6.0, 13.0, 16.0],
            step_mm=24,
        )
        for muscle in (comb, tailor, lash, straight):
            made.append(
                paint(beside(muscle, 1.8, fat), "intermuscular fat", Layer.SEAM, over=("muscle", "fat"))
            )
            made.append(paint(muscle, "muscle", Layer.SEAM))
        for z in rng.uniform(870, 930, 3):
            node = Ellipsoid((side * float(rng.uniform(64, 84)), 72.0, float(z)), (4.0, 3.0, 6.0))
            made.append(paint(node, "spleen", Layer.VESSEL, over=("fat",)))
    return made


def _seat(person: Person) -> list[Paint]:
    """The lower end of gluteus maximus, which continues laterally and down to the femur 6 cm below the
    ischium; the hamstring tendon.

    The gluteal fold is 2 to 5 cm below the ischium, so the uppermost slices of a thigh still show buttock.
    """
    rng = person.generator(947)
    low, thick = float(rng.uniform(764, 790)), 0.8 + 0.04 * person.fat_mm
    made: list[Paint] = []
    for side in (1, -1):
        way = limbs.placed(person, side, ((66, -74, 880), (88, -62, 836), (108, -52, 800), (128, -28, low)))
        belly = tube(way, [r * (0.4 + 0.6 * person.brawn) for r in (26.0, 24.0, 16.0, 6.0)], step_mm=20)
        fat, within = 0.9 * person.fat_mm, 3.5 + 0.3 * person.fat_mm
        made += [
            paint(limbs.pressed(person, belly.shrunk(-fat - 1.8)), "skin", Layer.SKIN),
            paint(limbs.pressed(person, belly.shrunk(-fat), 1.8), "fat", Layer.FAT),
            paint(
                limbs.pressed(person, belly.shrunk(-thick), within), "intermuscular fat", Layer.SEAM,
                over=("muscle",),
            ),
            paint(
                limbs.pressed(person, belly, within), "muscle", Layer.SEAM,
                ("muscle", "intermuscular fat", "fat"),
            ),
        ]
        cord = tube(
            limbs.placed(person, side, ((64, -58, 848), (78, -52, 815), (88, -50, 770))), [8.0, 5.5, 3.0]
        )
        made.append(paint(cord, "tendon", Layer.VESSEL, over=("muscle", "intermuscular fat", "fat")))
    return made


def _manly(person: Person, rng: np.random.Generator) -> list[Paint]:
    """Prostate with a bright peripheral zone behind a nodular transition zone, its capsule and venous plexus,
    and the seminal vesicles."""
    if "prostate" in person.missing:
        return [paint(Ellipsoid((0.0, 10.0, 890.0), (26.0, 22.0, 22.0)), "visceral fat", Layer.VESSEL)]
    grown = 1.0 + max(0.0, person.age - 40) * 0.007 * float(rng.uniform(0.0, 2.0))
    small = 0.45 if person.age < 15 else 1.0
    a, b, c = 24.0 * grown**0.5 * small, 17.5 * grown**0.7 * small, 18.0 * grown**0.8 * small
    y, z = -31.0 + b, 872.0 + c
    gland = Ellipsoid((0.0, y, z), (a, b, c), square=0.15)
    inner = Ellipsoid((0.0, y + 0.24 * b, z + 0.1 * c), (0.68 * a, 0.66 * b, 0.8 * c))
    plexus = Ellipsoid((0.0, y + b + 9, z), (24.0, 13.0, 20.0))
    veins = Sheets(plexus, (17.0, 15.0, 23.0), 0.75, (float(person.generator(76).uniform(0, 6)), 1.0, 0.0))
    made = [paint(veins, "venous blood", Layer.CONTENT, over=("visceral fat",))]
    made += [paint(gland.shrunk(-1.3), "muscle", Layer.VESSEL), paint(gland, "peripheral zone", Layer.VESSEL)]
    made += [paint(inner.shrunk(-1.0), "muscle", Layer.VESSEL), paint(inner, "prostate", Layer.VESSEL)]
    for _ in range(int(3 + 9 * (grown - 1))):
        spot = np.array([0.0, y + 0.2 * b, z]) + rng.uniform(-0.5, 0.5, 3) * (a, 0.7 * b, c)
        tissue = str(rng.choice(["peripheral zone", "muscle", "prostate"]))
        knot = Ellipsoid((float(spot[0]), float(spot[1]), float(spot[2])), (float(rng.uniform(3, 7)),) * 3)
        made += [
            paint(knot.shrunk(-0.8), "muscle", Layer.VESSEL, ("prostate",)),
            paint(knot, tissue, Layer.VESSEL, ("prostate", "muscle")),
        ]
    made.append(
        paint(Ellipsoid((0.0, y + 0.85 * b, z + 2), (0.5 * a, 0.3 * b, 0.8 * c)), "muscle", Layer.VESSEL)
    )
    made.append(
        paint(
            tube([(0, y + 2, z + c), (0, y - 1, z), (0, y + 6, z - c)], 2.2), "peripheral zone", Layer.VESSEL
        )
    )
    for side in (1, -1):
        for dz in (-8.0, 0.0, 8.0):  # the neurovascular bundles
            made.append(
                paint(
                    Ellipsoid((side * (0.85 * a + 4), y - 0.6 * b, z + dz), (3.0, 2.4, 3.6)), "venous blood",
                    Layer.VESSEL,
                )
            )
        horn = Ellipsoid(
            (side * 22.0, y - 8.0, z + c + 9.0), (22.0, 6.5, 8.0), (0.0, -16.0 * side, -18.0 * side)
        )
        phase = (float(rng.uniform(0, 6)), 1.0, 2.0)
        made += [paint(horn, "muscle", Layer.VESSEL), paint(horn.shrunk(1.0), "gonad", Layer.VESSEL)]
        made.append(
            paint(Sheets(horn, (15.0, 15.0, 15.0), 0.35, phase), "muscle", Layer.VESSEL, over=("gonad",))
        )
        cord = tube(
            [mirrored(p, side) for p in ((18, 84, 850), (28, 82, 885), (52, 74, 920))], [8.0, 7.0, 6.0]
        )
        made += [
            paint(cord, "muscle", Layer.SEAM, ("fat",)),
            paint(cord.shrunk(1.6), "fat", Layer.SEAM, ("muscle",)),
        ]
        made.append(paint(cord.shrunk(4.5), "venous blood", Layer.VESSEL, over=("fat",)))
    return made


def _womanly(person: Person, rng: np.random.Generator) -> list[Paint]:
    """Junctional zone and fibroids of the uterus, the vagina between urethra and rectum, follicles in the
    ovaries."""
    made = [paint(tube([(0, 20, 894), (0, 22, 872), (0, 26, 856)], [6.5, 6.0, 5.0]), "muscle", Layer.VESSEL)]
    made.append(paint(tube([(0, 20, 894), (0, 22, 872), (0, 26, 856)], 2.6), "peripheral zone", Layer.VESSEL))
    for tissue, more in (("muscle", 1.8), ("mucosa", 0.0)):
        for x, wide in ((-9.0, 7.0), (0.0, 9.0), (9.0, 7.0)):  # flat, an H in the axial plane
            sheath = Ellipsoid((x, -10.0 - 0.3 * abs(x), 884.0), (wide + more, 4.0 + more, 32.0))
            made.append(paint(sheath, tissue, Layer.VESSEL))
    if "uterus" in person.missing:
        gone = Ellipsoid((0.0, -10.0, 958.0), (40.0, 34.0, 42.0))
        return [*made, paint(gone, "visceral fat", Layer.VESSEL, over=("myometrium", "endometrium"))]
    made += _within_the_womb(person)
    for _ in range(int(rng.integers(0, 4)) if person.age > 35 else 0):
        size = float(rng.uniform(5, 20))
        at = (float(rng.uniform(-24, 24)), float(rng.uniform(-26, 8)), float(rng.uniform(940, 980)))
        made.append(
            paint(
                Ellipsoid(at, (size, 0.9 * size, size)), "muscle", Layer.VESSEL,
                over=("myometrium", "visceral fat"),
            )
        )
    if person.age < 52:
        for side in (1, -1):
            for _ in range(5):
                dx, dy, dz = rng.uniform(-1, 1, 3) * (10.0, 6.0, 12.0)
                follicle = Ellipsoid(
                    (side * 46.0 + dx, -8.0 + dy, 962.0 + dz), (float(rng.uniform(2, 5)),) * 3
                )
                made.append(paint(follicle, "urine", Layer.VESSEL, over=("gonad",)))
    return made


def _within_the_womb(person: Person) -> list[Paint]:
    """The dark junctional zone around the endometrium, which thins with age, and the dark ring around the
    cervical canal."""
    # the numbers drawn in belly.pelvic_organs, after those of the bladder
    rng = person.generator(35)
    rng.uniform(), rng.normal()
    size, lean = float(rng.uniform(0.8, 1.15)), float(rng.uniform(-8, 12))
    thin = 1.5 if person.age > 52 or person.age < 13 else float(person.generator(77).uniform(2.5, 5.5))
    lining = Ellipsoid((lean / 2, -8.0, 960.0), (11 * size, thin, 20 * size), (-38.0, lean, 0.0))
    neck = tube([(0, -18, 936), (0, -22, 916), (0, -16, 892)], [7.5, 8.0, 7.5])
    made = [paint(lining.shrunk(-3.5), "muscle", Layer.VESSEL, over=("myometrium", "endometrium"))]
    made += [paint(lining, "endometrium", Layer.VESSEL), paint(neck.shrunk(-3.5), "myometrium", Layer.VESSEL)]
    return [*made, paint(neck, "muscle", Layer.VESSEL), paint(neck.shrunk(5.0), "mucosa", Layer.VESSEL)]
