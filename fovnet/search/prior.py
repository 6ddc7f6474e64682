"""What earlier searches taught: networks trained on the orders of their losses, and the losses
themselves.

    axes  of the space         D  columns of its unit cube        n  rows of a source
One safetensors file; the same sources, settings and seed give the same bytes.  Nothing in it is
unpickled.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray
from safetensors import SafetensorError
from safetensors.numpy import load, save

from fovnet.errors import SearchError
from fovnet.maths.rankers import CODE, LATENT, DeepSet, Ranker
from fovnet.maths.scorers import Layers
from fovnet.records import replace_with
from fovnet.search.space import Axis, Space

Floats = NDArray[np.float64]
Integers = NDArray[np.int64]
FACTS_KEY = "fovnet"
"""The only entry of the file's metadata, a JSON text: the order of several is undefined."""


@dataclass(frozen=True, eq=False)
class EarlierSearch:
    """An earlier search: levels (n, d) and losses (n,) of the rows it trained, from the lowest
    loss; a large one's are thinned out in a file.

    scored  number of its rows with a loss
    """

    name: str
    sha256: str
    scored: int
    levels: Integers
    losses: Floats

    @property
    def facts(self) -> dict[str, Any]:
        """All but the arrays, as JSON."""
        return {"name": self.name, "sha256": self.sha256, "scored": self.scored}


@dataclass(frozen=True, eq=False)
class Prior:
    """The parsed file, and its bytes.

    facts  fovnet's version, settings, seed, number of steps, and how well held-out sources were
           predicted
    """

    axes: tuple[Axis, ...]
    ranker: Ranker
    sources: tuple[EarlierSearch, ...]
    facts: Mapping[str, Any]
    data: bytes

    @cached_property
    def sha256(self) -> str:
        """Of the file."""
        return hashlib.sha256(self.data).hexdigest()


def support_of(x: Floats, first: Integers) -> Floats:
    """The support (n, D + 1) of sorted points: each with its level among them, the share of better
    ones."""
    return np.column_stack([x, (first + 0.5) / max(1, len(first))])


def prior_of(
    axes: Sequence[Axis], ranker: Ranker, sources: Sequence[EarlierSearch], facts: Mapping[str, Any]
) -> Prior:
    """The prior of these parts, as it is read again from its file."""
    tensors: dict[str, NDArray[Any]] = {}
    for name, layers in zip(_part_names(ranker.task is not None), ranker.parts, strict=True):
        for i, (weights, biases) in enumerate(layers.views):
            tensors[f"{name}.{i}.weight"] = weights.copy()
            tensors[f"{name}.{i}.bias"] = biases.copy()
    for i, source in enumerate(sources):
        tensors[f"source.{i}.levels"] = source.levels.copy()
        tensors[f"source.{i}.losses"] = source.losses.copy()
    description = {
        "axes": [axis.facts for axis in axes],
        "sources": [source.facts for source in sources],
        **facts,
    }
    return parse_prior(save(tensors, {FACTS_KEY: json.dumps(description)}))


def write_prior(prior: Prior, path: Path) -> Path:
    """The path, holding the prior's bytes."""
    return replace_with(path, lambda file: file.write(prior.data))


def read_prior(path: Path, axes: Sequence[Axis]) -> Prior:
    """The prior in a file, for a space of these axes.

    Raises SearchError "prior-missing", "prior-damaged", or "prior-space" where it is of other axes.
    """
    try:
        prior = parse_prior(path.read_bytes())
    except FileNotFoundError:
        remedy = f"`fovnet search learn JOURNAL... --config CONFIG --out {path}` makes it"
        raise SearchError(
            "prior-missing", f"{path}: no such prior; {remedy}, or leave out search.prior."
        ) from None
    except (OSError, ValueError, KeyError, TypeError, AttributeError, SafetensorError) as fault:
        raise SearchError(
            "prior-damaged",
            f"{path}: not a readable prior ({fault}); learn it again with `fovnet search learn`.",
        ) from fault
    if axis_difference := difference(prior.axes, axes):
        other_remedy = "learn it again for this space with `fovnet search learn`"
        raise SearchError("prior-space", f"{path}: {axis_difference}; {other_remedy}.")
    return prior


