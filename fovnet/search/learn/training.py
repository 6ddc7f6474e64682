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

from fovnet._version import __version__
from fovnet.errors import SearchError
from fovnet.machine.threads import one_thread
from fovnet.maths.rankers import Batch, Ranker, train
from fovnet.maths.ranking_losses import LOSSES, find_tie_starts, weigh_places
from fovnet.maths.ranks import mean_ranks, mean_ranks_by_row
from fovnet.search.look.hyperparameters import choose_fitted_indices
from fovnet.search.prior import EarlierSearch, Prior, make_prior, make_support
from fovnet.search.space import Axis, Space
from fovnet.words import several

Floats = NDArray[np.float64]
Integers = NDArray[np.int64]
Progress = Callable[[int, int], None]

LIST_LENGTH = 100
"""Rows of a list."""
MOST_SUPPORT_ROWS = 60
"""One more than the most rows of a support."""
MOST_KEPT_ROWS = 1000
"""Rows of a source in the file; a third of them its best."""
FEWEST_ROWS = 5
"""Scored rows from which a source has an order to learn."""
MANY_SOURCES = 3
MANY_ROWS = 300
"""From so many sources of so many rows a network can learn to know the task."""


@dataclass(frozen=True)
class Lessons:
    """How a prior is trained; the defaults are recommended.  Its fields are written into the file.

    steps    of training, each on one list of rows
    context  whether the networks know the task by a deep set; None: with MANY_SOURCES of MANY_ROWS
             each
    members  networks
    hidden   widths of their hidden layers
    rate     learning rate at which training begins
    """

    steps: int = 20_000
    context: bool | None = None
    members: int = 10
    hidden: tuple[int, ...] = (32, 32)
    rate: float = 0.001


class Task(NamedTuple):
    """A source as points (n, D) of the unit cube, from the lowest loss, with the index of the first
    of those that tie with each (n,)."""

    points: Floats
    tie_starts: Integers


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

    Raises SearchError "prior-no-sources" unless one source has FEWEST_ROWS rows that are not all
    equal.
    """
    usable_sources = [source for source in sources if not why_unusable(source)]
    if not usable_sources:
        reasons = "; ".join(f"{source.name}: {why_unusable(source)}" for source in sources)
        raise SearchError(
            "prior-no-sources",
            f"no search to learn an order from: {reasons}; give journals of {FEWEST_ROWS} or more trials "
            "that completed in this space, with different scores.",
        )
    tasks = [_task_of_source(axes, source) for source in usable_sources]
    if lessons.context is None:
        lessons = replace(lessons, context=_are_enough_for_context(tasks))
    held_out_count = 0
    if checked and len(tasks) > 1:
        held_out_count = len(tasks)
    count_step = _step_counter(lessons, held_out_count, progress)
    with one_thread():
        ranker = meta_train(tasks, lessons, seed, count_step)
        held_out_facts = [
            _held_out_facts(tasks, held_out_index, lessons, seed, count_step)
            for held_out_index in range(held_out_count)
        ]
    facts = {
        "fovnet": __version__,
        "lessons": asdict(lessons),
        "seed": seed,
        "held_out": held_out_facts,
    }
    return make_prior(axes, ranker, [_thin_out(source) for source in usable_sources], facts)


def why_unusable(source: EarlierSearch) -> str:
    """Why a source teaches nothing, in words; empty where it does."""
    if len(source.losses) < FEWEST_ROWS:
        return (
            f"{several(len(source.losses), 'configuration')} of this space with a score, {FEWEST_ROWS} or more "
            "are needed"
        )
    if source.losses[0] == source.losses[-1]:
        return "all its scores are equal"
    return ""


def _are_enough_for_context(tasks: Sequence[Task]) -> bool:
    """Whether a network can learn to know the task from so many tasks of so many rows."""
    return sum(len(task.points) >= MANY_ROWS for task in tasks) >= MANY_SOURCES


def _task_of_source(axes: Sequence[Axis], source: EarlierSearch) -> Task:
    """The points and ties of a source."""
    return Task(Space(tuple(axes), source.levels).unit_cube, find_tie_starts(source.losses))


def _thin_out(source: EarlierSearch) -> EarlierSearch:
    """The source with at most MOST_KEPT_ROWS of its rows."""
    kept_indices = choose_fitted_indices(source.losses, MOST_KEPT_ROWS)
    return replace(source, levels=source.levels[kept_indices], losses=source.losses[kept_indices])


def meta_train(
    tasks: Sequence[Task],
    lessons: Lessons,
    seed: int,
    count_step: Callable[[], None] = lambda: None,
) -> Ranker:
    """The networks after all steps, each on a list of one task, all tasks equally often in the
    mean."""
    rng = np.random.default_rng(seed)
    ranker = Ranker.draw(
        tasks[0].points.shape[1],
        lessons.hidden,
        lessons.members,
        rng,
        knows_task=bool(lessons.context),
    )

    def draw_batch() -> Batch:
        count_step()
        return _draw_lesson(tasks[int(rng.integers(len(tasks)))], rng, bool(lessons.context))

    train(ranker, draw_batch, lessons.steps, lessons.rate, 0.0)
    return ranker


def _draw_lesson(task: Task, rng: np.random.Generator, uses_context: bool) -> Batch:
    """A list of a task, and a support of other rows, fewer of both where the task has few."""
    row_count = len(task.points)
    support_size = 0
    if uses_context:
        support_size = int(rng.integers(MOST_SUPPORT_ROWS))
    if row_count < 4 * LIST_LENGTH:
        drawn_places = rng.permutation(row_count)
    else:
        drawn_places = rng.choice(row_count, LIST_LENGTH + support_size, replace=False)
    support_size = min(support_size, row_count // 2)
    support_places = np.sort(drawn_places[:support_size])
    list_places = np.sort(drawn_places[support_size : support_size + LIST_LENGTH])
    list_tie_starts = find_tie_starts(task.tie_starts[list_places])
    place_weights = weigh_places("log", list_tie_starts)

    def loss_gradient(scores: Floats) -> Floats:
        """Of the loss, a mean over the list, in the members' scores (M, n, 1)."""
        _, gradient = LOSSES["list"](scores[..., 0], place_weights, list_tie_starts)
        return gradient[..., None] / len(list_tie_starts)

    return Batch(
        task.points[list_places],
        make_support(task.points[support_places], find_tie_starts(task.tie_starts[support_places])),
        loss_gradient,
    )


