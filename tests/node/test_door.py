"""The door under attack: harmless connections keep nobody out, and what is refused is told, once and counted.

A door stands alone here, without networks."""

from __future__ import annotations

import socket
import ssl
import struct
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from subprocess import run
from threading import enumerate as threads

import pytest
from pydicom.uid import JPEG2000MC, HTJ2KLossless
from pynetdicom import AE
from pynetdicom.association import Association
from pynetdicom.sop_class import (
    Comprehensive3DSRStorage,
    CTImageStorage,
    MRImageStorage,
    SecondaryCaptureImageStorage,
    Verification,
)

from fovnet.node.connection import BoundedSocket
from fovnet.node.door import MR_IMAGE_CLASSES, Door
from fovnet.node.inbox import Inbox
from fovnet.node.lobby import MOST_WAITING, Lobby
from fovnet.node.peers import LOCAL_CALLER
from fovnet.node.places import lock_places
from fovnet.node.settings import DoorLimits
from fovnet.node.tls import client_context, server_context
from fovnet.records import read_tsv
from fovnet.volume.dicom.decoding import list_decodable_syntaxes
from fovnet.watch.audit import Audit
from fovnet.watch.figures import Figures
from tests.node.parties import own_report, statuses
from tests.programs import program

DOZEN = 12
PATIENCE_S = 20.0


@dataclass
class Opened:
    """A door that is open, and what it has said."""

    door: Door
    lines: list[str] = field(default_factory=list)

    @property
    def port(self) -> int:
        return self.door.port

    @property
    def counts(self) -> dict[str, int]:
        return self.door.figures.counts

    def until(self, **wanted: int) -> None:
        until(lambda: all(self.counts[name] == many for name, many in wanted.items()), self)


def until(done: Callable[[], bool], told: object = "") -> None:
    waited = time.monotonic() + PATIENCE_S
    while not done():
        assert time.monotonic() < waited, told
        time.sleep(0.02)


@pytest.fixture
def opened(tmp_path) -> Iterator[Callable[..., Opened]]:
    """Doors on free ports, closed after the test."""
    doors: list[Door] = []
    with lock_places(tmp_path / "node") as places:

        def made(tls: ssl.SSLContext | None = None, **limits: float) -> Opened:
            lines: list[str] = []

            def log(event: str, sentence: str, **facts: object) -> None:
                lines.append(sentence)

            figures, bounds = Figures(), DoorLimits(**{"reserve_bytes": 0, **limits})
            audit = Audit(tmp_path / "audit.tsv")
            doors.append(
                Door(Inbox(places, 60.0, 60.0), figures, bounds, (LOCAL_CALLER,), log, audit=audit)
            )
            doors[-1].open("FOVNET", "127.0.0.1", 0, tls)
            return Opened(doors[-1], lines)

        yield made
        for door in doors:
            door.close()
            door.abort()


def echo(port: int, called: str = "FOVNET") -> Association:
    ae = AE("SCANNER")
    ae.add_requested_context(Verification)
    return ae.associate("127.0.0.1", port, ae_title=called)


def acceptors(door: Door) -> int:
    return len(door._server.active_associations)


REQUEST = struct.pack(">BxL", 1, 200)
PROBES = {
    "nothing": b"",
    "one zero": b"\0",
    "one byte of a request": b"\1",
    "the head of a request": REQUEST,
    "half a request": REQUEST + b"\0\1\0\0FOVNET          ",
    "a request of 4 GiB": struct.pack(">BxL", 1, 2**32 - 1),
    "HTTP": b"GET / HTTP/1.0\r\n\r\n",
    "TLS": b"\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03\x03",
    "a line": b"\r\n",
    "SSH": b"SSH-2.0-probe\r\n",
    "zeros": bytes(2000),
    "data before a request": struct.pack(">BxL", 4, 10) + bytes(10),
}
ENDINGS = ["closed", "reset", "half closed", "left open"]


def end(probe: socket.socket, how: str) -> None:
    if how == "reset":
        probe.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
    if how == "half closed":
        probe.shutdown(socket.SHUT_WR)
    elif how != "left open":
        probe.close()


@pytest.mark.parametrize("how", ENDINGS)
@pytest.mark.parametrize("name", PROBES)
def test_a_dozen_probes_keep_no_scanner_out_and_end_at_once(
    opened, series, name: str, how: str
) -> None:
    """The door has one association, and it is free while they come and after them."""
    here = opened(associations=1, request_s=0.5 if how == "left open" else 60.0)
    image = series(1)[:1]
    probes = []
    for _ in range(DOZEN):
        probe = socket.create_connection(("127.0.0.1", here.port))
        probe.sendall(PROBES[name])
        end(probe, how)
        probes.append(probe)
    assert statuses(here.port, image) == [0]
    assert here.door.association_count == 0 and here.door.trouble == ""
    until(lambda: acceptors(here.door) == 0, threads())
    assert here.door.association_count == 0
    until(lambda: here.counts["without_request"] + here.counts["not_dicom"] == DOZEN, here.counts)
    for probe in probes:
        probe.close()
    assert here.counts["limit_reached"] == 0
    assert len(here.lines) <= 3  # once, and at the tenth


