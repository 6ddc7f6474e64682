"""The section on what is said of each region: how many statements are decided, how many of these are wrong,
and whether their probabilities are honest.

A statement is that a volume shows at least so many millimetres of a region, or that it does not; where labels
do not tell, it is not counted.
"""

from __future__ import annotations

from dataclasses import dataclass

from fovnet.decision.statements import NO, YES
from fovnet.evaluate.evaluation import Evaluation
from fovnet.evaluate.groups import Group
from fovnet.evaluate.measures import Measure
from fovnet.report.content.cells import Row, Table
from fovnet.report.content.confidence import PRESENCE, ReliabilityPoint, reliability_points
from fovnet.report.content.run_record import ByRegion, RegionBar
from fovnet.report.content.wording import ABSENT, percent, plain, shown
from fovnet.words import several

COLUMNS = {
    "statements_decided": "decided",
    "yes_wrong": "wrong among the yes",
    "no_wrong": "wrong among the no",
    "surely_found": "surely found",
}
"""Rates of statements (`fovnet.evaluate.statements.RATES`), as columns of the table."""


@dataclass(frozen=True)
class StatementRisk:
    """The share of statements that might be decided, the surest first, and of these the share wrong."""

    coverage: float
    wrong: float


@dataclass(frozen=True)
class SaidView:
    """What is said of each region, in a sentence and by region; what was promised of it; its probabilities
    against the truth, and risk against coverage, `decided` being the share that is decided."""

    sentence: str
    promises: str
    table: Table
    reliability: tuple[ReliabilityPoint, ...]
    calibration: str
    risk: tuple[StatementRisk, ...]
    decided: float | None


def said_view(evaluation: Evaluation, by_region: ByRegion | None) -> SaidView | None:
    """The section; None unless every volume was answered region by region."""
    whole = evaluation.everything
    decided = whole.find("statements_decided")
    if decided is None or evaluation.statement_bins is None:
        return None
    return SaidView(
        sentence=statements_sentence(whole),
        promises=_promises(by_region) if by_region else "",
        table=_table(evaluation),
        reliability=reliability_points({PRESENCE: evaluation.statement_bins}),
        calibration=_calibration(whole),
        risk=tuple(
            StatementRisk(one["coverage"], one["risk"]) for one in evaluation.statement_curve
        ),
        decided=decided.value,
    )


def statements_sentence(whole: Group) -> str:
    """How many statements are decided, how many of these wrong, and how many regions surely found; "" where
    nothing was said region by region."""
    decided, wrong, found = (
        whole.find(name) for name in ("statements_decided", "statements_wrong", "surely_found")
    )
    if decided is None or decided.value is None:
        return ""
    words = f"Of {several(decided.denominator, 'statement')} on whether a region is shown, "
    words += f"{_count(decided)} are decided ({percent(decided.value)})"
    if wrong is not None and wrong.value is not None:
        verb, share = "is" if wrong.numerator == 1 else "are", shown(wrong)
        words += f", and of these {_count(wrong)} {verb} wrong ({share.value}, {share.interval})"
    if found is not None and found.value is not None:
        words += (
            f"; {_count(found)} of {several(found.denominator, 'region')} shown are surely found"
        )
    return f"{words}."


def _count(measure: Measure) -> str:
    return "–" if measure.numerator is None else f"{measure.numerator:,.0f}"


def _promises(by_region: ByRegion) -> str:
    """Which bars were chosen for which error, and whether a test shows that they hold for new people."""
    stated = percent(by_region.stated_error)
    bars = ((YES, by_region.yes), (NO, by_region.no))
    return (
        f"The bars were chosen on the validation split so that at most {stated} of each kind are wrong, on "
        f"average over people. {' '.join(_promise(kind, bar) for kind, bar in bars)}"
    )


def _promise(kind: str, bar: RegionBar) -> str:
    known = f"{several(bar.subjects, 'subject')} and {several(bar.statements, 'statement')}"
    first = f"“{kind.capitalize()}” is the answer from a probability of {bar.min_confidence:.2f} ({known}): "
    if bar.promised:
        return f"{first}a test over subjects shows that this holds for new people like them."
    return f"{first}this could not be shown for new people: there are too few subjects, or too many errors."


def _table(evaluation: Evaluation) -> Table:
    """In all, then by region: volumes that show it, statements decided, wrong among yes and no, regions
    surely found."""
    whole, vocabulary = evaluation.everything, evaluation.vocabulary
    rows: list[Row] = []
    for region in ("", *vocabulary.classes[:-1]):
        found = whole.find("surely_found", "", region)
        volumes = f"{found.denominator:,}" if found else "–"
        cells = (
            shown(measure) if measure and measure.denominator else ABSENT
            for measure in (whole.find(name, "", region) for name in COLUMNS)
        )
        rows.append((region or "all regions", volumes, *cells))
    colours = ("transparent", *map(vocabulary.colour, vocabulary.classes[:-1]))
    return Table(
        ("region", "shown in volumes", *COLUMNS.values()), rows, colours, name="statements"
    )


def _calibration(whole: Group) -> str:
    error = plain(whole.find("statement_calibration_error"))
    return f"Expected calibration error {error.value} ({error.interval}; {error.count} statements)."
