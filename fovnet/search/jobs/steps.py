"""A search whose slots are separate jobs, on one machine or several: each step reads the journal
and writes one result to it.

    begin    everything decided before the first slot: search.json, search.npz
    propose  proposal-0007.json, once the slots that slot 7 has seen by the virtual clock are
             finished
    finish   slot-0007.json, the trial of that proposal
    gather   all trials, when every slot is finished
The journal is that of a search in one process, with the proposals beside the slots, and contains
the same trials.  They do not depend on who calls the steps (a workflow, a person), on their order
as far as it is free, or on how many run at a time.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path

from fovnet.errors import SearchError
from fovnet.machine.locks import take_lock
from fovnet.records import write_json
from fovnet.search.jobs.proposals import (
    proposal_path,
    proposals_within,
    read_proposal,
    read_proposals,
    write_proposal,
)
from fovnet.search.journal import (
    OTHER_PREDICTIONS_TEXT,
    Journal,
    lock_journal,
    open_journal,
    read_header,
    read_search,
)
from fovnet.search.run import Submit, start_notes, train_alone
from fovnet.search.search import (
    AnySearch,
    describe_too_little_gain,
    predicted_seconds_of,
    propose_slot,
)
from fovnet.search.slot_files import read_slot, slot_of_file, slot_path
from fovnet.search.tree.costs import CostsOf, equal_costs_of
from fovnet.search.trial import Proposal, Trial
from fovnet.words import several


def begin(
    search: AnySearch, folder: Path, source: str, write_more: Callable[[], object] = lambda: None
) -> None:
    """Begins the journal of `search` in `folder`; `source` is a hash of all settings and slices
    that its trials depend on, `write_more` writes further files to the folder, once it is known to
    be this search's.

    Proposals and slots of the same source are kept, others removed, with the predictions in
    search.npz. Raises SearchError while a slot is being trained, and if the journal of this source
    belongs to another search: judged by search.json, or, without it (a workflow deletes it before
    the job that writes it), by the predicted seconds in the proposals.
    """
    with lock_journal(folder):
        if (folder / "search.json").exists() and source_of(folder) != source:
            (folder / "search.json").unlink()
        _remove_outdated(folder, source)
        _refuse_other_predictions(folder, search)
        search = open_journal(folder, search).search
        write_more()
        # without a number of trials, unlike a search in one process: requesting more must not
        # restart the search
        header = {**search.identity, "source": source, "notes": start_notes(search)}
        write_json(folder / "search.json", header, settings=search.identity, seed=search.seed)


def propose(
    folder: Path,
    slot: int,
    stop_below_regret: float | None = None,
    costs_of: CostsOf = equal_costs_of,
) -> Proposal | str:
    """The proposal of `slot`, or the sentence with which the search ends before it; also written to
    the journal.

    The search ends as in `run_search`: if no row is free, or the expected regret is below
    `stop_below_regret`.

    costs_of prices the points of a tree.  Raises SearchError if a slot that it must see is missing or
    is not the one proposed, or the search ended before.
    """
    search = read_search(folder, costs_of)
    source = source_of(folder)
    earlier_proposals = read_proposals(folder, slot, source)
    if len(earlier_proposals) < slot:
        raise SearchError(
            "search-ended",
            f"{folder}: the search ends before slot {len(earlier_proposals)}; there is no slot {slot}.",
        )
    seen_slots, _ = search.clock.slots_in_sight(
        [proposal.predicted_seconds for proposal in earlier_proposals]
    )
    trial_by_slot = {
        seen_slot: _read_trial_of(folder, earlier_proposals[seen_slot]) for seen_slot in seen_slots
    }
    proposal_or_ending = _propose_or_end(search, earlier_proposals, trial_by_slot)
    if isinstance(proposal_or_ending, Proposal):
        ending = describe_too_little_gain(
            search, proposal_or_ending, trial_by_slot, stop_below_regret
        )
        if ending is not None:
            proposal_or_ending = ending
    write_proposal(folder, slot, proposal_or_ending, source=source, seed=search.seed)
    return proposal_or_ending


def finish(folder: Path, slot: int, submit: Submit, costs_of: CostsOf = equal_costs_of) -> Trial:
    """The trial of a proposed slot, trained by `submit` and written to the journal; a finished slot
    is not trained again.

    A second call waits for the first, which may have outlived a killed workflow, and returns its
    result. Raises SearchError if the search ends before the slot.
    """
    with _lock_training(folder, slot):
        proposal = read_proposal(folder, slot, source_of(folder))
        if isinstance(proposal, str):
            raise SearchError(
                "search-ended",
                f"{proposal_path(folder, slot)}: {proposal}  There is nothing to train.",
            )
        journal = Journal(folder, read_search(folder, costs_of))
        trial = journal.read(slot)
        if trial is None or trial.proposal != proposal:
            trial = train_alone(proposal, submit)
            journal.write(trial)
        return trial


def is_on_record(folder: Path, slot: int) -> bool:
    """Whether a slot's trial is recorded; if the slot has a proposal file, only the trial of that
    proposal counts."""
    try:
        trial = read_slot(slot_path(folder, slot))
        return (
            not proposal_path(folder, slot).exists()
            or read_proposal(folder, slot) == trial.proposal
        )
    except (OSError, ValueError, KeyError, TypeError, SearchError):
        return False


def gather(folder: Path, trials: int) -> list[Trial]:
    """The trials of all slots for the epochs of so many trainings, by slot; fewer if the search
    ends before. Raises SearchError if one is missing."""
    proposals = proposals_within(folder, trials, source_of(folder))
    return [_read_trial_of(folder, proposal) for proposal in proposals]


def source_of(folder: Path) -> str:
    """The hash of settings and slices in the journal in `folder`.  Raises SearchError if it was not
    begun by `begin`."""
    source = read_header(folder).get("source")
    if not isinstance(source, str):
        raise SearchError(
            "journal-header",
            f"{folder}: its search was begun in one process; give `fovnet slot begin` another folder.",
        )
    return source


def _propose_or_end(
    search: AnySearch, earlier_proposals: Sequence[Proposal], trial_by_slot: Mapping[int, Trial]
) -> Proposal | str:
    """The next proposal, or a sentence if no row is free."""
    try:
        return propose_slot(search, earlier_proposals, trial_by_slot)
    except SearchError as error:
        if error.code != "space-exhausted":
            raise
        return f"The search ends after {several(len(earlier_proposals), 'trial')}: {error.sentence}"


def _read_trial_of(folder: Path, proposal: Proposal) -> Trial:
    """The trial of a proposal.  Raises SearchError if it is missing, unreadable, or of another
    proposal."""
    trial_path = slot_path(folder, proposal.slot)
    try:
        trial = read_slot(trial_path)
    except FileNotFoundError:
        raise SearchError(
            "slot-unfinished",
            f"{trial_path}: not finished; `fovnet slot train --slot {proposal.slot}` does it",
        ) from None
    except (ValueError, KeyError, TypeError) as fault:
        raise SearchError(
            "slot-damaged", f"{trial_path}: unreadable ({fault}); remove it to repeat the slot"
        ) from fault
    if trial.proposal != proposal:
        raise SearchError(
            "slot-contradiction",
            f"{trial_path}: not the trial that was proposed; remove it to repeat the slot",
        )
    return trial


def _remove_outdated(folder: Path, source: str) -> None:
    """Removes the proposals of another source and every slot without a proposal."""
    for file_path in folder.glob("proposal-*.json"):
        try:
            read_proposal(folder, slot_of_file(file_path), source)
        except SearchError:
            file_path.unlink()
    for file_path in [*folder.glob("slot-*.json"), *folder.glob("networks/slot-*.safetensors")]:
        if not proposal_path(folder, slot_of_file(file_path)).exists():
            file_path.unlink()


def _refuse_other_predictions(folder: Path, search: AnySearch) -> None:
    """Raises SearchError "journal-of-another-search" if a proposal was made from other predicted
    seconds."""
    for proposal_file in sorted(folder.glob("proposal-*.json")):
        proposal = read_proposal(folder, slot_of_file(proposal_file))
        if isinstance(proposal, str):
            continue
        if proposal.predicted_seconds != predicted_seconds_of(search, proposal):
            raise SearchError("journal-of-another-search", f"{folder}: {OTHER_PREDICTIONS_TEXT}")


@contextmanager
def _lock_training(folder: Path, slot: int) -> Iterator[None]:
    """While the block runs, no other process trains this slot or begins the journal anew; waits for
    the locks.

    Trainings outlive a killed workflow, and its successor starts the same ones: they must not share
    a device.
    """
    (folder / "locks").mkdir(parents=True, exist_ok=True)
    with (
        (folder / "owner.lock").open("a") as journal_lock,
        (folder / "locks" / f"slot-{slot:04d}").open("a") as slot_lock,
    ):
        take_lock(slot_lock, wait=True)
        take_lock(journal_lock, shared=True, wait=True)
        yield
