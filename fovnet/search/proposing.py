"""What a search is, and what it proposes for a slot: a function of the results it has seen, so that resuming is replaying."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from fovnet.errors import SearchError
from fovnet.maths.threads import one_thread
from fovnet.records import digest
from fovnet.search.clock import LEAD, Clock
from fovnet.search.methods import METHODS
from fovnet.search.space import Space
from fovnet.search.trial import Proposal, Trial
from fovnet.search.uniform import few
from fovnet.search.view import RECOMMENDED, Choice, Modelling, View
from fovnet.words import several


@dataclass(frozen=True, eq=False)
class Search:
    """Everything that decides the path of a search, but the results.

    start              the row tried first, or the feasible row nearest to it
    initial            how many slots are spread over the space before the model is asked, the first included; None: a few, see `few`
    predicted_seconds  (M,) float64, what the virtual clock counts for each row
    feasible           (M,) bool, rows that fit into memory as far as is known
    modelling          how the method models the scores
    lead               how far the workers may run ahead of what they learn, as in clock.py
    memory             (M,) an estimate of the bytes that each row's training needs, from which a real limit is learned; None: unknown
    Raises SearchError for an unknown method, predictions that are not positive numbers, or a space without a feasible row.
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

    def __post_init__(self) -> None:
        size = len(self.space)
        if self.method not in METHODS:
            raise SearchError("search-method", f"search method {self.method!r} is unknown; choose one of {', '.join(METHODS)}.")
        if self.workers < 1 or self.seed < 0:
            raise SearchError("search-workers", f"workers {self.workers}, seed {self.seed}; give 1 worker or more, a seed from 0.")
        if not 0.0 <= self.lead <= 1.0:
            raise SearchError("search-lead", f"lead {self.lead}; give a share from 0 (wait for all results) to 1 (wait for none).")
        if self.predicted_seconds.shape != (size,) or self.feasible.shape != (size,):
            counts = f"{self.predicted_seconds.size} predicted seconds and a mask of {self.feasible.size} feasible rows"
            raise SearchError("search-shape", f"{counts}; the space has {size} rows: give one of each for every row, in its order.")
        if self.memory is not None and (self.memory.shape != (size,) or not (np.isfinite(self.memory) & (self.memory > 0)).all()):
            least = self.memory.min(initial=np.inf)
            raise SearchError("search-memory", f"{self.memory.size} estimates of memory, the least {least:g} bytes; give {size} numbers "
                                               "above 0, one for each row of the space.")
        if not self.feasible.any():
            raise SearchError("no-feasible-row", f"none of the {size} configurations fits; allow more memory or smaller networks.")
        unsound = self.feasible & ~(np.isfinite(self.predicted_seconds) & (self.predicted_seconds > 0.0))
        if unsound.any():
            row = int(unsound.argmax())
            raise SearchError("search-seconds", f"row {row} of the space, {self.space.configuration(row)}, is predicted to take "
                                                f"{self.predicted_seconds[row]:g} seconds, a number above 0 is wanted: give search.speed "
                                                "other numbers, or measure it with `fovnet calibrate --again`.")

    @property
    def clock(self) -> Clock:
        """What decides when a slot starts, and what it has seen by then."""
        return Clock(self.workers, self.first_slots, self.lead)

    @property
    def first_slots(self) -> int:
        """How many slots are spread over the space before the model is asked."""
        return self.initial or few(self.space)

    @property
    def first_row(self) -> int:
        """The row of slot 0: `start` where it is feasible, else the feasible row nearest to it in the unit cube."""
        return self.space.nearest(self.space.rows[self.start], self.feasible)

    @cached_property
    def identity(self) -> dict[str, Any]:
        """What two runs must share to be the same search, as JSON facts; the large arrays by their SHA-256."""
        return {
            "method": self.method, "seed": self.seed, "workers": self.workers, "start": self.start, "initial": self.initial,
            "lead": self.lead, "first_slots": self.first_slots,
            "modelling": asdict(self.modelling),
            "axes": [axis.facts for axis in self.space.axes],
            "rows_sha256": digest(self.space.rows),
            "predicted_seconds_sha256": digest(self.predicted_seconds),
            "feasible_sha256": digest(self.feasible),
            "memory_sha256": None if self.memory is None else digest(self.memory),
        }


def training_seed(seed: int, slot: int) -> int:
    """The seed of a slot's training, below 2**32: independent of the other slots' and of the proposing itself."""
    return int(np.random.SeedSequence(seed, spawn_key=(slot,)).generate_state(1)[0])


def propose_slot(search: Search, earlier: Sequence[Proposal], trials: Mapping[int, Trial]) -> Proposal:
    """The proposal of slot t = len(earlier), given the proposals of slots 0..t-1 and at least the trials that t has seen.

    Later trials may be among them: they are not looked at.  Raises SearchError ("space-exhausted") where no row is free.
    """
    slot = len(earlier)
    seen, pending = search.clock.sees([proposal.predicted_seconds for proposal in earlier])
    seen = tuple(earlier[i].slot for i in seen)          # the same objects in every tuple: 1,000 slots have seen half a million
    free = search.feasible.copy()
    free[[proposal.row for proposal in earlier]] = False
    if not free.any():
        raise SearchError("space-exhausted", f"every feasible configuration, {slot} in all, has been tried; ask for no more trials, or "
                                             "give search.space more levels, or larger limits.")
    known, running = tuple(trials[i] for i in seen), tuple(earlier[i].row for i in pending)
    view = View(
        search.space, known, running, free, slot, search.seed, search.first_slots, search.predicted_seconds,
        search.memory, search.modelling,
    )
    with one_thread():                  # the same bits on every number of cores, and no quarrel with the trainings under way
        row, forecast = METHODS[search.method](view) if slot else Choice(search.first_row)
    configuration, seconds = search.space.configuration(row), float(search.predicted_seconds[row])
    return Proposal(slot, row, configuration, training_seed(search.seed, slot), seen, pending, seconds, forecast)


ENOUGH_SCORES = 4
"""Scores an axis that a model knows before a search may end at its word.

Three scores that are alike by chance teach it that all are.  With a bound of a tenth of the way from the median loss to the best twentieth,
7 of 48 searches of recorded tables ended with more than twice that left to gain, and 1 does with this.
"""


def too_little_gain(search: Search, proposal: Proposal, trials: Mapping[int, Trial], bound: float | None) -> str | None:
    """The sentence with which a search ends before `proposal`, where its forecast puts the expected regret below `bound`; else None.

    `trials` are at least those that the proposal has seen; with fewer than ENOUGH_SCORES scores an axis among these no search ends.
    """
    regret = None if proposal.forecast is None else proposal.forecast.expected_regret
    if bound is None or regret is None or regret >= bound:
        return None
    if sum(trials[slot].score is not None for slot in proposal.seen) < ENOUGH_SCORES * len(search.space.axes):
        return None
    return f"The search ends after {several(proposal.slot, 'trial')}: no more than {regret:g} of the score is expected to be gained."
