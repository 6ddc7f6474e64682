"""What the drawings of networks show, layer by layer, and the same as a table."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

from fovnet.net.cost.layered import predict_point_cost
from fovnet.net.cost.predicted import predict_cost
from fovnet.net.family.architecture import Architecture
from fovnet.net.family.layered import NetworkShape
from fovnet.net.family.layered_configuration import is_layered, network_of_configuration
from fovnet.report.content.cells import ReportTable, Row
from fovnet.report.content.layer_rows import LayerRow, rows_of_network

NUMBERS_OF_BLOCKS = ("blocks", "convolutions", "log2_filters", "kernel", "separable")
"""What no network of the paper's family can be drawn without."""
LAYER_HEADER = ("network", "layer", "kind", "filter", "leaves", "weights")


class LayersView(NamedTuple):
    """A network to be drawn, its name, and what it costs in words."""

    name: str
    net: NetworkShape
    amounts: str


def can_be_drawn(configuration: Mapping[str, Any]) -> bool:
    """Whether a configuration says of what layers its network is."""
    return is_layered(configuration) or all(name in configuration for name in NUMBERS_OF_BLOCKS)


def layers_view(
    name: str,
    configuration: Mapping[str, Any],
    classes: int,
    side: int,
    inputs: Sequence[str],
    head: str = "fc",
) -> LayersView:
    """The view of a configuration; `head` as in `architecture_of_configuration`.  Raises SearchError
    as `network_of_configuration`."""
    net = network_of_configuration(
        configuration, classes=classes, head=head, side=side, inputs=inputs
    )
    if isinstance(net, Architecture):
        cost = predict_cost(net)
    else:
        cost = predict_point_cost(configuration, classes, side, inputs)
    amounts = (
        f"{net.weight_count:,} weights · {float(cost.forward_flop) / 2e6:,.1f} M multiply-adds · "
        f"{float(cost.activation_bytes) / 1e6:,.2f} MB a slice"
    )
    return LayersView(name, net, amounts)


def layers_table(views: Sequence[LayersView]) -> ReportTable:
    """A row for each layer of each network, with the shape that leaves it for a slice."""
    rows: list[Row] = [
        _layer_cells(view.name, number, layer)
        for view in views
        for number, layer in enumerate(rows_of_network(view.net))
    ]
    return ReportTable(LAYER_HEADER, rows, name="layers")


def _layer_cells(name: str, number: int, layer: LayerRow) -> Row:
    """The cells of LAYER_HEADER of one layer; the picture is number 0."""
    shape_text = f"{layer.channels:,}"
    if layer.kind != "dense":
        shape_text += f" × {layer.side} × {layer.side}"
    return (
        name,
        str(number),
        layer.kind,
        layer.filter_text,
        shape_text,
        f"{layer.weight_count:,}",
    )
