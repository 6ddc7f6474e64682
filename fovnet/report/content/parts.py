"""What is said of the parts of regions, as pages show it beside what is said of the regions.

A region that is surely shown is called by its parts where these are sure throughout its span: "Shows
knee and thigh".  Else it keeps its name, with those of its parts that it has: "Shows legs (knee,
perhaps thigh)".
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray

from fovnet.decision.answer import PART_LEVEL
from fovnet.decision.answers_table import TableRows
from fovnet.decision.division import find_finest_names, is_possible
from fovnet.decision.statements import NO, UNSURE, YES, Statement
from fovnet.evaluate.cases import StoredSpan
from fovnet.evaluate.stored_answers import spans_in, statement_in
from fovnet.regions import Vocabulary
from fovnet.words import join_names


@dataclass(frozen=True, eq=False)
class VolumeParts:
    """What is said of the parts of the regions of a volume; empty where nothing is.

    statements_by_region  on the parts of each region, feet to head
    spans                 of parts, feet to head
    shares_by_region      (s, n) smoothed shares of the n parts of each region that is divided, 0
                          outside its span
    """

    statements_by_region: Mapping[str, Sequence[Statement]] = field(default_factory=dict)
    spans: Sequence[StoredSpan] = ()
    shares_by_region: Mapping[str, NDArray[np.float64]] = field(default_factory=dict)

    @property
    def statements(self) -> tuple[Statement, ...]:
        """On the parts of all regions."""
        return tuple(
            part
            for part_statements in self.statements_by_region.values()
            for part in part_statements
        )

    def of(self, statement: Statement) -> Sequence[Statement]:
        """The statements on the parts of the region of a statement; none where that is surely not
        shown, and no part of it is."""
        if statement.answer == NO:
            return ()
        return self.statements_by_region.get(statement.region, ())

    def name_regions(self, statements: Iterable[Statement]) -> dict[str, tuple[str, ...]]:
        """What each region that is surely shown is called, if something is said of its parts."""
        names_by_region = {}
        for statement in statements:
            if statement.answer == YES and self.of(statement):
                part_statements = self.of(statement)
                names = find_finest_names(statement.region, part_statements)
                if names == (statement.region,):
                    names = (_name_with_parts(statement.region, part_statements),)
                names_by_region[statement.region] = names
        return names_by_region

    def divide(self, spans: Iterable[StoredSpan]) -> tuple[StoredSpan, ...]:
        """The spans of regions, those of its parts in the place of each that is divided."""
        divided_spans: list[StoredSpan] = []
        for span in spans:
            divided_spans += self.spans_in(span.region) or [span]
        return tuple(divided_spans)

    def spans_in(self, region: str) -> list[StoredSpan]:
        """The spans of the parts of a region."""
        names = {part.region for part in self.statements_by_region.get(region, ())}
        return [span for span in self.spans if span.region in names]

    def name_at(self, z_mm: float) -> str:
        """ "perhaps thigh; ": the part at a height, to be followed by its region; "" where no region
        is divided."""
        for span in self.spans:
            if span.from_mm <= z_mm <= span.to_mm:
                if any(part.region == span.region and not part.is_sure for part in self.statements):
                    return f"perhaps {span.region}; "
                return f"{span.region}; "
        return ""


def _name_with_parts(region: str, part_statements: Sequence[Statement]) -> str:
    """ "legs (knee, perhaps thigh)": a region with those of its parts that are sure, and those that
    may be in it."""
    sure_parts = join_names(part.region for part in part_statements if part.answer == YES)
    possible_parts = join_names(
        part.region for part in part_statements if part.answer == UNSURE and is_possible(part)
    )
    if possible_parts:
        possible_parts = f"perhaps {possible_parts}"
    words = ", ".join(filter(None, (sure_parts, possible_parts)))
    if not words:
        return region
    return f"{region} ({words})"


def parts_in_facts(volume_json: Mapping[str, Any]) -> VolumeParts:
    """What a volume's JSON says of parts."""
    statements_by_region: dict[str, list[Statement]] = {}
    for row in volume_json.get("parts") or ():
        statements_by_region.setdefault(row["of"], []).append(statement_in(row))
    shares_by_region = {
        region: np.asarray(shares, dtype=np.float64)
        for region, shares in (volume_json.get("smoothed_parts") or {}).items()
    }
    return VolumeParts(
        statements_by_region, spans_in(volume_json.get("part_spans") or ()), shares_by_region
    )


def parts_in_rows(volume: TableRows, vocabulary: Vocabulary) -> VolumeParts:
    """What the tables say of the parts of a volume's regions, without their spans, for networks of
    these classes."""
    statements = volume.statements(vocabulary.whole.classes[:-1], vocabulary.part_names)
    statement_by_name = {statement.region: statement for statement in statements}
    statements_by_region = {
        region: [statement_by_name[part] for part in parts if part in statement_by_name]
        for region, parts in vocabulary.parts.items()
    }
    return VolumeParts(statements_by_region)


def divide_rows(volume: TableRows, vocabulary: Vocabulary) -> list[dict[str, Any]]:
    """Its rows of spans.tsv, one for each span of what regions are called, for networks of these
    classes: those of parts in the place of a region that they surely fill, else the region's with
    the names of its parts."""
    parts = parts_in_rows(volume, vocabulary)
    names_by_region = parts.name_regions(volume.statements(vocabulary.whole.classes[:-1]))
    part_rows = [row for row in volume.spans if row.get("level") == PART_LEVEL]
    rows: list[dict[str, Any]] = []
    for row in volume.spans:
        if row.get("level") != PART_LEVEL:
            names = names_by_region.get(row.get("region", ""), ())
            rows += [part_row for part_row in part_rows if part_row["region"] in names] or [
                row | {"region": " ".join(names) or row.get("region")}
            ]
    return rows
