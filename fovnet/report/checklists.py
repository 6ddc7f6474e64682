"""Two reporting guidelines, item by item: where this report answers them, and what it cannot answer.

Items are named by their number and a few words of ours; the guidelines themselves say what each asks:
A. S. Tejani et al., Checklist for Artificial Intelligence in Medical Imaging (CLAIM): 2024 update, *Radiology: AI* 6 (2024) e240300;
G. S. Collins et al., TRIPOD+AI statement, *BMJ* 385 (2024) e078378.
"""

from __future__ import annotations

from collections.abc import Collection
from typing import NamedTuple

from fovnet.report.page import Checklist, Table

SECTIONS = {
    "answer": "The answer", "use": "Intended use", "inputs": "What went in", "people": "Who is in which split",
    "reference": "Reference standard", "slices": "Slice by slice", "borders": "Where one region ends", "volumes": "Volume by volume",
    "subgroups": "Subgroups", "calibration": "Is the confidence honest?", "risk": "Answering less, erring less",
    "ablation": "What each step is worth", "failures": "Failures", "search": "The search", "explained": "The search, explained",
    "running": "Time and memory", "method": "Method in short", "limits": "What this report cannot say", "provenance": "Provenance",
}  # fmt: skip
"""Headings of the page by the place they stand at."""


class Item(NamedTuple):
    """An item of a guideline; `place` is the section that answers it, empty where none does, and `remark` says what is missing."""

    number: str
    asks: str
    place: str = ""
    remark: str = ""


AUTHORS = "the authors of a study have to say it"

CLAIM = (
    Item("1", "title names the AI method", "answer", "in the heading and the first paragraph; the title is the user’s"),
    Item("2", "structured summary", "answer"),
    Item("3", "background, intended use and role", "use", "use and role only; the clinical background is the authors’ to write"),
    Item("4", "aims and hypotheses", "", AUTHORS),
    Item("5", "prospective or retrospective", "", AUTHORS),
    Item("6", "goal of the study", "use"),
    Item("7", "sources of the data", "inputs", "collections by name; their origin is not recorded"),
    Item("8", "inclusion and exclusion", "inputs", "technical exclusions; how people were chosen is not recorded"),
    Item("9", "preprocessing", "method"),
    Item("10", "selection of subsets", "inputs"),
    Item("11", "de-identification", "inputs", "ids; what was done to the images before is not recorded"),
    Item("12", "missing data", "people", "missing attributes are counted; no value is imputed"),
    Item("13", "acquisition protocol", "people", "as far as the collections record it"),
    Item("14", "how the reference standard is obtained", "reference"),
    Item("15", "why this reference standard", "reference"),
    Item("16", "source of the annotations", "", "readers and their training are not recorded in a collection"),
    Item("17", "annotation of the test set", "", "the same: not recorded"),
    Item("18", "variability within and between readers", "", "needs a collection read twice"),
    Item("19", "how data were assigned to partitions", "people"),
    Item("20", "level at which partitions are disjoint", "people"),
    Item("21", "intended sample size", "", AUTHORS),
    Item("22", "description of the model", "method"),
    Item("23", "software and versions", "provenance"),
    Item("24", "initial parameters", "provenance", "seeds; weights begin at random"),
    Item("25", "training", "provenance", "the complete configuration"),
    Item("26", "selection of the final model", "search"),
    Item("27", "ensembling", "search"),
    Item("28", "metrics of performance", "slices"),
    Item("29", "statistical uncertainty", "method"),
    Item("30", "robustness, sensitivity", "subgroups", "and, where the ablation was run, what each step is worth"),
    Item("31", "explainability", "failures", "each answer beside its picture and probabilities; no attribution to pixels"),
    Item("32", "evaluation on internal data", "slices"),
    Item("33", "testing on external data", "subgroups", "only where a collection from elsewhere was named in the configuration"),
    Item("34", "registration of a trial", "", AUTHORS),
    Item("35", "numbers included and excluded", "inputs"),
    Item("36", "characteristics by partition", "people"),
    Item("37", "performance with uncertainty", "slices"),
    Item("38", "diagnostic accuracy with precision", "slices"),
    Item("39", "failure analysis", "failures"),
    Item("40", "limitations", "limits"),
    Item("41", "implications for practice", "use"),
    Item("42", "full protocol", "provenance", "the complete configuration; a study protocol is the authors’"),
    Item("43", "availability of software, model, data", "provenance", "versions and hashes; where they can be had is the authors’ to say"),
    Item("44", "funding and its role", "", AUTHORS),
)

