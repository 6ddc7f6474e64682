"""The answer on a volume, as its JSON holds it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from fovnet.decision.statements import RegionEnd, Statement
from fovnet.evaluate.cases import DecidedBorder, PartAnswers, StoredSpan


def spans_in(rows: Sequence[Mapping[str, Any]]) -> tuple[StoredSpan, ...]:
    """The spans in a volume's JSON."""
    return tuple(
        StoredSpan(
            region=row["region"],
            from_mm=row["from_mm"],
            to_mm=row["to_mm"],
            first_slice=row["first_slice"],
            last_slice=row["last_slice"],
            confidence=row["confidence"],
        )
        for row in rows
    )


def borders_in(rows: Sequence[Mapping[str, Any]] | None) -> tuple[DecidedBorder, ...] | None:
    """The decided borders in a volume's JSON; None for one of an older version that has none."""
    if rows is None:
        return None
    return tuple(
        DecidedBorder(
            row["below"],
            row["above"],
            *(float(row[column]) for column in ("mm", "low_mm", "high_mm")),
        )
        for row in rows
    )


def statement_in(row: Mapping[str, Any]) -> Statement:
    """A statement as a volume's JSON holds it."""
    lower_end, upper_end = (
        row[end_name] and RegionEnd(**row[end_name]) for end_name in ("lower", "upper")
    )
    return Statement(
        region=row["region"],
        answer=row["answer"],
        probability=row["probability"],
        doubts=tuple(row["doubts"]),
        lower=lower_end,
        upper=upper_end,
    )


def part_answers_in(facts: Mapping[str, Any]) -> PartAnswers | None:
    """What a volume's JSON says of the parts of regions; None where it says nothing of them."""
    if not facts.get("parts"):
        return None
    return PartAnswers(
        statements=tuple(map(statement_in, facts["parts"])),
        spans=spans_in(facts["part_spans"]),
        borders=borders_in(facts["part_boundaries"]) or (),
    )
