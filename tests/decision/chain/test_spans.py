"""From probabilities to spans: what is known about the body is never contradicted, whatever the networks
answer."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import fields, replace
from itertools import pairwise

import numpy as np
import pytest
from hypothesis import assume, given, settings
from hypothesis.strategies import floats, integers, lists, sampled_from
from scipy.special import expit, logit

from fovnet.decision.chain.spans import (
    class_of_labels,
    cut_ends,
    decide_labels,
    decide_volume,
    slice_probabilities,
)
from fovnet.decision.fitting.objective import TuningExample
from fovnet.decision.rule import MEANING_BY_SETTING, Rule
from fovnet.maths.ladder import Height, Ladder
from fovnet.regions import DEFAULT, Region, Vocabulary

N = len(DEFAULT.chain)
Bodies = Callable[..., TuningExample]


@settings(max_examples=200)
@given(
    s=integers(1, 40),
    seed=integers(0, 10**6),
    sharp=floats(0.1, 20),
    sigma_mm=floats(0, 30),
    toll=sampled_from([0.0, 2.0]),
)
def test_whatever_the_probabilities_the_spans_are_anatomy(
    s: int, seed: int, sharp: float, sigma_mm: float, toll: float
) -> None:
    """Each region once, in order, between neighbours nothing but what shows none; every slice decided; every
    confidence a probability."""
    rng = np.random.default_rng(seed)
    p = rng.dirichlet(np.ones(len(DEFAULT.classes)) / sharp, size=s) + 1e-12
    p /= p.sum(axis=1, keepdims=True)
    z_mm = np.cumsum(rng.uniform(1, 12, s))
    decision = decide_volume(p, z_mm, DEFAULT, Rule(sigma_mm=sigma_mm, border_toll=toll))
    chain = [span for span in decision.spans if span.region in DEFAULT.chain]
    rungs = list(dict.fromkeys(DEFAULT.chain.index(span.region) for span in chain))
    assert rungs == list(range(rungs[0], rungs[0] + len(rungs))) if rungs else True
    assert all(
        DEFAULT.chain.index(lower.region) <= DEFAULT.chain.index(upper.region)
        for lower, upper in pairwise(chain)
    )
    chained = decision.decided_labels[:, : len(DEFAULT.chain)].any(axis=1)
    assert not any(chained[lower.last + 1 : upper.first].any() for lower, upper in pairwise(chain))
    assert decision.decided_labels.any(axis=1).all()
    assert ((decision.slice_confidence >= 0) & (decision.slice_confidence <= 1 + 1e-9)).all()
    assert all(span.from_mm < span.to_mm for span in decision.spans)


def test_a_noisy_body_is_cut_within_a_slice_of_its_borders(bodies: Bodies) -> None:
    example = bodies(3)
    decision = decide_volume(example.probabilities, example.z_mm, DEFAULT, Rule(sigma_mm=6))
    borders = {span.region: span.from_mm for span in decision.spans if span.region in DEFAULT.chain}
    for rung, region in enumerate(DEFAULT.chain):
        assert borders[region] == pytest.approx(100 + 150 * rung, abs=5.0)


def test_air_at_the_ends_stays_none_and_is_not_forced_into_a_region(bodies: Bodies) -> None:
    example = bodies(4, noise=0.5)
    decision = decide_volume(example.probabilities, example.z_mm, DEFAULT, Rule())
    assert decision.decided_labels[0, -1]
    assert decision.decided_labels[-1, -1]


def test_nothing_but_air_gives_no_span() -> None:
    p = np.full((20, len(DEFAULT.classes)), 0.02)
    p[:, -1] = 1 - 0.02 * (len(DEFAULT.classes) - 1)
    for heights in ((), tuple(Height(150.0, 30.0) for _ in DEFAULT.chain)):
        decision = decide_volume(
            p, 5.0 * np.arange(20), DEFAULT, Rule(heights=heights, heights_for="presence")
        )
        assert decision.spans == ()
        assert decision.volume_confidence > 0.9


def test_spine_is_reported_beside_the_regions_it_crosses(bodies: Bodies) -> None:
    example = bodies(5, spine=True, noise=0.5)
    decision = decide_volume(example.probabilities, example.z_mm, DEFAULT, Rule())
    assert [span.region for span in decision.spans] == [*DEFAULT.chain, *DEFAULT.side_regions]
    spine = decision.spans[-1]
    # of two labels a slice is called by its spine first, and is so sure
    first = class_of_labels(decision.decided_labels, N)
    assert np.flatnonzero(first == N).tolist() == list(range(spine.first, spine.last + 1))
    assert spine.confidence == pytest.approx(decision.slice_confidence[first == N].mean())


@pytest.mark.parametrize(
    ("crossed", "levels"),
    [
        (["pelvis", "abdomen"], ("lumbar",)),
        (["chest"], ("thoracic",)),
        (["abdomen", "chest", "head"], ("lumbar", "thoracic", "cervical")),
        (["legs"], ()),
    ],
)
def test_a_spine_is_called_by_the_regions_it_crosses(
    crossed: list[str], levels: tuple[str, ...]
) -> None:
    """30 slices of 5 mm a region, half of every slice's share spine."""
    p = np.full((30 * len(crossed), len(DEFAULT.classes)), 0.01)
    p[:, DEFAULT.classes.index("spine")] = 0.45
    p[np.arange(len(p)), np.repeat([DEFAULT.classes.index(region) for region in crossed], 30)] = 0.5
    decision = decide_volume(
        p / p.sum(axis=1, keepdims=True), 5.0 * np.arange(len(p)), DEFAULT, Rule()
    )
    assert [span.region for span in decision.spans] == [*crossed, "spine"]
    assert decision.spans[-1].levels == levels


