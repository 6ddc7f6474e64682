"""Reports reach an archive that refuses, forgets, or is away, and are kept until it keeps them."""

from __future__ import annotations

import re
import socket
import time

import pytest
from pydicom.dataset import Dataset, FileMetaDataset
from pydicom.uid import ExplicitVRLittleEndian, generate_uid
from pynetdicom.sop_class import Comprehensive3DSRStorage

from fovnet.node.courier import Courier
from fovnet.node.door import Door, Limits
from fovnet.node.figures import Figures
from fovnet.node.inbox import Inbox
from fovnet.node.outbox import FIRST_WAIT_S, LONGEST_WAIT_S, Outbox
from fovnet.node.peers import HERE, Peer
from fovnet.node.places import DELIVERED, STORED, UNSENT, held
from fovnet.node.tls import calling, listening

pytestmark = pytest.mark.filterwarnings("ignore:unclosed:ResourceWarning")


def report(path) -> str:
    """A report in a file; its UID."""
    one, one.file_meta = Dataset(), FileMetaDataset()
    one.SOPClassUID, one.SOPInstanceUID = Comprehensive3DSRStorage, generate_uid()
    one.PatientName = "Doe^Jane"
    one.file_meta.TransferSyntaxUID = ExplicitVRLittleEndian
    one.save_as(path, enforce_file_format=True)
    return str(one.SOPInstanceUID)


class Clock:
    now = 0.0

    def __call__(self) -> float:
        return self.now


@pytest.fixture
def places(tmp_path):
    with held(tmp_path / "node") as found:
        yield found


def courier(outbox: Outbox, port: int, lines: list[str] | None = None, tls=None) -> Courier:
    say = (lines if lines is not None else []).append
    return Courier(outbox, Peer("ARCHIVE", "127.0.0.1", port), "FOVNET", tls, 5.0, say)


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
    assert courier(outbox, port).round() and peer.reports == uids
    assert names(places, DELIVERED) == ["a.dcm", "b.dcm"] and not courier(outbox, port).round()


@pytest.mark.parametrize("calls_back", [False, True], ids=["on the same association", "on its own"])
def test_with_it_a_report_is_delivered_when_the_archive_says_so(places, archive, calls_back: bool) -> None:
    """It answers while the association is open, or calls back at the door, to which it is known."""
    clock = Clock()
    outbox, door = Outbox(places, clock), None
    peer, port = archive(forgets=0)
    taker = courier(outbox, port)
    if calls_back:
        door = Door(Inbox(places, 1.0, 1.0), Figures(), Limits(), (HERE,), print, taker.event)
        peer.back = door.open("FOVNET", "127.0.0.1", 0, None)
    else:
        peer.at_once = True
    report(places.reports(UNSENT) / "a.dcm")
    taker.round()
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
    taker.round()
    until(lambda: names(places, UNSENT) == ["a.dcm"])
    assert not taker.round()                        # not at once
    clock.now += FIRST_WAIT_S
    taker.round()
    until(lambda: names(places, DELIVERED) == ["a.dcm"])
    assert peer.reports == [uid, uid]


def test_after_a_restart_the_archive_is_asked_again_and_nothing_is_sent_twice(places, archive) -> None:
    peer, port = archive(forgets=0)
    peer.at_once = True
    report(places.reports(STORED) / "a.dcm")
    courier(Outbox(places), port).round()
    until(lambda: names(places, DELIVERED) == ["a.dcm"])
    assert not peer.reports


def test_one_report_that_is_refused_keeps_no_other_waiting(places, archive) -> None:
    peer, port = archive(refuses=1)
    clock, lines = Clock(), []
    outbox = Outbox(places, clock)
    uids = [report(places.reports(UNSENT) / f"{name}.dcm") for name in "ab"]
    taker = courier(outbox, port, lines)
    taker.round()
    assert names(places, UNSENT) == ["a.dcm"] and peer.reports == uids[1:]
    clock.now += FIRST_WAIT_S
    taker.round()
    assert peer.reports == uids[::-1] and "A700" in lines[0] and "Doe" not in " ".join(lines)


def test_with_tls_both_sides_show_a_certificate(places, archive, certificates) -> None:
    """To an archive whose authority is not known, nothing is sent."""
    ours = (certificates.cert, certificates.key, certificates.ca)
    peer, port = archive(tls=listening(*ours))
    clock = Clock()
    outbox = Outbox(places, clock)
    uid = report(places.reports(UNSENT) / "a.dcm")
    courier(outbox, port, tls=calling(None, None, None)).round()
    assert names(places, UNSENT) == ["a.dcm"] and not peer.reports
    clock.now += FIRST_WAIT_S
    courier(outbox, port, tls=calling(*ours)).round()
    assert names(places, DELIVERED) == ["a.dcm"] and peer.reports == [uid]


def test_an_archive_that_is_away_is_called_less_and_less_often(places) -> None:
    with socket.create_server(("127.0.0.1", 0)) as free:
        port = free.getsockname()[1]
    clock, calls = Clock(), 0
    outbox = Outbox(places, clock)
    report(places.reports(UNSENT) / "a.dcm")
    taker = courier(outbox, port)
    for _ in range(int(4 * LONGEST_WAIT_S)):
        calls += taker.round()
        clock.now += 1.0
    # 1 + 2 + ... + 512 s, then every 600 s
    assert 11 <= calls <= 14 and names(places, UNSENT) == ["a.dcm"]
    assert taker.trouble == f"ARCHIVE at 127.0.0.1:{port} does not answer"


def test_an_archive_that_rejects_the_node_is_told_from_one_that_is_away(places, archive) -> None:
    taker = courier(Outbox(places, Clock()), archive(knows=["OTHER"])[1])
    report(places.reports(UNSENT) / "a.dcm")
    taker.round()
    assert re.fullmatch("ARCHIVE at .* rejects FOVNET: Calling AE title not recogni[sz]ed", taker.trouble)
