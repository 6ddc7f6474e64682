"""The volumes chosen for pictures, and their captions."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from fovnet.decision.chain.spans import outer_edges
from fovnet.evaluate.cases import Case, StoredSpan
from fovnet.evaluate.evaluation import EvaluatedVolume, Evaluation
from fovnet.regions import Vocabulary
from fovnet.report.content.faces import cover_faces
from fovnet.report.content.wording import percent, regions_text


@dataclass(frozen=True)
class VolumeView:
    """One volume for the whole-body figure, and why it was chosen.

    guessed  whether it is doubted as a whole
    """

    why: str
    title: str
    alt: str
    pixels: NDArray[np.uint8]
    z_mm: NDArray[np.float64]
    side_mm: float
    raw: NDArray[np.float64]
    smoothed: NDArray[np.float64]
    spans: Sequence[StoredSpan]
    truth: Sequence[StoredSpan]
    message: str
    guessed: bool


def choose_pictures(
    evaluation: Evaluation, cases: Sequence[Case], *, faces: bool
) -> tuple[VolumeView, ...]:
    """The best, the median and the worst volume by slice error, and the median one of every
    collection not among them."""
    case_by_volume_id = {
        case.volume_id: case for case in cases if case.pixels is not None and len(case.z_mm)
    }
    volumes_by_slice_error = sorted(
        (
            evaluated_volume
            for evaluated_volume in evaluation.volumes
            if evaluated_volume.volume_id in case_by_volume_id
        ),
        key=lambda evaluated_volume: (evaluated_volume.slice_error, evaluated_volume.volume_id),
    )
    reason_by_volume_id: dict[str, str] = {}
    for adjective, rank in (
        ("best", 0),
        ("worst", len(volumes_by_slice_error) - 1),
        ("median", len(volumes_by_slice_error) // 2),
    ):
        if volumes_by_slice_error:
            reason_by_volume_id.setdefault(
                volumes_by_slice_error[rank].volume_id,
                f"the {adjective} test volume by slice error",
            )
    for collection in sorted(
        {evaluated_volume.collection for evaluated_volume in volumes_by_slice_error}
        - {case_by_volume_id[volume_id].collection for volume_id in reason_by_volume_id}
    ):
        collection_volumes = [
            evaluated_volume
            for evaluated_volume in volumes_by_slice_error
            if evaluated_volume.collection == collection
        ]
        reason_by_volume_id[collection_volumes[len(collection_volumes) // 2].volume_id] = (
            f"the median volume of the collection {collection}"
        )
    chosen_volumes = [
        evaluated_volume
        for evaluated_volume in volumes_by_slice_error
        if evaluated_volume.volume_id in reason_by_volume_id
    ]
    vocabulary = evaluation.vocabulary
    return tuple(
        volume_view(
            case_by_volume_id[evaluated_volume.volume_id],
            evaluated_volume,
            reason_by_volume_id[evaluated_volume.volume_id],
            vocabulary,
            faces=faces,
        )
        for evaluated_volume in chosen_volumes
    )


def volume_view(
    case: Case, row: EvaluatedVolume, reason: str, vocabulary: Vocabulary, *, faces: bool
) -> VolumeView:
    """One evaluated volume for its figure; without `faces`, slices that may show a head are
    covered."""
    assert case.pixels is not None  # only volumes with pixels are chosen
    predicted_regions = regions_text(row.predicted, vocabulary)
    true_regions = regions_text(row.truth, vocabulary)
    class_shares = (case.truth, case.decided, case.raw, case.smoothed)
    pixels = case.pixels if faces else cover_faces(case.pixels, case.z_mm, vocabulary, class_shares)
    cover_note = "" if faces else " Slices that may show a face are covered."
    return VolumeView(
        why=(
            f"{reason[:1].upper()}{reason[1:]}: {row.wrong} of {row.slices} slices wrong "
            f"({percent(row.slice_error)}), {row.wrong_raw} before the decision. Collection "
            f"{case.collection}, {case.status}.{cover_note}"
        ),
        title=case.volume_id,
        alt=(
            f"Coronal view of {case.volume_id} with probability curves along the body. Shows "
            f"{true_regions}; predicted {predicted_regions}."
        ),
        pixels=pixels,
        z_mm=case.z_mm,
        side_mm=case.side_mm,
        raw=case.raw,
        smoothed=case.smoothed,
        spans=case.spans,
        truth=true_stretches(case, vocabulary),
        message=case.message,
        guessed=not case.is_answered,
    )


def true_stretches(case: Case, vocabulary: Vocabulary) -> tuple[StoredSpan, ...]:
    """The true spans of a case, one per run of slices of a region, from the lower edge of its first
    slice to the upper edge of its last."""
    edges_mm = outer_edges(case.z_mm, case.edges_mm)
    stretches = []
    for class_index, region in enumerate(vocabulary.classes[:-1]):
        for first_slice, end_slice in runs(case.truth[:, class_index]):
            low_mm = float(edges_mm[first_slice])
            high_mm = float(edges_mm[end_slice])
            stretches.append(StoredSpan(region, low_mm, high_mm, first_slice, end_slice - 1, 1.0))
    return tuple(sorted(stretches, key=lambda stretch: (stretch.from_mm, stretch.to_mm)))


def runs(is_marked: NDArray[np.bool_]) -> list[tuple[int, int]]:
    """The first slice of each run of marked ones (s,), and the one behind its last."""
    run_borders = np.flatnonzero(np.diff(np.concatenate([[0], is_marked, [0]]))).tolist()
    return list(zip(run_borders[::2], run_borders[1::2], strict=True))
