"""Search methods ranked on many tables: mean ranks and regrets by draw, with intervals, and
critical differences.

    N  tables
    R  runs: a table and a seed, of which every method has one
    T  draws
    k  methods
The regret of a run at a draw is the distance of its lowest loss so far from the table's best, in
units of median − best of the table (worst − best in published incumbents).  Tables, not runs, are
the independent observations: five seeds of a table are nearly one, so intervals resample tables,
and tests compare means over seeds. Ranks depend on who else competes; regrets do not, so both are
given.

Sources: Demšar, *J. Machine Learning Research* 7 (2006) 1-30 (Friedman, Nemenyi, the picture);
Benavoli, Corani & Mangili, *J. Machine Learning Research* 17 (2016) 1-10 (Wilcoxon's test of
pairs); Holm, *Scand. J.  Stat.* 6 (1979) 65-70.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property, partial
from itertools import combinations
from pathlib import Path
from typing import Annotated, Any

import numpy as np
import typer
from numpy.typing import NDArray
from scipy.stats import friedmanchisquare, rankdata, studentized_range

from fovnet.bench.races import contestant_label
from fovnet.cli import main
from fovnet.cli.options import PathArgument, PathOption, folder_out, table_of
from fovnet.cli.screen import empty_table, out, show_table
from fovnet.drawing.canvas import save_png
from fovnet.errors import ConfigError, SearchError
from fovnet.maths.intervals import cluster_bootstrap
from fovnet.own_files import begins_with_columns, is_our_picture
from fovnet.records import read_npz, read_tsv, write_tsv
from ranks_figures import critical_figure, ranks_figure
from signed_rank import signed_rank_p

Floats = NDArray[np.float64]
LEVEL = 0.05
REGRET_DECIMALS = 8
"""Regrets that agree in so many decimals are equal, and share their rank."""
MEAN_DECIMALS = 10
"""Decimals of their means over seeds: two of five values of 8 differ by 2e-9 or not at all, and
sums by 1e-16."""
MOMENTS = (5, 10, 25, 50, 100)
"""Draws at which methods are tested against one another."""
REPEATS = 4000
"""Resamples of the tables: with 1,000 the ends of a mean rank of 86 tables are off by up to 0.015,
with these by 0.005."""
COLUMNS = ("draw", "method", "rank", "rank_low", "rank_high", "regret", "regret_low", "regret_high")
PAIR_COLUMNS = ("draw", "method", "other", "p", "p_holm", "ahead", "ahead_low", "ahead_high")
RECOGNISER_BY_FILE = {
    "ranks.tsv": table_of(__name__),
    "pairs.tsv": partial(begins_with_columns, columns=("draw", "method", "other")),
    "ranks.png": is_our_picture,
    "critical.png": is_our_picture,
}
NEEDED_COLUMNS = ("table", "method", "seed", "setting", "best", "median", "draw", "loss", "epochs")


app = typer.Typer(add_completion=False)


@dataclass(frozen=True, eq=False)
class Comparison:
    """Regrets (R, T, k) of methods in the same runs, at `draws` (T,).

    table_numbers  (R,) of each run's table, from 0
    """

    methods: tuple[str, ...]
    draws: NDArray[np.int64]
    table_numbers: NDArray[np.int64]
    regret: Floats

    @property
    def table_count(self) -> int:
        """N."""
        return int(self.table_numbers.max()) + 1

    @cached_property
    def ranks(self) -> Floats:
        """(R, T, k) ranks among the methods, 1 the best; equal ones share their mean."""
        return np.asarray(rankdata(self.regret.round(REGRET_DECIMALS), axis=-1), dtype=np.float64)

    def by_table(self, values: Floats) -> Floats:
        """(N, ...) means of (R, ...) over the seeds of each table."""
        return np.stack(
            [
                values[self.table_numbers == number].mean(axis=0)
                for number in range(self.table_count)
            ]
        )

    @property
    def moments(self) -> list[int]:
        """Those of MOMENTS that the runs reach; their last draw, if they reach none."""
        return [draw for draw in MOMENTS if draw <= self.draws[-1]] or [int(self.draws[-1])]

    def regrets_at(self, draw: int) -> Floats:
        """(N, k) regrets of the tables at a draw, mean over seeds, free of the rounding errors of
        sums."""
        regrets = self.regret[:, self.draws == draw][:, 0].round(REGRET_DECIMALS)
        return self.by_table(regrets).round(MEAN_DECIMALS)


@dataclass(frozen=True, eq=False)
class MethodDifferences:
    """Which methods differ at a draw.

    ranks               (k,) mean ranks over blocks
    overall_p           whether any method differs: Friedman's test of three methods or more,
                        Wilcoxon's of two
    p                   (k, k) of pairs, by Wilcoxon's signed-rank test
    p_holm              (k, k) the same after Holm
    nemenyi_difference  ranks that differ by more do so by Nemenyi's test, which is weaker than that
                        of pairs
    """

    draw: int
    methods: tuple[str, ...]
    blocks: int
    ranks: Floats
    overall_p: float
    p: Floats
    p_holm: Floats
    nemenyi_difference: float

    @property
    def least_p(self) -> float:
        """The lowest p after Holm that so many blocks can reach: Wilcoxon's two-sided one is 2^(1 −
        N)."""
        return min(1.0, 0.5 ** (self.blocks - 1) * len(self.methods) * (len(self.methods) - 1) / 2)

    @property
    def can_show_difference(self) -> bool:
        """Whether so many blocks can show a difference between two methods at all."""
        return self.least_p < LEVEL

    @property
    def groups(self) -> list[tuple[int, ...]]:
        """Methods without a significant difference among them, each as numbers by rank; none within
        another, and none at all where no difference could be shown."""
        order = np.argsort(self.ranks, kind="stable").tolist()
        groups: list[tuple[int, ...]] = []
        if not self.can_show_difference:
            return groups
        for first in range(len(order)):
            last = first
            while last + 1 < len(order) and self._are_alike(order[first : last + 2]):
                last += 1
            group = tuple(order[first : last + 1])
            if len(group) > 1 and not any(set(group) <= set(other) for other in groups):
                groups.append(group)
        return groups

    def _are_alike(self, members: Sequence[int]) -> bool:
        if self.overall_p >= LEVEL:
            return True
        return all(self.p_holm[a, b] >= LEVEL for a, b in combinations(members, 2))

    @property
    def sentence(self) -> str:
        """What was tested, and why there are no bars if there are none."""
        test = "Wilcoxon"
        if len(self.methods) > 2:
            test = "Friedman"
        tested = (
            f"{self.blocks} tables, {test} p = {self.overall_p:.2g}, Nemenyi's critical difference "
            f"{self.nemenyi_difference:.3f}"
        )
        if self.can_show_difference:
            return tested
        return (
            f"{tested}; no bars: with so few tables a pair's p is {self.least_p:.2g} at the lowest, "
            f"above {LEVEL:g}"
        )


def compare_at_draw(draw: int, methods: Sequence[str], regrets: Floats) -> MethodDifferences:
    """The differences between methods by regrets (N, k), a row for each block.

    A block in which two methods have equal regrets says nothing about the two, and leaves their p as it is.
    """
    blocks, k = regrets.shape
    method_pairs = list(combinations(range(k), 2))
    p = np.ones((k, k))
    for a, b in method_pairs:
        p[a, b] = p[b, a] = signed_rank_p((regrets[:, a] - regrets[:, b]).round(MEAN_DECIMALS))
    adjusted = np.ones((k, k))
    for (a, b), value in zip(
        method_pairs, adjust_by_holm(np.array([p[pair] for pair in method_pairs])), strict=True
    ):
        adjusted[a, b] = adjusted[b, a] = value
    ranks = np.asarray(rankdata(regrets, axis=1)).mean(axis=0)
    return MethodDifferences(
        draw,
        tuple(methods),
        blocks,
        ranks,
        _overall_p(regrets, p),
        p,
        adjusted,
        nemenyi_difference(k, blocks),
    )


def nemenyi_difference(k: int, blocks: int) -> float:
    """The difference of mean ranks of k methods that is significant at 0.05 by Nemenyi's test."""
    return float(
        studentized_range.ppf(1 - LEVEL, k, np.inf)
        / np.sqrt(2)
        * np.sqrt(k * (k + 1) / (6 * blocks))
    )


