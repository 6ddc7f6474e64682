"""Effects of the hyper-parameters in the model at the end of a search: relevance of each axis, main
effects, pairwise interactions.

Means are taken over all rows of the space, including those that do not fit into memory, in units of
the model's target (the warped scores), where a loss of 1e30 is not an outlier; each mean is then
converted to a score.  With the reverse order, the few rows near a diverged training would dominate
every mean.  Shares of variance refer to the target for the same reason.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from fovnet.maths.draws import expected_draws
from fovnet.maths.effects import Effects, deviations_of_level_means, effects, is_full_grid
from fovnet.maths.gp import leave_one_out
from fovnet.maths.warping import Target
from fovnet.search.look.gaussian import Belief, believe, six_digits
from fovnet.search.look.uniform import few
from fovnet.search.look.view import View
from fovnet.search.search import Search
from fovnet.search.space import Level, Space
from fovnet.search.trial import Trial

Floats = NDArray[np.float64]

LEAST_VARIANCE = 1e-12
"""Variance below which a model counts as constant; the warped scores have variance one."""


@dataclass(frozen=True)
class LevelEffect:
    """One level of an axis: its expected score, averaged over all other axes, and the numbers of
    trials and of scores with it.

    low, high   the 95 % band of that average, None if the space is not a full grid
    """

    level: Level
    score: float | None
    low: float | None
    high: float | None
    tried: int
    scored: int


@dataclass(frozen=True)
class AxisEffect:
    """One axis.

    lengthscale   in units of the axis' whole range; the shorter, the stronger the effect of the
                  axis.  The geometric mean over the levels of a category and over sampled thetas;
                  None if all scores are of one level, when it is undetermined
    relevance     1/lengthscale as a share of the sum over all axes
    share         of the variance of the model over the space, by this axis alone; None if the model
                  is constant
    """

    name: str
    kind: str
    lengthscale: float | None
    relevance: float | None
    share: float | None
    levels: tuple[LevelEffect, ...]


@dataclass(frozen=True)
class PairEffect:
    """Two axes: the share of variance of their interaction, and the expected score at each pair of
    levels.

    share   None if the model is constant or the space not a full grid;      scores  (levels of the first,
        levels of the second)
    """

    axes: tuple[str, str]
    share: float | None
    scores: tuple[tuple[float | None, ...], ...]


@dataclass(frozen=True)
class Matter:
    """Results of the final model.

    explained   share of the variance of the warped scores that the model predicts in leave-one-out
                cross-validation; at 0 it is no better than a constant, and the other values mean
                nothing. None if all scores are equal
    noise       standard deviation between trainings of one configuration, in units of the target: 1
                is that of all scores
    remaining_regret   `Belief.regret`: upper bound of the expected gain by the lowest free row over
                       the best known row; None if the model uses only ranks
    as_good       number of feasible rows whose mean is at most one `noise` above the lowest mean of
                  a known row
    random_draws  expected number of random draws of rows until one of these is drawn
    higher        share of variance of interactions of three or more axes; None as in PairEffect
    """

    scores: int
    targets: str
    kernel: str
    full_grid: bool
    explained: float | None
    noise: float
    remaining_regret: float | None
    as_good: int
    random_draws: float
    mean_score: float
    higher: float | None
    axes: tuple[AxisEffect, ...]
    pairs: tuple[PairEffect, ...]


def what_matters(search: Search, trials: Sequence[Trial]) -> Matter:
    """The effects in the model with which the search would propose its next slot.  At least one
    trial must have a score."""
    view = _at_the_end(search, trials)
    belief = believe(view)
    counts = [len(axis.levels) for axis in search.space.axes]
    full_grid = is_full_grid(search.space.rows, counts)
    parts = effects(belief.mean.mean(axis=0), search.space.rows, counts)
    higher = parts.variance - parts.main_variance.sum() - sum(parts.pair_variance.values())
    as_good = _as_good(search, belief)
    return Matter(
        scores=len(belief.known),
        targets=search.modelling.targets,
        kernel=search.modelling.kernel,
        full_grid=full_grid,
        explained=_explained_share(belief),
        noise=six_digits(_noise(belief)),
        remaining_regret=belief.regret(view.free),
        as_good=as_good,
        random_draws=six_digits(expected_draws(int(search.feasible.sum()), as_good)),
        mean_score=six_digits(float(belief.target.score_of(np.array([parts.mean]))[0])),
        higher=_share(higher, parts.variance) if full_grid else None,
        axes=_axes(view, belief, parts, full_grid),
        pairs=_pairs(search.space, belief.target, parts),
    )


def _at_the_end(search: Search, trials: Sequence[Trial]) -> View:
    """The view of the next slot, with no slot pending."""
    free = search.feasible.copy()
    free[[trial.proposal.row for trial in trials]] = False
    return View(
        search.space,
        trials=tuple(trials),
        pending=(),
        free=free,
        slot=len(trials),
        seed=search.seed,
        initial=search.initial or few(search.space),
        predicted_seconds=search.predicted_seconds,
        memory=search.memory,
        modelling=replace(search.modelling, fidelity="latest"),
    )


def _axes(view: View, belief: Belief, parts: Effects, full_grid: bool) -> tuple[AxisEffect, ...]:
    space = view.space
    lengths = _lengthscales(space, belief)
    inverse = np.array([0.0 if length is None else 1.0 / length for length in lengths])
    relevance = inverse / (inverse.sum() or 1.0)
    deviations = _deviations(space, belief, parts) if full_grid else (None,) * len(space.axes)
    tried = space.rows[[trial.proposal.row for trial in view.seen]]
    axis_effects = []
    for j, (axis, deviation) in enumerate(zip(space.axes, deviations, strict=True)):
        size = len(axis.levels)
        counts_of_levels = [
            np.bincount(rows[:, j], minlength=size).tolist()
            for rows in (tried, space.rows[belief.known])
        ]
        low: list[float | None] = [None] * size
        high: list[float | None] = [None] * size
        if deviation is not None:
            low = _scores(belief.target, parts.main[j] - 1.96 * deviation)
            high = _scores(belief.target, parts.main[j] + 1.96 * deviation)
        scores = _scores(belief.target, parts.main[j])
        levels = map(LevelEffect, axis.levels, scores, low, high, *counts_of_levels)
        is_determined = lengths[j] is not None
        axis_effects.append(
            AxisEffect(
                axis.name,
                axis.kind,
                lengthscale=six_digits(1.0 / inverse[j]) if is_determined else None,
                relevance=six_digits(relevance[j]) if is_determined else None,
                share=_share(parts.main_variance[j], parts.variance),
                levels=tuple(levels),
            )
        )
    return tuple(axis_effects)


def _lengthscales(space: Space, belief: Belief) -> list[float | None]:
    """The geometric mean lengthscale of each axis over processes and columns, None if all scores
    have the same level of it."""
    columns = np.mean(
        [process.scales.log_lengthscales(process.theta) for process in belief.processes], axis=0
    )
    logs = np.bincount(space.axis_of_column, columns) / np.bincount(space.axis_of_column)
    varying = [len(np.unique(levels)) > 1 for levels in space.rows[belief.known].T]
    return [
        float(np.exp(log)) if varies else None for log, varies in zip(logs, varying, strict=True)
    ]


def _deviations(space: Space, belief: Belief, parts: Effects) -> list[Floats]:
    """For each axis, the standard deviation of the mean at each level, over the mixture of the
    processes."""
    counts = [len(axis.levels) for axis in space.axes]
    deviations = [
        deviations_of_level_means(process, belief.known, space.rows, counts)
        for process in belief.processes
    ]
    means = [parts.main]
    if len(belief.mean) > 1:
        means = [effects(mean, space.rows, counts).main for mean in belief.mean]
    return [
        np.sqrt(
            np.mean([deviation[j] ** 2 for deviation in deviations], axis=0)
            + np.var([level_means[j] for level_means in means], axis=0)
        )
        for j in range(len(counts))
    ]


def _pairs(space: Space, target: Target, parts: Effects) -> tuple[PairEffect, ...]:
    """The pairs of axes, those of the largest share of variance first."""
    pair_effects = []
    for (j, k), means in parts.pairs.items():
        share = _share(parts.pair_variance[j, k], parts.variance) if parts.pair_variance else None
        names = (space.axes[j].name, space.axes[k].name)
        pair_effects.append(
            PairEffect(names, share, tuple(tuple(_scores(target, row)) for row in means))
        )
    return tuple(sorted(pair_effects, key=lambda pair: -(pair.share or 0.0)))


def _scores(target: Target, values: Floats) -> list[float | None]:
    """Values of the target converted to scores; None for NaN."""
    return [
        None if np.isnan(value) else six_digits(float(score))
        for value, score in zip(values, target.score_of(values), strict=True)
    ]


def _share(part: float, variance: float) -> float | None:
    # rounding left -1e-17
    return None if variance <= LEAST_VARIANCE else max(round(float(part / variance), 6), 0.0)


def _explained_share(belief: Belief) -> float | None:
    """1 - Σ (leave-one-out residuals)² / Σ (leave-one-out residuals of a constant)².  R&W eq. 5.12,
    hyper-parameters fixed."""
    y = belief.target.values
    n = len(y)
    around = y @ y
    if n < 2 or around <= LEAST_VARIANCE:
        return None
    residuals = np.zeros(n)
    for process in belief.processes:
        residuals += (y - leave_one_out(process.factor(belief.known), y)) / len(belief.processes)
    # y has mean zero: difference from the mean of the others
    constant = y * (n / (n - 1.0))
    return six_digits(float(1.0 - residuals @ residuals / (constant @ constant)))


def _noise(belief: Belief) -> float:
    return float(np.sqrt(np.mean([process.noise for process in belief.processes])))


def _as_good(search: Search, belief: Belief) -> int:
    mean = belief.mean.mean(axis=0)
    return int((mean[search.feasible] <= mean[belief.known].min() + _noise(belief)).sum())
