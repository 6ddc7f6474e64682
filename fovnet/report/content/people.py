"""The recorded attributes of the subjects and of their volumes, by split."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping, Sequence

import numpy as np

from fovnet.evaluate.cases import ListedVolume
from fovnet.report.content.cells import MeasuredText, ReportTable, Row
from fovnet.report.content.flow import SPLITS
from fovnet.report.content.wording import percent

MOST_VALUES = 20
"""An attribute with more distinct values is summarised: numbers by median and range, others by the
number of values."""
UNKNOWN = "not recorded"


def people_table(manifest: Sequence[ListedVolume]) -> ReportTable:
    """One row per value of every recorded attribute, one column per split.

    An attribute with one value per subject (sex, age) is counted in subjects, any other (plane,
    sequence) in volumes.
    """
    volumes_of_split = {
        split: [volume for volume in manifest if volume.split == split] for split in SPLITS
    }
    names = sorted(
        {
            name
            for volumes in volumes_of_split.values()
            for volume in volumes
            for name in volume.attributes
        }
    )
    rows = [row for name in names for row in _attribute_rows(name, volumes_of_split)]
    return ReportTable(("attribute", "counted in", *SPLITS.values()), rows, name="people")


def _attribute_rows(name: str, volumes_of_split: Mapping[str, Sequence[ListedVolume]]) -> list[Row]:
    values_by_subject = (_values_by_subject(name, volumes) for volumes in volumes_of_split.values())
    is_of_subject = all(
        len(values) == 1 for subjects in values_by_subject for values in subjects.values()
    )
    values_of_split = {
        split: _values(name, volumes, is_of_subject) for split, volumes in volumes_of_split.items()
    }
    distinct_values = sorted(
        {value for values in values_of_split.values() for value in values} - {UNKNOWN}
    )
    title = name.replace("_", " ")
    unit = "subjects" if is_of_subject else "volumes"
    numbers = _numbers(distinct_values)
    if len(distinct_values) > MOST_VALUES and numbers is None:
        counts = (f"{len(set(values) - {UNKNOWN}):,}" for values in values_of_split.values())
        return [(f"{title}: different values", unit, *counts)]
    if len(distinct_values) > MOST_VALUES:
        return [
            (
                f"{title}: median (range)",
                unit,
                *(_range(values) for values in values_of_split.values()),
            )
        ]
    row_values = distinct_values
    if numbers:
        row_values = [value for _, value in sorted(zip(numbers, distinct_values, strict=True))]
    if any(UNKNOWN in values for values in values_of_split.values()):
        row_values.append(UNKNOWN)
    return [
        (f"{title}: {value}", unit, *(_share(value, values) for values in values_of_split.values()))
        for value in row_values
    ]


def _values_by_subject(name: str, volumes: Sequence[ListedVolume]) -> dict[str, set[str]]:
    values: dict[str, set[str]] = defaultdict(set)
    for volume in volumes:
        values[volume.subject_id].add(_value(name, volume))
    return values


def _values(name: str, volumes: Sequence[ListedVolume], is_of_subject: bool) -> list[str]:
    if is_of_subject:
        return [next(iter(values)) for values in _values_by_subject(name, volumes).values()]
    return [_value(name, volume) for volume in volumes]


def _value(name: str, volume: ListedVolume) -> str:
    return volume.attributes.get(name, "").strip() or UNKNOWN


def _numbers(values: Sequence[str]) -> list[float] | None:
    """The values as numbers, or None where one of them is not a number."""
    try:
        return [float(value) for value in values]
    except ValueError:
        return None


def _range(values: Sequence[str]) -> str:
    numbers = [float(value) for value in values if value != UNKNOWN]
    if not numbers:
        return "–"
    return (
        f"{np.median(numbers):g} ({min(numbers):g} to {max(numbers):g}), {len(numbers):,} of "
        f"{len(values):,}"
    )


def _share(value: str, values: Sequence[str]) -> str | MeasuredText:
    count = values.count(value)
    return MeasuredText(f"{count:,}", "", percent(count / len(values))) if values else "–"
