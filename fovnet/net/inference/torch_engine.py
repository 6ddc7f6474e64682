"""The engine torch: the networks themselves, on the device they are on."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray
from torch import nn

from fovnet.net.faults import is_memory_short
from fovnet.net.images.inputs import input_kinds_of
from fovnet.net.inference.engines import TORCH, Outputs
from fovnet.net.inference.member_outputs import compute_member_outputs
from fovnet.volume.slices.placing import Placing


class TorchEngine:
    """Networks as torch modules, all on one device.

    members  the networks
    device   on which they are
    Raises ModelError as `input_kinds_of`.
    """

    name = TORCH
    version = str(torch.__version__)

    def __init__(self, members: Sequence[nn.Module], device: torch.device) -> None:
        self.members = members
        self.device = device
        self.input_kinds = input_kinds_of(members)
        self.member_count = len(members)

    def compute_outputs(
        self,
        pixels: NDArray[np.uint8],
        rows: NDArray[np.int64],
        placing: Placing | None = None,
        progress: Callable[[int, int], Any] | None = None,
    ) -> Outputs:
        """As `Engine.compute_outputs`.  Raises MemoryError if memory is short, and RuntimeError as
        torch does."""
        try:
            return compute_member_outputs(
                self.members, pixels, self.device, progress, rows, placing
            )
        except RuntimeError as fault:  # lack of memory for one volume must not stop the others
            if is_memory_short(fault):
                raise MemoryError(str(fault)) from fault
            raise
