"""What every test may ask for: the folder of real volumes and recorded trainings, where there is one."""

from __future__ import annotations

import os
from pathlib import Path

os.environ.setdefault("OMP_NUM_THREADS", "1")       # before numpy is read: two threads that wait for each other lose more than they gain
os.environ["ORT_DISABLE_TELEMETRY"] = "1"           # tests that ask ONNX Runtime itself tell nobody either

import pytest


@pytest.fixture(scope="session")
def shared() -> Path:
    """The folder with `data/` and `bench/`: $FOVNET_SHARED, else `shared` beside the checkout; the test is skipped without it."""
    folder = Path(os.environ.get("FOVNET_SHARED", Path(__file__).parents[2] / "shared"))
    if not (folder / "data").is_dir():
        pytest.skip(f"no real volumes here: {folder / 'data'} does not exist; set FOVNET_SHARED to a folder that has them")
    return folder


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Fast ones first: what is marked slow runs after everything else."""
    items.sort(key=lambda item: item.get_closest_marker("slow") is not None)
