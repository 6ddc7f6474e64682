"""The chart of a direct search: every configuration with the step that chose it, the best so far, and the
frame of the poll around it."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
from matplotlib.figure import Figure

from fovnet.drawing.canvas import ACCENT, FAINT, INK, WARN, house_style, legend_above
from fovnet.drawing.scales import wide_scale
from fovnet.search.explain.descent import Descent, Point

STEPS: Mapping[str, tuple[str, str]] = {
    "start": (INK, "s"),
    "spread": (INK, "s"),
    "poll": (ACCENT, "o"),
    "extended poll": ("#6aa5c9", "o"),
    "speculative": ("#2e7d4f", "^"),
    "search": ("#7a4fa3", "D"),
    "restart": (WARN, "v"),
}
"""The colour and the mark of each step."""


def descent_figure(course: Descent) -> Figure | None:
    """Above, the scores with the best so far, failures at the top; below, the reach of the poll.  None before
    the first score."""
    scores = np.array([one.score for one in course.points if one.score is not None])
    if not len(scores):
        return None
    with house_style():
        figure = Figure(figsize=(9.6, 4.8))
        above, below = (
            figure.add_axes((0.08, 0.40, 0.9, 0.51)),
            figure.add_axes((0.08, 0.10, 0.9, 0.24)),
        )
        _draw_scores(above, course.points)
        wide_scale(above, "y", scores)
        _draw_frames(below, [one for one in course.points if one.frame is not None])
        for axis in (above, below):
            axis.set_xlim(-0.5, max(1, len(course.points)) - 0.5)
        above.tick_params(labelbottom=False)
        return figure


def _draw_scores(axis: Any, points: tuple[Point, ...]) -> None:
    for name, (colour, mark) in STEPS.items():
        here = [one for one in points if one.kind == name]
        scored = [one for one in here if one.score is not None]
        if here:
            sizes = [34 if one.moved else 12 for one in scored]
            axis.scatter(
                [one.begun for one in scored],
                [one.score for one in scored],
                s=sizes,
                color=colour,
                marker=mark,
                linewidths=0,
                label=name,
                zorder=3,
            )
    failed = [one.begun for one in points if one.score is None]
    if failed:
        axis.scatter(
            failed,
            [0.97] * len(failed),
            transform=axis.get_xaxis_transform(),
            marker="x",
            s=14,
            color=WARN,
            linewidths=0.9,
            label="failed",
        )
    known = [one for one in points if one.lowest is not None]
    axis.step(
        [one.begun for one in known],
        [one.lowest for one in known],
        where="post",
        color=INK,
        linewidth=1.0,
    )
    axis.set_ylabel("score")
    axis.xaxis.get_major_locator().set_params(integer=True)
    legend_above(axis, len(STEPS) + 1, -0.01, columnspacing=1.2)


def _draw_frames(axis: Any, points: list[Point]) -> None:
    axis.step(
        [one.begun for one in points],
        [one.frame for one in points],
        where="post",
        color=ACCENT,
        linewidth=1.2,
    )
    frames = sorted({one.frame for one in points if one.frame is not None})
    axis.set_yscale("log")
    axis.set_yticks(frames, [f"{frame:g}" for frame in frames])
    axis.minorticks_off()
    axis.set_ylim(frames[0] / 1.5, frames[-1] * 1.5)
    axis.set(xlabel="configuration, as begun", ylabel="reach of the poll")
    axis.xaxis.get_major_locator().set_params(integer=True)
    for one in points:
        if one.kind == "restart":
            axis.axvline(one.begun, color=FAINT, linewidth=0.5, zorder=0)
