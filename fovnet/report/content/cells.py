"""What a table of the report is made of: measured numbers as text, and rows under a header."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass


@dataclass(frozen=True)
class MeasuredText:
    """One measured number as text: "4.1 %", "2.9–5.6 %", "41/998"; the value is never shown without
    the others."""

    value: str
    interval: str
    count: str


Row = tuple[str | MeasuredText, ...]


@dataclass(frozen=True)
class ReportTable:
    """Rows under a header; the first cell of a row is its label. A cell is a string or a measured
    number.

    colours  of the rows, if any
    name     the stem of its TSV, "" for a table that is in none
    """

    header: tuple[str, ...]
    rows: Sequence[Row]
    colours: Sequence[str] = ()
    name: str = ""
