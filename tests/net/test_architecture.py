"""Weight counts: the published ones, and those of the networks really built."""

from __future__ import annotations

import pytest
import torch
from hypothesis import given, settings
from hypothesis.strategies import booleans, integers, sampled_from
from torch import nn

from fovnet.net.architecture import Architecture
from fovnet.net.model import build

PUBLISHED = [
    (Architecture(5, 1, 6, 3, False, classes=6, side=96), 6_713_226),
    (Architecture(5, 2, 5, 3, False, classes=6, side=96), 5_468_778),
    (Architecture(4, 3, 6, 3, True, classes=6, side=96), 13_927_114),
    (Architecture(5, 1, 6, 3, False, classes=6, side=128), 8_548_230 + 4),
]


@pytest.mark.parametrize(("net", "weights"), PUBLISHED)
def test_the_papers_networks_have_the_papers_weights(net: Architecture, weights: int) -> None:
    assert net.weights == weights


@settings(max_examples=40, deadline=None)
@given(
    blocks=integers(1, 5), convolutions=integers(1, 5), log2_filters=integers(2, 5), kernel=sampled_from([3, 5]),
    separable=booleans(), head=sampled_from(["fc", "gap"]), side=sampled_from([32, 48]),
)  # fmt: skip
def test_the_count_is_that_of_the_network_really_built(
    blocks: int, convolutions: int, log2_filters: int, kernel: int, separable: bool, head: str, side: int
) -> None:
    net = Architecture(blocks, convolutions, log2_filters, kernel, separable, classes=7, head=head, side=side)
    model = build(net)
    numbers = sum(p.numel() for p in model.parameters()) + model.normalise.running_mean.numel() + model.normalise.running_var.numel()
    assert net.weights == numbers


@pytest.mark.parametrize("training", [True, False])
@pytest.mark.parametrize("separable", [True, False])
def test_the_input_normalisation_within_the_first_convolution_is_the_one_before_it(separable: bool, training: bool) -> None:
    """Scores, gradients and running statistics are those of the layers called one after another, as torch's own Sequential does."""
    model = build(Architecture(3, 2, 3, 5, separable, classes=7, side=32), torch.Generator().manual_seed(1)).double()
    with torch.no_grad():
        model.normalise.weight.fill_(1.7)
        model.normalise.bias.fill_(0.3)
    slices = torch.rand(6, 1, 32, 32, dtype=torch.double)
    seen = []
    for forward in (model.forward, lambda x: nn.Sequential.forward(model, x)):
        model.train(training).zero_grad()
        model.normalise.reset_running_stats()
        scores = forward(slices)
        scores.square().sum().backward()
        statistics = [model.normalise.running_mean.clone(), model.normalise.running_var.clone()]
        seen.append([scores.detach(), *statistics, *(parameter.grad.clone() for parameter in model.parameters())])
    for ours, theirs in zip(*seen, strict=True):
        torch.testing.assert_close(ours, theirs)
