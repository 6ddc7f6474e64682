"""The definition of a search, and its proposal for a slot: a function of the results seen, so that
a resumed search repeats its path."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any, NamedTuple

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
    Modelling,
    Polling,
    Ranking,
    View,
)
from fovnet.search.methods import FIRST_SLOTS, METHODS, POLLING_METHODS
from fovnet.search.prior import Prior
from fovnet.search.space import Space
from fovnet.search.spend.ledger import Begin, GoOn, Ledger, Move, Spend
from fovnet.search.spend.schedule import FULL, Schedule
from fovnet.search.spend.spends import SPENDS
from fovnet.search.trial import Proposal, Trial
from fovnet.words import several


@dataclass(frozen=True, eq=False)
class Search:
    """Everything except the results that determines the proposals of a search.

    start              the row tried first, or the feasible row nearest to it is
    initial            number of slots spread over the space before the model is used, the first
                       included; None: as given by `default_initial_count`, or the method's own of FIRST_SLOTS
    predicted_seconds  (M,) float64, seconds of each row for the virtual clock
    feasible           (M,) bool, rows that fit into memory as far as is known
    modelling          how the method models the scores
    lead               how far the workers may run ahead of the results, as in clock.py
    candidates         what "tpe" compares, as in view.py
    schedule           how epochs are spent
    polling            how "mads" and "a-mads" poll
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
        self._refuse_settings()
        self._refuse_arrays()
        refuse_neighbours(self.space, self.polling)
        self._refuse_predictions()

    def _refuse_settings(self) -> None:
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
    def clock(self) -> Clock:
        """The clock that determines when a slot starts, and what it has seen by then."""
        return Clock(self.workers, self.first_slots, self.lead)

    @property
    def first_slots(self) -> int:
        """The number of slots spread over the space before the model is used."""
        return self.initial or FIRST_SLOTS.get(self.method) or default_initial_count(self.space)

    @property
    def first_row(self) -> int:
        """The row of slot 0: `start` if it is feasible, else the feasible row nearest to it in the
        unit cube."""
        return self.space.nearest_row(self.space.rows[self.start], self.feasible)

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
            "modelling": self.modelling.facts,
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
        if self.method in POLLING_METHODS:
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


def propose_slot(
    search: Search,
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
    is_free_row = search.feasible.copy()  # (M,): never begun
    is_free_row[[proposal.row for proposal in earlier]] = False
    ledger = Ledger.of(
        search.schedule, earlier, sight.score_by_slot, has_free_rows=bool(is_free_row.any())
    )
    policy = spending_policy or SPENDS[search.schedule.kind]
    next_move = policy(ledger)
    if next_move is None:
        raise SearchError(
            "space-exhausted",
            f"every feasible configuration, {count_rows_begun(earlier)} in all, has been tried; ask for fewer "
            "trials, or give search.space more levels or larger limits.",
        )
    if isinstance(next_move, GoOn):
        choice = Choice(earlier[next_move.slot].row)
        return make_proposal(search, earlier, sight.slots, next_move, choice)
    if not earlier:
        return make_proposal(search, earlier, sight.slots, next_move, Choice(search.first_row))
    stopped_slot_by_row = {entry.row: entry.slot for entry in next_move.stopped_entries}
    is_free_row[list(stopped_slot_by_row)] = True
    choice = _choose_row(search, earlier, sight, is_free_row)
    if choice.row in stopped_slot_by_row:
        stopped_slot = stopped_slot_by_row[choice.row]
        next_move = GoOn(stopped_slot, next_move.bracket, next_move.rung)
    return make_proposal(search, earlier, sight.slots, next_move, choice)


def _sight_of_slot(
    search: Search, earlier: Sequence[Proposal], trial_by_slot: Mapping[int, Trial]
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


def _choose_row(
    search: Search, earlier: Sequence[Proposal], sight: Sight, is_free_row: NDArray[np.bool_]
) -> Choice:
    """The choice of the method's Look among the free rows (M,)."""
    seen_rows = {trial.proposal.row for trial in sight.trials}
    pending_rows = [earlier[slot].row for slot in sight.slots.pending_slots]
    view = make_view(
        search,
        sight.trials,
        slot=len(earlier),
        is_free=is_free_row,
        pending_rows=tuple(row for row in pending_rows if row not in seen_rows),
        continued_count=len(earlier) - count_rows_begun(earlier),
    )
    # the same bits on every number of cores, and no competition with running trainings
    with one_thread():
        return METHODS[search.method].look(view)


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
    search: Search, earlier: Sequence[Proposal], slots: SlotsInSight, move: Move, choice: Choice
) -> Proposal:
    """The proposal of a move: all that follows from it, the choice of a row, and what the slot has
    seen and not."""
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
        choice.row,
        search.space.configuration(choice.row),
        seed=seed,
        seen_slots=slots.seen_slots,
        pending_slots=slots.pending_slots,
        predicted_seconds=seconds_for(search, choice.row),
        forecast=choice.forecast,
        step=choice.step,
    )
    if schedule.kind == "full":
        return proposal
    rung_epochs = schedule.rungs[move.rung]
    return replace(
        proposal,
        predicted_seconds=seconds_for(search, choice.row, rung_epochs, begun_epochs),
        epochs=rung_epochs,
        continued_slot=continued_slot,
        begun_epochs=begun_epochs,
        bracket=move.bracket,
        rung=move.rung,
    )


def seconds_for(
    search: Search, row: int, epochs: int | None = None, begun_epochs: int = 0
) -> float:
    """The predicted seconds of a row's training from the epochs already begun to `epochs`; None:
    of all of it."""
    full_seconds = float(search.predicted_seconds[row])
    if epochs is None:
        return full_seconds
    return full_seconds * (epochs - begun_epochs) / search.schedule.epochs


def is_possible(search: Search, earlier: Sequence[Proposal], proposal: Proposal) -> bool:
    """Whether a recorded proposal may be this search's for the next slot; whether the method would
    choose it is not asked."""
    schedule = search.schedule
    slots = search.clock.slots_in_sight(
        [earlier_proposal.predicted_seconds for earlier_proposal in earlier]
    )
    if (proposal.seen_slots, proposal.pending_slots) != slots:
        return False
    if not (0 <= proposal.row < len(search.space) and search.feasible[proposal.row]):
        return False
    if not 0 <= proposal.rung <= schedule.last_rung:
        return False
    if not 0 <= proposal.bracket <= schedule.newest_possible_bracket(earlier):
        return False
    if proposal.continued_slot is None:
        if any(earlier_proposal.row == proposal.row for earlier_proposal in earlier):
            return False
        move: Move = Begin(proposal.bracket, proposal.rung)
    else:
        if proposal.continued_slot not in proposal.seen_slots:
            return False
        if not _may_follow(earlier, earlier[proposal.continued_slot], proposal):
            return False
        move = GoOn(proposal.continued_slot, proposal.bracket, proposal.rung)
    choice = Choice(proposal.row, proposal.forecast, proposal.step)
    return make_proposal(search, earlier, slots, move, choice) == proposal


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
    search: Search, proposal: Proposal, trial_by_slot: Mapping[int, Trial], bound: float | None
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
    if score_count < ENOUGH_SCORES * len(search.space.axes):
        return None
    return (
        f"The search ends after {several(proposal.slot, 'trial')}: no more than {expected_regret:g} of the score is "
        "expected to be gained."
    )
