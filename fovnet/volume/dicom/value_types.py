"""Elements whose type of value (VR) was changed on the way: PixelSpacing as unlimited text or
unknown bytes.

Some archives and converters write a VR of their own choice, and pydicom then gives one text for two
numbers, or bytes.  The value is as it was: text for numbers that DICOM writes as text, else binary.
Source: DICOM PS3.5, 6.2 (value representations), PS3.6 (the VR of each attribute).
"""

from __future__ import annotations

from typing import Any

LONG_TEXT_TYPES = ("UT", "LT", "ST", "UC", "UR")  # a backslash in them separates nothing
WORD_TYPES = ("AE", "AS", "CS", "DA", "DT", "LO", "PN", "SH", "TM", "UI")
DECIMAL_TYPE = "DS"
WHOLE_NUMBER_TYPES = ("IS", "US", "SS", "UL", "SL")
BYTE_TYPES = ("OB", "OW", "OD", "OF", "OL", "UN")
BINARY_NUMBER_TYPES = ("US", "SS", "UL", "SL", "FL", "FD")
EITHER_SIGN_TYPE = "US or SS"


def restore_types(dataset: Any) -> None:
    """Gives the elements of a dataset, not those nested in it, the VR of the dictionary where they
    have another one that hides their values.  Private elements stay as they are."""
    from pydicom.datadict import dictionary_has_tag, dictionary_VR
    from pydicom.dataelem import RawDataElement

    for tag in list(dataset.keys()):
        element = dataset.get_item(tag)
        if not isinstance(element, RawDataElement) or not isinstance(element.value, bytes):
            continue
        if element.VR is None or not dictionary_has_tag(tag):
            continue
        dictionary_type = dictionary_VR(tag)
        if dictionary_type == element.VR:
            continue
        if dictionary_type == EITHER_SIGN_TYPE:
            dictionary_type = "US"
        _restore_element_type(dataset, element, dictionary_type)


def _restore_element_type(dataset: Any, element: Any, dictionary_type: str) -> None:
    """Gives an element of a dataset the dictionary's VR, where its own hides text or numbers."""
    is_text = element.VR in (*LONG_TEXT_TYPES, *WORD_TYPES, DECIMAL_TYPE, "IS")
    is_bytes = element.VR in BYTE_TYPES
    if dictionary_type in (DECIMAL_TYPE, "IS") and (is_text or is_bytes):
        # a DS reads the whole numbers of an IS too
        dataset[element.tag] = element._replace(VR=DECIMAL_TYPE)
    elif (dictionary_type in BINARY_NUMBER_TYPES and is_bytes) or (
        dictionary_type in WORD_TYPES and (is_bytes or element.VR in LONG_TEXT_TYPES)
    ):
        dataset[element.tag] = element._replace(VR=dictionary_type)
    elif dictionary_type in BINARY_NUMBER_TYPES and is_text:
        _set_binary_numbers(dataset, element, dictionary_type)


def _set_binary_numbers(dataset: Any, element: Any, dictionary_type: str) -> None:
    """The numbers of a text as binary numbers; what is no number stays as it is, and counts as
    missing."""
    number_texts = element.value.decode("ascii", "replace").strip("\0 ").split("\\")
    try:
        numbers = [float(number_text) for number_text in number_texts]
        if dictionary_type in WHOLE_NUMBER_TYPES:
            numbers = [int(number) for number in numbers]
        value: Any = numbers
        if len(numbers) == 1:
            (value,) = numbers
        dataset.add_new(element.tag, dictionary_type, value)
    except (ValueError, OverflowError):
        return
