"""What is said of each region: yes and no from a bar on, in agreement with the spans, and unsure where a
doubt concerns it."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis.strategies import floats, integers, sampled_from

from fovnet.decision import answers_table
from fovnet.decision.answer import Answer, answer_facts, make_answer, table_rows
from fovnet.decision.chain.spans import Decision, decide_volume
from fovnet.decision.checks import (
    members_disagree,
    noisy_air,
    phantom,
    too_dark,
    too_few_slices,
    unlike_training,
)
from fovnet.decision.checks.unlike_training import Novelty
from fovnet.decision.dark_slices import HiddenRegion
from fovnet.decision.doubts import CHECKS, Signs
from fovnet.decision.rule import Rule
from fovnet.decision.statements import (
    NO,
    SOME_UNSURE,
    UNSURE,
    YES,
    RegionEnd,
    Statement,
    answer_from_probability,
    make_statements,
    statement_sentences,
    volume_status,
)
from fovnet.regions import DEFAULT
from tests.decision.measured import stack_of

K = len(DEFAULT.classes)
REGIONS = DEFAULT.classes[:-1]
RULE = Rule(yes_bar=0.8, no_bar=0.8, least_agreement=0.8, least_novelty=0.05)


def decision(*shown: int, each: int = 10, sure: float = 0.97, rule: Rule = RULE) -> Decision:
    """Ten slices of 8 mm of every class named."""
    p = np.full((len(shown) * each, K), (1 - sure) / (K - 1))
    p[np.arange(len(p)), np.repeat(shown, each)] = sure
    return decide_volume(p, 8.0 * np.arange(len(p)), DEFAULT, rule)


def made(
    one: Decision, signs: dict[str, Any] | None = None, rule: Rule = RULE
) -> dict[str, Statement]:
    return {
        statement.region: statement
        for statement in make_statements(one, Signs(signs or {}), rule, DEFAULT)
    }


def test_regions_in_the_picture_are_shown_and_others_are_not() -> None:
    found = made(decision(2, 3))
    assert {name for name, one in found.items() if one.answer == YES} == {"abdomen", "chest"}
    assert {name for name, one in found.items() if one.answer == NO} == set(REGIONS) - {
        "abdomen",
        "chest",
    }
    assert tuple(found) == REGIONS


def test_ends_are_those_of_the_spans_with_the_intervals_of_borders_alone() -> None:
    """Where the picture ends nobody knows how far the region goes."""
    one = decision(2, 3)
    abdomen, chest = made(one)["abdomen"], made(one)["chest"]
    (border,) = one.boundaries
    assert abdomen.lower == RegionEnd(one.spans[0].from_mm) and chest.upper == RegionEnd(
        one.spans[1].to_mm
    )
    assert abdomen.upper == chest.lower == RegionEnd(border.mm, border.low_mm, border.high_mm)
    assert made(one)["head"].lower is None


@given(chance=floats(0, 1), bar=floats(0.5, 1), extent_mm=sampled_from([None, 5.0, 10.0, 200.0]))
def test_an_answer_agrees_with_its_spans(
    chance: float, bar: float, extent_mm: float | None
) -> None:
    """What has no span is not said to be shown; what has one of 10 mm or more is not said to be absent."""
    rule = replace(RULE, yes_bar=bar, no_bar=bar)
    ends = (None, None) if extent_mm is None else (RegionEnd(0.0), RegionEnd(extent_mm))
    found = answer_from_probability(chance, rule, *ends)
    assert (found == YES) == (chance >= bar and extent_mm is not None)
    if found == NO:
        assert 1 - chance >= bar and (extent_mm or 0) < rule.min_extent_mm


def test_a_doubt_about_the_whole_leaves_nothing_sure_and_one_about_a_part_the_rest() -> None:
    one = decision(2, 3)
    noisy = {noisy_air.CHECK.code: True}
    assert {statement.answer for statement in made(one, noisy).values()} == {UNSURE}
    assert {statement.doubts for statement in made(one, noisy).values()} == {("noisy-air",)}
    # what may be a bottle of water shows no head, but perhaps no abdomen either; a body surely seen is one
    for line, wanted in (((0.4, 0.0, 0.0), UNSURE), ((1.0, 0.0, 0.0), YES)):
        bottle = made(one, {phantom.CHECK.code: True}, replace(RULE, chain_line=line))
        assert [bottle[name].answer for name in ("abdomen", "chest", "head")] == [
            wanted,
            wanted,
            NO,
        ]
    strange = {unlike_training.CHECK.code: Novelty(0.01, np.full(20, 0.01))}
    assert made(one, strange) == made(one)
    # the members disagree along the chest alone, so much that their mean over the volume is low
    agreed = np.repeat([0.95, 0.3], 10)
    torn = made(one, {members_disagree.CHECK.code: agreed})
    assert [torn[name].answer for name in ("abdomen", "chest", "head")] == [YES, UNSURE, NO]
    # so few slices that where the regions end cannot be told
    assert made(one, {too_few_slices.CHECK.code: too_few_slices.Slab(2, 9.0)}) == made(one)
    # dark slices hide something: what is seen is there, and what is not may be
    hidden = made(one, {too_dark.CHECK.code: HiddenRegion("head", 40.0)})
    seen = [hidden[name].answer for name in ("abdomen", "chest", "head", "legs")]
    assert seen == [YES, YES, UNSURE, UNSURE]


def test_every_check_says_in_words_which_regions_it_concerns() -> None:
    assert {check.concerns.words for check in CHECKS} == {
        "every region",
        "regions not shown",
        "regions shown where they disagree",
        "regions shown with a probability below 0.99",
        "extents alone",
    }


def test_status_tells_whether_all_some_or_none_is_sure() -> None:
    def of(*answers: str) -> str:
        return volume_status(
            [Statement(str(number), one, 0.5) for number, one in enumerate(answers)]
        )

    assert [of(YES, NO), of(YES, UNSURE), of(NO, UNSURE), of(UNSURE, UNSURE)] == [
        "ok",
        "partly",
        "partly",
        "uncertain",
    ]


@pytest.mark.parametrize(
    ("answers", "words"),
    [
        ((NO, NO, YES, NO, NO, NO), "Shows abdomen."),
        (
            (NO, UNSURE, YES, UNSURE, NO, YES),
            "Shows abdomen and spine. Perhaps also pelvis and chest.",
        ),
        ((NO, UNSURE, NO, NO, NO, NO), "Best guess: pelvis."),
        ((NO,) * 6, "Shows none of the regions."),
    ],
)
def test_an_answer_in_plain_words(answers: tuple[str, ...], words: str) -> None:
    listed = [
        Statement(
            region,
            one,
            0.6,
            (),
            *((None, None) if one == NO else (RegionEnd(0.0), RegionEnd(20.0))),
        )
        for region, one in zip(REGIONS, answers, strict=True)
    ]
    assert statement_sentences(listed) == words


def test_without_a_span_the_best_guess_is_none_of_the_regions() -> None:
    assert (
        statement_sentences([Statement("head", UNSURE, 0.2, ("turned",))])
        == "Best guess: none of the regions."
    )


def test_that_nothing_is_shown_is_a_guess_where_it_is_not_sure() -> None:
    """The message of an uncertain volume said "shows none of the regions", as if it were an answer."""
    air, noisy = decision(K - 1), {noisy_air.CHECK.code: True}
    sure, unsure = answered(air, RULE), answered(air, RULE, noisy)
    assert (sure.status, sure.message) == ("ok", "shows none of the regions")
    assert unsure.status == "uncertain" and "best guess: none of the regions" in unsure.message
    assert "shows none" not in unsure.message and unsure.code_text == sure.code_text + " noisy-air"


def answered(one: Decision, rule: Rule, signs: dict[str, Any] | None = None) -> Answer:
    return make_answer("a", "a.nii", one, Signs(signs or {}), rule, DEFAULT)


def test_a_rule_of_an_earlier_fovnet_answers_as_it_did() -> None:
    """No statements, and a status by its doubts alone."""
    before = replace(RULE, yes_bar=0.0, no_bar=0.0)
    sure = answered(decision(2, 3), before)
    assert (sure.status, sure.statements) == ("ok", ())
    doubted = answered(decision(2, 3), before, {phantom.CHECK.code: True})
    assert (doubted.status, doubted.code_text) == ("uncertain", "phantom")


def test_what_is_unsure_by_its_probability_alone_is_named_in_message_and_code() -> None:
    """Slices that may be chest or abdomen: either may be there, the spine is not."""
    p = np.full((12, K), 0.01)
    p[:, [2, 3]] = (1 - 0.01 * (K - 2)) / 2
    rule = replace(RULE, yes_bar=0.95)
    found = answered(decide_volume(p, 8.0 * np.arange(12), DEFAULT, rule), rule)
    assert found.status == "partly" and SOME_UNSURE.code in found.code_text.split()
    assert (
        found.message.startswith("unsure whether it shows abdomen (")
        and " or chest (" in found.message
    )


@given(seed=integers(0, 10**6))
def test_the_table_of_answers_holds_what_the_json_says(seed: int) -> None:
    rng = np.random.default_rng(seed)
    p = rng.dirichlet(np.ones(K) / 3, size=15) + 1e-6
    one = decide_volume(p / p.sum(axis=1, keepdims=True), 8.0 * np.arange(15), DEFAULT, RULE)
    given, stack = answered(one, RULE), stack_of(np.full((15, 128, 128), 200, np.uint8))
    body = answer_facts(given, stack, p, DEFAULT) | {"rows": table_rows(given, stack)}
    rows = answers_table.TableRows.from_facts(body)
    named = answers_table.answer_columns(REGIONS)
    cells = dict(zip(named, rows.answer, strict=True))
    assert rows.spans == body["rows"] and (cells["volume_id"], cells["status"]) == (
        "a",
        given.status,
    )
    for one_said in given.statements:
        assert cells[one_said.region] == one_said.answer
        assert cells[f"{one_said.region}_probability"] == one_said.probability
        assert cells[f"{one_said.region}_from_mm"] == (one_said.lower and one_said.lower.mm)
    shown = [one_said.region for one_said in given.statements if one_said.answer == YES]
    assert cells["shows"] == ", ".join(shown)
    assert rows.statements(REGIONS) == tuple(
        replace(one_said, doubts=()) for one_said in given.statements
    )


@pytest.mark.parametrize(
    ("answers", "is_sure", "expected"),
    [
        (("yes", "unsure"), True, "sure"),
        (("yes", "no"), False, "unsure"),
        (("no", "unsure"), True, ""),
        (("no", "no"), True, ""),
        ((), False, ""),
    ],
)
def test_extents_are_told_only_where_a_region_is_shown(
    answers: tuple[str, ...], is_sure: bool, expected: str
) -> None:
    made = [
        {"region": region, "answer": one, "probability": 0.5, "lower": None, "upper": None}
        for region, one in zip(("legs", "pelvis"), answers, strict=False)
    ]
    assert (
        answers_table.answer_row({"statements": made, "extents_sure": is_sure})["extents"]
        == expected
    )
