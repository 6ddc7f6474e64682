"""Answers handed on: DICOM SR, relabelled copies, BIDS, the table of headers."""

from __future__ import annotations

import json
import os
import re
import shutil
import subprocess
from copy import deepcopy
from dataclasses import replace
from itertools import combinations, product
from pathlib import Path
from urllib.parse import unquote

import nibabel
import numpy as np
import pydicom
import pytest
from highdicom.sr import srread
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.strategies import text
from pydicom.config import disable_value_validation
from typer.testing import CliRunner

from fovnet.cli import app
from fovnet.decision.answer import SPANS_TABLE_COLUMNS, answer_facts, make_refusal, table_rows
from fovnet.decision.earlier_answers import file_record
from fovnet.decision.rule import Rule
from fovnet.decision.statements import Statement, volume_status
from fovnet.errors import CollectionError, ConfigError, ModelError, VolumeError
from fovnet.evaluate.cases import StoredSpan
from fovnet.records import checksum, read_tsv, write_json, write_tsv
from fovnet.regions import DEFAULT
from fovnet.report.exports.anatomy import anatomy_of
from fovnet.report.exports.answers import StoredAnswer, read_answers
from fovnet.report.exports.bids import write_bids
from fovnet.report.exports.copies import refuse_beside_sources, write_copies
from fovnet.report.exports.headers import HeaderComparison, compare_headers, write_headers
from fovnet.report.exports.identity import uid_for
from fovnet.report.exports.originals import image_keys, originals_of
from fovnet.report.exports.structured import (
    LOWER_END_CODE,
    UPPER_END_CODE,
    build_report,
    write_report,
)
from fovnet.volume.dicom.address import address
from fovnet.volume.dicom.survey import forget_survey, survey
from fovnet.volume.slices.stack import slice_volume
from fovnet.volume.sources.source import source_of
from tests.report.exported import answered, body, said


@pytest.fixture
def classic(tmp_path, write) -> Path:
    """A series of 20 axial images, 4 mm apart, whose header says HEAD."""
    more = {"BodyPartExamined": "HEAD", "PatientName": "Doe^Jane", "StudyDate": "20200102"}
    return write.save(tmp_path / "series", write.images(body(), **more))


@pytest.fixture(scope="module")
def answer_by_name(tmp_path_factory, write):
    """An answer of the chest for exports that only look at its names."""
    folder = tmp_path_factory.mktemp("named")
    source = write.save(folder / "series", write.images(body((20, 22, 6))))
    (answer,) = read_answers(answered(folder / "answers", source, ["chest"]))
    return answer


def spans_in(report):
    """(SNOMED CT id, lower end mm, upper end mm, probability) of every group, as highdicom reads them."""
    for group in report.content.get_image_measurement_groups():
        values = {
            measured.name.value: float(measured.value) for measured in group.get_measurements()
        }
        yield (
            group.finding_type.value,
            values[LOWER_END_CODE.value],
            values[UPPER_END_CODE.value],
            values["122157"],
        )


def test_a_report_reads_back_to_the_same_spans_and_images(tmp_path, classic):
    (answer,) = read_answers(
        answered(tmp_path / "answers", classic, ["pelvis", "abdomen", "chest"])
    )
    path = write_report(answer, DEFAULT, tmp_path / "sr")
    report = srread(path)
    wanted = [
        (DEFAULT.term([span.region]).sct, span.from_mm, span.to_mm, span.confidence)
        for span in answer.spans
    ]
    for got, expected in zip(spans_in(report), wanted, strict=True):
        assert got[0] == expected[0] and got[1:] == pytest.approx(expected[1:], abs=1e-3)
    referred = [
        [item.referenced_sop_instance_uid for item in group.source_images]
        for group in report.content.get_image_measurement_groups()
    ]
    # each image in one span, feet to head
    assert [uid for group in referred for uid in group] == list(answer.images.uids)
    heights = {
        str(one.SOPInstanceUID): float(one.ImagePositionPatient[2])
        for one in map(pydicom.dcmread, classic.iterdir())
    }
    for span, uids in zip(answer.spans, referred, strict=True):
        assert all(span.from_mm <= heights[uid] <= span.to_mm for uid in uids)
    assert report.StudyInstanceUID == pydicom.dcmread(next(classic.iterdir())).StudyInstanceUID
    # it goes where the images are
    assert report.PatientName == "Doe^Jane"


@pytest.mark.parametrize(
    ("sets", "name"),
    [
        (["", "ISO 2022 IR 87"], "Yamada^Tarou=山田^太郎"),
        (["", "ISO 2022 IR 149"], "Hong^Gildong=洪^吉洞=홍^길동"),
        ("ISO_IR 100", "Müller^Jürgen"),
        ("ISO_IR 144", "Иванов^Иван"),
        ("GB18030", "王^小东"),
        ("", "Doe^Jane"),
    ],
    ids=str,
)
def test_reports_and_copies_keep_the_letters_of_names_and_of_own_regions(
    tmp_path, write, sets, name
):
    """Names as in DICOM PS3.5, annexes H and I; a region of one's own may be called in letters that its
    source's set has not."""
    source = write.save(
        tmp_path / "series", write.images(body(), SpecificCharacterSet=sets, PatientName=name)
    )
    (answer,) = read_answers(answered(tmp_path / "answers", source, ["head"]))
    own = replace(
        DEFAULT,
        regions=tuple(
            replace(region, meaning="Kopf – 頭") if region.name == "head" else region
            for region in DEFAULT.regions
        ),
    )
    report = srread(write_report(answer, own, tmp_path / "sr"))
    assert (
        report.PatientName == name
        and next(iter(report.content.get_image_measurement_groups())).finding_type.meaning
        == "Kopf – 頭"
    )
    copy = pydicom.dcmread(write_copies(answer, own, tmp_path / "copies")[0])
    assert copy.PatientName == name and copy.AnatomicRegionSequence[0].CodeMeaning == "Kopf – 頭"
    untouched = pydicom.dcmread(write_copies(answer, DEFAULT, tmp_path / "plain")[0])
    assert untouched.PatientName == name and untouched.get(
        "SpecificCharacterSet"
    ) == pydicom.dcmread(next(source.iterdir())).get("SpecificCharacterSet")


def test_values_that_break_a_rule_are_exported_without_a_word(tmp_path, write):
    """UIDs with leading zeros, as careless pseudonyms have: pydicom warned of each image on stderr, and a
    warning fails a test here."""
    careless = {
        "SOPInstanceUID": lambda k: f"1.2.03.{k}",
        "StudyInstanceUID": "1.02.3",
        "BodyPartExamined": "head (neck)",
    }
    with disable_value_validation():
        source = write.save(tmp_path / "series", write.images(body(), **careless))
    (answer,) = read_answers(answered(tmp_path / "answers", source, ["head"]))
    assert len(write_copies(answer, DEFAULT, tmp_path / "copies")) == 20
    assert [one.header_text for one in compare_headers([answer], DEFAULT)] == ["HEAD (NECK)"]


def test_a_volume_of_the_same_name_from_another_study_is_not_written_over(tmp_path, write):
    folders = {}
    for study, who in (("1.2.3", "Alpha^A"), ("1.2.4", "Beta^B")):
        source = write.save(
            tmp_path / study / "t1", write.images(body(), StudyInstanceUID=study, PatientName=who)
        )
        folders[study] = answered(tmp_path / f"answers-{study}", source, ["head"], name="t1")
    for what in ("sr", "copies"):
        lines = [
            ["export", what, str(folder), "--out", str(tmp_path / what)]
            for folder in folders.values()
        ]
        assert CliRunner().invoke(app, lines[0]).exit_code == 0
        second = CliRunner().invoke(app, lines[1])
        assert (
            second.exit_code == 3
            and "export-other-study" in second.output
            and "Beta" not in second.output
        )
        kept = next(path for path in (tmp_path / what).rglob("*.dcm"))
        assert (
            pydicom.dcmread(kept).PatientName == "Alpha^A"
            and CliRunner().invoke(app, lines[0]).exit_code == 0
        )


def test_what_is_refused_or_unsure_takes_nothing_of_another_volume_of_its_name_away(
    tmp_path, write
):
    """Of the same study too: folders of several series are often called alike."""
    stored, others = [], []
    for series, place in ((1, "pre"), (2, "post")):
        source = write.save(tmp_path / place / "t1", write.images(body(), series=series))
        stored += read_answers(
            answered(tmp_path / f"answers-{place}", source, ["chest"], name="t1")
        )
    (tmp_path / "broken" / "t1").mkdir(parents=True)
    others = [
        stored[1],
        replace(stored[1], status="uncertain"),
        replace(stored[1], status="refused"),
        replace(stored[1], path=tmp_path / "t1.nii.gz", images=None, status="refused"),
        replace(stored[1], path=tmp_path / "broken" / "t1", images=None, status="refused"),
    ]
    for number, write_out in enumerate((write_report, write_copies)):
        out = tmp_path / str(number)
        write_out(stored[0], DEFAULT, out)
        before = {path: path.read_bytes() for path in sorted(out.rglob("*.dcm"))}
        codes = []
        for other in others:
            with pytest.raises(ModelError) as fault:
                write_out(other, DEFAULT, out)
            codes.append(fault.value.code)
            assert {path: path.read_bytes() for path in sorted(out.rglob("*.dcm"))} == before
        unsure = "export-unsure" if write_out is write_copies else "export-other-study"
        assert codes == ["export-other-study", unsure, *["export-stays"] * 3]
        again = write_out(stored[0], DEFAULT, out)
        assert (again if isinstance(again, list) else [again]) == list(before)


