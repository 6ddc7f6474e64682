"""Training steps: from row numbers and draws to updated weights, on the device that holds the
slices.

On a CPU a step runs eagerly, and the same seed gives the same bits on one kind of processor:
oneDNN, MKL and torch choose their kernels by it, and after an epoch losses differ by 1 in 10,000.
On CUDA the network runs in bfloat16 unless set otherwise, and after a few steps a whole step, from
selecting the slices to updating the weights, is recorded as a CUDA graph and replayed: hundreds of
small kernels are launched together, and no part of a step waits for the host.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Protocol

import torch
import torch.nn.functional as F
from torch import Tensor

from fovnet.net.family.model import Network
from fovnet.net.images.augment import (
    DRAWS_PER_SLICE,
    affines_in,
    blacken_other_channels,
    change_greys,
    crops_in,
    distortions_in,
    other_channels_in,
    shown_shares_in,
)
from fovnet.net.images.distort import distort
from fovnet.net.images.inputs import DistortImages, PlacingOnDevice, Warp, make_images
from fovnet.net.recipe import Ranges
from fovnet.net.training.optimisers import can_be_recorded

# steps before the recording, in which libraries choose their kernels and momentum buffers are
# allocated
EAGER_STEPS = 3


class ResidentSlices(Protocol):
    """Slices (n, h, w) uint8 and targets (n, k) float32 on one device; the slices' placing if
    known; the classes that are parts of a region, region by region."""

    @property
    def slices(self) -> Tensor: ...

    @property
    def targets(self) -> Tensor: ...

    @property
    def placing(self) -> PlacingOnDevice | None: ...

    @property
    def part_groups(self) -> Sequence[tuple[int, int]]: ...


class TrainStep:
    """The step of an optimiser that trains one network on resident slices.

    data           slices (n, h, w) uint8 and targets (n, k) on one device
    class_weights  (k,) of the loss, on that device
    ranges         of the augmentation
    batch_size     of a whole batch, for which a graph is recorded on CUDA
    precision      of the layers' arithmetic, as in `autocast_in`
    """

    def __init__(
        self,
        model: Network,
        optimiser: torch.optim.Optimizer,
        data: ResidentSlices,
        class_weights: Tensor,
        ranges: Ranges,
        batch_size: int,
        precision: str = "auto",
    ) -> None:
        self.model = model
        self.optimiser = optimiser
        self.ranges = ranges
        self.precision = precision
        self.slices = data.slices
        self.targets = data.targets
        self.placing = data.placing
        self.part_groups = data.part_groups
        self.class_weights = class_weights
        self._loss_sum = torch.zeros((), dtype=torch.float64, device=class_weights.device)
        self._slice_count = 0
        self._replay: StepReplay | None = None
        if class_weights.device.type == "cuda" and can_be_recorded(optimiser):
            self._replay = StepReplay(
                optimiser, batch_size, class_weights.device, count_draws(model)
            )

    def train_batch(self, rows: Tensor, draws: Tensor, learning_rate: float) -> None:
        """Take one step on the slices of row numbers (m,) int64, each augmented by its random
        numbers `draws` (m, 94) or, with dropout, (m, 95), at a learning rate.

        Both are on the device; weights, momentum and running statistics are changed in place, and
        the host does not wait.  On CUDA whole batches replay the graph, others run eagerly.  Raises
        ModelError "inputs-unplaced" as `make_augmented_images`, and torch's errors if memory is short.
        """
        if self._replay and len(rows) == self._replay.batch_size:
            self._replay(self, rows, draws, learning_rate)
        else:
            self.set_learning_rate(learning_rate)
            self.run_step(rows, draws)
        self._slice_count += len(rows)

    def take_mean_loss(self) -> float:
        """The mean weighted cross-entropy, in nats, of the slices since the last call, at least
        one; nan or inf if a step diverged.  Only here does the host wait."""
        mean_loss = float(self._loss_sum / self._slice_count)
        self._loss_sum.zero_()
        self._slice_count = 0
        return mean_loss

    def make_images(self, rows: Tensor, draws: Tensor) -> Tensor:
        """The network's input (m, c, h, w) float32 in [0, 1] for rows (m,) and draws (m, 94)."""
        return make_augmented_images(
            self.slices, rows, draws, self.ranges, self.model.inputs, self.placing
        )

    def run_step(self, rows: Tensor, draws: Tensor) -> None:
        """Take one step on rows (m,), augmented by draws (m, 94), at the optimiser's rate, without
        waiting for the device; column 95 of draws is for dropout."""
        inputs = self.make_images(rows, draws[:, :DRAWS_PER_SLICE])
        dropout_draws = draws[:, DRAWS_PER_SLICE] if self.model.has_dropout else None
        self.optimiser.zero_grad(set_to_none=True)
        with autocast_in(self.precision, inputs.device):
            scores = self.model(inputs, slice_draws=dropout_draws)
        loss = weighted_cross_entropy(
            scores.float(),
            self.targets.index_select(0, rows),
            self.class_weights,
            self.part_groups,
        )
        loss.backward()  # type: ignore[no-untyped-call]
        self.optimiser.step()
        # stays on the device: .item() here would stall every step
        self._loss_sum += loss.detach().double() * len(rows)

    def set_learning_rate(self, learning_rate: float) -> None:
        """Set the learning rate of the following steps."""
        for parameter_group in self.optimiser.param_groups:
            if isinstance(parameter_group["lr"], Tensor):
                # in place: the recording reads this tensor
                parameter_group["lr"].fill_(learning_rate)
            else:
                parameter_group["lr"] = learning_rate


