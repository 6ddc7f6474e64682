"""Paths up the ladder: the exact decoder and its posterior, against every path there is, with heights of the
rungs and without."""

from __future__ import annotations

from itertools import groupby, pairwise, product

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis.strategies import booleans, integers, sampled_from
from scipy.special import log_ndtr
from scipy.stats import norm

from fovnet.maths.ladder import Height, Ladder


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
every_ladder = given(
    s=integers(1, 5),
    n=integers(1, 4),
    seed=integers(0, 10**6),
    toll=sampled_from([0.0, 0.3, 4.0]),
    known=booleans(),
)
"""5^2 to 6^5 sequences are few enough to try them all."""


def problem(s: int, n: int, seed: int, known: bool = False):
    """Evidence, edges at uneven distances, and heights of about a slice or two for most rungs if any are
    known."""
    rng = np.random.default_rng(seed)
    fits, beside = rng.normal(scale=rng.choice([0.1, 1.0, 10.0]), size=(s, n)), rng.normal(size=s)
    heights = [
        Height(float(rng.uniform(3, 20)), float(rng.uniform(1, 6))) if rng.random() < 0.8 else None
        for _ in range(n)
    ]
    return fits, beside, np.cumsum(rng.uniform(2, 9, s + 1)), heights if known else []


def worth(path, fits, beside, edges_mm=None, heights=(), toll=0.0):
    """The definition, run by run, with scipy's normal distribution."""
    n = fits.shape[1]
    runs, at = [], 0
    for state, group in groupby(path):
        runs.append((state, at, at := at + len(list(group))))
    total = sum(
        beside[t] if state in (0, n + 1) else fits[t, state - 1] for t, state in enumerate(path)
    )
    rungs = [run for run in runs if 1 <= run[0] <= n]
    for place, (state, b, e) in enumerate(rungs):
        height = heights[state - 1] if heights else None
        if height is not None and 0 < place < len(rungs) - 1:
            mm = edges_mm[e] - edges_mm[b]
            total += norm.logpdf(mm, height.mean_mm, height.sd_mm) - norm.logpdf(0, 0, height.sd_mm)
        elif height is not None:
            total += norm.logsf(edges_mm[e] - edges_mm[b], height.mean_mm, height.sd_mm)
    return float(total - toll * max(0, len(rungs) - 1))


def shares_of(s, n, case, toll):
    """The share of every path in the weight of all."""
    weights = np.array([worth(path, *case, toll) for path in PATHS[s, n]])
    return np.exp(weights - np.logaddexp.reduce(weights))


@settings(max_examples=1000)
@every_ladder
def test_the_best_path_is_the_best_of_all_paths(
    s: int, n: int, seed: int, toll: float, known: bool
) -> None:
    case = problem(s, n, seed, known)
    path, value = Ladder(*case, toll).best()
    assert tuple(path) in PATHS[s, n]
    assert value == pytest.approx(max(worth(other, *case, toll) for other in PATHS[s, n]), abs=1e-9)
    assert value == pytest.approx(worth(path, *case, toll), abs=1e-9)


@every_ladder
def test_the_weight_of_any_path_is_its_worth(
    s: int, n: int, seed: int, toll: float, known: bool
) -> None:
    case = problem(s, n, seed, known)
    path = PATHS[s, n][seed % len(PATHS[s, n])]
    weight = Ladder(*case, toll).path_weight(np.array(path))
    assert weight == pytest.approx(worth(path, *case, toll), abs=1e-9)


@settings(max_examples=500)
@given(
    s=integers(1, 5), n=integers(1, 4), seed=integers(0, 10**6), toll=sampled_from([0.0, 0.3, 4.0])
)
def test_the_best_path_between_two_rungs_is_the_best_of_those(
    s: int, n: int, seed: int, toll: float
) -> None:
    """Of all paths whose first rung and whose last rung are given; with fewer slices than rungs there is
    none."""
    case = problem(s, n, seed)
    low, high = sorted(int(rung) for rung in np.random.default_rng(seed).integers(0, n, 2))
    path, value = Ladder(*case, toll).best((low, high))
    through = [
        other
        for other in PATHS[s, n]
        if (on := [at for at in other if 1 <= at <= n]) and (on[0], on[-1]) == (low + 1, high + 1)
    ]
    if not through:
        assert value == -np.inf and not path.any()
        return
    assert tuple(path) in through
    assert value == pytest.approx(max(worth(other, *case, toll) for other in through), abs=1e-9)


