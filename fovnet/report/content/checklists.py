"""Two reporting guidelines, item by item: where this report answers them, and what it cannot answer.

Items are identified by number and a short paraphrase; what each asks is defined by the guidelines:
CLAIM, 44 items: A. S. Tejani et al., Checklist for Artificial Intelligence in Medical Imaging (CLAIM): 2024
update, *Radiology: Artificial Intelligence* 6 (2024) e240300, doi:10.1148/ryai.240300;
TRIPOD+AI, 27 items in 52 parts: G. S. Collins et al., TRIPOD+AI statement, *BMJ* 385 (2024) e078378, table 2,
doi:10.1136/bmj-2023-078378.  Its item 2 refers to a separate list for abstracts, which is not included here.
"""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import dataclass
from typing import NamedTuple

from fovnet.report.content.cells import Table

SECTIONS = {
    "answer": "The answer",
    "use": "Intended use",
    "inputs": "What went in",
    "people": "Who is in which split",
    "reference": "Reference standard",
    "readers": "How far readers agree",
    "slices": "Slice by slice",
    "borders": "Where one region ends",
    "volumes": "Volume by volume",
    "statements": "Answers by region",
    "subgroups": "Subgroups",
    "calibration": "Is the confidence honest?",
    "risk": "Fewer answers, fewer errors",
    "ablation": "What each step contributes",
    "failures": "Failures",
    "search": "The search",
    "explained": "The search, explained",
    "running": "Time and memory",
    "method": "Method in short",
    "limits": "What this report cannot say",
    "provenance": "Provenance",
}
"""Headings of the page's sections, by `place`."""


@dataclass(frozen=True)
class Checklist:
    """A reporting guideline: its items by number, and the sections that answer them."""

    name: str
    reference: str
    sentence: str
    table: Table


class Item(NamedTuple):
    """An item of a guideline; `place` is the section that answers it, "" if none does, and `remark` a
    restriction or what is missing."""

    number: str
    asks: str
    place: str = ""
    remark: str = ""


def _items(*rows: tuple[str, ...]) -> tuple[Item, ...]:
    return tuple(Item(*row) for row in rows)


AUTHORS = "for the authors of a study"
NOT_UPDATED = "none was updated: the networks were trained from nothing"

