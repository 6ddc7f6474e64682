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
    "answer": "The answer", "use": "Intended use", "inputs": "What went in",
    "people": "Who is in which split", "reference": "Reference standard", "slices": "Slice by slice",
    "borders": "Where one region ends", "volumes": "Volume by volume",
    "statements": "Answers by region", "subgroups": "Subgroups",
    "calibration": "Is the confidence honest?", "risk": "Fewer answers, fewer errors",
    "ablation": "What each step contributes", "failures": "Failures", "search": "The search",
    "explained": "The search, explained", "running": "Time and memory", "method": "Method in short",
    "limits": "What this report cannot say", "provenance": "Provenance",
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


AUTHORS = "for the authors of a study"
NOT_UPDATED = "none was updated: the networks were trained from nothing"

CLAIM = (
    Item(
        "1", "named as a study of AI, and of which technology", "answer",
        "the first paragraph names networks; the title is the user’s",
    ),
    Item(
        "2", "summary of design, methods, results, conclusions", "answer",
        "results; the rest of an abstract is left to the authors",
    ),
    Item(
        "3", "background, intended use and role", "use",
        "use and role only; the background is left to the authors",
    ),
    Item("4", "aims, objectives and hypotheses", "", AUTHORS),
    Item("5", "prospective or retrospective", "", AUTHORS),
    Item("6", "goal of the study", "use"),
    Item("7", "sources of the data", "inputs", "collections by name; their origin is not recorded"),
    Item(
        "8", "inclusion and exclusion", "inputs",
        "technical exclusions; how people were chosen is not recorded",
    ),
    Item("9", "preprocessing", "method"),
    Item("10", "selection of subsets", "inputs"),
    Item("11", "de-identification", "inputs", "ids; what was done to the images before is not recorded"),
    Item(
        "12", "how missing data were handled", "people", "missing attributes are counted; no value is imputed"
    ),
    Item("13", "image acquisition protocol", "people", "as far as the collections record it"),
    Item("14", "how the reference standard is obtained", "reference"),
    Item("15", "why this reference standard", "reference"),
    Item(
        "16", "source of the reference annotations", "",
        "readers and their training are not recorded in a collection",
    ),
    Item("17", "annotation of the test set", "", "the same: not recorded"),
    Item("18", "variability within and between annotators", "", "needs a collection read twice"),
    Item("19", "how data were assigned to partitions", "people"),
    Item("20", "level at which partitions are disjoint", "people"),
    Item("21", "intended sample size of the test data", "", AUTHORS),
    Item("22", "description of the model", "method"),
    Item("23", "software libraries, frameworks, packages", "provenance"),
    Item(
        "24", "initialisation of the parameters", "provenance",
        "seeds; weights begin at random, or with the ensemble named by `begin`",
    ),
    Item("25", "details of training", "provenance", "the complete configuration"),
    Item("26", "selection of the final model", "search"),
    Item("27", "ensembling", "search"),
    Item("28", "metrics of performance", "slices"),
    Item(
        "29", "significance and statistical uncertainty", "method",
        "intervals; no test of significance is made",
    ),
    Item(
        "30", "robustness or sensitivity", "subgroups",
        "and, if the ablation was run, what each step contributes",
    ),
    Item(
        "31", "explainability, interpretability", "failures",
        "each answer beside picture and probabilities; no attribution to pixels",
    ),
    Item("32", "evaluation on internal data", "slices"),
    Item(
        "33", "testing on external data", "subgroups",
        "only where a collection from elsewhere was named in the configuration",
    ),
    Item("34", "registration as a clinical trial", "", AUTHORS),
    Item("35", "numbers of patients or examinations included and excluded", "inputs"),
    Item(
        "36", "demographic and clinical characteristics by partition", "people",
        "as far as the collections record them",
    ),
    Item("37", "performance with uncertainty", "slices"),
    Item(
        "38", "diagnostic performance with its precision", "slices", "of naming regions; nothing is diagnosed"
    ),
    Item("39", "analysis of incorrect results", "failures"),
    Item("40", "limitations", "limits"),
    Item("41", "implications for practice", "use"),
    Item(
        "42", "full protocol or further technical detail", "provenance",
        "the complete configuration; a study protocol is left to the authors",
    ),
    Item(
        "43", "availability of software, model, data", "provenance",
        "versions and hashes; where to get them is left to the authors",
    ),
    Item("44", "funding and other support, role of funders", "", AUTHORS),
)

