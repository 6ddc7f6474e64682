"""What a label may be, held against the checks of the tables themselves."""

from __future__ import annotations

import tempfile
from itertools import pairwise
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from fovnet.errors import CollectionError
from fovnet.label.law import (
    LabelGrid,
    RegionExtent,
    class_mask,
    extents_of,
    lawful_label,
    mend_label,
)
from fovnet.records import write_tsv
from fovnet.regions import DEFAULT
from fovnet.volume.collection.table_lines import VOLUME_COLUMNS
from fovnet.volume.collection.table_rows import RegionRow
from fovnet.volume.collection.tables import read_collection

SLICES = 9
ONE = st.builds(
    RegionExtent,
    st.sampled_from(DEFAULT.classes[:-1]),
    st.integers(-1, SLICES),
    st.integers(-1, SLICES),
)


def is_lawful(label: list[RegionExtent]) -> bool:
    """The definition, slice by slice: at most one chain region each, and from the feet on each rung follows
    the one before, without a gap between the first and the last."""
    if any(not 0 <= one.first_slice <= one.last_slice < SLICES for one in label):
        return False
    if len({one.region for one in label}) < len(label):
        return False
    chain = [one for one in label if one.region in DEFAULT.chain]
    rungs = [
        [
            DEFAULT.chain.index(one.region)
            for one in chain
            if one.first_slice <= at <= one.last_slice
        ]
        for at in range(SLICES)
    ]
    if any(len(here) > 1 for here in rungs):
        return False
    seen = [here[0] if here else None for here in rungs]
    filled = [at for at, rung in enumerate(seen) if rung is not None]
    run = seen[filled[0] : filled[-1] + 1] if filled else []
    return None not in run and all(upper - lower in (0, 1) for lower, upper in pairwise(run))


@given(st.lists(ONE, max_size=4))
def test_lawful_is_what_the_definition_says(label: list[RegionExtent]) -> None:
    try:
        assert set(lawful_label(label, SLICES, DEFAULT)) == set(label)
        accepted = True
    except CollectionError as fault:
        assert fault.code == "label-unlawful"
        accepted = False
    assert accepted == is_lawful(label)


@given(st.lists(ONE, max_size=4))
def test_what_is_mended_is_lawful_and_what_is_lawful_stays(label: list[RegionExtent]) -> None:
    found = mend_label(label, SLICES, DEFAULT)
    assert is_lawful([*found])
    if is_lawful(label):
        assert set(found) == set(label)


def test_neighbours_that_share_a_slice_meet_halfway() -> None:
    found = mend_label(
        [RegionExtent("chest", 4, 8), RegionExtent("abdomen", 0, 5)], SLICES, DEFAULT
    )
    assert found == (("abdomen", 0, 4), ("chest", 5, 8))


@given(st.integers(0, 3), st.lists(st.integers(1, 5), min_size=1, max_size=5), st.integers(0, 4))
def test_every_lawful_label_is_a_valid_table(first: int, lengths: list[int], rung: int) -> None:
    """The tables' own reader finds no fault, and the same slices come back."""
    names, at, rows = DEFAULT.chain[rung : rung + len(lengths)], first, []
    for name, length in zip(names, lengths, strict=False):
        rows.append(RegionExtent(name, at, at + length - 1))
        at += length
    label = lawful_label([*rows, RegionExtent(DEFAULT.side_regions[0], 0, 2)], 40, DEFAULT)
    columns = ("volume_id", "region", "first_slice", "last_slice")
    with tempfile.TemporaryDirectory() as place:
        folder = Path(place)
        write_tsv(folder / "volumes.tsv", VOLUME_COLUMNS, [dict.fromkeys(VOLUME_COLUMNS, "v")])
        write_tsv(
            folder / "regions.tsv",
            columns,
            [dict(zip(columns, ("v", *one), strict=True)) for one in label],
        )
        back = extents_of(
            read_collection(folder).region_rows_by_volume["v"], LabelGrid(40, 0.0, 1.0), DEFAULT
        )
    assert back == label


@pytest.mark.parametrize(
    ("low", "high", "first", "last"), [(0, 10, 0, 1), (-50, 7.4, 0, 0), (2.5, 12.5, 0, 2)]
)
def test_millimetres_are_the_slices_whose_middle_they_hold(low, high, first, last) -> None:
    """Middles at 2.5, 7.5, 12.5 ... mm."""
    rows = [RegionRow("v", "head", low, high, in_mm=True)]
    assert extents_of(rows, LabelGrid(4, 0.0, 5.0), DEFAULT) == (("head", first, last),)
    assert extents_of(rows, None, DEFAULT) == ()


def test_slices_in_no_region_show_none() -> None:
    labels = class_mask((RegionExtent("legs", 1, 2), RegionExtent("spine", 2, 3)), 5, DEFAULT)
    assert labels.sum(axis=1).tolist() == [1, 1, 2, 1, 1] and labels[[0, 4], -1].all()
