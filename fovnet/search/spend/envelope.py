"""The envelope for pruning: the highest allowed validation loss of a trial at some epochs, from the
best trial that its slot has seen.

Only trials seen in virtual time count, so that pruning depends on the journal and not on the timing
of the run. Source: HyperNOMAD's early stopping; Lakhmiri (2021), thesis, chapter 6.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from fovnet.search.trial import Trial, best_trials


@dataclass(frozen=True)
class Envelope:
    """The epochs at which trials are compared, and how far they may lie above the best one, as a
    share of its loss there."""

    milestones: tuple[int, ...]
    margin: float

    def highest_losses(self, seen_trials: Sequence[Trial]) -> dict[int, float]:
        """{milestone epoch: highest loss that is not pruned there}, from the completed trial of
        lowest score; empty without one.

        Its loss at an epoch is the lowest up to then; if it ended before, the lowest of all.
        """
        for best_trial in best_trials(seen_trials, 1):
            losses = best_trial.outcome.validation_loss
            if losses:
                return {
                    epoch: (1.0 + self.margin) * min(losses[:epoch]) for epoch in self.milestones
                }
        return {}
