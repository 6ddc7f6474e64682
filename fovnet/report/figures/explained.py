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

ACROSS = 4
"""Panels per row."""

SLANTED: Any = {"rotation": 40, "ha": "right", "rotation_mode": "anchor", "fontsize": 6.5}
"""Text properties of level names too long to fit side by side."""

LEAST = 1e-5
"""Expected regrets below this share of the greatest are not drawn."""


def explained_figures(explanation: Explanation) -> dict[str, Figure | None]:
    """Every figure by its name in the template; None where there is nothing to draw."""
    scored = [one for one in explanation.forecasts.slots if one.score is not None]
    axes = (
        [axis for axis in explanation.matter.axes if len(axis.levels) > 1]
        if explanation.matter
        else []
    )
    return {
        "convergence": convergence_figure(explanation.steps)
        if explanation.best_slot is not None
        else None,
        "descent": descent_figure(explanation.descent) if explanation.descent else None,
        "rungs": rungs_figure(explanation.spending) if explanation.spending else None,
        "forecasts": forecast_figure(scored) if scored else None,
        "effects": effects_figure(explanation.matter, axes)
        if explanation.matter and axes
        else None,
    }


def convergence_figure(steps: Sequence[Step]) -> Figure:
    """The best score so far against measured and predicted training time; the expected regret by slot."""
    with house_style():
        figure = Figure(figsize=(7.6, 3.0))
        left = figure.add_axes((0.1, 0.16, 0.39, 0.72))
        right = figure.add_axes((0.6, 0.16, 0.37, 0.72))
        known = [step for step in steps if step.best is not None]
        best = np.array([step.best for step in known], dtype=np.float64)
        spent = np.array([[step.seconds_spent, step.predicted_seconds_spent] for step in known]).T
        unit, name = unit_of_time(float(spent.max()))
        left.step(
            spent[0] / unit, best, where="post", color=ACCENT, linewidth=1.6, label="as measured"
        )
        left.step(
            spent[1] / unit,
            best,
            where="post",
            color=FAINT,
            linewidth=1.2,
            dashes=(4, 2),
            label="as predicted",
        )
        wide_scale(left, "y", best)
        left.set(xlabel=f"training in all, {name}", ylabel="best score so far")
        legend_above(left, 2, -0.04, columnspacing=1.2)
        _draw_regret(right, steps)
        return figure


def _draw_regret(axis: Any, steps: Sequence[Step]) -> None:
    """Expected regret by slot; a line of text where no slot has one."""
    points = [(step.slot, step.expected_regret) for step in steps if step.expected_regret]
    axis.set(xlabel="slot", ylabel="expected regret")
    axis.set_xlim(-0.5, steps[-1].slot + 0.5)
    if not points:
        axis.text(
            0.5, 0.5, "no regret was forecast", transform=axis.transAxes, ha="center", color=SOFT
        )
        axis.set_yticks([])
        return
    slots, regrets = np.array(points).T
    slots, regrets = (
        slots[regrets > LEAST * regrets.max()],
        regrets[regrets > LEAST * regrets.max()],
    )
    axis.plot(slots, regrets, color=ACCENT, linewidth=1.2, marker="o", markersize=2.5)
    axis.xaxis.set_major_locator(MaxNLocator(integer=True))
    wide_scale(axis, "y", regrets)
    axis.set_ylim(*_room(regrets, axis.get_yscale()))


def forecast_figure(scored: Sequence[Prediction]) -> Figure:
    """Forecast score with its band against the measured score, one point per trial; the dashed line is
    equality."""
    with house_style():
        figure = Figure(figsize=(5.2, 4.6))
        axis = figure.add_axes((0.14, 0.11, 0.83, 0.81))
        for inside, colour, name in ((True, ACCENT, "inside its band"), (False, WARN, "outside")):
            chosen = [one for one in scored if one.inside is inside]
            if not chosen:
                continue
            came, forecast, low, high = _points(chosen).T
            axis.vlines(came, low, high, color=colour, linewidth=0.7, alpha=0.45)
            axis.scatter(
                came, forecast, s=14, color=colour, linewidths=0, label=f"{name}, {len(chosen)}"
            )
        every = _points(scored)[:, [0, 1, 3]].ravel()
        for side in "xy":
            wide_scale(axis, side, every)
        ends = _room(every, axis.get_xscale())
        axis.plot(ends, ends, color=FAINT, linewidth=0.8, dashes=(4, 3), zorder=0)
        axis.set(xlim=ends, ylim=ends)
        axis.set(xlabel="actual score", ylabel="forecast score")
        legend_above(axis, 2)
        return figure


