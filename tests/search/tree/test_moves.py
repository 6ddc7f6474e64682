"""Points drawn, neighbouring and varied: canonical, of a valid shape, new, and each once."""

from __future__ import annotations

from itertools import pairwise
from typing import Any, ClassVar

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis.strategies import integers

from fovnet.bench.conditional import MOST_STRIDES, StrideCosts, conditional_tree
from fovnet.search.look.neighbour_rules import level_rules
from fovnet.search.look.view import Neighbour, Polling
from fovnet.search.tree.costs import Columns, EqualCosts, Fault, Priced, columns_of
from fovnet.search.tree.moves import Ground, draw_points, draw_prior, neighbours, vary
from fovnet.search.tree.start import tree_with_start
from fovnet.search.tree.streams import generator
from fovnet.search.tree.tree import Tree, written_form

TREE = conditional_tree()
COSTS = StrideCosts()
WHOLE = {"whole": {"low": 1, "high": 9}}


def assert_free(ground: Ground, points: np.ndarray) -> None:
    """Canonical, within the strides, unlike any that is taken, and each once."""
    assert ground.tree.canonical(points).tobytes() == points.tobytes()
    assert all(fault is None for fault in ground.price(points).faults)
    keys = [point.tobytes() for point in points]
    assert len(set(keys)) == len(keys) and not set(keys) & set(ground.taken)


@given(integers(0, 9999))
@settings(max_examples=25)
def test_drawn_neighbouring_and_varied_points_are_free(seed: int) -> None:
    rng = np.random.default_rng(seed)
    begun = draw_points(Ground(TREE, COSTS), rng, 8).points
    ground = Ground(TREE, COSTS, {point.tobytes() for point in begun})
    centre = begun[-1]
    drawn = draw_points(ground, rng, 20).points
    assert len(drawn) == 20
    around = neighbours(ground, centre)
    varied = ground.free_points(vary(TREE, rng, centre[None], 30))
    for points in (drawn, around, varied):
        assert_free(ground, points)
    is_header = [variable.is_repeat or variable.is_category for variable in TREE.variables]
    assert all(
        np.array_equal(point[is_header], centre[is_header], equal_nan=True) for point in varied
    )
    is_changed = (varied != centre) & ~np.isnan(varied)
    assert is_changed.any(axis=1).all()


def test_a_draw_is_of_all_structures_alike_and_a_number_evenly_in_place() -> None:
    """10,000 draws, four standard deviations; whole numbers at an end have half the share of others."""
    drawn = draw_prior(TREE, generator(1, "random", 0), 10_000)
    layer_counts = np.bincount(drawn[:, 0].astype(int), minlength=7)
    assert abs(layer_counts - 10_000 / 7).max() < 4 * np.sqrt(10_000 * 6 / 49)
    place = TREE.variables[-1].values.places(drawn[:, -1])
    assert abs(place.mean() - 0.5) < 4 / np.sqrt(12 * 10_000)
    strides = drawn[:, [v.key for v in TREE.variables].index("layers.1.s")]
    share_of_two = (strides == 2).sum() / (~np.isnan(strides)).sum()
    assert abs(share_of_two - 0.5) < 4 * np.sqrt(0.25 / 8000)


@pytest.mark.parametrize("grows", ["first", "last"])
@given(seed=integers(0, 9999))
@settings(max_examples=20)
def test_a_copy_added_is_taken_away_by_a_neighbour_and_renames_no_other(
    grows: str, seed: int
) -> None:
    tree = Tree.of(
        {"dense": {"repeat": {"low": 0, "high": 4}, "grows": grows, "each": {"size": WHOLE}}}
    )
    ground = Ground(tree, EqualCosts())
    point = draw_points(ground, np.random.default_rng(seed), 1).points[0]
    configuration = tree.configuration(point)
    for neighbour in neighbours(ground, point):
        changed = tree.configuration(neighbour)
        if changed["dense"] == configuration["dense"] + 1:
            assert point.tobytes() in {back.tobytes() for back in neighbours(ground, neighbour)}
            assert {**changed, **configuration} == {**changed, "dense": configuration["dense"]}


LAKHMIRI: dict[str, Any] = {
    "conv": {
        "repeat": {"low": 0, "high": 20},
        "each": {"channels": {"whole": {"low": 0, "high": 50}}, "kernel": WHOLE},
    },
    "dense": {
        "repeat": {"low": 0, "high": 30},
        "grows": "first",
        "each": {"size": {"whole": {"low": 0, "high": 500}}},
    },
    "optimiser": {
        "choose": {
            name: {
                f"r{number}": {"real": {"low": 0, "high": 1}, "start": default}
                for number, default in enumerate(defaults, start=1)
            }
            for name, defaults in {
                "sgd": (0.1, 0.9, 0.0, 0.0),
                "adam": (0.1, 0.9, 0.99, 0.0),
                "adagrad": (0.1, 0.0, 0.0, 0.0),
                "rmsprop": (0.1, 0.0, 0.99, 0.0),
            }.items()
        }
    },
}


