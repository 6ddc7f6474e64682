"""What a tree must be so that its points are networks of layers."""

from __future__ import annotations

from fovnet.errors import SearchError
from fovnet.net.family.layered import ACTIVATIONS, LIMITS_OF_CONVOLUTION, MOST_UNITS
from fovnet.net.family.layered_configuration import (
    DEFAULTS_OF_COPIES,
    NAME_OF_VARIABLE,
    NAMES_IN_WORDS,
    NUMBERS_BY_OPTIMISER,
)
from fovnet.search.space import Level
from fovnet.search.tree.tree import Tree, Variable
from fovnet.search.tree.variables import Levels

MOST_BATCH = 65_536
RANGE_BY_FAMILY: dict[str, tuple[float, float]] = {
    **{
        f"conv.{name}": (0 if name == "padding" else 1, most)
        for name, most in LIMITS_OF_CONVOLUTION._asdict().items()
    },
    "dense.size": (1, MOST_UNITS),
    "batch": (1, MOST_BATCH),
    "dropout": (0, 0.99),
    "optimiser.adam.beta1": (0, 0.9999),
    "optimiser.adam.beta2": (0, 0.9999),
}
"""Least and most of what a variable of a network may be, by its family."""
NAMES_BY_KEY = {"activation": ACTIVATIONS, "optimiser": tuple(NUMBERS_BY_OPTIMISER)}
GROWING_ENDS = {"conv": "last", "dense": "first"}
"""Where copies of a group are added: away from the picture, away from the classes."""


def refuse_foreign_tree(tree: Tree) -> None:
    """Raise SearchError unless every point of a tree is a network of layers and an optimiser, shapes
    and limits apart: ("space-axes") for a variable too many or too few, or a group that grows at the
    wrong end, ("space-level") for a value that no network may have."""
    families = {variable.family for variable in tree.variables}
    rates = {f"optimiser.{branch}.rate" for branch in _optimisers(tree)}
    for required in ("conv", "batch", "conv.channels", "conv.kernel", *sorted(rates)):
        if required not in families:
            raise SearchError("space-axes", f"search.space: {required}: missing; {NAMES_IN_WORDS}")
    if not rates and "rate" not in families:
        raise SearchError(
            "space-axes", f"search.space: optimiser or rate: missing; {NAMES_IN_WORDS}"
        )
    for variable in tree.variables:
        _refuse_foreign_variable(variable)


def _optimisers(tree: Tree) -> list[Level]:
    """The optimisers that a tree chooses among."""
    for variable in tree.variables:
        if variable.key == "optimiser":
            return _values_of(variable)
    return []


def _refuse_foreign_variable(variable: Variable) -> None:
    """Raise SearchError as `refuse_foreign_tree`, for one variable."""
    if not NAME_OF_VARIABLE.fullmatch(variable.key):
        raise SearchError("space-axes", f"search.space: {variable.key}: unknown; {NAMES_IN_WORDS}")
    if variable.key in DEFAULTS_OF_COPIES:
        if not variable.is_repeat:
            raise SearchError("space-axes", f"search.space.{variable.key}: give repeat and each")
        growing_end = GROWING_ENDS[variable.key]
        if variable.grows_first != (growing_end == "first"):
            raise SearchError(
                "space-axes",
                f"search.space.{variable.key}: its copies are numbered from the other end of the "
                f"network; set grows: {growing_end}",
            )
    values = _values_of(variable)
    known_names = NAMES_BY_KEY.get(variable.key, values)
    for name in values:
        if name not in known_names:
            raise SearchError(
                "space-level",
                f"search.space.{variable.key}: {name} is unknown; give some of {', '.join(map(str, known_names))}",
            )
    if variable.family in RANGE_BY_FAMILY:
        _refuse_out_of_range(variable.family, values)
    if variable.family.startswith("optimiser."):
        _refuse_foreign_number(variable)


def _refuse_out_of_range(family: str, values: list[Level]) -> None:
    """Raise SearchError ("space-level") for a number that no network may have."""
    least, most = RANGE_BY_FAMILY[family]
    is_real = isinstance(most, float)
    numbers = [value for value in values if isinstance(value, int) or is_real]
    if len(numbers) < len(values) or not all(least <= float(number) <= most for number in numbers):
        kind = "whole numbers"
        if is_real:
            kind = "numbers"
        raise SearchError(
            "space-level",
            f"search.space.{family}: {values[0]} to {values[-1]}; give {kind} from {least:g} to {most:g}",
        )


def _refuse_foreign_number(variable: Variable) -> None:
    """Raise SearchError ("space-axes") for a number that the optimiser of its branch has not."""
    _, name, number_name = variable.family.split(".", 2)
    numbers = ["rate", *NUMBERS_BY_OPTIMISER[name]]
    if number_name not in numbers:
        raise SearchError(
            "space-axes",
            f"search.space.optimiser.{name}: {number_name} is unknown; {name} has {', '.join(numbers)}",
        )


def _values_of(variable: Variable) -> list[Level]:
    """The levels of a variable, or the ends of its range."""
    values = variable.values
    if isinstance(values, Levels):
        return list(values.axis.levels)
    return [values.write(values.low), values.write(values.high)]
