"""The chart of a direct search: every configuration with the step that chose it, the best so far,
and the frame of the poll around it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
from matplotlib.figure import Figure

from fovnet.drawing.canvas import ACCENT, FAINT, INK, WARN, house_style, legend_above
from fovnet.drawing.scales import scale_axis
from fovnet.search.explain.descent import Descent, Point

COLOUR_AND_MARKER_BY_STEP: Mapping[str, tuple[str, str]] = {
    "start": (INK, "s"),
    "spread": (INK, "s"),
    "poll": (ACCENT, "o"),
    "extended poll": ("#6aa5c9", "o"),
    "speculative": ("#2e7d4f", "^"),
    "search": ("#7a4fa3", "D"),
    "restart": (WARN, "v"),
}
"""The colour and the mark of each step."""
MARKER_SIZE = 12
CENTRE_MARKER_SIZE = 34  # of a configuration that became the centre of the poll


def descent_figure(descent: Descent) -> Figure | None:
    """Above, the scores with the best so far, failures at the top; below, the reach of the poll.
    None before the first score."""
    scores = np.array([point.score for point in descent.points if point.score is not None])
    if not len(scores):
        return None
    with house_style():
        figure = Figure(figsize=(9.6, 4.8))
        score_axis = figure.add_axes((0.08, 0.40, 0.9, 0.51))
        frame_axis = figure.add_axes((0.08, 0.10, 0.9, 0.24))
        _draw_scores(score_axis, descent.points)
        scale_axis(score_axis, "y", scores)
        _draw_frames(
            frame_axis, [point for point in descent.points if point.frame_reach is not None]
        )
        for axis in (score_axis, frame_axis):
            axis.set_xlim(-0.5, max(1, len(descent.points)) - 0.5)
        score_axis.tick_params(labelbottom=False)
        return figure


def _draw_scores(axis: Any, points: tuple[Point, ...]) -> None:
    """Scores by the step that chose them, failures as crosses at the top, the lowest so far as a
    line."""
    for step_name, (colour, marker) in COLOUR_AND_MARKER_BY_STEP.items():
        step_points = [point for point in points if point.kind == step_name]
        scored_points = [point for point in step_points if point.score is not None]
        if step_points:
            marker_sizes = [
                CENTRE_MARKER_SIZE if point.is_new_centre else MARKER_SIZE
                for point in scored_points
            ]
            axis.scatter(
                [point.configuration_number for point in scored_points],
                [point.score for point in scored_points],
                s=marker_sizes,
                color=colour,
                marker=marker,
                linewidths=0,
                label=step_name,
                zorder=3,
            )
    draw_failures(
        axis,
        [point.configuration_number for point in points if point.score is None],
        label="failed",
    )
    points_with_centre = [point for point in points if point.centre_score is not None]
    axis.step(
        [point.configuration_number for point in points_with_centre],
        [point.centre_score for point in points_with_centre],
        where="post",
        color=INK,
        linewidth=1.0,
    )
    axis.set_ylabel("score")
    axis.xaxis.get_major_locator().set_params(integer=True)
    legend_above(axis, len(COLOUR_AND_MARKER_BY_STEP) + 1, -0.01, columnspacing=1.2)


def draw_failures(axis: Any, failed_numbers: Sequence[int], **options: Any) -> None:
    """Crosses at the top, at the numbers of configurations that failed, with more `options` of
    matplotlib; nothing without any."""
    if not failed_numbers:
        return
    axis.scatter(
        failed_numbers,
        [0.97] * len(failed_numbers),
        transform=axis.get_xaxis_transform(),
        marker="x",
        s=14,
        color=WARN,
        linewidths=0.9,
        **options,
    )


def _draw_frames(axis: Any, points_with_frame: list[Point]) -> None:
    """The reach of the poll by configuration, with a line at each restart."""
    axis.step(
        [point.configuration_number for point in points_with_frame],
        [point.frame_reach for point in points_with_frame],
        where="post",
        color=ACCENT,
        linewidth=1.2,
    )
    frame_sizes = sorted(
        {point.frame_reach for point in points_with_frame if point.frame_reach is not None}
    )
    axis.set_yscale("log")
    axis.set_yticks(frame_sizes, [f"{frame_size:g}" for frame_size in frame_sizes])
    axis.minorticks_off()
    axis.set_ylim(frame_sizes[0] / 1.5, frame_sizes[-1] * 1.5)
    axis.set(xlabel="configuration, as begun", ylabel="reach of the poll")
    axis.xaxis.get_major_locator().set_params(integer=True)
    for point in points_with_frame:
        if point.kind == "restart":
            axis.axvline(point.configuration_number, color=FAINT, linewidth=0.5, zorder=0)
