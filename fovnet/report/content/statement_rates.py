"""The section on what is said of each region: how many statements are decided, how many of these
are wrong, and whether their probabilities are honest.

A statement is that a volume shows at least so many millimetres of a region, or that it does not;
where labels do not tell, it is not counted.
"""

from __future__ import annotations

from dataclasses import dataclass

from fovnet.decision.statements import NO, YES
from fovnet.evaluate.evaluation import Evaluation
from fovnet.evaluate.groups import Group
from fovnet.evaluate.measures import Measure
from fovnet.report.content.cells import ReportTable, Row
from fovnet.report.content.confidence import PRESENCE, ReliabilityPoint, reliability_points
from fovnet.report.content.run_record import ByRegion, RegionBar
from fovnet.report.content.wording import ABSENT, measure_text, percent, unitless_text
from fovnet.words import several

COLUMN_TITLE_BY_RATE = {
    "statements_decided": "decided",
    "yes_wrong": "wrong among the yes",
    "no_wrong": "wrong among the no",
    "surely_found": "surely found",
}
"""Rates of statements (`fovnet.evaluate.statements.COUNTED_BY_RATE`), as columns of the table."""


@dataclass(frozen=True)
class StatementRisk:
    """The share of statements that might be decided, the surest first, and of these the share
    wrong."""

    coverage: float
    wrong: float


@dataclass(frozen=True)
class StatementsView:
    """What is said of each region.

    sentence     over all regions
    promises     what was promised of it
    table        by region
    reliability  its probabilities against the truth
    risk         the share wrong against the share decided
    decided      the share that is decided
    """

    sentence: str
    promises: str
    table: ReportTable
    reliability: tuple[ReliabilityPoint, ...]
    calibration: str
    risk: tuple[StatementRisk, ...]
    decided: float | None


def statements_view(evaluation: Evaluation, by_region: ByRegion | None) -> StatementsView | None:
    """The section; None unless every volume was answered region by region."""
    all_volumes_group = evaluation.everything
    decided_share = all_volumes_group.find("statements_decided")
    if decided_share is None or evaluation.statement_bins is None:
        return None
    return StatementsView(
        sentence=statements_sentence(all_volumes_group),
        promises=_bars_sentences(by_region) if by_region else "",
        table=_regions_table(evaluation),
        reliability=reliability_points({PRESENCE: evaluation.statement_bins}),
        calibration=_calibration_sentence(all_volumes_group),
        risk=tuple(
            StatementRisk(point["coverage"], point["risk"]) for point in evaluation.statement_curve
        ),
        decided=decided_share.value,
    )


def statements_sentence(all_volumes_group: Group) -> str:
    """How many statements are decided, how many of these wrong, and how many regions surely found;
    "" where nothing was said region by region."""
    decided_share, wrong_share, surely_found = (
        all_volumes_group.find(rate_name)
        for rate_name in ("statements_decided", "statements_wrong", "surely_found")
    )
    if decided_share is None or decided_share.value is None:
        return ""
    sentence = (
        f"Of {several(decided_share.denominator, 'statement')} on whether a region is shown, "
    )
    sentence += f"{_numerator_text(decided_share)} are decided ({percent(decided_share.value)})"
    if wrong_share is not None and wrong_share.value is not None:
        verb = "is" if wrong_share.numerator == 1 else "are"
        wrong_text = measure_text(wrong_share)
        sentence += (
            f", and of these {_numerator_text(wrong_share)} {verb} wrong ({wrong_text.value}, "
            f"{wrong_text.interval})"
        )
    if surely_found is not None and surely_found.value is not None:
        sentence += (
            f"; {_numerator_text(surely_found)} of {several(surely_found.denominator, 'region')} shown "
            "are surely found"
        )
    return f"{sentence}."


def _numerator_text(measure: Measure) -> str:
    return "–" if measure.numerator is None else f"{measure.numerator:,.0f}"


def _bars_sentences(by_region: ByRegion) -> str:
    """Which bars were chosen for which error, and whether a test shows that they hold for new
    people."""
    stated_error = percent(by_region.stated_error)
    answer_bars = ((YES, by_region.yes), (NO, by_region.no))
    return (
        f"The bars were chosen on the validation split so that at most {stated_error} of each kind "
        f"are wrong, on average over people. {' '.join(_bar_sentence(answer, bar) for answer, bar in answer_bars)}"
    )


def _bar_sentence(answer: str, region_bar: RegionBar) -> str:
    """From which probability on an answer is given, and whether a test shows that its error
    holds."""
    evidence_text = f"{several(region_bar.subjects, 'subject')} and {several(region_bar.statements, 'statement')}"
    rule_clause = (
        f"“{answer.capitalize()}” is the answer from a probability of {region_bar.min_confidence:.2f} "
        f"({evidence_text}): "
    )
    if region_bar.promised:
        return f"{rule_clause}a test over subjects shows that this holds for new people like them."
    return (
        f"{rule_clause}this could not be shown for new people: there are too few subjects, or too "
        "many errors."
    )


def _regions_table(evaluation: Evaluation) -> ReportTable:
    """One row over all regions, then one per region: volumes that show it, statements decided,
    wrong among yes and no, regions surely found."""
    all_volumes_group = evaluation.everything
    vocabulary = evaluation.vocabulary
    rows: list[Row] = []
    for region in ("", *vocabulary.classes[:-1]):
        surely_found = all_volumes_group.find("surely_found", "", region)
        volumes_text = f"{surely_found.denominator:,}" if surely_found else "–"
        cells = (
            measure_text(measure) if measure and measure.denominator else ABSENT
            for measure in (
                all_volumes_group.find(rate_name, "", region) for rate_name in COLUMN_TITLE_BY_RATE
            )
        )
        rows.append((region or "all regions", volumes_text, *cells))
    colours = ("transparent", *map(vocabulary.colour, vocabulary.classes[:-1]))
    return ReportTable(
        ("region", "shown in volumes", *COLUMN_TITLE_BY_RATE.values()),
        rows,
        colours,
        name="statements",
    )


def _calibration_sentence(all_volumes_group: Group) -> str:
    error = unitless_text(all_volumes_group.find("statement_calibration_error"))
    return f"Expected calibration error {error.value} ({error.interval}; {error.count} statements)."
