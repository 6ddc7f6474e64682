"""The ensemble on disk: the best trials, moved as one folder, and refused when anything in it is not what its
facts state."""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import asdict, replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from safetensors.numpy import save_file

from fovnet.decision import ensemble as ensembles_on_disk
from fovnet.decision import novelty
from fovnet.decision.assembly import choose_members, guessing_loss, write_ensemble
from fovnet.decision.ensemble import load_ensemble
from fovnet.decision.folder import ModelFolder, save_rule
from fovnet.decision.novelty import fit_reference
from fovnet.decision.rule import Rule
from fovnet.errors import ModelError
from fovnet.maths.ladder import Height
from fovnet.maths.turns import VIEWS
from fovnet.net.family.architecture import Architecture
from fovnet.net.family.model import build_network
from fovnet.net.family.weights import save_network
from fovnet.regions import DEFAULT
from fovnet.search.trial import Outcome, Proposal, Trial
from fovnet.volume.slices.outlines import OUTLINE_SHAPE
from fovnet.volume.slices.placing import Placing
from fovnet.volume.slices.stack import Slicing, describe_slice_format

INPUTS = {"classes": DEFAULT.classes, "slices": describe_slice_format(Slicing(3.0, 20.0))}
NET = Architecture(4, 1, 2, 3, False, classes=len(DEFAULT.classes), head="gap")
RULE = Rule(sigma_mm=4.5, heights=(None, Height(220.0, 15.0), None, None, None))
PREPARE = {"target_spacing_mm": 3.0, "max_tilt_deg": 20.0}


def trial(slot: int, score: float | None, status: str = "completed") -> Trial:
    return Trial(Proposal(slot, slot, {"blocks": 4}, 1, (), (), 1.0), Outcome(status, score=score))  # type: ignore[arg-type]


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """An ensemble of two networks drawn from two seeds."""
    members = []
    for slot in (3, 8):
        path = save_network(
            tmp_path / f"slot-{slot:04d}.safetensors",
            build_network(NET, torch.Generator().manual_seed(slot)),
            NET,
            INPUTS,
        )
        members.append(
            {"slot": slot, "score": slot / 10, "configuration": {"blocks": 4}, "weights": str(path)}
        )
    write_ensemble(tmp_path / "ensemble", members, DEFAULT, PREPARE, settings={}, seed=1)
    save_rule(tmp_path / "ensemble", RULE, {}, settings={}, seed=1)
    return tmp_path / "ensemble"


def test_the_best_completed_trials_are_chosen_and_those_that_only_guess_are_not() -> None:
    trials = [
        trial(0, 0.9),
        trial(1, 0.2),
        trial(2, None, "diverged"),
        trial(3, 2.0),
        trial(4, 0.2),
    ]
    assert [member["slot"] for member in choose_members(trials, 10, 1.9, Path("n"))] == [1, 4, 0]
    assert [member["slot"] for member in choose_members(trials, 2, 1.9, Path("n"))] == [1, 4]
    assert [member["slot"] for member in choose_members(trials[3:4], 10, 1.9, Path("n"))] == [3]
    assert choose_members(trials[2:3], 10, 1.9, Path("n")) == []
    # as bad as guessing is no better
    assert [member["slot"] for member in choose_members(trials[:4], 10, 0.9, Path("n"))] == [1]
    assert [
        member["slot"]
        for member in choose_members([trial(0, 2.5), trial(1, 2.0)], 10, 1.9, Path("n"))
    ] == [1]


def test_the_last_of_the_chosen_see_slices_alone_but_never_all() -> None:
    trials = [trial(0, 0.3), trial(1, 0.2), trial(2, 0.1)]
    assert [
        member.get("alone", False) for member in choose_members(trials, 10, 1.9, Path("n"), alone=2)
    ] == [
        False,
        True,
        True,
    ]
    assert [
        member.get("alone", False) for member in choose_members(trials, 1, 1.9, Path("n"), alone=2)
    ] == [False]


