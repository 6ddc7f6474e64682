"""Random numbers of a person: each place in the body has a stream of its own, or it is said that it has
not."""

from __future__ import annotations

import ast
from collections import defaultdict
from collections.abc import Iterator
from itertools import product
from pathlib import Path

import numpy as np
import pytest

import fovnet.phantom
from fovnet.phantom.person.traits import Person

ROOM = Path(fovnet.phantom.__file__).parent
NAMES = {"side": (-1, 1), "segment_index": (0, 1), "left_stream": (711, 713)}
"""Values of the names in what is given to generators: sides, thigh and calf, their left muscles."""
STREAMS_BY_METHOD = {"generator": (0,), "side_generator": (0, 1)}
"""What a generator of `Person` adds to the number that it is given: nothing, or 1 for the right."""
SHARED = {40, 62, 74, 973}


def places() -> Iterator[tuple[int, str]]:
    """Every place that is drawn for, with the function that draws."""
    for path in ROOM.rglob("*.py"):
        tree = ast.parse(path.read_text(encoding="utf-8"))
        for function in ast.walk(tree):
            if not isinstance(function, ast.FunctionDef) or function.name in STREAMS_BY_METHOD:
                continue
            for call in ast.walk(function):
                if isinstance(call, ast.Call):
                    method = getattr(call.func, "attr", "")
                    for addition in STREAMS_BY_METHOD.get(method, ()):
                        for place in values_of(call.args[0]):
                            yield place + addition, f"{path.stem}.{function.name}"


def values_of(expression: ast.expr) -> Iterator[int]:
    """The values of an expression over NAMES; a name that is not there has to be entered."""
    names = sorted({node.id for node in ast.walk(expression) if isinstance(node, ast.Name)})
    code = compile(ast.Expression(expression), "", "eval")
    for values in product(*(NAMES[name] for name in names)):
        yield int(eval(code, {}, dict(zip(names, values, strict=True))))


def test_no_two_places_of_the_body_share_a_stream_but_those_of_which_it_is_said() -> None:
    drawing: dict[int, set[str]] = defaultdict(set)
    for place, function in places():
        drawing[place].add(function)
    assert len(drawing) > 80
    assert {place for place, functions in drawing.items() if len(functions) > 1} == SHARED
    assert all(str(place) in str(Person.generator.__doc__) for place in SHARED)
    assert min(drawing) > 2, (
        "0, 1 and 2 are the streams of the person, the kinds of field and the plans"
    )


@pytest.mark.parametrize("words", [(7,), (7, 1), (7, 1, 2)])
def test_a_seed_is_padded_with_zeros_up_to_four_words(words: tuple[int, ...]) -> None:
    """numpy's SeedSequence has a pool of four; its children by spawn differ."""
    plain, padded = (
        np.random.default_rng([*key]).random(4).tolist() for key in (words, (*words, 0))
    )
    assert plain == padded
    child = np.random.default_rng(np.random.SeedSequence([*words]).spawn(1)[0]).random(4).tolist()
    assert child != plain
