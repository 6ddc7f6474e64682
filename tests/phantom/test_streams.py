"""Random numbers of a person: each part of the body has a stream of its own, or it is said that it has
not."""

from __future__ import annotations

import ast
from collections import Counter
from pathlib import Path

import numpy as np
import pytest

import fovnet.phantom
from fovnet.phantom.person.streams import Stream

ROOM = Path(fovnet.phantom.__file__).parent
SHARED = {40, 62, 74, 973}
ONE_SIDED = {"LEFT_ARM", "LEFT_VENTRICLE", "LEFT_VENTRICLE_FAT", "LEFT_VENTRICLE_TRABECULAE"}
"""Streams that are not followed by that of a right side."""


def stream_uses() -> Counter[str]:
    """How many functions draw from each stream, by its name; no stream has a bare number."""
    uses: Counter[str] = Counter()
    for path in ROOM.rglob("*.py"):
        for function in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
            if isinstance(function, ast.FunctionDef):
                uses.update(
                    {
                        node.attr
                        for node in ast.walk(function)
                        if isinstance(node, ast.Attribute) and ast.unparse(node.value) == "Stream"
                    }
                )
                for call in ast.walk(function):
                    if isinstance(call, ast.Call) and call.args:
                        method = getattr(call.func, "attr", "")
                        is_bare = isinstance(call.args[0], ast.Constant)
                        assert not (method in ("generator", "side_generator") and is_bare)
    return uses


def test_no_two_parts_of_the_body_share_a_stream_but_those_of_which_it_is_said() -> None:
    streams_of_sides = [
        (name, number)
        for name, stream in Stream.__members__.items()
        for number in (stream, stream + 1)
        if number == stream or (name.startswith("LEFT_") and name not in ONE_SIDED)
    ]
    parts_of_number = Counter(int(number) for _, number in streams_of_sides)
    assert {number for number, parts in parts_of_number.items() if parts > 1} == SHARED
    assert all(str(number) in str(Stream.__doc__) for number in SHARED)
    assert min(Stream) > 2, (
        "0, 1 and 2 are the streams of the person, the kinds of field and the plans"
    )


def test_each_stream_has_one_function_that_draws_from_it() -> None:
    assert stream_uses() == dict.fromkeys(Stream.__members__, 1)


@pytest.mark.parametrize("words", [(7,), (7, 1), (7, 1, 2)])
def test_a_seed_is_padded_with_zeros_up_to_four_words(words: tuple[int, ...]) -> None:
    """numpy's SeedSequence has a pool of four; its children by spawn differ."""
    plain, padded = (
        np.random.default_rng([*key]).random(4).tolist() for key in (words, (*words, 0))
    )
    assert plain == padded
    child = np.random.default_rng(np.random.SeedSequence([*words]).spawn(1)[0]).random(4).tolist()
    assert child != plain
