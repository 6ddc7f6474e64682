"""Search methods compared on recorded tables: draws until the best row, and until good ones.

    goals   "best"; "within p %": a loss of at most (1 + p/100) times the best; "top p %": among that share of all rows by rank
    R  runs of a method on a table        n  draws of a run, at most
A run that misses a goal within its draws is counted at the cap, and the number of misses is given.  All methods start from the same rows.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any, cast, get_args, get_type_hints

import numpy as np
from numpy.typing import NDArray

from fovnet.bench.peers import PEERS, refuse_absent, replay_peer
from fovnet.bench.replay import Replay, replay
from fovnet.bench.tables import Table, load_table
from fovnet.bench.together import Progress, each
from fovnet.errors import ConfigError
from fovnet.maths.draws import chance_found, expected_draws
from fovnet.maths.intervals import cluster_bootstrap, wilson_interval
from fovnet.search.clock import LEAD
from fovnet.search.look.uniform import few
from fovnet.search.look.view import RECOMMENDED, Modelling
from fovnet.search.methods import METHODS

Floats = NDArray[np.float64]

GOALS = ("best", "within 1 %", "within 5 %", "within 10 %", "top 1 %", "top 5 %", "top 10 %")


@dataclass(frozen=True)
class Entry:
    """One run to be made: a method on the table in a file, from the first row given, or drawn by the seed.

    A method of PEERS is another library's, which models in its own way and trains one row at a time.
    """

    table: Path
    method: str
    seed: int
    draws: int
    initial: int | None = None
    workers: int = 1
    modelling: Modelling = RECOMMENDED
    first: int | None = None
    lead: float = LEAD

    @property
    def setting(self) -> str:
        """Settings that differ from the recommended ones, "initial=1 targets=raw"; another library's version;
        empty for grid and random."""
        if self.method in PEERS:
            return PEERS[self.method].version
        if self.method in ("grid", "random"):
            return ""
        usual = asdict(RECOMMENDED) | {"initial": None, "lead": LEAD}
        modelled = asdict(self.modelling) if self.method.startswith("gp-") else {}
        mine = modelled | {"initial": self.initial, "lead": self.lead}
        return " ".join(f"{key}={mine[key]}" for key in sorted(mine) if mine[key] != usual[key])


@dataclass(frozen=True)
class Standing:
    """The draws a method needed for one goal on one table, over its runs, counted at the cap where missed.

    low, high  the 95 % interval of the mean, from resampling the runs; nan for a single run
    chance     the mean of random search, exactly, counted at the same cap
    """

    table: str
    method: str
    setting: str
    workers: int
    goal: str
    runs: int
    mean: float
    low: float
    high: float
    chance: float
    sd: float
    worst: int
    misses: int
    seconds_per_draw: float
    time: float


@dataclass(frozen=True, eq=False)
class Curve:
    """The share of a method's runs that have found a goal by draw 1 .. n, (n,) each, with its 95 % interval (Wilson)."""

    method: str
    setting: str
    runs: int
    share: Floats
    low: Floats
    high: Floats


def goal_losses(table: Table) -> dict[str, float]:
    """The highest loss that meets each of GOALS; a training that diverged meets none, even if fewer rows than the share converged."""
    ranked = np.sort(table.loss[np.isfinite(table.loss)])

    def top(share: float) -> float:
        return float(ranked[min(max(0, int(np.ceil(share * len(table.loss))) - 1), len(ranked) - 1)])

    margin = abs(table.best)
    within = {f"within {percent} %": table.best + margin * percent / 100 for percent in (1, 5, 10)}
    return {"best": table.best, **within, "top 1 %": top(0.01), "top 5 %": top(0.05), "top 10 %": top(0.1)}


def first_row(table: Table, seed: int) -> int:
    """The row that every method starts from with this seed."""
    return int(np.random.default_rng([seed, len(table.space)]).integers(len(table.space)))


