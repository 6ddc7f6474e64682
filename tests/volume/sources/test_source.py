"""A source is found out once, is asked again only where the disk says otherwise, and knows its files and
their content."""

from __future__ import annotations

import hashlib
import os
import pickle
import sys
from contextlib import suppress
from pathlib import Path
from types import ModuleType, SimpleNamespace

import numpy as np
import pytest

from fovnet.decision.earlier_answers import file_record, is_unchanged
from fovnet.errors import VolumeError
from fovnet.records import checksum
from fovnet.volume.dicom.address import address
from fovnet.volume.slices.stack import slice_volume
from fovnet.volume.sources.discovery import find_volumes
from fovnet.volume.sources.memory import estimate_bytes_to_read
from fovnet.volume.sources.source import Source, read, source_of

OPENED: list[str] = []
sys.addaudithook(
    lambda event, given: (
        OPENED.append(os.fsdecode(given[0]))
        if event == "open" and isinstance(given[0], str)
        else None
    )
)


def opened(path: Path) -> int:
    """How often a file was opened since the list was cleared."""
    return OPENED.count(str(path))


def answered_source(source: Source) -> dict[str, object]:
    """What prediction does with a source, but for the networks."""
    estimate_bytes_to_read(source)
    source = source.look_again()
    assert source.file_stamps
    with suppress(VolumeError):  # it is refused, and its record is kept too
        slice_volume(source)
    return file_record(source)


@pytest.mark.parametrize("name", ["a.nii", "a.nii.gz"])
@pytest.mark.parametrize("is_named", [True, False])
def test_a_nifti_file_is_opened_twice(
    tmp_path: Path, made: ModuleType, name: str, is_named: bool
) -> None:
    """To learn what it is, and to read it; its checksum is that of the bytes that were read."""
    path = made.nifti(tmp_path / name, made.body())
    OPENED.clear()
    (source,) = find_volumes([path if is_named else tmp_path]).sources
    assert opened(path) == 1 and source.format_name == "NIfTI"
    file = answered_source(source)
    assert opened(path) == 2 and file["sha256"] == checksum(path)


@pytest.mark.parametrize(("name", "most"), [("nrrd", 4), ("metaimage", 4), ("mgh", 3)])
def test_a_file_of_another_format_is_opened_for_its_header_too(
    tmp_path: Path, made: ModuleType, name: str, most: int
) -> None:
    """For the memory that it takes, and once more if its header says in which files its voxels are."""
    path = made.write(name, tmp_path / "body", made.body(), made.FORMATS[name][1][0])
    OPENED.clear()
    (source,) = find_volumes([path]).sources
    assert opened(path) == 1
    file = answered_source(source)
    assert opened(path) <= most and file["sha256"] == checksum(path)


@pytest.mark.parametrize("name", ["a.nii", "a.nii.gz"])
def test_a_refused_volume_is_opened_no_more_often(
    tmp_path: Path, made: ModuleType, name: str
) -> None:
    """Refused for its voxels, or cut short; a text once more, to see whether it still is one."""
    path = made.nifti(tmp_path / name, made.body())
    for content, most in ((path.read_bytes()[:-200], 2), (b"a text\n" * 1000, 3)):
        path.write_bytes(content)
        OPENED.clear()
        (source,) = find_volumes([path]).sources
        record = answered_source(source)
        assert opened(path) == most and record["sha256"] == checksum(path)


def test_images_of_a_series_are_opened_three_times(tmp_path: Path, write: SimpleNamespace) -> None:
    """To learn what they are, for their headers, and to read them."""
    folder = write.save(tmp_path / "series", write.images(write.noise()))
    OPENED.clear()
    (source,) = find_volumes([folder]).sources
    assert {opened(file) for file in folder.iterdir()} == {2}
    file = answered_source(source)
    assert {opened(file) for file in folder.iterdir()} == {3}
    assert file["sha256"] == joined(map(checksum, sorted(folder.iterdir())))


def test_an_archive_is_opened_four_times(tmp_path: Path, write: SimpleNamespace) -> None:
    """To learn what it is, by finding and by its survey, for its members, and for its checksum."""
    folder = write.save(tmp_path / "series", write.images(write.noise()))
    path = write.zipped(tmp_path / "series.zip", folder)
    OPENED.clear()
    (source,) = find_volumes([path]).sources
    file = answered_source(source)
    assert opened(path) == 4 and file["sha256"] == checksum(path)


