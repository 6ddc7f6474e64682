"""Whether the networks mean what they say: two calibrations, both fitted on the validation split.

    temperature  of the ensemble's mean, one number: Guo et al. (2017), *On calibration of modern neural networks*, eq. 9
    beta         (a, b, c) of the decided labels' confidences: logit p' = a log p - b log(1 - p) + c, three numbers and no bins, and the
                 order of two confidences stays: Kull, Silva Filho & Flach (2017), *Beta calibration*, AISTATS, eq. 6
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray
from scipy.optimize import minimize, minimize_scalar
from scipy.special import expit

from fovnet.maths.smoothing import temper

Floats = NDArray[np.float64]
Beta = tuple[float, float, float]
AS_SAID: Beta = (1.0, 1.0, 0.0)
EDGE = 1e-4             # confidences nearer to 0 or 1 count as this: their logarithms must not outweigh all others
LEAST_WRONG = 10        # slices decided wrongly; fewer tell nothing of how often a confidence fails


def best_temperature(probabilities: Sequence[Floats], truth: Sequence[NDArray[np.bool_]]) -> float:
    """The temperature, between 0.2 and 5, at which the true classes of all slices together are likeliest; (s, k) a volume."""
    p, shown = np.concatenate(probabilities), np.concatenate(truth)
    share = shown / shown.sum(axis=1, keepdims=True)

    def surprise(log_temperature: float) -> float:
        return float(-(share * np.log(np.maximum(temper(p, np.exp(log_temperature)), 1e-12))).sum(axis=1).mean())

    return float(np.exp(minimize_scalar(surprise, bounds=(np.log(0.2), np.log(5.0)), method="bounded").x))


def best_beta(confidence: Floats, right: NDArray[np.bool_]) -> Beta:
    """The calibration (a, b >= 0, c) at which "right" (n,) is likeliest, or AS_SAID where too few slices were right or wrong to tell."""
    if min(int(right.sum()), int((~right).sum())) < LEAST_WRONG:
        return AS_SAID
    x = _sides(confidence)
    sign = np.where(right, 1.0, -1.0)

    def surprise(beta: Floats) -> tuple[float, Floats]:
        margin = sign * (x @ beta)
        slope = -(sign * expit(-margin)) @ x / len(x)
        return float(np.logaddexp(0.0, -margin).mean()), slope

    found = minimize(surprise, np.array(AS_SAID), jac=True, method="L-BFGS-B", bounds=[(0.0, None), (0.0, None), (None, None)])
    a, b, c = map(float, found.x)
    return a, b, c


def recalibrated(confidence: Floats, beta: Beta) -> Floats:
    """Confidences (...,) after the calibration; exactly as they were for AS_SAID."""
    if tuple(beta) == AS_SAID:
        return confidence
    return np.asarray(expit(_sides(confidence) @ np.asarray(beta)))


def _sides(confidence: Floats) -> Floats:
    """(..., 3): log p, -log(1 - p), 1."""
    p = np.clip(confidence, EDGE, 1.0 - EDGE)
    return np.stack([np.log(p), -np.log1p(-p), np.ones_like(p)], axis=-1)
