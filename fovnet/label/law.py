"""What a label may be, from the vocabulary alone.

    n  slices of a volume in its closest RAS order, counted from the feet, as regions.tsv counts
       them

Regions of the chain are contiguous, each at most once, a run of the chain without gaps, in its
order; neighbours touch; `none` may be at both ends.  A side region is contiguous, at most once, and
may overlap them.
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


class RegionExtent(NamedTuple):
    """One region of a label: its first and last slice, both included."""

    region: str
    first_slice: int
    last_slice: int


Extents = tuple[RegionExtent, ...]
UNKNOWN_SLICE_COUNT = 10**9
"""In place of the number of slices, where it is not known."""


@dataclass(frozen=True)
class LabelGrid:
    """The slices of a volume as labels count them: the edge below slice i is at bottom_mm + i *
    step_mm."""

    slices: int
    bottom_mm: float
    step_mm: float


def grid_between(bottom_mm: float, top_mm: float, slice_count: int) -> LabelGrid:
    """The grid of so many slices from one height to another."""
    return LabelGrid(slice_count, round(bottom_mm, 4), round((top_mm - bottom_mm) / slice_count, 6))


def lawful_label(
    extents: Iterable[RegionExtent], slice_count: int, vocabulary: Vocabulary
) -> Extents:
    """The label in order, chain regions from the feet on and then side regions.

    Raises CollectionError "label-unlawful", in a sentence on the first fault.
    """
    regions_in_order = [*vocabulary.chain, *vocabulary.side_regions]
    label = list(extents)
    for extent in label:
        if extent.region not in regions_in_order:
            raise _label_error(
                f"{extent.region!r} is no region here; write one of {', '.join(regions_in_order)}"
            )
        if not 0 <= extent.first_slice <= extent.last_slice < slice_count:
            raise _label_error(
                f"{extent.region} from slice {extent.first_slice} to {extent.last_slice}, of slices 0 to "
                f"{slice_count - 1}; the first must not lie above the last"
            )
    if len({extent.region for extent in label}) < len(label):
        raise _label_error("a region stands there twice; each is one stretch")
    ordered_label = tuple(sorted(label, key=lambda extent: regions_in_order.index(extent.region)))
    for lower, upper in pairwise(
        extent for extent in ordered_label if extent.region in vocabulary.chain
    ):
        if regions_in_order.index(upper.region) != regions_in_order.index(lower.region) + 1:
            raise _label_error(
                f"{upper.region} follows {lower.region}; the regions between them are missing"
            )
        if upper.first_slice != lower.last_slice + 1:
            raise _label_error(
                f"{lower.region} ends at slice {lower.last_slice}, {upper.region} begins at "
                f"{upper.first_slice}; neighbours touch, the lower one nearer to the feet"
            )
    return ordered_label


def mend_label(
    extents: Iterable[RegionExtent], slice_count: int, vocabulary: Vocabulary
) -> Extents:
    """The nearest lawful label to what networks predict or a table says; empty where there is none
    near.

    Neighbours that overlap or leave a gap meet halfway: spans of a volume that was straightened may
    share a slice.
    """
    known_regions = [*vocabulary.chain, *vocabulary.side_regions]
    inside_extents = [
        RegionExtent(
            extent.region, max(extent.first_slice, 0), min(extent.last_slice, slice_count - 1)
        )
        for extent in extents
        if extent.region in known_regions
    ]
    chain_extents = sorted(
        (extent for extent in inside_extents if extent.region in vocabulary.chain),
        key=lambda extent: extent.first_slice,
    )
    for chain_index, (lower, upper) in enumerate(pairwise(chain_extents)):
        border_slice = (lower.last_slice + 1 + upper.first_slice) // 2
        chain_extents[chain_index] = chain_extents[chain_index]._replace(
            last_slice=border_slice - 1
        )
        chain_extents[chain_index + 1] = upper._replace(first_slice=border_slice)
    side_extents = [extent for extent in inside_extents if extent.region in vocabulary.side_regions]
    try:
        return lawful_label([*chain_extents, *side_extents], slice_count, vocabulary)
    except CollectionError:
        return ()


def extents_of(
    rows: Iterable[RegionRow], grid: LabelGrid | None, vocabulary: Vocabulary
) -> Extents:
    """The label that rows of regions.tsv give; of rows in millimetres, the slices whose middle lies
    in one, and nothing as long as the grid is not known."""
    rows_of_regions = [region_row for region_row in rows if region_row.region != NONE]
    if any(region_row.in_mm for region_row in rows_of_regions) and grid is None:
        return ()
    slices_by_region: dict[str, tuple[int, int]] = {}
    for region_row in rows_of_regions:
        first_slice, last_slice = _slices_with_middle_in_row(region_row, grid)
        lowest_slice, highest_slice = slices_by_region.get(
            region_row.region, (first_slice, last_slice)
        )
        slices_by_region[region_row.region] = (
            min(lowest_slice, first_slice),
            max(highest_slice, last_slice),
        )
    extents = (
        RegionExtent(region, first_slice, last_slice)
        for region, (first_slice, last_slice) in slices_by_region.items()
        if first_slice <= last_slice
    )
    slice_count = UNKNOWN_SLICE_COUNT
    if grid:
        slice_count = grid.slices
    return mend_label(extents, slice_count, vocabulary)


def _slices_with_middle_in_row(region_row: RegionRow, grid: LabelGrid | None) -> tuple[int, int]:
    """(first, last) slice whose middle lies in a row; first > last where there is none."""
    if not region_row.in_mm or grid is None:
        return int(region_row.range_start), int(region_row.range_end)
    lowest, highest = (
        (height_mm - grid.bottom_mm) / grid.step_mm - 0.5
        for height_mm in (region_row.range_start, region_row.range_end)
    )
    return math.ceil(lowest - 1e-6), math.floor(highest + 1e-6)


def class_mask(
    extents: Sequence[RegionExtent], slice_count: int, vocabulary: Vocabulary
) -> NDArray[np.bool_]:
    """(n, k) bool: which classes each slice shows, in the order of vocabulary.classes; `none` where
    it shows no other."""
    mask = np.zeros((slice_count, len(vocabulary.classes)), dtype=bool)
    for extent in extents:
        mask[
            extent.first_slice : extent.last_slice + 1, vocabulary.classes.index(extent.region)
        ] = True
    mask[:, -1] = ~mask[:, :-1].any(axis=1)
    return mask


def _label_error(fault: str) -> CollectionError:
    return CollectionError("label-unlawful", f"not a valid label: {fault}")
