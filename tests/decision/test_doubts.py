"""Reasons in words: each is given where it holds, and only there."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from dataclasses import replace
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis.strategies import floats, integers

from fovnet.decision.chain.spans import Decision, decide_volume
from fovnet.decision.checks import (
    members_disagree,
    noisy_air,
    out_of_order,
    template,
    too_few_slices,
    turned,
    two_answers,
    unlike_training,
)
from fovnet.decision.checks.check import Check
from fovnet.decision.checks.out_of_order import (
    GREATEST_DISORDER,
    SliceOrder,
    count_passes,
    measure_disorder,
)
from fovnet.decision.checks.unlike_training import Novelty
from fovnet.decision.doubts import Doubt, Signs
from fovnet.decision.doubts import find_doubts as all_doubts
from fovnet.decision.fitting.objective import TuningExample
from fovnet.decision.orientation import Bearing
from fovnet.decision.rule import Rule
from fovnet.regions import DEFAULT

Bodies = Callable[..., TuningExample]
RULE = Rule(min_confidence=0.7, least_novelty=0.05, least_agreement=0.8)


def novelty(share: float) -> Novelty:
    return Novelty(share, np.full(1, share))


def agreement(share: float) -> np.ndarray:
    return np.full(1, share)


FINE: dict[Check[Any], Any] = {
    members_disagree.CHECK: agreement(0.95),
    out_of_order.CHECK: SliceOrder(0.3),
    unlike_training.CHECK: novelty(0.5),
}


def doubts(
    decision: Decision, values: Mapping[Check[Any], Any] = FINE, rule: Rule = RULE
) -> tuple[Doubt, ...]:
    """The doubts where a volume was measured so; the order of slices is judged where a region is shown."""
    slab = too_few_slices.Slab(len(decision.slice_confidence), decision.observation_count)
    rivals = two_answers.find_rivals(decision, DEFAULT.classes)
    seen = {too_few_slices.CHECK: slab, two_answers.CHECK: rivals, **values}
    return all_doubts(decision, Signs({check.code: value for check, value in seen.items()}), rule)


def codes(
    decision: Decision, values: Mapping[Check[Any], Any] = FINE, rule: Rule = RULE
) -> list[str]:
    return [doubt.code for doubt in doubts(decision, values, rule)]


def decided(p: np.ndarray, rule: Rule = RULE) -> Decision:
    return decide_volume(p, 5.0 * np.arange(len(p)), DEFAULT, rule)


def one_region(share: float, other: float, slices: int = 20) -> np.ndarray:
    """Slices that are pelvis with a probability, abdomen with another, and anything else with the rest."""
    p = np.full((slices, len(DEFAULT.classes)), (1 - share - other) / (len(DEFAULT.classes) - 2))
    p[:, DEFAULT.classes.index("pelvis")], p[:, DEFAULT.classes.index("abdomen")] = share, other
    return p


def test_a_good_body_gives_no_reason(bodies: Bodies) -> None:
    example = bodies(3, noise=0.5)
    assert codes(decide_volume(example.probabilities, example.z_mm, DEFAULT, RULE)) == []


@pytest.mark.parametrize(
    ("check", "value"),
    [
        (unlike_training.CHECK, novelty(0.01)),
        (members_disagree.CHECK, agreement(0.5)),
        (out_of_order.CHECK, SliceOrder(2.0)),
        (out_of_order.CHECK, SliceOrder(0.3, pass_count=2)),
        (noisy_air.CHECK, True),
        (template.CHECK, True),
    ],
)
def test_each_sign_is_named_by_itself_and_not_where_it_is_unknown(
    check: Check[Any], value: Any
) -> None:
    decision = decided(one_region(0.97, 0.01))
    assert codes(decision, FINE | {check: value}) == [check.code]
    assert codes(decision, {}) == []


def test_what_reaches_its_bar_is_not_doubted() -> None:
    """Bars are what validation volumes had: those that they were learned from are not turned away."""
    decision = decided(one_region(0.97, 0.01))
    at = {
        members_disagree.CHECK: agreement(RULE.least_agreement),
        out_of_order.CHECK: SliceOrder(GREATEST_DISORDER),
        unlike_training.CHECK: novelty(RULE.least_novelty),
    }
    assert codes(decision, at, replace(RULE, min_confidence=decision.volume_confidence)) == []


def test_slices_out_of_order_are_reported_once_however_many_passes_they_seem_to_lie_in() -> None:
    both = FINE | {out_of_order.CHECK: SliceOrder(2.0, pass_count=2)}
    assert codes(decided(one_region(0.97, 0.01)), both) == ["out-of-order"]


def test_two_answers_that_are_nearly_equal_are_both_named() -> None:
    decision = decided(one_region(0.42, 0.40), replace(RULE, evidence_mm=300.0))
    found = doubts(decision, FINE, replace(RULE, min_confidence=0.99))
    (pair,) = [doubt for doubt in found if doubt.code == "two-answers"]
    assert "pelvis" in pair.sentence and "abdomen" in pair.sentence
    assert "low-confidence" in [doubt.code for doubt in found]
    sure = decided(one_region(0.42, 0.05), replace(RULE, evidence_mm=300.0))
    assert "two-answers" not in codes(sure, rule=replace(RULE, min_confidence=0.9999))


def test_what_lies_below_a_bar_is_never_written_as_the_bar() -> None:
    decision = decided(one_region(0.97, 0.01))
    span = replace(decision.spans[0], confidence=0.6996)
    sentences = [doubt.figures for doubt in doubts(replace(decision, spans=(span,)), FINE, RULE)]
    assert any(
        "69.9% of the slices" in sentence and "at least 70% wanted" in sentence
        for sentence in sentences
    ), sentences
    signs = {members_disagree.CHECK: agreement(0.79996), unlike_training.CHECK: novelty(0.04999)}
    sentences = [doubt.figures for doubt in doubts(decision, signs, RULE)]
    assert any("agreement 79.99%, at least 80.0% wanted" in sentence for sentence in sentences), (
        sentences
    )
    assert any(
        "4.99% of the validation slices are as unusual, at least 5.0% wanted" in sentence
        for sentence in sentences
    ), sentences
    signs, rule = {unlike_training.CHECK: novelty(0.1102)}, replace(RULE, least_novelty=0.1104)
    sentences = [doubt.figures for doubt in doubts(decision, signs, rule)]
    assert any(
        "11.02% of the validation slices are as unusual, at least 11.04% wanted" in sentence
        for sentence in sentences
    ), sentences
    (slab,) = doubts(
        decide_volume(one_region(0.999, 0.0002, slices=8), 2.499 * np.arange(8), DEFAULT, RULE)
    )
    assert "too thin a slab: 19.9 mm, at least 20 mm wanted" in slab.sentence


@pytest.mark.parametrize("region", ["legs", "pelvis", "abdomen"])
def test_a_second_answer_along_a_span_is_of_all_its_slices_and_of_them_alone(region: str) -> None:
    """Ten slices of legs, one of pelvis, twenty of abdomen, each sure but along one span, where head is
    nearly as probable; a region that any of a span's slices is labelled with is no second answer."""
    p = np.full((31, len(DEFAULT.classes)), 1e-3)
    rung = np.repeat([0, 1, 2], [10, 1, 20])
    p[np.arange(31), rung] = 1.0
    p[rung == DEFAULT.chain.index(region), DEFAULT.classes.index("head")] = 0.9
    decision, strict = (
        decided(p / p.sum(axis=1, keepdims=True), Rule(sigma_mm=0.0)),
        replace(RULE, min_confidence=1.0),
    )
    assert [span.region for span in decision.spans] == ["legs", "pelvis", "abdomen"]
    sentences = [
        doubt.sentence for doubt in doubts(decision, FINE, strict) if doubt.code == "two-answers"
    ]
    assert sentences == [f"two answers are nearly equal: {region} or head"]


