"""What the report of a run tells of the parts of regions, beside what it tells of regions."""

from __future__ import annotations

from dataclasses import replace

import pytest

from fovnet.decision.rule import Rule
from fovnet.evaluate.evaluation import evaluate
from fovnet.evaluate.measures import Measure
from fovnet.evaluate.parts import PartEvaluation
from fovnet.maths.ladder import Height
from fovnet.regions import DEFAULT, LANDMARKS, NINE
from fovnet.report.content.cells import MeasuredText
from fovnet.report.content.performance import borders_table
from fovnet.report.content.reference import reference_of
from fovnet.report.content.run_record import ByRegion, RegionBar, by_region_in
from fovnet.report.content.search import rule_table
from fovnet.report.content.statement_rates import statements_view
from tests.report.test_statement_rates import told


def share(name: str, part: str, count: int, total: int) -> Measure:
    value = count / total if total else None
    return Measure(name, "", part, float(count), total, value, None, None, "not estimable", 3)


MEASURES = (
    share("statements_decided", "", 9, 12),
    share("statements_wrong", "", 1, 9),
    share("surely_found", "", 4, 6),
    share("statements_decided", "knee", 3, 4),
    share("yes_wrong", "knee", 0, 0),
    share("surely_found", "knee", 2, 3),
    share("border_within_10_mm", "parts", 5, 8),
    share("border_within_10_mm", "knee|thigh", 1, 2),
)
PARTS = PartEvaluation(NINE.parts, MEASURES, (), ())


@pytest.fixture(scope="module")
def evaluation(pictured):
    cases = [told(case) for case in pictured if len(case.z_mm)]
    return evaluate(cases, DEFAULT, bootstrap=20, seed=1)


@pytest.fixture(scope="module")
def divided(evaluation):
    return replace(evaluation, parts=PARTS)


def test_rows_of_parts_follow_those_of_the_regions_which_stay(evaluation, divided):
    regions = statements_view(evaluation, None).table
    table = statements_view(divided, None).table
    assert table.rows[: len(regions.rows)] == regions.rows
    row_by_title = {row[0]: row for row in table.rows[len(regions.rows) :]}
    assert [*row_by_title] == [
        "all parts",
        *(f"{region}: {part}" for region, parts in NINE.parts.items() for part in parts),
    ]
    knee = row_by_title["legs: knee"]
    assert knee[1] == "3" and knee[2].count == "3/4" and knee[3].count == "none"
    assert [*table.colours][-2:] == [NINE.colour("neck"), NINE.colour("skull")]


def test_a_sentence_counts_the_statements_on_parts(evaluation, divided):
    before = statements_view(evaluation, None).sentence
    sentence = statements_view(divided, None).sentence
    assert sentence.startswith(before) and not before.endswith(" ")
    assert sentence[len(before) :] == (
        " Of 12 statements on whether a part is shown, 9 are decided (75.0\N{NO-BREAK SPACE}%), and "
        "of these 1 is wrong (11.1\N{NO-BREAK SPACE}%, interval not estimable); 4 of 6 parts shown "
        "are surely found."
    )


def test_what_was_promised_of_parts_follows_what_was_of_regions(evaluation, divided):
    bars = ByRegion(0.02, RegionBar(0.95, True, 80, 210), RegionBar(0.8, False, 90, 300))
    of_regions = statements_view(evaluation, bars, bars).promises
    assert statements_view(divided, bars, None).promises == of_regions
    sentences = statements_view(divided, bars, bars).promises.removeprefix(of_regions)
    assert sentences.startswith(" Of parts: “Yes” is the answer from a probability of 0.95")
    facts = {"min_confidence": 0.8, "promised": False, "subjects": 9, "statements": 20}
    tuning = {"statements": {}, "parts": {"stated_error": 0.02, "yes": facts, "no": facts}}
    assert by_region_in(tuning, "parts").no == RegionBar(0.8, False, 9, 20)
    assert by_region_in({"parts": {"stated_error": 0.02, "volumes": {}}}, "parts") is None


def test_borders_between_parts_follow_the_others(evaluation, divided):
    regions = borders_table(evaluation)
    table = borders_table(divided)
    assert table.header == regions.header and table.rows[: len(regions.rows)] == regions.rows
    row_by_title = {row[0]: row for row in table.rows[len(regions.rows) :]}
    assert [*row_by_title] == [
        *("all between two parts", "foot | lower leg", "lower leg | knee", "knee | thigh"),
        "neck | skull",
    ]
    counts = [cell.count for cell in row_by_title["knee | thigh"] if isinstance(cell, MeasuredText)]
    assert "1/2" in counts


def test_their_landmarks_are_told_with_those_of_regions():
    chapter = reference_of(DEFAULT, {}, parts_by_region=NINE.parts)
    assert ("knee | thigh", LANDMARKS["knee", "thigh"]) in chapter.landmarks.rows
    assert ("chest | head", LANDMARKS["chest", "head"]) in chapter.landmarks.rows
    assert any("legs into foot, lower leg, knee and thigh" in text for text in chapter.paragraphs)
    assert len(reference_of(DEFAULT, {}).paragraphs) == len(chapter.paragraphs) - 1


def test_the_rules_of_parts_stand_beside_that_of_regions():
    rule = Rule(yes_bar=0.9)
    part_rules = {"legs": Rule(yes_bar=0.95), "head": Rule(heights=(Height(130.0, 10.0), None))}
    table = rule_table(rule, DEFAULT, part_rules)
    assert table.header[2:] == ("value", "parts of legs", "parts of head")
    assert [row[:3] for row in table.rows] == [*rule_table(rule, DEFAULT).rows]
    cells_by_setting = {row[0]: row[2:] for row in table.rows}
    assert cells_by_setting["yes bar"][:2] == ("0.9", "0.95")
    assert cells_by_setting["heights"][2] == "neck 130 ± 10 mm"
