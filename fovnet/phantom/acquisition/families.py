"""Fields of view: from a vertebra to the whole body.

A family defines the landmarks from which the two ends of its field of view along the body are
measured; the rest is drawn at random.  The families are rows of families.tsv: in its column
`flags`, "long" stands for `is_long`, "breasts" for `shows_breasts`, and "one-sided" for a field
that is not `mirrored`.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import NamedTuple

import numpy as np

from fovnet.phantom.acquisition.breast_fields import draw_breast_field
from fovnet.phantom.anatomy.belly import written_liver_dome_mm
from fovnet.phantom.anatomy.body import Landmarks, label_volume
from fovnet.phantom.anatomy.breast import breast_dome
from fovnet.phantom.anatomy.lesions import draw_leg_mass
from fovnet.phantom.geometry.raster import Grid
from fovnet.phantom.person.breast_shapes import of_a_kind
from fovnet.phantom.person.swelling import Swelling
from fovnet.phantom.person.traits import Person
from fovnet.phantom.scanner.tissues import AIR
from fovnet.records import read_tsv

Span = tuple[float, float]
"""Least and most of what is drawn, mm."""


class FieldEnd(NamedTuple):
    """An end of a field of view along the body: from `least_mm` to `most_mm` above a landmark."""

    landmark: str
    least_mm: float
    most_mm: float


@dataclass(frozen=True)
class Family:
    """A kind of field of view.

    lower_end      of the field along the body
    upper_end      of the field along the body
    width_mm       least and most across; 0 stands for the size of the person
    depth_mm       least and most front to back; 0 stands for the size of the person
    planes         it is acquired in, a letter each: a axial, c coronal, s sagittal, i isotropic
    weight         relative frequency
    is_long        whether it covers several regions
    side_region    the region outside the chain that it is labelled as ("spine"), or ""
    offset_x_mm    least and most of its middle to the right; above 0 is a part on either side,
                   such as a knee
    offset_y_mm    least and most of its middle to the front
    shows_breasts  whether it shows breasts, received by a breast coil
    mirrored       whether a field with offset_x_mm > 0 is on the left as often as on the right
    """

    name: str
    lower_end: FieldEnd
    upper_end: FieldEnd
    width_mm: Span = (0.0, 0.0)
    depth_mm: Span = (0.0, 0.0)
    planes: str = "aaci"
    weight: float = 1.0
    is_long: bool = False
    side_region: str = ""
    offset_x_mm: Span = (0.0, 0.0)
    offset_y_mm: Span = (0.0, 0.0)
    shows_breasts: bool = False
    mirrored: bool = True


def _parse_span(cell: str) -> Span:
    """The span "least..most" of a cell of families.tsv, (0, 0) of an empty one."""
    least, _, most = cell.partition("..")
    return (float(least), float(most)) if cell else (0.0, 0.0)


def _parse_family(row: Mapping[str, str]) -> Family:
    """The family of one row of families.tsv."""
    family_flags = row["flags"].split()
    return Family(
        name=row["name"],
        lower_end=FieldEnd(row["lower_end"], *_parse_span(row["above_lower_end_mm"])),
        upper_end=FieldEnd(row["upper_end"], *_parse_span(row["above_upper_end_mm"])),
        width_mm=_parse_span(row["width_mm"]),
        depth_mm=_parse_span(row["depth_mm"]),
        planes=row["planes"],
        weight=float(row["weight"]),
        is_long="long" in family_flags,
        side_region=row["side_region"],
        offset_x_mm=_parse_span(row["offset_x_mm"]),
        offset_y_mm=_parse_span(row["offset_y_mm"]),
        shows_breasts="breasts" in family_flags,
        mirrored="one-sided" not in family_flags,
    )


_FAMILY_ROWS = read_tsv(Path(__file__).with_name("families.tsv"))


def families_of(table: str) -> tuple[Family, ...]:
    """The families of one table in families.tsv: "usual", "small", "organ" or "localiser"."""
    return tuple(_parse_family(row) for row in _FAMILY_ROWS if row["table"] == table)


FAMILIES = families_of("usual")
"""The kinds of field of view; by their weights all regions have similar numbers of slices, and none
about one in fifteen."""

SMALL_FAMILIES = families_of("small")
"""Tight fields of view of one organ, whose edges lie inside the body."""

VERTEBRA_FIELD = "vertebra"
BOX_FIELD = "tight box"
LEG_MASS_FIELD = "leg with a mass"
LEG_MASS_FIELD_SHARE = 0.5  # of the small fields of view of people with a mass in a leg
SWELLING_FIELD_SHARE = 0.5  # of those of people whose mass deforms the leg
WEIGHT_BY_PLACE: dict[str, float] = {VERTEBRA_FIELD: 0.6, BOX_FIELD: 4.0}
"""Tight fields of view with a random middle, and their weights: a cut-out of the spine, and a box
anywhere in the body."""


class ScanRequest(NamedTuple):
    """What a volume is asked for.

    person   who is scanned
    marks    this person's landmarks
    number   of the volume among this person's, from 0; the first covers several regions
    without  features that the run leaves out, also of the body by which fields and coils are placed
    """

    person: Person
    marks: Landmarks
    number: int
    without: frozenset[str]


def draw_small_family(request: ScanRequest, rng: np.random.Generator) -> Family:
    """One of SMALL_FAMILIES, or a field at a random place: for a box the regions of the chain are
    equally likely, then the heights in one.

    For people with a mass in a leg, half of the small fields show the mass.
    """
    person = request.person
    if person.morph.swelling is not None and rng.random() < SWELLING_FIELD_SHARE:
        return _draw_field_about_swelling(person, person.morph.swelling, rng)
    mass = draw_leg_mass(person)
    if mass is not None and rng.random() < LEG_MASS_FIELD_SHARE:
        return _draw_field_about_mass(person, mass.middle, mass.across_mm, rng)
    families_and_places: list[Family | str] = [*SMALL_FAMILIES, *WEIGHT_BY_PLACE]
    family_weights = np.array(
        [
            *(family.weight * _weight_factor(family, person) for family in SMALL_FAMILIES),
            *WEIGHT_BY_PLACE.values(),
        ]
    )
    family_or_place = families_and_places[
        rng.choice(len(families_and_places), p=family_weights / family_weights.sum())
    ]
    if isinstance(family_or_place, Family):
        return _adapt_to_person(family_or_place, person, rng)
    if family_or_place == VERTEBRA_FIELD:
        return _draw_vertebra_field(request.marks, rng)
    return draw_box_field(request, rng)


def draw_field_by_name(name: str, person: Person, rng: np.random.Generator) -> Family:
    """The family of SMALL_FAMILIES with that name; for a prone woman, breasts as they hang.  Raises
    ValueError for an unknown name."""
    family_by_name = {family.name: family for family in SMALL_FAMILIES}
    if name not in family_by_name:
        raise ValueError(
            f"{name!r}: no tight field of view has that name; known are {', '.join(family_by_name)}"
        )
    return _adapt_to_person(family_by_name[name], person, rng)


def _adapt_to_person(family: Family, person: Person, rng: np.random.Generator) -> Family:
    """The family, for a prone woman about her breasts as they hang."""
    if family.shows_breasts and person.prone:
        return draw_field_about_breasts(family, person, rng)
    return family


def _weight_factor(family: Family, person: Person) -> float:
    """Factor on the weight of a family for a person: breasts of a prone woman 7, of other people
    below 1.

    One tight field in ten then shows breasts, four in five of these hanging.
    """
    if not family.shows_breasts:
        return 1.0
    if person.prone:
        return 7.0
    return 0.4 if person.female else 0.15


def ends_at_heights(low_mm: float, high_mm: float) -> tuple[FieldEnd, FieldEnd]:
    """The two ends of a field at those heights above the soles, neither drawn at random."""
    return FieldEnd("sole", low_mm, low_mm), FieldEnd("sole", high_mm, high_mm)


def _draw_field_about_mass(
    person: Person, middle_mm: tuple[float, ...], across_mm: float, rng: np.random.Generator
) -> Family:
    """A field of one leg and the mass in it, its ends 2 to 15 cm beyond the mass."""
    low_mm, high_mm = (
        person.morph.height_mm(middle_mm[2] + sign * (0.75 * across_mm + rng.uniform(20, 150)))
        for sign in (-1, 1)
    )
    middle_x = float(
        np.clip(middle_mm[0] + np.sign(middle_mm[0]) * rng.uniform(-10, 20), -130, 130)
    )
    return Family(
        LEG_MASS_FIELD,
        *ends_at_heights(low_mm, high_mm),
        width_mm=(170, 270),
        depth_mm=(170, 260),
        planes="aaaacs",
        offset_x_mm=(middle_x, middle_x),
        mirrored=False,
    )


def _draw_field_about_swelling(person: Person, mass: Swelling, rng: np.random.Generator) -> Family:
    """A field of one leg with a mass that deforms it: from 2 cm beyond the mass to the whole thigh
    with hip and knee, often off centre, so that a side of the leg is cut off."""
    low_mm, high_mm = (
        person.morph.height_mm(mass.middle[2] + sign * (mass.half_mm + rng.uniform(20, 220)))
        for sign in (-1, 1)
    )
    middle_x = float(
        np.clip(mass.middle[0] + np.sign(mass.middle[0]) * rng.uniform(-40, 40), -150, 150)
    )
    return Family(
        LEG_MASS_FIELD,
        *ends_at_heights(low_mm, high_mm),
        width_mm=(180, 400),
        depth_mm=(180, 380),
        planes="aaaaaacs",
        offset_x_mm=(middle_x, middle_x),
        offset_y_mm=(-40, 30),
        mirrored=False,
    )


BELOW_THE_DOME = 0.06
"""Largest share of the height of a breast field below the liver's dome: what it shows there is
still breast and chest wall."""


def draw_field_about_breasts(family: Family, person: Person, rng: np.random.Generator) -> Family:
    """The family for the breasts of a prone woman, base to nipple, with air in front; one includes
    little behind, both the front of the heart.

    The field of one breast ends between 12 mm within its edge and 35 mm beyond it on either side.
    """
    if of_a_kind(person):
        return _draw_field_about_shaped_breasts(family, person, rng)
    is_of_one = family.offset_x_mm[0] > 0
    trunk_width, trunk_depth = person.morph.trunk
    dome = breast_dome(person, 1)
    behind_mm = rng.uniform(10, 75) if is_of_one else rng.uniform(70, 150)
    air_mm = rng.uniform(10, 55)
    back_mm = dome.base[1] * trunk_depth - behind_mm
    front_mm = dome.tip[1] * trunk_depth + air_mm
    height_share, margin_mm, shift_mm = rng.uniform((0.95, -25, -8), (1.4, 70, 8)).tolist()
    middle_z = dome.base[2] + dome.lean[1] / 2
    low_mm, high_mm = (
        person.morph.height_mm(middle_z + sign * (height_share * dome.half[1] + 8))
        for sign in (-1, 1)
    )
    liver_dome_mm = person.morph.height_mm(written_liver_dome_mm(person))
    low_mm = max(low_mm, liver_dome_mm - BELOW_THE_DOME * (high_mm - liver_dome_mm))
    lower_end, upper_end = ends_at_heights(low_mm, high_mm)
    offset_y_mm = (back_mm + front_mm) / 2 / trunk_depth
    family = replace(
        family,
        lower_end=lower_end,
        upper_end=upper_end,
        depth_mm=(front_mm - back_mm,) * 2,
        offset_y_mm=(offset_y_mm, offset_y_mm),
    )
    if not is_of_one:
        return family
    return replace(
        family,
        width_mm=(2 * dome.half[0] * trunk_width + margin_mm,) * 2,
        offset_x_mm=(dome.base[0] + shift_mm,) * 2,
    )


def _draw_field_about_shaped_breasts(
    family: Family, person: Person, rng: np.random.Generator
) -> Family:
    """The same for a woman with breasts `of_a_kind`: boxes of all sizes, with little or much of the
    chest wall."""
    field = draw_breast_field(person, family.offset_x_mm[0] > 0, rng)
    liver_dome_mm = person.morph.height_mm(written_liver_dome_mm(person))
    x, y, _ = ((field.low_mm + field.high_mm) / 2).tolist()
    width_mm, depth_mm = ((field.high_mm - field.low_mm)[:2] * person.morph.trunk).tolist()
    lowest_mm = float(field.low_mm[2])
    highest_mm = float(field.high_mm[2])
    lower_end, upper_end = ends_at_heights(
        max(lowest_mm, liver_dome_mm - BELOW_THE_DOME * (highest_mm - liver_dome_mm)), highest_mm
    )
    return replace(
        family,
        lower_end=lower_end,
        upper_end=upper_end,
        width_mm=(width_mm, width_mm),
        depth_mm=(depth_mm, depth_mm),
        planes=field.planes,
        offset_x_mm=(x, x),
        offset_y_mm=(y, y),
        mirrored=False,
    )


def _draw_vertebra_field(marks: Landmarks, rng: np.random.Generator) -> Family:
    """A cube of some centimetres on the spine, anywhere from 6 cm below the iliac crest to the
    chin."""
    z = rng.uniform(marks.iliac_crest - 60, marks.chin)
    half_height_mm = rng.uniform(22, 55)
    return Family(
        VERTEBRA_FIELD,
        *ends_at_heights(z - half_height_mm, z + half_height_mm),
        width_mm=(55, 100),
        depth_mm=(55, 110),
        planes="iis",
        side_region="spine",
        offset_y_mm=(-60, -35),
    )


STRIP_SHARE = 0.25
# a strip of 10 cm about a point that far from the middle ends 25 mm from it, where vertebrae end
BESIDE_THE_SPINE_MM = 75.0


def draw_box_field(request: ScanRequest, rng: np.random.Generator) -> Family:
    """A box of 10 to 26 cm about a point of the body; one in four is a strip of 4 to 10 cm, if it
    is off the spine and shows none of it."""
    person, marks, *_ = request
    region_index = int(rng.integers(len(marks.borders_mm) - 1))
    z = rng.uniform(marks.borders_mm[region_index], marks.borders_mm[region_index + 1])
    x, y = _draw_body_point(request, z, rng)
    offset_x_mm, offset_y_mm = field_offsets(person, x, y)
    half_height_mm, width_mm, depth_mm = rng.uniform(100, 260, 3) / [2, 1, 1]
    shows_no_spine = abs(x) > BESIDE_THE_SPINE_MM or not marks.iliac_crest < z < marks.chin
    if rng.random() < STRIP_SHARE and shows_no_spine:
        width_mm = rng.uniform(40, 100)
    return Family(
        BOX_FIELD,
        *ends_at_heights(z - half_height_mm, z + half_height_mm),
        width_mm=(width_mm, width_mm),
        depth_mm=(depth_mm, depth_mm),
        planes="aacsi",
        offset_x_mm=offset_x_mm,
        offset_y_mm=offset_y_mm,
        mirrored=not person.placed,
    )


def field_offsets(person: Person, x_mm: float, y_mm: float) -> tuple[Span, Span]:
    """The `offset_x_mm` and `offset_y_mm` of a family about a point of the person; a plan scales
    them by the width of the trunk.

    Recipes before 16 did not undo that scaling: boxes then lay up to 5 cm from their points, a
    third of them 1 cm or more.
    """
    width_factor, depth_factor = person.morph.trunk if person.placed else (1.0, 1.0)
    offset_x_mm = x_mm / width_factor
    offset_y_mm = (y_mm or 1.0) / depth_factor  # 0 stands for no offset
    return (offset_x_mm, offset_x_mm), (offset_y_mm, offset_y_mm)


def _draw_body_point(
    request: ScanRequest, z_mm: float, rng: np.random.Generator
) -> tuple[float, float]:
    """x, y in mm of a random point of the body at that height, on a lattice of 12 mm; the middle if
    there is none."""
    affine = np.diag([12.0, 12.0, 12.0, 1.0])
    affine[:3, 3] = -264, -192, z_mm
    label_slice = label_volume(request.person, Grid((45, 33, 1), affine), request.without)
    body_points = np.argwhere(label_slice.labels[:, :, 0] != AIR)
    if not len(body_points):
        return 0.0, 1.0
    x, y = body_points[rng.integers(len(body_points))] * 12.0 - (264.0, 192.0)
    return float(x), float(y)


def choose_families(volumes: int, rng: np.random.Generator) -> list[Family]:
    """The fields of view of one person's volumes: the first covers several regions, and none is
    repeated while others are left."""
    chosen_families: list[Family] = []
    for volume_index in range(volumes):
        unused_families = [
            family
            for family in FAMILIES
            if family not in chosen_families and family.is_long == (volume_index == 0)
        ]
        chosen_families.append(draw_family(unused_families or FAMILIES, rng))
    return chosen_families


def draw_family(pool: Sequence[Family], rng: np.random.Generator) -> Family:
    """One of the families, by their weights."""
    family_weights = np.array([family.weight for family in pool])
    return pool[rng.choice(len(pool), p=family_weights / family_weights.sum())]
