"""The best path up a ladder of ordered rungs, and the posterior over all paths, with a prior on the
height of each rung if it is known.

    fits      (s, n)   log-evidence of each slice for each rung          beside  (s,)  for none of them
    edges_mm  (s + 1,) ascending: slice t reaches from edges_mm[t] to edges_mm[t + 1]
    heights   (n,)     prior of the height of each rung, a normal distribution, or None if it is not known;
                       empty: none is
    toll               cost, in log-evidence, of every step from one rung to the next, so that a
                       border needs evidence

Paths, edges and the recursion are those of `chain_recursion.py`.  A run with a rung below and a
rung above it is seen whole: a height l adds -(l - mean)²/2sd².  The first and the last run of a
path may be cut off by the field of view: they add log P(height > l), and so cannot be far longer
than whole ones.  A rung of unknown height adds nothing, so that without known heights the runs are
those of `plain_runs.py`.

Runs of known height do not add up along the edges: all pairs (b, e) would be O(s²·n).  But the
height term is never positive, so the plain ladder, which is cheap, gives an upper bound of the
weight of all paths through an event (a path begins, steps up or ends, at an edge).  An event whose
bound lies below the weight of a known path is not part of the best path; and the events whose
bounds add up to less than SLIGHT of that path's weight are negligible in any sum.  The same holds
for runs so much higher or lower than usual that no evidence can compensate.  Only pairs of the
remaining events within that distance are evaluated: the best path is exact, and a sum lacks at most
SLIGHT of itself.  If the slices carry no evidence, many pairs remain: this costs time, not
accuracy.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.typing import NDArray
from scipy.special import log_ndtr

from fovnet.maths import chain_recursion
from fovnet.maths.chain_recursion import Crossings, Edges, Evidence, Floats, Rungs, reduce_by
from fovnet.maths.plain_runs import PlainRuns

States = NDArray[np.int64]

LEAST_MM = 1e-3
"""Lower bound of the standard deviation of a height."""
SLIGHT = 1e-9
"""Largest weight of all paths left out of a sum, as a share of it."""
BLOCK = 64
"""Edges whose runs are evaluated together: few enough for the cache, many enough for numpy."""
ROUNDING = 1e-9
"""Relative rounding error of a bound, a sum of up to thousands of numbers; no path is left out
because of it."""


@dataclass(frozen=True)
class Height:
    """Prior of a rung's height: mean and standard deviation in mm."""

    mean_mm: float
    sd_mm: float

    def whole(self, mm: Floats) -> Floats:
        """Log-evidence of the heights of whole runs; 0 at the mean."""
        return np.asarray(-0.5 * ((mm - self.mean_mm) / max(self.sd_mm, LEAST_MM)) ** 2)

    def cut(self, mm: Floats) -> Floats:
        """Log-evidence of the heights of runs that may be cut off; near 0 for short ones."""
        return np.asarray(log_ndtr((self.mean_mm - mm) / max(self.sd_mm, LEAST_MM)))


