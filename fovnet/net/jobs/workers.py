"""Training in worker processes: each proposal gets an outcome, even if its process dies.

Each worker is one process with one thread for arithmetic (on two cores, two trials of one thread
each in parallel finish before two trials of two threads each in sequence).  The slices are a
memory-mapped file, so that W workers share one copy of it.
"""

from __future__ import annotations

import os
import platform
import signal
import time
from collections.abc import Callable, Mapping
from concurrent.futures import CancelledError, Future, ProcessPoolExecutor, ThreadPoolExecutor
from concurrent.futures.process import BrokenProcessPool
from dataclasses import dataclass, field, replace
from functools import lru_cache
from multiprocessing import active_children, get_context
from multiprocessing.process import BaseProcess
from pathlib import Path
from queue import SimpleQueue
from threading import Lock
from typing import TYPE_CHECKING, Any

import numpy as np

from fovnet.errors import SearchError
from fovnet.late import import_late
from fovnet.machine.allocation import keep_freed_memory
from fovnet.machine.parallel import end_with
from fovnet.net.device import choose_device, device_name
from fovnet.net.family import axes
from fovnet.net.family.layered_configuration import (
    is_layered,
    network_of_configuration,
    optimiser_of_configuration,
)
from fovnet.net.paths import inherit_training, weights_path_of
from fovnet.net.recipe import Recipe
from fovnet.net.training.loss_curves import read_loss_curves
from fovnet.net.training.warm_start import Beginning, nearest_beginning
from fovnet.search.spend.envelope import Envelope
from fovnet.search.trial import Outcome, Proposal
from fovnet.volume.slices.placing import Placing

if TYPE_CHECKING:
    import torch

    from fovnet.net.training import train
    from fovnet.net.training.progress import Progress
else:  # torch
    train = import_late("fovnet.net.training.train")

Stamp = tuple[int, int, int]


@dataclass(frozen=True)
class TrainingJob:
    """The settings of every training of a search, small enough to send to another process.

    pixels_path      npy file (n, side, side) uint8
    rows_path        npz file: targets (n, k), row numbers train, validation; sides_mm, volume, z_mm
                     (n,)
    networks_folder  where the weights are written
    head, device     as configured; networks of layers have no head
    envelope         makes each proposal's `recipe.ends.envelope`; None: nothing is pruned
    network_facts    the format of the slices, as in `fovnet.volume.collection.pack`, and the names
                     of the classes: stored with the weights
    input_kinds      the networks' inputs, as named in `fovnet.net.family.architecture.INPUTS`
    beginnings       networks of which each training begins with the nearest; empty: weights are
                     drawn
    rate_factor      factor on the learning rates of the configurations
    data_hash        of the training and validation data, needed if `networks_folder` may hold a
                     checkpoint from other data
    pixels_stamp     of the pixels' file when the search, or this slot's own job, began; None: it is
                     not compared
    records_epoch_seconds  whether each epoch's seconds are recorded, on a CPU those of this process
                     alone, which others do not lengthen
    """

    pixels_path: Path
    rows_path: Path
    networks_folder: Path
    head: str
    device: str
    recipe: Recipe
    envelope: Envelope | None = None
    network_facts: Mapping[str, Any] = field(default_factory=dict)
    input_kinds: tuple[str, ...] = ("slice",)
    beginnings: tuple[Beginning, ...] = ()
    rate_factor: float = 1.0
    data_hash: str = ""
    pixels_stamp: Stamp | None = None
    records_epoch_seconds: bool = False


