"""Takes reports to the peer: C-STORE, and where the peer offers it storage commitment (N-ACTION,
answered by N-EVENT-REPORT on this association or on one that the peer opens later)."""

from __future__ import annotations

import ssl
import time
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from pydicom import dcmread
from pydicom.dataset import Dataset
from pydicom.uid import ExplicitVRLittleEndian, ImplicitVRLittleEndian, generate_uid
from pynetdicom import AE, evt
from pynetdicom.association import Association
from pynetdicom.sop_class import (  # type: ignore[attr-defined]
    Comprehensive3DSRStorage,
    StorageCommitmentPushModel,
    StorageCommitmentPushModelInstance,
)

from fovnet.node.figures import Figures
from fovnet.node.outbox import Outbox
from fovnet.node.peers import ReportPeer
from fovnet.node.places import STORED, UNSENT
from fovnet.words import several

AT_ONCE = 50  # reports in one association
REQUEST = 1  # action type of PS3.4, table J.3-1: request storage commitment
WARNING = 0xB  # first digit of a status: stored, with changes (PS3.4, B.2.3)
SYNTAXES = [ExplicitVRLittleEndian, ImplicitVRLittleEndian]
SR_WANTED = (
    "does not take Comprehensive 3D SR (1.2.840.10008.5.1.4.1.1.88.34); have it allowed there"
)


