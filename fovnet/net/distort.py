"""What slices are made to look like before they are warped: bodies bent smoothly, and tissues of another texture; nothing of the paper's.

    n  slices    controls  (n, 2, 4, 4) moves to the right and down, in half sides of the frame    kernels  (n, 3, 3), each of sum one

A network that learns from a simulator learns its shapes and its textures by heart; both are changed here as no simulator would, so that
what is left to learn is how parts lie to one another.
Sources: Rueckert et al., Nonrigid registration using free-form deformations (1999), eqs 3 and 4, on a lattice of 4 x 4 control points;
Xu et al., Robust and generalizable visual representation learning via random convolutions (2021), section 3.1, kernels mixed with the
identity.
"""

from __future__ import annotations

from functools import cache

import torch
import torch.nn.functional as F
from torch import Tensor

from fovnet.net.sampling import grid_of, read_at

POINTS = 4                      # control points along a side
CONTROLS, TAPS = 2 * POINTS**2, 9
WIDTH = CONTROLS + TAPS         # numbers a slice


def draw_distortions(n: int, bend: float, texture: float, generator: torch.Generator) -> Tensor:
    """(n, 41) float32: by how much each control point moves, shares of the frame's half side, and each slice's kernel.

    bend  largest move, as a share of the side    texture  largest standard deviation of a kernel's taps.  Without either no number is drawn
    """
    controls, kernels = torch.zeros(n, CONTROLS), torch.zeros(n, TAPS)
    kernels[:, TAPS // 2] = 1.0
    if bend:
        controls = 2 * bend * (2 * torch.rand((n, CONTROLS), generator=generator) - 1)
    if texture:
        taps = torch.randn((n, TAPS), generator=generator) * (texture * torch.rand((n, 1), generator=generator))
        kernels += taps - taps.mean(dim=1, keepdim=True)
    return torch.cat([controls, kernels], dim=1)


def distorted(images: Tensor, distortions: Tensor, *, bend: bool, texture: bool) -> Tensor:
    """The batch (n, c, h, w) in [0, 1], each slice bent and given another texture by its own row; all its channels alike."""
    n = len(images)
    if texture:
        images = textured(images, distortions[:, CONTROLS:].reshape(n, 3, 3))
    return bent(images, distortions[:, :CONTROLS].reshape(n, 2, POINTS, POINTS)) if bend else images


def bent(images: Tensor, controls: Tensor) -> Tensor:
    """The batch (n, c, h, w), each pixel read where the cubic B-splines of its slice's control points move it; outside is black.

    controls  (n, 2, 4, 4) moves to the right and down at points a third of the frame apart, in half sides
    """
    n, _, h, w = images.shape
    down, across = (_splines(size).to(images.device) for size in (h, w))
    moves = torch.einsum("hi,naij,wj->nhwa", down, controls, across)
    still = torch.eye(2, 3, device=images.device).expand(n, 2, 3)
    return read_at(images, grid_of(still, h, w) + moves)


def textured(images: Tensor, kernels: Tensor) -> Tensor:
    """The batch (n, c, h, w) in [0, 1], each slice filtered by its own kernel (n, 3, 3), cut off at 0 and 1.

    Kernels of sum one leave what is flat as bright as it was: edges become sharper, softer or one-sided.
    """
    n, c, h, w = images.shape
    flat = images.reshape(1, n * c, h, w)
    taps = kernels[:, None].expand(n, c, 3, 3).reshape(n * c, 1, 3, 3)
    filtered = F.conv2d(F.pad(flat, (1, 1, 1, 1), mode="replicate"), taps.contiguous(), groups=n * c)
    return filtered.reshape(n, c, h, w).clamp_(0.0, 1.0).contiguous(memory_format=torch.channels_last)


@cache
def _splines(size: int) -> Tensor:
    """(size, 4) weight of every control point at every pixel: cubic B-splines one lattice step wide, the ends' held beyond the frame."""
    at = (torch.arange(size, dtype=torch.float64) + 0.5) / size * (POINTS - 1)
    whole = torch.arange(-1, POINTS + 1, dtype=torch.float64)
    far = (at[:, None] - whole).abs()
    near, outer = 2 / 3 - far**2 + far**3 / 2, (2 - far) ** 3 / 6
    weights = torch.where(far < 1, near, torch.where(far < 2, outer, torch.zeros(())))
    inner = weights[:, 1:-1].clone()
    inner[:, 0] += weights[:, 0]
    inner[:, -1] += weights[:, -1]
    return inner.float()
