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
    view = _view_at_the_end(search, trials)
    belief = believe(view)
    level_counts = [len(axis.levels) for axis in search.space.axes]
    has_full_grid = is_full_grid(search.space.rows, level_counts)
    decomposition = effects(belief.mean.mean(axis=0), search.space.rows, level_counts)
    higher_order_variance = (
        decomposition.variance
        - decomposition.main_variance.sum()
        - sum(decomposition.pair_variance.values())
    )
    as_good_count = _count_as_good(search, belief)
    return Matter(
        scores=len(belief.known),
        targets=search.modelling.targets,
        kernel=search.modelling.kernel,
        full_grid=has_full_grid,
        explained=_explained_share(belief),
        noise=six_digits(_noise_deviation(belief)),
        remaining_regret=belief.regret(view.free),
        as_good=as_good_count,
        random_draws=six_digits(expected_draws(int(search.feasible.sum()), as_good_count)),
        mean_score=six_digits(float(belief.target.score_of(np.array([decomposition.mean]))[0])),
        higher=_share_of_variance(higher_order_variance, decomposition.variance)
        if has_full_grid
        else None,
        axes=_axis_effects(view, belief, decomposition, has_full_grid),
        pairs=_pair_effects(search.space, belief.target, decomposition),
    )


def _view_at_the_end(search: Search, trials: Sequence[Trial]) -> View:
    """The view of the next slot, with no slot pending."""
    is_free = search.feasible.copy()
    is_free[[trial.proposal.row for trial in trials]] = False
    return View(
        search.space,
        trials=tuple(trials),
        pending=(),
        free=is_free,
        slot=len(trials),
        seed=search.seed,
        initial=search.initial or few(search.space),
        predicted_seconds=search.predicted_seconds,
        memory=search.memory,
        modelling=replace(search.modelling, fidelity="latest"),
    )


def _axis_effects(
    view: View, belief: Belief, decomposition: Effects, has_full_grid: bool
) -> tuple[AxisEffect, ...]:
    """The effect of each axis, with those of its levels, in the order of the axes."""
    space = view.space
    lengthscales = _lengthscales(space, belief)
    inverse_lengthscales = np.array(
        [0.0 if lengthscale is None else 1.0 / lengthscale for lengthscale in lengthscales]
    )
    relevance = inverse_lengthscales / (inverse_lengthscales.sum() or 1.0)
    deviations_by_axis = (
        _level_deviations(space, belief, decomposition)
        if has_full_grid
        else (None,) * len(space.axes)
    )
    tried_levels = space.rows[[trial.proposal.row for trial in view.seen]]
    axis_effects = []
    for axis_index, (axis, level_deviation) in enumerate(
        zip(space.axes, deviations_by_axis, strict=True)
    ):
        level_count = len(axis.levels)
        counts_tried_and_known = [
            np.bincount(row_levels[:, axis_index], minlength=level_count).tolist()
            for row_levels in (tried_levels, space.rows[belief.known])
        ]
        low_scores: list[float | None] = [None] * level_count
        high_scores: list[float | None] = [None] * level_count
        if level_deviation is not None:
            low_scores = _to_scores(
                belief.target, decomposition.main[axis_index] - 1.96 * level_deviation
            )
            high_scores = _to_scores(
                belief.target, decomposition.main[axis_index] + 1.96 * level_deviation
            )
        scores = _to_scores(belief.target, decomposition.main[axis_index])
        level_effects = map(
            LevelEffect, axis.levels, scores, low_scores, high_scores, *counts_tried_and_known
        )
        is_determined = lengthscales[axis_index] is not None
        axis_effects.append(
            AxisEffect(
                axis.name,
                axis.kind,
                lengthscale=six_digits(1.0 / inverse_lengthscales[axis_index])
                if is_determined
                else None,
                relevance=six_digits(relevance[axis_index]) if is_determined else None,
                share=_share_of_variance(
                    decomposition.main_variance[axis_index], decomposition.variance
                ),
                levels=tuple(level_effects),
            )
        )
    return tuple(axis_effects)


