"""A network as an ONNX graph says what the network says."""

from __future__ import annotations

from itertools import product

import numpy as np
import pytest
import torch
from torch import nn

from fovnet.net.architecture import Architecture
from fovnet.net.graph import graph_of
from fovnet.net.model import Network, build

onnxruntime = pytest.importorskip("onnxruntime", reason="the extra `onnx` is not installed")


def trained(net: Architecture) -> Network:
    """A network whose normalisation and biases are not those of the first step."""
    model = build(net, torch.Generator().manual_seed(0))
    generator = torch.Generator().manual_seed(1)
    with torch.no_grad():
        for layer in model.modules():
            if isinstance(layer, nn.BatchNorm2d):
                layer.running_mean.fill_(0.3), layer.running_var.fill_(0.07), layer.weight.fill_(1.3), layer.bias.fill_(-0.2)
            if isinstance(layer, nn.Conv2d | nn.Linear):
                layer.bias.normal_(generator=generator).mul_(0.1)
    return model.eval()


@pytest.mark.parametrize(("blocks", "convolutions", "kernel", "separable", "head"), [
    *product([1, 3], [1, 2], [3], [False, True], ["gap"]), (4, 1, 5, False, "fc"), (5, 2, 3, True, "fc"),
])  # fmt: skip
def test_the_graph_answers_as_the_network_does(blocks, convolutions, kernel, separable, head):
    """Sums of floats in another order: scores of 100 differ by 1e-5, and so do probabilities."""
    network = trained(Architecture(blocks, convolutions, 2, kernel, separable, 7, head))
    slices = np.random.default_rng(0).random((3, 1, 128, 128), dtype=np.float32)
    with torch.inference_mode():
        wanted = network(torch.from_numpy(slices)).softmax(dim=1).numpy()
    session = onnxruntime.InferenceSession(graph_of(network).SerializeToString())
    given, = session.run(None, {"slices": slices})
    assert np.ptp(wanted, axis=0).max() > 1e-4                          # the slices differ, or everything would agree
    np.testing.assert_allclose(given, wanted, atol=5e-5)


def test_the_graph_is_valid_onnx_and_its_weights_are_the_networks():
    onnx = pytest.importorskip("onnx")
    network = trained(Architecture(2, 1, 2, 3, False, 7, "gap"))
    graph = graph_of(network)
    onnx.checker.check_model(graph, full_check=True)
    numbers = sum(int(np.prod(weight.dims)) for weight in graph.graph.initializer)
    assert numbers == sum(parameter.numel() for parameter in network.parameters()) + 2      # and running mean and variance


def test_a_layer_that_is_not_ours_is_refused():
    network = Network(nn.BatchNorm2d(1), nn.Conv2d(1, 2, 3), nn.Sigmoid())
    with pytest.raises(TypeError, match="Sigmoid"):
        graph_of(network)
