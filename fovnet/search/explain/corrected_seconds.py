"""Predicted training times corrected by the measured times of finished trials.

    M  rows
    p  features
    n  finished trials
    r  (n,) log of measured over predicted seconds, of what a slot trained

A log-linear correction, r = w0 + φ·w + noise, with normal priors: w0, the factor of the device
against its description, has a wide one (sd 1, a factor of e); w, the differences between networks,
a narrow one (sd 0.2 from one end of an axis to the other); the noise is 0.1. Large residuals have
less weight, so that a trial on a busy machine has little influence. Source: Bishop, Pattern
Recognition and Machine Learning (2006), eqs 3.50-3.51; weights after Huber.

Refined predictions are used for display (time left, forecasts in a report) and by `fovnet calibrate
--from` for the next search. They never reach the virtual clock of the running search: its
predictions are fixed when the search begins, so that its path does not depend on measured times,
and can be replayed from its journal.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from fovnet.search.trial import Trial

Floats = NDArray[np.float64]
DEVICE_DEVIATION = 1.0  # prior standard deviation of w0
WEIGHT_DEVIATION = 0.2  # prior standard deviation of each of the weights w
NOISE_DEVIATION = 0.1  # standard deviation of the noise
REWEIGHTING_ROUNDS = 5


def seconds_of(trial: Trial) -> float | None:
    """The seconds of a completed training, which may have ended on a plateau after fewer epochs
    than predicted; None for others."""
    if trial.outcome.status == "completed" and trial.outcome.seconds > 0:
        return trial.outcome.seconds
    return None


def pace_of(trial: Trial) -> float | None:
    """Measured over predicted seconds of a completed training, those of its slot's own epochs; None
    for others."""
    seconds = seconds_of(trial)
    if seconds is None:
        return None
    return seconds / trial.proposal.predicted_seconds


def correct_predictions(predictions: Floats, features: Floats, trials: Sequence[Trial]) -> Floats:
    """Predictions (M,) corrected by the trials; unchanged if no trial has a measured value.

    features  (M, p), each between 0 and 1: the unit cube of a space
    """
    paces = []
    timed_rows = []
    for trial in trials:
        pace = pace_of(trial)
        if pace is not None:
            paces.append(pace)
            timed_rows.append(trial.proposal.row)
    if not paces:
        return predictions
    phi = np.hstack([np.ones((len(features), 1)), features - 0.5])
    return np.asarray(
        predictions * np.exp(phi @ _posterior_weights(phi[timed_rows], np.log(paces)))
    )


def _posterior_weights(phi: Floats, r: Floats) -> Floats:
    """(1 + p,) posterior mean of the weights w of features phi (n, 1 + p), given the log ratios r
    (n,).  Bishop, eq. 3.50, with a precision for each residual."""
    prior_precision = np.diag(
        [1 / DEVICE_DEVIATION**2] + [1 / WEIGHT_DEVIATION**2] * (phi.shape[1] - 1)
    )
    precision = np.full(len(r), 1 / NOISE_DEVIATION**2)
    for _ in range(REWEIGHTING_ROUNDS):
        w = np.linalg.solve(prior_precision + (phi.T * precision) @ phi, phi.T @ (precision * r))
        excess = np.maximum(np.abs(r - phi @ w) / NOISE_DEVIATION, 1.0)
        precision = 1 / NOISE_DEVIATION**2 / excess
    return np.asarray(w)
