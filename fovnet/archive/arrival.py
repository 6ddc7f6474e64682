"""The images of a series as they arrive, by whatever protocol: each checked and counted."""

from __future__ import annotations

import shutil
import time
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path

from pydicom import dcmread

from fovnet.archive.claims import Answer
from fovnet.archive.faults import ArchiveError
from fovnet.archive.query import UID_PATTERN
from fovnet.archive.timing import Throttle
from fovnet.archive.worklist import WorklistRow
from fovnet.volume.dicom.table import short_hash

IDENTIFYING_TAGS = ["PatientID", "StudyInstanceUID", "SeriesInstanceUID", "SOPInstanceUID"]


@dataclass
class Arrival:
    """One series on its way into a folder, which is there when all its images are.

    name        of the series at its archive, for messages
    image_uids  what has arrived
    last_s      when the last of it did, by the monotonic clock
    """

    row: WorklistRow
    folder: Path
    name: str
    throttle: Throttle
    image_uids: set[str] = field(default_factory=set)
    last_s: float = 0.0

    @contextmanager
    def arriving(self) -> Iterator[None]:
        """Waits for the hours.  While the block runs, images may be kept; the folder is there
        afterwards, or nothing of it where the block raises."""
        self.throttle.wait_for_hours()
        self._part_folder.mkdir(parents=True, mode=0o700)
        try:
            yield
            self._part_folder.rename(self.folder)
        finally:
            shutil.rmtree(self._part_folder, ignore_errors=True)

    def keep(self, pieces: Iterable[bytes]) -> None:
        """Writes one image, unless it is of another series or patient.  Raises ArchiveError for what
        is no DICOM."""
        path = self._part_folder / "arriving"
        with path.open("wb") as file:
            file.writelines(pieces)
        if not self.take(path):
            path.unlink()

    def take(self, path: Path) -> bool:
        """Moves one image here, unless it is of another series or patient; whether it did.  Raises
        ArchiveError for what is no DICOM."""
        self.throttle.wait_for_image()
        try:
            header = dcmread(path, specific_tags=IDENTIFYING_TAGS, stop_before_pixels=True)
            patient = short_hash(str(header.get("PatientID") or ""))
            uids = str(header.StudyInstanceUID), str(header.SeriesInstanceUID)
            image_uid = str(header.SOPInstanceUID)
        except Exception:  # pydicom raises various errors on what is no DICOM
            raise self.not_dicom() from None
        is_of_series = uids == (self.row.study_uid, self.row.series_uid)
        if not is_of_series or patient != self.row.patient or not UID_PATTERN.fullmatch(image_uid):
            return False
        path.rename(self._part_folder / f"{image_uid}.dcm")
        self.image_uids.add(image_uid)
        self.last_s = time.monotonic()
        return True

    def complete(self, list_images: Callable[[], Answer], ask: Callable[[str], None]) -> None:
        """Asks for images one by one that a search lists and that have not arrived, where so many
        have not arrived as the worklist counts.  Raises ArchiveError where they do not come."""
        if len(self.image_uids) != self.row.images:
            listed_uids = {
                image["SOPInstanceUID"]
                for image in list_images().matches
                if not image["PatientID"] or short_hash(image["PatientID"]) == self.row.patient
            }
            for image_uid in sorted(listed_uids - self.image_uids):
                if UID_PATTERN.fullmatch(image_uid):
                    ask(image_uid)
            missing_uids = listed_uids - self.image_uids
            if len(self.image_uids) >= len(listed_uids):
                missing_uids.discard(
                    ""
                )  # of an answer without a UID, or damaged: any of the others
            self._refuse_missing(len(listed_uids), len(missing_uids))

    def not_dicom(self) -> ArchiveError:
        """What is said of an answer that is no DICOM."""
        return ArchiveError(
            "archive-answer",
            f"{self.name}: the archive answers what is no DICOM where images are expected; look into its log",
        )

    @property
    def _part_folder(self) -> Path:
        return self.folder.with_name(f"{self.folder.name}.part")

    def _refuse_missing(self, listed_count: int, missing_count: int) -> None:
        """Raises ArchiveError "archive-incomplete" unless images have come, and none is missing."""
        if missing_count or not self.image_uids:
            raise ArchiveError(
                "archive-incomplete",
                f"{self.name}: {missing_count or 'all'} of {listed_count} images do not come; have "
                "the archive check its files",
            )
