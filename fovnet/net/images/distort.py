"""Distortions of slices before the affine warp, not in the paper: smooth deformation, random
texture and tone curves, and a surface coil's shading.

    n         slices
    controls  (n, 2, 4, 4) displacements to the right and down, in half sides of the frame
    kernels   (n, 3, 3), of sum one
    greys     (n, 3) values of the tone curve at 1/3, 2/3 and 1
    shares    (n, 4, 4) mixing share of the curve at each control point
    gains     (n, 4, 4) logarithm of the gain at each control point

A network trained on a simulator overfits its shapes, textures and tissue contrasts.  They are
changed here more than the simulator does, so that the relative positions of body parts remain to be
learned. Sources: Rueckert et al., Nonrigid registration using free-form deformations (1999), eqs 3
and 4, on a lattice of 4 x 4 control points; Xu et al., Robust and generalizable visual
representation learning via random convolutions (2021), section 3.1, kernels mixed with the
identity; Ouyang et al., Causality-inspired single-source domain generalization for medical image
segmentation (2023), sections III-B and III-C: intensities changed by a curve, and two such images
mixed by a smooth field; Van Leemput et al., Automated model-based bias field correction of MR
images of the brain (1999): a bias field is the exponential of a smooth surface.
"""

from __future__ import annotations

from functools import cache

import torch
import torch.nn.functional as F
from torch import Tensor

from fovnet.net.images.resampling import interpolate_at, sampling_grid

POINTS_PER_SIDE = 4  # control points along a side
CONTROL_COUNT = 2 * POINTS_PER_SIDE**2
TAP_COUNT = 9
GREY_COUNT = 3
SHARE_COUNT = POINTS_PER_SIDE**2
GAIN_COUNT = POINTS_PER_SIDE**2
DISTORTION_DRAWS = CONTROL_COUNT + TAP_COUNT + GREY_COUNT + SHARE_COUNT + GAIN_COUNT
"""Random numbers of a slice."""


