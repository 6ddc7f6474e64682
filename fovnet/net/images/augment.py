"""Augmentation: one affine resampling, and changes of intensity, of a whole batch on its device.

    images  (n, c, h, w) float in [0, 1], the channels of a slice (fovnet.net.images.inputs)
    theta   (n, 2, 3)  output to input coordinates in torch's [-1, 1] frame, affine_grid's
                       convention
    draws   (n, 94)    random numbers of each slice: theta, the noise's sd and place in the table,
                       gamma, the window's two ends, the crop, the distortions of
                       fovnet.net.images.distort, the shares of its volume shown in sections, and
                       whether channels other than the slice are shown
    crops   (n, 4)     a rectangle of the slice: half its width and height, and its centre, in the
                       frame of theta; 1, 1, 0, 0 is all of it

The transforms are those of MONAI's RandAffine, RandAdjustContrast, ScaleIntensityRange and
RandGaussianNoise: the same distributions and, for the same draw, the same pixels.  All draws are
made on the CPU, for a whole epoch at once: a seed gives the same draws on every device, and no step
waits for them.
"""

from __future__ import annotations

from functools import cache

import torch
from torch import Tensor

from fovnet.net.images.distort import DISTORTION_DRAWS, draw_distortions
from fovnet.net.recipe import Ranges

AFFINE_GREY_AND_CROP_DRAWS = 15
SHOWN_SHARE_DRAWS = 2
OTHER_CHANNEL_DRAWS = 1
DRAWS_PER_SLICE = (
    AFFINE_GREY_AND_CROP_DRAWS + DISTORTION_DRAWS + SHOWN_SHARE_DRAWS + OTHER_CHANNEL_DRAWS
)

LEAST_CROP_SHARE = 0.4
"""Least width and height of a crop, as a share of the slice's."""
MOST_CROP_SHIFT = 0.7
"""Farthest that a crop's centre lies from the slice's, as a share of what is possible: the body is
in the middle."""
LEAST_BRIGHTNESS_RATIO = 0.5
"""Least mean of a crop over that of its slice: one of air is not made."""

NOISE_TABLE_LENGTH = 2**20
# spacing of the places where a slice's noise may begin; it does not divide the side, so that rows
# never align
NOISE_STRIDE = 37


def draw_augmentation(n: int, ranges: Ranges, generator: torch.Generator) -> Tensor:
    """(n, 94) float32 on the CPU: the random numbers of n slices."""
    affine_draws = draw_affines(n, ranges, generator).reshape(n, 6)
    noise_deviation, noise_place = torch.rand((2, n), generator=generator).unbind()
    gamma_draw, window_low, window_high = (2 * torch.rand((3, n), generator=generator) - 1).unbind()
    grey_draws = [
        ranges.noise * noise_deviation,
        noise_place,
        1 + ranges.gamma * gamma_draw,
        ranges.window * window_low,
        1 + ranges.window * window_high,
    ]
    crop_draws = draw_crops(n, ranges.crop, generator)
    distortion_draws = draw_distortions(
        n, ranges.bend, ranges.texture, ranges.tones, ranges.shading, generator
    )
    shown_share_draws = draw_shown_shares(n, ranges.crop, generator)
    other_channel_draws = draw_other_channels(n, ranges.alone, generator)
    grey_draws_of_slices = torch.stack(grey_draws, dim=1)
    return torch.cat(
        [
            affine_draws,
            grey_draws_of_slices,
            crop_draws,
            distortion_draws,
            shown_share_draws,
            other_channel_draws,
        ],
        dim=1,
    )


def draw_crops(n: int, share: float, generator: torch.Generator) -> Tensor:
    """(n, 4) rectangles of LEAST_CROP_SHARE to 1 of the slice's width and height, log-uniform: half
    width, half height, centre to the right and down, where the slice reaches from -1 to 1.

    share  of the slices that are cropped; the others get 1, 1, 0, 0.  If it is 0 no number is drawn
    """
    whole_slice = torch.tensor([1.0, 1.0, 0.0, 0.0]).expand(n, 4)
    if not share:
        return whole_slice
    crop_chance, width_draw, height_draw, right_draw, down_draw = torch.rand(
        (5, n), generator=generator
    ).unbind()
    crop_size = LEAST_CROP_SHARE ** torch.stack([width_draw, height_draw])
    crop_centre = MOST_CROP_SHIFT * (1 - crop_size) * (2 * torch.stack([right_draw, down_draw]) - 1)
    return torch.where(
        (crop_chance < share)[:, None], torch.cat([crop_size, crop_centre]).T, whole_slice
    )


