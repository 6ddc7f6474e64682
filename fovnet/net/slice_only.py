"""Networks that see a slice and nothing beside it, made of networks that learned to do without the rest now and then.

A network that is shown a slice's place in its body comes to trust that place, and where the body is cut, crouched or unlike those it
knows, it errs with it.  One that sees the slice alone errs otherwise: where only some of an ensemble's members are shown the
place, what misleads these does not mislead the others.
"""

from __future__ import annotations

from collections.abc import Mapping

import torch
from torch import Tensor

from fovnet.net.model import NORM_EPSILON

NORMALISE = "normalise"


def slice_only_weights(tensors: Mapping[str, Tensor]) -> dict[str, Tensor]:
    """The weights of a network whose output, whatever stands in its other channels, is that of the given one with black in them.

    tensors  named as `fovnet.net.model.Network` has them
    Channel x is normalised to γ (x - μ) / √(v + ε) + β: with γ' = 0 and β' = β - γ μ / √(v + ε) to what black is, at no cost in answering.
    """
    made = dict(tensors)
    scale, shift, mean, variance = (tensors[f"{NORMALISE}.{name}"] for name in ("weight", "bias", "running_mean", "running_var"))
    black = shift - scale * mean / (variance + NORM_EPSILON).sqrt()
    first = torch.arange(len(scale)) == 0
    made[f"{NORMALISE}.weight"] = torch.where(first, scale, torch.zeros_like(scale))
    made[f"{NORMALISE}.bias"] = torch.where(first, shift, black)
    return made
