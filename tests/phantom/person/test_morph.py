"""The map from a person to the written anatomy folds nothing over and loses nothing of a box."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

import numpy as np
import pytest

from fovnet.phantom.geometry.raster import Grid
from fovnet.phantom.person.traits import sample_person

PEOPLE = [(5, number) for number in range(1, 13)]


@pytest.mark.parametrize("seed", PEOPLE[:4])
def test_the_deformation_never_folds_the_body_over(seed: tuple[int, int]) -> None:
    """The in-plane determinant of the map from person to anatomy stays above 0 at points all over the
    body."""
    morph, step = replace(sample_person(seed).morph, swelling=None), 0.5
    rng = np.random.default_rng(0)
    x, y, z = rng.uniform((-250, -200, 0), (250, 200, 1700), (20_000, 3)).astype(np.float32).T
    by_x, by_y = (
        [
            (b - a) / (2 * step)
            for a, b in zip(morph.to_anatomy(*low)[:2], morph.to_anatomy(*high)[:2], strict=True)
        ]
        for low, high in (
            ((x - step, y, z), (x + step, y, z)),
            ((x, y - step, z), (x, y + step, z)),
        )
    )
    assert (by_x[0] * by_y[1] - by_x[1] * by_y[0]).min() > 0.2


@pytest.mark.parametrize("tilt_deg", [0.0, 30.0])
def test_the_bend_between_knots_is_within_half_a_mm_of_the_bend_itself(
    tilt_deg: float, around: Callable[..., Grid]
) -> None:
    person, t = sample_person((5, 1)), np.deg2rad(tilt_deg)
    grid = around((-90, -90, 850), (90, 90, 950), 2.0)
    turn = np.eye(4)
    turn[1:3, 1:3] = [[np.cos(t), -np.sin(t)], [np.sin(t), np.cos(t)]]
    points = Grid(grid.shape, turn @ grid.vox_to_ras).coordinates()
    seen = person.morph.to_anatomy(*points)
    exact = person.morph.to_anatomy(
        *(np.broadcast_to(values, grid.shape).ravel() for values in points)
    )
    for on_grid, alone in zip(seen[:2], exact[:2], strict=True):
        assert np.abs(np.broadcast_to(on_grid, grid.shape).ravel() - alone).max() < 0.5


@pytest.mark.parametrize("seed", PEOPLE[:4])
def test_a_box_of_the_anatomy_is_enclosed_wherever_the_person_is_bent(
    seed: tuple[int, int],
) -> None:
    """Points of the person that belong to a box of the anatomy lie in the box that `enclose` makes of it."""
    morph, rng = replace(sample_person(seed).morph, swelling=None), np.random.default_rng(1)
    points = rng.uniform(
        (-240, -190, 0), (240, 240, morph.anchor_heights_mm[9]), (20_000, 3)
    ).astype(np.float32)
    there = np.stack(morph.to_anatomy(*points.T), axis=1)
    boxes = morph.enclose(np.stack([there - 2.0, there + 2.0], axis=1))
    assert np.all(points >= boxes[:, 0] - 0.5) and np.all(points <= boxes[:, 1] + 0.5)
    assert (boxes[:, 1] - boxes[:, 0])[:, 0].mean() < 45
