"""The whole-body figure: a volume, its probabilities and its predicted spans, along a common
vertical axis in millimetres.

After the full-body figures in Bertrand, *Hyper-parameter optimization in deep learning and transfer
learning* (thesis, 2019).
"""

from __future__ import annotations

import math
from collections.abc import Collection, Mapping, Sequence
from textwrap import wrap
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from fovnet.drawing.canvas import (
    FAINT,
    INK,
    SOFT,
    WARN,
    blank_figure,
    filled_box,
    house_style,
    readable_on,
)
from fovnet.evaluate.cases import StoredSpan
from fovnet.regions import Vocabulary
from fovnet.report.figures.body import LEAST_TOLD_STRETCH, Body, PanelLimits, lanes_of
from fovnet.report.figures.views import coronal_view

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

PANEL_INCHES = PanelLimits(tallest=6.4, widest=2.7, shortest=1.7, narrowest=0.9)
"""Of the coronal view."""
CURVES_INCHES = 2.5  # width of the curves
BAR_INCHES = 0.95  # width of a column of spans
LEFT_INCHES = 0.65  # left of the first column
GAP_INCHES = 0.22  # between two columns
NAME_POINTS = 7.5  # height of a region's name in its box
LINE_INCHES = 0.17  # height of a line of the message
MOST_MESSAGE_LINES = 6
"""Of the message: a path and a sentence have three or four."""
PALE_OPACITY = 0.45  # opacity of a guess
FOOT_INCHES = 0.75  # below the panels, for the labels and the first row of the legend
LEGEND_ROW_INCHES = 0.14  # for each further row of the legend
TITLE_INCHES = 0.45  # above the panels, for the title
MARGINS_INCHES = 1.01  # left of and right of the columns
BAR_SHARE = 0.9  # of its column that a bar fills
LEAST_INCHES_OF_UPRIGHT_NAME = 0.57  # in a narrower box, names run upwards
LETTER_ASPECT = 0.6  # a letter is about 0.6 times as wide as high
LEAST_SMOOTHING = 0.02
"""If smoothing changes no probability by more than this, the label of the curves does not
distinguish raw from smoothed."""


class PanelColumns(NamedTuple):
    """The columns of the figure, which are one panel: across in inches from its left, upwards in
    millimetres.

    With axes of its own for each column, a picture takes a quarter more time.

    view_width   of the coronal view, which begins at the left
    curves_left  left end of the curves
    bars_left    left end of the first column of spans
    bar_count    number of these
    """

    view_width: float
    curves_left: float
    bars_left: float
    bar_count: int

    @classmethod
    def beside(cls, view_width: float, bar_count: int) -> PanelColumns:
        """The columns right of a view of this width."""
        curves_left = view_width + GAP_INCHES
        bars_left = curves_left + CURVES_INCHES + GAP_INCHES
        return cls(view_width, curves_left, bars_left, bar_count)

    @property
    def width(self) -> float:
        """Of all together."""
        return self.bars_left + BAR_INCHES * self.bar_count

    def curve_x(self, probability: NDArray[np.float64]) -> NDArray[np.float64]:
        """Where probabilities are drawn; 0 and 1 lie a little within their column."""
        return self.curves_left + CURVES_INCHES * (probability + 0.02) / 1.04

    def bar_x(self, bar_index: int) -> float:
        """The middle of a column of spans."""
        return self.bars_left + BAR_INCHES * (bar_index + 0.5)


