"""Volumes in other light: what changes of them, and what is reported."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis.strategies import floats, integers
from typer.testing import CliRunner

from fovnet.bench.light import COLUMNS, LIGHTS, Accuracy, darker_to_one_side, in_light, in_lights, to_the_power
from fovnet.cli import app
from fovnet.cli.bench_answers import _with_ends
from fovnet.decision.ensemble import load
from fovnet.evaluate.balanced import balanced, balanced_change
from fovnet.phantom.collection import simulate_collection
from fovnet.records import read_tsv, write_tsv
from fovnet.regions import DEFAULT, Vocabulary
from fovnet.volume.pack import slice_collections
from fovnet.volume.slices import Slicing


def slices(seed: int, s: int = 5) -> np.ndarray:
    """(s, 64, 64) uint8: a disc of noise in black."""
    y, x = np.mgrid[:64, :64] - 31.5
    grey = np.random.default_rng(seed).integers(60, 256, (s, 64, 64))
    return (grey * (x**2 + y**2 < 28**2)).astype(np.uint8)


@given(seed=integers(0, 999))
def test_black_stays_black_and_the_brightest_stay_bright_in_any_light(seed: int) -> None:
    volume = slices(seed)
    for how in LIGHTS.values():
        seen = in_light(volume, how, np.random.default_rng(seed))
        assert seen.dtype == np.uint8 and not seen[volume == 0].any()
        assert np.percentile(seen[volume > 0], 99.5) >= 250


def test_a_coil_on_one_side_is_the_same_on_every_slice_and_falls_as_documented() -> None:
    """Halving what is left with every so many pixels: in logarithms a plane, of slope FALL over half a side."""
    flat = np.ones((3, 64, 64), dtype=np.float32)
    logarithm = np.log(darker_to_one_side(flat, np.random.default_rng(3)).astype(np.float64))
    assert np.ptp(logarithm, axis=0).max() == 0
    down, across = np.gradient(logarithm[0], 2 / 64)
    np.testing.assert_allclose(np.hypot(down, across), 2.0, atol=1e-4)
    assert np.ptp(down) < 1e-4 and np.ptp(across) < 1e-4


@given(gamma=floats(0.3, 3.0), seed=integers(0, 99))
def test_contrast_keeps_the_order_of_the_greys(gamma: float, seed: int) -> None:
    volume = slices(seed, 2)
    seen = in_light(volume, to_the_power(gamma), np.random.default_rng(0)).ravel()
    assert (np.diff(seen[np.argsort(volume, axis=None)].astype(int)) >= 0).all()


def test_a_volume_without_anything_is_left_alone() -> None:
    nothing = np.zeros((4, 32, 32), dtype=np.uint8)
    for how in LIGHTS.values():
        assert not in_light(nothing, how, np.random.default_rng(0)).any()


def test_shares_of_a_single_person_have_no_ends() -> None:
    row = {"accuracy": 0.4, "low": None, "high": None, "change": 0.1, "change_low": None, "change_high": None}
    assert _with_ends(row, "accuracy", "", "") == "40.0% (no interval)"
    assert _with_ends({**row, "change_low": 0.0, "change_high": 0.2}, "change", "change_", "+") == "+10.0% (+0.0% to +20.0%)"
    assert _with_ends({**row, "change": None}, "change", "change_", "+") == ""


@pytest.mark.slow
def test_the_table_has_a_row_a_light_and_the_first_is_the_slices_as_they_are(finished: Path, tmp_path: Path) -> None:
    people = tmp_path / "people"
    simulate_collection(people, subjects=4, volumes_per_subject=1, seed=3, without=["everything"])
    slice_collections({"made": people}, tmp_path / "slices", slicing=Slicing(), seed=1, fractions=(0.25, 0.5, 0.25))
    words = ["bench", "light", str(tmp_path / "slices"), "--model", str(finished / "ensemble"), "--out", str(tmp_path / "light.tsv")]
    done = CliRunner().invoke(app, [*words, "--split", "validation", "--most", "1000"])
    assert done.exit_code == 0, done.output
    rows = read_tsv(tmp_path / "light.tsv")
    assert [row["light"] for row in rows] == list(LIGHTS) and set(rows[0]) == set(COLUMNS)
    assert rows[0]["change"] == "" and all(row["change"] for row in rows[1:])
    for row in rows[1:]:
        assert float(row["change"]) == pytest.approx(float(row["accuracy"]) - float(rows[0]["accuracy"]))
    first = (tmp_path / "light.tsv").read_bytes()
    assert CliRunner().invoke(app, [*words, "--split", "validation", "--most", "1000"]).exit_code == 0
    assert (tmp_path / "light.tsv").read_bytes() == first
    assert "nan" not in first.decode()
    simulate_collection(tmp_path / "others", subjects=4, volumes_per_subject=1, seed=4, without=["everything"])
    for table in ("volumes.tsv", "regions.tsv"):
        named = [{**row, "volume_id": f"other_{row['volume_id']}"} for row in read_tsv(tmp_path / "others" / table)]
        write_tsv(tmp_path / "others" / table, list(named[0]), named)
    both = slice_collections({"made": people, "others": tmp_path / "others"}, tmp_path / "both", slicing=Slicing(), seed=1,
                             fractions=(0.25, 0.5, 0.25))
    scored_people: list[set[str]] = []

    def scored(
        p: np.ndarray, truth: np.ndarray, subject_ids: Sequence[str], vocabulary: Vocabulary = DEFAULT, *, counts: np.ndarray
    ) -> Accuracy:
        scored_people.append(set(subject_ids))
        known.append(vocabulary)
        return balanced(p, truth, subject_ids, vocabulary, counts=counts)

    known: list[Vocabulary] = []
    its = load(finished / "ensemble")
    list(in_lights({"it": its}, both, "validation", scored, balanced_change, most=5, seed=0))
    assert known and all(words is its.vocabulary for words in known), "the ensemble's own regions, not fovnet's"
    people_of_split = {(record.collection, record.subject_id) for record in both.records if record.split == "validation"}
    assert len(people_of_split) == len(scored_people[0]) > len({name for _, name in people_of_split}), "sub-0001 of both is two people"
    refused = CliRunner().invoke(app, [*words, "--split", "tset"])
    assert getattr(refused.exception, "code", "") == "bench-unlabelled"
    slice_collections({"made": people}, tmp_path / "slices", slicing=Slicing(target_spacing_mm=6.0), seed=1)
    refused = CliRunner().invoke(app, words)
    assert getattr(refused.exception, "code", "") == "slices-differ"
