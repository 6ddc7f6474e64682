"""The chain of one volume: the log-evidence of its slices for each rung of the body's order, and
its decoding under a rule."""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from fovnet.decision.rule import OBSERVATION_MM, Rule
from fovnet.maths import intersections
from fovnet.maths.chain_recursion import Floats
from fovnet.maths.ladder import Height, Ladder

LEAST_PROBABILITY = 1e-6
"""Lower bound of probabilities in logarithms: a network's 1e-30 is not evidence of that strength;
one slice must not veto a region."""
BLANK_LOG_ODDS = float(np.log(19.0))
"""Log-odds per observation of none over a rung, 95 to 5 %, above which a slice within that region
is blank: a signal void."""


def count_observations(edges_mm: Floats) -> Floats:
    """(s,) observations that each slice counts as, from edges_mm (s + 1,): its height over
    OBSERVATION_MM, at most one."""
    return np.asarray(np.minimum(1.0, np.diff(edges_mm) / OBSERVATION_MM))


@dataclass(frozen=True)
class ChainModel:
    """The chain of a volume of s slices, from feet to head or, in `reversed_model`, from head to
    feet.

    rung_evidence  (s, n) log-evidence of the rungs, already multiplied by the observations
    none_evidence  (s,) of no rung, likewise
    observations   (s,) that each slice counts as
    edges_mm       (s + 1,) ascending, where the slices begin and end
    rule           for decoding
    is_blank       (s, n) bool, whether the slice, on that rung, shows none: its evidence is then
                   that of none less BLANK_LOG_ODDS an observation
    """

    rung_evidence: Floats
    none_evidence: Floats
    observations: Floats
    edges_mm: Floats
    rule: Rule
    is_blank: NDArray[np.bool_]

    @classmethod
    def of(
        cls, smoothed_probabilities: Floats, chain_region_count: int, edges_mm: Floats, rule: Rule
    ) -> ChainModel:
        """From smoothed probabilities (s, k): n rungs, side regions, none.

        The share p of the side regions is removed and the rest renormalised.  A slice counts as 1 -
        p times the observations of its height (`count_observations`): one that is all spine is no
        evidence for any rung.
        """
        side_shares = smoothed_probabilities[:, chain_region_count:-1]
        rung_shares = smoothed_probabilities[:, :chain_region_count]
        none_share = smoothed_probabilities[:, -1]
        chain_share = np.maximum(rung_shares.sum(axis=1) + none_share, LEAST_PROBABILITY)
        observations = (1.0 - side_shares.sum(axis=1)) * count_observations(edges_mm)
        log_rungs = np.log(np.maximum(rung_shares / chain_share[:, None], LEAST_PROBABILITY))
        log_none = np.log(np.maximum(none_share / chain_share, LEAST_PROBABILITY))
        is_blank = log_rungs < log_none[:, None] - BLANK_LOG_ODDS
        rung_evidence = observations[:, None] * np.where(
            is_blank, log_none[:, None] - BLANK_LOG_ODDS, log_rungs
        )
        return cls(
            rung_evidence=rung_evidence,
            none_evidence=observations * log_none,
            observations=observations,
            edges_mm=edges_mm,
            rule=rule,
            is_blank=is_blank,
        )

    @property
    def reversed_model(self) -> ChainModel:
        """The same volume with its slices from head to feet."""
        return ChainModel(
            rung_evidence=self.rung_evidence[::-1],
            none_evidence=self.none_evidence[::-1],
            observations=self.observations[::-1],
            edges_mm=-self.edges_mm[::-1],
            rule=self.rule,
            is_blank=self.is_blank[::-1],
        )

    @cached_property
    def ladder(self) -> Ladder:
        """Its paths, under the rule."""
        return Ladder(
            self.rung_evidence,
            self.none_evidence,
            self.edges_mm,
            self.rule.heights,
            self.rule.border_toll,
        )

    @cached_property
    def confidence_model(self) -> ChainModel:
        """The same with all log-evidence times OBSERVATION_MM / evidence_mm, which changes the
        confidence in paths, not their ranking. Heights are scaled by their deviation: for runs that
        may continue outside the volume that is a wider distribution instead."""
        scale = OBSERVATION_MM / self.rule.evidence_mm
        heights = tuple(
            height and Height(height.mean_mm, height.sd_mm / np.sqrt(scale))
            for height in self.rule.heights
        )
        return ChainModel(
            rung_evidence=scale * self.rung_evidence,
            none_evidence=scale * self.none_evidence,
            observations=scale * self.observations,
            edges_mm=self.edges_mm,
            rule=replace(self.rule, border_toll=scale * self.rule.border_toll, heights=heights),
            is_blank=self.is_blank,
        )

    def find_best_path(self) -> NDArray[np.int64]:
        """States (s,) of the best path.  If heights are for presence alone, they select the
        regions, and the path is the best without heights through these."""
        if self.rule.method == "intersections":
            states, _ = intersections.best_path(
                self.rung_evidence, self.none_evidence, self.rule.border_toll
            )
            return states
        states, _ = self.ladder.best()
        path_rungs = states[(states >= 1) & (states <= len(self.rule.heights))] - 1
        if self.rule.heights_for == "presence" and len(path_rungs):
            regions_shown = (int(path_rungs[0]), int(path_rungs[-1]))
            states, _ = replace(self.ladder, heights=()).best(regions_shown)
        return states

    def misfit_of_path(self, states: NDArray[np.int64]) -> float:
        """Log-evidence per observation by which the path falls short of the best label of each
        slice by itself.

        The observations of side region slices count in full: what remains of a clear spine is
        noise, and costs next to nothing.
        """
        evidence = np.column_stack([self.none_evidence, self.rung_evidence, self.none_evidence])
        evidence_of_path = np.take_along_axis(evidence, states[:, None], axis=1)[:, 0]
        shortfall = (evidence.max(axis=1) - evidence_of_path).sum()
        return float(shortfall / count_observations(self.edges_mm).sum())
