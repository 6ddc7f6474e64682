"""The recorded attributes of the subjects and of their volumes, by split."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from fovnet.report.content.flow import SPLITS
from fovnet.report.content.page import Shown, Table
from fovnet.report.content.wording import percent

Row = Mapping[str, Any]
MOST_VALUES = 20
"""An attribute with more distinct values is summarised: numbers by median and range, others by the number of values."""
UNKNOWN = "not recorded"


def people_table(manifest: Sequence[Row]) -> Table:
    """One row per value of every recorded attribute, one column per split.

    An attribute with one value per subject (sex, age) is counted in subjects, any other (plane, sequence) in volumes.
    """
    split_rows = {split: [row for row in manifest if row.get("split") == split] for split in SPLITS}
    names = sorted({name for rows in split_rows.values() for row in rows for name in row.get("attributes") or {}})
    rows = [row for name in names for row in _attribute_rows(name, split_rows)]
    return Table(("attribute", "counted in", *SPLITS.values()), tuple(rows), name="people")


def _attribute_rows(name: str, split_rows: Mapping[str, Sequence[Row]]) -> list[tuple[str | Shown, ...]]:
    of_subject = all(len(values) == 1 for rows in split_rows.values() for values in _values_by_subject(name, rows).values())
    found = {split: _values(name, rows, of_subject) for split, rows in split_rows.items()}
    every = sorted({value for values in found.values() for value in values} - {UNKNOWN})
    title, unit = name.replace("_", " "), "subjects" if of_subject else "volumes"
    numbers = _numbers(every)
    if len(every) > MOST_VALUES and numbers is None:
        return [(f"{title}: different values", unit, *(f"{len(set(values) - {UNKNOWN}):,}" for values in found.values()))]
    if len(every) > MOST_VALUES:
        return [(f"{title}: median (range)", unit, *(_range(values) for values in found.values()))]
    ordered = [value for _, value in sorted(zip(numbers, every, strict=True))] if numbers else every
    ordered += [UNKNOWN] if any(UNKNOWN in values for values in found.values()) else []
    return [(f"{title}: {value}", unit, *(_share(value, values) for values in found.values())) for value in ordered]


def _values_by_subject(name: str, rows: Sequence[Row]) -> dict[Any, set[str]]:
    values: dict[Any, set[str]] = defaultdict(set)
    for row in rows:
        values[row.get("subject_id")].add(_value(name, row))
    return values


def _values(name: str, rows: Sequence[Row], of_subject: bool) -> list[str]:
    if of_subject:
        return [next(iter(values)) for values in _values_by_subject(name, rows).values()]
    return [_value(name, row) for row in rows]


def _value(name: str, row: Row) -> str:
    return str((row.get("attributes") or {}).get(name) or "").strip() or UNKNOWN


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
