"""The networks of a model folder, ready to compute.

On a CPU their graph is used, which needs no torch, where the folder has one that can be used; else
torch, which is then imported.
"""

from __future__ import annotations

from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

from fovnet.decision.folder import GRAPH_FILE_NAME, ModelFolder
from fovnet.decision.parts import SUMS_FILE_NAME, add_sum, checked_part_path, is_listed
from fovnet.errors import ConfigError, ModelError
from fovnet.late import import_late
from fovnet.net.device import CPU, choose_device, settle_device
from fovnet.net.family.facts import load_facts, read_architecture
from fovnet.net.inference.engines import ONNX, TORCH, Engine, refuse_unknown_engine
from fovnet.net.inference.onnx_engine import OnnxEngine, advise_to_write_again

if TYPE_CHECKING:
    from torch import nn

    from fovnet.net.family import weights
    from fovnet.net.inference import graph, torch_engine
else:  # torch
    weights = import_late("fovnet.net.family.weights")
    graph = import_late("fovnet.net.inference.graph")
    torch_engine = import_late("fovnet.net.inference.torch_engine")

FAULTS_OF_GRAPHS = (
    "graph-missing",
    "graph-unusable",
    "graph-of-others",
    "graph-unlisted",
    "engine-missing",
    "engine-failed",
    "engine-differs",
)
"""Codes of what torch does without."""


def settle_choice(engine_name: str, device: str) -> str:
    """The device that is meant, as `settle_device` names it.

    Raises ConfigError for an unknown engine ("engine-unknown"), an unknown or missing device, and
    an engine that cannot use it ("engine-device").
    """
    refuse_unknown_engine(engine_name)
    device_name = settle_device(device)
    if engine_name == ONNX and device_name != CPU:
        raise ConfigError(
            "engine-device",
            f"engine {ONNX} computes on the CPU, but the device is {device_name}; use --device cpu, or "
            "torch",
        )
    return device_name


class ChosenEngine(NamedTuple):
    """An engine, and why it is not the faster one; empty where nothing is to be said."""

    engine: Engine
    why_not_graph: str = ""


def load_engine(model_folder: ModelFolder, device: str, engine_name: str) -> ChosenEngine:
    """The networks of a folder in the engine of that name, or in the fastest that can be used
    ("auto").

    device  as `settle_choice` gives it
    Raises as `load_members`, and ModelError as `OnnxEngine` where its engine is asked for or torch
    is not installed.
    """
    if engine_name == TORCH or device != CPU:
        return ChosenEngine(load_torch_engine(model_folder, device))
    try:
        return ChosenEngine(_load_onnx_engine(model_folder))
    except ModelError as fault:
        if engine_name == ONNX or fault.code not in FAULTS_OF_GRAPHS or not find_spec("torch"):
            raise
        return ChosenEngine(load_torch_engine(model_folder, device), fault.sentence)


def load_torch_engine(model_folder: ModelFolder, device: str = CPU) -> torch_engine.TorchEngine:
    """The networks of a folder in the engine torch.  Raises as `load_members`, ConfigError as
    `choose_device`, and ModelError "engine-missing" where torch cannot be imported."""
    try:
        engine_class = torch_engine.TorchEngine
    # OSError: it is installed, and a library it needs is not
    except (ImportError, OSError) as fault:
        raise ModelError(
            "engine-missing",
            f"engine {TORCH}: the package torch cannot be used here ({fault}); pip install torch, or use "
            f"a model that has {GRAPH_FILE_NAME}",
        ) from fault
    return engine_class(load_members(model_folder, device), choose_device(device))


def load_members(model_folder: ModelFolder, device: str = CPU) -> list[nn.Module]:
    """The networks of a folder as torch modules, in their order.  Raises ModelError as
    `ModelFolder.weight_files`, and for those that cannot be built ("weights-unknown", "weights-misfit")."""
    torch_device = choose_device(device)
    return [weights.load_network(path, torch_device)[0] for path in model_folder.weight_files]


def write_graph_part(folder: Path) -> Path:
    """`folder/networks.onnx`, the graph of its networks, with its line in SHA256SUMS where the folder
    has that file.

    Raises ModelError as `load_members`, and "graph-layer" or "graph-inputs" for networks that have
    no graph.
    """
    model_folder = ModelFolder(folder)
    path = graph.write_graph(
        folder / GRAPH_FILE_NAME, load_members(model_folder), model_folder.weight_files
    )
    add_sum(folder, GRAPH_FILE_NAME)
    return path


def _load_onnx_engine(model_folder: ModelFolder) -> OnnxEngine:
    """The networks of a folder by their graph.  Raises as `OnnxEngine` and
    `ModelFolder.weight_files`, and "graph-unlisted" for one that SHA256SUMS does not name, as one
    that `write_graph_part` was writing when it was killed."""
    graph_path = checked_part_path(model_folder.path, GRAPH_FILE_NAME)
    if graph_path.exists() and not is_listed(model_folder.path, GRAPH_FILE_NAME):
        raise ModelError(
            "graph-unlisted",
            f"{graph_path}: not listed in {SUMS_FILE_NAME}; {advise_to_write_again(graph_path)}",
        )
    return OnnxEngine(
        graph_path,
        [read_architecture(path, load_facts(path)) for path in model_folder.weight_files],
        [network.sha256 for network in model_folder.networks],
    )
