"""The lesser pelvis from within: what a field of view of 18 cm about the prostate or the uterus shows.

The two funnels of the pelvic floor, the muscles on the walls, fat on both sides of them, and the zones of the organs.
"""

from __future__ import annotations

import numpy as np

from fovnet.phantom.grain import Sheets
from fovnet.phantom.layers import Layer, paint
from fovnet.phantom.person import Person
from fovnet.phantom.raster import Paint
from fovnet.phantom.solids import Ellipsoid, mirrored, tube


def parts(person: Person) -> list[Paint]:
    """Walls and floor, anal canal, then prostate and vesicles or uterus, vagina and ovaries, as the person has them."""
    rng = person.generator(62)
    organs = _womanly(person, rng) if person.female else _manly(person, rng)
    return _walls(person) + _floor(person) + _groins(person) + organs


def _walls(person: Person) -> list[Paint]:
    """Obturator internus on the inner wall, piriformis behind, gluteal muscles apart from what lies before them."""
    thick = 11.5 * person.brawn
    made: list[Paint] = []
    for side in (1, -1):
        inner = Ellipsoid((side * 52.0, -2.0, 903.0), (thick, 42.0, 34.0), (0.0, 8.0 * side, -14.0 * side))
        round_the_bone = tube([mirrored(p, side) for p in ((50, -34, 900), (78, -58, 905), (118, -40, 908))], [10.0, 8.0, 5.0], step_mm=18)
        outer = tube([mirrored(p, side) for p in ((36, 30, 868), (64, 6, 872), (104, -26, 888))], [12.0, 14.0, 8.0], step_mm=18)
        pear = tube([mirrored(p, side) for p in ((28, -58, 968), (70, -56, 946), (116, -32, 922))], [11.0, 13.0, 6.0], step_mm=18)
        made += [paint(muscle.shrunk(-1.2), "intermuscular fat", Layer.SEAM, over=("muscle",)) for muscle in (round_the_bone, outer, pear)]
        made += [paint(muscle, "muscle", Layer.SEAM) for muscle in (round_the_bone, outer, pear)]
        made.append(paint(inner, "muscle", Layer.ORGAN))
        plane = Ellipsoid((side * 74.0, -66.0, 905.0), (40.0, 5.0 + 0.1 * person.fat_mm, 42.0), (0.0, 0.0, 24.0 * side))
        made.append(paint(plane, "intermuscular fat", Layer.SEAM, over=("muscle",)))
        sciatic = tube([mirrored(p, side) for p in ((52, -66, 945), (74, -62, 890), (84, -44, 830))], 5.0)
        made.append(paint(sciatic, "spinal cord", Layer.SEAM))
    return made


def _floor(person: Person) -> list[Paint]:
    """Levator ani: a thin funnel; below it the fat of the ischioanal fossae, and the anal canal through it."""
    made: list[Paint] = []
    for side in (1, -1):
        fossa = Ellipsoid((side * 33.0, -50.0, 862.0), (22.0, 31.0, 34.0), (18.0, 0.0, 12.0 * side))
        made.append(paint(fossa, "fat", Layer.SEAM, over=("muscle", "intermuscular fat")))
        sling = Ellipsoid((side * 27.0, -14.0, 886.0), (3.0, 42.0, 32.0), (0.0, -24.0 * side, -6.0 * side))
        made.append(paint(sling, "muscle", Layer.ORGAN))
        crus = tube([mirrored(p, side) for p in ((46, -30, 846), (28, 8, 858), (12, 36, 866))], [5.5, 6.0, 5.0])
        made += [paint(crus.shrunk(-3.5), "muscle", Layer.ORGAN), paint(crus, "gonad" if not person.female else "muscle", Layer.CONTENT)]
    canal = tube([(0, -47, 884), (0, -52, 864), (0, -62, 836), (0, -68, 822)], [14.0, 14.5, 13.0, 11.0])
    made += [paint(canal, "muscle", Layer.CONTENT), paint(canal.shrunk(7.5), "mucosa", Layer.CONTENT)]
    made.append(paint(canal.shrunk(11.5), "gas", Layer.CONTENT))
    cleft = Ellipsoid((0.0, -112.0, 880.0), (2.5, 34.0, 60.0))
    return [*made, paint(cleft, "fat", Layer.DETAIL, over=("muscle", "intermuscular fat"))]


