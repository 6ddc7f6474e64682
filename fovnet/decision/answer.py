"""The answer on one volume: rows of spans.tsv, and the complete JSON."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict, dataclass, replace
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from fovnet.decision.chain.margins import find_air
from fovnet.decision.chain.spans import Decision, Span
from fovnet.decision.checks import (
    members_disagree,
    none,
    out_of_order,
    too_dark,
    too_small,
    turned,
    unlike_training,
)
from fovnet.decision.division import Division
from fovnet.decision.doubts import Doubt, Signs, are_reasons, find_doubts
from fovnet.decision.rule import Rule
from fovnet.decision.statements import (
    NO_REGION,
    SOME_UNSURE,
    Statement,
    is_guess_sure,
    make_statements,
    unsure_sentence,
    volume_status,
)
from fovnet.errors import FovnetError
from fovnet.regions import Vocabulary
from fovnet.volume.slices.stack import SliceStack

if TYPE_CHECKING:
    from fovnet.volume.sources.source import Source

SPANS_TABLE_NAME = "spans.tsv"
SPANS_TABLE_COLUMNS = (
    "volume_id",
    "path",
    "status",
    "region",
    "first_slice",
    "last_slice",
    "from_mm",
    "to_mm",
    "confidence",
    "message",
    "volume_confidence",
    "code",
    "extents",
)

REGION_LEVEL = "region"
PART_LEVEL = "part"


def span_columns(part_names: Sequence[str] = ()) -> tuple[str, ...]:
    """The columns of spans.tsv, for answers on regions of which these are parts."""
    if not part_names:
        return SPANS_TABLE_COLUMNS
    return (*SPANS_TABLE_COLUMNS, "level")


@dataclass(frozen=True)
class Answer:
    """The answer on one volume: its status and message, and the decision behind it (None when
    refused).

    status      "ok" if every region has a sure answer, "partly" if some have, "uncertain" if none
                has, or "refused"; for an ensemble whose rule gives no answers by region, "ok" or
                "uncertain" by the doubts
    code        of the error of a refused volume
    doubts      why it is not trusted, and "none" where nothing is shown
    signs       what was measured besides the decision
    statements  one for each region, on min_extent_mm of it; empty for such an ensemble, or if
                refused
    divisions   of the regions that have parts, feet to head; empty where nothing is said of parts
    """

    volume_id: str
    path: str
    status: str
    message: str
    decision: Decision | None = None
    code: str = ""
    doubts: tuple[Doubt, ...] = ()
    signs: Signs | None = None
    statements: tuple[Statement, ...] = ()
    min_extent_mm: float = 10.0
    divisions: tuple[Division, ...] = ()

    @property
    def are_extents_sure(self) -> bool:
        """Whether there is no doubt about the volume as a whole, including its spans and their
        ends."""
        return self.decision is not None and not are_reasons(self.doubts)

    @property
    def stated_confidence(self) -> float | None:
        """The volume's confidence; None where its best guess is not sure, or it was refused."""
        if self.decision is None or not is_guess_sure(self.statements, self.status):
            return None
        return self.decision.volume_confidence

    @property
    def unsure_regions(self) -> frozenset[str]:
        """The regions whose spans are guesses."""
        if self.statements:
            return frozenset(
                statement.region for statement in self.statements if not statement.is_sure
            )
        if self.decision is None or self.status == "ok":
            return frozenset()
        return frozenset(span.region for span in self.decision.spans)

    @property
    def code_text(self) -> str:
        """The error code of a refused volume, else the distinct codes of its doubts, separated by
        spaces."""
        codes = [doubt.code for doubt in self.doubts]
        if unsure_sentence(self.statements):
            codes.append(SOME_UNSURE.code)
        return self.code or " ".join(dict.fromkeys(codes))


@dataclass(frozen=True)
class AnsweredVolume:
    """One volume's answer, with its slices and ensemble probabilities (None if it was refused), and
    its source as it was read, where it was."""

    answer: Answer
    stack: SliceStack | None = None
    raw_probabilities: NDArray[np.float64] | None = None
    source: Source | None = None


