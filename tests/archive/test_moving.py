"""A series that an archive sends to a door: what is said where it does not come."""

from __future__ import annotations

import socket
from collections.abc import Iterator
from dataclasses import replace
from ipaddress import ip_network
from pathlib import Path
from threading import Event
from typing import Any

import pytest
from pynetdicom import AE, evt
from pynetdicom.sop_class import MRImageStorage, StudyRootQueryRetrieveInformationModelMove

from fovnet.archive.arrival import Arrival
from fovnet.archive.faults import ArchiveError
from fovnet.archive.moving import SeriesMove, open_reception
from fovnet.archive.network import NetworkArchive
from fovnet.archive.opening import Address, DoorAddress, open_fetch
from fovnet.archive.timing import Throttle
from fovnet.archive.worklist import WorklistRow
from fovnet.errors import ConfigError
from fovnet.node.peers import Caller, all_callers, peer_of
from fovnet.volume.dicom.table import short_hash
from tests.archive.conftest import ROOT, SLICES, dcmqrscp_of, orthanc_of
from tests.programs import free_port

pytest.importorskip("dicomweb_client", reason="dicomweb-client is not installed: make setup")
ROW = WorklistRow(short_hash("P1"), f"{ROOT}.1", f"{ROOT}.1.1", images=SLICES)


def fault_of(place: str, folder: Path, port: int, callers=(), **address) -> ArchiveError:
    """What goes wrong with a series of one study, which leaves nothing on the disk."""
    door = DoorAddress(folder / "fetched", port, callers)
    with (
        open_fetch(Address(place, door=door, **address), Throttle()) as fetch,
        pytest.raises(ArchiveError) as fault,
    ):
        fetch(ROW, folder / "fetched" / "series")
    assert not list((folder / "fetched").iterdir())
    return fault.value


def test_an_archive_that_does_not_know_the_door_is_told_of(orthanc, dcmqrscp, tmp_path) -> None:
    """DCMTK's answers A801 to an unknown title; Orthanc C000, as to an unknown series."""
    fault = fault_of(dcmqrscp.network, tmp_path, dcmqrscp.door_port, own_title="NOBODY")
    assert fault.code == "archive-denied" and "status A801" in str(fault)
    assert (
        f"have NOBODY entered there as a destination, at this machine, port {dcmqrscp.door_port}"
        in str(fault)
    )
    fault = fault_of(orthanc.network, tmp_path, orthanc.door_port, own_title="NOBODY")
    assert fault.code == "archive-unreachable" and "status C000" in str(fault)
    assert "have NOBODY entered there" in str(fault)


@pytest.mark.parametrize("name", ["orthanc", "dcmqrscp"])
def test_a_door_that_nothing_reaches_is_told_of(name, request, tmp_path) -> None:
    """At another port than the archive knows."""
    fault = fault_of(request.getfixturevalue(name).network, tmp_path, free_port())
    assert fault.code == "archive-unreachable" and "no image comes" in str(fault)


def test_a_sender_of_another_title_is_told_of(orthanc, tmp_path) -> None:
    """Orthanc may be called by any title, and sends by its own."""
    place = orthanc.network.replace("ORTHANC", "PACS")
    scanner = Caller("SCANNER", (ip_network("10.0.0.0/8"),))
    fault = fault_of(place, tmp_path, orthanc.door_port, (scanner,))
    assert "'ORTHANC' at 127.0.0.1 may not call; --from AE@NETWORK lets it in" in str(fault)


def test_images_that_an_archive_has_lost_are_told_of(study_images, tmp_path) -> None:
    with dcmqrscp_of(tmp_path) as server:
        server.store(study_images(1))
        next((tmp_path / "database").glob("MR*")).unlink()
        fault = fault_of(server.network, tmp_path, server.door_port)
    assert fault.code == "archive-incomplete"
    assert "1 of 5 images do not come" in str(fault) and "1 of its sub-operations failed" in str(
        fault
    )


