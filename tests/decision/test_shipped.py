"""The ensemble that comes with the package: complete, small, naming nobody; and half precision, which rounds
and changes nothing else."""

from __future__ import annotations

import shutil
import subprocess
from pathlib import Path

import numpy as np
import pytest
import torch
import yaml

from fovnet.bench.robustness import simulate_stranger, surround_with_noise
from fovnet.decision import orientation, shipped
from fovnet.decision.ensemble import load_ensemble
from fovnet.decision.folder import PEOPLE_FILE_NAME, ModelFolder
from fovnet.decision.networks import load_members
from fovnet.errors import ModelError
from fovnet.net.family.weights import load_tensors, save_tensors
from fovnet.net.training.precision import write_weights
from fovnet.records import read_json
from fovnet.results import Results, shipped_folder
from fovnet.volume.slices.outlines import OUTLINE_SHAPE
from fovnet.volume.slices.stack import cut_slices


@pytest.fixture
def run(finished: Path, tmp_path: Path) -> Results:
    """A copy of the finished run, to be spoilt."""
    return Results(Path(shutil.copytree(finished, tmp_path / "run")))


def test_what_is_shipped_answers_as_the_run_does_and_its_sums_hold(
    run: Results, tmp_path: Path
) -> None:
    made = shipped.export_run(run, tmp_path / "out")
    pixels = np.random.default_rng(0).integers(0, 255, (9, 128, 128)).astype(np.uint8)
    mine, theirs = (
        load_ensemble(folder, "cpu").compute_outputs(pixels)
        for folder in (made.folder, run.ensemble)
    )
    np.testing.assert_array_equal(mine.member_probabilities, theirs.member_probabilities)
    np.testing.assert_array_equal(mine.novelty_distances, theirs.novelty_distances)
    subprocess.run(
        ["sha256sum", "--check", "--strict", "--quiet", "SHA256SUMS"], cwd=made.folder, check=True
    )
    listed = {line.split()[1] for line in (made.folder / "SHA256SUMS").read_text().splitlines()}
    assert listed == {path.name for path in made.folder.iterdir()} - {"SHA256SUMS"}
    assert shipped_folder(made.folder) == made.folder and made.member_count == 2


def test_it_holds_neither_marks_of_people_nor_places(run: Results, tmp_path: Path) -> None:
    folder = shipped.export_run(run, tmp_path / "out").folder
    for name in ("ensemble.json", "decision.json"):
        facts = read_json(folder / name)
        assert "subjects" not in facts and facts["people"] == {"train": 1, "validation": 1}
        assert facts["fovnet"] == read_json(run.ensemble / name)["fovnet"], (
            "made when it was made, from the same settings"
        )
    settings = yaml.safe_load((folder / "config.yaml").read_text())
    assert settings["collections"] == {"clinic": "clinic"} and "archive" not in str(settings)


def test_what_an_earlier_one_left_is_gone_and_making_it_again_gives_the_same_bytes(
    run: Results, tmp_path: Path
) -> None:
    folder = shipped.export_run(run, tmp_path / "out").folder
    before = {path.name: path.read_bytes() for path in folder.iterdir()}
    (folder / "member-0099.safetensors").write_bytes(b"of an earlier ensemble")
    shipped.export_run(run, folder)
    assert {path.name: path.read_bytes() for path in folder.iterdir()} == before


def test_a_folder_of_somebodys_own_networks_is_left_as_it_was(run: Results, tmp_path: Path) -> None:
    for folder in (tmp_path / "mine", run.ensemble, run.folder):
        folder.mkdir(exist_ok=True)
        (folder / "unet.safetensors").write_bytes(b"of somebody")
        before = {path.name: path.read_bytes() for path in folder.iterdir() if path.is_file()}
        with pytest.raises(ModelError, match="another folder") as refused:
            shipped.export_run(run, folder)
        assert refused.value.code == "shipped-other-folder"
        assert {
            path.name: path.read_bytes() for path in folder.iterdir() if path.is_file()
        } == before


def test_what_tells_the_axes_is_shipped_too_and_gone_where_the_next_run_has_none(
    run: Results, tmp_path: Path
) -> None:
    layer = {
        "layer0.weight": torch.zeros(16, int(np.prod(OUTLINE_SHAPE))).half(),
        "layer0.bias": torch.arange(16).half(),
    }
    save_tensors(run.ensemble / orientation.ORIENTATION_FILE_NAME, layer, {})
    folder = shipped.export_run(run, tmp_path / "out").folder
    assert (folder / orientation.ORIENTATION_FILE_NAME).read_bytes() == (
        run.ensemble / orientation.ORIENTATION_FILE_NAME
    ).read_bytes()
    assert orientation.ORIENTATION_FILE_NAME in (folder / "SHA256SUMS").read_text()
    known = load_ensemble(folder, "cpu").judge.orientation
    assert known is not None and known.layers[0][1].tolist() == list(range(16))
    (run.ensemble / orientation.ORIENTATION_FILE_NAME).unlink()
    assert load_ensemble(shipped.export_run(run, folder).folder, "cpu").orientation is None


