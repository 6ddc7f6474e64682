"""Lesions: tumours, cysts, bruises and effusions in one person of four, a mass as the reason for a scan in a
leg of one of twelve people, and white matter lesions in old people.

A lesion replaces tissue and displaces none, so landmarks do not change, nor do outlines, except of a leg with
a large mass.
"""

from __future__ import annotations

import numpy as np

from fovnet.phantom.anatomy import belly, breast_findings, limbs
from fovnet.phantom.anatomy.brain import MIDDLE
from fovnet.phantom.anatomy.breast import breast as dome
from fovnet.phantom.anatomy.breast import gland_of
from fovnet.phantom.anatomy.layers import Layer, paint
from fovnet.phantom.geometry.lobed import Lobed, lobed
from fovnet.phantom.geometry.raster import Paint
from fovnet.phantom.geometry.solids import Ellipsoid, Side, tube
from fovnet.phantom.geometry.tissue_structure import Sheets
from fovnet.phantom.person.breast_shapes import of_a_kind
from fovnet.phantom.person.traits import Person

SHARE = 0.25        # of people, those with a lesion (beside white matter lesions)
BREAST_SHARE = 0.4  # of women who lie prone
LEG_MASS_SHARE = 1 / 12     # of people; `families.small_family` makes it the reason for scans
LARGE_MM = 60.0     # soft-tissue tumours above this are drawn as sarcomas with lobules

Point = tuple[float, float, float]

FLESH = (
    "fat", "visceral fat", "intermuscular fat", "muscle", "tendon", "bowel wall", "gland", "skin",
    "tumour", "watery tumour", "fluid of a lesion", "bruise",
)
ORGANS = (
    "liver", "spleen", "kidney cortex", "kidney medulla", "pancreas", "prostate", "peripheral zone",
    "myometrium", "endometrium", "gonad",
)
BRAIN = ("grey matter", "white matter", "oedematous white matter")
MARROW = ("red marrow", "mixed marrow", "yellow marrow", "cortical bone")

PLACES: tuple[tuple[str, float, float, float], ...] = (
    ("brain", 0.24, 8.0, 60.0), ("thigh", 0.22, 15.0, 140.0), ("pelvis", 0.12, 10.0, 90.0),
    ("liver", 0.12, 8.0, 90.0), ("breast", 0.08, 8.0, 45.0), ("neck", 0.05, 8.0, 45.0),
    ("chest", 0.07, 10.0, 70.0), ("calf", 0.05, 10.0, 60.0), ("belly", 0.05, 10.0, 100.0),
)
"""Site, share, and the smallest and largest diameter in mm."""


def lesions(person: Person) -> list[Paint]:
    """This person's lesions, painted over soft tissue."""
    rng = person.generator(782)
    made: list[Paint] = []
    if rng.random() < SHARE:
        for _ in range(int(rng.integers(1, 4))):
            made += _lesion(person, rng)
    return made + _of_the_breast(person) + _of_the_leg(person) + _spots(person)


def _of_the_breast(person: Person) -> list[Paint]:
    """The reason for a prone breast scan: in four of ten a mass of 1 to 5 cm in one breast, with spicules,
    seldom a second beside it.

    Source of the appearance: Morris et al. (2013), *ACR BI-RADS Magnetic Resonance Imaging*: irregular or
    lobed, spiculated margins.
    """
    if of_a_kind(person):
        return breast_findings.findings(person)
    rng = person.generator(784)
    if not person.prone or person.age < 25 or rng.random() > BREAST_SHARE:
        return []
    whole, made = dome(person, int(rng.choice([-1, 1]))), []
    for _ in range(1 + int(rng.random() < 0.3)):
        t, u, w = rng.uniform((0.25, -0.4, -0.4), (0.7, 0.4, 0.4)).tolist()
        x, y, z = whole.within_mm(t, u, w)
        size = float(np.exp(rng.uniform(np.log(5.0), np.log(24.0))))
        a, b, c = (size * np.exp(rng.normal(0, 0.2, 3))).tolist()
        made.append(
            paint(lobed(Ellipsoid((x, y, z), (a, b, c)), rng), "tumour", Layer.DETAIL, ("fat", "gland"))
        )
        for ray in rng.normal(0, 1, (int(rng.integers(0, 9)), 3)):
            reach = size * rng.uniform(1.4, 2.4) * ray / np.linalg.norm(ray)
            spicule = tube([(x, y, z), (x + reach[0], y + reach[1], z + reach[2])], [0.15 * size + 1.0, 0.8])
            made.append(paint(spicule, "tumour", Layer.DETAIL, ("fat", "gland")))
    return made


