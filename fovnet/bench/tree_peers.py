"""Searchers of other libraries over a tree; each is imported when it is run.

hyperopt  is told the same conditional space by `hp.choice`, and of every point that does not fit, as
          failed
nomad     has no conditions: it is given all variables in a flat vector, those that are inactive too,
          categories as whole numbers; a point that it has had is answered without a training
"""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping
from importlib import import_module
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from fovnet.bench.hyperopt_tpe import HyperoptTpe, ValuesByLabel
from fovnet.bench.nomad import DIVERGED_LOSS, NOMAD_OPTIONS
from fovnet.bench.peers import PEERS, PeerLibrary
from fovnet.bench.tree_problem import TreeProblem
from fovnet.search.tree.tree import Configuration, Tree, Variable
from fovnet.search.tree.variables import Levels, Range

Floats = NDArray[np.float64]
Train = Callable[[Configuration], float | None]
"""Trains a configuration, and gives its loss, None if it failed."""

MOST_PROPOSALS = 40  # of hyperopt, for each training; it needs 1.2 to 1.5
MOST_EVALUATIONS = 2  # of NOMAD, for each training


class TreePeer(NamedTuple):
    """A library, and its search: search(problem, seed, trials, train) trains at most `trials`
    configurations, the start first."""

    software: PeerLibrary
    search: Callable[[TreeProblem, int, int, Train], None]


def search_by_hyperopt(problem: TreeProblem, seed: int, trials: int, train: Train) -> None:
    """hyperopt's tree of Parzen estimators; a point that does not fit costs no training."""
    tree = problem.tree
    hp = import_module("hyperopt").hp
    node_by_number: dict[int, Any] = {}
    roots = [
        _node(hp, tree, number, node_by_number)
        for number, variable in enumerate(tree.variables)
        if variable.header < 0
    ]
    labels = [variable.path for variable in tree.variables if not variable.values.is_fixed]
    tpe = HyperoptTpe(roots, labels, seed)
    point = tree.start_point
    training_count = 0
    for _ in range(MOST_PROPOSALS * trials):
        configuration = tree.configuration(point)
        loss: float | None = None
        if problem.costs(tree.columns(point[None])).faults[0] is None:
            loss = train(configuration)
            training_count += 1
        if training_count == trials:
            break
        tpe.insert(_values_by_label(tree, point), loss)
        point = _point_of(tree, tpe.suggest())


def _node(hp: Any, tree: Tree, number: int, node_by_number: dict[int, Any]) -> Any:
    """A variable as hyperopt declares it, with all that it makes active; a copy is one node, in
    whichever counts it is there."""
    if number not in node_by_number:
        node_by_number[number] = _new_node(hp, tree, number, node_by_number)
    return node_by_number[number]


def _new_node(hp: Any, tree: Tree, number: int, node_by_number: dict[int, Any]) -> Any:
    variable = tree.variables[number]
    values = variable.values
    options = [
        [
            _node(hp, tree, inner_number, node_by_number)
            for inner_number, inner in enumerate(tree.variables)
            if inner.header == number and inner.least <= value <= inner.most
        ]
        for value in _choices(variable)
    ]
    if len(options) == 1:
        return options[0]
    if options:
        return hp.choice(variable.path, options)
    assert isinstance(values, Range)
    if values.is_fixed:
        return values.low
    ends = (values.low, values.high)
    prior = "uniform"
    if values.is_log:
        ends = (np.log(values.low), np.log(values.high))
        prior = "loguniform"
    if values.is_whole:
        return getattr(hp, f"q{prior}")(variable.path, *ends, 1)
    return getattr(hp, prior)(variable.path, *ends)


def _choices(variable: Variable) -> range:
    """The numbers of a header or of levels; of another variable none."""
    values = variable.values
    if variable.is_repeat or isinstance(values, Levels):
        return range(int(values.low), int(values.high) + 1)
    return range(0)


