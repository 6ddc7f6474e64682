"""What a point of a tree costs, and why it cannot be trained; worked out before any training."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple, Protocol

import numpy as np
from numpy.typing import NDArray

from fovnet.errors import SearchError
from fovnet.search.space import Level
from fovnet.search.tree.tree import Configuration

Floats = NDArray[np.float64]


class Fault(NamedTuple):
    """Why a point is never proposed.

    sentence  "conv.3.pooling 4 is larger than the map there, 3 pixels"
    reason    of counts of many: "their shape", "weights"
    copy      the copy to blame, "conv.3"; empty: the whole point
    """

    sentence: str
    reason: str = "their shape"
    copy: str = ""


class Priced(NamedTuple):
    """Of m points: what does not fit, None where all does; predicted seconds of a training; estimated
    bytes of memory that it needs, nan if they are unknown."""

    faults: Sequence[Fault | None]
    seconds: Floats
    memory_bytes: Floats


Columns = Mapping[str, NDArray[Any]]
"""The values (m,) of each variable that m points have, nan or "nan" where it is inactive."""


def columns_of(configurations: Sequence[Configuration]) -> Columns:
    """The columns of these points."""
    keys = dict.fromkeys(key for configuration in configurations for key in configuration)
    return {
        key: np.array([configuration.get(key, np.nan) for configuration in configurations])
        for key in keys
    }


class Costs(Protocol):
    """The costs of points: a pure function, whose facts let a journal be replayed elsewhere.

    facts           as JSON: family, device, limits, version of the formulas
    reduced_copies  what is tried in turn, by names within a group, where the copy of a group does
                    not fit
    """

    @property
    def facts(self) -> Mapping[str, Any]: ...

    @property
    def reduced_copies(self) -> Sequence[Mapping[str, Level]]: ...

    def __call__(self, columns: Columns, /) -> Priced: ...

    def __hash__(self) -> int: ...


CostsOf = Callable[[Mapping[str, Any]], Costs]
"""The costs from their facts.  Raises SearchError for another version of the formulas."""


@dataclass(frozen=True)
class EqualCosts:
    """Costs without a family of networks: every point fits, and takes as long as any other."""

    seconds: float = 1.0

    @property
    def facts(self) -> Mapping[str, Any]:
        """As JSON."""
        return {"family": "any", "seconds": self.seconds, "version": 1}

    @property
    def reduced_copies(self) -> Sequence[Mapping[str, Level]]:
        """None: every copy fits."""
        return ()

    def __call__(self, columns: Columns, /) -> Priced:
        count = max(map(len, columns.values()))
        return Priced([None] * count, np.full(count, self.seconds), np.full(count, np.nan))


def equal_costs_of(facts: Mapping[str, Any]) -> Costs:
    """`EqualCosts` from its facts.  Raises SearchError "journal-costs" for those of a family of
    networks."""
    costs = EqualCosts(float(facts.get("seconds", 1.0)))
    if dict(facts) != costs.facts:
        raise SearchError(
            "journal-costs",
            f"costs of the family {facts.get('family')}, version {facts.get('version')}; this call "
            "prices no networks: go on with the command that began the search.",
        )
    return costs
