"""UIDs determined by all that a DICOM object says.

A SOP Instance UID names one object for ever (DICOM PS3.5, 9): an archive that holds it keeps the
first object or replaces it, and may refuse another.  Two contents never share a UID, therefore, and
the same content sent again has the same one.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Collection
from typing import Any

from pydicom.datadict import keyword_for_tag
from pydicom.multival import MultiValue
from pydicom.sequence import Sequence

UUID_ROOT = "2.25."  # UIDs made from a UUID need no registered root: DICOM PS3.5, annex B.2


def uid_for(*identity: object) -> str:
    """A UID determined by `identity`: 2.25. and a version 8 UUID (RFC 9562) with 122 bits of its
    SHA-256."""
    identity_text = "\0".join(map(str, ("fovnet", *identity)))
    digest = hashlib.sha256(identity_text.encode()).digest()
    uuid_number = int.from_bytes(digest[:16], "big")
    uuid_number = uuid_number & ~(0xF << 76) | 8 << 76  # version 8
    uuid_number = uuid_number & ~(0x3 << 62) | 2 << 62  # variant of RFC 9562
    return f"{UUID_ROOT}{uuid_number}"


def device_uid_for(model_identity: str) -> str:
    """The UID of the device that fovnet is with these networks."""
    return uid_for("device", model_identity)


def content_of(dataset: Any, excluded_names: Collection[str] = ()) -> str:
    """All attributes of a dataset with their values, as JSON ordered by tag, without those that are
    named in `excluded_names` at its top level.

    What an archive may change on the way is no content: group lengths, padding, and how the length
    of a sequence is written.  Bytes, such as pixels, count by their digest, as does a value that
    pydicom cannot convert.
    """
    return json.dumps(_values_by_tag(dataset, excluded_names))


def _values_by_tag(dataset: Any, excluded_names: Collection[str] = ()) -> list[tuple[int, Any]]:
    """(tag, value) of each attribute, by ascending tag, without group lengths and padding."""
    left_out_names = {*excluded_names, "DataSetTrailingPadding"}
    return [
        (int(tag), _identifying_value(dataset, tag))
        for tag in sorted(dataset.keys())
        if tag.element != 0 and keyword_for_tag(tag) not in left_out_names
    ]


def _identifying_value(dataset: Any, tag: Any) -> Any:
    """The value of an element as texts, a digest, or the elements of items."""
    try:
        element_value = dataset[tag].value
    except Exception:  # pydicom raises whatever the conversion of a wrong value raises
        element_value = dataset.get_item(tag).value
    if isinstance(element_value, Sequence):
        return [_values_by_tag(item) for item in element_value]
    if isinstance(element_value, bytes):
        return hashlib.sha256(element_value).hexdigest()
    if not isinstance(element_value, MultiValue | list):
        element_value = [element_value]
    return [_text_of(part) for part in element_value]


def _text_of(value: Any) -> str:
    """A value as text, "" for None."""
    if value is None:
        return ""
    return str(value)
