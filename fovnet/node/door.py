"""The door: a DICOM store SCP that takes MR images from callers it knows, and acknowledges an instance when
it is on the disk.

A stranger's connection is closed by its address, before a byte is read; a known address with another AE title
is rejected.  Other SOP classes than MR images are refused by presentation context.  Where the disk is nearly
full, the status is A700 (out of resources), and callers try again later.
"""

from __future__ import annotations

import ssl
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from threading import Thread
from typing import Any, BinaryIO

from pydicom import dcmread
from pydicom.filebase import DicomBytesIO
from pydicom.filewriter import write_file_meta_info
from pydicom.uid import (
    UID,
    ExplicitVRBigEndian,
    ExplicitVRLittleEndian,
    ImplicitVRLittleEndian,
    JPEG2000TransferSyntaxes,
    JPEGLSTransferSyntaxes,
    JPEGTransferSyntaxes,
    RLELossless,
)
from pynetdicom import AE, _config, evt
from pynetdicom.dsutils import create_file_meta
from pynetdicom.sop_class import (  # type: ignore[attr-defined]
    EnhancedMRImageStorage,
    LegacyConvertedEnhancedMRImageStorage,
    MRImageStorage,
    StorageCommitmentPushModel,
    Verification,
)
from pynetdicom.transport import ThreadedAssociationServer

from fovnet.node.figures import Figures
from fovnet.node.inbox import Inbox, hashed
from fovnet.node.peers import Caller

IMAGES = (MRImageStorage, EnhancedMRImageStorage, LegacyConvertedEnhancedMRImageStorage)
SYNTAXES = [
    ExplicitVRLittleEndian, ImplicitVRLittleEndian, ExplicitVRBigEndian, RLELossless,
    *JPEGTransferSyntaxes, *JPEGLSTransferSyntaxes, *JPEG2000TransferSyntaxes,
]
"""What the reader decodes; deflated data sets are not taken, whose few bytes may unpack to any number."""
# who wrote the file meta information, in every version
OURS = UID("2.25.201457331706483052718460175322467185937")
SUCCESS, OUT_OF_RESOURCES, MISMATCH, NOT_UNDERSTOOD = 0x0000, 0xA700, 0xA900, 0xC000     # PS3.4, table B.2-1
REJECTED, BY_USER, UNKNOWN_CALLER = 1, 1, 3                                              # PS3.8, table 9-21
MOST_TOLD = 1000            # callers refused that the log names
LONGEST_PDU = 2**20         # bytes of one; 16 KiB are announced, and a request to associate is shorter
HEADER = ["SOPClassUID", "SOPInstanceUID", "StudyInstanceUID", "SeriesInstanceUID"]


@dataclass(frozen=True)
class Limits:
    """What is taken at most.

    instance_bytes  of one instance, whose connection is closed beyond
    associations    at once                     idle_s  seconds that a caller may be silent
    reserve_bytes   left free on the disk
    """

    instance_bytes: int = 2**30
    associations: int = 16
    idle_s: float = 60.0
    reserve_bytes: int = 2**30


class Mismatch(ValueError):
    """A data set that lacks a UID, or is another than was announced."""


class Server(ThreadedAssociationServer):
    """As the library's, for known addresses; TLS is negotiated by the thread of a connection, so that a
    silent caller keeps nobody waiting."""

    callers: Sequence[Caller] = ()
    tls: ssl.SSLContext | None = None
    figures: Figures
    stranger: Callable[[str], None]
    most: int = 0
    daemon_threads = True

    def get_request(self) -> tuple[Any, tuple[str, int]]:
        connection, address = super().get_request()
        connection.settimeout(self.ae.network_timeout)
        if self.tls is not None:
            connection = self.tls.wrap_socket(connection, server_side=True, do_handshake_on_connect=False)
        return connection, address

    def verify_request(self, request: Any, client_address: Any) -> bool:
        known = any(caller.is_at(client_address[0]) for caller in self.callers)
        if not known:
            self.stranger(f"{client_address[0]} may not call; --from AE@NETWORK lets it in")
        # twice the associations: those beyond the limit are told so, which takes a thread each
        return known and len(self.active_associations) < 2 * self.most

    def handle_error(self, request: Any, client_address: Any) -> None:
        self.figures.count("connections_broken")


