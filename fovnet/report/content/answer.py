"""The first chapter: the result on the test split in a few sentences, and what the networks are for."""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import dataclass

from fovnet.evaluate.evaluation import COLLECTION, Evaluation
from fovnet.evaluate.groups import ALL_BORDERS, Group
from fovnet.report.content.cells import Shown
from fovnet.report.content.statement_rates import statements_sentence
from fovnet.report.content.statements import NOT_FOR, USE
from fovnet.report.content.wording import shown
from fovnet.words import several


@dataclass(frozen=True)
class Headline:
    """A headline result and its label; `before` is its value before the decision, "" if it has none."""

    label: str
    shown: Shown
    before: str = ""


@dataclass(frozen=True)
class Answer:
    """The result in sentences and three numbers, the error of each collection by itself, the intended use."""

    sentence: str
    by_collection: str
    headlines: tuple[Headline, ...]
    intended_use: tuple[str, ...]
    not_for: tuple[str, ...]


def answer_of(evaluation: Evaluation, simulated: Collection[str]) -> Answer:
    """The chapter; `simulated` names the collections whose subjects are simulated."""
    return Answer(
        sentence=_sentence(evaluation, simulated),
        by_collection=_by_collection(evaluation, simulated),
        headlines=_headlines(evaluation.everything),
        intended_use=USE,
        not_for=NOT_FOR,
    )


def _sentence(evaluation: Evaluation, simulated: Collection[str]) -> str:
    """The result in a few sentences: one of them on regions predicted beside a spine if these change the
    error, one on the statements where answers are given region by region."""
    whole = evaluation.everything
    raw, decided = (shown(whole.find("slice_error", stage)) for stage in ("raw", "decided"))
    beside = whole.find("slice_error_any_label", "decided")
    exact, border = (
        whole.find("exact_set", "decided"),
        whole.find("border_abs_mean_mm", "decided", ALL_BORDERS),
    )
    volumes = several(whole.volumes, "labelled test volume")
    people = _people(whole.subjects, {row.collection for row in evaluation.volumes}, simulated)
    words = [
        f"In {volumes} of {people} not seen in training, fovnet named a wrong region in "
        f"{decided.value} of {whole.slices:,} slices ({_interval(decided)}); the networks alone, before the "
        f"decision, in {raw.value}."
    ]
    if beside is not None and shown(beside).value != decided.value:
        wrong = f"counting all that is predicted beside it, {shown(beside).value} are wrong"
        words.append(f"A slice with a spine is judged by the spine alone; {wrong}.")
    if exact is not None and exact.numerator is not None:
        right = f"{exact.numerator:.0f} of {several(exact.denominator, 'volume')}"
        words.append(f"It found exactly the regions shown in {right}")
        placed = border is not None and border.value is not None
        error = f"a mean error of {shown(border).value}"
        words[-1] += (
            f", and placed the borders between them that it found with {error}." if placed else "."
        )
    words += filter(None, [statements_sentence(whole)])
    doubted = sum(row.extents == "unsure" for row in evaluation.volumes)
    unsure = several(doubted, "volume") if doubted else "no volume"
    refused = several(whole.refused, "volume") if whole.refused else "none"
    words.append(f"It has doubts about {unsure} as a whole and refused {refused}.")
    return " ".join(words)


def _people(count: int, collections: Collection[str], simulated: Collection[str]) -> str:
    """ "80 simulated people", where all of them are."""
    kind = "simulated " if collections and set(collections) <= set(simulated) else ""
    return several(count, f"{kind}person", f"{kind}people")


def _by_collection(evaluation: Evaluation, simulated: Collection[str]) -> str:
    """Slice error by collection, so that simulated and real subjects are not pooled in one number."""
    groups = [
        group for group in evaluation.subgroups if group.attribute == COLLECTION and group.volumes
    ]
    if len(groups) == 1:
        made = ", which is simulated" if groups[0].value in simulated else ""
        return f"All of these volumes are from the collection {groups[0].value}{made}."
    words = []
    for group in groups:
        error = shown(group.find("slice_error", "decided"))
        few = f", {several(group.subjects, 'person', 'people')}: too few" if group.too_few else ""
        made = " (simulated)" if group.value in simulated else ""
        slices = several(group.slices, "slice")
        words.append(f"{group.value}{made} {error.value} of {slices} ({error.interval}{few})")
    return f"Wrong slices by collection: {'; '.join(words)}."


def _interval(number: Shown) -> str:
    return f"95 % interval {number.interval}" if "–" in number.interval else number.interval


def _headlines(whole: Group) -> tuple[Headline, ...]:
    raw = shown(whole.find("slice_error", "raw"))
    distance = whole.find("border_abs_mean_mm", "decided", ALL_BORDERS)
    return (
        Headline(
            "slices given a wrong region", shown(whole.find("slice_error", "decided")), raw.value
        ),
        Headline(
            "volumes with exactly the right regions", shown(whole.find("exact_set", "decided"))
        ),
        Headline("mean distance of a found border from the true one", shown(distance)),
    )
