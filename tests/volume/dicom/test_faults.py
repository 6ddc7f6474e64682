"""Broken, hostile and foolish input: a stable code and a sentence for each, never a traceback and never a
guess."""

from __future__ import annotations

import io
import os
import struct
import warnings
import zipfile
import zlib
from collections.abc import Callable
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

from fovnet.errors import VolumeError
from fovnet.volume.dicom.address import address
from fovnet.volume.dicom.survey import survey
from fovnet.volume.slices.stack import slice_volume
from fovnet.volume.sources.source import read

Make = Callable[[Path, SimpleNamespace], Path]


def series(**more: Any) -> Make:
    """A folder of a series whose headers hold these elements; None takes one away."""
    return lambda at, write: write.save(at / "series", write.images(write.noise(), **more))


def changed(change: Callable[[list[Any]], Any]) -> Make:
    """A folder of a series whose datasets were changed in place."""

    def make(at: Path, write: SimpleNamespace) -> Path:
        files = write.images(write.noise())
        change(files)
        return write.save(at / "series", files)

    return make


def moved(positions: Callable[[int], list[float]], count: int = 9) -> Make:
    return lambda at, write: write.save(
        at / "series", write.images(write.noise((20, 24, count)), ImagePositionPatient=positions)
    )


def one_file(change: Callable[[bytes], bytes], name: str = "one.dcm", **more: Any) -> Make:
    """A single file whose bytes were changed after writing."""

    def make(at: Path, write: SimpleNamespace) -> Path:
        path = write.save(at, write.images(write.noise((20, 24, 2)), **more)) / "im000.dcm"
        (at / name).write_bytes(change(path.read_bytes()))
        return at / name

    return make


def one_object(build: Callable[[SimpleNamespace], Any]) -> Make:
    return lambda at, write: write.save(at / "object", [build(write)]) / "im000.dcm"


def archive(
    fill: Callable[[zipfile.ZipFile, SimpleNamespace], Any],
    patch: Callable[[bytearray], Any] = lambda data: None,
) -> Make:
    def make(at: Path, write: SimpleNamespace) -> Path:
        path = at / "series.zip"
        with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as opened:
            fill(opened, write)
        data = bytearray(path.read_bytes())
        patch(data)
        path.write_bytes(data)
        return path

    return make


def entries(data: bytearray) -> list[int]:
    """Where the entries of an archive's directory begin."""
    return [at for at in range(len(data) - 3) if data[at : at + 4] == b"PK\x01\x02"]


def encrypt(data: bytearray) -> None:
    for at in entries(data):
        data[at + 8] |= 1


def inflate(data: bytearray) -> None:
    for at in entries(data):
        struct.pack_into("<I", data, at + 24, 0xFFFFFF00)


def spoil(data: bytearray) -> None:
    for at in (at for at in range(len(data) - 3) if data[at : at + 4] == b"PK\x03\x04"):
        data[at + 60 : at + 90] = bytes(30)


def images_in(opened: zipfile.ZipFile, write: SimpleNamespace, names: str = "im{}.dcm") -> None:
    for index, one in enumerate(write.images(write.noise())):
        file = io.BytesIO()
        one.save_as(file, enforce_file_format=True)
        opened.writestr(names.format(index), file.getvalue())


def garbled(syntax: str, change: Callable[[bytes], bytes]) -> Make:
    """A compressed series, one of whose files was damaged."""

    def make(at: Path, write: SimpleNamespace) -> Path:
        folder = write.save(at / "series", write.images(write.noise((32, 40, 4), np.uint16)))
        for path in folder.iterdir():
            write.compressed(path, syntax)
        path = folder / "im002.dcm"
        path.write_bytes(change(path.read_bytes()))
        return folder

    return make


