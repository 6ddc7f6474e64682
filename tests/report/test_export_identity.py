"""UIDs of reports and copies: two contents never share one, and the same content has the same one."""

from __future__ import annotations

from copy import deepcopy
from dataclasses import replace
from io import BytesIO

import pydicom
import pytest
from hypothesis import given
from hypothesis import strategies as st
from pydicom.dataset import Dataset

from fovnet.decision.statements import Statement
from fovnet.regions import DEFAULT
from fovnet.report.exports.answers import read_answers
from fovnet.report.exports.copies import write_copies
from fovnet.report.exports.identity import content_of
from fovnet.report.exports.structured import TIME_ATTRIBUTES, build_report, write_report
from tests.report.exported import answered, body, said

SHAPE = (20, 22, 3)
PROCEDURE = Dataset()
PROCEDURE.CodeValue, PROCEDURE.CodingSchemeDesignator, PROCEDURE.CodeMeaning = (
    "113091000",
    "SCT",
    "MRI",
)
BEFORE = {
    "PatientName": "Wrong^Name",
    "PatientID": "PA",
    "PatientBirthDate": "19700101",
    "PatientSex": "F",
    "StudyDate": "20240102",
    "StudyTime": "101500",
    "StudyID": "1",
    "AccessionNumber": "A1",
    "ReferringPhysicianName": "Doe^Jane",
    "StudyDescription": "Chest",
    "PatientAge": "054Y",
    "PatientSize": "1.7",
    "PatientWeight": "70",
    "PatientBirthTime": "0700",
    "IssuerOfPatientID": "clinic",
    "PatientComments": "none",
    "Occupation": "nurse",
    "AdditionalPatientHistory": "none",
    "PatientIdentityRemoved": "NO",
    "Manufacturer": "SIEMENS",
    "ManufacturerModelName": "One",
    "DeviceSerialNumber": "17",
    "SoftwareVersions": "1",
    "InstitutionName": "Clinic",
    "StationName": "MR1",
    "ProcedureCodeSequence": [PROCEDURE],
    "ClinicalTrialSponsorName": "sponsor",
}
OTHER_PROCEDURE = deepcopy(PROCEDURE)
OTHER_PROCEDURE.CodeMeaning = "MR"
AFTER = {
    "PatientName": "Right^Name",
    "PatientID": "PA-CORRECTED",
    "PatientBirthDate": "19700110",
    "PatientSex": "M",
    "StudyDate": "20240103",
    "StudyTime": "101501",
    "StudyID": "2",
    "AccessionNumber": "A2",
    "ReferringPhysicianName": "Doe^John",
    "StudyDescription": "Thorax",
    "PatientAge": "053Y",
    "PatientSize": "1.71",
    "PatientWeight": "71",
    "PatientBirthTime": "0701",
    "IssuerOfPatientID": "hospital",
    "PatientComments": "see below",
    "Occupation": "smith",
    "AdditionalPatientHistory": "stroke",
    "PatientIdentityRemoved": "YES",
    "Manufacturer": "GE",
    "ManufacturerModelName": "Two",
    "DeviceSerialNumber": "18",
    "SoftwareVersions": "2",
    "InstitutionName": "Hospital",
    "StationName": "MR2",
    "ProcedureCodeSequence": [OTHER_PROCEDURE],
    "ClinicalTrialSponsorName": "another",
    "StudyInstanceUID": "1.2.3.4",
    "SeriesInstanceUID": "1.2.3.5",
}


@pytest.fixture(scope="module")
def series(tmp_path_factory, write):
    """A series with the values BEFORE, and the answer on it."""
    folder = tmp_path_factory.mktemp("identity")
    source = write.save(folder / "series", write.images(body(SHAPE), **BEFORE))
    (answer,) = read_answers(answered(folder / "answers", source, ["abdomen", "chest"]))
    return source, replace(answer, status="ok", message="")  # so small a series is doubted


