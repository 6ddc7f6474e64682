"""One volume as a drawing: two views, the predicted spans and the probabilities, along a common vertical axis
in millimetres.

Coordinates are in drawing units, one per pixel on a wide screen; the template writes them as SVG. A page took
7 ms and 72 kB, the matplotlib picture of the same volume 170 ms and 125 kB: fast enough for a page per volume
in a batch of a hundred thousand.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from fovnet.drawing.canvas import readable_on
from fovnet.drawing.raster import jpeg_uri
from fovnet.evaluate.cases import DecidedBorder, StoredSpan
from fovnet.regions import NONE, Vocabulary
from fovnet.report.content.wording import whole_mm
from fovnet.report.figures.spans import edges_within, extent_mm, lanes_of
from fovnet.report.figures.views import coronal_view, on_even_heights, sagittal_view

TALLEST, WIDEST, SHORTEST = 520.0, 250.0, 170.0
"""Maximum height and width of a view, and the minimum height at which curves are legible."""
LEFT, TOP, FOOT, GAP, LANES, CURVES = 58.0, 22.0, 40.0, 14.0, 92.0, 210.0
"""Margins for the heights on the left, the headings above and the notes below; the gap between panels; widths
of spans and curves."""
SEEN = 0.02
"""A class whose probability is below this in every slice has no curve."""

Floats = NDArray[np.float64]
Down = Callable[[float], float]
"""From a height in mm to the distance from the top of the drawing."""


@dataclass(frozen=True)
class Panel:
    """An image in the drawing, stretched to the panel; `ends`: the sides of the patient at its left and right
    edge, such as ("R", "L")."""

    name: str
    uri: str
    left: float
    wide: float
    ends: tuple[str, str]


@dataclass(frozen=True)
class Box:
    """A predicted span, or the interval of a boundary."""

    words: str
    left: float
    top: float
    wide: float
    tall: float
    colour: str
    ink: str


@dataclass(frozen=True)
class Curve:
    """The probability of one class, as the points of an SVG polyline."""

    name: str
    colour: str
    points: str


@dataclass(frozen=True)
class Drawing:
    """Everything to write as SVG, in drawing units: `ticks` with their labels in mm, `lines` at edges of
    spans, `heights` of the slices."""

    wide: float
    tall: float
    top: float
    bottom: float
    panels: tuple[Panel, ...]
    lanes_left: float
    lanes_wide: float
    curves_left: float
    curves_wide: float
    spans: tuple[Box, ...]
    bands: tuple[Box, ...]
    curves: tuple[Curve, ...]
    ticks: tuple[tuple[float, str], ...]
    lines: tuple[float, ...]
    heights: tuple[float, ...]
    note: str


def body_drawing(
    pixels: NDArray[np.uint8],
    z_mm: Floats,
    side_mm: float,
    smoothed: Floats,
    spans: Sequence[StoredSpan],
    borders: Sequence[DecidedBorder],
    vocabulary: Vocabulary,
) -> Drawing:
    """The drawing of a volume: pixels (s, 128, 128) uint8, heights z_mm (s,) ascending, probabilities (s, k).

    s is at least 1.
    """
    low, high = extent_mm(z_mm, spans)
    scale = min(TALLEST / (high - low), WIDEST / side_mm)
    tall, wide = max((high - low) * scale, SHORTEST), side_mm * scale
    wide = max(wide, 90.0)

    def down(mm: float) -> float:
        return round(TOP + tall * (high - mm) / (high - low), 1)

    views = (
        ("from the front", coronal_view(pixels), ("R", "L")),
        ("from the left side", sagittal_view(pixels), ("A", "P")),
    )
    panels = tuple(
        Panel(
            name,
            jpeg_uri(on_even_heights(view, z_mm, low, high)[::-1]),
            round(LEFT + place * (wide + GAP), 1),
            round(wide, 1),
            ends,
        )
        for place, (name, view, ends) in enumerate(views)
    )
    lanes_left = round(LEFT + 2 * (wide + GAP), 1)
    curves_left = round(lanes_left + LANES + GAP, 1)
    stretch = tall / ((high - low) * scale)
    heights = np.array([down(mm) for mm in z_mm])
    return Drawing(
        wide=round(curves_left + CURVES + 12, 1),
        tall=round(TOP + tall + FOOT, 1),
        top=TOP,
        bottom=round(TOP + tall, 1),
        panels=panels,
        lanes_left=lanes_left,
        lanes_wide=LANES,
        curves_left=curves_left,
        curves_wide=CURVES,
        spans=_boxes(spans, vocabulary, down, lanes_left),
        bands=tuple(_band(one, down, curves_left) for one in borders),
        curves=_curves(smoothed, heights, vocabulary, curves_left),
        ticks=tuple((down(mm), whole_mm(mm)) for mm in _round_heights(low, high)),
        lines=tuple(sorted(down(mm) for mm in edges_within(spans, low, high))),
        heights=tuple(heights.tolist()),
        note=f"{side_mm:.0f} mm wide, z stretched {stretch:.1f} times"
        if stretch > 1.05
        else f"{side_mm:.0f} mm wide, true to scale",
    )


def _boxes(
    spans: Sequence[StoredSpan], vocabulary: Vocabulary, down: Down, left: float
) -> tuple[Box, ...]:
    lanes, count = lanes_of(spans, vocabulary)
    wide = LANES / count
    boxes = []
    for span, lane in zip(spans, lanes, strict=True):
        top, bottom, colour = down(span.to_mm), down(span.from_mm), vocabulary.colour(span.region)
        across, tall = round(left + lane * wide, 1), round(max(bottom - top, 1.0), 1)
        boxes.append(
            Box(span.region, across, top, round(wide - 2, 1), tall, colour, readable_on(colour))
        )
    return tuple(boxes)


def _band(border: DecidedBorder, down: Down, left: float) -> Box:
    top, bottom = down(border.high_mm), down(border.low_mm)
    words = f"{border.below} | {border.above}"
    return Box(words, left, top, CURVES, round(max(bottom - top, 1.0), 1), "#22303c", "#22303c")


def _curves(
    smoothed: Floats, heights: Floats, vocabulary: Vocabulary, left: float
) -> tuple[Curve, ...]:
    across = np.round(left + CURVES * smoothed, 0).astype(int)
    curves = []
    for column, name in enumerate(vocabulary.classes):
        if smoothed[:, column].max() >= SEEN:
            points = " ".join(
                f"{x},{y:g}"
                for x, y in zip(across[:, column].tolist(), heights.tolist(), strict=True)
            )
            curves.append(Curve(name, vocabulary.colour(name), points))
    return tuple(sorted(curves, key=lambda curve: curve.name != NONE))


def _round_heights(low: float, high: float) -> list[float]:
    """Two to six multiples of 1, 2 or 5 times a power of ten, between two heights in mm."""
    rough = (high - low) / 6
    unit = 10.0 ** np.floor(np.log10(rough))
    step = unit * next(factor for factor in (1.0, 2.0, 5.0, 10.0) if factor * unit >= rough)
    return [float(mm) for mm in np.arange(np.ceil(low / step) * step, high, step)]
