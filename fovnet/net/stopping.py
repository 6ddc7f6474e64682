"""When a training ends, as a function of its losses alone: no hidden state, so that one that was killed and goes on ends alike.

    training, validation  one loss an epoch, as far as it has come

Always on are the rules by which a training has failed (diverged) or is done.  Early stopping is off unless configured:
    plateau   the learning rate is reduced where the validation loss gets no better, and the training ends after some reductions
    envelope  at milestone epochs a trial that lies too far above the best trial's curve is pruned
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
    """A status, and a sentence where it is not simply done."""

    status: Status
    message: str = ""


class Guess(NamedTuple):
    """What answering all classes alike costs on the training and on the validation rows."""

    training: float
    validation: float


@dataclass(frozen=True)
class Plateau:
    """After `patience` epochs without a lower validation loss the rate is multiplied by `factor`; when that is due for the
    `reductions` + 1st time, the training is done."""

    patience: int
    factor: float = 0.1
    reductions: int = 2

    def due(self, validation: Losses) -> int:
        """How many reductions have become due."""
        lowest, waited, due = math.inf, 0, 0
        for loss in validation:
            waited = 0 if loss < lowest else waited + 1
            lowest = min(lowest, loss)
            if waited == self.patience:
                waited, due = 0, due + 1
        return due


@dataclass(frozen=True)
class Ends:
    """What ends a training before its last epoch.

    guessing_epochs  so many epochs in a row above guessing are a divergence; None: only a loss that is not finite is one
    timeout_seconds  of training, those before a kill included; looked at after every epoch
    plateau          None: off
    envelope         epoch to the highest validation loss that a trial may have as its best there; empty: off
    """

    guessing_epochs: int | None = None
    timeout_seconds: float | None = None
    plateau: Plateau | None = None
    envelope: Mapping[int, float] = field(default_factory=dict)

    def rate_factor(self, validation: Losses) -> float:
        """What the learning rate of the next epoch is multiplied by."""
        return self.plateau.factor ** self.plateau.due(validation) if self.plateau else 1.0

    def end(self, training: Losses, validation: Losses, *, epochs: int, seconds: float, guess: Guess) -> End | None:
        """How a training of `epochs` epochs ends here; None where it goes on."""
        done = len(validation)
        if done and not (math.isfinite(training[-1]) and math.isfinite(validation[-1])):
            return End("diverged", f"loss {training[-1]:g} in training, {validation[-1]:g} in validation after epoch {done}")
        if above_guessing(training, validation, guess, self.guessing_epochs):
            lost = f"validation loss {validation[-1]:.3g}, that of guessing is {guess.validation:.3g}"
            return End("diverged", f"above guessing for {self.guessing_epochs} epochs, up to epoch {done}: {lost}")
        if done >= epochs:
            return End("completed")
        if self.plateau and self.plateau.due(validation) > self.plateau.reductions:
            return End("completed", f"no better on a plateau: ended after epoch {done} of {epochs}")
        bound = self.envelope.get(done)
        if bound is not None and min(validation) > bound:
            return End("pruned", f"validation loss {min(validation):.4f} after epoch {done}, above the envelope's {bound:.4f}")
        if done and self.timeout_seconds is not None and seconds > self.timeout_seconds:
            return End("timeout", f"{done} of {epochs} epochs in {seconds:.0f} s; best validation loss {min(validation):.4f}")
        return None


GUESSING_MARGIN = 1.5
"""How far above guessing is lost.  In 32 trainings of five epochs of 320 slices of the demo, at rates from 10^-7 to 10, those that
learnt nothing stood at most 1.27 times guessing in both losses, once and in a first epoch; the one lost in numbers at least 2.86 times."""


def above_guessing(training: Losses, validation: Losses, guess: Guess, epochs: int | None) -> bool:
    """Whether both losses of each of the last `epochs` epochs lie more than half above those of guessing.

    Both: a network that has learnt its training rows by heart may be worse than guessing on others, and has not diverged.  One that has
    learnt nothing lies at guessing, and has not either.
    """
    if not epochs or len(validation) < epochs:
        return False
    pairs = zip(training[-epochs:], validation[-epochs:], strict=True)
    return all(mine > GUESSING_MARGIN * guess.training and other > GUESSING_MARGIN * guess.validation for mine, other in pairs)
