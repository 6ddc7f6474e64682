"""The points of a search over a tree as rows of a table: those begun take the place of a space's rows."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from fovnet.search.search import AnySearch, Search
from fovnet.search.tree.encoding import encode
from fovnet.search.tree.tree import points_of
from fovnet.search.tree_search import TreeSearch
from fovnet.search.trial import Trial, latest_trials


class Rows(NamedTuple):
    """Predicted seconds of full trainings (M,), and rows as points of the unit cube (M, D)."""

    predicted_seconds: NDArray[np.float64]
    unit_cube: NDArray[np.float64]


def number_rows_anew(search: AnySearch, trials: Sequence[Trial]) -> Sequence[Trial]:
    """The trials; of a tree with their rows counted among them, as no row is known of a slot that is
    not finished."""
    if isinstance(search, Search):
        return trials
    row_by_row = {trial.proposal.row: row for row, trial in enumerate(latest_trials(trials))}
    return [
        replace(trial, proposal=replace(trial.proposal, row=row_by_row[trial.proposal.row]))
        for trial in trials
    ]


def rows_of_search(search: AnySearch, trials: Sequence[Trial]) -> Rows:
    """All rows of a finite space; of a tree those of the trials, numbered anew."""
    if isinstance(search, Search):
        return Rows(search.predicted_seconds, search.space.unit_cube)
    assert isinstance(search, TreeSearch)  # there are no others
    configurations = [trial.proposal.configuration for trial in latest_trials(trials)]
    points = points_of(search.tree, configurations)
    return Rows(search.costs(search.tree.columns(points)).seconds, encode(search.tree, points))
