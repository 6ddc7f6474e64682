"""Warm start: trainings that begin with the members of an ensemble, so that new or additional data
need not be learned from scratch.

A training begins with a member's weights and running statistics, without its momentum, and is
otherwise like any other.  If the classes differ, the last layer is drawn as usual: Yosinski et al.
(2014), How transferable are features in deep neural networks?
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from fovnet.errors import ModelError
from fovnet.net.family import axes
from fovnet.net.family.facts import load_facts
from fovnet.net.family.layered_configuration import is_layered
from fovnet.records import checksum, read_json, why_no_folder
from fovnet.search.space import Axis, Space

SHIPPED = "shipped"
LEARNING_STEP_AXES = {
    name
    for names in axes.ALTERNATIVE_NAMES
    for name in names
    if set(names) & {"log10_learning_rate", "log2_batch"}
}


@dataclass(frozen=True)
class Beginning:
    """A network to begin with: the configuration it was trained with, its weights (a safetensors
    file), and their SHA-256."""

    configuration: Mapping[str, Any]
    weights: Path
    sha256: str

    @property
    def architecture_levels(self) -> dict[str, Any]:
        """The configuration without learning rate and batch, which do not affect the architecture,
        and without default levels."""
        return _levels_of_architecture(self.configuration)


def _levels_of_architecture(configuration: Mapping[str, Any]) -> dict[str, Any]:
    return {
        name: level
        for name, level in configuration.items()
        if name not in LEARNING_STEP_AXES and axes.DEFAULT_LEVELS.get(name) != level
    }


def read_ensemble_facts(folder: Path) -> dict[str, Any]:
    """The facts in a folder's `ensemble.json`.  Raises ModelError ("begin-missing") if it is not an
    ensemble."""
    try:
        ensemble_facts = read_json(folder / "ensemble.json")
        beginnings_of_ensemble(folder, ensemble_facts)
        return ensemble_facts
    except (OSError, ValueError, KeyError, TypeError):
        reason = why_no_folder(folder) or "no readable ensemble.json in it"
        raise ModelError(
            "begin-missing",
            f"training.begin: {folder}: {reason}; give {SHIPPED!r} for the networks that come "
            "with the package, or the folder `ensemble` of a finished run, which may have to be "
            "run first",
        ) from None


def beginnings_of_ensemble(folder: Path, facts: Mapping[str, Any]) -> tuple[Beginning, ...]:
    """The members of the ensemble with these facts, the best first."""
    return tuple(
        Beginning(member["configuration"], folder / member["weights"], member["sha256"])
        for member in facts["members"]
    )


def refuse_other_inputs(members: Sequence[Beginning], inputs: Sequence[str], head: str) -> None:
    """Raise unless networks with these `inputs`, and with `head` if a member's configuration names
    none, can begin with the members.

    Raises ModelError ("begin-other-network") with what to set, before anything is trained,
    ("weights-damaged") for a file whose checksum is not the one its ensemble names, and as
    `load_facts` for a missing one.
    """
    for member in members:
        if is_layered(member.configuration):
            raise ModelError(
                "begin-other-network",
                f"{member.weights}: a network of layers; only networks of blocks are trained further: "
                "leave out training.begin, or give the folder of an ensemble of these",
            )
        architecture = load_facts(member.weights).get("architecture", {})
        if checksum(member.weights) != member.sha256:
            raise ModelError(
                "weights-damaged",
                f"{member.weights}: not the file recorded in ensemble.json beside it; copy the "
                "whole folder again",
            )
        expected_by_name = {"inputs": list(inputs), "head": member.configuration.get("head", head)}
        for name, value in expected_by_name.items():
            if architecture.get(name) != value:
                raise ModelError(
                    "begin-other-network",
                    f"{member.weights}: its {name} {value_in_words(architecture.get(name))}, here "
                    f"{value_in_words(value)}; set training.{name} as it was trained",
                )


def space_of_members(members: Sequence[Beginning]) -> Space:
    """The space of the members' configurations only, in their order.  Raises SearchError as
    `fovnet.net.family.axes.order_axes` does."""
    configurations = [dict(member.configuration) for member in members]
    levels_by_name: dict[str, set[Any]] = {}
    for configuration in configurations:
        for name, level in configuration.items():
            levels_by_name.setdefault(name, set()).add(level)
    ordered_axes = axes.order_axes(
        [Axis.of(name, sorted(levels)) for name, levels in levels_by_name.items()]
    )
    whole_space = Space(ordered_axes)
    distinct_rows = dict.fromkeys(
        whole_space.row_of(configuration) for configuration in configurations
    )
    return Space(ordered_axes, whole_space.rows[list(distinct_rows)])


def nearest_beginning(members: Sequence[Beginning], configuration: Mapping[str, Any]) -> Beginning:
    """The member that a training of this configuration begins with: among those of its architecture
    the one of nearest learning rate, then nearest batch, in ratio; ties: the better.  Raises
    ModelError ("begin-none-fits") if there is none of its architecture."""
    architecture_levels = _levels_of_architecture(configuration)
    candidates = [member for member in members if member.architecture_levels == architecture_levels]
    if not candidates:
        raise ModelError(
            "begin-none-fits",
            f"training.begin: no network there has the architecture {architecture_levels}; change only the "
            "learning rate and the batch, or leave out training.begin",
        )

    def learning_ratios(member: Beginning) -> tuple[float, float]:
        """How many times the learning rate and the batch differ, 1 or more each."""
        rate_ratio = axes.learning_rate(member.configuration) / axes.learning_rate(configuration)
        batch_ratio = axes.batch_size(member.configuration) / axes.batch_size(configuration)
        return round(max(rate_ratio, 1 / rate_ratio), 6), max(batch_ratio, 1 / batch_ratio)

    return min(candidates, key=learning_ratios)


def value_in_words(value: Any) -> str:
    """A property of a network in a message: a list with commas."""
    return ", ".join(map(str, value)) if isinstance(value, list | tuple) else str(value)
