"""Warm start: trainings that begin with the members of an ensemble, so that new or additional data need not
be learned from scratch.

A training begins with a member's weights and running statistics, without its momentum, and is otherwise like
any other.  If the classes differ, the last layer is drawn as usual: Yosinski et al. (2014), How transferable
are features in deep neural networks?
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from fovnet.errors import ConfigError, ModelError
from fovnet.net.family import axes
from fovnet.records import checksum, read_json
from fovnet.results import SHIPPED_NETWORKS, Results
from fovnet.search.space import Axis, Space

if TYPE_CHECKING:
    from torch import Tensor

    from fovnet.config.models import Settings
    from fovnet.net.family.architecture import Architecture
    from fovnet.net.family.model import Network

SHIPPED = "shipped"
# the last layer of every head, by name: a file may store tensors in another order
LAST = ("classes.weight", "classes.bias")
OF_THE_STEP = {
    name
    for names in axes.ALTERNATIVES
    for name in names
    if set(names) & {"log10_learning_rate", "log2_batch"}
}


@dataclass(frozen=True)
class Beginning:
    """A network to begin with: the configuration it was trained with, its weights (a safetensors file), and
    their SHA-256."""

    configuration: Mapping[str, Any]
    weights: Path
    sha256: str

    @property
    def body(self) -> dict[str, Any]:
        """The configuration without learning rate and batch, which do not affect the architecture, and
        without default levels."""
        return {
            name: level
            for name, level in self.configuration.items()
            if name not in OF_THE_STEP and axes.ANYWAY.get(name) != level
        }


def facts_of(folder: Path) -> dict[str, Any]:
    """The facts in a folder's `ensemble.json`.  Raises ModelError ("begin-missing") if it is not an
    ensemble."""
    try:
        facts = read_json(folder / "ensemble.json")
        beginnings(folder, facts)
        return facts
    except (OSError, ValueError, KeyError, TypeError):
        seen = "no readable ensemble.json in it" if folder.is_dir() else "no such folder"
        raise ModelError(
            "begin-missing",
            f"training.begin: {folder}: {seen}; give {SHIPPED!r} for the networks that come with the "
            "package, or the folder `ensemble` of a finished run, which may have to be run first",
        ) from None


def beginnings(folder: Path, facts: Mapping[str, Any]) -> tuple[Beginning, ...]:
    """The members of the ensemble with these facts, the best first."""
    return tuple(
        Beginning(one["configuration"], folder / one["weights"], one["sha256"])
        for one in facts["members"]
    )


def refuse_other_inputs(members: Sequence[Beginning], inputs: Sequence[str], head: str) -> None:
    """Raise unless networks with these `inputs`, and with `head` if a member's configuration names none, can
    begin with the members.

    Raises ModelError ("begin-other-network") with what to set, before anything is trained,
    ("weights-damaged") for a file whose checksum is not the one its ensemble names, and as `load_facts` for a
    missing one.
    """
    if not members:
        # torch takes 1.2 s to import; pricing a space without networks costs none
        return
    from fovnet.net.family.weights import load_facts

    for member in members:
        trained = load_facts(member.weights).get("architecture", {})
        if checksum(member.weights) != member.sha256:
            raise ModelError(
                "weights-damaged",
                f"{member.weights}: not the file recorded in ensemble.json beside it; copy the whole folder "
                "again",
            )
        here = {"inputs": list(inputs), "head": member.configuration.get("head", head)}
        for name, value in here.items():
            if trained.get(name) != value:
                raise ModelError(
                    "begin-other-network",
                    f"{member.weights}: its {name} {_plain(trained.get(name))}, here {_plain(value)}; "
                    f"set training.{name} as it was trained",
                )


def space_of_members(members: Sequence[Beginning]) -> Space:
    """The space of the members' configurations only, in their order.  Raises SearchError as
    `fovnet.net.family.axes.in_order` does."""
    configurations = [dict(member.configuration) for member in members]
    names = {name for one in configurations for name in one}
    levels = {name: sorted({one[name] for one in configurations if name in one}) for name in names}
    ordered = axes.in_order([Axis.of(name, levels[name]) for name in names])
    whole = Space(ordered)
    listed = dict.fromkeys(whole.row_of(one) for one in configurations)
    return Space(ordered, whole.rows[list(listed)])


def nearest(members: Sequence[Beginning], configuration: Mapping[str, Any]) -> Beginning:
    """The member that a training of this configuration begins with: among those of its architecture the one
    of nearest learning rate, then nearest batch, in ratio; ties: the better.  Raises ModelError
    ("begin-none-fits") if there is none of its architecture."""
    body = Beginning(configuration, Path(), "").body
    alike = [member for member in members if member.body == body]
    if not alike:
        raise ModelError(
            "begin-none-fits",
            f"training.begin: no network there has the architecture {body}; change only the learning rate "
            "and the batch, or leave out training.begin",
        )

    def apart(member: Beginning) -> tuple[float, float]:
        ratios = (
            of(member.configuration) / of(configuration) for of in (axes.learning_rate, axes.batch)
        )
        rate, batch = (max(ratio, 1 / ratio) for ratio in ratios)
        return round(rate, 6), batch

    return min(alike, key=apart)


def begin_with(model: Network, net: Architecture, weights: Path, classes: Sequence[str]) -> None:
    """Replace the model's weights and running statistics by those of a network in a file; the last layer's
    only if the network has the same `classes`, in this order.

    Raises ModelError ("begin-other-network") if the network has another architecture, which includes its
    inputs.
    """
    from fovnet.net.family.architecture import Architecture
    from fovnet.net.family.weights import load_tensors

    tensors, facts = load_tensors(weights)
    trained = Architecture(**facts["architecture"])
    if replace(trained, classes=net.classes) != net:
        differ = [
            name
            for name, value in vars(net).items()
            if name != "classes" and vars(trained)[name] != value
        ]
        message = "; ".join(
            f"its {name} {_plain(vars(trained)[name])}, here {_plain(vars(net)[name])}"
            for name in differ
        )
        raise ModelError(
            "begin-other-network",
            f"{weights}: {message}; set training.inputs and training.head as it was trained",
        )
    mine = model.state_dict()
    if list(facts.get("classes", ())) != list(classes):
        tensors |= {name: mine[name] for name in LAST}
    model.load_state_dict(tensors)


def blended(
    tensors: Mapping[str, Tensor], facts: Mapping[str, Any], share: float, begun: Path
) -> dict[str, Tensor]:
    """Weights and running statistics interpolated between a network, with weight `share`, and the network
    that it was trained from.

    facts  of the network, as in its file
    If their classes differ, the last layer is the network's own.  Wortsman et al. (2022), Robust fine-tuning
    of zero-shot models, eq. 1: the interpolated network performs well on the data of both.  Raises ModelError
    as `fovnet.net.family.weights.load_tensors` does.
    """
    import torch

    from fovnet.net.family.weights import load_tensors

    before, facts_before = load_tensors(begun)
    drawn = LAST if facts_before.get("classes") != facts.get("classes") else ()
    mixed = [
        name for name, tensor in tensors.items() if tensor.is_floating_point() and name not in drawn
    ]
    return {
        **tensors,
        **{name: torch.lerp(before[name].float(), tensors[name].float(), share) for name in mixed},
    }


def warm_start_ensemble(settings: Settings) -> tuple[Path, dict[str, Any]] | None:
    """The folder of the ensemble whose networks trainings begin with, and its facts; None if weights are
    drawn.

    Raises ModelError as `facts_of`, and ConfigError "begin-in-results" if it is the ensemble that this
    configuration makes.
    """
    if (begin := settings.training.begin) is None:
        return None
    folder = SHIPPED_NETWORKS if begin == SHIPPED else Path(begin)
    if folder.resolve() == Results(Path(settings.results)).ensemble.resolve():
        raise ConfigError(
            "begin-in-results",
            f"training.begin: {begin}: is the ensemble that this run would replace; set another `results`",
        )
    return folder, facts_of(folder)


def warm_start_networks(settings: Settings) -> tuple[Beginning, ...]:
    """The networks that trainings begin with, the best first; empty if weights are drawn.  Raises as
    `warm_start_ensemble`, and ModelError as `refuse_other_inputs`."""
    begun = warm_start_ensemble(settings)
    members = () if begun is None else beginnings(*begun)
    refuse_other_inputs(members, settings.training.inputs, settings.training.head)
    return members


def warm_start_blend(
    settings: Settings, members: Sequence[Mapping[str, Any]]
) -> tuple[float, dict[int, Path]] | None:
    """The weight of the trained networks in an ensemble's members, and by slot the weights file that each was
    trained from.

    members  facts of each: slot and configuration
    None if members are not blended.  Raises as `warm_start_networks` and `nearest`.
    """
    if settings.ensemble.blend == 1:
        return None
    begun = warm_start_networks(settings)
    return settings.ensemble.blend, {
        member["slot"]: nearest(begun, member["configuration"]).weights for member in members
    }


def _plain(value: Any) -> str:
    return ", ".join(value) if isinstance(value, list | tuple) else str(value)
