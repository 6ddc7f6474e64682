"""Paths with known heights of the rungs: against every path there is, and against the decoder without
heights."""

from __future__ import annotations

from itertools import groupby, pairwise, product

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis.strategies import integers, sampled_from
from scipy.special import log_ndtr
from scipy.stats import norm

from fovnet.maths.ladder_with_heights import Height, Ladder


def every_path(s: int, n: int) -> list[tuple[int, ...]]:
    """All state sequences the definition allows, found by filtering all (n + 2)^s of them."""
    up = {(a, b) for a in range(1, n + 1) for b in (a + 1, n + 1)}
    step = up | {(a, a) for a in range(n + 2)} | {(0, b) for b in range(1, n + 1)}
    return [
        path
        for path in product(range(n + 2), repeat=s)
        if path[0] != n + 1 and all(pair in step for pair in pairwise(path))
    ]


PATHS = {(s, n): every_path(s, n) for s in range(1, 6) for n in range(1, 5)}


def problem(s: int, n: int, seed: int):
    """Evidence, edges at uneven distances, and heights of about a slice or two for most rungs."""
    rng = np.random.default_rng(seed)
    fits, beside = rng.normal(scale=rng.choice([0.1, 1.0, 10.0]), size=(s, n)), rng.normal(size=s)
    heights = [
        Height(float(rng.uniform(3, 20)), float(rng.uniform(1, 6))) if rng.random() < 0.8 else None
        for _ in range(n)
    ]
    return fits, beside, np.cumsum(rng.uniform(2, 9, s + 1)), heights


def worth(path, fits, beside, edges_mm, heights, toll):
    """The definition, run by run, with scipy's normal distribution."""
    n = fits.shape[1]
    runs, at = [], 0
    for state, group in groupby(path):
        runs.append((state, at, at := at + len(list(group))))
    total = sum(beside[t] if state in (0, n + 1) else fits[t, state - 1] for t, state in enumerate(path))
    rungs = [run for run in runs if 1 <= run[0] <= n]
    for place, (state, b, e) in enumerate(rungs):
        height, mm = heights[state - 1], edges_mm[e] - edges_mm[b]
        if height is not None and 0 < place < len(rungs) - 1:
            total += norm.logpdf(mm, height.mean_mm, height.sd_mm) - norm.logpdf(0, 0, height.sd_mm)
        elif height is not None:
            total += norm.logsf(mm, height.mean_mm, height.sd_mm)
    return float(total - toll * max(0, len(rungs) - 1))


@settings(max_examples=300)
@given(s=integers(1, 5), n=integers(1, 4), seed=integers(0, 10**6), toll=sampled_from([0.0, 0.3, 4.0]))
def test_the_best_path_is_the_best_of_all_paths(s: int, n: int, seed: int, toll: float) -> None:
    case = problem(s, n, seed)
    path, value = Ladder(*case, toll).best()
    assert tuple(path) in PATHS[s, n]
    assert value == pytest.approx(max(worth(other, *case, toll) for other in PATHS[s, n]), abs=1e-9)
    assert value == pytest.approx(worth(path, *case, toll), abs=1e-9)


@settings(max_examples=200)
@given(s=integers(1, 5), n=integers(1, 4), seed=integers(0, 10**6), toll=sampled_from([0.0, 0.3, 4.0]))
def test_a_rung_is_there_as_probably_as_the_paths_on_which_it_is_high_enough(
    s: int, n: int, seed: int, toll: float
) -> None:
    fits, beside, edges_mm, heights = problem(s, n, seed)
    weights = np.array([worth(path, fits, beside, edges_mm, heights, toll) for path in PATHS[s, n]])
    weights = np.exp(weights - np.logaddexp.reduce(weights))
    expected, least_mm = np.zeros(n), float(np.random.default_rng(seed).choice([1.0, 8.0, 15.0]))
    for path, weight in zip(PATHS[s, n], weights, strict=True):
        for rung in range(n):
            on = np.array(path) == rung + 1
            expected[rung] += weight * bool(np.diff(edges_mm)[on].sum() >= least_mm)
    seen_mm = np.repeat(edges_mm[:, None] - edges_mm[0], n, axis=1)
    found = Ladder(fits, beside, edges_mm, heights, toll).presence(seen_mm, least_mm)
    np.testing.assert_allclose(found, expected, atol=1e-8)


@settings(max_examples=100)
@given(s=integers(1, 5), n=integers(1, 4), seed=integers(0, 10**6), toll=sampled_from([0.0, 0.3, 4.0]))
def test_the_posterior_is_the_average_over_all_paths(s: int, n: int, seed: int, toll: float) -> None:
    case = problem(s, n, seed)
    weights = np.array([worth(path, *case, toll) for path in PATHS[s, n]])
    weights = np.exp(weights - weights.max())
    expected = np.zeros((s, n + 1))
    for path, weight in zip(PATHS[s, n], weights, strict=True):
        for slice_, state in enumerate(path):
            expected[slice_, state - 1 if 1 <= state <= n else n] += weight / weights.sum()
    np.testing.assert_allclose(Ladder(*case, toll).crossings().posterior(), expected, atol=1e-9)


