"""The last layer of trained networks, and what it is given: for fitting it anew on few slices.

s  slices
f  hidden features of one network, or of all
k  classes
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import torch
from numpy.typing import NDArray
from torch import nn

from fovnet.maths.softmax_regression import Layer
from fovnet.net.family.weights import load_network, load_tensors, save_tensors
from fovnet.net.images.inputs import input_kinds_of, load_images
from fovnet.volume.slices.placing import Placing

WEIGHT_NAME = "classes.weight"
BIAS_NAME = "classes.bias"
SLICES_AT_ONCE = 64  # slices: the first block's outputs of a network of 64 filters then take 270 MB


def read_last_layer(network: Path) -> Layer:
    """Weights (k, f) and biases (k,) of the last layer of a network's file.

    Raises ModelError as `fovnet.net.family.weights.load_tensors`.
    """
    tensors, _ = load_tensors(network)
    return tensors[WEIGHT_NAME].double().numpy(), tensors[BIAS_NAME].double().numpy()


def write_with_last_layer(network: Path, target: Path, layer: Layer) -> Path:
    """`target`, holding the network of a file with another last layer, weights (k, f) and biases
    (k,), all in float32; the network's facts as they were.

    Raises ModelError as `fovnet.net.family.weights.load_tensors`.
    """
    tensors, facts = load_tensors(network)
    for name, tensor in tensors.items():
        if tensor.is_floating_point():
            tensors[name] = tensor.float()
    weight, bias = layer
    tensors[WEIGHT_NAME] = torch.from_numpy(weight).float()
    tensors[BIAS_NAME] = torch.from_numpy(bias).float()
    return save_tensors(target, tensors, facts)


@dataclass(frozen=True)
class HeadlessNetworks:
    """Networks without their last layers."""

    members: Sequence[nn.Module]
    device: torch.device

    @classmethod
    def load(cls, networks: Sequence[Path], device: torch.device) -> HeadlessNetworks:
        """Those of these files.  Raises ModelError as `fovnet.net.family.weights.load_network`."""
        members = [load_network(path, device)[0] for path in networks]
        for member in members:
            member.classes = nn.Identity()
        return cls(members, device)

    def compute_features(
        self, pixels: NDArray[np.uint8], rows: NDArray[np.int64], placing: Placing | None
    ) -> NDArray[np.float32]:
        """(s, f) of all networks side by side: what their last layers are given for the slices
        `rows` (s,) of all `pixels`."""
        input_kinds = input_kinds_of(self.members)
        batches = []
        for start in range(0, len(rows), SLICES_AT_ONCE):
            batch_rows = rows[start : start + SLICES_AT_ONCE]
            images = load_images(pixels, batch_rows, input_kinds, placing, self.device)
            with torch.inference_mode():
                features = [member(images).float().cpu().numpy() for member in self.members]
            batches.append(np.concatenate(features, axis=1))
        return np.concatenate(batches)
