"""A volume too large for memory gives the slices that it would have given whole."""

from __future__ import annotations

import gzip
import os
import subprocess
import sys
from dataclasses import replace
from itertools import product

import nibabel
import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis.strategies import integers, sampled_from

from fovnet.errors import VolumeError
from fovnet.volume import slabs
from fovnet.volume.readers import read
from fovnet.volume.slices import Slicing, slice_volume

NEVER_WHOLE = Slicing(whole_voxels=0)
PEAK = """
import resource, sys
from pathlib import Path
from fovnet.volume.slices import Slicing, slice_volume
slice_volume(Path(sys.argv[1]), Slicing(whole_voxels=1))                      # libraries, buffers and a first slab
before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
stack = slice_volume(Path(sys.argv[2]), Slicing(whole_voxels=2**22))
print(len(stack.pixels), (resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before) * 1024)
"""


@pytest.fixture(autouse=True)
def small_slabs(monkeypatch):
    """Slabs of a few steps, so that a test's volume is cut into several along whichever axis is slowest."""
    monkeypatch.setattr(slabs, "SLAB_VOXELS", 1500)


@pytest.mark.parametrize("plane", ["axial", "coronal", "sagittal"])
@pytest.mark.parametrize("name", ["nifti-2", "nrrd", "metaimage", "mgh"])
def test_slab_by_slab_or_whole_the_slices_are_the_same(tmp_path, made, name, plane):
    """A sum of floats in another order may round otherwise; a grey level away is all that this can be."""
    body, types = made.body(plane), made.FORMATS[name][1]
    for turn, (order, flips) in enumerate(made.FORTY_EIGHT[len(name) % 3 :: 3]):
        path = made.write(name, tmp_path / "body", made.stored(body, order, flips), types[turn % len(types)])
        assert_same(slice_volume(path, NEVER_WHOLE), slice_volume(path))


def assert_same(slabwise, whole):
    apart = np.abs(slabwise.pixels.astype(int) - whole.pixels)
    assert apart.max() <= 1 and apart.mean() < 0.01
    assert np.array_equal(slabwise.covers, whole.covers) and slabwise.counted_slices == whole.counted_slices
    np.testing.assert_allclose(slabwise.z_mm, whole.z_mm, atol=1e-4)
    assert slabwise.side_mm == pytest.approx(whole.side_mm, rel=1e-6)
    assert any("slab by slab" in note for note in slabwise.notes)


