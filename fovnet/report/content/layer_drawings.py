"""What the drawing of a network of layers shows."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

from fovnet.net.cost.layered import predict_point_cost
from fovnet.net.family.layered import Layered
from fovnet.net.family.layered_configuration import layered_of_configuration


class LayersView(NamedTuple):
    """A network to be drawn, its name, and what it costs in words."""

    name: str
    net: Layered
    amounts: str


def layers_view(
    name: str,
    configuration: Mapping[str, Any],
    classes: int,
    side: int,
    inputs: Sequence[str],
) -> LayersView:
    """The view of a configuration of layers.  Raises SearchError as `layered_of_configuration`."""
    net = layered_of_configuration(configuration, classes=classes, side=side, inputs=inputs)
    cost = predict_point_cost(configuration, classes, side, inputs)
    amounts = (
        f"{net.weight_count:,} weights · {cost.forward_flop / 2e6:,.1f} M multiply-adds · "
        f"{cost.activation_bytes / 1e6:,.2f} MB a slice"
    )
    return LayersView(name, net, amounts)
