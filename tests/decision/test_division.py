"""Regions divided into their parts: nothing that is said of regions depends on the parts, and parts
never contradict their region."""

from __future__ import annotations

from dataclasses import replace
from itertools import pairwise

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis.strategies import integers
from numpy.typing import NDArray

from fovnet.decision.answer import PART_LEVEL, REGION_LEVEL, answer_facts, span_columns, table_rows
from fovnet.decision.answers_table import TableRows, answer_columns
from fovnet.decision.fitting.part_rules import fit_part_rules
from fovnet.decision.fitting.thresholds import LabelledVolume
from fovnet.decision.judge import Judge, MemberOutputs
from fovnet.decision.rule import Rule
from fovnet.decision.statements import NO, UNSURE, YES
from fovnet.regions import DEFAULT, NINE, WHOLE_BY_PART
from tests.decision.measured import stack_of

STEP_MM = 8.0
RULE = Rule(sigma_mm=0.0, yes_bar=0.9, no_bar=0.9, usual_misfit=10.0, usual_roughness=0.99)
PART_RULES = dict.fromkeys(NINE.parts, RULE)
JUDGE = Judge(DEFAULT, RULE)
JUDGE_OF_PARTS = Judge(DEFAULT, RULE, network_vocabulary=NINE, part_rules=PART_RULES)


def outputs_on(names: list[str], seed: int = 0, certainty: float = 0.9) -> MemberOutputs:
    """What three members say of slices that show these classes of NINE."""
    rng = np.random.default_rng(seed)
    shares = rng.dirichlet(np.full(len(NINE.classes), 0.3), size=(3, len(names)))
    shares *= 1.0 - certainty
    for row, name in enumerate(names):
        shares[:, row, NINE.classes.index(name)] += certainty
    return MemberOutputs.of_classes(shares.astype(np.float32), NINE)


def stack_with(count: int):
    """Slices that change slowly from feet to head."""
    ramp = np.linspace(0, 3, count)[:, None, None]
    wave = np.sin(np.arange(128) / 20 + ramp) + np.cos(np.arange(128)[:, None] / 15 + ramp)
    return stack_of((120 + 50 * wave).clip(0, 255).astype(np.uint8), STEP_MM * np.arange(count))


def answer_on(names: list[str], judge: Judge = JUDGE_OF_PARTS, **options):
    return judge.answer("a", "a.nii", outputs_on(names, **options), stack_with(len(names)))


LEG = ["foot"] * 3 + ["lower leg"] * 8 + ["knee"] * 4 + ["thigh"] * 9
BODY = [*LEG, *["pelvis"] * 8, *["abdomen"] * 9, *["chest"] * 9, *["neck"] * 4, *["skull"] * 6]


def parts_by_answer(answer) -> dict[str, list[str]]:
    parts: dict[str, list[str]] = {YES: [], NO: [], UNSURE: []}
    for division in answer.divisions:
        for statement in division.statements:
            parts[statement.answer].append(statement.region)
    return parts


@settings(max_examples=25, deadline=None)
@given(seed=integers(0, 10**6), certainty=integers(0, 9))
def test_nothing_said_of_regions_depends_on_their_parts(seed: int, certainty: int) -> None:
    outputs = outputs_on(BODY, seed, certainty / 10)
    stack = stack_with(len(BODY))
    with_parts = JUDGE_OF_PARTS.answer("a", "a.nii", outputs, stack)
    without = JUDGE.answer("a", "a.nii", replace(outputs, part_probabilities=None), stack)
    raw = JUDGE.mean_probabilities(outputs)
    facts, plain_facts = (answer_facts(one, stack, raw, DEFAULT) for one in (with_parts, without))
    assert {name: str(facts[name]) for name in plain_facts} == {
        name: str(value) for name, value in plain_facts.items()
    }
    rows = [row for row in table_rows(with_parts, stack) if row["level"] == REGION_LEVEL]
    assert [{**row, "level": ""} for row in table_rows(without, stack)] == [
        {**row, "level": ""} for row in rows
    ]


@settings(max_examples=25, deadline=None)
@given(seed=integers(0, 10**6), certainty=integers(0, 9))
def test_parts_never_contradict_their_region(seed: int, certainty: int) -> None:
    """They cover its span without a gap, each once, feet to head; of what is not shown no part is."""
    answer = answer_on(BODY, seed=seed, certainty=certainty / 10)
    statement_by_region = {statement.region: statement for statement in answer.statements}
    for division in answer.divisions:
        region = statement_by_region[division.region]
        assert [part.region for part in division.statements] == list(NINE.parts[division.region])
        assert all(part.probability <= region.probability + 1e-12 for part in division.statements)
        if region.answer != YES:
            assert {part.answer for part in division.statements} == {region.answer}
            assert division.spans == () and division.decision is None
            continue
        rows = [
            row
            for span in answer.decision.spans
            if span.region == division.region
            for row in (span.first, span.last)
        ]
        assert (division.spans[0].first, division.spans[-1].last) == (rows[0], rows[-1])
        for lower, upper in pairwise(division.spans):
            assert upper.first == lower.last + 1
            assert NINE.chain.index(lower.region) < NINE.chain.index(upper.region)
        for part in division.statements:
            spans = [span for span in division.spans if span.region == part.region]
            assert part.answer != YES or len(spans) == 1