@dataclass
class Door:
    """A listening socket and what happens behind it."""

    inbox: Inbox
    figures: Figures
    limits: Limits
    callers: Sequence[Caller]
    say: Callable[[str], None]
    committed: Callable[[evt.Event], tuple[int, None]] | None = None
    _server: Server | None = field(default=None, init=False)
    _told: set[str] = field(default_factory=set, init=False)
    _is_full: bool = field(default=False, init=False)

    def open(self, title: str, host: str, port: int, tls: ssl.SSLContext | None) -> int:
        """The port on which it listens from now on.  Raises OSError if it is taken."""
        _config.LOG_HANDLER_LEVEL = "none"          # its log names patients, and nobody reads it
        ae = AE(title)
        ae.require_called_aet = True
        ae.maximum_associations = self.limits.associations
        ae.acse_timeout = ae.dimse_timeout = ae.network_timeout = self.limits.idle_s
        ae.add_supported_context(Verification)
        for sop_class in IMAGES:
            ae.add_supported_context(sop_class, SYNTAXES)
        if self.committed:
            ae.add_supported_context(StorageCommitmentPushModel, scu_role=False, scp_role=True)
        handlers: list[Any] = [
            (evt.EVT_CONN_OPEN, self._opened), (evt.EVT_REQUESTED, self._requested),
            (evt.EVT_C_STORE, self._store),
            *([(evt.EVT_N_EVENT_REPORT, self.committed)] if self.committed else []),
        ]
        server = ae.make_server((host, port), evt_handlers=handlers, server_class=Server)
        assert isinstance(server, Server)
        server.callers, server.tls, server.figures = self.callers, tls, self.figures
        server.stranger = self._stranger
        server.most = self.limits.associations
        ae._servers.append(server)
        Thread(target=server.serve_forever, name="door", daemon=True).start()
        self._server = server
        return int(server.server_address[1])

    @property
    def associations(self) -> int:
        """How many are established now."""
        there = self._server.active_associations if self._server else []
        return sum(one.is_established for one in there)

    def close(self) -> None:
        """Listens no more; what is being sent may be finished."""
        if self._server is not None:
            self._server.shutdown()

    def abort(self) -> None:
        """Ends the associations that are left."""
        for one in self._server.active_associations if self._server else ():
            one.abort()

    def _opened(self, event: evt.Event) -> None:
        """Bounds what a connection may send at a stroke, and for one message; and sees that it is closed,
        which the library leaves undone where the caller has gone."""
        connection: Any = event.assoc.dul.socket
        read, close, opened, taken = connection.recv, connection.close, connection.socket, 0

        def bounded(count: int) -> bytearray:
            nonlocal taken
            taken += count
            if count > LONGEST_PDU or taken > self.limits.instance_bytes + LONGEST_PDU:
                self.figures.count("too_large")
                raise OSError("longer than is taken")           # the library closes the connection
            found: bytearray = read(count)
            return found

        def received(_: evt.Event) -> None:
            nonlocal taken
            taken = 0

        def closed() -> None:
            close()
            opened.close()

        connection.recv, connection.close = bounded, closed
        event.assoc.bind(evt.EVT_DIMSE_RECV, received)

    def _requested(self, event: evt.Event) -> None:
        """Rejects a caller whose title does not go with its address.  One that calls another title than ours
        is rejected by the library, after this."""
        request: Any = event.assoc.requestor.primitive
        title, address = request.calling_ae_title, event.assoc.requestor.address
        called, ours = request.called_ae_title, event.assoc.ae.ae_title
        if not any(one.title in ("*", title) and one.is_at(address) for one in self.callers):
            self._stranger(f"{title!a} at {address} may not call; --from AE@NETWORK lets it in")
            event.assoc.acse.send_reject(REJECTED, BY_USER, UNKNOWN_CALLER)
            event.assoc.kill()
        elif called != ours:
            self._stranger(f"{title!a} at {address} calls {called!a}, and this node is {ours}")

    def _stranger(self, who: str) -> None:
        """Counts a caller that is not let in, and says so once of each."""
        self.figures.count("strangers")
        if who not in self._told and len(self._told) < MOST_TOLD:
            self._told.add(who)
            self.say(f"refused: {who}")

    def _store(self, event: evt.Event) -> int:
        """Keeps an instance; the status of our answer."""
        request: Any = event.request
        data = request.DataSet
        size = data.getbuffer().nbytes
        if self.inbox.places.free_bytes() - size < self.limits.reserve_bytes:
            return self._refused(OUT_OF_RESOURCES, "disk_full")

        def write(file: BinaryIO) -> None:
            file.write(_opening(event))
            file.write(data.getbuffer())

        try:
            self.inbox.keep(write, lambda path: _named(path, str(request.AffectedSOPInstanceUID)))
        except Mismatch:
            return self._refused(MISMATCH, "mismatched")
        except (OSError, MemoryError):
            return self._refused(OUT_OF_RESOURCES, "disk_full")
        except Exception:           # what makes a data set unreadable is the library's to say
            return self._refused(NOT_UNDERSTOOD, "not_understood")
        self._is_full = False
        self.figures.count("instances")
        self.figures.count("bytes", size)
        return SUCCESS

    def _refused(self, status: int, why: str) -> int:
        self.figures.count(why)
        if status == OUT_OF_RESOURCES:
            self.inbox.delay()
            if not self._is_full:
                self.say("the disk is nearly full: instances are refused (A700) until there is room")
            self._is_full = True
        return status


def _opening(event: evt.Event) -> bytes:
    """Preamble and file meta information: the same for the same instance, whatever versions wrote them."""
    request: Any = event.request
    opening = DicomBytesIO()
    opening.write(bytes(128) + b"DICM")
    meta = create_file_meta(
        sop_class_uid=request.AffectedSOPClassUID, sop_instance_uid=request.AffectedSOPInstanceUID,
        transfer_syntax=event.context.transfer_syntax, implementation_uid=OURS,
        implementation_version="FOVNET",
    )
    write_file_meta_info(opening, meta)
    return opening.getvalue()


def _named(path: Path, announced: str) -> tuple[str, str]:
    """The key of an instance's series, and its own name.  Raises Mismatch; anything for an unreadable data
    set."""
    header = dcmread(path, specific_tags=HEADER, stop_before_pixels=True)
    study, series = str(header.get("StudyInstanceUID", "")), str(header.get("SeriesInstanceUID", ""))
    if not study or not series or str(header.get("SOPInstanceUID", "")) != announced:
        raise Mismatch
    return hashed(study, series), f"{hashed(announced)}.dcm"
