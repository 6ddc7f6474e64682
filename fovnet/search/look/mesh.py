"""The mesh of a direct search: the points of a poll around a row, and the free rows that they land
on.

    d  axes        n  ordinal axes of two levels or more        k, K  rung and last rung, of maths/poll.SIZES
    vectors  (m, d) int64, a level of each axis, whether or not the space has such a row
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
from scipy.spatial.distance import cdist

from fovnet.errors import ConfigError
from fovnet.maths.poll import SIZES, directions, reflection
from fovnet.search.look.view import Neighbour, Polling
from fovnet.search.space import Axis, Level, Space
from fovnet.words import did_you_mean

Floats = NDArray[np.float64]
Integers = NDArray[np.int64]
Mask = NDArray[np.bool_]


@dataclass(frozen=True, eq=False)
class Mesh:
    """The polls of a space, fixed by the seed of the search.

    full    whether every combination of levels is a row
    first   the rung on which a centre is first polled: on a list, whose rows lie farther apart, the
            widest
    last    that on which a poll is of the neighbours one level away (of axes of over 101 levels, a
            hundredth)
    aside   neighbours of a row by category, at most
    """

    space: Space
    polling: Polling
    seed: int

    @cached_property
    def ordinal(self) -> list[int]:
        """The axes along which polls go."""
        return [
            a
            for a, axis in enumerate(self.space.axes)
            if axis.kind == "ordinal" and len(axis.levels) > 1
        ]

    @cached_property
    def full(self) -> bool:
        return len(self.space) == math.prod(self._grid_shape)

    @cached_property
    def first(self) -> int:
        return 1 if self.full else 0

    @cached_property
    def last(self) -> int:
        if not self.ordinal:
            return self.first
        least = min(self._level_gap_by_axis[a] for a in self.ordinal)
        fine = next((k for k, size in enumerate(SIZES) if size <= least), len(SIZES) - 1)
        return max(self.first, fine)

    @cached_property
    def aside(self) -> int:
        return sum(self._most_neighbours(axis) for axis in self.space.axes)

    def poll(self, centre: int, rung: int) -> Integers:
        """The points around a row, at most 2n, in the order of the poll: a function of (seed,
        centre, rung) alone."""
        return _poll(self, centre, min(rung, self.last))

    def neighbours(self, centre: int) -> Integers:
        """The points that differ by category, or as the settings say."""
        levels = self.space.rows[centre]
        return np.array(
            [
                moved
                for axis in range(len(levels))
                for moved in self._neighbour_points(levels, axis)
            ],
            dtype=np.int64,
        ).reshape(-1, len(levels))

    def land(self, vectors: Integers, centre: int, rung: int, free: Mask) -> Integers:
        """The free rows that the points become, each once, in their order.

        On a full grid the row of the point itself.  In a list the free row nearest to it, but only
        if it is nearer than the centre: with the nearest row, free or not, five recorded lists
        needed 131 draws to their best row, as many as random search, because a list has hardly a
        point's own row; so they need 58.
        """
        if not len(vectors):
            return np.zeros(0, dtype=np.int64)
        rows = (
            self._rows_at_points(vectors)
            if self.full
            else self._nearest(vectors, centre, rung, free)
        )
        return np.array(
            [row for row in dict.fromkeys(rows.tolist()) if row >= 0 and free[row]], dtype=np.int64
        )

    def nearest_rows(self, centre: int, free: Mask) -> Integers:
        """The free ones among the 2n + aside rows of a list that are nearest to a row."""
        rows = _near(self, centre)
        return np.asarray(rows[free[rows]], dtype=np.int64)

    def step_beyond(self, last_centre: int, centre: int) -> Integers:
        """(1, d) the point as far beyond the centre as the row before it is on the other side."""
        old, new = self.space.rows[[last_centre, centre]]
        point = new.copy()
        point[self.ordinal] = np.clip(2 * new - old, 0, np.array(self._grid_shape) - 1)[
            self.ordinal
        ]
        return np.asarray(point[None])

    def _neighbour_points(self, levels: Integers, axis_index: int) -> list[Integers]:
        """The points that a row's level of an axis is changed to."""
        level_count = len(self.space.axes[axis_index].levels)
        own_level = int(levels[axis_index])
        rule = self._rule_by_axis.get(axis_index)
        if rule is None:
            levels_reached = (
                [level for level in range(level_count) if level != own_level]
                if self.space.axes[axis_index].kind == "categorical"
                else []
            )
        else:
            levels_reached = {
                "all": [*range(level_count)],
                "next": [(own_level + 1) % level_count],
                "steps": [own_level - 1, own_level + 1],
            }[rule.to]
        neighbour_points = []
        for level in levels_reached:
            if 0 <= level < level_count and level != own_level:
                neighbour_point = levels.copy()
                neighbour_point[axis_index] = level
                for other_axis, reset_level in self._resets_by_axis.get(axis_index, ()):
                    neighbour_point[other_axis] = reset_level
                neighbour_points.append(neighbour_point)
        return neighbour_points

    def _most_neighbours(self, axis: Axis) -> int:
        """How many neighbours an axis gives a row, at most."""
        rule = self._rule_by_axis.get(self.space.axes.index(axis))
        other_levels = len(axis.levels) - 1
        if rule is None:
            return other_levels if axis.kind == "categorical" else 0
        return min(other_levels, {"all": other_levels, "next": 1, "steps": 2}[rule.to])

    def _rows_at_points(self, vectors: Integers) -> Integers:
        return np.asarray(
            self._row_by_place[np.ravel_multi_index(tuple(vectors.T), self._grid_shape)]
        )

    def _nearest(self, vectors: Integers, centre_row: int, rung: int, is_free: Mask) -> Integers:
        """(m,) of a list, the nearest free row, -1 where the centre is as near; ties by lot, the
        same at each call, and of the numbers that `_poll` draws."""
        cube_points = self._cube_points(vectors)
        unit_cube = self.space.unit_cube
        free_rows = np.flatnonzero(is_free)
        gaps_to_centre = np.round(
            cdist(cube_points, unit_cube[[centre_row]], "sqeuclidean")[:, 0], 12
        )
        gaps_to_rows = np.round(cdist(cube_points, unit_cube[free_rows], "sqeuclidean"), 12)
        nearest_rows = []
        for point_gaps, centre_gap in zip(gaps_to_rows, gaps_to_centre, strict=True):
            tied_rows = (
                free_rows[point_gaps == point_gaps.min()]
                if len(point_gaps) and point_gaps.min() < centre_gap
                else []
            )
            nearest_rows.append(
                int(np.random.default_rng([self.seed, centre_row, rung]).choice(tied_rows))
                if len(tied_rows)
                else -1
            )
        return np.array(nearest_rows, dtype=np.int64)

    def _cube_points(self, vectors: Integers) -> Floats:
        """(m, D) in the unit cube."""
        return np.hstack(
            [
                axis.columns[vectors[:, axis_index]]
                for axis_index, axis in enumerate(self.space.axes)
            ]
        )

    @cached_property
    def _grid_shape(self) -> tuple[int, ...]:
        return tuple(len(axis.levels) for axis in self.space.axes)

    @cached_property
    def _level_gap_by_axis(self) -> dict[int, float]:
        return {
            axis_index: 1.0 / (len(self.space.axes[axis_index].levels) - 1)
            for axis_index in self.ordinal
        }

    @cached_property
    def _row_by_place(self) -> Integers:
        """(M,) of a full grid: the row at each place of the grid whose last axis varies fastest."""
        rows = np.empty(len(self.space), dtype=np.int64)
        rows[np.ravel_multi_index(tuple(self.space.rows.T), self._grid_shape)] = np.arange(
            len(self.space)
        )
        return rows

    @cached_property
    def _rule_by_axis(self) -> dict[int, Neighbour]:
        axis_index_by_name = {
            axis.name: axis_index for axis_index, axis in enumerate(self.space.axes)
        }
        return {axis_index_by_name[rule.axis]: rule for rule in self.polling.neighbours}

    @cached_property
    def _resets_by_axis(self) -> dict[int, list[tuple[int, int]]]:
        """Of each axis the others that its neighbours reset, and to which level."""
        axis_index_by_name = {
            axis.name: axis_index for axis_index, axis in enumerate(self.space.axes)
        }
        return {
            axis: [
                (
                    axis_index_by_name[name],
                    self.space.axes[axis_index_by_name[name]].levels.index(level),
                )
                for name, level in rule.reset
            ]
            for axis, rule in self._rule_by_axis.items()
        }

    def _moved_levels(self, centre_row: int, direction: Floats, frame_size: float) -> Integers:
        """The levels (d,) of a row moved along a direction (n,) by the frame's size."""
        moved_levels = self.space.rows[centre_row].copy()
        for axis_index, component in zip(self.ordinal, direction.tolist(), strict=True):
            level_gap = self._level_gap_by_axis[axis_index]
            level_places = self.space.axes[axis_index].columns[:, 0]
            wanted_step = component * max(frame_size, level_gap)
            if abs(component) < 1.0 and abs(wanted_step) < level_gap / 2:
                continue
            own_place = level_places[moved_levels[axis_index]]
            levels_beyond = np.flatnonzero(
                level_places > own_place if component > 0 else level_places < own_place
            )
            if len(levels_beyond):  # else it is at an end
                moved_levels[axis_index] = levels_beyond[
                    np.argmin(
                        np.round(np.abs(level_places[levels_beyond] - own_place - wanted_step), 12)
                    )
                ]
        return np.asarray(moved_levels)


