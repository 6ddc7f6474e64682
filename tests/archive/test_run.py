"""Series of an archive are answered as those of a folder, each once, whatever fails."""

from __future__ import annotations

import json
import signal
import subprocess
import sys
import time
from collections import Counter
from io import BytesIO
from pathlib import Path

import pytest
from typer.testing import CliRunner

from fovnet.archive.faults import ArchiveError
from fovnet.archive.metrics import run_metrics
from fovnet.archive.opening import Address, DoorAddress, open_fetch
from fovnet.archive.run import JOURNAL_NAME, AnswerSettings, ArchiveRun, series_key
from fovnet.archive.timing import Throttle
from fovnet.archive.worklist import WorklistRow, read_worklist
from fovnet.cli import app
from fovnet.errors import ConfigError
from fovnet.records import read_json, read_tsv
from fovnet.volume.dicom.table import short_hash
from tests.archive.conftest import ROOT, SLICES
from tests.node.conftest import networks

__all__ = ["networks"]
pytest.importorskip("dicomweb_client", reason="dicomweb-client is not installed: make setup")
ALONE = AnswerSettings(pictures=False, pages=False)


def invoke(*words: object) -> str:
    answer = CliRunner().invoke(app, [*map(str, words)])
    assert answer.exit_code == 0, answer.output
    return answer.output


def folder_files(folder: Path, *left_out: str) -> dict[str, bytes]:
    """{name: content} of the files in a folder of answers; of a JSON without the stamps of files,
    which are of a moment, and what else is left out."""
    content_by_name = {}
    for path in sorted(folder.rglob("*")):
        name = path.relative_to(folder).as_posix()
        if path.is_dir() or name.startswith("fetched/") or name == JOURNAL_NAME:
            continue
        content_by_name[name] = path.read_bytes()
        if path.suffix == ".json" and path.stem != "found":
            facts = read_json(path)
            for key in ("file", *left_out):
                del facts[key]
            content_by_name[name] = json.dumps(facts).encode()
    return content_by_name


def test_answers_are_those_of_predict_on_the_files(
    orthanc, all_series, write, tmp_path, monkeypatch
) -> None:
    """Tables, pages and pictures, byte for byte; the images are gone afterwards."""
    monkeypatch.chdir(tmp_path)
    invoke("archive", "plan", orthanc.web, "--dates", "20260101-20260102", "--out", "plan")
    printed = invoke("archive", "run", "plan", "--out", "answers", "--device", "cpu")
    assert "6 series answered" in printed and "Body Part Examined" in printed
    assert not (tmp_path / "answers" / "fetched").exists()
    images_by_series = {images[0].SeriesInstanceUID: images for images in all_series}
    (tmp_path / "files").mkdir()
    monkeypatch.chdir(tmp_path / "files")
    for row in read_worklist(tmp_path / "plan"):
        if not row.left_out:
            folder = Path("answers", "fetched", series_key(row))
            write.save(folder, images_by_series[row.series_uid])
    invoke("predict", "answers/fetched", "--out", "answers", "--device", "cpu")
    expected_files = folder_files(tmp_path / "files" / "answers")
    assert len(expected_files) > 6 * 4
    assert folder_files(tmp_path / "answers") == expected_files


def rows_planned(orthanc, folder: Path, *words: str) -> list[WorklistRow]:
    invoke("archive", "plan", orthanc.web, "--out", folder, *words)
    return [row for row in read_worklist(folder) if not row.left_out]


def run_of(place: str, folder: Path, rows, networks, **address) -> ArchiveRun:
    archive_run = ArchiveRun(folder, rows, networks, ALONE)
    with open_fetch(Address(place, **address), Throttle()) as fetch:
        archive_run.run(fetch, keep_bytes=1e9, jobs=2, pauses_s=(0.0, 0.1))
    return archive_run