@dataclass(frozen=True, eq=False)
class Ladder:
    """The paths of a volume; symbols as in the module docstring.  Only known heights need
    `edges_mm`.

    between    only paths with this first and last rung, counted from 0
    good_path  (s,) states of a path of high weight, which saves searching for one
    """

    fits: Floats
    beside: Floats
    edges_mm: Floats | None = None
    heights: Sequence[Height | None] = ()
    toll: float = 0.0

    @cached_property
    def _evidence(self) -> Evidence:
        return Evidence.of(self.fits, self.beside, self.toll)

    @property
    def _plain(self) -> PlainRuns:
        return PlainRuns(self._evidence.sums)

    def best(self, between: Rungs | None = None) -> tuple[States, float]:
        """States (s,) of the path of largest log-weight (0 below, 1..n the rungs, n + 1 above), and
        that weight; equals trying every path.

        Of paths `between`, for unknown heights only, there are none with fewer slices than rungs.
        """
        plain = self._plain
        evidence = self._evidence
        if not self.heights:
            return chain_recursion.best(plain, evidence, between)
        path_weight = self.path_weight(chain_recursion.best(plain, evidence)[0])
        bounds = chain_recursion.crossings(plain, evidence, np.maximum)
        least = path_weight - bounds.total - ROUNDING * max(1.0, abs(path_weight))
        likely = _LikelyEvents.above(bounds, least, -least)
        return chain_recursion.best(self._runs_between(likely), evidence)

    def crossings(self, good_path: States | None = None) -> Crossings:
        """Where paths begin, step up and end, over all paths, each weighted by the exponential of
        its log-weight."""
        return chain_recursion.crossings(self._runs(good_path), self._evidence, np.logaddexp)

    def presence(
        self, counted_mm_below_edge: Floats, least_run_mm: float, good_path: States | None = None
    ) -> Floats:
        """Probability (n,) of each rung along least_run_mm or more, over all paths;
        counted_mm_below_edge (s + 1, n) as in `chain_recursion.presence`."""
        runs = self._runs(good_path)
        log_crossings = chain_recursion.crossings(runs, self._evidence, np.logaddexp)
        return chain_recursion.presence(
            runs, self._evidence, log_crossings, counted_mm_below_edge, least_run_mm
        )

    def log_weight(self, between: Rungs | None = None, good_path: States | None = None) -> float:
        """Log-weight of all paths.

        With known heights, runs that are negligible beside the best path, or `good_path`, are left
        out: if that path is not `between`, this is a lower bound.
        """
        return chain_recursion.forward_pass(
            self._runs(good_path), self._evidence, np.logaddexp, between
        ).total

    def path_weight(self, states: States) -> float:
        """The log-weight of one path: its evidence, minus its tolls, plus that of its known
        heights."""
        evidence = self._evidence
        edges_mm = self._edges_mm
        changes = np.flatnonzero(np.diff(states)) + 1
        begins = np.concatenate([[0], changes])
        ends = np.concatenate([changes, [len(states)]])
        runs = [
            (int(states[b]) - 1, b, e)
            for b, e in zip(begins, ends, strict=True)
            if 1 <= states[b] <= evidence.rungs
        ]
        if not runs:
            return float(evidence.below[-1])
        _, first_edge, _ = runs[0]
        _, _, last_edge = runs[-1]
        tolls = evidence.toll * (len(runs) - 1)
        total = evidence.below[first_edge] + evidence.above[last_edge] - tolls
        for number, (rung, b, e) in enumerate(runs):
            total += evidence.sums[e, rung] - evidence.sums[b, rung]
            if (height := self.heights[rung]) is not None:
                run_mm = edges_mm[e] - edges_mm[b]
                is_whole = 0 < number < len(runs) - 1
                total += float(height.whole(run_mm) if is_whole else height.cut(run_mm))
        return float(total)

    def _runs(self, good_path: States | None) -> PlainRuns | _RunsOfKnownHeight:
        """The runs without which a sum over all paths loses at most SLIGHT of itself."""
        if not self.heights:
            return self._plain
        bounds = chain_recursion.crossings(self._plain, self._evidence, np.logaddexp)
        path = self.best()[0] if good_path is None else good_path
        # log-weight of one path, where all plain ones weigh 1
        path_weight = self.path_weight(path) - bounds.total
        events = np.sort(
            np.concatenate([bounds.begins.ravel(), bounds.borders.ravel(), bounds.ends.ravel()])
        )
        negligible = np.searchsorted(np.cumsum(np.exp(events)), 0.5 * SLIGHT * np.exp(path_weight))
        least = float(events[min(negligible, len(events) - 1)])
        # a rung's runs, either kind, weigh no more than 1 together
        slack = np.log(4.0 * len(self.heights) / SLIGHT) - path_weight
        return self._runs_between(_LikelyEvents.above(bounds, least, slack))

    def _runs_between(self, likely: _LikelyEvents) -> _RunsOfKnownHeight:
        return _RunsOfKnownHeight(self._plain, self._edges_mm, self.heights, likely)

    @property
    def _edges_mm(self) -> Floats:
        return np.asarray(self.edges_mm, dtype=float)


@dataclass(frozen=True)
class _LikelyEvents:
    """Edges at which an event is not negligible, one array per rung.

    begins  a path begins                       enters  a rung is entered from the one below
    ends    a path ends                         leaves  a rung is left for the next
    outer   a path ends or the rung is left
    slack   the largest height cost of a run that is kept
    """

    begins: Sequence[Edges]
    enters: Sequence[Edges]
    ends: Sequence[Edges]
    leaves: Sequence[Edges]
    outer: Sequence[Edges]
    slack: float

    @classmethod
    def above(cls, bounds: Crossings, least: float, slack: float) -> _LikelyEvents:
        """The events whose bound is at least `least`."""
        never = np.full((1, bounds.begins.shape[1]), -np.inf)
        leaves = np.vstack([bounds.borders, never])

        def likely_edges(rows: Floats) -> list[Edges]:
            return [np.flatnonzero(row >= least) for row in rows]

        return cls(
            begins=likely_edges(bounds.begins),
            enters=likely_edges(np.vstack([never, bounds.borders])),
            ends=likely_edges(bounds.ends),
            leaves=likely_edges(leaves),
            outer=likely_edges(np.maximum(bounds.ends, leaves)),
            slack=max(0.0, slack),
        )


