"""What the networks of a tree cost, by a sample of its points: a tree has no table of rows."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from fovnet.net.cost.layered import LayeredCosts
from fovnet.net.cost.predicted import Cost, Floats, first_cost
from fovnet.net.cost.prices import COST_QUANTILES
from fovnet.search.tree.costs import Fault
from fovnet.search.tree.moves import draw_prior
from fovnet.search.tree.tree import Tree

SAMPLE_SIZE = 10_000
SAMPLE_KEY = 11
"""Of the seeds of this sample among those that are spawned of a search's seed."""


@dataclass(frozen=True, eq=False)
class TreePrices:
    """Points drawn from a tree, priced.

    start         its cost, seconds and bytes of memory; why it does not fit, None if it does
    sample_count  points drawn
    count_by_reason  of those that do not fit, by reason
    cost, seconds, memory  (m,) of those that fit
    """

    start_cost: Cost
    start_seconds: float
    start_memory: float
    start_fault: Fault | None
    sample_count: int
    count_by_reason: Mapping[str, int]
    cost: Cost
    seconds: Floats
    memory: Floats

    @property
    def fitting_share(self) -> float:
        """The share of points drawn that fit."""
        return len(self.seconds) / self.sample_count

    @property
    def quantiles(self) -> dict[str, Sequence[float]]:
        """Minimum, quartiles and maximum of the costs of those that fit; by name and unit."""
        values_by_name = {
            "seconds": self.seconds,
            "memory, MB": self.memory / 1e6,
            "weights, millions": self.cost.weight_count / 1e6,
            "multiply-adds a slice, millions": self.cost.forward_flop / 2e6,
        }
        return {
            name: np.quantile(values, COST_QUANTILES).tolist()
            for name, values in values_by_name.items()
        }


def sample_prices(tree: Tree, costs: LayeredCosts, seed: int) -> TreePrices:
    """The start of a tree and SAMPLE_SIZE points of its prior, priced."""
    rng = np.random.default_rng(np.random.SeedSequence(seed, spawn_key=(SAMPLE_KEY,)))
    start = tree.columns(tree.start_point[None])
    priced_start = costs(start)
    points = draw_prior(tree, rng, SAMPLE_SIZE)
    priced = costs(tree.columns(points))
    fitting = [index for index, fault in enumerate(priced.faults) if fault is None]
    reasons = Counter(fault.reason for fault in priced.faults if fault is not None)
    return TreePrices(
        start_cost=first_cost(costs.predict(start)),
        start_seconds=float(priced_start.seconds[0]),
        start_memory=float(priced_start.memory_bytes[0]),
        start_fault=priced_start.faults[0],
        sample_count=SAMPLE_SIZE,
        count_by_reason=dict(reasons.most_common()),
        cost=costs.predict(tree.columns(points[fitting])),
        seconds=priced.seconds[fitting],
        memory=priced.memory_bytes[fitting],
    )
