"""The weights of the network that a training begins with: loaded into a new one, or blended with
what came of it."""

from __future__ import annotations

import math
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
from fovnet.regions import WHOLE_BY_PART, parts_beside

# the last layer of every head, by name: a file may store tensors in another order
LAST_LAYER_TENSORS = ("classes.weight", "classes.bias")


def load_beginning(
    model: Network, architecture: NetworkShape, weights_path: Path, class_names: Sequence[str]
) -> None:
    """Replace the model's weights and running statistics by those of a network in a file; the last
    layer's only if its classes are `class_names`, in this order, or these are parts of them.

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
    widened_layer = widen_last_layer(tensors, facts.get("classes", ()), class_names)
    if widened_layer is None:
        drawn_tensors = model.state_dict()
        widened_layer = {name: drawn_tensors[name] for name in LAST_LAYER_TENSORS}
    model.load_state_dict(tensors | widened_layer)


def widen_last_layer(
    tensors: Mapping[str, Tensor], classes: Sequence[str], class_names: Sequence[str]
) -> dict[str, Tensor] | None:
    """The last layer of a network with `classes`, for `class_names`: each class as it was, or as its
    whole was with a bias less the logarithm of the number of parts, so that the parts' probabilities
    are equal and sum to that of the whole.  None unless every class has such a source, and some are
    parts."""
    if list(classes) == list(class_names):
        return {name: tensors[name] for name in LAST_LAYER_TENSORS}
    source_rows = []
    log_part_counts = []
    for name in class_names:
        parts = parts_beside(name, class_names)
        source_name = name if len(parts) == 1 else WHOLE_BY_PART[name]
        if source_name not in classes:
            return None
        source_rows.append(list(classes).index(source_name))
        log_part_counts.append(math.log(len(parts)))
    if len(set(source_rows)) != len(classes) or not any(log_part_counts):
        return None
    weight, bias = (tensors[name][source_rows].float() for name in LAST_LAYER_TENSORS)
    return dict(
        zip(LAST_LAYER_TENSORS, (weight, bias - bias.new_tensor(log_part_counts)), strict=True)
    )


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
    If its classes are neither those of the start nor parts of them, the last layer is the network's
    own.  Wortsman et al. (2022), Robust fine-tuning of zero-shot models, eq. 1: the interpolated
    network performs well on the data of both.  Raises ModelError as
    `fovnet.net.family.weights.load_tensors` does.
    """
    start_tensors, start_facts = load_tensors(start_path)
    start_layer = widen_last_layer(
        start_tensors, start_facts.get("classes", ()), facts.get("classes", ())
    )
    start_tensors |= start_layer or {}
    blended_tensors = dict(tensors)
    for name, tensor in tensors.items():
        is_drawn_anew = start_layer is None and name in LAST_LAYER_TENSORS
        if tensor.is_floating_point() and not is_drawn_anew:
            blended_tensors[name] = torch.lerp(
                start_tensors[name].float(), tensor.float(), network_weight
            )
    return blended_tensors
