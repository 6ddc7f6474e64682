"""Networks of layers: their shapes and weights are torch's own, and known ones those of the sources."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
import torch
from hypothesis import assume, given, settings
from hypothesis import strategies as st
from torch import nn

from fovnet.errors import SearchError
from fovnet.net.cost.layered import predict_point_cost
from fovnet.net.family.dropout import keep_units
from fovnet.net.family.layered import (
    ACTIVATIONS,
    Convolution,
    Layered,
    describe_shape_fault,
    measure_sides,
)
from fovnet.net.family.layered_configuration import (
    NUMBERS_BY_OPTIMISER,
    OptimiserChoice,
    layered_of_configuration,
    optimiser_of_configuration,
)
from fovnet.net.family.layered_model import build_layered_network

RMSPROP = {"optimiser": "rmsprop", "optimiser.rate": 0.001, "optimiser.momentum": 0.0}
RMSPROP |= {"optimiser.smoothing": 0.99, "optimiser.decay": 0.0}
THIRTEEN = [64, 64, 128, 128, 256, 256, 256, 512, 512, 512, 512, 512, 512]
AFTER_A_POOLING = (2, 4, 7, 10, 13)


def point(conv: list[tuple[int, ...]], dense: list[int], **more: Any) -> dict[str, Any]:
    """A configuration as it is written flat: copies of dense layers are numbered from the classes."""
    names = Convolution._fields
    written: dict[str, Any] = {"conv": len(conv)}
    for number, layer in enumerate(conv, start=1):
        written |= {
            f"conv.{number}.{name}": value for name, value in zip(names, layer, strict=True)
        }
    written["dense"] = len(dense)
    written |= {
        f"dense.{number}.size": size for number, size in enumerate(reversed(dense), start=1)
    }
    return {**written, **RMSPROP, "batch": 128, "dropout": 0.5, "activation": "relu", **more}


def thirteen_convolutions() -> dict[str, Any]:
    layers = [
        (channels, 3, 1, 1, 2 if number in AFTER_A_POOLING else 1)
        for number, channels in enumerate(THIRTEEN, start=1)
    ]
    return point(layers, [])


# weights without the normalisation's four a channel; last column without the channel of ones
KNOWN = [
    (point([(6, 5, 1, 0, 1)] * 2, [128, 128]), 22, (28, 1, 10), 20, 326_192, 0.77),
    (point([(6, 5, 1, 0, 1)], [128, 128]), 17, (28, 1, 10), 24, 460_454, 0.55),
    (point([(6, 5, 1, 0, 1)], [128, 128]), 17, (128, 1, 7), 124, 11_826_467, 14.1),
    (point([(6, 5, 1, 2, 2), (16, 5, 1, 0, 2)], [120, 84]), 22, (28, 1, 10), 5, 61_706, 0.42),
    (point([(6, 5, 2, 0, 2), (16, 5, 1, 0, 2)], [120, 84]), 22, (128, 1, 7), 13, 337_931, 2.66),
    (thirteen_convolutions(), 75, (32, 3, 10), 1, 14_719_818, 313),
    (thirteen_convolutions(), 75, (128, 1, 7), 4, 14_770_887, 4_992),
]
INPUTS_OF_CHANNELS = {1: ("slice",), 3: ("slice", "neighbours")}


@pytest.mark.parametrize(
    ("configuration", "variables", "picture", "last_side", "weights", "millions"), KNOWN
)
def test_known_networks_have_their_variables_weights_and_multiply_adds(
    configuration: dict[str, Any],
    variables: int,
    picture: tuple[int, int, int],
    last_side: int,
    weights: int,
    millions: float,
) -> None:
    """HyperNOMAD's starts of 17, 22 and 75 = 5 n1 + n2 + 10 variables, and LeNet-5's 61,706 weights
    (LeCun et al., 1998, with dense layers of full connection)."""
    assert len(configuration) == variables
    side, channels, classes = picture
    net = layered_of_configuration(
        configuration, classes=classes, side=side, inputs=INPUTS_OF_CHANNELS[channels]
    )
    assert net.sides[-1].pooled == last_side
    assert net.weight_count == weights + 4 * channels
    cost = predict_point_cost(configuration, classes, side, net.inputs)
    multiply_adds_of_ones = (
        net.sides[0].output ** 2 * net.conv[0].kernel ** 2 * net.conv[0].channels
    )
    multiply_adds = float(cost.forward_flop) / 2 - multiply_adds_of_ones
    assert multiply_adds == pytest.approx(1e6 * millions, rel=0.013)
    optimiser_of_configuration(configuration)


convolutions = st.builds(
    Convolution,
    st.integers(1, 6),
    st.integers(1, 9),
    st.integers(1, 3),
    st.integers(0, 4),
    st.integers(1, 5),
)
networks = st.builds(
    dict,
    conv=st.lists(convolutions, max_size=4).map(tuple),
    dense=st.lists(st.integers(1, 20), max_size=3).map(tuple),
    activation=st.sampled_from(ACTIVATIONS),
    dropout=st.sampled_from([0.0, 0.3]),
    inputs=st.sampled_from([("slice",), ("slice", "millimetres")]),
)


@settings(max_examples=40, deadline=None)
@given(networks)
def test_weights_and_sides_are_those_of_the_network_really_built(shape: dict[str, Any]) -> None:
    assume(not describe_shape_fault(shape["conv"], 28))
    net = Layered(classes=5, side=28, **shape)
    model = build_layered_network(net, torch.Generator().manual_seed(0))
    stored = [
        tensor
        for name, tensor in model.state_dict().items()
        if not name.endswith("num_batches_tracked")
    ]
    assert net.weight_count == sum(tensor.numel() for tensor in stored)
    sides = []
    for layer in model.modules():
        if isinstance(layer, nn.Conv2d | nn.MaxPool2d):
            layer.register_forward_hook(lambda _, __, given: sides.append(given.shape[-1]))
    images = torch.rand(2, net.channel_count, 28, 28)
    with torch.no_grad():
        scores = nn.Sequential.forward(model.eval(), images)  # hooks see every layer
    assert scores.shape == (2, 5)
    wanted = []
    for layer, layer_sides in zip(net.conv, net.sides, strict=True):
        wanted += [layer_sides.output] + [layer_sides.pooled] * (layer.pooling > 1)
    assert sides == wanted


@settings(max_examples=80, deadline=None)
@given(st.lists(convolutions, min_size=1, max_size=4))
def test_what_does_not_fit_fails_in_torch_or_pads_past_its_kernel(
    conv: list[Convolution],
) -> None:
    """And what fits runs: torch refuses a kernel or a pooling larger than the picture."""
    layers: list[nn.Module] = []
    channels = 1
    for layer in conv:
        layers += [
            nn.Conv2d(channels, layer.channels, layer.kernel, layer.stride, layer.padding),
            nn.MaxPool2d(layer.pooling),
        ]
        channels = layer.channels
    fails = False
    try:
        nn.Sequential(*layers)(torch.zeros(1, 1, 16, 16))
    except RuntimeError:
        fails = True
    pads_past_kernel = any(layer.padding >= layer.kernel for layer in conv)
    assert bool(describe_shape_fault(conv, 16)) == (fails or pads_past_kernel)


@pytest.mark.parametrize(
    ("conv", "sentence"),
    [
        (
            [Convolution(4, 3, 2), Convolution(4, 7, 1, 2)],
            "conv.2.kernel 7 is larger than the picture there, 2 + 2 × 2 pixels",
        ),
        ([Convolution(4, 3, 1, 3)], "conv.1.padding 3 is not below kernel 3"),
        (
            [Convolution(4, 2, 1), Convolution(4, 2, 1, 0, 4)],
            "conv.2.pooling 4 is larger than the map there, 3 pixels",
        ),
    ],
)
def test_a_shape_that_cannot_be_names_the_layer_the_value_and_the_pixels_there(
    conv: list[Convolution], sentence: str
) -> None:
    assert describe_shape_fault(conv, 5) == sentence
    with pytest.raises(ValueError, match=r"there|below"):
        Layered(tuple(conv), (), classes=3, side=5)


def test_sides_round_down_as_in_a_worked_example() -> None:
    """128: ⌊(128 - 5) / 2⌋ + 1 = 62, pooled 31; 31 - 5 + 1 = 27, pooled 13."""
    sides = measure_sides([Convolution(6, 5, 2, 0, 2), Convolution(16, 5, 1, 0, 2)], 128)
    assert [tuple(layer_sides) for layer_sides in sides] == [(62, 31), (27, 13)]


@pytest.mark.parametrize("training", [True, False])
@pytest.mark.parametrize(
    "conv", [(), (Convolution(3, 5, 2, 2, 2), Convolution(4, 3)), (Convolution(4, 1, 3),)]
)
def test_the_normalisation_is_that_of_layers_called_one_after_another(
    conv: tuple[Convolution, ...], training: bool
) -> None:
    """Folded into the first convolution, zero padding included; of a network without one, done on the
    picture."""
    net = Layered(conv, (7,), classes=3, side=20, activation="tanh", inputs=("slice", "neighbours"))
    model = build_layered_network(net, torch.Generator().manual_seed(1)).double()
    with torch.no_grad():
        model.normalise.weight.copy_(1.7 + torch.arange(net.channel_count))
        model.normalise.bias.copy_(0.3 - torch.arange(net.channel_count))
    slices = torch.rand(6, net.channel_count, 20, 20, dtype=torch.double)
    seen = []
    for forward in (model.forward, lambda x: nn.Sequential.forward(model, x)):
        model.train(training).zero_grad()
        model.normalise.reset_running_stats()
        scores = forward(slices)
        scores.square().sum().backward()
        gradients = [parameter.grad.clone() for parameter in model.parameters()]
        statistics = [model.normalise.running_mean.clone(), model.normalise.running_var.clone()]
        seen.append([scores.detach(), *gradients, *statistics])
    for ours, theirs in zip(*seen, strict=True):
        torch.testing.assert_close(ours, theirs)


def test_a_convolution_of_single_pixels_is_that_of_the_pixels_it_reads() -> None:
    """Its numbers and gradients, where a stride leaves pixels out, by a product of matrices."""
    net = Layered((Convolution(4, 3), Convolution(5, 1, 3)), (), 2, side=16)
    convolution = build_layered_network(net, torch.Generator().manual_seed(3)).get_submodule(
        "conv1"
    )
    maps = torch.rand(2, 4, 14, 14, generator=torch.Generator().manual_seed(4), requires_grad=True)
    output = convolution(maps)
    weight, bias = convolution.weight.detach(), convolution.bias.detach()
    read = maps.detach()[:, :, ::3, ::3]
    expected = torch.einsum("fc,nchw->nfhw", weight[:, :, 0, 0], read) + bias[:, None, None]
    torch.testing.assert_close(output, expected)
    output.square().sum().backward()
    torch.testing.assert_close(
        convolution.weight.grad[:, :, 0, 0], torch.einsum("nfhw,nchw->fc", 2 * expected, read)
    )
    assert torch.count_nonzero(maps.grad) == read.numel()


def test_units_are_kept_by_the_hash_of_unsigned_numbers() -> None:
    """Against the same formula in Python's own whole numbers, which never wrap."""

    def mix(x: int) -> int:
        x ^= x >> 16
        x = x * 0x7FEB352D % 2**32
        x ^= x >> 15
        x = x * 0x846CA68B % 2**32
        return x ^ (x >> 16)

    draws = torch.rand(5, generator=torch.Generator().manual_seed(3))
    for layer, rate in ((0, 0.3), (3, 0.7)):
        wanted = []
        for draw in draws.tolist():
            a = int(draw * 2**32)
            hashes = [
                mix((a + 0x9E3779B1 * unit + 0x85EBCA6B * (layer + 1)) % 2**32)
                for unit in range(40)
            ]
            wanted.append([mix((h + a) % 2**32) >= rate * 2**32 for h in hashes])
        assert keep_units(draws, 40, layer, rate).tolist() == wanted


