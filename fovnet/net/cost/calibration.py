"""Calibration of a device's cost model by a short run: choosing and timing networks, and storing the result.

    calibration.json    the fitted numbers, the timed networks with their predictions by the fit, the device's
                        name, the seed

The virtual clock of a search depends on its predictions: an existing calibration is kept, and measured again
only on request.
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
from fovnet.net.cost.columns import Columns, columns_of_space, joined
from fovnet.net.cost.predicted import Device, Floats, Work, costs, terms, training_bytes
from fovnet.net.cost.speed import FEWEST, Timings, fitted, misfit, repeated
from fovnet.net.family.architecture import HEADS, Architecture
from fovnet.records import read_json, write_json
from fovnet.search.space import paper_space

PROBES = 16
SECONDS = 45.0  # for building and timing networks
# of a timed network: with more weights, initialising them takes longer than the steps
LARGEST_BYTES = 2e9
WARM, TIMED, VALIDATED = 1, 3, 64
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
    """The networks and batches of a space, each once; with those of the paper's space added if they are fewer
    than PROBES."""
    own = rows.distinct()
    if len(own) >= PROBES:
        return own
    heads = {HEADS[head] for head in rows.head.tolist()}
    head = heads.pop() if len(heads) == 1 else "fc"
    paper = columns_of_space(
        paper_space(), classes=rows.classes, head=head, inputs=rows.inputs, side=rows.side
    )
    return joined(own, paper).distinct()


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
    """The calibration of the device on which `probe` times networks: up to 16 of `rows`, in about `seconds`
    by the clock `now`.

    The first network is the smallest.  Each next one is the farthest from those timed before, in the
    logarithms of its step's amounts, among those that cannot exceed their share of the time: as all prices
    are positive, the ratio of a step's seconds to a timed one's is at most the largest ratio of their
    amounts.  Raises SearchError ("calibration-memory") if too few networks fit in `largest_bytes`.
    """
    rows = rows.taken(training_bytes(costs(rows), rows.batch) <= largest_bytes)
    if len(rows) < FEWEST:
        wanted = f"{FEWEST} have to be timed; give search.speed in numbers"
        raise SearchError(
            "calibration-memory",
            f"only {len(rows)} networks of the space fit into {largest_bytes / 1e9:g} GB, {wanted}",
        )
    amounts = _amounts(rows)
    place = np.log(amounts) / np.maximum(np.ptp(np.log(amounts), axis=0), 1e-9)
    done: list[int] = []
    timed: list[Timed] = []
    began = now()
    while len(done) < PROBES and len(done) < len(rows):
        left = seconds - (now() - began)
        row = _next(place, amounts, rows.batch, done, timed, 2 * left / (PROBES - len(done)))
        if row is None:
            break
        timed.append(probe(rows.architecture(row), int(rows.batch[row])))
        done.append(row)
        if progress:
            progress(len(done), PROBES)
    return _of(rows.taken(np.array(done)), timed, name)


def _next(
    place: Floats,
    amounts: Floats,
    batch: NDArray[Any],
    done: Sequence[int],
    timed: Sequence[Timed],
    most: float,
) -> int | None:
    """The row to be timed next; None if no row left is certain to take at most `most` seconds.  The first is
    the smallest.

    Until FEWEST are timed, rows within NEARLY_SHORTEST times the least are allowed too, however slow the
    device.
    """
    if not done:
        return int(place.sum(axis=1).argmin())
    step = np.full(len(place), np.inf)
    for row, known in zip(done, timed, strict=True):
        step = np.minimum(step, (amounts / amounts[row]).max(axis=1) * known.step_seconds)
    takes = step * (WARM + TIMED + VALIDATED / (3 * batch))
    takes[list(done)] = np.inf
    allowed = takes <= (most if len(done) >= FEWEST else max(most, NEARLY_SHORTEST * takes.min()))
    if not allowed.any():
        return None
    gap = ((place[:, None, :] - place[list(done)]) ** 2).sum(axis=2).min(axis=1)
    return int(np.where(allowed, gap, -1.0).argmax())


def _amounts(rows: Columns) -> Floats:
    """(M, 6) amounts of a step: the `terms` for a device of one filter at once, and the convolutions'
    operations per filter."""
    cost, nothing = costs(rows), repeated(0, len(rows))
    usual = terms(cost, rows.batch, Work(rows.batch, nothing, nothing + 1), Device(1.0, 1.0, 1.0))
    return np.stack([*usual, 3.0 * rows.batch * cost.flop_per_filter], axis=1)


def timings(rows: Columns, timed: Sequence[Timed]) -> tuple[Timings, Timings]:
    """The steps, and the validated slices, of timed networks."""
    nothing = repeated(0, len(rows))
    steps = Timings(
        rows, Work(rows.batch, nothing, nothing + 1), np.array([one.step_seconds for one in timed])
    )
    return steps, Timings(
        rows,
        Work(nothing, nothing + 1, nothing + 1),
        np.array([one.validated_seconds for one in timed]),
    )


def _of(
    rows: Columns, timed: Sequence[Timed], name: str, whole: Timings | None = None
) -> Calibration:
    """The calibration from timed networks, and from whole trainings if given."""
    steps, validated = timings(rows, timed)
    device = fitted(steps if whole is None else steps.and_also(whole), validated)
    predicted = steps.seconds * np.exp(misfit(device, steps))
    probes = tuple(
        {
            **asdict(rows.architecture(row)),
            "inputs": list(rows.inputs),
            "batch": int(rows.batch[row]),
            "step_seconds": one.step_seconds,
            "validated_seconds": one.validated_seconds,
            "predicted_step_seconds": float(predicted[row]),
        }
        for row, one in enumerate(timed)
    )
    return Calibration(device, name, probes, 0 if whole is None else len(whole))


def with_trials(calibration: Calibration, whole: Timings) -> Calibration:
    """The calibration fitted again to its timed networks and to finished trials.

    Raises SearchError ("calibration-other-inputs") if its networks have other inputs than the trials', or
    another number of classes.
    """
    nets = [architecture_of(probe) for probe in calibration.probes]
    rows = Columns.of_architectures(nets, [probe["batch"] for probe in calibration.probes])
    mine, theirs = (
        f"inputs {', '.join(shown.inputs)} and {shown.classes} classes"
        for shown in (rows, whole.rows)
    )
    if mine != theirs:
        raise SearchError(
            "calibration-other-inputs",
            f"{calibration.name}: measured with {mine}, but the trials have {theirs}; measure again with "
            "--again",
        )
    timed = [
        Timed(probe["step_seconds"], probe["validated_seconds"]) for probe in calibration.probes
    ]
    return _of(rows, timed, calibration.name, whole)


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
    """The calibration at `path`.  Raises SearchError ("calibration-missing", "calibration-damaged")."""
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
