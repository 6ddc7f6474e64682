"""Running a search: W slots at a time, each proposed when all slots it must see are actually
finished.

Proposals are made elsewhere (`search.py`).  If it is killed at any moment and started again, the
run reads the finished slots, proposes the others again, and continues; the trials are those of an
uninterrupted run.
"""

from __future__ import annotations

from collections.abc import Callable, Collection
from concurrent.futures import FIRST_COMPLETED, Future, wait
from dataclasses import dataclass, field
from pathlib import Path
from typing import NamedTuple

from fovnet.errors import SearchError
from fovnet.search.journal import Journal, own_journal, read_header
from fovnet.search.search import AnySearch, describe_too_little_gain, is_possible, propose_slot
from fovnet.search.slot_files import slot_path
from fovnet.search.trial import Outcome, Proposal, Trial
from fovnet.words import several

Submit = Callable[[Proposal], "Future[Outcome]"]
Progress = Callable[[int, int], None]

RETRIES = 2
"""How often a training is repeated after a failure of the machine, not of the configuration."""


def run_search(
    search: AnySearch,
    *,
    trials: int,
    folder: Path,
    submit: Submit,
    stop_below_regret: float | None = None,
    progress: Progress | None = None,
) -> list[Trial]:
    """The trials of all slots, by slot, that together have the epochs of so many full trainings;
    fewer if the space has no more feasible rows, or little is left to gain.  The journal is in
    `folder`.

    Little is left to gain before the first slot with an expected regret below `stop_below_regret`,
    in units of the score, once enough scores are known (`describe_too_little_gain`); the header
    notes either.  Like the number of trials it is not part of the search's identity: without it the
    search can be continued.

    `submit` starts a training and returns its future; it is called for at most `search.workers`
    slots at a time.  An exception in the future, or an outcome "error", is a failure of the
    machine, and the training is repeated up to twice; but a SearchError in it ends the run, and the
    slot counts as not begun.  The path depends on the search and the results alone, not on timing.
    A journal with fewer trials is continued, one with more keeps them.  Raises SearchError for
    another search's journal, a locked one, or a slot that contradicts the search.
    """
    with own_journal(folder, search) as journal:
        return SearchRun(journal, submit, trials, stop_below_regret, progress).run()


class Attempt(NamedTuple):
    """A training in progress: its proposal, and the messages of its failed attempts."""

    proposal: Proposal
    retries: tuple[str, ...] = ()


