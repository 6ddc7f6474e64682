"""fovnet at the doors of others: a BIDS App, a module of mercure."""

from __future__ import annotations

import json
import shutil
import subprocess
from hashlib import sha256
from pathlib import Path

import nibabel
import numpy as np
import pytest
from pydicom import dcmread
from typer.testing import CliRunner

from fovnet.cli import app
from fovnet.errors import FovnetError
from fovnet.records import read_tsv
from fovnet.results import shipped_folder


def invoke(*words: object) -> tuple[int, str]:
    """The exit status of a command, and what it prints, or is told by an error."""
    result = CliRunner().invoke(app, list(map(str, words)))
    if isinstance(result.exception, FovnetError):
        return 2, result.exception.sentence
    return result.exit_code, result.output


@pytest.fixture(scope="module")
def data_set(tmp_path_factory) -> Path:
    """Two participants with a volume each, one of them broken, and one without any."""
    folder = tmp_path_factory.mktemp("data")
    description = {"Name": "noise", "BIDSVersion": "1.10.0"}
    (folder / "dataset_description.json").write_text(json.dumps(description))
    voxels = np.random.default_rng(1).integers(0, 900, (40, 40, 12), dtype=np.int16)
    for label in ("01", "02", "03"):
        (folder / f"sub-{label}" / "anat").mkdir(parents=True)
    image = nibabel.Nifti1Image(voxels, np.diag([4, 4, 6, 1]))
    nibabel.save(image, folder / "sub-01" / "anat" / "sub-01_T1w.nii.gz")
    (folder / "sub-02" / "anat" / "sub-02_T2w.nii.gz").write_bytes(b"nothing")
    return folder


@pytest.fixture(scope="module")
def derivative(data_set, tmp_path_factory) -> Path:
    """One participant, then the other two, then the group."""
    folder = tmp_path_factory.mktemp("derivatives")
    words = ["bids", data_set, folder]
    assert invoke(*words, "participant", "--device", "cpu", "--participant-label", "sub-01")[0] == 0
    status, printed = invoke(*words, "participant", "--participant_label", "02", "03")
    assert status == 3 and "sub-03: no file that looks like a volume" in printed
    assert invoke(*words, "group")[0] == 0
    return folder


def test_participants_are_answered_apart_and_tabulated_as_a_group(derivative) -> None:
    """A participant whose volume is refused has a sidecar, too; one without a volume has none."""
    sidecars = {path.name: json.loads(path.read_text()) for path in derivative.glob("sub-*/anat/*")}
    assert sorted(sidecars) == ["sub-01_desc-fovnet_T1w.json", "sub-02_desc-fovnet_T2w.json"]
    assert sidecars["sub-02_desc-fovnet_T2w.json"]["FovnetStatus"] == "refused"
    sources = sidecars["sub-01_desc-fovnet_T1w.json"]["Sources"]
    assert sources == ["bids:raw:sub-01/anat/sub-01_T1w.nii.gz"]
    rows = read_tsv(derivative / "sourcedata" / "fovnet" / "answers.tsv")
    assert [row["volume_id"] for row in rows] == ["sub-01_T1w", "sub-02_T2w"]


def test_the_derivative_is_valid(derivative) -> None:
    validator = shutil.which("bids-validator-deno")
    if validator is None:
        pytest.skip("bids-validator-deno is not installed: pip install bids-validator-deno")
    done = subprocess.run([validator, derivative], check=False, capture_output=True, text=True)
    assert done.returncode == 0, done.stdout


@pytest.mark.parametrize(
    ("words", "sentence"),
    [
        (["participant", "--participant-label", "09"], "has no sub-09"),
        (["participant", "--session-label", "pre"], "no sub-01/ses-pre"),
        (["participant", "01"], "unexpected extra argument"),
        (["group"], "fovnet: no such folder"),
    ],
)
def test_participants_that_are_not_there_are_told_of(data_set, tmp_path, words, sentence) -> None:
    status, printed = invoke("bids", data_set, tmp_path / "derivatives", *words)
    assert status == 2 and sentence in printed


def test_a_data_set_that_is_missing_is_said_to_be(tmp_path) -> None:
    status, printed = invoke("bids", tmp_path / "missing", tmp_path / "out", "participant")
    assert status == 2 and "missing: no such folder" in printed


