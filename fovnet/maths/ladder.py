"""The best, and the average, way to walk once up a ladder.

A path names every slice: first any number of slices below the ladder, then a run of neighbouring rungs in order, each held for one
slice or more, then any number of slices above it.  A path that never steps on the ladder stays below.

    fits    (s, n)  log-evidence of each slice for each of n rungs
    beside  (s,)    log-evidence of each slice for standing on none of them
    toll            log-evidence that every step from one rung to the next costs: a border has to be worth it
    states  0 below, 1..n the rungs, n + 1 above; a state is entered from itself, rung r also from r - 1 and from below,
            above from any rung.  Hence O(s·n) instead of O(s·n²).

Source: Viterbi (1967) and the forward-backward recursion, Rabiner (1989), A tutorial on hidden Markov models, eqs 19-27 and 32-35.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float64]


def best_path(fits: Floats, beside: Floats, toll: float = 0.0) -> tuple[NDArray[np.int64], float]:
    """States (s,) of the path with the largest sum of log-evidence less its tolls, and that sum; equals trying every path.

    Among equal paths the one that stays longest where it is, seen from the head, wins.
    """
    emit = _emissions(fits, beside)
    s, states = emit.shape
    came_from = np.zeros((s, states), dtype=np.int64)
    value = _start(emit)
    for t in range(1, s):
        came_from[t], value = _step(value, toll)
        value = value + emit[t]
    path = np.empty(s, dtype=np.int64)
    path[-1] = int(np.argmax(value))
    for t in range(s - 1, 0, -1):
        path[t - 1] = came_from[t, path[t]]
    return path, float(value.max())


def posterior(fits: Floats, beside: Floats, toll: float = 0.0) -> Floats:
    """Probability (s, n + 1) of each rung, and last of standing beside the ladder, at each slice, all paths considered.

    Every path is weighed by the exponential of its sum of log-evidence less its tolls.  Rows sum to one.
    """
    emit = _emissions(fits, beside)
    s, states = emit.shape
    forward, backward = np.empty((s, states)), np.zeros((s, states))
    forward[0] = _start(emit)
    for t in range(1, s):
        forward[t] = _gather(forward[t - 1], toll) + emit[t]
    for t in range(s - 2, -1, -1):
        backward[t] = _scatter(backward[t + 1] + emit[t + 1], toll)
    log_weight = forward + backward
    weight = np.exp(log_weight - log_weight.max(axis=1, keepdims=True))
    weight /= weight.sum(axis=1, keepdims=True)
    return np.column_stack([weight[:, 1:-1], weight[:, 0] + weight[:, -1]])


def _emissions(fits: Floats, beside: Floats) -> Floats:
    """(s, n + 2): the rungs with what is below and above them."""
    return np.column_stack([beside, fits, beside]).astype(np.float64)


def _start(emit: Floats) -> Floats:
    first: Floats = emit[0].copy()
    first[-1] = -np.inf            # a path that begins above the ladder is the one that stays below it
    return first


def _step(value: Floats, toll: float) -> tuple[NDArray[np.int64], Floats]:
    """For each state the best state to come from, and its value."""
    n = len(value) - 2
    source, best = np.arange(n + 2), value.copy()
    rungs = np.arange(1, n + 1)
    for candidate, cost in ((rungs - 1, np.where(rungs > 1, toll, 0.0)), (np.zeros(n, dtype=np.int64), np.zeros(n))):
        worth = value[candidate] - cost
        better = worth > best[rungs]
        source[rungs[better]], best[rungs[better]] = candidate[better], worth[better]
    top = 1 + int(np.argmax(value[1:-1]))
    if value[top] > best[-1]:
        source[-1], best[-1] = top, value[top]
    return source, best


def _gather(value: Floats, toll: float) -> Floats:
    """log Σ over the states each state is entered from."""
    below, rungs, above = value[:1], value[1:-1], value[-1:]
    lower = np.concatenate([[-np.inf], rungs[:-1] - toll])
    entered = np.logaddexp(np.logaddexp(rungs, lower), below)
    return np.concatenate([below, entered, np.logaddexp(above, np.logaddexp.reduce(rungs, keepdims=True))])


def _scatter(value: Floats, toll: float) -> Floats:
    """log Σ over the states each state leads to."""
    below, rungs, above = value[:1], value[1:-1], value[-1:]
    higher = np.concatenate([rungs[1:] - toll, [-np.inf]])
    left = np.logaddexp(np.logaddexp(rungs, higher), above)
    return np.concatenate([np.logaddexp(below, np.logaddexp.reduce(rungs, keepdims=True)), left, above])
