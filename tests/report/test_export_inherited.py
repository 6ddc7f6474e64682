"""Values of a source's header that are not valid: a report is made without them, and says which."""

from __future__ import annotations

import shutil
import subprocess
from dataclasses import replace

import pydicom
import pytest
from pydicom.datadict import dictionary_VR
from pydicom.dataelem import DataElement, RawDataElement
from pydicom.dataset import Dataset
from typer.testing import CliRunner

from fovnet.cli import app
from fovnet.errors import ModelError
from fovnet.regions import DEFAULT
from fovnet.report.exports.answers import read_answers
from fovnet.report.exports.inherited import MAY_BE_EMPTY
from fovnet.report.exports.structured import build_report, write_report
from fovnet.volume.dicom.header import without_warnings
from tests.report.exported import answered, body

WRONG = [  # attribute, value representation, bytes in the file
    ("PatientBirthDate", "DA", b"1970-01-01"),
    ("PatientBirthDate", "DA", b"19700230"),
    ("PatientBirthDate", "DA", b"1970"),
    ("PatientBirthDate", "DA", b"ANON"),
    ("PatientBirthDate", "DA", b"19700101\\19710101"),
    ("StudyDate", "DA", b"2024-01-02"),
    ("StudyDate", "DA", b"01/02/2024"),
    ("StudyDate", "DA", b"20240101-20240102"),
    ("StudyDate", "DA", b"20241301"),
    ("StudyDate", "LO", b"2 January"),
    ("StudyDate", "US", b"\x01\x00"),
    ("StudyTime", "TM", b"25:61"),
    ("StudyTime", "TM", b"256100"),
    ("StudyTime", "TM", b"noon"),
    ("StudyTime", "DT", b"20240102101500"),
    ("PatientSex", "CS", b"FEMALE"),
    ("PatientSex", "CS", b"m"),
    ("PatientSex", "CS", b"U"),
    ("PatientBirthTime", "TM", b"7 a.m."),
    ("PatientAge", "AS", b"54"),
    ("PatientAge", "AS", b"54 YEARS"),
    ("PatientWeight", "DS", b"70,5"),
    ("PatientWeight", "DS", b"70 kg"),
    ("PatientSize", "DS", b"1m70"),
    ("PatientSize", "DS", b"nan"),
    ("PregnancyStatus", "US", b"abc"),
    ("PregnancyStatus", "LO", b"unknown"),
    ("StudyID", "SH", b"1\\2"),
    ("ReferencedStudySequence", "LO", b"1.2.3"),
]
KEPT = [  # unusual, and told by the report as it is
    ("AccessionNumber", "SH", b"A-12345678901234567890", "A-12345678901234567890"),
    ("PatientID", "LO", b"0" * 70, "0" * 70),
    ("StudyDate", "LO", b"20240102", "20240102"),
    ("PatientID", "OB", b"PA", "PA"),
    ("StudyTime", "TM", b"1015", "1015"),
    ("PatientSex", "LO", b"F", "F"),
    ("PatientName", "PN", b"a^b^c^d^e^f", "a^b^c^d^e^f"),
    ("StudyDate", "DA", b"", ""),
    ("PatientAge", "AS", b"054Y", "054Y"),
]


@pytest.fixture(scope="module")
def series(tmp_path_factory, write):
    """A small series with valid values, and the answer on it."""
    folder = tmp_path_factory.mktemp("inherited")
    source = write.save(folder / "series", write.images(body((20, 22, 3)), StudyDate="20240102"))
    (answer,) = read_answers(answered(folder / "answers", source, ["chest"]))
    return source, replace(answer, status="ok", message="")


def with_bytes(series, folder, name, representation, value):
    """The answer on the series, with these bytes in an attribute of every image."""
    source, answer = series
    shutil.copytree(source, folder)
    tag = pydicom.tag.Tag(pydicom.datadict.tag_for_keyword(name))
    for path in folder.iterdir():
        image = pydicom.dcmread(path)
        padded = value + b" " * (len(value) % 2)
        image[tag] = RawDataElement(tag, representation, len(padded), padded, 0, False, True)
        image.save_as(path)
    return replace(answer, path=folder)