def copies_of_two_series(tmp_path, write):
    """The answer on a series, its copies in `out-0`, and those of another series of the same name in
    `out-1`."""
    stored = []
    for series, place in ((1, "pre"), (2, "post")):
        source = write.save(tmp_path / place / "t1", write.images(body(), series=series))
        stored += read_answers(
            answered(tmp_path / f"answers-{place}", source, ["chest"], name="t1")
        )
    mine, other = (
        write_copies(one, DEFAULT, tmp_path / f"out-{number}") for number, one in enumerate(stored)
    )
    return stored[0], mine, other


def test_copies_are_withdrawn_together_or_not_at_all(tmp_path, write):
    """One copy among those of a volume whose answer is no longer sure was made from another series."""
    answer, mine, other = copies_of_two_series(tmp_path, write)
    mine[-1].write_bytes(other[-1].read_bytes())
    before = {path: path.read_bytes() for path in mine}
    unsure = replace(answer, status="uncertain")
    with pytest.raises(ModelError, match="export-unsure"):
        write_copies(unsure, DEFAULT, tmp_path / "out-0")
    assert {path: path.read_bytes() for path in mine} == before
    mine[-1].unlink()
    with pytest.raises(ModelError, match="export-unsure"):
        write_copies(unsure, DEFAULT, tmp_path / "out-0")
    assert not any(path.exists() for path in mine)


def test_one_copy_of_another_series_among_its_own_stops_an_export_before_anything_is_written(
    tmp_path, write
):
    """The last one, and not only the first: it would be written over, and copies beyond the number of images
    removed."""
    answer, mine, other = copies_of_two_series(tmp_path, write)
    for path in (mine[-1], mine[-1].with_name("0099.dcm")):
        path.write_bytes(other[-1].read_bytes())
        before = {path: path.read_bytes() for path in mine[0].parent.iterdir()}
        with pytest.raises(ModelError, match="export-other-study"):
            write_copies(answer, DEFAULT, tmp_path / "out-0")
        assert {path: path.read_bytes() for path in mine[0].parent.iterdir()} == before
        path.unlink()
    assert write_copies(answer, DEFAULT, tmp_path / "out-0") == mine


def test_an_answer_in_other_codes_is_another_report(tmp_path, classic):
    """An archive keeps what it has of a UID."""
    (answer,) = read_answers(answered(tmp_path / "answers", classic, ["head"]))
    own = replace(
        DEFAULT,
        regions=tuple(
            replace(region, sct="774007", meaning="Head and neck")
            if region.name == "head"
            else region
            for region in DEFAULT.regions
        ),
    )
    assert build_report(answer, own).SOPInstanceUID != build_report(answer, DEFAULT).SOPInstanceUID


def test_what_an_enhanced_object_said_at_its_top_is_told_anew(tmp_path, write):
    head = pydicom.Dataset()
    head.CodeValue, head.CodingSchemeDesignator, head.CodeMeaning = "69536005", "SCT", "Head"
    one = write.enhanced(
        np.ascontiguousarray(body((40, 44, 12)).transpose(2, 1, 0)),
        [write.geometry(write.AFFINE, k) for k in range(12)],
        BodyPartExamined="HEAD",
        AnatomicRegionSequence=pydicom.Sequence([head]),
    )
    (answer,) = read_answers(
        answered(
            tmp_path / "answers", write.save(tmp_path / "series", [one]) / "im000.dcm", ["abdomen"]
        )
    )
    copy = pydicom.dcmread(write_copies(answer, DEFAULT, tmp_path / "copies")[0])
    kept = (
        copy.OriginalAttributesSequence[0].ModifiedAttributesSequence[0].AnatomicRegionSequence[0]
    )
    assert (copy.AnatomicRegionSequence[0].CodeMeaning, kept.CodeMeaning) == ("Abdomen", "Head")


def test_a_copy_of_a_copy_may_be_made_again(tmp_path, classic):
    (answer,) = read_answers(answered(tmp_path / "answers", classic, ["chest"]))
    write_copies(answer, DEFAULT, tmp_path / "copies")
    (again,) = read_answers(
        answered(tmp_path / "answers-2", tmp_path / "copies" / "volume", ["head"])
    )
    first = [path.read_bytes() for path in write_copies(again, DEFAULT, tmp_path / "copies-2")]
    assert [
        path.read_bytes() for path in write_copies(again, DEFAULT, tmp_path / "copies-2")
    ] == first


def test_a_refused_link_that_leads_to_itself_stops_no_export(tmp_path, classic):
    answers = answered(tmp_path / "answers", classic, ["head"])
    loop = tmp_path / "loop.nii.gz"
    loop.symlink_to(loop)
    refused = make_refusal(
        "loop", str(loop), VolumeError("volume-missing", "loop.nii.gz: is not there.")
    )
    write_json(
        answers / "loop.json",
        {
            **answer_facts(refused, None, None, DEFAULT),
            "rows": table_rows(refused, None),
            "model": "m",
        },
    )
    with (answers / "spans.tsv").open("a") as file:
        file.write(f"loop\t{loop}\trefused\n")
    for what in ("sr", "copies", "bids"):
        done = CliRunner().invoke(
            app, ["export", what, str(answers), "--out", str(tmp_path / what)]
        )
        assert done.exit_code in (0, 3), (what, done.exception)
    assert len(list((tmp_path / "copies").rglob("*.dcm"))) == 20


def test_a_source_that_may_not_be_read_is_named_and_the_others_are_exported(
    tmp_path, write, monkeypatch
):
    """Whoever may read everything, as in a container, is told what the others are told."""
    rows = ""
    for name in ("a", "closed", "z"):
        source = write.save(
            tmp_path / name, write.images(body(), StudyInstanceUID=f"1.2.{len(name)}")
        )
        answers = answered(tmp_path / "answers", source, ["head"], name=name)
        rows += "".join((answers / "spans.tsv").read_text().splitlines(keepends=True)[bool(rows) :])
    (answers / "spans.tsv").write_text(rows)
    monkeypatch.setattr(
        "fovnet.volume.dicom.source.is_closed", lambda folder: folder.name == "closed"
    )
    forget_survey(
        tmp_path / "closed"
    )  # an export is a process of its own, which has read nothing before
    for what, out in (("sr", "sr"), ("copies", "copies"), ("headers", "headers.tsv")):
        done = CliRunner().invoke(app, ["export", what, str(answers), "--out", str(tmp_path / out)])
        assert done.exit_code == 3 and "export-unreadable" in done.output, (what, done.output)
    assert (
        sorted(path.stem for path in (tmp_path / "sr").iterdir()) == ["a", "z"]
        and len(read_tsv(tmp_path / "headers.tsv")) == 3
    )


@pytest.fixture
def careless(tmp_path, write) -> Path:
    """A series whose identity was removed nobody says how, and whose procedure has one code without a scheme
    and one that is whole."""
    half, whole = pydicom.Dataset(), pydicom.Dataset()
    half.CodeValue, half.CodeMeaning = "7", "RM Mama"
    whole.CodeValue, whole.CodingSchemeDesignator, whole.CodeMeaning = "113091000", "SCT", "MRI"
    images = write.images(body(), PatientIdentityRemoved="YES", StudyDate="20200102")
    for image in images:
        image.ProcedureCodeSequence = [half, whole]
    return write.save(tmp_path / "careless", images)


@pytest.mark.parametrize("source", ["classic", "careless"])
def test_dciodvfy_finds_no_error_in_a_report(tmp_path, source, request):
    if shutil.which("dciodvfy") is None:
        pytest.skip("dciodvfy (Debian: dicom3tools) is not installed")
    (answer,) = read_answers(
        answered(tmp_path / "answers", request.getfixturevalue(source), ["head", "none"])
    )
    path = write_report(answer, DEFAULT, tmp_path / "sr")
    output = subprocess.run(
        ["dciodvfy", str(path)], capture_output=True, text=True, check=False
    ).stderr
    assert "Comprehensive3DSR" in output and not [
        line for line in output.splitlines() if line.startswith("Error")
    ]


def test_what_a_header_leaves_half_said_is_completed_or_left_out(tmp_path, careless):
    (answer,) = read_answers(answered(tmp_path / "answers", careless, ["chest"]))
    report = build_report(answer, DEFAULT)
    assert (
        report.PatientIdentityRemoved == "YES"
        and report.DeidentificationMethod == "not told by the source images"
    )
    assert [code.CodeValue for code in report.ProcedureCodeSequence] == ["113091000"]


def test_the_same_answer_gives_the_same_uids_and_another_other_ones(tmp_path, classic):
    (answer,) = read_answers(answered(tmp_path / "answers", classic, ["chest"]))
    one, again = build_report(answer, DEFAULT), build_report(answer, DEFAULT)
    assert (
        one.SOPInstanceUID == again.SOPInstanceUID
        and one.SeriesInstanceUID == again.SeriesInstanceUID
    )
    assert one.SOPInstanceUID not in answer.images.uids
    changed = [
        replace(answer, fovnet_version="9.9.9"),
        replace(answer, status="uncertain"),
        replace(answer, spans=(replace(answer.spans[0], to_mm=1.0),)),
    ]
    uids = {str(build_report(other, DEFAULT).SOPInstanceUID) for other in changed}
    # an archive keeps what it has of a UID, whatever comes later
    assert len(uids | {str(one.SOPInstanceUID)}) == 4