@settings(max_examples=500)
@every_ladder
def test_the_posterior_is_the_average_over_all_paths(
    s: int, n: int, seed: int, toll: float, known: bool
) -> None:
    case = problem(s, n, seed, known)
    expected = np.zeros((s, n + 1))
    for path, share in zip(PATHS[s, n], shares_of(s, n, case, toll), strict=True):
        for slice_, state in enumerate(path):
            expected[slice_, state - 1 if 1 <= state <= n else n] += share
    found = Ladder(*case, toll).crossings().posterior()
    np.testing.assert_allclose(found, expected, atol=1e-9 if known else 1e-12)


@settings(max_examples=500)
@every_ladder
def test_a_rung_is_there_as_probably_as_the_paths_on_which_enough_of_it_is_seen(
    s: int, n: int, seed: int, toll: float, known: bool
) -> None:
    """Slices of any height, of which some do not count for some rungs."""
    case = problem(s, n, seed, known)
    rng = np.random.default_rng(seed)
    counts_mm = np.diff(case[2])[:, None] * (rng.random((s, n)) < 0.8)
    least_mm = float(rng.choice([1e-3, 5.0, 10.0, 60.0]))
    expected = np.zeros(n)
    for path, share in zip(PATHS[s, n], shares_of(s, n, case, toll), strict=True):
        for rung in range(n):
            on = np.array(path) == rung + 1
            expected[rung] += share * bool(on.any() and counts_mm[on, rung].sum() >= least_mm)
    seen_mm = np.vstack([np.zeros(n), np.cumsum(counts_mm, axis=0)])
    found = Ladder(*case, toll).presence(seen_mm, least_mm)
    np.testing.assert_allclose(found, expected, atol=1e-8 if known else 1e-12)


@settings(max_examples=300)
@every_ladder
def test_borders_and_sets_of_rungs_are_as_probable_as_the_paths_that_have_them(
    s: int, n: int, seed: int, toll: float, known: bool
) -> None:
    case = problem(s, n, seed, known)
    begins, borders, ends = np.zeros((n, s + 1)), np.zeros((n - 1, s + 1)), np.zeros((n, s + 1))
    of_set: dict[tuple[int, int], float] = {}
    for path, share in zip(PATHS[s, n], shares_of(s, n, case, toll), strict=True):
        on = [(at, state) for at, state in enumerate(path) if 1 <= state <= n]
        if not on:
            continue
        begins[on[0][1] - 1, on[0][0]] += share
        ends[on[-1][1] - 1, on[-1][0] + 1] += share
        between = on[0][1] - 1, on[-1][1] - 1
        of_set[between] = of_set.get(between, 0.0) + share
        for (_, lower), (at, upper) in pairwise(on):
            if upper > lower:
                borders[lower - 1, at] += share
    ladder, near = Ladder(*case, toll), 2e-9 if known else 1e-12
    crossed = ladder.crossings()
    for found, expected in (
        (crossed.begins, begins),
        (crossed.borders, borders),
        (crossed.ends, ends),
    ):
        np.testing.assert_allclose(np.exp(found), expected, atol=near)
    total = np.logaddexp.reduce([worth(path, *case, toll) for path in PATHS[s, n]])
    assert crossed.total == pytest.approx(total, abs=1e-8) == ladder.log_weight()
    for between, share in of_set.items():
        assert np.exp(ladder.log_weight(between) - total) == pytest.approx(share, abs=near)


def test_no_one_gets_from_the_first_rung_to_the_third_without_the_second() -> None:
    """The middle rung fits badly everywhere, and still gets its one slice."""
    fits = np.log(np.array([[0.9, 0.05, 0.05]] * 4 + [[0.05, 0.05, 0.9]] * 4))
    path, _ = Ladder(fits, np.full(8, np.log(1e-6))).best()
    assert set(path) == {1, 2, 3}
    assert (np.diff(path) >= 0).all()


