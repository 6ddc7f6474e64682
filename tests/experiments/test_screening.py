"""The screening of the simulator's features: what is a factor, what its row holds, and trainings that are not
done twice."""

from __future__ import annotations

from pathlib import Path
from types import SimpleNamespace

import numpy as np
import pytest

import screening_design
from fovnet.errors import CollectionError, ConfigError
from fovnet.phantom.collection import simulate_collection
from fovnet.phantom.features import SCANNING, all_features
from fovnet.regions import DEFAULT
from screening import COLUMNS, _effects, app, factors_of, screen
from screening_design import folded_design
from simulated_training import Study
from tests.typed_words import output_of


def test_factors_are_each_feature_alone_or_what_is_asked_for() -> None:
    assert factors_of([], SCANNING) == {name: frozenset({name}) for name in SCANNING}
    assert factors_of(["without masks + artefacts", "without lesions"], SCANNING) == {
        "masks + artefacts": {"masks", "artefacts"},
        "lesions": {"lesions"},
    }


@pytest.mark.parametrize(
    ("arms", "message"),
    [
        (["all"], "bench-arm"),
        (
            ["without masks", "without artefacts + masks"],
            "'without artefacts \\+ masks': leaves out what 'without masks' does",
        ),
        (["masks"], "bench-arm"),
        (["without mask"], "did you mean 'masks'"),
    ],
)
def test_what_has_no_effect_of_its_own_is_refused(arms: list[str], message: str) -> None:
    with pytest.raises(ConfigError, match=message):
        factors_of(arms, all_features())


def test_a_row_holds_what_leaving_out_changes_in_points_of_accuracy() -> None:
    """Made-up networks that are right in 60 % of slices, 20 points more where the second of four features is
    left out."""
    rng, X, k = np.random.default_rng(4), folded_design(4), len(DEFAULT.classes)
    truth = np.tile(np.arange(k), 600)
    subjects = [f"sub-{number // 70}" for number in range(len(truth))]
    right = rng.random((len(X), len(truth))) < 0.6 + 0.1 * X[:, [1]]
    probabilities = np.eye(k)[np.where(right, truth, (truth + 1) % k)]
    judged = SimpleNamespace(
        truth=np.eye(k, dtype=bool)[truth], subjects=subjects, counts=np.ones(len(truth)), refused=2
    )
    rows = _effects(X, probabilities, judged)
    assert {f"simulated_{name}" for name in rows[0]} == {
        name for name in COLUMNS if name.startswith("simulated_")
    }
    assert [
        row["low"] < true < row["high"] for row, true in zip(rows, (0, 0.2, 0, 0), strict=True)
    ] == [True] * 4
    assert rows[1]["effect"] == pytest.approx(right[X[:, 1] > 0].mean() - right[X[:, 1] < 0].mean())
    assert rows[1]["low"] > 0.1 and rows[0]["accuracy"] == pytest.approx(right.mean())
    assert (rows[2]["slices"], rows[2]["refused"]) == (len(truth), 2)
    # what one training of a kind differs by
    alone = np.sqrt(0.6 * 0.4 / len(truth) * 4 / len(X))
    assert (
        alone / 3 < rows[0]["error"] < 3 * alone and alone / 3 < rows[0]["people_error"] < 3 * alone
    )


def test_people_who_differ_in_what_a_feature_does_to_them_widen_its_interval() -> None:
    """Leaving the first feature out helps half of the people, who are the same for all networks, and harms
    the others as much."""
    X, k = folded_design(1), len(DEFAULT.classes)
    truth = np.tile(np.arange(k), 400)
    person = np.arange(len(truth)) // 140
    right = (person % 2 == 0) == (X > 0)
    judged = SimpleNamespace(
        truth=np.eye(k, dtype=bool)[truth],
        subjects=list(map(str, person)),
        counts=np.ones(len(truth)),
        refused=0,
    )
    (row,) = _effects(X, np.eye(k)[np.where(right, truth, (truth + 1) % k)], judged)
    assert row["effect"] == pytest.approx(0) and row["error"] == pytest.approx(0, abs=1e-9)
    # of 20 people's +1 and -1
    assert row["people_error"] == pytest.approx(1 / np.sqrt(20), rel=0.1)
    assert row["high"] == pytest.approx(-row["low"]) and row["high"] > 0.4


@pytest.mark.slow
def test_trainings_are_not_done_twice_and_give_the_same_whatever_the_number_of_processes(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(screening_design, "FREE", 1)  # 4 trainings of one factor, not 16
    factors, steps = factors_of(["without masks"], all_features()), []
    alone, shared = (
        Study(tmp_path / str(workers), 3, 1, 32, 1, workers, "cpu", volumes=1) for workers in (1, 2)
    )
    first = list(screen(alone, factors, None, lambda *done: steps.append(done)))
    assert steps == [(done, 4) for done in range(1, 5)]
    assert set(first[0]) == {name for name in COLUMNS if not name.startswith("labelled_")}
    made = {
        path: path.stat().st_mtime_ns
        for ending in ("safetensors", "nii.gz")
        for path in tmp_path.rglob(f"*.{ending}")
    }
    assert list(screen(alone, factors)) == first
    assert {path: path.stat().st_mtime_ns for path in made} == made
    assert list(screen(shared, factors)) == first
    for run, seed, without in (
        ("run-001", 1, ["masks"]),
        ("run-003", 2, []),
    ):
        volumes = (
            simulate_collection(
                tmp_path / run, subjects=1, volumes_per_subject=1, seed=seed, without=without
            ).parent
            / "volumes"
        )
        for path in volumes.glob("*.nii.gz"):
            assert (
                path.read_bytes()
                == (alone.scratch / run / "phantom" / "volumes" / path.name).read_bytes()
            )


def test_a_collection_that_is_not_there_is_told_before_anybody_is_simulated(tmp_path: Path) -> None:
    with pytest.raises(CollectionError, match="collection-missing"):
        output_of(app, "--collection", tmp_path / "nosuch", "--out", tmp_path / "arms.tsv")
    assert not any(tmp_path.iterdir())
