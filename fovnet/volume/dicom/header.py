"""The header of a DICOM object, as one record per image, read without the pixels.

Every image, be it a file of its own, a frame of an enhanced object or a tile of a mosaic, becomes
one Frame; later steps treat them alike. Source: DICOM PS3.3 (2024), C.7.6.2 image plane, C.7.6.16
functional groups, C.8.13 enhanced MR.
"""

from __future__ import annotations

import functools
import io
import logging
import math
import struct
import warnings
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

from fovnet.errors import VolumeError
from fovnet.volume.dicom.plain import OPENING_BYTES, PlainHeader, find_elements, tag_of
from fovnet.volume.dicom.source import (
    DicomObject,
    open_object,
    refuse_deflate_bomb,
    refuse_dicomdir,
)
from fovnet.volume.dicom.value_types import restore_types
from fovnet.volume.unpacking import PREAMBLE_BYTES, has_preamble

Vector = tuple[float, ...]

# fmt: off
OBJECT_KEYWORDS = (
    "SOPClassUID", "SOPInstanceUID", "Modality", "PatientID", "StudyInstanceUID",
    "SeriesInstanceUID", "SeriesNumber", "InstanceNumber", "ImageType", "SeriesDescription",
    "ProtocolName", "SequenceName", "Rows", "Columns", "NumberOfFrames", "SamplesPerPixel",
    "PhotometricInterpretation", "BitsAllocated", "BurnedInAnnotation", "ConversionType",
    "ComplexImageComponent", "SharedFunctionalGroupsSequence", "PerFrameFunctionalGroupsSequence",
    "PatientPosition", "SpacingBetweenSlices", "Manufacturer", "MagneticFieldStrength",
    "BodyPartExamined", "PatientName", "PatientBirthDate", "PatientSex", "PatientAge", "StudyDate",
    "SeriesDate", "AnatomicalOrientationType", "PatientSpeciesDescription",
    "PatientSpeciesCodeSequence", "PatientBreedDescription", "PatientBreedCodeSequence",
)
PROTOCOL_KEYWORDS = (
    "FrameOfReferenceUID", "RepetitionTime", "ScanningSequence", "SequenceVariant",
    "ContrastBolusAgent",
)
TIME_KEYWORDS = (
    "AcquisitionDateTime", "AcquisitionDate", "AcquisitionTime", "SeriesTime", "ContentTime",
)
GEOMETRY_KEYWORDS = (
    "ImagePositionPatient", "ImageOrientationPatient", "PixelSpacing", "RescaleSlope",
    "RescaleIntercept",
)
# fmt: on
VOLUME_ATTRIBUTES = (  # images that differ in one of these are never in one volume
    ("image type", "ImageType"),
    ("component", "ComplexImageComponent"),
    ("echo", "EchoNumbers"),
    ("stack", "StackID"),
    ("temporal position", "TemporalPositionIdentifier"),
    ("b-value", "DiffusionBValue"),
)
# compared in turn if two images lie at one position; slices of one 2-D volume may differ in some
DOUBTFUL_ATTRIBUTES = (
    ("echo time", "EchoTime"),
    ("acquisition number", "AcquisitionNumber"),
    ("trigger time", "TriggerTime"),
    ("inversion time", "InversionTime"),
    ("flip angle", "FlipAngle"),
    ("gradient direction", "DiffusionGradientOrientation"),
    ("acquisition time", "AcquisitionTime"),
    ("content time", "ContentTime"),
    ("coil", "ReceiveCoilName"),
)
# vendors' tags from before the standard had them: b-value (Siemens, GE, Philips), component (GE),
# mosaics
PRIVATE_ELEMENTS = {
    "siemens_b": (0x0019, 0x0C, "SIEMENS MR HEADER"),
    "ge_b": (0x0043, 0x39, "GEMS_PARM_01"),
    "philips_b": (0x2001, 0x03, "PHILIPS IMAGING DD 001"),
    "ge_component": (0x0043, 0x2F, "GEMS_PARM_01"),
    "csa": (0x0029, 0x10, "SIEMENS CSA HEADER"),
    "uih_slices": (0x0065, 0x51, "IMAGE PRIVATE HEADER"),
}
"""(group, element in its block, private creator of the block): each file assigns the block, of 0x10
to 0x1F (DICOM PS3.5, 7.8.1)."""
PRIVATE_BLOCKS = range(0x10, 0x20)  # the standard allows 240; scanners and archives use a few
MAX_SHORT_BYTES = 64  # bytes of an attribute that names a volume
# struct formats of binary elements that are stored as raw bytes (UN)
STRUCT_FORMATS = {"philips_b": "f", "ge_component": "h"}
GE_COMPONENTS = ("MAGNITUDE", "PHASE", "REAL", "IMAGINARY")
COMPONENT_BY_TYPE = {
    "P": "PHASE",
    "PHASE": "PHASE",
    "PHASE MAP": "PHASE",
    "R": "REAL",
    "REAL": "REAL",
    "I": "IMAGINARY",
    "IMAGINARY": "IMAGINARY",
}


