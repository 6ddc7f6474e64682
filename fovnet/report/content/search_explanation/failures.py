"""The trials of a search that have no score, and why."""

from __future__ import annotations

from fovnet.report.content.cells import ReportTable
from fovnet.report.content.search_explanation.convergence import slot_word
from fovnet.report.content.wording import configuration_text, percent, with_spaces
from fovnet.search.explain.explanation import Explanation, FailureGroup
from fovnet.words import several


def failures_text(explanation: Explanation) -> str:
    """How many trials have no score, why, and their forecast chance to train."""
    word_for_slot = slot_word(explanation)
    if not explanation.finished_count and not explanation.failures:
        return "No trial is finished."
    if not explanation.failures:
        return f"No {word_for_slot} failed."
    group_phrases = ", ".join(_group_phrase(group) for group in explanation.failure_groups)
    return (
        f"{len(explanation.failures)} of {several(explanation.finished_count, word_for_slot)} have "
        f"no score: {group_phrases}."
    )


def _group_phrase(group: FailureGroup) -> str:
    """ "2 diverged (given a chance of 87.5 % to train, on average; “the loss was not a
    number”)"."""
    phrase = f"{group.count} {with_spaces(group.status)}"
    details = []
    if group.mean_chance_to_train is not None:
        chance_text = percent(group.mean_chance_to_train)
        details.append(f"given a chance of {chance_text} to train, on average")
    if group.example_message:
        details.append(f"“{group.example_message}”")
    if details:
        phrase += f" ({'; '.join(details)})"
    return phrase


def failures_table(explanation: Explanation) -> ReportTable:
    """One row per kind of failure."""
    rows = []
    for group in explanation.failure_groups:
        cause = "the machine"
        if group.because_of_configuration:
            cause = "the configuration"
        rows.append(
            (
                with_spaces(group.status),
                f"{group.count}/{explanation.finished_count}",
                cause,
                percent(group.mean_chance_to_train),
            )
        )
    header = ("ended as", "trials", "because of", "mean chance to train, forecast")
    return ReportTable(header, rows, name="search-failures")


def trials_without_score_table(explanation: Explanation) -> ReportTable:
    """One row per trial without a score."""
    rows = [
        (
            str(failure.slot),
            with_spaces(failure.status),
            configuration_text(failure.configuration),
            percent(failure.chance_to_train),
            str(failure.retry_count),
            failure.message,
        )
        for failure in explanation.failures
    ]
    header = ("trial", "ended as", "configuration", "chance to train", "retries", "message")
    return ReportTable(header, rows, name="failed-trials")