@pytest.fixture
def resent(series, tmp_path):
    """A function: the answer on the same series sent again, with other values in the headers."""

    def send(**values):
        source, answer = series
        again = tmp_path / "again"
        again.mkdir(exist_ok=True)
        for path in source.iterdir():
            image = pydicom.dcmread(path)
            for name, value in values.items():
                setattr(image, name, value)
            image.save_as(again / path.name)
        return replace(answer, path=again)

    return send


def report_of(answer, vocabulary=DEFAULT):
    """(content without its own UIDs and times, SOP Instance UID) of a report."""
    report = build_report(answer, vocabulary)
    return content_of(report, ["SOPInstanceUID", "SeriesInstanceUID", *TIME_ATTRIBUTES]), str(
        report.SOPInstanceUID
    )


@pytest.fixture(scope="module")
def first_report(series):
    return report_of(series[1])


@pytest.mark.parametrize("name", AFTER)
def test_a_corrected_attribute_that_a_report_says_is_another_report(resent, first_report, name):
    content, uid = report_of(resent(**{name: AFTER[name]}))
    assert content != first_report[0] and uid != first_report[1]


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("SeriesDescription", "t1 corrected"),
        ("EchoTime", "11"),
        ("ProtocolName", "other"),
    ],
)
def test_what_a_report_does_not_say_makes_no_second_one(resent, first_report, name, value):
    assert report_of(resent(**{name: value})) == first_report


def test_a_series_sent_again_in_another_encoding_is_the_same_report(series, resent, first_report):
    answer = resent()
    for path in answer.path.iterdir():
        image = pydicom.dcmread(path)
        image.file_meta.TransferSyntaxUID = "1.2.840.10008.1.2"
        image.ProcedureCodeSequence.is_undefined_length = True
        image.save_as(path, implicit_vr=True, little_endian=True)
    assert report_of(answer) == first_report


def changed_answers(answer):
    """The answer with one thing changed that a report says, by name."""
    lower, upper = answer.spans
    given_by_region = said(answer, ["abdomen", "chest"])
    changes = {
        "model": {"model_identity": "fedcba9876543210"},
        "version": {"fovnet_version": "9.9"},
        "status": {"status": "uncertain"},
        "region": {"spans": (replace(lower, region="pelvis"), upper)},
        "lower end": {"spans": (replace(lower, from_mm=lower.from_mm - 1), upper)},
        "upper end": {"spans": (lower, replace(upper, to_mm=upper.to_mm + 1))},
        "confidence": {"spans": (lower, replace(upper, confidence=0.5))},
        "slices": {"spans": (replace(lower, last_slice=lower.last_slice - 1), upper)},
        "a span less": {"spans": (upper,)},
        "none": {"spans": ()},
    }
    answers = {name: replace(answer, **values) for name, values in changes.items()}
    answers["statements"] = given_by_region
    answers["one possible"] = said(answer, ["chest"], ["abdomen"])
    answers["another possible"] = said(answer, ["abdomen"], ["chest"])
    answers["none sure"] = said(answer, [], ["abdomen", "chest"])
    answers["extents"] = replace(given_by_region, are_extents_sure=False)
    answers["reason"] = replace(answers["extents"], message="too few slices")
    answers["other reason"] = replace(answers["extents"], message="slices out of order")
    answers["status with reason"] = replace(answer, status="uncertain", message="too few slices")
    answers["probability"] = replace(
        given_by_region,
        statements=tuple(
            replace(each, probability=0.96) if each.answer == "yes" else each
            for each in given_by_region.statements
        ),
    )
    answers["surely none"] = replace(
        answer,
        spans=(),
        statements=tuple(Statement(region, "no", 0.01) for region in DEFAULT.classes[:-1]),
    )
    return answers


