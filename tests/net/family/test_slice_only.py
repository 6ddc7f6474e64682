"""Networks that see slices alone: their output is that of the network they were made of with black beside."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
import torch

from fovnet.net.family.architecture import INPUTS, Architecture
from fovnet.net.family.model import build_network
from fovnet.net.family.weights import load_network, load_tensors, save_network
from fovnet.net.images.augment import blacken_other_channels
from fovnet.net.recipe import Ranges, Recipe
from fovnet.net.training.precision import write_weights
from fovnet.net.training.train import place_on_device, train_network
from fovnet.volume.slices.placing import Placing

ALL = tuple(INPUTS)
AT = np.arange(128) - 63.5
CPU = torch.device("cpu")


@pytest.mark.parametrize("inputs", [("slice", "neighbours"), ALL])
def test_a_network_that_sees_slices_alone_says_what_the_other_says_with_black_beside_it(
    inputs: tuple[str, ...], tmp_path: Path
) -> None:
    net = Architecture(4, 1, 2, 3, False, 3, "gap", inputs=inputs)
    model = build_network(net, torch.Generator().manual_seed(1))
    shown = torch.rand((6, net.channel_count, 128, 128), generator=torch.Generator().manual_seed(2))
    model(shown)  # statistics that are not those of the beginning
    with torch.no_grad():
        model.normalise.weight.copy_(torch.linspace(0.5, 1.5, net.channel_count))
        model.normalise.bias.copy_(torch.linspace(-0.4, 0.6, net.channel_count))
    black = blacken_other_channels(shown, torch.zeros(6, 1))
    save_network(tmp_path / "all.safetensors", model, net, {})
    write_weights(
        tmp_path / "all.safetensors", tmp_path / "alone.safetensors", "float32", alone=True
    )
    blind, _ = load_network(tmp_path / "alone.safetensors", CPU)
    expected, found, otherwise = model.eval()(black), blind(shown), model(shown)
    torch.testing.assert_close(found, expected, atol=1e-5, rtol=1e-4)
    assert not torch.allclose(otherwise, expected, atol=1e-3)
    kept = load_tensors(tmp_path / "alone.safetensors")[0]
    assert all(torch.equal(tensor, kept[name]) for name, tensor in model.state_dict().items()), (
        "what it learned of the rest stays"
    )


def test_what_a_network_learns_from_slices_shown_alone_it_needs_nothing_else_for(
    tmp_path: Path,
) -> None:
    """Bars or discs, and beside them, in the slices below and above, the same: alone half of the time, it
    learns them with black there."""
    disc_there, rng = np.arange(96) % 2 == 0, np.random.default_rng(0)
    shape = np.where(
        disc_there[:, None, None], np.hypot(*np.meshgrid(AT, AT)) < 30, np.abs(AT)[:, None] < 10
    )
    slices = np.clip(180 * shape + rng.normal(30, 8, (96, 128, 128)), 0, 255).astype(np.uint8)
    placing = Placing(np.full(96, 128.0), np.arange(96), np.zeros(96))
    data = place_on_device(
        slices,
        np.stack([disc_there, ~disc_there], axis=1).astype(np.float32),
        np.arange(64),
        np.arange(64, 96),
        CPU,
        placing,
    )
    net = Architecture(5, 1, 2, 3, False, 2, "small", inputs=("slice", "neighbours"))
    recipe = Recipe(3, 128, Ranges(10, 0.03, 0.05, 0.08, 0.02, alone=0.5))
    keep = tmp_path / "network.safetensors"
    ending = train_network(
        net,
        learning_rate=0.01,
        batch_size=4,
        seed=1,
        data=data,
        recipe=recipe,
        weights_path=keep,
        network_facts={},
    )
    assert ending.status == "completed", ending.message
    write_weights(keep, tmp_path / "alone.safetensors", "float16", alone=True)
    model, _ = load_network(tmp_path / "alone.safetensors", CPU)
    with_noise = torch.rand((32, 3, 128, 128), generator=torch.Generator().manual_seed(3))
    with_noise[:, 0] = data.slices[64:].float() / 255
    assert (model(with_noise).argmax(dim=1).numpy() == np.where(disc_there[64:], 0, 1)).all()
