"""Weight counts: the published ones, and those of the networks really built."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest
import torch
from hypothesis import given, settings
from hypothesis.strategies import booleans, integers, sampled_from
from torch import nn

from fovnet.net.family.architecture import (
    BLOCKS,
    HEADS,
    INPUTS,
    MOST_WIDENED_FILTERS,
    NORMS,
    Architecture,
)
from fovnet.net.family.model import Residual, build_network

PUBLISHED = [
    (Architecture(5, 1, 6, 3, False, classes=6, side=96), 6_713_226),
    (Architecture(5, 2, 5, 3, False, classes=6, side=96), 5_468_778),
    (Architecture(4, 3, 6, 3, True, classes=6, side=96), 13_927_114),
    (Architecture(5, 1, 6, 3, False, classes=6, side=128), 8_548_230 + 4),
]


@pytest.mark.parametrize(("net", "weights"), PUBLISHED)
def test_the_papers_networks_have_the_papers_weights(net: Architecture, weights: int) -> None:
    assert net.weight_count == weights


@settings(max_examples=40)
@given(
    blocks=integers(1, 5),
    convolutions=integers(1, 5),
    log2_filters=integers(2, 5),
    kernel=sampled_from([3, 5]),
    separable=booleans(),
    head=sampled_from(HEADS),
    side=sampled_from([64, 80]),
    block=sampled_from(BLOCKS),
    widen=integers(1, 2),
    stride=integers(1, 2),
    norm=sampled_from(NORMS),
    inputs=sampled_from([("slice",), ("slice", "neighbours"), tuple(INPUTS)]),
)
def test_the_count_is_that_of_the_network_really_built(side: int, **shape: Any) -> None:
    net = Architecture(classes=7, side=side, **shape)
    model = build_network(net)
    running = [layer for layer in model.modules() if isinstance(layer, nn.BatchNorm2d)]
    assert len(running) == (1 + net.blocks if net.norm == "pooled" else 1)
    numbers = sum(p.numel() for p in model.parameters()) + sum(
        2 * layer.num_features for layer in running
    )
    assert net.weight_count == numbers
    scores = model(torch.rand(2, net.channel_count, side, side))
    assert scores.shape == (2, 7) and bool(torch.isfinite(scores).all())


@pytest.mark.parametrize("inputs", [("slice",), ("slice", "neighbours", "millimetres")])
@pytest.mark.parametrize("training", [True, False])
@pytest.mark.parametrize("separable", [True, False])
def test_the_input_normalisation_within_the_first_convolution_is_the_one_before_it(
    separable: bool, training: bool, inputs: tuple[str, ...]
) -> None:
    """Scores, gradients and running statistics are those of the layers called one after another, as torch's
    own Sequential does."""
    net = Architecture(3, 2, 3, 5, separable, classes=7, side=32, inputs=inputs)
    model = build_network(net, torch.Generator().manual_seed(1)).double()
    with torch.no_grad():
        model.normalise.weight.copy_(1.7 + torch.arange(net.channel_count))
        model.normalise.bias.copy_(0.3 - torch.arange(net.channel_count))
    slices = torch.rand(6, net.channel_count, 32, 32, dtype=torch.double)
    seen = []
    for forward in (model.forward, lambda x: nn.Sequential.forward(model, x)):
        model.train(training).zero_grad()
        model.normalise.reset_running_stats()
        scores = forward(slices)
        scores.square().sum().backward()
        statistics = [model.normalise.running_mean.clone(), model.normalise.running_var.clone()]
        seen.append(
            [
                scores.detach(),
                *statistics,
                *(parameter.grad.clone() for parameter in model.parameters()),
            ]
        )
    for ours, theirs in zip(*seen, strict=True):
        torch.testing.assert_close(ours, theirs)


@pytest.mark.parametrize("widen", [1, 2])
def test_a_residual_block_begins_as_its_shortcut_and_its_branch_then_learns(widen: int) -> None:
    """He et al. (2016): what enters is carried around.  The branch is nothing at first (Fixup), and the first
    step moves it."""
    model = build_network(
        Architecture(3, 2, 2, 3, False, 7, "gap", side=32, block="residual", widen=widen),
        torch.Generator().manual_seed(0),
    )
    blocks = [layer for layer in model.children() if isinstance(layer, Residual)]
    # the first block sees the picture, and is plain
    assert len(blocks) == 2
    x = torch.rand(2, 4, 16, 16)
    torch.testing.assert_close(blocks[0](x), x if widen == 1 else blocks[0].shortcut(x))
    model(torch.rand(2, 1, 32, 32)).square().sum().backward()
    for block in blocks:
        assert float(block.branch.conv1.weight.grad.abs().max()) > 0


@pytest.mark.parametrize("convolutions", [1, 3, 5])
def test_signals_keep_their_size_in_a_network_that_is_not_trained(convolutions: int) -> None:
    """He et al. (2015): the mean square of what enters the head is about the same with pairs of convolutions
    as with single ones; with a variance of 2 / inputs in both of a pair, it doubled with each, 1,000 times in
    ten."""
    pictures, strength = torch.rand(8, 1, 32, 32, generator=torch.Generator().manual_seed(0)), {}
    for separable in (False, True):
        squares = []
        for seed in range(5):
            net = Architecture(2, convolutions, 5, 3, separable, classes=7, side=32, head="small")
            model, entering = (
                build_network(net, torch.Generator().manual_seed(seed)).train(),
                list[torch.Tensor](),
            )
            model.get_submodule("flatten").register_forward_hook(
                lambda *given, kept=entering: kept.append(given[2])
            )
            with torch.no_grad():
                model(pictures)
            squares.append(float(entering[0].square().mean()))
        strength[separable] = float(torch.tensor(squares).median())
    assert 1 / 4 < strength[True] / strength[False] < 4


def test_filters_double_from_block_to_block_up_to_128_and_wider_networks_keep_theirs() -> None:
    widths = [
        Architecture(5, 1, log2, 3, False, 7, widen=2).filters_of_blocks for log2 in (2, 4, 8)
    ]
    assert widths == [(4, 8, 16, 32, 64), (16, 32, 64, 128, MOST_WIDENED_FILTERS), (256,) * 5]


@pytest.mark.parametrize(("blocks", "looked_at"), [(1, 4), (3, 4), (5, 4), (6, 2), (7, 1)])
def test_the_small_head_looks_at_four_by_four_at_most(blocks: int, looked_at: int) -> None:
    net = Architecture(blocks, 1, 3, 3, False, classes=7, head="small")
    assert net.head_widths == (looked_at**2 * 8, 256, 7)


def test_heads_and_blocks_that_nobody_knows_are_refused_by_name() -> None:
    with pytest.raises(ValueError, match="head 'mlp'; known are fc, gap, small"):
        Architecture(5, 1, 3, 3, False, 7, "mlp")
    with pytest.raises(ValueError, match="block 'dense'"):
        Architecture(5, 1, 3, 3, False, 7, block="dense")


@pytest.mark.parametrize(
    ("name", "level"),
    [
        ("blocks", 0),
        ("blocks", 101),
        ("convolutions", 0),
        ("log2_filters", 13),
        ("kernel", 0),
        ("classes", 0),
        ("stride", 0),
        ("widen", 3),
        ("blocks", 2.0),
        ("blocks", True),
    ],
)
def test_numbers_that_no_network_has_are_refused_by_name(name: str, level: object) -> None:
    with pytest.raises(ValueError, match=f"{name} {level!r}; must be a whole number from"):
        replace(Architecture(5, 1, 3, 3, False, 7), **{name: level})
