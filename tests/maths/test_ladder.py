"""Paths up the ladder: the exact decoder and its posterior, against every path there is."""

from __future__ import annotations

from itertools import pairwise, product

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis.strategies import integers, sampled_from

from fovnet.maths.ladder_with_heights import Ladder


def every_path(s: int, n: int) -> list[tuple[int, ...]]:
    """All state sequences the definition allows, found by filtering all (n + 2)^s of them."""
    paths = []
    for path in product(range(n + 2), repeat=s):
        steps = list(pairwise(path))
        allowed = all(
            b == a or (1 <= a <= n and b in (a + 1, n + 1)) or (a == 0 and 1 <= b <= n) for a, b in steps
        )
        if allowed and path[0] != n + 1:
            paths.append(path)
    return paths


PATHS = {(s, n): every_path(s, n) for s in range(1, 6) for n in range(1, 5)}


def worth(
    path: tuple[int, ...] | np.ndarray, fits: np.ndarray, beside: np.ndarray, toll: float = 0.0
) -> float:
    table, n = np.column_stack([beside, fits, beside]), fits.shape[1]
    borders = sum(1 <= a < b <= n for a, b in pairwise(path))
    return float(sum(table[slice_, state] for slice_, state in enumerate(path)) - toll * borders)


def problem(s: int, n: int, seed: int) -> tuple[np.ndarray, np.ndarray]:
    rng = np.random.default_rng(seed)
    return rng.normal(scale=rng.choice([0.1, 1.0, 10.0]), size=(s, n)), rng.normal(size=s)


@settings(max_examples=1000)
@given(s=integers(1, 5), n=integers(1, 4), seed=integers(0, 10**6), toll=sampled_from([0.0, 0.3, 4.0]))
def test_the_best_path_is_the_best_of_all_paths(s: int, n: int, seed: int, toll: float) -> None:
    """5^2 to 6^5 sequences are few enough to try them all."""
    fits, beside = problem(s, n, seed)
    path, value = Ladder(fits, beside, toll=toll).best()
    assert tuple(path) in PATHS[s, n]
    assert value == pytest.approx(max(worth(other, fits, beside, toll) for other in PATHS[s, n]), abs=1e-9)
    assert value == pytest.approx(worth(path, fits, beside, toll), abs=1e-9)


@settings(max_examples=500)
@given(s=integers(1, 5), n=integers(1, 4), seed=integers(0, 10**6), toll=sampled_from([0.0, 0.3, 4.0]))
def test_the_best_path_between_two_rungs_is_the_best_of_those(s: int, n: int, seed: int, toll: float) -> None:
    """Of all paths whose first rung and whose last rung are given; with fewer slices than rungs there is
    none."""
    fits, beside = problem(s, n, seed)
    low, high = sorted(int(rung) for rung in np.random.default_rng(seed).integers(0, n, 2))
    path, value = Ladder(fits, beside, toll=toll).best((low, high))
    through = [
        other
        for other in PATHS[s, n]
        if (on := [at for at in other if 1 <= at <= n]) and (on[0], on[-1]) == (low + 1, high + 1)
    ]
    if not through:
        assert value == -np.inf and not path.any()
        return
    assert tuple(path) in through
    assert value == pytest.approx(max(worth(other, fits, beside, toll) for other in through), abs=1e-9)


@settings(max_examples=500)
@given(s=integers(1, 5), n=integers(1, 4), seed=integers(0, 10**6), toll=sampled_from([0.0, 0.3, 4.0]))
def test_the_posterior_is_the_average_over_all_paths(s: int, n: int, seed: int, toll: float) -> None:
    fits, beside = problem(s, n, seed)
    weights = np.array([worth(path, fits, beside, toll) for path in PATHS[s, n]])
    weights = np.exp(weights - weights.max())
    expected = np.zeros((s, n + 1))
    for path, weight in zip(PATHS[s, n], weights, strict=True):
        for slice_, state in enumerate(path):
            expected[slice_, state - 1 if 1 <= state <= n else n] += weight / weights.sum()
    np.testing.assert_allclose(Ladder(fits, beside, toll=toll).crossings().posterior(), expected, atol=1e-12)


@settings(max_examples=500)
@given(s=integers(1, 5), n=integers(1, 4), seed=integers(0, 10**6), toll=sampled_from([0.0, 0.3, 4.0]))
def test_a_rung_is_there_as_probably_as_the_paths_on_which_enough_of_it_is_seen(
    s: int, n: int, seed: int, toll: float
) -> None:
    """Slices of any height, of which some do not count for some rungs."""
    fits, beside = problem(s, n, seed)
    rng = np.random.default_rng(seed)
    counts_mm = rng.uniform(1, 9, (s, 1)) * (rng.random((s, n)) < 0.8)
    least_mm = float(rng.choice([1e-3, 5.0, 10.0, 60.0]))
    weights = np.array([worth(path, fits, beside, toll) for path in PATHS[s, n]])
    weights = np.exp(weights - np.logaddexp.reduce(weights))
    expected = np.zeros(n)
    for path, weight in zip(PATHS[s, n], weights, strict=True):
        for rung in range(n):
            on = np.array(path) == rung + 1
            expected[rung] += weight * bool(on.any() and counts_mm[on, rung].sum() >= least_mm)
    seen_mm = np.vstack([np.zeros(n), np.cumsum(counts_mm, axis=0)])
    found = Ladder(fits, beside, toll=toll).presence(seen_mm, least_mm)
    np.testing.assert_allclose(found, expected, atol=1e-12)


