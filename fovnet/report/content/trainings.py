"""The trainings of a search, each one once, with the time and memory that it took."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from fovnet.report.content.cells import ReportTable
from fovnet.report.content.wording import duration
from fovnet.search.space import Level
from fovnet.search.trial import Status, Trial, latest_trials


@dataclass(frozen=True)
class TrainingSummary:
    """One training, over all slots in which it went on.

    slot               the last, whose are status, score, message and device too
    is_start           whether its configuration was set by hand
    seconds            of all its slots together
    predicted_seconds  of all its slots together
    epochs             that it has done in all
    peak_memory_bytes  the largest of its slots; None where none was measured
    """

    slot: int
    is_start: bool
    configuration: Mapping[str, Level]
    status: Status
    score: float | None
    seconds: float
    predicted_seconds: float
    epochs: int
    peak_memory_bytes: int | None
    message: str
    device: str


def trainings_of(trials: Sequence[Trial]) -> list[TrainingSummary]:
    """Every training of a search, in the order in which its configurations were begun."""
    return [
        _training_over_slots(
            last_slot, [trial for trial in trials if trial.proposal.row == last_slot.proposal.row]
        )
        for last_slot in latest_trials(trials)
    ]


def _training_over_slots(last_slot: Trial, slots: Sequence[Trial]) -> TrainingSummary:
    """One training from all slots in which it went on."""
    measured_peaks = [
        slot.outcome.peak_memory_bytes
        for slot in slots
        if slot.outcome.peak_memory_bytes is not None
    ]
    return TrainingSummary(
        slot=last_slot.proposal.slot,
        is_start=slots[0].proposal.slot == 0,
        configuration=last_slot.proposal.configuration,
        status=last_slot.outcome.status,
        score=last_slot.score,
        seconds=sum(slot.outcome.seconds for slot in slots),
        predicted_seconds=sum(slot.proposal.predicted_seconds for slot in slots),
        epochs=len(last_slot.outcome.validation_loss),
        peak_memory_bytes=max(measured_peaks, default=None),
        message=last_slot.outcome.message,
        device=last_slot.outcome.device,
    )


def costs_table(trainings: Sequence[TrainingSummary]) -> ReportTable:
    """Recorded time and memory of the trainings; no rows without one."""
    if not trainings:
        return ReportTable((), (), name="running")
    training_seconds = [training.seconds for training in trainings]
    predicted_seconds = [training.predicted_seconds for training in trainings]
    peak_megabytes = [
        training.peak_memory_bytes / 1e6
        for training in trainings
        if training.peak_memory_bytes  # 0 on a CPU
    ]
    devices = sorted({training.device for training in trainings if training.device})
    rows = (
        ("trainings", f"{len(trainings):,}"),
        ("device", ", ".join(devices) or "not recorded"),
        ("time of one training, median (range)", _median_and_range(training_seconds, duration)),
        ("time of all trainings together", duration(sum(training_seconds))),
        ("predicted before training, all together", duration(sum(predicted_seconds))),
        (
            "peak memory of one training, median (range)",
            _median_and_range(peak_megabytes, lambda megabytes: f"{megabytes:,.0f} MB"),
        ),
        (
            "time to answer one new volume",
            "not recorded here: it depends on the machine; fovnet predict shows it as it goes",
        ),
    )
    return ReportTable(("cost", "value"), rows, name="running")


def _median_and_range(values: Sequence[float], to_text: Callable[[float], str]) -> str:
    """ "48 s (12 s to 3 min)": the median of the values and the range, each as text."""
    if not values:
        return "not recorded"
    median = to_text(float(np.median(values)))
    return f"{median} ({to_text(min(values))} to {to_text(max(values))})"
