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
from scipy.optimize import linear_sum_assignment

from fovnet.decision.chain.spans import outer_edges
from fovnet.decision.fitting.objective import side_region_alone
from fovnet.evaluate.cases import Case, DecidedBorder
from fovnet.regions import NONE, Vocabulary

AGREEMENT_MM = 10.0
"""People who draw the same border differ by about this much."""
ROUNDING_MM = 1e-6
"""Heights halfway between slices are exact only to rounding."""
SAME_MM = 0.01
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
    edges_mm = outer_edges(case.z_mm, case.edges_mm)
    return borders_between(
        case.volume_id, case.truth, case.decided, edges_mm, vocabulary, case.borders or ()
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
    is_unknown = side_region_alone(truth, len(vocabulary.chain))
    is_judged = np.asarray(~(is_unknown[1:] | is_unknown[:-1]))
    true_heights = _heights(truth, edges_mm, is_judged, vocabulary)
    predicted_heights = _heights(other, edges_mm, is_judged, vocabulary)
    borders = []
    for kind in sorted(true_heights.keys() | predicted_heights.keys()):
        pairs = _pair_heights(true_heights.get(kind, []), predicted_heights.get(kind, []))
        for true_mm, predicted_mm in pairs:
            interval = _interval(*kind, predicted_mm, intervals)
            borders.append(Border(volume_id, *kind, true_mm, predicted_mm, *interval))
    return tuple(borders)


def _interval(
    below: str, above: str, mm: float | None, borders: Sequence[DecidedBorder]
) -> tuple[float | None, float | None]:
    """The ends of the interval of the decided border (below, above) at height `mm`; None where the
    decision has no such border.

    The edge of a signal void within a region is no border of the decision, and has no interval.
    """
    for border in borders:
        if (
            mm is not None
            and (border.below, border.above) == (below, above)
            and abs(border.mm - mm) <= SAME_MM
        ):
            return border.low_mm, border.high_mm
    return None, None


def _heights(
    labels: NDArray[np.bool_],
    edges_mm: NDArray[np.float64],
    is_judged: NDArray[np.bool_],
    vocabulary: Vocabulary,
) -> dict[tuple[str, str], list[float]]:
    """Heights in mm of every change of chain label, by (below, above)."""
    names = (*vocabulary.chain, NONE)
    chain = labels[:, : len(vocabulary.chain)]
    rung = np.where(chain.any(axis=1), chain.argmax(axis=1), len(names) - 1)
    heights: dict[tuple[str, str], list[float]] = {}
    for row in np.flatnonzero((np.diff(rung) != 0) & is_judged):
        kind = names[rung[row]], names[rung[row + 1]]
        heights.setdefault(kind, []).append(float(edges_mm[row + 1]))
    return heights


def _pair_heights(
    true: list[float], predicted: list[float]
) -> list[tuple[float | None, float | None]]:
    """Pairs (true, predicted) of least total distance; a height without a partner is paired with
    None."""
    distances = np.abs(np.subtract.outer(np.asarray(true), np.asarray(predicted)))
    rows, columns = linear_sum_assignment(distances)
    partner = dict(zip(rows.tolist(), columns.tolist(), strict=True))
    pairs: list[tuple[float | None, float | None]] = [
        (height, predicted[partner[index]] if index in partner else None)
        for index, height in enumerate(true)
    ]
    invented = sorted(set(range(len(predicted))) - set(partner.values()))
    return pairs + [(None, predicted[index]) for index in invented]
