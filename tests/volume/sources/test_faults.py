"""Files that are broken on purpose: each is refused with its code and a sentence, without a hang and in
little memory."""

from __future__ import annotations

import bz2
import contextlib
import gzip
import json
import os
import signal
import socket
import struct
import subprocess
import sys
import zlib
from pathlib import Path

import nibabel
import numpy as np
import pytest

from fovnet.errors import VolumeError
from fovnet.volume.slices.stack import slice_volume
from fovnet.volume.sources.source import read, source_of

SECONDS = 20
MAT = b"not a matrix"
REMEDIES = ("Give", "Convert", "Export", "Copy", "Save", "Check", "Put", "Name", "Take", "Resample")


@pytest.fixture(autouse=True)
def no_hang():
    """A test that waits for a pipe is ended by the clock, and fails."""

    def ring(*_: object) -> None:
        raise AssertionError(f"still reading after {SECONDS} s")

    before = signal.signal(signal.SIGALRM, ring)
    signal.alarm(SECONDS)
    yield
    signal.alarm(0)
    signal.signal(signal.SIGALRM, before)


def code_of(path: Path) -> str:
    """The code of the refusal; its sentence names the file, or the broken one beside it, in one line, and
    says what to do."""
    with pytest.raises(VolumeError) as refusal:
        slice_volume(path)
    sentence = refusal.value.sentence
    assert (
        str(path.with_suffix("")) in sentence and "\n" not in sentence and 60 < len(sentence) < 700
    )
    assert any(f" {word} " in sentence for word in REMEDIES)
    with contextlib.suppress(VolumeError):
        _ = source_of(path).checksum
    return refusal.value.code


def bare(path: Path, data: bytes = b"") -> Path:
    path.write_bytes(data)
    return path


def cut_off(path: Path, at: float) -> Path:
    """The file without its end: behind a share of it, or a number of bytes."""
    data = path.read_bytes()
    return bare(path, data[: int(at if at > 1 else at * len(data))])


def patched(path: Path, offset: int, fmt: str, *values: object) -> Path:
    """Bytes overwritten; in gzip, those that were packed."""
    data = path.read_bytes()
    packed = data.startswith(b"\x1f\x8b")
    data = bytearray(gzip.decompress(data) if packed else data)
    struct.pack_into(fmt, data, offset, *values)
    return bare(path, gzip.compress(bytes(data)) if packed else bytes(data))


def replaced(path: Path, old: bytes, new: bytes) -> Path:
    data = path.read_bytes()
    assert old in data
    return bare(path, data.replace(old, new, 1))


def nifti(made, at: Path, name: str = "a.nii", **fields: object) -> Path:
    return made.nifti(at / name, made.body(), **fields)


def forms(made, at: Path, qform: np.ndarray, sform: np.ndarray | None) -> Path:
    """A NIfTI-1 with these two forms; a qform in bytes of its own, as nibabel would refuse to write some."""
    image = nibabel.Nifti1Image(made.body().voxels.astype(np.int16), None)
    image.header.set_qform(qform, code=1)
    image.header.set_sform(sform, code=0 if sform is None else 1)
    nibabel.save(image, at / "forms.nii")
    return at / "forms.nii"


def fifo(path: Path) -> Path:
    os.mkfifo(path)
    return path


def listening(path: Path) -> Path:
    with socket.socket(socket.AF_UNIX) as made:
        os.chdir(path.parent)  # a socket's path has at most 107 bytes
        made.bind(path.name)
    return path


def loop(path: Path) -> Path:
    path.symlink_to(path.with_name("other.nii"))
    path.with_name("other.nii").symlink_to(path)
    return path


def folder(path: Path) -> Path:
    path.mkdir()
    return path


def without(path: Path, other: Path) -> Path:
    other.unlink()
    return path


def behind(path: Path, other: Path, make) -> Path:
    """The header, with something else in place of its data file."""
    other.unlink()
    make(other)
    return path


def flip(axis: int) -> np.ndarray:
    turned = np.eye(4)
    turned[axis, axis] = -1
    return turned


