"""A load of a node: what senders send, and that what a node loses, repeats or miscounts is found."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
from collections import Counter
from pathlib import Path

import nibabel as nib
import numpy as np
import pytest
from pydicom import dcmread

from dicom_series import read_grid, series_images
from fovnet.node.places import hash_uids
from fovnet.records import write_json, write_tsv
from fovnet.volume.orient import to_ras
from fovnet.volume.sources.source import read
from node_load import plan_batches, write_series, write_templates
from node_load_checks import (
    Load,
    find_lost_images,
    find_odd_metrics,
    find_repeated_answers,
    key_of,
)
from tests.programs import require, until

ROOT = Path(__file__).parents[2]
AFFINE = np.array([[0, 0, 4.0, -30], [-1.5, 0, 0, 20], [0, 1.25, 0, -50], [0, 0, 0, 1]])


@pytest.fixture
def volumes(tmp_path) -> Path:
    """A folder with one sagittal volume."""
    voxels = np.random.default_rng(0).integers(0, 1000, (20, 24, 9)).astype(np.int16)
    (tmp_path / "volumes").mkdir()
    nib.save(nib.Nifti1Image(voxels, AFFINE), tmp_path / "volumes" / "sub-1.nii.gz")
    return tmp_path


def test_a_series_is_the_volume_that_it_was_written_from(volumes, tmp_path) -> None:
    path = volumes / "volumes" / "sub-1.nii.gz"
    (tmp_path / "series").mkdir()
    for image in series_images(read_grid(path), "1.2.3.1", {"StudyInstanceUID": "1.2.3"}):
        image.save_as(tmp_path / "series" / f"{image.InstanceNumber}.dcm", enforce_file_format=True)
    volume, expected = (to_ras(read(source)) for source in (tmp_path / "series", path))
    assert np.array_equal(volume.voxels, expected.voxels)
    assert np.allclose(volume.vox_to_ras, expected.vox_to_ras, atol=1e-4)


def test_each_series_is_sent_whole_at_last_and_a_tenth_of_them_twice() -> None:
    batches = plan_batches(range(4000), seed=0)
    last_batch_by_series = {number: batch for batch in batches for number in batch.series}
    assert last_batch_by_series.keys() == set(range(4000))
    assert not any(batch.stops for batch in last_batch_by_series.values())
    whole_count = Counter(number for batch in batches if not batch.stops for number in batch.series)
    assert 0.05 < sum(count == 2 for count in whole_count.values()) / 4000 < 0.15
    assert 0.05 < sum(batch.stops for batch in batches) / 1000 < 0.15


@pytest.mark.slow
def test_a_load_that_is_told_to_end_leaves_no_node_behind(volumes, tmp_path) -> None:
    require("storescp")
    script = ROOT / "workflow" / "experiments" / "node_load.py"
    words = [sys.executable, script, volumes, "--out", tmp_path / "load", "--series", "40"]
    with subprocess.Popen(list(map(str, words)), stdout=subprocess.DEVNULL) as load:
        acknowledged_path = tmp_path / "load" / "acknowledged.jsonl"
        until(acknowledged_path.exists)
        load.terminate()
        assert load.wait(60) == 128 + signal.SIGTERM
    node = json.loads((tmp_path / "load" / "starts.jsonl").read_text())["pid"]
    with pytest.raises(ProcessLookupError):
        os.kill(node, 0)


def test_series_of_one_volume_have_uids_of_their_own(volumes, tmp_path) -> None:
    (template,) = write_templates(volumes, tmp_path / "templates")
    images = []
    for number in (7, 8):
        (tmp_path / str(number)).mkdir()
        paths = write_series(template, number, tmp_path / str(number))
        images += [dcmread(path) for path in paths]
        assert [path.name for path in paths] == [
            image.file_meta.MediaStorageSOPInstanceUID for image in images[-len(paths) :]
        ]
    assert len({image.SOPInstanceUID for image in images}) == len(images)
    for keyword in ("StudyInstanceUID", "SeriesInstanceUID", "PatientID"):
        assert len({image[keyword].value for image in images}) == 2


@pytest.fixture
def load(tmp_path) -> Load:
    """Two images acknowledged of one series, one of which is answered, the same answer twice."""
    images = ["1.2.1.1", "1.2.1.2"]
    lines = [{"time": 2.0, "image": image, "bytes": 100} for image in images]
    for name, rows in (("acknowledged", lines), ("starts", [{"time": 1.0}])):
        (tmp_path / f"{name}.jsonl").write_text("".join(f"{json.dumps(row)}\n" for row in rows))
    load = Load(tmp_path)
    key = key_of(images[0])
    assert key == hash_uids("1.2", "1.2.1")
    record = {"version": 2, "instances": {f"{hash_uids(images[0])}.dcm": "x"}}
    write_json(load.places.answer_record_path(key), record)
    for version in (1, 2):
        answer = {"volume_id": f"{key}-{version}", "checksum": "x", "status": "ok"}
        write_json(load.places.answers / f"{key}-{version}.json", answer)
    for state in ("unsent", "stored", "delivered"):
        load.places.reports(state).mkdir(parents=True)
    row = {
        "volume_id": f"{key}-2",
        "status": "ok",
        "code": "",
        "head": "yes",
        "head_probability": 1,
    }
    write_tsv(load.places.folder / "answers.tsv", list(row), [row])
    return load


def test_what_is_lost_or_answered_twice_is_found(load) -> None:
    assert find_lost_images(load) == {"1.2.1.2"}
    (repeated_id,) = find_repeated_answers(load)
    assert repeated_id.endswith("-2")


def test_a_metric_that_the_table_contradicts_is_found(load) -> None:
    text = (
        'fovnet_answers{status="ok"} 1\nfovnet_region_answers{region="head",answer="yes"} 3\n'
        'fovnet_series{state="answered"} 1\nfovnet_images_received_total 2\n'
    )
    assert find_odd_metrics(load, text) == {("fovnet_region_answers", "yes", "head"): (3.0, 1)}