def adjust_by_holm(p: Floats) -> Floats:
    """The p values of several tests (m,), adjusted so that all together err in one of twenty."""
    order = np.argsort(p)
    adjusted = np.empty(len(p))
    adjusted[order] = np.minimum(np.maximum.accumulate(p[order] * np.arange(len(p), 0, -1)), 1.0)
    return adjusted


def _overall_p(regrets: Floats, pair_p: Floats) -> float:
    if regrets.shape[1] < 3:
        return float(pair_p[0, -1])
    if (regrets == regrets[:, :1]).all():
        return 1.0
    return float(friedmanchisquare(*regrets.T).pvalue)


def rank_lines(comparison: Comparison) -> Iterator[dict[str, Any]]:
    """A line of COLUMNS for every draw and method: means over tables with their 95 % intervals."""
    ranks, regrets = (
        _mean_over_tables(comparison.by_table(values))
        for values in (comparison.ranks, comparison.regret)
    )
    for draw_index, draw in enumerate(comparison.draws.tolist()):
        for method_index, method in enumerate(comparison.methods):
            cells = [float(values[draw_index, method_index]) for values in (*ranks, *regrets)]
            yield dict(zip(COLUMNS, (draw, method, *cells), strict=True))


def pair_lines(
    comparison: Comparison, tests: Sequence[MethodDifferences]
) -> Iterator[dict[str, Any]]:
    """A line of PAIR_COLUMNS for every test and pair; `ahead` is the share of runs in which the first has
    the lower regret, equal ones counted half, with its interval."""
    for test in tests:
        regret = comparison.regret[:, comparison.draws == test.draw][:, 0].round(REGRET_DECIMALS)
        for a, b in combinations(range(len(test.methods)), 2):
            wins = (regret[:, a] < regret[:, b]) + 0.5 * (regret[:, a] == regret[:, b])
            cells = [float(end) for end in _mean_over_tables(comparison.by_table(wins))]
            names = (test.draw, test.methods[a], test.methods[b])
            yield dict(
                zip(
                    PAIR_COLUMNS,
                    (*names, float(test.p[a, b]), float(test.p_holm[a, b]), *cells),
                    strict=True,
                )
            )


