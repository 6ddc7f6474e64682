"""The section on what is said of each region: how many statements are decided, how many of these
are wrong, and whether their probabilities are honest.

A statement is that a volume shows at least so many millimetres of a region, or that it does not;
where labels do not tell, it is not counted.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field

from fovnet.decision.statements import NO, YES
from fovnet.evaluate.evaluation import Evaluation
from fovnet.evaluate.groups import Group
from fovnet.evaluate.measures import Measure
from fovnet.evaluate.parts import PartEvaluation
from fovnet.records import json_key
from fovnet.regions import NINE
from fovnet.report.content.cells import ReportTable, Row
from fovnet.report.content.confidence import PRESENCE, ReliabilityPoint, reliability_points
from fovnet.report.content.run_record import ByRegion, RegionBar
from fovnet.report.content.wording import (
    ABSENT,
    DASH,
    measure_text,
    percent,
    unitless_text,
    whole_number_text,
)
from fovnet.words import is_or_are, several

TITLE_BY_RATE = {
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
    wrong_share: float = field(metadata=json_key("wrong"))


@dataclass(frozen=True)
class StatementsView:
    """What is said of each region.

    sentence       over all regions
    promises       what was promised of it
    table          by region
    reliability    its probabilities against the truth
    calibration    how far they differ, in a sentence
    risk_points    the share wrong against the share decided
    decided_share  the share that is decided
    """

    sentence: str
    promises: str
    table: ReportTable
    reliability: tuple[ReliabilityPoint, ...]
    calibration: str
    risk_points: tuple[StatementRisk, ...] = field(metadata=json_key("risk"))
    decided_share: float | None = field(metadata=json_key("decided"))


def statements_view(
    evaluation: Evaluation, by_region: ByRegion | None, by_part: ByRegion | None = None
) -> StatementsView | None:
    """The section on statements; None unless every volume was answered region by region.
    `by_region` is None where no bars were chosen for them, `by_part` where none were for those on
    parts."""
    all_volumes_group = evaluation.everything
    decided_rate = all_volumes_group.find("statements_decided")
    if decided_rate is None or evaluation.statement_bins is None:
        return None
    promises = ""
    if by_region:
        promises = _bars_sentences(by_region)
    if by_part and evaluation.parts is not None:
        promises += f" Of parts: {_bar_sentence(YES, by_part.yes)} {_bar_sentence(NO, by_part.no)}"
    return StatementsView(
        sentence=f"{statements_sentence(all_volumes_group)} {_parts_sentence(evaluation)}".strip(),
        promises=promises,
        table=_regions_table(evaluation),
        reliability=reliability_points({PRESENCE: evaluation.statement_bins}),
        calibration=_calibration_sentence(all_volumes_group),
        risk_points=tuple(
            StatementRisk(point["coverage"], point["risk"]) for point in evaluation.statement_curve
        ),
        decided_share=decided_rate.value,
    )


def statements_sentence(all_volumes_group: Group) -> str:
    """How many statements are decided, how many of these wrong, and how many regions surely found;
    "" where nothing was said region by region."""
    return _rates_sentence(all_volumes_group.find, "region")


def _parts_sentence(evaluation: Evaluation) -> str:
    """The same of the parts of regions; "" where they were not evaluated."""
    if evaluation.parts is None:
        return ""
    return _rates_sentence(evaluation.parts.find, "part")


def _rates_sentence(find: Callable[[str], Measure | None], noun: str) -> str:
    """The rates of statements, found by name, on what the noun says."""
    decided_rate = find("statements_decided")
    wrong_rate = find("statements_wrong")
    found_rate = find("surely_found")
    if decided_rate is None or decided_rate.value is None:
        return ""
    sentence = (
        f"Of {several(decided_rate.denominator, 'statement')} on whether a {noun} is shown, "
        f"{whole_number_text(decided_rate.numerator)} are decided ({percent(decided_rate.value)})"
    )
    if wrong_rate is not None and wrong_rate.value is not None:
        wrong_text = measure_text(wrong_rate)
        sentence += (
            f", and of these {whole_number_text(wrong_rate.numerator)} "
            f"{is_or_are(wrong_rate.numerator)} wrong ({wrong_text.value}, {wrong_text.interval})"
        )
    if found_rate is not None and found_rate.value is not None:
        regions_phrase = several(found_rate.denominator, noun)
        sentence += f"; {whole_number_text(found_rate.numerator)} of {regions_phrase} shown are surely found"
    return f"{sentence}."


def _bars_sentences(by_region: ByRegion) -> str:
    """Which bars were chosen for which error, and whether a test shows that they hold for new
    people."""
    stated_error = percent(by_region.stated_error)
    return (
        f"The bars were chosen on the validation split so that at most {stated_error} of each kind "
        f"are wrong, on average over people. {_bar_sentence(YES, by_region.yes)} "
        f"{_bar_sentence(NO, by_region.no)}"
    )


def _bar_sentence(answer: str, region_bar: RegionBar) -> str:
    """From which probability on an answer is given, and whether a test shows that its error
    holds."""
    subjects_phrase = several(region_bar.subjects, "subject")
    statements_phrase = several(region_bar.statements, "statement")
    rule_clause = (
        f"“{answer.capitalize()}” is the answer from a probability of "
        f"{region_bar.min_confidence:.2f} ({subjects_phrase} and {statements_phrase}): "
    )
    if region_bar.promised:
        return f"{rule_clause}a test over subjects shows that this holds for new people like them."
    return (
        f"{rule_clause}this could not be shown for new people: there are too few subjects, or too "
        "many errors."
    )


def _regions_table(evaluation: Evaluation) -> ReportTable:
    """One row over all regions, then one per region, last the same of parts: volumes that show it,
    statements decided, wrong among yes and no, regions surely found."""
    vocabulary = evaluation.vocabulary
    rows = [
        _region_row(region or "all regions", _rates_of_region(evaluation.everything, region))
        for region in ("", *vocabulary.classes[:-1])
    ]
    colours = ["transparent", *map(vocabulary.colour, vocabulary.classes[:-1])]
    if evaluation.parts is not None:
        rows.append(_region_row("all parts", _rates_of_part(evaluation.parts, "")))
        colours.append("transparent")
        for region, parts in evaluation.parts.parts_by_region.items():
            rows += [
                _region_row(f"{region}: {part}", _rates_of_part(evaluation.parts, part))
                for part in parts
            ]
            colours += map(NINE.colour, parts)
    return ReportTable(
        ("region", "shown in volumes", *TITLE_BY_RATE.values()),
        rows,
        colours=colours,
        name="statements",
    )


def _rates_of_region(all_volumes_group: Group, region: str) -> list[Measure | None]:
    """Those of TITLE_BY_RATE, of one region, "" for all together."""
    return [all_volumes_group.find(rate_name, "", region) for rate_name in TITLE_BY_RATE]


def _rates_of_part(parts: PartEvaluation, part: str) -> list[Measure | None]:
    """The same of one part."""
    return [parts.find(rate_name, part) for rate_name in TITLE_BY_RATE]


def _region_row(title: str, rates: Sequence[Measure | None]) -> Row:
    """The cells of one row, from the rates of TITLE_BY_RATE, of which the last is of those shown; a
    dash for a rate of no statements."""
    volumes_text = DASH
    if rates[-1]:
        volumes_text = whole_number_text(rates[-1].denominator)
    cells = []
    for rate in rates:
        if rate and rate.denominator:
            cells.append(measure_text(rate))
        else:
            cells.append(ABSENT)
    return (title, volumes_text, *cells)


def _calibration_sentence(all_volumes_group: Group) -> str:
    """How far the probabilities of statements differ from the truth."""
    error = unitless_text(all_volumes_group.find("statement_calibration_error"))
    return f"Expected calibration error {error.value} ({error.interval}; {error.count} statements)."
