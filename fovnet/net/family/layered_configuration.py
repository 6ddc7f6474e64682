"""A point of a space of layers as a network and its optimiser; without torch.

    conv        number of convolutions; conv.1.channels, ... of the first: see `Convolution`
    dense       number of dense layers; dense.1.size of the last one, beside the classes, dense.2.size
                of the one before: a layer added in front renumbers no other
    optimiser   a key of NUMBERS_BY_OPTIMISER; optimiser.rate and its other numbers
    rate        in place of `optimiser`: of stochastic gradient descent with momentum
    batch, dropout, activation

What a point lacks is stride 1, padding 0, pooling 1, no dense layer, dropout 0, relu, and the
numbers of NUMBERS_BY_OPTIMISER.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from fovnet.errors import SearchError
from fovnet.net.family.architecture import architecture_of_configuration
from fovnet.net.family.layered import Convolution, Layered, NetworkShape

NUMBERS_BY_OPTIMISER: Mapping[str, Mapping[str, float]] = {
    "sgd": {"momentum": 0.9, "dampening": 0.0, "decay": 0.0},
    "adam": {"beta1": 0.9, "beta2": 0.999, "decay": 0.0},
    "adagrad": {"rate_decay": 0.0, "initial": 0.0, "decay": 0.0},
    "rmsprop": {"momentum": 0.0, "smoothing": 0.99, "decay": 0.0},
}
"""The numbers of each optimiser besides its rate, and what stands for one that is left out.

initial    what Adagrad's sums of squares begin with
smoothing  RMSProp's share of the earlier mean of squares
decay      of the weights, added to the gradient
"""
NUMBERS_BELOW_ONE = ("beta1", "beta2")  # of which 1 would be a division by zero
DEFAULTS_OF_COPIES: Mapping[str, Mapping[str, int | None]] = {
    "conv": {"channels": None, "kernel": None, "stride": 1, "padding": 0, "pooling": 1},
    "dense": {"size": None},
}
"""The numbers of a layer, and what stands for one that is left out; None: nothing does."""
NAME_OF_VARIABLE = re.compile(
    r"conv(\.\d+\.(channels|kernel|stride|padding|pooling))?|dense(\.\d+\.size)?|optimiser(\.\w+)?"
    r"|rate|batch|dropout|activation"
)
NAMES_IN_WORDS = (
    "a network of layers has conv (channels, kernel, stride, padding, pooling), dense (size), optimiser "
    "or rate, batch, dropout, activation"
)


@dataclass(frozen=True)
class OptimiserChoice:
    """An optimiser by its name in NUMBERS_BY_OPTIMISER, its rate, and its other numbers."""

    name: str
    rate: float
    numbers: Mapping[str, float]


def is_layered(configuration: Mapping[str, Any]) -> bool:
    """Whether a configuration describes a network layer by layer."""
    return isinstance(configuration.get("conv"), int)


def network_of_configuration(
    configuration: Mapping[str, Any],
    *,
    classes: int,
    head: str,
    side: int = 128,
    inputs: Sequence[str] = ("slice",),
) -> NetworkShape:
    """The network of a configuration of either family; `head` as in `architecture_of_configuration`.
    Raises SearchError as `layered_of_configuration`."""
    if is_layered(configuration):
        return layered_of_configuration(configuration, classes=classes, side=side, inputs=inputs)
    return architecture_of_configuration(
        configuration, classes=classes, head=head, side=side, inputs=inputs
    )


def layered_of_configuration(
    configuration: Mapping[str, Any], *, classes: int, side: int = 128, inputs: Sequence[str]
) -> Layered:
    """The network of a point.  Raises SearchError ("space-axes") for a variable that it lacks or
    does not know, and ("space-level") for a value or a shape that cannot be."""
    for name in configuration:
        if not NAME_OF_VARIABLE.fullmatch(name):
            raise SearchError("space-axes", f"search.space: {name}: unknown; {NAMES_IN_WORDS}")
    try:
        return Layered(
            conv=convolutions_of_configuration(configuration),
            dense=dense_of_configuration(configuration),
            classes=classes,
            activation=configuration.get("activation", "relu"),
            dropout=float(configuration.get("dropout", 0.0)),
            side=side,
            inputs=tuple(inputs),
        )
    except ValueError as fault:
        raise SearchError("space-level", f"search.space: {fault}; give another") from None


def convolutions_of_configuration(configuration: Mapping[str, Any]) -> tuple[Convolution, ...]:
    """The convolutions of a point, in the order of the data.  Raises SearchError ("space-axes") for
    a number that is missing."""
    return tuple(Convolution(*numbers) for numbers in _read_copies(configuration, "conv"))


def dense_of_configuration(configuration: Mapping[str, Any]) -> tuple[int, ...]:
    """Units of the dense layers of a point, in the order of the data.  Raises SearchError
    ("space-axes") for a size that is missing."""
    return tuple(size for [size] in reversed(_read_copies(configuration, "dense")))


def _read_copies(configuration: Mapping[str, Any], group: str) -> list[list[int]]:
    """The numbers of each copy of a group, by the copies' own numbers."""
    copies = []
    for number in range(1, configuration.get(group, 0) + 1):
        numbers = []
        for name, default in DEFAULTS_OF_COPIES[group].items():
            value = configuration.get(f"{group}.{number}.{name}", default)
            if value is None:
                raise missing_variable(f"{group}.{number}.{name}")
            numbers.append(value)
        copies.append(numbers)
    return copies


def missing_variable(key: str) -> SearchError:
    """What to raise for a number that a layer lacks."""
    return SearchError("space-axes", f"search.space: {key}: missing; {NAMES_IN_WORDS}")


def optimiser_of_configuration(configuration: Mapping[str, Any]) -> OptimiserChoice:
    """The optimiser of a point.

    Raises SearchError ("space-axes") for none, an unknown one, or a number that it has not, and
    ("space-level") for a number that it cannot use.
    """
    if "optimiser" not in configuration and "rate" in configuration:
        return OptimiserChoice("sgd", float(configuration["rate"]), NUMBERS_BY_OPTIMISER["sgd"])
    name: Any = configuration.get("optimiser")
    if name not in NUMBERS_BY_OPTIMISER or "optimiser.rate" not in configuration:
        raise SearchError(
            "space-axes",
            f"search.space: optimiser {name!r} without a rate, or unknown; give one of "
            f"{', '.join(NUMBERS_BY_OPTIMISER)} with its rate, or rate alone",
        )
    numbers = dict(NUMBERS_BY_OPTIMISER[name])
    for key, value in configuration.items():
        number_name = key.removeprefix("optimiser.")
        if number_name in (key, "rate"):
            continue
        if number_name not in numbers:
            raise SearchError(
                "space-axes",
                f"search.space: {key}: {name} has rate, {', '.join(numbers)}; leave it out",
            )
        if number_name in NUMBERS_BELOW_ONE and value >= 1:
            raise SearchError("space-level", f"search.space: {key} {value:g}; give less than 1")
        numbers[number_name] = float(value)
    return OptimiserChoice(name, float(configuration["optimiser.rate"]), numbers)
