"""Engines that compute the members' outputs: torch, or a runtime that starts and computes faster on
a CPU.

    torch  the networks as they were trained; the only one on CUDA
    onnx   ONNX Runtime, all networks as one graph, which lies beside them
           (fovnet.net.inference.graph)
    auto   onnx on a CPU where the model has a graph that can be used, else torch

Their probabilities differ by rounding, 1e-6.  On a CPU each call computes with one thread, and
several threads may call at once.  Importing this imports neither.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from importlib.util import find_spec
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray

from fovnet.errors import ConfigError
from fovnet.volume.slices.placing import Placing

Floats32 = NDArray[np.float32]
Outputs = tuple[Floats32, Floats32]
"""Probabilities (p, s, k) of p members, and features (s, f) of all together."""

AUTO = "auto"
TORCH = "torch"
ONNX = "onnx"
PACKAGE_BY_ENGINE = {TORCH: "torch", ONNX: "onnxruntime"}


class Engine(Protocol):
    """Networks ready for inference.

    name, version  of the engine
    input_kinds    of its images, as in `fovnet.net.family.architecture.INPUTS`
    member_count   the number of networks
    """

    name: str
    version: str
    input_kinds: tuple[str, ...]
    member_count: int

    def compute_outputs(
        self,
        pixels: NDArray[np.uint8],
        rows: NDArray[np.int64],
        placing: Placing | None = None,
        progress: Callable[[int, int], Any] | None = None,
    ) -> Outputs:
        """Class probabilities (p, s, k) and features (s, f) of every member for the `rows` (s,) of
        slices (n, 128, 128).

        placing  of all the slices, if the members' inputs need it
        Computed batch by batch, so that only one batch of memory-mapped pixels is in memory.
        Raises MemoryError or ModelError ("engine-failed") if it fails, for instance for lack of
        memory, and ModelError ("inputs-unplaced") without a placing that is needed.
        """


def list_installed_engines() -> list[str]:
    """The names of the engines whose packages are installed."""
    return [name for name, package in PACKAGE_BY_ENGINE.items() if find_spec(package)]


def refuse_unknown_engine(name: str) -> None:
    """Raise ConfigError "engine-unknown" unless there is an engine of that name, or it is
    "auto"."""
    if name not in (AUTO, *PACKAGE_BY_ENGINE):
        raise ConfigError(
            "engine-unknown",
            f"engine {name!r} is unknown; use {AUTO}, {', '.join(PACKAGE_BY_ENGINE)}",
        )


def join_outputs(outputs: Sequence[Outputs]) -> Outputs:
    """Probabilities (p, n, k) and features (n, f) of several batches, one after another."""
    probabilities, features = zip(*outputs, strict=True)
    return (
        np.concatenate(probabilities, axis=1, dtype=np.float32),
        np.concatenate(features, dtype=np.float32),
    )