def test_reports_on_two_volumes_of_one_object_are_two(tmp_path, classic):
    """Of a multi-frame object each volume has other frames; of a classic series an image's UID says it
    all."""
    (answer,) = read_answers(answered(tmp_path / "answers", classic, ["chest"]))
    (source, *_), uid = originals_of(answer), str(originals_of(answer)[0].header.SOPInstanceUID)
    first, second = (
        list(image_keys([replace(source, frames=frames)])) for frames in ((1, 2), (3, 4))
    )
    assert first != second and first[0] == second[0] == uid and list(image_keys([source])) == [uid]


def test_an_uncertain_answer_is_a_report_that_is_not_complete_and_no_copy(tmp_path, classic):
    (answer,) = read_answers(
        answered(
            tmp_path / "answers", classic, ["chest"], rule=Rule(sigma_mm=0.0, min_confidence=1.0)
        )
    )
    assert (
        answer.status == "uncertain" and build_report(answer, DEFAULT).CompletionFlag == "PARTIAL"
    )
    with pytest.raises(ModelError, match="only an answer with status ok") as refusal:
        write_copies(answer, DEFAULT, tmp_path / "copies")
    assert refusal.value.code == "export-unsure" and not (tmp_path / "copies").exists()


def test_copies_say_what_the_pixels_show_and_keep_everything_else(tmp_path, classic):
    before = {path.name: checksum(path) for path in classic.iterdir()}
    (answer,) = read_answers(answered(tmp_path / "answers", classic, ["abdomen", "chest"]))
    paths = write_copies(answer, DEFAULT, tmp_path / "copies")
    assert {path.name: checksum(path) for path in classic.iterdir()} == before
    sources = {str(one.SOPInstanceUID): one for one in map(pydicom.dcmread, classic.iterdir())}
    assert (
        len(paths) == len(sources)
        and len({pydicom.dcmread(path).SeriesInstanceUID for path in paths}) == 1
    )
    for path in paths:
        copy = pydicom.dcmread(path)
        kept = copy.OriginalAttributesSequence[0].ModifiedAttributesSequence[0]
        source = sources[str(kept.SOPInstanceUID)]
        assert (copy.BodyPartExamined, copy.AnatomicRegionSequence[0].CodeValue) == (
            "CHESTABDOMEN",
            "416550000",
        )
        assert (
            kept.BodyPartExamined == "HEAD" and kept.SeriesInstanceUID == source.SeriesInstanceUID
        )
        assert copy.SOPInstanceUID != source.SOPInstanceUID == kept.SOPInstanceUID
        changed = {
            "SOPInstanceUID",
            "SeriesInstanceUID",
            "BodyPartExamined",
            "AnatomicRegionSequence",
            "OriginalAttributesSequence",
        }
        assert {
            element.keyword: element.value for element in copy if element.keyword not in changed
        } == {
            element.keyword: element.value for element in source if element.keyword not in changed
        }
    assert np.array_equal(
        slice_volume(tmp_path / "copies" / "volume").pixels, slice_volume(classic).pixels
    )


@pytest.mark.parametrize(
    ("part", "predicted", "kept"),
    [
        ("KNEE", "head", False),
        ("KNEE", "legs", True),
        ("BREAST", "chest", True),
        ("PROSTATE", "abdomen", False),
        ("", "legs", False),
    ],
)
def test_a_side_and_a_structure_stay_only_where_the_header_named_the_same_region(
    tmp_path, write, part, predicted, kept
):
    """A copy had HEAD, and Laterality L beside it; the side of a left knee holds for legs too."""
    structure = pydicom.Dataset()
    structure.CodeValue, structure.CodingSchemeDesignator, structure.CodeMeaning = (
        "1",
        "99X",
        "Structure",
    )
    more = {
        "BodyPartExamined": part,
        "Laterality": "L",
        "ImageLaterality": "L",
        "PrimaryAnatomicStructureSequence": [structure],
    }
    source = write.save(tmp_path / "series", write.images(body(), **more))
    (answer,) = read_answers(answered(tmp_path / "answers", source, [predicted]))
    copy = pydicom.dcmread(write_copies(answer, DEFAULT, tmp_path / "copies")[0])
    before = copy.OriginalAttributesSequence[0].ModifiedAttributesSequence[0]
    for name in ("Laterality", "ImageLaterality", "PrimaryAnatomicStructureSequence"):
        there = bool(copy.get(name))
        assert (there, name in before) == (kept, not kept), name
    # Type 2C of a part of which there are two
    assert ("Laterality" in copy) == (kept or predicted == "legs")


def test_a_frame_of_an_overruled_object_has_no_left_side(tmp_path, write):
    frames = np.ascontiguousarray(body((40, 44, 12)).transpose(2, 1, 0))
    anatomy = pydicom.Dataset()
    anatomy.FrameLaterality = "L"
    for part, predicted, side in (
        ("KNEE", "head", "U"),
        ("KNEE", "legs", "L"),
        ("HEAD", "legs", "B"),
    ):
        one = write.enhanced(frames, [write.geometry(write.AFFINE, k) for k in range(12)])
        one.BodyPartExamined = part
        one.SharedFunctionalGroupsSequence[0].FrameAnatomySequence = [deepcopy(anatomy)]
        place = tmp_path / f"{part}-{predicted}"
        (answer,) = read_answers(
            answered(
                place / "answers", write.save(place / "series", [one]) / "im000.dcm", [predicted]
            )
        )
        copy = pydicom.dcmread(write_copies(answer, DEFAULT, place / "copies")[0])
        assert (
            copy.SharedFunctionalGroupsSequence[0].FrameAnatomySequence[0].FrameLaterality == side
        )


def test_a_copy_made_again_is_the_same_file_and_names_the_program_that_wrote_it(tmp_path, write):
    """Archives take another file under a UID that they have for a clash."""
    images = write.images(body())
    for image in images:
        image.file_meta.ImplementationClassUID, image.file_meta.ImplementationVersionName = (
            "1.2.3.4",
            "another",
        )
    (answer,) = read_answers(
        answered(tmp_path / "answers", write.save(tmp_path / "series", images), ["chest"])
    )
    first = {path: checksum(path) for path in write_copies(answer, DEFAULT, tmp_path / "copies")}
    assert {
        path: checksum(path) for path in write_copies(answer, DEFAULT, tmp_path / "copies")
    } == first
    assert str(pydicom.dcmread(next(iter(first))).file_meta.ImplementationClassUID).startswith(
        "1.2.826.0.1.3680043.8.498"
    )
    report = write_report(answer, DEFAULT, tmp_path / "sr")
    before = checksum(report)
    assert checksum(write_report(answer, DEFAULT, tmp_path / "sr")) == before


def test_a_sure_answer_of_no_region_is_no_missing_answer(tmp_path, classic):
    """A bottle under a header of HEAD was counted among those without an answer."""
    (answer,) = read_answers(answered(tmp_path / "answers", classic, ["none"]))
    assert (answer.status, answer.spans) == ("ok", ())
    assert [one.verdict for one in compare_headers([answer], DEFAULT)] == ["shows none"]
    assert [
        one.verdict for one in compare_headers([replace(answer, status="uncertain")], DEFAULT)
    ] == ["no answer"]
    with pytest.raises(ModelError, match="shows none of the regions") as refusal:
        write_copies(answer, DEFAULT, tmp_path / "copies")
    assert refusal.value.code == "export-none"
    run = CliRunner().invoke(
        app, ["export", "copies", str(tmp_path / "answers"), "--out", str(tmp_path / "copies")]
    )
    assert "1 showing none of the regions" in run.output and run.exit_code == 3


def test_copies_do_not_go_where_their_sources_lie(tmp_path, classic):
    """The next prediction would read both."""
    answers = answered(tmp_path / "answers", classic, ["chest"])
    for place in (classic, classic.parent, classic / "copies"):
        with pytest.raises(ConfigError, match="copies-beside-sources"):
            refuse_beside_sources(answers, place)
    refuse_beside_sources(answers, tmp_path / "copies")


def test_an_enhanced_object_says_it_of_its_frames(tmp_path, write):
    voxels = body((40, 44, 12))
    frames = np.ascontiguousarray(voxels.transpose(2, 1, 0))
    one = write.enhanced(frames, [write.geometry(write.AFFINE, k) for k in range(12)])
    folder = write.save(tmp_path / "series", [one])
    (answer,) = read_answers(answered(tmp_path / "answers", folder / "im000.dcm", ["legs"]))
    copy = pydicom.dcmread(write_copies(answer, DEFAULT, tmp_path / "copies")[0])
    assert (
        copy.SharedFunctionalGroupsSequence[0]
        .FrameAnatomySequence[0]
        .AnatomicRegionSequence[0]
        .CodeValue
        == "61685007"
    )
    report = srread(write_report(answer, DEFAULT, tmp_path / "sr"))
    (source,) = report.content.get_image_measurement_groups()[0].source_images
    assert list(source.referenced_frame_numbers) == list(range(1, 13))


