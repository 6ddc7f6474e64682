"""Multinomial logistic regression that begins at given weights and is drawn back to them.

    s  rows    f  features    k  classes    W  weights (k, f)    b  biases (k,)    g  groups of classes

The loss is convex: there is one minimum, whatever the order of rows, and no learning rate to
choose. Sources: Hastie, Tibshirani & Friedman (2009), *The Elements of Statistical Learning*, eqs
4.17 and 18.11; the ridge about given weights instead of zero is Daumé (2007), *Frustratingly easy
domain adaptation*, section 2.1 (PRIOR).
"""

from __future__ import annotations

from collections.abc import Sequence

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
    group_starts: Sequence[int] | None = None,
) -> Layer:
    """The layer that minimises Σ w_i H(t_i, softmax(W x_i + b)) + ridge Σ (σ_f (W - W_0)_kf)².

    features       (s, f)
    targets        (s, g), rows summing to one
    weights        (s,) w, summing to one
    initial_layer  W_0 and b_0, where the search begins; biases are free
    steps          of L-BFGS at most
    group_starts   (g,) the first class of each group; None: each class is one

    A group's probability is the sum P of those of its classes, of which targets do not tell one from
    another: the loss of a row of the group is -log P, with the gradient p_j - p_j / P in the score of
    its class j, which adds up to P - 1 over the group.  All its classes are changed by the same
    weights and bias Δ, so that p_j / P, which depends on differences of their scores, stays for every
    x; and as log Σ exp(z_j + Δ) = log Σ exp(z_j) + Δ, the groups are learned as classes with these
    scores are.

    σ (f,) are the weighted standard deviations of the features; a feature that is constant keeps
    its weights.
    """
    from scipy.optimize import minimize

    deviations = np.sqrt(np.maximum(weights @ features**2 - (weights @ features) ** 2, 0.0))
    is_varying = deviations > 1e-6 * np.maximum(1.0, np.abs(features).max(axis=0))
    scaled_features = features[:, is_varying] / deviations[is_varying]
    initial_weights, initial_biases = initial_layer
    starts = list(group_starts or range(len(initial_biases)))
    group_sizes = np.diff([*starts, len(initial_biases)])
    initial_scores = np.logaddexp.reduceat(scores(features, initial_layer), starts, axis=1)
    group_count = len(starts)

    def loss(weight_changes: Floats) -> tuple[float, Floats]:
        """The loss, and its gradient (g f' + g,), of changes of the weights of varying features and
        of the biases."""
        feature_changes = weight_changes[:-group_count].reshape(group_count, -1)
        bias_changes = weight_changes[-group_count:]
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

    zero_changes = np.zeros(group_count * scaled_features.shape[1] + group_count)
    best_changes = minimize(
        loss, zero_changes, jac=True, method="L-BFGS-B", options={"maxiter": steps}
    ).x
    changed_weights = initial_weights.copy()
    feature_changes = best_changes[:-group_count].reshape(group_count, -1) / deviations[is_varying]
    changed_weights[:, is_varying] += np.repeat(feature_changes, group_sizes, axis=0)
    return changed_weights, initial_biases + np.repeat(best_changes[-group_count:], group_sizes)
