"""The chapter on the method: what was done, by the settings and rule of this run, and what it
cannot say."""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection
from dataclasses import dataclass

from fovnet.config.models import Settings
from fovnet.decision.rule import Rule
from fovnet.evaluate.evaluation import Evaluation
from fovnet.evaluate.measures import FEWEST_SUBJECTS
from fovnet.regions import Vocabulary
from fovnet.report.content.cells import ReportTable
from fovnet.report.content.checklists import Checklist, checklists
from fovnet.report.content.statements import LIMITS, REFERENCES
from fovnet.words import join_names

INPUT_PHRASES = {
    "neighbours": "its neighbours",
    "millimetres": "the same at a fixed number of millimetres a pixel",
    "sections": "the volume’s sagittal and coronal section",
}
"""What a network is given besides the slice, by its name in `training.inputs`."""
METHOD_PHRASES = {
    "grid": "the best of a grid over their shape and their training",
    "random": "the best of many whose shape and training were drawn at random",
    "tpe": (
        "the best found by tree-structured Parzen estimators over their shape and their training"
    ),
}
"""How the networks were found, by `search.method`; the others are BAYESIAN."""
BAYESIAN = (
    "the best found by Gaussian-process Bayesian optimisation over their shape and their training"
)

PUBLISHED_HEADER = (
    "networks",
    "head",
    "chest",
    "abdomen",
    "pelvis",
    "legs",
    "spine",
    "slice error",
)
PUBLISHED_PERCENT = (
    ("hand-made baseline", 96, 57, 88, 81, 81, 94, 14),
    ("best single network found", 94, 93, 85, 86, 76, 96, 10),
)
"""Sensitivities and slice errors, in percent, in Bertrand et al., ISBI 2017, on their own data."""


@dataclass(frozen=True)
class MethodChapter:
    """What was done, how intervals were computed, results published for the same task, what the
    report cannot say, and the items of two reporting guidelines that it answers."""

    summary: str
    intervals: str
    published: ReportTable
    limits: tuple[str, ...]
    references: tuple[str, ...]
    checklists: tuple[Checklist, ...]


def method_of(
    evaluation: Evaluation, settings: Settings, rule: Rule, sections: Collection[str]
) -> MethodChapter:
    """The chapter, given the sections of this report."""
    is_trained_further = settings.training.begin is not None
    return MethodChapter(
        summary=method_words(settings, rule),
        intervals=_intervals_sentences(evaluation),
        published=table_of_published_results(evaluation.vocabulary),
        limits=LIMITS,
        references=REFERENCES,
        checklists=checklists(sections, predictors(settings, rule), updated=is_trained_further),
    )


def method_words(settings: Settings, rule: Rule) -> str:
    """One paragraph: the slices, the networks and their inputs, and the steps from probabilities to
    spans."""
    smoothing_clause = ", and smoothed along the body in millimetres" if rule.sigma_mm else ""
    return (
        "Every volume is cut into axial slices along the scanner’s feet-head axis. Convolutional "
        f"networks, {_origin_phrase(settings)}, give each slice a probability for each "
        f"region{_inputs_clause(settings)}; their mean is calibrated on the validation "
        f"split{smoothing_clause}. {_decoding_sentence(rule)}, and abstains where the evidence is weak."
    )


def predictors(settings: Settings, rule: Rule) -> str:
    """The predictors of an answer, in words."""
    shows_sections = "sections" in settings.training.inputs
    sections_clause = " and of the volume’s sagittal and coronal section," if shows_sections else ""
    heights_clause = (
        " and the usual heights of regions" if any(rule.heights) else " and nothing else"
    )
    return f"the pixels of axial slices{sections_clause}{heights_clause}"


def _origin_phrase(settings: Settings) -> str:
    if settings.training.begin is not None:
        return "trained further from those of another ensemble"
    return METHOD_PHRASES.get(settings.search.method, BAYESIAN)


def _inputs_clause(settings: Settings) -> str:
    input_phrases = [
        INPUT_PHRASES[name] for name in settings.training.inputs if name in INPUT_PHRASES
    ]
    return f", from {join_names(['it', *input_phrases])}" if input_phrases else ""


def _decoding_sentence(rule: Rule) -> str:
    """How the rule turns probabilities into spans, without a full stop."""
    if rule.method == "intersections":
        return (
            "The decision then puts a border only where the curves of two adjacent regions cross, "
            "as the thesis does"
        )
    heights_clause = ", near their usual heights" if any(rule.heights) else ""
    return (
        "The decision then takes the most probable sequence in which regions are contiguous, in "
        f"anatomical order, each at most once{heights_clause}"
    )


def _intervals_sentences(evaluation: Evaluation) -> str:
    """How intervals were computed, and how many there are of each kind."""
    group_measures = [measure for group in evaluation.groups for measure in group.measures]
    count_by_interval_kind = Counter(
        measure.interval for measure in (*evaluation.handling, *group_measures)
    )
    kinds_text = ", ".join(
        f"{interval_count:,} {interval_kind}"
        for interval_kind, interval_count in count_by_interval_kind.most_common()
    )
    return (
        f"Intervals are 95 %. They resample subjects ({evaluation.bootstrap:,} times, seed "
        f"{evaluation.seed}), so that slices and volumes of one person stay together. If each "
        "subject gives at most one observation, and at 0 % and 100 %, they are Wilson intervals "
        f"over subjects. A subgroup of fewer than {FEWEST_SUBJECTS} subjects is marked “too few”, "
        f"and one subject gives no interval. In this report: {kinds_text}."
    )


def table_of_published_results(vocabulary: Vocabulary) -> ReportTable:
    """The figures above; no rows for a vocabulary of other regions, with which they cannot be
    compared."""
    has_same_regions = set(PUBLISHED_HEADER[1:-1]) == set(vocabulary.classes[:-1])
    rows = [
        (published_name, *(f"{percent}\N{NO-BREAK SPACE}%" for percent in percents))
        for published_name, *percents in PUBLISHED_PERCENT
    ]
    return ReportTable(PUBLISHED_HEADER, rows if has_same_regions else (), name="published")
