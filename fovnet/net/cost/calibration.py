"""Calibration of a device's cost model by a short run: choosing and timing networks, and storing
the result.

    calibration.json    the fitted numbers, the timed networks with their predictions by the fit,
                        the device's name, the seed

The virtual clock of a search depends on its predictions: an existing calibration is kept, and
measured again only on request.
"""

from __future__ import annotations

import json
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict, dataclass, fields
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from fovnet.errors import SearchError
from fovnet.net.cost.columns import Columns, columns_of_space, join_columns
from fovnet.net.cost.predicted import (
    DeviceSpeed,
    Floats,
    Work,
    predict_costs,
    predict_training_bytes,
    priced_amounts,
)
from fovnet.net.cost.speed import FEWEST_TRAININGS, Timings, fit_device, log_misfit, repeat_number
from fovnet.net.family.architecture import HEADS, Architecture
from fovnet.records import read_json, write_json
from fovnet.search.space import paper_space

MOST_PROBES = 16
CALIBRATION_SECONDS = 45.0  # for building and timing networks
LARGEST_PROBE_BYTES = 2e9
"""Of a timed network: with more weights, initialising them takes longer than the steps."""
UNTIMED_STEPS = 1
TIMED_STEPS = 3
SLICES_IN_TWO_VALIDATIONS = 64
EARLY_PROBE_RATIO = 4.0
"""Most seconds of the first networks, over the least: those that are all alike do not separate the
prices."""


@dataclass(frozen=True)
class TimedNetwork:
    """A network's timed training.

    step_seconds             median of its timed steps
    validated_slice_seconds  of one slice in validation
    """

    step_seconds: float
    validated_slice_seconds: float


@dataclass(frozen=True)
class Calibration:
    """A device as measured.

    speed        the numbers that fit it
    device_name  as it calls itself
    probes       a mapping for each timed network: its properties, its batch, "step_seconds" and
                 "validated_seconds" as measured, and "predicted_step_seconds" by the fit
    trial_count  number of finished trials in the fit
    """

    speed: DeviceSpeed
    device_name: str
    probes: tuple[dict[str, Any], ...]
    trial_count: int = 0

    @property
    def misfits(self) -> Floats:
        """(n,) predicted over measured seconds of the probes' steps."""
        return np.array(
            [probe["predicted_step_seconds"] / probe["step_seconds"] for probe in self.probes]
        )


def probe_candidates(rows: Columns) -> Columns:
    """The networks and batches of a space, each once; with those of the paper's space added if they
    are fewer than MOST_PROBES."""
    own_rows = rows.distinct()
    if len(own_rows) >= MOST_PROBES:
        return own_rows
    head_names = {HEADS[head_index] for head_index in rows.head.tolist()}
    head_name = head_names.pop() if len(head_names) == 1 else "fc"
    paper_rows = columns_of_space(
        paper_space(), classes=rows.classes, head=head_name, inputs=rows.inputs, side=rows.side
    )
    return join_columns(own_rows, paper_rows).distinct()


def calibrate(
    rows: Columns,
    time_network: Callable[[Architecture, int], TimedNetwork],
    device_name: str,
    *,
    largest_bytes: float = LARGEST_PROBE_BYTES,
    budget_seconds: float = CALIBRATION_SECONDS,
    clock: Callable[[], float] = time.monotonic,
    progress: Callable[[int, int], None] | None = None,
) -> Calibration:
    """The calibration of the device on which `time_network` times networks: up to MOST_PROBES of
    `rows`, in about `budget_seconds` by `clock`.

    The first network is the smallest.  Each next one is the farthest from those timed before, in
    the logarithms of its step's amounts, among those that cannot exceed their share of the time: as
    all prices are positive, the ratio of a step's seconds to a timed one's is at most the largest
    ratio of their amounts.  Raises SearchError ("calibration-memory") if too few networks fit in
    `largest_bytes`.
    """
    rows = rows.select(predict_training_bytes(predict_costs(rows), rows.batch) <= largest_bytes)
    if len(rows) < FEWEST_TRAININGS:
        raise SearchError(
            "calibration-memory",
            f"only {len(rows)} networks of the space fit into {largest_bytes / 1e9:g} GB, "
            f"{FEWEST_TRAININGS} have to be timed; give search.speed in numbers",
        )
    amounts = _step_amounts(rows)
    timed_rows: list[int] = []
    timed_trainings: list[TimedNetwork] = []
    start_seconds = clock()
    while len(timed_rows) < min(MOST_PROBES, len(rows)):
        seconds_left = budget_seconds - (clock() - start_seconds)
        most_seconds = 2 * seconds_left / (MOST_PROBES - len(timed_rows))
        row = _next_row(amounts, rows.batch, timed_rows, timed_trainings, most_seconds)
        if row is None:
            break
        timed_trainings.append(time_network(rows.architecture(row), int(rows.batch[row])))
        timed_rows.append(row)
        if progress:
            progress(len(timed_rows), MOST_PROBES)
    return _fit_calibration(rows.select(np.array(timed_rows)), timed_trainings, device_name)


