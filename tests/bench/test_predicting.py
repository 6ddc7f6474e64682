"""The stopwatch beside prediction: that its stages come to what prediction answers, not how long they
take."""

from __future__ import annotations

import mmap
import subprocess
import sys
import time
from pathlib import Path

import numpy as np
import pytest
from typer.testing import CliRunner

from fovnet.bench import predicting
from fovnet.bench.neighbours import neighbours
from fovnet.bench.one_shot import can_measure_processes
from fovnet.bench.predicting import COLUMNS, STAGES, measure_prediction, write_simulated_volume
from fovnet.cli import app
from fovnet.decision.ensemble import load_ensemble
from fovnet.decision.model import Model
from fovnet.errors import ConfigError, VolumeError
from fovnet.machine.memory import forget_peak
from fovnet.records import read_json, read_tsv
from fovnet.volume.slices.stack import slice_volume


@pytest.fixture(scope="module")
def trunk(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return write_simulated_volume(tmp_path_factory.mktemp("volumes") / "trunk.nii.gz", (48, 40, 12))


def test_the_simulated_volume_has_the_voxels_asked_for_and_a_body_in_them(trunk: Path) -> None:
    stack = slice_volume(trunk)
    assert len(stack.pixels) == 12 and stack.vox_to_ras[2, 2] == pytest.approx(380 / 12, abs=1e-3)
    lit = (stack.pixels > 40).mean(axis=(1, 2))
    assert ((lit > 0.1) & (lit < 0.8)).all(), lit
    assert (
        trunk.read_bytes()
        == write_simulated_volume(trunk.with_name("again.nii.gz"), (48, 40, 12)).read_bytes()
    )


def test_the_stages_one_by_one_answer_as_prediction_does(
    trunk: Path, finished: Path, tmp_path: Path
) -> None:
    ensemble = load_ensemble(finished / "ensemble", "cpu")
    seconds, voxels, slices = predicting._run_turn(trunk, ensemble, tmp_path / "answer.json")
    assert (voxels, slices) == ("48 × 40 × 12", 12) and set(STAGES) | {"unpack"} == set(seconds)
    predicted = Model(ensemble).predict(trunk).to_dict()
    written = read_json(tmp_path / "answer.json")
    keys = predicted.keys() - {"model", "model_name", "engine"}  # which the verb adds
    assert {name: written[name] for name in keys} == {name: predicted[name] for name in keys}


def test_a_refused_file_has_a_note(finished: Path, tmp_path: Path) -> None:
    (tmp_path / "text.nii").write_text("no volume")
    row = measure_prediction(tmp_path / "text.nii", finished / "ensemble", "torch", 1)
    assert row.total_ms is None and "text.nii" in row.note


def test_where_nothing_could_be_read_the_table_before_stays(finished: Path, tmp_path: Path) -> None:
    (tmp_path / "text.nii").write_text("no volume")
    earlier = "\t".join(predicting.COLUMNS) + "\nscan.nii\n"
    (tmp_path / "times.tsv").write_text(earlier)
    words = [
        "bench",
        "predict",
        "--out",
        tmp_path / "times.tsv",
        tmp_path / "text.nii",
        "--model",
        finished / "ensemble",
    ]
    refused = CliRunner().invoke(app, [str(word) for word in words])
    assert isinstance(refused.exception, VolumeError) and refused.exception.code == "bench-nothing"
    assert str(refused.exception).count("text.nii") == 1, (
        "the same reason is given once, whatever the engines"
    )
    assert (tmp_path / "times.tsv").read_text() == earlier


def test_an_option_without_effect_is_refused(tmp_path: Path) -> None:
    words = ["bench", "predict", "scan.nii", "--shape", "40", "32", "10"]
    refused = CliRunner().invoke(app, [*words, "--out", str(tmp_path / "t.tsv")])
    assert isinstance(refused.exception, ConfigError) and refused.exception.code == "bench-shape"


def test_a_peak_is_that_of_its_block() -> None:
    if not forget_peak():
        pytest.skip("this system does not let a process forget its peak")
    # the system's own: what is freed is given back at once
    figures: dict[str, float] = {}
    with predicting.measure_peak_mb(figures, "large"), mmap.mmap(-1, 80_000_000) as memory:
        memory.write(b"1" * len(memory))
    with predicting.measure_peak_mb(figures, "small"):
        np.ones(10)
    # and once more the bytes that were written
    assert 70 < figures["large"] - figures["small"] < 180


@pytest.mark.slow
def test_the_verb_writes_a_row_a_file_and_an_engine(finished: Path, tmp_path: Path) -> None:
    words = [
        "bench",
        "predict",
        "--out",
        tmp_path / "t.tsv",
        "--model",
        finished / "ensemble",
        "--repeats",
        1,
        "--shape",
        40,
        32,
        10,
        "--engine",
        "onnx",
        "--beside",
        1,
    ]
    done = CliRunner().invoke(app, list(map(str, words)))
    assert done.exit_code == 0, done.output
    rows = read_tsv(tmp_path / "t.tsv")
    assert tuple(rows[0]) == COLUMNS and [row["engine"] for row in rows] == ["onnx"] * 3
    nifti, series, refused = rows
    assert not nifti["note"] and not series["note"] and "volume-format" in refused["note"]
    if can_measure_processes():
        assert all(float(row["one_shot_cpu_s"]) > 0.1 for row in rows)
        assert 0.1 < float(nifti["bare_cpu_s"]) < float(nifti["one_shot_cpu_s"])
        assert not series["bare_cpu_s"] and not refused["bare_cpu_s"]
        assert float(nifti["bare_peak_mb"]) > 40 and float(refused["one_shot_peak_mb"]) > 40
    for row in (nifti, series):
        stages = np.array([float(row[f"{stage}_ms"]) for stage in STAGES])
        assert (stages > 0).all() and float(row["total_ms"]) == pytest.approx(
            stages.sum(), abs=0.01
        )
        assert float(row["peak_mb"]) > 50 and float(row["volumes_per_second"]) > 0
        assert row["beside"] == "1" and float(row["ratio"]) == pytest.approx(
            float(row["beside_ms"]) / float(row["whole_ms"]), rel=1e-3
        )


def test_neighbours_compute_during_the_block_and_not_after_it() -> None:
    with neighbours(2) as processes:
        assert len(set(processes)) == 2 and all(map(alive, processes))
    assert not any(map(alive, processes))


def test_neighbours_end_with_a_process_that_is_killed() -> None:
    words = (
        "from fovnet.bench.neighbours import neighbours\n"
        "if __name__ == '__main__':\n    with neighbours(2) as begun:\n        print(*begun, flush=True)\n   "
        "     input()\n"
    )
    with subprocess.Popen(
        [sys.executable, "-c", words], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
    ) as parent:
        assert parent.stdout is not None
        processes = [int(number) for number in parent.stdout.readline().split()]
        assert len(processes) == 2 and all(map(alive, processes))
        parent.kill()
    while any(map(alive, processes)):  # no limit: a machine that is busy is no fault of theirs
        time.sleep(0.1)


def alive(process: int) -> bool:
    try:
        state = Path(f"/proc/{process}/stat").read_text().rpartition(")")[2].split()[0]
    except FileNotFoundError:
        return False
    return state != "Z"
