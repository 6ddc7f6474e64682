"""Trainings that go on from an ensemble's networks: which one, what is taken from it, and what is refused."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest
import torch

from fovnet.acts.search_space import search_space, start_configuration
from fovnet.config.files import parse
from fovnet.errors import ConfigError, ModelError
from fovnet.net.family import axes
from fovnet.net.family.architecture import Architecture
from fovnet.net.family.model import build_network
from fovnet.net.family.weights import load_tensors, save_network, save_tensors
from fovnet.net.paths import checkpoint_path_of
from fovnet.net.recipe import Recipe
from fovnet.net.training.beginning_weights import load_beginning
from fovnet.net.training.precision import write_weights
from fovnet.net.training.train import TrainingData, train_network
from fovnet.net.training.warm_start import (
    Beginning,
    beginnings_of_ensemble,
    nearest_beginning,
    read_ensemble_facts,
    refuse_other_inputs,
    space_of_members,
)
from fovnet.records import checksum
from fovnet.results import SHIPPED_NETWORKS

SMALL = Architecture(4, 1, 3, 3, False, classes=3, head="gap")
CLASSES = ("disc", "bar", "none")
INPUTS = ("slice", "millimetres", "sections")
PLAIN = {
    "blocks": 4,
    "convolutions": 1,
    "log2_filters": 3,
    "kernel": 3,
    "separable": False,
    "log10_learning_rate": -2,
    "log2_batch": 3,
}


def beginning(levels: dict[str, object], sha256: str = "", weights: Path = Path()) -> Beginning:
    return Beginning({**PLAIN, **levels}, weights, sha256)


def train(
    data: TrainingData, recipe: Recipe, keep: Path, rate: float, begin: Beginning | None = None
) -> list[float]:
    ending = train_network(
        SMALL,
        learning_rate=rate,
        batch_size=8,
        seed=5,
        data=data,
        recipe=recipe,
        weights_path=keep,
        network_facts={"classes": CLASSES},
        beginning=begin,
    )
    assert ending.status == "completed", ending.message
    return list(ending.validation_losses)


def test_a_training_begins_where_the_network_was(
    shapes: TrainingData, recipe: Recipe, tmp_path: Path
) -> None:
    """At a learning rate of nothing it stays there: 0.1 below the loss of guessing, which drawn weights do
    not leave."""
    learned = min(train(shapes, replace(recipe, epochs=6), tmp_path / "first.safetensors", 0.03))
    begin = beginning({}, "1", tmp_path / "first.safetensors")
    (again,) = train(
        shapes, replace(recipe, epochs=1, averaging=0.9), tmp_path / "again.safetensors", 0.0, begin
    )
    (drawn,) = train(shapes, replace(recipe, epochs=1), tmp_path / "drawn.safetensors", 0.0)
    # but for the running statistics, which a batch of noise moves
    assert again == pytest.approx(learned, abs=0.05)
    assert again < drawn - 0.1


def test_a_checkpoint_that_began_elsewhere_is_not_gone_on_with(
    shapes: TrainingData, recipe: Recipe, tmp_path: Path
) -> None:
    train(shapes, recipe, tmp_path / "first.safetensors", 0.03)
    begin = beginning({}, "1", tmp_path / "first.safetensors")
    one = train(shapes, replace(recipe, epochs=1), tmp_path / "one.safetensors", 0.01, begin)
    assert checkpoint_path_of(tmp_path / "one.safetensors").exists()
    two = train(shapes, replace(recipe, epochs=2), tmp_path / "one.safetensors", 0.01, begin)
    assert two[:1] == one, "the same one is"
    other = train(
        shapes,
        replace(recipe, epochs=2),
        tmp_path / "one.safetensors",
        0.01,
        replace(begin, sha256="2"),
    )
    assert other == two, "begun anew, it comes to the same"
    assert train(shapes, replace(recipe, epochs=2), tmp_path / "one.safetensors", 0.01)[0] != one[0]


def test_members_are_a_blend_of_what_was_trained_and_what_it_began_with(
    shapes: TrainingData, recipe: Recipe, tmp_path: Path
) -> None:
    """A quarter of the trained weights and running statistics, three quarters of those it began with; of
    other classes the last layer is its own."""
    train(shapes, recipe, tmp_path / "first.safetensors", 0.03)
    begin = beginning({}, "1", tmp_path / "first.safetensors")
    train(shapes, replace(recipe, epochs=1), tmp_path / "whole.safetensors", 0.01, begin)
    first, facts = load_tensors(tmp_path / "first.safetensors")
    ring = {
        name: torch.cat([first[name], first[name][:1]]) if name.startswith("classes.") else tensor
        for name, tensor in first.items()
    }
    save_tensors(tmp_path / "other.safetensors", ring, {**facts, "classes": [*CLASSES, "ring"]})
    for before in ("first", "other"):
        blend = 0.25, tmp_path / f"{before}.safetensors"
        write_weights(
            tmp_path / "whole.safetensors", tmp_path / "quarter.safetensors", "float32", blend=blend
        )
        whole, quarter = (
            load_tensors(tmp_path / f"{each}.safetensors")[0] for each in ("whole", "quarter")
        )
        assert any(not torch.equal(first[name], whole[name]) for name in first)
        for name, tensor in quarter.items():
            own = before == "other" and name.startswith("classes.")
            expected = (
                whole[name]
                if own or not tensor.is_floating_point()
                else 0.75 * first[name] + 0.25 * whole[name]
            )
            torch.testing.assert_close(tensor, expected)


def test_a_blend_needs_something_to_blend_with() -> None:
    with pytest.raises(ConfigError, match=r"ensemble.blend: there is nothing to blend with"):
        parse({"phantom": {"subjects": 8}, "ensemble": {"blend": 0.5}}, "mine.yaml")


def test_of_other_classes_all_but_the_last_layer_is_taken(tmp_path: Path) -> None:
    first = build_network(SMALL, torch.Generator().manual_seed(1))
    save_network(tmp_path / "first.safetensors", first, SMALL, {"classes": CLASSES})
    for classes in (CLASSES, ("bar", "disc", "none"), ("disc", "bar", "cross", "none")):
        net = replace(SMALL, classes=len(classes))
        mine, drawn = (build_network(net, torch.Generator().manual_seed(2)) for _ in range(2))
        load_beginning(mine, net, tmp_path / "first.safetensors", classes)
        *body, weights, bias = mine.state_dict().items()
        assert all(torch.equal(tensor, first.state_dict()[name]) for name, tensor in body)
        kept = (first if classes == CLASSES else drawn).state_dict()
        assert all(torch.equal(tensor, kept[name]) for name, tensor in (weights, bias))


def test_a_network_of_another_shape_is_refused_with_what_differs(tmp_path: Path) -> None:
    save_network(tmp_path / "first.safetensors", build_network(SMALL), SMALL, {"classes": CLASSES})
    other = replace(SMALL, inputs=("slice", "millimetres"))
    with pytest.raises(
        ModelError, match=r"its inputs slice, here slice, millimetres.*begin-other-network"
    ):
        load_beginning(build_network(other), other, tmp_path / "first.safetensors", CLASSES)


def test_a_network_that_is_not_the_one_its_ensemble_names_is_not_begun_with(tmp_path: Path) -> None:
    """A copy in which a bit has turned would be trained from, and nobody would know."""
    path = save_network(
        tmp_path / "first.safetensors", build_network(SMALL), SMALL, {"classes": CLASSES}
    )
    begin = beginning({}, checksum(path), path)
    refuse_other_inputs([begin], ("slice",), "gap")
    damaged = bytearray(path.read_bytes())
    damaged[-1] ^= 1
    path.write_bytes(damaged)
    with pytest.raises(ModelError, match="weights-damaged"):
        refuse_other_inputs([begin], ("slice",), "gap")


def test_the_nearest_of_the_same_architecture_is_begun_with() -> None:
    """The learning rate first, in ratio, then the batch; of equally near ones the better."""
    members = [
        beginning({"log10_learning_rate": -1, "log2_batch": 5}, "a"),
        beginning({"log10_learning_rate": -3, "log2_batch": 3}, "b"),
        beginning({"log10_learning_rate": -1, "log2_batch": 3}, "c"),
        beginning({"blocks": 5}, "d"),
    ]

    def begun(**levels: object) -> str:
        return nearest_beginning(members, {**PLAIN, **levels}).sha256

    assert (
        begun(log10_learning_rate=-1, log2_batch=3) == "c"
        and begun(log10_learning_rate=-1, log2_batch=5) == "a"
    )
    assert (
        begun(log10_learning_rate=-2, log2_batch=4) == "a"
        and begun(log10_learning_rate=-2.1) == "b"
        and begun(blocks=5) == "d"
    )
    assert (
        nearest_beginning(
            members, axes.change_levels(PLAIN, {"learning_rate": 0.002, "batch": 8})
        ).sha256
        == "b"
    )
    assert begun(blocks=5, widen=1, stride=1, block="plain", norm="none") == "d", (
        "given or not, it is the same network"
    )
    for other in ({"kernel": 5}, {"blocks": 5, "widen": 2}):
        with pytest.raises(ModelError, match="begin-none-fits"):
            begun(**other)


def test_the_space_of_members_is_their_configurations_and_no_other() -> None:
    facts = read_ensemble_facts(SHIPPED_NETWORKS)
    space = space_of_members(beginnings_of_ensemble(SHIPPED_NETWORKS, facts))
    assert [space.configuration(row) for row in range(len(space))] == [
        member["configuration"] for member in facts["members"]
    ]


def test_shipped_networks_are_the_space_and_the_best_of_them_the_start() -> None:
    raw = {
        "phantom": {"subjects": 8},
        "training": {"begin": "shipped", "inputs": [*INPUTS]},
        "search": {"space": "members"},
    }
    settings = parse(raw, "mine.yaml")
    best = read_ensemble_facts(SHIPPED_NETWORKS)["members"][0]["configuration"]
    assert start_configuration(settings) == search_space(settings).configuration(0) == best


@pytest.mark.parametrize(
    "raw", [{"training": {"begin": "shipped"}}, {"search": {"space": "members"}}]
)
def test_networks_to_begin_with_and_their_space_go_together(raw: dict[str, object]) -> None:
    with pytest.raises(ConfigError, match=r"training.begin and search.space: members go together"):
        parse({"phantom": {"subjects": 8}, **raw}, "mine.yaml")


def test_other_inputs_than_the_networks_are_refused_before_anything_is_trained() -> None:
    raw = {
        "phantom": {"subjects": 8},
        "training": {"begin": "shipped", "inputs": ["slice"]},
        "search": {"space": "members"},
    }
    with pytest.raises(
        ModelError,
        match=r"its inputs slice, millimetres, sections, here slice; set training.inputs",
    ):
        search_space(parse(raw, "mine.yaml"))


def test_a_folder_that_is_no_ensemble_is_reported(tmp_path: Path) -> None:
    for folder, seen in (
        (tmp_path / "nowhere", "no such folder"),
        (tmp_path, "no readable ensemble.json"),
    ):
        with pytest.raises(ModelError, match=rf"{seen}.*begin-missing"):
            read_ensemble_facts(folder)
