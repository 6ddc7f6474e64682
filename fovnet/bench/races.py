"""Search methods compared on recorded tables: draws, and where there are learning curves epochs,
until the best row stands trained to the end, and until good ones do.

    goals  "best"; "within p %": a loss of at most (1 + p/100) times the best; "top p %": among that
           share of all rows by rank
    R      runs of a method on a table
    n      draws of a run, at most
A run that misses a goal within its draws, or its epochs, is counted at the cap, and the number of
misses is given.  All methods start from the same rows.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from functools import lru_cache
from pathlib import Path
from typing import Any, NamedTuple, cast, get_args, get_type_hints

import numpy as np
import yaml
from numpy.typing import NDArray

from fovnet.bench.peers import PEERS, THAWING_PEERS, pronoun_for, refuse_absent, replay_peer
from fovnet.bench.replay import ReplayedSearch, replay
from fovnet.bench.spending import METHODS_OWN_SPENDING, WAYS_TO_SPEND, ReplaySpending
from fovnet.bench.tables import RecordedTable, load_table
from fovnet.bench.together import Progress, run_each
from fovnet.choices import BoundWidth
from fovnet.config.files import parse
from fovnet.config.search import (
    METHODS_WITH_BOUND,
    METHODS_WITH_PRIOR,
    METHODS_WITH_PROBABILITY,
)
from fovnet.config.yaml_text import read_value
from fovnet.errors import ConfigError
from fovnet.maths.draws import chance_of_finding, expected_draws
from fovnet.maths.intervals import cluster_bootstrap, wilson_interval
from fovnet.search.look.grid import choose_on_lattice
from fovnet.search.look.uniform import choose_uniformly, default_initial_count
from fovnet.search.look.view import RANKING, RECOMMENDED, Modelling, Ranking
from fovnet.search.methods import METHODS
from fovnet.search.prior import Prior, read_prior
from fovnet.search.search import Search
from fovnet.search.space import Axis

Floats = NDArray[np.float64]

SPREAD_RESAMPLES = 2000
GOALS = ("best", "within 1 %", "within 5 %", "within 10 %", "top 1 %", "top 5 %", "top 10 %")


@dataclass(frozen=True)
class Entry:
    """One run to be made: a method on the table in a file.

    method   one of METHODS, or of PEERS: another library's, which models in its own way and trains
             one row at a time
    draws    trainings at most
    initial  draws before a model is used; None: the method's own number
    first    the row to begin with; None: drawn by the seed
    lead     how far workers may run ahead of the results, a share
    epochs   at most, where there are learning curves; None: those of `draws` full trainings
    priors   of them a method that learns from earlier searches takes one, by its seed in turn
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
    spending: ReplaySpending = METHODS_OWN_SPENDING
    epochs: int | None = None
    ranking: Ranking = RANKING
    priors: tuple[Path, ...] = ()

    @property
    def contestant(self) -> str:
        """The method and, unless it is its own, how it spends: "gp-ei+asha"."""
        if self.method in PEERS or self.way_to_spend == METHODS[self.method].spend:
            return self.method
        return f"{self.method}+{self.way_to_spend}"

    @property
    def way_to_spend(self) -> str:
        """One of WAYS_TO_SPEND, or "thaws" of another library that spends by the epoch."""
        if self.method in THAWING_PEERS:
            return "thaws"
        if self.method in PEERS:
            return "full"
        return self.spending.way_of(self.method)

    @property
    def stops_on_rungs(self) -> bool:
        """Whether trainings may stop early, on rungs that the settings place."""
        return self.way_to_spend in ("hyperband", "asha", "asha-or-full")

    @property
    def prior(self) -> Path | None:
        """The prior that the run takes."""
        if not self.priors or self.method not in METHODS_WITH_PRIOR:
            return None
        return self.priors[self.seed % len(self.priors)]

    @property
    def setting(self) -> str:
        """Settings that differ from the recommended ones and matter, "initial=1 targets=raw";
        another library's version; empty for grid and random."""
        if self.method in PEERS:
            return PEERS[self.method].version
        usual_value_by_key: dict[str, object] = {
            **asdict(RECOMMENDED),
            **asdict(METHODS_OWN_SPENDING),
            **RANKING.facts,
            "initial": None,
            "lead": Search.lead,
        }
        value_by_key: dict[str, object] = {}
        if METHODS[self.method].look not in (choose_uniformly, choose_on_lattice):
            value_by_key |= {"initial": self.initial, "lead": self.lead}
        if self.method.startswith("gp-") or self.method == "ensemble-ei":
            value_by_key |= asdict(self.modelling)
        if self.method == "ranking":
            value_by_key |= self.ranking.facts
        if self.stops_on_rungs:
            value_by_key |= {"eta": self.spending.eta, "least": self.spending.least}
            value_by_key["minutes"] = self.spending.minutes
        else:
            value_by_key.pop("fidelity", None)
        if self.method != "gp-ei":
            value_by_key.pop("models", None)
        if self.method not in METHODS_WITH_PROBABILITY:
            value_by_key.pop("target", None)
        if self.method not in METHODS_WITH_BOUND:
            value_by_key.pop("width", None)
        if self.way_to_spend == "hyperband":
            value_by_key["reuse"] = self.spending.reuse
        unusual_value_by_key = {
            key: value for key, value in value_by_key.items() if value != usual_value_by_key[key]
        }
        if self.prior:
            unusual_value_by_key["prior"] = ",".join(path.stem for path in self.priors)
        text_by_key = {
            key: f"{unusual_value_by_key[key]}".replace(" ", "")
            for key in sorted(unusual_value_by_key)
        }
        return " ".join(f"{key}={value_text}" for key, value_text in text_by_key.items())

    def epoch_cap(self, table: RecordedTable) -> int:
        """The epochs that a run may spend: those of `draws` full trainings, unless there are curves
        and another number is given."""
        if self.epochs and table.full_epochs > 1:
            return self.epochs
        return self.draws * table.full_epochs


