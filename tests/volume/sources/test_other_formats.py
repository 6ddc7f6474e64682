"""Images in formats that fovnet does not read are named as what they are, with a way to convert them; in
folders too."""

from __future__ import annotations

import gzip
from pathlib import Path
from types import ModuleType

import numpy as np
import pytest

from fovnet.cli.predicting import _show_passed
from fovnet.errors import VolumeError
from fovnet.volume.sources.discovery import find
from fovnet.volume.sources.source import read

PAR = b"# === DATA DESCRIPTION FILE ======================================================\r\n#\r\n# CAUTION - Investigational device.\r\n"
HEAD = b"\ntype  = string-attribute\nname  = TYPESTRING\ncount = 15\n'3DIM_HEAD_ANAT~\n"
NOISE = np.random.default_rng(0).integers(0, 900, 4000).astype("<i2").tobytes()
FILES = {
    "scan.par": (PAR, "PAR/REC", "dcm2niix"),
    "SCAN.PAR": (PAR, "PAR/REC", "dcm2niix"),
    "scan.txt": (PAR, "PAR/REC", "dcm2niix"),
    "after.par": (b"\r\n" + PAR, "PAR/REC", "dcm2niix"),
    "scan.rec": (NOISE, "PAR/REC", "dcm2niix"),
    "SCAN.REC": (NOISE, "PAR/REC", "dcm2niix"),
    "scan.xml": (b"<PRIDE_V5>\n<Series_Info>", "XML/REC", "as DICOM"),
    "anat+orig.HEAD": (HEAD, "HEAD/BRIK", "3dAFNItoNIFTI"),
    "anat+tlrc.head": (HEAD.lstrip(), "HEAD/BRIK", "3dAFNItoNIFTI"),
    "int.HEAD": (b"type = integer-attribute\nname = BRICK_TYPES\n", "HEAD/BRIK", "3dAFNItoNIFTI"),
    "anat+orig.BRIK": (NOISE, "HEAD/BRIK", "3dAFNItoNIFTI"),
    "anat+orig.BRIK.gz": (gzip.compress(NOISE), "HEAD/BRIK", "3dAFNItoNIFTI"),
    "head.mnc": (b"CDF\x01" + bytes(200), "MINC", "mnc2nii"),
    "head2.mnc": (b"\x89HDF\r\n\x1a\n" + bytes(200), "MINC", "mnc2nii"),
}


@pytest.mark.parametrize("name", FILES)
def test_a_file_of_another_program_is_named_with_its_converter(tmp_path: Path, name: str) -> None:
    content, kind, converter = FILES[name]
    (tmp_path / name).write_bytes(content)
    with pytest.raises(VolumeError, match=f"this is .*{kind}.*{converter}") as refusal:
        read(tmp_path / name)
    assert refusal.value.code == "volume-format"


@pytest.mark.parametrize("name", [name for name in FILES if not name.endswith(".txt")])
def test_a_folder_of_such_files_alone_says_so_and_beside_a_volume_it_is_told(
    tmp_path: Path, made, name: str, capsys
) -> None:
    content, kind, converter = FILES[name]
    (tmp_path / name).write_bytes(content)
    with pytest.raises(VolumeError, match=f"1 file, .*{kind}.*{converter}") as refusal:
        find([tmp_path])
    assert refusal.value.code == "volumes-none"
    made.nifti(tmp_path / "body.nii.gz", made.body())
    found = find([tmp_path])
    assert found.volumes == [tmp_path / "body.nii.gz"]
    _show_passed(found.passed)
    assert kind in (told := capsys.readouterr().err) and converter in told


@pytest.mark.parametrize(
    ("name", "content"),
    [
        ("motion.par", b"0.01 0.02 0.03 1.2 3.4 5.6\n" * 20),
        ("notes.head", b"type of the coil: head\n"),
        ("page.xml", b"<html></html>"),
        ("data.csv.gz", gzip.compress(b"a,b\n1,2\n", mtime=0)),
        ("half.gz", b"\x1f\x8b\x08"),
        ("logs.gz", gzip.compress(gzip.compress(b"x" * 900, mtime=0), mtime=0)),
    ],
)
def test_a_file_that_is_called_so_and_is_none_is_no_lost_image(
    tmp_path: Path, name: str, content: bytes
) -> None:
    (tmp_path / name).write_bytes(content)
    with pytest.raises(VolumeError, match="name the files themselves"):
        find([tmp_path])


