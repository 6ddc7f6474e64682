"""The comparison of search methods on a table of recorded trainings, as a page in Markdown."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from functools import partial
from typing import Any

import numpy as np

from fovnet.bench.races import GOALS
from fovnet.bench.tables import RecordedTable
from fovnet.bench.teaching import AT_GUESSING, Lesson
from fovnet.bench.thesis import PUBLISHED, SOURCE

Line = Mapping[str, Any]
PAIRS = 6
"""Pairs of axes shown, those of the largest share first."""
PICTURES = {
    "losses.png": "the losses of the table",
    "draws.png": "the losses of two searches, draw by draw",
    "share-draws.png": "runs that have found the best row, by draws",
    "share-epochs.png": "runs that have found the best row, by epochs",
}


def page(table: RecordedTable, lines: Sequence[Line], lesson: Lesson) -> str:
    """The page: draws, full trainings, both as shares of chance's, pictures, and what the table
    teaches."""
    diverged = int(lesson.diverged.sum())
    nothing = int(lesson.nothing.sum())
    chance_lines = [line for line in lines if line["method"] == "random, exact"]
    good_rows = ", ".join(f"{line['good']} {line['goal']}" for line in chance_lines)
    parts = [
        f"# Search methods on {table.name}",
        f"{len(table.space)} trainings of {table.epochs} epochs: {diverged} diverged, {nothing} "
        f"learned nothing (above {AT_GUESSING:g} of the loss of guessing), the lowest loss is "
        f"{table.best:.4f}. Good rows: {good_rows}. Every run begins with a row of its own. "
        "Mean ± standard "
        "deviation (worst); a miss counts with all that the run has drawn, or might have spent.",
        "## Draws: networks begun until a good one is trained to the end",
        _goals(lines, partial(_cell, "draws", "draws"), "draws"),
        "## Epochs, those of a full training as one",
        _goals(lines, partial(_cell, "full_trainings", "full"), "full_trainings"),
        "## Share of what random search needs, in epochs (in draws where these alone are known)",
        _shares(lines),
        "## Pictures",
        *(f"![{words}]({name})" for name, words in PICTURES.items()),
        "## What the table teaches about its space",
        _intro(lesson),
        _axes(lesson),
        _levels(lesson),
        _pairs(lesson),
    ]
    return "\n\n".join(part for part in parts if part) + "\n"


def markdown(headings: Sequence[str], rows: Iterable[Sequence[str]]) -> str:
    """A table; all columns but the first are aligned to the right."""
    ruled = [headings, ["---", *["---:"] * (len(headings) - 1)], *rows]
    return "\n".join(f"| {' | '.join(cells)} |" for cells in ruled)


def _goals(lines: Sequence[Line], cell: Callable[[Line], str], needed: str) -> str:
    """A row for each method, a column for each goal, of the lines that have the number needed."""
    rows = [
        [name, *map(cell, method_lines)]
        for name, method_lines in _lines_by_method(lines)
        if method_lines[0].get(needed) is not None
    ]
    return markdown(["method", *GOALS], rows)


def _lines_by_method(lines: Sequence[Line]) -> list[tuple[str, list[Line]]]:
    """Every method's name with its lines, one for each goal."""
    lines_by_name: dict[tuple[str, str], list[Line]] = {}
    for line in lines:
        lines_by_name.setdefault((line["table"], _name(line)), []).append(line)
    return [(name, method_lines) for (_, name), method_lines in lines_by_name.items()]


def _name(line: Line) -> str:
    """`gp-ei` (its setting); of what the thesis has published, so."""
    if line["table"] == SOURCE:
        return f"{SOURCE}, {line['method']}"
    setting = f" ({line['setting']})" if line.get("setting") else ""
    return f"`{line['method']}`{setting}"


def _cell(mean: str, prefix: str, line: Line) -> str:
    """A mean, its standard deviation and the worst where these are known, and how often it was
    missed."""
    deviation = line.get(f"{prefix}_sd")
    worst = line.get(f"{prefix}_worst")
    spread = "" if deviation is None else f" ± {deviation:.0f} ({worst:.0f})"
    misses = f", {line['misses']} missed" if line["misses"] else ""
    return f"{line[mean]:.1f}{spread}{misses}"


def _shares(lines: Sequence[Line]) -> str:
    """Every method's mean in that of random search, the thesis's in that of its own."""
    chance = {line["goal"]: line for line in lines if line["method"] == "random, exact"}
    published = dict(zip(GOALS, (numbers[0] for numbers in PUBLISHED["random"]), strict=True))

    def share(line: Line) -> str:
        if line["table"] == SOURCE:
            return f"{line['draws'] / published[line['goal']]:.2f}"
        unit = "full_trainings" if line.get("full_trainings") is not None else "draws"
        return f"{line[unit] / chance[line['goal']][unit]:.2f}"

    compared_lines = [line for line in lines if line["method"] not in ("random", "random, exact")]
    return _goals(compared_lines, share, "draws")


def _intro(lesson: Lesson) -> str:
    matter = lesson.matter
    left_out = "of the variance of the losses left out, and "
    explained = "" if matter.explained is None else f"explains {matter.explained:.0%} {left_out}"
    says = "says what each axis and each pair matters (share of variance)."
    return f"A Gaussian process of all losses {explained}{says}"


def _axes(lesson: Lesson) -> str:
    ordered = sorted(lesson.matter.axes, key=lambda axis: -(axis.share or 0.0))
    return markdown(
        ["axis by itself", "share"], [(axis.name, _percent(axis.share)) for axis in ordered]
    )


def _pairs(lesson: Lesson) -> str:
    pairs = [pair for pair in lesson.matter.pairs[:PAIRS] if pair.share is not None]
    rows = [(" and ".join(pair.axes), _percent(pair.share)) for pair in pairs]
    return markdown(["together, beyond each by itself", "share"], rows) if rows else ""


def _levels(lesson: Lesson) -> str:
    """Every level: its rows, what became of them, the loss expected there and the lowest found."""
    rows = [
        (
            f"{line['axis']} {line['level']}",
            f"{line['rows']}",
            f"{line['diverged']}",
            f"{line['nothing_learned']}",
            _percent(line["learned"]),
            _number(line["loss"]),
            _number(line["best"]),
        )
        for line in lesson.lines
        if "level" in line
    ]
    headings = [
        "level",
        "rows",
        "diverged",
        "learned nothing",
        "learned",
        "expected loss",
        "lowest",
    ]
    return markdown(headings, rows)


def _percent(share: float | None) -> str:
    return "" if share is None else f"{share:.0%}"


def _number(loss: float | None) -> str:
    return "" if loss is None or not np.isfinite(loss) else f"{loss:.3f}"
