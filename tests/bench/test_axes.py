"""Turned volumes are noticed: with an orientation learned from bodies of blocks, and with that of the package from a simulated head."""

from __future__ import annotations

import json
from itertools import permutations
from pathlib import Path
from shutil import copytree

import nibabel as nib
import numpy as np
import pytest
from typer.testing import CliRunner

from fovnet.bench.axes import ALL, AS_TOLD, ASIDE, COLUMNS, OVER, turned
from fovnet.cli import app
from fovnet.decision import orientation
from fovnet.decision.scoring import FEWEST, oriented
from fovnet.maths.turns import TURNS, shown_by
from fovnet.records import read_tsv, write_tsv
from fovnet.volume.outlines import outlines
from fovnet.volume.pack import Pack, slice_collections
from fovnet.volume.slices import Slicing
from tests.net.test_orientation import body, shown

WAYS = [AS_TOLD, OVER, ASIDE]


def pack_of(folder: Path, count: int, plain: int = 0) -> Pack:
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
    return slice_collections({"blocks": folder / "tables"}, folder / "slices", slicing=Slicing(), seed=1, fractions=(0.8, 0.1, 0.1))


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
    pack = pack_of(tmp_path, 80)
    assert oriented(model, pack, seed=1) == model / orientation.FILE
    facts = json.loads((model / "decision.json").read_text())
    facts["rule"]["least_upright"] = 0.2
    (model / "decision.json").write_text(json.dumps(facts))
    words = ["bench", "axes", str(tmp_path / "slices"), "--model", str(model), "--out", str(tmp_path / "axes.tsv")]
    done = CliRunner().invoke(app, words)
    assert done.exit_code == 0, done.output
    rows = read_tsv(tmp_path / "axes.tsv")
    assert list(rows[0]) == list(COLUMNS)
    assert [(row["shows"], row["axes"], row["of"]) for row in rows] == [(shows, way, "8") for shows in (ALL, "chest") for way in WAYS]
    assert [row["count"] for row in rows] == ["0", "8", "8"] * 2
    first = (tmp_path / "axes.tsv").read_bytes()
    assert CliRunner().invoke(app, words).exit_code == 0 and (tmp_path / "axes.tsv").read_bytes() == first
    refused = CliRunner().invoke(app, [*words, "--split", "tset"])
    assert getattr(refused.exception, "code", "") == "bench-unlabelled"
    (model / orientation.FILE).unlink()
    refused = CliRunner().invoke(app, words)
    assert getattr(refused.exception, "code", "") == "orientation-missing"


@pytest.mark.slow
def test_few_volumes_or_headers_that_say_nothing_teach_nothing(finished: Path, tmp_path: Path) -> None:
    """Of 64 people 51 are in the training split; half of their headers are of voxel sizes alone."""
    model = tmp_path / "ensemble"
    copytree(finished / "ensemble", model)
    (model / orientation.FILE).write_bytes(b"of an earlier run")
    pack = pack_of(tmp_path, 64, plain=30)
    told = sum(record.split == "train" and int(record.volume_id[1:]) < 34 for record in pack.records)
    assert told < FEWEST < sum(record.split == "train" for record in pack.records)
    assert oriented(model, pack, seed=1) is None
    assert not (model / orientation.FILE).exists()
