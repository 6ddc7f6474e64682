"""The stable codes of doubts and refusals, with their wording in tables, their meaning, and what to try.

Doubts have theirs in `decision/checks/`; those of refusals are in codes.tsv beside this file.  `fovnet codes`
prints them all.  The JSON of a volume has the code and a sentence with the values found.
"""

from __future__ import annotations

import csv
from importlib.resources import files

from fovnet.decision.checks.check import Code
from fovnet.decision.doubts import CHECKS
from fovnet.decision.statements import SOME_UNSURE


def _refusals() -> list[Code]:
    lines = (
        files("fovnet.report.content")
        .joinpath("codes.tsv")
        .read_text(encoding="utf-8")
        .splitlines()
    )
    return [Code(**row) for row in csv.DictReader(lines, delimiter="\t", quoting=csv.QUOTE_NONE)]


CODES: dict[str, Code] = {one.code: one for one in (*CHECKS, SOME_UNSURE, *_refusals())}
"""All codes: of an answer without a region, of doubts, and of refusals."""


def doubt_in_words(code: str) -> str:
    """ "two answers nearly equal", "refused: damaged"; an unknown code, or one of status ok, with spaces for
    its hyphens."""
    known = CODES.get(code)
    if known is None or known.status == "ok":
        return code.replace("-", " ")
    return f"refused: {known.words}" if known.status == "refused" else known.words
