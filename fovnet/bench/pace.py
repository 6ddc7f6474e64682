"""The cost of a proposal: seconds and memory over a large space, with many trials known.

    M  rows of the space        n  trials known to the last proposal

The hyper-parameters are refitted at intervals (search/fitting.py), and the proposals between are
cheap: whole periods from refit to refit are timed, so that the mean is the waiting time of a real
search.
"""

from __future__ import annotations

import time
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, fields

import numpy as np

from fovnet.bench.landscape import smooth_loss
from fovnet.bench.together import Progress, run_alone
from fovnet.machine.memory import peak_bytes
from fovnet.search.look.hyperparameters import milestone
from fovnet.search.search import Search, propose_slot, training_seed
from fovnet.search.space import paper_space
from fovnet.search.trial import Outcome, Proposal, Trial

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


def paces(
    method: str, counts: Sequence[int], seed: int, diverged: float, progress: Progress
) -> Iterator[ProposalPace]:
    """The pace over the paper's space for each number of known trials, each in a fresh process of
    its own, one after the other."""
    for done_count, trials in enumerate(counts, start=1):
        pace = run_alone(measure, method, trials, seed, diverged)
        progress(done_count, len(counts))
        yield pace


def measure(method: str, trials: int, seed: int, diverged: float = 0.0) -> ProposalPace:
    """The pace in this process: trials of random rows first, then the timed proposals, each of
    which knows the trial of the one before.

    With fewer than FEWEST_TIMED_PROPOSALS trials all but the first are timed.
    """
    space = paper_space()
    row_count = len(space)
    loss_by_row = smooth_loss(space, seed)
    generator = np.random.default_rng([seed, trials])
    is_failing_row = generator.random(row_count) < diverged
    # computed once in a search, so before the timing
    space.unit_cube, space.axis_of_column  # noqa: B018
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
    trial_by_slot: dict[int, Trial] = {}
    earlier_proposals: list[Proposal] = []

    def learn(proposal: Proposal) -> None:
        row = proposal.row
        outcome = Outcome("completed", score=float(loss_by_row[row]))
        if is_failing_row[row]:
            outcome = Outcome("diverged")
        trial_by_slot[proposal.slot] = Trial(proposal, outcome)
        earlier_proposals.append(proposal)

    slots = tuple(range(len(known_rows)))
    for slot, row in zip(slots, known_rows.tolist(), strict=True):
        learn(
            Proposal(
                slot,
                row,
                space.configuration(row),
                training_seed(seed, slot),
                slots[:slot],
                (),
                1.0,
            )
        )
    idle_bytes = peak_bytes()
    seconds = []
    cpu_seconds = []
    refit_milestones = []
    for _ in range(1 + timed_count):
        start_s = time.perf_counter()
        cpu_start_s = time.process_time()
        proposal = propose_slot(search, earlier_proposals, trial_by_slot)
        seconds.append(time.perf_counter() - start_s)
        cpu_seconds.append(time.process_time() - cpu_start_s)
        refit_milestones.append(
            milestone(sum(trial.score is not None for trial in trial_by_slot.values()))
        )
        learn(proposal)
    return ProposalPace(
        method,
        row_count,
        trials,
        diverged,
        proposals=timed_count,
        refits=int((np.diff(refit_milestones) > 0).sum()),
        median=float(np.median(seconds[1:])),
        mean=float(np.mean(seconds[1:])),
        worst=max(seconds[1:]),
        cpu=float(np.mean(cpu_seconds[1:])),
        resumed=seconds[0],
        idle_mb=idle_bytes / MEGABYTE,
        peak_mb=peak_bytes() / MEGABYTE,
    )


def proposals_to_time(trials: int) -> int:
    """The number of proposals to time, the last of which knows `trials` trials:
    FEWEST_TIMED_PROPOSALS, or more for whole periods."""
    next_refit_trials = trials
    while milestone(next_refit_trials + 1) <= milestone(trials):
        next_refit_trials += 1
    period = next_refit_trials + 1 - milestone(trials)
    return min(trials - 1, period * -(-FEWEST_TIMED_PROPOSALS // period))
