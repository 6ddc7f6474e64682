"""The space of configurations, as a user writes it: axes of a finite table, or a tree."""

from __future__ import annotations

from typing import Any

from fovnet.config.axes import axis_faults, check_axis
from fovnet.config.faults import show_value
from fovnet.config.named_trees import TREE_NAMES, named_tree
from fovnet.config.tree import check_tree, is_tree

MEMBERS = "members"  # a space: the configurations of the networks that training.begin names


def check_space(space: Any) -> Any:
    """ "paper", "members", {axis: levels}, or a tree, of a word or as written, in JSON types.  Raises
    ValueError that names every fault."""
    if space in ("paper", MEMBERS):
        return space
    if isinstance(space, str) and space in TREE_NAMES:
        return check_tree(named_tree(space).space)
    if is_tree(space):
        return check_tree(space)
    if not isinstance(space, dict) or not space:
        raise ValueError(
            f"{show_value(space)}; give paper, {', '.join(TREE_NAMES)}, 'axis: levels' lines, or {MEMBERS} where "
            "training.begin names networks"
        )
    levels_by_axis = {}
    faults: list[tuple[str, str]] = []
    for name, levels in space.items():
        try:
            levels_by_axis[str(name)] = check_axis(levels)
        except ValueError as error:
            faults += axis_faults(str(name), error)
    if faults:
        raise ValueError("; ".join(": ".join(fault) for fault in faults))
    return levels_by_axis
