"""Noise alone: the same for the same seed, of many kinds, and nothing in it has a shape."""

from __future__ import annotations

import numpy as np

from fovnet.phantom.bodiless.noise import make_noise_volume


def test_noise_is_of_its_seed_and_of_many_grains_and_has_no_structure() -> None:
    grains, correlations, sizes = [], [], set()
    for seed in range(24):
        first = make_noise_volume(np.random.default_rng(seed))
        assert np.isfinite(first.voxels).all() and first.voxels.min() >= 0 < first.voxels.std()
        i, j, k = first.voxels.shape
        middle = first.voxels[i // 4 : -i // 4, j // 4 : -j // 4, k // 2]
        steps = np.abs(np.diff(middle, axis=0)).mean() / middle.std()
        grains.append(float(steps))
        sizes.add(first.voxels.shape)
        # far apart, voxels know nothing of each other, but for a smooth fall of brightness
        flat = middle - np.mean(middle, axis=1, keepdims=True)
        width = flat.shape[1] // 2 - 8
        halves = flat[:, :width], flat[:, -width:]
        correlations.append(abs(float(np.corrcoef(*(half.ravel() for half in halves))[0, 1])))
    again = make_noise_volume(np.random.default_rng(seed))
    np.testing.assert_array_equal(first.voxels, again.voxels)
    assert np.median(correlations) < 0.2
    assert min(grains) < 0.4 and max(grains) > 0.9 and len(sizes) == 24
