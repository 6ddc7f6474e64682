"""A variational autoencoder whose error tells unusual vectors: trained on usual ones alone, it
reconstructs others badly.

    d  numbers of a vector, in [0, 1]
    z  latent
    L  hidden layers of the encoder, and of the decoder
Source: Lakhmiri (2021), thesis, chapter 5; Kingma & Welling, *Auto-encoding variational Bayes*
(2014), appendix B.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from itertools import pairwise
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor, nn

Floats = NDArray[np.float64]

ACTIVATIONS: Mapping[str, Any] = {"relu": nn.ReLU, "sigmoid": nn.Sigmoid, "tanh": nn.Tanh}
OPTIMISERS: Mapping[str, Any] = {
    "sgd": torch.optim.SGD,
    "adam": torch.optim.Adam,
    "adagrad": torch.optim.Adagrad,
    "rmsprop": torch.optim.RMSprop,
}


class Autoencoder(nn.Module):
    """Encoder to the mean and log variance of z, decoder back; the widths of L hidden layers lie
    evenly between d and the size of z.  One that is not variational has the mean alone."""

    def __init__(
        self,
        size: int,
        layers: int,
        latent: int,
        activation: str,
        dropout: float,
        is_variational: bool = True,
    ) -> None:
        super().__init__()
        self.is_variational = is_variational
        widths = [round(width) for width in np.linspace(size, latent, layers + 2)[:-1]]
        self.encoder = _stack(widths, activation, dropout)
        self.mean = nn.Linear(widths[-1], latent)
        self.log_variance = nn.Linear(widths[-1], latent)
        self.decoder = nn.Sequential(
            *_stack([latent, *widths[:0:-1]], activation, dropout), nn.Linear(widths[1], size)
        )

    def loss(self, x: Tensor) -> Tensor:
        """Mean of |x - x̂|² + KL(q(z|x) ‖ N(0, I)) over vectors (n, d), z drawn anew; of one that is
        not variational, of |x - x̂|²."""
        hidden = self.encoder(x)
        mean = self.mean(hidden)
        if not self.is_variational:
            return torch.mean(((x - self.decoder(mean)) ** 2).sum(dim=1))
        log_variance = self.log_variance(hidden)
        z = mean + torch.exp(0.5 * log_variance) * torch.randn_like(mean)
        divergence = 0.5 * (mean**2 + log_variance.exp() - 1.0 - log_variance).sum(dim=1)
        error: Tensor = ((x - self.decoder(z)) ** 2).sum(dim=1)
        return torch.mean(error + divergence)

    def errors(self, x: Tensor) -> Floats:
        """(n,) |x - x̂|² of vectors (n, d), z at its mean."""
        self.eval()
        with torch.no_grad():
            reconstruction = self.decoder(self.mean(self.encoder(x)))
            return np.asarray(((x - reconstruction) ** 2).sum(dim=1).double().numpy())

    def errors_of_pixels(self, pixels: Floats) -> Floats:
        """As `errors`, of an array (n, d)."""
        return self.errors(torch.tensor(pixels, dtype=torch.float32))


def _stack(widths: Sequence[int], activation: str, dropout: float) -> nn.Sequential:
    layers: list[nn.Module] = []
    for inputs, outputs in pairwise(widths):
        layers += [nn.Linear(inputs, outputs), ACTIVATIONS[activation](), nn.Dropout(dropout)]
    return nn.Sequential(*layers)


def train_autoencoder(
    vectors: Floats,
    configuration: Mapping[str, Any],
    *,
    epochs: int,
    seed: int,
    is_variational: bool = True,
) -> tuple[Autoencoder, list[float]]:
    """The autoencoder of a configuration trained on usual vectors (n, d) with one thread, and its
    loss in every epoch, which ends where the loss is not finite.

    configuration  layers, latent, log2_batch, activation, dropout, optimiser, rate
    """
    threads = torch.get_num_threads()
    torch.set_num_threads(1)
    try:
        with torch.random.fork_rng(devices=[]):
            torch.manual_seed(seed)
            x = torch.tensor(vectors, dtype=torch.float32)
            model = Autoencoder(
                x.shape[1],
                configuration["layers"],
                configuration["latent"],
                configuration["activation"],
                configuration["dropout"],
                is_variational,
            )
            optimiser_class = OPTIMISERS[configuration["optimiser"]]
            optimiser = optimiser_class(model.parameters(), lr=configuration["rate"])
            losses = list[float]()
            while len(losses) < epochs and all(map(math.isfinite, losses)):
                losses.append(_epoch(model, optimiser, x, 2 ** configuration["log2_batch"]))
            return model, losses
    finally:
        torch.set_num_threads(threads)


def _epoch(model: Autoencoder, optimiser: Any, x: Tensor, batch: int) -> float:
    """The mean loss of one pass over the vectors, in a new order."""
    model.train()
    total = 0.0
    for rows in torch.split(torch.randperm(len(x)), batch):
        optimiser.zero_grad()
        loss = model.loss(x[rows])
        torch.autograd.backward(loss)
        optimiser.step()
        total += float(loss.detach()) * len(rows)
    return total / len(x)
