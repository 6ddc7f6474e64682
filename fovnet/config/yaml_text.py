"""What a YAML text says otherwise than it looks: keys given twice, numbers that YAML 1.1 reads as
others, aliases that stand for terabytes."""

from __future__ import annotations

import math
import re
from collections.abc import Iterator
from itertools import chain
from typing import Any

import yaml

MOST_BY_ALIASES = 100_000
"""Characters that the aliases of a YAML file may stand for; a whole configuration has 4,000."""
DATE = "tag:yaml.org,2002:timestamp"
MISREAD = (DATE, "tag:yaml.org,2002:int", "tag:yaml.org,2002:float")
PLAIN = re.compile(r"[-+]?(\d|[1-9]\d+)(\.\d*)?|0x[0-9a-fA-F]+|[-+]?\.(inf|nan)", re.IGNORECASE)
"""Numbers that everybody reads as YAML does."""


def count_expanded_characters(text: str) -> float:
    """Characters of the values that a text stands for, aliases written out: a kilobyte of aliases
    of lists of aliases can stand for terabytes."""
    sizes: dict[int, float] = {}

    def size(node: yaml.Node | None) -> float:
        if node is None or isinstance(node, yaml.ScalarNode):
            return 0.0 if node is None else len(node.value) + 1
        if id(node) not in sizes:
            # while its entries are counted: an alias of itself has no end
            sizes[id(node)] = math.inf
            entries = (
                chain.from_iterable(node.value)
                if isinstance(node, yaml.MappingNode)
                else node.value
            )
            sizes[id(node)] = 1 + sum(map(size, entries))
        return sizes[id(node)]

    return size(yaml.compose(text, Loader=yaml.SafeLoader))


def find_doubled_keys(text: str) -> list[str]:
    """ "line 7: search.trials is in line 3 already" for every key given twice in one mapping, of
    which YAML alone keeps the last."""
    sentences_by_line: list[tuple[int, str]] = []
    for keys, node in _nodes(text):
        if not isinstance(node, yaml.MappingNode):
            continue
        first_line: dict[tuple[str, str], int] = {}
        for key, _ in node.value:
            line, identity = key.start_mark.line + 1, (key.tag, str(key.value))
            if isinstance(key, yaml.ScalarNode) and identity in first_line:
                path = ".".join((*keys, key.value))
                sentences_by_line.append(
                    (line, f"line {line}: {path} is in line {first_line[identity]} already")
                )
            first_line.setdefault(identity, line)
    return [sentence for _, sentence in sorted(sentences_by_line)]


def find_misread_numbers(text: str) -> list[str]:
    """ "line 7: search.trials: 1:36 is 96 in YAML; write 96".

    One for every value or key without quotes that YAML 1.1 takes for another number than its digits
    say (sexagesimal, octal, binary), or for a date.
    """
    sentences_by_line: list[tuple[int, str]] = []
    for keys, node in _nodes(text):
        if not isinstance(node, yaml.ScalarNode) or node.style or node.tag not in MISREAD:
            continue
        if sentence := _misreading(node.value, node.tag):
            line = node.start_mark.line + 1
            where = f"line {line}: {'.'.join(keys)}: " if keys else ""
            sentences_by_line.append((line, where + sentence))
    return [sentence for _, sentence in sorted(sentences_by_line)]


def _misreading(text: str, tag: str) -> str:
    """ "010 is 8 in YAML; write 8, or 10" of a number that is not what Python reads, which has no
    number of base 60, and no octal one without an o; "" otherwise."""
    if tag == DATE:
        return f"{text} is a date in YAML; put it in quotes"
    if PLAIN.fullmatch(text):
        return ""
    value = yaml.safe_load(text)
    try:
        as_it_looks = float(text)
    except ValueError:
        return f"{text} is {value} in YAML; write {value}"
    if as_it_looks == value:
        return ""
    return f"{text} is {value} in YAML; write {value}, or {as_it_looks:.0f}"


def read_value(text: str) -> Any:
    """The value that is written in YAML.  Raises yaml.YAMLError, RecursionError, and ValueError for
    one that `find_misread_numbers` names."""
    value = yaml.safe_load(text)
    for sentence in find_misread_numbers(text):
        raise ValueError(sentence)
    return value


def _nodes(text: str) -> Iterator[tuple[tuple[str, ...], yaml.Node]]:
    """Every key and value of a YAML text with the keys that lead to it, each once: an alias refers
    to the same node, and may form a cycle."""
    root = yaml.compose(text, Loader=yaml.SafeLoader)
    pending: list[tuple[tuple[str, ...], yaml.Node]] = [] if root is None else [((), root)]
    seen_ids: set[int] = set()
    while pending:
        keys, node = pending.pop()
        if id(node) in seen_ids:
            continue
        seen_ids.add(id(node))
        yield keys, node
        if isinstance(node, yaml.SequenceNode):
            pending += [((*keys, str(number)), entry) for number, entry in enumerate(node.value)]
        if isinstance(node, yaml.MappingNode):
            for key, value in node.value:
                name = key.value if isinstance(key, yaml.ScalarNode) else "?"
                pending += [((*keys, name), key), ((*keys, name), value)]
