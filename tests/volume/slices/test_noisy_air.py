"""Noise as bright as a body is found where it lies, and nothing else is taken for it."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from hypothesis import assume, given, settings
from hypothesis.strategies import floats, integers, sampled_from
from numpy.typing import NDArray
from scipy import ndimage

from fovnet.volume.slices.noisy_air import (
    BLACKENED_NOTE,
    COARSE_GRAIN,
    DIFFERENCE_STEP_MM,
    DIM_SHARE,
    NEIGHBOURHOOD_VOXELS,
    blacken_noise,
    find_noise,
    has_noisy_air,
)
from fovnet.volume.slices.stack import Slicing, cut_slices, describe_slice_format
from fovnet.volume.volume import Volume

Floats = NDArray[np.float64]
WIDE, DEEP = 120, 96
x, y = np.mgrid[:WIDE, :DEEP] - np.array([WIDE, DEEP])[:, None, None] / 2
SPACING_MM = np.array([2.0, 2.0, 5.0])
KINDS = {
    "uniform": lambda rng, shape: rng.uniform(0, 1, shape),
    "a quotient": lambda rng, shape: np.clip(np.abs(rng.standard_cauchy(shape)) * 0.4, 0, 1),
    "all or nothing": lambda rng, shape: 1.0 * (rng.random(shape) < 0.5),
    "Rayleigh": lambda rng, shape: np.clip(rng.rayleigh(0.3, shape), 0, 1),
}


def body(radius: float) -> NDArray[np.bool_]:
    """(120, 96) an ellipse, wider than deep."""
    return (x / radius) ** 2 + (y / radius * 1.3) ** 2 < 1


def tissue(level: float = 0.35) -> Floats:
    """(120, 96) a smooth pattern, as of organs, with a bright ring of fat at radius 30."""
    organs = level * (1 + 0.4 * np.sin(x / 9) * np.cos(y / 7))
    return np.where(np.abs(np.hypot(x, y * 1.3) - 30) < 2, 2.2 * level, organs)


def eroded(where: NDArray[np.bool_], by: int) -> NDArray[np.bool_]:
    return np.asarray(ndimage.binary_erosion(where, np.ones((2 * by + 1,) * 2), border_value=1))


@settings(max_examples=40, deadline=None)
@given(sampled_from(sorted(KINDS)), floats(25, 42), integers(0, 999))
def test_noise_is_found_around_a_body_and_not_in_it(kind: str, radius: float, seed: int) -> None:
    """Except near its outline, where a neighbourhood holds both."""
    within = body(radius)
    plane = np.where(
        within, tissue(), KINDS[kind](np.random.default_rng(seed), within.shape)
    ).astype(np.float32)
    found = find_noise(plane, SPACING_MM)
    assert found[eroded(~within, NEIGHBOURHOOD_VOXELS)].mean() > 0.95
    assert found[eroded(within, NEIGHBOURHOOD_VOXELS)].mean() < 0.02


@settings(max_examples=30, deadline=None)
@given(floats(0.0, 0.5), integers(0, 999))
def test_noise_is_coarse_from_its_own_share_of_the_mean_on(grain: float, seed: int) -> None:
    """The standard deviation of Gaussian noise is known, and the same whatever the mean, if that is not dim;
    NEIGHBOURHOOD_VOXELS × NEIGHBOURHOOD_VOXELS voxels tell it to a third."""
    assume(abs(grain - COARSE_GRAIN) > COARSE_GRAIN / 3 + 0.01)
    rng = np.random.default_rng(seed)
    for mean in (1.5 * DIM_SHARE, 0.6):
        found = find_noise(
            rng.normal(mean, grain * mean, (90, 90)).astype(np.float32), SPACING_MM
        ).mean()
        assert found > 0.85 if grain > COARSE_GRAIN else found < 0.1
    assert not find_noise(
        rng.normal(DIM_SHARE / 2, grain * DIM_SHARE / 2, (90, 90)).astype(np.float32), SPACING_MM
    ).any()


@pytest.mark.parametrize("finer", [2, 3])
def test_noise_is_found_also_if_it_was_interpolated(finer: int) -> None:
    """As a scanner does that fills k-space with zeros: neighbours are alike, voxels DIFFERENCE_STEP_MM apart
    are not."""
    rng = np.random.default_rng(2)
    lines = np.fft.fftshift(np.fft.fft2(rng.uniform(0, 1, (64, 64))))
    wide = np.pad(lines, 32 * (finer - 1))
    plane = np.clip(np.fft.ifft2(np.fft.ifftshift(wide)).real * finer**2, 0, 1).astype(np.float32)
    apart, neighbours = (
        find_noise(plane, np.array([mm, mm, 5.0])).mean()
        for mm in (DIFFERENCE_STEP_MM / finer, DIFFERENCE_STEP_MM * 2)
    )
    assert apart > 0.8 and neighbours < 0.5


def volume(within: NDArray[np.bool_], inside: Floats, outside: Floats, slices: int = 6) -> Volume:
    """Slices of `inside` where they are `within`, else of `outside`."""
    voxels = np.repeat(np.where(within, inside, 0)[:, :, None], slices, axis=2)
    voxels[~within] = np.broadcast_to(outside, (*within.shape, slices))[~within]
    return Volume((900 * voxels).astype(np.float32), np.diag([*SPACING_MM, 1.0]), "a.nii")


@pytest.mark.parametrize("kind", KINDS)
def test_only_bright_noise_around_something_surrounds_it(kind: str) -> None:
    within, bright = body(38), KINDS[kind](np.random.default_rng(3), (WIDE, DEEP, 6))
    assert has_noisy_air(volume(within, tissue(), bright), 0, 900)
    nothing = np.zeros((WIDE, DEEP), dtype=bool)
    # noise alone surrounds nothing
    assert not has_noisy_air(volume(nothing, tissue(), bright), 0, 900)
    # of a magnitude image
    assert not has_noisy_air(
        volume(within, tissue(), bright * 0.6 * DIM_SHARE / bright.mean()), 0, 900
    )
    assert not has_noisy_air(volume(within, tissue(), np.zeros((1, 1, 1))), 0, 900)
    # a body fills the picture
    assert not has_noisy_air(volume(~nothing, tissue(), bright), 0, 900)
    assert not has_noisy_air(volume(nothing, tissue(), np.zeros((1, 1, 1))), 0, 900)


def test_grain_of_a_body_whose_background_is_masked_is_not_noise_around_it() -> None:
    """The rectangle about it is full of grain to its rim, but black in its corners."""
    rng = np.random.default_rng(5)
    grainy = np.where(x < 0, tissue(), rng.normal(0.4, 0.16, (WIDE, DEEP)))
    made = volume(body(48), grainy, np.zeros((1, 1, 1)))
    assert find_noise(made.voxels[:, :, 0] / 900, SPACING_MM).mean() > 0.1
    assert not has_noisy_air(made, 0, 900)


@pytest.mark.parametrize("shape", [(3, 40, 4), (1, 1, 9), (40, 5, 1), (16, 16, 1), (17, 130, 2)])
def test_volumes_of_any_shape_are_looked_at(shape: tuple[int, int, int]) -> None:
    rng = np.random.default_rng(1)
    made = Volume(
        rng.uniform(0, 900, shape).astype(np.float32), np.diag([0.4, 0.4, 5.0, 1.0]), "a.nii"
    )
    assert has_noisy_air(made, 0, 900) is False
    assert blacken_noise(made, 0, 900).voxels.shape == shape


@settings(max_examples=20, deadline=None)
@given(floats(0.1, 1), floats(-500, 500), integers(0, 99))
def test_a_map_is_the_same_map_in_another_unit(scale: float, offset: float, seed: int) -> None:
    made = volume(body(38), tissue(), np.random.default_rng(seed).uniform(0, 1, (WIDE, DEEP, 6)))
    other = replace(made, voxels=(made.voxels * scale + offset).astype(np.float32))
    one, two = blacken_noise(made, 0, 900), blacken_noise(other, offset, 900 * scale + offset)
    black, again = one.voxels == 0, two.voxels == np.float32(offset)
    assert (black != again).mean() < 0.001  # rounding at a threshold
    assert black.mean() > 0.5


def test_slices_of_a_map_are_those_of_the_masked_map_and_say_so() -> None:
    within, bright = body(38), np.random.default_rng(1).uniform(0, 1, (WIDE, DEEP, 6))
    made, masked = (
        cut_slices(volume(within, tissue(), bright)),
        cut_slices(volume(within, tissue(), np.zeros((1, 1, 1)))),
    )
    assert (
        made.is_noise_blackened and BLACKENED_NOTE in made.notes and not masked.is_noise_blackened
    )
    # along the outline
    assert (np.abs(made.pixels.astype(int) - masked.pixels) > 12).mean() < 0.06
    kept = cut_slices(volume(within, tissue(), bright), blacken_noise=False)
    assert not kept.is_noise_blackened and kept.pixels[:, 20:30, 5:20].mean() > 60
    np.testing.assert_array_equal(
        masked.pixels,
        cut_slices(volume(within, tissue(), np.zeros((1, 1, 1))), blacken_noise=False).pixels,
    )


def test_a_network_of_before_is_valid_for_slices_with_the_setting() -> None:
    """Only volumes that no network was trained on change."""
    assert describe_slice_format(Slicing()) == describe_slice_format(
        replace(Slicing(), blacken_noise=False)
    )
