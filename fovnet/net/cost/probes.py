"""Measuring the cost of training: timing single steps and validations, and the memory of a fresh
process.

The networks are trained by the code that trains trials, on slices of noise: the content of images
does not change the time.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from multiprocessing import get_context
from typing import Any, NamedTuple

import numpy as np
import torch

from fovnet.machine.allocation import keep_freed_memory
from fovnet.machine.memory import peak_bytes
from fovnet.net.cost.calibration import TimedNetwork
from fovnet.net.family.architecture import INPUTS, Architecture
from fovnet.net.family.layered import NetworkShape
from fovnet.net.family.layered_configuration import OptimiserChoice
from fovnet.net.recipe import Ranges, Recipe
from fovnet.net.training import train as training
from fovnet.net.training.class_weights import inverse_class_weights
from fovnet.volume.slices.placing import Placing
from fovnet.volume.slices.resizing import SIDE_PIXELS

VALIDATED_SLICES = 32  # one batch
LEAST_STEPS = 3
MOST_STEPS = 30  # that are timed
ENOUGH_SECONDS = 0.25  # total of a network's timed steps after which timing ends
PROBE_LEARNING_RATE = 1e-6  # small, so that nothing diverges


@dataclass(frozen=True)
class ProbedNetwork(TimedNetwork):
    """A timed network with the number of timed steps, and the bytes at the peak on a GPU, else 0."""

    steps: int
    peak_bytes: int


class Timers(NamedTuple):
    """The seconds of a number of steps of a network, and of a validation of VALIDATED_SLICES."""

    seconds_of_steps: Callable[[int], float]
    seconds_of_validation: Callable[[], float]


class ProbeBench:
    """A device with a few slices on it, for short trainings of networks."""

    def __init__(
        self,
        device: torch.device,
        ranges: Ranges,
        classes: int,
        slices: int = 256,
        side: int = 128,
        precision: str = "auto",
    ) -> None:
        rng = np.random.default_rng(0)
        pixels = rng.integers(0, 256, (slices + VALIDATED_SLICES, side, side), dtype=np.uint8)
        targets = np.eye(classes, dtype=np.float32)[
            rng.integers(0, classes, slices + VALIDATED_SLICES)
        ]
        slice_rows = np.arange(slices + VALIDATED_SLICES)
        placing = Placing(
            np.repeat(rng.uniform(200.0, 500.0, -(-len(slice_rows) // 20)), 20)[: len(slice_rows)],
            slice_rows // 20,
            slice_rows.astype(np.float64),
        )
        # the others are made of slices as they were cut
        input_kinds = tuple(INPUTS) if side == SIDE_PIXELS else ("slice",)
        self._data = training.place_on_device(
            pixels, targets, slice_rows[:slices], slice_rows[slices:], device, placing, input_kinds
        )
        self._weights = inverse_class_weights(self._data.targets)
        self._ranges = ranges
        self._precision = precision
        self.clock = _clock_of_device(device)

    @property
    def device(self) -> torch.device:
        """The device on which it trains."""
        return self._data.device

    def measure_peak_bytes(self, net: Architecture, batch: int) -> int:
        """Peak bytes of a training: allocated memory on a GPU, the growth of a fresh process on a
        CPU."""
        if self.device.type != "cpu":
            return self.time_network(net, batch).peak_bytes
        return measure_process_growth(net, batch, self._ranges, self._precision)

    def make_timers(
        self, net: NetworkShape, batch: int, optimiser: OptimiserChoice | None = None
    ) -> Timers:
        """The timers of a fresh network, trained by an optimiser as in `begin_training`."""
        progress = training.begin_training(
            net, PROBE_LEARNING_RATE, 0, self._data.device, optimiser=optimiser
        )

        def train(step_count: int) -> None:
            recipe = Recipe(
                epochs=1,
                slices_per_epoch=step_count * batch,
                ranges=self._ranges,
                precision=self._precision,
            )
            training.train_epoch(
                progress, self._data, self._weights, recipe, PROBE_LEARNING_RATE, batch
            )

        def validate() -> None:
            training.measure_validation_loss(
                progress.model, self._data, self._weights, self._precision
            )

        return Timers(
            lambda step_count: self._seconds_of(partial(train, step_count)),
            partial(self._seconds_of, validate),
        )

    def time_network(self, net: Architecture, batch: int) -> ProbedNetwork:
        """The timed steps and validation of the network, each after one that is not timed."""
        if self._data.device.type == "cuda":
            torch.cuda.reset_peak_memory_stats()
        timers = self.make_timers(net, batch)
        timers.seconds_of_steps(1)
        step_seconds: list[float] = []
        while len(step_seconds) < LEAST_STEPS or (
            sum(step_seconds) < ENOUGH_SECONDS and len(step_seconds) < MOST_STEPS
        ):
            step_seconds.append(timers.seconds_of_steps(1))
        peak_memory_bytes = training.peak_memory_bytes(self._data.device)
        timers.seconds_of_validation()
        return ProbedNetwork(
            float(np.median(step_seconds)),
            timers.seconds_of_validation() / VALIDATED_SLICES,
            len(step_seconds),
            peak_memory_bytes,
        )

    def _seconds_of(self, action: Callable[[], Any]) -> float:
        start = self.clock()
        action()
        return self.clock() - start


def _clock_of_device(device: torch.device) -> Callable[[], float]:
    """A clock in seconds: wall time after synchronising on a GPU; CPU time of this process on a
    CPU, which other processes on the same core do not lengthen."""
    if device.type != "cuda":
        return time.process_time

    def now() -> float:
        torch.cuda.synchronize()
        return time.perf_counter()

    return now


def measure_process_growth(
    net: NetworkShape,
    batch: int,
    ranges: Ranges,
    precision: str = "auto",
    optimiser: OptimiserChoice | None = None,
) -> int:
    """Growth in peak bytes of a fresh process that trains the network on the CPU for three steps.

    The memory of torch itself is not counted: a network of a few hundred weights is trained first.
    """
    with get_context("spawn").Pool(1) as pool:
        return int(pool.apply(_measure_growth, (net, batch, ranges, precision, optimiser)))


def _measure_growth(
    architecture: NetworkShape,
    batch: int,
    ranges: Ranges,
    precision: str,
    optimiser: OptimiserChoice | None,
) -> int:
    """`measure_process_growth` of this process."""
    torch.set_num_threads(1)
    keep_freed_memory()
    cpu_bench = ProbeBench(torch.device("cpu"), ranges, architecture.classes, precision=precision)
    smallest = Architecture(
        blocks=1,
        convolutions=1,
        log2_filters=0,
        kernel=3,
        separable=False,
        classes=architecture.classes,
        head="gap",
    )
    cpu_bench.make_timers(smallest, 1).seconds_of_steps(1)
    start_bytes = peak_bytes()
    cpu_bench.make_timers(architecture, batch, optimiser).seconds_of_steps(3)
    return int(peak_bytes() - start_bytes)
