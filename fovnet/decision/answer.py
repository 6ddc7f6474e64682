"""The answer on one volume: rows of spans.tsv, and the complete JSON."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict, dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from fovnet.decision.chain.margins import air_slices
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
from fovnet.decision.doubts import Doubt, Signs, are_reasons, doubts
from fovnet.decision.rule import Rule
from fovnet.decision.statements import (
    NO_REGION,
    SOME_UNSURE,
    Statement,
    is_guess_sure,
    statements,
    status_of,
    unsure_sentence,
)
from fovnet.errors import FovnetError
from fovnet.regions import Vocabulary
from fovnet.volume.slices.stack import SliceStack

TABLE = "spans.tsv"
COLUMNS = (
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


@dataclass(frozen=True)
class Answer:
    """The answer on one volume: its status and message, and the decision behind it (None when refused).

    status   "ok" if every region has a sure answer, "partly" if some have, "uncertain" if none has, or
    "refused"; for an ensemble whose rule gives no answers by region, "ok" or "uncertain" by the doubts
    doubts   why it is not trusted, and "none" where nothing is shown        signs  what was measured besides
    the decision
    statements  one for each region, on min_extent_mm of it; empty for such an ensemble, or if refused
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

    @property
    def are_extents_sure(self) -> bool:
        """Whether there is no doubt about the volume as a whole, including its spans and their ends."""
        return self.decision is not None and not are_reasons(self.doubts)

    @property
    def stated_confidence(self) -> float | None:
        """The volume's confidence; None where its best guess is not sure, or it was refused."""
        if self.decision is None or not is_guess_sure(self.statements, self.status):
            return None
        return self.decision.sure

    @property
    def unsure_regions(self) -> frozenset[str]:
        """The regions whose spans are guesses."""
        if self.statements:
            return frozenset(one.region for one in self.statements if not one.is_sure)
        spans = self.decision.spans if self.decision and self.status != "ok" else ()
        return frozenset(span.region for span in spans)

    @property
    def codes(self) -> str:
        """The error code of a refused volume, else the distinct codes of its doubts, separated by spaces."""
        codes = [doubt.code for doubt in self.doubts]
        unsure = [SOME_UNSURE.code] if unsure_sentence(self.statements) else []
        return self.code or " ".join(dict.fromkeys([*codes, *unsure]))


def answer(
    volume_id: str,
    path: str,
    decision: Decision,
    signs: Signs,
    rule: Rule,
    vocabulary: Vocabulary,
    notes: Sequence[str] = (),
) -> Answer:
    """The answer for a decided volume, with the reasons to doubt it in words."""
    why, said = doubts(decision, signs, rule), statements(decision, signs, rule, vocabulary)
    status = status_of(said) if said else "uncertain" if are_reasons(why) else "ok"
    if status != "ok":
        why = tuple(_as_guess(doubt) for doubt in why)
    message = "; ".join(
        filter(None, [unsure_sentence(said), *(doubt.sentence for doubt in why), *notes])
    )
    return Answer(
        volume_id, path, status, message, decision, "", why, signs, said, rule.min_extent_mm
    )


def _as_guess(doubt: Doubt) -> Doubt:
    """That no region is shown is the best guess of an answer that is not sure."""
    return (
        replace(doubt, sentence=f"best guess: {NO_REGION}")
        if doubt.code == none.CHECK.code
        else doubt
    )


def refusal(volume_id: str, path: str, error: FovnetError) -> Answer:
    """The answer for a volume that could not be read."""
    return Answer(volume_id, path, "refused", error.sentence, code=error.code)


def table_rows(given: Answer, stack: SliceStack | None) -> list[dict[str, Any]]:
    """The rows of spans.tsv, one per span, or one with an empty region; slice numbers are those of the RAS
    volume.

    `confidence` is the span's, or the volume's if it has none, and missing where the span is a guess;
    `volume_confidence` is the volume's without black margins, the same in all its rows, and missing where the
    best guess is not sure; `code` as `Answer.codes`; `extents` is "sure" if there is no doubt about the
    volume, "unsure" if there is, or if it is unsure whether the span's region is shown, and "" if the volume
    was refused.
    """
    head = volume_cells(given) | {"volume_confidence": given.stated_confidence}
    if given.decision is None or stack is None or not given.decision.spans:
        return [{**head, "confidence": given.stated_confidence}]
    rows = []
    for span in given.decision.spans:
        row = {**head, **_span_cells(span, stack)}
        if span.region in given.unsure_regions:
            row |= {"confidence": None, "extents": "unsure"}
        rows.append(row)
    return rows


