"""A trained network as an ONNX graph: its layers, one by one, for runtimes other than torch.

Written with the `onnx` package itself rather than traced: a network of ours is a list of six kinds of layers, the graph then has names
that a person can follow, and no exporter has to be trusted.  Source: ONNX operators, opset 17 (onnx.ai).
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

import numpy as np
from torch import nn

from fovnet.net.model import Network
from fovnet.volume.resizing import SIDE

if TYPE_CHECKING:
    from onnx import ModelProto

OPSET = 17
SLICES, PROBABILITIES = "slices", "probabilities"


def graph_of(network: Network) -> ModelProto:
    """slices (n, 1, 128, 128) float32 in [0, 1] to class probabilities (n, k), as `network(slices).softmax(1)` gives them.

    Raises TypeError for a layer that networks of ours have not.
    """
    from onnx import TensorProto, helper, numpy_helper

    nodes, weights, at = [], [], SLICES
    for number, layer in enumerate(_layers(network)):
        operator, parameters, attributes = _operator(layer)
        names = [f"layer{number}_{name}" for name in parameters]
        weights += [numpy_helper.from_array(array, name) for array, name in zip(parameters.values(), names, strict=True)]
        nodes.append(helper.make_node(operator, [at, *names], [f"after{number}"], **attributes))
        at = f"after{number}"
    nodes.append(helper.make_node("Softmax", [at], [PROBABILITIES], axis=1))
    given = helper.make_tensor_value_info(SLICES, TensorProto.FLOAT, ["n", 1, SIDE, SIDE])
    wanted = helper.make_tensor_value_info(PROBABILITIES, TensorProto.FLOAT, ["n", None])
    graph = helper.make_graph(nodes, "fovnet", [given], [wanted], weights)
    return helper.make_model(graph, opset_imports=[helper.make_opsetid("", OPSET)], ir_version=8)


def _layers(module: nn.Module) -> Iterator[nn.Module]:
    """The layers in the order in which they are applied; sequences (separable convolutions) opened."""
    for child in module.children():
        if isinstance(child, nn.Sequential):
            yield from _layers(child)
        else:
            yield child


def _operator(layer: nn.Module) -> tuple[str, dict[str, Any], dict[str, Any]]:
    """(operator, parameters by name, attributes) of one layer."""
    if isinstance(layer, nn.BatchNorm2d):
        parameters = {"scale": layer.weight, "shift": layer.bias, "mean": layer.running_mean, "variance": layer.running_var}
        return "BatchNormalization", _arrays(parameters), {"epsilon": layer.eps}
    if isinstance(layer, nn.Conv2d):
        down, across = (int(side) for side in layer.padding)
        return "Conv", _arrays({"weight": layer.weight, "bias": layer.bias}), {"pads": [down, across, down, across]}
    if isinstance(layer, nn.Linear):
        return "Gemm", _arrays({"weight": layer.weight, "bias": layer.bias}), {"transB": 1}
    if isinstance(layer, nn.MaxPool2d):
        return "MaxPool", {}, {"kernel_shape": [2, 2], "strides": [2, 2]}
    plain = {nn.ReLU: "Relu", nn.Flatten: "Flatten", nn.AdaptiveAvgPool2d: "GlobalAveragePool"}
    if type(layer) not in plain:
        raise TypeError(f"{type(layer).__name__}: no layer of a network of fovnet's")
    return plain[type(layer)], {}, {}


def _arrays(parameters: dict[str, Any]) -> dict[str, Any]:
    return {name: np.ascontiguousarray(tensor.detach().cpu().numpy()) for name, tensor in parameters.items()}
