"""Shoulders and knees in cross-section: how broad they are, what lies before and behind a bone; plain bodies
have none of it."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from fovnet.phantom.anatomy import knee, limbs, shoulder
from fovnet.phantom.anatomy.body import label_volume, landmarks
from fovnet.phantom.geometry.raster import Grid
from fovnet.phantom.person.traits import Person, sample_person
from fovnet.phantom.scanner.tissues import label_of

FINE = "joints and organs"
MARROW = [
    label_of(name) for name in ("yellow marrow", "mixed marrow", "red marrow", "cortical bone")
]


def unbent(number: int) -> Person:
    """A person as the anatomy is written, but for stature and width."""
    person = sample_person((5, number), frozenset(["varied bodies", "deformation"]))
    return replace(
        person,
        morph=replace(
            person.morph, waves=((0.0, 0.0, 0.01, 0.01, 0.01, 0.0, 0.0, 0.0),), yaw_deg=0.0
        ),
    )


def test_shoulders_are_as_broad_as_peoples() -> None:
    """Between the outer edges of both acromia: men 397 ± 18 mm, women 363 ± 17 mm (ANSUR), in bodies of
    average width."""
    for sex, mean, spread in (("male", 397, 18), ("female", 363, 17)):
        person = replace(unbent(1), sex=sex)
        tip = max(
            float(np.abs(paint.solid.box[:, 0]).max())
            for paint in shoulder.paint_scapula_and_clavicle(person)
        )
        assert abs(2 * tip - mean) < 1.5 * spread


@pytest.mark.parametrize("number", range(1, 5))
def test_a_shoulder_blade_lies_between_muscles_and_does_not_touch_the_lung(number: int) -> None:
    person = unbent(number)
    x, y, z = shoulder.SCAPULA_CENTRE
    affine = np.diag([1.0, 1.0, 1.0, 1.0])
    wide, deep = person.morph.trunk_factors
    affine[:3, 3] = (
        x * limbs.shoulder_width_factor(person) * wide,
        y * deep - 40,
        person.morph.height_mm(z),
    )
    line = label_volume(person, Grid((2, 80, 2), affine), frozenset(["lesions"])).labels[0, :, 0]
    bone = np.flatnonzero(np.isin(line, MARROW))
    blade = bone[np.abs(bone - 40) < 9]
    assert len(blade) >= 3
    behind, before = line[blade.min() - 10 : blade.min()], line[blade.max() + 1 : blade.max() + 9]
    assert all(
        np.mean(np.isin(part, [label_of("muscle"), label_of("intermuscular fat")])) > 0.7
        for part in (behind, before)
    )


def test_condyles_stand_out_behind_the_femur_and_not_before_it() -> None:
    """In the plane of the medial condyle the bone at 5 cm above the joint ends 10 mm or more before the back
    of the condyle."""
    person = unbent(2)
    ends = []
    for above in (16.0, 50.0):
        affine = np.diag([1.0, 1.0, 1.0, 1.0])
        x = (
            limbs.place_leg_points(person, ((78.0, 0.0, 480.0 + above),))[0][0]
            * person.morph.trunk_factors[0]
        )
        affine[:3, 3] = x, -70, person.morph.height_mm(480.0 + above)
        line = label_volume(person, Grid((2, 100, 2), affine), frozenset(["lesions"])).labels[
            0, :, 0
        ]
        ends.append(int(np.flatnonzero(np.isin(line, MARROW)).min()))
    assert ends[1] - ends[0] >= 10
    # 79 mm in women, 89 mm in men
    assert 2 * max(row[3] for row in knee.FEMUR_OUTLINE) == pytest.approx(84, abs=5)


def test_plain_bodies_have_plain_shoulders() -> None:
    """Without the feature shoulder blades are painted once and arms begin nearer to the trunk."""
    person = unbent(3)
    joints = [limbs.draw_arm_joints(person, 1, fine)[0][0] for fine in (False, True)]
    assert joints[1] - joints[0] == pytest.approx(16 * limbs.shoulder_width_factor(person))
    affine = np.diag([6.0, 6.0, 6.0, 1.0])
    affine[:3, 3] = -270, -150, landmarks(person).lung_apex - 120
    grid = Grid((90, 50, 22), affine)
    plain, fine = (
        label_volume(person, grid, frozenset(["lesions", *out])).labels for out in ([FINE], [])
    )
    assert not np.any(plain == label_of("joint fluid")) and np.any(fine == label_of("joint fluid"))
