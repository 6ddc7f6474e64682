"""Bends, textures, tones and shades against scipy's splines, filters and interpolation."""

from __future__ import annotations

from itertools import product

import numpy as np
import pytest
import torch
from scipy.interpolate import BSpline, KroghInterpolator
from scipy.ndimage import correlate, map_coordinates

from fovnet.net.images.augment import AFFINE_GREY_AND_CROP_DRAWS, distortions_in, draw_augmentation
from fovnet.net.images.distort import (
    CONTROL_COUNT,
    GAIN_COUNT,
    GREY_COUNT,
    POINTS_PER_SIDE,
    SHARE_COUNT,
    TAP_COUNT,
    bend_shape,
    change_tones,
    distort,
    draw_distortions,
    filter_texture,
    shade,
)
from fovnet.net.recipe import Ranges


def slices(n: int, seed: int = 0) -> torch.Tensor:
    return torch.rand((n, 1, 32, 40), generator=torch.Generator().manual_seed(seed))


def seeded(seed: int) -> torch.Generator:
    return torch.Generator().manual_seed(seed)


def spline_surface(controls: torch.Tensor, h: int, w: int) -> np.ndarray:
    """(h, w) scipy's cubic B-splines of control points (4, 4) whose ends are held: those beyond the frame are
    as the last within it."""
    held = np.pad(controls.double().numpy(), 1, mode="edge")
    rows, columns = ((np.arange(size) + 0.5) / size * (POINTS_PER_SIDE - 1) for size in (h, w))
    knots = np.arange(-3.0, POINTS_PER_SIDE + 3)  # uniform; basis i is centred at i - 1
    down, across = (BSpline.design_matrix(at, knots, 3).toarray() for at in (rows, columns))
    return np.asarray(down @ held @ across.T)


def test_without_a_range_nothing_is_drawn_and_nothing_changes() -> None:
    generator = seeded(1)
    before = generator.get_state()
    still = draw_distortions(3, 0.0, 0.0, 0.0, 0.0, generator)
    assert torch.equal(generator.get_state(), before)
    torch.testing.assert_close(
        distort(slices(3), still, bend=True, texture=True, tones=True, shading=True),
        slices(3),
        atol=1e-5,
        rtol=0,
    )


def test_other_draws_are_those_without_distortions() -> None:
    with_them, without = (
        draw_augmentation(50, Ranges(9, 0.1, 0.1, 0.1, 0.05, 0.3, 0.1, 0.5, *more), seeded(3))
        for more in ((0.1, 0.3, 0.5), ())
    )
    assert torch.equal(
        with_them[:, :AFFINE_GREY_AND_CROP_DRAWS], without[:, :AFFINE_GREY_AND_CROP_DRAWS]
    )
    assert not torch.equal(distortions_in(with_them), distortions_in(without))


def test_each_change_is_made_where_it_is_asked_for_and_no_other() -> None:
    """All sixteen ways to ask: first the texture, then tones, then shades, the bend at last."""
    images, drawn = slices(2), draw_distortions(2, 0.1, 0.3, 0.5, 0.4, seeded(8))
    controls, kernels, greys, shares, gains = torch.split(
        drawn, [CONTROL_COUNT, TAP_COUNT, GREY_COUNT, SHARE_COUNT, GAIN_COUNT], dim=1
    )
    for bend, texture, tones, shading in product((False, True), repeat=4):
        wanted = filter_texture(images, kernels.reshape(2, 3, 3)) if texture else images
        wanted = (
            change_tones(wanted, greys, shares.reshape(2, POINTS_PER_SIDE, POINTS_PER_SIDE))
            if tones
            else wanted
        )
        wanted = (
            shade(wanted, gains.reshape(2, POINTS_PER_SIDE, POINTS_PER_SIDE)) if shading else wanted
        )
        wanted = (
            bend_shape(wanted, controls.reshape(2, 2, POINTS_PER_SIDE, POINTS_PER_SIDE))
            if bend
            else wanted
        )
        made = distort(images, drawn, bend=bend, texture=texture, tones=tones, shading=shading)
        torch.testing.assert_close(made, wanted, atol=0, rtol=0)