def test_a_sliver_of_the_next_level_is_not_named() -> None:
    """Two slices of 5 mm of chest above 150 mm of abdomen: 10 mm are a fifteenth of the spine in view."""
    p = np.full((32, len(DEFAULT.classes)), 0.01)
    p[:, DEFAULT.classes.index("spine")] = 0.45
    p[:30, DEFAULT.classes.index("abdomen")] = p[30:, DEFAULT.classes.index("chest")] = 0.5
    spine = decide_volume(
        p / p.sum(axis=1, keepdims=True), 5.0 * np.arange(32), DEFAULT, Rule(sigma_mm=0.0)
    ).spans[-1]
    assert spine.region == "spine" and spine.levels == ("lumbar",)


@pytest.mark.parametrize(
    ("chest_mm", "levels"), [(84.0, ("lumbar", "thoracic")), (76.0, ("lumbar",))]
)
def test_a_level_of_eighty_millimetres_is_named_however_long_the_spine_and_however_thick_its_slices(
    chest_mm: float, levels: tuple[str, ...]
) -> None:
    """Above 600 mm of abdomen, in 60 thin slices or 15 thick ones: a seventh or an eighth of the millimetres,
    a quarter or less of the slices."""
    for abdomen, chest in ((60, 4), (15, 40)):
        edges_mm = np.concatenate(
            [np.linspace(0, 600, abdomen + 1), 600 + np.linspace(0, chest_mm, chest + 1)[1:]]
        )
        p = np.full((abdomen + chest, len(DEFAULT.classes)), 0.001)
        p[:, N] = 0.5
        p[:abdomen, DEFAULT.classes.index("abdomen")] = p[
            abdomen:, DEFAULT.classes.index("chest")
        ] = 0.5
        z_mm = (edges_mm[1:] + edges_mm[:-1]) / 2
        spans = decide_volume(
            p / p.sum(axis=1, keepdims=True), z_mm, DEFAULT, Rule(sigma_mm=0.0), edges_mm=edges_mm
        ).spans
        assert [span.region for span in spans] == ["abdomen", "chest", "spine"]
        assert spans[-1].levels == levels


def test_spine_alone_leaves_the_chain_alone() -> None:
    """All spine is no evidence for any rung: no chain region is made up from the last percent."""
    p = np.full((30, len(DEFAULT.classes)), 0.01)
    p[:, DEFAULT.classes.index("spine")] = 0.94
    decision = decide_volume(p, 3.0 * np.arange(30), DEFAULT, Rule())
    assert [span.region for span in decision.spans] == list(DEFAULT.side_regions)


