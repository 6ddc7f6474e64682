"""The section of the page on a search explained, and its sentences as paragraphs."""

from __future__ import annotations

from dataclasses import dataclass, field

from fovnet.records import json_key
from fovnet.report.content.cells import ReportTable
from fovnet.report.content.search_explanation.convergence import convergence_text
from fovnet.report.content.search_explanation.direct_search import direct_search_text
from fovnet.report.content.search_explanation.ending import ending_text
from fovnet.report.content.search_explanation.failures import (
    failures_table,
    failures_text,
    trials_without_score_table,
)
from fovnet.report.content.search_explanation.forecasts import forecasts_text
from fovnet.report.content.search_explanation.importance import (
    axes_table,
    families_table,
    find_largest_pair,
    importance_text,
    pair_name,
    pair_scores_table,
    pairs_table,
)
from fovnet.report.content.search_explanation.lessons import lessons_table, lessons_text
from fovnet.report.content.search_explanation.spending import (
    rungs_table,
    spending_text,
    stopped_table,
)
from fovnet.search.explain.explanation import Explanation


@dataclass(frozen=True)
class ExplainedView:
    """A search explained: sentences, tables, and the numbers that are drawn.  A text is "" where
    the search has nothing of the kind.

    ending                how it ended
    convergence           how it converged
    forecasts             whether its forecasts held
    importance            what mattered
    failures              what failed
    axes                  shares of the axes in the variance of the model
    families              relevance of the variables of a tree
    pairs                 shares of pairs of axes
    pair_scores           scores of every two levels of the pair that matters most
    largest_pair          the name of this pair
    failures_by_kind      a row for each kind of failure
    trials_without_score  a row for each of these
    spending              what the epochs went to, where trainings are compared before their end
    rungs                 the rungs on which they are
    stopped               the trainings that were stopped
    descent               the steps of a direct search
    lessons               what earlier searches taught
    taught_order          the configurations that these put first
    """

    ending: str
    convergence: str
    forecasts: str = field(metadata=json_key("honesty"))
    importance: str = field(metadata=json_key("mattering"))
    failures: str = field(metadata=json_key("failing"))
    axes: ReportTable
    families: ReportTable = field(metadata=json_key("variables"))
    pairs: ReportTable
    pair_scores: ReportTable | None = field(metadata=json_key("together"))
    largest_pair: str = field(metadata=json_key("together_of"))
    failures_by_kind: ReportTable = field(metadata=json_key("failures"))
    trials_without_score: ReportTable = field(metadata=json_key("every_failure"))
    explanation: Explanation
    spending: str
    rungs: ReportTable
    stopped: ReportTable
    descent: str = field(metadata=json_key("descending"))
    lessons: str = field(metadata=json_key("teaching"))
    taught_order: ReportTable = field(metadata=json_key("believed"))


def view_of_explanation(explanation: Explanation) -> ExplainedView:
    """The section of the page on why a search went so."""
    importance = explanation.importance
    pair_scores = None
    name_of_pair = ""
    if importance:
        largest_pair = find_largest_pair(importance)
        if largest_pair:
            pair_scores = pair_scores_table(importance, largest_pair)
            name_of_pair = pair_name(largest_pair)
    return ExplainedView(
        ending=ending_text(explanation),
        convergence=convergence_text(explanation),
        forecasts=forecasts_text(explanation),
        importance=importance_text(importance or explanation.tree_importance),
        failures=failures_text(explanation),
        axes=axes_table(importance),
        families=families_table(explanation.tree_importance),
        pairs=pairs_table(importance),
        pair_scores=pair_scores,
        largest_pair=name_of_pair,
        failures_by_kind=failures_table(explanation),
        trials_without_score=trials_without_score_table(explanation),
        explanation=explanation,
        spending=spending_text(explanation.spending),
        rungs=rungs_table(explanation.spending),
        stopped=stopped_table(explanation.spending),
        descent=direct_search_text(explanation.descent or explanation.tree_descent),
        lessons=lessons_text(explanation.prior_review),
        taught_order=lessons_table(explanation.prior_review),
    )


def paragraphs(explanation: Explanation) -> tuple[str, ...]:
    """A paragraph each: how the search ended, what it was taught, how it converged, the steps of a
    direct search, what was spent on what if not the same on all, whether its forecasts held, what
    mattered, what failed."""
    view = view_of_explanation(explanation)
    section_texts = (
        view.ending,
        view.lessons,
        view.convergence,
        view.descent,
        view.spending,
        view.forecasts,
        view.importance,
        view.failures,
    )
    return tuple(filter(None, section_texts))