TRIPOD = (
    Item(
        "1", "title: development or evaluation, population, outcome", "answer",
        "in the first paragraph; the title is the user’s",
    ),
    Item(
        "2", "abstract, by its own list", "answer",
        "results; the rest of an abstract is left to the authors",
    ),
    Item("3a", "context, rationale, earlier models", "", AUTHORS),
    Item("3b", "target population, purpose, users", "use"),
    Item("3c", "known inequalities in health", "", AUTHORS),
    Item("4", "objectives: development, validation or both", "", AUTHORS),
    Item(
        "5a", "sources of the data, why these, how representative", "inputs",
        "collections by name; the rest is not recorded",
    ),
    Item("5b", "dates of the data", "", "no date is read from a volume or written"),
    Item("6a", "setting and centres", "people", "sites, as far as recorded"),
    Item("6b", "eligibility of participants", "inputs", "technical exclusions only"),
    Item("6c", "treatments received", "", "not recorded, and without bearing on which region is shown"),
    Item(
        "7", "preparation and quality checks of data", "method",
        "the same for everybody; refused volumes are under “What went in”",
    ),
    Item(
        "8a", "definition of the outcome, how and when assessed", "reference",
        "the regions shown; there is no time horizon",
    ),
    Item("8b", "who assessed the outcome", "", "readers are not recorded in a collection"),
    Item("8c", "blinding of that assessment", "", "not recorded"),
    Item("9a", "choice of predictors", "method"),
    Item("9b", "definition and measurement of predictors", "method"),
    Item("9c", "who assessed predictors", "method", "nobody: pixels"),
    Item(
        "10", "sample size", "",
        "counts are given under “What went in”; how they were chosen is left to the authors",
    ),
    Item("11", "missing data", "people", "counted, not imputed"),
    Item("12a", "how the data were used and partitioned", "people"),
    Item("12b", "handling of predictors", "method"),
    Item("12c", "type of model, every step of building it, internal validation", "search"),
    Item(
        "12d", "heterogeneity across clusters", "subgroups",
        "of performance, by collection and by recorded attributes",
    ),
    Item("12e", "measures and plots of performance", "slices"),
    Item("12f", "updating of the model", "", NOT_UPDATED),
    Item("12g", "how predictions are calculated", "method"),
    Item(
        "13", "handling of class imbalance", "reference",
        "counts by class; training weights classes by inverse frequency",
    ),
    Item("14", "fairness", "subgroups", "by the recorded attributes; no step to improve it is taken"),
    Item(
        "15", "output of the model, and its thresholds", "method",
        "the thresholds are under the settings of the decision",
    ),
    Item("16", "differences between training and evaluation data", "people"),
    Item("17", "ethical approval and consent", "", AUTHORS),
    Item("18a", "funding", "", AUTHORS),
    Item("18b", "conflicts of interest", "", AUTHORS),
    Item("18c", "protocol", "provenance", "the complete configuration; a study protocol is left to the "
                                          "authors"),
    Item("18d", "registration", "", AUTHORS),
    Item("18e", "sharing of data", "", AUTHORS),
    Item("18f", "sharing of code", "provenance", "fovnet’s version; configuration and hashes"),
    Item("19", "involvement of patients and the public", "", AUTHORS),
    Item("20a", "flow of participants", "inputs"),
    Item("20b", "their characteristics", "people"),
    Item(
        "20c", "distribution of predictors and outcome beside that of the development data", "people",
        "of recorded attributes",
    ),
    Item("21", "participants and outcomes in each analysis", "reference"),
    Item(
        "22", "the full model, and how it may be used", "provenance",
        "hashes of the weights; the ensemble folder is the model",
    ),
    Item("23a", "performance with intervals, also of subgroups", "slices"),
    Item("23b", "heterogeneity of performance", "subgroups"),
    Item("24", "results of updating", "", NOT_UPDATED),
    Item("25", "interpretation, fairness included", "", AUTHORS),
    Item("26", "limitations", "limits"),
    Item(
        "27a", "poor or missing input at use", "inputs",
        "what is refused and why; doubts under “Volume by volume”",
    ),
    Item("27b", "what users must do, and the expertise they need", "use"),
    Item("27c", "next steps of research", "", AUTHORS),
)


def checklists(places: Collection[str], predictors: str, *, updated: bool = False) -> tuple[Checklist, ...]:
    """Both guidelines with the section that answers each item, given the sections of this report (`places`).

    predictors  what this run's answers are predicted from, for item 9a of TRIPOD+AI
    updated     whether the networks of an existing ensemble were trained further
    """
    overrides = {"9a": {"remark": predictors}}
    if updated:
        overrides |= {
            number: {"place": "search", "remark": "the networks of an ensemble were trained further"}
            for number in ("12f", "24")
        }
    tripod = tuple(item._replace(**overrides.get(item.number, {})) for item in TRIPOD)
    return (
        _against(
            "CLAIM 2024", "Tejani et al., Radiology: Artificial Intelligence 6 (2024) e240300", CLAIM, places
        ),
        _against("TRIPOD+AI", "Collins et al., BMJ 385 (2024) e078378", tripod, places),
    )


def _against(name: str, reference: str, items: tuple[Item, ...], places: Collection[str]) -> Checklist:
    rows = []
    for item in items:
        answered = item.place in places
        remark = item.remark or (
            "" if answered or not item.place else f"this report has no section “{SECTIONS[item.place]}”"
        )
        rows.append((item.number, item.asks, SECTIONS[item.place] if answered else "unfilled", remark))
    filled = sum(row[2] != "unfilled" for row in rows)
    sentence = (
        f"{filled} of {len(items)} items are answered here, some in part; {len(items) - filled} are unfilled."
    )
    file = name.lower().translate(str.maketrans(" +", "--"))
    return Checklist(
        name, reference, sentence,
        Table(("item", "asks for", "answered in", "remark"), tuple(rows), name=file),
    )
