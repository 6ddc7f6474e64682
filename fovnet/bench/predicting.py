"""The time of a prediction and of its stages, compared with unpacking the file, the least that any
reader has to do.

    read      the file read, unpacked, checked, brought to RAS; and its checksum
    slice     the slices cut
    networks  probabilities of all members
    decide    from probabilities to spans
    write     the answer's JSON.  Pictures and pages, which are optional, are left out; they take
              longer than all the rest
    unpack    gzip and numpy alone, by the standard library
    beside    all the stages once more while other processes compute, in turn with the stages
              without them
    one-shot  a new process that predicts this volume and ends (fovnet.bench.one_shot)
Volumes per second are those of `fovnet predict` itself on several such volumes, of which the next
is read while one is decided.

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
from dataclasses import dataclass, fields, replace
from functools import partial
from pathlib import Path
from statistics import median
from tempfile import TemporaryDirectory
from typing import Any, NamedTuple

import numpy as np

from fovnet.bench.neighbours import neighbours
from fovnet.bench.one_shot import can_measure_processes, measure_bare, measure_one_shot
from fovnet.bench.together import Progress, run_alone
from fovnet.decision.answer import answer_facts, table_rows
from fovnet.decision.ensemble import Ensemble, load_ensemble
from fovnet.decision.folder import GRAPH_FILE_NAME
from fovnet.decision.predict import predict_volumes
from fovnet.errors import FovnetError, VolumeError
from fovnet.machine.allocation import give_back_freed_memory, keep_freed_memory
from fovnet.machine.cores import cores
from fovnet.machine.memory import forget_peak, peak_bytes
from fovnet.net.inference.engines import list_installed_engines
from fovnet.phantom.acquisition.protocols import SEQUENCES
from fovnet.phantom.anatomy.body import label_volume
from fovnet.phantom.collection import encode_nifti
from fovnet.phantom.geometry.raster import Grid
from fovnet.phantom.person.traits import sample_person
from fovnet.phantom.scanner.scan import Acquisition, LabelVolume, scan
from fovnet.records import replace_with, write_json, write_text
from fovnet.volume.orient import to_ras
from fovnet.volume.slices.stack import Slicing, cut_slices
from fovnet.volume.sources.kind import file_kind
from fovnet.volume.sources.readers import find_reader, volume_name
from fovnet.volume.sources.source import read, source_of

STAGES = ("read", "slice", "networks", "decide", "write")
FIELD_MM = (420.0, 330.0, 380.0)  # sides of the simulated volume, from the hips to the lungs
MIDDLE_MM = (0.0, 0.0, 1100.0)  # its middle, above the soles
SIMULATED_SNR = 25.0
VOLUMES_IN_A_ROW = 6  # volumes that are answered one after another
BYTES_PER_MB = 1e6
KIB = 1024.0


class Turn(NamedTuple):
    """One prediction.

    figure_by_stage  {stage: seconds, or MB}, as its gauge measures them
    shape_in_words   of the voxels, "320 × 250 × 72"
    """

    figure_by_stage: dict[str, float]
    shape_in_words: str
    slice_count: int


class TurnPair(NamedTuple):
    """A prediction without busy neighbours, and one with them."""

    quiet_turn: Turn
    busy_turn: Turn


Gauge = Callable[[dict[str, float], str], AbstractContextManager[None]]
"""gauge(figure_by_stage, stage): while its block runs it measures something, and then enters it into
the mapping under the name of the stage."""


@dataclass(frozen=True)
class PredictingTime:
    """Medians of the repeats in milliseconds; None where nothing was measured, with the reason in
    `note`.

    total_ms    the sum of the stages
    unpack_ms   None where the file is not gzipped
    peak_mb     of the process and its children over all stages
    *_peak_mb   of one stage, including what was allocated before it
    whole_ms    the sum of the stages without neighbours;  beside_ms  with them
    least_ms    the least of these;  beside_least_ms  likewise
    ratio       beside_ms over whole_ms
    one_shot_*  CPU seconds and peak memory of a new process for this volume alone, refused or not
    bare_*      of a script of nibabel and ONNX Runtime that computes its probabilities; NIfTI alone
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
    one_shot_cpu_s: float | None = None
    one_shot_peak_mb: float | None = None
    bare_cpu_s: float | None = None
    bare_peak_mb: float | None = None
    note: str = ""


