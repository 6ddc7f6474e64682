"""The images of a series, fetched by WADO-RS (DICOM PS3.18, 10.4) as they are stored.

What arrives is counted and checked, whatever the status says.  Where the series is not given, or less
than it has, as by Orthanc where two patients have its UID, its images are asked for one by one.
"""

from __future__ import annotations

import shutil
from dataclasses import dataclass, field
from email.message import Message
from pathlib import Path
from typing import Any

import requests
from pydicom import dcmread

from fovnet.archive.faults import ArchiveError
from fovnet.archive.multipart import Parts
from fovnet.archive.query import UID_PATTERN
from fovnet.archive.timing import Throttle
from fovnet.archive.web import TIMEOUT_S, WebArchive, faults_of
from fovnet.archive.worklist import WorklistRow
from fovnet.volume.dicom.table import short_hash

AS_STORED = 'multipart/related; type="application/dicom"; transfer-syntax=*'
ANY_SYNTAX = 'multipart/related; type="application/dicom"'
HTTP_NOT_FOUND = 404
HTTP_NOT_ACCEPTABLE = 400, 406, 415
CHUNK_BYTES = 2**18
IDENTIFYING_TAGS = ["PatientID", "StudyInstanceUID", "SeriesInstanceUID", "SOPInstanceUID"]


@dataclass
class SeriesFetch:
    """One series on its way into a folder.

    image_uids  what has arrived
    """

    archive: WebArchive
    row: WorklistRow
    folder: Path
    throttle: Throttle
    image_uids: set[str] = field(default_factory=set)

    def fetch(self) -> None:
        """Fills the folder, which is there when all images are.  Raises ArchiveError."""
        part_folder = self.folder.with_name(f"{self.folder.name}.part")
        shutil.rmtree(part_folder, ignore_errors=True)
        part_folder.mkdir(parents=True, mode=0o700)
        self.throttle.wait_for_hours()
        try:
            self._receive("", part_folder)
        except ArchiveError as fault:
            if fault.status != HTTP_NOT_FOUND:
                raise
        if len(self.image_uids) != self.row.images:
            self._receive_missing(part_folder)
        part_folder.rename(self.folder)

    @property
    def _url(self) -> str:
        return f"{self.archive.url}/studies/{self.row.study_uid}/series/{self.row.series_uid}"

    def _receive_missing(self, part_folder: Path) -> None:
        """Asks for the images one by one that a search lists and that have not arrived."""
        images = self.archive.find_images(self.row.study_uid, self.row.series_uid).matches
        listed_uids = {
            image["SOPInstanceUID"]
            for image in images
            if not image["PatientID"] or short_hash(image["PatientID"]) == self.row.patient
        }
        for image_uid in sorted(listed_uids - self.image_uids):
            if UID_PATTERN.fullmatch(image_uid):
                self._receive(f"/instances/{image_uid}", part_folder)
        missing_count = len(listed_uids - self.image_uids)
        if missing_count or not self.image_uids:
            raise ArchiveError(
                "archive-incomplete",
                f"{self._url}: {missing_count or 'all'} of {len(listed_uids)} images do not come; have "
                "the archive check its files",
            )

    def _receive(self, place: str, part_folder: Path) -> None:
        """Keeps the images at a place below the series."""
        response = self._ask(place, AS_STORED)
        if response.status_code in HTTP_NOT_ACCEPTABLE:
            response.close()
            response = self._ask(place, ANY_SYNTAX)
        with response, faults_of(self._url):
            response.raise_for_status()
            boundary = _boundary_of(response.headers.get("Content-Type", ""))
            if boundary is None:
                raise self._not_dicom()
            try:
                for pieces in Parts(response.iter_content(CHUNK_BYTES), boundary):
                    self._keep(pieces, part_folder)
            except ValueError:
                raise ArchiveError(
                    "archive-unreachable",
                    f"{self._url}: the archive breaks off within an image; try whether it is up",
                ) from None

    def _ask(self, place: str, accepted: str) -> requests.Response:
        with faults_of(self._url):
            return self.archive.session.get(
                f"{self._url}{place}",
                headers={"Accept": accepted},
                stream=True,
                timeout=TIMEOUT_S,
            )

    def _keep(self, pieces: Any, part_folder: Path) -> None:
        """Writes one image, unless it is of another series or patient."""
        self.throttle.wait_for_image()
        path = part_folder / "arriving"
        with path.open("wb") as file:
            file.writelines(pieces)
        try:
            header = dcmread(path, specific_tags=IDENTIFYING_TAGS, stop_before_pixels=True)
            patient = short_hash(str(header.get("PatientID") or ""))
            uids = str(header.StudyInstanceUID), str(header.SeriesInstanceUID)
            image_uid = str(header.SOPInstanceUID)
        except Exception:  # pydicom raises various errors on what is no DICOM
            raise self._not_dicom() from None
        is_of_series = uids == (self.row.study_uid, self.row.series_uid)
        if is_of_series and patient == self.row.patient and UID_PATTERN.fullmatch(image_uid):
            path.rename(part_folder / f"{image_uid}.dcm")
            self.image_uids.add(image_uid)
        else:
            path.unlink()

    def _not_dicom(self) -> ArchiveError:
        return ArchiveError(
            "archive-answer",
            f"{self._url}: the archive answers what is no DICOM where images are expected; look into its log",
        )


def _boundary_of(content_type: str) -> bytes | None:
    """The boundary of a multipart answer; None for another."""
    message = Message()
    message["Content-Type"] = content_type
    boundary = message.get_param("boundary")
    if message.get_content_maintype() != "multipart" or not isinstance(boundary, str):
        return None
    return boundary.encode()
