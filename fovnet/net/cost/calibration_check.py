"""Held-out check of a calibration: networks outside the fit are trained briefly, and compared with
their predictions."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator
from dataclasses import asdict, dataclass

import numpy as np

from fovnet.net.cost.calibration import Calibration, architecture_of_probe
from fovnet.net.cost.columns import Columns
from fovnet.net.cost.predicted import (
    Work,
    predict_costs,
    predict_training_bytes,
    predict_training_seconds,
)
from fovnet.net.cost.probes import VALIDATED_SLICES, ProbeBench
from fovnet.net.family.architecture import Architecture

LONGEST_HELD_OUT_STEP_SECONDS = 1.0  # predicted: longer steps would make the check slow
LARGEST_HELD_OUT_BYTES = 3e9
# fmt: off
REPORTED_PROPERTIES = (
    "blocks", "convolutions", "kernel", "separable", "head", "block", "widen", "stride", "norm",
)
# fmt: on
TOLERANCE_BY_QUANTITY = {"seconds": 0.25, "memory": 0.15}
"""Largest relative error of a prediction, as a share of the measured value."""


@dataclass(frozen=True)
class HeldOutNetwork:
    """One network: seconds of some steps and two validations of 32 slices, and peak memory,
    predicted and measured; `mb` None: not measured."""

    blocks: int
    convolutions: int
    filters: int
    kernel: int
    separable: bool
    head: str
    block: str
    widen: int
    stride: int
    norm: str
    batch: int
    predicted_seconds: float
    seconds: float
    predicted_mb: float
    mb: float | None

    def is_within(self, quantity: str) -> bool | None:
        """Whether the prediction of "seconds" or "memory" is within TOLERANCE_BY_QUANTITY; None if
        it was not measured."""
        predicted_value = self.predicted_seconds
        measured_value: float | None = self.seconds
        if quantity == "memory":
            predicted_value = self.predicted_mb
            measured_value = self.mb
        if measured_value is None:
            return None
        return abs(predicted_value / measured_value - 1) <= TOLERANCE_BY_QUANTITY[quantity]


def choose_held_out(rows: Columns, calibration: Calibration, count: int, seed: int) -> Columns:
    """`count` of the distinct `rows`, drawn among those that were not timed and whose step is
    predicted to be short, in rounds: one of each number of filters, then a second of each."""
    cost = predict_costs(rows)
    step_seconds = predict_training_seconds(
        cost, rows.batch, Work(rows.batch, 0, 1), calibration.speed
    )
    timed_networks = {
        (architecture_of_probe(probe), probe["batch"]) for probe in calibration.probes
    }
    is_small = predict_training_bytes(cost, rows.batch) <= LARGEST_HELD_OUT_BYTES
    usable_rows = np.flatnonzero((step_seconds <= LONGEST_HELD_OUT_STEP_SECONDS) & is_small)
    shuffled_rows = [
        row
        for row in np.random.default_rng(seed).permutation(usable_rows)
        if (rows.architecture(row), int(rows.batch[row])) not in timed_networks
    ]
    row_count_by_filters: Counter[int] = Counter()
    round_of_row = []
    for row in shuffled_rows:
        filter_count = int(rows.filters[row])
        round_of_row.append(row_count_by_filters[filter_count])
        row_count_by_filters[filter_count] += 1
    order_by_round = np.argsort(round_of_row, kind="stable")
    return rows.select(np.array(shuffled_rows, dtype=np.int64)[order_by_round[:count]])


def measure_held_out(
    rows: Columns,
    calibration: Calibration,
    bench: ProbeBench,
    peak_bytes: Callable[[Architecture, int], int],
) -> Iterator[HeldOutNetwork]:
    """Each row, trained for about a second; `peak_bytes` are 0 if unknown."""
    predicted_bytes = predict_training_bytes(predict_costs(rows), rows.batch)
    for row in range(len(rows)):
        architecture = rows.architecture(row)
        batch = int(rows.batch[row])
        row_cost = predict_costs(rows.select([row]))
        step_seconds = predict_training_seconds(
            row_cost, batch, Work(batch, 0, 1), calibration.speed
        )
        step_count = int(np.clip(1.0 / step_seconds[0], 3, 30))
        timers = bench.make_timers(architecture, batch)
        timers.seconds_of_steps(1)
        timers.seconds_of_validation()
        measured_seconds = (
            timers.seconds_of_steps(step_count)
            + timers.seconds_of_validation()
            + timers.seconds_of_validation()
        )
        work = Work(step_count * batch, 2 * VALIDATED_SLICES, 1)
        predicted_seconds = predict_training_seconds(row_cost, batch, work, calibration.speed)
        architecture_fields = asdict(architecture)
        measured_peak_bytes = peak_bytes(architecture, batch)
        yield HeldOutNetwork(
            **{name: architecture_fields[name] for name in REPORTED_PROPERTIES},
            filters=architecture.first_filters,
            batch=batch,
            predicted_seconds=float(predicted_seconds[0]),
            seconds=measured_seconds,
            predicted_mb=float(predicted_bytes[row]) / 1e6,
            mb=measured_peak_bytes / 1e6 if measured_peak_bytes else None,
        )
