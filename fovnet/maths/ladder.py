"""The best path up a ladder of ordered rungs, and the posterior over all paths, with a prior on the height of
each rung if it is known.

    fits      (s, n)   log-evidence of each slice for each rung          beside  (s,)  for none of them
    edges_mm  (s + 1,) ascending: slice t reaches from edges_mm[t] to edges_mm[t + 1]
    heights   (n,)     prior of the height of each rung, a normal distribution, or None if it is not known;
                       empty: none is
    toll               cost, in log-evidence, of every step from one rung to the next, so that a border needs
                       evidence

Paths, edges and the recursion are those of `chain_recursion.py`.  A run with a rung below and a rung above it
is seen whole: a height l adds -(l - mean)²/2sd².  The first and the last run of a path may be cut off by the
field of view: they add log P(height > l), and so cannot be far longer than whole ones.  A rung of unknown
height adds nothing, so that without known heights the runs are those of `plain_runs.py`.

Runs of known height do not add up along the edges: all pairs (b, e) would be O(s²·n).  But the height term is
never positive, so the plain ladder, which is cheap, gives an upper bound of the weight of all paths through
an event (a path begins, steps up or ends, at an edge).  An event whose bound lies below the weight of a known
path is not part of the best path; and the events whose bounds add up to less than SLIGHT of that path's
weight are negligible in any sum.  The same holds for runs so much higher or lower than usual that no evidence
can compensate.  Only pairs of the remaining events within that distance are evaluated: the best path is
exact, and a sum lacks at most SLIGHT of itself.  If the slices carry no evidence, many pairs remain: this
costs time, not accuracy.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.typing import NDArray
from scipy.special import log_ndtr

from fovnet.maths import chain_recursion
from fovnet.maths.chain_recursion import Crossings, Edges, Evidence, Floats, Rungs, gathered
from fovnet.maths.plain_runs import Plain

States = NDArray[np.int64]

LEAST_MM = 1e-3
"""Lower bound of the standard deviation of a height."""
SLIGHT = 1e-9
"""Largest weight of all paths left out of a sum, as a share of it."""
BLOCK = 64
"""Edges whose runs are evaluated together: few enough for the cache, many enough for numpy."""
ROUNDING = 1e-9
"""Relative rounding error of a bound, a sum of up to thousands of numbers; no path is left out because of
it."""


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
    """The paths of a volume; symbols as in the module docstring.  Only known heights need `edges_mm`.

    between  only paths with this first and last rung, counted from 0
    known    (s,) states of a good path, which saves searching for one
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
    def _plain(self) -> Plain:
        return Plain(self._evidence.sums)

    def best(self, between: Rungs | None = None) -> tuple[States, float]:
        """States (s,) of the path of largest log-weight (0 below, 1..n the rungs, n + 1 above), and that
        weight; equals trying every path.

        Of paths `between`, for unknown heights only, there are none with fewer slices than rungs.
        """
        plain, evidence = self._plain, self._evidence
        if not self.heights:
            return chain_recursion.best(plain, evidence, between)
        known = self.worth(chain_recursion.best(plain, evidence)[0])
        bounds = chain_recursion.crossings(plain, evidence, np.maximum)
        least = known - bounds.total - ROUNDING * max(1.0, abs(known))
        return chain_recursion.best(self._high(_Likely.above(bounds, least, -least)), evidence)

    def crossings(self, known: States | None = None) -> Crossings:
        """Where paths begin, step up and end, over all paths, each weighted by the exponential of its
        log-weight."""
        return chain_recursion.crossings(self._runs(known), self._evidence, np.logaddexp)

    def presence(self, seen_mm: Floats, least_mm: float, known: States | None = None) -> Floats:
        """Probability (n,) of each rung along least_mm or more, over all paths; `seen_mm` (s + 1, n) as in
        `chain_recursion.presence`."""
        runs = self._runs(known)
        crossed = chain_recursion.crossings(runs, self._evidence, np.logaddexp)
        return chain_recursion.presence(runs, self._evidence, crossed, seen_mm, least_mm)

    def log_weight(self, between: Rungs | None = None, known: States | None = None) -> float:
        """Log-weight of all paths.

        With known heights, runs that are negligible beside the best path, or `known`, are left out: if that
        path is not `between`, this is a lower bound.
        """
        return chain_recursion.ahead(self._runs(known), self._evidence, np.logaddexp, between).total

    def worth(self, states: States) -> float:
        """The log-weight of one path: its evidence, minus its tolls, plus that of its known heights."""
        evidence, edges_mm = self._evidence, self._edges_mm
        ends = np.flatnonzero(np.diff(states)) + 1
        begins, ends = np.concatenate([[0], ends]), np.concatenate([ends, [len(states)]])
        on = [
            (int(states[b]) - 1, b, e)
            for b, e in zip(begins, ends, strict=True)
            if 1 <= states[b] <= evidence.rungs
        ]
        if not on:
            return float(evidence.below[-1])
        total = evidence.below[on[0][1]] + evidence.above[on[-1][2]] - evidence.toll * (len(on) - 1)
        for place, (r, b, e) in enumerate(on):
            total += evidence.sums[e, r] - evidence.sums[b, r]
            if (height := self.heights[r]) is not None:
                mm = edges_mm[e] - edges_mm[b]
                total += float(height.whole(mm) if 0 < place < len(on) - 1 else height.cut(mm))
        return float(total)

    def _runs(self, known: States | None) -> Plain | _High:
        """The runs without which a sum over all paths loses at most SLIGHT of itself."""
        if not self.heights:
            return self._plain
        bounds = chain_recursion.crossings(self._plain, self._evidence, np.logaddexp)
        # log-weight of one path, where all plain ones weigh 1
        sure = self.worth(self.best()[0] if known is None else known) - bounds.total
        events = np.sort(
            np.concatenate([bounds.begins.ravel(), bounds.borders.ravel(), bounds.ends.ravel()])
        )
        slight = np.searchsorted(np.cumsum(np.exp(events)), 0.5 * SLIGHT * np.exp(sure))
        # a rung's runs, either kind, weigh no more than 1 together
        off = np.log(4.0 * len(self.heights) / SLIGHT) - sure
        return self._high(_Likely.above(bounds, float(events[min(slight, len(events) - 1)]), off))

    def _high(self, likely: _Likely) -> _High:
        return _High(self._plain, self._edges_mm, self.heights, likely)

    @property
    def _edges_mm(self) -> Floats:
        return np.asarray(self.edges_mm, dtype=float)


