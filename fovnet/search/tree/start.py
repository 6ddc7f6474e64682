"""The start of a search over a tree, as a user writes it: nested, layers in the order of the data."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import replace
from typing import Any

import numpy as np

from fovnet.errors import SearchError
from fovnet.search.space import Level
from fovnet.search.tree.tree import Configuration, Tree, Variable
from fovnet.search.tree.variables import header_kind
from fovnet.words import did_you_mean

START = "search.start"


def tree_with_start(declared: Mapping[str, Any], start: Mapping[str, Any]) -> Tree:
    """The tree of a declaration whose start values are those of `start` where it has them.

    A copy beyond those of the start begins as the outermost of them.  Raises SearchError:
    "tree-value" for a value or a branch that there is not, "tree-count" for too many copies or too
    few, "tree-inactive" for a variable of another branch, "space-axes" for an unknown name.
    """
    tree = Tree.of(declared)
    number_by_path = {variable.path: number for number, variable in enumerate(tree.variables)}
    starts = tree.starts.copy()
    for path, value in _start_values(declared, start, ""):
        number = number_by_path[path]
        starts[number] = _read_value(tree.variables[number], value)
    return replace(tree, starts=starts)


def _read_value(variable: Variable, value: Any, setting: str = START) -> float:
    """The number of a value.  Raises SearchError "tree-value"."""
    try:
        return variable.values.read(value)
    except ValueError as wanted:
        raise SearchError(
            "tree-value", f"{setting}: {variable.path} = {value}; give {wanted}"
        ) from None


def _start_values(
    declared: Mapping[str, Any], start: Mapping[str, Any], prefix: str
) -> Iterator[tuple[str, Any]]:
    """(path, value) of all that a start says of the variables declared under a prefix."""
    for name, value in start.items():
        path = f"{prefix}{name}"
        if name not in declared:
            suggestion = did_you_mean(name, declared, f"there {_are(declared)}")
            raise SearchError("space-axes", f"{START}: {path}: not in search.space; {suggestion}")
        form = declared[name]
        if header_kind(form) == "repeat":
            yield from _values_of_copies(form, value, path)
        elif header_kind(form) == "choose":
            yield from _values_of_branch(form["choose"], value, path)
        else:
            yield path, value


def _are(declared: Mapping[str, Any]) -> str:
    """ "are channels, kernel"."""
    if not declared:
        return "is no variable"
    return f"are {', '.join(declared)}"


def _values_of_copies(form: Mapping[str, Any], value: Any, path: str) -> Iterator[tuple[str, Any]]:
    """(path, value) of a repeat and its copies, from a list of groups, of which one of a single variable
    may be its value, or from their number.  Raises SearchError "tree-count" or "tree-value"."""
    each = form["each"]
    lowest = int(form["repeat"]["low"])
    highest = int(form["repeat"]["high"])
    if not isinstance(value, list):
        yield path, value
        return
    if not lowest <= len(value) <= highest:
        wanted = f"{lowest} to {highest}"
        if lowest == highest:
            wanted = f"{highest}"
        raise SearchError("tree-count", f"{START}: {path} has {len(value)} groups; give {wanted}")
    yield path, len(value)
    if not value:
        return
    groups = value
    if form.get("grows") == "first":
        groups = value[::-1]
    for copy in range(1, highest + 1):
        group = groups[min(copy, len(groups)) - 1]
        if not isinstance(group, Mapping) and len(each) > 1:
            raise SearchError(
                "tree-value",
                f"{START}: {path}.{copy} = {group}; give a group with {', '.join(each)}",
            )
        if not isinstance(group, Mapping):
            group = dict.fromkeys(each, group)
        yield from _start_values(each, group, f"{path}.{copy}.")


def _values_of_branch(
    branches: Mapping[str, Any], value: Any, path: str
) -> Iterator[tuple[str, Any]]:
    """(path, value) of a choice and of the variables of the branch chosen, from {branch: values} or
    the branch alone.  Raises SearchError "tree-value" or "tree-inactive"."""
    if not isinstance(value, Mapping):
        value = {value: {}}
    if len(value) != 1:
        given = ", ".join(map(str, value)) or "nothing"
        raise SearchError(
            "tree-value", f"{START}: {path} = {given}; give one of {', '.join(branches)}"
        )
    ((branch, inner),) = value.items()
    yield path, branch
    if branch not in branches:
        return
    inner = inner or {}
    if not isinstance(inner, Mapping):
        raise SearchError(
            "tree-value",
            f"{START}: {path}.{branch} = {inner}; give {{name: value}}, or leave it out",
        )
    for name in inner:
        owners = [owner for owner, variables in branches.items() if name in variables]
        if name not in branches[branch] and owners:
            remedy = f"choose {owners[0]}"
            raise _inactive(
                START, f"{path}.{name} {inner[name]}", owners[0], f"{path} is {branch}", remedy
            )
    yield from _start_values(branches[branch], inner, f"{path}.{branch}.")


def _inactive(setting: str, value: str, owner: str, state: str, remedy: str) -> SearchError:
    return SearchError(
        "tree-inactive",
        f"{setting}: {value} belongs to {owner}, but {state}; leave it out, or {remedy}",
    )


def change_point(
    tree: Tree, configuration: Configuration, changes: Mapping[str, Any], setting: str
) -> dict[str, Level]:
    """A configuration with some values changed; what they make active has its start values.

    `setting` names them in errors.  Raises SearchError as `tree_with_start`.
    """
    point = [np.nan] * len(tree)
    point_before = tree.point(configuration)
    unused = dict(changes)
    for number, variable in enumerate(tree.variables):
        if not variable.is_active(point):
            continue
        point[number] = float(tree.starts[number])
        if not np.isnan(point_before[number]):
            point[number] = float(point_before[number])
        if variable.key in unused:
            point[number] = _read_value(variable, unused.pop(variable.key), setting)
    changed_configuration = tree.configuration(np.array(point))
    for key, value in unused.items():
        raise _unused_change(tree, key, value, changed_configuration, setting)
    return changed_configuration


def _unused_change(
    tree: Tree, key: str, value: Any, configuration: Configuration, setting: str
) -> SearchError:
    """Why a change is of no active variable."""
    owner = next((variable for variable in tree.variables if variable.key == key), None)
    if owner is None:
        suggestion = did_you_mean(key, tree.keys, f"there {_are(configuration)}")
        return SearchError("space-axes", f"{setting}: {key}: not in search.space; {suggestion}")
    header = tree.variables[owner.header]
    owner_name = header.values.write(owner.least)
    remedy = f"choose {owner_name}"
    if header.is_repeat:
        remedy = f"set {header.key} to {owner_name}"
        owner_name = owner.copy
    state = f"{header.key} is {configuration.get(header.key, 'inactive')}"
    return _inactive(setting, f"{key} {value}", str(owner_name), state, remedy)