def test_a_member_that_sees_slices_alone_says_the_same_wherever_they_lie(tmp_path: Path) -> None:
    """Two networks that see sections; of the two volumes one holds the slices of the other, and as many again
    above them."""
    net = replace(NET, inputs=("slice", "sections"))
    members = []
    for slot in (0, 1):
        path = save_network(
            tmp_path / f"slot-{slot:04d}.safetensors",
            build_network(net, torch.Generator().manual_seed(slot)),
            net,
            INPUTS,
        )
        members.append(
            {
                "slot": slot,
                "score": 0.3,
                "configuration": {},
                "weights": str(path),
                **({"alone": True} if slot else {}),
            }
        )
    write_ensemble(tmp_path / "ensemble", members, DEFAULT, PREPARE, settings={}, seed=1)
    ensemble = load_ensemble(tmp_path / "ensemble", "cpu", rule=RULE)
    pixels = np.random.default_rng(0).integers(0, 255, (24, 128, 128)).astype(np.uint8)
    short, long = (
        ensemble.compute_outputs(
            pixels[:n], placing=Placing(np.full(n, 400.0), np.zeros(n, int), 6.0 * np.arange(n))
        )
        for n in (12, 24)
    )
    np.testing.assert_allclose(
        short.member_probabilities[1], long.member_probabilities[1, :12], atol=1e-6
    )
    assert np.abs(short.member_probabilities[0] - long.member_probabilities[0, :12]).max() > 1e-4
    assert ensemble.sees_the_volume


def test_guessing_costs_the_logarithm_of_the_classes_where_the_splits_agree() -> None:
    truth = np.eye(4, dtype=bool)[np.array([0, 0, 0, 1, 2, 2])]
    assert guessing_loss(truth, truth) == pytest.approx(np.log(3))


def test_guessing_is_judged_under_the_weights_that_scores_are_under() -> None:
    """40 bodies of 150 slices of one class and 5 knees of 15 of another, each volume drawn as often: a bar by
    slices let networks in that are worse than guessing (3.5 where guessing costs 1.35)."""
    truth = np.eye(3, dtype=bool)[np.repeat([0, 1], [40 * 150, 5 * 15])]
    often = torch.from_numpy(np.repeat([1 / 150, 1 / 15], [40 * 150, 5 * 15]))
    # inverse frequency among volumes, mean one as drawn
    weight = np.array([45 / 2 / 40, 45 / 2 / 5])
    judged = (6000 * weight[0] + 75 * weight[1]) / 6075
    assert guessing_loss(truth, truth, often) == pytest.approx(judged * np.log(2), rel=1e-5)
    assert guessing_loss(truth, truth, torch.ones(len(truth))) == pytest.approx(
        guessing_loss(truth, truth)
    )


def test_the_mean_of_the_members_is_the_ensembles_answer(folder: Path) -> None:
    pixels = np.random.default_rng(0).integers(0, 255, (70, 128, 128)).astype(np.uint8)
    ensemble = load_ensemble(folder, "cpu")
    images = torch.from_numpy(pixels).float()[:, None] / 255
    with torch.inference_mode():
        each = [
            build_network(NET, torch.Generator().manual_seed(slot))
            .eval()(images)
            .softmax(dim=1)
            .numpy()
            for slot in (3, 8)
        ]
    np.testing.assert_allclose(
        ensemble.judge.mean_probabilities(ensemble.compute_outputs(pixels)),
        np.mean(each, axis=0),
        atol=1e-5,
    )


def test_an_ensemble_is_the_same_whatever_computes_it(folder: Path) -> None:
    """The engine is no part of its identity, so answers are kept from one to the other."""
    from fovnet.net.inference.engines import list_installed_engines

    pixels = np.random.default_rng(0).integers(0, 255, (5, 128, 128)).astype(np.uint8)
    ensembles = [load_ensemble(folder, "cpu", engine=name) for name in list_installed_engines()]
    assert len({ensemble.identity for ensemble in ensembles}) == 1
    assert [ensemble.engine_facts["name"] for ensemble in ensembles] == list_installed_engines()
    first, *others = [
        ensemble.judge.mean_probabilities(ensemble.compute_outputs(pixels))
        for ensemble in ensembles
    ]
    for raw in others:
        np.testing.assert_allclose(raw, first, atol=1e-4)


