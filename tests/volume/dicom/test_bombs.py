"""A small file that unpacks to much, or says so, is refused without the memory it asks for."""

from __future__ import annotations

import gzip
import json
import os
import struct
import subprocess
import sys
import zipfile
import zlib
from collections.abc import Callable, Iterator
from pathlib import Path
from types import ModuleType, SimpleNamespace

import nibabel
import numpy as np
import pytest

from fovnet.volume.dicom import source
from fovnet.volume.dicom.source import DicomObject
from fovnet.volume.dicom.survey import survey
from fovnet.volume.slices.stack import slice_volume
from fovnet.volume.sources.memory import BYTES_PER_VOXEL, estimate_bytes_to_read
from fovnet.volume.sources.source import source_of

MB = 2**20
MOST_MB = 120  # of growth: less than any of these would take
DEFLATED_SYNTAX, RLE, JPEG_LS = (
    b"1.2.840.10008.1.2.1.99",
    "1.2.840.10008.1.2.5",
    "1.2.840.10008.1.2.4.80",
)
Pieces = Callable[[], Iterator[bytes]]


def zeros() -> Iterator[bytes]:
    yield from [bytes(MB)] * 200


def half_noise() -> Iterator[bytes]:
    """Begins like DICOM, and packs forty to one: no ratio tells."""
    yield bytes(128) + b"DICM"
    yield from (os.urandom(MB // 40) + bytes(MB) for _ in range(200))


def packed(
    pieces: Pieces, method: int = zipfile.ZIP_DEFLATED, name: str = "a.dcm"
) -> Callable[[Path], Path]:
    def make(folder: Path) -> Path:
        with (
            zipfile.ZipFile(folder / "a.zip", "w", method, compresslevel=1) as archive,
            archive.open(name, "w", force_zip64=True) as file,
        ):
            for piece in pieces():
                file.write(piece)
        return folder / "a.zip"

    return make


def lying(folder: Path) -> Path:
    """The directory states a thousand bytes where the stream has 200 MB."""
    path = packed(zeros)(folder)
    data = bytearray(path.read_bytes())
    central = data.rindex(b"PK\x01\x02")
    data[central + 24 : central + 28] = struct.pack("<I", 1000)
    path.write_bytes(data)
    return path


def beside_noise(folder: Path) -> Path:
    """The archive as a whole is believable."""
    path = packed(zeros)(folder)
    with zipfile.ZipFile(path, "a", zipfile.ZIP_STORED) as archive:
        archive.writestr("noise.txt", os.urandom(3 * MB))
    return path


def many(folder: Path) -> Path:
    with zipfile.ZipFile(folder / "a.zip", "w", zipfile.ZIP_DEFLATED, compresslevel=1) as archive:
        for number in range(20):
            archive.writestr(f"{number}.dcm", bytes(15 * MB))
    return folder / "a.zip"


def deflated(folder: Path) -> Path:
    meta = b"\x02\x00\x10\x00UI" + struct.pack("<H", len(DEFLATED_SYNTAX)) + DEFLATED_SYNTAX
    engine = zlib.compressobj(1, zlib.DEFLATED, -15)
    body = b"".join(engine.compress(piece) for piece in zeros()) + engine.flush()
    head = b"\x02\x00\x00\x00UL\x04\x00" + struct.pack("<I", len(meta))
    (folder / "a.dcm").write_bytes(bytes(128) + b"DICM" + head + meta + body)
    return folder / "a.dcm"


def gzipped(shape: tuple[int, ...], pieces: Pieces) -> Callable[[Path], Path]:
    def make(folder: Path) -> Path:
        header = nibabel.Nifti1Header()
        header.set_data_dtype(np.int16)
        header.set_data_shape(shape)
        header.set_sform(np.eye(4), 1)
        header["vox_offset"], header["magic"] = 352, b"n+1"
        with gzip.open(folder / "a.nii.gz", "wb", compresslevel=1) as file:
            file.write(header.binaryblock + bytes(4))
            for piece in pieces():
                file.write(piece)
        return folder / "a.nii.gz"

    return make


def first(count: int) -> Pieces:
    return lambda: iter([bytes(MB)] * count)


BOMBS: dict[str, tuple[Callable[[Path], Path], set[str]]] = {
    "zeros in an archive": (packed(zeros), {"volume-archive-size"}),
    "zeros in an archive, beside noise": (beside_noise, {"volume-archive-size"}),
    "zeros called otherwise": (packed(zeros, name="readme"), {"volume-archive-size"}),
    "twenty members of zeros": (many, {"volume-archive-size"}),
    "half noise in an archive": (packed(half_noise), {"volume-format", "volume-corrupt"}),
    "half noise in an archive, stored": (
        packed(half_noise, zipfile.ZIP_STORED),
        {"volume-format", "volume-corrupt"},
    ),
    "an archive whose directory lies": (lying, {"volume-corrupt", "volume-format"}),
    "a deflated object": (deflated, {"volume-too-large"}),
    "200 MB after the voxels": (gzipped((20, 20, 20), zeros), {"volume-constant"}),
    "a header of 250 MB before 1 MB": (gzipped((500, 500, 500), first(1)), {"volume-truncated"}),
    "a header of 1 GB before 1 MB": (gzipped((800, 800, 800), first(1)), {"volume-truncated"}),
    "a header of 60 TB before 1 MB": (
        gzipped((32000, 32000, 32000), first(1)),
        {"volume-too-large"},
    ),
}


def written(folder: Path, write: SimpleNamespace, syntax: str) -> Path:
    """Three images of 12,000 × 12,000 pixels, a kilobyte each."""
    from pydicom.encaps import encapsulate

    payload = struct.pack("<16I", 2, 64, 66, *[0] * 13) + b"\x81\x00" * 400
    files = write.images(write.noise((20, 24, 3)))
    for one in files:
        one.file_meta.TransferSyntaxUID, one.Rows, one.Columns = syntax, 12_000, 12_000
        one.PixelData = encapsulate([payload])
        one["PixelData"].VR, one["PixelData"].is_undefined_length = "OB", True
    return write.save(folder, files)


SCRIPT = """
import json, resource, sys
from fovnet.errors import VolumeError
from fovnet.volume.slices.stack import slice_volume
grown = lambda: resource.getrusage(resource.RUSAGE_SELF).ru_maxrss // 1024
before = grown()
for path in sys.argv[1:]:
    try:
        slice_volume(path)
        code = ""
    except VolumeError as fault:
        code = fault.code
    print(json.dumps([code, grown() - before]))
"""


def test_what_a_small_file_asks_for_is_never_taken(tmp_path: Path, write: SimpleNamespace) -> None:
    """All in one process, so that the peak counts for each."""
    paths, codes = [], []
    for place, (make, allowed) in enumerate(BOMBS.values()):
        (tmp_path / str(place)).mkdir()
        paths.append(make(tmp_path / str(place)))
        codes.append(allowed)
    for syntax in (RLE, JPEG_LS):
        paths.append(written(tmp_path / syntax, write, syntax))
        codes.append({"volume-too-large"})
    done = subprocess.run(
        [sys.executable, "-c", SCRIPT, *map(str, paths)],
        capture_output=True,
        text=True,
        timeout=900,
    )
    seen = [json.loads(line) for line in done.stdout.splitlines()]
    assert len(seen) == len(paths), done.stderr
    for (code, grown_mb), allowed, path in zip(seen, codes, paths, strict=True):
        assert code in allowed and grown_mb < MOST_MB, (path, code, grown_mb)


def test_a_large_member_is_read_as_a_small_one(
    tmp_path: Path, write: SimpleNamespace, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The header of one beyond MAX_BYTES_AT_ONCE is read while the member is unpacked; nothing else differs."""
    folder = write.save(tmp_path / "series", write.images(write.noise()))
    archive = write.zipped(tmp_path / "a.zip", folder)
    before = slice_volume(archive)
    monkeypatch.setattr(source, "MAX_BYTES_AT_ONCE", 100)
    # nothing that is remembered counts any more
    os.utime(archive, (1, 1))
    after = slice_volume(archive)
    assert np.array_equal(before.pixels, after.pixels) and np.array_equal(before.z_mm, after.z_mm)
    item = DicomObject(archive, "im003.dcm")
    with source.open_object(item, whole=False) as parts, source.open_object(item) as whole:
        assert parts.read() == whole.read() == (folder / "im003.dcm").read_bytes()


def test_a_series_packed_far_smaller_than_usual_counts_by_its_voxels(
    tmp_path: Path, write: SimpleNamespace
) -> None:
    """Twenty images of zeros but for a corner, packed 300 to one."""
    voxels = np.zeros((256, 256, 20), np.int16)
    voxels[:8, :8] = write.noise((8, 8, 20))
    archive = write.zipped(
        tmp_path / "a.zip", write.save(tmp_path / "series", write.images(voxels))
    )
    assert (
        archive.stat().st_size * 30
        < BYTES_PER_VOXEL * voxels.size
        <= estimate_bytes_to_read(source_of(archive))
    )


def test_the_straight_grid_of_an_oblique_series_is_counted(
    tmp_path: Path, write: SimpleNamespace, made: ModuleType
) -> None:
    """Three thick slices that run across two axes of the scanner: in a folder, an archive and as one of its
    series."""
    turn = np.radians(44)
    affine = np.eye(4)
    affine[:3, :3] = np.array(
        [[np.cos(turn), 0, np.sin(turn)], [0, 1, 0], [-np.sin(turn), 0, np.cos(turn)]]
    ) @ np.diag([0.5, 0.5, 2.5])
    folder = write.save(tmp_path / "series", write.images(write.noise((250, 150, 3)), affine))
    [series] = survey(folder).series
    straight = made.nifti(
        tmp_path / "a.nii", made.Volume(write.noise((250, 150, 3)), affine, "the same")
    )
    beyond = estimate_bytes_to_read(source_of(straight)) - BYTES_PER_VOXEL * 250 * 150 * 3
    assert beyond > 8e6
    for path in (
        folder,
        Path(f"{folder}#{series.series_id}"),
        write.zipped(tmp_path / "a.zip", folder),
    ):
        assert estimate_bytes_to_read(source_of(path)) >= estimate_bytes_to_read(
            source_of(straight)
        )
