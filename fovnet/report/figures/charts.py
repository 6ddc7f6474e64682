"""Charts: each function draws a view of the page as a matplotlib Figure."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.ticker import MaxNLocator
from numpy.typing import NDArray

from fovnet.drawing.canvas import ACCENT, FAINT, INK, WARN, house_style, legend_above, svg_uri
from fovnet.drawing.raster import jpeg_uri
from fovnet.evaluate.borders import AGREEMENT_MM
from fovnet.regions import Vocabulary
from fovnet.report.content.confidence import PRESENCE, WORDS_BY_STAGE, ReliabilityPoint
from fovnet.report.content.confusions import ConfusionView
from fovnet.report.content.page import Page
from fovnet.report.content.performance import BorderDots
from fovnet.report.content.pictures import VolumeView
from fovnet.report.content.search import CurvePoint
from fovnet.report.content.statement_rates import StatementsView
from fovnet.report.figures.body import Body
from fovnet.report.figures.body_figure import volume_figure
from fovnet.report.figures.flow import flow_figure, risk_figure, statement_risk_figure
from fovnet.report.figures.layers import layers_figure
from fovnet.report.figures.search_explanation import figures_of_search

LEAST_DARK_SHARE = 0.55
"""Cells of a confusion matrix with a larger share of their row are dark: their text is white."""
LEAST_REACH_MM = 20.0
"""The axis of border errors reaches at least so far."""
LEAST_LOG_RATIO = 20.0
"""Scores with a ratio above this have a logarithmic axis."""
CONFUSIONS_INCHES = 10.6
LEFT_SHARE = 0.074
"""Of that width, left of the first matrix, where no class has more than seven letters."""
LEFT_SHARE_PER_LETTER = 0.0065
LARGEST_COUNT_SIZE = 7.5
DIGIT_INCHES = 0.073
"""Of a bold digit of that size."""


def confusion_figure(view: ConfusionView) -> Figure:
    """Up to three confusion matrices side by side: counts, shaded by their share of the row."""
    left = LEFT_SHARE + LEFT_SHARE_PER_LETTER * max(0, max(map(len, view.classes)) - 7)
    pitch = (1.022 - left) / 3
    width = pitch - 0.035
    with house_style():
        figure = Figure(figsize=(CONFUSIONS_INCHES, 4.3))
        for index, matrix in enumerate(view.matrices):
            axis = figure.add_axes((left + index * pitch, 0.20, width, 0.67))
            _draw_confusions(axis, matrix.counts, CONFUSIONS_INCHES * width)
            axis.set_title(f"{matrix.name}\n{matrix.error_text}", fontsize=8.5)
            axis.set_xticks(
                range(len(view.classes)),
                view.classes,
                rotation=40,
                ha="right",
                rotation_mode="anchor",
            )
            axis.set_yticks(range(len(view.classes)), [""] * len(view.classes))
            axis.tick_params(length=0)
            axis.spines[:].set_visible(False)
            if index == 0:
                axis.set_yticks(range(len(view.classes)), view.classes)
                axis.set_ylabel("true")
            axis.set_xlabel("predicted", labelpad=2)
        return figure


def _draw_confusions(axis: Axes, counts: NDArray[np.int64], width_inches: float) -> None:
    """A matrix (k, k), rows true and columns predicted, with its counts as text, as small as fits
    into a cell: those of the diagonal bold, a faint dot for 0."""
    cell_inches = width_inches / len(counts)
    count_inches = DIGIT_INCHES * (len(str(counts.max(initial=0))) + 0.5)
    font_size = LARGEST_COUNT_SIZE * min(1.0, cell_inches / count_inches)
    row_shares = counts / np.maximum(counts.sum(axis=1, keepdims=True), 1)
    axis.imshow(row_shares, cmap="Blues", vmin=0, vmax=1.15, aspect="auto")
    for (true_index, predicted_index), count in np.ndenumerate(counts):
        count_text = "·"
        colour = "#c4ccd3"
        weight = "normal"
        if count:
            count_text = str(count)
            colour = INK
            if true_index == predicted_index:
                weight = "bold"
        if row_shares[true_index, predicted_index] > LEAST_DARK_SHARE:
            colour = "white"
        axis.text(
            predicted_index,
            true_index,
            count_text,
            ha="center",
            va="center",
            color=colour,
            fontsize=font_size,
            weight=weight,
        )


def border_figure(dots_by_border: Sequence[BorderDots]) -> Figure:
    """Signed error in mm of every border found, one row per kind; the shaded band of ±10 mm is
    agreement.

    Errors and medians beyond `_axis_reach_mm` are arrows at the edge: on a longer axis the other
    points would overlap.
    """
    dots_from_below = dots_by_border[::-1]
    with house_style():
        figure = Figure(figsize=(7.6, 0.75 + 0.42 * max(len(dots_by_border), 1)))
        figure_height = figure.get_figheight()
        axis = figure.add_axes((0.19, 0.48 / figure_height, 0.78, 1 - 0.58 / figure_height))
        axis.axvspan(-AGREEMENT_MM, AGREEMENT_MM, color="#dcebf3", linewidth=0)
        axis.axvline(0, color=FAINT, linewidth=0.7)
        reach_mm = _axis_reach_mm(dots_by_border)
        for row_index, border_dots in enumerate(dots_from_below):
            _draw_errors(axis, row_index, np.asarray(border_dots.errors_mm), reach_mm)
            if border_dots.median_mm is not None:
                _draw_median(axis, row_index, border_dots.median_mm, reach_mm)
        axis.set_yticks(
            range(len(dots_by_border)), [border_dots.name for border_dots in dots_from_below]
        )
        axis.set_ylim(-0.6, len(dots_by_border) - 0.4)
        axis.set_xlim(-1.1 * reach_mm, 1.1 * reach_mm)
        axis.tick_params(axis="y", length=0)
        axis.spines["left"].set_visible(False)
        axis.set_xlabel(
            "predicted minus true, mm  (left: too far towards the feet; right: towards the head)"
        )
        return figure


def _draw_errors(
    axis: Axes, row_index: int, errors_mm: NDArray[np.float64], reach_mm: float
) -> None:
    """The errors of one kind of border as points in a row, arrows for those beyond the reach of the
    axis."""
    # steps of the golden ratio separate equal errors
    offsets = 0.5 * (np.arange(len(errors_mm)) * 0.618 % 1 - 0.5)
    point_heights = row_index + offsets
    is_within = np.abs(errors_mm) <= reach_mm
    axis.scatter(
        errors_mm[is_within],
        point_heights[is_within],
        s=13,
        color=ACCENT,
        alpha=0.6,
        linewidths=0,
    )
    for sign, marker in ((-1, "<"), (1, ">")):
        arrow_heights = point_heights[~is_within & (np.sign(errors_mm) == sign)]
        axis.scatter(
            np.full(len(arrow_heights), 1.05 * sign * reach_mm),
            arrow_heights,
            s=22,
            marker=marker,
            color=WARN,
            linewidths=0,
        )


def _draw_median(axis: Axes, row_index: int, median_mm: float, reach_mm: float) -> None:
    """A triangle above the points, which it would otherwise hide; an arrow beyond the reach of the
    axis."""
    marker = "v"
    if median_mm > reach_mm:
        marker = ">"
    elif median_mm < -reach_mm:
        marker = "<"
    axis.plot(
        [float(np.clip(median_mm, -1.05 * reach_mm, 1.05 * reach_mm))],
        [row_index + 0.36],  # above the points
        color=INK,
        marker=marker,
        markersize=5,
        linestyle="",
    )


def _axis_reach_mm(dots_by_border: Sequence[BorderDots]) -> float:
    """The largest absolute error in mm drawn to scale: twice the 95th percentile, or the maximum if
    that is smaller; at least LEAST_REACH_MM.

    Of borders between two regions alone, where any was found: an end may be half a metre off.
    """
    region_borders = [
        border_dots
        for border_dots in dots_by_border
        if border_dots.errors_mm and not border_dots.are_ends
    ]
    errors_mm = [
        error_mm
        for border_dots in region_borders or dots_by_border
        for error_mm in border_dots.errors_mm
    ]
    if not errors_mm:
        return LEAST_REACH_MM
    distances_mm = np.abs(errors_mm)
    return float(max(LEAST_REACH_MM, min(distances_mm.max(), 2 * np.quantile(distances_mm, 0.95))))


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
            shares = [point.right_share for point in stage_points]
            axis.plot(confidences, shares, color=colour, marker=marker, markersize=4)
            axis.lines[-1].set_label(WORDS_BY_STAGE[stage])
            bar_offset = bar_width * (stage_index - (len(stages) - 1) / 2)
            bar_positions = [point.bin_middle + bar_offset for point in stage_points]
            slice_counts = [point.slice_count for point in stage_points]
            histogram.bar(bar_positions, slice_counts, width=0.95 * bar_width, color=colour)
        axis.set(xlim=(0, 1), ylim=(0, 1.02), ylabel=share_label)
        legend_above(axis, len(stages), columnspacing=1.4)
        histogram.set(xlim=(0, 1), ylabel=count_label, xlabel=confidence_label)
        return figure


def search_figure(
    trial_points: Sequence[CurvePoint], *, is_trained_further: bool = False
) -> Figure:
    """Score of every trial by slot, failed ones as crosses, the best so far as a line, the start
    configurations circled; if networks were trained further, without line and circles."""
    with house_style():
        figure = Figure(figsize=(7.6, 3.0))
        axis = figure.add_axes((0.1, 0.16, 0.87, 0.72))
        scored_points = [point for point in trial_points if point.score is not None]
        scores = np.array([point.score for point in scored_points], dtype=np.float64)
        slots = [point.slot for point in scored_points]
        axis.scatter(slots, scores, s=14, color=FAINT, alpha=0.8, linewidths=0, label="a trial")
        if len(scores) and not is_trained_further:
            best_so_far = np.minimum.accumulate(scores)
            axis.step(
                slots, best_so_far, where="post", color=ACCENT, linewidth=1.6, label="best so far"
            )
            _circle_start(axis, [point for point in scored_points if point.is_start])
        failed_slots = [point.slot for point in trial_points if point.score is None]
        if failed_slots:
            cross_height = 1.04
            if len(scores):
                cross_height = float(scores.max()) * 1.04
            axis.scatter(
                failed_slots,
                [cross_height] * len(failed_slots),
                marker="x",
                s=16,
                color=WARN,
                linewidths=0.9,
                label="failed",
            )
        if len(scores) and scores.min() > 0 and scores.max() / scores.min() > LEAST_LOG_RATIO:
            axis.set_yscale("log")
        axis.set(xlabel="trial", ylabel="score (validation loss)")
        axis.xaxis.set_major_locator(MaxNLocator(integer=True))
        legend_above(axis, 4, columnspacing=1.4)
        return figure


def _circle_start(axis: Axes, start_points: Sequence[CurvePoint]) -> None:
    """A circle around each of these points, the start configurations with a score."""
    if not start_points:
        return
    axis.scatter(
        [point.slot for point in start_points],
        np.array([point.score for point in start_points], dtype=np.float64),
        s=54,
        facecolors="none",
        edgecolors=WARN,
        linewidths=1.2,
        label="the start configuration",
    )


def case_figure(view: VolumeView, vocabulary: Vocabulary) -> Figure:
    """The figure of one evaluated volume."""
    body = Body(view.pixels, view.z_mm, view.side_mm, view.smoothed, view.spans, vocabulary)
    return volume_figure(
        view.title,
        body,
        view.raw,
        truth=view.truth,
        message=view.message,
        is_guess=view.is_guess,
    )


def _statement_figures(view: StatementsView) -> dict[str, Figure]:
    """The figures of what is said of each region, by their names in the template."""
    figure_by_name = {
        "statement-reliability": reliability_figure(
            view.reliability,
            share_label="share of regions that are shown",
            count_label="statements",
            confidence_label="probability that the region is shown",
        )
    }
    if view.risk_points:
        figure_by_name["statement-risk"] = statement_risk_figure(view)
    return figure_by_name


def charts(page: Page) -> dict[str, str]:
    """Every figure of the page as a data: URI, by its name in the template; figures without data
    are left out."""
    figures = figures_of_chapters(page) | figures_of_volumes(page)
    uri_by_name = {name: svg_uri(figure) for name, figure in figures.items()}
    for failure_index, failure in enumerate(page.cases.failures.pictured_failures):
        for thumbnail_index, thumbnail in enumerate(failure.thumbnails):
            uri_by_name[f"failure-{failure_index}-{thumbnail_index}"] = jpeg_uri(thumbnail.pixels)
    return uri_by_name


def figures_of_chapters(page: Page) -> dict[str, Figure]:
    """The figures of results and of the search, by their names in the template."""
    performance = page.performance
    search = page.search
    figure_by_name = {
        "confusion": confusion_figure(performance.confusion),
        "reliability": reliability_figure(page.confidence.reliability),
    }
    if any(border_dots.errors_mm for border_dots in performance.border_errors):
        figure_by_name["borders"] = border_figure(performance.border_errors)
    if performance.ablation:
        figure_by_name["networks"] = confusion_figure(performance.ablation.networks)
    if search.points:
        figure_by_name["search"] = search_figure(
            search.points, is_trained_further=search.is_trained_further
        )
    if page.cohort.flow.steps:
        figure_by_name["flow"] = flow_figure(page.cohort.flow)
    if page.confidence.risk.points:
        figure_by_name["risk"] = risk_figure(page.confidence.risk)
    if performance.statements:
        figure_by_name |= _statement_figures(performance.statements)
    if search.explained is not None:
        figure_by_name |= figures_of_search(search.explained.explanation)
    figure_by_name |= {
        f"layers-{index}": layers_figure(view) for index, view in enumerate(search.drawn_layers)
    }
    return figure_by_name


def figures_of_volumes(page: Page) -> dict[str, Figure]:
    """The figures of the volumes that are pictured, by their names in the template."""
    figure_by_name = {
        f"volume-{volume_index}": case_figure(view, page.vocabulary)
        for volume_index, view in enumerate(page.cases.pictures)
    }
    figure_by_name |= {
        f"failure-{failure_index}": case_figure(failure.picture, page.vocabulary)
        for failure_index, failure in enumerate(page.cases.failures.pictured_failures)
    }
    return figure_by_name
