"""Networks that trainings go on from: the members of an ensemble, so that one's own data, or more of it, need not be learned from nothing.

A training begins with a member's weights and its running statistics, not with its momentum, and is otherwise as any other.  Where its
classes are others, its last layer is drawn as ever: Yosinski et al. (2014), How transferable are features in deep neural networks?
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from fovnet.errors import ConfigError, ModelError
from fovnet.net import axes
from fovnet.records import checksum, read_json
from fovnet.results import SHIPPED_NETWORKS, Results
from fovnet.search.space import Axis, Space

if TYPE_CHECKING:
    from torch import Tensor

    from fovnet.config import Settings
    from fovnet.net.architecture import Architecture
    from fovnet.net.model import Network

SHIPPED = "shipped"
LAST = ("classes.weight", "classes.bias")       # of every head; a file has its tensors in an order of its own
OF_THE_STEP = {name for names in axes.ALTERNATIVES for name in names if set(names) & {"log10_learning_rate", "log2_batch"}}


@dataclass(frozen=True)
class Beginning:
    """A network to begin with: the configuration it was trained with, its weights (a safetensors file), and what they add up to."""

    configuration: Mapping[str, Any]
    weights: Path
    sha256: str

    @property
    def body(self) -> dict[str, Any]:
        """The configuration without learning rate and batch, which leave no trace in a network's shape, and without what is so anyway."""
        return {name: level for name, level in self.configuration.items() if name not in OF_THE_STEP and axes.ANYWAY.get(name) != level}


def facts_of(folder: Path) -> dict[str, Any]:
    """The facts in a folder's `ensemble.json`.  Raises ModelError ("begin-missing") where it is none."""
    try:
        facts = read_json(folder / "ensemble.json")
        beginnings(folder, facts)
        return facts
    except (OSError, ValueError, KeyError, TypeError):
        seen = "no readable ensemble.json in it" if folder.is_dir() else "no such folder"
        raise ModelError("begin-missing", f"training.begin: {folder}: {seen}; give {SHIPPED!r} for the networks that come with the "
                                          "package, or the folder `ensemble` of a finished run, which may have to be run first") from None


def beginnings(folder: Path, facts: Mapping[str, Any]) -> tuple[Beginning, ...]:
    """The members of the ensemble with these facts, the best first."""
    return tuple(Beginning(one["configuration"], folder / one["weights"], one["sha256"]) for one in facts["members"])


def refuse_other_inputs(members: Sequence[Beginning], inputs: Sequence[str], head: str) -> None:
    """Nothing, where networks that are shown `inputs`, with this head where their configurations name none, can go on from the members.

    Raises ModelError ("begin-other-network") with what to set, before anything is trained, "weights-damaged" for a file that is not the
    one its ensemble names, and as `load_facts` for one that is gone.
    """
    if not members:
        return                                  # torch takes 1.2 s to import; pricing a space without networks costs none
    from fovnet.net.weights import load_facts

    for member in members:
        trained = load_facts(member.weights).get("architecture", {})
        if checksum(member.weights) != member.sha256:
            raise ModelError("weights-damaged", f"{member.weights}: not the file that ensemble.json beside it names; copy the whole folder "
                                                "again")
        here = {"inputs": list(inputs), "head": member.configuration.get("head", head)}
        for name, value in here.items():
            if trained.get(name) != value:
                raise ModelError("begin-other-network", f"{member.weights}: its {name} {_plain(trained.get(name))}, here {_plain(value)}; "
                                                        f"set training.{name} as it was trained")


def space_of_members(members: Sequence[Beginning]) -> Space:
    """The space of their configurations and no others, in their order.  Raises SearchError as `fovnet.net.axes.in_order` does."""
    configurations = [dict(member.configuration) for member in members]
    names = {name for one in configurations for name in one}
    levels = {name: sorted({one[name] for one in configurations if name in one}) for name in names}
    ordered = axes.in_order([Axis.of(name, levels[name]) for name in names])
    whole = Space(ordered)
    listed = dict.fromkeys(whole.row_of(one) for one in configurations)
    return Space(ordered, whole.rows[list(listed)])


