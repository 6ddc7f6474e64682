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
from fovnet.evaluate.measures import Measure, Resampling, known_values_and_cases
from fovnet.evaluate.slices import confusion_matrix, foremost_class
from fovnet.records import read_tsv, write_tsv
from fovnet.regions import Vocabulary

AGREEMENT_TABLE = "agreement.tsv"
MEASURE_COLUMNS = tuple(field.name for field in fields(Measure) if field.name != "stage")
AGREEMENT_COLUMNS = ("first", "second", *MEASURE_COLUMNS)
Agreements = Mapping[tuple[str, str], Sequence[Measure]]
"""The measures of each pair of readers."""
BORDER_NEAR = f"border_within_{AGREEMENT_MM:.0f}mm"
BORDER_OF_ONE_READER = "border_of_one_reader"
BORDER_DISTANCE = "border_apart_median_mm"


@dataclass(frozen=True)
class ReadingPair:
    """One volume read twice: what each reader says of every slice (n, k), and the heights of the
    slices' edges (n + 1,)."""

    volume_id: str
    subject_id: str
    first_labels: NDArray[np.bool_]
    second_labels: NDArray[np.bool_]
    edges_mm: NDArray[np.float64]


def kappa(tables: NDArray[Any]) -> NDArray[np.float64]:
    """Cohen's kappa (...,) from tables (..., c, c) of counts; NaN where both readers use one class
    alone."""
    slice_count = tables.sum(axis=(-2, -1))
    with np.errstate(invalid="ignore", divide="ignore"):
        observed_agreement = np.trace(tables, axis1=-2, axis2=-1) / slice_count
        chance_agreement = (tables.sum(axis=-1) * tables.sum(axis=-2)).sum(axis=-1) / slice_count**2
        kappa_values = (observed_agreement - chance_agreement) / (1 - chance_agreement)
    return np.asarray(np.where(np.isclose(chance_agreement, 1.0), np.nan, kappa_values))


def measure_agreement(
    pairs: Sequence[ReadingPair], vocabulary: Vocabulary, *, repeats: int = 1000, seed: int = 0
) -> list[Measure]:
    """Slices alike, kappa over all classes and of each region that either reader saw, and of each
    border the median distance, those within AGREEMENT_MM, and those that one reader alone drew.

    Borders include the ends of what is shown.  No measure without a pair.
    """
    if not pairs:
        return []
    resampling = Resampling([pair.subject_id for pair in pairs], repeats=repeats, seed=seed)
    return [
        *_slice_measures(pairs, resampling, vocabulary),
        *_border_measures(pairs, resampling, vocabulary),
    ]


def _slice_measures(
    pairs: Sequence[ReadingPair], resampling: Resampling, vocabulary: Vocabulary
) -> list[Measure]:
    """The share of slices alike, kappa over all classes, and kappa of each region that a reader
    saw."""
    confusion_by_pair = np.stack([_confusion_of_readers(pair, vocabulary) for pair in pairs])
    slices_alike_by_pair = np.trace(confusion_by_pair, axis1=1, axis2=2)
    slice_count_by_pair = confusion_by_pair.sum(axis=(1, 2))
    slice_count = int(slice_count_by_pair.sum())
    measures = [
        resampling.measure_rate("slices_alike", slices_alike_by_pair, slice_count_by_pair),
        resampling.measure_statistic("kappa", confusion_by_pair, kappa, slice_count),
    ]
    for region_index, region in enumerate(vocabulary.classes[:-1]):
        region_tables = np.stack(
            [
                _presence_table(
                    pair.first_labels[:, region_index], pair.second_labels[:, region_index]
                )
                for pair in pairs
            ]
        )
        is_shown_anywhere = region_tables[:, 1:].any() or region_tables[:, 0, 1].any()
        if is_shown_anywhere:
            measures.append(
                resampling.measure_statistic(
                    "kappa", region_tables, kappa, slice_count, region=region
                )
            )
    return measures


def _confusion_of_readers(pair: ReadingPair, vocabulary: Vocabulary) -> NDArray[np.int64]:
    classes_of_first = foremost_class(pair.first_labels, vocabulary)
    classes_of_second = foremost_class(pair.second_labels, vocabulary)
    return confusion_matrix(classes_of_first, classes_of_second, len(vocabulary.classes))