@pytest.mark.parametrize(("name", "representation", "value"), WRONG, ids=str)
def test_a_report_is_made_without_a_value_that_is_not_valid_and_names_it(
    series, tmp_path, name, representation, value
):
    answer = with_bytes(series, tmp_path / "series", name, representation, value)
    notes = []
    report = pydicom.dcmread(write_report(answer, DEFAULT, tmp_path / "sr", notes.append))
    assert notes == [f"without a valid {name}, which the report leaves out"]
    assert (name in report) == (name in MAY_BE_EMPTY)
    assert not report.get(name)


@pytest.mark.parametrize(("name", "representation", "value", "text"), KEPT, ids=str)
def test_a_value_that_is_only_unusual_is_kept(series, tmp_path, name, representation, value, text):
    answer = with_bytes(series, tmp_path / "series", name, representation, value)
    notes = []
    with without_warnings():
        report = pydicom.dcmread(write_report(answer, DEFAULT, tmp_path / "sr", notes.append))
        element = report[name]
    assert (notes, str(element.value)) == ([], text)
    assert dictionary_VR(name) == element.VR


def test_a_wrong_value_that_no_report_copies_is_not_told(series, tmp_path):
    answer = with_bytes(series, tmp_path / "series", "RepetitionTime", "DS", b"1,5")
    notes = []
    build_report(answer, DEFAULT, notes.append)
    assert notes == []


def test_a_wrong_value_within_a_sequence_takes_only_itself_away(series, tmp_path):
    source, answer = series
    shutil.copytree(source, tmp_path / "series")
    other = Dataset()
    other.PatientID = "PA-2"
    other[0x00100030] = DataElement(0x00100030, "DA", "19700101")
    other["PatientBirthDate"]._value = "1970-01-01"
    for path in (tmp_path / "series").iterdir():
        image = pydicom.dcmread(path)
        image.OtherPatientIDsSequence = [other]
        image.save_as(path)
    notes = []
    report = build_report(replace(answer, path=tmp_path / "series"), DEFAULT, notes.append)
    assert notes == ["without a valid OtherPatientIDsSequence, which the report leaves out"]
    (item,) = report.OtherPatientIDsSequence
    assert item.PatientID == "PA-2" and "PatientBirthDate" not in item


def test_the_command_line_tells_it_once_with_the_number_of_volumes(tmp_path, write):
    rows = ""
    for name in ("a", "b"):
        source = write.save(
            tmp_path / name, write.images(body(), StudyInstanceUID=f"1.2.{ord(name)}")
        )
        for path in source.iterdir():
            image = pydicom.dcmread(path)
            image.add_new("PatientBirthDate", "LO", "1970-01-01")
            image.save_as(path)
        answers = answered(tmp_path / "answers", source, ["head"], name=name)
        rows += "".join((answers / "spans.tsv").read_text().splitlines(keepends=True)[bool(rows) :])
    (answers / "spans.tsv").write_text(rows)
    run = CliRunner().invoke(app, ["export", "sr", str(answers), "--out", str(tmp_path / "sr")])
    assert run.exit_code == 0 and "2 of 2 volumes" in run.output
    assert run.output.count("2 volumes without a valid PatientBirthDate") == 1


@pytest.mark.parametrize("name", ["SOPClassUID", "StudyInstanceUID", "SeriesInstanceUID"])
def test_an_image_that_nothing_can_refer_to_is_named_with_what_it_lacks(series, tmp_path, name):
    answer = with_bytes(series, tmp_path / "series", name, "UI", b"")
    with pytest.raises(ModelError) as fault:
        write_report(answer, DEFAULT, tmp_path / "sr")
    assert fault.value.code == "export-header" and f"lack {name}" in fault.value.sentence


def test_dciodvfy_finds_no_error_in_a_report_without_them(series, tmp_path):
    if shutil.which("dciodvfy") is None:
        pytest.skip("dciodvfy (Debian: dicom3tools) is not installed")
    answer = with_bytes(series, tmp_path / "0", "PatientBirthDate", "DA", b"1970-01-01")
    for number, wrong in enumerate(WRONG[1::6], start=1):
        answer = with_bytes((answer.path, answer), tmp_path / str(number), *wrong)
    path = write_report(answer, DEFAULT, tmp_path / "sr")
    output = subprocess.run(
        ["dciodvfy", str(path)], capture_output=True, text=True, check=False
    ).stderr
    assert "Comprehensive3DSR" in output
    assert not [line for line in output.splitlines() if line.startswith("Error")]
