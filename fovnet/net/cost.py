"""What a training will take, before it is begun: operations, bytes, seconds.

    forward_flop    (M,)  floating-point operations of one slice's forward pass, a multiply-add counted as two
    training_bytes  (M,)  peak memory of a training step
    seconds         (M,)  of a whole trial on a described device

Counted from the layers alone, without building a network.  Backward costs twice the forward pass: one product for the gradient
of the weights and one for the gradient of the input, each as large as the forward product.  (The first convolution's input needs
no gradient; that it is counted all the same is far within what a described device is known to.)
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import Any

import numpy as np
from numpy.typing import NDArray

from fovnet.net import axes
from fovnet.net.architecture import FC, Architecture, from_configuration

FLOAT = 4        # bytes of a float32
INDEX = 8        # torch's max-pooling keeps where each maximum stood as int64
STATE = 3        # weights, gradients, momentum


@dataclass(frozen=True)
class Device:
    """A device as the clock sees it: arithmetic rate, memory rate, and the fixed price of one layer's launch."""

    gflop_per_second: float
    gigabyte_per_second: float
    microseconds_per_layer: float


@dataclass(frozen=True)
class Cost:
    """What one architecture takes: weights, forward operations and activation bytes of one slice, layers of one pass."""

    weights: int
    forward_flop: float
    activation_bytes: float
    layers: int


def cost_of(net: Architecture) -> Cost:
    """Weights, operations, activation bytes and layers of one architecture."""
    flop, stored, layers = 0.0, net.side**2 * FLOAT * 3.0, 1             # the slice, and the two channels it is normalised to
    channels, side, f = 2, net.side, net.filters
    taps = ((1, net.kernel), (net.kernel, 1)) if net.separable else ((net.kernel, net.kernel),)
    for _ in range(net.blocks):
        for _ in range(net.convolutions):
            for height, width in taps:
                flop += 2.0 * side * side * channels * f * height * width
                stored += side * side * f * FLOAT                        # ReLU works in place: one tensor a convolution
                channels, layers = f, layers + 1
            layers += 1
        side //= 2
        stored += side * side * f * (FLOAT + INDEX)
        layers += 1
    widths = (f, net.classes) if net.head == "gap" else (side * side * f, *FC, net.classes)
    flop += sum(2.0 * a * b for a, b in pairwise(widths))
    stored += sum(widths[1:]) * FLOAT
    return Cost(net.weights, flop, stored, layers + 2 * (len(widths) - 1))


def training_bytes(cost: Cost, batch: int) -> float:
    """Peak memory of a training step.

    Weights, gradients and momentum; all activations of the batch; and, while the gradient walks back, half as much again: the
    largest activation's gradient and the convolution's workspace live beside the stored ones.
    """
    return STATE * FLOAT * cost.weights + 1.5 * batch * cost.activation_bytes


def training_seconds(cost: Cost, batch: int, *, slices: int, validation_slices: int, epochs: int, device: Device) -> float:
    """Seconds of a whole trial: arithmetic, memory traffic of activations and of the weight update, and launches."""
    rate, bandwidth = device.gflop_per_second * 1e9, device.gigabyte_per_second * 1e9
    steps = max(1, slices // batch)
    forward = cost.forward_flop / rate + 2 * cost.activation_bytes / bandwidth         # written once, read once
    update = 5 * FLOAT * cost.weights / bandwidth                                      # read w, g, v; write w, v
    launches = 3 * cost.layers * device.microseconds_per_layer * 1e-6
    return epochs * (3 * forward * slices + forward * validation_slices + steps * (update + launches))


def price_rows(
    configurations: Sequence[Mapping[str, Any]],
    *,
    classes: int,
    head: str,
    slices: int,
    validation_slices: int,
    epochs: int,
    device: Device,
) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Peak training bytes (M,) and seconds (M,) of every row of a space, in about a second for 34,300 rows."""
    known: dict[Architecture, Cost] = {}
    memory, seconds = np.empty(len(configurations)), np.empty(len(configurations))
    for row, configuration in enumerate(configurations):
        net = from_configuration(configuration, classes=classes, head=axes.head(configuration, head))
        cost = known.setdefault(net, known.get(net) or cost_of(net))     # 49 rows share an architecture
        batch = axes.batch(configuration)
        memory[row] = training_bytes(cost, batch)
        seconds[row] = training_seconds(
            cost, batch, slices=slices, validation_slices=validation_slices, epochs=epochs, device=device
        )
    return memory, seconds
