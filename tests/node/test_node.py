"""A node at work: what arrives is kept and answered once, whoever may call, whatever arrives."""

from __future__ import annotations

import errno
import json
import socket
import ssl
import urllib.error
import urllib.request
from concurrent.futures import ThreadPoolExecutor
from io import BytesIO
from ipaddress import ip_network
from itertools import chain, zip_longest
from shutil import copytree

import pydicom
import pytest
from pydicom.uid import ImplicitVRLittleEndian
from pynetdicom import AE
from pynetdicom.dimse_primitives import C_STORE
from pynetdicom.dsutils import encode
from pynetdicom.sop_class import CTImageStorage, MRImageStorage, Verification
from typer.testing import CliRunner

from fovnet.cli import app
from fovnet.decision.model import Model
from fovnet.errors import ConfigError
from fovnet.machine.ports import advice_on
from fovnet.node.answering import Answering
from fovnet.node.node import Node
from fovnet.node.outbox import Pauses
from fovnet.node.peers import ANY_TITLE, LOCAL_CALLER, Caller, ReportPeer
from fovnet.node.places import hash_uids, lock_places
from fovnet.node.settings import DoorLimits, NodeSettings
from fovnet.node.tls import client_context, server_context
from fovnet.records import read_json, read_tsv
from fovnet.watch.log import write_nothing
from tests.node.parties import PATIENT, at_work, statuses


def key(images) -> str:
    return hash_uids(images[0].StudyInstanceUID, images[0].SeriesInstanceUID)


def test_interleaved_series_are_each_answered_once_and_as_by_predict(
    tmp_path, networks, series
) -> None:
    """One of four is broken, and refused; nothing that is told or kept names a patient."""
    sent = [series(number) for number in range(4)]
    for image in sent[3]:
        image.PixelData = image.PixelData[:100]
    mixed = [image for image in chain(*zip_longest(*sent)) if image is not None]
    with at_work(tmp_path / "node", networks) as running:
        with ThreadPoolExecutor(2) as callers:
            halves = mixed[::2], mixed[1::2]
            codes = list(callers.map(lambda images: statuses(running.port, images), halves))
        assert set(chain(*codes)) == {0}
        told = running.until(answered=3, refused=1, reports_unsent=3)
    answers = {path.stem: read_json(path) for path in running.places.answers.iterdir()}
    assert answers.keys() == {f"{key(images)}-1" for images in sent}
    model = Model(networks)
    for images in sent:
        here = model.predict(running.places.series / f"{key(images)}-1").to_dict()
        there = answers[f"{key(images)}-1"]
        assert {name: there[name] for name in here} == here
    reports = sorted(running.places.reports("unsent").iterdir())
    assert {pydicom.dcmread(path).StudyInstanceUID for path in reports} == {
        str(images[0].StudyInstanceUID) for images in sent[:3]
    }
    said = " ".join(
        [*running.lines, json.dumps(told), json.dumps(answers), *map(str, tmp_path.rglob("*"))]
    )
    assert not any(value in said for value in PATIENT.values()) and "1.2.826" not in " ".join(
        running.lines
    )
    audit_text = (tmp_path / "node" / "audit.tsv").read_text()
    assert not any(value in audit_text for value in [*PATIENT.values(), "1.2.826"])
    done_rows = [
        row for row in read_tsv(tmp_path / "node" / "audit.tsv") if row["outcome"] == "done"
    ]
    assert [(row["who"], row["service"]) for row in done_rows] == [
        ("'SCANNER' at 127.0.0.1", "C-STORE")
    ] * 2
    assert sum(int(row["objects"]) for row in done_rows) == len(mixed) == told["instances"]


def test_late_instances_are_answered_with_the_earlier_ones_and_repeated_ones_are_not(
    tmp_path, networks, series
) -> None:
    images = series(1)
    with at_work(tmp_path / "node", networks) as running:
        statuses(running.port, images[:8])
        running.until(answered=1)
        statuses(running.port, images[4:])
        running.until(answered=2)
        statuses(running.port, images[2:10])
        running.until(unchanged=1)
    first, second = (read_json(running.places.answers / f"{key(images)}-{n}.json") for n in (1, 2))
    assert (first["covers"][-1][1], second["covers"][-1][1]) == (7, 11)
    reports = [pydicom.dcmread(path) for path in running.places.reports("unsent").iterdir()]
    assert len({report.SOPInstanceUID for report in reports}) == len(reports) == 2


