"""Networks as an ONNX graph compute what the networks compute."""

from __future__ import annotations

from itertools import product
from pathlib import Path

import numpy as np
import pytest
import torch
from torch import nn

from fovnet.errors import ModelError
from fovnet.net.family.architecture import Architecture
from fovnet.net.family.facts import load_facts, read_architecture
from fovnet.net.family.layered import Convolution, Layered
from fovnet.net.family.layered_model import build_layered_network
from fovnet.net.family.model import Network, build_network
from fovnet.net.family.weights import save_network
from fovnet.net.inference.graph import DRAW_BY_LAYER_TYPE, GraphDrawing, build_graph, write_graph
from fovnet.net.inference.member_outputs import compute_member_outputs
from fovnet.net.inference.onnx_engine import OnnxEngine
from fovnet.records import checksum

onnxruntime = pytest.importorskip("onnxruntime", reason="the extra `onnx` is not installed")


def trained(net: Architecture) -> Network:
    """A network whose normalisation and biases are not those of the first step."""
    model = build_network(net, torch.Generator().manual_seed(0))
    generator = torch.Generator().manual_seed(1)
    with torch.no_grad():
        for layer in model.modules():
            if isinstance(layer, nn.BatchNorm2d):
                layer.running_mean.fill_(0.3), layer.weight.fill_(1.3), layer.bias.fill_(-0.2)
                # grey values vary less than what convolutions give
                layer.running_var.fill_(0.07 if layer is model.normalise else 0.9)
            if isinstance(layer, nn.Conv2d | nn.Linear):
                layer.bias.normal_(generator=generator).mul_(0.1)
    return model.eval()


@pytest.mark.parametrize(
    ("blocks", "convolutions", "kernel", "separable", "head"),
    [
        *product([1, 3], [1, 2], [3], [False, True], ["gap"]),
        (4, 1, 5, False, "fc"),
        (5, 2, 3, True, "fc"),
    ],
)
def test_the_graph_answers_as_the_network_does(blocks, convolutions, kernel, separable, head):
    """Sums of floats in another order: scores of 100 differ by 1e-5, and so do probabilities."""
    network = trained(Architecture(blocks, convolutions, 2, kernel, separable, 7, head))
    pixels = np.random.default_rng(0).integers(0, 256, (3, 128, 128)).astype(np.uint8)
    wanted, deviations = compute_member_outputs([network], pixels, torch.device("cpu"))
    session = onnxruntime.InferenceSession(build_graph([network]).SerializeToString())
    given, features = session.run(None, {"images": pixels[:, None].astype(np.float32) / 255})
    # the slices differ, or everything would agree
    assert np.ptp(wanted, axis=1).max() > 1e-4
    np.testing.assert_allclose(given, wanted, atol=5e-5)
    np.testing.assert_allclose(features, deviations, rtol=1e-4, atol=1e-5)


@pytest.mark.parametrize(
    "more",
    [
        {"head": "small"},
        {"block": "residual", "convolutions": 2},
        {"block": "residual", "convolutions": 2, "widen": 2, "separable": True},
        {"widen": 2, "inputs": ("slice", "neighbours", "millimetres")},
        {"norm": "pooled"},
        {"norm": "pooled", "block": "residual", "convolutions": 2},
        {"stride": 2},
        {"stride": 2, "separable": True, "convolutions": 2, "widen": 2},
    ],
)
def test_compact_networks_have_graphs_too(more):
    network = trained(
        Architecture(
            **{
                "blocks": 3,
                "convolutions": 1,
                "log2_filters": 2,
                "kernel": 3,
                "separable": False,
                "classes": 7,
                "head": "gap",
            }
            | more
        )
    )
    images = (
        np.random.default_rng(0)
        .random((3, len(network.normalise.weight), 128, 128))
        .astype(np.float32)
    )
    session = onnxruntime.InferenceSession(build_graph([network]).SerializeToString())
    given, features = session.run(None, {"images": images})
    with torch.no_grad():
        wanted = network(torch.from_numpy(images)).softmax(1).numpy()
    assert np.ptp(wanted, axis=0).max() > 1e-4
    np.testing.assert_allclose(given[0], wanted, atol=5e-5)
    assert features.shape == (3, sum(4 * more.get("widen", 1) ** block for block in range(3)))


