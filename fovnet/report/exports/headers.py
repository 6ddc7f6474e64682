"""Body Part Examined of the headers, compared with the predicted regions."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from fovnet.errors import ConfigError, FovnetError
from fovnet.records import write_tsv
from fovnet.regions import Vocabulary
from fovnet.report.exports.answers import StoredAnswer
from fovnet.report.exports.originals import header_of
from fovnet.volume.collection.body_part import regions_named
from fovnet.volume.dicom.header import quietly

COLUMNS = ("volume_id", "status", "header", "meant", "predicted", "verdict", "path")
VERDICTS = (
    "disagree", "shows none", "part", "header names no region", "header not understood", "header empty",
    "no answer", "source gone or changed", "agree",
)
CODE_STRING = re.compile(r"[A-Z0-9_ ]{1,16}")        # valid in (0018,0015); any other text may contain a name


@dataclass(frozen=True)
class Compared:
    """One volume: Body Part Examined as written, the regions it means, the predicted ones, and the verdict,
    one of VERDICTS.

    meant   empty for a part of the body in no region, such as a shoulder; None for a text that is not
            understood
    gone    why its images cannot be read any more, a sentence; "" if they can
    beside  the regions outside the chain, such as the spine: a header that names only these does not exclude
            the regions they cross
    """

    answer: StoredAnswer
    header: str
    meant: frozenset[str] | None
    predicted: frozenset[str]
    gone: str = ""
    beside: frozenset[str] = frozenset()

    @property
    def verdict(self) -> str:
        """ "agree" if both name the same regions, or the header only a spine and the answer that spine and
        the regions it crosses; "part" if they share one, "shows none" if the answer is ok and has no
        region."""
        if self.gone:
            return "source gone or changed"
        if self.answer.status != "ok":
            return "no answer"
        if not self.predicted:
            return "shows none"
        if not self.header:
            return "header empty"
        if not self.meant:
            return "header not understood" if self.meant is None else "header names no region"
        predicted = (
            self.predicted & self.beside
            if self.meant <= self.beside and self.meant & self.predicted
            else self.predicted
        )
        return "agree" if self.meant == predicted else "part" if self.meant & predicted else "disagree"


@quietly()
def compare(answers: Sequence[StoredAnswer], vocabulary: Vocabulary) -> list[Compared]:
    """One entry per answer on DICOM images; other answers have no header to compare with."""
    compared = []
    for answer in answers:
        if answer.images is None:
            continue
        try:
            header = str(header_of(answer).get("BodyPartExamined", "") or "").upper().strip()
        except FovnetError as fault:
            compared.append(
                Compared(answer, "", frozenset(), frozenset(), gone=f"{fault.sentence} [{fault.code}]")
            )
            continue
        meant = regions_named(header, vocabulary)
        predicted = frozenset(span.region for span in answer.spans)
        regions = None if meant is None else frozenset(meant)
        compared.append(
            Compared(answer, header, regions, predicted, beside=frozenset(vocabulary.side_regions))
        )
    return compared


def write_headers(compared: Sequence[Compared], path: Path, vocabulary: Vocabulary) -> Path:
    """Writes the table, disagreements first, regions from the feet up; a header that is no valid code string
    appears as "(free text)".

    Raises ConfigError "headers-other-file" if there is a file at `path` that is not such a table: a source,
    say, or the answers.
    """
    if path.exists() and not _is_table(path):
        raise ConfigError(
            "headers-other-file", f"--out {path}: lies there, and is no table of headers; give another name."
        )
    rows = [
        {
            "volume_id": one.answer.volume_id,
            "status": one.answer.status,
            "header": one.header
            if CODE_STRING.fullmatch(one.header)
            else ("(free text)" if one.header else ""),
            "meant": _upwards(one.meant or frozenset(), vocabulary),
            "predicted": _upwards(one.predicted, vocabulary),
            "verdict": one.verdict,
            "path": str(one.answer.path),
        }
        for one in sorted(compared, key=lambda one: (VERDICTS.index(one.verdict), one.answer.volume_id))
    ]
    return write_tsv(path, COLUMNS, rows)


def _upwards(regions: frozenset[str], vocabulary: Vocabulary) -> str:
    return "+".join(sorted(regions, key=vocabulary.classes.index))


def _is_table(path: Path) -> bool:
    head = "\t".join(COLUMNS).encode()
    with path.open("rb") as file:
        return file.read(len(head)) == head
