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
    case_of = {case.volume_id: case for case in cases if case.pixels is not None and len(case.z_mm)}
    ranked = sorted(
        (row for row in evaluation.volumes if row.volume_id in case_of),
        key=lambda row: (row.slice_error, row.volume_id),
    )
    reason_of: dict[str, str] = {}
    for adjective, rank in (("best", 0), ("worst", len(ranked) - 1), ("median", len(ranked) // 2)):
        if ranked:
            reason_of.setdefault(
                ranked[rank].volume_id, f"the {adjective} test volume by slice error"
            )
    for collection in sorted(
        {row.collection for row in ranked} - {case_of[name].collection for name in reason_of}
    ):
        rows = [row for row in ranked if row.collection == collection]
        reason_of[rows[len(rows) // 2].volume_id] = (
            f"the median volume of the collection {collection}"
        )
    chosen_rows = [row for row in ranked if row.volume_id in reason_of]
    vocabulary = evaluation.vocabulary
    return tuple(
        volume_view(case_of[row.volume_id], row, reason_of[row.volume_id], vocabulary, faces=faces)
        for row in chosen_rows
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
    for column, region in enumerate(vocabulary.classes[:-1]):
        for first_slice, end_slice in runs(case.truth[:, column]):
            low_mm = float(edges_mm[first_slice])
            high_mm = float(edges_mm[end_slice])
            stretches.append(StoredSpan(region, low_mm, high_mm, first_slice, end_slice - 1, 1.0))
    return tuple(sorted(stretches, key=lambda stretch: (stretch.from_mm, stretch.to_mm)))


def runs(is_marked: NDArray[np.bool_]) -> list[tuple[int, int]]:
    """The first slice of each run of marked ones (s,), and the one behind its last."""
    turns = np.flatnonzero(np.diff(np.concatenate([[0], is_marked, [0]]))).tolist()
    return list(zip(turns[::2], turns[1::2], strict=True))
