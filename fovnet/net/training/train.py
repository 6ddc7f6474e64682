"""One trial: a network trained by the paper's recipe, from its seed to its record.

    slices         (n, 128, 128) uint8, resident on the device
    targets        (n, k) float, rows summing to one
    class_weights  (k,) inverse class frequency of the training rows, mean one over their slices

Source of the recipe: Bertrand et al. (ISBI 2017): cross-entropy weighted by inverse class
frequency; stochastic gradient descent with Nesterov momentum 0.9; learning rate lr / (1 +
1e-6·step); score = validation loss.
"""

from __future__ import annotations

import time
import traceback
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import asdict, dataclass, replace
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import torch
from torch import Tensor

from fovnet.net.family.facts import architecture_facts
from fovnet.net.family.layered import NetworkShape
from fovnet.net.family.layered_configuration import OptimiserChoice
from fovnet.net.family.layered_model import build_any_network
from fovnet.net.family.model import Network, count_first_layer_numbers
from fovnet.net.family.weights import save_network
from fovnet.net.faults import end_of_fault
from fovnet.net.images.augment import draw_augmentation
from fovnet.net.images.inputs import PlacingOnDevice, make_images
from fovnet.net.inference_batch import inference_batch_size
from fovnet.net.recipe import Recipe
from fovnet.net.stopping import End, GuessingLosses
from fovnet.net.training.beginning_weights import load_beginning
from fovnet.net.training.checkpoint import Checkpoint
from fovnet.net.training.class_weights import (
    guessing_loss,
    inverse_class_weights,
    volume_frequencies,
)
from fovnet.net.training.optimisers import make_optimiser
from fovnet.net.training.progress import Progress
from fovnet.net.training.train_step import TrainStep, autocast_in, weighted_cross_entropy
from fovnet.net.training.warm_start import Beginning
from fovnet.regions import find_part_groups
from fovnet.search.trial import Status
from fovnet.volume.slices.placing import Placing
from fovnet.volume.slices.sections import make_sections

RATE_DECAY = 1e-6
# a checkpoint holds three copies of the weights, up to 0.5 GB with the head "fc"
CHECKPOINT_INTERVAL_SECONDS = 20.0
STEPS_PER_AVERAGE = 5
"""Steps from one average to the next: each is a pass over all weights, which at every step would be
a tenth of a small batch's time."""


@dataclass(frozen=True)
class TrainingData:
    """The labelled slices, on the device, and which rows are for training and which for validation.

    slices           (n, h, w) uint8
    targets          (n, k) float32, rows summing to one
    training_rows    (r,) int64 row numbers
    validation_rows  (v,) int64 row numbers
    placing          of the slices in their volumes, for inputs that need it
    volume_of_slice  (n,) int64 number of each slice's volume, if known
    part_groups      as `fovnet.regions.find_part_groups`
    """

    slices: Tensor
    targets: Tensor
    training_rows: Tensor
    validation_rows: Tensor
    placing: PlacingOnDevice | None = None
    volume_of_slice: Tensor | None = None
    part_groups: tuple[tuple[int, int], ...] = ()

    @property
    def device(self) -> torch.device:
        """Where the slices are."""
        return self.slices.device


@dataclass(frozen=True)
class Ending:
    """How a trial ended: its status, its learning curves, and a message unless it simply completed.

    training_losses    of each whole epoch, in nats
    validation_losses  of each whole epoch, in nats
    peak_memory_bytes  0 where it is not measured
    seconds            of training, including the whole epochs before a kill
    epoch_seconds      of each whole epoch
    traceback_text     of the exception, where the status is "error"
    """

    status: Status
    peak_memory_bytes: int
    message: str = ""
    seconds: float = 0.0
    traceback_text: str = ""
    training_losses: tuple[float, ...] = ()
    validation_losses: tuple[float, ...] = ()
    epoch_seconds: tuple[float, ...] = ()


Array = np.ndarray[Any, Any]


