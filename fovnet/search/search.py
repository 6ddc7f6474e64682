"""The definition of a search, and its proposal for a slot: a function of the results seen, so that a resumed
search repeats its path."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from fovnet.errors import SearchError
from fovnet.machine.threads import one_thread
from fovnet.records import digest
from fovnet.search.clock import LEAD, Clock
from fovnet.search.look.mesh import refuse_neighbours
from fovnet.search.look.uniform import few
from fovnet.search.look.view import (
    POLLING,
    RANKING,
    RECOMMENDED,
    Candidates,
    Choice,
    Modelling,
    Polling,
    Ranking,
    View,
)
from fovnet.search.methods import FIRST_SLOTS, METHODS, POLLING_METHODS
from fovnet.search.prior import Prior
from fovnet.search.space import Space
from fovnet.search.spend.book import Begin, Book, GoOn, Move, Spend
from fovnet.search.spend.schedule import FULL, Schedule
from fovnet.search.spend.spends import SPENDS
from fovnet.search.trial import Forecast, Proposal, Trial
from fovnet.words import several


@dataclass(frozen=True, eq=False)
class Search:
    """Everything except the results that determines the proposals of a search.

    start              the row tried first, or the feasible row nearest to it is
    initial            number of slots spread over the space before the model is used, the first included;
                       None: as given by `few`, or the method's own of FIRST_SLOTS
    predicted_seconds  (M,) float64, seconds of each row for the virtual clock
    feasible           (M,) bool, rows that fit into memory as far as is known
    modelling          how the method models the scores
    lead               how far the workers may run ahead of the results, as in clock.py
    candidates         what "tpe" compares, as in view.py
    schedule           how epochs are spent
    polling            how "mads" and "a-mads" poll
    ranking            how "ranking" learns the order of the scores
    prior              what earlier searches taught, of "ranking" and "gp-rgpe"
    memory             (M,) estimated bytes that each row's training needs, on which the actual limit is
                       learned; None: unknown
    Raises SearchError for an unknown method, invalid workers, seed or lead, arrays of wrong shape,
    predictions or memory estimates that are not positive numbers, or a space without a feasible row, and
    ConfigError as `refuse_neighbours`.
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
    candidates: Candidates = 24
    schedule: Schedule = FULL
    polling: Polling = POLLING
    ranking: Ranking = RANKING
    prior: Prior | None = None

    def __post_init__(self) -> None:
        size = len(self.space)
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
        if self.predicted_seconds.shape != (size,) or self.feasible.shape != (size,):
            counts = (
                f"{self.predicted_seconds.size} predicted seconds and a mask of {self.feasible.size} "
                "feasible rows"
            )
            raise SearchError(
                "search-shape",
                f"{counts}; the space has {size} rows: give one of each for every row, in its order.",
            )
        if self.memory is not None and (
            self.memory.shape != (size,) or not (np.isfinite(self.memory) & (self.memory > 0)).all()
        ):
            least = self.memory.min(initial=np.inf)
            raise SearchError(
                "search-memory",
                f"{self.memory.size} estimates of memory, the least {least:g} bytes; give {size} numbers "
                "above 0, one for each row of the space.",
            )
        refuse_neighbours(self.space, self.polling)
        if not self.feasible.any():
            raise SearchError(
                "no-feasible-row",
                f"none of the {size} configurations fits; allow more memory or smaller networks.",
            )
        unsound = self.feasible & ~(
            np.isfinite(self.predicted_seconds) & (self.predicted_seconds > 0.0)
        )
        if unsound.any():
            row = int(unsound.argmax())
            raise SearchError(
                "search-seconds",
                f"row {row} of the space, {self.space.configuration(row)}, is predicted to take "
                f"{self.predicted_seconds[row]:g} seconds, but must be above 0: give search.speed other "
                "numbers, or measure it with `fovnet calibrate --again`.",
            )

    @property
    def clock(self) -> Clock:
        """The clock that determines when a slot starts, and what it has seen by then."""
        return Clock(self.workers, self.first_slots, self.lead)

    @property
    def first_slots(self) -> int:
        """The number of slots spread over the space before the model is used."""
        return self.initial or FIRST_SLOTS.get(self.method) or few(self.space)

    @property
    def first_row(self) -> int:
        """The row of slot 0: `start` if it is feasible, else the feasible row nearest to it in the unit
        cube."""
        return self.space.nearest(self.space.rows[self.start], self.feasible)

    @cached_property
    def identity(self) -> dict[str, Any]:
        """The facts, as JSON, that must be equal for two runs to be the same search; large arrays by their
        SHA-256."""
        return {
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
            "memory_sha256": None if self.memory is None else digest(self.memory),
            # journals of before do not have it
            **({} if self.candidates == 24 else {"candidates": self.candidates}),
            **self.schedule.facts,
            **({"polling": self.polling.facts} if self.method in POLLING_METHODS else {}),
            **({"ranking": self.ranking.facts} if self.method == "ranking" else {}),
            **({"prior_sha256": self.prior.sha256} if self.prior else {}),
        }


