"""Fields of view as measured in archives and written in published protocols, and coils that shade as
theirs do: prone breasts down to the abdomen, coronal slabs as wide as two arms, groins below the
pelvis.

The kinds are the rows "measured" of fields_of_view.tsv, each with its source.
"""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from fovnet.phantom.acquisition.coils import draw_skin_coil
from fovnet.phantom.acquisition.field_kinds import (
    FieldKind,
    ScanRequest,
    draw_field_about_breasts,
    draw_field_kind,
    field_kinds_of,
)
from fovnet.phantom.acquisition.protocols import Plan, Site, draw_plan
from fovnet.phantom.person.traits import Person
from fovnet.phantom.scanner.sequence import PulseSequence

MEASURED_FIELDS = field_kinds_of("measured")
BLADDER_FIELD = "bladder alone"
MEASURED_SHARE = 0.22  # of the volumes that are no breasts
MEASURED_FIRST_SHARE = 0.1  # of first volumes, which then are coronal slabs
PRONE_BREASTS_SHARE = 0.9  # of the fields of a prone woman's breasts
PRONE_OTHERS_SHARE = 0.17  # of her other fields
SKIN_COIL_SHARES = {"neck": 0.4, "chest": 0.35, "knee": 0.35}
"""Of fields whose names contain it, those received by small elements next to the skin."""
SKIN_COIL_SHARE = 0.12  # of all others


def to_measured_field(usual_plan: Plan, request: ScanRequest, rng: np.random.Generator) -> Plan:
    """One of MEASURED_FIELDS instead of one field in five; of first volumes, which still cover several
    regions, one in ten.  Of a prone woman, nearly all fields of her breasts and one in six of the
    others show the breasts from the abdomen up."""
    replacement_dice = rng.random()
    if request.person.is_prone:
        return _to_prone_breasts(usual_plan, request, replacement_dice, rng)
    must_be_long = request.volume_number == 0
    replaced_share = MEASURED_SHARE
    if must_be_long:
        replaced_share = MEASURED_FIRST_SHARE
    if usual_plan.field_kind.shows_breasts or replacement_dice > replaced_share:
        return usual_plan
    possible_kinds = [
        field_kind
        for field_kind in MEASURED_FIELDS
        if not field_kind.shows_breasts and (field_kind.is_long or not must_be_long)
    ]
    return draw_measured_plan(
        draw_field_kind(possible_kinds, rng).name, usual_plan.site, request, rng
    )


def _to_prone_breasts(
    usual_plan: Plan, request: ScanRequest, replacement_dice: float, rng: np.random.Generator
) -> Plan:
    """The plan for the breasts of a prone woman, or the usual one."""
    replaced_share = PRONE_OTHERS_SHARE
    if usual_plan.field_kind.shows_breasts:
        replaced_share = PRONE_BREASTS_SHARE
    if replacement_dice > replaced_share:
        return usual_plan
    must_be_long = request.volume_number == 0
    possible_kinds = [
        field_kind
        for field_kind in MEASURED_FIELDS
        if field_kind.shows_breasts and (field_kind.is_long or not must_be_long)
    ]
    return draw_measured_plan(
        draw_field_kind(possible_kinds, rng).name, usual_plan.site, request, rng
    )


def draw_measured_plan(
    name: str, site: Site, request: ScanRequest, rng: np.random.Generator
) -> Plan:
    """A plan of the kind of MEASURED_FIELDS of that name at a site."""
    field_kind = next(kind for kind in MEASURED_FIELDS if kind.name == name)
    if field_kind.shows_breasts and request.person.is_prone:
        field_kind = _place_about_breasts(field_kind, request.person, rng)
    plan = draw_plan(request.person, request.marks, field_kind, site, rng)
    if name != BLADDER_FIELD:
        return plan
    return replace(plan, sequence=_draw_water_sequence(rng))


def _place_about_breasts(
    field_kind: FieldKind, person: Person, rng: np.random.Generator
) -> FieldKind:
    """The kind about the breasts as they hang, with its own ends; one of both breasts has its own width,
    and is about as deep as it is wide, so that the whole chest is shown."""
    about_breasts = draw_field_about_breasts(field_kind, person, rng)
    about_breasts = replace(
        about_breasts, lower_end=field_kind.lower_end, upper_end=field_kind.upper_end
    )
    if field_kind.is_of_one_side:
        return about_breasts
    width_mm = rng.uniform(*field_kind.width_range_mm)
    depth_mm = width_mm * rng.uniform(0.75, 1.0)
    _, depth_factor = person.morph.trunk_factors
    front_mm = (
        depth_factor * about_breasts.offset_y_range_mm[0] + about_breasts.depth_range_mm[0] / 2
    )
    offset_y_mm = (front_mm - depth_mm / 2) / depth_factor
    return replace(
        about_breasts,
        plane_letters=field_kind.plane_letters,
        width_range_mm=(width_mm, width_mm),
        depth_range_mm=(depth_mm, depth_mm),
        offset_y_range_mm=(offset_y_mm, offset_y_mm),
    )


def _draw_water_sequence(rng: np.random.Generator) -> PulseSequence:
    """Long echoes without fat, in which muscle, of a T2 of 40 ms, has a hundredth of its signal."""
    return PulseSequence(
        "water spin echo, fat suppressed",
        "spin echo",
        rng.uniform(4000, 9000),
        rng.uniform(160, 420),
        fat_mode="suppressed",
    )


def with_skin_coil(usual_plan: Plan, request: ScanRequest, rng: np.random.Generator) -> Plan:
    """Small elements next to the skin, uncorrected, in one field in eight, in one in three of necks,
    chests and knees: the skin is 3 to 10 times as bright as the middle."""
    name = usual_plan.field_kind.name
    skin_coil_share = next(
        (share for part, share in SKIN_COIL_SHARES.items() if part in name), SKIN_COIL_SHARE
    )
    if rng.random() > skin_coil_share or usual_plan.field_kind.shows_breasts:
        return usual_plan
    coil = draw_skin_coil(
        request.person, usual_plan.grid, usual_plan.isocentre_mm, request.left_out, rng
    )
    bias_spread = usual_plan.acquisition.coil.bias_spread
    return usual_plan.with_acquisition(coil=replace(coil, bias_spread=bias_spread))
