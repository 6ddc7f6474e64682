"""Prediction of new volumes, one after another; no volume can stop another's prediction or change its answer."""

from __future__ import annotations

from collections import deque
from collections.abc import Iterator, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from dataclasses import dataclass
from functools import partial
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from fovnet.decision.answer import Answer, refusal
from fovnet.decision.ensemble import Ensemble
from fovnet.decision.kept import places
from fovnet.errors import FovnetError, VolumeError
from fovnet.net.faults import is_starved
from fovnet.unforeseen import internal
from fovnet.volume.memory import BUDGET_BYTES, bytes_to_read
from fovnet.volume.parallel import Admission, in_order
from fovnet.volume.readers import short_of_memory
from fovnet.volume.slices import SliceStack, Slicing, slice_volume

Places = list[list[int]] | None
READ_AHEAD = 2      # volumes with one worker: one being cut, and one already cut, while another is classified


@dataclass(frozen=True)
class Read:
    """The result of reading a volume: its slices, or the error; `places` of its files as they were before."""

    result: SliceStack | FovnetError
    places: Places = None


@dataclass(frozen=True)
class Predicted:
    """One volume's answer, with its slices and ensemble probabilities (None if it was refused)."""

    answer: Answer
    stack: SliceStack | None = None
    raw: NDArray[np.float64] | None = None
    places: Places = None


def predict(paths: Sequence[tuple[str, Path]], ensemble: Ensemble, workers: int = 1) -> Iterator[Predicted]:
    """The answers for (volume_id, path) pairs, in order, each yielded once computed; while the caller has it,
    the next is computed, and those after it are read.

    workers  processes that read; with one, a thread of this process does.  The answers do not depend on it: every volume is read and
             classified by itself.
    Volumes being read or waiting to be classified are limited in number and, together, to `BUDGET_BYTES`; one
    more is being classified, and of one more the caller has the slices.
    """
    slicing = Slicing(**ensemble.prepare)
    files = [path for _, path in paths]
    work, size = partial(_read, slicing=slicing), partial(bytes_to_read, whole_voxels=slicing.whole_voxels)
    reading = in_order(work, files, workers, _crashed, size=size, budget=BUDGET_BYTES) if workers > 1 else _beside(work, files, size)
    yield from _one_ahead(_predicted(*named, read, ensemble) for named, read in zip(paths, reading, strict=True))


def _one_ahead(answers: Iterator[Predicted]) -> Iterator[Predicted]:
    """The answers, each computed by a thread while the caller writes and draws the one before."""
    with ThreadPoolExecutor(1) as thread:
        coming = thread.submit(next, answers, None)
        while (one := coming.result()) is not None:
            coming = thread.submit(next, answers, None)
            yield one


def _beside(work: partial[Read], files: Sequence[Path], size: partial[int]) -> Iterator[Read]:
    """The results of `work` on the files, in order, computed by a thread ahead of the consumer."""
    door = Admission(iter(files), READ_AHEAD, size, BUDGET_BYTES)
    ahead: deque[Future[Read]] = deque()
    reader = ThreadPoolExecutor(1)
    try:
        while True:
            ahead += [reader.submit(work, path) for path in door.admitted()]
            if not ahead:
                return
            read = ahead.popleft().result()
            door.leave()
            yield read
    finally:
        reader.shutdown(cancel_futures=True)


def _read(path: Path, slicing: Slicing) -> Read:
    """The slices of a volume, or the error; runs in a worker."""
    before = None
    try:
        before = places(path)       # recorded first, so that a file that changes while it is read is seen to have changed
        return Read(slice_volume(path, slicing), before)
    except FovnetError as error:
        return Read(error, before)
    except MemoryError:
        return Read(short_of_memory(path, "look at it"), before)
    except Exception as fault:
        return Read(internal(path, fault), before)


def _crashed(path: Path) -> Read:
    return Read(VolumeError("volume-crash", f"{path}: reading it ended its process twice (memory?). Use fewer workers, or resample it "
                                            "to larger voxels; a script that asks for several begins its work under "
                                            "`if __name__ == \"__main__\":`."))


def _predicted(volume_id: str, path: Path, read: Read, ensemble: Ensemble) -> Predicted:
    stack = read.result
    if isinstance(stack, FovnetError):
        return Predicted(refusal(volume_id, str(path), stack), places=read.places)
    try:
        outputs, judge = ensemble.outputs_on(stack), ensemble.judge
        return Predicted(judge.answer(volume_id, str(path), outputs, stack, stack.notes), stack, judge.raw(outputs), read.places)
    except FovnetError as error:
        return Predicted(refusal(volume_id, str(path), error), places=read.places)
    except Exception as fault:
        if is_starved(fault):
            return Predicted(refusal(volume_id, str(path), short_of_memory(path, "look at it")), places=read.places)
        return without_answer(volume_id, path, fault, read.places)


def without_answer(volume_id: str, path: Path, fault: Exception, places: Places = None) -> Predicted:
    """The refusal "internal" of a volume that raised `fault` where nobody foresaw one."""
    return Predicted(refusal(volume_id, str(path), internal(path, fault)), places=places)
