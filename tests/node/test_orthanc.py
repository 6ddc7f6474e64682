"""An archive that is not ours: DCMTK sends a study, the report arrives in Orthanc, which commits itself to
keep it, and is read back; its conformance is dciodvfy's to judge.

A node is a process here, and killed while instances arrive."""

from __future__ import annotations

import json
import os
import signal
import socket
import subprocess
import sys
import time
import urllib.request
from collections.abc import Iterator
from contextlib import contextmanager
from io import BytesIO
from pathlib import Path
from shutil import which

import pytest
from highdicom.sr import srread

from fovnet.node.places import hash_uids
from fovnet.records import read_json

pytestmark = pytest.mark.slow
PROGRAMS = ("Orthanc", "storescu")
# pynetdicom has programs of DCMTK's names beside the interpreter
PLACES = os.pathsep.join(
    folder
    for folder in (*os.environ["PATH"].split(os.pathsep), "/usr/local/bin", "/usr/sbin")
    if Path(folder) != Path(sys.executable).parent
)


def program(name: str) -> str | None:
    return which(name, path=PLACES)


def free_port() -> int:
    with socket.create_server(("127.0.0.1", 0)) as server:
        return int(server.getsockname()[1])


@contextmanager
def process(*words: object) -> Iterator[subprocess.Popen[bytes]]:
    """A program at work, ended with the block."""
    with subprocess.Popen(
        [*map(str, words)], stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL
    ) as program:
        try:
            yield program
        finally:
            program.terminate()


def told(address: str) -> bytes:
    """What a page says; empty where nobody answers yet."""
    try:
        with urllib.request.urlopen(address) as page:
            return bytes(page.read())
    except OSError:
        return b""


def until(done):
    waited = time.monotonic() + 300
    while not (outcome := done()):
        assert time.monotonic() < waited
        time.sleep(0.1)
    return outcome


@pytest.fixture
def orthanc(tmp_path) -> Iterator[dict[str, int]]:
    """The ports of an Orthanc, and of a node that it knows."""
    lacking = [name for name in PROGRAMS if program(name) is None]
    if lacking:
        pytest.skip(f"{', '.join(lacking)} not installed: apt-get install orthanc dcmtk")
    ports = {name: free_port() for name in ("dicom", "http", "node", "page")}
    settings = {
        "StorageDirectory": str(tmp_path / "db"),
        "IndexDirectory": str(tmp_path / "db"),
        "DicomAet": "ORTHANC",
        "DicomPort": ports["dicom"],
        "HttpPort": ports["http"],
        "RemoteAccessAllowed": False,
        "AuthenticationEnabled": False,
        "DicomModalities": {"fovnet": ["FOVNET", "127.0.0.1", ports["node"]]},
    }
    (tmp_path / "orthanc.json").write_text(json.dumps(settings))
    with process(program("Orthanc"), tmp_path / "orthanc.json"):
        until(lambda: told(f"http://127.0.0.1:{ports['http']}/system"))
        yield ports


def test_a_study_that_dcmtk_sends_comes_back_as_a_report_through_a_kill(
    tmp_path, write, series, orthanc
) -> None:
    images = series(1)
    first, rest = (
        write.save(tmp_path / "first", images[:6]),
        write.save(tmp_path / "rest", images[6:]),
    )
    line = [
        sys.executable,
        "-m",
        "fovnet",
        "node",
        "--out",
        tmp_path / "node",
        "--port",
        orthanc["node"],
        "--page",
        orthanc["page"],
        "--to",
        f"ORTHANC@127.0.0.1:{orthanc['dicom']}",
        "--rest",
        3,
    ]
    health = f"http://127.0.0.1:{orthanc['page']}/health"

    def send(folder: Path) -> None:
        to = "127.0.0.1", str(orthanc["node"]), str(folder)
        words = [str(program("storescu")), "-aec", "FOVNET", "+sd", *to]
        subprocess.run(words, check=True, timeout=300)

    with process(*line) as killed:
        until(lambda: told(health))
        send(first)
        killed.send_signal(signal.SIGKILL)
    with process(*line):
        until(lambda: told(health))
        send(rest)
        until(lambda: json.loads(told(health))["reports_delivered"])  # Orthanc has committed itself
    key = hash_uids(images[0].StudyInstanceUID, images[0].SeriesInstanceUID)
    answer = read_json(tmp_path / "node" / "answers" / f"{key}-1.json")
    assert answer["covers"][-1][1] == 11  # one answer, on what came before the kill and after it
    address = f"http://127.0.0.1:{orthanc['http']}/instances"
    (instance,) = json.loads(told(address))
    content = told(f"{address}/{instance}/file")
    report = srread(BytesIO(content))
    assert (
        report.StudyInstanceUID == images[0].StudyInstanceUID and report.PatientName == "Doe^Jane"
    )
    evidence = report.CurrentRequestedProcedureEvidenceSequence[0].ReferencedSeriesSequence[0]
    referred = {item.ReferencedSOPInstanceUID for item in evidence.ReferencedSOPSequence}
    assert referred <= {image.SOPInstanceUID for image in images}
    if judge := program("dciodvfy"):
        (tmp_path / "report.dcm").write_bytes(content)
        words = [judge, str(tmp_path / "report.dcm")]
        judged = subprocess.run(words, capture_output=True, text=True, check=False)
        assert "Error" not in judged.stdout + judged.stderr
