"""The definition of a search, and its proposal for a slot: a function of the results seen, so that
a resumed search repeats its path."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any, NamedTuple, Self, cast

import numpy as np
from numpy.typing import NDArray

from fovnet.choices import Candidates
from fovnet.errors import SearchError
from fovnet.machine.threads import one_thread
from fovnet.records import digest
from fovnet.search.clock import LEAD, Clock, SlotsInSight
from fovnet.search.look.mesh import refuse_neighbours
from fovnet.search.look.uniform import default_initial_count
from fovnet.search.look.view import (
    DEFAULT_CANDIDATES,
    POLLING,
    RANKING,
    RECOMMENDED,
    Choice,
    Look,
    Modelling,
    Polling,
    Ranking,
    View,
)
from fovnet.search.methods import DIRECT_METHODS, FIRST_SLOTS, METHODS
from fovnet.search.prior import Prior
from fovnet.search.space import Level, Space
from fovnet.search.spend.ledger import Begin, GoOn, Ledger, LedgerEntry, Move, Spend
from fovnet.search.spend.schedule import FULL, Schedule
from fovnet.search.spend.spends import SPENDS
from fovnet.search.trial import Forecast, Proposal, Trial
from fovnet.words import several


class Pick(NamedTuple):
    """What a slot is to train.

    row       its number: in a finite space that of the table, in a tree that of its beginning
    seconds   predicted of a whole training
    forecast, step  as in `Choice`
    """

    row: int
    configuration: Mapping[str, Level]
    seconds: float
    forecast: Forecast | None = None
    step: str = ""


class AnySearch(ABC):
    """Everything except the results that determines the proposals of a search, over a finite space or
    over a tree."""

    method: str
    seed: int
    workers: int
    initial: int | None
    modelling: Modelling
    lead: float
    schedule: Schedule

    def refuse_settings(self) -> None:
        """Raises SearchError for an unknown method, invalid workers, seed or lead."""
        if self.method not in METHODS:
            raise SearchError(
                "search-method",
                f"search method {self.method!r} is unknown; choose one of {', '.join(METHODS)}.",
            )
        if self.workers < 1 or self.seed < 0:
            raise SearchError(
                "search-workers",
                f"workers {self.workers}, seed {self.seed}; give 1 worker or more, a seed from 0.",
            )
        if not 0.0 <= self.lead <= 1.0:
            raise SearchError(
                "search-lead",
                f"lead {self.lead}; give a share from 0 (wait for all results) to 1 (wait for none).",
            )

    @property
    def modelling_facts(self) -> dict[str, Any]:
        """The modelling as JSON; with `models` where they alternate, so that a version from before,
        which knows one model only, refuses the journal."""
        facts = self.modelling.facts
        if self.method == "gp-ei" and self.modelling.models == "alternating":
            facts["models"] = self.modelling.models
        return facts

    def with_single_model(self) -> Self:
        """The same search with `models` "single"."""
        single_modelling = replace(self.modelling, models="single")
        # mypy does not see that every search is a dataclass
        return cast(Self, replace(cast(Any, self), modelling=single_modelling))

    @property
    def clock(self) -> Clock:
        """The clock that determines when a slot starts, and what it has seen by then."""
        return Clock(self.workers, self.first_slots, self.lead)

    @property
    @abstractmethod
    def first_slots(self) -> int:
        """The number of slots spread over the space before the model is used."""

    @property
    @abstractmethod
    def identity(self) -> dict[str, Any]:
        """The facts, as JSON, that must be equal for two runs to be the same search."""

    @property
    @abstractmethod
    def arrays(self) -> dict[str, NDArray[Any]]:
        """What a journal has besides the identity, so that a slot can be replayed from it alone."""

    @property
    @abstractmethod
    def size_in_words(self) -> str:
        """How large the space is."""

    @property
    @abstractmethod
    def axis_count(self) -> int:
        """The number of hyper-parameters; of a tree those of the start."""

    @property
    @abstractmethod
    def row_limit(self) -> int | None:
        """The number of rows that may be begun; None: unknown."""

    @property
    @abstractmethod
    def start_note(self) -> str | None:
        """A sentence if the start had to be moved."""

    @abstractmethod
    def has_free_rows(self, earlier: Sequence[Proposal]) -> bool:
        """Whether a row may be left that was never begun."""

    @abstractmethod
    def first_pick(self) -> Pick:
        """What slot 0 trains: the start, or what takes its place."""

    @abstractmethod
    def continued_pick(self, proposal: Proposal) -> Pick:
        """What an earlier proposal trains, without its forecast."""

    @abstractmethod
    def next_pick(
        self, earlier: Sequence[Proposal], sight: Sight, stopped_entries: Sequence[LedgerEntry]
    ) -> Pick | None:
        """The method's choice among rows never begun and those of stopped entries; None if there is
        nothing to choose from."""

    @abstractmethod
    def recorded_pick(self, earlier: Sequence[Proposal], proposal: Proposal) -> Pick | None:
        """What a recorded proposal trains; None if it could not be this search's for the next slot."""


