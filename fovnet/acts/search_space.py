"""The space of a configuration's search, and the configuration that it tries first."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import yaml

from fovnet.acts.warm_start import warm_start_networks
from fovnet.config.models import Settings
from fovnet.config.numbers import parse_number
from fovnet.config.space import MEMBERS
from fovnet.config.yaml_text import read_value
from fovnet.errors import ConfigError, SearchError
from fovnet.net.family import axes
from fovnet.net.family.layered_tree import refuse_foreign_tree
from fovnet.net.training.warm_start import Beginning, space_of_members
from fovnet.search.look.mesh import refuse_neighbours
from fovnet.search.look.neighbour_rules import level_rules
from fovnet.search.look.view import POLLING, Neighbour, Polling
from fovnet.search.space import Axis, Space, paper_space
from fovnet.search.tree.start import change_point, tree_with_start
from fovnet.search.tree.tree import Tree


def search_space(settings: Settings, networks: Sequence[Beginning] | None = None) -> Space:
    """The search space: the paper's 34,300 rows, the configurations of the warm-start networks, or
    the axes of the settings.

    networks  those of the warm start, where they are known
    Raises SearchError as `fovnet.net.family.axes.order_axes`, and "search-tree" for a tree, ModelError
    as `warm_start_networks`, and ConfigError as `refuse_neighbours`.
    """
    if settings.search.has_tree:
        raise SearchError(
            "search-tree",
            "search.space: a tree has no table of rows; give every variable a list of levels",
        )
    if settings.search.space == "paper":
        space = paper_space()
    elif settings.search.space == MEMBERS:
        space = space_of_members(warm_start_networks(settings) if networks is None else networks)
    else:
        levels_by_axis = settings.search.model_dump()["space"]
        space = Space(
            axes.order_axes([Axis.of(name, levels) for name, levels in levels_by_axis.items()])
        )
    refuse_neighbours(space, polling_of(settings))
    return space


def search_tree(settings: Settings) -> Tree:
    """The tree of the settings, with the start values of `search.start`.  Raises SearchError as
    `tree_with_start` and `refuse_foreign_tree`, and ConfigError as `level_rules`."""
    tree = tree_with_start(settings.search.model_dump()["space"], settings.search.start)
    refuse_foreign_tree(tree)
    level_rules(tree, polling_of(settings))
    return tree


def polling_of(settings: Settings) -> Polling:
    """How the search polls, if it does."""
    neighbours = tuple(
        Neighbour(axis, neighbour_rule.to, tuple(neighbour_rule.reset.items()))
        for axis, neighbour_rule in settings.search.neighbours.items()
    )
    if settings.search.mads:
        return Polling(neighbours=neighbours, **settings.search.mads.model_dump())
    return replace(POLLING, neighbours=neighbours)


def start_configuration(
    settings: Settings, networks: Sequence[Beginning] | None = None
) -> dict[str, Any]:
    """The configuration tried first: as configured, or that of the best warm-start network, of
    `networks` where they are known.  Raises ModelError as `warm_start_networks`, and SearchError as
    `search_tree`."""
    if settings.search.has_tree:
        tree = search_tree(settings)
        return tree.configuration(tree.start_point)
    if networks is None:
        networks = warm_start_networks(settings)
    return dict(networks[0].configuration if networks else settings.search.start)


def change_start(settings: Settings, changes: list[str]) -> dict[str, Any]:
    """The start configuration with "axis=level" changes; of a tree, what they make active begins with
    its start values.  Raises ConfigError ("train-set"), and SearchError as `axes.change_levels` or
    `change_point`."""
    level_by_axis: dict[str, Any] = {}
    for change in changes:
        axis, equals_sign, level_text = change.partition("=")
        axis = axis.strip()
        if not equals_sign:
            raise ConfigError(
                "train-set", f"--set {change}: give axis=level, for instance --set log2_filters=4"
            )
        if axis in level_by_axis:
            raise ConfigError(
                "train-set", f"--set {change}: {axis} is set twice; leave out one of them"
            )
        try:
            level_by_axis[axis] = parse_number(read_value(level_text))
        except (yaml.YAMLError, ValueError, RecursionError):
            raise ConfigError(
                "train-set",
                f"--set {change}: {level_text!r} is not a level of an axis; give a number or a word, "
                "for instance --set log2_filters=4",
            ) from None
    if settings.search.has_tree:
        tree = search_tree(settings)
        start = tree.configuration(tree.start_point)
        return change_point(tree, start, level_by_axis, "--set")
    return axes.change_levels(start_configuration(settings), level_by_axis)
