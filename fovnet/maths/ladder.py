"""The best path up a ladder of ordered rungs, and the posterior over all paths, with a prior on the
height of each rung if it is known.

    rung_evidence (s, n)  log-evidence of each slice for each rung
    none_evidence (s,)    log-evidence of each slice for none of them
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
bounds add up to less than NEGLIGIBLE_SHARE of that path's weight are negligible in any sum.  The
same holds for runs so much higher or lower than usual that no evidence can compensate.  Only pairs
of the remaining events within that distance are evaluated: the best path is exact, and a sum lacks
at most NEGLIGIBLE_SHARE of itself.  If the slices carry no evidence, many pairs remain: this costs
time, not accuracy.
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

LEAST_SD_MM = 1e-3
"""Lower bound of the standard deviation of a height."""
NEGLIGIBLE_SHARE = 1e-9
"""Largest weight of all paths left out of a sum, as a share of it."""
BLOCK_BEGINS = 64
"""Edges whose runs are evaluated together: few enough for the cache, many enough for numpy."""
RELATIVE_ROUNDING = 1e-9
"""Relative rounding error of a bound, a sum of up to thousands of numbers; no path is left out
because of it."""


@dataclass(frozen=True)
class Height:
    """Prior of a rung's height: mean and standard deviation in mm."""

    mean_mm: float
    sd_mm: float

    def whole_run_evidence(self, mm: Floats) -> Floats:
        """Log-evidence of the heights of whole runs; 0 at the mean."""
        return np.asarray(-0.5 * ((mm - self.mean_mm) / max(self.sd_mm, LEAST_SD_MM)) ** 2)

    def cut_run_evidence(self, mm: Floats) -> Floats:
        """Log-evidence of the heights of runs that may be cut off; near 0 for short ones."""
        return np.asarray(log_ndtr((self.mean_mm - mm) / max(self.sd_mm, LEAST_SD_MM)))

    def run_evidence(self, mm: Floats, *, is_whole: bool) -> Floats:
        """Log-evidence of the heights of runs that are seen whole, or that may be cut off."""
        if is_whole:
            return self.whole_run_evidence(mm)
        return self.cut_run_evidence(mm)


@dataclass(frozen=True, eq=False)
class Ladder:
    """The paths of a volume of s slices up n rungs.

    rung_evidence  (s, n) log-evidence of each slice for each rung
    none_evidence  (s,) log-evidence of each slice for none of them
    edges_mm       (s + 1,) where each slice begins and the last ends; only known heights need it
    heights        (n,) prior of the height of each rung, None where it is not known; empty: none is
    toll           cost, in log-evidence, of every step from one rung to the next

    Its methods take `between`, only paths with this first and last rung, counted from 0, and
    `good_path`, (s,) states of a path of high weight, which saves searching for one.
    """

    rung_evidence: Floats
    none_evidence: Floats
    edges_mm: Floats | None = None
    heights: Sequence[Height | None] = ()
    toll: float = 0.0

    @cached_property
    def _evidence(self) -> Evidence:
        return Evidence.from_slices(self.rung_evidence, self.none_evidence, self.toll)

    @property
    def _plain_runs(self) -> PlainRuns:
        return PlainRuns(self._evidence.sums)

    def best(self, between: Rungs | None = None) -> tuple[States, float]:
        """States (s,) of the path of largest log-weight (0 below, 1..n the rungs, n + 1 above), and
        that weight; equals trying every path.

        Of paths `between`, for unknown heights only, there are none with fewer slices than rungs.
        """
        plain_runs = self._plain_runs
        evidence = self._evidence
        if not self.heights:
            return chain_recursion.find_best_path(plain_runs, evidence, between)
        path_weight = self.path_weight(chain_recursion.find_best_path(plain_runs, evidence)[0])
        bounds = chain_recursion.crossings(plain_runs, evidence, np.maximum)
        least_weight = path_weight - bounds.total - RELATIVE_ROUNDING * max(1.0, abs(path_weight))
        likely_events = _LikelyEvents.above(bounds, least_weight, -least_weight)
        return chain_recursion.find_best_path(self._runs_between_events(likely_events), evidence)

    def crossings(self, good_path: States | None = None) -> Crossings:
        """Where paths begin, step up and end, over all paths, each weighted by the exponential of
        its log-weight."""
        return chain_recursion.crossings(
            self._significant_runs(good_path), self._evidence, np.logaddexp
        )

    def presence(
        self, counted_mm_below_edge: Floats, least_run_mm: float, good_path: States | None = None
    ) -> Floats:
        """Probability (n,) of each rung along least_run_mm or more, over all paths;
        counted_mm_below_edge (s + 1, n) as in `chain_recursion.presence`."""
        runs = self._significant_runs(good_path)
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
            self._significant_runs(good_path), self._evidence, np.logaddexp, between
        ).total

    def path_weight(self, states: States) -> float:
        """The log-weight of one path: its evidence, minus its tolls, plus that of its known
        heights."""
        evidence = self._evidence
        edges_mm = self._edges_mm
        change_edges = np.flatnonzero(np.diff(states)) + 1
        begin_edges = np.concatenate([[0], change_edges])
        end_edges = np.concatenate([change_edges, [len(states)]])
        runs = [
            (int(states[begin_edge]) - 1, begin_edge, end_edge)
            for begin_edge, end_edge in zip(begin_edges, end_edges, strict=True)
            if 1 <= states[begin_edge] <= evidence.rung_count
        ]
        if not runs:
            return float(evidence.below[-1])
        _, lowest_edge, _ = runs[0]
        _, _, highest_edge = runs[-1]
        heights = self.heights or [None] * evidence.rung_count
        toll_cost = evidence.toll * (len(runs) - 1)
        log_weight = evidence.below[lowest_edge] + evidence.above[highest_edge] - toll_cost
        for run_index, (rung, begin_edge, end_edge) in enumerate(runs):
            log_weight += evidence.sums[end_edge, rung] - evidence.sums[begin_edge, rung]
            height = heights[rung]
            if height is not None:
                run_mm = edges_mm[end_edge] - edges_mm[begin_edge]
                is_whole = 0 < run_index < len(runs) - 1
                log_weight += float(height.run_evidence(run_mm, is_whole=is_whole))
        return float(log_weight)

    def _significant_runs(self, good_path: States | None) -> PlainRuns | _RunsOfKnownHeight:
        """The runs without which a sum over all paths loses at most NEGLIGIBLE_SHARE of itself."""
        if not self.heights:
            return self._plain_runs
        bounds = chain_recursion.crossings(self._plain_runs, self._evidence, np.logaddexp)
        if good_path is None:
            good_path, _ = self.best()
        # log-weight of one path, where all plain ones weigh 1
        path_weight = self.path_weight(good_path) - bounds.total
        sorted_events = np.sort(
            np.concatenate([bounds.begins.ravel(), bounds.borders.ravel(), bounds.ends.ravel()])
        )
        negligible_count = np.searchsorted(
            np.cumsum(np.exp(sorted_events)), 0.5 * NEGLIGIBLE_SHARE * np.exp(path_weight)
        )
        least_event = float(sorted_events[min(negligible_count, len(sorted_events) - 1)])
        # a rung's runs, either kind, weigh no more than 1 together
        slack = np.log(4.0 * len(self.heights) / NEGLIGIBLE_SHARE) - path_weight
        return self._runs_between_events(_LikelyEvents.above(bounds, least_event, slack))

    def _runs_between_events(self, likely_events: _LikelyEvents) -> _RunsOfKnownHeight:
        return _RunsOfKnownHeight(self._plain_runs, self._edges_mm, self.heights, likely_events)

    @property
    def _edges_mm(self) -> Floats:
        return np.asarray(self.edges_mm, dtype=float)