def test_copies_of_two_volumes_share_no_uid_and_are_the_same_when_made_again(tmp_path, write):
    """Two volumes of the same slices in one multi-frame object, magnitude and phase, are two copies of it."""
    frames = np.ascontiguousarray(body((40, 44, 12)).transpose(2, 1, 0))
    kinds = [
        {
            "MRImageFrameTypeSequence": {
                "ComplexImageComponent": kind,
                "FrameType": ["ORIGINAL", "PRIMARY"],
            }
        }
        for _ in range(12)
        for kind in ("MAGNITUDE", "PHASE")
    ]
    one = write.enhanced(
        np.repeat(frames, 2, axis=0),
        [write.geometry(write.AFFINE, k) for k in range(12) for _ in range(2)],
        kinds,
    )
    (answer,) = read_answers(
        answered(
            tmp_path / "answers", write.save(tmp_path / "series", [one]) / "im000.dcm", ["legs"]
        )
    )
    assert answer.images.frames == tuple(range(1, 25, 2))
    other = tuple(frame + 1 for frame in answer.images.frames)
    halves = [
        answer,
        replace(answer, volume_id="second", images=replace(answer.images, frames=other)),
    ]
    uids = []
    for folder in ("copies", "again"):
        made = [
            pydicom.dcmread(path)
            for half in halves
            for path in write_copies(half, DEFAULT, tmp_path / folder)
        ]
        uids.append(
            [
                uid
                for copy in made
                for uid in (str(copy.SOPInstanceUID), str(copy.SeriesInstanceUID))
            ]
        )
    assert uids[0] == uids[1] and len(set(uids[0])) == 4


def test_an_object_with_another_place_of_the_body_is_not_called_after_one(tmp_path, write):
    """Two stations of the table in one object: its header speaks of all frames."""
    frames = np.ascontiguousarray(body((40, 44, 12)).transpose(2, 1, 0))
    one = write.enhanced(frames, [write.geometry(write.AFFINE, k) for k in range(12)])
    (answer,) = read_answers(
        answered(
            tmp_path / "answers", write.save(tmp_path / "series", [one]) / "im000.dcm", ["legs"]
        )
    )
    assert len(write_copies(answer, DEFAULT, tmp_path / "copies")) == 1
    lower = replace(
        answer,
        images=replace(answer.images, uids=answer.images.uids[:6], frames=answer.images.frames[:6]),
    )
    with pytest.raises(ModelError, match="6 of its 12 frames") as refusal:
        write_copies(lower, DEFAULT, tmp_path / "copies")
    assert refusal.value.code == "export-other-places" and not list(
        (tmp_path / "copies").rglob("*.dcm")
    )


def test_every_image_of_a_series_that_had_to_be_straightened_is_referred_to(tmp_path, write):
    """Straight cuts through a series tilted by 30° go through many of its images each; its slices are all in
    one span or another."""
    tilt = np.eye(4)
    tilt[1:3, 1:3] = [[np.cos(0.52), -np.sin(0.52)], [np.sin(0.52), np.cos(0.52)]]
    series = write.save(tmp_path / "series", write.images(body(), tilt @ write.AFFINE))
    (answer,) = read_answers(answered(tmp_path / "answers", series, ["abdomen", "chest"]))
    report = srread(write_report(answer, DEFAULT, tmp_path / "sr"))
    for group in report.content.get_image_measurement_groups():
        assert {item.referenced_sop_instance_uid for item in group.source_images} == set(
            answer.images.uids
        )
    covered = {
        number for span in answer.spans for number in range(span.first_slice, span.last_slice + 1)
    }
    assert covered == set(range(20))


def test_copies_of_an_earlier_answer_do_not_stay(tmp_path, classic):
    (answer,) = read_answers(answered(tmp_path / "answers", classic, ["chest"]))
    folder = tmp_path / "copies" / "volume"
    assert len(write_copies(answer, DEFAULT, tmp_path / "copies")) == 20
    (folder / "notes.txt").write_text("mine")
    (folder / ".0007.dcm.4711.part").write_bytes(b"half an image of a run that was killed")
    fewer = replace(
        answer,
        images=replace(
            answer.images, uids=answer.images.uids[:30], frames=answer.images.frames[:30]
        ),
    )
    assert {path.name for path in write_copies(fewer, DEFAULT, tmp_path / "copies")} == {
        path.name for path in folder.glob("*.dcm")
    }
    assert not list(folder.glob(".*"))
    with pytest.raises(ModelError, match="export-unsure"):
        write_copies(replace(answer, status="uncertain"), DEFAULT, tmp_path / "copies")
    assert [path.name for path in folder.iterdir()] == ["notes.txt"]


@pytest.mark.parametrize(("verb", "name"), [("copies", "0001.dcm"), ("sr", "one.dcm")])
def test_no_source_and_no_strangers_file_is_replaced_or_removed(tmp_path, write, verb, name):
    """Sources may be called as what is exported, that of a refused volume too, by a link, and below a folder
    with a # in its name."""
    places = {"copies": ("knee #1", "knee #1/one"), "sr": ("scans #1", "scans #1")}[verb]
    images = write.images(body())
    folder = write.save(
        tmp_path / places[1],
        images
        if verb == "copies"
        else [
            write.enhanced(
                np.ascontiguousarray(body((40, 44, 12)).transpose(2, 1, 0)),
                [write.geometry(write.AFFINE, k) for k in range(12)],
            )
        ],
    )
    for number, path in enumerate(sorted(folder.iterdir()), start=1):
        path.rename(folder / (f"{number:04d}.dcm" if verb == "copies" else name))
    source = folder if verb == "copies" else folder / name
    before = {path: path.read_bytes() for path in sorted(folder.iterdir())}
    (tmp_path / "linked").symlink_to(tmp_path / places[0], target_is_directory=True)
    (tmp_path / "work").mkdir()
    (tmp_path / "work" / "one").symlink_to(folder, target_is_directory=True)
    for status in ("ok", "refused"):
        answers = answered(tmp_path / "answers", source, ["chest"], name="one")
        answer = json.loads((answers / "one.json").read_text())
        write_json(
            answers / "one.json",
            {**answer, "status": status, **({"images": None} if status == "refused" else {})},
        )
        for out in (tmp_path / places[0], tmp_path / "linked", tmp_path / "work")[
            : 3 if verb == "copies" else 2
        ]:
            fault = (
                CliRunner().invoke(app, ["export", verb, str(answers), "--out", str(out)]).exception
            )
            assert isinstance(fault, ConfigError) and fault.code == "copies-beside-sources"
        own = tmp_path / f"own-{status}" / ("one" if verb == "copies" else ".") / name
        own.parent.mkdir(parents=True)
        shutil.copy(next(iter(before)), own)
        done = CliRunner().invoke(
            app, ["export", verb, str(answers), "--out", str(tmp_path / f"own-{status}")]
        )
        assert done.exit_code == 3 and ("was not written by fovnet" in done.output) == (
            status == "ok"
        )
        assert (
            own.read_bytes() == next(iter(before.values()))
            and {path: path.read_bytes() for path in before} == before
        )


@pytest.mark.parametrize("write_out", [write_copies, write_report])
def test_of_a_volume_that_is_refused_by_now_nothing_stays(tmp_path, classic, write_out):
    (answer,) = read_answers(answered(tmp_path / "answers", classic, ["chest"]))
    write_out(answer, DEFAULT, tmp_path / "out")
    assert list((tmp_path / "out").rglob("*.dcm"))
    with pytest.raises(ModelError, match="export-refused"):
        write_out(replace(answer, status="refused"), DEFAULT, tmp_path / "out")
    assert not list((tmp_path / "out").rglob("*.dcm"))


def test_a_series_that_lost_images_is_not_the_one_that_was_answered(tmp_path, classic):
    (answer,) = read_answers(answered(tmp_path / "answers", classic, ["chest"]))
    next(iter(sorted(classic.iterdir()))).unlink()
    with pytest.raises(ModelError, match="1 of 20 images") as refusal:
        build_report(answer, DEFAULT)
    assert refusal.value.code == "export-changed"


def test_a_series_whose_files_changed_since_is_not_the_one_that_was_answered(tmp_path, classic):
    answers = answered(tmp_path / "answers", classic, ["chest"])
    file = file_record(source_of(classic))
    write_json(
        answers / "volume.json", {**json.loads((answers / "volume.json").read_text()), "file": file}
    )
    (answer,) = read_answers(answers)
    assert originals_of(answer)
    moved = [(path, path.read_bytes()) for path in classic.iterdir()]
    # copied back from elsewhere: other places on the disk, the same content
    for path, held in moved:
        path.unlink()
        path.write_bytes(held)
    assert originals_of(answer)
    path, held = moved[3]
    path.write_bytes(held[:-400])
    with pytest.raises(ModelError, match=r"have changed since.*export-changed"):
        originals_of(answer)


@pytest.mark.parametrize(("uid", "how"), [("1.2.3.4", "share"), ("", "lack")])
def test_images_without_a_uid_of_their_own_cannot_be_referred_to(tmp_path, write, uid, how):
    """Careless anonymisers leave one UID, or none."""
    folder = write.save(tmp_path / "series", write.images(body()))
    for path in folder.iterdir():
        one = pydicom.dcmread(path)
        one.SOPInstanceUID = uid
        if not uid:
            del one.SOPInstanceUID
        one.save_as(path)
    (answer,) = read_answers(answered(tmp_path / "answers", folder, ["chest"]))
    for export in (
        lambda: build_report(answer, DEFAULT),
        lambda: write_copies(answer, DEFAULT, tmp_path / "copies"),
    ):
        with pytest.raises(
            ModelError, match=f"images of volume {how} a SOP Instance UID.*export-no-uid"
        ):
            export()
    (row,) = compare_headers([answer], DEFAULT)
    assert row.verdict == "header empty" and not list(tmp_path.glob("copies/**/*.dcm"))


