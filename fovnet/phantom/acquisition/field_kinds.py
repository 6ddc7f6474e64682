"""Fields of view: from a vertebra to the whole body.

A kind defines the landmarks from which the two ends of its field of view along the body are
measured; the rest is drawn at random.  The kinds are rows of fields_of_view.tsv: in its column
`flags`, "long" stands for `is_long`, "breasts" for `shows_breasts`, and "one-sided" for a field
that is not `is_on_either_side`.  What its column `source` names is in the README of the simulator.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import NamedTuple

import numpy as np

from fovnet.phantom.acquisition.breast_fields import draw_breast_field
from fovnet.phantom.anatomy.belly import liver_dome_height_mm
from fovnet.phantom.anatomy.body import Landmarks, label_volume
from fovnet.phantom.anatomy.breast import breast_dome
from fovnet.phantom.anatomy.lesions import draw_leg_mass
from fovnet.phantom.geometry.raster import Grid
from fovnet.phantom.person.breast_shapes import has_shaped_breasts
from fovnet.phantom.person.swelling import Swelling
from fovnet.phantom.person.traits import Person
from fovnet.phantom.scanner.tissues import AIR
from fovnet.records import read_tsv

RangeMm = tuple[float, float]
"""Least and most, mm, of a length that is drawn at random."""


class FieldEnd(NamedTuple):
    """An end of a field of view along the body: from `least_mm` to `most_mm` above a landmark, half of
    them below `median_mm`; without a median, all lengths between are equally likely."""

    landmark: str
    least_mm: float
    most_mm: float
    median_mm: float | None = None

    def draw_mm(self, rng: np.random.Generator) -> float:
        """A distance above the landmark."""
        if self.median_mm is None:
            return rng.uniform(self.least_mm, self.most_mm)
        quantiles_mm = (self.least_mm, self.median_mm, self.most_mm)
        return float(np.interp(rng.random(), (0.0, 0.5, 1.0), quantiles_mm))


@dataclass(frozen=True)
class FieldKind:
    """A kind of field of view; each acquisition draws its own lengths from the ranges.

    lower_end          along the body
    upper_end          along the body
    width_range_mm     least and most across; 0 stands for the size of the person
    depth_range_mm     least and most front to back; 0 stands for the size of the person
    plane_letters      planes it is acquired in, one of them is drawn: a axial, c coronal, s sagittal, i
                       isotropic
    weight             relative frequency
    is_long            whether it covers several regions
    side_region        the region outside the chain that it is labelled as ("spine"), or ""
    offset_x_range_mm  least and most of its middle to the right; above 0 is a part on either side,
                       such as a knee
    offset_y_range_mm  least and most of its middle to the front
    shows_breasts      whether it shows breasts, received by a breast coil
    is_on_either_side  whether a field of a part on either side is on the left as often as on the right
    """

    name: str
    lower_end: FieldEnd
    upper_end: FieldEnd
    width_range_mm: RangeMm = (0.0, 0.0)
    depth_range_mm: RangeMm = (0.0, 0.0)
    plane_letters: str = "aaci"
    weight: float = 1.0
    is_long: bool = False
    side_region: str = ""
    offset_x_range_mm: RangeMm = (0.0, 0.0)
    offset_y_range_mm: RangeMm = (0.0, 0.0)
    shows_breasts: bool = False
    is_on_either_side: bool = True

    @property
    def is_as_wide_as_person(self) -> bool:
        """Whether the width is that of the person."""
        return not self.width_range_mm[1]

    @property
    def is_as_deep_as_person(self) -> bool:
        """Whether the depth is that of the person."""
        return not self.depth_range_mm[1]

    @property
    def is_of_one_side(self) -> bool:
        """Whether it is of a part to the right of the middle, or on either side."""
        return self.offset_x_range_mm[0] > 0

    @property
    def is_offset_in_depth(self) -> bool:
        """Whether its middle has a place of its own between front and back."""
        return bool(self.offset_y_range_mm[0])


def _parse_range(cell: str) -> RangeMm:
    """The range "least..most" of a cell of fields_of_view.tsv, (0, 0) of an empty one."""
    if not cell:
        return 0.0, 0.0
    least, _, most = cell.partition("..")
    return float(least), float(most)


def _parse_end(landmark: str, cell: str) -> FieldEnd:
    """The end at "least..most" or "least..median..most" above a landmark."""
    lengths_mm = [float(length_mm) for length_mm in cell.split("..")]
    median_mm = None
    if len(lengths_mm) == 3:
        median_mm = lengths_mm[1]
    return FieldEnd(landmark, lengths_mm[0], lengths_mm[-1], median_mm)


def _parse_field_kind(row: Mapping[str, str]) -> FieldKind:
    """The kind of field of view of one row of fields_of_view.tsv."""
    flags = row["flags"].split()
    return FieldKind(
        name=row["name"],
        lower_end=_parse_end(row["lower_end"], row["above_lower_end_mm"]),
        upper_end=_parse_end(row["upper_end"], row["above_upper_end_mm"]),
        width_range_mm=_parse_range(row["width_mm"]),
        depth_range_mm=_parse_range(row["depth_mm"]),
        plane_letters=row["planes"],
        weight=float(row["weight"]),
        is_long="long" in flags,
        side_region=row["side_region"],
        offset_x_range_mm=_parse_range(row["offset_x_mm"]),
        offset_y_range_mm=_parse_range(row["offset_y_mm"]),
        shows_breasts="breasts" in flags,
        is_on_either_side="one-sided" not in flags,
    )


_FIELD_ROWS = read_tsv(Path(__file__).with_name("fields_of_view.tsv"))


def field_kinds_of(table: str) -> tuple[FieldKind, ...]:
    """The kinds of one table in fields_of_view.tsv: "usual", "small", "organ", "localiser",
    "measured" or "limb"."""
    return tuple(_parse_field_kind(row) for row in _FIELD_ROWS if row["table"] == table)


USUAL_FIELDS = field_kinds_of("usual")
"""The kinds of field of view; by their weights all regions have similar numbers of slices, and none
about one in fifteen."""

SMALL_FIELDS = field_kinds_of("small")
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

    person         who is scanned
    marks          this person's landmarks
    volume_number  among this person's, from 0; the first covers several regions
    left_out       features that the run leaves out, also of the body by which fields and coils are
                   placed
    """

    person: Person
    marks: Landmarks
    volume_number: int
    left_out: frozenset[str]


