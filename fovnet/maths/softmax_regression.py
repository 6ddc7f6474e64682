"""Multinomial logistic regression that begins at given weights and is drawn back to them.

    s  rows    f  features    k  classes    W  weights (k, f)    b  biases (k,)

The loss is convex: there is one minimum, whatever the order of rows, and no learning rate to
choose. Sources: Hastie, Tibshirani & Friedman (2009), *The Elements of Statistical Learning*, eqs
4.17 and 18.11; the ridge about given weights instead of zero is Daumé (2007), *Frustratingly easy
domain adaptation*, section 2.1 (PRIOR).
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray
from scipy.special import log_softmax

Floats = NDArray[np.float64]
Layer = tuple[Floats, Floats]
"""Weights (k, f) and biases (k,)."""


def scores(features: Floats, layer: Layer) -> Floats:
    """(s, k) the unnormalised log-probabilities."""
    weights, biases = layer
    return np.asarray(features @ weights.T + biases, dtype=np.float64)


def refit(
    features: Floats,
    targets: Floats,
    weights: Floats,
    initial_layer: Layer,
    *,
    ridge: float,
    steps: int = 100,
) -> Layer:
    """The layer that minimises Σ w_i H(t_i, softmax(W x_i + b)) + ridge Σ (σ_f (W - W_0)_kf)².

    features       (s, f)
    targets        (s, k), rows summing to one
    weights        (s,) w, summing to one
    initial_layer  W_0 and b_0, where the search begins; biases are free
    steps          of L-BFGS at most

    σ (f,) are the weighted standard deviations of the features; a feature that is constant keeps
    its weights.
    """
    from scipy.optimize import minimize

    deviations = np.sqrt(np.maximum(weights @ features**2 - (weights @ features) ** 2, 0.0))
    is_varying = deviations > 1e-6 * np.maximum(1.0, np.abs(features).max(axis=0))
    scaled_features = features[:, is_varying] / deviations[is_varying]
    initial_scores = scores(features, initial_layer)
    initial_weights, initial_biases = initial_layer
    class_count = len(initial_biases)

    def loss(weight_changes: Floats) -> tuple[float, Floats]:
        """The loss, and its gradient (k f' + k,), of changes of the weights of varying features and
        of the biases."""
        feature_changes = weight_changes[:-class_count].reshape(class_count, -1)
        bias_changes = weight_changes[-class_count:]
        log_p = log_softmax(
            initial_scores + scaled_features @ feature_changes.T + bias_changes, axis=1
        )
        # of the cross-entropy in the scores
        score_gradient = weights[:, None] * (np.exp(log_p) - targets)
        gradient = np.concatenate(
            [
                (score_gradient.T @ scaled_features + 2 * ridge * feature_changes).ravel(),
                score_gradient.sum(axis=0),
            ]
        )
        return float(
            -weights @ (targets * log_p).sum(axis=1) + ridge * (feature_changes**2).sum()
        ), gradient

    zero_changes = np.zeros(class_count * scaled_features.shape[1] + class_count)
    best_changes = minimize(
        loss, zero_changes, jac=True, method="L-BFGS-B", options={"maxiter": steps}
    ).x
    changed_weights = initial_weights.copy()
    changed_weights[:, is_varying] += (
        best_changes[:-class_count].reshape(class_count, -1) / deviations[is_varying]
    )
    return changed_weights, initial_biases + best_changes[-class_count:]