@pytest.mark.parametrize(
    ("shares", "beside"), [([0.02] * 9 + [0.2], False), ([0.02] * 5 + [0.2] * 5, True)]
)
def test_within_a_spine_a_region_is_predicted_by_its_mean_share_along_itself(
    shares: list[float], beside: bool
) -> None:
    """Pelvis below, where no spine is; then ten slices of spine with so much abdomen, and thirty with nothing
    else."""
    p = np.full((50, len(DEFAULT.classes)), 1e-4)
    spine, abdomen = p[10:, N], p[10:20, DEFAULT.classes.index("abdomen")]
    p[:10, DEFAULT.classes.index("pelvis")] = spine[:] = 1.0
    abdomen[:] = shares
    spine[:10] -= shares
    p[20:, -1] = 1e-2
    drawn = decide_labels(
        p / p.sum(axis=1, keepdims=True),
        20.0 * np.arange(50),
        DEFAULT,
        Rule(sigma_mm=0.0, chain_share_in_side=0.06),
    )
    assert np.flatnonzero(drawn.decided_labels[:, N]).tolist() == list(range(10, 50))
    assert drawn.decided_labels[:, DEFAULT.classes.index("abdomen")].any() == beside


@given(
    spine=floats(0.02, 0.98),
    threshold=floats(0.05, 0.95),
    chest=floats(0.0, 1.0),
    slices=integers(2, 20),
)
def test_a_spine_is_reported_above_the_threshold_and_where_it_is_the_most_probable(
    spine: float, threshold: float, chest: float, slices: int
) -> None:
    """The rest is partly chest's and partly spread over five classes."""
    p = np.full((slices, len(DEFAULT.classes)), (1 - spine) * (1 - chest) / 5)
    p[:, [DEFAULT.classes.index("spine"), DEFAULT.classes.index("chest")]] = (
        spine,
        (1 - spine) * chest,
    )
    rival = max((1 - spine) * chest, (1 - spine) * (1 - chest) / 5)
    assume(abs(spine - threshold) > 1e-6 and abs(spine - rival) > 1e-6)
    drawn = decide_labels(
        p, 5.0 * np.arange(slices), DEFAULT, Rule(side_threshold=threshold, sigma_mm=0.0)
    )
    assert (
        drawn.decided_labels[:, DEFAULT.classes.index("spine")]
        == (spine > threshold or spine > rival)
    ).all()


@pytest.mark.parametrize("side_region", ["hand", "foot"])
def test_each_of_two_protocols_is_reported_where_it_is_the_most_probable(side_region: str) -> None:
    """With four tenths, half of the threshold, beside a tenth of the other one."""
    two = Vocabulary(
        (
            Region("low", 0, "#111111"),
            Region("high", 1, "#222222"),
            Region("hand", None, "#333333"),
            Region("foot", None, "#444444"),
        )
    )
    p = np.array([[0.3, 0.1, 0.1, 0.1, 0.1]] * 20)
    p[:, two.classes.index(side_region)] = 0.4
    drawn = decide_labels(p, 5.0 * np.arange(20), two, Rule(side_threshold=0.8, sigma_mm=0.0))
    assert {
        name for name in two.side_regions if drawn.decided_labels[:, two.classes.index(name)].any()
    } == {side_region}


@settings(max_examples=200)
@given(
    spine=floats(0.4, 0.95),
    levels=lists(floats(0.01, 1.0), min_size=N, max_size=N),
    slices=integers(2, 40),
)
def test_within_a_spine_only_regions_that_are_rather_present_are_predicted(
    spine: float, levels: list[float], slices: int
) -> None:
    """Where all else is spread over the chain, the answer is a spine, no less sure than its share; where it
    is of one region, both."""
    p = np.tile([*(np.array(levels) / sum(levels) * (1 - spine)), spine, 1e-6], (slices, 1))
    decision = decide_volume(
        p / p.sum(axis=1, keepdims=True), 5.0 * np.arange(slices), DEFAULT, Rule(sigma_mm=0.0)
    )
    beside = [span for span in decision.spans if span.region != "spine"]
    assert decision.spans[-1].region == "spine" and len(beside) <= 1
    assert all(span.confidence >= 0.5 for span in beside)
    if not beside:
        assert decision.set_probability > spine - 0.05 and decision.boundaries == ()