def test_what_was_written_is_read_and_the_folder_may_be_moved(folder: Path, tmp_path: Path) -> None:
    moved = folder.rename(tmp_path / "elsewhere")
    for left in tmp_path.glob("slot-*"):
        left.unlink()
    ensemble = load_ensemble(moved, "cpu")
    assert ensemble.rule == RULE
    assert ensemble.slicing_settings == PREPARE
    assert ModelFolder(moved).vocabulary == DEFAULT


def test_another_rule_is_another_ensemble(folder: Path) -> None:
    before = load_ensemble(folder, "cpu").identity
    save_rule(folder, Rule(sigma_mm=9.0), {}, settings={}, seed=1)
    assert load_ensemble(folder, "cpu").identity != before


@pytest.mark.parametrize("part", ["novelty.npz", "orientation.safetensors"])
def test_with_another_part_it_is_another_ensemble(folder: Path, part: str) -> None:
    before = load_ensemble(folder, "cpu").identity
    if part == "novelty.npz":
        novelty.save_novelty(
            folder,
            fit_reference(
                np.random.default_rng(1).normal(size=(60, 32)),
                np.eye(2, dtype=bool)[np.arange(60) % 2],
            ),
        )
    else:
        layer = {
            "layer0.weight": np.zeros((len(VIEWS), int(np.prod(OUTLINE_SHAPE))), np.float16),
            "layer0.bias": np.zeros(len(VIEWS), np.float16),
        }
        save_file(layer, folder / part)
    assert load_ensemble(folder, "cpu").identity != before


