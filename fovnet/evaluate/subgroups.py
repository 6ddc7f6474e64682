"""Subgroups of volumes: by collection, and by every column of volumes.tsv that divides them into a
few groups.

A column of words, or of a few numbers (field strength), gives one subgroup per value, if there are
two to twenty. A column of many numbers that are measurements (an age, a spacing) is cut into bins:
at the ages AGE_BOUNDS, else at the quartiles of the volumes, rounded to two digits. Numbers are
measurements if the column is called `age` or ends in a unit, or one of them has decimals; else they
may be ids.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from itertools import pairwise

import numpy as np

from fovnet.evaluate.cases import Case

COLLECTION = "collection"
MOST_VALUES = 20
"""An attribute with more values than this identifies single volumes (a series number) and gives no
subgroups."""
MOST_UNBINNED_NUMBERS = 6
"""Up to this many different numbers are one subgroup each; more, or one per volume, are cut into
bins."""
AGE = "age"
AGE_BOUNDS = (18.0, 40.0, 60.0, 80.0)
# BIDS writes n/a; one such word must not make a column of numbers one of words
UNSTATED_VALUES = ("", "n/a", "na", "nan", "unknown", "-")
UNIT_SUFFIXES = ("_mm", "_ms", "_kg", "_cm", "_t", "_years", "_deg")


def find_groupings(cases: Sequence[Case]) -> list[tuple[str, dict[str, str]]]:
    """(attribute, value of each volume_id that has one): by collection where there is one, then by
    the attributes, sorted by their names.

    Values are in display order, bins by their numbers.
    """
    groupings = []
    collection_by_volume_id = {case.volume_id: case.collection for case in cases if case.collection}
    if collection_by_volume_id:
        groupings.append((COLLECTION, _sort_by_value(collection_by_volume_id)))
    for attribute in sorted(
        {attribute for case in cases for attribute in case.attributes} - {COLLECTION}
    ):
        stated_by_volume_id = {
            case.volume_id: value
            for case in cases
            if (value := case.attributes.get(attribute, "").strip()).casefold()
            not in UNSTATED_VALUES
        }
        numbers_by_volume_id = _measurements_by_volume(attribute, stated_by_volume_id)
        if numbers_by_volume_id is None:
            value_by_volume_id = _sort_by_value(stated_by_volume_id)
        else:
            value_by_volume_id = _cut_into_bins(attribute, numbers_by_volume_id)
        # one value per volume makes no groups
        if (
            2
            <= len(set(value_by_volume_id.values()))
            <= min(MOST_VALUES, len(value_by_volume_id) - 1)
        ):
            groupings.append((attribute, value_by_volume_id))
    return groupings


def _measurements_by_volume(
    attribute: str, stated_by_volume: Mapping[str, str]
) -> dict[str, float] | None:
    """The values as numbers, if they are to be cut into bins: numeric, many, and measurements; else
    None."""
    try:
        number_by_volume = {volume: float(value) for volume, value in stated_by_volume.items()}
    except ValueError:
        return None
    if not np.isfinite(list(number_by_volume.values())).all():
        return None
    if len(set(number_by_volume.values())) <= min(MOST_UNBINNED_NUMBERS, len(number_by_volume) - 1):
        return None
    are_measurements = (
        attribute.casefold() == AGE
        or attribute.casefold().endswith(UNIT_SUFFIXES)
        or any(value != int(value) for value in number_by_volume.values())
    )
    return number_by_volume if are_measurements else None


def _cut_into_bins(attribute: str, number_by_volume: Mapping[str, float]) -> dict[str, str]:
    """The label of every number's bin, from the lowest bin up."""
    all_numbers = np.array(list(number_by_volume.values()))
    bin_edges: Sequence[float] = AGE_BOUNDS
    if attribute.casefold() != AGE:
        quartiles = np.quantile(all_numbers, [0.25, 0.5, 0.75])
        bin_edges = sorted({float(f"{edge:.2g}") for edge in quartiles})
    dividing_edges = [edge for edge in bin_edges if all_numbers.min() < edge <= all_numbers.max()]
    bin_labels = ["all"]
    if dividing_edges:
        bin_labels = [
            f"below {dividing_edges[0]:g}",
            *(f"{low:g} to below {high:g}" for low, high in pairwise(dividing_edges)),
            f"{dividing_edges[-1]:g} or more",
        ]
    volumes_in_order = sorted(
        number_by_volume, key=lambda volume: (number_by_volume[volume], volume)
    )
    return {
        volume: bin_labels[
            int(np.searchsorted(dividing_edges, number_by_volume[volume], side="right"))
        ]
        for volume in volumes_in_order
    }


def _sort_by_value(value_by_volume: Mapping[str, str]) -> dict[str, str]:
    return {
        volume: value_by_volume[volume]
        for volume in sorted(value_by_volume, key=lambda volume: (value_by_volume[volume], volume))
    }