def patched_tail(path: Path, back: int = 40) -> Path:
    """A byte near the end changed: packed voxels, or with 6 the checksum of gzip."""
    data = bytearray(path.read_bytes())
    data[-back] ^= 0xFF
    return bare(path, bytes(data))


def sparse(path: Path) -> None:
    """Three megabytes that take no room on the disk."""
    with path.open("wb") as file:
        file.truncate(3 << 20)


def halved(path: Path, other: Path) -> Path:
    cut_off(other, 0.5)
    return path


def of(kind: str, name: str, /, *more: object, **fields: object):
    """A maker of the body in a format, with these fields of its header."""
    return lambda made, at: getattr(made, kind)(at / name, made.body(), *more, **fields)


def broken(kind: str, name: str, how, *where: object):
    """A maker of the body in a format, then broken."""
    return lambda made, at: how(of(kind, name)(made, at), *where)


def lengthened(path: Path, more: int) -> Path:
    return bare(path, path.read_bytes() + bytes(more))


def one_frame(path: Path) -> Path:
    """An NRRD with a fourth axis of one frame."""
    for old, new in (
        (b"dimension: 3", b"dimension: 4"),
        (b"sizes: 22 26 16", b"sizes: 22 26 16 1"),
    ):
        replaced(path, old, new)
    header = path.read_bytes()
    line = next(one for one in header.split(b"\n") if one.startswith(b"space directions"))
    return bare(path, header.replace(line, line + b" none"))


