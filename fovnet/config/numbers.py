"""Numbers as people write them: 1e2 where a whole number is wanted, 1e-4 without a point, never
true for 1.

YAML 1.1, which PyYAML reads, takes 1e2 and 1e-4 for words, as they have no decimal point, and
`--config` of Snakemake makes words of all values below the first level.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Annotated, Any, Literal, get_args, get_origin

from pydantic import BeforeValidator

NUMBER = re.compile(r"[-+]?\d{1,40}(\.\d{0,40})?([eE][-+]?\d{1,4})?")
WHOLE_NUMBER = re.compile(r"[-+]?\d+")
BOOLEAN_BY_WORD = {"true": True, "false": False}


def parse_number(level: Any) -> Any:
    """1e-4, 12 and 0.5 as numbers if they are words; anything else as it is."""
    if not isinstance(level, str) or not NUMBER.fullmatch(level):
        return level
    if WHOLE_NUMBER.fullmatch(level):
        return int(level)
    return float(level)


def parse_level(level: Any) -> Any:
    """1e-4, 12, 0.5, true and false as numbers and booleans if they are words; anything else as it
    is."""
    if not isinstance(level, str):
        return level
    return BOOLEAN_BY_WORD.get(level.lower(), parse_number(level))


Level = Annotated[int | float | bool | str, BeforeValidator(parse_level)]


def scalar_kinds(annotation: Any) -> frozenset[type]:
    """The types of the single values that an annotation admits, alone or in a list: {int, NoneType}
    of `list[PositiveInt] | None`.  What is in a mapping has an annotation of its own."""
    generic_origin = get_origin(annotation)
    type_arguments = get_args(annotation)
    if generic_origin is Literal:
        return frozenset(map(type, type_arguments))
    if generic_origin is Annotated:
        return scalar_kinds(type_arguments[0])
    if isinstance(generic_origin, type) and issubclass(generic_origin, Mapping):
        return frozenset()
    if type_arguments:
        return frozenset().union(*map(scalar_kinds, type_arguments))
    if isinstance(annotation, type):
        return frozenset({annotation})
    return frozenset()


def read_numbers(value: Any, kinds: frozenset[type]) -> Any:
    """A value, or those in a list, as numbers where `kinds` has numbers.  Raises ValueError for
    true and false where it has no switch."""
    if not kinds & {int, float}:
        return value
    if isinstance(value, list | tuple):
        return [read_numbers(entry, kinds) for entry in value]
    if isinstance(value, bool) and bool not in kinds:
        boolean_word = str(value).lower()
        raise ValueError(f"{boolean_word} is no number; write {int(value)} if that is meant")
    number = parse_number(value)
    is_fraction = isinstance(number, float) and not number.is_integer()
    if is_fraction and float not in kinds:
        return value
    return number