def test_a_busy_node_removes_what_was_kept_and_not_what_waits(tmp_path, networks, series) -> None:
    """A later version of a series that was answered long ago is still to be read."""
    with at_work(tmp_path / "node", networks) as running:
        statuses(running.port, series(1))
        running.until(answered=1)
    (first,) = running.places.series.iterdir()
    later = first.with_name(first.name.replace("-1", "-2"))
    copytree(first, later)
    with at_work(tmp_path / "node", networks, keep_h=0.0) as running:
        running.until(answered=1)
    assert [home.name for home in running.places.series.iterdir()] == [later.name]
    assert read_json(running.places.answers / f"{later.name}.json")["status"] != "refused"


def test_strangers_are_not_let_in(tmp_path, networks, series) -> None:
    """By address, by title, by the title that they call; and other images than MR by their class."""
    image, far = series(1)[:1], ip_network("192.0.2.0/24")
    with at_work(tmp_path / "far", networks, callers=(Caller(ANY_TITLE, (far,)),)) as running:
        assert statuses(running.port, image) == [None]
    here = (Caller("SCANNER", (ip_network("127.0.0.0/8"),)), Caller("OTHER", (far,)))
    with at_work(tmp_path / "here", networks, callers=here) as running:
        assert statuses(running.port, image, title="OTHER") == [None]
        assert statuses(running.port, image, called="X") == [None]
        ae = AE("SCANNER")
        for wanted in (Verification, CTImageStorage, MRImageStorage):
            ae.add_requested_context(wanted)
        association = ae.associate("127.0.0.1", running.port, ae_title="FOVNET")
        assert [context.abstract_syntax for context in association.rejected_contexts] == [
            CTImageStorage
        ]
        assert association.send_c_echo().Status == 0
        association.release()
        assert statuses(running.port, image) == [0]
        assert running.node.status()["strangers"] == 2
    refused = [line for line in running.lines if line.startswith("refused: ")]
    assert refused == [
        "refused: 'OTHER' at 127.0.0.1 may not call; --from AE@NETWORK lets it in",
        "refused: 'SCANNER' at 127.0.0.1 calls 'X', and this node is FOVNET",
        "refused: 'SCANNER' at 127.0.0.1 may not send CT Image Storage: MR images are taken, in the transfer "
        "syntaxes that fovnet reads",
    ]


def test_what_is_no_instance_is_refused_with_the_status_that_says_why(
    tmp_path, networks, series
) -> None:
    """Without a series, under another UID than announced, and bytes that are no data set; the next is
    taken."""
    nameless, other, good = series(1)[:3]
    del nameless.SeriesInstanceUID
    with at_work(tmp_path / "node", networks) as running:
        assert statuses(running.port, [nameless, good]) == [0xA900, 0]
        ae = AE("SCANNER")
        ae.add_requested_context(MRImageStorage, ImplicitVRLittleEndian)
        association = ae.associate("127.0.0.1", running.port, ae_title="FOVNET")
        data = encode(other, True, True)
        assert stored(association, other.SOPInstanceUID, data) == 0
        assert stored(association, good.SOPInstanceUID, data) == 0xA900
        assert (
            stored(association, good.SOPInstanceUID, b"\x08\x00\x05\x00\xff\xff\xff\x7fISO")
            >= 0xA900
        )
        association.release()
        assert running.until(instances=2)["mismatched"] >= 2


def stored(association, uid: str, data: bytes) -> int:
    """The status of a C-STORE of these bytes, announced under this UID."""
    request = C_STORE()
    request.MessageID, request.Priority = 1, 2
    request.AffectedSOPClassUID, request.AffectedSOPInstanceUID = MRImageStorage, uid
    request.DataSet = BytesIO(data)
    association._reactor_checkpoint.clear()
    association.dimse.send_msg(request, association.accepted_contexts[0].context_id)
    _, response = association.dimse.get_msg(block=True)
    association._reactor_checkpoint.set()
    return response.Status