@dataclass(frozen=True, eq=False)
class Search(AnySearch):
    """A search over a finite space.

    start              the row tried first, or the feasible row nearest to it is
    initial            number of slots spread over the space before the model is used, the first
                       included; None: as given by `default_initial_count`, or the method's own of FIRST_SLOTS
    predicted_seconds  (M,) float64, seconds of each row for the virtual clock
    feasible           (M,) bool, rows that fit into memory as far as is known
    modelling          how the method models the scores
    lead               how far the workers may run ahead of the results, as in clock.py
    candidates         what "tpe" compares, as in view.py
    schedule           how epochs are spent
    polling            how "mads", "a-mads" and "a-dogs" search
    ranking            how "ranking" learns the order of the scores
    prior              what earlier searches taught, of "ranking" and "gp-rgpe"
    memory             (M,) estimated bytes that each row's training needs, on which the actual
                       limit is learned; None: unknown
    Raises SearchError for an unknown method, invalid workers, seed or lead, arrays of wrong shape,
    predictions or memory estimates that are not positive numbers, or a space without a feasible
    row, and ConfigError as `refuse_neighbours`.
    """

    space: Space
    method: str
    seed: int
    workers: int
    start: int
    initial: int | None
    predicted_seconds: NDArray[np.float64]
    feasible: NDArray[np.bool_]
    modelling: Modelling = RECOMMENDED
    memory: NDArray[np.float64] | None = None
    lead: float = LEAD
    candidates: Candidates = DEFAULT_CANDIDATES
    schedule: Schedule = FULL
    polling: Polling = POLLING
    ranking: Ranking = RANKING
    prior: Prior | None = None

    def __post_init__(self) -> None:
        self.refuse_settings()
        self._refuse_arrays()
        refuse_neighbours(self.space, self.polling)
        self._refuse_predictions()

    def _refuse_arrays(self) -> None:
        """Raises SearchError for arrays of wrong shape, or memory estimates that are not positive."""
        row_count = len(self.space)
        if self.predicted_seconds.shape != (row_count,) or self.feasible.shape != (row_count,):
            given_counts = (
                f"{self.predicted_seconds.size} predicted seconds and a mask of {self.feasible.size} "
                "feasible rows"
            )
            raise SearchError(
                "search-shape",
                f"{given_counts}; the space has {row_count} rows: give one of each for every row, in its order.",
            )
        if self.memory is None:
            return
        is_positive = np.isfinite(self.memory) & (self.memory > 0)
        if self.memory.shape != (row_count,) or not is_positive.all():
            least_memory = self.memory.min(initial=np.inf)
            raise SearchError(
                "search-memory",
                f"{self.memory.size} estimates of memory, the least {least_memory:g} bytes; give {row_count} numbers "
                "above 0, one for each row of the space.",
            )

    def _refuse_predictions(self) -> None:
        """Raises SearchError without a feasible row, or for one whose predicted seconds are not a
        positive number."""
        if not self.feasible.any():
            raise SearchError(
                "no-feasible-row",
                f"none of the {len(self.space)} configurations fits; allow more memory or smaller networks.",
            )
        is_positive = np.isfinite(self.predicted_seconds) & (self.predicted_seconds > 0.0)
        unsound_rows = np.flatnonzero(self.feasible & ~is_positive)
        if len(unsound_rows):
            unsound_row = int(unsound_rows[0])
            raise SearchError(
                "search-seconds",
                f"row {unsound_row} of the space, {self.space.configuration(unsound_row)}, is predicted to take "
                f"{self.predicted_seconds[unsound_row]:g} seconds, but must be above 0: give search.speed other "
                "numbers, or measure it with `fovnet calibrate --again`.",
            )

    @property
    def first_slots(self) -> int:
        """The number of slots spread over the space before the model is used."""
        return self.initial or FIRST_SLOTS.get(self.method) or default_initial_count(self.space)

    @property
    def first_row(self) -> int:
        """The row of slot 0: `start` if it is feasible, else the feasible row nearest to it in the
        unit cube."""
        return self.space.nearest_row(self.space.rows[self.start], self.feasible)

    @property
    def look(self) -> Look:
        """Where the method looks."""
        return METHODS[self.method].look

    @property
    def arrays(self) -> dict[str, NDArray[Any]]:
        """The rows, their predicted seconds, mask and memory."""
        arrays: dict[str, NDArray[Any]] = {
            "rows": self.space.rows,
            "predicted_seconds": self.predicted_seconds,
            "feasible": self.feasible,
        }
        if self.memory is not None:
            arrays["memory"] = self.memory
        return arrays

    @property
    def size_in_words(self) -> str:
        """ "34,100 of 34,300 configurations fit"."""
        return f"{self.feasible.sum():,} of {len(self.space):,} configurations fit"

    @property
    def axis_count(self) -> int:
        """The number of axes."""
        return len(self.space.axes)

    @property
    def row_limit(self) -> int:
        """The number of feasible rows."""
        return int(self.feasible.sum())

    @property
    def start_note(self) -> str | None:
        """A sentence if the start had to be moved."""
        if self.first_row == self.start:
            return None
        start = self.space.configuration(self.start)
        nearest = self.space.configuration(self.first_row)
        return (
            f"The start {start} is not feasible; the search starts at the nearest configuration that is, "
            f"{nearest}."
        )

    def has_free_rows(self, earlier: Sequence[Proposal]) -> bool:
        """Whether a feasible row was never begun."""
        return bool(self._are_free_rows(earlier).any())

    def _are_free_rows(self, earlier: Sequence[Proposal]) -> NDArray[np.bool_]:
        """(M,) whether each row is feasible and was never begun."""
        is_free_row = self.feasible.copy()
        is_free_row[[proposal.row for proposal in earlier]] = False
        return is_free_row

    def _pick(self, choice: Choice) -> Pick:
        """The configuration of a chosen row, and its predicted seconds."""
        return Pick(
            choice.row,
            self.space.configuration(choice.row),
            float(self.predicted_seconds[choice.row]),
            choice.forecast,
            choice.step,
        )

    def first_pick(self) -> Pick:
        """The start, or the feasible row nearest to it."""
        return self._pick(Choice(self.first_row))

    def continued_pick(self, proposal: Proposal) -> Pick:
        """The row of a proposal."""
        return self._pick(Choice(proposal.row))

    def next_pick(
        self, earlier: Sequence[Proposal], sight: Sight, stopped_entries: Sequence[LedgerEntry]
    ) -> Pick:
        """The choice of the method's Look among the free rows and those of stopped entries."""
        is_free_row = self._are_free_rows(earlier)
        is_free_row[[entry.row for entry in stopped_entries]] = True
        seen_rows = {trial.proposal.row for trial in sight.trials}
        pending_rows = [earlier[slot].row for slot in sight.slots.pending_slots]
        view = make_view(
            self,
            sight.trials,
            slot=len(earlier),
            is_free=is_free_row,
            pending_rows=tuple(row for row in pending_rows if row not in seen_rows),
            continued_count=len(earlier) - count_rows_begun(earlier),
        )
        # the same bits on every number of cores, and no competition with running trainings
        with one_thread():
            return self._pick(self.look(view))

    def recorded_pick(self, earlier: Sequence[Proposal], proposal: Proposal) -> Pick | None:
        """The row of a proposal, None if it is not feasible, or begun twice."""
        row = proposal.row
        if not (0 <= row < len(self.space) and self.feasible[row]):
            return None
        is_begun = any(earlier_proposal.row == row for earlier_proposal in earlier)
        if proposal.continued_slot is None and is_begun:
            return None
        return self._pick(Choice(row, proposal.forecast, proposal.step))

    @cached_property
    def identity(self) -> dict[str, Any]:
        """The facts, as JSON, that must be equal for two runs to be the same search; large arrays
        by their SHA-256."""
        facts: dict[str, Any] = {
            "method": self.method,
            "seed": self.seed,
            "workers": self.workers,
            "start": self.start,
            "initial": self.initial,
            "lead": self.lead,
            "first_slots": self.first_slots,
            "modelling": self.modelling_facts,
            "axes": [axis.facts for axis in self.space.axes],
            "rows_sha256": digest(self.space.rows),
            "predicted_seconds_sha256": digest(self.predicted_seconds),
            "feasible_sha256": digest(self.feasible),
            "memory_sha256": None,
        }
        if self.memory is not None:
            facts["memory_sha256"] = digest(self.memory)
        # journals of before do not have it
        if self.candidates != DEFAULT_CANDIDATES:
            facts["candidates"] = self.candidates
        facts |= self.schedule.facts
        if self.method in DIRECT_METHODS:
            facts["polling"] = self.polling.facts
        if self.method == "ranking":
            facts["ranking"] = self.ranking.facts
        if self.prior:
            facts["prior_sha256"] = self.prior.sha256
        return facts