@dataclass(frozen=True, slots=True)
class ObjectFacts:
    """Attributes of a DICOM object as a whole: ids and kind.

    description           words of the series and its protocol in upper case; never shown
    manufacturer          one of MANUFACTURER_BY_WORD, since free text may contain anything; empty
                          for others
    field_strength_tesla  tesla; None: missing
    body_part             as written; `fovnet.volume.collection.body_part` makes it a known term
                          before it is shown
    protocol_values       values of PROTOCOL_KEYWORDS, for comparison only
    acquisition_times     values of TIME_KEYWORDS, for comparison only
    birthday_digest       a digest of the patient's birthday; empty: missing
    name_digests          a digest of each word of the patient's name; empty: missing
    is_animal             whether the patient is one, by its header
    sex                   as written, for comparison only
    age                   as written, for comparison only
    study_date            as written, for comparison only
    is_born_on_new_year   whether the birthday is a 1 January
    has_unclear_species   whether the header names a species, breed or strain that is not known
    """

    patient_id: str = ""
    study_uid: str = ""
    series_uid: str = ""
    series_number: str = ""
    modality: str = ""
    sop_class: str = ""
    has_pixels: bool = True
    colour_interpretation: str = ""
    has_burned_in_text: bool = False
    is_captured: bool = False
    description: str = ""
    manufacturer: str = ""
    field_strength_tesla: float | None = None
    body_part: str = ""
    birthday_digest: str = ""
    name_digests: frozenset[str] = frozenset()
    protocol_values: tuple[str, ...] = ()
    acquisition_times: tuple[str, ...] = ()
    is_animal: bool = False
    sex: str = ""
    age: str = ""
    study_date: str = ""
    has_unclear_species: bool = False
    is_born_on_new_year: bool = False


@dataclass(frozen=True, slots=True)
class Frame:
    """One image of `rows` × `columns` pixels and its position, in DICOM's coordinates (x left,
    y back, z head; mm).

    frame_number         of the frame in its object, from 1; 0 if the object is a single image
    tile_origin          row and column of its first pixel in a mosaic; else None
    orientation          (6,) direction of increasing column, then of increasing row
    position_mm          (3,) centre of the first pixel
    spacing_mm           (2,) between rows, between columns
    volume_attributes    (name, value) of VOLUME_ATTRIBUTES, which always distinguish volumes of a
                         series
    doubtful_attributes  (name, value) of DOUBTFUL_ATTRIBUTES, used if several images lie at one
                         position
    The three of the geometry are None where the header gives no valid numbers.
    """

    dicom_object: DicomObject
    facts: ObjectFacts
    sop_uid: str
    frame_number: int
    rows: int
    columns: int
    orientation: Vector | None
    position_mm: Vector | None
    spacing_mm: Vector | None
    image_type: tuple[str, ...]
    volume_attributes: tuple[tuple[str, str], ...]
    doubtful_attributes: tuple[tuple[str, str], ...]
    image_number: int = 0
    slope: float = 1.0
    intercept: float = 0.0
    tile_origin: tuple[int, int] | None = None
    notes: tuple[str, ...] = ()


