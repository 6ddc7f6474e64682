"""Body Part Examined of the headers, compared with the predicted regions.

Of an answer given region by region, what is unsure counts in favour of the header: it is held
against the regions surely shown, and those that it names itself and of which that is unsure, the
mildest that the volume can turn out to be.  A header is thus called
wrong only where a sure statement speaks against it, and only if each of its words is understood:
another may name what is shown.

A header without Body Part Examined means what its Anatomic Region Sequence codes.

Where an answer has parts of regions, a header that names parts is held against these: KNEE disagrees
with a thigh.  Words for a region as often as for one of its parts, HEAD and LEG, name the part only
where that is what is shown.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from fovnet.decision.answer import PART_LEVEL, REGION_LEVEL
from fovnet.errors import ConfigError, FovnetError
from fovnet.records import write_tsv
from fovnet.regions import PARTS, WHOLE_BY_PART, Vocabulary
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
# fmt: off
WORDS_OF_REGIONS = frozenset({
    "CABECA", "CABEZA", "HEAD", "HOOFD", "KOPF", "LEG", "TESTA", "TETE",
})
# fmt: on
"""Words that name a region with all its parts as often as one of them: HEAD stands in headers of
necks, LEG in those of thighs."""


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
    level              "part" where parts are compared, and `answer` then has them in the place of their
                       regions; else "region"; "" where nothing is said of parts
    """

    answer: StoredAnswer
    header_text: str
    header_regions: frozenset[str] | None
    predicted_regions: frozenset[str]
    why_gone: str = ""
    side_regions: frozenset[str] = frozenset()
    is_all_understood: bool = True
    level: str = ""

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
    if header_text:
        return compare_with_text(answer, header_text, vocabulary)
    return _compare_with_codes(answer, _anatomic_codes(header), vocabulary)


def compare_with_text(
    answer: StoredAnswer, header_text: str, vocabulary: Vocabulary
) -> HeaderComparison:
    """Body Part Examined, in upper case, compared with the answer on its volume."""
    reading = read_body_part(header_text, vocabulary.in_parts(answer.divided_regions))
    header_regions = None
    if reading.regions is not None:
        header_regions = frozenset(reading.regions)
    comparison = HeaderComparison(
        answer,
        header_text,
        header_regions,
        predicted_regions=frozenset(span.region for span in answer.spans),
        side_regions=frozenset(vocabulary.side_regions),
        is_all_understood=reading.is_understood,
    )
    words = re.findall(r"[^\W\d_]+", header_text.upper())
    return _choose_level(comparison, names_region=not WORDS_OF_REGIONS.isdisjoint(words))


def _compare_with_codes(
    answer: StoredAnswer, codes: Sequence[str], vocabulary: Vocabulary
) -> HeaderComparison:
    """The regions that a header without Body Part Examined codes, compared with the answer; the code
    of a head is also that of a skull."""
    coded_regions = _regions_of_codes(codes, vocabulary.in_parts(answer.divided_regions))
    comparison = HeaderComparison(
        answer,
        CODED_HEADER if coded_regions else "",
        coded_regions,
        predicted_regions=frozenset(span.region for span in answer.spans),
        side_regions=frozenset(vocabulary.side_regions),
    )
    names_region = any(vocabulary.regions_of_code(code) & answer.divided_regions for code in codes)
    return _choose_level(comparison, names_region=names_region)


def _choose_level(comparison: HeaderComparison, *, names_region: bool) -> HeaderComparison:
    """The comparison of what a header names, parts in the place of regions that have any, on the
    level of parts if it names some of a region's parts and not all; else on that of regions.

    names_region  whether what names a part may be meant for its region: then the parts are compared
                  only if they agree
    """
    answer = comparison.answer
    if not answer.parts or comparison.header_regions is None:
        return replace(comparison, level=REGION_LEVEL if answer.parts else "")
    header_names = comparison.header_regions
    names_some_parts = any(
        header_names.intersection(PARTS[region]) and not header_names.issuperset(PARTS[region])
        for region in answer.divided_regions
    )
    parts_answer = answer.in_parts(answer.divided_regions)
    by_parts = replace(
        comparison,
        answer=parts_answer,
        predicted_regions=frozenset(span.region for span in parts_answer.spans),
        level=PART_LEVEL,
    )
    if names_some_parts and (not names_region or by_parts.verdict == "agree"):
        return by_parts
    header_regions = frozenset(WHOLE_BY_PART.get(name, name) for name in header_names)
    return replace(comparison, header_regions=header_regions, level=REGION_LEVEL)


def _anatomic_codes(header: Any) -> list[str]:
    """The codes of Anatomic Region Sequence, that of a multi-frame object's shared groups too."""
    frame_anatomies = [
        frame_anatomy
        for shared_group in header.get("SharedFunctionalGroupsSequence") or []
        for frame_anatomy in shared_group.get("FrameAnatomySequence") or []
    ]
    return [
        str(region_item.get("CodeValue"))
        for dataset in (header, *frame_anatomies)
        for region_item in dataset.get("AnatomicRegionSequence") or []
    ]


def _regions_of_codes(codes: Sequence[str], vocabulary: Vocabulary) -> frozenset[str]:
    """The regions that codes name together; empty if there is none, or a code is unknown."""
    regions_of_codes = [vocabulary.regions_of_code(code) for code in codes]
    if not all(regions_of_codes):
        return frozenset()
    return frozenset().union(*regions_of_codes)


def write_headers(
    comparisons: Sequence[HeaderComparison], path: Path, vocabulary: Vocabulary
) -> Path:
    """Writes the table, disagreements first, regions from the feet up; a header that is no valid
    code string appears as "(free text)".  Where something is said of parts of regions, a last column,
    `level`, tells whether parts were compared.

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
    names = vocabulary.in_parts(PARTS).label_names
    rows = [_header_row(comparison, names) for comparison in ordered_comparisons]
    columns: tuple[str, ...] = COLUMNS
    if any(comparison.level for comparison in comparisons):
        columns = (*COLUMNS, "level")
    return write_tsv(path, columns, rows)


def _header_row(comparison: HeaderComparison, names: Sequence[str]) -> dict[str, str]:
    """The cells of one volume by column; regions and parts in the order of these names."""
    answer = comparison.answer
    stated_regions: frozenset[str] = frozenset()
    if answer.statements:
        stated_regions = answer.shown_regions
    return {
        "volume_id": answer.volume_id,
        "status": answer.status,
        "header": _public_text(comparison.header_text),
        "meant": _from_feet_up(comparison.header_regions or frozenset(), names),
        "predicted": _from_feet_up(comparison.predicted_regions, names),
        "verdict": comparison.verdict,
        "path": str(answer.path),
        "shows": _from_feet_up(stated_regions, names),
        "unsure": _from_feet_up(comparison.unsure_regions, names),
        "level": comparison.level,
    }


def _public_text(header_text: str) -> str:
    """The text of a header as the table shows it."""
    if header_text in ("", CODED_HEADER) or CODE_STRING.fullmatch(header_text):
        return header_text
    return "(free text)"


def _from_feet_up(regions: frozenset[str], names: Sequence[str]) -> str:
    """ "pelvis+abdomen": the names of regions in the order of all names."""
    return "+".join(sorted(regions, key=names.index))


def _is_header_table(path: Path) -> bool:
    """Whether a file begins with the columns of this table."""
    expected_start = "\t".join(COLUMNS).encode()
    with path.open("rb") as file:
        return file.read(len(expected_start)) == expected_start