def place_on_device(
    pixels: Array,
    targets: Array,
    training_rows: Array,
    validation_rows: Array,
    device: torch.device,
    placing: Placing | None = None,
    input_kinds: Sequence[str] = ("slice",),
) -> TrainingData:
    """The data set on the device, with the placing that these kinds of inputs need.  On a CPU a
    memory-mapped array of pixels is not copied, but shared by all workers.

    pixels           (n, h, w) uint8
    targets          (n, k), rows summing to one
    training_rows    (r,) row numbers
    validation_rows  (v,) row numbers
    """
    placing_on_device = None
    volume_of_slice = None
    if placing is not None:
        body_sections = make_sections(pixels, placing) if "sections" in input_kinds else None
        placing_on_device = PlacingOnDevice.copy_to(device, placing, body_sections)
        volume_of_slice = torch.from_numpy(placing.volume_of_slice.astype(np.int64)).to(device)
    return TrainingData(
        slices=torch.from_numpy(pixels).to(device),
        targets=torch.from_numpy(targets.astype(np.float32)).to(device),
        training_rows=torch.from_numpy(training_rows.astype(np.int64)).to(device),
        validation_rows=torch.from_numpy(validation_rows.astype(np.int64)).to(device),
        placing=placing_on_device,
        volume_of_slice=volume_of_slice,
    )


def train_network(
    architecture: NetworkShape,
    *,
    learning_rate: float,
    batch_size: int,
    seed: int,
    data: TrainingData,
    recipe: Recipe,
    weights_path: Path,
    network_facts: Mapping[str, Any],
    report_epoch: Callable[[Progress, int], None] | None = None,
    beginning: Beginning | None = None,
    optimiser: OptimiserChoice | None = None,
    data_hash: str = "",
    clock: Callable[[], float] = time.monotonic,
) -> Ending:
    """Train one network, and say how its training ended; the weights of its best epoch, if any,
    are then at `weights_path`.

    beginning      the network that it begins with; None: weights are drawn from the seed
    optimiser      as in `make_optimiser`; its rate is not used, but `learning_rate`
    network_facts  stored with the weights
    report_epoch   called after each epoch with the progress and the number of epochs requested
    data_hash      needed if a checkpoint may be from other data
    clock          of `epoch_seconds`
    After a kill it resumes after a whole epoch, at most CHECKPOINT_INTERVAL_SECONDS before its last
    one, on one kind of CPU with the same bits.  So does a finished training if more epochs are
    requested, until `forget_checkpoint(weights_path)`.  Exceptions in training become a status.
    Only a full disk raises, SearchError ("disk-full"), as no configuration causes it.
    """
    data = replace(data, part_groups=find_part_groups(network_facts.get("classes", ())))
    if data.device.type == "cuda":
        torch.cuda.reset_peak_memory_stats()
    start_seconds = time.monotonic()
    progress = None
    seconds_before_kill = 0.0
    traceback_text = ""
    try:
        progress = begin_training(
            architecture,
            learning_rate,
            seed,
            data.device,
            keeps_average=recipe.averaging > 0,
            beginning=beginning,
            class_names=network_facts.get("classes", ()),
            optimiser=optimiser,
        )
        deciding_facts = _deciding_facts(
            architecture, learning_rate, batch_size, seed, recipe, network_facts, optimiser
        )
        deciding_facts |= _facts_of_sources(beginning, data_hash)
        checkpoint = Checkpoint(weights_path, deciding_facts)
        checkpoint.resume(progress)
        seconds_before_kill = progress.seconds
        epoch_loop = _EpochLoop(
            architecture=architecture,
            learning_rate=learning_rate,
            batch_size=batch_size,
            data=data,
            recipe=recipe,
            checkpoint=checkpoint,
            network_facts=network_facts,
            report_epoch=report_epoch,
            clock=clock,
        )
        end = epoch_loop.run(progress)
    except Exception as fault:
        end = end_of_fault(fault)
        if end.status == "error":
            traceback_text = traceback.format_exc()
    seconds = seconds_before_kill + time.monotonic() - start_seconds
    return _make_ending(end, progress, traceback_text, seconds, data.device)