@dataclass
class Courier:
    """Between an outbox and a peer.

    title  our AE title
    tls    the context to speak TLS with it; None to speak plainly
    say    takes a line for the log, without patient data
    """

    outbox: Outbox
    peer: ReportPeer
    title: str
    tls: ssl.SSLContext | None
    timeout_s: float
    say: Callable[[str], None]
    figures: Figures = field(default_factory=Figures)
    _peer_trouble: str = ""
    _failures: int = 0
    _due_s: float = float("-inf")

    @property
    def trouble(self) -> str:
        """Why reports are not delivered; "" if they are, or none waits."""
        return "; ".join(filter(None, (self._peer_trouble, self.outbox.trouble)))

    def round(self) -> bool:
        """Sends what is due and asks for the commitments that are due; whether there was anything
        to do."""
        if self.outbox.clock() < self._due_s:
            return False
        give_up(self.outbox, self._peer_trouble, self.say, self.figures)
        unsent = self.outbox.due_reports(UNSENT, AT_ONCE)
        stored = self.outbox.due_reports(STORED, AT_ONCE)
        if not unsent and not stored:
            if self._peer_trouble and self.outbox.is_empty:
                self._peer_trouble = ""
                self._failures = 0
            return False
        started_s = time.monotonic()
        association, is_connected = self._call()
        is_silent = time.monotonic() - started_s >= self.timeout_s
        try:
            if association.is_established:
                trouble = self._hand_over(association, unsent, stored)
            else:
                trouble = self._reason_of_failure(association, is_connected, is_silent)
        finally:
            association.release()
        self._note(trouble, len(unsent))
        return True

    def _hand_over(self, association: Association, unsent: list[Path], stored: list[Path]) -> str:
        """Sends and asks in an association; what is wrong with the peer, "" if nothing is."""
        accepted_classes = {context.abstract_syntax for context in association.accepted_contexts}
        commits = StorageCommitmentPushModel in accepted_classes
        takes_reports = Comprehensive3DSRStorage in accepted_classes
        sent_paths = self._send(association, unsent, commits) if takes_reports else []
        if commits:
            stored_paths = [self.outbox.places.reports(STORED) / path.name for path in sent_paths]
            self._ask(association, [*stored_paths, *stored])
        else:
            self._end_commitment(stored)
        if unsent and not takes_reports:
            return f"{self._peer_name} {SR_WANTED}"
        if not association.is_established:
            seconds = f"{self.timeout_s:g} s"
            return f"{self._peer_name} ended the association, or did not answer for {seconds}"
        return ""

    def _note(self, trouble: str, unsent_count: int) -> None:
        """Tells what is wrong with the peer, and when it is called again."""
        self._failures = self._failures + 1 if trouble else 0
        if trouble:
            pause_s = self.outbox.pauses.after_s(self._failures)
            self._due_s = self.outbox.clock() + pause_s
            waiting = f"{several(unsent_count, 'report')} to be sent, " if unsent_count else ""
            self.say(f"{trouble}; {waiting}tried again in {pause_s:g} s")
        elif self._peer_trouble:
            self.say(f"{self._peer_name} takes reports again")
        self._peer_trouble = trouble

    @property
    def _peer_name(self) -> str:
        return f"{self.peer.title} at {self.peer.host}:{self.peer.port}"

    def _reason_of_failure(
        self, association: Association, is_connected: bool, is_silent: bool
    ) -> str:
        """Why there is no association with the peer."""
        if association.is_rejected:
            answer: Any = association.acceptor.primitive
            return f"{self._peer_name} rejects {self.title}: {answer.reason_str}"
        if association.rejected_contexts:  # the library aborts where nothing was accepted
            return f"{self._peer_name} {SR_WANTED}"
        if not is_connected:
            return f"{self._peer_name} does not answer" + (" by TLS (--to-tls)" if self.tls else "")
        if is_silent:
            seconds = f"{self.timeout_s:g} s"
            return f"{self._peer_name} lets {self.title} connect, and says nothing for {seconds}"
        return f"{self._peer_name} breaks off when {self.title} asks for an association"

    def _call(self) -> tuple[Association, bool]:
        """An association with the peer, or what has become of it; and whether the peer let us
        connect."""
        ae = AE(self.title)
        ae.acse_timeout = self.timeout_s
        ae.dimse_timeout = self.timeout_s
        ae.network_timeout = self.timeout_s
        ae.connection_timeout = self.timeout_s
        ae.add_requested_context(Comprehensive3DSRStorage, SYNTAXES)
        ae.add_requested_context(StorageCommitmentPushModel, SYNTAXES)
        connections: list[evt.Event] = []
        association = ae.associate(
            self.peer.host,
            self.peer.port,
            ae_title=self.peer.title,
            tls_args=(self.tls, self.peer.host) if self.tls else None,
            evt_handlers=[
                (evt.EVT_N_EVENT_REPORT, self.event),
                (evt.EVT_CONN_OPEN, connections.append),
            ],
        )
        return association, bool(connections)

    def _send(self, association: Association, paths: list[Path], commits: bool) -> list[Path]:
        """The reports that the peer has stored, of these; they are moved."""
        sent_paths: list[Path] = []
        paths_by_cause: dict[str, list[Path]] = {}
        for path in paths:
            if not association.is_established:
                break
            report = dcmread(path)
            status = association.send_c_store(report).get("Status")
            if status == 0 or (status is not None and status >> 12 == WARNING):
                self.outbox.mark_sent(path, str(report.SOPInstanceUID), commits)
                self.say(f"report {path.stem}: stored by {self.peer.title}")
                sent_paths.append(path)
                continue
            cause = "gave no answer" if status is None else f"refused it, status {status:04X}"
            paths_by_cause.setdefault(cause, []).append(path)
            if status is None:
                association.abort()
        for cause, refused_paths in paths_by_cause.items():
            self._put_off(refused_paths, cause)
        return sent_paths

    def _put_off(self, paths: list[Path], cause: str) -> None:
        """Tells of reports that failed at one cause, in a line, and puts them off."""
        for path in paths:
            self.outbox.mark_failed(path, f"{self.peer.title} {cause}")
        more = f" and {len(paths) - 1} more" if len(paths) > 1 else ""
        self.say(f"report {paths[0].stem}{more}: {self.peer.title} {cause}; tried again later")

    def _ask(self, association: Association, paths: list[Path]) -> None:
        """Requests the commitment to all of these reports in one transaction."""
        paths = [path for path in paths if path.exists()]  # the others are committed meanwhile
        if not paths or not association.is_established:
            return
        request = Dataset()
        request.TransactionUID = generate_uid(prefix=None)
        request.ReferencedSOPSequence = [_reference(path) for path in paths]
        status, _ = association.send_n_action(
            request, REQUEST, StorageCommitmentPushModel, StorageCommitmentPushModelInstance
        )
        code = status.get("Status")
        if code == 0:
            for path in paths:
                self.outbox.mark_asked(
                    path, f"{self.peer.title} does not say whether it keeps what it stored"
                )
        elif code is None:
            self._put_off(paths, "gave no answer when asked to commit itself to keep it")
            association.abort()
        else:
            self._put_off(paths, f"refuses to commit itself to keep it, status {code:04X}")

    def _end_commitment(self, stored: list[Path]) -> None:
        """Takes reports as delivered that a peer has stored which no longer offers to commit
        itself."""
        for path in stored:
            self.outbox.give_up(path, STORED)
        if stored:
            count = several(len(stored), "report")
            self.say(
                f"{self._peer_name} offers no storage commitment any more: {count} it stored are "
                "delivered"
            )

    def event(self, event: evt.Event) -> tuple[int, None]:
        """What the peer says of its commitment; the status of our answer.

        It goes by the UIDs of the reports and not by the transaction's, which a restart forgets.
        """
        answer = event.event_information
        for reference in answer.get("ReferencedSOPSequence") or ():
            self.outbox.mark_committed(str(reference.ReferencedSOPInstanceUID), "")
        reasons: dict[str, int] = {}
        for reference in answer.get("FailedSOPSequence") or ():
            reason = f"{reference.get('FailureReason', 0):04X}"
            cause = f"{self.peer.title} does not keep what it stored, reason {reason}"
            if self.outbox.mark_committed(str(reference.ReferencedSOPInstanceUID), cause):
                reasons[cause] = reasons.get(cause, 0) + 1
        for cause, count in reasons.items():
            self.say(f"{cause}: {several(count, 'report')} sent again later")
        return 0x0000, None


def give_up(outbox: Outbox, trouble: str, say: Callable[[str], None], figures: Figures) -> None:
    """Ends the attempts at reports that are too old.

    trouble  why those are not delivered that have no trouble of their own; "" ends no attempt at
             them
    """
    hours = f"{outbox.pauses.give_up_s / 3600:g} h (--give-up)"
    for path, cause in outbox.overdue_reports(UNSENT, trouble):
        outbox.give_up(path, UNSENT)
        figures.count("given_up")
        say(f"report {path.stem}: given up after {hours} and removed, its answer stays; {cause}")
    for path, cause in outbox.overdue_reports(STORED, trouble):
        outbox.give_up(path, STORED)
        figures.count("uncommitted")
        say(f"report {path.stem}: stored, not asked for any more after {hours}; {cause}")


def _reference(path: Path) -> Dataset:
    report = dcmread(path, specific_tags=["SOPClassUID", "SOPInstanceUID"])
    reference = Dataset()
    reference.ReferencedSOPClassUID = report.SOPClassUID
    reference.ReferencedSOPInstanceUID = report.SOPInstanceUID
    return reference