@dataclass
class SearchRun:
    """A running search.

    journal, submit, stop_below_regret, progress  as in `run_search`
    trials         number of full trainings requested
    proposals      made so far
    trial_by_slot  the finished trials
    in_training    the trainings in progress
    """

    journal: Journal
    submit: Submit
    trials: int
    stop_below_regret: float | None
    progress: Progress | None
    proposals: list[Proposal] = field(default_factory=list)
    trial_by_slot: dict[int, Trial] = field(default_factory=dict)
    in_training: dict[Future[Outcome], Attempt] = field(default_factory=dict)

    @property
    def search(self) -> AnySearch:
        """The search of the journal."""
        return self.journal.search

    def run(self) -> list[Trial]:
        """All trials, by slot."""
        header_path = self.journal.folder / "search.json"
        most_trials = self.trials
        if header_path.exists():
            trials_before = read_header(self.journal.folder).get("trials", 0)
            most_trials = max(trials_before, self.trials)
        notes = self._header_notes()
        self.journal.write_header(most_trials, self.trials, self._slots_of_all_rows(), notes)
        # the first training may take long
        self._report_progress()
        try:
            ending = None
            while ending is None and not self._is_budget_spent():
                ending = self._fill_slot(len(self.proposals))
            if ending:
                notes.append(ending)
                self.journal.write_header(most_trials, self.trials, len(self.proposals), notes)
            self._wait_for(range(len(self.proposals)))
        finally:
            for future in self.in_training:
                # trainings not yet started are not needed
                future.cancel()
        return [self.trial_by_slot[proposal.slot] for proposal in self.proposals]

    def _slots_of_all_rows(self) -> int | None:
        """The number of rows if each is trained to its end, and there are fewer than trials
        requested; else None."""
        # no row is begun twice
        row_limit = self.search.row_limit
        if row_limit is None or row_limit >= self.trials or self.search.schedule.kind != "full":
            return None
        return row_limit

    def _is_budget_spent(self) -> bool:
        """Whether no slot is left to propose."""
        if not self.search.schedule.is_within_budget(self.proposals, self.trials):
            return True
        slot_limit = self._slots_of_all_rows()
        return slot_limit is not None and len(self.proposals) >= slot_limit

    def _fill_slot(self, slot: int) -> str | None:
        """Takes the slot's trial from the journal, or proposes it as soon as all slots it sees are
        finished, and submits it.

        Returns the sentence with which the search ends before this slot, if too little is left to
        gain, or nothing to train; else None.
        """
        trial = self.journal.read(slot)
        if trial is not None:
            self._refuse_contradiction(trial.proposal)
            ending = self._ending_before(trial.proposal)
            if ending is None:
                self.proposals.append(trial.proposal)
                self._keep_finished(trial)
            return ending
        predicted_seconds = [proposal.predicted_seconds for proposal in self.proposals]
        self._wait_for(self.search.clock.slots_in_sight(predicted_seconds).seen_slots)
        try:
            proposal = propose_slot(self.search, self.proposals, self.trial_by_slot)
        except SearchError as fault:
            if fault.code != "space-exhausted":
                raise
            return f"The search ends after {several(slot, 'slot')}: {fault.sentence}"
        ending = self._ending_before(proposal)
        if ending is None:
            self.proposals.append(proposal)
            self.in_training[self.submit(proposal)] = Attempt(proposal)
        return ending

    def _ending_before(self, proposal: Proposal) -> str | None:
        """The sentence with which the search ends before this proposal, if too little is left to
        gain; else None."""
        if self.stop_below_regret is None:
            return None
        # those of a recorded proposal may be in training again
        self._wait_for(proposal.seen_slots)
        return describe_too_little_gain(
            self.search, proposal, self.trial_by_slot, self.stop_below_regret
        )

    def _wait_for(self, slots: Collection[int]) -> None:
        """Returns when all these slots are finished; other outcomes that arrive meanwhile are
        recorded at once."""
        while any(slot not in self.trial_by_slot for slot in slots):
            finished_futures, _ = wait(self.in_training, return_when=FIRST_COMPLETED)
            # all that are finished are recorded before an exception ends the search
            errors: list[SearchError | OSError] = []
            for future in finished_futures:
                try:
                    self._record_outcome(future)
                except (SearchError, OSError) as error:
                    errors.append(error)
            if errors:
                raise errors[0]

    def _record_outcome(self, future: Future[Outcome]) -> None:
        """Records the outcome, or, after a failure of the machine, submits the same proposal
        again."""
        proposal, retries = self.in_training.pop(future)
        outcome = outcome_of(future)
        if outcome.status == "error" and len(retries) < RETRIES:
            retries = (*retries, outcome.message)
            self.in_training[self.submit(proposal)] = Attempt(proposal, retries)
            return
        trial = Trial(proposal, outcome, retries)
        self.journal.write(trial)
        self._keep_finished(trial)

    def _keep_finished(self, trial: Trial) -> None:
        """Keeps a trial of the journal in memory, and tells of the progress."""
        self.trial_by_slot[trial.proposal.slot] = trial
        self._report_progress()

    def _report_progress(self) -> None:
        """Calls `progress` with the full trainings that the finished slots stand for, and those
        requested."""
        if self.progress:
            finished_proposals = (trial.proposal for trial in self.trial_by_slot.values())
            self.progress(self.search.schedule.full_trainings_of(finished_proposals), self.trials)

    def _refuse_contradiction(self, proposal: Proposal) -> None:
        """Raises SearchError "slot-contradiction" for a recorded proposal that this search could
        not have made for the next slot."""
        if not is_possible(self.search, self.proposals, proposal):
            recorded_path = slot_path(self.journal.folder, len(self.proposals))
            raise SearchError(
                "slot-contradiction",
                f"{recorded_path}: not the trial that this search has in this slot; remove it to repeat the slot.",
            )

    def _header_notes(self) -> list[str]:
        """Notes for the header: a start that was moved, a search that ends early for lack of
        feasible rows."""
        notes = start_notes(self.search)
        slot_limit = self._slots_of_all_rows()
        if slot_limit is not None:
            notes.append(
                f"{self.trials} trials were asked for; the search ends after {slot_limit}: no other configuration "
                "is feasible."
            )
        return notes


def start_notes(search: AnySearch) -> list[str]:
    """A sentence if the start had to be moved; else empty."""
    if search.start_note is None:
        return []
    return [search.start_note]


def train_alone(proposal: Proposal, submit: Submit) -> Trial:
    """The trial of one proposal, when it is finished; after a failure of the machine it is repeated
    as in a whole search."""
    retries: tuple[str, ...] = ()
    outcome = outcome_of(submit(proposal))
    while outcome.status == "error" and len(retries) < RETRIES:
        retries = (*retries, outcome.message)
        outcome = outcome_of(submit(proposal))
    return Trial(proposal, outcome, retries)


def outcome_of(future: Future[Outcome]) -> Outcome:
    """The future's outcome; an exception in it becomes an outcome "error" with its name and
    message.

    But a SearchError is raised: it means that no training at all can continue (for instance, the
    disk is full).
    """
    try:
        return future.result()
    except SearchError:
        raise
    except Exception as fault:
        return Outcome("error", message=f"{type(fault).__name__}: {fault}")
