"""A DICOMDIR is the table of contents of a medium, whatever its name, state or place: no damage, and no loss
beside images."""

from __future__ import annotations

import gc
import shutil
import warnings
from pathlib import Path

import numpy as np
import pytest
from pydicom import dcmread
from pydicom.fileset import FileSet

from fovnet.errors import VolumeError
from fovnet.volume.sources.discovery import find_volumes
from fovnet.volume.sources.source import read


@pytest.fixture(scope="module")
def burnt(tmp_path_factory: pytest.TempPathFactory, write) -> Path:
    """A folder as a scanner burns it: the DICOMDIR states its class in the file meta information alone."""
    folder = tmp_path_factory.mktemp("burnt") / "medium"
    with warnings.catch_warnings():
        # pydicom leaves its temporary folder to the garbage collector
        warnings.simplefilter("ignore", ResourceWarning)
        files = FileSet()
        for one in write.images(
            write.noise(), StudyDate="20200101", StudyTime="101010", StudyID="1", PatientName="A"
        ):
            files.add(one)
        files.write(folder)
        del files
        gc.collect()
    assert "SOPClassUID" not in dcmread(folder / "DICOMDIR")
    return folder


@pytest.fixture
def medium(burnt: Path, tmp_path: Path) -> Path:
    return Path(shutil.copytree(burnt, tmp_path / "medium"))


def whole(data: bytes) -> bytes:
    return data


def big_endian_said(data: bytes) -> bytes:
    return data.replace(b"1.2.840.10008.1.2.1\0", b"1.2.840.10008.1.2.2\0")


def half(data: bytes) -> bytes:
    return data[: len(data) // 2]


def meta_alone(data: bytes) -> bytes:
    return data[: 144 + int.from_bytes(data[140:144], "little")]


def without_preamble(data: bytes) -> bytes:
    return data[132:]


def tiff_preamble(data: bytes) -> bytes:
    return b"II*\0" + data[4:]


@pytest.mark.parametrize(
    "changed", [whole, big_endian_said, half, meta_alone, without_preamble, tiff_preamble]
)
@pytest.mark.parametrize("name", ["DICOMDIR", "dicomdir.old", "index.dcm", "IM0001"])
def test_it_is_called_so_by_any_name_and_in_any_state(
    tmp_path: Path, medium: Path, name: str, changed
) -> None:
    alone = tmp_path / "alone" / name
    alone.parent.mkdir()
    alone.write_bytes(changed((medium / "DICOMDIR").read_bytes()))
    for place in (alone, alone.parent):
        with pytest.raises(VolumeError, match="table of contents") as refusal:
            read(place)
        assert refusal.value.code == "volume-dicomdir"


@pytest.mark.parametrize("name", ["DICOMDIR", "dicomdir", "DICOMDIR.dcm", "IM9999"])
def test_beside_images_nothing_is_lost_with_it(
    tmp_path: Path, medium: Path, write, made, name: str
) -> None:
    """In a folder, in an archive, among files named one by one, and beside a volume of another format."""
    (medium / "DICOMDIR").rename(medium / name)
    found = find_volumes([medium])
    assert len(found.volume_paths) == len(found.series_rows) == 1 and not found.passed_paths
    assert np.array_equal(read(medium).voxels, write.noise()) and not read(medium).notes
    assert np.array_equal(read(write.zipped(tmp_path / "medium.zip", medium)).voxels, write.noise())
    flat = tmp_path / "flat"
    flat.mkdir()
    for index, path in enumerate(sorted(path for path in medium.rglob("*") if path.is_file())):
        shutil.copy(path, flat / (name if path.name == name else f"{index}.dcm"))
    assert len(find_volumes(sorted(flat.iterdir())).volume_paths) == 1
    other = tmp_path / "other"
    other.mkdir()
    shutil.copy(medium / name, other)
    made.nifti(other / "body.nii.gz", made.body())
    assert find_volumes([other]).volume_paths == [other / "body.nii.gz"]


def test_alone_in_an_archive_it_is_the_reason(tmp_path: Path, medium: Path, write) -> None:
    (tmp_path / "alone").mkdir()
    shutil.copy(medium / "DICOMDIR", tmp_path / "alone")
    with pytest.raises(VolumeError) as refusal:
        read(write.zipped(tmp_path / "alone.zip", tmp_path / "alone"))
    assert refusal.value.code == "volume-dicomdir"
