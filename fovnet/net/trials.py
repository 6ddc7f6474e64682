"""The trials of a search over the network family on sliced volumes: their data, and the training of proposals."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from concurrent.futures import Future
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from fovnet.errors import SearchError
from fovnet.net.paths import forget, weights_of
from fovnet.net.workers import Job, TrainingPool, stamp_of
from fovnet.records import write_npz
from fovnet.search.jobs import finish, on_record
from fovnet.search.journal import read_slot, slot_path
from fovnet.search.proposing import Search
from fovnet.search.run import Submit, go_on
from fovnet.search.trial import Outcome, Proposal, Trial
from fovnet.volume.placing import Placing

VALIDATION = 1      # second word of the seed of that draw, so that it shares nothing with the trials' own seeds


@dataclass(frozen=True)
class Labelled:
    """The labelled slices of a search: targets (n, k) of all rows of the pixels, the row numbers of training and validation, and the
    placing if the networks' inputs need it."""

    targets: NDArray[np.float32]
    train: NDArray[np.int64]
    validation: NDArray[np.int64]
    placing: Placing | None = None

    def write(self, path: Path) -> Path:
        """`path`, written as the npz file `rows` of a `Job`."""
        placing = {} if self.placing is None else vars(self.placing)
        return write_npz(path, targets=self.targets, train=self.train, validation=self.validation, **placing)


def refuse_without_slices(data: Labelled) -> None:
    """Nothing, if there are training and validation slices.  Raises SearchError "search-no-slices"."""
    for name, rows in (("training", data.train), ("validation", data.validation)):
        if not len(rows):
            raise SearchError("search-no-slices", f"the {name} split has no slices: label volumes of more subjects, or change the split")


def drawn(validation: NDArray[np.int64], count: int | None, seed: int) -> NDArray[np.int64]:
    """(min(count, v),) of the validation rows (v,), ascending: those on which all trials of a seed are scored; all if `count` is None."""
    return np.sort(np.random.default_rng([seed, VALIDATION]).permutation(validation)[:count])


def write_rows(journal: Path, data: Labelled) -> Path:
    """`journal/rows.npz`, the data of a journal's trainings as rows of the pack.  To be called by the holder of the journal's lock, or by a
    training on these slices, which are those of the journal's other trainings."""
    return data.write(_rows_file(journal))


def job_in(journal: Path, pixels: Path, recipe: Mapping[str, Any]) -> Job:
    """The job of every training of the search in `journal`; `recipe` holds the other fields of Job, by name."""
    return Job(pixels=pixels, rows=_rows_file(journal), weights=journal / "networks", stamp=stamp_of(pixels), **recipe)


def search_networks(
    search: Search, job: Job, journal: Path, *, trials: int, stop_below_regret: float | None = None,
    progress: Callable[[int, int], None] | None = None,
) -> list[Trial]:
    """The trials of a search, by slot, trained `search.workers` at a time in this call; their records are written to `journal`."""
    with TrainingPool(job, search.workers) as pool:
        made = go_on(
            search, trials=trials, journal=journal, submit=_submit(pool, job, journal), stop_below_regret=stop_below_regret,
            progress=progress,
        )
    _forget_recorded(job, journal)
    return made


def train_slot(job: Job, journal: Path, slot: int) -> Trial:
    """The trial of one slot whose proposal is in `journal`, trained and recorded there."""
    with TrainingPool(job, 1) as pool:
        trial = finish(journal, slot, _submit(pool, job, journal))
    forget(weights_of(job.weights, slot))
    return trial


def _submit(pool: TrainingPool, job: Job, journal: Path) -> Submit:
    """The submit function for a search: a trial's envelope is made from the trials its slot has seen, which are then in the journal."""

    def submit(proposal: Proposal) -> Future[Outcome]:
        _forget_recorded(job, journal)
        seen = [read_slot(slot_path(journal, slot)) for slot in proposal.seen] if job.envelope else []
        return pool.submit(proposal, job.envelope.over(seen) if job.envelope else None)

    return submit


def _forget_recorded(job: Job, journal: Path) -> None:
    """Remove the checkpoints of all recorded trials: each is three times as large as its network."""
    for path in job.weights.glob("slot-*.checkpoint"):
        if on_record(journal, int(path.stem.split("-")[1])):
            forget(path)


def _rows_file(journal: Path) -> Path:
    return journal / "rows.npz"