def _values_by_label(tree: Tree, point: Floats) -> ValuesByLabel:
    """A canonical point (d,) as hyperopt has it: a choice by the number of its option."""
    values_by_label: dict[str, list[float]] = {}
    for variable, number in zip(tree.variables, point.tolist(), strict=True):
        values_by_label[variable.path] = []
        if not np.isnan(number):
            choices = _choices(variable)
            value = number
            if choices:
                value = choices.index(int(number))
            values_by_label[variable.path] = [value]
    return values_by_label


def _point_of(tree: Tree, values_by_label: ValuesByLabel) -> Floats:
    """The canonical point (d,) of hyperopt's values."""
    point = np.full(len(tree), np.nan)
    for number, variable in enumerate(tree.variables):
        for value in values_by_label.get(variable.path, ()):
            choices = _choices(variable)
            point[number] = value
            if choices:
                point[number] = choices[int(value)]
    return np.asarray(tree.canonical(point[None])[0])


def search_by_nomad(problem: TreeProblem, seed: int, trials: int, train: Train) -> None:
    """NOMAD, in a process without an earlier run of it, told at most MOST_EVALUATIONS times as many
    points as it may train; it may end before.

    What it prints goes nowhere: it cannot be told to keep quiet about its limits.
    """
    os.dup2(os.open(os.devnull, os.O_WRONLY), 1)
    tree = problem.tree
    free_numbers = [
        number for number, variable in enumerate(tree.variables) if not variable.values.is_fixed
    ]
    free_variables = [tree.variables[number] for number in free_numbers]
    loss_by_point: dict[bytes, float] = {}

    def evaluate(nomad_point: Any) -> int:
        """NOMAD's callback: tells it the loss of a point; returns whether it has one, 1 or 0."""
        point = tree.starts.copy()
        for index, (number, variable) in enumerate(zip(free_numbers, free_variables, strict=True)):
            point[number] = _number_of(variable, nomad_point.get_coord(index))
        point = tree.canonical(point[None])[0]
        key = point.tobytes()
        if key not in loss_by_point:
            configuration = tree.configuration(point)
            has_fault = problem.costs(tree.columns(point[None])).faults[0] is not None
            if has_fault or len(loss_by_point) == trials:
                return 0
            loss = train(configuration)
            loss_by_point[key] = DIVERGED_LOSS if loss is None else loss
        nomad_point.setBBO(repr(loss_by_point[key]).encode())
        return 1

    scales = [_scale_of(variable) for variable in free_variables]
    starts = [
        _coordinate_of(variable, tree.starts[number])
        for number, variable in zip(free_numbers, free_variables, strict=True)
    ]
    input_types = f"BB_INPUT_TYPE ( {' '.join(scale.input_type for scale in scales)} )"
    import_module("PyNomad").optimize(
        evaluate,
        starts,
        [scale.low for scale in scales],
        [scale.high for scale in scales],
        [
            input_types,
            f"MAX_BB_EVAL {MOST_EVALUATIONS * trials}",
            f"SEED {seed + 1}",
            *NOMAD_OPTIONS,
        ],
    )


class NomadScale(NamedTuple):
    """How NOMAD is given a variable: R a place on [0, 1], I a whole number."""

    input_type: str
    low: float
    high: float


def _scale_of(variable: Variable) -> NomadScale:
    values = variable.values
    if values.is_whole:
        return NomadScale("I", values.low, values.high)
    return NomadScale("R", 0.0, 1.0)


def _coordinate_of(variable: Variable, number: float) -> float:
    """Of a real number its place, of others the number."""
    if _scale_of(variable).input_type == "R":
        return float(variable.values.places(np.array([number]))[0])
    return float(number)


def _number_of(variable: Variable, coordinate: float) -> float:
    """The number at a coordinate."""
    if _scale_of(variable).input_type == "R":
        return float(variable.values.at_places(np.array([coordinate]))[0])
    return float(round(coordinate))


TREE_PEERS: Mapping[str, TreePeer] = {
    "hyperopt": TreePeer(PEERS["hyperopt-tpe"], search_by_hyperopt),
    "nomad": TreePeer(PEERS["nomad"], search_by_nomad),
}
"""By the names that `fovnet bench tree --peer` knows them by."""
ALONE = ("nomad",)
"""Those of which each run needs a process of its own."""
