"""Running a search: W slots at a time, each proposed when all slots it must see are actually finished.

Proposals are made elsewhere (`search.py`).  If it is killed at any moment and started again, the run reads
the finished slots, proposes the others again, and continues; the trials are those of an uninterrupted run.
"""

from __future__ import annotations

from collections.abc import Callable, Collection
from concurrent.futures import FIRST_COMPLETED, Future, wait
from dataclasses import dataclass, field
from pathlib import Path

from fovnet.errors import SearchError
from fovnet.search.journal import Journal, owned, read_header, slot_path
from fovnet.search.search import Search, is_possible, propose_slot, too_little_gain
from fovnet.search.trial import Outcome, Proposal, Trial
from fovnet.words import several

Submit = Callable[[Proposal], "Future[Outcome]"]
Progress = Callable[[int, int], None]

RETRIES = 2
"""How often a training is repeated after a failure of the machine, not of the configuration."""


def go_on(
    search: Search,
    *,
    trials: int,
    journal: Path,
    submit: Submit,
    stop_below_regret: float | None = None,
    progress: Progress | None = None,
) -> list[Trial]:
    """The trials of all slots, by slot, that together have the epochs of so many full trainings; fewer if the
    space has no more feasible rows, or little is left to gain.

    The latter is before the first slot with an expected regret below `stop_below_regret`, in units of the
    score, once enough scores are known (`too_little_gain`); the header notes either.  Like the number of
    trials it is not part of the search's identity: without it the search can be continued.

    `submit` starts a training and returns its future; it is called for at most `search.workers` slots at a
    time.  An exception in the future, or an outcome "error", is a failure of the machine, and the training is
    repeated up to twice; but a SearchError in it ends the run, and the slot counts as not begun.  The path
    depends on the search and the results alone, not on timing.  A journal with fewer trials is continued, one
    with more keeps them.  Raises SearchError for another search's journal, a locked one, or a slot that
    contradicts the search.
    """
    with owned(journal, search) as book:
        return Run(book, submit, trials, stop_below_regret, progress).to_the_end()


