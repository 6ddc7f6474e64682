"""The kind of a series by its DICOM header: a volume to read, or a series to set aside, and why.

Besides volumes, archives contain localisers, maps computed from other images, screen captures and
objects of other modalities. These are set aside; the reasons contain only words from this file, no
free text of headers.
"""

from __future__ import annotations

import re
from collections.abc import Collection
from typing import get_args

from fovnet.choices import IncludableSeries
from fovnet.volume.dicom.header import Frame, ObjectFacts

INCLUDABLE_KINDS: tuple[str, ...] = get_args(IncludableSeries)
"""Kinds that are read on request.  "repeat" is assigned in `series`, since it takes a comparison of
two groups."""

MR_CLASSES = "1.2.840.10008.5.1.4.1.1.4"
CAPTURE_CLASSES = "1.2.840.10008.5.1.4.1.1.7"
# fmt: off
NON_IMAGE_MODALITIES = (
    "SR", "PR", "KO", "SEG", "REG", "RTSTRUCT", "RTPLAN", "RTDOSE", "RTRECORD", "FID", "RWV", "AU",
    "ECG", "HD", "DOC", "PLAN",
)
OTHER_IMAGE_MODALITIES = (
    "CT", "PT", "NM", "US", "CR", "DX", "DR", "MG", "XA", "RF", "RG", "OT", "SC", "ES", "SM", "GM",
    "OP", "OPT", "XC", "IO", "PX", "BI", "BMD", "TG", "IVUS", "IVOCT",
)
COLOUR_INTERPRETATIONS = (
    "RGB", "PALETTE COLOR", "YBR_FULL", "YBR_FULL_422", "YBR_PARTIAL_420", "YBR_ICT", "YBR_RCT",
    "ARGB", "HSV", "CMYK",
)
SCREEN_IMAGE_TYPES = {"SCREEN SAVE", "SCREENSHOT", "SCREEN CAPTURE", "CAPTURE"}
MAP_IMAGE_TYPES = {
    "ADC", "EADC", "EXP_ADC", "FA", "RA", "VR", "MD", "RD", "AD", "TENSOR", "MIP", "MINIP",
    "MIN IP", "MIN_IP", "MAX IP", "MAX_IP", "PROJECTION IMAGE", "QUANTITY", "STD_DEVIATION",
    "STDDEV", "DIVISION", "SUBTRACT", "SUBTRACTION", "SUB", "CBF", "CBV", "RELCBF", "RELCBV",
    "MTT", "TTP", "TMAX", "T1 MAP", "T2 MAP", "T2_STAR MAP", "R2_STAR MAP", "R2 MAP", "T1_MAP",
    "T2_MAP", "FIELD_MAP", "B0 MAP", "B1 MAP", "VELOCITY", "KTRANS",
}
# fmt: on
MAP_TYPES_IF_DERIVED = {
    "PERFUSION",
    "FMRI",
}  # a map if the image is DERIVED; the purpose of an ORIGINAL image
MAP_CLASSES = "1.2.840.10008.5.1.4.1.1.30"
SPECTRA_CLASS = "1.2.840.10008.5.1.4.1.1.4.2"
MAP_WORDS = re.compile(
    r"\b(E?ADC|FA|COLFA|TENSOR|MIN?IP|MIPS?|SUB|SUBTRACTIONS?|CB[FV]|RCBV|MTT|TTP|KTRANS|"
    r"(T1|T2|T2S|R2|B0|B1) ?MAPS?)\b"
)
LOCALISER_WORDS = re.compile(
    r"LOCALI[SZ]ERS?\b|LOKALI[SZ]ER|REPERAGE|\b(SCOUTS?|PLAN ?SCAN)\b|^(\d+ )?LOC\b|\bLOC$"
)
OVERVIEW_WORDS = re.compile(
    r"\b((?<!BONE )(?<!SKELETAL )(?<!MYELOMA )SURVEY|(3|THREE|TRI) ?(PLANE|PL))\b"
)
LOCALISER = "localizer", "images for planning"
SINGLE_IMAGE = "single", "a single image, no stack"
# most images of one plane: diagnostic series are called "survey" and "3 plane" too, overviews have
# 3 to 15
MAX_OVERVIEW_IMAGES = 25


