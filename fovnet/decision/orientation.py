"""The body's orientation in a volume, judged by its pictures: whether slices run from feet to head,
as the header states.

    layers    of a small network (fovnet.net.training.orientation): weights (out, in) and biases
              (out,)
    bearing   the probability that they do, with equal priors of all 24 orientations; and the most
              probable direction

On disk `orientation.safetensors`, half a megabyte.  An ensemble made from few or thin volumes has
none, and orientation is not judged.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import safetensors
from numpy.typing import NDArray
from safetensors.numpy import load_file
from scipy.special import log_softmax

from fovnet.decision.parts import checked_part_path
from fovnet.errors import ModelError
from fovnet.machine.threads import one_thread
from fovnet.maths.turns import RUN_OF_TURN, RUNS, TURNS, VIEWS
from fovnet.volume.slices.outlines import OUTLINE_SHAPE, compute_outlines
from fovnet.volume.slices.planes import LEAST_EXTENT_MM, make_pictures, measure_extents_mm
from fovnet.volume.slices.stack import SliceStack

ORIENTATION_FILE_NAME = "orientation.safetensors"
Floats = NDArray[np.float64]


@dataclass(frozen=True)
class Bearing:
    """The orientation that the pictures of a volume show.

    upright_probability  the probability that its slices run from feet to head
    direction            the most probable direction of its slices
    """

    upright_probability: float
    direction: str


@dataclass(frozen=True)
class Orientation:
    """The network as arrays, run with numpy alone."""

    layers: tuple[tuple[NDArray[np.float32], NDArray[np.float32]], ...]

    def judge_bearing(self, stack: SliceStack) -> Bearing | None:
        """The bearing of a volume; None if it extends less than LEAST_EXTENT_MM along an axis: a
        slab shows too little."""
        if min(measure_extents_mm(stack)) < LEAST_EXTENT_MM:
            return None
        return bearing_of(self.judge_turns(make_pictures(stack)[None])[0])

    def judge_turns(self, pictures: NDArray[np.uint8]) -> Floats:
        """(n, 24) log-probabilities of the orientations (turns), from pictures (n, 3, 3, 128, 128),
        three of each plane, whose scores are averaged.

        Raises ModelError "model-overflow" if they are no finite numbers.
        """
        outlines = compute_outlines(pictures.reshape(-1, *pictures.shape[3:]))
        activations = outlines.reshape(*pictures.shape[:3], -1)  # (n, 3, 3, 1024)
        *hidden_layers, (last_weight, last_bias) = self.layers
        with one_thread(), np.errstate(over="ignore", invalid="ignore"):
            for weight, bias in hidden_layers:
                activations = np.maximum(activations @ weight.T + bias, 0)
            scores = (activations @ last_weight.T + last_bias).mean(axis=2, dtype=np.float64)
        if not np.isfinite(scores).all():
            raise ModelError(
                "model-overflow",
                f"{ORIENTATION_FILE_NAME}: its outputs are not finite here; copy the whole folder "
                "again",
            )
        score_of_turn = sum(scores[:, plane, TURNS[:, plane]] for plane in range(scores.shape[1]))
        return np.asarray(log_softmax(score_of_turn, axis=1))


def bearing_of(log_probability_of_turn: Floats) -> Bearing:
    """The bearing from the log-probabilities (24,) of the turns."""
    probability_of_run = np.bincount(
        RUN_OF_TURN, np.exp(log_probability_of_turn), minlength=len(RUNS)
    )
    return Bearing(float(probability_of_run[0]), RUNS[int(probability_of_run.argmax())])


def load_orientation(folder: Path) -> Orientation | None:
    """The network in an ensemble's folder; None if there is none.  Raises ModelError
    "orientation-damaged"."""
    path = checked_part_path(folder, ORIENTATION_FILE_NAME)
    if not path.exists():
        return None
    try:
        tensors = load_file(path)
        layer_count = len(tensors) // 2
        layers = tuple(
            (
                _as_float32(tensors[f"layer{layer_index}.weight"]),
                _as_float32(tensors[f"layer{layer_index}.bias"]),
            )
            for layer_index in range(layer_count)
        )
        _refuse_misfit(layers)
    except (OSError, ValueError, KeyError, IndexError, TypeError, safetensors.SafetensorError):
        raise ModelError(
            "orientation-damaged",
            f"{path}: not readable; copy the whole folder again, or run `fovnet ensemble`",
        ) from None
    return Orientation(layers)


def _as_float32(array: NDArray[np.generic]) -> NDArray[np.float32]:
    if array.dtype.kind != "f":
        raise ValueError(f"{array.dtype}")
    return array.astype(np.float32)


def _refuse_misfit(layers: Sequence[tuple[NDArray[np.float32], NDArray[np.float32]]]) -> None:
    """Raise ValueError unless each layer is finite and its input width is the output width of the
    layer before."""
    input_width = int(np.prod(OUTLINE_SHAPE))
    for weight, bias in layers:
        if weight.shape != (len(bias), input_width) or not (
            np.isfinite(weight).all() and np.isfinite(bias).all()
        ):
            raise ValueError(f"{weight.shape}")
        input_width = len(bias)
    if not layers or input_width != len(VIEWS):
        raise ValueError(f"{input_width}")
