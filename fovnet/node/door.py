"""The door: a DICOM store SCP that takes MR images from callers it knows, and acknowledges an
instance when it is on the disk.

A stranger's connection is closed by its address, before a byte is read; a known address with
another AE title is rejected.  Other SOP classes than MR images are refused by presentation context, but for that of
our own reports: these are taken and not kept, as Orthanc 1.10 ends the move of a study at the first object
without a context, or with a failure, and sends the newest series first.
Where the disk is nearly full, the status is A700 (out of resources), and callers try again later.
"""

from __future__ import annotations

import ssl
import time
from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from io import BytesIO
from pathlib import Path
from socketserver import BaseServer
from threading import Thread
from typing import Any, BinaryIO, Protocol

from pydicom import dcmread
from pydicom.filebase import DicomBytesIO
from pydicom.filewriter import write_file_meta_info
from pydicom.uid import UID, ExplicitVRLittleEndian, ImplicitVRLittleEndian
from pynetdicom import AE, _config, evt
from pynetdicom.dimse_messages import C_STORE_RQ, N_EVENT_REPORT_RQ
from pynetdicom.dsutils import create_file_meta
from pynetdicom.sop_class import (  # type: ignore[attr-defined]
    Comprehensive3DSRStorage,
    EnhancedMRImageStorage,
    LegacyConvertedEnhancedMRImageStorage,
    MRImageStorage,
    StorageCommitmentPushModel,
    Verification,
)
from pynetdicom.transport import ThreadedAssociationServer

from fovnet.node.connection import connection_of, reason_of_end
from fovnet.node.lobby import Lobby
from fovnet.node.peers import ANY_TITLE, Caller
from fovnet.node.places import hash_uids
from fovnet.node.refusals import Refusals
from fovnet.node.settings import DoorLimits
from fovnet.report.exports.dicom_ownership import is_our_dicom
from fovnet.volume.dicom.decoding import list_decodable_syntaxes
from fovnet.watch.audit import Audit
from fovnet.watch.figures import Figures
from fovnet.watch.log import Log
from fovnet.words import join_names

MR_IMAGE_CLASSES = (MRImageStorage, EnhancedMRImageStorage, LegacyConvertedEnhancedMRImageStorage)
# who wrote the file meta information, in every version
OUR_IMPLEMENTATION_UID = UID("2.25.201457331706483052718460175322467185937")
# PS3.4, table B.2-1
STATUS_SUCCESS = 0x0000
STATUS_ELEMENTS_DISCARDED = 0xB006
STATUS_OUT_OF_RESOURCES = 0xA700
STATUS_MISMATCH = 0xA900
STATUS_NOT_UNDERSTOOD = 0xC000
# (result, source, reason) of PS3.8, table 9-21
REJECT_UNKNOWN_CALLER = 1, 1, 3
REJECT_LIMIT_EXCEEDED = 2, 3, 2
# of a presentation context whose class is taken, but none of its transfer syntaxes: table 9-18
RESULT_SYNTAX_NOT_TAKEN = 4
MOST_CLASSES_NAMED = 3  # classes that a line of the log names
LONGEST_PDU = 2**20  # bytes of a request to associate, at most
AUDIT_PERIOD_S = 10.0
"""While an association lasts the audit has a row so often: a kill costs it what came since the last."""
LARGEST_PDU_RECEIVED = 2**17  # bytes of a PDU that senders are told to keep to
REPORT_SYNTAXES = [ExplicitVRLittleEndian, ImplicitVRLittleEndian]
IDENTIFYING_TAGS = ["SOPClassUID", "SOPInstanceUID", "StudyInstanceUID", "SeriesInstanceUID"]


class InstanceMismatch(ValueError):
    """An instance that belongs nowhere; what its sender did, in words."""


class InstanceKeeper(Protocol):
    """What instances are given to, from any thread: an `Inbox`."""

    def keep(
        self, write: Callable[[BinaryIO], object], read_names: Callable[[Path], tuple[str, str]]
    ) -> object:
        """As `Inbox`; or raises InstanceMismatch."""

    def free_bytes(self) -> int:
        """What the disk has left."""

    def wait_for_room(self, has_room: Callable[[], bool]) -> None:
        """Notes that an instance was refused for want of room."""