def volume_cells(given: Answer) -> dict[str, Any]:
    """The cells of spans.tsv that every row of a volume has; a refused volume has no others."""
    return {
        "volume_id": given.volume_id,
        "path": given.path,
        "status": given.status,
        "message": given.message,
        "code": given.codes,
        "extents": "" if given.decision is None else "sure" if given.are_extents_sure else "unsure",
    }


def answer_facts(
    given: Answer, stack: SliceStack | None, raw: NDArray[np.float64] | None, vocabulary: Vocabulary
) -> dict[str, Any]:
    """The whole answer on a volume, as JSON: spans, per-slice probabilities before and after smoothing,
    notes, provenance."""
    signs = given.signs or Signs({})
    novelty, axes = signs.of(unlike_training.CHECK), signs.of(turned.CHECK)
    agreed, order = signs.of(members_disagree.CHECK), signs.of(out_of_order.CHECK)
    hidden = signs.of(too_dark.CHECK)
    body = _said(given) | {
        "novelty": novelty and novelty.volume,
        "agreement": None if agreed is None else float(agreed.mean()),
        "upright": axes and axes.bearing.upright,
        "classes": vocabulary.classes,
    }
    if given.decision is None or stack is None or raw is None:
        return body
    return body | {
        "confidence": given.decision.sure,
        "set_probability": given.decision.set_probability,
        "flipped_gain": given.decision.flipped_gain,
        "flipped": given.decision.flipped,
        "misfit": given.decision.misfit,
        "spans": [
            _span_cells(span, stack) | ({"levels": span.levels} if span.levels else {})
            for span in given.decision.spans
        ],
        "boundaries": [asdict(boundary) for boundary in given.decision.boundaries],
        "z_mm": stack.z_mm,
        "covers": stack.covers,
        "side_mm": stack.side_mm,
        "vox_to_ras": stack.vox_to_ras,
        "counted": stack.middle,
        "counted_slices": stack.counted_slices,
        "notes": stack.notes,
        "checksum": stack.checksum,
        "empty": np.flatnonzero(air_slices(stack.pixels)),
        "raw": np.round(raw, 5),
        "smoothed": np.round(given.decision.smoothed, 5),
        "images": None
        if stack.images is None
        else {
            "axis": stack.images.axis,
            "sop_instance_uid": stack.images.uids,
            "frame": stack.images.frames,
        },
        "decided": given.decision.decided.astype(int),
        "slice_confidence": np.round(given.decision.confidence, 5),
        "disorder": order and order.disorder,
        "passes": order and order.passes,
        "extent_mm": signs.of(too_small.CHECK),
        "hidden": hidden and asdict(hidden),
        "slice_agreement": _rounded(agreed),
        "slice_novelty": _rounded(None if novelty is None else novelty.slices),
    }


def _said(given: Answer) -> dict[str, Any]:
    """The answer on a volume, refused or not, as JSON."""
    return {
        "volume_id": given.volume_id,
        "path": given.path,
        "status": given.status,
        "code": given.codes,
        "message": given.message,
        "doubts": [asdict(doubt) for doubt in given.doubts],
        "statements": [asdict(one) for one in given.statements],
        "extents_sure": given.are_extents_sure,
        "min_extent_mm": given.min_extent_mm,
    }


def _rounded(values: NDArray[np.float64] | None) -> NDArray[np.float64] | None:
    return None if values is None else np.round(values, 5)


def _nearest(counted: NDArray[np.int64]) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """First and last original slice (s,) nearer to each cut than to the other cuts; cuts at the same slice
    both include it."""
    between = (counted[:-1] + counted[1:]) // 2
    last = np.append(between, counted[-1])
    return np.minimum(np.append(counted[:1], between + 1), counted), last


def _span_cells(span: Span, stack: SliceStack) -> dict[str, Any]:
    """A span's cells; slice numbers of a resampled volume are those of the original volume, re-oriented to
    its closest axes."""
    first, last = stack.covers.T if stack.counted is None else _nearest(stack.counted)
    return {
        "region": span.region,
        "first_slice": int(first[span.first]),
        "last_slice": int(last[span.last]),
        "from_mm": span.from_mm,
        "to_mm": span.to_mm,
        "confidence": span.confidence,
    }
