"""The table of answers, answers.tsv: one row per volume, with the answer on each region.

volume_id, path, status, shows, unsure, message, code, volume_confidence, extents
and of each region R
    R                   yes, no or unsure
    R_probability       that 10 mm of it are shown
    R_from_mm, R_to_mm  its ends in scanner millimetres, with 90 % intervals (R_from_low_mm,
                        R_from_high_mm, ...); empty where the picture ends, or without a span
and after all of them, where something is said of the parts of regions, shows_parts, unsure_parts
and the same columns of each part.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from fovnet.decision.statements import UNSURE, YES, RegionEnd, Statement
from fovnet.records import as_json_type, write_tsv

ANSWERS_TABLE_NAME = "answers.tsv"
VOLUME_COLUMNS = (
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
PART_COLUMNS = ("shows_parts", "unsure_parts")
COLUMN_PREFIX_BY_END = {"lower": "from", "upper": "to"}


@dataclass(frozen=True)
class TableRows:
    """What tables and index hold of one volume: its rows of spans.tsv, and its cells of
    answers.tsv, those of `VOLUME_COLUMNS` and of each region in order; none of a region where
    nothing is said region by region.

    doubts  (code, sentence) of each; None where only its JSON tells
    """

    spans: list[dict[str, Any]]
    answer: tuple[Any, ...]
    doubts: tuple[tuple[str, str], ...] | None = None

    @classmethod
    def from_facts(cls, facts: Mapping[str, Any]) -> TableRows:
        """The rows from the facts of a volume's JSON.  Raises KeyError where they lack the rows."""
        cell_by_column = answer_row(facts)
        regions = [statement["region"] for statement in facts.get("statements") or ()]
        parts = [statement["region"] for statement in facts.get("parts") or ()]
        answer_cells = tuple(
            cell_by_column.get(column) for column in answer_columns(regions, parts)
        )
        doubt_texts = None
        if facts.get("doubts") is not None:
            doubt_texts = tuple(
                (doubt.get("code"), doubt.get("sentence")) for doubt in facts["doubts"]
            )
        return cls(list(facts["rows"]), answer_cells, doubt_texts)

    @classmethod
    def from_line(cls, line: str) -> TableRows:
        """The rows from the text of `line`.  Raises ValueError for any other text."""
        spans, answer, doubts = json.loads(line)
        if doubts is not None:
            doubts = tuple(map(tuple, doubts))
        return cls(spans, tuple(answer), doubts)

    @property
    def line(self) -> str:
        """The whole as one line of JSON, from which the tables come out byte for byte."""
        return json.dumps(
            [self.spans, self.answer, self.doubts], separators=(",", ":"), default=as_json_type
        )

    def statements(
        self, regions: Sequence[str], parts: Sequence[str] = ()
    ) -> tuple[Statement, ...]:
        """The answer on each of these regions and then of their parts, in the order of the table,
        without the doubts; empty without answers by region."""
        cell_by_column = dict(zip(answer_columns(regions, parts), self.answer, strict=False))
        return tuple(
            _statement_of_cells(name, cell_by_column)
            for name in (*regions, *parts)
            if cell_by_column.get(name)
        )


def write_answers(
    folder: Path, regions: Sequence[str], volumes: Iterable[TableRows], parts: Sequence[str] = ()
) -> Path:
    """`folder/answers.tsv`, of volumes answered region by region, and of refused ones; `parts` are
    those of regions."""
    columns = answer_columns(regions, parts)
    rows = (dict(zip(columns, volume.answer, strict=False)) for volume in volumes)
    return write_tsv(folder / ANSWERS_TABLE_NAME, columns, rows, keep_same=True)


def answer_columns(regions: Sequence[str], parts: Sequence[str] = ()) -> tuple[str, ...]:
    """The columns of the table for these regions, and after them for their parts."""
    part_columns = PART_COLUMNS if parts else ()
    return (
        *VOLUME_COLUMNS,
        *(name for region in regions for name in _region_columns(region)),
        *part_columns,
        *(name for part in parts for name in _region_columns(part)),
    )


def answer_row(facts: Mapping[str, Any]) -> dict[str, Any]:
    """The row of one volume, from the facts of its JSON; of a refused one only the head."""
    statements = facts.get("statements") or ()
    part_statements = facts.get("parts") or ()
    span_rows = facts.get("rows") or [{}]
    shown_regions = _regions_answered(statements, YES)
    cell_by_column = {column: facts.get(column) for column in VOLUME_COLUMNS}
    cell_by_column |= {
        "volume_confidence": span_rows[0].get("volume_confidence"),
        "extents": _extents_cell(bool(shown_regions), facts),
        "shows": ", ".join(shown_regions),
        "unsure": ", ".join(_regions_answered(statements, UNSURE)),
        "shows_parts": ", ".join(_regions_answered(part_statements, YES)),
        "unsure_parts": ", ".join(_regions_answered(part_statements, UNSURE)),
    }
    for statement in (*statements, *part_statements):
        cell_by_column |= _region_cells(statement)
    return cell_by_column


def _regions_answered(statements: Sequence[Mapping[str, Any]], answer: str) -> list[str]:
    """The regions that have this answer."""
    return [statement["region"] for statement in statements if statement["answer"] == answer]


def _extents_cell(shows_any: bool, facts: Mapping[str, Any]) -> str:
    """ "sure" without doubts about the volume, else "unsure"; "" if no region is surely shown."""
    if not shows_any:
        return ""
    return "sure" if facts.get("extents_sure") else "unsure"


def _region_columns(region: str) -> list[str]:
    ends = [
        f"{region}_{end}{side}_mm"
        for end in COLUMN_PREFIX_BY_END.values()
        for side in ("", "_low", "_high")
    ]
    return [region, f"{region}_probability", *ends]


def _region_cells(statement: Mapping[str, Any]) -> dict[str, Any]:
    """The cells of answers.tsv, by column, of the statement on one region: its answer and
    probability, and each end that it has, in mm."""
    region = statement["region"]
    cell_by_column = {
        region: statement["answer"],
        f"{region}_probability": statement["probability"],
    }
    for end, column_prefix in COLUMN_PREFIX_BY_END.items():
        if statement[end]:
            cell_by_column |= {
                f"{region}_{column_prefix}_mm": statement[end]["mm"],
                f"{region}_{column_prefix}_low_mm": statement[end]["low_mm"],
                f"{region}_{column_prefix}_high_mm": statement[end]["high_mm"],
            }
    return cell_by_column


def _statement_of_cells(region: str, cell_by_column: Mapping[str, Any]) -> Statement:
    """The statement that `_region_cells` wrote."""
    lower_end, upper_end = (
        _region_end(f"{region}_{column}", cell_by_column)
        for column in COLUMN_PREFIX_BY_END.values()
    )
    return Statement(
        region,
        answer=cell_by_column[region],
        probability=cell_by_column[f"{region}_probability"],
        lower=lower_end,
        upper=upper_end,
    )


def _region_end(column_prefix: str, cell_by_column: Mapping[str, Any]) -> RegionEnd | None:
    """The end whose columns begin with this; None where there is none."""
    if cell_by_column[f"{column_prefix}_mm"] is None:
        return None
    return RegionEnd(
        mm=cell_by_column[f"{column_prefix}_mm"],
        low_mm=cell_by_column[f"{column_prefix}_low_mm"],
        high_mm=cell_by_column[f"{column_prefix}_high_mm"],
    )
