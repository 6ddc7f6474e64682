"""Fields of view: from a vertebra to the whole body.

A family defines the landmarks from which the two ends of its field of view along the body are measured; the
rest is drawn at random.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np

from fovnet.phantom.acquisition.breast_fields import field_about
from fovnet.phantom.anatomy.belly import dome_mm
from fovnet.phantom.anatomy.body import Landmarks, label_volume
from fovnet.phantom.anatomy.breast import breast
from fovnet.phantom.anatomy.lesions import leg_mass
from fovnet.phantom.geometry.raster import Grid
from fovnet.phantom.person.breast_shapes import of_a_kind
from fovnet.phantom.person.swelling import Swelling
from fovnet.phantom.person.traits import Person
from fovnet.phantom.scanner.tissues import AIR


@dataclass(frozen=True)
class Family:
    """A kind of field of view.

    low, high   (landmark, least and most mm above it) for the two ends along the body
    wide, deep  (least, most) mm across and front to back; 0 stands for the size of the person
    planes      the planes it is acquired in, a letter each: a axial, c coronal, s sagittal, i isotropic
    weight      relative frequency                     long   whether it covers several regions
    offset_x, offset_y  (least, most) mm of its middle to the right and to the front; offset_x > 0 is a part
                        on either side, such as a knee
    side_region the region outside the chain that it is labelled as ("spine"), or ""
    hanging     whether it shows breasts, received by a breast coil
    either_side whether a field with offset_x > 0 is on the left as often as on the right
    """

    name: str
    low: tuple[str, float, float]
    high: tuple[str, float, float]
    wide: tuple[float, float] = (0.0, 0.0)
    deep: tuple[float, float] = (0.0, 0.0)
    planes: str = "aaci"
    weight: float = 1.0
    long: bool = False
    side_region: str = ""
    offset_x: tuple[float, float] = (0.0, 0.0)
    offset_y: tuple[float, float] = (0.0, 0.0)
    hanging: bool = False
    either_side: bool = True


FAMILIES: tuple[Family, ...] = (
    Family(
        "whole body", ("sole", -100, -10), ("vertex", 10, 130), planes="ccca", weight=0.8, long=True
    ),
    Family(
        "head to pelvis",
        ("ischium", -90, 20),
        ("vertex", 5, 110),
        planes="cca",
        weight=1.5,
        long=True,
    ),
    Family(
        "chest and abdomen",
        ("iliac_crest", -60, 30),
        ("lung_apex", -10, 60),
        planes="aaci",
        weight=2.2,
        long=True,
    ),
    Family(
        "abdomen and pelvis",
        ("ischium", -50, 20),
        ("liver_dome", 5, 45),
        planes="aaci",
        weight=2.2,
        long=True,
    ),
    Family(
        "neck and chest",
        ("liver_dome", -60, 20),
        ("chin", 0, 80),
        planes="ac",
        weight=1.2,
        long=True,
    ),
    Family(
        "pelvis and thighs",
        ("knee", 60, 200),
        ("iliac_crest", 0, 60),
        planes="ac",
        weight=0.8,
        long=True,
    ),
    Family(
        "head",
        ("chin", 40, 95),
        ("vertex", -10, 60),
        (190, 240),
        (220, 256),
        "aasci",
        1.5,
        offset_y=(-5, 5),
    ),
    Family(
        "head and neck",
        ("lung_apex", -45, 10),
        ("vertex", -10, 70),
        (220, 320),
        (230, 260),
        "aasc",
        1.1,
    ),
    Family(
        "neck",
        ("lung_apex", -50, 0),
        ("chin", 45, 110),
        (180, 300),
        (170, 230),
        "asc",
        0.5,
        offset_y=(-15, 0),
    ),
    Family("chest", ("liver_dome", -90, 0), ("lung_apex", -15, 40), planes="aaci", weight=4.0),
    Family("abdomen", ("iliac_crest", -35, 25), ("liver_dome", -5, 45), planes="aaci", weight=2.3),
    Family("pelvis", ("ischium", -45, 15), ("iliac_crest", -20, 45), planes="aacsi", weight=2.6),
    Family("thighs", ("knee", 20, 120), ("ischium", -60, 30), planes="ac", weight=0.6),
    Family(
        "knee",
        ("knee", -110, -60),
        ("knee", 60, 110),
        (140, 190),
        (150, 190),
        "asc",
        2.0,
        offset_x=(85, 110),
    ),
    Family("calves", ("ankle", -180, 40), ("knee", -60, 20), planes="ac", weight=0.5),
    Family("legs", ("sole", -120, -10), ("ischium", -20, 80), planes="ca", weight=0.35),
    Family(
        "spine, lumbar",
        ("iliac_crest", -110, -50),
        ("liver_dome", -60, 20),
        (55, 120),
        (100, 180),
        "sssa",
        2.3,
        side_region="spine",
        offset_y=(-62, -35),
    ),
    Family(
        "spine, thoracic",
        ("iliac_crest", 60, 120),
        ("lung_apex", 0, 30),
        (55, 120),
        (100, 180),
        "ssa",
        1.6,
        side_region="spine",
        offset_y=(-72, -45),
    ),
    Family(
        "spine, cervical",
        ("lung_apex", -60, -15),
        ("chin", 75, 120),
        (55, 120),
        (100, 180),
        "ssa",
        1.3,
        side_region="spine",
        offset_y=(-40, -15),
    ),
    Family(
        "spine, whole",
        ("iliac_crest", -120, -60),
        ("chin", 75, 120),
        (60, 120),
        (130, 180),
        "s",
        0.9,
        side_region="spine",
        offset_y=(-55, -35),
    ),
    Family("beyond the head", ("vertex", 15, 60), ("vertex", 180, 320), planes="ac", weight=0.8),
    Family(
        "prostate", ("ischium", 5, 25), ("ischium", 100, 140), (160, 200), (150, 200), "aas", 0.6
    ),
    Family(
        "heart",
        ("liver_dome", -20, 0),
        ("liver_dome", 105, 140),
        (230, 300),
        (190, 240),
        "aac",
        0.8,
        offset_x=(-35, -10),
        offset_y=(5, 25),
    ),
    Family(
        "brain",
        ("chin", 75, 95),
        ("vertex", -25, 30),
        (170, 200),
        (205, 230),
        "aai",
        0.4,
        offset_y=(-8, 0),
    ),
)
"""The kinds of field of view; by their weights all regions have similar numbers of slices, and none about one
in fifteen."""

SMALL: tuple[Family, ...] = (
    Family(
        "prostate, close",
        ("ischium", 5, 25),
        ("ischium", 75, 110),
        (120, 180),
        (120, 180),
        "aaasc",
        1.5,
        offset_y=(-25, 10),
    ),
    Family(
        "knee, close",
        ("knee", -75, -45),
        ("knee", 45, 80),
        (110, 160),
        (120, 165),
        "sssac",
        1.6,
        offset_x=(85, 115),
    ),
    Family(
        "hip, one",
        ("ischium", -30, 20),
        ("ischium", 110, 170),
        (150, 220),
        (150, 220),
        "acs",
        1.0,
        offset_x=(75, 105),
    ),
    Family(
        "shoulder",
        ("lung_apex", -140, -90),
        ("lung_apex", 10, 60),
        (140, 190),
        (140, 190),
        "aaccs",
        1.2,
        offset_x=(140, 175),
    ),
    Family(
        "heart, close",
        ("liver_dome", -20, 15),
        ("liver_dome", 85, 130),
        (140, 260),
        (130, 220),
        "aaac",
        6.0,
        offset_x=(-40, -5),
        offset_y=(5, 30),
    ),
    Family(
        "breast, one",
        ("liver_dome", -12, 10),
        ("liver_dome", 110, 170),
        (70, 140),
        (130, 190),
        "ssssa",
        1.5,
        offset_x=(75, 110),
        offset_y=(50, 95),
        hanging=True,
    ),
    Family(
        "breasts",
        ("liver_dome", -12, 10),
        ("liver_dome", 110, 170),
        (300, 370),
        (150, 260),
        "aaai",
        1.0,
        offset_y=(30, 80),
        hanging=True,
    ),
    Family(
        "foot",
        ("sole", -40, -15),
        ("ankle", 10, 130),
        (100, 150),
        (180, 270),
        "sssac",
        0.6,
        offset_x=(80, 120),
        offset_y=(20, 60),
    ),
    Family(
        "thigh, one",
        ("knee", 60, 200),
        ("ischium", -60, 110),
        (180, 260),
        (180, 250),
        "aaacs",
        1.0,
        offset_x=(80, 120),
    ),
    Family(
        "one leg",
        ("knee", -220, 40),
        ("knee", 120, 330),
        (150, 220),
        (160, 230),
        "aac",
        0.7,
        offset_x=(80, 110),
    ),
    Family(
        "head, any",
        ("chin", 0, 100),
        ("vertex", -25, 60),
        (160, 270),
        (190, 270),
        "aaasci",
        3.0,
        offset_y=(-10, 10),
    ),
    Family(
        "brain, close",
        ("chin", 90, 120),
        ("vertex", -60, -15),
        (100, 170),
        (110, 190),
        "aaisc",
        1.5,
        offset_y=(-30, 20),
    ),
    Family(
        "brain alone",
        ("chin", 40, 70),
        ("vertex", -12, 15),
        (160, 200),
        (190, 230),
        "aaiisc",
        2.2,
        offset_y=(-8, 4),
    ),
    Family(
        "brain, inside",
        ("chin", 75, 105),
        ("vertex", -90, -50),
        (70, 120),
        (75, 125),
        "aaiisc",
        1.6,
        offset_y=(-30, 25),
    ),
    Family(
        "neck, close",
        ("lung_apex", -10, 40),
        ("chin", 10, 80),
        (120, 200),
        (120, 200),
        "aas",
        1.4,
        offset_y=(-35, 5),
    ),
    Family(
        "prostate, sagittal",
        ("ischium", -60, 5),
        ("ischium", 90, 150),
        (50, 95),
        (150, 220),
        "s",
        1.6,
        offset_y=(-25, 15),
    ),
    Family(
        "strip of the lumbar spine",
        ("iliac_crest", -90, -10),
        ("iliac_crest", 60, 190),
        (40, 75),
        (50, 110),
        "sai",
        0.6,
        side_region="spine",
        offset_y=(-75, -45),
    ),
    Family(
        "strip of the cord",
        ("lung_apex", -10, 40),
        ("chin", 30, 80),
        (45, 75),
        (45, 80),
        "aais",
        0.6,
        side_region="spine",
        offset_y=(-40, -15),
    ),
)
"""Tight fields of view of one organ, whose edges lie inside the body."""

VERTEBRA, BOX, LEG_MASS = "vertebra", "tight box", "leg with a mass"
LEG_MASS_FIELDS = 0.5  # of the small fields of view of people with a mass in a leg
SWELLING_FIELDS = 0.5  # of those of people whose mass deforms the leg
ANYWHERE: dict[str, float] = {VERTEBRA: 0.6, BOX: 4.0}
"""Tight fields of view with a random middle, and their weights: a cut-out of the spine, and a box anywhere in
the body."""


def small_family(person: Person, marks: Landmarks, rng: np.random.Generator) -> Family:
    """One of SMALL, or of ANYWHERE at a random place: for a box the regions of the chain are equally likely,
    then the heights in one.

    For people with a mass in a leg, half of the small fields show the mass.
    """
    if person.morph.swelling is not None and rng.random() < SWELLING_FIELDS:
        return _about_swelling(person, person.morph.swelling, rng)
    mass = leg_mass(person)
    if mass is not None and rng.random() < LEG_MASS_FIELDS:
        return _about_mass(person, mass[1], mass[2], rng)
    pool: list[Family | str] = [*SMALL, *ANYWHERE]
    weights = np.array(
        [*(family.weight * _likely(family, person) for family in SMALL), *ANYWHERE.values()]
    )
    chosen = pool[rng.choice(len(pool), p=weights / weights.sum())]
    if isinstance(chosen, Family):
        return _about_breasts(chosen, person, rng) if chosen.hanging and person.prone else chosen
    return _vertebra(marks, rng) if chosen == VERTEBRA else _box(person, marks, rng)


def named_field(name: str, person: Person, rng: np.random.Generator) -> Family:
    """The family of SMALL with that name; for a prone woman, breasts as they hang.  Raises ValueError for an
    unknown name."""
    known = {family.name: family for family in SMALL}
    if name not in known:
        raise ValueError(
            f"{name!r}: no tight field of view has that name; known are {', '.join(known)}"
        )
    family = known[name]
    return _about_breasts(family, person, rng) if family.hanging and person.prone else family


def _likely(family: Family, person: Person) -> float:
    """Factor on the weight of a family for a person: breasts of a prone woman 7, of other people below 1.

    One tight field in ten then shows breasts, four in five of these hanging.
    """
    if not family.hanging:
        return 1.0
    return 7.0 if person.prone else 0.4 if person.female else 0.15


def ends(
    low_mm: float, high_mm: float
) -> tuple[tuple[str, float, float], tuple[str, float, float]]:
    """The two ends of a field at those heights above the soles, neither drawn at random."""
    return ("sole", low_mm, low_mm), ("sole", high_mm, high_mm)


def _about_mass(
    person: Person, middle: tuple[float, ...], across_mm: float, rng: np.random.Generator
) -> Family:
    """A field of one leg and the mass in it, its ends 2 to 15 cm beyond the mass."""
    low, high = (
        person.morph.height_mm(middle[2] + sign * (0.75 * across_mm + rng.uniform(20, 150)))
        for sign in (-1, 1)
    )
    x = float(np.clip(middle[0] + np.sign(middle[0]) * rng.uniform(-10, 20), -130, 130))
    return Family(
        LEG_MASS,
        *ends(low, high),
        (170, 270),
        (170, 260),
        "aaaacs",
        offset_x=(x, x),
        either_side=False,
    )


def _about_swelling(person: Person, mass: Swelling, rng: np.random.Generator) -> Family:
    """A field of one leg with a mass that deforms it: from 2 cm beyond the mass to the whole thigh with hip
    and knee, often off centre, so that a side of the leg is cut off."""
    low, high = (
        person.morph.height_mm(mass.middle[2] + sign * (mass.half_mm + rng.uniform(20, 220)))
        for sign in (-1, 1)
    )
    x = float(np.clip(mass.middle[0] + np.sign(mass.middle[0]) * rng.uniform(-40, 40), -150, 150))
    return Family(
        LEG_MASS,
        *ends(low, high),
        (180, 400),
        (180, 380),
        "aaaaaacs",
        offset_x=(x, x),
        offset_y=(-40, 30),
        either_side=False,
    )


BELOW_THE_DOME = 0.06
"""Largest share of the height of a breast field below the liver's dome: what it shows there is still breast
and chest wall."""


def _about_breasts(family: Family, person: Person, rng: np.random.Generator) -> Family:
    """The family for the breasts of a prone woman, base to nipple, with air in front; one includes little
    behind, both the front of the heart.

    The field of one breast ends between 12 mm within its edge and 35 mm beyond it on either side.
    """
    if of_a_kind(person):
        return _about_own_breasts(family, person, rng)
    one, (wide, deep) = family.offset_x[0] > 0, person.morph.trunk
    whole = breast(person, 1)
    behind, air = rng.uniform(10, 75) if one else rng.uniform(70, 150), rng.uniform(10, 55)
    back, front = whole.base[1] * deep - behind, whole.tip[1] * deep + air
    tall, beside, x = rng.uniform((0.95, -25, -8), (1.4, 70, 8)).tolist()
    z = whole.base[2] + whole.lean[1] / 2
    low, high = (person.morph.height_mm(z + sign * (tall * whole.half[1] + 8)) for sign in (-1, 1))
    dome = person.morph.height_mm(dome_mm(person))
    low = max(low, dome - BELOW_THE_DOME * (high - dome))
    across = (2 * whole.half[0] * wide + beside,) * 2 if one else family.wide
    middle = (back + front) / 2 / deep
    return replace(
        family,
        low=("sole", low, low),
        high=("sole", high, high),
        wide=across,
        deep=(front - back,) * 2,
        offset_x=(whole.base[0] + x,) * 2 if one else family.offset_x,
        offset_y=(middle, middle),
    )


def _about_own_breasts(family: Family, person: Person, rng: np.random.Generator) -> Family:
    """The same for a woman with breasts `of_a_kind`: boxes of all sizes, with little or much of the chest
    wall."""
    field = field_about(person, family.offset_x[0] > 0, rng)
    dome = person.morph.height_mm(dome_mm(person))
    x, y, _ = ((field.low_mm + field.high_mm) / 2).tolist()
    wide, deep = ((field.high_mm - field.low_mm)[:2] * person.morph.trunk).tolist()
    lowest, highest = float(field.low_mm[2]), float(field.high_mm[2])
    low, high = ends(max(lowest, dome - BELOW_THE_DOME * (highest - dome)), highest)
    return replace(
        family,
        low=low,
        high=high,
        wide=(wide, wide),
        deep=(deep, deep),
        planes=field.planes,
        offset_x=(x, x),
        offset_y=(y, y),
        either_side=False,
    )


def _vertebra(marks: Landmarks, rng: np.random.Generator) -> Family:
    """A cube of some centimetres on the spine, anywhere from 6 cm below the iliac crest to the chin."""
    z, tall = rng.uniform(marks.iliac_crest - 60, marks.chin), rng.uniform(22, 55)
    return Family(
        VERTEBRA,
        *ends(z - tall, z + tall),
        (55, 100),
        (55, 110),
        "iis",
        side_region="spine",
        offset_y=(-60, -35),
    )


STRIP_SHARE = 0.25
# a strip of 10 cm about a point that far from the middle ends 25 mm from it, where vertebrae end
BESIDE_THE_SPINE_MM = 75.0


def _box(person: Person, marks: Landmarks, rng: np.random.Generator) -> Family:
    """A box of 10 to 26 cm about a point of the body; one in four is a strip of 4 to 10 cm, if it is off the
    spine and shows none of it."""
    rung = int(rng.integers(len(marks.borders_mm) - 1))
    z = rng.uniform(marks.borders_mm[rung], marks.borders_mm[rung + 1])
    x, y = _point_of_the_body(person, z, rng)
    offset_x, offset_y = as_offsets(person, x, y)
    half, wide, deep = rng.uniform(100, 260, 3) / [2, 1, 1]
    if rng.random() < STRIP_SHARE and (
        abs(x) > BESIDE_THE_SPINE_MM or not marks.iliac_crest < z < marks.chin
    ):
        wide = rng.uniform(40, 100)
    return Family(
        BOX,
        *ends(z - half, z + half),
        (wide, wide),
        (deep, deep),
        "aacsi",
        offset_x=offset_x,
        offset_y=offset_y,
        either_side=not person.placed,
    )


def as_offsets(
    person: Person, x_mm: float, y_mm: float
) -> tuple[tuple[float, float], tuple[float, float]]:
    """The `offset_x` and `offset_y` of a family about a point of the person; a plan scales them by the width
    of the trunk.

    Recipes before 16 did not undo that scaling: boxes then lay up to 5 cm from their points, a third of them
    1 cm or more.
    """
    wide, deep = person.morph.trunk if person.placed else (1.0, 1.0)
    x, y = x_mm / wide, (y_mm or 1.0) / deep  # 0 stands for no offset
    return (x, x), (y, y)


def _point_of_the_body(
    person: Person, z_mm: float, rng: np.random.Generator
) -> tuple[float, float]:
    """x, y in mm of a random point of the body at that height, on a lattice of 12 mm; the middle if there is
    none."""
    affine = np.diag([12.0, 12.0, 12.0, 1.0])
    affine[:3, 3] = -264, -192, z_mm
    places = np.argwhere(label_volume(person, Grid((45, 33, 1), affine)).labels[:, :, 0] != AIR)
    if not len(places):
        return 0.0, 1.0
    x, y = places[rng.integers(len(places))] * 12.0 - (264.0, 192.0)
    return float(x), float(y)


def choose_families(volumes: int, rng: np.random.Generator) -> list[Family]:
    """The fields of view of one person's volumes: the first covers several regions, and none is repeated
    while others are left."""
    chosen: list[Family] = []
    for at in range(volumes):
        pool = [
            family for family in FAMILIES if family not in chosen and family.long == (at == 0)
        ] or list(FAMILIES)
        chosen.append(one_of(pool, rng))
    return chosen


def one_of(pool: Sequence[Family], rng: np.random.Generator) -> Family:
    """One of the families, by their weights."""
    weights = np.array([family.weight for family in pool])
    return pool[rng.choice(len(pool), p=weights / weights.sum())]