def compare_at_moments(comparison: Comparison) -> list[MethodDifferences]:
    """The differences at each of the moments, tables as blocks."""
    return [
        compare_at_draw(draw, comparison.methods, comparison.regrets_at(draw))
        for draw in comparison.moments
    ]


def _mean_over_tables(values: Floats) -> tuple[Floats, Floats, Floats]:
    """The mean of (N, ...) over tables, and the ends of its 95 % interval; nan for a single
    table."""
    low, high = cluster_bootstrap(values, lambda sums: sums / len(values), repeats=REPEATS)
    return values.mean(axis=0), low, high


def read_incumbents(path: Path, methods: Sequence[str] = ()) -> Comparison:
    """The runs in an npz file of `keys` (R, 3), the space, task and seed of each, and per method
    the best value by draw (R, T) in [0, 1], 1 the task's optimum; of the methods named, or all.

    Raises SearchError "incumbents-damaged", ConfigError "bench-method".
    """
    try:
        arrays = read_npz(path)
    except (OSError, ValueError) as fault:
        raise SearchError(
            "incumbents-damaged",
            f"{path}: not a readable npz file ({fault}); give one of incumbents.",
        ) from None
    keys = arrays.pop("keys", np.empty((0, 3)))
    shapes = {
        name: values.shape
        for name, values in arrays.items()
        if values.ndim != 2 or len(values) != len(keys)
    }
    if shapes or not len(keys) or len({values.shape for values in arrays.values()}) != 1:
        needed_arrays = "keys (R, 3) and for each method values (R, T), all of one shape"
        raise SearchError(
            "incumbents-damaged",
            f"{path}: {needed_arrays} are needed; keys are {keys.shape}, others {shapes}; save it again.",
        )
    names = _choose(methods, arrays, f"in {path}")
    values = np.stack([arrays[name].astype(np.float64) for name in names], axis=-1)
    if not ((values >= 0) & (values <= 1)).all():
        raise SearchError(
            "incumbents-damaged",
            f"{path}: a value is outside 0 to 1; scale each task by its own extremes.",
        )
    return Comparison(
        names,
        np.arange(values.shape[1]),
        _number_names([tuple(key[:2]) for key in keys.tolist()]),
        1 - values,
    )