def test_the_decoder_finds_its_libraries_where_this_process_did(tmp_path, write, monkeypatch):
    """A module system, or `pip install --target`, names them in PYTHONPATH."""
    (tmp_path / "libraries").mkdir()
    (tmp_path / "libraries" / "sitecustomize.py").write_text(
        f"open({str(tmp_path / 'found')!r}, 'w').close()\n"
    )
    monkeypatch.setenv("PYTHONPATH", str(tmp_path / "libraries"))
    folder = write.save(tmp_path / "series", write.images(write.noise((32, 40, 4), np.uint16)))
    for path in folder.iterdir():
        write.compressed(path, "1.2.840.10008.1.2.4.90")
    assert np.array_equal(read(folder).voxels, write.noise((32, 40, 4), np.uint16))
    assert (tmp_path / "found").exists()


def looped(at: Path, write: SimpleNamespace) -> Path:
    (at / "in").mkdir()
    (at / "in" / "loop").symlink_to(at / "in", target_is_directory=True)
    (at / "in" / "self.dcm").symlink_to(at / "in" / "self.dcm")
    return at / "in"


def pipe(at: Path, write: SimpleNamespace) -> Path:
    os.mkfifo(at / "pipe.dcm")
    return at / "pipe.dcm"


def two_series(at: Path, write: SimpleNamespace) -> Path:
    write.save(at / "two", write.images(write.noise()), "a")
    return write.save(at / "two", write.images(write.noise(), series=8), "b")


def doubled(files: list[Any]) -> None:
    files[4].ImagePositionPatient = files[5].ImagePositionPatient


def frames(number: int) -> Make:
    """An enhanced object of three frames that says it has so many."""

    def build(write: SimpleNamespace) -> Any:
        one = write.enhanced(
            np.zeros((3, 8, 8), np.int16), [write.geometry(write.AFFINE, k) for k in range(3)]
        )
        one.NumberOfFrames = number
        return one

    return one_object(build)


def patched_all(change: Callable[[bytes], bytes]) -> Make:
    """A series whose files were all changed after writing."""

    def make(at: Path, write: SimpleNamespace) -> Path:
        folder = write.save(at / "series", write.images(write.noise()))
        for path in folder.iterdir():
            path.write_bytes(change(path.read_bytes()))
        return folder

    return make


def spokes(k: int) -> list[float]:
    return [np.cos(k / 3).round(6), np.sin(k / 3).round(6), 0, 0, 0, -1]


def structured_report(write: SimpleNamespace) -> Any:
    one = write.header(
        "1.2.840.10008.5.1.4.1.1.88.11",
        f"{write.STUDY}.5",
        np.zeros((2, 2), np.int16),
        Modality="SR",
    )
    for key in ("Rows", "Columns", "PixelData"):
        delattr(one, key)
    return one


JPEG, UP = "1.2.840.10008.1.2.4.70", np.array([0, 0, 1])


def x(k: int) -> list[float]:
    return [0.0, 0.0, 4.0 * k]


