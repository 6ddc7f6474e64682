"""The ensemble as one torch module, for programs that use networks without fovnet's decision."""

from __future__ import annotations

from collections.abc import Sequence

import torch
from torch import Tensor, nn


class Mixture(nn.Module):
    """Members and their weights: images (n, c, 128, 128) float in [0, 1] to class probabilities (n,
    k), the members' weighted mean.

    The decision on a volume needs more: calibration, smoothing along the body, and the order of the
    regions.
    """

    weights: Tensor

    def __init__(self, members: Sequence[nn.Module], weights: Sequence[float]) -> None:
        super().__init__()
        self.members = nn.ModuleList(members)
        self.register_buffer("weights", torch.tensor(list(weights), dtype=torch.float32))

    @property
    def channels(self) -> int:
        """The number of channels of its images."""
        return next(
            layer.num_features for layer in self.modules() if isinstance(layer, nn.BatchNorm2d)
        )

    def forward(self, images: Tensor) -> Tensor:
        """Probabilities (n, k)."""
        probabilities = torch.stack([member(images).softmax(dim=1) for member in self.members])
        return torch.einsum("p,pnk->nk", self.weights, probabilities)
