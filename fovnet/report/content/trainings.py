"""The trainings of a search, each one once, with the time and memory that it took."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from fovnet.report.content.cells import Table
from fovnet.report.content.wording import duration
from fovnet.search.space import Level
from fovnet.search.trial import Status, Trial, latest


@dataclass(frozen=True)
class Training:
    """One training, over all slots in which it went on.

    slot, status, score, message, device  those of its last slot
    is_start  whether its configuration was set by hand;  epochs  that it has done in all
    seconds, predicted_seconds  of all its slots together
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


def trainings_of(trials: Sequence[Trial]) -> list[Training]:
    """Every training of a search, in the order in which its configurations were begun."""
    return [
        _training(last, [trial for trial in trials if trial.proposal.row == last.proposal.row])
        for last in latest(trials)
    ]


def _training(last: Trial, slots: Sequence[Trial]) -> Training:
    peaks = [
        one.outcome.peak_memory_bytes for one in slots if one.outcome.peak_memory_bytes is not None
    ]
    return Training(
        slot=last.proposal.slot,
        is_start=slots[0].proposal.slot == 0,
        configuration=last.proposal.configuration,
        status=last.outcome.status,
        score=last.score,
        seconds=sum(one.outcome.seconds for one in slots),
        predicted_seconds=sum(one.proposal.predicted_seconds for one in slots),
        epochs=len(last.outcome.validation_loss),
        peak_memory_bytes=max(peaks, default=None),
        message=last.outcome.message,
        device=last.outcome.device,
    )


def costs_table(trainings: Sequence[Training]) -> Table:
    """Recorded time and memory of the trainings; no rows without one."""
    if not trainings:
        return Table((), (), name="running")
    seconds, ahead = (
        [one.seconds for one in trainings],
        [one.predicted_seconds for one in trainings],
    )
    memory = [
        one.peak_memory_bytes / 1e6 for one in trainings if one.peak_memory_bytes
    ]  # 0: none on a CPU
    devices = sorted({one.device for one in trainings if one.device})
    rows = (
        ("trainings", f"{len(trainings):,}"),
        ("device", ", ".join(devices) or "not recorded"),
        ("time of one training, median (range)", _spread(seconds, duration)),
        ("time of all trainings together", duration(sum(seconds))),
        ("predicted before training, all together", duration(sum(ahead))),
        (
            "peak memory of one training, median (range)",
            _spread(memory, lambda megabytes: f"{megabytes:,.0f} MB"),
        ),
        (
            "time to answer one new volume",
            "not recorded here: it depends on the machine; fovnet predict shows it as it goes",
        ),
    )
    return Table(("cost", "value"), rows, name="running")


def _spread(values: Sequence[float], words: Callable[[float], str]) -> str:
    if not values:
        return "not recorded"
    return f"{words(float(np.median(values)))} ({words(min(values))} to {words(max(values))})"
