"""The last layer of trained networks, and what it is given: for fitting it anew on few slices.

s  slices
f  hidden features of one network
k  classes
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

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


def compute_hidden_features(
    networks: Sequence[Path],
    pixels: NDArray[np.uint8],
    rows: NDArray[np.int64],
    placing: Placing | None,
    device: torch.device,
    progress: Callable[[int, int], Any] = lambda done, total: None,
) -> list[NDArray[np.float32]]:
    """(s, f) for each network: what its last layer is given for the slices `rows` of all `pixels`.

    Raises ModelError as `fovnet.net.family.weights.load_network`.
    """
    members = [load_network(path, device)[0] for path in networks]
    kinds = input_kinds_of(members)
    for member in members:
        member.classes = nn.Identity()
    batches_of_members: list[list[NDArray[np.float32]]] = [[] for _ in members]
    for start in range(0, len(rows), SLICES_AT_ONCE):
        images = load_images(pixels, rows[start : start + SLICES_AT_ONCE], kinds, placing, device)
        with torch.inference_mode():
            for member_batches, member in zip(batches_of_members, members, strict=True):
                member_batches.append(member(images).float().cpu().numpy())
        progress(min(start + SLICES_AT_ONCE, len(rows)), len(rows))
    return [np.concatenate(member_batches) for member_batches in batches_of_members]
