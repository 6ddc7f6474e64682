"""Points of a tree to propose: drawn, neighbours of a point, and varied ones.

    m  points         d  variables of the tree
    points  (m, d) canonical, nan where a variable is inactive

All are free: they can be trained, and were not begun before.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping
from functools import lru_cache
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from fovnet.choices import NeighbourLevels
from fovnet.search.tree.costs import Costs, Fault, Priced
from fovnet.search.tree.tree import Tree, Variable

Floats = NDArray[np.float64]

MOST_DRAWN = 100_000
"""Points drawn before a tree counts as exhausted, or as one in which nothing fits."""
DRAWS_PER_POINT = 200
"""Points drawn of a small tree, for each that it has, before it counts as exhausted."""
MOST_DRY_DRAWS = 1000
"""Draws in a row that give no new point, after which the points drawn so far are enough."""
PATIENCE = 50
"""Draws in a row that do not fit, after which only the copy to blame is drawn again: of networks of
13 convolutions none in 200,000 fits, and mostly for one layer."""
MOST_REPAIRS = 200  # of a point, or a few more
REPAIRS_AT_ONCE = 25
"""Of a copy: among 64 convolutions one that fits is rarer than one in 25, and 25 cost as much as one."""
FIRST_BATCH = 16
LARGEST_BATCH = 1024


class Ground(NamedTuple):
    """Where points may be: the tree, what its points cost, and the bytes of those that are taken."""

    tree: Tree
    costs: Costs
    taken: Collection[bytes] = frozenset()

    def price(self, points: Floats) -> Priced:
        """The costs of points (m, d)."""
        return self.costs(self.tree.columns(points))

    def free_points(self, points: Floats) -> Floats:
        """Those of canonical points (m, d) that are free, each once, in their order."""
        index_by_point = {point.tobytes(): index for index, point in enumerate(points)}
        new_indices = [index for key, index in index_by_point.items() if key not in self.taken]
        if not new_indices:
            return points[:0]
        candidates = points[new_indices]
        faults = self.price(candidates).faults
        return candidates[[fault is None for fault in faults]]


class Draw(NamedTuple):
    """Free points (m, d), fewer than asked for if no more were found; how many points were drawn, and
    how many of them did not fit, by reason."""

    points: Floats
    drawn_count: int
    count_by_reason: dict[str, int]


def draw_points(ground: Ground, rng: np.random.Generator, count: int) -> Draw:
    """Different free points, from the prior: headers and categories alike, numbers evenly in place.

    A point that does not fit is drawn again as a whole: drawn again by copies, deep networks would be
    as frequent as shallow ones, and most of them bad.  After PATIENCE faults in a row the copies to
    blame are drawn again, up to MOST_REPAIRS times a point.
    """
    points: dict[bytes, Floats] = {}
    count_by_reason: dict[str, int] = {}
    drawn_count = 0
    drawn_count_of_newest = 0
    faults_in_a_row = 0
    most_drawn = min(MOST_DRAWN, DRAWS_PER_POINT * ground.tree.point_count)
    for candidate, candidate_fault in _drawn_one_by_one(ground, rng, count):
        point = candidate
        fault = candidate_fault
        drawn_count += 1
        if fault is None:
            faults_in_a_row = 0
        else:
            faults_in_a_row += 1
            count_by_reason[fault.reason] = count_by_reason.get(fault.reason, 0) + 1
            if faults_in_a_row >= PATIENCE:
                point, fault, repair_count = _repair(ground, rng, point, fault)
                drawn_count += repair_count
        key = point.tobytes()
        if fault is None and key not in ground.taken and key not in points:
            points[key] = point
            drawn_count_of_newest = drawn_count
        is_dry = bool(points) and drawn_count - drawn_count_of_newest >= MOST_DRY_DRAWS
        if len(points) >= count or is_dry or drawn_count >= most_drawn:
            break
    stacked = np.array(list(points.values())).reshape(len(points), len(ground.tree))
    return Draw(stacked, drawn_count, count_by_reason)


def _drawn_one_by_one(
    ground: Ground, rng: np.random.Generator, count: int
) -> Iterator[tuple[Floats, Fault | None]]:
    """Points (d,) of the prior and their faults, without end; priced in growing batches."""
    batch_size = max(FIRST_BATCH, count)
    while True:
        batch = draw_prior(ground.tree, rng, batch_size)
        yield from zip(batch, ground.price(batch).faults, strict=True)
        batch_size = min(2 * batch_size, LARGEST_BATCH)


def draw_prior(tree: Tree, rng: np.random.Generator, count: int) -> Floats:
    """(count, d) points of the prior, whether they fit or not."""
    numbers = rng.random((count, len(tree)))
    for values, alike in tree.numbers_by_values:
        numbers[:, alike] = values.draw(numbers[:, alike])
    return tree.canonical(numbers)


def _repair(
    ground: Ground, rng: np.random.Generator, point: Floats, fault: Fault
) -> tuple[Floats, Fault | None, int]:
    """The point with the copies to blame drawn again until it fits, else with its last fault; and how
    often it was drawn."""
    repaired = point
    last_fault: Fault | None = fault
    repair_count = 0
    while last_fault is not None and last_fault.copy and repair_count < MOST_REPAIRS:
        versions = draw_copy_again(ground.tree, rng, repaired, last_fault.copy)
        faults = ground.price(versions).faults
        blamed_copies = [version_fault and version_fault.copy for version_fault in faults]
        is_better = [copy != last_fault.copy for copy in blamed_copies]
        chosen = is_better.index(True) if any(is_better) else len(versions) - 1
        repaired = versions[chosen]
        last_fault = faults[chosen]
        repair_count += chosen + 1
    return repaired, last_fault, repair_count


def draw_copy_again(tree: Tree, rng: np.random.Generator, point: Floats, copy: str) -> Floats:
    """(REPAIRS_AT_ONCE, d) canonical versions of a point (d,), each with new numbers of a copy."""
    versions = np.repeat(point[None], REPAIRS_AT_ONCE, axis=0)
    for number in tree.numbers_by_copy[copy].tolist():
        versions[:, number] = tree.variables[number].values.draw(rng.random(REPAIRS_AT_ONCE))
    return tree.canonical(versions)


class LevelRule(NamedTuple):
    """Which other levels of a category its neighbours have, and the numbers (d,) that variables get in
    these, nan where they keep theirs."""

    to: NeighbourLevels
    resets: Floats


LevelRules = Mapping[str, LevelRule]
"""Exceptions from all levels, by the family of the category."""
NO_RULES: LevelRules = {}


def neighbours(ground: Ground, point: Floats, rules: LevelRules = NO_RULES) -> Floats:
    """The free neighbours (m, d) of a point (d,): of `all_neighbours`."""
    return ground.free_points(all_neighbours(ground.tree, ground.costs, point, rules))


def all_neighbours(tree: Tree, costs: Costs, point: Floats, rules: LevelRules = NO_RULES) -> Floats:
    """The neighbours (m, d) of a point (d,), free or not.

    First, for every repeat, a copy more at its growing end, like the outermost one, and a copy less;
    then every other branch or level of each active category, but for the rules.  What becomes active
    otherwise has its start values.
    """
    if rules:
        return _neighbours_by_rules(tree, costs, point, rules)
    return _kept_neighbours(tree, costs, point.tobytes())


@lru_cache(maxsize=256)
def _kept_neighbours(tree: Tree, costs: Costs, point_bytes: bytes) -> Floats:
    """The neighbours without rules: those of the best points are wanted at each slot."""
    return _neighbours_by_rules(tree, costs, np.frombuffer(point_bytes), NO_RULES)


def _neighbours_by_rules(tree: Tree, costs: Costs, point: Floats, rules: LevelRules) -> Floats:
    """As `all_neighbours`."""
    candidates: list[Floats] = []
    for number, variable in enumerate(tree.variables):
        if variable.is_repeat:
            if point[number] < variable.values.high:
                candidates.append(_with_copy_added(tree, costs, point, number))
            if point[number] > variable.values.low:
                candidates.append(_changed(point, number, point[number] - 1.0))
    for number, variable in enumerate(tree.variables):
        for level in _other_levels(variable, point[number], rules):
            changed_point = _changed(point, number, level)
            if variable.family in rules:
                resets = rules[variable.family].resets
                changed_point = np.where(np.isnan(resets), changed_point, resets)
            candidates.append(changed_point)
    if not candidates:
        return np.empty((0, len(tree)))
    return tree.canonical(np.stack(candidates))


def _other_levels(variable: Variable, own_level: float, rules: LevelRules) -> list[float]:
    """The levels that a category has in the neighbours of a point; none of an inactive one, or of a
    number."""
    if not variable.is_category or np.isnan(own_level):
        return []
    rule = rules.get(variable.family)
    levels: list[float] = np.arange(variable.values.count).tolist()
    if rule and rule.to == "next":
        levels = [(own_level + 1.0) % len(levels)]
    elif rule and rule.to == "steps":
        levels = [level for level in levels if abs(level - own_level) == 1.0]
    return [level for level in levels if level != own_level]


def _changed(point: Floats, number: int, value: float) -> Floats:
    """A point (d,) with another number of one variable."""
    changed_point = point.copy()
    changed_point[number] = value
    return changed_point


def _with_copy_added(tree: Tree, costs: Costs, point: Floats, header: int) -> Floats:
    """The point with a copy more, like the outermost one if there is any; if it does not fit so,
    reduced as the costs say, the first that fits."""
    prefix = tree.variables[header].key
    copy_count = int(point[header])
    new_copy = f"{prefix}.{copy_count + 1}"
    new_numbers = tree.numbers_by_copy[new_copy]
    added = _changed(point, header, copy_count + 1.0)
    if copy_count:
        added[new_numbers] = point[tree.numbers_by_copy[f"{prefix}.{copy_count}"]]
    if not costs.reduced_copies:
        return added
    versions = [added]
    for reduction in costs.reduced_copies:
        reduced = added.copy()
        for number in new_numbers.tolist():
            name = tree.variables[number].path.removeprefix(f"{new_copy}.")
            reduced[number] = reduction.get(name, reduced[number])
        versions.append(reduced)
    canonical = tree.canonical(np.stack(versions))
    faults = Ground(tree, costs).price(canonical).faults
    fitting = [version for version, fault in zip(canonical, faults, strict=True) if fault is None]
    return np.asarray([*fitting, canonical[0]][0])


MOVED_NUMBERS = 1.5
"""Of a varied point, on average."""
STEP_DEVIATIONS = (0.2, 0.05)
"""Of a varied number in place: one of these for a point."""


def vary(tree: Tree, rng: np.random.Generator, centres: Floats, count: int) -> Floats:
    """(c · count, d) canonical points around centres (c, d), those of a centre together, free or not:
    some numbers moved by a normal step in place, whole ones by at least one."""
    numbers = movable_numbers(tree)
    varied = np.repeat(centres, count, axis=0)
    if not len(numbers) or not len(varied):
        return varied
    is_active = ~np.isnan(varied[:, numbers])
    chance = MOVED_NUMBERS / np.maximum(is_active.sum(axis=1), 1)
    ranks = np.where(is_active, rng.random(is_active.shape), 2.0)
    is_moved = is_active & (rng.random(is_active.shape) < chance[:, None])
    # at least one of them
    is_moved[np.arange(len(varied)), ranks.argmin(axis=1)] |= ~is_moved.any(axis=1)
    deviations = np.where(rng.random(len(varied)) < 0.5, *STEP_DEVIATIONS)
    normal_steps = rng.standard_normal(is_active.shape) * deviations[:, None]
    steps = np.full(varied.shape, np.nan)
    steps[:, numbers] = np.where(is_moved & is_active, normal_steps, np.nan)
    for _, alike in tree.numbers_by_values:
        rows, columns = np.nonzero(~np.isnan(steps[:, alike]))
        if len(rows):
            cells = rows, alike[columns]
            varied[cells] = moved_numbers(tree.variables[alike[0]], varied[cells], steps[cells])
    return varied


@lru_cache(maxsize=8)
def movable_numbers(tree: Tree) -> NDArray[np.int64]:
    """The variables that are numbers of which there are several, and no headers."""
    return np.flatnonzero(
        [not (variable.is_structural or variable.values.is_fixed) for variable in tree.variables]
    )


def moved_numbers(variable: Variable, numbers: Floats, steps: Floats) -> Floats:
    """Numbers (m,) moved by steps (m,) in place, whole ones and levels by at least one; beyond an end
    they are the end."""
    values = variable.values
    places = np.clip(values.places(numbers) + steps, 0.0, 1.0)
    moved = values.round(values.at_places(places))
    if values.is_whole:
        one_away = numbers + np.where(steps < 0.0, -1.0, 1.0)
        moved = values.round(np.where(moved == numbers, one_away, moved))
    return moved
