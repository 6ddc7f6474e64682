"""The networks of a prior: trained on lists of rows of earlier searches, one search at a time, by
the order of their losses.

    n  rows of a source     u  of a support     M  members
Losses of two searches are never compared, and rows of two are never in one list.
Source: an MSc thesis on hyper-parameter optimisation with ranking losses (Freiburg 2022), "Method
training and optimization"; of what differs, the rate falls, and a support has from none to 59 rows.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import asdict, dataclass, replace
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy.stats import kendalltau, rankdata

from fovnet._version import __version__
from fovnet.errors import SearchError
from fovnet.machine.threads import one_thread
from fovnet.maths.rankers import Batch, Ranker, train
from fovnet.maths.ranking_losses import LOSSES, tie_starts, weights
from fovnet.search.look.hyperparameters import fit_subset
from fovnet.search.prior import EarlierSearch, Prior, prior_of, support_of
from fovnet.search.space import Axis, Space
from fovnet.words import several

Floats = NDArray[np.float64]
Integers = NDArray[np.int64]
Progress = Callable[[int, int], None]

LIST = 100
"""Rows of a list."""
SUPPORT = 60
"""One more than the most rows of a support."""
KEPT = 1000
"""Rows of a source in the file; a third of them its best."""
FEWEST = 5
"""Scored rows from which a source has an order to learn."""
MANY_SOURCES = 3
MANY_ROWS = 300
"""From so many sources of so many rows a network can learn to know the task."""


@dataclass(frozen=True)
class Lessons:
    """How a prior is trained; the defaults are recommended.

    context  whether the networks know the task by a deep set; None: with MANY_SOURCES of MANY_ROWS
             each
    """

    steps: int = 20_000
    context: bool | None = None
    members: int = 10
    hidden: tuple[int, ...] = (32, 32)
    rate: float = 0.001


class Task(NamedTuple):
    """A source as points (n, D) of the unit cube, from the lowest loss, with the first places of
    ties (n,)."""

    x: Floats
    first: Integers


def learn(
    sources: Sequence[EarlierSearch],
    axes: Sequence[Axis],
    lessons: Lessons,
    seed: int,
    progress: Progress | None = None,
    *,
    checked: bool = True,
) -> Prior:
    """The prior that these sources teach, if `checked` with what the others predict of each held
    out.

    Raises SearchError "prior-no-sources" unless one source has FEWEST rows that are not all equal.
    """
    usable = [source for source in sources if not unusable(source)]
    if not usable:
        why = "; ".join(f"{source.name}: {unusable(source)}" for source in sources)
        raise SearchError(
            "prior-no-sources",
            f"no search to learn an order from: {why}; give journals of {FEWEST} or more trials "
            "that completed in this space, with different scores.",
        )
    tasks = [_task(axes, source) for source in usable]
    context = lessons.context if lessons.context is not None else _is_much(tasks)
    lessons = replace(lessons, context=context)
    held_out_tasks = len(tasks) if checked and len(tasks) > 1 else 0
    say = _step_counter(lessons, held_out_tasks, progress)
    with one_thread():
        ranker = meta_train(tasks, lessons, seed, say)
        held_out = [_held_out_facts(tasks, i, lessons, seed, say) for i in range(held_out_tasks)]
    facts = {"fovnet": __version__, "lessons": asdict(lessons), "seed": seed, "held_out": held_out}
    return prior_of(axes, ranker, [_thin_out(source) for source in usable], facts)


def unusable(source: EarlierSearch) -> str:
    """Why a source teaches nothing, in words; empty where it does."""
    if len(source.losses) < FEWEST:
        return (
            f"{several(len(source.losses), 'configuration')} of this space with a score, {FEWEST} or more "
            "are needed"
        )
    return "all its scores are equal" if source.losses[0] == source.losses[-1] else ""


def _is_much(tasks: Sequence[Task]) -> bool:
    return sum(len(task.x) >= MANY_ROWS for task in tasks) >= MANY_SOURCES


def _task(axes: Sequence[Axis], source: EarlierSearch) -> Task:
    return Task(Space(tuple(axes), source.levels).unit_cube, tie_starts(source.losses))


def _thin_out(source: EarlierSearch) -> EarlierSearch:
    subset = fit_subset(source.losses, KEPT)
    return replace(source, levels=source.levels[subset], losses=source.losses[subset])


def meta_train(
    tasks: Sequence[Task], lessons: Lessons, seed: int, step: Callable[[], None] = lambda: None
) -> Ranker:
    """The networks after all steps, each on a list of one task, all tasks equally often in the
    mean."""
    rng = np.random.default_rng(seed)
    ranker = Ranker.draw(
        tasks[0].x.shape[1], lessons.hidden, lessons.members, rng, knows=bool(lessons.context)
    )

    def batch() -> Batch:
        step()
        return _lesson(tasks[int(rng.integers(len(tasks)))], rng, bool(lessons.context))

    train(ranker, batch, lessons.steps, lessons.rate, 0.0)
    return ranker


def _lesson(task: Task, rng: np.random.Generator, context: bool) -> Batch:
    """A list of a task, and a support of other rows, fewer of both where the task has few."""
    n = len(task.x)
    u = int(rng.integers(SUPPORT)) if context else 0
    places = rng.permutation(n) if n < 4 * LIST else rng.choice(n, LIST + u, replace=False)
    u = min(u, n // 2)
    support = np.sort(places[:u])
    list_places = np.sort(places[u : u + LIST])
    first = tie_starts(task.first[list_places])
    c = weights("log", first)
    return Batch(
        task.x[list_places],
        support_of(task.x[support], tie_starts(task.first[support])),
        lambda s: LOSSES["list"](s[..., 0], c, first)[1][..., None] / len(first),
    )


def _held_out_facts(
    tasks: Sequence[Task], i: int, lessons: Lessons, seed: int, say: Callable[[], None]
) -> dict[str, Any]:
    """How networks that the other tasks taught order this one: Kendall's τ, and the place of its
    best row."""
    other_tasks = [task for j, task in enumerate(tasks) if j != i]
    ranker = meta_train(other_tasks, replace(lessons, steps=_quarter(lessons)), seed, say)
    ranks = rankdata(
        -ranker.scores(tasks[i].x, support_of(tasks[i].x[:0], tasks[i].first[:0])), axis=1
    ).mean(axis=0)
    tau = float(kendalltau(ranks, tasks[i].first).statistic)
    return {"tau": round(tau, 4), "place_of_best": int(rankdata(ranks)[0]), "of": len(ranks)}


def _quarter(lessons: Lessons) -> int:
    return max(1, lessons.steps // 4)


def _step_counter(
    lessons: Lessons, held_out_tasks: int, progress: Progress | None
) -> Callable[[], None]:
    """What is called at each step, and passes on their number every hundred."""
    all_steps = lessons.steps + _quarter(lessons) * held_out_tasks
    steps: Iterator[int] = iter(range(1, all_steps + 1))

    def step() -> None:
        done = next(steps)
        if progress and (done % 100 == 0 or done == all_steps):
            progress(done, all_steps)

    return step