def draw_small_field(request: ScanRequest, rng: np.random.Generator) -> FieldKind:
    """One of SMALL_FIELDS, or a field at a random place: for a box the regions of the chain are
    equally likely, then the heights in one.

    For people with a mass in a leg, half of the small fields show the mass.
    """
    person = request.person
    swelling = person.morph.swelling
    if swelling is not None and rng.random() < SWELLING_FIELD_SHARE:
        return _draw_field_about_swelling(person, swelling, rng)
    mass = draw_leg_mass(person)
    if mass is not None and rng.random() < LEG_MASS_FIELD_SHARE:
        return _draw_field_about_mass(person, mass.middle, mass.diameter_mm, rng)
    choices: list[FieldKind | str] = [*SMALL_FIELDS, *WEIGHT_BY_PLACE]
    weights = np.array(
        [
            *(
                field_kind.weight * _weight_factor(field_kind, person)
                for field_kind in SMALL_FIELDS
            ),
            *WEIGHT_BY_PLACE.values(),
        ]
    )
    choice = choices[rng.choice(len(choices), p=weights / weights.sum())]
    if isinstance(choice, FieldKind):
        return _adapt_to_person(choice, person, rng)
    if choice == VERTEBRA_FIELD:
        return _draw_vertebra_field(request.marks, rng)
    return draw_box_field(request, rng)


def draw_field_by_name(name: str, person: Person, rng: np.random.Generator) -> FieldKind:
    """The kind of SMALL_FIELDS with that name; for a prone woman, breasts as they hang.  Raises
    ValueError for an unknown name."""
    kind_by_name = {field_kind.name: field_kind for field_kind in SMALL_FIELDS}
    if name not in kind_by_name:
        raise ValueError(
            f"{name!r}: no tight field of view has that name; known are {', '.join(kind_by_name)}"
        )
    return _adapt_to_person(kind_by_name[name], person, rng)