def training_seed(seed: int, slot: int) -> int:
    """The seed of a slot's training, below 2**32: independent of those of other slots and of the
    proposals."""
    return int(np.random.SeedSequence(seed, spawn_key=(slot,)).generate_state(1)[0])


def propose_slot(
    search: Search,
    earlier: Sequence[Proposal],
    trials: Mapping[int, Trial],
    spend: Spend | None = None,
) -> Proposal:
    """The proposal of slot t = len(earlier), given the proposals of slots 0..t-1 and at least the trials that
    t has seen.

    Other trials in `trials` are ignored; `spend` is that of the schedule's name unless another is given.
    Raises SearchError "space-exhausted" if no row is free, and with no training to go on.
    """
    slot = len(earlier)
    seen, pending = search.clock.sees([proposal.predicted_seconds for proposal in earlier])
    # the same objects in every tuple: 1,000 slots have seen half a million
    seen = tuple(earlier[i].slot for i in seen)
    known = tuple(trials[i] for i in seen)
    free = search.feasible.copy()
    free[[proposal.row for proposal in earlier]] = False
    scores = {trial.proposal.slot: trial.score for trial in known}
    book = Book.of(search.schedule, earlier, scores, free=bool(free.any()))
    move = (spend or SPENDS[search.schedule.kind])(book)
    if move is None:
        all_tried = f"every feasible configuration, {begun(earlier)} in all, has been tried"
        remedy = "ask for fewer trials, or give search.space more levels or larger limits"
        raise SearchError("space-exhausted", f"{all_tried}; {remedy}.")
    if isinstance(move, GoOn):
        return proposal_for(search, earlier, (seen, pending), move, earlier[move.slot].row)
    stopped = {one.row: one.slot for one in move.stopped}
    free[list(stopped)] = True
    row, forecast, step = (
        _looked(search, earlier, (known, pending), free) if slot else Choice(search.first_row)
    )
    chosen = GoOn(stopped[row], move.bracket, move.rung) if row in stopped else move
    return proposal_for(search, earlier, (seen, pending), chosen, row, forecast, step)


def _looked(
    search: Search,
    earlier: Sequence[Proposal],
    sees: tuple[tuple[Trial, ...], tuple[int, ...]],
    free: NDArray[np.bool_],
) -> Choice:
    """The choice of the method's Look among the free rows."""
    (known, pending), slot = sees, len(earlier)
    scored = {trial.proposal.row for trial in known}
    running = tuple(row for i in pending if (row := earlier[i].row) not in scored)
    view = View(
        search.space,
        known,
        running,
        free,
        slot,
        search.seed,
        search.first_slots,
        search.predicted_seconds,
        search.memory,
        search.modelling,
        search.candidates,
        slot - begun(earlier),
        () if search.schedule.kind == "full" else search.schedule.rungs,
        search.polling,
        search.ranking,
        search.prior,
    )
    # the same bits on every number of cores, and no competition with running trainings
    with one_thread():
        return METHODS[search.method].look(view)