TRIPOD = (
    Item("1", "title", "answer", "the title is the user’s"),
    Item("2", "abstract", "answer"),
    Item("3a", "context and rationale", "", AUTHORS),
    Item("3b", "target population and purpose", "use"),
    Item("3c", "known inequalities", "", AUTHORS),
    Item("4", "objectives", "", AUTHORS),
    Item("5a", "sources of data", "inputs", "collections by name"),
    Item("5b", "dates", "", "no date is read from a volume or written"),
    Item("6a", "setting", "people", "sites, as far as recorded"),
    Item("6b", "eligibility", "inputs", "technical exclusions only"),
    Item("6c", "treatments", "", "not recorded, and without bearing on which region is shown"),
    Item("7", "data preparation", "method"),
    Item("8a", "outcome", "reference"),
    Item("8b", "who assessed the outcome", "", "readers are not recorded in a collection"),
    Item("8c", "blinding of that assessment", "", "not recorded"),
    Item("9a", "choice of predictors", "method", "the pixels of axial slices, and nothing else"),
    Item("9b", "definition of predictors", "method"),
    Item("9c", "who assessed predictors", "method", "nobody: pixels"),
    Item("10", "sample size", "", "counts are given under “What went in”; how they were arrived at is the authors’ to say"),
    Item("11", "missing data", "people", "counted, not imputed"),
    Item("12a", "how data were used", "people"),
    Item("12b", "handling of predictors", "method"),
    Item("12c", "type of model, building, validation", "search"),
    Item("12d", "heterogeneity", "subgroups"),
    Item("12e", "measures of performance", "slices"),
    Item("12f", "updating of the model", "", "no model was updated"),
    Item("12g", "how predictions are calculated", "method"),
    Item("13", "class imbalance", "reference", "counts by class; training weights classes by inverse frequency"),
    Item("14", "fairness", "subgroups", "by the recorded attributes; no step to improve it is taken"),
    Item("15", "output of the model", "method"),
    Item("16", "training against evaluation data", "people"),
    Item("17", "ethical approval", "", AUTHORS),
    Item("18a", "funding", "", AUTHORS),
    Item("18b", "conflicts of interest", "", AUTHORS),
    Item("18c", "protocol", "provenance", "the complete configuration; a study protocol is the authors’"),
    Item("18d", "registration", "", AUTHORS),
    Item("18e", "sharing of data", "", AUTHORS),
    Item("18f", "sharing of code", "provenance", "fovnet’s version; configuration and hashes"),
    Item("19", "patients and the public", "", AUTHORS),
    Item("20a", "flow of participants", "inputs"),
    Item("20b", "their characteristics", "people"),
    Item("20c", "development against evaluation data", "people"),
    Item("21", "numbers in each analysis", "reference"),
    Item("22", "full model", "provenance", "hashes of the weights; the ensemble folder is the model"),
    Item("23a", "performance with intervals, subgroups", "slices"),
    Item("23b", "heterogeneity of performance", "subgroups"),
    Item("24", "updated model", "", "no model was updated"),
    Item("25", "interpretation", "", AUTHORS),
    Item("26", "limitations", "limits"),
    Item("27a", "poor or missing input at use", "inputs", "what is refused and why; “cannot say” under “Volume by volume”"),
    Item("27b", "what the user has to do and to know", "use"),
    Item("27c", "next steps", "", AUTHORS),
)


def checklists(places: Collection[str]) -> tuple[Checklist, ...]:
    """Both guidelines against the sections that this report has."""
    return (
        _against("CLAIM 2024", "Tejani et al., Radiology: Artificial Intelligence 6 (2024) e240300", CLAIM, places),
        _against("TRIPOD+AI", "Collins et al., BMJ 385 (2024) e078378", TRIPOD, places),
    )


def _against(name: str, reference: str, items: tuple[Item, ...], places: Collection[str]) -> Checklist:
    rows = []
    for item in items:
        answered = item.place in places
        remark = item.remark or ("" if answered or not item.place else f"this report has no section “{SECTIONS[item.place]}”")
        rows.append((item.number, item.asks, SECTIONS[item.place] if answered else "unfilled", remark))
    filled = sum(row[2] != "unfilled" for row in rows)
    sentence = f"{filled} of {len(items)} items are answered here, some in part; {len(items) - filled} are unfilled."
    file = name.lower().translate(str.maketrans(" +", "--"))
    return Checklist(name, reference, sentence, Table(("item", "asks for", "answered in", "remark"), tuple(rows), name=file))
