"""What is offered is what is read: an image in every transfer syntax that the decoders name, and a refusal in
every other."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from pydicom import dcmread
from pydicom.encaps import encapsulate
from pydicom.uid import (
    HTJ2K,
    UID,
    AllTransferSyntaxes,
    ExplicitVRBigEndian,
    HTJ2KLossless,
    HTJ2KLosslessRPCL,
    JPEGBaseline8Bit,
    JPEGExtended12Bit,
    RLELossless,
)

from fovnet.errors import VolumeError
from fovnet.volume.dicom.decoding import list_decodable_syntaxes
from fovnet.volume.sources.source import read
from tests.volume.dicom.htj2k import frame, wave

SYNTAXES = [UID(syntax) for syntax in list_decodable_syntaxes()]
LOSSY_SHARE = 1 / 40  # of the range, that lossy compression may change
BITS = {JPEGBaseline8Bit: (8,), JPEGExtended12Bit: (12,)}
VARIANTS = [(syntax, bits) for syntax in SYNTAXES for bits in BITS.get(syntax, (8, 12, 16))]


def is_htj2k(syntax: UID) -> bool:
    return syntax in (HTJ2K, HTJ2KLossless, HTJ2KLosslessRPCL)


def saved(write, folder: Path, syntax: UID, bits: int) -> Path:
    """A series of four equal images in a transfer syntax."""
    voxels = np.repeat(wave(bits).T[:, :, None], 4, axis=2)
    images = write.images(voxels, BitsStored=bits, HighBit=bits - 1)
    if syntax == ExplicitVRBigEndian:
        images = [write.swapped(image, image.BitsAllocated) for image in images]
    elif not syntax.is_compressed:
        for image in images:
            image.file_meta.TransferSyntaxUID = syntax
    write.save(folder, images)
    for path in folder.iterdir():
        compress(write, path, syntax, bits)
    return folder


def compress(write, path: Path, syntax: UID, bits: int) -> None:
    if not syntax.is_compressed:
        return
    if syntax == JPEGExtended12Bit:
        import gdcm

        write.compressed(path, syntax, gdcm.JPEGCodec())
    elif syntax == RLELossless or is_htj2k(syntax):
        image = dcmread(path)
        if syntax == RLELossless:
            image.compress(syntax, generate_instance_uid=False)
        else:
            image.PixelData = encapsulate([frame(syntax, bits)])
            image["PixelData"].VR = "OB"
            image.file_meta.TransferSyntaxUID = syntax
        image.save_as(path)
    else:
        write.compressed(path, syntax)


@pytest.mark.parametrize(
    ("syntax", "bits"), VARIANTS, ids=lambda value: getattr(value, "name", str(value))
)
def test_an_image_of_every_syntax_that_is_offered_is_read(
    tmp_path: Path, write, syntax, bits: int
) -> None:
    """To the bit where the frames are lossless."""
    folder = saved(write, tmp_path / "in", syntax, bits)
    assert {dcmread(path).file_meta.TransferSyntaxUID for path in folder.iterdir()} == {syntax}
    seen = read(folder).voxels
    is_lossy = syntax in (JPEGBaseline8Bit, JPEGExtended12Bit, HTJ2K)
    tolerance = 2**bits * LOSSY_SHARE if is_lossy else 0
    assert np.abs(seen - wave(bits).T[:, :, None].astype(float)).max() <= tolerance


@pytest.mark.parametrize(
    "syntax",
    [s for s in AllTransferSyntaxes if s.is_compressed and not s.is_deflated and s not in SYNTAXES],
    ids=lambda syntax: syntax.name,
)
def test_no_other_is_read(tmp_path: Path, write, syntax: UID) -> None:
    image, *others = write.images(write.noise((8, 8, 3)))
    image.file_meta.TransferSyntaxUID = syntax
    image.PixelData = encapsulate([b"\xff\x4f\xff\x51" + bytes(60)])
    image["PixelData"].VR = "OB"
    with pytest.raises(VolumeError) as refusal:
        read(write.save(tmp_path, [image, *others]))
    assert refusal.value.code == "volume-transfer-syntax"
    assert "gdcmconv --raw" in refusal.value.sentence and "dcmdjpeg" not in refusal.value.sentence


def test_the_list_begins_with_what_needs_no_decoder() -> None:
    assert [syntax.is_compressed for syntax in SYNTAXES] == sorted(
        syntax.is_compressed for syntax in SYNTAXES
    )
    assert not any(syntax.is_deflated for syntax in SYNTAXES)
