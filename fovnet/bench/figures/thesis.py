"""The pictures of search methods compared on a table of recorded trainings: its losses, two
searches draw by draw, and the share of the runs that have found the best row."""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.ticker import PercentFormatter

from fovnet.bench.figures.race import line_style_of
from fovnet.bench.races import Contest, chance_curve
from fovnet.bench.tables import RecordedTable
from fovnet.bench.teaching import has_learned_nothing
from fovnet.drawing.canvas import ACCENT, FAINT, INK, SOFT, WARN, house_style

HISTOGRAM_BINS = 50
LEGEND_COLUMNS = 3


def losses_figure(table: RecordedTable) -> Figure:
    """A histogram of the losses, the highest in its last bin, how many rows diverged or are at
    guessing."""
    finite_losses = table.loss[np.isfinite(table.loss)]
    ceiling = _highest_drawn_loss(table)
    count_above_ceiling = int((finite_losses > ceiling).sum())
    with house_style():
        figure = Figure(figsize=(7.2, 3.0))
        axis = figure.add_axes((0.08, 0.15, 0.9, 0.74))
        axis.hist(
            np.minimum(finite_losses, ceiling),
            bins=HISTOGRAM_BINS,
            range=(table.best_loss, ceiling),
            color=ACCENT,
        )
        title_facts = [f"{len(table.loss) - len(finite_losses)} diverged"]
        if table.guessing_loss is not None:
            axis.axvline(table.guessing_loss, color=WARN, linewidth=0.9, linestyle=(0, (4, 2)))
            guessing_count = int(has_learned_nothing(table).sum())
            title_facts.append(
                f"{guessing_count} at guessing, {table.guessing_loss:.3f} (dashed), or above"
            )
        if count_above_ceiling:
            title_facts.append(f"{count_above_ceiling} above {ceiling:.3g}, drawn there")
        axis.set(xlabel="loss after training", ylabel="trainings")
        trainings_text = f"{len(table.loss)} trainings, the best {table.best_loss:.4g}"
        axis.set_title(f"{table.name}: {trainings_text}; {', '.join(title_facts)}", loc="left")
        return figure


def draws_figure(table: RecordedTable, contests: Sequence[Contest]) -> Figure:
    """The loss of every draw of the first run of each contest, above one another, and the lowest
    loss so far; each has an axis of its own, as one may need a tenth of the draws of another."""
    with house_style():
        figure_height = 0.5 + 2.1 * len(contests)
        figure = Figure(figsize=(7.2, figure_height))
        for contest_index, contest in enumerate(contests):
            axis_bottom = 0.45 + 2.1 * (len(contests) - 1 - contest_index)
            axis = figure.add_axes((0.08, axis_bottom / figure_height, 0.9, 1.55 / figure_height))
            _draw_run(axis, table, contest)
            axis.set(xlim=(0, len(contest.replays[0].rows) + 1), ylabel="loss")
        figure.axes[-1].set_xlabel("draws")
        return figure


def _draw_run(axis: Axes, table: RecordedTable, contest: Contest) -> None:
    """Points, crosses at the top for what diverged, and a line of steps."""
    first_run = contest.replays[0]
    ceiling = _highest_drawn_loss(table)
    draw_numbers = np.arange(1, len(first_run.rows) + 1)
    is_diverged = ~np.isfinite(first_run.loss)
    drawn_losses = np.where(is_diverged, ceiling, np.minimum(first_run.loss, ceiling))
    axis.plot(
        draw_numbers[~is_diverged], drawn_losses[~is_diverged], ".", color=FAINT, markersize=3.5
    )
    axis.plot(draw_numbers[is_diverged], drawn_losses[is_diverged], "x", color=WARN, markersize=3.5)
    axis.step(
        draw_numbers, np.minimum.accumulate(drawn_losses), where="post", color=ACCENT, linewidth=1.3
    )
    axis.axhline(table.best_loss, color=INK, linewidth=0.7, linestyle=(0, (4, 2)))
    draws_to_best = first_run.draws_until(table.best_loss)
    ending = "without the best row"
    if draws_to_best:
        ending = f"the best row after {draws_to_best} draws"
    crosses_text = f"crosses: {int(is_diverged.sum())} diverged"
    axis.set_title(
        f"{contest.name}, from row {first_run.rows[0]}: {ending}; {crosses_text}", loc="left"
    )


def shares_figure(table: RecordedTable, contests: Sequence[Contest], unit: str) -> Figure:
    """The share of each contest's runs that have found the best row, against "draws", with the
    exact share of random search, or against "epochs" in full trainings, on a logarithmic axis."""
    row_count = len(table.space)
    units_per_training = 1
    if unit == "epochs":
        units_per_training = table.full_epochs
    with house_style():
        legend_row_count = math.ceil((len(contests) + 1) / LEGEND_COLUMNS)
        foot_inches = 0.5 + 0.17 * legend_row_count
        figure_height = foot_inches + 3.4
        figure = Figure(figsize=(7.2, figure_height))
        axis = figure.add_axes(
            (0.1, (foot_inches + 0.1) / figure_height, 0.88, 2.95 / figure_height)
        )
        if unit == "draws":
            _draw_chance(axis, table)
        for contest_index, contest in enumerate(contests):
            found_shares = contest.shares_of_runs(
                table.best_loss, row_count * units_per_training, unit
            )
            axis.step(
                np.arange(len(found_shares)) / units_per_training,
                found_shares,
                where="post",
                **line_style_of(contest_index),
                linewidth=1.3,
                label=contest.name,
            )
        unit_label = "draws"
        if unit == "epochs":
            unit_label = f"epochs, {units_per_training} of them, a full training, as one"
        axis.set(
            xlim=(1, row_count),
            xscale="log",
            ylim=(0, 1.02),
            ylabel="runs that have found the best row",
            xlabel=unit_label,
        )
        axis.xaxis.set_major_formatter("{x:g}")
        axis.yaxis.set_major_formatter(PercentFormatter(1.0))
        axis.set_title(
            f"{table.name}: the best of {row_count} rows, trained to the end", loc="left"
        )
        figure.legend(
            loc="lower left",
            bbox_to_anchor=(0.06, 0.0),
            ncols=LEGEND_COLUMNS,
            frameon=False,
            labelcolor=SOFT,
        )
        return figure


def _draw_chance(axis: Axes, table: RecordedTable) -> None:
    """The exact share of runs of random search, dashed."""
    row_count = len(table.space)
    axis.step(
        np.arange(row_count + 1),
        np.concatenate([[0.0], chance_curve(table, row_count)]),
        where="post",
        color=INK,
        linewidth=1.0,
        label="random, exact",
        linestyle=(0, (4, 2)),
    )


def _highest_drawn_loss(table: RecordedTable) -> float:
    """The highest loss that is drawn: a fifth above guessing, or that of the worst rows but a
    fiftieth."""
    if table.guessing_loss is not None:
        return 1.2 * table.guessing_loss
    finite_losses = table.loss[np.isfinite(table.loss)]
    return float(np.quantile(finite_losses, 0.98))
