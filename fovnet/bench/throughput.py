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
from fovnet.net.cost.predicted import cost_of, training_bytes
from fovnet.net.device import choose_device
from fovnet.net.family.architecture import Architecture

if TYPE_CHECKING:
    import torch

    from fovnet.net.recipe import Recipe
    from fovnet.net.training.progress import Progress
    from fovnet.net.training.train import Data

Floats = NDArray[np.float64]
CLASSES = 7
RATE = 1e-3
MOST_IMAGES = 4096  # of a timed epoch
LOADING = 3e-3  # seconds one loader worker takes for a slice, to choose the length of an epoch
# degrees, translation, shear, zoom and noise of configs/default.yaml
RANGES = (10.0, 0.08, 0.1, 0.15, 0.03)


def _net(
    blocks: int, convolutions: int, log2_filters: int, kernel: int, separable: bool
) -> Architecture:
    return Architecture(blocks, convolutions, log2_filters, kernel, separable, classes=CLASSES)


SPREAD: Sequence[tuple[Architecture, int]] = (
    (_net(5, 1, 2, 3, False), 4),
    (_net(5, 1, 2, 3, False), 32),
    (_net(5, 1, 2, 3, False), 256),
    (_net(5, 1, 3, 3, False), 16),
    (_net(4, 1, 3, 5, False), 32),
    (_net(4, 2, 4, 3, False), 16),
    (_net(5, 1, 4, 5, True), 64),
    (_net(5, 2, 4, 3, True), 8),
    (_net(5, 1, 5, 3, False), 16),
    (_net(5, 1, 6, 3, False), 8),
    (_net(5, 1, 6, 5, True), 32),
    (_net(5, 2, 6, 3, False), 128),
    (_net(5, 1, 7, 3, False), 64),
    (_net(5, 1, 8, 3, False), 4),
    (_net(5, 3, 8, 5, False), 256),
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
        kernel = f"{self.kernel}²{' separable' if self.separable else ''}"
        blocks = f"{self.blocks}·{self.convolutions} blocks"
        return f"{blocks}, {self.filters} × {kernel}, batch {self.batch}"


COLUMNS = [field.name for field in fields(Throughput)]


def draw_slices(n: int) -> tuple[NDArray[np.uint8], NDArray[np.float32]]:
    """Slices (n, 128, 128) uint8 of bright ellipses in noise, and one-hot targets (n, CLASSES): for
    timing, not for learning."""
    rng = np.random.default_rng(0)
    y, x = np.mgrid[-1:1:128j, -1:1:128j]
    slices = np.empty((n, 128, 128), np.uint8)
    # one by one: memory freed before the timing would hide later growth
    for pixels in slices:
        width, height, brightness = rng.uniform(0.2, 0.9, 3)
        ellipse = 255 * brightness * (np.hypot(x / width, y / height) < 1)
        pixels[:] = np.clip(ellipse + rng.normal(12, 6, (128, 128)), 0, 255)
    return slices, np.eye(CLASSES, dtype=np.float32)[rng.integers(0, CLASSES, n)]


def throughputs(
    device: str,
    bounds: Bounds,
    pixels: Path | None,
    spread: Sequence[tuple[Architecture, int]],
    progress: Report,
) -> Iterator[Throughput]:
    """The figures of every configuration, one process after the other; slices are those of an npy
    file, or `draw_slices`."""
    rate = run_alone(matrix_rate, device)
    for done, (net, batch) in enumerate(spread, start=1):
        row = refuse(net, batch, rate, bounds)
        yield row or run_alone(measure, net, batch, device, bounds, rate, pixels)
        progress(done, len(spread))


def refuse(net: Architecture, batch: int, rate: float, bounds: Bounds) -> Throughput | None:
    """The row of a configuration that exceeds the bounds, with the reason; None for one that does
    not.

    Its time is that of the shortest measurement, two steps of both pipelines at half the matrix
    rate.
    """
    cost = cost_of(net)
    seconds = 2 * 2 * (bounds.repeats + 1) * 3 * cost.forward_flop * batch / (rate / 2)
    if training_bytes(cost, batch) > bounds.bytes:
        note = f"left out: predicted to need more than {bounds.bytes / 1e9:g} GB"
        return _row(net, batch, note=note)
    if seconds > bounds.seconds:
        note = f"left out: predicted to take {seconds:.0f} s, more than {bounds.seconds:g} s"
        return _row(net, batch, note=note)
    return None


def matrix_rate(device: str) -> float:
    """Operations per second of a large matrix product: float32 on one CPU thread, bfloat16 on CUDA;
    the best of ten."""
    import torch

    torch_device = choose_device(device)
    torch.set_num_threads(1)
    n = 8192 if torch_device.type == "cuda" else 1536
    dtype = torch.bfloat16 if torch_device.type == "cuda" else torch.float32
    matrix = torch.randn(n, n).to(torch_device, dtype)
    times = [_seconds(lambda: matrix @ matrix, torch_device) for _ in range(12)]
    return 2 * n**3 / min(times[2:])


def measure(
    net: Architecture, batch: int, device: str, bounds: Bounds, rate: float, pixels: Path | None
) -> Throughput:
    """The figures of one configuration, in this process."""
    import torch

    from fovnet.net.recipe import Ranges, Recipe
    from fovnet.net.training.train import (
        begin_training,
        class_weights,
        place_on_device,
        train_epoch,
    )

    torch.set_num_threads(1)
    keep_freed_memory()
    torch_device = choose_device(device)
    is_cuda = torch_device.type == "cuda"
    ranges = Ranges(*RANGES)
    slices, targets = _slices(
        pixels, max(2 * batch, min(MOST_IMAGES, int(bounds.seconds / LOADING)))
    )
    rows = np.arange(len(slices))
    data = place_on_device(slices, targets, rows, rows[:1], torch_device)
    weights = class_weights(data.targets)
    # loads libraries into memory
    small = begin_training(
        replace(net, blocks=5, convolutions=1, log2_filters=2, head="gap"), RATE, 0, torch_device
    )
    train_epoch(small, data, weights, Recipe(1, 2, ranges), RATE, 2)
    idle_bytes = peak_bytes()
    training = begin_training(net, RATE, 0, torch_device)

    def epoch_seconds(images: int) -> float:
        recipe = Recipe(1, images, ranges)
        return _seconds(
            lambda: train_epoch(training, data, weights, recipe, RATE, batch), torch_device
        )

    if is_cuda:
        torch.cuda.reset_peak_memory_stats(torch_device)
    # on CUDA: to the recording and beyond
    first_seconds = epoch_seconds(6 * batch if is_cuda else 2 * batch)
    if is_cuda:
        peak = float(torch.cuda.max_memory_allocated(torch_device))
        device_text = torch.cuda.get_device_name(torch_device)
    else:
        peak = peak_bytes() - idle_bytes
        device_text = f"CPU, one thread of {os.cpu_count()} cores"
    is_quick = first_seconds < bounds.seconds / 4
    step_seconds = epoch_seconds(batch) if is_quick else first_seconds / 2
    images = _epoch_length(step_seconds, batch, len(slices), bounds)
    clocks: dict[str, Callable[[], float]] = {
        "own": partial(epoch_seconds, images),
        "handling": partial(_handling, training, data, Recipe(1, images, ranges), batch),
    }
    pipeline = Pipeline(
        net,
        slices[:images],
        targets[:images],
        batch,
        rate=RATE,
        ranges=ranges,
        workers=bounds.loader_workers,
        device=device,
    )
    turns = _turns_with_monai(clocks, pipeline, bounds.repeats)
    own_seconds = turns["own"]
    return _row(
        net,
        batch,
        images=images,
        **_speed(net, batch, rate, float(np.median(images / own_seconds))),
        handling_share=float(np.median(turns["handling"]) / np.median(own_seconds)),
        peak_mb=peak / 1e6,
        device=device_text,
        **_compare_with_monai(own_seconds, turns.get("monai"), images),
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


def _speed(net: Architecture, batch: int, rate: float, speed: float) -> dict[str, float]:
    """The figures of a training of so many images a second, on a device of so many operations a
    second."""
    flop = 3 * cost_of(net).forward_flop
    return {
        "images_per_second": speed,
        "ms_per_step": 1e3 * batch / speed,
        "matrix_share": float(flop * speed / rate),
    }


def _compare_with_monai(
    own_seconds: Floats, monai_seconds: Floats | None, images: int
) -> dict[str, Any]:
    """The figures of MONAI's pipeline, from the seconds of epochs of so many images in both; none
    where it was not run."""
    if monai_seconds is None:
        return {"note": "MONAI is not installed: its pipeline was not run"}
    ratios = monai_seconds / own_seconds
    return {
        "monai_images_per_second": float(images / np.median(monai_seconds)),
        "ratio": float(np.median(ratios)),
        "ratio_low": float(ratios.min()),
        "ratio_high": float(ratios.max()),
    }


def _epoch_length(step_seconds: float, batch: int, most: int, bounds: Bounds) -> int:
    """Images of an epoch, in whole batches, so that all epochs of both pipelines take about
    `bounds.seconds`."""
    seconds_per_image = 2 * step_seconds / batch + LOADING / max(1, bounds.loader_workers)
    images = min(most, bounds.seconds / (bounds.repeats + 1) / seconds_per_image)
    return batch * max(2, int(images // batch))


def _handling(training: Progress, data: Data, recipe: Recipe, batch: int) -> float:
    """Seconds of an epoch's data handling alone: order, random draws, and every batch of augmented
    images."""
    import torch

    from fovnet.net.images.augment import draw
    from fovnet.net.training.train import shuffled_batches

    train_step = training.train_step
    assert train_step is not None

    def prepare(work: Callable[[torch.Tensor, torch.Tensor], Any]) -> None:
        draws = draw(recipe.slices_per_epoch, recipe.ranges, training.generator).to(data.device)
        batches = shuffled_batches(data.train, recipe.slices_per_epoch, batch, training.generator)
        for rows, batch_draws in zip(batches, torch.split(draws, batch), strict=True):
            work(rows, batch_draws)

    if data.device.type != "cuda":
        return _seconds(lambda: prepare(train_step.images), data.device)
    rows = data.train[:batch].clone()
    width = draw(1, recipe.ranges, training.generator).shape[1]
    batch_draws = torch.zeros(batch, width, device=data.device)
    train_step.images(rows, batch_draws)
    torch.cuda.synchronize()
    graph = torch.cuda.CUDAGraph()
    # kernels launched one by one would take longer than in a step's graph
    with torch.cuda.graph(graph):
        train_step.images(rows, batch_draws)
    return _seconds(lambda: prepare(lambda *_: graph.replay()), data.device)


def _seconds(work: Callable[[], Any], device: torch.device) -> float:
    """The seconds of a call, and of what it leaves to a GPU."""
    import torch

    def finish_work() -> None:
        work()
        if device.type == "cuda":
            torch.cuda.synchronize()

    return seconds_of(finish_work)


def _slices(pixels: Path | None, n: int) -> tuple[NDArray[np.uint8], NDArray[np.float32]]:
    slices, targets = draw_slices(n)
    if pixels is not None:
        pack_slices = np.load(pixels, mmap_mode="r", allow_pickle=False)
        rows = np.sort(np.random.default_rng(0).integers(0, len(pack_slices), n))
        slices = np.array(pack_slices[rows])
    return slices, targets


def _row(net: Architecture, batch: int, **figures: Any) -> Throughput:
    predicted = float(training_bytes(cost_of(net), batch)) / 1e6
    return Throughput(
        net.blocks,
        net.convolutions,
        net.filters,
        net.kernel,
        net.separable,
        batch,
        net.weights,
        predicted,
        **figures,
    )
