"""What the epochs of a search went to, where it compares trainings before their end."""

from __future__ import annotations

from collections.abc import Iterator

from fovnet.report.content.cells import ReportTable
from fovnet.report.content.wording import configuration_text, percent, score_text
from fovnet.search.explain.spent import Rung, Spending
from fovnet.words import join_names, several

MOST_STOPPED = 20
"""Stopped trainings shown; the JSON has all."""


def spending_text(spending: Spending) -> str:
    """What the epochs went to, and whether the right trainings were stopped, as far as it can be
    known."""
    epochs_of_rungs = join_names(str(rung.epochs) for rung in spending.rungs)
    ended_count_text = f"{spending.ended:,}" if spending.ended else "none"
    sentences = [
        f"Trainings were compared after {epochs_of_rungs} epochs ({spending.kind}): of "
        f"{several(spending.begun, 'configuration')} begun {ended_count_text} went to the end.",
        f"They took {several(spending.epochs, 'epoch')}, as many as "
        f"{spending.full_trainings:,.1f} full trainings; "
        f"{percent(spending.on_stopped / max(1, spending.epochs))} of them on trainings that were "
        f"stopped, {percent(spending.on_failed / max(1, spending.epochs))} on failures.",
        _order_at_rungs_sentence(spending),
        *_wrong_preferences_sentence(spending),
        "Whether a stopped training would have ended better is unknown.",
    ]
    return " ".join(sentences)


def _order_at_rungs_sentence(spending: Spending) -> str:
    """How often two trainings that both ended stood in the same order before."""
    share_phrases = [
        f"after {several(rung.epochs, 'epoch')} {_order_share(rung)}"
        for rung in spending.rungs
        if rung.pairs
    ]
    if not share_phrases:
        return "No two trainings that ran to the end can be compared on an earlier rung."
    return (
        "Share of pairs of trainings run to the end that were already in the same order: "
        f"{', '.join(share_phrases)}."
    )


def _order_share(rung: Rung) -> str:
    """ "62.5 % (5/8)": pairs of trainings that are in the same order at their end."""
    return f"{percent(rung.alike / rung.pairs)} ({rung.alike}/{rung.pairs})"


def _wrong_preferences_sentence(spending: Spending) -> Iterator[str]:
    """How often the wrong trainings were preferred; nothing where none was passed over."""
    if not spending.passed_over:
        return
    possessive = "its" if spending.passed_over == 1 else "their"
    yield (
        f"{several(spending.passed_over, 'training')} went to the end after others of "
        f"{possessive} rung had been preferred; {spending.better} of them ended better than all of "
        "those that did."
    )


def rungs_table(spending: Spending | None) -> ReportTable:
    """One row per rung: how many trainings ended there, and what became of them."""
    header = (
        "epochs",
        "trained",
        "failed",
        "went on",
        "stopped",
        "epochs spent",
        "same order at the end",
    )
    rows = [_rung_row(rung) for rung in (spending.rungs if spending else ())]
    return ReportTable(header, rows, name="rungs")


def _rung_row(rung: Rung) -> tuple[str, ...]:
    counts = (rung.trained, rung.failed, rung.went_on, rung.stopped, rung.spent)
    order_text = _order_share(rung) if rung.pairs else "–"
    return (str(rung.epochs), *(f"{count:,}" for count in counts), order_text)


def table_of_stopped(spending: Spending | None) -> ReportTable:
    """The trainings that were stopped, the most trained and best first."""
    rows = [
        (
            str(training.slot),
            str(training.epochs),
            score_text(training.score),
            configuration_text(training.configuration),
        )
        for training in (spending.stopped if spending else ())
    ]
    return ReportTable(
        ("slot", "epochs", "score", "configuration"), rows[:MOST_STOPPED], name="stopped"
    )
