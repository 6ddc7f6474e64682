"""The whole-body figure: a volume, its probabilities and its predicted spans, along a common vertical axis in
millimetres.

After the full-body figures in Bertrand, *Hyper-parameter optimization in deep learning and transfer learning*
(thesis, 2019).
"""

from __future__ import annotations

import math
from collections.abc import Collection, Sequence
from textwrap import wrap

import numpy as np
from matplotlib.axes import Axes
from matplotlib.backends.backend_agg import FigureCanvasAgg
from matplotlib.figure import Figure
from matplotlib.patches import Rectangle
from matplotlib.patheffects import withStroke
from numpy.typing import NDArray

from fovnet.drawing.canvas import FAINT, INK, SOFT, WARN, house_style, readable_on
from fovnet.evaluate.cases import StoredSpan
from fovnet.regions import Vocabulary
from fovnet.report.figures.spans import edges_within, extent_mm, lanes_of
from fovnet.report.figures.views import coronal_view

HARDLY = 0.02
"""If smoothing changes no probability by more than this, the label of the curves does not distinguish raw
from smoothed."""


def volume_figure(
    title: str,
    pixels: NDArray[np.uint8],
    z_mm: NDArray[np.float64],
    side_mm: float,
    raw: NDArray[np.float64],
    smoothed: NDArray[np.float64],
    spans: Sequence[StoredSpan],
    vocabulary: Vocabulary,
    truth: Sequence[StoredSpan] | None = None,
    message: str = "",
    guessed: bool = False,
    unsure: Collection[str] = (),
    notes: str = "",
) -> Figure:
    """One volume from feet (bottom) to head: coronal view, probability curves, the predicted spans, and the
    true ones if given.

    pixels (s, h, w) uint8, the patient's right on the left, `side_mm` wide; raw and smoothed (s, k); all
    share the axis of scanner heights z_mm (s,). Thin lines are the probabilities of the networks, bold ones
    the smoothed. Millimetres are drawn true to scale unless the stack is much wider than tall; the figure
    then states the stretch. `guessed`: the answer is uncertain; the spans are pale and labelled "guess", and
    the message, the reason, is red. Spans of regions that are `unsure` are pale too. `notes` on what else was
    done to the volume are below it. An empty volume gives its title and message alone.
    """
    with house_style():
        if not len(z_mm):
            return _empty_figure(title, message)
        low, high = extent_mm(z_mm, spans)
        width, height, stretch = _panel_inches(high - low, side_mm)
        columns = [width, 2.5, 0.95 if truth is None else 1.9]
        across = sum(columns) + 1.45
        why = f"uncertain: {message}" if guessed else message
        lines, rows = (
            (_lines(why, across), _lines(notes, across)),
            _rows_of_names(vocabulary, across),
        )
        foot = FOOT + ROW * (rows - 1)
        figure = Figure(figsize=(across, height + foot + 0.45 + LINE * sum(map(len, lines))))
        FigureCanvasAgg(figure)
        axes = _columns(figure, columns, height, foot)
        _show_coronal(axes[0], coronal_view(pixels), z_mm, side_mm, (low, high), stretch)
        _show_curves(axes[1], z_mm, raw, smoothed, vocabulary)
        bars_shown = [
            ("guess" if guessed else "predicted", spans),
            *([("true", truth)] if truth is not None else []),
        ]
        pale = {span.region for span in spans} if guessed else unsure
        _show_bars(
            axes[2], bars_shown, vocabulary, points_per_mm=72 * height / (high - low), pale=pale
        )
        for axis in axes:
            axis.set_ylim(low, high)
        _show_borders(axes, edges_within(spans, low, high))
        _name_colours(figure, vocabulary, rows)
        _write_heading(figure, title, lines, (WARN if guessed else INK, INK))
        return figure


def _write_heading(
    figure: Figure, title: str, parts: Sequence[Sequence[str]], colours: Sequence[str]
) -> None:
    """The title at the top left, and below it the lines of each part, in its colour."""
    left, top = 0.65 / figure.get_figwidth(), 1 - 0.24 / figure.get_figheight()
    figure.text(left, top, title, fontsize=10, fontweight="bold", va="center", parse_math=False)
    for lines, colour, above in zip(parts, colours, (0, len(parts[0])), strict=True):
        below = (0.12 + LINE * above) / figure.get_figheight()
        figure.text(left, top - below, "\n".join(lines), color=colour, va="top", parse_math=False)


