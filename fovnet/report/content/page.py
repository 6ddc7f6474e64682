"""The page as data: everything the report shows, chapter by chapter, as text; nothing is drawn
here.

`gather_page` makes it, `figures.charts` draws what is drawn of it, `pages.pour` fills the template
with it.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from fovnet.evaluate.cases import Case, refuse_shared_subjects
from fovnet.evaluate.evaluation import Evaluation
from fovnet.evaluate.guards import SIMULATED_COLLECTION
from fovnet.regions import Vocabulary
from fovnet.report.content.answer import AnswerChapter, answer_of
from fovnet.report.content.cases import CasesChapter, cases_of
from fovnet.report.content.checklists import HEADING_BY_SECTION
from fovnet.report.content.cohort import CohortChapter, cohort_of
from fovnet.report.content.confidence import ConfidenceChapter, confidence_of
from fovnet.report.content.method import MethodChapter, method_of
from fovnet.report.content.performance import PerformanceChapter, performance_of
from fovnet.report.content.provenance import ProvenanceChapter, provenance_of
from fovnet.report.content.reference import ReferenceChapter, reference_of
from fovnet.report.content.run_record import RunRecord
from fovnet.report.content.search import SearchChapter, search_of


@dataclass(frozen=True)
class Page:
    """The whole report: its title, the regions, and its chapters in reading order."""

    title: str
    vocabulary: Vocabulary
    answer: AnswerChapter
    cohort: CohortChapter
    reference: ReferenceChapter
    performance: PerformanceChapter
    confidence: ConfidenceChapter
    cases: CasesChapter
    search: SearchChapter
    method: MethodChapter
    provenance: ProvenanceChapter


def gather_page(evaluation: Evaluation, cases: Sequence[Case], run: RunRecord) -> Page:
    """The whole report as data.  Raises CollectionError "evaluate-split-leak" for a subject in two
    splits."""
    refuse_shared_subjects(run.manifest)
    settings = run.settings
    vocabulary = evaluation.vocabulary
    performance = performance_of(evaluation, run.ablation, run.by_region, run.by_part)
    search = search_of(run, vocabulary)
    parts_by_region = evaluation.parts.parts_by_region if evaluation.parts else {}
    reference = reference_of(vocabulary, run.labels, run.readers, parts_by_region)
    part_by_optional_section = {
        "ablation": performance.ablation,
        "explained": search.explained,
        "statements": performance.statements,
        "readers": reference.readers.rows or None,
    }
    absent_sections = {
        section for section, part in part_by_optional_section.items() if part is None
    }
    simulated_collections = set()
    if settings.phantom.subjects:
        simulated_collections.add(SIMULATED_COLLECTION)
    return Page(
        title=settings.report.title,
        vocabulary=vocabulary,
        answer=answer_of(evaluation, simulated_collections),
        cohort=cohort_of(evaluation, cases, run.manifest),
        reference=reference,
        performance=performance,
        confidence=confidence_of(evaluation, run.abstention),
        cases=cases_of(evaluation, cases, settings.report),
        search=search,
        method=method_of(
            evaluation, settings, run.rule, HEADING_BY_SECTION.keys() - absent_sections
        ),
        provenance=provenance_of(settings, run.versions, run.hashes),
    )
