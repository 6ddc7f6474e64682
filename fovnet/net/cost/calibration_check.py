"""Held-out check of a calibration: networks outside the fit are trained briefly, and compared with their
predictions."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import asdict, dataclass

import numpy as np

from fovnet.net.cost.calibration import Calibration, architecture_of
from fovnet.net.cost.columns import Columns
from fovnet.net.cost.predicted import Work, costs, training_bytes, training_seconds
from fovnet.net.cost.probes import VALIDATED, Bench
from fovnet.net.family.architecture import Architecture

LONGEST_STEP = 1.0  # second, predicted: longer steps would make the check slow
LARGEST_BYTES = 3e9
WITHIN = {"seconds": 0.25, "memory": 0.15}
"""Largest relative error of a prediction, as a share of the measured value."""


@dataclass(frozen=True)
class HeldOut:
    """One network: seconds of some steps and two validations of 32 slices, and peak memory, predicted and
    measured; `mb` None: not measured."""

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

    def is_within(self, what: str) -> bool | None:
        """Whether the prediction of "seconds" or "memory" is within WITHIN; None if it was not measured."""
        predicted, measured = (
            (self.predicted_seconds, self.seconds)
            if what == "seconds"
            else (self.predicted_mb, self.mb)
        )
        return None if measured is None else abs(predicted / measured - 1) <= WITHIN[what]


def held_out(rows: Columns, known: Calibration, count: int, seed: int) -> Columns:
    """`count` of the distinct `rows`, drawn among those that were not timed and whose step is predicted to be
    short, in rounds: one of each number of filters, then a second of each."""
    cost = costs(rows)
    step = training_seconds(cost, rows.batch, Work(rows.batch, 0, 1), known.device)
    timed = {(architecture_of(probe), probe["batch"]) for probe in known.probes}
    usable = np.flatnonzero(
        (step <= LONGEST_STEP) & (training_bytes(cost, rows.batch) <= LARGEST_BYTES)
    )
    order = [
        row
        for row in np.random.default_rng(seed).permutation(usable)
        if (rows.architecture(row), int(rows.batch[row])) not in timed
    ]
    met: dict[int, int] = {}
    turn = []
    for row in order:
        met[int(rows.filters[row])] = met.get(int(rows.filters[row]), -1) + 1
        turn.append(met[int(rows.filters[row])])
    chosen = np.array(order, dtype=np.int64)[np.argsort(turn, kind="stable")[:count]]
    return rows.taken(chosen)


def measured(
    rows: Columns, known: Calibration, bench: Bench, grown: Callable[[Architecture, int], int]
) -> Iterator[HeldOut]:
    """Each row, trained for about a second; `grown` gives its peak bytes, 0 if unknown."""
    cost = costs(rows)
    memory = training_bytes(cost, rows.batch)
    for row in range(len(rows)):
        net, batch = rows.architecture(row), int(rows.batch[row])
        one = costs(rows.taken([row]))
        step = training_seconds(one, batch, Work(batch, 0, 1), known.device)[0]
        steps = int(np.clip(1.0 / step, 3, 30))
        train, validate = bench.steps(net, batch)
        train(1)
        validate()
        seconds = train(steps) + validate() + validate()
        predicted = training_seconds(
            one, batch, Work(steps * batch, 2 * VALIDATED, 1), known.device
        )[0]
        properties, peak = asdict(net), grown(net, batch)
        yield HeldOut(
            **{name: properties[name] for name in _SHOWN},
            filters=net.filters,
            batch=batch,
            predicted_seconds=float(predicted),
            seconds=seconds,
            predicted_mb=float(memory[row]) / 1e6,
            mb=peak / 1e6 if peak else None,
        )


_SHOWN = (
    "blocks",
    "convolutions",
    "kernel",
    "separable",
    "head",
    "block",
    "widen",
    "stride",
    "norm",
)