def volume_figure(
    title: str,
    body: Body,
    raw: NDArray[np.float64],
    *,
    truth: Sequence[StoredSpan] | None = None,
    message: str = "",
    is_guess: bool = False,
    unsure_regions: Collection[str] = (),
    notes: str = "",
) -> Figure:
    """One volume from feet (bottom) to head: coronal view, probability curves, the predicted spans,
    and the true ones if given.

    Millimetres are drawn true to scale unless the stack is much wider than tall; the figure then
    states the stretch.  An empty volume gives its title and message alone.

    raw             (s, k) probabilities of the networks, as thin lines; the smoothed ones are bold
    truth           true spans
    message         the doubts, below the title
    is_guess        the answer is uncertain: the spans are pale and labelled "guess", and the
                    message is red
    unsure_regions  those whose spans are pale too
    notes           what else was done to the volume, below the message
    """
    bar_title = "predicted"
    doubts_text = message
    message_colour = INK
    pale_regions = unsure_regions
    if is_guess:
        bar_title = "guess"
        message_colour = WARN
        pale_regions = {span.region for span in body.spans}
        doubts_text = f"uncertain: {message}"
    with house_style():
        if not len(body.z_mm):
            return _empty_figure(title, message)
        spans_by_bar_title = {bar_title: body.spans}
        if truth is not None:
            spans_by_bar_title["true"] = truth
        columns = PanelColumns.beside(body.panel_size(PANEL_INCHES).width, len(spans_by_bar_title))
        figure_width = columns.width + MARGINS_INCHES
        message_lines = _wrap_message(doubts_text, figure_width)
        note_lines = _wrap_message(notes, figure_width)
        legend_rows = _legend_row_count([*body.curve_by_name], figure_width)
        foot_inches = FOOT_INCHES + LEGEND_ROW_INCHES * (legend_rows - 1)
        heading_inches = TITLE_INCHES + LINE_INCHES * (len(message_lines) + len(note_lines))
        panel_height = body.panel_size(PANEL_INCHES).height
        figure = blank_figure(figure_width, panel_height + foot_inches + heading_inches)
        axis = _add_panel(figure, columns, panel_height, foot_inches)
        _draw_body(axis, columns, body, raw, spans_by_bar_title, pale_regions)
        _draw_legend(figure, body, legend_rows)
        _write_heading(figure, title, message_lines, note_lines, message_colour)
        return figure


def _draw_body(
    axis: Axes,
    columns: PanelColumns,
    body: Body,
    raw: NDArray[np.float64],
    spans_by_bar_title: Mapping[str, Sequence[StoredSpan]],
    pale_regions: Collection[str],
) -> None:
    """The columns of the panel, left to right, and the ends of the spans across them."""
    view_size = body.panel_size(PANEL_INCHES)
    _draw_coronal(axis, columns, body, view_size.stretch)
    _draw_curves(axis, columns, body, raw)
    _draw_bars(
        axis,
        columns,
        spans_by_bar_title,
        body.vocabulary,
        points_per_mm=72 * view_size.height / body.height_mm,
        pale_regions=pale_regions,
    )
    _draw_borders(axis, columns, body.span_ends_mm)
    axis.set_xlim(0, columns.width)
    axis.set_ylim(body.low_mm, body.high_mm)


def _write_heading(
    figure: Figure,
    title: str,
    message_lines: Sequence[str],
    note_lines: Sequence[str],
    message_colour: str,
) -> None:
    """The title at the top left, and below it the message and the notes."""
    heading_left = LEFT_INCHES / figure.get_figwidth()
    heading_top = 1 - 0.24 / figure.get_figheight()
    figure.text(
        heading_left,
        heading_top,
        title,
        fontsize=10,
        fontweight="bold",
        va="center",
        parse_math=False,
    )
    for block_lines, colour, lines_above in (
        (message_lines, message_colour, 0),
        (note_lines, INK, len(message_lines)),
    ):
        drop = (0.12 + LINE_INCHES * lines_above) / figure.get_figheight()
        figure.text(
            heading_left,
            heading_top - drop,
            "\n".join(block_lines),
            color=colour,
            va="top",
            parse_math=False,
        )


def _add_panel(
    figure: Figure, columns: PanelColumns, panel_height: float, foot_inches: float
) -> Axes:
    """The axes of all columns."""
    figure_width = figure.get_figwidth()
    figure_height = figure.get_figheight()
    axis = figure.add_axes(
        (
            LEFT_INCHES / figure_width,
            foot_inches / figure_height,
            columns.width / figure_width,
            panel_height / figure_height,
        )
    )
    axis.spines["left"].set_visible(False)
    return axis


def _write_below(
    axis: Axes, x_inches: float, drop_points: float, text: str, **options: Any
) -> None:
    """A text below the columns, with its middle at `x_inches`."""
    axis.annotate(
        text,
        (x_inches, 0),
        xycoords=axis.get_xaxis_transform(),
        xytext=(0, -drop_points),
        textcoords="offset points",
        ha="center",
        va="top",
        **options,
    )


