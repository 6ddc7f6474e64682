"""Comparison of two evaluations on disk: checks that they are of the same volumes and truth, then
the paired differences."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any, NamedTuple

from fovnet.errors import CollectionError
from fovnet.evaluate.measures import Resampling
from fovnet.evaluate.paired import Difference, VolumeOutcome, differences
from fovnet.records import read_json, write_json, write_tsv
from fovnet.regions import NONE

FILE = "evaluation.json"
COLUMNS = (
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


def compare(first: Path, second: Path, *, bootstrap: int = 1000, seed: int = 1) -> Comparison:
    """The second evaluation beside the first, each given as evaluation.json, its folder, or a
    results folder.

    Raises CollectionError "compare-missing", and "compare-volumes", "compare-subjects" or
    "compare-truth" naming the first volume that is not the same in both.
    """
    first_volumes = _volumes(first)
    second_volumes = _volumes(second)
    _refuse_others(first, second, first_volumes, second_volumes)
    outcomes = [_outcome(*first_volumes[name]) for name in sorted(first_volumes)]
    outcomes_after = [_outcome(*second_volumes[name]) for name in sorted(second_volumes)]
    draws = Resampling([outcome.subject_id for outcome in outcomes], repeats=bootstrap, seed=seed)
    changes = [
        outcome_after.wrong - outcome.wrong
        for outcome, outcome_after in zip(outcomes, outcomes_after, strict=True)
    ]
    return Comparison(
        first=str(first),
        second=str(second),
        volumes=len(changes),
        subjects=draws.subjects,
        better=sum(change < 0 for change in changes),
        worse=sum(change > 0 for change in changes),
        bootstrap=bootstrap,
        seed=seed,
        differences=tuple(differences(outcomes, outcomes_after, draws)),
    )


def verdict(difference: Difference) -> str:
    """Which run is better in a measure: "first" or "second" where the interval leaves out 0, else
    empty."""
    low = difference.low
    high = difference.high
    if low is None or high is None or low <= 0 <= high:
        return ""
    return "second" if (high < 0) == difference.lower_is_better else "first"


def write_comparison(folder: Path, comparison: Comparison) -> list[Path]:
    """comparison.json and comparison.tsv in `folder`."""
    rows = [
        {**asdict(difference), "better": verdict(difference)}
        for difference in comparison.differences
    ]
    facts = {**asdict(comparison), "level": 0.95, "differences": rows}
    return [
        write_json(
            folder / "comparison.json",
            facts,
            settings={"bootstrap": comparison.bootstrap},
            seed=comparison.seed,
        ),
        write_tsv(folder / "comparison.tsv", COLUMNS, rows),
    ]


class VolumeFacts(NamedTuple):
    """A volume's row of an evaluation, and its borders."""

    row: Mapping[str, Any]
    borders: list[Mapping[str, Any]]


def _volumes(path: Path) -> dict[str, VolumeFacts]:
    """Each volume that was not refused, with its borders, by volume_id."""
    candidates = [path, path / FILE, path / "evaluation" / FILE]
    file = next((candidate for candidate in candidates if candidate.is_file()), None)
    try:
        if file is None:
            raise FileNotFoundError
        facts = read_json(file)
        borders: dict[str, list[Mapping[str, Any]]] = {}
        for border in facts["borders"]:
            borders.setdefault(border["volume_id"], []).append(border)
        return {
            row["volume_id"]: VolumeFacts(row, borders.get(row["volume_id"], []))
            for row in facts["volumes"]
            if row["slices"]
        }
    except (OSError, ValueError, KeyError, TypeError):
        raise CollectionError(
            "compare-missing",
            f"{path}: has no readable {FILE}; give the folder `evaluation` of a workflow run, its "
            "results folder, or the folder that `fovnet examine --out` wrote",
        ) from None


def _refuse_others(
    first: Path,
    second: Path,
    first_volumes: Mapping[str, VolumeFacts],
    second_volumes: Mapping[str, VolumeFacts],
) -> None:
    """Raise as `compare` unless both runs answered the same volumes of the same subjects and have
    the same truth."""
    names_of_one = sorted(first_volumes.keys() ^ second_volumes.keys())
    if names_of_one:
        name = names_of_one[0]
        path = first if name in first_volumes else second
        in_first = sum(name in first_volumes for name in names_of_one)
        in_second = sum(name in second_volumes for name in names_of_one)
        counts = f"{in_first} in {first}, {in_second} in {second}"
        raise CollectionError(
            "compare-volumes",
            f"{name}: evaluated in {path} alone (so are {counts}); both must have the same "
            "volumes. Evaluate both runs on one split, with the same `identifiers`.",
        )
    if not first_volumes:
        raise CollectionError(
            "compare-volumes",
            f"{first}: no volume was answered. Evaluate another split.",
        )
    for name in sorted(first_volumes):
        row, _ = first_volumes[name]
        second_row, _ = second_volumes[name]
        if row["subject_id"] != second_row["subject_id"]:
            raise CollectionError(
                "compare-subjects",
                f"{name}: of subject {row['subject_id']} in {first}, of {second_row['subject_id']} "
                f"in {second}. Evaluate both with the same tables and `identifiers`.",
            )
        is_same_truth = _truth(*first_volumes[name]) == _truth(*second_volumes[name])
        if row["truth_sha256"] != second_row["truth_sha256"] or not is_same_truth:
            raise CollectionError(
                "compare-truth",
                f"{name}: its truth differs between {first} and {second}. Slice and evaluate both "
                "with the same tables and the same `prepare`.",
            )


def _truth(row: Mapping[str, Any], borders: list[Mapping[str, Any]]) -> tuple[Any, ...]:
    """A volume's truth: number of slices, regions, heights of the borders."""
    heights = sorted(
        (border["below"], border["above"], round(border["true_mm"], 2))
        for border in borders
        if border["true_mm"] is not None
    )
    return row["slices"], tuple(row["truth"]), tuple(heights)


def _outcome(row: Mapping[str, Any], borders: list[Mapping[str, Any]]) -> VolumeOutcome:
    inner_borders = [border for border in borders if NONE not in (border["below"], border["above"])]
    errors_mm = (border["error_mm"] for border in inner_borders)
    return VolumeOutcome(
        volume_id=row["volume_id"],
        subject_id=row["subject_id"],
        slices=row["slices"],
        wrong_raw=row["wrong_raw"],
        wrong=row["wrong"],
        exact=row["right"],
        far_slices=row["far"],
        spans=tuple(row["spans"]),
        true_borders=sum(border["true_mm"] is not None for border in inner_borders),
        errors_mm=tuple(error for error in errors_mm if error is not None),
    )
