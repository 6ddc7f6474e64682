"""Things without a body: what they are made of, how they lie in the scanner, and that none is a region."""

from __future__ import annotations

from pathlib import Path

import nibabel as nib
import numpy as np
import pytest

from fovnet.phantom.bodiless.fillings import draw_filling
from fovnet.phantom.bodiless.kinds import COMMON_KINDS, HELD_OUT, TRAINING, draw_kind
from fovnet.phantom.bodiless.scans import PLANES, RotatedThing, make_thing_volume
from fovnet.phantom.bodiless.thing import FILLING, WALL, Thing, column
from fovnet.phantom.collection import NOISE_SHARE, THING_SHARE, simulate_collection
from fovnet.phantom.geometry.raster import Grid, Paint, rasterise
from fovnet.records import read_tsv

KINDS = {**TRAINING, **HELD_OUT}
LOW_MM, HIGH_MM = 40.0, 700.0


def labels_about(thing: Thing, side: int = 64) -> np.ndarray:
    """Labels of the whole thing on a cube of so many voxels."""
    low, high = thing.box_mm
    step = float((high - low).max()) / (side - 4)
    affine = np.diag([step, step, step, 1.0])
    affine[:3, 3] = (low + high) / 2 - step * (side - 1) / 2
    return rasterise(thing.pieces, Grid((side, side, side), affine), RotatedThing(np.eye(3)))


def test_no_kind_that_is_held_out_is_trained_on() -> None:
    assert not TRAINING.keys() & HELD_OUT.keys() and set(COMMON_KINDS) <= TRAINING.keys()
    rng = np.random.default_rng(0)
    assert {draw_kind(rng) for _ in range(600)} == TRAINING.keys()
    makers = [make for kinds in (TRAINING, HELD_OUT) for make in kinds.values()]
    assert len(set(makers)) == len(makers)


@pytest.mark.parametrize("kind", KINDS)
def test_a_thing_is_of_a_size_that_fits_a_scanner_and_fills_some_of_its_box(kind: str) -> None:
    for seed in range(3):
        thing = KINDS[kind](np.random.default_rng(seed))
        size = np.ptp(thing.box_mm, axis=0)
        labels = labels_about(thing)
        assert LOW_MM < size.max() < HIGH_MM
        assert labels.max() < len(thing.tissues) and 0.002 < (labels > 0).mean() < 0.95
        # nothing is painted outside of the box: the outermost layer of voxels is air
        assert not labels[[0, -1]].any() and not labels[:, :, [0, -1]].any()


@pytest.mark.parametrize(
    "kind", ["layered phantom", "vials", "balls in a ball", "citrus", "rodent", "hand"]
)
def test_what_has_parts_has_several_materials(kind: str) -> None:
    assert len(np.unique(labels_about(KINDS[kind](np.random.default_rng(2))))) >= 4


@pytest.mark.parametrize("kind", KINDS)
def test_the_same_seed_gives_the_same_volume_and_another_another(kind: str) -> None:
    one, same, other = (
        make_thing_volume(kind, "axial", np.random.default_rng(seed)) for seed in (1, 1, 2)
    )
    np.testing.assert_array_equal(one.voxels, same.voxels)
    assert one.voxels.shape != other.voxels.shape or not np.array_equal(one.voxels, other.voxels)
    assert np.isfinite(one.voxels).all() and one.voxels.std() > 0


@pytest.mark.parametrize("plane", PLANES)
def test_slices_are_thick_along_the_axis_of_their_plane(plane: str) -> None:
    thicker = []
    for seed in range(6):
        spacing = make_thing_volume("cylinder", plane, np.random.default_rng(seed)).spacing_mm
        thicker.append(spacing[{"sagittal": 0, "coronal": 1}.get(plane, 2)] / np.median(spacing))
    assert np.allclose(thicker, 1) if plane == "isotropic" else np.mean(thicker) > 1.5


