"""Subgroups of volumes: by collection, and by every column of volumes.tsv that divides them into a
few groups.

A column of words, or of a few numbers (field strength), gives one subgroup per value, if there are
two to twenty. A column of many numbers that are measurements (an age, a spacing) is cut into bins:
at the ages AGES, else at the quartiles of the volumes, rounded to two digits. Numbers are
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
FEW_NUMBERS = 6
"""Up to this many different numbers are one subgroup each; more, or one per volume, are cut into
bins."""
AGE = "age"
AGES = (18.0, 40.0, 60.0, 80.0)
# BIDS writes n/a; one such word must not make a column of numbers one of words
UNSTATED = ("", "n/a", "na", "nan", "unknown", "-")
UNITS = ("_mm", "_ms", "_kg", "_cm", "_t", "_years", "_deg")


def subgroups_of(cases: Sequence[Case]) -> list[tuple[str, dict[str, str]]]:
    """(attribute, value of each volume_id that has one): by collection where there is one, then by
    the attributes, sorted by their names.

    Values are in display order, bins by their numbers.
    """
    groupings = []
    collections = {case.volume_id: case.collection for case in cases if case.collection}
    if collections:
        groupings.append((COLLECTION, _sort_by_value(collections)))
    for name in sorted({name for case in cases for name in case.attributes} - {COLLECTION}):
        stated = {
            case.volume_id: value
            for case in cases
            if (value := case.attributes.get(name, "").strip()).casefold() not in UNSTATED
        }
        numbers = _numbers(name, stated)
        values = _sort_by_value(stated) if numbers is None else _cut_into_bins(name, numbers)
        # one value per volume makes no groups
        if 2 <= len(set(values.values())) <= min(MOST_VALUES, len(values) - 1):
            groupings.append((name, values))
    return groupings


def _numbers(name: str, stated: Mapping[str, str]) -> dict[str, float] | None:
    """The values as numbers, if they are to be cut into bins: numeric, many, and measurements; else
    None."""
    try:
        numbers = {volume: float(value) for volume, value in stated.items()}
    except ValueError:
        return None
    if not np.isfinite(list(numbers.values())).all():
        return None
    if len(set(numbers.values())) <= min(FEW_NUMBERS, len(numbers) - 1):
        return None
    are_measurements = (
        name.casefold() == AGE
        or name.casefold().endswith(UNITS)
        or any(value != int(value) for value in numbers.values())
    )
    return numbers if are_measurements else None


def _cut_into_bins(name: str, numbers: Mapping[str, float]) -> dict[str, str]:
    """The label of every number's bin, from the lowest bin up."""
    values = np.array(list(numbers.values()))
    edges: Sequence[float] = AGES
    if name.casefold() != AGE:
        quartiles = np.quantile(values, [0.25, 0.5, 0.75])
        edges = sorted({float(f"{edge:.2g}") for edge in quartiles})
    cuts = [edge for edge in edges if values.min() < edge <= values.max()]
    labels = ["all"]
    if cuts:
        labels = [
            f"below {cuts[0]:g}",
            *(f"{low:g} to below {high:g}" for low, high in pairwise(cuts)),
            f"{cuts[-1]:g} or more",
        ]
    order = sorted(numbers, key=lambda volume: (numbers[volume], volume))
    return {
        volume: labels[int(np.searchsorted(cuts, numbers[volume], side="right"))]
        for volume in order
    }


def _sort_by_value(values: Mapping[str, str]) -> dict[str, str]:
    return {
        volume: values[volume]
        for volume in sorted(values, key=lambda volume: (values[volume], volume))
    }
