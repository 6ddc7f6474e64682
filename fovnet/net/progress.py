"""How far a training is: what a checkpoint holds, and what is reported while it runs."""

from __future__ import annotations

from dataclasses import dataclass, field

import torch
from torch import Tensor

from fovnet.net.model import Network
from fovnet.net.train_step import TrainStep


@dataclass
class Progress:
    """A trial between two epochs: everything that has to be kept to go on as if nothing had happened.

    average  the running mean of every parameter; empty where the recipe takes none
    """

    model: Network
    optimiser: torch.optim.SGD
    generator: torch.Generator
    average: list[Tensor]
    train_step: TrainStep | None = None
    step: int = 0
    seconds: float = 0.0
    training_loss: list[float] = field(default_factory=list)
    validation_loss: list[float] = field(default_factory=list)

    @property
    def score(self) -> float | None:
        """The lowest validation loss so far, the one whose weights are kept."""
        return min(self.validation_loss, default=None)