@dataclass(frozen=True)
class _LikelyEvents:
    """Edges at which an event is not negligible, one array per rung.

    begins  a path begins
    enters  a rung is entered from the one below
    ends    a path ends
    leaves  a rung is left for the next
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
    def above(cls, bounds: Crossings, least_weight: float, slack: float) -> _LikelyEvents:
        """The events whose bound is at least `least_weight`."""
        no_border = np.full((1, bounds.begins.shape[1]), -np.inf)
        leave_bounds = np.vstack([bounds.borders, no_border])

        def likely_edges(bounds_by_rung: Floats) -> list[Edges]:
            return [np.flatnonzero(rung_bounds >= least_weight) for rung_bounds in bounds_by_rung]

        return cls(
            begins=likely_edges(bounds.begins),
            enters=likely_edges(np.vstack([no_border, bounds.borders])),
            ends=likely_edges(bounds.ends),
            leaves=likely_edges(leave_bounds),
            outer=likely_edges(np.maximum(bounds.ends, leave_bounds)),
            slack=max(0.0, slack),
        )


@dataclass(frozen=True)
class _RunsOfKnownHeight:
    """Runs between likely events, with the log-evidence of their heights."""

    plain: PlainRuns
    edges_mm: Floats
    heights: Sequence[Height | None]
    likely_events: _LikelyEvents

    def sum_to_ends(
        self, rung: int, first_weights: Floats, inner_weights: Floats, add: np.ufunc
    ) -> tuple[Floats, Floats]:
        """See `chain_recursion.Runs`."""
        if self.heights[rung] is None:
            return self.plain.sum_to_ends(rung, first_weights, inner_weights, add)
        begin_edges = self.likely_events.begins[rung]
        enter_edges = self.likely_events.enters[rung]
        last_weights = np.full(len(self.edges_mm), -np.inf)
        onward_weights = np.full(len(self.edges_mm), -np.inf)
        for begin_block, end_block, run_weights in self._weighed_blocks(
            rung, begin_edges, self.likely_events.outer[rung]
        ):
            end_weights = reduce_by(add, first_weights[begin_block, None] + run_weights, axis=0)
            last_weights[end_block] = add(last_weights[end_block], end_weights)
            onward_weights[end_block] = add(onward_weights[end_block], end_weights)
        for begin_block, end_block, run_weights in self._weighed_blocks(
            rung, enter_edges, self.likely_events.ends[rung]
        ):
            last_weights[end_block] = add(
                last_weights[end_block],
                reduce_by(add, inner_weights[begin_block, None] + run_weights, axis=0),
            )
        for begin_block, end_block, run_weights in self._weighed_blocks(
            rung, enter_edges, self.likely_events.leaves[rung], is_whole=True
        ):
            onward_weights[end_block] = add(
                onward_weights[end_block],
                reduce_by(add, inner_weights[begin_block, None] + run_weights, axis=0),
            )
        return last_weights, onward_weights

    def sum_from_begins(
        self, rung: int, last_weights: Floats, onward_weights: Floats, add: np.ufunc
    ) -> tuple[Floats, Floats]:
        """See `chain_recursion.Runs`."""
        if self.heights[rung] is None:
            return self.plain.sum_from_begins(rung, last_weights, onward_weights, add)
        begin_edges = self.likely_events.begins[rung]
        enter_edges = self.likely_events.enters[rung]
        first_weights = np.full(len(self.edges_mm), -np.inf)
        inner_weights = np.full(len(self.edges_mm), -np.inf)
        outer_weights = add(last_weights, onward_weights)
        for begin_block, end_block, run_weights in self._weighed_blocks(
            rung, begin_edges, self.likely_events.outer[rung]
        ):
            first_weights[begin_block] = reduce_by(
                add, run_weights + outer_weights[end_block], axis=1
            )
        for begin_block, end_block, run_weights in self._weighed_blocks(
            rung, enter_edges, self.likely_events.ends[rung]
        ):
            inner_weights[begin_block] = reduce_by(
                add, run_weights + last_weights[end_block], axis=1
            )
        for begin_block, end_block, run_weights in self._weighed_blocks(
            rung, enter_edges, self.likely_events.leaves[rung], is_whole=True
        ):
            inner_weights[begin_block] = add(
                inner_weights[begin_block],
                reduce_by(add, run_weights + onward_weights[end_block], axis=1),
            )
        return first_weights, inner_weights

    def runs_to(
        self,
        rung: int,
        end_edge: int,
        first_weights: Floats,
        inner_weights: Floats,
        leads_onward: bool,
    ) -> tuple[Floats, Floats]:
        """See `chain_recursion.Runs`."""
        first_weights, inner_weights = self.plain.runs_to(
            rung, end_edge, first_weights, inner_weights, leads_onward
        )
        height = self.heights[rung]
        if height is None:
            return first_weights, inner_weights
        run_mm = self.edges_mm[end_edge] - self.edges_mm[:end_edge]
        first_weights = first_weights + height.cut_run_evidence(run_mm)
        inner_weights = inner_weights + height.run_evidence(run_mm, is_whole=leads_onward)
        return first_weights, inner_weights

    def weights(self, rung: int, begin_edges: Edges, end_edges: Edges) -> tuple[Floats, Floats]:
        """See `chain_recursion.WeighedRuns`."""
        run_weights, _ = self.plain.weights(rung, begin_edges, end_edges)
        height = self.heights[rung]
        if height is None:
            return run_weights, run_weights
        run_mm = self.edges_mm[end_edges] - self.edges_mm[begin_edges]
        cut_run_weights = run_weights + height.cut_run_evidence(run_mm)
        return cut_run_weights, run_weights + height.whole_run_evidence(run_mm)

    def _weighed_blocks(
        self, rung: int, begin_edges: Edges, end_edges: Edges, is_whole: bool = False
    ) -> Iterator[tuple[Edges, Edges, Floats]]:
        """(b, e, log-weights (b, e)) of the runs of a rung between these edges, seen whole or not,
        BLOCK_BEGINS beginnings at a time.

        Runs whose height costs more than the slack are left out: -x²/2 bounds both height terms x
        standard deviations off the mean.
        """
        height = self.heights[rung]
        assert height is not None
        greatest_offset_mm = (
            max(height.sd_mm, LEAST_SD_MM) * np.sqrt(2.0 * self.likely_events.slack) + LEAST_SD_MM
        )
        shortest_mm = 0.0
        if is_whole:
            shortest_mm = height.mean_mm - greatest_offset_mm
        rung_sums = self.plain.sums[:, rung]
        edges_mm = self.edges_mm
        for block_start in range(0, len(begin_edges), BLOCK_BEGINS):
            begin_block = begin_edges[block_start : block_start + BLOCK_BEGINS]
            range_mm = [
                edges_mm[begin_block[0]] + shortest_mm,
                edges_mm[begin_block[-1]] + height.mean_mm + greatest_offset_mm,
            ]
            end_block = end_edges[slice(*np.searchsorted(edges_mm[end_edges], range_mm))]
            if len(end_block):
                run_mm = edges_mm[end_block] - edges_mm[begin_block, None]
                height_evidence = height.run_evidence(run_mm, is_whole=is_whole)
                slice_evidence = rung_sums[end_block] - rung_sums[begin_block, None]
                run_weights = slice_evidence + height_evidence
                yield (
                    begin_block,
                    end_block,
                    np.where(begin_block[:, None] < end_block, run_weights, -np.inf),
                )
