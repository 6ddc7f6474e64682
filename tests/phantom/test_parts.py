"""The parts of legs and head in simulated people: where their borders are, and that they add up."""

from __future__ import annotations

from dataclasses import fields
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numpy.typing import NDArray
from typer.testing import CliRunner

from fovnet.cli import app
from fovnet.phantom.anatomy.body import ABOVE_TALUS_MM, Landmarks, label_volume, landmarks
from fovnet.phantom.collection import list_region_rows, simulate_collection
from fovnet.phantom.geometry.raster import Grid
from fovnet.phantom.person.traits import Person, sample_person
from fovnet.phantom.scanner.tissues import TISSUES
from fovnet.records import read_tsv
from fovnet.regions import DEFAULT, NINE, WHOLE_BY_PART

PEOPLE = tuple(sample_person((7, number)) for number in range(1, 201))
SEEN = PEOPLE[:3]
BONE = ("cortical bone", "yellow marrow", "mixed marrow", "red marrow")
BRAIN = ("grey matter", "white matter")


def test_landmarks_follow_one_another_from_the_soles_to_the_vertex() -> None:
    for person in PEOPLE:
        marks = landmarks(person)
        heights_mm = [getattr(marks, field.name) for field in fields(Landmarks)]
        assert np.all(np.diff(heights_mm) > 0)
        heights_mm = [*marks.find_lower_ends_mm(NINE.chain), marks.vertex]
        assert np.all(np.diff(heights_mm) > 50)
        assert set(marks.borders_mm) <= set(heights_mm)


@given(st.data(), st.integers(0, 199), st.floats(-200, 1700), st.floats(1, 20))
def test_rows_of_parts_add_up_to_those_of_the_whole(draw, number, bottom_mm, spacing_mm) -> None:
    """Whatever the slices show; also those without body, between others, are in one part."""
    marks = landmarks(PEOPLE[number])
    heights_mm = bottom_mm + spacing_mm * np.arange(40)
    is_body = np.array(draw.draw(st.lists(st.booleans(), min_size=40, max_size=40)))
    of_nine, of_five = (
        list_region_rows(heights_mm, 1e4 * is_body, marks, "spine", chain)
        for chain in (NINE.chain, DEFAULT.chain)
    )
    assert slices_of_wholes(of_nine) == slices_of_wholes(of_five)
    for row in of_nine:
        if row["region"] in WHOLE_BY_PART:
            low_mm, *upper_mm = marks.find_lower_ends_mm(
                NINE.chain[NINE.chain.index(row["region"]) :]
            )
            inside_mm = heights_mm[row["first_slice"] : row["last_slice"] + 1]
            assert low_mm <= inside_mm[0] and inside_mm[-1] < [*upper_mm, marks.vertex][0]


def slices_of_wholes(rows) -> dict[tuple[str, str], list[float]]:
    """The slices, sorted, of each volume and region, parts counted as what they are parts of."""
    slices: dict[tuple[str, str], list[float]] = {}
    for row in rows:
        region = WHOLE_BY_PART.get(row["region"], row["region"])
        first, last = int(row["first_slice"]), int(row["last_slice"])
        slices.setdefault((row.get("volume_id", ""), region), []).extend(range(first, last + 1))
    return {key: sorted(numbers) for key, numbers in slices.items()}


def test_people_labelled_with_nine_regions_are_the_same_volumes(tmp_path: Path) -> None:
    """A run in a folder labelled otherwise labels it anew."""
    plain = {"subjects": 3, "volumes_per_subject": 1, "seed": 3, "without": ["everything"]}
    of_five = simulate_collection(tmp_path / "five", **plain)
    of_nine = simulate_collection(tmp_path / "nine", chain=NINE.chain, **plain)
    assert of_five.read_bytes() == of_nine.read_bytes()
    for path in sorted((tmp_path / "five" / "volumes").glob("*.nii.gz")):
        assert path.read_bytes() == (tmp_path / "nine" / "volumes" / path.name).read_bytes()
    rows_of_nine = [row for row in read_tsv(tmp_path / "nine" / "regions.tsv") if row["last_slice"]]
    rows_of_five = [row for row in read_tsv(tmp_path / "five" / "regions.tsv") if row["last_slice"]]
    assert slices_of_wholes(rows_of_nine) == slices_of_wholes(rows_of_five)
    assert set(WHOLE_BY_PART) & {row["region"] for row in rows_of_nine}
    again = simulate_collection(tmp_path / "nine", **plain).with_name("regions.tsv")
    assert again.read_bytes() == of_five.with_name("regions.tsv").read_bytes()


