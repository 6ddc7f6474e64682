"""Volumes whose background lies amid their values: maps, of which no answer is sure."""

from __future__ import annotations

import io
import tarfile
from collections.abc import Callable
from pathlib import Path

import nibabel
import numpy as np
import pytest
from scipy import ndimage

from fovnet.volume.both_signs import BOTH_SIGNS_NOTE
from fovnet.volume.slices.stack import slice_volume
from fovnet.volume.sources.source import read

SHAPE = (48, 40, 36)
AFFINE = np.diag([6.0, 6.0, 8.0, 1.0])
GRID = np.stack(np.meshgrid(*(np.linspace(-1, 1, side) for side in SHAPE), indexing="ij"))
OUTLINE = GRID[0] ** 2 / 0.9 + GRID[1] ** 2 / 0.7 < 1


def smooth(sigma: float, amplitude: float, seed: int = 0) -> np.ndarray:
    field = ndimage.gaussian_filter(np.random.default_rng(seed).normal(size=SHAPE), sigma)
    return amplitude * field / field.std()


def body(seed: int = 0) -> np.ndarray:
    """Magnitudes: tissue of three brightnesses within the outline, and the noise of a receiver everywhere."""
    rng = np.random.default_rng(seed)
    tissue = 400.0 + 200.0 * np.digitize(smooth(3, 1, seed), [-0.6, 0.8])
    return np.abs(tissue * OUTLINE + rng.normal(0, 8, SHAPE) + 1j * rng.normal(0, 8, SHAPE))


def within(values: np.ndarray, outside: float = 0.0) -> np.ndarray:
    return np.where(OUTLINE, values, outside)


def standardised(values: np.ndarray, outside: float = 0.0) -> np.ndarray:
    inside = values[OUTLINE]
    return within((values - inside.mean()) / inside.std(), outside)


def wrapped(radians: np.ndarray) -> np.ndarray:
    return np.angle(np.exp(1j * radians))


MAPS: dict[str, Callable[[], np.ndarray]] = {
    "a field in Hz": lambda: within(smooth(6, 80)),
    "a field in rad/s": lambda: within(smooth(6, 500)),
    "a field of whole Hz": lambda: np.rint(within(smooth(6, 80))).astype(np.int16),
    "a field in ppm": lambda: within(smooth(6, 0.4)),
    "a field whose air is nearly 0": lambda: within(smooth(6, 80), -0.119),
    "a field more negative than positive": lambda: within(smooth(6, 80) - 50),
    "a field of shims": lambda: within(60 * (GRID[0] ** 2 - GRID[1] ** 2) + 80 * GRID[2] * GRID[0]),
    "a field in a bottle": lambda: within(90 * GRID[2] + 40 * GRID[0] * GRID[1]),
    "a field with a gap": lambda: np.where(smooth(4, 1, 3) > 1.2, 0, within(smooth(6, 80))),
    "a phase in radians": lambda: within(wrapped(smooth(5, 3))),
    "a phase in steps of 1/128": lambda: np.rint(within(wrapped(smooth(5, 3))) * 128).astype(
        np.int16
    ),
    "a susceptibility": lambda: within(smooth(1.5, 0.05)),
    "a real part": lambda: within(body() * np.cos(smooth(5, 3))),
    "an imaginary part": lambda: within(body() * np.sin(smooth(5, 3))),
    "a difference of two visits": lambda: within(body(1) - body(2)),
    "a z map": lambda: within(smooth(1, 1)),
    "a z map above a threshold": lambda: np.where(
        np.abs(smooth(1, 1)) > 1, within(smooth(1, 1)), 0
    ),
    "a z map of an effect": lambda: within(smooth(1, 1) + 0.1),
    "a phase of deviation 1.1": lambda: standardised(smooth(5, 3)) * 1.1,
    "a field in ppm of deviation 0.9": lambda: standardised(smooth(6, 0.4)) * 0.9,
    "a t map of an effect": lambda: within(smooth(2, 2) + 0.8),
    "a t map whose air is NaN": lambda: within(smooth(1, 2), np.nan),
    "a contrast": lambda: within(smooth(1.5, 12)),
    "a Jacobian's logarithm": lambda: within(smooth(3, 0.2)),
}
PICTURES: dict[str, Callable[[], np.ndarray]] = {
    "magnitudes": body,
    "magnitudes as whole numbers": lambda: np.rint(body()).astype(np.int16),
    "magnitudes of a masked head": lambda: within(body()),
    "8 bits": lambda: np.clip(body() / 4, 0, 255).astype(np.uint8),
    "overshoot of splines": lambda: ndimage.shift(within(body()), 0.5, order=5),
    "normalised about 0 within a mask": lambda: standardised(body()),
    "normalised about 0 as float32": lambda: standardised(body()).astype(np.float32),
    "normalised and rounded to a hundredth": lambda: np.round(standardised(body()), 2),
    "normalised as float16": lambda: standardised(body()).astype(np.float16),
    "normalised and clipped": lambda: np.clip(standardised(body()), -1.5, 3),
    "normalised by 0.98 of the deviation": lambda: standardised(body()) / 0.98,
    "normalised about the median of a smaller mask": lambda: within(
        standardised(body()) + 0.02 * OUTLINE
    ),
    "normalised, voxels taken from the nearest": lambda: ndimage.zoom(
        standardised(body()), 0.7, order=0
    ),
    "normalised in steps of 1/256": lambda: np.rint(standardised(body()) * 256) / 256,
    "normalised, air the lowest": lambda: standardised(body(), -4.0),
    "normalised whole": lambda: (body() - body().mean()) / body().std(),
    "from -1 to 1": lambda: within(body()) / 500 - 1,
    "air filled with -1024": lambda: within(body(), -1024.0),
    "one broken voxel": lambda: np.where(
        np.arange(body().size).reshape(SHAPE) == 9, -32768, within(body())
    ),
    "masked air as NaN": lambda: within(body(), np.nan),
    "a p value": lambda: within(1 - np.exp(-np.abs(smooth(1, 1)))),
}