def test_slices_looked_at_in_pieces_are_counted_as_a_whole(
    folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    pixels, calls = (
        np.random.default_rng(0).integers(0, 255, (10, 128, 128)).astype(np.uint8),
        list[tuple[int, int]](),
    )
    whole = load_ensemble(folder, "cpu").compute_outputs(pixels)
    monkeypatch.setattr(ensembles_on_disk, "SLICES_PER_PIECE", 4)
    pieces = load_ensemble(folder, "cpu").compute_outputs(
        pixels, lambda done, total: calls.append((done, total))
    )
    np.testing.assert_allclose(pieces.member_probabilities, whole.member_probabilities, atol=1e-6)
    assert (
        calls == sorted(calls) and calls[-1] == (10, 10) and {total for _, total in calls} == {10}
    )


def test_what_is_familiar_is_learned_by_the_labels_of_the_slices_drawn(
    folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Half of 40 slices, of which the upper half are bright: of either class some are drawn, and no dark one
    lies near the bright ones."""
    monkeypatch.setattr(ensembles_on_disk, "REFERENCE_SLICES", 20)
    bright = np.arange(40) >= 20
    noise = np.random.default_rng(0).integers(0, 9, (40, 128, 128))
    pixels = (np.where(bright, 200, 20)[:, None, None] + noise).astype(np.uint8)
    known = (
        load_ensemble(folder, "cpu")
        .learn_novelty(pixels, np.arange(40), np.eye(2, dtype=bool)[bright.astype(int)], seed=1)
        .novelty
    )
    assert known is not None and len(known.class_means) == 2


@pytest.mark.parametrize("damage", ["weights gone", "weights cut", "facts gone", "rule gone"])
def test_a_damaged_folder_is_refused_by_the_part_that_is_damaged(folder: Path, damage: str) -> None:
    member = sorted(folder.glob("member-*"))[0]
    part = {
        "weights gone": member,
        "weights cut": member,
        "facts gone": folder / "ensemble.json",
        "rule gone": folder / "decision.json",
    }
    if damage == "weights cut":
        member.write_bytes(member.read_bytes()[:-100])
    else:
        part[damage].unlink()
    with pytest.raises(ModelError) as caught:
        load_ensemble(folder, "cpu")
    assert part[damage].name in caught.value.sentence


@pytest.mark.parametrize(
    ("part", "setting"),
    [("novelty.npz", "least_novelty"), ("orientation.safetensors", "least_upright")],
)
def test_a_rule_that_judges_by_a_part_needs_it(folder: Path, part: str, setting: str) -> None:
    """A folder copied by halves would answer without the check that finds what its networks never saw."""
    save_rule(folder, replace(RULE, **{setting: 0.1}), {}, settings={}, seed=1)
    with pytest.raises(ModelError, match=f"{part}: missing"):
        load_ensemble(folder, "cpu")


@pytest.mark.parametrize(
    "change",
    [
        lambda facts: facts.clear(),
        lambda facts: facts.pop("prepare"),
        lambda facts: facts["prepare"].update(foo=1),
        lambda facts: facts["regions"][0].pop("name"),
        lambda facts: facts["regions"][0].update(colour='#00f"/><script>'),
        lambda facts: facts["members"][0].pop("sha256"),
        lambda facts: facts.update(members=[]),
    ],
)
def test_facts_that_are_none_are_a_sentence(
    folder: Path, change: Callable[[dict[str, Any]], object]
) -> None:
    facts = json.loads((folder / "ensemble.json").read_text())
    change(facts)
    (folder / "ensemble.json").write_text(json.dumps(facts))
    with pytest.raises(ModelError, match=r"ensemble.json: .*model-damaged"):
        load_ensemble(folder, "cpu")


@pytest.mark.parametrize(
    ("setting", "value"),
    [
        ("temperature", 0.0),
        ("temperature", "warm"),
        ("sigma_mm", float("nan")),
        ("min_confidence", None),
        ("method", "guess"),
        ("evidence_mm", 0.0),
        ("usual_roughness", 1.0),
        ("min_confidence", 7.0),
        ("sigma_mm", -5.0),
        ("beta", []),
        ("line", ["a", 0.0, 0.0]),
        ("heights", [{"mean_mm": float("nan"), "sd_mm": 1.0}, None, None, None, None]),
        ("heights", [{"mean_mm": 200.0, "sd_mm": -1.0}, None, None, None, None]),
        ("heights", [None] * 6),
        ("weights", [-1.0, 2.0]),
        ("weights", [0.0, 0.0]),
        ("heights", [None]),
        ("heights_for", "some"),
    ],
)
def test_a_rule_that_cannot_decide_is_refused_with_the_setting(
    folder: Path, setting: str, value: object
) -> None:
    rule = json.loads((folder / "decision.json").read_text())
    rule["rule"][setting] = value
    (folder / "decision.json").write_text(json.dumps(rule))
    with pytest.raises(ModelError, match=rf"decision.json: {setting} is .*rule-invalid"):
        load_ensemble(folder, "cpu")


def test_a_rule_for_another_number_of_members_names_its_file(folder: Path) -> None:
    save_rule(folder, replace(RULE, weights=(0.2, 0.3, 0.5)), {}, settings={}, seed=1)
    with pytest.raises(
        ModelError,
        match=rf"{folder / 'decision.json'}: weights 3 members, but there are 2;.*rule-other-members",
    ):
        load_ensemble(folder, "cpu")


def test_a_network_that_is_damaged_in_the_journal_names_the_slot_to_repeat(
    folder: Path, tmp_path: Path
) -> None:
    there = {path.name: path.read_bytes() for path in folder.iterdir()}
    networks = tmp_path / "search" / "networks"
    networks.mkdir(parents=True)
    cut = networks / "slot-0003.safetensors"
    cut.write_bytes((tmp_path / "slot-0003.safetensors").read_bytes()[:-100])
    with pytest.raises(
        ModelError,
        match=r"remove .*search/slot-0003.json and .*trials.tsv, and `fovnet search` trains that slot again",
    ):
        write_ensemble(
            folder,
            [{"slot": 3, "score": 0.1, "configuration": {}, "weights": str(cut)}],
            DEFAULT,
            PREPARE,
            settings={},
            seed=1,
        )
    assert {path.name: path.read_bytes() for path in folder.iterdir()} == there


def test_no_member_is_no_ensemble(tmp_path: Path) -> None:
    with pytest.raises(ModelError, match="no trial completed"):
        write_ensemble(tmp_path, [], DEFAULT, PREPARE, settings={}, seed=1)


def test_an_ensemble_stays_until_all_members_of_the_next_are_written(folder: Path) -> None:
    """Kept: its networks answer as before, though one of those that were to take their place is not there."""
    there = {path.name: path.read_bytes() for path in folder.iterdir()}
    good, lost = (
        str(folder.parent / "slot-0008.safetensors"),
        str(folder.parent / "slot-0009.safetensors"),
    )
    members = [
        {"slot": slot, "score": 0.1, "configuration": {}, "weights": weights}
        for slot, weights in ((8, good), (9, lost))
    ]
    with pytest.raises(ModelError, match="slot-0009"):
        write_ensemble(folder, members, DEFAULT, PREPARE, settings={}, seed=1, precision="float16")
    assert {path.name: path.read_bytes() for path in folder.iterdir()} == there
    (folder / ".members-killed").mkdir()
    write_ensemble(folder, members[:1], DEFAULT, PREPARE, settings={}, seed=1)
    assert sorted(path.name for path in folder.iterdir()) == [
        "ensemble.json",
        "member-0008.safetensors",
        "networks.onnx",
    ]


@pytest.mark.parametrize(
    ("property", "message"),
    [("head", "head 'mlp'"), ("inputs", "inputs colour"), ("block", "block 'dense'")],
)
def test_a_network_that_this_version_cannot_build_is_refused_by_what_it_does_not_know(
    tmp_path: Path, property: str, message: str
) -> None:
    from fovnet.net.family.weights import load_network, save_tensors

    known = {**asdict(NET), property: ["colour"] if property == "inputs" else message.split("'")[1]}
    path = save_tensors(
        tmp_path / "n.safetensors", build_network(NET).state_dict(), {"architecture": known}
    )
    with pytest.raises(ModelError, match=message) as refused:
        load_network(path, torch.device("cpu"))
    assert refused.value.code == "weights-unknown"


def test_members_that_are_shown_different_things_are_refused(tmp_path: Path) -> None:
    members = []
    for slot, inputs in enumerate((("slice",), ("slice", "millimetres"))):
        net = replace(NET, inputs=inputs)
        path = save_network(
            tmp_path / f"slot-{slot:04d}.safetensors", build_network(net), net, INPUTS
        )
        members.append(
            {"slot": slot, "score": 0.3, "configuration": {"blocks": 4}, "weights": str(path)}
        )
    write_ensemble(tmp_path / "ensemble", members, DEFAULT, PREPARE, settings={}, seed=1)
    with pytest.raises(ModelError, match="members-other-inputs"):
        load_ensemble(tmp_path / "ensemble", "cpu", rule=RULE)


def test_weights_that_do_not_fit_their_architecture_are_refused(tmp_path: Path) -> None:
    from fovnet.net.family.weights import load_network

    path = save_network(
        tmp_path / "n.safetensors", build_network(NET), replace(NET, log2_filters=3), {}
    )
    with pytest.raises(ModelError, match="do not fit"):
        load_network(path, torch.device("cpu"))


@pytest.mark.parametrize(
    ("inputs", "code", "message"),
    [
        ({}, "weights-unmarked", "search again"),
        (
            {**INPUTS, "classes": DEFAULT.classes[::-1]},
            "weights-other-classes",
            "its classes are none, spine",
        ),
        (
            {**INPUTS, "slices": describe_slice_format(Slicing(8.0, 20.0))},
            "weights-other-slices",
            "target_spacing_mm = 8.0, these have 3.0",
        ),
        (
            {**INPUTS, "slices": {**describe_slice_format(Slicing(3.0, 20.0)), "side": 96}},
            "weights-other-slices",
            "side = 96, these have 128",
        ),
    ],
)
def test_a_network_trained_for_other_inputs_is_refused(
    tmp_path: Path, inputs: dict[str, object], code: str, message: str
) -> None:
    path = save_network(tmp_path / "slot-0003.safetensors", build_network(NET), NET, inputs)
    member = {"slot": 3, "score": 0.3, "configuration": {"blocks": 4}, "weights": str(path)}
    write_ensemble(tmp_path / "ensemble", [member], DEFAULT, PREPARE, settings={}, seed=1)
    with pytest.raises(ModelError) as refused:
        load_ensemble(tmp_path / "ensemble", "cpu", rule=RULE)
    assert refused.value.code == code and message in refused.value.sentence
