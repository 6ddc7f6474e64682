"""How many slices are answered together, against what the networks' layers really answer."""

from __future__ import annotations

import pytest
import torch
from torch import nn

from fovnet.net.family.architecture import Architecture
from fovnet.net.family.model import build_network
from fovnet.net.inference_batch import (
    FEWEST_SLICES,
    LARGEST_ACTIVATION_BYTES,
    MOST_SLICES_BY_DEVICE,
    inference_batch_size,
)

CPU, SIDE = torch.device("cpu"), 32


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
    together = inference_batch_size([net], SIDE**2, CPU)
    assert FEWEST_SLICES <= together <= MOST_SLICES_BY_DEVICE["cpu"]
    assert together * max(answers) <= least or together == FEWEST_SLICES
    assert (together + 1) * max(answers) > least or together == MOST_SLICES_BY_DEVICE["cpu"]


def test_the_widest_network_decides() -> None:
    nets = [
        build_network(Architecture(1, 1, log2_filters, 3, False, classes=2, head="gap"))
        for log2_filters in (4, 7, 5)
    ]
    assert [inference_batch_size([net], 128**2, CPU) for net in nets] == [128, 32, 128]
    assert inference_batch_size(nets, 128**2, CPU) == 32