def run_samples(archive_run: ArchiveRun) -> dict[tuple[str, ...], float]:
    """{(name, label values): value} of the metrics of a run."""
    return {
        (sample.name, *sample.labels.values()): sample.value
        for family in run_metrics(archive_run)
        for sample in family.samples
    }


def test_two_patients_of_one_series_uid_are_answered_apart(orthanc, networks, tmp_path) -> None:
    """Orthanc answers 404 to the series, and gives each image."""
    rows = rows_planned(orthanc, tmp_path / "plan", "--dates", "20260103")
    archive_run = run_of(orthanc.web, tmp_path / "answers", rows, networks)
    assert len(archive_run.volume_ids) == 2 and not archive_run.failed
    found = {row["patient"]: row["images"] for row in archive_run.found_rows}
    assert found == {short_hash(patient): SLICES for patient in ("P6a", "P6b")}


def test_answers_are_the_same_by_each_protocol(
    orthanc, dcmqrscp, networks, tmp_path, monkeypatch
) -> None:
    """By WADO-RS, C-GET and C-MOVE, of two patients with one UID those of each alone.  A series that
    is not there is told: DCMTK's archive answers 0000, and sends nothing; Orthanc C000 to C-MOVE.
    The network tells no header of the files, which is then ours, so their checksum is another."""
    rows = rows_planned(orthanc, tmp_path / "plan", "--dates", "20260102-20260103")
    gone = WorklistRow(rows[0].patient, rows[0].study_uid, "1.2.3", images=5)
    folder = Path("answers")
    code_by_run: dict[str, str] = {}
    network_files = []
    answers = []
    for server in (orthanc, dcmqrscp):
        addresses = {
            "web": (server.web, None),
            "get": (server.network, None),
            "move": (server.network, DoorAddress(folder / "fetched", server.door_port)),
        }
        for protocol, (place, door) in addresses.items():
            if not place:
                continue
            (tmp_path / server.title / protocol).mkdir(parents=True)
            monkeypatch.chdir(tmp_path / server.title / protocol)
            archive_run = run_of(place, folder, [*rows, gone], networks, door=door)
            assert len(archive_run.volume_ids) == len(rows) == 5
            (code_by_run[f"{server.title} {protocol}"],) = (
                fault.code for _, fault in archive_run.failed
            )
            answers.append(folder_files(folder, "checksum"))
            if protocol != "web":
                network_files.append(folder_files(folder))
    assert code_by_run.pop("ORTHANC move") == "archive-failed"
    assert len(answers) == 5 and {*code_by_run.values()} == {"archive-incomplete"}
    assert all(files == answers[0] for files in answers)
    assert all(files == network_files[0] for files in network_files)


@pytest.mark.slow
def test_a_killed_run_goes_on(orthanc, tmp_path) -> None:
    """SIGKILL while images arrive: what was answered is not fetched again, and the tables are those of
    a run that was not killed."""
    invoke(
        "archive", "plan", orthanc.web, "--dates", "20260101-20260102", "--out", tmp_path / "plan"
    )
    words = ["archive", "run", str(tmp_path / "plan"), "--device", "cpu", "--no-pictures"]
    words += ["--no-pages", "--jobs", "1"]
    command = [sys.executable, "-m", "fovnet", *words, "--out", "killed", "--pace", "5"]
    journal = tmp_path / "killed" / JOURNAL_NAME
    with subprocess.Popen(command, cwd=tmp_path, stderr=subprocess.DEVNULL) as program:
        deadline_s = time.monotonic() + 300
        while not journal.exists() or journal.read_bytes().count(b"\n") < 2:
            assert program.poll() is None and time.monotonic() < deadline_s
            time.sleep(0.02)
        program.send_signal(signal.SIGKILL)
    answered = {path: path.stat().st_mtime_ns for path in (tmp_path / "killed").glob("*.json")}
    assert not (tmp_path / "killed" / "answers.tsv").exists()
    with pytest.MonkeyPatch.context() as patch:
        patch.chdir(tmp_path)
        invoke(*words, "--out", "killed")
        patch.chdir(tmp_path / "plan")
        invoke(*words, "--out", "killed")
    first_two = [json.loads(line)["volumes"][0] for line in journal.read_text().splitlines()[:2]]
    for volume_id in first_two:
        path = tmp_path / "killed" / f"{volume_id}.json"
        assert path.stat().st_mtime_ns == answered[path]
    for name in ("answers.tsv", "spans.tsv", "found.tsv"):
        table = (tmp_path / "killed" / name).read_bytes()
        assert table == (tmp_path / "plan" / "killed" / name).read_bytes()


