"""Reports reach an archive that refuses, forgets, or is away, and are kept until it keeps them."""

from __future__ import annotations

import os
import re
import socket
import time
from typing import Any

import pytest
from pydicom.dataset import Dataset, FileMetaDataset
from pydicom.uid import ExplicitVRLittleEndian, generate_uid
from pynetdicom.sop_class import Comprehensive3DSRStorage, EnhancedSRStorage, MRImageStorage
from pynetdicom.transport import AssociationSocket

from fovnet.node.courier import Courier
from fovnet.node.door import Door
from fovnet.node.inbox import Inbox
from fovnet.node.outbox import Outbox, Pauses
from fovnet.node.peers import LOCAL_CALLER, ReportPeer
from fovnet.node.places import DELIVERED, STORED, UNSENT, lock_places
from fovnet.node.settings import DoorLimits
from fovnet.node.tls import client_context, server_context
from fovnet.watch.figures import Figures
from fovnet.watch.log import write_nothing
from tests.node.conftest import shut_down_and_close


def report(path) -> str:
    """A report in a file; its UID."""
    dataset, dataset.file_meta = Dataset(), FileMetaDataset()
    dataset.SOPClassUID, dataset.SOPInstanceUID = Comprehensive3DSRStorage, generate_uid()
    dataset.PatientName = "Doe^Jane"
    dataset.file_meta.TransferSyntaxUID = ExplicitVRLittleEndian
    dataset.save_as(path, enforce_file_format=True)
    return str(dataset.SOPInstanceUID)


class Clock:
    now = 0.0

    def __call__(self) -> float:
        return self.now


@pytest.fixture
def places(tmp_path):
    with lock_places(tmp_path / "node") as locked:
        yield locked


def courier(outbox: Outbox, port: int, lines: list[str] | None = None, tls=None) -> Courier:
    def log(event: str, sentence: str, **facts: object) -> None:
        if lines is not None:
            lines.append(sentence)

    return Courier(outbox, ReportPeer("ARCHIVE", "127.0.0.1", port), "FOVNET", tls, 5.0, log)


def names(places, state: str) -> list[str]:
    return sorted(path.name for path in places.reports(state).iterdir())


def until(done) -> None:
    waited = time.monotonic() + 30
    while not done():
        assert time.monotonic() < waited
        time.sleep(0.02)


def test_without_storage_commitment_a_stored_report_is_delivered(places, archive) -> None:
    peer, port = archive()
    uids = [report(places.reports(UNSENT) / f"{name}.dcm") for name in "ab"]
    outbox = Outbox(places)
    assert courier(outbox, port).deliver_due_reports() and peer.reports == uids
    assert (
        names(places, DELIVERED) == ["a.dcm", "b.dcm"]
        and not courier(outbox, port).deliver_due_reports()
    )


@pytest.mark.parametrize("calls_back", [False, True], ids=["on the same association", "on its own"])
def test_with_it_a_report_is_delivered_when_the_archive_says_so(
    places, archive, calls_back: bool
) -> None:
    """It answers while the association is open, or calls back at the door, to which it is known."""
    clock = Clock()
    outbox, door = Outbox(places, clock), None
    peer, port = archive(forgets=0)
    taker = courier(outbox, port)
    if calls_back:
        door = Door(
            Inbox(places, 1.0, 1.0),
            Figures(),
            DoorLimits(),
            (LOCAL_CALLER,),
            write_nothing,
            taker.on_commitment,
        )
        peer.back = door.open("FOVNET", "127.0.0.1", 0, None)
    else:
        peer.at_once = True
    report(places.reports(UNSENT) / "a.dcm")
    taker.deliver_due_reports()
    until(lambda: names(places, DELIVERED) == ["a.dcm"])
    assert len(peer.reports) == 1 and not names(places, STORED)
    if door:
        door.close()


def test_a_report_that_the_archive_lost_is_sent_again(places, archive) -> None:
    clock = Clock()
    outbox = Outbox(places, clock)
    peer, port = archive(forgets=1)
    peer.at_once = True
    uid, taker = report(places.reports(UNSENT) / "a.dcm"), courier(outbox, port)
    taker.deliver_due_reports()
    until(lambda: names(places, UNSENT) == ["a.dcm"])
    assert not taker.deliver_due_reports()  # not at once
    clock.now += Pauses.first_s
    taker.deliver_due_reports()
    until(lambda: names(places, DELIVERED) == ["a.dcm"])
    assert peer.reports == [uid, uid]


def test_after_a_restart_the_archive_is_asked_again_and_nothing_is_sent_twice(
    places, archive
) -> None:
    peer, port = archive(forgets=0)
    peer.at_once = True
    report(places.reports(STORED) / "a.dcm")
    courier(Outbox(places), port).deliver_due_reports()
    until(lambda: names(places, DELIVERED) == ["a.dcm"])
    assert not peer.reports


