"""Search methods compared on recorded tables: draws, and where there are learning curves epochs, until the
best row stands trained to the end, and until good ones do.

    goals   "best"; "within p %": a loss of at most (1 + p/100) times the best; "top p %": among that share of
            all rows by rank
    R  runs of a method on a table        n  draws of a run, at most
A run that misses a goal within its draws, or its epochs, is counted at the cap, and the number of misses is
given. All methods start from the same rows.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from functools import lru_cache
from pathlib import Path
from typing import Any, NamedTuple, cast, get_args, get_type_hints

import numpy as np
import yaml
from numpy.typing import NDArray

from fovnet.bench import peers
from fovnet.bench.peers import PEERS, THAWING, refuse_absent, replay_peer
from fovnet.bench.replay import Replay, replay
from fovnet.bench.spending import ITS_OWN, WAYS, Spending
from fovnet.bench.tables import Table, load_table
from fovnet.bench.together import Progress, each
from fovnet.config import search as search_settings
from fovnet.config.files import parse
from fovnet.config.yaml_text import read_value
from fovnet.errors import ConfigError
from fovnet.maths.draws import chance_found, expected_draws
from fovnet.maths.intervals import cluster_bootstrap, wilson_interval
from fovnet.search.look.grid import lattice
from fovnet.search.look.uniform import few, uniform
from fovnet.search.look.view import RANKING, RECOMMENDED, Modelling, Ranking
from fovnet.search.methods import METHODS
from fovnet.search.prior import Prior, read_prior
from fovnet.search.search import Search
from fovnet.search.space import Axis

Floats = NDArray[np.float64]

TAUGHT = (*search_settings.TAUGHT, *peers.TAUGHT)
"""Methods that learn from earlier searches; all but the first cannot do without."""
GOALS = ("best", "within 1 %", "within 5 %", "within 10 %", "top 1 %", "top 5 %", "top 10 %")


@dataclass(frozen=True)
class Entry:
    """One run to be made: a method on the table in a file, from the first row given, or drawn by the seed.

    A method of PEERS is another library's, which models in its own way and trains one row at a time.
    priors  of them a method that learns from earlier searches takes one, by its seed in turn
    """

    table: Path
    method: str
    seed: int
    draws: int
    initial: int | None = None
    workers: int = 1
    modelling: Modelling = RECOMMENDED
    first: int | None = None
    lead: float = Search.lead
    spending: Spending = ITS_OWN
    epochs: int | None = None
    ranking: Ranking = RANKING
    priors: tuple[Path, ...] = ()

    @property
    def contestant(self) -> str:
        """The method and, unless it is its own, how it spends: "gp-ei+asha"."""
        if self.method in PEERS or self.spends == METHODS[self.method].spend:
            return self.method
        return f"{self.method}+{self.spends}"

    @property
    def spends(self) -> str:
        """One of WAYS, or "thaws" of another library that spends by the epoch."""
        if self.method in PEERS:
            return "thaws" if self.method in THAWING else "full"
        return self.spending.of(self.method)

    @property
    def prior(self) -> Path | None:
        """The prior that the run takes."""
        return (
            self.priors[self.seed % len(self.priors)]
            if self.priors and self.method in TAUGHT
            else None
        )

    @property
    def setting(self) -> str:
        """Settings that differ from the recommended ones and matter, "initial=1 targets=raw"; another
        library's version; empty for grid and random."""
        prior = {"prior": ",".join(path.stem for path in self.priors)} if self.prior else {}
        if self.method in PEERS:
            known = [PEERS[self.method].version, *(f"prior={stems}" for stems in prior.values())]
            return " ".join(known).strip()
        usual = (
            asdict(RECOMMENDED)
            | asdict(ITS_OWN)
            | RANKING.facts
            | {"initial": None, "lead": Search.lead, "prior": None}
        )
        mine: dict[str, object] = (
            {}
            if METHODS[self.method].look in (uniform, lattice)
            else {"initial": self.initial, "lead": self.lead}
        )
        if self.method.startswith("gp-") or self.method == "ensemble-ei":
            mine |= asdict(self.modelling)
        mine |= self.ranking.facts if self.method == "ranking" else {}
        if self.spends in ("asha", "hyperband"):
            mine |= {"eta": self.spending.eta, "least": self.spending.least}
            mine |= {"reuse": self.spending.reuse} if self.spends == "hyperband" else {}
        else:
            mine.pop("fidelity", None)
        mine |= prior
        given = {
            key: f"{mine[key]}".replace(" ", "") for key in sorted(mine) if mine[key] != usual[key]
        }
        return " ".join(f"{key}={value}" for key, value in given.items())

    def cap(self, table: Table) -> int:
        """The epochs that a run may spend: those of `draws` full trainings, unless there are curves and
        another number is given."""
        return self.epochs if self.epochs and table.epochs > 1 else self.draws * table.epochs