class TrainingPool:
    """W workers, each a separate process: one that dies ends only its own trial, and is replaced.

    Use as a context manager; `submit(proposal)` is the function that a search needs.  Without a job
    of its own, one is given with every proposal.
    """

    def __init__(self, job: TrainingJob | None, workers: int) -> None:
        self._job = job
        self._idle: SimpleQueue[ProcessPoolExecutor] = SimpleQueue()
        self._submission_lock = Lock()
        self._is_stopped = False
        self._busy_workers: set[BaseProcess] = set()
        self._threads = ThreadPoolExecutor(workers, thread_name_prefix="trial")
        for _ in range(workers):
            self._idle.put(_new_executor())

    def __enter__(self) -> TrainingPool:
        return self

    def __exit__(self, fault: type[BaseException] | None, *_: object) -> None:
        # their outcomes would not be recorded; their progress is in their checkpoints
        if fault is not None:
            with self._submission_lock:
                self._is_stopped = True
                for worker in tuple(self._busy_workers):
                    worker.terminate()
        self._threads.shutdown(wait=True, cancel_futures=True)
        while not self._idle.empty():
            self._idle.get().shutdown()

    def submit(
        self,
        proposal: Proposal,
        envelope: Mapping[int, float] | None = None,
        job: TrainingJob | None = None,
    ) -> Future[Outcome]:
        """The future outcome of a trial; if its worker dies, the status is "error".

        envelope  epoch to the highest validation loss that is not pruned there
        job       another than the pool's
        The future raises SearchError where no training can continue ("disk-full",
        "slices-replaced").
        """
        job = job or self._job
        assert job is not None, "a pool without a job of its own is given one"
        recipe = replace(job.recipe, ends=replace(job.recipe.ends, envelope=envelope or {}))
        return self._threads.submit(self._run_in_worker, replace(job, recipe=recipe), proposal)

    def _run_in_worker(self, job: TrainingJob, proposal: Proposal) -> Outcome:
        """The outcome of a proposal trained by an idle worker, which is replaced if it died or
        failed."""
        executor = self._idle.get()
        worker: BaseProcess | None = None
        try:
            worker = _process_of_executor(executor)
            with self._submission_lock:
                if self._is_stopped:
                    raise CancelledError
                future = executor.submit(train_proposal, job, proposal)
                self._busy_workers.add(worker)
            outcome = future.result()
        except BrokenProcessPool:
            outcome = _outcome_of_death(job, proposal, worker)
        except BaseException:
            self._idle.put(executor)
            raise
        finally:
            if worker is not None:
                self._busy_workers.discard(worker)
        # dead, or in an unknown state: a CUDA context stays unusable after its first error
        if outcome.status == "error":
            executor.shutdown(wait=False)
            executor = _new_executor()
        self._idle.put(executor)
        return outcome


def train_proposal(
    job: TrainingJob,
    proposal: Proposal,
    report_epoch: Callable[[Progress, int], None] | None = None,
    given_weights_path: Path | None = None,
) -> Outcome:
    """Train one proposal in this process; its best weights are at `given_weights_path`, else at
    `weights_path_of(job.networks_folder, proposal.slot)`.

    The traceback of an unexpected exception is appended to a file in `logs` beside the folder of
    the networks.  Raises SearchError ("slices-replaced") if the slices are not those the search
    began with.
    """
    import torch

    device = choose_device(job.device)
    training_data = _read_data(job, device)
    weights_path = given_weights_path or weights_path_of(job.networks_folder, proposal.slot)
    if proposal.begun_epochs and proposal.continued_slot is not None:
        inherit_training(
            weights_path_of(job.networks_folder, proposal.continued_slot), weights_path
        )
    architecture = network_of_configuration(
        proposal.configuration,
        classes=training_data.targets.shape[1],
        head=job.head,
        side=training_data.slices.shape[-1],
        inputs=job.input_kinds,
    )
    optimiser = None
    if is_layered(proposal.configuration):
        optimiser = optimiser_of_configuration(proposal.configuration)
    beginning = None
    if job.beginnings:
        beginning = nearest_beginning(job.beginnings, proposal.configuration)
    clock = time.monotonic
    if job.records_epoch_seconds and device.type == "cpu":
        clock = time.process_time
    ending = train.train_network(
        architecture,
        learning_rate=job.rate_factor * axes.learning_rate(proposal.configuration),
        batch_size=axes.batch_size(proposal.configuration),
        seed=proposal.seed,
        data=training_data,
        recipe=replace(job.recipe, epochs=proposal.epochs or job.recipe.epochs),
        weights_path=weights_path,
        network_facts={"slot": proposal.slot, "seed": proposal.seed, **job.network_facts},
        report_epoch=report_epoch,
        beginning=beginning,
        optimiser=optimiser,
        data_hash=job.data_hash,
        clock=clock,
    )
    if device.type == "cuda":
        torch.cuda.empty_cache()
    return _outcome_of_ending(job, proposal, ending, device)


def _outcome_of_ending(
    job: TrainingJob, proposal: Proposal, ending: train.Ending, device: torch.device
) -> Outcome:
    """The record of a training's end; where epochs have seconds of their own, those of this slot's
    epochs."""
    import torch

    slot_seconds = ending.seconds
    epoch_seconds: tuple[float, ...] = ()
    if job.records_epoch_seconds or proposal.epochs is not None:
        epoch_seconds = ending.epoch_seconds
        slot_seconds = sum(epoch_seconds[proposal.begun_epochs :])
    return Outcome(
        status=ending.status,
        training_loss=ending.training_losses,
        validation_loss=ending.validation_losses,
        score=min((loss for loss in ending.validation_losses if np.isfinite(loss)), default=None),
        seconds=slot_seconds,
        peak_memory_bytes=ending.peak_memory_bytes,
        device=device_name(device),
        message=ending.message + _log_traceback(job, proposal.slot, ending.traceback_text),
        versions={
            "torch": torch.__version__,
            "numpy": np.__version__,
            "python": platform.python_version(),
        },
        epoch_seconds=epoch_seconds,
    )


