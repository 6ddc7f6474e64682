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

SPAN = 10.0
"""Losses with a ratio above this have a logarithmic axis: an initial loss far above guessing would
flatten the rest."""


def learning_figure(
    training: Sequence[float], validation: Sequence[float], guess: float, title: str, ending: str
) -> Figure:
    """Training and validation loss of each epoch; `guess` is the validation loss of guessing,
    `ending` a sentence below the title.

    Bad signs: a validation loss that rises while the training loss falls (overfitting), or both at
    the loss of guessing. A loss that is not a number is a gap.
    """
    with house_style():
        figure = Figure(figsize=(6.4, 3.9))
        axis = figure.add_axes((0.095, 0.13, 0.875, 0.62))
        epochs = max(len(training), len(validation), 1)
        axis.axhline(guess, color=FAINT, linewidth=0.9, linestyle=(0, (4, 2)), label="guessing")
        for losses, name, colour in (
            (training, "training", WARN),
            (validation, "validation", ACCENT),
        ):
            finite = np.where(np.isfinite(losses), losses, np.nan)
            axis.plot(
                np.arange(1, len(finite) + 1),
                finite,
                color=colour,
                linewidth=1.6,
                marker="o",
                markersize=3.2,
                label=name,
            )
        _mark_best(axis, validation)
        axis.set(xlabel="epoch", ylabel="weighted cross-entropy", xlim=(0.5, epochs + 0.5))
        axis.xaxis.set_major_locator(MaxNLocator(integer=True))
        _scale(axis, [guess, *training, *validation])
        figure.legend(loc="upper left", bbox_to_anchor=(0.08, 0.845), ncols=4, columnspacing=1.6)
        figure.text(0.095, 0.975, "\n".join(wrap(title, 92)[:2]), va="top", linespacing=1.1)
        figure.text(0.095, 0.885, ending, color=SOFT, va="top")
        return figure


def _mark_best(axis: Axes, validation: Sequence[float]) -> None:
    """A circle around the epoch of the lowest validation loss, whose weights were kept."""
    finite = np.where(np.isfinite(validation), validation, np.inf)
    if len(finite) and np.isfinite(finite.min()):
        best = int(finite.argmin())
        axis.plot(
            [best + 1],
            [finite[best]],
            color=INK,
            linestyle="",
            marker="o",
            markersize=7.5,
            fillstyle="none",
            label="kept",
        )


def _scale(axis: Axes, losses: Sequence[float]) -> None:
    """A linear axis from 0, or a logarithmic one where the losses are positive and their ratio
    exceeds SPAN."""
    finite = np.asarray([loss for loss in losses if np.isfinite(loss)])
    if finite.min() > 0 and finite.max() > SPAN * finite.min():
        axis.set_yscale("log")
        is_wide = finite.max() > 1000.0 * finite.min()
        axis.yaxis.set_major_locator(
            LogLocator(subs=(1.0,) if is_wide else (1.0, 2.0, 5.0), numticks=8)
        )
        axis.yaxis.set_major_formatter(LogFormatterSciNotation() if is_wide else ScalarFormatter())
        axis.yaxis.set_minor_locator(NullLocator())
    else:
        axis.set_ylim(0.0, 1.06 * float(finite.max()))
