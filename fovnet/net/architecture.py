"""One member of the VGG-like family, as numbers; no torch here, so that every row of the space can be priced at once.

    b blocks, each of c convolutions (s x s, or 1 x s then s x 1 where separable) of 2^r filters with bias, "same" padding, ReLU, then
    2 x 2 max-pooling; head "fc": 4096, ReLU, 1024, ReLU, k classes; head "gap": global average pooling, k classes.  One batch
    normalisation of the input channel.
Source: Bertrand et al., Classification of MRI data using deep learning and Gaussian process-based model selection (ISBI 2017).
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from itertools import pairwise
from typing import Any

FC = (4096, 1024)
"""Widths of the two fully-connected layers of the paper."""

INPUT_NUMBERS = 4
"""Scale, shift, running mean and running variance of the one input channel."""


@dataclass(frozen=True)
class Architecture:
    """What has to be known to build a network, apart from its weights."""

    blocks: int
    convolutions: int
    log2_filters: int
    kernel: int
    separable: bool
    classes: int
    head: str = "fc"
    side: int = 128

    @property
    def filters(self) -> int:
        """Channels of every convolution, 2^r."""
        return int(2**self.log2_filters)

    @property
    def pooled_side(self) -> int:
        """Pixels along a side after the last pooling; each pooling halves and rounds down."""
        return self.side >> self.blocks

    @property
    def weights(self) -> int:
        """Numbers stored in the network, the four of the input normalisation counted."""
        f, s = self.filters, self.kernel

        def convolution(channels: int) -> int:
            if self.separable:
                return (channels * f * s + f) + (f * f * s + f)
            return channels * f * s * s + f

        body = convolution(1) + (self.blocks * self.convolutions - 1) * convolution(f)
        widths = (f, self.classes) if self.head == "gap" else (self.pooled_side**2 * f, *FC, self.classes)
        dense = sum(a * b + b for a, b in pairwise(widths))
        return INPUT_NUMBERS + body + dense


def from_configuration(configuration: Mapping[str, Any], *, classes: int, head: str, side: int = 128) -> Architecture:
    """The architecture of a row of the search space; learning rate and batch size are no part of it."""
    return Architecture(
        blocks=int(configuration["blocks"]),
        convolutions=int(configuration["convolutions"]),
        log2_filters=int(configuration["log2_filters"]),
        kernel=int(configuration["kernel"]),
        separable=bool(configuration["separable"]),
        classes=classes,
        head=head,
        side=side,
    )
