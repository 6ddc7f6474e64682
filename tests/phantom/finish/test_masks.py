"""Masks remove what their names state, and the region stays where it is seen."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from fovnet.phantom.acquisition.field_kinds import FieldEnd, FieldKind
from fovnet.phantom.acquisition.protocols import SITES, draw_plan
from fovnet.phantom.anatomy.body import label_volume, landmarks
from fovnet.phantom.collection import acquire_volume
from fovnet.phantom.finish.masks import (
    BRAIN,
    FACE,
    Processing,
    apply_processing,
    find_visible_voxels,
)
from fovnet.phantom.finish.stripping import CEREBELLUM, Stripping
from fovnet.phantom.geometry.raster import Grid
from fovnet.phantom.person.traits import sample_person
from fovnet.phantom.scanner.tissues import AIR, TISSUES, label_of
from fovnet.volume.volume import Volume

PERSON = sample_person((4, 2))
MARKS = landmarks(PERSON)


def test_a_brain_without_its_skull_is_brain_alone_and_its_slices_below_are_none(
    head_grid: Grid,
) -> None:
    labels = label_volume(PERSON, head_grid).labels
    left = find_visible_voxels(labels, head_grid, MARKS, BRAIN)
    assert left is not None
    names = {TISSUES[label].name for label in np.unique(labels[left])}
    assert {"grey matter", "white matter"} <= names and not names & {
        "skin",
        "fat",
        "muscle",
        "air",
        "cortical bone",
    }
    base = draw_plan(
        PERSON,
        MARKS,
        FieldKind(
            "head",
            FieldEnd("lung_apex", 0, 0),
            FieldEnd("vertex", 20, 20),
            (200, 200),
            (260, 260),
            "a",
        ),
        SITES[0],
        np.random.default_rng(0),
    )
    acquired = replace(
        base,
        grid=head_grid,
        acquisition=replace(base.acquisition, labels_per_voxel=(1, 1, 1)),
        processing=Processing(BRAIN),
    )
    volume, rows = acquire_volume(PERSON, acquired, np.random.default_rng(0))
    assert (volume.voxels == 0).mean() > 0.7 and [row["region"] for row in rows] == ["head"]
    whole = acquire_volume(
        PERSON, replace(acquired, processing=Processing()), np.random.default_rng(0)
    )[1]
    assert rows[0]["first_slice"] > whole[0]["first_slice"]


def test_a_good_mask_holds_the_brain_a_wide_one_more_and_one_without_cerebellum_ends_higher(
    head_grid: Grid,
) -> None:
    labels = label_volume(PERSON, head_grid).labels
    matter = np.isin(labels, [at for at, tissue in enumerate(TISSUES) if "matter" in tissue.name])
    good, wide, less = (
        find_visible_voxels(labels, head_grid, MARKS, BRAIN, stripping)
        for stripping in (Stripping(), Stripping(reach_mm=8.0), Stripping(missing_part=CEREBELLUM))
    )
    assert good is not None and wide is not None and less is not None
    assert (good & matter).sum() > 0.9 * matter.sum() and (
        good & (labels == label_of("skin"))
    ).sum() < 0.01 * good.sum()
    assert good.sum() * 1.1 < wide.sum() < 2 * good.sum()
    lowest = [int(np.flatnonzero(mask.sum(axis=(0, 1)) > 20)[0]) for mask in (good, less)]
    # the hind brain is an eighth of it all
    assert 10 <= 5 * (lowest[1] - lowest[0]) <= 45 and 0.75 < less.sum() / good.sum() < 0.97


@pytest.mark.parametrize("cube_mm", [0.0, 256.0])
def test_a_brain_in_a_tight_box_or_a_cube_has_its_region_where_it_is_seen(
    cube_mm: float, head_grid: Grid
) -> None:
    base = draw_plan(
        PERSON,
        MARKS,
        FieldKind(
            "head",
            FieldEnd("lung_apex", 0, 0),
            FieldEnd("vertex", 20, 20),
            (200, 200),
            (260, 260),
            "a",
        ),
        SITES[0],
        np.random.default_rng(0),
    )
    finish = Processing(
        BRAIN, crop_margin=1, crops_slices=True, cube_mm=cube_mm, stripping=Stripping()
    )
    acquired = replace(
        base,
        grid=head_grid,
        acquisition=replace(base.acquisition, labels_per_voxel=(1, 1, 1)),
        processing=finish,
    )
    volume, rows = acquire_volume(PERSON, acquired, np.random.default_rng(0))
    # of 25 mm2: 400 mm2
    seen = np.flatnonzero((volume.voxels > 0).sum(axis=(0, 1)) >= 16)
    assert abs(rows[0]["first_slice"] - seen[0]) <= 1 and abs(rows[0]["last_slice"] - seen[-1]) <= 1
    assert [row["region"] for row in rows] == ["head"]
    sides = np.asarray(volume.voxels.shape) * volume.spacing_mm
    assert np.allclose(sides, 256, atol=5) if cube_mm else np.all(sides < 200)
    loose = replace(acquired, processing=Processing(BRAIN, stripping=Stripping()))
    whole = acquire_volume(PERSON, loose, np.random.default_rng(0))[0]
    heights = [
        v.slice_heights_mm()[int((v.voxels > 0).sum(axis=(0, 1)).argmax())] for v in (volume, whole)
    ]
    assert heights[0] == pytest.approx(heights[1])


def test_a_removed_face_is_in_front_and_the_brain_stays(head_grid: Grid) -> None:
    labels = label_volume(PERSON, head_grid).labels
    left = find_visible_voxels(labels, head_grid, MARKS, FACE)
    assert left is not None and left.shape == labels.shape
    gone = np.argwhere(~left & (labels != AIR))
    brain = find_visible_voxels(labels, head_grid, MARKS, BRAIN)
    assert len(gone) and gone[:, 1].mean() > np.argwhere(labels != AIR)[:, 1].mean() + 8
    assert (left & brain).sum() > 0.97 * brain.sum()


def test_cropping_around_what_is_shown_leaves_every_voxel_where_it_was_in_the_scanner() -> None:
    rng = np.random.default_rng(0)
    affine = np.diag([2.0, 3.0, 4.0, 1.0])
    affine[:3, 3] = -20, 5, 100
    voxels = rng.random((12, 10, 6)).astype(np.float32) + 1
    visible = np.zeros(voxels.shape, dtype=bool)
    visible[3:8, 4:6, 1:3] = True
    volume = Volume(voxels, affine, "made up")
    whole, cut = (
        apply_processing(volume, visible, (1, 1, 1), Processing(BRAIN, crop_margin=margin))
        for margin in (None, 1)
    )
    assert cut.voxels.shape == (7, 4, 6)
    shift = np.linalg.inv(whole.vox_to_ras) @ cut.vox_to_ras
    first = shift[:3, 3].round().astype(int)
    np.testing.assert_allclose(shift[:3, :3], np.eye(3), atol=1e-12)
    np.testing.assert_array_equal(
        cut.voxels, whole.voxels[first[0] : first[0] + 7, first[1] : first[1] + 4]
    )
    assert cut.voxels.sum() == whole.voxels.sum() > 0
