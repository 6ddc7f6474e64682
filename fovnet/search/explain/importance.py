"""Effects of the hyper-parameters in the model at the end of a search: relevance of each axis, main
effects, pairwise interactions.

Means are taken over all rows of the space, including those that do not fit into memory, in units of
the model's target (the warped scores), where a loss of 1e30 is not an outlier; each mean is then
converted to a score.  With the reverse order, the few rows near a diverged training would dominate
every mean.  Shares of variance refer to the target for the same reason.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, replace

import numpy as np
from numpy.typing import NDArray

from fovnet.maths.draws import expected_draws
from fovnet.maths.effects import Effects, decompose, deviations_of_level_means, is_full_grid
from fovnet.maths.gp import leave_one_out
from fovnet.maths.warping import Target
from fovnet.records import json_key
from fovnet.search.look.gaussian import Belief, believe
from fovnet.search.look.view import View, round_to_six_digits
from fovnet.search.search import Search, make_view
from fovnet.search.space import Level, Space
from fovnet.search.trial import Trial

Floats = NDArray[np.float64]

NORMAL_QUANTILE = 1.96
"""Standard deviations from the mean to either end of a 95 % band."""
LEAST_VARIANCE = 1e-12
"""Variance below which a model counts as constant; the warped scores have variance one."""


@dataclass(frozen=True)
class LevelEffect:
    """One level of an axis: its expected score, averaged over all other axes.

    low_score, high_score  the 95 % band of that average, None if the space is not a full grid
    tried_count, scored_count  configurations tried with this level, and scores of it
    """

    level: Level
    score: float | None
    low_score: float | None = field(metadata=json_key("low"))
    high_score: float | None = field(metadata=json_key("high"))
    tried_count: int = field(metadata=json_key("tried"))
    scored_count: int = field(metadata=json_key("scored"))


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
    """Two axes together.

    axes    their names
    share   of the variance, by their interaction; None if the model is constant or the space not a
            full grid
    scores  (levels of the first, levels of the second), the expected score at each pair of levels
    """

    axes: tuple[str, str]
    share: float | None
    scores: tuple[tuple[float | None, ...], ...]


@dataclass(frozen=True)
class Importance:
    """What mattered, by the final model.

    score_count       scores that it knows
    target_warping, kernel  names of what it models, and of its covariance function
    is_full_grid      whether every combination of levels is a row of the space
    explained_share   of the variance of the warped scores, what the model predicts in leave-one-out
                      cross-validation; at 0 it is no better than a constant, and the other values
                      mean nothing. None if all scores are equal
    noise_deviation   standard deviation between trainings of one configuration, in units of the
                      target: 1 is that of all scores
    remaining_regret  `Belief.expected_regret`: upper bound of the expected gain by the lowest free row
                      over the best known row; None if the model uses only ranks
    as_good_count     number of feasible rows whose mean is at most one `noise_deviation` above the
                      lowest mean of a known row
    expected_random_draws  of rows until one of these is drawn
    mean_score        of the model over all rows
    higher_order_share  of the variance, by interactions of three or more axes; None if the model is
                      constant or the space not a full grid
    """

    score_count: int = field(metadata=json_key("scores"))
    target_warping: str = field(metadata=json_key("targets"))
    kernel: str
    is_full_grid: bool = field(metadata=json_key("full_grid"))
    explained_share: float | None = field(metadata=json_key("explained"))
    noise_deviation: float = field(metadata=json_key("noise"))
    remaining_regret: float | None
    as_good_count: int = field(metadata=json_key("as_good"))
    expected_random_draws: float = field(metadata=json_key("random_draws"))
    mean_score: float
    higher_order_share: float | None = field(metadata=json_key("higher"))
    axes: tuple[AxisEffect, ...]
    pairs: tuple[PairEffect, ...]


def measure_importance(search: Search, trials: Sequence[Trial]) -> Importance:
    """The effects in the model with which the search would propose its next slot.  At least one
    trial must have a score."""
    view = _view_at_the_end(search, trials)
    belief = believe(view)
    level_counts = [len(axis.levels) for axis in search.space.axes]
    has_full_grid = is_full_grid(search.space.rows, level_counts)
    decomposition = decompose(belief.mean.mean(axis=0), search.space.rows, level_counts)
    higher_order_share = None
    if has_full_grid:
        higher_order_variance = (
            decomposition.variance
            - decomposition.main_variance.sum()
            - sum(decomposition.pair_variance.values())
        )
        higher_order_share = _share_of_variance(higher_order_variance, decomposition.variance)
    as_good_count = _count_as_good(search, belief)
    mean_score = belief.target.score_of(np.array([decomposition.mean]))[0]
    return Importance(
        score_count=len(belief.known_rows),
        target_warping=search.modelling.targets,
        kernel=search.modelling.kernel,
        is_full_grid=has_full_grid,
        explained_share=explained_share(belief),
        noise_deviation=round_to_six_digits(noise_deviation(belief)),
        remaining_regret=belief.expected_regret(view.is_free),
        as_good_count=as_good_count,
        expected_random_draws=round_to_six_digits(
            expected_draws(int(search.feasible.sum()), as_good_count)
        ),
        mean_score=round_to_six_digits(float(mean_score)),
        higher_order_share=higher_order_share,
        axes=_axis_effects(view, belief, decomposition, has_full_grid),
        pairs=_pair_effects(search.space, belief.target, decomposition),
    )


def _view_at_the_end(search: Search, trials: Sequence[Trial]) -> View:
    """The view of the next slot, with no slot pending."""
    is_free = search.feasible.copy()
    is_free[[trial.proposal.row for trial in trials]] = False
    view = make_view(search, trials, slot=len(trials), is_free=is_free)
    return replace(view, modelling=replace(search.modelling, fidelity="latest"))


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
    level_effects_by_axis = _level_effects(view, belief, decomposition, has_full_grid)
    axis_effects = []
    for axis_index, axis in enumerate(space.axes):
        axis_effect = AxisEffect(
            axis.name,
            axis.kind,
            lengthscale=None,
            relevance=None,
            share=_share_of_variance(
                decomposition.main_variance[axis_index], decomposition.variance
            ),
            levels=level_effects_by_axis[axis_index],
        )
        lengthscale = lengthscales[axis_index]
        if lengthscale is not None:
            axis_effect = replace(
                axis_effect,
                lengthscale=round_to_six_digits(lengthscale),
                relevance=round_to_six_digits(relevance[axis_index]),
            )
        axis_effects.append(axis_effect)
    return tuple(axis_effects)


def _level_effects(
    view: View, belief: Belief, decomposition: Effects, has_full_grid: bool
) -> list[tuple[LevelEffect, ...]]:
    """For each axis, the effects of its levels; their bands are None unless the space is a full
    grid."""
    space = view.space
    deviations_by_axis: Sequence[Floats | None] = [None] * len(space.axes)
    if has_full_grid:
        deviations_by_axis = _level_deviations(space, belief, decomposition)
    tried_levels = space.rows[[trial.proposal.row for trial in view.latest_trials]]
    known_levels = space.rows[belief.known_rows]
    effects_by_axis = []
    for axis_index, axis in enumerate(space.axes):
        level_count = len(axis.levels)
        level_means = decomposition.main[axis_index]
        deviations = deviations_by_axis[axis_index]
        low_scores: list[float | None] = [None] * level_count
        high_scores: list[float | None] = [None] * level_count
        if deviations is not None:
            low_scores = _to_scores(belief.target, level_means - NORMAL_QUANTILE * deviations)
            high_scores = _to_scores(belief.target, level_means + NORMAL_QUANTILE * deviations)
        level_effects = map(
            LevelEffect,
            axis.levels,
            _to_scores(belief.target, level_means),
            low_scores,
            high_scores,
            np.bincount(tried_levels[:, axis_index], minlength=level_count).tolist(),
            np.bincount(known_levels[:, axis_index], minlength=level_count).tolist(),
        )
        effects_by_axis.append(tuple(level_effects))
    return effects_by_axis


def _lengthscales(space: Space, belief: Belief) -> list[float | None]:
    """The geometric mean lengthscale of each axis over processes and columns, None if all scores
    have the same level of it."""
    log_lengthscale_by_column = np.mean(
        [process.scales.log_lengthscales(process.theta) for process in belief.processes], axis=0
    )
    log_lengthscale_by_axis = np.bincount(
        space.axis_of_column, log_lengthscale_by_column
    ) / np.bincount(space.axis_of_column)
    lengthscales: list[float | None] = np.exp(log_lengthscale_by_axis).tolist()
    for axis_index, levels in enumerate(space.rows[belief.known_rows].T):
        if len(np.unique(levels)) < 2:
            lengthscales[axis_index] = None
    return lengthscales


def _level_deviations(space: Space, belief: Belief, decomposition: Effects) -> list[Floats]:
    """For each axis, the standard deviation (levels,) of the mean at each level, over the mixture
    of the processes."""
    level_counts = [len(axis.levels) for axis in space.axes]
    deviations_by_process = [
        deviations_of_level_means(process, belief.known_rows, space.rows, level_counts)
        for process in belief.processes
    ]
    level_means_by_process = [decomposition.main]
    if len(belief.mean) > 1:
        level_means_by_process = [
            decompose(mean_by_row, space.rows, level_counts).main for mean_by_row in belief.mean
        ]
    deviations_by_axis = []
    for axis_index in range(len(level_counts)):
        variances_within = [deviations[axis_index] ** 2 for deviations in deviations_by_process]
        level_means = [means[axis_index] for means in level_means_by_process]
        mixture_variance = np.mean(variances_within, axis=0) + np.var(level_means, axis=0)
        deviations_by_axis.append(np.sqrt(mixture_variance))
    return deviations_by_axis


def _pair_effects(space: Space, target: Target, decomposition: Effects) -> tuple[PairEffect, ...]:
    """The pairs of axes, those of the largest share of variance first."""
    pair_effects = []
    for (first_axis, second_axis), pair_means in decomposition.pairs.items():
        variance_share = None
        if decomposition.pair_variance:
            variance_share = _share_of_variance(
                decomposition.pair_variance[first_axis, second_axis], decomposition.variance
            )
        pair_effects.append(
            PairEffect(
                (space.axes[first_axis].name, space.axes[second_axis].name),
                variance_share,
                tuple(tuple(_to_scores(target, level_means)) for level_means in pair_means),
            )
        )
    return tuple(sorted(pair_effects, key=lambda pair: -(pair.share or 0.0)))


def _to_scores(target: Target, values: Floats) -> list[float | None]:
    """Values of the target converted to scores; None for NaN."""
    return [
        None if np.isnan(value) else round_to_six_digits(float(score))
        for value, score in zip(values, target.score_of(values), strict=True)
    ]


def _share_of_variance(part: float, variance: float) -> float | None:
    """The share of the variance that a part of it is, at least 0; None if the model is constant."""
    if variance <= LEAST_VARIANCE:
        return None
    # rounding left -1e-17
    return max(round(float(part / variance), 6), 0.0)


def explained_share(belief: Belief) -> float | None:
    """1 - Σ (leave-one-out residuals)² / Σ (leave-one-out residuals of a constant)²; None of fewer
    than two scores, or where all are equal.  R&W eq. 5.12, hyper-parameters fixed."""
    y = belief.target.values
    n = len(y)
    if n < 2 or y @ y <= LEAST_VARIANCE:
        return None
    residuals = np.zeros(n)
    for process in belief.processes:
        expected_y = leave_one_out(process.factor(belief.known_rows), y)
        residuals += (y - expected_y) / len(belief.processes)
    # y has mean zero: difference from the mean of the others
    residuals_of_constant = y * (n / (n - 1.0))
    unexplained_share = residuals @ residuals / (residuals_of_constant @ residuals_of_constant)
    return round_to_six_digits(float(1.0 - unexplained_share))


def noise_deviation(belief: Belief) -> float:
    """The standard deviation of the noise, over the mixture of the processes."""
    return float(np.sqrt(np.mean([process.noise for process in belief.processes])))


def _count_as_good(search: Search, belief: Belief) -> int:
    """The number of feasible rows whose mean is within the noise of the best known row's."""
    mean_by_row = belief.mean.mean(axis=0)
    highest_good_mean = mean_by_row[belief.known_rows].min() + noise_deviation(belief)
    return int((mean_by_row[search.feasible] <= highest_good_mean).sum())
