"""Points of a tree as points of the unit cube, for models of the scores.

    m  points      D  columns      p  lengthscales, one for each family of variables

What is inactive lies midway: a point with a layer more then has a distance from its neighbour without
it that depends on the layer's values, and an absent layer lies beside none of the extremes.
"""

from __future__ import annotations

from functools import lru_cache

import numpy as np
from numpy.typing import NDArray

from fovnet.maths.scales import Scales
from fovnet.search.tree.tree import Tree
from fovnet.search.tree.variables import Levels

Floats = NDArray[np.float64]

MEDIAN_LENGTHSCALE = 0.39
"""Of one family, times the root of their number, as in `fovnet.maths.scales`."""
MOST_COUNTED_FAMILIES = 12
"""A point has fewer active variables than its tree has families."""
SCALE_DEVIATION = 0.8  # of the logarithm of a lengthscale


def encode(tree: Tree, points: Floats) -> Floats:
    """(m, D) the points (m, d); where all is active as `Space.unit_cube`.

    A number, also of copies, at its place; a category of several levels as one column for each, any
    two levels 1 apart.  A variable with a single value has no column.
    """
    places = points.copy()
    for values, numbers in tree.numbers_by_values:
        places[:, numbers] = values.places(points[:, numbers])
    places_or_midway = np.where(np.isnan(places), 0.5, places)
    columns = [
        _category_columns(variable.values, places[:, number])
        if isinstance(variable.values, Levels) and variable.values.is_category
        else places_or_midway[:, [number]]
        for number, variable in enumerate(tree.variables)
        if not variable.values.is_fixed
    ]
    return np.hstack([np.empty((len(points), 0)), *columns])


def _category_columns(category: Levels, numbers: Floats) -> Floats:
    """The columns (m, c) of the numbers (m,) of a category's levels."""
    is_inactive = np.isnan(numbers)
    level_columns = category.axis.columns
    midway = level_columns.mean(axis=0)
    indices = np.where(is_inactive, 0, numbers).astype(np.int64)
    return np.where(is_inactive[:, None], midway, level_columns[indices])


def families_of(tree: Tree) -> tuple[str, ...]:
    """The families that have columns, in the order of their lengthscales."""
    return tuple(
        dict.fromkeys(
            variable.family for variable in tree.variables if not variable.values.is_fixed
        )
    )


@lru_cache(maxsize=8)
def tree_scales(tree: Tree) -> Scales:
    """The lengthscales of the columns of `encode`: one for all copies of a variable, another for a
    variable of the same name in another branch."""
    families = families_of(tree)
    family_of_columns: list[int] = []
    for variable in tree.variables:
        if variable.values.is_fixed:
            continue
        family = families.index(variable.family)
        column_count = 1
        if isinstance(variable.values, Levels) and variable.values.is_category:
            column_count = variable.values.axis.columns.shape[1]
        family_of_columns += [family] * column_count
    count = len(families)
    median = MEDIAN_LENGTHSCALE * np.sqrt(min(count, MOST_COUNTED_FAMILIES))
    return Scales(
        share=np.eye(count)[family_of_columns],
        centre=np.full(count, np.log(median)),
        width=np.full(count, SCALE_DEVIATION),
        axis_count=count,
    )
