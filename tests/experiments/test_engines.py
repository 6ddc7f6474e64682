"""The bench of engines compares each with torch, in speed and in what is decided."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
import torch

from engines import COLUMNS, app, engine_times
from fovnet.decision.assembly import write_ensemble
from fovnet.decision.folder import save_rule
from fovnet.decision.rule import Rule
from fovnet.errors import CollectionError, ConfigError
from fovnet.net.family.architecture import Architecture
from fovnet.net.family.model import build_network
from fovnet.net.family.weights import save_network
from fovnet.net.inference.engines import list_installed_engines
from fovnet.regions import DEFAULT
from fovnet.volume.collection.pack import Pack, VolumeRecord
from fovnet.volume.slices.stack import Slicing, describe_slice_format
from tests.typed_words import output_of

PREPARE = {"target_spacing_mm": 8.0, "max_tilt_deg": 20.0}


@pytest.fixture
def model(tmp_path: Path) -> Path:
    """An ensemble of one tiny network with weights as drawn."""
    net = Architecture(4, 1, 2, 3, False, classes=len(DEFAULT.classes), head="gap")
    facts = {"classes": DEFAULT.classes, "slices": describe_slice_format(Slicing(8.0, 20.0))}
    path = save_network(
        tmp_path / "slot-0001.safetensors",
        build_network(net, torch.Generator().manual_seed(1)),
        net,
        facts,
    )
    member = {"slot": 1, "score": 1.0, "configuration": {}, "weights": str(path)}
    write_ensemble(tmp_path / "ensemble", [member], DEFAULT, PREPARE, settings={}, seed=1)
    save_rule(tmp_path / "ensemble", Rule(sigma_mm=4.5), {}, settings={}, seed=1)
    return tmp_path / "ensemble"


def noise(volumes: int, slices: int) -> Pack:
    """A collection of volumes of noise, 8 mm a slice."""
    affine = tuple(tuple(row) for row in np.diag([8.0, 8.0, 8.0, 1.0]))
    each = [
        (f"v{at}", f"p{at}", "made", f"v{at}.nii", True, "ok", "test", {}, at * slices)
        for at in range(volumes)
    ]
    records = tuple(VolumeRecord(*fields, slices, 400.0, affine, "c") for fields in each)
    at, volume = np.tile(np.arange(slices), volumes), np.repeat(np.arange(volumes), slices)
    pixels = np.random.default_rng(0).integers(0, 256, (len(at), 128, 128)).astype(np.uint8)
    truth = np.eye(len(DEFAULT.classes), dtype=bool)[np.zeros(len(at), dtype=int)]
    return Pack(
        None,
        DEFAULT.classes,
        pixels,
        volume,
        at * 8.0,
        np.stack([at, at], axis=1),
        truth,
        records,
        {},
    )


def test_every_engine_is_measured_and_changes_no_decision(model: Path) -> None:
    steps: list[tuple[int, int]] = []
    rows = engine_times(model, noise(5, 6), [4, 8], 2, 3, lambda done, of: steps.append((done, of)))
    assert [(row["engine"], row["batch"]) for row in rows] == [
        (name, batch) for batch in (4, 8) for name in list_installed_engines()
    ]
    assert steps[-1] == (3, 3), "no more volumes than were asked for"
    for row in rows:
        assert set(row) == set(COLUMNS)
        assert row["probabilities_off"] <= 1e-4 and row["features_off"] <= 1e-4
        assert (row["changed"], row["volumes"]) == (0, 3)
        assert row["ratio"] > 0 and row["load_s"] >= 0
    assert all(
        row["ratio"] == 1 and row["probabilities_off"] == 0
        for row in rows
        if row["engine"] == "torch"
    )


def test_a_collection_of_which_nothing_could_be_read_is_refused(model: Path) -> None:
    with pytest.raises(CollectionError, match="bench-no-slices"):
        engine_times(model, noise(0, 6), [2], 1, 3, lambda *_: None)


def test_without_a_collection_nothing_is_decided(model: Path) -> None:
    assert {row["volumes"] for row in engine_times(model, None, [2], 1, 3, lambda *_: None)} == {
        None
    }


def test_a_number_of_volumes_without_volumes_is_refused(tmp_path: Path) -> None:
    with pytest.raises(ConfigError, match="bench-most"):
        output_of(app, "--most", 5, "--out", tmp_path / "t.tsv")