def _make_ending(
    end: End, progress: Progress | None, traceback_text: str, seconds: float, device: torch.device
) -> Ending:
    """The ending of a trial, with its learning curves unless it failed before there was any progress."""
    ending = Ending(
        status=end.status,
        peak_memory_bytes=peak_memory_bytes(device),
        message=end.message,
        seconds=seconds,
        traceback_text=traceback_text,
    )
    if progress is None:
        return ending
    return replace(
        ending,
        training_losses=tuple(progress.training_losses),
        validation_losses=tuple(progress.validation_losses),
        epoch_seconds=tuple(progress.epoch_seconds),
    )


def _deciding_facts(
    architecture: NetworkShape,
    learning_rate: float,
    batch_size: int,
    seed: int,
    recipe: Recipe,
    network_facts: Mapping[str, Any],
    optimiser: OptimiserChoice | None,
) -> dict[str, Any]:
    """The facts that two trainings must share for one to resume the other's checkpoint: all except
    the number of epochs (unless there is a cooldown), the stopping rules (except the plateau), and
    the slot, as a later one may go on with a training."""
    recipe_facts = {
        name: value
        for name, value in asdict(recipe).items()
        if name != "ends" and (name != "epochs" or recipe.cooldown)
    }
    optimiser_facts = {}
    if optimiser is not None:
        optimiser_facts = {"optimiser": [optimiser.name, dict(optimiser.numbers)]}
    return {
        "net": architecture_facts(architecture),
        "rate": learning_rate,
        "batch": batch_size,
        "seed": seed,
        "plateau": asdict(recipe.ends)["plateau"],
        **recipe_facts,
        **optimiser_facts,
        "facts": {name: value for name, value in network_facts.items() if name != "slot"},
    }


def _facts_of_sources(beginning: Beginning | None, data_hash: str) -> dict[str, Any]:
    """What a training begins with and the data it sees, each only where it is told."""
    facts_of_sources = {}
    if beginning is not None:
        facts_of_sources["begin"] = beginning.sha256
    if data_hash:
        facts_of_sources["source"] = data_hash
    return facts_of_sources


@dataclass(frozen=True)
class _EpochLoop:
    """The epochs of one trial, one after another, until one of the rules ends it."""

    architecture: NetworkShape
    learning_rate: float
    batch_size: int
    data: TrainingData
    recipe: Recipe
    checkpoint: Checkpoint
    network_facts: Mapping[str, Any]
    report_epoch: Callable[[Progress, int], None] | None
    clock: Callable[[], float] = time.monotonic

    def run(self, progress: Progress) -> End:
        """Train epoch by epoch until an end; a resumed training that is already finished ends at
        once."""
        data = self.data
        row_frequencies = training_row_frequencies(data, self.recipe)
        class_weights = inverse_class_weights(
            data.targets[data.training_rows],
            row_frequencies,
            self.network_facts.get("classes", ()),
        )
        guessing_losses = GuessingLosses(
            guessing_loss(data.targets[data.training_rows], class_weights, row_frequencies),
            guessing_loss(data.targets[data.validation_rows], class_weights),
        )
        last_saved_at = -np.inf
        end = self._end_now(progress, guessing_losses)
        while end is None:
            self._run_epoch(progress, class_weights)
            end = self._end_now(progress, guessing_losses)
            is_due = (
                end is not None or time.monotonic() - last_saved_at >= CHECKPOINT_INTERVAL_SECONDS
            )
            last_losses = [progress.training_losses[-1], progress.validation_losses[-1]]
            if is_due and np.isfinite(last_losses).all():
                self.checkpoint.save(progress)
                last_saved_at = time.monotonic()
            if self.report_epoch:
                self.report_epoch(progress, self.recipe.epochs)
        return end

    def _end_now(self, progress: Progress, guessing_losses: GuessingLosses) -> End | None:
        """The end of the training after its last epoch; None if it continues."""
        return self.recipe.ends.find_end(
            progress.training_losses,
            progress.validation_losses,
            epochs=self.recipe.epochs,
            seconds=progress.seconds,
            guess=guessing_losses,
        )

    def _run_epoch(self, progress: Progress, class_weights: Tensor) -> None:
        """Train and validate for one epoch, and keep its weights if they are the best so far."""
        start_seconds = self.clock()
        learning_rate = (
            self.learning_rate
            * self.recipe.ends.rate_factor(progress.validation_losses)
            * self.recipe.cooldown_factor(len(progress.validation_losses))
        )
        train_epoch(progress, self.data, class_weights, self.recipe, learning_rate, self.batch_size)
        with _use_averaged_weights(progress, self.recipe):
            validation_loss = measure_validation_loss(
                progress.model, self.data, class_weights, self.recipe.precision
            )
            progress.validation_losses.append(validation_loss)
            if progress.score == validation_loss and np.isfinite(validation_loss):
                best_epoch_facts = {
                    "epoch": len(progress.validation_losses),
                    "score": progress.score,
                }
                network_facts = {**self.network_facts, **best_epoch_facts}
                save_network(
                    self.checkpoint.weights_path, progress.model, self.architecture, network_facts
                )
        progress.epoch_seconds.append(self.clock() - start_seconds)


