"""One best guess per volume, said the same in tables, JSON, list and page; no confidence beside what is
unsure.

A cut-out of the neck, too small to trust, stood first in the list with "Perhaps shows spine" and confidence
0.99, while its table had a head and a spine.
"""

from __future__ import annotations

import json
import re
from dataclasses import replace
from typing import Any, NamedTuple

import numpy as np
import pytest

from fovnet.decision.answer import Answer, answer_facts, make_answer, table_rows
from fovnet.decision.answers_table import TableRows, answer_columns
from fovnet.decision.chain.spans import decide_volume
from fovnet.decision.checks import noisy_air, too_dark, too_small, unlike_training
from fovnet.decision.checks.unlike_training import Novelty
from fovnet.decision.dark_slices import HiddenRegion
from fovnet.decision.doubts import Signs
from fovnet.decision.rule import Rule
from fovnet.decision.statements import NO, YES, best_guess, is_guess_sure
from fovnet.evaluate.stored_answers import spans_in
from fovnet.records import as_json_type
from fovnet.regions import DEFAULT
from fovnet.report.exports.answers import StoredAnswer, answer_from_facts
from fovnet.report.exports.bids import sidecar_facts
from fovnet.report.pages.index_page import IndexPage, IndexRow, make_index_page, script_data
from fovnet.report.pages.volume_page import VolumePage, make_volume_page
from tests.decision.measured import stack_of

REGIONS = DEFAULT.classes[:-1]
RULE = Rule(yes_bar=0.8, no_bar=0.8, least_novelty=0.05, least_extent_mm=300.0)
BY_VOLUME = replace(RULE, yes_bar=0.0, no_bar=0.0)  # as tuned by an earlier fovnet: no statements
SIGNS: dict[str, dict[str, Any]] = {
    "none": {},
    "small": {too_small.CHECK.code: 60.0},
    "noisy": {noisy_air.CHECK.code: True},
    "unlike": {unlike_training.CHECK.code: Novelty(0.01, np.full(9, 0.01))},
    "dark": {too_dark.CHECK.code: HiddenRegion("head", 40.0)},
}
PIXELS = np.random.default_rng(1).integers(0, 200, (9, 128, 128), dtype=np.uint8)


class Told(NamedTuple):
    """An answer, and all that is told of it."""

    answer: Answer
    body: dict[str, Any]
    cells: dict[str, Any]
    index: IndexPage
    page: VolumePage
    stored: StoredAnswer

    @property
    def row(self) -> IndexRow:
        return self.index.rows[0]


def told(probabilities: np.ndarray, signs: str, rule: Rule, folder) -> Told:
    stack = stack_of(PIXELS)
    decision = decide_volume(probabilities, stack.z_mm, DEFAULT, rule)
    given = make_answer("neck", "neck.nii", decision, Signs(SIGNS[signs]), rule, DEFAULT)
    body = answer_facts(given, stack, probabilities, DEFAULT) | {
        "rows": table_rows(given, stack),
        "model": "m",
        "fovnet": {"version": "0"},
    }
    body = json.loads(json.dumps(body, default=as_json_type))
    rows = TableRows.from_line(TableRows.from_facts(body).line)
    cells = dict(zip(answer_columns(REGIONS), rows.answer, strict=False))
    page = make_volume_page(body, PIXELS, DEFAULT)
    return Told(
        given, body, cells, make_index_page([rows], folder, DEFAULT), page, answer_from_facts(body)
    )


