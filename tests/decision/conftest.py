"""A body in probabilities: the probabilities of a good but noisy network on a volume whose borders are
known."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pytest

from fovnet.decision.fitting.objective import TuningExample
from fovnet.regions import DEFAULT

CLASSES = DEFAULT.classes
N = len(DEFAULT.chain)


def body(
    seed: int,
    *,
    spacing_mm: float = 5.0,
    noise: float = 1.0,
    spine: bool = False,
    empty_mm: float = 60.0,
) -> TuningExample:
    """Noisy probabilities of a volume from below the feet to above the head, 150 mm a region; with `spine`,
    spine at all of it."""
    rng = np.random.default_rng(seed)
    z_mm = np.arange(-empty_mm, N * 150 + empty_mm, spacing_mm) + 100.0
    rung = np.floor((z_mm - 100.0) / 150).astype(int)
    truth = np.zeros((len(z_mm), len(CLASSES)), dtype=bool)
    inside = (rung >= 0) & (rung < N)
    truth[np.flatnonzero(inside), rung[inside]] = True
    if spine:
        truth[inside, CLASSES.index("spine")] = True
    truth[~inside, -1] = True
    score = 4.0 * truth / truth.sum(axis=1, keepdims=True) * (1.5 if spine else 1.0) + rng.normal(
        scale=noise, size=truth.shape
    )
    p = np.exp(score)
    return TuningExample(p / p.sum(axis=1, keepdims=True), z_mm, truth)


@pytest.fixture(scope="session")
def bodies() -> Callable[..., TuningExample]:
    return body
