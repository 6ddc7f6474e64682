"""YAML files as mappings.

A key given twice, a number that YAML 1.1 reads as another one, and aliases that stand for more than
they should, are refused.
"""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import yaml

from fovnet.config.yaml_text import (
    MOST_BY_ALIASES,
    count_expanded_characters,
    find_doubled_keys,
    find_misread_numbers,
)
from fovnet.errors import ConfigError


def read_yaml(
    path: Path, hint: str = "configs/demo.yaml of the repository is an example to start from"
) -> dict[str, Any]:
    """The mapping in a YAML file; `hint` stands in messages.

    Raises ConfigError: "config-missing", "config-unreadable", "config-doubled" for a key given
    twice, or "config-misread" for a number that means another one in YAML 1.1.
    """
    try:
        yaml_text = path.read_text(encoding="utf-8")
        _refuse_expansion(path, yaml_text)
        doubled_keys = find_doubled_keys(yaml_text)
        misread_numbers = find_misread_numbers(yaml_text)
        content = yaml.safe_load(yaml_text)
    except Exception as fault:
        fault_sentence = _fault_of_reading(fault, hint)
        if not fault_sentence:
            raise
        code = "config-unreadable"
        if isinstance(fault, FileNotFoundError):
            code = "config-missing"
        raise ConfigError(code, f"{path}: {fault_sentence}") from None
    if doubled_keys:
        _refuse_lines(path, "config-doubled", "duplicate keys; remove one of each", doubled_keys)
    if misread_numbers:
        _refuse_lines(
            path, "config-misread", "YAML reads these otherwise than they look", misread_numbers
        )
    if not isinstance(content, dict):
        content_in_words = f"holds {_kind_in_words(content)}"
        if content is None:
            content_in_words = "is empty"
        raise ConfigError(
            "config-unreadable",
            f"{path}: {content_in_words}; it must have 'key: value' lines; {hint}",
        )
    return content


def _kind_in_words(content: Any) -> str:
    """The kind of a YAML value that is no mapping."""
    if isinstance(content, bool):
        return "true or false"
    if isinstance(content, int | float):
        return "a number"
    if isinstance(content, str):
        return "a text"
    if isinstance(content, list):
        return "a list"
    return f"a {type(content).__name__}"


def _refuse_expansion(yaml_path: Path, yaml_text: str) -> None:
    """Raises ConfigError "config-unreadable" if aliases stand for more than they should."""
    expanded_characters = count_expanded_characters(yaml_text)
    if expanded_characters > len(yaml_text) + MOST_BY_ALIASES:
        raise ConfigError(
            "config-unreadable",
            f"{yaml_path}: its aliases (*name) expand to {expanded_characters:,.0f} characters (limit "
            f"{MOST_BY_ALIASES:,}); write the values out",
        )


def _refuse_lines(path: Path, code: str, fault: str, lines: Sequence[str]) -> None:
    listing = "\n".join(f"  {line}" for line in lines)
    raise ConfigError(code, f"{path}: {fault}:\n{listing}")


def _fault_of_reading(fault: Exception, hint: str) -> str:
    """Why a YAML file could not be read; "" for a fault of another kind."""
    one_line_message = " ".join(str(fault).split())
    match fault:
        case FileNotFoundError():
            return f"no such file; {hint}"
        case UnicodeDecodeError():
            return f"is not text; give a YAML file; {hint}"
        case OSError():
            return f"{fault.strerror or fault}; give a YAML file; {hint}"
        case ValueError() | RecursionError():
            # a date such as 2024-02-31, a number of thousands of digits, endless nesting
            return f"has a value that is not valid YAML ({one_line_message}); put text in quotes"
        case yaml.YAMLError():
            place_in_text = one_line_message.replace('in "<unicode string>", ', "")
            return f"not readable as YAML: {place_in_text}"
    return ""