def training_seed(seed: int, slot: int) -> int:
    """The seed of a slot's training, below 2**32: independent of those of other slots and of the
    proposals."""
    return int(np.random.SeedSequence(seed, spawn_key=(slot,)).generate_state(1)[0])


class Sight(NamedTuple):
    """What a slot knows of the earlier ones: the trials of those it has seen finished, by slot; and
    the slots that it has seen and those still running, as by the virtual clock."""

    trials: tuple[Trial, ...]
    slots: SlotsInSight

    @property
    def score_by_slot(self) -> dict[int, float | None]:
        """The score of each seen slot, None if it failed."""
        return {trial.proposal.slot: trial.score for trial in self.trials}

    def from_rung(self, least_rung: int) -> Sight:
        """Without the scores of trainings that have not reached a rung."""
        telling_trials = [
            trial
            for trial in self.trials
            if trial.score is None or trial.proposal.rung >= least_rung
        ]
        return self._replace(trials=tuple(telling_trials))


def propose_slot(
    search: AnySearch,
    earlier: Sequence[Proposal],
    trial_by_slot: Mapping[int, Trial],
    spending_policy: Spend | None = None,
) -> Proposal:
    """The proposal of slot t = len(earlier), given the proposals of slots 0..t-1 and at least the
    trials that t has seen.

    Other trials are ignored; spending_policy is that of the schedule's name unless another is
    given. Raises SearchError "space-exhausted" if no row is free and no training can go on.
    """
    sight = _sight_of_slot(search, earlier, trial_by_slot)
    policy = spending_policy or SPENDS[search.schedule.kind]
    ledger = Ledger.of(
        search.schedule,
        earlier,
        sight.score_by_slot,
        has_free_rows=search.has_free_rows(earlier),
    )
    proposal = _propose_move(search, earlier, sight, policy, ledger)
    if proposal is None and ledger.has_free_rows:
        # whether a tree has a free point is known only once none was drawn
        exhausted_ledger = replace(ledger, has_free_rows=False)
        proposal = _propose_move(search, earlier, sight, policy, exhausted_ledger)
    if proposal is None:
        raise SearchError(
            "space-exhausted",
            f"every feasible configuration, {count_rows_begun(earlier)} in all, has been tried; ask for fewer "
            "trials, or give search.space more levels or larger limits.",
        )
    return proposal


