"""The figure of one training: its losses by epoch, and the loss of guessing."""

from __future__ import annotations

from collections.abc import Sequence
from textwrap import wrap

import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.ticker import (
    LogFormatterSciNotation,
    LogLocator,
    MaxNLocator,
    NullLocator,
    ScalarFormatter,
)

from fovnet.drawing.canvas import ACCENT, FAINT, INK, SOFT, WARN, house_style

LEAST_LOGARITHMIC_RATIO = 10.0
"""Losses with a ratio above this have a logarithmic axis: an initial loss far above guessing would
flatten the rest."""


def learning_figure(
    training_losses: Sequence[float],
    validation_losses: Sequence[float],
    guessing_loss: float,
    title: str,
    ending: str,
) -> Figure:
    """Training and validation loss of each epoch; `guessing_loss` is the validation loss of
    guessing, `ending` a sentence below the title.

    Bad signs: a validation loss that rises while the training loss falls (overfitting), or both at
    the loss of guessing. A loss that is not a number is a gap.
    """
    with house_style():
        figure = Figure(figsize=(6.4, 3.9))
        axis = figure.add_axes((0.095, 0.13, 0.875, 0.62))
        epoch_count = max(len(training_losses), len(validation_losses), 1)
        axis.axhline(
            guessing_loss, color=FAINT, linewidth=0.9, linestyle=(0, (4, 2)), label="guessing"
        )
        for losses, split_name, colour in (
            (training_losses, "training", WARN),
            (validation_losses, "validation", ACCENT),
        ):
            finite_losses = np.where(np.isfinite(losses), losses, np.nan)
            axis.plot(
                np.arange(1, len(finite_losses) + 1),
                finite_losses,
                color=colour,
                linewidth=1.6,
                marker="o",
                markersize=3.2,
                label=split_name,
            )
        _mark_best(axis, validation_losses)
        axis.set(xlabel="epoch", ylabel="weighted cross-entropy", xlim=(0.5, epoch_count + 0.5))
        axis.xaxis.set_major_locator(MaxNLocator(integer=True))
        _set_loss_scale(axis, [guessing_loss, *training_losses, *validation_losses])
        figure.legend(loc="upper left", bbox_to_anchor=(0.08, 0.845), ncols=4, columnspacing=1.6)
        figure.text(0.095, 0.975, "\n".join(wrap(title, 92)[:2]), va="top", linespacing=1.1)
        figure.text(0.095, 0.885, ending, color=SOFT, va="top")
        return figure


def _mark_best(axis: Axes, validation_losses: Sequence[float]) -> None:
    """A circle around the epoch of the lowest validation loss, whose weights were kept."""
    finite_losses = np.where(np.isfinite(validation_losses), validation_losses, np.inf)
    if len(finite_losses) and np.isfinite(finite_losses.min()):
        best_index = int(finite_losses.argmin())
        axis.plot(
            [best_index + 1],
            [finite_losses[best_index]],
            color=INK,
            linestyle="",
            marker="o",
            markersize=7.5,
            fillstyle="none",
            label="kept",
        )


def _set_loss_scale(axis: Axes, losses: Sequence[float]) -> None:
    """A linear axis from 0, or a logarithmic one where the losses are positive and their ratio
    exceeds LEAST_LOGARITHMIC_RATIO."""
    finite_losses = np.asarray([loss for loss in losses if np.isfinite(loss)])
    lowest = float(finite_losses.min())
    highest = float(finite_losses.max())
    if lowest <= 0 or highest <= LEAST_LOGARITHMIC_RATIO * lowest:
        axis.set_ylim(0.0, 1.06 * highest)
        return
    axis.set_yscale("log")
    axis.yaxis.set_minor_locator(NullLocator())
    if highest > 1000.0 * lowest:  # three decades: powers of ten are labels enough
        axis.yaxis.set_major_locator(LogLocator(subs=(1.0,), numticks=8))
        axis.yaxis.set_major_formatter(LogFormatterSciNotation())
    else:
        axis.yaxis.set_major_locator(LogLocator(subs=(1.0, 2.0, 5.0), numticks=8))
        axis.yaxis.set_major_formatter(ScalarFormatter())