def test_a_spine_beside_a_region_is_no_second_answer() -> None:
    """Decided on 25 of its 30 slices, each of which gives it half of what it gives all."""
    p = np.full((30, len(DEFAULT.classes)), 1e-4)
    p[:, DEFAULT.classes.index("chest")] = 1.0
    p[:25, [DEFAULT.classes.index("chest"), DEFAULT.classes.index("spine")]] = 0.5
    decision = decided(p / p.sum(axis=1, keepdims=True), Rule(sigma_mm=0.0))
    assert [(span.region, span.last) for span in decision.spans] == [("chest", 29), ("spine", 24)]
    assert codes(decision, rule=replace(RULE, min_confidence=1.0)) == ["low-confidence"]


def test_a_region_in_two_pieces_is_listed_once() -> None:
    """A void of eight slices in the middle of a pelvis."""
    p = one_region(0.98, 0.001, 40)
    p[16:24] = 0.001 / 6
    p[16:24, -1] = 0.999
    decision = replace(decided(p, replace(RULE, sigma_mm=0.0)), set_probability=0.4)
    assert [span.region for span in decision.spans] == ["pelvis", "pelvis"]
    (doubt,) = [one for one in doubts(decision, FINE, RULE) if one.code == "other-regions"]
    assert doubt.figures.startswith(
        "40% that it shows pelvis and nothing else, where a single slice"
    )


