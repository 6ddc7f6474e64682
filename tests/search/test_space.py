"""The space of configurations: the paper's 34,300 networks and any other table."""

import json

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis.strategies import data, integers, lists

from fovnet.errors import SearchError
from fovnet.search.space import BASELINE_CONFIGURATION, Axis, Space, paper_space


def test_the_papers_space_has_34300_networks_and_every_one_finds_its_way_back():
    space = paper_space()
    assert len(space) == 34_300 == len({tuple(levels) for levels in space.rows.tolist()})
    rows = np.random.default_rng(0).choice(len(space), 500, replace=False).tolist()
    assert [space.row_of(space.configuration(row)) for row in [0, *rows, 34_299]] == [
        0,
        *rows,
        34_299,
    ]
    ravelled = np.ravel_multi_index(
        tuple(space.rows.T), tuple(len(axis.levels) for axis in space.axes)
    )
    assert (ravelled == np.arange(34_300)).all()  # so the other 33,800 do too


def test_the_baseline_is_the_papers_and_is_plain_python():
    space = paper_space()
    found = space.configuration(space.row_of(BASELINE_CONFIGURATION))
    assert found == BASELINE_CONFIGURATION
    assert {type(value) for value in found.values()} == {int, bool}


@given(lists(integers(1, 4), min_size=1, max_size=4))
def test_every_row_of_a_small_space_round_trips(counts):
    space = Space.of({f"axis {j}": tuple(range(10, 10 + count)) for j, count in enumerate(counts)})
    assert len(space) == np.prod(counts)
    assert [space.row_of(space.configuration(row)) for row in range(len(space))] == list(
        range(len(space))
    )


def test_distances_go_by_level_for_ordinals_and_by_mismatch_for_categories():
    space = Space.of(
        {"rate": [1e-5, 1e-3, 1e-1], "flag": [False, True], "colour": ["red", "green", "blue"]}
    )
    a = space.unit_cube[space.row_of({"rate": 1e-5, "flag": False, "colour": "red"})]
    b = space.unit_cube[space.row_of({"rate": 1e-3, "flag": True, "colour": "blue"})]
    squared = np.bincount(space.axis_of_column, (a - b) ** 2)
    np.testing.assert_allclose(squared, [0.25, 1.0, 1.0])


def test_the_papers_unit_cube_has_one_column_an_axis_from_0_to_1():
    cube = paper_space().unit_cube
    assert (
        cube.shape == (34_300, 7)
        and (cube.min(axis=0) == 0).all()
        and (cube.max(axis=0) == 1).all()
    )


@given(data())
@settings(max_examples=50)
def test_nearest_is_the_nearest_of_all(data):
    space = Space.of({"a": range(5), "b": range(3), "c": ["x", "y", "z"]})
    allowed = np.array(
        data.draw(lists(integers(0, 1), min_size=len(space), max_size=len(space))), dtype=bool
    )
    allowed[data.draw(integers(0, len(space) - 1))] = True
    row = data.draw(integers(0, len(space) - 1))
    found = space.nearest_row(space.rows[row], allowed)
    gaps = np.linalg.norm(space.unit_cube - space.unit_cube[row], axis=1)
    assert allowed[found] and gaps[found] <= gaps[allowed].min() + 1e-6
    assert found == row or not allowed[row]


def test_more_rows_than_a_model_can_hold_are_refused_by_their_number():
    with pytest.raises(
        SearchError, match=r"4,000,000 configurations.*second alone has 4,000.*space-rows"
    ):
        len(Space((Axis("first", tuple(range(1000))), Axis("second", tuple(range(4000))))))


def test_a_table_lists_only_its_own_rows():
    space = Space((Axis("a", (1, 2, 3)), Axis("b", (1, 2))), np.array([[0, 0], [2, 1]]))
    assert len(space) == 2 and space.configuration(1) == {"a": 3, "b": 2}
    with pytest.raises(SearchError, match="space-row"):
        space.row_of({"a": 3, "b": 1})


@pytest.mark.parametrize(
    ("wrong", "code"), [({"kernel": 4}, "space-level"), ({"karnel": 3}, "space-axes")]
)
def test_a_configuration_outside_the_space_is_refused_by_name(wrong, code):
    with pytest.raises(SearchError, match=code):
        paper_space().row_of({**BASELINE_CONFIGURATION, **wrong})


def test_levels_are_given_once_each():
    with pytest.raises(SearchError, match="space-levels"):
        Axis("a", (1, 2, 1))


def test_levels_with_places_stand_where_they_were_put_and_find_their_way_through_json():
    axis = Axis("rate", (1e-4, 1e-3, 0.5), places=(0.0, 0.3, 1.0))
    assert axis.columns[:, 0].tolist() == [0.0, 0.3, 1.0]
    assert Axis.from_facts(json.loads(json.dumps(axis.facts))) == axis
    assert Axis.from_facts(json.loads(json.dumps(Axis("a", (1, 2)).facts))) == Axis("a", (1, 2))
    with pytest.raises(SearchError, match="space-places"):
        Axis("rate", (1, 2), places=(0.0, 1.5))


def test_a_logarithmic_axis_has_equal_ratios_and_both_ends():
    axis = Axis.of("learning_rate", {"log": {"low": 1e-4, "high": 0.1, "levels": 7}})
    assert axis.levels[0] == 1e-4 and axis.levels[-1] == 0.1 and axis.kind == "ordinal"
    np.testing.assert_allclose(np.diff(np.log(axis.levels)), np.log(1000) / 6, rtol=1e-3)


def test_a_category_and_an_ordinal_axis_may_offer_the_same_levels():
    """One column for the ordinal axis and three for the category: scales of two axes and of three levels."""
    space = Space((Axis.of("blocks", [1, 2, 3]), Axis.of("kind", {"categorical": [1, 2, 3]})))
    assert space.unit_cube.shape == (9, 4) and space.scales.share.shape == (4, 5)


def test_an_axis_says_of_what_kind_it_is():
    assert (
        Axis.of("a", [1, 2]).kind == Axis.of("a", {"ordinal": ["small", "large"]}).kind == "ordinal"
    )
    assert (
        Axis.of("a", ["x", "y"]).kind == Axis.of("a", {"categorical": [1, 2]}).kind == "categorical"
    )


@pytest.mark.parametrize(
    "levels", [[], [1, 1], [1.0, float("inf")], {"log": {"low": 2.0, "high": 1.0, "levels": 3}}]
)
def test_levels_that_cannot_be_meant_are_refused(levels):
    with pytest.raises(SearchError, match="space-levels"):
        Axis.of("a", levels)