def test_a_copy_of_an_object_without_a_files_header_has_one(tmp_path, write):
    """Archives of the nineties hold bare datasets."""
    folder = write.save(
        tmp_path / "series", write.images(body(), SOPClassUID="1.2.840.10008.5.1.4.1.1.4")
    )
    for path in folder.iterdir():
        one = pydicom.dcmread(path)
        bare = pydicom.Dataset({element.tag: element for element in one})
        bare.save_as(path, implicit_vr=True, little_endian=True, enforce_file_format=False)
    assert sorted(folder.iterdir())[0].read_bytes()[128:132] != b"DICM"
    (answer,) = read_answers(answered(tmp_path / "answers", folder, ["chest"]))
    copies = write_copies(answer, DEFAULT, tmp_path / "copies")
    assert len(copies) == 20 and pydicom.dcmread(copies[0]).BodyPartExamined == "CHEST"
    assert np.array_equal(
        slice_volume(tmp_path / "copies" / "volume").pixels, slice_volume(folder).pixels
    )


def test_a_report_on_a_volume_that_shows_no_region_says_so_of_its_images(tmp_path, classic):
    answers = answered(tmp_path / "answers", classic, ["none"])
    path = write_report(*read_answers(answers), DEFAULT, tmp_path)
    report = srread(path)
    groups = report.content.get_image_measurement_groups()
    assert len(groups) == 1 and not groups[0].get_measurements()
    (evaluation,) = groups[0].get_qualitative_evaluations()
    assert evaluation.value.meaning == "None of the regions"
    assert (
        len(
            report.CurrentRequestedProcedureEvidenceSequence[0]
            .ReferencedSeriesSequence[0]
            .ReferencedSOPSequence
        )
        == 20
    )
    checked = (
        subprocess.run(["dciodvfy", str(path)], capture_output=True, text=True)
        if shutil.which("dciodvfy")
        else None
    )
    assert checked is None or "Error" not in checked.stderr


def test_what_an_enhanced_object_said_of_its_frames_is_kept(tmp_path, write):
    one = write.enhanced(
        np.ascontiguousarray(body((40, 44, 12)).transpose(2, 1, 0)),
        [write.geometry(write.AFFINE, k) for k in range(12)],
    )
    kidney = pydicom.Dataset()
    kidney.CodeValue, kidney.CodingSchemeDesignator, kidney.CodeMeaning = "T-71000", "SRT", "Kidney"
    anatomy = pydicom.Dataset()
    anatomy.AnatomicRegionSequence, anatomy.FrameLaterality = pydicom.Sequence([kidney]), "U"
    one.SharedFunctionalGroupsSequence[0].FrameAnatomySequence = pydicom.Sequence([anatomy])
    folder = write.save(tmp_path / "series", [one])
    (answer,) = read_answers(answered(tmp_path / "answers", folder / "im000.dcm", ["abdomen"]))
    copy = pydicom.dcmread(write_copies(answer, DEFAULT, tmp_path / "copies")[0])
    new = copy.SharedFunctionalGroupsSequence[0].FrameAnatomySequence[0].AnatomicRegionSequence[0]
    kept = (
        copy.OriginalAttributesSequence[0]
        .ModifiedAttributesSequence[0]
        .SharedFunctionalGroupsSequence[0]
    )
    assert (new.CodeValue, kept.FrameAnatomySequence[0].AnatomicRegionSequence[0].CodeValue) == (
        "818981001",
        "T-71000",
    )


def test_a_data_set_that_fovnet_has_not_made_keeps_its_description(tmp_path, classic):
    answers, raw = answered(tmp_path / "answers", classic, ["chest"]), tmp_path / "raw"
    for _ in range(2):
        assert (
            CliRunner()
            .invoke(app, ["export", "bids", str(answers), "--out", str(tmp_path / "own")])
            .exit_code
            == 0
        )
    raw.mkdir()
    (raw / "dataset_description.json").write_text(
        '{"Name": "My study", "BIDSVersion": "1.8.0", "Authors": ["Dr A"]}'
    )
    fault = CliRunner().invoke(app, ["export", "bids", str(answers), "--out", str(raw)]).exception
    assert isinstance(fault, ConfigError) and fault.code == "bids-other-dataset"
    assert (
        "Dr A" in (raw / "dataset_description.json").read_text() and len(list(raw.rglob("*"))) == 1
    )


@pytest.mark.parametrize(
    ("names", "body_part"),
    [
        (["head"], "HEAD"),
        (["pelvis", "abdomen"], "ABDOMENPELVIS"),
        (["pelvis", "abdomen", "chest"], "CHESTABDPELVIS"),
        (["legs", "pelvis"], "PELVISLOWEXTREMT"),
        (["legs", "pelvis", "abdomen", "chest", "head"], "WHOLEBODY"),
        (["chest", "chest", "head"], ""),  # no term for both, however tall
    ],
)
def test_several_regions_have_the_combined_term_where_there_is_one(
    tmp_path, classic, names, body_part
):
    (answer,) = read_answers(answered(tmp_path / "answers", classic, names))
    assert anatomy_of(answer, DEFAULT).body_part == body_part


def test_headers_that_disagree_are_told_first(tmp_path, classic):
    answers = answered(tmp_path / "answers", classic, ["abdomen"])
    result = CliRunner().invoke(
        app, ["export", "headers", str(answers), "--out", str(tmp_path / "h.tsv")]
    )
    assert result.exit_code == 0 and result.output.startswith("1 disagree: ")
    (one,) = compare_headers(read_answers(tmp_path / "answers"), DEFAULT)
    assert (one.header_text, one.verdict) == ("HEAD", "disagree")
    assert "Doe" not in (tmp_path / "h.tsv").read_text()


def test_headers_with_some_regions_in_common_are_counted_as_such(tmp_path, classic):
    answers = answered(tmp_path / "answers", classic, ["chest", "head"])
    table = tmp_path / "h.tsv"
    result = CliRunner().invoke(app, ["export", "headers", str(answers), "--out", str(table)])
    assert result.output.startswith("1 some in common: ")
    assert [row["verdict"] for row in read_tsv(table)] == ["part"]


@pytest.mark.parametrize(
    "uids",
    [["1.2.3"] * 20, [None] * 20, ["1.2.3"] * 10 + ["1.2.4"] * 10],
    ids=["one", "none", "two"],
)
def test_a_header_is_compared_where_images_share_their_uid_or_lack_one(tmp_path, write, uids):
    """As some anonymisers leave them; only what must refer to single images is not possible then."""
    more = {"BodyPartExamined": "HEAD", "SOPInstanceUID": lambda k: uids[k]}
    series = write.save(tmp_path / "series", write.images(body(), **more))
    answers = answered(tmp_path / "answers", series, ["abdomen"])
    result = CliRunner().invoke(
        app, ["export", "headers", str(answers), "--out", str(tmp_path / "h.tsv")]
    )
    assert result.exit_code == 0 and read_tsv(tmp_path / "h.tsv")[0]["verdict"] == "disagree"
    with pytest.raises(ModelError, match="export-no-uid"):
        originals_of(read_answers(answers)[0])
    shutil.rmtree(series)
    result = CliRunner().invoke(
        app, ["export", "headers", str(answers), "--out", str(tmp_path / "h.tsv")]
    )
    assert (
        result.exit_code == 3
        and read_tsv(tmp_path / "h.tsv")[0]["verdict"] == "source gone or changed"
    )


def test_the_table_of_headers_names_regions_from_the_feet_up(tmp_path, write):
    series = write.save(
        tmp_path / "series", write.images(body((40, 44, 12)), BodyPartExamined="CHESTABDPELVIS")
    )
    stored = read_answers(answered(tmp_path / "answers", series, ["pelvis", "abdomen"]))
    (row,) = read_tsv(write_headers(compare_headers(stored, DEFAULT), tmp_path / "h.tsv", DEFAULT))
    assert (row["meant"], row["predicted"], row["verdict"]) == (
        "pelvis+abdomen+chest",
        "pelvis+abdomen",
        "part",
    )


@pytest.mark.parametrize("verb", ["bids", "headers", "sr", "copies"])
def test_answers_are_not_told_in_the_words_of_another_vocabulary(tmp_path, classic, verb):
    (tmp_path / "own.yaml").write_text("regions:\n- {name: calf, rung: 0, colour: '#0072b2'}\n")
    answers = answered(tmp_path / "answers", classic, ["chest"])
    line = [
        "export",
        verb,
        str(answers),
        "--out",
        str(tmp_path / "out"),
        "--regions",
        str(tmp_path / "own.yaml"),
    ]
    done = CliRunner().invoke(app, line)
    assert done.exception.code == "answers-other-regions" and not (tmp_path / "out").exists()


@pytest.mark.parametrize(
    ("header", "verdict"),
    [
        ("CHEST", "agree"),
        ("THORAX", "agree"),
        ("CHESTABDOMEN", "part"),
        ("HEAD", "disagree"),
        ("SHOULDER", "header names no region"),
        ("ROUTINE", "header not understood"),
        ("", "header empty"),
        ("HEAD W CONTRAST", "disagree"),
        ("HEAD XYZ", "header not understood"),
        ("CHEST XYZ", "agree"),
        ("ABD_PEL", "disagree"),
        ("ABD PLVX", "header not understood"),
        ("ABD TH", "header not understood"),
        ("T_A_P", "part"),
        ("CHEST ABDOMEN PE", "part"),
    ],
)
def test_a_header_is_held_against_the_answer(tmp_path, write, header, verdict):
    series = write.save(
        tmp_path / "series", write.images(body((40, 44, 12)), BodyPartExamined=header)
    )
    (one,) = compare_headers(
        read_answers(answered(tmp_path / "answers", series, ["chest"])), DEFAULT
    )
    assert one.verdict == verdict


