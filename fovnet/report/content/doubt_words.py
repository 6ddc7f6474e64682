"""The stable codes of doubts and refusals, with their wording in tables, their meaning, and what to
try.

Doubts have theirs in `decision/checks/`; those of refusals are in codes.tsv beside this file.
`fovnet codes` prints them all.  The JSON of a volume has the code and a sentence with the values
found.
"""

from __future__ import annotations

from fovnet.decision.checks.check import Code
from fovnet.decision.doubts import CHECKS
from fovnet.decision.statements import SOME_UNSURE
from fovnet.report.content.package_tables import read_package_table

CODES: dict[str, Code] = {
    code.code: code
    for code in (*CHECKS, SOME_UNSURE, *(Code(**row) for row in read_package_table("codes.tsv")))
}
"""All codes: of an answer without a region, of doubts, and of refusals."""


def doubt_in_words(code: str) -> str:
    """ "two answers nearly equal", "refused: damaged"; an unknown code, or one of status ok, with
    spaces for its hyphens."""
    known_code = CODES.get(code)
    if known_code is None or known_code.status == "ok":
        return code.replace("-", " ")
    if known_code.status == "refused":
        return f"refused: {known_code.words}"
    return known_code.words