def test_the_five_neighbours_of_a_network_are_those_of_the_figures() -> None:
    """The rightmost convolution is copied to the right end or taken from it, the leftmost dense layer to
    the left end, and the next optimiser begins at its defaults, whatever those of the last have become:
    Lakhmiri (2021), figures 4.5 to 4.7."""
    start = {
        "conv": [{"channels": 16, "kernel": 5}, {"channels": 10, "kernel": 3}],
        "dense": [128, 64, 32],
        "optimiser": {"sgd": {"r1": 0.37, "r2": 0.2, "r3": 0.5, "r4": 0.01}},
    }
    tree = tree_with_start(LAKHMIRI, start)
    in_figures = [
        {**start, "conv": [*start["conv"], {"channels": 10, "kernel": 3}]},
        {**start, "conv": start["conv"][:1]},
        {**start, "dense": [128, 128, 64, 32]},
        {**start, "dense": [64, 32]},
        {**start, "optimiser": {"adam": {"r1": 0.1, "r2": 0.9, "r3": 0.99, "r4": 0.0}}},
    ]
    expected = [
        written_form(point_tree.configuration(point_tree.start_point))
        for point_tree in (tree_with_start(LAKHMIRI, figure) for figure in in_figures)
    ]
    rules = level_rules(tree, Polling(neighbours=(Neighbour("optimiser", "next"),)))
    around = neighbours(Ground(tree, EqualCosts()), tree.start_point, rules)
    assert [written_form(tree.configuration(point)) for point in around] == expected


def test_a_new_branch_begins_at_its_start_values_and_every_other_level_is_a_neighbour() -> None:
    ways = [
        TREE.configuration(point)
        for point in neighbours(Ground(TREE, COSTS), TREE.start_point)
        if TREE.configuration(point)["way"] != "r"
    ]
    assert [(way["way"], way["way.r"], way["way.m"]) for way in ways] == [
        ("p", 0.01, 0.9),
        ("q", 0.01, 0.9),
        ("s", 0.01, 0.9),
    ]


class FallingSizes:
    """A layer has a size of at most two, or less than the layer before; a copy may be reduced."""

    facts: ClassVar[dict[str, Any]] = {"family": "falling"}
    reduced_copies = ({"size": 8}, {"size": 1})

    def __call__(self, columns: Columns) -> Priced:
        sizes_by_point = np.transpose([columns[key] for key in columns if key.endswith("size")])
        faults = [self.fault(sizes[~np.isnan(sizes)]) for sizes in sizes_by_point]
        return Priced(faults, np.ones(len(faults)), np.ones(len(faults)))

    @staticmethod
    def fault(sizes: np.ndarray) -> Fault | None:
        for layer, (before, size) in enumerate(pairwise([9, *sizes]), start=1):
            if size > 2 and size >= before:
                return Fault("too large", "their sizes", f"dense.{layer}")
        return None


def falling_tree(low: int, high: int) -> Tree:
    declared = {"dense": {"repeat": {"low": low, "high": high}, "each": {"size": WHOLE}}}
    return tree_with_start(declared, {"dense": [7] * max(low, 1)})


def test_a_copy_that_does_not_fit_is_reduced_to_the_first_that_does() -> None:
    tree = falling_tree(0, 4)
    around = neighbours(Ground(tree, FallingSizes()), tree.start_point)
    assert tree.configuration(around[0]) == {"dense": 2, "dense.1.size": 7, "dense.2.size": 1}


def test_where_no_draw_fits_the_copy_to_blame_is_drawn_again() -> None:
    """Twenty layers: of 20,000 whole draws none fits."""
    tree = falling_tree(20, 20)
    ground = Ground(tree, FallingSizes())
    whole_draws = draw_prior(tree, rng(), 20_000)
    assert all(fault is not None for fault in ground.price(whole_draws).faults)
    drawn = draw_points(ground, rng(), 5)
    assert len(drawn.points) == 5
    assert_free(ground, drawn.points)
    assert drawn.drawn_count < 5_000


def test_columns_of_points_are_those_of_their_configurations() -> None:
    """Of two branches' variables of one name, too, and of words."""
    points = prior(300)
    columns = TREE.columns(points)
    written = columns_of([TREE.configuration(point) for point in points])
    assert columns.keys() == written.keys()
    for key, column in columns.items():
        np.testing.assert_array_equal(column, written[key])


def test_strides_of_drawn_points_are_within_their_limit_although_most_are_not() -> None:
    is_valid = [fault is None for fault in COSTS(TREE.columns(prior(2000))).faults]
    assert 0.3 < np.mean(is_valid) < 0.8
    for point in draw_points(Ground(TREE, COSTS), rng(), 200).points:
        configuration = TREE.configuration(point)
        strides = [value for key, value in configuration.items() if key.endswith(".s")]
        assert np.prod(strides) <= MOST_STRIDES


def prior(count: int) -> np.ndarray:
    return draw_prior(TREE, rng(), count)


def rng() -> np.random.Generator:
    return np.random.default_rng(3)


def test_streams_of_other_purposes_and_slots_have_other_numbers() -> None:
    """As seeds, [1] and [1, 0] would be one stream."""
    first_numbers = {
        generator(seed, purpose, *numbers).integers(2**62)
        for seed in (0, 1)
        for purpose in ("random", "stand-in", "pool", "climb", "poll", "prior")
        for numbers in ((), (0,), (0, 0), (1,), (0, 1), (1, 0))
    }
    assert len(first_numbers) == 2 * 6 * 6
