"""Ablation: the arms of `arms.py` on the test split, each compared with the one before it, with
paired intervals.

Every mix of networks has its own temperature, fitted on the validation split; smoothing, thresholds
and heights are those of the rule in use, for all arms alike. Nothing is fitted on the test split.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from fovnet.decision.calibrations import fit_temperature
from fovnet.decision.folder import RULE_FILE_NAME
from fovnet.decision.rule import Rule
from fovnet.errors import ModelError
from fovnet.evaluate.arms import (
    LADDERS,
    Arm,
    Mix,
    Networks,
    mix_as_shipped,
    take_best_member,
    take_starting_network,
)
from fovnet.evaluate.cases import Case
from fovnet.evaluate.measures import Measure, Resampling
from fovnet.evaluate.paired import (
    Difference,
    VolumeOutcome,
    measure_differences,
    measure_run,
    outcome_of,
)
from fovnet.evaluate.slices import confusion_matrix, confusion_rows
from fovnet.evaluate.tallies import count_case
from fovnet.records import read_json, write_json, write_tsv
from fovnet.regions import Vocabulary
from fovnet.results import Results
from fovnet.volume.collection.pack import Pack

Floats = NDArray[np.float64]
ABLATION_FILE_NAME = "ablation.json"
ABLATION_COLUMNS = (
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
MIX_BY_NETWORK_NAME: Mapping[str, Mix] = {
    "starting network": take_starting_network,
    "best network": take_best_member,
    "ensemble": mix_as_shipped,
}
"""The networks whose confusions are counted, before any smoothing."""
MEASURES_SHOWN = (
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

    z_mm              (s,) heights of its slices
    truth             (s, k)
    scored_positions  (s,) of its slices among the scored ones
    edges_mm          (s + 1,) where its slices begin and end
    """

    volume_id: str
    subject: str
    collection: str
    z_mm: Floats
    truth: NDArray[np.bool_]
    scored_positions: NDArray[np.int64]
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


class OmittedArm(NamedTuple):
    """An arm of a ladder that was left out, and why."""

    ladder: str
    arm: str
    reason: str


@dataclass(frozen=True)
class NetworkConfusion:
    """Slices of the test split by true class (row) and most probable class (column), of networks
    alone: the class of the highest probability, each slice by itself."""

    name: str
    counts: tuple[tuple[int, ...], ...]


@dataclass(frozen=True)
class Ablation:
    """The steps of all ladders, the arms left out, and the confusions of networks alone; of a
    starting network that was not trained to the end there are none."""

    steps: tuple[AblationStep, ...]
    omitted_arms: tuple[OmittedArm, ...]
    confusions: tuple[NetworkConfusion, ...]
    bootstrap: int
    seed: int