def _points(predictions: Sequence[Prediction]) -> np.ndarray[Any, np.dtype[np.float64]]:
    """(n, 4): measured score, forecast score, and the ends of its band; an open end is set to the lowest or
    highest of all scores."""
    values = [
        (one.score, one.forecast.score, one.forecast.low, one.forecast.high) for one in predictions
    ]
    points = np.array(values, dtype=np.float64)
    for column, farthest in ((2, np.nanmin), (3, np.nanmax)):
        points[np.isnan(points[:, column]), column] = farthest(points[:, :2])
    return points


def effects_figure(matter: Matter, axes: Sequence[AxisEffect]) -> Figure:
    """One panel per axis: the expected score at each level, averaged over the other axes; hollow if no trial
    of it has a score."""
    down = -(-len(axes) // ACROSS)
    ends = [
        value
        for axis in axes
        for level in axis.levels
        for value in (level.score, level.low, level.high)
        if value is not None
    ]
    with house_style():
        height = 0.25 + 2.15 * down
        figure = Figure(figsize=(9.6, height))
        for place, effect in enumerate(axes):
            row, column = divmod(place, ACROSS)
            box = (
                0.07 + column * 0.235,
                1 - (0.3 + 1.55 + 2.15 * row) / height,
                0.2,
                1.55 / height,
            )
            axis = figure.add_axes(box)
            axis.axhline(matter.mean_score, color=FAINT, linewidth=0.7, dashes=(4, 3))
            _draw_effect(axis, effect)
            wide_scale(axis, "y", np.array(ends), 5.0)
            axis.set_ylim(*_room(ends, axis.get_yscale()))
            share = "" if effect.share is None else f", {percent(effect.share)}"
            axis.set_title(f"{effect.name.replace('_', ' ')}{share}", fontsize=8.5)
            axis.set_ylabel("score" if column == 0 else "")
            axis.tick_params(labelleft=column == 0, which="both")
        return figure


def _draw_effect(axis: Any, effect: AxisEffect) -> None:
    places = [place for place, level in enumerate(effect.levels) if level.score is not None]
    scores = np.array([effect.levels[place].score for place in places], dtype=np.float64)
    if effect.levels[0].low is not None:
        low, high = (
            np.array([getattr(level, end) for level in effect.levels]) for end in ("low", "high")
        )
        if effect.kind == "ordinal":
            axis.fill_between(places, low, high, color=ACCENT, alpha=0.15, linewidth=0)
        else:
            axis.vlines(places, low, high, color=ACCENT, linewidth=4, alpha=0.2)
    axis.plot(places, scores, color=ACCENT, linewidth=1.3 if effect.kind == "ordinal" else 0.0)
    faces = [ACCENT if effect.levels[place].scored else "white" for place in places]
    axis.scatter(places, scores, s=18, c=faces, edgecolors=ACCENT, linewidths=0.9, zorder=3)
    names = [wording.level(level.level) for level in effect.levels]
    axis.set_xticks(range(len(names)), names, **(SLANTED if sum(map(len, names)) > 24 else {}))
    axis.set_xlim(-0.4, len(effect.levels) - 0.6)
    axis.tick_params(axis="x", length=0, labelcolor=INK)


def _room(values: Any, scale: str) -> tuple[float, float]:
    """Axis limits: the range of the values and 5 % of it at each end; on a linear scale at least 1 % of the
    highest value."""
    low, high = float(min(values)), float(max(values))
    if scale == "log":
        spare = (high / low) ** 0.05
        return low / spare, high * spare
    room = max(0.05 * (high - low), 0.01 * abs(high)) or 1.0
    return low - room, high + room
