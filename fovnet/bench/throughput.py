"""The speed of training: fovnet's steps compared with a pipeline as in the MONAI tutorials,
alternately, on the same slices.

Each configuration has a process of its own, so that its peak memory is measured apart from the
others'; on a CPU that peak is the growth of the process over its first steps, on CUDA the
allocator's.  Only fovnet's own figures need nothing beyond torch and numpy.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, fields, replace
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from fovnet.bench.timing import in_turn, seconds_of
from fovnet.bench.together import Progress as Report
from fovnet.bench.together import run_alone
from fovnet.bench.tutorial import Pipeline, epochs_of, is_monai_installed
from fovnet.machine.allocation import keep_freed_memory
from fovnet.machine.memory import peak_bytes
from fovnet.net.cost.predicted import predict_cost, predict_training_bytes
from fovnet.net.device import choose_device
from fovnet.net.family.architecture import Architecture

if TYPE_CHECKING:
    import torch

    from fovnet.net.recipe import Recipe
    from fovnet.net.training.progress import Progress
    from fovnet.net.training.train import TrainingData

Floats = NDArray[np.float64]
CLASSES = 7
LEARNING_RATE = 1e-3
MOST_IMAGES_OF_EPOCH = 4096  # of a timed epoch
LOADING_SECONDS = (
    3e-3  # seconds one loader worker takes for a slice, to choose the length of an epoch
)
# degrees, translation, shear, zoom and noise of configs/default.yaml
AUGMENTATION_RANGES = (10.0, 0.08, 0.1, 0.15, 0.03)


def _architecture(
    blocks: int, convolutions: int, log2_filters: int, kernel: int, separable: bool
) -> Architecture:
    return Architecture(blocks, convolutions, log2_filters, kernel, separable, classes=CLASSES)


SPREAD: Sequence[tuple[Architecture, int]] = (
    (_architecture(5, 1, 2, 3, False), 4),
    (_architecture(5, 1, 2, 3, False), 32),
    (_architecture(5, 1, 2, 3, False), 256),
    (_architecture(5, 1, 3, 3, False), 16),
    (_architecture(4, 1, 3, 5, False), 32),
    (_architecture(4, 2, 4, 3, False), 16),
    (_architecture(5, 1, 4, 5, True), 64),
    (_architecture(5, 2, 4, 3, True), 8),
    (_architecture(5, 1, 5, 3, False), 16),
    (_architecture(5, 1, 6, 3, False), 8),
    (_architecture(5, 1, 6, 5, True), 32),
    (_architecture(5, 2, 6, 3, False), 128),
    (_architecture(5, 1, 7, 3, False), 64),
    (_architecture(5, 1, 8, 3, False), 4),
    (_architecture(5, 3, 8, 5, False), 256),
)
"""Batches of 4 to 256, 4 to 256 filters, kernels of 3 and 5, separable and not; the paper's
baseline is the tenth."""


@dataclass(frozen=True)
class Bounds:
    """Limits of one configuration in seconds and bytes, repeats of both pipelines, and loader
    workers of MONAI's."""

    seconds: float
    bytes: float
    repeats: int
    loader_workers: int


@dataclass(frozen=True)
class Throughput:
    """One configuration's figures: medians over the repeats; None where nothing was measured, with
    the reason in `note`.

    matrix_share    of the device's rate of one large matrix product, an operation counted as
                    net/cost/predicted.py does
    handling_share  of a step: picking, normalising and augmenting its slices
    ratio           fovnet's images per second over MONAI's: median, lowest and highest of the pairs
    """

    blocks: int
    convolutions: int
    filters: int
    kernel: int
    separable: bool
    batch: int
    weights: int
    predicted_mb: float
    images: int | None = None
    images_per_second: float | None = None
    ms_per_step: float | None = None
    matrix_share: float | None = None
    handling_share: float | None = None
    peak_mb: float | None = None
    monai_images_per_second: float | None = None
    ratio: float | None = None
    ratio_low: float | None = None
    ratio_high: float | None = None
    device: str = ""
    note: str = ""

    @property
    def label(self) -> str:
        """The network and its batch in words."""
        kernel_text = f"{self.kernel}²{' separable' if self.separable else ''}"
        blocks_text = f"{self.blocks}·{self.convolutions} blocks"
        return f"{blocks_text}, {self.filters} × {kernel_text}, batch {self.batch}"