def test_one_report_that_is_refused_keeps_no_other_waiting(places, archive) -> None:
    peer, port = archive(refuses=1)
    clock, lines = Clock(), []
    outbox = Outbox(places, clock)
    uids = [report(places.reports(UNSENT) / f"{name}.dcm") for name in "ab"]
    taker = courier(outbox, port, lines)
    taker.deliver_due_reports()
    assert names(places, UNSENT) == ["a.dcm"] and peer.reports == uids[1:]
    clock.now += Pauses.first_s
    taker.deliver_due_reports()
    told = " ".join(lines)
    assert peer.reports == uids[::-1] and "A700" in told and "Doe" not in told


def test_with_tls_both_sides_show_a_certificate(places, archive, certificates) -> None:
    """To an archive whose authority is not known, nothing is sent."""
    ours = (certificates.cert, certificates.key, certificates.ca)
    peer, port = archive(tls=server_context(*ours))
    clock = Clock()
    outbox = Outbox(places, clock)
    uid = report(places.reports(UNSENT) / "a.dcm")
    courier(outbox, port, tls=client_context(None, None, None)).deliver_due_reports()
    assert names(places, UNSENT) == ["a.dcm"] and not peer.reports
    clock.now += Pauses.first_s
    courier(outbox, port, tls=client_context(*ours)).deliver_due_reports()
    assert names(places, DELIVERED) == ["a.dcm"] and peer.reports == [uid]


def test_an_archive_that_is_away_is_called_less_and_less_often(places) -> None:
    with socket.create_server(("127.0.0.1", 0)) as free:
        port = free.getsockname()[1]
    clock, calls = Clock(), 0
    outbox = Outbox(places, clock)
    report(places.reports(UNSENT) / "a.dcm")
    taker = courier(outbox, port)
    for _ in range(int(4 * Pauses.longest_s)):
        calls += taker.deliver_due_reports()
        clock.now += 1.0
    # 1 + 2 + ... + 512 s, then every 600 s
    assert 11 <= calls <= 14 and names(places, UNSENT) == ["a.dcm"]
    assert taker.trouble == f"ARCHIVE at 127.0.0.1:{port} does not answer"


def test_an_archive_that_rejects_the_node_is_told_from_one_that_is_away(places, archive) -> None:
    taker = courier(Outbox(places, Clock()), archive(knows=["OTHER"])[1])
    report(places.reports(UNSENT) / "a.dcm")
    taker.deliver_due_reports()
    assert re.fullmatch(
        "ARCHIVE at .* rejects FOVNET: Calling AE title not recogni[sz]ed", taker.trouble
    )


def test_a_call_closes_its_connection_where_the_library_leaves_it_open(
    places, archive, monkeypatch
) -> None:
    """pynetdicom closes no socket whose `shutdown` raises, as where the peer went first."""
    connections: list[socket.socket] = []

    def leave_open(connection: AssociationSocket) -> None:
        if connection.assoc.is_requestor and connection.socket is not None:
            connections.append(connection.socket)
        else:
            shut_down_and_close(connection)

    _, port = archive(knows=["OTHER"])
    report(places.reports(UNSENT) / "a.dcm")
    monkeypatch.setattr(AssociationSocket, "_shutdown_socket", leave_open)
    courier(Outbox(places, Clock()), port).deliver_due_reports()
    until(lambda: connections)
    assert {connection.fileno() for connection in connections} == {-1}


NO_SR = "does not take Comprehensive 3D SR"
LOST = "does not keep what it stored, reason "
UNCOMMITTED = "refuses to commit itself to keep it, status "
OTHER_SR = (EnhancedSRStorage, MRImageStorage)
FAILING: list[tuple[dict[str, Any], int, str]] = [
    ({"takes": ()}, 6, NO_SR),
    ({"takes": OTHER_SR}, 6, NO_SR),
    ({"takes": (), "forgets": 0, "at_once": True}, 6, NO_SR),
    ({"takes": OTHER_SR, "forgets": 9, "at_once": True}, 6, NO_SR),
    ({"knows": ("OTHER",)}, 6, "rejects FOVNET: Calling AE title not recogni"),
    ({"aborts": True}, 6, "breaks off when FOVNET asks"),
    ({"stored": None}, 6, "ended the association"),
    ({"stored": 0xA700}, 6, "refused it, status A700: 2 reports"),
    ({"stored": 0xA900}, 6, "refused it, status A900"),
    ({"stored": 0xC000}, 6, "refused it, status C000"),
    ({"stored": 0x0122}, 6, "refused it, status 0122"),
    ({"stored": 0x0124}, 6, "refused it, status 0124"),
    ({"forgets": 99, "at_once": True}, 6, f"{LOST}0112: 2 reports"),
    ({"forgets": 99, "at_once": True, "reason": 0x0110}, 6, f"{LOST}0110"),
    ({"forgets": 99, "at_once": True, "reason": 0x0213}, 6, f"{LOST}0213"),
    ({"forgets": 99, "at_once": True, "stored": 0xB000}, 6, f"{LOST}0112"),
    ({"forgets": 0, "status": 0x0110}, 6, f"{UNCOMMITTED}0110"),
    ({"forgets": 0, "status": 0x0112}, 6, f"{UNCOMMITTED}0112"),
    ({"forgets": 0, "status": 0x0211}, 6, f"{UNCOMMITTED}0211"),
    ({"forgets": 0, "tells": False}, 3, "does not say whether it keeps what it stored: 2 reports"),
]
"""What an archive does, the attempts until a report is given up, and what is told meanwhile."""


