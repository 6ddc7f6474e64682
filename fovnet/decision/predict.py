"""Prediction of new volumes, one after another; no volume can stop another's prediction or change
its answer."""

from __future__ import annotations

from collections import deque
from collections.abc import Iterator, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from dataclasses import dataclass
from functools import partial
from pathlib import Path

from fovnet.decision.answer import AnsweredVolume, make_refusal
from fovnet.decision.ensemble import Ensemble
from fovnet.errors import FovnetError, VolumeError
from fovnet.machine.parallel import Admission, run_in_order
from fovnet.net.faults import is_memory_short
from fovnet.unforeseen import internal
from fovnet.volume.slices.stack import SliceStack, Slicing, slice_volume
from fovnet.volume.sources.memory import BATCH_BUDGET_BYTES, estimate_bytes_to_read
from fovnet.volume.sources.readers import refusal_of_memory
from fovnet.volume.sources.source import Source

READ_AHEAD = 2
"""Volumes with one worker: one being cut, and one already cut, while another is classified."""


@dataclass(frozen=True)
class ReadVolume:
    """The result of reading a volume: its slices, or the error; and the source as it was before,
    None if a process crashed over it."""

    result: SliceStack | FovnetError
    source: Source | None = None


def predict_volumes(
    named_sources: Sequence[tuple[str, Source]], ensemble: Ensemble, workers: int = 1
) -> Iterator[AnsweredVolume]:
    """The answers for (volume_id, source) pairs, in order, each yielded once computed; while the
    caller has it, the next is computed, and those after it are read.

    workers  processes that read; with one, a thread of this process does.  The answers do not
             depend on it: every volume is read and classified by itself.
    Volumes being read or waiting to be classified are limited in number and, together, to
    `BATCH_BUDGET_BYTES`; one more is being classified, and of one more the caller has the slices.
    """
    sources = [source for _, source in named_sources]
    read_volume = partial(_read_volume, slicing=Slicing(**ensemble.slicing_settings))
    if workers > 1:
        volumes = run_in_order(
            read_volume,
            sources,
            workers,
            _refuse_crash,
            size=estimate_bytes_to_read,
            budget=BATCH_BUDGET_BYTES,
        )
    else:
        volumes = _read_ahead(read_volume, sources)
    named_volumes = zip(named_sources, volumes, strict=True)
    yield from _answer_ahead(
        _answer_volume(volume_id, source.path, volume, ensemble)
        for (volume_id, source), volume in named_volumes
    )


def _answer_ahead(answers: Iterator[AnsweredVolume]) -> Iterator[AnsweredVolume]:
    """The answers, each computed by a thread while the caller writes and draws the one before."""
    with ThreadPoolExecutor(1) as executor:
        next_answer = executor.submit(next, answers, None)
        while (answer := next_answer.result()) is not None:
            next_answer = executor.submit(next, answers, None)
            yield answer


def _read_ahead(
    read_volume: partial[ReadVolume], sources: Sequence[Source]
) -> Iterator[ReadVolume]:
    """The sources, in order, as `read_volume` reads them in a thread ahead of the consumer."""
    admission = Admission(iter(sources), READ_AHEAD, estimate_bytes_to_read, BATCH_BUDGET_BYTES)
    pending_reads: deque[Future[ReadVolume]] = deque()
    executor = ThreadPoolExecutor(1)
    try:
        while True:
            pending_reads += [executor.submit(read_volume, source) for source in admission.admit()]
            if not pending_reads:
                return
            volume = pending_reads.popleft().result()
            admission.leave()
            yield volume
    finally:
        executor.shutdown(cancel_futures=True)


def _read_volume(source: Source, slicing: Slicing) -> ReadVolume:
    """The slices of a volume, or the error; runs in a worker."""
    current_source = None
    try:
        current_source = source.look_again()
        # first: a file that changes while it is read is seen to have changed
        _ = current_source.file_stamps, current_source.neighbour_notes
        return ReadVolume(slice_volume(current_source, slicing), current_source)
    except FovnetError as error:
        return ReadVolume(error, current_source)
    except MemoryError:
        return ReadVolume(refusal_of_memory(source.path, "look at it"), current_source)
    except Exception as fault:
        return ReadVolume(internal(source.path, fault), current_source)


def _refuse_crash(source: Source) -> ReadVolume:
    crash = f"{source.path}: reading it ended its process twice (memory?)"
    script = 'a script that asks for several begins its work under `if __name__ == "__main__":`.'
    remedy = f"Use fewer workers, or resample it to larger voxels; {script}"
    return ReadVolume(VolumeError("volume-crash", f"{crash}. {remedy}"))


def _answer_volume(
    volume_id: str, path: Path, volume: ReadVolume, ensemble: Ensemble
) -> AnsweredVolume:
    """The answer on a volume as it was read; a refusal for what could not be read or computed."""
    stack = volume.result
    if isinstance(stack, FovnetError):
        return AnsweredVolume(make_refusal(volume_id, str(path), stack), source=volume.source)
    try:
        outputs = ensemble.compute_volume_outputs(stack)
        judge = ensemble.judge
        answer = judge.answer(volume_id, str(path), outputs, stack, stack.notes)
        return AnsweredVolume(answer, stack, judge.mean_probabilities(outputs), volume.source)
    except FovnetError as error:
        return AnsweredVolume(make_refusal(volume_id, str(path), error), source=volume.source)
    except Exception as fault:
        if is_memory_short(fault):
            refused_answer = make_refusal(
                volume_id, str(path), refusal_of_memory(path, "look at it")
            )
            return AnsweredVolume(refused_answer, source=volume.source)
        return refuse_unforeseen(volume_id, path, fault, volume.source)


def refuse_unforeseen(
    volume_id: str, path: Path, fault: Exception, source: Source | None = None
) -> AnsweredVolume:
    """The refusal "internal" of a volume that raised `fault` where nobody foresaw one."""
    return AnsweredVolume(make_refusal(volume_id, str(path), internal(path, fault)), source=source)
