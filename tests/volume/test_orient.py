"""One grid, however it is stored, is one volume."""

from __future__ import annotations

from itertools import permutations, product

import nibabel
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis.strategies import floats, integers, sampled_from, tuples

from fovnet.errors import VolumeError
from fovnet.volume.orient import measure_tilt_deg, reorder_to_closest_ras, to_ras
from fovnet.volume.slices.stack import cut_slices
from fovnet.volume.volume import Volume

FORTY_EIGHT = [
    (order, flips) for order in permutations(range(3)) for flips in product((1, -1), repeat=3)
]


def rotation(axis: int, degrees: float) -> np.ndarray:
    cosine, sine = np.cos(np.radians(degrees)), np.sin(np.radians(degrees))
    turned = np.eye(3)
    a, b = [other for other in range(3) if other != axis]
    turned[np.ix_([a, b], [a, b])] = [[cosine, -sine], [sine, cosine]]
    return turned


def oblique(
    degrees: float, axis: int = 0, shape=(18, 22, 14), spacing=(1.5, 1.25, 2.0), seed: int = 0
) -> Volume:
    """Noise on a tilted grid; whole numbers, so that sums do not depend on their order."""
    affine = np.eye(4)
    affine[:3, :3] = rotation(axis, degrees) @ np.diag(spacing)
    affine[:3, 3] = (-31.7, 12.3, 45.9)
    voxels = np.random.default_rng(seed).integers(0, 1000, shape).astype(np.float32)
    return Volume(voxels, affine, "noise")


def stored(volume: Volume, order, flips) -> Volume:
    """The same grid written in another axis order and direction."""
    orientation = np.column_stack([order, flips]).astype(float)
    voxels = nibabel.orientations.apply_orientation(volume.voxels, orientation)
    affine = volume.vox_to_ras @ nibabel.orientations.inv_ornt_aff(orientation, volume.voxels.shape)
    return Volume(np.ascontiguousarray(voxels), affine, volume.source)


@pytest.mark.parametrize(
    "degrees", [0.0, 12.0, 31.0, 45.0], ids=["straight", "within the limit", "beyond it", "a tie"]
)
@pytest.mark.parametrize("axis", [0, 1, 2])
def test_forty_eight_storage_orders_give_identical_slices(degrees, axis):
    volume = oblique(degrees, axis)
    expected = cut_slices(to_ras(volume))
    for order, flips in FORTY_EIGHT:
        got = cut_slices(to_ras(stored(volume, order, flips)))
        assert np.array_equal(got.pixels, expected.pixels), (order, flips)
        assert np.array_equal(got.z_mm, expected.z_mm)
        assert np.array_equal(got.slice_ranges, expected.slice_ranges)
        assert np.array_equal(got.vox_to_ras, expected.vox_to_ras)
        assert np.array_equal(got.middle_slices, expected.middle_slices)


@settings(max_examples=60)
@given(sampled_from(FORTY_EIGHT), floats(-40, 40), integers(0, 2))
def test_the_closest_order_is_nibabels(storage, degrees, axis):
    volume = stored(oblique(degrees, axis), *storage)
    image = nibabel.as_closest_canonical(nibabel.Nifti1Image(volume.voxels, volume.vox_to_ras))
    mine = reorder_to_closest_ras(volume)
    assert np.array_equal(mine.voxels, image.get_fdata(dtype=np.float32))
    np.testing.assert_allclose(mine.vox_to_ras, image.affine, atol=1e-5)


def test_a_voxel_keeps_its_place_in_the_scanner():
    volume = stored(oblique(15.0), (2, 0, 1), (-1, 1, -1))
    ras = reorder_to_closest_ras(volume)
    i, j, k = np.argwhere(ras.voxels == volume.voxels[3, 5, 7])[0]
    same = volume.voxels == volume.voxels[3, 5, 7]
    places = nibabel.affines.apply_affine(volume.vox_to_ras, np.argwhere(same))
    assert (
        np.abs(places - nibabel.affines.apply_affine(ras.vox_to_ras, [i, j, k])).sum(axis=1).min()
        < 1e-5
    )


