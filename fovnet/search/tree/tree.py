"""A space whose number of variables changes with the values of some of them.

    d  variables of the tree, all copies and branches counted      m  points
    points  (m, d) float64, the number of each variable, nan where it is inactive

A repeat has as many copies of its group as its value says, a choice the variables of one branch.
Such headers stand before what they make active.
"""

from __future__ import annotations

import json
import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from fovnet.search.space import Axis, Level
from fovnet.search.tree.variables import Counts, Levels, Values, header_kind, values_of

Floats = NDArray[np.float64]
Integers = NDArray[np.int64]
Configuration = Mapping[str, Level]

ROOT = -1
"""The header of what is always active."""


class Variable(NamedTuple):
    """One variable of a tree.

    key        its name in a point: "conv.2.kernel", "optimiser.rate"
    path       its own name: "optimiser.sgd.rate"; in a point two branches may share a key
    family     that of all copies: "conv.kernel", "optimiser.sgd.rate"
    values     which it may have
    header     the number of the variable that makes it active, or ROOT
    least, most  it is active where the header's number is between them
    copy       the copy that it belongs to: "conv.2"; empty where it is of none
    form       its declaration, with `repeat`, `choose` or neither
    """

    key: str
    path: str
    family: str
    values: Values
    header: int
    least: float
    most: float
    copy: str
    form: Any

    def is_active(self, numbers: Sequence[float]) -> bool:
        """Whether it is active in a point (d,) whose headers are settled; nan compares as False."""
        return self.header == ROOT or self.least <= numbers[self.header] <= self.most

    @property
    def is_repeat(self) -> bool:
        """Whether it counts copies of a group."""
        return header_kind(self.form) == "repeat"

    @property
    def is_category(self) -> bool:
        """Whether its values have no order."""
        return isinstance(self.values, Levels) and self.values.is_category

    @property
    def is_structural(self) -> bool:
        """Whether its values tell structures of points apart: a repeat, a choice, a category."""
        return self.is_repeat or self.is_category

    @property
    def grows_first(self) -> bool:
        """Whether a copy is added before the first layer of the data, not after the last."""
        return self.is_repeat and self.form.get("grows") == "first"


