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
from fovnet.report.content.faces import covered
from fovnet.report.content.wording import percent, run_of


@dataclass(frozen=True)
class VolumeView:
    """One volume for the whole-body figure, and why it was chosen; `guessed` if it is doubted as a
    whole."""

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


def chosen_pictures(
    evaluation: Evaluation, cases: Sequence[Case], *, faces: bool
) -> tuple[VolumeView, ...]:
    """The best, the median and the worst volume by slice error, and the median one of every collection not
    among them."""
    of_id = {case.volume_id: case for case in cases if case.pixels is not None and len(case.z_mm)}
    ranked = sorted(
        (row for row in evaluation.volumes if row.volume_id in of_id),
        key=lambda row: (row.slice_error, row.volume_id),
    )
    chosen: dict[str, str] = {}
    for why, place in (("best", 0), ("worst", len(ranked) - 1), ("median", len(ranked) // 2)):
        if ranked:
            chosen.setdefault(ranked[place].volume_id, f"the {why} test volume by slice error")
    for collection in sorted(
        {row.collection for row in ranked} - {of_id[name].collection for name in chosen}
    ):
        mine = [row for row in ranked if row.collection == collection]
        chosen[mine[len(mine) // 2].volume_id] = f"the median volume of the collection {collection}"
    shown_rows = [row for row in ranked if row.volume_id in chosen]
    vocabulary = evaluation.vocabulary
    return tuple(
        volume_view(of_id[row.volume_id], row, chosen[row.volume_id], vocabulary, faces=faces)
        for row in shown_rows
    )


def volume_view(
    case: Case, row: EvaluatedVolume, why: str, vocabulary: Vocabulary, *, faces: bool
) -> VolumeView:
    """One evaluated volume for its figure; without `faces`, slices that may show a head are covered."""
    assert case.pixels is not None  # only volumes with pixels are chosen
    predicted, true = run_of(row.predicted, vocabulary), run_of(row.truth, vocabulary)
    shares = (case.truth, case.decided, case.raw, case.smoothed)
    pixels = case.pixels if faces else covered(case.pixels, case.z_mm, vocabulary, shares)
    hidden = "" if faces else " Slices that may show a face are covered."
    return VolumeView(
        why=f"{why[:1].upper()}{why[1:]}: {row.wrong} of {row.slices} slices wrong "
        f"({percent(row.slice_error)}), "
        f"{row.wrong_raw} before the decision. Collection {case.collection}, {case.status}.{hidden}",
        title=case.volume_id,
        alt=f"Coronal view of {case.volume_id} with probability curves along the body. Shows {true}; "
        f"predicted {predicted}.",
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
    """The true spans of a case, one per run of slices of a region, from the lower edge of its first slice to
    the upper edge of its last."""
    edges = outer_edges(case.z_mm, case.edges_mm)
    found = []
    for column, region in enumerate(vocabulary.classes[:-1]):
        for first, end in runs(case.truth[:, column]):
            found.append(
                StoredSpan(region, float(edges[first]), float(edges[end]), first, end - 1, 1.0)
            )
    return tuple(sorted(found, key=lambda one: (one.from_mm, one.to_mm)))


def runs(marks: NDArray[np.bool_]) -> list[tuple[int, int]]:
    """The first slice of each run of marked ones (s,), and the one behind its last."""
    turns = np.flatnonzero(np.diff(np.concatenate([[0], marks, [0]]))).tolist()
    return list(zip(turns[::2], turns[1::2], strict=True))