def draw_shown_shares(n: int, share: float, generator: torch.Generator) -> Tensor:
    """(n, 2) shares of its volume shown below and above each slice: 1, or with probability `share`
    uniform in [0, 1)."""
    if not share:
        return torch.ones(n, SHOWN_SHARE_DRAWS)
    cut_chance, shown_share = torch.rand((2, n, SHOWN_SHARE_DRAWS), generator=generator)
    return torch.where(cut_chance < share, shown_share, torch.ones(()))


def draw_other_channels(n: int, share: float, generator: torch.Generator) -> Tensor:
    """(n, 1) whether channels other than the slice are shown, 1, or black, 0.  If `share` is 0 no
    number is drawn."""
    if not share:
        return torch.ones(n, OTHER_CHANNEL_DRAWS)
    return (torch.rand((n, OTHER_CHANNEL_DRAWS), generator=generator) >= share).float()


def draw_affines(n: int, ranges: Ranges, generator: torch.Generator) -> Tensor:
    """(n, 2, 3) maps from output to input coordinates x: rotation · shear · (zoom · x + shift),
    about the centre.

    Each axis has its own zoom; the order and the distributions are those of MONAI's RandAffine.
    """
    angle, shear, zoom_x, zoom_y, right_draw, down_draw = (
        2 * torch.rand((6, n), generator=generator) - 1
    ).unbind()
    angle = angle * ranges.rotation_deg * torch.pi / 180
    shear = shear * ranges.shear
    cos = torch.cos(angle)
    sin = torch.sin(angle)
    rotation_and_shear = torch.stack([cos, shear * cos - sin, sin, shear * sin + cos], dim=1)
    rotation_and_shear = rotation_and_shear.reshape(n, 2, 2)
    zoom = 1 + ranges.zoom * torch.stack([zoom_x, zoom_y], dim=1)
    # the frame is two units wide
    shifts = 2 * ranges.translation * torch.stack([right_draw, down_draw], dim=1)
    linear = rotation_and_shear * zoom[:, None, :]
    return torch.cat([linear, rotation_and_shear @ shifts[:, :, None]], dim=2)


def affines_in(draws: Tensor) -> Tensor:
    """(n, 2, 3) affine map of each slice, in the draws (n, 94)."""
    return draws[:, :6].reshape(len(draws), 2, 3)


def crops_in(draws: Tensor) -> Tensor:
    """(n, 4) crop of each slice, in the draws (n, 94): half width and height, centre."""
    return draws[:, 11:AFFINE_GREY_AND_CROP_DRAWS]


def distortions_in(draws: Tensor) -> Tensor:
    """(n, 76) random numbers of each slice for fovnet.net.images.distort, in the draws (n, 94)."""
    return draws[:, AFFINE_GREY_AND_CROP_DRAWS : AFFINE_GREY_AND_CROP_DRAWS + DISTORTION_DRAWS]


def shown_shares_in(draws: Tensor) -> Tensor:
    """(n, 2) shares of its volume shown below and above each slice, in the draws (n, 94)."""
    return draws[:, -SHOWN_SHARE_DRAWS - OTHER_CHANNEL_DRAWS : -OTHER_CHANNEL_DRAWS]


def other_channels_in(draws: Tensor) -> Tensor:
    """(n, 1) whether channels other than the slice are shown, 1 or 0, in the draws (n, 94)."""
    return draws[:, -OTHER_CHANNEL_DRAWS:]


def crop_images(images: Tensor, crops: Tensor) -> tuple[Tensor, Tensor]:
    """The batch (n, c, h, w) black outside its crops (n, 4), and the crops made (n, 4).  A slice is
    left whole if the mean of its crop is below LEAST_BRIGHTNESS_RATIO times that of the slice, as
    for one of air."""
    half_size = crops[:, :2]
    centre = crops[:, 2:]
    axis_masks = []
    for axis, pixel_count in ((0, images.shape[3]), (1, images.shape[2])):
        pixel_positions = (
            2 * torch.arange(pixel_count, device=images.device) + 1
        ) / pixel_count - 1
        centre_distances = (pixel_positions - centre[:, axis, None]).abs()
        axis_masks.append((centre_distances <= half_size[:, axis, None]).to(images.dtype))
    column_mask, row_mask = axis_masks
    cropped_images = images * column_mask[:, None, None, :] * row_mask[:, None, :, None]
    least_sum = LEAST_BRIGHTNESS_RATIO * half_size.prod(dim=1) * images.sum(dim=(1, 2, 3))
    # on the device: a CUDA graph cannot record a wait
    is_bright = cropped_images.sum(dim=(1, 2, 3)) >= least_sum
    whole_slice = torch.cat([torch.ones_like(half_size), torch.zeros_like(centre)], dim=1)
    return (
        torch.where(is_bright[:, None, None, None], cropped_images, images),
        torch.where(is_bright[:, None], crops, whole_slice),
    )


