"""What a peer answers reaches who asked."""

from __future__ import annotations

import time
from collections.abc import Iterator
from threading import Event

from pydicom.dataset import Dataset
from pynetdicom import AE, evt
from pynetdicom.sop_class import StudyRootQueryRetrieveInformationModelFind

from fovnet.node.calling import call, calling_entity
from fovnet.node.peers import ReportPeer

MATCHES = 200


class NeverPausing(Event):
    """The library's thread beside an association believes itself paused for a moment, and goes on."""

    def wait(self, timeout: float | None = None) -> bool:
        time.sleep(0.002)
        return True


def find(event: evt.Event) -> Iterator[tuple[int, Dataset | None]]:
    for number in range(MATCHES):
        match = Dataset()
        match.StudyInstanceUID = f"1.2.{number}"
        yield 0xFF00, match


def test_no_match_of_a_search_is_taken_by_another_thread() -> None:
    """As on a busy machine, all the time: without `CallerMessages` matches are missing, and nothing tells."""
    archive = AE("ARCHIVE")
    archive.add_supported_context(StudyRootQueryRetrieveInformationModelFind)
    server = archive.start_server(
        ("127.0.0.1", 0), block=False, evt_handlers=[(evt.EVT_C_FIND, find)]
    )
    entity = calling_entity("FOVNET", 10.0)
    entity.add_requested_context(StudyRootQueryRetrieveInformationModelFind)
    connections: list = []
    peer = ReportPeer("ARCHIVE", "127.0.0.1", server.server_address[1])
    association = call(entity, peer, None, connections)
    try:
        association._reactor_checkpoint = NeverPausing()
        question = Dataset()
        question.QueryRetrieveLevel = "STUDY"
        answers = association.send_c_find(question, StudyRootQueryRetrieveInformationModelFind)
        uids = [match.StudyInstanceUID for _, match in answers if match is not None]
    finally:
        association.abort()
        for connection in connections:
            connection.close()
        server.shutdown()
    assert uids == [f"1.2.{number}" for number in range(MATCHES)]