def test_units_are_left_out_as_often_as_said_and_independently() -> None:
    """4,096 x 512 units: shares within 5 standard errors; correlations of two units, and of a unit in two
    layers, spread as those of independent coins, 1/√n."""
    draws = torch.rand(4096, generator=torch.Generator().manual_seed(0))
    for rate in (0.1, 0.5, 0.8):
        share = float(keep_units(draws, 512, 0, rate).double().mean())
        error = np.sqrt(rate * (1 - rate) / (4096 * 512))
        assert abs(share - (1 - rate)) < 5 * error
    coins = [keep_units(draws, 512, layer, 0.5).double().numpy() * 2 - 1 for layer in (0, 1)]
    between_units = (coins[0].T @ coins[0] / 4096)[np.triu_indices(512, 1)]
    between_layers = (coins[0] * coins[1]).mean(axis=0)
    assert between_units.std() * np.sqrt(4096) == pytest.approx(1, abs=0.03)
    assert between_layers.std() * np.sqrt(4096) == pytest.approx(1, abs=0.12)


def test_what_is_left_out_of_a_point_has_its_usual_value() -> None:
    net = layered_of_configuration(
        {"conv": 1, "conv.1.channels": 4, "conv.1.kernel": 3, "rate": 0.01, "batch": 8},
        classes=3,
        inputs=("slice",),
    )
    assert net == Layered((Convolution(4, 3, 1, 0, 1),), (), classes=3)
    assert optimiser_of_configuration({"rate": 0.01}) == OptimiserChoice(
        "sgd", 0.01, {"momentum": 0.9, "dampening": 0.0, "decay": 0.0}
    )


