"""When a training ends, as a function of its losses and seconds, without hidden state: a resumed
training ends as an uninterrupted one.

    training, validation  one loss per epoch so far

A loss that is not finite and the last epoch always end a training; `Ends` sets the other rules.
Early stopping is off unless configured:

    plateau   the learning rate is reduced when the validation loss stops improving, and the
              training ends after some reductions
    envelope  at milestone epochs a trial too far above the best trial's curve is pruned

Source of both: HyperNOMAD; Lakhmiri (2021), thesis, chapter 6.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import NamedTuple

from fovnet.search.trial import Status

Losses = Sequence[float]


class End(NamedTuple):
    """A status, and a message unless the training simply completed."""

    status: Status
    message: str = ""


class GuessingLosses(NamedTuple):
    """The losses of uniform class probabilities on the training and on the validation rows, in
    nats."""

    training_loss: float
    validation_loss: float


@dataclass(frozen=True)
class Plateau:
    """After `patience` epochs without a lower validation loss the rate is multiplied by `factor`;
    when that is due for the `reductions` + 1st time, the training ends."""

    patience: int
    factor: float = 0.1
    reductions: int = 2

    def reductions_due(self, validation: Losses) -> int:
        """The number of reductions due so far."""
        lowest_loss = math.inf
        epochs_without_gain = 0
        reduction_count = 0
        for loss in validation:
            epochs_without_gain += 1
            if loss < lowest_loss:
                lowest_loss = loss
                epochs_without_gain = 0
            if epochs_without_gain == self.patience:
                epochs_without_gain = 0
                reduction_count += 1
        return reduction_count


@dataclass(frozen=True)
class Ends:
    """The rules that end a training before its last epoch.

    guessing_epochs  number of consecutive epochs above guessing that count as divergence; None:
                     only a loss that is not finite does
    timeout_seconds  of training, including the time before a kill; checked after every epoch
    plateau          None: off
    envelope         epoch to the highest validation loss that a trial may have as its best there;
                     empty: off
    """

    guessing_epochs: int | None = None
    timeout_seconds: float | None = None
    plateau: Plateau | None = None
    envelope: Mapping[int, float] = field(default_factory=dict)

    def rate_factor(self, validation: Losses) -> float:
        """The factor on the learning rate of the next epoch."""
        if not self.plateau:
            return 1.0
        return self.plateau.factor ** self.plateau.reductions_due(validation)

    def find_end(
        self,
        training: Losses,
        validation: Losses,
        *,
        epochs: int,
        seconds: float,
        guess: GuessingLosses,
    ) -> End | None:
        """The end of a training of `epochs` epochs at this point; None if it continues."""
        epochs_done = len(validation)
        if epochs_done and not (math.isfinite(training[-1]) and math.isfinite(validation[-1])):
            return End(
                "diverged",
                f"loss {training[-1]:g} in training, {validation[-1]:g} in validation after epoch "
                f"{epochs_done}",
            )
        if is_above_guessing(training, validation, guess, self.guessing_epochs):
            return End(
                "diverged",
                f"above guessing for {self.guessing_epochs} epochs, up to epoch {epochs_done}: "
                f"validation loss {validation[-1]:.3g}, that of guessing is {guess.validation_loss:.3g}",
            )
        if epochs_done >= epochs:
            return End("completed")
        if self.plateau and self.plateau.reductions_due(validation) > self.plateau.reductions:
            return End(
                "completed", f"no better on a plateau: ended after epoch {epochs_done} of {epochs}"
            )
        highest_loss = self.envelope.get(epochs_done)
        if highest_loss is not None and min(validation) > highest_loss:
            return End(
                "pruned",
                f"validation loss {min(validation):.4f} after epoch {epochs_done}, above the envelope's "
                f"{highest_loss:.4f}",
            )
        if epochs_done and self.timeout_seconds is not None and seconds > self.timeout_seconds:
            return End(
                "timeout",
                f"{epochs_done} of {epochs} epochs in {seconds:.0f} s; best validation loss "
                f"{min(validation):.4f}",
            )
        return None


GUESSING_MARGIN = 1.5
"""Multiple of the guessing loss above which a training has diverged.  In 32 trainings of five
epochs of 320 slices of the demo, at rates from 10^-7 to 10, both losses of those that learned
nothing were at most 1.27 times guessing, once and in a first epoch; those of the one that diverged
with finite losses were at least 2.86 times."""


def is_above_guessing(
    training: Losses, validation: Losses, guess: GuessingLosses, epochs: int | None
) -> bool:
    """Whether both losses of each of the last `epochs` epochs exceed GUESSING_MARGIN times those of
    guessing; False if `epochs` is None.

    Both: an overfitted network may be worse than guessing on validation rows without having
    diverged.  A network that has learned nothing is at guessing, and has not diverged either.
    """
    if not epochs or len(validation) < epochs:
        return False
    return all(
        training_loss > GUESSING_MARGIN * guess.training_loss
        and validation_loss > GUESSING_MARGIN * guess.validation_loss
        for training_loss, validation_loss in zip(
            training[-epochs:], validation[-epochs:], strict=True
        )
    )
