"""The chart of a search that compares trainings before their end: what ran when, on which rung, and with what
loss."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from matplotlib.colors import LinearSegmentedColormap, to_hex
from matplotlib.figure import Figure
from matplotlib.lines import Line2D

from fovnet.drawing.canvas import ACCENT, FAINT, INK, SOFT, WARN, house_style, legend_above
from fovnet.drawing.scales import unit_of_time, wide_scale
from fovnet.search.explain.spent import Spending, Stretch
from fovnet.words import several

PALE, LAST = "#b5d0e4", "#0d151c"
"""The colours of the first rung, from where they deepen to ACCENT, and of the last: trained to the end."""
SLIVER = 0.002
"""The least width of a bar, as a share of the whole time: a training of a second is seen beside one of an
hour."""
LINES = 120
"""Of so many configurations each has a line of its own; of more, neighbours overlap, to be thick enough to
see."""


def rungs_figure(spent: Spending) -> Figure | None:
    """Above, one line per configuration over virtual time, each slot a bar in the colour of its rung; below,
    the score at each slot's end, joined along a training.  None before the first slot has ended."""
    timed = [one for one in spent.slots if one.ends is not None]
    if not timed:
        return None
    colours = rung_colours(len(spent.rungs))
    unit, name = unit_of_time(max(one.ends or 0.0 for one in timed))
    with house_style():
        figure = Figure(figsize=(9.6, 5.6))
        above, below = (
            figure.add_axes((0.08, 0.44, 0.9, 0.49)),
            figure.add_axes((0.08, 0.09, 0.9, 0.31)),
        )
        _draw_bars(above, timed, unit, colours)
        _draw_scores(below, timed, unit, colours)
        end = max(one.ends or 0.0 for one in timed) / unit
        for axis in (above, below):
            axis.set_xlim(-0.01 * end, 1.01 * end)
        above.tick_params(labelbottom=False)
        below.set(xlabel=f"virtual time, {name}", ylabel="score")
        _legend(above, spent, colours)
        return figure


def rung_colours(count: int) -> list[str]:
    """A colour for each rung, the darker the higher."""
    ramp = LinearSegmentedColormap.from_list("rungs", [PALE, ACCENT])
    return [*(to_hex(ramp(share)) for share in np.linspace(0, 1, count - 1)), LAST]


def _draw_bars(axis: Any, timed: Sequence[Stretch], unit: float, colours: Sequence[str]) -> None:
    count = 1 + max(one.place for one in timed)
    least = SLIVER * max(one.ends or 0.0 for one in timed)
    for one, after in _joined(timed):  # from a slot to the one that goes on with it
        axis.hlines(
            one.place,
            (one.ends or 0.0) / unit,
            (after.begins or 0.0) / unit,
            color=FAINT,
            linewidth=0.4,
        )
    begins = np.array([one.begins for one in timed], dtype=np.float64)
    widths = np.maximum(np.array([one.ends for one in timed], dtype=np.float64) - begins, least)
    faces, height = [colours[one.rung] for one in timed], max(0.85, count / LINES)
    axis.barh(
        [one.place for one in timed],
        widths / unit,
        left=begins / unit,
        height=height,
        color=faces,
        linewidth=0,
    )
    failed = [one for one in timed if one.score is None]
    ends = [(one.ends or 0.0) / unit for one in failed]
    axis.scatter(
        ends, [one.place for one in failed], marker="x", s=14, color=WARN, linewidths=0.9, zorder=3
    )
    axis.set_ylim(count - 0.25, -0.75)  # the first at the top
    axis.set_ylabel("configuration, as begun")
    axis.yaxis.get_major_locator().set_params(integer=True)


def _draw_scores(axis: Any, timed: Sequence[Stretch], unit: float, colours: Sequence[str]) -> None:
    """The scores as dots and the chains as lines, with the lowest so far; a line of text where there is
    none."""
    scored = sorted(
        (one for one in timed if one.score is not None), key=lambda one: (one.ends or 0.0, one.slot)
    )
    if not scored:
        axis.text(
            0.5,
            0.5,
            "no training came to a score",
            transform=axis.transAxes,
            ha="center",
            color=SOFT,
        )
        axis.set_yticks([])
        return
    for one, after in _joined(scored):
        axis.plot(
            [(one.ends or 0.0) / unit, (after.ends or 0.0) / unit],
            [one.score, after.score],
            color=FAINT,
            linewidth=0.5,
            zorder=1,
        )
    ends = np.array([one.ends for one in scored], dtype=np.float64) / unit
    scores = np.array([one.score for one in scored], dtype=np.float64)
    axis.step(ends, np.minimum.accumulate(scores), where="post", color=INK, linewidth=1.0, zorder=2)
    size = 16 if len(scored) < 100 else 7
    axis.scatter(
        ends, scores, s=size, c=[colours[one.rung] for one in scored], linewidths=0, zorder=3
    )
    wide_scale(axis, "y", scores)


def _joined(stretches: Sequence[Stretch]) -> list[tuple[Stretch, Stretch]]:
    """Each slot of a training with the next one of it."""
    last: dict[int, Stretch] = {}
    pairs = []
    for one in sorted(stretches, key=lambda one: one.slot):
        if one.place in last:
            pairs.append((last[one.place], one))
        last[one.place] = one
    return pairs


def _legend(axis: Any, spent: Spending, colours: Sequence[str]) -> None:
    names = [several(rung.epochs, "epoch") for rung in spent.rungs]
    handles = [
        Line2D([], [], color=colour, linewidth=5, label=name)
        for colour, name in zip(colours, names, strict=True)
    ]
    if any(one.score is None for one in spent.slots):
        handles.append(
            Line2D([], [], color=WARN, marker="x", linewidth=0, markersize=4, label="failed")
        )
    handles.append(Line2D([], [], color=INK, linewidth=1.0, label="lowest score so far"))
    legend_above(axis, len(handles), -0.01, handles=handles)