TALLEST, WIDEST, SHORTEST = 6.4, 2.7, 1.7
"""Inches of the coronal panel: maximum height and width, and the minimum height at which curves are
legible."""
NAME_POINTS = 7.5  # height of a region's name in its box
LINE, MOST_LINES = 0.17, 6
"""Height in inches of a line of the message, and the maximum number of lines: a path and a sentence have
three or four."""
PALE = 0.45  # opacity of a guess
FOOT, ROW = 0.75, 0.14
"""Inches below the panels: for the labels and the first row of the legend, and for each further row."""


def _panel_inches(extent_mm: float, side_mm: float) -> tuple[float, float, float]:
    """Width and height of the coronal panel, and how many times the feet-head direction is stretched (1: true
    to scale)."""
    scale = min(TALLEST / extent_mm, WIDEST / side_mm)
    width, height = max(side_mm * scale, 0.9), extent_mm * scale
    return width, max(height, SHORTEST), max(SHORTEST / height, 1.0)


def _columns(figure: Figure, inches: Sequence[float], height: float, foot: float) -> list[Axes]:
    """Axes side by side, of the given widths in inches, on a common baseline."""
    wide, tall = figure.get_figwidth(), figure.get_figheight()
    left, axes = 0.65, []
    for width in inches:
        axes.append(figure.add_axes((left / wide, foot / tall, width / wide, height / tall)))
        left += width + 0.22
    for axis in axes[1:]:
        axis.tick_params(labelleft=False)
    return axes


def _show_coronal(
    axis: Axes,
    coronal: NDArray[np.uint8],
    z_mm: NDArray[np.float64],
    side_mm: float,
    ends: tuple[float, float],
    stretch: float,
) -> None:
    """The coronal view on a regular grid of heights, by the nearest slice: unevenly spaced slices are as tall
    as their spacing."""
    grid = np.linspace(*ends, 2 * len(z_mm), endpoint=False) + (ends[1] - ends[0]) / (4 * len(z_mm))
    middles = (z_mm[1:] + z_mm[:-1]) / 2
    axis.set_facecolor("black")
    axis.imshow(
        coronal[np.searchsorted(middles, grid)],
        cmap="gray",
        vmin=0,
        vmax=255,
        origin="lower",
        aspect="auto",
        interpolation="bilinear",
        extent=(0, side_mm, *ends),
    )
    axis.set_ylabel("height z, mm")
    axis.set_xticks([])
    note = f"{side_mm:.0f} mm wide" + (
        f",\nz stretched {stretch:.1f} times" if stretch > 1.05 else ""
    )
    axis.set_xlabel(note, color=SOFT)
    axis.spines[:].set_visible(False)
    for place, letter in ((0.04, "R"), (0.96, "L")):
        axis.text(
            place,
            0.985,
            letter,
            transform=axis.transAxes,
            color="white",
            ha="center",
            va="top",
            fontsize=8,
            weight="bold",
            zorder=5,
            path_effects=[withStroke(linewidth=2, foreground="black")],
        )


def _show_curves(
    axis: Axes,
    z_mm: NDArray[np.float64],
    raw: NDArray[np.float64],
    smoothed: NDArray[np.float64],
    vocabulary: Vocabulary,
) -> None:
    """Probability to the right, height upwards: raw thin, smoothed bold, with a dark outline for pale
    colours."""
    for column, name in enumerate(vocabulary.classes):
        colour = vocabulary.colour(name)
        axis.plot(raw[:, column], z_mm, color=colour, linewidth=0.6, alpha=0.75)
        axis.plot(smoothed[:, column], z_mm, color=INK, linewidth=2.3, alpha=0.35)
        axis.plot(smoothed[:, column], z_mm, color=colour, linewidth=1.7)
    axis.set_xlim(-0.02, 1.02)
    axis.set_xticks([0, 0.5, 1], ["0", "0.5", "1"])
    smooths = len(raw) and float(np.abs(raw - smoothed).max()) > HARDLY
    axis.set_xlabel("probability (bold: calibrated, smoothed)" if smooths else "probability")
    axis.tick_params(axis="y", length=0)


