"""The stable codes of doubts and refusals, with their wording in tables, their meaning, and what to try.

They are stored in codes.tsv beside this file, which `fovnet codes` prints.  The JSON of a volume has the code and a sentence with the
values found.
"""

from __future__ import annotations

import csv
from dataclasses import dataclass
from importlib.resources import files


@dataclass(frozen=True)
class Code:
    """One code.

    status  of the volumes that have the code: ok, uncertain, refused    words  a short form for tables
    meaning, to_try   clauses without a full stop
    """

    code: str
    status: str
    words: str
    meaning: str
    to_try: str


def _read() -> dict[str, Code]:
    lines = files("fovnet.report.content").joinpath("codes.tsv").read_text(encoding="utf-8").splitlines()
    return {row["code"]: Code(**row) for row in csv.DictReader(lines, delimiter="\t", quoting=csv.QUOTE_NONE)}


CODES = _read()
"""All codes: of an answer without a region, of doubts, and of refusals."""


def doubt_in_words(code: str) -> str:
    """ "two answers nearly equal", "refused: damaged"; an unknown code, or one of status ok, with spaces for its hyphens."""
    known = CODES.get(code)
    if known is None or known.status == "ok":
        return code.replace("-", " ")
    return f"refused: {known.words}" if known.status == "refused" else known.words