FAULTS = {
    # what lies there is no file
    "a named pipe": (lambda made, at: fifo(at / "a.nii"), "volume-unreadable"),
    "a socket": (lambda made, at: listening(at / "a.nii"), "volume-unreadable"),
    "a device": (lambda made, at: Path("/dev/zero"), "volume-unreadable"),
    "a loop of links": (lambda made, at: loop(at / "a.nii"), "volume-unreadable"),
    "a link to nothing": (lambda made, at: loop(at / "a.nii").with_name("b.nii"), "volume-missing"),
    "a folder named .nii": (lambda made, at: folder(at / "a.nii"), "volume-no-dicom"),
    "a folder named .mgz": (lambda made, at: folder(at / "a.mgz"), "volume-no-dicom"),
    "an empty .mgz": (lambda made, at: bare(at / "a.mgz"), "volume-empty"),
    "text named .mgz": (lambda made, at: bare(at / "a.mgz", b"see README\n" * 50), "volume-format"),
    "text named .gipl": (
        lambda made, at: bare(at / "a.gipl", b"see README\n" * 50),
        "volume-format",
    ),
    "a name with blanks and umlauts": (
        broken("nrrd", "Käse und Brot \N{SNOWMAN}.nrrd", cut_off, 0.7),
        "volume-truncated",
    ),
    "a gzip of twelve bytes": (broken("nifti", "a.nii.gz", cut_off, 12), "volume-truncated"),
    "text behind a .nii.gz": (
        lambda made, at: bare(at / "a.nii.gz", gzip.compress(b"nothing " * 99)),
        "volume-format",
    ),
    # NIfTI: geometry
    "no spacing for the qform": (
        lambda made, at: patched(forms(made, at, np.diag([2, 2, 3, 1]), None), 84, "<f", 0.0),
        "volume-geometry",
    ),
    "a qform of NaN spacing": (
        lambda made, at: patched(forms(made, at, np.eye(4), None), 80, "<f", float("nan")),
        "volume-geometry",
    ),
    "a quaternion longer than 1": (
        lambda made, at: patched(forms(made, at, np.eye(4), None), 256, "<3f", 1, 1, 1),
        "volume-corrupt",
    ),
    "a qform that flips left and right": (
        lambda made, at: forms(made, at, flip(0), np.eye(4)),
        "volume-geometry",
    ),
    "a qform that exchanges axes": (
        lambda made, at: forms(made, at, np.eye(4)[[0, 2, 1, 3]] @ flip(1), np.eye(4)),
        "volume-geometry",
    ),
    "an sform of zeros and no qform": (
        broken("nifti", "a.nii", patched, 280, "<12f", *[0.0] * 12),
        "volume-geometry",
    ),
    # NIfTI: numbers
    "one bit a voxel": (broken("nifti", "a.nii", patched, 70, "<2h", 1, 1), "volume-labels"),
    "128-bit floats": (broken("nifti", "a.nii", patched, 70, "<2h", 1536, 128), "volume-type"),
    "complex256": (broken("nifti", "a.nii", patched, 70, "<2h", 2048, 256), "volume-complex"),
    "a NaN intercept": (
        broken("nifti", "a.nii", patched, 112, "<2f", 2.0, float("nan")),
        "volume-corrupt",
    ),
    "voxels that begin at a negative byte": (
        broken("nifti", "a.nii", patched, 108, "<f", -400.0),
        "volume-corrupt",
    ),
    "voxels that begin in the header": (
        broken("nifti", "a.nii", patched, 108, "<f", 0.0),
        "volume-corrupt",
    ),
    "voxels that begin at byte NaN": (
        broken("nifti", "a.nii", patched, 108, "<f", float("nan")),
        "volume-corrupt",
    ),
    "voxels that begin beyond the file": (
        broken("nifti", "a.nii", patched, 108, "<f", 1e6),
        "volume-truncated",
    ),
    "voxels that begin at 1e15": (
        broken("nifti", "a.nii.gz", patched, 108, "<f", 1e15),
        "volume-corrupt",
    ),
    "NIfTI-2 of 2^62 columns": (
        lambda made, at: patched(
            made.nifti(at / "a.nii", made.body(), kind=nibabel.Nifti2Image), 24, "<q", 2**62
        ),
        "volume-too-large",
    ),
    "NIfTI-2 of negative frames": (
        lambda made, at: patched(
            made.nifti(at / "a.nii", made.body(), kind=nibabel.Nifti2Image),
            16,
            "<5q",
            4,
            22,
            26,
            16,
            -3,
        ),
        "volume-corrupt",
    ),
    "a header in the middle of which the file ends": (
        broken("nifti", "a.nii", cut_off, 349),
        "volume-truncated",
    ),
    "a pair whose image is a pipe": (
        lambda made, at: behind(
            made.nifti(at / "a.hdr", made.body(), kind=nibabel.Nifti1Pair), at / "a.img", fifo
        ),
        "volume-unreadable",
    ),
    # NRRD
    "NRRD without its voxels": (broken("nrrd", "a.nrrd", cut_off, 420), "volume-truncated"),
    "NRRD cut in its header": (broken("nrrd", "a.nrrd", cut_off, 100), "volume-corrupt"),
    "NRRD cut in raw voxels": (
        lambda made, at: cut_off(made.nrrd(at / "a.nrrd", made.body(), encoding="raw"), 0.9),
        "volume-truncated",
    ),
    "NRRD of damaged gzip": (broken("nrrd", "a.nrrd", patched_tail), "volume-corrupt"),
    "NRRD of one frame with half a frame behind it": (
        lambda made, at: lengthened(
            one_frame(made.nrrd(at / "a.nrrd", made.body(), encoding="raw")), 22 * 26 * 16
        ),
        "volume-corrupt",
    ),
    "NRRD that claims gzip of raw voxels": (
        lambda made, at: replaced(
            made.nrrd(at / "a.nrrd", made.body(), encoding="raw"),
            b"encoding: raw",
            b"encoding: gzip",
        ),
        "volume-corrupt",
    ),
    "NRRD without space directions": (
        of("nrrd", "a.nrrd", drop=("space directions",), spacings="1 1 3"),
        "volume-orientation",
    ),
    "NRRD without a space": (
        of("nrrd", "a.nrrd", drop=("space",), space_dimension="3"),
        "volume-orientation",
    ),
    "NRRD in the scanner's space": (
        of("nrrd", "a.nrrd", space="scanner-xyz"),
        "volume-orientation",
    ),
    "NRRD in a space that has time": (
        of("nrrd", "a.nrrd", space="left-posterior-superior-time"),
        "volume-orientation",
    ),
    "NRRD without an origin": (of("nrrd", "a.nrrd", drop=("space origin",)), "volume-geometry"),
    "NRRD of two directions": (
        of("nrrd", "a.nrrd", space_directions="(1,0,0) (0,1,0)"),
        "volume-corrupt",
    ),
    "NRRD of NaN directions": (
        of("nrrd", "a.nrrd", space_directions="(1,0,0) (0,1,0) (0,nan,1)"),
        "volume-geometry",
    ),
    "NRRD of a direction that is no number": (
        of("nrrd", "a.nrrd", space_directions="(1,0,0) (0,a,0) (0,0,1)"),
        "volume-corrupt",
    ),
    "NRRD of one flat direction": (
        of("nrrd", "a.nrrd", space_directions="(1,0,0) (0,1,0) (1,1,0)"),
        "volume-geometry",
    ),
    "NRRD of four sizes in three dimensions": (
        of("nrrd", "a.nrrd", sizes="22 26 16 1"),
        "volume-corrupt",
    ),
    "NRRD of a negative size": (of("nrrd", "a.nrrd", sizes="22 -26 16"), "volume-corrupt"),
    "NRRD of no columns": (of("nrrd", "a.nrrd", sizes="0 26 16"), "volume-shape"),
    "NRRD of absurd sizes": (
        of("nrrd", "a.nrrd", sizes="99999999999 99999999999 9"),
        "volume-too-large",
    ),
    "NRRD of more voxels than it has": (of("nrrd", "a.nrrd", sizes="22 26 17"), "volume-truncated"),
    "NRRD of 99 dimensions": (of("nrrd", "a.nrrd", dimension="99"), "volume-corrupt"),
    "NRRD without a type": (of("nrrd", "a.nrrd", drop=("type",)), "volume-corrupt"),
    "NRRD of an unknown type": (of("nrrd", "a.nrrd", type="quadruple"), "volume-corrupt"),
    "NRRD without a byte order": (of("nrrd", "a.nrrd", drop=("endian",)), "volume-corrupt"),
    "NRRD in letters": (of("nrrd", "a.nrrd", encoding="ascii"), "volume-encoding"),
    "NRRD of an unknown encoding": (of("nrrd", "a.nrrd", encoding="zstd"), "volume-corrupt"),
    "NRRD without its data file": (
        lambda made, at: without(made.nrrd(at / "a.nhdr", made.body(), data="a.raw"), at / "a.raw"),
        "volume-missing",
    ),
    "NRRD whose data are a password file": (
        of("nrrd", "a.nhdr", data_file="/etc/passwd"),
        "volume-outside",
    ),
    "NRRD whose data lie above": (
        of("nrrd", "a.nhdr", data_file="x/../../a.raw"),
        "volume-outside",
    ),
    "NRRD whose data lie on drive C": (
        of("nrrd", "a.nhdr", data_file="C:\\a.raw"),
        "volume-outside",
    ),
    "NRRD in a file a slice": (
        of("nrrd", "a.nhdr", data_file="a%03d.raw 1 16 1"),
        "volume-encoding",
    ),
    "NRRD in a list of files": (
        of("nrrd", "a.nhdr", data_file="LIST\na.raw\nb.raw"),
        "volume-encoding",
    ),
    "NRRD of colours": (
        of(
            "nrrd",
            "a.nrrd",
            dimension="4",
            sizes="3 22 26 16",
            kinds="RGB-color domain domain domain",
            space_directions="none (1,0,0) (0,1,0) (0,0,1)",
        ),
        "volume-rgb",
    ),
    "NRRD of complex numbers": (
        of(
            "nrrd",
            "a.nrrd",
            dimension="4",
            sizes="2 22 26 16",
            kinds="complex domain domain domain",
            space_directions="none (1,0,0) (0,1,0) (0,0,1)",
        ),
        "volume-complex",
    ),
    "NRRD of tensors": (
        of(
            "nrrd",
            "a.nrrd",
            dimension="4",
            sizes="6 22 26 16",
            kinds="3D-symmetric-matrix domain domain domain",
            space_directions="none (1,0,0) (0,1,0) (0,0,1)",
        ),
        "volume-shape",
    ),
    "NRRD of one slice": (
        of("nrrd", "a.nrrd", dimension="2", sizes="22 26", space_directions="(1,0,0) (0,1,0)"),
        "volume-shape",
    ),
    "NRRD of CT by its header": (
        broken("nrrd", "a.nrrd", replaced, b"endian", b"modality:=CT\nendian"),
        "volume-ct",
    ),
    "NRRD of ultrasound by its header": (
        broken("nrrd", "a.nrrd", replaced, b"kinds", b"modality:=US\nkinds"),
        "volume-modality",
    ),
    "NRRD of segments": (
        broken("nrrd", "a.seg.nrrd", replaced, b"endian", b"Segment0_ID:=liver\nendian"),
        "volume-labels",
    ),
    "NRRD of skipped words": (of("nrrd", "a.nrrd", byte_skip="1 2"), "volume-corrupt"),
    "NRRD that skips a million lines": (
        of("nrrd", "a.nrrd", line_skip="1000000"),
        "volume-truncated",
    ),
    "NRRD of inches": (of("nrrd", "a.nrrd", space_units='"in" "in" "in"'), "volume-corrupt"),
    "NRRD of kilometres": (
        of("nrrd", "a.nrrd", space_directions="(1e6,0,0) (0,1e6,0) (0,0,1e6)"),
        "volume-geometry",
    ),
    # MetaImage
    "MetaImage without a matrix": (
        of("metaimage", "a.mha", drop=("TransformMatrix",)),
        "volume-orientation",
    ),
    "MetaImage without an offset": (of("metaimage", "a.mha", drop=("Offset",)), "volume-geometry"),
    "MetaImage without spacings": (
        of("metaimage", "a.mha", drop=("ElementSpacing",)),
        "volume-geometry",
    ),
    "MetaImage of zero spacing": (
        of("metaimage", "a.mha", ElementSpacing="1 0 1"),
        "volume-geometry",
    ),
    "MetaImage of eight matrix entries": (
        of("metaimage", "a.mha", TransformMatrix="1 0 0 0 1 0 0 0"),
        "volume-corrupt",
    ),
    "MetaImage cut in its header": (broken("metaimage", "a.mha", cut_off, 150), "volume-truncated"),
    "MetaImage cut in its voxels": (broken("metaimage", "a.mha", cut_off, 0.8), "volume-truncated"),
    "MetaImage cut in packed voxels": (
        lambda made, at: cut_off(made.metaimage(at / "a.mha", made.body(), packed=True), 0.8),
        "volume-truncated",
    ),
    "MetaImage of damaged zlib": (
        lambda made, at: patched_tail(made.metaimage(at / "a.mha", made.body(), packed=True)),
        "volume-corrupt",
    ),
    "MetaImage without its data file": (
        lambda made, at: without(
            made.metaimage(at / "a.mhd", made.body(), data="a.raw"), at / "a.raw"
        ),
        "volume-missing",
    ),
    "MetaImage whose data file is a pipe": (
        lambda made, at: behind(
            made.metaimage(at / "a.mhd", made.body(), data="a.raw"), at / "a.raw", fifo
        ),
        "volume-unreadable",
    ),
    "MetaImage whose data lie above": (
        lambda made, at: replaced(
            made.metaimage(at / "a.mhd", made.body(), data="a.raw"), b"= a.raw", b"= ../a.raw"
        ),
        "volume-outside",
    ),
    "MetaImage in a list of files": (
        broken("metaimage", "a.mha", replaced, b"LOCAL", b"LIST"),
        "volume-encoding",
    ),
    "MetaImage in letters": (of("metaimage", "a.mha", BinaryData="False"), "volume-encoding"),
    "MetaImage of colours": (
        of("metaimage", "a.mha", "<u1", ElementNumberOfChannels="3"),
        "volume-rgb",
    ),
    "MetaImage of vectors": (of("metaimage", "a.mha", ElementNumberOfChannels="3"), "volume-shape"),
    "MetaImage of an unknown type": (
        of("metaimage", "a.mha", ElementType="MET_HALF"),
        "volume-corrupt",
    ),
    "MetaImage of negative sizes": (
        of("metaimage", "a.mha", DimSize="-22 -26 16"),
        "volume-corrupt",
    ),
    "MetaImage of absurd sizes": (
        of("metaimage", "a.mha", DimSize="65535 65535 65535"),
        "volume-too-large",
    ),
    "MetaImage of a size in words": (
        of("metaimage", "a.mha", DimSize="22 many 16"),
        "volume-corrupt",
    ),
    "MetaImage of two axes": (of("metaimage", "a.mha", NDims="2", DimSize="22 26"), "volume-shape"),
    "MetaImage of CT by its header": (of("metaimage", "a.mha", Modality="MET_MOD_CT"), "volume-ct"),
    "MetaImage of an infinite slope": (
        of("metaimage", "a.mha", ElementToIntensityFunctionSlope="inf"),
        "volume-corrupt",
    ),
    # MGH
    "MGH without valid directions": (
        broken("mgh", "a.mgz", patched, 28, ">h", 0),
        "volume-orientation",
    ),
    "MGH of NaN directions": (
        broken("mgh", "a.mgz", patched, 42, ">f", float("nan")),
        "volume-geometry",
    ),
    "MGH of zero spacing": (broken("mgh", "a.mgz", patched, 30, ">f", 0.0), "volume-geometry"),
    "MGH of negative sizes": (broken("mgh", "a.mgz", patched, 4, ">i", -22), "volume-corrupt"),
    "MGH of absurd sizes": (
        broken("mgh", "a.mgz", patched, 4, ">3i", *[2**31 - 1] * 3),
        "volume-too-large",
    ),
    "MGH of no frames": (broken("mgh", "a.mgz", patched, 16, ">i", 0), "volume-shape"),
    "MGH of an unknown type": (broken("mgh", "a.mgz", patched, 20, ">i", 77), "volume-corrupt"),
    "MGH of tensors": (broken("mgh", "a.mgz", patched, 20, ">i", 6), "volume-shape"),
    "MGH of one bit a voxel": (broken("mgh", "a.mgz", patched, 20, ">i", 5), "volume-labels"),
    "MGH of version 2": (broken("mgh", "a.mgz", patched, 0, ">i", 2), "volume-format"),
    "MGH cut in its header": (broken("mgh", "a.mgh", cut_off, 60), "volume-truncated"),
    "MGH cut in its voxels": (broken("mgh", "a.mgh", cut_off, 0.6), "volume-truncated"),
    "MGZ cut in its voxels": (broken("mgh", "a.mgz", cut_off, 0.6), "volume-truncated"),
    "MGZ of a wrong checksum": (broken("mgh", "a.mgz", patched_tail, 6), "volume-corrupt"),
    # GIPL
    "GIPL of an unknown type": (of("gipl", "a.gipl", kind=99), "volume-corrupt"),
    "GIPL of complex numbers": (of("gipl", "a.gipl", kind=192), "volume-complex"),
    "GIPL of one bit a voxel": (of("gipl", "a.gipl", kind=1), "volume-labels"),
    "GIPL of another magic": (of("gipl", "a.gipl", magic=1), "volume-format"),
    "GIPL cut in its voxels": (broken("gipl", "a.gipl", cut_off, 0.5), "volume-truncated"),
    "GIPL cut in packed voxels": (broken("gipl", "a.gipl.gz", cut_off, 0.5), "volume-truncated"),
    "GIPL of infinite spacing": (
        broken("gipl", "a.gipl", patched, 10, ">f", float("inf")),
        "volume-geometry",
    ),
    "GIPL of no rows": (broken("gipl", "a.gipl", patched, 2, ">H", 0), "volume-shape"),
    # Analyze
    "Analyze without a .mat": (
        lambda made, at: without(made.analyze(at / "a.hdr", made.body()), at / "a.mat"),
        "volume-orientation",
    ),
    "Analyze with text for a .mat": (
        lambda made, at: behind(
            made.analyze(at / "a.hdr", made.body()), at / "a.mat", lambda mat: bare(mat, MAT)
        ),
        "volume-corrupt",
    ),
    "Analyze with a .mat of three megabytes": (
        lambda made, at: behind(made.analyze(at / "a.hdr", made.body()), at / "a.mat", sparse),
        "volume-corrupt",
    ),
    "Analyze with a pipe for a .mat": (
        lambda made, at: behind(made.analyze(at / "a.hdr", made.body()), at / "a.mat", fifo),
        "volume-unreadable",
    ),
    "Analyze without its image": (
        lambda made, at: without(made.analyze(at / "a.hdr", made.body()), at / "a.img"),
        "volume-missing",
    ),
    "Analyze cut in its image": (
        lambda made, at: halved(made.analyze(at / "a.hdr", made.body()), at / "a.img"),
        "volume-truncated",
    ),
    "Analyze of colours": (broken("analyze", "a.hdr", patched, 70, "<h", 128), "volume-rgb"),
    "Analyze of complex numbers": (
        broken("analyze", "a.hdr", patched, 70, "<h", 32),
        "volume-complex",
    ),
    "Analyze of one bit a voxel": (
        broken("analyze", "a.hdr", patched, 70, "<h", 1),
        "volume-labels",
    ),
    "Analyze of nine axes": (broken("analyze", "a.hdr", patched, 40, "<h", 9), "volume-corrupt"),
    "Analyze of negative sizes": (
        broken("analyze", "a.hdr", patched, 42, "<h", -3),
        "volume-corrupt",
    ),
    "an Analyze header under another name": (
        lambda made, at: made.analyze(at / "a.hdr", made.body()).rename(at / "a.bin"),
        "volume-missing",
    ),
}


