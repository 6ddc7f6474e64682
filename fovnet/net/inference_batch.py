"""How many slices networks answer together: many, so that weights are read seldom, and no more than memory is there for."""

from __future__ import annotations

from collections.abc import Iterable
from math import prod

import torch
from torch import nn

AT_LEAST = 16
AT_MOST = {"cpu": 128, "cuda": 1024}    # each call reads the millions of fully-connected weights once: at 16 it is a third slower on a CPU
LARGEST_BYTES = 2**28                   # of a network's largest answer: with what else a layer works in, about 0.8 GB at the peak
NUMBER_BYTES = {"cpu": 4, "cuda": 2}    # of float32, and of bfloat16


def inference_batch_size(networks: Iterable[nn.Module], pixels: int, device: torch.device) -> int:
    """How many slices of so many pixels fill LARGEST_BYTES with what the widest opening convolution of the networks answers; 16 at least,
    and at most what is any faster.

    A network of 128 filters, which trains on four slices in 0.13 GB, took 1.9 GB to validate 128 at once.
    """
    opening = [next(layer for layer in network.modules() if isinstance(layer, nn.Conv2d)) for network in networks]
    numbers = max(layer.out_channels * pixels // prod(int(step) for step in layer.stride) for layer in opening)
    return max(AT_LEAST, min(AT_MOST[device.type], LARGEST_BYTES // (NUMBER_BYTES[device.type] * numbers)))
