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

from fovnet.decision.fitting.statement_bars import RegionLabels, region_labels
from fovnet.decision.rule import EVEN_PROBABILITY
from fovnet.decision.statements import NO, YES, Statement
from fovnet.evaluate.calibration import expected_calibration_error, reliability_totals
from fovnet.evaluate.cases import Case
from fovnet.evaluate.measures import Measure, Resampling
from fovnet.evaluate.risk import rank_volumes
from fovnet.regions import Vocabulary

Bools = NDArray[np.bool_]
COUNTED_BY_RATE = {
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
        return reliability_totals(self.probability[self.is_known], self.is_shown[self.is_known])


def count_statements(case: Case, vocabulary: Vocabulary) -> StatementTally | None:
    """The statements on a volume; None where nothing was said region by region, or it was
    refused."""
    if not case.statements or case.edges_mm is None:
        return None
    labels = region_labels(case.truth, case.edges_mm, len(vocabulary.chain), case.min_extent_mm)
    return compare_with_labels(case.statements, labels)


def compare_with_labels(statements: Sequence[Statement], labels: RegionLabels) -> StatementTally:
    """These statements, (r,), beside what the labels say of their regions."""
    answers = np.array([statement.answer for statement in statements])
    return StatementTally(
        is_known=labels.is_known,
        is_shown=labels.is_shown & labels.is_known,
        yes=labels.is_known & (answers == YES),
        no=labels.is_known & (answers == NO),
        probability=np.array([statement.probability for statement in statements]),
    )


def statement_measures(
    tallies: Sequence[StatementTally | None], resampling: Resampling, regions: Sequence[str]
) -> list[Measure]:
    """The rates of COUNTED_BY_RATE, in all and of each of the regions (r,), and the calibration error
    of the probabilities; none unless every volume was answered region by region."""
    known_tallies = [tally for tally in tallies if tally is not None]
    if len(known_tallies) != len(tallies) or not tallies:
        return []
    measures = []
    for rate_name, attribute_names in COUNTED_BY_RATE.items():
        numerators, denominators = (
            np.stack([getattr(tally, attribute_name) for tally in known_tallies]).astype(np.int64)
            for attribute_name in attribute_names
        )
        measures.append(
            resampling.measure_rate(rate_name, numerators.sum(axis=1), denominators.sum(axis=1))
        )
        measures += resampling.measure_rates(rate_name, numerators, denominators, regions=regions)
    bins_by_volume = np.stack([tally.bins for tally in known_tallies])
    error_measure = resampling.measure_statistic(
        "statement_calibration_error",
        bins_by_volume,
        expected_calibration_error,
        int(bins_by_volume[..., 0].sum()),
    )
    return [*measures, error_measure]


def statement_curve(tallies: Sequence[StatementTally | None]) -> list[dict[str, float]]:
    """Risk and coverage of statements at each probability from which on they might be given, from
    the highest down: `bar`, `coverage`, `risk`; without what doubts or spans say."""
    known_tallies = [tally for tally in tallies if tally is not None]
    if not known_tallies:
        return []
    probabilities = np.concatenate([tally.probability[tally.is_known] for tally in known_tallies])
    is_shown = np.concatenate([tally.is_shown[tally.is_known] for tally in known_tallies])
    is_wrong = ((probabilities >= EVEN_PROBABILITY) != is_shown).astype(float)
    curve = rank_volumes(
        np.maximum(probabilities, 1.0 - probabilities), is_wrong, np.ones_like(is_wrong)
    ).curve()
    return [
        {"bar": float(bar), "coverage": float(coverage), "risk": float(risk)}
        for bar, coverage, risk in zip(*curve, strict=True)
    ]
