"""The bar that learning from earlier searches must clear: rows in the order of their mean place there."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray
from scipy.stats import rankdata

from fovnet.search.prior import Prior
from fovnet.search.space import Space, places_of

Floats = NDArray[np.float64]


class MeanPlace:
    """A Searcher that asks for the free row of the lowest mean place, as a share of all, in earlier searches
    that have it; ties, and last those that none has, in random order."""

    def __init__(self, space: Space, seed: int, prior: Prior) -> None:
        self.places, rng = places_of(space), np.random.default_rng(seed)
        row_of = {levels: row for row, levels in enumerate(map(tuple, space.rows.tolist()))}
        shares: list[list[float]] = [[] for _ in range(len(space))]
        for one in prior.sources:
            places = rankdata(one.losses) / len(one.losses)
            for levels, place in zip(map(tuple, one.levels.tolist()), places.tolist(), strict=True):
                if levels in row_of:
                    shares[row_of[levels]].append(place)
        mean = np.array([np.mean(each).round(12) if each else np.inf for each in shares])
        self.order = np.lexsort((rng.random(len(space)), mean))

    def ask(self, free: NDArray[np.bool_]) -> Floats:
        return np.asarray(self.places[self.order[free[self.order].argmax()]])

    def tell(self, row: int, loss: float) -> None:
        """Nothing is learned."""
