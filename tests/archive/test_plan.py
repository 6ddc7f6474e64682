"""The worklist of an archive: what its series claim, what is left out, what archives do wrong."""

from __future__ import annotations

import json
import ssl
from collections.abc import Iterator
from datetime import date
from io import BytesIO
from pathlib import Path

import pytest
from pydicom.dataset import Dataset
from pynetdicom import AE, evt
from pynetdicom.sop_class import StudyRootQueryRetrieveInformationModelFind
from typer.testing import CliRunner

from fovnet.archive.faults import ArchiveError
from fovnet.archive.opening import Address, open_archive
from fovnet.archive.plan import JOURNAL_NAME, Plan
from fovnet.archive.query import Query
from fovnet.archive.spans import Span
from fovnet.archive.worklist import WorklistRow, read_worklist
from fovnet.cli import app
from fovnet.volume.dicom.table import short_hash
from fovnet.volume.sources.discovery import find_volumes
from tests.archive.conftest import ROOT, SLICES, dcmqrscp_of, filled, orthanc_of
from tests.node.conftest import archive

__all__ = ["archive"]
pytest.importorskip("dicomweb_client", reason="dicomweb-client is not installed: make setup")
STUDY, SERIES, PATIENT = "0020000D", "0020000E", "00100020"


def plan_of(place: str, folder: Path, query: Query | None = None, **how) -> Plan:
    """A plan made of an archive, without pauses."""
    with open_archive(Address(place, **how)) as archive:
        plan = Plan(archive, query or Query(None), folder, pauses_s=(0.0,))
        plan.make(place)
    return plan


def rows_of(folder: Path) -> list[WorklistRow]:
    return read_worklist(folder)


def json_of(**values: object) -> dict[str, object]:
    """An item of DICOM JSON of tags, as in t0020000D."""
    return {tag[1:]: {"vr": "LO", "Value": [value]} for tag, value in values.items()}


def expected_row(images) -> tuple[object, ...]:
    header = images[0]
    return (
        short_hash(header.PatientID),
        header.StudyInstanceUID,
        header.SeriesInstanceUID,
        header.StudyDate,
        header.Modality,
        header.BodyPartExamined,
        header.ProtocolName,
        header.SeriesDescription,
        header.StudyDescription,
        header.Rows,
        header.Columns,
        len(images),
    )


def claims_of(row: WorklistRow) -> tuple[object, ...]:
    return (
        row.patient,
        row.study_uid,
        row.series_uid,
        row.study_date,
        row.modality,
        row.body_part,
        row.protocol,
        row.series_description,
        row.study_description,
        row.rows,
        row.columns,
        row.images,
    )


@pytest.mark.parametrize("protocol", ["web", "network"])
def test_a_row_claims_what_the_headers_say(protocol, orthanc, all_series, tmp_path) -> None:
    """One study UID in use for two patients is two rows, as archives list it."""
    plan = plan_of(getattr(orthanc, protocol), tmp_path / "plan")
    rows = rows_of(tmp_path / "plan")
    assert sorted(map(claims_of, rows)) == sorted(map(expected_row, all_series))
    assert plan.doubts == []
    wanted_rows = [row for row in rows if not row.left_out]
    assert {row.byte_count for row in wanted_rows} == {SLICES * 2 * 24 * 30}


def test_an_archive_that_counts_no_images_has_them_counted(dcmqrscp, all_series, tmp_path) -> None:
    """DCMTK's returns no number of images, and every study whatever its modality; sizes are those of
    an image."""
    plan_of(dcmqrscp.network, tmp_path / "plan")
    rows = {row.series_uid: row for row in rows_of(tmp_path / "plan")}
    for images in all_series[:8]:
        row = rows[images[0].SeriesInstanceUID]
        assert row.images == len(images) and row.modality == "MR"


def test_what_is_left_out_predict_would_set_aside(orthanc, all_series, tmp_path, write) -> None:
    plan_of(orthanc.web, tmp_path / "plan")
    for number, images in enumerate(all_series):
        write.save(tmp_path / "files" / f"{number}", images)
    found = find_volumes([tmp_path / "files"], show_ids=True).series_rows
    kind_by_series = {row["series_instance_uid"]: row["kind"] for row in found}
    left_out = {row.series_uid: row.left_out for row in rows_of(tmp_path / "plan")}
    assert {kind or "volume" for kind in left_out.values()} == {"volume", "localizer", "single"}
    assert all(kind in ("", kind_by_series[uid]) for uid, kind in left_out.items())


