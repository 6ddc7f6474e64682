"""The first chapter: the result on the test split in a few sentences, and what the networks are
for."""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import dataclass, field

from fovnet.evaluate.evaluation import COLLECTION, Evaluation
from fovnet.evaluate.groups import REGION_BORDERS, Group
from fovnet.records import json_key
from fovnet.report.content.cells import MeasuredText
from fovnet.report.content.statement_rates import statements_sentence
from fovnet.report.content.statements import NOT_FOR, USE
from fovnet.report.content.wording import measure_text
from fovnet.words import several


@dataclass(frozen=True)
class Headline:
    """A headline result and its label.

    value_before_decision  as text; "" if it has none
    """

    label: str
    result: MeasuredText = field(metadata=json_key("shown"))
    value_before_decision: str = field(default="", metadata=json_key("before"))


@dataclass(frozen=True)
class AnswerChapter:
    """The result in sentences and three numbers, the error of each collection by itself, the
    intended use, and the uses that are not intended."""

    sentence: str
    errors_by_collection: str = field(metadata=json_key("by_collection"))
    headlines: tuple[Headline, ...]
    intended_use: tuple[str, ...]
    excluded_uses: tuple[str, ...] = field(metadata=json_key("not_for"))


def answer_of(evaluation: Evaluation, simulated_collections: Collection[str]) -> AnswerChapter:
    """The chapter on the result, from an evaluation and the names of the collections whose subjects
    are simulated."""
    return AnswerChapter(
        sentence=_result_sentences(evaluation, simulated_collections),
        errors_by_collection=_errors_by_collection(evaluation, simulated_collections),
        headlines=_headlines(evaluation.everything),
        intended_use=USE,
        excluded_uses=NOT_FOR,
    )


def _result_sentences(evaluation: Evaluation, simulated_collections: Collection[str]) -> str:
    """The result in a few sentences: one of them on regions predicted beside a spine if these
    change the error, one on the statements where answers are given region by region."""
    all_volumes_group = evaluation.everything
    sentences = [
        _slice_error_sentence(evaluation, simulated_collections),
        _spine_sentence(all_volumes_group),
        _exact_sets_sentence(all_volumes_group),
        statements_sentence(all_volumes_group),
        _doubts_sentence(evaluation),
    ]
    return " ".join(filter(None, sentences))


def _slice_error_sentence(evaluation: Evaluation, simulated_collections: Collection[str]) -> str:
    """The share of wrong slices after the decision and before it, and how many people it rests
    on."""
    all_volumes_group = evaluation.everything
    error_before_decision = measure_text(all_volumes_group.find("slice_error", "raw"))
    decided_error = measure_text(all_volumes_group.find("slice_error", "decided"))
    volumes_phrase = several(all_volumes_group.volumes, "labelled test volume")
    people_phrase = _people_phrase(
        all_volumes_group.subjects,
        {volume.collection for volume in evaluation.volumes},
        simulated_collections,
    )
    return (
        f"In {volumes_phrase} of {people_phrase} not seen in training, fovnet named a wrong region "
        f"in {decided_error.value} of {all_volumes_group.slices:,} slices "
        f"({_interval_text(decided_error)}); the networks alone, before the decision, in "
        f"{error_before_decision.value}."
    )


def _spine_sentence(all_volumes_group: Group) -> str:
    """The slice error counting the regions predicted beside a spine; "" if that is the same."""
    decided_error = all_volumes_group.find("slice_error", "decided")
    error_of_any_label = all_volumes_group.find("slice_error_any_label", "decided")
    error_text = measure_text(error_of_any_label).value
    if error_of_any_label is None or error_text == measure_text(decided_error).value:
        return ""
    return (
        "A slice with a spine is judged by the spine alone; counting all that is predicted beside "
        f"it, {error_text} are wrong."
    )


