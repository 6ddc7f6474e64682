"""The stable codes of doubts and refusals: how a person reads them in a table, what each means, and what to try.

They are data, in codes.tsv beside this file, since people read them there too (`fovnet codes`); of every volume its JSON has the code and
a sentence with the values seen.
"""

from __future__ import annotations

import csv
from dataclasses import dataclass
from importlib.resources import files


@dataclass(frozen=True)
class Code:
    """One of them.

    status  that of the volumes which have the code: ok, uncertain, refused    words   a few, for a table
    meaning, to_try   clauses without a full stop
    """

    code: str
    status: str
    words: str
    meaning: str
    to_try: str


def _read() -> dict[str, Code]:
    lines = files("fovnet.report").joinpath("codes.tsv").read_text(encoding="utf-8").splitlines()
    return {row["code"]: Code(**row) for row in csv.DictReader(lines, delimiter="\t", quoting=csv.QUOTE_NONE)}


CODES = _read()
"""All of them by their code: that of an answer which names nothing, the doubts, the refusals."""


def doubt_in_words(code: str) -> str:
    """ "two answers nearly equal", "refused: damaged"; a code that has no words, with blanks for its hyphens."""
    known = CODES.get(code)
    if known is None or known.status == "ok":
        return code.replace("-", " ")
    return f"refused: {known.words}" if known.status == "refused" else known.words