def begun(earlier: Sequence[Proposal]) -> int:
    """How many rows these proposals begin."""
    return sum(proposal.continues is None for proposal in earlier)


def proposal_for(
    search: Search,
    earlier: Sequence[Proposal],
    sees: tuple[tuple[int, ...], tuple[int, ...]],
    move: Move,
    row: int,
    forecast: Forecast | None = None,
    step: str = "",
) -> Proposal:
    """The proposal of a move: all that follows from it, the row, and what the slot has seen and not."""
    slot, schedule, configuration = len(earlier), search.schedule, search.space.configuration(row)
    before = earlier[move.slot] if isinstance(move, GoOn) else None
    seed = before.seed if before else training_seed(search.seed, slot)
    if schedule.kind == "full":
        return Proposal(
            slot, row, configuration, seed, *sees, seconds_for(search, row), forecast, step=step
        )
    done = 0 if before is None or schedule.restarts else int(before.epochs or 0)
    epochs = schedule.rungs[move.rung]
    seconds = seconds_for(search, row, epochs, done)
    continues = None if before is None else before.slot
    place = move.bracket, move.rung
    return Proposal(
        slot,
        row,
        configuration,
        seed,
        *sees,
        seconds,
        forecast,
        epochs,
        continues,
        done,
        *place,
        step,
    )


def seconds_for(search: Search, row: int, epochs: int | None = None, done: int = 0) -> float:
    """The predicted seconds of a row's training from the epochs already `done` to `epochs`; None: of all of
    it."""
    whole = float(search.predicted_seconds[row])
    return whole if epochs is None else whole * (epochs - done) / search.schedule.epochs


def is_possible(search: Search, earlier: Sequence[Proposal], made: Proposal) -> bool:
    """Whether a recorded proposal may be this search's for the next slot; whether the method would choose it
    is not asked."""
    schedule, sees = (
        search.schedule,
        search.clock.sees([proposal.predicted_seconds for proposal in earlier]),
    )
    if (made.seen, made.pending) != sees or not (
        0 <= made.row < len(search.space) and search.feasible[made.row]
    ):
        return False
    if not (
        0 <= made.rung <= schedule.last and 0 <= made.bracket <= schedule.newest_possible(earlier)
    ):
        return False
    if made.continues is None:
        move: Move = Begin(made.bracket, made.rung)
        possible = all(proposal.row != made.row for proposal in earlier)
    else:
        move = GoOn(made.continues, made.bracket, made.rung)
        possible = made.continues in made.seen and _may_follow(
            earlier, earlier[made.continues], made
        )
    return (
        possible
        and proposal_for(search, earlier, sees, move, made.row, made.forecast, made.step) == made
    )


def _may_follow(earlier: Sequence[Proposal], before: Proposal, made: Proposal) -> bool:
    """Whether a proposal may go on with one of its row on a lower rung, with which no other does."""
    only = all(proposal.continues != before.slot for proposal in earlier)
    return only and before.row == made.row and before.rung < made.rung


ENOUGH_SCORES = 4
"""Scores per axis that a model must have before the search may end because of its expected regret.

From three scores that agree by chance it infers that all do.  With a bound of a tenth of the distance from
the median loss to the best twentieth, 7 of 48 searches of recorded tables ended with more than twice that
left to gain; with this minimum 1 does.
"""


def too_little_gain(
    search: Search, proposal: Proposal, trials: Mapping[int, Trial], bound: float | None
) -> str | None:
    """The sentence with which a search ends before `proposal`, if the expected regret of its forecast is
    below `bound`; else None.

    `trials` must include those that the proposal has seen; with fewer than ENOUGH_SCORES scores per axis
    among these no search ends.
    """
    regret = None if proposal.forecast is None else proposal.forecast.expected_regret
    if bound is None or regret is None or regret >= bound:
        return None
    if sum(trials[slot].score is not None for slot in proposal.seen) < ENOUGH_SCORES * len(
        search.space.axes
    ):
        return None
    return (
        f"The search ends after {several(proposal.slot, 'trial')}: no more than {regret:g} of the score is "
        "expected to be gained."
    )