@dataclass(frozen=True, eq=False)
class Contest:
    """The runs of one contestant on one table, those of `entry` and of the same with other first
    rows."""

    entry: Entry
    replays: Sequence[ReplayedSearch]

    @property
    def name(self) -> str:
        """The contestant, with its setting if that is not the usual one: "gp-ei (initial=1
        targets=raw)"."""
        return contestant_label(self.entry.contestant, self.entry.setting)

    @property
    def stops_early(self) -> bool:
        """Whether it may stop trainings early."""
        return self.entry.way_to_spend != "full"

    def shares_of_runs(self, loss: float, largest_count: int, unit: str) -> Floats:
        """(largest_count + 1,) the share of its runs that have found a loss this low by 0, 1, ...
        `largest_count` "draws" or "epochs"."""
        if unit == "draws":
            counts_to_goal = [replay.draws_until(loss) for replay in self.replays]
        else:
            counts_to_goal = [replay.epochs_until(loss) for replay in self.replays]
        run_counts = np.bincount(
            [count for count in counts_to_goal if count is not None], minlength=largest_count + 1
        )
        return np.asarray(np.cumsum(run_counts)[: largest_count + 1] / len(counts_to_goal))


def contestant_label(contestant: str, setting: str) -> str:
    """A contestant and, in parentheses, its setting, of another library its version."""
    if not setting:
        return contestant
    return f"{contestant} ({setting})"


def contests_of(results: Iterable[tuple[Entry, ReplayedSearch]]) -> list[Contest]:
    """The runs on one table by contestant and setting."""
    entry_by_name: dict[str, Entry] = {}
    replays_by_name: dict[str, list[ReplayedSearch]] = {}
    for entry, replayed_run in results:
        contest_name = contestant_label(entry.contestant, entry.setting)
        entry_by_name.setdefault(contest_name, entry)
        replays_by_name.setdefault(contest_name, []).append(replayed_run)
    return [
        Contest(entry_by_name[contest_name], runs) for contest_name, runs in replays_by_name.items()
    ]