def test_the_limit_is_of_associations_and_is_told(opened) -> None:
    here = opened(associations=2)
    two = [echo(here.port) for _ in range(2)]
    third = echo(here.port)
    assert third.is_rejected and third.acceptor.primitive.reason_str == "Local limit exceeded"
    assert here.counts["limit_reached"] == 1 and here.door.association_count == 2
    assert "all 2 associations are in use" in here.door.trouble
    assert here.lines == [
        "refused: 'SCANNER' at 127.0.0.1 found all 2 associations in use (--associations allows more)"
    ]
    two[0].release()
    until(lambda: here.door.association_count == 1)
    assert here.door.trouble == ""
    fourth = echo(here.port)
    assert fourth.is_established
    for association in (two[1], fourth):
        association.release()


def test_of_too_many_that_wait_the_one_that_has_waited_longest_goes() -> None:
    lobby, ours, theirs = Lobby(1), [], []
    with socket.create_server(("127.0.0.1", 0)) as server:
        for number in range(MOST_WAITING + 3):
            theirs.append(socket.create_connection(server.getsockname()))
            ours.append(BoundedSocket(fileno=server.accept()[0].detach()))
            lobby.enter(Association(AE(), "acceptor"), ours[-1])
            gone = [end for end in theirs if closed(end)]
            assert gone == theirs[: max(0, number + 1 - MOST_WAITING)]
    for end in (*ours, *theirs):
        end.close()


def closed(end: socket.socket) -> bool:
    end.setblocking(False)
    try:
        return end.recv(1) == b""
    except BlockingIOError:
        return False


def test_the_door_offers_what_the_reader_reads_and_nothing_else(opened) -> None:
    here = opened()
    readable = list_decodable_syntaxes()
    for syntax in (*readable, JPEG2000MC):
        ae = AE("SCANNER")
        for sop_class in MR_IMAGE_CLASSES:
            ae.add_requested_context(sop_class, syntax)
        association = ae.associate("127.0.0.1", here.port, ae_title="FOVNET")
        accepted = {context.abstract_syntax for context in association.accepted_contexts}
        assert accepted == (set(MR_IMAGE_CLASSES) if syntax in readable else set())
        association.release()
    assert HTJ2KLossless in readable
    here.until(classes_refused=1)
    (line,) = here.lines
    assert "may not send" in line and "MR Image Storage as JPEG 2000 Part 2" in line


def send_classes(here: Opened, *classes: str) -> None:
    ae = AE("SCANNER")
    for sop_class in classes:
        ae.add_requested_context(sop_class)
    ae.associate("127.0.0.1", here.port, ae_title="FOVNET").release()


def test_each_cause_is_told_once_of_each_caller_and_counted(opened, series, write) -> None:
    here = opened(instance_bytes=2**20)
    nameless, good = series(1)[:2]
    del nameless.SeriesInstanceUID
    large = write.images(write.noise((1200, 1200, 1)))
    for number in range(10):
        send_classes(here, CTImageStorage, MRImageStorage)
        here.until(classes_refused=number + 1)
        assert statuses(here.port, [nameless]) == [0xA900]
    send_classes(here, CTImageStorage, SecondaryCaptureImageStorage)
    for _ in range(2):
        assert statuses(here.port, large) == [None]
    assert statuses(here.port, [good]) == [0]
    here.until(classes_refused=11, mismatched=10, too_large=2)
    told = " | ".join(here.lines)
    assert (
        told.count("may not send CT Image Storage: MR images are taken") == 2
    )  # the first, the tenth
    assert told.count("may not send CT Image Storage or Secondary Capture Image Storage: ") == 1
    assert told.count("or with another than announced (A900)") == 2 and "(10 times by now)" in told
    assert told.count("sent more than 0.000976562 GiB in one instance (--largest)") == 1
    assert len(here.lines) == 6 and not any(
        "Doe" in line or "1.2.826" in line for line in here.lines
    )


