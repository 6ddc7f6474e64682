"""The volumes chosen for pictures, and their captions."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from fovnet.decision.chain.spans import slice_edges
from fovnet.evaluate.cases import Case, StoredSpan
from fovnet.evaluate.evaluation import EvaluatedVolume, Evaluation
from fovnet.records import json_key
from fovnet.regions import Vocabulary
from fovnet.report.content.faces import cover_faces
from fovnet.report.content.wording import percent, regions_text


@dataclass(frozen=True)
class VolumeView:
    """One volume for the whole-body figure, and why it was chosen; s slices, k classes.

    caption   why it was chosen, and how right its answer is
    alt       the picture in words
    pixels    (s, 128, 128)
    z_mm      (s,) heights of the slices
    side_mm   width of a slice
    raw       (s, k) probabilities of the networks
    smoothed  (s, k) calibrated, smoothed probabilities
    spans     predicted ones
    truth     true ones
    is_guess  whether it is doubted as a whole
    """

    caption: str = field(metadata=json_key("why"))
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
    is_guess: bool = field(metadata=json_key("guessed"))


def choose_pictures(
    evaluation: Evaluation, cases: Sequence[Case], *, faces: bool
) -> tuple[VolumeView, ...]:
    """The best, the median and the worst volume by slice error, and the median one of every
    collection not among them."""
    case_by_volume_id = {
        case.volume_id: case for case in cases if case.pixels is not None and len(case.z_mm)
    }
    drawable_volumes = [
        volume for volume in evaluation.volumes if volume.volume_id in case_by_volume_id
    ]
    ranked_volumes = sorted(
        drawable_volumes,
        key=lambda volume: (volume.slice_error, volume.volume_id),
    )
    reason_by_volume_id = _reasons_to_picture(ranked_volumes)
    return tuple(
        volume_view(
            case_by_volume_id[volume.volume_id],
            volume,
            reason_by_volume_id[volume.volume_id],
            evaluation.vocabulary,
            faces=faces,
        )
        for volume in ranked_volumes
        if volume.volume_id in reason_by_volume_id
    )


def _reasons_to_picture(ranked_volumes: Sequence[EvaluatedVolume]) -> dict[str, str]:
    """Why each of the chosen volumes is pictured, by volume_id; from all volumes by slice error."""
    if not ranked_volumes:
        return {}
    reason_by_volume_id: dict[str, str] = {}
    for adjective, chosen_volume in (
        ("best", ranked_volumes[0]),
        ("worst", ranked_volumes[-1]),
        ("median", _median_of(ranked_volumes)),
    ):
        reason_by_volume_id.setdefault(
            chosen_volume.volume_id, f"the {adjective} test volume by slice error"
        )
    pictured_collections = {
        volume.collection for volume in ranked_volumes if volume.volume_id in reason_by_volume_id
    }
    collections = {volume.collection for volume in ranked_volumes}
    for collection in collections - pictured_collections:
        median_volume = _median_of(
            [volume for volume in ranked_volumes if volume.collection == collection]
        )
        reason_by_volume_id[median_volume.volume_id] = (
            f"the median volume of the collection {collection}"
        )
    return reason_by_volume_id


def _median_of(ranked_volumes: Sequence[EvaluatedVolume]) -> EvaluatedVolume:
    """The middle one of ranked volumes, of an even number the one above."""
    return ranked_volumes[len(ranked_volumes) // 2]


def volume_view(
    case: Case,
    volume: EvaluatedVolume,
    reason: str,
    vocabulary: Vocabulary,
    *,
    faces: bool,
) -> VolumeView:
    """One evaluated volume for its figure, chosen for this reason; without `faces`, slices that may
    show a head are covered."""
    assert case.pixels is not None  # only volumes with pixels are chosen
    predicted_regions = regions_text(volume.predicted, vocabulary)
    true_regions = regions_text(volume.truth, vocabulary)
    pixels = case.pixels
    cover_note = ""
    if not faces:
        class_shares = (
            case.truth,
            case.decided_labels,
            case.raw_probabilities,
            case.smoothed_probabilities,
        )
        pixels = cover_faces(pixels, case.z_mm, vocabulary, class_shares)
        cover_note = " Slices that may show a face are covered."
    return VolumeView(
        caption=(
            f"{reason[:1].upper()}{reason[1:]}: {volume.wrong} of "
            f"{volume.slices} slices wrong ({percent(volume.slice_error)}), "
            f"{volume.wrong_raw} before the decision. Collection {case.collection}, "
            f"{case.status}.{cover_note}"
        ),
        title=case.volume_id,
        alt=(
            f"Coronal view of {case.volume_id} with probability curves along the body. Shows "
            f"{true_regions}; predicted {predicted_regions}."
        ),
        pixels=pixels,
        z_mm=case.z_mm,
        side_mm=case.side_mm,
        raw=case.raw_probabilities,
        smoothed=case.smoothed_probabilities,
        spans=case.spans,
        truth=true_stretches(case, vocabulary),
        message=case.message,
        is_guess=not case.is_answered,
    )


def true_stretches(case: Case, vocabulary: Vocabulary) -> tuple[StoredSpan, ...]:
    """The true spans of a case, one per run of slices of a region, from the lower edge of its first
    slice to the upper edge of its last."""
    edges_mm = slice_edges(case.z_mm, case.edges_mm)
    stretches = [
        StoredSpan(
            region,
            from_mm=float(edges_mm[run.start]),
            to_mm=float(edges_mm[run.end]),
            first_slice=run.start,
            last_slice=run.end - 1,
            confidence=1.0,
        )
        for class_index, region in enumerate(vocabulary.classes[:-1])
        for run in find_runs(case.truth[:, class_index])
    ]
    return tuple(sorted(stretches, key=lambda stretch: (stretch.from_mm, stretch.to_mm)))


class SliceRun(NamedTuple):
    """A run of slices from `start` to before `end`."""

    start: int
    end: int


def find_runs(is_marked: NDArray[np.bool_]) -> list[SliceRun]:
    """The runs of marked slices (s,)."""
    run_borders = np.flatnonzero(np.diff(np.concatenate([[0], is_marked, [0]]))).tolist()
    return list(map(SliceRun, run_borders[::2], run_borders[1::2]))
