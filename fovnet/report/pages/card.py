"""The model card: what a user of the ensemble has to know, on one or two pages, from the facts of the report.

Headings after M. Mitchell et al., *Model cards for model reporting*, FAT* 2019, section 4.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from fovnet.report.content.cells import Shown, Table
from fovnet.report.content.page import Page


@dataclass(frozen=True)
class Part:
    """A section of the card."""

    heading: str
    paragraphs: tuple[str, ...]
    tables: tuple[Table, ...] = ()


def card(page: Page) -> tuple[Part, ...]:
    """The sections of the card, in order."""
    answer, cohort, performance, confidence = (
        page.answer,
        page.cohort,
        page.performance,
        page.confidence,
    )
    said = performance.said
    return (
        Part(
            "Model details",
            (
                f"An ensemble of {len(page.search.members.rows)} convolutional networks for axial MRI "
                f"slices, {page.search.origin}, with a rule that turns slice probabilities into regions with "
                "extents in millimetres. Licence of the program: Apache-2.0; the weights are under the "
                "terms of the data they were trained on.",
            ),
            (
                page.search.members,
                page.search.rule,
                page.provenance.versions,
                page.provenance.hashes,
            ),
        ),
        Part("Intended use", answer.intended_use),
        Part("Not for", tuple(f"Not for {one}." for one in answer.not_for)),
        Part(
            "Factors",
            (
                "Figures are given by collection and by every recorded attribute; see the subgroups below.",
            ),
            (cohort.attributes,),
        ),
        Part(
            "Metrics",
            (page.method.intervals, *page.reference.paragraphs),
            (page.reference.landmarks,),
        ),
        Part(
            "Training and evaluation data",
            (cohort.sentence,),
            (cohort.by_split, cohort.flow_table, page.reference.labelled_slices),
        ),
        Part(
            "Quantitative analyses",
            (
                answer.sentence,
                answer.by_collection,
                *([said.promises] if said and said.promises else []),
            ),
            (
                performance.handling,
                *([said.table] if said else []),
                performance.regions,
                performance.borders,
                performance.subgroups,
            ),
        ),
        Part(
            "Confidence",
            (confidence.risk.sentence,),
            (confidence.calibration, confidence.risk.table),
        ),
        Part(
            "Ethical considerations",
            (
                "Head images can show a face. Ids are hashed unless plain ones are requested, and pictures "
                "can be left out or their heads covered (report.gallery, report.faces). Nothing is sent "
                "anywhere.",
            ),
        ),
        Part("Caveats", page.method.limits),
    )


def card_facts(page: Page) -> dict[str, object]:
    """The card as JSON."""
    return {
        "title": page.title,
        "parts": [
            {
                "heading": part.heading,
                "paragraphs": list(part.paragraphs),
                "tables": [table.name for table in part.tables if table.rows],
            }
            for part in card(page)
        ],
    }


def markdown(page: Page) -> str:
    """The card as Markdown."""
    pieces = [f"# Model card: {page.title}"]
    for part in card(page):
        pieces += [
            f"## {part.heading}",
            *part.paragraphs,
            *(_table(table) for table in part.tables if table.rows),
        ]
    return "\n\n".join(pieces) + "\n"


def _table(table: Table) -> str:
    lines = [
        _line(table.header),
        _line(["---"] * len(table.header)),
        *(_line(row) for row in table.rows),
    ]
    return "\n".join(lines)


def _line(cells: Sequence[str | Shown]) -> str:
    return "| " + " | ".join(_cell(cell) for cell in cells) + " |"


def _cell(cell: str | Shown) -> str:
    text = (
        cell
        if isinstance(cell, str)
        else ", ".join(word for word in (cell.value, cell.interval, cell.count) if word)
    )
    return " ".join(text.split()).replace("|", "\\|").replace("<", "&lt;")