def classify_images(frames: tuple[Frame, ...]) -> tuple[str, str]:
    """(kind, reason) of one group of images; both empty for a volume to read.

    Kinds: "modality", "no-pixels", "colour", "screenshot", and those of INCLUDABLE_KINDS.
    """
    first_frame = frames[0]
    object_facts = first_frame.facts
    if kind_and_reason := _kind_without_mr_image(object_facts):
        return kind_and_reason
    if (
        SCREEN_IMAGE_TYPES & set(first_frame.image_type)
        or object_facts.is_captured
        or object_facts.sop_class.startswith(CAPTURE_CLASSES)
    ):
        return "screenshot", "a secondary capture or a picture of a screen"
    if object_facts.has_burned_in_text and first_frame.orientation is None:
        return "screenshot", "a picture with writing burned in, without a place in the scanner"
    description = _plain_words(object_facts.description)
    if is_for_planning(first_frame.image_type, object_facts.description, len(frames)):
        return LOCALISER
    if kind_and_reason := _kind_of_computed_image(first_frame, description):
        return kind_and_reason
    if len(frames) == 1:
        return SINGLE_IMAGE
    if object_facts.is_animal:
        return "animal", "an animal, by its header"
    return "", ""


def is_for_planning(image_type: Collection[str], description: str, image_count: int) -> bool:
    """Whether images are a localiser or an overview.

    description  words of the series and its protocol, in upper case
    """
    words = _plain_words(description)
    if "LOCALIZER" in image_type or LOCALISER_WORDS.search(words):
        return True
    return image_count <= MAX_OVERVIEW_IMAGES and bool(OVERVIEW_WORDS.search(words))


def kind_of_modality(modality: str) -> tuple[str, str] | None:
    """(kind, reason) of a modality that is not MR; None for MR, and where none is said."""
    if modality in NON_IMAGE_MODALITIES:
        return "no-pixels", f"{modality} without MR images in it"
    if modality in OTHER_IMAGE_MODALITIES:
        return "modality", f"modality {modality}, not MR"
    if modality not in ("", "MR"):
        return "modality", "modality not known, not MR"
    return None


def _plain_words(description: str) -> str:
    """A description without punctuation, its words parted by single blanks."""
    return " ".join(re.sub(r"[\W_]+", " ", description).split())


def _kind_without_mr_image(object_facts: ObjectFacts) -> tuple[str, str] | None:
    """(kind, reason) of an object that holds no MR image; None for one that may."""
    if object_facts.sop_class == SPECTRA_CLASS:
        return "no-pixels", "spectra without MR images in them"
    kind_and_reason = kind_of_modality(object_facts.modality)
    if not object_facts.has_pixels and object_facts.modality not in NON_IMAGE_MODALITIES:
        return "no-pixels", "an object without MR images in it"
    if kind_and_reason:
        return kind_and_reason
    if not object_facts.modality and not object_facts.sop_class.startswith(
        (MR_CLASSES, CAPTURE_CLASSES)
    ):
        return "modality", "modality not said, not MR"
    if object_facts.colour_interpretation:
        colour_name = "several samples a pixel"
        if object_facts.colour_interpretation in COLOUR_INTERPRETATIONS:
            colour_name = object_facts.colour_interpretation
        return "colour", f"colours ({colour_name}), not MR intensities"
    return None


def _kind_of_computed_image(first_frame: Frame, description: str) -> tuple[str, str] | None:
    """(kind, reason) of a map or projection, or of a phase, real or imaginary image; None for other
    images."""
    is_derived = first_frame.image_type[:1] == ("DERIVED",)
    map_types = MAP_IMAGE_TYPES
    map_word = None
    if is_derived:
        map_types = MAP_IMAGE_TYPES | MAP_TYPES_IF_DERIVED
        map_word = MAP_WORDS.search(description)
    maps_of_image = sorted(map_types & set(first_frame.image_type[2:]))
    if maps_of_image:
        return "derived", f"a derived image ({maps_of_image[0]})"
    if first_frame.facts.sop_class == MAP_CLASSES:
        return "derived", "a parametric map"
    if map_word:
        return "derived", f"a derived image ({map_word[0]})"
    component = dict(first_frame.volume_attributes)["component"]
    if component == "MAGNITUDE":
        return None
    return "phase", f"the {component.lower()} part of a complex image"
