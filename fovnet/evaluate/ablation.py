"""What each step is worth: the arms of `arms.py` on the test split, each beside the one before it, with paired intervals.

Every mix of networks has its own temperature, fitted on the validation split; smoothing, thresholds and heights are those of the rule
in use, for all arms alike. Nothing is fitted on the test split.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from fovnet.decision.packed import Scored, examples
from fovnet.decision.spans import Rule
from fovnet.decision.tuning import best_temperature
from fovnet.evaluate.arms import LADDERS, Arm, Networks
from fovnet.evaluate.cases import Case
from fovnet.evaluate.measures import Measure, Resampling
from fovnet.evaluate.paired import Difference, Outcome, differences, outcome_of, run_measures
from fovnet.evaluate.tallies import tally
from fovnet.records import write_json, write_tsv
from fovnet.regions import Vocabulary
from fovnet.volume.pack import Pack

Floats = NDArray[np.float64]
COLUMNS = ("ladder", "arm", "measure", "stage", "value", "low", "high", "interval", "against", "gain", "gain_low", "gain_high",
           "gain_interval", "since_first", "since_first_low", "since_first_high", "since_first_interval", "numerator", "denominator",
           "subjects")  # fmt: skip
SHOWN = (("slice_error", "decided"), ("span_f1", "decided"), ("exact_set", "decided"), ("border_within_10_mm", "decided"),
         ("border_missed", "decided"), ("border_abs_median_mm", "decided"))  # fmt: skip


@dataclass(frozen=True)
class Step:
    """One arm of a ladder: its measures, what changed `against` the arm before it, and since the first (nothing for the first itself)."""

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
    pack: Pack, networks: Networks, rows: NDArray[np.int64], vocabulary: Vocabulary, rule: Rule, *, bootstrap: int, seed: int,
    ladders: Mapping[str, Sequence[Arm]] = LADDERS, progress: Callable[[int, int], object] | None = None,
) -> Ablation:  # fmt: skip
    """Every arm on the labelled volumes of the test split.

    rows  (m,) rows of the pack that the networks scored, ascending: all of the validation and the test split
    """
    test = [index for index, record in enumerate(pack.records) if record.split == "test" and record.status == "ok"]
    draws = Resampling([_subject(pack, index) for index in test], repeats=bootstrap, seed=seed)
    temperatures: dict[int, float] = {}
    steps: list[Step] = []
    left_out: list[tuple[str, str, str]] = []
    total, done = sum(map(len, ladders.values())), 0
    for ladder, arms in ladders.items():
        past: list[tuple[str, list[Outcome]]] = []
        for arm in arms:
            p, done = arm.mix(networks), done + 1
            if p is None:
                left_out.append((ladder, arm.name, f"{arm.what}: there is no such network, its training did not complete"))
                continue
            scored = Scored(rows, p)
            if id(arm.mix) not in temperatures:
                temperatures[id(arm.mix)] = best_temperature(examples(pack, scored, "validation"))
            own = replace(rule, temperature=temperatures[id(arm.mix)])
            outcomes = [_outcome(pack, index, scored, arm, vocabulary, own) for index in test]
            shown = tuple(one for one in run_measures(outcomes, draws) if one.stage == "decided")
            since = [_changes(past[place][1], outcomes, draws) if past else () for place in (-1, 0)]
            steps.append(Step(ladder, arm.name, arm.what, own.temperature, shown, past[-1][0] if past else "", *since))
            past.append((arm.name, outcomes))
            if progress:
                progress(done, total)
    return Ablation(tuple(steps), tuple(left_out), bootstrap, seed)


def rows_of(found: Ablation) -> list[dict[str, Any]]:
    """One row an arm and measure, in the columns of ablation.tsv; a gain is this arm minus the one before it."""
    rows = []
    for step in found.steps:
        for one in step.measures:
            row: dict[str, Any] = {"ladder": step.ladder, "arm": step.arm, "measure": one.name, **asdict(one), "against": step.against}
            for name, changes in (("gain", step.gains), ("since_first", step.since_first)):
                change = next((change for change in changes if (change.measure, change.stage) == (one.name, one.stage)), None)
                if change is not None:
                    row |= {name: change.difference, f"{name}_low": change.low, f"{name}_high": change.high,
                            f"{name}_interval": change.interval}  # fmt: skip
            rows.append(row)
    return rows


def write_ablation(folder: Path, found: Ablation, *, settings: Any = None) -> list[Path]:
    """ablation.json and ablation.tsv in `folder`."""
    facts = {
        "level": 0.95, "bootstrap": found.bootstrap,
        "steps": [asdict(step) for step in found.steps],
        "left_out": [dict(zip(("ladder", "arm", "why"), one, strict=True)) for one in found.left_out],
    }  # fmt: skip
    return [
        write_json(folder / "ablation.json", facts, settings=settings, seed=found.seed),
        write_tsv(folder / "ablation.tsv", COLUMNS, rows_of(found)),
    ]


def _changes(first: Sequence[Outcome], second: Sequence[Outcome], draws: Resampling) -> tuple[Difference, ...]:
    return tuple(one for one in differences(first, second, draws) if one.stage == "decided")


def _outcome(pack: Pack, index: int, scored: Scored, arm: Arm, vocabulary: Vocabulary, rule: Rule) -> Outcome:
    record, p = pack.records[index], scored.of(pack, index)
    rows = slice(record.first_row, record.first_row + record.slices)
    z_mm, decided = pack.z_mm[rows], arm.reading(p, pack.z_mm[rows], vocabulary, rule)
    return outcome_of(
        tally(
            Case(
                record.name_in_reports, _subject(pack, index), record.collection, "ok", "", {}, z_mm, pack.truth[rows], p, p, decided,
                np.ones(record.slices), (), None, 0.0,
            ),
            vocabulary,
        )
    )  # fmt: skip


def _subject(pack: Pack, index: int) -> str:
    return f"{pack.records[index].collection}/{pack.records[index].subject_id}"
