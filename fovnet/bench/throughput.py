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
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from fovnet.bench.timing import seconds_of, time_in_turn
from fovnet.bench.together import Progress as Report
from fovnet.bench.together import run_alone
from fovnet.bench.tutorial import Pipeline, is_monai_installed, start_pipeline
from fovnet.machine.allocation import keep_freed_memory
from fovnet.machine.memory import peak_bytes
from fovnet.net.cost.predicted import predict_cost, predict_training_bytes
from fovnet.net.device import choose_device
from fovnet.net.family.architecture import Architecture
from fovnet.net.images.augment import draw_augmentation
from fovnet.net.recipe import Ranges, Recipe
from fovnet.net.training.class_weights import inverse_class_weights
from fovnet.net.training.train import (
    TrainingData,
    begin_training,
    draw_shuffled_batches,
    place_on_device,
    train_epoch,
)

if TYPE_CHECKING:
    import torch

Floats = NDArray[np.float64]
CLASSES = 7
LEARNING_RATE = 1e-3
MOST_IMAGES_OF_EPOCH = 4096  # of a timed epoch
# seconds that one loader worker takes for a slice: they choose the length of an epoch
LOADING_SECONDS_PER_SLICE = 3e-3
# degrees, translation, shear, zoom and noise of configs/default.yaml
AUGMENTATION_RANGES = Ranges(10.0, 0.08, 0.1, 0.15, 0.03)
FIRST_STEPS_ON_CPU = 2
FIRST_STEPS_ON_CUDA = 6  # until a step is recorded as a graph, and beyond
MATRIX_PRODUCTS = 12  # timed, of which the first two only warm up
MATRIX_SIDE_ON_CPU = 1536
MATRIX_SIDE_ON_CUDA = 8192
PASSES_PER_STEP = 3  # forward, backward to the weights, backward to the inputs: of equal cost


def _architecture(
    blocks: int, convolutions: int, log2_filters: int, kernel: int, *, separable: bool = False
) -> Architecture:
    return Architecture(blocks, convolutions, log2_filters, kernel, separable, classes=CLASSES)


TIMED_CONFIGURATIONS: Sequence[tuple[Architecture, int]] = (
    (_architecture(5, 1, 2, 3), 4),
    (_architecture(5, 1, 2, 3), 32),
    (_architecture(5, 1, 2, 3), 256),
    (_architecture(5, 1, 3, 3), 16),
    (_architecture(4, 1, 3, 5), 32),
    (_architecture(4, 2, 4, 3), 16),
    (_architecture(5, 1, 4, 5, separable=True), 64),
    (_architecture(5, 2, 4, 3, separable=True), 8),
    (_architecture(5, 1, 5, 3), 16),
    (_architecture(5, 1, 6, 3), 8),
    (_architecture(5, 1, 6, 5, separable=True), 32),
    (_architecture(5, 2, 6, 3), 128),
    (_architecture(5, 1, 7, 3), 64),
    (_architecture(5, 1, 8, 3), 4),
    (_architecture(5, 3, 8, 5), 256),
)
"""Batches of 4 to 256, 4 to 256 filters, kernels of 3 and 5, separable and not; the paper's
baseline is the tenth."""


@dataclass(frozen=True)
class Bounds:
    """How long and with how much memory one configuration may be measured.

    repeats         epochs of each of the two pipelines
    loader_workers  of MONAI's pipeline
    """

    most_seconds: float
    most_bytes: float
    repeats: int
    loader_workers: int


