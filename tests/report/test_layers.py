"""Networks of layers are written on a line and drawn; other members are not."""

from __future__ import annotations

from itertools import combinations

from matplotlib.text import Text

from fovnet.records import facts_of_record
from fovnet.report.content.layer_drawings import layers_view
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


def test_members_of_layers_are_drawn_beside_their_table_and_others_are_not(make_page) -> None:
    """In the order of the table, the better first; their numbers are not told twice in report.json."""
    members = [
        Member(4, 0.3, {**START, "activation": "relu"}, "a.safetensors", 0.5),
        Member(9, 0.2, {"blocks": 5, "kernel": 3}, "b.safetensors", 0.3),
        Member(7, 0.1, START, "c.safetensors", 0.2),
    ]
    page = make_page(members=members)
    assert [view.name for view in page.search.drawn_layers] == ["trial 7", "trial 4"]
    html = pour(page)
    assert html.count("The layers of the network of trial") == 2
    assert "conv 6×5×5/2 pool 2 · 16×5×5 pad 1 · dense 120" in html
    chapter = facts_of_record(page.search, DRAWN_ONLY)
    assert "members" in chapter and "drawn_layers" not in chapter
