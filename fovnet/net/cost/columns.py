"""The rows of a space as columns of numbers, one per property of the network and its training, so that all
are priced at once.

    M  rows
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from fovnet.net.family import axes
from fovnet.net.family.architecture import BLOCKS, HEADS, INPUTS, NORMS, WIDEST, Architecture
from fovnet.search.space import Space

Integers = NDArray[np.int64]
Column = NDArray[Any]


@dataclass(frozen=True)
class Columns:
    """M networks, each with its batch; all (M,), except the classes, the side of a slice and the inputs,
    which all share.

    filters  of the first block    head  index in HEADS    residual  whether blocks are    normalised  whether
        poolings are
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
    def channels(self) -> int:
        """Channels of the input."""
        return sum(INPUTS[kind] for kind in self.inputs)

    def widths(self, block: int | Integers) -> Integers:
        """(M,) filters of a block, or of one block (M,) per row, counted from 0, as in
        `Architecture.widths`."""
        return np.minimum(self.filters * self.widen**block, np.maximum(self.filters, WIDEST))

    @property
    def numbers(self) -> dict[str, Column]:
        """The columns by name."""
        return {
            name: column for name, column in vars(self).items() if isinstance(column, np.ndarray)
        }

    def taken(self, rows: Any) -> Columns:
        """Only these rows: a mask (M,), or row numbers."""
        return replace(self, **{name: column[rows] for name, column in self.numbers.items()})

    def distinct(self) -> Columns:
        """Every network with each of its batches once, sorted by the columns: the learning rate does not
        change the cost."""
        _, first = np.unique(
            np.stack(list(self.numbers.values()), axis=1), axis=0, return_index=True
        )
        return self.taken(first)

    def architecture(self, row: int) -> Architecture:
        """The architecture of one row, ready to be built."""
        return Architecture(
            int(self.blocks[row]),
            int(self.convolutions[row]),
            int(self.filters[row]).bit_length() - 1,
            int(self.kernel[row]),
            bool(self.separable[row]),
            self.classes,
            HEADS[self.head[row]],
            self.side,
            "residual" if self.residual[row] else "plain",
            int(self.widen[row]),
            self.inputs,
            int(self.stride[row]),
            NORMS[int(self.normalised[row])],
        )

    @classmethod
    def of_architectures(cls, nets: Sequence[Architecture], batches: Sequence[int]) -> Columns:
        """Networks of the same classes, side and inputs, one or more, each with its batch."""
        numbers = [
            (
                net.blocks,
                net.convolutions,
                net.filters,
                net.kernel,
                HEADS.index(net.head),
                net.widen,
                net.stride,
            )
            for net in nets
        ]
        blocks, convolutions, filters, kernel, head, widen, stride = np.array(
            numbers, dtype=np.int64
        ).T
        words = [(net.separable, net.block == "residual", net.norm == "pooled") for net in nets]
        separable, residual, normalised = np.array(words, dtype=bool).T
        batch = np.array(batches, dtype=np.int64)
        shared = nets[0].classes, nets[0].side, nets[0].inputs
        return cls(
            blocks,
            convolutions,
            filters,
            kernel,
            separable,
            head,
            residual,
            widen,
            stride,
            normalised,
            batch,
            *shared,
        )


def columns_of_space(
    space: Space, *, classes: int, head: str, inputs: Sequence[str] = ("slice",), side: int = 128
) -> Columns:
    """The rows of a space; `head` is used if the space has no axis of that name."""
    words = {name for names in axes.OPTIONAL for name in names}
    named = {
        axis.name: np.array(axis.levels, dtype=object if axis.name in words else None)[level]
        for axis, level in zip(space.axes, space.rows.T, strict=True)
    }
    return replace(_columns(named, len(space), classes, head, tuple(inputs)), side=side)


def columns_of(
    configurations: Sequence[Mapping[str, Any]],
    *,
    classes: int,
    head: str,
    inputs: Sequence[str] = ("slice",),
) -> Columns:
    """The rows of a list of configurations, all with the same axes."""
    names = [
        name
        for names in axes.ALTERNATIVES
        for name in names
        if configurations and name in configurations[0]
    ]
    named = {
        name: np.array([configuration[name] for configuration in configurations]) for name in names
    }
    return _columns(named, len(configurations), classes, head, tuple(inputs))


def joined(first: Columns, second: Columns) -> Columns:
    """The rows of both, which have the same classes, side and inputs."""
    both: dict[str, Any] = {
        name: np.concatenate([column, getattr(second, name)])
        for name, column in first.numbers.items()
    }
    return replace(first, **both)


def _columns(
    named: Mapping[str, Column], rows: int, classes: int, head: str, inputs: tuple[str, ...]
) -> Columns:
    def words(name: str, default: str, known: Sequence[str]) -> Integers:
        values = np.asarray(named.get(name, np.full(rows, default)), dtype=object)
        return np.asarray(
            np.argmax(values[:, None] == np.array(known, dtype=object), axis=1), dtype=np.int64
        )

    def ones(name: str) -> Integers:
        return np.asarray(named.get(name, np.ones(rows)), dtype=np.int64)

    batch = (
        named["batch"].astype(np.int64)
        if "batch" in named
        else 2 ** named["log2_batch"].astype(np.int64)
    )
    return Columns(
        named["blocks"].astype(np.int64),
        named["convolutions"].astype(np.int64),
        2 ** named["log2_filters"].astype(np.int64),
        named["kernel"].astype(np.int64),
        named["separable"].astype(bool),
        words("head", head, HEADS),
        words("block", "plain", BLOCKS) == BLOCKS.index("residual"),
        ones("widen"),
        ones("stride"),
        words("norm", "none", NORMS) == NORMS.index("pooled"),
        batch,
        classes,
        inputs=inputs,
    )