def refuse_neighbours(space: Space, polling: Polling) -> None:
    """Raise ConfigError "config-invalid" unless the axes and levels that neighbours name are in the
    space."""
    levels_by_axis = {axis.name: axis.levels for axis in space.axes}

    def levels_of(name: str, where: str) -> tuple[Level, ...]:
        if name in levels_by_axis:
            return levels_by_axis[name]
        hint = did_you_mean(name, levels_by_axis, f"its axes are {', '.join(levels_by_axis)}")
        raise ConfigError("config-invalid", f"{where}: {name} is not an axis of the space; {hint}")

    for rule in polling.neighbours:
        where = f"search.neighbours.{rule.axis}"
        levels_of(rule.axis, "search.neighbours")
        for name, level in rule.reset:
            if name == rule.axis:
                raise ConfigError(
                    "config-invalid",
                    f"{where}.reset: {name} is the axis in which these differ; reset other axes",
                )
            if level not in (levels := levels_of(name, f"{where}.reset")):
                remedy = f"its levels are {', '.join(map(str, levels))}"
                raise ConfigError(
                    "config-invalid", f"{where}.reset: {name} has no level {level}; {remedy}"
                )


@lru_cache(maxsize=4)
def mesh_of(space: Space, polling: Polling, seed: int) -> Mesh:
    """The mesh of a search, made once."""
    return Mesh(space, polling, seed)


