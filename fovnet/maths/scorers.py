"""M small networks of equal widths, trained at once: fully connected, with ReLU between the layers.

    x     (n, D)  inputs, the same for all networks, or (M, n, D)
    flat  (M, K)  all parameters of each network; weights (M, in, out) and biases (M, 1, out) are
          views of it

float64 numpy: with 1,400 parameters a network an epoch is bound by overhead, and takes a third of
torch's time.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from functools import cached_property
from itertools import pairwise

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float64]


@dataclass(frozen=True, eq=False)
class Layers:
    """The networks; widths are those of the input, of each hidden layer, and of the output."""

    widths: tuple[int, ...]
    flat: Floats

    @classmethod
    def draw(cls, widths: tuple[int, ...], members: int, rng: np.random.Generator) -> Layers:
        """Networks with weights and biases uniform within ±1/√in, as torch's."""
        layers = cls(widths, np.empty((members, parameter_count(widths))))
        for weights, biases in layers.views:
            bound = 1.0 / np.sqrt(weights.shape[1])
            weights[:] = rng.uniform(-bound, bound, weights.shape)
            biases[:] = rng.uniform(-bound, bound, biases.shape)
        return layers

    @cached_property
    def views(self) -> tuple[tuple[Floats, Floats], ...]:
        """Weights and biases of each layer, which share their memory with `flat`."""
        layer_views = []
        weight_begin = 0
        for inputs, outputs in pairwise(self.widths):
            bias_begin = weight_begin + inputs * outputs
            layer_end = weight_begin + (inputs + 1) * outputs
            weights = self.flat[:, weight_begin:bias_begin].reshape(-1, inputs, outputs)
            layer_views.append(
                (weights, self.flat[:, bias_begin:layer_end].reshape(-1, 1, outputs))
            )
            weight_begin = layer_end
        return tuple(layer_views)


def parameter_count(widths: tuple[int, ...]) -> int:
    """The number K of parameters of one network."""
    return sum((inputs + 1) * outputs for inputs, outputs in pairwise(widths))


def forward(layers: Layers, x: Floats) -> list[Floats]:
    """The inputs and the values (M, n, width) of each layer; the last are the outputs."""
    values = [x]
    for weights, biases in layers.views:
        layer_inputs = values[-1]
        if len(values) > 1:
            np.maximum(layer_inputs, 0.0, out=layer_inputs)
        values.append(np.matmul(layer_inputs, weights))
        values[-1] += biases
    return values


def backward(layers: Layers, values: list[Floats], gradient: Floats) -> tuple[Floats, Floats]:
    """The gradient (M, K) in `flat`, and that in the first layer's values before its ReLU (M, n,
    width), given that in the outputs (M, n, out) and the values of `forward`."""
    gradients = Layers(layers.widths, np.empty_like(layers.flat))
    for layer_index in reversed(range(len(layers.views))):
        weight_gradient, bias_gradient = gradients.views[layer_index]
        np.matmul(values[layer_index].swapaxes(-1, -2), gradient, out=weight_gradient)
        gradient.sum(axis=1, keepdims=True, out=bias_gradient)
        if layer_index:
            weights, _ = layers.views[layer_index]
            gradient = np.matmul(gradient, weights.swapaxes(1, 2))
            gradient *= values[layer_index] > 0.0
    return gradients.flat, gradient


def score_points(layers: Layers, x: Floats) -> Floats:
    """The scores (M, n): the only output of each network."""
    return forward(layers, x)[-1][..., 0]


@dataclass(eq=False)
class Adam:
    """Steps on parameters, which change in place.

    decay          of the running mean of the gradient, and of that of its square
    least_divisor  added to the root of the mean square, so that no step divides by 0

    Source: Kingma & Ba, *Adam: a method for stochastic optimization* (2015), algorithm 1.
    """

    parameters: Floats
    decay: tuple[float, float] = (0.9, 0.999)
    least_divisor: float = 1e-8
    step_count: int = 0
    mean: Floats = field(init=False)
    squared_mean: Floats = field(init=False)

    def __post_init__(self) -> None:
        self.mean = np.zeros_like(self.parameters)
        self.squared_mean = np.zeros_like(self.parameters)

    def step(self, gradient: Floats, rate: float) -> None:
        """One step against the gradient, of the parameters' shape."""
        self.step_count += 1
        mean_decay, square_decay = self.decay
        self.mean += (1.0 - mean_decay) * (gradient - self.mean)
        self.squared_mean += (1.0 - square_decay) * (gradient * gradient - self.squared_mean)
        deviation = (
            np.sqrt(self.squared_mean / (1.0 - square_decay**self.step_count)) + self.least_divisor
        )
        self.parameters -= rate / (1.0 - mean_decay**self.step_count) * self.mean / deviation


def cosine_rate(step_index: int, step_count: int, first_rate: float, last_rate: float) -> float:
    """The rate of a step counted from 0: from `first_rate` along half a
    cosine, to `last_rate` at `step_count`.

    Source: Loshchilov & Hutter, *SGDR: stochastic gradient descent with warm restarts* (2017), eq.
    5.
    """
    return float(
        last_rate + 0.5 * (first_rate - last_rate) * (1.0 + np.cos(np.pi * step_index / step_count))
    )
