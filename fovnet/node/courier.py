"""Takes reports to the peer: C-STORE, and where the peer offers it storage commitment (N-ACTION, answered by
N-EVENT-REPORT on this association or on one that the peer opens later)."""

from __future__ import annotations

import ssl
from collections.abc import Callable, Iterable
from dataclasses import dataclass
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

from fovnet.node.outbox import Outbox
from fovnet.node.peers import Peer
from fovnet.node.places import STORED, UNSENT
from fovnet.words import several

AT_ONCE = 50                            # reports in one association
REQUEST = 1                             # action type of PS3.4, table J.3-1: request storage commitment
SYNTAXES = [ExplicitVRLittleEndian, ImplicitVRLittleEndian]
FAILED_SEQUENCE, STORED_SEQUENCE = "FailedSOPSequence", "ReferencedSOPSequence"


@dataclass
class Courier:
    """Between an outbox and a peer.

    title  our AE title          tls  the context to speak TLS with it; None to speak plainly
    say    takes a line for the log, without patient data
    trouble  why nothing is delivered; "" if it is
    """

    outbox: Outbox
    peer: Peer
    title: str
    tls: ssl.SSLContext | None
    timeout_s: float
    say: Callable[[str], None]
    trouble: str = ""

    def round(self) -> bool:
        """Sends what is due and asks for the commitments that are due; whether there was anything to do."""
        unsent, stored = (self.outbox.due(state, AT_ONCE) for state in (UNSENT, STORED))
        if not unsent and not stored:
            return False
        association = self._associated()
        self.trouble = "" if association.is_established else self._why_not(association)
        if self.trouble:
            self.say(f"{self.trouble}; {several(len(unsent), 'report')} to be sent again")
            for path in (*unsent, *stored):
                self.outbox.failed(path)
            return True
        try:
            offered = {one.abstract_syntax for one in association.accepted_contexts}
            commits = StorageCommitmentPushModel in offered
            taken = [path for path in unsent if self._is_sent(association, path, offered, commits)]
            if commits:
                there = [self.outbox.places.reports(STORED) / path.name for path in taken]
                self._ask(association, [*there, *stored])
        finally:
            association.release()
        return True

    def _why_not(self, association: Association) -> str:
        """Why there is no association with the peer."""
        where = f"{self.peer.title} at {self.peer.host}:{self.peer.port}"
        if not association.is_rejected:
            return f"{where} does not answer"
        answer: Any = association.acceptor.primitive
        return f"{where} rejects {self.title}: {answer.reason_str}"

    def _associated(self) -> Association:
        ae = AE(self.title)
        ae.acse_timeout = ae.dimse_timeout = ae.network_timeout = ae.connection_timeout = self.timeout_s
        ae.add_requested_context(Comprehensive3DSRStorage, SYNTAXES)
        ae.add_requested_context(StorageCommitmentPushModel, SYNTAXES)
        return ae.associate(
            self.peer.host, self.peer.port, ae_title=self.peer.title,
            tls_args=(self.tls, self.peer.host) if self.tls else None,
            evt_handlers=[(evt.EVT_N_EVENT_REPORT, self.event)],
        )

    def _is_sent(self, association: Association, path: Path, offered: Iterable[Any], commits: bool) -> bool:
        """Whether the peer has stored a report; then it is moved."""
        status = None
        if association.is_established and Comprehensive3DSRStorage in offered:
            report = dcmread(path)
            status = association.send_c_store(report).get("Status")
        # a warning: stored, with some elements changed (PS3.4, table B.2-1)
        if status is None or (status != 0 and status >> 12 != 0xB):
            why = "gave no answer" if status is None else f"refused it, status {status:04X}"
            self.say(f"report {path.stem}: {self.peer.title} {why}; tried again later")
            self.outbox.failed(path)
            return False
        self.outbox.sent(path, str(report.SOPInstanceUID), commits)
        self.say(f"report {path.stem}: stored by {self.peer.title}")
        return True

    def _ask(self, association: Association, paths: list[Path]) -> None:
        """Requests the commitment to all of these reports in one transaction."""
        references = [_reference(path) for path in paths if path.exists()]       # committed meanwhile
        if not references or not association.is_established:
            return
        request = Dataset()
        request.TransactionUID = generate_uid(prefix=None)
        request.ReferencedSOPSequence = references
        status, _ = association.send_n_action(
            request, REQUEST, StorageCommitmentPushModel, StorageCommitmentPushModelInstance
        )
        for path in paths:
            (self.outbox.asked if status.get("Status") == 0 else self.outbox.failed)(path)

    def event(self, event: evt.Event) -> tuple[int, None]:
        """What the peer says of its commitment; the status of our answer.

        It goes by the UIDs of the reports and not by the transaction's, which a restart forgets.
        """
        told = event.event_information
        for kept, sequence in ((True, STORED_SEQUENCE), (False, FAILED_SEQUENCE)):
            for one in told.get(sequence) or ():
                if self.outbox.committed(str(one.ReferencedSOPInstanceUID), kept) and not kept:
                    self.say(f"{self.peer.title} does not keep a report that it stored; sent again later")
        return 0x0000, None


def _reference(path: Path) -> Dataset:
    report, reference = dcmread(path, specific_tags=["SOPClassUID", "SOPInstanceUID"]), Dataset()
    reference.ReferencedSOPClassUID = report.SOPClassUID
    reference.ReferencedSOPInstanceUID = report.SOPInstanceUID
    return reference
