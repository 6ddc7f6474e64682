"""Weight counts: the published ones, and those of the networks really built."""

from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis.strategies import booleans, integers, sampled_from

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