def spread_rows(size: int, count: int) -> list[int]:
    """`count` rows of a table of `size`, spread evenly over it: all of them, each once, where count is size or more."""
    count = min(count, size)
    return [number * size // count for number in range(count)]


def modelling_of(targets: str, kernel: str, hyperparameters: str) -> Modelling:
    """The modelling named by options of the command line.  Raises ConfigError "bench-modelling" for an unknown value."""
    kinds, given = get_type_hints(Modelling), {"targets": targets, "kernel": kernel, "hyperparameters": hyperparameters}
    for key, value in given.items():
        if value not in get_args(kinds[key]):
            raise ConfigError("bench-modelling", f"--{key} {value}: unknown; choose among {', '.join(get_args(kinds[key]))}")
    return Modelling(**cast(dict[str, Any], given))


def refuse_unknown(methods: Sequence[str]) -> None:
    """Nothing, if all are fovnet's own methods.  Raises ConfigError "bench-method"."""
    for name in methods:
        if name not in METHODS:
            raise ConfigError("bench-method", f"--method {name}: unknown here; choose among {', '.join(METHODS)}")


def refuse_methods(methods: Sequence[str], workers: int) -> None:
    """Nothing, if all methods can be run.  Raises ConfigError "bench-method", "bench-workers", or SearchError "peer-missing"."""
    for name in methods:
        if name not in METHODS and name not in PEERS:
            raise ConfigError("bench-method", f"--method {name}: unknown; choose among {', '.join([*METHODS, *PEERS])}")
    peers = [name for name in dict.fromkeys(methods) if name in PEERS]
    refuse_absent(*peers)
    if peers and workers > 1:
        asked = f"{', '.join(peers)}: asked for one row at a time"
        raise ConfigError("bench-workers", f"--workers {workers}: {asked}; leave --workers out, or {'it' if len(peers) == 1 else 'these'}")


def run(entry: Entry) -> Replay:
    """One run, in this process."""
    table = load_table(entry.table)
    first = first_row(table, entry.seed) if entry.first is None else entry.first
    if entry.method in PEERS:
        before = entry.initial or few(table.space)
        return replay_peer(table, entry.method, first_row=first, seed=entry.seed, draws=entry.draws, initial=before)
    return replay(
        table, entry.method, first_row=first, seed=entry.seed, draws=entry.draws, initial=entry.initial, workers=entry.workers,
        modelling=entry.modelling, lead=entry.lead,
    )


def race(entries: Sequence[Entry], processes: int = 1, progress: Progress | None = None) -> Iterator[tuple[Entry, Replay]]:
    """Every entry with its run, in the order of the entries whatever the number of processes."""
    yield from zip(entries, each(run, entries, processes, progress), strict=True)


def standings(table: Table, entry: Entry, replays: Sequence[Replay]) -> list[Standing]:
    """The standing of a method on a table for each of GOALS, from its runs; `entry` is that of any of them."""
    rows = []
    pace = float(np.median(np.concatenate([one.seconds for one in replays])))
    for goal, loss in goal_losses(table).items():
        found = [one.draws_until(loss) for one in replays]
        needed = np.array([entry.draws if draw is None else draw for draw in found])
        times = [one.time_until(loss) for one in replays]
        time = float(np.mean([float(one.ends.max()) if at is None else at for one, at in zip(replays, times, strict=True)]))
        low, high = mean_interval(needed)
        rows.append(Standing(
            table.name, entry.method, entry.setting, entry.workers, goal, len(replays), float(needed.mean()), low, high,
            expected_draws(len(table.space), good_rows(table, loss), entry.draws), _sd(needed), int(needed.max()),
            sum(draw is None for draw in found), pace, time,
        ))
    return rows


def curve(table: Table, entry: Entry, replays: Sequence[Replay], goal: str = "best") -> Curve:
    """The curve of a method on a table for a goal, from its runs; `entry` is that of any of them."""
    loss, runs = goal_losses(table)[goal], len(replays)
    found = np.zeros(entry.draws, dtype=np.int64)
    for draw in (one.draws_until(loss) for one in replays):
        if draw is not None:
            found[draw - 1 :] += 1
    ends = np.array([wilson_interval(count, runs) for count in found.tolist()])
    return Curve(entry.method, entry.setting, runs, found / runs, ends[:, 0], ends[:, 1])


def chance_curve(table: Table, draws: int, goal: str = "best") -> Floats:
    """(draws,) the exact probability that random search has found the goal by each draw."""
    return chance_found(len(table.space), good_rows(table, goal_losses(table)[goal]), draws)


def good_rows(table: Table, loss: float) -> int:
    """The number of rows of the table whose loss is at most this."""
    return int((table.loss <= loss).sum())


def mean_interval(values: NDArray[np.int64] | Floats) -> tuple[float, float]:
    """The 95 % interval of the mean of independent values (R,), from 2,000 resamples of them; nan for a single one."""
    totals = np.column_stack([values, np.ones(len(values))])
    low, high = cluster_bootstrap(totals, lambda sums: np.asarray(sums[:, 0] / sums[:, 1]), repeats=2000)
    return float(low.item()), float(high.item())


def _sd(needed: NDArray[np.int64]) -> float:
    return float(needed.std(ddof=1)) if len(needed) > 1 else 0.0
