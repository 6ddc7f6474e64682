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
from fovnet.phantom.anatomy.layers import Layer, Paints, detail, paint
from fovnet.phantom.geometry.lobed import Lobed, lobed
from fovnet.phantom.geometry.solids import Ellipsoid, Point, Side, mirrored, tube
from fovnet.phantom.geometry.tissue_structure import Sheets
from fovnet.phantom.person.breast_shapes import of_a_kind
from fovnet.phantom.person.traits import Person

SHARE = 0.25  # of people, those with a lesion (beside white matter lesions)
BREAST_SHARE = 0.4  # of women who lie prone
LEG_MASS_SHARE = 1 / 12  # of people; `families.small_family` makes it the reason for scans
LARGE_MM = 60.0  # soft-tissue tumours above this are drawn as sarcomas with lobules

FLESH = (
    "fat",
    "visceral fat",
    "intermuscular fat",
    "muscle",
    "tendon",
    "bowel wall",
    "gland",
    "skin",
    "tumour",
    "watery tumour",
    "fluid of a lesion",
    "bruise",
)
ORGANS = (
    "liver",
    "spleen",
    "kidney cortex",
    "kidney medulla",
    "pancreas",
    "prostate",
    "peripheral zone",
    "myometrium",
    "endometrium",
    "gonad",
)
BRAIN = ("grey matter", "white matter", "oedematous white matter")
MARROW = ("red marrow", "mixed marrow", "yellow marrow", "cortical bone")

PLACES: tuple[tuple[str, float, float, float], ...] = (
    ("brain", 0.24, 8.0, 60.0),
    ("thigh", 0.22, 15.0, 140.0),
    ("pelvis", 0.12, 10.0, 90.0),
    ("liver", 0.12, 8.0, 90.0),
    ("breast", 0.08, 8.0, 45.0),
    ("neck", 0.05, 8.0, 45.0),
    ("chest", 0.07, 10.0, 70.0),
    ("calf", 0.05, 10.0, 60.0),
    ("belly", 0.05, 10.0, 100.0),
)
"""Site, share, and the smallest and largest diameter in mm."""


def lesions(person: Person) -> Paints:
    """This person's lesions, painted over soft tissue."""
    rng = person.generator(782)
    if rng.random() < SHARE:
        for _ in range(rng.integers(1, 4)):
            yield from _lesion(person, rng)
    yield from _of_the_breast(person)
    mass = leg_mass(person)
    if mass is not None:
        yield from _mass(person, *mass, person.generator(787))
    yield from _spots(person)


def _of_the_breast(person: Person) -> Paints:
    """The reason for a prone breast scan: in four of ten a mass of 1 to 5 cm in one breast, with spicules,
    seldom a second beside it.

    Source of the appearance: Morris et al. (2013), *ACR BI-RADS Magnetic Resonance Imaging*: irregular or
    lobed, spiculated margins.
    """
    if of_a_kind(person):
        yield from breast_findings.findings(person)
        return
    rng = person.generator(784)
    if not person.prone or person.age < 25 or rng.random() > BREAST_SHARE:
        return
    whole = dome(person, int(rng.choice([-1, 1])))
    for _ in range(1 + (rng.random() < 0.3)):
        middle = whole.within_mm(*rng.uniform((0.25, -0.4, -0.4), (0.7, 0.4, 0.4)).tolist())
        size = float(np.exp(rng.uniform(np.log(5.0), np.log(24.0))))
        mass = lobed(Ellipsoid(middle, _uneven(size, rng)), rng)
        yield detail(mass, "tumour", ("fat", "gland"))
        for ray in rng.normal(0, 1, (rng.integers(0, 9), 3)):
            reach = size * rng.uniform(1.4, 2.4) * ray / np.linalg.norm(ray)
            spicule = tube([middle, middle + reach], [0.15 * size + 1.0, 0.8])
            yield detail(spicule, "tumour", ("fat", "gland"))


def _uneven(size: float, rng: np.random.Generator) -> Point:
    """Three half axes of about that size."""
    return tuple((size * np.exp(rng.normal(0, 0.2, 3))).tolist())


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
    return (
        name,
        place,
        float(np.exp(rng.uniform(np.log(30.0), np.log(150.0 if name == "thigh" else 100.0)))),
    )


def _lesion(person: Person, rng: np.random.Generator) -> Paints:
    """One lesion anywhere: solid, cystic, haemorrhagic, or solid with central necrosis."""
    name, _, least, most = PLACES[rng.choice(len(PLACES), p=[share for _, share, _, _ in PLACES])]
    across = float(np.exp(rng.uniform(np.log(least), np.log(most))))
    yield from _mass(person, name, _place(name, person, rng), across, rng)


def _mass(
    person: Person, name: str, middle: Point, across: float, rng: np.random.Generator
) -> Paints:
    a, b, c = _uneven(0.5 * across, rng)
    in_a_leg = name in ("thigh", "calf")
    whole = lobed(Ellipsoid(middle, (a, b, c * (1.5 if in_a_leg else 1.0))), rng)
    kind = rng.choice(["solid", "fluid", "bled", "dead inside"], p=[0.35, 0.25, 0.1, 0.3])
    if across > LARGE_MM and name in ("thigh", "calf", "pelvis", "belly") and kind != "bled":
        yield from of_a_sarcoma(whole, across, rng)
        if in_a_leg:
            yield from _bulge(person, whole)
    elif name == "brain":
        yield from _in_brain(whole, kind, across)
    else:
        yield from _in_body(whole, kind, across, name, rng)


