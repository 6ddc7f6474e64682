"""The predicted cost of a training: weights, operations, bytes, seconds; for all rows of a space at
once.

    M        rows
    forward  one slice's pass through the network; a multiply-add counts as two operations

Computed from the layers alone, without building a network.  Backward costs twice the forward pass:
one product for the gradient of the weights and one for the gradient of the input, each as large as
the forward product.  (The first convolution's input needs no gradient; counting it is a small error
compared with that of the device's description.)
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from fovnet.net.cost.columns import Columns
from fovnet.net.family.architecture import (
    FC_HEAD_WIDTHS,
    HEADS,
    NUMBERS_PER_NORMALISED_CHANNEL,
    SMALL_HEAD_SIDE,
    SMALL_HEAD_WIDTH,
    Architecture,
)

FLOAT_BYTES = 4  # bytes of a float32
INDEX_BYTES = 8  # torch's max-pooling keeps the index of each maximum as int64
NUMBERS_PER_WEIGHT = 3  # weights, gradients, momentum
NUMBERS_MOVED_PER_WEIGHT = 5.0
"""A step reads weights, gradients and momentum, and writes weights and momentum."""
GRID_IMAGES = 2
"""Float images per slice during augmentation: the sampling grid."""
IMAGES_PER_CHANNEL = 5
"""Float images per channel of a slice: as picked, resampled, noise, and their sums."""

Floats = NDArray[np.float64]


@dataclass(frozen=True)
class Cost:
    """The cost of M networks of at most B blocks; all float64 (M,) unless said otherwise, and of
    one slice's forward pass.

    weight_count              weights and biases
    block_flop                (M, B) operations of the convolutions of each block
    block_filters             (M, B) filters of each block
    dense_flop                operations of the head
    activation_bytes          of all activations
    largest_activation_bytes  of the largest, the output of a convolution of the first block
    augmentation_bytes        of a slice during augmentation
    channel_count             channels of the input
    launch_count              layers that are launched one by one
    numbers_per_weight        kept for each weight in training, without an average; or one number
    numbers_moved_per_weight  read or written in a step; or one number
    """

    weight_count: Floats
    block_flop: Floats
    block_filters: Floats
    dense_flop: Floats
    activation_bytes: Floats
    largest_activation_bytes: Floats
    augmentation_bytes: Floats
    channel_count: Floats
    launch_count: Floats
    numbers_per_weight: Any = NUMBERS_PER_WEIGHT
    numbers_moved_per_weight: Any = NUMBERS_MOVED_PER_WEIGHT

    @property
    def convolution_flop(self) -> Floats:
        """(M,) operations of the convolutions of one slice's forward pass."""
        return np.asarray(self.block_flop.sum(axis=-1))

    @property
    def forward_flop(self) -> Floats:
        """(M,) operations of one slice's forward pass."""
        return self.convolution_flop + self.dense_flop

    @property
    def flop_per_filter(self) -> Floats:
        """(M,) operations of the convolutions, each divided by its number of filters."""
        return np.asarray((self.block_flop / self.block_filters).sum(axis=-1))

    def effective_flop(self, filters_at_once: int) -> Floats:
        """(M,) effective operations on a device that computes so many filters at once: with fewer
        filters, part of it is idle."""
        idle_factor = np.maximum(1.0, filters_at_once / self.block_filters)
        return np.asarray((self.block_flop * idle_factor).sum(axis=-1)) + self.dense_flop


@dataclass(frozen=True)
class Work:
    """The amount of training; each a number, or (M,).

    training_slices    of each epoch
    validation_slices  of each epoch
    epochs             how many
    """

    training_slices: Any
    validation_slices: Any
    epochs: Any


@dataclass(frozen=True)
class Limits:
    """The most that a trial may take: peak bytes, and predicted seconds (None: no limit)."""

    memory_bytes: float
    trial_seconds: float | None


@dataclass(frozen=True)
class DeviceSpeed:
    """A device in the cost model: arithmetic rate, memory rate, and the fixed cost of one layer's
    launch.

    The others are known if measured; by default they have no effect, except validation_share:
    weights_gigabyte_per_second  memory rate of the weights, which are read and written with every
                                 step; None: that of the activations
    microseconds_per_slice       cost of each channel of a slice before the network, mainly
                                 augmentation
    filters_at_once              a convolution of fewer filters takes as long as one of so many
    validation_share             cost of a validated slice as a share of a trained one's
    """

    gflop_per_second: float
    gigabyte_per_second: float
    microseconds_per_layer: float
    weights_gigabyte_per_second: float | None = None
    microseconds_per_slice: float = 0.0
    filters_at_once: int = 1
    validation_share: float = 1 / 3

    @property
    def prices(self) -> tuple[float, ...]:
        """Seconds of one unit of each of the `priced_amounts`."""
        weights_gigabyte_per_second = self.weights_gigabyte_per_second or self.gigabyte_per_second
        return (
            1e-9 / self.gflop_per_second,
            1e-9 / self.gigabyte_per_second,
            1e-9 / weights_gigabyte_per_second,
            1e-6 * self.microseconds_per_layer,
            1e-6 * self.microseconds_per_slice,
        )

    @classmethod
    def of(
        cls, prices: Sequence[float] | Floats, filters_at_once: int, validation_share: float
    ) -> DeviceSpeed:
        """The device with these prices, all above zero."""
        flop_s, byte_s, weight_byte_s, layer_s, slice_s = (float(price) for price in prices)
        return cls(
            gflop_per_second=1e-9 / flop_s,
            gigabyte_per_second=1e-9 / byte_s,
            microseconds_per_layer=1e6 * layer_s,
            weights_gigabyte_per_second=1e-9 / weight_byte_s,
            microseconds_per_slice=1e6 * slice_s,
            filters_at_once=filters_at_once,
            validation_share=validation_share,
        )