@pytest.mark.parametrize(
    ("header", "predicted", "verdict"),
    [
        ("LSPINE", ["abdomen", "spine"], "agree"),
        ("LSPINE", ["abdomen"], "disagree"),
        ("ABDOMEN", ["abdomen", "spine"], "part"),
    ],
)
def test_a_header_that_names_a_spine_says_nothing_of_what_it_crosses(
    tmp_path, write, header, predicted, verdict
):
    series = write.save(
        tmp_path / "series", write.images(body((40, 44, 12)), BodyPartExamined=header)
    )
    (one,) = compare_headers(
        read_answers(answered(tmp_path / "answers", series, ["abdomen"])), DEFAULT
    )
    assert replace(one, predicted_regions=frozenset(predicted)).verdict == verdict


def test_headers_that_cannot_be_asked_are_told_and_refusals_are_no_lack_of_dicom(
    tmp_path, classic, monkeypatch
):
    monkeypatch.chdir(tmp_path)
    answers = answered(tmp_path / "answers", classic.relative_to(tmp_path), ["head"])
    refused = make_refusal(
        "a",
        "a.dcm",
        VolumeError("volume-truncated", "a.dcm: the voxels end too early. Copy it again."),
    )
    write_json(
        answers / "a.json",
        {
            **answer_facts(refused, None, None, DEFAULT),
            "rows": table_rows(refused, None),
            "model": "m",
        },
    )
    with (answers / "spans.tsv").open("a") as file:
        file.write("a\ta.dcm\trefused\n")
    line = ["export", "headers", str(answers), "--out", str(tmp_path / "h.tsv")]
    here = CliRunner().invoke(app, line)
    assert here.exit_code == 0 and here.output.startswith("1 agree, 1 refused: ")
    monkeypatch.chdir(answers)
    elsewhere = CliRunner().invoke(app, line)
    assert elsewhere.exit_code == 3 and "1 source gone or changed" in elsewhere.output
    assert "the path is relative to the folder where predict ran" in elsewhere.output


def test_a_bids_image_keeps_its_entities_and_any_other_becomes_a_subject(tmp_path, write):
    series = write.save(tmp_path / "DICOM", write.images(body((40, 44, 12))))
    (answer,) = read_answers(answered(tmp_path / "answers", series, ["abdomen"], name="case 1"))
    named = replace(
        answer, volume_id="x", path=Path("data/sub-01/ses-b/anat/sub-01_ses-b_desc-raw_T1w.nii.gz")
    )
    written = write_bids([answer, named], DEFAULT, tmp_path / "bids")
    assert "FovnetSpans" in (tmp_path / "bids" / "README").read_text()
    (tmp_path / "bids" / "README").write_text("mine")
    write_bids([answer, named], DEFAULT, tmp_path / "bids")
    assert (tmp_path / "bids" / "README").read_text() == "mine"
    assert [path.relative_to(tmp_path / "bids").as_posix() for path in written] == [
        "dataset_description.json",
        "sub-case1/anat/sub-case1_desc-fovnet_MR.json",
        "sub-01/ses-b/anat/sub-01_ses-b_desc-fovnet_T1w.json",
    ]
    described, sidecar = (json.loads(path.read_text()) for path in written[:2])
    assert (
        described["DatasetType"] == "derivative" and described["GeneratedBy"][0]["Name"] == "fovnet"
    )
    assert sidecar["BodyPart"] == "ABDOMEN" and sidecar["FovnetSpans"][0]["region"] == "abdomen"


def is_hidden(pattern: str, name: str) -> bool:
    """Whether a line of .bidsignore without a slash hides a file or folder of this name from bids-validator 3,
    as npm's ignore 7.0.8 does: of the stars with text behind them all but the last take no character with
    which that text begins."""
    first, *parts = pattern.split("*")
    last = max((number for number, part in enumerate(parts) if part), default=0)
    regex = re.escape(first)
    for number, part in enumerate(parts):
        star = f"(?:(?!{re.escape(part[0])}).)*" if number < last else ".*"
        regex += star + re.escape(part)
    return re.fullmatch(regex, name, re.IGNORECASE) is not None


@pytest.mark.parametrize(
    ("pattern", "name", "hidden"),
    [  # as bids-validator-deno 3.0.2 answers
        ("*_desc-fovnet_*.json", "sub-01_desc-fovnet_T1w.json", True),
        ("*_desc-fovnet_*.json", "sub-01_ses-pre_desc-fovnet_T1w.json", False),
        ("*_desc-fovnet_*", "sub-01_ses-pre_desc-fovnet_T1w.json", True),
        ("*_desc-fovnet_", "sub-01_ses-pre_desc-fovnet_T1w.json", False),
        ("*desc*.json", "sub-01_ses-pre_desc-fovnet_T1w.json", True),
        ("a*b*c", "abbc", True),
        ("a*b*c", "axbbc", True),
        ("a*b*c", "axc", False),
        ("*_b.json", "x_a_b.json", True),
        ("*_b_*.json", "x_a_b_1.json", False),
    ],
)
def test_the_matcher_by_which_sidecars_are_judged_is_the_validators(pattern, name, hidden):
    assert is_hidden(pattern, name) == hidden


BIDS_ENTITIES = [
    "".join(f"_{entity}" for entity in entities)
    for count in range(4)
    for entities in combinations(("ses-pre", "task-rest", "acq-hi", "run-1", "echo-2"), count)
]


@pytest.mark.parametrize("entities", BIDS_ENTITIES)
def test_the_validator_of_bids_sees_no_sidecar_without_an_image(tmp_path, answer_by_name, entities):
    """Whatever entities an image has; the other lines of a .bidsignore stay."""
    path = Path(f"data/sub-01/func/sub-01{entities}_bold.nii.gz")
    (tmp_path / ".bidsignore").write_text("notes.txt\n")
    _, written = write_bids([replace(answer_by_name, path=path)], DEFAULT, tmp_path)
    lines = (tmp_path / ".bidsignore").read_text().splitlines()
    assert lines[0] == "notes.txt" and len(lines) == 2
    assert any(is_hidden(line, written.name) for line in lines)


def test_what_lies_in_bids_data_sets_is_named_by_a_uri_that_leads_back_to_it(tmp_path, classic):
    """BIDS 1.10, "BIDS URI": bids:<name>:<path within>, the name being a key of DatasetLinks, which are
    relative to the derivative."""
    (answer,) = read_answers(answered(tmp_path / "answers", classic, ["chest"]))
    images = [
        tmp_path / place / "sub-01" / "anat" / f"sub-01_{suffix}.nii.gz"
        for place, suffix in (("two words", "T1w"), ("b", "T2w"))
    ]
    for image in images:
        (image.parents[2] / "sub-01" / "anat").mkdir(parents=True)
        (image.parents[2] / "dataset_description.json").write_text("{}")
        image.touch()
    lonely = tmp_path / "elsewhere" / "sub-02_T1w.nii.gz"
    out = tmp_path / "two words" / "derivatives" / "fovnet"
    described, *sidecars = write_bids(
        [replace(answer, path=path) for path in (*images, lonely)], DEFAULT, out
    )
    links = json.loads(described.read_text())["DatasetLinks"]
    sources = [json.loads(path.read_text())["Sources"] for path in sidecars]
    assert sources[2] == ["sub-02_T1w.nii.gz"] and set(links) == {"raw", "raw2"}
    for image, (source,) in zip(images, sources, strict=False):
        scheme, name, within = source.split(":")
        assert (
            scheme == "bids" and (out / unquote(links[name]) / within).resolve() == image.resolve()
        )
    assert " " not in "".join(links.values())


def test_a_second_batch_in_a_derivative_leaves_the_sources_of_the_first_where_they_are(
    tmp_path, classic
):
    """And a data set linked before keeps its name; the way there counts from where a link to the derivative
    leads, in any letters."""
    (answer,) = read_answers(answered(tmp_path / "answers", classic, ["chest"]))
    images = [
        tmp_path / place / "sub-01" / f"sub-01_{suffix}.nii.gz"
        for place, suffix in (("b", "T1w"), ("a", "T2w"), ("b", "PDw"))
    ]
    for image in images:
        image.parent.mkdir(parents=True, exist_ok=True)
        (image.parents[1] / "dataset_description.json").write_text("{}")
    (tmp_path / "far" / "away").mkdir(parents=True)
    (tmp_path / "out").symlink_to(tmp_path / "far" / "away")
    sources = []
    for image in images:
        described, sidecar = write_bids([replace(answer, path=image)], DEFAULT, tmp_path / "out")
        sources += json.loads(sidecar.read_text())["Sources"]
    links = json.loads(described.read_text())["DatasetLinks"]
    assert links == {"raw": "../../b", "raw2": "../../a"}
    assert [source.split(":")[1] for source in sources] == ["raw", "raw2", "raw"]
    (tmp_path / os.fsdecode(b"M\xfcnchen")).mkdir()
    (tmp_path / os.fsdecode(b"M\xfcnchen") / "dataset_description.json").write_text("{}")
    described, _ = write_bids(
        [replace(answer, path=tmp_path / os.fsdecode(b"M\xfcnchen") / "x.nii")],
        DEFAULT,
        tmp_path / "latin",
    )
    assert json.loads(described.read_text())["DatasetLinks"] == {"raw": "../M%FCnchen"}


