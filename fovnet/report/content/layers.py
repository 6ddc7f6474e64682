"""A network of layers on one line of text; imported without numpy."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from fovnet.net.family.layered import Convolution
from fovnet.net.family.layered_configuration import (
    convolutions_of_configuration,
    dense_of_configuration,
    optimiser_of_configuration,
)


def layers_text(configuration: Mapping[str, Any]) -> str:
    """A configuration of layers on one line, in the order of the data, only what is not usual:
    "conv 6×5×5/2 pool 2 · 16×5×5 pool 2 · dense 120 · 84 · sgd 0.01 · batch 32 · dropout 0.2"."""
    parts = [convolution_text(layer) for layer in convolutions_of_configuration(configuration)]
    if parts:
        parts[0] = f"conv {parts[0]}"
    sizes = [str(size) for size in dense_of_configuration(configuration)]
    if sizes:
        sizes[0] = f"dense {sizes[0]}"
    parts += sizes
    optimiser = optimiser_of_configuration(configuration)
    parts.append(f"{optimiser.name} {optimiser.rate:.4g}")
    parts += [
        f"{name} {configuration[name]:.4g}"
        for name in ("batch", "dropout")
        if configuration.get(name)
    ]
    if configuration.get("activation", "relu") != "relu":
        parts.append(str(configuration["activation"]))
    return " · ".join(parts)


def convolution_text(layer: Convolution) -> str:
    """ "16×5×5/2 pad 1 pool 2": channels, kernel, and what is not usual."""
    text = f"{layer.channels}×{layer.kernel}×{layer.kernel}"
    if layer.stride > 1:
        text += f"/{layer.stride}"
    if layer.padding:
        text += f" pad {layer.padding}"
    if layer.pooling > 1:
        text += f" pool {layer.pooling}"
    return text
