"""The model card: what a user of the ensemble has to know, on one or two pages, from the facts of
the report.

Headings after M. Mitchell et al., *Model cards for model reporting*, FAT* 2019, section 4.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from fovnet.report.content.cells import MeasuredText, ReportTable
from fovnet.report.content.page import Page

ETHICS = (
    "Head images can show a face. Ids are hashed unless plain ones are requested, and "
    "pictures can be left out or their heads covered (report.gallery, report.faces). "
    "Nothing is sent anywhere."
)


@dataclass(frozen=True)
class CardSection:
    """A section of the card."""

    heading: str
    paragraphs: tuple[str, ...]
    tables: tuple[ReportTable, ...] = ()


def card_sections(page: Page) -> tuple[CardSection, ...]:
    """The sections of the card, in order."""
    answer = page.answer
    confidence = page.confidence
    return (
        model_details(page),
        CardSection("Intended use", answer.intended_use),
        CardSection("Not for", tuple(f"Not for {use}." for use in answer.excluded_uses)),
        CardSection(
            "Factors",
            (
                "Figures are given by collection and by every recorded attribute; see the "
                "subgroups below.",
            ),
            (page.cohort.attributes,),
        ),
        CardSection(
            "Metrics",
            (page.method.intervals, *page.reference.paragraphs),
            (page.reference.landmarks,),
        ),
        CardSection(
            "Training and evaluation data",
            (page.cohort.sentence,),
            (page.cohort.by_split, page.cohort.flow_table, page.reference.labelled_slices),
        ),
        quantitative_analyses(page),
        CardSection(
            "Confidence",
            (confidence.risk.sentence,),
            (confidence.calibration, confidence.risk.table),
        ),
        CardSection("Ethical considerations", (ETHICS,)),
        CardSection("Caveats", page.method.limits),
    )


def model_details(page: Page) -> CardSection:
    """What the networks are, in a sentence and in tables."""
    sentence = (
        f"An ensemble of {len(page.search.members.rows)} convolutional networks for axial "
        f"MRI slices, {page.search.origin}, with a rule that turns slice probabilities "
        "into regions with extents in millimetres. Licence of the program: Apache-2.0; the "
        "weights are under the terms of the data they were trained on."
    )
    tables = (
        page.search.members,
        page.search.rule,
        page.provenance.versions,
        page.provenance.hashes,
    )
    return CardSection("Model details", (sentence,), tables)


def quantitative_analyses(page: Page) -> CardSection:
    """The section of the results, with that on statements where there are any."""
    performance = page.performance
    paragraphs = [page.answer.sentence, page.answer.errors_by_collection]
    tables = [performance.volume_rates]
    statements_view = performance.statements
    if statements_view:
        tables.append(statements_view.table)
        if statements_view.promises:
            paragraphs.append(statements_view.promises)
    tables += [performance.regions, performance.borders, performance.subgroups]
    return CardSection("Quantitative analyses", tuple(paragraphs), tuple(tables))


def card_facts(page: Page) -> dict[str, object]:
    """The card as JSON."""
    return {
        "title": page.title,
        "parts": [
            {
                "heading": section.heading,
                "paragraphs": list(section.paragraphs),
                "tables": [table.name for table in section.tables if table.rows],
            }
            for section in card_sections(page)
        ],
    }


def markdown(page: Page) -> str:
    """The card as Markdown."""
    markdown_blocks = [f"# Model card: {page.title}"]
    for section in card_sections(page):
        markdown_blocks += [
            f"## {section.heading}",
            *section.paragraphs,
            *(_table_text(table) for table in section.tables if table.rows),
        ]
    return "\n\n".join(markdown_blocks) + "\n"


def _table_text(table: ReportTable) -> str:
    """A table in Markdown."""
    table_lines = [
        _line_text(table.header),
        _line_text(["---"] * len(table.header)),
        *(_line_text(row) for row in table.rows),
    ]
    return "\n".join(table_lines)


def _line_text(cells: Sequence[str | MeasuredText]) -> str:
    """A line of a table in Markdown."""
    return "| " + " | ".join(map(_cell_text, cells)) + " |"


def _cell_text(cell: str | MeasuredText) -> str:
    """The text of a cell in Markdown: a measured number with its interval and its count."""
    if isinstance(cell, MeasuredText):
        cell = ", ".join(filter(None, (cell.value, cell.interval, cell.count)))
    return " ".join(cell.split()).replace("|", "\\|").replace("<", "&lt;")
