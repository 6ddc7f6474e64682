"""The images of a series, fetched by WADO-RS (DICOM PS3.18, 10.4) as they are stored.

What arrives is counted and checked, whatever the status says.  Where the series is not given, or less
than it has, as by Orthanc where two patients have its UID, its images are asked for one by one.
"""

from __future__ import annotations

from dataclasses import dataclass
from email.message import Message

import requests

from fovnet.archive.arrival import Arrival
from fovnet.archive.faults import ArchiveError
from fovnet.archive.multipart import Parts
from fovnet.archive.web import TIMEOUT_S, WebArchive, faults_of
from fovnet.archive.worklist import WorklistRow

AS_STORED = 'multipart/related; type="application/dicom"; transfer-syntax=*'
ANY_SYNTAX = 'multipart/related; type="application/dicom"'
HTTP_NO_CONTENT = 204
HTTP_NOT_FOUND = 404
HTTP_NOT_ACCEPTABLE = 400, 406, 415
CHUNK_BYTES = 2**18


@dataclass
class SeriesFetch:
    """One series on its way from an archive that speaks DICOMweb."""

    archive: WebArchive
    arrival: Arrival

    def fetch(self) -> None:
        """Fills the folder of the series.  Raises ArchiveError."""
        row = self.arrival.row
        with self.arrival.arriving():
            try:
                self._receive("")
            except ArchiveError as fault:
                if fault.status != HTTP_NOT_FOUND:
                    raise
            self.arrival.complete(
                lambda: self.archive.find_images(row.study_uid, row.series_uid),
                lambda image_uid: self._receive(f"/instances/{image_uid}"),
            )

    def _receive(self, place: str) -> None:
        """Keeps the images at a place below the series."""
        response = self._ask(place, AS_STORED)
        if response.status_code in HTTP_NOT_ACCEPTABLE:
            response.close()
            response = self._ask(place, ANY_SYNTAX)
        url = self.arrival.name
        with response, faults_of(url):
            response.raise_for_status()
            if response.status_code == HTTP_NO_CONTENT:
                return
            boundary = _boundary_of(response.headers.get("Content-Type", ""))
            if boundary is None:
                raise self.arrival.not_dicom()
            try:
                for pieces in Parts(response.iter_content(CHUNK_BYTES), boundary):
                    self.arrival.keep(pieces)
            except ValueError:
                raise ArchiveError(
                    "archive-unreachable",
                    f"{url}: the archive breaks off within an image; try whether it is up",
                ) from None

    def _ask(self, place: str, accepted: str) -> requests.Response:
        url = self.arrival.name
        with faults_of(url):
            return self.archive.session.get(
                f"{url}{place}", headers={"Accept": accepted}, stream=True, timeout=TIMEOUT_S
            )


def series_url(archive: WebArchive, row: WorklistRow) -> str:
    """Where a series is; built here, as the addresses that archives give may lack the port."""
    return f"{archive.url}/studies/{row.study_uid}/series/{row.series_uid}"


def _boundary_of(content_type: str) -> bytes | None:
    """The boundary of a multipart answer; None for another."""
    message = Message()
    message["Content-Type"] = content_type
    boundary = message.get_param("boundary")
    if message.get_content_maintype() != "multipart" or not isinstance(boundary, str):
        return None
    return boundary.encode()
