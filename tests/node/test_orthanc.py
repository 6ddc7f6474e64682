"""An archive that is not ours: DCMTK sends a study, the report arrives in Orthanc, which commits itself to
keep it, and is read back; its conformance is dciodvfy's to judge.

A node is a process here, and killed while instances arrive."""

from __future__ import annotations

import json
import signal
import subprocess
import sys
from collections.abc import Iterator
from io import BytesIO
from pathlib import Path
from typing import Any

import pytest
from highdicom.sr import srread

from fovnet.node.places import hash_uids
from fovnet.records import read_json
from tests.programs import (
    free_port,
    modality,
    orthanc_at_work,
    process,
    program,
    require,
    told,
    until,
)

pytestmark = pytest.mark.slow


@pytest.fixture
def orthanc(tmp_path) -> Iterator[dict[str, Any]]:
    """The ports of a node, and of an Orthanc that knows it; and the root of its pages."""
    require("storescu")
    ports: dict[str, Any] = {name: free_port() for name in ("dicom", "node", "page")}
    known = modality(ports["node"])
    with orthanc_at_work(tmp_path, ports["dicom"], DicomModalities=known) as root:
        yield ports | {"root": root}


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
    address = f"{orthanc['root']}/instances"
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
