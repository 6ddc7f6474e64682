"""The optimisers of a training, and their state in a checkpoint: torch's own.

Networks of the paper's family are trained by stochastic gradient descent with Nesterov's momentum;
those of layers by the optimiser of their configuration, never Nesterov's: dampening excludes it.
The rate is set at every step, from outside.

    state  the tensors that an optimiser keeps for each weight, besides numbers of its steps
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

import torch
from torch import Tensor, nn

from fovnet.net.family.layered_configuration import OptimiserChoice

MOMENTUM = 0.9
MOMENTUM_KEY = "momentum_buffer"
MOMENTUM_PREFIX = "momentum."
"""Of a tensor of SGD's momentum in a checkpoint, before the name of its weights."""
STATE_PREFIX = "state."
"""Of a tensor of another optimiser's state, before its key, a dot, and the name of its weights."""


def make_optimiser(
    choice: OptimiserChoice | None,
    parameters: Iterable[Tensor],
    learning_rate: float,
    device: torch.device,
) -> torch.optim.Optimizer:
    """The optimiser of these parameters.

    choice  None: SGD with Nesterov's momentum 0.9
    """
    if choice is None:
        return torch.optim.SGD(
            parameters, learning_rate, momentum=MOMENTUM, nesterov=True, fused=True
        )
    numbers = choice.numbers
    settings: dict[str, Any] = {"lr": learning_rate, "weight_decay": numbers["decay"]}
    is_recorded = device.type == "cuda"
    if choice.name == "sgd":
        return torch.optim.SGD(
            parameters,
            momentum=numbers["momentum"],
            dampening=numbers["dampening"],
            fused=True,
            **settings,
        )
    if choice.name == "adam":
        return torch.optim.Adam(
            parameters,
            betas=(numbers["beta1"], numbers["beta2"]),
            capturable=is_recorded,
            fused=True,
            **settings,
        )
    if choice.name == "adagrad":
        return torch.optim.Adagrad(
            parameters,
            lr_decay=numbers["rate_decay"],
            initial_accumulator_value=numbers["initial"],
            fused=not is_recorded,  # on a CPU alone
            **settings,
        )
    return torch.optim.RMSprop(
        parameters,
        alpha=numbers["smoothing"],
        momentum=numbers["momentum"],
        capturable=is_recorded,
        **settings,
    )


def can_be_recorded(optimiser: torch.optim.Optimizer) -> bool:
    """Whether a CUDA graph may hold its steps: Adagrad counts its steps on the host."""
    return not isinstance(optimiser, torch.optim.Adagrad)


def read_state(optimiser: torch.optim.Optimizer, model: nn.Module) -> dict[str, Tensor]:
    """The tensors of the optimiser's state, by their names in a checkpoint.  At least one step must
    have been taken, as there is no state before."""
    tensors = {}
    for name, parameter in model.named_parameters():
        for key, tensor in optimiser.state[parameter].items():
            if tensor is None:
                continue  # SGD's momentum where it has none
            tensors[_tensor_name(optimiser, key, name)] = tensor
    return tensors


def restore_state(
    optimiser: torch.optim.Optimizer, model: nn.Module, tensors: Mapping[str, Tensor]
) -> None:
    """Sets the state of an optimiser that has taken no step to that of a checkpoint.  Raises KeyError
    if the checkpoint has no tensor of a weight."""
    parameter_by_name = dict(model.named_parameters())
    for tensor_name, tensor in tensors.items():
        if tensor_name.startswith(MOMENTUM_PREFIX):
            key = MOMENTUM_KEY
            name = tensor_name.removeprefix(MOMENTUM_PREFIX)
        elif tensor_name.startswith(STATE_PREFIX):
            key, name = tensor_name.removeprefix(STATE_PREFIX).split(".", 1)
        else:
            continue
        parameter = parameter_by_name[name]
        if tensor.shape == parameter.shape:
            # in the memory format of its weights
            tensor = torch.empty_like(parameter, requires_grad=False).copy_(tensor)
        elif can_be_recorded(optimiser):
            tensor = tensor.to(parameter.device)
        optimiser.state[parameter][key] = tensor


def _tensor_name(optimiser: torch.optim.Optimizer, key: str, parameter_name: str) -> str:
    if isinstance(optimiser, torch.optim.SGD):
        return f"{MOMENTUM_PREFIX}{parameter_name}"
    return f"{STATE_PREFIX}{key}.{parameter_name}"
