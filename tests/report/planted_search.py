"""A search whose explanation is planted: the same digits on every machine, because no model is fitted."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from fovnet.maths.effects import decompose
from fovnet.search.explain.explanation import explain
from fovnet.search.explain.importance import AxisEffect, Importance, LevelEffect, PairEffect
from fovnet.search.search import Search
from fovnet.search.space import Space
from fovnet.search.trial import Forecast, Outcome, Proposal, Trial

SPACE = Space.of(
    {"blocks": range(1, 6), "log10_rate": range(-5, 0), "separable": [False, True], "kernel": [3]}
)


def truth():
    """A score for each row of the space, (M,)."""
    blocks, rate, separable, _ = SPACE.rows.T
    return 0.3 + 0.08 * (rate - 2.0) ** 2 + 0.03 * (4 - blocks) + 0.02 * separable * (blocks - 1.5)


def trials(count=24):
    """Trials with forecasts from the sixth on; every seventh fails."""
    rng = np.random.default_rng(11)
    rows, scores = rng.permutation(len(SPACE))[:count].tolist(), truth()
    found = []
    for slot, row in enumerate(rows):
        score, predicted = float(scores[row] + rng.normal(0, 0.02)), float(scores[row])
        forecast = (
            Forecast(predicted, predicted - 0.05, predicted + 0.05, 0.875, 0.5 * 0.75**slot)
            if slot > 5
            else None
        )
        proposal = Proposal(
            slot, row, SPACE.configuration(row), slot, tuple(range(slot)), (), 60.0 + slot, forecast
        )
        status, message = (
            ("out_of_memory", "needed 9.1 GB of 8.0 GB")
            if slot % 14 == 13
            else ("diverged", "the loss was not a number")
        )
        failed = Outcome(status, seconds=5.0, message=message)
        found.append(
            Trial(
                proposal,
                failed if slot % 7 == 6 else Outcome("completed", score=score, seconds=66.0 + slot),
            )
        )
    return found


def matter():
    """What a model would say that knows the truth."""
    values, counts = truth(), [len(axis.levels) for axis in SPACE.axes]
    parts = decompose(values, SPACE.rows, counts)
    axes = tuple(
        AxisEffect(
            axis.name,
            axis.kind,
            None if len(axis.levels) == 1 else 0.5 * (1 + j),
            (0.6, 0.25, 0.15, None)[j],
            float(parts.main_variance[j] / parts.variance),
            tuple(
                LevelEffect(
                    level, float(score), float(score) - 0.02, float(score) + 0.03, 5 - at, 4 - at
                )
                for at, (level, score) in enumerate(zip(axis.levels, parts.main[j], strict=True))
            ),
        )
        for j, axis in enumerate(SPACE.axes)
    )
    pairs = tuple(
        PairEffect(
            (SPACE.axes[j].name, SPACE.axes[k].name),
            float(parts.pair_variance[j, k] / parts.variance),
            tuple(map(tuple, means.tolist())),
        )
        for (j, k), means in parts.pairs.items()
    )
    return Importance(
        21,
        "half-ranked",
        "matern52",
        True,
        0.83,
        0.05,
        0.0123,
        3,
        12.75,
        parts.mean,
        0.0,
        axes,
        tuple(sorted(pairs, key=lambda pair: -pair.share)),
    )


def explanation():
    """All of it."""
    seconds = np.full(len(SPACE), 60.0)
    for trial in trials():
        seconds[trial.proposal.row] = trial.proposal.predicted_seconds
    search = Search(SPACE, "gp-ei", 1, 2, 0, 6, seconds, seconds > 0)
    note = "The search ends after 24 trials: no more than 0.0123 of the score is expected to be gained."
    return replace(
        explain(search, trials(), requested_trials=40, ends_after=24, notes=[note]),
        importance=matter(),
    )
