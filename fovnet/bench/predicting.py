"""The time of a prediction and of its stages, compared with unpacking the file, the least that any
reader has to do.

    read      the file read, unpacked, checked, brought to RAS; and its checksum          networks
        probabilities of all members
    slice     the slices cut                                                              decide    from
        probabilities to spans
    write     the answer's JSON.  Pictures and pages, which are optional, are left out; they take longer than
              all the rest
    unpack    gzip and numpy alone, by the standard library
    together  `fovnet predict` itself on several such volumes, the next one read while one is decided: volumes
              a second
    beside    all the stages once more while other processes compute, in turn with the stages without them

Every engine has a process of its own, so that its peak memory, children included, is measured apart
from the others'.
"""

from __future__ import annotations

import gzip
import resource
import sys
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import AbstractContextManager, contextmanager
from dataclasses import dataclass, fields
from functools import partial
from pathlib import Path
from statistics import median
from tempfile import TemporaryDirectory
from typing import Any

import numpy as np

from fovnet.bench.neighbours import neighbours
from fovnet.bench.together import Progress, run_alone
from fovnet.decision.answer import answer_facts, table_rows
from fovnet.decision.ensemble import Ensemble, load
from fovnet.decision.predict import predict
from fovnet.errors import FovnetError, VolumeError
from fovnet.machine.allocation import give_back_freed_memory, keep_freed_memory
from fovnet.machine.cores import cores
from fovnet.machine.memory import forget_peak, peak_bytes
from fovnet.phantom.acquisition.protocols import SEQUENCES
from fovnet.phantom.anatomy.body import label_volume
from fovnet.phantom.collection import nifti_bytes
from fovnet.phantom.geometry.raster import Grid
from fovnet.phantom.person.traits import sample_person
from fovnet.phantom.scanner.scan import Acquisition, LabelVolume, scan
from fovnet.records import replace_with, write_json
from fovnet.volume.orient import to_ras
from fovnet.volume.slices.stack import Slicing, cut
from fovnet.volume.sources.kind import file_kind
from fovnet.volume.sources.readers import reader_of, volume_name
from fovnet.volume.sources.source import read, source_of

Turn = tuple[dict[str, float], str, int]
STAGES = ("read", "slice", "networks", "decide", "write")
FIELD_MM = (420.0, 330.0, 380.0)  # of the simulated volume, from the hips to the lungs
MIDDLE_MM = (0.0, 0.0, 1100.0)  # above the soles
TOGETHER = 6  # volumes that are answered one after another


@dataclass(frozen=True)
class PredictingTime:
    """Medians of the repeats in milliseconds; None where nothing was measured, with the reason in
    `note`.

    total_ms  the sum of the stages         unpack_ms  None where the file is not gzipped
    peak_mb   of the process and its children over all stages; of one stage, including what was allocated
              before it
    """

    path: str
    engine: str
    voxels: str = ""
    slices: int | None = None
    members: int | None = None
    read_ms: float | None = None
    slice_ms: float | None = None
    networks_ms: float | None = None
    decide_ms: float | None = None
    write_ms: float | None = None
    total_ms: float | None = None
    unpack_ms: float | None = None
    volumes_per_second: float | None = None
    peak_mb: float | None = None
    read_peak_mb: float | None = None
    slice_peak_mb: float | None = None
    networks_peak_mb: float | None = None
    decide_peak_mb: float | None = None
    write_peak_mb: float | None = None
    threads: int | None = None
    beside: int | None = None
    whole_ms: float | None = None
    beside_ms: float | None = None
    least_ms: float | None = None
    beside_least_ms: float | None = None
    ratio: float | None = None
    note: str = ""


COLUMNS = tuple(field.name for field in fields(PredictingTime))


def predicting_times(
    paths: Sequence[Path],
    folder: Path,
    repeats: int,
    progress: Progress,
    names: Sequence[str],
    beside: int,
) -> Iterator[PredictingTime]:
    """The times of every file with every engine installed (or those named), on the CPU, also
    `beside` so many busy processes; a refused file has a note instead."""
    from fovnet.net.inference.engines import installed

    work = [(path, engine) for path in paths for engine in (names or installed())]
    for done, (path, engine) in enumerate(work):
        progress(done, len(work))
        try:
            # a missing file, or one of no known format, is refused before a process loads the
            # networks
            reader_of(file_kind(path))
        except VolumeError as refusal:
            yield PredictingTime(str(path), engine, note=str(refusal))
            continue
        yield run_alone(measured, path, folder, engine, repeats, beside)
    progress(len(work), len(work))


def simulate(path: Path, shape: tuple[int, int, int], seed: int = 1) -> Path:
    """`path`, written as a gzipped NIfTI of this shape: the trunk of a simulated person, as a
    scanner would store it."""
    affine = np.diag([*(mm / n for mm, n in zip(FIELD_MM, shape, strict=True)), 1.0])
    affine[:3, 3] = np.array(MIDDLE_MM) - np.diag(affine)[:3] * (np.array(shape) - 1) / 2
    body = label_volume(sample_person((seed, 0)), Grid(shape, affine))
    image = scan(
        LabelVolume(body.labels, body.vox_to_ras),
        SEQUENCES[0],
        Acquisition(snr=25.0),
        np.random.default_rng(seed),
    )
    packed = nifti_bytes(image, np.column_stack([np.arange(3), np.ones(3)]).astype(np.int64))
    return replace_with(path, lambda file: file.write(packed))


