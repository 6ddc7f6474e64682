"""Label maps of any number of labels are refused, MR of few values is not; a constant fill is no air of a
CT."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import nibabel
import numpy as np
import pytest
from scipy import ndimage
from scipy.spatial import cKDTree

from fovnet.errors import VolumeError
from fovnet.volume.checks import (
    LEAST_POSITION_SHARE,
    PARCEL_FLATNESS,
    _explained_position_share,
    _find_background_values,
    _measure_flatness,
    _sample_few_voxels,
    refuse_labels,
)
from fovnet.volume.sources.source import read
from fovnet.volume.volume import Volume

SIDE = 64
INSIDE = np.linalg.norm(np.indices((SIDE,) * 3).T - (SIDE - 1) / 2, axis=-1) < 28


def parcels(count: int, seed: int = 0, where: np.ndarray = INSIDE) -> np.ndarray:
    """Which of `count` seeds in a region is nearest, from 0; -1 elsewhere."""
    places = np.argwhere(where)
    seeds = np.random.default_rng(seed).choice(places, count, replace=False)
    found = np.full(where.shape, -1)
    found[where] = cKDTree(seeds).query(places)[1]
    return found


def named(found: np.ndarray, names: np.ndarray) -> np.ndarray:
    """Each parcel's own number; 0 elsewhere."""
    return np.where(found < 0, 0, names[found])


def any_numbers(count: int, most: int) -> np.ndarray:
    return np.random.default_rng(count).integers(1, most, count)


def ribbon() -> np.ndarray:
    """A cortex: a folded sheet about three voxels thick, at the edge of the body."""
    depth = ndimage.distance_transform_edt(INSIDE)
    fold = 5 + 4 * np.sin(np.indices((SIDE,) * 3).sum(axis=0) / 5)
    return np.abs(depth - fold) < 1.6