CLAIM = _items(
    (
        "1",
        "named as a study of AI, and of which technology",
        "answer",
        "the first paragraph names networks; the title is the user’s",
    ),
    (
        "2",
        "summary of design, methods, results, conclusions",
        "answer",
        "results; the rest of an abstract is left to the authors",
    ),
    (
        "3",
        "background, intended use and role",
        "use",
        "use and role only; the background is left to the authors",
    ),
    ("4", "aims, objectives and hypotheses", "", AUTHORS),
    ("5", "prospective or retrospective", "", AUTHORS),
    ("6", "goal of the study", "use"),
    ("7", "sources of the data", "inputs", "collections by name; their origin is not recorded"),
    (
        "8",
        "inclusion and exclusion",
        "inputs",
        "technical exclusions; how people were chosen is not recorded",
    ),
    ("9", "preprocessing", "method"),
    ("10", "selection of subsets", "inputs"),
    (
        "11",
        "de-identification",
        "inputs",
        "ids; what was done to the images before is not recorded",
    ),
    (
        "12",
        "how missing data were handled",
        "people",
        "missing attributes are counted; no value is imputed",
    ),
    ("13", "image acquisition protocol", "people", "as far as the collections record it"),
    ("14", "how the reference standard is obtained", "reference"),
    ("15", "why this reference standard", "reference"),
    (
        "16",
        "source of the reference annotations",
        "",
        "readers and their training are not recorded in a collection",
    ),
    ("17", "annotation of the test set", "", "the same: not recorded"),
    ("18", "variability within and between annotators", "readers", "needs a collection read twice"),
    ("19", "how data were assigned to partitions", "people"),
    ("20", "level at which partitions are disjoint", "people"),
    ("21", "intended sample size of the test data", "", AUTHORS),
    ("22", "description of the model", "method"),
    ("23", "software libraries, frameworks, packages", "provenance"),
    (
        "24",
        "initialisation of the parameters",
        "provenance",
        "seeds; weights begin at random, or with the ensemble named by `begin`",
    ),
    ("25", "details of training", "provenance", "the complete configuration"),
    ("26", "selection of the final model", "search"),
    ("27", "ensembling", "search"),
    ("28", "metrics of performance", "slices"),
    (
        "29",
        "significance and statistical uncertainty",
        "method",
        "intervals; no test of significance is made",
    ),
    (
        "30",
        "robustness or sensitivity",
        "subgroups",
        "and, if the ablation was run, what each step contributes",
    ),
    (
        "31",
        "explainability, interpretability",
        "failures",
        "each answer beside picture and probabilities; no attribution to pixels",
    ),
    ("32", "evaluation on internal data", "slices"),
    (
        "33",
        "testing on external data",
        "subgroups",
        "only where a collection from elsewhere was named in the configuration",
    ),
    ("34", "registration as a clinical trial", "", AUTHORS),
    ("35", "numbers of patients or examinations included and excluded", "inputs"),
    (
        "36",
        "demographic and clinical characteristics by partition",
        "people",
        "as far as the collections record them",
    ),
    ("37", "performance with uncertainty", "slices"),
    (
        "38",
        "diagnostic performance with its precision",
        "slices",
        "of naming regions; nothing is diagnosed",
    ),
    ("39", "analysis of incorrect results", "failures"),
    ("40", "limitations", "limits"),
    ("41", "implications for practice", "use"),
    (
        "42",
        "full protocol or further technical detail",
        "provenance",
        "the complete configuration; a study protocol is left to the authors",
    ),
    (
        "43",
        "availability of software, model, data",
        "provenance",
        "versions and hashes; where to get them is left to the authors",
    ),
    ("44", "funding and other support, role of funders", "", AUTHORS),
)

