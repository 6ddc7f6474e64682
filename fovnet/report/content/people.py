"""The recorded attributes of the subjects and of their volumes, by split."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping, Sequence

import numpy as np

from fovnet.evaluate.cases import ListedVolume
from fovnet.report.content.cells import Row, Shown, Table
from fovnet.report.content.flow import SPLITS
from fovnet.report.content.wording import percent

MOST_VALUES = 20
"""An attribute with more distinct values is summarised: numbers by median and range, others by the number of
values."""
UNKNOWN = "not recorded"


def people_table(manifest: Sequence[ListedVolume]) -> Table:
    """One row per value of every recorded attribute, one column per split.

    An attribute with one value per subject (sex, age) is counted in subjects, any other (plane, sequence) in
    volumes.
    """
    of_split = {split: [one for one in manifest if one.split == split] for split in SPLITS}
    names = sorted(
        {name for volumes in of_split.values() for one in volumes for name in one.attributes}
    )
    rows = [row for name in names for row in _attribute_rows(name, of_split)]
    return Table(("attribute", "counted in", *SPLITS.values()), rows, name="people")


def _attribute_rows(name: str, of_split: Mapping[str, Sequence[ListedVolume]]) -> list[Row]:
    by_subject = (_values_by_subject(name, volumes) for volumes in of_split.values())
    of_subject = all(len(values) == 1 for subjects in by_subject for values in subjects.values())
    found = {split: _values(name, volumes, of_subject) for split, volumes in of_split.items()}
    every = sorted({value for values in found.values() for value in values} - {UNKNOWN})
    title, unit = name.replace("_", " "), "subjects" if of_subject else "volumes"
    numbers = _numbers(every)
    if len(every) > MOST_VALUES and numbers is None:
        counts = (f"{len(set(values) - {UNKNOWN}):,}" for values in found.values())
        return [(f"{title}: different values", unit, *counts)]
    if len(every) > MOST_VALUES:
        return [(f"{title}: median (range)", unit, *(_range(values) for values in found.values()))]
    ordered = [value for _, value in sorted(zip(numbers, every, strict=True))] if numbers else every
    ordered += [UNKNOWN] if any(UNKNOWN in values for values in found.values()) else []
    return [
        (f"{title}: {value}", unit, *(_share(value, values) for values in found.values()))
        for value in ordered
    ]


def _values_by_subject(name: str, volumes: Sequence[ListedVolume]) -> dict[str, set[str]]:
    values: dict[str, set[str]] = defaultdict(set)
    for one in volumes:
        values[one.subject_id].add(_value(name, one))
    return values


def _values(name: str, volumes: Sequence[ListedVolume], of_subject: bool) -> list[str]:
    if of_subject:
        return [next(iter(values)) for values in _values_by_subject(name, volumes).values()]
    return [_value(name, one) for one in volumes]


def _value(name: str, one: ListedVolume) -> str:
    return one.attributes.get(name, "").strip() or UNKNOWN


def _numbers(values: Sequence[str]) -> list[float] | None:
    """The values as numbers, or None where one of them is not a number."""
    try:
        return [float(value) for value in values]
    except ValueError:
        return None


def _range(values: Sequence[str]) -> str:
    known = [float(value) for value in values if value != UNKNOWN]
    if not known:
        return "–"
    return f"{np.median(known):g} ({min(known):g} to {max(known):g}), {len(known):,} of {len(values):,}"


def _share(value: str, values: Sequence[str]) -> str | Shown:
    count = values.count(value)
    return Shown(f"{count:,}", "", percent(count / len(values))) if values else "–"
