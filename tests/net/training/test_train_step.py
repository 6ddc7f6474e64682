"""Steps that are recorded and replayed take the network where single steps take it."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager, nullcontext
from dataclasses import fields, replace
from typing import Any

import numpy as np
import pytest
import torch
from torch import Tensor
from torch.utils._python_dispatch import TorchDispatchMode
from torch.utils._pytree import tree_leaves

from fovnet.net.family.architecture import Architecture
from fovnet.net.images.augment import DRAWS_PER_SLICE
from fovnet.net.recipe import Ranges, Recipe
from fovnet.net.training.class_weights import inverse_class_weights
from fovnet.net.training.progress import Progress
from fovnet.net.training.train import TrainingData, begin_training, place_on_device, train_epoch
from fovnet.net.training.train_step import EAGER_STEPS, StepReplay, TrainStep, make_augmented_images

SMALL = Architecture(4, 1, 3, 3, False, classes=3, head="gap")
CPU = torch.device("cpu")


class Recording:
    """A CUDA graph without CUDA: what is called while it records is kept and not run, and run at every
    replay."""

    def __init__(self) -> None:
        self.calls: list[Callable[[], None]] = []
        self.replays = 0

    def replay(self) -> None:
        self.replays += 1
        for call in self.calls:
            call()


class Stream:
    def __init__(self, *_: object) -> None: ...

    def wait_stream(self, other: Stream) -> None: ...


@pytest.fixture
def recordings(monkeypatch: pytest.MonkeyPatch) -> list[Recording]:
    made: list[Recording] = []
    real = TrainStep.run_step

    @contextmanager
    def record(graph: Recording, stream: Stream) -> Iterator[None]:
        made.append(graph)
        with monkeypatch.context() as now:
            now.setattr(
                TrainStep,
                "run_step",
                lambda self, *buffers: graph.calls.append(lambda: real(self, *buffers)),
            )
            yield

    stand_ins = {
        "Stream": Stream,
        "current_stream": Stream,
        "stream": nullcontext,
        "CUDAGraph": Recording,
        "graph": record,
    }
    for name, stand_in in stand_ins.items():
        monkeypatch.setattr(torch.cuda, name, stand_in)
    return made


def trained(
    data: TrainingData, recipe: Recipe, device: torch.device, replayed: bool = False
) -> Progress:
    """A small network after two epochs of batches of 8."""
    progress, weights = begin_training(SMALL, 0.03, 5, device), inverse_class_weights(data.targets)
    progress.train_step = TrainStep(
        progress.model, progress.optimiser, data, weights, recipe.ranges, 8
    )
    if replayed:
        progress.train_step._replay = StepReplay(progress.optimiser, 8, device)
    for _ in range(2):
        train_epoch(progress, data, weights, recipe, 0.03, 8)
    return progress


def test_replayed_steps_end_with_the_bits_of_single_ones(
    shapes: TrainingData, recipe: Recipe, recordings: list[Recording]
) -> None:
    """60 slices an epoch: seven whole batches, and one of four that no recording fits."""
    recipe = replace(recipe, slices_per_epoch=60)
    single, replayed = trained(shapes, recipe, CPU), trained(shapes, recipe, CPU, replayed=True)
    assert [recording.replays for recording in recordings] == [14 - EAGER_STEPS]
    assert replayed.training_losses == single.training_losses
    assert all(
        torch.equal(a, b)
        for a, b in zip(
            replayed.model.state_dict().values(), single.model.state_dict().values(), strict=True
        )
    )


STILL = Ranges(0.0, 0.0, 0.0, 0.0, 0.0)
EVERYTHING = Ranges(
    10.0,
    0.08,
    0.1,
    0.15,
    0.03,
    gamma=0.3,
    window=0.1,
    crop=0.5,
    bend=0.08,
    texture=0.3,
    tones=0.8,
    shading=1.5,
    alone=0.2,
)


class Copies(TorchDispatchMode):
    """Notes every operation that makes a tensor on the device from one on the host."""

    def __init__(self) -> None:
        super().__init__()
        self.found: list[str] = []

    def __torch_dispatch__(
        self, operation: Any, types: Any, args: Any = (), kwargs: Any = None
    ) -> Any:
        made = operation(*args, **(kwargs or {}))
        given, out = (
            [leaf for leaf in tree_leaves(tree) if isinstance(leaf, Tensor)]
            for tree in ((args, kwargs), made)
        )
        if any(leaf.device.type == "cpu" for leaf in given) and any(
            leaf.device.type == "meta" for leaf in out
        ):
            self.found.append(str(operation))
        return made


@pytest.mark.parametrize("name", [field.name for field in fields(Ranges)])
def test_no_change_of_a_step_copies_from_the_host_once_it_was_done(name: str) -> None:
    """CUDA records no step that waits for one; the device that computes nothing stands for it."""
    there = torch.device("meta")
    slices, rows = (
        torch.empty(20, 128, 128, dtype=torch.uint8, device=there),
        torch.empty(4, dtype=torch.int64, device=there),
    )
    ranges = replace(STILL, **{name: getattr(EVERYTHING, name)})
    for _ in range(2):
        with Copies() as copies:
            seen = make_augmented_images(
                slices, rows, torch.empty(4, DRAWS_PER_SLICE, device=there), ranges
            )
    assert seen.shape == (4, 1, 128, 128) and copies.found == []


@pytest.mark.skipif(not torch.cuda.is_available(), reason="needs CUDA")
def test_every_change_of_a_step_is_recorded_on_cuda(shapes: TrainingData, recipe: Recipe) -> None:
    cuda = torch.device("cuda")
    there = place_on_device(
        shapes.slices.numpy(),
        shapes.targets.numpy(),
        shapes.training_rows.numpy(),
        shapes.validation_rows.numpy(),
        cuda,
    )
    assert np.isfinite(
        trained(there, replace(recipe, ranges=replace(EVERYTHING, alone=0.0)), cuda).training_losses
    ).all()


@pytest.mark.skipif(not torch.cuda.is_available(), reason="needs CUDA")
def test_on_cuda_the_loss_falls_as_on_the_cpu(shapes: TrainingData, recipe: Recipe) -> None:
    cuda = torch.device("cuda")
    there = place_on_device(
        shapes.slices.numpy(),
        shapes.targets.numpy(),
        shapes.training_rows.numpy(),
        shapes.validation_rows.numpy(),
        cuda,
    )
    assert trained(there, recipe, cuda).training_losses == pytest.approx(
        trained(shapes, recipe, CPU).training_losses, rel=0.05
    )
