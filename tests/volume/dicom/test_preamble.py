"""The 128 bytes before "DICM" are free, and may be the header of another format: the file is DICOM all the
same."""

from __future__ import annotations

import struct
from pathlib import Path

import nibabel
import numpy as np
import pytest

from fovnet.volume.sources.discovery import find_volumes
from fovnet.volume.sources.source import read

PREAMBLES = {
    "nothing": b"",
    "Analyze, as Siemens mosaics in nibabel": struct.pack("<i", 348),
    "Analyze, big endian": struct.pack(">i", 348),
    "NIfTI-2": struct.pack("<i", 540) + b"n+2\0\r\n\x1a\n",
    "TIFF, as whole slide images": b"II*\0\x08\0\0\0",
    "TIFF, big endian": b"MM\0*\0\0\0\x08",
    "BigTIFF": b"II+\0\x08\0\0\0",
    "NRRD": b"NRRD0004\ntype: short\n",
    "MetaImage": b"ObjectType = Image\nNDims = 3\n",
    "gzip": b"\x1f\x8b\x08\0\0\0\0\0\0\xff",
    "zip": b"PK\x03\x04\x14\0\0\0\0\0",
    "PDF": b"%PDF-1.7\n",
    "a Windows program": b"MZ\x90\0\x03\0\0\0",
    "a Linux program": b"\x7fELF\x02\x01\x01\0",
    "a shell script": b"#!/bin/sh\nexit 0\n",
    "JPEG": b"\xff\xd8\xff\xe0\0\x10JFIF",
    "PNG": b"\x89PNG\r\n\x1a\n",
    "HDF5": b"\x89HDF\r\n\x1a\n",
    "bzip2": b"BZh9",
    "MGH": struct.pack(">7i", 1, 64, 64, 20, 1, 4, 0),
    "text": b"written by " * 11,
    "noise": bytes(range(128)),
}


@pytest.mark.parametrize("preamble", PREAMBLES.values(), ids=PREAMBLES)
@pytest.mark.parametrize("suffix", [".dcm", ""])
def test_no_preamble_hides_a_dicom_file(
    tmp_path: Path, write, preamble: bytes, suffix: str
) -> None:
    voxels = write.noise()
    places = [write.geometry(write.AFFINE, k) for k in range(9)]
    one = write.enhanced(voxels.transpose(2, 1, 0).copy(), places)
    one.preamble = preamble[:128].ljust(128, b"\0")
    path = tmp_path / f"im0{suffix}"
    one.save_as(path, enforce_file_format=True)
    assert find_volumes([tmp_path]).volume_paths == [path]
    assert np.array_equal(read(path).voxels, voxels)
    archive = write.zipped(tmp_path / "in.zip", tmp_path)
    assert np.array_equal(read(archive).voxels, voxels)


@pytest.mark.parametrize("name", ["scan.hdr", "scan.img", "scan.nii", "scan.nii.gz", "scan.tif"])
def test_it_is_known_under_the_names_of_other_formats(tmp_path: Path, write, name: str) -> None:
    one = write.enhanced(
        write.noise().transpose(2, 1, 0).copy(), [write.geometry(write.AFFINE, k) for k in range(9)]
    )
    one.preamble = struct.pack("<i", 348).ljust(128, b"\0")
    one.save_as(tmp_path / name, enforce_file_format=True)
    assert find_volumes([tmp_path]).volume_paths == [tmp_path / name]
    assert np.array_equal(read(tmp_path / name).voxels, write.noise())


@pytest.mark.parametrize("kind", ["nrrd", "metaimage"])
def test_a_text_header_may_have_the_letters_there(tmp_path: Path, made, kind: str) -> None:
    path = getattr(made, kind)(tmp_path / f"a.{'nrrd' if kind == 'nrrd' else 'mha'}", made.body())
    data, comment = path.read_bytes(), b"#" if kind == "nrrd" else b"Comment = "
    first = data.index(b"\n") + 1
    letters = comment + b"-" * (128 - first - len(comment)) + b"DICM, at byte 128\n"
    path.write_bytes(data[:first] + letters + data[first:])
    assert path.read_bytes()[128:132] == b"DICM"
    assert find_volumes([tmp_path]).volume_paths == [path] and np.allclose(
        read(path).voxels, made.body().voxels, atol=1
    )


def test_a_nifti_file_has_numbers_where_dicom_has_its_magic(tmp_path: Path, made) -> None:
    """Bytes 128 to 131 are the lowest intensity: it would have to be 226,769,472 exactly (as float32) for a
    mistake."""
    assert np.frombuffer(b"DICM", "<f4")[0] > 2e8
    path = made.nifti(tmp_path / "a.nii", made.body())
    assert nibabel.Nifti1Header.template_dtype.fields["cal_min"][1] == 128
    assert np.array_equal(read(path).voxels, made.body().voxels)