@pytest.mark.parametrize(
    "labels", [("hand",), ("hand", "foot"), ("low", "hand"), ("low", "hand", "foot")]
)
def test_networks_that_give_their_targets_are_sure_however_many_labels_a_slice_has(
    labels: tuple[str, ...],
) -> None:
    """Training splits the target of a slice evenly among its labels: a share of a third is then as sure as
    can be."""
    two = Vocabulary(
        (
            Region("low", 0, "#111111"),
            Region("high", 1, "#222222"),
            Region("hand", None, "#333333"),
            Region("foot", None, "#444444"),
        )
    )
    probabilities = np.full((40, 5), 1e-4)
    probabilities[:, [two.classes.index(name) for name in labels]] = 1 / len(labels)
    probabilities /= probabilities.sum(axis=1, keepdims=True)
    found = decide_volume(probabilities, 5.0 * np.arange(40), two, Rule(sigma_mm=0.0))
    assert {span.region for span in found.spans} == set(labels)
    assert min(span.confidence for span in found.spans) > 0.95 and found.set_probability > 0.7
    assert (
        slice_probabilities(found.smoothed_probabilities, found.decided_labels, 2)[
            :, [two.classes.index(name) for name in labels]
        ].min()
        > 0.99
    )


@given(s=integers(1, 10), seed=integers(0, 10**6))
def test_of_each_slice_alone_the_rungs_and_none_are_as_probable_as_given_that_they_are_not_spine(
    s: int, seed: int
) -> None:
    p = np.random.default_rng(seed).dirichlet(np.ones(len(DEFAULT.classes)), s)
    alone = slice_probabilities(p, np.zeros(p.shape, dtype=bool), N)
    np.testing.assert_allclose(
        np.delete(alone, N, axis=1), np.delete(p, N, axis=1) / (1 - p[:, [N]]), rtol=1e-4
    )


def test_the_order_upside_down_fits_better_only_for_an_upside_down_body(bodies: Bodies) -> None:
    example = bodies(6)
    upright = decide_volume(example.probabilities, example.z_mm, DEFAULT, Rule())
    flipped = decide_volume(example.probabilities[::-1], example.z_mm, DEFAULT, Rule())
    assert upright.flipped_gain < 0 and not upright.is_flipped
    assert flipped.flipped_gain == pytest.approx(-upright.flipped_gain)
    assert flipped.is_flipped


def test_a_vocabulary_without_protocols_and_with_two_regions_is_decided_too() -> None:
    feet_first = Vocabulary((Region("lower", 0, "#000000"), Region("upper", 1, "#ffffff")))
    p = np.array([[0.9, 0.05, 0.05]] * 4 + [[0.05, 0.9, 0.05]] * 4)
    assert [
        span.region
        for span in decide_volume(p, 5.0 * np.arange(8), feet_first, Rule(sigma_mm=0)).spans
    ] == [
        "lower",
        "upper",
    ]


def test_one_slice_is_enough_for_an_answer() -> None:
    p = np.full((1, len(DEFAULT.classes)), 0.01)
    p[0, 4] = 0.94
    decision = decide_volume(p, np.array([12.0]), DEFAULT, Rule())
    assert [span.region for span in decision.spans] == [DEFAULT.chain[4]]


@given(integers(2, 30), integers(0, 99))
def test_edges_meet_half_way_and_leave_no_gap(s: int, seed: int) -> None:
    z_mm = np.cumsum(np.random.default_rng(seed).uniform(0.5, 10, s))
    lower, upper = cut_ends(z_mm)
    np.testing.assert_allclose(upper[:-1], lower[1:])
    assert ((lower < z_mm) & (z_mm < upper)).all()
    # outwards as inwards
    assert (z_mm[0] - lower[0], upper[-1] - z_mm[-1]) == pytest.approx(
        (upper[0] - z_mm[0], z_mm[-1] - lower[-1])
    )


def test_without_spine_and_smoothing_the_chain_is_the_plain_ladder(bodies: Bodies) -> None:
    """The weights of the evidence scale all paths alike, so the best one is that of the bare
    log-probabilities."""
    p = np.delete(bodies(7).probabilities, N, axis=1)
    p /= p.sum(axis=1, keepdims=True)
    plain, _ = Ladder(np.log(p[:, :N]), np.log(p[:, N])).best()
    chain_only = Vocabulary(tuple(region for region in DEFAULT.regions if region.rung is not None))
    decision = decide_volume(p, bodies(7).z_mm, chain_only, Rule(sigma_mm=0))
    expected = np.where((plain >= 1) & (plain <= N), plain - 1, N)
    np.testing.assert_array_equal(class_of_labels(decision.decided_labels, N), expected)


