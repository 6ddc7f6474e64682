"""The number of draws after which random search has probably drawn one of the best rows: the baseline of
every search.

Source: Bertrand (2019), thesis, chapter "Hyper-parameter optimization", for the closed form; for a finite
space see maths/draws.py.
"""

from __future__ import annotations

from dataclasses import dataclass, fields

from fovnet.maths.draws import draws_with_replacement, draws_without_replacement, share_of

SHARES = (0.01, 0.05, 0.1)
CERTAINTIES = (0.5, 0.95, 0.99)


@dataclass(frozen=True)
class Bound:
    """The fewest draws from `rows` that include one of the best `share`, which are `good` rows, with a
    probability above `certainty`."""

    rows: int
    share: float
    good: int
    certainty: float
    with_replacement: int
    without_replacement: int


COLUMNS = tuple(field.name for field in fields(Bound))


def bounds(rows: int) -> list[Bound]:
    """The bounds for all SHARES and CERTAINTIES, share by share."""
    good = {share: share_of(rows, share) for share in SHARES}
    return [
        Bound(
            rows,
            share,
            good[share],
            certainty,
            draws_with_replacement(share, certainty),
            draws_without_replacement(rows, good[share], certainty),
        )
        for share in SHARES
        for certainty in CERTAINTIES
    ]
