"""Networks of layers learn by each optimiser, and what is killed goes on to the same bits."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from itertools import product
from pathlib import Path

import numpy as np
import pytest
import torch

from fovnet.errors import ModelError
from fovnet.net.family.architecture import Architecture
from fovnet.net.family.layered import ACTIVATIONS, Convolution, Layered
from fovnet.net.family.layered_configuration import NUMBERS_BY_OPTIMISER, OptimiserChoice
from fovnet.net.family.weights import load_network, load_tensors, save_network
from fovnet.net.images.inputs import scale_to_unit_range
from fovnet.net.inference.member_outputs import compute_member_outputs
from fovnet.net.paths import checkpoint_path_of
from fovnet.net.recipe import Recipe
from fovnet.net.training.optimisers import make_optimiser
from fovnet.net.training.train import Ending, TrainingData, begin_training, train_network
from fovnet.net.training.warm_start import Beginning, refuse_other_inputs

NET = Layered(
    (Convolution(4, 5, 2, 0, 4), Convolution(6, 3, 1, 1, 2)), (12,), classes=3, dropout=0.2
)
CHOICES = {
    "sgd": OptimiserChoice("sgd", 0.02, {"momentum": 0.8, "dampening": 0.1, "decay": 1e-4}),
    "sgd without momentum": OptimiserChoice(
        "sgd", 0.05, {"momentum": 0.0, "dampening": 0.0, "decay": 0.0}
    ),
    "adam": OptimiserChoice("adam", 0.003, NUMBERS_BY_OPTIMISER["adam"]),
    "adagrad": OptimiserChoice(
        "adagrad", 0.02, {"rate_decay": 1e-3, "initial": 0.01, "decay": 1e-6}
    ),
    "rmsprop": OptimiserChoice("rmsprop", 0.002, NUMBERS_BY_OPTIMISER["rmsprop"]),
    "rmsprop with momentum": OptimiserChoice(
        "rmsprop", 0.001, {"momentum": 0.5, "smoothing": 0.9, "decay": 1e-5}
    ),
}


def train(
    data: TrainingData,
    recipe: Recipe,
    weights_path: Path,
    choice: OptimiserChoice,
    net: Layered = NET,
    **more: object,
) -> Ending:
    return train_network(
        net,
        learning_rate=choice.rate,
        batch_size=8,
        seed=5,
        data=data,
        recipe=recipe,
        weights_path=weights_path,
        network_facts={},
        optimiser=choice,
        **more,  # type: ignore[arg-type]
    )


@pytest.mark.parametrize("choice", CHOICES.values(), ids=CHOICES)
def test_a_training_that_goes_on_after_each_epoch_ends_with_the_bits_of_one_at_a_stretch(
    choice: OptimiserChoice, shapes: TrainingData, recipe: Recipe, tmp_path: Path
) -> None:
    """With dropout, whose numbers are the training's own, and averaged weights: the optimiser's state, its
    counts of steps among it, is in the checkpoint."""
    recipe = replace(recipe, epochs=3, averaging=0.9)
    whole = train(shapes, recipe, tmp_path / "whole.safetensors", choice)
    assert whole.status == "completed"
    assert whole.training_losses[2] < whole.training_losses[0]
    torch.manual_seed(1)  # no number of torch's own generator is used
    for epochs in (1, 2, 3):
        parts = train(
            shapes, replace(recipe, epochs=epochs), tmp_path / "parts.safetensors", choice
        )
    assert parts.validation_losses == whole.validation_losses
    assert parts.training_losses == whole.training_losses
    whole_state, _ = load_tensors(checkpoint_path_of(tmp_path / "whole.safetensors"))
    parts_state, _ = load_tensors(checkpoint_path_of(tmp_path / "parts.safetensors"))
    assert whole_state.keys() == parts_state.keys()
    for name, tensor in whole_state.items():
        assert torch.equal(tensor, parts_state[name]), name


def state_names(
    choice: OptimiserChoice, data: TrainingData, recipe: Recipe, path: Path
) -> set[str]:
    """What the checkpoint has of the last layer's biases besides weights and their average."""
    train(data, replace(recipe, epochs=1), path, choice)
    tensors, _ = load_tensors(checkpoint_path_of(path))
    return {name.removesuffix(".classes.bias") for name in tensors if name.endswith("classes.bias")}


