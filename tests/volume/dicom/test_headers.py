"""Headers as archives and anonymisers leave them: other types of values, animals, conversion types, depth."""

from __future__ import annotations

import inspect
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from pydicom import dcmread
from pydicom.dataset import Dataset
from pydicom.sequence import Sequence

from fovnet.errors import VolumeError
from fovnet.volume.dicom.frames import frames_of_dataset, read_frames
from fovnet.volume.dicom.series import group_into_volumes
from fovnet.volume.dicom.source import DicomObject
from fovnet.volume.dicom.survey import survey
from fovnet.volume.sources.discovery import find_volumes
from fovnet.volume.sources.source import read

# VRs with a length of two bytes
SHORT = (
    "AE",
    "AS",
    "CS",
    "DA",
    "DS",
    "DT",
    "IS",
    "LO",
    "LT",
    "PN",
    "SH",
    "ST",
    "TM",
    "UI",
    "US",
    "SS",
    "UL",
    "FL",
    "FD",
)


def kind_and_notes(images: list[Any]) -> tuple[str, tuple[str, ...]]:
    """Of the only series that these images are."""
    frames = [
        frame
        for number, image in enumerate(images)
        for frame in frames_of_dataset(DicomObject(Path("in") / f"{number:03}"), image)
    ]
    (series,) = group_into_volumes(frames)
    return series.aside_kind, series.notes


# Values under another VR

TEXT_VRS, BYTE_VRS = ("UT", "LT", "ST", "UC", "LO", "SH", "CS"), ("UN", "OB", "OW")
AS_TEXT = {
    "PixelSpacing": (0x0028, 0x0030),
    "ImagePositionPatient": (0x0020, 0x0032),
    "ImageOrientationPatient": (0x0020, 0x0037),
    "RescaleSlope": (0x0028, 0x1053),
    "RescaleIntercept": (0x0028, 0x1052),
    "InstanceNumber": (0x0020, 0x0013),
    "SeriesNumber": (0x0020, 0x0011),
    "EchoTime": (0x0018, 0x0081),
    "MagneticFieldStrength": (0x0018, 0x0087),
    "ImageType": (0x0008, 0x0008),
}
AS_NUMBERS = {
    "Rows": (0x0028, 0x0010),
    "Columns": (0x0028, 0x0011),
    "BitsAllocated": (0x0028, 0x0100),
    "BitsStored": (0x0028, 0x0101),
    "HighBit": (0x0028, 0x0102),
    "PixelRepresentation": (0x0028, 0x0103),
    "SamplesPerPixel": (0x0028, 0x0002),
}


def retyped(raw: bytes, tag: tuple[int, int], vr: str, value: bytes | None = None) -> bytes:
    """A file of explicit little endian whose element has another VR, and perhaps another value."""
    start = raw.index(tag[0].to_bytes(2, "little") + tag[1].to_bytes(2, "little"), 132)
    assert raw[start + 4 : start + 6].decode() in SHORT
    length = int.from_bytes(raw[start + 6 : start + 8], "little")
    own = raw[start + 8 : start + 8 + length] if value is None else value
    size = (
        len(own).to_bytes(2, "little") if vr in SHORT else bytes(2) + len(own).to_bytes(4, "little")
    )
    return raw[: start + 4] + vr.encode() + size + own + raw[start + 8 + length :]


@pytest.fixture(scope="module")
def stack_bytes(tmp_path_factory, write) -> list[bytes]:
    more = {
        "RescaleSlope": "2",
        "RescaleIntercept": "-3",
        "EchoTime": "4.5",
        "MagneticFieldStrength": "1.5",
    }
    folder = write.save(
        tmp_path_factory.mktemp("plain"), write.images(write.noise((6, 7, 3)), **more)
    )
    return [path.read_bytes() for path in sorted(folder.iterdir())]


