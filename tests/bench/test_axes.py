"""Turned volumes are noticed: with an orientation learned from bodies of blocks, and with that of the package from a simulated head."""

from __future__ import annotations

import json
from dataclasses import replace
from itertools import permutations
from pathlib import Path
from shutil import copytree

import nibabel as nib
import numpy as np
import pytest
from typer.testing import CliRunner

import fovnet
from fovnet.bench import axes
from fovnet.bench.axes import ALL, AS_STATED, ASIDE, COLUMNS, OVER, turned
from fovnet.cli import app
from fovnet.decision import orientation
from fovnet.decision.ensemble import load
from fovnet.decision.scoring import FEWEST, JUDGES, oriented
from fovnet.errors import ModelError
from fovnet.maths.turns import TURNS, shown_by
from fovnet.phantom.acquisition.families import FAMILIES
from fovnet.phantom.acquisition.protocols import SITES, plan
from fovnet.phantom.anatomy.body import landmarks
from fovnet.phantom.collection import acquire
from fovnet.phantom.person.traits import sample_person
from fovnet.records import read_tsv, write_tsv
from fovnet.volume.outlines import outlines
from fovnet.volume.pack import Pack, slice_collections
from fovnet.volume.slices import Slicing
from tests.net.test_orientation import body, shown

WAYS = [AS_STATED, OVER, ASIDE]


@pytest.fixture(scope="module")
def pack(tmp_path_factory: pytest.TempPathFactory) -> Pack:
    """170 bodies of blocks, each its own person's, labelled chest, under headers that state how they lie."""
    folder, volumes, regions = tmp_path_factory.mktemp("blocks"), [], []
    affine = np.diag([4.0, 4.0, 4.0, 1.0])
    affine[:3, 3] = -118.0, -118.0, -78.0
    for seed in range(170):
        path = folder / "tables" / "volumes" / f"b{seed}.nii"
        path.parent.mkdir(parents=True, exist_ok=True)
        noise = np.random.default_rng(seed).normal(0, 10, (60, 60, 60)).astype(np.float32)         # without, it looks like a label map
        nib.save(nib.Nifti1Image(np.abs(body(seed) + noise), affine), path)
        volumes.append({"volume_id": f"b{seed}", "subject_id": f"p{seed}", "path": f"volumes/b{seed}.nii"})
        regions.append({"volume_id": f"b{seed}", "region": "chest", "first_slice": 5, "last_slice": 54})
    write_tsv(folder / "tables" / "volumes.tsv", list(volumes[0]), volumes)
    write_tsv(folder / "tables" / "regions.tsv", list(regions[0]), regions)
    return slice_collections({"blocks": folder / "tables"}, folder / "slices", slicing=Slicing(), seed=1, fractions=(0.34, 0.6, 0.06))


def parted(pack: Pack, train: int, validation: int) -> Pack:
    """The same, so many of its volumes in the training and in the validation split, the rest in the test split."""
    splits = ["train"] * train + ["validation"] * validation + ["test"] * (len(pack.records) - train - validation)
    return replace(pack, records=tuple(replace(record, split=split) for record, split in zip(pack.records, splits, strict=True)))


@pytest.mark.parametrize("axes", list(permutations(range(3))))
@pytest.mark.parametrize("signs", [(1, 1, 1), (1, -1, 1), (-1, 1, -1)])
def test_outlines_are_turned_as_those_of_a_turned_body_are(axes: tuple[int, ...], signs: tuple[int, ...]) -> None:
    """A grid's axes 0 and 1 grow to the right and to the front, pictures from right to left and from front to back: hence the signs.
    Places along a reversed axis come in the other order, so that their mean is compared; pictures are centred to a pixel."""
    voxels, way = body(3), (-1, -1, 1)
    laid = np.ascontiguousarray(voxels.transpose(axes)[:: signs[0], :: signs[1], :: signs[2]])
    turn = shown_by(tuple((axes[at], signs[at] * way[at] * way[axes[at]]) for at in range(3)))
    whole, there = (outlines(shown(one).reshape(-1, 128, 128)).reshape(3, 3, 2, 8, 8, 8) for one in (voxels, laid))
    made = turned(whole, TURNS.tolist().index(list(turn)))
    others = [turned(whole, at) for at in range(24)]
    far = [np.abs(one.mean(axis=1) - there.mean(axis=1)).mean() for one in (made, *others)]
    assert far[0] == min(far)
    assert far[0] < 0.5 * np.median(far)