COLUMNS = tuple(field.name for field in fields(PredictingTime))


def measure_predictions(
    paths: Sequence[Path],
    model_folder: Path,
    repeats: int,
    progress: Progress,
    engine_names: Sequence[str],
    neighbour_count: int,
) -> Iterator[PredictingTime]:
    """The times of every file with every engine on the CPU; a refused file has a note instead.

    engine_names     without any: all that are installed
    neighbour_count  busy processes beside which everything is measured once more; 0: none
    """
    engines = engine_names or list_installed_engines()
    paths_with_engines = [(path, engine) for path in paths for engine in engines]
    for done_count, (path, engine) in enumerate(paths_with_engines):
        progress(done_count, len(paths_with_engines))
        time = _measure_warm(path, model_folder, engine, repeats, neighbour_count)
        if can_measure_processes():
            time = _add_processes(time, path, model_folder, repeats)
        yield time
    progress(len(paths_with_engines), len(paths_with_engines))


def _measure_warm(
    path: Path, model_folder: Path, engine: str, repeats: int, neighbour_count: int
) -> PredictingTime:
    """The figures of `measure_prediction` in a process of its own."""
    try:
        # a missing file, or one of no known format, is refused before a process loads the networks
        find_reader(file_kind(path))
    except VolumeError as refusal:
        return PredictingTime(str(path), engine, note=str(refusal))
    return run_alone(measure_prediction, path, model_folder, engine, repeats, neighbour_count)


def _add_processes(
    time: PredictingTime, path: Path, model_folder: Path, repeats: int
) -> PredictingTime:
    """The figures of a file and an engine, with those of new processes."""
    one_shot = measure_one_shot(path, model_folder, time.engine, repeats)
    time = replace(time, one_shot_cpu_s=one_shot.cpu_s, one_shot_peak_mb=one_shot.peak_mb)
    has_graph = (model_folder / GRAPH_FILE_NAME).exists()
    if time.note or not has_graph or not path.name.endswith((".nii", ".nii.gz")):
        return time
    bare = measure_bare(path, model_folder, repeats)
    return replace(time, bare_cpu_s=bare.cpu_s, bare_peak_mb=bare.peak_mb)


def write_simulated_volume(path: Path, shape: tuple[int, int, int], seed: int = 1) -> Path:
    """`path`, written as a gzipped NIfTI of this shape: the trunk of a simulated person, as a
    scanner would store it."""
    spacing_mm = np.array(FIELD_MM) / np.array(shape)
    vox_to_ras = np.diag([*spacing_mm, 1.0])
    vox_to_ras[:3, 3] = np.array(MIDDLE_MM) - spacing_mm * (np.array(shape) - 1) / 2
    labels_of_body = label_volume(sample_person((seed, 0)), Grid(shape, vox_to_ras))
    image = scan(
        LabelVolume(labels_of_body.labels, labels_of_body.vox_to_ras),
        SEQUENCES[0],
        Acquisition(snr=SIMULATED_SNR),
        np.random.default_rng(seed),
    )
    orientation = np.column_stack([np.arange(3), np.ones(3)]).astype(np.int64)
    nifti_content = encode_nifti(image, orientation)
    return replace_with(path, lambda file: file.write(nifti_content))


def write_simulated_files(folder: Path, shape: tuple[int, int, int]) -> list[Path]:
    """What is measured where no volume is given: a simulated NIfTI, the same as a DICOM series, and
    a file that is refused."""
    nifti_path = write_simulated_volume(folder / "simulated.nii.gz", shape)
    refused_path = write_text(folder / "refused.nii.gz", "this is no volume")
    return [nifti_path, _write_series(folder / "series", nifti_path), refused_path]