def test_a_checkpoint_names_the_state_of_an_optimiser_by_its_keys(
    shapes: TrainingData, recipe: Recipe, tmp_path: Path
) -> None:
    wanted: Mapping[str, set[str]] = {
        "sgd": {"model", "momentum"},
        "sgd without momentum": {"model"},
        "adam": {"model", "state.step", "state.exp_avg", "state.exp_avg_sq"},
        "adagrad": {"model", "state.step", "state.sum"},
        "rmsprop": {"model", "state.step", "state.square_avg"},
        "rmsprop with momentum": {
            "model",
            "state.step",
            "state.square_avg",
            "state.momentum_buffer",
        },
    }
    for index, (name, choice) in enumerate(CHOICES.items()):
        names = state_names(choice, shapes, recipe, tmp_path / f"{index}.safetensors")
        assert names == wanted[name]


@pytest.mark.parametrize("change", [{"dropout": 0.3}, {"activation": "tanh"}])
def test_a_checkpoint_of_another_network_or_optimiser_is_not_gone_on_with(
    change: dict[str, object], shapes: TrainingData, recipe: Recipe, tmp_path: Path
) -> None:
    one_epoch = replace(recipe, epochs=1)
    choice = CHOICES["adam"]
    path = tmp_path / "net.safetensors"
    train(shapes, one_epoch, path, choice, replace(NET, **change))  # type: ignore[arg-type]
    alone = train(shapes, one_epoch, tmp_path / "alone.safetensors", choice)
    assert train(shapes, one_epoch, path, choice).validation_losses == alone.validation_losses
    slower = replace(choice, numbers={**choice.numbers, "beta1": 0.5})
    other = train(shapes, one_epoch, path, slower)
    assert other.validation_losses != alone.validation_losses


def published_step(choice: OptimiserChoice, weight: float, gradients: list[float]) -> float:
    """The weight after steps with these gradients, by the rules as published, in double precision."""
    numbers = choice.numbers
    first, second, momentum = 0.0, numbers.get("initial", 0.0), 0.0
    for step, raw_gradient in enumerate(gradients, start=1):
        gradient = raw_gradient + numbers["decay"] * weight
        if choice.name == "sgd":
            is_first = step == 1
            kept_share = 1.0 if is_first else 1 - numbers["dampening"]
            momentum = numbers["momentum"] * momentum + kept_share * gradient
            weight -= choice.rate * momentum
        elif choice.name == "adam":
            first = numbers["beta1"] * first + (1 - numbers["beta1"]) * gradient
            second = numbers["beta2"] * second + (1 - numbers["beta2"]) * gradient**2
            unbiased_first = first / (1 - numbers["beta1"] ** step)
            unbiased_second = second / (1 - numbers["beta2"] ** step)
            weight -= choice.rate * unbiased_first / (unbiased_second**0.5 + 1e-8)
        elif choice.name == "adagrad":
            second += gradient**2
            rate = choice.rate / (1 + (step - 1) * numbers["rate_decay"])
            weight -= rate * gradient / (second**0.5 + 1e-10)
        else:
            smoothing = numbers["smoothing"]
            second = smoothing * second + (1 - smoothing) * gradient**2
            momentum = numbers["momentum"] * momentum + gradient / (second**0.5 + 1e-8)
            weight -= choice.rate * momentum
    return weight


@pytest.mark.parametrize("choice", CHOICES.values(), ids=CHOICES)
def test_an_optimiser_takes_the_steps_of_its_publication(choice: OptimiserChoice) -> None:
    """Each number of a branch is where it belongs: four steps of one weight by Sutskever et al. (2013, with
    dampening as torch documents it), Kingma & Ba (2015), Duchi et al. (2011), Tieleman & Hinton (2012)."""
    weight = torch.tensor([0.7], requires_grad=True)
    optimiser = make_optimiser(choice, [weight], choice.rate, torch.device("cpu"))
    gradients = [0.5, -1.25, 2.0, 0.25]
    for gradient in gradients:
        weight.grad = torch.tensor([gradient])
        optimiser.step()
    assert float(weight.detach()) == pytest.approx(published_step(choice, 0.7, gradients), rel=1e-5)


