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
from itertools import pairwise, zip_longest
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray
from safetensors import SafetensorError
from safetensors.numpy import load, save

from fovnet.errors import SearchError
from fovnet.maths.rankers import CODE_WIDTH, LATENT_WIDTH, DeepSet, Ranker
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

    name          of its journal
    sha256        of its levels and losses, before they were thinned out
    scored_count  number of its rows with a loss
    """

    name: str
    sha256: str
    scored_count: int
    levels: Integers
    losses: Floats

    @property
    def facts(self) -> dict[str, Any]:
        """All but the arrays, as JSON."""
        return {"name": self.name, "sha256": self.sha256, "scored": self.scored_count}


@dataclass(frozen=True, eq=False)
class Prior:
    """The parsed file, and its bytes.

    axes     of the space
    ranker   the networks
    sources  the searches that taught them
    facts    fovnet's version, settings, seed, number of steps, and how well held-out sources were
             predicted
    data     the bytes of the file
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


def make_support(points: Floats, tie_starts: Integers) -> Floats:
    """The support (n, D + 1) of points (n, D) sorted from the best, with the index of the first of
    those that tie with each (n,): each with its level, the share of better ones."""
    return np.column_stack([points, (tie_starts + 0.5) / max(1, len(tie_starts))])


def make_prior(
    axes: Sequence[Axis], ranker: Ranker, sources: Sequence[EarlierSearch], facts: Mapping[str, Any]
) -> Prior:
    """The prior of these parts, as it is read again from its file."""
    tensors: dict[str, NDArray[Any]] = {}
    for name, layers in zip(_part_names(ranker.deep_set is not None), ranker.parts, strict=True):
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
    axis_difference = describe_axis_difference(prior.axes, axes)
    if axis_difference:
        remedy = "learn it again for this space with `fovnet search learn`"
        raise SearchError("prior-space", f"{path}: {axis_difference}; {remedy}.")
    return prior


def parse_prior(data: bytes) -> Prior:
    """The prior of a file's bytes.  Raises ValueError, KeyError, TypeError, AttributeError or
    SafetensorError for anything else."""
    tensors = load(data)
    description = _read_description(data)
    axes = tuple(Axis.from_facts(facts) for facts in description.pop("axes"))
    knows_task = "each.0.weight" in tensors
    networks = [_read_layers(tensors, name) for name in _part_names(knows_task)]
    column_count = Space(axes, np.zeros((1, len(axes)), dtype=np.int64)).unit_cube.shape[1]
    input_widths = [column_count]
    output_widths = [1]
    if knows_task:
        input_widths = [column_count + CODE_WIDTH, column_count + 1, LATENT_WIDTH]
        output_widths = [1, LATENT_WIDTH, CODE_WIDTH]
    if [network.widths[0] for network in networks] != input_widths or [
        network.widths[-1] for network in networks
    ] != output_widths:
        raise ValueError(
            f"networks of widths {[network.widths for network in networks]}, inputs {input_widths} are wanted"
        )
    ranker = Ranker(networks[0])
    if knows_task:
        ranker = Ranker(networks[0], DeepSet(*networks[1:]))
    sources = tuple(
        _read_source(tensors, axes, source_number, facts)
        for source_number, facts in enumerate(description.pop("sources"))
    )
    return Prior(axes, ranker, sources, description, data)


def _read_description(data: bytes) -> dict[str, Any]:
    """The facts in the header: its length in 8 bytes, then a JSON text."""
    header = json.loads(data[8 : 8 + int.from_bytes(data[:8], "little")])
    description: dict[str, Any] = json.loads(header["__metadata__"][FACTS_KEY])
    return description


def _part_names(knows_task: bool) -> tuple[str, ...]:
    """The names, in the file, of the networks of a ranker, in the order of its `parts`."""
    if knows_task:
        return "scorer", "each", "whole"
    return ("scorer",)


def _read_layers(tensors: Mapping[str, NDArray[Any]], name: str) -> Layers:
    """The networks of a name, of float64 and finite.  Raises ValueError and KeyError."""
    layer_count = sum(key.startswith(f"{name}.") for key in tensors) // 2
    weights = [tensors[f"{name}.{layer}.weight"] for layer in range(layer_count)]
    biases = [tensors[f"{name}.{layer}.bias"] for layer in range(layer_count)]
    weight_shapes = [layer_weights.shape for layer_weights in weights]
    if not layer_count or len(weight_shapes[0]) != 3 or not weight_shapes[0][0]:
        raise ValueError(f"{name}: its layers have the shapes {weight_shapes}")
    network_count, input_width, _ = weight_shapes[0]
    widths = (input_width, *(layer_biases.shape[-1] for layer_biases in biases))
    expected_weight_shapes = [(network_count, *layer_widths) for layer_widths in pairwise(widths)]
    expected_bias_shapes = [(network_count, 1, output_width) for output_width in widths[1:]]
    if (
        weight_shapes != expected_weight_shapes
        or [layer_biases.shape for layer_biases in biases] != expected_bias_shapes
    ):
        raise ValueError(f"{name}: its layers have the shapes {weight_shapes}")
    arrays = [array for layer in zip(weights, biases, strict=True) for array in layer]
    if any(array.dtype != np.float64 or not np.isfinite(array).all() for array in arrays):
        raise ValueError(f"{name}: weights are not finite numbers of 64 bits")
    flat_weights = np.concatenate([array.reshape(network_count, -1) for array in arrays], axis=1)
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
    return EarlierSearch(
        facts["name"], facts["sha256"], facts["scored"], levels=levels, losses=losses
    )


def describe_axis_difference(
    prior_axes: Sequence[Axis], space_axes: Sequence[Axis], owner: str = "that of the search"
) -> str:
    """In words, the first axis in which two spaces differ; empty where they agree.  `owner` is
    what has the second space."""
    axis_pairs = zip_longest(prior_axes, space_axes)
    for axis_number, (prior_axis, space_axis) in enumerate(axis_pairs, start=1):
        if prior_axis is None or space_axis is None or prior_axis.facts != space_axis.facts:
            prior_phrase = _axis_in_words(prior_axis)
            return f"its axis {axis_number} is {prior_phrase}, {owner} {_axis_in_words(space_axis)}"
    return ""


def _axis_in_words(axis: Axis | None) -> str:
    """Name, kind and levels of an axis; "missing" for None."""
    if axis is None:
        return "missing"
    return f"{axis.name} ({axis.kind}: {', '.join(map(str, axis.levels))})"
