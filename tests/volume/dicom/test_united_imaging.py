"""United Imaging's GRID: one image with a tile for each slice, placed by a private sequence of standard
attributes."""

from __future__ import annotations

import math
from pathlib import Path

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis.strategies import integers
from pydicom.sequence import Sequence

from fovnet.errors import VolumeError
from fovnet.volume.dicom.survey import survey
from fovnet.volume.sources.source import read


def grid(
    write,
    voxels: np.ndarray,
    *,
    creator: str = "Image Private Header",
    block: int = 0x10,
    uid: str = "1",
    **more,
):
    """The slices row by row in ceil(sqrt(n)) columns and as many rows as these need; (0065,xx51) has an item
    for each."""
    columns, rows, slices = voxels.shape
    across = math.ceil(math.sqrt(slices))
    large = np.zeros((rows * math.ceil(slices / across), columns * across), voxels.dtype)
    for k in range(slices):
        row, column = k // across * rows, k % across * columns
        large[row : row + rows, column : column + columns] = voxels[:, :, k].T
    place = write.geometry(write.AFFINE, 0)
    del place["ImagePositionPatient"]
    one = write.header(
        "1.2.840.10008.5.1.4.1.1.4",
        f"1.2.3.{uid}",
        large,
        InstanceNumber=1,
        Manufacturer="UIH",
        **{**place, "ImageType": ["ORIGINAL", "PRIMARY", "M", "VFRAME"], **more},
    )
    if creator:
        one.add_new(0x00650000 | block, "LO", creator)
        items = [
            write.dataset(
                ImagePositionPatient=write.geometry(write.AFFINE, k)["ImagePositionPatient"]
            )
            for k in range(slices)
        ]
        one.add_new(0x00650051 | block << 8, "SQ", Sequence(items))
    return one


@settings(
    max_examples=25, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture]
)
@given(integers(4, 24), integers(5, 9), integers(5, 9))
def test_the_grid_gives_the_voxels_and_the_places_of_its_slices(
    tmp_path_factory, write, slices: int, columns: int, rows: int
) -> None:
    voxels = write.noise((columns, rows, slices))
    folder = write.save(tmp_path_factory.mktemp("grid"), [grid(write, voxels)])
    volume = read(folder)
    assert np.array_equal(volume.voxels, voxels) and np.allclose(
        volume.vox_to_ras, write.AFFINE, atol=1e-4
    )
    assert volume.notes == (
        f"grid of {slices} slices, placed by private attributes of United Imaging",
    )


def test_twenty_slices_lie_in_five_columns_and_four_rows(tmp_path: Path, write) -> None:
    """As the scanner writes 64 × 64 × 20 into 320 × 256 pixels."""
    one = grid(write, write.noise((64, 64, 20)))
    assert (one.Columns, one.Rows) == (320, 256)
    assert read(write.save(tmp_path, [one])).voxels.shape == (64, 64, 20)


@pytest.mark.parametrize(
    "how",
    [
        "another block",
        "implicit",
        "big endian",
        "deflated",
        "VR lost",
        "in an archive",
        "other image type",
    ],
)
def test_however_the_private_sequence_is_stored_it_is_found(
    tmp_path: Path, write, how: str
) -> None:
    voxels = write.noise((8, 7, 12))
    more = {"ImageType": ["ORIGINAL", "PRIMARY", "M", "ND"]} if how == "other image type" else {}
    one = grid(write, voxels, block=0x1A if how == "another block" else 0x10, **more)
    syntaxes = {"implicit": "1.2.840.10008.1.2", "deflated": "1.2.840.10008.1.2.1.99"}
    one.file_meta.TransferSyntaxUID = syntaxes.get(how, one.file_meta.TransferSyntaxUID)
    if how == "big endian":
        one = write.swapped(one, 16)
    if how == "VR lost":
        items = one[0x0065, 0x1051].value
        del one[0x0065, 0x1051]
        raw = b"".join(_item(text(item.ImagePositionPatient)) for item in items)
        one.add_new(0x00651051, "UN", raw)
    place = write.save(tmp_path / "in", [one])
    place = write.zipped(tmp_path / "in.zip", place) if how == "in an archive" else place
    assert np.array_equal(read(place).voxels, voxels)


def text(position) -> bytes:
    value = "\\".join(map(str, position)).encode()
    return value + b" " * (len(value) % 2)


def _item(value: bytes) -> bytes:
    """An item of a sequence in implicit little endian, with ImagePositionPatient (0020,0032) alone."""
    element = b"\x20\0\x32\0" + len(value).to_bytes(4, "little") + value
    return b"\xfe\xff\0\xe0" + len(element).to_bytes(4, "little") + element


def test_each_grid_of_a_series_is_a_volume(tmp_path: Path, write) -> None:
    both = [grid(write, write.noise((8, 7, 9), seed=seed), uid=str(seed)) for seed in (1, 2)]
    both[1].InstanceNumber = 2
    folder = write.save(tmp_path, both)
    assert [(len(one.frames), one.aside_kind) for one in survey(folder).series] == [
        (9, ""),
        (9, "repeat"),
    ]
    assert np.array_equal(read(folder).voxels, write.noise((8, 7, 9), seed=1))


@pytest.mark.parametrize(
    "fault",
    ["no private attributes", "another creator", "an item without place", "no tiles of this size"],
)
def test_a_grid_that_does_not_say_where_its_slices_lie_is_refused_with_a_way(
    tmp_path: Path, write, fault: str
) -> None:
    creator = {"no private attributes": "", "another creator": "SOMETHING ELSE"}.get(
        fault, "Image Private Header"
    )
    one = grid(write, write.noise((8, 7, 12)), creator=creator)
    if fault == "an item without place":
        del one[0x0065, 0x1051].value[3].ImagePositionPatient
    if fault == "no tiles of this size":
        one[0x0065, 0x1051].value = Sequence(list(one[0x0065, 0x1051].value)[:5])  # 3 × 2 tiles
    with pytest.raises(VolumeError, match=r"dcm2niix|do not divide") as refusal:
        read(write.save(tmp_path, [one]))
    assert refusal.value.code == "volume-mosaic"


def test_a_series_of_slices_that_also_have_the_sequence_is_a_stack(tmp_path: Path, write) -> None:
    """One item an image, as in files that were split from a grid."""
    datasets = write.images(write.noise())
    for one in datasets:
        one.add_new(0x00650010, "LO", "Image Private Header")
        one.add_new(
            0x00651051,
            "SQ",
            Sequence([write.dataset(ImagePositionPatient=one.ImagePositionPatient)]),
        )
    assert np.array_equal(read(write.save(tmp_path, datasets)).voxels, write.noise())