@dataclass(frozen=True, eq=False)
class Contest:
    """The runs of one contestant on one table, those of `entry` and of the same with other first rows."""

    entry: Entry
    replays: Sequence[Replay]

    @property
    def name(self) -> str:
        """The contestant, with its setting if that is not the usual one: "gp-ei (initial=1 targets=raw)"."""
        given = f" ({self.entry.setting})" if self.entry.setting else ""
        return f"{self.entry.contestant}{given}"

    @property
    def stops(self) -> bool:
        """Whether it may stop trainings early."""
        return self.entry.spends != "full"

    def found(self, loss: float, most: int, unit: str) -> Floats:
        """(most + 1,) the share of its runs that have found a loss this low by 0 .. most "draws" or
        "epochs"."""
        ends = [
            one.draws_until(loss) if unit == "draws" else one.epochs_until(loss)
            for one in self.replays
        ]
        counts = np.bincount([end for end in ends if end is not None], minlength=most + 1)
        return np.asarray(np.cumsum(counts)[: most + 1] / len(ends))


def contests_of(results: Iterable[tuple[Entry, Replay]]) -> list[Contest]:
    """The runs on one table by contestant and setting."""
    grouped: dict[str, list[tuple[Entry, Replay]]] = {}
    for entry, made in results:
        grouped.setdefault(Contest(entry, ()).name, []).append((entry, made))
    return [Contest(same[0][0], [made for _, made in same]) for same in grouped.values()]


@dataclass(frozen=True)
class Standing:
    """The draws a method needed for one goal on one table, over its runs, counted at the cap where missed;
    where trainings may be stopped early, with all rows that the run began.

    low, high  the 95 % interval of the mean, from resampling the runs; nan for a single run
    chance     the mean of random search, exactly, counted at the same cap
    epochs     the mean number of epochs needed, 1 each where there are no curves;  epochs_low ... as of draws
    full_trainings  the same in epochs of full trainings;   time  virtual;   idle  share of the workers' time
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
    epochs: float
    epochs_low: float
    epochs_high: float
    epochs_sd: float
    epochs_worst: int
    full_trainings: float
    idle: float


@dataclass(frozen=True, eq=False)
class Curve:
    """The share of a method's runs that have found the best row by epoch 1 .. n, (n,) each, with its 95 %
    interval (Wilson); by draw, where there are no learning curves."""

    method: str
    setting: str
    runs: int
    share: Floats
    low: Floats
    high: Floats


def goal_losses(table: Table) -> dict[str, float]:
    """The highest loss that meets each of GOALS; a training that diverged meets none, even if fewer rows than
    the share converged."""
    ranked = np.sort(table.loss[np.isfinite(table.loss)])

    def top(share: float) -> float:
        return float(
            ranked[min(max(0, int(np.ceil(share * len(table.loss))) - 1), len(ranked) - 1)]
        )

    margin = abs(table.best)
    within = {f"within {percent} %": table.best + margin * percent / 100 for percent in (1, 5, 10)}
    return {
        "best": table.best,
        **within,
        "top 1 %": top(0.01),
        "top 5 %": top(0.05),
        "top 10 %": top(0.1),
    }


def first_row(table: Table, seed: int) -> int:
    """The row that every method starts from with this seed."""
    return int(np.random.default_rng([seed, len(table.space)]).integers(len(table.space)))


def spread_rows(size: int, count: int) -> list[int]:
    """`count` rows of a table of `size`, spread evenly over it: all of them, each once, where count is size
    or more."""
    count = min(count, size)
    return [number * size // count for number in range(count)]


def modelling_of(**given: str) -> Modelling:
    """The modelling named by options of the command line.  Raises ConfigError "bench-modelling" for an
    unknown value."""
    kinds = get_type_hints(Modelling)
    for key, value in given.items():
        if value not in get_args(kinds[key]):
            raise ConfigError(
                "bench-modelling",
                f"--{key} {value}: unknown; choose among {', '.join(get_args(kinds[key]))}",
            )
    return Modelling(**cast(dict[str, Any], given))


def ranking_of(given: Sequence[str]) -> Ranking:
    """The ranking named by options of the command line, "epochs=1000" or "hidden=[64, 64]", with values as in
    a configuration.

    Raises ConfigError "bench-modelling" for a word that is no setting, or "config-invalid" as
    `fovnet.config.files.parse`.
    """
    values = {}
    for one in given:
        key, sign, value = one.partition("=")
        try:
            values[key] = read_value(value if sign else "[")
        except (yaml.YAMLError, ValueError, RecursionError):
            wanted = "give a setting and its value, such as epochs=1000"
            raise ConfigError("bench-modelling", f"--ranking {one}: {wanted}") from None
    whole = {"phantom": {"subjects": 8}, "search": {"method": "ranking", "ranking": values}}
    checked = parse(whole, "--ranking").search.ranking
    return Ranking.from_facts(checked.model_dump()) if checked else RANKING


def refuse_unknown(methods: Sequence[str], known: Iterable[str] = METHODS) -> None:
    """Raise ConfigError "bench-method" unless all are known: fovnet's own methods."""
    for name in methods:
        if name not in known:
            raise ConfigError(
                "bench-method", f"--method {name}: unknown; choose among {', '.join(known)}"
            )


