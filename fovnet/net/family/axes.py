"""The axes of a search space that describe a network and its training.

    always      blocks, convolutions, log2_filters, kernel, separable
    the step    log10_learning_rate, or learning_rate
    the batch   log2_batch, or batch
    optional    head    "fc", "gap" or "small"; else the head of the training section
                block   "plain" or "residual"; else plain
                widen   filters of a block over those of the one before, 1 or 2; else 1
                stride  of the first convolution, 1 or 2; else 1
                norm    "none" or "pooled"; else none

An axis may have a single level.  A space without one of the required axes, or with an unknown one,
is refused.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Mapping, Sequence
from typing import Any

from fovnet.errors import SearchError
from fovnet.net.family.architecture import BLOCKS, HEADS, NORMS
from fovnet.search.space import Axis

OPTIONAL_AXES: Sequence[tuple[str, ...]] = (
    ("head",),
    ("block",),
    ("widen",),
    ("stride",),
    ("norm",),
)
DEFAULT_LEVELS: Mapping[str, Any] = {"block": "plain", "widen": 1, "stride": 1, "norm": "none"}
"""The default levels of optional axes."""
ALTERNATIVE_NAMES: Sequence[tuple[str, ...]] = (
    ("blocks",),
    ("convolutions",),
    ("log2_filters",),
    ("kernel",),
    ("separable",),
    ("log10_learning_rate", "learning_rate"),
    ("log2_batch", "batch"),
    *OPTIONAL_AXES,
)


def order_axes(axes: Sequence[Axis]) -> tuple[Axis, ...]:
    """The axes in the order of this file, whatever order they are given in: the rows of a space,
    and so its search, depend on it.

    Raises SearchError ("space-axes") if one is missing, unknown, or given twice under two names,
    and ("space-level") for an invalid level.
    """
    axis_by_name = {axis.name: axis for axis in axes}
    ordered_axes = []
    for alternatives in ALTERNATIVE_NAMES:
        space_names = [name for name in alternatives if name in axis_by_name]
        if len(space_names) > 1 or (not space_names and alternatives not in OPTIONAL_AXES):
            raise SearchError(
                "space-axes",
                f"search.space: {' or '.join(alternatives)}: {_fault_in_words(alternatives, space_names)}; a network "
                "needs exactly one.",
            )
        ordered_axes += [axis_by_name.pop(name) for name in space_names]
    if axis_by_name:
        names_of_network = ", ".join(
            name for alternatives in ALTERNATIVE_NAMES for name in alternatives
        )
        raise SearchError(
            "space-axes",
            f"search.space: unknown axis {', '.join(sorted(axis_by_name))}; a network has "
            f"{names_of_network}.",
        )
    for axis in ordered_axes:
        for level in axis.levels:
            _refuse_impossible(axis.name, level)
    _refuse_vanishing({axis.name: axis.levels for axis in ordered_axes})
    return tuple(ordered_axes)


def _fault_in_words(alternatives: Sequence[str], space_names: Sequence[str]) -> str:
    """What is wrong with the axes of a space among alternative names."""
    if space_names:
        return "both are given"
    return "neither is given" if len(alternatives) > 1 else "missing"


def change_levels(configuration: Mapping[str, Any], changes: Mapping[str, Any]) -> dict[str, Any]:
    """A configuration with some levels changed; a learning rate or batch given by its other name
    replaces the one there.

    Raises SearchError as `order_axes` does.
    """
    replaced_names = {
        name
        for alternatives in ALTERNATIVE_NAMES
        if changes.keys() & set(alternatives)
        for name in alternatives
    }
    unchanged = {name: level for name, level in configuration.items() if name not in replaced_names}
    changed_levels = {**unchanged, **changes}
    ordered_axes = order_axes([Axis(name, (level,)) for name, level in changed_levels.items()])
    return {axis.name: axis.levels[0] for axis in ordered_axes}


def learning_rate(configuration: Mapping[str, Any]) -> float:
    """The initial learning rate; that of its optimiser for a network of layers."""
    for name in ("learning_rate", "optimiser.rate", "rate"):
        if name in configuration:
            return float(configuration[name])
    return float(10.0 ** float(configuration["log10_learning_rate"]))


def batch_size(configuration: Mapping[str, Any]) -> int:
    """The number of slices in a step."""
    if "batch" in configuration:
        return int(configuration["batch"])
    return int(2 ** int(configuration["log2_batch"]))


def _refuse_vanishing(levels_by_axis: Mapping[str, Sequence[Any]]) -> None:
    """Raises SearchError ("space-level") if the halvings of the 2^7 pixels, one per block and one
    by a stride of 2, leave less than one pixel, or one for norm "pooled": a single pixel of one
    slice has no deviation to normalise by."""
    halvings = max(levels_by_axis["blocks"])
    if max(levels_by_axis.get("stride", [1])) > 1:
        halvings += 1
    if halvings > MOST_BLOCKS:
        raise SearchError(
            "space-level",
            f"search.space: blocks = {MOST_BLOCKS} with stride = 2 pools a single pixel; leave "
            "one of them out.",
        )
    if halvings == MOST_BLOCKS and "pooled" in levels_by_axis.get("norm", []):
        raise SearchError(
            "space-level",
            f"search.space: blocks = {max(levels_by_axis['blocks'])} leaves a single pixel, which norm = "
            "pooled cannot normalise; leave one of them out.",
        )


def _refuse_impossible(name: str, level: Any) -> None:
    is_possible, possible_levels = LEVEL_CHECKS[name]
    if not is_possible(level):
        raise SearchError(
            "space-level", f"search.space: {name} = {level!r}; give {possible_levels}."
        )


def _is_number(level: Any) -> bool:
    return isinstance(level, int | float) and not isinstance(level, bool)


def _is_whole_within(least: int, most: int) -> Callable[[Any], bool]:
    return lambda level: _is_number(level) and level == int(level) and least <= level <= most


MOST_BLOCKS = 7  # 2^7 = 128: the eighth would pool a single pixel

LEVEL_CHECKS: Mapping[str, tuple[Callable[[Any], bool], str]] = {
    "blocks": (_is_whole_within(1, MOST_BLOCKS), f"a whole number from 1 to {MOST_BLOCKS}"),
    "convolutions": (_is_whole_within(1, 100), "a whole number from 1"),
    "log2_filters": (_is_whole_within(0, 12), "a whole number from 0 to 12"),
    "kernel": (
        lambda level: _is_whole_within(1, 127)(level) and level % 2 == 1,
        "an odd whole number",
    ),
    "separable": (lambda level: isinstance(level, bool), "yes or no"),
    "log10_learning_rate": (
        lambda level: _is_number(level) and -30 <= level <= 30,
        "a number from -30 to 30",
    ),
    "learning_rate": (
        lambda level: _is_number(level) and 0 < level <= sys.float_info.max,
        "a number above 0",
    ),
    "log2_batch": (_is_whole_within(0, 16), "a whole number from 0 to 16"),
    "batch": (_is_whole_within(1, 65536), "a whole number from 1"),
    "head": (HEADS.__contains__, "fc, gap or small"),
    "block": (BLOCKS.__contains__, "plain or residual"),
    "widen": (_is_whole_within(1, 2), "1 or 2"),
    "stride": (_is_whole_within(1, 2), "1 or 2"),
    "norm": (NORMS.__contains__, "none or pooled"),
}
"""The valid levels of each axis, and their wording in errors."""
