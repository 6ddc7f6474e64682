"""The figure of a race between search methods: how soon each finds the best row, and how many
draws, or with learning curves epochs, each goal takes."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.ticker import PercentFormatter

from fovnet.bench.races import GOALS, Standing, SuccessCurve
from fovnet.drawing.canvas import ACCENT, FAINT, INK, WARN, house_style

COLOURS = (ACCENT, WARN, "#3b7d3f", "#7a4fa0", "#b8860b", "#c2497b", "#3c9c9c", "#6d4c33")
STYLES = ("-", (0, (5, 2)), (0, (1.5, 1.5)))
"""Of more methods than colours the further ones are dashed."""


@dataclass(frozen=True, eq=False)
class RaceView:
    """One table's part of the figure: the curve (n,) and the standings of each method, and the
    exact shares (n,) of random search, empty where not draws but epochs are counted."""

    name: str
    rows: int
    chance: np.ndarray
    curves: Sequence[SuccessCurve]
    standings: Sequence[Standing]

    @property
    def unit(self) -> str:
        """What the n are."""
        return "draws" if len(self.chance) else "epochs"

    @property
    def most(self) -> int:
        """n, the most draws or epochs of a run."""
        return len(self.curves[0].share)


def race_figure(views: Sequence[RaceView]) -> Figure:
    """Two charts per table, side by side; random search as run is grey, its exact expectation
    dashed."""
    shades = _shades([curve.label for view in views for curve in view.curves])
    with house_style():
        entries = list(shades)
        columns = 4
        head = 0.45 + 0.17 * -(-(len(entries) + 1) // columns)
        chart = 2.55
        gap = 0.78
        foot = 0.45
        height = head + len(views) * chart + (len(views) - 1) * gap + foot
        figure = Figure(figsize=(10.4, height))
        for number, view in enumerate(views):
            bottom = (height - head - (number + 1) * chart - number * gap) / height
            _shares(figure.add_axes((0.062, bottom, 0.41, chart / height)), view, shades)
            _needs(figure.add_axes((0.575, bottom, 0.41, chart / height)), view, shades)
        handle_by_name = {
            name: handle
            for axis in figure.axes[::2]
            for handle, name in zip(*axis.get_legend_handles_labels(), strict=True)
        }
        figure.legend(
            list(handle_by_name.values()),
            list(handle_by_name),
            loc="upper left",
            bbox_to_anchor=(0.05, 1.0),
            ncols=columns,
            frameon=False,
            columnspacing=1.6,
        )
        return figure


def stroke_of(number: int) -> dict[str, Any]:
    """The colour and the style of the line of a method, by its number."""
    return {
        "color": COLOURS[number % len(COLOURS)],
        "linestyle": STYLES[number // len(COLOURS) % len(STYLES)],
    }


def _shades(names: Sequence[str]) -> Mapping[str, str]:
    learners = [name for name in dict.fromkeys(names) if name != "random"]
    colours = {name: COLOURS[number % len(COLOURS)] for number, name in enumerate(learners)}
    return colours | ({"random": FAINT} if "random" in names else {})


def _shares(axis: Axes, view: RaceView, shades: Mapping[str, str]) -> None:
    """Step curves: the share of runs that had found the best row after n draws or epochs.  A band
    ends where all runs have found it."""
    counts = np.arange(view.most + 1)
    if len(view.chance):
        axis.step(
            counts,
            np.concatenate([[0.0], view.chance]),
            where="post",
            color=INK,
            linewidth=0.9,
            linestyle=(0, (4, 2)),
            label="random, exact",
            zorder=3,
        )
    for curve in view.curves:
        colour = shades[curve.label]
        low, high = (np.concatenate([[0.0], end]) for end in (curve.low, curve.high))
        share = np.concatenate([[0.0], curve.share])
        is_open = (share < 1.0) | (counts <= np.argmax(share == 1.0))
        is_drawn = (share > 0.0) & is_open
        axis.fill_between(
            counts, low, high, where=is_drawn, step="post", color=colour, alpha=0.13, linewidth=0
        )
        axis.step(counts, share, where="post", color=colour, linewidth=1.6, label=curve.label)
    trained = "trained the best row" if view.unit == "epochs" else "found the best row"
    axis.set(xlim=(0, view.most), ylim=(0, 1.02), xlabel=view.unit, ylabel=f"runs that {trained}")
    axis.yaxis.set_major_formatter(PercentFormatter(1.0))
    name = view.name if len(view.name) <= 48 else f"{view.name[:47]}…"
    axis.set_title(f"{name}: {view.rows:,} rows", loc="left")


def _needs(axis: Axes, view: RaceView, shades: Mapping[str, str]) -> None:
    """Mean draws or epochs to every goal with their intervals, one lane per method within the
    goal's band."""
    lanes = [curve.label for curve in view.curves]
    for band, goal in enumerate(GOALS):
        rows = [row for row in view.standings if row.goal == goal]
        if band % 2:
            axis.axhspan(band - 0.5, band + 0.5, color="#f3f6f8", linewidth=0, zorder=0)
        if len(view.chance):
            axis.plot(
                [rows[0].chance] * 2,
                [band - 0.42, band + 0.42],
                color=INK,
                linewidth=0.9,
                linestyle=(0, (4, 2)),
            )
        for row in rows:
            mean, *ends = _interval(view, row)
            lane = band + 0.7 * ((lanes.index(row.label) + 0.5) / len(lanes) - 0.5)
            axis.plot(
                ends,
                [lane, lane],
                color=shades[row.label],
                linewidth=1.3,
            )
            axis.plot(
                [mean],
                [lane],
                color=shades[row.label],
                marker="o",
                markersize=3.6,
            )
    ends_and_means = [
        number for row in view.standings for number in _interval(view, row) if np.isfinite(number)
    ]
    most = max(ends_and_means + [row.chance for row in view.standings if len(view.chance)])
    axis.set_yticks(range(len(GOALS)), GOALS)
    axis.set(
        ylim=(len(GOALS) - 0.5, -0.5),
        xlim=(0, 1.04 * most),
        xlabel=f"{view.unit} until the goal, mean and its 95 % interval",
    )
    axis.tick_params(axis="y", length=0)
    axis.spines["left"].set_visible(False)
    axis.set_title(
        f"{_runs(view)}, 95 % intervals; one without it counts as {view.most:,} {view.unit}",
        loc="left",
    )


def _interval(view: RaceView, row: Standing) -> tuple[float, float, float]:
    """The mean of a standing in the view's unit, and the ends of its interval."""
    if view.unit == "draws":
        return row.mean, row.low, row.high
    return row.epochs, row.epochs_low, row.epochs_high


def _runs(view: RaceView) -> str:
    counts = sorted({curve.runs for curve in view.curves})
    return f"{counts[0]} runs" if len(counts) == 1 else f"{counts[0]}-{counts[-1]} runs"