@dataclass(frozen=True)
class _RunsOfKnownHeight:
    """Runs between likely events, with the log-evidence of their heights."""

    plain: PlainRuns
    edges_mm: Floats
    heights: Sequence[Height | None]
    likely: _LikelyEvents

    def sum_to_ends(
        self, rung: int, first: Floats, inner: Floats, add: np.ufunc
    ) -> tuple[Floats, Floats]:
        """See `chain_recursion.Runs`."""
        if self.heights[rung] is None:
            return self.plain.sum_to_ends(rung, first, inner, add)
        begins = self.likely.begins[rung]
        enters = self.likely.enters[rung]
        last = np.full(len(self.edges_mm), -np.inf)
        onward = np.full(len(self.edges_mm), -np.inf)
        for b, e, weights in self._blocks(rung, begins, self.likely.outer[rung]):
            sums = reduce_by(add, first[b, None] + weights, axis=0)
            last[e] = add(last[e], sums)
            onward[e] = add(onward[e], sums)
        for b, e, weights in self._blocks(rung, enters, self.likely.ends[rung]):
            last[e] = add(last[e], reduce_by(add, inner[b, None] + weights, axis=0))
        for b, e, weights in self._blocks(rung, enters, self.likely.leaves[rung], whole=True):
            onward[e] = add(onward[e], reduce_by(add, inner[b, None] + weights, axis=0))
        return last, onward

    def sum_from_begins(
        self, rung: int, last: Floats, onward: Floats, add: np.ufunc
    ) -> tuple[Floats, Floats]:
        """See `chain_recursion.Runs`."""
        if self.heights[rung] is None:
            return self.plain.sum_from_begins(rung, last, onward, add)
        begins = self.likely.begins[rung]
        enters = self.likely.enters[rung]
        first = np.full(len(self.edges_mm), -np.inf)
        inner = np.full(len(self.edges_mm), -np.inf)
        outer = add(last, onward)
        for b, e, weights in self._blocks(rung, begins, self.likely.outer[rung]):
            first[b] = reduce_by(add, weights + outer[e], axis=1)
        for b, e, weights in self._blocks(rung, enters, self.likely.ends[rung]):
            inner[b] = reduce_by(add, weights + last[e], axis=1)
        for b, e, weights in self._blocks(rung, enters, self.likely.leaves[rung], whole=True):
            inner[b] = add(inner[b], reduce_by(add, weights + onward[e], axis=1))
        return first, inner

    def runs_to(
        self, rung: int, e: int, first: Floats, inner: Floats, onward: bool
    ) -> tuple[Floats, Floats]:
        """See `chain_recursion.Runs`."""
        first, inner = self.plain.runs_to(rung, e, first, inner, onward)
        height = self.heights[rung]
        if height is None:
            return first, inner
        run_mm = self.edges_mm[e] - self.edges_mm[:e]
        cut = height.cut(run_mm)
        return first + cut, inner + (height.whole(run_mm) if onward else cut)

    def weights(self, rung: int, b: Edges, e: Edges) -> tuple[Floats, Floats]:
        """See `chain_recursion.WeighedRuns`."""
        run_weights, _ = self.plain.weights(rung, b, e)
        height = self.heights[rung]
        if height is None:
            return run_weights, run_weights
        run_mm = self.edges_mm[e] - self.edges_mm[b]
        return run_weights + height.cut(run_mm), run_weights + height.whole(run_mm)

    def _blocks(
        self, rung: int, begins: Edges, ends: Edges, whole: bool = False
    ) -> Iterator[tuple[Edges, Edges, Floats]]:
        """(b, e, log-weights (b, e)) of the runs of a rung between these edges, seen whole or not,
        BLOCK beginnings at a time.

        Runs whose height costs more than the slack are left out: -x²/2 bounds both height terms x
        standard deviations off the mean.
        """
        height = self.heights[rung]
        assert height is not None
        off_mm = max(height.sd_mm, LEAST_MM) * np.sqrt(2.0 * self.likely.slack) + LEAST_MM
        shortest_mm = height.mean_mm - off_mm if whole else 0.0
        log_evidence = height.whole if whole else height.cut
        sums = self.plain.sums[:, rung]
        edges_mm = self.edges_mm
        for number in range(0, len(begins), BLOCK):
            b = begins[number : number + BLOCK]
            range_mm = [edges_mm[b[0]] + shortest_mm, edges_mm[b[-1]] + height.mean_mm + off_mm]
            e = ends[slice(*np.searchsorted(edges_mm[ends], range_mm))]
            if len(e):
                run_mm = edges_mm[e] - edges_mm[b, None]
                weights = sums[e] - sums[b, None] + log_evidence(run_mm)
                yield b, e, np.where(b[:, None] < e, weights, -np.inf)
