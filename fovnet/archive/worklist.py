"""The table of what an archive holds: worklist.tsv, a row a series, by what its header claims; what is
left out and why; and totals.

Left out is only what `predict` would set aside by the same claims, so that what is fetched gets the
answers of the whole.  Descriptions stand as they are in the archive, where people write anything; the
patient is a hash.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Iterable, Sequence
from dataclasses import asdict, dataclass, fields
from pathlib import Path
from typing import Any

from fovnet.archive.claims import VALUE_SEPARATOR, Claims, number_of
from fovnet.records import read_tsv, write_tsv
from fovnet.volume.dicom.mosaic import MOSAIC_IMAGE_TYPES
from fovnet.volume.dicom.table import short_hash
from fovnet.volume.dicom.triage import (
    LOCALISER,
    SINGLE_IMAGE,
    is_for_planning,
    kind_of_modality,
)

WORKLIST_NAME = "worklist.tsv"
BYTES_PER_PIXEL = 2
USUAL_PIXELS = 256 * 256  # of an image whose size the archive does not tell
NO_IMAGES = "no-images", "the archive counts no image in it"
NOT_THERE = "archive-nothing", "the archive has no such study or series; check the UID"


@dataclass(frozen=True)
class WorklistRow:
    """A series, by what its header claims; None, or "", where the archive does not tell.

    patient   a hash of the patient's id
    frames    of each image, where it has several
    images    as the archive counts them
    left_out  the kind of what is not fetched, or the code of a fault; "" for a series to fetch
    reason    the same in a sentence
    """

    patient: str
    study_uid: str
    series_uid: str
    study_date: str = ""
    modality: str = ""
    body_part: str = ""
    protocol: str = ""
    series_description: str = ""
    study_description: str = ""
    rows: int | None = None
    columns: int | None = None
    frames: int | None = None
    images: int | None = None
    left_out: str = ""
    reason: str = ""

    @property
    def byte_count(self) -> int:
        """An estimate of its pixels, two bytes each."""
        pixel_count = USUAL_PIXELS
        if self.rows and self.columns:
            pixel_count = self.rows * self.columns
        return BYTES_PER_PIXEL * pixel_count * (self.frames or 1) * (self.images or 0)

    @property
    def cells(self) -> dict[str, Any]:
        """Its row in the table."""
        return asdict(self) | {"bytes": self.byte_count}


COLUMNS = (*(column.name for column in fields(WorklistRow)), "bytes")
NUMBER_COLUMNS = ("rows", "columns", "frames", "images")


def row_of(study: Claims, series: Claims, included_kinds: Collection[str]) -> WorklistRow:
    """The row of a series of a study."""
    kind, reason = _set_aside(series, included_kinds)
    return WorklistRow(
        patient=short_hash(series["PatientID"] or study["PatientID"]),
        study_uid=study["StudyInstanceUID"],
        series_uid=series["SeriesInstanceUID"],
        study_date=study["StudyDate"],
        modality=series["Modality"],
        body_part=series["BodyPartExamined"],
        protocol=series["ProtocolName"],
        series_description=series["SeriesDescription"],
        study_description=study["StudyDescription"],
        rows=number_of(series, "Rows"),
        columns=number_of(series, "Columns"),
        frames=number_of(series, "NumberOfFrames"),
        images=number_of(series, "NumberOfSeriesRelatedInstances"),
        left_out=kind,
        reason=reason,
    )


def row_of_fault(study_uid: str, series_uid: str, code: str, sentence: str) -> WorklistRow:
    """The row of what cannot be listed."""
    return WorklistRow("", study_uid, series_uid, left_out=code, reason=sentence)


def write_worklist(folder: Path, rows: Iterable[WorklistRow]) -> Path:
    """worklist.tsv of these rows."""
    return write_tsv(folder / WORKLIST_NAME, COLUMNS, [row.cells for row in rows])


def read_worklist(folder: Path) -> list[WorklistRow]:
    """The rows of worklist.tsv.  Raises OSError, and ValueError for another table."""
    rows = []
    for cells in read_tsv(folder / WORKLIST_NAME):
        values: dict[str, Any] = {
            name: cell for name, cell in cells.items() if name in COLUMNS and name != "bytes"
        }
        for name in NUMBER_COLUMNS:
            if values[name]:
                values[name] = int(values[name])
            else:
                values[name] = None
        rows.append(WorklistRow(**values))
    return rows


@dataclass(frozen=True)
class Totals:
    """What a worklist comes to.

    series, images, bytes  to fetch
    left_out               {kind or code: number of series}
    """

    series: int
    images: int
    bytes: int
    left_out: dict[str, int]


def total_of(rows: Sequence[WorklistRow]) -> Totals:
    """The totals of these rows."""
    wanted_rows = [row for row in rows if not row.left_out]
    return Totals(
        series=len(wanted_rows),
        images=sum(row.images or 0 for row in wanted_rows),
        bytes=sum(row.byte_count for row in wanted_rows),
        left_out=dict(sorted(Counter(row.left_out for row in rows if row.left_out).items())),
    )


def _set_aside(series: Claims, included_kinds: Collection[str]) -> tuple[str, str]:
    """(kind, reason) of a series that is not fetched; both "" for one to fetch."""
    if kind_and_reason := kind_of_modality(series["Modality"]):
        return kind_and_reason
    image_count = number_of(series, "NumberOfSeriesRelatedInstances")
    if image_count == 0:
        return NO_IMAGES
    image_type = series["ImageType"].split(VALUE_SEPARATOR)
    frame_count = number_of(series, "NumberOfFrames") or 1
    description = _description_of(series)
    # of an unknown number of images, the words of an overview alone tell nothing
    if is_for_planning(image_type, description, (image_count or USUAL_PIXELS) * frame_count):
        return _unless_included(LOCALISER, included_kinds)
    # what tells the size of an image tells the number of its frames too, where it has several
    has_one_frame = bool(series["Rows"]) and frame_count == 1
    if image_count == 1 and has_one_frame and not MOSAIC_IMAGE_TYPES & set(image_type):
        return _unless_included(SINGLE_IMAGE, included_kinds)
    return "", ""


def _description_of(series: Claims) -> str:
    """The words that `predict` tells a localiser by.  Where an archive tells nothing of the images
    the last of them, the name of the sequence, is not known, and a word stands for it."""
    sequence_name = series["SequenceName"]
    if not sequence_name and not series["Rows"]:
        sequence_name = "unknown"
    words = (series["SeriesDescription"], series["ProtocolName"], sequence_name)
    return " ".join(words).upper()


def _unless_included(
    kind_and_reason: tuple[str, str], included_kinds: Collection[str]
) -> tuple[str, str]:
    if kind_and_reason[0] in included_kinds:
        return "", ""
    return kind_and_reason