def test_a_clear_body_shows_all_parts_and_a_knee_alone_its_neighbours_not() -> None:
    body = answer_on(BODY)
    assert parts_by_answer(body) == {YES: [*NINE.part_names], NO: [], UNSURE: []}
    ends = [
        (part.region, part.lower.mm, part.upper.mm)
        for division in body.divisions
        for part in division.statements
    ]
    assert ends[2] == ("knee", 84.0, 116.0)
    lower_leg, knee = body.divisions[0].statements[1:3]
    assert lower_leg.upper == knee.lower and knee.lower.low_mm < 84.0 < knee.lower.high_mm
    assert body.divisions[0].statements[-1].upper == body.statements[0].upper
    knee_alone = answer_on(["knee"] * 8)
    assert parts_by_answer(knee_alone) == {
        YES: ["knee"],
        NO: ["foot", "lower leg", "thigh", "neck", "skull"],
        UNSURE: [],
    }


def test_parts_that_look_alike_are_unsure_and_their_region_is_sure() -> None:
    shares = np.full((3, 12, len(NINE.classes)), 0.001)
    shares[:, :, [NINE.classes.index("knee"), NINE.classes.index("thigh")]] = 0.4955
    outputs = MemberOutputs.of_classes(shares.astype(np.float32), NINE)
    answer = JUDGE_OF_PARTS.answer("a", "a.nii", outputs, stack_with(12))
    assert answer.statements[0].answer == YES
    assert {"knee", "thigh"} <= set(parts_by_answer(answer)[UNSURE])
    assert parts_by_answer(answer)[YES] == []


def test_the_tables_have_parts_after_all_else() -> None:
    answer, stack = answer_on(LEG), stack_with(len(LEG))
    raw = JUDGE.mean_probabilities(outputs_on(LEG))
    facts = answer_facts(answer, stack, raw, DEFAULT) | {"rows": table_rows(answer, stack)}
    regions = DEFAULT.classes[:-1]
    columns = answer_columns(regions, NINE.part_names)
    assert columns[: len(answer_columns(regions))] == answer_columns(regions)
    cells = dict(zip(columns, TableRows.from_facts(facts).answer, strict=True))
    assert cells["shows"] == "legs"
    assert cells["shows_parts"] == "foot, lower leg, knee, thigh" and cells["unsure_parts"] == ""
    assert (cells["knee"], cells["neck"]) == (YES, NO)
    assert (cells["knee_from_mm"], cells["neck_from_mm"]) == (84.0, None)
    assert TableRows.from_facts(facts).statements(regions) == answer.statements
    assert [(row["region"], row["level"]) for row in facts["rows"]] == [
        ("legs", REGION_LEVEL),
        *((part, PART_LEVEL) for part in NINE.parts["legs"]),
    ]
    assert set(facts["rows"][0]) <= set(span_columns(NINE.part_names))
    assert span_columns(NINE.part_names)[:-1] == span_columns()


def labelled_leg(seed: int) -> LabelledVolume:
    """A leg cut off at random ends, of a person of its own, as networks see it that err now and then."""
    rng = np.random.default_rng(seed)
    first, last = sorted(rng.choice(np.arange(0, len(LEG) + 1), 2, replace=False).tolist())
    names = LEG[first : max(last, first + 3)]
    seen_names = [
        str(rng.choice(NINE.parts["legs"])) if rng.random() < 0.15 else name for name in names
    ]
    part_truth = np.array([[name == part for part in NINE.part_names] for name in names])
    truth = np.zeros((len(names), len(DEFAULT.classes)), dtype=bool)
    truth[:, 0] = True
    return LabelledVolume(
        f"s{seed}", outputs_on(seen_names, seed, 0.7), stack_with(len(names)), truth, part_truth
    )


def test_rules_for_parts_are_fitted_and_err_no_more_than_stated() -> None:
    """On legs of others; of heads, of which there are none, nothing is said."""
    judge = replace(JUDGE_OF_PARTS, part_rules={})
    volumes = [labelled_leg(seed) for seed in range(160)]
    heights: list[tuple[NDArray, NDArray]] = [
        (volume.stack.z_mm, volume.part_truth) for volume in volumes
    ]
    fit = fit_part_rules(
        judge,
        volumes[:100],
        heights[:100],
        sigmas_mm=(0.0, 6.0),
        widths=(1.0,),
        statement_error=0.05,
        at_risk=0.2,
        seed=1,
    )
    assert set(fit.rule_by_region) == {"legs"}
    assert fit.facts[YES]["promised"] and fit.facts[NO]["promised"]
    fitted_judge = replace(judge, part_rules=fit.rule_by_region)
    wrong, decided = 0, 0
    for volume in volumes[100:]:
        answer = fitted_judge.answer("", "", volume.outputs, volume.stack)
        extents_mm = STEP_MM * volume.part_truth.sum(axis=0)
        least_mm = min(10.0, STEP_MM * len(volume.truth))
        for division in answer.divisions:
            for part in division.statements:
                is_shown = extents_mm[NINE.part_names.index(part.region)] >= least_mm
                decided += part.is_sure
                wrong += part.is_sure and (part.answer == YES) != is_shown
    assert decided > 150 and wrong <= 0.05 * decided


def test_of_labels_that_name_the_whole_alone_no_rule_is_fitted() -> None:
    volumes = [
        replace(volume, part_truth=np.repeat(volume.truth[:, :1], len(NINE.part_names), axis=1))
        for volume in (labelled_leg(seed) for seed in range(30))
    ]
    fit = fit_part_rules(
        replace(JUDGE_OF_PARTS, part_rules={}),
        volumes,
        [],
        sigmas_mm=(0.0,),
        widths=(1.0,),
        statement_error=0.05,
        at_risk=0.2,
        seed=1,
    )
    assert fit.rule_by_region == {}


@pytest.mark.parametrize("part", NINE.part_names)
def test_every_part_has_a_region_of_which_it_is_part(part: str) -> None:
    assert part in NINE.parts[WHOLE_BY_PART[part]]