@dataclass
class UnwrittenServices:
    """What an association did that has no row in the audit yet, and since when, on a monotonic clock."""

    object_count: Counter[tuple[str, str]] = field(default_factory=Counter)
    since_s: float = field(default_factory=time.monotonic)


class DoorServer(ThreadedAssociationServer):
    """As the library's, for known addresses."""

    callers: Sequence[Caller] = ()
    tls: ssl.SSLContext | None = None
    request_s: float = 0.0
    refusals: Refusals
    daemon_threads = True

    def get_request(self) -> tuple[Any, tuple[str, int]]:
        connection, address = super().get_request()
        return connection_of(connection, self.tls, self.request_s), address

    def verify_request(self, request: Any, client_address: Any) -> bool:
        """Whether a connection is from a known address; another one is told of in the log."""
        is_allowed = any(caller.is_at(client_address[0]) for caller in self.callers)
        if not is_allowed:
            self.refusals.tell(
                "strangers", client_address[0], "may not call; --from AE@NETWORK lets it in"
            )
        return is_allowed

    def handle_error(self, request: Any, client_address: Any) -> None:
        self.refusals.figures.count("connections_broken")

    def shutdown(self) -> None:
        """Listens no more.  The library's own wants to be on the list of its AE's servers, too."""
        BaseServer.shutdown(self)
        self.server_close()


