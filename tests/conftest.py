"""What every test may ask for: the folder of real volumes and recorded trainings, where there is one, and a
small finished run."""

from __future__ import annotations

import importlib.util
import os
from pathlib import Path
from types import ModuleType

# before numpy is read: two threads that wait for each other lose more than they gain
os.environ.setdefault("OMP_NUM_THREADS", "1")
os.environ["ORT_DISABLE_TELEMETRY"] = "1"  # tests that ask ONNX Runtime itself tell nobody either

import pytest
from hypothesis import settings

settings.register_profile(
    "fovnet", deadline=None
)  # a machine that is busy is no fault of what is tested
settings.load_profile("fovnet")


@pytest.fixture(scope="session")
def shared() -> Path:
    """The folder with `data/` and `bench/`: $FOVNET_SHARED, else `shared` beside the checkout; the test is
    skipped without it."""
    folder = Path(os.environ.get("FOVNET_SHARED", Path(__file__).parents[2] / "shared"))
    if not (folder / "data").is_dir():
        pytest.skip(
            f"no real volumes here: {folder / 'data'} does not exist; set FOVNET_SHARED to a folder that has "
            "them"
        )
    return folder


@pytest.fixture(scope="session")
def write() -> ModuleType:
    """The writers of DICOM that the readers are tested with."""
    place = Path(__file__).parent / "volume" / "dicom" / "conftest.py"
    spec = importlib.util.spec_from_file_location("dicom_writers", place)
    assert spec is not None and spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


@pytest.fixture(scope="session")
def finished(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """What a run leaves that its ensemble is shipped from: two small networks with weights as drawn, kept as
    float16; card, settings."""
    import numpy as np
    import torch

    from fovnet.config.files import parse, write_settings
    from fovnet.decision import novelty
    from fovnet.decision.assembly import write_ensemble
    from fovnet.decision.ensemble import load_ensemble
    from fovnet.decision.folder import save_rule
    from fovnet.decision.rule import Rule
    from fovnet.net.family.architecture import Architecture
    from fovnet.net.family.model import build_network
    from fovnet.net.family.weights import save_network
    from fovnet.records import write_text, write_tsv
    from fovnet.regions import DEFAULT
    from fovnet.results import Results
    from fovnet.volume.slices.stack import Slicing, describe_slice_format

    prepare = {"target_spacing_mm": 3.0, "max_tilt_deg": 20.0}
    results = Results(tmp_path_factory.mktemp("finished"))
    net = Architecture(4, 1, 2, 3, False, classes=len(DEFAULT.classes), head="gap")
    inputs, members = (
        {"classes": DEFAULT.classes, "slices": describe_slice_format(Slicing(**prepare))},
        [],
    )
    for slot in (2, 5):
        path = results.folder / "networks" / f"slot-{slot:04d}.safetensors"
        save_network(path, build_network(net, torch.Generator().manual_seed(slot)), net, inputs)
        members.append(
            {"slot": slot, "score": slot / 10, "configuration": {"blocks": 4}, "weights": str(path)}
        )
    people = {"train": ["0123456789ab"], "validation": ["ba9876543210"]}
    write_ensemble(
        results.ensemble,
        members,
        DEFAULT,
        prepare,
        settings={},
        seed=1,
        subjects=people,
        precision="float16",
    )
    save_rule(results.ensemble, Rule(sigma_mm=4.5), {"subjects": people}, settings={}, seed=1)
    pixels = np.random.default_rng(1).integers(0, 255, (80, 128, 128)).astype(np.uint8)
    truth = np.eye(len(DEFAULT.classes), dtype=bool)[np.arange(80) % len(DEFAULT.classes)]
    known = load_ensemble(results.ensemble, "cpu").learn_novelty(
        pixels, np.arange(80), truth, seed=1
    )
    outputs = known.compute_outputs(pixels)
    novelty.save_novelty(
        results.ensemble,
        novelty.calibrate_reference(
            known.novelty, outputs.novelty_distances, known.judge.mean_probabilities(outputs)
        ),
    )
    write_text(
        results.folder / "model-card.md",
        "# Model card: two networks\n\nThey have learned nothing.\n",
    )
    write_settings(
        results.folder / "config.yaml",
        parse({"collections": {"clinic": "/archive/clinic"}}, "here"),
    )
    row = {
        "volume_id": "case-17_t1",
        "subject_id": "case-17",
        "collection": "clinic",
        "path": "/archive/clinic/case-17/t1.nii.gz",
    }
    write_tsv(results.slices / "manifest.tsv", tuple(row), [row])
    return results.folder
