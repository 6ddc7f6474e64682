"""Computing cost: time and memory of the trainings."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from fovnet.report.content.page import Table
from fovnet.report.content.wording import duration


def running_table(trials: Sequence[Mapping[str, Any]]) -> Table:
    """Recorded time and memory of the trials, otherwise "not recorded"."""
    if not trials:
        return Table((), (), name="running")
    seconds = [float(trial["seconds"]) for trial in trials if trial.get("seconds") is not None]
    ahead = [float(trial["predicted_seconds"]) for trial in trials if trial.get("predicted_seconds") is not None]
    memory = [float(trial["peak_memory_bytes"]) / 1e6 for trial in trials if trial.get("peak_memory_bytes")]     # 0: not measured on a CPU
    devices = sorted({str(trial["device"]) for trial in trials if trial.get("device")})
    rows = (
        ("trainings", f"{len(trials):,}"),
        ("device", ", ".join(devices) or "not recorded"),
        ("time of one training, median (range)", _spread(seconds, duration)),
        ("time of all trainings together", duration(sum(seconds)) if seconds else "not recorded"),
        ("predicted before training, all together", duration(sum(ahead)) if ahead else "not recorded"),
        ("peak memory of one training, median (range)", _spread(memory, lambda megabytes: f"{megabytes:,.0f} MB")),
        ("time to answer one new volume", "not recorded here: it depends on the machine; fovnet predict shows it as it goes"),
    )
    return Table(("cost", "value"), rows, name="running")


def _spread(values: Sequence[float], words: Any) -> str:
    if not values:
        return "not recorded"
    return f"{words(float(np.median(values)))} ({words(min(values))} to {words(max(values))})"