def _adapt_to_person(field_kind: FieldKind, person: Person, rng: np.random.Generator) -> FieldKind:
    """The kind as it is; if it shows the breasts of a prone woman, placed about them as they
    hang."""
    if field_kind.shows_breasts and person.is_prone:
        return draw_field_about_breasts(field_kind, person, rng)
    return field_kind


def _weight_factor(field_kind: FieldKind, person: Person) -> float:
    """Factor on the weight of a kind of field for a person: for breasts 7 in a prone woman, below 1
    in other people.

    One tight field in ten then shows breasts, four in five of these hanging.
    """
    if not field_kind.shows_breasts:
        return 1.0
    if person.is_prone:
        return 7.0
    if person.is_female:
        return 0.4
    return 0.15


def ends_at_heights(low_mm: float, high_mm: float) -> tuple[FieldEnd, FieldEnd]:
    """The two ends of a field at those heights above the soles, neither drawn at random."""
    return FieldEnd("sole", low_mm, low_mm), FieldEnd("sole", high_mm, high_mm)


def _draw_field_about_mass(
    person: Person, middle_mm: tuple[float, ...], across_mm: float, rng: np.random.Generator
) -> FieldKind:
    """A field of one leg and a mass in it, `across_mm` wide about a middle (3,) in mm of the written
    anatomy; its ends are 2 to 15 cm beyond the mass."""
    mass_x, _, mass_z = middle_mm
    half_length_mm = 0.75 * across_mm
    low_z = mass_z - (half_length_mm + rng.uniform(20, 150))
    high_z = mass_z + (half_length_mm + rng.uniform(20, 150))
    middle_x = float(np.clip(mass_x + np.sign(mass_x) * rng.uniform(-10, 20), -130, 130))
    return FieldKind(
        LEG_MASS_FIELD,
        *ends_at_heights(person.morph.height_mm(low_z), person.morph.height_mm(high_z)),
        width_range_mm=(170, 270),
        depth_range_mm=(170, 260),
        plane_letters="aaaacs",
        offset_x_range_mm=(middle_x, middle_x),
        is_on_either_side=False,
    )


def _draw_field_about_swelling(
    person: Person, swelling: Swelling, rng: np.random.Generator
) -> FieldKind:
    """A field of one leg with a mass that deforms it: from 2 cm beyond the mass to the whole thigh
    with hip and knee, often off centre, so that a side of the leg is cut off."""
    mass_x, _, mass_z = swelling.middle_mm
    low_z = mass_z - (swelling.half_length_mm + rng.uniform(20, 220))
    high_z = mass_z + (swelling.half_length_mm + rng.uniform(20, 220))
    middle_x = float(np.clip(mass_x + np.sign(mass_x) * rng.uniform(-40, 40), -150, 150))
    return FieldKind(
        LEG_MASS_FIELD,
        *ends_at_heights(person.morph.height_mm(low_z), person.morph.height_mm(high_z)),
        width_range_mm=(180, 400),
        depth_range_mm=(180, 380),
        plane_letters="aaaaaacs",
        offset_x_range_mm=(middle_x, middle_x),
        offset_y_range_mm=(-40, 30),
        is_on_either_side=False,
    )


BELOW_LIVER_DOME_SHARE = 0.06
"""Largest share of the height of a breast field below the liver's dome: what it shows there is
still breast and chest wall."""