@pytest.mark.parametrize(("make", "code"), FAULTS.values(), ids=FAULTS)
def test_a_planted_fault_is_refused_with_its_code_and_a_sentence(
    tmp_path, monkeypatch, made, make, code
):
    monkeypatch.chdir(tmp_path)
    assert code_of(make(made, tmp_path)) == code


def test_an_unset_scale_means_no_scale(tmp_path, made):
    """A slope of 0 means that there is none (nifti1.h), one of NaN is ignored, and the intercept does not
    count alone."""
    for slope in (0.0, float("nan"), float("inf")):
        path = patched(nifti(made, tmp_path), 112, "<2f", slope, 5.0)
        assert np.array_equal(read(path).voxels, made.body().voxels)


def test_an_empty_sform_leaves_the_place_to_the_qform(tmp_path, made):
    path = patched(
        forms(made, tmp_path, np.diag([2.0, 2.0, 3.0, 1.0]), np.eye(4)), 280, "<12f", *[0.0] * 12
    )
    volume = read(path)
    assert volume.spacing_mm.tolist() == [2, 2, 3]
    assert volume.notes == ("the sform is set but all zero; the qform is used",)


def test_spacings_that_differ_from_the_sform_are_noted(tmp_path, made):
    path = patched(nifti(made, tmp_path), 80, "<3f", 1.0, 1.0, 1.0)
    assert read(path).notes == (
        "pixdim says voxels of 1 × 1 × 1 mm, the sform 1.5 × 1.25 × 4 mm; the sform is used",
    )


