"""Trained networks as one ONNX graph, built layer by layer, for runtimes other than torch.

    p  networks
    n  images
    c  channels of their input
    k  classes
    f  features of all networks together

Built with the `onnx` package rather than traced: the networks have only a few kinds of layers, the
graph has readable names, and no exporter is needed.  Each kind of layer has a function in the table
DRAW_BY_LAYER_TYPE, from the name of the layer's input to the name of its output; for a container it
calls those of its children.  The file holds no weights: they are read from the weights' own files
beside it, as external data, so that a model has them once.  Source: ONNX operators, opset 17, and
external data (onnx.ai).
"""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor, nn

from fovnet.errors import ModelError
from fovnet.net.family.dropout import Dropout
from fovnet.net.family.facts import StoredTensor, locate_tensors
from fovnet.net.family.model import Convolution2d, FeatureMap, Residual
from fovnet.net.family.weights import load_tensors
from fovnet.net.inference.member_outputs import compute_image_outputs
from fovnet.net.inference.onnx_engine import FEATURES, GRAPH_FACTS_KEY, IMAGES, PROBABILITIES
from fovnet.net.inference.probe import Probe, make_probe_images
from fovnet.records import checksum, replace_with
from fovnet.volume.slices.resizing import SIDE_PIXELS

if TYPE_CHECKING:
    from onnx import ModelProto, NodeProto, TensorProto

OPSET = 17
MOST_WEIGHT_BYTES = 1_900_000_000  # of weights: the limit of protobuf is 2 GiB
PICTURE_AXES = [2, 3]  # the axes of an image's rows and columns


@dataclass
class GraphDrawing:
    """A graph under construction.

    stored    where weights lie in files, by their names in the graph; all others are in the graph
    features  the names of the features so far
    """

    stored: Mapping[str, StoredTensor] = field(default_factory=dict)
    nodes: list[NodeProto] = field(default_factory=list)
    weights: list[TensorProto] = field(default_factory=list)
    features: list[str] = field(default_factory=list)

    def add(self, operator: str, *sources: str, output: str = "", **attributes: Any) -> str:
        """Add a node; the name of its output."""
        from onnx import helper

        name = output or f"{operator}{len(self.nodes)}"
        self.nodes.append(helper.make_node(operator, list(sources), [name], **attributes))
        return name

    def keep(self, name: str, values: Tensor | NDArray[Any]) -> str:
        """Add a constant array to the graph, as float32; its name."""
        from onnx import numpy_helper

        if name in self.stored:
            return self._keep_stored(name, self.stored[name])
        if isinstance(values, Tensor):
            values = values.detach().float().cpu().numpy()
        self.weights.append(numpy_helper.from_array(np.ascontiguousarray(values), name))
        return name

    def _keep_stored(self, name: str, tensor: StoredTensor) -> str:
        """Add a constant array that lies in a file; float16 becomes float32 when the graph is
        loaded."""
        from onnx import TensorProto

        weight = TensorProto(
            name=name,
            data_type=TensorProto.FLOAT,
            dims=tensor.shape,
            data_location=TensorProto.EXTERNAL,
        )
        for key, value in (
            ("location", tensor.file_name),
            ("offset", tensor.offset),
            ("length", tensor.byte_count),
        ):
            weight.external_data.add(key=key, value=str(value))
        self.weights.append(weight)
        if tensor.type_name == "F32":
            return name
        weight.name = f"{name}.float16"
        weight.data_type = TensorProto.FLOAT16
        return self.add("Cast", weight.name, output=name, to=TensorProto.FLOAT)


