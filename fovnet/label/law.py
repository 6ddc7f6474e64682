"""What a label may be, from the vocabulary alone.

    n  slices of a volume in its closest RAS order, counted from the feet, as regions.tsv counts them

Regions of the chain are contiguous, each at most once, a run of the chain without gaps, in its order;
neighbours touch; `none` may be at both ends.  A side region is contiguous, at most once, and may overlap
them.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from fovnet.errors import CollectionError
from fovnet.regions import NONE, Vocabulary
from fovnet.volume.collection.table_rows import RegionRow


class Extent(NamedTuple):
    """One region of a label: its first and last slice, both included."""

    region: str
    first: int
    last: int


Extents = tuple[Extent, ...]
MANY = 10**9  # slices, where their number is not known


@dataclass(frozen=True)
class Grid:
    """The slices of a volume as labels count them: the edge below slice i is at bottom_mm + i * step_mm."""

    slices: int
    bottom_mm: float
    step_mm: float


def grid_between(bottom_mm: float, top_mm: float, slices: int) -> Grid:
    """The grid of so many slices from one height to another."""
    return Grid(slices, round(bottom_mm, 4), round((top_mm - bottom_mm) / slices, 6))


def lawful(extents: Iterable[Extent], slices: int, vocabulary: Vocabulary) -> Extents:
    """The label in order, chain regions from the feet on and then side regions.

    Raises CollectionError "label-unlawful", in a sentence on the first fault.
    """
    known = [*vocabulary.chain, *vocabulary.side_regions]
    label = list(extents)
    for one in label:
        if one.region not in known:
            raise _unlawful(f"{one.region!r} is no region here; write one of {', '.join(known)}")
        if not 0 <= one.first <= one.last < slices:
            raise _unlawful(
                f"{one.region} from slice {one.first} to {one.last}, of slices 0 to {slices - 1}; the first "
                "must not lie above the last"
            )
    if len({one.region for one in label}) < len(label):
        raise _unlawful("a region stands there twice; each is one stretch")
    ordered = tuple(sorted(label, key=lambda one: known.index(one.region)))
    for lower, upper in pairwise(one for one in ordered if one.region in vocabulary.chain):
        if known.index(upper.region) != known.index(lower.region) + 1:
            raise _unlawful(
                f"{upper.region} follows {lower.region}; the regions between them are missing"
            )
        if upper.first != lower.last + 1:
            raise _unlawful(
                f"{lower.region} ends at slice {lower.last}, {upper.region} begins at {upper.first}; "
                "neighbours touch, the lower one nearer to the feet"
            )
    return ordered


def mended(extents: Iterable[Extent], slices: int, vocabulary: Vocabulary) -> Extents:
    """The nearest lawful label to what networks predict or a table says; empty where there is none near.

    Neighbours that overlap or leave a gap meet halfway: spans of a volume that was straightened may share a
    slice.
    """
    known = [*vocabulary.chain, *vocabulary.side_regions]
    inside = [
        Extent(one.region, max(one.first, 0), min(one.last, slices - 1))
        for one in extents
        if one.region in known
    ]
    chain = sorted(
        (one for one in inside if one.region in vocabulary.chain), key=lambda one: one.first
    )
    for at, (lower, upper) in enumerate(pairwise(chain)):
        border = (lower.last + 1 + upper.first) // 2
        chain[at], chain[at + 1] = chain[at]._replace(last=border - 1), upper._replace(first=border)
    side = [one for one in inside if one.region in vocabulary.side_regions]
    try:
        return lawful([*chain, *side], slices, vocabulary)
    except CollectionError:
        return ()


def extents_of(rows: Iterable[RegionRow], grid: Grid | None, vocabulary: Vocabulary) -> Extents:
    """The label that rows of regions.tsv give; of rows in millimetres, the slices whose middle lies in one,
    and nothing as long as the grid is not known."""
    named = [row for row in rows if row.region != NONE]
    if any(row.in_mm for row in named) and grid is None:
        return ()
    ends: dict[str, tuple[int, int]] = {}
    for row in named:
        first, last = _in_slices(row, grid)
        low, high = ends.get(row.region, (first, last))
        ends[row.region] = min(low, first), max(high, last)
    found = (Extent(region, first, last) for region, (first, last) in ends.items() if first <= last)
    return mended(found, grid.slices if grid else MANY, vocabulary)


def _in_slices(row: RegionRow, grid: Grid | None) -> tuple[int, int]:
    """The first and last slice whose middle lies in a row."""
    if not row.in_mm or grid is None:
        return int(row.first), int(row.last)
    low, high = ((mm - grid.bottom_mm) / grid.step_mm - 0.5 for mm in (row.first, row.last))
    return math.ceil(low - 1e-6), math.floor(high + 1e-6)


def shown(extents: Sequence[Extent], slices: int, vocabulary: Vocabulary) -> NDArray[np.bool_]:
    """(n, k) which classes each slice shows, in the order of vocabulary.classes; `none` where no other."""
    labels = np.zeros((slices, len(vocabulary.classes)), dtype=bool)
    for one in extents:
        labels[one.first : one.last + 1, vocabulary.classes.index(one.region)] = True
    labels[:, -1] = ~labels[:, :-1].any(axis=1)
    return labels


def _unlawful(what: str) -> CollectionError:
    return CollectionError("label-unlawful", f"not a valid label: {what}")
