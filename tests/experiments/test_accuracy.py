"""The plain loop beside fast training: it augments by the same law, and differences are of pairs."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
import torch
from scipy import stats
from scipy.ndimage import gaussian_filter

from accuracy import Pair, app, augment, compare
from fovnet.errors import FovnetError
from fovnet.net.images.augment import draw_augmentation
from fovnet.net.recipe import Ranges
from fovnet.net.training.train_step import make_augmented_images as in_training
from fovnet.phantom.collection import simulate_collection
from fovnet.volume.collection.pack import slice_collections
from tests.typed_words import output_of


def test_the_difference_is_that_of_pairs() -> None:
    """Seeds differ by more than the two ways do: the pairs' error is the smaller."""
    (row,) = compare([Pair("net", seed, seed + 0.1 * (seed % 2), float(seed)) for seed in range(4)])
    assert row.difference[0] == pytest.approx(0.05)
    assert row.difference[1] == pytest.approx(0.1 / np.sqrt(12))
    assert row.plain == (1.5, pytest.approx(np.std([0, 1, 2, 3], ddof=1) / 2))


def test_the_plain_loop_augments_by_the_law_of_the_fast_one() -> None:
    """Centre and second moments of 800 scipy draws beside 3000 of ours."""
    picture = np.zeros((48, 48))
    picture[19:27, 14:33] = 1.0
    picture[26:33, 14:21] = 0.6
    picture, ranges, rng = (
        gaussian_filter(picture, 1.5),
        Ranges(25, 0.1, 0.5, 0.15, 0.02),
        np.random.default_rng(1),
    )
    slice_ = torch.from_numpy((255 * picture).round().astype(np.uint8))[None]
    plain = np.stack([augment(slice_[0].numpy() / 255, ranges, rng) for _ in range(800)])
    draws = draw_augmentation(3000, ranges, torch.Generator().manual_seed(2))
    fast = in_training(slice_, torch.zeros(3000, dtype=torch.int64), draws, ranges)[:, 0].numpy()
    for plain_moment, fast_moment in zip(_moments(plain), _moments(fast), strict=True):
        assert stats.ks_2samp(plain_moment, fast_moment).pvalue > 1e-3


def _moments(pictures: np.ndarray) -> list[np.ndarray]:
    y, x = np.mgrid[:48, :48]
    bright = np.where(pictures > 0.25, pictures, 0.0)
    bright /= bright.sum(axis=(1, 2), keepdims=True)
    cx, cy = (bright * x).sum(axis=(1, 2)), (bright * y).sum(axis=(1, 2))
    dx, dy = x - cx[:, None, None], y - cy[:, None, None]
    return [
        cx,
        cy,
        *((bright * product).sum(axis=(1, 2)) for product in (dx * dx, dy * dy, dx * dy)),
    ]


def test_slices_without_labels_are_refused_before_anything_is_trained(tmp_path: Path) -> None:
    simulate_collection(
        tmp_path / "people", subjects=1, volumes_per_subject=1, seed=3, without=["everything"]
    )
    (tmp_path / "people" / "regions.tsv").unlink()
    slice_collections({"made": tmp_path / "people"}, tmp_path / "slices")
    with pytest.raises(FovnetError) as refused:
        output_of(app, tmp_path / "slices", "--out", tmp_path / "made.tsv")
    assert refused.value.code == "search-no-slices"
    assert not (tmp_path / "made.tsv").exists()