@dataclass
class Run:
    """A running search: `proposals` made, `finished` trials by slot, and trainings in progress (`flying`,
    with their failed attempts)."""

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
        header = self.book.folder / "search.json"
        before = read_header(self.book.folder).get("trials", 0) if header.exists() else 0
        most, notes = max(before, self.trials), self._notes()
        self.book.write_header(most, self.trials, self._rows_run_out(), notes)
        # the first training may take long
        self._report_progress()
        try:
            ending = None
            while ending is None and not self._is_spent():
                ending = self._fill(len(self.proposals))
            if ending:
                notes.append(ending)
                self.book.write_header(most, self.trials, len(self.proposals), notes)
            self._wait_for(range(len(self.proposals)))
        finally:
            for future in self.flying:
                # trainings not yet started are not needed
                future.cancel()
        return [self.finished[proposal.slot] for proposal in self.proposals]

    def _rows_run_out(self) -> int | None:
        """The number of rows if each is trained to its end, and there are fewer than trials requested; else
        None."""
        # no row is begun twice
        rows = int(self.book.search.feasible.sum())
        return rows if self.book.search.schedule.kind == "full" and rows < self.trials else None

    def _is_spent(self) -> bool:
        """Whether no slot is left to propose."""
        slots = self._rows_run_out()
        within = self.book.search.schedule.within_budget(self.proposals, self.trials)
        return not within or (slots is not None and len(self.proposals) >= slots)

    def _fill(self, slot: int) -> str | None:
        """Takes the slot's trial from the journal, or proposes it as soon as all slots it sees are finished,
        and submits it.

        Returns the sentence with which the search ends before this slot, if too little is left to gain, or
        nothing to train; else None.
        """
        recorded = self.book.read(slot)
        if recorded is not None:
            self._refuse_contradiction(recorded.proposal)
            if (ending := self._too_little_gain(recorded.proposal)) is None:
                self.proposals.append(recorded.proposal)
                self._finish(recorded)
            return ending
        seen, _ = self.book.search.clock.sees(
            [proposal.predicted_seconds for proposal in self.proposals]
        )
        self._wait_for(seen)
        try:
            proposal = propose_slot(self.book.search, self.proposals, self.finished)
        except SearchError as fault:
            if fault.code != "space-exhausted":
                raise
            return f"The search ends after {several(slot, 'slot')}: {fault.sentence}"
        if (ending := self._too_little_gain(proposal)) is None:
            self.proposals.append(proposal)
            self.flying[self.submit(proposal)] = proposal, ()
        return ending

    def _too_little_gain(self, proposal: Proposal) -> str | None:
        if self.stop_below_regret is None:
            return None
        # those of a recorded proposal may be in training again
        self._wait_for(proposal.seen)
        return too_little_gain(self.book.search, proposal, self.finished, self.stop_below_regret)

    def _wait_for(self, slots: Collection[int]) -> None:
        """Returns when all these slots are finished; other outcomes that arrive meanwhile are recorded at
        once."""
        while any(slot not in self.finished for slot in slots):
            landed, _ = wait(self.flying, return_when=FIRST_COMPLETED)
            faults = [fault for future in landed if (fault := self._landed(future)) is not None]
            if faults:
                raise faults[0]

    def _landed(self, future: Future[Outcome]) -> SearchError | OSError | None:
        """As `_land`; an exception that ends the search is returned, so that other finished outcomes are
        recorded first."""
        try:
            self._land(future)
        except (SearchError, OSError) as fault:
            return fault
        return None

    def _land(self, future: Future[Outcome]) -> None:
        """Records the outcome, or, after a failure of the machine, submits the same proposal again."""
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
            proposals = (trial.proposal for trial in self.finished.values())
            self.progress(self.book.search.schedule.full_trainings(proposals), self.trials)

    def _refuse_contradiction(self, proposal: Proposal) -> None:
        """Raises SearchError "slot-contradiction" for a recorded proposal that this search could not have
        made for the next slot."""
        if not is_possible(self.book.search, self.proposals, proposal):
            path = slot_path(self.book.folder, len(self.proposals))
            raise SearchError(
                "slot-contradiction",
                f"{path}: not the trial that this search has in this slot; remove it to repeat the slot.",
            )

    def _notes(self) -> list[str]:
        """Notes for the header: a start that was moved, a search that ends early for lack of feasible
        rows."""
        notes, slots = start_notes(self.book.search), self._rows_run_out()
        if slots is not None:
            notes.append(
                f"{self.trials} trials were asked for; the search ends after {slots}: no other configuration "
                "is feasible."
            )
        return notes


def start_notes(search: Search) -> list[str]:
    """A sentence if the start had to be moved; else empty."""
    if search.first_row == search.start:
        return []
    wanted, used = (
        search.space.configuration(search.start),
        search.space.configuration(search.first_row),
    )
    return [
        f"The start {wanted} is not feasible; the search starts at the nearest configuration that is, {used}."
    ]


def train_alone(proposal: Proposal, submit: Submit) -> Trial:
    """The trial of one proposal, when it is finished; after a failure of the machine it is repeated as in a
    whole search."""
    retries: tuple[str, ...] = ()
    while (outcome := outcome_of(submit(proposal))).status == "error" and len(retries) < RETRIES:
        retries = (*retries, outcome.message)
    return Trial(proposal, outcome, retries)


def outcome_of(future: Future[Outcome]) -> Outcome:
    """The future's outcome; an exception in it becomes an outcome "error" with its name and message.

    But a SearchError is raised: it means that no training at all can continue (for instance, the disk is
    full).
    """
    try:
        return future.result()
    except SearchError:
        raise
    except Exception as fault:
        return Outcome("error", message=f"{type(fault).__name__}: {fault}")
