"""The images of a DICOM object: itself, the frames of an enhanced object, or the tiles of a mosaic.

Names and dates of birth are kept only as digests for comparison; descriptions only for classifying
the series, never to be shown.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from functools import cache, lru_cache
from typing import Any

from fovnet.errors import VolumeError
from fovnet.volume.dicom.animals import has_unclear_species, is_animal
from fovnet.volume.dicom.enhanced import make_enhanced_frames
from fovnet.volume.dicom.header import (
    PROTOCOL_KEYWORDS,
    TIME_KEYWORDS,
    Frame,
    ObjectFacts,
    as_real_number,
    as_text,
    as_values,
    as_vector,
    as_whole_number,
    make_frame,
    make_lookup,
    read_dataset,
    without_warnings,
)
from fovnet.volume.dicom.mosaic import is_grid, is_mosaic, make_grid_frames, make_mosaic_frames
from fovnet.volume.dicom.people import digest_birthday, digest_name, is_new_year
from fovnet.volume.dicom.plain import PRIVATE_BIT, Element, PlainHeader, convert_value, tag_of
from fovnet.volume.dicom.source import DicomObject

MR_IMAGE_CLASSES = (
    "1.2.840.10008.5.1.4.1.1.4",
    "1.2.840.10008.5.1.4.1.1.4.1",
    "1.2.840.10008.5.1.4.1.1.4.4",
)
# fmt: off
# attributes in which the images of a series differ: `_object_facts` asks for none, but times and,
# of what may be a screenshot, the position
IMAGE_KEYWORDS = (
    "SOPInstanceUID", "InstanceNumber", "ImagePositionPatient", "AcquisitionDateTime",
    "AcquisitionTime", "ContentTime", "RescaleSlope", "RescaleIntercept", "EchoTime", "TriggerTime",
    "AcquisitionNumber",
)
# fmt: on
MAX_FRAMES = 1_000_000  # more than any object has; a larger number is damage
MANUFACTURER_BY_WORD = {
    "SIEMENS": "Siemens",
    "PHILIPS": "Philips",
    "GE": "GE",
    "GENERAL": "GE",
    "TOSHIBA": "Toshiba",
    "CANON": "Canon",
    "HITACHI": "Hitachi",
    "FUJIFILM": "Fujifilm",
    "UIH": "United Imaging",
    "UNITED": "United Imaging",
    "BRUKER": "Bruker",
    "ESAOTE": "Esaote",
}
"""The first word of a manufacturer's name, in capitals, to its name in tables."""


def read_frames(dicom_object: DicomObject) -> list[Frame]:
    """The images of an object; a single one of 0 × 0 pixels for an object without pixels.  Raises
    VolumeError."""
    return frames_of_dataset(dicom_object, read_dataset(dicom_object, with_pixels=False))


def frames_of_dataset(dicom_object: DicomObject, dataset: Any) -> list[Frame]:
    """The images in the dataset of an object, as `read_frames`."""
    with without_warnings():
        get = make_lookup(dataset)
        object_facts = _object_facts_of(dataset, get)
        if not object_facts.has_pixels and object_facts.sop_class in MR_IMAGE_CLASSES:
            raise VolumeError(
                "volume-truncated",
                f"{dicom_object}: an MR image without Rows and Columns; its header is cut short. Copy it "
                "again.",
            )
        frame_count = as_whole_number(get("NumberOfFrames"))
        if as_text(get("NumberOfFrames")) and not 1 <= frame_count <= MAX_FRAMES:
            raise VolumeError(
                "volume-corrupt",
                f"{dicom_object}: {frame_count} frames are impossible. Export it again.",
            )
        if dataset.get("PerFrameFunctionalGroupsSequence") and object_facts.has_pixels:
            return make_enhanced_frames(dicom_object, dataset, object_facts)
        frame_number = 0  # the object is one image
        if frame_count > 1:
            frame_number = 1
        frame = make_frame(dicom_object, object_facts, get, frame_number)
        if is_mosaic(frame):
            return make_mosaic_frames(frame, dataset)
        if is_grid(frame, dataset):
            return make_grid_frames(frame, dataset)
        if frame_count > 1 and object_facts.modality == "MR" and not object_facts.is_captured:
            raise VolumeError(
                "volume-geometry",
                f"{dicom_object}: {frame_count} frames without functional groups that place each of them. "
                "Export it as an enhanced or as a classic series.",
            )
        return [frame]


