"""Which way a body lies in a volume, by its pictures: whether slices run from feet to head, as the header has it.

    layers    of a small network (fovnet.net.orientation): weights (out, in) and biases (out,)
    bearing   how probable it is that they do, all 24 ways of lying being as probable before; and what they rather run along

On disk `orientation.safetensors`, half a megabyte.  An ensemble of few or thin volumes has none, and does not judge it.
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

from fovnet.errors import ModelError
from fovnet.maths.threads import one_thread
from fovnet.maths.turns import ALONG, RUNS, TURNS, VIEWS
from fovnet.volume.outlines import SHAPE, outlines
from fovnet.volume.planes import LEAST_MM, extents_mm, pictures
from fovnet.volume.slices import SliceStack

FILE = "orientation.safetensors"
Floats = NDArray[np.float64]


@dataclass(frozen=True)
class Bearing:
    """What the pictures of a volume show of its axes.

    upright  the probability that its slices run from feet to head        rather  what they most probably run along
    """

    upright: float
    rather: str


@dataclass(frozen=True)
class Orientation:
    """The network, as arrays: numpy is enough to run it."""

    layers: tuple[tuple[NDArray[np.float32], NDArray[np.float32]], ...]

    def bearing(self, stack: SliceStack) -> Bearing | None:
        """Of a volume; None where it reaches less than LEAST_MM along an axis: a slab shows too little."""
        if min(extents_mm(stack)) < LEAST_MM:
            return None
        return bearing_of(self.turns(pictures(stack)[None])[0])

    def turns(self, shown: NDArray[np.uint8]) -> Floats:
        """(n, 24) log-probabilities of the turns, from pictures (n, 3, 3, 128, 128)."""
        n, planes, places = shown.shape[:3]
        return self.of_outlines(outlines(shown.reshape(-1, *shown.shape[3:])).reshape(n, planes, places, -1))

    def of_outlines(self, seen: NDArray[np.float32]) -> Floats:
        """(n, 24) the same, from outlines (n, 3, 3, 1024); what is scored in the places of one plane is averaged."""
        *hidden, (weight, bias) = self.layers
        with one_thread():
            for inner, offset in hidden:
                seen = np.maximum(seen @ inner.T + offset, 0)
            scores = (seen @ weight.T + bias).mean(axis=2, dtype=np.float64)
        return np.asarray(log_softmax(sum(scores[:, plane, TURNS[:, plane]] for plane in range(scores.shape[1])), axis=1))


def bearing_of(turns: Floats) -> Bearing:
    """From the log-probabilities (24,) of the turns."""
    each = np.bincount(ALONG, np.exp(turns), minlength=len(RUNS))
    return Bearing(float(each[0]), RUNS[int(each.argmax())])


def load(folder: Path) -> Orientation | None:
    """The network in an ensemble's folder; None where there is none.  Raises ModelError "orientation-damaged"."""
    path = folder / FILE
    if not path.exists():
        return None
    try:
        tensors = load_file(path)
        count = len(tensors) // 2
        layers = tuple((_floats(tensors[f"layer{at}.weight"]), _floats(tensors[f"layer{at}.bias"])) for at in range(count))
        _refuse_misfit(layers)
    except (OSError, ValueError, KeyError, IndexError, TypeError, safetensors.SafetensorError):
        raise ModelError("orientation-damaged", f"{path}: not readable; copy the whole folder again, or run `fovnet ensemble`") from None
    return Orientation(layers)


def _floats(array: NDArray[np.generic]) -> NDArray[np.float32]:
    return array.astype(np.float32)


def _refuse_misfit(layers: Sequence[tuple[NDArray[np.float32], NDArray[np.float32]]]) -> None:
    """Nothing, where each layer is of numbers and takes what the one before gives.  Raises ValueError."""
    width = int(np.prod(SHAPE))
    for weight, bias in layers:
        if weight.shape != (len(bias), width) or not (np.isfinite(weight).all() and np.isfinite(bias).all()):
            raise ValueError(f"{weight.shape}")
        width = len(bias)
    if not layers or width != len(VIEWS):
        raise ValueError(f"{width}")
