"""The page rendered from its template: one HTML file without scripts, fonts or network access."""

from __future__ import annotations

from glob import escape
from pathlib import Path

from fovnet.records import clear_unfinished, write_text
from fovnet.report.content.page import Page
from fovnet.report.figures.charts import charts
from fovnet.report.pages.templating import template_environment


def pour(page: Page) -> str:
    """The HTML of the page. The same page gives the same text."""
    return (
        template_environment()
        .get_template("report.html.jinja")
        .render(page=page, figures=charts(page))
    )


def write_report(out_html: Path, page: Page) -> Path:
    """Writes the whole report as one HTML file, atomically; returns its path."""
    clear_unfinished(out_html.parent, name=escape(out_html.name))  # it may show faces
    return write_text(out_html, pour(page))
