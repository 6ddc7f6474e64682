"""Functions over a tree with a known lowest value: what a search over networks of layers has to find.

Layers are added or left out, each with numbers of its own; a badly set layer costs more than none.  A
point is valid if the product of the strides of its layers is at most MOST_STRIDES.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np

from fovnet.search.space import Level
from fovnet.search.tree.costs import Columns, Fault, Priced
from fovnet.search.tree.tree import Configuration, Tree

MOST_STRIDES = 12
UNIT = {"low": 0.0, "high": 1.0}


class LayerOptimum(NamedTuple):
    """What a layer is worth at best, and where: place of a, binary logarithm of b, stride s, level c."""

    worth: float
    a: float
    log2_b: float
    s: int
    c: str


class WayOptimum(NamedTuple):
    """What a way costs at least, and where: places of r and m."""

    cost: float
    r: float
    m: float


PLAIN_LAYERS = (
    LayerOptimum(0.30, 0.2, 2, 1, "x"),
    LayerOptimum(0.25, 0.35, 3, 2, "y"),
    LayerOptimum(0.20, 0.5, 4, 1, "y"),
    LayerOptimum(0.15, 0.65, 5, 2, "z"),
    *2 * (LayerOptimum(-0.06, 0.5, 3, 1, "x"),),
)
PLAIN_WAYS = {
    "p": WayOptimum(0.0, 0.6, 0.7),
    "q": WayOptimum(0.05, 0.4, 0.2),
    "r": WayOptimum(0.12, 0.5, 0.5),
    "s": WayOptimum(0.1, 0.8, 0.3),
}
COUPLED_LAYERS = (
    LayerOptimum(0.34, 0.5, 3, 2, "x"),
    LayerOptimum(0.27, 0.5, 2, 1, "z"),
    LayerOptimum(0.19, 0.5, 4, 1, "y"),
    *3 * (LayerOptimum(-0.05, 0.5, 3, 1, "x"),),
)
COUPLED_WAYS = {
    "p": WayOptimum(0.02, 0.5, 0.3),
    "q": WayOptimum(0.09, 0.7, 0.6),
    "r": WayOptimum(0.0, 0.35, 0.8),
    "s": WayOptimum(0.12, 0.5, 0.5),
}


def _layer_form(*, has_category: bool) -> dict[str, Any]:
    """The variables of a layer."""
    form: dict[str, Any] = {
        "a": {"real": UNIT, "start": 0.8},
        "b": {"whole": {"low": 1, "high": 64, "log": True}, "start": 8},
        "s": {"whole": {"low": 1, "high": 3}, "start": 1},
    }
    if has_category:
        form["c"] = {"categorical": ["x", "y", "z"], "start": "z"}
    return form


WAY_FORM: Mapping[str, Any] = {
    "r": {"real": {"low": 1e-4, "high": 1.0, "log": True}, "start": 0.01},
    "m": {"real": UNIT, "start": 0.9},
}
COMMON_FORM: Mapping[str, Any] = {
    "u": {"real": UNIT, "start": 0.5},
    "v": {"real": {"low": 1e-5, "high": 0.1, "log": True}, "start": 0.01},
}


def conditional_tree() -> Tree:
    """36 variables, at most 30 of them active: up to six layers, and four ways with two numbers each."""
    layers = {
        "repeat": {"low": 0, "high": 6},
        "each": _layer_form(has_category=True),
        "start": 1,
    }
    way = {"choose": dict.fromkeys("pqrs", WAY_FORM), "start": "r"}
    return Tree.of({"layers": layers, "way": way, **COMMON_FORM})


def fixed_tree() -> Tree:
    """16 numbers, none of them conditional: always four layers, and one way."""
    layers = {"repeat": {"low": 4, "high": 4}, "each": _layer_form(has_category=False)}
    return Tree.of({"layers": layers, **WAY_FORM, **COMMON_FORM})


@dataclass(frozen=True)
class StrideCosts:
    """Too many strides do not fit, by the fault of the layer that is too much; all others take as long."""

    @property
    def facts(self) -> Mapping[str, Any]:
        """As JSON."""
        return {"family": "conditional", "most_strides": MOST_STRIDES, "version": 1}

    @property
    def reduced_copies(self) -> Sequence[Mapping[str, Level]]:
        """None: a layer more is like the outermost one."""
        return ()

    def __call__(self, columns: Columns, /) -> Priced:
        count = len(columns["layers"])
        faults: list[Fault | None] = [None] * count
        product = np.ones(count)
        for layer in range(1, int(columns["layers"].max()) + 1):
            fitted = product <= MOST_STRIDES
            strides = columns[f"layers.{layer}.s"]
            product = np.where(np.isnan(strides), product, product * strides)
            for point in np.flatnonzero(fitted & (product > MOST_STRIDES)).tolist():
                sentence = (
                    f"layers.{layer}.s: strides of {product[point]:g}, at most {MOST_STRIDES}"
                )
                faults[point] = Fault(sentence, "their strides", f"layers.{layer}")
        return Priced(faults, np.ones(count), np.full(count, np.nan))


@dataclass(frozen=True)
class ConditionalFunction:
    """A function over a tree.

    lowest_value  at its optimum
    tree, loss    the space, and the value of a configuration
    """

    lowest_value: float
    tree: Tree
    loss: Callable[[Configuration], float]


def _log_place(value: Level, low: float, high: float) -> float:
    """The place on [0, 1] of a number on a logarithmic scale."""
    return float(np.log(float(value) / low) / np.log(high / low))


def _gain(worth: float, misfit: float) -> float:
    """What a layer gains: its worth at best, as much lost at worst."""
    if worth > 0:
        return worth * (1 - min(misfit / 0.35, 2))
    return worth * (1 + misfit)


def plain_loss(configuration: Configuration) -> float:
    """Every number has its best value whatever the others are."""
    loss = 0.9
    for number, best in enumerate(PLAIN_LAYERS[: int(configuration["layers"])], start=1):
        a, b, s = (float(configuration[f"layers.{number}.{name}"]) for name in "abs")
        misfit = (a - best.a) ** 2 + ((np.log2(b) - best.log2_b) / 6) ** 2 + 0.15 * abs(s - best.s)
        # without a category it always has its best level
        misfit += 0.15 * (configuration.get(f"layers.{number}.c", best.c) != best.c)
        loss -= _gain(best.worth, misfit)
    prefix = "way." if "way" in configuration else ""
    way = PLAIN_WAYS[str(configuration.get("way", "p"))]
    r = _log_place(configuration[f"{prefix}r"], 1e-4, 1)
    m = float(configuration[f"{prefix}m"])
    v = _log_place(configuration["v"], 1e-5, 0.1)
    loss += way.cost + 0.3 * ((r - way.r) ** 2 + (m - way.m) ** 2)
    return float(loss + 0.4 * (float(configuration["u"]) - 0.3) ** 2 + 0.6 * (v - 0.55) ** 2)


def coupled_loss(configuration: Configuration) -> float:
    """The best value of a number depends on others: on the layer before, on how many there are."""
    loss = 0.9
    a_before = 0.5
    layer_count = int(configuration["layers"])
    for number, best in enumerate(COUPLED_LAYERS[:layer_count], start=1):
        a, b, s = (float(configuration[f"layers.{number}.{name}"]) for name in "abs")
        best_a = 0.15 + 0.7 * (1 - a_before)
        b_gap = np.log2(b) / 6 - best.log2_b / 6 - 0.25 * (a - 0.5)
        misfit = (a - best_a) ** 2 + b_gap**2 + 0.15 * abs(s - best.s)
        misfit += 0.15 * (configuration[f"layers.{number}.c"] != best.c)
        loss -= _gain(best.worth, misfit)
        a_before = a
    way = COUPLED_WAYS[str(configuration["way"])]
    m_gap = float(configuration["way.m"]) - way.m
    r_gap = _log_place(configuration["way.r"], 1e-4, 1) - way.r
    r_gap += 0.06 * (layer_count - 3) - 0.2 * m_gap
    u_gap = float(configuration["u"]) - 0.3
    v_gap = _log_place(configuration["v"], 1e-5, 0.1) - 0.55 + 0.3 * u_gap
    return float(loss + way.cost + 0.3 * (r_gap**2 + m_gap**2) + 0.4 * u_gap**2 + 0.6 * v_gap**2)


FUNCTIONS: Mapping[str, ConditionalFunction] = {
    "function": ConditionalFunction(0.0, conditional_tree(), plain_loss),
    "coupled": ConditionalFunction(0.1, conditional_tree(), coupled_loss),
    "fixed": ConditionalFunction(0.0, fixed_tree(), plain_loss),
}