@settings(max_examples=200)
@given(s=integers(1, 5), n=integers(1, 4), seed=integers(0, 10**6), toll=sampled_from([0.0, 0.3, 4.0]))
def test_borders_and_sets_of_rungs_are_as_probable_as_the_paths_that_have_them(
    s: int, n: int, seed: int, toll: float
) -> None:
    fits, beside = problem(s, n, seed)
    weights = np.array([worth(path, fits, beside, toll) for path in PATHS[s, n]])
    total = np.logaddexp.reduce(weights)
    begins, borders, ends = np.zeros((n, s + 1)), np.zeros((n - 1, s + 1)), np.zeros((n, s + 1))
    of_set: dict[tuple[int, int], list[float]] = {}
    for path, weight in zip(PATHS[s, n], weights, strict=True):
        share, on = np.exp(weight - total), [(at, state) for at, state in enumerate(path) if 1 <= state <= n]
        if not on:
            continue
        begins[on[0][1] - 1, on[0][0]] += share
        ends[on[-1][1] - 1, on[-1][0] + 1] += share
        of_set.setdefault((on[0][1] - 1, on[-1][1] - 1), []).append(weight)
        for (_, lower), (at, upper) in pairwise(on):
            if upper > lower:
                borders[lower - 1, at] += share
    ladder = Ladder(fits, beside, toll=toll)
    crossed = ladder.crossings()
    for found, expected in ((crossed.begins, begins), (crossed.borders, borders), (crossed.ends, ends)):
        np.testing.assert_allclose(np.exp(found), expected, atol=1e-12)
    assert crossed.total == pytest.approx(total) == ladder.log_weight()
    for between, its in of_set.items():
        assert ladder.log_weight(between) == pytest.approx(np.logaddexp.reduce(its))


def test_no_one_gets_from_the_first_rung_to_the_third_without_the_second() -> None:
    """The middle rung fits badly everywhere, and still gets its one slice."""
    fits = np.log(np.array([[0.9, 0.05, 0.05]] * 4 + [[0.05, 0.05, 0.9]] * 4))
    path, _ = Ladder(fits, np.full(8, np.log(1e-6))).best()
    assert set(path) == {1, 2, 3}
    assert (np.diff(path) >= 0).all()


def test_two_thousand_slices_are_decoded_without_under_or_overflow() -> None:
    fits, beside = problem(2000, 5, 3)
    rows = Ladder(1e3 * fits, 1e3 * beside).crossings().posterior()
    assert np.isfinite(rows).all()
    np.testing.assert_allclose(rows.sum(axis=1), 1.0)


@settings(max_examples=500)
@given(s=integers(5, 40), n=integers(1, 4), seed=integers(0, 10**6), toll=sampled_from([0.0, 0.3, 4.0]))
def test_what_is_cut_away_moves_nothing_between_two_slices_whose_states_stay(
    s: int, n: int, seed: int, toll: float
) -> None:
    """Bellman's principle of optimality: a border that is left can move only where cutting changes what an
    end of the window shows."""
    fits, beside = problem(s, n, seed)
    whole, _ = Ladder(fits, beside, toll=toll).best()
    low, high = sorted(np.random.default_rng(seed).choice(s + 1, 2, replace=False))
    window, value = Ladder(fits[low:high], beside[low:high], toll=toll).best()
    kept = whole[low:high].copy()
    # standing above without a rung before is standing below
    kept[kept == n + 1] = 0 if (kept == n + 1).all() else n + 1
    if (kept[0], kept[-1]) == (window[0], window[-1]):
        assert worth(kept, fits[low:high], beside[low:high], toll) == pytest.approx(value, abs=1e-9)
        np.testing.assert_array_equal(kept, window)


@given(s=integers(1, 5), n=integers(1, 4), seed=integers(0, 10**6), toll=sampled_from([0.0, 1.0]))
def test_of_equally_good_paths_the_one_that_leads_least_far_up_and_ends_lowest_is_taken(
    s: int, n: int, seed: int, toll: float
) -> None:
    """Evidence in whole numbers, of which many paths have the same sum: never a rung, nor a slice of the last
    one, for nothing."""
    rng = np.random.default_rng(seed)
    fits, beside = rng.integers(-1, 2, (s, n)).astype(float), rng.integers(-1, 2, s).astype(float)
    path, value = Ladder(fits, beside, toll=toll).best()

    def reached(other: tuple[int, ...]) -> tuple[int, int]:
        on = [at for at, state in enumerate(other) if 1 <= state <= n]
        return (other[on[-1]], on[-1]) if on else (0, -1)

    equals = [other for other in PATHS[s, n] if worth(other, fits, beside, toll) == value]
    assert reached(tuple(path)) == min(map(reached, equals))


def test_a_slice_that_speaks_for_a_rung_no_more_than_for_none_is_not_said_to_show_it() -> None:
    fits = np.array([[0.0, -5.0], [-5.0, 1.0]])
    assert Ladder(fits, np.array([0.0, -5.0])).best()[0].tolist() == [0, 2]
