"""Borders between regions: errors in millimetres, and which are missed or invented.

A border lies between two neighbouring slices whose chain labels (legs ... head, or none) differ: at
the edge between them, or halfway between their centres where the edges are not known. Borders of
one kind ("pelvis|abdomen", from feet to head) are paired within a volume; a true one without a
partner is missed, a predicted one without a partner invented. The signed error is predicted minus
true: positive is too far towards the head.

Slices whose truth names only a side region (a spine volume labelled spine and nothing else) have no
true chain label: borders next to them are not judged.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from fovnet.decision.chain.spans import slice_edges
from fovnet.decision.fitting.objective import has_side_region_alone
from fovnet.evaluate.cases import Case, DecidedBorder
from fovnet.regions import NONE, Vocabulary

AGREEMENT_MM = 10.0
"""People who draw the same border differ by about this much."""
ROUNDING_MM = 1e-6
"""Heights halfway between slices are exact only to rounding."""
SAME_HEIGHT_MM = 0.01
"""Heights that differ by no more are the same one: tables hold them with three decimals."""


@dataclass(frozen=True)
class Border:
    """One border of one volume: `true_mm`, None when invented, and `predicted_mm`, the predicted
    height, None when missed.

    low_mm, high_mm  its 90 % interval; None where the decision gives none
    """

    volume_id: str
    below: str
    above: str
    true_mm: float | None
    predicted_mm: float | None
    low_mm: float | None = None
    high_mm: float | None = None

    @property
    def kind(self) -> str:
        """Both sides, feet first: "pelvis|abdomen"."""
        return f"{self.below}|{self.above}"

    @property
    def is_end(self) -> bool:
        """Whether one side is none: the end of the body part in view, and not a border between
        regions."""
        return NONE in (self.below, self.above)

    @property
    def error_mm(self) -> float | None:
        """Predicted minus true height; None when missed or invented."""
        if self.true_mm is None or self.predicted_mm is None:
            return None
        return self.predicted_mm - self.true_mm

    @property
    def is_in_interval(self) -> bool | None:
        """Whether the interval holds the true height; None when missed, invented, or without an
        interval."""
        if self.true_mm is None or self.low_mm is None or self.high_mm is None:
            return None
        return self.low_mm - ROUNDING_MM <= self.true_mm <= self.high_mm + ROUNDING_MM


def borders_of(case: Case, vocabulary: Vocabulary) -> tuple[Border, ...]:
    """All borders of one volume, true ones from feet to head within each kind, then the
    invented."""
    edges_mm = slice_edges(case.z_mm, case.edges_mm)
    return borders_between(
        case.volume_id,
        case.truth,
        case.decided_labels,
        edges_mm,
        vocabulary,
        case.decided_borders or (),
    )


def borders_between(
    volume_id: str,
    truth: NDArray[np.bool_],
    other: NDArray[np.bool_],
    edges_mm: NDArray[np.float64],
    vocabulary: Vocabulary,
    intervals: Sequence[DecidedBorder] = (),
) -> tuple[Border, ...]:
    """The same of any two labels (s, k) of slices with edges at edges_mm (s + 1,)."""
    is_unknown = has_side_region_alone(truth, len(vocabulary.chain))
    is_judged = np.asarray(~(is_unknown[1:] | is_unknown[:-1]))
    true_heights = _heights_by_kind(truth, edges_mm, is_judged, vocabulary)
    predicted_heights = _heights_by_kind(other, edges_mm, is_judged, vocabulary)
    borders = []
    for sides in sorted(true_heights.keys() | predicted_heights.keys()):
        height_pairs = _pair_heights(true_heights.get(sides, []), predicted_heights.get(sides, []))
        for true_mm, predicted_mm in height_pairs:
            interval_ends = _interval_of_border(*sides, predicted_mm, intervals)
            borders.append(Border(volume_id, *sides, true_mm, predicted_mm, *interval_ends))
    return tuple(borders)


def _interval_of_border(
    below: str, above: str, height_mm: float | None, decided_borders: Sequence[DecidedBorder]
) -> tuple[float | None, float | None]:
    """(low, high) end in mm of the interval of the decided border (below, above) at `height_mm`;
    None, None where the decision has no such border.

    The edge of a signal void within a region is no border of the decision, and has no interval.
    """
    for border in decided_borders:
        if (
            height_mm is not None
            and (border.below, border.above) == (below, above)
            and abs(border.mm - height_mm) <= SAME_HEIGHT_MM
        ):
            return border.low_mm, border.high_mm
    return None, None


def _heights_by_kind(
    labels: NDArray[np.bool_],
    edges_mm: NDArray[np.float64],
    is_judged: NDArray[np.bool_],
    vocabulary: Vocabulary,
) -> dict[tuple[str, str], list[float]]:
    """Heights in mm of every change of chain label, by (below, above)."""
    chain_and_none = (*vocabulary.chain, NONE)
    chain_labels = labels[:, : len(vocabulary.chain)]
    chain_index = np.where(
        chain_labels.any(axis=1), chain_labels.argmax(axis=1), len(chain_and_none) - 1
    )
    heights_by_kind: dict[tuple[str, str], list[float]] = {}
    for slice_index in np.flatnonzero((np.diff(chain_index) != 0) & is_judged):
        sides = (
            chain_and_none[chain_index[slice_index]],
            chain_and_none[chain_index[slice_index + 1]],
        )
        heights_by_kind.setdefault(sides, []).append(float(edges_mm[slice_index + 1]))
    return heights_by_kind


def _pair_heights(
    true_heights: list[float], predicted_heights: list[float]
) -> list[tuple[float | None, float | None]]:
    """Pairs (true, predicted) of least total distance; a height without a partner is paired with
    None."""
    from scipy.optimize import linear_sum_assignment

    distances_mm = np.abs(
        np.subtract.outer(np.asarray(true_heights), np.asarray(predicted_heights))
    )
    paired_true, paired_predicted = linear_sum_assignment(distances_mm)
    predicted_index_by_true = dict(
        zip(paired_true.tolist(), paired_predicted.tolist(), strict=True)
    )
    height_pairs: list[tuple[float | None, float | None]] = []
    for height_index, height_mm in enumerate(true_heights):
        predicted_mm = None
        if height_index in predicted_index_by_true:
            predicted_mm = predicted_heights[predicted_index_by_true[height_index]]
        height_pairs.append((height_mm, predicted_mm))
    unpaired_predicted = sorted(
        set(range(len(predicted_heights))) - set(predicted_index_by_true.values())
    )
    return height_pairs + [
        (None, predicted_heights[height_index]) for height_index in unpaired_predicted
    ]
