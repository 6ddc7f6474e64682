"""Words for a fault in a configuration: where it stands, the value seen, what is wanted instead."""

from __future__ import annotations

import reprlib
from typing import Any

from fovnet.words import did_you_mean

LONGEST_SHOWN = 200  # characters of a value in a message
_SHORT_REPR = reprlib.Repr()  # writes no more of a large value than is shown
_SHORT_REPR.maxlevel = 3
_SHORT_REPR.maxlist = 12
_SHORT_REPR.maxtuple = 12
_SHORT_REPR.maxdict = 12
_SHORT_REPR.maxstring = 190
_SHORT_REPR.maxother = 190


class PathFaults(ValueError):
    """Several faults in one setting: of each its path below the setting, and a sentence."""

    def __init__(self, faults: list[tuple[str, str]]) -> None:
        super().__init__("; ".join(": ".join(filter(None, fault)) for fault in faults))
        self.faults = faults

    def in_words(self, setting: str) -> str:
        """A line for each, in a setting such as search.space."""
        return "\n  ".join(
            f"{'.'.join(filter(None, (setting, path)))}: {sentence}"
            for path, sentence in self.faults
        )


def show_value(value: Any) -> str:
    """A value as it is written in Python, for a message: at most LONGEST_SHOWN characters of it."""
    text = _SHORT_REPR.repr(value)
    if len(text) > LONGEST_SHOWN:
        return f"{text[: LONGEST_SHOWN - 1]}…"
    return text


def key_path(fault: Any) -> str:
    """ "search.space.blocks": the keys that lead to a fault."""
    return ".".join(str(step) for step in fault["loc"])


def describe_wanted(fault: Any) -> str:
    """What is wanted instead of the value of a pydantic fault, and how to write it if pydantic's
    message does not say so."""
    if fault["type"] in ("dict_type", "model_type") and isinstance(
        fault["input"], str | int | float
    ):
        return f"expected a name with a value, such as NAME: {str(fault['input'])[:LONGEST_SHOWN]}"
    if fault["type"] == "missing" and isinstance(fault["loc"][-1], int):
        return f"value number {fault['loc'][-1] + 1} is missing"
    return f"{fault['msg'][0].lower()}{fault['msg'][1:]}"


def suggest_key(word: str, known_keys: tuple[str, ...]) -> str:
    """ "did you mean 'trials'?", or all known keys where none is near."""
    return did_you_mean(word, known_keys, f"known are {', '.join(known_keys)}")