TRIPOD = _items(
    (
        "1",
        "title: development or evaluation, population, outcome",
        "answer",
        "in the first paragraph; the title is the user’s",
    ),
    (
        "2",
        "abstract, by its own list",
        "answer",
        "results; the rest of an abstract is left to the authors",
    ),
    ("3a", "context, rationale, earlier models", "", AUTHORS),
    ("3b", "target population, purpose, users", "use"),
    ("3c", "known inequalities in health", "", AUTHORS),
    ("4", "objectives: development, validation or both", "", AUTHORS),
    (
        "5a",
        "sources of the data, why these, how representative",
        "inputs",
        "collections by name; the rest is not recorded",
    ),
    ("5b", "dates of the data", "", "no date is read from a volume or written"),
    ("6a", "setting and centres", "people", "sites, as far as recorded"),
    ("6b", "eligibility of participants", "inputs", "technical exclusions only"),
    ("6c", "treatments received", "", "not recorded, and without bearing on which region is shown"),
    (
        "7",
        "preparation and quality checks of data",
        "method",
        "the same for everybody; refused volumes are under “What went in”",
    ),
    (
        "8a",
        "definition of the outcome, how and when assessed",
        "reference",
        "the regions shown; there is no time horizon",
    ),
    ("8b", "who assessed the outcome", "", "readers are not recorded in a collection"),
    ("8c", "blinding of that assessment", "", "not recorded"),
    ("9a", "choice of predictors", "method"),
    ("9b", "definition and measurement of predictors", "method"),
    ("9c", "who assessed predictors", "method", "nobody: pixels"),
    (
        "10",
        "sample size",
        "",
        "counts are given under “What went in”; how they were chosen is left to the authors",
    ),
    ("11", "missing data", "people", "counted, not imputed"),
    ("12a", "how the data were used and partitioned", "people"),
    ("12b", "handling of predictors", "method"),
    ("12c", "type of model, every step of building it, internal validation", "search"),
    (
        "12d",
        "heterogeneity across clusters",
        "subgroups",
        "of performance, by collection and by recorded attributes",
    ),
    ("12e", "measures and plots of performance", "slices"),
    ("12f", "updating of the model", "", NOT_UPDATED),
    ("12g", "how predictions are calculated", "method"),
    (
        "13",
        "handling of class imbalance",
        "reference",
        "counts by class; training weights classes by inverse frequency",
    ),
    ("14", "fairness", "subgroups", "by the recorded attributes; no step to improve it is taken"),
    (
        "15",
        "output of the model, and its thresholds",
        "method",
        "the thresholds are under the settings of the decision",
    ),
    ("16", "differences between training and evaluation data", "people"),
    ("17", "ethical approval and consent", "", AUTHORS),
    ("18a", "funding", "", AUTHORS),
    ("18b", "conflicts of interest", "", AUTHORS),
    (
        "18c",
        "protocol",
        "provenance",
        "the complete configuration; a study protocol is left to the authors",
    ),
    ("18d", "registration", "", AUTHORS),
    ("18e", "sharing of data", "", AUTHORS),
    ("18f", "sharing of code", "provenance", "fovnet’s version; configuration and hashes"),
    ("19", "involvement of patients and the public", "", AUTHORS),
    ("20a", "flow of participants", "inputs"),
    ("20b", "their characteristics", "people"),
    (
        "20c",
        "distribution of predictors and outcome beside that of the development data",
        "people",
        "of recorded attributes",
    ),
    ("21", "participants and outcomes in each analysis", "reference"),
    (
        "22",
        "the full model, and how it may be used",
        "provenance",
        "hashes of the weights; the ensemble folder is the model",
    ),
    ("23a", "performance with intervals, also of subgroups", "slices"),
    ("23b", "heterogeneity of performance", "subgroups"),
    ("24", "results of updating", "", NOT_UPDATED),
    ("25", "interpretation, fairness included", "", AUTHORS),
    ("26", "limitations", "limits"),
    (
        "27a",
        "poor or missing input at use",
        "inputs",
        "what is refused and why; doubts under “Volume by volume”",
    ),
    ("27b", "what users must do, and the expertise they need", "use"),
    ("27c", "next steps of research", "", AUTHORS),
)


def checklists(
    places: Collection[str], predictors: str, *, updated: bool = False
) -> tuple[Checklist, ...]:
    """Both guidelines with the section that answers each item, given the sections of this report (`places`).

    predictors  what this run's answers are predicted from, for item 9a of TRIPOD+AI
    updated     whether the networks of an existing ensemble were trained further
    """
    overrides = {"9a": {"remark": predictors}}
    if updated:
        overrides |= {
            number: {
                "place": "search",
                "remark": "the networks of an ensemble were trained further",
            }
            for number in ("12f", "24")
        }
    tripod = tuple(item._replace(**overrides.get(item.number, {})) for item in TRIPOD)
    return (
        _against(
            "CLAIM 2024",
            "Tejani et al., Radiology: Artificial Intelligence 6 (2024) e240300",
            CLAIM,
            places,
        ),
        _against("TRIPOD+AI", "Collins et al., BMJ 385 (2024) e078378", tripod, places),
    )


def _against(
    name: str, reference: str, items: tuple[Item, ...], places: Collection[str]
) -> Checklist:
    rows = []
    for item in items:
        answered = item.place in places
        remark = item.remark or (
            ""
            if answered or not item.place
            else f"this report has no section “{SECTIONS[item.place]}”"
        )
        rows.append(
            (item.number, item.asks, SECTIONS[item.place] if answered else "unfilled", remark)
        )
    filled = sum(row[2] != "unfilled" for row in rows)
    sentence = f"{filled} of {len(items)} items are answered here, some in part; {len(items) - filled} are unfilled."
    file = name.lower().translate(str.maketrans(" +", "--"))
    return Checklist(
        name,
        reference,
        sentence,
        Table(("item", "asks for", "answered in", "remark"), rows, name=file),
    )
