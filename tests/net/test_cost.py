"""Costs known before training: against torch's own operation counter and the memory that autograd really keeps."""

from __future__ import annotations

import pytest
import torch
from torch.utils.flop_counter import FlopCounterMode

from fovnet.net.architecture import Architecture
from fovnet.net.cost import Device, cost_of, price_rows, training_bytes, training_seconds
from fovnet.net.model import build
from fovnet.search.space import paper_space

NETS = [
    Architecture(5, 1, 4, 3, False, classes=7),
    Architecture(3, 2, 3, 5, True, classes=7),
    Architecture(4, 3, 4, 3, True, classes=7, head="gap"),
    Architecture(2, 2, 2, 5, False, classes=7, head="gap", side=64),
]


@pytest.mark.parametrize("net", NETS)
def test_operations_are_those_torch_counts(net: Architecture) -> None:
    model, counter = build(net), FlopCounterMode(display=False)
    with counter, torch.no_grad():
        model(torch.zeros(2, 1, net.side, net.side))
    assert cost_of(net).forward_flop * 2 == pytest.approx(counter.get_total_flops())


@pytest.mark.parametrize("net", NETS)
def test_activations_are_those_autograd_keeps(net: Architecture) -> None:
    """Every tensor saved for the backward pass, weights apart, each storage once: within a quarter of the prediction."""
    model, batch, kept = build(net), 4, {}
    weights = {parameter.untyped_storage().data_ptr() for parameter in model.parameters()}

    def keep(tensor: torch.Tensor) -> torch.Tensor:
        storage = tensor.untyped_storage()
        if storage.data_ptr() not in weights:
            kept[storage.data_ptr()] = storage.nbytes()
        return tensor

    with torch.autograd.graph.saved_tensors_hooks(keep, lambda tensor: tensor):
        scores = model(torch.rand(batch, 1, net.side, net.side))
    assert scores.requires_grad
    assert cost_of(net).activation_bytes * batch == pytest.approx(sum(kept.values()), rel=0.25)


def test_all_rows_of_the_space_are_priced_and_the_largest_cannot_fit() -> None:
    """b 1, r 8 flattens 64 x 64 x 256 numbers into 4,096: 4.3 billion weights, 52 GB with gradients and momentum."""
    space = paper_space()
    device = Device(gflop_per_second=1e4, gigabyte_per_second=1e3, microseconds_per_layer=20)
    rows = [space.configuration(row) for row in range(len(space))]
    memory, seconds = price_rows(rows, classes=7, head="fc", slices=80_000, validation_slices=20_000, epochs=30, device=device)
    assert len(memory) == len(seconds) == 34_300
    assert (memory > 50e9).any()
    assert (seconds > 0).all()
    assert seconds.max() / seconds.min() > 100


def test_weights_gradients_and_momentum_are_the_least_a_training_needs() -> None:
    cost = cost_of(NETS[0])
    assert training_bytes(cost, 1) > 3 * 4 * cost.weights
    assert training_bytes(cost, 64) > training_bytes(cost, 8)


def test_seconds_grow_with_the_work_and_shrink_with_the_device() -> None:
    cost, fast, slow = cost_of(NETS[0]), Device(1e4, 1e3, 20), Device(10, 10, 20)
    work = {"slices": 1000, "validation_slices": 100, "epochs": 2}
    assert training_seconds(cost, 16, device=slow, **work) > training_seconds(cost, 16, device=fast, **work)
    assert training_seconds(cost, 2, device=fast, **work) > training_seconds(cost, 64, device=fast, **work)