def test_an_upside_down_body_is_possibly_flipped(bodies: Bodies) -> None:
    example = bodies(6)
    flipped = decide_volume(example.probabilities[::-1], example.z_mm, DEFAULT, RULE)
    assert "flipped" in codes(flipped)
    assert "flipped" not in codes(decide_volume(example.probabilities, example.z_mm, DEFAULT, RULE))


@pytest.mark.parametrize(
    ("slices", "apart_mm", "few"),
    [
        (2, 10.0, True),
        (3, 20.0, True),
        (4, 35.0, True),
        (5, 10.0, False),
        (5, 4.0, False),
        (6, 3.0, True),
        (7, 3.0, False),
    ],
)
def test_a_localiser_and_a_thin_slab_are_too_few_slices_however_sure(
    slices: int, apart_mm: float, few: bool
) -> None:
    """Three slices, or many within a few millimetres: nothing could contradict the answer."""
    decision = decide_volume(
        one_region(0.999, 0.0002, slices=slices), apart_mm * np.arange(slices), DEFAULT, RULE
    )
    assert decision.volume_confidence > 0.9
    assert codes(decision) == (["too-few-slices"] if few else [])


def cut_at_the_top(share: float, slices: int = 40) -> np.ndarray:
    """Pelvis, and at the upper end three slices that are abdomen with a probability."""
    p = one_region(0.98, 0.001, slices)
    p[-3:, DEFAULT.classes.index("pelvis")], p[-3:, DEFAULT.classes.index("abdomen")] = (
        0.98 - share,
        share,
    )
    return p


def test_regions_that_are_rather_others_are_doubted_though_nearly_every_slice_is_sure() -> None:
    """Whether the top of the pelvis still shows abdomen: the slices are all but right, the set of regions is
    a guess."""
    sets = {share: decided(cut_at_the_top(share)) for share in (0.001, 0.2, 0.45, 0.97)}
    for decision in sets.values():
        assert decision.volume_confidence > 0.9
        assert ("other-regions" in codes(decision)) == (decision.set_probability < 0.5)
    assert codes(sets[0.001]) == codes(sets[0.97]) == []
    (doubt,) = [one for one in doubts(sets[0.45], FINE, RULE) if one.code == "other-regions"]
    assert (
        "not exactly these" in doubt.sentence
        and "apart from the probability of each" in doubt.figures
    )
    assert "shows pelvis" in doubt.figures


@given(spine=floats(0.3, 0.9), rest=floats(0.0, 1.0))
def test_a_spine_is_never_answered_beside_a_set_that_is_rather_another(
    spine: float, rest: float
) -> None:
    """A spine whose confidence is that of its own share alone, whatever lies beside it."""
    p = np.full((30, len(DEFAULT.classes)), 1e-3)
    p[:, DEFAULT.classes.index("spine")] = spine
    p[:, DEFAULT.classes.index("abdomen")] = (1 - spine) * rest
    p[:, DEFAULT.classes.index("chest")] = (1 - spine) * (1 - rest)
    decision = decided(p / p.sum(axis=1, keepdims=True))
    assert codes(decision) or decision.set_probability >= 0.5


