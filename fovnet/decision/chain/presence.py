"""Whether a volume shows a region: the probability that so many millimetres of it are in the
picture.

Chain regions: over all label sequences of the chain, exactly (`chain_recursion.presence`).  A side
region has no order to keep: its own chain has one rung, whose evidence is the share of the side
region in each slice; the sum over its paths is the same recursion.

A slice may be labelled with a side region alone, as in a narrow cut-out of the spine; it then shows
no chain region.  Training splits the target evenly between a side region and a chain region, so
that with a share p of side regions the chance of a chain label is min(1, 2 (1 - p)): certain at one
half, none at 1.

    body_probability   from the whole body
    slice_probability  the largest mean share along so many millimetres of the slices, each by
                       itself

The body model takes slices as independent observations, and is surest where all members err alike
along the body; the slices alone are not so.  Both enter the calibration (`calibrations.fit_line`).
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from fovnet.decision.chain.chain_model import LEAST_PROBABILITY, ChainModel, count_observations
from fovnet.decision.rule import OBSERVATION_MM, Rule
from fovnet.maths.chain_recursion import ROUNDING_MM
from fovnet.maths.ladder import Ladder

Floats = NDArray[np.float64]
UNKNOWN_PROBABILITY = 0.5
"""The probability of a region in a volume whose slices are in no order: as likely as not."""


@dataclass(frozen=True)
class Presence:
    """How probable it is that each region (r,) is shown, chain regions before side regions, before
    calibration.

    body_probability   from the whole body
    slice_probability  the largest mean share along so many millimetres of the slices, each by
                       itself
    """

    body_probability: Floats
    slice_probability: Floats

    def discount(self, order_trust: float) -> Presence:
        """The same for a volume whose slices seem less in order (a factor from 0 to 1): nearer to
        UNKNOWN_PROBABILITY by the whole body."""
        return Presence(
            UNKNOWN_PROBABILITY + order_trust * (self.body_probability - UNKNOWN_PROBABILITY),
            self.slice_probability,
        )


def compute_presence(
    smoothed: Floats,
    states: NDArray[np.int64],
    chain_region_count: int,
    edges_mm: Floats,
    rule: Rule,
) -> Presence:
    """The presence of each region along `rule.min_extent_mm` or more.

    smoothed  (s, k) calibrated and smoothed probabilities: n rungs, side regions, none
    states    (s,) of the best path of the chain
    edges_mm  (s + 1,) where the slices begin and end
    A volume lower than that can show any region that fills it.
    """
    height_mm = np.diff(edges_mm)
    least_mm = min(rule.min_extent_mm, float(height_mm.sum()))
    rung_probability = _rung_label_probability(smoothed, chain_region_count)
    chain_probability = np.column_stack([rung_probability, 1.0 - rung_probability.sum(axis=1)])
    chain_model = ChainModel.of(
        chain_probability, chain_region_count, edges_mm, rule
    ).confidence_model
    body_probability = chain_model.ladder.presence(
        _cumulate_to_edges(height_mm[:, None] * ~chain_model.is_blank), least_mm, states
    )
    side_shares = smoothed[:, chain_region_count:-1]
    body_probability_of_sides = [
        _side_region_presence(class_share, edges_mm, least_mm, rule)
        for class_share in side_shares.T
    ]
    slice_probability = [
        _largest_mean_along(class_share, height_mm, least_mm)
        for class_share in np.column_stack([rung_probability, side_shares]).T
    ]
    return Presence(
        np.append(body_probability, body_probability_of_sides), np.array(slice_probability)
    )


def _rung_label_probability(smoothed_probabilities: Floats, chain_region_count: int) -> Floats:
    """(s, n) probability that a slice is labelled with each chain region."""
    rungs_and_none = np.column_stack(
        [smoothed_probabilities[:, :chain_region_count], smoothed_probabilities[:, -1:]]
    )
    chain_share = np.maximum(rungs_and_none.sum(axis=1, keepdims=True), LEAST_PROBABILITY)
    label_probability = np.minimum(
        1.0, 2.0 * (1.0 - smoothed_probabilities[:, chain_region_count:-1].sum(axis=1))
    )[:, None]
    return np.asarray(
        label_probability * smoothed_probabilities[:, :chain_region_count] / chain_share
    )


def _side_region_presence(
    side_shares: Floats, edges_mm: Floats, least_mm: float, rule: Rule
) -> float:
    """Probability that a side region with these shares (s,) of the slices is shown along `least_mm`
    or more."""
    observations = count_observations(edges_mm) * OBSERVATION_MM / rule.evidence_mm
    log_shown = observations * np.log(np.maximum(side_shares, LEAST_PROBABILITY))
    log_absent = observations * np.log(np.maximum(1.0 - side_shares, LEAST_PROBABILITY))
    below_edges_mm = (edges_mm - edges_mm[0])[:, None]
    return float(Ladder(log_shown[:, None], log_absent).presence(below_edges_mm, least_mm)[0])


def _largest_mean_along(slice_shares: Floats, height_mm: Floats, least_mm: float) -> float:
    """The largest mean of the shares (s,) along neighbouring slices that are least_mm or more
    together, no more of them than that takes."""
    edge_heights_mm = _cumulate_to_edges(height_mm)
    share_sums = _cumulate_to_edges(height_mm * slice_shares)
    last_edges = np.searchsorted(edge_heights_mm, edge_heights_mm[:-1] + least_mm - ROUNDING_MM)
    first_edges = np.flatnonzero(last_edges < len(edge_heights_mm))
    last_edges = last_edges[first_edges]
    return float(
        (
            (share_sums[last_edges] - share_sums[first_edges])
            / (edge_heights_mm[last_edges] - edge_heights_mm[first_edges])
        ).max()
    )


def _cumulate_to_edges(slice_values: Floats) -> Floats:
    """(s + 1, ...) the sums below every edge."""
    return np.concatenate([np.zeros_like(slice_values[:1]), np.cumsum(slice_values, axis=0)])
