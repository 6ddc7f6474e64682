"""`fovnet train`: one configuration by hand, killed and gone on with, and the network that a search would
have trained."""

from __future__ import annotations

import os
import shutil
import signal
import subprocess
import time
from collections.abc import Callable
from pathlib import Path

import pytest
import torch
import yaml

from fovnet.acts.finished_search import journal_of_same_training
from fovnet.config.files import load_settings
from fovnet.net.family.weights import load_tensors
from fovnet.records import read_json
from fovnet.search.journal import lock_journal

pytestmark = pytest.mark.slow
Shell = Callable[..., subprocess.CompletedProcess[str]]


@pytest.fixture
def line(smoke: Path, tmp_path: Path) -> list[str | Path]:
    """The command that trains by hand, with the settings and slices of the smoke run."""
    raw = yaml.safe_load((smoke / "config.yaml").read_text()) | {"results": str(smoke)}
    (tmp_path / "mine.yaml").write_text(yaml.safe_dump(raw))
    return ["fovnet", "train", "--config", tmp_path / "mine.yaml", "--out", tmp_path / "mine"]


def test_a_trial_of_the_search_trained_by_hand_is_the_same_network(
    smoke: Path, line: list[str | Path], shell: Shell, tmp_path: Path
) -> None:
    """Killed on the way, gone on with, and then done: the third time the record is read and nothing
    trained."""
    (journal,) = (path.parent for path in (smoke / "search").glob("*/search.json"))
    trial = read_json(journal / "slot-0001.json")
    levels = [
        word
        for name, level in trial["proposal"]["configuration"].items()
        for word in ("--set", f"{name}={level}")
    ]
    whole = [*line, *levels, "--seed", str(trial["proposal"]["seed"])]
    environment = shell.environment  # type: ignore[attr-defined]
    run = subprocess.Popen(
        whole, env=environment, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL
    )
    deadline = time.monotonic() + 900
    while not (tmp_path / "mine" / "network.checkpoint").exists():
        assert run.poll() is None and time.monotonic() < deadline
        time.sleep(0.01)
    os.kill(run.pid, signal.SIGKILL)
    run.wait()
    said = shell(*whole)
    assert (
        said.stdout.startswith("completed after 2 epochs") and "epoch 2 of 2: loss" in said.stderr
    )
    mine = read_json(tmp_path / "mine" / "trial.json")
    assert [mine["outcome"][key] for key in ("training_loss", "validation_loss")] == [
        trial["outcome"][key] for key in ("training_loss", "validation_loss")
    ]
    first, _ = load_tensors(tmp_path / "mine" / "network.safetensors")
    second, facts = load_tensors(journal / "networks" / "slot-0001.safetensors")
    assert all(torch.equal(first[name], second[name]) for name in second)
    assert facts["classes"][-1] == "none" and facts["slices"]["target_spacing_mm"] == 3.0
    assert (tmp_path / "mine" / "curve.png").read_bytes()[:4] == b"\x89PNG"
    assert not (tmp_path / "mine" / "network.checkpoint").exists()
    assert "epoch" not in shell(*whole).stderr


def test_a_network_of_another_configuration_gives_way_and_that_is_told(
    line: list[str | Path], shell: Shell
) -> None:
    first, again, other = (
        shell(*line, "--epochs", "1", "--set", f"log2_filters={filters}").stderr
        for filters in (2, 2, 3)
    )
    assert ["of another training" in said for said in (first, again, other)] == [False, False, True]
    assert "log2 filters 2" in other


def test_two_trainings_never_share_a_folder(
    line: list[str | Path], shell: Shell, tmp_path: Path
) -> None:
    """The second would replace what the first is about to write, and both would say that they completed."""
    with lock_journal(tmp_path / "mine"):
        second = shell(*line, check=False)
    assert second.returncode == 2 and "journal-owned" in second.stderr


def test_no_device_is_calibrated_by_trials_of_another_training(
    smoke: Path, line: list[str | Path], shell: Shell, tmp_path: Path
) -> None:
    raw = yaml.safe_load((tmp_path / "mine.yaml").read_text())
    raw["training"]["slices_per_epoch"] *= 100
    (tmp_path / "next.yaml").write_text(yaml.safe_dump({**raw, "results": str(tmp_path / "next")}))
    (tmp_path / "next").mkdir()
    done = shell(
        "fovnet", "calibrate", "--config", tmp_path / "next.yaml", "--from", smoke, check=False
    )
    assert done.returncode == 2 and "calibration-training" in done.stderr
    elsewhere = {
        **raw,
        "training": {
            **yaml.safe_load((tmp_path / "mine.yaml").read_text())["training"],
            "device": "cuda",
        },
    }
    (tmp_path / "cuda.yaml").write_text(yaml.safe_dump(elsewhere))
    # each trial tells its own device
    assert (
        journal_of_same_training(load_settings(tmp_path / "cuda.yaml"), smoke).parent
        == smoke / "search"
    )