def message_of(images) -> bytes:
    parts = []
    for image in images:
        content = BytesIO()
        image.save_as(content, enforce_file_format=True)
        parts.append(b"--cut\r\nContent-Type: application/dicom\r\n\r\n" + content.getvalue())
    return b"\r\n".join([*parts, b"--cut--"])


MULTIPART = 'multipart/related; type="application/dicom"; boundary=cut'
WRONG_SERIES = {
    "page": ((200, "text/html", "<html>please log in</html>"), "archive-answer"),
    "garbage": ((200, MULTIPART, b"--cut\r\n\r\nno image\r\n--cut--"), "archive-answer"),
    "empty": ((200, MULTIPART, b"--cut--"), "archive-incomplete"),
    "nothing": ((204, "text/plain", ""), "archive-incomplete"),
    "error": ((500, "text/plain", "oops"), "archive-failed"),
    "not-there": ((404, "text/plain", ""), "archive-incomplete"),
}


def test_a_series_that_does_not_come_is_told_and_the_rest_is_answered(
    faulty, study_images, networks, tmp_path
) -> None:
    """In every way at once; a first attempt that fails, an image of another patient between, and an
    archive that counts wrongly, cost no answer."""
    good_images = study_images(1)
    stranger = study_images(1, PatientID="Q")[0]
    responses = {f"1.{n}": response for n, (response, _) in enumerate(WRONG_SERIES.values())}
    asked: list[str] = []

    def respond(path: str) -> tuple[int, str, str | bytes]:
        series_uid = path.split("/series/")[1].split("/")[0].split("?")[0]
        asked.append(series_uid)
        if "/instances?" in path and series_uid in responses:
            return 200, "application/dicom+json", "[]"
        if "/instances?" in path:
            uids = [{"00080018": {"Value": [image.SOPInstanceUID]}} for image in good_images]
            return 200, "application/dicom+json", json.dumps(uids)
        if series_uid in responses:
            return responses[series_uid]
        if asked.count(series_uid) == 1:
            return 500, "text/plain", "not yet"
        return 200, MULTIPART, message_of([stranger, *good_images])

    rows = [WorklistRow(short_hash("P1"), f"{ROOT}.1", uid, images=5) for uid in responses]
    good_row = WorklistRow(short_hash("P1"), f"{ROOT}.1", f"{ROOT}.1.1", images=17)
    url = faulty(respond).url
    archive_run = run_of(url, tmp_path / "out", [*rows, good_row], networks)
    code_by_series = {row.series_uid: fault.code for row, fault in archive_run.failed}
    assert code_by_series == {f"1.{n}": code for n, (_, code) in enumerate(WRONG_SERIES.values())}
    assert all(asked.count(uid) >= 3 for uid in responses)
    (volume_id,) = archive_run.volume_ids
    assert read_json(tmp_path / "out" / f"{volume_id}.json")["status"] != "refused"
    kinds = [row["kind"] for row in archive_run.found_rows]
    assert sorted(kinds) == ["unreadable"] * len(WRONG_SERIES) + ["volume"]
    assert sum(row["images"] for row in archive_run.found_rows) == len(good_images)
    told = run_samples(archive_run)
    code_counts = Counter(code_by_series.values())
    assert {code: told["fovnet_failed_series", code] for code in code_counts} == code_counts
    assert told["fovnet_series", "answered"] == 1 and told["fovnet_series", "failed"] == len(rows)
    assert told["fovnet_retries_total",] == 2 * len(rows) + 1
    assert told["fovnet_images_received_total",] == len(good_images)
    resumed_run = run_of(url, tmp_path / "out", [good_row], networks)
    told_again = run_samples(resumed_run)
    assert told_again["fovnet_images_received_total",] == 0
    for name in ("fovnet_answers", "fovnet_region_answers"):
        counts = {key: count for key, count in told.items() if key[0] == name}
        assert counts and counts == {key: told_again[key] for key in counts}


