"""Engines that compute the members' outputs: torch, which is always available, or a runtime that is
faster on a CPU.

    torch      the networks as they were trained; the only one on CUDA
    onnx       ONNX Runtime, all networks as one graph (fovnet.net.inference.graph)
    auto       onnx on a CPU, if it is installed and can express the networks, else torch

Their probabilities differ by rounding, 1e-6; each engine is compared with torch on two images when
it is made, and not used if it differs.  On a CPU each call computes with one thread, and several
threads may call at once: see `fovnet.net.inference.member_outputs`.  Graphs are made in memory:
nothing is written.  ONNX Runtime sends telemetry to its vendor from 1.29 on, with hashes of graph
and weights, unless it is switched off: here it is.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Sequence
from contextlib import suppress
from importlib import import_module
from importlib.util import find_spec
from typing import Any, Protocol

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor, nn

from fovnet.errors import ConfigError, FovnetError, ModelError
from fovnet.net.faults import is_memory_short
from fovnet.net.inference.graph import FEATURES, IMAGES, PROBABILITIES, build_graph
from fovnet.net.inference.side_by_side import run_side_by_side

Floats32 = NDArray[np.float32]
AUTO = "auto"
LARGEST_DIFFERENCE = 1e-4  # largest allowed difference of probabilities


class Engine(Protocol):
    """Networks ready for inference."""

    name: str
    version: str

    def compute_outputs(self, images: Tensor) -> tuple[Floats32, Floats32]:
        """Probabilities (p, n, k) and features (n, f), float32 on the host, of all p members for
        images (n, c, 128, 128) float in [0, 1].

        Raises MemoryError or ModelError ("engine-failed") if it fails, for instance for lack of
        memory.
        """


class TorchEngine:
    """The networks themselves, on the device they are on."""

    name = "torch"
    version = str(torch.__version__)

    def __init__(self, members: Sequence[nn.Module]) -> None:
        self._members = members

    def compute_outputs(self, images: Tensor) -> tuple[Floats32, Floats32]:
        """Probabilities (p, n, k) and features (n, f) for images (n, c, 128, 128) on the members'
        device.

        Raises MemoryError if memory is short, and RuntimeError as torch does.
        """
        try:
            with torch.inference_mode():
                member_outputs = [
                    _compute_member_output(member, images) for member in self._members
                ]
        except RuntimeError as fault:  # lack of memory for one volume must not stop the others
            if is_memory_short(fault):
                raise MemoryError(str(fault)) from fault
            raise
        probabilities, features = zip(*member_outputs, strict=True)
        return (
            torch.stack(probabilities).float().cpu().numpy(),
            torch.cat(features, dim=1).cpu().numpy(),
        )


class OnnxEngine:
    """ONNX Runtime."""

    name = "onnx"

    def __init__(self, members: Sequence[nn.Module]) -> None:
        _import_package("onnx", self.name)
        # kept for the whole process: no uploader, no identifier in the home folder
        os.environ["ORT_DISABLE_TELEMETRY"] = "1"
        runtime = _import_package("onnxruntime", self.name)
        runtime.disable_telemetry_events()  # for the case that it was imported before
        self.version = str(runtime.__version__)
        options = runtime.SessionOptions()
        options.intra_op_num_threads = options.inter_op_num_threads = 1  # that of the caller
        options.log_severity_level = 3
        graph = build_graph(members).SerializeToString()
        self._session = runtime.InferenceSession(graph, options, providers=["CPUExecutionProvider"])

    def compute_outputs(self, images: Tensor) -> tuple[Floats32, Floats32]:
        """Probabilities (p, n, k) and features (n, f) for images (n, c, 128, 128) on the CPU.

        Raises ModelError ("engine-failed") where the runtime cannot, as for lack of memory.
        """
        try:
            probabilities, features = self._session.run(
                [PROBABILITIES, FEATURES], {IMAGES: images.contiguous().numpy()}
            )
        except Exception as fault:
            # a runtime has its own kinds of errors, and one volume must not stop the rest
            raise ModelError(
                "engine-failed", f"{type(fault).__name__}: {fault}; use the engine torch"
            ) from fault
        return probabilities, features


ENGINE_BY_NAME: dict[str, Callable[[Sequence[nn.Module]], Engine]] = {
    "torch": TorchEngine,
    "onnx": OnnxEngine,
}
PACKAGES_BY_ENGINE = {"torch": ("torch",), "onnx": ("onnx", "onnxruntime")}


def list_installed_engines() -> list[str]:
    """The names of the engines whose packages are installed."""
    return [
        name
        for name in ENGINE_BY_NAME
        if all(find_spec(package) for package in PACKAGES_BY_ENGINE[name])
    ]


def refuse_unknown_engine(name: str) -> None:
    """Raise ConfigError "engine-unknown" unless there is an engine of that name, or it is
    "auto"."""
    if name not in (AUTO, *ENGINE_BY_NAME):
        raise ConfigError(
            "engine-unknown", f"engine {name!r} is unknown; use {AUTO}, {', '.join(ENGINE_BY_NAME)}"
        )


def choose_engine(name: str, members: Sequence[nn.Module], device: torch.device) -> Engine:
    """The engine of that name, or the fastest available ("auto"), for networks that are on
    `device`.

    Raises ConfigError for an unknown engine ("engine-unknown") or one that cannot use that device
    ("engine-device"); ModelError for one that cannot be made ("engine-missing", "engine-failed",
    "engine-differs", or as `build_graph`); with "auto" and "torch" none of these.
    """
    refuse_unknown_engine(name)
    if name == AUTO:
        return _make_fastest(members) if device.type == "cpu" else TorchEngine(members)
    if name != "torch" and device.type != "cpu":
        raise ConfigError(
            "engine-device",
            f"engine {name} computes on the CPU, but the device is {device}; use --device cpu, or "
            "torch",
        )
    return _make_engine(name, members)


def _make_fastest(members: Sequence[nn.Module]) -> Engine:
    """onnx, several times as fast (`workflow/experiments/engines.py`); torch where it cannot be
    made."""
    with suppress(FovnetError):
        return _make_engine("onnx", members)
    return TorchEngine(members)


def _make_engine(name: str, members: Sequence[nn.Module]) -> Engine:
    """One of ENGINE_BY_NAME, compared with torch."""
    try:
        engine = ENGINE_BY_NAME[name](members)
        if name != "torch":
            _refuse_different_outputs(engine, members)
    except FovnetError:
        raise
    except Exception as fault:  # a runtime has its own kinds of errors
        raise ModelError(
            "engine-failed", f"engine {name}: {type(fault).__name__}: {fault}; use the engine torch"
        ) from fault
    return engine


def _refuse_different_outputs(engine: Engine, members: Sequence[nn.Module]) -> None:
    """Raise ModelError "engine-differs" unless the engine's outputs on two images of noise, one
    dark and one bright, are those of torch."""
    channel_count = int(next(members[0].parameters()).shape[0])
    noise_images = torch.rand(
        2, channel_count, 128, 128, generator=torch.Generator().manual_seed(0)
    )
    images = noise_images * torch.tensor([0.2, 1.0])[:, None, None, None]
    (probabilities, features), (torch_probabilities, torch_features) = run_side_by_side(
        lambda tested_engine: tested_engine.compute_outputs(images),
        [engine, TorchEngine(members)],
        1,
    )
    difference = float(np.abs(probabilities - torch_probabilities).max())
    tolerance = 1e-4 * float(np.abs(torch_features).max())
    if difference > LARGEST_DIFFERENCE or not np.allclose(
        features, torch_features, rtol=1e-3, atol=tolerance
    ):
        raise ModelError(
            "engine-differs",
            f"engine {engine.name} {engine.version}: its probabilities differ from torch's by "
            f"{difference:.2g}, more than {LARGEST_DIFFERENCE:g}, or its features do; use the engine torch",
        )


def _import_package(package: str, engine: str) -> Any:
    """The package, imported.  Raises ModelError "engine-missing" if it cannot be."""
    try:
        return import_module(package)
    # OSError: it is installed, and a library it needs is not
    except (ImportError, OSError) as fault:
        raise ModelError(
            "engine-missing",
            f"engine {engine}: the package {package} cannot be used here ({fault}); "
            f"pip install 'fovnet[{engine}]' (in a clone '.[{engine}]'), or use the engine torch",
        ) from fault


def _compute_member_output(member: nn.Module, images: Tensor) -> tuple[Tensor, Tensor]:
    """Class probabilities (n, k) and features (n, filters * blocks) of one member."""
    features: list[Tensor] = []
    scores = member(images, lambda pooled: features.append(_measure_deviation(pooled)))
    return scores.softmax(dim=1), torch.cat(features, dim=1)


def _measure_deviation(pooled: Tensor) -> Tensor:
    """(n, filters) the standard deviation over the image, in two passes: torch.std takes nine times
    as long on a CPU, a quarter of all."""
    active = pooled.clamp_min(0).float()  # the block's ReLU comes after its pooling
    differences = active - active.mean(dim=(2, 3), keepdim=True)
    return differences.square_().mean(dim=(2, 3)).sqrt_()
