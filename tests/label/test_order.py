"""The queue asks for everything once, and first for what is unsure and not like what came before."""

from __future__ import annotations

from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from fovnet.label.law import RegionExtent
from fovnet.label.order import ORDER_BY_NAME, order_by_doubt, order_by_teaching, teaching_value
from fovnet.label.starts import LabelItem, VolumePrediction
from fovnet.volume.collection.table_rows import VolumeRow


def item(
    number: int, chance: float = 0.5, *, subject: str = "", site: str = "", **more
) -> LabelItem:
    row = VolumeRow(f"v{number}", subject or f"s{number}", Path(f"/v{number}"), "", {"site": site})
    return LabelItem(row, VolumePrediction((RegionExtent("legs", 0, 1),), "", (chance,), **more))


ITEMS = st.lists(
    st.tuples(st.floats(0, 1), st.sampled_from("ab"), st.sampled_from("xyz")),
    min_size=1,
    max_size=12,
).map(
    lambda drawn: [
        item(at, chance, site=site, subject=who) for at, (chance, site, who) in enumerate(drawn)
    ]
)


@pytest.mark.parametrize("order", ORDER_BY_NAME)
@given(items=ITEMS, seed=st.integers(0, 9), data=st.data())
def test_every_volume_is_asked_for_once(
    order: str, items: list[LabelItem], seed: int, data
) -> None:
    done = data.draw(st.sets(st.integers(0, len(items) - 1)))
    found = ORDER_BY_NAME[order](items, seed, sorted(done))
    assert sorted(found) == [*range(len(items))]


@given(st.floats(0, 0.5), st.floats(0, 0.5), st.floats(0, 1), st.floats(0, 1))
def test_less_sure_or_less_agreed_teaches_more(
    one: float, other: float, low: float, high: float
) -> None:
    low, high = sorted((low, high))
    if one < other:
        assert teaching_value(item(0, one)) <= teaching_value(item(0, other))
    assert teaching_value(item(0, one, agreement=high)) <= teaching_value(
        item(0, one, agreement=low)
    )
    assert teaching_value(item(0, one, novelty=high)) <= teaching_value(item(0, one, novelty=low))


def test_people_and_sites_take_turns() -> None:
    items = [
        item(at, 0.5 - at / 100, subject=who, site=site)
        for at, (who, site) in enumerate([("p", "a"), ("p", "a"), ("q", "a"), ("r", "b")])
    ]
    assert order_by_doubt(items, 0) == [0, 1, 2, 3]
    assert order_by_teaching(items, 0)[:3] == [0, 3, 2]  # another site, then another person
    assert order_by_teaching(items, 0, [3])[:2] == [0, 2]


def test_chance_is_drawn_by_the_seed() -> None:
    items = [item(at) for at in range(30)]
    assert (
        ORDER_BY_NAME["random"](items, 1)
        == ORDER_BY_NAME["random"](items, 1)
        != ORDER_BY_NAME["random"](items, 2)
    )
