"""Which DICOM files fovnet wrote: only these may be replaced or removed, whatever other files have
their names or folder."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path
from typing import Any, BinaryIO, NamedTuple

from pydicom import dcmread

from fovnet.errors import FovnetError, ModelError
from fovnet.report.exports.identity import device_uid_for
from fovnet.volume.dicom.address import split_address
from fovnet.volume.dicom.header import without_warnings
from fovnet.volume.dicom.survey import survey

# DICOM PS3.16, TID 1004: device observer identifying attributes
OBSERVER_UID_CODE = "121012"
OBSERVER_MODEL_CODE = "121015"


class StudyAndSeries(NamedTuple):
    """The UIDs of a series and of its study."""

    study_uid: str
    series_uid: str


def refuse_foreign(path: Path) -> None:
    """Raises ModelError "export-foreign" if there is a file at `path` that fovnet did not write."""
    if path.exists() and not is_our_dicom(path):
        raise ModelError(
            "export-foreign", f"{path}: exists, and was not written by fovnet; give another --out."
        )


def refuse_other_series(path: Path, header: Any) -> None:
    """Raises ModelError "export-other-study" if fovnet wrote the file at `path` from another series
    than that of `header`, a source's or a report's: it belongs to a volume of the same name in
    another batch or folder, and would be lost silently."""
    earlier_series = source_series(path)
    if earlier_series is not None and earlier_series != _study_and_series(header):
        raise ModelError(
            "export-other-study",
            f"{path}: exists, is about a volume of the same name from another study or series, and "
            "would be overwritten; give each batch its own --out, or remove it.",
        )


def withdraw_files(paths: Iterable[Path], source: Path) -> None:
    """Removes files that fovnet wrote from the images at `source`, whose answer is no longer valid;
    other programs' files are kept.

    Raises ModelError "export-stays", and removes none, if one was made from other images, or this
    cannot be determined: it may belong to another volume of the same name.
    """
    series_by_path = {path: source_series(path) for path in paths}
    our_paths = [path for path, series in series_by_path.items() if series is not None]
    if not our_paths:
        return
    present_series = _studies_and_series_at(source)
    for path in our_paths:
        if series_by_path[path] not in present_series:
            raise ModelError(
                "export-stays",
                f"{path}: exists, is about a volume of the same name, and {source} has no answer "
                "to replace it; remove it if it is about that volume, otherwise give each batch "
                "its own --out.",
            )
    for path in our_paths:
        path.unlink()


def source_series(path: Path) -> StudyAndSeries | None:
    """The series of the source images of a report or copy that fovnet wrote; None for any other
    file."""
    if not path.exists() or not is_our_dicom(path):
        return None
    with without_warnings():
        header = dcmread(
            path,
            specific_tags=[
                "StudyInstanceUID",
                "SeriesInstanceUID",
                "CurrentRequestedProcedureEvidenceSequence",
                "OriginalAttributesSequence",
            ],
        )
        if header.get("CurrentRequestedProcedureEvidenceSequence"):
            return _study_and_series(header)
        values_before_change = header.OriginalAttributesSequence[-1].ModifiedAttributesSequence[0]
        return StudyAndSeries(
            str(header.get("StudyInstanceUID")),
            str(values_before_change.get("SeriesInstanceUID")),
        )


def _study_and_series(header: Any) -> StudyAndSeries:
    """The series of an image, or of the images that a report refers to."""
    series_item = header
    evidence_sequence = header.get("CurrentRequestedProcedureEvidenceSequence")
    if evidence_sequence:
        series_item = evidence_sequence[0].ReferencedSeriesSequence[0]
    return StudyAndSeries(
        str(header.get("StudyInstanceUID")), str(series_item.get("SeriesInstanceUID"))
    )


def _studies_and_series_at(source: Path) -> set[StudyAndSeries]:
    """All series at the path of a volume; empty if nothing can be read."""
    try:
        first_frames = [series.frames[0] for series in survey(split_address(source)[0]).series]
    except (FovnetError, OSError, ValueError):
        return set()
    return {StudyAndSeries(frame.facts.study_uid, frame.facts.series_uid) for frame in first_frames}


def _is_our_report(header: Any) -> bool:
    """Whether a header is that of a report whose observer has the UID that fovnet gives to itself
    with the model named; Manufacturer "fovnet" anybody may write."""
    if header.get("Modality") != "SR":
        return False
    item_by_code = {
        item.ConceptNameCodeSequence[0].CodeValue: item
        for item in header.get("ContentSequence", [])
    }
    observer_uid = item_by_code[OBSERVER_UID_CODE].UID
    return bool(observer_uid == device_uid_for(item_by_code[OBSERVER_MODEL_CODE].TextValue))


def is_our_dicom(path: Path | BinaryIO) -> bool:
    """Whether a DICOM file is a report by fovnet, or a copy whose header fovnet was the last to
    change; False if it cannot be read."""
    try:
        with without_warnings():
            header = dcmread(
                path, specific_tags=["Modality", "ContentSequence", "OriginalAttributesSequence"]
            )
            attribute_changes = header.get("OriginalAttributesSequence") or [{}]
            is_our_copy = attribute_changes[-1].get("ModifyingSystem") == "fovnet"
            return is_our_copy or _is_our_report(header)
    except MemoryError:
        raise
    except Exception:  # files in users' folders may have any content
        return False
