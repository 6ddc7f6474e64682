"""Networks of layers in torch, and the network of any family."""

from __future__ import annotations

from collections import OrderedDict
from itertools import pairwise

import torch
from torch import nn

from fovnet.net.family.dropout import Dropout
from fovnet.net.family.layered import Layered, NetworkShape
from fovnet.net.family.model import NORM_EPSILON, Convolution2d, FeatureMap, Network, build_network

LAYER_BY_ACTIVATION: dict[str, type[nn.Module]] = {
    "relu": nn.ReLU,
    "sigmoid": nn.Sigmoid,
    "tanh": nn.Tanh,
}
LAST_LAYER_FACTOR = 0.1
"""On the drawn weights of the classes: training begins near uniform probabilities."""


def build_any_network(net: NetworkShape, generator: torch.Generator | None = None) -> Network:
    """The network of any family, its weights drawn from `generator`."""
    if isinstance(net, Layered):
        return build_layered_network(net, generator)
    return build_network(net, generator)


def build_layered_network(net: Layered, generator: torch.Generator | None = None) -> Network:
    """The network of layers: (n, c, side, side) float images in [0, 1] to (n, k) unnormalised
    log-probabilities.

    Weights are normal with variance g² / fan-in, g that of the activation after them (He et al.
    (2015), eq. 10, for relu; 1 for sigmoid, 5/3 for tanh, as torch's `calculate_gain`); biases are
    zero.  Its features are those of the maps of each pooling after their activation; without any
    pooling those of its last convolution, without any convolution that of the normalised picture.
    """
    layers: OrderedDict[str, nn.Module] = OrderedDict(
        normalise=nn.BatchNorm2d(net.channel_count, eps=NORM_EPSILON)
    )
    channels = net.channel_count
    has_pooling = any(layer.pooling > 1 for layer in net.conv)
    for index, layer in enumerate(net.conv):
        layers[f"conv{index}"] = Convolution2d(
            channels, layer.channels, layer.kernel, layer.stride, padding=layer.padding
        )
        channels = layer.channels
        is_last = index == len(net.conv) - 1
        if layer.pooling > 1:
            layers[f"conv{index}_map"] = FeatureMap(
                nn.MaxPool2d(layer.pooling), _activation(net.activation)
            )
        elif is_last and not has_pooling:
            layers[f"conv{index}_map"] = FeatureMap(_activation(net.activation))
        else:
            layers[f"conv{index}_{net.activation}"] = _activation(net.activation)
    if not net.conv:
        layers["picture_map"] = FeatureMap()
    layers["flatten"] = nn.Flatten()
    _add_dense_layers(layers, net)
    network = Network(layers)
    network.inputs = net.inputs
    network.widest_numbers = net.first_layer_numbers
    _initialise(network, net.activation, generator)
    return network


def _add_dense_layers(layers: OrderedDict[str, nn.Module], net: Layered) -> None:
    """Adds the layers after the flattening, by name."""
    last_index = len(net.dense)
    for index, (input_count, unit_count) in enumerate(pairwise(net.head_widths)):
        name = "classes" if index == last_index else f"dense{index}"
        if net.dropout:
            layers[f"{name}_dropout"] = Dropout(net.dropout, index)
        layers[name] = nn.Linear(input_count, unit_count)
        if index < last_index:
            layers[f"{name}_{net.activation}"] = _activation(net.activation)


def _activation(name: str) -> nn.Module:
    """The layer of an activation; in place where its derivative needs its output alone."""
    if name == "relu":
        return nn.ReLU(inplace=True)
    return LAYER_BY_ACTIVATION[name]()


def _initialise(network: Network, activation: str, generator: torch.Generator | None) -> None:
    for layer in network.modules():
        if isinstance(layer, nn.Conv2d | nn.Linear):
            nn.init.kaiming_normal_(layer.weight, nonlinearity=activation, generator=generator)  # type: ignore[arg-type]
            assert layer.bias is not None
            nn.init.zeros_(layer.bias)
    with torch.no_grad():
        network.get_submodule("classes").weight.mul_(LAST_LAYER_FACTOR)  # type: ignore[operator]
