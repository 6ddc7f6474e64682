"""One volume as a drawing for its page: two views, the predicted spans and the probabilities, along
a common vertical axis in millimetres.

Coordinates are in drawing units, one per pixel on a wide screen; the template writes them as SVG. A
page took 7 ms and 72 kB, the matplotlib picture of the same volume 170 ms and 125 kB: fast enough
for a page per volume in a batch of a hundred thousand.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from fovnet.drawing.canvas import readable_on
from fovnet.drawing.raster import jpeg_uri
from fovnet.evaluate.cases import DecidedBorder
from fovnet.regions import NONE
from fovnet.report.content.wording import whole_mm
from fovnet.report.figures.body import Body, PanelLimits, lanes_of
from fovnet.report.figures.views import coronal_view, on_even_heights, sagittal_view

VIEW_UNITS = PanelLimits(tallest=520.0, widest=250.0, shortest=170.0, narrowest=90.0)
"""Of each of the two views."""
HEIGHT_LABELS_WIDTH = 58.0  # for the heights
HEADINGS_HEIGHT = 22.0  # for the headings
NOTES_HEIGHT = 40.0  # for the notes
PANEL_GAP = 14.0  # between panels
LANES_WIDTH = 92.0  # of all spans side by side
CURVES_WIDTH = 210.0
LEAST_PROBABILITY = 0.02
"""A class whose probability is below this in every slice has no curve."""

Floats = NDArray[np.float64]
FromTop = Callable[[float], float]
"""From a height in mm to the distance from the top of the drawing."""


@dataclass(frozen=True)
class Panel:
    """An image in the drawing, stretched to the panel.

    ends  the sides of the patient at its left and right edge, such as ("R", "L")
    """

    name: str
    uri: str
    left: float
    wide: float
    ends: tuple[str, str]


@dataclass(frozen=True)
class SpanBox:
    """A predicted span, or the interval of a boundary."""

    words: str
    left: float
    top: float
    wide: float
    tall: float
    colour: str
    ink: str


@dataclass(frozen=True)
class ProbabilityCurve:
    """The probability of one class, as the points of an SVG polyline."""

    name: str
    colour: str
    points: str


@dataclass(frozen=True)
class BodyDrawing:
    """Everything to write as SVG, in drawing units.

    ticks    heights with their labels in mm
    lines    heights of the edges of spans
    heights  of the slices
    """

    wide: float
    tall: float
    top: float
    bottom: float
    panels: tuple[Panel, ...]
    lanes_left: float
    lanes_wide: float
    curves_left: float
    curves_wide: float
    spans: tuple[SpanBox, ...]
    bands: tuple[SpanBox, ...]
    curves: tuple[ProbabilityCurve, ...]
    ticks: tuple[tuple[float, str], ...]
    lines: tuple[float, ...]
    heights: tuple[float, ...]
    note: str


def body_drawing(body: Body, borders: Sequence[DecidedBorder]) -> BodyDrawing:
    """The drawing of a volume of at least one slice; `borders` with their intervals."""
    view_size = body.panel_size(VIEW_UNITS)

    def from_top(height_mm: float) -> float:
        return round(
            HEADINGS_HEIGHT + view_size.height * (body.high_mm - height_mm) / body.height_mm, 1
        )

    lanes_left = round(HEIGHT_LABELS_WIDTH + 2 * (view_size.width + PANEL_GAP), 1)
    curves_left = round(lanes_left + LANES_WIDTH + PANEL_GAP, 1)
    slice_tops = np.array([from_top(height_mm) for height_mm in body.z_mm])
    scale_note = "true to scale"
    if view_size.stretch > 1.05:
        scale_note = f"z stretched {view_size.stretch:.1f} times"
    return BodyDrawing(
        wide=round(curves_left + CURVES_WIDTH + 12, 1),
        tall=round(HEADINGS_HEIGHT + view_size.height + NOTES_HEIGHT, 1),
        top=HEADINGS_HEIGHT,
        bottom=round(HEADINGS_HEIGHT + view_size.height, 1),
        panels=_panels(body, view_size.width),
        lanes_left=lanes_left,
        lanes_wide=LANES_WIDTH,
        curves_left=curves_left,
        curves_wide=CURVES_WIDTH,
        spans=_span_boxes(body, from_top, lanes_left),
        bands=tuple(_interval_box(border, from_top, curves_left) for border in borders),
        curves=_probability_curves(body, slice_tops, curves_left),
        ticks=tuple(
            (from_top(height_mm), whole_mm(height_mm))
            for height_mm in _round_heights(body.low_mm, body.high_mm)
        ),
        lines=tuple(sorted(from_top(height_mm) for height_mm in body.edges_mm)),
        heights=tuple(slice_tops.tolist()),
        note=f"{body.side_mm:.0f} mm wide, {scale_note}",
    )


def _panels(body: Body, panel_width: float) -> tuple[Panel, ...]:
    """The views from the front and from the left side, from left to right."""
    named_views = (
        ("from the front", coronal_view(body.pixels), ("R", "L")),
        ("from the left side", sagittal_view(body.pixels), ("A", "P")),
    )
    panels = []
    for view_index, (view_name, pixels, patient_sides) in enumerate(named_views):
        upside_up = on_even_heights(pixels, body.z_mm, body.low_mm, body.high_mm)[::-1]
        panel_left = round(HEIGHT_LABELS_WIDTH + view_index * (panel_width + PANEL_GAP), 1)
        panels.append(
            Panel(view_name, jpeg_uri(upside_up), panel_left, round(panel_width, 1), patient_sides)
        )
    return tuple(panels)


def _span_boxes(body: Body, from_top: FromTop, first_lane_left: float) -> tuple[SpanBox, ...]:
    """A box for each span, in its lane, the first of which begins at `first_lane_left`."""
    lanes = lanes_of(body.spans, body.vocabulary)
    lane_width = LANES_WIDTH / lanes.lane_count
    boxes = []
    for span, lane_index in zip(body.spans, lanes.of_span, strict=True):
        span_top = from_top(span.to_mm)
        colour = body.vocabulary.colour(span.region)
        boxes.append(
            SpanBox(
                words=span.region,
                left=round(first_lane_left + lane_index * lane_width, 1),
                top=span_top,
                wide=round(lane_width - 2, 1),
                tall=_height_between(span_top, from_top(span.from_mm)),
                colour=colour,
                ink=readable_on(colour),
            )
        )
    return tuple(boxes)


def _interval_box(border: DecidedBorder, from_top: FromTop, curves_left: float) -> SpanBox:
    """The 90 % interval of a border."""
    interval_top = from_top(border.high_mm)
    return SpanBox(
        words=f"{border.below} | {border.above}",
        left=curves_left,
        top=interval_top,
        wide=CURVES_WIDTH,
        tall=_height_between(interval_top, from_top(border.low_mm)),
        colour="#22303c",
        ink="#22303c",
    )


def _height_between(top: float, bottom: float) -> float:
    """At least one unit, so that the box can be seen."""
    return round(max(bottom - top, 1.0), 1)


def _probability_curves(
    body: Body, slice_tops: Floats, curves_left: float
) -> tuple[ProbabilityCurve, ...]:
    """One for each class that is somewhere probable, that of none first."""
    curve_x = np.round(curves_left + CURVES_WIDTH * body.smoothed, 0).astype(int)
    curves = []
    for class_index, class_name in enumerate(body.vocabulary.classes):
        if body.smoothed[:, class_index].max() >= LEAST_PROBABILITY:
            polyline_points = " ".join(
                f"{x},{y:g}"
                for x, y in zip(curve_x[:, class_index].tolist(), slice_tops.tolist(), strict=True)
            )
            curves.append(
                ProbabilityCurve(class_name, body.vocabulary.colour(class_name), polyline_points)
            )
    return tuple(sorted(curves, key=lambda curve: curve.name != NONE))


def _round_heights(low_mm: float, high_mm: float) -> list[float]:
    """Two to six multiples of 1, 2 or 5 times a power of ten, between two heights in mm."""
    least_step = (high_mm - low_mm) / 6
    power_of_ten = 10.0 ** np.floor(np.log10(least_step))
    step = power_of_ten * next(
        multiple for multiple in (1.0, 2.0, 5.0, 10.0) if multiple * power_of_ten >= least_step
    )
    return [
        float(height_mm) for height_mm in np.arange(np.ceil(low_mm / step) * step, high_mm, step)
    ]