def _next_row(
    amounts: Floats,
    batch_by_row: NDArray[Any],
    timed_rows: Sequence[int],
    timed_trainings: Sequence[TimedNetwork],
    most_seconds: float,
) -> int | None:
    """The row to be timed next; None if no row left is certain to take at most `most_seconds`.  The
    first is the smallest.

    amounts       (M, 6) of a step, as `_step_amounts`
    batch_by_row  (M,) slices of a step
    timed_rows    those whose step was timed in `timed_trainings`
    most_seconds  that timing a row may take
    Until FEWEST_TRAININGS are timed, rows within EARLY_PROBE_RATIO times the least are allowed too,
    however slow the device.
    """
    log_amounts = np.log(amounts)
    scaled_log_amounts = log_amounts / np.maximum(np.ptp(log_amounts, axis=0), 1e-9)
    if not timed_rows:
        return int(scaled_log_amounts.sum(axis=1).argmin())
    step_seconds = np.full(len(scaled_log_amounts), np.inf)
    for row, timed in zip(timed_rows, timed_trainings, strict=True):
        largest_ratio = (amounts / amounts[row]).max(axis=1)
        step_seconds = np.minimum(step_seconds, largest_ratio * timed.step_seconds)
    probe_seconds = step_seconds * (
        UNTIMED_STEPS + TIMED_STEPS + SLICES_IN_TWO_VALIDATIONS / (3 * batch_by_row)
    )
    probe_seconds[list(timed_rows)] = np.inf
    if len(timed_rows) < FEWEST_TRAININGS:
        most_seconds = max(most_seconds, EARLY_PROBE_RATIO * probe_seconds.min())
    is_allowed = probe_seconds <= most_seconds
    if not is_allowed.any():
        return None
    differences = scaled_log_amounts[:, None, :] - scaled_log_amounts[list(timed_rows)]
    nearest_distances = (differences**2).sum(axis=2).min(axis=1)
    return int(np.where(is_allowed, nearest_distances, -1.0).argmax())


def _step_amounts(rows: Columns) -> Floats:
    """(M, 6) amounts of a step: the `priced_amounts` for a device of one filter at once, and the
    convolutions' operations per filter."""
    costs_of_rows = predict_costs(rows)
    device = DeviceSpeed(1.0, 1.0, 1.0)
    step_terms = priced_amounts(costs_of_rows, rows.batch, _work_of_one_step(rows), device)
    return np.stack([*step_terms, 3.0 * rows.batch * costs_of_rows.flop_per_filter], axis=1)


def _work_of_one_step(rows: Columns) -> Work:
    """The work of a single step of each row, without a validation."""
    zeros = repeat_number(0, len(rows))
    return Work(training_slices=rows.batch, validation_slices=zeros, epochs=zeros + 1)


