"""Turned volumes are noticed: with an orientation learned from bodies of blocks, and with that of the package from a simulated head."""

from __future__ import annotations

import json
from collections import Counter
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
from fovnet.bench.axes import ALL, AS_TOLD, ASIDE, COLUMNS, OVER, turned
from fovnet.cli import app
from fovnet.decision import orientation
from fovnet.decision.ensemble import load
from fovnet.decision.scoring import FEWEST, JUDGES, oriented
from fovnet.errors import ModelError
from fovnet.maths.turns import TURNS, shown_by
from fovnet.phantom.body import landmarks
from fovnet.phantom.collection import acquire
from fovnet.phantom.families import FAMILIES
from fovnet.phantom.person import sample_person
from fovnet.phantom.protocols import SITES, plan
from fovnet.records import read_tsv, write_tsv
from fovnet.volume.outlines import outlines
from fovnet.volume.pack import Pack, slice_collections
from fovnet.volume.slices import Slicing
from tests.net.test_orientation import body, shown

SHARES = 0.34, 0.6, 0.06
WAYS = [AS_TOLD, OVER, ASIDE]


def pack_of(folder: Path, count: int, plain: int = 0, shares: tuple[float, float, float] = SHARES) -> Pack:
    """So many bodies of blocks, each its own person's, labelled chest; the headers of the last `plain` say nothing of their axes."""
    volumes, regions = [], []
    for seed in range(count):
        affine = np.diag([4.0, 4.0, 4.0, 1.0])
        affine[:3, 3] = -118.0, -118.0, -118.0 + 40 * (seed < count - plain)
        path = folder / "tables" / "volumes" / f"b{seed}.nii"
        path.parent.mkdir(parents=True, exist_ok=True)
        noise = np.random.default_rng(seed).normal(0, 10, (60, 60, 60)).astype(np.float32)         # without, it looks like a label map
        nib.save(nib.Nifti1Image(np.abs(body(seed) + noise), affine), path)
        volumes.append({"volume_id": f"b{seed}", "subject_id": f"p{seed}", "path": f"volumes/b{seed}.nii"})
        regions.append({"volume_id": f"b{seed}", "region": "chest", "first_slice": 5, "last_slice": 54})
    write_tsv(folder / "tables" / "volumes.tsv", list(volumes[0]), volumes)
    write_tsv(folder / "tables" / "regions.tsv", list(regions[0]), regions)
    return slice_collections({"blocks": folder / "tables"}, folder / "slices", slicing=Slicing(), seed=1, fractions=shares)


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
def test_what_a_training_split_teaches_finds_the_turned_of_the_test_split(finished: Path, tmp_path: Path) -> None:
    model = tmp_path / "ensemble"
    copytree(finished / "ensemble", model)
    pack = pack_of(tmp_path, 170)
    assert oriented(model, pack, seed=1) == model / orientation.FILE
    facts = json.loads((model / "decision.json").read_text())
    facts["rule"]["least_upright"] = 0.2
    (model / "decision.json").write_text(json.dumps(facts))
    words = ["bench", "axes", str(tmp_path / "slices"), "--model", str(model), "--out", str(tmp_path / "axes.tsv")]
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
@pytest.mark.parametrize(("shares", "plain", "lacking"), [
    ((0.25, 0.69, 0.06), 0, {"train"}), ((0.45, 0.5, 0.05), 0, {"validation"}), (SHARES, 80, {"train", "validation"}),
])  # fmt: skip
def test_few_volumes_or_headers_that_say_nothing_teach_nothing(
    shares: tuple[float, float, float], plain: int, lacking: set[str], finished: Path, tmp_path: Path
) -> None:
    """Where fewer than 50 to learn from are left of the training split, or fewer than 99 to judge by of the validation split."""
    model = tmp_path / "ensemble"
    copytree(finished / "ensemble", model)
    (model / orientation.FILE).write_bytes(b"of an earlier run")
    pack = pack_of(tmp_path, 170, plain, shares)
    told = Counter(record.split for record in pack.records if int(record.volume_id[1:]) < 170 - plain)
    assert {split for split, least in (("train", FEWEST), ("validation", JUDGES)) if told[split] < least} == lacking, told
    assert oriented(model, pack, seed=1) is None
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
