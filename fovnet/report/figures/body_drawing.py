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

from fovnet.drawing.canvas import INK, readable_on
from fovnet.drawing.raster import jpeg_uri
from fovnet.evaluate.cases import DecidedBorder
from fovnet.regions import NONE
from fovnet.report.content.pictures import find_runs
from fovnet.report.content.wording import whole_mm
from fovnet.report.figures.body import LEAST_TOLD_STRETCH, Body, PanelLimits, lanes_of
from fovnet.report.figures.views import coronal_view, resample_heights, sagittal_view

VIEW_UNITS = PanelLimits(tallest=520.0, widest=250.0, shortest=170.0, narrowest=90.0)
"""Of each of the two views."""
HEIGHT_LABELS_WIDTH = 58.0  # for the heights
HEADINGS_HEIGHT = 22.0  # for the headings
NOTES_HEIGHT = 40.0  # for the notes
PANEL_GAP = 14.0  # between panels
LANES_WIDTH = 92.0  # of all spans side by side
LANE_GAP = 2.0  # between lanes
CURVES_WIDTH = 210.0
RIGHT_MARGIN = 12.0  # for half of the last label below the curves
LEAST_PROBABILITY = 0.02
"""A class whose probability is below this in every slice has no curve."""

Floats = NDArray[np.float64]
TopOfHeight = Callable[[float], float]
"""From a height in mm to the distance from the top of the drawing."""


@dataclass(frozen=True)
class Panel:
    """An image in the drawing, stretched to the panel.

    patient_sides  at its left and right edge, such as ("R", "L")
    """

    name: str
    uri: str
    left: float
    width: float
    patient_sides: tuple[str, str]


@dataclass(frozen=True)
class LabelledBox:
    """A predicted span with its region, or the interval of a border with its two regions.

    ink  colour of the label
    """

    label: str
    left: float
    top: float
    width: float
    height: float
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
    """Everything to write as SVG, in drawing units from the top left.

    top, bottom  of the panels, the lanes of spans and the curves
    intervals    of the borders, 90 %
    ticks        (distance from the top, label in mm) of round heights
    edge_tops    distances from the top of the ends of spans
    slice_tops   distances from the top of the slices
    """

    width: float
    height: float
    top: float
    bottom: float
    panels: tuple[Panel, ...]
    lanes_left: float
    lanes_width: float
    curves_left: float
    curves_width: float
    spans: tuple[LabelledBox, ...]
    intervals: tuple[LabelledBox, ...]
    curves: tuple[ProbabilityCurve, ...]
    ticks: tuple[tuple[float, str], ...]
    edge_tops: tuple[float, ...]
    slice_tops: tuple[float, ...]
    note: str


def draw_body(body: Body, borders: Sequence[DecidedBorder]) -> BodyDrawing:
    """The drawing of a volume of at least one slice; `borders` with their intervals."""
    view_size = body.panel_size(VIEW_UNITS)

    def top_of(height_mm: float) -> float:
        return round(
            HEADINGS_HEIGHT + view_size.height * (body.high_mm - height_mm) / body.height_mm, 1
        )

    lanes_left = round(HEIGHT_LABELS_WIDTH + 2 * (view_size.width + PANEL_GAP), 1)
    curves_left = round(lanes_left + LANES_WIDTH + PANEL_GAP, 1)
    slice_tops = np.array([top_of(height_mm) for height_mm in body.z_mm])
    scale_note = "true to scale"
    if view_size.stretch > LEAST_TOLD_STRETCH:
        scale_note = f"z stretched {view_size.stretch:.1f} times"
    return BodyDrawing(
        width=round(curves_left + CURVES_WIDTH + RIGHT_MARGIN, 1),
        height=round(HEADINGS_HEIGHT + view_size.height + NOTES_HEIGHT, 1),
        top=HEADINGS_HEIGHT,
        bottom=round(HEADINGS_HEIGHT + view_size.height, 1),
        panels=_panels(body, view_size.width),
        lanes_left=lanes_left,
        lanes_width=LANES_WIDTH,
        curves_left=curves_left,
        curves_width=CURVES_WIDTH,
        spans=_span_boxes(body, top_of, lanes_left),
        intervals=tuple(_interval_box(border, top_of, curves_left) for border in borders),
        curves=_probability_curves(body, slice_tops, curves_left),
        ticks=tuple(
            (top_of(height_mm), whole_mm(height_mm))
            for height_mm in _round_heights_mm(body.low_mm, body.high_mm)
        ),
        edge_tops=tuple(sorted(top_of(height_mm) for height_mm in body.span_ends_mm)),
        slice_tops=tuple(slice_tops.tolist()),
        note=f"{body.side_mm:.0f} mm wide, {scale_note}",
    )


