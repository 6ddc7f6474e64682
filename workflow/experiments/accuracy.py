"""Does fovnet's fast training cost accuracy?  The same networks are trained by a plain loop from
the same weights with the same budget.

The plain loop is float32 without graphs, and augments slice by slice with scipy's affine_transform
and numpy's noise, with the distributions documented in net/images/augment.py; nothing of that file
is used.
"""

from __future__ import annotations

import tempfile
from collections.abc import Callable, Sequence
from dataclasses import dataclass, fields
from pathlib import Path
from typing import Annotated, Any, NamedTuple

import numpy as np
import typer
from numpy.typing import NDArray
from scipy.ndimage import affine_transform

from fovnet.bench.textbook import textbook_network
from fovnet.bench.together import Progress
from fovnet.cli import main
from fovnet.cli.options import PathArgument, file_out, table_of
from fovnet.cli.screen import empty_table, out, progress_bar, show_table
from fovnet.net.device import choose_device
from fovnet.net.family.architecture import Architecture
from fovnet.net.family.model import build_network
from fovnet.net.jobs.training_data import labelled_slices_of
from fovnet.net.recipe import Ranges, Recipe
from fovnet.net.training.class_weights import inverse_class_weights
from fovnet.net.training.train import TrainingData, place_on_device, train_network
from fovnet.records import write_tsv
from fovnet.volume.collection.pack import load_pack

# degrees, translation, shear, zoom and noise of configs/demo.yaml
DEMO_RANGES = Ranges(5.0, 0.04, 0.05, 0.08, 0.03)


class ComparedNetwork(NamedTuple):
    """A network that is trained in both ways; `architecture_of` takes the number of classes."""

    name: str
    architecture_of: Callable[[int], Architecture]
    batch: int
    learning_rate: float


COMPARED_NETWORKS = (
    ComparedNetwork(
        "5 blocks, 8 filters",
        lambda classes: Architecture(5, 1, 3, 3, separable=False, classes=classes),
        16,
        10**-3,
    ),
    ComparedNetwork(
        "4 blocks, 16 filters of 5 × 5",
        lambda classes: Architecture(4, 1, 4, 5, separable=False, classes=classes),
        16,
        10**-2.5,
    ),
    ComparedNetwork(
        "4 blocks, 8 filters of 5 × 5, separable",
        lambda classes: Architecture(4, 1, 3, 5, separable=True, classes=classes),
        16,
        10**-2.5,
    ),
)
"""Networks as in the demo, with rates at which each learns within 75 steps."""
PLAIN_RATE_DECAY = 1e-6  # of the plain loop's learning rate, per step
VALIDATION_PARTS = 8  # parts in which the plain loop computes its validation loss

app = typer.Typer(add_completion=False)


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


class MeanAndError(NamedTuple):
    """A mean over the seeds, and its standard error."""

    mean: float
    error: float


@dataclass(frozen=True)
class Comparison:
    """The losses of one network; `difference` is that of the pairs, fast less plain."""

    name: str
    fast: MeanAndError
    plain: MeanAndError
    difference: MeanAndError


def train_pairs(
    pixels: NDArray[np.uint8],
    targets: NDArray[np.float32],
    training_rows: NDArray[np.int64],
    validation_rows: NDArray[np.int64],
    device: str,
    seeds: int,
    budget: Budget,
    progress: Progress | None = None,
) -> list[Pair]:
    """The pair of each of COMPARED_NETWORKS and every seed, trained on as many of the rows as the
    budget uses.

    pixels   (n, h, w) of all slices
    targets  (n, k) of all slices
    """
    import torch

    torch.set_num_threads(1)
    rng = np.random.default_rng(0)
    most_training_slices = budget.epochs * budget.slices_per_epoch
    training_rows = np.sort(rng.permutation(training_rows)[:most_training_slices])
    validation_rows = np.sort(rng.permutation(validation_rows)[: budget.validation_slices])
    rows = np.concatenate([training_rows, validation_rows])
    data = place_on_device(
        np.array(pixels[rows]),
        targets[rows],
        np.arange(len(training_rows)),
        np.arange(len(training_rows), len(rows)),
        choose_device(device),
    )
    recipe = Recipe(budget.epochs, budget.slices_per_epoch, DEMO_RANGES)
    pairs = []
    with tempfile.TemporaryDirectory() as folder:
        for network in COMPARED_NETWORKS:
            architecture = network.architecture_of(targets.shape[1])
            for seed in range(seeds):
                fast_training = train_network(
                    architecture,
                    learning_rate=network.learning_rate,
                    batch_size=network.batch,
                    seed=seed,
                    data=data,
                    recipe=recipe,
                    weights_path=Path(folder) / "net.safetensors",
                    network_facts={},
                )
                plain_losses = train_plainly(
                    architecture, network.learning_rate, network.batch, seed, data, budget
                )
                fast_loss = min(fast_training.validation_losses)
                pairs.append(Pair(network.name, seed, fast_loss, min(plain_losses)))
                if progress:
                    progress(len(pairs), seeds * len(COMPARED_NETWORKS))
    return pairs


def compare(pairs: Sequence[Pair]) -> list[Comparison]:
    """The comparison of each network."""
    comparisons = []
    for name in dict.fromkeys(pair.name for pair in pairs):
        fast, plain = np.array([(pair.fast, pair.plain) for pair in pairs if pair.name == name]).T
        comparisons.append(
            Comparison(
                name, _mean_and_error(fast), _mean_and_error(plain), _mean_and_error(fast - plain)
            )
        )
    return comparisons


