"""Dropout whose choice of units follows from one drawn number a slice.

torch's own draws from the global generator, which no checkpoint holds, and which a recorded step on
CUDA advances otherwise.  Here unit j of layer l is kept where h >= p · 2^32:

    a = floor(u · 2^32),  h = mix(mix(a + 0x9E3779B1 j + 0x85EBCA6B (l + 1)) + a),  all modulo 2^32

with u the slice's number in [0, 1).  Sources: Srivastava et al., Dropout (2014); the finaliser of
Wellons, Prospecting for hash functions (2018), "lowbias32".
"""

from __future__ import annotations

from math import ceil

import torch
from torch import Tensor, nn

UNIT_FACTOR = 0x9E3779B1
LAYER_FACTOR = 0x85EBCA6B
FIRST_MIX_FACTOR = 0x7FEB352D
SECOND_MIX_FACTOR = 0x846CA68B


class Dropout(nn.Module):
    """Leaves out the share `rate` of units in training, and scales the others by 1 / (1 - rate).

    layer  its number in the network, from 0: no two layers of a network leave out alike
    """

    def __init__(self, rate: float, layer: int) -> None:
        super().__init__()
        self.rate = rate
        self.layer = layer

    def forward(self, units: Tensor, slice_draws: Tensor | None = None) -> Tensor:
        """(n, w), of units (n, w) and, in training, numbers in [0, 1) of the slices (n,)."""
        if not self.training:
            return units
        assert slice_draws is not None, "dropout is trained with a drawn number for each slice"
        is_kept = keep_units(slice_draws, units.shape[1], self.layer, self.rate)
        return torch.where(is_kept, units * (1 / (1 - self.rate)), 0.0)

    def extra_repr(self) -> str:
        """As torch's layers show their settings."""
        return f"{self.rate}, layer={self.layer}"


def keep_units(slice_draws: Tensor, unit_count: int, layer: int, rate: float) -> Tensor:
    """(n, w) whether each of w units is kept, for numbers (n,) in [0, 1) of the slices.

    Computed in wrapping int32, in place: int64 takes twice the memory, 0.5 GB for a batch of 128
    slices of 124 x 124 x 6 numbers.
    """
    device = slice_draws.device
    slice_hashes = _wrap_to_int32((slice_draws.double() * 2.0**32).long())
    units = torch.arange(unit_count, device=device) * UNIT_FACTOR + LAYER_FACTOR * (layer + 1)
    hashes = slice_hashes[:, None] + _wrap_to_int32(units)
    _mix(hashes).add_(slice_hashes[:, None])
    _mix(hashes)
    # as unsigned numbers compare: the highest bit turned
    least_kept = min(ceil(rate * 2.0**32), 2**32 - 1) - 2**31
    return hashes.bitwise_xor_(-(2**31)).ge(least_kept)


def _mix(hashes: Tensor) -> Tensor:
    """Each number of int32 hashes mixed in place, as an unsigned one; the same tensor."""
    for shift, factor in ((16, FIRST_MIX_FACTOR), (15, SECOND_MIX_FACTOR)):
        _xor_shifted(hashes, shift)
        hashes.mul_(factor - 2**32 if factor >= 2**31 else factor)
    return _xor_shifted(hashes, 16)


def _xor_shifted(hashes: Tensor, shift: int) -> Tensor:
    """x ^= x >> shift, in place; int32 shifts copies of its sign in, which the mask takes out."""
    shifted = (hashes >> shift).bitwise_and_(2 ** (32 - shift) - 1)
    return hashes.bitwise_xor_(shifted)


def _wrap_to_int32(numbers: Tensor) -> Tensor:
    """int64 numbers modulo 2^32, as int32 of the same bits."""
    return ((numbers + 2**31) % 2**32 - 2**31).int()