def draw_distortions(
    n: int, bend: float, texture: float, tones: float, shading: float, generator: torch.Generator
) -> Tensor:
    """(n, 76) float32: displacements of the control points, as shares of the frame's half side;
    each slice's kernel, greys, shares, gains.

    bend     largest displacement, as a share of the side
    texture  largest standard deviation of a kernel's taps
    tones    largest mixing share of the tone curve
    shading  largest logarithm of a gain
    For those that are 0 no numbers are drawn.
    """
    controls = torch.zeros(n, CONTROL_COUNT)
    kernels = torch.zeros(n, TAP_COUNT)
    kernels[:, TAP_COUNT // 2] = 1.0
    greys = torch.zeros(n, GREY_COUNT)
    shares = torch.zeros(n, SHARE_COUNT)
    gains = torch.zeros(n, GAIN_COUNT)
    if bend:
        # the frame is two half sides wide
        controls = 2 * bend * (2 * torch.rand((n, CONTROL_COUNT), generator=generator) - 1)
    if texture:
        taps = torch.randn((n, TAP_COUNT), generator=generator) * (
            texture * torch.rand((n, 1), generator=generator)
        )
        kernels += taps - taps.mean(dim=1, keepdim=True)
    if tones:
        greys = torch.rand((n, GREY_COUNT), generator=generator)
        shares = tones * torch.rand((n, SHARE_COUNT), generator=generator)
    if shading:
        gains = draw_gains(n, shading, generator)
    return torch.cat([controls, kernels, greys, shares, gains], dim=1)


def draw_gains(n: int, shading: float, generator: torch.Generator) -> Tensor:
    """(n, 16) logarithms of gains, at most `shading` in absolute value: the mean of a linear slope,
    as of a coil on one side, and of independent values at the points.

    Their common amplitude is random, so that some slices stay nearly unchanged.
    """
    slope_angle = 2 * torch.pi * torch.rand((n, 1, 1), generator=generator)
    point_positions = torch.linspace(-1, 1, POINTS_PER_SIDE)
    # 1 in a corner, at most
    slope = (
        torch.cos(slope_angle) * point_positions + torch.sin(slope_angle) * point_positions[:, None]
    ) / 2**0.5
    point_values = 2 * torch.rand((n, POINTS_PER_SIDE, POINTS_PER_SIDE), generator=generator) - 1
    amplitude = shading * torch.rand((n, 1), generator=generator)
    return amplitude * (slope + point_values).reshape(n, GAIN_COUNT) / 2


def distort(
    images: Tensor, distortions: Tensor, *, bend: bool, texture: bool, tones: bool, shading: bool
) -> Tensor:
    """The batch (n, c, h, w) in [0, 1], each slice distorted by its row of `distortions`, alike in
    all channels.

    distortions  (n, 76) as `draw_distortions` gives them
    bend, texture, tones, shading  whether each kind of distortion is made
    """
    n = len(images)
    controls, kernels, greys, shares, gains = torch.split(
        distortions, [CONTROL_COUNT, TAP_COUNT, GREY_COUNT, SHARE_COUNT, GAIN_COUNT], dim=1
    )
    if texture:
        images = filter_texture(images, kernels.reshape(n, 3, 3))
    if tones:
        images = change_tones(images, greys, shares.reshape(n, POINTS_PER_SIDE, POINTS_PER_SIDE))
    if shading:
        images = shade(images, gains.reshape(n, POINTS_PER_SIDE, POINTS_PER_SIDE))
    if bend:
        images = bend_shape(images, controls.reshape(n, 2, POINTS_PER_SIDE, POINTS_PER_SIDE))
    return images


def bend_shape(images: Tensor, controls: Tensor) -> Tensor:
    """The batch (n, c, h, w), each pixel read at its place plus the cubic B-spline displacement of
    its slice; outside is black.

    controls  (n, 2, 4, 4) displacements to the right and down at points a third of the frame apart,
              in half sides
    """
    n, _, h, w = images.shape
    row_weights, column_weights = (_spline_weights(size, images.device) for size in (h, w))
    displacements = torch.einsum("hi,naij,wj->nhwa", row_weights, controls, column_weights)
    identity = torch.eye(2, 3, device=images.device).expand(n, 2, 3)
    return interpolate_at(images, sampling_grid(identity, h, w) + displacements)


def filter_texture(images: Tensor, kernels: Tensor) -> Tensor:
    """The batch (n, c, h, w) in [0, 1], each slice filtered by its own kernel (n, 3, 3), clipped to
    [0, 1].

    Kernels of sum one leave uniform areas unchanged: edges become sharper, softer or one-sided.
    """
    n, c, h, w = images.shape
    channel_images = images.reshape(1, n * c, h, w)
    channel_kernels = kernels[:, None].expand(n, c, 3, 3).reshape(n * c, 1, 3, 3)
    filtered_images = F.conv2d(
        F.pad(channel_images, (1, 1, 1, 1), mode="replicate"),
        channel_kernels.contiguous(),
        groups=n * c,
    )
    return (
        filtered_images.reshape(n, c, h, w)
        .clamp_(0.0, 1.0)
        .contiguous(memory_format=torch.channels_last)
    )


def change_tones(images: Tensor, greys: Tensor, shares: Tensor) -> Tensor:
    """The batch (n, c, h, w) in [0, 1], each grey x mixed with f(x) by the cubic B-spline field of
    its slice's shares.

    f is the cubic through 0 at 0 and the slice's greys (n, 3) at 1/3, 2/3 and 1, clipped to [0, 1]:
    it need not be monotone; black stays black.

    shares  (n, 4, 4) at points a third of the frame apart, each in [0, 1]
    """
    image_count = len(images)
    mixing_field = _spline_field(shares, images)
    a, b, c = (grey.reshape(image_count, 1, 1, 1) for grey in greys.unbind(dim=1))
    linear = 9 * a - 4.5 * b + c
    quadratic = -22.5 * a + 18 * b - 4.5 * c
    cubic = 13.5 * (a - b) + 4.5 * c
    toned_images = (
        (images * cubic).add_(quadratic).mul_(images).add_(linear).mul_(images).clamp_(0.0, 1.0)
    )
    return torch.lerp(images, toned_images, mixing_field)


def shade(images: Tensor, gains: Tensor) -> Tensor:
    """The batch (n, c, h, w) in [0, 1] times the exponential of the cubic B-spline field of its
    slice's gains, clipped at 1; black stays.

    gains  (n, 4, 4) logarithms, at points a third of the frame apart
    """
    return (images * _spline_field(gains, images).exp_()).clamp_(max=1.0)


def _spline_field(controls: Tensor, images: Tensor) -> Tensor:
    """(n, 1, h, w) the cubic B-spline field of control points (n, 4, 4) at every pixel of the
    images."""
    row_weights, column_weights = (
        _spline_weights(size, images.device) for size in images.shape[2:]
    )
    return torch.einsum("hi,nij,wj->nhw", row_weights, controls, column_weights)[:, None]


@cache
def _spline_weights(size: int, device: torch.device) -> Tensor:
    """(size, 4) weight of every control point at every pixel: cubic B-splines on the lattice, the
    end points repeated beyond the frame.

    Cached on the device: a copy from the host would synchronise, which a step recorded as a CUDA
    graph must not.
    """
    pixel_positions = (torch.arange(size, dtype=torch.float64) + 0.5) / size * (POINTS_PER_SIDE - 1)
    point_positions = torch.arange(-1, POINTS_PER_SIDE + 1, dtype=torch.float64)
    distance = (pixel_positions[:, None] - point_positions).abs()
    inner_weights = 2 / 3 - distance**2 + distance**3 / 2
    outer_cubic = (2 - distance) ** 3 / 6
    outer_weights = torch.where(distance < 2, outer_cubic, torch.zeros(()))
    all_weights = torch.where(distance < 1, inner_weights, outer_weights)
    point_weights = all_weights[:, 1:-1].clone()
    point_weights[:, 0] += all_weights[:, 0]
    point_weights[:, -1] += all_weights[:, -1]
    return point_weights.float().to(device)
