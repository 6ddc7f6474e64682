"""One body on a grid, written as DICOM in every way it can be, gives the slices of the grid itself."""

from __future__ import annotations

import gzip
import itertools
import shutil
import subprocess
import sys
import zipfile
from pathlib import Path

import nibabel
import numpy as np
import pytest

from fovnet.errors import VolumeError
from fovnet.volume.orient import to_ras
from fovnet.volume.slices.stack import cut_slices, slice_volume
from fovnet.volume.sources.source import read
from fovnet.volume.volume import Volume

ORDERS = list(
    itertools.product(itertools.permutations(range(3)), itertools.product((1, -1), repeat=3))
)
SYNTAXES = {
    "JPEG lossless": "1.2.840.10008.1.2.4.70",
    "JPEG-LS": "1.2.840.10008.1.2.4.80",
    "JPEG 2000": "1.2.840.10008.1.2.4.90",
    "RLE": "1.2.840.10008.1.2.5",
}


def turned(voxels: np.ndarray, affine: np.ndarray, order: tuple) -> tuple[np.ndarray, np.ndarray]:
    """The same body stored with its axes in another order and direction."""
    axes, signs = order
    stored, columns, origin = (
        voxels.transpose(axes),
        affine[:, list(axes)].copy(),
        affine[:, 3].copy(),
    )
    for axis, sign in enumerate(signs):
        if sign < 0:
            stored = np.flip(stored, axis)
            origin = origin + columns[:, axis] * (stored.shape[axis] - 1)
            columns[:, axis] *= -1
    return stored, np.column_stack([columns, origin])


def tilted(affine: np.ndarray, degrees: float) -> np.ndarray:
    """The grid turned about the patient's left-right axis, and half as much about the feet-head axis."""
    a, b = np.radians(degrees), np.radians(degrees / 2)
    about_x = np.array([[1, 0, 0], [0, np.cos(a), -np.sin(a)], [0, np.sin(a), np.cos(a)]])
    about_z = np.array([[np.cos(b), -np.sin(b), 0], [np.sin(b), np.cos(b), 0], [0, 0, 1]])
    result = affine.copy()
    result[:3, :3] = about_z @ about_x @ affine[:3, :3]
    return result


def assert_same_slices(
    path: Path, voxels: np.ndarray, affine: np.ndarray, grey_levels: int = 0
) -> None:
    wanted = cut_slices(to_ras(Volume(np.asarray(voxels, dtype=np.float32), affine, "the grid")))
    seen = slice_volume(path)
    assert seen.pixels.shape == wanted.pixels.shape
    assert np.abs(seen.pixels.astype(int) - wanted.pixels).max() <= grey_levels
    assert np.allclose(seen.z_mm, wanted.z_mm, atol=1e-4) and np.array_equal(
        seen.slice_ranges, wanted.slice_ranges
    )
    assert np.allclose(seen.vox_to_ras, wanted.vox_to_ras, atol=1e-4)
    assert (seen.label_slices is None) == (wanted.label_slices is None) and np.array_equal(
        seen.middle_slices, wanted.middle_slices
    )


def written(write, kind: str, voxels: np.ndarray, affine: np.ndarray) -> list:
    if kind == "classic":
        files = write.images(voxels, affine)
        return files[::2] + files[1::2]  # the order of the files says nothing
    if kind == "enhanced":
        return [
            write.enhanced(
                voxels.transpose(2, 1, 0),
                [write.geometry(affine, k) for k in range(voxels.shape[2])],
            )
        ]
    return [write.mosaic(voxels, affine)]


