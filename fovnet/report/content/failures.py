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

FAILED_WRONG_SHARE = 0.1
"""A volume with the right regions is a failure too if at least this share of its slices is
wrong."""

MOST_THUMBNAILS = 5
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
        evaluated_volume
        for evaluated_volume in evaluation.volumes
        if evaluated_volume.slices
        and (
            not evaluated_volume.right or (evaluated_volume.slice_error or 0) >= FAILED_WRONG_SHARE
        )
    ]
    ranked_failures = sorted(
        failures,
        key=lambda evaluated_volume: (
            not evaluated_volume.is_answered,
            -(_confidence_in_wrong_part(evaluated_volume) or 0.0),
            evaluated_volume.volume_id,
        ),
    )
    case_by_volume_id = {case.volume_id: case for case in cases if case.pixels is not None}
    pictured_failures = [
        evaluated_volume
        for evaluated_volume in ranked_failures
        if evaluated_volume.volume_id in case_by_volume_id
    ][:most_pictured]
    vocabulary = evaluation.vocabulary
    count_with_slices = sum(evaluated_volume.slices > 0 for evaluated_volume in evaluation.volumes)
    return FailuresView(
        sentence=_failures_sentence(ranked_failures, count_with_slices, len(pictured_failures)),
        table=_failures_table(ranked_failures, vocabulary),
        pictured=tuple(
            _describe_failure(
                case_by_volume_id[evaluated_volume.volume_id],
                evaluated_volume,
                vocabulary,
                faces=faces,
            )
            for evaluated_volume in pictured_failures
        ),
    )


def _confidence_in_wrong_part(evaluated_volume: EvaluatedVolume) -> float | None:
    """Confidence in the part of the answer that is wrong: the set of regions or, where that is
    right, the slices.

    The slices of a spine acquisition count as spine, whose confidence is 1.00 whichever regions are
    predicted beside it.
    """
    return (
        evaluated_volume.confidence
        if evaluated_volume.right or evaluated_volume.set_probability is None
        else evaluated_volume.set_probability
    )


def _confidence_text(evaluated_volume: EvaluatedVolume) -> str:
    confidence = _confidence_in_wrong_part(evaluated_volume)
    return "–" if confidence is None else f"{confidence:.2f}"


def _failures_sentence(
    ranked_failures: Sequence[EvaluatedVolume], volume_count: int, pictured_count: int
) -> str:
    """How many volumes failed, in which way, and how many of them without a doubt."""
    wrong_set_count = sum(not failed_volume.right for failed_volume in ranked_failures)
    undoubted_count = sum(failed_volume.is_answered for failed_volume in ranked_failures)
    if not ranked_failures:
        return (
            f"No volume of {volume_count:,} failed: all have the right regions, and fewer than "
            f"{percent(FAILED_WRONG_SHARE)} of their slices wrong."
        )
    return (
        f"{len(ranked_failures):,} of {several(volume_count, 'volume')} failed: {wrong_set_count:,} with a wrong set "
        f"of regions, {len(ranked_failures) - wrong_set_count:,} with the right regions and at least "
        f"{percent(FAILED_WRONG_SHARE)} of the slices wrong. {undoubted_count:,} of them were answered "
        f"without a doubt, {len(ranked_failures) - undoubted_count:,} with one. Those without come first, in "
        "order of confidence: in exactly these regions or, if they are right, in the slices. "
        f"{pictured_count:,} are pictured."
    )


def _failures_table(
    ranked_failures: Sequence[EvaluatedVolume], vocabulary: Vocabulary
) -> ReportTable:
    """One row per failure: its confidence, its true and its predicted regions, its share of wrong
    slices."""
    rows = []
    for failed_volume in ranked_failures:
        wrong_share = MeasuredText(
            percent(failed_volume.slice_error), "", f"{failed_volume.wrong}/{failed_volume.slices}"
        )
        rows.append(
            (
                failed_volume.volume_id,
                _confidence_text(failed_volume),
                failed_volume.status,
                regions_text(failed_volume.truth, vocabulary),
                regions_text(failed_volume.predicted, vocabulary),
                wrong_share,
            )
        )
    return ReportTable(
        ("volume", "sure", "status", "shows", "predicted", "wrong slices"), rows, name="failures"
    )


