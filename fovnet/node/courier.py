"""Takes reports to the peer: C-STORE, and where the peer offers it storage commitment (N-ACTION,
answered by N-EVENT-REPORT on this association or on one that the peer opens later)."""

from __future__ import annotations

import ssl
import time
from dataclasses import dataclass, field
from pathlib import Path
from socket import socket
from typing import Any

from pydicom import dcmread
from pydicom.dataset import Dataset
from pydicom.uid import generate_uid
from pynetdicom import AE, evt
from pynetdicom.association import Association
from pynetdicom.sop_class import (  # type: ignore[attr-defined]
    Comprehensive3DSRStorage,
    StorageCommitmentPushModel,
    StorageCommitmentPushModelInstance,
)

from fovnet.node.calling import call, calling_entity
from fovnet.node.door import REPORT_SYNTAXES
from fovnet.node.outbox import Outbox
from fovnet.node.peers import ReportPeer
from fovnet.node.places import STORED, UNSENT
from fovnet.watch.audit import Audit
from fovnet.watch.figures import Figures
from fovnet.watch.log import Log
from fovnet.words import several

REPORTS_IN_ONE_ASSOCIATION = 50
REQUEST_COMMITMENT = 1  # action type of PS3.4, table J.3-1: request storage commitment
STATUS_DIGIT_WARNING = 0xB  # first digit of a status: stored, with changes (PS3.4, B.2.3)
REFUSES_REPORTS = (
    "does not take Comprehensive 3D SR (1.2.840.10008.5.1.4.1.1.88.34); have it allowed there"
)


