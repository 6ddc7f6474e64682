"""A tree of layers: which variables a point has, and the one form in which it is written."""

from __future__ import annotations

import json
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis.strategies import DrawFn, composite, floats, integers, lists, one_of, sampled_from

from fovnet.errors import SearchError
from fovnet.records import digest
from fovnet.search.tree.start import change_point, tree_with_start
from fovnet.search.tree.tree import Tree, written_form
from fovnet.search.tree.variables import Range, round_to_four_digits

DECLARED: dict[str, Any] = {
    "conv": {
        "repeat": {"low": 1, "high": 8},
        "each": {
            "channels": {"whole": {"low": 2, "high": 64, "log": True}},
            "stride": {"whole": {"low": 1, "high": 3}},
        },
    },
    "dense": {
        "repeat": {"low": 0, "high": 3},
        "grows": "first",
        "each": {"size": {"whole": {"low": 8, "high": 1024, "log": True}}},
    },
    "optimiser": {
        "choose": {
            "sgd": {
                "rate": {"real": {"low": 1e-4, "high": 1.0, "log": True}},
                "momentum": {"real": {"low": 0.0, "high": 0.99}, "start": 0.9},
            },
            "adam": {
                "rate": {"real": {"low": 1e-5, "high": 0.1, "log": True}},
                "beta1": {"real": {"low": 0.0, "high": 0.99}},
            },
        }
    },
    "dropout": {"real": {"low": 0.0, "high": 0.7}},
    "activation": {"categorical": ["relu", "sigmoid", "tanh"]},
    "precision": [8, 16, 32],
}
START: dict[str, Any] = {
    "conv": [{"channels": 6, "stride": 2}, {"channels": 16, "stride": 1}],
    "dense": [120, 84],
    "optimiser": {"adam": {"rate": 0.001}},
    "dropout": 0.2,
}
TREE = tree_with_start(DECLARED, START)


@composite
def points(draw: DrawFn) -> np.ndarray:
    """Numbers of every variable, active or not, some beyond its ends."""
    seed = draw(integers(0, 10_000))
    rng = np.random.default_rng(seed)
    uniform = rng.uniform(-0.2, 1.2, len(TREE))
    return np.array(
        [
            variable.values.low + share * (variable.values.high - variable.values.low)
            if isinstance(variable.values, Range)
            else share * (len(variable.values.axis.levels) - 1)
            for variable, share in zip(TREE.variables, uniform.tolist(), strict=True)
        ]
    )


def test_the_start_is_written_flat_in_the_order_of_the_tree() -> None:
    """Copies are counted from the fixed end: of `dense`, which grows at the first layer, from the last."""
    assert written_form(TREE.configuration(TREE.start_point)) == (
        '{"conv":2,"conv.1.channels":6,"conv.1.stride":2,"conv.2.channels":16,"conv.2.stride":1,'
        '"dense":2,"dense.1.size":84,"dense.2.size":120,'
        '"optimiser":"adam","optimiser.rate":0.001,"optimiser.beta1":0.495,'
        '"dropout":0.2,"activation":"relu","precision":8}'
    )


def test_a_variable_without_a_start_begins_midway_or_at_its_first_level_or_as_its_outermost_copy() -> (
    None
):
    """Midway of 1e-4 to 1 in equal ratios is 1e-2; a third convolution begins as the second."""
    start_by_path = dict(zip([v.path for v in TREE.variables], TREE.starts.tolist(), strict=True))
    assert start_by_path["optimiser.sgd.rate"] == 0.01
    assert start_by_path["optimiser.sgd.momentum"] == 0.9
    assert [start_by_path[f"conv.{copy}.channels"] for copy in (3, 8)] == [16, 16]
    assert start_by_path["dense.3.size"] == 120
    assert start_by_path["precision"] == 0


@given(points())
def test_the_canonical_form_is_its_own_and_survives_its_json(point: np.ndarray) -> None:
    canonical = TREE.canonical(point[None])[0]
    assert TREE.canonical(canonical[None])[0].tobytes() == canonical.tobytes()
    text = written_form(TREE.configuration(canonical))
    read_again = TREE.point(json.loads(text))
    assert read_again.tobytes() == canonical.tobytes()
    assert written_form(TREE.configuration(read_again)) == text