@pytest.mark.parametrize("protocol", ["web", "network"])
def test_a_query_gives_what_it_asks_for(protocol, orthanc, dcmqrscp, tmp_path) -> None:
    """By days, by description in any case (with a letter that Orthanc would not match escaped), by
    UIDs, of which one is not there."""
    wanted = {
        Query(Span.of_days(date(2026, 1, 1), date(2026, 1, 1))): {0, 1, 2},
        Query(None, description="*RÖNT*"): {0, 1, 2, 3, 4, 5, 6},
        Query(None, description="knie"): {6},
        Query(Span.of_days(date(2026, 1, 2), date(2026, 1, 2)), description="thorax?*"): {3, 4, 5},
        Query(None, uids=((f"{ROOT}.4", ""), (f"{ROOT}.0", f"{ROOT}.0.3"))): {4, 0},
    }
    for server in (orthanc, dcmqrscp):
        if not getattr(server, protocol):
            continue
        for query, numbers in wanted.items():
            plan_of(getattr(server, protocol), tmp_path / "plan", query)
            uids = {row.study_uid for row in rows_of(tmp_path / "plan")}
            if server is dcmqrscp and query.description and 6 in numbers:
                continue  # it keeps one patient of a study UID
            assert uids == {f"{ROOT}.{number}" for number in numbers}
    assert [
        row.series_uid for row in rows_of(tmp_path / "plan") if row.study_uid == f"{ROOT}.0"
    ] == [f"{ROOT}.0.3"]


def test_uids_that_are_not_there_are_told(orthanc, tmp_path) -> None:
    query = Query(None, uids=((f"{ROOT}.99", ""), (f"{ROOT}.1", f"{ROOT}.1.7")))
    plan_of(orthanc.web, tmp_path / "plan", query)
    rows = rows_of(tmp_path / "plan")
    assert [(row.study_uid, row.left_out) for row in rows] == [
        (f"{ROOT}.99", "archive-nothing"),
        (f"{ROOT}.1", "archive-nothing"),
    ]


@pytest.mark.parametrize("protocol", ["web", "network"])
def test_an_archive_that_limits_its_answers_is_listed_whole(
    protocol, tmp_path, all_series, study_images
) -> None:
    """Orthanc's QIDO then gives one study more than the limit, and no warning; and a study's series
    it does not give, which is said."""
    with orthanc_of(tmp_path, LimitFindResults=2) as server:
        filled(server, [images for images in all_series[:6] if images])
        plan = plan_of(getattr(server, protocol), tmp_path / "plan")
        assert {row.study_uid for row in rows_of(tmp_path / "plan")} == {
            f"{ROOT}.{number}" for number in range(6)
        }
        assert "studies in an answer" in plan.doubts[0] and len(plan.doubts) == 1
        for series in (2, 3, 4):
            server.store(study_images(0, series, 3))
        plan = plan_of(getattr(server, protocol), tmp_path / "plan")
        assert any(f"fewer series than it counts ({ROOT}.0)" in doubt for doubt in plan.doubts)


def test_dcmqrscp_that_was_started_empty_holds_nothing(tmp_path) -> None:
    with dcmqrscp_of(tmp_path) as server:
        plan_of(server.network, tmp_path / "plan")
    assert rows_of(tmp_path / "plan") == []


STUDIES = [json_of(**{f"t{STUDY}": f"1.{number}", f"t{PATIENT}": "P"}) for number in range(5)]
SERIES_OF_STUDY = [json_of(**{f"t{SERIES}": "1.9", "t00201209": 12})]
BAD_ANSWERS = {
    "page": ((200, "text/html", "<html>please log in</html>"), "archive-answer"),
    "text": ((200, "application/dicom+json", '"studies"'), "archive-answer"),
    "error": ((500, "text/plain", "oops"), "archive-failed"),
    "gone": ((404, "text/plain", ""), "archive-failed"),
    "denied": ((401, "text/plain", ""), "archive-denied"),
    "forbidden": ((403, "text/plain", ""), "archive-denied"),
}