@dataclass(frozen=True)
class Standing:
    """The draws a method needed for one goal on one table, over its runs, counted at the cap where
    missed; where trainings may be stopped early, with all rows that the run began.

    low, high        the 95 % interval of the mean, from resampling the runs; nan for a single run
    chance           the mean of random search, exactly, counted at the same cap
    time             virtual time until the goal
    epochs           the mean number of epochs needed, 1 each where there are no curves
    epochs_low, ...  as of draws
    full_trainings   the epochs in full trainings
    idle             share of the workers' time
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

    @property
    def label(self) -> str:
        """The method with its setting."""
        return contestant_label(self.method, self.setting)


@dataclass(frozen=True, eq=False)
class SuccessCurve:
    """The share of a method's runs that have found the best row by epoch 1 .. n, (n,) each, with
    its 95 % interval (Wilson); by draw, where there are no learning curves."""

    method: str
    setting: str
    runs: int
    share: Floats
    low: Floats
    high: Floats

    @property
    def label(self) -> str:
        """The method with its setting."""
        return contestant_label(self.method, self.setting)


def goal_losses(table: RecordedTable) -> dict[str, float]:
    """The highest loss that meets each of GOALS; a training that diverged meets none, even if fewer
    rows than the share converged."""
    ranked_losses = np.sort(table.loss[np.isfinite(table.loss)])

    def loss_at_top_share(share: float) -> float:
        last_good_rank = max(0, int(np.ceil(share * len(table.loss))) - 1)
        return float(ranked_losses[min(last_good_rank, len(ranked_losses) - 1)])

    best_magnitude = abs(table.best_loss)
    loss_by_percentage_goal = {
        f"within {percent} %": table.best_loss + best_magnitude * percent / 100
        for percent in (1, 5, 10)
    }
    return {
        "best": table.best_loss,
        **loss_by_percentage_goal,
        "top 1 %": loss_at_top_share(0.01),
        "top 5 %": loss_at_top_share(0.05),
        "top 10 %": loss_at_top_share(0.1),
    }


def first_row(table: RecordedTable, seed: int) -> int:
    """The row that every method starts from with this seed."""
    return int(np.random.default_rng([seed, len(table.space)]).integers(len(table.space)))


def spread_rows(size: int, count: int) -> list[int]:
    """`count` rows of a table of `size`, spread evenly over it: all of them, each once, where count
    is size or more."""
    count = min(count, size)
    return [number * size // count for number in range(count)]


def modelling_of(target: float | None = None, width: str = "2", **options: str) -> Modelling:
    """The modelling named by options of the command line.  Raises ConfigError "bench-modelling" for
    an unknown value, or a target that is no number or has no distances."""
    type_by_option = get_type_hints(Modelling)
    for option, value in options.items():
        choices = get_args(type_by_option[option])
        if value not in choices:
            raise ConfigError(
                "bench-modelling", f"--{option} {value}: unknown; choose among {', '.join(choices)}"
            )
    if target is not None and not math.isfinite(target):
        raise ConfigError("bench-modelling", f"--target {target}: give a finite loss, such as 0.4")
    if target is not None and options.get("targets") == "ranked":
        advice = "--targets ranked gives no distance to it; leave one of the two out"
        raise ConfigError("bench-modelling", f"--target {target}: {advice}")
    return Modelling(**cast(dict[str, Any], options), target=target, width=_bound_width(width))


def _bound_width(text: str) -> BoundWidth:
    """The value of --width.  Raises ConfigError "bench-modelling" unless it is a number above 0, or
    "schedule"."""
    if text == "schedule":
        return "schedule"
    try:
        width = float(text)
    except ValueError:
        width = math.nan
    if not 0.0 < width < math.inf:
        raise ConfigError("bench-modelling", f"--width {text}: give a number above 0, or schedule")
    return width


def ranking_of(settings: Sequence[str]) -> Ranking:
    """The ranking named by options of the command line, "epochs=1000" or "hidden=[64, 64]", with
    values as in a configuration.

    Raises ConfigError "bench-modelling" for a word that is no setting, or "config-invalid" as
    `fovnet.config.files.parse`.
    """
    value_by_key = {}
    for setting in settings:
        key, equals_sign, value_text = setting.partition("=")
        try:
            if not equals_sign:
                raise ValueError(setting)
            value_by_key[key] = read_value(value_text)
        except (yaml.YAMLError, ValueError, RecursionError):
            advice = "give a setting and its value, such as epochs=1000"
            raise ConfigError("bench-modelling", f"--ranking {setting}: {advice}") from None
    document = {
        "phantom": {"subjects": 8},
        "search": {"method": "ranking", "ranking": value_by_key},
    }
    ranking_settings = parse(document, "--ranking").search.ranking
    if ranking_settings is None:
        return RANKING
    return Ranking.from_facts(ranking_settings.model_dump())


def refuse_unknown_methods(methods: Sequence[str], choices: Iterable[str] = METHODS) -> None:
    """Raise ConfigError "bench-method" unless all methods are among the choices: fovnet's own."""
    for name in methods:
        if name not in choices:
            raise ConfigError(
                "bench-method", f"--method {name}: unknown; choose among {', '.join(choices)}"
            )