@lru_cache(maxsize=4096)
def _poll(mesh: Mesh, centre_row: int, rung: int) -> Integers:
    """(m, d) the points about a row at a rung.  Its numbers are those of the lots of `_nearest`,
    and at rung 0 of `_near`, as a seed is padded with zeros; other ones would make other
    journals."""
    rng = np.random.default_rng([mesh.seed, centre_row, rung])
    ordinal_count = len(mesh.ordinal)
    if not ordinal_count:
        return np.zeros((0, len(mesh.space.axes)), dtype=np.int64)
    normal_vector = rng.standard_normal(ordinal_count)
    basis = reflection(normal_vector) if rung < mesh.last else np.eye(ordinal_count)
    points = [
        mesh._moved_levels(centre_row, direction, SIZES[rung])
        for direction in directions(basis, rng)
    ]
    moved_points = [levels for levels in points if (levels != mesh.space.rows[centre_row]).any()]
    return np.array(moved_points, dtype=np.int64).reshape(-1, len(mesh.space.axes))


@lru_cache(maxsize=4096)
def _near(mesh: Mesh, centre_row: int) -> Integers:
    """The 2n + aside rows nearest to a row, ties by lot, of the numbers of `_poll` at rung 0."""
    squared_gaps = np.round(
        ((mesh.space.unit_cube - mesh.space.unit_cube[centre_row]) ** 2).sum(axis=1), 12
    )
    tie_breaks = np.random.default_rng([mesh.seed, centre_row]).permutation(len(squared_gaps))
    squared_gaps[centre_row] = np.inf
    rows_by_gap = np.asarray(np.lexsort((tie_breaks, squared_gaps)), dtype=np.int64)
    return np.asarray(rows_by_gap[: min(len(squared_gaps) - 1, 2 * len(mesh.ordinal) + mesh.aside)])
