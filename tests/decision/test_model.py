"""Three lines of Python: the same answers as the command line's, faults included."""

from __future__ import annotations

import re
from dataclasses import replace
from pathlib import Path
from typing import Any

import nibabel
import numpy as np
import pytest
from typer.testing import CliRunner

import fovnet
from fovnet.cli import app
from fovnet.decision.model import Model, Prediction
from fovnet.errors import ConfigError, ModelError
from fovnet.records import read_json
from fovnet.regions import Region, Vocabulary


@pytest.fixture(scope="module")
def scans(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Five small volumes of noise, a text and an empty file, in a folder."""
    folder = tmp_path_factory.mktemp("scans")
    for number in range(5):
        voxels = np.random.default_rng(number).integers(0, 900, (7, 6, 8)).astype(np.int16)
        nibabel.save(
            nibabel.Nifti1Image(voxels, np.diag([6.0, 6.0, 9.0, 1.0])), folder / f"v{number}.nii.gz"
        )
    (folder / "text.nii").write_text("no volume")
    (folder / "void.nii.gz").write_bytes(b"")
    return folder


@pytest.fixture(scope="module")
def model(finished: Path) -> object:
    return fovnet.load(finished / "ensemble", "cpu")


def test_a_path_that_cannot_be_one_loses_no_other(
    scans: Path, model: fovnet.decision.model.Model
) -> None:
    answers = list(
        model.predict_many([scans / "v0.nii.gz", Path("bad\0name.nii"), scans / "v1.nii.gz"])
    )
    assert [answer.status == "refused" for answer in answers] == [False, True, False] and answers[
        1
    ].code == "volume-missing"


def test_the_answers_are_those_of_the_command_line(
    finished: Path, scans: Path, model: fovnet.decision.model.Model, tmp_path: Path
) -> None:
    line = [
        "predict",
        str(scans),
        "--model",
        str(finished / "ensemble"),
        "--out",
        str(tmp_path),
        "--no-pictures",
        "--no-pages",
    ]
    assert CliRunner().invoke(app, [*line, "--device", "cpu"]).exit_code == 3
    answers = list(model.predict_many([scans]))
    assert [answer.volume_id for answer in answers] == [
        "text",
        *(f"v{number}" for number in range(5)),
        "void",
    ]
    for answer in answers:
        written = read_json(tmp_path / f"{answer.volume_id}.json")
        record = answer.to_dict()
        assert {name: written[name] for name in record} == record
        assert (answer.status, answer.message, answer.code) == (
            written["status"],
            written["message"],
            written["code"],
        )
        assert [
            (span.region, span.from_mm, span.to_mm, span.confidence) for span in answer.spans
        ] == [
            (span["region"], span["from_mm"], span["to_mm"], span["confidence"])
            for span in written.get("spans", [])
        ]
        assert (
            answer.regions == tuple(span.region for span in answer.spans)
            and 0 <= answer.confidence <= 1
        )


def test_the_code_names_the_doubts_as_the_table_does(
    scans: Path, model: fovnet.decision.model.Model, tmp_path: Path
) -> None:
    """Three slices are too few for a sure answer."""
    whole = nibabel.load(next(scans.glob("v0*")))
    nibabel.save(whole.slicer[:, :, :3], tmp_path / "few.nii.gz")
    answer = model.predict(tmp_path / "few.nii.gz")
    facts = answer.to_dict()
    assert answer.status == "uncertain" and "too-few-slices" in answer.code.split()
    assert answer.code == facts["code"] == facts["rows"][0]["code"]


def test_what_cannot_be_read_is_an_answer(
    scans: Path, model: fovnet.decision.model.Model, tmp_path: Path
) -> None:
    for path, code in (
        (scans / "text.nii", "volume-format"),
        (str(scans / "void.nii.gz"), "volume-empty"),
        (tmp_path, "volume-empty"),
        (tmp_path / "gone.nii", "volume-missing"),
    ):
        answer = model.predict(path)
        assert answer.status == "refused" and answer.regions == () and answer.confidence == 0.0
        assert answer.code == code or path == tmp_path, answer
        assert str(path) in answer.message


def test_a_folder_of_several_volumes_is_no_volume(
    scans: Path, model: fovnet.decision.model.Model
) -> None:
    """The first of them would be an answer about something else than was asked."""
    answer = model.predict(scans)
    assert (answer.status, answer.code, answer.volume_id) == (
        "refused",
        "volume-several",
        scans.name,
    )
    assert "holds 7 volumes" in answer.message and "predict_many" in answer.message


def test_many_are_answered_in_the_order_given_whatever_the_jobs(
    scans: Path, model: fovnet.decision.model.Model
) -> None:
    files = [scans / name for name in ("v3.nii.gz", "text.nii", "v0.nii.gz", "v3.nii.gz")]
    one = list(model.predict_many(iter(files)))
    assert [answer.path for answer in one] == list(map(str, files))
    assert [answer.volume_id for answer in one] == ["v3", "text", "v0", "v3-2"]
    assert one[0] == model.predict(files[0])


def test_a_string_is_one_path_and_not_its_letters(
    scans: Path, model: fovnet.decision.model.Model
) -> None:
    assert [answer.volume_id for answer in model.predict_many(str(scans / "v0.nii.gz"))] == ["v0"]


def test_regions_are_listed_feet_to_head_whatever_their_order_in_a_file(
    model: fovnet.decision.model.Model,
) -> None:
    regions = (Region("thigh", 1, "#cc8866"), Region("calf", 0, "#88cc66"))
    assert Model(replace(model._ensemble, network_vocabulary=Vocabulary(regions))).regions == (
        "calf",
        "thigh",
    )


def test_no_process_at_all_is_refused(model: fovnet.decision.model.Model, scans: Path) -> None:
    with pytest.raises(ConfigError, match=r"jobs=0: must be at least 1"):
        model.predict_many([scans], jobs=0)


def test_a_folder_without_an_ensemble_is_refused(tmp_path: Path) -> None:
    with pytest.raises(ModelError, match=r"no ensemble\.json in it.*model-missing"):
        fovnet.load(tmp_path)
    with pytest.raises(ModelError, match=r"no such folder.*come with the package.*model-missing"):
        fovnet.load(tmp_path / "nowhere")


def of_file(answer: Prediction) -> dict[str, Any]:
    """All of an answer but what names its file."""
    facts = answer.to_dict()
    named = ("volume_id", "path", "checksum", "rows")
    return {key: value for key, value in facts.items() if key not in named} | {
        "spans": answer.spans,
        "status": answer.status,
    }


def test_images_and_arrays_in_memory_are_answered_as_their_files(scans: Path, model: Model) -> None:
    path = scans / "v0.nii.gz"
    image, expected = nibabel.load(path), of_file(model.predict(path))
    voxels = np.asarray(image.dataobj)
    turned = nibabel.Nifti1Image(
        voxels[:, ::-1, ::-1], image.affine @ np.diag([1, -1, -1, 1.0]) + corner(image, (1, 2))
    )
    for given in (image, nibabel.MGHImage(voxels.astype(np.float32), image.affine), turned):
        assert of_file(model.predict(given))["spans"] == expected["spans"]
    assert of_file(model.predict(image)) == expected
    for kind in (np.int16, np.int64, np.float16, np.float64, np.uint32):
        assert (
            of_file(model.predict(voxels.astype(kind), affine=image.affine.tolist()))["spans"]
            == expected["spans"]
        )
    assert model.predict(image).path == "" and model.predict(image).volume_id == "image"


def corner(image: Any, flipped: tuple[int, ...]) -> np.ndarray:
    """What a flip along axes adds to the affine, so that every voxel stays where it was."""
    shift = np.zeros((4, 4))
    shift[:3, 3] = sum(image.affine[:3, axis] * (image.shape[axis] - 1) for axis in flipped)
    return shift


@pytest.mark.parametrize(
    ("given", "affine", "code", "says"),
    [
        (np.zeros((6, 6, 6)), None, "volume-geometry", "the array .* has no affine"),
        (np.zeros((6, 6, 6)), np.eye(3), "volume-geometry", r"the affine given is \(3, 3\)"),
        (np.ones((6, 6, 6)) * np.nan, np.eye(4), "volume-", "the image given"),
        (np.ones((6, 6)), np.eye(4), "volume-", "the image given"),
        (np.ones((6, 6, 6), dtype=complex), np.eye(4), "volume-complex", "the image given"),
        (np.ones((6, 6, 6)), np.zeros((4, 4)), "volume-", "the image given|affine"),
        (np.array([["a"]]), np.eye(4), "volume-type", "no NIfTI file can hold it"),
        ([[1, 2]], np.eye(4), "volume-format", "list: not a volume"),
        (None, None, "volume-format", "NoneType: not a volume"),
    ],
)
def test_what_is_no_volume_in_memory_is_refused_by_name(
    given: Any, affine: Any, code: str, says: str, model: Model
) -> None:
    answer = model.predict(given, affine)
    assert (
        answer.status == "refused"
        and answer.code.startswith(code)
        and re.search(says, answer.message)
    )
    assert (
        "/tmp" not in answer.message
        and answer.path == ""
        and answer.to_dict()["rows"][0]["message"] == answer.message
    )