@pytest.mark.parametrize("name", ["nifti-1", "nifti-2", "nrrd", "metaimage", "mgh"])
def test_what_finding_found_travels_to_another_process(
    tmp_path: Path, made: ModuleType, name: str
) -> None:
    path = made.write(name, tmp_path / "body", made.body(), made.FORMATS[name][1][0])
    (source,) = find_volumes([path]).sources
    there = pickle.loads(pickle.dumps(source))
    assert there == source and there.format_name and there.reader is source.reader
    assert np.array_equal(read(there).voxels, made.body().voxels)


def test_the_headers_of_a_series_do_not_travel(tmp_path: Path, write: SimpleNamespace) -> None:
    folder = write.save(tmp_path / "series", write.images(write.noise()))
    source = source_of(folder)
    stack = slice_volume(source)
    assert source.neighbour_notes == [] and source.series is not None
    there = pickle.loads(pickle.dumps(source))
    assert (
        "series" not in vars(there)
        and there.files == source.files
        and there.checksum == stack.checksum
    )


def test_a_file_that_was_replaced_since_it_was_found_is_read_as_what_it_is(
    tmp_path: Path, made: ModuleType
) -> None:
    """By another format, by a text, and by a volume where nothing was."""
    body = made.body()
    path = made.nifti(tmp_path / "a.nii", body)
    source = source_of(path)
    other = made.nrrd(tmp_path / "b.nrrd", made.body("coronal"))
    other.replace(path)
    assert source.look_again().format_name == "NRRD" and np.array_equal(
        read(source.look_again()).voxels, made.body("coronal").voxels
    )
    path.write_bytes(b"a text\n" * 100)
    text = source.look_again()
    with pytest.raises(VolumeError, match="this is a text file"):
        read(text)
    path.unlink()
    with pytest.raises(VolumeError, match="there is no such file"):
        read(text.look_again())
    made.nifti(path, body)
    assert np.array_equal(read(text.look_again()).voxels, body.voxels)


def test_what_a_source_knows_is_that_of_its_moment(tmp_path: Path, made: ModuleType) -> None:
    path = made.nifti(tmp_path / "a.nii", made.body())
    source = source_of(path)
    before, places = source.checksum, source.file_stamps
    made.nifti(path, made.body("coronal"))
    assert (source.checksum, source.file_stamps) == (before, places) and not source.is_unchanged()
    assert (
        source.look_again().checksum == checksum(path) != before
        and source.look_again().file_stamps != places
    )
    assert file_record(source)["sha256"] is None, "what was read is no longer there"
    assert file_record(source.look_again())["sha256"] == checksum(path)


def test_the_checksum_of_several_files_and_of_an_address_is_that_of_their_checksums(
    tmp_path: Path, made: ModuleType, write: SimpleNamespace
) -> None:
    header = made.analyze(tmp_path / "a.hdr", made.body())
    files = [header, header.with_suffix(".img"), header.with_suffix(".mat")]
    assert source_of(header).files == tuple(files)
    assert source_of(header).checksum == joined(map(checksum, files))
    folder = write.save(tmp_path / "series", write.images(write.noise()))
    (series,) = find_volumes([folder]).series_rows
    named = source_of(address(folder, series["series"]))
    assert named.checksum == joined([*map(checksum, sorted(folder.iterdir())), series["series"]])
    assert named.neighbour_notes == source_of(folder).neighbour_notes == []


def joined(sums: object) -> str:
    return hashlib.sha256("".join(sums).encode()).hexdigest()


def test_what_is_no_volume_has_its_own_content_and_is_known_again(tmp_path: Path) -> None:
    path = tmp_path / "a.nii"
    path.write_bytes(b"a text\n" * 100)
    source = source_of(path)
    kept = file_record(source)
    assert (
        source.format_name == ""
        and source.neighbour_notes is None
        and kept["sha256"] == checksum(path)
    )
    os.utime(path, (1, 1))
    assert is_unchanged(source.look_again(), kept)
    path.write_bytes(b"another text\n" * 100)
    assert not is_unchanged(source.look_again(), kept)
    gone = source_of(tmp_path / "gone.nii")
    assert (
        gone.file_stamps is None
        and gone.content_checksum is None
        and file_record(gone)["sha256"] is None
    )