def test_networks_of_the_papers_family_are_trained_as_before() -> None:
    """Stochastic gradient descent with Nesterov's momentum 0.9: nothing else is asked for."""
    progress = begin_training(
        Architecture(1, 1, 1, 3, False, classes=3, head="gap"), 0.1, 0, torch.device("cpu")
    )
    group = progress.optimiser.param_groups[0]
    assert (group["momentum"], group["nesterov"], group["weight_decay"]) == (0.9, True, 0)


@pytest.mark.parametrize(
    ("name", "activation"),
    [*product(["adam"], ACTIVATIONS), ("sgd", "relu"), ("adagrad", "tanh"), ("rmsprop", "sigmoid")],
)
def test_a_trained_network_answers_from_its_file_as_in_memory(
    name: str, activation: str, shapes: TrainingData, recipe: Recipe, tmp_path: Path
) -> None:
    """Probabilities to the bit, and without dropout: twice the same."""
    net = replace(NET, activation=activation)
    path = tmp_path / "net.safetensors"
    ending = train(shapes, replace(recipe, epochs=1), path, CHOICES[name], net)
    assert ending.status == "completed"
    network, facts = load_network(path, torch.device("cpu"))
    assert facts["architecture"]["family"] == "layers"
    images = scale_to_unit_range(shapes.slices[:4])
    again, _ = load_network(
        save_network(tmp_path / "again.safetensors", network, net, {}), images.device
    )
    with torch.inference_mode():
        assert torch.equal(network(images), again(images))
        assert torch.equal(network(images), network(images))


def test_members_of_both_families_answer_together(tmp_path: Path, shapes: TrainingData) -> None:
    """Probabilities (p, s, k) of all, features of each watched map; of the picture where there is no
    convolution."""
    nets = [
        Architecture(2, 1, 2, 3, False, classes=3, head="gap"),
        NET,
        replace(NET, conv=(Convolution(5, 9, 4),)),
        Layered((), (4,), classes=3),
    ]
    members = []
    for index, net in enumerate(nets):
        progress = begin_training(net, 0.1, index, torch.device("cpu"))
        path = save_network(tmp_path / f"{index}.safetensors", progress.model, net, {})
        members.append(load_network(path, torch.device("cpu"))[0])
    pixels = shapes.slices[:3].numpy()
    probabilities, features = compute_member_outputs(members, pixels, torch.device("cpu"))
    assert probabilities.shape == (4, 3, 3)
    np.testing.assert_allclose(probabilities.sum(axis=2), 1, rtol=1e-5)
    assert features.shape == (3, 2 * 4 + (4 + 6) + 5 + 1)
    alone, features_alone = compute_member_outputs(members[1:2], pixels, torch.device("cpu"))
    np.testing.assert_allclose(alone[0], probabilities[1], atol=1e-6)
    np.testing.assert_allclose(features_alone, features[:, 8:18], rtol=1e-5)


def test_a_family_of_a_later_version_is_named(tmp_path: Path) -> None:
    progress = begin_training(NET, 0.1, 0, torch.device("cpu"))
    facts = {"architecture": {"family": "graphs", "edges": 3}}
    path = save_network(tmp_path / "net.safetensors", progress.model, NET, facts)
    with pytest.raises(ModelError) as refused:
        load_network(path, torch.device("cpu"))
    assert refused.value.code == "weights-unknown"
    assert "family 'graphs'; known is layers; another version of fovnet made it" in (
        refused.value.sentence
    )


def test_networks_of_layers_are_not_trained_further() -> None:
    member = Beginning({"conv": 1, "conv.1.channels": 4}, Path("member.safetensors"), "0" * 64)
    with pytest.raises(ModelError) as refused:
        refuse_other_inputs([member], ["slice"], "fc")
    assert refused.value.code == "begin-other-network"
    assert refused.value.sentence.startswith("member.safetensors: a network of layers; only")


def test_a_training_does_not_begin_with_a_network_of_another_family(
    tmp_path: Path, shapes: TrainingData, recipe: Recipe
) -> None:
    paper = Architecture(2, 1, 2, 3, False, classes=3, head="gap")
    progress = begin_training(paper, 0.1, 0, torch.device("cpu"))
    path = save_network(tmp_path / "begin.safetensors", progress.model, paper, {})
    ending = train(
        shapes,
        replace(recipe, epochs=1),
        tmp_path / "net.safetensors",
        CHOICES["sgd"],
        beginning=Beginning({}, path, "0" * 64),
    )
    assert ending.status == "error"
    assert "its network is of another family" in ending.message
