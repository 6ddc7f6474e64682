"""The chapter on the method: what was done, by the settings and rule of this run, and what it cannot say."""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection
from dataclasses import dataclass

from fovnet.config.models import Settings
from fovnet.decision.rule import Rule
from fovnet.evaluate.evaluation import Evaluation
from fovnet.evaluate.measures import FEWEST_SUBJECTS
from fovnet.regions import Vocabulary
from fovnet.report.content.cells import Table
from fovnet.report.content.checklists import Checklist, checklists
from fovnet.report.content.statements import LIMITS, REFERENCES
from fovnet.words import join_names

SEEN = {
    "neighbours": "its neighbours",
    "millimetres": "the same at a fixed number of millimetres a pixel",
    "sections": "the volume’s sagittal and coronal section",
}
"""What a network is given besides the slice, by its name in `training.inputs`."""
SEARCHED = {
    "grid": "the best of a grid over their shape and their training",
    "random": "the best of many whose shape and training were drawn at random",
    "tpe": "the best found by tree-structured Parzen estimators over their shape and their training",
}
"""How the networks were found, by `search.method`; the others are BAYESIAN."""
BAYESIAN = (
    "the best found by Gaussian-process Bayesian optimisation over their shape and their training"
)

PUBLISHED = ("networks", "head", "chest", "abdomen", "pelvis", "legs", "spine", "slice error")
PUBLISHED_PERCENT = (
    ("hand-made baseline", 96, 57, 88, 81, 81, 94, 14),
    ("best single network found", 94, 93, 85, 86, 76, 96, 10),
)
"""Sensitivities and slice errors, in percent, in Bertrand et al., ISBI 2017, on their own data."""


@dataclass(frozen=True)
class Method:
    """What was done, how intervals were computed, results published for the same task, what the report cannot
    say, and the items of two reporting guidelines that it answers."""

    summary: str
    intervals: str
    published: Table
    limits: tuple[str, ...]
    references: tuple[str, ...]
    checklists: tuple[Checklist, ...]


def method_of(
    evaluation: Evaluation, settings: Settings, rule: Rule, places: Collection[str]
) -> Method:
    """The chapter; `places` are the sections of this report."""
    updated = settings.training.begin is not None
    return Method(
        summary=method_words(settings, rule),
        intervals=_intervals(evaluation),
        published=published_table(evaluation.vocabulary),
        limits=LIMITS,
        references=REFERENCES,
        checklists=checklists(places, predictors(settings, rule), updated=updated),
    )


def method_words(settings: Settings, rule: Rule) -> str:
    """One paragraph: the slices, the networks and their inputs, and the steps from probabilities to spans."""
    smoothed = ", and smoothed along the body in millimetres" if rule.sigma_mm else ""
    return (
        "Every volume is cut into axial slices along the scanner’s feet-head axis. Convolutional networks, "
        f"{_origin(settings)}, give each slice a probability for each region{_beside(settings)}; their mean "
        f"is calibrated on the validation split{smoothed}. {_decoding(rule)}, and abstains where the "
        "evidence is weak."
    )


def predictors(settings: Settings, rule: Rule) -> str:
    """The predictors of an answer, in words."""
    shown = "sections" in settings.training.inputs
    sections = " and of the volume’s sagittal and coronal section," if shown else ""
    heights = " and the usual heights of regions" if any(rule.heights) else " and nothing else"
    return f"the pixels of axial slices{sections}{heights}"


def _origin(settings: Settings) -> str:
    if settings.training.begin is not None:
        return "trained further from those of another ensemble"
    return SEARCHED.get(settings.search.method, BAYESIAN)


def _beside(settings: Settings) -> str:
    shown = [SEEN[name] for name in settings.training.inputs if name in SEEN]
    return f", from {join_names(['it', *shown])}" if shown else ""


def _decoding(rule: Rule) -> str:
    if rule.method == "intersections":
        return (
            "The decision then puts a border only where the curves of two adjacent regions cross, as the "
            "thesis does"
        )
    usual = ", near their usual heights" if any(rule.heights) else ""
    return (
        "The decision then takes the most probable sequence in which regions are contiguous, in anatomical "
        f"order, each at most once{usual}"
    )


def _intervals(evaluation: Evaluation) -> str:
    measures = [one for group in evaluation.groups for one in group.measures]
    kinds = Counter(one.interval for one in (*evaluation.handling, *measures))
    used = ", ".join(f"{count:,} {kind}" for kind, count in kinds.most_common())
    return (
        f"Intervals are 95 %. They resample subjects ({evaluation.bootstrap:,} times, seed "
        f"{evaluation.seed}), so that slices and volumes of one person stay together. If each subject gives "
        "at most one observation, and at 0 % and 100 %, they are Wilson intervals over subjects. A "
        f"subgroup of fewer than {FEWEST_SUBJECTS} subjects is marked “too few”, and one subject "
        f"gives no interval. In this report: {used}."
    )


def published_table(vocabulary: Vocabulary) -> Table:
    """The figures above; no rows for a vocabulary of other regions, with which they cannot be compared."""
    same = set(PUBLISHED[1:-1]) == set(vocabulary.classes[:-1])
    rows = [
        (name, *(f"{value}\N{NO-BREAK SPACE}%" for value in values))
        for name, *values in PUBLISHED_PERCENT
    ]
    return Table(PUBLISHED, rows if same else (), name="published")
