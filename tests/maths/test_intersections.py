"""The thesis's borders at crossings: the best of all their combinations, and never better than the exact
path."""

from __future__ import annotations

from itertools import combinations, pairwise, product

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis.strategies import integers, sampled_from

from fovnet.maths import intersections
from fovnet.maths.ladder import Ladder


def problem(s: int, n: int, seed: int) -> tuple[np.ndarray, np.ndarray]:
    """Log-probabilities of random curves, rough and smooth ones."""
    rng = np.random.default_rng(seed)
    scores = rng.normal(scale=rng.choice([0.3, 3.0]), size=(s, n + 1))
    scores = scores.cumsum(axis=0) if rng.random() < 0.5 else scores
    table = scores - np.logaddexp.reduce(scores, axis=1, keepdims=True)
    return table[:, :n], table[:, n]


def combined(fits: np.ndarray, beside: np.ndarray, toll: float) -> float:
    """The best worth over all first and last rungs and all combinations of edges where the curves concerned
    cross, one by one."""
    (s, n), best = fits.shape, float(beside.sum())

    def crossings(lower: np.ndarray, upper: np.ndarray) -> list[int]:
        return [e for e in range(1, s) if lower[e - 1] >= upper[e - 1] and lower[e] <= upper[e]]

    for lowest, highest in combinations(range(n + 1), 2):
        rungs = range(lowest, highest)
        options = [[0, *crossings(beside, fits[:, lowest])]]
        options += [crossings(fits[:, r], fits[:, r + 1]) for r in rungs[:-1]]
        options += [[*crossings(fits[:, highest - 1], beside), s]]
        for edges in product(*options):
            if all(a < b for a, b in pairwise(edges)):
                runs = sum(
                    fits[b:e, r].sum() for r, (b, e) in zip(rungs, pairwise(edges), strict=True)
                )
                best = max(
                    best,
                    float(
                        beside[: edges[0]].sum()
                        + runs
                        + beside[edges[-1] :].sum()
                        - toll * (len(rungs) - 1)
                    ),
                )
    return best


@settings(max_examples=300)
@given(s=integers(1, 9), n=integers(1, 4), seed=integers(0, 10**6), toll=sampled_from([0.0, 1.0]))
def test_it_is_the_best_of_all_combinations_of_crossings(
    s: int, n: int, seed: int, toll: float
) -> None:
    fits, beside = problem(s, n, seed)
    assert intersections.best_path(fits, beside, toll)[1] == pytest.approx(
        combined(fits, beside, toll), abs=1e-9
    )


@settings(max_examples=600)
@given(s=integers(1, 40), n=integers(1, 6), seed=integers(0, 10**6), toll=sampled_from([0.0, 1.0]))
def test_the_exact_path_is_never_worth_less(s: int, n: int, seed: int, toll: float) -> None:
    """And the worth of either is that of the path it names."""
    fits, beside = problem(s, n, seed)
    table = np.column_stack([beside, fits, beside])
    worths = []
    exact = Ladder(fits, beside, toll=toll).best()
    for states, worth in (intersections.best_path(fits, beside, toll), exact):
        steps = ((np.diff(states) == 1) & (states[:-1] > 0) & (states[1:] <= n)).sum()
        assert worth == pytest.approx(table[np.arange(s), states].sum() - toll * steps, abs=1e-9)
        worths.append(worth)
    assert worths[1] >= worths[0] - 1e-9


def test_a_border_that_the_curves_do_not_cross_is_not_found() -> None:
    """The middle rung's curve stays below its neighbours': the exact path gives it a slice between them, the
    thesis's stays below."""
    fits = np.log(np.array([[0.9, 0.02, 0.08]] * 4 + [[0.08, 0.02, 0.9]] * 4))
    beside = np.full(8, np.log(1e-6))
    assert set(Ladder(fits, beside).best()[0]) == {1, 2, 3}
    assert len(set(intersections.best_path(fits, beside)[0])) == 1


def test_curves_that_touch_cross_there() -> None:
    """The second rung's reaches the first's in the middle slice, and no more: the path may step up before
    it."""
    fits = np.array([[0.0, -1.0, -9.0], [-2.0, -2.0, -9.0], [-9.0, -9.0, 0.0]])
    states, worth = intersections.best_path(fits, np.full(3, -20.0))
    assert (states.tolist(), worth) == ([1, 2, 3], -2.0)