def _in_brain(whole: Lobed, kind: str, across: float) -> Paints:
    """A tumour or a scar with vasogenic oedema, which is limited to white matter."""
    oedema = "oedematous white matter"
    yield detail(whole.shrunk(-0.3 * across), oedema, "white matter")
    yield detail(whole, oedema if kind == "bled" else "grey matter", BRAIN)
    if kind in ("fluid", "dead inside"):
        core = whole.shrunk(1.5 if kind == "fluid" else 0.15 * across)
        yield detail(core, "cerebrospinal fluid", BRAIN)


def _in_body(whole: Lobed, kind: str, across: float, name: str, rng: np.random.Generator) -> Paints:
    over = FLESH + ORGANS + (MARROW if rng.random() < 0.2 else ())
    if name != "breast":
        over = tuple(tissue for tissue in over if tissue != "skin")
    tissue = {"fluid": "fluid of a lesion", "bled": "bruise"}.get(kind, "tumour")
    yield detail(whole, tissue, over)
    if kind == "dead inside":
        core = lobed(whole.base.shrunk(0.17 * across), rng)
        yield detail(core, "fluid of a lesion", "tumour")
    if kind == "bled" and rng.random() < 0.5:
        yield detail(whole.shrunk(0.12 * across), "fluid of a lesion", "bruise")
    if kind == "solid" and across > 25:  # a second part of another tissue, and strands through it
        yield detail(lobed(whole.base.shrunk(0.25 * across), rng), "muscle", "tumour")


def of_a_sarcoma(whole: Lobed, across: float, rng: np.random.Generator) -> Paints:
    """A sarcoma: watery or solid with lobules of the other kind, pockets of fluid, a few thin dark septa and
    a thin dark capsule.

    On T2-weighted images its watery part is four to six times as bright as muscle.
    """
    over = tuple(tissue for tissue in FLESH if tissue != "skin")
    kinds = ("watery tumour", "tumour") if rng.random() < 0.65 else ("tumour", "watery tumour")
    inner = whole.shrunk(2.0)
    yield detail(whole, "muscle", over)
    yield detail(inner, kinds[0], "muscle")
    for tissue, thick, of in (
        (kinds[1], (0.1, 0.7), (0.5, 1.1)),
        ("fluid of a lesion", (0.0, 0.4), (0.4, 0.9)),
        ("muscle", (0.01, 0.05), (0.6, 1.2)),
    ):
        length, phase = across * rng.uniform(*of), tuple(rng.uniform(0, 2 * np.pi, 3).tolist())
        sheets = Sheets(inner, (length, 1.1 * length, 1.4 * length), rng.uniform(*thick), phase)
        yield detail(sheets, tissue, ("tumour", "watery tumour", "fluid of a lesion"))


def _bulge(person: Person, whole: Lobed) -> Paints:
    """Skin, thinned fat and stretched muscle over a mass larger than its leg; between the legs it ends at the
    midline."""
    towards, fat = -1.0 if whole.base.centre[0] > 0 else 1.0, 7.0 + 0.4 * person.fat_mm
    for mm, tissue, layer, gap in (
        (fat + 1.8, "skin", Layer.SKIN, 0.0),
        (fat, "fat", Layer.FAT, 1.6),
        (5.0, "muscle", Layer.MUSCLE, 4.0),
    ):
        yield paint(whole.base.shrunk(-mm) & Side((towards, 0.0, 0.0), -gap), tissue, layer)


def _place(name: str, person: Person, rng: np.random.Generator) -> Point:
    """A point of that part of the body, in mm of the written anatomy."""
    shares = rng.uniform(-1, 1, 3)
    u, v, w = shares.tolist()
    side = int(rng.choice([-1, 1]))
    if name == "brain":
        _, y, z = MIDDLE
        return side * (12 + 38 * abs(u)), y + 55 * v, z + 38 * w
    if name in ("thigh", "calf"):
        z, behind = (690 + 140 * w, 0) if name == "thigh" else (300 + 110 * w, 20)
        (at,) = limbs.placed(person, ((97 + 50 * u, 50 * v - behind, z),))
        return mirrored(at, side)
    if name == "breast":
        middle, spread = np.array(gland_of(dome(person, side)).centre), np.array((20, 12, 20))
    elif name == "liver":
        low, high = belly.liver(person).box
        middle, spread = (low + high) / 2, 0.3 * (high - low)
    else:
        x, *others = ELSEWHERE[name][0]
        middle, spread = np.array((x * side, *others)), np.array(ELSEWHERE[name][1])
    return tuple((middle + spread * shares).tolist())


ELSEWHERE = {
    "pelvis": ((60.0, -10.0, 925.0), (55, 75, 60)),
    "neck": ((38.0, -10.0, 1490.0), (20, 35, 30)),
    "chest": ((115.0, 0.0, 1330.0), (40, 95, 90)),
    "belly": ((70.0, 20.0, 1120.0), (70, 90, 80)),
}
"""Middle at the right side and largest distance from it of the other sites, mm."""


def _spots(person: Person) -> Paints:
    """Lesions of 2 to 9 mm in the white matter, most beside the ventricles: few in middle age, dozens in some
    old people.

    Source of the numbers: de Leeuw et al. (2001), J Neurol Neurosurg Psychiatry 70:9: nearly everyone past
    sixty has some.
    """
    rng = person.generator(783)
    _, y, z = MIDDLE
    for _ in range(int(min(rng.gamma(1.0, 0.35 * max(person.age - 40, 0.0) + 0.3), 40))):
        side = int(rng.choice([-1, 1]))
        dx, dy, up = side * (16 + abs(rng.normal(0, 10))), rng.normal(-8, 30), rng.normal(18, 9)
        size = float(np.clip(np.exp(rng.normal(0.5, 0.45)), 1.0, 4.5))
        spot = Ellipsoid((dx, y + dy, z + up), (size, 1.4 * size, 1.1 * size))
        yield detail(spot, "oedematous white matter", over="white matter")