@pytest.mark.parametrize(("slices", "known"), [(2000, False), (600, True)])
def test_many_slices_are_decoded_without_under_or_overflow(slices: int, known: bool) -> None:
    fits, beside, *heights = problem(slices, 5, 3, known)
    rows = Ladder(1e3 * fits, 1e3 * beside, *heights).crossings().posterior()
    assert np.isfinite(rows).all()
    np.testing.assert_allclose(rows.sum(axis=1), 1.0)


@settings(max_examples=500)
@given(
    s=integers(5, 40), n=integers(1, 4), seed=integers(0, 10**6), toll=sampled_from([0.0, 0.3, 4.0])
)
def test_what_is_cut_away_moves_nothing_between_two_slices_whose_states_stay(
    s: int, n: int, seed: int, toll: float
) -> None:
    """Bellman's principle of optimality: a border that is left can move only where cutting changes what an
    end of the window shows."""
    fits, beside, *_ = problem(s, n, seed)
    whole, _ = Ladder(fits, beside, toll=toll).best()
    low, high = sorted(np.random.default_rng(seed).choice(s + 1, 2, replace=False))
    window, value = Ladder(fits[low:high], beside[low:high], toll=toll).best()
    kept = whole[low:high].copy()
    # standing above without a rung before is standing below
    kept[kept == n + 1] = 0 if (kept == n + 1).all() else n + 1
    if (kept[0], kept[-1]) == (window[0], window[-1]):
        assert worth(kept, fits[low:high], beside[low:high], toll=toll) == pytest.approx(
            value, abs=1e-9
        )
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

    equals = [other for other in PATHS[s, n] if worth(other, fits, beside, toll=toll) == value]
    assert reached(tuple(path)) == min(map(reached, equals))


def test_a_slice_that_speaks_for_a_rung_no_more_than_for_none_is_not_said_to_show_it() -> None:
    fits = np.array([[0.0, -5.0], [-5.0, 1.0]])
    assert Ladder(fits, np.array([0.0, -5.0])).best()[0].tolist() == [0, 2]


@settings(max_examples=100)
@given(s=integers(1, 40), n=integers(1, 6), seed=integers(0, 10**6), toll=sampled_from([0.0, 1.0]))
def test_without_known_heights_it_is_the_ladder(s: int, n: int, seed: int, toll: float) -> None:
    fits, beside, edges_mm, _ = problem(s, n, seed)
    unknown, plain = (
        Ladder(fits, beside, edges_mm, [None] * n, toll),
        Ladder(fits, beside, toll=toll),
    )
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
    s=integers(2, 90),
    seed=integers(0, 10**6),
    strength=sampled_from([0.0, 0.01, 0.3, 3.0, 100.0]),
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
        Height(float(rng.uniform(30, 200)), float(rng.uniform(1, 60)))
        if rng.random() < 0.8
        else None
        for _ in range(5)
    ]
    case = fits, beside, edges_mm, heights
    path, value = Ladder(*case, toll).best()
    assert value == pytest.approx(all_pairs(*case, toll, np.maximum), rel=1e-9, abs=1e-9)
    assert value == pytest.approx(worth(tuple(path), *case, toll), rel=1e-9, abs=1e-9)
    assert Ladder(*case, toll).log_weight() == pytest.approx(
        all_pairs(*case, toll, np.logaddexp), rel=1e-9, abs=1e-8
    )


def test_a_border_nobody_can_see_is_put_where_the_rung_is_as_high_as_usual() -> None:
    """Three rungs of 5 mm slices; the upper border of the middle one is invisible, its lower border is at
    slice 10."""
    clear, blind = [5.0, 0.0, 0.0], [0.0, 5.0, 5.0]
    fits = np.array([clear] * 10 + [blind] * 30 + [[0.0, 0.0, 5.0]] * 5)
    path, _ = Ladder(
        fits, np.full(45, -50.0), 5.0 * np.arange(46), [None, Height(60.0, 8.0), None]
    ).best()
    assert (path == 2).sum() * 5.0 == 60.0
