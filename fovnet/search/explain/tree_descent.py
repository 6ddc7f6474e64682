"""The course of a direct search over a tree, structure by structure: each has a centre and a poll of its
own."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, field

from fovnet.maths.poll import SIZES
from fovnet.records import json_key
from fovnet.search.explain.descent import kind_of_step, steps_by_row
from fovnet.search.look.tree_mads import structure_states, structures_of
from fovnet.search.methods import POLLING_METHODS
from fovnet.search.search import AnySearch
from fovnet.search.space import Level
from fovnet.search.tree_search import TreeSearch
from fovnet.search.trial import Trial, latest_trials


@dataclass(frozen=True)
class StructureCourse:
    """The configurations of one structure.

    levels       of headers and categories, which tell it from others
    numbers      of its configurations among those begun, from 0, and their scores, None if they failed
    frame_reach  of the poll around its best one, as a share of a range; None without a score, and once
                 the smallest poll is exhausted
    """

    levels: dict[str, Level]
    numbers: tuple[int, ...]
    scores: tuple[float | None, ...]
    frame_reach: float | None = field(metadata=json_key("frame"))

    @property
    def lowest_score(self) -> float:
        """Infinite without a score."""
        return min((score for score in self.scores if score is not None), default=float("inf"))


@dataclass(frozen=True)
class TreeDescent:
    """The course of a direct search.

    step_counts  as in `Descent`
    structures   the lowest score first, those without one last
    """

    step_counts: tuple[tuple[str, int], ...] = field(metadata=json_key("steps"))
    structures: tuple[StructureCourse, ...]


def trace_tree_descent(search: AnySearch, trials: Sequence[Trial]) -> TreeDescent | None:
    """The course of a search over a tree from its finished trials, whose rows count their points; None
    for a method that does not poll."""
    if not isinstance(search, TreeSearch) or search.method not in POLLING_METHODS:
        return None
    view = search.view_at_the_end(trials)
    final_trials = latest_trials(trials)
    step_by_row = steps_by_row(trials)
    kinds = [kind_of_step(step_by_row.get(row, "start")) for row in range(len(final_trials))]
    structures = structures_of(search.tree, view.points)
    rows_by_structure: dict[bytes, list[int]] = {}
    for row, structure in enumerate(structures):
        rows_by_structure.setdefault(structure, []).append(row)
    rung_by_structure = {
        structures[state.centre_row]: state.rung for state in structure_states(view)
    }
    courses = []
    for structure, rows in rows_by_structure.items():
        rung = rung_by_structure.get(structure, len(SIZES))
        courses.append(
            StructureCourse(
                _levels_of_structure(search, final_trials[rows[0]]),
                tuple(rows),
                tuple(final_trials[row].score for row in rows),
                SIZES[rung] if rung < len(SIZES) else None,
            )
        )
    return TreeDescent(
        tuple(Counter(kinds).most_common()),
        tuple(sorted(courses, key=lambda course: course.lowest_score)),
    )


def _levels_of_structure(search: TreeSearch, trial: Trial) -> dict[str, Level]:
    """The values of headers and categories in a trial's configuration, without those of one value."""
    structural_keys = {
        variable.key
        for variable in search.tree.variables
        if variable.is_structural and not variable.values.is_fixed
    }
    return {
        key: level for key, level in trial.proposal.configuration.items() if key in structural_keys
    }
