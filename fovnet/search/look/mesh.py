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
        return len(self.space) == math.prod(self._shape)

    @cached_property
    def first(self) -> int:
        return 1 if self.full else 0

    @cached_property
    def last(self) -> int:
        if not self.ordinal:
            return self.first
        least = min(self._gaps[a] for a in self.ordinal)
        fine = next((k for k, size in enumerate(SIZES) if size <= least), len(SIZES) - 1)
        return max(self.first, fine)

    @cached_property
    def aside(self) -> int:
        return sum(self._count(axis) for axis in self.space.axes)

    def poll(self, centre: int, rung: int) -> Integers:
        """The points around a row, at most 2n, in the order of the poll: a function of (seed,
        centre, rung) alone."""
        return _poll(self, centre, min(rung, self.last))

    def neighbours(self, centre: int) -> Integers:
        """The points that differ by category, or as the settings say."""
        levels = self.space.rows[centre]
        return np.array(
            [moved for axis in range(len(levels)) for moved in self._moves(levels, axis)],
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
        rows = self._rows_of(vectors) if self.full else self._nearest(vectors, centre, rung, free)
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
        point[self.ordinal] = np.clip(2 * new - old, 0, np.array(self._shape) - 1)[self.ordinal]
        return np.asarray(point[None])

    def _moves(self, levels: Integers, axis: int) -> list[Integers]:
        """The points that a row's level of an axis is changed to."""
        count = len(self.space.axes[axis].levels)
        own_level = int(levels[axis])
        rule = self._rules.get(axis)
        if rule is None:
            levels_reached = (
                [level for level in range(count) if level != own_level]
                if self.space.axes[axis].kind == "categorical"
                else []
            )
        else:
            levels_reached = {
                "all": [*range(count)],
                "next": [(own_level + 1) % count],
                "steps": [own_level - 1, own_level + 1],
            }[rule.to]
        points = []
        for level in levels_reached:
            if 0 <= level < count and level != own_level:
                point = levels.copy()
                point[axis] = level
                for other, reset in self._resets.get(axis, ()):
                    point[other] = reset
                points.append(point)
        return points

    def _count(self, axis: Axis) -> int:
        """How many neighbours an axis gives a row, at most."""
        rule = self._rules.get(self.space.axes.index(axis))
        other_levels = len(axis.levels) - 1
        if rule is None:
            return other_levels if axis.kind == "categorical" else 0
        return min(other_levels, {"all": other_levels, "next": 1, "steps": 2}[rule.to])

    def _rows_of(self, vectors: Integers) -> Integers:
        return np.asarray(self._row_at[np.ravel_multi_index(tuple(vectors.T), self._shape)])

    def _nearest(self, vectors: Integers, centre: int, rung: int, free: Mask) -> Integers:
        """(m,) of a list, the nearest free row, -1 where the centre is as near; ties by lot, the
        same at each call, and of the numbers that `_poll` draws."""
        points = self._points(vectors)
        cube = self.space.unit_cube
        rows = np.flatnonzero(free)
        to_centre = np.round(cdist(points, cube[[centre]], "sqeuclidean")[:, 0], 12)
        gaps = np.round(cdist(points, cube[rows], "sqeuclidean"), 12)
        nearest_rows = []
        for gap, centre_gap in zip(gaps, to_centre, strict=True):
            tied = rows[gap == gap.min()] if len(gap) and gap.min() < centre_gap else []
            nearest_rows.append(
                int(np.random.default_rng([self.seed, centre, rung]).choice(tied))
                if len(tied)
                else -1
            )
        return np.array(nearest_rows, dtype=np.int64)

    def _points(self, vectors: Integers) -> Floats:
        """(m, D) in the unit cube."""
        return np.hstack([axis.columns[vectors[:, a]] for a, axis in enumerate(self.space.axes)])

    @cached_property
    def _shape(self) -> tuple[int, ...]:
        return tuple(len(axis.levels) for axis in self.space.axes)

    @cached_property
    def _gaps(self) -> dict[int, float]:
        return {a: 1.0 / (len(self.space.axes[a].levels) - 1) for a in self.ordinal}

    @cached_property
    def _row_at(self) -> Integers:
        """(M,) of a full grid: the row at each place of the grid whose last axis varies fastest."""
        rows = np.empty(len(self.space), dtype=np.int64)
        rows[np.ravel_multi_index(tuple(self.space.rows.T), self._shape)] = np.arange(
            len(self.space)
        )
        return rows

    @cached_property
    def _rules(self) -> dict[int, Neighbour]:
        numbers = {axis.name: a for a, axis in enumerate(self.space.axes)}
        return {numbers[rule.axis]: rule for rule in self.polling.neighbours}

    @cached_property
    def _resets(self) -> dict[int, list[tuple[int, int]]]:
        """Of each axis the others that its neighbours reset, and to which level."""
        numbers = {axis.name: a for a, axis in enumerate(self.space.axes)}
        return {
            axis: [
                (numbers[name], self.space.axes[numbers[name]].levels.index(level))
                for name, level in rule.reset
            ]
            for axis, rule in self._rules.items()
        }

    def _move(self, centre: int, direction: Floats, size: float) -> Integers:
        """The levels (d,) of a row moved along a direction (n,) by the frame's size."""
        levels = self.space.rows[centre].copy()
        for a, z in zip(self.ordinal, direction.tolist(), strict=True):
            gap = self._gaps[a]
            places = self.space.axes[a].columns[:, 0]
            step = z * max(size, gap)
            if abs(z) < 1.0 and abs(step) < gap / 2:
                continue
            own_place = places[levels[a]]
            levels_beyond = np.flatnonzero(places > own_place if z > 0 else places < own_place)
            if len(levels_beyond):  # else it is at an end
                levels[a] = levels_beyond[
                    np.argmin(np.round(np.abs(places[levels_beyond] - own_place - step), 12))
                ]
        return np.asarray(levels)


def refuse_neighbours(space: Space, polling: Polling) -> None:
    """Raise ConfigError "config-invalid" unless the axes and levels that neighbours name are in the
    space."""
    axes = {axis.name: axis.levels for axis in space.axes}

    def levels_of(name: str, where: str) -> tuple[Level, ...]:
        if name in axes:
            return axes[name]
        hint = did_you_mean(name, axes, f"its axes are {', '.join(axes)}")
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
def _poll(mesh: Mesh, centre: int, rung: int) -> Integers:
    """(m, d) the points about a row at a rung.  Its numbers are those of the lots of `_nearest`,
    and at rung 0 of `_near`, as a seed is padded with zeros; other ones would make other
    journals."""
    rng = np.random.default_rng([mesh.seed, centre, rung])
    count = len(mesh.ordinal)
    if not count:
        return np.zeros((0, len(mesh.space.axes)), dtype=np.int64)
    normal = rng.standard_normal(count)
    basis = reflection(normal) if rung < mesh.last else np.eye(count)
    points = [mesh._move(centre, direction, SIZES[rung]) for direction in directions(basis, rng)]
    other_points = [levels for levels in points if (levels != mesh.space.rows[centre]).any()]
    return np.array(other_points, dtype=np.int64).reshape(-1, len(mesh.space.axes))


@lru_cache(maxsize=4096)
def _near(mesh: Mesh, centre: int) -> Integers:
    """The 2n + aside rows nearest to a row, ties by lot, of the numbers of `_poll` at rung 0."""
    gap = np.round(((mesh.space.unit_cube - mesh.space.unit_cube[centre]) ** 2).sum(axis=1), 12)
    lot = np.random.default_rng([mesh.seed, centre]).permutation(len(gap))
    gap[centre] = np.inf
    order = np.asarray(np.lexsort((lot, gap)), dtype=np.int64)
    return np.asarray(order[: min(len(gap) - 1, 2 * len(mesh.ordinal) + mesh.aside)])
