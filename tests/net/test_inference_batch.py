"""How many slices are answered together, against what the networks' layers really answer."""

from __future__ import annotations

import pytest
import torch
from torch import nn

from fovnet.net.family.architecture import Architecture
from fovnet.net.family.model import build_network, count_first_layer_numbers
from fovnet.net.inference_batch import (
    FEWEST_SLICES,
    LARGEST_ACTIVATION_BYTES,
    MOST_SLICES_BY_DEVICE,
    inference_batch_size,
)

SIDE = 32


@pytest.mark.parametrize("stride", [1, 2])
@pytest.mark.parametrize("log2_filters", range(9))
def test_no_layer_answers_more_than_the_memory_meant_for_it(
    log2_filters: int, stride: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    """And one slice more would, where neither the least nor the most decides.  Small slices, and as much less
    memory: the largest answer of one is measured."""
    net = build_network(
        Architecture(2, 2, log2_filters, 3, False, classes=7, head="gap", side=SIDE, stride=stride)
    ).eval()
    answers: list[int] = []
    for layer in net.modules():
        if not list(layer.children()) and not isinstance(layer, nn.Flatten):
            layer.register_forward_hook(lambda _, __, answer: answers.append(answer.nbytes))
    with torch.inference_mode():
        net(torch.zeros(1, 1, SIDE, SIDE))
    monkeypatch.setattr(
        "fovnet.net.inference_batch.LARGEST_ACTIVATION_BYTES",
        least := LARGEST_ACTIVATION_BYTES // 16,
    )
    together = inference_batch_size(count_first_layer_numbers([net], SIDE**2))
    assert FEWEST_SLICES <= together <= MOST_SLICES_BY_DEVICE["cpu"]
    assert together * max(answers) <= least or together == FEWEST_SLICES
    assert (together + 1) * max(answers) > least or together == MOST_SLICES_BY_DEVICE["cpu"]


def test_the_widest_network_decides() -> None:
    nets = [
        build_network(Architecture(1, 1, log2_filters, 3, False, classes=2, head="gap"))
        for log2_filters in (4, 7, 5)
    ]
    numbers = [count_first_layer_numbers([net], 128**2) for net in nets]
    assert [inference_batch_size(count) for count in numbers] == [128, 32, 128]
    assert inference_batch_size(count_first_layer_numbers(nets, 128**2)) == 32


@pytest.mark.parametrize("stride", [1, 2])
@pytest.mark.parametrize("separable", [False, True])
def test_an_architecture_knows_the_numbers_of_its_networks_first_layer(
    stride: int, separable: bool
) -> None:
    net = Architecture(2, 1, 3, 3, separable, classes=7, head="gap", stride=stride)
    assert net.first_layer_numbers == count_first_layer_numbers([build_network(net)], net.side**2)
