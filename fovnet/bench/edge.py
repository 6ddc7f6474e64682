"""Search near the limit of memory: how many draws fail before the best network that can be trained is drawn.

    M  rows drawn from the paper's space          memory    (M,) the bytes that each needs
    loss  (M,) simulated, falls towards larger networks          limit  of the device, unknown to the search:
        a quantile of `memory`
    estimate  (M,) memory as the search is given it, with a lognormal error of NOISE

A larger network is better until it no longer fits: the best row that trains lies near the limit, which the
search must learn. About two thirds of the 300 trials of Bertrand et al. (ISBI 2017) could not be trained for
lack of memory.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Literal

import numpy as np
from numpy.typing import NDArray

from fovnet.bench.landscape import smooth_loss
from fovnet.bench.races import spread_of
from fovnet.search.run import RETRIES
from fovnet.search.search import Search, propose_slot
from fovnet.search.space import Space, paper_space
from fovnet.search.trial import Outcome, Proposal, Trial

Floats = NDArray[np.float64]
Mask = NDArray[np.bool_]

ROWS = 600
NOISE = 0.1
QUANTILES = (0.3, 0.7)
"""The hidden limit lies anywhere between these quantiles of the memory."""
DIVERGING = 0.2


@dataclass(frozen=True)
class Scenario:
    """How the loss depends on memory, and what fails besides memory.

    slope      how far the loss falls over a standard deviation of log memory, in standard deviations of its
               smooth ups and downs
    diverging  a share DIVERGING of all rows: any of them, or those of the highest learning rates
    killed     the share of all trainings that the machine ends, each tried again
    estimated  whether the search is given `estimate`
    """

    slope: float = 2.0
    diverging: Literal["none", "rows", "rates"] = "none"
    killed: float = 0.0
    estimated: bool = True


SCENARIOS: Mapping[str, Scenario] = {
    "memory": Scenario(),
    "steep": Scenario(slope=6.0),
    "unestimated": Scenario(estimated=False),
    "diverging-rows": Scenario(diverging="rows"),
    "diverging-rates": Scenario(diverging="rates"),
    "killed": Scenario(killed=0.05),
    "rates-and-kills": Scenario(diverging="rates", killed=0.05),
}


@dataclass(frozen=True, eq=False)
class Edge:
    """One seed's problem; `fits` and `diverges` (M,) are the true outcome of each row, independent of what
    the search is given."""

    space: Space
    loss: Floats
    memory: Floats
    limit: float
    estimate: Floats
    diverges: Mask
    scenario: Scenario
    seed: int

    @property
    def fits(self) -> Mask:
        """(M,) whether each row is within the limit of memory."""
        return np.asarray(self.memory <= self.limit)

    @property
    def best_row(self) -> int:
        """Of the rows that can be trained, the one of lowest loss."""
        return int(np.argmin(np.where(self.fits & ~self.diverges, self.loss, np.inf)))


@dataclass(frozen=True)
class Walk:
    """Draws of a search until the best row that trains, in all and by the status of those that failed.

    kills  trainings that were killed and tried again, not counted as draws           found  False where all
        rows were used up
    """

    draws: int
    out_of_memory: int
    diverged: int
    errors: int
    kills: int
    found: bool

    @property
    def failed(self) -> int:
        """Draws without a score."""
        return self.out_of_memory + self.diverged + self.errors


@dataclass(frozen=True)
class EdgeStanding:
    """The walks of a method in a scenario: means with their 95 % intervals, from resampling the seeds, and
    the worst."""

    scenario: str
    method: str
    runs: int
    measure: str
    mean: float
    low: float
    high: float
    worst: int
    missed: int


def edge(scenario: Scenario, seed: int, rows: int = ROWS) -> Edge:
    """The problem of a seed; all scenarios of a seed share rows, losses, memory and limit."""
    # prices are counted from the layers, without torch; imported here because only this experiment needs the
    # networks' floor
    from fovnet.net.cost.columns import columns_of_space
    from fovnet.net.cost.predicted import costs, training_bytes

    whole = paper_space()
    rng = np.random.default_rng([seed, rows])
    space = Space(whole.axes, whole.rows[np.sort(rng.choice(len(whole), rows, replace=False))])
    nets = columns_of_space(space, classes=7, head="fc")
    memory = training_bytes(costs(nets), nets.batch)
    size = np.log(memory)
    loss = smooth_loss(space, seed) - scenario.slope * (size - size.mean()) / size.std()
    limit = float(np.quantile(memory, rng.uniform(*QUANTILES)))
    estimate = memory * np.exp(NOISE * rng.standard_normal(rows))
    lot = rng.random(rows)
    rates = space.rows[:, [axis.name for axis in space.axes].index("log10_learning_rate")]
    # of equal rates by lot
    order = {"none": lot, "rows": lot, "rates": rates + lot}[scenario.diverging]
    diverges = (
        order >= np.quantile(order, 1.0 - DIVERGING)
        if scenario.diverging != "none"
        else np.zeros(rows, dtype=bool)
    )
    return Edge(space, loss, memory, limit, estimate, diverges, scenario, seed)


def walk(problem: Edge, method: str) -> Walk:
    """The walk of `method` from a random first row, one row at a time, without any row excluded
    beforehand."""
    size, rng = len(problem.space), np.random.default_rng([problem.seed, 1])
    ones, everywhere = np.ones(size), np.ones(size, dtype=bool)
    first, best = int(rng.integers(size)), problem.best_row
    memory = problem.estimate if problem.scenario.estimated else None
    search = Search(
        problem.space, method, problem.seed, 1, first, None, ones, everywhere, memory=memory
    )
    earlier: list[Proposal] = []
    record: dict[int, Trial] = {}
    kills = 0
    for slot in range(size):
        proposal = propose_slot(search, earlier, record)
        outcome, retries = _trained(problem, proposal.row, rng)
        kills += len(retries)
        earlier.append(proposal)
        record[slot] = Trial(proposal, outcome, retries)
        if proposal.row == best and outcome.status == "completed":
            break
    statuses = [trial.outcome.status for trial in record.values()]
    counts = (statuses.count("out_of_memory"), statuses.count("diverged"), statuses.count("error"))
    return Walk(
        len(statuses), *counts, kills, earlier[-1].row == best and statuses[-1] == "completed"
    )


def _trained(problem: Edge, row: int, rng: np.random.Generator) -> tuple[Outcome, tuple[str, ...]]:
    """The outcome of a row, and the messages of its trainings killed before; as in a search, it is retried up
    to RETRIES times."""
    killed: tuple[str, ...] = ()
    while rng.random() < problem.scenario.killed:
        if len(killed) == RETRIES:
            return Outcome("error", message="killed"), killed
        killed = (*killed, "killed")
    if problem.memory[row] > problem.limit:
        return Outcome("out_of_memory"), killed
    if problem.diverges[row]:
        return Outcome("diverged", training_loss=(float("nan"),)), killed
    return Outcome("completed", score=float(problem.loss[row])), killed


def walked(task: tuple[str, str, int]) -> Walk:
    """The walk of (scenario, method, seed)."""
    scenario, method, seed = task
    return walk(edge(SCENARIOS[scenario], seed), method)


MEASURES: Mapping[str, Callable[[Walk], int]] = {
    "draws": lambda one: one.draws,
    "out of memory": lambda one: one.out_of_memory,
    "diverged": lambda one: one.diverged,
    "failed in all": lambda one: one.failed,
    "killed, tried again": lambda one: one.kills,
}


def edge_standings(scenario: str, method: str, made: Sequence[Walk]) -> list[EdgeStanding]:
    """Means, intervals and the worst of each of MEASURES."""
    rows = []
    for name, of in MEASURES.items():
        mean, low, high, _, worst = spread_of([of(one) for one in made])
        missed = sum(not one.found for one in made)
        rows.append(EdgeStanding(scenario, method, len(made), name, mean, low, high, worst, missed))
    return rows
