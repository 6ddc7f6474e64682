"""The failures, those without a doubt first, by descending confidence: predicted and true regions, and the
slices where these differ."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from fovnet.drawing.raster import brightened
from fovnet.evaluate.cases import Case, StoredSpan
from fovnet.evaluate.evaluation import EvaluatedVolume, Evaluation
from fovnet.regions import Vocabulary
from fovnet.report.content.cells import Shown, Table
from fovnet.report.content.pictures import VolumeView, runs, true_stretches, volume_view
from fovnet.report.content.wording import percent, run_of, whole_mm
from fovnet.words import several

WRONG_SHARE = 0.1
"""A volume with the right regions is a failure too if at least this share of its slices is wrong."""

THUMBNAILS = 5
"""Maximum number of slices shown of the longest run of wrong ones, evenly spaced from the slice before it to
the slice after it."""


@dataclass(frozen=True)
class Thumbnail:
    """One slice (128, 128) uint8, and its predicted and true classes in words."""

    pixels: NDArray[np.uint8]
    words: str
    wrong: bool


@dataclass(frozen=True)
class Failure:
    """A volume with wrong regions, or with the right ones and too many wrong slices."""

    title: str
    words: str
    spans: Table
    picture: VolumeView
    thumbnails: tuple[Thumbnail, ...]


@dataclass(frozen=True)
class FailuresView:
    """All failures, those without a doubt first, each group by descending confidence, and pictures of the
    first."""

    sentence: str
    table: Table
    pictured: tuple[Failure, ...]


def failures_view(
    evaluation: Evaluation, cases: Sequence[Case], most: int, *, faces: bool
) -> FailuresView:
    """Every failure as a row, and pictures of the first `most` of those whose pixels are available."""
    failed = [
        row
        for row in evaluation.volumes
        if row.slices and (not row.right or (row.slice_error or 0) >= WRONG_SHARE)
    ]
    ranked = sorted(
        failed, key=lambda row: (not row.is_answered, -(_sure(row) or 0.0), row.volume_id)
    )
    of_id = {case.volume_id: case for case in cases if case.pixels is not None}
    pictured = [row for row in ranked if row.volume_id in of_id][:most]
    vocabulary = evaluation.vocabulary
    counted = sum(row.slices > 0 for row in evaluation.volumes)
    return FailuresView(
        sentence=_sentence(ranked, counted, len(pictured)),
        table=_table(ranked, vocabulary),
        pictured=tuple(
            _failure(of_id[row.volume_id], row, vocabulary, faces=faces) for row in pictured
        ),
    )


def _sure(row: EvaluatedVolume) -> float | None:
    """Confidence in the part of the answer that is wrong: the set of regions or, where that is right, the
    slices.

    The slices of a spine acquisition count as spine, whose confidence is 1.00 whichever regions are predicted
    beside it.
    """
    return row.confidence if row.right or row.set_probability is None else row.set_probability


def _confidence_text(row: EvaluatedVolume) -> str:
    sure = _sure(row)
    return "–" if sure is None else f"{sure:.2f}"


def _sentence(ranked: Sequence[EvaluatedVolume], counted: int, pictured: int) -> str:
    other = sum(not row.right for row in ranked)
    sure = sum(row.is_answered for row in ranked)
    if not ranked:
        return (
            f"No volume of {counted:,} failed: all have the right regions, and fewer than "
            f"{percent(WRONG_SHARE)} of their slices wrong."
        )
    return (
        f"{len(ranked):,} of {several(counted, 'volume')} failed: {other:,} with a wrong set of regions, "
        f"{len(ranked) - other:,} with the right regions and at least {percent(WRONG_SHARE)} of the slices "
        f"wrong. {sure:,} of them were answered without a doubt, {len(ranked) - sure:,} with one. Those "
        "without come first, in order of confidence: in exactly these regions or, if they are right, in "
        f"the slices. {pictured:,} are pictured."
    )


def _table(ranked: Sequence[EvaluatedVolume], vocabulary: Vocabulary) -> Table:
    rows = []
    for row in ranked:
        share = Shown(percent(row.slice_error), "", f"{row.wrong}/{row.slices}")
        true, predicted = run_of(row.truth, vocabulary), run_of(row.predicted, vocabulary)
        rows.append((row.volume_id, _confidence_text(row), row.status, true, predicted, share))
    return Table(
        ("volume", "sure", "status", "shows", "predicted", "wrong slices"), rows, name="failures"
    )


def _failure(case: Case, row: EvaluatedVolume, vocabulary: Vocabulary, *, faces: bool) -> Failure:
    view = volume_view(case, row, "", vocabulary, faces=faces)
    what = "wrong regions" if not row.right else "right regions, borders off"
    half = int((case.decided != case.truth).any(axis=1).sum()) - row.wrong
    beside = f"; on {half:,} more one of two regions is lacking or too many" if half else ""
    return Failure(
        title=f"{case.volume_id}: {what}, {_confidence_text(row)} sure",
        words=f"Predicted {run_of(row.predicted, vocabulary)}; shows {run_of(row.truth, vocabulary)}. "
        f"{row.wrong} of {row.slices} slices "
        f"wrong ({percent(row.slice_error)}){beside}. Collection {case.collection}, status {case.status}.",
        spans=_spans_table(case, vocabulary),
        picture=view,
        thumbnails=_thumbnails(case, view.pixels, vocabulary),
    )


def _spans_table(case: Case, vocabulary: Vocabulary) -> Table:
    """Predicted and true spans, feet to head."""
    rows = [(one.region, "predicted", *_ends(one), f"{one.confidence:.2f}") for one in case.spans]
    rows += [(one.region, "true", *_ends(one), "–") for one in true_stretches(case, vocabulary)]
    order = {name: place for place, name in enumerate(vocabulary.classes)}
    ordered = sorted(rows, key=lambda row: (order.get(row[0], len(order)), row[1]))
    return Table(("region", "predicted or true", "from mm", "to mm", "confidence"), ordered)


def _ends(one: StoredSpan) -> tuple[str, str]:
    return whole_mm(one.from_mm), whole_mm(one.to_mm)


def _thumbnails(
    case: Case, pixels: NDArray[np.uint8], vocabulary: Vocabulary
) -> tuple[Thumbnail, ...]:
    """Slices around the longest run of wrong ones: usually at the border with the largest error, or a region
    that is wrong throughout."""
    wrong = (case.decided != case.truth).any(axis=1)
    start, end = max(runs(wrong), key=lambda run: run[1] - run[0], default=(0, 0))
    if start == end:
        return ()
    first, last = max(start - 1, 0), min(end, len(wrong) - 1)
    rows = np.unique(np.linspace(first, last, THUMBNAILS).round().astype(np.int64))
    bright = brightened(pixels[rows])
    return tuple(
        _thumbnail(case, one, int(row), bool(wrong[row]), vocabulary)
        for one, row in zip(bright, rows, strict=True)
    )


def _thumbnail(
    case: Case, picture: NDArray[np.uint8], row: int, wrong: bool, vocabulary: Vocabulary
) -> Thumbnail:
    predicted, true = (
        " and ".join(vocabulary.classes[column] for column in np.flatnonzero(rows[row]))
        for rows in (case.decided, case.truth)
    )
    verdict = f"true is {true}" if wrong else "which is right"
    return Thumbnail(
        picture, f"{whole_mm(case.z_mm[row])} mm: predicted {predicted}, {verdict}", wrong
    )