def files(folder: Path, contents: list[bytes]) -> Path:
    folder.mkdir(exist_ok=True)
    for number, content in enumerate(contents):
        (folder / f"{number}.dcm").write_bytes(content)
    return folder


def facts_of(folder: Path) -> list[Any]:
    frames = [read_frames(DicomObject(path))[0] for path in sorted(folder.iterdir())]
    return [
        (
            frame.rows,
            frame.columns,
            frame.orientation,
            frame.position_mm,
            frame.spacing_mm,
            frame.image_type,
            frame.doubtful_attributes,
            frame.image_number,
            frame.slope,
            frame.intercept,
            frame.facts,
        )
        for frame in frames
    ]


@pytest.mark.parametrize("keyword", AS_TEXT)
def test_text_under_another_vr_is_read_as_under_its_own(tmp_path, stack_bytes, keyword):
    plain = files(tmp_path / "plain", stack_bytes)
    wanted = read(plain)
    for vr in (*TEXT_VRS, *BYTE_VRS):
        folder = files(tmp_path / vr, [retyped(raw, AS_TEXT[keyword], vr) for raw in stack_bytes])
        assert facts_of(folder) == facts_of(plain), vr
    volume = read(folder)
    assert np.array_equal(volume.voxels, wanted.voxels)
    assert np.array_equal(volume.vox_to_ras, wanted.vox_to_ras)


