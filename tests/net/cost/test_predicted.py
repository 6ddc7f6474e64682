"""Costs known before training: against torch's own operation counter and the memory that autograd really
keeps."""

from __future__ import annotations

import numpy as np
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from torch.utils.flop_counter import FlopCounterMode

from fovnet.errors import SearchError
from fovnet.net.cost.columns import columns_of_configurations, columns_of_space
from fovnet.net.cost.predicted import (
    DeviceSpeed,
    Limits,
    Work,
    predict_cost,
    predict_costs,
    predict_training_bytes,
    predict_training_seconds,
    price_rows,
    priced_amounts,
)
from fovnet.net.cost.prices import Prices
from fovnet.net.family.architecture import (
    BLOCKS,
    HEADS,
    INPUTS,
    NORMS,
    Architecture,
    architecture_of_configuration,
)
from fovnet.net.family.model import build_network
from fovnet.net.training.train import draw_shuffled_batches
from fovnet.search.space import Space, paper_space

NETS = [
    Architecture(5, 1, 4, 3, False, classes=7),
    Architecture(3, 2, 3, 5, True, classes=7),
    Architecture(4, 3, 4, 3, True, classes=7, head="gap"),
    Architecture(2, 2, 2, 5, False, classes=7, head="gap", side=64),
    Architecture(
        4, 1, 3, 3, False, classes=7, head="small", widen=2, inputs=("slice", "millimetres")
    ),
    Architecture(
        5, 2, 3, 3, False, classes=7, head="gap", block="residual", widen=2, inputs=tuple(INPUTS)
    ),
    Architecture(
        4,
        2,
        4,
        3,
        False,
        classes=7,
        head="small",
        widen=2,
        inputs=("slice", "millimetres"),
        stride=2,
    ),
    Architecture(4, 1, 4, 3, False, classes=7, head="small", norm="pooled"),
]


@pytest.mark.parametrize("net", NETS)
def test_operations_are_those_torch_counts(net: Architecture) -> None:
    model, counter = build_network(net), FlopCounterMode(display=False)
    with counter, torch.no_grad():
        model(torch.zeros(2, net.channel_count, net.side, net.side))
    assert predict_cost(net).forward_flop * 2 == pytest.approx(counter.get_total_flops())


@pytest.mark.parametrize("net", NETS)
def test_activations_are_those_autograd_keeps(net: Architecture) -> None:
    """Every tensor saved for the backward pass, weights apart, each storage once: within a quarter of the
    prediction."""
    model, batch, kept = build_network(net), 4, {}
    weights = {parameter.untyped_storage().data_ptr() for parameter in model.parameters()}

    def keep(tensor: torch.Tensor) -> torch.Tensor:
        storage = tensor.untyped_storage()
        if storage.data_ptr() not in weights:
            kept[storage.data_ptr()] = storage.nbytes()
        return tensor

    with torch.autograd.graph.saved_tensors_hooks(keep, lambda tensor: tensor):
        scores = model(torch.rand(batch, net.channel_count, net.side, net.side))
    assert scores.requires_grad
    assert predict_cost(net).activation_bytes * batch == pytest.approx(sum(kept.values()), rel=0.25)


def test_all_rows_of_the_space_are_priced_and_the_largest_cannot_fit() -> None:
    """b 1, r 8 flattens 64 x 64 x 256 numbers into 4,096: 4.3 billion weights, 52 GB with gradients and
    momentum."""
    space = paper_space()
    device = DeviceSpeed(gflop_per_second=1e4, gigabyte_per_second=1e3, microseconds_per_layer=20)
    rows = columns_of_configurations(
        [space.configuration(row) for row in range(len(space))], classes=7, head="fc"
    )
    _, memory, seconds = price_rows(rows, Work(80_000, 20_000, 30), device)
    assert len(memory) == len(seconds) == 34_300
    assert (memory > 50e9).any()
    assert (seconds > 0).all()
    assert seconds.max() / seconds.min() > 100


def test_weights_gradients_and_momentum_are_the_least_a_training_needs() -> None:
    cost = predict_cost(NETS[0])
    assert predict_training_bytes(cost, 1) > 3 * 4 * cost.weight_count
    assert predict_training_bytes(cost, 64) > predict_training_bytes(cost, 8)
    assert (
        predict_training_bytes(cost, 8, keeps_average=True) - predict_training_bytes(cost, 8)
        == 4 * cost.weight_count
    )


