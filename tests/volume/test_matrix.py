"""One body, one answer: format, axis order, plane, number type and byte order change nothing about the
slices.

{NIfTI-1, NIfTI-2, NRRD, MetaImage, MGH} × 48 axis orders × {axial, coronal, sagittal, oblique} × number types
× byte orders are 16,320 files.  Here every order and plane is met in every format, the types in turn (960
files); FOVNET_MATRIX=all takes them all.
"""

from __future__ import annotations

import os
from functools import cache
from itertools import product

import numpy as np
import pytest

from fovnet.volume.orient import to_ras
from fovnet.volume.slices.stack import cut_slices, slice_volume
from fovnet.volume.sources.source import read

WHOLE = os.environ.get("FOVNET_MATRIX") == "all"


@pytest.fixture(scope="module")
def expected(made):
    """The slices of a body that never was in a file, by plane."""
    return {plane: cut_slices(to_ras(made.body(plane))) for plane in made.PLANES}


def cases(made, name: str, plane: str):
    """(axis order, directions, number type) of each file; the types take turns unless all are wanted."""
    types = made.FORMATS[name][1]
    if WHOLE:
        yield from product(made.FORTY_EIGHT, types)
        return
    # 48 and 20 share a factor: else half the types met two planes only
    start = 5 * list(made.PLANES).index(plane)
    for turn, storage in enumerate(made.FORTY_EIGHT):
        yield storage, types[(turn + start) % len(types)]


@pytest.mark.slow
@pytest.mark.parametrize("plane", ["axial", "coronal", "sagittal", "oblique"])
@pytest.mark.parametrize("name", ["nifti-1", "nifti-2", "nrrd", "metaimage", "mgh"])
def test_the_same_body_gives_the_same_slices(tmp_path, made, expected, name, plane):
    body, wanted = made.body(plane), expected[plane]
    on_grid = cache(lambda order, flips: made.stored(body, order, flips))
    for (order, flips), dtype in cases(made, name, plane):
        stack = slice_volume(made.write(name, tmp_path / "body", on_grid(order, flips), dtype))
        case = (order, flips, dtype)
        apart = np.abs(stack.pixels.astype(int) - wanted.pixels).max()
        # only the oblique one is resampled, from a float32 affine
        assert apart <= (1 if plane == "oblique" else 0), case
        assert np.array_equal(stack.slice_ranges, wanted.slice_ranges), case
        assert np.array_equal(stack.middle_slices, wanted.middle_slices), case
        assert stack.label_slice_count == wanted.label_slice_count, case
        np.testing.assert_allclose(stack.z_mm, wanted.z_mm, atol=1e-3)


def test_every_type_is_met_in_every_format_and_plane(made):
    for name, plane in product(made.FORMATS, made.PLANES):
        met = {dtype for _, dtype in cases(made, name, plane)}
        assert met == set(made.FORMATS[name][1])


@pytest.mark.parametrize("dtype", ["<i2", ">i2", "<f8", ">f8", "<u8", ">u8"])
@pytest.mark.parametrize("name", ["nifti-1", "nifti-2", "nrrd", "metaimage"])
def test_the_files_of_the_matrix_have_the_byte_order_they_claim(tmp_path, made, name, dtype):
    """Or big-endian would mean nothing: the voxels are found in the file as those very bytes."""
    import gzip

    data = made.write(name, tmp_path / "body", made.body(), dtype).read_bytes()
    wanted = made.numbers(made.body(), dtype)
    if name == "nrrd":
        data = gzip.decompress(data[data.index(b"\n\n") + 2 :])
    data = gzip.decompress(data) if name == "nifti-2" else data
    assert wanted in data


@pytest.mark.parametrize("dtype", ["<i8", "<u8", "<f8"])
@pytest.mark.parametrize("name", ["nifti-1", "nrrd", "metaimage"])
def test_numbers_beyond_float32_are_rounded_not_wrapped(tmp_path, made, name, dtype):
    body = made.body()
    large = (body.voxels.astype(np.float64) + 1) * 2.0**55
    voxels = read(
        made.write(name, tmp_path / "large", type(body)(large, body.vox_to_ras, "large"), dtype)
    ).voxels
    assert np.array_equal(voxels, large.astype(np.float32))