def _name_colours(figure: Figure, vocabulary: Vocabulary, rows: int) -> None:
    """A legend of all classes at the foot, in `rows` rows: a curve may belong to a region without a span."""
    chips = [
        Rectangle((0, 0), 1, 1, facecolor=vocabulary.colour(name), label=name)
        for name in vocabulary.classes
    ]
    figure.legend(
        handles=chips,
        loc="lower center",
        ncols=math.ceil(len(chips) / rows),
        fontsize=7,
        handlelength=0.8,
        handleheight=0.8,
        columnspacing=1.0,
        handletextpad=0.4,
        borderaxespad=0.1,
    )


def _rows_of_names(vocabulary: Vocabulary, inches: float) -> int:
    """The number of rows of the legend, each column as wide as the longest name in letters of 7 points."""
    column = 0.28 + 0.058 * max(map(len, vocabulary.classes))
    return math.ceil(len(vocabulary.classes) / max(1, math.floor(inches / column)))


def _show_borders(axes: Sequence[Axes], heights_mm: Sequence[float]) -> None:
    """A dashed line at each height, through the view and the curves."""
    for height_mm in heights_mm:
        axes[0].axhline(height_mm, color="white", linewidth=0.7, alpha=0.75, dashes=(4, 3))
        axes[1].axhline(height_mm, color=FAINT, linewidth=0.5, dashes=(4, 3))


def _show_bars(
    axis: Axes,
    bars: Sequence[tuple[str, Sequence[StoredSpan]]],
    vocabulary: Vocabulary,
    points_per_mm: float,
    pale: Collection[str],
) -> None:
    """One column per answer; the chain on its left, side regions such as spine on its right.  In the first,
    the predicted one, some regions are pale."""
    for place, (_, spans) in enumerate(bars):
        lanes, count = lanes_of(spans, vocabulary)
        width = 0.9 / count
        axis.add_patch(Rectangle((place - 0.45, -1e6), 0.9, 2e6, facecolor="#f1f3f5", linewidth=0))
        for span, lane in zip(spans, lanes, strict=True):
            colour, is_pale = vocabulary.colour(span.region), place == 0 and span.region in pale
            _span_box(
                axis, place - 0.45 + lane * width, width, span, colour, points_per_mm, is_pale
            )
    axis.set_xlim(-0.5, len(bars) - 0.5)
    axis.set_xticks(range(len(bars)), [name for name, _ in bars])
    axis.tick_params(axis="both", length=0)
    axis.xaxis.set_tick_params(pad=6)
    axis.spines[:].set_visible(False)


def _span_box(
    axis: Axes,
    left: float,
    width: float,
    span: StoredSpan,
    colour: str,
    points_per_mm: float,
    pale: bool,
) -> None:
    """A coloured box with the name of its region if that fits; the legend names the colours."""
    tall, upright = span.to_mm - span.from_mm, width > 0.6
    alpha, ink = (PALE, INK) if pale else (None, readable_on(colour))
    axis.add_patch(
        Rectangle(
            (left, span.from_mm),
            width,
            tall,
            facecolor=colour,
            edgecolor="white",
            linewidth=1,
            alpha=alpha,
        )
    )
    # a letter is about 0.6 times as wide as high
    room = NAME_POINTS * (1.1 if upright else 0.6 * len(span.region))
    if tall * points_per_mm < room:
        return
    axis.text(
        left + width / 2,
        (span.from_mm + span.to_mm) / 2,
        span.region,
        ha="center",
        va="center",
        color=ink,
        fontsize=NAME_POINTS,
        rotation=0 if upright else 90,
        clip_on=True,
    )


def _empty_figure(title: str, message: str) -> Figure:
    """A volume without slices: its title, and the message."""
    across = 6.4
    lines = _lines(message or "no slices", across)
    tall = 0.8 + LINE * len(lines)
    figure = Figure(figsize=(across, tall))
    FigureCanvasAgg(figure)
    figure.text(
        0.04, 1 - 0.32 / tall, title, fontsize=10, fontweight="bold", va="center", parse_math=False
    )
    figure.text(0.04, 1 - 0.52 / tall, "\n".join(lines), color=WARN, va="top", parse_math=False)
    return figure


def _lines(message: str, across: float) -> list[str]:
    """The message wrapped to a figure `across` inches wide, at about 17 characters an inch; cut after
    MOST_LINES, with …."""
    return wrap(message, int((across - 0.8) * 17), max_lines=MOST_LINES, placeholder=" …")