@dataclass
class Door:
    """A listening socket and what happens behind it.

    log            takes an event, without patient data
    on_commitment  told of what a peer says of its commitment; None: there is no peer
    audit          has rows for the services of an association, which add up; None: there is none
    """

    inbox: InstanceKeeper
    figures: Figures
    limits: DoorLimits
    callers: Sequence[Caller]
    log: Log
    on_commitment: Callable[[evt.Event], tuple[int, None]] | None = None
    audit: Audit | None = None
    lobby: Lobby = field(init=False)
    refusals: Refusals = field(init=False)
    _server: DoorServer | None = field(default=None, init=False)
    _is_full: bool = field(default=False, init=False)
    _services: dict[Any, UnwrittenServices] = field(default_factory=dict, init=False)
    """by association, until it ends"""
    _refused_offers: dict[Any, str] = field(default_factory=dict, init=False)
    """{association that has sent no instance: what of its offer is not taken, in words}"""

    def __post_init__(self) -> None:
        self.lobby = Lobby(self.limits.associations)
        self.refusals = Refusals(self.figures, self.log, self.audit)

    def open(self, title: str, host: str, port: int, tls: ssl.SSLContext | None) -> int:
        """The port on which it listens from now on.  Raises OSError if it is taken."""
        _config.LOG_HANDLER_LEVEL = "none"  # its log names patients, and nobody reads it
        application_entity = listening_entity(title, self.limits, self.on_commitment is not None)
        event_handlers: list[Any] = [
            (evt.EVT_CONN_OPEN, self._on_open),
            (evt.EVT_CONN_CLOSE, self._on_close),
            (evt.EVT_REQUESTED, self._on_request),
            (evt.EVT_ACCEPTED, self._on_accept),
            (evt.EVT_DIMSE_RECV, self._on_message),
            (evt.EVT_ABORTED, self._on_abort),
            (evt.EVT_C_STORE, self._on_store),
        ]
        if self.on_commitment:
            event_handlers.append((evt.EVT_N_EVENT_REPORT, self.on_commitment))
        server = application_entity.make_server(
            (host, port), evt_handlers=event_handlers, server_class=DoorServer
        )
        assert isinstance(server, DoorServer)
        server.callers = self.callers
        server.tls = tls
        server.refusals = self.refusals
        server.request_s = self.limits.request_s
        Thread(target=server.serve_forever, name="door", daemon=True).start()
        self._server = server
        return self.port

    @property
    def port(self) -> int:
        """Where it listens; 0 before."""
        if self._server is None:
            return 0
        return int(self._server.server_address[1])

    @property
    def association_count(self) -> int:
        """How many associations there are now."""
        self._forget_ended_connections()
        return self.lobby.association_count

    @property
    def trouble(self) -> str:
        """What is wrong at the door; "" if nothing is."""
        if self.association_count and self.lobby.has_turned_away:
            return (
                f"all {self.lobby.most_associations} associations are in use, and callers are rejected "
                "(--associations)"
            )
        return ""

    def close(self) -> None:
        """Listens no more; what is being sent may be finished."""
        if self._server is not None:
            self._server.shutdown()

    def abort(self) -> None:
        """Ends the associations that are left."""
        if self._server is not None:
            for association in self._server.active_associations:
                association.abort()

    def _on_open(self, event: evt.Event) -> None:
        """Lets a new connection wait for its request of an association."""
        self._forget_ended_connections()
        connection: Any = event.assoc.dul.socket
        connection.socket.allowed_bytes = LONGEST_PDU
        self.lobby.enter(event.assoc, connection.socket)

    def _on_request(self, event: evt.Event) -> None:
        """Rejects a caller whose title does not go with its address, and one too many.  One that
        calls another title than ours is rejected by the library, after this."""
        association: Any = event.assoc
        caller_in_words = _caller_in_words(association)
        association_request = association.requestor.primitive
        calling_title = association_request.calling_ae_title
        address = association.requestor.address
        called_title = association_request.called_ae_title
        own_title = association.ae.ae_title
        if not any(
            caller.title in (ANY_TITLE, calling_title) and caller.is_at(address)
            for caller in self.callers
        ):
            self.refusals.tell(
                "strangers", caller_in_words, "may not call; --from AE@NETWORK lets it in"
            )
            _reject_and_close(association, REJECT_UNKNOWN_CALLER)
        elif called_title != own_title:
            self.refusals.tell(
                "strangers",
                caller_in_words,
                f"calls {called_title!a}, and this node is {own_title}",
            )
        elif not self.lobby.associate(association):
            most_associations = self.lobby.most_associations
            self.refusals.tell(
                "limit_reached",
                caller_in_words,
                f"found all {most_associations} associations in use (--associations allows more)",
            )
            _reject_and_close(association, REJECT_LIMIT_EXCEEDED)
        else:
            association.dul.socket.socket.settimeout(self.limits.idle_s)
            self._renew_byte_allowance(event)

    def _renew_byte_allowance(self, event: evt.Event) -> None:
        """Bounds what an association may send until its next message is whole."""
        connection: Any = event.assoc.dul.socket
        if connection.socket is not None:
            connection.socket.allowed_bytes = self.limits.instance_bytes + LONGEST_PDU

    def _on_message(self, event: evt.Event) -> None:
        """Renews the allowance of the caller after each message that has come whole; an instance
        makes what else it offered unimportant."""
        self._renew_byte_allowance(event)
        if isinstance(event.message, C_STORE_RQ):
            self._refused_offers.pop(event.assoc, None)
        elif isinstance(event.message, N_EVENT_REPORT_RQ):
            self._note_service(event.assoc, "N-EVENT-REPORT", "done")

    def _on_accept(self, event: evt.Event) -> None:
        """Notes what a caller offers and may not send, until it sends something: DCMTK's storescu
        offers all classes, whatever it has."""
        if event.assoc.rejected_contexts:
            self._refused_offers[event.assoc] = _describe_refused_offer(event.assoc)

    def _on_abort(self, event: evt.Event) -> None:
        if event.assoc.dul.idle_timer_expired():
            reason = f"was silent for {self.limits.idle_s:g} s (--idle); the association was ended"
            self.refusals.tell("silent", _caller_in_words(event.assoc), reason)

    def _on_close(self, event: evt.Event) -> None:
        """Ends a connection at once, also one that never asked for an association: the library
        would wait for its request until the timer ends."""
        association: Any = event.assoc
        self._settle_ended_connection(association)
        if association.requestor.primitive is None:
            association.dul.to_user_queue.put(None)

    def _forget_ended_connections(self) -> None:
        for association in self.lobby.find_ended_associations():
            self._settle_ended_connection(association)

    def _settle_ended_connection(self, association: Any) -> None:
        """Counts a connection that has ended, and tells why, where it did not end in order."""
        connection = self.lobby.leave(association)
        if connection is None:
            return
        services = self._services.pop(association, None)
        if self.audit is not None and services is not None:
            self.audit.write(_caller_in_words(association), services.object_count)
        figure, cause = reason_of_end(connection, self.limits.instance_bytes)
        refused_offer = self._refused_offers.pop(association, "")
        if figure:
            self.refusals.tell(figure, _caller_in_words(association), cause)
        elif refused_offer:
            self.refusals.tell("classes_refused", _caller_in_words(association), refused_offer)
        elif association.requestor.primitive is None:
            self.figures.count("without_request")

    def _on_store(self, event: evt.Event) -> int:
        """Keeps an instance, and notes who sent it; the status of our answer."""
        status_code = self._store(event)
        outcome = "refused"
        if status_code == STATUS_SUCCESS:
            outcome = "done"
        elif status_code == STATUS_ELEMENTS_DISCARDED:
            outcome = "not kept"
        self._note_service(event.assoc, "C-STORE", outcome)
        return status_code

    def _note_service(self, association: Any, service: str, outcome: str) -> None:
        """Counts an object for the audit.  The first has a row at once, and all have rows while the
        association lasts, for a process that is killed before it ends."""
        if self.audit is None:
            return
        if association not in self._services:
            self._services[association] = UnwrittenServices()
            self.audit.write(_caller_in_words(association), {(service, "begun"): 1})
        unwritten = self._services[association]
        unwritten.object_count[service, outcome] += 1
        if time.monotonic() - unwritten.since_s >= AUDIT_PERIOD_S:
            self._services[association] = UnwrittenServices()
            self.audit.write(_caller_in_words(association), unwritten.object_count)

    def _store(self, event: evt.Event) -> int:
        """Keeps an instance; the status of our answer."""
        store_request: Any = event.request
        data_set_bytes = store_request.DataSet
        if store_request.AffectedSOPClassUID == Comprehensive3DSRStorage:
            return self._answer_report(event)
        byte_count = data_set_bytes.getbuffer().nbytes
        if not self._has_room(byte_count):
            return self._refuse_for_want_of_room(byte_count)

        def write_instance(file: BinaryIO) -> None:
            file.write(file_header(event))
            file.write(data_set_bytes.getbuffer())

        try:
            self.inbox.keep(
                write_instance,
                lambda path: _series_key_and_file_name(
                    path, str(store_request.AffectedSOPInstanceUID)
                ),
            )
        except InstanceMismatch as fault:
            self.refusals.tell("mismatched", _caller_in_words(event.assoc), f"{fault} (A900)")
            return STATUS_MISMATCH
        except (OSError, MemoryError):
            return self._refuse_for_want_of_room(byte_count)
        except Exception:  # what makes a data set unreadable is the library's to say
            cause = "sent bytes that are no data set (C000)"
            self.refusals.tell("not_understood", _caller_in_words(event.assoc), cause)
            return STATUS_NOT_UNDERSTOOD
        self._is_full = False
        self.figures.count("instances")
        self.figures.count("bytes", byte_count)
        return STATUS_SUCCESS

    def _answer_report(self, event: evt.Event) -> int:
        """Lets one of our own reports pass, which is not kept; refuses any other."""
        store_request: Any = event.request
        if is_our_dicom(BytesIO(file_header(event) + store_request.DataSet.getvalue())):
            return STATUS_ELEMENTS_DISCARDED
        cause = "sent a report that is not fovnet's (A900): MR images are taken"
        self.refusals.tell("mismatched", _caller_in_words(event.assoc), cause)
        return STATUS_MISMATCH

    def _has_room(self, byte_count: int) -> bool:
        return self.inbox.free_bytes() - byte_count >= self.limits.reserve_bytes

    def _refuse_for_want_of_room(self, byte_count: int) -> int:
        """Refuses an instance for want of room, and lets all series wait until there is some."""
        self.figures.count("disk_full")
        self.inbox.wait_for_room(lambda: self._has_room(byte_count))
        if not self._is_full:
            self.log(
                "disk-full",
                "the disk is nearly full: instances are refused (A700) until there is room",
            )
        self._is_full = True
        return STATUS_OUT_OF_RESOURCES


