"""Networks that tell a normal distribution for each row: mean and variance, learned by likelihood,
and mixed.

    M  networks
    n  rows
    outputs (M, n, 2)  mean, and what becomes the variance
    y       (n,)       observed

Source: Lakshminarayanan et al., *Simple and scalable predictive uncertainty estimation using deep
ensembles* (2017), sections 2.2 and 2.4, without its adversarial examples.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray
from scipy.special import expit

Floats = NDArray[np.float64]

LEAST_VARIANCE = 0.01
"""Of y of unit variance.  Without it the likelihood of a network that passes through every point
has no bound; with 0.001, inputs changed by 1e-15 change means by 0.002 after 300 epochs, with 0.01
by 1e-9."""


def moments(outputs: Floats) -> tuple[Floats, Floats]:
    """Mean and variance (M, n) of each network's distributions."""
    return outputs[..., 0], LEAST_VARIANCE + np.logaddexp(0.0, outputs[..., 1])


def negative_log_likelihood(outputs: Floats, targets: Floats) -> tuple[Floats, Floats]:
    """Loss (M,), the rows' mean of ½ log s² + (y - μ)²/2s², and its gradient (M, n, 2) in the
    outputs."""
    mean, variance = moments(outputs)
    residual = mean - targets
    loss = 0.5 * (np.log(variance) + residual**2 / variance).mean(axis=1)
    scale_gradient = 0.5 * (1.0 - residual**2 / variance) / variance * expit(outputs[..., 1])
    return loss, np.stack([residual / variance, scale_gradient], axis=-1) / len(targets)


def mixture_moments(mean: Floats, variance: Floats, shares: Floats) -> tuple[Floats, Floats]:
    """Mean and variance (n,) of the mixture of normal distributions (M, n) by shares (M,) that sum
    to 1."""
    middle = shares @ mean
    return middle, shares @ (variance + (mean - middle) ** 2)
