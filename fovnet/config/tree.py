"""A space whose number of variables changes, as a user writes it: with `repeat`, `choose`, `real` or
`whole` among its variables."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any, NamedTuple

from fovnet.config.axes import AXIS_KINDS, axis_faults, check_axis
from fovnet.config.faults import PathFaults, show_value
from fovnet.config.numbers import parse_level, parse_number
from fovnet.levels import even_ratios
from fovnet.words import did_you_mean

RANGES = ("real", "whole")
TREE_KINDS = (*RANGES, "choose", "repeat")
"""A mapping with one of these among its variables is a tree."""
MOST_COPIES = 64


class FormPlace(NamedTuple):
    """Where variables are declared.

    path    below search.space, without `each`
    header  the repeat or choice that they belong to; empty at the top of the space
    inside  the same path as it is written, with `each`
    """

    path: str = ""
    header: str = ""
    inside: str = ""


def is_tree(space: Any) -> bool:
    """Whether a space, as written, is a tree."""
    return isinstance(space, Mapping) and any(
        isinstance(form, Mapping) and any(kind in form for kind in TREE_KINDS)
        for form in space.values()
    )


def describe_header(tree: Mapping[str, Any]) -> str:
    """Why a checked space is a tree: "conv repeats 1 to 8 times"."""
    for name, form in tree.items():
        if isinstance(form, Mapping) and "repeat" in form:
            return f"{name} repeats {form['repeat']['low']} to {form['repeat']['high']} times"
    for name, form in tree.items():
        if isinstance(form, Mapping) and "choose" in form:
            return f"{name} has branches"
    name = next(
        name for name, form in tree.items() if isinstance(form, Mapping) and set(form) & {*RANGES}
    )
    return f"{name} is a range of numbers"


def check_tree(space: Mapping[Any, Any]) -> dict[str, Any]:
    """A tree in JSON types.  Raises PathFaults that names every fault."""
    faults: list[tuple[str, str]] = []
    tree = _check_variables(space, FormPlace(), faults)
    if faults:
        raise PathFaults(faults)
    return tree


def _joined(*names: str) -> str:
    return ".".join(filter(None, names))


def _check_variables(space: Any, place: FormPlace, faults: list[tuple[str, str]]) -> dict[str, Any]:
    """Variables in JSON types; their faults are appended."""
    if not isinstance(space, Mapping):
        faults.append((place.path, f"{show_value(space)}; give 'name: values' lines"))
        return {}
    checked: dict[str, Any] = {}
    for raw_name, form in space.items():
        name = str(raw_name)
        if name_fault := _fault_of_name(name, checked):
            faults.append((place.path, name_fault))
            continue
        kind = _kind_of(form)
        path = _joined(place.path, name)
        if kind == "repeat":
            written_path = _joined(place.inside, name)
            checked[name] = _check_repeat(form, path, place.header, written_path, faults)
        elif kind == "choose":
            checked[name] = _check_choice(form, path, place, faults)
        elif kind in RANGES:
            checked[name] = _check_range(kind, form, path, faults)
        else:
            checked[name] = _check_levels(form, path, faults)
    return checked


def _fault_of_name(name: str, earlier: Mapping[str, Any]) -> str:
    """Why a name cannot be used; empty if it can."""
    if "." in name:
        return f"{name}: names have no dot; it joins the names of a group"
    if name.isdigit() or not name:
        return f"{name}: names are no numbers; these count the copies of a group"
    if name in earlier:
        return f"{name}: the name is given twice; choose another for one of them"
    return ""


def _kind_of(form: Any) -> str:
    """The kind of a tree that a form has; empty for that of a list."""
    if not isinstance(form, Mapping):
        return ""
    return next((kind for kind in TREE_KINDS if kind in form), "")


def _check_keys(
    form: Mapping[Any, Any], keys: Sequence[str], path: str, faults: list[tuple[str, str]]
) -> None:
    """Appends a fault for every key that a form does not have."""
    for key in form:
        if key not in keys:
            suggestion = did_you_mean(str(key), keys, f"there are {', '.join(keys)}")
            faults.append((path, f"unknown key {key}; {suggestion}"))


def _check_range(
    kind: str, form: Mapping[str, Any], path: str, faults: list[tuple[str, str]]
) -> dict[str, Any]:
    """A real or whole variable."""
    _check_keys(form, (kind, "start"), path, faults)
    limits = _check_limits(kind, form[kind], path, faults)
    checked: dict[str, Any] = {kind: limits}
    if "start" in form:
        checked["start"] = _check_start(form["start"], kind, limits, path, faults)
    return checked


def _check_limits(
    kind: str, limits: Any, path: str, faults: list[tuple[str, str]]
) -> dict[str, Any]:
    """Low, high and maybe log of a range, whole numbers for a whole one."""
    if not isinstance(limits, Mapping) or not {"low", "high"} <= limits.keys():
        faults.append((path, f"{kind}: {show_value(limits)}; give {{low: ..., high: ...}}"))
        return {}
    keys = ["low", "high"]
    if kind != "repeat":
        keys.append("log")
    _check_keys(limits, keys, path, faults)
    low, high = (parse_number(limits[end]) for end in ("low", "high"))
    is_log = parse_level(limits.get("log", False))
    sentence = _fault_of_ends(kind, low, high, is_log)
    if sentence:
        faults.append((path, sentence))
        return {}
    checked: dict[str, Any] = {"low": int(low), "high": int(high)}
    if kind == "real":
        checked = {"low": float(low), "high": float(high)}
    if is_log:
        checked["log"] = True
    return checked


def _fault_of_ends(kind: str, low: Any, high: Any, is_log: Any) -> str:
    """What is wrong with the ends of a range; empty if nothing is."""
    for end, number in (("low", low), ("high", high)):
        if not _is_finite_number(number):
            return f"{end} {show_value(number)}; give a number"
        if kind != "real" and number != int(number):
            return f"{end} {number:g}; give whole numbers"
    if low > high:
        return f"{kind} from {low:g} to {high:g}; low must be smaller: swap them"
    if kind == "repeat" and low < 0:
        return f"repeat from {low:g}; give 0 or more"
    if kind == "repeat" and high > MOST_COPIES:
        return f"repeat up to {high:g}; at most {MOST_COPIES} copies are modelled"
    if not isinstance(is_log, bool):
        return f"log {show_value(is_log)}; give true, or leave log out"
    if is_log and low <= 0:
        return f"log from {low:g}; give a low above 0, or leave log out"
    return ""


def _is_finite_number(number: Any) -> bool:
    is_number = isinstance(number, int | float) and not isinstance(number, bool)
    return is_number and abs(number) < float("inf")


def _check_start(
    raw_start: Any, kind: str, limits: Mapping[str, Any], path: str, faults: list[tuple[str, str]]
) -> Any:
    """A start value beside its kind."""
    start = parse_number(raw_start)
    if not limits:
        return start
    low, high = limits["low"], limits["high"]
    is_within = _is_finite_number(start) and low <= start <= high
    if is_within and (kind == "real" or start == int(start)):
        return start
    wanted = "a whole number"
    if kind == "real":
        wanted = "a number"
    faults.append((path, f"start {show_value(start)}; give {wanted} from {low:g} to {high:g}"))
    return start


def _check_levels(form: Any, path: str, faults: list[tuple[str, str]]) -> Any:
    """A list, or a mapping of its kind, as the axis of a finite space; maybe with a start."""
    if not isinstance(form, Mapping) or "start" not in form:
        return _check_axis_at(form, path, faults)
    levels_alone = {key: levels for key, levels in form.items() if key != "start"}
    checked = _check_axis_at(levels_alone, path, faults)
    start = parse_level(form["start"])
    if isinstance(checked, dict):
        levels = list(_levels_of(checked))
        # True is 1 in Python, but not in a file
        if not any(
            start == level and isinstance(start, bool) == isinstance(level, bool)
            for level in levels
        ):
            wanted = ", ".join(map(str, levels))
            faults.append((path, f"start {show_value(start)}; give one of {wanted}"))
        return {**checked, "start": start}
    return checked


def _check_axis_at(form: Any, path: str, faults: list[tuple[str, str]]) -> Any:
    """An axis in JSON types, None if it has faults."""
    try:
        return check_axis(form)
    except ValueError as error:
        faults += axis_faults(path, error)
        return None


def _levels_of(axis: Mapping[str, Any]) -> Iterator[Any]:
    """The levels of a checked axis."""
    for kind in AXIS_KINDS:
        if kind == "log" and kind in axis:
            yield from even_ratios(axis[kind]["low"], axis[kind]["high"], axis[kind]["levels"])
        elif kind in axis:
            yield from axis[kind]


def _check_repeat(
    form: Mapping[str, Any],
    path: str,
    header: str,
    written_path: str,
    faults: list[tuple[str, str]],
) -> dict[str, Any]:
    """A repeat with its group."""
    if header:
        sentence = f"a repeat within {header}; repeats stand at the top of the space"
        faults.append((written_path, sentence))
        return {}
    _check_keys(form, ("repeat", "each", "grows", "start"), path, faults)
    limits = _check_limits("repeat", form["repeat"], path, faults)
    checked: dict[str, Any] = {"repeat": limits}
    if not form.get("each"):
        faults.append((path, "repeat without variables; give each: {name: values}"))
        return checked
    inner_place = FormPlace(path, header=path, inside=f"{path}.each")
    checked["each"] = _check_variables(form["each"], inner_place, faults)
    if "grows" in form:
        checked["grows"] = form["grows"]
        if form["grows"] not in ("first", "last"):
            faults.append((path, f"grows {show_value(form['grows'])}; give first or last"))
    if "start" in form:
        checked["start"] = _check_start(form["start"], "repeat", limits, path, faults)
    return checked


def _check_choice(
    form: Mapping[str, Any], path: str, place: FormPlace, faults: list[tuple[str, str]]
) -> dict[str, Any]:
    """A choice with its branches."""
    _check_keys(form, ("choose", "start"), path, faults)
    branches = form["choose"]
    checked: dict[str, Any] = {"choose": {}}
    if not isinstance(branches, Mapping) or len(branches) < 2:
        given = "nothing"
        if isinstance(branches, Mapping) and branches:
            given = f"{next(iter(branches))} alone"
        faults.append((path, f"choose among {given}; give two branches, or no choose"))
        return checked
    written_path = _joined(place.inside, path.removeprefix(f"{place.path}."))
    for raw_branch, variables in branches.items():
        branch = str(raw_branch)
        if name_fault := _fault_of_name(branch, checked["choose"]):
            faults.append((path, name_fault))
            continue
        inner_place = FormPlace(
            f"{path}.{branch}", place.header or path, inside=f"{written_path}.{branch}"
        )
        checked["choose"][branch] = _check_variables(variables or {}, inner_place, faults)
    if "start" in form:
        checked["start"] = str(form["start"])
        if checked["start"] not in checked["choose"]:
            wanted = ", ".join(checked["choose"])
            faults.append((path, f"start {show_value(form['start'])}; give one of {wanted}"))
    return checked