ZEROS = bytes(1 << 24)


def bombs(made, at: Path) -> dict[str, Path]:
    """Small files that unpack to a gigabyte or claim one."""
    body = made.body()
    one, plain = (
        gzip.compress(ZEROS, 9),
        gzip.compress(made.nifti(at / "plain.nii", body).read_bytes()),
    )
    head = gzip.decompress(plain)[:352]
    claims = bytearray(head)
    struct.pack_into("<3h", claims, 42, 800, 800, 800)
    far = bytearray(head)
    struct.pack_into("<f", far, 108, 9e8)
    squeezed = zlib.compress(bytes(1 << 28), 1)
    text = made.nrrd(at / "text.nrrd", body).read_bytes().partition(b"\n\n")[0] + b"\n\n"
    meta = (
        made.metaimage(at / "meta.mha", body, packed=True).read_bytes().partition(b"= LOCAL\n")[0]
        + b"= LOCAL\n"
    )
    files = {
        "NIfTI with a gigabyte behind it": plain + one * 64,
        "NIfTI that claims a gigabyte": gzip.compress(bytes(claims)),
        "NIfTI whose voxels begin behind 900 MB": gzip.compress(bytes(far)) + one * 64,
        "a gigabyte of zeros": one * 64,
        "NRRD with a gigabyte behind it": text + one * 64,
        "NRRD whose header is one line of a gigabyte": gzip.compress(b"NRRD0005\ncontent: ")
        + one * 64,
        "NRRD of bzip2 with a gigabyte behind it": text.replace(b"gzip", b"bzip2")
        + bz2.compress(ZEROS) * 64,
        "MetaImage with 256 MB behind it": meta + squeezed,
        "MetaImage that claims a gigabyte": meta.replace(b"22 26 16", b"800 800 800")
        + zlib.compress(b"few"),
        "MGZ with a gigabyte behind it": made.mgh(at / "a.mgz", body).read_bytes() + one * 64,
        "GIPL with a gigabyte behind it": made.gipl(at / "a.gipl.gz", body).read_bytes() + one * 64,
    }
    suffixes = {
        "NIfTI": ".nii.gz",
        "NRRD": ".nrrd",
        "MetaImage": ".mha",
        "MGZ": ".mgz",
        "GIPL": ".gipl.gz",
        "a": ".gz",
    }
    return {
        name: bare(at / f"bomb{n}{suffixes[name.split()[0]]}", data)
        for n, (name, data) in enumerate(files.items())
    }


