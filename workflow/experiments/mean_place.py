"""The bar that learning from earlier searches must clear: rows in the order of their mean place
there."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray
from scipy.stats import rankdata

from fovnet.search.prior import Prior
from fovnet.search.space import Space, places_of

Floats = NDArray[np.float64]


class MeanPlace:
    """A Searcher that asks for the free row of the lowest mean place, as a share of all, in earlier
    searches that have it; ties, and last those that none has, in random order."""

    def __init__(self, space: Space, seed: int, prior: Prior) -> None:
        self.places = places_of(space)
        rng = np.random.default_rng(seed)
        row_of = {levels: row for row, levels in enumerate(map(tuple, space.rows.tolist()))}
        shares: list[list[float]] = [[] for _ in range(len(space))]
        for source in prior.sources:
            source_shares = (rankdata(source.losses) / len(source.losses)).tolist()
            for levels, share in zip(
                map(tuple, source.levels.tolist()), source_shares, strict=True
            ):
                if levels in row_of:
                    shares[row_of[levels]].append(share)
        means = np.array(
            [np.mean(row_shares).round(12) if row_shares else np.inf for row_shares in shares]
        )
        self.order = np.lexsort((rng.random(len(space)), means))

    def ask(self, free: NDArray[np.bool_]) -> Floats:
        return np.asarray(self.places[self.order[free[self.order].argmax()]])

    def tell(self, row: int, loss: float) -> None:
        """Nothing is learned."""
