"""Relevance of the variables of a tree in the model at the end of a search: copies of a layer share one
lengthscale, and so one line.

Main effects, pairs, and how many configurations are as good as the best are means and counts over all
rows of a space; a tree has no list of them.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, replace

import numpy as np
from numpy.typing import NDArray

from fovnet.records import json_key
from fovnet.search.explain.importance import explained_share, noise_deviation
from fovnet.search.look.gaussian import Belief, believe
from fovnet.search.look.pool import best_rows, pool_of, view_of_points
from fovnet.search.look.view import View, round_to_six_digits
from fovnet.search.space import Level
from fovnet.search.tree.encoding import families_of, tree_scales
from fovnet.search.tree.tree import Tree
from fovnet.search.tree_search import TreeSearch
from fovnet.search.trial import Trial

Floats = NDArray[np.float64]


@dataclass(frozen=True)
class FamilyEffect:
    """All copies of one variable.

    name          "conv.kernel", "optimiser.sgd.rate"
    lengthscale   in units of its range; the shorter, the stronger its effect.  Geometric mean over
                  sampled thetas; None if it has the same values wherever there is a score
    relevance     1/lengthscale as a share of the sum over all families
    scored_count  scores of configurations that have it
    best_levels   of its copies in the configuration of the best score, in the order of the data
    """

    name: str
    lengthscale: float | None
    relevance: float | None
    scored_count: int = field(metadata=json_key("scores"))
    best_levels: tuple[Level, ...] = field(metadata=json_key("best"))


@dataclass(frozen=True)
class TreeImportance:
    """What mattered, by the final model; the first six as in `Importance`.

    remaining_regret  over candidate_count points, drawn, and near the best ones
    """

    score_count: int = field(metadata=json_key("scores"))
    target_warping: str = field(metadata=json_key("targets"))
    kernel: str
    explained_share: float | None = field(metadata=json_key("explained"))
    noise_deviation: float = field(metadata=json_key("noise"))
    remaining_regret: float | None
    candidate_count: int = field(metadata=json_key("candidates"))
    families: tuple[FamilyEffect, ...] = field(metadata=json_key("variables"))


def measure_tree_importance(search: TreeSearch, trials: Sequence[Trial]) -> TreeImportance:
    """The relevance in the model with which the search would propose its next slot, from trials whose
    rows count their points.  At least one must have a score."""
    tree_view = search.view_at_the_end(trials)
    tree_view = replace(tree_view, modelling=replace(search.modelling, fidelity="latest"))
    candidates = pool_of(tree_view)
    view = view_of_points(tree_view, np.concatenate([tree_view.points, candidates]))
    belief = believe(view)
    best_point = tree_view.points[best_rows(tree_view)[0]]
    return TreeImportance(
        score_count=len(belief.known_rows),
        target_warping=search.modelling.targets,
        kernel=search.modelling.kernel,
        explained_share=explained_share(belief),
        noise_deviation=round_to_six_digits(noise_deviation(belief)),
        remaining_regret=belief.expected_regret(view.is_free),
        candidate_count=len(candidates),
        families=_family_effects(search.tree, view, belief, tree_view.points, best_point),
    )


def _family_effects(
    tree: Tree, view: View, belief: Belief, points: Floats, best_point: Floats
) -> tuple[FamilyEffect, ...]:
    """The effect of each family, in the order of the tree."""
    families = families_of(tree)
    lengthscales = _lengthscales(tree, view, belief)
    inverse_sum = sum(1.0 / lengthscale for lengthscale in lengthscales if lengthscale) or 1.0
    effects = []
    for family, lengthscale in zip(families, lengthscales, strict=True):
        numbers = [
            number for number, variable in enumerate(tree.variables) if variable.family == family
        ]
        has_value = ~np.isnan(points[belief.known_rows][:, numbers]).all(axis=1)
        effect = FamilyEffect(
            family, None, None, int(has_value.sum()), _levels_of_copies(tree, numbers, best_point)
        )
        if lengthscale is not None:
            effect = replace(
                effect,
                lengthscale=round_to_six_digits(lengthscale),
                relevance=round_to_six_digits(1.0 / lengthscale / inverse_sum),
            )
        effects.append(effect)
    return tuple(effects)


def _lengthscales(tree: Tree, view: View, belief: Belief) -> list[float | None]:
    """The geometric mean lengthscale of each family over the processes, None if its columns are alike
    in all known rows."""
    scales = tree_scales(tree)
    log_scales = np.mean(
        [process.theta[: scales.axis_count] for process in belief.processes], axis=0
    )
    lengthscales: list[float | None] = np.exp(log_scales).tolist()
    is_column_alike = np.ptp(view.space.unit_cube[belief.known_rows], axis=0) == 0
    for family in range(scales.axis_count):
        if is_column_alike[scales.share[:, family] == 1].all():
            lengthscales[family] = None
    return lengthscales


def _levels_of_copies(tree: Tree, numbers: Sequence[int], point: Floats) -> tuple[Level, ...]:
    """The values that variables of one family have in a point, in the order of the data."""
    levels = [
        tree.variables[number].values.write(float(point[number]))
        for number in numbers
        if not np.isnan(point[number])
    ]
    first_variable = tree.variables[numbers[0]]
    if first_variable.copy and tree.variables[first_variable.header].grows_first:
        levels.reverse()
    return tuple(levels)
