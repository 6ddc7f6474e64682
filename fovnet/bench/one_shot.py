"""What one prediction costs whoever asks about a single volume: a new process each, with all that it
imports, beside the least that computes the same probabilities.

    one-shot  `fovnet predict FILE --no-pages --no-pictures`
    bare      a script of nibabel and ONNX Runtime alone, which reads the NIfTI and computes the
              graph of the networks on the volume's images; these are given to it, ready

CPU seconds are those of the process and its children, and include starting Python; what it imports
has been compiled before.
"""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path
from statistics import median
from tempfile import TemporaryDirectory
from typing import NamedTuple

import numpy as np

from fovnet.decision.folder import GRAPH_FILE_NAME, ModelFolder
from fovnet.net.family.facts import load_facts, read_architecture
from fovnet.net.images.unwarped import gather_slices
from fovnet.volume.orient import to_ras
from fovnet.volume.slices.stack import cut_slices
from fovnet.volume.sources.source import read, source_of

WATCHED = """
import atexit, json, os, runpy, sys
figures_path = sys.argv.pop(1)
def write_figures():
    seconds = os.times()
    peak_kib = 0
    with open("/proc/self/status") as status:
        peak_kib = next(int(line.split()[1]) for line in status if line.startswith("VmHWM"))
    with open(figures_path, "w") as file:
        json.dump([sum(seconds[:4]), peak_kib * 1024 / 1e6], file)
atexit.register(write_figures)
"""
"""What a process does first: it writes its CPU seconds and its peak memory in MB when it ends."""
PREDICT = 'sys.argv[0] = "fovnet"\nrunpy.run_module("fovnet", run_name="__main__")\n'
BARE = """
import nibabel, numpy, onnxruntime
_, volume_path, graph_path, images_path = sys.argv
voxels = numpy.asarray(nibabel.load(volume_path).dataobj)
options = onnxruntime.SessionOptions()
options.intra_op_num_threads = 1
session = onnxruntime.InferenceSession(graph_path, options, providers=["CPUExecutionProvider"])
images = numpy.load(images_path)
for first in range(0, len(images), 9):
    session.run(["probabilities"], {"images": images[first : first + 9]})
"""


class ProcessFigures(NamedTuple):
    """Medians over new processes: CPU seconds, and peak memory in MB."""

    cpu_s: float
    peak_mb: float


def can_measure_processes() -> bool:
    """Whether this system tells a process its own peak memory: Linux does."""
    return Path("/proc/self/status").exists()


def measure_one_shot(path: Path, model: Path, engine: str, repeats: int) -> ProcessFigures:
    """The cost of `fovnet predict` on one file or folder, also if it is refused."""
    with TemporaryDirectory() as folder:
        words = ["predict", str(path), "--model", str(model), "--device", "cpu"]
        options = ["--engine", engine, "--no-pages", "--no-pictures"]
        return _measure_processes(
            WATCHED + PREDICT,
            [
                [*words, *options, "--out", str(Path(folder) / str(repeat))]
                for repeat in range(repeats + 1)
            ],
        )


def measure_bare(path: Path, model: Path, repeats: int) -> ProcessFigures:
    """The cost of the bare script on a NIfTI that fovnet reads."""
    model_folder = ModelFolder(model)
    slicing = model_folder.slicing
    volume = to_ras(read(source_of(path)), slicing.max_tilt_deg)
    stack = cut_slices(
        volume, target_spacing_mm=slicing.target_spacing_mm, even_light=slicing.even_light
    )
    weight_file = model_folder.weight_files[0]
    input_kinds = read_architecture(weight_file, load_facts(weight_file)).inputs
    slices = gather_slices(stack.pixels, np.arange(len(stack.pixels)), input_kinds, stack.placing)
    with TemporaryDirectory() as folder:
        images_path = Path(folder) / "images.npy"
        np.save(images_path, slices.make_images(slice(None)))
        words = [str(path), str(model / GRAPH_FILE_NAME), str(images_path)]
        return _measure_processes(WATCHED + BARE, [words] * (repeats + 1))


def _measure_processes(program: str, arguments: Sequence[Sequence[str]]) -> ProcessFigures:
    """The medians of one process for each list of arguments; the first only fills caches."""
    figures = []
    with TemporaryDirectory() as folder:
        figures_path = Path(folder) / "figures.json"
        for words in arguments:
            subprocess.run(
                [sys.executable, "-c", program, str(figures_path), *words],
                stdout=subprocess.DEVNULL,
                stderr=subprocess.DEVNULL,
                check=False,  # a refused file ends with status 3
            )
            figures.append(ProcessFigures(*json.loads(figures_path.read_text(encoding="utf-8"))))
            figures_path.unlink()
    counted = figures[1:]
    return ProcessFigures(
        median(figure.cpu_s for figure in counted), median(figure.peak_mb for figure in counted)
    )
