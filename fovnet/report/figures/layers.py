"""The drawing of a network: what each layer makes of the picture."""

from __future__ import annotations

from math import log2
from typing import NamedTuple

from matplotlib.axes import Axes
from matplotlib.figure import Figure

from fovnet.drawing.canvas import ACCENT, FAINT, INK, SOFT, WARN, filled_box, house_style
from fovnet.net.family.layered import NetworkShape
from fovnet.report.content.layer_drawings import LayersView
from fovnet.report.content.layer_rows import LayerRow, rows_of_network

LEAST_HEIGHT = 0.02
"""Of a box, as a share of the picture's: one pixel would not be seen."""
HEIGHT_PER_DOUBLING = 0.07
"""Of the bar of a dense layer."""
INCHES_PER_WIDTH = 0.14
INCHES_PER_LETTER = 0.065  # of the texts beside a box
GAP_INCHES = 0.16  # between boxes, or their texts
LONGEST_LINE_INCHES = 10.4
"""Beyond that a network goes on in a line below."""
LINE_HEIGHT_INCHES = 1.85
HEAD_INCHES = 0.45


class LayerBox(NamedTuple):
    """A layer: its width, its height as a share of the picture's, its colour, what is written above
    and below it."""

    width: float
    height: float
    colour: str
    above: str
    below: str


def layers_figure(view: LayersView) -> Figure:
    """The layers from left to right: maps as high as their side and as wide as the logarithm of
    their channels, dense layers as high as the logarithm of their units; long networks in several
    lines.

    A bad sign: a map that is small far to the left, after which layers see almost nothing.
    """
    lines = _break_lines(boxes_of_layers(view.net))
    width_inches = max(4.6, *(sum(map(_slot_inches, line)) for line in lines))
    height_inches = HEAD_INCHES + LINE_HEIGHT_INCHES * len(lines)
    with house_style():
        figure = Figure(figsize=(width_inches, height_inches))
        for line_number, line in enumerate(lines, start=1):
            bottom = 1 - (HEAD_INCHES + LINE_HEIGHT_INCHES * line_number) / height_inches
            axis = figure.add_axes((0, bottom, 1, LINE_HEIGHT_INCHES / height_inches))
            axis.set(xlim=(0, width_inches), ylim=(-0.82, 0.78))
            axis.set_axis_off()
            left_inches = 0.0
            for box in line:
                _draw_box(axis, left_inches + _slot_inches(box) / 2, box)
                left_inches += _slot_inches(box)
        left = GAP_INCHES / 2 / width_inches
        figure.text(left, 1 - 0.05 / height_inches, view.name, va="top", weight="bold")
        figure.text(left, 1 - 0.23 / height_inches, view.amounts, va="top", color=SOFT)
        return figure


def _break_lines(boxes: list[LayerBox]) -> list[list[LayerBox]]:
    """The boxes line by line, each as long as it may be."""
    lines: list[list[LayerBox]] = [[]]
    for box in boxes:
        if sum(map(_slot_inches, [*lines[-1], box])) > LONGEST_LINE_INCHES:
            lines.append([])
        lines[-1].append(box)
    return lines


def _slot_inches(box: LayerBox) -> float:
    """The width that a box, or its longest text, needs, with the gap."""
    letter_count = max(map(len, (box.above, *box.below.split("\n"))))
    return max(INCHES_PER_WIDTH * box.width, INCHES_PER_LETTER * letter_count) + GAP_INCHES


def boxes_of_layers(net: NetworkShape) -> list[LayerBox]:
    """The picture, each convolution, pooling and averaging, each dense layer, the classes."""
    return [_box_of_layer(layer, net.side) for layer in rows_of_network(net)]


def _box_of_layer(layer: LayerRow, picture_side: int) -> LayerBox:
    """Maps as high as their side, dense layers as high as the logarithm of their units."""
    if layer.kind == "dense":
        height = HEIGHT_PER_DOUBLING * max(log2(layer.channels), 1.0)
        return LayerBox(0.5, height, WARN, "", f"{layer.channels:,}")
    width = 0.5 + 0.5 * log2(layer.channels)
    height = max(layer.side / picture_side, LEAST_HEIGHT)
    if layer.kind == "picture":
        return LayerBox(width, height, FAINT, "", f"{layer.side}")
    # separable kernels one below the other
    below = layer.filter_text.replace(", ", "\n") + f"\n→ {layer.side}"
    if layer.kind == "convolution":
        return LayerBox(width, height, ACCENT, f"{layer.channels}", below)
    return LayerBox(width, height, SOFT, "", below)


def _draw_box(axis: Axes, middle: float, box: LayerBox) -> None:
    """A box whose middle is here, at height 0; its texts above and below."""
    width = INCHES_PER_WIDTH * box.width
    left = middle - width / 2
    axis.add_patch(
        filled_box(left, -box.height / 2, width, box.height, facecolor=box.colour, alpha=0.75)
    )
    axis.text(middle, box.height / 2 + 0.03, box.above, ha="center", va="bottom", color=INK, size=7)
    axis.text(middle, -box.height / 2 - 0.04, box.below, ha="center", va="top", color=INK, size=7)
