"""The pictures of search methods compared on a table of recorded trainings: its losses, two
searches draw by draw, and the share of the runs that have found the best row."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.ticker import PercentFormatter

from fovnet.bench.figures.race import stroke_of
from fovnet.bench.races import Contest, chance_curve
from fovnet.bench.tables import RecordedTable
from fovnet.bench.teaching import nothing_learned
from fovnet.drawing.canvas import ACCENT, FAINT, INK, SOFT, WARN, house_style

BINS = 50


def losses_figure(table: RecordedTable) -> Figure:
    """A histogram of the losses, the highest in its last bin, how many rows diverged or are at
    guessing."""
    loss = table.loss[np.isfinite(table.loss)]
    end = _ceiling(table)
    above = int((loss > end).sum())
    with house_style():
        figure = Figure(figsize=(7.2, 3.0))
        axis = figure.add_axes((0.08, 0.15, 0.9, 0.74))
        axis.hist(np.minimum(loss, end), bins=BINS, range=(table.best, end), color=ACCENT)
        facts = [f"{len(table.loss) - len(loss)} diverged"]
        if table.guess is not None:
            axis.axvline(table.guess, color=WARN, linewidth=0.9, linestyle=(0, (4, 2)))
            nothing = int(nothing_learned(table).sum())
            facts.append(f"{nothing} at guessing, {table.guess:.3f} (dashed), or above")
        facts += [f"{above} above {end:.3g}, drawn there"] if above else []
        axis.set(xlabel="loss after training", ylabel="trainings")
        trainings = f"{len(table.loss)} trainings, the best {table.best:.4g}"
        axis.set_title(f"{table.name}: {trainings}; {', '.join(facts)}", loc="left")
        return figure


def draws_figure(table: RecordedTable, contests: Sequence[Contest]) -> Figure:
    """The loss of every draw of the first run of each contest, above one another, and the lowest
    loss so far; each has an axis of its own, as one may need a tenth of the draws of another."""
    with house_style():
        height = 0.5 + 2.1 * len(contests)
        figure = Figure(figsize=(7.2, height))
        for number, contest in enumerate(contests):
            bottom = 0.45 + 2.1 * (len(contests) - 1 - number)
            axis = figure.add_axes((0.08, bottom / height, 0.9, 1.55 / height))
            _draw_run(axis, table, contest)
            axis.set(xlim=(0, len(contest.replays[0].rows) + 1), ylabel="loss")
        figure.axes[-1].set_xlabel("draws")
        return figure


def _draw_run(axis: Axes, table: RecordedTable, contest: Contest) -> None:
    """Points, crosses at the top for what diverged, and a line of steps."""
    run = contest.replays[0]
    ceiling = _ceiling(table)
    draws = np.arange(1, len(run.rows) + 1)
    diverged = ~np.isfinite(run.loss)
    loss = np.where(diverged, ceiling, np.minimum(run.loss, ceiling))
    axis.plot(draws[~diverged], loss[~diverged], ".", color=FAINT, markersize=3.5)
    axis.plot(draws[diverged], loss[diverged], "x", color=WARN, markersize=3.5)
    axis.step(draws, np.minimum.accumulate(loss), where="post", color=ACCENT, linewidth=1.3)
    axis.axhline(table.best, color=INK, linewidth=0.7, linestyle=(0, (4, 2)))
    draws_to_best = run.draws_until(table.best)
    ending = "without the best row"
    if draws_to_best:
        ending = f"the best row after {draws_to_best} draws"
    crosses = f"crosses: {int(diverged.sum())} diverged"
    axis.set_title(f"{contest.name}, from row {run.rows[0]}: {ending}; {crosses}", loc="left")


def shares_figure(table: RecordedTable, contests: Sequence[Contest], unit: str) -> Figure:
    """The share of each contest's runs that have found the best row, against "draws", with the
    exact share of random search, or against "epochs" in full trainings, on a logarithmic axis."""
    size = len(table.space)
    units_per_training = 1 if unit == "draws" else table.epochs
    with house_style():
        foot = 0.5 + 0.17 * -(-(len(contests) + 1) // 3)
        height = foot + 3.4
        figure = Figure(figsize=(7.2, height))
        axis = figure.add_axes((0.1, (foot + 0.1) / height, 0.88, 2.95 / height))
        if unit == "draws":
            chance = np.concatenate([[0.0], chance_curve(table, size)])
            axis.step(
                np.arange(size + 1),
                chance,
                where="post",
                color=INK,
                linewidth=1.0,
                label="random, exact",
                linestyle=(0, (4, 2)),
            )
        for number, contest in enumerate(contests):
            share = contest.found_share(table.best, size * units_per_training, unit)
            axis.step(
                np.arange(len(share)) / units_per_training,
                share,
                where="post",
                **stroke_of(number),
                linewidth=1.3,
                label=contest.name,
            )
        xlabel = "draws"
        if unit == "epochs":
            xlabel = f"epochs, {units_per_training} of them, a full training, as one"
        axis.set(
            xlim=(1, size),
            xscale="log",
            ylim=(0, 1.02),
            ylabel="runs that have found the best row",
            xlabel=xlabel,
        )
        axis.xaxis.set_major_formatter("{x:g}")
        axis.yaxis.set_major_formatter(PercentFormatter(1.0))
        axis.set_title(f"{table.name}: the best of {size} rows, trained to the end", loc="left")
        figure.legend(
            loc="lower left", bbox_to_anchor=(0.06, 0.0), ncols=3, frameon=False, labelcolor=SOFT
        )
        return figure


def _ceiling(table: RecordedTable) -> float:
    """The highest loss that is drawn: a fifth above guessing, or that of the worst rows but a
    fiftieth."""
    finite = table.loss[np.isfinite(table.loss)]
    return 1.2 * table.guess if table.guess is not None else float(np.quantile(finite, 0.98))
