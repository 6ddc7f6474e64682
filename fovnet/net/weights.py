"""Weights on disk: safetensors, with the architecture that they fit as metadata.  Nothing here can run code from a file."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict
from pathlib import Path
from typing import Any

import safetensors
import torch
from safetensors.torch import save
from torch import Tensor, nn

from fovnet.errors import ModelError
from fovnet.net.alone import slice_alone
from fovnet.net.architecture import Architecture
from fovnet.net.model import Network, build
from fovnet.records import replace_with


def save_tensors(path: Path, tensors: Mapping[str, Tensor], facts: Mapping[str, Any], *, lasting: bool = True) -> Path:
    """`path`, holding named tensors and JSON-able facts, put in place in one step; `lasting` as in `replace_with`."""
    plain = {name: tensor.detach().contiguous().cpu() for name, tensor in tensors.items()}
    payload = save(plain, {"facts": json.dumps(dict(facts))})       # one entry: safetensors writes several in a random order
    return replace_with(path, lambda file: file.write(payload), lasting=lasting)


def load_tensors(path: Path) -> tuple[dict[str, Tensor], dict[str, Any]]:
    """The tensors and facts in a safetensors file.  Raises ModelError where it is missing or damaged."""
    return _opened(path, lambda file: {name: file.get_tensor(name) for name in file.keys()})  # noqa: SIM118  (not a mapping)


def load_facts(path: Path) -> dict[str, Any]:
    """The facts in a safetensors file, without its tensors.  Raises ModelError where it is missing or damaged."""
    return _opened(path, lambda _: {})[1]


def save_network(path: Path, model: nn.Module, net: Architecture, facts: Mapping[str, Any]) -> Path:
    """`path`, holding a network's weights beside its architecture and further facts."""
    return save_tensors(path, model.state_dict(), {"architecture": asdict(net), **facts})


def refuse_other_inputs(path: Path, facts: Mapping[str, Any], classes: Sequence[str], slices: Mapping[str, Any]) -> None:
    """Nothing, where the network in `path` answers for these classes, in this order, and was trained on slices that look like these.

    Raises ModelError ("weights-unmarked", "weights-other-classes", "weights-other-slices") with what differs.
    """
    if not {"classes", "slices"} <= facts.keys():
        raise ModelError("weights-unmarked", f"{path}: says neither its classes nor its slices; search again with this fovnet")
    if list(facts["classes"]) != list(classes):
        mine, wanted = (", ".join(names) for names in (facts["classes"], classes))
        raise ModelError("weights-other-classes", f"{path}: its classes are {mine}, wanted are {wanted}; search again, or name its regions")
    trained = facts["slices"]
    for name in sorted(trained.keys() | slices.keys()):
        if trained.get(name) != slices.get(name):
            said = f"trained on slices with {name} = {trained.get(name)}, these have {slices.get(name)}"
            raise ModelError("weights-other-slices", f"{path}: {said}; cut them alike, or search again on slices like these")


def load_network(path: Path, device: torch.device) -> tuple[Network, dict[str, Any]]:
    """The network in a file, ready to answer on `device`, and its facts.

    One that is to see slices alone does.  Raises ModelError where the file is missing or damaged, names an architecture that nobody knows
    (its head, its inputs), or has tensors that do not fit it.
    """
    tensors, facts = load_tensors(path)
    try:
        model = build(Architecture(**facts["architecture"]))
        model.load_state_dict(tensors)
        if facts.get("alone"):
            model.load_state_dict(slice_alone(model.state_dict()))
    except ValueError as error:
        raise ModelError("weights-unknown", f"{path}: {error}; another version of fovnet made it: use that, or search again") from None
    except (KeyError, TypeError, RuntimeError) as error:
        raise ModelError("weights-misfit", f"{path}: the tensors do not fit the architecture beside them: {error}") from None
    model.to(memory_format=torch.channels_last)  # type: ignore[call-overload]
    return model.to(device).eval(), facts                # channels last: twice the slices a second on a CPU


def _opened(path: Path, read: Callable[[Any], dict[str, Tensor]]) -> tuple[dict[str, Tensor], dict[str, Any]]:
    try:
        with safetensors.safe_open(path, framework="pt") as file:
            return read(file), json.loads((file.metadata() or {}).get("facts", "{}"))
    except FileNotFoundError:
        raise ModelError("weights-missing", f"{path}: no such file; run the search again to make it") from None
    except (safetensors.SafetensorError, json.JSONDecodeError, OSError) as error:
        raise ModelError("weights-damaged", f"{path}: not readable as safetensors ({error}); remove it and run the search again") from None
