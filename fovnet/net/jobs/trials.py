"""The trials of a search over the network family on sliced volumes: their data, and the training of
proposals."""

from __future__ import annotations

from collections.abc import Callable, Collection
from concurrent.futures import Future
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from fovnet.errors import SearchError
from fovnet.net.jobs.workers import Job, TrainingPool, stamp_of
from fovnet.net.paths import forget, weights_of
from fovnet.records import write_npz
from fovnet.search.jobs.steps import finish, on_record
from fovnet.search.journal import read_search, read_slot, read_trials, slot_path
from fovnet.search.run import Submit, go_on
from fovnet.search.search import Search
from fovnet.search.spend.book import Book, entries_of
from fovnet.search.spend.spends import may_go_on
from fovnet.search.trial import Outcome, Proposal, Trial
from fovnet.volume.slices.placing import Placing

# second word of the seed of that draw, so that it shares nothing with the trials' own seeds
VALIDATION = 1


@dataclass(frozen=True)
class Labelled:
    """The labelled slices of a search: targets (n, k) of all rows of the pixels, the row numbers of training
    and validation, and the placing if the networks' inputs need it."""

    targets: NDArray[np.float32]
    train: NDArray[np.int64]
    validation: NDArray[np.int64]
    placing: Placing | None = None

    def write(self, path: Path) -> Path:
        """`path`, written as the npz file `rows` of a `Job`."""
        placing = {} if self.placing is None else vars(self.placing)
        return write_npz(path, targets=self.targets, train=self.train, validation=self.validation, **placing)


def refuse_without_slices(data: Labelled) -> None:
    """Raise SearchError "search-no-slices" unless there are training and validation slices."""
    for name, rows in (("training", data.train), ("validation", data.validation)):
        if not len(rows):
            raise SearchError(
                "search-no-slices",
                f"the {name} split has no slices: label volumes of more subjects, or change the split",
            )


def drawn(validation: NDArray[np.int64], count: int | None, seed: int) -> NDArray[np.int64]:
    """(min(count, v),) of the validation rows (v,), ascending: those on which all trials of a seed are
    scored; all if `count` is None."""
    return np.sort(np.random.default_rng([seed, VALIDATION]).permutation(validation)[:count])


def write_rows(journal: Path, data: Labelled) -> Path:
    """`journal/rows.npz`, the data of a journal's trainings as rows of the pack.  To be called by the holder
    of the journal's lock, or by a training on these slices, which are those of the journal's other
    trainings."""
    return data.write(_rows_file(journal))


def job_in(journal: Path, pixels: Path, **others: Any) -> Job:
    """The job of every training of the search in `journal`; `others` are the other fields of Job."""
    return Job(
        pixels=pixels, rows=_rows_file(journal), weights=journal / "networks", stamp=stamp_of(pixels),
        **others,
    )


def search_networks(
    search: Search, job: Job, journal: Path, *, trials: int, stop_below_regret: float | None = None,
    progress: Callable[[int, int], None] | None = None,
) -> list[Trial]:
    """The trials of a search, by slot, trained `search.workers` at a time in this call; their records are
    written to `journal`."""
    with TrainingPool(job, search.workers) as pool:
        made = go_on(
            search, trials=trials, journal=journal, submit=_submit(pool, job, journal, search),
            stop_below_regret=stop_below_regret, progress=progress,
        )
    _forget_done(job, journal, search)
    forget_recorded(journal)
    return made


def train_slot(job: Job, journal: Path, slot: int) -> Trial:
    """The trial of one slot whose proposal is in `journal`, trained and recorded there."""
    search = read_search(journal)
    with TrainingPool(job, 1) as pool:
        trial = finish(journal, slot, _submit(pool, job, journal, search))
    _forget_done(job, journal, search)
    return trial


def forget_recorded(journal: Path) -> None:
    """Remove the checkpoints of all recorded trials: each is three times as large as its network.

    For a search that is over; if more is asked of it, what it goes on with is trained from the first epoch,
    to the same result.
    """
    _forget(journal / "networks", journal, needed=())


def _submit(pool: TrainingPool, job: Job, journal: Path, search: Search) -> Submit:
    """The submit function for a search: a trial's envelope is made from the trials its slot has seen, which
    are then in the journal."""

    def submit(proposal: Proposal) -> Future[Outcome]:
        _forget_done(job, journal, search)
        seen = [read_slot(slot_path(journal, slot)) for slot in proposal.seen] if job.envelope else []
        return pool.submit(proposal, job.envelope.over(seen) if job.envelope else None)

    return submit


def _forget_done(job: Job, journal: Path, search: Search) -> None:
    """Remove the checkpoints of recorded trials with which a search will not go on, and the networks of those
    with which it has.

    While a record cannot be read, nothing that the search may need is removed.
    """
    if search.schedule.kind == "full":
        _forget(job.weights, journal, needed=())
        return
    try:
        trials = read_trials(journal)
    except SearchError:
        return
    scores = {trial.proposal.slot: trial.score for trial in trials}
    book = Book(search.schedule, entries_of([trial.proposal for trial in trials], scores), free=True)
    _forget(job.weights, journal, needed=may_go_on(book, search.workers))
    for trial in trials:
        if trial.proposal.continues is not None and trial.outcome.status != "error":
            weights_of(job.weights, trial.proposal.continues).unlink(missing_ok=True)


def _forget(networks: Path, journal: Path, needed: Collection[int]) -> None:
    for path in networks.glob("slot-*.checkpoint"):
        slot = int(path.stem.split("-")[1])
        if slot not in needed and on_record(journal, slot):
            forget(path)


def _rows_file(journal: Path) -> Path:
    return journal / "rows.npz"