@pytest.mark.parametrize("order", ORDERS, ids=str)
@pytest.mark.parametrize("kind", ["classic", "enhanced", "mosaic"])
def test_every_axis_order_gives_the_same_slices_and_image_numbers(tmp_path, write, kind, order):
    """The 48 orders cover axial, sagittal and coronal images, stacked either way."""
    voxels, affine = turned(
        write.noise((11, 13, 7)),
        np.array([[2.0, 0, 0, -9], [0, 1.5, 0, -8], [0, 0, 4, -30], [0, 0, 0, 1]]),
        order,
    )
    write.save(tmp_path / "series", written(write, kind, voxels, affine))
    assert_same_slices(tmp_path / "series", voxels, affine)
    if kind == "mosaic":
        return  # all of its slices are one image
    stack = slice_volume(tmp_path / "series")
    uids = [int(uid.rsplit(".", 1)[1]) for uid in stack.images.uids]
    numbers = uids if kind == "classic" else [frame - 1 for frame in stack.images.frames]
    canonical = to_ras(
        Volume(
            np.broadcast_to(np.arange(voxels.shape[2], dtype=np.float32), voxels.shape),
            affine,
            "numbers",
        )
    )
    along = np.moveaxis(canonical.voxels, stack.images.axis, 0)
    assert (
        [float(plane.min()) for plane in along]
        == [float(plane.max()) for plane in along]
        == numbers
    )


@pytest.mark.parametrize("order", ORDERS[::5], ids=str)
@pytest.mark.parametrize("degrees", [12, 33])
@pytest.mark.parametrize("kind", ["classic", "enhanced", "mosaic"])
def test_an_oblique_grid_gives_the_slices_of_the_grid(tmp_path, write, order, degrees, kind):
    upright = np.array([[2.0, 0, 0, -9], [0, 1.5, 0, -8], [0, 0, 4, -30], [0, 0, 0, 1]])
    voxels, affine = turned(write.noise((11, 13, 7)), tilted(upright, degrees), order)
    assert_same_slices(
        write.save(tmp_path / "series", written(write, kind, voxels, affine)),
        voxels,
        affine,
        grey_levels=1,
    )


@pytest.mark.parametrize("dtype", [np.int8, np.uint8, np.int16, np.uint16, np.int32, np.uint32])
@pytest.mark.parametrize("kind", ["classic", "enhanced", "mosaic"])
def test_every_integer_type_is_read_exactly(tmp_path, write, dtype, kind):
    voxels = (
        write.noise(dtype=dtype)
        if np.dtype(dtype).kind == "u"
        else write.noise(dtype=dtype) - np.dtype(dtype).type(50)
    )
    volume = read(write.save(tmp_path, written(write, kind, voxels, write.AFFINE)))
    assert np.array_equal(volume.voxels, voxels) and np.allclose(volume.vox_to_ras, write.AFFINE)


@pytest.mark.parametrize("bits", [8, 16, 32])
def test_big_endian_words_are_turned(tmp_path, write, bits):
    voxels = write.noise(dtype=f"u{bits // 8}")
    write.save(tmp_path, [])
    for index, one in enumerate(write.images(voxels)):
        write.swapped(one, bits).save_as(tmp_path / f"{index}.dcm", enforce_file_format=True)
    assert np.array_equal(read(tmp_path).voxels, voxels)


@pytest.mark.parametrize("syntax", SYNTAXES.values(), ids=SYNTAXES)
@pytest.mark.parametrize("kind", ["classic", "enhanced"])
def test_lossless_compression_changes_no_voxel(tmp_path, write, syntax, kind):
    voxels = write.noise((32, 40, 5), np.uint16)
    places = [write.geometry(write.AFFINE, k) for k in range(5)]
    folder = write.save(
        tmp_path,
        write.images(voxels)
        if kind == "classic"
        else [write.enhanced(voxels.transpose(2, 1, 0), places)],
    )
    for path in folder.iterdir():
        write.compressed(path, syntax)
    assert np.array_equal(read(folder).voxels, voxels)


def test_deflated_and_implicit_objects_are_read(tmp_path, write):
    voxels = write.noise()
    for index, one in enumerate(write.images(voxels)):
        one.file_meta.TransferSyntaxUID = (
            "1.2.840.10008.1.2.1.99" if index % 2 else "1.2.840.10008.1.2"
        )
        one.save_as(tmp_path / f"{index}.dcm", enforce_file_format=True)
    assert np.array_equal(read(tmp_path).voxels, voxels)


