"""Answers from what the last layers are given: as from pixels, which are no longer needed."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
import torch
from torch import nn

from fovnet.decision.ensemble import Ensemble
from fovnet.decision.layer_inputs import LayerInputs, measure_layer_inputs
from fovnet.decision.rule import Rule
from fovnet.maths.softmax_regression import Layer
from fovnet.net.family.architecture import Architecture
from fovnet.net.family.model import build_network
from fovnet.net.inference.last_layer import HeadlessNetworks
from fovnet.net.inference.torch_engine import TorchEngine
from fovnet.regions import DEFAULT, NINE, Vocabulary
from fovnet.volume.slices.stack import SliceStack
from tests.decision.measured import stack_of

CPU = torch.device("cpu")
ROUNDING = 2e-3
"""Of probabilities, where features have the eleven bits of half precision."""


def networks_of(inputs: tuple[str, ...], vocabulary: Vocabulary) -> list[nn.Module]:
    net = Architecture(4, 1, 2, 3, False, len(vocabulary.classes), "small", inputs=inputs, stride=2)
    return [build_network(net, torch.Generator().manual_seed(seed)).eval() for seed in (1, 2)]


def ensemble_and_layers(
    *inputs: str, vocabulary: Vocabulary = DEFAULT
) -> tuple[Ensemble, HeadlessNetworks, list[Layer]]:
    members = networks_of(inputs, vocabulary)
    layers = [
        (
            member.classes.weight.detach().double().numpy(),
            member.classes.bias.detach().double().numpy(),
        )
        for member in members
    ]
    ensemble = Ensemble(vocabulary, {}, Rule(weights=(0.7, 0.3)), TorchEngine(members, CPU), "")
    headless_members = networks_of(inputs, vocabulary)
    for member in headless_members:
        member.classes = nn.Identity()
    return ensemble, HeadlessNetworks(headless_members, CPU), layers


def half_dark_stack(seed: int) -> SliceStack:
    """Six dark slices below nine bright ones, the topmost of air."""
    rng = np.random.default_rng(seed)
    disc = np.hypot(*(np.mgrid[:128, :128] - 63.5)) < rng.integers(20, 55)
    brightness = np.repeat([9, 255], (6, 9))[:, None, None]
    pixels = (rng.random((15, 128, 128)) * brightness * disc).astype(np.uint8)
    pixels[-1] = 0
    return stack_of(pixels)


def through_a_file(inputs: LayerInputs) -> LayerInputs:
    return LayerInputs.from_arrays(inputs.to_arrays())


@pytest.mark.parametrize("inputs", [("slice",), ("slice", "sections")])
@pytest.mark.parametrize(("seed", "vocabulary"), [(1, DEFAULT), (2, DEFAULT), (2, NINE)])
def test_networks_say_of_what_their_last_layers_are_given_what_they_say_of_pixels(
    inputs: tuple[str, ...], seed: int, vocabulary: Vocabulary
) -> None:
    ensemble, headless, layers = ensemble_and_layers(*inputs, vocabulary=vocabulary)
    stack = half_dark_stack(seed)
    measured = measure_layer_inputs(headless, ensemble, stack, is_answered=True)
    outputs = through_a_file(measured).compute_outputs(layers, ensemble.judge, stack.edges_mm)
    expected = ensemble.compute_volume_outputs(stack)
    for field in (
        "member_probabilities",
        "turned_probabilities",
        "brightened_probabilities",
        "part_probabilities",
    ):
        actual_array, expected_array = getattr(outputs, field), getattr(expected, field)
        assert (actual_array is None) == (expected_array is None), field
        if expected_array is not None:
            np.testing.assert_allclose(actual_array, expected_array, atol=ROUNDING, err_msg=field)


def test_an_answer_needs_no_pixels_where_they_were_measured_before() -> None:
    ensemble, headless, layers = ensemble_and_layers("slice", "sections")
    stack = half_dark_stack(3)
    measured = measure_layer_inputs(headless, ensemble, stack, is_answered=True)
    outputs = through_a_file(measured).compute_outputs(layers, ensemble.judge, stack.edges_mm)
    without_pixels = replace(stack, pixels=stack.pixels[:0])
    recorded = ensemble.judge.answer("v", "v.nii", outputs, without_pixels)
    expected = ensemble.judge.answer("v", "v.nii", replace(outputs, picture=None), stack)
    assert recorded.signs is not None and expected.signs is not None
    value_by_code = expected.signs.value_by_code
    assert (
        recorded.signs.value_by_code.keys() == value_by_code.keys() and value_by_code["too-small"]
    )
    for code, value in recorded.signs.value_by_code.items():
        np.testing.assert_equal(value, value_by_code[code], err_msg=code)
    assert recorded.statements == expected.statements and recorded.doubts == expected.doubts
    assert recorded.decision is not None and expected.decision is not None
    assert recorded.decision.spans == expected.decision.spans


def test_a_volume_that_is_only_learned_from_has_its_slices_as_they_are_alone() -> None:
    ensemble, headless, _ = ensemble_and_layers("slice", "sections")
    stack = half_dark_stack(4)
    inputs = through_a_file(measure_layer_inputs(headless, ensemble, stack, is_answered=False))
    assert len(inputs.upright) == len(stack.pixels)
    assert inputs.turned is None and inputs.picture is None and not len(inputs.dark_rows)


def test_features_too_large_for_half_precision_stay_as_they_are() -> None:
    ensemble, headless, _ = ensemble_and_layers("slice")
    huge = HeadlessNetworks(
        [nn.Sequential(member, _Times(1e7)) for member in headless.members], CPU
    )
    inputs = measure_layer_inputs(huge, ensemble, half_dark_stack(5), is_answered=False)
    assert np.isfinite(inputs.upright).all() and inputs.upright.max() > 65504


class _Times(nn.Module):
    def __init__(self, factor: float) -> None:
        super().__init__()
        self.factor = factor

    def forward(self, values: torch.Tensor) -> torch.Tensor:
        return values * self.factor
