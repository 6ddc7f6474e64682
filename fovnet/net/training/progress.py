"""The state of a training, for checkpoints and for progress reports."""

from __future__ import annotations

from dataclasses import dataclass, field

import torch
from torch import Tensor

from fovnet.net.family.model import Network
from fovnet.net.training.train_step import TrainStep


@dataclass
class Progress:
    """A trial between two epochs: all that is needed to resume it as if it had not been
    interrupted.

    averaged_weights   the running mean of every parameter; empty if the recipe does not average
    train_step         of this network; None before its first epoch
    step_count         steps taken
    epoch_seconds      of each whole epoch
    training_losses    of each whole epoch, in nats
    validation_losses  of each whole epoch, in nats
    """

    model: Network
    optimiser: torch.optim.Optimizer
    generator: torch.Generator
    averaged_weights: list[Tensor]
    train_step: TrainStep | None = None
    step_count: int = 0
    epoch_seconds: list[float] = field(default_factory=list)
    training_losses: list[float] = field(default_factory=list)
    validation_losses: list[float] = field(default_factory=list)

    @property
    def seconds(self) -> float:
        """Of all whole epochs, those before a kill included."""
        return sum(self.epoch_seconds)

    @property
    def score(self) -> float | None:
        """The lowest validation loss so far, None before the first; the weights of its epoch are
        kept."""
        return min(self.validation_losses, default=None)