def _mean_and_error(values: NDArray[np.float64]) -> MeanAndError:
    error = values.std(ddof=1) / np.sqrt(len(values))
    return MeanAndError(float(values.mean()), float(error))


def train_plainly(
    architecture: Architecture,
    learning_rate: float,
    batch: int,
    seed: int,
    data: TrainingData,
    budget: Budget,
) -> list[float]:
    """The validation loss after every epoch of the plain loop."""
    import torch

    rng = np.random.default_rng([seed, 1])
    device = data.device
    initial_network = build_network(architecture, torch.Generator().manual_seed(seed))
    model = textbook_network(architecture, initial_network).to(device)
    optimiser = torch.optim.SGD(model.parameters(), learning_rate, momentum=0.9, nesterov=True)
    schedule = torch.optim.lr_scheduler.LambdaLR(
        optimiser, lambda step: 1 / (1 + PLAIN_RATE_DECAY * step)
    )
    weights = inverse_class_weights(data.targets[data.training_rows])
    pixels = data.slices.cpu().numpy()
    order = np.zeros(0, np.int64)
    losses = []

    def loss_of(rows: NDArray[np.int64], images: Any) -> Any:
        scores = model(torch.from_numpy(images).to(device))
        targets = data.targets[torch.from_numpy(rows).to(device)]
        return torch.nn.functional.cross_entropy(scores, targets, weight=weights)

    for _ in range(budget.epochs):
        model.train()
        while len(order) < budget.slices_per_epoch:
            order = np.concatenate([order, rng.permutation(data.training_rows.cpu().numpy())])
        epoch_rows, order = np.split(order, [budget.slices_per_epoch])
        for rows in np.split(epoch_rows, range(batch, len(epoch_rows), batch)):
            images = np.stack([augment(pixels[row] / 255, DEMO_RANGES, rng) for row in rows])
            loss = loss_of(rows, images[:, None])
            optimiser.zero_grad()
            loss.backward()
            optimiser.step()
            schedule.step()
        model.eval()
        with torch.no_grad():
            rows = data.validation_rows.cpu().numpy()
            loss_sum = 0.0
            for part in np.array_split(rows, VALIDATION_PARTS):
                images = (pixels[part][:, None] / 255).astype(np.float32)
                loss_sum += len(part) * float(loss_of(part, images))
        losses.append(loss_sum / len(rows))
    return losses


def augment(
    image: NDArray[np.float64], ranges: Ranges, rng: np.random.Generator
) -> NDArray[np.float32]:
    """One slice (h, w) in [0, 1], rotated, sheared, zoomed, shifted and with noise; axes are rows,
    then columns."""
    angle, shear = rng.uniform(-1, 1, 2) * [np.deg2rad(ranges.rotation_deg), ranges.shear]
    zoom = 1 + ranges.zoom * rng.uniform(-1, 1, 2)
    shift = ranges.translation * rng.uniform(-1, 1, 2) * image.shape
    rotation = np.array([[np.cos(angle), -np.sin(angle)], [np.sin(angle), np.cos(angle)]])
    sheared_rotation = rotation @ np.array([[1.0, 0.0], [shear, 1.0]])
    centre = (np.array(image.shape) - 1) / 2
    matrix = sheared_rotation * zoom
    offset = centre + sheared_rotation @ shift - matrix @ centre
    warped = affine_transform(image, matrix, offset, order=1)
    noisy = warped + rng.uniform(0, ranges.noise) * rng.standard_normal(image.shape)
    return np.asarray(noisy.clip(0, 1), dtype=np.float32)


@app.command()
def compare_accuracy(
    pack: Annotated[Path, PathArgument(help="A folder of labelled slices made by `fovnet slice`.")],
    out_file: Annotated[
        Path, file_out(table_of(__name__), "A TSV file for the losses of every training.")
    ],
    device: Annotated[
        str, typer.Option(help="auto, cpu or cuda; also for the plain loop.")
    ] = "auto",
    seeds: Annotated[
        int,
        typer.Option(
            min=2,
            help="Number of trainings of each configuration in each way, from the same weights.",
        ),
    ] = 5,
    epochs: Annotated[int, typer.Option(min=1)] = 3,
    slices_per_epoch: Annotated[int, typer.Option(min=64)] = 800,
    validation_slices: Annotated[int, typer.Option(min=32)] = 400,
) -> None:
    """Check that speed costs no accuracy: compare validation losses with those of a plain float32
    loop that augments slice by slice."""
    slices = load_pack(pack)
    rows = labelled_slices_of(slices)
    budget = Budget(epochs, slices_per_epoch, validation_slices)
    with progress_bar("training") as advance:
        pairs = train_pairs(
            slices.pixels,
            rows.targets,
            rows.training_rows,
            rows.validation_rows,
            device=device,
            seeds=seeds,
            budget=budget,
            progress=advance,
        )
    write_tsv(out_file, COLUMNS, [vars(pair) for pair in pairs])
    table = empty_table(
        f"lowest validation loss, mean ± standard error of {seeds} seeds",
        *("configuration", "fovnet", "plain loop", "difference"),
    )
    for comparison in compare(pairs):
        figures = (comparison.fast, comparison.plain, comparison.difference)
        table.add_row(
            comparison.name, *(f"{figure.mean:.3f} ± {figure.error:.3f}" for figure in figures)
        )
    show_table(table)
    out.print(f"{out_file}")


if __name__ == "__main__":
    main(app)