COLUMNS = [field.name for field in fields(Throughput)]


def draw_slices(slice_count: int) -> tuple[NDArray[np.uint8], NDArray[np.float32]]:
    """Slices (n, 128, 128) uint8 of bright ellipses in noise, and one-hot targets (n, CLASSES): for
    timing, not for learning."""
    generator = np.random.default_rng(0)
    y, x = np.mgrid[-1:1:128j, -1:1:128j]
    slices = np.empty((slice_count, 128, 128), np.uint8)
    # one by one: memory freed before the timing would hide later growth
    for pixels in slices:
        ellipse_width, ellipse_height, brightness = generator.uniform(0.2, 0.9, 3)
        ellipse = 255 * brightness * (np.hypot(x / ellipse_width, y / ellipse_height) < 1)
        pixels[:] = np.clip(ellipse + generator.normal(12, 6, (128, 128)), 0, 255)
    return slices, np.eye(CLASSES, dtype=np.float32)[generator.integers(0, CLASSES, slice_count)]


def throughputs(
    device: str,
    bounds: Bounds,
    pixels: Path | None,
    spread: Sequence[tuple[Architecture, int]],
    progress: Report,
) -> Iterator[Throughput]:
    """The figures of every configuration, one process after the other; slices are those of an npy
    file, or `draw_slices`."""
    device_rate = run_alone(matrix_rate, device)
    for done_count, (architecture, batch_size) in enumerate(spread, start=1):
        refused_row = refuse(architecture, batch_size, device_rate, bounds)
        yield refused_row or run_alone(
            measure, architecture, batch_size, device, bounds, device_rate, pixels
        )
        progress(done_count, len(spread))


def refuse(net: Architecture, batch: int, device_rate: float, bounds: Bounds) -> Throughput | None:
    """The row of a configuration that exceeds the bounds, with the reason; None for one that does
    not.

    Its time is that of the shortest measurement, two steps of both pipelines at half the matrix
    rate.
    """
    cost = predict_cost(net)
    shortest_seconds = (
        2 * 2 * (bounds.repeats + 1) * 3 * cost.forward_flop * batch / (device_rate / 2)
    )
    if predict_training_bytes(cost, batch) > bounds.bytes:
        reason = f"left out: predicted to need more than {bounds.bytes / 1e9:g} GB"
        return _throughput_row(net, batch, note=reason)
    if shortest_seconds > bounds.seconds:
        reason = (
            f"left out: predicted to take {shortest_seconds:.0f} s, more than {bounds.seconds:g} s"
        )
        return _throughput_row(net, batch, note=reason)
    return None


def matrix_rate(device: str) -> float:
    """Operations per second of a large matrix product: float32 on one CPU thread, bfloat16 on CUDA;
    the best of ten."""
    import torch

    torch_device = choose_device(device)
    torch.set_num_threads(1)
    matrix_side = 8192 if torch_device.type == "cuda" else 1536
    dtype = torch.bfloat16 if torch_device.type == "cuda" else torch.float32
    square_matrix = torch.randn(matrix_side, matrix_side).to(torch_device, dtype)
    seconds_of_products = [
        _seconds_with_device(lambda: square_matrix @ square_matrix, torch_device) for _ in range(12)
    ]
    return 2 * matrix_side**3 / min(seconds_of_products[2:])


