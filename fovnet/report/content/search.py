"""The chapter on the search: configurations and their scores, the ensemble and its rule, what it
cost."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from types import MappingProxyType

from fovnet.decision.rule import MEANING_BY_SETTING, Rule
from fovnet.net.family.layered import NetworkShape
from fovnet.records import json_key
from fovnet.regions import PARTS, Vocabulary
from fovnet.report.content.cells import ReportTable
from fovnet.report.content.layer_drawings import LayersView, can_be_drawn, layers_table, layers_view
from fovnet.report.content.run_record import Member, RunRecord
from fovnet.report.content.search_explanation.view import ExplainedView, view_of_explanation
from fovnet.report.content.trainings import TrainingSummary, costs_table, trainings_of
from fovnet.report.content.wording import (
    DASH,
    configuration_text,
    duration,
    score_text,
    setting_text,
    usual_heights,
    with_spaces,
)
from fovnet.volume.slices.resizing import SIDE_PIXELS
from fovnet.words import several

SHORT_LIST_LENGTH = 10
"""Trials in the short list, shown first."""

NO_PART_RULES: Mapping[str, Rule] = MappingProxyType({})

FURTHER_SENTENCE = (  # follows another sentence
    " Each continued from a network of another ensemble, with its configuration: there was no "
    "search."
)

TRIAL_HEADER = (
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
BRIEF_COLUMN_COUNT = 7
"""Columns of the short list, up to the predicted time."""


@dataclass(frozen=True)
class CurvePoint:
    """One trial of the search; score None when it failed."""

    slot: int
    score: float | None
    is_start: bool


@dataclass(frozen=True)
class SearchChapter:
    """The search and what came of it; `origin` completes "the networks were ...".

    is_trained_further  whether the networks of an existing ensemble were trained further, without a
                        search
    points              every trial
    best                the best trials
    trials              all of them
    endings             how they ended
    explained           why the search went so; None where there is nothing to explain
    members             of the ensemble
    members_lacking     why there are fewer than asked for, "" if there are not
    drawn_layers        the networks of the members, each drawn once; lowest score first
    layers              the same as a table, a row for each layer
    rule                the settings of the decision
    costs               time and memory of the trainings
    """

    is_trained_further: bool = field(metadata=json_key("further"))
    origin: str
    sentence: str
    points: tuple[CurvePoint, ...]
    best: ReportTable
    trials: ReportTable
    endings: ReportTable
    explained: ExplainedView | None
    members: ReportTable
    members_lacking: str
    drawn_layers: tuple[LayersView, ...]
    layers: ReportTable
    rule: ReportTable
    costs: ReportTable


def search_of(run: RunRecord, vocabulary: Vocabulary) -> SearchChapter:
    """The chapter on the search; of networks that were trained further nothing is explained:
    nothing was searched for."""
    first_ensemble = run.settings.training.begin
    is_trained_further = first_ensemble is not None
    trainings = sorted(trainings_of(run.trials), key=lambda training: training.slot)
    trainings_by_score = sorted(
        (training for training in trainings if training.score is not None),
        key=lambda training: training.score or 0.0,
    )
    best_rows = [
        _trial_cells(training)[:BRIEF_COLUMN_COUNT]
        for training in trainings_by_score[:SHORT_LIST_LENGTH]
    ]
    origin = "found by a search"
    if is_trained_further:
        origin = f"trained further from those of another ensemble ({first_ensemble})"
    explained_view = None
    if run.explanation is not None and not is_trained_further:
        explained_view = view_of_explanation(run.explanation)
    drawn_layers = _layers_of_members(run, vocabulary)
    summary = _search_summary(trainings, trainings_by_score, is_trained_further=is_trained_further)
    return SearchChapter(
        is_trained_further=is_trained_further,
        origin=origin,
        sentence=summary,
        points=tuple(
            CurvePoint(training.slot, training.score, training.is_start) for training in trainings
        ),
        best=ReportTable(TRIAL_HEADER[:BRIEF_COLUMN_COUNT], best_rows, name="best-trials"),
        trials=ReportTable(TRIAL_HEADER, list(map(_trial_cells, trainings)), name="trials"),
        endings=_endings_table(trainings),
        explained=explained_view,
        members=members_table(run.members),
        members_lacking=_why_members_lack(len(run.members), run.settings.ensemble.members),
        drawn_layers=drawn_layers,
        layers=layers_table(drawn_layers),
        rule=rule_table(run.rule, vocabulary, run.part_rules),
        costs=costs_table(trainings),
    )


def members_table(members: Sequence[Member]) -> ReportTable:
    """One row per member of the ensemble, lowest score first."""
    members_by_score = _order_by_score(members)
    header = ("trial", "configuration", "score", "weight", "file", "seed", "SHA-256 of the weights")
    return ReportTable(header, list(map(_member_cells, members_by_score)), name="members")


def _order_by_score(members: Sequence[Member]) -> list[Member]:
    """The members, lowest score first, those without a score last."""
    return sorted(members, key=lambda member: (member.score is None, member.score or 0.0))


def _layers_of_members(run: RunRecord, vocabulary: Vocabulary) -> tuple[LayersView, ...]:
    """The networks of the members, those of the same layers together; the lowest score first."""
    views_by_net: dict[NetworkShape, list[LayersView]] = {}
    drawn_members = [member for member in run.members if can_be_drawn(member.configuration)]
    for member in _order_by_score(drawn_members):
        view = layers_view(
            f"{member.slot}",
            member.configuration,
            len(vocabulary.classes),
            SIDE_PIXELS,
            run.settings.training.inputs,
            run.settings.training.head,
        )
        views_by_net.setdefault(view.net, []).append(view)
    return tuple(_join_views(views) for views in views_by_net.values())


def _join_views(views: Sequence[LayersView]) -> LayersView:
    """One view of networks of the same layers, named by all their trials."""
    slots_text = ", ".join(view.name for view in views)
    name = f"trial {slots_text}"
    if len(views) > 1:
        name = f"trials {slots_text}"
    return views[0]._replace(name=name)


def _member_cells(member: Member) -> tuple[str, ...]:
    """Cells for each column of the table of members."""
    configuration = configuration_text(member.configuration)
    if member.sees_slices_alone:
        configuration += " · sees slices alone"
    return (
        str(member.slot),
        configuration,
        score_text(member.score),
        f"{member.mixing_weight:.2f}",
        member.weights,
        setting_text(member.seed),
        member.sha256[:16] or DASH,
    )


def _why_members_lack(member_count: int, asked_count: int) -> str:
    """Why there are fewer members than requested; "" if there are not."""
    if member_count >= asked_count:
        return ""
    count_phrase = f"{several(member_count, 'member')} of {asked_count} asked for"
    return f"{count_phrase}: no more trials ran to the end and beat guessing."


def rule_table(
    rule: Rule, vocabulary: Vocabulary, part_rules: Mapping[str, Rule] = NO_PART_RULES
) -> ReportTable:
    """Every setting of the decision, with its meaning; then a column for the rule of the parts of each
    region that is divided."""
    columns = [_texts_of_rule(rule, vocabulary.chain)]
    columns += [_texts_of_rule(part_rules[region], PARTS[region]) for region in part_rules]
    rows = [
        (
            with_spaces(setting_name),
            MEANING_BY_SETTING.get(setting_name, ""),
            *(text_by_setting[setting_name] for text_by_setting in columns),
        )
        for setting_name in columns[0]
    ]
    part_titles = (f"parts of {region}" for region in part_rules)
    return ReportTable(("setting", "what it is", "value", *part_titles), rows, name="decision")


def _texts_of_rule(rule: Rule, chain: Sequence[str]) -> dict[str, str]:
    """The value of every setting of a rule for this chain of regions."""
    value_by_setting = {**vars(rule), "heights": usual_heights(rule.heights, chain)}
    return {name: setting_text(value) for name, value in value_by_setting.items()}


def _search_summary(
    trainings: Sequence[TrainingSummary],
    trainings_by_score: Sequence[TrainingSummary],
    *,
    is_trained_further: bool,
) -> str:
    """How many trials there are, how many failed, the best score and the time in all;
    `trainings_by_score` are those with a score, the lowest first."""
    further_sentence = ""
    if is_trained_further:
        further_sentence = FURTHER_SENTENCE
    if not trainings:
        return f"This report includes no search.{further_sentence}"
    failures_clause = "none failed"
    failed_count = len(trainings) - len(trainings_by_score)
    if failed_count:
        failures_clause = f"{failed_count:,} of them failed"
    summary = f"{several(len(trainings), 'trial')}, {failures_clause}."
    if trainings_by_score:
        best_training = trainings_by_score[0]
        summary += (
            f" The best score is {score_text(best_training.score)}, of trial {best_training.slot}"
        )
        start_scores = [training.score for training in trainings if training.is_start]
        if start_scores and start_scores[0] is not None and not is_trained_further:
            summary += f"; the start configuration reached {score_text(start_scores[0])}"
        summary += "."
    total_seconds = sum(training.seconds for training in trainings)
    return f"{summary} Training took {duration(total_seconds)} in all.{further_sentence}"


def _trial_cells(training: TrainingSummary) -> tuple[str, ...]:
    """Cells for each of TRIAL_HEADER."""
    return (
        setting_text(training.slot),
        with_spaces(training.status),
        configuration_text(training.configuration),
        score_text(training.score),
        setting_text(training.epochs),
        duration(training.seconds),
        duration(training.predicted_seconds),
        training.device,
        training.message,
    )


def _endings_table(trainings: Sequence[TrainingSummary]) -> ReportTable:
    """One row for each way in which trainings ended, the most frequent first, with one message as
    an example."""
    rows = []
    for status, ending_count in Counter(training.status for training in trainings).most_common():
        messages = [
            training.message
            for training in trainings
            if training.status == status and training.message
        ]
        example_message = next(iter(messages), "")
        rows.append((with_spaces(status), f"{ending_count}/{len(trainings)}", example_message))
    return ReportTable(("ended as", "trials", "for example"), rows, name="endings")
