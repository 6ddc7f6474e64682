"""The intervals of borders: against every path there is, and against bodies drawn from the very probabilities
given."""

from __future__ import annotations

from dataclasses import replace
from itertools import combinations_with_replacement, pairwise

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis.strategies import floats, integers, sampled_from

from fovnet.decision.chain.boundaries import INTERVAL_COVERAGE, height_interval
from fovnet.decision.chain.spans import UPSIDE_DOWN_PRIOR, decide_volume
from fovnet.decision.rule import Rule
from fovnet.maths.chain_recursion import Crossings
from fovnet.maths.ladder import Height, Ladder
from fovnet.regions import DEFAULT, NONE, Region, Vocabulary

TWO = Vocabulary((Region("lower", 0, "#000000"), Region("upper", 1, "#ffffff")))


@given(integers(3, 40), integers(0, 999))
def test_the_interval_holds_its_share_of_borders_drawn_between_the_slices(
    s: int, seed: int
) -> None:
    """A border is drawn at an edge, and evenly between the two slices it parts: counted over 20,000 draws,
    one in twenty off either end."""
    rng = np.random.default_rng(seed)
    z_mm, share = np.cumsum(rng.uniform(1, 10, s)), rng.dirichlet(np.ones(s - 1))
    with np.errstate(divide="ignore"):
        low, high = height_interval(np.log(np.concatenate([[0.0], share, [0.0]])), z_mm)
    at = rng.choice(s - 1, p=share, size=20_000)
    drawn = rng.uniform(z_mm[at], z_mm[at + 1])
    assert (drawn < low).mean() == pytest.approx((1 - INTERVAL_COVERAGE) / 2, abs=0.01)
    assert (drawn > high).mean() == pytest.approx((1 - INTERVAL_COVERAGE) / 2, abs=0.01)


def test_intervals_of_borders_drawn_from_the_posterior_hold_nine_times_in_ten() -> None:
    """400 bodies whose border is drawn from what the decoder believes of them; the interval is that of the
    decision."""
    rng = np.random.default_rng(0)
    held = []
    for _ in range(400):
        s = int(rng.integers(10, 60))
        z_mm = 10.0 * np.arange(s)
        score = rng.normal(scale=1.5, size=(s, 2)) + 3.0 * np.stack(
            [np.arange(s) < s / 2, np.arange(s) >= s / 2], axis=1
        )
        p = np.exp(np.column_stack([score, np.full(s, -20.0)]))
        p /= p.sum(axis=1, keepdims=True)
        decision = decide_volume(p, z_mm, TWO, Rule(sigma_mm=0.0, usual_misfit=100.0))
        kind = [
            border for border in decision.boundaries if (border.below, border.above) == TWO.chain
        ]
        if not kind:
            continue
        crossed: Crossings = Ladder(np.log(p[:, :2]), np.log(p[:, 2])).crossings()
        chance = np.exp(crossed.borders[0, 1:-1])
        at = int(rng.choice(s - 1, p=chance / chance.sum()))
        held.append(kind[0].low_mm <= rng.uniform(z_mm[at], z_mm[at + 1]) <= kind[0].high_mm)
    assert len(held) > 350
    assert np.mean(held) == pytest.approx(INTERVAL_COVERAGE, abs=0.05)


def test_the_borders_are_where_the_spans_meet_and_lie_in_their_intervals(bodies) -> None:
    for seed in range(20):
        example = bodies(seed, noise=2.0)
        decision = decide_volume(
            example.probabilities, example.z_mm, DEFAULT, Rule(border_toll=1.0)
        )
        chain = [span for span in decision.spans if span.region in DEFAULT.chain]
        borders = {(border.below, border.above): border for border in decision.boundaries}
        for lower, upper in pairwise(chain):
            assert borders[lower.region, upper.region].mm == lower.to_mm == upper.from_mm
        assert all(border.low_mm <= border.mm <= border.high_mm for border in decision.boundaries)
        assert 0.0 <= decision.set_probability <= 1.0


def test_the_ends_of_a_body_with_air_below_and_above_are_borders_too(bodies) -> None:
    example = bodies(3, noise=0.5)
    found = decide_volume(
        example.probabilities, example.z_mm, DEFAULT, Rule(sigma_mm=0.0)
    ).boundaries
    assert [(one.below, one.above) for one in found] == list(pairwise([NONE, *DEFAULT.chain, NONE]))
    assert [one.mm for one in found] == pytest.approx(97.5 + 150.0 * np.arange(len(found)))