def _groins(person: Person) -> list[Paint]:
    """The femoral vessels in fat between pectineus, iliopsoas and sartorius; lymph nodes beside them."""
    rng = person.generator(63)
    made: list[Paint] = []
    for side in (1, -1):
        groove = Ellipsoid((side * 76.0, 60.0, 890.0), (17.0, 15.0, 44.0), (0.0, 8.0 * side, 0.0))
        made.append(paint(groove, "fat", Layer.SEAM, over=("muscle", "intermuscular fat")))
        comb = tube([mirrored(p, side) for p in ((36, 50, 908), (70, 30, 880), (108, -2, 850))], [9.0, 11.0, 8.0], step_mm=18)
        tailor = tube([mirrored(p, side) for p in ((122, 66, 985), (112, 72, 920), (84, 64, 840))], [7.0, 8.0, 8.0], step_mm=24)
        lash = tube([mirrored(p, side) for p in ((130, 44, 985), (136, 46, 920), (124, 40, 850))], [14.0, 15.0, 8.0], step_mm=24)
        straight = tube([mirrored(p, side) for p in ((100, 52, 960), (106, 56, 900), (102, 56, 830))], [6.0, 13.0, 16.0], step_mm=24)
        for muscle in (comb, tailor, lash, straight):
            made.append(paint(muscle.shrunk(-1.6), "intermuscular fat", Layer.SEAM, over=("muscle", "fat")))
            made.append(paint(muscle, "muscle", Layer.SEAM))
        for z in rng.uniform(870, 930, 3):
            node = Ellipsoid((side * float(rng.uniform(64, 84)), 72.0, float(z)), (4.0, 3.0, 6.0))
            made.append(paint(node, "spleen", Layer.VESSEL, over=("fat",)))
    return made


