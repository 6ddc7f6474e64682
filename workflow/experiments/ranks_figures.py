"""The figures of search methods ranked on many tables: ranks and regrets by draw, and which
differences are critical."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from fovnet.bench.figures.race import line_style_of
from fovnet.drawing.canvas import FAINT, INK, SOFT, house_style

if TYPE_CHECKING:
    from ranks import MethodDifferences

LEGEND_COLUMNS = 4
FLOOR = 1e-5
"""Regrets below are drawn here: on this scale a method that has found the best row of every table
has none."""


def ranks_figure(rows: Sequence[Mapping[str, Any]]) -> Figure:
    """Mean rank, and mean regret, by draw, with bands of their 95 % intervals, from the lines of
    `ranks.rank_lines`."""
    methods = list(dict.fromkeys(row["method"] for row in rows))
    legend_inches = 0.1 + 0.18 * math.ceil(len(methods) / LEGEND_COLUMNS)
    with house_style():
        height = 3.9 + legend_inches
        figure = Figure(figsize=(10.4, height))
        rank_axis, regret_axis = (
            figure.add_axes((left_edge, 0.45 / height, 0.42, 3.1 / height))
            for left_edge in (0.062, 0.565)
        )
        for number, method in enumerate(methods):
            rows_of_method = [row for row in rows if row["method"] == method]
            _draw(rank_axis, rows_of_method, "rank", number)
            _draw(regret_axis, rows_of_method, "regret", number)
        end = max(row["draw"] for row in rows)
        rank_axis.set(xlim=(0, end), xlabel="draws", ylabel="mean rank")
        rank_axis.invert_yaxis()  # the best at the top
        rank_axis.set_title(
            "rank among these methods, 1 the best; 95 % intervals by tables", loc="left"
        )
        regret_axis.set(xlim=(0, end), xlabel="draws", ylabel="mean regret", yscale="log")
        if any(row["regret"] <= FLOOR for row in rows):
            regret_axis.set_ylim(bottom=FLOOR)
        regret_axis.set_title(f"regret, 0 the best; drawn from {FLOOR:g} up", loc="left")
        figure.legend(
            *rank_axis.get_legend_handles_labels(),
            loc="upper left",
            bbox_to_anchor=(0.05, 1.0),
            ncols=LEGEND_COLUMNS,
            frameon=False,
        )
        return figure


def _draw(axis: Axes, rows: Sequence[Mapping[str, Any]], column: str, number: int) -> None:
    """The mean of a column by draw, and its band."""
    stroke = line_style_of(number)
    floor = 0.0
    if column == "regret":
        floor = FLOOR
    draws = [row["draw"] for row in rows]
    mean, low, high = (
        np.maximum([row[name] for row in rows], floor)
        for name in (column, f"{column}_low", f"{column}_high")
    )
    axis.fill_between(draws, low, high, color=stroke["color"], alpha=0.13, linewidth=0)
    axis.plot(draws, mean, **stroke, linewidth=1.5, label=rows[0]["method"])


def critical_figure(tests: Sequence[MethodDifferences]) -> Figure:
    """One chart a moment: methods on an axis of their mean rank, the best at the left; a bar joins
    those between which no difference is significant."""
    heights = [
        0.95 + 0.19 * math.ceil(len(test.methods) / 2) + 0.1 * len(test.groups) for test in tests
    ]
    with house_style():
        figure = Figure(figsize=(8.4, sum(heights)))
        top = 1.0
        for test, height in zip(tests, heights, strict=True):
            top -= height / sum(heights)
            _draw_test(figure.add_axes((0.27, top, 0.46, height / sum(heights))), test, height)
        return figure


def _draw_test(axis: Axes, test: MethodDifferences, height: float) -> None:
    """In inches downwards: a title of up to two lines, the axis at 0.55, bars, names left and right."""
    k = len(test.methods)
    line = 0.55
    axis.set(xlim=(1, k), ylim=(height, 0))
    axis.set_axis_off()
    title = f"after {test.draw} draws: {test.sentence}"
    axis.text(
        -0.55,
        0.16,
        title.replace("; ", ";\n"),  # in one line it is cut off
        transform=axis.get_yaxis_transform(),
        va="center",
    )
    axis.plot([1, k], [line, line], color=INK, linewidth=0.9, clip_on=False)
    for rank in range(1, k + 1):
        axis.plot([rank, rank], [line - 0.05, line], color=INK, linewidth=0.9, clip_on=False)
        axis.text(rank, line - 0.08, f"{rank}", ha="center", va="bottom", color=SOFT)
    order = np.argsort(test.ranks, kind="stable").tolist()
    names_top = line + 0.14 + 0.1 * len(test.groups)
    for number, group in enumerate(test.groups):
        ends = [test.ranks[group[0]] - 0.03, test.ranks[group[-1]] + 0.03]
        axis.plot(
            ends,
            [line + 0.1 * (number + 1)] * 2,
            color=INK,
            linewidth=3.0,
            solid_capstyle="butt",
            zorder=3,
        )
    left_count = math.ceil(k / 2)
    for position, method_number in enumerate(order):
        if position < left_count:
            names_above = position
            edge = 1
            text_x = -0.02
            alignment = "right"
        else:
            names_above = k - 1 - position
            edge = k
            text_x = 1.02
            alignment = "left"
        x = test.ranks[method_number]
        y = names_top + 0.19 * names_above
        axis.plot([x, x, edge], [line, y, y], color=FAINT, linewidth=0.8, clip_on=False)
        axis.text(
            text_x,
            y,
            f"{test.methods[method_number]}  {x:.2f}",
            ha=alignment,
            va="center",
            transform=axis.get_yaxis_transform(),
        )
