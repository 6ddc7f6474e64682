"""The conformance statement says what is negotiated, and all of it: each row is tried, and what no row has is
refused; by pynetdicom always, by DCMTK where it is installed."""

from __future__ import annotations

import re
import subprocess
import time
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

import pytest
from pydicom.encaps import encapsulate
from pydicom.uid import UID, AllTransferSyntaxes, ExplicitVRLittleEndian
from pynetdicom import AE, AllStoragePresentationContexts, build_context, build_role, evt
from pynetdicom.association import Association
from pynetdicom.sop_class import (
    Comprehensive3DSRStorage,
    StorageCommitmentPushModel,
    StudyRootQueryRetrieveInformationModelFind,
    Verification,
)

from fovnet.config.node import NodeOptions
from fovnet.node.conformance import conformance_statement
from fovnet.node.courier import Courier
from fovnet.node.door import Door
from fovnet.node.inbox import Inbox
from fovnet.node.outbox import Outbox
from fovnet.node.peers import ReportPeer
from fovnet.node.places import UNSENT, lock_places
from fovnet.node.settings import NodeSettings, settings_of
from fovnet.watch.figures import Figures
from tests.node.parties import own_report
from tests.node.test_orthanc import free_port, program

CLASSES = [context.abstract_syntax for context in AllStoragePresentationContexts]
OTHERS = [Verification, StorageCommitmentPushModel, StudyRootQueryRetrieveInformationModelFind]
NO_CLASS, NO_SYNTAX = 3, 4  # results of PS3.8, table 9-18
STORESCU_OPTIONS = {
    "1.2.840.10008.1.2": "-xi",
    "1.2.840.10008.1.2.1": "-xe",
    "1.2.840.10008.1.2.4.50": "-xy",
    "1.2.840.10008.1.2.4.51": "-xx",
    "1.2.840.10008.1.2.4.70": "-xs",
    "1.2.840.10008.1.2.4.80": "-xt",
    "1.2.840.10008.1.2.4.81": "-xu",
    "1.2.840.10008.1.2.4.90": "-xv",
    "1.2.840.10008.1.2.4.91": "-xw",
    "1.2.840.10008.1.2.5": "-xr",
    "1.2.840.10008.1.2.4.100": "-xm",
    "1.2.840.10008.1.2.4.102": "-xn",
}
"""Transfer syntaxes that DCMTK's storescu can be told to propose, and does not convert from another."""


class Context(NamedTuple):
    """An abstract syntax in one transfer syntax."""

    abstract_syntax: str
    transfer_syntax: str


def contexts_of(section: str) -> set[Context]:
    """The contexts in the table of a section."""
    rows = re.findall(r"^\| .+? \| ([\d.]+) \| .+? \| ([\d.]+) \|", section, re.MULTILINE)
    return {Context(*row) for row in rows}


@pytest.fixture
def node_options(tmp_path) -> NodeOptions:
    return NodeOptions(out=tmp_path, to=f"ARCHIVE@127.0.0.1:{free_port()}")


@pytest.fixture
def node_settings(node_options) -> NodeSettings:
    return settings_of(node_options)


@pytest.fixture
def stated(node_options, node_settings) -> tuple[set[Context], set[Context]]:
    """(contexts accepted, contexts proposed), as stated."""
    statement = conformance_statement(node_options, node_settings)
    accepted, proposed = statement.split("### 3.4")
    return contexts_of(accepted), contexts_of(proposed)


@pytest.fixture
def port(tmp_path, node_settings) -> Iterator[int]:
    """Of a door with these settings."""
    with lock_places(tmp_path / "node") as places:
        door = Door(
            Inbox(places, 1.0, 1.0),
            Figures(),
            node_settings.limits,
            node_settings.callers,
            lambda *told, **more: None,
            lambda event: (0, None),
        )
        yield door.open(node_settings.title, "127.0.0.1", 0, None)
        door.close()


def ask(port: int, contexts: list[Context]) -> Association:
    """What comes of an association with these contexts, at most 128."""
    ae = AE("ARCHIVE")
    ae.requested_contexts = [build_context(*context) for context in contexts]
    role = build_role(StorageCommitmentPushModel, scp_role=True)
    association = ae.associate("127.0.0.1", port, ae_title="FOVNET", ext_neg=[role])
    association.release()
    return association


def test_each_context_that_is_stated_is_accepted_and_no_other_with_the_result_stated(
    stated, port
) -> None:
    """Every storage class in its default syntax, and the classes stated in every syntax."""
    asked = [Context(uid, ExplicitVRLittleEndian) for uid in (*CLASSES, *OTHERS)]
    asked += [
        Context(uid, syntax)
        for uid in sorted({context.abstract_syntax for context in stated[0]})
        for syntax in AllTransferSyntaxes
    ]
    accepted, result_by_refused = set(), {}
    for start in range(0, len(asked), 128):
        association = ask(port, asked[start : start + 128])
        accepted |= {
            Context(context.abstract_syntax, context.transfer_syntax[0])
            for context in association.accepted_contexts
        }
        result_by_refused |= {
            Context(context.abstract_syntax, context.transfer_syntax[0]): context.result
            for context in association.rejected_contexts
        }
    assert accepted == stated[0]
    classes = {context.abstract_syntax for context in stated[0]}
    assert result_by_refused == {
        context: NO_SYNTAX if context.abstract_syntax in classes else NO_CLASS
        for context in asked
        if context not in stated[0]
    }
    assert len(accepted) > 40 and len(result_by_refused) > 150