def test_a_file_without_a_bids_name_is_nobody_whom_bids_names(tmp_path, classic):
    (answer,) = read_answers(answered(tmp_path / "answers", classic, ["chest"]))
    named, other = (
        replace(answer, volume_id=name, path=Path(f"{name}.nii.gz"))
        for name in ("sub-01_T1w", "01")
    )
    _, one, two = write_bids([named, other], DEFAULT, tmp_path / "bids")
    assert one.name == "sub-01_desc-fovnet_T1w.json" and two.relative_to(tmp_path / "bids").parts[
        0
    ].startswith("sub-01")
    assert (
        one.relative_to(tmp_path / "bids").parts[0] != two.relative_to(tmp_path / "bids").parts[0]
    )


def test_a_sidecar_is_not_left_where_its_name_becomes_that_of_two(tmp_path, classic):
    (answer,) = read_answers(answered(tmp_path / "answers", classic, ["chest"]))
    one, other = (
        replace(answer, volume_id=name, path=Path(f"{name}/sub-01_T1w.nii")) for name in ("a", "b")
    )
    _, alone = write_bids([one], DEFAULT, tmp_path / "bids")
    _, *both = write_bids([one, other], DEFAULT, tmp_path / "bids")
    assert (
        sorted(path for path in (tmp_path / "bids").rglob("*_desc-fovnet_*.json")) == sorted(both)
        and alone not in both
    )
    write_bids(
        [replace(answer, volume_id="c", path=Path("sub-01_T1w.nii"))], DEFAULT, tmp_path / "bids"
    )
    write_bids([one, other], DEFAULT, tmp_path / "bids")
    assert alone.exists(), "a sidecar on another volume stays"


@pytest.mark.parametrize(
    ("path", "wanted"),
    [
        # one series of several in a folder
        ("sub-01_ses-1#0123456789ab", "sub-v/anat/sub-v_desc-fovnet_MR.json"),
        # a session is no suffix
        ("sub-01_ses-1", "sub-v/anat/sub-v_desc-fovnet_MR.json"),
        ("sub-01_acq-T1.nii.gz", "sub-v/anat/sub-v_desc-fovnet_MR.json"),
        ("sub-01_T1w.zip#0123456789ab", "sub-v/anat/sub-v_desc-fovnet_MR.json"),
        ("dwi/sub-01_acq-T1_dwi.nii.gz", "sub-01/dwi/sub-01_acq-T1_desc-fovnet_dwi.json"),
    ],
)
def test_what_bids_does_not_name_is_a_subject_of_its_own(tmp_path, classic, path, wanted):
    (answer,) = read_answers(answered(tmp_path / "answers", classic, ["chest"], name="v"))
    (_, written) = write_bids([replace(answer, path=Path(path))], DEFAULT, tmp_path / "bids")
    assert written.relative_to(tmp_path / "bids").as_posix() == wanted


def test_volumes_that_bids_would_call_alike_are_told_apart_and_none_is_lost(tmp_path, classic):
    """Two of one name in two folders, and names that differ by what BIDS has no letters for."""
    (answer,) = read_answers(answered(tmp_path / "answers", classic, ["chest"]))
    several = [
        replace(answer, volume_id=name, path=Path(path))
        for name, path in (
            ("scan_1", "a/scan_1.nii"),
            ("scan-1", "a/scan-1.nii"),
            ("t1", "a/sub-01_T1w.nii"),
            ("t1-2", "b/sub-01_T1w.nii"),
            ("x", "x.nii"),
        )
    ]
    _, *written = write_bids(several, DEFAULT, tmp_path / "bids")
    written_ids = [json.loads(path.read_text())["FovnetVolume"] for path in written]
    assert len(set(written)) == 5 and written_ids == [one.volume_id for one in several]
    assert written == write_bids(several, DEFAULT, tmp_path / "bids")[1:]
    assert all(re.fullmatch(r"sub-[A-Za-z0-9]+_desc-fovnet_MR.json", path.name) for path in written)


def test_what_was_not_answered_from_dicom_is_counted_and_the_rest_done(tmp_path, classic):
    nibabel.save(
        nibabel.Nifti1Image(
            np.random.default_rng(0).normal(100, 9, (20, 20, 9)), np.diag([2, 2, 5, 1.0])
        ),
        tmp_path / "v.nii",
    )
    answered(tmp_path / "answers", tmp_path / "v.nii", ["head"], name="nifti")
    rows = (tmp_path / "answers" / "spans.tsv").read_text()
    answered(tmp_path / "answers", classic, ["head"])
    with (tmp_path / "answers" / "spans.tsv").open("a") as file:
        file.write("".join(rows.splitlines(keepends=True)[1:]))
    result = CliRunner().invoke(
        app, ["export", "sr", str(tmp_path / "answers"), "--out", str(tmp_path / "sr")]
    )
    assert (
        result.exit_code == 3
        and result.output == f"1 of 2 volumes: {tmp_path / 'sr'} (1 not from DICOM)\n"
    )
    assert [path.name for path in (tmp_path / "sr").iterdir()] == ["volume.dcm"]
    missing = CliRunner().invoke(
        app, ["export", "sr", str(tmp_path), "--out", str(tmp_path / "sr")]
    )
    assert (
        isinstance(missing.exception, CollectionError)
        and missing.exception.code == "answers-missing"
    )


def test_answers_are_no_place_for_exports_and_paths_count_from_where_predict_ran(
    tmp_path, classic, monkeypatch
):
    monkeypatch.chdir(tmp_path)
    answers = answered(tmp_path / "answers", classic.relative_to(tmp_path), ["head"])
    for what in ("sr", "copies", "bids"):
        inside = (
            CliRunner().invoke(app, ["export", what, str(answers), "--out", str(answers)]).exception
        )
        assert isinstance(inside, ConfigError) and inside.code == "export-in-answers"
    monkeypatch.chdir(tmp_path / "answers")
    elsewhere = CliRunner().invoke(
        app, ["export", "sr", str(answers), "--out", str(tmp_path / "sr")]
    )
    assert elsewhere.exit_code == 3
    assert "the path is relative to the folder where predict ran" in elsewhere.output
    assert elsewhere.output.endswith("0 of 1 volume: nothing written (1 named above)\n")


def test_no_copy_of_a_nifti_is_promised_for_a_surer_answer(tmp_path):
    """Why there is none is that it is no DICOM, whatever the answer."""
    nibabel.save(
        nibabel.Nifti1Image(
            np.random.default_rng(0).normal(100, 9, (20, 20, 9)), np.diag([2, 2, 5, 1.0])
        ),
        tmp_path / "v.nii",
    )
    (answer,) = read_answers(answered(tmp_path / "answers", tmp_path / "v.nii", ["head"]))
    with pytest.raises(ModelError, match="export-no-images"):
        write_copies(replace(answer, status="uncertain"), DEFAULT, tmp_path / "copies")


@given(text(), text())
def test_uids_are_valid_and_tell_things_apart(one, other):
    uid = pydicom.uid.UID(uid_for(one))
    assert uid.is_valid and len(uid) <= 64
    assert (uid_for(one) == uid_for(other)) == (one == other)


def test_a_refused_volume_is_told_as_refused_and_not_as_no_dicom(tmp_path):
    refused = make_refusal(
        "a",
        "a.dcm",
        VolumeError("volume-truncated", "a.dcm: the voxels end too early. Copy it again."),
    )
    (tmp_path / "answers").mkdir()
    write_json(
        tmp_path / "answers" / "a.json",
        {
            **answer_facts(refused, None, None, DEFAULT),
            "rows": table_rows(refused, None),
            "model": "m",
        },
    )
    write_tsv(tmp_path / "answers" / "spans.tsv", SPANS_TABLE_COLUMNS, table_rows(refused, None))
    (answer,) = read_answers(tmp_path / "answers")
    for hand_on in (write_report, write_copies):
        with pytest.raises(ModelError) as fault:
            hand_on(answer, DEFAULT, tmp_path / "out")
        assert (
            fault.value.code == "export-refused"
            and "a was refused" in fault.value.sentence
            and "Copy it again" in fault.value.sentence
        )


def test_an_archive_that_was_moved_is_told_so(tmp_path, write, classic):
    archive = write.zipped(tmp_path / "study.zip", classic)
    (answer,) = read_answers(
        answered(
            tmp_path / "answers", address(archive, survey(archive).series[0].series_id), ["head"]
        )
    )
    archive.rename(tmp_path / "elsewhere.zip")
    with pytest.raises(VolumeError) as fault:
        write_report(answer, DEFAULT, tmp_path / "sr")
    assert (
        fault.value.code == "volume-missing"
        and "study.zip does not exist. If it was moved" in fault.value.sentence
    )


def test_a_table_of_headers_replaces_another_and_nothing_else(tmp_path):
    earlier, source = tmp_path / "headers.tsv", tmp_path / "source.dcm"
    source.write_bytes(b"somebody's image")
    assert (
        write_headers(compare_headers([], DEFAULT), write_headers([], earlier, DEFAULT), DEFAULT)
        == earlier
    )
    with pytest.raises(ConfigError, match="headers-other-file"):
        write_headers([], source, DEFAULT)
    assert source.read_bytes() == b"somebody's image"


def certainties(group):
    """The codes that a group has as Certainty of Finding (DCM 111012)."""
    found = group.get_qualitative_evaluations()
    return [one.value.value for one in found if one.name.value == "111012"]


