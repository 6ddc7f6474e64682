"""fsbo: a Gaussian process that compares points by what a network makes of them, which is trained
on earlier searches and, at every draw from there anew, on the losses seen.

    n  rows seen
    y  goodness of each: 1 the best of them, 0 the worst, between by warped loss
Source: Wistuba & Grabocka, *Few-shot Bayesian optimization with deep kernel surrogates* (2021),
arXiv:2101.07667; of what differs, training has a fixed number of steps and a falling rate, and
fine-tuning 100 epochs, not 500.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import lru_cache
from itertools import pairwise
from typing import Any

import numpy as np
from numpy.typing import NDArray

from fovnet.bench.peers import one_torch_thread
from fovnet.maths.acquisition import log_expected_improvement
from fovnet.maths.warping import TARGETS
from fovnet.search.prior import Prior
from fovnet.search.space import Space

Floats = NDArray[np.float64]
Observations = tuple[Floats, Floats]
"""Points (n, D) and their goodness (n,)."""

HIDDEN = (32, 32, 32, 32)
STEPS = 3000
BATCH = 64
RATE = 0.001
EPOCHS = 100
PATIENCE = 16
FINE_RATE = 0.001
JITTERS = tuple(1e-6 * 2**i for i in range(14))  # up to 0.008


def deep_improvement(prior: Prior) -> Callable[[Floats, Floats, Floats], Floats]:
    """Log expected improvement (m,) of points x (m, D), given X (n, D) and their losses y, under
    the prior's network fine-tuned to these."""

    def improvement(X: Floats, y: Floats, x: Floats) -> Floats:
        with one_torch_thread():
            observations = (X, goodness(y))
            parameters = train(
                learn_kernel(prior), lambda: observations, EPOCHS, FINE_RATE, PATIENCE
            )
            mean, variance = posterior(parameters, observations, x)
        return log_expected_improvement(-mean, variance, -1.0)

    return improvement


def goodness(losses: Floats) -> Floats:
    """1 for the lowest (n,), 0 for the highest; all 0 where they are equal."""
    values = TARGETS["half-ranked"](losses).values
    return np.asarray((values.max() - values) / (np.ptp(values) or 1.0))


@lru_cache(maxsize=8)
def learn_kernel(prior: Prior) -> list[Any]:
    """The parameters after all steps, each on BATCH rows of an earlier search, by the prior's seed:
    14 s."""
    rng = np.random.default_rng(prior.facts["seed"])
    tasks = [
        (Space(prior.axes, source.levels).unit_cube, source.losses) for source in prior.sources
    ]

    def draw_batch() -> Observations:
        x, losses = tasks[int(rng.integers(len(tasks)))]
        rows = rng.choice(len(x), min(BATCH, len(x)), replace=False)
        return x[rows], goodness(losses[rows])

    with one_torch_thread():
        return train(draw_parameters(tasks[0][0].shape[1], rng), draw_batch, STEPS, RATE, STEPS)


def draw_parameters(dimensions: int, rng: np.random.Generator) -> list[Any]:
    """Weights and biases, layer by layer; then the logarithms of lengthscale, signal and noise
    variance."""
    import torch

    parameters = []
    for inputs, outputs in pairwise((dimensions, *HIDDEN)):
        parameters += [
            rng.uniform(-1, 1, (inputs, outputs)) / np.sqrt(inputs),
            rng.uniform(-1, 1, outputs) / np.sqrt(inputs),
        ]
    return [torch.tensor(array) for array in (*parameters, np.array([0.0, 0.0, np.log(0.01)]))]


def train(
    start: list[Any], draw_batch: Callable[[], Observations], steps: int, rate: float, patience: int
) -> list[Any]:
    """The parameters after these steps of Adam, fewer where the cost did not fall for `patience` of
    them."""
    import torch

    parameters = [tensor.clone().requires_grad_() for tensor in start]
    adam = torch.optim.Adam(parameters, lr=rate)
    rate_schedule = torch.optim.lr_scheduler.CosineAnnealingLR(adam, steps)
    best = np.inf
    steps_since_best = 0
    for _ in range(steps):
        adam.zero_grad()
        cost = negative_log_likelihood(parameters, *map(torch.as_tensor, draw_batch()))
        cost.backward()
        adam.step()
        rate_schedule.step()
        steps_since_best += 1
        if cost.item() < best:
            best = cost.item()
            steps_since_best = 0
        if steps_since_best >= patience:
            break
    return [tensor.detach() for tensor in parameters]


def negative_log_likelihood(parameters: list[Any], x: Any, y: Any) -> Any:
    """Of goodness y (n,) at x (n, D), a mean over the rows, without its constant."""
    import torch

    L = _factor(parameters, x)
    white = torch.linalg.solve_triangular(L, y[:, None], upper=False)
    return (0.5 * (white**2).sum() + L.diagonal().log().sum()) / len(y)


def posterior(
    parameters: list[Any], observations: Observations, x: Floats
) -> tuple[Floats, Floats]:
    """Mean and variance (m,) of the goodness at x (m, D)."""
    import torch

    X, y = map(torch.as_tensor, observations)
    L = _factor(parameters, X)
    cross = _kernel(parameters, X, torch.as_tensor(x))
    white, v = (
        torch.linalg.solve_triangular(L, column, upper=False) for column in (y[:, None], cross)
    )
    variance = (parameters[-1][1].exp() - (v**2).sum(dim=0)).clamp(min=0.0)
    return (v.T @ white)[:, 0].numpy(), variance.numpy()


def _factor(parameters: list[Any], x: Any) -> Any:
    """The Cholesky factor of the covariance, with the least of JITTERS that it needs.

    Raises LinAlgError if none is enough.
    """
    import torch

    K = _kernel(parameters, x, x) + parameters[-1][2].exp() * torch.eye(len(x), dtype=x.dtype)
    for jitter in JITTERS:
        L, failed = torch.linalg.cholesky_ex(K + jitter * torch.eye(len(x), dtype=x.dtype))
        if not failed:
            return L
    raise np.linalg.LinAlgError(f"{len(x)} rows: their covariance is not positive definite")


def _kernel(parameters: list[Any], a: Any, b: Any) -> Any:
    """Matérn 5/2 of what the network makes of points."""
    a, b = (_features(parameters, points) * (-parameters[-1][0]).exp() for points in (a, b))
    r2 = ((a**2).sum(dim=1)[:, None] + (b**2).sum(dim=1) - 2.0 * a @ b.T).clamp(min=0.0)
    r = (5.0 * r2 + 1e-12).sqrt()
    return parameters[-1][1].exp() * (1.0 + r + 5.0 / 3.0 * r2) * (-r).exp()


def _features(parameters: list[Any], x: Any) -> Any:
    """What the network makes of points (n, D): layers of `parameters`, weights and biases in turn, with
    a ReLU between them; the last part is none of the network's."""
    *layer_parameters, _ = parameters
    layers = list(zip(layer_parameters[::2], layer_parameters[1::2], strict=True))
    for layer_number, (weights, biases) in enumerate(layers, start=1):
        x = x @ weights + biases
        if layer_number < len(layers):
            x = x.relu()
    return x