def timings_of_probes(rows: Columns, trainings: Sequence[TimedNetwork]) -> tuple[Timings, Timings]:
    """The steps, and the validated slices, of timed networks."""
    zeros = repeat_number(0, len(rows))
    one_slice = Work(training_slices=zeros, validation_slices=zeros + 1, epochs=zeros + 1)
    step_seconds = np.array([timed.step_seconds for timed in trainings])
    validated_seconds = np.array([timed.validated_slice_seconds for timed in trainings])
    return (
        Timings(rows, _work_of_one_step(rows), step_seconds),
        Timings(rows, one_slice, validated_seconds),
    )


def _fit_calibration(
    rows: Columns,
    trainings: Sequence[TimedNetwork],
    device_name: str,
    trial_timings: Timings | None = None,
) -> Calibration:
    """The calibration from timed networks, and from whole trainings if given."""
    step_timings, validations = timings_of_probes(rows, trainings)
    speed = fit_device(
        step_timings if trial_timings is None else step_timings.join(trial_timings), validations
    )
    predicted_step_seconds = step_timings.measured_seconds * np.exp(log_misfit(speed, step_timings))
    probes = tuple(
        {
            **asdict(rows.architecture(row)),
            "inputs": list(rows.inputs),
            "batch": int(rows.batch[row]),
            "step_seconds": timed.step_seconds,
            "validated_seconds": timed.validated_slice_seconds,
            "predicted_step_seconds": float(predicted_step_seconds[row]),
        }
        for row, timed in enumerate(trainings)
    )
    return Calibration(
        speed, device_name, probes, 0 if trial_timings is None else len(trial_timings)
    )


def refit_with_trials(calibration: Calibration, trial_timings: Timings) -> Calibration:
    """The calibration fitted again to its timed networks and to finished trials.

    Raises SearchError ("calibration-other-inputs") if its networks have other inputs than the
    trials', or another number of classes.
    """
    probed_architectures = [architecture_of_probe(probe) for probe in calibration.probes]
    rows = Columns.of_architectures(
        probed_architectures, [probe["batch"] for probe in calibration.probes]
    )
    if (rows.inputs, rows.classes) != (
        trial_timings.networks.inputs,
        trial_timings.networks.classes,
    ):
        raise SearchError(
            "calibration-other-inputs",
            f"{calibration.device_name}: measured with {_inputs_in_words(rows)}, but the trials have "
            f"{_inputs_in_words(trial_timings.networks)}; measure again with --again",
        )
    trainings = [
        TimedNetwork(probe["step_seconds"], probe["validated_seconds"])
        for probe in calibration.probes
    ]
    return _fit_calibration(rows, trainings, calibration.device_name, trial_timings)


def _inputs_in_words(rows: Columns) -> str:
    return f"inputs {', '.join(rows.inputs)} and {rows.classes} classes"


def architecture_of_probe(probe: Mapping[str, Any]) -> Architecture:
    """The network of a probe; properties that an older file lacks have their defaults."""
    return Architecture(
        **{field.name: probe[field.name] for field in fields(Architecture) if field.name in probe}
    )


def write_calibration(path: Path, calibration: Calibration, *, settings: Any, seed: int) -> Path:
    """`path`, holding the calibration."""
    rounded_misfits = np.round(np.log(calibration.misfits), 4)
    facts = {
        "name": calibration.device_name,
        "device": asdict(calibration.speed),
        "trials": calibration.trial_count,
        "log_predicted_over_measured": rounded_misfits,
        "probes": calibration.probes,
    }
    return write_json(path, facts, settings=settings, seed=seed)


def read_calibration(path: Path) -> Calibration:
    """The calibration at `path`.  Raises SearchError ("calibration-missing",
    "calibration-damaged")."""
    try:
        facts = read_json(path)
        return Calibration(
            speed=DeviceSpeed(**facts["device"]),
            device_name=facts["name"],
            probes=tuple(facts["probes"]),
            trial_count=facts["trials"],
        )
    except FileNotFoundError:
        raise SearchError(
            "calibration-missing",
            f"{path}: no such file; `fovnet calibrate` makes it, for search.speed: measure",
        ) from None
    except (OSError, json.JSONDecodeError, ValueError, KeyError, TypeError) as fault:
        raise SearchError(
            "calibration-damaged",
            f"{path}: unreadable ({fault}); restore it, or remove it and calibrate again",
        ) from None