def _write_series(folder: Path, nifti_path: Path) -> Path:
    """`folder`, with a file of MR Image Storage for each slice of a NIfTI of upright axes."""
    from pydicom.dataset import Dataset, FileMetaDataset
    from pydicom.uid import ExplicitVRLittleEndian, MRImageStorage, generate_uid

    volume = to_ras(read(source_of(nifti_path)))
    spacing_mm = np.abs(np.diag(volume.vox_to_ras)[:3])
    folder.mkdir()
    series_uid = generate_uid(entropy_srcs=["series"])
    for number, plane in enumerate(np.moveaxis(volume.voxels, 2, 0), start=1):
        image = Dataset()
        image.file_meta = FileMetaDataset()
        image.file_meta.TransferSyntaxUID = ExplicitVRLittleEndian
        image.SOPClassUID = MRImageStorage
        image.SOPInstanceUID = generate_uid(entropy_srcs=["image", str(number)])
        image.SeriesInstanceUID = series_uid
        image.StudyInstanceUID = generate_uid(entropy_srcs=["study"])
        image.Modality = "MR"
        image.InstanceNumber = number
        x_mm, y_mm, z_mm = volume.vox_to_ras[:3, 3]
        image.ImagePositionPatient = [-x_mm, -y_mm, z_mm + (number - 1) * spacing_mm[2]]
        image.ImageOrientationPatient = [-1, 0, 0, 0, -1, 0]  # along RAS, in DICOM's LPS
        image.PixelSpacing = [spacing_mm[1], spacing_mm[0]]
        image.Columns, image.Rows = plane.shape
        image.SamplesPerPixel = 1
        image.PhotometricInterpretation = "MONOCHROME2"
        image.BitsAllocated = 16
        image.BitsStored = 16
        image.HighBit = 15
        image.PixelRepresentation = 0
        image.PixelData = np.ascontiguousarray(plane.T).astype("<u2").tobytes()
        image.save_as(folder / f"{number:04d}.dcm", enforce_file_format=True)
    return folder


def measure_prediction(
    path: Path, model_folder: Path, engine: str, repeats: int, neighbour_count: int = 0
) -> PredictingTime:
    """The figures of one file and one engine, in this process; its `note` says why there are none
    of a file that is refused."""
    try:
        ensemble = load_ensemble(model_folder, "cpu", engine=engine)
        with TemporaryDirectory() as folder_name:
            run_turn = partial(_run_turn, path, ensemble, Path(folder_name) / "answer.json")
            run_turn()  # fills caches
            peak_mb_by_stage: dict[str, float] = {}
            if forget_peak():
                peak_mb_by_stage = run_turn(measure_peak_mb).figure_by_stage
            # from here on as the command does it: faster, but without peaks
            keep_freed_memory()
            turn_pairs = list(_run_turn_pairs(run_turn, repeats, neighbour_count))
            volume_rates = [_volumes_per_second(path, ensemble) for _ in range(repeats)]
    except FovnetError as fault:
        return PredictingTime(str(path), engine, note=str(fault))
    quiet_turns = [turn_pair.quiet_turn for turn_pair in turn_pairs]
    median_ms_by_stage = {
        stage: 1e3 * median(turn.figure_by_stage[stage] for turn in quiet_turns)
        for stage in quiet_turns[0].figure_by_stage
    }
    figure_by_column: dict[str, Any] = {
        f"{stage}_ms": median_ms_by_stage.get(stage) for stage in (*STAGES, "unpack")
    }
    figure_by_column |= {f"{stage}_peak_mb": peak_mb_by_stage.get(stage) for stage in STAGES}
    peak_mb_of_all = peak_mb()
    if neighbour_count:
        peak_mb_of_all = peak_bytes() / BYTES_PER_MB  # neighbours are children: without them
        figure_by_column |= _neighbour_figures(turn_pairs, neighbour_count)
    return PredictingTime(
        path=str(path),
        engine=engine,
        voxels=quiet_turns[0].shape_in_words,
        slices=quiet_turns[0].slice_count,
        members=ensemble.engine.member_count,
        total_ms=sum(median_ms_by_stage[stage] for stage in STAGES),
        volumes_per_second=median(volume_rates),
        peak_mb=peak_mb_of_all,
        threads=cores(),
        **figure_by_column,
    )