def _propose_move(
    search: AnySearch, earlier: Sequence[Proposal], sight: Sight, policy: Spend, ledger: Ledger
) -> Proposal | None:
    """The proposal of the policy's next move; None if it has none, or nothing can be begun."""
    next_move = policy(ledger)
    if next_move is None:
        return None
    if isinstance(next_move, GoOn):
        continued_pick = search.continued_pick(earlier[next_move.slot])
        return make_proposal(search, earlier, sight.slots, next_move, continued_pick)
    if not earlier:
        return make_proposal(search, earlier, sight.slots, next_move, search.first_pick())
    telling_sight = sight.from_rung(next_move.least_rung)
    pick = search.next_pick(earlier, telling_sight, next_move.stopped_entries)
    if pick is None:
        return None
    stopped_entry_by_row = {entry.row: entry for entry in next_move.stopped_entries}
    if pick.row in stopped_entry_by_row:
        stopped_entry = stopped_entry_by_row[pick.row]
        rung = max(next_move.rung, stopped_entry.rung + 1)
        next_move = GoOn(stopped_entry.slot, next_move.bracket, rung)
    return make_proposal(search, earlier, sight.slots, next_move, pick)


def _sight_of_slot(
    search: AnySearch, earlier: Sequence[Proposal], trial_by_slot: Mapping[int, Trial]
) -> Sight:
    """What the next slot knows.  Raises KeyError with a slot that it must have seen and that has no
    trial."""
    seen_slots, pending_slots = search.clock.slots_in_sight(
        [proposal.predicted_seconds for proposal in earlier]
    )
    # the same objects in every tuple: 1,000 slots have seen half a million
    seen_slots = tuple(earlier[slot].slot for slot in seen_slots)
    trials = tuple(trial_by_slot[slot] for slot in seen_slots)
    return Sight(trials, SlotsInSight(seen_slots, pending_slots))


