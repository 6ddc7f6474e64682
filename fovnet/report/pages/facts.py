"""The report in machine-readable form: everything on the page as JSON, and every table as TSV."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import fields, is_dataclass
from pathlib import Path
from typing import Any

from fovnet.evaluate.evaluation import Evaluation
from fovnet.evaluate.writing import evaluation_facts as evaluation_facts
from fovnet.records import clear_unfinished, facts_of_record, write_json, write_text, write_tsv
from fovnet.report.content.cells import MeasuredText, ReportTable
from fovnet.report.content.page import Page
from fovnet.report.content.pictures import VolumeView
from fovnet.report.content.statements import STATED
from fovnet.report.pages.card import card_facts, markdown

DRAWN_ONLY = frozenset({"pixels", "raw", "smoothed", "z_mm", "drawn_layers"})
"""Fields that only pictures need; their data are in the files of the slices and the decisions, and
in the configurations of members."""


def report_facts(page: Page, evaluation: Evaluation) -> dict[str, Any]:
    """The texts and tables of the page, the numbers in its captions, the measures with all their
    digits."""
    return {
        "page": facts_of_record(page, DRAWN_ONLY),
        "stated": STATED,
        "model_card": card_facts(page),
        "evaluation": evaluation_facts(evaluation),
    }


def write_facts(
    report_html: Path, page: Page, evaluation: Evaluation, *, settings: Any, seed: int
) -> list[Path]:
    """Writes report.json, model-card.md and one TSV per table in report-tables beside
    `report_html`; removes tables of an earlier run."""
    tables_folder = report_html.parent / "report-tables"
    clear_unfinished(tables_folder)
    for stale_table in tables_folder.glob("*.tsv"):
        stale_table.unlink()
    written_paths = [
        write_json(
            report_html.with_name("report.json"),
            report_facts(page, evaluation),
            settings=settings,
            seed=seed,
        ),
        write_text(report_html.with_name("model-card.md"), markdown(page)),
    ]
    for table in tables_in(page):
        columns, rows = spreadsheet_of(table)
        written_paths.append(write_tsv(tables_folder / f"{table.name}.tsv", columns, rows))
    return written_paths


def tables_in(page_part: Any) -> Iterator[ReportTable]:
    """Every table with a name and rows, at any depth of a page or a part of it."""
    if isinstance(page_part, ReportTable):
        if page_part.name and page_part.rows:
            yield page_part
    elif isinstance(page_part, tuple | list):
        for element in page_part:
            yield from tables_in(element)
    elif is_dataclass(page_part) and not isinstance(page_part, VolumeView):
        for field in fields(page_part):
            yield from tables_in(getattr(page_part, field.name))


def spreadsheet_of(table: ReportTable) -> tuple[list[str], list[dict[str, str]]]:
    """(names of columns, rows as text by column) of a table: a column with measured cells becomes
    three, for value, interval and count."""
    column_names: list[str] = []
    for column_index, title in enumerate(table.header):
        column_names.append(title)
        if any(isinstance(row[column_index], MeasuredText) for row in table.rows):
            column_names += [f"{title}, interval", f"{title}, count"]
    text_rows = []
    for row in table.rows:
        text_by_column: dict[str, str] = {}
        for title, cell in zip(table.header, row, strict=True):
            if isinstance(cell, MeasuredText):
                text_by_column |= {
                    title: cell.value,
                    f"{title}, interval": cell.interval,
                    f"{title}, count": cell.count,
                }
            else:
                text_by_column[title] = cell
        text_rows.append(text_by_column)
    return column_names, text_rows
