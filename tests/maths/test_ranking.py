"""Areas under the ROC curve are scikit-learn's, resampled ones those of the sample written out."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis.strategies import integers
from sklearn.metrics import roc_auc_score

from fovnet.maths import ranking
from fovnet.maths.ranking import count_pairs, roc_area


def drawn(seed, size=60, clusters=6, levels=12):
    """Scores with ties, whether positive, and whose."""
    rng = np.random.default_rng(seed)
    positive = rng.random(size) < 0.4
    positive[:2] = True, False
    return (
        rng.integers(0, levels, size) / levels + 0.0 * positive,
        positive,
        rng.integers(0, clusters, size),
    )


@given(seed=integers(0, 999), levels=integers(2, 500))
def test_the_area_is_scikit_learns_ties_and_all(seed, levels):
    scores, positive, cluster = drawn(seed, levels=levels)
    theirs = roc_auc_score(positive, scores)
    assert roc_area(scores, positive) == pytest.approx(theirs)
    assert count_pairs(scores, positive, cluster, 6).area(np.ones((1, 6)))[0] == pytest.approx(
        theirs
    )


@given(seed=integers(0, 999))
@settings(max_examples=25)
def test_a_resample_has_the_area_of_the_slices_written_out(seed):
    scores, positive, cluster = drawn(seed)
    weights = np.random.default_rng(seed).integers(0, 3, (4, 6)).astype(float)
    for row, area in zip(
        weights, count_pairs(scores, positive, cluster, 6).area(weights), strict=True
    ):
        often = row[cluster].astype(int)
        written, labels = np.repeat(scores, often), np.repeat(positive, often)
        if labels.any() and not labels.all():
            assert area == pytest.approx(roc_auc_score(labels, written))
        else:
            assert np.isnan(area)


def test_the_error_is_that_of_leaving_clusters_out():
    """The linearised error against the jackknife over clusters, which it tends to."""
    rng = np.random.default_rng(0)
    cluster = np.repeat(np.arange(40), 30)
    positive = rng.random(1200) < 0.3
    scores = positive + rng.normal(0, 0.5, 40)[cluster] + rng.normal(0, 1, 1200)
    pairs = count_pairs(scores, positive, cluster, 40)
    without = pairs.area(1.0 - np.eye(40))
    jackknife = np.sqrt(39 / 40 * ((without - without.mean()) ** 2).sum())
    assert pairs.area_and_error(np.ones((1, 40)))[1][0, 0] == pytest.approx(jackknife, rel=0.05)


@pytest.mark.parametrize("levels", [10**9, 1000])
def test_more_scores_than_levels_move_the_area_by_less_than_a_thousandth(monkeypatch, levels):
    """Whether or not some of them are ties."""
    scores, positive, cluster = drawn(1, size=4000, levels=levels)
    exact = roc_area(scores + 0.1 * positive, positive)
    monkeypatch.setattr(ranking, "MOST_SCORE_LEVELS", 256)
    assert count_pairs(scores + 0.1 * positive, positive, cluster, 6).area(np.ones((1, 6)))[
        0
    ] == pytest.approx(exact, abs=1e-3)


def test_without_a_positive_or_a_negative_there_is_no_area():
    assert np.isnan(roc_area(np.arange(3.0), np.ones(3, dtype=bool)))
    assert np.isnan(
        count_pairs(np.arange(3.0), np.zeros(3, dtype=bool), np.zeros(3, dtype=int), 1).area(
            np.ones((1, 1))
        )
    ).all()