@pytest.mark.parametrize("trouble", ["token", "gone"])
def test_an_archive_that_turns_us_away_in_the_middle_is_asked_again_by_the_next_run(
    trouble, faulty, study_images, networks, tmp_path
) -> None:
    """A token that has expired, and connections that are closed without an answer: no series is told
    for the archive's fault."""
    images_by_series = {f"{ROOT}.{number}.1": study_images(number) for number in (1, 2)}
    rows = [
        WorklistRow(
            short_hash(f"P{number}"), f"{ROOT}.{number}", f"{ROOT}.{number}.1", images=SLICES
        )
        for number in (1, 2)
    ]
    is_away = True

    def respond(path: str) -> tuple[int, str, str | bytes]:
        series_uid = path.split("/series/")[1]
        if is_away and series_uid == rows[1].series_uid:
            if trouble == "gone":
                raise ConnectionAbortedError
            return 401, "text/plain", "token expired"
        return 200, MULTIPART, message_of(images_by_series[series_uid])

    url = faulty(respond).url
    with pytest.raises(ArchiveError) as fault:
        run_of(url, tmp_path, rows, networks)
    sentences = {
        "token": "a wrong or expired password or token",
        "gone": "does not answer, or breaks off",
    }
    assert sentences[trouble] in str(fault.value)
    is_away = False
    archive_run = run_of(url, tmp_path, rows, networks)
    assert archive_run.answered_count == 2 and not archive_run.failed


def test_half_a_series_leaves_nothing_on_the_disk(faulty, study_images, tmp_path) -> None:
    """An answer that breaks off after two images: what waits to be tried again takes no room."""
    message = message_of(study_images(1)[:2]).removesuffix(b"--cut--")
    server = faulty(lambda path: (200, MULTIPART, message))
    row = WorklistRow(short_hash("P1"), f"{ROOT}.1", f"{ROOT}.1.1", images=SLICES)
    with (
        open_fetch(Address(server.url), Throttle()) as fetch,
        pytest.raises(ArchiveError) as fault,
    ):
        fetch(row, tmp_path / "fetched" / "series")
    assert fault.value.code == "archive-unreachable"
    assert not list((tmp_path / "fetched").iterdir())


def test_a_folder_without_a_plan_is_told(tmp_path) -> None:
    answer = CliRunner().invoke(
        app, ["archive", "run", str(tmp_path / "plan"), "--out", str(tmp_path / "out")]
    )
    assert isinstance(answer.exception, ConfigError) and answer.exception.code == "archive-plan"
    assert not (tmp_path / "out").exists()


def test_a_series_that_failed_is_tried_by_the_next_run(orthanc, networks, tmp_path) -> None:
    rows = rows_planned(orthanc, tmp_path / "plan", "--dates", "20260103")
    gone = [WorklistRow(rows[0].patient, row.study_uid, "1.2.3", images=5) for row in rows[:1]]
    first_run = run_of(orthanc.web, tmp_path / "out", [rows[0], *gone], networks)
    assert [fault.code for _, fault in first_run.failed] == ["archive-incomplete"]
    second_run = run_of(orthanc.web, tmp_path / "out", rows, networks)
    assert len(second_run.volume_ids) == 2 and not second_run.failed
    assert 0 < second_run.fetched_bytes < 2 * first_run.fetched_bytes
    assert not read_tsv(tmp_path / "plan" / "worklist.tsv")[0]["left_out"]
