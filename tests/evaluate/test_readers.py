"""Two readers' agreement, held against scikit-learn and against shifts that are known."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from sklearn.metrics import cohen_kappa_score

from fovnet.evaluate.measures import Measure
from fovnet.evaluate.readers import (
    BORDER_DISTANCE,
    BORDER_NEAR,
    BORDER_OF_ONE_READER,
    ReadingPair,
    kappa,
    measure_agreement,
    read_agreement,
    write_agreement,
)
from fovnet.regions import DEFAULT

CHAIN = len(DEFAULT.chain)


@given(st.lists(st.tuples(st.integers(0, 3), st.integers(0, 3)), min_size=2, max_size=40))
def test_kappa_is_that_of_scikit_learn(both: list[tuple[int, int]]) -> None:
    first, second = zip(*both, strict=True)
    table = np.zeros((4, 4))
    np.add.at(table, (first, second), 1)
    found = float(kappa(table))
    if {*first} == {*second} and len({*first}) == 1:
        assert np.isnan(found)  # chance alone agrees as well: there is nothing beyond it
    else:
        assert found == pytest.approx(cohen_kappa_score(first, second, labels=range(4)))


def read(*borders: int, slices: int = 40) -> np.ndarray:
    """Legs, pelvis, ... up to each border, then none."""
    labels, start = np.zeros((slices, len(DEFAULT.classes)), dtype=bool), 0
    for region, end in enumerate(borders):
        labels[start:end, region] = True
        start = end
    labels[start:, -1] = True
    return labels


def pairs(shift: int, people: int = 6) -> list[ReadingPair]:
    first, second, edges = read(10, 20, 30), read(10, 20 + shift, 30), 5.0 * np.arange(41)
    return [ReadingPair(f"v{at}", f"s{at}", first, second, edges) for at in range(people)]


@pytest.mark.parametrize("shift", [0, 1, 2, -3])
def test_a_border_that_is_drawn_higher_is_found_so_many_millimetres_apart(shift: int) -> None:
    found = {
        (one.name, one.region): one for one in measure_agreement(pairs(shift), DEFAULT, repeats=50)
    }
    border = f"{DEFAULT.chain[1]}|{DEFAULT.chain[2]}"
    assert found[BORDER_DISTANCE, border].value == 5.0 * abs(shift)
    assert found[BORDER_NEAR, border].value == (1.0 if abs(shift) <= 2 else 0.0)
    alike = found["slices_alike", ""]
    assert (alike.numerator, alike.denominator) == (6 * (40 - abs(shift)), 240)
    assert (
        found["kappa", DEFAULT.chain[0]].value == 1.0 and ("kappa", DEFAULT.chain[4]) not in found
    )


def test_a_region_that_one_reader_alone_saw_has_borders_of_one_reader() -> None:
    two = [
        ReadingPair(f"v{at}", f"s{at}", read(10, 20), read(10), 5.0 * np.arange(41))
        for at in range(5)
    ]
    found = {(one.name, one.region): one for one in measure_agreement(two, DEFAULT, repeats=50)}
    assert (
        found[BORDER_OF_ONE_READER, ""].numerator
        == found[BORDER_OF_ONE_READER, ""].denominator
        == 15
    )  # three in each volume
    assert found[BORDER_NEAR, ""].value == 0.0 and (BORDER_DISTANCE, "") not in found


def where(one: Measure) -> tuple[str, str]:
    return one.name, one.region


def test_what_is_written_is_read_again(tmp_path: Path) -> None:
    measures = measure_agreement(pairs(1), DEFAULT, repeats=50)
    write_agreement(tmp_path, {("anna", "bo"): measures})
    ((names, back),) = read_agreement(tmp_path).items()
    assert names == ("anna", "bo") and [*map(where, back)] == [*map(where, measures)]
    assert [one.value for one in back] == pytest.approx([one.value for one in measures], abs=1e-3)
    assert read_agreement(tmp_path / "none") == {}
