"""Steps that are recorded and replayed take the network where single steps take it."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager, nullcontext
from dataclasses import replace

import pytest
import torch

from fovnet.net.architecture import Architecture
from fovnet.net.descent import WARM_UP, Descent, _Replay
from fovnet.net.training import Data, Progress, Recipe, _begin, _train_epoch, class_weights, place

SMALL = Architecture(4, 1, 3, 3, False, classes=3, head="gap")
CPU = torch.device("cpu")


class Recording:
    """A CUDA graph without CUDA: what is called while it records is kept and not run, and run at every replay."""

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
    real = Descent.step

    @contextmanager
    def record(graph: Recording, stream: Stream) -> Iterator[None]:
        made.append(graph)
        with monkeypatch.context() as now:
            now.setattr(Descent, "step", lambda self, *buffers: graph.calls.append(lambda: real(self, *buffers)))
            yield

    stand_ins = {"Stream": Stream, "current_stream": Stream, "stream": nullcontext, "CUDAGraph": Recording, "graph": record}
    for name, stand_in in stand_ins.items():
        monkeypatch.setattr(torch.cuda, name, stand_in)
    return made


def trained(data: Data, recipe: Recipe, device: torch.device, replayed: bool = False) -> Progress:
    """A small network after two epochs of batches of 8."""
    progress, weights = _begin(SMALL, 0.03, 5, device), class_weights(data.targets)
    progress.descent = Descent(progress.model, progress.optimiser, data, weights, recipe.ranges, 8)
    if replayed:
        progress.descent._replay = _Replay(progress.optimiser, 8, device)
    for _ in range(2):
        _train_epoch(progress, data, weights, recipe, 0.03, 8)
    return progress


def test_replayed_steps_end_with_the_bits_of_single_ones(shapes: Data, recipe: Recipe, recordings: list[Recording]) -> None:
    """60 slices an epoch: seven whole batches, and one of four that no recording fits."""
    recipe = replace(recipe, slices_per_epoch=60)
    single, replayed = trained(shapes, recipe, CPU), trained(shapes, recipe, CPU, replayed=True)
    assert [recording.replays for recording in recordings] == [14 - WARM_UP]
    assert replayed.training_loss == single.training_loss
    assert all(torch.equal(a, b) for a, b in zip(replayed.model.state_dict().values(), single.model.state_dict().values(), strict=True))


@pytest.mark.skipif(not torch.cuda.is_available(), reason="needs CUDA")
def test_on_cuda_the_loss_falls_as_on_the_cpu(shapes: Data, recipe: Recipe) -> None:
    cuda = torch.device("cuda")
    there = place(shapes.slices.numpy(), shapes.targets.numpy(), shapes.train.numpy(), shapes.validation.numpy(), cuda)
    assert trained(there, recipe, cuda).training_loss == pytest.approx(trained(shapes, recipe, CPU).training_loss, rel=0.05)