def test_a_picture_without_texture_has_no_deviation_also_where_it_is_bright():
    """Rounding of the mean is left, 5e-6 of it; the mean of the squares less the square of the mean would
    leave the root of that."""
    bright = Network(
        nn.BatchNorm2d(1),
        nn.Conv2d(1, 1, 1),
        nn.MaxPool2d(2),
        nn.AdaptiveAvgPool2d(1),
        nn.Flatten(),
    ).eval()
    with torch.no_grad():
        bright[1].weight.fill_(1.0), bright[1].bias.fill_(1000.0)
    session = onnxruntime.InferenceSession(build_graph([bright]).SerializeToString())
    _, features = session.run(None, {"images": np.full((1, 1, 128, 128), 0.3, dtype=np.float32)})
    assert features[0, 0] < 1000.0 * 5e-5


def test_the_graph_is_valid_onnx_and_its_weights_are_the_networks():
    onnx = pytest.importorskip("onnx")
    networks = [
        trained(Architecture(2, 1, 2, 3, False, 7, "gap")),
        trained(Architecture(1, 2, 2, 5, True, 7, "gap")),
    ]
    graph = build_graph(networks)
    onnx.checker.check_model(graph, full_check=True)
    numbers = {
        weight.name: int(np.prod(weight.dims))
        for weight in graph.graph.initializer
        if weight.name.startswith("member")
    }
    wanted = {
        f"member{at}.{name}": values.numel()
        for at, network in enumerate(networks)
        for name, values in network.state_dict().items()
        if not name.endswith("num_batches_tracked")
    }
    assert numbers == wanted


def test_several_channels_come_from_the_first_layer():
    layers = (
        nn.BatchNorm2d(3),
        nn.Conv2d(3, 2, 3),
        nn.MaxPool2d(2),
        nn.AvgPool2d(4),
        nn.Flatten(),
        nn.Linear(2 * 15 * 15, 4),
    )
    network = Network(*layers).eval()
    images = torch.rand(2, 3, 128, 128, generator=torch.Generator().manual_seed(0))
    session = onnxruntime.InferenceSession(build_graph([network]).SerializeToString())
    with torch.inference_mode():
        wanted = nn.Sequential.forward(network, images).softmax(dim=1)
    np.testing.assert_allclose(
        session.run(["probabilities"], {"images": images.numpy()})[0][0], wanted, atol=1e-5
    )


class _Twice(nn.Module):
    """x + x: a module of its own, with a forward of its own."""

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return x + x


def test_another_kind_of_layer_is_one_function_more(monkeypatch):
    network = Network(
        nn.BatchNorm2d(1),
        nn.Conv2d(1, 2, 3),
        _Twice(),
        nn.MaxPool2d(2),
        nn.AdaptiveAvgPool2d(1),
        nn.Flatten(),
    ).eval()
    pixels = np.random.default_rng(0).integers(0, 256, (2, 128, 128)).astype(np.uint8)

    def twice(drawing: GraphDrawing, _: _Twice, __: str, at: str) -> str:
        return drawing.add("Add", at, at)

    monkeypatch.setitem(DRAW_BY_LAYER_TYPE, _Twice, twice)
    session = onnxruntime.InferenceSession(build_graph([network]).SerializeToString())
    given = session.run(None, {"images": pixels[:, None].astype(np.float32) / 255})
    for mine, torchs in zip(
        given, compute_member_outputs([network], pixels, torch.device("cpu")), strict=True
    ):
        np.testing.assert_allclose(mine, torchs, atol=1e-5)


@pytest.mark.parametrize(
    "layer", [nn.Hardswish(), nn.AdaptiveAvgPool2d(2), nn.Conv2d(2, 2, 3, padding="same")]
)
def test_a_layer_that_is_not_ours_is_refused_by_its_place(layer):
    network = Network(nn.BatchNorm2d(1), nn.Conv2d(1, 2, 3), layer)
    with pytest.raises(ModelError, match=r"member0\.2: ") as refused:
        build_graph([network])
    assert refused.value.code == "graph-layer" and type(layer).__name__ in refused.value.sentence