@pytest.mark.parametrize(("how", "attempts", "trouble"), FAILING, ids=lambda value: str(value)[:60])
def test_an_archive_that_fails_is_called_less_and_less_often_told_and_given_up_at_last(
    places, archive, how, attempts, trouble
) -> None:
    """Two reports; attempts after 0, 1, 3, 7, 15 and 23 s, of which at most three lines tell; then no report
    waits, and that is told, too."""
    peer, port = archive(**how)
    clock, lines = Clock(), []
    for name in "ab":
        report(places.reports(UNSENT) / f"{name}.dcm")
    pauses = Pauses(longest_s=8.0, answer_s=6.0, give_up_s=23.5)
    taker = courier(Outbox(places, clock, pauses), port, lines)
    while clock.now < pauses.give_up_s:
        taker.deliver_due_reports()
        clock.now += 1.0
        assert clock.now < 10.0 or trouble in taker.trouble, (taker.trouble, lines)
    assert peer.calls == attempts
    assert len(lines) <= 3 * peer.calls + 1 and "Doe" not in " ".join(lines)
    clock.now += 2**3 * pauses.answer_s
    assert not taker.deliver_due_reports() and peer.calls == attempts
    assert not names(places, UNSENT) and not names(places, STORED) and taker.trouble == ""
    given_up = taker.figures.counts["given_up"] + taker.figures.counts["uncommitted"]
    assert given_up == 2 == sum("(--give-up)" in line for line in lines)


def test_a_silent_port_is_told_from_a_closed_one(places) -> None:
    report(places.reports(UNSENT) / "a.dcm")
    with socket.create_server(("127.0.0.1", 0)) as silent:
        taker = courier(Outbox(places, Clock()), silent.getsockname()[1])
        taker.timeout_s = 0.2
        taker.deliver_due_reports()
    assert taker.trouble.endswith("lets FOVNET connect, and says nothing for 0.2 s")


def test_trouble_ends_when_the_archive_takes_reports_again(places, archive) -> None:
    """Of the peer, and of single reports; a new report does not hurry it."""
    peer, port = archive(knows=["OTHER"], forgets=2, at_once=True)
    clock, lines = Clock(), []
    report(places.reports(UNSENT) / "a.dcm")
    taker = courier(Outbox(places, clock), port, lines)
    taker.deliver_due_reports()
    assert "rejects" in taker.trouble
    report(places.reports(UNSENT) / "b.dcm")
    assert not taker.deliver_due_reports()
    peer._server.ae.require_calling_aet = []
    troubles = []
    for _ in range(20):
        clock.now += 1.0
        taker.deliver_due_reports()
        troubles.append(taker.trouble)
    until(lambda: names(places, DELIVERED) == ["a.dcm", "b.dcm"])
    assert "does not keep" in troubles[0] and troubles[-1] == ""
    assert any("takes reports again" in line for line in lines)


def test_reports_stored_by_an_archive_that_offers_no_commitment_any_more_are_delivered(
    places, archive
) -> None:
    report(places.reports(STORED) / "a.dcm")
    lines: list[str] = []
    taker = courier(Outbox(places, Clock()), archive()[1], lines)
    assert (
        taker.deliver_due_reports()
        and not taker.deliver_due_reports()
        and names(places, DELIVERED) == ["a.dcm"]
    )
    assert "offers no storage commitment any more" in lines[0]


def test_a_report_that_waited_while_the_node_was_off_is_tried_once_before_it_is_given_up(
    places, archive
) -> None:
    peer, port = archive(stored=0xA700)
    clock, path = Clock(), places.reports(UNSENT) / "a.dcm"
    report(path)
    os.utime(path, (1e9, 1e9))
    taker = courier(Outbox(places, clock), port)
    assert taker.deliver_due_reports() and path.exists() and peer.reports
    clock.now += Pauses.first_s
    assert not taker.deliver_due_reports() and not path.exists()
