"""Body Part Examined of the headers, compared with the predicted regions.

    meant  what the header names      Y, U  the regions surely shown, and those of which that is unsure

Of an answer given region by region, what is unsure counts in favour of the header: it is held against Y and
meant ∩ U, the mildest that the volume can turn out to be.  A header is thus called wrong only where a sure
statement speaks against it, and only if each of its words is understood: another may name what is shown.

A header without Body Part Examined means what its Anatomic Region Sequence codes.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from fovnet.errors import ConfigError, FovnetError
from fovnet.records import write_tsv
from fovnet.regions import Vocabulary
from fovnet.report.exports.answers import StoredAnswer
from fovnet.report.exports.originals import header_of
from fovnet.volume.collection.body_part import read_body_part
from fovnet.volume.dicom.header import without_warnings

COLUMNS = (
    "volume_id",
    "status",
    "header",
    "meant",
    "predicted",
    "verdict",
    "path",
    "shows",
    "unsure",
)
FIRST = COLUMNS[:7]  # by which a table is known, also one of an earlier version
VERDICTS = (
    "disagree",
    "shows none",
    "part",
    "header names no region",
    "header not understood",
    "header empty",
    "no answer",
    "source gone or changed",
    "agree",
)
CODED = "(coded)"  # in place of the text of a header that has codes alone
CODE_STRING = re.compile(
    r"[A-Z0-9_ ]{1,16}"
)  # valid in (0018,0015); any other text may contain a name


@dataclass(frozen=True)
class Compared:
    """One volume: Body Part Examined as written, the regions it means, those of the predicted spans, and the
    verdict, one of VERDICTS.

    meant   empty for a part of the body in no region, such as a shoulder; None for a text that is not
            understood
    is_whole  whether every word of the text is understood
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
    is_whole: bool = True

    @property
    def verdict(self) -> str:
        """ "agree" if both name the same regions, or the header only a spine and the answer that spine and
        the regions it crosses; "part" if they share one, "shows none" if the answer is sure of no region;
        "no answer" where what matters is unsure: every region that the header names, or if it names none,
        whether any is shown."""
        if self.gone:
            return "source gone or changed"
        meant, unsure = self.meant or frozenset(), self.unsure
        if self.answer.statements:
            shown = self.answer.shows | (meant & unsure)
            is_open = meant <= unsure if meant else bool(unsure and not self.answer.shows)
        else:
            shown, is_open = self.predicted, self.answer.status != "ok"
        if is_open:
            return "no answer"
        if not shown and not unsure:
            return "shows none"
        if not self.header:
            return "header empty"
        if not meant:
            return "header not understood" if self.meant is None else "header names no region"
        beside = meant <= self.beside and meant & shown
        shown = shown & self.beside if beside else shown
        if meant == shown:
            return "agree"
        if meant & shown:
            return "part"
        return "disagree" if self.is_whole else "header not understood"

    @property
    def unsure(self) -> frozenset[str]:
        """The regions of which it is not sure whether they are shown; empty without statements."""
        return frozenset(one.region for one in self.answer.statements if not one.is_sure)


@without_warnings()
def compare(answers: Sequence[StoredAnswer], vocabulary: Vocabulary) -> list[Compared]:
    """One entry per answer on DICOM images; other answers have no header to compare with."""
    compared = []
    for answer in answers:
        if answer.images is None:
            continue
        try:
            header = header_of(answer)
        except FovnetError as fault:
            compared.append(
                Compared(
                    answer, "", frozenset(), frozenset(), gone=f"{fault.sentence} [{fault.code}]"
                )
            )
            continue
        text = str(header.get("BodyPartExamined", "") or "").upper().strip()
        reading = read_body_part(text, vocabulary)
        meant = None if reading.regions is None else frozenset(reading.regions)
        if not text:
            meant = _coded_regions(header, vocabulary)
            text = CODED if meant else ""
        predicted = frozenset(span.region for span in answer.spans)
        beside = frozenset(vocabulary.side_regions)
        compared.append(Compared(answer, text, meant, predicted, "", beside, reading.is_whole))
    return compared


def _coded_regions(header: Any, vocabulary: Vocabulary) -> frozenset[str]:
    """The regions that Anatomic Region Sequence codes, that of a multi-frame object's shared groups too;
    empty if there is none, or a code is unknown."""
    groups = [
        anatomy
        for group in header.get("SharedFunctionalGroupsSequence") or []
        for anatomy in group.get("FrameAnatomySequence") or []
    ]
    codes = [
        str(item.get("CodeValue"))
        for place in (header, *groups)
        for item in place.get("AnatomicRegionSequence") or []
    ]
    regions = [vocabulary.regions_of_code(code) for code in codes]
    return frozenset().union(*regions) if all(regions) else frozenset()


def write_headers(compared: Sequence[Compared], path: Path, vocabulary: Vocabulary) -> Path:
    """Writes the table, disagreements first, regions from the feet up; a header that is no valid code string
    appears as "(free text)".

    Raises ConfigError "headers-other-file" if there is a file at `path` that is not such a table: a source,
    say, or the answers.
    """
    if path.exists() and not _is_table(path):
        raise ConfigError(
            "headers-other-file",
            f"--out {path}: exists, and is not a table of headers; give another name.",
        )
    rows = [
        {
            "volume_id": one.answer.volume_id,
            "status": one.answer.status,
            "header": _shown_text(one.header),
            "meant": _upwards(one.meant or frozenset(), vocabulary),
            "predicted": _upwards(one.predicted, vocabulary),
            "verdict": one.verdict,
            "path": str(one.answer.path),
            "shows": _upwards(
                one.answer.shows if one.answer.statements else frozenset(), vocabulary
            ),
            "unsure": _upwards(one.unsure, vocabulary),
        }
        for one in sorted(
            compared, key=lambda one: (VERDICTS.index(one.verdict), one.answer.volume_id)
        )
    ]
    return write_tsv(path, COLUMNS, rows)


def _shown_text(header: str) -> str:
    """The text of a header as the table shows it."""
    if header in ("", CODED) or CODE_STRING.fullmatch(header):
        return header
    return "(free text)"


def _upwards(regions: frozenset[str], vocabulary: Vocabulary) -> str:
    return "+".join(sorted(regions, key=vocabulary.classes.index))


def _is_table(path: Path) -> bool:
    head = "\t".join(FIRST).encode()
    with path.open("rb") as file:
        return file.read(len(head)) == head