def test_how_much_texture_and_which_greys_are_drawn_for_each_slice() -> None:
    """Taps of a standard deviation that is uniform up to the largest have a third of its variance; greys of a
    slice know nothing of each other."""
    drawn = draw_distortions(20_000, 0.0, 0.3, 1.0, 0.0, seeded(9))
    taps, greys = (
        drawn[:, CONTROL_COUNT : CONTROL_COUNT + TAP_COUNT].clone(),
        drawn[:, CONTROL_COUNT + TAP_COUNT : CONTROL_COUNT + TAP_COUNT + GREY_COUNT],
    )
    taps[:, TAP_COUNT // 2] -= 1.0
    assert float((taps**2).mean()) * TAP_COUNT / (TAP_COUNT - 1) == pytest.approx(
        0.3**2 / 3, rel=0.03
    )
    together = np.corrcoef(greys.numpy().T) - np.eye(GREY_COUNT)
    assert np.abs(together).max() < 0.03
    assert float(greys.mean()) == pytest.approx(0.5, abs=0.01) and float(
        greys.var()
    ) == pytest.approx(1 / 12, rel=0.03)


def test_points_that_move_alike_move_the_slice() -> None:
    """B-splines sum to one: 0.25 of a half side of 20 columns are 5 columns, 0.125 of 16 rows are 2."""
    image, controls = slices(1), torch.zeros(1, 2, POINTS_PER_SIDE, POINTS_PER_SIDE)
    controls[:, 0], controls[:, 1] = 0.25, 0.125
    torch.testing.assert_close(
        bend_shape(image, controls)[:, :, :-2, :-5], image[:, :, 2:, 5:], atol=1e-5, rtol=0
    )


def test_a_bend_reads_where_scipys_splines_point() -> None:
    image, drawn = slices(1, seed=2), draw_distortions(1, 0.08, 0.0, 0.0, 0.0, seeded(4))
    controls = drawn[:, :CONTROL_COUNT].reshape(1, 2, POINTS_PER_SIDE, POINTS_PER_SIDE)
    h, w = image.shape[2:]
    right, low = (spline_surface(part, h, w) for part in controls[0])
    where = np.array([np.arange(h)[:, None] + low * h / 2, np.arange(w) + right * w / 2])
    wanted = map_coordinates(image[0, 0].double().numpy(), where, order=1, mode="grid-constant")
    np.testing.assert_allclose(bend_shape(image, controls)[0, 0].numpy(), wanted, atol=2e-5)


def test_a_texture_is_scipys_correlation_and_leaves_what_is_flat() -> None:
    images = 0.3 + 0.4 * slices(2, seed=5)
    kernels = draw_distortions(2, 0.0, 0.5, 0.0, 0.0, seeded(6))[
        :, CONTROL_COUNT : CONTROL_COUNT + TAP_COUNT
    ].reshape(2, 3, 3)
    torch.testing.assert_close(kernels.sum(dim=(1, 2)), torch.ones(2), atol=1e-5, rtol=0)
    for image, kernel, found in zip(images, kernels, filter_texture(images, kernels), strict=True):
        wanted = np.clip(correlate(image[0].numpy(), kernel.numpy(), mode="nearest"), 0, 1)
        np.testing.assert_allclose(found[0].numpy(), wanted, atol=1e-5)
    torch.testing.assert_close(
        filter_texture(torch.full((2, 1, 32, 40), 0.6), kernels),
        torch.full((2, 1, 32, 40), 0.6),
        atol=1e-5,
        rtol=0,
    )


def test_tones_follow_scipys_interpolation_as_far_as_its_splines_give() -> None:
    image, drawn = slices(1, seed=7), draw_distortions(1, 0.0, 0.0, 0.8, 0.0, seeded(8))
    greys, shares = (
        drawn[0, CONTROL_COUNT + TAP_COUNT :][:3],
        drawn[0, CONTROL_COUNT + TAP_COUNT + 3 : -GAIN_COUNT].reshape(
            POINTS_PER_SIDE, POINTS_PER_SIDE
        ),
    )
    curve = KroghInterpolator([0, 1 / 3, 2 / 3, 1], [0, *greys.double().tolist()])
    x, share = image[0, 0].double().numpy(), spline_surface(shares, *image.shape[2:])
    assert 0 <= share.min() < share.max() <= 0.8
    wanted = x + share * (curve(x).clip(0, 1) - x)
    np.testing.assert_allclose(
        change_tones(image, greys[None], shares[None])[0, 0].numpy(), wanted, atol=1e-5
    )


def test_tones_leave_black_black_and_may_swap_two_tissues() -> None:
    two = torch.tensor([[0.0, 1 / 3, 2 / 3, 1.0]]).reshape(1, 1, 1, 4)
    swapped = change_tones(
        two, torch.tensor([[0.9, 0.2, 0.4]]), torch.ones(1, POINTS_PER_SIDE, POINTS_PER_SIDE)
    )
    torch.testing.assert_close(
        swapped.flatten(), torch.tensor([0.0, 0.9, 0.2, 0.4]), atol=1e-5, rtol=0
    )


def test_shades_are_the_exponential_of_scipys_splines_and_leave_black_black() -> None:
    image, gains = (
        slices(1, seed=9),
        draw_distortions(1, 0.0, 0.0, 0.0, 0.7, seeded(10))[0, -GAIN_COUNT:].reshape(
            POINTS_PER_SIDE, POINTS_PER_SIDE
        ),
    )
    image[:, :, :5] = 0.0
    wanted = np.minimum(
        image[0, 0].double().numpy() * np.exp(spline_surface(gains, *image.shape[2:])), 1.0
    )
    found = shade(image, gains[None])[0, 0].numpy()
    np.testing.assert_allclose(found, wanted, atol=1e-5)
    assert (
        not found[:5].any()
        and 0.5
        <= np.exp(gains.double().numpy()).min()
        < np.exp(gains.double().numpy()).max()
        <= 2.02
    )


def test_a_shade_has_a_bright_side_as_a_surface_coil_does() -> None:
    """Half of a field is a slope: the mean square of what its sides differ by is six times that of points
    without an order."""
    gains = draw_distortions(2000, 0.0, 0.0, 0.0, 1.0, seeded(11))[:, -GAIN_COUNT:].reshape(
        -1, POINTS_PER_SIDE, POINTS_PER_SIDE
    )
    assert float(gains.abs().max()) <= 1.0
    aside = torch.stack(
        [
            gains[:, :, 2:].mean(dim=(1, 2)) - gains[:, :, :2].mean(dim=(1, 2)),
            gains[:, 2:].mean(dim=(1, 2)) - gains[:, :2].mean(dim=(1, 2)),
        ]
    )
    # means of 8 points each; a third is the mean square of U(0, 1)
    slope, own, much = (4 / 3) ** 2 / 2, 2 * 2 / 3 / 8, 1 / 3 / 4
    np.testing.assert_allclose(
        float(aside.square().sum(dim=0).mean()), much * (slope + own), rtol=0.05
    )
