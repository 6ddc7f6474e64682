"""The chapter on the method: what was done, by the settings and rule of this run, and what it
cannot say."""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Sequence
from dataclasses import dataclass

from fovnet.config.models import Settings
from fovnet.decision.rule import Rule
from fovnet.evaluate.evaluation import Evaluation
from fovnet.evaluate.measures import FEWEST_SUBJECTS
from fovnet.regions import Vocabulary
from fovnet.report.content.cells import ReportTable, Row
from fovnet.report.content.checklists import Checklist, checklists
from fovnet.report.content.statements import LIMITS, REFERENCES
from fovnet.words import join_names

PHRASE_BY_INPUT = {
    "neighbours": "its neighbours",
    "millimetres": "the same at a fixed number of millimetres a pixel",
    "sections": "the volume’s sagittal and coronal section",
}
"""What a network is given besides the slice, by its name in `training.inputs`."""
PHRASE_BY_METHOD = {
    "grid": "the best of a grid over their shape and their training",
    **dict.fromkeys(
        ("random", "hyperband"),
        "the best of many whose shape and training were drawn at random",
    ),
    **dict.fromkeys(
        ("mads", "a-mads", "a-dogs"),
        "the best found by direct search over their shape and their training",
    ),
    **dict.fromkeys(
        ("ranking", "ensemble-ei"),
        "the best found by ensembles of small networks that learn the losses of shape and training",
    ),
    "tpe": (
        "the best found by tree-structured Parzen estimators over their shape and their training"
    ),
}
"""How the networks were found, by `search.method`; BAYESIAN_PHRASE for the others."""
BAYESIAN_PHRASE = (
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
    evaluation: Evaluation, settings: Settings, rule: Rule, report_sections: Collection[str]
) -> MethodChapter:
    """The chapter on the method, given the sections of this report."""
    return MethodChapter(
        summary=method_summary(settings, rule),
        intervals=_intervals_sentences(evaluation),
        published=published_results_table(evaluation.vocabulary),
        limits=LIMITS,
        references=REFERENCES,
        checklists=checklists(
            report_sections,
            predictors_phrase(settings, rule),
            is_trained_further=settings.training.begin is not None,
        ),
    )


def method_summary(settings: Settings, rule: Rule) -> str:
    """One paragraph: the slices, the networks and their inputs, and the steps from probabilities to
    spans."""
    smoothing_clause = ""
    if rule.sigma_mm:
        smoothing_clause = ", and smoothed along the body in millimetres"
    return (
        "Every volume is cut into axial slices along the scanner’s feet-head axis. Convolutional "
        f"networks, {_origin_phrase(settings)}, give each slice a probability for each "
        f"region{_inputs_clause(settings)}; their mean is calibrated on the validation "
        f"split{smoothing_clause}. {_decoding_sentence(rule)}, and abstains where the evidence is "
        "weak."
    )


def predictors_phrase(settings: Settings, rule: Rule) -> str:
    """What an answer is predicted from, in words."""
    phrase = "the pixels of axial slices"
    if "sections" in settings.training.inputs:
        phrase += " and of the volume’s sagittal and coronal section,"
    if any(rule.heights):
        return f"{phrase} and the usual heights of regions"
    return f"{phrase} and nothing else"


def _origin_phrase(settings: Settings) -> str:
    """How the networks were found, completing "the networks, ..."."""
    if settings.training.begin is not None:
        return "trained further from those of another ensemble"
    return PHRASE_BY_METHOD.get(settings.search.method, BAYESIAN_PHRASE)


def _inputs_clause(settings: Settings) -> str:
    """What a network sees besides the slice, as ", from it and ..."; "" if nothing."""
    input_phrases = [
        PHRASE_BY_INPUT[name] for name in settings.training.inputs if name in PHRASE_BY_INPUT
    ]
    if not input_phrases:
        return ""
    return f", from {join_names(['it', *input_phrases])}"


def _decoding_sentence(rule: Rule) -> str:
    """How the rule turns probabilities into spans, without a full stop."""
    if rule.method == "intersections":
        return (
            "The decision then puts a border only where the curves of two adjacent regions cross, "
            "as the thesis does"
        )
    heights_clause = ""
    if any(rule.heights):
        heights_clause = ", near their usual heights"
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


def published_results_table(vocabulary: Vocabulary) -> ReportTable:
    """Sensitivities and slice errors of PUBLISHED_PERCENT; no rows for a vocabulary of other
    regions, with which they cannot be compared."""
    rows: Sequence[Row] = ()
    if set(PUBLISHED_HEADER[1:-1]) == set(vocabulary.classes[:-1]):
        rows = [
            (networks, *(f"{percent}\N{NO-BREAK SPACE}%" for percent in percents))
            for networks, *percents in PUBLISHED_PERCENT
        ]
    return ReportTable(PUBLISHED_HEADER, rows, name="published")