def leg_mass(person: Person) -> tuple[str, Point, float] | None:
    """The mass in a leg that is the reason for this person's scans, if any: "thigh" or "calf", its middle in
    written mm, its diameter in mm.

    Source of the range of sizes: Pisters et al. (1996), J Clin Oncol 14:1679 (sarcomas of limbs: below 5, 5
    to 10, above 10 cm all common).
    """
    rng = person.generator(786)
    if rng.random() > LEG_MASS_SHARE:
        return None
    name = "thigh" if rng.random() < 0.75 else "calf"
    place = _place(name, person, rng)
    return name, place, float(np.exp(rng.uniform(np.log(30.0), np.log(150.0 if name == "thigh" else 100.0))))


def _of_the_leg(person: Person) -> list[Paint]:
    mass = leg_mass(person)
    return [] if mass is None else _mass(person, *mass, person.generator(787))


def _lesion(person: Person, rng: np.random.Generator) -> list[Paint]:
    """One lesion anywhere: solid, cystic, haemorrhagic, or solid with central necrosis."""
    name, _, least, most = PLACES[int(rng.choice(len(PLACES), p=[share for _, share, _, _ in PLACES]))]
    across = float(np.exp(rng.uniform(np.log(least), np.log(most))))
    return _mass(person, name, _place(name, person, rng), across, rng)


def _mass(person: Person, name: str, middle: Point, across: float, rng: np.random.Generator) -> list[Paint]:
    a, b, c = (0.5 * across * np.exp(rng.normal(0, 0.2, 3))).tolist()
    whole = lobed(Ellipsoid(middle, (a, b, c * (1.5 if name in ("thigh", "calf") else 1.0))), rng)
    kind = str(rng.choice(["solid", "fluid", "bled", "dead inside"], p=[0.35, 0.25, 0.1, 0.3]))
    if across > LARGE_MM and name in ("thigh", "calf", "pelvis", "belly") and kind != "bled":
        return of_a_sarcoma(whole, across, rng) + (_bulge(person, whole) if name in ("thigh", "calf") else [])
    return _in_brain(whole, kind, across) if name == "brain" else _in_body(whole, kind, across, name, rng)


def _in_brain(whole: Lobed, kind: str, across: float) -> list[Paint]:
    """A tumour or a scar with vasogenic oedema, which is limited to white matter."""
    around = whole.shrunk(-0.3 * across)
    made = [paint(around, "oedematous white matter", Layer.DETAIL, ("white matter",))]
    made.append(
        paint(whole, "oedematous white matter" if kind == "bled" else "grey matter", Layer.DETAIL, BRAIN)
    )
    if kind in ("fluid", "dead inside"):
        made.append(
            paint(
                whole.shrunk(1.5 if kind == "fluid" else 0.15 * across), "cerebrospinal fluid", Layer.DETAIL,
                BRAIN,
            )
        )
    return made


def _in_body(whole: Lobed, kind: str, across: float, name: str, rng: np.random.Generator) -> list[Paint]:
    over = FLESH + ORGANS + (MARROW if rng.random() < 0.2 else ())
    if name != "breast":
        over = tuple(tissue for tissue in over if tissue != "skin")
    tissue = {"fluid": "fluid of a lesion", "bled": "bruise"}.get(kind, "tumour")
    made = [paint(whole, tissue, Layer.DETAIL, over)]
    if kind == "dead inside":
        made.append(
            paint(
                lobed(whole.base.shrunk(0.17 * across), rng), "fluid of a lesion", Layer.DETAIL, ("tumour",)
            )
        )
    if kind == "bled" and rng.random() < 0.5:
        made.append(paint(whole.shrunk(0.12 * across), "fluid of a lesion", Layer.DETAIL, ("bruise",)))
    if kind == "solid" and across > 25:     # a second part of another tissue, and strands through it
        made.append(paint(lobed(whole.base.shrunk(0.25 * across), rng), "muscle", Layer.DETAIL, ("tumour",)))
    return made


