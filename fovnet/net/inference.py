"""Slices in, each member's class probabilities out."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray
from torch import nn

from fovnet.net.descent import normalised
from fovnet.net.training import EVALUATION_BATCH


def member_probabilities(
    members: Sequence[nn.Module], pixels: NDArray[np.uint8], device: torch.device, progress: Callable[[int, int], Any] | None = None
) -> NDArray[np.float32]:
    """Class probabilities (m, s, k) of every member for slices (s, 128, 128), computed batch by batch so that memory stays bounded."""
    batches = range(0, len(pixels), EVALUATION_BATCH)
    parts = []
    with torch.inference_mode():
        for start in batches:
            batch = torch.from_numpy(np.array(pixels[start : start + EVALUATION_BATCH])).to(device)
            images = normalised(batch)
            parts.append(torch.stack([member(images).softmax(dim=1) for member in members]).cpu().numpy())
            if progress:
                progress(min(start + EVALUATION_BATCH, len(pixels)), len(pixels))
    return np.asarray(np.concatenate(parts, axis=1), dtype=np.float32)
