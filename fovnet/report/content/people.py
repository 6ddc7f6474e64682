"""The recorded attributes of the subjects and of their volumes, by split."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping, Sequence

import numpy as np

from fovnet.evaluate.cases import ListedVolume
from fovnet.report.content.cells import MeasuredText, ReportTable, Row
from fovnet.report.content.flow import SPLITS
from fovnet.report.content.wording import percent

MOST_LISTED_VALUES = 20
"""An attribute with more distinct values is summarised: numbers by median and range, others by the
number of values."""
UNKNOWN = "not recorded"


def people_table(manifest: Sequence[ListedVolume]) -> ReportTable:
    """One row per value of every recorded attribute, one column per split.

    An attribute with one value per subject (sex, age) is counted in subjects, any other (plane,
    sequence) in volumes.
    """
    volumes_by_split = {
        split: [volume for volume in manifest if volume.split == split] for split in SPLITS
    }
    attribute_names = sorted(
        {
            attribute_name
            for volumes in volumes_by_split.values()
            for volume in volumes
            for attribute_name in volume.attributes
        }
    )
    rows = [
        row
        for attribute_name in attribute_names
        for row in _attribute_rows(attribute_name, volumes_by_split)
    ]
    return ReportTable(("attribute", "counted in", *SPLITS.values()), rows, name="people")


def _attribute_rows(
    attribute_name: str, volumes_by_split: Mapping[str, Sequence[ListedVolume]]
) -> list[Row]:
    """The rows of one attribute: one per value, or one that summarises more than
    MOST_LISTED_VALUES."""
    values_by_subject_by_split = (
        _values_by_subject(attribute_name, volumes) for volumes in volumes_by_split.values()
    )
    is_constant_per_subject = all(
        len(split_values) == 1
        for subject_values in values_by_subject_by_split
        for split_values in subject_values.values()
    )
    values_by_split = {
        split: _attribute_values(attribute_name, volumes, is_constant_per_subject)
        for split, volumes in volumes_by_split.items()
    }
    distinct_values = sorted(
        {value for split_values in values_by_split.values() for value in split_values} - {UNKNOWN}
    )
    title = attribute_name.replace("_", " ")
    unit = "subjects" if is_constant_per_subject else "volumes"
    distinct_numbers = _as_numbers(distinct_values)
    if len(distinct_values) > MOST_LISTED_VALUES and distinct_numbers is None:
        distinct_counts = (
            f"{len(set(split_values) - {UNKNOWN}):,}" for split_values in values_by_split.values()
        )
        return [(f"{title}: different values", unit, *distinct_counts)]
    if len(distinct_values) > MOST_LISTED_VALUES:
        return [
            (
                f"{title}: median (range)",
                unit,
                *(_median_and_range(split_values) for split_values in values_by_split.values()),
            )
        ]
    row_values = distinct_values
    if distinct_numbers:
        row_values = [
            value for _, value in sorted(zip(distinct_numbers, distinct_values, strict=True))
        ]
    if any(UNKNOWN in split_values for split_values in values_by_split.values()):
        row_values.append(UNKNOWN)
    return [
        (
            f"{title}: {value}",
            unit,
            *(_count_and_share(value, split_values) for split_values in values_by_split.values()),
        )
        for value in row_values
    ]


def _values_by_subject(attribute_name: str, volumes: Sequence[ListedVolume]) -> dict[str, set[str]]:
    values_by_subject_id: dict[str, set[str]] = defaultdict(set)
    for volume in volumes:
        values_by_subject_id[volume.subject_id].add(_attribute_value(attribute_name, volume))
    return values_by_subject_id


def _attribute_values(
    attribute_name: str, volumes: Sequence[ListedVolume], is_constant_per_subject: bool
) -> list[str]:
    """The value of each subject where it is constant per subject, else that of each volume."""
    if is_constant_per_subject:
        return [
            next(iter(values)) for values in _values_by_subject(attribute_name, volumes).values()
        ]
    return [_attribute_value(attribute_name, volume) for volume in volumes]


def _attribute_value(attribute_name: str, volume: ListedVolume) -> str:
    return volume.attributes.get(attribute_name, "").strip() or UNKNOWN


def _as_numbers(values: Sequence[str]) -> list[float] | None:
    """The values as numbers, or None where one of them is not a number."""
    try:
        return [float(value) for value in values]
    except ValueError:
        return None


def _median_and_range(values: Sequence[str]) -> str:
    """ "61 (20 to 88), 40 of 43": the median and the range of the recorded numbers; a dash without
    any."""
    recorded = [float(value) for value in values if value != UNKNOWN]
    if not recorded:
        return "–"
    return (
        f"{np.median(recorded):g} ({min(recorded):g} to {max(recorded):g}), {len(recorded):,} of "
        f"{len(values):,}"
    )


def _count_and_share(value: str, values: Sequence[str]) -> str | MeasuredText:
    value_count = values.count(value)
    return (
        MeasuredText(f"{value_count:,}", "", percent(value_count / len(values))) if values else "–"
    )