@dataclass
class Courier:
    """Takes the reports of an outbox to a peer.

    own_title    our AE title
    tls_context  to speak TLS with the peer; None to speak plainly
    log          takes an event, without patient data
    audit        has a row for the reports of each association; None: there is none
    asks_commitment  whether the peer is asked to commit itself to keep reports, where it offers it
    """

    outbox: Outbox
    peer: ReportPeer
    own_title: str
    tls_context: ssl.SSLContext | None
    timeout_s: float
    log: Log
    figures: Figures = field(default_factory=Figures)
    audit: Audit | None = None
    asks_commitment: bool = True
    _peer_trouble: str = ""  # why the peer cannot be reached, in words
    _failure_count: int = 0  # of attempts in a row
    _next_attempt_s: float = float("-inf")  # on the clock of the outbox

    @property
    def trouble(self) -> str:
        """Why reports are not delivered; "" if they are, or none waits."""
        return "; ".join(filter(None, (self._peer_trouble, self.outbox.trouble)))

    def deliver_due_reports(self) -> bool:
        """Sends the reports and asks for the commitments that are due; whether there were any."""
        if self.outbox.clock() < self._next_attempt_s:
            return False
        give_up_old_reports(self.outbox, self._peer_trouble, self.log, self.figures)
        unsent_paths = self.outbox.due_reports(UNSENT, REPORTS_IN_ONE_ASSOCIATION)
        uncommitted_paths = self.outbox.due_reports(STORED, REPORTS_IN_ONE_ASSOCIATION)
        if not unsent_paths and not uncommitted_paths:
            if self._peer_trouble and self.outbox.is_empty:
                self._peer_trouble = ""
                self._failure_count = 0
            return False
        started_s = time.monotonic()
        connections: list[socket] = []
        association = self._open_association(connections)
        waited_until_timeout = time.monotonic() - started_s >= self.timeout_s
        is_connected = bool(connections)
        try:
            if association.is_established:
                trouble = self._deliver(association, unsent_paths, uncommitted_paths)
            else:
                trouble = self._why_no_association(association, is_connected, waited_until_timeout)
        finally:
            association.release()
            # pynetdicom 3.0.4 leaves a socket open whose `shutdown` raises, as where the peer has gone
            for connection in connections:
                connection.close()
        self._note_peer_trouble(trouble, len(unsent_paths))
        return True

    def _deliver(
        self, association: Association, unsent_paths: list[Path], uncommitted_paths: list[Path]
    ) -> str:
        """Sends the unsent reports and requests commitment to the uncommitted; what is wrong with
        the peer, "" if nothing is."""
        accepted_classes = {context.abstract_syntax for context in association.accepted_contexts}
        peer_offers_commitment = StorageCommitmentPushModel in accepted_classes
        peer_takes_reports = Comprehensive3DSRStorage in accepted_classes
        sent_paths: list[Path] = []
        if peer_takes_reports:
            sent_paths = self._send_reports(association, unsent_paths, peer_offers_commitment)
        self._write_audit("C-STORE", len(sent_paths))
        if peer_offers_commitment:
            newly_stored_paths = [
                self.outbox.places.reports(STORED) / path.name for path in sent_paths
            ]
            self._request_commitment(association, [*newly_stored_paths, *uncommitted_paths])
        else:
            self._take_stored_as_delivered(uncommitted_paths)
        if unsent_paths and not peer_takes_reports:
            return f"{self._peer_name} {REFUSES_REPORTS}"
        if not association.is_established:
            timeout_in_words = f"{self.timeout_s:g} s"
            return (
                f"{self._peer_name} ended the association, or did not answer for {timeout_in_words}"
            )
        return ""

    def _write_audit(self, service: str, object_count: int) -> None:
        if self.audit is not None and object_count:
            self.audit.write(self._peer_name, {(service, "sent"): object_count})

    def _note_peer_trouble(self, trouble: str, unsent_count: int) -> None:
        """Logs what is wrong with the peer, "" for nothing, and sets when it is called again."""
        if trouble:
            self._failure_count += 1
            self.figures.count("retries")
            pause_s = self.outbox.pauses.after_s(self._failure_count)
            self._next_attempt_s = self.outbox.clock() + pause_s
            unsent_in_words = ""
            if unsent_count:
                unsent_in_words = f"{several(unsent_count, 'report')} to be sent, "
            self.log(
                "archive-failed",
                f"{trouble}; {unsent_in_words}tried again in {pause_s:g} s",
                pause_s=pause_s,
                reports=unsent_count,
            )
        else:
            self._failure_count = 0
            if self._peer_trouble:
                self.log("archive-back", f"{self._peer_name} takes reports again")
        self._peer_trouble = trouble

    @property
    def _peer_name(self) -> str:
        return f"{self.peer.title} at {self.peer.host}:{self.peer.port}"

    def _why_no_association(
        self, association: Association, is_connected: bool, waited_until_timeout: bool
    ) -> str:
        """Why there is no association with the peer."""
        if association.is_rejected:
            rejection: Any = association.acceptor.primitive
            return f"{self._peer_name} rejects {self.own_title}: {rejection.reason_str}"
        if association.rejected_contexts:  # the library aborts where nothing was accepted
            return f"{self._peer_name} {REFUSES_REPORTS}"
        if not is_connected:
            no_answer = f"{self._peer_name} does not answer"
            if self.tls_context:
                no_answer += " by TLS (--to-tls)"
            return no_answer
        if waited_until_timeout:
            timeout_in_words = f"{self.timeout_s:g} s"
            return f"{self._peer_name} lets {self.own_title} connect, and says nothing for {timeout_in_words}"
        return f"{self._peer_name} breaks off when {self.own_title} asks for an association"

    def _open_association(self, connections: list[socket]) -> Association:
        """An association with the peer, or what has become of it; the connection under it is added to
        `connections` where the peer let us connect."""
        return call(
            reporting_entity(self.own_title, self.timeout_s, self.asks_commitment),
            self.peer,
            self.tls_context,
            connections,
            [(evt.EVT_N_EVENT_REPORT, self.on_commitment)],
        )

    def _send_reports(
        self, association: Association, report_paths: list[Path], peer_offers_commitment: bool
    ) -> list[Path]:
        """Sends these reports; those that the peer has stored, which are then moved."""
        sent_paths: list[Path] = []
        failed_paths_by_cause: dict[str, list[Path]] = {}
        for report_path in report_paths:
            if not association.is_established:
                break
            report = dcmread(report_path)
            age_s = time.time() - report_path.stat().st_mtime
            store_status = association.send_c_store(report).get("Status")
            if _is_stored(store_status):
                self.outbox.mark_sent(
                    report_path, str(report.SOPInstanceUID), peer_offers_commitment
                )
                self.figures.count("sent")
                self.figures.time("delivery", max(0.0, age_s))
                self.log(
                    "report-stored",
                    f"report {report_path.stem}: stored by {self.peer.title}",
                    series=report_path.stem,
                )
                sent_paths.append(report_path)
                continue
            failure_cause = "gave no answer"
            if store_status is not None:
                failure_cause = f"refused it, status {store_status:04X}"
            failed_paths_by_cause.setdefault(failure_cause, []).append(report_path)
            if store_status is None:
                association.abort()
        for failure_cause, failed_paths in failed_paths_by_cause.items():
            self._put_off_reports(failed_paths, failure_cause)
        return sent_paths

    def _put_off_reports(self, report_paths: list[Path], cause: str) -> None:
        """Puts off reports that failed at one cause, and logs that in a line."""
        for report_path in report_paths:
            self.outbox.mark_failed(report_path, f"{self.peer.title} {cause}")
        self.figures.count("retries", len(report_paths))
        others_in_words = ""
        if len(report_paths) > 1:
            others_in_words = f" and {len(report_paths) - 1} more"
        self.log(
            "reports-put-off",
            f"report {report_paths[0].stem}{others_in_words}: {self.peer.title} {cause}; tried again later",
            series=report_paths[0].stem,
            reports=len(report_paths),
            cause=cause,
        )

    def _request_commitment(self, association: Association, paths: list[Path]) -> None:
        """Requests the commitment to all of these reports in one transaction."""
        paths = [path for path in paths if path.exists()]  # the others are committed meanwhile
        if not paths or not association.is_established:
            return
        commitment_request = Dataset()
        commitment_request.TransactionUID = generate_uid(prefix=None)
        commitment_request.ReferencedSOPSequence = [_reference_to(path) for path in paths]
        response, _ = association.send_n_action(
            commitment_request,
            REQUEST_COMMITMENT,
            StorageCommitmentPushModel,
            StorageCommitmentPushModelInstance,
        )
        status_code = response.get("Status")
        self._write_audit("N-ACTION", len(paths))
        if status_code == 0:
            for path in paths:
                self.outbox.mark_asked(
                    path, f"{self.peer.title} does not say whether it keeps what it stored"
                )
        elif status_code is None:
            self._put_off_reports(paths, "gave no answer when asked to commit itself to keep it")
            association.abort()
        else:
            self._put_off_reports(
                paths, f"refuses to commit itself to keep it, status {status_code:04X}"
            )

    def _take_stored_as_delivered(self, uncommitted_paths: list[Path]) -> None:
        """Takes reports as delivered that a peer has stored which no longer offers to commit
        itself."""
        for path in uncommitted_paths:
            self.outbox.give_up(path, STORED)
        if uncommitted_paths:
            reports_in_words = several(len(uncommitted_paths), "report")
            self.log(
                "commitment-gone",
                f"{self._peer_name} offers no storage commitment any more: {reports_in_words} it stored are "
                "delivered",
                reports=len(uncommitted_paths),
            )

    def on_commitment(self, event: evt.Event) -> tuple[int, None]:
        """What the peer says of its commitment; the status of our answer.

        It goes by the UIDs of the reports and not by the transaction's, which a restart forgets.
        """
        commitment_result = event.event_information
        for reference in commitment_result.get("ReferencedSOPSequence") or ():
            self.outbox.mark_committed(str(reference.ReferencedSOPInstanceUID), "")
        report_count_by_cause: dict[str, int] = {}
        for reference in commitment_result.get("FailedSOPSequence") or ():
            reason_code = f"{reference.get('FailureReason', 0):04X}"
            cause = f"{self.peer.title} does not keep what it stored, reason {reason_code}"
            if self.outbox.mark_committed(str(reference.ReferencedSOPInstanceUID), cause):
                report_count_by_cause[cause] = report_count_by_cause.get(cause, 0) + 1
        for cause, report_count in report_count_by_cause.items():
            self.log(
                "reports-not-kept",
                f"{cause}: {several(report_count, 'report')} sent again later",
                reports=report_count,
            )
        return 0x0000, None


