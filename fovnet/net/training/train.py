"""One trial: a network trained by the paper's recipe, from its seed to its record.

    slices   (n, 128, 128) uint8, resident on the device       targets  (n, k) float, rows summing to one
    weights  (k,) inverse class frequency of the training rows, mean one over their slices

Source of the recipe: Bertrand et al. (ISBI 2017): cross-entropy weighted by inverse class frequency;
stochastic gradient descent with Nesterov momentum 0.9; learning rate lr / (1 + 1e-6·step); score = validation
loss.
"""

from __future__ import annotations

import math
import platform
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

from fovnet.errors import ConfigError
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
from fovnet.volume.slices.sections import sections

MOMENTUM = 0.9
DECAY = 1e-6
# seconds: a checkpoint holds three copies of the weights, up to 0.5 GB with the head "fc"
CHECKPOINTS_APART = 20.0
# steps: each costs a pass over all weights, which at every step would be a tenth of a small batch's time
AVERAGE_EVERY = 5


@dataclass(frozen=True)
class Data:
    """The labelled slices, on the device, and which rows are for training and which for validation.

    slices  (n, h, w) uint8      targets  (n, k) float32, rows summing to one      train, validation  (r,) and
        (v,) int64 row numbers
    placed  for inputs that need it    volume  (n,) int64 of each slice, if known
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

    seconds  of training, including the whole epochs before a kill;    epoch_seconds  of each whole epoch
    trace    of the exception, where the status is "error"
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


def place(
    pixels: Array,
    targets: Array,
    train: Array,
    validation: Array,
    device: torch.device,
    placing: Placing | None = None,
    kinds: Sequence[str] = ("slice",),
) -> Data:
    """The data set on the device, with the placing that these kinds of inputs need; on a CPU a memory-mapped
    array is not copied, but shared by all workers."""
    placed = volume = None
    if placing is not None:
        placed = Placed.on(
            device, placing, sections(pixels, placing) if "sections" in kinds else None
        )
        volume = torch.from_numpy(placing.volume.astype(np.int64)).to(device)
    return Data(
        torch.from_numpy(pixels).to(device),
        torch.from_numpy(targets.astype(np.float32)).to(device),
        torch.from_numpy(train.astype(np.int64)).to(device),
        torch.from_numpy(validation.astype(np.int64)).to(device),
        placed,
        volume,
    )


def choose_device(name: str) -> torch.device:
    """The device a configuration names; "auto" is CUDA if available.  Raises ConfigError ("device-unknown",
    "device-missing")."""
    if name == "auto":
        return torch.device("cuda" if torch.cuda.is_available() else "cpu")
    try:
        device = torch.device(name)
    except RuntimeError:
        raise ConfigError(
            "device-unknown", f"device {name!r} is unknown; use auto, cpu or cuda"
        ) from None
    if device.type not in ("cpu", "cuda") or (
        device.type == "cuda" and not torch.cuda.is_available()
    ):
        raise ConfigError(
            "device-missing",
            f"device {name!r} is not available; this torch {torch.__version__} can use auto or cpu; cuda "
            "needs a GPU and a build of torch for it",
        )
    if device.type == "cuda" and (device.index or 0) >= torch.cuda.device_count():
        raise ConfigError(
            "device-missing",
            f"device {name!r} does not exist; GPUs are numbered from cuda:0 "
            f"to cuda:{torch.cuda.device_count() - 1}",
        )
    return device


def device_name(device: torch.device) -> str:
    """The name of the device in the records of trials."""
    return (
        torch.cuda.get_device_name(device)
        if device.type == "cuda"
        else f"{platform.machine()} CPU, one thread"
    )


def class_weights(targets: Tensor, often: Tensor | None = None) -> Tensor:
    """(k,) inverse class frequency, scaled so that the mean weight of these rows is one; 0 for a class
    without rows.

    often  (n,) frequency with which each row is drawn; None: uniform
    """
    share = targets.mean(dim=0) if often is None else often @ targets / often.sum()
    inverse = torch.where(share > 0, 1 / share.clamp_min(1e-12), 0.0)
    return inverse / (share * inverse).sum().clamp_min(1e-12)


def guessing_loss(targets: Tensor, weights: Tensor, often: Tensor | None = None) -> float:
    """The loss of uniform probabilities over the k classes seen in training, on these rows: log k if their
    class shares are the training's.

    often  (n,) frequency with which each row is drawn; None: uniform
    With inverse-frequency weights no other constant prediction has a lower loss on the training rows.
    """
    seen = int((weights > 0).sum())
    costs = targets @ weights
    return float(costs.mean() if often is None else often @ costs / often.sum()) * math.log(
        max(2, seen)
    )


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
    """The end of a trial; the weights of its best epoch, if any, are at `keep`.  It begins with the network
    of `begin`, if any.

    After a kill it resumes after a whole epoch, at most CHECKPOINTS_APART before its last one, on one
    kind of CPU with the same bits; so does a finished one if more epochs are requested, until `forget(keep)`.
    `source` is a hash of the data, needed if a checkpoint may be from other data.  `facts` are stored with
    the weights; `report` is called after each epoch, with the number of epochs requested; `now` is the clock
    of `epoch_seconds`. Exceptions in training become a status.  Only a full disk raises, SearchError
    ("disk-full"), as no configuration causes it.
    """
    if data.device.type == "cuda":
        torch.cuda.reset_peak_memory_stats()
    started = time.monotonic()
    progress, before, trace = None, 0.0, ""
    try:
        classes = facts.get("classes", ())
        progress = begin_training(
            net,
            learning_rate,
            seed,
            data.device,
            averaged=recipe.averaging > 0,
            begin=begin,
            classes=classes,
        )
        decides = _decides(net, learning_rate, batch, seed, recipe, facts)
        given = {"begin": begin and begin.sha256, "source": source}
        checkpoint = Checkpoint(
            keep, {**decides, **{name: digits for name, digits in given.items() if digits}}
        )
        checkpoint.resume(progress)
        before = progress.seconds
        end = _Epochs(net, learning_rate, batch, data, recipe, checkpoint, facts, report, now).run(
            progress
        )
    except Exception as fault:
        end = end_of(fault)
        trace = traceback.format_exc() if end.status == "error" else ""
    training, validation = (
        (progress.training_loss, progress.validation_loss) if progress else ([], [])
    )
    seconds = before + time.monotonic() - started
    each = tuple(progress.epoch_seconds) if progress else ()
    return Ending(
        end.status,
        tuple(training),
        tuple(validation),
        peak_memory(data.device),
        end.message,
        seconds,
        trace,
        each,
    )


def _decides(
    net: Architecture,
    learning_rate: float,
    batch: int,
    seed: int,
    recipe: Recipe,
    facts: Mapping[str, Any],
) -> dict[str, Any]:
    """The facts that two trainings must share for one to resume the other's checkpoint: all except the number
    of epochs (unless there is a cooldown), the stopping rules (except the plateau), and the slot, as a later
    one may go on with a training."""
    shared = {
        key: value
        for key, value in asdict(recipe).items()
        if key != "ends" and (key != "epochs" or recipe.cooldown)
    }
    plateau, own = (
        asdict(recipe.ends)["plateau"],
        {key: value for key, value in facts.items() if key != "slot"},
    )
    return {
        "net": asdict(net),
        "rate": learning_rate,
        "batch": batch,
        "seed": seed,
        "plateau": plateau,
        **shared,
        "facts": own,
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
        """Train epoch by epoch until an end; a resumed training that is already finished ends at once."""
        data, ends = self.data, self.recipe.ends
        often = drawn_how_often(data, self.recipe)
        weights = class_weights(data.targets[data.train], often)
        guess = Guess(
            guessing_loss(data.targets[data.train], weights, often),
            guessing_loss(data.targets[data.validation], weights),
        )
        losses = progress.training_loss, progress.validation_loss
        saved = -np.inf

        def ended() -> End | None:
            return ends.end(
                *losses, epochs=self.recipe.epochs, seconds=progress.seconds, guess=guess
            )

        end = ended()
        while end is None:
            started = self.now()
            rate = (
                self.learning_rate
                * ends.rate_factor(progress.validation_loss)
                * self.recipe.cooled(len(progress.validation_loss))
            )
            train_epoch(progress, data, weights, self.recipe, rate, self.batch)
            with _kept(progress, self.recipe):
                progress.validation_loss.append(
                    validation_loss(progress.model, data, weights, self.recipe.precision)
                )
                if progress.score == progress.validation_loss[-1] and np.isfinite(progress.score):
                    best = {"epoch": len(progress.validation_loss), "score": progress.score}
                    save_network(
                        self.checkpoint.keep, progress.model, self.net, {**self.facts, **best}
                    )
            progress.epoch_seconds.append(self.now() - started)
            end = ended()
            due = end is not None or time.monotonic() - saved >= CHECKPOINTS_APART
            if (
                due
                and np.isfinite([progress.training_loss[-1], progress.validation_loss[-1]]).all()
            ):
                self.checkpoint.save(progress)
                saved = time.monotonic()
            if self.report:
                self.report(progress, self.recipe.epochs)
        return end


def validation_loss(model: Network, data: Data, weights: Tensor, precision: str = "auto") -> float:
    """Mean weighted cross-entropy of the validation rows, in nats, without augmentation; weights (k,) of the
    classes."""
    model.eval()
    total = torch.zeros((), dtype=torch.float64, device=data.device)
    with torch.inference_mode(), computing_in(precision, data.device):
        for rows in torch.split(
            data.validation, inference_batch_size([model], data.slices[0].numel(), data.device)
        ):
            scores = model(images(data.slices, rows, model.inputs, data.placed)).float()
            total += loss_of(scores, data.targets.index_select(0, rows), weights).double() * len(
                rows
            )
    return float(total / len(data.validation))


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
    """A trial before its first step: weights drawn from the seed, or those of `begin`, on the device,
    channels last."""
    generator = torch.Generator().manual_seed(seed)
    model = build(net, generator)
    if begin is not None:
        begin_with(model, net, begin.weights, classes)
    model = model.to(device)
    model.to(memory_format=torch.channels_last)  # type: ignore[call-overload]
    optimiser = torch.optim.SGD(
        model.parameters(), learning_rate, momentum=MOMENTUM, nesterov=True, fused=True
    )
    average = [parameter.detach().clone() for parameter in model.parameters()] if averaged else []
    return Progress(model, optimiser, generator, average)


def _take_into_average(progress: Progress, decay: float) -> None:
    """Update the running mean; its decay at update u is at most (1 + u)/(10 + u), so that the initial weights
    are soon forgotten."""
    update = progress.step // AVERAGE_EVERY
    new = 1.0 - min(decay, (1 + update) / (10 + update))
    torch._foreach_lerp_(
        progress.average, [parameter.detach() for parameter in progress.model.parameters()], new
    )


@contextmanager
def _kept(progress: Progress, recipe: Recipe) -> Iterator[None]:
    """Gives the model its averaged weights, if the recipe averages, and restores its own afterwards.

    Polyak & Juditsky (1992), Acceleration of stochastic approximation by averaging, in its exponential form:
    at a constant learning rate the mean of the last steps is nearer the optimum than any of them.  Running
    statistics are those of the last steps, not of the mean: with normalised poolings the two agree once the
    rate has cooled down.
    """
    if not recipe.averaging:
        yield
        return
    _exchange(progress.model.parameters(), progress.average)
    try:
        yield
    finally:
        _exchange(progress.model.parameters(), progress.average)


@torch.no_grad()
def _exchange(some: Iterable[Tensor], others: Iterable[Tensor]) -> None:
    """Swap tensors in place, as a CUDA graph requires; a few rows at a time, as the predicted memory has no
    room for a whole copy."""
    for one, other in zip(some, others, strict=True):
        for mine, theirs in zip(torch.split(one, 64), torch.split(other, 64), strict=True):
            held = mine.clone()
            mine.copy_(theirs)
            theirs.copy_(held)


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
    train_step = progress.train_step = progress.train_step or TrainStep(
        progress.model, progress.optimiser, data, weights, recipe.ranges, batch, recipe.precision
    )
    draws = draw(recipe.slices_per_epoch, recipe.ranges, progress.generator).to(data.device)
    rows_of = (
        shuffled
        if recipe.sampling == "slices" or data.volume is None
        else partial(of_volumes, volume=data.volume)
    )
    batches = rows_of(data.train, recipe.slices_per_epoch, batch, progress.generator)
    for rows, drawn in zip(batches, torch.split(draws, batch), strict=True):
        train_step.take(rows, drawn, learning_rate / (1 + DECAY * progress.step))
        progress.step += 1
        if recipe.averaging and progress.step % AVERAGE_EVERY == 0:
            _take_into_average(progress, recipe.averaging)
    # else the average is still the initial network
    if recipe.averaging and progress.step < AVERAGE_EVERY:
        _take_into_average(progress, recipe.averaging)
    progress.training_loss.append(train_step.mean_loss())


def drawn_how_often(data: Data, recipe: Recipe) -> Tensor | None:
    """(n,) frequency with which each training row is drawn; None if uniform."""
    return (
        None
        if recipe.sampling == "slices" or data.volume is None
        else each_volume_alike(data.volume[data.train])
    )


def each_volume_alike(volume: Tensor) -> Tensor:
    """(n,) float32: relative frequency of slices of these volumes (n,) if all volumes are drawn equally
    often."""
    _, of_volume, slices = volume.unique(return_inverse=True, return_counts=True)  # type: ignore[no-untyped-call]
    return torch.reciprocal(slices[of_volume].float())


def of_volumes(
    rows: Tensor, count: int, batch: int, generator: torch.Generator, volume: Tensor
) -> Iterator[Tensor]:
    """Batches (m,) of row numbers, `count` in all: a random slice of each volume, in one permutation of the
    volumes after another.

    rows (r,) and the volume (n,) of every slice, on one device

    A whole body of 150 slices counts as much as a knee of 15, as in the classification of volumes.
    """
    order = volume[rows].argsort(stable=True).cpu()
    _, slices = volume[rows].unique(return_counts=True)  # type: ignore[no-untyped-call]
    slices = slices.cpu()
    first = slices.cumsum(0) - slices
    chosen = torch.cat(
        [torch.randperm(len(slices), generator=generator) for _ in range(-(-count // len(slices)))]
    )[:count]
    within = (torch.rand(count, generator=generator, dtype=torch.float64) * slices[chosen]).long()
    yield from torch.split(rows[order[first[chosen] + within].to(rows.device)], batch)


def shuffled(rows: Tensor, count: int, batch: int, generator: torch.Generator) -> Iterator[Tensor]:
    """Batches (m,) of row numbers, `count` in all of rows (r,): one permutation after another, so that no row
    is drawn twice before every row was drawn once."""
    passes = -(-count // len(rows))
    order = torch.cat([torch.randperm(len(rows), generator=generator) for _ in range(passes)])[
        :count
    ]
    yield from torch.split(rows[order.to(rows.device)], batch)
