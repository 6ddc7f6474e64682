"""The DICOM series found, as a table: a row per series, set aside or not, and per object that could
not be used.

Patient, study and series are given as twelve hex digits of a SHA-256 of their ids, equal for rows
that belong together.  Whoever has a list of possible ids can still find a match by hashing them;
keep the table where the images may be kept.
"""

from __future__ import annotations

import hashlib
from pathlib import Path
from typing import Any

from fovnet.volume.dicom.series import Series
from fovnet.volume.dicom.source import UnreadObject
from fovnet.volume.dicom.triage import NON_IMAGE_MODALITIES, OTHER_IMAGE_MODALITIES

# fmt: off
COLUMNS = (
    "patient", "study", "series_number", "series", "kind", "images", "copies", "rows", "columns",
    "modality", "reason", "path",
)
# fmt: on
ID_COLUMNS = ("patient_id", "study_instance_uid", "series_instance_uid")
"""Columns of the original ids, written only on request (`show_ids`)."""


def make_series_row(series: Series, path: Path, *, show_ids: bool = False) -> dict[str, Any]:
    """One row; `kind` is "volume" for a series to read, else the kind set aside; `copies`: the
    number of copies left out."""
    first_frame = series.frames[0]
    object_facts = first_frame.facts
    # free text may contain anything
    series_number = ""
    if object_facts.series_number.isdigit():
        series_number = object_facts.series_number
    modality = ""
    if object_facts.modality in ("MR", *OTHER_IMAGE_MODALITIES, *NON_IMAGE_MODALITIES):
        modality = object_facts.modality
    row = {
        "patient": short_hash(object_facts.patient_id),
        "study": short_hash(object_facts.study_uid),
        "series_number": series_number,
        "series": series.series_id,
        "kind": series.aside_kind or "volume",
        "images": len(series.frames),
        "copies": len(series.copied_objects),
        "rows": first_frame.rows,
        "columns": first_frame.columns,
        "modality": modality,
        "reason": series.aside_reason or "; ".join(series.notes),
        "path": str(path),
    }
    if show_ids:
        original_ids = (object_facts.patient_id, object_facts.study_uid, object_facts.series_uid)
        row |= dict(zip(ID_COLUMNS, original_ids, strict=True))
    return row


def make_unread_row(unread: UnreadObject) -> dict[str, Any]:
    """The row of an object that could not be used; the code is also at the end of the reason, since
    COLUMNS has none for it."""
    return {
        "kind": "unreadable",
        "images": 0,
        "reason": str(unread.fault),
        "code": unread.fault.code,
        "path": str(unread.dicom_object),
    }


def short_hash(text: str) -> str:
    """Twelve hex digits of an id's SHA-256; empty for an empty id."""
    if not text:
        return ""
    return hashlib.sha256(text.encode()).hexdigest()[:12]
