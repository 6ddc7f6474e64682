"""Charts: each function draws a view of the page as a matplotlib Figure."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from matplotlib.figure import Figure
from matplotlib.ticker import MaxNLocator

from fovnet.drawing.canvas import ACCENT, FAINT, INK, WARN, house_style, legend_above, svg_uri
from fovnet.drawing.raster import jpeg_uri
from fovnet.regions import Vocabulary
from fovnet.report.content.confidence import CALIBRATED, PRESENCE, ReliabilityPoint
from fovnet.report.content.page import Page
from fovnet.report.content.performance import BorderDots, ConfusionView
from fovnet.report.content.pictures import VolumeView
from fovnet.report.content.search import CurvePoint
from fovnet.report.content.statement_rates import SaidView
from fovnet.report.figures.explained import explained_figures
from fovnet.report.figures.flow import flow_figure, risk_figure, statement_risk_figure
from fovnet.report.figures.whole_body import volume_figure


def confusion_figure(view: ConfusionView) -> Figure:
    """Three confusion matrices side by side: counts, shaded by their share of the row."""
    with house_style():
        figure = Figure(figsize=(10.6, 4.3))
        for index, stage in enumerate(view.stages):
            axis = figure.add_axes((0.068 + index * 0.318, 0.20, 0.283, 0.67))
            shares = stage.counts / np.maximum(stage.counts.sum(axis=1, keepdims=True), 1)
            axis.imshow(shares, cmap="Blues", vmin=0, vmax=1.15, aspect="auto")
            for row, column in np.ndindex(*stage.counts.shape):
                count = int(stage.counts[row, column])
                tone = "white" if shares[row, column] > 0.55 else INK if count else "#c4ccd3"
                weight = "bold" if row == column and count else "normal"
                words = f"{count}" if count else "·"
                axis.text(
                    column,
                    row,
                    words,
                    ha="center",
                    va="center",
                    color=tone,
                    fontsize=7.5,
                    weight=weight,
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
                range(len(view.classes)), view.classes if index == 0 else [""] * len(view.classes)
            )
            axis.tick_params(length=0)
            axis.spines[:].set_visible(False)
            if index == 0:
                axis.set_ylabel("true")
            axis.set_xlabel("predicted", labelpad=2)
        return figure


def border_figure(dots: Sequence[BorderDots]) -> Figure:
    """Signed error in mm of every border found, one row per kind; the shaded band of ±10 mm is agreement.
    Errors and medians beyond `_reach` are arrows at the edge: on a longer axis the other points would
    overlap."""
    with house_style():
        figure = Figure(figsize=(7.6, 0.75 + 0.42 * max(len(dots), 1)))
        inches = figure.get_figheight()
        axis = figure.add_axes((0.19, 0.48 / inches, 0.78, 1 - 0.58 / inches))
        axis.axvspan(-10, 10, color="#dcebf3", linewidth=0)
        axis.axvline(0, color=FAINT, linewidth=0.7)
        reach = _reach(dots)
        for place, row in enumerate(reversed(dots)):
            errors = np.asarray(row.errors_mm)
            # steps of the golden ratio separate equal errors
            spread = 0.5 * (np.arange(len(errors)) * 0.618 % 1 - 0.5)
            within = np.abs(errors) <= reach
            axis.scatter(
                errors[within],
                (place + spread)[within],
                s=13,
                color=ACCENT,
                alpha=0.6,
                linewidths=0,
            )
            for side, mark in ((-1, "<"), (1, ">")):
                beyond = (place + spread)[~within & (np.sign(errors) == side)]
                axis.scatter(
                    np.full(len(beyond), 1.05 * side * reach),
                    beyond,
                    s=22,
                    marker=mark,
                    color=WARN,
                    linewidths=0,
                )
            # above the points, which it would otherwise hide
            if row.median_mm is not None:
                mark = "v" if abs(row.median_mm) <= reach else ">" if row.median_mm > 0 else "<"
                at = float(np.clip(row.median_mm, -1.05 * reach, 1.05 * reach))
                axis.plot([at], [place + 0.36], color=INK, marker=mark, markersize=5, linestyle="")
        axis.set_yticks(range(len(dots)), [row.name for row in reversed(dots)])
        axis.set_ylim(-0.6, len(dots) - 0.4)
        axis.set_xlim(-1.1 * reach, 1.1 * reach)
        axis.tick_params(axis="y", length=0)
        axis.spines["left"].set_visible(False)
        axis.set_xlabel(
            "predicted minus true, mm  (left: too far towards the feet; right: towards the head)"
        )
        return figure


def _reach(dots: Sequence[BorderDots]) -> float:
    """The largest absolute error in mm drawn to scale: twice the 95th percentile, or the maximum if that is
    smaller; at least 20.

    Of borders between two regions alone, where any was found: an end may be half a metre off.
    """
    between = [row for row in dots if row.errors_mm and not row.are_ends] or dots
    errors = np.abs(np.concatenate([row.errors_mm for row in between])) if between else np.zeros(0)
    return (
        float(max(20.0, min(errors.max(), 2 * np.quantile(errors, 0.95)))) if len(errors) else 20.0
    )


def reliability_figure(
    points: Sequence[ReliabilityPoint],
    share: str = "share of slices that are right",
    of: str = "slices",
    against: str = "confidence",
) -> Figure:
    """Share of right slices against confidence, above a histogram of the confidence; or of other things, with
    the words of the three axes."""
    with house_style():
        figure = Figure(figsize=(5.2, 4.6))
        axis = figure.add_axes((0.13, 0.34, 0.84, 0.58))
        below = figure.add_axes((0.13, 0.11, 0.84, 0.15))
        axis.plot([0, 1], [0, 1], color=FAINT, linewidth=0.8, dashes=(4, 3))
        marks = {
            "raw": (WARN, "^"),
            "calibrated": (INK, "v"),
            "smoothed": (FAINT, "s"),
            "decided": (ACCENT, "o"),
            PRESENCE: (ACCENT, "o"),
        }
        stages = [name for name in marks if any(point.stage == name for point in points)]
        wide = 0.07 / max(len(stages), 1)
        for place, name in enumerate(stages):
            offset, (colour, mark) = wide * (place - (len(stages) - 1) / 2), marks[name]
            mine = [point for point in points if point.stage == name]
            sure, right = [point.confidence for point in mine], [point.share for point in mine]
            axis.plot(sure, right, color=colour, marker=mark, markersize=4)
            axis.lines[-1].set_label(CALIBRATED[name])
            places, slices = (
                [point.middle + offset for point in mine],
                [point.slices for point in mine],
            )
            below.bar(places, slices, width=0.95 * wide, color=colour)
        axis.set(xlim=(0, 1), ylim=(0, 1.02), ylabel=share)
        legend_above(axis, len(stages), columnspacing=1.4)
        below.set(xlim=(0, 1), ylabel=of, xlabel=against)
        return figure


def search_figure(points: Sequence[CurvePoint], *, further: bool = False) -> Figure:
    """Score of every trial by slot, failed ones as crosses, the best so far as a line, the start
    configurations circled; if networks were trained `further`, without line and circles."""
    with house_style():
        figure = Figure(figsize=(7.6, 3.0))
        axis = figure.add_axes((0.1, 0.16, 0.87, 0.72))
        done = [point for point in points if point.score is not None]
        scores = np.array([point.score for point in done], dtype=np.float64)
        slots = [point.slot for point in done]
        axis.scatter(slots, scores, s=14, color=FAINT, alpha=0.8, linewidths=0, label="a trial")
        if len(scores) and not further:
            best = np.minimum.accumulate(scores)
            axis.step(slots, best, where="post", color=ACCENT, linewidth=1.6, label="best so far")
        starts = [point for point in done if point.is_start and not further]
        if starts:
            heights = np.array([point.score for point in starts], dtype=np.float64)
            place = [point.slot for point in starts]
            ringed = axis.scatter(
                place, heights, s=54, facecolors="none", edgecolors=WARN, linewidths=1.2
            )
            ringed.set_label("the start configuration")
        failed = [point.slot for point in points if point.score is None]
        if failed:
            floor = float(scores.max()) if len(scores) else 1.0
            axis.scatter(
                failed,
                [floor * 1.04] * len(failed),
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


def picture(view: VolumeView, vocabulary: Vocabulary) -> Figure:
    """The figure of one evaluated volume."""
    return volume_figure(
        view.title,
        view.pixels,
        view.z_mm,
        view.side_mm,
        view.raw,
        view.smoothed,
        view.spans,
        vocabulary,
        truth=view.truth,
        message=view.message,
        guessed=view.guessed,
    )


def _statement_figures(said: SaidView) -> dict[str, Figure | None]:
    """The figures of what is said of each region."""
    words = (
        "share of regions that are shown",
        "statements",
        "probability that the region is shown",
    )
    return {
        "statement-reliability": reliability_figure(said.reliability, *words),
        "statement-risk": statement_risk_figure(said) if said.risk else None,
    }


def charts(page: Page) -> dict[str, str]:
    """Every figure of the page as a data: URI, by its name in the template; figures without data are left
    out."""
    performance, risk, search = page.performance, page.confidence.risk, page.search
    borders, flow, failures = (
        performance.border_errors,
        page.cohort.flow,
        page.cases.failures.pictured,
    )
    drawn: dict[str, Figure | None] = {
        "confusion": confusion_figure(performance.confusion),
        "borders": border_figure(borders) if any(row.errors_mm for row in borders) else None,
        "reliability": reliability_figure(page.confidence.reliability),
        "search": search_figure(search.points, further=search.further) if search.points else None,
        "flow": flow_figure(flow) if flow.steps else None,
        "risk": risk_figure(risk) if risk.points else None,
        **(_statement_figures(performance.said) if performance.said else {}),
    }
    if search.explained is not None:
        drawn |= explained_figures(search.explained.explanation)
    views = {f"volume-{index}": view for index, view in enumerate(page.cases.pictures)}
    views |= {f"failure-{index}": one.picture for index, one in enumerate(failures)}
    drawn |= {name: picture(view, page.vocabulary) for name, view in views.items()}
    small = {
        f"failure-{index}-{place}": jpeg_uri(thumbnail.pixels)
        for index, one in enumerate(failures)
        for place, thumbnail in enumerate(one.thumbnails)
    }
    return {name: svg_uri(figure) for name, figure in drawn.items() if figure is not None} | small
