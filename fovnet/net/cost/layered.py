"""What networks of layers cost before they are trained, and whether they can be: for many points at
once.

    M  points
    B  convolutions of the point that has most
    D  dense layers of the point that has most

Layers that a point has not are masked.  Formulas as in `fovnet.net.cost.predicted`; with f channels,
a and S sides (`fovnet.net.family.layered`) and w widths of the head, the activations of a slice take

    4 S_0² (2 f_0 + 1) + Σ_l [4 f a² + (pooled) 12 f S²]
                       + Σ_j [4 w_j + (dropout) 5 w_{j-1}] + (no dropout) 4 w_0  bytes

An activation keeps its output alone, which is the next layer's input; flattening copies the last map.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from fovnet.errors import SearchError
from fovnet.net.cost.predicted import (
    FLOAT_BYTES,
    INDEX_BYTES,
    Cost,
    DeviceSpeed,
    Limits,
    Work,
    count_augmentation_bytes,
    first_cost,
    predict_training_bytes,
    predict_training_seconds,
)
from fovnet.net.family.architecture import INPUTS, NUMBERS_PER_NORMALISED_CHANNEL
from fovnet.net.family.layered import Convolution, describe_layer_fault
from fovnet.net.family.layered_configuration import DEFAULTS_OF_COPIES, missing_variable
from fovnet.search.space import Level
from fovnet.search.tree.costs import Columns, Costs, Fault, Priced, columns_of

Floats = NDArray[np.float64]
Mask = NDArray[np.bool_]
Integers = NDArray[np.int64]

ABSENT = Convolution(channels=1, kernel=1)
DROPOUT_BYTES = 5
"""Of a number before a dense layer: itself, scaled or zero, and whether it is kept."""
NUMBERS_MOVED = {3: 5.0, 4: 7.0}
"""Numbers of a weight that a step reads or writes, by the numbers that are kept for it."""


@dataclass(frozen=True, eq=False)
class LayeredColumns:
    """Points as columns.

    layers              (M, B, 5) numbers of the convolutions, as in `Convolution`
    is_layer            (M, B) which of them each point has
    units               (M, D) of the dense layers, the last one at the end
    is_dense            (M, D) which of them each point has
    has_dropout         (M,)
    batch               (M,) slices in a step
    numbers_per_weight  (M,) kept in training: itself, its gradient, the state of the optimiser
    """

    layers: Integers
    is_layer: Mask
    units: Integers
    is_dense: Mask
    has_dropout: Mask
    batch: Integers
    numbers_per_weight: Integers
    classes: int
    side: int
    channel_count: int

    def __len__(self) -> int:
        return len(self.batch)

    @classmethod
    def of(
        cls,
        columns: Columns,
        classes: int,
        side: int,
        inputs: Sequence[str],
    ) -> LayeredColumns:
        """The points of these columns.  Raises SearchError ("space-axes") for a number that a point
        lacks."""
        layers, is_layer = _read_copies(columns, "conv", ABSENT)
        units, is_dense = _read_copies(columns, "dense", (1,))
        zeros = np.zeros(len(layers))
        return cls(
            layers=layers,
            is_layer=is_layer,
            # counted from the classes, but held in the order of the data
            units=units[:, ::-1, 0],
            is_dense=is_dense[:, ::-1],
            has_dropout=np.asarray(columns.get("dropout", zeros) > 0.0),
            batch=columns["batch"].astype(np.int64),
            numbers_per_weight=_count_numbers_per_weight(columns),
            classes=classes,
            side=side,
            channel_count=sum(INPUTS[kind] for kind in inputs),
        )


def _read_copies(
    columns: Columns, group: str, absent: Sequence[int]
) -> tuple[NDArray[np.int64], Mask]:
    """(M, B, numbers of a copy) of the copies of a group, by the copies' own numbers, `absent` where a
    point has not so many; (M, B) whether it has."""
    counts = columns.get(group, np.zeros(len(columns["batch"]))).astype(np.int64)
    copy_count = max(1, int(counts.max(initial=0)))
    is_present = np.arange(copy_count) < counts[:, None]
    numbers = np.tile(np.array(absent, dtype=np.int64), (len(counts), copy_count, 1))
    for copy in range(int(counts.max(initial=0))):
        for place, (name, default) in enumerate(DEFAULTS_OF_COPIES[group].items()):
            key = f"{group}.{copy + 1}.{name}"
            column = columns.get(key, np.full(len(counts), np.nan))[is_present[:, copy]]
            if default is not None:
                column = np.where(np.isnan(column), default, column)
            elif np.isnan(column).any():
                raise missing_variable(key)
            numbers[is_present[:, copy], copy, place] = column
    return numbers, np.asarray(is_present)


def _count_numbers_per_weight(columns: Columns) -> Integers:
    """(M,) numbers kept for each weight in training: itself, its gradient, the optimiser's state."""
    no_numbers = np.zeros(len(columns["batch"]))
    names = columns.get("optimiser", no_numbers)
    keeps_two = (names == "adam") | (
        (names == "rmsprop") & (columns.get("optimiser.momentum", no_numbers) > 0.0)
    )
    return np.where(keeps_two, 4, 3)