def _choose(methods: Sequence[str], known_methods: Iterable[str], where: str) -> tuple[str, ...]:
    """The methods named, or all that are known, each once.  Raises ConfigError "bench-method" for
    one that is not `where` they are looked for, and as `refuse_single_method`."""
    choices = list(dict.fromkeys(known_methods))
    for name in methods:
        if name not in choices:
            raise ConfigError(
                "bench-method", f"--method {name}: not {where}; choose among {', '.join(choices)}"
            )
    names = tuple(dict.fromkeys(methods or choices))
    refuse_single_method(names)
    return names


def read_replays(folders: Sequence[Path], methods: Sequence[str] = ()) -> Comparison:
    """The runs that `fovnet bench search` left in these folders, methods with other settings apart;
    a run that ended goes on with its last value.  Of the methods named, or all.

    Raises SearchError "runs-missing", "runs-damaged", ConfigError "bench-method", "ranks-runs".
    """
    regrets_of_run: dict[tuple[str, str], dict[str, Floats]] = {}
    for folder in folders:
        for (table, seed, label), regret in _runs_in(folder / "runs.tsv").items():
            if label in regrets_of_run.setdefault((table, seed), {}):
                raise ConfigError(
                    "ranks-runs",
                    f"{folder}: {label} with seed {seed} on {table} is in another folder too; give "
                    "each run once.",
                )
            regrets_of_run[table, seed][label] = regret
    names = _choose(
        methods, [label for runs in regrets_of_run.values() for label in runs], "among the runs"
    )
    for (table, seed), runs in regrets_of_run.items():
        if missing := [name for name in names if name not in runs]:
            raise ConfigError(
                "ranks-runs",
                f"{table}, seed {seed}: no run of {missing[0]}; ranks need every method in every "
                "run: run it, or name others",
            )
    last = max(len(runs[name]) for runs in regrets_of_run.values() for name in names)
    regret = np.stack(
        [
            np.stack([_extend(runs[name], last) for name in names], axis=-1)
            for runs in regrets_of_run.values()
        ]
    )
    return Comparison(
        names, np.arange(1, last + 1), _number_names([table for table, _ in regrets_of_run]), regret
    )


def refuse_single_method(methods: Sequence[str]) -> None:
    """Raise ConfigError "ranks-runs" unless there are two methods."""
    if len(methods) < 2:
        raise ConfigError(
            "ranks-runs",
            f"{', '.join(methods) or 'no method'}: ranks are among methods; give two or more",
        )


def regret_of(losses: Floats, best: float, median: float) -> Floats:
    """(n,) regrets by draw from the losses drawn: 0 at the table's best, at most 1, which is also
    that of a training that diverged.  Without the limit a single loss of 1e9 would decide every
    mean."""
    lowest = np.minimum.accumulate(np.where(np.isfinite(losses), losses, np.inf))
    scale = 1.0
    if median > best:
        scale = median - best
    return np.clip((lowest - best) / scale, 0.0, 1.0)


def _runs_in(path: Path) -> Mapping[tuple[str, str, str], Floats]:
    """The regrets of every run (table, seed, method with its setting) in a table of runs."""
    try:
        rows = read_tsv(path)
    except FileNotFoundError:
        raise SearchError(
            "runs-missing",
            f"{path}: does not exist; give folders that `fovnet bench search --out` wrote.",
        ) from None
    except ValueError as fault:
        raise SearchError(
            "runs-damaged", f"{path}: {fault}; run `fovnet bench search` again."
        ) from None
    fault_in_words = ""
    if not rows:
        fault_in_words = "no line"
    elif missing_columns := [name for name in NEEDED_COLUMNS if name not in rows[0]]:
        fault_in_words = f"no column {missing_columns[0]!r}"
    if fault_in_words:
        raise SearchError(
            "runs-damaged",
            f"{path}: {fault_in_words}; {', '.join(NEEDED_COLUMNS)} are needed: run `fovnet bench search` again.",
        )
    rows_of_run: dict[tuple[str, str, str], list[dict[str, str]]] = {}
    for row in rows:
        label = contestant_label(row["method"], row["setting"])
        rows_of_run.setdefault((row["table"], row["seed"], label), []).append(row)
    try:
        return {run: _regret_of_run(path, run_rows) for run, run_rows in rows_of_run.items()}
    except (TypeError, ValueError) as fault:
        raise SearchError(
            "runs-damaged", f"{path}: {fault}; run `fovnet bench search` again."
        ) from None


