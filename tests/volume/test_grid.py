"""Voxels after a header: read piece by piece, held once, and refused by the header if memory does not hold
them."""

from __future__ import annotations

import gzip
from pathlib import Path
from types import ModuleType

import nibabel
import numpy as np
import pytest

from fovnet.errors import VolumeError
from fovnet.machine.memory import forget_peak, peak_bytes
from fovnet.volume import grid, unpacking
from fovnet.volume.sources.source import read


@pytest.mark.parametrize("dtype", ["<i2", ">f8", "<f4"])
@pytest.mark.parametrize("name", ["nifti-1", "nrrd"])
def test_voxels_are_those_of_the_file_wherever_a_piece_of_it_ends(
    tmp_path: Path, made: ModuleType, monkeypatch: pytest.MonkeyPatch, name: str, dtype: str
) -> None:
    body = made.stored(made.body(), (2, 0, 1), (1, -1, 1))
    path = made.write(name, tmp_path / "body", body, dtype)
    whole = read(path).voxels
    assert np.array_equal(whole, body.voxels)
    for at_once in (1, 997, body.voxels.size):
        monkeypatch.setattr(unpacking, "NUMBERS_AT_ONCE", at_once)
        pieces = read(path).voxels
        assert np.array_equal(pieces, whole) and pieces.strides == whole.strides


def test_a_file_that_ends_early_is_measured_from_its_first_voxel(
    tmp_path: Path, made: ModuleType, monkeypatch: pytest.MonkeyPatch
) -> None:
    """22 × 26 × 16 voxels of two bytes, of which the last 500 and one byte are missing."""
    monkeypatch.setattr(unpacking, "NUMBERS_AT_ONCE", 1000)
    path = made.nifti(tmp_path / "body.nii", made.body())
    packed = tmp_path / "cut.nii.gz"
    packed.write_bytes(gzip.compress(path.read_bytes()[:-1001]))
    with pytest.raises(VolumeError, match="the voxels end after 17,303 of 18,304 bytes") as refusal:
        read(packed)
    assert refusal.value.code == "volume-truncated"


@pytest.mark.parametrize("name", ["nifti-1", "nifti-2", "nrrd", "metaimage", "mgh"])
def test_what_memory_does_not_hold_is_refused_with_the_bytes_needed_and_allowed(
    tmp_path: Path, made: ModuleType, monkeypatch: pytest.MonkeyPatch, name: str
) -> None:
    path = made.write(name, tmp_path / "body", made.body(), made.FORMATS[name][1][0])
    monkeypatch.setattr(grid, "MAX_FRAME_BYTES", 4 * 22 * 26 * 16)
    assert read(path).voxels.shape == (22, 26, 16)
    monkeypatch.setattr(grid, "MAX_FRAME_BYTES", 4 * 22 * 26 * 16 - 1)
    sentence = r"take 36,608 bytes of memory; 36,607 are allowed\. .* resample the volume"
    with pytest.raises(VolumeError, match=sentence) as refusal:
        read(path)
    assert refusal.value.code == "volume-too-large" and str(path) in refusal.value.sentence


@pytest.mark.slow
@pytest.mark.skipif(
    not Path("/proc/self/clear_refs").exists(), reason="the peak is reset through /proc"
)
@pytest.mark.parametrize(("dtype", "slope"), [("<i2", 1.0), ("<i2", 0.5), ("<f8", 1.0)])
def test_a_volume_is_held_once_whatever_is_stored(tmp_path: Path, dtype: str, slope: float) -> None:
    """400 × 400 × 200 voxels are 128 MB as float32; as float64 they were 256 MB more while they were read."""
    shape, rng = (400, 400, 200), np.random.default_rng(0)
    header = nibabel.Nifti1Header()
    header.set_data_dtype(dtype)
    header.set_data_shape(shape)
    header.set_sform(np.eye(4), code=1)
    header.set_slope_inter(slope, 0.0)
    header["vox_offset"], header["magic"] = 352, b"n+1"
    path = tmp_path / "large.nii"
    with path.open("wb") as file:
        file.write(header.binaryblock + bytes(4))
        for _ in range(shape[2]):
            file.write(rng.integers(0, 4000, shape[:2]).astype(dtype).tobytes(order="F"))
    assert forget_peak()
    before = peak_bytes()
    assert read(path).voxels.shape == shape
    assert peak_bytes() - before < 1.3 * 4 * np.prod(shape)