LITTLE = """
import json, resource, sys
from pathlib import Path
from fovnet.errors import VolumeError
from fovnet.volume.slices.stack import slice_volume
import nibabel.freesurfer, scipy.io
peak = lambda: resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
found = {}
for name in sys.argv[1:]:
    before = peak()
    try:
        slice_volume(Path(name)); code = "read"
    except VolumeError as refusal:
        code = refusal.code
    found[name] = [code, peak() - before]
print(json.dumps(found))
"""


@pytest.mark.slow
def test_a_bomb_takes_little_memory(tmp_path, made):
    """Every file is under 2 MB and its body under 1 MB; what is unpacked beyond that is thrown away, or never
    unpacked."""
    files = bombs(made, tmp_path)
    assert all(path.stat().st_size < 2e6 for path in files.values())
    run = subprocess.run(
        [sys.executable, "-c", LITTLE, *map(str, files.values())],
        capture_output=True,
        text=True,
        check=True,
        timeout=900,
    )
    found = json.loads(run.stdout)
    results = {name: found[str(path)] for name, path in files.items()}
    assert {name: (code, megabytes < 80) for name, (code, megabytes) in results.items()} == {
        "NIfTI with a gigabyte behind it": ("read", True),
        "NIfTI that claims a gigabyte": ("volume-truncated", True),
        "NIfTI whose voxels begin behind 900 MB": ("volume-corrupt", True),
        "a gigabyte of zeros": ("volume-format", True),
        "NRRD with a gigabyte behind it": ("volume-constant", True),
        "NRRD whose header is one line of a gigabyte": ("volume-corrupt", True),
        "NRRD of bzip2 with a gigabyte behind it": ("volume-constant", True),
        "MetaImage with 256 MB behind it": ("volume-constant", True),
        "MetaImage that claims a gigabyte": ("volume-truncated", True),
        "MGZ with a gigabyte behind it": ("read", True),
        "GIPL with a gigabyte behind it": ("read", True),
    }
