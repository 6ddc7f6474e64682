"""The trials of a search over the network family on sliced volumes: the training of proposals."""

from __future__ import annotations

from collections.abc import Callable, Collection
from concurrent.futures import Future
from pathlib import Path

from fovnet.errors import SearchError
from fovnet.net.cost.layered import layered_costs_of
from fovnet.net.jobs.workers import TrainingJob, TrainingPool
from fovnet.net.paths import forget_checkpoint, weights_path_of
from fovnet.search.jobs.steps import finish, is_on_record
from fovnet.search.journal import read_search
from fovnet.search.run import Submit, run_search
from fovnet.search.search import AnySearch
from fovnet.search.slot_files import read_slot, read_trials, slot_of_file, slot_path
from fovnet.search.spend.ledger import Ledger
from fovnet.search.spend.spends import continuable_slots
from fovnet.search.trial import Outcome, Proposal, Trial


def search_networks(
    search: AnySearch,
    job: TrainingJob,
    journal: Path,
    *,
    trials: int,
    stop_below_regret: float | None = None,
    progress: Callable[[int, int], None] | None = None,
) -> list[Trial]:
    """The trials of a search, by slot, trained `search.workers` at a time in this call; their
    records are written to `journal`."""
    with TrainingPool(job, search.workers) as training_pool:
        finished_trials = run_search(
            search,
            trials=trials,
            folder=journal,
            submit=_submit_function(training_pool, job, journal, search),
            stop_below_regret=stop_below_regret,
            progress=progress,
        )
    _remove_unneeded_files(job, journal, search)
    remove_recorded_checkpoints(journal)
    return finished_trials


def train_slot(job: TrainingJob, journal: Path, slot: int) -> Trial:
    """The trial of one slot whose proposal is in `journal`, trained and recorded there."""
    search = read_search(journal, layered_costs_of)
    with TrainingPool(job, 1) as pool:
        submit = _submit_function(pool, job, journal, search)
        trial = finish(journal, slot, submit, layered_costs_of)
    _remove_unneeded_files(job, journal, search)
    return trial


def remove_recorded_checkpoints(journal: Path) -> None:
    """Remove the checkpoints of all recorded trials: each is three times as large as its network.

    For a search that is over; if it is extended, trainings that continue start again from the first
    epoch, to the same result.
    """
    _remove_checkpoints(journal / "networks", journal, slots_needed=())


def _submit_function(
    pool: TrainingPool, job: TrainingJob, journal: Path, search: AnySearch
) -> Submit:
    """The submit function for a search: a trial's envelope is made from the trials its slot has
    seen, which are then in the journal."""

    def submit(proposal: Proposal) -> Future[Outcome]:
        _remove_unneeded_files(job, journal, search)
        if job.envelope is None:
            return pool.submit(proposal)
        trials_seen = [read_slot(slot_path(journal, slot)) for slot in proposal.seen_slots]
        return pool.submit(proposal, job.envelope.highest_losses(trials_seen))

    return submit


def _remove_unneeded_files(job: TrainingJob, journal: Path, search: AnySearch) -> None:
    """Remove the checkpoints of recorded trials with which a search will not go on, and the
    networks of those with which it has.

    While a record cannot be read, nothing that the search may need is removed.
    """
    if search.schedule.kind == "full":
        _remove_checkpoints(job.networks_folder, journal, slots_needed=())
        return
    try:
        trials = read_trials(journal)
    except SearchError:
        return
    score_by_slot = {trial.proposal.slot: trial.score for trial in trials}
    proposals = (trial.proposal for trial in trials)
    ledger = Ledger.of(search.schedule, proposals, score_by_slot, has_free_rows=True)
    _remove_checkpoints(
        job.networks_folder, journal, slots_needed=continuable_slots(ledger, search.workers)
    )
    for trial in trials:
        if trial.proposal.continued_slot is not None and trial.outcome.status != "error":
            weights_path_of(job.networks_folder, trial.proposal.continued_slot).unlink(
                missing_ok=True
            )


def _remove_checkpoints(networks: Path, journal: Path, slots_needed: Collection[int]) -> None:
    for path in networks.glob("slot-*.checkpoint"):
        slot = slot_of_file(path)
        if slot not in slots_needed and is_on_record(journal, slot):
            forget_checkpoint(path)
