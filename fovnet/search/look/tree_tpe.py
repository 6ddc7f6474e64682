"""tpe on a tree: Parzen estimators of each variable, from the trials in which it was active.

    N  trials that count, as in tpe.py        d  variables of the tree

Whole numbers and levels are judged by mass, as hyperopt's quantised distributions have it: by density,
ends are chosen too often (0.379 ± 0.020 after 150 trainings on one function, 0.251 ± 0.016 with masses).
hyperopt is told of every point that does not fit and learns from it, where here another is drawn: so
points of the prior that do not fit are added to the bad trials (0.209 ± 0.018).
Source: as in tpe.py.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from fovnet.maths.parzen import Estimate, Mixture, estimate_mixture, estimate_shares
from fovnet.search.look.tpe import are_good
from fovnet.search.look.tree_uniform import draw_in_tree
from fovnet.search.look.tree_view import TreeChoice, TreeView
from fovnet.search.look.view import DEFAULT_CANDIDATES
from fovnet.search.tree.moves import draw_prior
from fovnet.search.tree.streams import generator
from fovnet.search.tree.tree import Tree, Variable
from fovnet.search.tree.variables import Range

Floats = NDArray[np.float64]

MOST_TRIES = 200
"""Points drawn that do not fit or were begun, after which one is drawn from the prior."""
TRIES_PER_COUNT = 4
"""Tries after which half as many values are compared: the best of 24 is nearly always the same."""


def choose_by_parzen_in_tree(view: TreeView) -> TreeChoice | None:
    """A free point drawn from the root down: of each variable the best of 24 values of the good
    trials' density, of greatest mass or density among good trials over that among others.  None where
    nothing is free."""
    if len(view.all_losses.rows) + len(view.pending_rows) >= view.initial_count:
        drawing = GuidedDrawing.of(view)
        rng = generator(view.seed, "random", view.slot)
        for try_count in range(MOST_TRIES):
            value_count = max(1, DEFAULT_CANDIDATES // 2 ** (try_count // TRIES_PER_COUNT))
            point = drawing.draw_point(rng, value_count)
            if len(view.ground.free_points(point[None])):
                return TreeChoice(point)
    return draw_in_tree(view)


@dataclass(frozen=True, eq=False)
class GuidedDrawing:
    """How points are drawn: the good (g, d) and the other points (h, d), the oldest first."""

    tree: Tree
    good_points: Floats
    other_points: Floats

    @classmethod
    def of(cls, view: TreeView) -> GuidedDrawing:
        """Of the trials of a view.  Failures and pending ones are never good; points of the prior that
        do not fit, of as many drawn as were begun, are the oldest of the others."""
        finished_rows, losses = view.all_losses
        pending_rows = np.array(view.pending_rows, dtype=np.int64)
        points = view.points[np.append(finished_rows, pending_rows)]
        is_good = are_good(np.pad(losses, (0, len(pending_rows)), constant_values=np.inf))
        prior_points = draw_prior(view.tree, generator(view.seed, "prior"), len(view.points))
        does_not_fit = [fault is not None for fault in view.ground.price(prior_points).faults]
        other_points = np.concatenate([prior_points[does_not_fit], points[~is_good]])
        return cls(view.tree, points[is_good], other_points)

    def draw_point(self, rng: np.random.Generator, value_count: int) -> Floats:
        """(d,) a canonical point, free or not, from the best of `value_count` values of each variable
        that those before it make active."""
        numbers = [np.nan] * len(self.tree)
        for number, variable in enumerate(self.tree.variables):
            if variable.is_active(numbers):
                numbers[number] = self._draw_number(number, rng, value_count)
        return np.array(numbers)

    def _draw_number(self, number: int, rng: np.random.Generator, value_count: int) -> float:
        """The best number of a variable among some that are drawn."""
        variable = self.tree.variables[number]
        if variable.values.is_fixed:
            return float(self.tree.starts[number])
        good_estimate, other_estimate = self._estimates[number]
        drawn = good_estimate.draw(rng, value_count)
        numbers = numbers_of_drawn(variable, drawn)
        log_ratio = log_weights(variable, good_estimate, drawn, numbers)
        log_ratio -= log_weights(variable, other_estimate, drawn, numbers)
        return float(numbers[np.argmax(log_ratio)])

    @cached_property
    def _estimates(self) -> list[tuple[Estimate, Estimate]]:
        """(d,) of each variable the estimates from the good and from the other points."""
        return [
            (
                estimate_variable(variable, self.good_points[:, number]),
                estimate_variable(variable, self.other_points[:, number]),
            )
            for number, variable in enumerate(self.tree.variables)
        ]


def estimate_variable(variable: Variable, numbers: Floats) -> Estimate:
    """The estimate of a variable from its numbers (m,), nan where it was inactive: of a header or a
    category the shares of its values, else a mixture of places.  The prior alone where it never was
    active."""
    values = variable.values
    active_numbers = numbers[~np.isnan(numbers)]
    if variable.is_structural:
        return estimate_shares((active_numbers - values.low).astype(np.int64), int(values.count))
    return estimate_mixture(values.places(active_numbers))


def numbers_of_drawn(variable: Variable, drawn: Floats) -> Floats:
    """The numbers (m,) of what an estimate of the variable has drawn."""
    if variable.is_structural:
        return drawn + variable.values.low
    return variable.values.round(variable.values.at_places(drawn))


def log_weights(variable: Variable, estimate: Estimate, drawn: Floats, numbers: Floats) -> Floats:
    """(m,) the logarithm of the share, mass or density of drawn values, whose numbers are given: of a
    whole number or a level the mass of all that is rounded to it, of a real the density."""
    values = variable.values
    if not isinstance(estimate, Mixture):
        return estimate.log_density(drawn)
    if not isinstance(values, Range):
        every_level = np.arange(values.count)
        return estimate.log_mass(values.places(every_level))[numbers.astype(np.int64)]
    if not values.is_whole:
        return estimate.log_density(drawn)
    # half a number beyond the ends is outside, also of a logarithmic scale from 1
    edges = [np.clip(values.places(numbers + step), 0.0, 1.0) for step in (-0.5, 0.5)]
    return estimate.log_mass_between(*edges)
