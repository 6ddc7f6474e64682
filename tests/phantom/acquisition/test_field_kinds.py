"""Tight fields of view are about what their names state: boxes about the body, breasts, a mass in a leg."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from fovnet.phantom.acquisition.field_kinds import (
    LEG_MASS_FIELD,
    SMALL_FIELDS,
    FieldKind,
    ScanRequest,
    draw_box_field,
    draw_field_by_name,
    draw_small_field,
)
from fovnet.phantom.acquisition.protocols import SITES, draw_corners, draw_plan
from fovnet.phantom.anatomy.body import label_volume, landmarks
from fovnet.phantom.anatomy.breast import breast_dome
from fovnet.phantom.anatomy.lesions import draw_leg_mass
from fovnet.phantom.geometry.raster import Grid
from fovnet.phantom.person.traits import Person, sample_person
from fovnet.phantom.scanner.tissues import AIR

PERSON = sample_person((4, 2))
MARKS = landmarks(PERSON)


def test_a_box_lies_about_a_point_of_the_body_however_small_that_is() -> None:
    """Its middle moves by up to 6 mm from side to side; no point of a child's body is so far from others of
    it that this leaves it."""
    small = [
        person
        for person in (sample_person((5, number)) for number in range(150))
        if person.morph.trunk_factors[0] < 0.8
    ]
    assert len(small) >= 3
    for number, person in enumerate(small[:4]):
        marks = landmarks(person)
        for seed in range(12):
            rng = np.random.default_rng([number, seed])
            box = draw_box_field(ScanRequest(person, marks, 1, frozenset()), rng)
            low, high = draw_corners(person, marks, box, rng)
            x, y, z = (low + high) / 2
            affine = np.eye(4)
            affine[:3, 3] = x - 6, y, z
            assert np.any(label_volume(person, Grid((13, 1, 1), affine)).labels != AIR)


def test_small_fields_show_some_body() -> None:
    rng = np.random.default_rng(1)
    for _ in range(25):
        field_kind = draw_small_field(ScanRequest(PERSON, MARKS, 1, frozenset()), rng)
        grid = draw_plan(PERSON, MARKS, field_kind, SITES[0], rng).grid
        coarse = Grid(
            (12, 12, 12), grid.vox_to_ras @ np.diag([*(np.asarray(grid.shape) / 12), 1.0])
        )
        assert (label_volume(PERSON, coarse).labels != AIR).mean() > 0.05, field_kind.name


def test_a_field_is_found_by_its_name_and_a_name_that_none_has_is_answered_with_all() -> None:
    rng = np.random.default_rng(0)
    assert all(
        draw_field_by_name(field_kind.name, PERSON, rng).name == field_kind.name
        for field_kind in SMALL_FIELDS
    )
    with pytest.raises(ValueError, match=r"'hearts': .* known are .*heart, close"):
        draw_field_by_name("hearts", PERSON, rng)


def breast_fields(prone: bool) -> tuple[Person, list[FieldKind]]:
    """A woman, and those of 300 tight fields of view of her that are of breasts."""
    person = replace(
        next(
            p
            for number in range(1, 20)
            if (p := sample_person((4, number))).is_female and p.age > 20
        ),
        is_prone=prone,
    )
    rng = np.random.default_rng(2)
    drawn = [draw_small_field(ScanRequest(person, MARKS, 1, frozenset()), rng) for _ in range(300)]
    return person, [field_kind for field_kind in drawn if field_kind.shows_breasts]


def test_most_breasts_looked_at_closely_hang_into_air_and_most_images_lack_fat() -> None:
    """Of one breast, the field ends in air, and on average three tenths or more of the body in it are breast
    well in front of the chest."""
    (_, lying), (person, hanging) = breast_fields(False), breast_fields(True)
    assert len(hanging) > 6 * len(lying) > 0
    marks, rng = landmarks(person), np.random.default_rng(0)
    plans = [draw_plan(person, marks, field_kind, SITES[0], rng) for field_kind in hanging]
    assert (
        np.mean(
            [
                acquired.sequence.fat_mode in ("suppressed", "water only")
                or acquired.sequence.ti_ms > 0
                for acquired in plans
            ]
        )
        > 0.65
    )
    shares = []
    for acquired in [plan for plan in plans if plan.field_kind.name == "breast, one"][:8]:
        grid = Grid(
            (16, 16, 16),
            acquired.grid.vox_to_ras @ np.diag([*(np.asarray(acquired.grid.shape) / 16), 1.0]),
        )
        body = label_volume(person, grid).labels != AIR
        ahead = body & (
            grid.coordinates()[1] / person.morph.trunk_factors[1]
            > breast_dome(person, 1).base[1] + 12
        )
        shares.append(ahead.sum() / body.sum())
        assert body[:, -1].mean() < 0.05
    assert np.mean(shares) > 0.3


def test_hardly_any_of_a_field_about_breasts_lies_below_the_liver() -> None:
    for number in range(1, 13):
        woman = replace(sample_person((4, number)), sex="female")
        marks, rng = landmarks(woman), np.random.default_rng(number)
        for field_kind in (
            drawn
            for drawn in (
                draw_small_field(ScanRequest(woman, marks, 1, frozenset()), rng) for _ in range(25)
            )
            if drawn.shows_breasts
        ):
            low, high = draw_corners(woman, marks, field_kind, rng)
            assert marks.liver_dome - low[2] < 0.12 * (high[2] - low[2]), field_kind.name


def test_a_mass_in_a_leg_is_what_its_field_is_about() -> None:
    """Of those who have one, half of the tight fields: the mass lies whole within their middle three
    quarters, in the leg it is in."""
    people = [
        (person, mass)
        for number in range(120)
        if (mass := draw_leg_mass(person := sample_person((6, number))))
    ]
    sides = set()
    for person, (_, middle, _) in people[:4]:
        marks, rng = landmarks(person), np.random.default_rng(1)
        fields = [
            field_kind
            for field_kind in (
                draw_small_field(ScanRequest(person, marks, 1, frozenset()), rng) for _ in range(60)
            )
            if field_kind.name == LEG_MASS_FIELD
        ]
        assert 15 < len(fields) < 45
        low, high = draw_corners(person, marks, fields[0], rng)
        step = (high - low) / 40
        affine = np.diag([*step, 1.0])
        affine[:3, 3] = low + step / 2
        with_it, without = (
            label_volume(person, Grid((40, 40, 40), affine), frozenset(left)).labels
            for left in ((), ("lesions",))
        )
        changed = np.argwhere(with_it != without)
        assert len(changed) > 20
        assert (np.abs(changed.mean(axis=0) - 20) < 15).all()
        sides.add(middle[0] > 0)
    assert sides == {True, False}
