"""A DICOM tree as exported by an archive: every readable series is a volume, in whatever folders and archives
its files lie.

What triage sets aside (localisers, derived maps, repeats, single images, other modalities) is listed in
aside.tsv with its reason; nothing is labelled.  No patient identifiers are written: a subject_id is twelve
hex digits of a hash of PatientID, a volume_id the same digits and those of its series.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping
from pathlib import Path
from typing import Any

import numpy as np

from fovnet.errors import VolumeError
from fovnet.volume.adapters.gathered import BROKEN, Aside, Gathered
from fovnet.volume.collection.body_part import body_part
from fovnet.volume.collection.tables import VolumeRow
from fovnet.volume.dicom.address import split_address
from fovnet.volume.dicom.header import Frame
from fovnet.volume.dicom.source import is_archive
from fovnet.volume.dicom.survey import survey
from fovnet.volume.sources.discovery import find
from fovnet.volume.sources.grids import PLANES

GAUSS = 100.0           # a field strength above it is in gauss, as older GE scanners write it (15000)


def gather_dicom(tree: Path, include: Collection[str] = ()) -> Gathered:
    """Every series that is read, one volume each, and why the others are not.

    include   kinds of series to read although triage sets them aside (`triage.INCLUDABLE`)
    Volumes of other formats are set aside.  Raises VolumeError if there is nothing to read.
    """
    gathered, found = Gathered(), find([tree], include)
    wanted = {str(path) for path in found.volumes}
    for row in found.series:
        _take(gathered, row, wanted)
    listed = {row["path"] for row in found.series}
    for path in found.volumes:
        if str(path) not in listed:
            _leave(gathered, path)
    return gathered


def _leave(gathered: Gathered, path: Path) -> None:
    """Sets aside a path without DICOM as left out; an archive that cannot be opened might hold some, and is
    set aside as broken."""
    try:
        if is_archive(path):
            survey(path)
        gathered.leave(path, "not DICOM; list it in a separate table")
    except VolumeError as fault:
        gathered.refuse(path, fault)


def _take(gathered: Gathered, row: Mapping[str, Any], wanted: Collection[str]) -> None:
    path = Path(row["path"])
    if row["kind"] == "unreadable":
        gathered.aside.append(
            Aside(path, BROKEN, row["reason"].removesuffix(f" [{row['code']}]"), row["code"])
        )
    elif row["path"] not in wanted:
        gathered.leave(path, f"{row['kind']}: {row['reason']}")
    else:
        try:
            attributes = _attributes(path, row["series"])
        except VolumeError as fault:
            gathered.refuse(path, fault)
            return
        # without a PatientID, images of different people must not be merged
        subject = row["patient"] or row["study"] or row["series"]
        gathered.add(VolumeRow(f"{subject}-{row['series']}", subject, path, attributes=attributes))


def _attributes(path: Path, series: str) -> dict[str, str]:
    """The scanner attributes of the first image, as columns of volumes.tsv; missing ones are empty.

    Raises VolumeError "volume-series" if the series no longer exists.
    """
    frame = next(
        (one.frames[0] for one in survey(split_address(path)[0]).series if one.is_called(series)), None
    )
    if frame is None:
        raise VolumeError("volume-series", f"{path}: the series {series} no longer exists. Collect again.")
    tesla = frame.facts.field_strength or 0.0
    tesla = tesla / 1e4 if tesla > GAUSS else tesla
    return {
        "manufacturer": frame.facts.manufacturer,
        "field_strength": f"{tesla:g}" if tesla > 0 else "",
        "plane": plane_of(frame),
        "body_part_examined": body_part(frame.facts.body_part),
    }


def plane_of(frame: Frame) -> str:
    """The anatomical plane of an image, from the axis nearest to its normal; empty without an orientation."""
    if frame.orientation is None:
        return ""
    normal = np.cross(frame.orientation[:3], frame.orientation[3:])
    return PLANES[int(np.abs(normal).argmax())]