@given(s=integers(1, 7), seed=integers(0, 10**6), evidence_mm=sampled_from([10.0, 25.0]))
def test_the_set_is_as_probable_as_the_paths_that_show_it(
    s: int, seed: int, evidence_mm: float
) -> None:
    """All runs none* lower* upper* none* one by one, upright, and upside down one time in a hundred
    beforehand; slices 10 mm apart count less where evidence comes every 25 mm, and for which way is up as
    much as ever."""
    p = np.random.default_rng(seed).dirichlet(np.ones(3), s)
    z_mm = 10.0 * np.arange(s) if s > 1 else np.zeros(1)
    decision = decide_volume(
        p, z_mm, TWO, Rule(sigma_mm=0.0, usual_misfit=100.0, evidence_mm=evidence_mm)
    )
    # a lone slice is taken to be 1 mm high, a tenth of an observation
    power = 1.0 if s > 1 else 0.1
    upright, turned = every_set(p, power), every_set(p[::-1], power)
    believed = every_set(p, power * 10.0 / evidence_mm)
    predicted = tuple(sorted({span.region for span in decision.spans}))
    odds = (
        UPSIDE_DOWN_PRIOR / (1 - UPSIDE_DOWN_PRIOR) * sum(turned.values()) / sum(upright.values())
    )
    assert decision.set_probability == pytest.approx(
        believed[predicted] / sum(believed.values()) / (1 + odds)
    )


def every_set(p: np.ndarray, power: float) -> dict[tuple[str, ...], float]:
    """The weight of every set of regions; a slice within one may be blank, at a nineteenth of what none is
    worth."""
    s, found = len(p), {}
    p = np.column_stack([np.maximum(p[:, :2], p[:, 2:] / 19), p[:, 2]]) ** power
    for b in range(s + 1):
        for m in range(b, s + 1):
            for e in range(m, s + 1):
                if b == e and b < s:
                    # no region at all is one path, however it is cut
                    continue
                key = tuple(
                    name for name, there in zip(TWO.chain, (b < m, m < e), strict=True) if there
                )
                weight = p[:b, 2].prod() * p[b:m, 0].prod() * p[m:e, 1].prod() * p[e:, 2].prod()
                found[key] = found.get(key, 0.0) + float(weight)
    return found


@given(s=integers(2, 7), seed=integers(0, 10**6))
def test_the_interval_of_a_border_is_the_middle_of_where_all_paths_have_it(
    s: int, seed: int
) -> None:
    """Either end of the body and the step between its regions, all runs none* lower* upper* none* one by
    one."""
    p, z_mm = np.random.default_rng(seed).dirichlet(np.ones(3), s), 10.0 * np.arange(s)
    blank = np.column_stack([np.maximum(p[:, :2], p[:, 2:] / 19), p[:, 2]])
    weights: dict[tuple[str, str], np.ndarray] = {}
    for b, m, e in combinations_with_replacement(range(s + 1), 3):
        path = np.repeat([NONE, *TWO.chain, NONE], [b, m - b, e - m, s - e])
        worth = blank[np.arange(s), [(*TWO.chain, NONE).index(name) for name in path]].prod()
        for at in np.flatnonzero(path[1:] != path[:-1]) + 1:
            weights.setdefault((path[at - 1], path[at]), np.zeros(s + 1))[at] += worth
    for border in decide_volume(p, z_mm, TWO, Rule(sigma_mm=0.0)).boundaries:
        with np.errstate(divide="ignore"):
            low, high = height_interval(np.log(weights[border.below, border.above]), z_mm)
        assert border.low_mm == pytest.approx(min(low, border.mm - INTERVAL_COVERAGE * 5.0))
        assert border.high_mm == pytest.approx(max(high, border.mm + INTERVAL_COVERAGE * 5.0))


@pytest.mark.parametrize("stretch", [0.01, 1.0])
def test_a_border_that_the_slices_are_sure_of_lies_between_the_two_it_parts_and_anywhere_there(
    stretch, bodies
) -> None:
    """Slices 5 mm apart: 2.5 mm either way, nine tenths of which any interval holds, however much too wide it
    was on validation volumes."""
    example = bodies(8)
    sure = np.where(example.truth, 1.0, 1e-5)
    sure /= sure.sum(axis=1, keepdims=True)
    found = decide_volume(
        sure, example.z_mm, DEFAULT, Rule(sigma_mm=0.0, interval_stretch=stretch)
    ).boundaries
    # the body's ends may be void: they are less sure
    between = [one for one in found if NONE not in (one.below, one.above)]
    assert [(one.below, one.above) for one in between] == list(pairwise(DEFAULT.chain))
    for one in between:
        assert one.mm - one.low_mm == pytest.approx(INTERVAL_COVERAGE * 2.5, abs=0.5)
        assert one.high_mm - one.mm == pytest.approx(INTERVAL_COVERAGE * 2.5, abs=0.5)