def predict_cost(net: Architecture) -> Cost:
    """The cost of one architecture: scalars, and (B,) per block."""
    return first_cost(predict_costs(Columns.of_architectures([net], [1])))


def first_cost(costs: Cost) -> Cost:
    """The cost of the first of M networks: scalars, and (B,) per block."""
    columns = {name: column for name, column in vars(costs).items() if np.ndim(column)}
    return replace(costs, **{name: column[0] for name, column in columns.items()})


def predict_costs(nets: Columns) -> Cost:
    """The cost of every row."""
    row_count = len(nets)
    input_channels = nets.channel_count
    block_count = int(nets.blocks.max(initial=1))
    # of a whole block, along and across counted apart
    convolutions = np.where(nets.separable, 2, 1) * nets.convolutions
    taps = np.where(nets.separable, nets.kernel, nets.kernel * nets.kernel)
    first_side = nets.side // nets.stride
    filters = np.full(row_count, input_channels)
    flop = np.zeros((row_count, block_count))
    block_filters = np.ones((row_count, block_count))
    layers = np.ones(row_count)
    weights = np.full(row_count, NUMBERS_PER_NORMALISED_CHANNEL * input_channels)
    activation_bytes = np.full(row_count, _image_bytes(nets))
    for block in range(block_count):
        has_block = block < nets.blocks
        pixels = (first_side >> block) ** 2
        pooled_pixels = (first_side >> (block + 1)) ** 2
        channels = filters
        filters = nets.filters_of_block(block)
        has_shortcut = has_block & nets.residual & (block > 0)
        shortcut_weights = _shortcut_weights(has_shortcut, channels, filters)
        # of all convolutions but the first
        later_weights = taps * (convolutions - 1) * filters * filters
        opening_channels = input_channels + 1 if block == 0 else channels
        # the first of the two convolutions computes every row
        full_rows = np.where(nets.separable & (block == 0), nets.stride, 1)
        opening_taps = full_rows * taps * opening_channels * filters
        products = opening_taps + later_weights + shortcut_weights
        flop[:, block] = has_block * 2.0 * pixels * products
        block_filters[:, block] = filters
        weights += has_block * (
            taps * channels * filters
            + later_weights
            + convolutions * filters
            + shortcut_weights
            + (shortcut_weights > 0) * filters
        )
        # ReLU and the sum work in place: one tensor a convolution
        tensors = convolutions + full_rows - 1
        activation_bytes += has_block * FLOAT_BYTES * (tensors * pixels * filters)
        activation_bytes += has_block * (FLOAT_BYTES + INDEX_BYTES) * (pooled_pixels * filters)
        is_normalised = has_block & nets.normalised
        weights += is_normalised * NUMBERS_PER_NORMALISED_CHANNEL * filters
        activation_bytes += is_normalised * FLOAT_BYTES * (pooled_pixels * filters)
        layers += has_block * (convolutions + nets.convolutions + 1)
        layers += has_shortcut + (shortcut_weights > 0) + is_normalised
    dense, hidden, launches = _head_costs(nets)
    return Cost(
        weight_count=(weights + dense + hidden).astype(np.float64),
        block_flop=flop,
        block_filters=block_filters,
        dense_flop=2.0 * dense.astype(np.float64),
        activation_bytes=activation_bytes + FLOAT_BYTES * hidden,
        largest_activation_bytes=_first_output_bytes(nets),
        augmentation_bytes=np.full(row_count, _augmentation_bytes(nets)),
        channel_count=np.full(row_count, float(input_channels)),
        launch_count=layers + launches,
    )


def _image_bytes(nets: Columns) -> float:
    """Of an image's channels, their normalised copies, and one of ones."""
    return nets.side**2 * FLOAT_BYTES * (2.0 * nets.channel_count + 1)


def _shortcut_weights(
    has_shortcut: NDArray[np.bool_], channels: NDArray[np.int64], filters: NDArray[np.int64]
) -> NDArray[np.int64]:
    """Those of the 1 x 1 convolution beside a block, without biases; 0 where the shortcut is the
    identity."""
    return np.asarray(has_shortcut * (channels != filters) * channels * filters)