def _presence_table(
    is_shown_to_first: NDArray[np.bool_], is_shown_to_second: NDArray[np.bool_]
) -> NDArray[np.int64]:
    return np.bincount(is_shown_to_first * 2 + is_shown_to_second, minlength=4).reshape(2, 2)


def _border_measures(
    pairs: Sequence[ReadingPair], resampling: Resampling, vocabulary: Vocabulary
) -> list[Measure]:
    """The measures of all borders together (kind ""), and of each kind of border."""
    borders_with_pair_index = [
        (pair_index, border)
        for pair_index, pair in enumerate(pairs)
        for border in borders_between(
            pair.volume_id, pair.first_labels, pair.second_labels, pair.edges_mm, vocabulary
        )
    ]
    measures = []
    for border_kind in ["", *dict.fromkeys(border.kind for _, border in borders_with_pair_index)]:
        borders_of_kind = [
            (pair_index, border)
            for pair_index, border in borders_with_pair_index
            if border_kind in ("", border.kind)
        ]
        if borders_of_kind:
            measures += _measures_of_border_kind(
                border_kind, borders_of_kind, resampling, len(pairs)
            )
    return measures


def _measures_of_border_kind(
    border_kind: str,
    borders_with_pair_index: Sequence[tuple[int, Border]],
    resampling: Resampling,
    pair_count: int,
) -> list[Measure]:
    """Shares of the borders of one kind that both readers drew close together, and that one alone
    drew; and the median distance of those that both drew."""
    errors_mm, pair_index_by_distance = known_values_and_cases(
        (pair_index, border.error_mm) for pair_index, border in borders_with_pair_index
    )
    distances_mm = np.abs(errors_mm)
    pair_index_by_near_distance = pair_index_by_distance[distances_mm <= AGREEMENT_MM]
    border_count_by_pair = np.bincount(
        [pair_index for pair_index, _ in borders_with_pair_index], minlength=pair_count
    )
    shared_count_by_pair = np.bincount(pair_index_by_distance, minlength=pair_count)
    near_count_by_pair = np.bincount(pair_index_by_near_distance, minlength=pair_count)
    measures = [
        resampling.measure_rate(
            BORDER_NEAR, near_count_by_pair, border_count_by_pair, region=border_kind
        ),
        resampling.measure_rate(
            BORDER_OF_ONE_READER,
            border_count_by_pair - shared_count_by_pair,
            border_count_by_pair,
            region=border_kind,
        ),
    ]
    if len(distances_mm):
        measures.append(
            resampling.measure_quantile(
                BORDER_DISTANCE, distances_mm, pair_index_by_distance, 0.5, region=border_kind
            )
        )
    return measures


def write_agreement(folder: Path, pairs: Agreements) -> Path:
    """Writes agreement.tsv: the measures of each pair of readers."""
    measure_rows = [
        {"first": first, "second": second} | asdict(measure)
        for (first, second), measures in pairs.items()
        for measure in measures
    ]
    return write_tsv(folder / AGREEMENT_TABLE, AGREEMENT_COLUMNS, measure_rows)


def read_agreement(folder: Path) -> Agreements:
    """What `write_agreement` wrote beside the tables of a collection; empty where there is no such
    table."""
    try:
        measure_rows = read_tsv(folder / AGREEMENT_TABLE)
        measures_by_readers: dict[tuple[str, str], list[Measure]] = {}
        for row in measure_rows:
            measures_by_readers.setdefault((row["first"], row["second"]), []).append(
                _measure_in_row(row)
            )
        return measures_by_readers
    except (OSError, ValueError, KeyError):
        return {}


def _measure_in_row(row: Mapping[str, str]) -> Measure:
    """The measure that a row of agreement.tsv holds; None for its empty cells."""
    value_by_name = {
        column: float(row[column]) if row[column] else None
        for column in ("numerator", "value", "low", "high")
    }
    return Measure(
        name=row["name"],
        stage="",
        region=row["region"],
        denominator=int(row["denominator"]),
        interval=row["interval"],
        subjects=int(row["subjects"]),
        **value_by_name,
    )
