"""The engine onnx: the graph of a model's networks, computed by ONNX Runtime without torch.

ONNX Runtime sends telemetry to its vendor from 1.29 on, with hashes of graph and weights, unless it
is switched off: here it is.  The graph is optimised when it is loaded, and nothing is written: one
that was saved optimised answers wrongly on a processor with other vector lengths, without an error.
"""

from __future__ import annotations

import json
import os
import shlex
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from fovnet.errors import ModelError
from fovnet.net.family.layered import NetworkShape
from fovnet.net.images.unwarped import Images, common_input_kinds, gather_slices
from fovnet.net.inference.engines import ONNX, Outputs, join_outputs
from fovnet.net.inference.probe import Probe, make_probe_images
from fovnet.net.inference.side_by_side import run_side_by_side, split_rows
from fovnet.net.inference_batch import inference_batch_size
from fovnet.volume.slices.placing import Placing

IMAGES = "images"
PROBABILITIES = "probabilities"
FEATURES = "features"
GRAPH_FACTS_KEY = "fovnet"  # of the graph's metadata


class OnnxEngine:
    """The networks of a graph file that `fovnet.net.inference.graph.write_graph` wrote.

    architectures  of the networks, in their order
    checksums      the SHA-256 of each network's weights that the graph must be of, in this order
    Raises ModelError: "graph-missing" without the file, "engine-missing" without the runtime,
    "graph-unusable" if the runtime cannot load it, as one that is damaged or of a newer opset,
    "graph-of-others" if it was made of other weights, and "engine-differs" if it does not give what
    torch gave.
    """

    name = ONNX

    def __init__(
        self,
        path: Path,
        architectures: Sequence[NetworkShape],
        checksums: Sequence[str],
    ) -> None:
        self.input_kinds = common_input_kinds([net.inputs for net in architectures])
        self.member_count = len(architectures)
        self._batch_size = inference_batch_size(
            max(net.first_layer_numbers for net in architectures)
        )
        if not path.exists():
            raise ModelError(
                "graph-missing", f"{path}: no such file; {advise_to_write_again(path)}"
            )
        runtime = _import_runtime()
        self.version = str(runtime.__version__)
        self._session = _open_session(runtime, path)
        graph_facts = _read_facts(self._session, path)
        if graph_facts.get("weights") != list(checksums):
            raise ModelError(
                "graph-of-others",
                f"{path}: was made of other networks than those of the model, or in another order; "
                f"{advise_to_write_again(path)}",
            )
        self._refuse_difference(path, graph_facts, architectures[0].channel_count)

    def compute_outputs(
        self,
        pixels: NDArray[np.uint8],
        rows: NDArray[np.int64],
        placing: Placing | None = None,
        progress: Callable[[int, int], Any] | None = None,
    ) -> Outputs:
        """As `Engine.compute_outputs`; parts of a batch side by side.  Raises ModelError
        ("engine-failed") where the runtime cannot, as for lack of memory."""
        batch_outputs = []
        for start in range(0, len(rows), self._batch_size):
            batch_rows = rows[start : start + self._batch_size]
            batch = gather_slices(pixels, batch_rows, self.input_kinds, placing)
            parts = split_rows(len(batch_rows))
            thread_limit = self._batch_size // (parts[0].stop - parts[0].start)
            batch_outputs += run_side_by_side(
                lambda part, batch=batch: self._compute_image_outputs(batch.make_images(part)),  # type: ignore[misc]
                parts,
                thread_limit,
            )
            if progress:
                progress(min(start + self._batch_size, len(rows)), len(rows))
        return join_outputs(batch_outputs)

    def _compute_image_outputs(self, images: Images) -> Outputs:
        """Probabilities (p, n, k) and features (n, f) for images (n, c, 128, 128)."""
        try:
            probabilities, features = self._session.run([PROBABILITIES, FEATURES], {IMAGES: images})
        except Exception as fault:
            # a runtime has its own kinds of errors, and one volume must not stop the rest
            raise ModelError(
                "engine-failed", f"{type(fault).__name__}: {fault}; use the engine torch"
            ) from fault
        return probabilities, features

    def _refuse_difference(
        self, path: Path, graph_facts: Mapping[str, Any], channel_count: int
    ) -> None:
        """Raise ModelError as `Probe.refuse_difference`, and "graph-unusable" for a probe that
        cannot be read."""
        try:
            probe = Probe.from_json(graph_facts["probe"])
        except (KeyError, TypeError, ValueError, AttributeError) as fault:
            raise _unusable_error(path, f"its facts are not fovnet's ({fault!r})") from fault
        outputs = self._compute_image_outputs(make_probe_images(channel_count))
        probe.refuse_difference(outputs, f"{self.name} {self.version}")


def _import_runtime() -> Any:
    """ONNX Runtime, its telemetry off.  Raises ModelError "engine-missing" if it cannot be
    imported."""
    # kept for the whole process: no uploader, no identifier in the home folder
    os.environ["ORT_DISABLE_TELEMETRY"] = "1"
    try:
        import onnxruntime
    # OSError: it is installed, and a library it needs is not
    except (ImportError, OSError) as fault:
        raise ModelError(
            "engine-missing",
            f"engine {ONNX}: the package onnxruntime cannot be used here ({fault}); pip install "
            "onnxruntime, or use the engine torch",
        ) from fault
    onnxruntime.disable_telemetry_events()  # for the case that it was imported before
    return onnxruntime


def _open_session(runtime: Any, path: Path) -> Any:
    """The session of a graph file, which computes with the caller's thread alone.  Raises ModelError
    "graph-unusable"."""
    options = runtime.SessionOptions()
    options.intra_op_num_threads = 1
    options.inter_op_num_threads = 1
    options.log_severity_level = 4  # its errors are told as ours, not by a line of its own
    try:
        return runtime.InferenceSession(str(path), options, providers=["CPUExecutionProvider"])
    except Exception as fault:  # a runtime has its own kinds of errors
        reason = f"onnxruntime {runtime.__version__} cannot load it ({fault})"
        raise _unusable_error(path, reason) from fault


def _read_facts(session: Any, path: Path) -> dict[str, Any]:
    """The facts that `write_graph` put beside the graph.  Raises ModelError "graph-unusable"."""
    metadata = session.get_modelmeta().custom_metadata_map
    try:
        graph_facts = json.loads(metadata[GRAPH_FACTS_KEY])
    except (KeyError, ValueError) as fault:
        raise _unusable_error(path, "it has no facts of fovnet's") from fault
    return dict(graph_facts) if isinstance(graph_facts, dict) else {}


def _unusable_error(path: Path, reason: str) -> ModelError:
    return ModelError("graph-unusable", f"{path}: {reason}; {advise_to_write_again(path)}")


def advise_to_write_again(path: Path) -> str:
    """What to try where a graph cannot be used."""
    return f"write it again: fovnet export graph {shlex.quote(str(path.parent))}; or use the engine torch"
