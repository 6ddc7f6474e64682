"""The cost of a proposal: seconds and memory over a large space, with many trials known.

    M  rows of the space        n  trials known to the last proposal

The hyper-parameters are refitted at intervals (search/fitting.py), and the proposals between are
cheap: whole periods from refit to refit are timed, so that the mean is the waiting time of a real
search.
"""

from __future__ import annotations

import math
import time
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, fields
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from fovnet.bench.landscape import smooth_loss
from fovnet.bench.together import Progress, run_alone
from fovnet.machine.memory import peak_bytes
from fovnet.search.look.hyperparameters import fitted_count
from fovnet.search.search import Search, propose_slot, training_seed
from fovnet.search.space import paper_space
from fovnet.search.trial import Outcome, Proposal, Trial

Floats = NDArray[np.float64]
Mask = NDArray[np.bool_]

FEWEST_TIMED_PROPOSALS = 40
"""Fewest proposals that are timed; more where needed for whole periods."""

MEGABYTE = 1e6


@dataclass(frozen=True)
class ProposalPace:
    """Seconds per proposal of `method`, over `proposals` in a row, the last of which knows n
    trials.

    diverged  share of the trials that had diverged
    refits    how many of them refitted the hyper-parameters
    cpu       mean seconds of processor time, which other load on the machine affects less
    resumed   seconds of the one before, with empty caches
    idle_mb   memory in use before the search began
    peak_mb   the process's peak memory
    """

    method: str
    rows: int
    trials: int
    diverged: float
    proposals: int
    refits: int
    median: float
    mean: float
    worst: float
    cpu: float
    resumed: float
    idle_mb: float
    peak_mb: float


COLUMNS = tuple(field.name for field in fields(ProposalPace))


def measure_paces(
    method: str, trial_counts: Sequence[int], seed: int, diverged: float, progress: Progress
) -> Iterator[ProposalPace]:
    """The pace over the paper's space for each number of known trials, each in a fresh process of
    its own, one after the other.

    diverged  share of the trials that have diverged
    """
    for done_count, trials in enumerate(trial_counts, start=1):
        pace = run_alone(measure_pace, method, trials, seed, diverged)
        progress(done_count, len(trial_counts))
        yield pace


class KnownTrials:
    """The trials of a simulated search so far.

    loss_by_row  (M,) simulated
    has_failed   (M,) whether a row's training diverges
    """

    def __init__(self, loss_by_row: Floats, has_failed: Mask) -> None:
        self.loss_by_row = loss_by_row
        self.has_failed = has_failed
        self.trial_by_slot: dict[int, Trial] = {}
        self.proposals: list[Proposal] = []

    def add(self, proposal: Proposal) -> None:
        """Trains a proposal, in no time."""
        outcome = Outcome("completed", score=float(self.loss_by_row[proposal.row]))
        if self.has_failed[proposal.row]:
            outcome = Outcome("diverged")
        self.trial_by_slot[proposal.slot] = Trial(proposal, outcome)
        self.proposals.append(proposal)

    @property
    def refit_milestone(self) -> int:
        """The number of scores at which the hyper-parameters were last refitted."""
        return fitted_count(sum(trial.score is not None for trial in self.trial_by_slot.values()))


class TimedProposals(NamedTuple):
    """Proposals in a row, the first with empty caches: seconds by the clock, seconds of the
    processor, and the number of scores at the last refit, one of each for every proposal."""

    seconds: list[float]
    cpu_seconds: list[float]
    refit_milestones: list[int]


def measure_pace(method: str, trials: int, seed: int, diverged: float = 0.0) -> ProposalPace:
    """The pace in this process: trials of random rows first, then the timed proposals, each of
    which knows the trial of the one before.

    diverged  share of the rows whose trainings diverge
    With fewer than FEWEST_TIMED_PROPOSALS trials all but the first are timed.
    """
    space = paper_space()
    row_count = len(space)
    generator = np.random.default_rng([seed, trials])
    has_failed = generator.random(row_count) < diverged
    known_trials = KnownTrials(smooth_loss(space, seed), has_failed)
    timed_count = proposals_to_time(trials)
    known_rows = generator.choice(row_count, trials - timed_count, replace=False)
    search = Search(
        space,
        method,
        seed,
        workers=1,
        start=int(known_rows[0]),
        initial=1,
        predicted_seconds=np.ones(row_count),
        feasible=np.ones(row_count, dtype=bool),
    )
    for slot, row in enumerate(known_rows.tolist()):
        known_trials.add(_proposal_of_row(search, slot, row))
    # computed once in a search, so before the timing
    space.unit_cube, space.axis_of_column  # noqa: B018
    idle_bytes = peak_bytes()
    timed_proposals = _time_proposals(search, known_trials, 1 + timed_count)
    return ProposalPace(
        method,
        row_count,
        trials,
        diverged,
        proposals=timed_count,
        refits=int((np.diff(timed_proposals.refit_milestones) > 0).sum()),
        median=float(np.median(timed_proposals.seconds[1:])),
        mean=float(np.mean(timed_proposals.seconds[1:])),
        worst=max(timed_proposals.seconds[1:]),
        cpu=float(np.mean(timed_proposals.cpu_seconds[1:])),
        resumed=timed_proposals.seconds[0],
        idle_mb=idle_bytes / MEGABYTE,
        peak_mb=peak_bytes() / MEGABYTE,
    )


def _proposal_of_row(search: Search, slot: int, row: int) -> Proposal:
    """The proposal of a given row for a slot, which has seen all slots before."""
    return Proposal(
        slot=slot,
        row=row,
        configuration=search.space.configuration(row),
        seed=training_seed(search.seed, slot),
        seen_slots=tuple(range(slot)),
        pending_slots=(),
        predicted_seconds=1.0,
    )


def _time_proposals(search: Search, known_trials: KnownTrials, count: int) -> TimedProposals:
    """Makes so many proposals in a row, and adds the trial of each to those known."""
    timed_proposals = TimedProposals([], [], [])
    for _ in range(count):
        start_s = time.perf_counter()
        cpu_start_s = time.process_time()
        proposal = propose_slot(search, known_trials.proposals, known_trials.trial_by_slot)
        timed_proposals.seconds.append(time.perf_counter() - start_s)
        timed_proposals.cpu_seconds.append(time.process_time() - cpu_start_s)
        timed_proposals.refit_milestones.append(known_trials.refit_milestone)
        known_trials.add(proposal)
    return timed_proposals


def proposals_to_time(trials: int) -> int:
    """The number of proposals to time, the last of which knows `trials` trials:
    FEWEST_TIMED_PROPOSALS, or more for whole periods."""
    next_refit_trials = trials
    while fitted_count(next_refit_trials + 1) <= fitted_count(trials):
        next_refit_trials += 1
    period = next_refit_trials + 1 - fitted_count(trials)
    period_count = math.ceil(FEWEST_TIMED_PROPOSALS / period)
    return min(trials - 1, period * period_count)
