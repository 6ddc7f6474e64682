"""The templates of all pages: HTML without scripts from elsewhere, fonts or network access."""

from __future__ import annotations

from functools import cache
from typing import TYPE_CHECKING

from fovnet.report.content.cells import MeasuredText

if TYPE_CHECKING:
    from jinja2 import Environment


@cache
def template_environment() -> Environment:
    """The templates, compiled once."""
    from jinja2 import Environment, PackageLoader, StrictUndefined

    environment = Environment(
        loader=PackageLoader("fovnet.report.pages", "templates"),
        autoescape=True,
        undefined=StrictUndefined,  # a renamed field raises, instead of leaving a gap in the page
        trim_blocks=True,
        lstrip_blocks=True,
    )
    environment.tests["measured"] = lambda cell: isinstance(cell, MeasuredText)
    return environment