@settings(max_examples=30)
@given(floats(0, 44), integers(0, 2))
def test_the_tilt_of_a_rotation_is_its_angle(degrees, axis):
    assert measure_tilt_deg(
        reorder_to_closest_ras(oblique(degrees, axis)).vox_to_ras
    ) == pytest.approx(degrees, abs=1e-3)


def test_within_the_limit_no_voxel_changes_and_beyond_it_the_grid_stands_straight():
    kept, straightened = to_ras(oblique(19.9)), to_ras(oblique(20.1))
    assert np.array_equal(np.unique(kept.voxels), np.unique(oblique(19.9).voxels))
    assert kept.label_slice_z_mm is None and "oblique by 19.9°" in kept.notes[0]
    assert np.array_equal(straightened.vox_to_ras[:3, :3], np.diag([1.5, 1.25, 2.0]))
    assert straightened.label_slice_z_mm is not None and len(straightened.label_slice_z_mm) == 14
    assert "resampled" in straightened.notes[0]


@pytest.mark.parametrize("degrees", [25.0, 40.0])
def test_resampling_a_linear_ramp_is_exact_inside_the_volume(degrees):
    """Trilinear interpolation reproduces every linear function of the position."""
    volume = oblique(degrees, shape=(20, 24, 22))
    at = nibabel.affines.apply_affine(
        volume.vox_to_ras, np.indices(volume.voxels.shape).reshape(3, -1).T
    )
    ramp = (1000 + at @ [2.0, -3.0, 5.0]).astype(np.float32).reshape(volume.voxels.shape)
    straight = to_ras(Volume(ramp, volume.vox_to_ras, "ramp"))
    index = np.indices(straight.voxels.shape).reshape(3, -1).T
    place = nibabel.affines.apply_affine(straight.vox_to_ras, index)
    original = nibabel.affines.apply_affine(np.linalg.inv(volume.vox_to_ras), place)
    inside = ((original >= 0) & (original <= np.asarray(ramp.shape) - 1)).all(axis=1)
    np.testing.assert_allclose(
        straight.voxels.ravel()[inside], 1000 + place[inside] @ [2.0, -3.0, 5.0], atol=0.01
    )
    corners = nibabel.affines.apply_affine(
        volume.vox_to_ras, np.indices((2, 2, 2)).reshape(3, 8).T * (np.asarray(ramp.shape) - 1)
    )
    reach = nibabel.affines.apply_affine(np.linalg.inv(straight.vox_to_ras), corners)
    assert (reach > -1).all() and (reach < np.asarray(straight.voxels.shape)).all()


@pytest.mark.parametrize("low", [-1000.0, -32768.0])
def test_a_broken_voxel_does_not_brighten_a_volume_that_is_straightened(low):
    """What lies outside the oblique volume was as dark as its darkest voxel, and all of the body white beside
    it."""
    rng = np.random.default_rng(0)
    voxels = np.where(
        np.hypot(*np.meshgrid(np.linspace(-1, 1, 40), np.linspace(-1, 1, 44), indexing="ij"))[
            :, :, None
        ]
        < 0.7,
        900.0,
        0.0,
    )
    voxels = (voxels + rng.rayleigh(20.0, (40, 44, 30))).astype(np.float32)
    affine = np.eye(4)
    affine[:3, :3] = rotation(0, 30.0) * 4.0
    before = cut_slices(to_ras(Volume(voxels, affine, "whole"))).pixels
    voxels[5, 5, 5] = low
    spoilt = cut_slices(to_ras(Volume(voxels, affine, "spoilt"))).pixels
    assert np.abs(before.astype(int) - spoilt).mean() < 0.5 and np.median(before) == np.median(
        spoilt
    )


def test_a_grid_that_would_not_fit_is_refused_before_it_is_made():
    """32 slices 400 mm apart of pixels of 0.01 mm, turned by 45° about the second axis: 8.77 m, in hundredths
    of a millimetre."""
    along = (399 * 0.01 + 31 * 400) / np.sqrt(2)
    grid = (
        f"{np.ceil(along / 0.01) + 1:.0f} × 400 × {np.ceil(along / 400) + 1:.0f} voxels along the scanner "
        "axes"
    )
    with pytest.raises(VolumeError, match=f"{grid}; the limit is 536,870,912") as refusal:
        to_ras(oblique(45, axis=1, shape=(400, 400, 32), spacing=(0.01, 0.01, 400.0)))
    assert refusal.value.code == "volume-too-large"


