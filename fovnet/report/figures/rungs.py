"""The chart of a search that compares trainings before their end: what ran when, on which rung, and
with what loss."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from matplotlib.colors import LinearSegmentedColormap, to_hex
from matplotlib.figure import Figure
from matplotlib.lines import Line2D

from fovnet.drawing.canvas import ACCENT, FAINT, INK, SOFT, WARN, house_style, legend_above
from fovnet.drawing.scales import scale_axis, unit_of_time
from fovnet.search.explain.spent import Spending, Stretch

FIRST_COLOUR = "#b5d0e4"
LAST_COLOUR = "#0d151c"
"""The colours of the first rung, from where they deepen to ACCENT, and of the last: trained to the
end."""
LEAST_BAR_SHARE = 0.002
"""The least width of a bar, as a share of the whole time: a training of a second is seen beside one
of an hour."""
MOST_SEPARATE_LINES = 120
"""Of so many configurations each has a line of its own; of more, neighbours overlap, to be thick
enough to see."""


def rungs_figure(spending: Spending) -> Figure | None:
    """Above, one line per configuration over virtual time, each slot a bar in the colour of its
    rung; below, the score at each slot's end, joined along a training.  None before the first slot
    has ended."""
    ended_stretches = [stretch for stretch in spending.stretches if stretch.end_seconds is not None]
    if not ended_stretches:
        return None
    colour_by_rung = rung_colours(len(spending.rungs))
    unit_seconds, unit_name = unit_of_time(
        max(stretch.end_seconds or 0.0 for stretch in ended_stretches)
    )
    with house_style():
        figure = Figure(figsize=(9.6, 5.6))
        bar_axis = figure.add_axes((0.08, 0.44, 0.9, 0.49))
        score_axis = figure.add_axes((0.08, 0.09, 0.9, 0.31))
        _draw_bars(bar_axis, ended_stretches, unit_seconds, colour_by_rung)
        _draw_scores(score_axis, ended_stretches, unit_seconds, colour_by_rung)
        last_end = max(stretch.end_seconds or 0.0 for stretch in ended_stretches) / unit_seconds
        for axis in (bar_axis, score_axis):
            axis.set_xlim(-0.01 * last_end, 1.01 * last_end)
        bar_axis.tick_params(labelbottom=False)
        score_axis.set(xlabel=f"virtual time, {unit_name}", ylabel="score")
        _draw_legend(bar_axis, spending, colour_by_rung)
        return figure


def rung_colours(count: int) -> list[str]:
    """A colour for each rung, the darker the higher."""
    colour_ramp = LinearSegmentedColormap.from_list("rungs", [FIRST_COLOUR, ACCENT])
    return [*(to_hex(colour_ramp(share)) for share in np.linspace(0, 1, count - 1)), LAST_COLOUR]


def _draw_bars(
    axis: Any, stretches: Sequence[Stretch], unit_seconds: float, colour_by_rung: Sequence[str]
) -> None:
    """A bar for each slot, from its begin to its end, in the line of its configuration; crosses for
    failures."""
    configuration_count = 1 + max(stretch.row_number for stretch in stretches)
    least_seconds = LEAST_BAR_SHARE * max(stretch.end_seconds or 0.0 for stretch in stretches)
    # from a slot to the one that goes on with it
    for stretch, next_stretch in _successive_slots(stretches):
        axis.hlines(
            stretch.row_number,
            (stretch.end_seconds or 0.0) / unit_seconds,
            (next_stretch.begin_seconds or 0.0) / unit_seconds,
            color=FAINT,
            linewidth=0.4,
        )
    begin_seconds = np.array([stretch.begin_seconds for stretch in stretches], dtype=np.float64)
    end_seconds = np.array([stretch.end_seconds for stretch in stretches], dtype=np.float64)
    bar_seconds = np.maximum(end_seconds - begin_seconds, least_seconds)
    axis.barh(
        [stretch.row_number for stretch in stretches],
        bar_seconds / unit_seconds,
        left=begin_seconds / unit_seconds,
        height=max(0.85, configuration_count / MOST_SEPARATE_LINES),
        color=[colour_by_rung[stretch.rung] for stretch in stretches],
        linewidth=0,
    )
    failed_stretches = [stretch for stretch in stretches if stretch.score is None]
    failed_ends = [(stretch.end_seconds or 0.0) / unit_seconds for stretch in failed_stretches]
    axis.scatter(
        failed_ends,
        [stretch.row_number for stretch in failed_stretches],
        marker="x",
        s=14,
        color=WARN,
        linewidths=0.9,
        zorder=3,
    )
    axis.set_ylim(configuration_count - 0.25, -0.75)  # the first at the top
    axis.set_ylabel("configuration, as begun")
    axis.yaxis.get_major_locator().set_params(integer=True)


def _draw_scores(
    axis: Any, stretches: Sequence[Stretch], unit_seconds: float, colour_by_rung: Sequence[str]
) -> None:
    """The scores as dots and the chains as lines, with the lowest so far; a line of text where
    there is none."""
    scored_stretches = sorted(
        (stretch for stretch in stretches if stretch.score is not None),
        key=lambda stretch: (stretch.end_seconds or 0.0, stretch.slot),
    )
    if not scored_stretches:
        axis.text(
            0.5,
            0.5,
            "no training came to a score",
            transform=axis.transAxes,
            ha="center",
            color=SOFT,
        )
        axis.set_yticks([])
        return
    for stretch, next_stretch in _successive_slots(scored_stretches):
        axis.plot(
            [
                (stretch.end_seconds or 0.0) / unit_seconds,
                (next_stretch.end_seconds or 0.0) / unit_seconds,
            ],
            [stretch.score, next_stretch.score],
            color=FAINT,
            linewidth=0.5,
            zorder=1,
        )
    scored_ends = (
        np.array([stretch.end_seconds for stretch in scored_stretches], dtype=np.float64)
        / unit_seconds
    )
    scores = np.array([stretch.score for stretch in scored_stretches], dtype=np.float64)
    axis.step(
        scored_ends, np.minimum.accumulate(scores), where="post", color=INK, linewidth=1.0, zorder=2
    )
    marker_size = 16
    if len(scored_stretches) >= 100:  # smaller ones overlap less
        marker_size = 7
    axis.scatter(
        scored_ends,
        scores,
        s=marker_size,
        c=[colour_by_rung[stretch.rung] for stretch in scored_stretches],
        linewidths=0,
        zorder=3,
    )
    scale_axis(axis, "y", scores)


def _successive_slots(stretches: Sequence[Stretch]) -> list[tuple[Stretch, Stretch]]:
    """(slot, the next slot) of the same training, for every slot that was gone on with."""
    last_stretch_by_row: dict[int, Stretch] = {}
    successive_pairs = []
    for stretch in sorted(stretches, key=lambda stretch: stretch.slot):
        if stretch.row_number in last_stretch_by_row:
            successive_pairs.append((last_stretch_by_row[stretch.row_number], stretch))
        last_stretch_by_row[stretch.row_number] = stretch
    return successive_pairs


def _draw_legend(axis: Any, spending: Spending, colours: Sequence[str]) -> None:
    """The colour of each rung, the cross of failures, and the line of the lowest score."""
    rung_names = [rung.name for rung in spending.rungs]
    handles = [
        Line2D([], [], color=colour, linewidth=5, label=rung_name)
        for colour, rung_name in zip(colours, rung_names, strict=True)
    ]
    if any(stretch.score is None for stretch in spending.stretches):
        handles.append(
            Line2D([], [], color=WARN, marker="x", linewidth=0, markersize=4, label="failed")
        )
    handles.append(Line2D([], [], color=INK, linewidth=1.0, label="lowest score so far"))
    legend_above(axis, len(handles), -0.01, handles=handles)
