"""Shapes against their volumes, and boxes that never cut a shape off."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis.strategies import floats, tuples

from fovnet.phantom.geometry.bundles import Outline
from fovnet.phantom.geometry.raster import Grid, Paint, cut_into_pieces, rasterise
from fovnet.phantom.geometry.solids import Ellipsoid, HalfSpace, Loft, Segment, Solid, tube


def grid_of(size_mm: float, spacing_mm: float) -> Grid:
    n = int(size_mm / spacing_mm)
    affine = np.diag([spacing_mm] * 3 + [1.0])
    affine[:3, 3] = -(n - 1) / 2 * spacing_mm
    return Grid((n, n, n), affine)


def volume_of(solid: Solid, grid: Grid) -> float:
    return float(
        (rasterise(cut_into_pieces([Paint(solid, 1)]), grid) == 1).sum()
        * abs(np.linalg.det(grid.vox_to_ras[:3, :3]))
    )


@settings(max_examples=20)
@given(semi=tuples(*[floats(8, 28)] * 3), turn=tuples(*[floats(-90, 90)] * 3))
def test_an_ellipsoid_fills_four_thirds_pi_abc_however_it_is_turned(
    semi: tuple[float, ...], turn: tuple[float, ...]
) -> None:
    a, b, c = semi
    filled = volume_of(
        Ellipsoid((0.31, 0.17, 0.23), (a, b, c), (turn[0], turn[1], turn[2])), grid_of(60, 1.0)
    )
    assert filled == pytest.approx(4 / 3 * np.pi * a * b * c, rel=0.02)


def test_a_tapered_capsule_without_taper_is_a_cylinder_with_two_half_balls() -> None:
    # off the lattice: a lattice point on the surface counts whole
    capsule = Segment((0.3, 0.1, -15.2), (0.3, 0.1, 14.8), 8.0, 8.0)
    assert volume_of(capsule, grid_of(60, 1.0)) == pytest.approx(
        np.pi * 64 * 30 + 4 / 3 * np.pi * 512, rel=0.02
    )


def test_a_straight_loft_is_an_elliptic_cylinder() -> None:
    loft = Loft(((-20.0, 0.0, 0.0, 15.0, 10.0, 10.0), (20.0, 0.0, 0.0, 15.0, 10.0, 10.0)))
    assert volume_of(loft, grid_of(60, 1.0)) == pytest.approx(np.pi * 150 * 40, rel=0.02)


def test_half_a_ball_has_half_the_volume() -> None:
    ball = Ellipsoid((0.0, 0.0, 0.0), (20.0, 20.0, 20.0))
    assert volume_of(ball & HalfSpace((1.0, 1.0, 0.0), 0.0), grid_of(60, 1.0)) == pytest.approx(
        2 / 3 * np.pi * 8000, rel=0.03
    )


@pytest.mark.parametrize(
    "solid",
    [
        Ellipsoid((3.0, -2.0, 1.0), (20.0, 9.0, 14.0), (20.0, 40.0, -30.0)),
        Ellipsoid((0.0, 0.0, 0.0), (20.0, 9.0, 14.0), (20.0, 40.0, 9.0), 0.7),
        tube([(-18, 0, -10), (0, 9, 4), (15, -6, 18)], [6.0, 3.0, 8.0], step_mm=5),
        Loft(
            (
                (-20.0, -4.0, 0.0, 9.0, 6.0, 12.0),
                (5.0, 3.0, 2.0, 18.0, 9.0, 4.0),
                (20.0, 0.0, 0.0, 4.0, 6.0, 6.0),
            ),
            0.4,
        ),
    ],
    ids=lambda solid: type(solid).__name__,
)
def test_no_point_of_a_solid_is_outside_its_box(solid: Solid) -> None:
    points = np.random.default_rng(0).uniform(-40, 40, (3, 200_000)).astype(np.float32)
    inside = points[:, np.asarray(solid.contains(*points))].T
    assert (
        len(inside) > 100
        and np.all(inside >= solid.box[0] - 1e-3)
        and np.all(inside <= solid.box[1] + 1e-3)
    )


@pytest.mark.parametrize(
    "solid",
    [
        Ellipsoid((9.0, -2.0, 1.0), (20.0, 9.0, 14.0), (20.0, 40.0, -30.0))
        - HalfSpace((1.0, 0.4, 0.0), 2.0),
        tube([(8, 0, -10), (2, 9, 4), (15, -6, 18)], [6.0, 3.0, 8.0]),
        Loft(((-20.0, 4.0, 0.0, 9.0, 6.0, 12.0), (20.0, 9.0, 0.0, 4.0, 6.0, 6.0))),
        Outline(
            ((-20.0, 4.0, 0.0, 9.0, 16.0, 12.0, 8), (20.0, 6.0, 1.0, 14.0, 9.0, 6.0, 9.0)),
            (0.1, 0.15),
        ),
    ],
    ids=lambda solid: type(solid).__name__,
)
def test_a_left_organ_holds_the_mirror_images_of_the_points_of_the_right_one(solid: Solid) -> None:
    x, y, z = np.random.default_rng(0).uniform(-30, 30, (3, 20_000)).astype(np.float32)
    right, left = solid.contains(x, y, z), solid.mirror().contains(-x, y, z)
    assert right.sum() > 100 and np.array_equal(right, left)


def test_an_oblique_grid_sees_the_same_ball() -> None:
    grid, t = grid_of(60, 1.0), np.deg2rad(25)
    turned = np.eye(4)
    turned[:2, :2] = [[np.cos(t), -np.sin(t)], [np.sin(t), np.cos(t)]]
    ball = Ellipsoid((4.1, -3.2, 2.3), (15.0, 15.0, 15.0))
    assert volume_of(ball, Grid(grid.shape, turned @ grid.vox_to_ras)) == pytest.approx(
        4 / 3 * np.pi * 15**3, rel=0.01
    )


def test_later_layers_cover_earlier_ones_and_over_protects_the_rest() -> None:
    big, small = Ellipsoid((0.0, 0.0, 0.0), (20.0,) * 3), Ellipsoid((0.0, 0.0, 0.0), (10.0,) * 3)
    labels = rasterise(
        cut_into_pieces(
            [
                Paint(small, 2, layer=5),
                Paint(big, 1, layer=0),
                Paint(big, 3, layer=9, paintable_labels=(2,)),
            ]
        ),
        grid_of(60, 2.0),
    )
    assert (
        set(np.unique(labels)) == {0, 1, 3} and labels[15, 15, 15] == 3 and labels[15, 15, 23] == 1
    )


@given(
    normal=tuples(*[floats(-3, 3)] * 3).filter(lambda n: np.linalg.norm(n) > 0.1),
    offset=floats(-20, 20),
    mm=floats(-8, 8),
)
def test_a_half_space_shrunk_ends_so_many_millimetres_further_in(
    normal: tuple[float, float, float], offset: float, mm: float
) -> None:
    """Along its normal the surface lies at offset / |n|, whatever the length of the normal."""
    side, length = HalfSpace(normal, offset), float(np.linalg.norm(normal))
    surface = np.asarray(normal) / length * (offset / length - mm)
    for step, within in ((-0.05, True), (0.05, False)):
        point = np.float32(surface + step * np.asarray(normal) / length)[:, None]
        assert side.shrink(mm).contains(*point).item() == within
