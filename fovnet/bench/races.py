"""Search methods raced over recorded tables: draws until the best row, and until the good ones.

    goals   "best"; "within p %": a loss of at most (1 + p/100) times the best; "top p %": among that share of all rows by rank
A run that misses a goal within its draws is counted at the cap, and the misses are told.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ProcessPoolExecutor
from dataclasses import dataclass
from multiprocessing import get_context
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from fovnet.bench.replay import Replay, replay
from fovnet.bench.tables import Table, load_table

GOALS = ("best", "within 1 %", "within 5 %", "within 10 %", "top 1 %", "top 5 %", "top 10 %")


@dataclass(frozen=True)
class Entry:
    """One run to be made: a method on the table in a file, from the first row that the seed draws."""

    table: Path
    method: str
    seed: int
    draws: int
    initial: int | None
    workers: int = 1


@dataclass(frozen=True)
class Standing:
    """What a method needed for one goal on one table, over its runs: draws, counted at the cap where missed."""

    table: str
    method: str
    workers: int
    goal: str
    runs: int
    mean: float
    sd: float
    worst: int
    misses: int
    seconds_per_draw: float
    time: float

    @property
    def shown(self) -> str:
        """"20±9 (37)", the worst run in brackets, with the misses where there are any."""
        missed = f", miss {self.misses}" if self.misses else ""
        return f"{self.mean:.1f}±{self.sd:.1f} ({self.worst}{missed})"


def goal_losses(table: Table) -> dict[str, float]:
    """The highest loss that meets each of GOALS."""
    ranked = np.sort(np.where(np.isfinite(table.loss), table.loss, np.inf))

    def top(share: float) -> float:
        return float(ranked[max(0, int(np.ceil(share * len(ranked))) - 1)])

    margin = abs(table.best)
    within = {f"within {percent} %": table.best + margin * percent / 100 for percent in (1, 5, 10)}
    return {"best": table.best, **within, "top 1 %": top(0.01), "top 5 %": top(0.05), "top 10 %": top(0.1)}


def first_row(table: Table, seed: int) -> int:
    """The row that every method is made to start from at this seed."""
    return int(np.random.default_rng([seed, len(table.space)]).integers(len(table.space)))


def run(entry: Entry) -> Replay:
    """One run, in this process."""
    table = load_table(entry.table)
    return replay(
        table, entry.method, first_row=first_row(table, entry.seed), seed=entry.seed, draws=entry.draws, initial=entry.initial,
        workers=entry.workers,
    )  # fmt: skip


def race(
    entries: Sequence[Entry], processes: int = 1, progress: Callable[[int, int], None] | None = None
) -> Iterator[tuple[Entry, Replay]]:
    """Every run with what came of it, in the order of the entries whatever the number of processes."""
    if processes <= 1:
        replays: Iterator[Replay] = map(run, entries)
        yield from _told(entries, replays, progress)
        return
    with ProcessPoolExecutor(processes, mp_context=get_context("spawn")) as pool:
        yield from _told(entries, pool.map(run, entries), progress)


def _told(
    entries: Sequence[Entry], replays: Iterator[Replay], progress: Callable[[int, int], None] | None
) -> Iterator[tuple[Entry, Replay]]:
    for done, (entry, result) in enumerate(zip(entries, replays, strict=True), start=1):
        if progress:
            progress(done, len(entries))
        yield entry, result


def standings(table: Table, method: str, replays: Sequence[Replay], draws: int, workers: int = 1) -> list[Standing]:
    """What the runs of a method needed on a table, goal by goal."""
    rows = []
    pace = float(np.median(np.concatenate([each.seconds for each in replays])))
    for goal, loss in goal_losses(table).items():
        found = [each.draws_until(loss) for each in replays]
        needed = np.array([draws if each is None else each for each in found])
        times = [each.time_until(loss) for each in replays]
        time = float(np.mean([float(each.ends[-1]) if at is None else at for each, at in zip(replays, times, strict=True)]))
        rows.append(Standing(
            table.name, method, workers, goal, len(replays), float(needed.mean()), _sd(needed), int(needed.max()),
            sum(each is None for each in found), pace, time,
        ))  # fmt: skip
    return rows


def _sd(needed: NDArray[np.int64]) -> float:
    return float(needed.std(ddof=1)) if len(needed) > 1 else 0.0
