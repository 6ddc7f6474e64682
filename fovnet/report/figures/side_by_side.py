"""Searches side by side: the lowest score of each over what it had spent."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from matplotlib.figure import Figure
from numpy.typing import NDArray

from fovnet.drawing.canvas import ACCENT, FAINT, INK, SOFT, WARN, house_style, legend_above
from fovnet.drawing.scales import wide_scale
from fovnet.search.search import Search
from fovnet.search.spend.schedule import own_epochs
from fovnet.search.trial import Trial

COLOURS = (ACCENT, WARN, INK, SOFT, FAINT)


@dataclass(frozen=True, eq=False)
class Course:
    """A search slot by slot, without slots before its first score.

    contestant  its method, whether it was taught, and how it spends, "taught ranking+asha";  begun
        configurations
    spent       (n,) full trainings whose epochs were spent by the end of each slot
    lowest      (n,) the lowest score so far, whether or not that training went to its last epoch
    """

    contestant: str
    seed: int
    begun: int
    spent: NDArray[np.float64]
    lowest: NDArray[np.float64]


def course(search: Search, trials: Sequence[Trial]) -> Course:
    """The course of a search, from its finished trials by slot."""
    full_epochs = search.schedule.epochs
    full_trainings = np.cumsum(
        [own_epochs(trial.proposal, full_epochs) / full_epochs for trial in trials]
    )
    scores = np.array([np.inf if trial.score is None else trial.score for trial in trials])
    lowest_so_far = np.minimum.accumulate(scores)
    schedule_kind = search.schedule.kind
    contestant = f"taught {search.method}" if search.prior else search.method
    if schedule_kind != "full":
        contestant += f"+{schedule_kind}"
    begun_count = len({trial.proposal.row for trial in trials})
    return Course(
        contestant,
        search.seed,
        begun_count,
        full_trainings[np.isfinite(lowest_so_far)],
        lowest_so_far[np.isfinite(lowest_so_far)],
    )


def courses_figure(courses: Sequence[Course]) -> Figure:
    """One line a search, in the colour of its contestant, and the seed at its end; an empty one has
    no line."""
    contestants = list(dict.fromkeys(course.contestant for course in courses))
    colour_by_contestant = {
        contestant: COLOURS[contestant_index % len(COLOURS)]
        for contestant_index, contestant in enumerate(contestants)
    }
    with house_style():
        figure = Figure(figsize=(7.2, 4.2))
        axis = figure.add_axes((0.09, 0.12, 0.87, 0.78))
        visible_courses = [course for course in courses if len(course.spent)]
        for course in visible_courses:
            first_course = next(
                earlier_course
                for earlier_course in visible_courses
                if earlier_course.contestant == course.contestant
            )
            legend_label = course.contestant if course is first_course else None
            axis.step(
                course.spent,
                course.lowest,
                where="post",
                color=colour_by_contestant[course.contestant],
                linewidth=1.2,
                label=legend_label,
            )
            axis.annotate(
                f"seed {course.seed}",
                (course.spent[-1], course.lowest[-1]),
                (4, 0),
                textcoords="offset points",
                va="center",
                color=colour_by_contestant[course.contestant],
                fontsize=7,
            )
        axis.set(xlabel="spent, in epochs of full trainings", ylabel="lowest score so far")
        if visible_courses:
            wide_scale(axis, "y", np.concatenate([course.lowest for course in visible_courses]))
            axis.margins(x=0.08)
            legend_above(axis, len(contestants), 0.0)
        return figure
