"""A trial on paper: strict JSON whatever the losses, and the ranking of the best."""

import json
import math

import pytest
from hypothesis import given
from hypothesis.strategies import floats, lists, none, one_of, sampled_from

from fovnet.search.trial import (
    Outcome,
    Proposal,
    Trial,
    best_trials,
    is_configuration_to_blame,
    trial_from_facts,
    trial_to_facts,
)


def trial(slot, status="completed", score=None, **more):
    return Trial(
        Proposal(slot, slot, {"a": 1, "b": True}, 7, tuple(range(slot)), (), 2.5),
        Outcome(status, score=score, **more),
    )


def same(a, b):
    return a == b or (
        isinstance(a, float) and isinstance(b, float) and math.isnan(a) and math.isnan(b)
    )


@given(
    lists(floats()),
    one_of(none(), floats()),
    sampled_from(["out_of_memory", "diverged", "timeout", "error"]),
)
def test_any_trial_survives_strict_json(curve, score, status):
    before = trial(
        3,
        status,
        score,
        validation_loss=tuple(curve),
        seconds=1.5,
        peak_memory_bytes=9,
        versions={"torch": "2"},
    )
    text = json.dumps(trial_to_facts(before), allow_nan=False)
    after = trial_from_facts(json.loads(text))
    assert after.proposal == before.proposal
    assert same(after.outcome.score, score) and all(map(same, after.outcome.validation_loss, curve))


def test_best_ranks_completed_trials_by_score_then_slot():
    trials = [
        trial(0, score=2.0),
        trial(1, score=1.0),
        trial(2, "diverged"),
        trial(3, score=1.0),
        trial(4, "pruned", 0.5),
    ]
    assert [one.proposal.slot for one in best_trials(trials, 10)] == [1, 3, 0]
    assert [one.proposal.slot for one in best_trials(trials, 1)] == [1]


def test_a_completed_training_has_a_finite_score():
    for score in (None, math.nan, math.inf):
        with pytest.raises(ValueError, match="finite score"):
            Outcome("completed", score=score)
    for score in (math.nan, math.inf):
        with pytest.raises(ValueError, match="a number, or none"):
            Outcome("pruned", score=score)


@pytest.mark.parametrize(
    ("part", "change"),
    [
        ("proposal", {"row": "3"}),
        ("proposal", {"slot": 4.0}),
        ("proposal", {"seen": ["0"]}),
        ("outcome", {"seconds": None}),
        ("outcome", {"seconds": True}),
        ("proposal", {"predicted_seconds": "2"}),
        (
            "proposal",
            {
                "forecast": {
                    "score": 1.0,
                    "low": None,
                    "high": None,
                    "chance_to_train": "x",
                    "expected_regret": None,
                }
            },
        ),
    ],
)
def test_facts_of_other_types_are_no_trial(part, change):
    """Edited by hand, or another program's: moved aside by whoever reads a journal, as a damaged file is."""
    facts = json.loads(json.dumps(trial_to_facts(trial(3, score=1.0, seconds=1.5))))
    assert trial_from_facts(facts) == trial(3, score=1.0, seconds=1.5)
    with pytest.raises((TypeError, ValueError)):
        trial_from_facts({**facts, part: {**facts[part], **change}})


def test_only_failures_of_the_configuration_teach():
    statuses = ("completed", "out_of_memory", "diverged", "timeout", "pruned", "error")
    assert [status for status in statuses if is_configuration_to_blame(status)] == [
        "out_of_memory",
        "diverged",
        "timeout",
    ]
    assert trial(0, "error", 1.0).score is None and trial(0, "pruned", 1.0).score == 1.0
