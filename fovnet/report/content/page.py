"""The page as data: everything the report shows, chapter by chapter, as text; nothing is drawn here.

`gather` makes it, `figures.charts` draws what is drawn of it, `pages.pour` fills the template with it.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from fovnet.evaluate.cases import Case, check_splits
from fovnet.evaluate.evaluation import Evaluation
from fovnet.evaluate.guards import SIMULATED
from fovnet.regions import Vocabulary
from fovnet.report.content.answer import Answer, answer_of
from fovnet.report.content.cases import Cases, cases_of
from fovnet.report.content.checklists import SECTIONS
from fovnet.report.content.cohort import Cohort, cohort_of
from fovnet.report.content.confidence import Confidence, confidence_of
from fovnet.report.content.method import Method, method_of
from fovnet.report.content.performance import Performance, performance_of
from fovnet.report.content.provenance import Provenance, provenance_of
from fovnet.report.content.reference import Reference, reference_of
from fovnet.report.content.run_record import RunRecord
from fovnet.report.content.search import Search, search_of


@dataclass(frozen=True)
class Page:
    """The whole report: its title, the regions, and its chapters in reading order."""

    title: str
    vocabulary: Vocabulary
    answer: Answer
    cohort: Cohort
    reference: Reference
    performance: Performance
    confidence: Confidence
    cases: Cases
    search: Search
    method: Method
    provenance: Provenance


def gather(evaluation: Evaluation, cases: Sequence[Case], run: RunRecord) -> Page:
    """The whole report as data.  Raises CollectionError "evaluate-split-leak" for a subject in two splits."""
    check_splits(run.manifest)
    settings, vocabulary = run.settings, evaluation.vocabulary
    performance = performance_of(evaluation, run.ablation, run.by_region)
    search, reference = (
        search_of(run, vocabulary),
        reference_of(vocabulary, run.labels, run.readers),
    )
    optional = {
        "ablation": performance.ablation,
        "explained": search.explained,
        "statements": performance.said,
        "readers": reference.readers.rows or None,
    }
    places = {*SECTIONS} - {name for name, section in optional.items() if section is None}
    return Page(
        title=settings.report.title,
        vocabulary=vocabulary,
        answer=answer_of(evaluation, {SIMULATED} if settings.phantom.subjects else set()),
        cohort=cohort_of(evaluation, cases, run.manifest),
        reference=reference,
        performance=performance,
        confidence=confidence_of(evaluation, run.abstention),
        cases=cases_of(evaluation, cases, settings.report),
        search=search,
        method=method_of(evaluation, settings, run.rule, places),
        provenance=provenance_of(settings, run.versions, run.hashes),
    )