def test_our_own_report_passes_and_is_not_kept_and_anothers_is_refused(
    opened, series, tmp_path
) -> None:
    """The audit has a row for each outcome, when the association has ended."""
    here, (image,) = opened(), series(1, 1)
    ours, others = own_report(image), own_report(image)
    others.Manufacturer = "fovnet"  # which anybody may write
    others.ContentSequence[0].UID = others.SOPInstanceUID
    ae = AE("ARCHIVE")
    ae.add_requested_context(Comprehensive3DSRStorage)
    ae.add_requested_context(MRImageStorage)
    association = ae.associate("127.0.0.1", here.port, ae_title="FOVNET")
    answered = [association.send_c_store(sent).Status for sent in (ours, others, image)]
    association.release()
    assert answered == [0xB006, 0xA900, 0]
    assert here.counts["instances"] == 1
    (line,) = here.lines
    assert "a report that is not fovnet's" in line
    until(
        lambda: here.door.association_count == 0 and "done" in (tmp_path / "audit.tsv").read_text()
    )
    rows = read_tsv(tmp_path / "audit.tsv")
    assert {row["who"] for row in rows} == {"'ARCHIVE' at 127.0.0.1"}
    assert [(row["service"], row["outcome"], row["objects"]) for row in rows] == [
        ("C-STORE", "begun", "1"),
        ("association", "refused: mismatched", "1"),
        ("C-STORE", "not kept", "1"),
        ("C-STORE", "refused", "1"),
        ("C-STORE", "done", "1"),
    ]


def test_the_audit_has_what_came_before_the_association_ends(
    opened, series, tmp_path, monkeypatch
) -> None:
    """For a process that is killed: rows while images come, which add up."""
    monkeypatch.setattr("fovnet.node.door.AUDIT_PERIOD_S", 0.0)
    here, images = opened(), series(1, 3)
    ae = AE("SCANNER")
    ae.add_requested_context(MRImageStorage)
    association = ae.associate("127.0.0.1", here.port, ae_title="FOVNET")
    assert [association.send_c_store(image).Status for image in images] == [0, 0, 0]
    rows = read_tsv(tmp_path / "audit.tsv")
    association.release()
    assert sum(int(row["objects"]) for row in rows if row["outcome"] == "done") == 3
    until(lambda: here.door.association_count == 0)
    assert read_tsv(tmp_path / "audit.tsv") == rows


OFFERS = {
    "all classes": [],
    "all classes, a folder": ["+sd"],
    "all as implicit": ["-xi"],
    "all as big": ["-xb"],
    "all, combined": ["+C"],
    "needed classes": ["-R"],
    "needed, a folder": ["-R", "+sd"],
}
"""Words to DCMTK's storescu."""
STORESCU = program("storescu")


@pytest.mark.skipif(STORESCU is None, reason="DCMTK's storescu is not installed")
@pytest.mark.parametrize("has_mr", [True, False])
@pytest.mark.parametrize("offer", OFFERS)
def test_a_sender_is_called_refused_where_it_could_send_nothing(
    opened, series, tmp_path, offer: str, has_mr: bool
) -> None:
    """DCMTK's storescu offers more than sixty classes whatever it has; with -R those of its files."""
    image, here = series(1)[0], opened()
    if not has_mr:
        image.SOPClassUID = image.file_meta.MediaStorageSOPClassUID = CTImageStorage
    image.save_as(tmp_path / "image.dcm", enforce_file_format=True)
    words = OFFERS[offer]
    path = tmp_path if "+sd" in words else tmp_path / "image.dcm"
    command = [STORESCU, *words, "-aet", "SCANNER", "-aec", "FOVNET", "127.0.0.1", here.port, path]
    status = run(list(map(str, command)), capture_output=True, timeout=60, check=False).returncode
    until(lambda: acceptors(here.door) == 0)
    here.until(instances=has_mr, classes_refused=not has_mr)
    assert (status == 0) is has_mr
    assert len(here.lines) == (not has_mr)
    told = "may not send CT Image Storage: MR images" if "-R" in words else "sent nothing, and "
    assert has_mr or told in here.lines[0]


def test_a_silent_sender_is_told_of(opened) -> None:
    here = opened(idle_s=0.3)
    echo(here.port)
    here.until(silent=1)
    until(lambda: here.door.association_count == 0)
    assert here.lines == [
        "refused: 'SCANNER' at 127.0.0.1 was silent for 0.3 s (--idle); the association was ended"
    ]


def test_a_failed_handshake_is_told_with_its_reason(opened, certificates) -> None:
    ours = (certificates.cert, certificates.key, certificates.ca)
    here = opened(tls=server_context(*ours))
    bare = ssl.create_default_context(cafile=certificates.ca)
    with (
        pytest.raises(OSError),
        socket.create_connection(("127.0.0.1", here.port)) as plain,
        bare.wrap_socket(plain, server_hostname="127.0.0.1") as encrypted,
    ):
        encrypted.recv(1)
    assert not echo(here.port).is_established  # without TLS
    here.until(tls_failed=2)
    assert here.lines == [
        "refused: 127.0.0.1 failed to agree on TLS (peer did not return a certificate)",
        "refused: 127.0.0.1 failed to agree on TLS (wrong version number)",
    ]
    plainly = opened()
    ae = AE("SCANNER")
    ae.add_requested_context(Verification)
    ae.associate("127.0.0.1", plainly.port, tls_args=(client_context(*ours), "127.0.0.1"))
    plainly.until(not_dicom=1)
    assert plainly.lines == [
        "refused: 127.0.0.1 speaks TLS, and this node does not; --tls-cert lets it"
    ]