def test_a_lying_cylinder_has_its_axis_along_the_left_right_axis() -> None:
    """The turn of things that lie takes x to z, and boxes go back with it."""
    lying = RotatedThing(np.array([[0.0, 1.0, 0.0], [0.0, 0.0, 1.0], [1.0, 0.0, 0.0]]))
    affine = np.diag([5.0, 5.0, 5.0, 1.0])
    affine[:3, 3] = -100.0
    pillar = column(60.0, 160.0)
    np.testing.assert_allclose(lying.enclose(pillar.box[None])[0], [[-80, -30, -30], [80, 30, 30]])
    thing = Thing((Paint(pillar, FILLING),), TRAINING["cylinder"](np.random.default_rng(4)).tissues)
    labels = rasterise(thing.pieces, Grid((41, 41, 41), affine), lying)
    shown = [np.ptp(np.argwhere(labels == FILLING)[:, axis]) * 5 for axis in range(3)]
    assert shown == [160, 60, 60]


def test_fillings_are_liquids_that_exist() -> None:
    """T2 is at most T1, and water's T1 is not above 3.2 s at 1.5 T."""
    rng = np.random.default_rng(0)
    drawn = [draw_filling(rng) for _ in range(300)]
    assert {one.name for one in drawn} == {"water", "doped water", "gel", "oil"}
    assert all(
        one.t2_ms[0] <= one.t1_ms[0] <= 3200 and one.t2star_ms[0] <= one.t2_ms[0] for one in drawn
    )


def test_most_things_are_bright_and_not_noise_alone() -> None:
    """The 99th percentile of a thing that is seen is far above the median, or above the noise of a field that
    it fills; of a hundred few are black."""
    black = 0
    for number in range(40):
        kind = list(TRAINING)[number % len(TRAINING)]
        voxels = make_thing_volume(
            kind, PLANES[number % 4], np.random.default_rng([9, number])
        ).voxels
        blocks = [part.mean() for part in np.array_split(np.sort(voxels.ravel()), 10)]
        black += blocks[-1] < 0.2 * voxels.max() and voxels.std() < 0.6 * voxels.mean()
    assert black <= 4


@pytest.fixture(scope="module")
def collections(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Path]:
    """Twenty-four people, two volumes each, with plain bodies, with things and without."""
    out = tmp_path_factory.mktemp("things")
    plain = [
        "small fields",
        "artefacts",
        "deformation",
        "lesions",
        "joints and organs",
        "tissue structure",
    ]
    for name, without in (("with", plain), ("plain", [*plain, "things of many kinds"])):
        simulate_collection(out / name, subjects=24, volumes_per_subject=2, seed=3, without=without)
    return {name: out / name for name in ("with", "plain")}


def test_things_replace_volumes_without_a_body_alone_and_are_none_throughout(
    collections: dict[str, Path],
) -> None:
    tables = [read_tsv(path / "volumes.tsv") for path in collections.values()]
    both = [{row["volume_id"]: row for row in rows} for rows in tables]
    bodiless, other = (
        [row["volume_id"] for row in rows if row["field_of_view"] == "no body"] for rows in tables
    )
    assert len(bodiless) >= 4 and bodiless == other
    changed = [
        name
        for name in both[0]
        if (collections["with"] / both[0][name]["path"]).read_bytes()
        != (collections["plain"] / both[1][name]["path"]).read_bytes()
    ]
    assert set(changed) <= set(bodiless)
    assert abs(len(changed) / len(bodiless) - THING_SHARE * (1 - NOISE_SHARE)) < 0.4
    regions = {row["volume_id"]: row for row in read_tsv(collections["with"] / "regions.tsv")}
    for name in changed:
        slices = regions[name]["first_slice"], regions[name]["last_slice"]
        volume = nib.load(collections["with"] / both[0][name]["path"])  # type: ignore[attr-defined]
        ras = nib.as_closest_canonical(volume)  # type: ignore[attr-defined]
        assert regions[name]["region"] == "none" and slices == ("0", str(ras.shape[2] - 1))


def test_labels_of_walls_and_fillings_are_apart() -> None:
    thing = KINDS["cylinder"](np.random.default_rng(0))
    assert thing.tissues[WALL].pd == 0.0 < thing.tissues[FILLING].pd