def test_by_intersections_no_border_stands_but_where_two_curves_cross() -> None:
    """The pelvis between legs and abdomen is nowhere the more probable: the exact decoder gives it a slice,
    the thesis's stays below."""
    p = np.full((20, len(DEFAULT.classes)), 1e-4)
    p[:10, DEFAULT.classes.index("legs")] = p[10:, DEFAULT.classes.index("abdomen")] = 0.9
    p[:10, DEFAULT.classes.index("abdomen")] = p[10:, DEFAULT.classes.index("legs")] = 0.08
    p[:, DEFAULT.classes.index("pelvis")] = 0.02
    exact, crossing = (
        [
            span.region
            for span in decide_volume(
                p, 5.0 * np.arange(20), DEFAULT, Rule(sigma_mm=0.0, method=method)
            ).spans
        ]
        for method in ("exact", "intersections")
    )
    assert exact == ["legs", "pelvis", "abdomen"] and len(crossing) == 1


def test_a_void_within_a_region_shows_none_and_the_region_goes_on_above_it(bodies: Bodies) -> None:
    """Six slices, 30 mm, that the networks are sure show nothing, in the middle of the chest: the body does
    not end there."""
    example = bodies(3, noise=0.5)
    chest, none = DEFAULT.classes.index("chest"), len(DEFAULT.classes) - 1
    rows = np.flatnonzero(example.truth[:, chest])[12:18]
    p = example.probabilities.copy()
    p[rows] = 0.001
    p[rows, none] = 1 - 0.001 * none
    rule = Rule(sigma_mm=0.0)
    void, whole = (
        decide_volume(p, example.z_mm, DEFAULT, rule),
        decide_volume(example.probabilities, example.z_mm, DEFAULT, rule),
    )
    assert [span.region for span in void.spans] == [
        "legs",
        "pelvis",
        "abdomen",
        "chest",
        "chest",
        "head",
    ]
    assert void.decided_labels[rows, none].all() and void.slice_confidence[rows].min() > 0.9
    others = np.setdiff1d(np.arange(len(p)), rows)
    assert np.array_equal(void.decided_labels[others], whole.decided_labels[others])
    assert [(one.below, one.above, one.mm) for one in void.boundaries] == [
        (one.below, one.above, one.mm) for one in whole.boundaries
    ]


def test_a_slice_that_is_rather_none_than_not_does_not_part_a_region(bodies: Bodies) -> None:
    """What 80 % for none is worth beyond doubt above the head is no void within the chest."""
    example = bodies(3, noise=0.5)
    row = np.flatnonzero(example.truth[:, DEFAULT.classes.index("chest")])[12]
    p = example.probabilities.copy()
    p[row] = 0.2 / (p.shape[1] - 1)
    p[row, DEFAULT.classes.index("chest")] = 0.18
    p[row, -1] = 0.8
    p[row] /= p[row].sum()
    assert [
        span.region for span in decide_volume(p, example.z_mm, DEFAULT, Rule(sigma_mm=0.0)).spans
    ].count("chest") == 1


def test_every_setting_of_a_rule_has_a_meaning() -> None:
    assert MEANING_BY_SETTING.keys() == {field.name for field in fields(Rule)}


@pytest.mark.parametrize("share", [0.02, 0.1, 0.2])
def test_a_set_without_a_spine_is_no_more_probable_than_that_there_is_none(share: float) -> None:
    """Beside a chest a spine is asked for half of a slice: half its share is the chance that there is one, in
    all slices or in one."""
    for hinted in (slice(None), slice(12, 13)):
        p = np.full((30, len(DEFAULT.classes)), 1e-6)
        p[:, DEFAULT.classes.index("chest")] = 1.0
        p[hinted, DEFAULT.classes.index("spine")], p[hinted, DEFAULT.classes.index("chest")] = (
            share,
            1 - share,
        )
        decision = decide_volume(
            p / p.sum(axis=1, keepdims=True), 5.0 * np.arange(30), DEFAULT, Rule(sigma_mm=0)
        )
        assert [span.region for span in decision.spans] == ["chest"]
        assert decision.set_probability == pytest.approx(1 - 2 * share, abs=0.02)