def refuse_methods(contestants: Sequence[str], workers: int) -> None:
    """Raise ConfigError "bench-method", "bench-spend" or "bench-workers", or SearchError "peer-missing",
    unless all methods can be run."""
    methods = []
    for name in contestants:
        method, spending = parsed(name)
        refuse_unknown([method], [*METHODS, *PEERS])
        if spending.way not in (None, *WAYS):
            raise ConfigError(
                "bench-spend", f"--spend {spending.way}: unknown; choose among {', '.join(WAYS)}"
            )
        methods.append(method)
    peers = [name for name in dict.fromkeys(methods) if name in PEERS]
    refuse_absent(*peers)
    if peers and workers > 1:
        asked = f"{', '.join(peers)}: asked for one row at a time"
        raise ConfigError(
            "bench-workers",
            f"--workers {workers}: {asked}; leave --workers out, or {'it' if len(peers) == 1 else 'these'}",
        )


def refuse_priors(
    contestants: Sequence[str], priors: Sequence[Path], tables: Mapping[Path, Table]
) -> None:
    """Raise ConfigError "bench-prior", or SearchError as `read_prior`, unless the priors are of the tables'
    axes, a method takes them, and methods that need one have it."""
    taught = [name for name, _ in map(parsed, contestants) if name in TAUGHT]
    if not priors and (lacking := [name for name in taught if name != TAUGHT[0]]):
        wanted = "learns from other searches; give --prior, a file of `fovnet bench learn`"
        raise ConfigError("bench-prior", f"--method {lacking[0]}: {wanted}")
    if priors and not taught:
        wanted = f"no method here learns from other searches; add --method {TAUGHT[0]}"
        raise ConfigError("bench-prior", f"--prior {priors[0]}: {wanted}")
    for path in priors:
        for table in tables.values():
            known_prior(path, table.space.axes)


def parsed(contestant: str, spending: Spending = ITS_OWN) -> tuple[str, Spending]:
    """The method that a contestant names, and how it spends: "gp-ei+asha" says so itself, others as
    `spending` says."""
    method, _, way = (contestant, "", "") if contestant in PEERS else contestant.partition("+")
    return method, replace(spending, way=way) if way else spending


def refuse_spending(table: Table, entry: Entry) -> None:
    """Raise ConfigError "bench-spend" unless the table has what an entry spends by, or SearchError
    "search-schedule" for rungs that cannot be."""
    if entry.spends != "full" and table.epochs == 1:
        needed = f"the table has no learning curves, and {entry.contestant} stops trainings early"
        wanted = f"give curves in {table.name}.npz or {table.name}.curves.npy, or use --spend full"
        raise ConfigError("bench-spend", f"{entry.table}: {needed}; {wanted}.")
    if entry.cap(table) < table.epochs:
        raise ConfigError(
            "bench-spend",
            f"--epochs {entry.cap(table)}: a full training of {entry.table} has {table.epochs}; give more.",
        )
    if entry.method not in PEERS:
        entry.spending.schedule(entry.method, table.epochs)


def entries_of(
    like: Entry,
    tables: Mapping[Path, Table],
    contestants: Sequence[tuple[str, Spending]],
    runs: int | None,
    *,
    every_row_first: bool,
) -> list[Entry]:
    """The runs of every contestant on every table, with the settings of `like`.

    runs  of each; None: 20.  With `every_row_first` each begins with a row of its own, evenly spread over the
          table, and None are as many as there are rows
    Raises ConfigError and SearchError as `refuse_spending`.
    """
    made = []
    for path, table in tables.items():
        size = len(table.space)
        firsts = spread_rows(size, runs or size) if every_row_first else [None] * (runs or 20)
        made += [
            replace(like, table=path, method=name, seed=seed, first=first, spending=how)
            for name, how in contestants
            for seed, first in enumerate(firsts)
        ]
    for entry in made:
        refuse_spending(tables[entry.table], entry)
    return made


