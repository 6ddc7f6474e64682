"""Plain objects, read without pydicom: the law that pydicom gives the same."""

from __future__ import annotations

import random
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from pydicom.dataset import Dataset
from pydicom.sequence import Sequence
from pydicom.uid import ImplicitVRLittleEndian

from fovnet.errors import VolumeError
from fovnet.volume.dicom import header, pixels
from fovnet.volume.dicom.frames import read_frames
from fovnet.volume.dicom.plain import find_elements
from fovnet.volume.dicom.source import DicomObject


def outcome(path: Path) -> Any:
    """The frames and intensities of an object, or its refusal."""
    try:
        frames = read_frames(DicomObject(path))
        return repr(frames), pixels.read_planes("in", frames).tobytes()
    except VolumeError as refusal:
        return refusal.code, str(refusal)
    except Exception as fault:  # `survey` refuses the object for any
        return type(fault).__name__


def outcome_by_pydicom(path: Path, monkeypatch: pytest.MonkeyPatch) -> Any:
    with monkeypatch.context() as patch:
        patch.setattr(header, "find_elements", lambda *_: None)
        patch.setattr(pixels, "find_elements", lambda *_: None)
        return outcome(path)


def with_sequence(image: Dataset) -> None:
    """Two sequences of undefined length, one within the other."""
    inner, item = Dataset(), Dataset()
    inner.CodeValue = "1"
    item.PurposeOfReferenceCodeSequence = Sequence([inner])
    item["PurposeOfReferenceCodeSequence"].is_undefined_length = True
    image.SourceImageSequence = Sequence([item])
    image["SourceImageSequence"].is_undefined_length = True


def with_private_elements(image: Dataset) -> None:
    image.private_block(0x0043, "GEMS_PARM_01", create=True).add_new(0x39, "IS", [1000000800, 8])
    image.private_block(0x0029, "SOMEBODY", create=True).add_new(0x20, "OB", bytes(100_000))


def with_padding(image: Dataset) -> None:
    image.add_new(0x00280120, "SS", -3)
    image.add_new(0x00280121, "SS", 40)
    image.add_new(0xFFFCFFFC, "OB", bytes(20))


def with_values(**values: Any) -> Callable[[Dataset], None]:
    def change(image: Dataset) -> None:
        for keyword, value in values.items():
            setattr(image, keyword, value)

    return change


CHANGES = {
    "as it is": with_values(),
    "twelve bits": with_values(BitsStored=12, HighBit=11),
    "rescaled": with_values(RescaleSlope="0.3", RescaleIntercept="-7"),
    "inverted": with_values(PhotometricInterpretation="MONOCHROME1"),
    "names": with_values(SpecificCharacterSet="ISO_IR 192", PatientName="Müller^Jörg"),
    "sequences": with_sequence,
    "private elements": with_private_elements,
    "padding": with_padding,
}


def save_changed(folder: Path, write: Any, change: str, is_implicit: bool) -> Path:
    (image,) = write.images(write.noise()[:, :, :1])
    CHANGES[change](image)
    if is_implicit:
        image.file_meta.TransferSyntaxUID = ImplicitVRLittleEndian
    path = folder / "image.dcm"
    image.save_as(path, enforce_file_format=True)
    return path


@pytest.mark.parametrize("is_implicit", [False, True], ids=["explicit", "implicit"])
@pytest.mark.parametrize("change", CHANGES)
def test_a_plain_object_is_read_as_pydicom_reads_it(
    tmp_path: Path, write: Any, monkeypatch: pytest.MonkeyPatch, change: str, is_implicit: bool
) -> None:
    path = save_changed(tmp_path, write, change, is_implicit)
    content = path.read_bytes()
    with path.open("rb") as file:
        assert find_elements(file, content, ()) is not None
    assert outcome(path) == outcome_by_pydicom(path, monkeypatch)


def test_a_damaged_object_is_refused_as_pydicom_refuses_it(
    tmp_path: Path, write: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Bytes changed, left out and put in, and the file cut short, anywhere before the pixels' end."""
    content = save_changed(tmp_path, write, "sequences", is_implicit=False).read_bytes()
    header_end = content.index(b"\xe0\x7f\x10\x00") + 12
    chance = random.Random(1)
    path = tmp_path / "image.dcm"
    for _ in range(300):
        first = chance.randrange(132, header_end)
        end = first + chance.randrange(4)
        damage = chance.choice([b"", bytes(chance.choices(range(256), k=end - first)), b"\0\xff"])
        path.write_bytes((content[:first] + damage + content[end:])[: chance.choice([first, None])])
        assert outcome(path) == outcome_by_pydicom(path, monkeypatch)