def draw_field_about_breasts(
    field_kind: FieldKind, person: Person, rng: np.random.Generator
) -> FieldKind:
    """The kind of field for the breasts of a prone woman, base to nipple, with air in front; one of
    one breast includes little behind, one of both the front of the heart.

    The field of one breast ends between 12 mm within its edge and 35 mm beyond it on either side.
    """
    if has_shaped_breasts(person):
        return _draw_field_about_shaped_breasts(field_kind, person, rng)
    right_breast = breast_dome(person, 1)
    half_width_mm, half_height_mm = right_breast.half_size_mm
    trunk_width, trunk_depth = person.morph.trunk_factors
    behind_range_mm = (70, 150)
    if field_kind.is_of_one_side:
        behind_range_mm = (10, 75)
    behind_mm = rng.uniform(*behind_range_mm)
    air_mm = rng.uniform(10, 55)
    back_mm = right_breast.base[1] * trunk_depth - behind_mm
    front_mm = right_breast.nipple[1] * trunk_depth + air_mm
    height_share, margin_mm, shift_mm = rng.uniform((0.95, -25, -8), (1.4, 70, 8)).tolist()
    middle_z = right_breast.base[2] + right_breast.lean_mm[1] / 2
    half_field_mm = height_share * half_height_mm + 8
    lower_end, upper_end = _ends_above_liver(
        person,
        person.morph.height_mm(middle_z - half_field_mm),
        person.morph.height_mm(middle_z + half_field_mm),
    )
    offset_y_mm = (back_mm + front_mm) / 2 / trunk_depth
    field_kind = replace(
        field_kind,
        lower_end=lower_end,
        upper_end=upper_end,
        depth_range_mm=(front_mm - back_mm, front_mm - back_mm),
        offset_y_range_mm=(offset_y_mm, offset_y_mm),
    )
    if not field_kind.is_of_one_side:
        return field_kind
    width_mm = 2 * half_width_mm * trunk_width + margin_mm
    offset_x_mm = right_breast.base[0] + shift_mm
    return replace(
        field_kind,
        width_range_mm=(width_mm, width_mm),
        offset_x_range_mm=(offset_x_mm, offset_x_mm),
    )


def _ends_above_liver(person: Person, low_mm: float, high_mm: float) -> tuple[FieldEnd, FieldEnd]:
    """The two ends of a breast field between two heights of the person, of which no more than
    BELOW_LIVER_DOME_SHARE is below the liver's dome."""
    liver_dome_mm = person.morph.height_mm(liver_dome_height_mm(person))
    lowest_mm = liver_dome_mm - BELOW_LIVER_DOME_SHARE * (high_mm - liver_dome_mm)
    return ends_at_heights(max(low_mm, lowest_mm), high_mm)


def _draw_field_about_shaped_breasts(
    field_kind: FieldKind, person: Person, rng: np.random.Generator
) -> FieldKind:
    """The kind of field for the breasts of a prone woman with breasts of her own shape: boxes of
    all sizes, with little or much of the chest wall."""
    breast_field = draw_breast_field(person, field_kind.is_of_one_side, rng)
    x, y, _ = ((breast_field.low_mm + breast_field.high_mm) / 2).tolist()
    size_mm = breast_field.high_mm - breast_field.low_mm
    width_mm, depth_mm = (size_mm[:2] * person.morph.trunk_factors).tolist()
    lower_end, upper_end = _ends_above_liver(
        person, float(breast_field.low_mm[2]), float(breast_field.high_mm[2])
    )
    return replace(
        field_kind,
        lower_end=lower_end,
        upper_end=upper_end,
        width_range_mm=(width_mm, width_mm),
        depth_range_mm=(depth_mm, depth_mm),
        plane_letters=breast_field.plane_letters,
        offset_x_range_mm=(x, x),
        offset_y_range_mm=(y, y),
        is_on_either_side=False,
    )


def _draw_vertebra_field(marks: Landmarks, rng: np.random.Generator) -> FieldKind:
    """A cube of some centimetres on the spine, anywhere from 6 cm below the iliac crest to the
    chin."""
    z = rng.uniform(marks.iliac_crest - 60, marks.chin)
    half_height_mm = rng.uniform(22, 55)
    return FieldKind(
        VERTEBRA_FIELD,
        *ends_at_heights(z - half_height_mm, z + half_height_mm),
        width_range_mm=(55, 100),
        depth_range_mm=(55, 110),
        plane_letters="iis",
        side_region="spine",
        offset_y_range_mm=(-60, -35),
    )


STRIP_SHARE = 0.25
# points across the body, of which a random one is the middle of a box
LATTICE_STEP_MM = 12.0
LATTICE_SHAPE = (45, 33)
LATTICE_CORNER_MM = (-264.0, -192.0)
# a strip of 10 cm about a point that far from the middle ends 25 mm from it, where vertebrae end
OFF_SPINE_MM = 75.0