@contextmanager
def without_warnings() -> Iterator[None]:
    """Suppresses pydicom's warnings about invalid values: archives contain thousands, and those
    that matter are checked here."""
    import pydicom.config

    pydicom_settings = pydicom.config.settings
    pydicom_logger = logging.getLogger("pydicom")
    earlier_mode = pydicom_settings.reading_validation_mode
    earlier_level = pydicom_logger.level
    if (earlier_mode, earlier_level) == (pydicom.config.IGNORE, logging.CRITICAL):
        yield  # within another
        return
    pydicom_settings.reading_validation_mode = pydicom.config.IGNORE
    pydicom_logger.setLevel(logging.CRITICAL)
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            yield
    finally:
        pydicom_settings.reading_validation_mode = earlier_mode
        pydicom_logger.setLevel(earlier_level)


def read_whole_header(dicom_object: DicomObject) -> Any:
    """All attributes of an object except its pixels, including names and dates: for DICOM output
    that stays in the object's own archive.

    Raises VolumeError as `read_dataset`.
    """
    return read_dataset(dicom_object, with_pixels=False, whole_header=True)


def read_short_values(dicom_object: DicomObject) -> dict[int, bytes]:
    """The bytes of every element of an object, by tag, private ones included and long ones not;
    none if it cannot be read any more."""
    try:
        tags_and_values = [
            (element.tag, element.value) for element in read_whole_header(dicom_object).values()
        ]
    except (VolumeError, OSError):
        return {}
    return {
        int(tag): value
        for tag, value in tags_and_values
        if isinstance(value, bytes) and len(value) <= MAX_SHORT_BYTES
    }


def read_dataset(
    dicom_object: DicomObject,
    *,
    with_pixels: bool,
    whole_header: bool = False,
    content: bytes | None = None,
) -> Any:
    """The pydicom dataset of an object, or with the attributes that fovnet uses alone, unless
    `with_pixels` or `whole_header` asks for all of them, the PlainHeader of a plain one.

    content  its bytes, if they are read already

    Raises VolumeError if it is not a DICOM image, or is damaged.
    """
    import pydicom

    stream = (
        open_object(dicom_object, whole=with_pixels) if content is None else io.BytesIO(content)
    )
    with without_warnings(), stream as file:
        refuse_dicomdir(dicom_object, file)
        tags = None  # all of them
        if not with_pixels and not whole_header:
            tags = _list_tags_to_read()
            plain_header = find_elements(file, file.read(OPENING_BYTES), tags)
            file.seek(0)
            if plain_header and ("SOPClassUID" in plain_header or "Rows" in plain_header):
                return plain_header
        refuse_deflate_bomb(dicom_object, file)
        force = not has_preamble(file.read(PREAMBLE_BYTES))
        file.seek(0)
        try:
            dataset = pydicom.dcmread(
                file,
                stop_before_pixels=not with_pixels,
                specific_tags=list(tags) if tags else None,
                force=force,
            )
            restore_types(dataset)
        except Exception as fault:  # damaged data: pydicom may raise any exception
            if isinstance(fault, OSError) and fault.errno is not None:
                raise
            raise _refusal_of_damage(dicom_object, fault) from fault
    if "SOPClassUID" in dataset or "Rows" in dataset:
        return dataset
    # its header was read before: pydicom returns an empty dataset if the pixel data are cut short
    if with_pixels:
        raise _refusal_of_damage(dicom_object, EOFError())
    raise VolumeError(
        "volume-format",
        f"{dicom_object}: not a DICOM image, or cut short; it has neither SOPClassUID nor Rows. Copy it "
        "again, or name the image itself.",
    )


def _refusal_of_damage(dicom_object: DicomObject, fault: Exception) -> VolumeError:
    """Why pydicom could not read an object."""
    from pydicom.errors import InvalidDicomError

    match fault:
        case InvalidDicomError():
            sentence = f"{dicom_object}: not a DICOM file. Name the image itself."
            return VolumeError("volume-format", sentence)
        case EOFError():
            sentence = f"{dicom_object}: the file ends too early. Copy it again."
            return VolumeError("volume-truncated", sentence)
        case RecursionError():  # pydicom descends by three calls a level, Python to 1,000
            return VolumeError(
                "volume-nested",
                f"{dicom_object}: sequences within sequences, some hundred levels deep; headers of "
                "scanners have fewer than ten. Remove the sequence, a private one most likely "
                "(dcmodify -ea TAG).",
            )
    sentence = f"{dicom_object}: damaged DICOM ({type(fault).__name__}). Export it again."
    return VolumeError("volume-corrupt", sentence)


