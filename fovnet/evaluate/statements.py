"""The answers by region, compared with the labels: how many statements are decided, and how many of
these are wrong.

    r  regions (chain and side regions, without none)    c  volumes

A statement is that at least `min_extent_mm` of a region are in the picture.  Where the labels do not tell
(`fitting.statement_bars.region_labels`), it is not counted.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from fovnet.decision.fitting.statement_bars import region_labels
from fovnet.decision.rule import EVEN
from fovnet.decision.statements import NO, YES
from fovnet.evaluate.calibration import expected_calibration_error, reliability
from fovnet.evaluate.cases import Case
from fovnet.evaluate.measures import Measure, Resampling
from fovnet.evaluate.risk import rank_volumes
from fovnet.regions import Vocabulary

Bools = NDArray[np.bool_]
RATES = {
    "statements_decided": ("decided", "known"),
    "statements_wrong": ("wrong", "decided"),
    "yes_wrong": ("wrong_yes", "yes"),
    "no_wrong": ("wrong_no", "no"),
    "surely_found": ("right_yes", "shown"),
}
"""The rates of statements, each with what is counted, and of what; attributes of `StatementTally`."""


@dataclass(frozen=True)
class StatementTally:
    """The statements on one volume, (r,) each: whether its labels tell, whether they show the region, and
    whether it was answered yes or no; and the probability stated."""

    known: Bools
    shown: Bools
    yes: Bools
    no: Bools
    probability: NDArray[np.float64]

    @property
    def decided(self) -> Bools:
        """Whether the answer is yes or no."""
        return self.yes | self.no

    @property
    def right_yes(self) -> Bools:
        """Whether it is yes, and so it is."""
        return self.yes & self.shown

    @property
    def wrong_yes(self) -> Bools:
        """Whether it is yes, and the region is not shown."""
        return self.yes & ~self.shown

    @property
    def wrong_no(self) -> Bools:
        """Whether it is no, and the region is shown."""
        return self.no & self.shown

    @property
    def wrong(self) -> Bools:
        """Whether it is decided wrongly."""
        return self.wrong_yes | self.wrong_no

    @property
    def bins(self) -> NDArray[np.float64]:
        """(b, 3) reliability totals of the probabilities: statements, summed probability, regions shown."""
        return reliability(self.probability[self.known], self.shown[self.known])


def tally_statements(case: Case, vocabulary: Vocabulary) -> StatementTally | None:
    """The statements on a volume; None where nothing was said region by region, or it was refused."""
    if not case.statements or case.edges_mm is None:
        return None
    shown, known = region_labels(
        case.truth, case.edges_mm, len(vocabulary.chain), case.min_extent_mm
    )
    answers = np.array([one.answer for one in case.statements])
    chances = np.array([one.probability for one in case.statements])
    return StatementTally(
        known, shown & known, known & (answers == YES), known & (answers == NO), chances
    )


def statement_measures(
    said: Sequence[StatementTally | None], draws: Resampling, vocabulary: Vocabulary
) -> list[Measure]:
    """The rates of RATES, in all and of each region, and the calibration error of the probabilities; none
    unless every volume was answered region by region."""
    given = [one for one in said if one is not None]
    if len(given) != len(said) or not said:
        return []
    measures = []
    for name, (part, whole) in RATES.items():
        parts, wholes = (
            np.stack([getattr(one, each) for one in given]).astype(np.int64)
            for each in (part, whole)
        )
        measures.append(draws.rate(name, parts.sum(axis=1), wholes.sum(axis=1)))
        measures += draws.rates(name, parts, wholes, regions=vocabulary.classes[:-1])
    bins = np.stack([one.bins for one in given])
    count, name = int(bins[..., 0].sum()), "statement_calibration_error"
    return [*measures, draws.statistic(name, bins, expected_calibration_error, count)]


def statement_curve(said: Sequence[StatementTally | None]) -> list[dict[str, float]]:
    """Risk and coverage of statements at each probability from which on they might be given, from the highest
    down: `bar`, `coverage`, `risk`; without what doubts or spans say."""
    given = [one for one in said if one is not None]
    if not given:
        return []
    chance = np.concatenate([one.probability[one.known] for one in given])
    shown = np.concatenate([one.shown[one.known] for one in given])
    wrong = ((chance >= EVEN) != shown).astype(float)
    curve = rank_volumes(np.maximum(chance, 1.0 - chance), wrong, np.ones_like(wrong)).curve()
    return [
        {"bar": float(bar), "coverage": float(coverage), "risk": float(risk)}
        for bar, coverage, risk in zip(*curve, strict=True)
    ]
