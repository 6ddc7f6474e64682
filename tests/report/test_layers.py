"""Networks are drawn layer by layer, and told as a table; those of layers are written on a line."""

from __future__ import annotations

from itertools import combinations

import pytest
import torch
from matplotlib.text import Text

from fovnet.net.family.architecture import Architecture
from fovnet.net.family.model import build_network
from fovnet.records import facts_of_record
from fovnet.report.content.layer_drawings import layers_table, layers_view
from fovnet.report.content.layer_rows import rows_of_network
from fovnet.report.content.run_record import Member
from fovnet.report.content.wording import configuration_text
from fovnet.report.figures.layers import boxes_of_layers, layers_figure
from fovnet.report.pages.facts import DRAWN_ONLY
from fovnet.report.pages.pour import pour

START = {
    "conv": 2,
    "conv.1.channels": 6,
    "conv.1.kernel": 5,
    "conv.1.stride": 2,
    "conv.1.padding": 0,
    "conv.1.pooling": 2,
    "conv.2.channels": 16,
    "conv.2.kernel": 5,
    "conv.2.stride": 1,
    "conv.2.padding": 1,
    "conv.2.pooling": 1,
    "dense": 2,
    "dense.1.size": 84,
    "dense.2.size": 120,
    "optimiser": "sgd",
    "optimiser.rate": 0.01,
    "batch": 32,
    "dropout": 0.2,
    "activation": "tanh",
}


def test_layers_are_read_in_the_order_of_the_data() -> None:
    assert configuration_text(START) == (
        "conv 6×5×5/2 pool 2 · 16×5×5 pad 1 · dense 120 · 84 · sgd 0.01 · batch 32 · dropout 0.2 · tanh"
    )
    assert configuration_text({"conv": 0, "rate": 0.5, "batch": 8}) == "sgd 0.5 · batch 8"
    assert configuration_text({"blocks": 5, "conv": {"low": 1}}) == "blocks 5 · conv low 1"


def test_each_layer_is_as_high_as_its_side_and_wider_with_more_channels() -> None:
    """128 → 62 → pooled 31 → 29 pixels; 6 and 16 channels; 120, 84 and 7 units."""
    view = layers_view("trial 3", START, 7, 128, ["slice"])
    boxes = boxes_of_layers(view.net)
    assert [round(box.height * 128) for box in boxes[:4]] == [128, 62, 31, 29]
    picture, first, pooled, second = (box.width for box in boxes[:4])
    assert picture < first == pooled < second
    assert [box.below for box in boxes] == [
        "128",
        "5×5 /2\n→ 62",
        "pool 2\n→ 31",
        "5×5 +1\n→ 29",
        "120",
        "84",
        "7",
    ]
    assert boxes[4].height > boxes[5].height > boxes[6].height


def test_texts_of_a_drawing_stay_within_it_and_apart() -> None:
    """Also of twenty wide convolutions that leave a single pixel, and of the widest picture alone."""
    deep = {"conv": 20, "rate": 0.1, "batch": 8}
    for number in range(1, 21):
        deep |= {f"conv.{number}.channels": 512, f"conv.{number}.kernel": 3}
        deep |= {f"conv.{number}.padding": 1, f"conv.{number}.pooling": 1 + (number <= 7)}
    for configuration in (START, deep, {"conv": 0, "rate": 0.1, "batch": 8}):
        figure = layers_figure(layers_view("trial 3", configuration, 7, 128, ["slice"]))
        width, height = figure.get_size_inches() * figure.dpi
        figure.draw_without_rendering()
        texts = [text for text in figure.findobj(Text) if text.get_text()]
        extents = [text.get_window_extent() for text in texts]
        for text, extent in zip(texts, extents, strict=True):
            assert extent.x0 > -2 and extent.x1 < width + 2, text.get_text()
            assert extent.y0 > -2 and extent.y1 < height + 2, text.get_text()
        for first, second in combinations(extents, 2):
            assert not first.overlaps(second)


ARCHITECTURES = (
    Architecture(5, 1, 6, 3, separable=False, classes=6, side=96),
    Architecture(4, 3, 6, 5, separable=True, classes=6),
    Architecture(
        5,
        2,
        3,
        3,
        separable=False,
        classes=7,
        head="small",
        block="residual",
        widen=2,
        inputs=("slice", "sections"),
        stride=2,
        norm="pooled",
    ),
    Architecture(3, 2, 4, 3, separable=False, classes=7, head="small"),
    Architecture(3, 1, 4, 5, separable=True, classes=7, head="gap", stride=2),
)


@pytest.mark.parametrize("net", ARCHITECTURES)
def test_the_weights_of_the_layers_are_those_of_the_network_that_is_built(net) -> None:
    """Its own count, and every shape that torch's layers give for a slice."""
    rows = rows_of_network(net)
    network = build_network(net)
    counted_weights = sum(numbers.numel() for numbers in network.parameters())
    counted_weights += sum(
        numbers.numel() for name, numbers in network.named_buffers() if "running" in name
    )
    assert sum(row.weight_count for row in rows) == net.weight_count == counted_weights
    shapes = []
    with torch.no_grad():
        network.eval()
        network(
            torch.zeros(1, net.channel_count, net.side, net.side),
            watch=lambda maps: shapes.append(tuple(maps.shape[1:])),
        )
    assert shapes == [(row.channels, row.side, row.side) for row in rows if row.kind == "pooling"]


def test_layers_of_the_papers_baseline_are_told_as_a_table() -> None:
    """96 pixels, five blocks of 64 filters: 3 x 3 pixels enter 4,096 units; 6,713,226 weights."""
    baseline = {"blocks": 5, "convolutions": 1, "log2_filters": 6, "kernel": 3, "separable": False}
    view = layers_view("trial 0", baseline, 6, 96, ["slice"])
    assert view.amounts.startswith("6,713,226 weights")
    rows = layers_table([view]).rows
    assert [row[2] for row in rows] == [
        "picture",
        *["convolution", "pooling"] * 5,
        *["dense"] * 3,
    ]
    assert rows[1] == ("trial 0", "1", "convolution", "3×3", "64 × 96 × 96", "640")
    assert rows[-3] == ("trial 0", "11", "dense", "", "4,096", "2,363,392")


def test_every_member_is_drawn_and_those_of_the_same_layers_once(make_page) -> None:
    """In the order of the table, the better first; views are not told twice in report.json."""
    baseline = {"blocks": 5, "convolutions": 1, "log2_filters": 6, "kernel": 3, "separable": False}
    members = [
        Member(4, 0.3, {**START, "activation": "relu"}, "a.safetensors", 0.5),
        Member(9, 0.2, {**baseline, "log2_batch": 3}, "b.safetensors", 0.2),
        Member(2, 0.25, {**baseline, "log2_batch": 5}, "b.safetensors", 0.1),
        Member(7, 0.1, START, "c.safetensors", 0.2),
    ]
    page = make_page(members=members)
    names = ["trial 7", "trials 9, 2", "trial 4"]
    assert [view.name for view in page.search.drawn_layers] == names
    assert {row[0] for row in page.search.layers.rows} == set(names)
    html = pour(page)
    assert html.count("The layers of the network of trial") == 3
    assert "conv 6×5×5/2 pool 2 · 16×5×5 pad 1 · dense 120" in html
    chapter = facts_of_record(page.search, DRAWN_ONLY)
    assert "layers" in chapter and "drawn_layers" not in chapter
