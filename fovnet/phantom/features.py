"""The features that the simulator varies, by name, so that each can be left out: `phantom.without`
of a configuration, `workflow/experiments/screening.py`.

Without all of SCANNING, fields of view are those of a department's usual examinations, and images
those of a careful site; without all of ANATOMY, bodies are plain ones; without BODILESS, so is what
is no body.  What a feature does not affect is bit-identical without it.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from pathlib import Path

from fovnet.errors import ConfigError
from fovnet.records import read_tsv
from fovnet.words import did_you_mean

_FEATURE_ROWS = read_tsv(Path(__file__).with_name("features.tsv"))


def _sentence_by_name(group: str) -> Mapping[str, str]:
    """The sentence of each feature of a group by its name, in the order of features.tsv."""
    return {row["name"]: row["sentence"] for row in _FEATURE_ROWS if row["group"] == group}


ANATOMY = _sentence_by_name("anatomy")
"""Variation of bodies: names and a sentence each."""

SCANNING = _sentence_by_name("scanning")
"""Variation of scans: names and a sentence each."""

BODILESS = _sentence_by_name("bodiless")
"""Variation of volumes without a body: names and a sentence each."""


def all_features() -> dict[str, str]:
    """Every feature that can be left out, with its sentence."""
    return {**ANATOMY, **SCANNING, **BODILESS}


EVERYTHING = "everything"
"""Stands for all of them."""


def parse_features_left_out(names: Iterable[str], setting: str = "without") -> frozenset[str]:
    """The features named by a `setting`; all of them if "everything" is named.

    Raises ConfigError "phantom-feature" for an unknown one, with the nearest known.
    """
    chosen_names = list(names)
    sentence_by_name = all_features()
    if EVERYTHING in chosen_names:
        return frozenset(sentence_by_name)
    for name in chosen_names:
        if name not in sentence_by_name:
            hint = did_you_mean(
                name, sentence_by_name, f"known are {', '.join((*sentence_by_name, EVERYTHING))}"
            )
            raise ConfigError(
                "phantom-feature", f"{setting} {name!r}: the simulator has no such feature; {hint}"
            )
    return frozenset(chosen_names)
