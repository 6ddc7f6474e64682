"""The chart of a direct search over a tree: a line for each structure."""

from __future__ import annotations

from typing import Any

import numpy as np
from matplotlib.figure import Figure

from fovnet.drawing.canvas import ACCENT, FAINT, INK, SOFT, WARN, house_style, legend_above
from fovnet.drawing.scales import scale_axis
from fovnet.report.content.wording import levels_text, score_text
from fovnet.report.figures.descent import draw_failures
from fovnet.search.explain.tree_descent import StructureCourse, TreeDescent

COLOURS = (ACCENT, WARN, "#2e7d4f", "#7a4fa3", INK, SOFT)
"""Of the lines with a name, the lowest score first."""
LEGEND_ROW_INCHES = 0.17


def structures_figure(descent: TreeDescent) -> Figure | None:
    """The scores by configuration, with the lowest so far of the best structures, failures as crosses
    at the top; None before the first score."""
    scores = np.array(
        [score for course in descent.structures for score in course.scores if score is not None]
    )
    if not len(scores):
        return None
    drawn_structures = [
        course for course in descent.structures[: len(COLOURS)] if np.isfinite(course.lowest_score)
    ]
    head_inches = 0.1 + LEGEND_ROW_INCHES * len(drawn_structures)
    height_inches = 3.4 + head_inches
    with house_style():
        figure = Figure(figsize=(9.6, height_inches))
        axis: Any = figure.add_axes((0.08, 0.45 / height_inches, 0.9, 2.9 / height_inches))
        failed_numbers = [
            number
            for course in descent.structures
            for number, score in zip(course.numbers, course.scores, strict=True)
            if score is None
        ]
        draw_failures(axis, failed_numbers)
        for course in descent.structures[len(drawn_structures) :]:
            _draw_scores(axis, course, FAINT)
            _draw_lowest(axis, course, FAINT, linewidth=0.7)
        for course, colour in zip(drawn_structures, COLOURS, strict=False):
            _draw_scores(axis, course, colour)
            label = f"{score_text(course.lowest_score)}  {levels_text(course.levels)}"
            _draw_lowest(axis, course, colour, linewidth=1.4, label=label)
        axis.set(xlabel="configuration, as begun", ylabel="score")
        axis.xaxis.get_major_locator().set_params(integer=True)
        scale_axis(axis, "y", scores)
        legend_above(axis, 1, -0.01)
        return figure


def _scored_points(course: StructureCourse) -> tuple[list[int], list[float]]:
    """The numbers and scores of configurations that have one."""
    numbers = []
    scores = []
    for number, score in zip(course.numbers, course.scores, strict=True):
        if score is not None:
            numbers.append(number)
            scores.append(score)
    return numbers, scores


def _draw_scores(axis: Any, course: StructureCourse, colour: str) -> None:
    numbers, scores = _scored_points(course)
    axis.scatter(numbers, scores, s=12, color=colour, linewidths=0, zorder=2)


def _draw_lowest(axis: Any, course: StructureCourse, colour: str, **options: Any) -> None:
    """A step line up to the last configuration of the structure, with more `options` of matplotlib."""
    numbers, scores = _scored_points(course)
    if scores:
        axis.step(numbers, np.minimum.accumulate(scores), where="post", color=colour, **options)
