"""How far two readers of the same volumes agree, by slices and by borders.

    n  slices of a volume, as its labels count them    k  classes

Cohen's kappa is the agreement beyond what two readers with the same habits would reach by chance, 1
at the most: over all classes, a slice with two counting for its side region, and of each region by
itself (shown or not).  Its interval resamples subjects, as all intervals here.  Source: Cohen, Educ
Psychol Meas 20 (1960) 37.
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
MEASURES = tuple(field.name for field in fields(Measure) if field.name != "stage")
COLUMNS = ("first", "second", *MEASURES)
Agreements = Mapping[tuple[str, str], Sequence[Measure]]
"""The measures of each pair of readers."""
NEAR = f"border_within_{AGREEMENT_MM:.0f}mm"
ALONE = "border_of_one_reader"
APART = "border_apart_median_mm"


@dataclass(frozen=True)
class ReadingPair:
    """One volume read twice: what each reader says of every slice (n, k), and the heights of the
    slices' edges (n + 1,)."""

    volume_id: str
    subject_id: str
    first: NDArray[np.bool_]
    second: NDArray[np.bool_]
    edges_mm: NDArray[np.float64]


def kappa(tables: NDArray[Any]) -> NDArray[np.float64]:
    """Cohen's kappa (...,) from tables (..., c, c) of counts; NaN where both readers use one class
    alone."""
    total = tables.sum(axis=(-2, -1))
    with np.errstate(invalid="ignore", divide="ignore"):
        observed = np.trace(tables, axis1=-2, axis2=-1) / total
        expected = (tables.sum(axis=-1) * tables.sum(axis=-2)).sum(axis=-1) / total**2
        kappas = (observed - expected) / (1 - expected)
    return np.asarray(np.where(np.isclose(expected, 1.0), np.nan, kappas))


def agreement(
    pairs: Sequence[ReadingPair], vocabulary: Vocabulary, *, repeats: int = 1000, seed: int = 0
) -> list[Measure]:
    """Slices alike, kappa over all classes and of each region that either reader saw, and of each
    border the median distance, those within AGREEMENT_MM, and those that one reader alone drew.

    Borders include the ends of what is shown.  No measure without a pair.
    """
    if not pairs:
        return []
    draws = Resampling([pair.subject_id for pair in pairs], repeats=repeats, seed=seed)
    return [*_slices(pairs, draws, vocabulary), *_borders(pairs, draws, vocabulary)]


def _slices(
    pairs: Sequence[ReadingPair], draws: Resampling, vocabulary: Vocabulary
) -> list[Measure]:
    tables = np.stack([_confusion(pair, vocabulary) for pair in pairs])
    slices_alike = np.trace(tables, axis1=1, axis2=2)
    slices_of_pair = tables.sum(axis=(1, 2))
    slices = int(slices_of_pair.sum())
    measures = [
        draws.rate("slices_alike", slices_alike, slices_of_pair),
        draws.statistic("kappa", tables, kappa, slices),
    ]
    for column, region in enumerate(vocabulary.classes[:-1]):
        region_tables = np.stack(
            [_two_by_two(pair.first[:, column], pair.second[:, column]) for pair in pairs]
        )
        is_anywhere = region_tables[:, 1:].any() or region_tables[:, 0, 1].any()
        if is_anywhere:
            measures.append(draws.statistic("kappa", region_tables, kappa, slices, region=region))
    return measures


def _confusion(pair: ReadingPair, vocabulary: Vocabulary) -> NDArray[np.int64]:
    first = foremost_class(pair.first, vocabulary)
    second = foremost_class(pair.second, vocabulary)
    return confusion(first, second, len(vocabulary.classes))


def _two_by_two(first: NDArray[np.bool_], second: NDArray[np.bool_]) -> NDArray[np.int64]:
    return np.bincount(first * 2 + second, minlength=4).reshape(2, 2)


def _borders(
    pairs: Sequence[ReadingPair], draws: Resampling, vocabulary: Vocabulary
) -> list[Measure]:
    numbered_borders = [
        (number, border)
        for number, pair in enumerate(pairs)
        for border in borders_between(
            pair.volume_id, pair.first, pair.second, pair.edges_mm, vocabulary
        )
    ]
    measures = []
    for kind in ["", *dict.fromkeys(border.kind for _, border in numbered_borders)]:
        of_kind = [
            (number, border) for number, border in numbered_borders if kind in ("", border.kind)
        ]
        if of_kind:
            measures += _borders_of_kind(kind, of_kind, draws, len(pairs))
    return measures


def _borders_of_kind(
    kind: str, borders: Sequence[tuple[int, Border]], draws: Resampling, pairs: int
) -> list[Measure]:
    errors_mm, pair_of_both = values_by_case(
        (number, border.error_mm) for number, border in borders
    )
    distance_mm = np.abs(errors_mm)
    pair_of_near = pair_of_both[distance_mm <= AGREEMENT_MM]
    drawn_by_any = np.bincount([number for number, _ in borders], minlength=pairs)
    drawn_by_both = np.bincount(pair_of_both, minlength=pairs)
    drawn_near = np.bincount(pair_of_near, minlength=pairs)
    measures = [
        draws.rate(NEAR, drawn_near, drawn_by_any, region=kind),
        draws.rate(ALONE, drawn_by_any - drawn_by_both, drawn_by_any, region=kind),
    ]
    if len(distance_mm):
        measures.append(draws.quantile(APART, distance_mm, pair_of_both, 0.5, region=kind))
    return measures


def write_agreement(folder: Path, pairs: Agreements) -> Path:
    """Writes agreement.tsv: the measures of each pair of readers."""
    rows = [
        {"first": first, "second": second} | asdict(measure)
        for (first, second), measures in pairs.items()
        for measure in measures
    ]
    return write_tsv(folder / TABLE, COLUMNS, rows)


def read_agreement(folder: Path) -> Agreements:
    """What `write_agreement` wrote beside the tables of a collection; empty where there is no such
    table."""
    try:
        rows = read_tsv(folder / TABLE)
        measures: dict[tuple[str, str], list[Measure]] = {}
        for row in rows:
            measures.setdefault((row["first"], row["second"]), []).append(_measure(row))
        return measures
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