def _held_out_facts(
    tasks: Sequence[Task],
    held_out_index: int,
    lessons: Lessons,
    seed: int,
    count_step: Callable[[], None],
) -> dict[str, Any]:
    """How networks that the other tasks taught order this one: Kendall's τ, and the place of its
    best row."""
    from scipy.stats import kendalltau

    held_out_task = tasks[held_out_index]
    other_tasks = [*tasks[:held_out_index], *tasks[held_out_index + 1 :]]
    ranker = meta_train(
        other_tasks, replace(lessons, steps=_quarter_of_steps(lessons)), seed, count_step
    )
    no_support = make_support(held_out_task.points[:0], held_out_task.tie_starts[:0])
    member_scores = ranker.scores(held_out_task.points, no_support)
    ranks = mean_ranks_by_row(-member_scores).mean(axis=0)
    tau = float(kendalltau(ranks, held_out_task.tie_starts).statistic)
    return {
        "tau": round(tau, 4),
        "place_of_best": int(mean_ranks(ranks)[0]),
        "of": len(ranks),
    }


def _quarter_of_steps(lessons: Lessons) -> int:
    """The steps of the networks that check a held-out source."""
    return max(1, lessons.steps // 4)


def _step_counter(
    lessons: Lessons, held_out_count: int, progress: Progress | None
) -> Callable[[], None]:
    """A function to be called at each step, which passes on their number every hundred."""
    step_count = lessons.steps + _quarter_of_steps(lessons) * held_out_count
    step_numbers: Iterator[int] = iter(range(1, step_count + 1))

    def count_step() -> None:
        done_count = next(step_numbers)
        if progress and (done_count % 100 == 0 or done_count == step_count):
            progress(done_count, step_count)

    return count_step
