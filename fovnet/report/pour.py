"""The page poured into its template: one HTML file that needs no network, no script and no font of its own."""

from __future__ import annotations

from functools import cache
from pathlib import Path

from jinja2 import Environment, PackageLoader, StrictUndefined

from fovnet.records import write_text
from fovnet.report.draw import charts
from fovnet.report.page import Page, Shown


@cache
def rooms() -> Environment:
    """The templates, compiled once."""
    made = Environment(
        loader=PackageLoader("fovnet.report", "templates"),
        autoescape=True,
        undefined=StrictUndefined,            # a renamed field stops here, and does not leave a hole in the page
        trim_blocks=True,
        lstrip_blocks=True,
    )
    made.tests["measured"] = lambda cell: isinstance(cell, Shown)
    return made


def pour(page: Page) -> str:
    """The HTML of the page. The same page gives the same text."""
    return rooms().get_template("report.html.jinja").render(page=page, figures=charts(page))


def write_report(out_html: Path, page: Page) -> Path:
    """`out_html`, holding the whole report in one file, put in place in one step."""
    return write_text(out_html, pour(page))