def _draw_coronal(axis: Axes, columns: PanelColumns, body: Body, stretch: float) -> None:
    """The coronal view on a regular grid of heights, by the nearest slice: unevenly spaced slices
    are as tall as their spacing."""
    from matplotlib.patheffects import withStroke

    slice_count = len(body.z_mm)
    half_line_mm = body.height_mm / (4 * slice_count)
    lines_mm = (
        np.linspace(body.low_mm, body.high_mm, 2 * slice_count, endpoint=False) + half_line_mm
    )
    middles_mm = (body.z_mm[1:] + body.z_mm[:-1]) / 2
    axis.imshow(
        coronal_view(body.pixels)[np.searchsorted(middles_mm, lines_mm)],
        cmap="gray",
        vmin=0,
        vmax=255,
        origin="lower",
        aspect="auto",
        interpolation="bilinear",
        extent=(0, columns.view_width, body.low_mm, body.high_mm),
    )
    axis.set_ylabel("height z, mm")
    width_note = f"{body.side_mm:.0f} mm wide"
    if stretch > LEAST_TOLD_STRETCH:
        width_note += f",\nz stretched {stretch:.1f} times"
    _write_below(axis, columns.view_width / 2, 4, width_note, color=SOFT)
    for letter_x, letter in ((0.04, "R"), (0.96, "L")):
        axis.text(
            letter_x * columns.view_width,
            0.985,
            letter,
            transform=axis.get_xaxis_transform(),
            color="white",
            ha="center",
            va="top",
            fontsize=8,
            weight="bold",
            zorder=5,
            path_effects=[withStroke(linewidth=2, foreground="black")],
        )


def _draw_curves(axis: Axes, columns: PanelColumns, body: Body, raw: NDArray[np.float64]) -> None:
    """Probability to the right, height upwards: raw (s, k) thin, smoothed bold, with a dark outline
    for pale colours."""
    from matplotlib.collections import LineCollection

    raw_by_name = dict(zip(body.vocabulary.whole.classes, raw.T, strict=True))
    lines = []
    colours: list[Any] = []
    widths = []
    for name, smoothed in body.curve_by_name.items():
        colour = body.vocabulary.colour(name)
        if name in raw_by_name:  # of parts only the smoothed ones are told
            lines.append(np.column_stack([columns.curve_x(raw_by_name[name]), body.z_mm]))
            colours.append((colour, 0.75))
            widths.append(0.6)
        lines += [np.column_stack([columns.curve_x(smoothed), body.z_mm])] * 2
        colours += [(INK, 0.35), colour]
        widths += [2.3, 1.7]
    axis.add_collection(
        LineCollection(
            lines,
            colors=colours,
            linewidths=widths,
            capstyle="projecting",
            joinstyle="round",
        )
    )
    axis.set_xticks(columns.curve_x(np.array([0, 0.5, 1])), ["0", "0.5", "1"])
    axis.spines["bottom"].set_bounds(columns.curves_left, columns.curves_left + CURVES_INCHES)
    axis.axvline(columns.curves_left, color=FAINT, linewidth=0.6)
    label = "probability"
    if np.abs(raw - body.smoothed).max(initial=0.0) > LEAST_SMOOTHING:
        label = "probability (bold: calibrated, smoothed)"
    middle = columns.curves_left + CURVES_INCHES / 2
    axis.set_xlabel(label, x=middle / columns.width)


def _draw_legend(figure: Figure, body: Body, row_count: int) -> None:
    """A legend of all classes at the foot, in `row_count` rows: a curve may belong to a region
    without a span."""
    colour_chips = [
        filled_box(0, 0, 1, 1, facecolor=body.vocabulary.colour(name), label=name)
        for name in body.curve_by_name
    ]
    figure.legend(
        handles=colour_chips,
        loc="lower center",
        ncols=math.ceil(len(colour_chips) / row_count),
        fontsize=7,
        handlelength=0.8,
        handleheight=0.8,
        columnspacing=1.0,
        handletextpad=0.4,
        borderaxespad=0.1,
    )


def _legend_row_count(names: Sequence[str], figure_inches: float) -> int:
    """The number of rows of the legend, each column as wide as the longest name in letters of 7
    points."""
    longest_name = max(map(len, names))
    column_inches = 0.28 + 0.058 * longest_name  # the chip with its gaps, and the letters
    column_count = max(1, math.floor(figure_inches / column_inches))
    return math.ceil(len(names) / column_count)


