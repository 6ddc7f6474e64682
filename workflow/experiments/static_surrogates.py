"""The static surrogates of a thesis on direct search, measured on recorded trainings: cheap trainings
that order the points of a poll of `mads`, and rules that stop a training early (static_stops.py).

    R  epochs of a full training
    R1, R2  polls ordered by the score after an eighth and a twentieth of the epochs (25 and 10 of 200)
    R3, R4  by that of a training on a fifth and a tenth of the data, of tables that have it
A cheap training of every point of a poll comes before the first full one, and is paid; nothing of it
is used again.  Before them stands `mads` as it is, and after them `mads` with `spend: asha`.

Source: Lakhmiri, *Optimisation des hyperparamètres des réseaux de neurones profonds* (2021), section
6.4.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from typing import Annotated, Any

import numpy as np
import typer
from numpy.typing import NDArray
from scipy.stats import spearmanr

from digit_networks import SHARES, DigitTrainings
from fovnet.bench.races import first_row, goal_losses, spread_of
from fovnet.bench.replay import ReplayedSearch, replay, replay_search
from fovnet.bench.spending import ReplaySpending
from fovnet.bench.tables import OWN_TABLE, RecordedTable, load_table
from fovnet.cli import main
from fovnet.cli.options import PathArgument, folder_out
from fovnet.cli.screen import empty_table, out, progress_bar, show_table
from fovnet.errors import ConfigError
from fovnet.own_files import begins_with_columns
from fovnet.records import read_npz, write_tsv
from fovnet.search.look.mads import RankedTrials, choose_in_poll
from fovnet.search.look.view import Look, View
from fovnet.search.search import Search
from fovnet.search.spend.spends import SPENDS
from static_stops import stop_lines

Floats = NDArray[np.float64]
Integers = NDArray[np.int64]

EPOCH_SHARES = {"R1": 0.125, "R2": 0.05}
DATA_SHARES = {"R3": 0.2, "R4": 0.1}
FEWEST_TO_CORRELATE = 3
GOALS = ("top 1 %", "top 5 %")
RANKING_COLUMNS = (
    *("table", "ranking", "cost", "correlation", "correlation_of_best_fifth"),
    *("goal", "runs", "epochs", "low", "high", "missed"),
)
STOP_COLUMNS = ("table", "rule", "runs", "epochs_share", "lost", "excess")
RECOGNISER_BY_FILE = {
    "rankings.tsv": partial(begins_with_columns, columns=RANKING_COLUMNS),
    "stops.tsv": partial(begins_with_columns, columns=STOP_COLUMNS),
}

app = typer.Typer(add_completion=False)


@dataclass(frozen=True, eq=False)
class CheapTrainings:
    """A cheap training of every row.

    scores  (M,), nan where it diverged
    cost    (M,) epochs, those on a share of the data by that share
    """

    scores: Floats
    cost: Floats

    def correlation(self, losses: Floats, share: float = 1.0) -> float:
        """Spearman's, of the scores with these losses (M,) of full trainings, among the share of
        lowest losses; nan of fewer than three."""
        is_scored = np.isfinite(self.scores) & np.isfinite(losses)
        is_best = losses <= np.quantile(losses[is_scored], share)
        rows = np.flatnonzero(is_scored & is_best)
        if len(rows) < FEWEST_TO_CORRELATE:
            return np.nan
        return float(spearmanr(self.scores[rows], losses[rows]).statistic)


def cheap_trainings(
    table: RecordedTable, scores_of_share: Floats | None
) -> dict[str, CheapTrainings]:
    """Those of a table by the names of their rankings.

    scores_of_share  (len(SHARES), M) of trainings on shares of the data; None: there are none
    """
    trainings = {}
    for name, share in EPOCH_SHARES.items():
        epoch = max(1, round(share * table.full_epochs))
        cost = np.minimum(epoch, table.last_epochs).astype(np.float64)
        trainings[name] = CheapTrainings(table.scores[:, epoch], cost)
    if scores_of_share is None:
        return trainings
    for name, share in DATA_SHARES.items():
        scores = scores_of_share[SHARES.index(share)]
        trainings[name] = CheapTrainings(scores, np.full(len(scores), share * table.full_epochs))
    return trainings


@dataclass(eq=False)
class Screening:
    """Orders the rows of polls by their cheap trainings, and keeps account.

    cost_by_slot  of the cheap trainings up to the slot's choice, in epochs
    """

    trainings: CheapTrainings
    screened_rows: set[int] = field(default_factory=set)
    cost_by_slot: dict[int, float] = field(default_factory=dict)

    def pick(self, view: View, ranked_trials: RankedTrials, rows: Integers) -> int:
        """The row of lowest score, diverged ones last; a single one needs no cheap training."""
        if len(rows) > 1:
            self.screened_rows.update(rows.tolist())
        self.cost_by_slot[view.slot] = float(self.trainings.cost[list(self.screened_rows)].sum())
        scores = self.trainings.scores[rows]
        return int(rows[np.argmin(np.where(np.isnan(scores), np.inf, scores))])

    def cost_until(self, slot: int) -> float:
        """The cost of the cheap trainings up to a slot."""
        return max((cost for s, cost in self.cost_by_slot.items() if s <= slot), default=0.0)


@dataclass(frozen=True, eq=False)
class ScreenedSearch(Search):
    """`mads`, whose polls are ordered by a screening."""

    screening: Screening | None = None

    @property
    def look(self) -> Look:
        """The poll of `mads`, picked from by the screening."""
        if self.screening is None:
            return super().look
        return partial(choose_in_poll, pick=self.screening.pick)


def replay_screened(
    table: RecordedTable, trainings: CheapTrainings | None, seed: int, draws: int
) -> dict[str, float]:
    """{goal: epochs until it is met, cheap ones included, infinite where it is missed} of a run."""
    screening = None
    if trainings is not None:
        screening = Screening(trainings)
    search = ScreenedSearch(
        table.space,
        "mads",
        seed,
        workers=1,
        start=first_row(table, seed),
        initial=None,
        predicted_seconds=table.cost,
        feasible=np.ones(len(table.space), dtype=bool),
        screening=screening,
    )
    cap = draws * table.full_epochs
    run = replay_search(table, search, SPENDS["full"], cap=cap, ends_at_best=True)
    return {goal: _epochs_until(run, goal_losses(table)[goal], screening, cap) for goal in GOALS}


def _epochs_until(run: ReplayedSearch, loss: float, screening: Screening | None, cap: int) -> float:
    """The epochs of a run until a loss, the cheap trainings' included; infinite beyond the cap."""
    slots = np.flatnonzero(run.is_complete & (run.loss <= loss))
    if not len(slots):
        return np.inf
    epochs = float(run.epochs_spent[slots[0]])
    if screening is not None:
        epochs += screening.cost_until(int(slots[0]))
    if epochs > cap:
        return np.inf
    return epochs


