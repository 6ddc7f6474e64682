"""The page rendered from its template: one HTML file without scripts, fonts or network access."""

from __future__ import annotations

from functools import cache
from glob import escape
from pathlib import Path

from jinja2 import Environment, PackageLoader, StrictUndefined

from fovnet.records import clear_unfinished, write_text
from fovnet.report.content.cells import MeasuredText
from fovnet.report.content.page import Page
from fovnet.report.figures.charts import charts


@cache
def template_environment() -> Environment:
    """The templates, compiled once."""
    environment = Environment(
        loader=PackageLoader("fovnet.report.pages", "templates"),
        autoescape=True,
        undefined=StrictUndefined,  # a renamed field raises, instead of leaving a gap in the page
        trim_blocks=True,
        lstrip_blocks=True,
    )
    environment.tests["measured"] = lambda cell: isinstance(cell, MeasuredText)
    return environment


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
