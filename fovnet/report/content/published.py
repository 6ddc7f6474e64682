"""Published results for the same task, for comparison."""

from __future__ import annotations

from fovnet.regions import Vocabulary
from fovnet.report.content.page import Table

HEADER = ("networks", "head", "chest", "abdomen", "pelvis", "legs", "spine", "slice error")
ROWS = (
    ("hand-made baseline", 96, 57, 88, 81, 81, 94, 14),
    ("best single network found", 94, 93, 85, 86, 76, 96, 10),
)
"""Sensitivities and slice errors, in percent, in Bertrand et al., ISBI 2017, on their own data."""


def published_table(vocabulary: Vocabulary) -> Table:
    """The figures above; no rows for a vocabulary of other regions, with which they cannot be compared."""
    same = set(HEADER[1:-1]) == set(vocabulary.classes[:-1])
    rows = tuple((name, *(f"{value}\N{NO-BREAK SPACE}%" for value in values)) for name, *values in ROWS)
    return Table(HEADER, rows if same else (), name="published")
