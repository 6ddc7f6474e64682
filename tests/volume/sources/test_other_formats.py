"""Images in formats that fovnet does not read are named as what they are, with a way to convert them; in
folders too."""

from __future__ import annotations

import bz2
import gzip
import io
import lzma
import tarfile
import zipfile
from pathlib import Path
from types import ModuleType

import numpy as np
import pytest

from fovnet.cli.predicting import show_skipped
from fovnet.errors import VolumeError
from fovnet.volume.adapters.dicom import gather_dicom
from fovnet.volume.sources.discovery import find_volumes
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
        find_volumes([tmp_path])
    assert refusal.value.code == "volumes-none"
    made.nifti(tmp_path / "body.nii.gz", made.body())
    found = find_volumes([tmp_path])
    assert found.volume_paths == [tmp_path / "body.nii.gz"]
    show_skipped(found.passed_paths)
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
        find_volumes([tmp_path])


def test_a_tree_without_dicom_is_told_that_a_tree_is_wanted(tmp_path: Path) -> None:
    (tmp_path / "notes.txt").write_text("no image")
    with pytest.raises(VolumeError, match=r"1 \.txt; give the top folder of a tree of DICOM files"):
        gather_dicom(tmp_path)


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
        find_volumes([series])
    for place in (series, series / f"im000{suffix}"):
        with pytest.raises(
            VolumeError, match=r"a DICOM file packed with gzip.*Unpack it with gunzip"
        ) as refusal:
            read(place)
        assert refusal.value.code == "volume-format"
    with pytest.raises(VolumeError, match=r"a DICOM file packed with gzip\. Unpack the archive"):
        read(write.zipped(tmp_path / "in.zip", series))
    other = made.nifti(tmp_path / "body.nii.gz", made.body())
    assert find_volumes([other, series]).volume_paths == [other, series]


def test_gzip_under_the_name_of_dicom_is_called_so(tmp_path: Path, write: ModuleType) -> None:
    series = write.save(tmp_path, write.images(write.noise()))
    for path in series.iterdir():
        path.write_bytes(gzip.compress(path.read_bytes()))
    with pytest.raises(VolumeError, match="a DICOM file packed with gzip"):
        read(series)


@pytest.mark.parametrize(
    "name",
    [
        ".\\x.raw",
        "x.raw",
        "sub\\x.raw",
        ".\\sub\\x.raw",
        "./sub/x.raw",
        "sub\\deep/x.raw",
        "a b\\x y.raw",
    ],
)
@pytest.mark.parametrize("kind", ["nrrd", "metaimage"])
def test_the_separators_of_windows_lead_to_the_voxels(
    tmp_path: Path, made, name: str, kind: str
) -> None:
    header = getattr(made, kind)(
        tmp_path / ("a.nhdr" if kind == "nrrd" else "a.mhd"),
        made.body(),
        data="voxels",
        **({"encoding": "raw"} if kind == "nrrd" else {}),
    )
    place = tmp_path.joinpath(*name.replace("\\", "/").split("/"))
    place.parent.mkdir(parents=True, exist_ok=True)
    (tmp_path / "voxels").rename(place)
    header.write_bytes(header.read_bytes().replace(b"voxels", name.encode()))
    assert np.allclose(read(header).voxels, made.body().voxels, atol=1)


