"""Which classes the cuts of a volume show, by the rows of its labels."""

from __future__ import annotations

from collections.abc import Iterable
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from fovnet.errors import CollectionError
from fovnet.regions import DEFAULT, NONE, Vocabulary
from fovnet.volume.collection.table_rows import RegionRow
from fovnet.volume.slices.stack import SliceStack

MAX_OUTSIDE_MM = 20.0
"""A row in millimetres that lies farther outside a volume than this belongs to another one, or
another frame of reference."""


def find_classes_of_cuts(
    stack: SliceStack, rows: Iterable[RegionRow], vocabulary: Vocabulary = DEFAULT
) -> NDArray[np.bool_]:
    """(s, k) which classes each cut shows, in the order of vocabulary.classes; `none` exactly where
    no other class is shown.

    A cut of several slices gets the labels of its middle slice (of an even number, the lower of the
    two in the middle); from rows in millimetres, those of its z.  If two regions of the chain meet
    at exactly this z, the lower one applies.  A row of a region whose parts the vocabulary has shows
    all of them, unless another row names the part.  Raises CollectionError "collection-slices" for a slice
    number the volume does not have, "collection-extent" for millimetres more than 20 mm outside it.
    """
    slice_count = stack.label_slice_count or int(stack.slice_ranges[-1, 1]) + 1
    return find_classes_at_heights(stack.z_mm, stack.middle_slices, slice_count, rows, vocabulary)


def find_classes_at_heights(
    z_mm: NDArray[np.float64],
    middle_slices: NDArray[np.int64],
    slice_count: int,
    rows: Iterable[RegionRow],
    vocabulary: Vocabulary = DEFAULT,
) -> NDArray[np.bool_]:
    """`find_classes_of_cuts` for cuts at heights z_mm (s,) with middle slices `middle_slices` (s,), of a volume of
    `slice_count` slices."""
    names = vocabulary.label_names
    is_shown = np.zeros((len(z_mm), len(names)), dtype=bool)
    for row in rows:
        refuse_row_beyond_volume(row, slice_count)
        if row.in_mm and (
            row.range_end < z_mm[0] - MAX_OUTSIDE_MM or row.range_start > z_mm[-1] + MAX_OUTSIDE_MM
        ):
            label_range = f"{row.range_start:g} to {row.range_end:g} mm"
            volume_range = f"{z_mm[0]:.0f} to {z_mm[-1]:.0f} mm"
            raise CollectionError(
                "collection-extent",
                f"{row.volume_id}: {row.region} is labelled from {label_range}, but the volume "
                f"extends from {volume_range}. Give scanner millimetres (RAS), or slice numbers.",
            )
        cut_positions: NDArray[np.float64] | NDArray[np.int64] = middle_slices
        if row.in_mm:
            cut_positions = z_mm
        if row.region != NONE:
            is_shown[:, names.index(row.region)] |= (cut_positions >= row.range_start) & (
                cut_positions <= row.range_end
            )
    is_shown_in_chain = is_shown[:, : len(names) - len(vocabulary.side_regions) - 1]
    is_shown_in_chain &= np.cumsum(is_shown_in_chain, axis=1) == 1
    is_shown[:, names.index(NONE)] = ~is_shown.any(axis=1)
    labels_by_class = [
        [names.index(name) for name in label_names] for label_names in vocabulary.labels_by_class
    ]
    return np.stack([is_shown[:, labels].any(axis=1) for labels in labels_by_class], axis=1)


class LabelsByLevel(NamedTuple):
    """The regions (s, k) of `vocabulary.whole` that slices show, and beside them the parts (s, q)."""

    regions: NDArray[np.bool_]
    parts: NDArray[np.bool_]


def divide_labels(labels: NDArray[np.bool_], vocabulary: Vocabulary) -> LabelsByLevel:
    """Labels in a vocabulary with parts as regions, each wherever a part of it is, and as parts."""
    return LabelsByLevel(
        regions=np.logical_or.reduceat(labels, vocabulary.whole_starts, axis=1),
        parts=labels[:, list(vocabulary.part_columns)],
    )


def refuse_row_beyond_volume(row: RegionRow, slice_count: int) -> None:
    """Raise CollectionError "collection-slices" if a row in slices names one that a volume of so
    many has not."""
    if not row.in_mm and row.range_end >= slice_count:
        raise CollectionError(
            "collection-slices",
            f"{row.volume_id}: {row.region} is labelled up to slice {row.range_end:g}, but the "
            f"last slice is {slice_count - 1}. Count from 0 at the feet, in RAS order.",
        )
