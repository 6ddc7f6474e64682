"""What a report inherits from the header of its source: attributes of patient and study, with valid
values alone.

highdicom copies all attributes of these modules (DICOM PS3.3, C.7.1 and C.7.2), and parses some.
Archives hold dates with dashes, times of 25 hours and texts where numbers belong: such a value is
left out, and told.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from typing import Any

from pydicom.datadict import dictionary_VM, dictionary_VR, keyword_for_tag
from pydicom.dataelem import DataElement
from pydicom.multival import MultiValue
from pydicom.sequence import Sequence
from pydicom.valuerep import DA, DT, STR_VR, TM

from fovnet.volume.dicom.header import text, values_of

# what must be present, though it may be empty (Type 2), and is often missing
MAY_BE_EMPTY = (
    "PatientName",
    "PatientID",
    "PatientBirthDate",
    "PatientSex",
    "StudyDate",
    "StudyTime",
    "StudyID",
    "AccessionNumber",
    "ReferringPhysicianName",
)
METHOD_CODES = "DeidentificationMethodCodeSequence"
PROCEDURE_CODES = "ProcedureCodeSequence"
CODE_PARTS = ("CodeValue", "CodingSchemeDesignator", "CodeMeaning")
FRAME_GROUPS = ("SharedFunctionalGroupsSequence", "PerFrameFunctionalGroupsSequence")
ENUMERATED = {"PatientSex": ("M", "F", "O")}  # PS3.3, C.7.1.1
PARSERS: Mapping[str, Callable[[str], Any]] = {
    "AS": re.compile(r"\d{3}[DWMY]").fullmatch,
    "DA": DA,
    "DS": re.compile(r"[-+]?(\d+\.?\d*|\.\d+)([eE][-+]?\d+)?").fullmatch,
    "DT": DT,
    "IS": re.compile(r"[-+]?\d{1,12}").fullmatch,
    "TM": TM,
}
"""By value representation: None or a ValueError means no such value.  Texts have no format: one
that is too long, as accession numbers are, still finds its order."""


def inherit(header: Any) -> tuple[str, ...]:
    """Completes the header of an image, in place, for a report that copies its patient and study;
    the keywords of the attributes whose values were emptied, or lost a part, as they are not valid.

    A value of the wrong representation stays if it reads as the right one.  Procedure codes without
    scheme, value or meaning are removed; Patient Identity Removed requires a method, which is
    added.
    """
    emptied_names = tuple(
        keyword_for_tag(tag)
        for tag in list(header.keys())
        if keyword_for_tag(tag) not in ("", *FRAME_GROUPS) and not _mend(header, tag)
    )
    for name in MAY_BE_EMPTY:
        if name not in header:
            setattr(header, name, "")
    if header.get("PatientIdentityRemoved") == "YES" and not (
        header.get("DeidentificationMethod") or header.get(METHOD_CODES)
    ):
        header.DeidentificationMethod = "not told by the source images"
    if PROCEDURE_CODES in header:
        whole_codes = [
            code
            for code in header[PROCEDURE_CODES].value
            if all(code.get(name) for name in CODE_PARTS)
        ]
        if whole_codes:
            setattr(header, PROCEDURE_CODES, whole_codes)
        else:
            delattr(header, PROCEDURE_CODES)
    return emptied_names


def _mend(dataset: Any, tag: Any) -> bool:
    """Whether an attribute of the standard has a valid value; if not, it is empty afterwards, or a
    sequence without the attributes of its items that are not valid."""
    representation = dictionary_VR(tag)
    try:
        value = dataset[tag].value
    except Exception:  # pydicom raises whatever the conversion of a wrong value raises
        value = b"\xff"
    if representation == "SQ" and isinstance(value, Sequence):
        invalid_attributes = [
            (item, item_tag)
            for item in value
            for item_tag in list(item.keys())
            if keyword_for_tag(item_tag) and not _mend(item, item_tag)
        ]
        for item, item_tag in invalid_attributes:
            del item[item_tag]
        return not invalid_attributes
    if _is_valid(tag, representation, value):
        if dataset[tag].VR in representation:  # "US or SS" stands for either
            return True
        if representation in STR_VR:
            dataset[tag] = DataElement(tag, representation, text(value))
            return True
    dataset[tag] = DataElement(tag, representation, [] if representation == "SQ" else None)
    return False


def _is_valid(tag: Any, representation: str, value: Any) -> bool:
    """Whether a value reads as one of this representation; an empty one does."""
    texts = [text(element) for element in values_of(value)]
    if representation == "SQ" or "\ufffd" in "".join(texts):
        return False
    if isinstance(value, MultiValue | list) and len(texts) > 1 and dictionary_VM(tag) == "1":
        return False
    keyword = keyword_for_tag(tag)
    if any(element and element not in ENUMERATED.get(keyword, (element,)) for element in texts):
        return False
    try:
        parse = PARSERS.get(representation, str)
        return all(parse(element) is not None for element in texts if element)
    except ValueError:
        return False
