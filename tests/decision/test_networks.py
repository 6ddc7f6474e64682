"""The networks of a model are computed by their graph where there is one, else by torch, and that is
said."""

from __future__ import annotations

import logging
import shutil
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

from fovnet.decision.ensemble import load_ensemble
from fovnet.decision.folder import GRAPH_FILE_NAME
from fovnet.decision.parts import SUMS_FILE_NAME
from fovnet.errors import ConfigError, ModelError
from fovnet.net import device
from fovnet.records import read_json, write_json


@pytest.fixture
def model(finished: Path, tmp_path: Path) -> Path:
    """A copy of a small model, without checksums."""
    return shutil.copytree(finished / "ensemble", tmp_path / "model")


def remove_graph(model: Path) -> None:
    (model / GRAPH_FILE_NAME).unlink()


def cut_graph(model: Path) -> None:
    content = (model / GRAPH_FILE_NAME).read_bytes()
    (model / GRAPH_FILE_NAME).write_bytes(content[: len(content) // 2])


def put_members_in_another_order(model: Path) -> None:
    """The graph is that of the weights, one of them twice."""
    facts = read_json(model / "ensemble.json")
    facts["members"] = [facts["members"][0], facts["members"][0]]
    write_json(model / "ensemble.json", {key: facts[key] for key in facts if key != "fovnet"})


@pytest.mark.parametrize(
    ("damage", "code"),
    [
        (remove_graph, "graph-missing"),
        (cut_graph, "graph-unusable"),
        (put_members_in_another_order, "graph-of-others"),
    ],
)
def test_without_a_graph_of_its_own_torch_computes_and_that_is_said_once(
    damage: object, code: str, model: Path, caplog: pytest.LogCaptureFixture
) -> None:
    assert callable(damage)
    damage(model)
    with caplog.at_level(logging.WARNING, "fovnet"):
        assert load_ensemble(model, engine="auto", device="cpu").engine.name == "torch"
    (said,) = caplog.messages
    assert "torch computes" in said and "fovnet export graph" in said
    with pytest.raises(ModelError) as refused:
        load_ensemble(model, engine="onnx", device="cpu")
    assert refused.value.code == code


def test_where_torch_is_not_installed_the_reason_is_the_graphs(
    model: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    remove_graph(model)
    monkeypatch.setattr("fovnet.decision.networks.find_spec", lambda name: None)
    with pytest.raises(ModelError) as refused:
        load_ensemble(model, engine="auto", device="cpu")
    assert refused.value.code == "graph-missing"


def test_a_graph_that_no_checksum_vouches_for_is_not_used(
    model: Path, caplog: pytest.LogCaptureFixture
) -> None:
    """As one that was being written when the command was killed."""
    subprocess.run("sha256sum [!n]* > SHA256SUMS", shell=True, cwd=model, check=True)
    subprocess.run("sha256sum novelty.npz >> SHA256SUMS", shell=True, cwd=model, check=True)
    assert load_ensemble(model, engine="auto", device="cpu").engine.name == "torch"
    assert "not listed" in caplog.text and f"fovnet export graph {model}" in caplog.text


def test_where_torch_cannot_be_imported_that_is_said(
    model: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    # an import of it now fails as if it were not installed
    monkeypatch.setitem(sys.modules, "fovnet.net.inference.torch_engine", None)
    with pytest.raises(ModelError, match="pip install torch") as refused:
        load_ensemble(model, engine="torch", device="cpu")
    assert refused.value.code == "engine-missing"


def test_a_graph_that_was_changed_is_refused_as_any_part_is(model: Path) -> None:
    subprocess.run("sha256sum * > SHA256SUMS", shell=True, cwd=model, check=True)
    load_ensemble(model, engine="auto", device="cpu")
    cut_graph(model)
    with pytest.raises(ModelError, match=GRAPH_FILE_NAME) as refused:
        load_ensemble(model, engine="auto", device="cpu")
    assert refused.value.code == "model-altered"


def test_an_older_model_gets_its_graph_by_a_command_and_answers_as_before(model: Path) -> None:
    remove_graph(model)
    subprocess.run("sha256sum * > SHA256SUMS", shell=True, cwd=model, check=True)
    pixels = np.random.default_rng(0).integers(0, 255, (5, 128, 128)).astype(np.uint8)
    before = load_ensemble(model, "cpu")
    for _ in range(2):  # the second replaces the first
        subprocess.run([sys.executable, "-m", "fovnet", "export", "graph", model], check=True)
    subprocess.run(
        ["sha256sum", "--check", "--strict", "--quiet", SUMS_FILE_NAME], cwd=model, check=True
    )
    after = load_ensemble(model, "cpu", engine="auto")
    assert after.engine.name == "onnx" and after.identity == before.identity
    np.testing.assert_allclose(
        after.compute_outputs(pixels).member_probabilities,
        before.compute_outputs(pixels).member_probabilities,
        atol=1e-5,
    )


def test_a_graph_computes_on_the_cpu_alone(model: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("fovnet.decision.networks.settle_device", lambda name: "cuda")
    with pytest.raises(ConfigError, match="--device cpu") as refused:
        load_ensemble(model, engine="onnx", device="cuda")
    assert refused.value.code == "engine-device"


@pytest.mark.parametrize("has_driver", [True, False])
def test_torch_is_asked_for_a_device_only_where_a_gpu_may_be(
    has_driver: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    asked_names: list[str] = []
    monkeypatch.setattr(device, "may_have_gpu", lambda: has_driver)
    monkeypatch.setattr(device, "choose_device", lambda name: asked_names.append(name) or "cuda")
    assert device.settle_device("cpu") == "cpu"
    assert device.settle_device("auto") == ("cuda" if has_driver else "cpu")
    assert asked_names == (["auto"] if has_driver else [])