def saved(path: Path, voxels: np.ndarray) -> Path:
    image = nibabel.Nifti1Image(
        voxels if voxels.dtype.kind in "iu" else voxels.astype(np.float32), AFFINE
    )
    nibabel.save(image, path)
    return path


@pytest.mark.parametrize("kind", MAPS)
def test_a_map_is_seen_by_the_two_signs_of_its_values(tmp_path, kind):
    stack = slice_volume(saved(tmp_path / "a.nii", MAPS[kind]()))
    assert stack.has_both_signs and BOTH_SIGNS_NOTE in stack.notes


@pytest.mark.parametrize("kind", PICTURES)
def test_what_has_its_air_below_its_values_or_is_normalised_is_none(tmp_path, kind):
    assert not slice_volume(saved(tmp_path / "a.nii", PICTURES[kind]())).has_both_signs


def test_a_z_map_of_noise_is_not_told_from_a_normalised_picture(tmp_path):
    """A limit: its mean is 0, and its deviation 1."""
    noise = within(np.random.default_rng(4).normal(size=SHAPE))
    assert not slice_volume(saved(tmp_path / "a.nii", noise)).has_both_signs


def test_a_map_is_seen_however_it_lies(tmp_path):
    """Before it is resampled, which fills the corners."""
    turn = np.array([[0.8, -0.6, 0, 0], [0.6, 0.8, 0, 0], [0, 0, 1, 0], [0, 0, 0, 1]])[[1, 2, 0, 3]]
    nibabel.save(
        nibabel.Nifti1Image(MAPS["a field in Hz"]().astype("f4"), turn @ AFFINE), tmp_path / "a.nii"
    )
    assert slice_volume(tmp_path / "a.nii").has_both_signs


def test_the_real_field_map_of_a_bottle_is_seen(shared, tmp_path):
    archive = shared / "cases" / "t3_real_b0_field_map_of_bottle.tar.xz"
    if not archive.exists():
        pytest.skip(f"{archive} does not exist")
    with tarfile.open(archive) as members:
        name = next(name for name in members.getnames() if name.endswith("field.nii"))
        image = nibabel.Nifti1Image.from_stream(io.BytesIO(members.extractfile(name).read()))
    nibabel.save(image, tmp_path / "field.nii")
    assert BOTH_SIGNS_NOTE in read(tmp_path / "field.nii").notes


def test_of_the_real_volumes_none_is_a_map(shared):
    """The six smallest; all were looked at once."""
    volumes = (shared / "data" / "volumes").glob("*.nii.gz")
    for path in sorted(volumes, key=lambda path: path.stat().st_size)[:6]:
        assert BOTH_SIGNS_NOTE not in read(path).notes, path
