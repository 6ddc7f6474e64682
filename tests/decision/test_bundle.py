"""The MONAI Bundle, held against MONAI's own checks, and run by MONAI."""

from __future__ import annotations

import json
import shlex
import warnings
from pathlib import Path

import nibabel
import numpy as np
import pytest
import torch

import fovnet
from fovnet.decision.bundle import METADATA_SCHEMA_URL, Evaluator, network, write_bundle
from fovnet.decision.ensemble import load_ensemble
from fovnet.errors import ConfigError, ModelError
from fovnet.records import read_tsv

TENSOR = (
    "type",
    "format",
    "num_channels",
    "spatial_shape",
    "dtype",
    "value_range",
    "is_patch_data",
    "channel_def",
)
TENSORS = {
    "type": "object",
    "minProperties": 1,
    "additionalProperties": {
        "type": "object",
        "required": list(TENSOR),
        "properties": {
            "type": {"type": "string"},
            "format": {"type": "string"},
            "num_channels": {"type": "integer", "minimum": 1},
            "spatial_shape": {"type": "array"},
            "dtype": {"type": "string"},
            "value_range": {"type": "array"},
            "is_patch_data": {"type": "boolean"},
            "channel_def": {"type": "object"},
        },
    },
}
MANDATORY = {
    "type": "object",
    "required": [
        "version",
        "monai_version",
        "pytorch_version",
        "numpy_version",
        "required_packages_version",
        "task",
        "description",
        "authors",
        "copyright",
        "network_data_format",
    ],
    "properties": {
        **{
            name: {"type": "string"}
            for name in (
                "version",
                "monai_version",
                "pytorch_version",
                "numpy_version",
                "task",
                "description",
                "authors",
                "copyright",
                "schema",
                "name",
                "intended_use",
                "data_source",
                "data_type",
            )
        },
        **{
            name: {"type": "object", "additionalProperties": {"type": "string"}}
            for name in ("required_packages_version", "optional_packages_version", "changelog")
        },
        "references": {"type": "array", "items": {"type": "string"}},
        "network_data_format": {
            "type": "object",
            "required": ["inputs", "outputs"],
            "properties": {"inputs": TENSORS, "outputs": TENSORS},
        },
    },
}
"""What the MONAI Bundle Specification makes mandatory, with its types: the schema itself lies on a server."""


