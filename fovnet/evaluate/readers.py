"""How far two readers of the same volumes agree, by slices and by borders.

    n  slices of a volume, as its labels count them    k  classes

Cohen's kappa is the agreement beyond what two readers with the same habits would reach by chance, 1 at the
most: over all classes, a slice with two counting for its side region, and of each region by itself (shown or
not).  Its interval resamples subjects, as all intervals here.  Source: Cohen, Educ Psychol Meas 20 (1960) 37.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, fields
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from fovnet.evaluate.borders import AGREEMENT_MM, Border, borders_between
from fovnet.evaluate.measures import Measure, Resampling, values_by_case
from fovnet.evaluate.slices import confusion, foremost_class
from fovnet.records import read_tsv, write_tsv
from fovnet.regions import Vocabulary

TABLE = "agreement.tsv"
MEASURES = tuple(one.name for one in fields(Measure) if one.name != "stage")
COLUMNS = ("first", "second", *MEASURES)
Agreements = Mapping[tuple[str, str], Sequence[Measure]]
"""The measures of each pair of readers."""
NEAR, ALONE, APART = (
    f"border_within_{AGREEMENT_MM:.0f}mm",
    "border_of_one_reader",
    "border_apart_median_mm",
)


@dataclass(frozen=True)
class ReadingPair:
    """One volume read twice: what each reader says of every slice (n, k), and the heights of the slices'
    edges (n + 1,)."""

    volume_id: str
    subject_id: str
    first: NDArray[np.bool_]
    second: NDArray[np.bool_]
    edges_mm: NDArray[np.float64]


def kappa(tables: NDArray[Any]) -> NDArray[np.float64]:
    """Cohen's kappa (...,) from tables (..., c, c) of counts; NaN where both readers use one class alone."""
    total = tables.sum(axis=(-2, -1))
    with np.errstate(invalid="ignore", divide="ignore"):
        observed = np.trace(tables, axis1=-2, axis2=-1) / total
        expected = (tables.sum(axis=-1) * tables.sum(axis=-2)).sum(axis=-1) / total**2
        found = (observed - expected) / (1 - expected)
    return np.asarray(np.where(np.isclose(expected, 1.0), np.nan, found))


def agreement(
    pairs: Sequence[ReadingPair], vocabulary: Vocabulary, *, repeats: int = 1000, seed: int = 0
) -> list[Measure]:
    """Slices alike, kappa over all classes and of each region that either reader saw, and of each border the
    median distance, those within AGREEMENT_MM, and those that one reader alone drew.

    Borders include the ends of what is shown.  No measure without a pair.
    """
    if not pairs:
        return []
    draws = Resampling([one.subject_id for one in pairs], repeats=repeats, seed=seed)
    return [*_slices(pairs, draws, vocabulary), *_borders(pairs, draws, vocabulary)]


def _slices(
    pairs: Sequence[ReadingPair], draws: Resampling, vocabulary: Vocabulary
) -> list[Measure]:
    classes = len(vocabulary.classes)
    both = [
        (foremost_class(one.first, vocabulary), foremost_class(one.second, vocabulary))
        for one in pairs
    ]
    tables = np.stack([confusion(first, second, classes) for first, second in both])
    alike, total = np.trace(tables, axis1=1, axis2=2), tables.sum(axis=(1, 2))
    slices = int(total.sum())
    found = [
        draws.rate("slices_alike", alike, total),
        draws.statistic("kappa", tables, kappa, slices),
    ]
    for column, region in enumerate(vocabulary.classes[:-1]):
        own = np.stack([_two_by_two(one.first[:, column], one.second[:, column]) for one in pairs])
        if own[:, 1:].any() or own[:, 0, 1].any():
            found.append(draws.statistic("kappa", own, kappa, slices, region=region))
    return found


def _two_by_two(first: NDArray[np.bool_], second: NDArray[np.bool_]) -> NDArray[np.int64]:
    return np.bincount(first * 2 + second, minlength=4).reshape(2, 2)


def _borders(
    pairs: Sequence[ReadingPair], draws: Resampling, vocabulary: Vocabulary
) -> list[Measure]:
    drawn = [
        (case, border)
        for case, one in enumerate(pairs)
        for border in borders_between(
            one.volume_id, one.first, one.second, one.edges_mm, vocabulary
        )
    ]
    found = []
    for kind in ["", *dict.fromkeys(border.kind for _, border in drawn)]:
        of_kind = [(case, border) for case, border in drawn if kind in ("", border.kind)]
        found += _of_kind(kind, of_kind, draws, len(pairs)) if of_kind else []
    return found


def _of_kind(
    kind: str, drawn: Sequence[tuple[int, Border]], draws: Resampling, cases: int
) -> list[Measure]:
    far, both_of = values_by_case((case, border.error_mm) for case, border in drawn)
    all_of, apart = [case for case, _ in drawn], np.abs(far)
    all_, both, near = (
        np.bincount(of, minlength=cases) for of in (all_of, both_of, both_of[apart <= AGREEMENT_MM])
    )
    found = [
        draws.rate(NEAR, near, all_, region=kind),
        draws.rate(ALONE, all_ - both, all_, region=kind),
    ]
    if len(apart):
        found.append(draws.quantile(APART, apart, both_of, 0.5, region=kind))
    return found


def write_agreement(folder: Path, pairs: Agreements) -> Path:
    """Writes agreement.tsv: the measures of each pair of readers."""
    rows = [
        {"first": first, "second": second} | asdict(one)
        for (first, second), measures in pairs.items()
        for one in measures
    ]
    return write_tsv(folder / TABLE, COLUMNS, rows)


def read_agreement(folder: Path) -> Agreements:
    """What `write_agreement` wrote beside the tables of a collection; empty where there is no such table."""
    try:
        rows = read_tsv(folder / TABLE)
        found: dict[tuple[str, str], list[Measure]] = {}
        for row in rows:
            found.setdefault((row["first"], row["second"]), []).append(_measure(row))
        return found
    except (OSError, ValueError, KeyError):
        return {}


def _measure(row: Mapping[str, str]) -> Measure:
    numbers = {
        name: float(row[name]) if row[name] else None
        for name in ("numerator", "value", "low", "high")
    }
    return Measure(
        name=row["name"],
        stage="",
        region=row["region"],
        denominator=int(row["denominator"]),
        interval=row["interval"],
        subjects=int(row["subjects"]),
        **numbers,
    )
