"""Whether a region is shown at all: sure where it is seen or cannot be, and never surer of more of it."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis.strategies import floats, integers

from fovnet.decision.chain.presence import UNKNOWN_PROBABILITY, Presence
from fovnet.decision.chain.spans import decide_volume
from fovnet.decision.fitting.objective import TuningExample
from fovnet.decision.rule import Rule
from fovnet.regions import DEFAULT

N, K = len(DEFAULT.chain), len(DEFAULT.classes)
SPINE = DEFAULT.classes.index("spine")


def presence_of(p: np.ndarray, z_mm: np.ndarray, rule: Rule = Rule()) -> Presence:  # noqa: B008  (frozen)
    return decide_volume(p, z_mm, DEFAULT, rule).presence


def slices(*shown: int, each: int = 10, sure: float = 0.98) -> np.ndarray:
    """`each` slices of every class named, `sure` of it."""
    p = np.full((len(shown) * each, K), (1 - sure) / (K - 1))
    p[np.arange(len(p)), np.repeat(shown, each)] = sure
    return p


def test_what_many_slices_show_is_there_and_what_none_shows_is_not() -> None:
    """Abdomen and chest, 50 mm of each; the head is next to the chest, and not seen."""
    found = presence_of(slices(2, 3), 5.0 * np.arange(20))
    assert (found.body_probability[[2, 3]] > 0.99).all() and (
        found.slice_probability[[2, 3]] > 0.95
    ).all()
    assert (found.body_probability[[0, 1, 4, SPINE]] < 0.05).all() and (
        found.slice_probability[[0, 1, 4, SPINE]] < 0.05
    ).all()


@pytest.mark.parametrize(("thick_mm", "shown"), [(3.0, False), (12.0, True)])
def test_ten_millimetres_are_wanted_however_many_slices_they_are(
    thick_mm: float, shown: bool
) -> None:
    """Two slices of chest above many of the abdomen: 6 mm of it are not enough, and 24 mm are."""
    p = np.concatenate([slices(2, each=20), slices(3, each=2)])
    found = presence_of(p, thick_mm * np.arange(22))
    assert (found.body_probability[3] > 0.5) == shown


@settings(max_examples=60)
@given(seed=integers(0, 10**6), sharp=floats(0.3, 5), low=floats(1, 60), more=floats(0, 80))
def test_more_of_a_region_is_never_more_probable(
    seed: int, sharp: float, low: float, more: float
) -> None:
    rng = np.random.default_rng(seed)
    p = rng.dirichlet(np.ones(K) / sharp, size=int(rng.integers(1, 30))) + 1e-9
    p, z_mm = p / p.sum(axis=1, keepdims=True), np.cumsum(rng.uniform(1, 12, len(p)))
    little, much = (presence_of(p, z_mm, Rule(min_extent_mm=mm)) for mm in (low, low + more))
    assert (much.body_probability <= little.body_probability + 1e-9).all()
    assert (little.body_probability >= 0).all() and (little.body_probability <= 1).all()


def test_a_volume_lower_than_the_extent_can_show_what_fills_it() -> None:
    found = presence_of(slices(3, each=2), np.array([0.0, 2.0]))
    assert found.body_probability.argmax() == 3 and found.slice_probability[3] == pytest.approx(
        0.98, abs=0.01
    )


def test_a_narrow_spine_shows_no_region_of_the_chain() -> None:
    """Its slices are labelled with the spine alone; half spine and half chest is both."""
    alone = presence_of(slices(SPINE), 8.0 * np.arange(10))
    assert alone.body_probability[SPINE] > 0.99 and (alone.body_probability[:N] < 0.1).all()
    p = 0.5 * slices(SPINE, sure=0.96) + 0.5 * slices(3, sure=0.96)
    both = presence_of(p, 8.0 * np.arange(10))
    assert both.body_probability[3] > 0.9 and both.slice_probability[SPINE] == pytest.approx(
        0.5, abs=0.05
    )


def test_slices_out_of_order_say_less_by_the_whole_body(
    bodies: Callable[..., TuningExample],
) -> None:
    """And nothing less by themselves; a volume without any order is as likely as not to show a region."""
    one = bodies(3)
    shuffled = np.random.default_rng(3).permutation(len(one.z_mm))
    rule = replace(Rule(), usual_misfit=0.05, usual_roughness=0.5)
    ordered, mixed = (
        presence_of(p, one.z_mm, rule) for p in (one.probabilities, one.probabilities[shuffled])
    )
    assert (ordered.body_probability[:N] > 0.99).all()
    np.testing.assert_allclose(mixed.body_probability, UNKNOWN_PROBABILITY, atol=0.2)


def test_a_tuned_evidence_changes_how_sure_it_is_and_not_which_is_likelier() -> None:
    p = np.concatenate([slices(2, sure=0.6), slices(3, sure=0.5)])
    weak, strong = (
        presence_of(p, 5.0 * np.arange(20), Rule(evidence_mm=mm)).body_probability
        for mm in (100.0, 10.0)
    )
    assert weak[2] < strong[2] and weak[0] > strong[0]