class TestAnswersRegionByRegion:
    """What is surely shown is handed on as a finding, what may be shown as possible, what is not shown not
    at all."""

    @pytest.fixture
    def kidneys(self, tmp_path, classic):
        """An answer whose best guess is pelvis to chest."""
        (one,) = read_answers(
            answered(tmp_path / "answers", classic, ["pelvis", "abdomen", "chest"])
        )
        return one

    def test_statements_are_read_from_the_volumes_json(self, tmp_path, classic):
        barred = Rule(sigma_mm=0.0, yes_bar=0.9, no_bar=0.9)
        (one,) = read_answers(
            answered(tmp_path / "answers", classic, ["abdomen", "chest"], rule=barred)
        )
        assert [each.region for each in one.statements] == list(DEFAULT.classes[:-1])
        assert one.shown_regions == {"abdomen", "chest"} and one.are_extents_sure

    def test_a_report_measures_what_is_sure_and_marks_what_is_possible(self, tmp_path, kidneys):
        partly = said(kidneys, ["abdomen"], ["chest"])
        report = srread(write_report(partly, DEFAULT, tmp_path / "sr"))
        sure, possible = report.content.get_image_measurement_groups()
        assert sure.finding_type.meaning == "Abdomen" and not certainties(sure)
        span = next(one for one in kidneys.spans if one.region == "abdomen")
        measured = {each.name.value: float(each.value) for each in sure.get_measurements()}
        assert (measured[LOWER_END_CODE.value], measured[UPPER_END_CODE.value]) == pytest.approx(
            (span.from_mm, span.to_mm), abs=1e-3
        )
        assert (possible.finding_type.meaning, certainties(possible)) == ("Chest", ["371930009"])
        (chance,) = possible.get_measurements()
        assert (chance.name.value, float(chance.value)) == ("122157", 0.6)
        assert report.CompletionFlag == "PARTIAL" and report.SeriesDescription.endswith("(partly)")

    def test_a_report_is_complete_where_every_region_and_the_extents_are_sure(self, kidneys):
        whole = said(kidneys, ["pelvis", "abdomen", "chest"])
        assert build_report(whole, DEFAULT).CompletionFlag == "COMPLETE"
        doubted = build_report(replace(whole, are_extents_sure=False), DEFAULT)
        assert (
            doubted.CompletionFlag == "PARTIAL" and "(extents unsure)" in doubted.SeriesDescription
        )

    def test_a_report_of_a_volume_that_surely_shows_no_region_says_so(self, tmp_path, kidneys):
        made = tuple(Statement(region, "no", 0.01) for region in DEFAULT.classes[:-1])
        bare = replace(kidneys, spans=(), statements=made, status=volume_status(made))
        (group,) = srread(
            write_report(bare, DEFAULT, tmp_path)
        ).content.get_image_measurement_groups()
        assert group.get_qualitative_evaluations()[0].value.meaning == "None of the regions"

    @pytest.mark.parametrize("chance", [0.05, 0.3, 0.4978, 0.5, 0.69])
    @pytest.mark.parametrize(
        "regions", [["chest"], ["legs", "pelvis", "chest"], DEFAULT.classes[:-1]]
    )
    def test_every_unsure_region_is_a_possible_finding_with_or_without_a_span(
        self, tmp_path, kidneys, regions, chance
    ):
        """A chest of 0.4978 without a span was left out beside a pelvis of 0.40 with one."""
        answers = {one.region: one.answer for one in said(kidneys, ["abdomen"], regions).statements}
        made = tuple(Statement(region, each, chance) for region, each in answers.items())
        partly = replace(kidneys, statements=made, status=volume_status(made))
        groups = srread(
            write_report(partly, DEFAULT, tmp_path)
        ).content.get_image_measurement_groups()
        possible = [group.finding_type.meaning for group in groups if certainties(group)]
        unsure = [region for region, each in answers.items() if each == "unsure"]
        assert possible == [DEFAULT.concept(region).meaning for region in unsure]

    def test_other_statements_are_another_report(self, kidneys):
        ways = [said(kidneys, ["abdomen"], ["chest"]), said(kidneys, ["abdomen", "chest"]), kidneys]
        assert len({str(build_report(one, DEFAULT).SOPInstanceUID) for one in ways}) == 3

    def test_a_header_is_written_from_the_yes_alone_and_only_if_all_is_decided(
        self, tmp_path, kidneys
    ):
        assert (
            anatomy_of(said(kidneys, ["pelvis", "abdomen"]), DEFAULT).body_part == "ABDOMENPELVIS"
        )
        partly = said(kidneys, ["abdomen"], ["chest"])
        with pytest.raises(ModelError, match="only an answer with status ok"):
            write_copies(partly, DEFAULT, tmp_path / "copies")
        assert not (tmp_path / "copies").exists()

    @pytest.mark.parametrize(
        ("shown", "body_part"),
        [
            (["abdomen"], "ABDOMEN"),
            (["abdomen", "chest"], "CHESTABDOMEN"),
            (["abdomen", "spine"], None),
            (["pelvis", "abdomen", "chest"], "CHESTABDPELVIS"),
        ],
    )
    def test_heights_in_doubt_choose_no_term(self, kidneys, shown, body_part):
        spine = replace(max(kidneys.spans, key=lambda one: one.to_mm), region="spine")
        doubted = said(replace(kidneys, spans=(*kidneys.spans, spine)), shown, extents=False)
        if body_part:
            assert anatomy_of(doubted, DEFAULT).body_part == body_part
            return
        with pytest.raises(ModelError, match="heights in doubt") as fault:
            anatomy_of(doubted, DEFAULT)
        assert fault.value.code == "export-unsure"
        assert anatomy_of(replace(doubted, are_extents_sure=True), DEFAULT)

    def test_a_sidecar_names_a_body_part_only_if_all_is_decided(self, tmp_path, kidneys):
        for name, one in (
            ("sure", said(kidneys, ["abdomen"])),
            ("part", said(kidneys, ["abdomen"], ["chest"])),
        ):
            _, path = write_bids([one], DEFAULT, tmp_path / name)
            sidecar = json.loads(path.read_text())
            assert sidecar.get("BodyPart") == ("ABDOMEN" if name == "sure" else None)
            assert sidecar["FovnetAnswers"]["abdomen"] == {
                "answer": "yes",
                "probability": 0.97,
            }
            assert (
                sidecar["BodyPartDetails"].startswith("abdomen")
                and ";" not in sidecar["BodyPartDetails"]
            )
            assert len(sidecar["FovnetSpans"]) == 3 and sidecar["FovnetExtents"] == "sure"

    @pytest.mark.parametrize(
        ("header", "shown", "possible", "verdict"),
        [
            ("ABDOMEN", ["abdomen"], ["pelvis"], "agree"),
            ("ABDOMENPELVIS", ["abdomen"], ["pelvis"], "agree"),
            ("ABDOMEN", ["chest"], ["abdomen"], "no answer"),
            ("HEAD", ["chest"], ["abdomen"], "disagree"),
            ("HEAD", [], ["abdomen"], "disagree"),
            ("HEAD", [], ["head"], "no answer"),
            ("HEAD", [], [], "shows none"),
            ("CHESTABDOMEN", ["abdomen"], ["pelvis"], "part"),
            ("ABDOMEN", ["abdomen", "chest"], ["pelvis"], "part"),
            ("LSPINE", ["spine", "abdomen"], ["pelvis"], "agree"),
            ("LSPINE", ["abdomen"], ["spine"], "no answer"),
            ("LSPINE", ["abdomen"], ["pelvis"], "disagree"),
            ("", ["abdomen"], ["pelvis"], "header empty"),
            ("", [], ["pelvis"], "no answer"),
            ("SHOULDER", [], [], "shows none"),
        ],
    )
    def test_a_header_is_wrong_only_against_a_sure_answer(
        self, tmp_path, write, header, shown, possible, verdict
    ):
        series = write.save(
            tmp_path / "series", write.images(body((40, 44, 12)), BodyPartExamined=header)
        )
        (one,) = read_answers(answered(tmp_path / "answers", series, ["abdomen"]))
        (row,) = read_tsv(
            write_headers(
                compare_headers([said(one, shown, possible)], DEFAULT),
                tmp_path / "h.tsv",
                DEFAULT,
            )
        )
        assert (row["verdict"], row["shows"].split("+")) == (
            verdict,
            [name for name in DEFAULT.classes if name in shown] or [""],
        )


@given(
    st.sets(st.sampled_from(DEFAULT.classes[:-1]), min_size=1),
    st.lists(st.sampled_from(["yes", "no", "unsure"]), min_size=6, max_size=6),
)
def test_no_verdict_on_a_header_is_harder_than_the_truth_can_make_it(meant, answers):
    """Whatever the unsure regions turn out to be, a header that is surely right in part is never called
    wrong, and one called wrong is wrong in all of these cases."""
    hardness = {"agree": 0, "part": 1, "disagree": 2, "shows none": 2}
    regions, beside = DEFAULT.classes[:-1], frozenset(DEFAULT.side_regions)

    def verdict(words):
        made = tuple(Statement(*each, 0.5) for each in zip(regions, words, strict=True))
        spans = tuple(
            StoredSpan(one.region, 0.0, 9.0, 0, 2, 0.9) for one in made if one.answer == "yes"
        )
        stored = StoredAnswer(
            "v", Path("v"), volume_status(made), "", spans, 0.9, None, "m", "1", None, made
        )
        return HeaderComparison(
            stored, "TEXT", frozenset(meant), stored.shown_regions, side_regions=beside
        ).verdict

    ways = product(*(["yes", "no"] if one == "unsure" else [one] for one in answers))
    mildest = min(hardness[verdict(way)] for way in ways)
    found = verdict(answers)
    if found == "no answer":
        assert all(answers[regions.index(region)] == "unsure" for region in meant)
    else:
        assert hardness[found] == mildest