class MapSides(NamedTuple):
    """Pixels along a side, 1 where it does not fit.

    output, pooled  (M, B) of each convolution's output, and of what pooling leaves
    last            (M,) of the last map
    misfit          (M,) the first convolution that does not fit, from 1; 0: all do
    """

    output: Integers
    pooled: Integers
    last: Integers
    misfit: Integers

    @property
    def fits(self) -> Mask:
        """(M,) whether all fits."""
        return np.asarray(self.misfit == 0)


def measure_map_sides(points: LayeredColumns) -> MapSides:
    """The sides of the maps of all points."""
    output, pooled = np.ones((2, *points.is_layer.shape), dtype=np.int64)
    side = np.full(len(points), points.side)
    misfit = np.zeros(len(points), dtype=np.int64)
    for layer in range(points.layers.shape[1]):
        is_layer = points.is_layer[:, layer]
        _, kernel, stride, padding, pooling = points.layers[:, layer, :].transpose()
        room = side + 2 * padding - kernel
        output[:, layer] = np.maximum(room // stride + 1, 1)
        pooled[:, layer] = np.maximum(output[:, layer] // pooling, 1)
        layer_fits = (room >= 0) & (padding < kernel) & (pooling <= output[:, layer])
        misfit[is_layer & ~layer_fits & (misfit == 0)] = layer + 1
        side = np.where(is_layer, pooled[:, layer], side)
    return MapSides(output, pooled, side, misfit)


def _shape_fault(points: LayeredColumns, sides: MapSides, point: int) -> Fault:
    """What does not fit in a point's first convolution that does not fit."""
    number = int(sides.misfit[point])
    layer = Convolution(*points.layers[point, number - 1].tolist())
    side = points.side
    if number > 1:
        side = int(sides.pooled[point, number - 2])
    name = f"conv.{number}"
    return Fault(describe_layer_fault(name, layer, side), copy=name)


def predict_layered_costs(points: LayeredColumns, sides: MapSides) -> Cost:
    """The cost of every point; meaningless where its layers do not fit."""
    filters, kernel, _, _, pooling = np.moveaxis(points.layers, 2, 0)
    inputs = np.full(len(points), points.channel_count)
    channels = np.column_stack([inputs, filters])
    last_filters = channels[np.arange(len(points)), points.is_layer.sum(axis=1)]
    taps = points.is_layer * kernel**2 * filters
    is_first = np.arange(filters.shape[1]) == 0  # with the channel of ones
    is_pooled = points.is_layer & (pooling > 1)
    output_numbers = points.is_layer * filters * sides.output**2
    pooled_numbers = is_pooled * filters * sides.pooled**2
    head = _measure_heads(points, last_filters * sides.last**2)
    picture_numbers = points.side**2 * points.channel_count
    first_weights = NUMBERS_PER_NORMALISED_CHANNEL * points.channel_count
    weights_of_layers = taps * channels[:, :-1] + points.is_layer * filters
    bytes_of_layers = FLOAT_BYTES * output_numbers + (FLOAT_BYTES + INDEX_BYTES) * pooled_numbers
    widest_numbers = np.maximum(output_numbers.max(axis=1), picture_numbers)
    return Cost(
        weight_count=1.0 * (first_weights + weights_of_layers.sum(axis=1) + head.weights),
        block_flop=2.0 * sides.output**2 * taps * (channels[:, :-1] + is_first),
        block_filters=filters.astype(np.float64),
        dense_flop=2.0 * head.products,
        activation_bytes=1.0 * FLOAT_BYTES * (2 * picture_numbers + points.side**2)
        + bytes_of_layers.sum(axis=1)
        + head.bytes,
        largest_activation_bytes=1.0 * FLOAT_BYTES * widest_numbers,
        augmentation_bytes=np.full(
            len(points), count_augmentation_bytes(points.channel_count, points.side)
        ),
        channel_count=inputs.astype(np.float64),
        launch_count=1.0 + (2 * points.is_layer + is_pooled).sum(axis=1) + head.launches,
        numbers_per_weight=points.numbers_per_weight,
        numbers_moved_per_weight=np.vectorize(NUMBERS_MOVED.get, otypes=[float])(
            points.numbers_per_weight
        ),
    )


def predict_point_cost(
    configuration: Mapping[str, Any], classes: int, side: int, inputs: Sequence[str]
) -> Cost:
    """The cost of one point: scalars, and (B,) per convolution.  Raises SearchError as
    `layered_of_configuration`."""
    points = LayeredColumns.of(columns_of([configuration]), classes, side, inputs)
    return first_cost(predict_layered_costs(points, measure_map_sides(points)))


class HeadCosts(NamedTuple):
    """Of the dense layers of every point, those of the classes counted; each (M,)."""

    weights: Floats
    products: Floats
    bytes: Floats
    launches: Floats


def _measure_heads(points: LayeredColumns, flat_numbers: Integers) -> HeadCosts:
    """What follows the flattening into so many numbers (M,)."""
    units = np.where(points.is_dense, points.units, flat_numbers[:, None])
    entering = np.column_stack([flat_numbers, units])
    leaving = np.column_stack([units, np.full(len(points), points.classes)])
    is_layer = np.column_stack([points.is_dense, np.ones(len(points), dtype=bool)])
    products = (1.0 * is_layer * entering * leaving).sum(axis=1)
    leaving_numbers = (1.0 * is_layer * leaving).sum(axis=1)
    entering_numbers = (1.0 * is_layer * entering).sum(axis=1)
    input_bytes = np.where(
        points.has_dropout, DROPOUT_BYTES * entering_numbers, FLOAT_BYTES * flat_numbers
    )
    launches_per_layer = 2.0 + points.has_dropout  # layer, activation
    return HeadCosts(
        weights=products + leaving_numbers,
        products=products,
        bytes=FLOAT_BYTES * leaving_numbers + input_bytes,
        launches=launches_per_layer * is_layer.sum(axis=1),
    )


VERSION = 1
"""Of the formulas: a search goes on with the one that it began with."""
FAMILY = "layers"
REDUCED_COPIES: Sequence[Mapping[str, Level]] = (
    {"stride": 1, "pooling": 1},
    {"stride": 1, "pooling": 1, "kernel": 1, "padding": 0},
)
"""What a copied convolution is reduced to where it does not fit, in turn."""


@dataclass(frozen=True)
class LayeredCosts:
    """The costs of the points of a space of layers, as `fovnet.search.tree.costs.Costs`.

    most_weights        of a network that may be trained; None: no limit
    most_multiply_adds  of one slice's forward pass through it; None: no limit
    """

    classes: int
    side: int
    inputs: tuple[str, ...]
    work: Work
    speed: DeviceSpeed
    limits: Limits
    most_weights: float | None = None
    most_multiply_adds: float | None = None
    keeps_average: bool = False

    @property
    def facts(self) -> Mapping[str, Any]:
        """As JSON."""
        return {"family": FAMILY, **asdict(self), "inputs": list(self.inputs), "version": VERSION}

    @property
    def reduced_copies(self) -> Sequence[Mapping[str, Level]]:
        """As REDUCED_COPIES."""
        return REDUCED_COPIES

    def __call__(self, columns: Columns, /) -> Priced:
        """The points priced, 10 µs each if they are many; inf where the shape cannot be.  Raises
        SearchError as `LayeredColumns.of`."""
        points = self._points(columns)
        sides = measure_map_sides(points)
        cost = predict_layered_costs(points, sides)
        memory = predict_training_bytes(cost, points.batch, keeps_average=self.keeps_average)
        seconds = predict_training_seconds(cost, points.batch, self.work, self.speed)
        faults: list[Fault | None] = [None] * len(points)
        for point in np.flatnonzero(~sides.fits).tolist():
            faults[point] = _shape_fault(points, sides, point)
        for name, digits, amounts, most in (
            ("weights", 0, cost.weight_count, self.most_weights),
            ("multiply-adds of a slice", 0, cost.forward_flop / 2, self.most_multiply_adds),
            ("megabytes of memory", 0, memory / 1e6, self.limits.memory_bytes / 1e6),
            ("seconds", 1, seconds, self.limits.trial_seconds),
        ):
            for point in np.flatnonzero(amounts > (most or np.inf)).tolist():
                sentence = f"{name} {amounts[point]:,.{digits}f}, at most {most:,.{digits}f}"
                faults[point] = faults[point] or Fault(sentence, name)
        return Priced(
            faults=faults,
            seconds=np.where(sides.fits, seconds, np.inf),
            memory_bytes=np.where(sides.fits, memory, np.inf),
        )

    def predict(self, columns: Columns) -> Cost:
        """The cost of every point; meaningless where its layers do not fit."""
        points = self._points(columns)
        return predict_layered_costs(points, measure_map_sides(points))

    def _points(self, columns: Columns) -> LayeredColumns:
        return LayeredColumns.of(columns, self.classes, self.side, self.inputs)


def layered_costs_of(facts: Mapping[str, Any]) -> Costs:
    """`LayeredCosts` from its facts.  Raises SearchError "journal-costs" for another version of the
    formulas or another family."""
    numbers = dict(facts)
    family = numbers.pop("family", None)
    version = numbers.pop("version", None)
    if family != FAMILY or version != VERSION:
        raise SearchError(
            "journal-costs",
            f"costs of the family {family}, version {version}; this fovnet has {FAMILY}, version {VERSION}: "
            "go on with the fovnet that began the search, or search again in another folder.",
        )
    return LayeredCosts(
        **{
            **numbers,
            "inputs": tuple(numbers["inputs"]),
            "work": Work(**numbers["work"]),
            "speed": DeviceSpeed(**numbers["speed"]),
            "limits": Limits(**numbers["limits"]),
        }
    )