@pytest.mark.parametrize(("response", "code"), BAD_ANSWERS.values(), ids=BAD_ANSWERS)
def test_a_bad_archive_is_told_in_a_sentence(response, code, faulty, tmp_path) -> None:
    server = faulty(lambda path: response)
    answer = CliRunner().invoke(app, ["archive", "plan", server.url, "--out", str(tmp_path / "a")])
    assert isinstance(answer.exception, ArchiveError) and answer.exception.code == code
    assert answer.exception.sentence.startswith(server.url)
    assert not (tmp_path / "a" / "worklist.tsv").exists()


@pytest.mark.parametrize("body", ["[]", ""])
def test_nothing_is_an_answer_too(body, faulty, tmp_path) -> None:
    """200 with an empty list, as Orthanc; 204, as the standard."""
    server = faulty(lambda path: (200 if body else 204, "application/dicom+json", body))
    plan_of(server.url, tmp_path / "plan")
    assert rows_of(tmp_path / "plan") == []


@pytest.mark.parametrize("case", ["page", "text", "error", "gone"])
def test_one_study_that_is_not_told_is_a_row_and_the_rest_goes_on(case, faulty, tmp_path) -> None:
    response, code = BAD_ANSWERS[case]

    def respond(path: str) -> tuple[int, str, str]:
        if path.startswith("/dicom-web/studies?"):
            return 200, "application/dicom+json", json.dumps(STUDIES)
        if "/studies/1.3/" in path:
            return response
        return 200, "application/dicom+json", json.dumps(SERIES_OF_STUDY)

    server = faulty(respond)
    plan_of(server.url, tmp_path / "plan")
    rows = rows_of(tmp_path / "plan")
    assert [row.left_out for row in rows] == ["", "", "", code, ""]
    assert [row.images for row in rows] == [12, 12, 12, None, 12]
    asked_again = [path for path in server.requests if "/studies/1.3/" in path]
    assert len(asked_again) == 2


WRONG_TYPES = [
    None,
    [],
    "1.5",
    {STUDY: "1.5"},
    {STUDY: {"vr": "UI", "Value": [{"a": 1}]}},
    {STUDY: {"vr": "UI", "Value": "1.5"}},
    {STUDY: {"vr": "UI", "Value": [None, True]}},
]


def test_matches_of_wrong_types_are_left_out_and_said(faulty, tmp_path) -> None:
    def respond(path: str) -> tuple[int, str, str]:
        matches = [*WRONG_TYPES, STUDIES[0], STUDIES[0]]
        if "/studies/" in path:
            odd_numbers = {"00201209": {"Value": ["many"]}, "00280010": {"Value": [[1]]}}
            matches = [*WRONG_TYPES, {**SERIES_OF_STUDY[0], **odd_numbers}]
        if "/instances" in path:
            matches = WRONG_TYPES
        return 200, "application/dicom+json", json.dumps(matches)

    plan = plan_of(faulty(respond).url, tmp_path / "plan")
    (row,) = rows_of(tmp_path / "plan")
    assert (row.study_uid, row.series_uid, row.rows) == ("1.0", "1.9", None)
    assert row.left_out == "no-images"  # counted, as the archive does not
    assert any("wrong types" in doubt for doubt in plan.doubts)
    assert any("listed twice" in doubt for doubt in plan.doubts)


def test_matches_of_a_network_that_cannot_be_decoded_are_counted_and_said(tmp_path) -> None:
    """Studies, series and images, each with a match that ends within a sequence of undefined
    length: the rest is taken."""
    damaged_identifier = b"\x08\x00\x40\x11\xff\xff\xff\xffxx"
    levels = (
        ("STUDY", "StudyInstanceUID"),
        ("SERIES", "SeriesInstanceUID"),
        ("IMAGE", "SOPInstanceUID"),
    )

    def answer(event: evt.Event) -> Iterator[tuple[int, Dataset]]:
        event.request.Identifier, sound_identifier = BytesIO(damaged_identifier), event.identifier
        event.request.Status, event.request.MessageIDBeingRespondedTo = 0xFF00, event.message_id
        event.assoc.dimse.send_msg(event.request, event.context.context_id)
        for level, keyword in levels:
            setattr(sound_identifier, keyword, "1.5")
            if level == sound_identifier.QueryRetrieveLevel:
                break
        yield 0xFF00, sound_identifier

    application_entity = AE("A")
    application_entity.add_supported_context(StudyRootQueryRetrieveInformationModelFind)
    server = application_entity.start_server(
        ("127.0.0.1", 0), block=False, evt_handlers=[(evt.EVT_C_FIND, answer)]
    )
    try:
        plan = plan_of(f"A@127.0.0.1:{server.socket.getsockname()[1]}", tmp_path / "plan")
    finally:
        application_entity.shutdown()
    (row,) = rows_of(tmp_path / "plan")
    assert (row.study_uid, row.series_uid, row.images) == ("1.5", "1.5", 1)
    assert any(doubt.startswith("2 answers on series or images") for doubt in plan.doubts)
    assert any("on studies" in doubt and "damaged" in doubt for doubt in plan.doubts)