@dataclass(frozen=True, eq=False)
class Tree:
    """A tree, as declared, and the start value of each variable (d,), active or not.

    declared  {name: form}: a list of levels, or a mapping with `real`, `whole`, `ordinal`,
              `categorical`, `log`, `choose`, or `repeat` with `each`
    starts    what a variable begins with when it becomes active; None: as declared
    """

    declared: Mapping[str, Any]
    starts: Floats

    @classmethod
    def of(cls, declared: Mapping[str, Any]) -> Tree:
        """The tree whose start values are those of its declaration, or midway."""
        variables = _variables_of(declared)
        return cls(declared, np.array([_declared_start(variable) for variable in variables]))

    @cached_property
    def variables(self) -> tuple[Variable, ...]:
        """(d,) in order: headers first, copies by their numbers, then as declared."""
        return tuple(_variables_of(self.declared))

    def __len__(self) -> int:
        return len(self.variables)

    @property
    def facts(self) -> dict[str, Any]:
        """The tree as JSON; the list of starts also holds the order of the variables."""
        starts = [
            [variable.path, variable.values.write(start)]
            for variable, start in zip(self.variables, self.starts.tolist(), strict=True)
        ]
        return {"space": self.declared, "starts": starts}

    @classmethod
    def from_facts(cls, facts: Mapping[str, Any]) -> Tree:
        """The tree from its JSON form.  Raises KeyError, TypeError or ValueError if it is invalid."""
        variables = _variables_of(facts["space"])
        starts = [
            variable.values.read(level)
            for variable, (_, level) in zip(variables, facts["starts"], strict=True)
        ]
        return cls(facts["space"], np.array(starts))

    @cached_property
    def most_active(self) -> int:
        """The greatest number of variables of a point."""
        return _most_active(self.declared)

    @cached_property
    def point_count(self) -> float:
        """The number of points, fitting or not; inf where a number is real, or where they are more
        than 1.8e308."""
        return _count_points(self.declared)

    @property
    def size_in_words(self) -> str:
        """ "tree of 65 variables, 53 at most active"."""
        return f"tree of {len(self)} variables, {self.most_active} at most active"

    @property
    def keys(self) -> tuple[str, ...]:
        """The names that a point may have, in order, each once."""
        return tuple(dict.fromkeys(variable.key for variable in self.variables))

    @cached_property
    def start_point(self) -> Floats:
        """(d,) the point of all start values."""
        return np.asarray(self.canonical(self.starts[None])[0])

    def canonical(self, points: Floats) -> Floats:
        """Points (m, d) in their one form: values rounded and within their ends, start values for
        what is active without one, nan for what is not."""
        canonical = np.where(np.isnan(points), self.starts, points)
        for values, numbers in self.numbers_by_values:
            canonical[:, numbers] = values.round(canonical[:, numbers])
        for owned in self._owned_variables:
            counts = canonical[:, [owned.header]]  # nan, where inactive, compares as False
            is_active = (owned.least <= counts) & (counts <= owned.most)
            canonical[:, owned.numbers] = np.where(is_active, canonical[:, owned.numbers], np.nan)
        return canonical

    @cached_property
    def numbers_by_values(self) -> list[tuple[Values, Integers]]:
        """The numbers of the variables that may have these values, such as all copies of one."""
        numbers_by_values: dict[Values, list[int]] = {}
        for number, variable in enumerate(self.variables):
            numbers_by_values.setdefault(variable.values, []).append(number)
        return [(values, np.array(numbers)) for values, numbers in numbers_by_values.items()]

    @cached_property
    def numbers_by_copy(self) -> dict[str, Integers]:
        """The numbers of the variables of every copy, those of two copies of a group in one order."""
        numbers_by_copy: dict[str, list[int]] = {}
        for number, variable in enumerate(self.variables):
            numbers_by_copy.setdefault(variable.copy, []).append(number)
        return {copy: np.array(numbers) for copy, numbers in numbers_by_copy.items()}

    @cached_property
    def _owned_variables(self) -> list[_OwnedVariables]:
        """Those of every header, outer ones first."""
        headers = sorted({variable.header for variable in self.variables} - {ROOT})
        return [_OwnedVariables.of(header, self.variables) for header in headers]

    def point(self, configuration: Configuration) -> Floats:
        """(d,) the canonical point of a configuration: what is inactive in it is dropped, what is
        missing gets its start value.  Raises ValueError for a value that a variable cannot have."""
        numbers = [np.nan] * len(self)
        for number, variable in enumerate(self.variables):
            if not variable.is_active(numbers):
                continue
            numbers[number] = float(self.starts[number])
            if variable.key in configuration:
                numbers[number] = variable.values.read(configuration[variable.key])
        return np.array(numbers)

    def configuration(self, point: Floats) -> dict[str, Level]:
        """The active values of a canonical point (d,), in order."""
        return {
            variable.key: variable.values.write(number)
            for variable, number in zip(self.variables, point.tolist(), strict=True)
            if not math.isnan(number)
        }

    def columns(self, points: Floats) -> dict[str, NDArray[Any]]:
        """The values (m,) of canonical points (m, d) by key, nan or "nan" where inactive."""
        columns: dict[str, NDArray[Any]] = {}
        for variable, numbers in zip(self.variables, points.T, strict=True):
            column = variable.values.column(numbers)
            if variable.key in columns:
                column = np.where(np.isnan(numbers), columns[variable.key], column)
            columns[variable.key] = column
        return columns


class _OwnedVariables(NamedTuple):
    """The variables that a header makes active: their numbers, and between which numbers of the header
    each is active; (k,) each."""

    header: int
    numbers: Integers
    least: Floats
    most: Floats

    @classmethod
    def of(cls, header: int, variables: Sequence[Variable]) -> _OwnedVariables:
        owned = [
            (number, variable.least, variable.most)
            for number, variable in enumerate(variables)
            if variable.header == header
        ]
        numbers, least, most = zip(*owned, strict=True)
        return cls(header, np.array(numbers), np.array(least), np.array(most))


