"""Charts: each function draws a view of the page as a matplotlib Figure."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from matplotlib.figure import Figure
from matplotlib.ticker import MaxNLocator

from fovnet.drawing.canvas import ACCENT, FAINT, INK, WARN, house_style, legend_above, svg_uri
from fovnet.drawing.raster import jpeg_uri
from fovnet.regions import Vocabulary
from fovnet.report.content.confidence import PRESENCE, STAGE_IN_WORDS, ReliabilityPoint
from fovnet.report.content.page import Page
from fovnet.report.content.performance import BorderDots, ConfusionView
from fovnet.report.content.pictures import VolumeView
from fovnet.report.content.search import CurvePoint
from fovnet.report.content.statement_rates import StatementsView
from fovnet.report.figures.body import Body
from fovnet.report.figures.body_figure import volume_figure
from fovnet.report.figures.flow import flow_figure, risk_figure, statement_risk_figure
from fovnet.report.figures.search_explanation import figures_of_search


def confusion_figure(view: ConfusionView) -> Figure:
    """Three confusion matrices side by side: counts, shaded by their share of the row."""
    with house_style():
        figure = Figure(figsize=(10.6, 4.3))
        for stage_index, stage in enumerate(view.stages):
            axis = figure.add_axes((0.068 + stage_index * 0.318, 0.20, 0.283, 0.67))
            row_shares = stage.counts / np.maximum(stage.counts.sum(axis=1, keepdims=True), 1)
            axis.imshow(row_shares, cmap="Blues", vmin=0, vmax=1.15, aspect="auto")
            for true_index, predicted_index in np.ndindex(*stage.counts.shape):
                count = int(stage.counts[true_index, predicted_index])
                text_colour = INK if count else "#c4ccd3"
                if row_shares[true_index, predicted_index] > 0.55:
                    text_colour = "white"
                font_weight = "bold" if true_index == predicted_index and count else "normal"
                count_text = f"{count}" if count else "·"
                axis.text(
                    predicted_index,
                    true_index,
                    count_text,
                    ha="center",
                    va="center",
                    color=text_colour,
                    fontsize=7.5,
                    weight=font_weight,
                )
            axis.set_title(f"{stage.name}\n{stage.error}", fontsize=8.5)
            axis.set_xticks(
                range(len(view.classes)),
                view.classes,
                rotation=40,
                ha="right",
                rotation_mode="anchor",
            )
            axis.set_yticks(
                range(len(view.classes)),
                view.classes if stage_index == 0 else [""] * len(view.classes),
            )
            axis.tick_params(length=0)
            axis.spines[:].set_visible(False)
            if stage_index == 0:
                axis.set_ylabel("true")
            axis.set_xlabel("predicted", labelpad=2)
        return figure


def border_figure(dots_by_border: Sequence[BorderDots]) -> Figure:
    """Signed error in mm of every border found, one row per kind; the shaded band of ±10 mm is
    agreement. Errors and medians beyond
    `_axis_reach_mm` are arrows at the edge: on a longer axis the other
    points would overlap."""
    with house_style():
        figure = Figure(figsize=(7.6, 0.75 + 0.42 * max(len(dots_by_border), 1)))
        figure_height = figure.get_figheight()
        axis = figure.add_axes((0.19, 0.48 / figure_height, 0.78, 1 - 0.58 / figure_height))
        axis.axvspan(-10, 10, color="#dcebf3", linewidth=0)
        axis.axvline(0, color=FAINT, linewidth=0.7)
        reach_mm = _axis_reach_mm(dots_by_border)
        for border_index, dots_of_border in enumerate(reversed(dots_by_border)):
            errors_mm = np.asarray(dots_of_border.errors_mm)
            # steps of the golden ratio separate equal errors
            offsets = 0.5 * (np.arange(len(errors_mm)) * 0.618 % 1 - 0.5)
            is_within = np.abs(errors_mm) <= reach_mm
            axis.scatter(
                errors_mm[is_within],
                (border_index + offsets)[is_within],
                s=13,
                color=ACCENT,
                alpha=0.6,
                linewidths=0,
            )
            for sign, marker in ((-1, "<"), (1, ">")):
                heights_beyond = (border_index + offsets)[~is_within & (np.sign(errors_mm) == sign)]
                axis.scatter(
                    np.full(len(heights_beyond), 1.05 * sign * reach_mm),
                    heights_beyond,
                    s=22,
                    marker=marker,
                    color=WARN,
                    linewidths=0,
                )
            # above the points, which it would otherwise hide
            if dots_of_border.median_mm is not None:
                marker = ">" if dots_of_border.median_mm > 0 else "<"
                if abs(dots_of_border.median_mm) <= reach_mm:
                    marker = "v"
                median_mm = float(
                    np.clip(dots_of_border.median_mm, -1.05 * reach_mm, 1.05 * reach_mm)
                )
                axis.plot(
                    [median_mm],
                    [border_index + 0.36],
                    color=INK,
                    marker=marker,
                    markersize=5,
                    linestyle="",
                )
        axis.set_yticks(
            range(len(dots_by_border)),
            [dots_of_border.name for dots_of_border in reversed(dots_by_border)],
        )
        axis.set_ylim(-0.6, len(dots_by_border) - 0.4)
        axis.set_xlim(-1.1 * reach_mm, 1.1 * reach_mm)
        axis.tick_params(axis="y", length=0)
        axis.spines["left"].set_visible(False)
        axis.set_xlabel(
            "predicted minus true, mm  (left: too far towards the feet; right: towards the head)"
        )
        return figure


def _axis_reach_mm(dots_by_border: Sequence[BorderDots]) -> float:
    """The largest absolute error in mm drawn to scale: twice the 95th percentile, or the maximum if
    that is smaller; at least 20.

    Of borders between two regions alone, where any was found: an end may be half a metre off.
    """
    region_borders = [
        border_dots_of_kind
        for border_dots_of_kind in dots_by_border
        if border_dots_of_kind.errors_mm and not border_dots_of_kind.are_ends
    ] or dots_by_border
    absolute_errors_mm = np.abs(
        [error for border_dots_of_kind in region_borders for error in border_dots_of_kind.errors_mm]
    )
    if not len(absolute_errors_mm):
        return 20.0
    return float(
        max(20.0, min(absolute_errors_mm.max(), 2 * np.quantile(absolute_errors_mm, 0.95)))
    )


def reliability_figure(
    points: Sequence[ReliabilityPoint],
    share_label: str = "share of slices that are right",
    count_label: str = "slices",
    confidence_label: str = "confidence",
) -> Figure:
    """Share of right slices against confidence, above a histogram of the confidence; or of other
    things, with the words of the three axes."""
    with house_style():
        figure = Figure(figsize=(5.2, 4.6))
        axis = figure.add_axes((0.13, 0.34, 0.84, 0.58))
        histogram = figure.add_axes((0.13, 0.11, 0.84, 0.15))
        axis.plot([0, 1], [0, 1], color=FAINT, linewidth=0.8, dashes=(4, 3))
        colour_and_marker_by_stage = {
            "raw": (WARN, "^"),
            "calibrated": (INK, "v"),
            "smoothed": (FAINT, "s"),
            "decided": (ACCENT, "o"),
            PRESENCE: (ACCENT, "o"),
        }
        stages = [
            stage
            for stage in colour_and_marker_by_stage
            if any(point.stage == stage for point in points)
        ]
        bar_width = 0.07 / max(len(stages), 1)
        for stage_index, stage in enumerate(stages):
            colour, marker = colour_and_marker_by_stage[stage]
            stage_points = [point for point in points if point.stage == stage]
            confidences = [point.confidence for point in stage_points]
            shares = [point.share for point in stage_points]
            axis.plot(confidences, shares, color=colour, marker=marker, markersize=4)
            axis.lines[-1].set_label(STAGE_IN_WORDS[stage])
            bar_offset = bar_width * (stage_index - (len(stages) - 1) / 2)
            bar_positions = [point.middle + bar_offset for point in stage_points]
            slice_counts = [point.slices for point in stage_points]
            histogram.bar(bar_positions, slice_counts, width=0.95 * bar_width, color=colour)
        axis.set(xlim=(0, 1), ylim=(0, 1.02), ylabel=share_label)
        legend_above(axis, len(stages), columnspacing=1.4)
        histogram.set(xlim=(0, 1), ylabel=count_label, xlabel=confidence_label)
        return figure


def search_figure(trial_points: Sequence[CurvePoint], *, is_further: bool = False) -> Figure:
    """Score of every trial by slot, failed ones as crosses, the best so far as a line, the start
    configurations circled; if networks were trained further, without line and circles."""
    with house_style():
        figure = Figure(figsize=(7.6, 3.0))
        axis = figure.add_axes((0.1, 0.16, 0.87, 0.72))
        scored_points = [point for point in trial_points if point.score is not None]
        scores = np.array([point.score for point in scored_points], dtype=np.float64)
        slots = [point.slot for point in scored_points]
        axis.scatter(slots, scores, s=14, color=FAINT, alpha=0.8, linewidths=0, label="a trial")
        if len(scores) and not is_further:
            best_so_far = np.minimum.accumulate(scores)
            axis.step(
                slots, best_so_far, where="post", color=ACCENT, linewidth=1.6, label="best so far"
            )
        start_points = [point for point in scored_points if point.is_start and not is_further]
        if start_points:
            start_scores = np.array([point.score for point in start_points], dtype=np.float64)
            start_slots = [point.slot for point in start_points]
            circles = axis.scatter(
                start_slots, start_scores, s=54, facecolors="none", edgecolors=WARN, linewidths=1.2
            )
            circles.set_label("the start configuration")
        failed_slots = [point.slot for point in trial_points if point.score is None]
        if failed_slots:
            worst_score = float(scores.max()) if len(scores) else 1.0
            axis.scatter(
                failed_slots,
                [worst_score * 1.04] * len(failed_slots),
                marker="x",
                s=16,
                color=WARN,
                linewidths=0.9,
                label="failed",
            )
        if len(scores) and scores.min() > 0 and scores.max() / scores.min() > 20:
            axis.set_yscale("log")
        axis.set(xlabel="trial", ylabel="score (validation loss)")
        axis.xaxis.set_major_locator(MaxNLocator(integer=True))
        legend_above(axis, 4, columnspacing=1.4)
        return figure


def case_figure(view: VolumeView, vocabulary: Vocabulary) -> Figure:
    """The figure of one evaluated volume."""
    body = Body(view.pixels, view.z_mm, view.side_mm, view.smoothed, view.spans, vocabulary)
    return volume_figure(
        view.title,
        body,
        view.raw,
        truth=view.truth,
        message=view.message,
        guessed=view.guessed,
    )


def _statement_figures(view: StatementsView) -> dict[str, Figure | None]:
    """The figures of what is said of each region."""
    axis_labels = (
        "share of regions that are shown",
        "statements",
        "probability that the region is shown",
    )
    return {
        "statement-reliability": reliability_figure(view.reliability, *axis_labels),
        "statement-risk": statement_risk_figure(view) if view.risk else None,
    }


def charts(page: Page) -> dict[str, str]:
    """Every figure of the page as a data: URI, by its name in the template; figures without data
    are left out."""
    performance = page.performance
    risk = page.confidence.risk
    search = page.search
    borders = performance.border_errors
    flow = page.cohort.flow
    pictured_failures = page.cases.failures.pictured
    figure_by_name: dict[str, Figure | None] = {
        "confusion": confusion_figure(performance.confusion),
        "reliability": reliability_figure(page.confidence.reliability),
    }
    if any(border_dots_of_kind.errors_mm for border_dots_of_kind in borders):
        figure_by_name["borders"] = border_figure(borders)
    if search.points:
        figure_by_name["search"] = search_figure(search.points, is_further=search.further)
    if flow.steps:
        figure_by_name["flow"] = flow_figure(flow)
    if risk.points:
        figure_by_name["risk"] = risk_figure(risk)
    if performance.said:
        figure_by_name |= _statement_figures(performance.said)
    if search.explained is not None:
        figure_by_name |= figures_of_search(search.explained.explanation)
    volume_view_by_name = {
        f"volume-{case_index}": view for case_index, view in enumerate(page.cases.pictures)
    }
    volume_view_by_name |= {
        f"failure-{case_index}": failure.picture
        for case_index, failure in enumerate(pictured_failures)
    }
    figure_by_name |= {
        figure_name: case_figure(view, page.vocabulary)
        for figure_name, view in volume_view_by_name.items()
    }
    thumbnail_uri_by_name = {
        f"failure-{case_index}-{thumbnail_index}": jpeg_uri(thumbnail.pixels)
        for case_index, failure in enumerate(pictured_failures)
        for thumbnail_index, thumbnail in enumerate(failure.thumbnails)
    }
    return {
        figure_name: svg_uri(figure)
        for figure_name, figure in figure_by_name.items()
        if figure is not None
    } | thumbnail_uri_by_name