def mirrored(found: np.ndarray) -> np.ndarray:
    """Left and right with the same labels."""
    half = found[: SIDE // 2]
    return np.concatenate([half, half[::-1]])


def anatomy(levels: int, noise: float, seed: int = 0, fall_off: float = 0.0) -> np.ndarray:
    """MR of 40 organs, each of one brightness but for a scanner's noise, perhaps darker away from a coil; of
    so many grey levels."""
    rng = np.random.default_rng(seed)
    clean = named(parcels(40, seed), rng.uniform(0.3, 1, 40)) * np.exp(
        -fall_off * np.indices((SIDE,) * 3)[1] / SIDE
    )
    image = np.hypot(clean + rng.normal(0, noise, clean.shape), rng.normal(0, noise, clean.shape))
    return np.rint(image / image.max() * (levels - 1))


def enlarged(image: np.ndarray, factor: int) -> np.ndarray:
    """Each voxel repeated along every axis, as nearest neighbours do."""
    small = image[tuple(slice(None, None, factor) for _ in range(3))]
    return small.repeat(factor, 0).repeat(factor, 1).repeat(factor, 2)


LABEL_MAPS: dict[str, Callable[[], np.ndarray]] = {
    "tissues": lambda: named(parcels(400), np.random.default_rng(0).integers(1, 4, 400)),
    "an atlas of 100": lambda: named(parcels(100), np.arange(1, 101)),
    "an atlas of 120 from left to right": lambda: mirrored(named(parcels(120), np.arange(1, 121))),
    "400 parcels": lambda: named(parcels(400), np.arange(1, 401)),
    "660 labels": lambda: named(parcels(660), np.arange(1, 661)),
    "1000 parcels of a cortex": lambda: named(parcels(1000, where=ribbon()), np.arange(1, 1001)),
    "600 parcels of a cortex, left as right": lambda: mirrored(
        named(parcels(1200, where=ribbon()), np.arange(1, 1201))
    ),
    "numbers from 11,101 to 14,175": lambda: named(parcels(700), 11_101 + any_numbers(700, 3074)),
    "numbers up to 6e8": lambda: named(parcels(900), any_numbers(900, 600_000_000)),
    "negative numbers": lambda: named(parcels(800), -np.arange(1, 801)),
    "800 labels on a ground of 5000": lambda: np.where(
        INSIDE, named(parcels(800), np.arange(1, 801)), 5000
    ),
    "1500 cells": lambda: named(parcels(1500), any_numbers(1500, 65_535)),
    "labels without a ground": lambda: parcels(700, where=np.ones((SIDE,) * 3, dtype=bool)) + 1,
}
MR: dict[str, Callable[[], np.ndarray]] = {
    "12 bits": lambda: anatomy(4096, 0.02),
    "8 bits": lambda: anatomy(256, 0.02),
    "8 bits, nearly without noise": lambda: anatomy(256, 0.004),
    "7 bits": lambda: anatomy(128, 0.02),
    "64 levels": lambda: anatomy(64, 0.03),
    "16 levels": lambda: anatomy(16, 0.05),
    "16 bits": lambda: anatomy(65_536, 0.02),
    "masked": lambda: np.where(INSIDE, anatomy(4096, 0.02), 0),
    "masked twice": lambda: np.where(
        INSIDE, np.pad(anatomy(1024, 0.02)[8:-8], ((8, 8), (0, 0), (0, 0)), constant_values=-500), 0
    ),
    "a coil on one side": lambda: anatomy(4096, 0.02, fall_off=3.0),
    "8 bits of a coil on one side, enlarged 4 times": lambda: enlarged(
        anatomy(256, 0.03, fall_off=3.0), 4
    ),
    "12 bits, enlarged twice": lambda: enlarged(anatomy(4096, 0.02), 2),
    "12 bits, enlarged 4 times": lambda: enlarged(anatomy(4096, 0.02), 4),
    "8 bits, enlarged 4 times": lambda: enlarged(anatomy(256, 0.03), 4),
    "smoothed": lambda: np.rint(ndimage.gaussian_filter(anatomy(4096, 0.02), 2)),
    "smoothed, 8 bits": lambda: np.rint(ndimage.gaussian_filter(anatomy(256, 0.05), 1)),
    "medians of 8 bits": lambda: ndimage.median_filter(anatomy(256, 0.03), 3),
}


def volume(voxels: np.ndarray) -> Volume:
    return Volume(voxels.astype(np.float32), np.diag([2.0, 2.0, 2.0, 1.0]), "made")


def measured(voxels: np.ndarray) -> tuple[float, float]:
    """(share of equal neighbours, how gathered the values are)."""
    found, glance = volume(voxels).voxels, _sample_few_voxels(volume(voxels).voxels)
    grounds = _find_background_values(glance)
    return sum(
        _measure_flatness(found, axis, grounds) for axis in range(3)
    ) / 3, _explained_position_share(glance, grounds)


@pytest.mark.parametrize("make", LABEL_MAPS.values(), ids=LABEL_MAPS)
def test_a_label_map_is_refused_however_many_labels_it_has(make: Callable[[], np.ndarray]) -> None:
    with pytest.raises(VolumeError, match="this looks like a label map") as refused:
        refuse_labels(volume(make()))
    assert refused.value.code == "volume-labels"


@pytest.mark.parametrize("make", MR.values(), ids=MR)
def test_mr_of_few_greys_or_of_large_blocks_is_no_label_map(make: Callable[[], np.ndarray]) -> None:
    refuse_labels(volume(make()))


def test_values_of_mr_lie_anywhere_and_labels_in_places_of_their_own() -> None:
    """The two measures, each with room on either side of its limit: of maps of more than 100 labels, and of
    all MR."""
    maps = [measured(LABEL_MAPS[name]()) for name in list(LABEL_MAPS)[3:]]
    assert (
        min(flat for flat, _ in maps) > PARCEL_FLATNESS + 0.1
        and min(gathered for _, gathered in maps) > LEAST_POSITION_SHARE + 0.2
    )
    assert (
        max(gathered for _, gathered in (measured(MR[name]()) for name in MR if "enlarged" in name))
        < LEAST_POSITION_SHARE - 0.2
    )


def test_labels_are_refused_from_a_file_of_any_integers(tmp_path: Path) -> None:
    for dtype in (np.int16, np.uint16, np.int32, np.uint32, np.float32, np.float64):
        nibabel.save(
            nibabel.Nifti1Image(LABEL_MAPS["660 labels"]().astype(dtype), np.eye(4)),
            tmp_path / "a.nii",
        )
        with pytest.raises(VolumeError, match="661 different whole numbers"):
            read(tmp_path / "a.nii")


def saved(path: Path, voxels: np.ndarray) -> Path:
    nibabel.save(nibabel.Nifti1Image(voxels, np.diag([2.0, 2.0, 2.0, 1.0])), path)
    return path


def refusal(path: Path) -> str:
    with pytest.raises(VolumeError) as refused:
        read(path)
    assert refused.value.code == "volume-ct"
    return refused.value.sentence


@pytest.mark.parametrize("fill", [-1, -100, -1000, -1024, -2000, -2048, -3024, -9999, -32768])
@pytest.mark.parametrize("brightest", [255, 4000])
def test_a_constant_fill_is_read_as_the_black_that_it_stands_for(
    tmp_path: Path, fill: int, brightest: int
) -> None:
    """-1 or -100 beneath greys up to 4000 stays: such a value may be the zero of an image shifted to another
    mean."""
    image = anatomy(brightest + 1, 0.02)
    plain = np.where(INSIDE, image, 0).astype(np.int16)
    found = read(saved(tmp_path / "a.nii", np.where(INSIDE, image, fill).astype(np.int16)))
    if -fill < brightest and fill > -900:
        assert found.voxels.min() == fill and not found.notes
        return
    assert np.array_equal(found.voxels, plain)
    assert found.notes == (
        f"{1 - INSIDE.mean():.0%} of the voxels are exactly {fill}, a constant fill; set to 0",
    )


@pytest.mark.parametrize("brightest", [1.0, 30_000.0])
def test_fills_of_fractions_and_of_bright_scanners_are_known_too(
    tmp_path: Path, brightest: float
) -> None:
    image = (anatomy(4096, 0.02) / 4095 * brightest).astype(np.float32)
    found = read(saved(tmp_path / "a.nii", np.where(INSIDE, image, np.float32(-1024))))
    assert (
        np.array_equal(found.voxels, np.where(INSIDE, image, 0))
        and "exactly -1024" in found.notes[0]
    )


def test_what_was_interpolated_between_image_and_fill_is_black_too(tmp_path: Path) -> None:
    """Splines mix both along the border of the fill and overshoot, to below it as well."""
    image = np.where(np.indices((SIDE,) * 3)[2] < 12, -1024.0, 100 + anatomy(1000, 0.02))
    moved = ndimage.shift(image, (0, 0, 0.5), order=3, mode="nearest")
    moved[:, :, :9] = -1024
    assert moved.min() < -1024 and ((moved < 0) & (moved > -1024)).any()
    found = read(saved(tmp_path / "a.nii", moved.astype(np.float32)))
    assert found.voxels.min() == 0 and np.array_equal(
        found.voxels[moved >= 0], moved[moved >= 0].astype(np.float32)
    )


def ct(fill: float = 0.0, air: float = -1000.0) -> np.ndarray:
    """A trunk in Hounsfield units with air about it, and beyond the round field of view a fill."""
    rng = np.random.default_rng(0)
    image = np.where(INSIDE, rng.normal(40, 30, INSIDE.shape), rng.normal(air, 15, INSIDE.shape))
    outside = np.hypot(*(np.indices(INSIDE.shape)[:2] - (SIDE - 1) / 2)) > 31
    return np.rint(np.where(outside & (fill != 0), fill, image)).astype(np.int16)


@pytest.mark.parametrize("fill", [0, -1024, -2000, -2048, -3024, -32768])
def test_a_ct_stays_one_whatever_it_is_filled_with(tmp_path: Path, fill: int) -> None:
    refusal(saved(tmp_path / "a.nii", ct(fill)))
    refusal(saved(tmp_path / "b.nii", np.maximum(ct(fill), -1000)))
    refusal(saved(tmp_path / "c.nii", np.where(ct() < -500, -1024, ct() - 60).astype(np.int16)))


def test_a_fill_beneath_values_of_either_sign_is_named(tmp_path: Path) -> None:
    """Of a normalised volume nobody knows what is black: it is refused, and the message names the fill and
    what to do."""
    normalised = np.where(
        INSIDE, np.random.default_rng(0).normal(0, 1, INSIDE.shape), -9999
    ).astype(np.float32)
    said = refusal(saved(tmp_path / "a.nii", normalised))
    assert "100% of them exactly -9999, a constant fill" in said and "fill with 0 instead" in said


@pytest.mark.parametrize("seed", range(4))
def test_mr_of_mean_zero_and_phases_have_no_fill(tmp_path: Path, seed: int) -> None:
    """The air of a volume of mean 0 has one negative value where it was masked, right beneath the darkest
    tissue."""
    image = np.where(INSIDE, anatomy(1000, 0.02, seed), 0)
    normalised = ((image - image.mean()) / image.std()).astype(np.float32)
    assert np.array_equal(read(saved(tmp_path / "a.nii", normalised)).voxels, normalised)
    phase = np.random.default_rng(seed).integers(-800, 800, INSIDE.shape).astype(np.int16)
    assert np.array_equal(read(saved(tmp_path / "b.nii", phase)).voxels, phase)
