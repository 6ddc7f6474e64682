"""Legs in cross-section: what the muscles fill, where fat and bone lie; and lesions, which come and go alone."""

from __future__ import annotations

import numpy as np
import pytest
from numpy.typing import NDArray

from fovnet.phantom import lesions
from fovnet.phantom.body import label_volume, landmarks
from fovnet.phantom.bundles import Outline
from fovnet.phantom.person import sample_person
from fovnet.phantom.raster import Grid
from fovnet.phantom.tissues import label_of

PLAIN = frozenset(["varied bodies", "lesions"])


def section(number: int, share: float, without: frozenset[str] = PLAIN) -> NDArray[np.integer]:
    """(i, j) labels of 2 mm of the right leg, at a share of the way from the soles to the ischium."""
    person = sample_person((5, number), without)
    affine = np.diag([2.0, 2.0, 2.0, 1.0])
    affine[:3, 3] = 4, -160, share * landmarks(person).ischium
    return label_volume(person, Grid((120, 160, 1), affine), without).labels[:, :, 0]


@pytest.mark.parametrize("number", range(1, 7))
def test_a_thigh_is_muscle_within_fat_and_its_femur_stands_outside_the_middle(number: int) -> None:
    """Muscle and the fat between take most of a lean thigh and a third of a fat one; fat between muscles is a small part of both."""
    labels = section(number, 0.8)
    muscle, between = (int((labels == label_of(name)).sum()) for name in ("muscle", "intermuscular fat"))
    assert 0.25 < muscle / (labels > 0).sum() < 0.9
    assert 0.02 < between / (muscle + between) < 0.3
    femur, flesh = (np.argwhere(labels == label_of(name)).mean(axis=0) for name in ("yellow marrow", "muscle"))
    assert femur[0] > flesh[0] + 3      # 6 mm further out


def test_an_outline_is_closed_and_lies_in_its_box() -> None:
    shape = Outline(((0.0, 0.0, 0.0, 50.0, 40.0, 60.0, 30.0), (20.0, 0.0, 0.0, 50.0, 40.0, 60.0, 30.0)), (0.0, 0.2))
    x, y = np.meshgrid(np.arange(-120, 121.0), np.arange(-120, 121.0), indexing="ij")
    inside = shape.inside(x.astype(np.float32), y.astype(np.float32), np.full((1, 1), 10, np.float32))
    low, high = shape.box
    assert not np.any(inside & ((x < low[0]) | (x > high[0]) | (y < low[1]) | (y > high[1])))
    assert inside.sum() == pytest.approx(np.pi * 45 * 45, rel=0.1)


def test_lesions_are_in_a_fourth_of_people_and_change_nothing_but_themselves() -> None:
    people = [sample_person((5, number)) for number in range(1, 121)]
    have = [any(isinstance(paint.solid, lesions.Lobed) for paint in lesions.lesions(person)) for person in people]
    assert 15 < sum(have) < 45
    person = people[have.index(True)]
    low, high = next(paint.solid.box for paint in lesions.lesions(person) if isinstance(paint.solid, lesions.Lobed))
    affine = np.diag([4.0, 4.0, 4.0, 1.0])
    affine[:3, 3] = -260, -200, person.morph.height_mm(float(low[2] + high[2]) / 2) - 20
    grid = Grid((130, 110, 10), affine)
    whole, plain = (label_volume(person, grid, frozenset(without)).labels for without in ((), ("lesions",)))
    changed = {"tumour", "fluid of a lesion", "bruise", "oedematous white matter", "grey matter", "cerebrospinal fluid", "muscle"}
    assert np.isin(whole[whole != plain], [label_of(name) for name in changed]).all()
    assert np.array_equal(whole > 0, plain > 0)
