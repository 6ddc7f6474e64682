"""A tree is a space of networks of layers, or says what it lacks; HyperNOMAD's starts are points of one."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from fovnet.config.files import load_settings
from fovnet.config.named_trees import named_tree
from fovnet.errors import SearchError
from fovnet.net.cost.layered import LayeredCosts
from fovnet.net.cost.predicted import DeviceSpeed, Limits, Work
from fovnet.net.family.layered import Convolution
from fovnet.net.family.layered_configuration import (
    NUMBERS_BY_OPTIMISER,
    layered_of_configuration,
    optimiser_of_configuration,
)
from fovnet.net.family.layered_tree import refuse_foreign_tree
from fovnet.search.tree.costs import columns_of
from fovnet.search.tree.start import tree_with_start
from fovnet.search.tree.tree import Tree

UNIT = {"real": {"low": 0, "high": 1}}


def whole(low: int, high: int) -> dict[str, Any]:
    return {"whole": {"low": low, "high": high}}


def space(**changes: Any) -> dict[str, Any]:
    """HyperNOMAD's scopes with as many channels as its network of 13 convolutions has; None leaves out."""
    declared = {**named_tree("hypernomad").space}
    each = {**declared["conv"]["each"], "channels": whole(1, 512)}
    declared |= {"conv": {**declared["conv"], "each": each}, **changes}
    return {name: form for name, form in declared.items() if form is not None}


def convolution(channels: int, kernel: int, padding: int = 0, pooling: int = 1) -> dict[str, int]:
    numbers = (channels, kernel, 1, padding, pooling)
    return dict(zip(Convolution._fields, numbers, strict=True))


STARTS = {
    17: {"conv": [convolution(6, 5)], "dense": [128, 128]},
    22: {"conv": [convolution(6, 5)] * 2, "dense": [128, 128]},
    75: {
        "conv": [
            convolution(channels, 3, 1, pooling)
            for channels, pooling in (
                *((64, 1), (64, 2), (128, 1), (128, 2), (256, 1), (256, 1), (256, 2)),
                *((512, 1), (512, 1), (512, 2)) * 2,
            )
        ],
        "dense": [],
    },
}


@pytest.mark.parametrize("optimiser", NUMBERS_BY_OPTIMISER)
@pytest.mark.parametrize("variables", STARTS)
def test_hypernomads_starts_are_points_that_can_be_trained(variables: int, optimiser: str) -> None:
    """5 n1 + n2 + 10 variables, and the weights of the network of the same numbers."""
    start = {
        **STARTS[variables],
        "optimiser": {optimiser: {"rate": 0.01}},
        "batch": 4,
        "dropout": 0.5,
        "activation": "relu",
    }
    tree = tree_with_start(space(), start)
    refuse_foreign_tree(tree)
    configuration = tree.configuration(tree.start_point)
    assert len(configuration) == variables
    assert tree.configuration(tree.point(configuration)) == configuration
    net = layered_of_configuration(configuration, classes=10, side=32, inputs=("slice",))
    speed = DeviceSpeed(50.0, 10.0, 20.0)
    costs = LayeredCosts(10, 32, ("slice",), Work(8, 8, 1), speed, Limits(1e12, None))
    assert costs(columns_of([configuration])).faults == [None]
    assert costs.predict(columns_of([configuration])).weight_count == [net.weight_count]
    assert optimiser_of_configuration(configuration).rate == 0.01


def test_the_configuration_that_comes_along_is_such_a_space() -> None:
    """65 variables, 53 at most active; its start is LeNet's layers with a stride, 22 variables."""
    config = Path(__file__).parents[3] / "configs" / "layers.yaml"
    settings = load_settings(config)
    tree = tree_with_start(settings.search.model_dump()["space"], settings.search.start)
    refuse_foreign_tree(tree)
    assert (len(tree), tree.most_active) == (65, 53)
    configuration = tree.configuration(tree.start_point)
    net = layered_of_configuration(configuration, classes=7, inputs=("slice",))
    assert (len(configuration), net.weight_count, net.dense) == (22, 337_935, (120, 84))


@pytest.mark.parametrize(
    ("changes", "code", "sentence"),
    [
        (
            {"batch": None},
            "space-axes",
            "search.space: batch: missing; a network of layers has conv",
        ),
        ({"optimiser": None}, "space-axes", "search.space: optimiser or rate: missing"),
        ({"head": ["fc", "gap"]}, "space-axes", "search.space: head: unknown"),
        (
            {"conv": {"repeat": {"low": 1, "high": 2}, "each": {"channels": [8]}}},
            "space-axes",
            "search.space: conv.kernel: missing",
        ),
        ({"conv": [1, 2]}, "space-axes", "search.space: conv.channels: missing"),
        (
            {"dense": {"repeat": {"low": 0, "high": 2}, "each": {"size": [8, 16]}}},
            "space-axes",
            "search.space.dense: its copies are numbered from the other end of the network; set grows: first",
        ),
        (
            {"conv": {**named_tree("hypernomad").space["conv"], "grows": "first"}},
            "space-axes",
            "search.space.conv: its copies are numbered from the other end of the network; set grows: last",
        ),
        (
            {"optimiser": {"choose": {"sgd": {"rate": UNIT}, "adam": {"beta1": [0.5]}}}},
            "space-axes",
            "search.space: optimiser.adam.rate: missing",
        ),
        (
            {
                "optimiser": {
                    "choose": {"sgd": {"rate": UNIT, "beta1": UNIT}, "adam": {"rate": UNIT}}
                }
            },
            "space-axes",
            "search.space.optimiser.sgd: beta1 is unknown; sgd has rate, momentum, dampening, decay",
        ),
        (
            {"optimiser": {"choose": {"sgd": {"rate": UNIT}, "lion": {"rate": UNIT}}}},
            "space-level",
            "search.space.optimiser: lion is unknown; give some of sgd, adam, adagrad, rmsprop",
        ),
        (
            {"activation": {"categorical": ["relu", "elu"]}},
            "space-level",
            "search.space.activation: elu is unknown; give some of relu, sigmoid, tanh",
        ),
        (
            {"batch": whole(0, 8)},
            "space-level",
            "search.space.batch: 0 to 8; give whole numbers from 1 to 65536",
        ),
        (
            {"dropout": UNIT},
            "space-level",
            "search.space.dropout: 0.0 to 1.0; give numbers from 0 to 0.99",
        ),
        (
            {"batch": {"real": {"low": 2, "high": 8}}},
            "space-level",
            "search.space.batch: 2.0 to 8.0; give whole numbers from 1 to 65536",
        ),
        (
            {
                "optimiser": {
                    "choose": {"sgd": {"rate": UNIT}, "adam": {"rate": UNIT, "beta2": UNIT}}
                }
            },
            "space-level",
            "search.space.optimiser.adam.beta2: 0.0 to 1.0; give numbers from 0 to 0.9999",
        ),
    ],
)
def test_a_tree_of_something_else_says_what_it_lacks(
    changes: dict[str, Any], code: str, sentence: str
) -> None:
    with pytest.raises(SearchError) as refused:
        refuse_foreign_tree(Tree.of(space(**changes)))
    assert refused.value.code == code
    assert refused.value.sentence.startswith(sentence)
