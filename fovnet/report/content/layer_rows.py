"""A network layer by layer: what each is, what leaves it, and its weights."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import pairwise
from typing import Literal, NamedTuple

from fovnet.net.family.architecture import NUMBERS_PER_NORMALISED_CHANNEL, Architecture
from fovnet.net.family.layered import Layered, NetworkShape

LayerKind = Literal["picture", "convolution", "pooling", "averaging", "dense"]


class LayerRow(NamedTuple):
    """A layer of a network.

    filter_text   "5×5 /2 +1": kernel, stride after a stroke, padding after a plus where it is not the
                  usual one
    channels      of the maps that leave it, or its units
    side          of these maps in pixels; 1 of units
    weight_count  numbers stored, those of a normalisation of its output counted
    """

    kind: LayerKind
    filter_text: str
    channels: int
    side: int
    weight_count: int


def rows_of_network(net: NetworkShape) -> tuple[LayerRow, ...]:
    """The layers from the picture to the classes; their weights sum to `net.weight_count`."""
    input_weights = NUMBERS_PER_NORMALISED_CHANNEL * net.channel_count
    picture = LayerRow("picture", "", net.channel_count, net.side, input_weights)
    map_rows = _rows_of_convolutions(net) if isinstance(net, Layered) else _rows_of_blocks(net)
    dense_rows = (
        LayerRow("dense", "", unit_count, 1, (input_count + 1) * unit_count)
        for input_count, unit_count in pairwise(net.head_widths)
    )
    return (picture, *map_rows, *dense_rows)


def _rows_of_convolutions(net: Layered) -> Iterator[LayerRow]:
    """Convolutions and poolings of a network that is described layer by layer."""
    channels = net.channel_count
    for layer, sides in zip(net.conv, net.sides, strict=True):
        filter_text = f"{layer.kernel}×{layer.kernel}"
        if layer.stride > 1:
            filter_text += f" /{layer.stride}"
        if layer.padding:
            filter_text += f" +{layer.padding}"
        weight_count = (channels * layer.kernel**2 + 1) * layer.channels
        channels = layer.channels
        yield LayerRow("convolution", filter_text, channels, sides.output, weight_count)
        if layer.pooling > 1:
            yield LayerRow("pooling", f"pool {layer.pooling}", channels, sides.pooled, 0)


def _rows_of_blocks(net: Architecture) -> Iterator[LayerRow]:
    """Convolutions and poolings of the blocks, and the averaging before the head."""
    channels = net.channel_count
    side = net.side // net.stride
    for block, filters in enumerate(net.filters_of_blocks):
        input_channels = channels
        for number in range(1, net.convolutions + 1):
            filter_text = _filter_text(net, has_stride=block == 0 and number == 1)
            weight_count = net.count_convolution_weights(channels, filters)
            channels = filters
            if net.is_residual(block) and number == net.convolutions:
                filter_text += " + input"
                weight_count += net.count_shortcut_weights(input_channels, filters)
            yield LayerRow("convolution", filter_text, filters, side, weight_count)
        side //= 2
        normalisation_weights = 0
        if net.norm == "pooled":
            normalisation_weights = NUMBERS_PER_NORMALISED_CHANNEL * filters
        yield LayerRow("pooling", "pool 2", filters, side, normalisation_weights)
    if net.head == "gap":
        yield LayerRow("averaging", f"mean {side}", channels, 1, 0)
    if net.head == "small" and net.averaged_side > 1:
        averaged_side = side // net.averaged_side
        yield LayerRow("averaging", f"mean {net.averaged_side}", channels, averaged_side, 0)


def _filter_text(net: Architecture, *, has_stride: bool) -> str:
    """The kernel of a convolution, "1×5, 5×1" of a separable one, and the stride of the first."""
    filter_text = f"{net.kernel}×{net.kernel}"
    if net.separable:
        filter_text = f"1×{net.kernel}, {net.kernel}×1"
    if has_stride and net.stride > 1:
        filter_text += f" /{net.stride}"
    return filter_text
