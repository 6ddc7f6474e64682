"""The failures, those without a doubt first, by descending confidence: predicted and true regions,
and the slices where these differ."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from fovnet.drawing.raster import brighten
from fovnet.evaluate.cases import Case, StoredSpan
from fovnet.evaluate.evaluation import EvaluatedVolume, Evaluation
from fovnet.regions import Vocabulary
from fovnet.report.content.cells import MeasuredText, ReportTable
from fovnet.report.content.pictures import VolumeView, runs, true_stretches, volume_view
from fovnet.report.content.wording import percent, regions_text, whole_mm
from fovnet.words import several

WRONG_SHARE = 0.1
"""A volume with the right regions is a failure too if at least this share of its slices is
wrong."""

THUMBNAILS = 5
"""Maximum number of slices shown of the longest run of wrong ones, evenly spaced from the slice
before it to the slice after it."""


@dataclass(frozen=True)
class Thumbnail:
    """One slice (128, 128) uint8, and its predicted and true classes in words."""

    pixels: NDArray[np.uint8]
    words: str
    wrong: bool


@dataclass(frozen=True)
class FailedVolume:
    """A volume with wrong regions, or with the right ones and too many wrong slices."""

    title: str
    words: str
    spans: ReportTable
    picture: VolumeView
    thumbnails: tuple[Thumbnail, ...]


@dataclass(frozen=True)
class FailuresView:
    """All failures, those without a doubt first, each group by descending confidence, and pictures
    of the first."""

    sentence: str
    table: ReportTable
    pictured: tuple[FailedVolume, ...]


def failures_view(
    evaluation: Evaluation, cases: Sequence[Case], most_pictured: int, *, faces: bool
) -> FailuresView:
    """Every failure as a row, and pictures of the first of those whose pixels are available."""
    failures = [
        row
        for row in evaluation.volumes
        if row.slices and (not row.right or (row.slice_error or 0) >= WRONG_SHARE)
    ]
    ranked = sorted(
        failures, key=lambda row: (not row.is_answered, -(_confidence(row) or 0.0), row.volume_id)
    )
    case_of = {case.volume_id: case for case in cases if case.pixels is not None}
    pictured = [row for row in ranked if row.volume_id in case_of][:most_pictured]
    vocabulary = evaluation.vocabulary
    volumes_with_slices = sum(row.slices > 0 for row in evaluation.volumes)
    return FailuresView(
        sentence=_sentence(ranked, volumes_with_slices, len(pictured)),
        table=_table(ranked, vocabulary),
        pictured=tuple(
            _describe_failure(case_of[row.volume_id], row, vocabulary, faces=faces)
            for row in pictured
        ),
    )


def _confidence(row: EvaluatedVolume) -> float | None:
    """Confidence in the part of the answer that is wrong: the set of regions or, where that is
    right, the slices.

    The slices of a spine acquisition count as spine, whose confidence is 1.00 whichever regions are
    predicted beside it.
    """
    return row.confidence if row.right or row.set_probability is None else row.set_probability


def _confidence_text(row: EvaluatedVolume) -> str:
    confidence = _confidence(row)
    return "–" if confidence is None else f"{confidence:.2f}"


def _sentence(ranked: Sequence[EvaluatedVolume], volumes: int, pictured: int) -> str:
    wrong_sets = sum(not row.right for row in ranked)
    without_doubt = sum(row.is_answered for row in ranked)
    if not ranked:
        return (
            f"No volume of {volumes:,} failed: all have the right regions, and fewer than "
            f"{percent(WRONG_SHARE)} of their slices wrong."
        )
    return (
        f"{len(ranked):,} of {several(volumes, 'volume')} failed: {wrong_sets:,} with a wrong set "
        f"of regions, {len(ranked) - wrong_sets:,} with the right regions and at least "
        f"{percent(WRONG_SHARE)} of the slices wrong. {without_doubt:,} of them were answered "
        f"without a doubt, {len(ranked) - without_doubt:,} with one. Those without come first, in "
        "order of confidence: in exactly these regions or, if they are right, in the slices. "
        f"{pictured:,} are pictured."
    )


def _table(ranked: Sequence[EvaluatedVolume], vocabulary: Vocabulary) -> ReportTable:
    rows = []
    for row in ranked:
        wrong_share = MeasuredText(percent(row.slice_error), "", f"{row.wrong}/{row.slices}")
        rows.append(
            (
                row.volume_id,
                _confidence_text(row),
                row.status,
                regions_text(row.truth, vocabulary),
                regions_text(row.predicted, vocabulary),
                wrong_share,
            )
        )
    return ReportTable(
        ("volume", "sure", "status", "shows", "predicted", "wrong slices"), rows, name="failures"
    )


def _describe_failure(
    case: Case, row: EvaluatedVolume, vocabulary: Vocabulary, *, faces: bool
) -> FailedVolume:
    picture = volume_view(case, row, "", vocabulary, faces=faces)
    kind = "wrong regions" if not row.right else "right regions, borders off"
    half_wrong = int((case.decided != case.truth).any(axis=1).sum()) - row.wrong
    half_wrong_clause = (
        f"; on {half_wrong:,} more one of two regions is lacking or too many" if half_wrong else ""
    )
    return FailedVolume(
        title=f"{case.volume_id}: {kind}, {_confidence_text(row)} sure",
        words=(
            f"Predicted {regions_text(row.predicted, vocabulary)}; shows "
            f"{regions_text(row.truth, vocabulary)}. {row.wrong} of {row.slices} slices wrong "
            f"({percent(row.slice_error)}){half_wrong_clause}. Collection {case.collection}, "
            f"status {case.status}."
        ),
        spans=_spans_table(case, vocabulary),
        picture=picture,
        thumbnails=_thumbnails(case, picture.pixels, vocabulary),
    )


def _spans_table(case: Case, vocabulary: Vocabulary) -> ReportTable:
    """Predicted and true spans, feet to head."""
    rows = [
        (span.region, "predicted", *_end_cells(span), f"{span.confidence:.2f}")
        for span in case.spans
    ]
    rows += [
        (span.region, "true", *_end_cells(span), "–") for span in true_stretches(case, vocabulary)
    ]
    order_of_region = {name: rank for rank, name in enumerate(vocabulary.classes)}
    ordered = sorted(
        rows, key=lambda row: (order_of_region.get(row[0], len(order_of_region)), row[1])
    )
    return ReportTable(("region", "predicted or true", "from mm", "to mm", "confidence"), ordered)


def _end_cells(span: StoredSpan) -> tuple[str, str]:
    return whole_mm(span.from_mm), whole_mm(span.to_mm)


def _thumbnails(
    case: Case, pixels: NDArray[np.uint8], vocabulary: Vocabulary
) -> tuple[Thumbnail, ...]:
    """Slices around the longest run of wrong ones: usually at the border with the largest error, or
    a region that is wrong throughout."""
    is_wrong = (case.decided != case.truth).any(axis=1)
    start, end = max(runs(is_wrong), key=lambda run: run[1] - run[0], default=(0, 0))
    if start == end:
        return ()
    first_slice = max(start - 1, 0)
    last_slice = min(end, len(is_wrong) - 1)
    slices = np.unique(np.linspace(first_slice, last_slice, THUMBNAILS).round().astype(np.int64))
    bright = brighten(pixels[slices])
    return tuple(
        _thumbnail(case, picture, int(slice_index), bool(is_wrong[slice_index]), vocabulary)
        for picture, slice_index in zip(bright, slices, strict=True)
    )


def _thumbnail(
    case: Case, picture: NDArray[np.uint8], slice_index: int, is_wrong: bool, vocabulary: Vocabulary
) -> Thumbnail:
    predicted, true = (
        " and ".join(vocabulary.classes[column] for column in np.flatnonzero(is_class[slice_index]))
        for is_class in (case.decided, case.truth)
    )
    verdict = f"true is {true}" if is_wrong else "which is right"
    height = whole_mm(case.z_mm[slice_index])
    return Thumbnail(picture, f"{height} mm: predicted {predicted}, {verdict}", is_wrong)
