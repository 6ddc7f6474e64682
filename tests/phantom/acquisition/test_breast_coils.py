"""Coils about hanging breasts hear what lies next to them, wherever the scanner's zero is."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from fovnet.phantom.acquisition.breast_coils import (
    NEAR_MM,
    SKIN_DISTANCE_RANGE_MM,
    draw_breast_coil,
)
from fovnet.phantom.anatomy.body import label_volume
from fovnet.phantom.geometry.raster import Grid
from fovnet.phantom.person.breast_shapes import breast_shape, has_shaped_breasts
from fovnet.phantom.person.traits import Person, sample_person
from fovnet.phantom.scanner.scan import compute_sensitivity
from fovnet.phantom.scanner.tissues import AIR

WOMEN = [
    replace(woman, is_prone=True)
    for number in range(1, 40)
    if has_shaped_breasts(woman := sample_person((9, number)))
][:4]


def grid_about(woman: Person) -> Grid:
    affine = np.diag([5.0, 5.0, 5.0, 1.0])
    affine[:3, 3] = -200, -60, woman.morph.height_mm(breast_shape(woman, 1).base[2]) - 100
    return Grid((80, 65, 40), affine)


def test_sensitivity_is_higher_at_the_breast_than_at_the_chest_and_at_its_skin_than_in_its_middle() -> (
    None
):
    skin_to_middle, breast_to_chest = [], []
    for number, woman in enumerate(WOMEN):
        grid = grid_about(woman)
        profile = compute_sensitivity(
            grid.shape,
            grid.vox_to_ras,
            draw_breast_coil(woman, grid, np.zeros(3), np.random.default_rng(number)),
        )
        x, y, z = (axis.astype(np.float32) for axis in grid.coordinates())
        point = woman.morph.to_anatomy(x, y, z)
        whole = breast_shape(woman, 1)
        _, along, _ = whole.to_shares(*point)
        body = label_volume(woman, grid).labels != AIR
        ahead = whole.contains(*point) & body & (along > 0.15)
        deep = ahead & whole.shrink(0.4 * min(*whole.half_size_mm, whole.length_mm)).contains(
            *point
        )
        skin = ahead & ~whole.shrink(8.0).contains(*point)
        chest = body & (point[1] < whole.base[1] - 50) & (point[1] > whole.base[1] - 90)
        skin_to_middle.append(np.quantile(profile[skin], 0.9) / np.median(profile[deep]))
        breast_to_chest.append(np.mean(profile[ahead]) / np.mean(profile[chest]))
    assert np.median(skin_to_middle) > 1.5 and min(skin_to_middle) > 1.1
    assert np.median(breast_to_chest) > 2.5 and min(breast_to_chest) > 1.5


def test_elements_stand_beside_the_skin_of_what_is_seen() -> None:
    """None within a breast, none farther from the field of view than is switched on; wherever the scanner's
    zero is."""
    for number, woman in enumerate(WOMEN):
        grid, zero = grid_about(woman), np.array([12.0, -7.0, 1300.0])
        own, moved = (
            np.array(draw_breast_coil(woman, grid, at, np.random.default_rng(number)).centres_mm)
            for at in (np.zeros(3), zero)
        )
        assert moved == pytest.approx(own - zero)
        low, high = grid.vox_to_ras[:3, 3], grid.vox_to_ras[:3, 3] + 5.0 * np.asarray(grid.shape)
        assert ((own > low - NEAR_MM - 5) & (own < high + NEAR_MM + 5)).all()
        point = woman.morph.to_anatomy(*(own[:, axis].astype(np.float32) for axis in range(3)))
        for side in (1, -1):
            assert (
                not breast_shape(woman, side)
                .shrink(SKIN_DISTANCE_RANGE_MM[0] + 4)
                .contains(*point)
                .any()
            )
