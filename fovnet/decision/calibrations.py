"""Three calibrations of stated probabilities, all fitted on the validation split.

    temperature  of the ensemble's mean, one number: Guo et al. (2017), *On calibration of modern
                 neural networks*, eq. 9
    line         (a, c, b) of the probability of the predicted set of regions, logit p' = a logit p
                 + c + b logit m: m is the confidence of the least confident span, which is usually
                 the wrong one
    beta         (a, b, c, d, e) of the decided labels' confidences, logit p' = a log p - b log(1 -
                 p) + c + d log q - e log(1 - q): five parameters, no bins, monotone in p and q.
                 With p alone it is eq. 6 of Kull, Silva Filho & Flach (2017), *Beta calibration*,
                 AISTATS

p is a slice's probability given the whole body, and q the one from that slice alone.  The body
model treats slices as independent observations, and is most confident where all members make the
same error along the body: of 480 volumes of simulated people, the 60 % most confident had 2.9 % of
their slices wrong ranked by p alone, and 1.5 % by both, fitted on 480 others.  On 448 sets of
regions, fitted on other subjects, the line with m has a log loss of 0.41, without m of 0.46.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray
from scipy.special import expit, logit

from fovnet.maths.smoothing import temper

Floats = NDArray[np.float64]
Beta = tuple[float, ...]
Line = tuple[float, ...]
IDENTITY_LINE: Line = (1.0, 0.0, 0.0)
IDENTITY_BETA: Beta = (1.0, 1.0, 0.0, 0.0, 0.0)
# confidences are clipped to [LEAST_PROBABILITY, 1 - LEAST_PROBABILITY], so that single logarithms
# do not outweigh all others
LEAST_PROBABILITY = 1e-4
BETA_INTERCEPT_INDEX = 2  # index of c in beta
LEAST_CASES_OF_EITHER = 10  # cases that must be right, and wrong, for a calibration to be fitted


def label_shares(truth: NDArray[np.bool_]) -> Floats:
    """(s, k) the target of each slice in training: 1 for its label, half for each of two."""
    return np.asarray(truth / truth.sum(axis=1, keepdims=True))


def fit_temperature(probabilities: Sequence[Floats], truth: Sequence[NDArray[np.bool_]]) -> float:
    """The maximum-likelihood temperature, between 0.2 and 5, for the true classes of all slices;
    probabilities (s, k) of each volume."""
    from scipy.optimize import minimize_scalar  # 0.4 s, for fitting alone

    slice_probabilities = np.concatenate(probabilities)
    shares = label_shares(np.concatenate(truth))

    def negative_log_likelihood(log_temperature: float) -> float:
        log_probabilities = np.log(
            np.maximum(temper(slice_probabilities, np.exp(log_temperature)), 1e-12)
        )
        return float(-(shares * log_probabilities).sum(axis=1).mean())

    optimum = minimize_scalar(
        negative_log_likelihood, bounds=(np.log(0.2), np.log(5.0)), method="bounded"
    )
    return float(np.exp(optimum.x))


def fit_line(probability: Floats, slice_confidence: Floats, is_right: NDArray[np.bool_]) -> Line:
    """The maximum-likelihood line (a >= 0, c, b >= 0) for `is_right` (n,), on the logits of a
    probability and of the confidence of its slices, (n,) each; IDENTITY_LINE if too few are right
    or wrong.

    Platt (1999), *Probabilistic outputs for support vector machines*, eq. 1, with the logits of two
    probabilities.
    """
    logit_columns = np.column_stack(
        [_logit(probability), np.ones_like(probability), _logit(slice_confidence)]
    )
    return _fit_logistic(logit_columns, is_right, IDENTITY_LINE, intercept_index=1)


def calibrate_by_line(probability: float, slice_confidence: float, line: Line) -> float:
    """The probability as a line calibrates it, given the confidence of its slices; unchanged for
    IDENTITY_LINE."""
    if tuple(line) == IDENTITY_LINE:
        return probability
    probability_logit, confidence_logit = _logit(np.array([probability, slice_confidence]))
    return float(expit(np.dot(line, (probability_logit, 1.0, confidence_logit))))


def _logit(chance: Floats) -> Floats:
    return np.asarray(logit(np.clip(chance, LEAST_PROBABILITY, 1.0 - LEAST_PROBABILITY)))


def fit_beta(confidence: Floats, share: Floats, is_right: NDArray[np.bool_]) -> Beta:
    """The maximum-likelihood calibration (a, b, d, e >= 0) for `is_right` (n,); IDENTITY_BETA if
    too few slices are right or wrong."""
    return _fit_logistic(
        _log_terms(confidence, share), is_right, IDENTITY_BETA, BETA_INTERCEPT_INDEX
    )


def _fit_logistic(
    features: Floats,
    is_right: NDArray[np.bool_],
    initial_weights: tuple[float, ...],
    intercept_index: int,
) -> tuple[float, ...]:
    """The maximum-likelihood weights (m,) of the logistic model of `is_right` (n,) on `features`
    (n, m), all but the intercept's 0 or more; `initial_weights` if too few are right or wrong."""
    if min(int(is_right.sum()), int((~is_right).sum())) < LEAST_CASES_OF_EITHER:
        return initial_weights
    from scipy.optimize import minimize  # 0.4 s, for fitting alone

    outcome_sign = np.where(is_right, 1.0, -1.0)

    def negative_log_likelihood(weights: Floats) -> tuple[float, Floats]:
        signed_margin = outcome_sign * (features @ weights)
        gradient = -(outcome_sign * expit(-signed_margin)) @ features / len(features)
        return float(np.logaddexp(0.0, -signed_margin).mean()), gradient

    bounds: list[tuple[float | None, None]] = [(0.0, None)] * len(initial_weights)
    bounds[intercept_index] = (None, None)
    optimum = minimize(
        negative_log_likelihood,
        np.array(initial_weights),
        jac=True,
        method="L-BFGS-B",
        bounds=bounds,
    )
    return tuple(map(float, optimum.x))


def calibrate_by_beta(confidence: Floats, share: Floats, beta: Beta) -> Floats:
    """Confidences (...,) after the calibration, q being `share` (...,); unchanged for
    IDENTITY_BETA."""
    if tuple(beta) == IDENTITY_BETA:
        return confidence
    return np.asarray(expit(_log_terms(confidence, share) @ np.asarray(beta)))


def _log_terms(confidence: Floats, share: Floats) -> Floats:
    """(..., 5) the terms that a beta weighs: log p, -log(1 - p), 1, log q, -log(1 - q), with the
    confidence p and the share q clipped."""
    clipped_confidence = np.clip(confidence, LEAST_PROBABILITY, 1.0 - LEAST_PROBABILITY)
    clipped_share = np.clip(share, LEAST_PROBABILITY, 1.0 - LEAST_PROBABILITY)
    return np.stack(
        [
            np.log(clipped_confidence),
            -np.log1p(-clipped_confidence),
            np.ones_like(clipped_confidence),
            np.log(clipped_share),
            -np.log1p(-clipped_share),
        ],
        axis=-1,
    )
