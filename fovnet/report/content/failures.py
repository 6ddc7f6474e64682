"""The failures, those without a doubt first, by descending confidence: predicted and true regions,
and the slices where these differ."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

from fovnet.drawing.raster import brighten
from fovnet.evaluate.cases import Case, StoredSpan
from fovnet.evaluate.evaluation import EvaluatedVolume, Evaluation
from fovnet.records import json_key
from fovnet.regions import Vocabulary
from fovnet.report.content.cells import MeasuredText, ReportTable
from fovnet.report.content.pictures import VolumeView, find_runs, true_stretches, volume_view
from fovnet.report.content.wording import DASH, decimal_text, percent, regions_text, whole_mm
from fovnet.words import several

FAILED_WRONG_SHARE = 0.1
"""A volume with the right regions is a failure too if at least this share of its slices is
wrong."""

MOST_THUMBNAILS = 5
"""Maximum number of slices shown of the longest run of wrong ones, evenly spaced from the slice
before it to the slice after it."""


@dataclass(frozen=True)
class Thumbnail:
    """One slice (128, 128) uint8, its predicted and true classes in words, and whether they
    differ."""

    pixels: NDArray[np.uint8]
    caption: str = field(metadata=json_key("words"))
    is_wrong: bool = field(metadata=json_key("wrong"))


@dataclass(frozen=True)
class FailedVolume:
    """A volume with wrong regions, or with the right ones and too many wrong slices.

    description  predicted and true regions, and how many slices are wrong, in sentences
    spans        predicted and true ones
    """

    title: str
    description: str = field(metadata=json_key("words"))
    spans: ReportTable
    picture: VolumeView
    thumbnails: tuple[Thumbnail, ...]


@dataclass(frozen=True)
class FailuresView:
    """All failures, those without a doubt first, each group by descending confidence, and pictures
    of the first."""

    sentence: str
    table: ReportTable
    pictured_failures: tuple[FailedVolume, ...] = field(metadata=json_key("pictured"))


def failures_view(
    evaluation: Evaluation, cases: Sequence[Case], most_pictured: int, *, faces: bool
) -> FailuresView:
    """Every failure as a row, and pictures of the first of those whose pixels are available;
    without `faces`, slices that may show one are covered."""
    vocabulary = evaluation.vocabulary
    ranked_failures = sorted(
        filter(_is_failure, evaluation.volumes),
        key=lambda failed_volume: (
            not failed_volume.is_answered,
            -(_confidence_in_wrong_part(failed_volume) or 0.0),
            failed_volume.volume_id,
        ),
    )
    case_by_volume_id = {case.volume_id: case for case in cases if case.pixels is not None}
    pictured_volumes = [
        failed_volume
        for failed_volume in ranked_failures
        if failed_volume.volume_id in case_by_volume_id
    ][:most_pictured]
    readable_count = sum(volume.slices > 0 for volume in evaluation.volumes)
    pictured_failures = tuple(
        _describe_failure(
            case_by_volume_id[failed_volume.volume_id], failed_volume, vocabulary, faces=faces
        )
        for failed_volume in pictured_volumes
    )
    return FailuresView(
        sentence=_failures_sentence(ranked_failures, readable_count, len(pictured_failures)),
        table=_failures_table(ranked_failures, vocabulary),
        pictured_failures=pictured_failures,
    )


def _is_failure(volume: EvaluatedVolume) -> bool:
    """Whether a volume has wrong regions, or too many wrong slices; not one without slices."""
    if not volume.slices:
        return False
    slice_error = volume.slice_error or 0
    return not volume.right or slice_error >= FAILED_WRONG_SHARE


def _confidence_in_wrong_part(failed_volume: EvaluatedVolume) -> float | None:
    """Confidence in the part of the answer that is wrong: the set of regions or, where that is
    right, the slices.

    The slices of a spine acquisition count as spine, whose confidence is 1.00 whichever regions are
    predicted beside it.
    """
    if failed_volume.right or failed_volume.set_probability is None:
        return failed_volume.confidence
    return failed_volume.set_probability


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
        f"{len(ranked_failures):,} of {several(volume_count, 'volume')} failed: "
        f"{wrong_set_count:,} with a wrong set of regions, "
        f"{len(ranked_failures) - wrong_set_count:,} with the right regions and at least "
        f"{percent(FAILED_WRONG_SHARE)} of the slices wrong. {undoubted_count:,} of them were "
        f"answered without a doubt, {len(ranked_failures) - undoubted_count:,} with one. Those "
        "without come first, in order of confidence: in exactly these regions or, if they are "
        f"right, in the slices. {pictured_count:,} are pictured."
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
                decimal_text(_confidence_in_wrong_part(failed_volume)),
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
    case: Case, failed_volume: EvaluatedVolume, vocabulary: Vocabulary, *, faces: bool
) -> FailedVolume:
    """One failure with its words, its spans, its picture and its thumbnails."""
    view = volume_view(case, failed_volume, "", vocabulary, faces=faces)
    kind_of_failure = "wrong regions"
    if failed_volume.right:
        kind_of_failure = "right regions, borders off"
    confidence_text = decimal_text(_confidence_in_wrong_part(failed_volume))
    # a slice with one right region of two is not counted as wrong
    imperfect_count = int((case.decided_labels != case.truth).any(axis=1).sum())
    half_wrong_count = imperfect_count - failed_volume.wrong
    half_wrong_clause = ""
    if half_wrong_count:
        half_wrong_clause = (
            f"; on {half_wrong_count:,} more one of two regions is lacking or too many"
        )
    return FailedVolume(
        title=f"{case.volume_id}: {kind_of_failure}, {confidence_text} sure",
        description=(
            f"Predicted {regions_text(failed_volume.predicted, vocabulary)}; shows "
            f"{regions_text(failed_volume.truth, vocabulary)}. {failed_volume.wrong} of "
            f"{failed_volume.slices} slices wrong ({percent(failed_volume.slice_error)})"
            f"{half_wrong_clause}. Collection {case.collection}, status {case.status}."
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
        (span.region, "true", *_end_cells(span), DASH) for span in true_stretches(case, vocabulary)
    ]
    rank_by_region = {region: rank for rank, region in enumerate(vocabulary.classes)}
    ordered_rows = sorted(
        rows, key=lambda row: (rank_by_region.get(row[0], len(rank_by_region)), row[1])
    )
    return ReportTable(
        ("region", "predicted or true", "from mm", "to mm", "confidence"), ordered_rows
    )


def _end_cells(span: StoredSpan) -> tuple[str, str]:
    """The heights of the lower and the upper end of a span, as text."""
    return whole_mm(span.from_mm), whole_mm(span.to_mm)


def _thumbnails(
    case: Case, pixels: NDArray[np.uint8], vocabulary: Vocabulary
) -> tuple[Thumbnail, ...]:
    """Slices around the longest run of wrong ones: usually at the border with the largest error, or
    a region that is wrong throughout.

    pixels  (s, 128, 128), with faces covered if they are to be
    """
    is_wrong = (case.decided_labels != case.truth).any(axis=1)
    longest_run = max(find_runs(is_wrong), key=lambda run: run.end - run.start, default=None)
    if longest_run is None:
        return ()
    first_slice = max(longest_run.start - 1, 0)
    last_slice = min(longest_run.end, len(is_wrong) - 1)
    shown_slices = np.unique(
        np.linspace(first_slice, last_slice, MOST_THUMBNAILS).round().astype(np.int64)
    )
    return tuple(
        Thumbnail(
            picture, _slice_caption(case, slice_index, vocabulary), bool(is_wrong[slice_index])
        )
        for picture, slice_index in zip(
            brighten(pixels[shown_slices]), shown_slices.tolist(), strict=True
        )
    )


def _slice_caption(case: Case, slice_index: int, vocabulary: Vocabulary) -> str:
    """The height of a slice, its predicted classes, and the true ones where these differ."""
    predicted_classes = _class_names(case.decided_labels[slice_index], vocabulary)
    true_classes = _class_names(case.truth[slice_index], vocabulary)
    verdict = "which is right"
    if predicted_classes != true_classes:
        verdict = f"true is {true_classes}"
    return f"{whole_mm(case.z_mm[slice_index])} mm: predicted {predicted_classes}, {verdict}"


def _class_names(is_class: NDArray[np.bool_], vocabulary: Vocabulary) -> str:
    """ "chest and spine": the classes that are marked in (k,)."""
    return " and ".join(vocabulary.classes[column] for column in np.flatnonzero(is_class))