def make_frame(
    dicom_object: DicomObject, facts: ObjectFacts, get: Callable[[str], Any], number: int
) -> Frame:
    """The Frame of an image, from `get`, a look-up of its attributes by keyword.

    facts   of its object
    number  of the frame in its object, from 1; 0 if the object is a single image
    """
    image_type = tuple(
        as_text(type_part).upper() for type_part in as_values(get("FrameType") or get("ImageType"))
    )
    value_by_keyword = {
        "ComplexImageComponent": find_component(get, image_type),
        "DiffusionBValue": _find_b_value(get),
        "ImageType": "\\".join(image_type),
    }

    def value_of(keyword: str) -> str:
        """The value of an attribute, for comparison."""
        if keyword in value_by_keyword:
            return value_by_keyword[keyword]
        return _comparable_value(get(keyword))

    return Frame(
        dicom_object=dicom_object,
        facts=facts,
        sop_uid=as_text(get("SOPInstanceUID")),
        frame_number=number,
        rows=as_whole_number(get("Rows")),
        columns=as_whole_number(get("Columns")),
        orientation=as_vector(get("ImageOrientationPatient"), 6),
        position_mm=as_vector(get("ImagePositionPatient"), 3),
        spacing_mm=as_vector(get("PixelSpacing"), 2),
        image_type=image_type,
        volume_attributes=tuple(
            (attribute, value_of(keyword)) for attribute, keyword in VOLUME_ATTRIBUTES
        ),
        doubtful_attributes=tuple(
            (attribute, value_of(keyword)) for attribute, keyword in DOUBTFUL_ATTRIBUTES
        ),
        image_number=as_whole_number(get("InstanceNumber")),
        slope=_as_scale_number(get("RescaleSlope"), 1.0),
        intercept=_as_scale_number(get("RescaleIntercept"), 0.0),
    )


def find_component(get: Callable[[str], Any], image_type: tuple[str, ...]) -> str:
    """MAGNITUDE, PHASE, REAL or IMAGINARY, from the standard's attribute, GE's private one, or the
    image type."""
    component = as_text(get("ComplexImageComponent")).upper()
    if component in GE_COMPONENTS:
        return component
    component_number = as_whole_number(get("ge_component"))
    if as_text(get("ge_component")) and 0 < component_number < 4:
        return GE_COMPONENTS[component_number]
    return next(
        (
            COMPONENT_BY_TYPE[type_part]
            for type_part in image_type[2:]
            if type_part in COMPONENT_BY_TYPE
        ),
        "MAGNITUDE",
    )


def make_lookup(*layers: Any) -> Callable[[str], Any]:
    """A look-up by keyword that returns the first value found in these datasets or mappings, None
    if there is none."""

    def get(keyword: str) -> Any:
        """The first value found; None if there is none."""
        for layer in layers:
            try:
                value = _get_value(layer, keyword)
            except Exception:  # an element whose value pydicom cannot convert counts as missing
                continue
            if value is not None and value != "":
                return value
        return None

    return get


def _get_value(layer: Any, keyword: str) -> Any:
    """The value of an element, or of one of PRIVATE_ELEMENTS, in a dataset or mapping; None if
    missing."""
    if keyword in PRIVATE_ELEMENTS:
        return _get_private_value(layer, keyword)
    return layer.get(keyword)


def _get_private_value(layer: Any, keyword: str) -> Any:
    """The value of a private element, in the block of its private creator, else in block 0x10 if
    that has no creator; decoded if its VR was lost on the way (UN)."""
    group, element_number, creator = PRIVATE_ELEMENTS[keyword]
    if isinstance(layer, PlainHeader) and group not in layer.groups:
        return None
    private_block = next(
        (
            private_block
            for private_block in PRIVATE_BLOCKS
            if _get_private_creator(layer, group, private_block) == creator
        ),
        None,
    )
    if private_block is None and not _get_private_creator(layer, group, PRIVATE_BLOCKS[0]):
        private_block = PRIVATE_BLOCKS[0]
    if private_block is None:
        return None
    value = _value_of_element(layer.get(group << 16 | private_block << 8 | element_number))
    if not isinstance(value, bytes) or keyword == "csa":
        return value
    if keyword == "uih_slices":
        from pydicom.values import convert_SQ

        # an element that lost its VR is in implicit little endian: PS3.5, 6.2.2
        return convert_SQ(value, True, True)
    if keyword in STRUCT_FORMATS:
        _, is_little_endian = getattr(layer, "original_encoding", (None, True))
        byte_order = "<"
        if is_little_endian not in (True, None):
            byte_order = ">"
        return struct.unpack_from(byte_order + STRUCT_FORMATS[keyword], value)[0]
    return value.decode("ascii", "replace").split("\\")