def test_sessions_are_answered_apart_and_each_volume_tabulated_once(data_set, tmp_path) -> None:
    """Two of three sessions by one command, of which a participant has one; then one of them again,
    with the third, as the whole participant; labels may be those of folders, or words of the command
    line."""
    image_path = data_set / "sub-01" / "anat" / "sub-01_T1w.nii.gz"
    sessions = ("01", "group"), ("01", "pre"), ("01", "post"), ("02", "pre")
    for label, session in sessions:
        folder = tmp_path / "bids" / f"sub-{label}" / f"ses-{session}" / "anat"
        folder.mkdir(parents=True)
        (folder / f"sub-{label}_ses-{session}_T1w.nii.gz").symlink_to(image_path)
    words = ["bids", tmp_path / "bids", tmp_path / "out"]
    words_by_part = [
        ["--session_label", "group", "ses-pre", "--participant-label", "01", "02"],
        ["--participant-label=01"],
    ]
    for part_words, count in zip(words_by_part, (3, 4), strict=True):
        assert invoke(*words, "participant", "--device", "cpu", *part_words)[0] == 0
        assert invoke(*words, "group")[0] == 0
        rows = read_tsv(tmp_path / "out" / "sourcedata" / "fovnet" / "answers.tsv")
        sidecars = list((tmp_path / "out").glob("sub-*/ses-*/anat/*.json"))
        assert len({row["volume_id"] for row in rows}) == len(rows) == len(sidecars) == count
    assert invoke(*words, "group", "--session-label", "pre")[0] == 0
    rows = read_tsv(tmp_path / "out" / "sourcedata" / "fovnet" / "answers.tsv")
    assert [row["volume_id"] for row in rows] == ["sub-01_ses-pre_T1w", "sub-02_ses-pre_T1w"]


@pytest.fixture
def task(tmp_path, monkeypatch, write) -> Path:
    """The folders of a task of mercure, with a series and a localiser in it; settings are written."""
    for name, variable in (("in", "MERCURE_IN_DIR"), ("out", "MERCURE_OUT_DIR")):
        (tmp_path / name).mkdir()
        monkeypatch.setenv(variable, str(tmp_path / name))
    series = write.images(write.noise((24, 30, 5)))
    localiser = write.images(write.noise((24, 30, 3)), SeriesDescription="3-plane localizer")
    for number, image in enumerate([*series, *localiser]):
        if number >= len(series):
            image.SeriesInstanceUID += ".9"
        image.save_as(tmp_path / "in" / f"{number}.dcm", enforce_file_format=True)
    return tmp_path


def set_settings(task: Path, **settings: object) -> None:
    """Writes the task of one series, with the parts that mercure's class `Task` asks for."""
    info = {"action": "both", "uid": "1.2.3", "uid_type": "series", "triggered_rules": {"mr": True}}
    info |= {"applied_rule": "mr", "patient_name": "Doe", "mrn": "1", "acc": "2"}
    info |= {"mercure_version": "0.4", "mercure_appliance": "m", "mercure_server": "host"}
    process = {"module_name": "fovnet", "module_config": {"docker_tag": "fovnet-mercure"}}
    process |= {"settings": settings, "retain_input_images": False, "output": None}
    parts = {"info": info, "id": "1", "dispatch": {}, "process": process, "study": {}}
    (task / "in" / "task.json").write_text(json.dumps({**parts, "nomad_info": None}))


def test_a_module_of_mercure_writes_reports_and_a_result(task) -> None:
    set_settings(task, device="cpu")
    status, printed = invoke("mercure")
    assert status == 0, printed
    result = json.loads((task / "out" / "result.json").read_text())
    (volume,) = result["volumes"]
    assert set(volume["FovnetAnswers"]) >= {"head", "legs", "spine"}
    assert [row["kind"] for row in result["set_aside"]] == ["localizer"]
    (report,) = (task / "out").glob("*.dcm")
    image = dcmread(task / "in" / "0.dcm")
    assert dcmread(report).StudyInstanceUID == image.StudyInstanceUID


def test_a_module_of_mercure_answers_by_the_model_that_its_settings_name(task) -> None:
    """One with another name for a region; and one that is not there, which is told."""
    model = shutil.copytree(shipped_folder(), task / "model")
    facts = (model / "ensemble.json").read_bytes().replace(b"pelvis", b"bottom")
    for path in model.glob("member-*"):
        old_digest = sha256(path.read_bytes()).hexdigest()
        path.write_bytes(path.read_bytes().replace(b"pelvis", b"bottom"))
        new_digest = sha256(path.read_bytes()).hexdigest()
        facts = facts.replace(old_digest.encode(), new_digest.encode())
    (model / "ensemble.json").write_bytes(facts)
    (model / "SHA256SUMS").unlink()
    set_settings(task, device="cpu", model=str(model))
    status, printed = invoke("mercure")
    assert status == 0, printed
    (volume,) = json.loads((task / "out" / "result.json").read_text())["volumes"]
    assert set(volume["FovnetAnswers"]) >= {"head", "bottom"}
    assert len(list((task / "out").glob("*.dcm"))) == 1
    set_settings(task, model=str(task / "missing"))
    status, printed = invoke("mercure")
    assert status == 2 and "missing" in printed


def test_a_setting_that_the_module_has_not_is_refused(task) -> None:
    set_settings(task, devise="cpu")
    status, printed = invoke("mercure")
    assert status == 2 and "did you mean 'device'" in printed
    (task / "in" / "task.json").write_text("[]")
    assert "no task of a module" in invoke("mercure")[1]
