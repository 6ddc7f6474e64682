"""Shading is divided out, and nothing else of a picture."""

from __future__ import annotations

from dataclasses import asdict, replace

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis.strategies import floats
from numpy.typing import NDArray

from fovnet.config.models import Prepare
from fovnet.volume.slices.even_light import divide_light
from fovnet.volume.slices.stack import Slicing, cut_slices, describe_slice_format
from fovnet.volume.volume import Volume

Floats = NDArray[np.float32]
SPACING_MM = (4.0, 4.0, 6.0)
i, j, k = np.mgrid[:90, :70, :30].astype(np.float32)
IS_BODY = ((i - 45) / 38) ** 2 + ((j - 35) / 28) ** 2 < 1


def trunk() -> Floats:
    """(90, 70, 30) tissue of two brightnesses in a chessboard of 24 mm, in black air."""
    chess = ((i // 6 + j // 6 + k // 4) % 2).astype(np.float32)
    return np.where(IS_BODY, 400 + 300 * chess, 0).astype(np.float32)


def coil(share: float = 1.0) -> Floats:
    """Ten times as bright at one side of the body as at the other, and falling along z."""
    return np.exp(-share * 2.3 * np.clip((i - 7) / 76, 0, 1) - share * 0.5 * k / 30)


def volume(voxels: Floats) -> Volume:
    return Volume(voxels.astype(np.float32), np.diag([*SPACING_MM, 1.0]), "trunk.nii")


def contrast_of_sides(pixels: NDArray[np.uint8]) -> float:
    """The mean of the third of the body on one side over that of the other, in the middle slices."""
    body_columns = pixels[10:20, 40:88].astype(float).mean(axis=(0, 1))[10:118]
    return float(body_columns[-36:].mean() / body_columns[:36].mean())


def test_a_tenfold_fall_of_a_coil_is_evened_and_tissue_keeps_its_contrast() -> None:
    shaded = volume(trunk() * coil())
    left_as_it_is, evened = cut_slices(shaded), cut_slices(shaded, even_light=True)
    plain = cut_slices(volume(trunk()))
    assert contrast_of_sides(plain.pixels) == pytest.approx(1, abs=0.05)
    assert abs(np.log(contrast_of_sides(left_as_it_is.pixels))) > np.log(3)
    assert abs(np.log(contrast_of_sides(evened.pixels))) < np.log(1.35)
    inside = plain.pixels > 0
    inside[:, [0, -1]] = False
    correlation = np.corrcoef(evened.pixels[inside], plain.pixels[inside])[0, 1]
    assert correlation > 0.8 > np.corrcoef(left_as_it_is.pixels[inside], plain.pixels[inside])[0, 1]


def test_air_stays_dark_beside_a_dark_side_of_the_body() -> None:
    noise = np.random.default_rng(1).rayleigh(6, trunk().shape)
    shaded = volume(np.hypot(trunk() * coil(), noise))
    pixels = cut_slices(shaded, even_light=True).pixels
    air = cut_slices(volume(np.where(IS_BODY, 0, 1000).astype(np.float32))).pixels > 250
    assert np.percentile(pixels[air], 95) < 40


@settings(max_examples=4, deadline=None)
@given(floats(0.01, 3000), floats(-500, 500))
def test_a_volume_in_another_unit_gives_the_same_slices(scale: float, offset: float) -> None:
    shaded = trunk() * coil() + 40
    one, two = (
        cut_slices(volume(voxels), even_light=True)
        for voxels in (shaded, (shaded + offset) * np.float32(scale))
    )
    assert (np.abs(one.pixels.astype(int) - two.pixels) > 1).mean() < 0.001


def test_an_even_body_stays_nearly_as_it_is_and_one_axis_may_be_a_single_voxel() -> None:
    even = volume(np.where(IS_BODY, 500, 0).astype(np.float32))
    np.testing.assert_allclose(divide_light(even, 0, 500).voxels, even.voxels, rtol=0.08)
    for shape in ((1, 40, 9), (40, 5, 1), (16, 130, 2)):
        voxels = np.random.default_rng(1).uniform(1, 900, shape).astype(np.float32)
        assert np.isfinite(divide_light(volume(voxels), 0, 900).voxels).all()
    hot = trunk()
    hot[45, 35, 15] = 3e38
    assert np.isfinite(divide_light(volume(hot), 0, 900).voxels).all()
    transposed = volume(np.asfortranarray(trunk() * coil()))
    np.testing.assert_array_equal(
        divide_light(transposed, 0, 900).voxels,
        divide_light(volume(trunk() * coil()), 0, 900).voxels,
    )


def test_without_the_setting_slices_and_their_format_are_those_of_before() -> None:
    """Networks of before name a format without the setting, and are refused slices that have it."""
    shaded = volume(trunk() * coil())
    np.testing.assert_array_equal(
        cut_slices(shaded).pixels, cut_slices(shaded, even_light=Slicing().even_light).pixels
    )
    before = describe_slice_format(Slicing(3.0, 20.0))
    assert "even_light" not in before
    assert describe_slice_format(replace(Slicing(3.0, 20.0), even_light=True)) == {
        **before,
        "even_light": True,
    }
    assert Prepare().slicing == asdict(Slicing())