def _regret_of_run(path: Path, rows: Sequence[Mapping[str, str]]) -> Floats:
    if any(int(row["epochs"]) > 1 for row in rows):
        curves = (
            f"{path}: {rows[0]['table']} has learning curves, whose runs are not compared by draws"
        )
        raise ConfigError("ranks-runs", f"{curves}; give runs on tables without them")
    losses = np.array(
        [float(row["loss"]) for row in sorted(rows, key=lambda row: int(row["draw"]))]
    )
    return regret_of(losses, float(rows[0]["best"]), float(rows[0]["median"]))


def _extend(values: Floats, length: int) -> Floats:
    return np.concatenate([values, np.full(length - len(values), values[-1])])


def _number_names(names: Sequence[Any]) -> NDArray[np.int64]:
    """(R,) the number of each name, in the order of their coming."""
    numbers = {name: number for number, name in enumerate(dict.fromkeys(names))}
    return np.array([numbers[name] for name in names], dtype=np.int64)


@app.command()
def rank(
    out_folder: Annotated[
        Path,
        folder_out(
            RECOGNISER_BY_FILE,
            "Where ranks.tsv, pairs.tsv, ranks.png and critical.png are written.",
        ),
    ],
    runs: Annotated[
        list[Path] | None,
        PathArgument(help="Folders that `fovnet bench search --out` wrote.", show_default=False),
    ] = None,
    incumbents_file: Annotated[
        Path | None,
        PathOption(
            "--incumbents",
            help="Published runs instead: an npz file with keys and, for each method, the best "
            "value so far (1 is the best of all).",
        ),
    ] = None,
    method: Annotated[
        list[str] | None,
        typer.Option(
            help="One or several methods with their settings, as in ranks.tsv; default: all."
        ),
    ] = None,
) -> None:
    """Rank search methods on many tables: mean ranks and regrets by draw, with intervals from
    resampling tables, and the significance of differences between methods."""
    if bool(runs) == (incumbents_file is not None):
        raise ConfigError("ranks-runs", "give either folders of runs or --incumbents FILE")
    if incumbents_file is None:
        comparison = read_replays(runs or (), method or ())
    else:
        comparison = read_incumbents(incumbents_file, method or ())
    rows = list(rank_lines(comparison))
    tests = compare_at_moments(comparison)
    write_tsv(out_folder / "ranks.tsv", COLUMNS, rows)
    write_tsv(out_folder / "pairs.tsv", PAIR_COLUMNS, pair_lines(comparison, tests))
    save_png(ranks_figure(rows), out_folder / "ranks.png")
    save_png(critical_figure(tests), out_folder / "critical.png")
    runs_text = f"{len(comparison.table_numbers)} runs on {comparison.table_count} tables"
    headings = [f"{draw}" for draw in comparison.moments]
    table = empty_table(f"{runs_text}: mean rank (regret) by draw", "method", *headings)
    for name in comparison.methods:
        cell_by_draw = {
            row["draw"]: f"{row['rank']:.2f} ({row['regret']:.4f})"
            for row in rows
            if row["method"] == name
        }
        table.add_row(name, *(cell_by_draw[draw] for draw in comparison.moments))
    show_table(table)
    for test in tests:
        out.print(f"at {test.draw}: {test.sentence}")
    out.print(f"{out_folder}: {', '.join(RECOGNISER_BY_FILE)}")


if __name__ == "__main__":
    main(app)