def listening_entity(title: str, limits: DoorLimits, has_peer: bool) -> AE:
    """The application that listens, with all contexts that it accepts.

    has_peer  reports go to a peer, which may call to commit itself to keep them
    """
    application_entity = AE(title)
    application_entity.require_called_aet = True
    # the library counts connections, silent ones too; `Lobby` counts associations
    application_entity.maximum_associations = 2**31
    application_entity.maximum_pdu_size = LARGEST_PDU_RECEIVED
    application_entity.acse_timeout = limits.request_s
    application_entity.dimse_timeout = limits.idle_s
    application_entity.network_timeout = limits.idle_s
    application_entity.add_supported_context(Verification)
    for sop_class in MR_IMAGE_CLASSES:
        application_entity.add_supported_context(sop_class, list_decodable_syntaxes())
    application_entity.add_supported_context(Comprehensive3DSRStorage, REPORT_SYNTAXES)
    if has_peer:
        application_entity.add_supported_context(
            StorageCommitmentPushModel, scu_role=False, scp_role=True
        )
    return application_entity


def _caller_in_words(association: Any) -> str:
    """A caller in words: its title, where it has told it, and its address."""
    association_request = association.requestor.primitive
    address: str = association.requestor.address
    if association_request is None:
        return address
    return f"{association_request.calling_ae_title!a} at {address}"


