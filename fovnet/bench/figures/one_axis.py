"""Pictures of Gaussian processes and of a search on a single axis."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from itertools import chain

import numpy as np
from matplotlib.artist import Artist
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.lines import Line2D
from matplotlib.patches import Patch
from numpy.typing import NDArray

from fovnet.bench.one_axis import (
    AXIS,
    Acquisitions,
    Process,
    SearchStep,
    evaluate_loss,
    standardised_function,
)
from fovnet.drawing.canvas import ACCENT, FAINT, INK, SOFT, WARN, house_style

Floats = NDArray[np.float64]

WIDTH_INCHES = 10.4
PANEL_HEIGHT_INCHES = 2.3
BAND_DEVIATIONS = 1.96
"""Of a band that holds 95 %."""
DASHES = (0, (4, 2))
BAND_KEY = {"95 % lie here": Patch(facecolor=FAINT, alpha=0.45)}
PROCESS_KEYS: dict[str, Artist] = {
    "the function": Line2D([], [], color=INK, lw=0.9, ls=DASHES),
    "observed": Line2D([], [], color=INK, ls="", marker="o", ms=4),
    "mean": Line2D([], [], color=ACCENT, lw=1.5),
    **BAND_KEY,
}
CHOICE_KEY = Line2D([], [], color=WARN, lw=1.0)
"""What a legend shows of each drawn thing."""


def functions_figure(drawn_by_title: Sequence[tuple[str, Floats]]) -> Figure:
    """Functions drawn from priors, a panel each: title and functions (c, m)."""
    with house_style():
        figure, panels = _make_panels(1, len(drawn_by_title))
        for panel, (title, functions) in zip(panels[0], drawn_by_title, strict=True):
            _draw_band(panel, np.zeros(len(AXIS)), np.ones(len(AXIS)))
            panel.plot(AXIS, functions.T, lw=1.0)
            _finish_panel(panel, title, (-3.4, 3.4))
        _add_legend(figure, {**BAND_KEY, "functions drawn": Line2D([], [], lw=1.0)})
        return figure


def processes_figure(process_by_title: Sequence[tuple[str, Process]], column_count: int) -> Figure:
    """What processes say of the standardised function, a panel each."""
    row_count = -(-len(process_by_title) // column_count)
    with house_style():
        figure, panels = _make_panels(row_count, column_count)
        for panel, (title, process) in zip(chain(*panels), process_by_title, strict=False):
            _draw_process(panel, process, standardised_function())
            _finish_panel(panel, title, (-3.4, 4.4))
        keys = PROCESS_KEYS
        if any(len(process.drawn_functions) for _, process in process_by_title):
            keys = {**keys, "functions drawn": Line2D([], [], color=SOFT, lw=0.6)}
        _add_legend(figure, keys)
        return figure


def acquisitions_figure(process: Process, acquisitions: Acquisitions) -> Figure:
    """One posterior above, and below it what three measures make of it, with their choices."""
    titles = ("expected improvement", "probability of improvement", "lower confidence bound")
    values_by_measure = (
        acquisitions.expected_improvement,
        acquisitions.improvement_probability,
        acquisitions.lower_bound,
    )
    with house_style():
        figure, panels = _make_panels(2, 3)
        for column, (title, values) in enumerate(zip(titles, values_by_measure, strict=True)):
            chosen_point = acquisitions.chosen_points[column]
            score_panel = panels[0][column]
            gain_panel = panels[1][column]
            _draw_process(score_panel, process, standardised_function())
            _finish_panel(score_panel, f"{title} chooses {chosen_point:.2f}", (-3.4, 4.4))
            gain_panel.plot(AXIS, values, color=ACCENT, lw=1.3)
            _finish_panel(gain_panel, title, None)
            for panel in (score_panel, gain_panel):
                panel.axvline(chosen_point, color=WARN, lw=1.0)
        _add_legend(figure, {**PROCESS_KEYS, "chosen point": CHOICE_KEY})
        return figure


def steps_figure(steps: Sequence[SearchStep]) -> Figure:
    """Two panels a step: what the search knows, and the expected improvement with its choice."""
    with house_style():
        figure, panels = _make_panels(len(steps), 2)
        for step_number, step in enumerate(steps):
            score_panel, gain_panel = panels[step_number]
            observed_count = len(step.process.observed_points)
            _draw_process(score_panel, step.process, evaluate_loss(AXIS))
            _finish_panel(score_panel, f"after {observed_count} trainings: scores", (0.0, 2.0))
            gain_panel.plot(AXIS, step.expected_improvement, color=ACCENT, lw=1.3)
            title = f"expected improvement; next is {step.proposed_point:.3f}"
            _finish_panel(gain_panel, title, None)
            for panel in (score_panel, gain_panel):
                panel.axvline(step.proposed_point, color=WARN, lw=1.0)
        _add_legend(figure, {**PROCESS_KEYS, "next, of points not yet trained": CHOICE_KEY})
        return figure


def _make_panels(row_count: int, column_count: int) -> tuple[Figure, list[list[Axes]]]:
    """A figure and its panels, by row and column."""
    figure = Figure(
        figsize=(WIDTH_INCHES, 0.4 + PANEL_HEIGHT_INCHES * row_count), layout="constrained"
    )
    panels = figure.subplots(row_count, column_count, squeeze=False, sharex=True)
    return figure, panels.tolist()


def _add_legend(figure: Figure, artist_by_label: Mapping[str, Artist]) -> None:
    """A line below the panels that says what is drawn."""
    figure.legend(
        [*artist_by_label.values()],
        [*artist_by_label],
        loc="outside lower center",
        ncols=len(artist_by_label),
        fontsize=8,
        frameon=False,
    )


def _draw_process(panel: Axes, process: Process, function: Floats) -> None:
    """The band, the mean, drawn functions, the true function dashed, and what is observed."""
    _draw_band(panel, process.mean, process.deviation)
    if len(process.drawn_functions):
        panel.plot(AXIS, process.drawn_functions.T, color=SOFT, lw=0.6, alpha=0.8)
    panel.plot(AXIS, function, color=INK, lw=0.9, ls=DASHES)
    panel.plot(AXIS, process.mean, color=ACCENT, lw=1.5)
    panel.plot(process.observed_points, process.observed_values, "o", color=INK, ms=4)


def _draw_band(panel: Axes, mean: Floats, deviation: Floats) -> None:
    """The band in which 95 % lie, about a mean (m,)."""
    half_width = BAND_DEVIATIONS * deviation
    panel.fill_between(AXIS, mean - half_width, mean + half_width, color=FAINT, alpha=0.45, lw=0)


def _finish_panel(panel: Axes, title: str, limits: tuple[float, float] | None) -> None:
    """Its title, and the limits of its values."""
    panel.set_title(title, fontsize=8.5)
    panel.set_xlim(0, 1)
    if limits:
        panel.set_ylim(*limits)