def make_answer(
    volume_id: str,
    path: str,
    decision: Decision,
    signs: Signs,
    rule: Rule,
    vocabulary: Vocabulary,
    notes: Sequence[str] = (),
) -> Answer:
    """The answer for a decided volume, with the reasons to doubt it in words."""
    volume_doubts = find_doubts(decision, signs, rule)
    region_statements = make_statements(decision, signs, rule, vocabulary)
    if region_statements:
        status = volume_status(region_statements)
    elif are_reasons(volume_doubts):
        status = "uncertain"
    else:
        status = "ok"
    if status != "ok":
        volume_doubts = tuple(_as_guess(doubt) for doubt in volume_doubts)
    sentences = [
        unsure_sentence(region_statements),
        *(doubt.sentence for doubt in volume_doubts),
        *notes,
    ]
    return Answer(
        volume_id=volume_id,
        path=path,
        status=status,
        message="; ".join(filter(None, sentences)),
        decision=decision,
        doubts=volume_doubts,
        signs=signs,
        statements=region_statements,
        min_extent_mm=rule.min_extent_mm,
    )


def _as_guess(doubt: Doubt) -> Doubt:
    """The doubt in an answer that is not sure: that no region is shown is then its best guess."""
    if doubt.code != none.CHECK.code:
        return doubt
    return replace(doubt, sentence=f"best guess: {NO_REGION}")


def make_refusal(volume_id: str, path: str, error: FovnetError) -> Answer:
    """The answer for a volume that could not be read."""
    return Answer(volume_id, path, "refused", error.sentence, code=error.code)


def table_rows(answer: Answer, stack: SliceStack | None) -> list[dict[str, Any]]:
    """The rows of spans.tsv, one per span, or one with an empty region; slice numbers are those of
    the RAS volume.  Those of parts follow, where something is said of parts; `level` then tells which
    is which.

    `confidence` is the span's, or the volume's if it has none, and missing where the span is a
    guess; `volume_confidence` is the volume's without black margins, the same in all its rows, and
    missing where the best guess is not sure; `code` as `Answer.code_text`; `extents` is "sure" if
    there is no doubt about the volume, "unsure" if there is, or if it is unsure whether the span's
    region is shown, and "" if the volume was refused.
    """
    shared_cells = volume_cells(answer) | {"volume_confidence": answer.stated_confidence}
    level_cells = {"level": REGION_LEVEL} if answer.divisions else {}
    if answer.decision is None or stack is None or not answer.decision.spans:
        return [{**shared_cells, "confidence": answer.stated_confidence, **level_cells}]
    rows = []
    for span in answer.decision.spans:
        row = {**shared_cells, **_span_cells(span, stack), **level_cells}
        if span.region in answer.unsure_regions:
            row |= {"confidence": None, "extents": "unsure"}
        rows.append(row)
    for division in answer.divisions:
        unsure_parts = {part.region for part in division.statements if not part.is_sure}
        for span in division.spans:
            row = {**shared_cells, **_span_cells(span, stack), "level": PART_LEVEL}
            if span.region in unsure_parts:
                row |= {"confidence": None, "extents": "unsure"}
            rows.append(row)
    return rows


def volume_cells(answer: Answer) -> dict[str, Any]:
    """The cells of spans.tsv that every row of a volume has; a refused volume has no others."""
    extents = ""
    if answer.decision is not None:
        extents = "sure" if answer.are_extents_sure else "unsure"
    return {
        "volume_id": answer.volume_id,
        "path": answer.path,
        "status": answer.status,
        "message": answer.message,
        "code": answer.code_text,
        "extents": extents,
    }


