"""What is installed in the container is what the node, the archive and the prediction import, and nothing else."""

from __future__ import annotations

import json
import re
import subprocess
import sys
import tomllib
from pathlib import Path
from shutil import which

import nibabel
import numpy as np
import pytest
import yaml
from typer.main import get_group

from fovnet._version import __version__
from fovnet.cli import bids, predicting
from fovnet.config.files import parse_as
from fovnet.config.node import NodeOptions
from fovnet.volume.dicom.triage import INCLUDABLE_KINDS

ROOT = Path(__file__).parents[1]
PACKAGING = ROOT / "packaging"
LEFT_OUT = {"torch", "monai", "scikit-learn", "snakemake", "onnx"}
IMPORTS = """
import importlib, json, pkgutil, sys
from importlib.metadata import packages_distributions
import gdcm, highdicom, isal, jinja2, matplotlib, onnxruntime, PIL, threadpoolctl  # within functions
import fovnet.archive, fovnet.node, fovnet.watch
from fovnet.cli import archive, bids, mercure, node, predicting
rooms = fovnet.archive, fovnet.node, fovnet.watch
for module in [found.name for room in rooms for found in pkgutil.walk_packages(room.__path__, f"{room.__name__}.")]:
    importlib.import_module(module)
fovnet.load(device="cpu").predict(sys.argv[1])
tops = {name.partition(".")[0] for name in sys.modules}
names_by_top = packages_distributions()
print(json.dumps(sorted({name for top in tops for name in names_by_top.get(top, ())})))
"""


def requirement_name(line: str) -> str:
    return re.match(r"[\w.-]+", line)[0].lower().replace("_", "-")


def test_the_list_is_that_of_the_package_without_what_only_trains() -> None:
    project = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
    extras = project["optional-dependencies"]
    wanted = {*project["dependencies"], *extras["node"], *extras["archive"]}
    lines = (PACKAGING / "requirements.txt").read_text().splitlines()
    listed = {line for line in lines if not line.startswith("#")}
    assert listed == {line for line in wanted if requirement_name(line) not in LEFT_OUT}


@pytest.mark.slow
def test_node_archive_and_prediction_import_what_is_listed_and_nothing_that_only_trains(
    tmp_path,
) -> None:
    voxels = np.random.default_rng(1).integers(0, 900, (40, 40, 12), dtype=np.int16)
    nibabel.save(nibabel.Nifti1Image(voxels, np.diag([4, 4, 6, 1])), tmp_path / "body.nii.gz")
    words = [sys.executable, "-c", IMPORTS, str(tmp_path / "body.nii.gz")]
    done = subprocess.run(words, cwd=tmp_path, check=True, capture_output=True, text=True)
    imported = {requirement_name(name) for name in yaml.safe_load(done.stdout.splitlines()[-1])}
    lines = (PACKAGING / "requirements.txt").read_text().splitlines()
    listed = {requirement_name(line) for line in lines if not line.startswith("#")}
    assert listed <= imported and not LEFT_OUT & imported


def test_the_settings_of_the_composed_node_are_valid_and_name_its_neighbour() -> None:
    settings = yaml.safe_load((PACKAGING / "node.yaml").read_text())
    options = parse_as(NodeOptions, settings, "packaging/node.yaml")
    services = yaml.safe_load((PACKAGING / "compose.yaml").read_text())["services"]
    orthanc = services["orthanc"]["networks"]["imaging"]["ipv4_address"]
    assert options.to == f"ORTHANC@{orthanc}:4242"
    modalities = services["orthanc"]["environment"]["ORTHANC__DICOM_MODALITIES"]
    fovnet = services["fovnet"]["networks"]["imaging"]["ipv4_address"]
    assert yaml.safe_load(modalities) == {"fovnet": [options.aet, fovnet, options.port]}


DESCRIPTORS = {"boutiques.json": predicting, "boutiques-bids.json": bids}


@pytest.mark.parametrize("name", DESCRIPTORS)
def test_a_boutiques_descriptor_has_options_and_choices_of_its_verb(name: str) -> None:
    descriptor = json.loads((PACKAGING / name).read_text())
    verb = descriptor["name"].removeprefix("fovnet ")
    parameters = get_group(DESCRIPTORS[name].verbs).commands[verb].params
    options = {
        word for parameter in parameters for word in (*parameter.opts, *parameter.secondary_opts)
    }
    inputs = {entry["id"]: entry for entry in descriptor["inputs"]}
    assert {entry.get("command-line-flag", "--out") for entry in inputs.values()} <= {
        *options,
        "--out",
    }
    if "include" in inputs:
        assert inputs["include"]["value-choices"] == list(INCLUDABLE_KINDS)
    if "level" in inputs:
        assert inputs["level"]["value-choices"] == list(bids.Level)
    assert descriptor["tool-version"] == __version__
    # those that Boutiques fills in before it judges would be options that nobody gave
    assert not any("default-value" in entry for entry in inputs.values())


INVOCATIONS = {
    "boutiques.json": (
        {
            "scans": ["a b/x.nii.gz", "c"],
            "answers": "out",
            "include": ["phase", "single"],
            "workers": 2,
            "no_faces": True,
        },
        "fovnet predict 'a b/x.nii.gz' c --out out --include phase,single --workers 2 --no-faces",
    ),
    "boutiques-bids.json": (
        {
            "bids_dir": "a b",
            "output_dir": "out",
            "level": "participant",
            "participant_label": ["01", "02"],
            "session_label": ["pre"],
            "no_faces": True,
        },
        "fovnet bids 'a b' out participant --no-faces --participant-label 01 02 --session-label pre",
    ),
}


@pytest.mark.parametrize("name", INVOCATIONS)
def test_boutiques_makes_the_command_that_a_shell_wants(name: str, tmp_path) -> None:
    bosh = which("bosh")
    if bosh is None:
        pytest.skip("bosh is not installed: pip install boutiques")
    invocation, command = INVOCATIONS[name]
    descriptor = str(PACKAGING / name)
    subprocess.run([bosh, "validate", descriptor], check=True, capture_output=True)
    path = tmp_path / "invocation.json"
    path.write_text(json.dumps(invocation))
    words = [bosh, "exec", "simulate", descriptor, "-i", str(path)]
    told = subprocess.run(words, check=True, capture_output=True, text=True).stdout
    assert told.splitlines()[-1] == command