def test_an_oblique_one_is_resampled_from_its_planes(tmp_path, made):
    path = made.write("nifti-1", tmp_path / "body", made.stored(made.body("oblique"), (2, 0, 1), (1, -1, 1)))
    slabwise, whole = slice_volume(path, NEVER_WHOLE), slice_volume(path)
    assert slabwise.counted_slices == whole.counted_slices
    both = [stack.pixels[len(stack.pixels) // 2].astype(float).ravel() for stack in (slabwise, whole)]
    assert np.corrcoef(both)[0, 1] > 0.98           # pixels of another size: interpolated at other places


@pytest.mark.parametrize("tilt_deg", [25.0, 44.0])
def test_a_narrow_oblique_one_reaches_no_higher_than_it_does_whole(tmp_path, made, tilt_deg):
    """60 slices of 60 × 16 voxels: a square made of each before it is turned would reach 44 · sin 25° = 19 voxels further, black."""
    cosine, sine = np.cos(np.radians(tilt_deg)), np.sin(np.radians(tilt_deg))
    affine = np.eye(4)
    affine[:3, :3] = 3.0 * np.array([[1, 0, 0], [0, cosine, -sine], [0, sine, cosine]])
    voxels = np.random.default_rng(0).integers(50, 1000, (60, 16, 60)).astype(np.int16)
    nibabel.save(nibabel.Nifti1Image(voxels, affine), tmp_path / "narrow.nii")
    slabwise, whole = slice_volume(tmp_path / "narrow.nii", NEVER_WHOLE), slice_volume(tmp_path / "narrow.nii")
    np.testing.assert_allclose(slabwise.edges_mm[[0, -1]], whole.edges_mm[[0, -1]], atol=3.0)
    assert slabwise.side_mm == pytest.approx(whole.side_mm, rel=0.02)
    assert (slabwise.pixels.max(axis=(1, 2)) == 0).sum() <= 2, "the very corners"


@settings(max_examples=40, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(seed=integers(0, 2**16), bad=sampled_from([0.0, 0.001, 0.2]), turn=integers(0, 47))
def test_what_is_not_finite_becomes_the_smallest_intensity_in_both(tmp_path, made, seed, bad, turn):
    rng = np.random.default_rng(seed)
    volume = made.stored(made.body(seed=seed), *made.FORTY_EIGHT[turn])
    volume.voxels[rng.random(volume.voxels.shape) < bad] = rng.choice([np.nan, np.inf, -np.inf, 1e30])
    path = made.write("nifti-1", tmp_path / "body", volume, "<f4")
    assert_same(slice_volume(path, NEVER_WHOLE), slice_volume(path))


@pytest.mark.parametrize("make", [
    lambda body: np.full_like(body, 7.0), lambda body: np.full_like(body, np.nan), lambda body: body - 1000.0,
    lambda body: np.round(body / 60),
])
def test_what_is_refused_whole_is_refused_slab_by_slab(tmp_path, made, make, monkeypatch):
    monkeypatch.setattr(slabs, "SLAB_VOXELS", 2**15 + 2000)         # labels are recognised in a slab of at least 32³ voxels
    body = made.body(shape=(40, 44, 36))
    changed = made.stored(type(body)(make(body.voxels), body.vox_to_ras, "made"), (1, 2, 0), (1, 1, 1))
    path = made.write("nifti-1", tmp_path / "body", changed, "<f4")
    whole, slabwise = refusal(path, Slicing()), refusal(path, NEVER_WHOLE)
    assert whole is not None and slabwise == whole


def refusal(path, slicing: Slicing) -> str | None:
    try:
        slice_volume(path, slicing)
    except VolumeError as fault:
        return fault.code
    return None


@pytest.mark.parametrize(("grey", "note"), [
    (0.0, ", the first usable one"), (0.01, "; the one before is 1.0% as bright, perhaps noise or nearly empty"),
])
def test_the_first_frame_that_can_be_used_is_taken(tmp_path, made, grey, note):
    body = made.body()
    frames = np.stack([grey * body.voxels, body.voxels, body.voxels[::-1]], axis=3)
    image = nibabel.Nifti1Image(frames, body.vox_to_ras)
    nibabel.save(image, tmp_path / "frames.nii.gz")
    slabwise = slice_volume(tmp_path / "frames.nii.gz", NEVER_WHOLE)
    assert slabwise.notes[0] == f"frame 2 of 3{note}"
    assert_same(slabwise, slice_volume(tmp_path / "frames.nii.gz"))


def test_of_interleaved_frames_the_first_is_taken(tmp_path, made):
    """An NRRD may store all frames of a voxel side by side."""
    body = made.body()
    both = np.stack([body.voxels, body.voxels[::-1]])
    lines = ["NRRD0005", "type: float", "dimension: 4", f"sizes: {' '.join(map(str, both.shape))}", "space: right-anterior-superior",
             "space directions: none " + " ".join(f"({','.join(map(str, column))})" for column in body.vox_to_ras[:3, :3].T),
             f"space origin: ({','.join(map(str, body.vox_to_ras[:3, 3]))})", "kinds: list domain domain domain", "endian: little",
             "encoding: raw", "", ""]
    path = tmp_path / "frames.nrrd"
    path.write_bytes("\n".join(lines).encode() + both.astype("<f4").tobytes(order="F"))
    assert_same(slice_volume(path, NEVER_WHOLE), slice_volume(path))


def test_a_file_that_ends_within_a_slab_is_refused(tmp_path, made):
    path = made.write("nifti-1", tmp_path / "body", made.body())
    packed = path.with_suffix(".nii.gz")
    packed.write_bytes(gzip.compress(path.read_bytes()[:-1000]))
    assert refusal(packed, NEVER_WHOLE) == "volume-truncated"


def test_planes_beyond_count_are_refused_before_anything_is_read(tmp_path, made):
    body = made.body(shape=(4, 4, slabs.MOST_PLANES + 1))
    path = made.nifti(tmp_path / "body.nii.gz", replace(body, vox_to_ras=body.vox_to_ras @ np.diag([1.0, 1.0, 0.25, 1.0])))
    assert slice_volume(path).covers[-1, -1] == slabs.MOST_PLANES
    with pytest.raises(VolumeError, match=r"8,193 planes \(limit 8,192\)"):
        slice_volume(path, NEVER_WHOLE)


@pytest.mark.slow
def test_memory_is_that_of_a_slab_and_the_planes(tmp_path, made):
    """400 × 400 × 400 float64 are 512 MB, 256 MB as float32; its planes are 26 MB."""
    rng = np.random.default_rng(0)
    plane = rng.integers(0, 4000, (400, 400)).astype("<f8")
    paths = [tmp_path / f"{name}.nii" for name in ("small", "large")]
    for path, side in zip(paths, (40, 400), strict=True):
        header = nibabel.Nifti1Header()
        header.set_data_dtype("<f8")
        header.set_data_shape((400, 400, side))
        header.set_sform(np.eye(4), code=1)
        header["vox_offset"], header["magic"] = 352, b"n+1"
        with path.open("wb") as file:
            file.write(header.binaryblock + bytes(4))
            for step in range(side):
                file.write(np.roll(plane, step).tobytes(order="F"))
    environment = os.environ | {"OMP_NUM_THREADS": "1", "OPENBLAS_NUM_THREADS": "1"}
    done = subprocess.run([sys.executable, "-c", PEAK, *map(str, paths)], env=environment, capture_output=True, text=True, check=True)
    slices, grown = map(int, done.stdout.split())
    assert slices == 133 and grown < 150e6


def test_a_volume_of_planes_states_where_it_lies(tmp_path, made):
    """The centre of the grid stays where it was, whatever becomes of its pixels."""
    for plane, storage in product(("axial", "oblique"), made.FORTY_EIGHT[::7]):
        path = made.write("nifti-1", tmp_path / "body", made.stored(made.body(plane), *storage))
        whole, planes = read(path), read(path, slabs.Limits(whole_voxels=0))
        centres = [volume.vox_to_ras @ [*((np.array(volume.voxels.shape) - 1) / 2), 1] for volume in (whole, planes)]
        np.testing.assert_allclose(*centres, atol=1e-4)
