"""Does fovnet's fast training cost accuracy?  The same networks are trained by a plain loop from the same
weights with the same budget.

The plain loop is float32 without graphs, and augments slice by slice with scipy's affine_transform and
numpy's noise, with the distributions documented in net/images/augment.py; nothing of that file is used.
"""

from __future__ import annotations

import tempfile
from collections.abc import Callable, Sequence
from dataclasses import dataclass, fields
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray
from scipy.ndimage import affine_transform

from fovnet.bench.textbook import textbook_network
from fovnet.bench.together import Progress
from fovnet.net.family.architecture import Architecture

if TYPE_CHECKING:
    from fovnet.net.recipe import Ranges
    from fovnet.net.training.train import Data

DEMO = (
    5.0,
    0.04,
    0.05,
    0.08,
    0.03,
)  # degrees, translation, shear, zoom and noise of configs/demo.yaml
CHOSEN: Sequence[tuple[str, Callable[[int], Architecture], int, float]] = (
    ("5 blocks, 8 filters", lambda k: Architecture(5, 1, 3, 3, False, classes=k), 16, 10**-3),
    (
        "4 blocks, 16 filters of 5 × 5",
        lambda k: Architecture(4, 1, 4, 5, False, classes=k),
        16,
        10**-2.5,
    ),
    (
        "4 blocks, 8 filters of 5 × 5, separable",
        lambda k: Architecture(4, 1, 3, 5, True, classes=k),
        16,
        10**-2.5,
    ),
)
"""Networks as in the demo, their batches, and learning rates at which each learns within 75 steps."""


@dataclass(frozen=True)
class Budget:
    """Length of each training, and number of validation slices for its loss."""

    epochs: int
    slices_per_epoch: int
    validation_slices: int


@dataclass(frozen=True)
class Pair:
    """The lowest validation losses of both trainings with one seed."""

    name: str
    seed: int
    fast: float
    plain: float


COLUMNS = tuple(field.name for field in fields(Pair))


@dataclass(frozen=True)
class Comparison:
    """Means and their standard errors over the seeds; `difference` is that of the pairs, fast less plain."""

    name: str
    fast: tuple[float, float]
    plain: tuple[float, float]
    difference: tuple[float, float]


def pairs_of(
    pixels: NDArray[np.uint8],
    targets: NDArray[np.float32],
    train: NDArray[np.int64],
    validation: NDArray[np.int64],
    device: str,
    seeds: int,
    budget: Budget,
    progress: Progress | None = None,
) -> list[Pair]:
    """The pair of each network of CHOSEN and every seed, trained on as many of the rows as the budget
    uses."""
    import torch

    from fovnet.net.recipe import Ranges, Recipe
    from fovnet.net.training.train import choose_device, place, train_network

    torch.set_num_threads(1)
    rng, ranges = np.random.default_rng(0), Ranges(*DEMO)
    train = np.sort(rng.permutation(train)[: budget.epochs * budget.slices_per_epoch])
    validation = np.sort(rng.permutation(validation)[: budget.validation_slices])
    rows = np.concatenate([train, validation])
    data = place(
        np.array(pixels[rows]),
        targets[rows],
        np.arange(len(train)),
        np.arange(len(train), len(rows)),
        choose_device(device),
    )
    made = []
    with tempfile.TemporaryDirectory() as folder:
        for name, build, batch, rate in CHOSEN:
            net = build(targets.shape[1])
            for seed in range(seeds):
                recipe = Recipe(budget.epochs, budget.slices_per_epoch, ranges)
                keep = Path(folder) / "net.safetensors"
                fast = train_network(
                    net,
                    learning_rate=rate,
                    batch=batch,
                    seed=seed,
                    data=data,
                    recipe=recipe,
                    keep=keep,
                    facts={},
                )
                plain = plain_losses(net, rate, batch, seed, data, ranges, budget)
                made.append(Pair(name, seed, min(fast.validation_loss), min(plain)))
                if progress:
                    progress(len(made), seeds * len(CHOSEN))
    return made


