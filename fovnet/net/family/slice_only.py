"""Networks that see only the slice, made from networks trained with their other inputs sometimes
black.

A network that sees a slice's place in the body relies on it, and errs if the body is cropped,
crouched or unlike the training data.  One that sees the slice alone makes other errors: if only
some members of an ensemble see the place, it does not mislead all of them.
"""

from __future__ import annotations

from collections.abc import Mapping

import torch
from torch import Tensor

from fovnet.net.family.model import NORM_EPSILON

NORMALISE_LAYER = "normalise"


def slice_only_weights(tensors: Mapping[str, Tensor]) -> dict[str, Tensor]:
    """The weights of a network whose output, for any content of its other channels, is that of the
    given network with these black.

    tensors  by their names in `fovnet.net.family.model.Network`
    Channel x is normalised to γ (x - μ) / √(v + ε) + β; γ' = 0 and β' = β - γ μ / √(v + ε) give the
    value for black, at no extra cost.
    """
    slice_only_tensors = dict(tensors)
    gamma, beta, mean, variance = (
        tensors[f"{NORMALISE_LAYER}.{name}"]
        for name in ("weight", "bias", "running_mean", "running_var")
    )
    shift_for_black = beta - gamma * mean / (variance + NORM_EPSILON).sqrt()
    is_slice = torch.arange(len(gamma)) == 0
    slice_only_tensors[f"{NORMALISE_LAYER}.weight"] = torch.where(
        is_slice, gamma, torch.zeros_like(gamma)
    )
    slice_only_tensors[f"{NORMALISE_LAYER}.bias"] = torch.where(is_slice, beta, shift_for_black)
    return slice_only_tensors