def _manly(person: Person, rng: np.random.Generator) -> list[Paint]:
    """Prostate with a bright peripheral zone behind a nodular transition zone, its capsule and plexus, and the seminal vesicles."""
    if "prostate" in person.missing:
        return [paint(Ellipsoid((0.0, 10.0, 890.0), (26.0, 22.0, 22.0)), "visceral fat", Layer.VESSEL)]
    grown = 1.0 + max(0.0, person.age - 40) * 0.007 * float(rng.uniform(0.0, 2.0))
    small = 0.45 if person.age < 15 else 1.0
    a, b, c = 24.0 * grown**0.5 * small, 17.0 * grown**0.7 * small, 18.0 * grown**0.8 * small
    y, z = -24.0 + b, 872.0 + c
    gland = Ellipsoid((0.0, y, z), (a, b, c), square=0.15)
    inner = Ellipsoid((0.0, y + 0.24 * b, z + 0.1 * c), (0.68 * a, 0.66 * b, 0.8 * c))
    made = [paint(Ellipsoid((0.0, y + b + 8, z), (22.0, 10.0, 16.0)), "venous blood", Layer.CONTENT, over=("visceral fat",))]
    made += [paint(gland.shrunk(-1.3), "muscle", Layer.VESSEL), paint(gland, "peripheral zone", Layer.VESSEL)]
    made += [paint(inner.shrunk(-1.0), "muscle", Layer.VESSEL), paint(inner, "prostate", Layer.VESSEL)]
    for _ in range(int(3 + 9 * (grown - 1))):
        spot = np.array([0.0, y + 0.2 * b, z]) + rng.uniform(-0.5, 0.5, 3) * (a, 0.7 * b, c)
        tissue = str(rng.choice(["peripheral zone", "muscle", "prostate"]))
        knot = Ellipsoid((float(spot[0]), float(spot[1]), float(spot[2])), (float(rng.uniform(3, 7)),) * 3)
        made += [paint(knot.shrunk(-0.8), "muscle", Layer.VESSEL, ("prostate",)), paint(knot, tissue, Layer.VESSEL, ("prostate", "muscle"))]
    made.append(paint(Ellipsoid((0.0, y + 0.85 * b, z + 2), (0.5 * a, 0.3 * b, 0.8 * c)), "muscle", Layer.VESSEL))
    made.append(paint(tube([(0, y + 2, z + c), (0, y - 1, z), (0, y + 6, z - c)], 2.2), "peripheral zone", Layer.VESSEL))
    for side in (1, -1):
        for dz in (-8.0, 0.0, 8.0):  # the neurovascular bundles
            made.append(paint(Ellipsoid((side * (0.85 * a + 4), y - 0.6 * b, z + dz), (3.0, 2.4, 3.6)), "venous blood", Layer.VESSEL))
        horn = Ellipsoid((side * 22.0, y - 8.0, z + c + 9.0), (22.0, 6.5, 8.0), (0.0, -16.0 * side, -18.0 * side))
        phase = (float(rng.uniform(0, 6)), 1.0, 2.0)
        made += [paint(horn, "muscle", Layer.VESSEL), paint(horn.shrunk(1.0), "gonad", Layer.VESSEL)]
        made.append(paint(Sheets(horn, (15.0, 15.0, 15.0), 0.35, phase), "muscle", Layer.VESSEL, over=("gonad",)))
        cord = tube([mirrored(p, side) for p in ((18, 84, 850), (28, 82, 885), (52, 74, 920))], [8.0, 7.0, 6.0])
        made += [paint(cord, "muscle", Layer.SEAM, ("fat",)), paint(cord.shrunk(1.6), "fat", Layer.SEAM, ("muscle",))]
        made.append(paint(cord.shrunk(4.5), "venous blood", Layer.VESSEL, over=("fat",)))
    return made


def _womanly(person: Person, rng: np.random.Generator) -> list[Paint]:
    """Junctional zone and fibroids of the uterus, the vagina between urethra and rectum, follicles in the ovaries."""
    made = [paint(tube([(0, 20, 894), (0, 22, 872), (0, 26, 856)], [6.5, 6.0, 5.0]), "muscle", Layer.VESSEL)]
    made.append(paint(tube([(0, 20, 894), (0, 22, 872), (0, 26, 856)], 2.6), "peripheral zone", Layer.VESSEL))
    for x, wide in ((-9.0, 7.0), (0.0, 9.0), (9.0, 7.0)):  # flat, an H in the axial plane
        made.append(paint(Ellipsoid((x, -10.0 - 0.3 * abs(x), 890.0), (wide, 4.5, 26.0)), "mucosa", Layer.VESSEL))
    if "uterus" in person.missing:
        gone = Ellipsoid((0.0, -10.0, 958.0), (40.0, 34.0, 42.0))
        return [*made, paint(gone, "visceral fat", Layer.VESSEL, over=("myometrium", "endometrium"))]
    for _ in range(int(rng.integers(0, 4)) if person.age > 35 else 0):
        size = float(rng.uniform(5, 20))
        at = (float(rng.uniform(-24, 24)), float(rng.uniform(-26, 8)), float(rng.uniform(940, 980)))
        made.append(paint(Ellipsoid(at, (size, 0.9 * size, size)), "muscle", Layer.VESSEL, over=("myometrium", "visceral fat")))
    if person.age < 52:
        for side in (1, -1):
            for _ in range(5):
                dx, dy, dz = rng.uniform(-1, 1, 3) * (10.0, 6.0, 12.0)
                follicle = Ellipsoid((side * 46.0 + dx, -8.0 + dy, 962.0 + dz), (float(rng.uniform(2, 5)),) * 3)
                made.append(paint(follicle, "urine", Layer.VESSEL, over=("gonad",)))
    return made
