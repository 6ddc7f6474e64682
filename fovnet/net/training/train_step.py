"""Training steps: from row numbers and draws to updated weights, on the device that holds the
slices.

On a CPU a step runs eagerly, and the same seed gives the same bits on one kind of processor:
oneDNN, MKL and torch choose their kernels by it, and after an epoch losses differ by 1 in 10,000.
On CUDA the network runs in bfloat16 unless set otherwise, and after a few steps a whole step, from
selecting the slices to updating the weights, is recorded as a CUDA graph and replayed: hundreds of
small kernels are launched together, and no part of a step waits for the host.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Protocol

import torch
import torch.nn.functional as F
from torch import Tensor

from fovnet.net.family.model import Network
from fovnet.net.images.augment import (
    DRAWS,
    affines,
    blacken_other_channels,
    change_greys,
    crops,
    distortions,
    ends,
    other_channels_shown,
)
from fovnet.net.images.distort import distort
from fovnet.net.images.inputs import Placed, Warp, images
from fovnet.net.recipe import Ranges

# steps before the recording, in which libraries choose their kernels and momentum buffers are
# allocated
EAGER_STEPS = 3


class Resident(Protocol):
    """Slices (n, h, w) uint8 and targets (n, k) float32 on one device; the slices' placing if
    known."""

    @property
    def slices(self) -> Tensor: ...

    @property
    def targets(self) -> Tensor: ...

    @property
    def placed(self) -> Placed | None: ...


class TrainStep:
    """The step of stochastic gradient descent that trains one network on resident slices.

    data     slices (n, h, w) uint8 and targets (n, k) on one device
    weights  (k,) of the classes, on that device
    ranges   of the augmentation
    batch    size of a whole batch, for which a graph is recorded on CUDA
    precision  of the layers' arithmetic, as in `computing_in`
    """

    def __init__(
        self,
        model: Network,
        optimiser: torch.optim.SGD,
        data: Resident,
        weights: Tensor,
        ranges: Ranges,
        batch: int,
        precision: str = "auto",
    ) -> None:
        self.model = model
        self.optimiser = optimiser
        self.ranges = ranges
        self.precision = precision
        self.slices = data.slices
        self.targets = data.targets
        self.placed = data.placed
        self.weights = weights
        self._loss_sum = torch.zeros((), dtype=torch.float64, device=weights.device)
        self._slice_count = 0
        self._replay: StepReplay | None = None
        if weights.device.type == "cuda":
            self._replay = StepReplay(optimiser, batch, weights.device)

    def take(self, rows: Tensor, draws: Tensor, rate: float) -> None:
        """One step on the slices of row numbers (m,) int64, each augmented by its draw (m, 94), at
        a learning rate.

        Both are on the device; weights, momentum and running statistics are changed in place, and
        the host does not wait.  On CUDA whole batches replay the graph, others run eagerly.  Raises
        ModelError "inputs-unplaced" as `augmented_images`, and torch's errors if memory is short.
        """
        if self._replay and len(rows) == self._replay.batch:
            self._replay(self, rows, draws, rate)
        else:
            self.set_rate(rate)
            self.step(rows, draws)
        self._slice_count += len(rows)

    def mean_loss(self) -> float:
        """The mean weighted cross-entropy, in nats, of the slices since the last call, at least
        one; nan or inf if a step diverged.  Only here does the host wait."""
        mean = float(self._loss_sum / self._slice_count)
        self._loss_sum.zero_()
        self._slice_count = 0
        return mean

    def images(self, rows: Tensor, draws: Tensor) -> Tensor:
        """The network's input (m, c, h, w) float32 in [0, 1] for rows (m,) and draws (m, 94)."""
        return augmented_images(
            self.slices, rows, draws, self.ranges, self.model.inputs, self.placed
        )

    def step(self, rows: Tensor, draws: Tensor) -> None:
        """One step on rows (m,) and draws (m, 94) at the optimiser's rate, without synchronising
        with the host."""
        inputs = self.images(rows, draws)
        self.optimiser.zero_grad(set_to_none=True)
        with computing_in(self.precision, inputs.device):
            scores = self.model(inputs)
        loss = loss_of(scores.float(), self.targets.index_select(0, rows), self.weights)
        loss.backward()  # type: ignore[no-untyped-call]
        self.optimiser.step()
        # stays on the device: .item() here would stall every step
        self._loss_sum += loss.detach().double() * len(rows)

    def set_rate(self, rate: float) -> None:
        """Set the learning rate of the following steps."""
        for group in self.optimiser.param_groups:
            if isinstance(group["lr"], Tensor):
                group["lr"].fill_(rate)  # in place: the recording reads this tensor
            else:
                group["lr"] = rate


