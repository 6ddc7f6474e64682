"""The section of the page on a search explained, and its sentences as paragraphs."""

from __future__ import annotations

from dataclasses import dataclass

from fovnet.report.content.cells import ReportTable
from fovnet.report.content.search_explanation.convergence import convergence_text
from fovnet.report.content.search_explanation.direct_search import direct_search_text
from fovnet.report.content.search_explanation.ending import ending_text
from fovnet.report.content.search_explanation.failures import (
    failures_table,
    failures_text,
    trials_without_score,
)
from fovnet.report.content.search_explanation.forecasts import forecasts_text
from fovnet.report.content.search_explanation.importance import (
    axes_table,
    foremost_pair,
    importance_text,
    pair_name,
    pairs_table,
    scores_of_pair,
)
from fovnet.report.content.search_explanation.lessons import lessons_table, lessons_text
from fovnet.report.content.search_explanation.spending import (
    rungs_table,
    spending_text,
    table_of_stopped,
)
from fovnet.search.explain.explanation import Explanation


@dataclass(frozen=True)
class ExplainedView:
    """A search explained: sentences, tables, and the numbers that are drawn."""

    ending: str
    convergence: str
    honesty: str
    mattering: str
    failing: str
    axes: ReportTable
    pairs: ReportTable
    together: ReportTable | None
    together_of: str
    failures: ReportTable
    every_failure: ReportTable
    explanation: Explanation
    spending: str
    rungs: ReportTable
    stopped: ReportTable
    descending: str
    teaching: str
    believed: ReportTable


def view_of_explanation(explanation: Explanation) -> ExplainedView:
    """The section of the page."""
    importance = explanation.matter
    largest_pair = foremost_pair(importance) if importance else None
    return ExplainedView(
        ending=ending_text(explanation),
        convergence=convergence_text(explanation),
        honesty=forecasts_text(explanation),
        mattering=importance_text(importance),
        failing=failures_text(explanation),
        axes=axes_table(importance),
        pairs=pairs_table(importance),
        together=scores_of_pair(importance, largest_pair) if importance and largest_pair else None,
        together_of=pair_name(largest_pair) if largest_pair else "",
        failures=failures_table(explanation),
        every_failure=trials_without_score(explanation),
        explanation=explanation,
        spending=spending_text(explanation.spending) if explanation.spending else "",
        rungs=rungs_table(explanation.spending),
        stopped=table_of_stopped(explanation.spending),
        descending=direct_search_text(explanation.descent) if explanation.descent else "",
        teaching=lessons_text(explanation.taught) if explanation.taught else "",
        believed=lessons_table(explanation.taught),
    )


def paragraphs(explanation: Explanation) -> tuple[str, ...]:
    """A paragraph each: how the search ended, what it was taught, how it converged, the steps of a
    direct search, what was spent on what if not the same on all, whether its forecasts held, what
    mattered, what failed."""
    view = view_of_explanation(explanation)
    section_texts = (
        view.ending,
        view.teaching,
        view.convergence,
        view.descending,
        view.spending,
        view.honesty,
        view.mattering,
        view.failing,
    )
    return tuple(filter(None, section_texts))
