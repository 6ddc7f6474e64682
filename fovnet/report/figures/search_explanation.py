"""The charts of a search explained, as matplotlib Figures."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from matplotlib.figure import Figure
from matplotlib.ticker import MaxNLocator

from fovnet.drawing.canvas import ACCENT, FAINT, INK, SOFT, WARN, house_style, legend_above
from fovnet.drawing.scales import unit_of_time, wide_scale
from fovnet.report.content import wording
from fovnet.report.content.wording import percent
from fovnet.report.figures.descent import descent_figure
from fovnet.report.figures.rungs import rungs_figure
from fovnet.search.explain.explanation import Explanation, Prediction, Step
from fovnet.search.explain.importance import AxisEffect, Matter

PANELS_PER_ROW = 4
"""Panels per row."""

SLANTED_LABELS: Any = {"rotation": 40, "ha": "right", "rotation_mode": "anchor", "fontsize": 6.5}
"""Text properties of level names too long to fit side by side."""

LEAST_REGRET_SHARE = 1e-5
"""Expected regrets below this share of the greatest are not drawn."""


def figures_of_search(explanation: Explanation) -> dict[str, Figure | None]:
    """Every figure by its name in the template; None where there is nothing to draw."""
    scored_predictions = [
        prediction for prediction in explanation.forecasts.slots if prediction.score is not None
    ]
    figure_by_name: dict[str, Figure | None] = dict.fromkeys(
        ("convergence", "descent", "rungs", "forecasts", "effects")
    )
    if explanation.best_slot is not None:
        figure_by_name["convergence"] = convergence_figure(explanation.steps)
    if explanation.descent:
        figure_by_name["descent"] = descent_figure(explanation.descent)
    if explanation.spending:
        figure_by_name["rungs"] = rungs_figure(explanation.spending)
    if scored_predictions:
        figure_by_name["forecasts"] = forecast_figure(scored_predictions)
    importance = explanation.matter
    if importance:
        axes_with_choices = [axis for axis in importance.axes if len(axis.levels) > 1]
        figure_by_name["effects"] = (
            effects_figure(importance, axes_with_choices) if axes_with_choices else None
        )
    return figure_by_name


def convergence_figure(steps: Sequence[Step]) -> Figure:
    """The best score so far against measured and predicted training time; the expected regret by
    slot."""
    with house_style():
        figure = Figure(figsize=(7.6, 3.0))
        score_axis = figure.add_axes((0.1, 0.16, 0.39, 0.72))
        regret_axis = figure.add_axes((0.6, 0.16, 0.37, 0.72))
        scored_steps = [step for step in steps if step.best is not None]
        best_scores = np.array([step.best for step in scored_steps], dtype=np.float64)
        measured_and_predicted_s = np.array(
            [[step.seconds_spent, step.predicted_seconds_spent] for step in scored_steps]
        ).T
        unit_seconds, unit_name = unit_of_time(float(measured_and_predicted_s.max()))
        score_axis.step(
            measured_and_predicted_s[0] / unit_seconds,
            best_scores,
            where="post",
            color=ACCENT,
            linewidth=1.6,
            label="as measured",
        )
        score_axis.step(
            measured_and_predicted_s[1] / unit_seconds,
            best_scores,
            where="post",
            color=FAINT,
            linewidth=1.2,
            dashes=(4, 2),
            label="as predicted",
        )
        wide_scale(score_axis, "y", best_scores)
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
    wide_scale(axis, "y", regrets)
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
                prediction for prediction in all_predictions if prediction.inside is is_inside_band
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
            wide_scale(axis, axis_letter, all_scores)
        axis_range = _axis_limits(all_scores, axis.get_xscale())
        axis.plot(axis_range, axis_range, color=FAINT, linewidth=0.8, dashes=(4, 3), zorder=0)
        axis.set(xlim=axis_range, ylim=axis_range)
        axis.set(xlabel="actual score", ylabel="forecast score")
        legend_above(axis, 2)
        return figure


def _forecast_points(predictions: Sequence[Prediction]) -> np.ndarray[Any, np.dtype[np.float64]]:
    """(n, 4): measured score, forecast score, and the ends of its band; an open end is set to the
    lowest or highest of all scores."""
    score_rows = [
        (
            prediction.score,
            prediction.forecast.score,
            prediction.forecast.low,
            prediction.forecast.high,
        )
        for prediction in predictions
    ]
    points = np.array(score_rows, dtype=np.float64)
    for band_end_column, extreme_of_scores in ((2, np.nanmin), (3, np.nanmax)):
        points[np.isnan(points[:, band_end_column]), band_end_column] = extreme_of_scores(
            points[:, :2]
        )
    return points


def effects_figure(importance: Matter, axes: Sequence[AxisEffect]) -> Figure:
    """One panel per axis: the expected score at each level, averaged over the other axes; hollow if
    no trial of it has a score."""
    row_count = -(-len(axes) // PANELS_PER_ROW)
    all_level_scores = [
        score
        for axis in axes
        for level in axis.levels
        for score in (level.score, level.low, level.high)
        if score is not None
    ]
    with house_style():
        figure_height = 0.25 + 2.15 * row_count
        figure = Figure(figsize=(9.6, figure_height))
        for panel_index, effect in enumerate(axes):
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
            wide_scale(axis, "y", np.array(all_level_scores), 5.0)
            axis.set_ylim(*_axis_limits(all_level_scores, axis.get_yscale()))
            share_in_title = "" if effect.share is None else f", {percent(effect.share)}"
            axis.set_title(f"{effect.name.replace('_', ' ')}{share_in_title}", fontsize=8.5)
            axis.set_ylabel("score" if panel_column == 0 else "")
            axis.tick_params(labelleft=panel_column == 0, which="both")
        return figure


def _draw_effect(axis: Any, effect: AxisEffect) -> None:
    """The expected score at each level with its band: lines for an ordinal axis, points for a
    categorical one."""
    level_indices = [index for index, level in enumerate(effect.levels) if level.score is not None]
    level_scores = np.array(
        [effect.levels[index].score for index in level_indices], dtype=np.float64
    )
    if effect.levels[0].low is not None:
        band_lows = np.array([level.low for level in effect.levels])
        band_highs = np.array([level.high for level in effect.levels])
        if effect.kind == "ordinal":
            axis.fill_between(
                level_indices, band_lows, band_highs, color=ACCENT, alpha=0.15, linewidth=0
            )
        else:
            axis.vlines(level_indices, band_lows, band_highs, color=ACCENT, linewidth=4, alpha=0.2)
    linewidth = 1.3 if effect.kind == "ordinal" else 0.0
    axis.plot(level_indices, level_scores, color=ACCENT, linewidth=linewidth)
    marker_fills = [ACCENT if effect.levels[index].scored else "white" for index in level_indices]
    axis.scatter(
        level_indices,
        level_scores,
        s=18,
        c=marker_fills,
        edgecolors=ACCENT,
        linewidths=0.9,
        zorder=3,
    )
    level_labels = [wording.level_text(level.level) for level in effect.levels]
    label_options = SLANTED_LABELS if sum(map(len, level_labels)) > 24 else {}
    axis.set_xticks(range(len(level_labels)), level_labels, **label_options)
    axis.set_xlim(-0.4, len(effect.levels) - 0.6)
    axis.tick_params(axis="x", length=0, labelcolor=INK)


def _axis_limits(shown_values: Any, scale: str) -> tuple[float, float]:
    """(lower, upper) limit of an axis: the range of the values and 5 % of it at each end; on a
    linear scale at least 1 % of the highest value."""
    lowest = float(min(shown_values))
    highest = float(max(shown_values))
    if scale == "log":
        margin_factor = (highest / lowest) ** 0.05
        return lowest / margin_factor, highest * margin_factor
    margin = max(0.05 * (highest - lowest), 0.01 * abs(highest)) or 1.0
    return lowest - margin, highest + margin
