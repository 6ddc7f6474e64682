"""The estimate of what reading a volume takes holds for oblique volumes too, whose straight grid may have
many times their voxels."""

from __future__ import annotations

import tracemalloc
from pathlib import Path
from types import ModuleType

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis.strategies import floats, integers, sampled_from, tuples

from fovnet.errors import VolumeError
from fovnet.volume import orient
from fovnet.volume.orient import (
    FEW_VOXELS,
    MAX_STRAIGHT_VOXELS,
    MAX_VOXEL_GROWTH,
    count_straight_voxels,
    to_ras,
)
from fovnet.volume.slices.stack import slice_volume
from fovnet.volume.sources.memory import BYTES_PER_VOXEL, LEAST_BYTES, estimate_bytes_to_read
from fovnet.volume.sources.source import source_of
from fovnet.volume.volume import Volume

# 18 kB as a file, and 254 million voxels along the scanner's axes
THIN = (1.0, 99.9, 0.051), (64, 64, 16), (45.0, 0.0)
GRIDS = {
    "a thin plate": THIN,
    "three slices": ((0.5, 0.5, 2.5), (250, 150, 3), (0.0, 44.0)),
    "a cube on its corner": ((2.0, 2.0, 2.0), (50, 50, 50), (45.0, 35.26)),
    "a stack": ((0.9, 0.9, 4.0), (64, 64, 20), (25.0, 0.0)),
}


def turned(
    spacing: tuple[float, ...], shape: tuple[int, ...], degrees: tuple[float, float]
) -> Volume:
    """Smooth noise on a grid turned about the first axis and then about the second."""
    (a, b), rng = np.radians(degrees), np.random.default_rng(0)
    about_x = np.array([[1, 0, 0], [0, np.cos(a), -np.sin(a)], [0, np.sin(a), np.cos(a)]])
    about_y = np.array([[np.cos(b), 0, np.sin(b)], [0, 1, 0], [-np.sin(b), 0, np.cos(b)]])
    affine = np.eye(4)
    affine[:3, :3] = about_y @ about_x @ np.diag(spacing)
    return Volume(rng.gamma(2.0, 100.0, shape).round().astype(np.float32), affine, "made")


@pytest.mark.parametrize("form", ["nifti", "nrrd", "metaimage", "mgh", "analyze"])
def test_what_an_oblique_volume_takes_is_within_its_estimate_in_every_format(
    made: ModuleType, tmp_path: Path, form: str
) -> None:
    volume = turned(*GRIDS["three slices"])
    suffix = {
        "nifti": "nii.gz",
        "nrrd": "nrrd",
        "metaimage": "mha",
        "mgh": "mgz",
        "analyze": "hdr",
    }[form]
    path = getattr(made, form)(tmp_path / f"v.{suffix}", volume)
    straight = to_ras(volume).voxels.size
    assert (
        straight > 5 * volume.voxels.size
        and estimate_bytes_to_read(source_of(path)) - LEAST_BYTES > 8 * straight
    )
    assert peak(path) < estimate_bytes_to_read(source_of(path))


@pytest.mark.parametrize("grid", GRIDS)
def test_what_an_oblique_volume_takes_is_within_its_estimate_on_every_grid(
    made: ModuleType, tmp_path: Path, grid: str
) -> None:
    path = made.nifti(tmp_path / "v.nii.gz", turned(*GRIDS[grid]))
    assert peak(path) < estimate_bytes_to_read(source_of(path)) < 2**28


def peak(path: Path) -> int:
    """The most bytes that are held at once while a volume is read and cut."""
    tracemalloc.start()
    try:
        slice_volume(path)
        return tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()


@settings(max_examples=60)
@given(
    tuples(*[floats(0.05, 100.0)] * 3),
    tuples(*[integers(2, 60)] * 3),
    tuples(floats(-44, 44), floats(-44, 44)),
    sampled_from([(0, 1, 2), (2, 0, 1), (1, 2, 0), (2, 1, 0)]),
)
def test_a_straight_grid_covers_the_volume_and_is_never_out_of_proportion(
    spacing, shape, degrees, order
) -> None:  # type: ignore[no-untyped-def]
    volume = turned(spacing, shape, degrees)
    affine, sides = volume.vox_to_ras[:, (*order, 3)], tuple(shape[axis] for axis in order)
    axes = affine[:3, np.argsort(orient.find_closest_axes(affine)[:, 0])]
    own = np.asarray(sides)[np.argsort(orient.find_closest_axes(affine)[:, 0])]
    grid, voxels = orient.straight_grid(axes[:3, :3], own)
    if grid is None:
        assert voxels.prod() > MAX_STRAIGHT_VOXELS and count_straight_voxels(affine, sides) == 0
        return
    assert (
        voxels.prod()
        == count_straight_voxels(affine, sides)
        <= max(MAX_VOXEL_GROWTH * own.prod(), FEW_VOXELS)
    )
    assert (grid >= np.linalg.norm(axes[:3, :3], axis=0) * (1 - 1e-12)).all()
    assert (grid * (voxels - 1) >= np.abs(axes[:3, :3]) @ (own - 1) - 1e-3).all()


def test_the_spacings_of_a_usual_volume_are_kept_and_those_of_a_thin_plate_widened() -> None:
    for name, (spacing, shape, degrees) in GRIDS.items():
        straight = to_ras(turned(spacing, shape, degrees)).spacing_mm
        assert np.allclose(np.sort(straight), np.sort(spacing)) == (name != "a thin plate"), name
    assert 0.4 < to_ras(turned(*THIN)).spacing_mm.min() < 1.0


def test_a_grid_that_cannot_be_straightened_counts_as_it_is_stored_and_a_damaged_one_takes_little(
    made: ModuleType, tmp_path: Path
) -> None:
    volume = turned((0.05, 0.05, 90.0), (64, 64, 200), (45.0, 0.0))
    with pytest.raises(VolumeError, match="volume-too-large"):
        to_ras(volume)
    path = made.nifti(tmp_path / "v.nii", volume)
    assert (
        estimate_bytes_to_read(source_of(path))
        == LEAST_BYTES + BYTES_PER_VOXEL * volume.voxels.size
    )
    whole = path.read_bytes()
    path.write_bytes(whole[:280] + b"\xff" * 48 + whole[328:])
    assert estimate_bytes_to_read(source_of(path)) == LEAST_BYTES, "refused by its header"
