"""Ablation: the arms of `arms.py` on the test split, each compared with the one before it, with
paired intervals.

Every mix of networks has its own temperature, fitted on the validation split; smoothing, thresholds
and heights are those of the rule in use, for all arms alike. Nothing is fitted on the test split.
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
class AblationVolume:
    """A labelled volume.

    z_mm      (s,) heights of its slices
    truth     (s, k)
    places    (s,) of its slices among the scored ones
    edges_mm  (s + 1,) where its slices begin and end
    """

    volume_id: str
    subject: str
    collection: str
    z_mm: Floats
    truth: NDArray[np.bool_]
    places: NDArray[np.int64]
    edges_mm: Floats


@dataclass(frozen=True)
class AblationStep:
    """One arm of a ladder: its measures, and its differences from the arm before it (`against`) and
    from the first; empty for the first."""

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

    steps: tuple[AblationStep, ...]
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

    rows  (m,) rows of the pack that the networks scored, ascending: all of the validation and the
          test split
    """
    test = _volumes(pack, rows, "test")
    validation = _volumes(pack, rows, "validation")
    draws = Resampling([volume.subject for volume in test], repeats=bootstrap, seed=seed)
    temperatures: dict[Mix, float] = {}
    steps: list[AblationStep] = []
    left_out: list[tuple[str, str, str]] = []
    total = sum(map(len, ladders.values()))
    done = 0
    for ladder, arms in ladders.items():
        outcomes_by_arm: dict[str, list[VolumeOutcome]] = {}
        for arm in arms:
            done += 1
            p = arm.mix(networks)
            if p is None:
                reason = f"{arm.what}: there is no such network, its training did not complete"
                left_out.append((ladder, arm.name, reason))
                continue
            if arm.mix not in temperatures:
                temperatures[arm.mix] = best_temperature(
                    [p[volume.places] for volume in validation],
                    [volume.truth for volume in validation],
                )
            arm_rule = replace(rule, temperature=temperatures[arm.mix])
            outcomes = [
                _outcome(volume, p[volume.places], arm, vocabulary, arm_rule) for volume in test
            ]
            steps.append(_step(ladder, arm, arm_rule.temperature, outcomes, outcomes_by_arm, draws))
            outcomes_by_arm[arm.name] = outcomes
            if progress:
                progress(done, total)
    return Ablation(tuple(steps), tuple(left_out), bootstrap, seed)


def _step(
    ladder: str,
    arm: Arm,
    temperature: float,
    outcomes: Sequence[VolumeOutcome],
    earlier: Mapping[str, Sequence[VolumeOutcome]],
    draws: Resampling,
) -> AblationStep:
    """The step of an arm; `earlier` are the outcomes of the arms before it, by name and in
    order."""
    against = ""
    gains: tuple[Difference, ...] = ()
    since_first: tuple[Difference, ...] = ()
    if earlier:
        names = list(earlier)
        against = names[-1]
        gains = _changes(earlier[against], outcomes, draws)
        since_first = _changes(earlier[names[0]], outcomes, draws)
    measures = (measure for measure in run_measures(outcomes, draws) if measure.stage == "decided")
    return AblationStep(
        ladder=ladder,
        arm=arm.name,
        what=arm.what,
        temperature=temperature,
        measures=tuple(measures),
        against=against,
        gains=gains,
        since_first=since_first,
    )


def rows_of(ablation: Ablation) -> list[dict[str, Any]]:
    """One row an arm and measure, in the columns of ablation.tsv; a gain is this arm minus the one
    before it."""
    return [_row(step, measure) for step in ablation.steps for measure in step.measures]


def _row(step: AblationStep, measure: Measure) -> dict[str, Any]:
    row: dict[str, Any] = {
        "ladder": step.ladder,
        "arm": step.arm,
        "measure": measure.name,
        **asdict(measure),
        "against": step.against,
    }
    for column, changes in (("gain", step.gains), ("since_first", step.since_first)):
        for change in changes:
            if (change.measure, change.stage) == (measure.name, measure.stage):
                row |= {
                    column: change.difference,
                    f"{column}_low": change.low,
                    f"{column}_high": change.high,
                    f"{column}_interval": change.interval,
                }
    return row


def made_from(results: Results) -> dict[str, str]:
    """SHA-256 of the files that an ablation of these results is computed from, by file:
    probabilities, rule, labels of slices."""
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
    steps = []
    for step in facts["steps"]:
        records = {
            name: tuple(kind(**values) for values in step[name]) for name, kind in kinds.items()
        }
        steps.append(AblationStep(**{**step, **records}))
    left_out = ((arm["ladder"], arm["arm"], arm["why"]) for arm in facts["left_out"])
    return Ablation(tuple(steps), tuple(left_out), facts["bootstrap"], facts["fovnet"]["seed"])


def write_ablation(
    folder: Path, ablation: Ablation, *, made_from: Mapping[str, str], settings: Any = None
) -> list[Path]:
    """ablation.json and ablation.tsv in `folder`."""
    facts = {
        "level": 0.95,
        "bootstrap": ablation.bootstrap,
        "made_from": dict(made_from),
        "steps": [asdict(step) for step in ablation.steps],
        "left_out": [
            {"ladder": ladder, "arm": arm, "why": why} for ladder, arm, why in ablation.left_out
        ],
    }
    return [
        write_json(folder / FACTS, facts, settings=settings, seed=ablation.seed),
        write_tsv(folder / "ablation.tsv", COLUMNS, rows_of(ablation)),
    ]


def _changes(
    first: Sequence[VolumeOutcome], second: Sequence[VolumeOutcome], draws: Resampling
) -> tuple[Difference, ...]:
    changes = differences(first, second, draws)
    return tuple(change for change in changes if change.stage == "decided")


def _volumes(pack: Pack, rows: NDArray[np.int64], split: str) -> list[AblationVolume]:
    """The labelled volumes of a split.  Raises ModelError where not all their slices were
    scored."""
    volumes = []
    for index, record in enumerate(pack.records):
        if record.split != split or record.status != "ok":
            continue
        own_rows = slice(record.first_row, record.first_row + record.slices)
        places = np.searchsorted(rows, np.arange(own_rows.start, own_rows.stop))
        if (
            places[-1] >= len(rows)
            or rows[places[0]] != own_rows.start
            or rows[places[-1]] != own_rows.stop - 1
        ):
            raise ModelError(
                "probabilities-stale",
                f"{record.volume_id}: its slices are not among the scored ones; run `fovnet "
                "ensemble` again",
            )
        volume = AblationVolume(
            volume_id=record.name_in_reports,
            subject=record.subject,
            collection=record.collection,
            z_mm=pack.z_mm[own_rows],
            truth=pack.truth[own_rows],
            places=places,
            edges_mm=pack.stack(index).edges_mm,
        )
        volumes.append(volume)
    return volumes


def _outcome(
    volume: AblationVolume, p: Floats, arm: Arm, vocabulary: Vocabulary, rule: Rule
) -> VolumeOutcome:
    """The outcome of an arm's decision on a volume's probabilities (s, k)."""
    case = Case(
        volume_id=volume.volume_id,
        subject_id=volume.subject,
        collection=volume.collection,
        status="ok",
        message="",
        attributes={},
        z_mm=volume.z_mm,
        truth=volume.truth,
        raw=p,
        smoothed=p,
        decided=arm.reading(p, volume.z_mm, volume.edges_mm, vocabulary, rule),
        confidence=np.ones(len(p)),
        spans=(),
        pixels=None,
        side_mm=0.0,
        edges_mm=volume.edges_mm,
    )
    return outcome_of(tally(case, vocabulary))
