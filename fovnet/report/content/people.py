"""The recorded attributes of the subjects and of their volumes, by split."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping, Sequence

import numpy as np

from fovnet.evaluate.cases import ListedVolume
from fovnet.report.content.cells import MeasuredText, ReportTable, Row
from fovnet.report.content.flow import TITLE_BY_SPLIT
from fovnet.report.content.wording import DASH, percent, with_spaces

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
        split: [volume for volume in manifest if volume.split == split] for split in TITLE_BY_SPLIT
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
    return ReportTable(("attribute", "counted in", *TITLE_BY_SPLIT.values()), rows, name="people")


def _attribute_rows(
    attribute_name: str, volumes_by_split: Mapping[str, Sequence[ListedVolume]]
) -> list[Row]:
    """The rows of one attribute: one per value, or one that summarises more than
    MOST_LISTED_VALUES."""
    is_constant_per_subject = all(
        len(subject_values) == 1
        for volumes in volumes_by_split.values()
        for subject_values in _values_by_subject(attribute_name, volumes).values()
    )
    counted_unit = "volumes"
    if is_constant_per_subject:
        counted_unit = "subjects"
    values_of_splits = [
        _attribute_values(attribute_name, volumes, is_constant_per_subject)
        for volumes in volumes_by_split.values()
    ]
    distinct_values = sorted(set().union(*values_of_splits) - {UNKNOWN})
    title = with_spaces(attribute_name)
    distinct_numbers = _parse_numbers(distinct_values)
    if len(distinct_values) > MOST_LISTED_VALUES and distinct_numbers is None:
        distinct_counts = (f"{len(set(values) - {UNKNOWN}):,}" for values in values_of_splits)
        return [(f"{title}: different values", counted_unit, *distinct_counts)]
    if len(distinct_values) > MOST_LISTED_VALUES:
        medians = map(_median_and_range, values_of_splits)
        return [(f"{title}: median (range)", counted_unit, *medians)]
    listed_values = distinct_values
    if distinct_numbers:
        listed_values = [
            value for _, value in sorted(zip(distinct_numbers, distinct_values, strict=True))
        ]
    if any(UNKNOWN in values for values in values_of_splits):
        listed_values.append(UNKNOWN)
    return [
        (
            f"{title}: {value}",
            counted_unit,
            *(_count_and_share(value, values) for values in values_of_splits),
        )
        for value in listed_values
    ]


def _values_by_subject(attribute_name: str, volumes: Sequence[ListedVolume]) -> dict[str, set[str]]:
    """The values of an attribute in the volumes of each subject, by the subject's id."""
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


def _parse_numbers(values: Sequence[str]) -> list[float] | None:
    """The values as numbers, or None where one of them is not a number."""
    try:
        return [float(value) for value in values]
    except ValueError:
        return None


def _median_and_range(values: Sequence[str]) -> str:
    """ "61 (20 to 88), 40 of 43": the median and the range of the recorded numbers; a dash without
    any."""
    recorded_numbers = [float(value) for value in values if value != UNKNOWN]
    if not recorded_numbers:
        return DASH
    median = np.median(recorded_numbers)
    return (
        f"{median:g} ({min(recorded_numbers):g} to {max(recorded_numbers):g}), "
        f"{len(recorded_numbers):,} of {len(values):,}"
    )


def _count_and_share(value: str, values: Sequence[str]) -> str | MeasuredText:
    """How often a value is among these, and its share; a dash if there are none."""
    if not values:
        return DASH
    value_count = values.count(value)
    return MeasuredText(f"{value_count:,}", "", percent(value_count / len(values)))
