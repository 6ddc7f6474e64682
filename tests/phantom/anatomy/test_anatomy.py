"""What a varied anatomy must keep: borders, skin, plausible volumes, and the parts a person lacks."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

import numpy as np
import pytest
from numpy.typing import NDArray

from fovnet.phantom.anatomy.body import label_volume, landmarks
from fovnet.phantom.features import ANATOMY
from fovnet.phantom.geometry.raster import Grid
from fovnet.phantom.geometry.solids import Loft
from fovnet.phantom.geometry.tissue_structure import Box, Shells
from fovnet.phantom.person.traits import Person, sample_person
from fovnet.phantom.scanner.tissues import label_of

ALL = frozenset(ANATOMY)
Around = Callable[..., Grid]
PEOPLE = [(5, number) for number in range(1, 13)]


def millilitres(labels: NDArray[np.integer], spacing_mm: float, *tissues: str) -> float:
    return float(np.isin(labels, [label_of(name) for name in tissues]).sum() * spacing_mm**3 / 1000)


@pytest.fixture(scope="module")
def grown() -> list[Person]:
    people = [sample_person((8, number)) for number in range(1, 40)]
    return [person for person in people if person.age > 20]


def test_a_coarse_grid_sees_what_a_fine_one_sees_at_the_same_points(around: Around) -> None:
    person = sample_person((5, 2))
    z = landmarks(person).knee
    coarse = around((40, -70, z - 45), (160, 70, z + 45), 3.0)
    fine = label_volume(person, coarse.split_voxels((3, 3, 3))).labels[1::3, 1::3, 1::3]
    assert (label_volume(person, coarse).labels == fine).mean() > 0.98


@pytest.mark.parametrize("seed", PEOPLE)
def test_no_feature_but_the_varied_bodies_and_the_borders_moves_a_landmark(
    seed: tuple[int, int],
) -> None:
    marks = landmarks(sample_person(seed))
    assert landmarks(sample_person(seed, ALL - {"varied bodies", "borders as measured"})) == marks
    assert np.all(np.diff(marks.borders_mm) > 30)


@pytest.mark.parametrize("seed", PEOPLE[:2])
def test_parts_and_structure_lie_within_the_skin(seed: tuple[int, int], around: Around) -> None:
    """The outline is the same with and without them, but for nipples, skin over a tendon, erectors that stand
    out behind, and shoulders."""
    person = replace(sample_person(seed), arm_posture="beside")
    grid = around((-240, -200, 30), (240, 240, landmarks(person).chin), 5.0)
    whole, plain = (
        label_volume(person, grid, without).labels > 0 for without in (frozenset[str](), ALL)
    )
    behind = np.arange(whole.shape[1])[None, :, None] * 5.0 - 200.0 < -65.0
    # Shoulders are 16 mm broader on either side, and the arms that hang from them down to their elbows.
    x, z = (
        np.arange(whole.shape[0])[:, None, None] * 5.0 - 240.0,
        np.arange(whole.shape[2]) * 5.0 + 30.0,
    )
    shoulder = (np.abs(x) > 45) & (z > person.morph.height_mm(1280)) | (np.abs(x) > 120) & (
        z > person.morph.height_mm(1095)
    )
    whole, plain = whole & ~shoulder, plain & ~shoulder
    assert ((whole != plain) & ~behind).sum() < 0.001 * plain.sum() and (
        plain & ~whole
    ).sum() < 0.001 * plain.sum()
    assert (
        0.002 * plain.sum() < (whole & behind).sum() - (plain & behind).sum() < 0.03 * plain.sum()
    )


def test_every_feature_changes_the_body_and_the_same_seed_gives_the_same_one(
    around: Around,
) -> None:
    number = next(n for n in range(1, 30) if sample_person((5, n)).marbled_share > 0.06)

    def seen(without: frozenset[str]) -> NDArray[np.integer]:
        person = sample_person((5, number), without)
        z = landmarks(person).knee
        return label_volume(
            person, around((40, -70, z - 24), (160, 70, z + 24), 3.0), without
        ).labels

    whole = seen(frozenset())
    assert np.array_equal(whole, seen(frozenset()))
    for name in ("deformation", "joints and organs", "tissue structure"):
        assert not np.array_equal(whole, seen(frozenset([name]))), name
    assert sample_person((5, number), frozenset(["varied bodies"])) != sample_person((5, number))
    assert not sample_person((5, number), ALL).missing_parts


def test_a_prostate_is_as_large_as_prostates_are(grown: list[Person], around: Around) -> None:
    """Berry et al. (1984), J Urol 132:474: 20 ± 6 g in the young, 33 ± 16 g with hyperplasia, 4 % above 100 g
    past seventy."""
    men = [
        person
        for person in grown
        if not person.is_female and "prostate" not in person.missing_parts
    ][:3]
    for person in men:
        z = landmarks(person).ischium
        labels = label_volume(person, around((-45, -45, z + 25), (45, 45, z + 110), 2.0)).labels
        assert 10 < millilitres(labels, 2.0, "prostate", "peripheral zone") < 110


def test_a_left_ventricle_is_as_heavy_as_hearts_are(grown: list[Person], around: Around) -> None:
    """Petersen et al. (2017), J Cardiovasc Magn Reson 19:18: 46 to 141 g of left ventricle; the right one and
    the atria add up to half."""
    for person in grown[:2]:
        z = landmarks(person).liver_dome
        labels = label_volume(person, around((-130, -60, z - 50), (90, 130, z + 120), 3.0)).labels
        assert 70 < millilitres(labels, 3.0, "myocardium") < 300


def test_a_lost_kidney_and_a_metal_hip_are_on_the_given_side(around: Around) -> None:
    person = replace(sample_person((5, 4)), missing_parts=frozenset(["left kidney", "right hip"]))
    marks = landmarks(person)
    kidneys = label_volume(
        person, around((-130, -130, marks.liver_dome - 230), (130, 100, marks.liver_dome - 30), 4.0)
    ).labels
    hips = label_volume(
        person, around((-180, -100, marks.ischium), (180, 100, marks.ischium + 160), 4.0)
    ).labels

    def halves(labels: NDArray[np.integer], tissue: str) -> tuple[int, int]:
        """Voxels of a tissue in the left and the right half: x grows to the right."""
        half = labels.shape[0] // 2
        return int((labels[:half] == label_of(tissue)).sum()), int(
            (labels[half:] == label_of(tissue)).sum()
        )

    left, right = halves(kidneys, "kidney cortex")
    assert left == 0 and right > 800
    left, right = halves(hips, "metal")
    assert left == 0 and right > 300


def test_people_vary_as_people_do() -> None:
    people = [sample_person((1, number)) for number in range(300)]
    children = [person for person in people if person.age < 15]
    assert 5 < len(children) < 30 and all(landmarks(person).vertex < 1550 for person in children)
    assert (
        all(person.is_female for person in people if person.is_prone)
        and 10 < sum(person.is_prone for person in people) < 60
    )
    assert (
        max(person.fat_mm for person in people) > 45
        and min(person.muscle_factor for person in people) < 0.75
    )


def test_layers_of_the_flank_lie_at_their_depths_and_bowel_is_mostly_collapsed_in_those_who_vary() -> (
    None
):
    surface = Loft(((1000.0, 0.0, 0.0, 150.0, 100.0, 90.0), (1200.0, 0.0, 0.0, 150.0, 100.0, 90.0)))
    place = Box((0.0, -60.0, 1020.0), (260.0, 200.0, 1180.0))
    seams = Shells(place, surface, (7.0, 15.0), 2.0)
    x = np.arange(120.25, 152, 0.5, dtype=np.float32)
    in_seam = seams.contains(x, np.zeros_like(x), np.full_like(x, 1100))
    assert np.array_equal(
        x[in_seam], [133.25, 133.75, 134.25, 134.75, 141.25, 141.75, 142.25, 142.75]
    )
    varied, plain = (
        [sample_person((5, number), frozenset(without)) for number in range(40)]
        for without in ((), ("varied bodies",))
    )
    assert all(
        (person.bowel_loop_count, person.bowel_fullness) == (70, 1.0) for person in plain
    ) and all(24 <= person.bowel_loop_count <= 70 for person in varied)
    # mm across, 26 being a full one
    assert np.mean([26 * person.bowel_fullness < 20 for person in varied]) > 0.35