def _draw_borders(axis: Axes, columns: PanelColumns, heights_mm: Sequence[float]) -> None:
    """A dashed line at each height, through the view and the curves."""
    dashes = (0, (4, 3))
    axis.hlines(
        heights_mm,
        0,
        columns.view_width,
        colors="white",
        linewidth=0.7,
        alpha=0.75,
        linestyles=dashes,
    )
    axis.hlines(
        heights_mm,
        columns.curves_left,
        columns.curves_left + CURVES_INCHES,
        colors=FAINT,
        linewidth=0.5,
        linestyles=dashes,
    )


def _draw_bars(
    axis: Axes,
    columns: PanelColumns,
    spans_by_bar_title: Mapping[str, Sequence[StoredSpan]],
    vocabulary: Vocabulary,
    points_per_mm: float,
    pale_regions: Collection[str],
) -> None:
    """One bar per answer; the chain on its left, side regions such as spine on its right.  In
    the first, the predicted one, some regions are pale."""
    bar_width = BAR_SHARE * BAR_INCHES
    for bar_index, (bar_title, spans) in enumerate(spans_by_bar_title.items()):
        bar_middle = columns.bar_x(bar_index)
        bar_left = bar_middle - bar_width / 2
        lanes = lanes_of(spans, vocabulary)
        lane_width = bar_width / lanes.lane_count
        axis.add_patch(  # taller than any volume
            filled_box(bar_left, -1e6, bar_width, 2e6, facecolor="#f1f3f5", linewidth=0)
        )
        _write_below(axis, bar_middle, 6, bar_title)
        for span, lane in zip(spans, lanes.lane_by_span, strict=True):
            _draw_span(
                axis,
                span,
                box_left=bar_left + lane * lane_width,
                box_width=lane_width,
                colour=vocabulary.colour(span.region),
                points_per_mm=points_per_mm,
                is_pale=bar_index == 0 and span.region in pale_regions,
            )


def _draw_span(
    axis: Axes,
    span: StoredSpan,
    *,
    box_left: float,
    box_width: float,
    colour: str,
    points_per_mm: float,
    is_pale: bool,
) -> None:
    """A coloured box with the name of its region if that fits; the legend names the colours."""
    height_mm = span.to_mm - span.from_mm
    opacity = None
    name_colour = readable_on(colour)
    if is_pale:
        opacity = PALE_OPACITY
        name_colour = INK
    rotation = 90
    name_points = NAME_POINTS * LETTER_ASPECT * len(span.region)
    if box_width > LEAST_INCHES_OF_UPRIGHT_NAME:
        rotation = 0
        name_points = NAME_POINTS * 1.1  # a little air above and below
    axis.add_patch(
        filled_box(
            box_left,
            span.from_mm,
            box_width,
            height_mm,
            facecolor=colour,
            edgecolor="white",
            linewidth=1,
            alpha=opacity,
        )
    )
    if height_mm * points_per_mm < name_points:
        return
    axis.text(
        box_left + box_width / 2,
        (span.from_mm + span.to_mm) / 2,
        span.region,
        ha="center",
        va="center",
        color=name_colour,
        fontsize=NAME_POINTS,
        rotation=rotation,
        clip_on=True,
    )


def _empty_figure(title: str, message: str) -> Figure:
    """A volume without slices: its title, and the message."""
    figure_width = 6.4
    message_lines = _wrap_message(message or "no slices", figure_width)
    figure_height = 0.8 + LINE_INCHES * len(message_lines)
    figure = blank_figure(figure_width, figure_height)
    figure.text(
        0.04,
        1 - 0.32 / figure_height,
        title,
        fontsize=10,
        fontweight="bold",
        va="center",
        parse_math=False,
    )
    figure.text(
        0.04,
        1 - 0.52 / figure_height,
        "\n".join(message_lines),
        color=WARN,
        va="top",
        parse_math=False,
    )
    return figure


def _wrap_message(message: str, figure_inches: float) -> list[str]:
    """The lines of a message in a figure so many inches wide, at about 17 characters an inch; cut
    after MOST_MESSAGE_LINES, with …."""
    return wrap(
        message, int((figure_inches - 0.8) * 17), max_lines=MOST_MESSAGE_LINES, placeholder=" …"
    )