def _describe_refused_offer(association: Any) -> str:
    """What of the offer of a caller that sent nothing is not taken, in words: by name where it is
    little, or where it is images in a transfer syntax."""
    refused_classes: dict[str, None] = {}
    refused_syntaxes: dict[str, None] = {}
    for context in association.rejected_contexts:
        sop_class = str(getattr(context.abstract_syntax, "name", context.abstract_syntax))
        if context.result == RESULT_SYNTAX_NOT_TAKEN:
            refused_syntaxes[f"{sop_class} as {context.transfer_syntax[0].name}"] = None
        else:
            refused_classes[sop_class] = None
    refused_names = [*refused_syntaxes, *refused_classes]
    hint = "MR images are taken, in the transfer syntaxes that fovnet reads"
    if refused_syntaxes or len(refused_names) <= MOST_CLASSES_NAMED:
        names_in_words = join_names(refused_names[:MOST_CLASSES_NAMED], "or")
        if len(refused_names) > MOST_CLASSES_NAMED:
            names_in_words += f" and {len(refused_names) - MOST_CLASSES_NAMED} more"
        return f"may not send {names_in_words}: {hint}"
    return (
        f"sent nothing, and {len(refused_names)} of the SOP classes that it offered are not taken: "
        f"{hint}; a sender that offers only what it has (storescu -R) is told here what of it is "
        "not"
    )


def _reject_and_close(association: Any, result_source_reason: tuple[int, int, int]) -> None:
    association.acse.send_reject(*result_source_reason)
    association.kill()


def file_header(event: evt.Event) -> bytes:
    """Preamble and file meta information: the same for the same instance, whatever versions wrote
    them."""
    store_request: Any = event.request
    header_file = DicomBytesIO()
    header_file.write(bytes(128) + b"DICM")
    file_meta = create_file_meta(
        sop_class_uid=store_request.AffectedSOPClassUID,
        sop_instance_uid=store_request.AffectedSOPInstanceUID,
        transfer_syntax=event.context.transfer_syntax,
        implementation_uid=OUR_IMPLEMENTATION_UID,
        implementation_version="FOVNET",
    )
    write_file_meta_info(header_file, file_meta)
    return header_file.getvalue()


def _series_key_and_file_name(instance_path: Path, announced_uid: str) -> tuple[str, str]:
    """(key of the instance's series, name of its file).

    Raises InstanceMismatch where a UID is missing or another than announced; anything for an
    unreadable data set.
    """
    data_set_header = dcmread(
        instance_path, specific_tags=IDENTIFYING_TAGS, stop_before_pixels=True
    )
    study_uid = str(data_set_header.get("StudyInstanceUID", ""))
    series_uid = str(data_set_header.get("SeriesInstanceUID", ""))
    if (
        not study_uid
        or not series_uid
        or str(data_set_header.get("SOPInstanceUID", "")) != announced_uid
    ):
        raise InstanceMismatch(
            "sent an instance without the UIDs of study and series, or with another than announced"
        )
    return hash_uids(study_uid, series_uid), f"{hash_uids(announced_uid)}.dcm"
