"""Search near the limit of memory: how many draws fail before the best network that can be trained
is drawn.

    M         rows drawn from the paper's space
    memory    (M,) the bytes that each needs
    loss      (M,) simulated, falls towards larger networks
    limit     of the device, unknown to the search: a quantile of `memory`
    estimate  (M,) memory as the search is given it, with a lognormal error of NOISE

A larger network is better until it no longer fits: the best row that trains lies near the limit,
which the search must learn. About two thirds of the 300 trials of Bertrand et al. (ISBI 2017) could
not be trained for lack of memory.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Annotated, Literal, NamedTuple

import numpy as np
import typer
from numpy.typing import NDArray

from fovnet.bench.landscape import smooth_loss
from fovnet.bench.races import refuse_unknown_methods, spread_of
from fovnet.bench.together import run_each
from fovnet.cli import main
from fovnet.cli.options import Workers, folder_out
from fovnet.cli.screen import empty_table, out, progress_bar, show_table
from fovnet.errors import ConfigError
from fovnet.net.cost.columns import columns_of_space
from fovnet.net.cost.predicted import predict_costs, predict_training_bytes
from fovnet.own_files import begins_with_columns
from fovnet.records import write_tsv
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
DIVERGING_SHARE = 0.2
RECOGNISER_BY_FILE = {
    "edge.tsv": partial(begins_with_columns, columns=("scenario", "method", "runs")),
    "walks.tsv": partial(begins_with_columns, columns=("scenario", "method", "seed")),
}

app = typer.Typer(add_completion=False)


@dataclass(frozen=True)
class Scenario:
    """How the loss depends on memory, and what fails besides memory.

    slope      how far the loss falls over a standard deviation of log memory, in standard
               deviations of its smooth ups and downs
    diverging  a share DIVERGING_SHARE of all rows: any of them, or those of the highest learning rates
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
class MemoryProblem:
    """One seed's problem; `fits` and `diverges` (M,) are the true outcome of each row, independent
    of what the search is given."""

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
    """Draws of a search until the best row that trains, in all and by the status of those that
    failed.

    kills  trainings that were killed and tried again, not counted as draws
    found  False where all rows were used up
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
    """The walks of a method in a scenario: means with their 95 % intervals, from resampling the
    seeds, and the worst."""

    scenario: str
    method: str
    runs: int
    measure: str
    mean: float
    low: float
    high: float
    worst: int
    missed: int


def make_problem(scenario: Scenario, seed: int, rows: int = ROWS) -> MemoryProblem:
    """The problem of a seed; all scenarios of a seed share rows, losses, memory and limit."""
    paper = paper_space()
    rng = np.random.default_rng([seed, rows])
    space = Space(paper.axes, paper.rows[np.sort(rng.choice(len(paper), rows, replace=False))])
    nets = columns_of_space(space, classes=7, head="fc")
    memory = predict_training_bytes(predict_costs(nets), nets.batch)
    size = np.log(memory)
    loss = smooth_loss(space, seed) - scenario.slope * (size - size.mean()) / size.std()
    limit = float(np.quantile(memory, rng.uniform(*QUANTILES)))
    estimate = memory * np.exp(NOISE * rng.standard_normal(rows))
    proneness = rng.random(rows)
    if scenario.diverging == "rates":  # of equal rates by lot
        axis_names = [axis.name for axis in space.axes]
        proneness += space.rows[:, axis_names.index("log10_learning_rate")]
    diverges = np.zeros(rows, dtype=bool)
    if scenario.diverging != "none":
        diverges = proneness >= np.quantile(proneness, 1.0 - DIVERGING_SHARE)
    return MemoryProblem(space, loss, memory, limit, estimate, diverges, scenario, seed)


def walk(problem: MemoryProblem, method: str) -> Walk:
    """The walk of `method` from a random first row, one row at a time, without any row excluded
    beforehand."""
    size = len(problem.space)
    rng = np.random.default_rng([problem.seed, 1])
    memory = None
    if problem.scenario.estimated:
        memory = problem.estimate
    search = Search(
        problem.space,
        method,
        problem.seed,
        workers=1,
        start=int(rng.integers(size)),
        initial=None,
        predicted_seconds=np.ones(size),
        feasible=np.ones(size, dtype=bool),
        memory=memory,
    )
    proposals: list[Proposal] = []
    trial_by_slot: dict[int, Trial] = {}
    kills = 0
    for slot in range(size):
        proposal = propose_slot(search, proposals, trial_by_slot)
        outcome, retries = _train(problem, proposal.row, rng)
        kills += len(retries)
        proposals.append(proposal)
        trial_by_slot[slot] = Trial(proposal, outcome, retries)
        if proposal.row == problem.best_row and outcome.status == "completed":
            break
    statuses = [trial.outcome.status for trial in trial_by_slot.values()]
    return Walk(
        draws=len(statuses),
        out_of_memory=statuses.count("out_of_memory"),
        diverged=statuses.count("diverged"),
        errors=statuses.count("error"),
        kills=kills,
        found=proposals[-1].row == problem.best_row and statuses[-1] == "completed",
    )


def _train(
    problem: MemoryProblem, row: int, rng: np.random.Generator
) -> tuple[Outcome, tuple[str, ...]]:
    """The outcome of a row, and the messages of its trainings killed before; as in a search, it is
    retried up to RETRIES times."""
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


class Task(NamedTuple):
    """One walk: its scenario, by name, its method and its seed."""

    scenario: str
    method: str
    seed: int


def run_task(task: Task) -> Walk:
    """The walk of a task."""
    return walk(make_problem(SCENARIOS[task.scenario], task.seed), task.method)


MEASURES: Mapping[str, Callable[[Walk], int]] = {
    "draws": lambda walk: walk.draws,
    "out of memory": lambda walk: walk.out_of_memory,
    "diverged": lambda walk: walk.diverged,
    "failed in all": lambda walk: walk.failed,
    "killed, tried again": lambda walk: walk.kills,
}


def edge_standings(scenario: str, method: str, walks: Sequence[Walk]) -> list[EdgeStanding]:
    """Means, intervals and the worst of each of MEASURES."""
    rows = []
    missed = sum(not walk.found for walk in walks)
    for name, measure in MEASURES.items():
        spread = spread_of([measure(walk) for walk in walks])
        rows.append(
            EdgeStanding(
                scenario,
                method,
                runs=len(walks),
                measure=name,
                mean=spread.mean,
                low=spread.low,
                high=spread.high,
                worst=spread.worst,
                missed=missed,
            )
        )
    return rows


@app.command()
def walk_scenarios(
    out_folder: Annotated[
        Path, folder_out(RECOGNISER_BY_FILE, "Where edge.tsv and walks.tsv are written.")
    ],
    scenario: Annotated[
        list[str] | None,
        typer.Option(help=f"{', '.join(SCENARIOS)}, one or several; default: all."),
    ] = None,
    method: Annotated[
        list[str] | None,
        typer.Option(help="One or several search methods; default: gp-ei and random."),
    ] = None,
    seeds: Annotated[int, typer.Option(min=1, help="Problems of each scenario.")] = 40,
    processes: Workers = 1,
) -> None:
    """Count the draws that fail for lack of memory, or otherwise, before the best network that can
    be trained is drawn."""
    scenarios = scenario or list(SCENARIOS)
    methods = method or ["gp-ei", "random"]
    refuse_unknown_methods(methods)
    for name in scenarios:
        if name not in SCENARIOS:
            raise ConfigError(
                "bench-scenario", f"--scenario {name}: unknown; choose among {', '.join(SCENARIOS)}"
            )
    tasks = [
        Task(name, method_name, seed)
        for name in scenarios
        for method_name in methods
        for seed in range(seeds)
    ]
    with progress_bar("walking") as advance:
        walks = list(run_each(run_task, tasks, processes, advance))
    lines = [
        {**task._asdict(), **vars(walk), "failed": walk.failed}
        for task, walk in zip(tasks, walks, strict=True)
    ]
    write_tsv(out_folder / "walks.tsv", list(lines[0]), lines)
    table = empty_table(
        f"until the best row that trains, {seeds} seeds: mean (95 % interval; worst)",
        *("scenario", "method", *MEASURES),
    )
    standings = []
    for start in range(0, len(tasks), seeds):
        task = tasks[start]
        rows = edge_standings(task.scenario, task.method, walks[start : start + seeds])
        standings += rows
        cells = [f"{row.mean:.1f} ({row.low:.0f}-{row.high:.0f}; {row.worst})" for row in rows]
        table.add_row(task.scenario, task.method, *cells)
    write_tsv(out_folder / "edge.tsv", list(vars(standings[0])), [vars(row) for row in standings])
    show_table(table)
    if missed := sum(not walk.found for walk in walks):
        out.print(
            f"{missed} of {len(walks)} searches never drew it: the machine stopped it each time it "
            "was tried; they count as all rows"
        )
    out.print(f"{out_folder / 'edge.tsv'}")


if __name__ == "__main__":
    main(app)