def make_view(
    search: Search,
    trials: Sequence[Trial],
    *,
    slot: int,
    is_free: NDArray[np.bool_],
    pending_rows: tuple[int, ...] = (),
    continued_count: int = 0,
) -> View:
    """What a slot sees of a search after these trials, by slot; is_free (M,) and the others as in
    `View`."""
    rung_epochs: tuple[int, ...] = ()
    if search.schedule.kind != "full":
        rung_epochs = search.schedule.rungs
    return View(
        search.space,
        trials=tuple(trials),
        pending_rows=pending_rows,
        is_free=is_free,
        slot=slot,
        seed=search.seed,
        initial_count=search.first_slots,
        predicted_seconds=search.predicted_seconds,
        memory=search.memory,
        modelling=search.modelling,
        candidates=search.candidates,
        continued_count=continued_count,
        rung_epochs=rung_epochs,
        polling=search.polling,
        ranking=search.ranking,
        prior=search.prior,
    )


def count_rows_begun(earlier: Sequence[Proposal]) -> int:
    """How many rows these proposals begin."""
    return sum(proposal.continued_slot is None for proposal in earlier)


def make_proposal(
    search: AnySearch, earlier: Sequence[Proposal], slots: SlotsInSight, move: Move, pick: Pick
) -> Proposal:
    """The proposal of a move: all that follows from it, what is picked, and what the slot has seen and
    not."""
    slot = len(earlier)
    schedule = search.schedule
    seed = training_seed(search.seed, slot)
    continued_slot = None
    begun_epochs = 0
    if isinstance(move, GoOn):
        continued_proposal = earlier[move.slot]
        continued_slot = continued_proposal.slot
        seed = continued_proposal.seed
        if not schedule.restarts:
            begun_epochs = int(continued_proposal.epochs or 0)
    proposal = Proposal(
        slot,
        pick.row,
        pick.configuration,
        seed=seed,
        seen_slots=slots.seen_slots,
        pending_slots=slots.pending_slots,
        predicted_seconds=pick.seconds,
        forecast=pick.forecast,
        step=pick.step,
    )
    if schedule.kind == "full":
        return proposal
    rung_epochs = schedule.epochs_at(move.rung, pick.seconds)
    return replace(
        proposal,
        predicted_seconds=pick.seconds * (rung_epochs - begun_epochs) / schedule.epochs,
        epochs=rung_epochs,
        continued_slot=continued_slot,
        begun_epochs=begun_epochs,
        bracket=move.bracket,
        rung=move.rung,
    )