@dataclass(frozen=True)
class Throughput:
    """One configuration's figures, a row of the table: medians over the repeats; None where nothing
    was measured, with the reason in `note`.

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
        kernel_text = f"{self.kernel}²"
        if self.separable:
            kernel_text += " separable"
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


def measure_throughputs(
    device: str,
    bounds: Bounds,
    pixels: Path | None,
    configurations: Sequence[tuple[Architecture, int]],
    progress: Report,
) -> Iterator[Throughput]:
    """The figures of every configuration, (network, batch), one process after the other; slices are
    those of the npy file `pixels`, or without one `draw_slices`."""
    device_rate = run_alone(measure_matrix_rate, device)
    for done_count, (architecture, batch_size) in enumerate(configurations, start=1):
        refused_row = refusal_row(architecture, batch_size, device_rate, bounds)
        yield refused_row or run_alone(
            measure_configuration, architecture, batch_size, device, bounds, device_rate, pixels
        )
        progress(done_count, len(configurations))


def refusal_row(
    net: Architecture, batch: int, device_rate: float, bounds: Bounds
) -> Throughput | None:
    """The row of a configuration that exceeds the bounds, with the reason; None for one that does
    not.

    device_rate  operations per second, as `measure_matrix_rate` gives them
    Its time is that of the shortest measurement, epochs of two steps in both pipelines, at half
    that rate.
    """
    cost = predict_cost(net)
    step_flop = PASSES_PER_STEP * cost.forward_flop * batch
    step_count = 2 * 2 * (bounds.repeats + 1)
    shortest_seconds = step_count * step_flop / (device_rate / 2)
    if predict_training_bytes(cost, batch) > bounds.most_bytes:
        reason = f"left out: predicted to need more than {bounds.most_bytes / 1e9:g} GB"
        return _throughput_row(net, batch, note=reason)
    if shortest_seconds > bounds.most_seconds:
        limit_text = f"more than {bounds.most_seconds:g} s"
        reason = f"left out: predicted to take {shortest_seconds:.0f} s, {limit_text}"
        return _throughput_row(net, batch, note=reason)
    return None


def measure_matrix_rate(device: str) -> float:
    """Operations per second of a large matrix product: float32 on one CPU thread, bfloat16 on CUDA;
    the best of ten."""
    import torch

    torch_device = choose_device(device)
    torch.set_num_threads(1)
    matrix_side = MATRIX_SIDE_ON_CPU
    dtype = torch.float32
    if torch_device.type == "cuda":
        matrix_side = MATRIX_SIDE_ON_CUDA
        dtype = torch.bfloat16
    square_matrix = torch.randn(matrix_side, matrix_side).to(torch_device, dtype)
    seconds_of_products = [
        _seconds_with_device(lambda: square_matrix @ square_matrix, torch_device)
        for _ in range(MATRIX_PRODUCTS)
    ]
    return 2 * matrix_side**3 / min(seconds_of_products[2:])


class TimedTraining:
    """A training whose epochs are timed.

    Its network is trained in steps of `batch` slices, augmented by AUGMENTATION_RANGES, on the
    device of the data.
    """

    def __init__(self, net: Architecture, batch: int, data: TrainingData) -> None:
        self.batch = batch
        self.data = data
        self.class_weights = inverse_class_weights(data.targets)
        self.progress = begin_training(net, LEARNING_RATE, 0, data.device)

    def epoch_seconds(self, image_count: int) -> float:
        """The seconds of an epoch of so many slices."""
        recipe = Recipe(epochs=1, slices_per_epoch=image_count, ranges=AUGMENTATION_RANGES)
        train = partial(
            train_epoch,
            self.progress,
            self.data,
            self.class_weights,
            recipe,
            LEARNING_RATE,
            self.batch,
        )
        return _seconds_with_device(train, self.data.device)

    def handling_seconds(self, image_count: int) -> float:
        """The seconds of such an epoch's data handling alone: order, random draws, and every batch
        of augmented images."""
        import torch

        device = self.data.device
        generator = self.progress.generator
        train_step = self.progress.train_step
        assert train_step is not None

        def make_batches(make_images: Callable[[torch.Tensor, torch.Tensor], Any]) -> None:
            draws = draw_augmentation(image_count, AUGMENTATION_RANGES, generator).to(device)
            batches = draw_shuffled_batches(
                self.data.training_rows, image_count, self.batch, generator
            )
            draws_by_batch = torch.split(draws, self.batch)
            for batch_rows, batch_draws in zip(batches, draws_by_batch, strict=True):
                make_images(batch_rows, batch_draws)

        if device.type != "cuda":
            return _seconds_with_device(lambda: make_batches(train_step.make_images), device)
        batch_rows = self.data.training_rows[: self.batch].clone()
        draw_width = draw_augmentation(1, AUGMENTATION_RANGES, generator).shape[1]
        batch_draws = torch.zeros(self.batch, draw_width, device=device)
        train_step.make_images(batch_rows, batch_draws)
        torch.cuda.synchronize()
        cuda_graph = torch.cuda.CUDAGraph()
        # kernels launched one by one would take longer than in a step's graph
        with torch.cuda.graph(cuda_graph):
            train_step.make_images(batch_rows, batch_draws)
        return _seconds_with_device(lambda: make_batches(lambda *_: cuda_graph.replay()), device)


class FirstSteps(NamedTuple):
    """The first steps of a training: their seconds, the memory that they took at most, and the
    device in words."""

    seconds: float
    peak_bytes: float
    device_in_words: str


def measure_configuration(
    net: Architecture,
    batch: int,
    device: str,
    bounds: Bounds,
    device_rate: float,
    pixels: Path | None,
) -> Throughput:
    """The figures of one configuration, in this process.

    device_rate  operations per second, as `measure_matrix_rate` gives them
    pixels       an npy file of slices; None: `draw_slices`
    """
    import torch

    torch.set_num_threads(1)
    keep_freed_memory()
    affordable_images = int(bounds.most_seconds / LOADING_SECONDS_PER_SLICE)
    slice_count = max(2 * batch, min(MOST_IMAGES_OF_EPOCH, affordable_images))
    slices, targets = _slices_and_targets(pixels, slice_count)
    rows = np.arange(slice_count)
    data = place_on_device(slices, targets, rows, rows[:1], choose_device(device))
    idle_bytes = _bytes_before_training(net, data)
    training = TimedTraining(net, batch, data)
    first_steps = _time_first_steps(training, idle_bytes)
    step_seconds = first_steps.seconds / 2
    if first_steps.seconds < bounds.most_seconds / 4:
        step_seconds = training.epoch_seconds(batch)
    image_count = _images_of_epoch(step_seconds, batch, slice_count, bounds)
    clock_by_name: dict[str, Callable[[], float]] = {
        "own": partial(training.epoch_seconds, image_count),
        "handling": partial(training.handling_seconds, image_count),
    }
    pipeline = Pipeline(
        net,
        slices[:image_count],
        targets[:image_count],
        batch,
        learning_rate=LEARNING_RATE,
        ranges=AUGMENTATION_RANGES,
        loader_workers=bounds.loader_workers,
        device=device,
    )
    seconds_by_clock = _time_in_turn_with_monai(clock_by_name, pipeline, bounds.repeats)
    own_seconds = seconds_by_clock["own"]
    return _throughput_row(
        net,
        batch,
        images=image_count,
        **_speed_figures(net, batch, device_rate, float(np.median(image_count / own_seconds))),
        handling_share=float(np.median(seconds_by_clock["handling"]) / np.median(own_seconds)),
        peak_mb=first_steps.peak_bytes / 1e6,
        device=first_steps.device_in_words,
        **_compare_with_monai(own_seconds, seconds_by_clock.get("monai"), image_count),
    )


def _bytes_before_training(net: Architecture, data: TrainingData) -> float:
    """The peak memory of the process once a step of a small network of the same kind has loaded all
    libraries."""
    small_net = replace(net, blocks=5, convolutions=1, log2_filters=2, head="gap")
    TimedTraining(small_net, 2, data).epoch_seconds(2)
    return peak_bytes()


def _time_first_steps(training: TimedTraining, idle_bytes: float) -> FirstSteps:
    """Trains the first steps.

    idle_bytes  peak memory of the process before; on CUDA the allocator's own peak is taken
    """
    import torch

    device = training.data.device
    if device.type == "cuda":
        torch.cuda.reset_peak_memory_stats(device)
        seconds = training.epoch_seconds(FIRST_STEPS_ON_CUDA * training.batch)
        peak_on_device = float(torch.cuda.max_memory_allocated(device))
        return FirstSteps(seconds, peak_on_device, torch.cuda.get_device_name(device))
    seconds = training.epoch_seconds(FIRST_STEPS_ON_CPU * training.batch)
    device_in_words = f"CPU, one thread of {os.cpu_count()} cores"
    return FirstSteps(seconds, peak_bytes() - idle_bytes, device_in_words)


def _time_in_turn_with_monai(
    clock_by_name: dict[str, Callable[[], float]], pipeline: Pipeline, repeats: int
) -> dict[str, Floats]:
    """{name: seconds (repeats,)} of the clocks, each called in turn; where MONAI is installed also
    "monai", the seconds of its pipeline."""
    if not is_monai_installed():
        return time_in_turn(clock_by_name, repeats)
    with start_pipeline(pipeline) as train_monai_epoch:
        train_monai_epoch()  # starts its workers
        return time_in_turn(clock_by_name | {"monai": train_monai_epoch}, repeats)


def _speed_figures(
    net: Architecture, batch: int, device_rate: float, images_per_second: float
) -> dict[str, float]:
    """{field of `Throughput`: value} of the speed of a training.

    device_rate  operations per second, as `measure_matrix_rate` gives them
    """
    flop_per_image = PASSES_PER_STEP * predict_cost(net).forward_flop
    return {
        "images_per_second": images_per_second,
        "ms_per_step": 1e3 * batch / images_per_second,
        "matrix_share": float(flop_per_image * images_per_second / device_rate),
    }


def _compare_with_monai(
    own_seconds: Floats, monai_seconds: Floats | None, image_count: int
) -> dict[str, Any]:
    """{field of `Throughput`: value} that compare with MONAI's pipeline; a note where it was not
    run.

    own_seconds, monai_seconds  (repeats,) seconds of epochs of `image_count` images
    """
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
    """The number of images of an epoch, in two whole batches or more, so that all epochs of both
    pipelines take about `bounds.most_seconds`."""
    loading_seconds_per_image = LOADING_SECONDS_PER_SLICE / max(1, bounds.loader_workers)
    seconds_per_image = 2 * step_seconds / batch + loading_seconds_per_image
    seconds_of_epoch_pair = bounds.most_seconds / (bounds.repeats + 1)
    image_count = min(most_images, seconds_of_epoch_pair / seconds_per_image)
    return batch * max(2, int(image_count // batch))


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
