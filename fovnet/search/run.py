"""Running a search: W slots at a time, each proposed when all it has seen is really finished.

Nothing here decides where to look.  Killed at any moment and started again, the run reads the slots that are finished, proposes the
others again, and goes on; the trials are those of a run that was never disturbed.
"""

from __future__ import annotations

from collections.abc import Callable, Collection
from concurrent.futures import FIRST_COMPLETED, Future, wait
from dataclasses import dataclass, field
from pathlib import Path

from fovnet.errors import SearchError
from fovnet.search.journal import Journal, owned, read_header, slot_path
from fovnet.search.proposing import Search, propose_slot, too_little_gain, training_seed
from fovnet.search.trial import Outcome, Proposal, Trial

Submit = Callable[[Proposal], "Future[Outcome]"]
Progress = Callable[[int, int], None]

RETRIES = 2
"""How often a training is tried again after the machine, not the configuration, failed."""


def go_on(
    search: Search, *, trials: int, journal: Path, submit: Submit, stop_below_regret: float | None = None, progress: Progress | None = None
) -> list[Trial]:
    """The trials of slots 0..trials-1, by slot; fewer where the space has no more feasible rows, or little is left to be gained.

    The latter is the case before the first slot whose forecast puts the expected regret below `stop_below_regret`, in units of the
    score, once enough scores are known (`too_little_gain`); the header notes either.  Like the number of trials it is no part of the
    search's identity: without it the search goes on.

    `submit` begins a training and returns its future; it is called for at most `search.workers` slots at a time.  An exception in the
    future, or an outcome "error", is the machine's failure and tried again twice; but a SearchError in it ends the run, the slot left
    as if it had not begun.  The path depends on the search and the results alone: not on timing.  A journal with fewer trials is gone on
    with, one with more keeps them.  Raises SearchError for another search's journal, a second owner, or a slot that contradicts the clock.
    """
    with owned(journal, search) as book:
        return Run(book, submit, trials, stop_below_regret, progress).to_the_end()