def write_graph(path: Path, networks: Sequence[nn.Module], weight_files: Sequence[Path]) -> Path:
    """`path`, the graph of networks whose weights lie in files beside it; replaced atomically.

    It records the SHA-256 of these files, in the networks' order, and what torch gives on the probe's images.  Raises
    ModelError as `build_graph`.
    """
    stored = {
        f"member{member_index}.{name}": tensor
        for member_index, (network, weight_file) in enumerate(
            zip(networks, weight_files, strict=True)
        )
        for name, tensor in _stored_tensors(network, weight_file, path.parent).items()
    }
    graph = build_graph(networks, stored)
    images = torch.from_numpy(make_probe_images(_channel_count(networks)))
    with torch.inference_mode():
        probe = Probe(*compute_image_outputs(networks, images))
    graph_facts = {
        "weights": [checksum(weight_file) for weight_file in weight_files],
        "probe": probe.to_json(),
    }
    graph.metadata_props.add(key=GRAPH_FACTS_KEY, value=json.dumps(graph_facts))
    content = graph.SerializeToString()
    return replace_with(path, lambda file: file.write(content))


def _stored_tensors(network: nn.Module, weight_file: Path, folder: Path) -> dict[str, StoredTensor]:
    """The float tensors of a network that are as they lie in its file, which is named from
    `folder`; those of a network that sees the slice alone are not all."""
    tensors_in_file, _ = load_tensors(weight_file)
    locations = locate_tensors(weight_file, folder)
    return {
        name: locations[name]
        for name, values in network.state_dict().items()
        if locations[name].type_name in ("F16", "F32")
        and torch.equal(values.float(), tensors_in_file[name].float())
    }


def build_graph(
    networks: Sequence[nn.Module], stored: Mapping[str, StoredTensor] | None = None
) -> ModelProto:
    """images (n, c, 128, 128) float32 in [0, 1] to probabilities (p, n, k) and features (n, f), as
    `fovnet.net.inference.member_outputs` defines them.

    stored  weights that lie in files, by their names in the graph: they are not copied into it
    One graph for all: ten sessions would each have their own threads, and copy the images ten
    times. Raises ModelError: "graph-layer" for a layer that cannot be expressed, "graph-inputs" if
    the networks have different numbers of channels, "graph-too-large" if their weights exceed the
    size limit of the format.
    """
    from onnx import TensorProto, helper

    drawing = GraphDrawing(stored or {})
    _refuse_too_large(networks, drawing.stored)
    channel_count = _channel_count(networks)
    first_axis_name = drawing.keep("first_axis", np.array([0], dtype=np.int64))
    probability_names = []
    for member_index, network in enumerate(networks):
        scores_name = _draw_sequence(drawing, network, f"member{member_index}", IMAGES)
        softmax_name = drawing.add("Softmax", scores_name, axis=1)
        probability_names.append(drawing.add("Unsqueeze", softmax_name, first_axis_name))
    drawing.add("Concat", *probability_names, output=PROBABILITIES, axis=0)
    describe_tensor = partial(helper.make_tensor_value_info, elem_type=TensorProto.FLOAT)
    graph_outputs = [describe_tensor(PROBABILITIES, shape=[len(networks), "n", None])]
    if drawing.features:
        drawing.add("Concat", *drawing.features, output=FEATURES, axis=1)
        graph_outputs.append(describe_tensor(FEATURES, shape=["n", None]))
    graph_inputs = [describe_tensor(IMAGES, shape=["n", channel_count, SIDE_PIXELS, SIDE_PIXELS])]
    graph = helper.make_graph(drawing.nodes, "fovnet", graph_inputs, graph_outputs, drawing.weights)
    return helper.make_model(graph, opset_imports=[helper.make_opsetid("", OPSET)], ir_version=8)


def _refuse_too_large(networks: Sequence[nn.Module], stored: Mapping[str, StoredTensor]) -> None:
    """Raise ModelError "graph-too-large" if the weights in the graph exceed MOST_WEIGHT_BYTES."""
    weight_bytes = sum(
        4 * weight.numel()
        for member_index, network in enumerate(networks)
        for name, weight in network.named_parameters()
        if f"member{member_index}.{name}" not in stored
    )
    if weight_bytes > MOST_WEIGHT_BYTES:
        raise ModelError(
            "graph-too-large",
            f"the networks' weights are {weight_bytes / 1e9:.1f} GB, more than the "
            f"{MOST_WEIGHT_BYTES / 1e9:.1f} of an ONNX graph; use the engine torch",
        )