@pytest.mark.parametrize("begins", ["group 2", "group 8"])
def test_a_file_without_preamble_is_known(tmp_path, write, begins):
    """Sixteen bits a pixel in implicit little endian, group 8 at once: how archives of the nineties look; or
    as it is cut from a stream."""
    voxels = write.noise()
    for index, one in enumerate(write.images(voxels)):
        path = tmp_path / f"{index}"
        one.file_meta.TransferSyntaxUID = "1.2.840.10008.1.2"
        one.save_as(path, enforce_file_format=True)
        data = path.read_bytes()
        path.write_bytes(
            data[132:]
            if begins == "group 2"
            else data[144 + int.from_bytes(data[140:144], "little") :]
        )
    assert np.array_equal(read(tmp_path).voxels, voxels)


def test_a_file_packed_with_gzip_is_refused_as_one(tmp_path, write):
    write.images(write.noise())[0].save_as(tmp_path / "a.dcm", enforce_file_format=True)
    (tmp_path / "a.dcm.gz").write_bytes(gzip.compress((tmp_path / "a.dcm").read_bytes()))
    with pytest.raises(VolumeError, match=r"a DICOM file packed with gzip.*gunzip"):
        read(tmp_path / "a.dcm.gz")


def by_dcm2niix(folder: Path, out: Path) -> list[nibabel.Nifti1Image]:
    """What dcm2niix makes of a folder; the test is skipped where it is not installed."""
    dcm2niix = shutil.which("dcm2niix") or shutil.which(
        "dcm2niix", path=str(Path(sys.executable).parent)
    )
    if dcm2niix is None:
        pytest.skip("dcm2niix is not installed")
    out.mkdir()
    subprocess.run(
        [dcm2niix, "-b", "n", "-z", "n", "-o", out, folder],
        check=True,
        capture_output=True,
        timeout=900,
    )
    return [nibabel.load(path) for path in sorted(out.glob("*.nii"))]


@pytest.mark.parametrize("kind", ["axial", "sagittal", "coronal", "oblique", "enhanced", "mosaic"])
def test_dcm2niix_places_the_same_voxels_in_the_same_place(tmp_path, write, kind):
    order = {"sagittal": ((1, 2, 0), (-1, -1, 1)), "coronal": ((0, 2, 1), (1, -1, 1))}.get(
        kind, ((0, 1, 2), (1, 1, 1))
    )
    voxels, affine = turned(
        write.noise((20, 24, 9)), tilted(write.AFFINE, 14 if kind == "oblique" else 0), order
    )
    written_as = kind if kind in ("enhanced", "mosaic") else "classic"
    write.save(tmp_path / "series", written(write, written_as, voxels, affine))
    [image] = by_dcm2niix(tmp_path / "series", tmp_path / "out")
    wanted = to_ras(Volume(np.asarray(image.dataobj, dtype=np.float32), image.affine, "dcm2niix"))
    seen = to_ras(read(tmp_path / "series"))
    assert np.array_equal(seen.voxels, wanted.voxels) and np.allclose(
        seen.vox_to_ras, wanted.vox_to_ras, atol=1e-3
    )


@pytest.mark.slow
@pytest.mark.parametrize(
    "name",
    ["head_dashvtk_T1post", "leg_thigh_STS001_T2", "pelvis_px0000_T2tra", "pelvis_px0001_T2sag"],
)
def test_real_series_have_the_voxels_that_dcm2niix_gives_them(tmp_path, shared, name):
    archive = shared / "data" / "volumes" / f"{name}.zip"
    with zipfile.ZipFile(archive) as members:
        members.extractall(tmp_path / "in")
    [image] = by_dcm2niix(tmp_path / "in", tmp_path / "out")
    wanted = to_ras(Volume(np.asarray(image.dataobj, dtype=np.float32), image.affine, "dcm2niix"))
    seen = to_ras(read(archive))
    assert np.array_equal(seen.voxels, wanted.voxels) and np.allclose(
        seen.vox_to_ras, wanted.vox_to_ras, atol=1e-3
    )
