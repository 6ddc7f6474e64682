"""Ablation: the arms of `arms.py` on the test split, each compared with the one before it, with paired
intervals.

Every mix of networks has its own temperature, fitted on the validation split; smoothing, thresholds and
heights are those of the rule in use, for all arms alike. Nothing is fitted on the test split.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from fovnet.decision.calibrations import best_temperature
from fovnet.decision.folder import RULE
from fovnet.decision.rule import Rule
from fovnet.errors import ModelError
from fovnet.evaluate.arms import LADDERS, Arm, Mix, Networks
from fovnet.evaluate.cases import Case
from fovnet.evaluate.measures import Measure, Resampling
from fovnet.evaluate.paired import Difference, VolumeOutcome, differences, outcome_of, run_measures
from fovnet.evaluate.tallies import tally
from fovnet.records import read_json, write_json, write_tsv
from fovnet.regions import Vocabulary
from fovnet.results import Results
from fovnet.volume.collection.pack import Pack

Floats = NDArray[np.float64]
FACTS = "ablation.json"
COLUMNS = (
    "ladder",
    "arm",
    "measure",
    "stage",
    "value",
    "low",
    "high",
    "interval",
    "against",
    "gain",
    "gain_low",
    "gain_high",
    "gain_interval",
    "since_first",
    "since_first_low",
    "since_first_high",
    "since_first_interval",
    "numerator",
    "denominator",
    "subjects",
)
SHOWN = (
    ("slice_error", "decided"),
    ("span_f1", "decided"),
    ("exact_set", "decided"),
    ("border_within_10_mm", "decided"),
    ("border_missed", "decided"),
    ("border_abs_mean_mm", "decided"),
)


@dataclass(frozen=True)
class Volume:
    """A labelled volume: heights (s,), truth (s, k), the places (s,) of its slices among the scored ones, and
    where they end (s + 1,)."""

    volume_id: str
    subject: str
    collection: str
    z_mm: Floats
    truth: NDArray[np.bool_]
    places: NDArray[np.int64]
    edges_mm: Floats


@dataclass(frozen=True)
class Step:
    """One arm of a ladder: its measures, and its differences from the arm before it (`against`) and from the
    first; empty for the first."""

    ladder: str
    arm: str
    what: str
    temperature: float
    measures: tuple[Measure, ...]
    against: str
    gains: tuple[Difference, ...]
    since_first: tuple[Difference, ...]


@dataclass(frozen=True)
class Ablation:
    """The steps of all ladders, and the arms left out with the reason."""

    steps: tuple[Step, ...]
    left_out: tuple[tuple[str, str, str], ...]
    bootstrap: int
    seed: int


def ablate(
    pack: Pack,
    networks: Networks,
    rows: NDArray[np.int64],
    vocabulary: Vocabulary,
    rule: Rule,
    *,
    bootstrap: int,
    seed: int,
    ladders: Mapping[str, Sequence[Arm]] = LADDERS,
    progress: Callable[[int, int], object] | None = None,
) -> Ablation:
    """Every arm on the labelled volumes of the test split.

    rows  (m,) rows of the pack that the networks scored, ascending: all of the validation and the test split
    """
    test, validation = (_volumes(pack, rows, split) for split in ("test", "validation"))
    draws = Resampling([one.subject for one in test], repeats=bootstrap, seed=seed)
    temperatures: dict[Mix, float] = {}
    steps: list[Step] = []
    left_out: list[tuple[str, str, str]] = []
    total, done = sum(map(len, ladders.values())), 0
    for ladder, arms in ladders.items():
        past: list[tuple[str, list[VolumeOutcome]]] = []
        for arm in arms:
            p, done = arm.mix(networks), done + 1
            if p is None:
                left_out.append(
                    (
                        ladder,
                        arm.name,
                        f"{arm.what}: there is no such network, its training did not complete",
                    )
                )
                continue
            if arm.mix not in temperatures:
                temperatures[arm.mix] = best_temperature(
                    [p[one.places] for one in validation], [one.truth for one in validation]
                )
            own = replace(rule, temperature=temperatures[arm.mix])
            outcomes = [_outcome(one, p[one.places], arm, vocabulary, own) for one in test]
            shown = tuple(one for one in run_measures(outcomes, draws) if one.stage == "decided")
            since = [_changes(past[place][1], outcomes, draws) if past else () for place in (-1, 0)]
            steps.append(
                Step(
                    ladder,
                    arm.name,
                    arm.what,
                    own.temperature,
                    shown,
                    past[-1][0] if past else "",
                    *since,
                )
            )
            past.append((arm.name, outcomes))
            if progress:
                progress(done, total)
    return Ablation(tuple(steps), tuple(left_out), bootstrap, seed)


def rows_of(found: Ablation) -> list[dict[str, Any]]:
    """One row an arm and measure, in the columns of ablation.tsv; a gain is this arm minus the one before
    it."""
    rows = []
    for step in found.steps:
        for one in step.measures:
            row: dict[str, Any] = {
                "ladder": step.ladder,
                "arm": step.arm,
                "measure": one.name,
                **asdict(one),
                "against": step.against,
            }
            for name, changes in (("gain", step.gains), ("since_first", step.since_first)):
                change = next(
                    (
                        change
                        for change in changes
                        if (change.measure, change.stage) == (one.name, one.stage)
                    ),
                    None,
                )
                if change is not None:
                    row |= {
                        name: change.difference,
                        f"{name}_low": change.low,
                        f"{name}_high": change.high,
                        f"{name}_interval": change.interval,
                    }
            rows.append(row)
    return rows


def made_from(results: Results) -> dict[str, str]:
    """SHA-256 of the files that an ablation of these results is computed from, by file: probabilities, rule,
    labels of slices."""
    return results.checksums(
        results.probabilities, results.ensemble / RULE, results.slices / "slices.npz"
    )


def current_ablation(results: Results) -> Ablation | None:
    """The ablation of these results; None if there is none, or its files have changed since."""
    try:
        facts = read_json(results.evaluation / FACTS)
        return _ablation_in(facts) if facts.get("made_from") == made_from(results) else None
    except (OSError, ValueError, KeyError, TypeError):
        return None


def _ablation_in(facts: Mapping[str, Any]) -> Ablation:
    """The ablation from the facts that `write_ablation` wrote."""
    kinds = {"measures": Measure, "gains": Difference, "since_first": Difference}
    steps = (
        Step(
            **{
                **step,
                **{name: tuple(kind(**one) for one in step[name]) for name, kind in kinds.items()},
            }
        )
        for step in facts["steps"]
    )
    left_out = ((one["ladder"], one["arm"], one["why"]) for one in facts["left_out"])
    return Ablation(tuple(steps), tuple(left_out), facts["bootstrap"], facts["fovnet"]["seed"])


def write_ablation(
    folder: Path, found: Ablation, *, made_from: Mapping[str, str], settings: Any = None
) -> list[Path]:
    """ablation.json and ablation.tsv in `folder`."""
    facts = {
        "level": 0.95,
        "bootstrap": found.bootstrap,
        "made_from": dict(made_from),
        "steps": [asdict(step) for step in found.steps],
        "left_out": [
            dict(zip(("ladder", "arm", "why"), one, strict=True)) for one in found.left_out
        ],
    }
    return [
        write_json(folder / FACTS, facts, settings=settings, seed=found.seed),
        write_tsv(folder / "ablation.tsv", COLUMNS, rows_of(found)),
    ]


def _changes(
    first: Sequence[VolumeOutcome], second: Sequence[VolumeOutcome], draws: Resampling
) -> tuple[Difference, ...]:
    return tuple(one for one in differences(first, second, draws) if one.stage == "decided")


def _volumes(pack: Pack, rows: NDArray[np.int64], split: str) -> list[Volume]:
    """The labelled volumes of a split.  Raises ModelError where not all their slices were scored."""
    found = []
    for index, record in enumerate(pack.records):
        if record.split != split or record.status != "ok":
            continue
        own = slice(record.first_row, record.first_row + record.slices)
        places = np.searchsorted(rows, np.arange(own.start, own.stop))
        if (
            places[-1] >= len(rows)
            or rows[places[0]] != own.start
            or rows[places[-1]] != own.stop - 1
        ):
            raise ModelError(
                "probabilities-stale",
                f"{record.volume_id}: its slices are not among the scored ones; run `fovnet ensemble` again",
            )
        found.append(
            Volume(
                record.name_in_reports,
                record.subject,
                record.collection,
                pack.z_mm[own],
                pack.truth[own],
                places,
                pack.stack(index).edges_mm,
            )
        )
    return found


def _outcome(one: Volume, p: Floats, arm: Arm, vocabulary: Vocabulary, rule: Rule) -> VolumeOutcome:
    """The outcome of an arm's decision on a volume's probabilities (s, k)."""
    decided = arm.reading(p, one.z_mm, one.edges_mm, vocabulary, rule)
    sure = np.ones(len(p))
    case = Case(
        one.volume_id,
        one.subject,
        one.collection,
        "ok",
        "",
        {},
        one.z_mm,
        one.truth,
        p,
        p,
        decided,
        sure,
        (),
        None,
        0.0,
        edges_mm=one.edges_mm,
    )
    return outcome_of(tally(case, vocabulary))