def _panels(body: Body, panel_width: float) -> tuple[Panel, ...]:
    """The views from the front and from the left side, from left to right."""
    named_views = (
        ("from the front", coronal_view(body.pixels), ("R", "L")),
        ("from the left side", sagittal_view(body.pixels), ("A", "P")),
    )
    panels = []
    for view_index, (view_name, view, patient_sides) in enumerate(named_views):
        head_up_view = resample_heights(view, body.z_mm, body.low_mm, body.high_mm)[::-1]
        panel_left = round(HEIGHT_LABELS_WIDTH + view_index * (panel_width + PANEL_GAP), 1)
        panels.append(
            Panel(
                view_name, jpeg_uri(head_up_view), panel_left, round(panel_width, 1), patient_sides
            )
        )
    return tuple(panels)


def _span_boxes(body: Body, top_of: TopOfHeight, first_lane_left: float) -> tuple[LabelledBox, ...]:
    """A box for each span, in its lane, the first of which begins at `first_lane_left`."""
    lanes = lanes_of(body.spans, body.vocabulary)
    lane_width = LANES_WIDTH / lanes.lane_count
    boxes = []
    for span, lane in zip(body.spans, lanes.lane_by_span, strict=True):
        span_top = top_of(span.to_mm)
        colour = body.vocabulary.colour(span.region)
        boxes.append(
            LabelledBox(
                label=span.region,
                left=round(first_lane_left + lane * lane_width, 1),
                top=span_top,
                width=round(lane_width - LANE_GAP, 1),
                height=_height_between(span_top, top_of(span.from_mm)),
                colour=colour,
                ink=readable_on(colour),
            )
        )
    return tuple(boxes)


def _interval_box(border: DecidedBorder, top_of: TopOfHeight, curves_left: float) -> LabelledBox:
    """The 90 % interval of a border."""
    interval_top = top_of(border.high_mm)
    return LabelledBox(
        label=f"{border.below} | {border.above}",
        left=curves_left,
        top=interval_top,
        width=CURVES_WIDTH,
        height=_height_between(interval_top, top_of(border.low_mm)),
        colour=INK,
        ink=INK,
    )


def _height_between(top: float, bottom: float) -> float:
    """At least one unit, so that the box can be seen."""
    return round(max(bottom - top, 1.0), 1)


def _probability_curves(
    body: Body, slice_tops: Floats, curves_left: float
) -> tuple[ProbabilityCurve, ...]:
    """One for each class that is somewhere probable, that of none first, several where parts
    interrupt it; `slice_tops` (s,) as in BodyDrawing."""
    curves = []
    for class_name, probability in body.curve_by_name.items():
        for run in find_runs(np.isfinite(probability)):
            rows = slice(*run)
            if probability[rows].max() >= LEAST_PROBABILITY:
                xs = np.round(curves_left + CURVES_WIDTH * probability[rows], 0).astype(int)
                points = " ".join(
                    f"{x},{y:g}"
                    for x, y in zip(xs.tolist(), slice_tops[rows].tolist(), strict=True)
                )
                colour = body.vocabulary.colour(class_name)
                curves.append(ProbabilityCurve(class_name, colour, points))
    return tuple(sorted(curves, key=lambda curve: curve.name != NONE))


def _round_heights_mm(low_mm: float, high_mm: float) -> list[float]:
    """Two to six multiples of 1, 2 or 5 times a power of ten, between two heights in mm."""
    least_step_mm = (high_mm - low_mm) / 6
    power_of_ten = 10.0 ** np.floor(np.log10(least_step_mm))
    step_mm = power_of_ten * next(
        multiple for multiple in (1.0, 2.0, 5.0, 10.0) if multiple * power_of_ten >= least_step_mm
    )
    first_mm = np.ceil(low_mm / step_mm) * step_mm
    return [float(height_mm) for height_mm in np.arange(first_mm, high_mm, step_mm)]
