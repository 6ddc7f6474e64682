"""What is familiar: the distance is scikit-learn's, the share is a fair p-value, and the file brings it
back."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from sklearn.discriminant_analysis import LinearDiscriminantAnalysis

from fovnet.decision import novelty
from fovnet.decision.novelty import (
    LEAST_CLASS_DISTANCES,
    LEAST_SLICES_PER_DIRECTION,
    MOST_DISTANCES_PER_CLASS,
    PROJECTED_WIDTH,
    NoveltyReference,
    calibrate_reference,
    fit_reference,
    volume_novelty,
)
from fovnet.errors import ModelError

K = 4


def slices(seed: int, n: int, f: int = 12) -> tuple[np.ndarray, np.ndarray]:
    """Features (n, f) of K classes with different means and one covariance, and labels (n, K)."""
    rng = np.random.default_rng(seed)
    label = rng.integers(0, K, n)
    mix = np.random.default_rng(99).normal(size=(f, f)) / np.sqrt(f)
    return np.random.default_rng(98).normal(scale=3, size=(K, f))[label] + rng.normal(
        size=(n, f)
    ) @ mix, np.eye(K, dtype=bool)[label]


def ready(seed: int = 1) -> NoveltyReference:
    features, truth = slices(seed, 2000)
    what = fit_reference(features, truth)
    held, given = slices(seed + 1, 1500)
    return calibrate_reference(what, what.measure_distances(held), given.astype(float))


def test_the_distance_is_the_mahalanobis_distance_to_the_nearest_class_mean(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """Against scikit-learn's pooled covariance, the ridge left out."""
    monkeypatch.setattr(novelty, "RIDGE_SHARE", 1e-12)
    features, truth = slices(1, 2000)
    asked, _ = slices(5, 50)
    lda = LinearDiscriminantAnalysis(store_covariance=True).fit(features, truth.argmax(axis=1))
    precision = np.linalg.inv(lda.covariance_)
    apart = asked[:, None] - lda.means_
    expected = np.sqrt(np.einsum("scf,fg,scg->sc", apart, precision, apart).min(axis=1))
    np.testing.assert_allclose(
        fit_reference(features, truth).measure_distances(asked), expected, rtol=1e-6
    )


def test_the_ridge_is_a_share_of_the_mean_variance_within_classes() -> None:
    """Of features that are white, as scikit-learn shrinks a covariance towards its mean variance, but for the
    scale."""
    features, truth = slices(1, 2000)
    centred = features - features.mean(axis=0)
    white = centred @ np.linalg.inv(np.linalg.cholesky(np.cov(centred.T, bias=True))).T
    share = novelty.RIDGE_SHARE / (1 + novelty.RIDGE_SHARE)
    lda = LinearDiscriminantAnalysis(solver="lsqr", shrinkage=share, store_covariance=True).fit(
        white, truth.argmax(axis=1)
    )
    apart = white[:50, None] - lda.means_
    expected = np.sqrt(
        np.einsum("scf,fg,scg->sc", apart, np.linalg.inv(lda.covariance_), apart).min(axis=1)
        * (1 - share)
    )
    np.testing.assert_allclose(
        fit_reference(white, truth).measure_distances(white[:50]), expected, rtol=1e-6
    )


def test_features_that_follow_from_others_and_classes_without_a_slice_change_no_distance() -> None:
    features, truth = slices(1, 2000)
    more = np.column_stack([features, features @ np.random.default_rng(2).normal(size=(12, 6))])
    known = fit_reference(features, truth).measure_distances(features)
    np.testing.assert_allclose(fit_reference(more, truth).measure_distances(more), known, rtol=1e-6)
    np.testing.assert_allclose(
        fit_reference(features, np.insert(truth, 1, False, axis=1)).measure_distances(features),
        known,
        rtol=1e-9,
    )


