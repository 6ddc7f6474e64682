"""A network described layer by layer, as numbers; without torch.

    convolution  k x k filters with stride s and padding p of zeros, then max-pooling of q x q pixels
                 with stride q (q = 1: none), then the activation
    dense        dropout, a layer of so many units, the activation
    last         dropout, a layer of one unit for each class

Before all stands one batch normalisation of each input channel.  Maxima commute with the three
activations, which rise: pooling first leaves them 1/q² of the numbers.  Sides are whole numbers:

    S_0 = side,  a_l = floor((S_{l-1} + 2p - k) / s) + 1,  S_l = floor(a_l / q)

Source: Lakhmiri, Optimisation des hyperparamètres des réseaux de neurones profonds (Polytechnique
Montréal, 2021), section 4.4 and Table 4.2, but for padding, which is below the kernel here: else
some windows would see nothing but zeros.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import NamedTuple

from fovnet.net.family.architecture import (
    INPUTS,
    NUMBERS_PER_NORMALISED_CHANNEL,
    Architecture,
    order_inputs,
)

ACTIVATIONS = ("relu", "sigmoid", "tanh")
MOST_UNITS = 4096
"""Most channels of a convolution, and most units of a dense layer."""
MOST_KERNEL = 127
MOST_STRIDE = 16
MOST_POOLING = 16
MOST_LAYERS = 64
"""Most convolutions, and most dense layers."""


class Convolution(NamedTuple):
    """A convolution and the pooling after it, which of 1 pixel is none; sides in pixels."""

    channels: int
    kernel: int
    stride: int = 1
    padding: int = 0
    pooling: int = 1


LIMITS_OF_CONVOLUTION = Convolution(
    MOST_UNITS, MOST_KERNEL, MOST_STRIDE, MOST_KERNEL - 1, MOST_POOLING
)


class LayerSides(NamedTuple):
    """Pixels along a side of a convolution's output, and of what its pooling leaves of it."""

    output: int
    pooled: int


@dataclass(frozen=True)
class Layered:
    """All that is needed to build such a network, apart from its weights.

    conv     the convolutions, in the order of the data
    dense    units of the dense layers, in the order of the data, without that of the classes
    dropout  the share of the numbers before each dense layer that a training step leaves out
    Raises ValueError for an unknown activation or input, numbers out of range, and convolutions
    that do not fit the picture.
    """

    conv: tuple[Convolution, ...]
    dense: tuple[int, ...]
    classes: int
    activation: str = "relu"
    dropout: float = 0.0
    side: int = 128
    inputs: tuple[str, ...] = ("slice",)

    def __post_init__(self) -> None:
        # JSON has lists
        object.__setattr__(self, "conv", tuple(Convolution(*layer) for layer in self.conv))
        object.__setattr__(self, "dense", tuple(self.dense))
        object.__setattr__(self, "inputs", tuple(self.inputs))
        if self.activation not in ACTIVATIONS:
            raise ValueError(f"activation {self.activation!r}; known are {', '.join(ACTIVATIONS)}")
        if not 0 <= self.dropout < 1:
            raise ValueError(f"dropout {self.dropout!r}; must be from 0 to below 1")
        if self.inputs != order_inputs(self.inputs):
            raise ValueError(
                f"inputs {', '.join(self.inputs) or 'none'}; give some of {', '.join(INPUTS)}, "
                "each once, in this order"
            )
        self._refuse_numbers_out_of_range()
        fault = describe_shape_fault(self.conv, self.side)
        if fault:
            raise ValueError(fault)

    def _refuse_numbers_out_of_range(self) -> None:
        """Raise ValueError for a number that is not whole, or out of its range."""
        _refuse_out_of_range("classes", self.classes, 1, 1000)
        _refuse_out_of_range("conv", len(self.conv), 0, MOST_LAYERS)
        _refuse_out_of_range("dense", len(self.dense), 0, MOST_LAYERS)
        for number, layer in enumerate(self.conv, start=1):
            for name, value, most in zip(
                Convolution._fields, layer, LIMITS_OF_CONVOLUTION, strict=True
            ):
                least = 0 if name == "padding" else 1
                _refuse_out_of_range(f"conv.{number}.{name}", value, least, most)
        for units in self.dense:
            _refuse_out_of_range("dense size", units, 1, MOST_UNITS)

    @property
    def channel_count(self) -> int:
        """Channels of the input."""
        return sum(INPUTS[kind] for kind in self.inputs)

    @property
    def sides(self) -> tuple[LayerSides, ...]:
        """(l,) the sides of every convolution."""
        return measure_sides(self.conv, self.side)

    @property
    def head_widths(self) -> tuple[int, ...]:
        """Numbers that enter the first dense layer, units of the dense layers, the classes."""
        channels = self.channel_count
        side = self.side
        if self.conv:
            channels = self.conv[-1].channels
            side = self.sides[-1].pooled
        return (channels * side**2, *self.dense, self.classes)

    @property
    def weight_count(self) -> int:
        """Numbers stored in the network, the four of every normalised channel counted."""
        weight_count = NUMBERS_PER_NORMALISED_CHANNEL * self.channel_count
        channels = self.channel_count
        for layer in self.conv:
            weight_count += (channels * layer.kernel**2 + 1) * layer.channels
            channels = layer.channels
        return weight_count + sum(
            (input_count + 1) * unit_count for input_count, unit_count in pairwise(self.head_widths)
        )

    @property
    def first_layer_numbers(self) -> int:
        """The most numbers that a layer holds for a slice; in this family it need not be the first."""
        outputs = [
            layer.channels * sides.output**2
            for layer, sides in zip(self.conv, self.sides, strict=True)
        ]
        return max([self.channel_count * self.side**2, *outputs])


