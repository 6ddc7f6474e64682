"""A search over the network family on sliced volumes: what each row would cost, which rows fit, and the training of the proposed ones."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from fovnet.errors import SearchError
from fovnet.net.columns import columns_of_space
from fovnet.net.cost import Device, Limits, Work, fits, price
from fovnet.net.workers import Job, TrainingPool
from fovnet.records import write_npz
from fovnet.search.jobs import finish
from fovnet.search.proposing import Search
from fovnet.search.run import go_on
from fovnet.search.space import Space
from fovnet.search.trial import Trial
from fovnet.search.view import RECOMMENDED, Modelling

VALIDATION = 1      # second word of the seed of that draw, so that it shares nothing with the trials' own seeds


@dataclass(frozen=True)
class Labelled:
    """The slices a search learns from: targets (n, k) of all rows of the pixels, and which rows are for what."""

    targets: NDArray[np.float32]
    train: NDArray[np.int64]
    validation: NDArray[np.int64]


def plan_search(
    space: Space,
    data: Labelled,
    journal: Path,
    *,
    head: str,
    slices_per_epoch: int,
    epochs: int,
    limits: Limits,
    speed: Device,
    method: str,
    workers: int,
    lead: float,
    seed: int,
    start: Mapping[str, Any],
    initial: int | None,
    modelling: Modelling = RECOMMENDED,
    validation_slices: int | None = None,
) -> Search:
    """The search with every row priced; what its trainings learn from is written to `journal/rows.npz`.

    validation_slices  score on so many of the validation rows, drawn once for all trials; all where None
    Rows predicted to exceed a limit are never proposed.  Raises SearchError where a split has no slices, or no row fits.
    """
    for name, rows in (("training", data.train), ("validation", data.validation)):
        if not len(rows):
            raise SearchError("search-no-slices", f"the {name} split has no slices: label volumes of more subjects, or change the split")
    validation = np.sort(np.random.default_rng([seed, VALIDATION]).permutation(data.validation)[:validation_slices])
    priced = columns_of_space(space, classes=data.targets.shape[1], head=head)
    memory, seconds = price(priced, Work(slices_per_epoch, len(validation), epochs), speed)
    feasible = fits(memory, seconds, limits)
    search = Search(space, method, seed, workers, space.row_of(start), initial, seconds, feasible, modelling, memory, lead)
    write_npz(_rows_file(journal), targets=data.targets, train=data.train, validation=validation)
    return search


def training_job(pixels: Path, journal: Path, recipe: Mapping[str, Any]) -> Job:
    """What every training of the search in `journal` needs to know; `recipe` is the rest of Job by its names there."""
    return Job(pixels=pixels, rows=_rows_file(journal), weights=journal / "networks", **recipe)


def search_networks(
    search: Search, job: Job, journal: Path, *, trials: int, stop_below_regret: float | None = None,
    progress: Callable[[int, int], None] | None = None,
) -> list[Trial]:  # fmt: skip
    """The trials of a search, by slot, trained `search.workers` at a time in this call; their records lie in `journal`."""
    with TrainingPool(job, search.workers) as pool:
        return go_on(
            search, trials=trials, journal=journal, submit=pool.submit, stop_below_regret=stop_below_regret, progress=progress
        )


def train_slot(job: Job, journal: Path, slot: int) -> Trial:
    """The trial of one slot whose proposal lies in `journal`, trained and written there."""
    with TrainingPool(job, 1) as pool:
        return finish(journal, slot, pool.submit)


def _rows_file(journal: Path) -> Path:
    return journal / "rows.npz"
