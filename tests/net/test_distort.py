"""Bends and textures against scipy's splines and filters."""

from __future__ import annotations

import numpy as np
import torch
from scipy.interpolate import BSpline
from scipy.ndimage import correlate, map_coordinates

from fovnet.net.augment import Ranges, distortions, draw
from fovnet.net.distort import CONTROLS, POINTS, bent, distorted, draw_distortions, textured


def slices(n: int, seed: int = 0) -> torch.Tensor:
    return torch.rand((n, 1, 32, 40), generator=torch.Generator().manual_seed(seed))


def seeded(seed: int) -> torch.Generator:
    return torch.Generator().manual_seed(seed)


def test_without_a_range_nothing_is_drawn_and_nothing_changes() -> None:
    generator = seeded(1)
    before = generator.get_state()
    still = draw_distortions(3, 0.0, 0.0, generator)
    assert torch.equal(generator.get_state(), before)
    torch.testing.assert_close(distorted(slices(3), still, bend=True, texture=True), slices(3), atol=1e-5, rtol=0)


def test_other_draws_are_those_without_distortions() -> None:
    with_them, without = (draw(50, Ranges(9, 0.1, 0.1, 0.1, 0.05, 0.3, 0.1, 0.5, *more), seeded(3)) for more in ((0.1, 0.3), ()))
    apart = len(with_them[0]) - len(distortions(with_them)[0])
    assert torch.equal(with_them[:, :apart], without[:, :apart]) and not torch.equal(with_them, without)


def test_points_that_move_alike_move_the_slice() -> None:
    """B-splines sum to one: 0.25 of a half side of 20 columns are 5 columns, 0.125 of 16 rows are 2."""
    image, controls = slices(1), torch.zeros(1, 2, POINTS, POINTS)
    controls[:, 0], controls[:, 1] = 0.25, 0.125
    torch.testing.assert_close(bent(image, controls)[:, :, :-2, :-5], image[:, :, 2:, 5:], atol=1e-5, rtol=0)


def test_a_bend_reads_where_scipys_splines_say() -> None:
    """Ends are held: the points beyond the frame move as the last within it."""
    image, drawn = slices(1, seed=2), draw_distortions(1, 0.08, 0.0, seeded(4))
    controls = drawn[:, :CONTROLS].reshape(1, 2, POINTS, POINTS)
    held = np.pad(controls[0].double().numpy(), ((0, 0), (1, 1), (1, 1)), mode="edge")
    h, w = image.shape[2:]
    rows, columns = ((np.arange(size) + 0.5) / size * (POINTS - 1) for size in (h, w))
    knots = np.arange(-3.0, POINTS + 3)                       # uniform; basis i is centred at i - 1
    down, across = (BSpline.design_matrix(at, knots, 3).toarray() for at in (rows, columns))
    right, low = (down @ held[axis] @ across.T for axis in (0, 1))
    where = np.array([np.arange(h)[:, None] + low * h / 2, np.arange(w) + right * w / 2])
    wanted = map_coordinates(image[0, 0].double().numpy(), where, order=1, mode="grid-constant")
    np.testing.assert_allclose(bent(image, controls)[0, 0].numpy(), wanted, atol=2e-5)


def test_a_texture_is_scipys_correlation_and_leaves_what_is_flat() -> None:
    images = 0.3 + 0.4 * slices(2, seed=5)
    kernels = draw_distortions(2, 0.0, 0.5, seeded(6))[:, CONTROLS:].reshape(2, 3, 3)
    torch.testing.assert_close(kernels.sum(dim=(1, 2)), torch.ones(2), atol=1e-5, rtol=0)
    for image, kernel, found in zip(images, kernels, textured(images, kernels), strict=True):
        wanted = np.clip(correlate(image[0].numpy(), kernel.numpy(), mode="nearest"), 0, 1)
        np.testing.assert_allclose(found[0].numpy(), wanted, atol=1e-5)
    torch.testing.assert_close(textured(torch.full((2, 1, 32, 40), 0.6), kernels), torch.full((2, 1, 32, 40), 0.6), atol=1e-5, rtol=0)