def test_pages_are_read_to_their_end(faulty, tmp_path) -> None:
    """Of an archive that gives at most 60 matches a page; and of one that ignores the offset."""
    studies = [json_of(**{f"t{STUDY}": f"1.{number}"}) for number in range(150)]
    for ignores_offset, count in ((False, 150), (True, 60)):

        def respond(path: str, ignores_offset: bool = ignores_offset) -> tuple[int, str, str]:
            matches = SERIES_OF_STUDY
            if "/studies/" not in path:
                offset = int(path.partition("offset=")[2].partition("&")[0] or 0)
                first = 0 if ignores_offset else offset
                matches = studies[first : first + 60]
            return 200, "application/dicom+json", json.dumps(matches)

        plan_of(faulty(respond).url, tmp_path / f"{count}")
        assert len(rows_of(tmp_path / f"{count}")) == count


def test_a_plan_that_was_stopped_goes_on(faulty, tmp_path) -> None:
    """The archive goes away in the middle: no study is asked for again, and a half-written line of
    the journal is."""
    gone = [True]

    def respond(path: str) -> tuple[int, str, str]:
        if path.startswith("/dicom-web/studies?"):
            return 200, "application/dicom+json", json.dumps(STUDIES)
        if gone[0] and "/studies/1.3/" in path:
            return 401, "text/plain", ""
        return 200, "application/dicom+json", json.dumps(SERIES_OF_STUDY)

    server = faulty(respond)
    with pytest.raises(ArchiveError, match="password or token"):
        plan_of(server.url, tmp_path / "plan")
    journal = tmp_path / "plan" / JOURNAL_NAME
    journal.write_text(journal.read_text()[:-5])
    gone[0] = False
    server.requests.clear()
    plan_of(server.url, tmp_path / "plan")
    asked_for = [path.split("/")[3] for path in server.requests if "/series" in path]
    assert asked_for == ["1.2", "1.3", "1.4"]
    plan_of(server.url, tmp_path / "at-once")
    resumed_table = (tmp_path / "plan" / "worklist.tsv").read_bytes()
    assert resumed_table == (tmp_path / "at-once" / "worklist.tsv").read_bytes()
    assert not journal.exists()


def test_credentials_are_sent_and_written_nowhere(faulty, tmp_path, monkeypatch) -> None:
    """A token file is read for each request, so that it may be renewed; nothing of a user's own netrc
    is sent to an archive for which none was named."""
    token = tmp_path / "token"
    token.write_text("secret-1\n")

    def respond(path: str) -> tuple[int, str, str]:
        token.write_text("secret-2\n")
        return 200, "application/dicom+json", json.dumps([])

    server = faulty(respond)
    netrc = tmp_path / "netrc"
    netrc.write_text("machine 127.0.0.1 login doctor password secret-3\n")
    plan_of(server.url, tmp_path / "plan", token_path=token)
    assert server.letters[0] == "Bearer secret-1" and set(server.letters[1:]) <= {"Bearer secret-2"}
    server.letters.clear()
    plan_of(server.url, tmp_path / "plan", netrc_path=netrc)
    assert {letter.split()[0] for letter in server.letters} == {"Basic"}
    server.letters.clear()
    monkeypatch.setenv("NETRC", str(netrc))
    plan_of(server.url, tmp_path / "plan")
    assert set(server.letters) == {""}
    monkeypatch.setenv("FOVNET_ARCHIVE_TOKEN", "secret-4")
    plan_of(server.url, tmp_path / "plan")
    assert server.letters[-1] == "Bearer secret-4"
    written = b"".join(path.read_bytes() for path in (tmp_path / "plan").iterdir())
    assert b"secret" not in written


