"""What is no body in order gets no confident region: slices shuffled, upside down, of air, of noise."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from itertools import product

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis.strategies import integers

from fovnet.decision.chain.spans import UPSIDE_DOWN_PRIOR, decide_volume
from fovnet.decision.confidence_bar import LOWEST_BAR
from fovnet.decision.fitting.objective import TuningExample
from fovnet.decision.fitting.tuning import FALSE_ALARM_SHARE, fit_rule
from fovnet.decision.rule import Rule
from fovnet.maths.ladder import Height
from fovnet.regions import DEFAULT

Bodies = Callable[..., TuningExample]


@pytest.fixture(scope="module")
def rule(bodies: Bodies) -> Rule:
    """As bodies in order have it."""
    examples = [bodies(seed, noise=1.5) for seed in range(12)]
    return fit_rule(examples, DEFAULT, sigmas_mm=[0.0, 6.0], thresholds=[0.3])[0]


@settings(max_examples=60)
@given(seed=integers(100, 10**6))
def test_the_right_way_up_is_not_called_flipped_and_upside_down_is(
    seed: int, rule: Rule, bodies: Bodies
) -> None:
    example = bodies(seed, noise=1.5)
    upright = decide_volume(example.probabilities, example.z_mm, DEFAULT, rule)
    flipped = decide_volume(example.probabilities[::-1], -example.z_mm[::-1], DEFAULT, rule)
    assert not upright.is_flipped and upright.flipped_gain < -50
    assert flipped.is_flipped and all(span.confidence < 0.5 for span in flipped.spans)
    assert flipped.flipped_gain == pytest.approx(-upright.flipped_gain)


@settings(max_examples=60)
@given(seed=integers(100, 10**6))
def test_slices_out_of_order_give_no_confident_answer(
    seed: int, rule: Rule, bodies: Bodies
) -> None:
    example = bodies(seed, noise=1.5)
    order = np.random.default_rng(seed).permutation(len(example.z_mm))
    shuffled = decide_volume(example.probabilities[order], example.z_mm, DEFAULT, rule)
    assert shuffled.misfit > rule.usual_misfit and shuffled.roughness > rule.usual_roughness
    assert all(span.confidence < 0.5 for span in shuffled.spans)
    assert shuffled.set_probability < 0.5


@settings(max_examples=60)
@given(seed=integers(0, 10**6), s=integers(40, 120))
def test_noise_gives_no_confident_region(seed: int, s: int, rule: Rule) -> None:
    """Probabilities of noise that a network takes for something else in every slice."""
    assert surest_of_noise(seed, s, rule) < LOWEST_BAR


def test_twenty_slices_of_noise_come_near_to_a_body_in_one_of_a_hundred_stacks_at_most(
    rule: Rule,
) -> None:
    """So few may agree by chance: in 7 of 1,500 stacks they did, in none of 25 slices or more."""
    assert np.mean([surest_of_noise(seed, 20, rule) >= LOWEST_BAR for seed in range(500)]) <= 0.01


def surest_of_noise(seed: int, s: int, rule: Rule) -> float:
    """The highest confidence of a span in s slices of noise, 0 where there is none."""
    p = np.random.default_rng(seed).dirichlet(np.full(len(DEFAULT.classes), 0.3), s) + 1e-9
    decision = decide_volume(p / p.sum(axis=1, keepdims=True), 5.0 * np.arange(s), DEFAULT, rule)
    return max((span.confidence for span in decision.spans), default=0.0)


@settings(max_examples=60)
@given(seed=integers(0, 10**6), s=integers(1, 120))
def test_air_is_none_though_some_slices_hint_at_a_region(seed: int, s: int, rule: Rule) -> None:
    """A third of the slices hint at a region, one in three times more probably than none: fewer than 1 in 100
    is named with p > 0.5."""
    rng = np.random.default_rng(seed)
    p = np.full((s, len(DEFAULT.classes)), 0.02)
    p[:, -1] = 0.88
    odd = rng.random(s) < 1 / 3
    p[odd, rng.integers(0, len(DEFAULT.chain), odd.sum())] = 0.4
    p /= p.sum(axis=1, keepdims=True)
    decision = decide_volume(p, 5.0 * np.arange(s), DEFAULT, rule)
    named = decision.decided_labels[:, :-1].any(axis=1) & (decision.slice_confidence > 0.5)
    assert named.mean() < 0.01


def test_one_region_in_disorder_is_believed_only_where_every_slice_says_so(rule: Rule) -> None:
    """Thighs whose slices were shuffled.  Where each is rather thigh than anything, order changes nothing;
    where some are rather air, neighbours do not resemble each other, and where the thighs end is anybody's
    guess."""
    rng = np.random.default_rng(1)
    for least, believed in ((0.75, True), (0.15, False)):
        share = np.linspace(least, 0.95, 60)
        p = np.full((60, len(DEFAULT.classes)), 0.01)
        p[:, 0], p[:, -1] = share, 0.96 - share
        p /= p.sum(axis=1, keepdims=True)
        upright, shuffled = (
            decide_volume(p[order], 5.0 * np.arange(60), DEFAULT, rule)
            for order in (np.arange(60), rng.permutation(60))
        )
        assert upright.spans and upright.volume_confidence > LOWEST_BAR
        assert (shuffled.roughness > rule.usual_roughness) != believed
        assert all((span.confidence > 0.5) == believed for span in shuffled.spans)


def test_the_bars_are_exceeded_as_seldom_as_stated(bodies: Bodies) -> None:
    """Of the volumes they were set by; and by every one of the same volumes with its slices in disorder."""
    examples = [bodies(seed, noise=2.5) for seed in range(40)]
    found = fit_rule(examples, DEFAULT, sigmas_mm=[6.0], thresholds=[0.3])[0]
    answers = [
        decide_volume(example.probabilities, example.z_mm, DEFAULT, found) for example in examples
    ]
    assert np.mean([answer.is_flipped for answer in answers]) <= FALSE_ALARM_SHARE + 1 / len(
        examples
    )
    assert np.mean(
        [answer.misfit > found.usual_misfit for answer in answers]
    ) <= FALSE_ALARM_SHARE + 1 / len(examples)
    turned = [
        decide_volume(example.probabilities[::-1], example.z_mm, DEFAULT, found)
        for example in examples
    ]
    assert all(answer.is_flipped for answer in turned)


@pytest.mark.parametrize("odd", [[5], [5, 12], [3, 9, 15]])
@pytest.mark.parametrize("air", [0, 2])
def test_cuts_without_signal_take_no_confidence_from_a_head(odd: list[int], air: int) -> None:
    """Every count of cuts from 12 on, with air above or without: metal voids, zero-filled cuts."""
    known = Rule(sigma_mm=0.0)
    for s in range(max(12, odd[-1] + 4), 30):
        p = np.full((s + air, len(DEFAULT.classes)), 0.002)
        p[:s, DEFAULT.classes.index("head")] = p[s:, -1] = 0.988
        whole = decide_volume(p, 5.0 * np.arange(s + air), DEFAULT, known).spans
        p[odd] = np.where(np.arange(p.shape[1]) == p.shape[1] - 1, 0.988, 0.002)
        spans = decide_volume(p, 5.0 * np.arange(s + air), DEFAULT, known).spans
        assert {span.region for span in spans} == {"head"}
        assert min(span.confidence for span in spans) > whole[0].confidence - 0.1


def test_the_surer_a_spine_the_surer_the_answer(rule: Rule) -> None:
    """What is left for the other classes is noise, of which a body in no order is made; it is the less, the
    clearer the spine."""
    rng, spine = np.random.default_rng(0), DEFAULT.classes.index("spine")
    rest = rng.dirichlet(np.ones(len(DEFAULT.classes) - 1), 30)
    sure = []
    for share in (0.9, 0.97, 0.99, 0.999, 0.99999):
        p = np.insert((1 - share) * rest, spine, share, axis=1)
        found = next(
            span
            for span in decide_volume(p, 6.0 * np.arange(30), DEFAULT, rule).spans
            if span.region == "spine"
        )
        sure.append(found.confidence)
    assert sure == sorted(sure) and sure[0] > 0.8


@pytest.mark.parametrize("seed", [3, 4])
def test_the_probabilities_of_a_body_turned_over_decide_which_way_up_it_is(
    seed: int, bodies: Bodies
) -> None:
    """Of those that see each slice alone it is the same in reverse, thick slices and thin; those that go by
    height alone name a body turned over from the feet up as before, and so show nothing."""
    example = bodies(seed, noise=1.5)
    uneven = np.flatnonzero(np.random.default_rng(seed).random(len(example.z_mm)) < 0.6)
    probabilities, z_mm = example.probabilities[uneven], example.z_mm[uneven]
    # as a file gives them, which is not half-way
    edges_mm = np.append(z_mm - 2.0, z_mm[-1] + 3.0)
    for heights, known_mm in product(
        ((), tuple(Height(150.0, 20.0) for _ in DEFAULT.chain)), (None, edges_mm)
    ):
        rule = Rule(heights=heights)
        plain, given = (
            decide_volume(
                probabilities, z_mm, DEFAULT, rule, turned_probabilities=over, edges_mm=known_mm
            ).flipped_gain
            for over in (None, probabilities[::-1])
        )
        assert given == pytest.approx(plain) and plain < -50
    assert (
        abs(
            decide_volume(
                example.probabilities,
                example.z_mm,
                DEFAULT,
                Rule(),
                turned_probabilities=example.probabilities,
            ).flipped_gain
        )
        < 1e-6
    )


def test_a_body_is_called_flipped_where_its_reversed_order_gains_more_than_the_bar(
    bodies: Bodies,
) -> None:
    """The bar is what validation volumes, which are the right way up, gain at most: a knee shows no order at
    all, and gains nothing."""
    example = bodies(5)
    knee = np.tile(
        np.where(np.arange(len(DEFAULT.classes)) == 0, 0.9, 0.1 / (len(DEFAULT.classes) - 1)),
        (20, 1),
    )
    gain = decide_volume(
        example.probabilities[::-1], -example.z_mm[::-1], DEFAULT, Rule()
    ).flipped_gain
    bars = (gain - 1, gain + 1)
    called = [
        decide_volume(
            example.probabilities[::-1], -example.z_mm[::-1], DEFAULT, Rule(flipped_gain=bar)
        ).is_flipped
        for bar in bars
    ]
    assert called == [True, False]
    symmetric = decide_volume(knee, 5.0 * np.arange(20), DEFAULT, Rule())
    assert symmetric.flipped_gain == pytest.approx(0, abs=1e-9) and not symmetric.is_flipped


def test_an_answer_is_believed_as_far_as_the_body_is_the_right_way_up(bodies: Bodies) -> None:
    """Bayes, one volume of a hundred being upside down beforehand: odds of 99 to 1, divided by what the
    reversed order fits better. Nothing else is odd here, whatever neighbours and order cost."""
    example, lenient = bodies(6), Rule(usual_misfit=np.inf, usual_roughness=1 - 1e-9)
    upright = decide_volume(example.probabilities, example.z_mm, DEFAULT, lenient)
    over = decide_volume(example.probabilities[::-1], -example.z_mm[::-1], DEFAULT, lenient)
    believed = 1.0 / (
        1.0
        + UPSIDE_DOWN_PRIOR
        / (1.0 - UPSIDE_DOWN_PRIOR)
        * np.exp([upright.flipped_gain, over.flipped_gain])
    )
    assert believed[0] > 0.99 and believed[1] < 1e-6
    assert all(span.confidence > 0.5 for span in upright.spans)
    assert (
        all(span.confidence <= believed[1] for span in over.spans)
        and over.set_probability <= believed[1]
    )


def test_air_beyond_a_body_counts_among_the_slices_that_stand_in_order_and_a_void_within_it_does_not() -> (
    None
):
    """Ten slices of head between twice ten of air: of 29 neighbours 2 differ, of 435 pairs 200.  Four more
    without signal in the head's midst change nothing."""
    p = np.full((30, len(DEFAULT.classes)), 1e-6)
    p[:, -1] = p[10:20, DEFAULT.classes.index("head")] = 1.0
    p[10:20, -1] = 1e-6
    for each in (p, np.insert(p, [15] * 4, p[0], axis=0)):
        decision = decide_volume(
            each / each.sum(axis=1, keepdims=True),
            10.0 * np.arange(len(each)),
            DEFAULT,
            Rule(sigma_mm=0.0),
        )
        assert {span.region for span in decision.spans} == {"head"}
        assert decision.roughness == pytest.approx((2 / 29) / (200 / 435), rel=1e-4)


