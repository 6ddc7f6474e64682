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
from fovnet.net.cost.predicted import Device, Floats, Work, costs, terms, training_bytes
from fovnet.net.cost.speed import FEWEST, Timings, fit_device, misfit, repeat
from fovnet.net.family.architecture import HEADS, Architecture
from fovnet.records import read_json, write_json
from fovnet.search.space import paper_space

PROBES = 16
SECONDS = 45.0  # for building and timing networks
# of a timed network: with more weights, initialising them takes longer than the steps
LARGEST_BYTES = 2e9
WARM = 1
TIMED = 3
VALIDATED = 64
# times the least seconds: networks that are all alike do not separate the prices
NEARLY_SHORTEST = 4.0


@dataclass(frozen=True)
class Timed:
    """A network's timed training: median seconds of a step, and seconds of a validated slice."""

    step_seconds: float
    validated_seconds: float


@dataclass(frozen=True)
class Calibration:
    """A device as measured.

    name     of the device
    probes   a mapping each: the network, its batch, measured seconds, and the fit's prediction
    trials   number of finished trials in the fit
    """

    device: Device
    name: str
    probes: tuple[dict[str, Any], ...]
    trials: int = 0

    @property
    def misfits(self) -> Floats:
        """(n,) predicted over measured seconds of the probes' steps."""
        return np.array(
            [probe["predicted_step_seconds"] / probe["step_seconds"] for probe in self.probes]
        )


def candidates(rows: Columns) -> Columns:
    """The networks and batches of a space, each once; with those of the paper's space added if they
    are fewer than PROBES."""
    own_rows = rows.distinct()
    if len(own_rows) >= PROBES:
        return own_rows
    heads = {HEADS[head] for head in rows.head.tolist()}
    head = heads.pop() if len(heads) == 1 else "fc"
    paper = columns_of_space(
        paper_space(), classes=rows.classes, head=head, inputs=rows.inputs, side=rows.side
    )
    return join_columns(own_rows, paper).distinct()


def calibrate(
    rows: Columns,
    probe: Callable[[Architecture, int], Timed],
    name: str,
    *,
    largest_bytes: float = LARGEST_BYTES,
    seconds: float = SECONDS,
    now: Callable[[], float] = time.monotonic,
    progress: Callable[[int, int], None] | None = None,
) -> Calibration:
    """The calibration of the device on which `probe` times networks: up to 16 of `rows`, in about
    `seconds` by the clock `now`.

    The first network is the smallest.  Each next one is the farthest from those timed before, in
    the logarithms of its step's amounts, among those that cannot exceed their share of the time: as
    all prices are positive, the ratio of a step's seconds to a timed one's is at most the largest
    ratio of their amounts.  Raises SearchError ("calibration-memory") if too few networks fit in
    `largest_bytes`.
    """
    rows = rows.select(training_bytes(costs(rows), rows.batch) <= largest_bytes)
    if len(rows) < FEWEST:
        raise SearchError(
            "calibration-memory",
            f"only {len(rows)} networks of the space fit into {largest_bytes / 1e9:g} GB, "
            f"{FEWEST} have to be timed; give search.speed in numbers",
        )
    amounts = _amounts(rows)
    timed_rows: list[int] = []
    timed_trainings: list[Timed] = []
    start = now()
    while len(timed_rows) < min(PROBES, len(rows)):
        seconds_left = seconds - (now() - start)
        most_seconds = 2 * seconds_left / (PROBES - len(timed_rows))
        row = _next_row(amounts, rows.batch, timed_rows, timed_trainings, most_seconds)
        if row is None:
            break
        timed_trainings.append(probe(rows.architecture(row), int(rows.batch[row])))
        timed_rows.append(row)
        if progress:
            progress(len(timed_rows), PROBES)
    return _calibration(rows.select(np.array(timed_rows)), timed_trainings, name)


def _next_row(
    amounts: Floats,
    batch: NDArray[Any],
    timed_rows: Sequence[int],
    timed_trainings: Sequence[Timed],
    most_seconds: float,
) -> int | None:
    """The row to be timed next; None if no row left is certain to take at most `most_seconds`.  The
    first is the smallest.

    Until FEWEST are timed, rows within NEARLY_SHORTEST times the least are allowed too, however
    slow the device.
    """
    log_amounts = np.log(amounts)
    positions = log_amounts / np.maximum(np.ptp(log_amounts, axis=0), 1e-9)
    if not timed_rows:
        return int(positions.sum(axis=1).argmin())
    step_seconds = np.full(len(positions), np.inf)
    for row, timed in zip(timed_rows, timed_trainings, strict=True):
        largest_ratio = (amounts / amounts[row]).max(axis=1)
        step_seconds = np.minimum(step_seconds, largest_ratio * timed.step_seconds)
    seconds = step_seconds * (WARM + TIMED + VALIDATED / (3 * batch))
    seconds[list(timed_rows)] = np.inf
    if len(timed_rows) < FEWEST:
        most_seconds = max(most_seconds, NEARLY_SHORTEST * seconds.min())
    is_allowed = seconds <= most_seconds
    if not is_allowed.any():
        return None
    differences = positions[:, None, :] - positions[list(timed_rows)]
    distance = (differences**2).sum(axis=2).min(axis=1)
    return int(np.where(is_allowed, distance, -1.0).argmax())


