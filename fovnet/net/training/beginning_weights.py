"""The weights of the network that a training begins with: loaded into a new one, or blended with
what came of it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import torch
from torch import Tensor

from fovnet.errors import ModelError
from fovnet.net.family.facts import read_architecture
from fovnet.net.family.layered import NetworkShape
from fovnet.net.family.model import Network
from fovnet.net.family.weights import load_tensors
from fovnet.net.training.warm_start import value_in_words

# the last layer of every head, by name: a file may store tensors in another order
LAST_LAYER_TENSORS = ("classes.weight", "classes.bias")


def load_beginning(
    model: Network, architecture: NetworkShape, weights_path: Path, class_names: Sequence[str]
) -> None:
    """Replace the model's weights and running statistics by those of a network in a file; the last
    layer's only if its classes are `class_names`, in this order.

    Raises ModelError ("begin-other-network") if the network has another architecture, which
    includes its family and inputs, and as `read_architecture`.
    """
    tensors, facts = load_tensors(weights_path)
    file_architecture = read_architecture(weights_path, facts)
    if replace(file_architecture, classes=architecture.classes) != architecture:
        differences = _differences_in_words(file_architecture, architecture)
        raise ModelError(
            "begin-other-network",
            f"{weights_path}: {differences}; set training.inputs and training.head as it was trained",
        )
    if list(facts.get("classes", ())) != list(class_names):
        drawn_tensors = model.state_dict()
        tensors |= {name: drawn_tensors[name] for name in LAST_LAYER_TENSORS}
    model.load_state_dict(tensors)


def _differences_in_words(file_architecture: NetworkShape, architecture: NetworkShape) -> str:
    """What a network in a file has otherwise than the one here, their classes apart."""
    if type(file_architecture) is not type(architecture):
        return "its network is of another family"
    file_values = vars(file_architecture)
    return "; ".join(
        f"its {name} {value_in_words(file_values[name])}, here {value_in_words(value)}"
        for name, value in vars(architecture).items()
        if name != "classes" and file_values[name] != value
    )


def blend_tensors(
    tensors: Mapping[str, Tensor], facts: Mapping[str, Any], network_weight: float, start_path: Path
) -> dict[str, Tensor]:
    """Weights and running statistics interpolated between a network, with weight `network_weight`,
    and the network that it was trained from.

    facts       of the network, as in its file
    start_path  the file of the network that it was trained from
    If their classes differ, the last layer is the network's own.  Wortsman et al. (2022), Robust
    fine-tuning of zero-shot models, eq. 1: the interpolated network performs well on the data of
    both.  Raises ModelError as `fovnet.net.family.weights.load_tensors` does.
    """
    start_tensors, start_facts = load_tensors(start_path)
    has_other_classes = start_facts.get("classes") != facts.get("classes")
    blended_tensors = dict(tensors)
    for name, tensor in tensors.items():
        if tensor.is_floating_point() and not (has_other_classes and name in LAST_LAYER_TENSORS):
            blended_tensors[name] = torch.lerp(
                start_tensors[name].float(), tensor.float(), network_weight
            )
    return blended_tensors