@pytest.mark.parametrize("keyword", AS_NUMBERS)
def test_numbers_under_another_vr_are_read_as_under_their_own(tmp_path, stack_bytes, keyword):
    plain = files(tmp_path / "plain", stack_bytes)
    wanted = read(plain)
    number = getattr(dcmread(plain / "0.dcm"), keyword)
    written = f"{number} "[: 2 * ((len(str(number)) + 1) // 2)].encode()
    for vr in (*BYTE_VRS, "UT", "LO"):
        value = None if vr in BYTE_VRS else written
        contents = [retyped(raw, AS_NUMBERS[keyword], vr, value) for raw in stack_bytes]
        folder = files(tmp_path / vr, contents)
        assert facts_of(folder) == facts_of(plain), vr
        assert np.array_equal(read(folder).voxels, wanted.voxels), vr


def test_what_is_no_number_under_another_vr_still_counts_as_missing(tmp_path, stack_bytes):
    spoilt = [retyped(raw, AS_TEXT["PixelSpacing"], "UT", b"wide\\wider ") for raw in stack_bytes]
    with pytest.raises(VolumeError, match="no PixelSpacing") as caught:
        read(files(tmp_path / "in", spoilt))
    assert caught.value.code == "volume-geometry"


# Animals


def coded(value: str, meaning: str) -> Sequence:
    code = Dataset()
    code.CodeValue, code.CodingSchemeDesignator, code.CodeMeaning = value, "SCT", meaning
    return Sequence([code])


ANIMALS: dict[str, dict[str, Any]] = {
    "quadruped": {"AnatomicalOrientationType": "QUADRUPED"},
    "quadruped, species unknown": {
        "AnatomicalOrientationType": "QUADRUPED",
        "PatientSpeciesDescription": "UNKNOWN",
    },
    "quadruped, called human": {
        "AnatomicalOrientationType": "QUADRUPED",
        "PatientSpeciesDescription": "Human",
    },
    "species": {"PatientSpeciesDescription": "Canine"},
    "species in Latin": {"PatientSpeciesDescription": "Canis lupus familiaris"},
    "species in German": {"PatientSpeciesDescription": "HUND"},
    "mouse": {"PatientSpeciesDescription": "mouse"},
    "biped": {"AnatomicalOrientationType": "BIPED", "PatientSpeciesDescription": "Macaca mulatta"},
    "code of the species": {
        "PatientSpeciesCodeSequence": coded("448771007", "Canis lupus subspecies familiaris")
    },
    "code without a meaning, description": {
        "PatientSpeciesCodeSequence": coded("448169003", ""),
        "PatientSpeciesDescription": "Feline",
    },
    "breed": {"PatientBreedDescription": "Labrador Retriever"},
    "code of the breed": {"PatientBreedCodeSequence": coded("42250008", "Beagle")},
    "not human": {"PatientSpeciesDescription": "Non-human primate"},
    "humanized": {"PatientSpeciesDescription": "Humanized mouse"},
    "code alone": {"PatientSpeciesCodeSequence": coded("448771007", "")},
    "old code alone": {"PatientSpeciesCodeSequence": coded("L-80700", "")},
    "strain": {"StrainDescription": "C57BL/6J"},
    "breed of rats": {"PatientBreedDescription": "Wistar"},
    "called human, of a breed": {
        "PatientSpeciesDescription": "Human",
        "PatientBreedDescription": "Beagle",
    },
    "breed of an unknown species": {
        "PatientSpeciesDescription": "",
        "PatientBreedDescription": "Arabian",
    },
}
PEOPLE: dict[str, dict[str, Any]] = {
    "nothing said": {},
    "biped": {"AnatomicalOrientationType": "BIPED"},
    "human": {"PatientSpeciesDescription": "HUMAN"},
    "homo sapiens": {"PatientSpeciesDescription": "Homo sapiens"},
    "code": {"PatientSpeciesCodeSequence": coded("337915000", "Homo sapiens")},
    "old code": {"PatientSpeciesCodeSequence": coded("L-85B00", "homo sapiens")},
    "code, and a strange word": {
        "PatientSpeciesCodeSequence": coded("337915000", ""),
        "PatientSpeciesDescription": "adult",
    },
    "unknown": {"PatientSpeciesDescription": "Unknown"},
    "code of the unknown": {"PatientSpeciesCodeSequence": coded("261665006", "Unknown")},
    "in Japanese": {"PatientSpeciesDescription": "ヒト", "SpecificCharacterSet": "ISO_IR 192"},
    "in Spanish": {"PatientSpeciesDescription": "Hombre"},
    "an age": {"PatientSpeciesDescription": "Adult"},
    "an age of a species": {"PatientSpeciesDescription": "Human neonate"},
    "people": {"PatientBreedDescription": "Caucasian"},
    "mixed": {"PatientBreedDescription": "Mixed"},
    "phantom": {"PatientSpeciesDescription": "Phantom"},
    "n/a": {"PatientSpeciesDescription": "N/A", "PatientBreedDescription": "n/a"},
    "anonymised": {"PatientSpeciesDescription": "ANONYMIZED"},
    "empty": {"PatientSpeciesDescription": "", "PatientBreedDescription": ""},
}


@pytest.mark.parametrize("given", ANIMALS.values(), ids=ANIMALS)
def test_an_animal_is_set_aside(write, given):
    kind, notes = kind_and_notes(write.images(write.noise((6, 7, 4)), **given))
    assert kind == "animal"
    assert notes == ("an animal, by its header: the regions are those of people",)


@pytest.mark.parametrize("given", PEOPLE.values(), ids=PEOPLE)
def test_a_person_is_no_animal(write, given):
    assert kind_and_notes(write.images(write.noise((6, 7, 4)), **given)) == ("", ())


@pytest.mark.parametrize("word", ["Mensa", "Inimene", "Homo erectus", "Category 3"])
def test_a_species_that_is_on_no_list_is_a_note(write, word):
    kind, notes = kind_and_notes(
        write.images(write.noise((6, 7, 4)), PatientSpeciesDescription=word)
    )
    assert kind == ""
    assert notes == (
        "its header names a species or breed that is not known: the regions are those of people",
    )


def test_an_animal_is_refused_unless_it_is_asked_for(tmp_path, write):
    write.save(tmp_path, write.images(write.noise(), AnatomicalOrientationType="QUADRUPED"))
    with pytest.raises(VolumeError, match="--include animal") as caught:
        read(tmp_path)
    assert caught.value.code == "volume-animal"
    (path,) = find_volumes([tmp_path], ["animal"]).volume_paths
    assert read(path).notes == ("an animal, by its header: the regions are those of people",)


# Conversion type

CONVERSIONS = ("DV", "DI", "DF", "WSD", "SD", "SI", "DRW", "SYN")


@pytest.mark.parametrize("conversion", CONVERSIONS)
def test_an_mr_image_with_a_place_is_no_screenshot_by_its_conversion_type(write, conversion):
    images = write.images(write.noise((6, 7, 4)), ConversionType=conversion)
    assert kind_and_notes(images)[0] == ""
    image_type = ["DERIVED", "SECONDARY"]
    derived = write.images(write.noise((6, 7, 4)), ConversionType=conversion, ImageType=image_type)
    assert kind_and_notes(derived)[0] == ""


CAPTURES: dict[str, dict[str, Any]] = {
    "without a place": {"ImagePositionPatient": []},
    "with writing burned in": {"BurnedInAnnotation": "YES"},
    "of the class of captures": {"SOPClassUID": "1.2.840.10008.5.1.4.1.1.7"},
    "of another class": {"SOPClassUID": "1.2.840.10008.5.1.4.1.1.7.2"},
    "screen save": {"ImageType": ["DERIVED", "SECONDARY", "SCREEN SAVE"]},
}


@pytest.mark.parametrize("given", CAPTURES.values(), ids=CAPTURES)
def test_a_picture_of_a_screen_is_one(write, given):
    images = write.images(write.noise((6, 7, 1)), ConversionType="WSD", **given)
    assert kind_and_notes(images)[0] == "screenshot"


def test_an_enhanced_object_with_a_conversion_type_is_read(write):
    places = [write.geometry(write.AFFINE, k) for k in range(4)]
    image = write.enhanced(np.zeros((4, 7, 6), np.int16), places, ConversionType="WSD")
    assert kind_and_notes([image])[0] == ""


# Copies


@pytest.mark.parametrize("name", ["aaa.dcm", "zzz.dcm"], ids=["sorts first", "sorts last"])
@pytest.mark.parametrize("share", [0.5, 0.9, 0.99])
def test_a_cut_copy_is_not_called_identical(tmp_path, write, name, share):
    folder = write.save(tmp_path / "in", write.images(write.noise()))
    whole = (folder / "im004.dcm").read_bytes()
    (folder / name).write_bytes(whole[: int(share * len(whole))])
    assert read(folder).notes == ("1 doubled image left out: cut short",)
    (folder / "copy.dcm").write_bytes(whole)
    assert read(folder).notes == (
        "1 doubled image left out: identical",
        "1 doubled image left out: cut short",
    )
    assert np.array_equal(read(folder).voxels, write.noise())


# Nested sequences


def nested(levels: int) -> Sequence:
    """Sequences of undefined length within each other."""
    sequence = Sequence([Dataset()])
    for _ in range(levels):
        item = Dataset()
        item.ReferencedSeriesSequence = sequence
        item["ReferencedSeriesSequence"].is_undefined_length = True
        sequence = Sequence([item])
    return sequence


def test_a_header_that_nests_too_deeply_is_called_so(tmp_path, write):
    """Forty levels, which every program reads, with little of Python's stack left for them."""
    images = write.images(write.noise())
    for image in images:
        image.ReferencedStudySequence = nested(40)
        image["ReferencedStudySequence"].is_undefined_length = True
    write.save(tmp_path, images)
    assert np.array_equal(read(tmp_path).voxels, write.noise())
    before = sys.getrecursionlimit()
    sys.setrecursionlimit(len(inspect.stack()) + 75)
    try:
        (unread, *_) = survey(tmp_path / "im000.dcm").unread_objects
    finally:
        sys.setrecursionlimit(before)
    assert unread.fault.code == "volume-nested"
    assert "sequences within sequences" in unread.fault.sentence
