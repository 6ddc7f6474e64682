"""What the epochs of a search went to, where it compares trainings before their end."""

from __future__ import annotations

from collections.abc import Iterator

from fovnet.report.content.cells import ReportTable
from fovnet.report.content.wording import DASH, configuration_text, percent, score_text
from fovnet.search.explain.spent import Rung, Spending
from fovnet.words import join_names, several

MOST_STOPPED = 20
"""Stopped trainings shown; the JSON has all."""


def spending_text(spending: Spending | None) -> str:
    """What the epochs went to, and whether the right trainings were stopped, as far as it can be
    known; "" where all were trained to the end."""
    if spending is None:
        return ""
    lengths_of_rungs = join_names(rung.length for rung in spending.rungs)
    unit = spending.rungs[0].unit
    ended_text = "none"
    if spending.ended_count:
        ended_text = f"{spending.ended_count:,}"
    stopped_share = spending.epochs_on_stopped / max(1, spending.epochs_spent)
    failed_share = spending.epochs_on_failed / max(1, spending.epochs_spent)
    sentences = [
        f"Trainings were compared after {lengths_of_rungs} {unit} ({spending.spend_name}): of "
        f"{several(spending.begun_count, 'configuration')} begun {ended_text} went to the end.",
        *_uncompared_sentence(spending),
        f"They took {several(spending.epochs_spent, 'epoch')}, as many as "
        f"{spending.full_trainings:,.1f} full trainings; {percent(stopped_share)} of them on "
        f"trainings that were stopped, {percent(failed_share)} on failures.",
        _order_at_rungs_sentence(spending),
        *_wrong_preferences_sentence(spending),
        "Whether a stopped training would have ended better is unknown.",
    ]
    return " ".join(sentences)


def _uncompared_sentence(spending: Spending) -> Iterator[str]:
    """How many trainings the search did not compare as early as it might; nothing where all were."""
    if spending.uncompared_count:
        yield (
            f"{spending.uncompared_count:,} of these went past the first rung in any case, as the best "
            "there was too seldom the best later."
        )


def _order_at_rungs_sentence(spending: Spending) -> str:
    """How often two trainings that both ended stood in the same order before."""
    share_phrases = [
        f"after {rung.name} {_order_share(rung)}" for rung in spending.rungs if rung.pair_count
    ]
    if not share_phrases:
        return "No two trainings that ran to the end can be compared on an earlier rung."
    return (
        "Share of pairs of trainings run to the end that were already in the same order: "
        f"{', '.join(share_phrases)}."
    )


def _order_share(rung: Rung) -> str:
    """ "62.5 % (5/8)": pairs of trainings that are in the same order at their end."""
    return f"{percent(rung.same_order_count / rung.pair_count)} ({rung.same_order_count}/{rung.pair_count})"


def _wrong_preferences_sentence(spending: Spending) -> Iterator[str]:
    """How often the wrong trainings were preferred; nothing where none was passed over."""
    if not spending.passed_over_count:
        return
    possessive = "their"
    if spending.passed_over_count == 1:
        possessive = "its"
    yield (
        f"{several(spending.passed_over_count, 'training')} went to the end after others of "
        f"{possessive} rung had been preferred; {spending.better_than_preferred_count} of them "
        "ended better than all of those that did."
    )


def rungs_table(spending: Spending | None) -> ReportTable:
    """One row per rung: how many trainings ended there, and what became of them; no rows where all
    were trained to the end."""
    header = (
        "epochs",
        "trained",
        "failed",
        "went on",
        "stopped",
        "epochs spent",
        "same order at the end",
    )
    rows = []
    if spending:
        rows = list(map(_rung_row, spending.rungs))
        header = (spending.rungs[0].unit, *header[1:])
    return ReportTable(header, rows, name="rungs")


def _rung_row(rung: Rung) -> tuple[str, ...]:
    """The cells of one rung; a dash where no two of its trainings can be compared."""
    counts = (
        rung.training_count,
        rung.failed_count,
        rung.continued_count,
        rung.stopped_count,
        rung.epochs_spent,
    )
    order_text = DASH
    if rung.pair_count:
        order_text = _order_share(rung)
    return (rung.length, *(f"{count:,}" for count in counts), order_text)


def stopped_table(spending: Spending | None) -> ReportTable:
    """The first MOST_STOPPED trainings that were stopped, the most trained and best first; no rows
    where all were trained to the end."""
    rows = []
    if spending:
        rows = [
            (
                str(training.slot),
                str(training.epochs),
                score_text(training.score),
                configuration_text(training.configuration),
            )
            for training in spending.stopped_trainings[:MOST_STOPPED]
        ]
    return ReportTable(("slot", "epochs", "score", "configuration"), rows, name="stopped")
