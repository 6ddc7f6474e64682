"""Augmentation: one affine resampling and one draw of noise for a whole batch, where the batch lies.

    images  (n, 1, h, w) float in [0, 1]
    theta   (n, 2, 3)    output to input coordinates in torch's [-1, 1] frame, affine_grid's convention
"""

from __future__ import annotations

from dataclasses import dataclass

import torch
import torch.nn.functional as F
from torch import Tensor


@dataclass(frozen=True)
class Ranges:
    """Half-widths of the uniform draws: degrees, share of the side, shear, share of the size; noise is the largest sd drawn."""

    rotation_deg: float
    translation: float
    shear: float
    zoom: float
    noise: float


def augment(images: Tensor, ranges: Ranges, generator: torch.Generator) -> Tensor:
    """The batch (n, 1, h, w), each slice turned, shifted, sheared, zoomed and made noisy by its own draw; outside is black."""
    theta = draw_affines(len(images), ranges, generator).to(images.device)
    grid = F.affine_grid(theta, list(images.shape), align_corners=False)
    warped = F.grid_sample(images, grid, mode="bilinear", padding_mode="zeros", align_corners=False)
    sigma = ranges.noise * torch.rand((len(images), 1, 1, 1), generator=generator)
    noise = torch.randn(images.shape, generator=generator)
    return (warped + (sigma * noise).to(images.device)).clamp_(0.0, 1.0)


def draw_affines(n: int, ranges: Ranges, generator: torch.Generator) -> Tensor:
    """(n, 2, 3) maps from output to input: rotation · shear · zoom about the centre, then a shift.

    Drawn on the CPU, so that a seed means the same on every device.
    """
    angle, shear, zoom, right, down = (2 * torch.rand((5, n), generator=generator) - 1).unbind()
    angle, shear = angle * ranges.rotation_deg * torch.pi / 180, shear * ranges.shear
    scale = 1 / (1 + zoom * ranges.zoom)                       # zoomed in means fewer input pixels across
    cos, sin = torch.cos(angle), torch.sin(angle)
    shift = 2 * ranges.translation                             # the frame is two units wide
    theta = torch.stack(
        [scale * cos, scale * (shear * cos - sin), right * shift, scale * sin, scale * (shear * sin + cos), down * shift], dim=1
    )
    return theta.reshape(n, 2, 3)
