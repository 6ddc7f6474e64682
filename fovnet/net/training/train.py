"""One trial: a network trained by the paper's recipe, from its seed to its record.

    slices   (n, 128, 128) uint8, resident on the device
    targets  (n, k) float, rows summing to one
    weights  (k,) inverse class frequency of the training rows, mean one over their slices

Source of the recipe: Bertrand et al. (ISBI 2017): cross-entropy weighted by inverse class
frequency; stochastic gradient descent with Nesterov momentum 0.9; learning rate lr / (1 +
1e-6·step); score = validation loss.
"""

from __future__ import annotations

import math
import time
import traceback
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import asdict, dataclass
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import torch
from torch import Tensor

from fovnet.net.family.architecture import Architecture
from fovnet.net.family.model import Network, build
from fovnet.net.family.weights import save_network
from fovnet.net.faults import end_of
from fovnet.net.images.augment import draw
from fovnet.net.images.inputs import Placed, images
from fovnet.net.inference_batch import inference_batch_size
from fovnet.net.recipe import Recipe
from fovnet.net.stopping import End, Guess
from fovnet.net.training.checkpoint import Checkpoint
from fovnet.net.training.progress import Progress
from fovnet.net.training.train_step import TrainStep, computing_in, loss_of
from fovnet.net.training.warm_start import Beginning, begin_with
from fovnet.search.trial import Status
from fovnet.volume.slices.placing import Placing
from fovnet.volume.slices.sections import make_sections

MOMENTUM = 0.9
RATE_DECAY = 1e-6
# seconds: a checkpoint holds three copies of the weights, up to 0.5 GB with the head "fc"
CHECKPOINTS_APART = 20.0
# steps: each costs a pass over all weights, which at every step would be a tenth of a small batch's
# time
STEPS_PER_AVERAGE = 5


@dataclass(frozen=True)
class Data:
    """The labelled slices, on the device, and which rows are for training and which for validation.

    slices      (n, h, w) uint8
    targets     (n, k) float32, rows summing to one
    train       (r,) int64 row numbers
    validation  (v,) int64 row numbers
    placed      for inputs that need it
    volume      (n,) int64 of each slice, if known
    """

    slices: Tensor
    targets: Tensor
    train: Tensor
    validation: Tensor
    placed: Placed | None = None
    volume: Tensor | None = None

    @property
    def device(self) -> torch.device:
        """Where the slices are."""
        return self.slices.device


@dataclass(frozen=True)
class Ending:
    """How a trial ended: its status, its learning curves, and a message unless it simply completed.

    seconds        of training, including the whole epochs before a kill
    epoch_seconds  of each whole epoch
    trace          of the exception, where the status is "error"
    """

    status: Status
    training_loss: tuple[float, ...]
    validation_loss: tuple[float, ...]
    peak_memory_bytes: int
    message: str = ""
    seconds: float = 0.0
    trace: str = ""
    epoch_seconds: tuple[float, ...] = ()


Array = np.ndarray[Any, Any]


def place_on_device(
    pixels: Array,
    targets: Array,
    train: Array,
    validation: Array,
    device: torch.device,
    placing: Placing | None = None,
    kinds: Sequence[str] = ("slice",),
) -> Data:
    """The data set on the device, with the placing that these kinds of inputs need; on a CPU a
    memory-mapped array is not copied, but shared by all workers."""
    placed = volume = None
    if placing is not None:
        body_sections = make_sections(pixels, placing) if "sections" in kinds else None
        placed = Placed.on(device, placing, body_sections)
        volume = torch.from_numpy(placing.volume.astype(np.int64)).to(device)
    return Data(
        torch.from_numpy(pixels).to(device),
        torch.from_numpy(targets.astype(np.float32)).to(device),
        torch.from_numpy(train.astype(np.int64)).to(device),
        torch.from_numpy(validation.astype(np.int64)).to(device),
        placed,
        volume,
    )


def class_weights(targets: Tensor, row_frequencies: Tensor | None = None) -> Tensor:
    """(k,) inverse class frequency, scaled so that the mean weight of these rows is one; 0 for a
    class without rows.

    row_frequencies  (n,) with which each row is drawn; None: uniform
    """
    class_shares = _mean_of_rows(targets, row_frequencies)
    inverse_shares = torch.where(class_shares > 0, 1 / class_shares.clamp_min(1e-12), 0.0)
    return inverse_shares / (class_shares * inverse_shares).sum().clamp_min(1e-12)


def _mean_of_rows(values: Tensor, row_frequencies: Tensor | None) -> Tensor:
    if row_frequencies is None:
        return values.mean(dim=0)
    return row_frequencies @ values / row_frequencies.sum()


