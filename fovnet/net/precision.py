"""Weights in the precision in which they are kept: float16 takes half the room, and what it cannot hold is refused by name.

Loading gives float32 networks either way, so that half precision costs nothing but the rounding: a weight keeps 11 of its 24 bits.
"""

from __future__ import annotations

from pathlib import Path

import torch
from torch import Tensor

from fovnet.errors import ModelError
from fovnet.net.warm_start import blended
from fovnet.net.weights import load_tensors, save_tensors
from fovnet.records import copy

PRECISIONS = {"float32": torch.float32, "float16": torch.float16}


def write_weights(source: Path, target: Path, precision: str, *, alone: bool = False, mixed: tuple[float, Path] | None = None) -> Path:
    """`target`, holding the network of a weights file in one of PRECISIONS; float32 is the file as it is, byte for byte.

    alone  of all that it is shown it is to see the slice alone: `load_network` makes it so; what it learned of the rest stays in the file
    mixed  its share in the weights, and the file of the network it was trained from, whose the others are; None: all are its own
    Counts stay integers.  Raises ModelError where the file is missing or damaged, and where a weight is too large for the precision.
    """
    if PRECISIONS[precision] is torch.float32 and not alone and mixed is None:
        return copy(source, target)
    tensors, facts = load_tensors(source)
    tensors = tensors if mixed is None else blended(tensors, facts, *mixed)
    rounded = {name: _rounded(source, name, tensor, precision) for name, tensor in tensors.items()}
    return save_tensors(target, rounded, {**facts, "alone": True} if alone else facts)


def _rounded(source: Path, name: str, tensor: Tensor, precision: str) -> Tensor:
    if not tensor.is_floating_point():
        return tensor
    rounded = tensor.to(PRECISIONS[precision])
    if bool((tensor.isfinite() & ~rounded.isfinite()).any()):
        seen, most = float(tensor.abs().max()), torch.finfo(rounded.dtype).max
        raise ModelError(
            "weights-overflow",
            f"{source}: {name} holds {seen:g}, {precision} at most {most:g}; set ensemble.precision to float32, or leave this trial out",
        )
    return rounded
