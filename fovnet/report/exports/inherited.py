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


def clean_header(header: Any) -> tuple[str, ...]:
    """Completes the header of an image, in place, for a report that copies its patient and study;
    returns the keywords of the attributes whose values were emptied, or lost a part, as they are
    not valid.

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
    has_method = header.get("DeidentificationMethod") or header.get(METHOD_CODES)
    if header.get("PatientIdentityRemoved") == "YES" and not has_method:
        header.DeidentificationMethod = "not told by the source images"
    if PROCEDURE_CODES in header:
        complete_codes = [
            code
            for code in header[PROCEDURE_CODES].value
            if all(code.get(part_name) for part_name in CODE_PARTS)
        ]
        if complete_codes:
            setattr(header, PROCEDURE_CODES, complete_codes)
        else:
            delattr(header, PROCEDURE_CODES)
    return emptied_names


def _empty_if_invalid(dataset: Any, tag: Any) -> bool:
    """Empties an attribute of the standard whose value is not valid, or removes from a sequence the
    attributes of its items that are not; returns whether all was valid."""
    value_representation = dictionary_VR(tag)
    try:
        attribute_value = dataset[tag].value
    except Exception:  # pydicom raises whatever the conversion of a wrong value raises
        attribute_value = b"\xff"
    if value_representation == "SQ":
        if isinstance(attribute_value, Sequence):
            return _remove_invalid_attributes(attribute_value)
        dataset[tag] = DataElement(tag, "SQ", [])
        return False
    if _is_valid(tag, value_representation, attribute_value):
        if dataset[tag].VR in value_representation:  # "US or SS" stands for either
            return True
        if value_representation in STR_VR:
            dataset[tag] = DataElement(tag, value_representation, as_text(attribute_value))
            return True
    dataset[tag] = DataElement(tag, value_representation, None)
    return False


def _remove_invalid_attributes(items: Sequence) -> bool:
    """Removes the attributes of the items of a sequence that are not valid; returns whether all
    were."""
    invalid_attributes = [
        (item, tag)
        for item in items
        for tag in list(item.keys())
        if keyword_for_tag(tag) and not _empty_if_invalid(item, tag)
    ]
    for item, tag in invalid_attributes:
        del item[tag]
    return not invalid_attributes


def _is_valid(tag: Any, value_representation: str, attribute_value: Any) -> bool:
    """Whether a value, not a sequence, reads as one of this representation; an empty one does."""
    element_texts = [as_text(element) for element in as_values(attribute_value)]
    if "\ufffd" in "".join(element_texts):  # stands for bytes that are no text
        return False
    has_several_values = isinstance(attribute_value, MultiValue | list) and len(element_texts) > 1
    if has_several_values and dictionary_VM(tag) == "1":
        return False
    present_texts = list(filter(None, element_texts))
    allowed_texts = ALLOWED_VALUES_BY_KEYWORD.get(keyword_for_tag(tag))
    if allowed_texts and not set(present_texts) <= set(allowed_texts):
        return False
    parser = PARSER_BY_REPRESENTATION.get(value_representation, str)
    try:
        return all(parser(element_text) is not None for element_text in present_texts)
    except ValueError:
        return False