def test_a_full_disk_refuses_and_takes_again_when_there_is_room(tmp_path, networks, series) -> None:
    images = series(1)
    with at_work(tmp_path / "node", networks, limits=DoorLimits(reserve_bytes=2**60)) as running:
        assert statuses(running.port, images[:2]) == [0xA700, 0xA700]
        assert "disk" in running.node.status()["trouble"]
    with at_work(tmp_path / "node", networks) as running:
        assert statuses(running.port, images) == [0] * 12
        running.until(answered=1)


def test_an_instance_beyond_the_limit_ends_its_association_alone(
    tmp_path, networks, series, write
) -> None:
    good = series(1)
    large = write.images(write.noise((1200, 1200, 1)))
    with at_work(tmp_path / "node", networks, limits=DoorLimits(instance_bytes=2**20)) as running:
        assert statuses(running.port, large) == [None]
        assert statuses(running.port, good) == [0] * 12
        assert running.until(answered=1)["too_large"] == 1


def test_a_node_goes_on_behind_what_was_written_last(tmp_path, networks, series) -> None:
    """Of a series that lost its record, and its report, as by a kill before these were written."""
    images = series(1)
    with at_work(tmp_path / "node", networks) as running:
        statuses(running.port, images)
        running.until(answered=1)
    name = f"{key(images)}-1"
    answer, record = (
        running.places.answers / f"{name}.json",
        running.places.answer_record_path(key(images)),
    )
    report = running.places.reports("unsent") / f"{name}.dcm"
    made = answer.stat().st_mtime_ns, report.stat().st_mtime_ns, report.read_bytes()
    record.unlink()
    with at_work(tmp_path / "node", networks) as running:
        running.until(answered=1)
    assert (answer.stat().st_mtime_ns, report.stat().st_mtime_ns, report.read_bytes()) == made
    before = pydicom.dcmread(report).SOPInstanceUID
    record.unlink()
    report.unlink()
    with at_work(tmp_path / "node", networks) as running:
        running.until(answered=1)
    assert answer.stat().st_mtime_ns == made[0] and pydicom.dcmread(report).SOPInstanceUID == before


def test_a_series_that_ends_every_process_is_refused_at_last(tmp_path, networks, series) -> None:
    images = series(1)
    with at_work(tmp_path / "node", networks, rest_s=60.0) as running:
        statuses(running.port, images)
    (running.places.incoming / key(images)).rename(running.places.series / f"{key(images)}-1")
    (running.places.begun / f"{key(images)}-1").write_text("5")
    with at_work(tmp_path / "node", networks) as running:
        running.until(refused=1)
    assert read_json(running.places.answers / f"{key(images)}-1.json")["code"] == "volume-crash"


def test_pixels_and_delivered_reports_go_and_answers_stay(
    tmp_path, networks, series, archive
) -> None:
    peer, port = archive()
    images = series(1)
    settings = {"peer": ReportPeer("ARCHIVE", "127.0.0.1", port)}
    with at_work(tmp_path / "node", networks, **settings) as running:
        statuses(running.port, images)
        running.until(answered=1, reports_delivered=1)
    with at_work(tmp_path / "node", networks, **settings, keep_h=0.0) as running:
        running.until(reports_delivered=0)
        running.node.stopped.set()
    assert (
        not any(running.places.series.iterdir())
        and len(list(running.places.answers.iterdir())) == 1
    )
    assert len(peer.reports) == 1


@pytest.mark.parametrize("state", ["unsent", "stored"])
def test_without_an_archive_no_report_waits_for_ever(
    tmp_path, networks, series, state: str
) -> None:
    """One made before its hours are over stays, and is told of; an answer stays."""
    with at_work(tmp_path / "node", networks) as running:
        statuses(running.port, series(1))
        running.until(answered=1, reports_unsent=1, given_up=0)
    assert any("no archive is given (--to): reports are not sent" in line for line in running.lines)
    (report,) = running.places.reports("unsent").iterdir()
    report.rename(running.places.reports(state) / report.name)
    with at_work(tmp_path / "node", networks, pauses=Pauses(give_up_s=0.0), keep_h=0.0) as running:
        running.until(reports_unsent=0, reports_stored=0, reports_delivered=0)
    assert sum("no archive is given" in line and report.stem in line for line in running.lines) == 1
    assert len(list(running.places.answers.iterdir())) == 1