def reporting_entity(own_title: str, timeout_s: float, asks_commitment: bool = True) -> AE:
    """The application that sends reports, with all contexts that it proposes."""
    application_entity = calling_entity(own_title, timeout_s)
    application_entity.add_requested_context(Comprehensive3DSRStorage, REPORT_SYNTAXES)
    if asks_commitment:
        application_entity.add_requested_context(StorageCommitmentPushModel, REPORT_SYNTAXES)
    return application_entity


def give_up_old_reports(outbox: Outbox, trouble: str, log: Log, figures: Figures) -> None:
    """Ends the attempts at reports that are too old.

    trouble  why those are not delivered that have no trouble of their own; "" ends no attempt at
             them
    """
    age_limit_in_words = f"{outbox.pauses.give_up_s / 3600:g} h (--give-up)"
    for report_path, cause in outbox.overdue_reports(UNSENT, trouble):
        outbox.give_up(report_path, UNSENT)
        figures.count("given_up")
        log(
            "report-given-up",
            f"report {report_path.stem}: given up after {age_limit_in_words} and removed, its answer stays; {cause}",
            series=report_path.stem,
        )
    for report_path, cause in outbox.overdue_reports(STORED, trouble):
        outbox.give_up(report_path, STORED)
        figures.count("uncommitted")
        log(
            "report-uncommitted",
            f"report {report_path.stem}: stored, not asked for any more after {age_limit_in_words}; {cause}",
            series=report_path.stem,
        )


def _is_stored(store_status: int | None) -> bool:
    """Whether a status of C-STORE says that the report was stored, with or without a warning; None
    is no answer."""
    if store_status is None:
        return False
    return store_status == 0 or store_status >> 12 == STATUS_DIGIT_WARNING


def _reference_to(report_path: Path) -> Dataset:
    """An item of Referenced SOP Sequence that names a report by its UIDs."""
    report = dcmread(report_path, specific_tags=["SOPClassUID", "SOPInstanceUID"])
    reference = Dataset()
    reference.ReferencedSOPClassUID = report.SOPClassUID
    reference.ReferencedSOPInstanceUID = report.SOPInstanceUID
    return reference
