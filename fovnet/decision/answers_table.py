"""The table of answers, answers.tsv: one row per volume, with the answer on each region.

volume_id, path, status, shows, unsure, message, code, volume_confidence, extents
of each region R   R            yes, no or unsure         R_probability  that 10 mm of it are shown
                   R_from_mm, R_to_mm   its ends in scanner millimetres, with 90 % intervals
                   (R_from_low_mm, R_from_high_mm, ...); empty where the picture ends, or without a span
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from fovnet.decision.statements import UNSURE, YES, RegionEnd, Statement
from fovnet.records import plain, write_tsv

TABLE = "answers.tsv"
HEAD = (
    "volume_id",
    "path",
    "status",
    "shows",
    "unsure",
    "message",
    "code",
    "volume_confidence",
    "extents",
)
ENDS = {"lower": "from", "upper": "to"}


@dataclass(frozen=True)
class TableRows:
    """What tables and index hold of one volume: its rows of spans.tsv, and its cells of answers.tsv, those of
    `HEAD` and of each region in order; none of a region where nothing is said region by region.

    doubts  (code, sentence) of each; None where only its JSON tells
    """

    spans: list[dict[str, Any]]
    answer: tuple[Any, ...]
    doubts: tuple[tuple[str, str], ...] | None = None

    @classmethod
    def of(cls, body: Mapping[str, Any]) -> TableRows:
        """From the facts of its JSON.  Raises KeyError where they lack the rows."""
        cells = answer_row(body)
        regions = [one["region"] for one in body.get("statements") or ()]
        told = body.get("doubts")
        doubts = (
            None if told is None else tuple((one.get("code"), one.get("sentence")) for one in told)
        )
        return cls(
            list(body["rows"]), tuple(cells.get(name) for name in answer_columns(regions)), doubts
        )

    @classmethod
    def of_line(cls, line: str) -> TableRows:
        """From `line`.  Raises ValueError for any other text."""
        spans, answer, doubts = json.loads(line)
        return cls(spans, tuple(answer), None if doubts is None else tuple(map(tuple, doubts)))

    @property
    def line(self) -> str:
        """The whole as one line of JSON, from which the tables come out byte for byte."""
        return json.dumps(
            [self.spans, self.answer, self.doubts], separators=(",", ":"), default=plain
        )

    def statements(self, regions: Sequence[str]) -> tuple[Statement, ...]:
        """The answer on each of these regions, in the order of the table, without the doubts; empty without
        answers by region."""
        cells = dict(zip(answer_columns(regions), self.answer, strict=False))
        return tuple(_statement(region, cells) for region in regions if cells.get(region))


def write_answers(folder: Path, regions: Sequence[str], volumes: Iterable[TableRows]) -> Path:
    """`folder/answers.tsv`, of volumes answered region by region, and of refused ones."""
    named = answer_columns(regions)
    rows = (dict(zip(named, one.answer, strict=False)) for one in volumes)
    return write_tsv(folder / TABLE, named, rows, keep_same=True)


def answer_columns(regions: Sequence[str]) -> tuple[str, ...]:
    """The columns of the table for these regions."""
    return (*HEAD, *(name for region in regions for name in _names(region)))


def answer_row(body: Mapping[str, Any]) -> dict[str, Any]:
    """The row of one volume, from the facts of its JSON; of a refused one only the head."""
    made, spans = body.get("statements") or (), body.get("rows") or [{}]
    cells = {name: body.get(name) for name in HEAD}
    shown = [one["region"] for one in made if one["answer"] == YES]
    cells |= {
        "volume_confidence": spans[0].get("volume_confidence"),
        "extents": _extents(bool(shown), body),
        "shows": ", ".join(shown),
        "unsure": ", ".join(one["region"] for one in made if one["answer"] == UNSURE),
    }
    for one in made:
        cells |= _cells(one)
    return cells


def _extents(shows_any: bool, body: Mapping[str, Any]) -> str:
    """ "sure" without doubts about the volume, else "unsure"; "" if no region is surely shown."""
    return "" if not shows_any else "sure" if body.get("extents_sure") else "unsure"


def _names(region: str) -> list[str]:
    ends = [f"{region}_{end}{side}_mm" for end in ENDS.values() for side in ("", "_low", "_high")]
    return [region, f"{region}_probability", *ends]


def _cells(one: Mapping[str, Any]) -> dict[str, Any]:
    region = one["region"]
    cells = {region: one["answer"], f"{region}_probability": one["probability"]}
    for name, end in ENDS.items():
        if one[name]:
            cells |= {
                f"{region}_{end}_mm": one[name]["mm"],
                f"{region}_{end}_low_mm": one[name]["low_mm"],
                f"{region}_{end}_high_mm": one[name]["high_mm"],
            }
    return cells


def _statement(region: str, cells: Mapping[str, Any]) -> Statement:
    """The statement that `_cells` wrote."""
    lower, upper = (
        None
        if cells[f"{region}_{end}_mm"] is None
        else RegionEnd(*(cells[f"{region}_{end}{side}_mm"] for side in ("", "_low", "_high")))
        for end in ENDS.values()
    )
    return Statement(region, cells[region], cells[f"{region}_probability"], (), lower, upper)
