"""What the last layer is given, and networks with another one."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
import torch
from scipy.special import softmax

from fovnet.maths.softmax_regression import scores
from fovnet.net.family.architecture import architecture_of_configuration
from fovnet.net.family.model import build_network
from fovnet.net.family.weights import load_network, save_network
from fovnet.net.inference.last_layer import (
    HeadlessNetworks,
    read_last_layer,
    write_with_last_layer,
)
from fovnet.net.inference.member_outputs import compute_member_probabilities

CONFIGURATION = {"blocks": 4, "convolutions": 1, "log2_filters": 2, "kernel": 3, "separable": False}
CPU = torch.device("cpu")


@pytest.fixture(params=["gap", "small"])
def network(request: pytest.FixtureRequest, tmp_path: Path) -> Path:
    net = architecture_of_configuration(CONFIGURATION, classes=5, head=request.param)
    drawn = build_network(net, torch.Generator().manual_seed(3))
    return save_network(tmp_path / "drawn.safetensors", drawn, net, {})


@pytest.fixture
def pixels() -> np.ndarray:
    return np.random.default_rng(2).integers(0, 256, (70, 128, 128)).astype(np.uint8)


def test_the_last_layer_of_what_it_is_given_is_what_the_network_says(
    network: Path, pixels: np.ndarray
) -> None:
    rows = np.arange(0, 70, 3)
    both = HeadlessNetworks.load([network, network], CPU).compute_features(pixels, rows, None)
    given = np.split(both, 2, axis=1)
    assert len(both) == len(rows) and (given[0] == given[1]).all()
    said = compute_member_probabilities([load_network(network, CPU)[0]], pixels, CPU, None, rows)[0]
    ours = softmax(scores(given[0].astype(float), read_last_layer(network)), axis=1)
    assert ours == pytest.approx(said, abs=1e-5)


def test_another_last_layer_changes_nothing_before_it(
    network: Path, pixels: np.ndarray, tmp_path: Path
) -> None:
    weight, bias = read_last_layer(network)
    other = write_with_last_layer(network, tmp_path / "other.safetensors", (2 * weight, bias + 1))
    rows = np.arange(5)
    mine, theirs = (
        HeadlessNetworks.load([one], CPU).compute_features(pixels, rows, None)
        for one in (network, other)
    )
    assert (mine == theirs).all()
    assert read_last_layer(other)[0] == pytest.approx(2 * weight)
    assert read_last_layer(other)[1] == pytest.approx(bias + 1)
    assert load_network(other, CPU)[1] == load_network(network, CPU)[1]