@dataclass(frozen=True)
class _Likely:
    """Edges at which an event is not negligible, one array per rung: a path begins, a rung is entered from
    the one below, a path ends, a rung is left for the next; `outer`: a path ends or the rung is left.
    `slack`: the largest height cost of a run that is kept."""

    begins: Sequence[Edges]
    enters: Sequence[Edges]
    ends: Sequence[Edges]
    leaves: Sequence[Edges]
    outer: Sequence[Edges]
    slack: float

    @classmethod
    def above(cls, bounds: Crossings, least: float, slack: float) -> _Likely:
        """The events whose bound is at least `least`."""
        never = np.full((1, bounds.begins.shape[1]), -np.inf)
        enters, leaves = np.vstack([never, bounds.borders]), np.vstack([bounds.borders, never])

        def likely(rows: Floats) -> list[Edges]:
            return [np.flatnonzero(row >= least) for row in rows]

        outer = np.maximum(bounds.ends, leaves)
        return cls(
            likely(bounds.begins),
            likely(enters),
            likely(bounds.ends),
            likely(leaves),
            likely(outer),
            max(0.0, slack),
        )


@dataclass(frozen=True)
class _High:
    """Runs between likely events, with the log-evidence of their heights."""

    plain: Plain
    edges_mm: Floats
    heights: Sequence[Height | None]
    likely: _Likely

    def ahead(self, r: int, first: Floats, inner: Floats, add: np.ufunc) -> tuple[Floats, Floats]:
        """See `chain_recursion.Runs`."""
        if self.heights[r] is None:
            return self.plain.ahead(r, first, inner, add)
        last, onward = (np.full(len(self.edges_mm), -np.inf) for _ in range(2))
        for b, e, worth in self._blocks(r, self.likely.begins[r], self.likely.outer[r]):
            ended = gathered(first[b, None] + worth, add, axis=0)
            last[e], onward[e] = add(last[e], ended), add(onward[e], ended)
        for b, e, worth in self._blocks(r, self.likely.enters[r], self.likely.ends[r]):
            last[e] = add(last[e], gathered(inner[b, None] + worth, add, axis=0))
        for b, e, worth in self._blocks(
            r, self.likely.enters[r], self.likely.leaves[r], whole=True
        ):
            onward[e] = add(onward[e], gathered(inner[b, None] + worth, add, axis=0))
        return last, onward

    def back(self, r: int, last: Floats, onward: Floats, add: np.ufunc) -> tuple[Floats, Floats]:
        """See `chain_recursion.Runs`."""
        if self.heights[r] is None:
            return self.plain.back(r, last, onward, add)
        first, inner = (np.full(len(self.edges_mm), -np.inf) for _ in range(2))
        ended = add(last, onward)
        for b, e, worth in self._blocks(r, self.likely.begins[r], self.likely.outer[r]):
            first[b] = gathered(worth + ended[e], add, axis=1)
        for b, e, worth in self._blocks(r, self.likely.enters[r], self.likely.ends[r]):
            inner[b] = gathered(worth + last[e], add, axis=1)
        for b, e, worth in self._blocks(
            r, self.likely.enters[r], self.likely.leaves[r], whole=True
        ):
            inner[b] = add(inner[b], gathered(worth + onward[e], add, axis=1))
        return first, inner

    def onto(
        self, r: int, e: int, first: Floats, inner: Floats, onward: bool
    ) -> tuple[Floats, Floats]:
        """See `chain_recursion.Runs`."""
        first, inner = self.plain.onto(r, e, first, inner, onward)
        height, mm = self.heights[r], self.edges_mm[e] - self.edges_mm[:e]
        if height is None:
            return first, inner
        return first + height.cut(mm), inner + (height.whole(mm) if onward else height.cut(mm))

    def kinds(self, r: int, b: Edges, e: Edges) -> tuple[Floats, Floats]:
        """See `chain_recursion.Weighed`."""
        worth, _ = self.plain.kinds(r, b, e)
        height, mm = self.heights[r], self.edges_mm[e] - self.edges_mm[b]
        if height is None:
            return worth, worth
        return worth + height.cut(mm), worth + height.whole(mm)

    def _blocks(
        self, r: int, begins: Edges, ends: Edges, whole: bool = False
    ) -> Iterator[tuple[Edges, Edges, Floats]]:
        """(b, e, log-weights (b, e)) of the runs of rung r between these edges, seen whole or not, BLOCK
        beginnings at a time.

        Runs whose height costs more than the slack are left out: -x²/2 bounds both height terms x standard
        deviations off the mean.
        """
        height = self.heights[r]
        assert height is not None
        off_mm = max(height.sd_mm, LEAST_MM) * np.sqrt(2.0 * self.likely.slack) + LEAST_MM
        sums, at_mm = self.plain.sums[:, r], self.edges_mm
        for at in range(0, len(begins), BLOCK):
            b = begins[at : at + BLOCK]
            lowest = at_mm[b[0]] + (height.mean_mm - off_mm if whole else 0.0)
            e = ends[
                slice(
                    *np.searchsorted(at_mm[ends], [lowest, at_mm[b[-1]] + height.mean_mm + off_mm])
                )
            ]
            if len(e):
                mm = at_mm[e] - at_mm[b, None]
                worth = sums[e] - sums[b, None] + (height.whole(mm) if whole else height.cut(mm))
                yield b, e, np.where(b[:, None] < e, worth, -np.inf)
