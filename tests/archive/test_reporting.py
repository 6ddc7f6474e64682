"""Reports of a run go where --report-to names, each once, and wait where they cannot."""

from __future__ import annotations

import json
from io import BytesIO
from pathlib import Path

import pytest
from pydicom import dcmread
from pydicom.dataset import Dataset, FileDataset
from typer.testing import CliRunner

from fovnet.archive.faults import ArchiveError
from fovnet.archive.opening import Address, open_reporting
from fovnet.archive.plan import PLAN_NAME
from fovnet.archive.worklist import WorklistRow, write_worklist
from fovnet.cli import app
from fovnet.node.places import UNSENT
from fovnet.records import write_json
from fovnet.volume.dicom.table import short_hash
from tests.archive.conftest import ROOT, SLICES, orthanc_of
from tests.archive.test_run import MULTIPART, message_of
from tests.node.conftest import archive
from tests.node.test_delivery import report
from tests.programs import free_port, told, until

__all__ = ["archive"]
pytest.importorskip("dicomweb_client", reason="dicomweb-client is not installed: make setup")


def reports_in(server) -> list[FileDataset]:
    """The reports in an archive, as its files hold them."""
    instances = server.web.replace("/dicom-web", "/instances")
    files = [told(f"{instances}/{name}/file") for name in json.loads(told(instances))]
    images_and_reports = [dcmread(BytesIO(content)) for content in files]
    return [report for report in images_and_reports if report.Modality == "SR"]


@pytest.mark.parametrize("protocol", ["web", "network"])
def test_reports_are_stored_where_they_are_sent_to(protocol, study_images, tmp_path) -> None:
    """By STOW-RS and by C-STORE, beside the images, readable; sent again, it is there once, and nothing
    that names a patient stays."""
    with orthanc_of(tmp_path) as server:
        images = study_images(1)
        server.store(images)
        words = ["archive", "plan", server.web, "--out", str(tmp_path / "plan")]
        assert CliRunner().invoke(app, words).exit_code == 0
        words = ["archive", "run", str(tmp_path / "plan"), "--no-pictures", "--no-pages"]
        words += ["--device", "cpu", "--report-to", getattr(server, protocol)]
        for folder in ("first", "second"):
            answer = CliRunner().invoke(app, [*words, "--out", str(tmp_path / folder)])
            assert answer.exit_code == 0 and "1 report stored by" in answer.output, answer.output
            assert not list((tmp_path / folder).rglob("*.dcm"))
        (stored_report,) = reports_in(server)
        assert stored_report.StudyInstanceUID == images[0].StudyInstanceUID


def stored_in(
    address: Address, folder: Path, count: int = 1, own_host: str = ""
) -> tuple[int, str]:
    """(reports stored, trouble) of reports that wait in a folder."""
    with open_reporting(address, folder, own_host) as reporting:
        waiting = reporting.outbox.places.reports(UNSENT)
        for number in range(count):
            report(waiting / f"{number}.dcm")
        trouble = reporting.finish(pauses_s=())
        assert reporting.unsent_count == count - reporting.stored_count
        return reporting.stored_count, trouble


def json_of(keyword: str, report_uid: str) -> str:
    answer = Dataset()
    item = Dataset()
    item.ReferencedSOPInstanceUID = report_uid
    item.FailureReason = 0x0110
    setattr(answer, keyword, [item])
    return answer.to_json()


ANSWERS = {
    "refused": (409, json_of("FailedSOPSequence", "1.2"), "failure reason 0110"),
    "refused in part": (202, json_of("FailedSOPSequence", "1.2"), "failure reason 0110"),
    "conflict": (409, "no", "failure reason not given"),
    "another": (200, json_of("ReferencedSOPSequence", "1.2"), "does not say that it stored"),
    "page": (200, "<html>please log in</html>", "answers what is no JSON"),
    "list": (200, "[]", "does not say that it stored"),
    "denied": (401, "", "does not let us in (HTTP 401)"),
    "error": (500, "oops", "answers HTTP 500"),
}


@pytest.mark.parametrize(("status", "body", "sentence"), ANSWERS.values(), ids=ANSWERS)
def test_a_report_that_is_not_stored_waits_and_is_told(
    status, body, sentence, faulty, tmp_path
) -> None:
    server = faulty(lambda path: (status, "application/dicom+json", body))
    stored_count, trouble = stored_in(Address(server.url), tmp_path)
    assert stored_count == 0 and sentence in trouble and trouble.endswith("1 report")


def test_an_archive_that_is_away_is_asked_once_and_told(archive, tmp_path) -> None:
    for place in (f"http://127.0.0.1:{free_port()}", f"PACS@127.0.0.1:{free_port()}"):
        stored_count, trouble = stored_in(Address(place), tmp_path / place[:4], 3)
        assert stored_count == 0 and "does not answer" in trouble
    _, port = archive()
    with open_reporting(Address(f"PACS@127.0.0.1:{port}"), tmp_path / "PACS", "") as reporting:
        assert reporting.finish() == "" and reporting.stored_count == 3


def test_a_token_goes_to_its_own_host_alone(faulty, tmp_path, monkeypatch) -> None:
    """The names and passwords of a netrc are each of a host."""
    server = faulty(lambda path: (401, "text/plain", ""))
    (tmp_path / "token").write_text("secret-1")
    monkeypatch.setenv("FOVNET_ARCHIVE_TOKEN", "secret-2")
    address = Address(server.url, token_path=tmp_path / "token")
    stored_in(address, tmp_path / "own", own_host="127.0.0.1")
    stored_in(address, tmp_path / "other", own_host="pacs.example")
    assert server.letters == ["Bearer secret-1", ""]


def test_a_run_that_its_archive_ends_tells_how_many_reports_wait(
    faulty, study_images, tmp_path
) -> None:
    """A token that has expired once the first series is answered; who takes reports is away."""
    first_images = study_images(1)

    def respond(path: str) -> tuple[int, str, str | bytes]:
        if f"{ROOT}.1.1" in path:
            return 200, MULTIPART, message_of(first_images)
        until(lambda: list((tmp_path / "out").rglob("reports/*/*.dcm")))
        return 401, "text/plain", ""

    patient = short_hash(first_images[0].PatientID)
    rows = [
        WorklistRow(patient, f"{ROOT}.{number}", f"{ROOT}.{number}.1", images=SLICES)
        for number in (1, 2)
    ]
    write_worklist(tmp_path / "plan", rows)
    write_json(tmp_path / "plan" / PLAN_NAME, {"from": faulty(respond).url})
    words = ["archive", "run", str(tmp_path / "plan"), "--out", str(tmp_path / "out")]
    words += ["--no-pictures", "--no-pages", "--device", "cpu"]
    answer = CliRunner().invoke(app, [*words, "--report-to", f"PACS@127.0.0.1:{free_port()}"])
    assert isinstance(answer.exception, ArchiveError) and answer.exception.code == "archive-denied"
    assert "1 report not stored, which the same command sends" in answer.output