@pytest.mark.parametrize(
    ("words", "code"),
    [
        (["http://doctor:secret@127.0.0.1/dicom-web"], "archive-credentials"),
        (["pacs.example:4242"], "archive-address"),
        (["ARCHIVE@pacs.example"], "node-peer"),
        (["https://"], "archive-address"),
        (["http://127.0.0.1:9/dicom-web"], "archive-unreachable"),
        (["A@127.0.0.1:9"], "archive-unreachable"),
        (["http://127.0.0.1", "--dates", "2026"], "archive-dates"),
        (["http://127.0.0.1", "--dates", "20260201-20260131"], "archive-dates"),
        (["http://127.0.0.1", "--dates", "20260231"], "archive-dates"),
        (["http://127.0.0.1", "--modality", "M/R"], "archive-modality"),
        (["http://127.0.0.1", "--uids", "{}"], "archive-uids"),
        (["http://127.0.0.1", "--token-file", "{}"], "archive-credentials"),
        (["http://127.0.0.1", "--netrc", "{}"], "archive-credentials"),
        (["http://127.0.0.1", "--ca", "/nowhere.pem"], "archive-certificate"),
    ],
)
def test_wrong_words_are_told_before_anything_is_written(words, code, tmp_path) -> None:
    empty_file = tmp_path / "empty"
    empty_file.touch()
    line = [word.format(empty_file) for word in words]
    answer = CliRunner().invoke(app, ["archive", "plan", *line, "--out", str(tmp_path / "plan")])
    assert answer.exception.code == code and "secret" not in str(answer.exception)
    assert not (tmp_path / "plan" / "worklist.tsv").exists()


def test_certificates_are_verified(certificates, faulty, tmp_path) -> None:
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(certificates.cert, certificates.key)
    server = faulty(lambda path: (200, "application/dicom+json", "[]"), tls=context)
    plan_of(server.url, tmp_path / "plan", authorities=certificates.ca)
    with pytest.raises(ArchiveError, match="certificate is not accepted") as fault:
        plan_of(server.url, tmp_path / "plan")
    assert fault.value.code == "archive-certificate"
    with pytest.raises(ArchiveError) as fault:
        other_host = server.url.replace("127.0.0.1", "localhost")
        plan_of(other_host, tmp_path / "plan", authorities=certificates.ca)
    assert fault.value.code == "archive-certificate"


def test_an_archive_that_does_not_know_our_title_denies_it(tmp_path) -> None:
    """Called by another title Orthanc rejects; a caller it does not know, it lets in and breaks off."""
    settings = {"DicomAlwaysAllowFind": False, "DicomCheckCalledAet": True, "DicomModalities": {}}
    with orthanc_of(tmp_path, **settings) as server:
        with pytest.raises(ArchiveError) as fault:
            plan_of(server.network.replace("ORTHANC", "OTHER"), tmp_path / "plan")
        assert fault.value.code == "archive-denied"
        with pytest.raises(ArchiveError, match="FOVNET is allowed to search"):
            plan_of(server.network, tmp_path / "plan")


def test_letters_that_a_search_loses_are_lost_and_a_pattern_of_them_finds_nothing(
    study_images, tmp_path
) -> None:
    """Orthanc's searches know Latin-1 alone, whatever a study is written in."""
    with orthanc_of(tmp_path) as server:
        for number, description in enumerate(("胸部 MRI", "Thorax Röntgen")):
            elements = {"StudyDescription": description, "SpecificCharacterSet": "ISO_IR 192"}
            server.store(study_images(number, slices=2, **elements))
        for protocol in ("web", "network"):
            place = getattr(server, protocol)
            plan_of(place, tmp_path / "all")
            descriptions = {row.study_description for row in rows_of(tmp_path / "all")}
            assert "Thorax Röntgen" in descriptions and len(descriptions) == 2
            assert not any("胸" in description for description in descriptions)
            plan_of(place, tmp_path / "none", Query(None, description="胸*"))
            assert rows_of(tmp_path / "none") == []


def test_a_certificate_that_is_not_trusted_is_told_of_by_the_network_too(
    certificates, archive, tmp_path
) -> None:
    """Of another host, and of another authority; with the right one the archive is spoken to."""
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(certificates.cert, certificates.key)
    _, port = archive(tls=context)
    for host, authorities, sentence in (
        ("localhost", certificates.ca, "with a certificate that is trusted and names the host"),
        ("127.0.0.1", None, "with a certificate that is trusted and names the host"),
        ("127.0.0.1", certificates.ca, "does not answer searches"),
    ):
        with pytest.raises(ArchiveError, match=sentence):
            plan_of(f"A@{host}:{port}", tmp_path / "plan", authorities=authorities, tls=True)
