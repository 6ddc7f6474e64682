"""JPEG of 12 bits (Extended, processes 2 and 4), and the law that lacking a decoder is no damage."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
import SimpleITK
from pydicom import dcmread
from pydicom.encaps import encapsulate, generate_frames
from pydicom.pixels import pixel_array

from fovnet.errors import VolumeError
from fovnet.volume.dicom.decoding import _is_unsupported, add_plugins
from fovnet.volume.sources.source import read

EXTENDED = "1.2.840.10008.1.2.4.51"


def smooth(bits: int, signed: bool = False) -> np.ndarray:
    """A volume of slow waves over the whole range, which lossy compression hardly changes."""
    i, j, k = np.indices((32, 40, 6))
    wave = (1 + np.sin(i / 9) * np.cos(j / 7 + k / 5)) / 2
    return np.round(wave * (2**bits - 1) - (2 ** (bits - 1) if signed else 0)).astype(
        np.int16 if signed else np.uint16
    )


def extended(write, folder: Path, voxels: np.ndarray, bits: int, **more) -> Path:
    import gdcm

    write.save(folder, write.images(voxels, BitsStored=bits, HighBit=bits - 1, **more))
    for path in folder.iterdir():
        write.compressed(path, EXTENDED, gdcm.JPEGCodec())
    return folder


def test_twelve_bits_are_read_from_folders_and_archives(tmp_path: Path, write) -> None:
    """To within what the lossy compression changes."""
    folder = extended(write, tmp_path / "in", smooth(12), 12)
    seen = read(folder).voxels
    assert np.abs(seen - smooth(12)).max() <= 2**12 / 50
    assert np.array_equal(read(write.zipped(tmp_path / "in.zip", folder)).voxels, seen)


@pytest.mark.parametrize("bits", [9, 10, 11, 12])
@pytest.mark.parametrize("spacing", ["1", "2.5"])
def test_a_frame_is_decoded_to_the_bit_as_simpleitk_does(
    tmp_path: Path, write, bits: int, spacing: str
) -> None:
    add_plugins()
    voxels = smooth(bits)[:, :, :2]
    path = sorted(
        extended(write, tmp_path, voxels, bits, PixelSpacing=[spacing, spacing]).iterdir()
    )[0]
    seen = pixel_array(dcmread(path), raw=True)
    assert np.abs(seen.astype(int) - voxels[:, :, 0].T).max() <= 2**bits / 50
    assert np.array_equal(seen, SimpleITK.GetArrayFromImage(SimpleITK.ReadImage(str(path)))[0])


def test_frames_of_one_object_are_read_too(tmp_path: Path, write) -> None:
    voxels = smooth(12)
    folder = extended(write, tmp_path / "in", voxels, 12)
    frames = [
        next(generate_frames(dcmread(path).PixelData, number_of_frames=1))
        for path in sorted(folder.iterdir())
    ]
    one = write.enhanced(
        voxels.transpose(2, 1, 0).copy(),
        [write.geometry(write.AFFINE, k) for k in range(6)],
        BitsStored=12,
        HighBit=11,
    )
    one.file_meta.TransferSyntaxUID = EXTENDED
    one.PixelData = encapsulate(frames)
    one["PixelData"].VR = "OB"
    one.save_as(tmp_path / "one.dcm", enforce_file_format=True)
    assert np.abs(read(tmp_path / "one.dcm").voxels - voxels).max() <= 2**12 / 50


def test_what_is_cut_short_is_damaged(tmp_path: Path, write) -> None:
    folder = extended(write, tmp_path / "in", smooth(12), 12)
    path = sorted(folder.iterdir())[2]
    one = dcmread(path)
    frame = next(generate_frames(one.PixelData, number_of_frames=1))
    one.PixelData = encapsulate([frame[: len(frame) // 2]])
    one.save_as(path)
    with pytest.raises(VolumeError) as refusal:
        read(folder)
    assert refusal.value.code == "volume-corrupt"


@pytest.mark.parametrize(
    "syntax",
    [
        # retired JPEG
        *(
            f"1.2.840.10008.1.2.4.{number}"
            for number in (52, 53, 54, 55, 56, 58, 59, 60, 61, 62, 63, 64, 65, 66)
        ),
        # Part 2, JPIP, MPEG
        *(f"1.2.840.10008.1.2.4.{number}" for number in (92, 93, 94, 95, 100, 102, 104, 107)),
    ],
)
def test_a_syntax_without_a_decoder_is_called_so(tmp_path: Path, write, syntax: str) -> None:
    one, *others = write.images(write.noise((8, 8, 3)))
    one.file_meta.TransferSyntaxUID = syntax
    one.PixelData = encapsulate([b"\xff\xd8" + bytes(60)])
    one["PixelData"].VR = "OB"
    with pytest.raises(VolumeError) as refusal:
        read(write.save(tmp_path, [one, *others]))
    assert refusal.value.code == "volume-transfer-syntax"


def test_data_that_every_decoder_declines_are_not_called_damaged(
    tmp_path: Path, write, monkeypatch: pytest.MonkeyPatch
) -> None:
    """On a machine for which there is no GDCM, Pillow alone is asked."""
    folder = extended(write, tmp_path / "in", smooth(12), 12)
    (tmp_path / "gdcm.py").write_text("raise ImportError")
    monkeypatch.setenv("PYTHONPATH", str(tmp_path))
    with pytest.raises(VolumeError) as refusal:
        read(folder)
    assert refusal.value.code == "volume-transfer-syntax" and "no decoder" in refusal.value.sentence


@pytest.mark.parametrize(
    ("fault", "lacking"),
    [
        (NotImplementedError("anything"), True),
        (
            RuntimeError(
                "Unable to decode as exceptions were raised by all available plugins:\n  gdcm: GDCM does not "
                "support it\n"
                "  pillow: Pillow does not support it"
            ),
            True,
        ),
        (
            RuntimeError(
                "Unable to decode as exceptions were raised by all available plugins:\n  gdcm: GDCM does not "
                "support it\n"
                "  routed: broken data"
            ),
            False,
        ),
        (
            RuntimeError(
                "Unable to decode as exceptions were raised by all available plugins:\n  gdcm: broken data"
            ),
            False,
        ),
        (ValueError("does not support"), False),
    ],
)
def test_damage_is_what_one_decoder_tried_and_failed_at(fault: Exception, lacking: bool) -> None:
    assert _is_unsupported(fault) == lacking
