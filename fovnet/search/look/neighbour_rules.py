"""The exceptions of `search.neighbours` on a tree: which levels a category has in neighbours."""

from __future__ import annotations

import numpy as np

from fovnet.errors import ConfigError
from fovnet.search.look.view import Neighbour, Polling
from fovnet.search.space import Level
from fovnet.search.tree.moves import LevelRule, LevelRules
from fovnet.search.tree.tree import Tree
from fovnet.words import did_you_mean

SETTING = "search.neighbours"


def level_rules(tree: Tree, polling: Polling) -> LevelRules:
    """The rules by the families of the categories.

    Raises ConfigError "config-invalid" for what is no category of the tree, and for a variable or a
    value of `reset` that it does not have.
    """
    families = {variable.family: None for variable in tree.variables if variable.is_category}
    for rule in polling.neighbours:
        if rule.axis not in families:
            hint = did_you_mean(rule.axis, families, f"its categories are {', '.join(families)}")
            raise ConfigError(
                "config-invalid", f"{SETTING}: {rule.axis} is not a category of the tree; {hint}"
            )
    return {rule.axis: _level_rule(tree, rule) for rule in polling.neighbours}


def _level_rule(tree: Tree, rule: Neighbour) -> LevelRule:
    """A rule, its resets as numbers (d,).  Raises ConfigError as `level_rules`."""
    resets = np.full(len(tree), np.nan)
    for name, level in rule.reset:
        setting = f"{SETTING}.{rule.axis}.reset"
        if name == rule.axis:
            raise ConfigError(
                "config-invalid",
                f"{setting}: {name} is the category in which these differ; reset other variables",
            )
        numbers = _numbers_of_name(tree, name, level, setting)
        resets = np.where(np.isnan(numbers), resets, numbers)
    return LevelRule(rule.to, resets)


def _numbers_of_name(tree: Tree, name: str, level: Level, setting: str) -> np.ndarray:
    """(d,) a level as the number of each variable of a name: as in a point, "optimiser.rate", or of one
    branch, "optimiser.adam.rate"; nan elsewhere.  Raises ConfigError as `level_rules`."""
    numbers = np.full(len(tree), np.nan)
    for number, variable in enumerate(tree.variables):
        if name not in (variable.key, variable.path):
            continue
        try:
            numbers[number] = variable.values.read(level)
        except ValueError as wanted:
            raise ConfigError(
                "config-invalid", f"{setting}: {variable.path} = {level}; give {wanted}"
            ) from None
    if np.isnan(numbers).all():
        hint = did_you_mean(name, tree.keys, f"it has {', '.join(tree.keys)}")
        raise ConfigError("config-invalid", f"{setting}: {name} is not in the tree; {hint}")
    return numbers