def draw_box_field(request: ScanRequest, rng: np.random.Generator) -> FieldKind:
    """A box of 10 to 26 cm about a point of the body; one in four is a strip of 4 to 10 cm, if it
    is off the spine and shows none of it."""
    person = request.person
    marks = request.marks
    region_index = int(rng.integers(len(marks.borders_mm) - 1))
    z = rng.uniform(marks.borders_mm[region_index], marks.borders_mm[region_index + 1])
    x, y = _draw_body_point(request, z, rng)
    offset_x_range_mm, offset_y_range_mm = field_offsets(person, x, y)
    height_mm, width_mm, depth_mm = rng.uniform(100, 260, 3)
    is_off_spine = abs(x) > OFF_SPINE_MM or not marks.iliac_crest < z < marks.chin
    if rng.random() < STRIP_SHARE and is_off_spine:
        width_mm = rng.uniform(40, 100)
    return FieldKind(
        BOX_FIELD,
        *ends_at_heights(z - height_mm / 2, z + height_mm / 2),
        width_range_mm=(width_mm, width_mm),
        depth_range_mm=(depth_mm, depth_mm),
        plane_letters="aacsi",
        offset_x_range_mm=offset_x_range_mm,
        offset_y_range_mm=offset_y_range_mm,
        is_on_either_side=not person.is_placed_exactly,
    )


def field_offsets(person: Person, x_mm: float, y_mm: float) -> tuple[RangeMm, RangeMm]:
    """The `offset_x_range_mm` and `offset_y_range_mm` of a field about a point of the person; a plan
    scales them by the width and the depth of the trunk.

    Recipes before 16 did not undo that scaling: boxes then lay up to 5 cm from their points, a
    third of them 1 cm or more.
    """
    offset_x_mm = x_mm
    offset_y_mm = y_mm or 1.0  # 0 stands for no offset
    if person.is_placed_exactly:
        width_factor, depth_factor = person.morph.trunk_factors
        offset_x_mm /= width_factor
        offset_y_mm /= depth_factor
    return (offset_x_mm, offset_x_mm), (offset_y_mm, offset_y_mm)


def _draw_body_point(
    request: ScanRequest, z_mm: float, rng: np.random.Generator
) -> tuple[float, float]:
    """x, y in mm of a random point of the body at that height, on a lattice; the middle if there is
    none."""
    corner_x, corner_y = LATTICE_CORNER_MM
    affine = np.diag([LATTICE_STEP_MM, LATTICE_STEP_MM, LATTICE_STEP_MM, 1.0])
    affine[:3, 3] = corner_x, corner_y, z_mm
    lattice = Grid((*LATTICE_SHAPE, 1), affine)
    label_slice = label_volume(request.person, lattice, request.left_out)
    body_points = np.argwhere(label_slice.labels[:, :, 0] != AIR)
    if not len(body_points):
        return 0.0, 1.0
    index_x, index_y = body_points[rng.integers(len(body_points))].tolist()
    return index_x * LATTICE_STEP_MM + corner_x, index_y * LATTICE_STEP_MM + corner_y


def choose_field_kinds(volume_count: int, rng: np.random.Generator) -> list[FieldKind]:
    """The fields of view of one person's volumes: the first covers several regions, and none is
    repeated while others are left."""
    chosen_kinds: list[FieldKind] = []
    for volume_index in range(volume_count):
        must_be_long = volume_index == 0
        unused_kinds = [
            field_kind
            for field_kind in USUAL_FIELDS
            if field_kind not in chosen_kinds and field_kind.is_long == must_be_long
        ]
        chosen_kinds.append(draw_field_kind(unused_kinds or USUAL_FIELDS, rng))
    return chosen_kinds


def draw_field_kind(field_kinds: Sequence[FieldKind], rng: np.random.Generator) -> FieldKind:
    """One of the kinds of field, by their weights."""
    weights = np.array([field_kind.weight for field_kind in field_kinds])
    return field_kinds[rng.choice(len(field_kinds), p=weights / weights.sum())]