def test_a_set_with_a_spine_is_as_probable_as_its_slices_show_one_on_average() -> None:
    """Beside a chest that is beyond doubt: 0.9 in half of the slices, 0.7 in the others, of which a spine has
    half of the target."""
    p = np.full((30, len(DEFAULT.classes)), 1e-6)
    p[:, DEFAULT.classes.index("spine")] = np.repeat([0.45, 0.35], 15)
    p[:, DEFAULT.classes.index("chest")] = 1 - p[:, DEFAULT.classes.index("spine")]
    rule = Rule(sigma_mm=0, usual_misfit=np.inf, usual_roughness=1 - 1e-9)
    decision = decide_volume(p / p.sum(axis=1, keepdims=True), 10.0 * np.arange(30), DEFAULT, rule)
    assert [span.region for span in decision.spans] == ["chest", "spine"]
    assert decision.set_probability == pytest.approx(0.8, abs=0.02) == decision.spans[-1].confidence


def test_the_span_that_is_least_sure_calibrates_the_set(bodies: Bodies) -> None:
    """Calibrated as a logistic model of two logits, whose weights validation volumes choose."""
    example, rule = bodies(6, noise=2.0), Rule(usual_misfit=np.inf, usual_roughness=1 - 1e-9)
    plain, calibrated = (
        decide_volume(example.probabilities, example.z_mm, DEFAULT, one)
        for one in (rule, replace(rule, line=(0.7, -0.2, 0.4)))
    )
    least = min(span.confidence for span in plain.spans)
    assert least < max(span.confidence for span in plain.spans) - 0.01
    assert calibrated.set_probability == pytest.approx(
        expit(0.7 * logit(plain.set_probability) - 0.2 + 0.4 * logit(least))
    )


def test_a_spine_is_the_stretch_that_weighs_most_by_its_millimetres() -> None:
    """Three thin slices with a little spine do not outweigh, across a gap of one thick slice that does not,
    one thick one that does."""
    edges_mm = np.cumsum([0.0, 1, 1, 1, 20, 20])
    spine = np.array([0.5, 0.5, 0.5, 0.2, 0.6])
    p = np.full((5, len(DEFAULT.classes)), 1e-6)
    p[:, N], p[:, DEFAULT.classes.index("chest")] = spine, 1 - spine
    z_mm = (edges_mm[1:] + edges_mm[:-1]) / 2
    shown = decide_labels(
        p / p.sum(axis=1, keepdims=True),
        z_mm,
        DEFAULT,
        Rule(sigma_mm=0, side_threshold=0.3),
        edges_mm,
    )
    assert np.flatnonzero(shown.decided_labels[:, N]).tolist() == [4]


def test_heights_that_count_for_presence_alone_move_no_border(bodies: Bodies) -> None:
    """A chest of 150 mm where the rule has chests of 250, give or take 5: its borders are stretched where
    heights count for them, and stay where the slices have them where they do not.  Which regions are shown is
    the same."""
    example = bodies(3)
    heights = tuple(
        Height(250.0, 5.0) if region == "chest" else Height(150.0, 30.0) for region in DEFAULT.chain
    )
    everywhere, presence = (
        {
            span.region: span.to_mm - span.from_mm
            for span in decide_volume(example.probabilities, example.z_mm, DEFAULT, rule).spans
        }
        for rule in (Rule(heights=heights), Rule(heights=heights, heights_for="presence"))
    )
    assert everywhere.keys() == presence.keys() == set(DEFAULT.chain)
    assert everywhere["chest"] > 200.0
    assert all(mm == pytest.approx(150.0, abs=10.0) for mm in presence.values())


def test_heights_that_count_for_presence_alone_leave_a_lone_region_as_high_as_it_is() -> None:
    """A chest of 150 mm in air, where by the rule none is higher than 50."""
    p = np.full((50, len(DEFAULT.classes)), 0.02)
    p[:, -1], p[10:40, DEFAULT.classes.index("chest")], p[10:40, -1] = 0.9, 0.6, 0.2
    heights = tuple(Height(50.0, 1.0) for _ in DEFAULT.chain)
    high_mm = {
        what: sum(
            span.to_mm - span.from_mm
            for span in decide_volume(
                p / p.sum(axis=1, keepdims=True),
                5.0 * np.arange(50),
                DEFAULT,
                Rule(sigma_mm=0.0, heights=heights, heights_for=what),
            ).spans
        )
        for what in ("all", "presence")
    }
    assert high_mm["presence"] == 150.0 and high_mm["all"] < 100.0