def _get_private_creator(layer: Any, group: int, block: int) -> str:
    """The private creator of a block, in capitals; empty if it has none."""
    return as_text(_value_of_element(layer.get(group << 16 | block))).upper()


def _value_of_element(element: Any) -> Any:
    """The value of a pydicom element; a plain value as it is."""
    return getattr(element, "value", element)


def as_text(value: object) -> str:
    """A value as stripped text, empty for None."""
    if isinstance(value, bytes):
        value = value.decode("ascii", "replace")
    if value is None:
        return ""
    return str(value).strip("\0 ")


def as_values(value: Any) -> tuple[Any, ...]:
    """The values of an element as a tuple, empty for None."""
    if value is None:
        return ()
    if isinstance(value, str | bytes | Mapping):
        return (value,)
    try:
        return tuple(value)
    except TypeError:
        return (value,)


def as_real_number(value: Any) -> float | None:
    """The first value as a finite number, None if it is not one."""
    try:
        number = float(as_text(next(iter(as_values(value)), None)))
    except ValueError:
        return None
    if not math.isfinite(number):
        return None
    return number


def _as_scale_number(element_value: Any, default: float) -> float:
    """The first value as a number, `default` if there is none, NaN if it is not a number: without it
    the intensities are not known."""
    value_text = as_text(next(iter(as_values(element_value)), None))
    try:
        return float(value_text or default)
    except ValueError:
        return math.nan


def as_whole_number(value: Any) -> int:
    """The first value as a whole number, truncated; 0 if it is not a number."""
    return int(as_real_number(value) or 0)


def as_vector(value: Any, length: int) -> Vector | None:
    """Exactly `length` finite numbers, or None."""
    parts = as_values(value)
    numbers = tuple(number for part in parts if (number := as_real_number(part)) is not None)
    if not len(numbers) == len(parts) == length:
        return None
    return numbers


def _comparable_value(element_value: Any) -> str:
    """A value for comparison, numbers rounded, since one scanner writes 4.6 and 4.60001 in one
    series."""
    element_values = as_values(element_value)
    number = None
    if len(element_values) == 1:
        number = as_real_number(element_value)
    if number is None:
        return "\\".join(map(as_text, element_values))
    if abs(number) < 1e4:
        return f"{number:.4g}"
    return f"{number:.10g}"


def _find_b_value(get: Callable[[str], Any]) -> str:
    """The b-value as text, from the attribute of the standard or of a vendor; empty if there is none."""
    for keyword in ("DiffusionBValue", "siemens_b", "ge_b", "philips_b"):
        b_value = as_real_number(get(keyword))
        if b_value is not None:
            return f"{b_value % 1e5:.0f}"  # GE adds a multiple of 10^5 to some
    return ""


@functools.cache
def _list_tags_to_read() -> tuple[int, ...]:
    """The tags of the elements to read; the rest of a header, up to megabytes of private data, is
    skipped."""
    attributes = VOLUME_ATTRIBUTES + DOUBTFUL_ATTRIBUTES
    keywords: tuple[str, ...] = (
        OBJECT_KEYWORDS + PROTOCOL_KEYWORDS + TIME_KEYWORDS + GEOMETRY_KEYWORDS
    )
    keywords += tuple(keyword for _, keyword in attributes)
    tags = [tag for tag in map(tag_of, keywords) if tag]
    # pydicom finds VRs by the elements that name the creators of blocks
    for group_number in {group_number for group_number, *_ in PRIVATE_ELEMENTS.values()}:
        tags += [group_number << 16 | block for block in PRIVATE_BLOCKS]
    for group_number, element, _ in PRIVATE_ELEMENTS.values():
        tags += [group_number << 16 | block << 8 | element for block in PRIVATE_BLOCKS]
    return tuple(tags)
