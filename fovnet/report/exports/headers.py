"""Body Part Examined of the headers, compared with the predicted regions.

    meant  what the header names      Y, U  the regions surely shown, and those of which that is
           unsure

Of an answer given region by region, what is unsure counts in favour of the header: it is held
against Y and meant ∩ U, the mildest that the volume can turn out to be.  A header is thus called
wrong only where a sure statement speaks against it, and only if each of its words is understood:
another may name what is shown.

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
KNOWN_COLUMNS = COLUMNS[:7]  # by which a table is known, also one of an earlier version
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

    meant         empty for a part of the body in no region, such as a shoulder; None for a text
                  that is not understood
    gone          why its images cannot be read any more, a sentence; "" if they can
    side_regions  outside the chain, such as the spine: a header that names only these does not
                  exclude the regions they cross
    is_whole      whether every word of the text is understood
    """

    answer: StoredAnswer
    header: str
    meant: frozenset[str] | None
    predicted: frozenset[str]
    gone: str = ""
    side_regions: frozenset[str] = frozenset()
    is_whole: bool = True

    @property
    def verdict(self) -> str:
        """ "agree" if both name the same regions, or the header only a spine and the answer that
        spine and the regions it crosses; "part" if they share one, "shows none" if the answer is
        sure of no region; "no answer" where what matters is unsure: every region that the header
        names, or if it names none, whether any is shown."""
        if self.gone:
            return "source gone or changed"
        header_regions: frozenset[str] = self.meant or frozenset()
        unsure_regions = self.unsure
        if self._is_what_matters_unsure(header_regions):
            return "no answer"
        answer_regions = self.predicted
        if self.answer.statements:
            answer_regions = self.answer.shows | (header_regions & unsure_regions)
        if not answer_regions and not unsure_regions:
            return "shows none"
        if not self.header:
            return "header empty"
        if not header_regions:
            return "header not understood" if self.meant is None else "header names no region"
        names_only_side_regions = (
            header_regions <= self.side_regions and header_regions & answer_regions
        )
        if names_only_side_regions:
            answer_regions = answer_regions & self.side_regions
        if header_regions == answer_regions:
            return "agree"
        if header_regions & answer_regions:
            return "part"
        return "disagree" if self.is_whole else "header not understood"

    def _is_what_matters_unsure(self, header_regions: frozenset[str]) -> bool:
        """Whether what matters is unsure."""
        if not self.answer.statements:
            return self.answer.status != "ok"
        if header_regions:
            return header_regions <= self.unsure
        return bool(self.unsure and not self.answer.shows)

    @property
    def unsure(self) -> frozenset[str]:
        """The regions of which it is not sure whether they are shown; empty without statements."""
        return frozenset(
            statement.region for statement in self.answer.statements if not statement.is_sure
        )


@without_warnings()
def compare(answers: Sequence[StoredAnswer], vocabulary: Vocabulary) -> list[HeaderComparison]:
    """One entry per answer on DICOM images; other answers have no header to compare with."""
    comparisons = []
    for answer in answers:
        if answer.images is None:
            continue
        try:
            header = header_of(answer)
        except FovnetError as fault:
            comparisons.append(
                HeaderComparison(
                    answer, "", frozenset(), frozenset(), gone=f"{fault.sentence} [{fault.code}]"
                )
            )
            continue
        header_text = str(header.get("BodyPartExamined", "") or "").upper().strip()
        body_part_reading = read_body_part(header_text, vocabulary)
        header_regions = (
            None if body_part_reading.regions is None else frozenset(body_part_reading.regions)
        )
        if not header_text:
            header_regions = _regions_of_codes(header, vocabulary)
            header_text = CODED_HEADER if header_regions else ""
        predicted_regions = frozenset(span.region for span in answer.spans)
        side_regions = frozenset(vocabulary.side_regions)
        comparisons.append(
            HeaderComparison(
                answer,
                header_text,
                header_regions,
                predicted_regions,
                "",
                side_regions,
                body_part_reading.is_understood,
            )
        )
    return comparisons


def _regions_of_codes(header: Any, vocabulary: Vocabulary) -> frozenset[str]:
    """The regions that Anatomic Region Sequence codes, that of a multi-frame object's shared groups
    too; empty if there is none, or a code is unknown."""
    frame_anatomies = [
        anatomy
        for shared_group in header.get("SharedFunctionalGroupsSequence") or []
        for anatomy in shared_group.get("FrameAnatomySequence") or []
    ]
    region_codes = [
        str(region_item.get("CodeValue"))
        for dataset in (header, *frame_anatomies)
        for region_item in dataset.get("AnatomicRegionSequence") or []
    ]
    regions_by_code = [vocabulary.regions_of_code(code) for code in region_codes]
    return frozenset().union(*regions_by_code) if all(regions_by_code) else frozenset()


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
    rows = [
        {
            "volume_id": comparison.answer.volume_id,
            "status": comparison.answer.status,
            "header": _public_text(comparison.header),
            "meant": _from_feet_up(comparison.meant or frozenset(), vocabulary),
            "predicted": _from_feet_up(comparison.predicted, vocabulary),
            "verdict": comparison.verdict,
            "path": str(comparison.answer.path),
            "shows": _from_feet_up(
                comparison.answer.shows if comparison.answer.statements else frozenset(), vocabulary
            ),
            "unsure": _from_feet_up(comparison.unsure, vocabulary),
        }
        for comparison in sorted(
            comparisons,
            key=lambda comparison: (
                VERDICTS.index(comparison.verdict),
                comparison.answer.volume_id,
            ),
        )
    ]
    return write_tsv(path, COLUMNS, rows)


def _public_text(header: str) -> str:
    """The text of a header as the table shows it."""
    if header in ("", CODED_HEADER) or CODE_STRING.fullmatch(header):
        return header
    return "(free text)"


def _from_feet_up(regions: frozenset[str], vocabulary: Vocabulary) -> str:
    return "+".join(sorted(regions, key=vocabulary.classes.index))


def _is_header_table(path: Path) -> bool:
    expected_start = "\t".join(KNOWN_COLUMNS).encode()
    with path.open("rb") as file:
        return file.read(len(expected_start)) == expected_start