def test_no_more_directions_are_kept_than_a_fifth_of_the_slices() -> None:
    """Fewer slices each, and slices never seen would lie far out for the noise of those that were."""
    features, truth = slices(1, 100, f=40)
    assert fit_reference(features, truth).whitening.shape == (40, 100 // LEAST_SLICES_PER_DIRECTION)


def test_a_slice_lies_as_far_out_among_many_as_alone() -> None:
    features, truth = slices(1, 600, f=PROJECTED_WIDTH + 200)
    what = fit_reference(features, truth)
    np.testing.assert_allclose(
        what.measure_distances(features[:3]), what.measure_distances(features)[:3], rtol=1e-9
    )


def test_of_more_validation_slices_than_are_kept_those_kept_are_spread_as_all() -> None:
    nothing = NoveltyReference(
        1,
        np.zeros(1),
        np.ones(1),
        np.eye(1),
        np.zeros((1, 1)),
        np.zeros(0),
        np.zeros(0, dtype=np.int64),
    )
    all_of_them = np.random.default_rng(1).exponential(size=3 * MOST_DISTANCES_PER_CLASS)
    what = calibrate_reference(nothing, all_of_them, np.ones((3 * MOST_DISTANCES_PER_CLASS, 1)))
    assert len(what.validation_distances) == MOST_DISTANCES_PER_CLASS
    shares = np.linspace(0, 1, 21)
    np.testing.assert_allclose(
        np.quantile(what.validation_distances, shares), np.quantile(all_of_them, shares), rtol=0.01
    )


def test_of_slices_like_the_validation_ones_each_share_is_met_as_often_as_it_says() -> None:
    """P(share <= a) = a within four standard errors, for each class by itself."""
    what = ready()
    features, truth = slices(7, 8000)
    shares = what.compute_p_values(what.measure_distances(features), truth.astype(float))
    for column in range(K):
        mine = shares[truth[:, column]]
        for a in (0.01, 0.1, 0.5):
            spread = np.sqrt(a * (1 - a) * (1 / len(mine) + K / 1500))
            assert abs((mine <= a).mean() - a) < 4 * spread + 1 / 300


def test_what_lies_where_nothing_was_seen_is_unusual() -> None:
    what = ready()
    strange = what.compute_p_values(
        what.measure_distances(np.full((3, 12), 40.0)), np.eye(K)[[0, 1, 2]]
    )
    assert (strange < 0.01).all()


def test_many_features_are_mixed_down_and_a_flat_one_is_no_infinity() -> None:
    features, truth = slices(1, 600, f=PROJECTED_WIDTH + 200)
    features[:, 3] = 1.0
    what = fit_reference(features, truth)
    assert what.whitening.shape[0] == PROJECTED_WIDTH
    assert np.isfinite(what.measure_distances(features)).all()
    far = what.measure_distances(
        features + 30 * np.random.default_rng(0).normal(size=features.shape[1])
    )
    assert far.min() > np.quantile(what.measure_distances(features), 0.9)


def test_what_was_saved_is_loaded_and_answers_alike(tmp_path: Path) -> None:
    what = ready()
    novelty.save_novelty(tmp_path, what)
    again = novelty.load_novelty(tmp_path)
    assert again is not None
    asked, truth = slices(3, 40)
    np.testing.assert_allclose(
        again.measure_distances(asked), what.measure_distances(asked), rtol=1e-4
    )
    assert again.feature_count == 12
    shares = [
        one.compute_p_values(one.measure_distances(asked), truth * 1.0) for one in (again, what)
    ]
    np.testing.assert_allclose(*shares, atol=0.01)


def test_an_older_ensemble_has_none_and_a_damaged_file_is_named(tmp_path: Path) -> None:
    assert novelty.load_novelty(tmp_path) is None
    (tmp_path / novelty.NOVELTY_FILE_NAME).write_bytes(b"PK no archive")
    with pytest.raises(ModelError, match=r"novelty\.npz"):
        novelty.load_novelty(tmp_path)


def test_air_around_a_thing_does_not_make_it_familiar() -> None:
    """Three slices of something with shares of 1 %, seven of air, the last class, with 90 %."""
    raw = np.eye(K)[[3, 3, 3, 0, 0, 0, 3, 3, 3, 3]]
    unusual = np.where(raw.argmax(axis=1) == 0, 0.01, 0.9)
    assert volume_novelty(unusual, raw) == pytest.approx(0.01)
    assert volume_novelty(unusual[:3], raw[:3]) == pytest.approx(0.9)


def test_a_slice_that_is_its_own_reference_has_one_share_however_its_distance_is_rounded() -> None:
    """Another engine, another processor or a file in single precision differ in the sixth digit; a tie with
    itself is still a tie."""
    known = np.random.default_rng(3).permutation(np.linspace(5.0, 12.0, 60))
    none = np.zeros(0)
    what = NoveltyReference(
        1,
        none,
        none,
        none,
        none,
        known.astype(np.float32).astype(float),
        np.zeros(60, dtype=np.int64),
    )
    raw = np.ones((60, 1))
    shares = what.compute_p_values(known, raw)
    np.testing.assert_array_equal(np.sort(shares), np.arange(2, 62) / 61)
    for part in (1 - 1e-5, 1 + 1e-5):
        np.testing.assert_array_equal(what.compute_p_values(known * part, raw), shares)


def test_a_slice_is_held_against_validation_slices_of_its_own_class() -> None:
    """A head farther out than all heads is unlike anything seen, however far out legs lie."""
    nothing = NoveltyReference(
        1,
        np.zeros(1),
        np.ones(1),
        np.eye(1),
        np.zeros((2, 1)),
        np.zeros(0),
        np.zeros(0, dtype=np.int64),
    )
    near, far = (
        np.linspace(0, 1, 2 * LEAST_CLASS_DISTANCES),
        np.linspace(0, 10, 2 * LEAST_CLASS_DISTANCES),
    )
    given = np.repeat(np.eye(2), 2 * LEAST_CLASS_DISTANCES, axis=0)
    known = calibrate_reference(nothing, np.concatenate([near, far]), given)
    head, legs = known.compute_p_values(np.array([2.0, 2.0]), np.eye(2))
    assert head == pytest.approx(1 / (2 * LEAST_CLASS_DISTANCES + 1)) and legs == pytest.approx(
        0.8, abs=0.03
    )
    few = calibrate_reference(
        nothing,
        np.concatenate([near[: LEAST_CLASS_DISTANCES - 1], far]),
        np.delete(given, slice(LEAST_CLASS_DISTANCES - 1, 2 * LEAST_CLASS_DISTANCES), axis=0),
    )
    too_few_heads = few.compute_p_values(np.array([2.0]), np.eye(2)[:1])
    # so held against all
    assert too_few_heads == pytest.approx(
        (0.8 * 2 * LEAST_CLASS_DISTANCES + 1) / (3 * LEAST_CLASS_DISTANCES), abs=0.03
    )