@pytest.mark.parametrize("suffix", [".dcm.gz", ".DCM.GZ", ".ima.gz", ".gz"])
def test_a_series_packed_file_by_file_is_called_so_with_what_unpacks_it(
    tmp_path: Path, write: ModuleType, suffix: str, made
) -> None:
    series = write.save(tmp_path / "in", write.images(write.noise()))
    for path in list(series.iterdir()):
        path.with_name(path.stem + suffix).write_bytes(gzip.compress(path.read_bytes()))
        path.unlink()
    with pytest.raises(
        VolumeError, match=r"9 files, im000.* a DICOM file packed with gzip\. Unpack it with gunzip"
    ):
        find([series])
    for place in (series, series / f"im000{suffix}"):
        with pytest.raises(
            VolumeError, match=r"a DICOM file packed with gzip.*Unpack it with gunzip"
        ) as refusal:
            read(place)
        assert refusal.value.code == "volume-format"
    with pytest.raises(VolumeError, match=r"a DICOM file packed with gzip\. Unpack the archive"):
        read(write.zipped(tmp_path / "in.zip", series))
    other = made.nifti(tmp_path / "body.nii.gz", made.body())
    assert find([other, series]).volumes == [other, series]


def test_gzip_under_the_name_of_dicom_is_called_so(tmp_path: Path, write: ModuleType) -> None:
    series = write.save(tmp_path, write.images(write.noise()))
    for path in series.iterdir():
        path.write_bytes(gzip.compress(path.read_bytes()))
    with pytest.raises(VolumeError, match="a DICOM file packed with gzip"):
        read(series)


@pytest.mark.parametrize(
    "name",
    [".\\x.raw", "x.raw", "sub\\x.raw", ".\\sub\\x.raw", "./sub/x.raw", "sub\\deep/x.raw", "a b\\x y.raw"],
)
@pytest.mark.parametrize("kind", ["nrrd", "metaimage"])
def test_the_separators_of_windows_lead_to_the_voxels(tmp_path: Path, made, name: str, kind: str) -> None:
    header = getattr(made, kind)(
        tmp_path / ("a.nhdr" if kind == "nrrd" else "a.mhd"), made.body(), data="voxels",
        **({"encoding": "raw"} if kind == "nrrd" else {}),
    )
    place = tmp_path.joinpath(*name.replace("\\", "/").split("/"))
    place.parent.mkdir(parents=True, exist_ok=True)
    (tmp_path / "voxels").rename(place)
    header.write_bytes(header.read_bytes().replace(b"voxels", name.encode()))
    assert np.allclose(read(header).voxels, made.body().voxels, atol=1)


@pytest.mark.parametrize(
    "name", ["..\\x.raw", "sub\\..\\..\\x.raw", "C:\\x.raw", "\\x.raw", "\\\\server\\share\\x.raw", "C:x.raw"]
)
@pytest.mark.parametrize("kind", ["nrrd", "metaimage"])
def test_they_do_not_lead_out_of_the_folder(tmp_path: Path, made, name: str, kind: str) -> None:
    (tmp_path / "in").mkdir()
    header = getattr(made, kind)(
        tmp_path / "in" / ("a.nhdr" if kind == "nrrd" else "a.mhd"), made.body(), data="voxels"
    )
    (tmp_path / "in" / "voxels").rename(tmp_path / "x.raw")
    header.write_bytes(header.read_bytes().replace(b"voxels", name.encode()))
    with pytest.raises(VolumeError) as refusal:
        read(header)
    assert refusal.value.code == "volume-outside"


def test_a_file_whose_name_has_the_character_itself_is_read(tmp_path: Path, made) -> None:
    header = made.metaimage(tmp_path / "a.mhd", made.body(), data="sub\\x.raw")
    assert (tmp_path / "sub\\x.raw").is_file()
    assert np.allclose(read(header).voxels, made.body().voxels, atol=1)