def _describe_failure(
    case: Case, failure: EvaluatedVolume, vocabulary: Vocabulary, *, faces: bool
) -> FailedVolume:
    """One failure with its words, its spans, its picture and its thumbnails."""
    view = volume_view(case, failure, "", vocabulary, faces=faces)
    kind_of_failure = "wrong regions" if not failure.right else "right regions, borders off"
    half_wrong_count = int((case.decided != case.truth).any(axis=1).sum()) - failure.wrong
    half_wrong_clause = (
        f"; on {half_wrong_count:,} more one of two regions is lacking or too many"
        if half_wrong_count
        else ""
    )
    return FailedVolume(
        title=f"{case.volume_id}: {kind_of_failure}, {_confidence_text(failure)} sure",
        words=(
            f"Predicted {regions_text(failure.predicted, vocabulary)}; shows "
            f"{regions_text(failure.truth, vocabulary)}. {failure.wrong} of {failure.slices} slices wrong "
            f"({percent(failure.slice_error)}){half_wrong_clause}. Collection {case.collection}, "
            f"status {case.status}."
        ),
        spans=_spans_table(case, vocabulary),
        picture=view,
        thumbnails=_thumbnails(case, view.pixels, vocabulary),
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
    rank_by_region = {region: rank for rank, region in enumerate(vocabulary.classes)}
    ordered_rows = sorted(
        rows,
        key=lambda table_row: (rank_by_region.get(table_row[0], len(rank_by_region)), table_row[1]),
    )
    return ReportTable(
        ("region", "predicted or true", "from mm", "to mm", "confidence"), ordered_rows
    )


def _end_cells(span: StoredSpan) -> tuple[str, str]:
    return whole_mm(span.from_mm), whole_mm(span.to_mm)


def _thumbnails(
    case: Case, pixels: NDArray[np.uint8], vocabulary: Vocabulary
) -> tuple[Thumbnail, ...]:
    """Slices around the longest run of wrong ones: usually at the border with the largest error, or
    a region that is wrong throughout."""
    is_wrong = (case.decided != case.truth).any(axis=1)
    run_start, run_end = max(runs(is_wrong), key=lambda run: run[1] - run[0], default=(0, 0))
    if run_start == run_end:
        return ()
    first_slice = max(run_start - 1, 0)
    last_slice = min(run_end, len(is_wrong) - 1)
    shown_slices = np.unique(
        np.linspace(first_slice, last_slice, MOST_THUMBNAILS).round().astype(np.int64)
    )
    brightened_slices = brighten(pixels[shown_slices])
    return tuple(
        _captioned_slice(case, picture, int(slice_index), bool(is_wrong[slice_index]), vocabulary)
        for picture, slice_index in zip(brightened_slices, shown_slices, strict=True)
    )


def _captioned_slice(
    case: Case, picture: NDArray[np.uint8], slice_index: int, is_wrong: bool, vocabulary: Vocabulary
) -> Thumbnail:
    """A slice with its height, its predicted classes, and the true ones where these differ."""
    predicted_classes, true_classes = (
        " and ".join(
            vocabulary.classes[column] for column in np.flatnonzero(is_class_of_slices[slice_index])
        )
        for is_class_of_slices in (case.decided, case.truth)
    )
    verdict = f"true is {true_classes}" if is_wrong else "which is right"
    height_text = whole_mm(case.z_mm[slice_index])
    return Thumbnail(
        picture, f"{height_text} mm: predicted {predicted_classes}, {verdict}", is_wrong
    )
