"""The pictures of `another_model.py`, some of them interrupted, and how well these are told from
complete ones.

    n  pictures
"""

from __future__ import annotations

from functools import lru_cache
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from fovnet.maths.intervals import cluster_bootstrap

Floats = NDArray[np.float64]
Mask = NDArray[np.bool_]

PICTURE_SIDE = 8
INTERRUPTED_SHARE = 0.25
BLANKED_ROWS = 3


class Pictures(NamedTuple):
    """Pictures of eight by eight pixels.

    pixels          (n, 64) in [0, 1]
    is_interrupted  (n,)
    """

    pixels: Floats
    is_interrupted: Mask


class F1(NamedTuple):
    """F1 of the complete and the interrupted pictures, the mean of both, and its 95 % interval
    (bootstrap)."""

    complete: float
    interrupted: float
    mean: float
    low: float
    high: float


@lru_cache(maxsize=1)
def load_pictures() -> tuple[Pictures, Pictures, Pictures]:
    """Pictures to train on, to choose by, and to test; always the same."""
    from sklearn.datasets import load_digits

    pixels = load_digits().data / 16.0
    rng = np.random.default_rng(5)
    rows = np.split(rng.permutation(len(pixels)), [len(pixels) // 2, 3 * len(pixels) // 4])
    training, choosing, test = (pixels[part] for part in rows)
    complete = Pictures(training, np.zeros(len(training), dtype=bool))
    return complete, _interrupt_some(choosing, rng), _interrupt_some(test, rng)


def _interrupt_some(pixels: Floats, rng: np.random.Generator) -> Pictures:
    """The pictures (n, 64), some of them with BLANKED_ROWS rows blanked."""
    is_interrupted = rng.random(len(pixels)) < INTERRUPTED_SHARE
    squares = pixels.copy().reshape(-1, PICTURE_SIDE, PICTURE_SIDE)
    for picture_number in np.flatnonzero(is_interrupted):
        first_row = int(rng.integers(PICTURE_SIDE - BLANKED_ROWS + 1))
        squares[picture_number, first_row : first_row + BLANKED_ROWS] = 0.0
    return Pictures(squares.reshape(-1, PICTURE_SIDE**2), is_interrupted)


def count_verdicts(interrupted: Mask, verdicts: Mask) -> Floats:
    """(n, 4) of each picture: rightly told interrupted, wrongly told so, wrongly told complete,
    rightly told so."""
    return np.column_stack(
        [
            interrupted & verdicts,
            ~interrupted & verdicts,
            interrupted & ~verdicts,
            ~interrupted & ~verdicts,
        ]
    ).astype(np.float64)


def f1_of(counts: Floats) -> Floats:
    """(..., 3) F1 of the complete and of the interrupted pictures, and their mean, from sums (...,
    4) of `count_verdicts`; 0 where none is told rightly."""
    true_alarms, false_alarms, missed, true_calm = np.moveaxis(counts, -1, 0)

    def f1(right_count: Floats) -> Floats:
        wrong_count = false_alarms + missed
        return np.asarray(2 * right_count / np.maximum(2 * right_count + wrong_count, 1.0))

    complete = f1(true_calm)
    interrupted = f1(true_alarms)
    return np.stack([complete, interrupted, (complete + interrupted) / 2], axis=-1)


def mean_f1(pictures: Pictures, verdicts: Mask) -> float:
    """The mean F1 of both classes of pictures, by verdicts (n,)."""
    return float(f1_of(count_verdicts(pictures.is_interrupted, verdicts).sum(axis=0))[-1])


def measure_f1(pictures: Pictures, verdicts: Mask) -> F1:
    """F1 by verdicts (n,), with the interval."""
    cells = count_verdicts(pictures.is_interrupted, verdicts)
    complete, interrupted, mean = f1_of(cells.sum(axis=0)).tolist()
    low, high = cluster_bootstrap(cells, lambda sums: f1_of(sums)[..., -1])
    return F1(complete, interrupted, mean, float(low), float(high))