@settings(max_examples=100)
@given(s=integers(5, 30), seed=integers(0, 10**6), spine=floats(0.2, 0.9))
def test_only_predicted_regions_have_borders(s: int, seed: int, spine: float) -> None:
    """Within a spine whose level is unclear the chain still has a path, and predicts nothing."""
    p = np.random.default_rng(seed).dirichlet(np.full(len(DEFAULT.classes), 0.3), s) + 1e-9
    p[:, DEFAULT.classes.index("spine")] += spine / (1 - spine)
    decision = decide_volume(
        p / p.sum(axis=1, keepdims=True), 8.0 * np.arange(s), DEFAULT, Rule(sigma_mm=0.0)
    )
    named = {name for one in decision.boundaries for name in (one.below, one.above)}
    assert named <= {NONE, *(span.region for span in decision.spans)}


@settings(max_examples=50)
@given(s=integers(2, 30), seed=integers(0, 10**6))
def test_a_slice_is_never_more_than_one_observation_however_thick(s: int, seed: int) -> None:
    p = np.random.default_rng(seed).dirichlet(np.full(len(DEFAULT.classes), 0.5), s)
    ten, thirty = (
        decide_volume(p, mm * np.arange(s), DEFAULT, Rule(sigma_mm=0.0)) for mm in (10.0, 30.0)
    )
    assert np.array_equal(ten.decided_labels, thirty.decided_labels) and np.allclose(
        ten.slice_confidence, thirty.slice_confidence
    )
    assert ten.set_probability == pytest.approx(thirty.set_probability)


def test_a_slice_half_of_which_is_spine_says_half_as_much_of_its_rung(bodies) -> None:
    """Beside a spine that takes half of every slice the borders are as uncertain as without one where
    observations come half as often."""
    example = bodies(9)
    p = np.exp(
        2.0 * example.truth + np.random.default_rng(9).normal(scale=0.2, size=example.truth.shape)
    )
    p[:, DEFAULT.classes.index("spine")] = 0.0
    p /= p.sum(axis=1, keepdims=True)
    beside = p / 2
    beside[:, DEFAULT.classes.index("spine")] = 0.5
    rule = Rule(
        sigma_mm=0.0, usual_misfit=np.inf, usual_roughness=1 - 1e-9, chain_share_in_side=0.0
    )
    with_spine = decide_volume(beside, example.z_mm, DEFAULT, rule)
    without = decide_volume(p, example.z_mm, DEFAULT, replace(rule, evidence_mm=20.0))
    assert {span.region for span in with_spine.spans} - {span.region for span in without.spans} == {
        "spine"
    }
    found, wanted = (
        [(one.below, one.above, one.low_mm, one.high_mm) for one in each.boundaries]
        for each in (with_spine, without)
    )
    assert [one[:2] for one in found] == [one[:2] for one in wanted]
    np.testing.assert_allclose([one[2:] for one in found], [one[2:] for one in wanted], atol=1e-3)


def test_half_the_evidence_is_that_of_probabilities_as_their_roots(bodies) -> None:
    """Observations taken for independent every 20 mm instead of every 10 count half: slices, tolls and
    heights alike."""
    example = bodies(9)
    p = np.exp(
        2.0 * example.truth + np.random.default_rng(9).normal(scale=0.2, size=example.truth.shape)
    )
    p[:, DEFAULT.classes.index("spine")] = 1e-12
    root = np.sqrt(p)
    heights, wider = (
        tuple(Height(150.0, sd_mm) for _ in DEFAULT.chain) for sd_mm in (30.0, 30.0 * np.sqrt(2))
    )
    rule = Rule(sigma_mm=0.0, usual_misfit=np.inf, usual_roughness=1 - 1e-9)
    weak, plain = (
        replace(rule, evidence_mm=20.0, border_toll=4.0, heights=heights),
        replace(rule, border_toll=2.0, heights=wider),
    )
    halved = decide_volume(p / p.sum(axis=1, keepdims=True), example.z_mm, DEFAULT, weak)
    rooted = decide_volume(root / root.sum(axis=1, keepdims=True), example.z_mm, DEFAULT, plain)
    assert (
        np.array_equal(halved.decided_labels, rooted.decided_labels)
        and 0.1 < halved.set_probability < 1
    )
    assert halved.set_probability == pytest.approx(rooted.set_probability, rel=1e-6)
    for one, other in zip(halved.boundaries, rooted.boundaries, strict=True):
        assert (one.low_mm, one.high_mm) == pytest.approx((other.low_mm, other.high_mm), abs=1e-3)