def _lengthscales(space: Space, belief: Belief) -> list[float | None]:
    """The geometric mean lengthscale of each axis over processes and columns, None if all scores
    have the same level of it."""
    log_lengthscale_of_column = np.mean(
        [process.scales.log_lengthscales(process.theta) for process in belief.processes], axis=0
    )
    log_lengthscale_of_axis = np.bincount(
        space.axis_of_column, log_lengthscale_of_column
    ) / np.bincount(space.axis_of_column)
    is_varied = [len(np.unique(levels)) > 1 for levels in space.rows[belief.known].T]
    return [
        float(np.exp(log_lengthscale)) if is_varied_axis else None
        for log_lengthscale, is_varied_axis in zip(log_lengthscale_of_axis, is_varied, strict=True)
    ]


def _level_deviations(space: Space, belief: Belief, decomposition: Effects) -> list[Floats]:
    """For each axis, the standard deviation of the mean at each level, over the mixture of the
    processes."""
    level_counts = [len(axis.levels) for axis in space.axes]
    deviations_by_process = [
        deviations_of_level_means(process, belief.known, space.rows, level_counts)
        for process in belief.processes
    ]
    level_means_by_process = [decomposition.main]
    if len(belief.mean) > 1:
        level_means_by_process = [
            effects(mean_by_row, space.rows, level_counts).main for mean_by_row in belief.mean
        ]
    return [
        np.sqrt(
            np.mean(
                [
                    process_deviations[axis_index] ** 2
                    for process_deviations in deviations_by_process
                ],
                axis=0,
            )
            + np.var([level_means[axis_index] for level_means in level_means_by_process], axis=0)
        )
        for axis_index in range(len(level_counts))
    ]


def _pair_effects(space: Space, target: Target, decomposition: Effects) -> tuple[PairEffect, ...]:
    """The pairs of axes, those of the largest share of variance first."""
    pair_effects = []
    for (axis_index, other_axis_index), pair_means in decomposition.pairs.items():
        variance_share = (
            _share_of_variance(
                decomposition.pair_variance[axis_index, other_axis_index], decomposition.variance
            )
            if decomposition.pair_variance
            else None
        )
        axis_names = (space.axes[axis_index].name, space.axes[other_axis_index].name)
        pair_effects.append(
            PairEffect(
                axis_names,
                variance_share,
                tuple(tuple(_to_scores(target, means_of_level)) for means_of_level in pair_means),
            )
        )
    return tuple(sorted(pair_effects, key=lambda pair: -(pair.share or 0.0)))


def _to_scores(target: Target, values: Floats) -> list[float | None]:
    """Values of the target converted to scores; None for NaN."""
    return [
        None if np.isnan(value) else six_digits(float(score))
        for value, score in zip(values, target.score_of(values), strict=True)
    ]


def _share_of_variance(part: float, variance: float) -> float | None:
    # rounding left -1e-17
    return None if variance <= LEAST_VARIANCE else max(round(float(part / variance), 6), 0.0)


def _explained_share(belief: Belief) -> float | None:
    """1 - Σ (leave-one-out residuals)² / Σ (leave-one-out residuals of a constant)².  R&W eq. 5.12,
    hyper-parameters fixed."""
    y = belief.target.values
    n = len(y)
    squared_sum = y @ y
    if n < 2 or squared_sum <= LEAST_VARIANCE:
        return None
    residuals = np.zeros(n)
    for process in belief.processes:
        residuals += (y - leave_one_out(process.factor(belief.known), y)) / len(belief.processes)
    # y has mean zero: difference from the mean of the others
    residuals_of_constant = y * (n / (n - 1.0))
    return six_digits(
        float(1.0 - residuals @ residuals / (residuals_of_constant @ residuals_of_constant))
    )


def _noise_deviation(belief: Belief) -> float:
    return float(np.sqrt(np.mean([process.noise for process in belief.processes])))


def _count_as_good(search: Search, belief: Belief) -> int:
    """The number of feasible rows whose mean is within the noise of the best known row's."""
    mean_by_row = belief.mean.mean(axis=0)
    return int(
        (
            mean_by_row[search.feasible]
            <= mean_by_row[belief.known].min() + _noise_deviation(belief)
        ).sum()
    )