def measured(
    path: Path, folder: Path, engine: str, repeats: int, beside: int = 0
) -> PredictingTime:
    """The figures of one file and one engine, in this process."""
    try:
        ensemble = load(folder, "cpu", engine=engine)
        with TemporaryDirectory() as place:
            out = Path(place) / "answer.json"
            _turn(path, ensemble, out)  # fills caches
            peaks = _turn(path, ensemble, out, peak)[0] if forget_peak() else {}
            # from here on as the command does it: faster, but without peaks
            keep_freed_memory()
            turns, crowded = map(
                list,
                zip(
                    *_alternately(partial(_turn, path, ensemble, out), repeats, beside), strict=True
                ),
            )
            rates = [_together(path, ensemble) for _ in range(repeats)]
    except FovnetError as refusal:
        return PredictingTime(str(path), engine, note=str(refusal))
    ms = {name: 1e3 * median(turn[0][name] for turn in turns) for name in turns[0][0]}
    voxels, slices = turns[0][1:]
    by_stage: dict[str, Any] = {f"{stage}_ms": ms.get(stage) for stage in (*STAGES, "unpack")}
    by_stage |= {f"{stage}_peak_mb": peaks.get(stage) for stage in STAGES}
    return PredictingTime(
        str(path),
        engine,
        voxels,
        slices,
        len(ensemble.members),
        total_ms=sum(ms[stage] for stage in STAGES),
        volumes_per_second=median(rates),
        # neighbours are children
        peak_mb=peak_bytes() / 1e6 if beside else peak_mb(),
        **by_stage,
        threads=cores(),
        **(_compared(turns, crowded, beside) if beside else {}),
    )


def _alternately(
    turn: Callable[[], Turn], repeats: int, beside: int
) -> Iterator[tuple[Turn, Turn]]:
    """Turns without and with neighbours, after one that fills what `keep_freed_memory` keeps; twice
    the same one where there are none."""
    turn()
    for _ in range(repeats):
        quiet = turn()
        with neighbours(beside):
            yield quiet, turn() if beside else quiet


def _compared(turns: Sequence[Turn], crowded: Sequence[Turn], beside: int) -> dict[str, Any]:
    """The figures of `PredictingTime` that tell of neighbours."""
    quiet, loud = (
        [1e3 * sum(turn[0][stage] for stage in STAGES) for turn in each]
        for each in (turns, crowded)
    )
    whole, between = median(quiet), median(loud)
    return {
        "beside": beside,
        "whole_ms": whole,
        "beside_ms": between,
        "least_ms": min(quiet),
        "beside_least_ms": min(loud),
        "ratio": between / whole,
    }


@contextmanager
def clock(figures: dict[str, float], stage: str) -> Iterator[None]:
    """Measures the seconds of its block, a figure of that name."""
    began = time.perf_counter()
    yield
    figures[stage] = time.perf_counter() - began


@contextmanager
def peak(figures: dict[str, float], stage: str) -> Iterator[None]:
    """Measures the peak memory in MB during its block, including children and what was allocated
    before."""
    give_back_freed_memory()
    forget_peak()
    yield
    figures[stage] = peak_mb()


def _turn(
    path: Path,
    ensemble: Ensemble,
    out: Path,
    gauge: Callable[[dict[str, float], str], AbstractContextManager[None]] = clock,
) -> Turn:
    """(the gauge's figure by stage, the shape of the voxels, the number of slices)."""
    slicing, judge, figures = Slicing(**ensemble.prepare), ensemble.judge, dict[str, float]()
    with gauge(figures, "read"):
        source = source_of(path)
        volume = to_ras(read(source), slicing.max_tilt_deg)
        checksum = source.checksum
    with gauge(figures, "slice"):
        stack = cut(volume, target_spacing_mm=slicing.target_spacing_mm, checksum=checksum)
    with gauge(figures, "networks"):
        outputs = ensemble.outputs_on(stack)
    with gauge(figures, "decide"):
        answer = judge.answer(volume_name(path), str(path), outputs, stack, stack.notes)
        raw = judge.probabilities(outputs)
    with gauge(figures, "write"):
        write_json(
            out,
            answer_facts(answer, stack, raw, ensemble.vocabulary)
            | {"rows": table_rows(answer, stack)},
        )
    if path.name.endswith(".gz"):
        with gauge(figures, "unpack"):
            np.frombuffer(gzip.decompress(path.read_bytes()), np.uint8)
    return figures, " × ".join(map(str, volume.voxels.shape)), len(stack.pixels)


def _together(path: Path, ensemble: Ensemble) -> float:
    """Volumes per second of prediction as the command does it, without writing."""
    began = time.perf_counter()
    for _ in predict([(str(number), source_of(path)) for number in range(TOGETHER)], ensemble):
        pass
    return TOGETHER / (time.perf_counter() - began)


def peak_mb() -> float:
    """Peak memory in MB of this process, plus that of its children that have ended."""
    children = resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss * (
        1.0 if sys.platform == "darwin" else 1024.0
    )
    return (peak_bytes() + children) / 1e6
