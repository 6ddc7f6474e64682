"""Arrays, images and tensors that a script has: no notes on what nobody gave, and channels first are told."""

from __future__ import annotations

from typing import Any

import nibabel
import numpy as np
import pytest

from fovnet.errors import VolumeError
from fovnet.volume.sources.in_memory import write_temporary_file
from fovnet.volume.sources.source import read

VOXELS = np.random.default_rng(0).integers(1, 900, (30, 34, 20)).astype(np.float32)


def turned(spacing_mm: tuple[float, float, float], seed: int) -> np.ndarray:
    rng = np.random.default_rng(seed)
    affine = np.eye(4)
    rotation, _ = np.linalg.qr(rng.normal(size=(3, 3)))
    affine[:3, :3] = rotation * spacing_mm
    affine[:3, 3] = rng.uniform(-300, 300, 3)
    return affine


@pytest.mark.parametrize("seed", range(6))
@pytest.mark.parametrize("spacing_mm", [(8, 8, 12), (1, 1, 1), (0.9375, 0.9375, 3), (0.1, 2, 0.5)])
def test_an_array_with_its_affine_is_read_without_a_note(spacing_mm, seed):
    affine = turned(spacing_mm, seed)
    with write_temporary_file(VOXELS, affine) as path:
        volume = read(path)
    assert volume.notes == ()
    np.testing.assert_allclose(volume.vox_to_ras, affine, atol=1e-4)
    assert np.array_equal(volume.voxels, VOXELS)


def refusal(volume: Any) -> VolumeError:
    affine = None if isinstance(volume, nibabel.Nifti1Image) else np.eye(4)
    with pytest.raises(VolumeError) as refused, write_temporary_file(volume, affine) as path:
        read(path)
    return refused.value


@pytest.mark.parametrize("front", [(1,), (2,), (3,), (4,), (7,), (16,), (1, 1), (1, 4), (2, 3)])
@pytest.mark.parametrize("as_image", [False, True])
def test_channels_that_stand_first_are_told_and_the_advice_helps(front, as_image):
    stacked = np.broadcast_to(VOXELS, (*front, *VOXELS.shape)).copy()
    volume = nibabel.Nifti1Image(stacked, np.eye(4)) if as_image else stacked
    fault = refusal(volume)
    assert fault.code == "volume-shape" and f"has {front[0]} first" in fault.sentence
    advice = fault.sentence.split("Give one channel, ")[1].split(", or of")[0]
    channel = eval(advice, {"volume": volume, "nibabel": nibabel})
    with write_temporary_file(channel, None if as_image else np.eye(4)) as path:
        assert np.array_equal(read(path).voxels, VOXELS)


@pytest.mark.parametrize("seed", range(4))
@pytest.mark.parametrize(
    "spacing_mm", [(4, 4, 6), (8, 8, 12), (1, 1, 1), (1, 1, 5), (0.9375, 0.9375, 3)]
)
def test_an_array_of_two_axes_is_one_slice_without_a_note(spacing_mm, seed):
    affine = turned(spacing_mm, seed)
    with (
        write_temporary_file(VOXELS[:, :, 5], affine) as flat,
        write_temporary_file(VOXELS[:, :, 5:6], affine) as slab,
    ):
        volume, wanted = read(flat), read(slab)
    assert volume.notes == () and np.array_equal(volume.voxels, wanted.voxels)
    assert np.array_equal(volume.vox_to_ras, wanted.vox_to_ras)


@pytest.mark.parametrize("frames", [1, 2, 3, 40])
@pytest.mark.parametrize("shape", [(30, 34, 20), (20, 34, 30), (30, 2, 34), (17, 34, 30)])
def test_frames_that_stand_last_are_read(shape, frames):
    series = np.random.default_rng(1).normal(9, 1, (*shape, frames))
    with write_temporary_file(series, np.eye(4)) as path:
        assert read(path).voxels.shape == shape


def follow_advice(tensor: Any, affine: Any) -> None:
    """A tensor is refused, and the array that the refusal names is read."""
    fault = refusal(tensor)
    assert fault.code == "volume-format" and type(tensor).__name__ in fault.sentence
    advice = fault.sentence.split("predict(")[1].split(", affine")[0]
    channel = eval(advice, {"volume": tensor})
    with write_temporary_file(channel, affine) as path:
        assert np.array_equal(read(path).voxels, VOXELS)


@pytest.mark.parametrize("front", [(), (1,), (4,), (1, 1)])
def test_a_tensor_is_told_what_is_wanted(front):
    import torch

    follow_advice(torch.tensor(VOXELS).expand(*front, *VOXELS.shape), np.eye(4))


@pytest.mark.slow
def test_a_tensor_of_monai_is_told_so_and_its_affine_may_be_given_as_it_is():
    import torch
    from monai.data import MetaTensor

    tensor = MetaTensor(torch.tensor(VOXELS[None]), affine=torch.tensor(turned((8, 8, 12), 1)))
    follow_advice(tensor, tensor.affine)


@pytest.mark.parametrize("given", [[[1, 2]], None, "a.nii", 3])
def test_what_is_neither_is_told_so(given):
    assert "not a volume; give a path, a nibabel image, or a numpy array" in refusal(given).sentence