def _exact_sets_sentence(all_volumes_group: Group) -> str:
    """In how many volumes exactly the right regions were found, and how well their borders were
    placed; "" if that was not measured."""
    exact_set_share = all_volumes_group.find("exact_set", "decided")
    border_error = all_volumes_group.find("border_abs_mean_mm", "decided", REGION_BORDERS)
    if exact_set_share is None or exact_set_share.numerator is None:
        return ""
    border_clause = ""
    if border_error is not None and border_error.value is not None:
        border_clause = (
            ", and placed the borders between them that it found with a mean error of "
            f"{measure_text(border_error).value}"
        )
    volumes_phrase = several(exact_set_share.denominator, "volume")
    return (
        f"It found exactly the regions shown in {exact_set_share.numerator:.0f} of "
        f"{volumes_phrase}{border_clause}."
    )


def _doubts_sentence(evaluation: Evaluation) -> str:
    """How many volumes are doubted as a whole, and how many were refused."""
    doubted_count = sum(volume.extents == "unsure" for volume in evaluation.volumes)
    doubted_phrase = "no volume"
    if doubted_count:
        doubted_phrase = several(doubted_count, "volume")
    refused_phrase = "none"
    if evaluation.everything.refused:
        refused_phrase = several(evaluation.everything.refused, "volume")
    return f"It has doubts about {doubted_phrase} as a whole and refused {refused_phrase}."


def _people_phrase(
    person_count: int, collections: Collection[str], simulated_collections: Collection[str]
) -> str:
    """ "80 simulated people" if all collections are simulated, else "80 people"."""
    if collections and set(collections) <= set(simulated_collections):
        return several(person_count, "simulated person", "simulated people")
    return several(person_count, "person", "people")


def _errors_by_collection(evaluation: Evaluation, simulated_collections: Collection[str]) -> str:
    """Slice error by collection, so that simulated and real subjects are not pooled in one
    number."""
    collection_groups = [
        group for group in evaluation.subgroups if group.attribute == COLLECTION and group.volumes
    ]
    if len(collection_groups) != 1:
        error_clauses = [
            _collection_error_clause(group, simulated_collections) for group in collection_groups
        ]
        return f"Wrong slices by collection: {'; '.join(error_clauses)}."
    only_collection = collection_groups[0].value
    simulated_clause = ""
    if only_collection in simulated_collections:
        simulated_clause = ", which is simulated"
    return f"All of these volumes are from the collection {only_collection}{simulated_clause}."


def _collection_error_clause(group: Group, simulated_collections: Collection[str]) -> str:
    """ "sim (simulated) 4.1 % of 998 slices (2.9–5.6 %)", and whether its subjects are too few."""
    error = measure_text(group.find("slice_error", "decided"))
    simulated_remark = ""
    if group.value in simulated_collections:
        simulated_remark = " (simulated)"
    too_few_clause = ""
    if group.too_few:
        too_few_clause = f", {several(group.subjects, 'person', 'people')}: too few"
    slices_phrase = several(group.slices, "slice")
    return (
        f"{group.value}{simulated_remark} {error.value} of {slices_phrase} "
        f"({error.interval}{too_few_clause})"
    )


def _interval_text(rate: MeasuredText) -> str:
    """ "95 % interval 2.9–5.6 %", or why there is no interval."""
    if "–" not in rate.interval:
        return rate.interval
    return f"95 % interval {rate.interval}"


def _headlines(all_volumes_group: Group) -> tuple[Headline, ...]:
    """The wrong slices, the exactly right volumes, and the distance of borders."""
    error_before_decision = measure_text(all_volumes_group.find("slice_error", "raw"))
    border_error = all_volumes_group.find("border_abs_mean_mm", "decided", REGION_BORDERS)
    return (
        Headline(
            "slices given a wrong region",
            measure_text(all_volumes_group.find("slice_error", "decided")),
            error_before_decision.value,
        ),
        Headline(
            "volumes with exactly the right regions",
            measure_text(all_volumes_group.find("exact_set", "decided")),
        ),
        Headline("mean distance of a found border from the true one", measure_text(border_error)),
    )
