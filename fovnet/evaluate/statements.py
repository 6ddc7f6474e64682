"""The answers by region, compared with the labels: how many statements are decided, and how many of
these are wrong.

    r  regions (chain and side regions, without none)    c  volumes

A statement is that at least `min_extent_mm` of a region are in the picture.  Where the labels do
not tell (`fitting.statement_bars.region_labels`), it is not counted.
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
    "statements_decided": ("decided", "is_known"),
    "statements_wrong": ("wrong", "decided"),
    "yes_wrong": ("wrong_yes", "yes"),
    "no_wrong": ("wrong_no", "no"),
    "surely_found": ("right_yes", "is_shown"),
}
"""The rates of statements, each with what is counted, and of what; attributes of
`StatementTally`."""


@dataclass(frozen=True)
class StatementTally:
    """The statements on one volume, (r,) each.

    is_known     whether its labels tell
    is_shown     whether they show the region
    yes, no      whether that was the answer
    probability  as stated
    """

    is_known: Bools
    is_shown: Bools
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
        return self.yes & self.is_shown

    @property
    def wrong_yes(self) -> Bools:
        """Whether it is yes, and the region is not shown."""
        return self.yes & ~self.is_shown

    @property
    def wrong_no(self) -> Bools:
        """Whether it is no, and the region is shown."""
        return self.no & self.is_shown

    @property
    def wrong(self) -> Bools:
        """Whether it is decided wrongly."""
        return self.wrong_yes | self.wrong_no

    @property
    def bins(self) -> NDArray[np.float64]:
        """(b, 3) reliability totals of the probabilities: statements, summed probability, regions
        shown."""
        return reliability(self.probability[self.is_known], self.is_shown[self.is_known])


def tally_statements(case: Case, vocabulary: Vocabulary) -> StatementTally | None:
    """The statements on a volume; None where nothing was said region by region, or it was
    refused."""
    if not case.statements or case.edges_mm is None:
        return None
    labels = region_labels(case.truth, case.edges_mm, len(vocabulary.chain), case.min_extent_mm)
    answers = np.array([statement.answer for statement in case.statements])
    return StatementTally(
        is_known=labels.is_known,
        is_shown=labels.is_shown & labels.is_known,
        yes=labels.is_known & (answers == YES),
        no=labels.is_known & (answers == NO),
        probability=np.array([statement.probability for statement in case.statements]),
    )


def statement_measures(
    tallies: Sequence[StatementTally | None], draws: Resampling, vocabulary: Vocabulary
) -> list[Measure]:
    """The rates of RATES, in all and of each region, and the calibration error of the
    probabilities; none unless every volume was answered region by region."""
    of_answered = [tally for tally in tallies if tally is not None]
    if len(of_answered) != len(tallies) or not tallies:
        return []
    measures = []
    for name, parts in RATES.items():
        numerators, denominators = (
            np.stack([getattr(tally, part) for tally in of_answered]).astype(np.int64)
            for part in parts
        )
        measures.append(draws.rate(name, numerators.sum(axis=1), denominators.sum(axis=1)))
        measures += draws.rates(name, numerators, denominators, regions=vocabulary.classes[:-1])
    bins = np.stack([tally.bins for tally in of_answered])
    error = draws.statistic(
        "statement_calibration_error",
        bins,
        expected_calibration_error,
        int(bins[..., 0].sum()),
    )
    return [*measures, error]


def statement_curve(tallies: Sequence[StatementTally | None]) -> list[dict[str, float]]:
    """Risk and coverage of statements at each probability from which on they might be given, from
    the highest down: `bar`, `coverage`, `risk`; without what doubts or spans say."""
    of_answered = [tally for tally in tallies if tally is not None]
    if not of_answered:
        return []
    chance = np.concatenate([tally.probability[tally.is_known] for tally in of_answered])
    is_shown = np.concatenate([tally.is_shown[tally.is_known] for tally in of_answered])
    wrong = ((chance >= EVEN) != is_shown).astype(float)
    curve = rank_volumes(np.maximum(chance, 1.0 - chance), wrong, np.ones_like(wrong)).curve()
    return [
        {"bar": float(bar), "coverage": float(coverage), "risk": float(risk)}
        for bar, coverage, risk in zip(*curve, strict=True)
    ]
