"""The envelope: how low a trial's validation loss has to be at some epochs, from the best trial that its slot has seen.

Only trials seen in virtual time count, so that what is pruned is a function of the record and not of the day's timing.
Source: HyperNOMAD's early stopping; Lakhmiri (2021), thesis, chapter 6.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from fovnet.search.trial import Trial, best


@dataclass(frozen=True)
class Envelope:
    """Where trials are compared, and how far above the best one they may lie, as a share of its loss there."""

    milestones: tuple[int, ...]
    margin: float

    def over(self, seen: Sequence[Trial]) -> dict[int, float]:
        """Milestone epoch to the highest loss that is not pruned there: of the completed trial of lowest score; empty without one.

        Its loss at an epoch is its lowest until then; where it ended sooner, its last lowest.
        """
        leading = best(seen, 1)
        if not leading:
            return {}
        losses = leading[0].outcome.validation_loss
        return {epoch: (1.0 + self.margin) * min(losses[:epoch]) for epoch in self.milestones} if losses else {}