def measure(
    net: Architecture,
    batch: int,
    device: str,
    bounds: Bounds,
    device_rate: float,
    pixels: Path | None,
) -> Throughput:
    """The figures of one configuration, in this process."""
    import torch

    from fovnet.net.recipe import Ranges, Recipe
    from fovnet.net.training.train import (
        begin_training,
        inverse_class_weights,
        place_on_device,
        train_epoch,
    )

    torch.set_num_threads(1)
    keep_freed_memory()
    torch_device = choose_device(device)
    is_cuda = torch_device.type == "cuda"
    ranges = Ranges(*AUGMENTATION_RANGES)
    slices, targets = _slices_and_targets(
        pixels, max(2 * batch, min(MOST_IMAGES_OF_EPOCH, int(bounds.seconds / LOADING_SECONDS)))
    )
    slice_indices = np.arange(len(slices))
    data = place_on_device(slices, targets, slice_indices, slice_indices[:1], torch_device)
    weights_of_classes = inverse_class_weights(data.targets)
    # loads libraries into memory
    small_training = begin_training(
        replace(net, blocks=5, convolutions=1, log2_filters=2, head="gap"),
        LEARNING_RATE,
        0,
        torch_device,
    )
    train_epoch(small_training, data, weights_of_classes, Recipe(1, 2, ranges), LEARNING_RATE, 2)
    idle_bytes = peak_bytes()
    training = begin_training(net, LEARNING_RATE, 0, torch_device)

    def epoch_seconds(image_count: int) -> float:
        recipe = Recipe(1, image_count, ranges)
        return _seconds_with_device(
            lambda: train_epoch(training, data, weights_of_classes, recipe, LEARNING_RATE, batch),
            torch_device,
        )

    if is_cuda:
        torch.cuda.reset_peak_memory_stats(torch_device)
    # on CUDA: to the recording and beyond
    first_seconds = epoch_seconds(6 * batch if is_cuda else 2 * batch)
    if is_cuda:
        peak_memory = float(torch.cuda.max_memory_allocated(torch_device))
        device_text = torch.cuda.get_device_name(torch_device)
    else:
        peak_memory = peak_bytes() - idle_bytes
        device_text = f"CPU, one thread of {os.cpu_count()} cores"
    is_step_quick = first_seconds < bounds.seconds / 4
    step_seconds = epoch_seconds(batch) if is_step_quick else first_seconds / 2
    image_count = _images_of_epoch(step_seconds, batch, len(slices), bounds)
    clock_by_name: dict[str, Callable[[], float]] = {
        "own": partial(epoch_seconds, image_count),
        "handling": partial(
            _handling_seconds, training, data, Recipe(1, image_count, ranges), batch
        ),
    }
    pipeline = Pipeline(
        net,
        slices[:image_count],
        targets[:image_count],
        batch,
        rate=LEARNING_RATE,
        ranges=ranges,
        workers=bounds.loader_workers,
        device=device,
    )
    seconds_by_clock = _turns_with_monai(clock_by_name, pipeline, bounds.repeats)
    own_seconds = seconds_by_clock["own"]
    return _throughput_row(
        net,
        batch,
        images=image_count,
        **_speed_figures(net, batch, device_rate, float(np.median(image_count / own_seconds))),
        handling_share=float(np.median(seconds_by_clock["handling"]) / np.median(own_seconds)),
        peak_mb=peak_memory / 1e6,
        device=device_text,
        **_compare_with_monai(own_seconds, seconds_by_clock.get("monai"), image_count),
    )


def _turns_with_monai(
    clocks: dict[str, Callable[[], float]], pipeline: Pipeline, repeats: int
) -> dict[str, Floats]:
    """What the clocks say in turn, "monai" of MONAI's pipeline among them where it is installed."""
    if not is_monai_installed():
        return in_turn(clocks, repeats)
    with epochs_of(pipeline) as monai_epoch:
        monai_epoch()  # starts its workers
        return in_turn(clocks | {"monai": monai_epoch}, repeats)


def _speed_figures(
    net: Architecture, batch: int, device_rate: float, images_per_second: float
) -> dict[str, float]:
    """The fields of `Throughput` that tell of a training of so many images a second, on a device of
    so many operations a second, by name."""
    flop_per_image = 3 * predict_cost(net).forward_flop
    return {
        "images_per_second": images_per_second,
        "ms_per_step": 1e3 * batch / images_per_second,
        "matrix_share": float(flop_per_image * images_per_second / device_rate),
    }