def test_the_middle_of_a_resampled_cut_is_the_slice_of_the_stored_volume_at_that_height():
    stack = cut_slices(to_ras(oblique(30.0, shape=(20, 20, 30))))
    heights = reorder_to_closest_ras(oblique(30.0, shape=(20, 20, 30))).slice_heights_mm()
    assert stack.label_slice_count == 30
    assert np.array_equal(
        stack.middle_slices, np.abs(heights[None] - stack.z_mm[:, None]).argmin(axis=1)
    )


@pytest.mark.parametrize("degrees", [0.0, 12.0, 19.0, 31.0])
@pytest.mark.parametrize("axis", [0, 1])
def test_a_cut_is_as_high_in_the_scanner_as_the_middle_of_its_slices(degrees, axis):
    """Their corners are not: at 19° those of a field of view of 400 mm lie 65 mm lower and higher."""
    volume = to_ras(oblique(degrees, axis, shape=(60, 50, 31), spacing=(1.5, 1.25, 1.0)))
    stack, (i, j, _) = cut_slices(volume), (np.asarray(volume.voxels.shape) - 1) / 2
    for place, (first, last) in enumerate(stack.slice_ranges):
        at = [[i, j, k] for k in (first - 0.5, (first + last) / 2, last + 0.5)]
        low, middle, high = nibabel.affines.apply_affine(volume.vox_to_ras, at)
        assert stack.z_mm[place] == pytest.approx(middle[2], abs=1e-4)
        assert stack.edges_mm[place : place + 2] == pytest.approx([low[2], high[2]], abs=1e-4)


def test_what_lies_beside_an_oblique_volume_is_black_whatever_number_black_is():
    """Intensities have no zero: a volume less 5,000 is the same volume, and the corners about it are not
    5,000 brighter than its air."""
    volume = oblique(30.0, shape=(40, 44, 30))
    shifted = Volume(volume.voxels - 5000, volume.vox_to_ras, "less 5,000")
    one, other = (cut_slices(to_ras(either)).pixels.astype(int) for either in (volume, shifted))
    assert np.abs(one - other).max() <= 1


@pytest.mark.parametrize(
    "thin", [(1, 40, 40), (40, 1, 40), (40, 40, 1)], ids=["sagittal", "coronal", "axial"]
)
@pytest.mark.parametrize("degrees", [21.0, 30.0, 44.0])
@pytest.mark.parametrize("axis", [0, 1, 2])
def test_a_single_slice_fills_no_space_and_stays_as_it_is_however_oblique(thin, degrees, axis):
    volume = oblique(degrees, axis, shape=thin, spacing=(2.0, 2.0, 2.0))
    kept = to_ras(volume)
    assert (
        kept.voxels.shape == reorder_to_closest_ras(volume).voxels.shape
        and "too thin to be resampled" in kept.notes[-1]
    )
    assert np.array_equal(np.sort(kept.voxels, axis=None), np.sort(volume.voxels, axis=None))


@settings(max_examples=300)
@given(
    shape=tuples(*[integers(1, 6)] * 3),
    spacing=tuples(*[floats(0.3, 40.0)] * 3),
    angles=tuples(*[floats(-180.0, 180.0)] * 3),
    seed=integers(0, 99),
)
def test_every_small_geometry_is_cut_into_slices_that_show_something(shape, spacing, angles, seed):
    """Also slabs so thin that no point of a grid along the scanner axes lies in them."""
    rng = np.random.default_rng(seed)
    voxels = rng.integers(0, 1000, shape).astype(np.float32)
    voxels.flat[0] = 1000.0
    affine = np.eye(4)
    affine[:3, :3] = (
        rotation(0, angles[0]) @ rotation(1, angles[1]) @ rotation(2, angles[2]) @ np.diag(spacing)
    )
    volume = Volume(voxels, affine, "noise")
    if np.ptp(voxels) == 0:
        return
    stack = cut_slices(to_ras(volume))
    assert (
        stack.pixels.max() > 0 and np.isfinite(stack.z_mm).all() and (np.diff(stack.z_mm) > 0).all()
    )