@given(points(), integers(0, 10_000))
def test_what_is_inactive_changes_nothing(point: np.ndarray, seed: int) -> None:
    canonical = TREE.canonical(point[None])
    is_inactive = np.isnan(canonical[0])
    filled = canonical.copy()
    filled[0, is_inactive] = np.random.default_rng(seed).uniform(0, 3, is_inactive.sum())
    assert TREE.canonical(filled).tobytes() == canonical.tobytes()


@given(points())
def test_a_variable_has_a_value_exactly_where_it_is_active(point: np.ndarray) -> None:
    configuration = TREE.configuration(TREE.canonical(point[None])[0])
    for variable in TREE.variables:
        if variable.copy:
            count = configuration[variable.copy.split(".")[0]]
            is_active = int(variable.copy.split(".")[1]) <= count
            assert (variable.key in configuration) == is_active
    is_adam = configuration["optimiser"] == "adam"
    assert ("optimiser.beta1" in configuration) == is_adam
    assert ("optimiser.momentum" in configuration) != is_adam
    assert len(configuration) <= TREE.most_active


def test_order_of_keys_kind_of_number_and_a_negative_zero_do_not_matter() -> None:
    configuration = TREE.configuration(TREE.start_point)
    scrambled = {
        key: float(value) if type(value) is int and "precision" not in key else value
        for key, value in reversed(list(configuration.items()))
    }
    scrambled |= {"dropout": -0.0, "optimiser.momentum": 7, "conv.9.kernel": "rubbish"}
    text = written_form(TREE.configuration(TREE.point(scrambled)))
    assert text == written_form({**configuration, "dropout": 0.0})


@given(floats(1e-4, 1.0))
def test_a_real_number_has_four_digits_and_stays_within_its_ends(number: float) -> None:
    values = Range(1e-4, 0.99996, is_log=True)
    rounded = values.round(np.array([number]))
    assert rounded[0] == min(float(f"{number:.4g}"), 0.99996)
    assert values.round(rounded) == rounded


@given(sampled_from([Range(1, 64, True, True), Range(0, 7, True), Range(1e-5, 0.1, False, True)]))
def test_a_value_is_at_the_place_that_it_has(values: Range) -> None:
    numbers = np.unique(values.round(values.at_places(np.linspace(0, 1, 97))))
    assert (values.round(values.at_places(values.places(numbers))) == numbers).all()


def test_the_tree_is_the_same_after_its_journal_was_read() -> None:
    facts = json.loads(json.dumps(TREE.facts))
    tree = Tree.from_facts(facts)
    assert tree.facts == TREE.facts
    assert tree.variables == TREE.variables and (tree.starts == TREE.starts).all()


def test_a_tree_in_another_order_has_other_facts() -> None:
    """Its points are written, and drawn, in another order."""
    reordered = Tree.of(dict(reversed(DECLARED.items())))
    assert digest(reordered.facts) != digest(Tree.of(DECLARED).facts)
    assert digest(reordered.facts["space"]) == digest(DECLARED)


def test_65_variables_of_which_53_can_be_active_together() -> None:
    """Eight convolutions of five numbers, three dense layers, four optimisers of four, three others."""
    number = {"real": {"low": 0.0, "high": 1.0}}
    tree = Tree.of(
        {
            "conv": {"repeat": {"low": 1, "high": 8}, "each": dict.fromkeys("abcde", number)},
            "dense": {"repeat": {"low": 0, "high": 3}, "each": {"size": number}},
            "optimiser": {"choose": dict.fromkeys("pqrs", dict.fromkeys("abcd", number))},
            **dict.fromkeys(("batch", "dropout", "activation"), number),
        }
    )
    assert tree.size_in_words == "tree of 65 variables, 53 at most active"