def test_dense_layers_are_numbered_from_the_classes() -> None:
    net = layered_of_configuration(
        {"conv": 0, "dense": 2, "dense.1.size": 84, "dense.2.size": 120},
        classes=3,
        inputs=("slice",),
    )
    assert net.dense == (120, 84)


@pytest.mark.parametrize(
    ("change", "code", "words"),
    [
        (
            {"blocks": 3},
            "space-axes",
            "search.space: blocks: unknown; a network of layers has conv",
        ),
        ({"conv": 2}, "space-axes", "search.space: conv.2.channels: missing"),
        (
            {"conv.1.kernel": 200},
            "space-level",
            "conv.1.kernel 200; must be a whole number from 1 to 127",
        ),
        ({"conv.1.kernel": 4.0}, "space-level", "conv.1.kernel 4.0; must be a whole number"),
        (
            {"conv.1.pooling": 16},
            "space-level",
            "conv.1.pooling 16 is larger than the map there, 14 pixels",
        ),
        ({"dropout": 1.0}, "space-level", "dropout 1.0; must be from 0 to below 1"),
    ],
)
def test_a_point_of_another_family_or_shape_is_refused_in_words(
    change: dict[str, Any], code: str, words: str
) -> None:
    configuration = {**point([(4, 3, 1, 0, 1)], []), **change}
    with pytest.raises(SearchError) as refused:
        layered_of_configuration(configuration, classes=3, side=16, inputs=("slice",))
    assert refused.value.code == code
    assert words in refused.value.sentence