def run(entry: Entry) -> Replay:
    """One run, in this process."""
    table = load_table(entry.table)
    first, cap = (
        first_row(table, entry.seed) if entry.first is None else entry.first,
        entry.cap(table),
    )
    prior = known_prior(entry.prior, table.space.axes) if entry.prior else None
    if entry.method in PEERS:
        before = entry.initial or few(table.space)
        return replay_peer(
            table,
            entry.method,
            first_row=first,
            seed=entry.seed,
            cap=cap,
            initial=before,
            prior=prior,
        )
    return replay(
        table,
        entry.method,
        first_row=first,
        seed=entry.seed,
        draws=entry.draws,
        initial=entry.initial,
        workers=entry.workers,
        modelling=entry.modelling,
        ranking=entry.ranking,
        lead=entry.lead,
        spending=entry.spending,
        cap=cap,
        prior=prior,
    )


@lru_cache(maxsize=8)
def known_prior(path: Path, axes: tuple[Axis, ...]) -> Prior:
    """As `read_prior`; the runs of a process share what is computed of its sources."""
    return read_prior(path, axes)


def race(
    entries: Sequence[Entry], processes: int = 1, progress: Progress | None = None
) -> Iterator[tuple[Entry, Replay]]:
    """Every entry with its run, in the order of the entries whatever the number of processes."""
    yield from zip(entries, each(run, entries, processes, progress), strict=True)


def standings(table: Table, entry: Entry, replays: Sequence[Replay]) -> list[Standing]:
    """The standing of a method on a table for each of GOALS, from its runs; `entry` is that of any of
    them."""
    return [
        _standing(table, entry, replays, goal, loss) for goal, loss in goal_losses(table).items()
    ]


def _standing(
    table: Table, entry: Entry, replays: Sequence[Replay], goal: str, loss: float
) -> Standing:
    found = [one.draws_until(loss) for one in replays]
    most = [entry.draws if table.epochs == 1 else int(one.drawn[-1]) for one in replays]
    needed = spread_of(
        [cap if draw is None else draw for draw, cap in zip(found, most, strict=True)]
    )
    epochs = spread_of([one.epochs_until(loss) or entry.cap(table) for one in replays])
    times = [
        float(one.ends.max()) if (at := one.time_until(loss)) is None else at for one in replays
    ]
    chance = expected_draws(len(table.space), good_rows(table, loss), entry.draws)
    return Standing(
        table.name,
        entry.contestant,
        entry.setting,
        entry.workers,
        goal,
        len(replays),
        needed.mean,
        needed.low,
        needed.high,
        chance,
        needed.sd,
        needed.worst,
        sum(draw is None for draw in found),
        float(np.median(np.concatenate([one.seconds for one in replays]))),
        float(np.mean(times)),
        *epochs,
        epochs.mean / table.epochs,
        float(np.mean([one.idle for one in replays])),
    )


def curve(table: Table, entry: Entry, replays: Sequence[Replay]) -> Curve:
    """The curve of a method on a table for its best row, from its runs; `entry` is that of any of them."""
    runs, found = len(replays), np.zeros(entry.cap(table), dtype=np.int64)
    for epochs in (one.epochs_until(table.best) for one in replays):
        if epochs is not None:
            found[epochs - 1 :] += 1
    counts, back = np.unique(found, return_inverse=True)
    ends = np.array([wilson_interval(count, runs) for count in counts.tolist()])[back]
    return Curve(entry.contestant, entry.setting, runs, found / runs, ends[:, 0], ends[:, 1])


def chance_curve(table: Table, draws: int) -> Floats:
    """(draws,) the exact probability that random search has found the best row by each draw."""
    return chance_found(len(table.space), good_rows(table, table.best), draws)


def good_rows(table: Table, loss: float) -> int:
    """The number of rows of the table whose loss is at most this."""
    return int((table.loss <= loss).sum())


class Spread(NamedTuple):
    """The mean of independent counts (R,), its 95 % interval from 2,000 resamples of them, nan for a single
    one, their standard deviation, 0 for a single one, and the highest."""

    mean: float
    low: float
    high: float
    sd: float
    worst: int


def spread_of(counts: Sequence[int]) -> Spread:
    """The spread of these counts."""
    values = np.array(counts)
    totals = np.column_stack([values, np.ones(len(values))])
    low, high = cluster_bootstrap(
        totals, lambda sums: np.asarray(sums[:, 0] / sums[:, 1]), repeats=2000
    )
    sd = float(values.std(ddof=1)) if len(values) > 1 else 0.0
    return Spread(
        float(values.mean()), float(low.item()), float(high.item()), sd, int(values.max())
    )
