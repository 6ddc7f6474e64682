"""The probe: two images on which a graph must give what torch gave when the graph was written.

A kernel that computes something else on one processor, a damaged runtime or a graph that is not of
these networks is thus noticed before it answers, without torch.
"""

from __future__ import annotations

import base64
from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from fovnet.errors import ModelError
from fovnet.net.inference.engines import Outputs
from fovnet.volume.slices.resizing import SIDE_PIXELS

LARGEST_DIFFERENCE = 1e-4  # largest allowed difference of probabilities
FEATURE_TOLERANCE = 1e-3  # relative, of a feature
FEATURE_FLOOR = 1e-4  # of the largest feature: smaller differences are rounding
BRIGHTNESS = (0.2, 1.0)  # of the two images
MULTIPLIER = 2654435761  # of Knuth's multiplicative hash: noise without a generator that may change


@dataclass(frozen=True)
class Probe:
    """What the members give on the probe's images: probabilities (p, 2, k), features (2, f)."""

    probabilities: NDArray[np.float32]
    features: NDArray[np.float32]

    def to_json(self) -> dict[str, object]:
        """The arrays as JSON types: shape, and base64 of little-endian float32."""
        return {
            name: {
                "shape": list(values.shape),
                "float32": base64.b64encode(values.astype("<f4").tobytes()).decode(),
            }
            for name, values in (
                ("probabilities", self.probabilities),
                ("features", self.features),
            )
        }

    @classmethod
    def from_json(cls, arrays: Mapping[str, Mapping[str, object]]) -> Probe:
        """The inverse of `to_json`.  Raises KeyError, TypeError or ValueError for anything else."""
        probabilities = _decode(arrays["probabilities"])
        features = _decode(arrays["features"])
        if probabilities.ndim != 3 or features.ndim != 2 or not features.size:
            raise ValueError(f"shapes {probabilities.shape} and {features.shape}")
        return cls(probabilities, features)

    def refuse_difference(self, outputs: Outputs, engine: str) -> None:
        """Raise ModelError "engine-differs" unless an engine's outputs on the probe's images are
        these but for rounding."""
        probabilities, features = outputs
        difference = np.inf
        if probabilities.shape == self.probabilities.shape:
            difference = float(np.abs(probabilities - self.probabilities).max())
        tolerance = FEATURE_FLOOR * float(np.abs(self.features).max())
        features_agree = features.shape == self.features.shape and np.allclose(
            features, self.features, rtol=FEATURE_TOLERANCE, atol=tolerance
        )
        if not difference <= LARGEST_DIFFERENCE or not features_agree:
            raise ModelError(
                "engine-differs",
                f"engine {engine}: its probabilities differ from torch's by {difference:.2g}, more than "
                f"{LARGEST_DIFFERENCE:g}, or its features do; use the engine torch",
            )


def make_probe_images(channel_count: int) -> NDArray[np.float32]:
    """(2, c, 128, 128) noise in [0, 1], one image dark and one bright."""
    shape = (len(BRIGHTNESS), channel_count, SIDE_PIXELS, SIDE_PIXELS)
    numbers = np.arange(1, np.prod(shape) + 1, dtype=np.uint64) * np.uint64(MULTIPLIER)
    noise = ((numbers >> np.uint64(16)) % np.uint64(256)).astype(np.float32) / np.float32(255)
    brightness = np.array(BRIGHTNESS, dtype=np.float32)
    return noise.reshape(shape) * brightness[:, None, None, None]


def _decode(array: Mapping[str, object]) -> NDArray[np.float32]:
    shape = [int(length) for length in array["shape"]]  # type: ignore[attr-defined]
    content = base64.b64decode(str(array["float32"]), validate=True)
    return np.frombuffer(content, "<f4").reshape(shape).astype(np.float32)