def test_where_nothing_is_shown_a_body_upside_down_is_no_less_sure_of_that(bodies: Bodies) -> None:
    """Air is air either way up: the regions are not believed, and the slices around them are as where the way
    up was not judged."""
    example, lenient = bodies(6), Rule(usual_misfit=np.inf, usual_roughness=1 - 1e-9)
    probabilities, z_mm = example.probabilities[::-1], -example.z_mm[::-1]
    over, unjudged = (
        decide_volume(probabilities, z_mm, DEFAULT, lenient, turned_probabilities=turned)
        for turned in (None, probabilities)
    )
    air = over.decided_labels[:, -1]
    assert (
        air.any()
        and over.is_flipped
        and over.slice_confidence[~air].max() < 1e-6 < unjudged.slice_confidence[~air].min()
    )
    np.testing.assert_allclose(
        over.slice_confidence[air], unjudged.slice_confidence[air], rtol=1e-9
    )


def test_of_an_order_that_costs_twice_the_usual_a_quarter_is_believed_and_of_a_roughness_what_it_lacks_to_that_of_chance(
    bodies: Bodies,
) -> None:
    """Every region, and the set of them; where usual volumes have half the roughness of slices in no order at
    all, and this one more."""
    example, lenient = (
        bodies(6, noise=4.0),
        Rule(sigma_mm=0.0, usual_misfit=np.inf, usual_roughness=1 - 1e-9),
    )
    whole = decide_volume(example.probabilities, example.z_mm, DEFAULT, lenient)
    assert whole.misfit > 0 and 0.5 < whole.roughness < 0.95
    costly, rough = {"usual_misfit": whole.misfit / 2}, {"usual_roughness": 0.5}
    for usual, share in (
        (costly, 1 / 4),
        (rough, 2 * (1 - whole.roughness)),
        (costly | rough, (1 - whole.roughness) / 2),
    ):
        less = decide_volume(
            example.probabilities, example.z_mm, DEFAULT, replace(lenient, **usual)
        )
        assert [one.confidence for one in less.spans] == pytest.approx(
            [share * one.confidence for one in whole.spans]
        )
        assert less.set_probability == pytest.approx(share * whole.set_probability)
