"""Weights in the precision in which they are stored: float16 takes half the space, and weights that
overflow it are refused by name.

Loading gives float32 networks in either case, so that half precision only rounds: a weight keeps 11
of its 24 bits.
"""

from __future__ import annotations

from pathlib import Path

import torch
from torch import Tensor

from fovnet.errors import ModelError
from fovnet.net.family.weights import load_tensors, save_tensors
from fovnet.net.training.beginning_weights import blend_tensors
from fovnet.records import copy_file

TYPE_BY_PRECISION = {"float32": torch.float32, "float16": torch.float16}


def write_weights(
    source: Path,
    target: Path,
    precision: str,
    *,
    alone: bool = False,
    blend: tuple[float, Path] | None = None,
) -> Path:
    """`target`, holding the network of a weights file in a precision of TYPE_BY_PRECISION; float32
    is the file as it is, byte for byte.

    alone  the network is to see only the slice of its inputs: `load_network` applies it; the
           weights in the file are unchanged
    blend  the weight of the network in a blend, and the file of the one it was trained from,
           which has the rest; None: no blending
    Counts stay integers.  Raises ModelError if the file is missing or damaged, or a weight is too
    large for the precision.
    """
    if TYPE_BY_PRECISION[precision] is torch.float32 and not alone and blend is None:
        return copy_file(source, target)
    tensors, facts = load_tensors(source)
    if blend is not None:
        tensors = blend_tensors(tensors, facts, *blend)
    if alone:
        facts = {**facts, "alone": True}
    rounded_tensors = {
        name: _round_tensor(source, name, tensor, precision) for name, tensor in tensors.items()
    }
    return save_tensors(target, rounded_tensors, facts)


def _round_tensor(weights_path: Path, tensor_name: str, tensor: Tensor, precision: str) -> Tensor:
    """The tensor in a precision, if it is floating-point.  Raises ModelError "weights-overflow"."""
    if not tensor.is_floating_point():
        return tensor
    rounded_tensor = tensor.to(TYPE_BY_PRECISION[precision])
    if bool((tensor.isfinite() & ~rounded_tensor.isfinite()).any()):
        raise ModelError(
            "weights-overflow",
            f"{weights_path}: {tensor_name} holds {float(tensor.abs().max()):g}, {precision} at most "
            f"{torch.finfo(rounded_tensor.dtype).max:g}; set ensemble.precision to float32, or leave "
            "this trial out",
        )
    return rounded_tensor
