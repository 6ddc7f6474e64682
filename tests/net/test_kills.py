"""A training that is killed whenever it happens: it goes on, and ends with the bits of one that nobody
disturbed."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest
import torch

from fovnet.net.family.weights import load_tensors

KILLS = 10

# One process imports torch and forks the trainings, so that ten kills cost ten trainings and not ten imports.
STAGE = """
import os, random, signal, sys, time
from pathlib import Path
import numpy as np, torch
from fovnet.net.family.architecture import Architecture
from fovnet.net.family.layered import Convolution, Layered
from fovnet.net.family.layered_configuration import OptimiserChoice
from fovnet.net.recipe import Ranges
from fovnet.net.training.loss_curves import read_loss_curves
from fovnet.net.training import train as training
from fovnet.net.training.train import place_on_device, train_network
from fovnet.net.recipe import Recipe

training.CHECKPOINT_INTERVAL_SECONDS = 0.0

torch.set_num_threads(1)
folder, kills = Path(sys.argv[1]), int(sys.argv[2])
rng = np.random.default_rng(0)
pixels, targets = rng.integers(0, 255, (24, 128, 128)).astype(np.uint8), np.eye(3)[np.arange(24) % 3]
data = place_on_device(pixels, targets, np.arange(16), np.arange(16, 24), torch.device("cpu"))
recipe = Recipe(epochs=40, slices_per_epoch=8, ranges=Ranges(10, 0.05, 0.05, 0.1, 0.02), averaging=0.9)

NET, OPTIMISER = Architecture(4, 1, 2, 3, False, classes=3, head="gap"), None
if sys.argv[4] == "layers":
    NET = Layered((Convolution(4, 5, 3, 0, 3), Convolution(6, 3)), (12,), classes=3, activation="tanh", dropout=0.3)
    OPTIMISER = OptimiserChoice("adam", 0.01, {"beta1": 0.9, "beta2": 0.99, "decay": 1e-4})

def begin(name):
    if child := os.fork():
        return child
    ending = train_network(NET, optimiser=OPTIMISER, learning_rate=0.01, batch_size=4, seed=1, data=data,
                           recipe=recipe, weights_path=folder / f"{name}.safetensors", network_facts={})
    (folder / f"{name}.txt").write_text(repr((ending.status, ending.training_losses, ending.validation_losses)))
    os._exit(0)

started = time.monotonic()
os.waitpid(begin("calm"), 0)
whole = time.monotonic() - started
chance, killed, torn, epochs = random.Random(int(sys.argv[3])), 0, 0, [0]

def done():
    return len(read_loss_curves(folder / "killed.safetensors")[0])

while killed < kills and epochs[-1] < recipe.epochs:
    child, wanted = begin("killed"), epochs[-1] + chance.randrange(3)
    while done() < wanted:                                          # counted, as a machine may be slow now and fast later
        time.sleep(0.03)
    time.sleep(chance.uniform(0.0, whole / recipe.epochs))
    os.kill(child, signal.SIGKILL)
    killed += os.WIFSIGNALED(os.waitpid(child, 0)[1])
    torn += bool(list(folder.glob(".killed.*.part")))
    epochs.append(done())
os.waitpid(begin("killed"), 0)
print(killed, "kills,", torn, "in the midst of writing, after epochs", *epochs)
"""


@pytest.mark.slow
@pytest.mark.parametrize("family", ["paper", "layers"])
def test_ten_kills_at_random_moments_leave_the_bits_of_an_undisturbed_training(
    tmp_path: Path, family: str
) -> None:
    """Tiny epochs: a large share of the time goes into writing checkpoints, so that some kills hit a
    half-written file."""
    line = [sys.executable, "-c", STAGE, str(tmp_path), str(KILLS), "3", family]
    run = subprocess.run(
        line,
        capture_output=True,
        text=True,
        timeout=900,
        check=False,
        env={**os.environ, "OMP_NUM_THREADS": "1"},
    )
    assert run.returncode == 0, run.stderr[-3000:]
    assert run.stdout.startswith(f"{KILLS} kills"), run.stdout
    assert (tmp_path / "killed.txt").read_text() == (tmp_path / "calm.txt").read_text()
    assert (tmp_path / "killed.safetensors").read_bytes() == (
        tmp_path / "calm.safetensors"
    ).read_bytes()
    calm, killed = (load_tensors(tmp_path / f"{name}.checkpoint")[0] for name in ("calm", "killed"))
    assert calm.keys() == killed.keys() and all(
        torch.equal(calm[name], killed[name]) for name in calm
    )
    assert not list(tmp_path.glob(".*.part"))