def test_seconds_grow_with_the_work_and_shrink_with_the_device() -> None:
    cost, fast, slow = predict_cost(NETS[0]), DeviceSpeed(1e4, 1e3, 20), DeviceSpeed(10, 10, 20)
    work = Work(1000, 100, 2)
    assert predict_training_seconds(cost, 16, work, slow) > predict_training_seconds(
        cost, 16, work, fast
    )
    assert predict_training_seconds(cost, 2, work, fast) > predict_training_seconds(
        cost, 64, work, fast
    )


architectures = st.builds(
    Architecture,
    st.integers(1, 5),
    st.integers(1, 3),
    st.integers(0, 4),
    st.sampled_from([3, 5]),
    st.booleans(),
    classes=st.integers(2, 8),
    head=st.sampled_from(HEADS),
    side=st.just(64),
    block=st.sampled_from(BLOCKS),
    widen=st.integers(1, 2),
    stride=st.integers(1, 2),
    norm=st.sampled_from(NORMS),
    inputs=st.sampled_from([("slice",), ("slice", "millimetres"), tuple(INPUTS)]),
)


@settings(max_examples=40)
@given(architectures)
def test_weights_and_operations_of_any_member_are_those_of_the_built_network(
    net: Architecture,
) -> None:
    """As it answers: in training one pixel of one slice has no deviation that its pooling could be normalised
    by."""
    model, counter = build_network(net).eval(), FlopCounterMode(display=False)
    with counter, torch.no_grad():
        model(torch.zeros(1, net.channel_count, net.side, net.side))
    cost, counted = predict_cost(net), counter.get_flop_counts()["Global"]
    dense = sum(count for kind, count in counted.items() if "mm" in str(kind))
    assert cost.weight_count == net.weight_count
    assert (cost.convolution_flop, cost.dense_flop) == (sum(counted.values()) - dense, dense)
    assert cost.weight_count == sum(
        tensor.numel() for name, tensor in model.state_dict().items() if "num_batches" not in name
    )


def test_a_batch_that_is_not_full_is_a_step_like_any_other() -> None:
    """20 slices in batches of 8 are three steps of training, each with its launches and its way through the
    weights."""
    device, work = DeviceSpeed(65.0, 34.0, 350.0), Work(20, 6, 2)
    found = priced_amounts(predict_cost(NETS[0]), 8, work, device)
    each = priced_amounts(predict_cost(NETS[0]), 20, work, device)
    assert [float(a / b) for a, b in zip(found, each, strict=True)] == [1, 1, 3, 3, 1]
    assert len(list(draw_shuffled_batches(torch.arange(50), 20, 8, torch.Generator()))) == 3


def test_a_column_is_priced_as_each_of_its_rows_alone() -> None:
    space = paper_space()
    rows, work = columns_of_space(space, classes=7, head="fc"), Work(80_000, 20_001, 30)
    device = DeviceSpeed(65.0, 34.0, 350.0, 9.0, 500.0, 16, 0.3)
    _, memory, seconds = price_rows(rows, work, device)
    for row in np.random.default_rng(0).integers(0, len(space), 20):
        cost, batch = predict_cost(rows.architecture(row)), int(rows.batch[row])
        assert memory[row] == predict_training_bytes(cost, batch)
        assert seconds[row] == predict_training_seconds(cost, batch, work, device)
    listed = columns_of_configurations(
        [space.configuration(row) for row in range(0, len(space), 7)], classes=7, head="fc"
    )
    np.testing.assert_array_equal(price_rows(listed, work, device)[2], seconds[::7])


def test_rows_of_small_slices_are_priced_as_networks_of_that_side() -> None:
    space = paper_space()
    rows = columns_of_space(space, classes=7, head="small", side=32)
    for row in np.random.default_rng(1).integers(0, len(space), 5):
        net = architecture_of_configuration(
            space.configuration(row), classes=7, head="small", side=32
        )
        assert (
            rows.architecture(row) == net
            and predict_costs(rows).weight_count[row] == predict_cost(net).weight_count
        )


