"""The first chapter: the result on the test split in a few sentences, and what the networks are
for."""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import dataclass

from fovnet.evaluate.evaluation import COLLECTION, Evaluation
from fovnet.evaluate.groups import REGION_BORDERS, Group
from fovnet.report.content.cells import MeasuredText
from fovnet.report.content.statement_rates import statements_sentence
from fovnet.report.content.statements import NOT_FOR, USE
from fovnet.report.content.wording import measure_text
from fovnet.words import several


@dataclass(frozen=True)
class Headline:
    """A headline result and its label.

    before  its value before the decision, "" if it has none
    """

    label: str
    shown: MeasuredText
    before: str = ""


@dataclass(frozen=True)
class AnswerChapter:
    """The result in sentences and three numbers, the error of each collection by itself, the
    intended use."""

    sentence: str
    by_collection: str
    headlines: tuple[Headline, ...]
    intended_use: tuple[str, ...]
    not_for: tuple[str, ...]


def answer_of(evaluation: Evaluation, simulated: Collection[str]) -> AnswerChapter:
    """The chapter; `simulated` names the collections whose subjects are simulated."""
    return AnswerChapter(
        sentence=_result_sentences(evaluation, simulated),
        by_collection=_errors_by_collection(evaluation, simulated),
        headlines=_headlines(evaluation.everything),
        intended_use=USE,
        not_for=NOT_FOR,
    )


def _result_sentences(evaluation: Evaluation, simulated: Collection[str]) -> str:
    """The result in a few sentences: one of them on regions predicted beside a spine if these
    change the error, one on the statements where answers are given region by region."""
    all_volumes_group = evaluation.everything
    error_before_decision = measure_text(all_volumes_group.find("slice_error", "raw"))
    decided_error = measure_text(all_volumes_group.find("slice_error", "decided"))
    error_of_any_label = all_volumes_group.find("slice_error_any_label", "decided")
    exact_set_share = all_volumes_group.find("exact_set", "decided")
    border_error = all_volumes_group.find("border_abs_mean_mm", "decided", REGION_BORDERS)
    volumes_phrase = several(all_volumes_group.volumes, "labelled test volume")
    people_phrase = _people_phrase(
        all_volumes_group.subjects,
        {evaluated_volume.collection for evaluated_volume in evaluation.volumes},
        simulated,
    )
    sentences = [
        f"In {volumes_phrase} of {people_phrase} not seen in training, fovnet named a wrong region in "
        f"{decided_error.value} of {all_volumes_group.slices:,} slices ({_interval_text(decided_error)}); the networks "
        f"alone, before the decision, in {error_before_decision.value}."
    ]
    if (
        error_of_any_label is not None
        and measure_text(error_of_any_label).value != decided_error.value
    ):
        wrong_clause = (
            f"counting all that is predicted beside it, {measure_text(error_of_any_label).value} "
            "are wrong"
        )
        sentences.append(f"A slice with a spine is judged by the spine alone; {wrong_clause}.")
    if exact_set_share is not None and exact_set_share.numerator is not None:
        exactly_right_phrase = (
            f"{exact_set_share.numerator:.0f} of {several(exact_set_share.denominator, 'volume')}"
        )
        border_clause = ""
        if border_error is not None and border_error.value is not None:
            border_clause = (
                ", and placed the borders between them that it found with a mean error of "
                f"{measure_text(border_error).value}"
            )
        sentences.append(
            f"It found exactly the regions shown in {exactly_right_phrase}{border_clause}."
        )
    sentences += filter(None, [statements_sentence(all_volumes_group)])
    unsure_count = sum(
        evaluated_volume.extents == "unsure" for evaluated_volume in evaluation.volumes
    )
    unsure_phrase = several(unsure_count, "volume") if unsure_count else "no volume"
    refused_phrase = (
        several(all_volumes_group.refused, "volume") if all_volumes_group.refused else "none"
    )
    sentences.append(
        f"It has doubts about {unsure_phrase} as a whole and refused {refused_phrase}."
    )
    return " ".join(sentences)


def _people_phrase(
    person_count: int, collections: Collection[str], simulated_collections: Collection[str]
) -> str:
    """ "80 simulated people", where all of them are."""
    simulated_prefix = (
        "simulated " if collections and set(collections) <= set(simulated_collections) else ""
    )
    return several(person_count, f"{simulated_prefix}person", f"{simulated_prefix}people")


def _errors_by_collection(evaluation: Evaluation, simulated_collections: Collection[str]) -> str:
    """Slice error by collection, so that simulated and real subjects are not pooled in one
    number."""
    collection_groups = [
        group for group in evaluation.subgroups if group.attribute == COLLECTION and group.volumes
    ]
    if len(collection_groups) == 1:
        simulated_remark = (
            ", which is simulated" if collection_groups[0].value in simulated_collections else ""
        )
        return f"All of these volumes are from the collection {collection_groups[0].value}{simulated_remark}."
    error_clauses = []
    for group in collection_groups:
        error = measure_text(group.find("slice_error", "decided"))
        too_few_clause = (
            f", {several(group.subjects, 'person', 'people')}: too few" if group.too_few else ""
        )
        simulated_remark = " (simulated)" if group.value in simulated_collections else ""
        slices_phrase = several(group.slices, "slice")
        error_clauses.append(
            f"{group.value}{simulated_remark} {error.value} of {slices_phrase} ({error.interval}{too_few_clause})"
        )
    return f"Wrong slices by collection: {'; '.join(error_clauses)}."


def _interval_text(rate: MeasuredText) -> str:
    return f"95 % interval {rate.interval}" if "–" in rate.interval else rate.interval


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
