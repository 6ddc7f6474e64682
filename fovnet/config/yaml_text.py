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
DATE_TAG = "tag:yaml.org,2002:timestamp"
MISREAD_TAGS = (DATE_TAG, "tag:yaml.org,2002:int", "tag:yaml.org,2002:float")
PLAIN_NUMBER = re.compile(
    r"[-+]?(\d|[1-9]\d+)(\.\d*)?|0x[0-9a-fA-F]+|[-+]?\.(inf|nan)", re.IGNORECASE
)
"""Numbers that everybody reads as YAML does."""


def count_expanded_characters(text: str) -> float:
    """Characters of the values that a text stands for, aliases written out: a kilobyte of aliases
    of lists of aliases can stand for terabytes."""
    size_by_node_id: dict[int, float] = {}

    def count_in_node(node: yaml.Node | None) -> float:
        """Characters of a node and of all below it, with a separator for each."""
        if node is None:
            return 0.0
        if isinstance(node, yaml.ScalarNode):
            return len(node.value) + 1
        if id(node) not in size_by_node_id:
            # while its entries are counted: an alias of itself has no end
            size_by_node_id[id(node)] = math.inf
            child_nodes = node.value
            if isinstance(node, yaml.MappingNode):
                child_nodes = chain.from_iterable(node.value)  # keys and values
            size_by_node_id[id(node)] = 1 + sum(map(count_in_node, child_nodes))
        return size_by_node_id[id(node)]

    return count_in_node(yaml.compose(text, Loader=yaml.SafeLoader))


def find_doubled_keys(text: str) -> list[str]:
    """ "line 7: search.trials is in line 3 already" for every key given twice in one mapping, of
    which YAML alone keeps the last."""
    sentences_by_line: list[tuple[int, str]] = []
    for keys, node in _nodes_with_keys(text):
        if not isinstance(node, yaml.MappingNode):
            continue
        first_line_by_key: dict[tuple[str, str], int] = {}
        for key, _ in node.value:
            line = key.start_mark.line + 1
            tag_and_key = (key.tag, str(key.value))
            if isinstance(key, yaml.ScalarNode) and tag_and_key in first_line_by_key:
                path = ".".join((*keys, key.value))
                first_line = first_line_by_key[tag_and_key]
                sentence = f"line {line}: {path} is in line {first_line} already"
                sentences_by_line.append((line, sentence))
            first_line_by_key.setdefault(tag_and_key, line)
    return [sentence for _, sentence in sorted(sentences_by_line)]


def find_misread_numbers(text: str) -> list[str]:
    """ "line 7: search.trials: 1:36 is 96 in YAML; write 96".

    One for every value or key without quotes that YAML 1.1 takes for another number than its digits
    say (sexagesimal, octal, binary), or for a date.
    """
    sentences_by_line: list[tuple[int, str]] = []
    for keys, node in _nodes_with_keys(text):
        if not isinstance(node, yaml.ScalarNode) or node.style or node.tag not in MISREAD_TAGS:
            continue
        if sentence := _misreading_in_words(node.value, node.tag):
            line = node.start_mark.line + 1
            if keys:
                sentence = f"line {line}: {'.'.join(keys)}: {sentence}"
            sentences_by_line.append((line, sentence))
    return [sentence for _, sentence in sorted(sentences_by_line)]


def _misreading_in_words(scalar_text: str, tag: str) -> str:
    """ "010 is 8 in YAML; write 8, or 10" of a number that is not what Python reads, which has no
    number of base 60, and no octal one without an o; "" otherwise."""
    if tag == DATE_TAG:
        return f"{scalar_text} is a date in YAML; put it in quotes"
    if PLAIN_NUMBER.fullmatch(scalar_text):
        return ""
    yaml_value = yaml.safe_load(scalar_text)
    try:
        decimal_value = float(scalar_text)
    except ValueError:
        return f"{scalar_text} is {yaml_value} in YAML; write {yaml_value}"
    if decimal_value == yaml_value:
        return ""
    return f"{scalar_text} is {yaml_value} in YAML; write {yaml_value}, or {decimal_value:.0f}"


def read_value(text: str) -> Any:
    """The value that is written in YAML.  Raises yaml.YAMLError, RecursionError, and ValueError for
    one that `find_misread_numbers` names."""
    value = yaml.safe_load(text)
    misread_numbers = find_misread_numbers(text)
    if misread_numbers:
        raise ValueError(misread_numbers[0])
    return value


def _nodes_with_keys(yaml_text: str) -> Iterator[tuple[tuple[str, ...], yaml.Node]]:
    """Every key and value of a YAML text with the keys that lead to it, each once: an alias refers
    to the same node, and may form a cycle."""
    root = yaml.compose(yaml_text, Loader=yaml.SafeLoader)
    pending_nodes: list[tuple[tuple[str, ...], yaml.Node]] = []
    if root is not None:
        pending_nodes.append(((), root))
    seen_ids: set[int] = set()
    while pending_nodes:
        keys, node = pending_nodes.pop()
        if id(node) in seen_ids:
            continue
        seen_ids.add(id(node))
        yield keys, node
        if isinstance(node, yaml.SequenceNode):
            pending_nodes += [
                ((*keys, str(entry_index)), entry) for entry_index, entry in enumerate(node.value)
            ]
        if isinstance(node, yaml.MappingNode):
            for key, value in node.value:
                key_name = "?"
                if isinstance(key, yaml.ScalarNode):
                    key_name = key.value
                pending_nodes += [((*keys, key_name), key), ((*keys, key_name), value)]