def test_what_does_not_complete_has_a_record_and_status_3(
    line: list[str | Path], shell: Shell, tmp_path: Path
) -> None:
    """And is not done again, though it left no network."""
    done = shell(*line, "--set", "learning_rate=1e38", check=False)
    assert done.returncode == 3 and done.stdout.startswith("diverged after 1 epoch:")
    assert read_json(tmp_path / "mine" / "trial.json")["outcome"]["status"] == "diverged"
    assert not (tmp_path / "mine" / "network.safetensors").exists()
    written = (tmp_path / "mine" / "trial.json").stat().st_mtime_ns
    assert shell(*line, "--set", "learning_rate=1e38", check=False).returncode == 3
    assert (tmp_path / "mine" / "trial.json").stat().st_mtime_ns == written


@pytest.mark.parametrize(
    ("change", "code"),
    [
        ("log2_filter=4", "space-axes"),
        ("blocks=9", "space-level"),
        ("blocks", "train-set"),
        ("blocks={", "train-set"),
        ("blocks=2024-02-31", "train-set"),
    ],
)
def test_a_change_that_cannot_be_meant_is_refused_by_name(
    line: list[str | Path], shell: Shell, change: str, code: str
) -> None:
    done = shell(*line, "--set", change, check=False)
    assert done.returncode == 2 and code in done.stderr


def test_an_axis_set_twice_and_a_seed_that_no_generator_takes_are_refused(
    line: list[str | Path], shell: Shell, tmp_path: Path
) -> None:
    """And what was trained there before stays: its record, and the network beside it."""
    shell(*line)
    before = {path.name: path.read_bytes() for path in (tmp_path / "mine").iterdir()}
    for words, code in (
        (("--set", "blocks=1", "--set", "blocks=2"), "train-set"),
        (("--seed", str(2**64)), "wrong-usage"),
    ):
        done = shell(*line, *words, check=False)
        assert done.returncode == 2 and (code in done.stderr or "--seed" in done.stderr)
    assert {path.name: path.read_bytes() for path in (tmp_path / "mine").iterdir()} == before


def test_without_slices_it_says_what_to_run_first(shell: Shell, tmp_path: Path) -> None:
    (tmp_path / "new.yaml").write_text(f"results: {tmp_path / 'new'}\nphantom: {{subjects: 8}}\n")
    done = shell(
        "fovnet", "train", "--config", tmp_path / "new.yaml", "--out", tmp_path / "out", check=False
    )
    assert (
        done.returncode == 2
        and "fovnet phantom" in done.stderr
        and "fovnet slice --config" in done.stderr
    )


def test_the_networks_of_a_run_are_trained_further_each_as_it_was(
    smoke: Path, shell: Shell, tmp_path: Path
) -> None:
    """The new ensemble knows whom the old one learned from, so that nobody of those is evaluated on."""
    raw = yaml.safe_load((smoke / "config.yaml").read_text()) | {
        "results": str(tmp_path / "further")
    }
    raw["training"] |= {"begin": str(smoke / "ensemble"), "epochs": 1}
    raw["search"] |= {"space": "members", "trials": 9}
    raw["ensemble"] = {**raw.get("ensemble", {}), "blend": 0.5}
    (tmp_path / "further.yaml").write_text(yaml.safe_dump(raw))
    shutil.copytree(smoke / "slices", tmp_path / "further" / "slices")
    assert (
        "all of which will be tried"
        in shell("fovnet", "check", "--config", tmp_path / "further.yaml").stdout
    )
    for verb in ("search", "ensemble"):
        shell("fovnet", verb, "--config", tmp_path / "further.yaml")
    before, after = (
        read_json(folder / "ensemble" / "ensemble.json") for folder in (smoke, tmp_path / "further")
    )
    assert after["begun_with"]["networks"] == [member["sha256"] for member in before["members"]]
    begun = [member["configuration"] for member in before["members"]]
    first = after["members"][0]
    was = next(
        member for member in before["members"] if member["configuration"] == first["configuration"]
    )
    trained_weights = next(
        (tmp_path / "further" / "search").glob(f"*/networks/slot-{first['slot']:04d}.safetensors")
    )
    files = (
        smoke / "ensemble" / was["weights"],
        trained_weights,
        tmp_path / "further" / "ensemble" / first["weights"],
    )
    earlier, later, mixed = (load_tensors(file)[0]["classes.weight"].float() for file in files)
    torch.testing.assert_close(mixed, (earlier + later) / 2)
    slots = (tmp_path / "further" / "search").glob("*/slot-*.json")
    trained = [read_json(path)["proposal"]["configuration"] for path in slots]
    assert len(trained) == len(begun) and all(one in begun for one in trained)
    assert set(before["subjects"]["train"]) <= set(after["subjects"]["train"])
    (tmp_path / "itself.yaml").write_text(yaml.safe_dump(raw | {"results": str(smoke)}))
    own = shell("fovnet", "check", "--config", tmp_path / "itself.yaml", check=False)
    assert own.returncode == 2 and "[begin-in-results]" in own.stderr
    rate = ["--set", "log10_learning_rate=-5"]
    by_hand = shell(
        "fovnet", "train", "--config", tmp_path / "further.yaml", "--out", tmp_path / "mine", *rate
    )
    assert by_hand.stdout.startswith("completed after 1 epoch,")
    other = shell(
        "fovnet",
        "train",
        "--config",
        tmp_path / "further.yaml",
        "--out",
        tmp_path / "mine",
        "--set",
        "kernel=5",
        check=False,
    )
    assert other.returncode != 0 and "begin-none-fits" in other.stderr + other.stdout