@pytest.mark.parametrize("method", ["GET", "HEAD"])
@pytest.mark.parametrize(
    ("path", "reserve", "status"),
    [
        ("/", 0, 200),
        ("/health", 0, 200),
        ("/health?x=1", 0, 200),
        ("/health#now", 0, 200),
        ("/?", 0, 200),
        ("/health", 2**60, 503),
        ("/health?x", 2**60, 503),
        ("/", 2**60, 200),
        ("/x", 0, 404),
        ("/healthy", 2**60, 404),
    ],
)
def test_the_page_tells_how_the_node_is(
    tmp_path, networks, path: str, reserve: int, status: int, method: str
) -> None:
    with at_work(
        tmp_path / "node", networks, page_port=0, limits=DoorLimits(reserve_bytes=reserve)
    ) as running:
        address = (
            next(line for line in running.lines if "page" in line).split("page ")[1].split(";")[0]
        )
        asked = urllib.request.Request(f"{address.rstrip('/')}{path}", method=method)
        try:
            with urllib.request.urlopen(asked) as page:
                answered, text, length = (
                    page.status,
                    page.read().decode(),
                    page.headers["Content-Length"],
                )
        except urllib.error.HTTPError as fault:
            answered, text, length = (
                fault.code,
                fault.read().decode(),
                fault.headers["Content-Length"],
            )
    page_port = int(address.strip("/").rpartition(":")[2])
    with socket.create_server(("127.0.0.1", page_port)):
        pass  # the node has closed its own
    assert answered == status
    assert (int(length) == 0) is (status == 404)
    assert ("series" in text) is (method == "GET" and status != 404)


@pytest.mark.parametrize(
    ("host", "port", "advice"),
    [
        ("192.0.2.77", 0, "--bind wants an address of this machine"),
        ("127.0.0.1", None, "give a free one"),
        ("no-such-host.invalid", 0, "--bind wants an address of this machine"),
    ],
)
def test_a_port_that_cannot_be_opened_is_refused_with_advice_that_helps(
    tmp_path, networks, host: str, port: int | None, advice: str
) -> None:
    with socket.create_server(("127.0.0.1", 0)) as taken, lock_places(tmp_path / "node") as places:
        wanted = taken.getsockname()[1] if port is None else port
        settings = NodeSettings("FOVNET", wanted, (LOCAL_CALLER,), host=host)
        node = Node(places, Answering(places, networks), settings, write_nothing)
        with pytest.raises(ConfigError, match=advice) as fault:
            node.run()
    assert fault.value.code == "node-port"


def test_a_port_that_needs_a_privilege_is_called_so() -> None:
    """Said by the system's error: this process may have the privilege."""
    fault = PermissionError(errno.EACCES, "Permission denied")
    assert "need a privilege" in advice_on(fault, 104)


@pytest.mark.parametrize(
    ("options", "sentence"),
    [
        (["--page", "-5"], "'--page'"),
        (["--to-tls"], "--to-tls without --to;"),
        (["--to-tls", "--tls-cert", "none.pem"], "--to-tls without --to;"),
    ],
)
def test_options_that_mean_nothing_are_refused_by_name(tmp_path, options, sentence) -> None:
    done = CliRunner().invoke(app, ["node", "--out", str(tmp_path / "out"), *options])
    assert sentence in done.output + str(done.exception)
    assert not (tmp_path / "out").exists()


def test_with_tls_only_callers_with_a_certificate_are_heard(
    tmp_path, networks, series, certificates
) -> None:
    image = series(1)[:1]
    ours = (certificates.cert, certificates.key, certificates.ca)
    bare = ssl.create_default_context(cafile=certificates.ca)
    with at_work(tmp_path / "node", networks, tls_in=server_context(*ours)) as running:
        assert statuses(running.port, image, tls_args=(client_context(*ours), "127.0.0.1")) == [0]
        with (
            socket.create_connection(("127.0.0.1", running.port)) as plain,
            bare.wrap_socket(plain, server_hostname="127.0.0.1") as nobody,
            pytest.raises(ssl.SSLError, match="certificate required"),
        ):
            nobody.recv(1)  # where TLS 1.3 tells what is missing
        assert statuses(running.port, image) == [None]
