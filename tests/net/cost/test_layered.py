"""What networks of layers cost is known before they are built: torch counts the same."""

from __future__ import annotations

import json
from typing import Any

import numpy as np
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from torch.utils.flop_counter import FlopCounterMode

from fovnet.errors import SearchError
from fovnet.net.cost.layered import (
    LayeredColumns,
    LayeredCosts,
    layered_costs_of,
    measure_map_sides,
    predict_layered_costs,
)
from fovnet.net.cost.predicted import DeviceSpeed, Limits, Work, first_cost, predict_training_bytes
from fovnet.net.cost.probes import measure_process_growth
from fovnet.net.family.layered import ACTIVATIONS, describe_shape_fault
from fovnet.net.family.layered_configuration import (
    convolutions_of_configuration,
    layered_of_configuration,
    optimiser_of_configuration,
)
from fovnet.net.family.layered_model import build_layered_network
from fovnet.net.recipe import Ranges
from fovnet.search.tree.costs import columns_of

LENET = {
    "conv": 2,
    "conv.1.channels": 6,
    "conv.1.kernel": 5,
    "conv.1.stride": 2,
    "conv.1.pooling": 2,
    "conv.2.channels": 16,
    "conv.2.kernel": 5,
    "conv.2.pooling": 2,
    "dense": 2,
    "dense.2.size": 120,
    "dense.1.size": 84,
    "rate": 0.01,
    "batch": 32,
    "dropout": 0.2,
}
COSTS = LayeredCosts(
    classes=7,
    side=128,
    inputs=("slice",),
    work=Work(1000, 200, 2),
    speed=DeviceSpeed(50.0, 10.0, 20.0),
    limits=Limits(memory_bytes=2e9, trial_seconds=None),
)


@st.composite
def points(draw: st.DrawFn) -> dict[str, Any]:
    """Points whose layers mostly fit pictures of 40 x 40 pixels."""
    point: dict[str, Any] = {"conv": draw(st.integers(0, 3)), "dense": draw(st.integers(0, 2))}
    for number in range(1, point["conv"] + 1):
        for name, least, most in (
            ("channels", 1, 9),
            ("kernel", 1, 7),
            ("stride", 1, 2),
            ("padding", 0, 2),
            ("pooling", 1, 4),
        ):
            point[f"conv.{number}.{name}"] = draw(st.integers(least, most))
    for number in range(1, point["dense"] + 1):
        point[f"dense.{number}.size"] = draw(st.integers(1, 30))
    point |= {"rate": 0.01, "batch": draw(st.integers(1, 9))}
    point["dropout"] = draw(st.sampled_from([0.0, 0.5]))
    point["activation"] = draw(st.sampled_from(ACTIVATIONS))
    return point


@settings(max_examples=20, deadline=None)
@given(
    st.lists(points(), min_size=1, max_size=6),
    st.sampled_from([("slice",), ("slice", "neighbours")]),
)
def test_many_points_at_once_cost_what_torch_counts_for_each(
    configurations: list[dict[str, Any]], inputs: tuple[str, ...]
) -> None:
    """Weights by numel, operations by torch's counter; and what does not fit is what the shapes of a single
    network say."""
    columns = LayeredColumns.of(columns_of(configurations), 5, 40, inputs)
    sides = measure_map_sides(columns)
    costs = predict_layered_costs(columns, sides)
    fits = sides.fits
    for index, configuration in enumerate(configurations):
        fault = describe_shape_fault(convolutions_of_configuration(configuration), 40)
        assert fits[index] == (not fault)
        if fault:
            continue
        net = layered_of_configuration(configuration, classes=5, side=40, inputs=inputs)
        model = build_layered_network(net).eval()
        counter = FlopCounterMode(display=False)
        with counter, torch.no_grad():
            model(torch.zeros(2, net.channel_count, 40, 40))
        assert costs.weight_count[index] == net.weight_count
        assert costs.forward_flop[index] * 2 == counter.get_total_flops()


@pytest.mark.parametrize("activation", ACTIVATIONS)
@pytest.mark.parametrize("change", [{}, {"dropout": 0.0}, {"conv.2.pooling": 1}, {"dense": 0}])
def test_activations_are_those_autograd_keeps(change: dict[str, Any], activation: str) -> None:
    """Every tensor saved for the backward pass, weights apart, each storage once.  The prediction counts the
    picture once more, as it lies there before its channel of ones is added."""
    configuration = {**LENET, "activation": activation, **change}
    net = layered_of_configuration(configuration, classes=7, inputs=("slice",))
    model = build_layered_network(net)
    weights = {parameter.untyped_storage().data_ptr() for parameter in model.parameters()}
    kept: dict[int, int] = {}

    def keep(tensor: torch.Tensor) -> torch.Tensor:
        storage = tensor.untyped_storage()
        if storage.data_ptr() not in weights:
            kept[storage.data_ptr()] = storage.nbytes()
        return tensor

    with torch.autograd.graph.saved_tensors_hooks(keep, lambda tensor: tensor):
        model(torch.rand(8, 1, 128, 128), slice_draws=torch.rand(8))
    cost = COSTS.predict(columns_of([configuration]))
    picture_bytes = 4 * 128**2
    predicted = (cost.activation_bytes[0] - picture_bytes) * 8
    assert predicted == pytest.approx(sum(kept.values()), rel=0.02)


