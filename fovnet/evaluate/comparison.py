"""Comparison of two evaluations on disk: checks that they are of the same volumes and truth, then the paired
differences."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

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
    """Second run minus first; `better` and `worse` count the volumes with fewer and with more wrong slices in
    the second."""

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
    """The second evaluation beside the first, each given as evaluation.json, its folder, or a results folder.

    Raises CollectionError "compare-missing", and "compare-volumes", "compare-subjects" or "compare-truth"
    naming the first volume that is not the same in both.
    """
    ours, theirs = (_volumes(path) for path in (first, second))
    _refuse_others(first, second, ours, theirs)
    before, after = ([_outcome(*found[name]) for name in sorted(found)] for found in (ours, theirs))
    draws = Resampling([one.subject_id for one in before], repeats=bootstrap, seed=seed)
    moved = [then.wrong - once.wrong for once, then in zip(before, after, strict=True)]
    return Comparison(
        str(first),
        str(second),
        len(moved),
        draws.subjects,
        sum(step < 0 for step in moved),
        sum(step > 0 for step in moved),
        bootstrap,
        seed,
        tuple(differences(before, after, draws)),
    )


def verdict(one: Difference) -> str:
    """Which run is better in a measure: "first" or "second" where the interval leaves out 0, else empty."""
    if one.low is None or one.high is None or one.low <= 0 <= one.high:
        return ""
    return "second" if (one.high < 0) == one.lower_is_better else "first"


def write_comparison(folder: Path, found: Comparison) -> list[Path]:
    """comparison.json and comparison.tsv in `folder`."""
    rows = [{**asdict(one), "better": verdict(one)} for one in found.differences]
    facts = {**asdict(found), "level": 0.95, "differences": rows}
    return [
        write_json(
            folder / "comparison.json",
            facts,
            settings={"bootstrap": found.bootstrap},
            seed=found.seed,
        ),
        write_tsv(folder / "comparison.tsv", COLUMNS, rows),
    ]


Volume = tuple[Mapping[str, Any], list[Mapping[str, Any]]]


def _volumes(path: Path) -> dict[str, Volume]:
    """Each volume that was not refused, with its borders, by volume_id."""
    places = [path, path / FILE, path / "evaluation" / FILE]
    file = next((place for place in places if place.is_file()), None)
    try:
        if file is None:
            raise FileNotFoundError
        facts = read_json(file)
        borders: dict[str, list[Mapping[str, Any]]] = {}
        for border in facts["borders"]:
            borders.setdefault(border["volume_id"], []).append(border)
        return {
            row["volume_id"]: (row, borders.get(row["volume_id"], []))
            for row in facts["volumes"]
            if row["slices"]
        }
    except (OSError, ValueError, KeyError, TypeError):
        raise CollectionError(
            "compare-missing",
            f"{path}: has no readable {FILE}; give the folder `evaluation` of a workflow run, its results "
            "folder, or the folder that `fovnet examine --out` wrote",
        ) from None


def _refuse_others(
    first: Path, second: Path, ours: Mapping[str, Volume], theirs: Mapping[str, Volume]
) -> None:
    """Raise as `compare` unless both runs answered the same volumes of the same subjects and have the same
    truth."""
    alone = sorted(ours.keys() ^ theirs.keys())
    if alone:
        where = first if alone[0] in ours else second
        counts = ", ".join(
            f"{sum(name in run for name in alone)} in {path}"
            for path, run in ((first, ours), (second, theirs))
        )
        raise CollectionError(
            "compare-volumes",
            f"{alone[0]}: evaluated in {where} alone (so are {counts}); both must have the same volumes. "
            "Evaluate both runs on one split, with the same `identifiers`.",
        )
    if not ours:
        raise CollectionError(
            "compare-volumes",
            f"{first}: no volume was answered. Evaluate another split.",
        )
    for name in sorted(ours):
        (one, _), (other, _) = ours[name], theirs[name]
        if one["subject_id"] != other["subject_id"]:
            raise CollectionError(
                "compare-subjects",
                f"{name}: of subject {one['subject_id']} in {first}, of {other['subject_id']} in {second}. "
                "Evaluate both with the same tables and `identifiers`.",
            )
        digests = {one.get("truth_sha256") or "", other.get("truth_sha256") or ""}
        if _truth(*ours[name]) != _truth(*theirs[name]) or ("" not in digests and len(digests) > 1):
            raise CollectionError(
                "compare-truth",
                f"{name}: its truth differs between {first} and {second}. Slice and evaluate both with the "
                "same tables and the same `prepare`.",
            )


def _truth(row: Mapping[str, Any], borders: list[Mapping[str, Any]]) -> tuple[Any, ...]:
    """A volume's truth as evaluations of every version record it: number of slices, regions, heights of the
    borders."""
    heights = sorted(
        (one["below"], one["above"], round(one["true_mm"], 2))
        for one in borders
        if one["true_mm"] is not None
    )
    return row["slices"], tuple(row["truth"]), tuple(heights)


def _outcome(row: Mapping[str, Any], borders: list[Mapping[str, Any]]) -> VolumeOutcome:
    between = [one for one in borders if NONE not in (one["below"], one["above"])]
    return VolumeOutcome(
        row["volume_id"],
        row["subject_id"],
        row["slices"],
        row["wrong_raw"],
        row["wrong"],
        row["right"],
        row["far"],
        tuple(row["spans"]) if "spans" in row else None,
        sum(one["true_mm"] is not None for one in between),
        tuple(one["error_mm"] for one in between if one["error_mm"] is not None),
    )
