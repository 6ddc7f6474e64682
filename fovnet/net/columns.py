"""The rows of a space as a network and its training see them: columns of numbers, so that all are priced at once.

    M  rows
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from fovnet.net import axes
from fovnet.net.architecture import Architecture
from fovnet.search.space import Space

Integers = NDArray[np.int64]
Column = NDArray[Any]


@dataclass(frozen=True)
class Columns:
    """M networks, each with the batch it is trained with; all (M,), but the classes and the side of a slice, which all share.

    pooled  whether the head is "gap", global average pooling, and not "fc"
    """

    blocks: Integers
    convolutions: Integers
    filters: Integers
    kernel: Integers
    separable: NDArray[np.bool_]
    pooled: NDArray[np.bool_]
    batch: Integers
    classes: int
    side: int = 128

    def __len__(self) -> int:
        return len(self.blocks)

    @property
    def numbers(self) -> dict[str, Column]:
        """The columns by their names."""
        return {name: column for name, column in vars(self).items() if isinstance(column, np.ndarray)}

    def taken(self, rows: Any) -> Columns:
        """These rows alone: a mask (M,), or row numbers."""
        return replace(self, **{name: column[rows] for name, column in self.numbers.items()})

    def distinct(self) -> Columns:
        """Every network with each of its batches once, in the order of the columns: the learning rate costs nothing."""
        _, first = np.unique(np.stack(list(self.numbers.values()), axis=1), axis=0, return_index=True)
        return self.taken(first)

    def architecture(self, row: int) -> Architecture:
        """The architecture of one row, ready to be built."""
        return Architecture(
            int(self.blocks[row]), int(self.convolutions[row]), int(self.filters[row]).bit_length() - 1, int(self.kernel[row]),
            bool(self.separable[row]), self.classes, "gap" if self.pooled[row] else "fc", self.side,
        )  # fmt: skip

    @classmethod
    def of_architectures(cls, nets: Sequence[Architecture], batches: Sequence[int]) -> Columns:
        """Networks of the same classes and side, one or more, each with its batch."""
        numbers = [(net.blocks, net.convolutions, net.filters, net.kernel) for net in nets]
        blocks, convolutions, filters, kernel = np.array(numbers, dtype=np.int64).T
        separable, pooled = np.array([(net.separable, net.head == "gap") for net in nets], dtype=bool).T
        batch = np.array(batches, dtype=np.int64)
        return cls(blocks, convolutions, filters, kernel, separable, pooled, batch, nets[0].classes, nets[0].side)


def columns_of_space(space: Space, *, classes: int, head: str) -> Columns:
    """The rows of a space; `head` where the space has no axis of that name."""
    named = {
        axis.name: np.array(axis.levels, dtype=object if axis.name == axes.OPTIONAL else None)[level]
        for axis, level in zip(space.axes, space.rows.T, strict=True)
    }
    return _columns(named, len(space), classes, head)


def columns_of(configurations: Sequence[Mapping[str, Any]], *, classes: int, head: str) -> Columns:
    """The rows of a list of configurations, all with the same axes."""
    names = [name for names in axes.ALTERNATIVES for name in names if configurations and name in configurations[0]]
    named = {name: np.array([configuration[name] for configuration in configurations]) for name in names}
    return _columns(named, len(configurations), classes, head)


def joined(first: Columns, second: Columns) -> Columns:
    """The rows of one and of the other, of the same classes and side."""
    both: dict[str, Any] = {name: np.concatenate([column, getattr(second, name)]) for name, column in first.numbers.items()}
    return replace(first, **both)


def _columns(named: Mapping[str, Column], rows: int, classes: int, head: str) -> Columns:
    heads = named.get(axes.OPTIONAL, np.full(rows, head))
    batch = named["batch"].astype(np.int64) if "batch" in named else 2 ** named["log2_batch"].astype(np.int64)
    return Columns(
        named["blocks"].astype(np.int64), named["convolutions"].astype(np.int64), 2 ** named["log2_filters"].astype(np.int64),
        named["kernel"].astype(np.int64), named["separable"].astype(bool), heads == "gap", batch, classes,
    )  # fmt: skip
