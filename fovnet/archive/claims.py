"""What an archive answers, as text: {keyword: value}, of DICOM JSON and of data sets alike.

An answer may lack any attribute, and may hold any type: what is no text or number counts as absent.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, NamedTuple, Protocol

from pydicom.datadict import tag_for_keyword
from pydicom.dataset import Dataset
from pydicom.multival import MultiValue

from fovnet.archive.spans import Span

STUDY_KEYWORDS = (
    "StudyInstanceUID",
    "StudyDate",
    "StudyTime",
    "StudyDescription",
    "ModalitiesInStudy",
    "PatientID",
    "NumberOfStudyRelatedSeries",
)
SERIES_KEYWORDS = (
    "StudyInstanceUID",
    "SeriesInstanceUID",
    "PatientID",
    "Modality",
    "SeriesDescription",
    "BodyPartExamined",
    "ProtocolName",
    "SequenceName",
    "ImageType",
    "Rows",
    "Columns",
    "NumberOfFrames",
    "NumberOfSeriesRelatedInstances",
)
# of level IMAGE, where an archive does not count
IMAGE_KEYWORDS = ("SOPInstanceUID", "PatientID", "Rows", "Columns", "NumberOfFrames", "ImageType")
VALUE_SEPARATOR = "\\"

Claims = Mapping[str, str]
"""{keyword: value} of one study or series, several values parted by a backslash; "" for absent."""


class Answer(NamedTuple):
    """What was answered, and whether the archive says that this is all."""

    matches: list[Claims]
    is_complete: bool = True


class Archive(Protocol):
    """An archive, asked by any protocol.  All raise ArchiveError."""

    def find_studies(self, span: Span | None, modality: str) -> Answer:
        """The studies of a span, or of all times, that have a series of this modality, "" for
        any; others may be among them."""

    def find_study(self, study_uid: str) -> Answer:
        """The study of this UID, one match for each patient that has it."""

    def find_series(self, study_uid: str) -> Answer:
        """All series of a study."""

    def find_images(self, study_uid: str, series_uid: str) -> Answer:
        """All images of a series."""

    def close(self) -> None:
        """Ends its connections."""


def claims_of_json(item: Any, keywords: tuple[str, ...]) -> Claims:
    """The claims in an item of DICOM JSON (PS3.18, F.2); empty for what is no object."""
    if not isinstance(item, Mapping):
        return dict.fromkeys(keywords, "")
    return {
        keyword: _text_of_json(item.get(f"{tag_for_keyword(keyword):08X}")) for keyword in keywords
    }


def claims_of_data_set(data_set: Dataset, keywords: tuple[str, ...]) -> Claims:
    """The claims in an identifier of C-FIND."""
    return {keyword: _text_of_element(data_set, keyword) for keyword in keywords}


def number_of(claims: Claims, keyword: str) -> int | None:
    """A claim as a whole number; None where it is none."""
    digits = claims[keyword].strip()
    if digits.isascii() and digits.isdigit() and len(digits) < 10:
        return int(digits)
    return None


def _text_of_json(element: Any) -> str:
    if not isinstance(element, Mapping) or not isinstance(element.get("Value"), list):
        return ""
    texts = [str(value) for value in element["Value"] if _is_text_or_number(value)]
    return VALUE_SEPARATOR.join(texts).strip()


def _is_text_or_number(value: Any) -> bool:
    return isinstance(value, str | int | float) and not isinstance(value, bool)


def _text_of_element(data_set: Dataset, keyword: str) -> str:
    """The text of an element; "" where it is absent, or cannot be decoded."""
    try:
        value = data_set.get(keyword)
    except Exception:  # pydicom raises various errors on damaged values
        return ""
    if value is None:
        return ""
    if isinstance(value, MultiValue | list):
        return VALUE_SEPARATOR.join(map(str, value)).strip()
    return str(value).strip()
