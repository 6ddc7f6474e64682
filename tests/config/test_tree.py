"""A space with repeats, choices and ranges, as a user writes it, and what is refused in it."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
import yaml
from typer.testing import CliRunner

from fovnet.acts.search_space import search_tree
from fovnet.cli import app
from fovnet.config.files import parse
from fovnet.config.models import Settings
from fovnet.config.search import METHODS_ON_TREES, REASON_AGAINST_TREE
from fovnet.config.tree import is_tree
from fovnet.errors import ConfigError
from fovnet.search.methods import METHODS

REAL = {"real": {"low": 0, "high": 1}}
WHOLE = {"whole": {"low": 1, "high": 7}}
CONV = {"repeat": {"low": 1, "high": 8}, "each": {"kernel": WHOLE}}


def settings_of(space: Any, **search: Any) -> Settings:
    raw = {"space": space, "method": "random", **search}
    return parse({"collections": {"a": "b"}, "search": raw}, "mine.yaml")


def sentences_of(space: Any, **search: Any) -> str:
    with pytest.raises(ConfigError) as caught:
        settings_of(space, **search)
    assert caught.value.code == "config-invalid"
    return caught.value.sentence.removeprefix("mine.yaml: not a valid configuration:\n  ")


@pytest.mark.parametrize(
    ("space", "sentence"),
    [
        (
            {"dropout": {"real": {"low": 0.7, "high": 0}}},
            "search.space.dropout: real from 0.7 to 0; low must be smaller: swap them",
        ),
        (
            {"batch": {"whole": {"low": 0, "high": 256, "log": True}}},
            "search.space.batch: log from 0; give a low above 0, or leave log out",
        ),
        (
            {"conv": {**CONV, "each": {"kernel": {"whole": {"low": 1.5, "high": 7}}}}},
            "search.space.conv.kernel: low 1.5; give whole numbers",
        ),
        (
            {"conv": {**CONV, "each": {"parts": CONV}}},
            "search.space.conv.each.parts: a repeat within conv; repeats stand at the top of the space",
        ),
        (
            {"optimiser": {"choose": {"sgd": {"parts": CONV}, "adam": {}}}},
            "search.space.optimiser.sgd.parts: a repeat within optimiser; repeats stand at the top of "
            "the space",
        ),
        (
            {"conv": {"repeat": {"low": 1, "high": 8}}},
            "search.space.conv: repeat without variables; give each: {name: values}",
        ),
        (
            {"conv": {**CONV, "each": {}}},
            "search.space.conv: repeat without variables; give each: {name: values}",
        ),
        (
            {"conv": {**CONV, "repeat": {"low": 1, "high": 400}}},
            "search.space.conv: repeat up to 400; at most 64 copies are modelled",
        ),
        (
            {"optimiser": {"choose": {"sgd": {"rate": REAL}}}},
            "search.space.optimiser: choose among sgd alone; give two branches, or no choose",
        ),
        (
            {"optimiser": {"choose": {}}},
            "search.space.optimiser: choose among nothing; give two branches, or no choose",
        ),
        (
            {"conv": {**CONV, "grows": "middle"}},
            "search.space.conv: grows 'middle'; give first or last",
        ),
        (
            {"conv.x": REAL, "rate": REAL},
            "search.space: conv.x: names have no dot; it joins the names of a group",
        ),
        (
            {"conv": {**CONV, "each": {7: REAL}}},
            "search.space.conv: 7: names are no numbers; these count the copies of a group",
        ),
        (
            {1.5: REAL, "yes": REAL, True: REAL, "True": REAL},
            "search.space: 1.5: names have no dot; it joins the names of a group\n  "
            "search.space: True: the name is given twice; choose another for one of them",
        ),
        (
            {"rate": {"real": {"low": 0}}},
            "search.space.rate: real: {'low': 0}; give {low: ..., high: ...}",
        ),
        (
            {"rate": {"real": {"low": "a", "high": 1}}},
            "search.space.rate: low 'a'; give a number",
        ),
        (
            {"rate": {"real": {"low": 0, "high": float("inf")}}},
            "search.space.rate: high inf; give a number",
        ),
        (
            {"rate": {**REAL, "star": 0.5}},
            "search.space.rate: unknown key star; did you mean 'start'?",
        ),
        (
            {"rate": {**REAL, "start": 2}},
            "search.space.rate: start 2; give a number from 0 to 1",
        ),
        (
            {"rate": REAL, "kind": {"categorical": ["a", "b"], "start": "c"}},
            "search.space.kind: start 'c'; give one of a, b",
        ),
        (
            {"rate": REAL, "kind": {"categorical": []}},
            "search.space.kind: []: list should have at least 1 item after validation, not 0",
        ),
        (
            {"way": {"choose": {"a": {}, "b": {}}, "start": "c"}},
            "search.space.way: start 'c'; give one of a, b",
        ),
    ],
)
def test_what_a_tree_cannot_have_is_refused(space: Any, sentence: str) -> None:
    assert sentences_of(space).split(" [config-invalid]")[0] == sentence


def test_a_mapping_without_ranges_repeats_and_choices_is_a_finite_space() -> None:
    space = {
        "a": [1, 2],
        "b": {"categorical": ["x"]},
        "c": {"log": {"low": 1, "high": 9, "levels": 3}},
    }
    assert not is_tree(space) and not settings_of(space, start={"a": 1}).search.has_tree
    assert is_tree({**space, "d": REAL})


def test_numbers_may_be_words_and_a_tree_is_the_same_when_read_again() -> None:
    space = {
        "rate": {"real": {"low": "1e-4", "high": 1, "log": "true"}},
        "conv": {"repeat": {"low": "1", "high": "2e0"}, "each": {"kernel": WHOLE}},
    }
    search = settings_of(space, limits={"weights": "2e6"}).search
    assert search.space == {
        "rate": {"real": {"low": 1e-4, "high": 1.0, "log": True}},
        "conv": {
            "repeat": {"low": 1, "high": 2},
            "each": {"kernel": {"whole": {"low": 1, "high": 7}}},
        },
    }
    assert search.start == {} and search.limits and search.limits.weights == 2e6
    dumped = settings_of(space).model_dump(mode="json")
    assert (
        parse(yaml.safe_load(yaml.safe_dump(dumped, sort_keys=False)), "x").model_dump(mode="json")
        == dumped
    )


def test_the_methods_that_take_a_tree_are_those_that_look_in_one() -> None:
    assert set(METHODS_ON_TREES) == {name for name, way in METHODS.items() if way.tree_look}


@pytest.mark.parametrize("method", REASON_AGAINST_TREE)
def test_a_method_that_needs_rows_is_refused_by_name(method: str) -> None:
    more = {"prior": "a"} if method in ("gp-rgpe",) else {}
    reason = REASON_AGAINST_TREE[method]
    first_line, *_ = sentences_of({"conv": CONV}, method=method, **more).splitlines()
    assert first_line.split(" [config-invalid]")[0] == (
        f"search.method: {method} {reason}, but this one is a tree (conv repeats 1 to 8 times); set "
        "method to gp-ei, or give every variable a list of levels"
    )


@pytest.mark.parametrize(
    ("search", "sentence"),
    [
        (
            {"candidates": "all", "method": "tpe"},
            "search.candidates: all compares all free rows of a finite space, but this one is a tree; leave "
            "it out",
        ),
        (
            {"fidelity": "axis", "spend": "asha", "method": "gp-ei"},
            "search.fidelity: axis adds an axis to the rows of a finite space, but this one is a tree; leave "
            "it out",
        ),
        (
            {"mads": {"categories": "reals"}, "method": "a-dogs"},
            "search.mads.categories: reals is for the axes of a finite space, but this one is a tree; set "
            "free or fixed",
        ),
        (
            {"prior": "p.st", "method": "gp-ei"},
            "search.prior: p.st belongs to the axes of a finite space, but this one is a tree; leave it out",
        ),
        (
            {"learn_from": ["x"], "method": "gp-ei"},
            "search.learn_from: ['x'] learns of the axes of a finite space, but this one is a tree; leave it "
            "out",
        ),
        (
            {"mads": {"extended": 0.5}, "method": "mads"},
            "search.mads.extended: 0.5 is a share of the rows of a finite space, but this one is a tree, "
            "whose structures take turns; leave it out",
        ),
    ],
)
def test_settings_of_finite_spaces_are_refused_with_a_tree(
    search: dict[str, Any], sentence: str
) -> None:
    assert sentences_of({"conv": CONV}, **search).split(" [config-invalid]")[0] == sentence


def test_limits_and_groups_are_refused_with_a_finite_space() -> None:
    axes = {"a": [1, 2]}
    assert "limits: for a tree, but this space is finite; leave it out" in sentences_of(
        axes, start={"a": 1}, limits={"weights": 9}
    )
    assert "start: a: [1]; give a level: a number, a word, or yes or no" in sentences_of(
        axes, start={"a": [1]}
    )


def test_networks_to_begin_with_have_no_place_in_a_tree() -> None:
    raw = {
        "collections": {"a": "b"},
        "search": {"space": {"conv": CONV}, "method": "random"},
        "training": {"begin": "shipped"},
    }
    with pytest.raises(
        ConfigError,
        match=r"  training.begin: its networks have blocks, this space has conv; leave it out \[config-invalid\]$",
    ):
        parse(raw, "mine.yaml")


def test_the_tree_named_hypernomad_has_the_published_default_of_22_variables() -> None:
    """Lakhmiri (2021), Table A.1: two convolutions of 6 filters of 5 x 5, two layers of 128."""
    tree = search_tree(settings_of("hypernomad"))
    start = tree.configuration(tree.start_point)
    assert (len(start), start["conv"], start["dense"]) == (22, 2, 2)
    assert start["conv.2.channels"] == 6 and start["dense.1.size"] == 128
    assert len(tree) == 2 + 5 * 64 + 64 + 1 + 16 + 3


def test_a_head_is_refused_beside_a_tree() -> None:
    raw = {
        "collections": {"a": "b"},
        "training": {"head": "gap"},
        "search": {"space": "layers", "method": "random"},
    }
    with pytest.raises(
        ConfigError,
        match=r"  training.head: gap, but the networks of this space end with its dense layers; leave it "
        r"out \[config-invalid\]$",
    ):
        parse(raw, "mine.yaml")


def test_a_tree_is_checked_with_its_start(tmp_path: Path) -> None:
    """Three copies of two variables, a rate and a batch; the start is midway, two convolutions."""
    config = tmp_path / "mine.yaml"
    conv = {"repeat": {"low": 1, "high": 3}, "each": {"channels": WHOLE, "kernel": WHOLE}}
    space = {"conv": conv, "rate": {"real": {"low": 0.01, "high": 1}}, "batch": [8, 16]}
    raw: dict[str, Any] = {
        "results": str(tmp_path / "out"),
        "phantom": {"subjects": 8},
        "search": {"method": "random", "space": space},
    }
    config.write_text(yaml.safe_dump(raw, sort_keys=False))
    done = CliRunner().invoke(app, ["check", "--config", str(config)])
    assert done.exit_code == 0
    assert "valid.  tree of 9 variables, 9 at most active; start: 7 active" in done.output
    assert "fits; 1.00 of 10,000 draws fit" in done.output
    each = {"channels": [2, 3], "kernel": [1]}
    few = {"conv": {"repeat": {"low": 1, "high": 1}, "each": each}}
    raw["search"] |= {"space": {**few, "rate": [0.1], "batch": [8]}, "limits": {"weights": 10}}
    config.write_text(yaml.safe_dump(raw, sort_keys=False))
    for verb in ("check", "cost"):
        done = CliRunner().invoke(app, [verb, "--config", str(config)])
        assert str(done.exception) == (
            "none of 400 drawn fits, 400 for weights; raise a limit, or give search.space smaller networks. "
            "[no-feasible-row]"
        )
    raw["search"] |= {"space": space, "limits": None}
    raw["search"]["start"] = {"conv": [{"kernel": 1}, {"kernel": 9}]}
    config.write_text(yaml.safe_dump(raw, sort_keys=False))
    done = CliRunner().invoke(app, ["check", "--config", str(config)])
    assert "search.start: conv.2.kernel = 9; give a whole number from 1 to 7" in str(done.exception)
