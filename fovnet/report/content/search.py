"""The chapter on the search: configurations and their scores, the ensemble and its rule, what it cost."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass

from fovnet.decision.rule import MEANINGS, Rule
from fovnet.regions import Vocabulary
from fovnet.report.content.cells import Table
from fovnet.report.content.explained import ExplainedView, explained_view
from fovnet.report.content.run_record import Member, RunRecord
from fovnet.report.content.trainings import Training, costs_table, trainings_of
from fovnet.report.content.wording import duration, score, setting, settings, usual_heights
from fovnet.words import several

SHORT_LIST = 10
"""Trials in the short list, shown first."""

FURTHER = " Each continued from a network of another ensemble, with its configuration: there was no search."

HEADER = (
    "trial",
    "status",
    "configuration",
    "score",
    "epochs",
    "time",
    "predicted",
    "device",
    "message",
)
BRIEF = 7
"""Columns of the short list, up to the predicted time."""


@dataclass(frozen=True)
class CurvePoint:
    """One trial of the search; score None when it failed."""

    slot: int
    score: float | None
    is_start: bool


@dataclass(frozen=True)
class Search:
    """The search and what came of it; `origin` completes "the networks were ...".

    further    whether the networks of an existing ensemble were trained further, without a search
    points     every trial;  best, trials  the best ones, and all, as rows;  endings  how they ended
    explained  why it went so; None where there is nothing to explain
    members    of the ensemble;  members_lacking  why there are fewer than asked for, "" if there are not
    rule       the settings of the decision;  costs  time and memory of the trainings
    """

    further: bool
    origin: str
    sentence: str
    points: tuple[CurvePoint, ...]
    best: Table
    trials: Table
    endings: Table
    explained: ExplainedView | None
    members: Table
    members_lacking: str
    rule: Table
    costs: Table


def search_of(run: RunRecord, vocabulary: Vocabulary) -> Search:
    """The chapter; of networks that were trained further nothing is explained: nothing was searched for."""
    begun_with = run.settings.training.begin
    trainings = sorted(trainings_of(run.trials), key=lambda one: one.slot)
    ranked = sorted(
        (one for one in trainings if one.score is not None), key=lambda one: one.score or 0.0
    )
    best = [_cells(one)[:BRIEF] for one in ranked[:SHORT_LIST]]
    further = f"trained further from those of another ensemble ({begun_with})"
    return Search(
        further=begun_with is not None,
        origin="found by a search" if begun_with is None else further,
        sentence=_sentence(trainings, ranked, further=begun_with is not None),
        points=tuple(CurvePoint(one.slot, one.score, one.is_start) for one in trainings),
        best=Table(HEADER[:BRIEF], best, name="best-trials"),
        trials=Table(HEADER, list(map(_cells, trainings)), name="trials"),
        endings=_endings(trainings),
        explained=None
        if run.explanation is None or begun_with
        else explained_view(run.explanation),
        members=members_table(run.members),
        members_lacking=_lacking(len(run.members), run.settings.ensemble.members),
        rule=rule_table(run.rule, vocabulary),
        costs=costs_table(trainings),
    )


def members_table(members: Sequence[Member]) -> Table:
    """One row per member of the ensemble, lowest score first."""
    ordered = sorted(members, key=lambda member: (member.score is None, member.score or 0.0))
    header = ("trial", "configuration", "score", "weight", "file", "seed", "SHA-256 of the weights")
    return Table(header, list(map(_member_cells, ordered)), name="members")


def _member_cells(member: Member) -> tuple[str, ...]:
    return (
        str(member.slot),
        settings(member.configuration) + (" · sees slices alone" if member.alone else ""),
        score(member.score),
        f"{member.mixing_weight:.2f}",
        member.weights,
        setting(member.seed),
        member.sha256[:16] or "–",
    )


def _lacking(members: int, wanted: int) -> str:
    """Why there are fewer members than requested; "" if there are not."""
    if members >= wanted:
        return ""
    had = f"{several(members, 'member')} of {wanted} asked for"
    return f"{had}: no more trials ran to the end and beat guessing."


def rule_table(rule: Rule, vocabulary: Vocabulary) -> Table:
    """Every setting of the decision, with its meaning."""
    values = {**vars(rule), "heights": usual_heights(rule.heights, vocabulary.chain)}
    rows = [
        (name.replace("_", " "), MEANINGS.get(name, ""), setting(value))
        for name, value in values.items()
    ]
    return Table(("setting", "what it is", "value"), rows, name="decision")


def _sentence(trainings: Sequence[Training], ranked: Sequence[Training], *, further: bool) -> str:
    if not trainings:
        return "This report includes no search." + (FURTHER if further else "")
    failed = len(trainings) - len(ranked)
    ended = f"{failed:,} of them failed" if failed else "none failed"
    words = f"{several(len(trainings), 'trial')}, {ended}."
    if ranked:
        words += f" The best score is {score(ranked[0].score)}, of trial {ranked[0].slot}"
        start = next((one.score for one in trainings if one.is_start and not further), None)
        words += "." if start is None else f"; the start configuration reached {score(start)}."
    spent = sum(one.seconds for one in trainings)
    return f"{words} Training took {duration(spent)} in all." + (FURTHER if further else "")


def _cells(one: Training) -> tuple[str, ...]:
    return (
        setting(one.slot),
        one.status.replace("_", " "),
        settings(one.configuration),
        score(one.score),
        setting(one.epochs),
        duration(one.seconds),
        duration(one.predicted_seconds),
        one.device,
        one.message,
    )


def _endings(trainings: Sequence[Training]) -> Table:
    rows = []
    for status, count in Counter(one.status for one in trainings).most_common():
        example = next(
            (one.message for one in trainings if one.status == status and one.message), ""
        )
        rows.append((status.replace("_", " "), f"{count}/{len(trainings)}", example))
    return Table(("ended as", "trials", "for example"), rows, name="endings")
