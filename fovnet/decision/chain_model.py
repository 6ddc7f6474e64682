"""The chain of one volume: the evidence of its slices for each rung of the body's order, and what the rule makes of it."""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from fovnet.decision.rule import OBSERVATION_MM, Rule
from fovnet.maths import intersections, ladder
from fovnet.maths import ladder_with_heights as high
from fovnet.maths.chain_recursion import Crossings, Floats
from fovnet.maths.ladder_with_heights import Height

FLOOR = 1e-6
"""No probability counts as less: a network's 1e-30 is no evidence of that strength, and one slice must not veto a region."""
BLANK = float(np.log(19.0))
"""Log-evidence an observation that a slice within a region must have for none, 95 to 5 %, before it shows none there: a signal void."""


def observations_of(edges_mm: Floats) -> Floats:
    """(s,) as how many observations each slice counts, from edges_mm (s + 1,): as many as it is high, and never more than one."""
    return np.asarray(np.minimum(1.0, np.diff(edges_mm) / OBSERVATION_MM))


@dataclass(frozen=True)
class ChainModel:
    """The chain of a volume of s slices, from feet to head or, `reversed`, from head to feet.

    fits  (s, n) log-evidence of the rungs       none  (s,) of standing on none of them
    observations  (s,) that each slice counts as, in both already
    blank (s, n) bool, whether the slice, on that rung, shows none: its fit is then that of none less BLANK
    edges_mm  (s + 1,) ascending, where the slices begin and end          rule   to find its path by
    """

    fits: Floats
    none: Floats
    observations: Floats
    edges_mm: Floats
    rule: Rule
    blank: NDArray[np.bool_]

    @classmethod
    def of(cls, smoothed: Floats, n: int, edges_mm: Floats, rule: Rule) -> ChainModel:
        """From smoothed probabilities (s, k): n rungs, protocols, none.

        The share of the protocols is taken out and the rest renormalised.  A slice whose share of protocol is p counts 1 - p: one that
        is all spine is no evidence for any rung.  It counts as many observations as it is high, and never more than one.
        """
        protocols, rungs, none = smoothed[:, n:-1], smoothed[:, :n], smoothed[:, -1]
        rest = np.maximum(rungs.sum(axis=1) + none, FLOOR)
        observations = (1.0 - protocols.sum(axis=1)) * observations_of(edges_mm)
        log_rungs, log_none = np.log(np.maximum(rungs / rest[:, None], FLOOR)), np.log(np.maximum(none / rest, FLOOR))
        blank = log_rungs < log_none[:, None] - BLANK
        fits = observations[:, None] * np.where(blank, log_none[:, None] - BLANK, log_rungs)
        return cls(fits, observations * log_none, observations, edges_mm, rule, blank)

    @property
    def reversed(self) -> ChainModel:
        """The same volume with its slices from head to feet."""
        return ChainModel(self.fits[::-1], self.none[::-1], self.observations[::-1], -self.edges_mm[::-1], self.rule, self.blank[::-1])

    @property
    def believed(self) -> ChainModel:
        """The same with evidence as strong as it is: scaled alike for all paths, which decides how sure, not which; only
        the heights of runs that may go on outside the picture are widened instead."""
        scale, rule = OBSERVATION_MM / self.rule.evidence_mm, self.rule
        wider = tuple(height and Height(height.mean_mm, height.sd_mm / np.sqrt(scale)) for height in rule.heights)
        weaker = replace(rule, border_toll=scale * rule.border_toll, heights=wider)
        return ChainModel(scale * self.fits, scale * self.none, scale * self.observations, self.edges_mm, weaker, self.blank)

    def best(self) -> tuple[NDArray[np.int64], float]:
        """States (s,) of the best path and its worth; where heights are for presence alone, the best through the regions they select."""
        if self.rule.method == "intersections":
            return intersections.best_path(self.fits, self.none, self.rule.border_toll)
        if not self.rule.heights:
            return ladder.best_path(self.fits, self.none, self.rule.border_toll)
        states, worth = high.best_path(self.fits, self.none, self.edges_mm, self.rule.heights, self.rule.border_toll)
        on = states[(states >= 1) & (states <= len(self.rule.heights))]
        if self.rule.heights_for == "presence" and len(on):
            return ladder.best_path(self.fits, self.none, self.rule.border_toll, (int(on[0]) - 1, int(on[-1]) - 1))
        return states, worth

    def crossings(self, states: NDArray[np.int64] | None = None) -> Crossings:
        """Where paths begin, step up and end, all paths weighed; `states`, a good path, saves looking for one."""
        if not self.rule.heights:
            return ladder.crossings(self.fits, self.none, self.rule.border_toll)
        return high.crossings(self.fits, self.none, self.edges_mm, self.rule.heights, self.rule.border_toll, states)

    def log_weight(self, between: tuple[int, int] | None = None, states: NDArray[np.int64] | None = None) -> float:
        """Log-weight of all paths, or of those whose first and last rung are these."""
        if not self.rule.heights:
            return ladder.log_weight(self.fits, self.none, between, self.rule.border_toll)
        return high.log_weight(self.fits, self.none, self.edges_mm, self.rule.heights, between, self.rule.border_toll, states)

    def misfit(self, states: NDArray[np.int64]) -> float:
        """Log-evidence an observation that the order of the body costs, beside naming each slice by itself.

        All observations count, those taken up by a protocol too: what is left of a clear spine is noise, and costs next to nothing.
        """
        table = np.column_stack([self.none, self.fits, self.none])
        taken = np.take_along_axis(table, states[:, None], axis=1)[:, 0]
        return float((table.max(axis=1) - taken).sum() / observations_of(self.edges_mm).sum())