def test_the_archive_commits_itself_as_scp_and_of_several_syntaxes_the_first_stated_is_taken(
    port,
) -> None:
    association = ask(port, [Context(StorageCommitmentPushModel, ExplicitVRLittleEndian)])
    (context,) = association.accepted_contexts
    assert context.as_scp and not context.as_scu
    ae = AE("ARCHIVE")
    ae.add_requested_context(Comprehensive3DSRStorage, ["1.2.840.10008.1.2", "1.2.840.10008.1.2.1"])
    association = ae.associate("127.0.0.1", port, ae_title="FOVNET")
    association.release()
    assert association.accepted_contexts[0].transfer_syntax == ["1.2.840.10008.1.2.1"]


def deliver(folder: Path, settings: NodeSettings, image) -> None:
    """Has a report sent to the archive of these settings."""
    assert isinstance(settings.peer, ReportPeer)
    with lock_places(folder / "sender") as places:
        own_report(image).save_as(places.reports(UNSENT) / "a.dcm", enforce_file_format=True)
        Courier(
            Outbox(places), settings.peer, settings.title, None, 10.0, lambda *told, **more: None
        ).deliver_due_reports()


def test_what_is_stated_to_be_proposed_is_what_the_archive_is_asked_for(
    tmp_path, stated, node_settings, series
) -> None:
    asked: set[Context] = set()

    def note(event: evt.Event) -> None:
        asked.update(
            Context(context.abstract_syntax, syntax)
            for context in event.assoc.requestor.requested_contexts
            for syntax in context.transfer_syntax
        )

    handlers = [(evt.EVT_ACCEPTED, note), (evt.EVT_C_STORE, lambda event: 0)]
    ae = AE("ARCHIVE")
    ae.supported_contexts = [build_context(uid) for uid in (*CLASSES, *OTHERS)]
    server = ae.start_server(
        ("127.0.0.1", node_settings.peer.port), block=False, evt_handlers=handlers
    )
    deliver(tmp_path, node_settings, series(1, 1)[0])
    server.shutdown()
    assert asked == stated[1]


def test_a_node_without_an_archive_states_that_it_proposes_nothing(tmp_path) -> None:
    options = NodeOptions(out=tmp_path)
    statement = conformance_statement(options, settings_of(options))
    accepted, proposed = map(contexts_of, statement.split("### 3.4"))
    assert not proposed and StorageCommitmentPushModel not in {uid for uid, _ in accepted}
    assert "| Comprehensive 3D SR Storage | No | Yes |" in statement


@pytest.mark.slow
def test_dcmtk_stores_in_each_context_that_is_stated_and_in_no_other(
    tmp_path, stated, port, series
) -> None:
    storescu = program("storescu")
    if storescu is None:
        pytest.skip("storescu is not installed: apt-get install dcmtk")
    image = series(1, 1)[0]
    classes = {uid for uid, _ in stated[0] if UID(uid).name.endswith("Image Storage")}
    sent, outcomes = set(), {}
    for uid in (*sorted(classes), "1.2.840.10008.5.1.4.1.1.2"):
        for syntax, option in STORESCU_OPTIONS.items():
            image.SOPClassUID = image.file_meta.MediaStorageSOPClassUID = uid
            image.file_meta.TransferSyntaxUID = syntax
            image.PixelData = bytes(1440)
            if UID(syntax).is_encapsulated:
                image.PixelData = encapsulate([bytes(1440)])
            path = tmp_path / "image.dcm"
            image.save_as(path, enforce_file_format=True, overwrite=True)
            words = [storescu, "-R", option, "-aet", "ARCHIVE", "-aec", "FOVNET", "127.0.0.1"]
            done = subprocess.run(
                [*words, str(port), str(path)], capture_output=True, timeout=60, check=False
            )
            outcomes[Context(uid, syntax)] = done.returncode == 0
    sent = {context for context, is_stored in outcomes.items() if is_stored}
    assert sent == stated[0] & outcomes.keys() and len(sent) == 30


@pytest.mark.slow
def test_dcmtk_is_asked_for_what_is_stated(tmp_path, stated, node_settings, series) -> None:
    storescp = program("storescp")
    if storescp is None:
        pytest.skip("storescp is not installed: apt-get install dcmtk")
    words = [storescp, "--debug", "--ignore", str(node_settings.peer.port)]
    with subprocess.Popen(words, stdout=subprocess.PIPE, stderr=subprocess.STDOUT) as archive:
        time.sleep(1.0)
        deliver(tmp_path, node_settings, series(1, 1)[0])
        archive.terminate()
        told = archive.communicate()[0].decode()
    names = re.findall(r"Abstract Syntax: =(\w+)", told.split("Associate-AC")[0])
    assert sorted(set(names)) == ["Comprehensive3DSRStorage", "StorageCommitmentPushModelSOPClass"]
