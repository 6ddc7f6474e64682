"""The static surrogates that stop a training early, on recorded learning curves.

    R  epochs of a full training
last success   a training ends when it has not improved for more than R/8 epochs; its score is that of
               its last epoch
baseline s     at MILESTONES a training is stopped for good unless it has come a share s of the way
               from guessing to the best training so far, there
baseline rising  the same with the shares of the thesis, one a milestone
The thesis's baseline reads accuracies; the share of the way from guessing is the same for losses.  Its
reductions of the learning rate cannot be replayed: the recorded rates were not reduced.

Source: Lakhmiri (2021), thesis, section 6.4.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from functools import partial

import numpy as np
from numpy.typing import NDArray

from fovnet.bench.tables import RecordedTable

Floats = NDArray[np.float64]

ROWS = 150
"""Trainings of a run."""
PATIENCE = 1 / 8
MILESTONES = (0.025, 0.05, 0.125, 0.25, 0.5, 0.625, 0.75)
"""As shares of R: epochs 5, 10, 25, 50, 100, 125 and 150 of 200."""
SHARES = (0.5, 0.6, 0.7, 0.8, 0.85, 0.9, 0.95)
LOST = 0.01
"""A run whose best score is worse by more than this share of it has lost its best training."""

Rule = Callable[[RecordedTable, int, int | None], int]
"""The epochs that a training of a row gets, given the row of the best training so far, None before
the first."""


def end_after_last_success(table: RecordedTable, row: int, best_row: int | None) -> int:
    """The epochs until the last improvement is more than PATIENCE · R epochs old."""
    losses = validation_losses(table)[row, : table.last_epochs[row]]
    epochs = np.arange(1, len(losses) + 1)
    is_success = losses < np.minimum.accumulate(np.append(np.inf, losses))[:-1]
    last_success_epochs = np.maximum.accumulate(np.where(is_success, epochs, 0))
    is_over = epochs - last_success_epochs > PATIENCE * table.full_epochs
    return _first_epoch(is_over, int(table.last_epochs[row]))


def end_below_baseline(
    share_by_milestone: Mapping[float, float],
    table: RecordedTable,
    row: int,
    best_row: int | None,
) -> int:
    """The epochs until a milestone at which the training is behind its share of the baseline."""
    last_epoch = int(table.last_epochs[row])
    if best_row is None:
        return last_epoch
    guess = guessing_loss_of(table)
    curves = validation_losses(table)
    for milestone, share in share_by_milestone.items():
        epoch = max(1, round(milestone * table.full_epochs))
        gain, best_gain = (guess - curves[r, :epoch].min() for r in (row, best_row))
        if epoch < last_epoch and best_gain > 0.0 and not gain >= share * best_gain:
            return epoch
    return last_epoch


def _first_epoch(is_over: NDArray[np.bool_], last_epoch: int) -> int:
    if is_over.any():
        return int(is_over.argmax()) + 1
    return last_epoch


def validation_losses(table: RecordedTable) -> Floats:
    """(M, R) the losses after each epoch."""
    assert table.curves is not None  # refused at the door
    return np.asarray(table.curves[:, 1:])


def guessing_loss_of(table: RecordedTable) -> float:
    """The loss of guessing; where it is not recorded, the median before the training."""
    if table.guessing_loss is not None:
        return table.guessing_loss
    assert table.curves is not None
    return float(np.nanmedian(table.curves[:, 0]))


RULES: Mapping[str, Rule] = {
    "last success": end_after_last_success,
    **{
        f"baseline {share}": partial(end_below_baseline, dict.fromkeys(MILESTONES, share))
        for share in SHARES
    },
    "baseline rising": partial(end_below_baseline, dict(zip(MILESTONES, SHARES, strict=True))),
}


def stop_lines(table: RecordedTable, runs: int) -> Iterator[dict[str, object]]:
    """For every rule the share of the epochs that runs of ROWS trainings in random orders spend, the
    number of runs that lose their best training, and by how much of its score the best is worse."""
    for name, rule in RULES.items():
        results = [_run(table, rule, seed) for seed in range(runs)]
        shares, excesses = np.array(results).T
        yield {
            "table": table.name,
            "rule": name,
            "runs": runs,
            "epochs_share": round(float(shares.mean()), 3),
            "lost": int((excesses > LOST).sum()),
            "excess": round(float(excesses.mean()), 4),
        }


def _run(table: RecordedTable, rule: Rule, seed: int) -> tuple[float, float]:
    """The share of the epochs that a run spends, and the excess of its best score."""
    row_count = min(ROWS, len(table.space))
    rows = np.random.default_rng(seed).permutation(len(table.space))[:row_count]
    best_row: int | None = None
    best_score = np.inf
    spent_epochs = 0
    for row in rows.tolist():
        epochs = rule(table, row, best_row)
        spent_epochs += epochs
        is_pruned = rule is not end_after_last_success and epochs < table.last_epochs[row]
        score = float(table.scores[row, epochs])
        if not is_pruned and score < best_score:
            best_row = row
            best_score = score
    full_best = float(np.nanmin(table.loss[rows]))
    return spent_epochs / int(table.last_epochs[rows].sum()), best_score / full_best - 1.0