def parse_prior(data: bytes) -> Prior:
    """The prior of a file's bytes.  Raises ValueError, KeyError, TypeError, AttributeError or
    SafetensorError for anything else."""
    tensors = load(data)
    description = _read_description(data)
    axes = tuple(Axis.from_facts(facts) for facts in description.pop("axes"))
    input_width = Space(axes, np.zeros((1, len(axes)), dtype=np.int64)).unit_cube.shape[1]
    has_task = "each.0.weight" in tensors
    networks = [_read_layers(tensors, name) for name in _part_names(has_task)]
    input_widths = [input_width + CODE * has_task, input_width + 1, LATENT][: len(networks)]
    if [network.widths[0] for network in networks] != input_widths or [
        network.widths[-1] for network in networks
    ] != [
        1,
        LATENT,
        CODE,
    ][: len(networks)]:
        raise ValueError(
            f"networks of widths {[network.widths for network in networks]}, inputs {input_widths} are wanted"
        )
    ranker = Ranker(networks[0], DeepSet(*networks[1:]) if has_task else None)
    sources = tuple(
        _read_source(tensors, axes, source_index, facts)
        for source_index, facts in enumerate(description.pop("sources"))
    )
    return Prior(axes, ranker, sources, description, data)


def _read_description(data: bytes) -> dict[str, Any]:
    """The facts in the header: its length in 8 bytes, then a JSON text."""
    header = json.loads(data[8 : 8 + int.from_bytes(data[:8], "little")])
    description: dict[str, Any] = json.loads(header["__metadata__"][FACTS_KEY])
    return description


def _part_names(has_task: bool) -> tuple[str, ...]:
    return ("scorer", "each", "whole") if has_task else ("scorer",)


def _read_layers(tensors: Mapping[str, NDArray[Any]], name: str) -> Layers:
    """The networks of a name, of float64 and finite.  Raises ValueError and KeyError."""
    layer_count = sum(key.startswith(f"{name}.") for key in tensors) // 2
    layer_pairs = [
        (tensors[f"{name}.{layer_index}.weight"], tensors[f"{name}.{layer_index}.bias"])
        for layer_index in range(layer_count)
    ]
    member_count = len(layer_pairs[0][0]) if layer_pairs else 0
    widths = (
        (layer_pairs[0][0].shape[1], *(bias.shape[-1] for _, bias in layer_pairs))
        if member_count
        else ()
    )
    expected_shapes = [
        ((member_count, input_width, output_width), (member_count, 1, output_width))
        for input_width, output_width in pairwise(widths)
    ]
    if (
        not member_count
        or [(weight.shape, bias.shape) for weight, bias in layer_pairs] != expected_shapes
    ):
        raise ValueError(
            f"{name}: its layers have the shapes {[weight.shape for weight, _ in layer_pairs]}"
        )
    flat_weights = np.concatenate(
        [array.reshape(member_count, -1) for layer_pair in layer_pairs for array in layer_pair],
        axis=1,
    )
    if {array.dtype for layer_pair in layer_pairs for array in layer_pair} != {
        np.dtype(np.float64)
    } or not np.isfinite(flat_weights).all():
        raise ValueError(f"{name}: weights are not finite numbers of 64 bits")
    return Layers(widths, flat_weights)


def _read_source(
    tensors: Mapping[str, NDArray[Any]],
    axes: tuple[Axis, ...],
    source_number: int,
    facts: Mapping[str, Any],
) -> EarlierSearch:
    """An earlier search from its tensors and facts.  Raises ValueError and KeyError."""
    levels = tensors[f"source.{source_number}.levels"]
    losses = tensors[f"source.{source_number}.losses"]
    level_counts = np.array([len(axis.levels) for axis in axes])
    if (
        levels.shape != (len(losses), len(axes))
        or not ((levels >= 0) & (levels < level_counts)).all()
        or not np.isfinite(losses).all()
    ):
        raise ValueError(
            f"source {source_number}: {levels.shape} levels beyond the axes, or {losses.shape} losses that are not "
            "finite"
        )
    return EarlierSearch(**facts, levels=levels, losses=losses)


def difference(
    prior_axes: Sequence[Axis], space_axes: Sequence[Axis], owner: str = "that of the search"
) -> str:
    """In words, the first axis in which two spaces differ; empty where they agree."""
    for axis_index in range(max(len(prior_axes), len(space_axes))):
        prior_axis, space_axis = (
            some_axes[axis_index] if axis_index < len(some_axes) else None
            for some_axes in (prior_axes, space_axes)
        )
        if prior_axis is None or space_axis is None or prior_axis.facts != space_axis.facts:
            return f"its axis {axis_index + 1} is {_axis_in_words(prior_axis)}, {owner} {_axis_in_words(space_axis)}"
    return ""


def _axis_in_words(axis: Axis | None) -> str:
    return f"{axis.name} ({axis.kind}: {', '.join(map(str, axis.levels))})" if axis else "missing"
