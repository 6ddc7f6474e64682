"""A search over the network family on sliced volumes: what each row would cost, which rows fit, and the training of the proposed ones."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from fovnet.errors import SearchError
from fovnet.net.cost import Device, price_rows
from fovnet.net.workers import Job, TrainingPool
from fovnet.records import write_npz
from fovnet.search.run import run_search
from fovnet.search.space import Space
from fovnet.search.trial import Trial
from fovnet.search.view import RECOMMENDED, Modelling

VALIDATION = 1      # second word of the seed of that draw, so that it shares nothing with the trials' own seeds


@dataclass(frozen=True)
class Limits:
    """What a trial may take: bytes at its peak, and seconds as predicted (None: as many as it needs)."""

    bytes: float
    seconds: float | None


@dataclass(frozen=True)
class Labelled:
    """The slices a search learns from: the file of pixels, targets (n, k) of all its rows, and which rows are for what."""

    pixels: Path
    targets: NDArray[np.float32]
    train: NDArray[np.int64]
    validation: NDArray[np.int64]


def search_networks(
    space: Space,
    data: Labelled,
    journal: Path,
    *,
    training: Mapping[str, Any],
    limits: Limits,
    speed: Device,
    method: str,
    trials: int,
    workers: int,
    seed: int,
    start: Mapping[str, Any],
    initial: int | None,
    modelling: Modelling = RECOMMENDED,
    stop_below_regret: float | None = None,
    validation_slices: int | None = None,
    progress: Callable[[int, int], None] | None = None,
) -> list[Trial]:
    """The trials of a search, by slot; their networks lie in `journal/networks`, their records in `journal`.

    training  head, device, epochs, slices_per_epoch and the augmentation's ranges, as Job names them
    validation_slices  score on so many of the validation rows, drawn once for all trials; all where None
    Rows predicted to exceed a limit are never proposed.  Raises SearchError where a split has no slices, or no row fits.
    """
    for name, rows in (("training", data.train), ("validation", data.validation)):
        if not len(rows):
            raise SearchError("search-no-slices", f"the {name} split has no slices: label volumes of more subjects, or change the split")
    validation = np.sort(np.random.default_rng([seed, VALIDATION]).permutation(data.validation)[:validation_slices])
    memory, seconds = price_rows(
        [space.configuration(row) for row in range(len(space))],
        classes=data.targets.shape[1],
        head=str(training["head"]),
        slices=int(training["slices_per_epoch"]),
        validation_slices=len(validation),
        epochs=int(training["epochs"]),
        device=speed,
    )
    feasible = (memory <= limits.bytes) & (seconds <= (limits.seconds or np.inf))
    rows_file = write_npz(journal / "rows.npz", targets=data.targets, train=data.train, validation=validation)
    job = Job(pixels=data.pixels, rows=rows_file, weights=journal / "networks", **training)
    with TrainingPool(job, workers) as pool:
        return run_search(
            space, method=method, trials=trials, seed=seed, workers=workers, start=start, initial=initial,
            predicted_seconds=seconds, feasible=feasible, journal=journal, submit=pool.submit, modelling=modelling, memory=memory,
            stop_below_regret=stop_below_regret, progress=progress,
        )  # fmt: skip
