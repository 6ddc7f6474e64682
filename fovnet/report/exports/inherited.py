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

from fovnet.volume.dicom.header import as_text, as_values

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
ALLOWED_VALUES_BY_KEYWORD = {"PatientSex": ("M", "F", "O")}  # PS3.3, C.7.1.1
PARSER_BY_REPRESENTATION: Mapping[str, Callable[[str], Any]] = {
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
        if keyword_for_tag(tag) not in ("", *FRAME_GROUPS) and not _empty_if_invalid(header, tag)
    )
    for attribute_name in MAY_BE_EMPTY:
        if attribute_name not in header:
            setattr(header, attribute_name, "")
    if header.get("PatientIdentityRemoved") == "YES" and not (
        header.get("DeidentificationMethod") or header.get(METHOD_CODES)
    ):
        header.DeidentificationMethod = "not told by the source images"
    if PROCEDURE_CODES in header:
        whole_codes = [
            code
            for code in header[PROCEDURE_CODES].value
            if all(code.get(attribute_name) for attribute_name in CODE_PARTS)
        ]
        if whole_codes:
            setattr(header, PROCEDURE_CODES, whole_codes)
        else:
            delattr(header, PROCEDURE_CODES)
    return emptied_names


def _empty_if_invalid(dataset: Any, tag: Any) -> bool:
    """Whether an attribute of the standard has a valid value; if not, it is empty afterwards, or a
    sequence without the attributes of its items that are not valid."""
    value_representation = dictionary_VR(tag)
    try:
        attribute_value = dataset[tag].value
    except Exception:  # pydicom raises whatever the conversion of a wrong value raises
        attribute_value = b"\xff"
    if value_representation == "SQ" and isinstance(attribute_value, Sequence):
        invalid_attributes = [
            (sequence_item, item_tag)
            for sequence_item in attribute_value
            for item_tag in list(sequence_item.keys())
            if keyword_for_tag(item_tag) and not _empty_if_invalid(sequence_item, item_tag)
        ]
        for sequence_item, item_tag in invalid_attributes:
            del sequence_item[item_tag]
        return not invalid_attributes
    if _is_valid(tag, value_representation, attribute_value):
        if dataset[tag].VR in value_representation:  # "US or SS" stands for either
            return True
        if value_representation in STR_VR:
            dataset[tag] = DataElement(tag, value_representation, as_text(attribute_value))
            return True
    dataset[tag] = DataElement(
        tag, value_representation, [] if value_representation == "SQ" else None
    )
    return False


def _is_valid(tag: Any, value_representation: str, attribute_value: Any) -> bool:
    """Whether a value reads as one of this representation; an empty one does."""
    element_texts = [as_text(element) for element in as_values(attribute_value)]
    if value_representation == "SQ" or "\ufffd" in "".join(element_texts):
        return False
    if (
        isinstance(attribute_value, MultiValue | list)
        and len(element_texts) > 1
        and dictionary_VM(tag) == "1"
    ):
        return False
    attribute_keyword = keyword_for_tag(tag)
    if any(
        element and element not in ALLOWED_VALUES_BY_KEYWORD.get(attribute_keyword, (element,))
        for element in element_texts
    ):
        return False
    try:
        parser = PARSER_BY_REPRESENTATION.get(value_representation, str)
        return all(parser(element) is not None for element in element_texts if element)
    except ValueError:
        return False