def test_every_row_of_a_space_of_all_axes_is_priced_as_it_would_be_built() -> None:
    """Rows as columns and rows as configurations agree, and each is the network that its configuration
    means."""
    levels = {
        "blocks": [4, 5],
        "convolutions": [1, 2],
        "log2_filters": [3, 6],
        "kernel": [3],
        "separable": [False, True],
        "learning_rate": [0.01],
        "batch": [16],
        "head": ["fc", "gap", "small"],
        "block": ["plain", "residual"],
        "widen": [1, 2],
        "stride": [1, 2],
        "norm": ["none", "pooled"],
    }
    space, shared = (
        Space.of(levels),
        {"classes": 7, "head": "fc", "inputs": ("slice", "millimetres")},
    )
    rows = columns_of_space(space, **shared)
    configurations = [space.configuration(row) for row in range(len(space))]
    listed, cost = columns_of_configurations(configurations, **shared), predict_costs(rows)
    for name, column in rows.column_by_name.items():
        np.testing.assert_array_equal(column, listed.column_by_name[name])
    for row, configuration in enumerate(configurations):
        net = architecture_of_configuration(configuration, **shared)
        assert rows.architecture(row) == net
        assert (cost.weight_count[row], cost.forward_flop[row]) == (
            net.weight_count,
            predict_cost(net).forward_flop,
        )


def test_filters_that_a_device_has_no_use_for_are_counted_block_by_block() -> None:
    """8, 16, 32, 64 filters on a device of 32 at once: the first two blocks take as long as with 32, the
    others what they take."""
    cost = predict_cost(Architecture(4, 1, 3, 3, False, classes=7, widen=2))
    assert cost.block_filters.tolist() == [8, 16, 32, 64]
    assert cost.effective_flop(32) - cost.dense_flop == pytest.approx(
        np.dot(cost.block_flop, [4, 2, 1, 1])
    )
    assert cost.effective_flop(1) == cost.forward_flop


@pytest.mark.parametrize("name", ["log2_filters", "blocks", "convolutions", "log2_batch", "kernel"])
def test_more_of_anything_takes_more_operations_and_a_larger_batch_more_memory_and_no_more_seconds(
    name: str,
) -> None:
    """Neighbours along one axis of the space; a block more halves the side, so that the fully-connected
    layers shrink: head "gap"."""
    space = paper_space()
    at = [axis.name for axis in space.axes].index(name)
    low = np.flatnonzero(space.rows[:, at] < len(space.axes[at].levels) - 1)
    stride = int(np.prod([len(axis.levels) for axis in space.axes[at + 1 :]]))
    rows = columns_of_space(space, classes=7, head="gap")
    cost = predict_costs(rows)
    _, memory, seconds = price_rows(rows, Work(8000, 500, 3), DeviceSpeed(65.0, 34.0, 350.0))
    if name == "log2_batch":
        assert (memory[low + stride] > memory[low]).all() and (
            seconds[low + stride] <= seconds[low]
        ).all()
        return
    assert (cost.forward_flop[low + stride] > cost.forward_flop[low]).all()
    assert (cost.weight_count[low + stride] > cost.weight_count[low]).all() or name in (
        "blocks",
        "convolutions",
    )
    assert (seconds[low + stride] > seconds[low]).all()


def test_where_nothing_fits_the_limits_and_the_smallest_need_are_reported() -> None:
    memory, seconds = np.array([1e9, 2e9, 4e9]), np.array([90.0, 40.0, 10.0])
    with pytest.raises(
        SearchError,
        match=r"memory_limit_gb is 0\.5, the smallest needs 1; search.seconds_limit is 5, .* 10\.",
    ):
        Prices(None, None, memory, seconds, Limits(0.5e9, 5.0)).refuse_where_nothing_fits()
    with pytest.raises(
        SearchError,
        match=r"1 need no more .* 1 take no longer .* none does both; .* the fastest takes 90 s",
    ):
        Prices(None, None, memory, seconds, Limits(1e9, 10.0)).refuse_where_nothing_fits()
    known = Prices(None, None, memory, seconds, Limits(2e9, None))
    known.refuse_where_nothing_fits()
    assert known.fits_limits.tolist() == [True, True, False]
