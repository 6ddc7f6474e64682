"""Training further: what is drawn, what is kept, and what a second call does not do again."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis.strategies import floats, integers, lists
from scipy.special import log_softmax, softmax

from fovnet.net.jobs.further import MOST_KEPT, kept_targets, mixed_rows, trained_further
from fovnet.net.jobs.workers import Job, TrainingPool
from fovnet.net.paths import weights_of
from fovnet.net.recipe import Ranges, Recipe

SMALL = {"blocks": 4, "convolutions": 1, "log2_filters": 2, "kernel": 3, "separable": False, "log2_batch": 3}


@given(
    sizes=lists(integers(1, 30), min_size=2, max_size=12), own=integers(1, 6), draws=integers(50, 400),
    share=floats(0.1, 0.9), seed=integers(0, 99),
)
def test_volumes_are_drawn_alike_and_the_users_with_their_share(
    sizes: list[int], own: int, draws: int, share: float, seed: int
) -> None:
    volume = np.repeat(np.arange(len(sizes)), sizes)
    own = min(own, len(sizes) - 1)
    users, others = np.flatnonzero(volume < own), np.flatnonzero(volume >= own)
    rows = mixed_rows(volume, users, others, draws, share, seed)
    counts = np.bincount(volume[rows], minlength=len(sizes))
    assert len(rows) == draws and counts[:own].sum() == round(share * draws)
    assert np.ptp(counts[:own]) <= 1 and np.ptp(counts[own:]) <= 1


@given(seed=integers(0, 999))
def test_a_region_without_an_example_is_neither_pushed_nor_pulled(seed: int) -> None:
    """The gradient of the loss in its score, by difference quotients, is none at the scores as they were."""
    rng = np.random.default_rng(seed)
    scores = rng.normal(size=7)
    shown = np.arange(7) < 4
    scores[~shown] -= 6.0                                    # together below MOST_KEPT
    before = softmax(scores)[None].astype(np.float32)
    target = kept_targets(np.eye(7, dtype=np.float32)[[2]], before, shown)[0].astype(float)

    def loss(at: np.ndarray) -> float:
        return float(-(target * log_softmax(at)).sum())

    for column in np.flatnonzero(~shown):
        step = 1e-4 * (np.arange(7) == column)
        assert (loss(scores + step) - loss(scores - step)) / 2e-4 == pytest.approx(0.0, abs=1e-6)


@given(seed=integers(0, 999), examples=integers(0, 6))
def test_targets_stay_probabilities_and_the_label_keeps_most(seed: int, examples: int) -> None:
    rng = np.random.default_rng(seed)
    before = rng.dirichlet(np.ones(7) * 0.3, 5).astype(np.float32)
    labels = np.eye(7, dtype=np.float32)[rng.integers(0, examples + 1, 5)]
    targets = kept_targets(labels, before, np.arange(7) <= examples)
    assert targets.sum(axis=1) == pytest.approx(1.0, abs=1e-5) and (targets >= 0).all()
    assert ((targets * labels).sum(axis=1) >= 1 - MOST_KEPT - 1e-6).all()


@pytest.mark.slow
def test_what_is_trained_is_not_trained_again_unless_it_is_to_be_another(
    tmp_path: Path, draw: Callable[[int, int], tuple[np.ndarray, np.ndarray]]
) -> None:
    pixels, targets = draw(48, 2)
    np.save(tmp_path / "pixels.npy", pixels)
    np.savez(tmp_path / "rows.npz", targets=targets, train=np.arange(32), validation=np.arange(32, 48))
    recipe = Recipe(1, 32, Ranges(10, 0.05, 0.05, 0.1, 0.02))
    job = Job(tmp_path / "pixels.npy", tmp_path / "rows.npz", tmp_path / "networks", "gap", "cpu", recipe)
    two: list[dict[str, Any]] = [{**SMALL, "log10_learning_rate": rate} for rate in (-2, -1)]
    with TrainingPool(None, 1) as pool:
        train = partial(trained_further, pool, seed=1)
        made = train(job, two)
        files = [weights_of(job.weights, slot) for slot in (0, 1)]
        before = [path.stat().st_mtime_ns for path in files]
        assert [one["slot"] for one in made] == [0, 1] and [Path(one["weights"]) for one in made] == files
        files[1].unlink()                                   # as if killed before it was trained
        assert train(job, two) == made
        assert files[0].stat().st_mtime_ns == before[0] and files[1].exists()
        other = train(replace(job, source="other slices"), two)
    assert files[0].stat().st_mtime_ns > before[0] and other[0]["score"] == made[0]["score"]
