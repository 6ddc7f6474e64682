"""Comparison of two evaluations on disk: checks that they are of the same volumes and truth, then
the paired differences."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from fovnet.errors import CollectionError
from fovnet.evaluate.measures import Resampling
from fovnet.evaluate.overlaps import SpanCounts
from fovnet.evaluate.paired import Difference, VolumeOutcome, measure_differences, rate_difference
from fovnet.records import read_json, why_no_folder, write_json, write_tsv
from fovnet.regions import NONE

EVALUATION_FILE_NAME = "evaluation.json"
COMPARISON_COLUMNS = (
    "measure",
    "stage",
    "first",
    "second",
    "difference",
    "low",
    "high",
    "interval",
    "subjects",
    "better",
)


PartRow = Mapping[str, Any]
"""A volume's row of parts in evaluation.json, as `PartVolume`."""


def _count_answers(row: PartRow, *answers: str) -> int:
    """The parts with one of these answers of which the labels tell."""
    return sum(part not in row["unknown"] for answer in answers for part in row[answer])


COUNTS_BY_PART_MEASURE: Mapping[str, Callable[[PartRow], tuple[int, int]]] = {
    "part_statements_decided": lambda row: (
        _count_answers(row, "shows", "no"),
        _count_answers(row, "shows", "unsure", "no"),
    ),
    "part_statements_wrong": lambda row: (
        len(row["wrong_yes"]) + len(row["wrong_no"]),
        _count_answers(row, "shows", "no"),
    ),
    "parts_surely_found": lambda row: (
        sum(part in row["shows"] for part in row["truth"]),
        len(row["truth"]),
    ),
}
"""The numerator and denominator that a volume contributes to each rate."""


@dataclass(frozen=True)
class Comparison:
    """Second run minus first; `better` and `worse` count the volumes with fewer and with more wrong
    slices in the second."""

    first: str
    second: str
    volumes: int
    subjects: int
    better: int
    worse: int
    bootstrap: int
    seed: int
    differences: tuple[Difference, ...]


def compare_evaluations(
    first: Path, second: Path, *, bootstrap: int = 1000, seed: int = 1
) -> Comparison:
    """The second evaluation beside the first, each given as evaluation.json, its folder, or a
    results folder.

    Raises CollectionError "compare-missing", and "compare-volumes", "compare-subjects" or
    "compare-truth" naming the first volume that is not the same in both.
    """
    first_volumes = _volumes_by_id(first)
    second_volumes = _volumes_by_id(second)
    _refuse_other_volumes(first, second, first_volumes, second_volumes)
    volume_ids = sorted(first_volumes)
    first_outcomes = [_outcome_of_volume(first_volumes[volume_id]) for volume_id in volume_ids]
    second_outcomes = [_outcome_of_volume(second_volumes[volume_id]) for volume_id in volume_ids]
    resampling = Resampling(
        [first_outcome.subject_id for first_outcome in first_outcomes], repeats=bootstrap, seed=seed
    )
    wrong_slice_changes = [
        second_outcome.wrong - first_outcome.wrong
        for first_outcome, second_outcome in zip(first_outcomes, second_outcomes, strict=True)
    ]
    return Comparison(
        first=str(first),
        second=str(second),
        volumes=len(wrong_slice_changes),
        subjects=resampling.subject_count,
        better=sum(wrong_slice_change < 0 for wrong_slice_change in wrong_slice_changes),
        worse=sum(wrong_slice_change > 0 for wrong_slice_change in wrong_slice_changes),
        bootstrap=bootstrap,
        seed=seed,
        differences=(
            *measure_differences(first_outcomes, second_outcomes, resampling),
            *_part_differences(
                [first_volumes[volume_id].parts for volume_id in volume_ids],
                [second_volumes[volume_id].parts for volume_id in volume_ids],
                resampling,
            ),
        ),
    )


def _part_differences(
    first: Sequence[PartRow | None], second: Sequence[PartRow | None], resampling: Resampling
) -> list[Difference]:
    """Second minus first of the rates of statements on parts, from the rows of the same volumes in
    either run; empty unless both runs evaluated parts against the same labels."""
    row_pairs = [
        (first_row, second_row)
        for first_row, second_row in zip(first, second, strict=True)
        if first_row is not None and second_row is not None
    ]
    if len(row_pairs) < len(first) or any(
        first_row[labels] != second_row[labels]
        for first_row, second_row in row_pairs
        for labels in ("truth", "unknown")
    ):
        return []
    differences = []
    for name, counts_of_row in COUNTS_BY_PART_MEASURE.items():
        first_counts, second_counts = (
            np.array([counts_of_row(row) for row in rows], dtype=np.float64)
            for rows in zip(*row_pairs, strict=True)
        )
        if first_counts[:, 1].any() and second_counts[:, 1].any():
            differences.append(rate_difference(name, "", first_counts, second_counts, resampling))
    return differences


def find_better_run(difference: Difference) -> str:
    """Which run is better in a measure: "first" or "second" where the interval leaves out 0, else
    empty."""
    low = difference.low
    high = difference.high
    if low is None or high is None or low <= 0 <= high:
        return ""
    is_second_lower = high < 0
    return "second" if is_second_lower == difference.lower_is_better else "first"


def write_comparison(folder: Path, comparison: Comparison) -> list[Path]:
    """comparison.json and comparison.tsv in `folder`."""
    difference_rows = [
        {**asdict(difference), "better": find_better_run(difference)}
        for difference in comparison.differences
    ]
    comparison_facts = {**asdict(comparison), "level": 0.95, "differences": difference_rows}
    return [
        write_json(
            folder / "comparison.json",
            comparison_facts,
            settings={"bootstrap": comparison.bootstrap},
            seed=comparison.seed,
        ),
        write_tsv(folder / "comparison.tsv", COMPARISON_COLUMNS, difference_rows),
    ]


