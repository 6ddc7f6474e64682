"""Loins, liver, kidneys and lung bases lie as an abdomen has them."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from numpy.typing import NDArray

from fovnet.phantom.anatomy import back, belly, kidneys, lung_bases, wings
from fovnet.phantom.anatomy.body import label_volume
from fovnet.phantom.anatomy.trunk import ILIAC_CREST_MM, spine_y
from fovnet.phantom.geometry.raster import Grid
from fovnet.phantom.person.traits import Person, sample_person
from fovnet.phantom.scanner.tissues import label_of

WRITTEN = frozenset(["varied bodies", "deformation", "fat in places", "builds", "cross-sections"])
PEOPLE = tuple(sample_person((5, number), WRITTEN) for number in range(1, 9))
NO_LESIONS = frozenset(["lesions", "tissue structure"])


def cut(person: Person, z: float, without: frozenset[str] = NO_LESIONS) -> NDArray[np.uint8]:
    """The axial cut at a height of the written anatomy, 2 mm voxels, x from -200 and y from -160 mm."""
    grid = np.diag([2.0, 2.0, 2.0, 1.0])
    grid[:3, 3] = (-200.0, -160.0, person.morph.height_mm(z))
    return np.asarray(label_volume(person, Grid((201, 161, 1), grid), without).labels[..., 0])


@pytest.mark.parametrize("person", PEOPLE[:3])
def test_behind_a_lumbar_body_are_6_to_9_cm_of_canal_process_and_muscle(person: Person) -> None:
    """Canal, lamina and spinous process behind the middle of L2 to L4: Panjabi et al. (1992), Spine
    17:299."""
    z = 1100.0
    labels = cut(person, z)
    # 36 mm beside the middle, where the erector is thickest
    column = labels[118, :]
    deepest = -160 + 2 * int(
        np.flatnonzero(np.isin(column, [label_of("muscle"), label_of("intermuscular fat")]))[0]
    )
    assert 60 < spine_y(z) - deepest < 95
    assert (
        back.erector_spinae_bulge_mm(person, z) > 8
        and back.erector_spinae_bulge_mm(person, 1400.0) == 0.0
    )


def test_fat_about_the_kidneys_is_thin_in_the_lean_and_2_to_4_cm_in_men_with_a_belly() -> None:
    stout = [replace(person, sex="male", belly_mm=45.0) for person in PEOPLE]
    lean = [replace(person, sex="female", belly_mm=0.0) for person in PEOPLE]
    assert all(15 < belly.kidney_fat_mm(person) <= 36 for person in stout) and all(
        belly.kidney_fat_mm(person) < 16 for person in lean
    )


@pytest.mark.parametrize("person", PEOPLE[:3])
def test_the_lung_lies_behind_the_liver_below_the_dome_and_not_beneath_the_recess(
    person: Person,
) -> None:
    top, (deep, thick) = belly.liver_dome_height_mm(person), lung_bases.draw_recess(person)
    within, beneath = cut(person, top - 45), cut(person, top - deep - 10)
    behind = within[100:, :][:, :80] == label_of("lung")  # right and back
    assert 2.0 < 2 * behind.sum(axis=1).max() <= 2 * thick + 12
    assert np.count_nonzero(within == label_of("liver")) > 2000 and not np.any(
        beneath == label_of("lung")
    )


@pytest.mark.parametrize("person", PEOPLE[:3])
def test_a_liver_is_of_half_to_three_litres_and_ends_below_its_dome(person: Person) -> None:
    """Adults: 1.0 to 2.5 litres, rarely beyond (Kromrey et al. (2018), Eur J Radiol 106:32)."""
    grid = np.diag([4.0, 4.0, 4.0, 1.0])
    grid[:3, 3] = (-160.0, -120.0, 0.0)
    grid[2, 3] = person.morph.height_mm(1000.0)
    liver = label_volume(person, Grid((81, 71, 85), grid), NO_LESIONS).labels == label_of("liver")
    assert 0.6 < liver.sum() * 64e-6 < 2.9
    assert grid[2, 3] + 4 * np.flatnonzero(liver.any(axis=(0, 1)))[-1] <= person.morph.height_mm(
        belly.liver_dome_height_mm(person)
    )
    assert list(belly.paint_upper_organs(person)) != list(
        belly.paint_upper_organs(person, with_small_parts=True)
    )


@pytest.mark.parametrize("person", PEOPLE[:3])
def test_the_sacrum_reaches_from_joint_to_joint_and_fat_covers_the_front_of_the_crest(
    person: Person,
) -> None:
    """A sacrum is 10 to 13 cm wide at its base; between it and either ilium lies cartilage."""
    labels = cut(person, 1000.0)
    gap = np.flatnonzero((labels[:, 30:70] == label_of("cartilage")).any(axis=1)) * 2.0 - 200.0
    assert 85 < gap.max() - gap.min() < 190 and gap.min() < -40 and gap.max() > 40
    corner = np.s_[150:185, 95:120]  # x from 100 to 170 mm, y from 30 to 80
    plain, seen = (
        cut(person, 1022.0, without)[corner]
        for without in (NO_LESIONS | {"joints and organs"}, NO_LESIONS)
    )
    assert np.count_nonzero(seen == label_of("muscle")) < 0.9 * np.count_nonzero(
        plain == label_of("muscle")
    )


def test_kidneys_are_9_to_13_cm_long_and_end_above_the_crest_but_for_a_few_that_have_sunk_to_it() -> (
    None
):
    """Emamian et al. (1993), AJR 160:83; lower poles at L3, the right one lower."""
    people = [sample_person((9, number)) for number in range(300)]
    right, left, fused = zip(
        *(kidneys.draw_kidneys(person, belly.liver_dome_height_mm(person)) for person in people),
        strict=True,
    )
    both = [*right, *left]
    lengths, poles = (
        np.array([11 * kidney.size_factor for kidney in both]),
        np.array([kidney.middle_z - 53 * kidney.size_factor - ILIAC_CREST_MM for kidney in both]),
    )
    assert np.mean((lengths > 9) & (lengths < 13.3)) > 0.85 and 0.02 < np.mean(lengths < 8.5) < 0.1
    assert 10 < np.median(poles) < 50 and 0.02 < np.mean(poles < -10) < 0.2 and poles.min() > -80
    assert (
        np.mean([kidney.middle_z for kidney in right])
        < np.mean([kidney.middle_z for kidney in left]) - 5
        and 0 < sum(fused) < 15
    )


@pytest.mark.parametrize("person", PEOPLE[:4])
def test_the_iliac_blade_has_muscle_on_both_faces_and_begins_thin_at_the_crest(
    person: Person,
) -> None:
    """Iliacus within and the gluteal muscles without; the crests are 26 to 31 cm apart."""
    crest = ILIAC_CREST_MM + person.borders.iliac_crest_rise_mm
    top, below = cut(person, crest - 3), cut(person, crest - 45)
    bones = [label_of(name) for name in ("cortical bone", "mixed marrow")]
    # x from 60 to 150 mm, without the arm
    beside = np.isin(below, bones)[130:176, :]
    crossed = [row for row in range(65, 85) if beside[:, row].any()]  # y from -30 to 10 mm
    assert len(crossed) > 15
    muscle, covered = label_of("muscle"), []
    for row in crossed:
        at = 130 + np.flatnonzero(beside[:, row])
        within, without = below[at[0] - 5 : at[0], row], below[at[-1] + 1 : at[-1] + 6, row]
        covered.append(np.any(within == muscle) and np.any(without == muscle))
    assert np.mean(covered) >= 0.9  # the joint of the sacrum and a seam of fat touch it in places
    assert 0 < np.isin(top, bones)[130:176, :].sum() < 0.7 * beside.sum()
    wide = max(row[3] for row in wings.draw_wing_table(person))
    assert 250 < 2 * wide < 310


@pytest.mark.parametrize("person", PEOPLE[:4])
def test_psoas_lies_against_the_bodies_of_l3_and_l4_and_is_7_to_18_cm2(person: Person) -> None:
    x, y = np.meshgrid(np.arange(0.0, 101.0), np.arange(-80.0, 81.0), indexing="ij")
    for z in (1100.0, 1067.0):
        inside = back.psoas_solid(person).contains(
            x[..., None], y[..., None], np.full((1, 1, 1), z)
        )[..., 0]
        assert 700 < inside.sum() < 1800 and x[inside].min() < 26
