"""The head from within: facts of anatomy that the drawn brain, skull and neck keep to."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.ndimage import distance_transform_edt

from fovnet.phantom.anatomy.body import label_volume, landmarks
from fovnet.phantom.anatomy.brain import SULCUS_BENDS, bend_points
from fovnet.phantom.finish.masks import BRAIN, find_visible_voxels
from fovnet.phantom.geometry.raster import Grid
from fovnet.phantom.person.traits import Person, sample_person
from fovnet.phantom.scanner.tissues import label_of

MATTER = (label_of("grey matter"), label_of("white matter"))


def slab(person: Person, low: float, high: float) -> tuple[np.ndarray, Grid]:
    """Labels (200, 230, k) at 1 mm between two heights of the written anatomy, and their grid."""
    start, end = person.morph.height_mm(low), person.morph.height_mm(high)
    affine = np.eye(4)
    affine[:3, 3] = -100, -120, start
    grid = Grid((200, 230, int(end - start)), affine)
    return label_volume(person, grid).labels, grid


@pytest.mark.parametrize("number", [1, 2])
def test_cortex_is_a_thin_ribbon_and_the_brain_is_as_large_as_brains_are(number: int) -> None:
    person = sample_person((7, number), frozenset({"varied bodies"}))
    labels, _ = slab(person, 1590, 1750)
    grey, white = (np.count_nonzero(labels == label) for label in MATTER)
    assert 900e3 < grey + white < 1700e3  # mm³
    assert 0.6 < grey / white < 2.2
    top = labels[:, :, labels.shape[2] // 2 :]
    within = distance_transform_edt(top == MATTER[0])[top == MATTER[0]]
    # the mean depth in a ribbon of 3 mm is some 1.2 mm at this voxel size
    assert 0.9 < float(within.mean()) < 2.0


def test_old_brains_leave_more_water() -> None:
    young = sample_person((7, 1), frozenset({"varied bodies"}))
    shares = []
    for age in (22.0, 82.0):
        aged = Person(**{**vars(young), "age": age})
        labels, grid = slab(aged, 1660, 1700)
        brain = find_visible_voxels(labels, grid, landmarks(aged), BRAIN)
        assert brain is not None
        shares.append(
            np.count_nonzero(labels == label_of("cerebrospinal fluid")) / np.count_nonzero(brain)
        )
    assert 0.03 < shares[0] < shares[1] < 0.5


@pytest.mark.parametrize("number", [1, 2, 3])
def test_a_brain_from_below_is_cerebellum_then_two_temporal_poles_then_all_of_it(
    number: int,
) -> None:
    person = sample_person((7, number), frozenset({"varied bodies", "deformation", "lesions"}))
    labels, grid = slab(person, 1596, 1670)
    x, y, _ = grid.coordinates()
    matter = np.isin(labels, MATTER) & (np.abs(x) < 90)
    in_front = matter & (y > 12) & ((np.abs(x) < 14) | (np.abs(x) > 20))
    middle, lateral = (np.abs(x) < 14) & (y < 60), (np.abs(x) > 20) & (y < 35)
    first = [
        int(np.flatnonzero((in_front & where).sum(axis=(0, 1)) > 40)[0])
        for where in (lateral, middle)
    ]
    lowest = int(np.flatnonzero(matter.sum(axis=(0, 1)) > 200)[0])
    assert 10 < first[0] - lowest < 32  # mm of cerebellum and stem alone
    assert 8 < first[1] - first[0] < 32  # the straight gyri lie above the poles


def test_arteries_at_the_base_hold_some_millilitres_and_belong_to_the_parts_that_can_be_left_out() -> (
    None
):
    person = sample_person((7, 1), frozenset({"varied bodies"}))
    start, grid = person.morph.height_mm(1612), slab(person, 1612, 1665)[1]
    assert grid.vox_to_ras[2, 3] == start
    blood = [
        np.count_nonzero(label_volume(person, grid, without).labels == label_of("arterial blood"))
        for without in (frozenset(), frozenset({"joints and organs"}))
    ]
    assert 1e3 < blood[0] < 12e3 and blood[1] == 0  # mm3


def test_a_neck_is_mostly_muscle_with_planes_of_fat() -> None:
    labels, _ = slab(sample_person((7, 2), frozenset({"varied bodies"})), 1485, 1515)
    flesh, fat = (
        np.count_nonzero(labels == label_of("muscle")),
        np.count_nonzero(labels == label_of("intermuscular fat")),
    )
    assert 0.45 < flesh / (flesh + fat) < 0.92


def test_a_face_is_muscle_and_fat_and_its_parts_can_be_left_out() -> None:
    person = sample_person((7, 3), frozenset({"varied bodies"}))
    start, grid = person.morph.height_mm(1550), slab(person, 1550, 1590)[1]
    assert grid.vox_to_ras[2, 3] == start
    _, y, _ = grid.coordinates()
    shares = []
    for without in (frozenset(), frozenset({"joints and organs"})):
        labels = np.where(y > 20, label_volume(person, grid, without).labels, 0)
        flesh = np.count_nonzero(labels == label_of("muscle"))
        fat = sum(
            np.count_nonzero(labels == label_of(name)) for name in ("fat", "intermuscular fat")
        )
        shares.append(fat / (fat + flesh))
    assert 0.4 < shares[0] < 0.75 and shares[1] < 0.3  # the plain face is one muscle


def test_a_cut_between_the_hemispheres_shows_water_under_the_callosum() -> None:
    person = sample_person((7, 1), frozenset({"varied bodies", "deformation", "lesions"}))
    labels, grid = slab(person, 1676, 1686)
    x, y, _ = grid.coordinates()
    middle = (np.abs(x) > 1.5) & (np.abs(x) < 6) & (y > -20) & (y < 20)
    here = labels[np.broadcast_to(middle, labels.shape)]
    assert np.mean(here == label_of("cerebrospinal fluid")) > 0.25


def test_sulci_that_wind_stay_in_place_at_the_fissure_and_move_no_farther_than_waves_go() -> None:
    place = np.linspace(-60, 60, 241, dtype=np.float32)
    wound = bend_points(place, place * 0, place * 0 + 1670, (0.3, 1.1, 2.0, 4.0))
    farthest = sum(far for _, far in SULCUS_BENDS)
    assert wound[0][120] == 0.0  # x = 0
    assert (
        np.abs(wound[0] - place).max() <= farthest + 1e-4
        and np.abs(wound[2] - 1670).max() <= farthest + 1e-3
    )
    assert np.all(np.diff(wound[0][place > 8]) > 0)  # folded over nowhere
