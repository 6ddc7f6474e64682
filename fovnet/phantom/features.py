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

_ROWS = read_tsv(Path(__file__).with_name("features.tsv"))


def _sentences(group: str) -> Mapping[str, str]:
    """The sentence of each feature of a group by its name, in the order of features.tsv."""
    return {row["name"]: row["sentence"] for row in _ROWS if row["group"] == group}


ANATOMY = _sentences("anatomy")
"""Variation of bodies: names and a sentence each."""

SCANNING = _sentences("scanning")
"""Variation of scans: names and a sentence each."""

BODILESS = _sentences("bodiless")
"""Variation of volumes without a body: names and a sentence each."""


def all_features() -> dict[str, str]:
    """Every feature that can be left out, with its sentence."""
    return {**ANATOMY, **SCANNING, **BODILESS}


EVERYTHING = "everything"
"""Stands for all of them."""


def features_left_out(names: Iterable[str]) -> frozenset[str]:
    """The features named; all of them if "everything" is named.

    Raises ConfigError "phantom-feature" for an unknown one, with the nearest known.
    """
    chosen_names = list(names)
    sentences = all_features()
    if EVERYTHING in chosen_names:
        return frozenset(sentences)
    for name in chosen_names:
        if name not in sentences:
            hint = did_you_mean(name, sentences, f"known are {', '.join((*sentences, EVERYTHING))}")
            raise ConfigError(
                "phantom-feature", f"without {name!r}: the simulator has no such feature; {hint}"
            )
    return frozenset(chosen_names)