def compare(pairs: Sequence[Pair]) -> list[Comparison]:
    """A row for each configuration."""
    rows = []
    for name in dict.fromkeys(pair.name for pair in pairs):
        fast, plain = np.array([(pair.fast, pair.plain) for pair in pairs if pair.name == name]).T
        rows.append(Comparison(name, _mean(fast), _mean(plain), _mean(fast - plain)))
    return rows


def _mean(values: NDArray[np.float64]) -> tuple[float, float]:
    return float(values.mean()), float(values.std(ddof=1) / np.sqrt(len(values)))


def plain_losses(
    net: Architecture,
    rate: float,
    batch: int,
    seed: int,
    data: Data,
    ranges: Ranges,
    budget: Budget,
) -> list[float]:
    """The validation loss after every epoch of the plain loop."""
    import torch

    from fovnet.net.family.model import build
    from fovnet.net.training.train import class_weights

    rng, device = np.random.default_rng([seed, 1]), data.device
    model = textbook_network(net, build(net, torch.Generator().manual_seed(seed))).to(device)
    optimiser = torch.optim.SGD(model.parameters(), rate, momentum=0.9, nesterov=True)
    schedule = torch.optim.lr_scheduler.LambdaLR(optimiser, lambda step: 1 / (1 + 1e-6 * step))
    weights = class_weights(data.targets[data.train])
    pixels, order, losses = data.slices.cpu().numpy(), np.zeros(0, np.int64), []

    def loss_of(rows: NDArray[np.int64], images: Any) -> Any:
        scores, wanted = (
            model(torch.from_numpy(images).to(device)),
            data.targets[torch.from_numpy(rows).to(device)],
        )
        return torch.nn.functional.cross_entropy(scores, wanted, weight=weights)

    for _ in range(budget.epochs):
        model.train()
        while len(order) < budget.slices_per_epoch:
            order = np.concatenate([order, rng.permutation(data.train.cpu().numpy())])
        now, order = np.split(order, [budget.slices_per_epoch])
        for rows in np.split(now, range(batch, len(now), batch)):
            loss = loss_of(
                rows, np.stack([augmented(pixels[row] / 255, ranges, rng) for row in rows])[:, None]
            )
            optimiser.zero_grad()
            loss.backward()
            optimiser.step()
            schedule.step()
        model.eval()
        with torch.no_grad():
            rows = data.validation.cpu().numpy()
            parts = [
                (part, float(loss_of(part, (pixels[part][:, None] / 255).astype(np.float32))))
                for part in np.array_split(rows, 8)
            ]
        losses.append(sum(len(part) * loss for part, loss in parts) / len(rows))
    return losses


def augmented(
    image: NDArray[np.float64], ranges: Ranges, rng: np.random.Generator
) -> NDArray[np.float32]:
    """One slice (h, w) in [0, 1], rotated, sheared, zoomed, shifted and with noise; axes are rows, then
    columns."""
    angle, shear = rng.uniform(-1, 1, 2) * [np.deg2rad(ranges.rotation_deg), ranges.shear]
    zoom, shift = (
        1 + ranges.zoom * rng.uniform(-1, 1, 2),
        ranges.translation * rng.uniform(-1, 1, 2) * image.shape,
    )
    turned = np.array([[np.cos(angle), -np.sin(angle)], [np.sin(angle), np.cos(angle)]]) @ np.array(
        [[1.0, 0.0], [shear, 1.0]]
    )
    centre = (np.array(image.shape) - 1) / 2
    matrix = turned * zoom
    warped = affine_transform(image, matrix, centre + turned @ shift - matrix @ centre, order=1)
    noisy = warped + rng.uniform(0, ranges.noise) * rng.standard_normal(image.shape)
    return np.asarray(noisy.clip(0, 1), dtype=np.float32)