@pytest.mark.parametrize(
    ("change", "code", "words"),
    [
        ({"optimiser": "lion"}, "space-axes", "optimiser 'lion' without a rate, or unknown"),
        ({"optimiser.beta1": 0.9}, "space-axes", "optimiser.beta1: rmsprop has rate, momentum"),
        (
            {
                "optimiser": "adam",
                "optimiser.rate": 0.1,
                "optimiser.beta2": 1.0,
                "optimiser.momentum": None,
                "optimiser.smoothing": None,
            },
            "space-level",
            "optimiser.beta2 1; give less than 1",
        ),
    ],
)
def test_an_optimiser_that_cannot_be_is_refused_in_words(
    change: dict[str, Any], code: str, words: str
) -> None:
    configuration = {**RMSPROP, **change}
    configuration = {name: value for name, value in configuration.items() if value is not None}
    with pytest.raises(SearchError) as refused:
        optimiser_of_configuration(configuration)
    assert refused.value.code == code
    assert words in refused.value.sentence


def test_every_optimiser_takes_its_numbers_from_its_branch() -> None:
    for name, defaults in NUMBERS_BY_OPTIMISER.items():
        numbers = dict.fromkeys(defaults, 0.125)
        configuration = {f"optimiser.{number}": value for number, value in numbers.items()}
        chosen = optimiser_of_configuration(
            {"optimiser": name, "optimiser.rate": 0.5, **configuration}
        )
        assert chosen == OptimiserChoice(name, 0.5, numbers)