def replay_halving(table: RecordedTable, seed: int, draws: int) -> dict[str, float]:
    """The same of `mads` with `spend: asha`."""
    run = replay(
        table,
        "mads",
        first_row=first_row(table, seed),
        seed=seed,
        draws=draws,
        spending=ReplaySpending("asha"),
    )
    losses = goal_losses(table)
    return {goal: float(run.epochs_until(losses[goal]) or np.inf) for goal in GOALS}


def ranking_lines(
    table: RecordedTable, trainings: Mapping[str, CheapTrainings], runs: int, draws: int
) -> Iterator[dict[str, Any]]:
    """A line of RANKING_COLUMNS for each ranking and goal."""
    for name in ("mads", *trainings, "mads+asha"):
        facts: dict[str, Any] = {"table": table.name, "ranking": name, "runs": runs}
        cheap = trainings.get(name)
        if cheap is not None:
            facts["cost"] = round(float(cheap.cost.max()) / table.full_epochs, 3)
            facts["correlation"] = round(cheap.correlation(table.loss), 2)
            facts["correlation_of_best_fifth"] = round(cheap.correlation(table.loss, 0.2), 2)
        if name == "mads+asha":
            results = [replay_halving(table, seed, draws) for seed in range(runs)]
        else:
            results = [replay_screened(table, cheap, seed, draws) for seed in range(runs)]
        for goal in GOALS:
            yield {**facts, "goal": goal, **_spread(table, [r[goal] for r in results], draws)}