NetworkShape = Architecture | Layered
"""A network of any family, as numbers."""


def measure_sides(conv: Sequence[Convolution], side: int) -> tuple[LayerSides, ...]:
    """(l,) the sides of convolutions on pictures of side x side pixels; meaningless from the first
    one on that does not fit."""
    sides = []
    for layer in conv:
        output = (side + 2 * layer.padding - layer.kernel) // layer.stride + 1
        side = output // layer.pooling
        sides.append(LayerSides(output, side))
    return tuple(sides)


def describe_shape_fault(conv: Sequence[Convolution], side: int) -> str:
    """What does not fit in the first convolution that does not fit pictures of side x side pixels;
    empty if all do: then no map has less than one pixel."""
    for number, layer in enumerate(conv, start=1):
        fault = describe_layer_fault(f"conv.{number}", layer, side)
        if fault:
            return fault
        side = measure_sides([layer], side)[0].pooled
    return ""


def describe_layer_fault(name: str, layer: Convolution, side: int) -> str:
    """What does not fit in a convolution of maps of side x side pixels; empty if all does."""
    if layer.kernel > side + 2 * layer.padding:
        return (
            f"{name}.kernel {layer.kernel} is larger than the picture there, "
            f"{side} + 2 × {layer.padding} pixels"
        )
    if layer.padding >= layer.kernel:
        return f"{name}.padding {layer.padding} is not below kernel {layer.kernel}"
    output_side = measure_sides([layer], side)[0].output
    if layer.pooling > output_side:
        return f"{name}.pooling {layer.pooling} is larger than the map there, {output_side} pixels"
    return ""


def _refuse_out_of_range(name: str, number: object, least: int, most: int) -> None:
    """Raise ValueError unless a number is whole, and from `least` to `most`."""
    is_whole = isinstance(number, int) and not isinstance(number, bool)
    if not is_whole or not least <= number <= most:  # type: ignore[operator]
        raise ValueError(f"{name} {number!r}; must be a whole number from {least} to {most}")