def _first_output_bytes(nets: Columns) -> NDArray[np.float64]:
    """Of what the first convolution gives for a slice; of a separable one, the first of its pair."""
    first_side = nets.side // nets.stride
    numbers = first_side**2 * nets.filters * np.where(nets.separable, nets.stride, 1)
    return np.asarray(FLOAT_BYTES * numbers.astype(np.float64))


def _augmentation_bytes(nets: Columns) -> float:
    return count_augmentation_bytes(nets.channel_count, nets.side)


def count_augmentation_bytes(channel_count: int, side: int) -> float:
    """Of a slice's sampling grid and the copies of its channels."""
    image_count = GRID_IMAGES + IMAGES_PER_CHANNEL * channel_count
    return float(FLOAT_BYTES * side**2 * image_count)


def _head_costs(nets: Columns) -> tuple[NDArray[np.int64], NDArray[np.int64], NDArray[np.int64]]:
    """For every row's head: weights without biases, units in its layers (as many biases),
    launches."""
    last_filters = nets.filters_of_block(nets.blocks - 1)
    last_side = nets.side // nets.stride >> nets.blocks
    averaged_side = last_side // np.maximum(1, -(-last_side // SMALL_HEAD_SIDE))
    first_width, second_width = FC_HEAD_WIDTHS
    class_count = nets.classes
    weights_by_head = {
        "fc": last_side**2 * last_filters * first_width
        + first_width * second_width
        + second_width * class_count,
        "gap": last_filters * class_count,
        "small": averaged_side**2 * last_filters * SMALL_HEAD_WIDTH
        + SMALL_HEAD_WIDTH * class_count,
    }
    units_by_head = {
        "fc": first_width + second_width + class_count,
        "gap": class_count,
        "small": SMALL_HEAD_WIDTH + class_count,
    }
    launches_by_head = {"fc": 6, "gap": 2, "small": 5}
    return (
        np.choose(nets.head, [weights_by_head[head] for head in HEADS]),
        np.choose(nets.head, [units_by_head[head] for head in HEADS]),
        np.choose(nets.head, [launches_by_head[head] for head in HEADS]),
    )


def predict_training_bytes(cost: Cost, batch: Any, *, keeps_average: bool = False) -> Floats:
    """(M,) peak bytes of a training step.

    Weights, gradients and momentum, and the weights' running mean if they are averaged; all
    activations of the batch; when the gradient has reached the first block, nearly twice the
    largest activation: its gradient, and the convolution's workspace.  And the memory of the
    batch's augmentation: the network cannot reuse it, as its blocks have other sizes.  Validation
    has its own batch size and is not counted: `fovnet.net.inference_batch` keeps it below 0.8 GB.
    """
    bytes_of_slice = (
        cost.activation_bytes + 1.9 * cost.largest_activation_bytes + cost.augmentation_bytes
    )
    numbers_per_weight = cost.numbers_per_weight
    if keeps_average:
        numbers_per_weight = numbers_per_weight + 1
    return np.asarray(numbers_per_weight * FLOAT_BYTES * cost.weight_count + batch * bytes_of_slice)


def priced_amounts(cost: Cost, batch: Any, work: Work, speed: DeviceSpeed) -> tuple[Floats, ...]:
    """The amounts that a device's prices multiply, (M,) each, for whole trials and in the order of
    `DeviceSpeed.prices`: operations, bytes of activations and of weights, launches, channels of
    slices."""
    slice_count = work.epochs * (
        work.training_slices + speed.validation_share * work.validation_slices
    )
    # the last step of an epoch may be of fewer slices
    step_count = work.epochs * np.ceil(work.training_slices / batch)
    return (
        3.0 * slice_count * cost.effective_flop(speed.filters_at_once),
        3.0 * slice_count * 2 * cost.activation_bytes,  # written once, read once
        step_count * cost.numbers_moved_per_weight * FLOAT_BYTES * cost.weight_count,
        step_count * 3.0 * cost.launch_count,
        # each channel is resampled and changed separately
        slice_count * cost.channel_count * np.ones(np.shape(step_count)),
    )


def predict_training_seconds(cost: Cost, batch: Any, work: Work, speed: DeviceSpeed) -> Floats:
    """(M,) seconds of whole trials.  The terms are added one by one: a matrix product may differ
    between machines in the last bit, and a search that is resumed elsewhere compares its
    predictions."""
    amounts = priced_amounts(cost, batch, work, speed)
    total_seconds = np.zeros(np.shape(amounts[0]))
    for amount, unit_seconds in zip(amounts, speed.prices, strict=True):
        total_seconds = total_seconds + amount * unit_seconds
    return total_seconds


def price_rows(
    rows: Columns, work: Work, speed: DeviceSpeed, *, keeps_average: bool = False
) -> tuple[Cost, Floats, Floats]:
    """The cost of every row, its peak training bytes (M,) and seconds (M,): 0.03 s for 34,300."""
    cost = predict_costs(rows)
    memory = predict_training_bytes(cost, rows.batch, keeps_average=keeps_average)
    return cost, memory, predict_training_seconds(cost, rows.batch, work, speed)