def _compare_with_monai(
    own_seconds: Floats, monai_seconds: Floats | None, image_count: int
) -> dict[str, Any]:
    """The fields of `Throughput` that compare with MONAI's pipeline, by name, from the seconds of
    epochs of so many images in both; a note where it was not run."""
    if monai_seconds is None:
        return {"note": "MONAI is not installed: its pipeline was not run"}
    seconds_ratios = monai_seconds / own_seconds
    return {
        "monai_images_per_second": float(image_count / np.median(monai_seconds)),
        "ratio": float(np.median(seconds_ratios)),
        "ratio_low": float(seconds_ratios.min()),
        "ratio_high": float(seconds_ratios.max()),
    }


def _images_of_epoch(step_seconds: float, batch: int, most_images: int, bounds: Bounds) -> int:
    """Images of an epoch, in whole batches, so that all epochs of both pipelines take about
    `bounds.seconds`."""
    seconds_per_image = 2 * step_seconds / batch + LOADING_SECONDS / max(1, bounds.loader_workers)
    image_count = min(most_images, bounds.seconds / (bounds.repeats + 1) / seconds_per_image)
    return batch * max(2, int(image_count // batch))


def _handling_seconds(training: Progress, data: TrainingData, recipe: Recipe, batch: int) -> float:
    """Seconds of an epoch's data handling alone: order, random draws, and every batch of augmented
    images."""
    import torch

    from fovnet.net.images.augment import draw_augmentation
    from fovnet.net.training.train import draw_shuffled_batches

    train_step = training.train_step
    assert train_step is not None

    def prepare_batches(make_images: Callable[[torch.Tensor, torch.Tensor], Any]) -> None:
        random_draws = draw_augmentation(
            recipe.slices_per_epoch, recipe.ranges, training.generator
        ).to(data.device)
        batches = draw_shuffled_batches(
            data.training_rows, recipe.slices_per_epoch, batch, training.generator
        )
        for batch_rows, batch_draws in zip(batches, torch.split(random_draws, batch), strict=True):
            make_images(batch_rows, batch_draws)

    if data.device.type != "cuda":
        return _seconds_with_device(lambda: prepare_batches(train_step.make_images), data.device)
    batch_rows = data.training_rows[:batch].clone()
    draw_width = draw_augmentation(1, recipe.ranges, training.generator).shape[1]
    batch_draws = torch.zeros(batch, draw_width, device=data.device)
    train_step.make_images(batch_rows, batch_draws)
    torch.cuda.synchronize()
    cuda_graph = torch.cuda.CUDAGraph()
    # kernels launched one by one would take longer than in a step's graph
    with torch.cuda.graph(cuda_graph):
        train_step.make_images(batch_rows, batch_draws)
    return _seconds_with_device(
        lambda: prepare_batches(lambda *_: cuda_graph.replay()), data.device
    )


def _seconds_with_device(work: Callable[[], Any], device: torch.device) -> float:
    """The seconds of a call, and of what it leaves to a GPU."""
    import torch

    def finish_work() -> None:
        work()
        if device.type == "cuda":
            torch.cuda.synchronize()

    return seconds_of(finish_work)


def _slices_and_targets(
    pixels: Path | None, slice_count: int
) -> tuple[NDArray[np.uint8], NDArray[np.float32]]:
    """Slices (n, side, side) uint8, simulated or drawn from an npy file, and their simulated one-
    hot targets (n, CLASSES)."""
    slices, targets = draw_slices(slice_count)
    if pixels is not None:
        pack_slices = np.load(pixels, mmap_mode="r", allow_pickle=False)
        drawn_rows = np.sort(np.random.default_rng(0).integers(0, len(pack_slices), slice_count))
        slices = np.array(pack_slices[drawn_rows])
    return slices, targets


def _throughput_row(net: Architecture, batch: int, **measured_figures: Any) -> Throughput:
    """The row of a configuration with its predicted memory and these figures."""
    predicted_mb = float(predict_training_bytes(predict_cost(net), batch)) / 1e6
    return Throughput(
        net.blocks,
        net.convolutions,
        net.first_filters,
        net.kernel,
        net.separable,
        batch,
        net.weight_count,
        predicted_mb,
        **measured_figures,
    )