def predicted_seconds_of(search: AnySearch, proposal: Proposal) -> float:
    """The seconds that this search predicts for a recorded proposal, of the epochs that it adds."""
    full_seconds = search.continued_pick(proposal).seconds
    if proposal.epochs is None:
        return full_seconds
    return full_seconds * (proposal.epochs - proposal.begun_epochs) / search.schedule.epochs


def is_possible(search: AnySearch, earlier: Sequence[Proposal], proposal: Proposal) -> bool:
    """Whether a recorded proposal may be this search's for the next slot; whether the method would
    choose it is not asked."""
    schedule = search.schedule
    slots = search.clock.slots_in_sight(
        [earlier_proposal.predicted_seconds for earlier_proposal in earlier]
    )
    if (proposal.seen_slots, proposal.pending_slots) != slots:
        return False
    if not 0 <= proposal.rung <= schedule.last_rung:
        return False
    if not 0 <= proposal.bracket <= schedule.newest_possible_bracket(earlier):
        return False
    if proposal.continued_slot is None:
        move: Move = Begin(proposal.bracket, proposal.rung)
    else:
        if proposal.continued_slot not in proposal.seen_slots:
            return False
        if not _may_follow(earlier, earlier[proposal.continued_slot], proposal):
            return False
        move = GoOn(proposal.continued_slot, proposal.bracket, proposal.rung)
    pick = search.recorded_pick(earlier, proposal)
    return pick is not None and make_proposal(search, earlier, slots, move, pick) == proposal


def _may_follow(
    earlier: Sequence[Proposal], continued_proposal: Proposal, proposal: Proposal
) -> bool:
    """Whether a proposal may go on with one of its row on a lower rung, with which no other
    does."""
    continued_slots = {earlier_proposal.continued_slot for earlier_proposal in earlier}
    if continued_proposal.slot in continued_slots:
        return False
    return continued_proposal.row == proposal.row and continued_proposal.rung < proposal.rung


ENOUGH_SCORES = 4
"""Scores per axis that a model must have before the search may end because of its expected regret.

From three scores that agree by chance it infers that all do.  With a bound of a tenth of the
distance from the median loss to the best twentieth, 7 of 48 searches of recorded tables ended with
more than twice that left to gain; with this minimum 1 does.
"""


def describe_too_little_gain(
    search: AnySearch, proposal: Proposal, trial_by_slot: Mapping[int, Trial], bound: float | None
) -> str | None:
    """The sentence with which a search ends before `proposal`, if the expected regret of its
    forecast is below `bound`; else None.

    trial_by_slot must include those that the proposal has seen; with fewer than ENOUGH_SCORES
    scores per axis among these no search ends.
    """
    expected_regret = proposal.expected_regret
    if bound is None or expected_regret is None or expected_regret >= bound:
        return None
    score_count = sum(trial_by_slot[slot].score is not None for slot in proposal.seen_slots)
    if score_count < ENOUGH_SCORES * search.axis_count:
        return None
    return (
        f"The search ends after {several(proposal.slot, 'trial')}: no more than {expected_regret:g} of the score is "
        "expected to be gained."
    )