FAULTS: dict[str, tuple[Make, str]] = {
    "no position": (
        changed(lambda files: delattr(files[3], "ImagePositionPatient")),
        "volume-geometry",
    ),
    "no orientation": (
        changed(lambda files: [delattr(one, "ImageOrientationPatient") for one in files]),
        "volume-geometry",
    ),
    "no pixel spacing": (
        changed(lambda files: [delattr(one, "PixelSpacing") for one in files]),
        "volume-geometry",
    ),
    "pixel spacing 0": (series(PixelSpacing=[0, 0]), "volume-geometry"),
    "pixel spacing of a micron": (series(PixelSpacing=["0.001", "0.001"]), "volume-geometry"),
    "a direction of length 0": (
        series(ImageOrientationPatient=[0, 0, 0, 0, 1, 0]),
        "volume-geometry",
    ),
    "two directions alike": (series(ImageOrientationPatient=[1, 0, 0, 1, 0, 0]), "volume-geometry"),
    "five cosines": (series(ImageOrientationPatient=[1, 0, 0, 0, 1]), "volume-geometry"),
    "a gap of five images": (
        series(
            ImagePositionPatient=lambda k: x(k if k < 5 else k + 5),
            InstanceNumber=lambda k: k + 1 if k < 5 else k + 6,
        ),
        "volume-gaps",
    ),
    "three uneven images": (moved(lambda k: x(k * k), 3), "volume-gaps"),
    "tilted by 60 degrees": (moved(lambda k: [0.0, 7.0 * k, 4.0 * k]), "volume-tilt"),
    "side by side": (moved(lambda k: [200.0 * k, 0.0, 4.0 * k]), "volume-tilt"),
    "different images at one place": (changed(doubled), "volume-doubled"),
    "all images at one place": (series(ImagePositionPatient=[0, 0, 0]), "volume-doubled"),
    "every image another orientation": (series(ImageOrientationPatient=spokes), "volume-single"),
    "every image another size": (
        lambda at, write: write.save(
            at / "sizes", [write.images(write.noise((20 + k, 24, 9)))[k] for k in range(9)]
        ),
        "volume-single",
    ),
    "one image": (one_file(lambda data: data), "volume-single"),
    "two series": (two_series, "volume-several"),
    "no such series": (
        lambda at, write: address(series()(at, write), "0123456789ab"),
        "volume-series",
    ),
    "no rows": (
        changed(lambda files: [delattr(one, key) for one in files for key in ("Rows", "Columns")]),
        "volume-truncated",
    ),
    "zero rows": (series(Rows=0), "volume-shape"),
    "absurd rows": (series(Rows=65535, Columns=65535), "volume-too-large"),
    "one row too many": (series(Rows=25), "volume-truncated"),
    "pixels cut short": (
        one_file(lambda data: data[:-200], NumberOfFrames=1, ImageType=["ORIGINAL", "PRIMARY"]),
        "volume-single",
    ),
    "a series with one image cut short": (
        lambda at, write: cut_short(series()(at, write), 200),
        "volume-truncated",
    ),
    "a series with all headers cut short": (
        lambda at, write: cut_short(series()(at, write), 10**6),
        "volume-empty",
    ),
    "header cut short": (one_file(lambda data: data[:400]), "volume-truncated"),
    "pixels twice as long": (
        changed(lambda files: setattr(files[2], "PixelData", files[2].PixelData * 20)),
        "volume-corrupt",
    ),
    "no pixels": (changed(lambda files: delattr(files[2], "PixelData")), "volume-truncated"),
    "12 bits allocated": (series(BitsAllocated=12), "volume-bits"),
    "1 bit": (series(BitsAllocated=1, BitsStored=1, HighBit=0), "volume-bits"),
    "40 bits stored": (series(BitsStored=40), "volume-bits"),
    "bits stored at the top": (series(BitsStored=12, HighBit=15), "volume-bits"),
    "bits not said": (changed(lambda files: delattr(files[0], "BitsAllocated")), "volume-bits"),
    "three samples a pixel": (series(SamplesPerPixel=3), "volume-rgb"),
    "RGB": (series(PhotometricInterpretation="RGB"), "volume-rgb"),
    "a palette": (series(PhotometricInterpretation="PALETTE COLOR"), "volume-rgb"),
    "a slope of 0": (series(RescaleSlope="0"), "volume-rescale"),
    "constant": (
        lambda at, write: write.save(at / "flat", write.images(np.full((20, 24, 9), 7, np.int16))),
        "volume-constant",
    ),
    "pixels that lie on a server": (
        garbled(JPEG, lambda data: data.replace(b".1.2.4.70", b".1.2.4.94")),
        "volume-transfer-syntax",
    ),
    "said to be compressed": (
        patched_all(lambda data: data.replace(b"10008.1.2.1\0", b"10008.1.2.5\0")),
        "volume-corrupt",
    ),
    "JPEG with zeros at its end": (
        garbled("1.2.840.10008.1.2.4.70", lambda data: data[:-1500] + bytes(1500)),
        "volume-truncated",
    ),
    "JPEG 2000 cut short": (
        garbled("1.2.840.10008.1.2.4.90", lambda data: data[:-1200]),
        "volume-truncated",
    ),
    "JPEG-LS of another size": (
        garbled("1.2.840.10008.1.2.4.80", lambda data: data.replace(b"\xff\xf7", b"\xff\xf1")),
        "volume-corrupt",
    ),
    "CT": (series(Modality="CT"), "volume-ct"),
    "an unknown modality": (series(Modality="ZZ"), "volume-modality"),
    "a segmentation": (series(Modality="SEG"), "volume-no-pixels"),
    "a structured report": (one_object(structured_report), "volume-no-pixels"),
    "a screen": (series(SOPClassUID="1.2.840.10008.5.1.4.1.1.7"), "volume-screenshot"),
    "a DICOMDIR": (
        one_object(
            lambda write: write.header("1.2.840.10008.1.3.10", "1.2", np.zeros((2, 2), np.int16))
        ),
        "volume-dicomdir",
    ),
    "more frames than groups": (frames(5), "volume-corrupt"),
    "a billion frames": (frames(10**9), "volume-corrupt"),
    "frames without groups": (
        one_object(
            lambda write: write.header(
                "1.2.840.10008.5.1.4.1.1.4", "1.2", np.zeros((3, 8, 8), np.int16), NumberOfFrames=3
            )
        ),
        "volume-geometry",
    ),
    "a mosaic without its private header": (
        one_object(lambda write: write.mosaic(write.noise(), csa=b"")),
        "volume-mosaic",
    ),
    "a mosaic with a damaged one": (
        one_object(lambda write: write.mosaic(write.noise(), csa=b"SV10" + bytes(200))),
        "volume-mosaic",
    ),
    "a mosaic of too many slices": (
        one_object(lambda write: write.mosaic(write.noise(), csa=write.csa_header(50, UP))),
        "volume-mosaic",
    ),
    "a mosaic without spacing": (
        one_object(lambda write: write.mosaic(write.noise(), SpacingBetweenSlices="0")),
        "volume-mosaic",
    ),
    "empty": (one_file(lambda data: b""), "volume-empty"),
    "text": (one_file(lambda data: b"hello\n" * 50), "volume-format"),
    "a folder of text named .dcm": (
        lambda at, write: one_file(lambda data: b"hello\n" * 50, "sub.dcm")(at, write),
        "volume-format",
    ),
    "an empty folder": (
        lambda at, write: (at / "empty").mkdir() or at / "empty",
        "volume-no-dicom",
    ),
    "links that lead in a circle": (looped, "volume-unreadable"),
    "a pipe": (pipe, "volume-unreadable"),
    "an empty archive": (archive(lambda opened, write: None), "volume-no-dicom"),
    "an archive of text": (
        archive(lambda opened, write: opened.writestr("a.txt", "hello")),
        "volume-no-dicom",
    ),
    "an encrypted archive": (archive(images_in, encrypt), "volume-archive-encrypted"),
    "an archive of 36 GB": (archive(images_in, inflate), "volume-archive-size"),
    "an archive that leads out": (
        archive(lambda opened, write: images_in(opened, write, "../../im{}.dcm")),
        "volume-archive-path",
    ),
    "an archive with absolute names": (
        archive(lambda opened, write: images_in(opened, write, "/im{}.dcm")),
        "volume-archive-path",
    ),
    "an archive in an archive": (
        archive(lambda opened, write: opened.writestr("a.zip", b"PK\x03\x04")),
        "volume-archive-nested",
    ),
    "half an archive": (
        archive(images_in, lambda data: data.__delitem__(slice(len(data) // 2, None))),
        "volume-corrupt",
    ),
    "an archive with damaged members": (archive(images_in, spoil), "volume-corrupt"),
}


def cut_short(folder: Path, length: int) -> Path:
    paths = sorted(folder.iterdir())
    for path in paths if length > 10**5 else paths[4:5]:
        path.write_bytes(path.read_bytes()[:-length])
    return folder


@pytest.mark.parametrize(("make", "code"), FAULTS.values(), ids=FAULTS)
def test_a_fault_has_its_code_and_a_sentence(tmp_path, write, make, code):
    path = make(tmp_path, write)
    with pytest.raises(VolumeError) as refusal:
        slice_volume(path)
    assert refusal.value.code == code, refusal.value
    assert str(path) in refusal.value.sentence
    assert refusal.value.sentence.endswith((".", ")."))


@pytest.mark.parametrize("keyword", ["RescaleSlope", "RescaleIntercept"])
@pytest.mark.parametrize(
    "written",
    ["nan", "NaN", "inf", "-inf", "1e999", "Infinity", "abc", "1,5", "1.5.2", "--1", "1e", "?"],
)
def test_what_is_no_finite_number_scales_no_intensities(tmp_path, write, keyword, written):
    """One image of the series is enough; its pixels would have another scale than the others'."""
    folder = write.save(tmp_path / "series", write.images(write.noise(), **{keyword: "1.25000000"}))
    path = sorted(folder.iterdir())[3]
    path.write_bytes(path.read_bytes().replace(b"1.25000000", written.encode().ljust(10)))
    with pytest.raises(VolumeError) as refusal:
        slice_volume(folder)
    assert (
        refusal.value.code == "volume-rescale"
        and "finite numbers are wanted" in refusal.value.sentence
    )


@pytest.mark.parametrize(
    "more",
    [
        {},
        {"RescaleSlope": ""},
        {"RescaleSlope": "2", "RescaleIntercept": ""},
        {"RescaleIntercept": "-7"},
    ],
)
def test_a_scale_that_is_not_stated_is_none(tmp_path, write, more):
    slope, intercept = (
        float(more.get("RescaleSlope") or 1),
        float(more.get("RescaleIntercept") or 0),
    )
    found = read(write.save(tmp_path / "series", write.images(write.noise(), **more)))
    assert np.array_equal(found.voxels, write.noise().astype(np.float32) * slope + intercept)


def deflated(path: Path, payload: bytes, length: bytes | None = None, before: bytes = b"") -> Path:
    """A file that says it is deflated, and this payload behind its first elements; their length wrong where
    one is given, or left out."""
    syntax = b"1.2.840.10008.1.2.1.99"
    meta = before + b"\x02\x00\x10\x00UI" + struct.pack("<H", len(syntax)) + syntax
    stated = struct.pack("<I", len(meta)) if length is None else length
    head = b"\x02\x00\x00\x00UL\x04\x00" + stated if stated else b""
    path.write_bytes(bytes(128) + b"DICM" + head + meta + payload)
    return path


def test_a_damaged_deflated_object_is_refused(tmp_path):
    with pytest.raises(VolumeError) as refusal:
        slice_volume(deflated(tmp_path / "one.dcm", b"\xff" * 100))
    assert refusal.value.code == "volume-corrupt"


@pytest.mark.slow
@pytest.mark.parametrize(
    ("length", "before"),
    [
        (None, b""),
        (b"", b""),
        (struct.pack("<I", 10**6), b""),
        (None, b"\x02\x00\x01\x00OB\x00\x00" + struct.pack("<I", 4000) + bytes(4000)),
    ],
    ids=["as it should be", "no length", "a wrong length", "far behind"],
)
def test_a_deflated_bomb_is_refused_before_it_goes_off(tmp_path, length, before):
    """A megabyte of zeros takes a thousand bytes; 520 of them are half a gigabyte in half a megabyte.  Nor
    where nothing says how long the first elements are, or that wrongly: pydicom reads them one by one."""
    engine = zlib.compressobj(9, zlib.DEFLATED, -15)
    block = engine.compress(bytes(2**20)) + engine.flush(zlib.Z_FULL_FLUSH)
    with pytest.raises(VolumeError) as refusal:
        slice_volume(deflated(tmp_path / "one.dcm", block * 520, length, before))
    assert refusal.value.code == "volume-too-large"


@pytest.mark.skipif(os.geteuid() == 0, reason="root may read everything")
def test_an_image_one_may_not_read_is_refused(tmp_path, write):
    path = write.save(tmp_path, write.images(write.noise())) / "im003.dcm"
    path.chmod(0)
    with pytest.raises(VolumeError) as refusal:
        slice_volume(path)
    assert refusal.value.code == "volume-permission"


def test_of_archives_in_an_archive_each_is_named(tmp_path):
    with zipfile.ZipFile(tmp_path / "all.zip", "w") as opened:
        for number in range(9):
            opened.writestr(f"inner-{number}.zip", b"PK\x03\x04")
    with pytest.raises(VolumeError) as refusal:
        slice_volume(tmp_path / "all.zip")
    message = refusal.value.sentence
    assert (
        "none of 9 objects" in message
        and all(f"inner-{number}.zip" in message for number in range(7))
        and "and 2 more" in message
    )


def test_members_of_one_name_are_named_and_none_is_called_a_copy_of_another(tmp_path, write):
    folder = write.save(tmp_path / "series", write.images(write.noise()))
    with zipfile.ZipFile(tmp_path / "all.zip", "w") as archive:
        for file in sorted(folder.iterdir()):
            with warnings.catch_warnings():
                warnings.simplefilter("ignore")  # zipfile's own, of the name
                archive.writestr("im.dcm" if file.stem != "im000" else file.name, file.read_bytes())
    with pytest.raises(VolumeError) as refusal:
        slice_volume(tmp_path / "all.zip")
    found = survey(tmp_path / "all.zip")
    assert [len(series.frames) for series in found.series] == [1] and found.series[
        0
    ].copied_objects == ()
    [unread] = found.unread_objects
    assert (
        unread.fault.code == "volume-archive-names"
        and "8 members are called im.dcm" in unread.fault.sentence
    )
    assert refusal.value.code == "volume-single"


@pytest.mark.parametrize("method", [zipfile.ZIP_BZIP2, zipfile.ZIP_LZMA])
def test_members_that_unpack_at_one_stroke_are_not_opened_and_cost_no_other(
    tmp_path, write, method
):
    """3 KB of bzip2 took 4.6 GB for the sake of the first 132 bytes; a damaged LZMA stream ended the
    batch."""
    images = write.save(tmp_path / "series", write.images(write.noise()))
    with zipfile.ZipFile(tmp_path / "all.zip", "w", zipfile.ZIP_DEFLATED) as opened:
        for path in images.iterdir():
            opened.write(path, path.name)
        opened.writestr("bomb.dcm", bytes(50_000_000), method)
    data = bytearray((tmp_path / "all.zip").read_bytes())
    place = data.index(b"bomb.dcm") + len("bomb.dcm")
    data[place + 6 : place + 20] = bytes(14)  # the stream is damaged too
    (tmp_path / "all.zip").write_bytes(data)
    found = survey(tmp_path / "all.zip")
    [unread] = found.unread_objects
    assert unread.fault.code == "volume-archive-method" and len(found.series) == 1


def test_a_member_without_a_name_is_passed_over(tmp_path, write):
    """The library fails with an IndexError where it asks whether that is a folder."""
    images = write.save(tmp_path / "series", write.images(write.noise()))
    with zipfile.ZipFile(tmp_path / "all.zip", "w") as opened:
        for path in images.iterdir():
            opened.write(path, path.name)
        opened.writestr("x", b"nothing")
    data = (tmp_path / "all.zip").read_bytes()
    local, central = (
        data.index(b"PK\x03\x04", data.index(b"xnothing") - 31),
        data.rindex(b"PK\x01\x02"),
    )
    broken = bytearray(data)
    # the name's length, and where the rest then begins
    broken[central + 28 : central + 30] = bytes(2)
    broken[central + 30 : central + 32] = (1).to_bytes(2, "little")
    assert local
    (tmp_path / "all.zip").write_bytes(broken)
    assert len(survey(tmp_path / "all.zip").series) == 1