def written_form(configuration: Configuration) -> str:
    """A configuration as the text that tells it from others: equal for equal points alone."""
    return json.dumps(dict(configuration), separators=(",", ":"))


def _most_active(declared: Mapping[str, Any]) -> int:
    """How many of these variables can be active together."""
    count = 0
    for form in declared.values():
        count += 1
        if header_kind(form) == "repeat":
            count += int(form["repeat"]["high"]) * _most_active(form["each"])
        elif header_kind(form) == "choose":
            count += max(_most_active(branch) for branch in form["choose"].values())
    return count


def _count_points(declared: Mapping[str, Any]) -> float:
    """How many combinations of values these variables have."""
    count = 1.0
    for name, form in declared.items():
        if header_kind(form) == "repeat":
            lowest, highest = (int(form["repeat"][end]) for end in ("low", "high"))
            group_count = _count_points(form["each"])
            count *= sum(_power(group_count, copies) for copies in range(lowest, highest + 1))
        elif header_kind(form) == "choose":
            count *= sum(_count_points(branch) for branch in form["choose"].values())
        else:
            count *= values_of(name, form).count
    return count


def _power(count: float, exponent: int) -> float:
    """count^exponent; inf where that is too large for a number, as of 64 convolutions."""
    try:
        return count**exponent
    except OverflowError:
        return math.inf


class Place(NamedTuple):
    """Where declared variables stand: under which names, and what makes them active."""

    key: str = ""
    path: str = ""
    family: str = ""
    header: int = ROOT
    least: float = 0.0
    most: float = 0.0
    copy: str = ""


def _variables_of(declared: Mapping[str, Any]) -> list[Variable]:
    """All variables of a declaration, in order."""
    variables: list[Variable] = []
    _append_variables(variables, declared, Place())
    return variables


def _append_variables(variables: list[Variable], declared: Mapping[str, Any], place: Place) -> None:
    """Appends the variables that are declared at a place, and all that they make active."""
    for name, form in declared.items():
        number = len(variables)
        key, path, family = (
            _joined(prefix, name) for prefix in (place.key, place.path, place.family)
        )
        values = _header_values(name, form)
        variables.append(
            Variable(
                key, path, family, values, place.header, place.least, place.most, place.copy, form
            )
        )
        if header_kind(form) == "repeat":
            highest = int(form["repeat"]["high"])
            for copy in range(1, highest + 1):
                copy_name = f"{key}.{copy}"
                inner_place = Place(
                    copy_name, f"{path}.{copy}", family, number, copy, highest, copy_name
                )
                _append_variables(variables, form["each"], inner_place)
        elif header_kind(form) == "choose":
            for level, (branch, inner) in enumerate(form["choose"].items()):
                inner_place = Place(
                    key, f"{path}.{branch}", f"{family}.{branch}", number, level, level, place.copy
                )
                _append_variables(variables, inner, inner_place)


def _joined(prefix: str, name: str) -> str:
    if not prefix:
        return name
    return f"{prefix}.{name}"


def _header_values(name: str, form: Any) -> Values:
    """The values of a variable: of a repeat its counts, of a choice its branches."""
    if header_kind(form) == "repeat":
        return Counts(form["repeat"]["low"], form["repeat"]["high"], is_whole=True)
    if header_kind(form) == "choose":
        return Levels(Axis(name, tuple(form["choose"]), "categorical"))
    return values_of(name, form)


def _declared_start(variable: Variable) -> float:
    """The start value beside a variable's kind, else midway, or the first level."""
    if isinstance(variable.form, Mapping) and "start" in variable.form:
        return variable.values.read(variable.form["start"])
    return variable.values.middle


def points_of(tree: Tree, configurations: Sequence[Configuration]) -> Floats:
    """(m, d) the points of configurations.  Raises as `Tree.point`."""
    if not configurations:
        return np.empty((0, len(tree)))
    return np.stack([tree.point(configuration) for configuration in configurations])