def test_an_archive_that_falls_silent_is_waited_for_no_longer_than_is_said(
    study_images, tmp_path
) -> None:
    """After two images, as one that hangs; what has come is removed."""
    door_port = free_port()
    is_over = Event()

    def move(event: evt.Event) -> Iterator[Any]:
        yield "127.0.0.1", door_port
        yield SLICES
        for image in study_images(1)[:2]:
            yield 0xFF00, image
        is_over.wait()
        yield 0xFE00, None

    server = AE("SILENT")
    server.add_supported_context(StudyRootQueryRetrieveInformationModelMove)
    server.add_requested_context(MRImageStorage)
    port = free_port()
    with server.start_server(
        ("127.0.0.1", port), block=False, evt_handlers=[(evt.EVT_C_MOVE, move)]
    ) as listener:
        archive = NetworkArchive(peer_of(f"SILENT@127.0.0.1:{port}", ""), "FOVNET")
        callers = all_callers((), archive.peer, "")
        with open_reception(tmp_path / "fetched", "FOVNET", door_port, callers) as reception:
            folder = tmp_path / "fetched" / "series"
            arrival = Arrival(ROW, folder, "the series", Throttle())
            with pytest.raises(ArchiveError) as fault:
                SeriesMove(archive, arrival, reception, longest_silence_s=2.0).fetch()
            is_over.set()
        listener.shutdown()
    assert fault.value.code == "archive-unreachable"
    assert "sent nothing for 2 s" in str(fault.value)
    assert reception.image_count == 2 and not list((tmp_path / "fetched").iterdir())


def test_a_port_in_use_is_told_of(tmp_path) -> None:
    with socket.create_server(("", 0)) as taken, pytest.raises(ConfigError) as fault:
        fault_of("ARCHIVE@127.0.0.1:104", tmp_path, taken.getsockname()[1])
    assert fault.value.code == "archive-door" and "give a free one" in str(fault.value)


@pytest.mark.parametrize(
    ("place", "tls"), [("http://127.0.0.1/dicom-web", False), ("A@127.0.0.1:9", True)]
)
def test_a_door_that_does_not_fit_is_told_of(place, tls, tmp_path) -> None:
    with pytest.raises(ConfigError) as fault:
        fault_of(place, tmp_path, 0, tls=tls)
    assert fault.value.code == "archive-door"


@pytest.fixture(scope="module")
def orthanc_with_tls(tmp_path_factory, certificates, study_images):
    """Orthanc, which is called by TLS, and sends by TLS with a certificate of its own."""
    door_port = free_port()
    node = {"AET": "FOVNET", "Host": "127.0.0.1", "Port": door_port, "UseDicomTls": True}
    settings = {
        "DicomTlsEnabled": True,
        "DicomTlsCertificate": str(certificates.cert),
        "DicomTlsPrivateKey": str(certificates.key),
        "DicomTlsTrustedCertificates": str(certificates.ca),
        "DicomModalities": {"fovnet": node},
    }
    with orthanc_of(tmp_path_factory.mktemp("orthanc"), **settings) as server:
        server.store(study_images(1))
        yield replace(server, door_port=door_port)


def test_images_come_by_tls_both_ways(orthanc_with_tls, certificates, tmp_path) -> None:
    """Orthanc asks callers for a certificate; so does the door."""
    server = orthanc_with_tls
    ours = {
        "authorities": certificates.ca,
        "certificate": certificates.cert,
        "key": certificates.key,
    }
    door = DoorAddress(tmp_path / "fetched", server.door_port)
    address = Address(server.network, tls=True, door=door, **ours)
    with open_fetch(address, Throttle()) as fetch:
        fetch(ROW, tmp_path / "fetched" / "series")
    assert len(list((tmp_path / "fetched" / "series").iterdir())) == SLICES


def test_images_do_not_come_without_tls_where_the_door_speaks_it(
    orthanc, certificates, tmp_path
) -> None:
    ours = {"certificate": certificates.cert, "key": certificates.key}
    fault = fault_of(orthanc.network, tmp_path, orthanc.door_port, **ours)
    assert fault.code == "archive-unreachable"
    assert "127.0.0.1 failed to agree on TLS (wrong version number)); have it send by" in str(fault)
