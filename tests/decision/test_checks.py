"""What every check owes: a code, words, a file named after it, and a doubt where there is reason."""

from __future__ import annotations

import re
from collections import Counter
from dataclasses import fields, replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from fovnet.decision import checks
from fovnet.decision.chain.spans import Decision, decide_volume
from fovnet.decision.checks import low_confidence, too_few_slices
from fovnet.decision.checks.check import Check, DecidedVolume
from fovnet.decision.checks.out_of_order import SliceOrder
from fovnet.decision.checks.turned import JudgedAxes
from fovnet.decision.checks.two_answers import Rivals
from fovnet.decision.checks.unlike_training import Novelty
from fovnet.decision.dark_slices import HiddenRegion
from fovnet.decision.doubts import CHECKS, Doubt, Signs, are_reasons, find_doubts, measure_signs
from fovnet.decision.judge import Judge, MemberOutputs
from fovnet.decision.novelty import calibrate_reference, fit_reference
from fovnet.decision.orientation import Bearing, Orientation
from fovnet.decision.rule import RANGE_BY_SETTING, Rule
from fovnet.maths.turns import VIEWS
from fovnet.regions import DEFAULT
from fovnet.report.content.doubt_words import CODES
from fovnet.volume.slices.outlines import OUTLINE_SHAPE
from tests.decision.measured import known_of, stack_of

K = len(DEFAULT.classes)
FITTED = [check for check in CHECKS if check.fit_bar is not None]
RULE = Rule(
    min_confidence=0.7,
    least_novelty=0.05,
    least_agreement=0.8,
    least_upright=0.06,
    least_extent_mm=80.0,
)


def decision(region: int = 0, **changed: Any) -> Decision:
    """Twenty slices that surely show one region; `changed` replaces parts of the decision."""
    p = np.full((20, K), 0.001)
    p[:, region] = 1 - 0.001 * (K - 1)
    return replace(decide_volume(p, 5.0 * np.arange(20), DEFAULT, RULE), **changed)


def unsure() -> Decision:
    """The one region that is shown is less probable than it has to be."""
    whole = decision()
    return replace(whole, spans=(replace(whole.spans[0], confidence=0.6),))


def agreement(share: float) -> np.ndarray:
    return np.array([share])


def novelty(share: float) -> Novelty:
    return Novelty(share, np.array([share]))


def axes(upright: float) -> JudgedAxes:
    return JudgedAxes(Bearing(upright, "side to side"))


EXAMPLES: dict[str, tuple[Any, Any]] = {
    "none": (decision(K - 1), decision()),
    "unlike-training": (novelty(0.04), novelty(0.05)),
    "members-disagree": (agreement(0.7), agreement(0.8)),
    "too-small": (79.0, 80.0),
    "too-dark": (HiddenRegion(DEFAULT.chain[0], 40.0), None),
    "noisy-air": (True, False),
    "both-signs": (True, False),
    "phantom": (True, False),
    "template": (True, False),
    "sform-of-ones": (True, False),
    "too-few-slices": (too_few_slices.Slab(4, 9.0), too_few_slices.Slab(5, 2.0)),
    "out-of-order": (SliceOrder(1.5), SliceOrder(1.5, shows_region=False)),
    "flipped": (decision(is_flipped=True), decision()),
    "turned": (axes(0.05), axes(0.06)),
    "low-confidence": (unsure(), decision()),
    "other-regions": (decision(set_probability=0.4), decision(set_probability=0.5)),
    "two-answers": (Rivals(0.6, (("a", "b"),)), Rivals(0.7, (("a", "b"),))),
}
"""By code, a value that is a doubt under RULE and one that is none; None: nothing was found that could be."""


def doubted(check: Check[Any], value: Any) -> list[str]:
    """The codes of the doubts where this alone was found on a volume that is fine otherwise."""
    if check.measure is None:
        return [doubt.code for doubt in find_doubts(value, Signs({}), RULE)]
    signs = Signs({} if value is None else {check.code: value})
    return [doubt.code for doubt in find_doubts(decision(), signs, RULE)]


@pytest.mark.parametrize("check", CHECKS, ids=lambda check: check.code)
def test_a_check_doubts_where_there_is_reason_and_not_where_there_is_none(
    check: Check[Any],
) -> None:
    doubtful, fine = EXAMPLES[check.code]
    assert doubted(check, doubtful) == [check.code]
    assert doubted(check, fine) == []


def test_every_check_has_an_example_and_a_file_named_after_its_code() -> None:
    """And a file has a check, but for those that say what a check is."""
    files = {path.stem for path in Path(checks.__file__).parent.glob("*.py")}
    assert files - {"__init__", "check", "percent"} == {
        check.code.replace("-", "_") for check in CHECKS
    }
    assert EXAMPLES.keys() == {check.code for check in CHECKS}
    for check in CHECKS:
        assert check.find_reasons.__module__.split(".")[-1] == check.code.replace("-", "_")


