"""Fields of view of one organ: the organ fills them, in people of every size, and the truth is that of its
place."""

from __future__ import annotations

from dataclasses import replace
from functools import cache

import numpy as np
import pytest
from numpy.typing import NDArray

from fovnet.phantom.acquisition.field_kinds import choose_field_kinds
from fovnet.phantom.acquisition.organ_fields import ORGAN_FIELDS, draw_organ_field
from fovnet.phantom.acquisition.protocols import SITES, draw_plan
from fovnet.phantom.anatomy.body import label_volume, landmarks
from fovnet.phantom.features import SCANNING
from fovnet.phantom.geometry.raster import Grid
from fovnet.phantom.person.traits import Person, sample_person
from fovnet.phantom.scanner.tissues import AIR, label_of
from fovnet.phantom.variety import vary_plan

PEOPLE = [sample_person((15, number)) for number in range(6)]
NAMED = {field_kind.name: field_kind for field_kind in ORGAN_FIELDS}
STEP_MM = 8.0


@cache
def trunk(person: Person) -> tuple[NDArray[np.integer], NDArray[np.floating]]:
    """The labels of a trunk, and the millimetres (3, n) of its voxels."""
    marks, affine = landmarks(person), np.diag([STEP_MM, STEP_MM, STEP_MM, 1.0])
    affine[:3, 3] = -210, -180, marks.ischium
    whole = Grid((53, 45, int((marks.lung_apex - marks.ischium) / STEP_MM)), affine)
    return label_volume(person, whole).labels, np.stack(
        np.broadcast_arrays(*whole.coordinates())
    ).reshape(3, -1)


def shares(person: Person, name: str, tissue: str, number: int) -> tuple[float, float]:
    """What share of all of a tissue of the trunk lies in a field of that name, and what share of the field's
    voxels is air."""
    marks = landmarks(person)
    field_kind = next(
        drawn
        for seed in range(400)
        if (drawn := draw_organ_field(marks, np.random.default_rng(seed))).name == name
    )
    grid = draw_plan(
        person,
        marks,
        replace(field_kind, plane_letters="i"),
        SITES[0],
        np.random.default_rng([3, number]),
    ).grid
    labels, points = trunk(person)
    index = np.linalg.solve(grid.vox_to_ras[:3, :3], points - grid.vox_to_ras[:3, 3:])
    within = (
        ((index > -0.5) & (index < np.asarray(grid.shape)[:, None] - 0.5))
        .all(axis=0)
        .reshape(labels.shape)
    )
    organ = labels == label_of(tissue)
    return float((organ & within).sum() / max(organ.sum(), 1)), float(
        (labels[within] == AIR).mean()
    )


@pytest.mark.parametrize(
    ("name", "tissue", "least"),
    [
        ("kidneys", "kidney medulla", 0.8),
        ("liver", "liver", 0.6),
        ("upper left abdomen", "spleen", 0.6),
        ("great vessels", "arterial blood", 0.5),
    ],
)
def test_most_of_the_organ_lies_in_its_field_and_little_air(
    name: str, tissue: str, least: float
) -> None:
    seen_and_air = [shares(person, name, tissue, number) for number, person in enumerate(PEOPLE)]
    seen, air = np.median(seen_and_air, axis=0)
    assert seen > least
    assert air < 0.2


def test_fields_shrink_with_the_person_and_never_turn_inside_out() -> None:
    """A child of half the height has fields of half the size; the upper end is always above the lower one."""
    tall = max(PEOPLE, key=lambda person: landmarks(person).vertex)
    small = next(person for number in range(100) if (person := sample_person((15, number))).age < 9)
    ratio = landmarks(small).vertex / landmarks(tall).vertex
    assert ratio < 0.8
    for seed in range(40):
        of_tall, of_small = (
            draw_organ_field(landmarks(person), np.random.default_rng(seed))
            for person in (tall, small)
        )
        assert of_small.name == of_tall.name
        assert of_small.width_range_mm == pytest.approx(np.multiply(of_tall.width_range_mm, ratio))
    for person in (*PEOPLE, small):
        marks = landmarks(person)
        for field_kind in (
            draw_organ_field(marks, np.random.default_rng(seed)) for seed in range(40)
        ):
            lower, _, highest, _ = field_kind.lower_end
            upper, lowest, _, _ = field_kind.upper_end
            assert getattr(marks, upper) + lowest > getattr(marks, lower) + highest, field_kind.name


def test_one_field_in_six_is_of_an_organ_and_the_first_never_is() -> None:
    only, person = frozenset(SCANNING) - {"organs closely"}, PEOPLE[0]
    marks, became = landmarks(person), 0
    for at in range(1, 181):
        usual = draw_plan(
            person,
            marks,
            choose_field_kinds(2, np.random.default_rng(at))[1],
            SITES[0],
            np.random.default_rng([9, at]),
        )
        varied = vary_plan(usual, person, marks, (9, 1, at), only)
        became += varied.field_kind.name in NAMED
        assert varied is usual or varied.field_kind.name in NAMED
    assert 0.1 < became / 180 < 0.24
    assert vary_plan(usual, person, marks, (9, 1, 0), only) is usual
