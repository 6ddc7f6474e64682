"""Two reporting guidelines, item by item: where this report answers them, and what it cannot
answer.

Items are identified by number and a short paraphrase; what each asks is defined by the guidelines.
They are in two tables beside this file:

claim.tsv   CLAIM, 44 items: A. S. Tejani et al., Checklist for Artificial Intelligence in Medical
            Imaging (CLAIM): 2024 update, *Radiology: Artificial Intelligence* 6 (2024) e240300,
            doi:10.1148/ryai.240300
tripod.tsv  TRIPOD+AI, 27 items in 52 parts: G. S. Collins et al., TRIPOD+AI statement, *BMJ* 385
            (2024) e078378, table 2, doi:10.1136/bmj-2023-078378.  Its item 2 refers to a separate
            list for abstracts, which is not included here.
"""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import dataclass
from functools import cache
from typing import NamedTuple

from fovnet.report.content.cells import ReportTable
from fovnet.report.content.package_tables import read_package_table

HEADING_BY_SECTION = {
    "answer": "The answer",
    "use": "Intended use",
    "inputs": "What went in",
    "people": "Who is in which split",
    "reference": "Reference standard",
    "readers": "How far readers agree",
    "slices": "Slice by slice",
    "borders": "Where one region ends",
    "volumes": "Volume by volume",
    "statements": "Answers by region",
    "subgroups": "Subgroups",
    "calibration": "Is the confidence honest?",
    "risk": "Fewer answers, fewer errors",
    "ablation": "What each step contributes",
    "failures": "Failures",
    "search": "The search",
    "explained": "The search, explained",
    "running": "Time and memory",
    "method": "Method in short",
    "limits": "What this report cannot say",
    "provenance": "Provenance",
}
"""Headings of the page's sections, by their names in the tables of items."""


@dataclass(frozen=True)
class Checklist:
    """A reporting guideline: its items by number, and the sections that answer them.

    sentence  how many of them this report answers
    table     a row for each
    """

    name: str
    reference: str
    sentence: str
    table: ReportTable


class ChecklistItem(NamedTuple):
    """An item of a guideline.

    section  that answers it, a key of HEADING_BY_SECTION; "" if none does
    remark   a restriction, or what is missing
    """

    number: str
    asks_for: str
    section: str
    remark: str


@cache
def checklist_items(file_name: str) -> tuple[ChecklistItem, ...]:
    """The items of a guideline, from its table beside this file."""
    return tuple(ChecklistItem(**row) for row in read_package_table(file_name))


def checklists(
    report_sections: Collection[str], predictors: str, *, is_trained_further: bool = False
) -> tuple[Checklist, ...]:
    """Both guidelines with the section that answers each item, given the sections of this report.

    predictors          what this run's answers are predicted from, for item 9a of TRIPOD+AI
    is_trained_further  whether the networks of an existing ensemble were trained further
    """
    changed_cells_by_number = {"9a": {"remark": predictors}}
    if is_trained_further:
        updated_cells = {
            "section": "search",
            "remark": "the networks of an ensemble were trained further",
        }
        changed_cells_by_number |= {"12f": updated_cells, "24": updated_cells}
    tripod_items = [
        item._replace(**changed_cells_by_number.get(item.number, {}))
        for item in checklist_items("tripod.tsv")
    ]
    return (
        _checklist(
            "CLAIM 2024",
            "Tejani et al., Radiology: Artificial Intelligence 6 (2024) e240300",
            checklist_items("claim.tsv"),
            report_sections,
        ),
        _checklist(
            "TRIPOD+AI", "Collins et al., BMJ 385 (2024) e078378", tripod_items, report_sections
        ),
    )


def _checklist(
    name: str, reference: str, items: Sequence[ChecklistItem], report_sections: Collection[str]
) -> Checklist:
    """The table of a guideline, item by item, with the number of items that this report answers."""
    rows = []
    for item in items:
        heading = "unfilled"
        remark = item.remark
        if item.section in report_sections:
            heading = HEADING_BY_SECTION[item.section]
        elif item.section:
            remark = remark or f"this report has no section “{HEADING_BY_SECTION[item.section]}”"
        rows.append((item.number, item.asks_for, heading, remark))
    answered_count = sum(item.section in report_sections for item in items)
    sentence = (
        f"{answered_count} of {len(items)} items are answered here, some in part; "
        f"{len(items) - answered_count} are unfilled."
    )
    file_stem = name.lower().translate(str.maketrans(" +", "--"))
    table = ReportTable(("item", "asks for", "answered in", "remark"), rows, name=file_stem)
    return Checklist(name, reference, sentence, table)
