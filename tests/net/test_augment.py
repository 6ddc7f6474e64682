"""Batched augmentation: the same pixels as MONAI's affine resampling, and draws from the ranges asked for."""

from __future__ import annotations

import numpy as np
import pytest
import torch

from fovnet.net.augment import Ranges, augment, draw_affines

STILL = Ranges(0, 0, 0, 0, 0)


def slices(n: int, seed: int = 0) -> torch.Tensor:
    return torch.rand((n, 1, 32, 32), generator=torch.Generator().manual_seed(seed))


def test_no_range_no_change() -> None:
    images = slices(3)
    torch.testing.assert_close(augment(images, STILL, torch.Generator().manual_seed(1)), images, atol=1e-5, rtol=0)


@pytest.mark.filterwarnings("ignore")          # importing MONAI 1.6 warns of its own deprecated imports
def test_the_pixels_are_those_monai_resamples_with_the_same_affine() -> None:
    from monai.networks.layers import AffineTransform

    generator = torch.Generator().manual_seed(2)
    theta, images = draw_affines(4, Ranges(25, 0.2, 0.3, 0.3, 0), generator), slices(4)
    # MONAI's normalised frame runs (row, column) where torch's affine_grid runs (x, y)
    swapped = theta[:, [1, 0]][:, :, [1, 0, 2]]
    layer = AffineTransform(normalized=True, mode="bilinear", padding_mode="zeros", align_corners=False, reverse_indexing=True)
    ours = torch.nn.functional.grid_sample(
        images, torch.nn.functional.affine_grid(theta, [4, 1, 32, 32], align_corners=False),
        mode="bilinear", padding_mode="zeros", align_corners=False,
    )  # fmt: skip
    torch.testing.assert_close(layer(images, swapped), ours, atol=1e-5, rtol=0)


def test_a_shift_of_a_quarter_moves_the_picture_a_quarter_of_the_side() -> None:
    spot = torch.zeros(1, 1, 32, 32)
    spot[..., 16, 16] = 1
    moved = [augment(spot, Ranges(0, 0.25, 0, 0, 0), torch.Generator().manual_seed(seed)) for seed in range(60)]
    away = np.array([np.abs(np.argwhere(picture[0, 0].numpy() > 0.1) - 16).max() for picture in moved])
    assert away.max() in (7, 8, 9)


def test_the_draws_fill_their_ranges_evenly() -> None:
    """A uniform draw from ±a has variance a²/3."""
    theta = draw_affines(40_000, Ranges(0, 0.1, 0, 0, 0), torch.Generator().manual_seed(3))
    shift = theta[:, :, 2] / 2
    assert float(shift.abs().max()) <= 0.1
    np.testing.assert_allclose(shift.var(dim=0).numpy(), 0.1**2 / 3, rtol=0.03)


def test_a_turn_keeps_area_and_a_zoom_scales_it() -> None:
    """det(theta) is the ratio of input to output area: 1 for a rotation, 1/zoom² for a zoom."""
    turned = draw_affines(100, Ranges(30, 0, 0, 0, 0), torch.Generator().manual_seed(4))[:, :, :2]
    np.testing.assert_allclose(torch.linalg.det(turned).numpy(), 1, atol=1e-6)
    zoomed = torch.linalg.det(draw_affines(5000, Ranges(0, 0, 0, 0.2, 0), torch.Generator().manual_seed(5))[:, :, :2]) ** -0.5
    assert 0.8 <= float(zoomed.min()) < 0.81
    assert 1.19 < float(zoomed.max()) <= 1.2


def test_the_same_seed_gives_the_same_batch() -> None:
    ranges = Ranges(10, 0.1, 0.1, 0.1, 0.05)
    first, second = (augment(slices(5), ranges, torch.Generator().manual_seed(9)) for _ in range(2))
    assert torch.equal(first, second)
