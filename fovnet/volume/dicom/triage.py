"""The kind of a series by its DICOM header: a volume to read, or a series to set aside, and why.

Besides volumes, archives contain localisers, maps computed from other images, screen captures and objects of
other modalities. These are set aside; the reasons contain only words from this file, no free text of headers.
"""

from __future__ import annotations

import re

from fovnet.volume.dicom.header import Frame, ObjectFacts

INCLUDABLE = ("localizer", "derived", "phase", "single", "repeat", "animal")
"""Kinds that are read on request.  "repeat" is assigned in `series`, since it takes a comparison of two
groups."""

MR_CLASSES = "1.2.840.10008.5.1.4.1.1.4"
CAPTURES = "1.2.840.10008.5.1.4.1.1.7"
NO_IMAGES = (
    "SR",
    "PR",
    "KO",
    "SEG",
    "REG",
    "RTSTRUCT",
    "RTPLAN",
    "RTDOSE",
    "RTRECORD",
    "FID",
    "RWV",
    "AU",
    "ECG",
    "HD",
    "DOC",
    "PLAN",
)
MODALITIES = (
    "CT",
    "PT",
    "NM",
    "US",
    "CR",
    "DX",
    "DR",
    "MG",
    "XA",
    "RF",
    "RG",
    "OT",
    "SC",
    "ES",
    "SM",
    "GM",
    "OP",
    "OPT",
    "XC",
    "IO",
    "PX",
    "BI",
    "BMD",
    "TG",
    "IVUS",
    "IVOCT",
)
COLOURS = (
    "RGB",
    "PALETTE COLOR",
    "YBR_FULL",
    "YBR_FULL_422",
    "YBR_PARTIAL_420",
    "YBR_ICT",
    "YBR_RCT",
    "ARGB",
    "HSV",
    "CMYK",
)
SCREEN = {"SCREEN SAVE", "SCREENSHOT", "SCREEN CAPTURE", "CAPTURE"}
MAPS = {
    "ADC",
    "EADC",
    "EXP_ADC",
    "FA",
    "RA",
    "VR",
    "MD",
    "RD",
    "AD",
    "TENSOR",
    "MIP",
    "MINIP",
    "MIN IP",
    "MIN_IP",
    "MAX IP",
    "MAX_IP",
    "PROJECTION IMAGE",
    "QUANTITY",
    "STD_DEVIATION",
    "STDDEV",
    "DIVISION",
    "SUBTRACT",
    "SUBTRACTION",
    "SUB",
    "CBF",
    "CBV",
    "RELCBF",
    "RELCBV",
    "MTT",
    "TTP",
    "TMAX",
    "T1 MAP",
    "T2 MAP",
    "T2_STAR MAP",
    "R2_STAR MAP",
    "R2 MAP",
    "T1_MAP",
    "T2_MAP",
    "FIELD_MAP",
    "B0 MAP",
    "B1 MAP",
    "VELOCITY",
    "KTRANS",
}
PURPOSES = {"PERFUSION", "FMRI"}  # a map if the image is DERIVED; the purpose of an ORIGINAL image
MAP_CLASSES = "1.2.840.10008.5.1.4.1.1.30"
SPECTRA = "1.2.840.10008.5.1.4.1.1.4.2"
MAP_DESCRIPTIONS = re.compile(
    r"\b(E?ADC|FA|COLFA|TENSOR|MIN?IP|MIPS?|SUB|SUBTRACTIONS?|CB[FV]|RCBV|MTT|TTP|KTRANS|"
    r"(T1|T2|T2S|R2|B0|B1) ?MAPS?)\b"
)
LOCALISERS = re.compile(
    r"LOCALI[SZ]ERS?\b|LOKALI[SZ]ER|REPERAGE|\b(SCOUTS?|PLAN ?SCAN)\b|^(\d+ )?LOC\b|\bLOC$"
)
OVERVIEWS = re.compile(
    r"\b((?<!BONE )(?<!SKELETAL )(?<!MYELOMA )SURVEY|(3|THREE|TRI) ?(PLANE|PL))\b"
)
# most images of one plane: diagnostic series are called "survey" and "3 plane" too, overviews have 3 to 15
OVERVIEW_IMAGES = 25


def kind_of(frames: tuple[Frame, ...]) -> tuple[str, str]:
    """(kind, reason) of one group of images; both empty for a volume to read.

    Kinds: "modality", "no-pixels", "colour", "screenshot", and those of INCLUDABLE.
    """
    first, facts = frames[0], frames[0].facts
    if found := _no_mr_image(facts):
        return found
    if SCREEN & set(first.image_type) or facts.captured or facts.sop_class.startswith(CAPTURES):
        return "screenshot", "a secondary capture or a picture of a screen"
    if facts.burned_in and first.orientation is None:
        return "screenshot", "a picture with writing burned in, without a place in the scanner"
    description = " ".join(re.sub(r"[\W_]+", " ", facts.words).split())
    overview = len(frames) <= OVERVIEW_IMAGES and OVERVIEWS.search(description)
    if "LOCALIZER" in first.image_type or LOCALISERS.search(description) or overview:
        return "localizer", "images for planning"
    computed = _computed(first, description)
    if computed is not None:
        return computed
    if len(frames) == 1:
        return "single", "a single image, no stack"
    if facts.animal:
        return "animal", "an animal, by its header"
    return "", ""


def _no_mr_image(facts: ObjectFacts) -> tuple[str, str] | None:
    if facts.sop_class == SPECTRA:
        return "no-pixels", "spectra without MR images in them"
    if facts.modality in NO_IMAGES or not facts.has_pixels:
        return (
            "no-pixels",
            f"{facts.modality if facts.modality in NO_IMAGES else 'an object'} without MR images in it",
        )
    if facts.modality != "MR" and (
        facts.modality or not facts.sop_class.startswith((MR_CLASSES, CAPTURES))
    ):
        name = (
            facts.modality
            if facts.modality in MODALITIES
            else "not known"
            if facts.modality
            else "not said"
        )
        return "modality", f"modality {name}, not MR"
    if facts.colour:
        name = facts.colour if facts.colour in COLOURS else "several samples a pixel"
        return "colour", f"colours ({name}), not MR intensities"
    return None


def _computed(first: Frame, description: str) -> tuple[str, str] | None:
    """(kind, reason) of a map or projection, or of a phase, real or imaginary image; None for other
    images."""
    derived = first.image_type[:1] == ("DERIVED",)
    named = sorted((MAPS | PURPOSES if derived else MAPS) & set(first.image_type[2:]))
    if named:
        return "derived", f"a derived image ({named[0]})"
    if first.facts.sop_class == MAP_CLASSES:
        return "derived", "a parametric map"
    match = MAP_DESCRIPTIONS.search(description) if derived else None
    if match:
        return "derived", f"a derived image ({match[0]})"
    component = dict(first.apart)["component"]
    return (
        None
        if component == "MAGNITUDE"
        else ("phase", f"the {component.lower()} part of a complex image")
    )