def _channel_count(networks: Sequence[nn.Module]) -> int:
    """The number of input channels of all the networks, from their first layer, a normalisation.
    Raises ModelError "graph-inputs"."""
    first_layers = [next(network.children(), None) for network in networks]
    channel_counts = {int(getattr(layer, "num_features", 0)) for layer in first_layers}
    if len(channel_counts) != 1 or 0 in channel_counts:
        raise ModelError(
            "graph-inputs",
            "the networks do not all normalise the same number of channels first; use the engine "
            "torch",
        )
    return channel_counts.pop()


def _draw_layer(drawing: GraphDrawing, layer: nn.Module, name: str, source: str) -> str:
    draw_type = DRAW_BY_LAYER_TYPE.get(type(layer))
    if draw_type is None:
        raise _unknown_layer_error(layer, name)
    return draw_type(drawing, layer, name, source)


def _unknown_layer_error(layer: nn.Module, name: str) -> ModelError:
    return ModelError(
        "graph-layer", f"{name}: {layer} cannot be written as a graph; use the engine torch"
    )


def _draw_sequence(drawing: GraphDrawing, layer: nn.Module, name: str, source: str) -> str:
    for child_name, child in layer.named_children():
        source = _draw_layer(drawing, child, f"{name}.{child_name}", source)
    return source


def _draw_normalisation(
    drawing: GraphDrawing, layer: nn.BatchNorm2d, name: str, source: str
) -> str:
    """Adds a normalisation with its running statistics; the name of its output."""
    parameters = {
        "weight": layer.weight,
        "bias": layer.bias,
        "running_mean": layer.running_mean,
        "running_var": layer.running_var,
    }
    if any(values is None for values in parameters.values()):
        raise _unknown_layer_error(layer, name)
    weight_names = [
        drawing.keep(f"{name}.{parameter}", values)
        for parameter, values in parameters.items()
        if values is not None
    ]
    return drawing.add("BatchNormalization", source, *weight_names, epsilon=layer.eps)


def _draw_convolution(drawing: GraphDrawing, layer: nn.Conv2d, name: str, source: str) -> str:
    """Adds a convolution; the name of its output."""
    if isinstance(layer.padding, str) or layer.padding_mode != "zeros":
        raise _unknown_layer_error(layer, name)
    return drawing.add(
        "Conv",
        source,
        *_keep_weights(drawing, layer, name),
        pads=list(layer.padding) * 2,
        strides=list(layer.stride),
        dilations=list(layer.dilation),
        group=layer.groups,
    )


def _draw_dense(drawing: GraphDrawing, layer: nn.Linear, name: str, source: str) -> str:
    return drawing.add("Gemm", source, *_keep_weights(drawing, layer, name), transB=1)


def _keep_weights(drawing: GraphDrawing, layer: nn.Conv2d | nn.Linear, name: str) -> list[str]:
    """Adds a layer's weights and biases; their names, without one of biases that it lacks."""
    bias: Tensor | None = layer.bias  # annotated as a Tensor by torch, but None with bias=False
    return [
        drawing.keep(f"{name}.{parameter}", values)
        for parameter, values in (("weight", layer.weight), ("bias", bias))
        if values is not None
    ]


def _draw_max_pooling(drawing: GraphDrawing, layer: nn.MaxPool2d, name: str, source: str) -> str:
    """Max-pooling; the standard deviation of its output after a ReLU is a feature."""
    pooled_name = _draw_plain_pooling(drawing, layer, name, source)
    active_name = drawing.add("Relu", pooled_name)
    drawing.features.append(_draw_deviation(drawing, active_name))
    return pooled_name


def _draw_plain_pooling(drawing: GraphDrawing, layer: nn.MaxPool2d, name: str, source: str) -> str:
    """Max-pooling without a feature."""
    if _pair(layer.dilation) != [1, 1]:
        raise _unknown_layer_error(layer, name)
    return drawing.add("MaxPool", source, **_pooling_attributes(layer))


