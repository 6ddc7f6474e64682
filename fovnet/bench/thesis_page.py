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
MOST_PAIRS = 6
"""Pairs of axes shown, those of the largest share first."""
PICTURES = {
    "losses.png": "the losses of the table",
    "draws.png": "the losses of two searches, draw by draw",
    "share-draws.png": "runs that have found the best row, by draws",
    "share-epochs.png": "runs that have found the best row, by epochs",
}


def page_text(table: RecordedTable, lines: Sequence[Line], lesson: Lesson) -> str:
    """The page: draws, full trainings, both as shares of chance's, pictures, and what the table
    teaches."""
    diverged_count = int(lesson.has_diverged.sum())
    nothing_count = int(lesson.has_learned_nothing.sum())
    chance_lines = [goal_line for goal_line in lines if goal_line["method"] == "random, exact"]
    good_rows_text = ", ".join(
        f"{goal_line['good']} {goal_line['goal']}" for goal_line in chance_lines
    )
    page_parts = [
        f"# Search methods on {table.name}",
        f"{len(table.space)} trainings of {table.full_epochs} epochs: {diverged_count} diverged, {nothing_count} "
        f"learned nothing (above {AT_GUESSING:g} of the loss of guessing), the lowest loss is "
        f"{table.best_loss:.4f}. Good rows: {good_rows_text}. Every run begins with a row of its own. "
        "Mean ± standard "
        "deviation (worst); a miss counts with all that the run has drawn, or might have spent.",
        "## Draws: networks begun until a good one is trained to the end",
        _table_of_goals(lines, partial(_mean_and_spread_cell, "draws", "draws"), "draws"),
        "## Epochs, those of a full training as one",
        _table_of_goals(
            lines, partial(_mean_and_spread_cell, "full_trainings", "full"), "full_trainings"
        ),
        "## Share of what random search needs, in epochs (in draws where these alone are known)",
        _shares_table(lines),
        "## Pictures",
        *(f"![{picture_words}]({file_name})" for file_name, picture_words in PICTURES.items()),
        "## What the table teaches about its space",
        _introduction(lesson),
        _axes_table(lesson),
        _levels_table(lesson),
        _pairs_table(lesson),
    ]
    return "\n\n".join(page_part for page_part in page_parts if page_part) + "\n"


def markdown_table(headings: Sequence[str], rows: Iterable[Sequence[str]]) -> str:
    """A table; all columns but the first are aligned to the right."""
    rows_with_rule = [headings, ["---", *["---:"] * (len(headings) - 1)], *rows]
    return "\n".join(f"| {' | '.join(cells)} |" for cells in rows_with_rule)


def _table_of_goals(
    lines: Sequence[Line], cell_text: Callable[[Line], str], needed_column: str
) -> str:
    """A row for each method, a column for each goal, of the lines that have the number needed."""
    method_rows = [
        [method_name, *map(cell_text, method_lines)]
        for method_name, method_lines in _lines_by_method(lines)
        if method_lines[0].get(needed_column) is not None
    ]
    return markdown_table(["method", *GOALS], method_rows)


def _lines_by_method(lines: Sequence[Line]) -> list[tuple[str, list[Line]]]:
    """Every method's name with its lines, one for each goal."""
    lines_by_table_and_name: dict[tuple[str, str], list[Line]] = {}
    for line in lines:
        lines_by_table_and_name.setdefault((line["table"], _method_name(line)), []).append(line)
    return [
        (method_name, method_lines)
        for (_, method_name), method_lines in lines_by_table_and_name.items()
    ]


def _method_name(line: Line) -> str:
    """ "`gp-ei` (its setting)"; of a number of the thesis "Bertrand (2019), gp-ei"."""
    if line["table"] == SOURCE:
        return f"{SOURCE}, {line['method']}"
    name = f"`{line['method']}`"
    if line.get("setting"):
        name += f" ({line['setting']})"
    return name


def _mean_and_spread_cell(mean_column: str, column_prefix: str, line: Line) -> str:
    """ "12.3 ± 4 (21), 2 missed": a mean, its standard deviation and the worst where these are known,
    and how many runs missed the goal, if any did."""
    deviation = line.get(f"{column_prefix}_sd")
    worst_count = line.get(f"{column_prefix}_worst")
    cell = f"{line[mean_column]:.1f}"
    if deviation is not None:
        cell += f" ± {deviation:.0f} ({worst_count:.0f})"
    if line["misses"]:
        cell += f", {line['misses']} missed"
    return cell


def _shares_table(lines: Sequence[Line]) -> str:
    """Every method's mean in that of random search, the thesis's in that of its own."""
    chance_line_by_goal = {
        line["goal"]: line for line in lines if line["method"] == "random, exact"
    }
    published_means = [mean for mean, _, _ in PUBLISHED["random"]]
    published_mean_by_goal = dict(zip(GOALS, published_means, strict=True))

    def share_of_chance(line: Line) -> str:
        if line["table"] == SOURCE:
            return f"{line['draws'] / published_mean_by_goal[line['goal']]:.2f}"
        unit = "draws"
        if line.get("full_trainings") is not None:
            unit = "full_trainings"
        return f"{line[unit] / chance_line_by_goal[line['goal']][unit]:.2f}"

    compared_lines = [line for line in lines if line["method"] not in ("random", "random, exact")]
    return _table_of_goals(compared_lines, share_of_chance, "draws")


def _introduction(lesson: Lesson) -> str:
    """How much of the losses the model explains, in a sentence."""
    importance = lesson.importance
    clauses = ["says what each axis and each pair matters (share of variance)."]
    if importance.explained_share is not None:
        clauses.insert(
            0, f"explains {importance.explained_share:.0%} of the variance of the losses left out,"
        )
    return f"A Gaussian process of all losses {' and '.join(clauses)}"


def _axes_table(lesson: Lesson) -> str:
    axes_by_share = sorted(lesson.importance.axes, key=lambda axis: -(axis.share or 0.0))
    return markdown_table(
        ["axis by itself", "share"],
        [(axis.name, _percent_text(axis.share)) for axis in axes_by_share],
    )


def _pairs_table(lesson: Lesson) -> str:
    pairs = [pair for pair in lesson.importance.pairs[:MOST_PAIRS] if pair.share is not None]
    rows = [(" and ".join(pair.axes), _percent_text(pair.share)) for pair in pairs]
    if not rows:
        return ""
    return markdown_table(["together, beyond each by itself", "share"], rows)


def _levels_table(lesson: Lesson) -> str:
    """Every level: its rows, what became of them, the loss expected there and the lowest found."""
    level_rows = [
        (
            f"{level_line['axis']} {level_line['level']}",
            f"{level_line['rows']}",
            f"{level_line['diverged']}",
            f"{level_line['nothing_learned']}",
            _percent_text(level_line["learned"]),
            _loss_text(level_line["loss"]),
            _loss_text(level_line["best"]),
        )
        for level_line in lesson.lines
        if "level" in level_line
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
    return markdown_table(headings, level_rows)


def _percent_text(share: float | None) -> str:
    if share is None:
        return ""
    return f"{share:.0%}"


def _loss_text(loss: float | None) -> str:
    if loss is None or not np.isfinite(loss):
        return ""
    return f"{loss:.3f}"
