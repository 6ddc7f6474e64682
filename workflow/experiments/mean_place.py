"""The bar that learning from earlier searches must clear: rows in the order of their mean place
there."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray
from scipy.stats import rankdata

from fovnet.search.prior import Prior
from fovnet.search.space import Space, row_places

Floats = NDArray[np.float64]


class MeanPlace:
    """A Searcher that asks for the free row of the lowest mean place, as a share of all, in earlier
    searches that have it; ties, and last those that none has, in random order."""

    def __init__(self, space: Space, seed: int, prior: Prior) -> None:
        self.place_by_row = row_places(space)
        rng = np.random.default_rng(seed)
        row_by_levels = {levels: row for row, levels in enumerate(map(tuple, space.rows.tolist()))}
        shares_by_row: dict[int, list[float]] = {}
        for source in prior.sources:
            rank_shares = (rankdata(source.losses) / len(source.losses)).tolist()
            for levels, share in zip(map(tuple, source.levels.tolist()), rank_shares, strict=True):
                if levels in row_by_levels:
                    shares_by_row.setdefault(row_by_levels[levels], []).append(share)
        mean_shares = np.full(len(space), np.inf)
        for row, shares in shares_by_row.items():
            mean_shares[row] = np.mean(shares).round(12)
        self.order = np.lexsort((rng.random(len(space)), mean_shares))

    def ask(self, is_free: NDArray[np.bool_]) -> Floats:
        return np.asarray(self.place_by_row[self.order[is_free[self.order].argmax()]])

    def tell(self, row: int, loss: float) -> None:
        """Nothing is learned."""