@pytest.mark.slow
def test_what_a_training_split_teaches_finds_the_turned_of_the_test_split(pack: Pack, finished: Path, tmp_path: Path) -> None:
    model = tmp_path / "ensemble"
    copytree(finished / "ensemble", model)
    assert oriented(model, pack, seed=1) == model / orientation.FILE
    facts = json.loads((model / "decision.json").read_text())
    facts["rule"]["least_upright"] = 0.2
    (model / "decision.json").write_text(json.dumps(facts))
    words = ["bench", "axes", str(pack.folder), "--model", str(model), "--out", str(tmp_path / "axes.tsv")]
    done = CliRunner().invoke(app, words)
    assert done.exit_code == 0, done.output
    rows = read_tsv(tmp_path / "axes.tsv")
    assert list(rows[0]) == list(COLUMNS)
    assert [(row["shows"], row["axes"], row["of"]) for row in rows] == [(shows, way, "10") for shows in (ALL, "chest") for way in WAYS]
    assert [row["count"] for row in rows] == ["0", "10", "10"] * 2
    first = (tmp_path / "axes.tsv").read_bytes()
    assert CliRunner().invoke(app, words).exit_code == 0 and (tmp_path / "axes.tsv").read_bytes() == first
    refused = CliRunner().invoke(app, [*words, "--split", "tset"])
    assert getattr(refused.exception, "code", "") == "bench-unlabelled"
    other = replace(pack, classes=(*pack.classes[1:], pack.classes[0]))
    with pytest.raises(ModelError, match="weights-other-classes"):
        axes.noticed(load(model, "cpu"), other, "test", seed=1)
    facts["rule"]["least_upright"] = 0.0
    (model / "decision.json").write_text(json.dumps(facts))
    refused = CliRunner().invoke(app, words)
    assert getattr(refused.exception, "code", "") == "orientation-missing", "there is no bar"
    (model / orientation.FILE).unlink()
    refused = CliRunner().invoke(app, words)
    assert getattr(refused.exception, "code", "") == "orientation-missing"


@pytest.mark.slow
@pytest.mark.parametrize(("train", "validation", "lifted_mm"), [
    (FEWEST - 1, JUDGES, 0.0), (FEWEST, JUDGES - 1, 0.0), (FEWEST, JUDGES, -40.0),
])
def test_few_volumes_or_headers_without_orientation_teach_nothing(
    train: int, validation: int, lifted_mm: float, pack: Pack, finished: Path, tmp_path: Path
) -> None:
    """One too few to learn from, one too few to judge by; and all of them with 0 mm in their middle, under headers of voxel sizes alone."""
    model = tmp_path / "ensemble"
    copytree(finished / "ensemble", model)
    (model / orientation.FILE).write_bytes(b"of an earlier run")
    few = replace(parted(pack, train, validation), z_mm=pack.z_mm + lifted_mm)
    assert oriented(model, few, seed=1) is None
    assert not (model / orientation.FILE).exists()


@pytest.mark.slow
@pytest.mark.parametrize(("way", "noticed"), [("as it is", False), ("coronal called axial", True), ("upside down", True)])
def test_the_package_notices_a_head_under_a_wrong_header(way: str, noticed: bool, tmp_path: Path) -> None:
    """A person whom no collection holds; voxels are moved, the header stays."""
    rng, person = np.random.default_rng([77, 1]), sample_person((1_000_003, 77))
    family = next(one for one in FAMILIES if one.name == "head")
    volume, _ = acquire(person, plan(person, landmarks(person), family, SITES[0], rng), rng)
    voxels, affine = volume.voxels, volume.vox_to_ras
    if way == "coronal called axial":
        voxels, affine = voxels.transpose(0, 2, 1), np.diag([*volume.spacing_mm[[0, 2, 1]], 1.0])
    elif way == "upside down":
        voxels = voxels[:, :, ::-1]
    nib.save(nib.Nifti1Image(np.ascontiguousarray(voxels), affine), tmp_path / "head.nii")
    answer = fovnet.load().predict(tmp_path / "head.nii")
    assert ("turned" in answer.code.split()) == noticed
    assert answer.regions == ("head",) or noticed
    assert answer.status == "uncertain" or not noticed
