"""Changed volumes are what they are said to be, and answers are counted as right for what is in the
picture."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
import torch

from fovnet.bench.robustness import (
    BORDERS_FOUND,
    CHANGES,
    COUNTED_THINGS,
    NEVER_TRAINED,
    NOTHING_DOUBTED,
    NOTHING_DOUBTED_AND_WRONG,
    SLICES_NAMED_RIGHTLY,
    LabelledScan,
    borders_in_picture,
    measure_robustness,
    names_right_regions,
    read_scans,
    simulate_people,
)
from fovnet.decision.assembly import write_ensemble
from fovnet.decision.ensemble import Ensemble, load_ensemble
from fovnet.decision.rule import Rule
from fovnet.errors import CollectionError
from fovnet.net.family.architecture import Architecture
from fovnet.net.family.model import build_network
from fovnet.net.family.weights import save_network
from fovnet.phantom.acquisition.measured_fields import BLADDER_FIELD
from fovnet.phantom.bodiless.kinds import HELD_OUT
from fovnet.phantom.bodiless.noise import PURE_NOISE
from fovnet.phantom.collection import simulate_collection
from fovnet.phantom.oddities import ODDITIES
from fovnet.regions import DEFAULT
from fovnet.volume.collection.table_rows import RegionRow
from fovnet.volume.collection.truth import find_classes_at_heights
from fovnet.volume.slices.stack import SliceStack, Slicing, cut_slices, describe_slice_format
from fovnet.volume.volume import Volume

PREPARE = {"target_spacing_mm": 8.0, "max_tilt_deg": 20.0}


@pytest.fixture(scope="module")
def ensemble(tmp_path_factory: pytest.TempPathFactory) -> Ensemble:
    """One network, not trained."""
    folder = tmp_path_factory.mktemp("odd")
    net = Architecture(4, 1, 2, 3, False, classes=len(DEFAULT.classes), head="gap")
    facts = {"classes": DEFAULT.classes, "slices": describe_slice_format(Slicing(8.0, 20.0))}
    path = save_network(
        folder / "slot-0001.safetensors",
        build_network(net, torch.Generator().manual_seed(1)),
        net,
        facts,
    )
    member = {"slot": 1, "score": 1.0, "configuration": {}, "weights": str(path)}
    write_ensemble(folder / "ensemble", [member], DEFAULT, PREPARE, settings={}, seed=1)
    return load_ensemble(folder / "ensemble", "cpu", rule=Rule())


def changed(scan: LabelledScan, name: str, seed: int = 0) -> LabelledScan:
    return CHANGES[name](scan, np.random.default_rng(seed))


def in_ramp(shape: tuple[int, int, int] = (20, 30, 40)) -> LabelledScan:
    """A volume whose voxels tell where they were, 2 x 3 x 5 mm."""
    voxels = np.arange(np.prod(shape), dtype=np.float32).reshape(shape)
    return LabelledScan("one", Volume(voxels, np.diag([2.0, 3.0, 5.0, 1.0]), "ramp"), ())


def test_a_part_of_a_volume_keeps_its_millimetres() -> None:
    scan = in_ramp()
    heights = scan.volume.slice_heights_mm().tolist()
    for seed in range(20):
        part = changed(scan, "a part of it", seed).volume
        first = heights.index(part.slice_heights_mm()[0])
        slices = part.voxels.shape[2]
        assert 16 <= slices <= 40
        assert np.array_equal(part.voxels, scan.volume.voxels[:, :, first : first + slices])
        assert part.slice_heights_mm().tolist() == heights[first : first + slices]


@pytest.mark.parametrize("name", ["upside down", "along another axis"])
def test_a_turned_body_is_no_mirror_image(name: str) -> None:
    """A turn has determinant 1: the voxels of three neighbours of a corner tell where the axes went."""
    scan = in_ramp()
    for seed in range(6):
        turned = changed(scan, name, seed)
        assert turned.regions is None
        steps = np.array([np.diff(turned.volume.voxels, axis=axis).flat[0] for axis in range(3)])
        strides = np.array([1200.0, 40.0, 1.0])
        went = np.sign(steps)[:, None] * (np.abs(steps)[:, None] == strides)
        assert np.linalg.det(went) == 1
        assert np.allclose(turned.volume.spacing_mm, np.abs(went) @ scan.volume.spacing_mm)
        assert sorted(turned.volume.voxels.flat) == sorted(scan.volume.voxels.flat)


def test_light_changes_brightness_and_not_what_is_black() -> None:
    scan = in_ramp()
    black = scan.volume.voxels == 0
    for name in ("darker to one side", "less contrast", "more contrast"):
        seen = changed(scan, name).volume.voxels
        assert (seen[black] == 0).all() and (seen >= 0).all() and np.isfinite(seen).all()
        assert not np.allclose(
            seen / seen.max(), scan.volume.voxels / scan.volume.voxels.max(), atol=0.1
        )


def test_all_changes_are_counted_and_noise_and_disorder_are_doubted(ensemble: Ensemble) -> None:
    rows = measure_robustness(ensemble, simulate_people(1, 1), seed=3, bodiless_count=1)
    assert [(row["change"], row["what"]) for row in rows] == [
        (name, what)
        for name in (*CHANGES, *ODDITIES, PURE_NOISE, *HELD_OUT, NEVER_TRAINED, BLADDER_FIELD)
        for what in COUNTED_THINGS
    ]
    row_by_change_and_count = {(row["change"], row["what"]): row for row in rows}
    assert (
        all(row_by_change_and_count[name, NOTHING_DOUBTED]["of"] == 1 for name in CHANGES)
        and row_by_change_and_count["air", NOTHING_DOUBTED]["of"] == 1
    )
    assert all(
        row_by_change_and_count[name, NOTHING_DOUBTED_AND_WRONG]["count"]
        <= row_by_change_and_count[name, NOTHING_DOUBTED]["count"]
        for name in (*CHANGES, *ODDITIES)
    )
    for name in ("in air of bright noise", "slices shuffled"):
        assert row_by_change_and_count[name, NOTHING_DOUBTED]["count"] == 0
    assert (
        row_by_change_and_count["slices shuffled", SLICES_NAMED_RIGHTLY]["of"]
        == 0
        < row_by_change_and_count["a part of it", SLICES_NAMED_RIGHTLY]["of"]
    )
    assert (
        row_by_change_and_count["as it is", SLICES_NAMED_RIGHTLY]["of"]
        > row_by_change_and_count["a part of it", SLICES_NAMED_RIGHTLY]["of"]
    )
    assert row_by_change_and_count["air", BORDERS_FOUND]["of"] == 0
    for what in (NOTHING_DOUBTED, NOTHING_DOUBTED_AND_WRONG):  # each thing is a subject of its own
        assert row_by_change_and_count[NEVER_TRAINED, what]["of"] == len(HELD_OUT)
        assert row_by_change_and_count[NEVER_TRAINED, what]["count"] == sum(
            row_by_change_and_count[kind, what]["count"] for kind in HELD_OUT
        )
    assert rows == measure_robustness(ensemble, simulate_people(1, 1), seed=3, bodiless_count=1)


def stack_of(low_mm: float, high_mm: float, spacing_mm: float = 5.0) -> SliceStack:
    """Slices of a body that reaches from one height to another."""
    affine = np.diag([3.0, 3.0, spacing_mm, 1.0])
    affine[2, 3] = low_mm + spacing_mm / 2
    voxels = (
        np.random.default_rng(0)
        .uniform(1, 2, (64, 64, round((high_mm - low_mm) / spacing_mm)))
        .astype(np.float32)
    )
    return cut_slices(Volume(voxels, affine, "made"), target_spacing_mm=spacing_mm)


SHOWS = (
    RegionRow("", "abdomen", 0.0, 200.0, in_mm=True),
    RegionRow("", "chest", 200.0, 450.0, in_mm=True),
)


@pytest.mark.parametrize(
    ("named", "low", "high", "right"),
    [
        ({"abdomen", "chest"}, 100.0, 300.0, True),
        ({"abdomen"}, 100.0, 300.0, False),
        ({"abdomen"}, 100.0, 205.0, True),  # of the chest 5 mm are shown: either answer is right
        ({"abdomen", "chest"}, 100.0, 205.0, True),
        ({"abdomen", "chest"}, 100.0, 200.0, False),  # nothing of the chest
        (set(), 500.0, 600.0, True),
        (set(), 100.0, 300.0, False),
    ],
)
def test_an_answer_is_right_if_it_names_what_is_in_the_picture(
    named: set[str], low: float, high: float, right: bool
) -> None:
    assert names_right_regions(named, SHOWS, stack_of(low, high)) is right
    assert not names_right_regions(named, None, stack_of(low, high))


def test_borders_are_sought_where_both_regions_are_seen() -> None:
    assert list(borders_in_picture(SHOWS, stack_of(100, 300), DEFAULT)) == [
        ("abdomen", "chest", 200.0)
    ]
    assert not list(borders_in_picture(SHOWS, stack_of(100, 225), DEFAULT))
    apart = (SHOWS[0], replace(SHOWS[1], range_start=230.0))
    assert not list(borders_in_picture(apart, stack_of(100, 300), DEFAULT))


def test_tables_that_name_parts_are_those_of_their_region() -> None:
    parts = (
        RegionRow("", "abdomen", 0.0, 100.0, in_mm=True),
        RegionRow("", "abdomen", 100.0, 200.0, in_mm=True),
        SHOWS[1],
    )
    assert list(borders_in_picture(parts, stack_of(50, 300), DEFAULT)) == [
        ("abdomen", "chest", 200.0)
    ]
    # 8 mm below and 8 above the border of the parts are well shown together
    assert not names_right_regions(set(), parts, stack_of(92, 108, spacing_mm=1.0))


def test_a_collection_shows_what_its_tables_say(tmp_path: Path) -> None:
    simulate_collection(tmp_path, subjects=3, volumes_per_subject=1, seed=2)
    volumes = read_scans(tmp_path, DEFAULT)
    assert len(volumes) == 3
    for read in volumes:
        scan = read()
        stack = cut_slices(scan.volume, target_spacing_mm=8.0)
        assert scan.regions is not None
        shown = find_classes_at_heights(
            stack.z_mm, stack.middle_slices, len(stack.z_mm), scan.regions, DEFAULT
        )
        assert {row.region for row in scan.regions} <= set(DEFAULT.classes)
        assert shown.any(axis=1).all() and shown[:, :-1].any()


def test_a_volume_that_cannot_be_read_is_left_out_and_told(
    ensemble: Ensemble, tmp_path: Path
) -> None:
    simulate_collection(tmp_path, subjects=2, volumes_per_subject=1, seed=2, without=["everything"])
    broken, _ = sorted((tmp_path / "volumes").glob("*.nii.gz"))
    broken.write_bytes(b"no volume")
    told: list[str] = []
    rows = measure_robustness(ensemble, read_scans(tmp_path, DEFAULT), seed=1, log=told.append)
    assert len(told) == 1 and str(broken) in told[0] and "[volume-" in told[0]
    assert {row["of"] for row in rows if row["what"] == NOTHING_DOUBTED} == {1}


def test_a_collection_without_labels_is_refused(tmp_path: Path) -> None:
    simulate_collection(tmp_path, subjects=1, volumes_per_subject=1, seed=2, without=["everything"])
    (tmp_path / "regions.tsv").write_text(
        "volume_id\tregion\tfirst_slice\tlast_slice\n", encoding="utf-8"
    )
    with pytest.raises(CollectionError, match=r"regions\.tsv") as fault:
        read_scans(tmp_path, DEFAULT)
    assert fault.value.code == "bench-unlabelled"
