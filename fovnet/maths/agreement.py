"""Disagreement between several probability forecasts of the same cases.

    forecasts  (p, s, k) probabilities of p forecasters for s cases and k classes
    weights    (p,) of the forecasters, summing to one
    mixture    Σ w_i p_i
    H          Shannon entropy in nats
    divergence = H(mixture) - Σ w_i H(p_i), the generalised Jensen-Shannon divergence: 0 where all
    agree, at most H(weights)

It equals the mutual information between the class and the forecaster: the epistemic part of an
ensemble's uncertainty, which comes from not knowing the right network, without the part that every
network states. Sources: Lin (1991), IEEE Trans Inf Theory 37:145, eq. 5.1; Houlsby et al. (2011),
arXiv:1112.5745, eq. 2; Lakshminarayanan et al. (2017), *Simple and scalable predictive uncertainty
estimation using deep ensembles*, section 2.4.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray
from scipy.special import entr

Floats = NDArray[np.float64]


def divergence(forecasts: NDArray[np.floating], weights: Floats) -> Floats:
    """Jensen-Shannon divergence (s,) in nats; rounding below 0 is cut off."""
    probabilities = np.asarray(forecasts, dtype=np.float64)
    mixture = np.tensordot(weights, probabilities, axes=1)
    return np.asarray(
        np.maximum(entr(mixture).sum(axis=-1) - weights @ entr(probabilities).sum(axis=-1), 0.0)
    )


def measure_agreement(forecasts: NDArray[np.floating], weights: Floats) -> Floats:
    """1 - divergence / its largest value (s,), from 0 (each forecaster certain of another class) to
    1; all 1 for one forecaster.

    The largest value is the smaller of H(weights) and log k: k classes distinguish at most k
    opinions.
    """
    greatest_divergence = min(float(entr(weights).sum()), float(np.log(np.shape(forecasts)[-1])))
    if greatest_divergence < 1e-12:
        return np.ones(np.shape(forecasts)[1])
    return np.asarray(np.clip(1.0 - divergence(forecasts, weights) / greatest_divergence, 0.0, 1.0))
