"""What exports and readers of answers make of the parts of regions."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from itertools import product
from pathlib import Path
from typing import Any

import pydicom
import pytest
from highdicom.sr import srread
from typer.testing import CliRunner

from fovnet.cli import app
from fovnet.decision.answers_table import TableRows, answer_row
from fovnet.decision.rule import Rule
from fovnet.evaluate.answers import read_answer_facts
from fovnet.evaluate.reading import read_case_fields
from fovnet.label.starts import gather_items
from fovnet.node.places import Places
from fovnet.node.table import UID_COLUMNS, AnswersTable, read_counted_answers
from fovnet.records import read_json, read_tsv, write_json
from fovnet.regions import DEFAULT, NINE, WHOLE_BY_PART
from fovnet.report.exports.anatomy import anatomy_of
from fovnet.report.exports.answers import StoredAnswer, read_answers
from fovnet.report.exports.bids import sidecar_facts
from fovnet.report.exports.copies import write_copies
from fovnet.report.exports.headers import compare_headers, compare_with_text, write_headers
from fovnet.report.exports.structured import write_report
from fovnet.report.pages.answers_folder import find_failures
from fovnet.report.pages.index_page import make_index_page
from fovnet.watch.drift import count_kinds
from tests.report.exported import answered, body, said_in_parts

BARRED = Rule(sigma_mm=0.0, yes_bar=0.9, no_bar=0.9)
HEADERS = ["KNEE", "LEG", "LOWERLIMB", "FOOT", "HEAD", "NECK", "HEADNECK", "BRAIN", "PELVIS", "ARM"]


@pytest.fixture(scope="module")
def series(tmp_path_factory, write) -> Path:
    """15 axial images, 4 mm apart, whose header says HEAD."""
    folder = tmp_path_factory.mktemp("parts")
    images = write.images(body((20, 22, 15)), BodyPartExamined="HEAD")
    return write.save(folder / "series", images)


@pytest.fixture(scope="module")
def answer(tmp_path_factory, series) -> StoredAnswer:
    (stored,) = read_answers(answered(tmp_path_factory.mktemp("answers"), series, ["chest"]))
    return stored


@pytest.mark.parametrize(
    ("shown", "possible", "body_part", "named"),
    [
        (["foot"], [], "FOOT", ["foot"]),
        (["lower leg"], [], "LEG", ["lower leg"]),
        (["knee"], [], "KNEE", ["knee"]),
        (["thigh"], [], "THIGH", ["thigh"]),
        (["neck"], [], "NECK", ["neck"]),
        (["skull"], [], "HEAD", ["skull"]),
        (["neck", "skull"], [], "HEADNECK", ["neck", "skull"]),
        (["chest", "neck"], [], "NECKCHEST", ["chest", "neck"]),
        (["foot", "lower leg", "knee", "thigh"], [], "LOWERLIMB", NINE.parts["legs"]),
        (["lower leg", "knee", "thigh"], [], "LOWERLIMB", ["lower leg", "knee", "thigh"]),
        (["thigh", "pelvis"], [], "PELVISLOWEXTREMT", ["thigh", "pelvis"]),
        (["chest", "neck", "skull"], [], "", ["chest", "neck", "skull"]),
        (["knee"], ["thigh"], "LOWERLIMB", ["legs"]),
        (["skull"], ["neck"], "HEAD", ["head"]),
        (["knee", "thigh", "pelvis"], ["lower leg"], "PELVISLOWEXTREMT", ["legs", "pelvis"]),
        ([*NINE.chain], [], "WHOLEBODY", NINE.chain),
    ],
)
def test_the_finest_parts_that_are_sure_are_named(
    answer, tmp_path, shown, possible, body_part, named
):
    """In a copy, whose header then agrees with the answer, in a report, and in a sidecar."""
    stored = said_in_parts(answer, shown, possible)
    assert [span.region for span in stored.finest_spans] == list(named)
    anatomy = anatomy_of(stored, DEFAULT)
    terms = {term.sct for term in anatomy.concepts}
    common_term = NINE.term(named) or DEFAULT.term(named)
    singles = {(NINE if name in NINE.chain else DEFAULT).region(name).sct for name in named}
    assert terms == ({common_term.sct} if common_term else singles)
    copies = [pydicom.dcmread(path) for path in write_copies(stored, DEFAULT, tmp_path / "copies")]
    assert {str(copy.BodyPartExamined or "") for copy in copies} == {body_part}
    images = replace(stored.images, uids=tuple(str(copy.SOPInstanceUID) for copy in copies))
    copied = replace(stored, path=tmp_path / "copies" / "volume", images=images)
    (comparison,) = compare_headers([copied], DEFAULT)
    assert comparison.verdict == "agree"
    report = srread(write_report(stored, DEFAULT, tmp_path / "sr"))
    groups = report.content.get_image_measurement_groups()
    assert {group.finding_type.value for group in groups} == singles
    assert len(groups) == len(named)
    sidecar = sidecar_facts(stored, DEFAULT, {})
    assert sidecar.get("BodyPart", "") == body_part
    details = sidecar["BodyPartDetails"].split("; ")
    assert [text.partition(" ")[0] for text in details] == [name.split()[0] for name in named]
    assert sidecar["FovnetAnswers"]["knee"]["answer"] == (
        "yes" if "knee" in shown else "unsure" if "knee" in possible else "no"
    )


@pytest.mark.parametrize(
    ("header", "shown", "possible", "verdict", "level", "meant"),
    [
        ("KNEE", ["knee"], [], "agree", "part", "knee"),
        ("KNEE", ["lower leg", "knee"], [], "part", "part", "knee"),
        ("KNEE", ["thigh"], [], "disagree", "part", "knee"),
        ("KNEE", ["thigh"], ["knee"], "no answer", "part", "knee"),
        ("ANKLE", ["foot"], [], "agree", "part", "foot"),
        ("FOOT", ["thigh", "pelvis"], [], "disagree", "part", "foot"),
        ("Oberschenkel", ["thigh"], [], "agree", "part", "thigh"),
        ("LEG", ["lower leg"], [], "agree", "part", "lower leg"),
        ("LEG", ["thigh"], [], "agree", "region", "legs"),
        ("LEG", ["pelvis"], [], "disagree", "region", "legs"),
        ("LOWERLIMB", ["knee"], [], "agree", "region", "legs"),
        ("HEAD", ["skull"], [], "agree", "part", "skull"),
        ("HEAD", ["neck", "skull"], [], "agree", "region", "head"),
        ("HEAD", ["neck"], [], "agree", "region", "head"),
        ("HEAD", ["chest"], [], "disagree", "region", "head"),
        ("BRAIN", ["neck"], [], "disagree", "part", "skull"),
        ("NECK", ["neck", "skull"], [], "part", "part", "neck"),
        ("HEADNECK", ["neck", "skull"], [], "agree", "region", "head"),
        ("NECKCHEST", ["chest", "neck"], [], "agree", "part", "chest+neck"),
        ("CHEST", ["chest", "neck"], [], "part", "region", "chest"),
        ("SHOULDER", ["chest"], [], "header names no region", "region", ""),
        ("NEUT", ["knee"], [], "header not understood", "region", ""),
    ],
)
def test_a_header_that_names_a_part_is_held_against_parts(
    answer, tmp_path, header, shown, possible, verdict, level, meant
):
    stored = said_in_parts(answer, shown, possible)
    comparison = compare_with_text(stored, header, DEFAULT)
    (row,) = read_tsv(write_headers([comparison], tmp_path / "headers.tsv", DEFAULT))
    assert (row["verdict"], row["level"], row["meant"]) == (verdict, level, meant)
    assert list(row)[-1] == "level"


@pytest.mark.parametrize(
    ("code", "shown", "verdict", "level"),
    [
        ("72696002", ["knee"], "agree", "part"),
        ("72696002", ["thigh"], "disagree", "part"),
        ("30021000", ["thigh"], "disagree", "part"),
        ("61685007", ["thigh"], "agree", "region"),
        ("69536005", ["neck", "skull"], "agree", "region"),
        ("69536005", ["neck"], "agree", "region"),
        ("774007", ["neck", "skull"], "agree", "region"),
    ],
)
def test_a_code_of_a_part_is_held_against_parts(
    answer, tmp_path, write, code, shown, verdict, level
):
    item = pydicom.Dataset()
    item.CodeValue = code
    images = write.images(body((20, 22, 15)), AnatomicRegionSequence=[item])
    source = write.save(tmp_path / "series", images)
    (coded,) = read_answers(answered(tmp_path / "answers", source, ["chest"]))
    (comparison,) = compare_headers([said_in_parts(coded, shown)], DEFAULT)
    assert (comparison.verdict, comparison.level) == (verdict, level)


def test_a_part_that_may_be_shown_beside_those_that_fill_a_region_is_no_group(answer, tmp_path):
    """All regions are decided, and the report is complete."""
    stored = said_in_parts(answer, ["thigh"])
    unsure = [
        replace(part, answer="unsure") if part.region == "knee" else part for part in stored.parts
    ]
    report = srread(write_report(replace(stored, parts=tuple(unsure)), DEFAULT, tmp_path))
    (group,) = report.content.get_image_measurement_groups()
    assert group.finding_type.value == NINE.region("thigh").sct
    assert report.CompletionFlag == "COMPLETE"


def test_a_side_stays_where_the_header_named_the_part(tmp_path, write):
    """A foot is in no region without parts, and its header then loses its side."""
    images = write.images(body((20, 22, 15)), BodyPartExamined="FOOT", Laterality="L")
    source = write.save(tmp_path / "series", images)
    (stored,) = read_answers(answered(tmp_path / "answers", source, ["chest"]))
    for shown, side in ((["foot"], "L"), (["thigh"], "")):
        path = write_copies(said_in_parts(stored, shown), DEFAULT, tmp_path / shown[0])[0]
        assert pydicom.dcmread(path).Laterality == side


@pytest.mark.parametrize("names", [["lower leg", "knee", "thigh"], ["chest", "neck", "skull"]])
def test_parts_are_read_from_the_volumes_json(tmp_path, series, names):
    (stored,) = read_answers(
        answered(tmp_path, series, names, rule=BARRED, vocabulary=NINE), DEFAULT
    )
    assert [span.region for span in stored.finest_spans] == names
    assert [part.region for part in stored.parts] == list(NINE.part_names)
    assert [part.region for part in stored.parts if part.answer == "yes"] == [
        name for name in names if name in WHOLE_BY_PART
    ]


@pytest.mark.parametrize("verb", ["sr", "copies", "bids", "headers"])
def test_exports_take_the_regions_that_the_networks_were_trained_with(tmp_path, series, verb):
    """Networks of nine classes answer on the wholes, and are told by either name."""
    names = ["chest", "neck", "skull"]
    answers = answered(tmp_path / "answers", series, names, rule=BARRED, vocabulary=NINE)
    exports = []
    for regions in ("default", "nine"):
        out = tmp_path / regions / "out"
        command = ["export", verb, str(answers), "--out", str(out), "--regions", regions]
        assert CliRunner().invoke(app, command).exit_code == 0
        exports.append(sorted(path.relative_to(out) for path in out.rglob("*")) or out.read_bytes())
    assert exports[0] == exports[1]


def regions_by_reader(folder: Path) -> Iterator[tuple[str, Any]]:
    """What each reader of answers takes for the regions of a volume: its name, and that."""
    facts = read_answer_facts(folder)
    (stored,) = read_answers(folder, DEFAULT)
    rows = TableRows.from_facts(read_json(folder / "volume.json"))
    yield "exports", (stored.spans, stored.statements, stored.shown_regions)
    yield "rows", [row["volume_id"] for row in facts]
    case_fields = [read_case_fields(row) for row in facts]
    yield "evaluation", [(fields["spans"], fields["statements"]) for fields in case_fields]
    yield "labels", [item.prediction.extents for item in gather_items([folder], DEFAULT)]
    index = make_index_page([rows], folder, DEFAULT)
    yield "index", (index.rows, index.regions.rows)
    yield "cells", rows.statements(DEFAULT.classes[:-1])
    yield "failures", find_failures(read_tsv(folder / "spans.tsv"), [])
    counted_answers = read_counted_answers(folder / "answers.tsv")
    yield "drift", count_kinds(counted_answers)
    yield "journal", (tally_of_node(folder, rows), stored.sure_confidence(stored.spans[0]))
    for header in ("PELVIS", "LOWERLIMB", "HEADNECK"):
        yield header, compare_with_text(stored, header, DEFAULT).verdict


def tally_of_node(folder: Path, rows: TableRows) -> dict[tuple[str, str], int]:
    """What a node counts by region, whose table has the parts that the answer has."""
    facts = read_json(folder / "volume.json")
    places = Places(folder / "node")
    places.answers.mkdir(parents=True)
    write_json(places.answers / "ab-1.json", {**facts, "volume_id": "ab-1"})
    record = {"study_uid": "1.2", "series_uid": "1.3", "volumes": [{"volume_id": "ab-1"}]}
    write_json(places.answer_record_path("ab"), record)
    parts = [part["region"] for part in facts.get("parts", ())]
    table = AnswersTable(places, DEFAULT.classes[:-1], parts)
    table.mend()
    (row,) = read_tsv(table.path)
    assert list(row)[-2:] == [*UID_COLUMNS]
    cell_by_column = answer_row(facts)
    assert all(row[part] == cell_by_column[part] for part in parts)
    again = AnswersTable(places, DEFAULT.classes[:-1], parts)
    again.mend()
    assert again.tally.recent() == read_counted_answers(table.path) == table.tally.recent()
    count_by_answer = table.tally.by_region()
    return {pair: count for pair, count in count_by_answer.items() if pair[0] not in parts}


@pytest.mark.parametrize(
    ("names", "certainty"),
    [*product((["lower leg", "knee", "thigh", "pelvis"], ["chest", "neck", "skull"]), (1.0, 0.6))],
)
def test_every_reader_of_regions_passes_over_parts(tmp_path, series, names, certainty):
    """Tables and JSON of answers with parts and without them give the same regions."""
    options = {"rule": BARRED, "vocabulary": NINE, "certainty": certainty}
    bare = answered(tmp_path / "without", series, names, with_parts=False, **options)
    divided = answered(tmp_path / "with", series, names, **options)
    assert len(read_tsv(divided / "spans.tsv")) >= len(read_tsv(bare / "spans.tsv"))
    for reader, reader_without in zip(
        regions_by_reader(divided), regions_by_reader(bare), strict=True
    ):
        assert reader == reader_without