def theta_in_crops(theta: Tensor, crops: Tensor) -> Tensor:
    """(n, 2, 3) theta in the square about each crop (n, 4): c + s (A u + t), where s is the square's
    half-side, c the crop's centre, and A and t are the linear part and the shift of theta."""
    half_side = crops[:, :2].amax(dim=1)[:, None, None]
    shift = half_side * theta[:, :, 2:] + crops[:, 2:, None]
    return torch.cat([half_side * theta[:, :, :2], shift], dim=2)


def change_greys(images: Tensor, draws: Tensor, ranges: Ranges) -> Tensor:
    """The batch (n, c, h, w) in [0, 1] with the grey values of each slice changed by its draw: the
    same contrast and window in all channels, independent noise in each.

    Changes with a range of 0 are skipped, and cost nothing.
    """
    image_count = len(images)
    noise_deviation, noise_place, gamma, window_low, window_high = (
        column.reshape(image_count, 1, 1, 1) for column in draws[:, 6:11].unbind(dim=1)
    )
    if ranges.gamma:
        images = adjust_contrast(images, gamma)
    if ranges.window:
        images = ((images - window_low) / (window_high - window_low)).clamp_(0.0, 1.0)
    if ranges.noise:
        images = torch.addcmul(images, read_noise(noise_place, images), noise_deviation).clamp_(
            0.0, 1.0
        )
    return images


def blacken_other_channels(images: Tensor, is_shown: Tensor) -> Tensor:
    """The batch (n, c, h, w) with all channels but the first black where `is_shown` (n, 1) is 0."""
    other_channels = is_shown.expand(-1, images.shape[1] - 1)
    channels = torch.cat([torch.ones_like(is_shown), other_channels], dim=1)
    return images * channels[:, :, None, None]


def adjust_contrast(images: Tensor, gamma: Tensor) -> Tensor:
    """Each slice to the power gamma (n, 1, 1, 1), above 0, with the minimum and maximum of every
    channel unchanged.

    x^γ as exp(γ log x): a fourth of pow's time on a CPU, 0.03 instead of 0.13 ms per slice of two
    channels. The logarithm of 0 takes six times as long as that of a positive number, and so does
    an exp that underflows to 0: x is therefore at least 1e-24, which makes black 1e-6 of the range
    at γ = 0.25, 1e-12 at 0.5, and still a normal number at 1.5.
    """
    smallest, largest = _smallest_and_largest(images)
    grey_range = largest - smallest
    return (
        ((images - smallest) / (grey_range + 1e-7))
        .clamp_min_(1e-24)
        .log_()
        .mul_(gamma)
        .exp_()
        .mul_(grey_range)
        .add_(smallest)
    )


def _smallest_and_largest(images: Tensor) -> tuple[Tensor, Tensor]:
    """(n, c, 1, 1) smallest and largest pixel of every channel.

    Reduced over the rows first, which is vectorised along contiguous memory, pixels and channels
    alike: in channels-last format, amin over both dimensions takes 0.13 ms per slice, longer than
    the rest of the contrast change.
    """
    n, c, h, w = images.shape
    pixel_rows = images.permute(0, 2, 3, 1).reshape(n, h, w * c)
    column_minima = pixel_rows.amin(dim=1).reshape(n, w, c)
    column_maxima = pixel_rows.amax(dim=1).reshape(n, w, c)
    return column_minima.amin(dim=1)[:, :, None, None], column_maxima.amax(dim=1)[:, :, None, None]


def read_noise(noise_place: Tensor, images: Tensor) -> Tensor:
    """Standard normal noise (n, c, h, w) for images of that shape, read from the table at a place
    in [0, 1) for each, (n, 1, 1, 1).

    A million numbers are drawn once: new ones for every pixel would take a CPU longer than all
    other changes, and would differ between devices.  Two slices sometimes share part of their
    noise; in a large batch a pair may share all of it.
    """
    # a view: nothing is copied
    noise_windows = _noise_table(images.device).unfold(0, images[0].numel(), NOISE_STRIDE)
    window_index = (noise_place.reshape(len(images)) * len(noise_windows)).long()
    return noise_windows.index_select(0, window_index).reshape(images.shape)


@cache
def _noise_table(device: torch.device) -> Tensor:
    return torch.randn(NOISE_TABLE_LENGTH, generator=torch.Generator().manual_seed(0)).to(device)
