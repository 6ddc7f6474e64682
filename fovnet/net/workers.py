"""Training in worker processes: a proposal goes in, an outcome comes back, whatever happens to the process in between.

Each worker is one process with one thread for arithmetic (on two cores, two trials of one thread each finish before one trial of two
threads twice).  The slices are a memory-mapped file, so that W workers hold one copy of it.
"""

from __future__ import annotations

import os
import platform
import threading
import time
from collections.abc import Callable
from concurrent.futures import Future, ProcessPoolExecutor, ThreadPoolExecutor
from concurrent.futures.process import BrokenProcessPool
from dataclasses import dataclass
from multiprocessing import get_context
from pathlib import Path
from queue import SimpleQueue

import numpy as np

from fovnet.maths.allocation import keep_freed_memory
from fovnet.net import axes
from fovnet.net.architecture import from_configuration
from fovnet.search.trial import Outcome, Proposal


@dataclass(frozen=True)
class Job:
    """What every training of a search needs to know, small enough to send to another process.

    pixels   npy file (n, 128, 128) uint8      rows  npz file: targets (n, k), row numbers train and validation
    weights  folder for the networks; device, head and the recipe's numbers as configured
    """

    pixels: Path
    rows: Path
    weights: Path
    head: str
    device: str
    epochs: int
    slices_per_epoch: int
    rotation_deg: float
    translation: float
    shear: float
    zoom: float
    noise: float
    averaging: float = 0.0
    gamma: float = 0.0
    window: float = 0.0


class TrainingPool:
    """W workers, each a process of its own: one that dies takes only its own trial with it, and is replaced.

    Use as a context manager; `submit(proposal)` is what a search wants to be handed.
    """

    def __init__(self, job: Job, workers: int) -> None:
        self._job = job
        self._idle: SimpleQueue[ProcessPoolExecutor] = SimpleQueue()
        self._threads = ThreadPoolExecutor(workers, thread_name_prefix="trial")
        for _ in range(workers):
            self._idle.put(_process())

    def __enter__(self) -> TrainingPool:
        return self

    def __exit__(self, *_: object) -> None:
        self._threads.shutdown(wait=True, cancel_futures=True)
        while not self._idle.empty():
            self._idle.get().shutdown()

    def submit(self, proposal: Proposal) -> Future[Outcome]:
        """The future outcome of a trial; a worker that died is the outcome "error"."""
        return self._threads.submit(self._run, proposal)

    def _run(self, proposal: Proposal) -> Outcome:
        process = self._idle.get()
        try:
            return process.submit(train, self._job, proposal).result()
        except BrokenProcessPool:
            process.shutdown(wait=False)
            process = _process()
            return Outcome("error", message="the worker process died (killed by the system, perhaps for memory)")
        finally:
            self._idle.put(process)


def train(job: Job, proposal: Proposal, report: Callable[[int, int], None] | None = None) -> Outcome:
    """The outcome of one trial, in this process; its best weights lie at `weights_of(job.weights, proposal.slot)`."""
    import torch

    from fovnet.net.augment import Ranges
    from fovnet.net.training import Recipe, choose_device, place, train_network

    with np.load(job.rows, allow_pickle=False) as rows:
        targets, training, validation = rows["targets"], rows["train"], rows["validation"]
    pixels = np.load(job.pixels, mmap_mode="c")                # copy-on-write: torch wants writable memory, nobody writes
    device = choose_device(job.device)
    net = from_configuration(proposal.configuration, classes=targets.shape[1], head=axes.head(proposal.configuration, job.head))
    ranges = Ranges(job.rotation_deg, job.translation, job.shear, job.zoom, job.noise, job.gamma, job.window)
    started = time.monotonic()
    ending = train_network(
        net,
        learning_rate=axes.learning_rate(proposal.configuration),
        batch=axes.batch(proposal.configuration),
        seed=proposal.seed,
        data=place(pixels, targets, training, validation, device),
        recipe=Recipe(job.epochs, job.slices_per_epoch, ranges, job.averaging),
        keep=weights_of(job.weights, proposal.slot),
        facts={"slot": proposal.slot, "seed": proposal.seed},
        report=report,
    )
    if device.type == "cuda":
        torch.cuda.empty_cache()
    return Outcome(
        status=ending.status,
        training_loss=ending.training_loss,
        validation_loss=ending.validation_loss,
        score=min((loss for loss in ending.validation_loss if np.isfinite(loss)), default=None),
        seconds=time.monotonic() - started,
        peak_memory_bytes=ending.peak_memory_bytes,
        device=torch.cuda.get_device_name(device) if device.type == "cuda" else f"{platform.machine()} CPU, one thread",
        message=ending.message,
        versions={"torch": torch.__version__, "numpy": np.__version__, "python": platform.python_version()},
    )


def weights_of(folder: Path, slot: int) -> Path:
    """Where the network of a slot lies."""
    return folder / f"slot-{slot:04d}.safetensors"


def _process() -> ProcessPoolExecutor:
    """One worker process; spawned, because a forked copy of a process that has used CUDA or threads may hang."""
    return ProcessPoolExecutor(1, mp_context=get_context("spawn"), initializer=_settle, initargs=(os.getpid(),))


def _settle(parent: int) -> None:
    """One thread for arithmetic, freed memory kept, and no life after the parent: a SIGKILL must not leave trainings behind."""
    import torch

    torch.set_num_threads(1)
    keep_freed_memory()

    def watch() -> None:
        while os.getppid() == parent:
            time.sleep(0.5)
        os._exit(1)

    threading.Thread(target=watch, daemon=True, name="parent-watch").start()