@pytest.mark.parametrize(
    "name",
    [
        "..\\x.raw",
        "sub\\..\\..\\x.raw",
        "C:\\x.raw",
        "\\x.raw",
        "\\\\server\\share\\x.raw",
        "C:x.raw",
    ],
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


POINTER = b"/annex/objects/MD5E-s1234567--0123456789abcdef0123456789abcdef"
LINK = "../../.git/annex/objects/Xx/0q/MD5E-s12--0123/MD5E-s12--0123"


@pytest.mark.parametrize(
    "content",
    [
        POINTER + b".nii.gz\n",
        POINTER + b".nii",
        POINTER.replace(b"MD5E", b"SHA256E") + b".nii.gz\nmore\n",
        LINK.encode(),
        f"../{LINK}".encode(),
        f"./{LINK[6:]}".encode(),
        LINK[6:].encode(),
    ],
)
@pytest.mark.parametrize(
    "name", ["a.nii.gz", "a.nii", "a.mgz", "a.nrrd", "a.hdr", "a.dcm", "a.zip"]
)
def test_a_pointer_of_git_annex_is_told_with_what_fetches_it(
    tmp_path: Path, name: str, content: bytes
) -> None:
    """An unlocked file that was not fetched, and a link where the file system has none."""
    (tmp_path / name).write_bytes(content)
    for place in (tmp_path / name, find_volumes([tmp_path]).sources[0]):
        with pytest.raises(VolumeError, match=r"a git-annex pointer, not the data.*datalad get"):
            read(place)


@pytest.mark.parametrize("name", ["a.nii.gz", "a.nii", "a.mha", "a.hdr", "a.dcm", "a.zip"])
def test_a_link_into_an_annex_that_was_not_fetched_is_no_mistaken_link(
    tmp_path: Path, name: str
) -> None:
    (tmp_path / name).symlink_to(LINK)
    (tmp_path / "other.nii").symlink_to("../gone.nii")
    for place in (tmp_path / name, find_volumes([tmp_path]).sources[0]):
        with pytest.raises(VolumeError, match=r"a git-annex pointer.*datalad get.*volume-missing"):
            read(place)
    with pytest.raises(VolumeError, match="Correct the link"):
        read(tmp_path / "other.nii")


def tar_of(name: str, mode: str) -> bytes:
    with io.BytesIO() as buffer:
        with tarfile.open(fileobj=buffer, mode=mode) as archive:
            member = tarfile.TarInfo(name)
            member.size = len(NOISE)
            archive.addfile(member, io.BytesIO(NOISE))
        return buffer.getvalue()


def zip_of(files: dict[str, bytes]) -> bytes:
    with io.BytesIO() as buffer:
        with zipfile.ZipFile(buffer, "w") as archive:
            for name, content in files.items():
                archive.writestr(name, content)
        return buffer.getvalue()


JCAMP = b"##TITLE=Parameter List, ParaVision 6.0.1\n##JCAMPDX=4.24\n"
BRUKER_TREE = {
    "study/subject": JCAMP,
    "study/5/acqp": JCAMP,
    "study/5/method": JCAMP,
    "study/5/fid": NOISE,
    "study/5/pdata/1/2dseq": NOISE,
    "study/5/pdata/1/reco": JCAMP,
    "study/5/pdata/1/visu_pars": JCAMP,
}
ZSTANDARD = b"\x28\xb5\x2f\xfd" + NOISE
FOLDERS: dict[str, tuple[dict[str, bytes], str]] = {
    "a tar.gz": ({"P1.tar.gz": tar_of("a.dcm", "w:gz")}, r"1 \.tar\.gz; .*a tar archive.*tar -xf"),
    "many tar.gz": (
        {f"P{n}.tar.gz": tar_of("a.dcm", "w:gz") for n in range(3)},
        r"3 files: 3 \.tar\.gz; 3 files, P0\.tar",
    ),
    "a tgz": ({"P1.tgz": tar_of("a.dcm", "w:gz")}, r"1 \.tgz; .*a tar archive"),
    "a tar": ({"x/P1.tar": tar_of("a.dcm", "w")}, r"1 \.tar; .*a tar archive"),
    **{
        f"a {ending}": (
            {f"P1.{ending}": tar_of("a", f"w:{mode}")},
            rf"1 \.{ending}; .*: a tar archive.*tar -xf.*the folder",
        )
        for ending, mode in (
            ("tar.bz2", "bz2"),
            ("tbz2", "bz2"),
            ("tbz", "bz2"),
            ("tb2", "bz2"),
            ("tar.xz", "xz"),
            ("txz", "xz"),
        )
    },
    "a TAR.XZ": ({"P1.TAR.XZ": tar_of("a", "w:xz")}, r": a tar archive.*tar -xf"),
    "a tar.lzma": (
        {"P1.tar.lzma": lzma.compress(tar_of("a", "w"), lzma.FORMAT_ALONE)},
        r"1 \.tar\.lzma; .*: a tar archive",
    ),
    "a text called tar.xz": ({"P1.tar.xz": b"no"}, r"1 \.tar\.xz; name the files themselves"),
    "a tar.zst": ({"P1.tar.zst": ZSTANDARD}, r"1 \.tar\.zst; .*: a tar archive.*tar -xf"),
    "a tzst": ({"P1.tzst": ZSTANDARD}, r": a tar archive.*tar -xf"),
    "a packed note": ({"notes.xz": lzma.compress(b"no")}, r"1 \.xz; .*an xz archive.*unxz"),
    "a packed volume": ({"a.nii.bz2": bz2.compress(NOISE)}, r"1 \.bz2; .*a bzip2 archive.*bunzip2"),
    "zstd": ({"a.nii.zst": ZSTANDARD}, "a Zstandard archive"),
    "7z": ({"a.7z": b"7z\xbc\xaf\x27\x1c" + NOISE}, "a 7-Zip archive"),
    "rar": ({"a.rar": b"Rar!\x1a\x07\x00" + NOISE}, "a RAR archive"),
    "an array": ({"a.npy": b"\x93NUMPY\x01\x00" + NOISE}, "a NumPy array.*affine"),
    "Bruker": (BRUKER_TREE, r"7 files: 7 without ending; 7 files, .*Bruker ParaVision.*DICOM"),
    "Bruker, images alone": (
        {name: BRUKER_TREE[name] for name in BRUKER_TREE if "pdata" in name},
        "3 files, .*Bruker ParaVision",
    ),
    "Bruker, raw alone": (
        {name: BRUKER_TREE[name] for name in ("study/5/acqp", "study/5/fid")},
        "2 files, .*Bruker ParaVision",
    ),
    "Bruker, two scans": (
        BRUKER_TREE | {name.replace("/5/", "/6/"): text for name, text in BRUKER_TREE.items()},
        "13 files, .*Bruker ParaVision",
    ),
    "Bruker, exported": (
        {"m.PvDatasets": zip_of(BRUKER_TREE)},
        r"1 \.pvdatasets; 1 file, .*Bruker ParaVision",
    ),
    "pictures": (
        {"a.png": b"\x89PNG", "b.PNG": b"\x89PNG", "c.txt": b"no"},
        r"3 files: 2 \.png, 1 \.txt; name",
    ),
    "tables": ({"volumes.tsv": b"a\tb\n"}, r"there is 1 file: 1 \.tsv; name the files themselves"),
    "of each a little": (
        {"a.rec": NOISE, "b.tar": tar_of("a", "w"), "c.txt": b"no"},
        "PAR/REC.*dcm2niix.* a tar archive.*tar -xf",
    ),
    "without endings": ({"one": b"no", "two": b"no"}, "2 files: 2 without ending"),
    "pointers without endings": (
        {"IM1": POINTER, "IM2": POINTER},
        "2 files, IM1 .*git-annex.*datalad get",
    ),
    "a hidden study": ({".study/IM1": bytes(128) + b"DICM"}, r"hidden.*name .*\.study itself"),
    "a study hidden twice": ({"x/.a/.b/scan.dcm": b"x"}, r"hidden.*name .*x/\.a itself"),
    "a hidden volume": (
        {".a.nii.gz": b"x", "c.txt": b"no"},
        r"1 file.*hidden.*name .*\.a\.nii\.gz itself",
    ),
}


def filled(folder: Path, files: dict[str, bytes]) -> Path:
    for name, content in files.items():
        path = folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(content)
    return folder


@pytest.mark.parametrize("kind", FOLDERS)
def test_a_folder_without_a_volume_says_what_is_there(
    tmp_path: Path, kind: str, made, capsys
) -> None:
    files, words = FOLDERS[kind]
    with pytest.raises(VolumeError, match=f"no file that looks like a volume.*{words}") as refusal:
        find_volumes([filled(tmp_path / "in", files)])
    assert refusal.value.code == "volumes-none"
    made.nifti(tmp_path / "in" / "body.nii.gz", made.body())
    found = find_volumes([tmp_path / "in"])
    assert found.volume_paths == [tmp_path / "in" / "body.nii.gz"]
    show_skipped(found.passed_paths)
    told = capsys.readouterr().err
    assert ("hidden" in told) == ("hidden" in words)
    assert "skipped" in told


@pytest.mark.parametrize(
    "name",
    [
        ".git/annex/objects/a.nii",
        ".DS_Store",
        "._scan.nii",
        ".cache/a.dcm",
        ".notes/a.txt",
        ".bidsignore",
    ],
)
def test_what_programs_hide_is_not_told(tmp_path: Path, made, name: str, capsys) -> None:
    filled(tmp_path, {name: b"x"})
    made.nifti(tmp_path / "body.nii.gz", made.body())
    show_skipped(find_volumes([tmp_path]).passed_paths)
    assert capsys.readouterr().err == ""


def test_an_empty_folder_names_nothing(tmp_path: Path) -> None:
    with pytest.raises(
        VolumeError, match=r"\.zip\); nothing is there; give a folder that holds volumes"
    ):
        find_volumes([tmp_path])
