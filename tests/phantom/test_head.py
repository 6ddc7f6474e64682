"""The head from within: facts of anatomy that the drawn brain, skull and neck keep to."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.ndimage import distance_transform_edt

from fovnet.phantom.body import label_volume, landmarks
from fovnet.phantom.masks import BRAIN, shown
from fovnet.phantom.person import Person, sample_person
from fovnet.phantom.raster import Grid
from fovnet.phantom.tissues import label_of

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
    assert 900e3 < grey + white < 1700e3                  # mm³
    assert 0.6 < grey / white < 2.2
    top = labels[:, :, labels.shape[2] // 2 :]
    within = distance_transform_edt(top == MATTER[0])[top == MATTER[0]]
    assert 0.9 < float(within.mean()) < 2.0               # the mean depth in a ribbon of 3 mm is some 1.2 mm at this voxel size


def test_old_brains_leave_more_water() -> None:
    young = sample_person((7, 1), frozenset({"varied bodies"}))
    shares = []
    for age in (22.0, 82.0):
        aged = Person(**{**vars(young), "age": age})
        labels, grid = slab(aged, 1660, 1700)
        brain = shown(labels, grid, landmarks(aged), BRAIN)
        assert brain is not None
        shares.append(np.count_nonzero(labels == label_of("cerebrospinal fluid")) / np.count_nonzero(brain))
    assert 0.03 < shares[0] < shares[1] < 0.5


def test_a_neck_is_mostly_muscle_with_planes_of_fat() -> None:
    labels, _ = slab(sample_person((7, 2), frozenset({"varied bodies"})), 1485, 1515)
    flesh, fat = np.count_nonzero(labels == label_of("muscle")), np.count_nonzero(labels == label_of("intermuscular fat"))
    assert 0.45 < flesh / (flesh + fat) < 0.92