class VolumeFacts(NamedTuple):
    """A volume's row of an evaluation, its borders, and its row of parts; None where parts were not
    evaluated."""

    row: Mapping[str, Any]
    borders: list[Mapping[str, Any]]
    parts: PartRow | None


def _volumes_by_id(given_path: Path) -> dict[str, VolumeFacts]:
    """Each volume that was not refused, with its borders, by volume_id."""
    candidate_files = [
        given_path,
        given_path / EVALUATION_FILE_NAME,
        given_path / "evaluation" / EVALUATION_FILE_NAME,
    ]
    evaluation_file = next(
        (candidate_file for candidate_file in candidate_files if candidate_file.is_file()), None
    )
    try:
        if evaluation_file is None:
            raise FileNotFoundError
        evaluation_facts = read_json(evaluation_file)
        borders_by_id: dict[str, list[Mapping[str, Any]]] = {}
        for border in evaluation_facts["borders"]:
            borders_by_id.setdefault(border["volume_id"], []).append(border)
        part_rows = evaluation_facts.get("parts", {}).get("volumes", ())
        part_row_by_id = {part_row["volume_id"]: part_row for part_row in part_rows}
        return {
            row["volume_id"]: VolumeFacts(
                row, borders_by_id.get(row["volume_id"], []), part_row_by_id.get(row["volume_id"])
            )
            for row in evaluation_facts["volumes"]
            if row["slices"]
        }
    except (OSError, ValueError, KeyError, TypeError):
        reason = why_no_folder(given_path) or f"no readable {EVALUATION_FILE_NAME} in it"
        if given_path.is_file():
            reason = f"is not a readable {EVALUATION_FILE_NAME}"
        raise CollectionError(
            "compare-missing",
            f"{given_path}: {reason}; give the folder `evaluation` "
            "of a workflow run, its results folder, or the folder that `fovnet examine --out` "
            "wrote",
        ) from None


def _refuse_other_volumes(
    first_path: Path,
    second_path: Path,
    first_volumes: Mapping[str, VolumeFacts],
    second_volumes: Mapping[str, VolumeFacts],
) -> None:
    """Raise as `compare_evaluations` unless both runs answered the same volumes of the same
    subjects and have the same truth."""
    ids_in_one_alone = sorted(first_volumes.keys() ^ second_volumes.keys())
    if ids_in_one_alone:
        volume_id = ids_in_one_alone[0]
        run_with_volume = first_path if volume_id in first_volumes else second_path
        count_in_first = sum(volume_id in first_volumes for volume_id in ids_in_one_alone)
        count_in_second = sum(volume_id in second_volumes for volume_id in ids_in_one_alone)
        counts_in_words = f"{count_in_first} in {first_path}, {count_in_second} in {second_path}"
        raise CollectionError(
            "compare-volumes",
            f"{volume_id}: evaluated in {run_with_volume} alone (so are {counts_in_words}); both "
            "must have the same volumes. Evaluate both runs on one split, with the same "
            "`identifiers`.",
        )
    if not first_volumes:
        raise CollectionError(
            "compare-volumes",
            f"{first_path}: no volume was answered. Evaluate another split.",
        )
    for volume_id in sorted(first_volumes):
        first_row = first_volumes[volume_id].row
        second_row = second_volumes[volume_id].row
        if first_row["subject_id"] != second_row["subject_id"]:
            raise CollectionError(
                "compare-subjects",
                f"{volume_id}: of subject {first_row['subject_id']} in {first_path}, of "
                f"{second_row['subject_id']} in {second_path}. Evaluate both with the same tables "
                "and `identifiers`.",
            )
        is_same_truth = _truth_of_volume(first_volumes[volume_id]) == _truth_of_volume(
            second_volumes[volume_id]
        )
        if first_row["truth_sha256"] != second_row["truth_sha256"] or not is_same_truth:
            raise CollectionError(
                "compare-truth",
                f"{volume_id}: its truth differs between {first_path} and {second_path}. Slice "
                "and evaluate both with the same tables and the same `prepare`.",
            )


def _truth_of_volume(volume: VolumeFacts) -> tuple[Any, ...]:
    """A volume's truth: number of slices, regions, heights of the borders."""
    row, borders, _ = volume
    true_heights = sorted(
        (border["below"], border["above"], round(border["true_mm"], 2))
        for border in borders
        if border["true_mm"] is not None
    )
    return row["slices"], tuple(row["truth"]), tuple(true_heights)


def _outcome_of_volume(volume: VolumeFacts) -> VolumeOutcome:
    """The outcome of a run on one volume, from its row and its borders in evaluation.json."""
    row, borders, _ = volume
    inner_borders = [border for border in borders if NONE not in (border["below"], border["above"])]
    errors_mm = (border["error_mm"] for border in inner_borders)
    return VolumeOutcome(
        volume_id=row["volume_id"],
        subject_id=row["subject_id"],
        slices=row["slices"],
        wrong_raw=row["wrong_raw"],
        wrong=row["wrong"],
        is_set_exact=row["right"],
        far_slices=row["far"],
        spans=SpanCounts(*row["spans"]),
        true_borders=sum(border["true_mm"] is not None for border in inner_borders),
        errors_mm=tuple(error_mm for error_mm in errors_mm if error_mm is not None),
    )