@pytest.mark.parametrize(
    ("spoil", "code"),
    [
        (lambda run: (run.ensemble / "decision.json").unlink(), "shipped-incomplete"),
        (lambda run: (run.folder / "model-card.md").unlink(), "shipped-incomplete"),
        (lambda run: (run.ensemble / "novelty.npz").unlink(), "shipped-incomplete"),
        (
            lambda run: (run.folder / "model-card.md").write_text("worst: case-17, of whom"),
            "shipped-names",
        ),
        (
            lambda run: (run.folder / "model-card.md").write_text("| case-17_t1 | 3 |"),
            "shipped-names",
        ),
        (
            lambda run: (run.folder / "model-card.md").write_text("The worst was case-17."),
            "shipped-names",
        ),
        (
            lambda run: (run.folder / "model-card.md").write_text(
                "x" * shipped.GREATEST_SHIPPED_BYTES
            ),
            "shipped-large",
        ),
        (lambda run: next(run.ensemble.glob("member-*")).write_bytes(b"half"), "weights-damaged"),
        (
            lambda run: (run.ensemble / orientation.ORIENTATION_FILE_NAME).write_bytes(b"half"),
            "orientation-damaged",
        ),
    ],
)
def test_what_may_not_be_shipped_is_refused_and_leaves_nothing(
    run: Results, tmp_path: Path, spoil: object, code: str
) -> None:
    spoil(run)  # type: ignore[operator]
    with pytest.raises(ModelError, match=code):
        shipped.export_run(run, tmp_path / "out")
    assert not (tmp_path / "out").exists()


def test_the_networks_of_this_clone_are_whole_small_and_ready() -> None:
    folder = shipped_folder()
    subprocess.run(
        ["sha256sum", "--check", "--strict", "--quiet", "SHA256SUMS"], cwd=folder, check=True
    )
    sizes = {path.name: path.stat().st_size for path in folder.iterdir()}
    assert sizes.pop(PEOPLE_FILE_NAME) <= 1.01e6 * shipped.PEOPLE_MEGABYTES
    assert sum(sizes.values()) <= shipped.GREATEST_SHIPPED_BYTES
    facts = read_json(folder / "ensemble.json")
    assert facts["precision"] == "float16" and load_ensemble(
        folder, "cpu"
    ).engine.member_count == len(facts["members"])


def test_a_body_in_bright_noise_is_seen_with_the_networks_of_this_clone_and_doubted() -> None:
    """Three regions of a person of no collection, made a map without a mask."""
    ensemble = load_ensemble(shipped_folder(), "cpu")
    person = simulate_stranger(1, 16)
    answers = []
    for noisy, blacken in ((False, True), (True, True), (True, False)):
        one = (surround_with_noise(person, np.random.default_rng(1)) if noisy else person).volume
        stack = cut_slices(
            one,
            target_spacing_mm=float(ensemble.slicing_settings["target_spacing_mm"]),
            blacken_noise=blacken,
        )
        answers.append(
            ensemble.judge.answer("one", "", ensemble.compute_volume_outputs(stack), stack)
        )
    plain, blackened, left = answers
    decided = [answer.decision.decided_labels for answer in answers]
    named, again = (
        [span.region for span in answer.decision.spans] for answer in (plain, blackened)
    )
    assert named == again and len(named) > 1
    assert (
        (decided[0] == decided[1]).all(axis=1).mean()
        > 0.9
        > 0.5
        > (decided[0] == decided[2]).all(axis=1).mean()
    )
    assert (
        plain.code_text == ""
        and blackened.code_text == "noisy-air"
        and "noisy-air" not in left.code_text
    )


def test_an_installation_without_networks_says_what_to_do(tmp_path: Path) -> None:
    with pytest.raises(ModelError, match=r"--model FOLDER.*model-absent"):
        shipped_folder(tmp_path)


def test_float16_rounds_to_the_nearest_and_keeps_counts_and_facts(
    finished: Path, tmp_path: Path
) -> None:
    source = finished / "networks" / "slot-0002.safetensors"
    exact, facts = load_tensors(source)
    rounded, same = load_tensors(write_weights(source, tmp_path / "half", "float16"))
    assert same == facts
    for name, tensor in exact.items():
        if tensor.is_floating_point():
            assert rounded[name].dtype == torch.float16
            # numpy's rounding, half to even
            nearest = tensor.numpy().astype(np.float16)
            np.testing.assert_array_equal(rounded[name].numpy(), nearest)
        else:
            assert torch.equal(rounded[name], tensor)
    assert write_weights(source, tmp_path / "whole", "float32").read_bytes() == source.read_bytes()


def test_a_network_kept_in_half_is_computed_in_single_precision(finished: Path) -> None:
    for member in load_members(ModelFolder(finished / "ensemble")):
        assert {tensor.dtype for tensor in member.parameters()} == {torch.float32}


def test_a_weight_that_float16_cannot_hold_is_refused_by_name(tmp_path: Path) -> None:
    source = save_tensors(tmp_path / "large", {"fc0.weight": torch.tensor([1.0, 7e4])}, {})
    with pytest.raises(
        ModelError, match=r"fc0.weight holds 70000, float16 at most 65504.*weights-overflow"
    ):
        write_weights(source, tmp_path / "half", "float16")