def answer_facts(
    answer: Answer,
    stack: SliceStack | None,
    raw_probabilities: NDArray[np.float64] | None,
    vocabulary: Vocabulary,
) -> dict[str, Any]:
    """The whole answer on a volume, as JSON: spans, per-slice probabilities before and after
    smoothing, notes, provenance."""
    signs = answer.signs or Signs({})
    novelty = signs.value_of(unlike_training.CHECK)
    axes = signs.value_of(turned.CHECK)
    agreement = signs.value_of(members_disagree.CHECK)
    slice_order = signs.value_of(out_of_order.CHECK)
    hidden_region = signs.value_of(too_dark.CHECK)
    common_facts = _common_facts(answer) | {
        "novelty": novelty and novelty.volume_p_value,
        "agreement": None if agreement is None else float(agreement.mean()),
        "upright": axes and axes.bearing.upright_probability,
        "classes": vocabulary.classes,
    }
    if answer.decision is None or stack is None or raw_probabilities is None:
        return common_facts
    return common_facts | {
        "confidence": answer.decision.volume_confidence,
        "set_probability": answer.decision.set_probability,
        "flipped_gain": answer.decision.flipped_gain,
        "flipped": answer.decision.is_flipped,
        "misfit": answer.decision.misfit,
        "spans": [
            _span_cells(span, stack) | ({"levels": span.levels} if span.levels else {})
            for span in answer.decision.spans
        ],
        "boundaries": [asdict(boundary) for boundary in answer.decision.boundaries],
        "z_mm": stack.z_mm,
        "covers": stack.slice_ranges,
        "side_mm": stack.side_mm,
        "vox_to_ras": stack.vox_to_ras,
        "counted": stack.middle_slices,
        "counted_slices": stack.label_slice_count,
        "notes": stack.notes,
        "checksum": stack.checksum,
        "empty": np.flatnonzero(find_air(stack.pixels)),
        "raw": np.round(raw_probabilities, 5),
        "smoothed": np.round(answer.decision.smoothed_probabilities, 5),
        "images": _image_facts(stack),
        "decided": answer.decision.decided_labels.astype(int),
        "slice_confidence": np.round(answer.decision.slice_confidence, 5),
        "disorder": slice_order and slice_order.disorder,
        "passes": slice_order and slice_order.pass_count,
        "extent_mm": signs.value_of(too_small.CHECK),
        "hidden": hidden_region and asdict(hidden_region),
        "slice_agreement": _round_or_none(agreement),
        "slice_novelty": _round_or_none(None if novelty is None else novelty.slice_p_values),
        **_part_facts(answer.divisions, stack),
    }


def _part_facts(divisions: Sequence[Division], stack: SliceStack) -> dict[str, Any]:
    """What is said of the parts of regions, as JSON; empty where nothing is."""
    if not divisions:
        return {}
    decisions = [(division, division.decision) for division in divisions if division.decision]
    return {
        "parts": [
            {**asdict(statement), "of": division.region}
            for division in divisions
            for statement in division.statements
        ],
        "part_spans": [
            _span_cells(span, stack) for division, _ in decisions for span in division.spans
        ],
        "part_boundaries": [
            asdict(boundary) for _, decision in decisions for boundary in decision.boundaries
        ],
        "smoothed_parts": {
            division.region: np.round(decision.smoothed_probabilities[:, :-1], 5)
            for division, decision in decisions
        },
    }


def _common_facts(answer: Answer) -> dict[str, Any]:
    """The answer on a volume, refused or not, as JSON."""
    return {
        "volume_id": answer.volume_id,
        "path": answer.path,
        "status": answer.status,
        "code": answer.code_text,
        "message": answer.message,
        "doubts": [asdict(doubt) for doubt in answer.doubts],
        "statements": [asdict(statement) for statement in answer.statements],
        "extents_sure": answer.are_extents_sure,
        "min_extent_mm": answer.min_extent_mm,
    }


def _round_or_none(values: NDArray[np.float64] | None) -> NDArray[np.float64] | None:
    """The values with five decimals; None without values."""
    if values is None:
        return None
    return np.round(values, 5)


def _image_facts(stack: SliceStack) -> dict[str, Any] | None:
    """The DICOM images of a stack, slice by slice along its axis; None where none are known."""
    if stack.images is None:
        return None
    return {
        "axis": stack.images.axis,
        "sop_instance_uid": stack.images.uids,
        "frame": stack.images.frames,
    }


def _nearest_slices(
    counted_positions: NDArray[np.int64],
) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """First and last original slice (s,) nearer to each cut than to the other cuts; cuts at the
    same slice both include it."""
    middles = (counted_positions[:-1] + counted_positions[1:]) // 2
    first_slices = np.append(counted_positions[:1], middles + 1)
    last_slices = np.append(middles, counted_positions[-1])
    return np.minimum(first_slices, counted_positions), last_slices


def _span_cells(span: Span, stack: SliceStack) -> dict[str, Any]:
    """A span's cells; slice numbers of a resampled volume are those of the original volume,
    re-oriented to its closest axes."""
    if stack.label_slices is None:
        first_slices, last_slices = stack.slice_ranges.T
    else:
        first_slices, last_slices = _nearest_slices(stack.label_slices)
    return {
        "region": span.region,
        "first_slice": int(first_slices[span.first]),
        "last_slice": int(last_slices[span.last]),
        "from_mm": span.from_mm,
        "to_mm": span.to_mm,
        "confidence": span.confidence,
    }