def _run_turn_pairs(
    run_turn: Callable[[], Turn], repeats: int, neighbour_count: int
) -> Iterator[TurnPair]:
    """A pair for each repeat, after one turn that fills what `keep_freed_memory` keeps; the same
    turn twice where there are no neighbours."""
    run_turn()
    for _ in range(repeats):
        quiet_turn = run_turn()
        busy_turn = quiet_turn
        if neighbour_count:
            with neighbours(neighbour_count):
                busy_turn = run_turn()
        yield TurnPair(quiet_turn, busy_turn)


def _neighbour_figures(turn_pairs: Sequence[TurnPair], neighbour_count: int) -> dict[str, Any]:
    """{field of `PredictingTime`: value} that compare turns with and without neighbours."""
    quiet_ms = [_total_ms(turn_pair.quiet_turn) for turn_pair in turn_pairs]
    beside_ms = [_total_ms(turn_pair.busy_turn) for turn_pair in turn_pairs]
    return {
        "beside": neighbour_count,
        "whole_ms": median(quiet_ms),
        "beside_ms": median(beside_ms),
        "least_ms": min(quiet_ms),
        "beside_least_ms": min(beside_ms),
        "ratio": median(beside_ms) / median(quiet_ms),
    }


def _total_ms(turn: Turn) -> float:
    return 1e3 * sum(turn.figure_by_stage[stage] for stage in STAGES)


@contextmanager
def measure_seconds(figure_by_stage: dict[str, float], stage: str) -> Iterator[None]:
    """The gauge of the seconds of its block."""
    start_s = time.perf_counter()
    yield
    figure_by_stage[stage] = time.perf_counter() - start_s


@contextmanager
def measure_peak_mb(figure_by_stage: dict[str, float], stage: str) -> Iterator[None]:
    """The gauge of the peak memory in MB during its block, including children and what was
    allocated before."""
    give_back_freed_memory()
    forget_peak()
    yield
    figure_by_stage[stage] = peak_mb()


def _run_turn(
    path: Path, ensemble: Ensemble, answer_path: Path, gauge: Gauge = measure_seconds
) -> Turn:
    """Predicts a volume once, and measures each of STAGES, and "unpack" of a gzipped file."""
    slicing = Slicing(**ensemble.slicing_settings)
    judge = ensemble.judge
    figure_by_stage: dict[str, float] = {}
    with gauge(figure_by_stage, "read"):
        source = source_of(path)
        volume = to_ras(read(source), slicing.max_tilt_deg)
        checksum = source.checksum
    with gauge(figure_by_stage, "slice"):
        stack = cut_slices(
            volume,
            target_spacing_mm=slicing.target_spacing_mm,
            checksum=checksum,
            even_light=slicing.even_light,
        )
    with gauge(figure_by_stage, "networks"):
        outputs = ensemble.compute_volume_outputs(stack)
    with gauge(figure_by_stage, "decide"):
        answer = judge.answer(volume_name(path), str(path), outputs, stack, stack.notes)
        raw_probabilities = judge.mean_probabilities(outputs)
    with gauge(figure_by_stage, "write"):
        write_json(
            answer_path,
            answer_facts(answer, stack, raw_probabilities, ensemble.vocabulary)
            | {"rows": table_rows(answer, stack)},
        )
    if path.name.endswith(".gz"):
        with gauge(figure_by_stage, "unpack"):
            np.frombuffer(gzip.decompress(path.read_bytes()), np.uint8)
    shape_in_words = " × ".join(map(str, volume.voxels.shape))
    return Turn(figure_by_stage, shape_in_words, len(stack.pixels))


def _volumes_per_second(path: Path, ensemble: Ensemble) -> float:
    """Volumes per second of prediction as the command does it, without writing."""
    start_s = time.perf_counter()
    named_sources = [(str(copy_number), source_of(path)) for copy_number in range(VOLUMES_IN_A_ROW)]
    for _ in predict_volumes(named_sources, ensemble):
        pass
    return VOLUMES_IN_A_ROW / (time.perf_counter() - start_s)


def peak_mb() -> float:
    """Peak memory in MB of this process, plus that of its children that have ended."""
    children_bytes = float(resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss)
    if sys.platform != "darwin":  # macOS counts bytes, other systems kibibytes
        children_bytes *= KIB
    return (peak_bytes() + children_bytes) / BYTES_PER_MB
