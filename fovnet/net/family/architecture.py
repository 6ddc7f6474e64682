"""One member of the network family, as numbers; without torch, so that all rows of the space can be
priced at once.

    b blocks, each of c convolutions (s x s, or 1 x s then s x 1 where separable) of 2^r filters
    with bias, "same" padding, ReLU, then 2 x 2 max-pooling; a head; one batch normalisation of each
    input channel.

    head "fc"         4096, ReLU, 1024, ReLU, k classes
         "gap"        global average pooling, k classes
         "small"      average pooling to at most 4 x 4, 256, ReLU, k classes: 200 times fewer weights
                      than "fc"
    block "plain"     a sequence of convolutions
          "residual"  the block's input is added to the output of its last convolution, through a
                      1 x 1 convolution if their channels differ; the first block stays plain
    widen w           each block has w times the filters of the one before, up to 128
    stride t          of the first convolution, in both directions: with 2, all later layers have a
                      quarter of the pixels
    norm "none"       only the input is normalised
         "pooled"     and the output of every pooling, before its ReLU: this costs 1/4 to 1/8 of a
                      normalisation after each convolution

With "plain", 1, 1 and "none" for the last four, and the one channel of "slice", the family is that
of the paper. Sources: Bertrand et al., Classification of MRI data using deep learning and Gaussian
process-based model selection (ISBI 2017); He et al., Deep residual learning for image recognition
(2016), eqs 1 and 2; Lin et al., Network in network (2014), section 3.2 ("gap"); Ioffe and Szegedy,
Batch normalization (2015), algorithms 1 and 2.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import Any

FC_HEAD_WIDTHS = (4096, 1024)
"""Widths of the two fully-connected layers of the paper."""

SMALL_HEAD_WIDTH = 256
"""Width of the hidden layer of the head "small"."""

SMALL_HEAD_SIDE = 4
"""Largest side in pixels of its pooled input."""

MOST_WIDENED_FILTERS = 128
"""Largest number of filters reached by widening; a network whose first block has more keeps that
number."""

HEADS = ("fc", "gap", "small")
BLOCKS = ("plain", "residual")
NORMS = ("none", "pooled")

INPUTS: Mapping[str, int] = {"slice": 1, "neighbours": 2, "millimetres": 1, "sections": 2}
"""The kinds of network inputs, in this order, and the channels of each; `fovnet.net.images.inputs`
makes them."""

INPUTS_OF_THE_VOLUME = ("neighbours", "sections")
"""The inputs that depend on the other slices of the volume."""

NUMBERS_PER_NORMALISED_CHANNEL = 4
"""Scale, shift, running mean and running variance of a channel that is normalised."""


@dataclass(frozen=True)
class Architecture:
    """All that is needed to build a network, apart from its weights.  Raises ValueError for an
    unknown head, block, norm or input, and for numbers out of range."""

    blocks: int
    convolutions: int
    log2_filters: int
    kernel: int
    separable: bool
    classes: int
    head: str = "fc"
    side: int = 128
    block: str = "plain"
    widen: int = 1
    inputs: tuple[str, ...] = ("slice",)
    stride: int = 1
    norm: str = "none"

    def __post_init__(self) -> None:
        object.__setattr__(self, "inputs", tuple(self.inputs))  # JSON has lists
        for field, name, known_names in (
            ("head", self.head, HEADS),
            ("block", self.block, BLOCKS),
            ("norm", self.norm, NORMS),
        ):
            if name not in known_names:
                raise ValueError(f"{field} {name!r}; known are {', '.join(known_names)}")
        for field, level, least_value, most_value in (
            ("blocks", self.blocks, 1, 100),
            ("convolutions", self.convolutions, 1, 100),
            ("log2_filters", self.log2_filters, 0, 12),
            ("kernel", self.kernel, 1, 127),
            ("classes", self.classes, 1, 1000),
            ("widen", self.widen, 1, 2),
            ("stride", self.stride, 1, 2),
        ):
            if (
                isinstance(level, bool)
                or not isinstance(level, int)
                or not least_value <= level <= most_value
            ):
                raise ValueError(
                    f"{field} {level!r}; must be a whole number from {least_value} to {most_value}"
                )
        if self.inputs != order_inputs(self.inputs):
            raise ValueError(
                f"inputs {', '.join(self.inputs) or 'none'}; give some of {', '.join(INPUTS)}, "
                "each once, in this order"
            )

    @property
    def channel_count(self) -> int:
        """Channels of the input."""
        return sum(INPUTS[kind] for kind in self.inputs)

    @property
    def first_filters(self) -> int:
        """Channels of the convolutions of the first block, 2^r."""
        return int(2**self.log2_filters)

    @property
    def first_layer_numbers(self) -> int:
        """The numbers that its first convolution gives for a slice."""
        pixels_per_output = self.stride if self.separable else self.stride**2
        return self.first_filters * self.side**2 // pixels_per_output

    @property
    def filters_of_blocks(self) -> tuple[int, ...]:
        """(b,) channels of the convolutions of every block."""
        return tuple(
            min(
                self.first_filters * self.widen**block,
                max(self.first_filters, MOST_WIDENED_FILTERS),
            )
            for block in range(self.blocks)
        )

    @property
    def pooled_side(self) -> int:
        """Pixels along a side after the last pooling; each pooling halves and rounds down."""
        return self.side // self.stride >> self.blocks

    @property
    def averaged_side(self) -> int:
        """Pixels along a side that the head "small" averages into one; 1: no averaging."""
        return -(-self.pooled_side // SMALL_HEAD_SIDE)

    @property
    def head_widths(self) -> tuple[int, ...]:
        """Widths of the head: its input, its hidden layers, the classes."""
        last_filters = self.filters_of_blocks[-1]
        if self.head == "gap":
            return (last_filters, self.classes)
        if self.head == "small":
            return (
                (self.pooled_side // self.averaged_side) ** 2 * last_filters,
                SMALL_HEAD_WIDTH,
                self.classes,
            )
        return (self.pooled_side**2 * last_filters, *FC_HEAD_WIDTHS, self.classes)

    def is_residual(self, block: int) -> bool:
        """Whether a block, counted from 0, has a shortcut around its convolutions."""
        return self.block == "residual" and block > 0

    @property
    def weight_count(self) -> int:
        """Numbers stored in the network, the four of every normalisation of a channel counted."""
        weight_count = NUMBERS_PER_NORMALISED_CHANNEL * self.channel_count
        channels = self.channel_count
        for block, filters in enumerate(self.filters_of_blocks):
            if self.is_residual(block):
                weight_count += self.count_shortcut_weights(channels, filters)
            for _ in range(self.convolutions):
                weight_count += self.count_convolution_weights(channels, filters)
                channels = filters
            if self.norm == "pooled":
                weight_count += NUMBERS_PER_NORMALISED_CHANNEL * filters
        return weight_count + sum(
            input_count * unit_count + unit_count
            for input_count, unit_count in pairwise(self.head_widths)
        )

    def count_shortcut_weights(self, channels: int, filters: int) -> int:
        """Numbers in the 1 x 1 convolution around a residual block; 0 where its channels stay."""
        if channels == filters:
            return 0
        return channels * filters + filters

    def count_convolution_weights(self, channels: int, filters: int) -> int:
        """Numbers in one convolution, its biases counted."""
        if not self.separable:
            return channels * filters * self.kernel**2 + filters
        weights_along = channels * filters * self.kernel + filters
        weights_across = filters * filters * self.kernel + filters
        return weights_along + weights_across


def order_inputs(input_kinds: Sequence[str]) -> tuple[str, ...]:
    """The known ones of these inputs, each once, in the order of `INPUTS`; at least "slice"."""
    return tuple(kind for kind in INPUTS if kind in input_kinds) or ("slice",)


def architecture_of_configuration(
    configuration: Mapping[str, Any],
    *,
    classes: int,
    head: str,
    side: int = 128,
    inputs: Sequence[str] = ("slice",),
) -> Architecture:
    """The architecture of a row of the search space, with the row's head if it has one, else
    `head`; learning rate and batch size are not part of it."""
    return Architecture(
        blocks=int(configuration["blocks"]),
        convolutions=int(configuration["convolutions"]),
        log2_filters=int(configuration["log2_filters"]),
        kernel=int(configuration["kernel"]),
        separable=bool(configuration["separable"]),
        classes=classes,
        head=str(configuration.get("head", head)),
        side=side,
        block=str(configuration.get("block", "plain")),
        widen=int(configuration.get("widen", 1)),
        inputs=tuple(inputs),
        stride=int(configuration.get("stride", 1)),
        norm=str(configuration.get("norm", "none")),
    )