def guessing_loss(targets: Tensor, weights: Tensor, row_frequencies: Tensor | None = None) -> float:
    """The loss of uniform probabilities over the k classes seen in training, on these rows: log k
    if their class shares are the training's.

    row_frequencies  (n,) with which each row is drawn; None: uniform
    With inverse-frequency weights no other constant prediction has a lower loss on the training
    rows.
    """
    classes_seen = int((weights > 0).sum())
    mean_weight = _mean_of_rows(targets @ weights, row_frequencies)
    return float(mean_weight) * math.log(max(2, classes_seen))


def train_network(
    net: Architecture,
    *,
    learning_rate: float,
    batch: int,
    seed: int,
    data: Data,
    recipe: Recipe,
    keep: Path,
    facts: Mapping[str, Any],
    report: Callable[[Progress, int], None] | None = None,
    begin: Beginning | None = None,
    source: str = "",
    now: Callable[[], float] = time.monotonic,
) -> Ending:
    """The end of a trial; the weights of its best epoch, if any, are at `keep`.  It begins with the
    network of `begin`, if any.

    After a kill it resumes after a whole epoch, at most CHECKPOINTS_APART before its last one, on
    one kind of CPU with the same bits; so does a finished one if more epochs are requested, until
    `forget(keep)`. `source` is a hash of the data, needed if a checkpoint may be from other data.
    `facts` are stored with the weights; `report` is called after each epoch, with the number of
    epochs requested; `now` is the clock of `epoch_seconds`. Exceptions in training become a status.
    Only a full disk raises, SearchError ("disk-full"), as no configuration causes it.
    """
    if data.device.type == "cuda":
        torch.cuda.reset_peak_memory_stats()
    started = time.monotonic()
    progress = None
    seconds_before_kill = 0.0
    trace = ""
    try:
        progress = begin_training(
            net,
            learning_rate,
            seed,
            data.device,
            averaged=recipe.averaging > 0,
            begin=begin,
            classes=facts.get("classes", ()),
        )
        deciding_facts = _deciding_facts(net, learning_rate, batch, seed, recipe, facts)
        digests = {"begin": begin.sha256 if begin else "", "source": source}
        deciding_facts |= {name: digest for name, digest in digests.items() if digest}
        checkpoint = Checkpoint(keep, deciding_facts)
        checkpoint.resume(progress)
        seconds_before_kill = progress.seconds
        epochs = _Epochs(
            net=net,
            learning_rate=learning_rate,
            batch=batch,
            data=data,
            recipe=recipe,
            checkpoint=checkpoint,
            facts=facts,
            report=report,
            now=now,
        )
        end = epochs.run(progress)
    except Exception as fault:
        end = end_of(fault)
        trace = traceback.format_exc() if end.status == "error" else ""
    return Ending(
        status=end.status,
        training_loss=tuple(progress.training_loss) if progress else (),
        validation_loss=tuple(progress.validation_loss) if progress else (),
        peak_memory_bytes=peak_memory(data.device),
        message=end.message,
        seconds=seconds_before_kill + time.monotonic() - started,
        trace=trace,
        epoch_seconds=tuple(progress.epoch_seconds) if progress else (),
    )


def _deciding_facts(
    architecture: Architecture,
    learning_rate: float,
    batch: int,
    seed: int,
    recipe: Recipe,
    network_facts: Mapping[str, Any],
) -> dict[str, Any]:
    """The facts that two trainings must share for one to resume the other's checkpoint: all except
    the number of epochs (unless there is a cooldown), the stopping rules (except the plateau), and
    the slot, as a later one may go on with a training."""
    recipe_facts = {
        name: value
        for name, value in asdict(recipe).items()
        if name != "ends" and (name != "epochs" or recipe.cooldown)
    }
    return {
        "net": asdict(architecture),
        "rate": learning_rate,
        "batch": batch,
        "seed": seed,
        "plateau": asdict(recipe.ends)["plateau"],
        **recipe_facts,
        "facts": {name: value for name, value in network_facts.items() if name != "slot"},
    }


