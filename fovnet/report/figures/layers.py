"""The drawing of a network of layers: what each makes of the picture."""

from __future__ import annotations

from math import log2
from typing import NamedTuple

from matplotlib.axes import Axes
from matplotlib.figure import Figure

from fovnet.drawing.canvas import ACCENT, FAINT, INK, SOFT, WARN, filled_box, house_style
from fovnet.net.family.layered import Layered
from fovnet.report.content.layer_drawings import LayersView

LEAST_HEIGHT = 0.02
"""Of a box, as a share of the picture's: one pixel would not be seen."""
HEIGHT_PER_DOUBLING = 0.07
"""Of the bar of a dense layer."""
GAP = 1.4
"""Between boxes, in the width of a box of two channels."""


class Box(NamedTuple):
    """A layer: its width, its height as a share of the picture's, its colour, what is written above
    and below it."""

    width: float
    height: float
    colour: str
    above: str
    below: str


def layers_figure(view: LayersView) -> Figure:
    """The layers from left to right: maps as high as their side and as wide as the logarithm of
    their channels, dense layers as high as the logarithm of their units.

    A bad sign: a map that is small far to the left, after which layers see almost nothing.
    """
    boxes = boxes_of_layers(view.net)
    with house_style():
        figure = Figure(figsize=(max(4.6, min(10.6, 1.0 + 0.62 * len(boxes))), 2.3))
        axis = figure.add_axes((0.01, 0.02, 0.98, 0.80))
        left = 0.0
        for box in boxes:
            _draw_box(axis, left, box)
            left += box.width + GAP
        axis.set(xlim=(-0.6, max(left, 8.0)), ylim=(-0.82, 0.78))
        axis.set_axis_off()
        figure.text(0.015, 0.98, view.name, va="top", weight="bold")
        figure.text(0.015, 0.90, view.amounts, va="top", color=SOFT)
        return figure


def boxes_of_layers(net: Layered) -> list[Box]:
    """The picture, each convolution and each pooling, each dense layer, the classes."""
    boxes = [_map_box(net.channel_count, net.side, net.side, FAINT, "", f"{net.side}")]
    for layer, sides in zip(net.conv, net.sides, strict=True):
        kernel_text = f"{layer.kernel}×{layer.kernel}"
        if layer.stride > 1:
            kernel_text += f" /{layer.stride}"
        if layer.padding:
            kernel_text += f" +{layer.padding}"
        boxes.append(
            _map_box(
                layer.channels,
                sides.output,
                net.side,
                ACCENT,
                f"{layer.channels}",
                f"{kernel_text}\n→ {sides.output}",
            )
        )
        if layer.pooling > 1:
            below = f"pool {layer.pooling}\n→ {sides.pooled}"
            boxes.append(_map_box(layer.channels, sides.pooled, net.side, SOFT, "", below))
    _, *widths = net.head_widths
    for unit_count in widths:
        height = HEIGHT_PER_DOUBLING * max(log2(unit_count), 1.0)
        boxes.append(Box(0.5, height, WARN, "", f"{unit_count}"))
    return boxes


def _map_box(
    channels: int, side: int, picture_side: int, colour: str, above: str, below: str
) -> Box:
    return Box(
        0.5 + 0.5 * log2(channels), max(side / picture_side, LEAST_HEIGHT), colour, above, below
    )


def _draw_box(axis: Axes, left: float, box: Box) -> None:
    """A box whose middle is at height 0, its texts above and below."""
    axis.add_patch(
        filled_box(left, -box.height / 2, box.width, box.height, facecolor=box.colour, alpha=0.75)
    )
    middle = left + box.width / 2
    axis.text(middle, box.height / 2 + 0.03, box.above, ha="center", va="bottom", color=INK, size=7)
    axis.text(middle, -box.height / 2 - 0.04, box.below, ha="center", va="top", color=INK, size=7)