def augmented_images(
    slices: Tensor,
    rows: Tensor,
    draws: Tensor,
    ranges: Ranges,
    kinds: Sequence[str] = ("slice",),
    placed: Placed | None = None,
) -> Tensor:
    """The input (m, c, h, w) in [0, 1] of these kinds for some rows (m,) of slices (n, h, w) uint8,
    each augmented by its draw (m, 94): distorted, cropped, resampled by its affine map, and its
    grey values changed last.  Outside is black.

    Raises ModelError "inputs-unplaced" as `fovnet.net.images.inputs.images`.
    """
    warp = Warp(
        theta=affines(draws),
        crops=crops(draws) if ranges.crop else None,
        ends=ends(draws) if ranges.crop else None,
        distort=_distortion_of_draws(draws, ranges),
        as_cut=ranges.as_cut,
    )
    inputs = change_greys(images(slices, rows, kinds, placed, warp), draws, ranges)
    if ranges.alone:
        inputs = blacken_other_channels(inputs, other_channels_shown(draws))
    return inputs


def _distortion_of_draws(
    slice_draws: Tensor, ranges: Ranges
) -> Callable[[Tensor, bool], Tensor] | None:
    """What distorts images as these draws say; None if the ranges have no distortion."""
    if not (ranges.bend or ranges.texture or ranges.tones or ranges.shading):
        return None

    def distort_images(images: Tensor, may_move: bool) -> Tensor:
        return distort(
            images,
            distortions(slice_draws),
            bend=ranges.bend > 0 and may_move,
            texture=ranges.texture > 0,
            tones=ranges.tones > 0,
            shading=ranges.shading > 0,
        )

    return distort_images


class StepReplay:
    """The training step for whole batches as a CUDA graph; what changes between steps is copied to
    tensors that the recording reads.

    It keeps no reference to the `TrainStep`: a reference cycle would hold a finished trial's memory
    until garbage collection.
    """

    def __init__(self, optimiser: torch.optim.SGD, batch: int, device: torch.device) -> None:
        self.batch = batch
        self.eager_steps = 0
        self.graph: torch.cuda.CUDAGraph | None = None
        self.stream = torch.cuda.Stream(device)  # type: ignore[no-untyped-call]
        self.rows = torch.zeros(batch, dtype=torch.int64, device=device)
        self.draws = torch.zeros(batch, DRAWS, device=device)
        for group in optimiser.param_groups:
            group["lr"] = torch.tensor(float(group["lr"]), device=device)

    def __call__(self, train_step: TrainStep, rows: Tensor, draws: Tensor, rate: float) -> None:
        self.rows.copy_(rows)
        self.draws.copy_(draws)
        train_step.set_rate(rate)
        if self.eager_steps < EAGER_STEPS:
            self.eager_steps += 1
            self._run_eager_step(train_step)
            return
        if self.graph is None:
            self.graph = self._record_graph(train_step)
        self.graph.replay()

    def _run_eager_step(self, train_step: TrainStep) -> None:
        """An eager step on the recording's stream: torch requires warm-up there before
        recording."""
        self.stream.wait_stream(torch.cuda.current_stream())
        with torch.cuda.stream(self.stream):
            train_step.step(self.rows, self.draws)
        torch.cuda.current_stream().wait_stream(self.stream)

    def _record_graph(self, train_step: TrainStep) -> torch.cuda.CUDAGraph:
        """The step as a graph; recording does not execute it."""
        # so that gradients are allocated in the graph's memory
        train_step.optimiser.zero_grad(set_to_none=True)
        graph = torch.cuda.CUDAGraph()
        with torch.cuda.graph(graph, stream=self.stream):
            train_step.step(self.rows, self.draws)
        return graph


def computing_in(precision: str, device: torch.device) -> torch.autocast:
    """The autocast context for the layers' precision: "float32", "bfloat16", or "auto", which is
    bfloat16 on CUDA and float32 elsewhere.

    Weights and their sums stay float32.  With bfloat16, a CPU with matrix units for it takes a half
    to a third of the time; one without takes longer.  The cache of cast weights is off: a recording
    would keep reading the weights cast when it was made.
    """
    if precision == "auto":
        precision = "bfloat16" if device.type == "cuda" else "float32"
    is_reduced = precision == "bfloat16"
    return torch.autocast(device.type, torch.bfloat16, enabled=is_reduced, cache_enabled=False)


def loss_of(scores: Tensor, targets: Tensor, weights: Tensor) -> Tensor:
    """() the mean weighted cross-entropy of scores (m, k) against soft targets (m, k), in nats:
    -Σ_c w_c t_c log p_c; weights (k,).

    The target of a slice that shows spine and chest is half of each.
    """
    return -(weights * targets * F.log_softmax(scores, dim=1)).sum(dim=1).mean()
