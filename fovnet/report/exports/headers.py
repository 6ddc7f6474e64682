"""Body Part Examined of the headers, compared with the predicted regions.

Of an answer given region by region, what is unsure counts in favour of the header: it is held
against the regions surely shown, and those that it names itself and of which that is unsure, the
mildest that the volume can turn out to be.  A header is thus called
wrong only where a sure statement speaks against it, and only if each of its words is understood:
another may name what is shown.

A header without Body Part Examined means what its Anatomic Region Sequence codes.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass, replace
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
CODED_HEADER = "(coded)"  # in place of the text of a header that has codes alone
# valid in (0018,0015); any other text may contain a name
CODE_STRING = re.compile(r"[A-Z0-9_ ]{1,16}")


@dataclass(frozen=True)
class HeaderComparison:
    """One volume: Body Part Examined as written, the regions it means, those of the predicted
    spans, and the verdict, one of VERDICTS.

    header_regions     empty for a part of the body in no region, such as a shoulder; None for a
                       text that is not understood
    why_gone           why its images cannot be read any more, a sentence; "" if they can
    side_regions       outside the chain, such as the spine: a header that names only these does not
                       exclude the regions they cross
    is_all_understood  whether every word of the text is understood
    """

    answer: StoredAnswer
    header_text: str
    header_regions: frozenset[str] | None
    predicted_regions: frozenset[str]
    why_gone: str = ""
    side_regions: frozenset[str] = frozenset()
    is_all_understood: bool = True

    @property
    def verdict(self) -> str:
        """ "agree" if both name the same regions, or the header only a spine and the answer that
        spine and the regions it crosses; "part" if they share one, "shows none" if the answer is
        sure of no region; "no answer" where what matters is unsure: every region that the header
        names, or if it names none, whether any is shown."""
        if self.why_gone:
            return "source gone or changed"
        if self._is_what_matters_unsure():
            return "no answer"
        answer_regions = self._answer_regions()
        if not answer_regions and not self.unsure_regions:
            return "shows none"
        if not self.header_text:
            return "header empty"
        if self.header_regions is None:
            return "header not understood"
        if not self.header_regions:
            return "header names no region"
        if not self.header_regions & answer_regions:
            return self._disagreement()
        if self.header_regions <= self.side_regions:
            answer_regions &= self.side_regions
        if self.header_regions == answer_regions:
            return "agree"
        return "part"

    def _is_what_matters_unsure(self) -> bool:
        """Whether it is unsure of every region that the header names, or if it names none, whether
        any is shown."""
        if not self.answer.statements:
            return self.answer.status != "ok"
        if self.header_regions:
            return self.header_regions <= self.unsure_regions
        return bool(self.unsure_regions and not self.answer.shown_regions)

    def _answer_regions(self) -> frozenset[str]:
        """The regions that the header is held against: with statements, those surely shown, and
        what is unsure of those that the header names."""
        if not self.answer.statements:
            return self.predicted_regions
        header_regions = self.header_regions or frozenset()
        return self.answer.shown_regions | (header_regions & self.unsure_regions)

    def _disagreement(self) -> str:
        """The verdict on a header that names no region that is shown."""
        if self.is_all_understood:
            return "disagree"
        return "header not understood"

    @property
    def unsure_regions(self) -> frozenset[str]:
        """The regions of which it is not sure whether they are shown; empty without statements."""
        return frozenset(
            statement.region for statement in self.answer.statements if not statement.is_sure
        )


@without_warnings()
def compare_headers(
    answers: Sequence[StoredAnswer], vocabulary: Vocabulary
) -> list[HeaderComparison]:
    """One entry per answer on DICOM images; other answers have no header to compare with."""
    return [_compare_header(answer, vocabulary) for answer in answers if answer.images is not None]


def _compare_header(answer: StoredAnswer, vocabulary: Vocabulary) -> HeaderComparison:
    """The header of one volume compared with its answer."""
    try:
        header = header_of(answer)
    except FovnetError as fault:
        why_gone = f"{fault.sentence} [{fault.code}]"
        return HeaderComparison(answer, "", frozenset(), frozenset(), why_gone=why_gone)
    header_text = str(header.get("BodyPartExamined", "") or "").upper().strip()
    comparison = compare_with_text(answer, header_text, vocabulary)
    if header_text:
        return comparison
    coded_regions = _regions_of_codes(header, vocabulary)
    if coded_regions:
        header_text = CODED_HEADER
    return replace(comparison, header_text=header_text, header_regions=coded_regions)


def compare_with_text(
    answer: StoredAnswer, header_text: str, vocabulary: Vocabulary
) -> HeaderComparison:
    """Body Part Examined, in upper case, compared with the answer on its volume."""
    body_part_reading = read_body_part(header_text, vocabulary)
    header_regions = None
    if body_part_reading.regions is not None:
        header_regions = frozenset(body_part_reading.regions)
    return HeaderComparison(
        answer,
        header_text,
        header_regions,
        predicted_regions=frozenset(span.region for span in answer.spans),
        side_regions=frozenset(vocabulary.side_regions),
        is_all_understood=body_part_reading.is_understood,
    )


def _regions_of_codes(header: Any, vocabulary: Vocabulary) -> frozenset[str]:
    """The regions that Anatomic Region Sequence codes, that of a multi-frame object's shared groups
    too; empty if there is none, or a code is unknown."""
    frame_anatomies = [
        frame_anatomy
        for shared_group in header.get("SharedFunctionalGroupsSequence") or []
        for frame_anatomy in shared_group.get("FrameAnatomySequence") or []
    ]
    codes = [
        str(region_item.get("CodeValue"))
        for dataset in (header, *frame_anatomies)
        for region_item in dataset.get("AnatomicRegionSequence") or []
    ]
    regions_of_codes = [vocabulary.regions_of_code(code) for code in codes]
    if not all(regions_of_codes):
        return frozenset()
    return frozenset().union(*regions_of_codes)


def write_headers(
    comparisons: Sequence[HeaderComparison], path: Path, vocabulary: Vocabulary
) -> Path:
    """Writes the table, disagreements first, regions from the feet up; a header that is no valid
    code string appears as "(free text)".

    Raises ConfigError "headers-other-file" if there is a file at `path` that is not such a table: a
    source, say, or the answers.
    """
    if path.exists() and not _is_header_table(path):
        raise ConfigError(
            "headers-other-file",
            f"--out {path}: exists, and is not a table of headers; give another name.",
        )
    ordered_comparisons = sorted(
        comparisons,
        key=lambda comparison: (VERDICTS.index(comparison.verdict), comparison.answer.volume_id),
    )
    rows = [_header_row(comparison, vocabulary) for comparison in ordered_comparisons]
    return write_tsv(path, COLUMNS, rows)


def _header_row(comparison: HeaderComparison, vocabulary: Vocabulary) -> dict[str, str]:
    """The cells of one volume by COLUMNS."""
    answer = comparison.answer
    stated_regions: frozenset[str] = frozenset()
    if answer.statements:
        stated_regions = answer.shown_regions
    return {
        "volume_id": answer.volume_id,
        "status": answer.status,
        "header": _public_text(comparison.header_text),
        "meant": _from_feet_up(comparison.header_regions or frozenset(), vocabulary),
        "predicted": _from_feet_up(comparison.predicted_regions, vocabulary),
        "verdict": comparison.verdict,
        "path": str(answer.path),
        "shows": _from_feet_up(stated_regions, vocabulary),
        "unsure": _from_feet_up(comparison.unsure_regions, vocabulary),
    }


def _public_text(header_text: str) -> str:
    """The text of a header as the table shows it."""
    if header_text in ("", CODED_HEADER) or CODE_STRING.fullmatch(header_text):
        return header_text
    return "(free text)"


def _from_feet_up(regions: frozenset[str], vocabulary: Vocabulary) -> str:
    """ "pelvis+abdomen": the names of regions in the order of the vocabulary."""
    return "+".join(sorted(regions, key=vocabulary.classes.index))


def _is_header_table(path: Path) -> bool:
    """Whether a file begins with the columns of this table."""
    expected_start = "\t".join(COLUMNS).encode()
    with path.open("rb") as file:
        return file.read(len(expected_start)) == expected_start
