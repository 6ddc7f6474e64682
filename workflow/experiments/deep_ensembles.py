"""Deep ensembles of five and of ten networks, new at every draw or trained on from the draw before, as
contestants on recorded tables: a comparison of an MSc thesis on ranking losses (Freiburg 2022).

Networks, epochs, rates and acquisition are those of `ensemble-ei`, which has ten and restarts.  The
thesis trains new networks for 1,000 epochs at a constant rate, and others for 100 more at each draw.

The tables that it writes are those of `fovnet bench search`; `ranks.py` ranks its contestants and
those of `bench search` on the same tables.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Annotated, NamedTuple

import numpy as np
import typer
from numpy.typing import NDArray

from fovnet.bench.peers import Surrogate
from fovnet.bench.races import Entry, first_row
from fovnet.bench.replay import ReplayedSearch, replay_asking
from fovnet.bench.tables import load_table
from fovnet.cli import main
from fovnet.cli.bench_searches import RECOGNISER_BY_FILE
from fovnet.cli.options import PathArgument, Workers, folder_out
from fovnet.machine.threads import one_thread
from fovnet.maths.acquisition import log_expected_improvement
from fovnet.maths.normal_likelihood import mixture_moments, moments, negative_log_likelihood
from fovnet.maths.rankers import Batch, Ranker, train
from fovnet.maths.scorers import Layers, forward
from fovnet.maths.warping import TARGETS
from fovnet.search.look.ensemble import EPOCHS, HIDDEN_WIDTHS, RATE, RATE_END
from fovnet.search.look.uniform import default_initial_count
from fovnet.search.look.view import RECOMMENDED
from taught_race import race

Floats = NDArray[np.float64]


class Arm(NamedTuple):
    """The number of networks of an ensemble, and whether they are new at every draw."""

    members: int
    restarts: bool


ARMS: Mapping[str, Arm] = {
    "ensemble-10-restart": Arm(10, True),
    "ensemble-5-restart": Arm(5, True),
    "ensemble-10-reuse": Arm(10, False),
    "ensemble-5-reuse": Arm(5, False),
}

app = typer.Typer(add_completion=False)


@dataclass(eq=False)
class EnsembleImprovement:
    """Log expected improvement under an ensemble, the acquisition of a Surrogate.

    networks  of the last draw; None before the first, or where they restart
    """

    arm: Arm
    rng: np.random.Generator
    networks: Layers | None = field(default=None, init=False)

    def __call__(self, X: Floats, y: Floats, x: Floats) -> Floats:
        """(m,) of points x (m, D), given X (n, D) and their losses y (n,)."""
        targets = TARGETS[RECOMMENDED.targets](y).values
        networks = self.networks
        if networks is None:
            networks = Layers.draw((X.shape[1], *HIDDEN_WIDTHS, 2), self.arm.members, self.rng)
        batch = Batch(X, X[:0], lambda outputs: negative_log_likelihood(outputs, targets)[1])
        train(Ranker(networks), lambda: batch, EPOCHS, RATE, RATE_END)
        if not self.arm.restarts:
            self.networks = networks
        weights = np.full(self.arm.members, 1.0 / self.arm.members)
        mean, variance = mixture_moments(*moments(forward(networks, x)[-1]), weights)
        return log_expected_improvement(mean, variance, float(targets.min()))


@dataclass(frozen=True)
class EnsembleEntry(Entry):
    """One run of one of ARMS."""

    @property
    def contestant(self) -> str:
        return self.method

    @property
    def way_to_spend(self) -> str:
        return "full"

    @property
    def setting(self) -> str:
        return ""


def run_entry(entry: EnsembleEntry) -> ReplayedSearch:
    """The run of an entry, in this process, with one thread for linear algebra."""
    table = load_table(entry.table)
    improvement = EnsembleImprovement(
        ARMS[entry.method], np.random.default_rng([entry.seed, len(table.space)])
    )
    initial = default_initial_count(table.space)
    searcher = Surrogate(table.space, entry.seed, initial, improvement)
    with one_thread():
        return replay_asking(
            table,
            searcher,
            first_row=first_row(table, entry.seed),
            seed=entry.seed,
            cap=entry.epoch_cap(table),
        )


@app.command()
def race_ensembles(
    tables: Annotated[list[Path], PathArgument(help="Tables of recorded trainings.")],
    out_folder: Annotated[
        Path,
        folder_out(
            RECOGNISER_BY_FILE, "Where standings.tsv, runs.tsv and standings.png are written."
        ),
    ],
    runs: Annotated[int, typer.Option(min=1, help="Runs of each, as in `bench search`.")] = 20,
    draws: Annotated[int, typer.Option(min=1, help="Maximum number of trainings of a run.")] = 100,
    processes: Workers = 1,
) -> None:
    """Race deep ensembles of five and ten networks that restart at every draw or are used again."""
    table_by_path = {path: load_table(path) for path in tables}
    entries = [
        EnsembleEntry(path, name, seed, draws)
        for path in table_by_path
        for name in ARMS
        for seed in range(runs)
    ]
    race(entries, run_entry, table_by_path, out_folder, processes)


if __name__ == "__main__":
    main(app)