def _read_data(job: TrainingJob, device: torch.device) -> train.TrainingData:
    """The job's data, on the device.  Raises SearchError ("slices-replaced") if the file of the
    pixels was replaced."""
    pixels_stamp = file_stamp(job.pixels_path)
    rows_stamp = file_stamp(job.rows_path)
    # `slice_collections` keeps the date of unchanged bytes
    if job.pixels_stamp is not None and pixels_stamp[:2] != job.pixels_stamp[:2]:
        raise SearchError(
            "slices-replaced",
            f"{job.pixels_path}: was written again while the search ran, so the search would use other "
            "slices; run the search's command again once they are cut",
        )
    return _load_data(
        job.pixels_path, job.rows_path, (pixels_stamp, rows_stamp), device, job.input_kinds
    )


@lru_cache(maxsize=1)
def _load_data(
    pixels_path: Path,
    rows_path: Path,
    stamps: tuple[Stamp, Stamp],
    device: torch.device,
    input_kinds: tuple[str, ...],
) -> train.TrainingData:
    """The data set on the device, loaded once per worker: 80,000 slices are 1.3 GB.  `stamps`
    distinguish rewritten files from those they replaced."""
    with np.load(rows_path, allow_pickle=False) as arrays:
        targets = arrays["targets"]
        training_rows = arrays["train"]
        validation_rows = arrays["validation"]
        placing = None
        if "volume" in arrays:
            placing = Placing(arrays["sides_mm"], arrays["volume"], arrays["z_mm"])
    # copy-on-write: torch requires writable memory, but nothing is written
    mapped_pixels = np.load(pixels_path, mmap_mode="c")
    return train.place_on_device(
        mapped_pixels, targets, training_rows, validation_rows, device, placing, input_kinds
    )


def file_stamp(path: Path) -> Stamp:
    """Size, mtime and inode of a file; every write changes its mtime or its inode."""
    status = path.stat()
    return status.st_size, status.st_mtime_ns, status.st_ino


def _outcome_of_death(job: TrainingJob, proposal: Proposal, worker: BaseProcess | None) -> Outcome:
    """The outcome of a trial whose process has died, with the losses of the epochs in its
    checkpoint."""
    training_loss, validation_loss = read_loss_curves(
        weights_path_of(job.networks_folder, proposal.slot)
    )
    return Outcome(
        "error",
        training_loss,
        validation_loss,
        min(validation_loss, default=None),
        message=f"the worker process died {_cause_of_death(worker)}",
    )


def _cause_of_death(worker: BaseProcess | None) -> str:
    """How a worker ended, as the end of a sentence; waits five seconds for its exit code."""
    deadline = time.monotonic() + 5.0
    while worker is not None and worker.exitcode is None and time.monotonic() < deadline:
        # the executor also waits for the process, and may receive its status first
        time.sleep(0.01)
    if worker is None or not worker.exitcode:
        return "unseen"
    if worker.exitcode < 0:
        return f"by signal {-worker.exitcode}, perhaps for memory"
    return f"with status {worker.exitcode}"


def _log_traceback(job: TrainingJob, slot: int, traceback_text: str) -> str:
    """Append the traceback to the slot's log; where it was written, as the end of a sentence, "" if
    there is none."""
    if not traceback_text:
        return ""
    log_path = job.networks_folder.parent / "logs" / f"slot-{slot:04d}.txt"
    try:
        log_path.parent.mkdir(parents=True, exist_ok=True)
        with log_path.open("a", encoding="utf-8") as log:
            log.write(f"{traceback_text}\n")
    except OSError as fault:
        return f" (its traceback could not be written: {fault.strerror})"
    return f" (traceback in {log_path.parent.name}/{log_path.name})"


def _new_executor() -> ProcessPoolExecutor:
    """One worker process; spawned, because a fork of a process that has used CUDA or threads may
    hang."""
    return ProcessPoolExecutor(
        1, mp_context=get_context("spawn"), initializer=_settle_worker, initargs=(os.getpid(),)
    )


def _process_of_executor(executor: ProcessPoolExecutor) -> BaseProcess:
    """The process of an executor, which begins it where it has none yet.  Raises BrokenProcessPool
    if it is dead."""
    pid = executor.submit(os.getpid).result()
    for process in active_children():
        if process.pid == pid:
            return process
    raise BrokenProcessPool(f"the process {pid} has ended")


def use_one_thread() -> None:
    """Set one thread for arithmetic, and keep freed memory."""
    import torch

    torch.set_num_threads(1)
    keep_freed_memory()


def _settle_worker(parent: int) -> None:
    """Set one thread, and end with the parent: its SIGKILL must not leave trainings running."""
    # Ctrl-C in a terminal: only the parent reports it
    signal.signal(signal.SIGINT, lambda *_: os._exit(128 + signal.SIGINT))
    use_one_thread()
    end_with(parent)
