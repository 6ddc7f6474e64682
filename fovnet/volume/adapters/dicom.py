"""A DICOM tree as exported by an archive: every readable series is a volume, in whatever folders
and archives its files lie.

What triage sets aside (localisers, derived maps, repeats, single images, other modalities) is
listed in aside.tsv with its reason; nothing is labelled.  No patient identifiers are written: a
subject_id is twelve hex digits of a hash of PatientID, a volume_id the same digits and those of its
series.  Where one PatientID is that of several people (`subjects`), it is a hash of their study.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from fovnet.errors import VolumeError
from fovnet.volume.adapters.gathering import BROKEN_KIND, NOTE_KIND, AsideRow, Gathering
from fovnet.volume.adapters.subjects import PersonOfVolume, find_subjects
from fovnet.volume.collection.body_part import as_body_part_terms
from fovnet.volume.collection.table_rows import VolumeRow
from fovnet.volume.dicom.address import split_address
from fovnet.volume.dicom.demographics import Demographics
from fovnet.volume.dicom.header import Frame
from fovnet.volume.dicom.survey import ProgressReport, find_series, survey
from fovnet.volume.sources.discovery import find_volumes
from fovnet.volume.sources.grids import PLANE_NAMES
from fovnet.volume.sources.kind import file_kind

MAX_TESLA = 100.0  # a field strength above it is in gauss, as older GE scanners write it (15000)
GAUSS_PER_TESLA = 1e4


def gather_dicom(
    tree: Path, include: Collection[str] = (), progress: ProgressReport | None = None
) -> Gathering:
    """The volumes of every series that is read, and the reasons why the others are not.

    include   kinds of series to read although triage sets them aside (`triage.INCLUDABLE_KINDS`)
    progress  called after each DICOM header with (how many are done, how many there are)
    Volumes of other formats are set aside.  Raises VolumeError if there is nothing to read.
    """
    gathering = Gathering()
    discovery = find_volumes(
        [tree], include, progress=progress, advice="give the top folder of a tree of DICOM files"
    )
    volume_paths = {str(path) for path in discovery.volume_paths}
    rows_and_images: list[tuple[Mapping[str, Any], Frame]] = []
    for series_row in discovery.series_rows:
        first_image = _first_image_if_read(gathering, series_row, volume_paths)
        if first_image is not None:
            rows_and_images.append((series_row, first_image))
    _add_volumes(gathering, rows_and_images)
    series_paths = {series_row["path"] for series_row in discovery.series_rows}
    for path in discovery.volume_paths:
        if str(path) not in series_paths:
            _set_non_dicom_aside(gathering, path)
    return gathering


def _set_non_dicom_aside(gathering: Gathering, path: Path) -> None:
    """Sets aside a path without DICOM as left out; an archive that cannot be opened might hold
    some, and is set aside as broken."""
    try:
        if file_kind(path).is_archive:
            survey(path)
        gathering.set_aside(path, "not DICOM; list it in a separate table")
    except VolumeError as fault:
        gathering.set_broken_aside(path, fault)


def _first_image_if_read(
    gathering: Gathering, series_row: Mapping[str, Any], volume_paths: Collection[str]
) -> Frame | None:
    """The first image of a series if it is read; None for one that is set aside.

    series_row    of the table of series found (`dicom.table`)
    volume_paths  paths of the series that are read
    """
    path = Path(series_row["path"])
    if series_row["kind"] == "unreadable":
        gathering.aside_rows.append(
            AsideRow(
                path=path,
                kind=BROKEN_KIND,
                reason=series_row["reason"].removesuffix(f" [{series_row['code']}]"),
                code=series_row["code"],
            )
        )
    elif series_row["path"] not in volume_paths:
        gathering.set_aside(path, f"{series_row['kind']}: {series_row['reason']}")
    else:
        try:
            return _first_image(path, series_row["series"])
        except VolumeError as fault:
            gathering.set_broken_aside(path, fault)
    return None


def _add_volumes(
    gathering: Gathering, rows_and_images: Sequence[tuple[Mapping[str, Any], Frame]]
) -> None:
    """Adds these volumes, each with its subject; one that may be of several people is set aside.

    rows_and_images  (row in the table of series found, first image) of each
    """
    subjects = find_subjects(
        [
            PersonOfVolume(
                patient_hash=series_row["patient"],
                study_hash=series_row["study"],
                series_id=series_row["series"],
                demographics=Demographics.of(first_image.facts),
            )
            for series_row, first_image in rows_and_images
        ]
    )
    for series_row, first_image in rows_and_images:
        path = Path(series_row["path"])
        series_id = series_row["series"]
        subject = subjects.subject_by_series.get(series_id)
        if series_id in subjects.note_by_series:
            gathering.note_rows.append(
                AsideRow(
                    path=path,
                    kind=NOTE_KIND,
                    reason=subjects.note_by_series[series_id],
                    code="patient-id",
                )
            )
        if subject is None:
            gathering.set_aside(
                path, "its PatientID is that of several people, and it may be of any of them"
            )
        else:
            gathering.add_volume(
                VolumeRow(
                    f"{subject}-{series_id}",
                    subject,
                    path,
                    attributes=_scanner_attributes(first_image),
                )
            )


def _first_image(path: Path, series_id: str) -> Frame:
    """The first image of a series.  Raises VolumeError "volume-series" if it no longer exists."""
    container, _ = split_address(path)
    series = find_series(container, series_id)
    if series is None:
        raise VolumeError(
            "volume-series", f"{path}: the series {series_id} no longer exists. Collect again."
        )
    return series.frames[0]


def _scanner_attributes(frame: Frame) -> dict[str, str]:
    """The scanner attributes of an image, as columns of volumes.tsv; missing ones are empty."""
    field_tesla = frame.facts.field_strength_tesla or 0.0
    if field_tesla > MAX_TESLA:
        field_tesla /= GAUSS_PER_TESLA
    field_text = ""
    if field_tesla > 0:
        field_text = f"{field_tesla:g}"
    return {
        "manufacturer": frame.facts.manufacturer,
        "field_strength": field_text,
        "plane": find_plane(frame),
        "body_part_examined": as_body_part_terms(frame.facts.body_part),
    }


def find_plane(frame: Frame) -> str:
    """The anatomical plane of an image, from the axis nearest to its normal; empty without an
    orientation."""
    if frame.orientation is None:
        return ""
    normal = np.cross(frame.orientation[:3], frame.orientation[3:])
    return PLANE_NAMES[int(np.abs(normal).argmax())]
