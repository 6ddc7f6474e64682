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

    def taken(self, rows: Any) -> Columns:
        """These rows alone: a mask (M,), or row numbers."""
        each = {name: column[rows] for name, column in vars(self).items() if isinstance(column, np.ndarray)}
        return replace(self, **each)

    def architecture(self, row: int) -> Architecture:
        """The architecture of one row, ready to be built."""
        return Architecture(
            int(self.blocks[row]), int(self.convolutions[row]), int(self.filters[row]).bit_length() - 1, int(self.kernel[row]),
            bool(self.separable[row]), self.classes, "gap" if self.pooled[row] else "fc", self.side,
        )  # fmt: skip


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


def columns_of_architecture(net: Architecture, batch: int = 1) -> Columns:
    """One network as one row."""
    def one(number: int) -> Integers:
        return np.array([number])

    return Columns(
        one(net.blocks), one(net.convolutions), one(net.filters), one(net.kernel), np.array([net.separable]),
        np.array([net.head == "gap"]), one(batch), net.classes, net.side,
    )  # fmt: skip


def _columns(named: Mapping[str, Column], rows: int, classes: int, head: str) -> Columns:
    heads = named.get(axes.OPTIONAL, np.full(rows, head))
    batch = named["batch"].astype(np.int64) if "batch" in named else 2 ** named["log2_batch"].astype(np.int64)
    return Columns(
        named["blocks"].astype(np.int64), named["convolutions"].astype(np.int64), 2 ** named["log2_filters"].astype(np.int64),
        named["kernel"].astype(np.int64), named["separable"].astype(bool), heads == "gap", batch, classes,
    )  # fmt: skip
