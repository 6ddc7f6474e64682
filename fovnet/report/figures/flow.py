"""The charts of the flow of volumes and of risk against coverage, as matplotlib Figures."""

from __future__ import annotations

from collections.abc import Sequence
from textwrap import wrap
from typing import Any

import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.patches import FancyBboxPatch

from fovnet.drawing.canvas import ACCENT, FAINT, INK, WARN, house_style, legend_above
from fovnet.report.content.confidence import RiskView
from fovnet.report.content.flow import Exclusion, FlowStep, FlowView
from fovnet.report.content.statement_rates import StatementsView

STEP_INCHES = 0.86
"""Height of a step: its box and the arrow above it."""
MOST_REASONS = 4
"""Maximum number of reasons beside one step; the table below the figure has all."""
REASON_LETTERS = 58
"""As many letters of a reason fit beside a step."""
LEAST_SHARE_WITH_LABEL_LEFT = 0.08
"""The label of a line further left stands on its right, as the labels of the ticks begin there."""


def flow_figure(view: FlowView) -> Figure:
    """One box per step from top to bottom; beside each arrow the exclusions and their reasons."""
    step_count = len(view.steps)
    figure_width = 7.6
    figure_height = STEP_INCHES * step_count + 0.1
    with house_style():
        figure = Figure(figsize=(figure_width, figure_height))
        axis = figure.add_axes((0, 0, 1, 1))
        axis.set(xlim=(0, figure_width), ylim=(0, figure_height))
        axis.axis("off")
        for step_index, step in enumerate(view.steps):
            box_middle = STEP_INCHES * (step_count - step_index - 0.5) + 0.05
            _draw_step_box(axis, 0.1, box_middle, 3.5, step.name, _counts_text(step))
            if step_index:
                axis.annotate(
                    "",
                    (1.85, box_middle + 0.27),
                    (1.85, box_middle + 0.59),
                    arrowprops={"arrowstyle": "->", "color": INK, "lw": 0.9},
                )
            if step.exclusions:
                reasons_height = box_middle + 0.43
                axis.plot([1.85, 3.9], [reasons_height, reasons_height], color=FAINT, linewidth=0.8)
                axis.text(
                    4.0,
                    reasons_height,
                    _reasons_text(step.exclusions),
                    va="center",
                    ha="left",
                    fontsize=7.5,
                    color=WARN,
                )
        return figure


def _counts_text(step: FlowStep) -> str:
    """ "120 volumes · 80 subjects · 9,000 slices", without those that are not counted."""
    count_by_unit = {
        "volumes": step.volume_count,
        "subjects": step.subject_count,
        "slices": step.slice_count,
    }
    return " · ".join(
        f"{count:,} {unit}" for unit, count in count_by_unit.items() if count is not None
    )


def _draw_step_box(
    axis: Any, box_left: float, box_middle: float, box_width: float, title: str, counts_text: str
) -> None:
    """A box with its title above its counts; left edge, middle height and width in inches."""
    axis.add_patch(
        FancyBboxPatch(
            (box_left, box_middle - 0.25),
            box_width,
            0.5,
            boxstyle="round,pad=0,rounding_size=0.06",
            facecolor="#f4f7f9",
            edgecolor=FAINT,
        )
    )
    axis.text(
        box_left + 0.12, box_middle + 0.1, title, va="center", fontweight="bold", fontsize=8.5
    )
    axis.text(box_left + 0.12, box_middle - 0.1, counts_text, va="center", fontsize=8)


def _reasons_text(exclusions: Sequence[Exclusion]) -> str:
    """A line for each of the first MOST_REASONS exclusions, cut to REASON_LETTERS, and "and others"
    if there are more."""
    reason_lines = []
    for exclusion in exclusions[:MOST_REASONS]:
        reason_lines += wrap(f"{exclusion.volume_count:,} {exclusion.reason}", REASON_LETTERS)[:1]
    if len(exclusions) > MOST_REASONS:
        reason_lines.append("and others")
    return "\n".join(reason_lines)


def risk_figure(view: RiskView) -> Figure:
    """Share of wrong slices, and of volumes with wrong regions, against the share of volumes
    answered."""
    with house_style():
        figure = Figure(figsize=(5.2, 3.6))
        axis = figure.add_axes((0.14, 0.15, 0.82, 0.74))
        coverages = np.array([point.coverage for point in view.points])
        axis.step(
            coverages,
            [point.wrong_set_share for point in view.points],
            where="post",
            color=WARN,
            linewidth=1.3,
            dashes=(4, 1.5),
            label="volumes with wrong regions",
        )
        axis.step(
            coverages,
            [point.slice_error for point in view.points],
            where="post",
            color=ACCENT,
            linewidth=1.8,
            label="slices wrong",
        )
        _label_axes(
            axis, "share of the volumes answered, the surest first", view.answered_share, "answered"
        )
        return figure


def statement_risk_figure(view: StatementsView) -> Figure:
    """Share of wrong statements against the share of statements decided, the most probable
    first."""
    with house_style():
        figure = Figure(figsize=(5.2, 3.6))
        axis = figure.add_axes((0.14, 0.15, 0.82, 0.74))
        axis.step(
            [point.coverage for point in view.risk_points],
            [point.wrong_share for point in view.risk_points],
            where="post",
            color=ACCENT,
            linewidth=1.8,
            label="statements wrong",
        )
        _label_axes(
            axis, "share of the statements decided, the surest first", view.decided_share, "decided"
        )
        return figure


def _label_axes(axis: Axes, x_label: str, answered_share: float | None, line_label: str) -> None:
    """Words of the axes and legend, and a dotted line at the share that is answered, with its
    label."""
    if answered_share is not None:
        axis.axvline(answered_share, color=INK, linewidth=0.8, dashes=(2, 2))
        label_x = answered_share - 0.01
        label_side = "right"
        if answered_share <= LEAST_SHARE_WITH_LABEL_LEFT:
            label_x = answered_share + 0.01
            label_side = "left"
        axis.text(
            label_x,
            0.97,
            line_label,
            transform=axis.get_xaxis_transform(),
            ha=label_side,
            va="top",
            rotation=90,
        )
    axis.set(xlim=(0, 1.01), xlabel=x_label, ylabel="share wrong")
    axis.set_ylim(0, None)
    legend_above(axis, 2, -0.04)