def test_every_change_of_what_an_answer_says_is_another_report(series, first_report):
    _, answer = series
    uids = {name: report_of(other)[1] for name, other in changed_answers(answer).items()}
    uids["codes"] = report_of(
        answer,
        replace(
            DEFAULT,
            regions=tuple(
                replace(region, sct="43799004") if region.name == "chest" else region
                for region in DEFAULT.regions
            ),
        ),
    )[1]
    uids["meaning"] = report_of(
        answer,
        replace(
            DEFAULT,
            regions=tuple(
                replace(region, meaning="Thorax") if region.name == "chest" else region
                for region in DEFAULT.regions
            ),
        ),
    )[1]
    assert len(uids) == 22
    assert len({first_report[1], *uids.values()}) == 23


def test_what_no_report_says_of_an_answer_makes_no_second_one(series, first_report):
    _, answer = series
    for change in ({"volume_id": "other"}, {"confidence": 0.1}, {"message": "a note on the axes"}):
        assert report_of(replace(answer, **change)) == first_report


def test_a_report_written_again_is_the_same_file(series, resent, tmp_path):
    path = write_report(resent(), DEFAULT, tmp_path / "sr")
    first = path.read_bytes()
    assert write_report(resent(), DEFAULT, tmp_path / "sr").read_bytes() == first
    corrected = write_report(resent(PatientName="Right^Name"), DEFAULT, tmp_path / "sr")
    assert corrected == path and corrected.read_bytes() != first


def uids_of_copies(answer, folder):
    copies = [pydicom.dcmread(path) for path in write_copies(answer, DEFAULT, folder)]
    (series_uid,) = {str(copy.SeriesInstanceUID) for copy in copies}
    return [str(copy.SOPInstanceUID) for copy in copies], series_uid


@pytest.mark.parametrize(
    "name",
    [
        "PatientName",
        "StudyDate",
        "AccessionNumber",
        "StationName",
        "ProcedureCodeSequence",
        "EchoTime",
        "PixelData",
        "BodyPartExamined",
        "StudyInstanceUID",
        "WindowWidth",
    ],
)
def test_a_corrected_image_is_another_copy_in_another_series(series, resent, tmp_path, name):
    """Whatever was corrected, its pixels too; of an unchanged image sent again the copy is the same."""
    first, series_uid = uids_of_copies(resent(), tmp_path / "first")
    values = {
        **AFTER,
        "EchoTime": "11",
        "PixelData": bytes(2 * 20 * 22),
        "BodyPartExamined": "HEAD",
        "WindowWidth": "9",
    }
    second, other_series_uid = uids_of_copies(resent(**{name: values[name]}), tmp_path / "second")
    assert not {*first, series_uid} & {*second, other_series_uid}
    assert uids_of_copies(resent(), tmp_path / "third") == (first, series_uid)


def test_networks_that_answer_alike_make_no_second_copy(series, tmp_path):
    """A copy does not name them."""
    _, answer = series
    first = uids_of_copies(answer, tmp_path / "first")
    assert (
        uids_of_copies(
            replace(answer, model_identity="another", fovnet_version="9.9"), tmp_path / "second"
        )
        == first
    )


KEYWORDS = ("PatientName", "PatientID", "StudyDescription", "PatientComments", "ProtocolName")
WORDS = st.text("abXYäß頭\\", max_size=12)


def dataset_of(values, inner):
    dataset = Dataset()
    for name, value in values.items():
        setattr(dataset, name, value)
    item = Dataset()
    item.CodeMeaning = inner
    dataset.ProcedureCodeSequence = [item]
    dataset.SpecificCharacterSet = "ISO_IR 192"
    return dataset


VALUES = st.dictionaries(st.sampled_from(KEYWORDS), WORDS)


@given(VALUES, WORDS, VALUES, WORDS, st.booleans())
def test_contents_are_equal_only_if_all_values_are(values, inner, others, other, is_implicit):
    """And however they are encoded."""
    content = content_of(dataset_of(values, inner))
    assert (content == content_of(dataset_of(others, other))) == (
        (values, inner) == (others, other)
    )
    file = BytesIO()
    dataset_of(values, inner).save_as(file, implicit_vr=is_implicit, little_endian=True)
    file.seek(0)
    assert content_of(pydicom.dcmread(file, force=True)) == content
