"""What earlier searches taught a search, and whether it was right."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from fovnet.report.content.cells import ReportTable
from fovnet.report.content.wording import configuration_text, percent, score_text
from fovnet.search.explain.taught import Taught
from fovnet.words import several

NO_VERDICT = (
    "No slot had four different scores before it, the minimum for a comparison with a Gaussian "
    "process."
)


def lessons_text(lessons: Taught) -> str:
    """What earlier searches taught, whether it was right, and in which slots the Gaussian process
    chose instead."""
    names = ", ".join(
        f"{name} ({several(rows, 'configuration')} with a score)" for name, rows in lessons.sources
    )
    searches = several(len(lessons.sources), "earlier search", "earlier searches")
    sentences = [
        "It began with an order of all configurations, the most promising first, learned from "
        f"{searches}: {names}."
    ]
    if lessons.place_of_best is not None:
        sentences.append(
            f"The best configuration found is at place {lessons.place_of_best:,} of "
            f"{lessons.of:,} in it."
        )
    if lessons.tau is not None:
        share = percent(0.5 + 0.5 * lessons.tau)
        sentences.append(
            f"Of two configurations with a score it ranked the better one first {share} of the "
            "time; chance would give half."
        )
    sentences += _verdicts(lessons) if lessons.verdicts else [NO_VERDICT]
    return " ".join(sentences)


def _verdicts(lessons: Taught) -> Iterator[str]:
    """Sentences on who was the better judge of the scores known before each slot, and who chose."""
    yield (
        f"Before each of {several(len(lessons.verdicts), 'slot')}, with four or more known scores, "
        "it was compared with a Gaussian process that predicts each score from the others: which "
        "of them orders fewer pairs of scores wrongly?"
    )
    yield _slots_of_process(lessons)
    last = lessons.verdicts[-1]
    yield (
        f"Before slot {last.slot}, the last, the learned order had {last.prior:g} of "
        f"{last.pairs:,} pairs wrong, the process {last.process:g}."
    )


def _slots_of_process(lessons: Taught) -> str:
    """In which slots the Gaussian process ordered the scores better, and whether it was used
    there."""
    slots = [
        verdict.slot
        for verdict in lessons.verdicts
        if (verdict.guarded if lessons.guard else verdict.prior > verdict.process)
    ]
    if not slots:
        return "The learned order was never worse, and was always used."
    where = f"In {several(len(slots), 'slot')} ({_ranges(slots)}) the process did"
    if lessons.guard:
        return f"{where}, and was used instead."
    return f"{where}, but was not used: search.ranking.guard is off."


def _ranges(slots: Sequence[int]) -> str:
    """ "4–9, 12"."""
    ranges: list[list[int]] = []
    for slot in slots:
        if ranges and slot == ranges[-1][-1] + 1:
            ranges[-1].append(slot)
        else:
            ranges.append([slot])
    return ", ".join(str(span[0]) if len(span) == 1 else f"{span[0]}–{span[-1]}" for span in ranges)


def lessons_table(lessons: Taught | None) -> ReportTable:
    """What the prior puts first, and the scores found there."""
    rows = [
        (str(belief.place), configuration_text(belief.configuration), score_text(belief.score))
        for belief in (lessons.first if lessons else ())
    ]
    return ReportTable(("place", "configuration", "score found"), rows, name="taught")
