"""The mesh of a direct search: the points of a poll around a row, and the free rows that they land
on.

    d     axes
    n     ordinal axes of two levels or more
    k, K  rung and last rung, of maths/poll.SIZES
    points  (m, d) int64, a level of each axis, whether or not the space has such a row
Every level is a point of the mesh, so that only the frame, within which a poll reaches, shrinks
from rung to rung. Sources: Lakhmiri (2021), thesis, chapters 2 and 4, algorithms 1 and 4; what it
leaves open, as NOMAD 4 has it.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import cached_property, lru_cache

import numpy as np
from numpy.typing import NDArray

from fovnet.errors import ConfigError
from fovnet.maths.poll import SIZES, directions, reflection
from fovnet.search.look.view import Neighbour, Polling
from fovnet.search.space import Level, Space
from fovnet.words import did_you_mean

Floats = NDArray[np.float64]
Integers = NDArray[np.int64]
Mask = NDArray[np.bool_]

NO_ROW = -1
"""Stands for a row where there is none."""


@dataclass(frozen=True, eq=False)
class Mesh:
    """The polls of a space, fixed by the seed of the search."""

    space: Space
    polling: Polling
    seed: int

    @cached_property
    def ordinal_axes(self) -> list[int]:
        """The axes along which polls go, by their numbers."""
        return [
            axis_index
            for axis_index, axis in enumerate(self.space.axes)
            if axis.kind == "ordinal" and len(axis.levels) > 1
        ]

    @cached_property
    def is_full_grid(self) -> bool:
        """Whether every combination of levels is a row."""
        return len(self.space) == math.prod(self._grid_shape)

    @cached_property
    def first_rung(self) -> int:
        """The rung on which a centre is first polled: on a list, whose rows lie farther apart, the
        widest."""
        if self.is_full_grid:
            return 1
        return 0

    @cached_property
    def last_rung(self) -> int:
        """The rung on which a poll is of the neighbours one level away (of axes of over 101 levels,
        a hundredth)."""
        if not self.ordinal_axes:
            return self.first_rung
        least_gap = min(self._level_gap_by_axis.values())
        wider_count = sum(size > least_gap for size in SIZES)
        return max(self.first_rung, min(wider_count, len(SIZES) - 1))

    @cached_property
    def most_category_neighbours(self) -> int:
        """How many neighbours a row has by category, at most."""
        return sum(map(self._most_neighbours, range(len(self.space.axes))))

    def poll_points(self, centre_row: int, rung: int) -> Integers:
        """The points around a row (m, d), at most 2n, in the order of the poll: a function of
        (seed, centre row, rung) alone."""
        return _poll_points(self, centre_row, min(rung, self.last_rung))

    def neighbour_points(self, centre_row: int) -> Integers:
        """The points (m, d) that differ from a row by category, or as the settings say."""
        levels = self.space.rows[centre_row]
        points: list[Integers] = []
        for axis_index in range(len(levels)):
            points += self._neighbours_along(levels, axis_index)
        return np.array(points, dtype=np.int64).reshape(-1, len(levels))

    def reached_rows(self, points: Integers, centre_row: int, rung: int, is_free: Mask) -> Integers:
        """The free rows that the points (m, d) become, each once, in their order; free are those of
        `is_free` (M,).

        On a full grid the row of the point itself.  In a list the free row nearest to it, but only
        if it is nearer than the centre: with the nearest row, free or not, five recorded lists
        needed 131 draws to their best row, as many as random search, because a list has hardly a
        point's own row; so they need 58.
        """
        if not len(points):
            return np.zeros(0, dtype=np.int64)
        if self.is_full_grid:
            rows = self._rows_at_points(points)
        else:
            rows = self._nearest_free_rows(points, centre_row, rung, is_free)
        distinct_rows = dict.fromkeys(rows.tolist())
        return np.array(
            [row for row in distinct_rows if row != NO_ROW and is_free[row]], dtype=np.int64
        )

    def nearest_rows(self, centre_row: int, is_free: Mask) -> Integers:
        """The free ones among the rows of a list that are nearest to a row, as many as a poll and
        the categories have."""
        rows = _rows_nearby(self, centre_row)
        return np.asarray(rows[is_free[rows]], dtype=np.int64)

    def point_beyond(self, previous_centre_row: int, centre_row: int) -> Integers:
        """(1, d) the point as far beyond the centre as the previous centre is on the other side."""
        previous_levels, levels = self.space.rows[[previous_centre_row, centre_row]]
        mirrored_levels = np.clip(2 * levels - previous_levels, 0, np.array(self._grid_shape) - 1)
        point = levels.copy()
        point[self.ordinal_axes] = mirrored_levels[self.ordinal_axes]
        return np.asarray(point[None])

    def _neighbours_along(self, levels: Integers, axis_index: int) -> list[Integers]:
        """The neighbours of a point (d,) whose level of one axis differs; other axes are reset as
        the rule of the axis says."""
        own_level = int(levels[axis_index])
        neighbour_points = []
        for level in self._neighbour_levels(axis_index, own_level):
            if 0 <= level < self._grid_shape[axis_index] and level != own_level:
                neighbour_point = levels.copy()
                neighbour_point[axis_index] = level
                for other_axis, reset_level in self._resets_by_axis.get(axis_index, ()):
                    neighbour_point[other_axis] = reset_level
                neighbour_points.append(neighbour_point)
        return neighbour_points

    def _neighbour_levels(self, axis_index: int, own_level: int) -> list[int]:
        """The levels beside a level of an axis, by the rule of the axis; those beyond its ends and
        the level itself may be among them."""
        level_count = self._grid_shape[axis_index]
        rule = self._rule_by_axis.get(axis_index)
        if rule is None:
            if self.space.axes[axis_index].kind == "ordinal":
                return []
            return [*range(level_count)]
        if rule.to == "all":
            return [*range(level_count)]
        if rule.to == "next":
            return [(own_level + 1) % level_count]
        return [own_level - 1, own_level + 1]

    def _most_neighbours(self, axis_index: int) -> int:
        """How many neighbours an axis gives a row, at most."""
        other_level_count = self._grid_shape[axis_index] - 1
        return min(other_level_count, len(self._neighbour_levels(axis_index, 0)))

    def _rows_at_points(self, points: Integers) -> Integers:
        """(m,) of a full grid, the rows of points (m, d)."""
        places = np.ravel_multi_index(tuple(points.T), self._grid_shape)
        return np.asarray(self._row_by_place[places])

    def _nearest_free_rows(
        self, points: Integers, centre_row: int, rung: int, is_free: Mask
    ) -> Integers:
        """(m,) of a list, the free row nearest to each point (m, d), NO_ROW where the centre is as
        near; ties by lot, the same at each call, and of the numbers that `_poll_points` draws."""
        from scipy.spatial.distance import cdist

        cube_points = self._cube_points(points)
        unit_cube = self.space.unit_cube
        free_rows = np.flatnonzero(is_free)
        squared_to_centre = cdist(cube_points, unit_cube[[centre_row]], "sqeuclidean").round(12)
        squared_to_free = cdist(cube_points, unit_cube[free_rows], "sqeuclidean").round(12)
        nearest_rows = np.full(len(points), NO_ROW)
        for point_index, squared_distances in enumerate(squared_to_free):
            least_distance = squared_distances.min(initial=np.inf)
            if least_distance < squared_to_centre[point_index, 0]:
                rng = np.random.default_rng([self.seed, centre_row, rung])
                tied_rows = free_rows[squared_distances == least_distance]
                nearest_rows[point_index] = rng.choice(tied_rows)
        return nearest_rows

    def _cube_points(self, points: Integers) -> Floats:
        """The points (m, d) in the unit cube, (m, D)."""
        return np.hstack(
            [
                axis.columns[axis_levels]
                for axis, axis_levels in zip(self.space.axes, points.T, strict=True)
            ]
        )

    @cached_property
    def _grid_shape(self) -> tuple[int, ...]:
        """The number of levels of each axis."""
        return tuple(len(axis.levels) for axis in self.space.axes)

    @cached_property
    def _level_gap_by_axis(self) -> dict[int, float]:
        """The distance of two neighbouring levels of each ordinal axis, as a share of it."""
        return {
            axis_index: 1.0 / (self._grid_shape[axis_index] - 1) for axis_index in self.ordinal_axes
        }

    @cached_property
    def _row_by_place(self) -> Integers:
        """(M,) of a full grid: the row at each place of the grid whose last axis varies fastest."""
        places = np.ravel_multi_index(tuple(self.space.rows.T), self._grid_shape)
        rows = np.empty(len(self.space), dtype=np.int64)
        rows[places] = np.arange(len(self.space))
        return rows

    @cached_property
    def _axis_by_name(self) -> dict[str, int]:
        """The number of each axis."""
        return {axis.name: axis_index for axis_index, axis in enumerate(self.space.axes)}

    @cached_property
    def _rule_by_axis(self) -> dict[int, Neighbour]:
        """The rule for the neighbours along an axis, of those axes that have one."""
        return {self._axis_by_name[rule.axis]: rule for rule in self.polling.neighbours}

    @cached_property
    def _resets_by_axis(self) -> dict[int, list[tuple[int, int]]]:
        """{axis: [(other axis, level that the axis' neighbours have there)]}, by numbers."""
        resets_by_axis: dict[int, list[tuple[int, int]]] = {}
        for axis_index, rule in self._rule_by_axis.items():
            resets = resets_by_axis.setdefault(axis_index, [])
            for name, level in rule.reset:
                other_axis = self._axis_by_name[name]
                resets.append((other_axis, self.space.axes[other_axis].levels.index(level)))
        return resets_by_axis

    def move_levels(self, centre_row: int, direction: Floats, frame_size: float) -> Integers:
        """The levels (d,) of a row moved along a direction (n,) by the frame's size."""
        levels = self.space.rows[centre_row].copy()
        for axis_index, component in zip(self.ordinal_axes, direction.tolist(), strict=True):
            level_gap = self._level_gap_by_axis[axis_index]
            wanted_step = component * max(frame_size, level_gap)
            if abs(component) < 1.0 and abs(wanted_step) < level_gap / 2:
                continue
            level_places = self.space.axes[axis_index].columns[:, 0]
            steps = level_places - level_places[levels[axis_index]]
            levels_beyond = np.flatnonzero(steps * np.sign(component) > 0)
            if len(levels_beyond):  # else it is at an end
                step_errors = np.round(np.abs(steps[levels_beyond] - wanted_step), 12)
                levels[axis_index] = levels_beyond[np.argmin(step_errors)]
        return np.asarray(levels)


def refuse_neighbours(space: Space, polling: Polling) -> None:
    """Raises ConfigError "config-invalid" unless the axes and levels that neighbours name are in
    the space."""
    for rule in polling.neighbours:
        setting = f"search.neighbours.{rule.axis}"
        _levels_of_axis(space, rule.axis, "search.neighbours")
        for name, level in rule.reset:
            if name == rule.axis:
                raise ConfigError(
                    "config-invalid",
                    f"{setting}.reset: {name} is the axis in which these differ; reset other axes",
                )
            levels = _levels_of_axis(space, name, f"{setting}.reset")
            if level not in levels:
                remedy = f"its levels are {', '.join(map(str, levels))}"
                raise ConfigError(
                    "config-invalid", f"{setting}.reset: {name} has no level {level}; {remedy}"
                )


def _levels_of_axis(space: Space, name: str, setting: str) -> tuple[Level, ...]:
    """The levels of the axis of a name that a setting gives.  Raises ConfigError "config-invalid"
    if there is no such axis."""
    levels_by_axis = {axis.name: axis.levels for axis in space.axes}
    if name not in levels_by_axis:
        hint = did_you_mean(name, levels_by_axis, f"its axes are {', '.join(levels_by_axis)}")
        raise ConfigError(
            "config-invalid", f"{setting}: {name} is not an axis of the space; {hint}"
        )
    return levels_by_axis[name]


@lru_cache(maxsize=4)
def mesh_of(space: Space, polling: Polling, seed: int) -> Mesh:
    """The mesh of a search, made once."""
    return Mesh(space, polling, seed)


@lru_cache(maxsize=4096)
def _poll_points(mesh: Mesh, centre_row: int, rung: int) -> Integers:
    """(m, d) the points about a row at a rung.  The random numbers are also those of the lots of
    `_nearest_free_rows`, and at rung 0 of `_rows_nearby`, as a seed is padded with zeros; other
    ones would make other journals."""
    rng = np.random.default_rng([mesh.seed, centre_row, rung])
    axis_count = len(mesh.ordinal_axes)
    if not axis_count:
        return np.zeros((0, len(mesh.space.axes)), dtype=np.int64)
    normal_vector = rng.standard_normal(axis_count)
    basis = np.eye(axis_count)
    if rung < mesh.last_rung:
        basis = reflection(normal_vector)
    points = [
        mesh.move_levels(centre_row, direction, SIZES[rung]) for direction in directions(basis, rng)
    ]
    moved_points = [point for point in points if (point != mesh.space.rows[centre_row]).any()]
    return np.array(moved_points, dtype=np.int64).reshape(-1, len(mesh.space.axes))


@lru_cache(maxsize=4096)
def _rows_nearby(mesh: Mesh, centre_row: int) -> Integers:
    """The rows nearest to a row, nearest first, 2n and as many as it has neighbours by category;
    ties by lot, of the numbers of `_poll_points` at rung 0."""
    unit_cube = mesh.space.unit_cube
    squared_distances = np.round(((unit_cube - unit_cube[centre_row]) ** 2).sum(axis=1), 12)
    tie_breaks = np.random.default_rng([mesh.seed, centre_row]).permutation(len(unit_cube))
    squared_distances[centre_row] = np.inf
    rows_by_distance = np.asarray(np.lexsort((tie_breaks, squared_distances)), dtype=np.int64)
    nearby_count = 2 * len(mesh.ordinal_axes) + mesh.most_category_neighbours
    return rows_by_distance[: min(len(unit_cube) - 1, nearby_count)]