@settings(max_examples=100)
@given(s=integers(1, 40), n=integers(1, 6), seed=integers(0, 10**6), toll=sampled_from([0.0, 1.0]))
def test_without_known_heights_it_is_the_ladder(s: int, n: int, seed: int, toll: float) -> None:
    fits, beside, edges_mm, _ = problem(s, n, seed)
    unknown, plain = Ladder(fits, beside, edges_mm, [None] * n, toll), Ladder(fits, beside, toll=toll)
    assert unknown.best()[1] == pytest.approx(plain.best()[1], abs=1e-9)
    np.testing.assert_allclose(
        unknown.crossings().posterior(), plain.crossings().posterior(), atol=1e-9
    )


def all_pairs(fits, beside, edges_mm, heights, toll, add):
    """The same over every pair (b, e), O(s²·n), nothing left out: (log-weight of all paths by rung r and edge
    e of their end)."""
    s, n = fits.shape
    below = np.concatenate([[0.0], np.cumsum(beside)])
    above, arrived, worths = below[-1] - below, np.full(s + 1, -np.inf), [below[-1]]
    for r in range(n):
        sums = np.concatenate([[0.0], np.cumsum(fits[:, r])])
        mm, height = edges_mm[None, :] - edges_mm[:, None], heights[r]
        evidence = np.where(np.tri(s + 1, dtype=bool), -np.inf, sums[None, :] - sums[:, None])
        cut = evidence + (log_ndtr((height.mean_mm - mm) / height.sd_mm) if height else 0.0)
        whole = evidence + (-0.5 * ((mm - height.mean_mm) / height.sd_mm) ** 2 if height else 0.0)
        worths.append(add.reduce(add(below, arrived)[:, None] + cut + above, axis=None))
        arrived = add.reduce(add(below[:, None] + cut, arrived[:, None] + whole), axis=0) - toll
    return float(add.reduce(worths))


@settings(max_examples=150)
@given(
    s=integers(2, 90), seed=integers(0, 10**6), strength=sampled_from([0.0, 0.01, 0.3, 3.0, 100.0]),
    toll=sampled_from([0.0, 2.0]),
)
def test_what_is_left_out_changes_nothing(s: int, seed: int, strength: float, toll: float) -> None:
    """Bodies of up to 90 uneven slices, from uninformative slices to certain ones."""
    rng = np.random.default_rng(seed)
    edges_mm = np.cumsum(rng.uniform(1, 14, s + 1))
    rung = np.sort(rng.integers(0, 5, s))
    fits = -strength * (1.0 - np.eye(5)[rung]) + 0.3 * strength * rng.normal(size=(s, 5))
    beside = strength * rng.normal(-1.0, 0.3, s)
    heights = [
        Height(float(rng.uniform(30, 200)), float(rng.uniform(1, 60))) if rng.random() < 0.8 else None
        for _ in range(5)
    ]
    case = fits, beside, edges_mm, heights
    path, value = Ladder(*case, toll).best()
    assert value == pytest.approx(all_pairs(*case, toll, np.maximum), rel=1e-9, abs=1e-9)
    assert value == pytest.approx(worth(tuple(path), *case, toll), rel=1e-9, abs=1e-9)
    assert Ladder(*case, toll).log_weight() == pytest.approx(
        all_pairs(*case, toll, np.logaddexp), rel=1e-9, abs=1e-8
    )


@settings(max_examples=100)
@given(s=integers(1, 5), n=integers(1, 4), seed=integers(0, 10**6))
def test_a_set_of_rungs_is_as_probable_as_the_paths_over_it(s: int, n: int, seed: int) -> None:
    case = problem(s, n, seed)
    ladder = Ladder(*case, 0.5)
    total = ladder.log_weight()
    for lowest in range(n):
        for highest in range(lowest, n):
            over = [
                path
                for path in PATHS[s, n]
                if {state for state in path if 1 <= state <= n} == set(range(lowest + 1, highest + 2))
            ]
            if over:
                expected = np.exp(np.logaddexp.reduce([worth(path, *case, 0.5) for path in over]) - total)
                assert np.exp(ladder.log_weight((lowest, highest)) - total) == pytest.approx(
                    expected, abs=2e-9
                )


def test_a_border_nobody_can_see_is_put_where_the_rung_is_as_high_as_usual() -> None:
    """Three rungs of 5 mm slices; the upper border of the middle one is invisible, its lower border is at
    slice 10."""
    clear, blind = [5.0, 0.0, 0.0], [0.0, 5.0, 5.0]
    fits = np.array([clear] * 10 + [blind] * 30 + [[0.0, 0.0, 5.0]] * 5)
    path, _ = Ladder(fits, np.full(45, -50.0), 5.0 * np.arange(46), [None, Height(60.0, 8.0), None]).best()
    assert (path == 2).sum() * 5.0 == 60.0


def test_six_hundred_slices_are_decoded_without_under_or_overflow() -> None:
    fits, beside, edges_mm, heights = problem(600, 5, 3)
    rows = Ladder(1e3 * fits, 1e3 * beside, edges_mm, heights).crossings().posterior()
    assert np.isfinite(rows).all()
    np.testing.assert_allclose(rows.sum(axis=1), 1.0)
