"""The painted body against its own landmarks."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from numpy.typing import NDArray

from fovnet.phantom.anatomy.body import label_volume, landmarks
from fovnet.phantom.geometry.raster import Grid
from fovnet.phantom.person.traits import Person, sample_person
from fovnet.phantom.scanner.tissues import TISSUES, label_of

PEOPLE = [(0, 1), (0, 2), (3, 7), (3, 4)]
BONE = ("cortical bone", "red marrow")


@pytest.fixture(scope="module", params=PEOPLE, ids=lambda seed: f"person-{seed[0]}-{seed[1]}")
def person(request: pytest.FixtureRequest) -> Person:
    # folded forearms would stand among the bones looked for
    return replace(sample_person(request.param), arm_posture="beside")


def around(
    low: tuple[float, float, float], high: tuple[float, float, float], spacing_mm: float
) -> Grid:
    size = np.subtract(high, low)
    i, j, k = np.rint(size / spacing_mm).astype(int).tolist()
    affine = np.diag([spacing_mm] * 3 + [1.0])
    affine[:3, 3] = low
    return Grid((i, j, k), affine)


def heights_with(person: Person, grid: Grid, *tissues: str) -> NDArray[np.float64]:
    labels = label_volume(person, grid).labels
    there = np.isin(labels, [label_of(name) for name in tissues]).any(axis=(0, 1))
    return np.asarray(grid.vox_to_ras[2, 3] + grid.vox_to_ras[2, 2] * np.flatnonzero(there))


def test_the_highest_liver_is_at_the_liver_dome(person: Person) -> None:
    z = landmarks(person).liver_dome
    assert heights_with(
        person, around((-150, -120, z - 30), (150, 140, z + 30), 2.0), "liver"
    ).max() == pytest.approx(z, abs=2.5)


def test_the_highest_lung_is_at_the_lung_apex(person: Person) -> None:
    z = landmarks(person).lung_apex
    assert heights_with(
        person, around((0, -90, z - 30), (100, 60, z + 30), 2.0), "lung"
    ).max() == pytest.approx(z, abs=3.5)


def test_the_iliac_wing_tops_out_at_the_iliac_crest(person: Person) -> None:
    z = landmarks(person).iliac_crest
    heights = heights_with(person, around((60, -75, z - 30), (160, 90, z + 30), 1.5), *BONE)
    # ribs reach down to above the crest
    assert heights[heights < z + 10].max() == pytest.approx(z, abs=2.5)


def test_the_ischium_ends_at_its_lower_end(person: Person) -> None:
    z = landmarks(person).ischium
    assert heights_with(
        person, around((35, -85, z - 25), (85, -8, z + 25), 1.5), *BONE
    ).min() == pytest.approx(z, abs=2.5)


def test_the_body_reaches_from_the_soles_to_the_vertex(person: Person) -> None:
    marks = landmarks(person)
    tissues = [tissue.name for tissue in TISSUES[1:]]
    assert heights_with(
        person, around((40, -100, -20), (180, 200, 30), 2.0), *tissues
    ).min() == pytest.approx(marks.sole, abs=3)
    top = heights_with(
        person, around((-70, -120, marks.vertex - 20), (70, 100, marks.vertex + 20), 2.0), *tissues
    ).max()
    assert top == pytest.approx(marks.vertex, abs=3)


def test_landmarks_rise_from_the_soles_to_the_vertex(person: Person) -> None:
    marks = landmarks(person)
    names_upwards = (
        "sole",
        "ankle",
        "knee",
        "ischium",
        "iliac_crest",
        "liver_dome",
        "lung_apex",
        "chin",
        "vertex",
    )
    ordered = [getattr(marks, name) for name in names_upwards]
    assert np.all(np.diff(ordered) > 20) and 1450 < marks.vertex < 2000


def test_the_liver_is_on_the_right_and_spleen_and_heart_on_the_left(person: Person) -> None:
    """RAS+: x grows to the patient's right."""
    marks = landmarks(person)
    grid = around((-170, -130, marks.liver_dome - 120), (170, 150, marks.liver_dome + 110), 4.0)
    labels = label_volume(person, grid).labels
    x = grid.vox_to_ras[0, 3] + 4.0 * np.arange(grid.shape[0])

    def middle(tissue: str) -> float:
        return float(np.average(x, weights=(labels == label_of(tissue)).sum(axis=(1, 2))))

    assert middle("liver") > 25 and middle("spleen") < -60 and middle("myocardium") < -8


def test_the_volume_of_a_person_is_that_of_an_adult(person: Person) -> None:
    """At about 1 kg a litre: between 38 and 160 kg."""
    grid = around((-320, -220, -20), (320, 260, landmarks(person).vertex + 20), 8.0)
    litres = float((label_volume(person, grid).labels > 0).sum() * 8.0**3 / 1e6)
    assert 38 < litres < 160


def test_people_are_the_same_for_the_same_seed_and_differ_otherwise() -> None:
    assert sample_person((4, 7)) == sample_person((4, 7)) != sample_person((4, 8))
    people = [sample_person((1, number)) for number in range(60)]
    assert {person.sex for person in people} == {"female", "male"} and {
        person.arm_posture for person in people
    } == {
        "beside",
        "raised",
        "folded",
    }


def test_who_lies_on_the_back_is_flat_behind_and_who_lies_prone_or_is_plain_is_not() -> None:
    """A deformed back waves by up to 2 cm, a plain one by 1."""
    number = next(
        n
        for n in range(1, 30)
        if not sample_person((3, n)).is_prone and sample_person((3, n)).fat_mm > 14
    )
    lying, plain = (
        sample_person((3, number), frozenset(without))
        for without in (("deformation",), ("deformation", "varied bodies"))
    )
    assert (
        plain.table_mm
        == sample_person((3, number), frozenset(["varied bodies"])).table_mm
        == float("inf")
        > lying.table_mm
    )
    affine = np.diag([3.0, 3.0, 3.0, 1.0])
    affine[:3, 3] = -150, -260, lying.morph.height_mm(890.0)
    grid = Grid((101, 60, 5), affine)
    behind = grid.coordinates()[1] < -(lying.table_mm + 12) * lying.morph.trunk_factors[1]
    touching = [
        np.any(label_volume(replace(lying, table_mm=mm), grid).labels * behind)
        for mm in (lying.table_mm, float("inf"))
    ]
    assert touching == [False, True]