def count_draws(model: Network) -> int:
    """Random numbers of each slice in a step: those of its augmentation, and one for dropout."""
    return DRAWS_PER_SLICE + int(model.has_dropout)


def make_augmented_images(
    slices: Tensor,
    rows: Tensor,
    draws: Tensor,
    ranges: Ranges,
    input_kinds: Sequence[str] = ("slice",),
    placing: PlacingOnDevice | None = None,
) -> Tensor:
    """The input (m, c, h, w) in [0, 1] of these kinds for some rows (m,) of slices (n, h, w) uint8,
    each augmented by its random numbers `draws` (m, 94): distorted, cropped, resampled by its
    affine map, and its grey values changed last.  Outside is black.

    Raises ModelError "inputs-unplaced" if a kind needs more than pixels and `placing` lacks it.
    """
    warp = Warp(
        theta=affines_in(draws),
        crops=crops_in(draws) if ranges.crop else None,
        shown_shares=shown_shares_in(draws) if ranges.crop else None,
        distort_images=_make_distortion(draws, ranges),
        crops_like_cut_slices=ranges.as_cut,
    )
    inputs = change_greys(make_images(slices, rows, input_kinds, placing, warp), draws, ranges)
    if ranges.alone:
        inputs = blacken_other_channels(inputs, other_channels_in(draws))
    return inputs


def _make_distortion(slice_draws: Tensor, ranges: Ranges) -> DistortImages | None:
    """A function that distorts images (m, c, h, w) by these random numbers (m, 94) of their slices;
    None if nothing is to be distorted."""
    if not (ranges.bend or ranges.texture or ranges.tones or ranges.shading):
        return None

    def distort_images(images: Tensor, *, may_move: bool) -> Tensor:
        return distort(
            images,
            distortions_in(slice_draws),
            bend=ranges.bend > 0 and may_move,
            texture=ranges.texture > 0,
            tones=ranges.tones > 0,
            shading=ranges.shading > 0,
        )

    return distort_images


class StepReplay:
    """The training step for whole batches as a CUDA graph: the first steps are run as usual, then
    one is recorded, and from then on replayed.  What changes between steps is copied to tensors
    that the recording reads.

    It keeps no reference to the `TrainStep`: a reference cycle would hold a finished trial's memory
    until garbage collection.
    """

    def __init__(
        self,
        optimiser: torch.optim.Optimizer,
        batch_size: int,
        device: torch.device,
        draw_count: int = DRAWS_PER_SLICE,
    ) -> None:
        self.batch_size = batch_size
        self.eager_steps = 0
        self.graph: torch.cuda.CUDAGraph | None = None
        self.stream = torch.cuda.Stream(device)  # type: ignore[no-untyped-call]
        self.rows = torch.zeros(batch_size, dtype=torch.int64, device=device)
        self.draws = torch.zeros(batch_size, draw_count, device=device)
        for parameter_group in optimiser.param_groups:
            learning_rate = float(parameter_group["lr"])
            parameter_group["lr"] = torch.tensor(learning_rate, device=device)

    def __call__(
        self, train_step: TrainStep, rows: Tensor, draws: Tensor, learning_rate: float
    ) -> None:
        self.rows.copy_(rows)
        self.draws.copy_(draws)
        train_step.set_learning_rate(learning_rate)
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
            train_step.run_step(self.rows, self.draws)
        torch.cuda.current_stream().wait_stream(self.stream)

    def _record_graph(self, train_step: TrainStep) -> torch.cuda.CUDAGraph:
        """The step as a graph; recording does not execute it."""
        # so that gradients are allocated in the graph's memory
        train_step.optimiser.zero_grad(set_to_none=True)
        graph = torch.cuda.CUDAGraph()
        with torch.cuda.graph(graph, stream=self.stream):
            train_step.run_step(self.rows, self.draws)
        return graph


def autocast_in(precision: str, device: torch.device) -> torch.autocast:
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


def weighted_cross_entropy(
    scores: Tensor,
    targets: Tensor,
    class_weights: Tensor,
    part_groups: Sequence[tuple[int, int]] = (),
) -> Tensor:
    """() the mean over slices of the weighted cross-entropy -Σ_c w_c t_c log p_c, in nats, of
    scores (m, k) against soft targets (m, k), with class weights w (k,).

    part_groups  as `fovnet.regions.find_part_groups`
    The target of a slice that shows spine and chest is half of each.  One that has all parts of a
    region is of a slice of which no more is labelled than the region: in place of each part's
    probability stands their sum, so that the slice teaches nothing of which part it is.
    """
    log_probabilities = F.log_softmax(scores, dim=1)
    for start, stop in part_groups:
        log_parts = log_probabilities[:, start:stop]
        is_part_unlabelled = (targets[:, start:stop] > 0).all(dim=1, keepdim=True)
        log_whole = log_parts.logsumexp(dim=1, keepdim=True).expand_as(log_parts)
        log_labelled = torch.where(is_part_unlabelled, log_whole, log_parts)
        log_probabilities = torch.cat(
            [log_probabilities[:, :start], log_labelled, log_probabilities[:, stop:]], dim=1
        )
    return -(class_weights * targets * log_probabilities).sum(dim=1).mean()