@pytest.fixture(scope="module")
def bundle(finished: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    return write_bundle(finished / "ensemble", tmp_path_factory.mktemp("bundles") / "fovnet")


def files(bundle: Path) -> dict[str, str]:
    return {
        "meta_file": str(bundle / "configs" / "metadata.json"),
        "config_file": str(bundle / "configs" / "inference.json"),
    }


def test_nothing_in_it_is_a_pickle_and_the_ensemble_in_it_loads(
    bundle: Path, finished: Path
) -> None:
    assert {path.suffix for path in bundle.rglob("*") if path.is_file()} == {
        ".json",
        ".safetensors",
        ".npz",
        ".md",
        ".txt",
        ".onnx",
        "",
    }
    with np.load(bundle / "models" / "novelty.npz", allow_pickle=False) as arrays:
        assert all(arrays[name].dtype != object for name in arrays.files)
    assert (
        load_ensemble(bundle / "models", "cpu").identity
        == load_ensemble(finished / "ensemble", "cpu").identity
    )
    assert (bundle / "LICENSE").read_text().lstrip().startswith("Apache License")


def test_every_command_of_its_readme_can_be_pasted(bundle: Path) -> None:
    """A command that goes on in the next line says so to the shell."""
    text = (bundle / "docs" / "README.md").read_text().replace("\\\n", " ")
    commands = [shlex.split(line) for line in text.splitlines() if line.startswith("    ")]
    assert [command[0] for command in commands] == ["pip", "python"]
    assert commands[1][-4:] == ["--dataset_dir", "/path/to/volumes", "--output_dir", "answers"]


def test_its_network_says_what_the_ensemble_says(bundle: Path, finished: Path) -> None:
    pixels = np.random.default_rng(0).integers(0, 255, (9, 128, 128)).astype(np.uint8)
    ensemble = load_ensemble(finished / "ensemble", "cpu")
    with torch.inference_mode():
        probabilities = network(str(bundle / "models"))(torch.from_numpy(pixels)[:, None] / 255.0)
    np.testing.assert_allclose(
        probabilities.numpy(),
        ensemble.judge.mean_probabilities(ensemble.compute_outputs(pixels)),
        atol=1e-6,
    )


def test_it_is_written_anew_and_over_nothing_else(
    bundle: Path, finished: Path, tmp_path: Path
) -> None:
    (bundle / "models" / "member-0099.safetensors").write_bytes(b"of another ensemble")
    write_bundle(finished / "ensemble", bundle)
    assert not (bundle / "models" / "member-0099.safetensors").exists()
    (tmp_path / "letter.txt").write_text("somebody's")
    with pytest.raises(ModelError, match="bundle-exists"):
        write_bundle(finished / "ensemble", tmp_path)


@pytest.mark.slow
def test_monai_verifies_metadata_and_shapes_and_runs_it(
    bundle: Path, finished: Path, tmp_path: Path
) -> None:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # MONAI's own
        from monai.bundle import ConfigWorkflow, verify_metadata, verify_net_in_out

        # there already: MONAI then does not fetch it
        (tmp_path / "schema.json").write_text(json.dumps(MANDATORY))
        verify_metadata(
            meta_file=files(bundle)["meta_file"], filepath=str(tmp_path / "schema.json")
        )
        assert (
            json.loads(Path(files(bundle)["meta_file"]).read_text())["schema"]
            == METADATA_SCHEMA_URL
        )
        verify_net_in_out("network_def", **files(bundle), device="cpu", bundle_root=str(bundle))
        voxels = np.random.default_rng(3).integers(0, 900, (9, 8, 7)).astype(np.int16)
        (tmp_path / "data").mkdir()
        nibabel.save(
            nibabel.Nifti1Image(voxels, np.diag([9.0, 9.0, 9.0, 1.0])),
            tmp_path / "data" / "scan.nii.gz",
        )
        (tmp_path / "data" / "text.nii").write_text("no volume")
        places = {
            "bundle_root": str(bundle),
            "dataset_dir": str(tmp_path / "data"),
            "output_dir": str(tmp_path / "out"),
        }
        workflow = ConfigWorkflow(
            **files(bundle), workflow_type="infer", logging_file=False, **places
        )
        workflow.initialize()
        assert workflow.check_properties() == []
        workflow.run()
        workflow.finalize()
    rows = read_tsv(tmp_path / "out" / "spans.tsv")
    answers = list(fovnet.load(finished / "ensemble", "cpu").predict_many([tmp_path / "data"]))
    assert [(row["volume_id"], row["status"]) for row in rows] == [
        (answer.volume_id, answer.status) for answer in answers for _ in (answer.spans or [None])
    ]


def test_a_run_cut_short_leaves_no_table_of_an_earlier_one(finished: Path, tmp_path: Path) -> None:
    """The earlier table lists other volumes than the answers beside it."""
    for name in ("a", "b"):
        voxels = np.random.default_rng(3).integers(0, 900, (9, 8, 7)).astype(np.int16)
        nibabel.save(
            nibabel.Nifti1Image(voxels, np.diag([9.0, 9.0, 9.0, 1.0])), tmp_path / f"{name}.nii.gz"
        )
    model, (a, b) = (
        fovnet.load(finished / "ensemble", "cpu"),
        ({"image": tmp_path / f"{name}.nii.gz"} for name in "ab"),
    )
    assert Evaluator(model, [a], str(tmp_path / "out")).run().exists()
    (tmp_path / "out" / "b.json").write_text('{"somebody": "else"}')
    with pytest.raises(ConfigError, match="out-foreign"):
        Evaluator(model, [a, b], str(tmp_path / "out")).run()
    assert not (tmp_path / "out" / "spans.tsv").exists() and (tmp_path / "out" / "a.json").exists()


def test_a_bundle_made_from_its_own_models_would_lose_them_and_is_refused(bundle: Path) -> None:
    there = sorted(path.name for path in (bundle / "models").iterdir())
    for model in (bundle / "models", bundle / "docs" / ".." / "models"):
        with pytest.raises(ModelError, match="bundle-of-itself"):
            write_bundle(model, bundle)
    assert sorted(path.name for path in (bundle / "models").iterdir()) == there
