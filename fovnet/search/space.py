"""The space of configurations: a finite table of rows.

    M     rows
    d     axes
    D     columns of the unit cube, D = d unless a category has more than two levels
    rows  (M, d) int64, the level of each axis, counted from 0

Search methods use rows and the unit cube; only the training uses the configuration itself.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any, Literal, cast

import numpy as np
from numpy.typing import NDArray

from fovnet.errors import SearchError
from fovnet.levels import even_ratios
from fovnet.maths.scales import Scales

Level = int | float | bool | str
Kind = Literal["ordinal", "categorical"]
Floats = NDArray[np.float64]
Integers = NDArray[np.int64]


@dataclass(frozen=True)
class Axis:
    """One hyper-parameter: its name and its levels, in order if the kind is "ordinal".

    places  positions of the levels of an ordinal axis on [0, 1]; evenly spaced if not given
    """

    name: str
    levels: tuple[Level, ...]
    kind: Kind = "ordinal"
    places: tuple[float, ...] | None = None

    def __post_init__(self) -> None:
        if not self.levels or len(set(self.levels)) < len(self.levels):
            raise SearchError(
                "space-levels",
                f"axis {self.name}: levels {list(self.levels)}; give one or more, each once.",
            )
        for level in self.levels:
            if isinstance(level, float) and not np.isfinite(level):
                raise SearchError(
                    "space-levels",
                    f"axis {self.name}: level {level}; a level is a finite number, a word, or yes/no.",
                )
        if self.places is not None and (
            len(self.places) != len(self.levels)
            or not all(0.0 <= place <= 1.0 for place in self.places)
        ):
            raise SearchError(
                "space-places",
                f"axis {self.name}: places {list(self.places)}; give each level its place on [0, 1].",
            )

    @classmethod
    def of(cls, name: str, levels: Sequence[Level] | Mapping[str, Any]) -> Axis:
        """The axis from a configuration file: a list of levels, {ordinal: levels}, {categorical:
        levels}, or {log: ...}.

        A plain list of numbers is ordinal in the order given; with a word or a yes/no among them it
        is categorical. {log: {low, high, levels}} is a grid of equal ratios, its levels rounded to
        four digits. Raises SearchError if there is no level, or one is given twice.
        """
        if not isinstance(levels, Mapping):
            return cls(name, tuple(levels), _kind_of_levels(levels))
        ((kind, levels_of_kind),) = levels.items()
        if kind == "log":
            if not 0.0 < levels_of_kind["low"] < levels_of_kind["high"]:
                raise SearchError(
                    "space-levels",
                    f"axis {name}: from {levels_of_kind['low']} to {levels_of_kind['high']}; give 0 < low < high.",
                )
            log_levels = even_ratios(
                levels_of_kind["low"], levels_of_kind["high"], levels_of_kind["levels"]
            )
            return cls(name, log_levels)
        return cls(name, tuple(levels_of_kind), cast(Kind, kind))

    @property
    def facts(self) -> dict[str, Any]:
        """The axis in JSON form; `places` only if given."""
        facts: dict[str, Any] = {
            "name": self.name,
            "levels": list(self.levels),
            "kind": self.kind,
        }
        if self.places is not None:
            facts["places"] = list(self.places)
        return facts

    @classmethod
    def from_facts(cls, facts: Mapping[str, Any]) -> Axis:
        """The axis from its JSON form."""
        axis = cls(facts["name"], tuple(facts["levels"]), facts["kind"])
        if facts.get("places") is None:
            return axis
        return replace(axis, places=tuple(facts["places"]))

    @property
    def is_real(self) -> bool:
        """Whether it is ordinal, with a level that is no whole number."""
        fractions = [isinstance(level, float) and level % 1 != 0 for level in self.levels]
        return self.kind == "ordinal" and any(fractions)

    @property
    def columns(self) -> Floats:
        """Coordinates of the levels, (levels, columns): ordinals at `places`, else evenly on [0,
        1]; any two categories 1 apart."""
        level_count = len(self.levels)
        if self.places is not None:
            return np.asarray(self.places, dtype=float)[:, None]
        if self.kind == "ordinal" or level_count <= 2:
            return np.linspace(0.0, 1.0, level_count)[:, None]
        return np.asarray(np.eye(level_count) / np.sqrt(2.0))


DIFFERENT_CATEGORY_GAP = 0.5
"""Gap of two numbers of levels, which are whole, above which they are different categories."""
MOST_ROWS = 2_000_000  # a proposal then takes 5 GB with 300 known trials


@dataclass(frozen=True, eq=False)
class Space:
    """All configurations: every combination of the axes' levels, or only those in `table` (M,
    d)."""

    axes: tuple[Axis, ...]
    table: Integers | None = None

    @classmethod
    def of(cls, levels: Mapping[str, Sequence[Level]]) -> Space:
        """The space of a plain {axis: levels}: numbers are ordinal in the order given, words and
        yes/no are categories."""
        return cls(tuple(Axis.of(name, choices) for name, choices in levels.items()))

    def __len__(self) -> int:
        return len(self.rows)

    @cached_property
    def rows(self) -> Integers:
        """(M, d), the level of each axis; in a full grid the last axis varies fastest.  Raises
        SearchError "space-rows" for too many."""
        if self.table is not None:
            return np.asarray(self.table, dtype=np.int64)
        level_counts = [len(axis.levels) for axis in self.axes]
        if math.prod(level_counts) > MOST_ROWS:
            largest_axis = max(self.axes, key=lambda axis: len(axis.levels))
            raise SearchError(
                "space-rows",
                f"{math.prod(level_counts):,} configurations; at most {MOST_ROWS:,} are modelled. Leave levels "
                f"out: {largest_axis.name} alone has {len(largest_axis.levels):,}.",
            )
        return np.indices(level_counts, dtype=np.int64).reshape(len(level_counts), -1).T

    @cached_property
    def unit_cube(self) -> Floats:
        """(M, D), each row as a point; squared distances are sums over the axes, with at most 1
        from each."""
        return np.hstack(
            [axis.columns[level] for axis, level in zip(self.axes, self.rows.T, strict=True)]
        )

    @cached_property
    def axis_of_column(self) -> Integers:
        """(D,), the axis that each column of the unit cube belongs to."""
        return np.repeat(np.arange(len(self.axes)), [axis.columns.shape[1] for axis in self.axes])

    @cached_property
    def scales(self) -> Scales:
        """The parametrisation of the columns' lengthscales; categories with the same levels share
        those of the levels."""
        scales_by_levels: dict[tuple[Level, ...], NDArray[Any]] = {}
        scale_count = 0
        scale_of_columns = []
        for axis in self.axes:
            if axis.columns.shape[1] == 1:
                # also an ordinal axis of the same levels has a lengthscale of its own
                scale_of_columns.append(np.full(1, -1))
                continue
            if axis.levels not in scales_by_levels:
                scales_by_levels[axis.levels] = scale_count + np.arange(len(axis.levels))
                scale_count += len(axis.levels)
            scale_of_columns.append(scales_by_levels[axis.levels])
        return Scales.of(self.axis_of_column, np.concatenate(scale_of_columns))

    def configuration(self, row: int) -> dict[str, Level]:
        """{axis: level} of one row, as plain Python values."""
        return {
            axis.name: axis.levels[level]
            for axis, level in zip(self.axes, self.rows[row].tolist(), strict=True)
        }

    def row_of(self, configuration: Mapping[str, Any]) -> int:
        """The row of a configuration.  Raises SearchError if an axis is missing or unknown, or the
        level or the row is not in the space."""
        self._refuse_other_axes(configuration)
        level_indices = np.array(
            [_index_of_level(axis, configuration[axis.name]) for axis in self.axes]
        )
        matching_rows = np.flatnonzero((self.rows == level_indices).all(axis=1))
        if not len(matching_rows):
            raise SearchError(
                "space-row",
                f"{dict(configuration)} is not listed in this space; choose a listed row.",
            )
        return int(matching_rows[0])

    def _refuse_other_axes(self, configuration: Mapping[str, Any]) -> None:
        """Raises SearchError "space-axes" if a configuration lacks an axis or has an unknown one."""
        axis_names = {axis.name for axis in self.axes}
        missing_names = sorted(axis_names - set(configuration))
        unknown_names = sorted(set(configuration) - axis_names)
        differences = []
        if missing_names:
            differences.append(f"lacks {', '.join(missing_names)}")
        if unknown_names:
            differences.append(f"has, unknown to the space, {', '.join(unknown_names)}")
        if differences:
            raise SearchError(
                "space-axes",
                f"the configuration (search.start) {' and '.join(differences)}; give each axis of the space once.",
            )

    def nearest_row(self, levels: Integers, is_allowed: NDArray[np.bool_]) -> int:
        """The row nearest to `levels` (d,) in the unit cube, of those allowed (M,); the
        first of equally near ones."""
        cube_point = np.concatenate(
            [axis.columns[level] for axis, level in zip(self.axes, levels, strict=True)]
        )
        allowed_rows = np.flatnonzero(is_allowed)
        squared_distances = ((self.unit_cube[allowed_rows] - cube_point) ** 2).sum(axis=1)
        # rounded: equally near means equal, not to the last bit
        return int(allowed_rows[np.argmin(np.round(squared_distances, 12))])


def row_places(space: Space) -> Floats:
    """(M, d) every row as one number per axis: its place on [0, 1], or the number of its level
    where the axis is categorical."""
    axis_places: list[NDArray[Any]] = []
    for axis, level_indices in zip(space.axes, space.rows.T, strict=True):
        if axis.kind == "ordinal":
            axis_places.append(axis.columns[level_indices, 0])
        else:
            axis_places.append(level_indices)
    return np.column_stack(axis_places).astype(np.float64)


def draw_nearest_free(
    space: Space,
    places: Floats,
    point: Floats,
    is_free: NDArray[np.bool_],
    rng: np.random.Generator,
) -> int:
    """The free row nearest to a point (d,), given the places (M, d) of all rows and which of them
    are free (M,); ties are drawn at random.

    A space of categories has many ties, the first of which would always be in the same part of the
    table.
    """
    free_rows = np.flatnonzero(is_free)
    free_distances = distances_to_point(space, places[free_rows], point)
    return int(rng.choice(free_rows[free_distances == free_distances.min()]))


def distances_to_point(space: Space, places: Floats, point: Floats) -> Floats:
    """(m,) from a point (d,) to rows at these places (m, d): the sum of distances along ordinals
    and 1 per category that differs, rounded so that equally far means equal."""
    is_ordinal = np.array([axis.kind == "ordinal" for axis in space.axes])
    gaps = np.abs(places - point)
    distance_by_axis = np.where(is_ordinal, gaps, gaps > DIFFERENT_CATEGORY_GAP)
    return np.asarray(np.round(distance_by_axis.sum(axis=1), 12))


def paper_space() -> Space:
    """The 34,300 networks of Bertrand et al. (ISBI 2017): blocks, convolutions, filters, kernel,
    separable, rate, batch."""
    return Space.of(PAPER_LEVELS)


PAPER_LEVELS: Mapping[str, tuple[Level, ...]] = {
    "blocks": tuple(range(1, 6)),
    "convolutions": tuple(range(1, 6)),
    "log2_filters": tuple(range(2, 9)),
    "kernel": (3, 5),
    "separable": (False, True),
    "log10_learning_rate": tuple(range(-7, 0)),
    "log2_batch": tuple(range(2, 9)),
}

BASELINE_CONFIGURATION: Mapping[str, Level] = {
    "blocks": 5,
    "convolutions": 1,
    "log2_filters": 6,
    "kernel": 3,
    "separable": False,
    "log10_learning_rate": -3,
    "log2_batch": 3,
}
"""The hand-made baseline network of the paper."""


def _kind_of_levels(levels: Sequence[Level]) -> Kind:
    """Categorical if a word or a yes/no is among the levels, else ordinal."""
    if any(isinstance(level, bool | str) for level in levels):
        return "categorical"
    return "ordinal"


def _index_of_level(axis: Axis, level: Any) -> int:
    """The index of a level of an axis.  Raises SearchError "space-level" if it has no such
    level."""
    if level not in axis.levels:
        known_levels = list(axis.levels)
        raise SearchError(
            "space-level",
            f"{axis.name} = {level!r} (search.start) is not in the space; its levels are {known_levels}.",
        )
    return axis.levels.index(level)