def of_a_sarcoma(whole: Lobed, across: float, rng: np.random.Generator) -> list[Paint]:
    """A sarcoma: watery or solid with lobules of the other kind, pockets of fluid, a few thin dark septa and
    a thin dark capsule.

    On T2-weighted images its watery part is four to six times as bright as muscle.
    """
    over = tuple(tissue for tissue in FLESH if tissue != "skin")
    kinds = ("watery tumour", "tumour") if rng.random() < 0.65 else ("tumour", "watery tumour")
    inner, made = whole.shrunk(2.0), [paint(whole, "muscle", Layer.DETAIL, over)]
    made.append(paint(inner, kinds[0], Layer.DETAIL, ("muscle",)))
    for tissue, thick, of in (
        (kinds[1], (0.1, 0.7), (0.5, 1.1)), ("fluid of a lesion", (0.0, 0.4), (0.4, 0.9)),
        ("muscle", (0.01, 0.05), (0.6, 1.2)),
    ):
        length, phase = across * float(rng.uniform(*of)), rng.uniform(0, 2 * np.pi, 3).tolist()
        sheets = Sheets(
            inner, (length, 1.1 * length, 1.4 * length), float(rng.uniform(*thick)),
            (phase[0], phase[1], phase[2]),
        )
        made.append(paint(sheets, tissue, Layer.DETAIL, ("tumour", "watery tumour", "fluid of a lesion")))
    return made


def _bulge(person: Person, whole: Lobed) -> list[Paint]:
    """Skin, thinned fat and stretched muscle over a mass larger than its leg; between the legs it ends at the
    midline."""
    right = whole.base.centre[0] > 0
    fat = 7.0 + 0.4 * person.fat_mm
    made = []
    shells = (
        (fat + 1.8, "skin", Layer.SKIN, 0.0), (fat, "fat", Layer.FAT, 1.6),
        (5.0, "muscle", Layer.MUSCLE, 4.0),
    )
    for mm, tissue, layer, gap in shells:
        own = Side((-1.0 if right else 1.0, 0.0, 0.0), -gap)
        made.append(paint(whole.base.shrunk(-mm) & own, tissue, layer))
    return made


def _place(name: str, person: Person, rng: np.random.Generator) -> Point:
    """A point of that part of the body, in mm of the written anatomy."""
    u, v, w = rng.uniform(-1, 1, 3).tolist()
    side = int(rng.choice([-1, 1]))
    if name == "brain":
        (_, y, z), x = MIDDLE, 0.0
        return x + side * (12 + 38 * abs(u)), y + 55 * v, z + 38 * w
    if name in ("thigh", "calf"):
        z = 690 + 140 * w if name == "thigh" else 300 + 110 * w
        (at,) = limbs.placed(person, side, ((97 + 50 * u, 50 * v - (0 if name == "thigh" else 20), z),))
        return at
    if name == "breast":
        x, y, z = gland_of(dome(person, side)).centre
        return x + 20 * u, y + 12 * v, z + 20 * w
    if name == "liver":
        low, high = belly.liver(person).box
        x, y, z = ((low + high) / 2 + 0.3 * (high - low) * (u, v, w)).tolist()
        return x, y, z
    middle, spread = {
        "pelvis": ((60.0 * side, -10.0, 925.0), (55, 75, 60)),
        "neck": ((38.0 * side, -10.0, 1490.0), (20, 35, 30)),
        "chest": ((115.0 * side, 0.0, 1330.0), (40, 95, 90)),
        "belly": ((70.0 * side, 20.0, 1120.0), (70, 90, 80)),
    }[name]
    x, y, z = (np.asarray(middle) + np.asarray(spread) * (u, v, w)).tolist()
    return x, y, z


def _spots(person: Person) -> list[Paint]:
    """Lesions of 2 to 9 mm in the white matter, most beside the ventricles: few in middle age, dozens in some
    old people.

    Source of the numbers: de Leeuw et al. (2001), J Neurol Neurosurg Psychiatry 70:9: nearly everyone past
    sixty has some.
    """
    rng = person.generator(783)
    many = int(min(rng.gamma(1.0, 0.35 * max(person.age - 40, 0.0) + 0.3), 40))
    (_, y, z), x = MIDDLE, 0.0
    made = []
    for _ in range(many):
        side = int(rng.choice([-1, 1]))
        dx, dy, up = side * (16 + abs(rng.normal(0, 10))), rng.normal(-8, 30), rng.normal(18, 9)
        size = float(np.clip(np.exp(rng.normal(0.5, 0.45)), 1.0, 4.5))
        spot = Ellipsoid((x + float(dx), y + float(dy), z + float(up)), (size, 1.4 * size, 1.1 * size))
        made.append(paint(spot, "oedematous white matter", Layer.DETAIL, over=("white matter",)))
    return made
