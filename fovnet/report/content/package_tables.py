"""Tables of text that are part of the package: TSV files beside this one, with a header."""

from __future__ import annotations

import csv
from importlib.resources import files


def read_package_table(name: str) -> list[dict[str, str]]:
    """The rows of a TSV file by its name, each a text by column; no text is quoted."""
    text = files("fovnet.report.content").joinpath(name).read_text(encoding="utf-8")
    return list(csv.DictReader(text.splitlines(), delimiter="\t", quoting=csv.QUOTE_NONE))