def test_networks_that_are_shown_different_things_are_no_graph():
    with pytest.raises(ModelError, match="same number of channels"):
        build_graph(
            [Network(nn.BatchNorm2d(channels), nn.Conv2d(channels, 2, 3)) for channels in (1, 2)]
        )


def test_networks_too_large_for_the_format_are_refused_before_they_are_copied():
    # 2 GB that nobody has to have
    network = Network(nn.BatchNorm2d(1), nn.Linear(50_000, 10_000, device="meta"))
    with pytest.raises(ModelError) as refused:
        build_graph([network])
    assert refused.value.code == "graph-too-large"


LAYERED = [
    Layered((Convolution(4, 5, 2, 0, 2), Convolution(6, 3, 1, 1, 3)), (12, 9), 7, dropout=0.3),
    Layered((Convolution(4, 5, 3), Convolution(6, 4, 2)), (), 7, "sigmoid"),
    Layered((Convolution(4, 4, 2, 1, 2), Convolution(6, 3)), (8,), 7, "tanh"),
    Layered((), (5,), 7, "tanh", 0.5),
]


def with_drawn_numbers(net: Layered) -> Network:
    """Weights of the size of trained ones, for the last layer too: drawn ones guess alike."""
    network = build_layered_network(net, torch.Generator().manual_seed(0))
    generator = torch.Generator().manual_seed(1)
    with torch.no_grad():
        network.classes.weight.mul_(10)
        network.normalise.running_mean.fill_(0.3), network.normalise.weight.fill_(1.3)
        network.normalise.running_var.fill_(0.07), network.normalise.bias.fill_(-0.2)
        for layer in network.modules():
            if isinstance(layer, nn.Conv2d | nn.Linear):
                layer.bias.normal_(generator=generator).mul_(0.1)
    return network.eval()


@pytest.mark.parametrize(("net", "feature_count"), list(zip(LAYERED, (10, 6, 4, 1), strict=True)))
def test_networks_of_layers_have_graphs_too(net: Layered, feature_count: int) -> None:
    """Their features are deviations after the activation, whichever it is; with no pooling those of the last
    convolution, with none of either that of the picture."""
    network = with_drawn_numbers(net)
    pixels = np.random.default_rng(0).integers(0, 256, (3, 128, 128)).astype(np.uint8)
    wanted, deviations = compute_member_outputs([network], pixels, torch.device("cpu"))
    session = onnxruntime.InferenceSession(build_graph([network]).SerializeToString())
    given, features = session.run(None, {"images": pixels[:, None].astype(np.float32) / 255})
    assert np.ptp(wanted, axis=1).max() > 1e-4
    np.testing.assert_allclose(given, wanted, atol=1e-4)
    np.testing.assert_allclose(features, deviations, rtol=1e-3, atol=1e-5)
    assert features.shape[1] == feature_count


def test_networks_of_both_families_are_one_graph_in_the_engine(tmp_path: Path) -> None:
    """Read from the weights' own files, and what torch gives; also where no network has convolutions."""
    paper = Architecture(2, 1, 2, 3, False, 7, "gap")
    pixels = np.random.default_rng(1).integers(0, 256, (5, 128, 128)).astype(np.uint8)
    for name, nets in (("mixed", [paper, *LAYERED]), ("plain", LAYERED[-1:])):
        networks = [
            with_drawn_numbers(net) if isinstance(net, Layered) else trained(net) for net in nets
        ]
        files = [
            save_network(tmp_path / f"{name}{index}.safetensors", network, net, {})
            for index, (network, net) in enumerate(zip(networks, nets, strict=True))
        ]
        path = write_graph(tmp_path / f"{name}.onnx", networks, files)
        engine = OnnxEngine(
            path,
            [read_architecture(file, load_facts(file)) for file in files],
            [checksum(file) for file in files],
        )
        given, features = engine.compute_outputs(pixels, np.arange(5))
        wanted, deviations = compute_member_outputs(networks, pixels, torch.device("cpu"))
        np.testing.assert_allclose(given, wanted, atol=1e-4)
        np.testing.assert_allclose(features, deviations, rtol=1e-3, atol=1e-5)
