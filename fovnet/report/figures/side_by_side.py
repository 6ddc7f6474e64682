"""Searches side by side: the lowest score of each over what it had spent."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import cycle

import numpy as np
from matplotlib.figure import Figure
from numpy.typing import NDArray

from fovnet.drawing.canvas import ACCENT, FAINT, INK, SOFT, WARN, house_style, legend_above
from fovnet.drawing.scales import scale_axis
from fovnet.search.search import AnySearch, Search
from fovnet.search.spend.schedule import own_epochs
from fovnet.search.trial import Trial

COLOURS = (ACCENT, WARN, INK, SOFT, FAINT)


@dataclass(frozen=True, eq=False)
class Course:
    """A search slot by slot, without slots before its first score.

    contestant           its method, whether it was taught, and how it spends:
                         "taught ranking+asha"
    configuration_count  configurations that were begun
    full_trainings       (n,) full trainings whose epochs were spent by the end of each slot
    lowest_scores        (n,) the lowest score so far, whether or not that training went to its last
                         epoch
    """

    contestant: str
    seed: int
    configuration_count: int
    full_trainings: NDArray[np.float64]
    lowest_scores: NDArray[np.float64]


def course_of(search: AnySearch, trials: Sequence[Trial]) -> Course:
    """The course of a search, from its finished trials by slot."""
    full_epochs = search.schedule.epochs
    full_trainings = np.cumsum(
        [own_epochs(trial.proposal, full_epochs) / full_epochs for trial in trials]
    )
    scores = np.array([trial.score for trial in trials], dtype=np.float64)  # nan for None
    lowest_scores = np.fmin.accumulate(scores)
    has_score = np.isfinite(lowest_scores)
    contestant = search.method
    if isinstance(search, Search) and search.prior:
        contestant = f"taught {contestant}"
    if search.schedule.kind != "full":
        contestant += f"+{search.schedule.kind}"
    return Course(
        contestant,
        search.seed,
        len({trial.proposal.row for trial in trials}),
        full_trainings[has_score],
        lowest_scores[has_score],
    )


def courses_figure(courses: Sequence[Course]) -> Figure:
    """One line a search, in the colour of its contestant, and the seed at its end; an empty one has
    no line."""
    contestants = list(dict.fromkeys(course.contestant for course in courses))
    colour_by_contestant = dict(zip(contestants, cycle(COLOURS), strict=False))
    with house_style():
        figure = Figure(figsize=(7.2, 4.2))
        axis = figure.add_axes((0.09, 0.12, 0.87, 0.78))
        drawn_courses = [course for course in courses if len(course.full_trainings)]
        named_contestants = set()
        for course in drawn_courses:
            colour = colour_by_contestant[course.contestant]
            (line,) = axis.step(
                course.full_trainings,
                course.lowest_scores,
                where="post",
                color=colour,
                linewidth=1.2,
            )
            if course.contestant not in named_contestants:
                line.set_label(course.contestant)
                named_contestants.add(course.contestant)
            axis.annotate(
                f"seed {course.seed}",
                (course.full_trainings[-1], course.lowest_scores[-1]),
                (4, 0),
                textcoords="offset points",
                va="center",
                color=colour,
                fontsize=7,
            )
        axis.set(xlabel="spent, in epochs of full trainings", ylabel="lowest score so far")
        if drawn_courses:
            scale_axis(
                axis, "y", np.concatenate([course.lowest_scores for course in drawn_courses])
            )
            axis.margins(x=0.08)
            legend_above(axis, len(contestants), 0.0)
        return figure
