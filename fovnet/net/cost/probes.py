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
from typing import Any

import numpy as np
import torch

from fovnet.machine.allocation import keep_freed_memory
from fovnet.machine.memory import peak_bytes
from fovnet.net.cost.calibration import Timed
from fovnet.net.family.architecture import INPUTS, Architecture
from fovnet.net.recipe import Ranges, Recipe
from fovnet.net.training import train as training
from fovnet.volume.slices.placing import Placing
from fovnet.volume.slices.resizing import SIDE

VALIDATED = 32  # slices; one batch
LEAST_STEPS = 3
MOST_STEPS = 30  # that are timed
ENOUGH_SECONDS = 0.25  # total of a network's timed steps after which timing ends
RATE = 1e-6  # learning rate: small, so that nothing diverges


@dataclass(frozen=True)
class Probe(Timed):
    """The same with the number of steps, and bytes at the peak on a GPU, else 0."""

    steps: int
    peak_bytes: int


class Bench:
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
        pixels = rng.integers(0, 256, (slices + VALIDATED, side, side), dtype=np.uint8)
        targets = np.eye(classes, dtype=np.float32)[rng.integers(0, classes, slices + VALIDATED)]
        rows = np.arange(slices + VALIDATED)
        placing = Placing(
            np.repeat(rng.uniform(200.0, 500.0, -(-len(rows) // 20)), 20)[: len(rows)],
            rows // 20,
            rows.astype(np.float64),
        )
        # the others are made of slices as they were cut
        kinds = tuple(INPUTS) if side == SIDE else ("slice",)
        self._data = training.place_on_device(
            pixels, targets, rows[:slices], rows[slices:], device, placing, kinds
        )
        self._weights = training.class_weights(self._data.targets)
        self._ranges = ranges
        self._precision = precision
        self.now = _clock(device)

    @property
    def device(self) -> torch.device:
        """The device on which it trains."""
        return self._data.device

    def peak_bytes(self, net: Architecture, batch: int) -> int:
        """Peak bytes of a training: allocated memory on a GPU, the growth of a fresh process on a
        CPU."""
        if self.device.type != "cpu":
            return self.probe(net, batch).peak_bytes
        return process_growth_bytes(net, batch, self._ranges, self._precision)

    def steps(
        self, net: Architecture, batch: int
    ) -> tuple[Callable[[int], float], Callable[[], float]]:
        """Two functions for a fresh network: the seconds of a number of steps, and those of one
        validation of 32 slices."""
        progress = training.begin_training(net, RATE, 0, self._data.device)

        def train(steps: int) -> None:
            recipe = Recipe(1, steps * batch, self._ranges, precision=self._precision)
            training.train_epoch(progress, self._data, self._weights, recipe, RATE, batch)

        def validate() -> None:
            training.validation_loss(progress.model, self._data, self._weights, self._precision)

        return (lambda steps: self._time(partial(train, steps))), partial(self._time, validate)

    def probe(self, net: Architecture, batch: int) -> Probe:
        """The timed steps and validation of the network, each after one that is not timed."""
        if self._data.device.type == "cuda":
            torch.cuda.reset_peak_memory_stats()
        step, validate = self.steps(net, batch)
        step(1)
        seconds: list[float] = []
        while len(seconds) < LEAST_STEPS or (
            sum(seconds) < ENOUGH_SECONDS and len(seconds) < MOST_STEPS
        ):
            seconds.append(step(1))
        peak = training.peak_memory(self._data.device)
        validate()
        return Probe(float(np.median(seconds)), validate() / VALIDATED, len(seconds), peak)

    def _time(self, act: Callable[[], Any]) -> float:
        start = self.now()
        act()
        return self.now() - start


def _clock(device: torch.device) -> Callable[[], float]:
    """A clock in seconds: wall time after synchronising on a GPU; CPU time of this process on a
    CPU, which other processes on the same core do not lengthen."""
    if device.type != "cuda":
        return time.process_time

    def now() -> float:
        torch.cuda.synchronize()
        return time.perf_counter()

    return now


def process_growth_bytes(
    net: Architecture, batch: int, ranges: Ranges, precision: str = "auto"
) -> int:
    """Growth in peak bytes of a fresh process that trains the network on the CPU for three steps.

    The memory of torch itself is not counted: a network of a few hundred weights is trained first.
    """
    with get_context("spawn").Pool(1) as pool:
        return int(pool.apply(_growth_bytes, (net, batch, ranges, precision)))


def _growth_bytes(net: Architecture, batch: int, ranges: Ranges, precision: str) -> int:
    torch.set_num_threads(1)
    keep_freed_memory()
    bench = Bench(torch.device("cpu"), ranges, net.classes, precision=precision)
    bench.steps(Architecture(1, 1, 0, 3, False, net.classes, "gap"), 1)[0](1)
    start_bytes = peak_bytes()
    bench.steps(net, batch)[0](3)
    return int(peak_bytes() - start_bytes)