def test_nothing_shown_is_reported_and_is_no_doubt_and_noise_needs_no_order() -> None:
    p = np.full((20, len(DEFAULT.classes)), 0.01)
    p[:, -1] = 1 - 0.01 * (len(DEFAULT.classes) - 1)
    assert codes(decided(p), {out_of_order.CHECK: SliceOrder(2.0, 2, shows_region=False)}) == [
        "none"
    ]
    assert codes(replace(decided(p), set_probability=0.02)) == ["none"]


def test_a_physician_reads_what_a_low_probability_means_and_its_figure_stands_beside_it() -> None:
    """A region that is named and yet more likely absent."""
    rule = replace(RULE, evidence_mm=300.0, beta=(1.0, 1.0, -2.0, 0.0, 0.0))
    found = {
        doubt.sentence: doubt.figures for doubt in doubts(decided(one_region(0.3, 0.24), rule))
    }
    figures = found["many of the slices called pelvis may show something else"]
    assert figures.endswith(
        "of the slices called pelvis are expected to show it, at least 70% wanted"
    )


@given(seed=integers(0, 10**6))
def test_no_sentence_is_for_statisticians(seed: int) -> None:
    """Whatever is doubted: shares, bars and evidence stand in the figures, and no sentence needs them."""
    rng = np.random.default_rng(seed)
    p = rng.dirichlet(np.ones(len(DEFAULT.classes)) / 2, size=int(rng.integers(2, 25))) + 1e-6
    p /= p.sum(axis=1, keepdims=True)
    values = {
        members_disagree.CHECK: agreement(rng.random()),
        unlike_training.CHECK: novelty(rng.random() / 10),
        turned.CHECK: turned.JudgedAxes(Bearing(rng.random() / 4, "front to back")),
        out_of_order.CHECK: SliceOrder(2 * rng.random()),
        noisy_air.CHECK: bool(rng.random() < 0.5),
    }
    for doubt in doubts(decided(p), values, replace(RULE, least_upright=0.2, min_confidence=0.95)):
        assert not re.search(
            r"%|0\.\d|confidence|evidence|agreement|validation slices", doubt.sentence
        )
        assert doubt.sentence[0].islower() and not doubt.sentence.endswith(".")


def scene(seed: int, slices: int) -> np.ndarray:
    """(s, 128, 128) uint8: a bright disc that grows and wanders smoothly, in noise."""
    rng = np.random.default_rng(seed)
    y, x = np.mgrid[:128, :128]
    turn = np.linspace(0, np.pi, slices)[:, None, None]
    disc = (x - 64 - 20 * np.cos(turn)) ** 2 + (y - 64 - 20 * np.sin(turn)) ** 2 < (
        20 + 15 * np.sin(turn)
    ) ** 2
    return (60 + 120 * disc + rng.normal(scale=20, size=disc.shape)).clip(0, 255).astype(np.uint8)


@given(seed=integers(0, 10**6), slices=integers(12, 40))
def test_shuffled_slices_are_out_of_order_and_a_darkening_does_not_matter(
    seed: int, slices: int
) -> None:
    pixels = scene(seed, slices)
    faded = (pixels * np.linspace(1, 0.4, slices)[:, None, None]).astype(np.uint8)
    rng = np.random.default_rng(seed)
    # one of twelve slices may by chance be nearly in order
    shuffled = [measure_disorder(pixels[rng.permutation(slices)]) for _ in range(5)]
    assert measure_disorder(pixels) < 0.5
    assert measure_disorder(faded) < 0.6
    assert np.median(shuffled) > 2 * measure_disorder(pixels)


@given(seed=integers(0, 10**6), slices=integers(16, 40))
def test_slices_as_they_were_acquired_are_distinguished_from_slices_in_their_order(
    seed: int, slices: int
) -> None:
    """Odd slices first, then even ones: one jump in the middle, which the mean over all neighbours hardly
    notices."""
    pixels = scene(seed, slices)
    acquired = np.concatenate([pixels[::2], pixels[1::2]])
    assert (count_passes(pixels), count_passes(acquired)) == (1, 2) and measure_disorder(
        acquired
    ) < GREATEST_DISORDER


def test_noise_is_in_no_order_at_all() -> None:
    noise = np.random.default_rng(0).integers(0, 255, (40, 128, 128)).astype(np.uint8)
    assert measure_disorder(noise) == pytest.approx(2.0, abs=0.1)
    assert measure_disorder(noise) > GREATEST_DISORDER
