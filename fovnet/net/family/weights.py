"""Weights on disk: safetensors, with their architecture as metadata.  Loading never runs code from
a file."""

from __future__ import annotations

import json
from collections.abc import Mapping
from functools import partial
from pathlib import Path
from typing import Any, BinaryIO

import torch
from torch import Tensor, nn

from fovnet.errors import ModelError
from fovnet.net.family.facts import (
    architecture_facts,
    load_facts,
    misfit_error,
    read_architecture,
    read_weights_file,
    unknown_weights_error,
)
from fovnet.net.family.layered import NetworkShape
from fovnet.net.family.layered_model import build_any_network
from fovnet.net.family.model import Network
from fovnet.net.family.slice_only import slice_only_weights
from fovnet.records import replace_with

TYPE_NAMES = {
    torch.int64: "I64",
    torch.float64: "F64",
    torch.float32: "F32",
    torch.bfloat16: "BF16",
    torch.float16: "F16",
    torch.uint8: "U8",
}
"""The types of stored tensors and their names in safetensors, in the order in which they are
stored."""

LEAST_WEIGHT_BYTES = 2
"""Of a stored weight, as float16."""
MOST_WEIGHT_BYTES = 8
"""The same as float64."""
MOST_HEADER_BYTES = 2**24
"""Bytes of all that precedes the weights in a file."""


def save_tensors(
    path: Path, tensors: Mapping[str, Tensor], facts: Mapping[str, Any], *, lasting: bool = True
) -> Path:
    """`path`, holding named tensors of any shape and JSON-able facts, replaced atomically;
    `lasting` as in `replace_with`."""
    return replace_with(
        path, partial(_write_safetensors, tensors=tensors, facts=facts), lasting=lasting
    )


def _write_safetensors(
    file: BinaryIO, tensors: Mapping[str, Tensor], facts: Mapping[str, Any]
) -> None:
    """Write the bytes of safetensors' own `save`, but tensor by tensor: `save` holds two more
    copies of all tensors in memory, for a large network's checkpoint twice the memory of weights
    and momentum.

    Source: the format's description, https://huggingface.co/docs/safetensors: the header's length
    in 8 bytes, the header as JSON padded with blanks to a multiple of 8, the tensors.  Those of
    wider types come first, so that all are aligned.
    """
    ordered_names = sorted(
        tensors, key=lambda name: (list(TYPE_NAMES).index(tensors[name].dtype), name)
    )
    # one entry: the order of several is undefined
    header: dict[str, Any] = {"__metadata__": {"facts": json.dumps(dict(facts))}}
    start_offset = 0
    for name in ordered_names:
        end_offset = start_offset + tensors[name].nbytes
        header[name] = {
            "dtype": TYPE_NAMES[tensors[name].dtype],
            "shape": list(tensors[name].shape),
            "data_offsets": [start_offset, end_offset],
        }
        start_offset = end_offset
    header_bytes = json.dumps(header, separators=(",", ":"), ensure_ascii=False).encode()
    header_bytes += b" " * (-len(header_bytes) % 8)
    file.write(len(header_bytes).to_bytes(8, "little") + header_bytes)
    for name in ordered_names:
        flat_tensor = tensors[name].detach().contiguous().cpu().reshape(-1)
        file.write(flat_tensor.view(torch.uint8).numpy().data)


def load_tensors(path: Path) -> tuple[dict[str, Tensor], dict[str, Any]]:
    """The tensors and facts in a safetensors file.  Raises ModelError ("weights-missing",
    "weights-damaged")."""

    def read_tensors(file: Any) -> dict[str, Tensor]:
        return {name: file.get_tensor(name) for name in file.keys()}  # noqa: SIM118  (no mapping)

    return read_weights_file(path, "pt", read_tensors)


def save_network(path: Path, model: nn.Module, net: NetworkShape, facts: Mapping[str, Any]) -> Path:
    """`path`, holding a network's weights, its architecture and further facts."""
    return save_tensors(
        path, model.state_dict(), {"architecture": architecture_facts(net), **facts}
    )


def load_network(path: Path, device: torch.device) -> tuple[Network, dict[str, Any]]:
    """The network in a file, ready for inference on `device`, and its facts; with
    `slice_only_weights` if the facts say "alone".

    Raises ModelError as `load_tensors` and `read_architecture`, and for tensors that do not fit the
    architecture or are not finite ("weights-misfit").
    """
    facts = load_facts(path)
    architecture = read_architecture(path, facts)
    try:
        _refuse_other_size(path, architecture)
        tensors, _ = load_tensors(path)
        _refuse_no_numbers(path, tensors)
        network = build_any_network(architecture)
        network.load_state_dict(tensors)
        if facts.get("alone"):
            network.load_state_dict(slice_only_weights(network.state_dict()))
    except ValueError as error:
        raise unknown_weights_error(path, error) from None
    except (KeyError, TypeError, AttributeError, RuntimeError, IndexError, RecursionError) as error:
        raise misfit_error(path, error) from None
    network.to(memory_format=torch.channels_last)  # type: ignore[call-overload]
    return network.to(device).eval(), facts  # channels last: twice as fast on a CPU


def _refuse_other_size(path: Path, net: NetworkShape) -> None:
    """Raises ModelError "weights-misfit" for a file too large or too small for an architecture,
    before memory for either is allocated."""
    least_bytes = LEAST_WEIGHT_BYTES * net.weight_count
    most_bytes = MOST_WEIGHT_BYTES * net.weight_count + MOST_HEADER_BYTES
    if not least_bytes <= path.stat().st_size <= most_bytes:
        raise ModelError(
            "weights-misfit",
            f"{path}: {path.stat().st_size:,} bytes do not fit the architecture in it, of "
            f"{net.weight_count:,} weights; copy it again, or search again",
        )


def _refuse_no_numbers(path: Path, tensors: Mapping[str, Tensor]) -> None:
    """Raises ModelError "weights-misfit" for weights that are not finite, or not floating-point,
    which torch would convert."""
    for name, tensor in tensors.items():
        is_counter = name.endswith("num_batches_tracked")
        if not is_counter and not (
            tensor.is_floating_point() and bool(torch.isfinite(tensor).all())
        ):
            raise ModelError(
                "weights-misfit",
                f"{path}: {name} ({tensor.dtype}) has values that are not finite; search again",
            )