def nearest(members: Sequence[Beginning], configuration: Mapping[str, Any]) -> Beginning:
    """The member that a training of this configuration begins with: of those of its architecture the one whose learning rate, and then
    whose batch, is the nearest in ratio; the better of equally near ones.  Raises ModelError ("begin-none-fits") where none is."""
    body = Beginning(configuration, Path(), "").body
    alike = [member for member in members if member.body == body]
    if not alike:
        raise ModelError("begin-none-fits", f"training.begin: no network there is of the architecture {body}; change no axis but the "
                                            "learning rate and the batch, or begin without")

    def apart(member: Beginning) -> tuple[float, float]:
        ratios = (of(member.configuration) / of(configuration) for of in (axes.learning_rate, axes.batch))
        rate, batch = (max(ratio, 1 / ratio) for ratio in ratios)
        return round(rate, 6), batch

    return min(alike, key=apart)


def begin_with(model: Network, net: Architecture, weights: Path, classes: Sequence[str]) -> None:
    """The model's weights and running statistics replaced by those of a network in a file; the last layer's only where it has the same
    `classes`, in this order.

    Raises ModelError ("begin-other-network") where the network is of another architecture, or is shown something else.
    """
    from fovnet.net.architecture import Architecture
    from fovnet.net.weights import load_tensors

    tensors, facts = load_tensors(weights)
    trained = Architecture(**facts["architecture"])
    if replace(trained, classes=net.classes) != net:
        differ = [name for name, value in vars(net).items() if name != "classes" and vars(trained)[name] != value]
        message = "; ".join(f"its {name} {_plain(vars(trained)[name])}, here {_plain(vars(net)[name])}" for name in differ)
        raise ModelError("begin-other-network", f"{weights}: {message}; set training.inputs and training.head as it was trained")
    mine = model.state_dict()
    if list(facts.get("classes", ())) != list(classes):
        tensors |= {name: mine[name] for name in LAST}
    model.load_state_dict(tensors)


def blended(tensors: Mapping[str, Tensor], facts: Mapping[str, Any], share: float, begun: Path) -> dict[str, Tensor]:
    """The weights and running statistics of a network, `share` of them its own, the others those of the network it was trained from.

    facts  of the network, as its file has them
    Of other classes the last layer, which was drawn, is its own alone.  Wortsman et al. (2022), Robust fine-tuning of zero-shot models,
    eq. 1: what is between the two knows what both do.  Raises ModelError as `fovnet.net.weights.load_tensors` does.
    """
    import torch

    from fovnet.net.weights import load_tensors

    before, facts_before = load_tensors(begun)
    drawn = LAST if facts_before.get("classes") != facts.get("classes") else ()
    mixed = [name for name, tensor in tensors.items() if tensor.is_floating_point() and name not in drawn]
    return {**tensors, **{name: torch.lerp(before[name].float(), tensors[name].float(), share) for name in mixed}}


def warm_start_ensemble(settings: Settings) -> tuple[Path, dict[str, Any]] | None:
    """The ensemble whose networks trainings begin with, and its facts; None where weights are drawn.

    Raises ModelError where it is none, and ConfigError "begin-in-results" where it is the one that this configuration makes.
    """
    if (begin := settings.training.begin) is None:
        return None
    folder = SHIPPED_NETWORKS if begin == SHIPPED else Path(begin)
    if folder.resolve() == Results(Path(settings.results)).ensemble.resolve():
        raise ConfigError("begin-in-results", f"training.begin: {begin}: is what this run replaces; give its results another folder")
    return folder, facts_of(folder)


def warm_start_networks(settings: Settings) -> tuple[Beginning, ...]:
    """The networks that trainings begin with, the best first; none where weights are drawn.  Raises ModelError as `warm_start_ensemble`,
    and where they are shown something else than is configured."""
    begun = warm_start_ensemble(settings)
    members = () if begun is None else beginnings(*begun)
    refuse_other_inputs(members, settings.training.inputs, settings.training.head)
    return members


def warm_start_blend(settings: Settings, members: Sequence[Mapping[str, Any]]) -> tuple[float, dict[int, Path]] | None:
    """The share of the trained weights in an ensemble's members, and by slot the weights file that each was trained from.

    members  facts of each: slot and configuration
    None where the members are what was trained.  Raises ModelError as `warm_start_networks`, and where none there is of a member's shape.
    """
    if settings.ensemble.blend == 1:
        return None
    begun = warm_start_networks(settings)
    return settings.ensemble.blend, {member["slot"]: nearest(begun, member["configuration"]).weights for member in members}


def _plain(value: Any) -> str:
    return ", ".join(value) if isinstance(value, list | tuple) else str(value)