def _spread(table: RecordedTable, epochs: list[float], draws: int) -> dict[str, Any]:
    """The mean of the epochs of runs with its interval; a miss counts at the cap."""
    cap = draws * table.full_epochs
    spread = spread_of([round(min(count, cap)) for count in epochs])
    return {
        "epochs": round(spread.mean, 1),
        "low": round(spread.low, 1),
        "high": round(spread.high, 1),
        "missed": int(np.isinf(epochs).sum()),
    }


@app.command()
def measure_surrogates(
    out_folder: Annotated[
        Path,
        folder_out(
            RECOGNISER_BY_FILE,
            "Where rankings.tsv and stops.tsv are written, and the folder of the digits.",
        ),
    ],
    tables: Annotated[
        list[Path] | None,
        PathArgument(help="Tables with learning curves; default: that of the package."),
    ] = None,
    digits: Annotated[int, typer.Option(min=0, help="Networks of digits to train; 0: none.")] = 0,
    runs: Annotated[int, typer.Option(min=1, help="Runs of each ranking and rule.")] = 20,
    draws: Annotated[int, typer.Option(min=1, help="Full trainings that a run may spend.")] = 150,
) -> None:
    """Measure static surrogates: epochs that direct search needs if cheap trainings order its polls,
    and what rules that stop trainings save and lose."""
    paths = list(tables or [OWN_TABLE])
    with progress_bar("training digits") as advance:
        if digits:
            path = out_folder / "digits" / "digits.npz"
            paths.append(DigitTrainings(path.parent, digits).write_table(path, advance))
    ranking_rows: list[dict[str, Any]] = []
    stop_rows: list[dict[str, Any]] = []
    with progress_bar("replaying") as advance:
        for number, path in enumerate(paths, start=1):
            table = load_table(path)
            if table.curves is None:
                raise ConfigError(
                    "bench-curves", f"{path}: no learning curves; give tables that have them"
                )
            trainings = cheap_trainings(table, read_npz(path).get("scores_of_share"))
            ranking_rows += ranking_lines(table, trainings, runs, draws)
            stop_rows += stop_lines(table, runs)
            write_tsv(out_folder / "rankings.tsv", RANKING_COLUMNS, ranking_rows)
            write_tsv(out_folder / "stops.tsv", STOP_COLUMNS, stop_rows)
            advance(number, len(paths))
    _show(ranking_rows, stop_rows)
    out.print(f"{out_folder}: {', '.join(RECOGNISER_BY_FILE)}")


def _show(ranking_rows: list[dict[str, Any]], stop_rows: list[dict[str, Any]]) -> None:
    """Prints both tables."""
    table = empty_table(
        "epochs until a good row is trained to the end (95 % interval; missed)",
        *("table", "polls ordered by", "goal", "epochs"),
    )
    for row in ranking_rows:
        cell = f"{row['epochs']:,.0f} ({row['low']:,.0f} to {row['high']:,.0f}; {row['missed']})"
        table.add_row(row["table"], row["ranking"], row["goal"], cell)
    show_table(table)
    table = empty_table(
        "trainings stopped early",
        *("table", "rule", "share of the epochs", "runs that lost the best"),
    )
    for row in stop_rows:
        lost = f"{row['lost']} of {row['runs']}"
        table.add_row(row["table"], row["rule"], f"{row['epochs_share']:.2f}", lost)
    show_table(table)


if __name__ == "__main__":
    main(app)