def test_the_start_of_the_space_costs_what_a_calculation_by_hand_gives() -> None:
    """LeNet's layers at 128 x 128: 337,931 weights and the normalisation's 4; 2.66 million multiply-adds and
    those of the channel of ones, 62² · 25 · 6; 452,544 bytes a slice."""
    cost = first_cost(COSTS.predict(columns_of([LENET])))
    assert cost.weight_count == 337_935
    assert cost.forward_flop / 2 == 3_237_948
    assert cost.activation_bytes == 452_544
    assert cost.largest_activation_bytes == 4 * 6 * 62**2


def test_an_optimiser_costs_the_numbers_it_keeps() -> None:
    """Itself, the gradient, and one of momentum, of squares; two of Adam, and of RMSProp with momentum."""
    branches = {
        "sgd": ({"optimiser.momentum": 0.9}, 3),
        "adam": ({}, 4),
        "adagrad": ({}, 3),
        "rmsprop": ({"optimiser.momentum": 0.0}, 3),
    }
    configurations = [
        {**LENET, "optimiser": name, "optimiser.rate": 0.1, **numbers}
        for name, (numbers, _) in branches.items()
    ]
    configurations.append({**configurations[-1], "optimiser.momentum": 0.5})
    cost = COSTS.predict(columns_of(configurations))
    kept = predict_training_bytes(cost, np.zeros(5)) / (4 * cost.weight_count)
    assert kept.tolist() == [*(numbers for _, numbers in branches.values()), 4]


def test_what_is_beyond_a_limit_or_does_not_fit_says_so_and_takes_no_finite_time() -> None:
    costs = LayeredCosts(**{**vars(COSTS), "most_weights": 2e5, "most_multiply_adds": 5e7})
    small = {**LENET, "dense": 0}
    large_kernel = {**LENET, "conv.2.kernel": 40}
    busy = {**small, "conv.1.channels": 500}
    priced = costs(columns_of([small, LENET, large_kernel, busy]))
    sentences = [fault and (fault.sentence, fault.reason, fault.copy) for fault in priced.faults]
    assert sentences == [
        None,
        ("weights 337,935, at most 200,000", "weights", ""),
        (
            "conv.2.kernel 40 is larger than the picture there, 31 + 2 × 0 pixels",
            "their shape",
            "conv.2",
        ),
        ("weights 231,955, at most 200,000", "weights", ""),
    ]
    assert np.isfinite(priced.seconds).tolist() == [True, True, False, True]
    only_operations = LayeredCosts(**{**vars(COSTS), "most_multiply_adds": 5e7})
    fault = only_operations(columns_of([busy])).faults[0]
    assert fault is not None
    assert fault.sentence == "multiply-adds of a slice 241,918,928, at most 50,000,000"


def test_a_point_costs_the_same_alone_and_among_others() -> None:
    deep = {**LENET, "conv": 3, "conv.3.channels": 8, "conv.3.kernel": 3}
    alone = COSTS(columns_of([LENET]))
    among = COSTS(columns_of([deep, LENET, {**LENET, "conv": 0, "dense": 0}]))
    assert (alone.seconds[0], alone.memory_bytes[0]) == (among.seconds[1], among.memory_bytes[1])


@pytest.mark.slow
def test_the_bytes_of_a_training_are_within_a_tenth_of_what_a_process_grows_by() -> None:
    configuration = {
        **LENET,
        "conv.1.channels": 24,
        "dense.2.size": 3000,
        "batch": 32,
        "optimiser": "adam",
        "optimiser.rate": 1e-6,
    }
    net = layered_of_configuration(configuration, classes=7, inputs=("slice",))
    ranges = Ranges(10, 0.05, 0.05, 0.1, 0.02)
    choice = optimiser_of_configuration(configuration)
    grown = measure_process_growth(net, 32, ranges, optimiser=choice)
    assert COSTS(columns_of([configuration])).memory_bytes[0] == pytest.approx(grown, rel=0.1)


def test_costs_are_the_same_from_their_facts_and_those_of_other_formulas_are_refused() -> None:
    """Through JSON, as a journal has them."""
    facts = json.loads(json.dumps(COSTS.facts))
    assert layered_costs_of(facts) == COSTS
    for change in ({"version": 2}, {"family": "any"}):
        with pytest.raises(SearchError) as refused:
            layered_costs_of({**facts, **change})
        assert refused.value.code == "journal-costs"
