"""The figure of a race between search methods: how soon each finds the best row, and how many
draws, or with learning curves epochs, each goal takes."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.ticker import PercentFormatter

from fovnet.bench.races import GOALS, Standing, SuccessCurve
from fovnet.drawing.canvas import ACCENT, FAINT, INK, WARN, house_style

METHOD_COLOURS = (ACCENT, WARN, "#3b7d3f", "#7a4fa0", "#b8860b", "#c2497b", "#3c9c9c", "#6d4c33")
LINE_STYLES = ("-", (0, (5, 2)), (0, (1.5, 1.5)))
"""Of more methods than colours the further ones are dashed."""
LONGEST_NAME = 48  # characters of a table's name that are shown


@dataclass(frozen=True, eq=False)
class RaceView:
    """One table's part of the figure.

    name           of the table, which has `row_count` rows
    chance_shares  (n,) exact probability that random search has found the best row after n draws;
                   empty where not draws but epochs are counted
    curves         one for each method, (n,)
    standings      one for each method and goal
    """

    name: str
    row_count: int
    chance_shares: np.ndarray
    curves: Sequence[SuccessCurve]
    standings: Sequence[Standing]

    @property
    def unit(self) -> str:
        """What the n are: "draws" or "epochs"."""
        if len(self.chance_shares):
            return "draws"
        return "epochs"

    @property
    def longest_run(self) -> int:
        """n, the most draws or epochs of a run."""
        return len(self.curves[0].share)


def race_figure(views: Sequence[RaceView]) -> Figure:
    """Two charts per table, side by side; random search as run is grey, its exact expectation
    dashed."""
    colour_by_label = _colour_by_label([curve.label for view in views for curve in view.curves])
    with house_style():
        legend_labels = list(colour_by_label)
        legend_column_count = 4
        legend_row_count = math.ceil((len(legend_labels) + 1) / legend_column_count)
        head_inches = 0.45 + 0.17 * legend_row_count
        chart_inches = 2.55
        gap_inches = 0.78
        foot_inches = 0.45
        height_inches = (
            head_inches + len(views) * chart_inches + (len(views) - 1) * gap_inches + foot_inches
        )
        figure = Figure(figsize=(10.4, height_inches))
        for view_index, view in enumerate(views):
            chart_bottom = (
                height_inches
                - head_inches
                - (view_index + 1) * chart_inches
                - view_index * gap_inches
            ) / height_inches
            _draw_found_shares(
                figure.add_axes((0.062, chart_bottom, 0.41, chart_inches / height_inches)),
                view,
                colour_by_label,
            )
            _draw_counts_to_goals(
                figure.add_axes((0.575, chart_bottom, 0.41, chart_inches / height_inches)),
                view,
                colour_by_label,
            )
        handle_by_name = {
            label: handle
            for axis in figure.axes[::2]
            for handle, label in zip(*axis.get_legend_handles_labels(), strict=True)
        }
        figure.legend(
            list(handle_by_name.values()),
            list(handle_by_name),
            loc="upper left",
            bbox_to_anchor=(0.05, 1.0),
            ncols=legend_column_count,
            frameon=False,
            columnspacing=1.6,
        )
        return figure


def line_style_of(method_index: int) -> dict[str, Any]:
    """The colour and the style of the line of a method, by its number."""
    return {
        "color": METHOD_COLOURS[method_index % len(METHOD_COLOURS)],
        "linestyle": LINE_STYLES[method_index // len(METHOD_COLOURS) % len(LINE_STYLES)],
    }


def _colour_by_label(labels: Sequence[str]) -> Mapping[str, str]:
    learner_labels = [label for label in dict.fromkeys(labels) if label != "random"]
    colour_by_label = {
        label: METHOD_COLOURS[learner_index % len(METHOD_COLOURS)]
        for learner_index, label in enumerate(learner_labels)
    }
    if "random" in labels:
        colour_by_label["random"] = FAINT
    return colour_by_label


def _draw_found_shares(axis: Axes, view: RaceView, colour_by_label: Mapping[str, str]) -> None:
    """Step curves: the share of runs that had found the best row after n draws or epochs.  A band
    ends where all runs have found it."""
    draw_numbers = np.arange(view.longest_run + 1)
    if len(view.chance_shares):
        axis.step(
            draw_numbers,
            np.concatenate([[0.0], view.chance_shares]),
            where="post",
            color=INK,
            linewidth=0.9,
            linestyle=(0, (4, 2)),
            label="random, exact",
            zorder=3,
        )
    for curve in view.curves:
        colour = colour_by_label[curve.label]
        lower_shares, upper_shares = (
            np.concatenate([[0.0], interval_end]) for interval_end in (curve.low, curve.high)
        )
        found_shares = np.concatenate([[0.0], curve.share])
        is_before_all_found = (found_shares < 1.0) | (
            draw_numbers <= np.argmax(found_shares == 1.0)
        )
        is_drawn = (found_shares > 0.0) & is_before_all_found
        axis.fill_between(
            draw_numbers,
            lower_shares,
            upper_shares,
            where=is_drawn,
            step="post",
            color=colour,
            alpha=0.13,
            linewidth=0,
        )
        axis.step(
            draw_numbers, found_shares, where="post", color=colour, linewidth=1.6, label=curve.label
        )
    runs_label = "runs that found the best row"
    if view.unit == "epochs":
        runs_label = "runs that trained the best row"
    axis.set(xlim=(0, view.longest_run), ylim=(0, 1.02), xlabel=view.unit, ylabel=runs_label)
    axis.yaxis.set_major_formatter(PercentFormatter(1.0))
    short_name = view.name
    if len(short_name) > LONGEST_NAME:
        short_name = f"{short_name[: LONGEST_NAME - 1]}…"
    axis.set_title(f"{short_name}: {view.row_count:,} rows", loc="left")


def _draw_counts_to_goals(axis: Axes, view: RaceView, colour_by_label: Mapping[str, str]) -> None:
    """Mean draws or epochs to every goal with their intervals, one lane per method within the
    goal's band."""
    lane_labels = [curve.label for curve in view.curves]
    for goal_index, goal in enumerate(GOALS):
        goal_standings = [standing for standing in view.standings if standing.goal == goal]
        if goal_index % 2:
            axis.axhspan(goal_index - 0.5, goal_index + 0.5, color="#f3f6f8", linewidth=0, zorder=0)
        if len(view.chance_shares):
            axis.plot(
                [goal_standings[0].chance] * 2,
                [goal_index - 0.42, goal_index + 0.42],
                color=INK,
                linewidth=0.9,
                linestyle=(0, (4, 2)),
            )
        for standing in goal_standings:
            mean_count, *interval_ends = _mean_and_interval(view, standing)
            lane_height = goal_index + 0.7 * (
                (lane_labels.index(standing.label) + 0.5) / len(lane_labels) - 0.5
            )
            axis.plot(
                interval_ends,
                [lane_height, lane_height],
                color=colour_by_label[standing.label],
                linewidth=1.3,
            )
            axis.plot(
                [mean_count],
                [lane_height],
                color=colour_by_label[standing.label],
                marker="o",
                markersize=3.6,
            )
    ends_and_means = [
        drawn_number
        for standing in view.standings
        for drawn_number in _mean_and_interval(view, standing)
        if np.isfinite(drawn_number)
    ]
    greatest_number = max(
        ends_and_means + [standing.chance for standing in view.standings if len(view.chance_shares)]
    )
    axis.set_yticks(range(len(GOALS)), GOALS)
    axis.set(
        ylim=(len(GOALS) - 0.5, -0.5),
        xlim=(0, 1.04 * greatest_number),
        xlabel=f"{view.unit} until the goal, mean and its 95 % interval",
    )
    axis.tick_params(axis="y", length=0)
    axis.spines["left"].set_visible(False)
    axis.set_title(
        f"{_run_count_text(view)}, 95 % intervals; one without it counts as {view.longest_run:,} {view.unit}",
        loc="left",
    )


def _mean_and_interval(view: RaceView, standing: Standing) -> tuple[float, float, float]:
    """(mean, lower, upper end of its interval) of a standing, in draws or epochs as the view
    counts."""
    if view.unit == "draws":
        return standing.mean, standing.low, standing.high
    return standing.epochs, standing.epochs_low, standing.epochs_high


def _run_count_text(view: RaceView) -> str:
    """ "20 runs" of every method, or "20-25 runs" where these differ."""
    run_counts = sorted({curve.runs for curve in view.curves})
    if len(run_counts) == 1:
        return f"{run_counts[0]} runs"
    return f"{run_counts[0]}-{run_counts[-1]} runs"