def refuse_methods(contestants: Sequence[str], workers: int) -> None:
    """Raise ConfigError "bench-method", "bench-spend" or "bench-workers", or SearchError
    "peer-missing", unless all methods can be run."""
    methods = []
    for contestant in contestants:
        method, spending = parse_contestant(contestant)
        refuse_unknown_methods([method], [*METHODS, *PEERS])
        if spending.way not in (None, *WAYS_TO_SPEND):
            raise ConfigError(
                "bench-spend",
                f"--spend {spending.way}: unknown; choose among {', '.join(WAYS_TO_SPEND)}",
            )
        methods.append(method)
    peer_names = [method for method in dict.fromkeys(methods) if method in PEERS]
    refuse_absent(*peer_names)
    if peer_names and workers > 1:
        pronoun = pronoun_for(peer_names)
        raise ConfigError(
            "bench-workers",
            f"--workers {workers}: {', '.join(peer_names)}: asked for one row at a time; leave "
            f"--workers out, or {pronoun}",
        )


def refuse_priors(
    contestants: Sequence[str], priors: Sequence[Path], tables: Mapping[Path, RecordedTable]
) -> None:
    """Raise ConfigError "bench-prior", or SearchError as `read_prior`, unless the priors are of the
    tables' axes, a method takes them, and the method that needs one has it.

    Of METHODS_WITH_PRIOR all but the first need one.
    """
    method_names = [method for method, _ in map(parse_contestant, contestants)]
    learning_methods = [method for method in method_names if method in METHODS_WITH_PRIOR]
    optional_method = METHODS_WITH_PRIOR[0]
    needing_methods = [method for method in learning_methods if method != optional_method]
    if needing_methods and not priors:
        advice = "learns from other searches; give --prior, a file of `fovnet search learn`"
        raise ConfigError("bench-prior", f"--method {needing_methods[0]}: {advice}")
    if priors and not learning_methods:
        advice = f"no method here learns from other searches; add --method {optional_method}"
        raise ConfigError("bench-prior", f"--prior {priors[0]}: {advice}")
    for path in priors:
        for table in tables.values():
            load_prior(path, table.space.axes)


def refuse_idle_options(entries: Sequence[Entry]) -> None:
    """Raise ConfigError "bench-modelling" for a target, a width or a single model, or "bench-spend"
    for rungs by minutes, that none of these runs uses."""
    modelling = entries[0].modelling
    methods = {entry.method for entry in entries}
    if modelling.target is not None and methods.isdisjoint(METHODS_WITH_PROBABILITY):
        advice = "no method here asks for a probability to reach it; add --method gp-pi"
        raise ConfigError("bench-modelling", f"--target {modelling.target}: {advice}")
    if modelling.width != RECOMMENDED.width and methods.isdisjoint(METHODS_WITH_BOUND):
        advice = "no method here has a confidence bound; add --method gp-lcb"
        raise ConfigError("bench-modelling", f"--width {modelling.width}: {advice}")
    if modelling.models == "single" and "gp-ei" not in methods:
        advice = "no method here has models that alternate; add --method gp-ei"
        raise ConfigError("bench-modelling", f"--models {modelling.models}: {advice}")
    minutes = entries[0].spending.minutes
    if minutes is not None and not any(entry.stops_on_rungs for entry in entries):
        advice = "no method here stops trainings on rungs; add --method gp-ei+asha"
        raise ConfigError("bench-spend", f"--rung-minutes {minutes}: {advice}")


def parse_contestant(
    contestant: str, spending: ReplaySpending = METHODS_OWN_SPENDING
) -> tuple[str, ReplaySpending]:
    """(method, spending) that a contestant names: "gp-ei+asha" says itself how it spends, others
    spend as `spending` says."""
    if contestant in PEERS:
        return contestant, spending
    method, _, way = contestant.partition("+")
    if way:
        return method, replace(spending, way=way)
    return method, spending