def right_leg(person: Person, low_mm: float, high_mm: float) -> tuple[NDArray, NDArray]:
    """Bone (x, y, z) of the right leg, every 2 mm, 1 mm and 1 mm, and its heights."""
    lift_mm = person.morph.knee_lift_mm * person.morph.trunk_factors[1]
    affine = np.diag([2.0, 1.0, 1.0, 1.0])
    affine[:3, 3] = 40.0, -120.0, low_mm
    grid = Grid((75, round(230 + lift_mm), round(high_mm - low_mm)), affine)
    labels = label_volume(person, grid).labels
    return np.isin(labels, tissue_numbers(BONE)), low_mm + np.arange(grid.shape[2])


def tissue_numbers(names: tuple[str, ...]) -> list[int]:
    return [number for number, tissue in enumerate(TISSUES) if tissue.name in names]


def front_mm(bone: NDArray) -> NDArray:
    """(z,) how far the foremost bone of at least 3 mm reaches to the front at each height."""
    is_any = bone.sum(axis=0) >= 2
    return np.array([np.flatnonzero(column).max(initial=-1) for column in is_any.T], dtype=float)


@pytest.mark.parametrize("person", SEEN)
def test_the_patella_ends_at_its_landmark(person: Person) -> None:
    """Above it the femur alone is left: the foremost bone steps back by 1 cm and more."""
    marks = landmarks(person)
    bone, heights_mm = right_leg(person, marks.patella - 40, marks.patella + 25)
    step = int(np.argmin(np.diff(front_mm(bone))))
    assert np.diff(front_mm(bone))[step] < -8
    assert heights_mm[step] == pytest.approx(marks.patella, abs=4)


@pytest.mark.parametrize("person", SEEN)
def test_the_tuberosity_of_the_tibia_ends_at_its_landmark(person: Person) -> None:
    """Before the line from the shaft to the plateau the tibia is farthest 1 to 3 cm above it, and
    clearly less 12 mm below it."""
    marks = landmarks(person)
    height_mm = person.morph.height_mm
    bone, heights_mm = right_leg(person, height_mm(355.0), height_mm(448.0))
    front = front_mm(bone)
    before_line = front - np.linspace(front[0], front[-1], len(front))
    farthest = int(before_line.argmax())
    assert 5 < heights_mm[farthest] - marks.tuberosity < 32
    below = before_line[heights_mm < marks.tuberosity - 12]
    assert before_line[farthest] > 2 and below.max() < 0.7 * before_line[farthest]


@pytest.mark.parametrize("person", SEEN)
def test_the_talus_ends_3_cm_below_the_border_of_foot_and_lower_leg(person: Person) -> None:
    """In the middle of the ankle bone is parted by the joint, whose lower side is the dome."""
    marks = landmarks(person)
    dome_mm = marks.ankle_top - ABOVE_TALUS_MM
    bone, heights_mm = right_leg(person, dome_mm - 25, dome_mm + 25)
    bone_mm2 = 2.0 * bone.sum(axis=(0, 1))
    joint = int(bone_mm2[10:40].argmin()) + 10
    assert heights_mm[joint] == pytest.approx(dome_mm, abs=5)


@pytest.mark.parametrize("person", SEEN)
def test_the_brain_begins_at_the_foramen_magnum_behind_the_cord(person: Person) -> None:
    """The cerebellum lies on the occipital bone about the foramen."""
    marks = landmarks(person)
    low_mm = marks.foramen_magnum - 30
    affine = np.diag([1.0, 1.0, 1.0, 1.0])
    affine[:3, 3] = -40.0, -140.0, low_mm
    labels = label_volume(person, Grid((80, 160, 60), affine)).labels
    grey_mm2 = (labels == tissue_numbers(BRAIN[:1])[0]).sum(axis=(0, 1))
    lowest_mm = low_mm + int(np.flatnonzero(grey_mm2 > 20)[0])
    assert lowest_mm == pytest.approx(marks.foramen_magnum, abs=3)


def test_the_verb_labels_people_with_the_regions_of_a_vocabulary(tmp_path: Path) -> None:
    words = ["phantom", str(tmp_path / "made"), "--subjects", "1", "--volumes", "1"]
    words += ["--without", "everything", "--vocabulary"]
    assert CliRunner().invoke(app, [*words, "nine"]).exit_code == 0
    rows = read_tsv(tmp_path / "made" / "regions.tsv")
    assert {row["region"] for row in rows} <= {*NINE.classes} and not {"legs", "head"} & {
        row["region"] for row in rows
    }
    refusal = CliRunner().invoke(app, [*words, "eleven"])
    assert refusal.exception.code == "config-missing"