def test_a_code_is_of_one_check_alone() -> None:
    """But for the one that judges regions before the answer as a whole, in the same words."""
    twice = {code for code, times in Counter(check.code for check in CHECKS).items() if times > 1}
    assert twice == {low_confidence.CHECK.code}
    words = [text for code in CODES.values() for text in (code.words, code.meaning)]
    assert len(set(words)) == len(words)


@pytest.mark.parametrize("check", CHECKS, ids=lambda check: check.code)
def test_a_check_has_words_for_people(check: Check[Any]) -> None:
    """They are clauses of one line, as `fovnet codes` prints them in a table."""
    assert re.fullmatch("[a-z]+(-[a-z]+)*", check.code) and CODES[check.code].words == check.words
    for text in (check.words, check.meaning, check.to_try):
        assert (
            text == text.strip() and not text.endswith(".") and not set("\t\n") & set(text) and text
        )
    assert check.status == ("ok" if check.code == "none" else "uncertain")


def test_what_is_no_region_is_no_reason_and_every_other_doubt_is() -> None:
    for code in EXAMPLES:
        assert are_reasons([Doubt(code, "a sentence")]) == (code != "none")


@pytest.mark.parametrize("check", FITTED, ids=lambda check: check.code)
def test_a_fitted_bar_is_a_setting_of_the_rule_that_rejects_few_of_the_volumes_it_was_fitted_to(
    check: Check[Any],
) -> None:
    """One in twenty at most; it rises with what is seen, and without volumes nothing is doubted."""
    assert (
        check.bar_setting in {field.name for field in fields(Rule)}
        and check.bar_setting in RANGE_BY_SETTING
    )
    made = {"unlike-training": novelty, "members-disagree": agreement, "turned": axes}.get(
        check.code, float
    )
    shares = np.random.default_rng(1).permutation(np.linspace(0.01, 0.1, 200))
    low, high = (
        check.fit_bar([made(float(factor * share)) for share in shares]) for factor in (1, 2)
    )
    assert 0 < low < high
    rule = replace(Rule(), **{check.bar_setting: low})
    rejected = [share for share in shares if list(check.find_reasons(made(float(share)), rule))]
    assert len(rejected) <= 10 and all(
        share < min(set(shares) - set(rejected)) for share in rejected
    )
    assert not any(list(check.find_reasons(made(float(share)), Rule())) for share in shares)
    assert check.fit_bar([]) == 0.0


def known(seed: int = 1, slices: int = 20, region: int = 0) -> DecidedVolume:
    """Random slices that two members call one region, judged by an ensemble with every part."""
    rng = np.random.default_rng(seed)
    weights = rng.normal(size=(len(VIEWS), int(np.prod(OUTLINE_SHAPE)))).astype(np.float32) / 500
    layer = (weights, np.zeros(len(VIEWS), np.float32))
    labels = np.eye(K)[np.arange(200) % K]
    reference = fit_reference(rng.normal(size=(200, 4)), labels > 0)
    distances = reference.measure_distances(rng.normal(size=(200, 4)))
    judge = Judge(
        DEFAULT, RULE, calibrate_reference(reference, distances, labels), Orientation((layer,))
    )
    members = np.full((2, slices, K), 0.002, dtype=np.float32)
    members[..., region] = 1 - 0.002 * (K - 1)
    members[1] = np.roll(members[1], 1, axis=1)
    outputs = MemberOutputs(
        members, distances[:slices], brightened_probabilities=np.full_like(members, np.nan)
    )
    return known_of(
        judge, outputs, stack_of(rng.integers(1, 256, (slices, 128, 128)).astype(np.uint8))
    )


def test_every_check_measures_what_can_be_measured() -> None:
    """Of a body all but what dark slices hide, as none are dark; of a picture of nothing not how it lies."""
    every = {check.code for check in CHECKS if check.measure is not None}
    assert measure_signs(known()).value_by_code.keys() == every - {"too-dark"}
    assert measure_signs(known(region=K - 1)).value_by_code.keys() == every - {"too-dark", "turned"}


def test_what_a_check_measures_is_a_value_that_it_can_judge() -> None:
    """Whatever the volume: no check raises, and what one finds of another volume is another value."""
    few, many = measure_signs(known(2, slices=3)), measure_signs(known(3, slices=40))
    assert few.value_by_code.keys() == many.value_by_code.keys() - {
        "turned"
    }  # 24 mm are too thin to show how it lies
    said = [
        [doubt.code for doubt in find_doubts(one.decision, signs, RULE)]
        for one, signs in ((known(2, slices=3), few), (known(3, slices=40), many))
    ]
    assert ["too-few-slices" in codes for codes in said] == [True, False]


@pytest.mark.parametrize(("own", "few"), [(3, True), (12, False), (None, False)])
def test_slices_of_its_own_are_counted_where_a_volume_was_resampled(
    own: int | None, few: bool
) -> None:
    """Of three slices that are cut into forty across, nothing could contradict the answer."""
    whole = known(slices=40)
    cut = replace(whole, stack=replace(whole.stack, label_slice_count=own))
    assert bool(list(too_few_slices.find_reasons(too_few_slices.measure(cut), RULE))) == few