def _amounts(rows: Columns) -> Floats:
    """(M, 6) amounts of a step: the `terms` for a device of one filter at once, and the
    convolutions' operations per filter."""
    cost = costs(rows)
    device = Device(1.0, 1.0, 1.0)
    step_terms = terms(cost, rows.batch, _one_step(rows), device)
    return np.stack([*step_terms, 3.0 * rows.batch * cost.flop_per_filter], axis=1)


def _one_step(rows: Columns) -> Work:
    none = repeat(0, len(rows))
    return Work(slices=rows.batch, validation_slices=none, epochs=none + 1)


def timings(rows: Columns, trainings: Sequence[Timed]) -> tuple[Timings, Timings]:
    """The steps, and the validated slices, of timed networks."""
    none = repeat(0, len(rows))
    one_slice = Work(slices=none, validation_slices=none + 1, epochs=none + 1)
    step_seconds = np.array([timed.step_seconds for timed in trainings])
    validated_seconds = np.array([timed.validated_seconds for timed in trainings])
    return (
        Timings(rows, _one_step(rows), step_seconds),
        Timings(rows, one_slice, validated_seconds),
    )


def _calibration(
    rows: Columns, trainings: Sequence[Timed], name: str, trials: Timings | None = None
) -> Calibration:
    """The calibration from timed networks, and from whole trainings if given."""
    steps, validated = timings(rows, trainings)
    device = fit_device(steps if trials is None else steps.join(trials), validated)
    predicted = steps.seconds * np.exp(misfit(device, steps))
    probes = tuple(
        {
            **asdict(rows.architecture(row)),
            "inputs": list(rows.inputs),
            "batch": int(rows.batch[row]),
            "step_seconds": timed.step_seconds,
            "validated_seconds": timed.validated_seconds,
            "predicted_step_seconds": float(predicted[row]),
        }
        for row, timed in enumerate(trainings)
    )
    return Calibration(device, name, probes, 0 if trials is None else len(trials))


def with_trials(calibration: Calibration, trials: Timings) -> Calibration:
    """The calibration fitted again to its timed networks and to finished trials.

    Raises SearchError ("calibration-other-inputs") if its networks have other inputs than the
    trials', or another number of classes.
    """
    nets = [architecture_of(probe) for probe in calibration.probes]
    rows = Columns.of_architectures(nets, [probe["batch"] for probe in calibration.probes])
    if (rows.inputs, rows.classes) != (trials.rows.inputs, trials.rows.classes):
        raise SearchError(
            "calibration-other-inputs",
            f"{calibration.name}: measured with {_inputs_in_words(rows)}, but the trials have "
            f"{_inputs_in_words(trials.rows)}; measure again with --again",
        )
    trainings = [
        Timed(probe["step_seconds"], probe["validated_seconds"]) for probe in calibration.probes
    ]
    return _calibration(rows, trainings, calibration.name, trials)


def _inputs_in_words(rows: Columns) -> str:
    return f"inputs {', '.join(rows.inputs)} and {rows.classes} classes"


def architecture_of(probe: Mapping[str, Any]) -> Architecture:
    """The network of a probe; properties that an older file lacks have their defaults."""
    return Architecture(
        **{field.name: probe[field.name] for field in fields(Architecture) if field.name in probe}
    )


def write_calibration(path: Path, calibration: Calibration, *, settings: Any, seed: int) -> Path:
    """`path`, holding the calibration."""
    rounded = np.round(np.log(calibration.misfits), 4)
    facts = {
        "name": calibration.name,
        "device": asdict(calibration.device),
        "trials": calibration.trials,
        "log_predicted_over_measured": rounded,
        "probes": calibration.probes,
    }
    return write_json(path, facts, settings=settings, seed=seed)


def read_calibration(path: Path) -> Calibration:
    """The calibration at `path`.  Raises SearchError ("calibration-missing",
    "calibration-damaged")."""
    try:
        facts = read_json(path)
        return Calibration(
            Device(**facts["device"]), facts["name"], tuple(facts["probes"]), facts["trials"]
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