@pytest.mark.parametrize(
    ("start", "code", "sentence"),
    [
        (
            {"optimiser": {"sgd": {"beta1": 0.9}}},
            "tree-inactive",
            "search.start: optimiser.beta1 0.9 belongs to adam, but optimiser is sgd; leave it out, or "
            "choose adam",
        ),
        (
            {"conv": [{"stride": 1}, {"stride": 4}]},
            "tree-value",
            "search.start: conv.2.stride = 4; give a whole number from 1 to 3",
        ),
        (
            {"conv": [{}] * 9},
            "tree-count",
            "search.start: conv has 9 groups; give 1 to 8",
        ),
        (
            {"conv": [7]},
            "tree-value",
            "search.start: conv.1 = 7; give a group with channels, stride",
        ),
        (
            {"optimiser": "adagrad"},
            "tree-value",
            "search.start: optimiser = adagrad; give one of sgd, adam",
        ),
        (
            {"optimiser": {"sgd": {}, "adam": {}}},
            "tree-value",
            "search.start: optimiser = sgd, adam; give one of sgd, adam",
        ),
        (
            {"dropot": 0.1},
            "space-axes",
            "search.start: dropot: not in search.space; did you mean 'dropout'?",
        ),
        (
            {"dropout": True},
            "tree-value",
            "search.start: dropout = True; give a number from 0 to 0.7",
        ),
    ],
)
def test_a_start_outside_the_tree_is_refused(
    start: dict[str, Any], code: str, sentence: str
) -> None:
    with pytest.raises(SearchError) as caught:
        tree_with_start(DECLARED, start)
    assert (caught.value.code, caught.value.sentence) == (code, sentence)


def test_a_changed_branch_begins_with_its_own_start_values() -> None:
    before = TREE.configuration(TREE.start_point)
    after = change_point(TREE, before, {"optimiser": "sgd", "conv.2.stride": 3}, "--set")
    assert after == {
        **{key: value for key, value in before.items() if key != "optimiser.beta1"},
        "optimiser": "sgd",
        "optimiser.rate": 0.01,
        "optimiser.momentum": 0.9,
        "conv.2.stride": 3,
    }


@pytest.mark.parametrize(
    ("changes", "sentence"),
    [
        ({"conv.1.stride": 9}, "conv.1.stride = 9; give a whole number from 1 to 3"),
        ({"optimiser": "lion"}, "optimiser = lion; give one of sgd, adam"),
        (
            {"optimiser.momentum": 0.5},
            "optimiser.momentum 0.5 belongs to sgd, but optimiser is adam; leave it out, or choose sgd",
        ),
        (
            {"conv.3.stride": 1},
            "conv.3.stride 1 belongs to conv.3, but conv is 2; leave it out, or set conv to 3",
        ),
    ],
)
def test_a_change_that_no_point_has_is_refused(changes: dict[str, Any], sentence: str) -> None:
    with pytest.raises(SearchError) as refused:
        change_point(TREE, TREE.configuration(TREE.start_point), changes, "--set")
    assert refused.value.code in ("tree-value", "tree-inactive")
    assert refused.value.sentence == f"--set: {sentence}"


def test_points_too_many_for_a_number_are_infinite() -> None:
    """HyperNOMAD's 64 convolutions of 90,000 kinds are 1e317."""
    each = {"kind": {"whole": {"low": 1, "high": 90_000}}}
    counts = [
        Tree.of({"conv": {"repeat": {"low": copies, "high": copies}, "each": each}}).point_count
        for copies in (2, 64)
    ]
    assert counts == [90_000**2, float("inf")]


@given(lists(one_of(floats(-1e30, 1e30), integers(-99_999, 99_999).map(lambda n: n / 2e6))))
def test_many_numbers_are_rounded_as_each_is_written_with_four_digits(numbers: list[float]) -> None:
    """Also halves between two of them, and powers of ten."""
    numbers += [np.nan, -0.0, *(sign * 10.0**power for sign in (-1, 1) for power in range(-30, 30))]
    written = np.array([float(f"{number:.4g}") for number in numbers])
    assert round_to_four_digits(np.array(numbers)).tobytes() == written.tobytes()
