"""Networks of layers as a problem of a race over trees, each trained by fovnet's own recipe on few and
small pictures, without augmentation, on one thread."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING, Any

import numpy as np

from fovnet.bench.peers import one_torch_thread
from fovnet.bench.together import Progress
from fovnet.bench.tree_pictures import (
    DIGIT_COUNTS,
    PIXELS_FILE,
    SLICE_COUNTS,
    TEST_FILE,
    picture_facts,
    write_digits,
    write_slices,
)
from fovnet.bench.tree_problem import Answer, TreeProblem
from fovnet.config.named_trees import named_tree
from fovnet.late import import_late
from fovnet.machine.allocation import keep_freed_memory
from fovnet.net.cost.layered import LayeredCosts
from fovnet.net.cost.predicted import DeviceSpeed, Limits, Work
from fovnet.net.jobs.training_data import ROWS_FILE
from fovnet.net.jobs.workers import TrainingJob, train_proposal
from fovnet.net.recipe import Ranges, Recipe
from fovnet.net.stopping import Ends
from fovnet.search.tree.start import tree_with_start
from fovnet.search.tree.tree import Configuration, Tree
from fovnet.search.trial import Proposal

if TYPE_CHECKING:
    from fovnet.net.family import weights
    from fovnet.net.images import inputs
else:  # torch
    weights = import_late("fovnet.net.family.weights")
    inputs = import_late("fovnet.net.images.inputs")

NO_AUGMENTATION = Ranges(0.0, 0.0, 0.0, 0.0, 0.0)
SPEED = DeviceSpeed(20.0, 6.0, 20.0)
"""Of predicted seconds, which decide nothing while one training runs at a time."""
LIMITS = Limits(2e9, None)
MOST_LOSS = 4.6
"""Of a digit, log 100: worse losses count as this one."""
LEAST_GAIN = 0.98
"""Share of the loss of guessing; a training of digits with more after DIGIT_EPOCHS_TO_LEARN ends."""
DIGIT_EPOCHS_TO_LEARN = 3


@dataclass(frozen=True)
class NetworkTrainings:
    """Trainings of networks on the pictures in a folder.

    most_loss  a higher loss counts as this one
    """

    folder: Path
    recipe: Recipe
    most_loss: float = math.inf

    def __call__(self, configuration: Configuration, seed: int) -> Answer:
        """The lowest validation loss of a training, and how its best epoch does on the test pictures."""
        keep_freed_memory()
        job = TrainingJob(
            pixels_path=self.folder / PIXELS_FILE,
            rows_path=self.folder / ROWS_FILE,
            networks_folder=self.folder,
            head="gap",
            device="cpu",
            recipe=self.recipe,
        )
        proposal = Proposal(
            slot=0,
            row=0,
            configuration=configuration,
            seed=seed,
            seen_slots=(),
            pending_slots=(),
            predicted_seconds=0.0,
        )
        with one_torch_thread(), TemporaryDirectory() as weights_folder:
            weights_path = Path(weights_folder) / "network.safetensors"
            outcome = train_proposal(job, proposal, given_weights_path=weights_path)
            if outcome.status not in ("completed", "pruned") or outcome.score is None:
                return Answer(None)
            return Answer(min(outcome.score, self.most_loss), self._test_accuracy(weights_path))

    def _test_accuracy(self, weights_path: Path) -> float | None:
        """The share of test pictures whose likeliest class is theirs; None without such pictures."""
        test_path = self.folder / TEST_FILE
        if not test_path.exists():
            return None
        import torch

        network, _ = weights.load_network(weights_path, torch.device("cpu"))
        with np.load(test_path) as arrays:
            pixels = torch.from_numpy(arrays["pixels"])
            labels = arrays["labels"]
        with torch.inference_mode():
            scores = network(inputs.make_images(pixels, torch.arange(len(pixels))))
        return float((scores.argmax(dim=1).numpy() == labels).mean())


def digits_tree() -> Tree:
    """45 variables: at most four convolutions of 8 x 8 pixels and three dense layers."""
    start = named_tree("layers").start
    limits = {
        "conv": (0, 4),
        "channels": (2, 32),
        "kernel": (1, 5),
        "stride": (1, 2),
        "padding": (0, 2),
        "pooling": (1, 3),
        "dense": (0, 3),
        "size": (4, 128),
        "batch": (16, 256),
    }
    layer = {**start["conv"][0], "stride": 1, "pooling": 1}
    return _layers_tree(
        limits, _digit_optimisers(), {**start, "conv": [layer], "dense": [64, 64], "batch": 32}
    )


def slices_tree() -> Tree:
    """49 variables: at most five convolutions of 128 x 128 pixels and two dense layers."""
    space, start = named_tree("layers")
    limits = {
        "conv": (1, 5),
        "channels": (2, 32),
        "kernel": (1, 7),
        "stride": (1, 3),
        "padding": (0, 2),
        "pooling": (1, 4),
        "dense": (0, 2),
        "size": (8, 256),
        "batch": (4, 32),
    }
    layers = 2 * [start["conv"][0]]
    return _layers_tree(
        limits, space["optimiser"]["choose"], {**start, "conv": layers, "dense": [64], "batch": 16}
    )


def _layers_tree(
    limits: Mapping[str, tuple[int, int]], optimisers: Mapping[str, Any], start: Mapping[str, Any]
) -> Tree:
    """The tree of `space: layers` with other least and most numbers, optimisers, and start."""
    space = {**named_tree("layers").space, "optimiser": {"choose": optimisers}}
    for group in ("conv", "dense"):
        low, high = limits[group]
        each = {name: _limited(form, limits[name]) for name, form in space[group]["each"].items()}
        space[group] = {**space[group], "repeat": {"low": low, "high": high}, "each": each}
    space["batch"] = _limited(space["batch"], limits["batch"])
    return tree_with_start(space, start)


def _limited(form: Mapping[str, Any], limits: tuple[int, int]) -> dict[str, Any]:
    """A whole number with other limits."""
    low, high = limits
    return {"whole": {"low": low, "high": high, "log": form["whole"].get("log", False)}}


def _digit_optimisers() -> dict[str, Any]:
    """Those of `space: layers`, with greater least rates and a greater decay to begin with."""
    optimisers = {}
    for name, numbers in named_tree("layers").space["optimiser"]["choose"].items():
        rate = numbers["rate"]
        optimisers[name] = {
            **numbers,
            "rate": {**rate, "real": {**rate["real"], "low": 10 * rate["real"]["low"]}},
            "decay": {**numbers["decay"], "start": 1e-4},
        }
    return optimisers


def digits_problem(folder: Path) -> TreeProblem:
    """Networks that tell digits apart; 0.15 to 1.5 s a training."""
    write_digits(folder)
    ends = Ends(envelope={DIGIT_EPOCHS_TO_LEARN: LEAST_GAIN * math.log(10)})
    training_count, validation_count = DIGIT_COUNTS
    recipe = Recipe(epochs=10, slices_per_epoch=training_count, ranges=NO_AUGMENTATION, ends=ends)
    return TreeProblem(
        "digits",
        digits_tree(),
        LayeredCosts(
            classes=10,
            side=8,
            inputs=("slice",),
            work=Work(training_count, validation_count, recipe.epochs),
            speed=SPEED,
            limits=LIMITS,
        ),
        train=NetworkTrainings(folder, recipe, MOST_LOSS),
        counts=(20, 40, 60, 80),
        runs=10,
        data=picture_facts(folder),
    )


def slices_problem(folder: Path, progress: Progress | None = None) -> TreeProblem:
    """Networks that tell regions of the body apart; 2 s a training.  The people are simulated at
    first, in some minutes; `progress` as in `write_slices`."""
    write_slices(folder, progress)
    training_count, validation_count = SLICE_COUNTS
    with np.load(folder / ROWS_FILE) as arrays:
        class_count = arrays["targets"].shape[1]
    recipe = Recipe(
        epochs=4,
        slices_per_epoch=training_count,
        ranges=NO_AUGMENTATION,
        ends=Ends(guessing_epochs=3),
    )
    return TreeProblem(
        "slices",
        slices_tree(),
        LayeredCosts(
            classes=class_count,
            side=128,
            inputs=("slice",),
            work=Work(training_count, validation_count, recipe.epochs),
            speed=SPEED,
            limits=LIMITS,
            most_weights=1e6,
            most_multiply_adds=3e6,
        ),
        train=NetworkTrainings(folder, recipe),
        counts=(20, 40, 60),
        runs=10,
        data=picture_facts(folder),
    )
