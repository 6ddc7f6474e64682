"""The facts in a weights file, and where its tensors lie.  Importing this imports no torch."""

from __future__ import annotations

import json
import os
from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

from fovnet.errors import ModelError
from fovnet.net.family.architecture import Architecture
from fovnet.net.family.layered import Convolution, Layered, NetworkShape

if TYPE_CHECKING:
    from torch import Tensor


FAMILY_KEY = "family"
LAYERS = "layers"
"""The name of the family of `Layered`."""


class StoredTensor(NamedTuple):
    """Where a tensor lies in a weights file: bytes from its beginning, little-endian.

    type_name  as safetensors has it, "F16" or "F32"
    """

    file_name: str
    type_name: str
    shape: tuple[int, ...]
    offset: int
    byte_count: int


def locate_tensors(path: Path, folder: Path) -> dict[str, StoredTensor]:
    """Where each tensor of a safetensors file lies, by name; the file's name is that from `folder`.
    Of a file that `load_facts` can read.

    Source: the format's description, https://huggingface.co/docs/safetensors: the header's length
    in 8 bytes, the header as JSON, the tensors.
    """
    with path.open("rb") as file:
        header_bytes = int.from_bytes(file.read(8), "little")
        header = json.loads(file.read(header_bytes))
    tensors = {}
    for name, entry in header.items():
        if name == "__metadata__":
            continue
        start, end = entry["data_offsets"]
        tensors[name] = StoredTensor(
            file_name=path.relative_to(folder).as_posix(),
            type_name=entry["dtype"],
            shape=tuple(entry["shape"]),
            offset=8 + header_bytes + start,
            byte_count=end - start,
        )
    return tensors


def load_facts(path: Path) -> dict[str, Any]:
    """The facts in a safetensors file, without its tensors.  Raises ModelError as
    `read_weights_file`."""
    _, facts = read_weights_file(path, "numpy", lambda _: {})
    return facts


def architecture_facts(net: NetworkShape) -> dict[str, Any]:
    """A network's numbers as JSON-able facts; those of the paper's family name no family."""
    if isinstance(net, Layered):
        conv = [layer._asdict() for layer in net.conv]
        return {FAMILY_KEY: LAYERS, **asdict(net), "conv": conv}
    return asdict(net)


def read_architecture(path: Path, facts: Mapping[str, Any]) -> NetworkShape:
    """The network in a weights file's facts.  Raises ModelError for an unknown one, such as its
    family, head or inputs ("weights-unknown"), and for none ("weights-misfit")."""
    try:
        return _architecture_of_facts(facts["architecture"])
    except ValueError as error:
        raise unknown_weights_error(path, error) from None
    except (KeyError, TypeError, AttributeError, RecursionError) as error:
        raise misfit_error(path, error) from None


def _architecture_of_facts(architecture: Mapping[str, Any]) -> NetworkShape:
    """The inverse of `architecture_facts`.  Raises ValueError for an unknown family, and as each
    family's own."""
    if FAMILY_KEY not in architecture:
        return Architecture(**architecture)
    numbers = dict(architecture)
    family = numbers.pop(FAMILY_KEY)
    if family != LAYERS:
        raise ValueError(f"family {family!r}; known is {LAYERS}")
    conv = tuple(Convolution(**layer) for layer in numbers.pop("conv"))
    return Layered(conv=conv, **numbers)


def unknown_weights_error(path: Path, error: Exception) -> ModelError:
    """The error of a network that this fovnet cannot build."""
    return ModelError(
        "weights-unknown",
        f"{path}: {error}; another version of fovnet made it: use that, or search again",
    )


def misfit_error(path: Path, error: Exception) -> ModelError:
    """The error of tensors that are not those of the architecture beside them."""
    return ModelError(
        "weights-misfit", f"{path}: the tensors do not fit the architecture beside them: {error}"
    )


def read_weights_file(
    weights_path: Path, framework: str, read_tensors: Callable[[Any], dict[str, Tensor]]
) -> tuple[dict[str, Tensor], dict[str, Any]]:
    """The tensors that `read_tensors` takes from a weights file, and its facts.

    framework  of the tensors, "pt" or "numpy"; only "pt" imports torch
    Raises ModelError ("weights-missing", "weights-damaged").
    """
    missing_error = ModelError(
        "weights-missing", f"{weights_path}: no such file; run the search again to make it"
    )
    # before the library: a training begins without.  Path.exists raises in a closed folder
    if not os.path.exists(weights_path):  # noqa: PTH110
        raise missing_error
    import safetensors

    try:
        with safetensors.safe_open(weights_path, framework=framework) as file:
            return read_tensors(file), json.loads((file.metadata() or {}).get("facts", "{}"))
    except FileNotFoundError:
        raise missing_error from None
    except (safetensors.SafetensorError, ValueError, RecursionError, OSError) as error:
        raise ModelError(
            "weights-damaged",
            f"{weights_path}: not readable as safetensors ({error}); remove it and run the search again",
        ) from None


def refuse_other_inputs(
    path: Path, facts: Mapping[str, Any], classes: Sequence[str], slices: Mapping[str, Any]
) -> None:
    """Raise unless the network in `path` has these classes, in this order, and was trained on
    slices of this format.

    Raises ModelError ("weights-unmarked", "weights-other-classes", "weights-other-slices") with
    what differs.
    """
    if not {"classes", "slices"} <= facts.keys():
        raise ModelError(
            "weights-unmarked",
            f"{path}: does not name its classes or its slices; search again with this fovnet",
        )
    if list(facts["classes"]) != list(classes):
        raise ModelError(
            "weights-other-classes",
            f"{path}: its classes are {', '.join(facts['classes'])}, not {', '.join(classes)}; "
            "search again, or give its regions",
        )
    training_slices = facts["slices"]
    for name in sorted(training_slices.keys() | slices.keys()):
        if training_slices.get(name) != slices.get(name):
            raise ModelError(
                "weights-other-slices",
                f"{path}: trained on slices with {name} = {training_slices.get(name)}, these have "
                f"{slices.get(name)}; cut them in the same way, or search again on slices like "
                "these",
            )