def measure_validation_loss(
    model: Network, data: TrainingData, class_weights: Tensor, precision: str = "auto"
) -> float:
    """Mean weighted cross-entropy of the validation rows, in nats, without augmentation.

    class_weights  (k,) of the loss
    """
    model.eval()
    loss_sum = torch.zeros((), dtype=torch.float64, device=data.device)
    with torch.inference_mode(), autocast_in(precision, data.device):
        numbers_per_slice = count_first_layer_numbers([model], data.slices[0].numel())
        batch_size = inference_batch_size(numbers_per_slice, data.device.type)
        for rows in torch.split(data.validation_rows, batch_size):
            scores = model(make_images(data.slices, rows, model.inputs, data.placing)).float()
            loss = weighted_cross_entropy(
                scores, data.targets.index_select(0, rows), class_weights, data.part_groups
            )
            loss_sum += loss.double() * len(rows)
    return float(loss_sum / len(data.validation_rows))


def peak_memory_bytes(device: torch.device) -> int:
    """Peak bytes of the trial; 0 on a CPU, where a process has no counter that can be reset between
    trials."""
    return int(torch.cuda.max_memory_allocated(device)) if device.type == "cuda" else 0


def begin_training(
    architecture: NetworkShape,
    learning_rate: float,
    seed: int,
    device: torch.device,
    *,
    keeps_average: bool = False,
    beginning: Beginning | None = None,
    class_names: Sequence[str] = (),
    optimiser: OptimiserChoice | None = None,
) -> Progress:
    """A trial before its first step, its network on the device, channels last.

    keeps_average  whether a running mean of the weights is kept beside them
    beginning      the network whose weights it begins with; None: they are drawn from the seed
    class_names    in order; the last layer of `beginning` is used only if its classes are the same,
                   or these are parts of them
    optimiser      as in `make_optimiser`
    """
    generator = torch.Generator().manual_seed(seed)
    model = build_any_network(architecture, generator)
    if beginning is not None:
        load_beginning(model, architecture, beginning.weights, class_names)
    model = model.to(device)
    model.to(memory_format=torch.channels_last)  # type: ignore[call-overload]
    averaged_weights = []
    if keeps_average:
        averaged_weights = [parameter.detach().clone() for parameter in model.parameters()]
    return Progress(
        model,
        make_optimiser(optimiser, model.parameters(), learning_rate, device),
        generator,
        averaged_weights,
    )


def _update_average(progress: Progress, decay: float) -> None:
    """Move the running mean of the weights towards those of now; at update u the mean keeps at most
    (1 + u)/(10 + u) of itself, so that the initial weights are soon forgotten."""
    update_index = progress.step_count // STEPS_PER_AVERAGE
    newest_share = 1.0 - min(decay, (1 + update_index) / (10 + update_index))
    weights = [parameter.detach() for parameter in progress.model.parameters()]
    torch._foreach_lerp_(progress.averaged_weights, weights, newest_share)


