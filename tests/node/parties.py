"""Nodes at work within the test, callers, and an archive."""

from __future__ import annotations

import ssl
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from threading import Thread
from typing import Any

from highdicom.sr import DeviceObserverIdentifyingAttributes
from pydicom.dataset import Dataset, FileMetaDataset
from pydicom.uid import ExplicitVRLittleEndian, generate_uid
from pynetdicom import AE, build_role, evt
from pynetdicom.sop_class import (
    Comprehensive3DSRStorage,
    MRImageStorage,
    StorageCommitmentPushModel,
    StorageCommitmentPushModelInstance,
    Verification,
)

from fovnet.decision.ensemble import Ensemble
from fovnet.node.answering import Answering
from fovnet.node.node import Node
from fovnet.node.peers import LOCAL_CALLER
from fovnet.node.places import Places, lock_places
from fovnet.node.settings import NodeSettings
from fovnet.report.exports.identity import device_uid_for

PATIENT = {"PatientName": "Doe^Jane", "PatientID": "MRN-4711", "AccessionNumber": "ACC-0815"}


@dataclass
class AtWork:
    """A node at work in threads of the test."""

    node: Node
    places: Places
    lines: list[str]

    @property
    def port(self) -> int:
        return self.node.port

    def until(self, **wanted: int) -> dict[str, Any]:
        """What the node tells as soon as these numbers are as wanted, and no series is on its way."""
        waited = time.monotonic() + 600
        while time.monotonic() < waited:
            told = self.node.status()
            there = all(told.get(name, 0) == many for name, many in wanted.items())
            if there and not told["series_arriving"]:
                return told
            time.sleep(0.05)
        raise AssertionError(f"{wanted} not reached: {told}; {self.lines}")


@contextmanager
def at_work(
    folder: Path, networks: Ensemble, faces: bool = True, **settings: Any
) -> Iterator[AtWork]:
    """A node on a free port, which calls a series at rest after half a second."""
    setting_by_name = {
        "title": "FOVNET",
        "port": 0,
        "callers": (LOCAL_CALLER,),
        "host": "127.0.0.1",
        "rest_s": 0.5,
    }
    setting_by_name |= settings
    with lock_places(folder) as places:
        lines: list[str] = []
        node = Node(
            places,
            Answering(places, networks, faces=faces),
            NodeSettings(**setting_by_name),
            lambda event, sentence, **facts: lines.append(sentence),
        )
        thread = Thread(target=node.run)
        thread.start()
        try:
            while not any("listens on port" in line for line in lines):
                assert thread.is_alive()
                time.sleep(0.01)
            yield AtWork(node, places, lines)
        finally:
            node.stopped.set()
            thread.join()


def own_report(image: Dataset) -> Dataset:
    """What marks a report of fovnet's in the study of an image, the device that observed; the rest of
    it is not looked at."""
    report, report.file_meta = Dataset(), FileMetaDataset()
    report.SOPClassUID, report.SOPInstanceUID = Comprehensive3DSRStorage, generate_uid()
    report.StudyInstanceUID, report.SeriesInstanceUID = image.StudyInstanceUID, generate_uid()
    report.PatientID, report.PatientName = image.PatientID, image.PatientName
    report.Modality = "SR"
    device = DeviceObserverIdentifyingAttributes(
        device_uid_for("a model"), name="fovnet", model_name="a model"
    )
    report.ContentSequence = list(device)
    report.file_meta.TransferSyntaxUID = ExplicitVRLittleEndian
    return report


def statuses(
    port: int, images: Sequence[Dataset], title: str = "SCANNER", called: str = "FOVNET", **how: Any
) -> list[int | None]:
    """What a node answers to each image, sent in one association; None for no answer."""
    ae = AE(title)
    ae.add_requested_context(MRImageStorage, ExplicitVRLittleEndian)
    association = ae.associate("127.0.0.1", port, ae_title=called, **how)
    if not association.is_established:
        return [None] * len(images)
    answers = []
    for image in images:
        answers.append(
            association.send_c_store(image).get("Status") if association.is_established else None
        )
    if association.is_established:
        association.release()
    return answers


@dataclass
class Archive:
    """A peer that stores reports, and commits itself to keep them or not.

    forgets   how many commitments it refuses before it gives one; None: it offers none
    back      the port of the node that it calls to commit itself
    at_once   it answers on the same association, before the answer to the request
    tells     whether it answers at all            reason   why it refuses, in its answer
    status    of its answer to a request for commitment
    knows     the AE titles that may call; empty: any
    takes     the SOP classes that it stores
    stored    the status of its answer to a report; None: it aborts the association
    aborts    it aborts every association that is asked for
    """

    forgets: int | None = None
    back: int = 0
    at_once: bool = False
    tells: bool = True
    reason: int = 0x0112
    status: int = 0x0000
    tls: ssl.SSLContext | None = None
    knows: Sequence[str] = ()
    takes: Sequence[str] = (Comprehensive3DSRStorage,)
    stored: int | None = 0x0000
    aborts: bool = False
    reports: list[str] = field(default_factory=list)
    calls: int = 0
    refuses: int = 0
    _server: Any = None

    def open(self) -> int:
        ae = AE("ARCHIVE")
        ae.require_calling_aet = list(self.knows)
        for sop_class in (*self.takes, Verification):
            ae.add_supported_context(sop_class)
        if self.forgets is not None:
            ae.add_supported_context(StorageCommitmentPushModel)
        handlers = [
            (evt.EVT_C_STORE, self._store),
            (evt.EVT_N_ACTION, self._asked),
            (evt.EVT_REQUESTED, self._called),
        ]
        self._server = ae.start_server(
            ("127.0.0.1", 0), block=False, evt_handlers=handlers, ssl_context=self.tls
        )
        return int(self._server.server_address[1])

    def close(self) -> None:
        self._server.shutdown()

    def _called(self, event: evt.Event) -> None:
        self.calls += 1
        if self.aborts:
            event.assoc.acse.send_abort(0x02)
            event.assoc.is_aborted = True

    def _store(self, event: evt.Event) -> int:
        if self.stored is None:
            event.assoc.abort()
            return 0
        if self.refuses:
            self.refuses -= 1
            return 0xA700
        self.reports.append(str(event.request.AffectedSOPInstanceUID))
        return self.stored

    def _asked(self, event: evt.Event) -> tuple[int, None]:
        if self.status or not self.tells:
            return self.status, None
        told = Dataset()
        told.TransactionUID = event.action_information.TransactionUID
        kept = not self.forgets
        self.forgets = max((self.forgets or 0) - 1, 0)
        references = event.action_information.ReferencedSOPSequence
        if not kept:
            for reference in references:
                reference.FailureReason = self.reason
        setattr(told, "ReferencedSOPSequence" if kept else "FailedSOPSequence", references)
        tell = Thread(target=self._tell, args=(event.assoc, told, 1 if kept else 2))
        tell.start()
        if self.at_once:
            tell.join()
        return 0x0000, None

    def _tell(self, association: Any, told: Dataset, kind: int) -> None:
        if self.back:
            ae = AE("ARCHIVE")
            ae.add_requested_context(StorageCommitmentPushModel)
            role = build_role(StorageCommitmentPushModel, scp_role=True)
            association = ae.associate("127.0.0.1", self.back, ae_title="FOVNET", ext_neg=[role])
        model = StorageCommitmentPushModel, StorageCommitmentPushModelInstance
        association.send_n_event_report(told, kind, *model)
        if self.back:
            association.release()