def measure_ablation(
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
    test_volumes = _labelled_volumes(pack, rows, "test")
    validation_volumes = _labelled_volumes(pack, rows, "validation")
    resampling = Resampling(
        [volume.subject for volume in test_volumes], repeats=bootstrap, seed=seed
    )
    temperature_by_mix: dict[Mix, float] = {}
    steps: list[AblationStep] = []
    omitted_arms: list[OmittedArm] = []
    arm_count = sum(map(len, ladders.values()))
    finished_count = 0
    for ladder, arms in ladders.items():
        outcomes_by_arm: dict[str, list[VolumeOutcome]] = {}
        for arm in arms:
            finished_count += 1
            probabilities = arm.mix_networks(networks)
            if probabilities is None:
                reason = (
                    f"{arm.description}: there is no such network, its training did not complete"
                )
                omitted_arms.append(OmittedArm(ladder, arm.name, reason))
                continue
            if arm.mix_networks not in temperature_by_mix:
                temperature_by_mix[arm.mix_networks] = fit_temperature(
                    [probabilities[volume.scored_positions] for volume in validation_volumes],
                    [volume.truth for volume in validation_volumes],
                )
            arm_rule = replace(rule, temperature=temperature_by_mix[arm.mix_networks])
            outcomes = [
                _outcome_of_arm(
                    volume, probabilities[volume.scored_positions], arm, vocabulary, arm_rule
                )
                for volume in test_volumes
            ]
            steps.append(
                _make_step(ladder, arm, arm_rule.temperature, outcomes, outcomes_by_arm, resampling)
            )
            outcomes_by_arm[arm.name] = outcomes
            if progress:
                progress(finished_count, arm_count)
    confusions = _count_confusions(networks, test_volumes, vocabulary)
    return Ablation(tuple(steps), tuple(omitted_arms), confusions, bootstrap, seed)


def _count_confusions(
    networks: Networks, volumes: Sequence[AblationVolume], vocabulary: Vocabulary
) -> tuple[NetworkConfusion, ...]:
    """The confusions of each network of MIX_BY_NETWORK_NAME that there is."""
    positions = np.concatenate([volume.scored_positions for volume in volumes])
    truth = np.concatenate([volume.truth for volume in volumes])
    confusions = []
    for name, mix_networks in MIX_BY_NETWORK_NAME.items():
        probabilities = mix_networks(networks)
        if probabilities is None:
            continue
        predicted = probabilities[positions].argmax(axis=1)
        true_classes = confusion_rows(truth, predicted, vocabulary)
        counts = confusion_matrix(true_classes, predicted, len(vocabulary.classes))
        confusions.append(NetworkConfusion(name, tuple(map(tuple, counts.tolist()))))
    return tuple(confusions)


def _make_step(
    ladder: str,
    arm: Arm,
    temperature: float,
    outcomes: Sequence[VolumeOutcome],
    earlier_outcomes_by_arm: Mapping[str, Sequence[VolumeOutcome]],
    resampling: Resampling,
) -> AblationStep:
    """The step of an arm; `earlier_outcomes_by_arm` are those of the arms before it, in order."""
    preceding_arm = ""
    gains_over_preceding: tuple[Difference, ...] = ()
    gains_over_first: tuple[Difference, ...] = ()
    if earlier_outcomes_by_arm:
        earlier_arms = list(earlier_outcomes_by_arm)
        preceding_arm = earlier_arms[-1]
        gains_over_preceding = _decided_differences(
            earlier_outcomes_by_arm[preceding_arm], outcomes, resampling
        )
        gains_over_first = _decided_differences(
            earlier_outcomes_by_arm[earlier_arms[0]], outcomes, resampling
        )
    measures = (
        measure for measure in measure_run(outcomes, resampling) if measure.stage == "decided"
    )
    return AblationStep(
        ladder=ladder,
        arm=arm.name,
        what=arm.description,
        temperature=temperature,
        measures=tuple(measures),
        against=preceding_arm,
        gains=gains_over_preceding,
        since_first=gains_over_first,
    )


def ablation_rows(ablation: Ablation) -> list[dict[str, Any]]:
    """One row an arm and measure, in the columns of ablation.tsv; a gain is this arm minus the one
    before it."""
    return [_measure_row(step, measure) for step in ablation.steps for measure in step.measures]


def _measure_row(step: AblationStep, measure: Measure) -> dict[str, Any]:
    """The row of one measure of an arm, with its gain over the arm before it and since the first,
    where it has them."""
    row: dict[str, Any] = {
        "ladder": step.ladder,
        "arm": step.arm,
        "measure": measure.name,
        **asdict(measure),
        "against": step.against,
    }
    for gain_name, differences_of_step in (("gain", step.gains), ("since_first", step.since_first)):
        for difference in differences_of_step:
            if (difference.measure, difference.stage) == (measure.name, measure.stage):
                row |= {
                    gain_name: difference.difference,
                    f"{gain_name}_low": difference.low,
                    f"{gain_name}_high": difference.high,
                    f"{gain_name}_interval": difference.interval,
                }
    return row


def input_checksums(results: Results) -> dict[str, str]:
    """SHA-256 of the files that an ablation of these results is computed from, by file:
    probabilities, rule, labels of slices."""
    return results.checksums(
        results.probabilities, results.ensemble / RULE_FILE_NAME, results.slices / "slices.npz"
    )


def current_ablation(results: Results) -> Ablation | None:
    """The ablation of these results; None if there is none, or its files have changed since."""
    try:
        ablation_facts = read_json(results.evaluation / ABLATION_FILE_NAME)
        if ablation_facts.get("made_from") != input_checksums(results):
            return None
        return _ablation_from_facts(ablation_facts)
    except (OSError, ValueError, KeyError, TypeError):
        return None


def _ablation_from_facts(ablation_facts: Mapping[str, Any]) -> Ablation:
    """The ablation from the facts that `write_ablation` wrote."""
    record_class_by_field = {"measures": Measure, "gains": Difference, "since_first": Difference}
    steps = []
    for step_facts in ablation_facts["steps"]:
        records_by_field = {
            field_name: tuple(
                record_class(**field_values) for field_values in step_facts[field_name]
            )
            for field_name, record_class in record_class_by_field.items()
        }
        steps.append(AblationStep(**{**step_facts, **records_by_field}))
    omitted_arms = (
        OmittedArm(arm["ladder"], arm["arm"], arm["why"]) for arm in ablation_facts["left_out"]
    )
    confusions = (
        NetworkConfusion(facts["name"], tuple(map(tuple, facts["counts"])))
        for facts in ablation_facts["confusions"]
    )
    return Ablation(
        tuple(steps),
        tuple(omitted_arms),
        tuple(confusions),
        ablation_facts["bootstrap"],
        ablation_facts["fovnet"]["seed"],
    )


def write_ablation(
    folder: Path, ablation: Ablation, *, made_from: Mapping[str, str], settings: Any = None
) -> list[Path]:
    """ablation.json and ablation.tsv in `folder`."""
    ablation_facts = {
        "level": 0.95,
        "bootstrap": ablation.bootstrap,
        "made_from": dict(made_from),
        "steps": [asdict(step) for step in ablation.steps],
        "left_out": [
            {"ladder": ladder, "arm": arm, "why": reason}
            for ladder, arm, reason in ablation.omitted_arms
        ],
        "confusions": [asdict(confusion) for confusion in ablation.confusions],
    }
    return [
        write_json(
            folder / ABLATION_FILE_NAME, ablation_facts, settings=settings, seed=ablation.seed
        ),
        write_tsv(folder / "ablation.tsv", ABLATION_COLUMNS, ablation_rows(ablation)),
    ]


def _decided_differences(
    first: Sequence[VolumeOutcome], second: Sequence[VolumeOutcome], resampling: Resampling
) -> tuple[Difference, ...]:
    all_differences = measure_differences(first, second, resampling)
    return tuple(difference for difference in all_differences if difference.stage == "decided")


def _labelled_volumes(
    pack: Pack, scored_rows: NDArray[np.int64], split: str
) -> list[AblationVolume]:
    """The labelled volumes of a split.  Raises ModelError where not all their slices were
    scored."""
    volumes = []
    for record_index, record in enumerate(pack.records):
        if record.split != split or record.status != "ok":
            continue
        rows_of_volume = slice(record.first_row, record.first_row + record.slice_count)
        scored_positions = np.searchsorted(
            scored_rows, np.arange(rows_of_volume.start, rows_of_volume.stop)
        )
        if (
            scored_positions[-1] >= len(scored_rows)
            or scored_rows[scored_positions[0]] != rows_of_volume.start
            or scored_rows[scored_positions[-1]] != rows_of_volume.stop - 1
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
            z_mm=pack.z_mm[rows_of_volume],
            truth=pack.truth[rows_of_volume],
            scored_positions=scored_positions,
            edges_mm=pack.stack_of_volume(record_index).edges_mm,
        )
        volumes.append(volume)
    return volumes


def _outcome_of_arm(
    volume: AblationVolume, probabilities: Floats, arm: Arm, vocabulary: Vocabulary, rule: Rule
) -> VolumeOutcome:
    """The outcome of an arm's decision on a volume's `probabilities` (s, k)."""
    case = Case(
        volume_id=volume.volume_id,
        subject_id=volume.subject,
        collection=volume.collection,
        status="ok",
        message="",
        attributes={},
        z_mm=volume.z_mm,
        truth=volume.truth,
        raw_probabilities=probabilities,
        smoothed_probabilities=probabilities,
        decided_labels=arm.decode(probabilities, volume.z_mm, volume.edges_mm, vocabulary, rule),
        slice_confidence=np.ones(len(probabilities)),
        spans=(),
        pixels=None,
        side_mm=0.0,
        edges_mm=volume.edges_mm,
    )
    return outcome_of(count_case(case, vocabulary))