def drawn(seed: int) -> np.ndarray:
    """(9, k) of a random volume: some clear, some torn, some of air, some with a spine beside."""
    rng = np.random.default_rng(seed)
    k = len(DEFAULT.classes)
    p = rng.dirichlet(np.full(k, rng.choice([0.02, 0.2, 1.0])), size=int(rng.choice([1, 3, 9])))
    p = np.repeat(p, -(-9 // len(p)), axis=0)[:9] + 1e-4
    if rng.random() < 0.3:
        p[:, REGIONS.index("spine")] += 4 * rng.random()
    if seed % 4 == 3:
        p[:, -1] += 30 * rng.random()
    return p / p.sum(axis=1, keepdims=True)


CASES = [
    pytest.param(seed, signs, rule, id=f"{seed}-{signs}-{'regions' if rule is RULE else 'volume'}")
    for seed in range(12)
    for signs in SIGNS
    for rule in (RULE, BY_VOLUME)
]


@pytest.mark.parametrize(("seed", "signs", "rule"), CASES)
def test_every_surface_has_the_best_guess_of_the_table_and_no_confidence_beside_what_is_unsure(
    seed, signs, rule, tmp_path
):
    one = told(drawn(seed), signs, rule, tmp_path)
    statements = one.answer.statements
    absent = {said.region for said in statements if said.answer == NO}
    guess = {row["region"] for row in one.body["rows"] if row.get("region")} - absent

    assert {span.label for span in one.page.drawing.spans} - absent == guess
    assert named(one.row.sentence) == guess
    if statements:
        assert one.page.sentence == one.row.sentence
        assert set(best_guess(statements)) == guess
        for chips in (one.row.chips, one.page.chips):
            assert {chip.region for chip in chips if chip.is_guess} == guess
        marks = script_data(one.index)["rows"][0][5].split()
        assert {REGIONS[at] for at, mark in enumerate(marks[:-1]) if mark[0] in "yg"} == guess

    sure = {said.region for said in statements if said.is_sure}
    if not statements and one.answer.status == "ok":
        sure = guess
    decision = one.answer.decision
    is_sure = guess <= sure if guess else one.answer.status == "ok"
    assert is_guess_sure(statements, one.answer.status) == is_sure or not statements
    wanted = decision.volume_confidence if is_sure else None
    for confidence in (
        one.body["rows"][0]["volume_confidence"],
        one.cells["volume_confidence"],
        one.row.confidence,
        one.stored.confidence,
        sidecar_facts(one.stored, DEFAULT, {})["FovnetConfidence"],
    ):
        assert confidence == wanted
    for row, span in zip(one.body["rows"], decision.spans, strict=bool(decision.spans)):
        assert row["confidence"] == (span.confidence if span.region in sure else None)
    for cells, span in zip(one.page.spans.rows, decision.spans, strict=True):
        assert (cells[-1] == "–") == (span.region not in sure)
    for words, confidence in zip(
        one.page.viewer.predicted_texts, one.page.viewer.confidences, strict=True
    ):
        assert confidence is None or named(words) <= sure
    assert is_sure or "confidence" not in one.page.sentence


def named(words: str) -> set[str]:
    return {region for region in REGIONS if re.search(rf"\b{region}\b", words)}


@pytest.mark.parametrize("seed", range(6))
def test_an_uncertain_answer_keeps_its_measured_confidence_for_those_who_evaluate_it(
    seed, tmp_path
):
    """In the JSON: risk and coverage are counted over all volumes, unsure ones too."""
    one = told(drawn(seed), "noisy", RULE, tmp_path)
    assert one.answer.status == "uncertain" and one.cells["volume_confidence"] is None
    assert one.body["confidence"] == one.answer.decision.volume_confidence
    kept = [span.confidence for span in spans_in(one.body["spans"])]
    assert kept == [span.confidence for span in one.answer.decision.spans]


def test_the_kinds_of_answer_are_all_there(tmp_path):
    """The law above is about something: sure and unsure guesses, spans and none, every status."""
    answers = [
        told(drawn(seed), signs, RULE, tmp_path).answer for seed in range(12) for signs in SIGNS
    ]
    assert {one.status for one in answers} == {"ok", "partly", "uncertain"}
    kinds = {(one.stated_confidence is None, bool(one.decision.spans)) for one in answers}
    assert len(kinds) == 4
    partly = [one for one in answers if one.status == "partly"]
    assert any(one.stated_confidence is not None for one in partly), (
        "what is unsure is not in the guess"
    )
    assert any({said.answer for said in one.statements} >= {YES, NO} for one in partly)


def test_the_least_sure_come_first_among_equals(tmp_path):
    """By their statements where no confidence is told, and those before the others of their status."""
    order = ["torn", "leaning", "told"]
    volumes = []
    for name, chance, confidence in zip(order, (0.55, 0.9, 0.95), (None, None, 0.6), strict=True):
        row = {
            "volume_id": name,
            "path": "",
            "status": "partly",
            "region": "head",
            "confidence": None,
            "message": "",
            "volume_confidence": confidence,
        }
        statement = {
            "region": "head",
            "answer": "unsure" if confidence is None else "yes",
            "doubts": [],
        }
        end = {"mm": 0.0, "low_mm": None, "high_mm": None}
        statement |= {"probability": chance, "lower": end, "upper": end | {"mm": 90.0}}
        volumes.append(TableRows.from_facts({**row, "rows": [row], "statements": [statement]}))
    page = make_index_page(reversed(volumes), tmp_path, DEFAULT)
    assert [row.volume_id for row in page.rows] == order