@dataclass(frozen=True)
class _Epochs:
    """The epochs of one trial."""

    net: Architecture
    learning_rate: float
    batch: int
    data: Data
    recipe: Recipe
    checkpoint: Checkpoint
    facts: Mapping[str, Any]
    report: Callable[[Progress, int], None] | None
    now: Callable[[], float] = time.monotonic

    def run(self, progress: Progress) -> End:
        """Train epoch by epoch until an end; a resumed training that is already finished ends at
        once."""
        data = self.data
        row_frequencies = training_row_frequencies(data, self.recipe)
        weights_of_classes = class_weights(data.targets[data.train], row_frequencies)
        guessing_losses = Guess(
            guessing_loss(data.targets[data.train], weights_of_classes, row_frequencies),
            guessing_loss(data.targets[data.validation], weights_of_classes),
        )
        last_saved_at = -np.inf
        end = self._end_now(progress, guessing_losses)
        while end is None:
            self._run_epoch(progress, weights_of_classes)
            end = self._end_now(progress, guessing_losses)
            is_due = end is not None or time.monotonic() - last_saved_at >= CHECKPOINTS_APART
            last_losses = [progress.training_loss[-1], progress.validation_loss[-1]]
            if is_due and np.isfinite(last_losses).all():
                self.checkpoint.save(progress)
                last_saved_at = time.monotonic()
            if self.report:
                self.report(progress, self.recipe.epochs)
        return end

    def _end_now(self, progress: Progress, guessing_losses: Guess) -> End | None:
        """The end of the training after its last epoch; None if it continues."""
        return self.recipe.ends.end(
            progress.training_loss,
            progress.validation_loss,
            epochs=self.recipe.epochs,
            seconds=progress.seconds,
            guess=guessing_losses,
        )

    def _run_epoch(self, progress: Progress, weights_of_classes: Tensor) -> None:
        """Train and validate for one epoch, and keep its weights if they are the best so far."""
        start_seconds = self.now()
        learning_rate = (
            self.learning_rate
            * self.recipe.ends.rate_factor(progress.validation_loss)
            * self.recipe.cooldown_factor(len(progress.validation_loss))
        )
        train_epoch(progress, self.data, weights_of_classes, self.recipe, learning_rate, self.batch)
        with _averaged_weights(progress, self.recipe):
            validation_loss_now = validation_loss(
                progress.model, self.data, weights_of_classes, self.recipe.precision
            )
            progress.validation_loss.append(validation_loss_now)
            if progress.score == validation_loss_now and np.isfinite(validation_loss_now):
                best_epoch_facts = {"epoch": len(progress.validation_loss), "score": progress.score}
                network_facts = {**self.facts, **best_epoch_facts}
                save_network(self.checkpoint.keep, progress.model, self.net, network_facts)
        progress.epoch_seconds.append(self.now() - start_seconds)


def validation_loss(model: Network, data: Data, weights: Tensor, precision: str = "auto") -> float:
    """Mean weighted cross-entropy of the validation rows, in nats, without augmentation; weights
    (k,) of the classes."""
    model.eval()
    loss_sum = torch.zeros((), dtype=torch.float64, device=data.device)
    with torch.inference_mode(), computing_in(precision, data.device):
        batch_size = inference_batch_size([model], data.slices[0].numel(), data.device)
        for rows in torch.split(data.validation, batch_size):
            scores = model(images(data.slices, rows, model.inputs, data.placed)).float()
            loss = loss_of(scores, data.targets.index_select(0, rows), weights)
            loss_sum += loss.double() * len(rows)
    return float(loss_sum / len(data.validation))


def peak_memory(device: torch.device) -> int:
    """Peak bytes of the trial; 0 on a CPU, where a process has no counter that can be reset between
    trials."""
    return int(torch.cuda.max_memory_allocated(device)) if device.type == "cuda" else 0


def begin_training(
    net: Architecture,
    learning_rate: float,
    seed: int,
    device: torch.device,
    *,
    averaged: bool = False,
    begin: Beginning | None = None,
    classes: Sequence[str] = (),
) -> Progress:
    """A trial before its first step: weights drawn from the seed, or those of `begin`, on the
    device, channels last."""
    generator = torch.Generator().manual_seed(seed)
    model = build(net, generator)
    if begin is not None:
        begin_with(model, net, begin.weights, classes)
    model = model.to(device)
    model.to(memory_format=torch.channels_last)  # type: ignore[call-overload]
    optimiser = torch.optim.SGD(
        model.parameters(), learning_rate, momentum=MOMENTUM, nesterov=True, fused=True
    )
    running_mean = (
        [parameter.detach().clone() for parameter in model.parameters()] if averaged else []
    )
    return Progress(model, optimiser, generator, running_mean)


def _take_into_average(progress: Progress, decay: float) -> None:
    """Update the running mean; its decay at update u is at most (1 + u)/(10 + u), so that the
    initial weights are soon forgotten."""
    update_index = progress.step // STEPS_PER_AVERAGE
    newest_share = 1.0 - min(decay, (1 + update_index) / (10 + update_index))
    weights = [parameter.detach() for parameter in progress.model.parameters()]
    torch._foreach_lerp_(progress.average, weights, newest_share)


@contextmanager
def _averaged_weights(progress: Progress, recipe: Recipe) -> Iterator[None]:
    """Gives the model its averaged weights, if the recipe averages, and restores its own
    afterwards.

    Polyak & Juditsky (1992), Acceleration of stochastic approximation by averaging, in its
    exponential form: at a constant learning rate the mean of the last steps is nearer the optimum
    than any of them.  Running statistics are those of the last steps, not of the mean: with
    normalised poolings the two agree once the rate has cooled down.
    """
    if not recipe.averaging:
        yield
        return
    _swap_in_place(progress.model.parameters(), progress.average)
    try:
        yield
    finally:
        _swap_in_place(progress.model.parameters(), progress.average)


