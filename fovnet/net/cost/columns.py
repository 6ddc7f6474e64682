"""The rows of a space as columns of numbers, one per property of the network and its training, so
that all are priced at once.

    M  rows
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from fovnet.net.family import axes
from fovnet.net.family.architecture import (
    BLOCKS,
    HEADS,
    INPUTS,
    MOST_WIDENED_FILTERS,
    NORMS,
    Architecture,
)
from fovnet.search.space import Space

Integers = NDArray[np.int64]
Column = NDArray[Any]


@dataclass(frozen=True)
class Columns:
    """M networks, each with its batch; all (M,), except the classes, the side of a slice and the
    inputs, which all share.

    filters     of the first block
    head        index in HEADS
    residual    whether blocks are
    normalised  whether poolings are
    """

    blocks: Integers
    convolutions: Integers
    filters: Integers
    kernel: Integers
    separable: NDArray[np.bool_]
    head: Integers
    residual: NDArray[np.bool_]
    widen: Integers
    stride: Integers
    normalised: NDArray[np.bool_]
    batch: Integers
    classes: int
    side: int = 128
    inputs: tuple[str, ...] = ("slice",)

    def __len__(self) -> int:
        return len(self.blocks)

    @property
    def channel_count(self) -> int:
        """Channels of the input."""
        return sum(INPUTS[kind] for kind in self.inputs)

    def filters_of_block(self, block: int | Integers) -> Integers:
        """(M,) filters of a block, or of one block (M,) per row, counted from 0, as in
        `Architecture.filters_of_blocks`."""
        return np.minimum(
            self.filters * self.widen**block, np.maximum(self.filters, MOST_WIDENED_FILTERS)
        )

    @property
    def column_by_name(self) -> dict[str, Column]:
        """The columns by name."""
        return {
            name: column for name, column in vars(self).items() if isinstance(column, np.ndarray)
        }

    def select(self, rows: Any) -> Columns:
        """Only these rows: a mask (M,), or row numbers."""
        return replace(self, **{name: column[rows] for name, column in self.column_by_name.items()})

    def distinct(self) -> Columns:
        """Every network with each of its batches once, sorted by the columns: the learning rate
        does not change the cost."""
        table = np.stack(list(self.column_by_name.values()), axis=1)
        _, first_rows = np.unique(table, axis=0, return_index=True)
        return self.select(first_rows)

    def architecture(self, row: int) -> Architecture:
        """The architecture of one row, ready to be built."""
        return Architecture(
            blocks=int(self.blocks[row]),
            convolutions=int(self.convolutions[row]),
            log2_filters=int(self.filters[row]).bit_length() - 1,
            kernel=int(self.kernel[row]),
            separable=bool(self.separable[row]),
            classes=self.classes,
            head=HEADS[self.head[row]],
            side=self.side,
            block=BLOCKS[int(self.residual[row])],
            widen=int(self.widen[row]),
            inputs=self.inputs,
            stride=int(self.stride[row]),
            norm=NORMS[int(self.normalised[row])],
        )

    @classmethod
    def of_architectures(cls, nets: Sequence[Architecture], batches: Sequence[int]) -> Columns:
        """Networks of the same classes, side and inputs, one or more, each with its batch."""
        return cls(
            blocks=np.array([net.blocks for net in nets], dtype=np.int64),
            convolutions=np.array([net.convolutions for net in nets], dtype=np.int64),
            filters=np.array([net.first_filters for net in nets], dtype=np.int64),
            kernel=np.array([net.kernel for net in nets], dtype=np.int64),
            separable=np.array([net.separable for net in nets], dtype=bool),
            head=np.array([HEADS.index(net.head) for net in nets], dtype=np.int64),
            residual=np.array([net.block == "residual" for net in nets], dtype=bool),
            widen=np.array([net.widen for net in nets], dtype=np.int64),
            stride=np.array([net.stride for net in nets], dtype=np.int64),
            normalised=np.array([net.norm == "pooled" for net in nets], dtype=bool),
            batch=np.array(batches, dtype=np.int64),
            classes=nets[0].classes,
            side=nets[0].side,
            inputs=nets[0].inputs,
        )


def columns_of_space(
    space: Space, *, classes: int, head: str, inputs: Sequence[str] = ("slice",), side: int = 128
) -> Columns:
    """The rows of a space; `head` is used if the space has no axis of that name."""
    optional_axes = {name for names in axes.OPTIONAL_AXES for name in names}
    levels_by_axis = {}
    for axis, level_indices in zip(space.axes, space.rows.T, strict=True):
        dtype = object if axis.name in optional_axes else None
        levels_by_axis[axis.name] = np.array(axis.levels, dtype=dtype)[level_indices]
    columns = _columns(levels_by_axis, len(space), classes, head, tuple(inputs))
    return replace(columns, side=side)


def columns_of_configurations(
    configurations: Sequence[Mapping[str, Any]],
    *,
    classes: int,
    head: str,
    inputs: Sequence[str] = ("slice",),
) -> Columns:
    """The rows of a list of configurations, all with the same axes."""
    axis_names = [
        name
        for alternative_names in axes.ALTERNATIVE_NAMES
        for name in alternative_names
        if configurations and name in configurations[0]
    ]
    levels_by_axis = {
        name: np.array([configuration[name] for configuration in configurations])
        for name in axis_names
    }
    return _columns(levels_by_axis, len(configurations), classes, head, tuple(inputs))


def join_columns(first: Columns, second: Columns) -> Columns:
    """The rows of both, which have the same classes, side and inputs."""
    columns: dict[str, Any] = {
        name: np.concatenate([column, getattr(second, name)])
        for name, column in first.column_by_name.items()
    }
    return replace(first, **columns)


def _columns(
    levels_by_axis: Mapping[str, Column],
    row_count: int,
    classes: int,
    head: str,
    inputs: tuple[str, ...],
) -> Columns:
    """The columns of rows whose levels are given by axis; axes left out have their defaults."""

    def word_indices(name: str, default: str, words: Sequence[str]) -> Integers:
        level_by_row = np.asarray(
            levels_by_axis.get(name, np.full(row_count, default)), dtype=object
        )
        is_word = level_by_row[:, None] == np.array(words, dtype=object)
        return np.asarray(np.argmax(is_word, axis=1), dtype=np.int64)

    def optional_numbers(name: str) -> Integers:
        return np.asarray(levels_by_axis.get(name, np.ones(row_count)), dtype=np.int64)

    if "batch" in levels_by_axis:
        batch_by_row = levels_by_axis["batch"].astype(np.int64)
    else:
        batch_by_row = 2 ** levels_by_axis["log2_batch"].astype(np.int64)
    return Columns(
        blocks=levels_by_axis["blocks"].astype(np.int64),
        convolutions=levels_by_axis["convolutions"].astype(np.int64),
        filters=2 ** levels_by_axis["log2_filters"].astype(np.int64),
        kernel=levels_by_axis["kernel"].astype(np.int64),
        separable=levels_by_axis["separable"].astype(bool),
        head=word_indices("head", head, HEADS),
        residual=word_indices("block", "plain", BLOCKS) == BLOCKS.index("residual"),
        widen=optional_numbers("widen"),
        stride=optional_numbers("stride"),
        normalised=word_indices("norm", "none", NORMS) == NORMS.index("pooled"),
        batch=batch_by_row,
        classes=classes,
        inputs=inputs,
    )
