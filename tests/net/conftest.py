"""A data set that a small network learns in seconds: bright discs, bright bars, and nothing."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest

from fovnet.net.recipe import Ranges, Recipe
from fovnet.net.training.train import TrainingData, place_on_device


def draw_shapes(n: int, seed: int) -> tuple[np.ndarray, np.ndarray]:
    """Slices (n, 128, 128) uint8 of three kinds in noise, and their one-hot targets (n, 3)."""
    rng = np.random.default_rng(seed)
    kind, grid = rng.integers(0, 3, n), np.mgrid[:128, :128]
    pixels = rng.normal(30, 8, (n, 128, 128))
    for index in range(n):
        row, column = rng.integers(40, 88, 2)
        disc = np.hypot(grid[0] - row, grid[1] - column) < 22
        bar = np.abs(grid[0] - row) < 8
        pixels[index] += 150 * (disc if kind[index] == 0 else bar if kind[index] == 1 else 0)
    return np.clip(pixels, 0, 255).astype(np.uint8), np.eye(3, dtype=np.float32)[kind]


@pytest.fixture(scope="session")
def draw() -> Callable[[int, int], tuple[np.ndarray, np.ndarray]]:
    """The function that draws them, for tests that need other numbers of them."""
    return draw_shapes


def saved(folder: Path, train: int, validation: int) -> tuple[Path, Path]:
    """Files of slices and of rows, as a `Job` names them: so many to train on, so many to validate on."""
    pixels, targets = draw_shapes(train + validation, 2)
    rows = np.split(np.arange(train + validation), [train])
    np.save(folder / "pixels.npy", pixels)
    np.savez(folder / "rows.npz", targets=targets, train=rows[0], validation=rows[1])
    return folder / "pixels.npy", folder / "rows.npz"


@pytest.fixture(scope="session")
def files() -> Callable[[Path, int, int], tuple[Path, Path]]:
    """The function that writes them."""
    return saved


@pytest.fixture(scope="session")
def shapes() -> TrainingData:
    """64 slices to train on, 32 to validate on, on the CPU."""
    import torch

    pixels, targets = draw_shapes(96, seed=1)
    return place_on_device(pixels, targets, np.arange(64), np.arange(64, 96), torch.device("cpu"))


@pytest.fixture
def recipe() -> Recipe:
    return Recipe(epochs=3, slices_per_epoch=64, ranges=Ranges(10, 0.05, 0.05, 0.1, 0.02))