def _draw_feature_map(drawing: GraphDrawing, layer: FeatureMap, name: str, source: str) -> str:
    """A pooling and its activation; the standard deviation of what they give is a feature."""
    for child_name, child in layer.named_children():
        full_name = f"{name}.{child_name}"
        if isinstance(child, nn.MaxPool2d):
            source = _draw_plain_pooling(drawing, child, full_name, source)
        else:
            source = _draw_layer(drawing, child, full_name, source)
    drawing.features.append(_draw_deviation(drawing, source))
    return source


def _draw_deviation(drawing: GraphDrawing, active: str) -> str:
    """(n, filters): the standard deviation over the image of active maps, in two passes, as E[x²] -
    E[x]² would cancel."""
    mean = drawing.add("ReduceMean", active, axes=PICTURE_AXES, keepdims=1)
    differences = drawing.add("Sub", active, mean)
    squares = drawing.add("Mul", differences, differences)
    variance = drawing.add("ReduceMean", squares, axes=PICTURE_AXES, keepdims=0)
    return drawing.add("Sqrt", variance)


def _draw_mean_pooling(drawing: GraphDrawing, layer: nn.AvgPool2d, name: str, source: str) -> str:
    """Adds a mean pooling; the name of its output."""
    if layer.divisor_override is not None:
        raise _unknown_layer_error(layer, name)
    counts_padding = int(layer.count_include_pad)
    return drawing.add(
        "AveragePool", source, count_include_pad=counts_padding, **_pooling_attributes(layer)
    )


def _pooling_attributes(layer: nn.MaxPool2d | nn.AvgPool2d) -> dict[str, Any]:
    """The attributes that an ONNX pooling has of a layer."""
    return {
        "kernel_shape": _pair(layer.kernel_size),
        "strides": _pair(layer.stride),
        "pads": _pair(layer.padding) * 2,
        "ceil_mode": int(layer.ceil_mode),
    }


def _pair(sides: int | tuple[int, ...]) -> list[int]:
    return [sides, sides] if isinstance(sides, int) else list(sides)


def _draw_global_mean(
    drawing: GraphDrawing, layer: nn.AdaptiveAvgPool2d, name: str, source: str
) -> str:
    if layer.output_size not in (1, (1, 1)):
        raise _unknown_layer_error(layer, name)
    return drawing.add("GlobalAveragePool", source)


def _draw_residual(drawing: GraphDrawing, layer: Residual, name: str, source: str) -> str:
    branch = _draw_layer(drawing, layer.branch, f"{name}.branch", source)
    shortcut = _draw_layer(drawing, layer.shortcut, f"{name}.shortcut", source)
    return drawing.add("Add", branch, shortcut)


Draw = Callable[[GraphDrawing, Any, str, str], str]
DRAW_BY_LAYER_TYPE: dict[type[nn.Module], Draw] = {
    nn.Sequential: _draw_sequence,
    nn.BatchNorm2d: _draw_normalisation,
    nn.Conv2d: _draw_convolution,
    Convolution2d: _draw_convolution,
    nn.Linear: _draw_dense,
    nn.MaxPool2d: _draw_max_pooling,
    nn.AvgPool2d: _draw_mean_pooling,
    nn.AdaptiveAvgPool2d: _draw_global_mean,
    nn.ReLU: lambda drawing, _, __, source: drawing.add("Relu", source),
    nn.Sigmoid: lambda drawing, _, __, source: drawing.add("Sigmoid", source),
    nn.Tanh: lambda drawing, _, __, source: drawing.add("Tanh", source),
    nn.Flatten: lambda drawing, _, __, source: drawing.add("Flatten", source),
    FeatureMap: _draw_feature_map,
    Residual: _draw_residual,
    Dropout: lambda _, __, ___, source: source,
    nn.Identity: lambda _, __, ___, source: source,
}
"""The function of each kind of layer: (graph so far, layer, its name, name of its input) to the
name of its output."""