def refuse_spending(table: RecordedTable, entry: Entry) -> None:
    """Raise ConfigError "bench-spend" unless the table has what an entry spends by, or SearchError
    "search-schedule" for rungs that cannot be."""
    if entry.way_to_spend != "full" and table.full_epochs == 1:
        missing_curves = (
            f"the table has no learning curves, and {entry.contestant} stops trainings early"
        )
        advice = f"give curves in {table.name}.npz or {table.name}.curves.npy, or use --spend full"
        raise ConfigError("bench-spend", f"{entry.table}: {missing_curves}; {advice}.")
    if entry.epoch_cap(table) < table.full_epochs:
        raise ConfigError(
            "bench-spend",
            f"--epochs {entry.epoch_cap(table)}: a full training of {entry.table} has {table.full_epochs}; "
            "give more.",
        )
    if entry.method not in PEERS:
        entry.spending.make_schedule(entry.method, table.full_epochs)


def entries_of(
    template: Entry,
    tables: Mapping[Path, RecordedTable],
    contestants: Sequence[tuple[str, ReplaySpending]],
    runs: int | None,
    *,
    every_row_first: bool,
) -> list[Entry]:
    """The runs of every contestant on every table, with the settings of the template.

    runs             of each; None: 20
    every_row_first  each run begins with a row of its own, evenly spread over the table, and `runs`
                     None means as many as there are rows
    Raises ConfigError and SearchError as `refuse_spending`.
    """
    entries = []
    for path, table in tables.items():
        row_count = len(table.space)
        first_rows: Sequence[int | None] = [None] * (runs or 20)
        if every_row_first:
            first_rows = spread_rows(row_count, runs or row_count)
        entries += [
            replace(
                template,
                table=path,
                method=method,
                seed=seed,
                first=row,
                spending=spending,
            )
            for method, spending in contestants
            for seed, row in enumerate(first_rows)
        ]
    for entry in entries:
        refuse_spending(tables[entry.table], entry)
    return entries


def run_entry(entry: Entry) -> ReplayedSearch:
    """The run of an entry, made in this process."""
    table = load_table(entry.table)
    start_row = entry.first
    if start_row is None:
        start_row = first_row(table, entry.seed)
    if entry.method in PEERS:
        return replay_peer(
            table,
            entry.method,
            first_row=start_row,
            seed=entry.seed,
            cap=entry.epoch_cap(table),
            initial=entry.initial or default_initial_count(table.space),
        )
    prior = None
    if entry.prior:
        prior = load_prior(entry.prior, table.space.axes)
    return replay(
        table,
        entry.method,
        first_row=start_row,
        seed=entry.seed,
        draws=entry.draws,
        initial=entry.initial,
        workers=entry.workers,
        modelling=entry.modelling,
        ranking=entry.ranking,
        lead=entry.lead,
        spending=entry.spending,
        cap=entry.epoch_cap(table),
        prior=prior,
    )


@lru_cache(maxsize=8)
def load_prior(path: Path, axes: tuple[Axis, ...]) -> Prior:
    """As `read_prior`; the runs of a process share what is computed of its sources."""
    return read_prior(path, axes)


def race(
    entries: Sequence[Entry], processes: int = 1, progress: Progress | None = None
) -> Iterator[tuple[Entry, ReplayedSearch]]:
    """Every entry with its run, in the order of the entries whatever the number of processes."""
    yield from zip(entries, run_each(run_entry, entries, processes, progress), strict=True)


def compute_standings(
    table: RecordedTable, entry: Entry, replays: Sequence[ReplayedSearch]
) -> list[Standing]:
    """The standing of a method on a table for each of GOALS, from its runs; `entry` is that of any
    of them."""
    return [
        _compute_standing(table, entry, replays, goal, loss)
        for goal, loss in goal_losses(table).items()
    ]