def _object_facts_of(dataset: Any, get: Callable[[str], Any]) -> ObjectFacts:
    """The attributes of an object as a whole; of plain headers that differ in IMAGE_KEYWORDS alone, they
    are made once."""
    if not isinstance(dataset, PlainHeader) or "ConversionType" in dataset:
        return _object_facts(get)
    image_tags = _list_image_tags()
    shared_elements = tuple(
        (tag, element)
        for tag, element in dataset.elements.items()
        if not (tag & PRIVATE_BIT or tag in image_tags)
    )
    facts = _shared_facts(shared_elements, dataset.is_implicit)
    acquisition_times = _acquisition_times(get)
    if facts.acquisition_times == acquisition_times:
        return facts
    return replace(facts, acquisition_times=acquisition_times)


@cache
def _list_image_tags() -> frozenset[int]:
    return frozenset(map(tag_of, IMAGE_KEYWORDS))


@lru_cache(maxsize=64)
def _shared_facts(elements: tuple[tuple[int, Element], ...], is_implicit: bool) -> ObjectFacts:
    return _object_facts(make_lookup(PlainHeader(dict(elements), is_implicit)))


def forget_names() -> None:
    """Forgets the values in headers that were kept for the images to follow, names and birthdays among
    them."""
    _shared_facts.cache_clear()
    convert_value.cache_clear()


def _acquisition_times(get: Callable[[str], Any]) -> tuple[str, ...]:
    return tuple(as_text(get(keyword)) for keyword in TIME_KEYWORDS)


def _object_facts(get: Callable[[str], Any]) -> ObjectFacts:
    """The attributes of an object as a whole, from `get`, a look-up by keyword."""
    samples_per_pixel = as_whole_number(get("SamplesPerPixel"))
    photometric = as_text(get("PhotometricInterpretation")).upper()
    is_grey = photometric in ("MONOCHROME1", "MONOCHROME2", "") and samples_per_pixel in (0, 1)
    colour_interpretation = ""
    if not is_grey:
        colour_interpretation = photometric or "several samples"
    description = " ".join(
        as_text(get(keyword)) for keyword in ("SeriesDescription", "ProtocolName", "SequenceName")
    )
    manufacturer_word = (as_text(get("Manufacturer")).upper().split() or [""])[0]
    dates_by_preference = [
        as_text(get(keyword)) for keyword in ("StudyDate", "SeriesDate", "AcquisitionDate")
    ]
    birth_date = as_text(get("PatientBirthDate"))
    return ObjectFacts(
        patient_id=as_text(get("PatientID")),
        study_uid=as_text(get("StudyInstanceUID")),
        series_uid=as_text(get("SeriesInstanceUID")),
        series_number=as_text(get("SeriesNumber")),
        modality=as_text(get("Modality")).upper(),
        sop_class=as_text(get("SOPClassUID")),
        has_pixels=get("Rows") is not None or get("Columns") is not None,
        colour_interpretation=colour_interpretation,
        has_burned_in_text=as_text(get("BurnedInAnnotation")).upper() == "YES",
        is_captured=_is_captured(get),
        description=description.upper(),
        manufacturer=MANUFACTURER_BY_WORD.get(manufacturer_word, ""),
        field_strength_tesla=as_real_number(get("MagneticFieldStrength")),
        body_part=as_text(get("BodyPartExamined")),
        birthday_digest=digest_birthday(birth_date),
        name_digests=digest_name(as_text(get("PatientName"))),
        protocol_values=tuple(
            " ".join(map(as_text, as_values(get(keyword)))) for keyword in PROTOCOL_KEYWORDS
        ),
        acquisition_times=_acquisition_times(get),
        is_animal=is_animal(get),
        sex=as_text(get("PatientSex")).upper(),
        age=as_text(get("PatientAge")),
        study_date=next(filter(None, dates_by_preference), ""),
        has_unclear_species=has_unclear_species(get),
        is_born_on_new_year=is_new_year(birth_date),
    )


def _is_captured(get: Callable[[str], Any]) -> bool:
    """Whether it is a picture of a screen, paper or film by its Conversion Type.

    Some archives leave that attribute in MR images, which have no such module: those have positions
    in the scanner, and no writing burned in.
    """
    if not as_text(get("ConversionType")):
        return False
    if as_text(get("SOPClassUID")) not in MR_IMAGE_CLASSES:
        return True
    has_position = bool(as_vector(get("ImagePositionPatient"), 3))
    if not has_position and get("PerFrameFunctionalGroupsSequence") is None:
        return True
    return as_text(get("BurnedInAnnotation")).upper() == "YES"
