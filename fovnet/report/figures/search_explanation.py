"""The charts of a search explained, as matplotlib Figures."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import numpy as np
from matplotlib.figure import Figure
from matplotlib.ticker import MaxNLocator

from fovnet.drawing.canvas import ACCENT, FAINT, INK, SOFT, WARN, house_style, legend_above
from fovnet.drawing.scales import scale_axis, unit_of_time
from fovnet.report.content.wording import level_text, percent, with_spaces
from fovnet.report.figures.descent import descent_figure
from fovnet.report.figures.rungs import rungs_figure
from fovnet.report.figures.structures import structures_figure
from fovnet.search.explain.explanation import Explanation, Prediction, Step
from fovnet.search.explain.importance import AxisEffect, Importance

PANELS_PER_ROW = 4  # of the figure of effects

SLANTED_LABELS: Any = {"rotation": 40, "ha": "right", "rotation_mode": "anchor", "fontsize": 6.5}
"""Text properties of level names too long to fit side by side."""

MOST_LETTERS_OF_LABELS = 24
"""As many letters of level names fit side by side below a panel."""

LEAST_REGRET_SHARE = 1e-5
"""Expected regrets below this share of the greatest are not drawn."""


def figures_of_search(explanation: Explanation) -> dict[str, Figure]:
    """Every figure by its name in the template; without those of which there is nothing to
    draw."""
    figure_by_name: dict[str, Figure | None] = {}
    if explanation.best_slot is not None:
        figure_by_name["convergence"] = convergence_figure(explanation.steps)
    if explanation.descent:
        figure_by_name["descent"] = descent_figure(explanation.descent)
    if explanation.tree_descent:
        figure_by_name["structures"] = structures_figure(explanation.tree_descent)
    if explanation.spending:
        figure_by_name["rungs"] = rungs_figure(explanation.spending)
    scored_predictions = [
        prediction
        for prediction in explanation.forecasts.predictions
        if prediction.score is not None
    ]
    if scored_predictions:
        figure_by_name["forecasts"] = forecast_figure(scored_predictions)
    importance = explanation.importance
    if importance:
        figure_by_name["effects"] = effects_figure(importance)
    return {name: figure for name, figure in figure_by_name.items() if figure is not None}


def convergence_figure(steps: Sequence[Step]) -> Figure:
    """The best score so far against measured and predicted training time; the expected regret by
    slot."""
    with house_style():
        figure = Figure(figsize=(7.6, 3.0))
        score_axis = figure.add_axes((0.1, 0.16, 0.39, 0.72))
        regret_axis = figure.add_axes((0.6, 0.16, 0.37, 0.72))
        scored_steps = [step for step in steps if step.lowest_score is not None]
        best_scores = np.array([step.lowest_score for step in scored_steps], dtype=np.float64)
        measured_seconds = np.array([step.seconds_spent for step in scored_steps])
        predicted_seconds = np.array([step.predicted_seconds_spent for step in scored_steps])
        unit_seconds, unit_name = unit_of_time(
            float(max(measured_seconds.max(), predicted_seconds.max()))
        )
        score_axis.step(
            measured_seconds / unit_seconds,
            best_scores,
            where="post",
            color=ACCENT,
            linewidth=1.6,
            label="as measured",
        )
        score_axis.step(
            predicted_seconds / unit_seconds,
            best_scores,
            where="post",
            color=FAINT,
            linewidth=1.2,
            dashes=(4, 2),
            label="as predicted",
        )
        scale_axis(score_axis, "y", best_scores)
        score_axis.set(xlabel=f"training in all, {unit_name}", ylabel="best score so far")
        legend_above(score_axis, 2, -0.04, columnspacing=1.2)
        _draw_regret(regret_axis, steps)
        return figure


def _draw_regret(axis: Any, steps: Sequence[Step]) -> None:
    """Expected regret by slot; a line of text where no slot has one."""
    slots_with_regret = [
        (step.slot, step.expected_regret) for step in steps if step.expected_regret
    ]
    axis.set(xlabel="slot", ylabel="expected regret")
    axis.set_xlim(-0.5, steps[-1].slot + 0.5)
    if not slots_with_regret:
        axis.text(
            0.5, 0.5, "no regret was forecast", transform=axis.transAxes, ha="center", color=SOFT
        )
        axis.set_yticks([])
        return
    slots, regrets = np.array(slots_with_regret).T
    is_drawn = regrets > LEAST_REGRET_SHARE * regrets.max()
    regrets = regrets[is_drawn]
    axis.plot(slots[is_drawn], regrets, color=ACCENT, linewidth=1.2, marker="o", markersize=2.5)
    axis.xaxis.set_major_locator(MaxNLocator(integer=True))
    scale_axis(axis, "y", regrets)
    axis.set_ylim(*_axis_limits(regrets, axis.get_yscale()))


def forecast_figure(all_predictions: Sequence[Prediction]) -> Figure:
    """Forecast score with its band against the measured score, one point per trial; the dashed line
    is equality."""
    with house_style():
        figure = Figure(figsize=(5.2, 4.6))
        axis = figure.add_axes((0.14, 0.11, 0.83, 0.81))
        for is_inside_band, colour, band_label in (
            (True, ACCENT, "inside its band"),
            (False, WARN, "outside"),
        ):
            drawn_predictions = [
                prediction
                for prediction in all_predictions
                if prediction.is_inside is is_inside_band
            ]
            if not drawn_predictions:
                continue
            measured_scores, forecast_scores, band_lows, band_highs = _forecast_points(
                drawn_predictions
            ).T
            axis.vlines(
                measured_scores, band_lows, band_highs, color=colour, linewidth=0.7, alpha=0.45
            )
            axis.scatter(
                measured_scores,
                forecast_scores,
                s=14,
                color=colour,
                linewidths=0,
                label=f"{band_label}, {len(drawn_predictions)}",
            )
        all_scores = _forecast_points(all_predictions)[:, [0, 1, 3]].ravel()
        for axis_letter in "xy":
            scale_axis(axis, axis_letter, all_scores)
        axis_range = _axis_limits(all_scores, axis.get_xscale())
        axis.plot(axis_range, axis_range, color=FAINT, linewidth=0.8, dashes=(4, 3), zorder=0)
        axis.set(xlim=axis_range, ylim=axis_range)
        axis.set(xlabel="actual score", ylabel="forecast score")
        legend_above(axis, 2)
        return figure


def _forecast_points(predictions: Sequence[Prediction]) -> np.ndarray[Any, np.dtype[np.float64]]:
    """(n, 4): measured score, forecast score, and the ends of its band; an open end is set to the
    lowest or highest of all scores."""
    points = np.array(
        [
            (
                prediction.score,
                prediction.forecast.score,
                prediction.forecast.low,
                prediction.forecast.high,
            )
            for prediction in predictions
        ],
        dtype=np.float64,
    )
    scores = points[:, :2]
    is_open = np.isnan(points)
    points[is_open[:, 2], 2] = np.nanmin(scores)
    points[is_open[:, 3], 3] = np.nanmax(scores)
    return points


def effects_figure(importance: Importance) -> Figure | None:
    """One panel per axis of more than one level: the expected score at each level, averaged over
    the other axes; hollow if no trial of it has a score.  None without such an axis."""
    effects = [effect for effect in importance.axes if len(effect.levels) > 1]
    if not effects:
        return None
    row_count = math.ceil(len(effects) / PANELS_PER_ROW)
    all_level_scores = [
        score
        for effect in effects
        for level in effect.levels
        for score in (level.score, level.low_score, level.high_score)
        if score is not None
    ]
    with house_style():
        figure_height = 0.25 + 2.15 * row_count
        figure = Figure(figsize=(9.6, figure_height))
        for panel_index, effect in enumerate(effects):
            panel_row, panel_column = divmod(panel_index, PANELS_PER_ROW)
            panel_box = (
                0.07 + panel_column * 0.235,
                1 - (0.3 + 1.55 + 2.15 * panel_row) / figure_height,
                0.2,
                1.55 / figure_height,
            )
            axis = figure.add_axes(panel_box)
            axis.axhline(importance.mean_score, color=FAINT, linewidth=0.7, dashes=(4, 3))
            _draw_effect(axis, effect)
            scale_axis(axis, "y", np.array(all_level_scores), 5.0)
            axis.set_ylim(*_axis_limits(all_level_scores, axis.get_yscale()))
            title = with_spaces(effect.name)
            if effect.share is not None:
                title += f", {percent(effect.share)}"
            axis.set_title(title, fontsize=8.5)
            if panel_column == 0:
                axis.set_ylabel("score")
            axis.tick_params(labelleft=panel_column == 0, which="both")
        return figure


def _draw_effect(axis: Any, effect: AxisEffect) -> None:
    """The expected score at each level with its band: lines for an ordinal axis, points for a
    categorical one."""
    level_indices = [index for index, level in enumerate(effect.levels) if level.score is not None]
    level_scores = np.array(
        [effect.levels[index].score for index in level_indices], dtype=np.float64
    )
    is_ordinal = effect.kind == "ordinal"
    if effect.levels[0].low_score is not None:
        band_lows = np.array([level.low_score for level in effect.levels])
        band_highs = np.array([level.high_score for level in effect.levels])
        if is_ordinal:
            axis.fill_between(
                level_indices, band_lows, band_highs, color=ACCENT, alpha=0.15, linewidth=0
            )
        else:
            axis.vlines(level_indices, band_lows, band_highs, color=ACCENT, linewidth=4, alpha=0.2)
    line_width = 0.0
    if is_ordinal:
        line_width = 1.3
    axis.plot(level_indices, level_scores, color=ACCENT, linewidth=line_width)
    has_score = np.array([effect.levels[index].scored_count > 0 for index in level_indices])
    axis.scatter(
        level_indices,
        level_scores,
        s=18,
        c=np.where(has_score, ACCENT, "white").tolist(),
        edgecolors=ACCENT,
        linewidths=0.9,
        zorder=3,
    )
    level_labels = [level_text(level.level) for level in effect.levels]
    axis.set_xticks(range(len(level_labels)), level_labels)
    if sum(map(len, level_labels)) > MOST_LETTERS_OF_LABELS:
        axis.set_xticks(range(len(level_labels)), level_labels, **SLANTED_LABELS)
    axis.set_xlim(-0.4, len(effect.levels) - 0.6)
    axis.tick_params(axis="x", length=0, labelcolor=INK)


def _axis_limits(drawn_values: Any, scale: str) -> tuple[float, float]:
    """(lower, upper) limit of an axis: the range of the values and 5 % of it at each end; on a
    linear scale at least 1 % of the highest value."""
    lowest = float(min(drawn_values))
    highest = float(max(drawn_values))
    if scale == "log":
        margin_factor = (highest / lowest) ** 0.05
        return lowest / margin_factor, highest * margin_factor
    margin = max(0.05 * (highest - lowest), 0.01 * abs(highest)) or 1.0
    return lowest - margin, highest + margin