def _compute_standing(
    table: RecordedTable, entry: Entry, replays: Sequence[ReplayedSearch], goal: str, loss: float
) -> Standing:
    """The standing for one goal, met by a loss this low."""
    draw_counts = [_draws_to_goal(table, entry, run, loss) for run in replays]
    epoch_counts = [run.epochs_until(loss) or entry.epoch_cap(table) for run in replays]
    draws_spread = spread_of(draw_counts)
    epochs_spread = spread_of(epoch_counts)
    proposal_seconds = np.concatenate([run.proposal_seconds for run in replays])
    return Standing(
        table=table.name,
        method=entry.contestant,
        setting=entry.setting,
        workers=entry.workers,
        goal=goal,
        runs=len(replays),
        mean=draws_spread.mean,
        low=draws_spread.low,
        high=draws_spread.high,
        chance=expected_draws(len(table.space), count_good_rows(table, loss), entry.draws),
        sd=draws_spread.sd,
        worst=draws_spread.worst,
        misses=sum(run.draws_until(loss) is None for run in replays),
        seconds_per_draw=float(np.median(proposal_seconds)),
        time=float(np.mean([_time_to_goal(run, loss) for run in replays])),
        epochs=epochs_spread.mean,
        epochs_low=epochs_spread.low,
        epochs_high=epochs_spread.high,
        epochs_sd=epochs_spread.sd,
        epochs_worst=epochs_spread.worst,
        full_trainings=epochs_spread.mean / table.full_epochs,
        idle=float(np.mean([run.idle_share for run in replays])),
    )


def _draws_to_goal(table: RecordedTable, entry: Entry, run: ReplayedSearch, loss: float) -> int:
    """The draws until a loss this low; of a run that missed it `entry.draws`, or with learning
    curves all rows that it has begun."""
    draws = run.draws_until(loss)
    if draws is not None:
        return draws
    if table.full_epochs == 1:
        return entry.draws
    return int(run.rows_begun[-1])


def _time_to_goal(run: ReplayedSearch, loss: float) -> float:
    """The virtual time until a loss this low; of a run that missed it until its end."""
    time_to_goal = run.time_until(loss)
    if time_to_goal is None:
        return float(run.end_times.max())
    return time_to_goal


def success_curve(
    table: RecordedTable, entry: Entry, replays: Sequence[ReplayedSearch]
) -> SuccessCurve:
    """The curve of a method on a table for its best row, from its runs; `entry` is that
    of any of them, as they differ by their seed alone."""
    run_count = len(replays)
    found_count_by_epoch = np.zeros(entry.epoch_cap(table), dtype=np.int64)
    for replayed_run in replays:
        epochs_to_best = replayed_run.epochs_until(table.best_loss)
        if epochs_to_best is not None:
            found_count_by_epoch[epochs_to_best - 1 :] += 1
    distinct_counts, index_of_distinct = np.unique(found_count_by_epoch, return_inverse=True)
    distinct_intervals = [wilson_interval(count, run_count) for count in distinct_counts.tolist()]
    interval_ends = np.array(distinct_intervals)[index_of_distinct]
    return SuccessCurve(
        method=entry.contestant,
        setting=entry.setting,
        runs=run_count,
        share=found_count_by_epoch / run_count,
        low=interval_ends[:, 0],
        high=interval_ends[:, 1],
    )


def chance_curve(table: RecordedTable, draws: int) -> Floats:
    """(draws,) the exact probability that random search has found the best row by each draw."""
    return chance_of_finding(len(table.space), count_good_rows(table, table.best_loss), draws)


def count_good_rows(table: RecordedTable, loss: float) -> int:
    """The number of rows of the table whose loss is at most this."""
    return int((table.loss <= loss).sum())


class Spread(NamedTuple):
    """The spread of independent counts (R,).

    low, high  the 95 % interval of the mean from 2,000 resamples; nan for a single count
    sd         the standard deviation; 0 for a single count
    worst      the highest
    """

    mean: float
    low: float
    high: float
    sd: float
    worst: int


def spread_of(counts: Sequence[int]) -> Spread:
    """Mean, interval, standard deviation and highest of these counts."""
    count_array = np.array(counts)
    deviation = 0.0
    if len(count_array) > 1:
        deviation = float(count_array.std(ddof=1))
    sums_with_ones = np.column_stack([count_array, np.ones(len(count_array))])
    lower_end, upper_end = cluster_bootstrap(
        sums_with_ones,
        lambda resampled_sums: np.asarray(resampled_sums[:, 0] / resampled_sums[:, 1]),
        repeats=SPREAD_RESAMPLES,
    )
    return Spread(
        mean=float(count_array.mean()),
        low=float(lower_end.item()),
        high=float(upper_end.item()),
        sd=deviation,
        worst=int(count_array.max()),
    )