@dataclass
class Run:
    """A search under way: what has been proposed, what is finished, what is in the air."""

    book: Journal
    submit: Submit
    trials: int
    stop_below_regret: float | None
    progress: Progress | None
    proposals: list[Proposal] = field(default_factory=list)
    finished: dict[int, Trial] = field(default_factory=dict)
    flying: dict[Future[Outcome], tuple[Proposal, tuple[str, ...]]] = field(default_factory=dict)

    def to_the_end(self) -> list[Trial]:
        """All trials, by slot."""
        slots = min(self.trials, int(self.book.search.feasible.sum()))       # no row is proposed twice
        before = read_header(self.book.folder).get("trials", 0) if (self.book.folder / "search.json").exists() else 0
        trials, notes = max(before, self.trials), self._notes(slots)
        self.book.write_header(trials, self.trials, slots if slots < self.trials else None, notes)
        self._report_progress()                                                         # the first training may take long
        try:
            for slot in range(slots):
                ending = self._fill(slot)
                if ending is not None:
                    slots = slot
                    notes.append(ending)
                    self.book.write_header(trials, self.trials, slots, notes)
                    break
            self._wait_for(range(slots))
        finally:
            for future in self.flying:
                future.cancel()                                              # what has not begun need not begin
        return [self.finished[slot] for slot in range(slots)]

    def _fill(self, slot: int) -> str | None:
        """Take the slot's trial from the journal, or propose it as soon as all it has seen is finished, and let it fly.

        The sentence with which the search ends, the slot left empty, where too little may still be gained; else None.
        """
        recorded = self.book.read(slot)
        if recorded is not None:
            self._refuse_contradiction(recorded.proposal)
            if (ending := self._too_little_gain(recorded.proposal)) is None:
                self.proposals.append(recorded.proposal)
                self._finish(recorded)
            return ending
        seen, _ = self.book.search.clock.sees([proposal.predicted_seconds for proposal in self.proposals])
        self._wait_for(seen)
        proposal = propose_slot(self.book.search, self.proposals, self.finished)
        if (ending := self._too_little_gain(proposal)) is None:
            self.proposals.append(proposal)
            self.flying[self.submit(proposal)] = proposal, ()
        return ending

    def _too_little_gain(self, proposal: Proposal) -> str | None:
        if self.stop_below_regret is None:
            return None
        self._wait_for(proposal.seen)                   # of a recorded proposal they may be on their way again
        return too_little_gain(self.book.search, proposal, self.finished, self.stop_below_regret)

    def _wait_for(self, slots: Collection[int]) -> None:
        """Come back when all these slots are finished; whatever else lands meanwhile is written down at once."""
        while any(slot not in self.finished for slot in slots):
            landed, _ = wait(self.flying, return_when=FIRST_COMPLETED)
            faults = [fault for future in landed if (fault := self._landed(future)) is not None]
            if faults:
                raise faults[0]

    def _landed(self, future: Future[Outcome]) -> SearchError | OSError | None:
        """As `_land`; what ends the search is handed back, so that what has landed beside it is written down first."""
        try:
            self._land(future)
        except (SearchError, OSError) as fault:
            return fault
        return None

    def _land(self, future: Future[Outcome]) -> None:
        """Write the outcome down, or, where the machine failed, let the same proposal fly again."""
        proposal, retries = self.flying.pop(future)
        outcome = outcome_of(future)
        if outcome.status == "error" and len(retries) < RETRIES:
            self.flying[self.submit(proposal)] = proposal, (*retries, outcome.message)
            return
        trial = Trial(proposal, outcome, retries)
        self.book.write(trial)
        self._finish(trial)

    def _finish(self, trial: Trial) -> None:
        self.finished[trial.proposal.slot] = trial
        self._report_progress()

    def _report_progress(self) -> None:
        if self.progress:
            self.progress(len(self.finished), self.trials)

    def _refuse_contradiction(self, proposal: Proposal) -> None:
        """A recorded slot is trusted only where it stands where this search would have put it.  Raises SearchError."""
        search, slot = self.book.search, len(self.proposals)
        seen, pending = search.clock.sees([earlier.predicted_seconds for earlier in self.proposals])
        row = proposal.row
        right = (
            (proposal.slot, proposal.seen, proposal.pending) == (slot, seen, pending)
            and proposal.seed == training_seed(search.seed, slot)
            and 0 <= row < len(search.space) and bool(search.feasible[row])
            and proposal.predicted_seconds == search.predicted_seconds[row]
            and proposal.configuration == search.space.configuration(row)
            and all(row != earlier.row for earlier in self.proposals)
        )
        if not right:
            path = slot_path(self.book.folder, slot)
            raise SearchError("slot-contradiction", f"{path}: not what this search does there; remove it to repeat the slot.")

    def _notes(self, slots: int) -> list[str]:
        """What a reader should know: a start that was moved, a search that ends early."""
        notes = start_notes(self.book.search)
        if slots < self.trials:
            notes.append(f"{self.trials} trials were asked for; the search ends after {slots}: no other configuration is feasible.")
        return notes


def start_notes(search: Search) -> list[str]:
    """A sentence where the start had to be moved."""
    if search.first_row == search.start:
        return []
    wanted, used = search.space.configuration(search.start), search.space.configuration(search.first_row)
    return [f"The start {wanted} is not feasible; the search starts at the nearest configuration that is, {used}."]


def train_alone(proposal: Proposal, submit: Submit) -> Trial:
    """The trial of one proposal, waited for; where the machine failed, it is tried again as in a whole search."""
    retries: tuple[str, ...] = ()
    while (outcome := outcome_of(submit(proposal))).status == "error" and len(retries) < RETRIES:
        retries = (*retries, outcome.message)
    return Trial(proposal, outcome, retries)


def outcome_of(future: Future[Outcome]) -> Outcome:
    """The future's outcome; an exception in it becomes an outcome "error" that names it.

    But a SearchError is raised: it means that no training can go on (the disk is full), and is not about this one.
    """
    try:
        return future.result()
    except SearchError:
        raise
    except Exception as fault:
        return Outcome("error", message=f"{type(fault).__name__}: {fault}")