@contextmanager
def _use_averaged_weights(progress: Progress, recipe: Recipe) -> Iterator[None]:
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
    _swap_in_place(progress.model.parameters(), progress.averaged_weights)
    try:
        yield
    finally:
        _swap_in_place(progress.model.parameters(), progress.averaged_weights)


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
    data: TrainingData,
    class_weights: Tensor,
    recipe: Recipe,
    learning_rate: float,
    batch_size: int,
) -> None:
    """Train for one epoch; its mean training loss is appended to the curve.

    class_weights  (k,) of the loss
    """
    progress.model.train()
    if progress.train_step is None:
        progress.train_step = TrainStep(
            progress.model,
            progress.optimiser,
            data,
            class_weights,
            ranges=recipe.ranges,
            batch_size=batch_size,
            precision=recipe.precision,
        )
    train_step = progress.train_step
    slice_draws = draw_augmentation(recipe.slices_per_epoch, recipe.ranges, progress.generator)
    if progress.model.has_dropout:
        dropout_draws = torch.rand(recipe.slices_per_epoch, 1, generator=progress.generator)
        slice_draws = torch.cat([slice_draws, dropout_draws], dim=1)
    slice_draws = slice_draws.to(data.device)
    make_batches: Callable[..., Iterator[Tensor]] = draw_shuffled_batches
    if recipe.sampling != "slices" and data.volume_of_slice is not None:
        make_batches = partial(draw_volume_batches, volume_of_slice=data.volume_of_slice)
    batches = make_batches(
        data.training_rows, recipe.slices_per_epoch, batch_size, progress.generator
    )
    for rows, batch_draws in zip(batches, torch.split(slice_draws, batch_size), strict=True):
        train_step.train_batch(
            rows, batch_draws, learning_rate / (1 + RATE_DECAY * progress.step_count)
        )
        progress.step_count += 1
        if recipe.averaging and progress.step_count % STEPS_PER_AVERAGE == 0:
            _update_average(progress, recipe.averaging)
    # else the average is still the initial network
    if recipe.averaging and progress.step_count < STEPS_PER_AVERAGE:
        _update_average(progress, recipe.averaging)
    progress.training_losses.append(train_step.take_mean_loss())


def training_row_frequencies(data: TrainingData, recipe: Recipe) -> Tensor | None:
    """(r,) frequency with which each training row is drawn; None if uniform."""
    if recipe.sampling == "slices" or data.volume_of_slice is None:
        return None
    return volume_frequencies(data.volume_of_slice[data.training_rows])


def draw_volume_batches(
    rows: Tensor,
    row_count: int,
    batch_size: int,
    generator: torch.Generator,
    volume_of_slice: Tensor,
) -> Iterator[Tensor]:
    """Batches (m,) of row numbers, `row_count` in all: a random slice of each volume, in one
    permutation of the volumes after another.

    rows             (r,) int64 row numbers to draw from
    volume_of_slice  (n,) int64 number of every slice's volume, on the device of `rows`
    A whole body of 150 slices counts as much as a knee of 15, as in the classification of volumes.
    """
    rows_by_volume = volume_of_slice[rows].argsort(stable=True).cpu()
    _, slice_counts = volume_of_slice[rows].unique(return_counts=True)  # type: ignore[no-untyped-call]
    slice_counts = slice_counts.cpu()
    first_row = slice_counts.cumsum(0) - slice_counts
    drawn_volumes = _draw_permutations(len(slice_counts), row_count, generator)
    position_shares = torch.rand(row_count, generator=generator, dtype=torch.float64)
    row_in_volume = (position_shares * slice_counts[drawn_volumes]).long()
    picked_rows = rows_by_volume[first_row[drawn_volumes] + row_in_volume]
    yield from torch.split(rows[picked_rows.to(rows.device)], batch_size)


def draw_shuffled_batches(
    rows: Tensor, row_count: int, batch_size: int, generator: torch.Generator
) -> Iterator[Tensor]:
    """Batches (m,) of row numbers, `row_count` in all, drawn from rows (r,): one permutation after
    another, so that no row is drawn twice before every row was drawn once."""
    order = _draw_permutations(len(rows), row_count, generator)
    yield from torch.split(rows[order.to(rows.device)], batch_size)


def _draw_permutations(length: int, count: int, generator: torch.Generator) -> Tensor:
    """(count,) numbers below `length`: one permutation after another."""
    permutation_count = -(-count // length)
    permutations = [torch.randperm(length, generator=generator) for _ in range(permutation_count)]
    return torch.cat(permutations)[:count]