@torch.no_grad()
def _swap_in_place(model_weights: Iterable[Tensor], averages: Iterable[Tensor]) -> None:
    """Swap tensors in place, as a CUDA graph requires; a few rows at a time, as the predicted
    memory has no room for a whole copy."""
    for weight, average in zip(model_weights, averages, strict=True):
        for weight_rows, average_rows in zip(
            torch.split(weight, 64), torch.split(average, 64), strict=True
        ):
            copied_rows = weight_rows.clone()
            weight_rows.copy_(average_rows)
            average_rows.copy_(copied_rows)


def train_epoch(
    progress: Progress,
    data: Data,
    weights: Tensor,
    recipe: Recipe,
    learning_rate: float,
    batch: int,
) -> None:
    """Train for one epoch; its mean training loss is appended to the curve."""
    progress.model.train()
    if progress.train_step is None:
        progress.train_step = TrainStep(
            progress.model,
            progress.optimiser,
            data,
            weights,
            ranges=recipe.ranges,
            batch=batch,
            precision=recipe.precision,
        )
    train_step = progress.train_step
    slice_draws = draw(recipe.slices_per_epoch, recipe.ranges, progress.generator).to(data.device)
    make_batches: Callable[..., Iterator[Tensor]] = shuffled_batches
    if recipe.sampling != "slices" and data.volume is not None:
        make_batches = partial(volume_batches, volume=data.volume)
    batches = make_batches(data.train, recipe.slices_per_epoch, batch, progress.generator)
    for rows, batch_draws in zip(batches, torch.split(slice_draws, batch), strict=True):
        train_step.take(rows, batch_draws, learning_rate / (1 + RATE_DECAY * progress.step))
        progress.step += 1
        if recipe.averaging and progress.step % STEPS_PER_AVERAGE == 0:
            _take_into_average(progress, recipe.averaging)
    # else the average is still the initial network
    if recipe.averaging and progress.step < STEPS_PER_AVERAGE:
        _take_into_average(progress, recipe.averaging)
    progress.training_loss.append(train_step.mean_loss())


def training_row_frequencies(data: Data, recipe: Recipe) -> Tensor | None:
    """(n,) frequency with which each training row is drawn; None if uniform."""
    if recipe.sampling == "slices" or data.volume is None:
        return None
    return volume_frequencies(data.volume[data.train])


def volume_frequencies(volume: Tensor) -> Tensor:
    """(n,) float32: relative frequency of slices of these volumes (n,) if all volumes are drawn
    equally often."""
    _, of_volume, slices = volume.unique(return_inverse=True, return_counts=True)  # type: ignore[no-untyped-call]
    return torch.reciprocal(slices[of_volume].float())


def volume_batches(
    rows: Tensor, count: int, batch: int, generator: torch.Generator, volume: Tensor
) -> Iterator[Tensor]:
    """Batches (m,) of row numbers, `count` in all: a random slice of each volume, in one
    permutation of the volumes after another.

    rows (r,) and the volume (n,) of every slice, on one device

    A whole body of 150 slices counts as much as a knee of 15, as in the classification of volumes.
    """
    rows_by_volume = volume[rows].argsort(stable=True).cpu()
    _, slice_counts = volume[rows].unique(return_counts=True)  # type: ignore[no-untyped-call]
    slice_counts = slice_counts.cpu()
    first_row = slice_counts.cumsum(0) - slice_counts
    drawn_volumes = _permutations(len(slice_counts), count, generator)
    position_shares = torch.rand(count, generator=generator, dtype=torch.float64)
    row_in_volume = (position_shares * slice_counts[drawn_volumes]).long()
    picked_rows = rows_by_volume[first_row[drawn_volumes] + row_in_volume]
    yield from torch.split(rows[picked_rows.to(rows.device)], batch)


def shuffled_batches(
    rows: Tensor, count: int, batch: int, generator: torch.Generator
) -> Iterator[Tensor]:
    """Batches (m,) of row numbers, `count` in all of rows (r,): one permutation after another, so
    that no row is drawn twice before every row was drawn once."""
    order = _permutations(len(rows), count, generator)
    yield from torch.split(rows[order.to(rows.device)], batch)


def _permutations(length: int, count: int, generator: torch.Generator) -> Tensor:
    """(count,) numbers below `length`: one permutation after another."""
    permutation_count = -(-count // length)
    permutations = [torch.randperm(length, generator=generator) for _ in range(permutation_count)]
    return torch.cat(permutations)[:count]
