"""Reports stored in an archive by STOW-RS (DICOM PS3.18, 10.5), through dicomweb-client 0.61."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

import requests
from pydicom import dcmread
from pydicom.dataset import Dataset

from fovnet.archive.faults import ArchiveError
from fovnet.archive.web import WebArchive, faults_of
from fovnet.node.outbox import Outbox
from fovnet.node.places import UNSENT

HTTP_CONFLICT = 409  # nothing was stored; the body says why


@dataclass
class WebCourier:
    """Takes the reports of an outbox to an archive that speaks DICOMweb, as `Courier` to one that
    speaks DICOM."""

    outbox: Outbox
    archive: WebArchive

    @property
    def trouble(self) -> str:
        """Why reports are not delivered; "" if they are, or none waits."""
        return self.outbox.trouble

    def deliver_due_reports(self) -> bool:
        """Sends the reports that are due, until the archive cannot be asked; whether there were
        any."""
        paths = self.outbox.due_reports(UNSENT)
        for index, path in enumerate(paths):
            try:
                self._store(path)
            except ArchiveError as fault:
                failed_paths = [path]
                if fault.stops_all:
                    failed_paths = paths[index:]
                for failed_path in failed_paths:
                    self.outbox.mark_failed(failed_path, fault.sentence)
                if fault.stops_all:
                    break
            else:
                self.outbox.mark_sent(path, "", to_be_committed=False)
        return bool(paths)

    def _store(self, path: Path) -> None:
        """Stores a report.  Raises ArchiveError unless the archive says that it did: a page with
        status 200 says nothing."""
        report = dcmread(path)
        url = self.archive.url
        with faults_of(url):
            try:
                answer = self.archive.client.store_instances([report])
                stored_uids = _uids_in(answer, "ReferencedSOPSequence")
                reasons = _reasons_in(answer)
            except requests.HTTPError as fault:
                if fault.response is None or fault.response.status_code != HTTP_CONFLICT:
                    raise
                stored_uids = set()
                reasons = _reasons_of_conflict(fault.response)
            except requests.RequestException:
                raise
            except Exception:  # the client raises various errors on what is no answer to STOW-RS
                stored_uids = set()
                reasons = []
        if reasons:
            raise ArchiveError(
                "archive-failed",
                f"{url}: refuses a report, failure reason {', '.join(reasons)}; look into its log",
            )
        if report.SOPInstanceUID not in stored_uids:
            raise ArchiveError(
                "archive-answer",
                f"{url}: does not say that it stored a report; give the root of its DICOMweb service",
            )


def _uids_in(answer: Dataset, keyword: str) -> set[str]:
    return {str(item.ReferencedSOPInstanceUID) for item in answer.get(keyword) or ()}


def _reasons_in(answer: Dataset) -> list[str]:
    """The failure reasons of an answer, as PS3.4 writes them: 0110."""
    return [f"{item.get('FailureReason', 0):04X}" for item in answer.get("FailedSOPSequence") or ()]


def _reasons_of_conflict(response: requests.Response) -> list[str]:
    """As `_reasons_in`; one for an answer that gives none."""
    try:
        reasons = _reasons_in(Dataset.from_json(response.json()))
    except Exception:  # various errors on what is no DICOM JSON
        reasons = []
    return reasons or ["not given"]
